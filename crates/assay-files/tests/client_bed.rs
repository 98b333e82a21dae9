//! What the tests of clients stand on: a run on a real directory, and what its sink was told.

use crate::bed;
use assay_base::{Instant, Span};
use assay_files::own_dir::{OwnDir, Request, State, Wants};
use assay_files::script::Script;
use assay_files::shell::{
    ClientInterval, Clients, Finished, OpenTree, Patience, PhaseReport, Settings, Sink, Verification, make_tree,
    verify_tree,
};
use assay_model::files::{FilesWorkload, TreeShape};
use assay_record::{Event, Thresholds};
use std::path::Path;
use std::sync::Arc;

/// The run in the stamps of all tests.
pub(crate) const RUN: u32 = 4711;
const SEED: u64 = 1;

/// The time line of a test.
pub(crate) fn clock() -> impl Fn() -> Instant + Clone + Send + 'static {
    let origin = std::time::Instant::now();
    move || Instant::from_ns(origin.elapsed().as_nanos() as u64 + 1)
}

pub(crate) fn settings<C: Fn() -> Instant>(clock: C, usual: Span) -> Settings<C> {
    Settings {
        clock,
        interval: Span::from_ms(200),
        group: 2,
        thresholds: Thresholds::new([]),
        patience: Patience::default(),
        usual,
    }
}

/// Everything that a run told.
#[derive(Default)]
pub(crate) struct Told {
    pub(crate) intervals: Vec<ClientInterval>,
    pub(crate) events: Vec<Event>,
}

impl Sink for Told {
    fn take_interval(&mut self, interval: ClientInterval) {
        self.intervals.push(interval);
    }

    fn take_event(&mut self, event: Event) {
        self.events.push(event);
    }
}

impl Told {
    /// For each flow and interval: what was carried in and what was scheduled is what has ended and is carried on.
    pub(crate) fn assert_accounts(&self) {
        let flows = self.intervals.first().map_or(0, |told| told.interval.flows.len());
        for flow in 0..flows {
            let mut carried = 0;
            for (at, told) in self.intervals.iter().enumerate() {
                assert_eq!(told.interval.index, at as u64);
                let line = &told.interval.flows[flow];
                let ended = line.ok + line.short + line.errors.values().sum::<u64>();
                let onward = line.waiting + line.in_flight + line.stuck;
                assert_eq!(carried + line.scheduled, ended + onward, "flow {flow}, interval {at}: {line:?}");
                assert_eq!(line.response.counts.chunks(2).map(|pair| pair[1]).sum::<u64>(), line.ok);
                carried = onward;
            }
            assert_eq!(carried, 0, "flow {flow}: nothing is left over");
        }
        let ends: Vec<u64> = self.intervals.iter().map(|told| told.interval.end_ns).collect();
        let starts: Vec<u64> = self.intervals.iter().map(|told| told.interval.start_ns).collect();
        assert!(ends.iter().zip(&starts[1..]).all(|(end, start)| end == start), "no gap: {starts:?} {ends:?}");
    }

    /// The sum of a figure of one flow over all intervals.
    pub(crate) fn sum(&self, flow: usize, figure: impl Fn(&assay_record::FlowInterval) -> u64) -> u64 {
        self.intervals.iter().map(|told| figure(&told.interval.flows[flow])).sum()
    }
}

/// A run in a directory of its own.
pub(crate) struct Bench<C> {
    pub(crate) workload: FilesWorkload,
    pub(crate) tree: Arc<OpenTree>,
    pub(crate) clients: Clients<C>,
    pub(crate) told: Told,
}

/// Opens a directory for a run of a workload.
pub(crate) fn own_dir(path: &Path, name: &str) -> OwnDir {
    let wants = Wants { bytes: 1 << 20, files: 100, open_files: 10 };
    let request = Request { run: name, wants, resolution: None };
    OwnDir::make(bed::open(path), request).unwrap_or_else(|why| panic!("{why}"))
}

/// The script of a workload.
pub(crate) fn script(workload: &FilesWorkload) -> Script {
    Script::new(workload, TreeShape::new(&workload.tree, workload.clients, SEED).unwrap(), SEED)
}

/// Makes the tree of a workload in a directory, and clients on it.
pub(crate) fn bench(
    path: &Path,
    workload: &FilesWorkload,
    usual: Span,
) -> Bench<impl Fn() -> Instant + Clone + Send + 'static> {
    bench_with(path, workload, settings(clock(), usual))
}

pub(crate) fn bench_with<C: Fn() -> Instant + Clone + Send + 'static>(
    path: &Path,
    workload: &FilesWorkload,
    settings: Settings<C>,
) -> Bench<C> {
    let script = script(workload);
    let tree = OpenTree::new(own_dir(path, "run 1"), script.shape().clone(), RUN, 1000);
    let made = make_tree(&tree, &script, 4).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(made.directories, script.shape().directories() - 1);
    let clients = Clients::new(tree.clone(), script, workload, settings);
    Bench { workload: workload.clone(), clients, tree, told: Told::default() }
}

impl<C: Fn() -> Instant + Clone + Send + 'static> Bench<C> {
    pub(crate) fn run_phase(&mut self, index: usize) -> PhaseReport {
        self.told.intervals.clear();
        let report = self.clients.run_phase(index, 0, &mut self.told).unwrap_or_else(|why| panic!("{why}"));
        self.told.assert_accounts();
        report
    }

    /// Compares the tree with the ledger, which finds nothing, and removes everything: nothing foreign is there, so
    /// nothing stays.
    pub(crate) fn verify_and_clean(self) -> Verification {
        let Finished { script, doubtful } = self.clients.finish().expect("all calls have returned");
        let found =
            verify_tree(&self.tree, &script, &doubtful, &self.workload, 4).unwrap_or_else(|why| panic!("{why}"));
        assert!(found.is_sound(), "{:?}", found.faults);
        let report = OpenTree::into_own_dir(self.tree).expect("nobody uses the tree").clean();
        assert_eq!((report.state, report.left_count), (State::Removed, 0), "{:?}", report.left);
        found
    }
}
