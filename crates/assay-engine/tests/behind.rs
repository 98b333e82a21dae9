//! Streams behind a simulated cache, in virtual time: what goes on is issued when it is wanted, and counted.

#![allow(clippy::unwrap_used, reason = "a test panics to fail")]

use crate::even;

use assay_base::{Geometry, Instant, Op, Span};
use assay_engine::shell::Sink;
use assay_engine::{Limits, Setup, Worker, run_virtual};
use assay_model::cache::LoadBehindCache;
use assay_model::joint::{IntendedOperation, Joint};
use assay_model::{Plan, arrival::Part, workload};
use assay_record::{Event, Frame, Interval, Thresholds};
use even::Even;

const MIB: u64 = 1 << 20;
const END: Instant = Instant::from_ns(3_000_000_000);
const FILE: &str = "model = \"streams\"\nduration = \"3s\"\nslice = \"1s\"\n[cache]\nsize = \"8MiB\"\n\
    [[stream]]\nname = \"reads\"\ndirection = \"read\"\nsize = \"8KiB\"\nrate = \"700/s\"\narrival = \"steady\"\naddress = { zipf = 0.9 }\n\
    [[stream]]\nname = \"writes\"\ndirection = \"write\"\nsize = \"4KiB\"\nrate = \"300/s\"\narrival = \"steady\"\n";

#[derive(Default)]
struct Kept(Vec<Interval>);

impl Sink for Kept {
    fn receive_frame(&mut self, frame: Frame) {
        self.0.push(frame.interval_line());
    }
    fn receive_event(&mut self, event: Event) {
        panic!("{event:?}");
    }
    fn spent_frame(&mut self) -> Option<Frame> {
        None
    }
}

fn plan(file: &str) -> Plan {
    let adjust = workload::Adjust { targets: 1, seed: 3, ..workload::Adjust::default() };
    workload::read_workload("t", file).unwrap().make_plan(&adjust).unwrap()
}

/// What was asked for and when, and the intervals, of a device of this size that takes so long and does so many at once.
fn run(plan: &Plan, size: u64, service: Span, bound: u32) -> (Vec<(Instant, Op)>, Vec<Interval>) {
    let (part, thresholds, limits) = (Part { index: 0, of: 1 }, Thresholds::new([]), Limits::default());
    let setup = Setup { part, thresholds, bound, start: Instant::ZERO, run: 7, limits, ledger: None, gates: None };
    let mut worker = Worker::new(plan, Even::new(service, size), setup).unwrap();
    let mut kept = Kept::default();
    run_virtual(&mut worker, Instant::ZERO, &mut kept, || false);
    (std::mem::take(&mut worker.device_mut().asked), kept.0)
}

/// What goes on within the three seconds, as the model of the cache has it.
fn onwards(plan: &Plan, size: u64) -> Vec<IntendedOperation> {
    let mut behind = LoadBehindCache::new(plan, 0, &[Geometry { size, block: 512 }], Instant::ZERO).unwrap();
    let mut all = Vec::new();
    while behind.next_intended() < END {
        behind.draw_until(Instant::ZERO);
        all.extend(behind.take_operation().filter(|next| next.wanted < END));
    }
    all
}

#[test]
fn what_goes_on_is_issued_when_it_is_wanted_and_counted_where_it_waits() {
    for writes in ["through", "back"] {
        let file = FILE.replace("[cache]\n", &format!("[cache]\nwrites = \"{writes}\"\n"));
        let plan = plan(&file);
        let expected = onwards(&plan, 64 * MIB);
        let streams: Vec<u16> = plan.load.stream_targets().map(|(stream, _)| stream).collect();
        assert!(expected.len() > 1000 && expected.len() < 3000, "{writes}: some hit: {}", expected.len());

        let (asked, _) = run(&plan, 64 * MIB, Span::from_us(100), 64);
        let wanted: Vec<(Instant, Op)> = expected.iter().map(|next| (next.wanted, next.op)).collect();
        assert!(asked == wanted, "{writes}: {} asked, {} wanted", asked.len(), wanted.len());

        // One after another, at most three hundred in a second: most of them wait.
        let (asked, intervals) = run(&plan, 64 * MIB, Span::from_ms(3), 1);
        let other = asked.iter().zip(&wanted).position(|((_, asked), (_, wanted))| asked != wanted);
        assert_eq!(other, None, "{writes}: in the same order");
        assert!(asked.len() > 900 && asked.len() < wanted.len(), "{writes}: {} asked", asked.len());
        for (flow, stream) in streams.iter().enumerate() {
            let (mut scheduled, mut issued) = (0, 0);
            for interval in &intervals {
                let cell = &interval.flows[flow];
                (scheduled, issued) = (scheduled + cell.scheduled, issued + cell.issued);
                let due = expected.iter().filter(|it| it.stream == *stream && it.wanted.as_ns() < interval.end_ns);
                assert_eq!(
                    (scheduled, cell.waiting),
                    (due.count() as u64, scheduled - issued),
                    "{writes}: flow {flow}"
                );
            }
            let lag: u64 = intervals.iter().map(|interval| interval.flows[flow].lag.sum_ns).sum();
            assert_eq!(lag > 0, issued > 0, "{writes}: flow {flow} waits behind what was wanted before");
            let of_it = expected[..asked.len()].iter().filter(|it| it.stream == *stream);
            assert_eq!(issued as usize, of_it.count(), "{writes}: flow {flow}");
        }
    }
}

/// The cache is larger than the target: at last everything hits, and the run lasts as long as it should.
#[test]
fn a_load_of_which_nothing_more_goes_on_lasts_until_its_end() {
    let reads = FILE.split_inclusive("[[stream]]\n").take(2).collect::<String>();
    // So many that it looks for a miss in vain, several times within the run.
    let plan = plan(&reads.trim_end_matches("[[stream]]\n").replace("700/s", "40000/s"));
    let expected = onwards(&plan, MIB);
    let last = expected.last().unwrap().wanted;
    assert!(last < END - Span::from_ms(500), "{last:?}");
    let (asked, intervals) = run(&plan, MIB, Span::from_us(100), 64);
    assert_eq!(asked.len(), expected.len());
    assert!(intervals.last().unwrap().end_ns >= END.as_ns(), "{:?}", intervals.last().unwrap().end_ns);
}
