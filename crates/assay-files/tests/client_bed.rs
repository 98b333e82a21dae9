//! What the tests of clients stand on: a run on a real directory, and what its sink was told.

use crate::bed;
use assay_base::{Instant, Span};
use assay_files::own_dir::{OwnDir, Request, State, Wants};
use assay_files::script::Script;
use assay_files::shell::{
    ClientInterval, Clients, Finished, OpenTree, Patience, PhaseReport, Settings, Sink, StillTime, Verification,
    make_tree, verify_tree,
};
use assay_model::files::{FilesPace, FilesWorkload, TreeShape};
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
        still: StillTime::default(),
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

    /// Little's law for clients that begin a sequence when the last one is done, to the nanosecond: what their calls took,
    /// what the open calls have taken more, and what they did besides are the time that has passed, of all clients.
    /// The same holds for the sequences, where each is a flow of its own.
    pub(crate) fn assert_time_of_clients(&self, clients: u32, calls: &[usize], sequences: Option<&[usize]>) {
        let loops = std::iter::once(calls).chain(sequences);
        for (at, flows) in loops.enumerate() {
            let mut open_before = 0;
            for told in &self.intervals {
                let ClientInterval { interval, .. } = told;
                let mut counted = 0i128;
                for flow in flows {
                    let line = &interval.flows[*flow];
                    let failed = line.failures.as_ref().map_or(0, |failures| failures.response.sum_ns);
                    counted += i128::from(line.response.sum_ns) + i128::from(failed);
                }
                let line = interval.loops[at];
                counted += i128::from(line.open_ns - open_before) + i128::from(line.paused_ns);
                let length = interval.end_ns - interval.start_ns;
                assert_eq!(counted, i128::from(clients) * i128::from(length), "loop {at}: {interval:?}");
                open_before = line.open_ns;
            }
        }
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

/// The flows of the calls of a phase, and those of its sequences, where each is a flow of its own.
fn loops_of(workload: &FilesWorkload, index: usize) -> (Vec<usize>, Option<Vec<usize>>) {
    let names = workload.stream_names();
    let place = |name: &str| names.iter().position(|known| known == name).unwrap();
    let phase = &workload.all_phases()[index];
    let mut calls: Vec<usize> = phase
        .sequences
        .iter()
        .flat_map(|sequence| sequence.operations().map(|operation| place(operation.name())))
        .collect();
    calls.sort_unstable();
    calls.dedup();
    let sequences: Vec<usize> = phase.sequences.iter().map(|sequence| place(&sequence.name)).collect();
    let are_apart = sequences.iter().all(|flow| !calls.contains(flow));
    (calls, are_apart.then_some(sequences))
}

impl<C: Fn() -> Instant + Clone + Send + 'static> Bench<C> {
    pub(crate) fn run_phase(&mut self, index: usize) -> PhaseReport {
        self.told.intervals.clear();
        let report = self.clients.run_phase(index, 0, &mut self.told).unwrap_or_else(|why| panic!("{why}"));
        self.told.assert_accounts();
        if self.workload.pace == FilesPace::Closed {
            let (calls, sequences) = loops_of(&self.workload, index);
            self.told.assert_time_of_clients(self.workload.clients, &calls, sequences.as_deref());
        }
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
