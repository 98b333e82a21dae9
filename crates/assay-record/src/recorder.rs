//! The recorder: counts every operation of every flow, once, without allocating.
//!
//! A recorder belongs to one worker. At the end of an interval its counters leave as a [`Frame`]; the frames of several
//! workers for the same interval are added up and become lines of the log. Frames are given back, so that memory does
//! not grow during the run.

use crate::flow_counters::FlowCounters;
use crate::interval::{FailureTimes, FlowHistograms, FlowInterval, Histograms, Interval, PARTS, Timing};
use crate::late::{LessenedTimes, TargetLateness};
use crate::loops::LoopInterval;
use crate::thresholds::Thresholds;
use crate::times::Times;
use assay_base::{Code, Span};
use std::borrow::Cow;

/// Sum, maximum and exact counts of one kind of time.
#[derive(Clone, Debug)]
struct Counts {
    sum_ns: u64,
    max_ns: u64,
    buckets: Box<[u64]>,
}

impl Counts {
    fn new(buckets: usize) -> Counts {
        Counts { sum_ns: 0, max_ns: 0, buckets: vec![0; buckets].into() }
    }

    #[inline]
    fn record_time(&mut self, ns: u64, bucket: usize) {
        self.record_many(ns, bucket, 1);
    }

    #[inline(always)]
    fn record_many(&mut self, ns: u64, bucket: usize, many: u64) {
        self.max_ns = self.max_ns.max(ns);
        self.record_but_for_max(ns, bucket, many);
    }

    #[inline(always)]
    fn record_but_for_max(&mut self, ns: u64, bucket: usize, many: u64) {
        self.sum_ns = self.sum_ns.saturating_add(ns.saturating_mul(many));
        self.buckets[bucket] += many;
    }

    fn add(&mut self, other: &Counts) {
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.buckets.iter_mut().zip(&other.buckets).for_each(|(mine, theirs)| *mine += theirs);
    }

    fn clear(&mut self) {
        (self.sum_ns, self.max_ns) = (0, 0);
        self.buckets.fill(0);
    }

    fn as_timing(&self) -> Timing {
        self.timing_with_max(0)
    }

    /// The timing with a largest value of at least `max_ns`, which is that of times that were not counted here.
    fn timing_with_max(&self, max_ns: u64) -> Timing {
        Timing { sum_ns: self.sum_ns, max_ns: self.max_ns.max(max_ns), counts: Timing::sparse_counts(&self.buckets) }
    }
}

/// Everything recorded of one flow in one interval.
#[derive(Clone, Debug)]
struct FlowRecord {
    counters: FlowCounters,
    failures: FailureRecord,
    /// The largest response and service that is kept in `floor` is not in these.
    response: Counts,
    service: Counts,
    lag: Counts,
    own_lag: Counts,
    submit: (u64, u64),
    /// Operations without any lag: most of those of a closed loop, or in virtual time. They join `lag` and `own_lag` when the
    /// interval ends (5 % on the null device).
    on_time: u64,
    forgiven: Box<[u64]>,
    floor: LessenedTimes,
    service_floor: LessenedTimes,
}

impl FlowRecord {
    fn new(buckets: usize) -> FlowRecord {
        FlowRecord {
            counters: FlowCounters::default(),
            failures: FailureRecord::new(buckets),
            response: Counts::new(buckets),
            service: Counts::new(buckets),
            lag: Counts::new(buckets),
            own_lag: Counts::new(buckets),
            submit: (0, 0),
            on_time: 0,
            forgiven: vec![0; buckets].into(),
            floor: LessenedTimes::new(buckets),
            service_floor: LessenedTimes::new(buckets),
        }
    }

    fn clear(&mut self) {
        self.counters = FlowCounters::default();
        self.failures.clear();
        for counts in [&mut self.response, &mut self.service, &mut self.lag, &mut self.own_lag] {
            counts.clear();
        }
        self.submit = (0, 0);
        self.forgiven.fill(0);
        self.floor.clear();
        self.service_floor.clear();
    }

    fn add(&mut self, other: &mut FlowRecord) {
        self.counters.add(&other.counters);
        self.failures.add(&mut other.failures);
        self.response.add(&other.response);
        self.service.add(&other.service);
        self.lag.add(&other.lag);
        self.own_lag.add(&other.own_lag);
        self.submit = (self.submit.0.saturating_add(other.submit.0), self.submit.1.max(other.submit.1));
        self.floor.add(&other.floor);
        self.service_floor.add(&other.service_floor);
        add_each(&mut self.forgiven, &other.forgiven);
    }

    fn flow_interval(&self) -> FlowInterval {
        FlowInterval {
            errors: self.failures.errors.iter().map(|(name, n)| (name.to_string(), *n)).collect(),
            response: self.response.timing_with_max(self.floor.whole_max_ns()),
            service: self.service.timing_with_max(self.service_floor.whole_max_ns()),
            submit: Timing { sum_ns: self.submit.0, max_ns: self.submit.1, counts: Vec::new() },
            lag: self.lag.as_timing(),
            own_lag: self.own_lag.as_timing(),
            forgiven: Timing::sparse_counts(&self.forgiven),
            floor: self.floor.lessened_timing(self.response.sum_ns, self.response.max_ns, &self.response.buckets),
            service_floor: self.service_floor.lessened_timing(
                self.service.sum_ns,
                self.service.max_ns,
                &self.service.buckets,
            ),
            failures: self.failures.failure_times(),
            ..FlowInterval::from_counters(&self.counters)
        }
    }
}

/// The failed operations of one flow in one interval.
#[derive(Clone, Debug)]
struct FailureRecord {
    /// Their number by error name.
    errors: Vec<(Cow<'static, str>, u64)>,
    response: Counts,
    /// Their number by the part of the target in which they began.
    at: Box<[u64; PARTS]>,
}

impl FailureRecord {
    fn new(buckets: usize) -> FailureRecord {
        FailureRecord { errors: Vec::new(), response: Counts::new(buckets), at: Box::new([0; PARTS]) }
    }

    fn clear(&mut self) {
        self.errors.clear();
        self.response.clear();
        self.at.fill(0);
    }

    fn add(&mut self, other: &mut FailureRecord) {
        other.errors.drain(..).for_each(|(name, n)| count_error(&mut self.errors, name, n));
        self.response.add(&other.response);
        add_each(&mut self.at[..], &other.at[..]);
    }

    fn failure_times(&self) -> Option<FailureTimes> {
        let at = Timing::sparse_counts(&self.at[..]);
        (!at.is_empty()).then(|| FailureTimes { at, response: self.response.as_timing() })
    }
}

/// Adds each count to the sum at the same place.
fn add_each(sums: &mut [u64], more: &[u64]) {
    sums.iter_mut().zip(more).for_each(|(sum, n)| *sum += n);
}

fn count_error(errors: &mut Vec<(Cow<'static, str>, u64)>, name: Cow<'static, str>, n: u64) {
    match errors.iter_mut().find(|(known, _)| *known == name) {
        Some((_, counted)) => *counted += n,
        None => errors.push((name, n)),
    }
}

/// Where and when an operation failed; kept apart from the histograms of successful operations.
#[derive(Clone, Copy, Debug)]
pub struct Failure {
    /// The index of the part of the target in which it began, of [`PARTS`] equal ones.
    pub part: usize,
    /// completed − intended.
    pub response: Span,
}

/// The parts of an operation's times that the generator may have caused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Excess {
    /// The generator's own lag.
    pub own_lag: Span,
    /// The generator's part of the response: own lag, also that of other operations on the same target, and the time by
    /// which the completion was found too late.
    pub response: Span,
    /// The generator's part of the service: the time by which the completion was found too late.
    pub service: Span,
}

/// The times of an operation that completed in full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OperationTimes {
    /// completed − intended.
    pub response: Span,
    /// completed − issued.
    pub service: Span,
    /// issued − intended.
    pub lag: Span,
    /// Time inside the hand-over.
    pub submit: Span,
    /// The parts of these times that the generator may have caused.
    pub excess: Excess,
}

/// Operations of one flow one after the other that are alike, before they are counted: what completes together and is
/// issued together has the same times, and is then counted at once.
#[derive(Clone, Copy, Debug, Default)]
struct Alike {
    flow: usize,
    bytes: u32,
    took: OperationTimes,
    many: u64,
}

/// Distributions of one flow.
#[derive(Clone, Debug, Default)]
struct FlowTimes {
    response: Times,
    service: Times,
    lag: Times,
}

/// Everything recorded in one interval by one worker, or by all of them once their frames are added.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Counts from 0 in each segment.
    pub index: u64,
    /// Begin on the run's time line, nanoseconds.
    pub start_ns: u64,
    /// End, exclusive.
    pub end_ns: u64,
    /// Index of the phase.
    pub phase: u16,
    /// One record for each flow.
    cells: Vec<FlowRecord>,
    /// One entry for each target whose lateness is counted.
    rests: Vec<TargetLateness>,
    /// One entry for each closed loop.
    loops: Vec<LoopInterval>,
    /// Distributions since the last frame that carried them, and the first interval they cover.
    times: Option<(u64, Vec<FlowTimes>)>,
}

impl Frame {
    /// Adds another worker's frame of the same interval.
    pub fn add(&mut self, other: &mut Frame) {
        assert_eq!(self.index, other.index, "frames of one interval are added");
        assert_eq!(self.cells.len(), other.cells.len(), "both list the same flows");
        self.end_ns = self.end_ns.max(other.end_ns);
        self.cells.iter_mut().zip(&mut other.cells).for_each(|(mine, theirs)| mine.add(theirs));
        self.rests.iter_mut().zip(&other.rests).for_each(|(mine, theirs)| mine.add(theirs));
        self.loops.iter_mut().zip(&other.loops).for_each(|(mine, theirs)| mine.add(theirs));
        match (&mut self.times, &other.times) {
            (Some((_, mine)), Some((_, theirs))) => mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| {
                mine.response.add(&theirs.response);
                mine.service.add(&theirs.service);
                mine.lag.add(&theirs.lag);
            }),
            (mine @ None, Some(theirs)) => *mine = Some(theirs.clone()),
            (_, None) => {}
        }
    }

    /// The plain counts of a flow.
    pub fn flow_counters(&self, flow: usize) -> &FlowCounters {
        &self.cells[flow].counters
    }

    /// The log line of scalars.
    pub fn interval_line(&self) -> Interval {
        let flows = self.cells.iter().map(FlowRecord::flow_interval).collect();
        let Frame { index, start_ns, end_ns, phase, .. } = *self;
        let lateness =
            self.rests.iter().enumerate().filter_map(|(target, rests)| rests.log_entry(target as u16)).collect();
        let loops = self.loops.clone();
        Interval { index, start_ns, end_ns, phase, flows, lateness, loops, ..Interval::default() }
    }

    /// The log line of distributions, where this frame closes a group.
    pub fn histograms_line(&self) -> Option<Histograms> {
        let (first, times) = self.times.as_ref()?;
        let filled = times.iter().enumerate().filter(|(_, t)| !t.lag.is_empty() || !t.response.is_empty());
        let flows = filled.map(|(flow, times)| FlowHistograms {
            flow: flow as u16,
            response: times.response.to_text(),
            service: times.service.to_text(),
            lag: times.lag.to_text(),
            overflow: [
                times.response.count_above_hour(),
                times.service.count_above_hour(),
                times.lag.count_above_hour(),
            ],
        });
        Some(Histograms { first: *first, last: self.index, phase: self.phase, flows: flows.collect() })
    }
}

/// One worker's counters.
#[derive(Debug)]
pub struct Recorder {
    thresholds: Thresholds,
    cells: Vec<FlowRecord>,
    rests: Vec<TargetLateness>,
    loops: Vec<LoopInterval>,
    times: Vec<FlowTimes>,
    alike: Alike,
    times_first: u64,
    spare_cells: Vec<(Vec<FlowRecord>, Vec<TargetLateness>)>,
    spare_times: Vec<Vec<FlowTimes>>,
}

impl Recorder {
    /// Counters for `flows` flows against `thresholds`.
    pub fn new(thresholds: Thresholds, flows: usize) -> Recorder {
        let cells = vec![FlowRecord::new(thresholds.bucket_count()); flows];
        let times = vec![FlowTimes::default(); flows];
        let (rests, spare_cells, spare_times) = (Vec::new(), Vec::new(), Vec::new());
        let (loops, alike) = (Vec::new(), Alike::default());
        Recorder { thresholds, cells, rests, loops, times, alike, times_first: 0, spare_cells, spare_times }
    }

    /// Makes this recorder also count what the slots of `loops` closed loops do.
    pub fn with_loops(mut self, loops: usize) -> Recorder {
        self.loops = vec![LoopInterval::default(); loops];
        self
    }

    /// Counts, for the interval that ends now, since when the slots of a closed loop wait or carry, and how long they
    /// paused.
    pub fn count_slots(&mut self, looped: u16, open_ns: i64, paused: Span) {
        let (open, pauses) = (open_ns, paused.as_ns());
        self.loops[usize::from(looped)].add(&LoopInterval {
            open_ns: open,
            paused_ns: pauses,
            ..LoopInterval::default()
        });
    }

    /// Counts that the generator left a slot of a closed loop without an operation.
    #[cold]
    pub fn left_idle(&mut self, looped: u16, span: Span) {
        self.loops[usize::from(looped)].idle.record_pause(span.as_ns());
    }

    /// Makes this recorder also count the generator's lateness on each of `targets` targets.
    pub fn with_lateness(mut self, targets: usize) -> Recorder {
        self.rests = vec![TargetLateness::new(self.thresholds.bucket_count()); targets];
        self
    }

    /// Counts that a target was empty for `empty`; during `given` of it an operation was due, which the schedule had
    /// set `gap` after the one before it.
    pub fn count_idle(&mut self, target: u16, empty: Span, given: Span, gap: Span) {
        self.rests[usize::from(target)].count_idle(self.thresholds.bucket_for_time(empty.as_ns()), given, gap);
    }

    /// Notes the largest shift of operations on a target.
    pub fn note_shift(&mut self, target: u16, span: Span) {
        self.rests[usize::from(target)].note_shift(span);
    }

    /// Counts that the generator looked for completions of a target too late, by `span`.
    pub fn count_overslept(&mut self, target: u16, span: Span) {
        self.rests[usize::from(target)].count_overslept(span);
    }

    /// The counters of a flow, for the plain ones that the engine updates itself.
    #[inline]
    pub fn flow_counters_mut(&mut self, flow: usize) -> &mut FlowCounters {
        &mut self.cells[flow].counters
    }

    /// Counts an operation that completed in full.
    #[inline(always)]
    pub fn count_completed(&mut self, flow: usize, bytes: u32, took: OperationTimes) {
        let last = &mut self.alike;
        if last.took == took && last.flow == flow && last.bytes == bytes {
            last.many += 1;
            return;
        }
        self.completed_other(Alike { flow, bytes, took, many: 1 });
    }

    /// Counts the operations that were alike, and begins with another one.
    #[inline(never)]
    fn completed_other(&mut self, next: Alike) {
        let alike = std::mem::replace(&mut self.alike, next);
        if alike.many == 0 {
            return;
        }
        let Alike { flow, bytes, took, many } = alike;
        let OperationTimes { response, service, lag, submit, excess } = took;
        self.count_lag(flow, lag, excess.own_lag, many);
        self.count_submit(flow, submit, many);
        let cell = &mut self.cells[flow];
        cell.counters.ok += many;
        cell.counters.bytes += u64::from(bytes) * many;
        let over = self.thresholds.bucket_for_time(response.as_ns());
        let bucket = if service == response { over } else { self.thresholds.bucket_for_time(service.as_ns()) };
        cell.response.record_but_for_max(response.as_ns(), over, many);
        cell.service.record_but_for_max(service.as_ns(), bucket, many);
        let times = &mut self.times[flow];
        times.response.record_many(response.as_ns(), many);
        times.service.record_many(service.as_ns(), many);
        self.count_excess(&alike, over, bucket);
    }

    /// Counts what would be left of times in the buckets `over` and `bucket` without the generator's part, and the largest
    /// times.
    #[inline(always)]
    fn count_excess(&mut self, alike: &Alike, over: usize, bucket: usize) {
        let Alike { flow, took: OperationTimes { response, service, excess, .. }, many, .. } = *alike;
        let cell = &mut self.cells[flow];
        let mut fell = false;
        match excess.response {
            Span::ZERO => cell.response.max_ns = cell.response.max_ns.max(response.as_ns()),
            part => {
                let floor = response.saturating_sub(part).as_ns();
                fell =
                    cell.floor.record_time(response.as_ns(), over, floor, self.thresholds.bucket_for_time(floor), many);
            }
        }
        match excess.service {
            Span::ZERO => cell.service.max_ns = cell.service.max_ns.max(service.as_ns()),
            part => {
                let floor = service.saturating_sub(part).as_ns();
                cell.service_floor.record_time(
                    service.as_ns(),
                    bucket,
                    floor,
                    self.thresholds.bucket_for_time(floor),
                    many,
                );
            }
        }
        // A time that stays in its bucket without the whole excess also stays there without its own lag.
        if fell && !excess.own_lag.is_zero() {
            let without = self.thresholds.bucket_for_time(response.saturating_sub(excess.own_lag).as_ns());
            self.cells[flow].forgiven[without + 1..=over].iter_mut().for_each(|n| *n += many);
        }
    }

    /// Counts the lag and the hand-over of an operation that did not complete in full.
    pub fn fell_short(&mut self, flow: usize, took: &OperationTimes) {
        self.count_lag(flow, took.lag, took.excess.own_lag, 1);
        self.count_submit(flow, took.submit, 1);
    }

    #[inline(always)]
    fn count_lag(&mut self, flow: usize, lag: Span, own_lag: Span, many: u64) {
        let cell = &mut self.cells[flow];
        if lag.is_zero() && own_lag.is_zero() {
            cell.on_time += many;
            return;
        }
        let bucket = self.thresholds.bucket_for_time(lag.as_ns());
        cell.lag.record_many(lag.as_ns(), bucket, many);
        let own = if own_lag == lag { bucket } else { self.thresholds.bucket_for_time(own_lag.as_ns()) };
        cell.own_lag.record_many(own_lag.as_ns(), own, many);
        self.times[flow].lag.record_many(lag.as_ns(), many);
    }

    #[inline(always)]
    fn count_submit(&mut self, flow: usize, submit: Span, many: u64) {
        let (sum, max) = &mut self.cells[flow].submit;
        *sum = sum.saturating_add(submit.as_ns().saturating_mul(many));
        *max = (*max).max(submit.as_ns());
    }

    /// Counts an operation that was handed over in time, whose hand-over took no time, and that completed in full after
    /// `took`.
    #[inline(always)]
    pub fn count_prompt(&mut self, flow: usize, bytes: u32, took: Span) {
        let cell = &mut self.cells[flow];
        cell.on_time += 1;
        cell.counters.ok += 1;
        cell.counters.bytes += u64::from(bytes);
        let bucket = self.thresholds.bucket_for_time(took.as_ns());
        cell.response.record_time(took.as_ns(), bucket);
        cell.service.record_time(took.as_ns(), bucket);
        let times = &mut self.times[flow];
        times.response.record_time(took.as_ns());
        times.service.record_time(took.as_ns());
    }

    /// Counts an operation that failed with the error of this name.
    pub fn count_failed(&mut self, flow: usize, name: Cow<'static, str>, failure: Failure) {
        count_error(&mut self.cells[flow].failures.errors, name, 1);
        self.record_failure(flow, failure);
    }

    /// Counts an operation that moved too few bytes.
    pub fn count_short(&mut self, flow: usize, failure: Failure) {
        self.cells[flow].counters.short += 1;
        self.record_failure(flow, failure);
    }

    /// Counts an operation that was never handed to the device.
    pub fn not_submitted(&mut self, flow: usize) {
        count_error(&mut self.cells[flow].failures.errors, Code::NOT_SUBMITTED.symbolic_name(), 1);
    }

    fn record_failure(&mut self, flow: usize, failure: Failure) {
        let (cell, ns) = (&mut self.cells[flow], failure.response.as_ns());
        cell.failures.response.record_time(ns, self.thresholds.bucket_for_time(ns));
        cell.failures.at[failure.part.min(PARTS - 1)] += 1;
    }

    /// Takes the counters of the interval that ends now and begins the next one. With `close_group` the distributions
    /// are taken too.
    pub fn take_frame(&mut self, index: u64, start_ns: u64, end_ns: u64, phase: u16, close_group: bool) -> Frame {
        self.completed_other(Alike::default());
        for (cell, times) in self.cells.iter_mut().zip(&mut self.times) {
            let on_time = std::mem::take(&mut cell.on_time);
            let bucket = self.thresholds.bucket_for_time(0);
            cell.lag.buckets[bucket] += on_time;
            cell.own_lag.buckets[bucket] += on_time;
            times.lag.record_many(0, on_time);
        }
        let (cells, rests) = self.spare_cells.pop().unwrap_or_else(|| {
            (
                vec![FlowRecord::new(self.thresholds.bucket_count()); self.cells.len()],
                vec![TargetLateness::new(self.thresholds.bucket_count()); self.rests.len()],
            )
        });
        let cells = std::mem::replace(&mut self.cells, cells);
        let rests = std::mem::replace(&mut self.rests, rests);
        let loops = self.loops.clone();
        self.loops.fill(LoopInterval::default());
        let times = close_group.then(|| {
            let spare = self.spare_times.pop().unwrap_or_else(|| vec![FlowTimes::default(); cells.len()]);
            let first = std::mem::replace(&mut self.times_first, index + 1);
            (first, std::mem::replace(&mut self.times, spare))
        });
        Frame { index, start_ns, end_ns, phase, cells, rests, loops, times }
    }

    /// Takes a frame's memory back for later use.
    pub fn recycle_frame(&mut self, mut frame: Frame) {
        frame.cells.iter_mut().for_each(FlowRecord::clear);
        frame.rests.iter_mut().for_each(TargetLateness::clear);
        self.spare_cells.push((frame.cells, frame.rests));
        if let Some((_, mut times)) = frame.times {
            for flow in &mut times {
                [&mut flow.response, &mut flow.service, &mut flow.lag].into_iter().for_each(Times::clear);
            }
            self.spare_times.push(times);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(recorder: &mut Recorder, response: u64, own: u64) {
        recorder.flow_counters_mut(0).scheduled += 1;
        recorder.flow_counters_mut(0).issued += 1;
        let (response, service, lag) = (Span::from_us(response), Span::from_us(response - own), Span::from_us(own));
        let excess = Excess { own_lag: lag, response: lag, service: Span::ZERO };
        recorder.count_completed(0, 512, OperationTimes { response, service, lag, submit: Span::ZERO, excess });
    }

    #[test]
    fn forgiven_counts_what_own_lag_pushed_over_a_threshold() {
        let thresholds = Thresholds::new([]);
        let mut recorder = Recorder::new(thresholds.clone(), 1);
        record(&mut recorder, 900, 0);
        record(&mut recorder, 1100, 200);
        record(&mut recorder, 1100, 50);
        let flow = recorder.take_frame(0, 0, 1, 0, true).interval_line().flows.remove(0);
        let mut over = vec![0; thresholds.bucket_count()];
        Timing::add_to(&flow.response.counts, &mut over).unwrap();
        assert_eq!(thresholds.count_over(&over, Span::from_ms(1)), Some(2));
        let mut forgiven = vec![0; thresholds.bucket_count()];
        Timing::add_to(&flow.forgiven, &mut forgiven).unwrap();
        assert_eq!(forgiven[thresholds.first_over(Span::from_ms(1)).unwrap()], 1);
        assert!(flow.is_balanced(0));
    }

    #[test]
    fn frames_of_workers_add_and_memory_is_reused() {
        let mut workers = [Recorder::new(Thresholds::new([]), 1), Recorder::new(Thresholds::new([]), 1)];
        for round in 0..3 {
            workers.iter_mut().for_each(|worker| record(worker, 500 + round, 1));
            workers[1].count_failed(0, Code::EIO.symbolic_name(), Failure { part: 63, response: Span::from_ms(7) });
            workers[0].not_submitted(0);
            let [mut a, mut b] = workers.each_mut().map(|worker| worker.take_frame(round, 0, 1, 0, round == 2));
            a.add(&mut b);
            let flow = &a.interval_line().flows[0];
            assert_eq!((flow.ok, flow.failed_operations(), flow.bytes), (2, 2, 1024));
            let failures = flow.failures.as_ref().unwrap();
            assert_eq!((&failures.at[..], failures.response.max_ns), (&[63, 1][..], 7_000_000));
            match a.histograms_line() {
                Some(lines) => {
                    assert_eq!(
                        (lines.first, lines.last, lines.flows[0].decode_times().unwrap()[0].total_count()),
                        (0, 2, 6)
                    )
                }
                None => assert!(round < 2),
            }
            workers[0].recycle_frame(a);
            workers[1].recycle_frame(b);
        }
        assert_eq!(workers[0].spare_cells.len(), 1);
    }

    /// Operations with the same times are counted at once, and nothing of it shows.
    #[test]
    fn operations_that_are_alike_are_counted_like_others() {
        let us = Span::from_us;
        let excess = Excess { own_lag: us(500), response: us(500), service: us(300) };
        let one = OperationTimes { response: us(1400), service: us(900), lag: us(500), submit: us(3), excess };
        let other = OperationTimes { lag: us(100), ..one };
        let counted = |order: &[(usize, u32, OperationTimes)]| {
            let mut recorder = Recorder::new(Thresholds::new([]), 2);
            order.iter().for_each(|(flow, bytes, took)| recorder.count_completed(*flow, *bytes, *took));
            recorder.fell_short(1, &one);
            let frame = recorder.take_frame(0, 0, 1, 0, true);
            (frame.interval_line(), frame.histograms_line())
        };
        let together =
            counted(&[(0, 512, one), (0, 512, one), (0, 512, one), (0, 512, other), (1, 512, one), (0, 4096, one)]);
        let apart =
            counted(&[(0, 512, one), (1, 512, one), (0, 512, other), (0, 512, one), (0, 4096, one), (0, 512, one)]);
        assert_eq!(together, apart);
        let reads = &together.0.flows[0];
        assert_eq!((reads.ok, reads.bytes, reads.response.sum_ns), (5, 4 * 512 + 4096, 7_000_000));
        assert_eq!((reads.submit.sum_ns, reads.own_lag.sum_ns, reads.response.max_ns), (15_000, 2_500_000, 1_400_000));
        assert_eq!(reads.floor.as_ref().map(|floor| floor.sum_ns), Some(4_500_000));
        assert_eq!(together.0.flows[1].lag.sum_ns, 1_000_000, "of those that fell short too");
    }

    #[test]
    fn the_slots_of_several_workers_are_one_loop() {
        let mut workers = [0; 2].map(|_| Recorder::new(Thresholds::new([]), 1).with_loops(2));
        workers[0].count_slots(1, -5, Span::from_ns(7));
        workers[0].left_idle(1, Span::from_ms(2));
        workers[1].count_slots(1, 20, Span::from_ns(1));
        workers[1].left_idle(1, Span::from_ms(3));
        let [mut a, mut b] = workers.each_mut().map(|worker| worker.take_frame(0, 0, 1, 0, false));
        a.add(&mut b);
        let idle = crate::pauses::Pauses { sum_ns: 5_000_000, max_ns: 3_000_000, count: 2 };
        let expected = LoopInterval { open_ns: 15, paused_ns: 8, idle };
        assert_eq!(a.interval_line().loops, [LoopInterval::default(), expected]);
        assert_eq!(
            workers[0].take_frame(1, 1, 2, 0, false).interval_line().loops,
            [LoopInterval::default(); 2],
            "for each interval"
        );
    }
}
