//! Rows that are added number by number give what frames give that are added in one process.

use super::*;
use crate::log::{Entry, Reader};
use crate::recorder::{Excess, Failure, Frame, OperationTimes, Recorder};
use crate::thresholds::Thresholds;
use assay_base::{Prng, Span};

const FLOWS: usize = 3;
const TARGETS: usize = 2;
const LOOPS: usize = 1;

fn layout() -> RowLayout {
    RowLayout { flows: FLOWS, buckets: Thresholds::new([]).bucket_count(), targets: TARGETS, loops: LOOPS }
}

/// A worker's recorder with random operations in it. `lateness` says whether its generator is ever late.
fn record_operations(recorder: &mut Recorder, prng: &mut Prng, is_late: bool) {
    for _ in 0..prng.uniform_below(300) {
        let flow = prng.uniform_below(FLOWS as u64 - 1) as usize;
        let response = Span::from_ns(1 + (prng.next_u64() >> (20 + prng.uniform_below(40))));
        if prng.uniform_below(40) == 0 {
            let code = [Code::EIO, Code::LOST, Code(999)][prng.uniform_below(3) as usize];
            let failure = Failure { part: prng.uniform_below(64) as usize, response };
            recorder.count_failed(flow, code.symbolic_name(), failure);
            continue;
        }
        let own_lag = if is_late { Span::from_ns(response.as_ns() / (1 + prng.uniform_below(4))) } else { Span::ZERO };
        let excess = Excess { own_lag, response: own_lag, service: Span::ZERO };
        let took = OperationTimes { response, service: response, lag: own_lag, submit: Span::from_ns(3), excess };
        recorder.count_completed(flow, 4096, took);
        recorder.flow_counters_mut(flow).issued += 1;
        recorder.flow_counters_mut(flow).in_flight_max = prng.uniform_below(9);
    }
    if is_late {
        recorder.count_idle(1, Span::from_us(5), Span::from_us(4), Span::from_us(prng.uniform_below(9)));
        recorder.left_idle(0, Span::from_ms(2));
    }
    recorder.count_slots(0, prng.uniform_below(1000) as i64 - 500, Span::from_ns(7));
}

fn frames_of_workers(seed: u64, closes_group: bool) -> Vec<Frame> {
    let mut prng = Prng::from_seed(seed);
    let recorder = || Recorder::new(Thresholds::new([]), FLOWS).with_loops(LOOPS).with_lateness(TARGETS);
    let mut recorders: Vec<Recorder> = (0..4).map(|_| recorder()).collect();
    let mut frames = Vec::new();
    for (number, recorder) in recorders.iter_mut().enumerate() {
        record_operations(recorder, &mut prng, number % 2 == 1);
        // The last one drains longer than the others.
        let end_ns = 200 + number as u64;
        frames.push(recorder.take_frame(7, 100, end_ns, 1, closes_group));
    }
    frames
}

fn added_in_process(frames: &[Frame]) -> Frame {
    let mut all = frames.to_vec();
    let mut sum = all.remove(0);
    all.iter_mut().for_each(|frame| sum.add(frame));
    sum
}

/// What a link does with rows, in an order of its own.
fn added_by_link(rows: &[IntervalRows]) -> IntervalRows {
    let mut result = layout().empty_rows();
    for row in rows.iter().rev() {
        result.sums.iter_mut().zip(&row.sums).for_each(|(sum, number)| *sum = sum.wrapping_add(*number));
        result.maxima.iter_mut().zip(&row.maxima).for_each(|(most, number)| *most = (*most).max(*number));
    }
    result
}

#[test]
fn the_rows_of_several_workers_add_up_to_their_common_interval() {
    for seed in 0..50 {
        let frames = frames_of_workers(seed, false);
        let rows: Vec<IntervalRows> =
            frames.iter().map(|frame| layout().interval_rows(&frame.interval_line()).unwrap()).collect();
        let mut expected = added_in_process(&frames).interval_line();
        for flow in &mut expected.flows {
            if let Some(count) = flow.errors.remove("errno 999") {
                flow.errors.insert(OTHER_ERRORS.to_owned(), count);
            }
        }
        assert_eq!(layout().interval_from_rows(&added_by_link(&rows)).unwrap(), expected, "seed {seed}");
    }
}

#[test]
fn an_interval_of_one_host_comes_back_as_it_was() {
    for seed in 50..60 {
        let interval = frames_of_workers(seed, false).remove(1).interval_line();
        let rows = layout().interval_rows(&interval).unwrap();
        let again = layout().interval_rows(&layout().interval_from_rows(&rows).unwrap()).unwrap();
        assert_eq!(again, rows, "seed {seed}");
        assert_eq!(rows.maxima.iter().max().map(|most| *most <= ABOVE_ALL), Some(true));
    }
}

#[test]
fn distributions_add_up_to_those_of_one_process() {
    for seed in 0..50 {
        let frames = frames_of_workers(seed, true);
        let expected = added_in_process(&frames).histograms_line().unwrap();
        let mut all: Vec<DistributionRows> = frames
            .iter()
            .map(|frame| DistributionRows::from_line(&frame.histograms_line().unwrap(), FLOWS).unwrap())
            .collect();
        all.push(DistributionRows::without_any(FLOWS));
        let mut extents = vec![0; all[0].extents().len()];
        for rows in &all {
            extents.iter_mut().zip(rows.extents()).for_each(|(most, number)| *most = (*most).max(number));
        }
        let mut counts = vec![0; all[0].counts_within(&extents).len()];
        for rows in &all {
            counts.iter_mut().zip(rows.counts_within(&extents)).for_each(|(sum, number)| *sum += number);
        }
        let line = DistributionRows::line_from_rows(&extents, &counts, 7, 1).unwrap();
        assert_eq!(line, expected, "seed {seed}");
        assert!(DistributionRows::line_from_rows(&extents, &counts[1..], 7, 1).is_err());
        counts.push(0);
        assert!(DistributionRows::line_from_rows(&extents, &counts, 7, 1).is_err());
    }
}

#[test]
fn what_has_no_place_is_refused() {
    let interval = frames_of_workers(1, false).remove(1).interval_line();
    let fewer = Interval { flows: interval.flows[1..].to_vec(), ..interval.clone() };
    let mut beyond = interval.clone();
    beyond.flows[0].response.counts = vec![10_000, 1];
    let mut stranger = interval.clone();
    stranger.lateness.push(Lateness { target: TARGETS as u16, ..Lateness::default() });
    let mut transactions = interval.clone();
    transactions.flows[0].counted.insert("rolled-back".to_owned(), 1);
    for bad in [fewer, beyond, stranger, transactions] {
        assert!(layout().interval_rows(&bad).is_err());
    }
    let mut short = layout().empty_rows();
    short.sums.pop();
    assert!(layout().interval_from_rows(&short).is_err());
    let flow = FlowHistograms { flow: FLOWS as u16, ..FlowHistograms::default() };
    let line = Histograms { flows: vec![flow], ..Histograms::default() };
    assert!(DistributionRows::from_line(&line, FLOWS).is_err());
}

#[test]
fn a_layout_follows_from_the_header() {
    let log = include_str!("../tests/golden/run-v1.jsonl");
    let Some(Ok(Entry::Header(mut header))) = Reader::new(log.as_bytes()).next_entry().unwrap() else {
        panic!("a log begins with a header");
    };
    // Runs on directories say how late their clients were, and nothing that the generator is judged by.
    header.lateness = false;
    assert_eq!(RowLayout::from_header(&header).targets, header.targets.len());
}

/// Each host counts its block device once, whichever of its ranks does: what another rank counts is not missing.
#[test]
fn counters_of_devices_add_up_over_hosts() {
    let layout = RowLayout { flows: 1, buckets: 2, targets: 2, loops: 0 };
    let counted = |target: u16, bytes: u64| DiskCounters {
        target,
        reads: 3,
        read_bytes: bytes,
        writes: 5,
        written_bytes: 2 * bytes,
        flushes: 1,
    };
    let of_rank = |disks: Vec<DiskCounters>, shared_disks: Vec<DiskCounters>| Interval {
        flows: vec![FlowInterval::default()],
        disks,
        shared_disks,
        ..Interval::default()
    };
    // A host of its own, and one with two ranks of which the first counts.
    let ranks =
        [of_rank(vec![counted(1, 512)], vec![]), of_rank(vec![], vec![counted(1, 4096)]), of_rank(vec![], vec![])];
    let mut sum = layout.empty_rows();
    for rank in &ranks {
        let rows = layout.interval_rows(rank).unwrap();
        sum.sums.iter_mut().zip(&rows.sums).for_each(|(all, own)| *all += own);
    }
    let joint = layout.interval_from_rows(&sum).unwrap();
    let expected = DiskCounters { target: 1, reads: 6, read_bytes: 4608, writes: 10, written_bytes: 9216, flushes: 2 };
    assert_eq!((joint.disks, joint.shared_disks), (vec![expected], vec![]));
    let nobody = layout.interval_from_rows(&layout.empty_rows()).unwrap();
    assert_eq!(nobody.disks, [], "a device that nobody counts is not one that did nothing");
}
