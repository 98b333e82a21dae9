//! The figures of one interval: rates, what is open, exact shares, the generator's own lag, and how the responses are distributed.
//!
//! Each is a sum over the flows of a stream. An interval is one message to every reader, so its text is bounded: first the
//! distributions are left out, then the last streams, and their number is said.

use super::head::RunHead;
use assay_base::Span;
use assay_judge::SoFar;
use assay_record::{FlowInterval, Interval, Timing};
use serde::Serialize;
use std::sync::OnceLock;

/// The longest text of a moment, in bytes.
const LONGEST: usize = 3600;

/// The most streams whose figures are kept: a log may have as many as somebody wrote into its header.
const STREAMS: usize = 64;

/// One interval.
#[derive(Clone, Debug, Serialize)]
pub struct Moment {
    /// The number of its line.
    pub seq: u64,
    /// Its number in its segment.
    pub index: u64,
    /// The index of its phase.
    pub phase: u16,
    /// Its end on the time line of the run, in nanoseconds.
    pub at_ns: u64,
    /// Its length.
    pub length_ns: u64,
    /// Measured time at its end.
    pub measured_ns: u64,
    /// Measured time that is planned for the step.
    pub planned_ns: u64,
    /// Each stream over all its targets, in the order of the head.
    pub streams: Vec<StreamMoment>,
    /// How many of the streams are left out.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out: usize,
    /// The largest share that others than the run had of what a disk of the run did (0 to 1); absent where nobody watches that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub foreign: Option<f64>,
    #[serde(skip)]
    text: OnceLock<String>,
}

/// One stream in one interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StreamMoment {
    /// Operations per second that the schedule asked for.
    pub asked: f64,
    /// Completed operations per second.
    pub achieved: f64,
    /// Bytes of these per second.
    pub bytes_per_second: f64,
    /// Number of completed operations.
    pub operations: u64,
    /// Failed and short operations.
    pub errors: u64,
    /// In flight at the end.
    pub in_flight: u64,
    /// Due and not handed over at the end.
    pub waiting: u64,
    /// In flight for longer than the stuck limit.
    pub stuck: u64,
    /// Responses over each threshold of the head, exact.
    pub over: Vec<u64>,
    /// Services over each threshold of the head, exact.
    pub service_over: Vec<u64>,
    /// The largest response.
    pub response_max_ns: u64,
    /// The largest own lag of the generator.
    pub own_lag_max_ns: u64,
    /// The mean of the own lag; absent where no operation ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own_lag_mean_ns: Option<u64>,
    /// `[power, number, …]`: how many responses took at least `2^(power − 1)` µs and less than `2^power` µs; power 0 is less than 1 µs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub heat: Vec<u64>,
}

impl Moment {
    /// The figures of `interval`, whose line has the number `seq`.
    pub fn new(seq: u64, interval: &Interval, head: &RunHead, so_far: Option<SoFar>) -> Moment {
        let length_ns = interval.end_ns.saturating_sub(interval.start_ns);
        let mut sums = vec![StreamSum::new(head); head.streams.len().min(STREAMS)];
        for (flow, (stream, _)) in interval.flows.iter().zip(&head.flows) {
            if let Some(sum) = sums.get_mut(*stream) {
                sum.add(flow);
            }
        }
        let foreign = interval.foreign.iter().map(|load| load.largest_share()).reduce(f64::max);
        Moment {
            seq,
            index: interval.index,
            phase: interval.phase,
            at_ns: interval.end_ns,
            length_ns,
            measured_ns: so_far.map_or(0, |so_far| so_far.measured_ns),
            planned_ns: so_far.map_or(0, |so_far| so_far.planned_ns),
            streams: sums.iter().map(|sum| sum.figures(length_ns, head)).collect(),
            left_out: head.streams.len().saturating_sub(STREAMS),
            foreign,
            text: OnceLock::new(),
        }
    }

    /// Its text as JSON, with as much left out as its length requires. It is made when it is asked for first: a log that is read from its
    /// beginning has many intervals that nobody will be told of.
    pub fn json_text(&self) -> &str {
        self.text.get_or_init(|| self.clone().into_bounded_text())
    }

    fn into_bounded_text(mut self) -> String {
        let text = self.as_text();
        if text.len() <= LONGEST {
            return text;
        }
        self.streams.iter_mut().for_each(|stream| stream.heat.clear());
        let text = self.as_text();
        if text.len() <= LONGEST {
            return text;
        }
        let fits = self.streams.len() * LONGEST / text.len();
        self.left_out += self.streams.len() - fits.min(self.streams.len());
        self.streams.truncate(fits);
        while self.as_text().len() > LONGEST && self.streams.pop().is_some() {
            self.left_out += 1;
        }
        self.as_text()
    }

    fn as_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl StreamMoment {
    /// The share of responses over the threshold of the head with this index; `None` where nothing completed.
    pub(crate) fn share_over(&self, threshold: usize) -> Option<f64> {
        let over = *self.over.get(threshold)?;
        (self.operations > 0).then(|| over as f64 / self.operations as f64)
    }
}

/// What the flows of a stream add up to.
#[derive(Clone, Debug)]
struct StreamSum {
    flow: FlowInterval,
    response: Vec<u64>,
    service: Vec<u64>,
    lagged: u64,
}

impl StreamSum {
    fn new(head: &RunHead) -> StreamSum {
        let buckets = head.bounds.bucket_count();
        StreamSum { flow: FlowInterval::default(), response: vec![0; buckets], service: vec![0; buckets], lagged: 0 }
    }

    fn add(&mut self, flow: &FlowInterval) {
        let sum = &mut self.flow;
        for (sum, part) in [
            (&mut sum.scheduled, flow.scheduled),
            (&mut sum.ok, flow.ok),
            (&mut sum.bytes, flow.bytes),
            (&mut sum.short, flow.failed_operations().saturating_add(flow.short)),
            (&mut sum.in_flight, flow.in_flight),
            (&mut sum.waiting, flow.waiting),
            (&mut sum.stuck, flow.stuck),
            (&mut sum.own_lag.sum_ns, flow.own_lag.sum_ns),
        ] {
            *sum = sum.saturating_add(part);
        }
        sum.response.max_ns = sum.response.max_ns.max(flow.response.max_ns);
        sum.own_lag.max_ns = sum.own_lag.max_ns.max(flow.own_lag.max_ns);
        self.lagged = flow.own_lag.counts.chunks_exact(2).fold(self.lagged, |sum, pair| sum.saturating_add(pair[1]));
        // A bucket that does not exist is an error of the log, which the judge reports.
        let _ = Timing::add_to(&flow.response.counts, &mut self.response);
        let _ = Timing::add_to(&flow.service.counts, &mut self.service);
    }

    fn figures(&self, length_ns: u64, head: &RunHead) -> StreamMoment {
        let flow = &self.flow;
        StreamMoment {
            asked: per_second(flow.scheduled, length_ns),
            achieved: per_second(flow.ok, length_ns),
            bytes_per_second: per_second(flow.bytes, length_ns),
            operations: flow.ok,
            errors: flow.short,
            in_flight: flow.in_flight,
            waiting: flow.waiting,
            stuck: flow.stuck,
            over: over_each(&self.response, head),
            service_over: over_each(&self.service, head),
            response_max_ns: flow.response.max_ns,
            own_lag_max_ns: flow.own_lag.max_ns,
            own_lag_mean_ns: flow.own_lag.sum_ns.checked_div(self.lagged),
            heat: powers_of_two(&self.response, head.bounds.bounds_ns()),
        }
    }
}

/// The exact numbers over each threshold of the head. Counts of a forged log may be as large as they like.
fn over_each(counts: &[u64], head: &RunHead) -> Vec<u64> {
    let over = |threshold: &Span| {
        let first = head.bounds.first_over(*threshold).unwrap_or(counts.len());
        counts[first.min(counts.len())..].iter().fold(0, |sum: u64, n| sum.saturating_add(*n))
    };
    head.thresholds.iter().map(over).collect()
}

/// Counts by powers of two of a microsecond, in pairs, the empty ones left out.
fn powers_of_two(counts: &[u64], bounds_ns: &[u64]) -> Vec<u64> {
    let mut powers = [0u64; 65];
    for (bucket, count) in counts.iter().enumerate() {
        let least_us = bucket.checked_sub(1).and_then(|below| bounds_ns.get(below)).map_or(0, |ns| ns / 1000);
        let power = if least_us == 0 { 0 } else { least_us.ilog2() as usize + 1 };
        powers[power] = powers[power].saturating_add(*count);
    }
    Timing::sparse_counts(&powers)
}

fn per_second(n: u64, length_ns: u64) -> f64 {
    if length_ns == 0 { 0.0 } else { n as f64 / (length_ns as f64 / 1e9) }
}

fn is_zero(n: &usize) -> bool {
    *n == 0
}
