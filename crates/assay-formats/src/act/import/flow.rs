//! The state of one histogram of a log of ACT, which becomes one flow of the run log.

use super::super::log::{BUCKETS, Header as Head, Program, Unit};
use assay_base::Span;
use assay_record::{FlowInterval, Timing};
use std::collections::BTreeMap;

/// The largest boundary: 2^40 units are more than a year, both in milliseconds and in microseconds.
pub(super) const LARGEST: u32 = 40;

/// The state of one histogram.
pub(super) struct Flow {
    /// Its name in the log.
    pub name: String,
    pub write: bool,
    /// Number of ACT's threads that carry it.
    threads: Option<u64>,
    /// Whether these threads serve only the drives.
    bound_to_drives: bool,
    /// Bytes of one operation; 0 where they vary, and where another histogram counts the same operations.
    bytes: u64,
    /// Counts up to the previous block.
    pub buckets: [u64; BUCKETS],
    /// Operations counted as scheduled and as ended so far.
    scheduled: u64,
    pub ended: u64,
    /// Failed operations since the previous block, by name.
    pub errors: BTreeMap<String, u64>,
    /// Whether the device kept its threads busy in the last interval.
    busy: bool,
}

impl Flow {
    /// For the histogram `name`, before the first block.
    pub(super) fn new(head: &Head, name: &str) -> Flow {
        let devices = config_number(head, "num-devices").unwrap_or(head.devices.len() as u64).max(1);
        let queues = config_number(head, "num-queues")
            .zip(config_number(head, "threads-per-queue"))
            .map(|(queues, threads)| queues.saturating_mul(threads));
        let service = config_number(head, "service-threads").or(queues);
        let threads = match (name, head.program) {
            ("large-block-reads" | "large-block-writes", _) => Some(devices),
            ("writes" | "device-writes", Program::Index) => config_number(head, "cache-threads"),
            ("reads" | "writes" | "trans-reads" | "device-reads", _) => service,
            _ => None,
        };
        Flow {
            name: name.to_owned(),
            write: name.ends_with("writes"),
            threads,
            bound_to_drives: name.starts_with("large-block-")
                || (head.program == Program::Index && matches!(name, "writes" | "device-writes")),
            bytes: operation_bytes(head, name),
            buckets: [0; BUCKETS],
            scheduled: 0,
            ended: 0,
            errors: BTreeMap::new(),
            busy: false,
        }
    }

    /// Operations that have ended when the log counts `buckets`, including those that failed since the previous block.
    pub(super) fn ended_with(&self, buckets: &[u64; BUCKETS]) -> u64 {
        let ok = buckets.iter().zip(&self.buckets).fold(0u64, |sum, (now, before)| sum.saturating_add(now - before));
        self.errors.values().fold(self.ended.saturating_add(ok), |sum, n| sum.saturating_add(*n))
    }

    /// The interval of `length`, at whose end the log counts `buckets`, and `behind` operations are due and have not
    /// ended.
    pub(super) fn advance_interval(
        &mut self,
        buckets: &[u64; BUCKETS],
        behind: u64,
        length: Span,
        unit: Unit,
    ) -> FlowInterval {
        let new: Vec<u64> = buckets.iter().zip(&self.buckets).map(|(now, before)| now - before).collect();
        self.buckets = *buckets;
        let errors = std::mem::take(&mut self.errors);
        let ok = new.iter().fold(0u64, |sum, n| sum.saturating_add(*n));
        let ended = errors.values().fold(ok, |sum, n| sum.saturating_add(*n));
        self.ended = self.ended.saturating_add(ended);
        let before = self.scheduled;
        self.scheduled = self.ended.saturating_add(behind).max(before);
        // Each of ACT's threads may have one operation in flight.
        let behind = self.scheduled - self.ended;
        let in_flight = behind.min(self.threads.unwrap_or(0));
        self.busy = self.keeps_busy(&new, length, unit);
        let service = Timing { counts: Timing::sparse_counts(&to_own_buckets(&new)), ..Timing::default() };
        // The cause of a delay is the device where ACT's threads were busy with it, otherwise ACT.
        FlowInterval {
            scheduled: self.scheduled - before,
            issued: ended,
            ok,
            errors,
            in_flight,
            waiting: behind - in_flight,
            response: service.clone(),
            service,
            lag: lag_timing(ended, behind > in_flight),
            own_lag: lag_timing(ended, behind > in_flight && !self.busy),
            bytes: ok.saturating_mul(self.bytes),
            ..FlowInterval::default()
        }
    }

    /// Whether the threads spent at least half of the interval with the device. An operation in a bucket counts with
    /// the middle of its bounds.
    fn keeps_busy(&self, new: &[u64], length: Span, unit: Unit) -> bool {
        let Some(threads) = self.threads.filter(|_| self.bound_to_drives) else { return false };
        let busy: f64 = new.iter().enumerate().map(|(bucket, n)| *n as f64 * middle_of_bucket(bucket)).sum();
        let busy = busy * unit.one_unit().as_secs_f64();
        busy >= 0.5 * threads as f64 * length.as_secs_f64()
    }
}

/// The lag of operations, of which the log says only whether there was any.
fn lag_timing(operations: u64, any: bool) -> Timing {
    Timing { sum_ns: u64::from(any), max_ns: 0, counts: Timing::sparse_counts(&[operations]) }
}

/// The middle of the bounds of a bucket, in units of the log.
fn middle_of_bucket(bucket: usize) -> f64 {
    if bucket == 0 { 0.0 } else { 1.5 * ((bucket - 1) as f64).exp2() }
}

/// ACT's buckets as buckets between our boundaries.
fn to_own_buckets(buckets: &[u64]) -> Vec<u64> {
    let last = LARGEST as usize + 1;
    let mut dense = vec![0u64; last + 1];
    for (bucket, n) in buckets.iter().enumerate() {
        let cell = &mut dense[bucket.min(last)];
        *cell = cell.saturating_add(*n);
    }
    dense
}

/// A number of the configuration.
pub(super) fn config_number(head: &Head, key: &str) -> Option<u64> {
    head.item_value(key).and_then(|text| text.parse::<u64>().ok())
}

fn operation_bytes(head: &Head, name: &str) -> u64 {
    let minimum = head.devices.first().and_then(|line| line.minimum_io).unwrap_or(512).max(1);
    let record = config_number(head, "record-bytes").unwrap_or(0).div_ceil(minimum).saturating_mul(minimum);
    match (head.program, name) {
        (Program::Index, "reads" | "writes" | "device-reads" | "device-writes") => 4096,
        (_, "large-block-reads" | "large-block-writes") => {
            config_number(head, "large-block-op-kbytes").unwrap_or(0).saturating_mul(1024)
        }
        (Program::Act | Program::Storage, "reads" | "writes")
            if config_number(head, "record-bytes-range-max").unwrap_or(0) == 0 =>
        {
            record
        }
        _ => 0,
    }
}
