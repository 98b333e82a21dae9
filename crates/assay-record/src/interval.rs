//! One interval of the log: what was scheduled, what happened to it, and how long it took.
//!
//! Accounting identity, per flow and interval: what was carried in (waiting + in flight + stuck) plus `scheduled` equals
//! `ok` + errors + `short` plus what is carried out. Closed-loop flows schedule an operation when they issue it.

use crate::times::Times;
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;

/// Scalars of one interval over all flows; the flow's index is its place in `Header::flows`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// 0-based over the segment.
    pub index: u64,
    /// Begin and end on the run's time line, in nanoseconds.
    pub start_ns: u64,
    /// End, exclusive. The last interval of a phase that drains is longer than the others.
    pub end_ns: u64,
    /// Index into `Header::phases`.
    pub phase: u16,
    /// One entry for each flow.
    pub flows: Vec<FlowInterval>,
    /// How late the generator was, for each target; without those on which nothing was late.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lateness: Vec<Lateness>,
    /// What each target's block device counted meanwhile; empty where there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disks: Vec<DiskCounters>,
    /// The generator's own cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostSample>,
    /// The machine's clocks when these figures were collected; absent in simulation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clocks: Option<ClockSample>,
}

/// One flow (one stream on one target) in one interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowInterval {
    /// Operations whose intended time lies in the interval.
    pub scheduled: u64,
    /// Operations handed to the device.
    pub issued: u64,
    /// Completed in full.
    pub ok: u64,
    /// Bytes of those.
    pub bytes: u64,
    /// Completed with fewer bytes than asked for.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub short: u64,
    /// Failed operations by error name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<String, u64>,
    /// At the end of the interval: handed over and not yet back, the stuck ones not included.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub in_flight: u64,
    /// At the end: intended and not yet handed over.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub waiting: u64,
    /// At the end: in flight for longer than the stuck limit; the slot is quarantined.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stuck: u64,
    /// Reads of whole aligned blocks whose data were looked at.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub sampled: u64,
    /// Those that began with zeros: the block was never written, and the device may not have looked for it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub blank: u64,
    /// Reads that were held against what was written and are right; counted by runs that verify.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub verified: u64,
    /// Reads of which a part could not be: never written with a seal, or being written meanwhile.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unverified: u64,
    /// Places found damaged, each once for each time it was written. The reads that met them are among the errors.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub damaged: u64,
    /// completed − intended of the `ok` operations.
    pub response: Timing,
    /// completed − issued of the `ok` operations.
    pub service: Timing,
    /// Time inside the hand-over of operations that came back, without counts: what a call that blocks takes is the
    /// device's and the kernel's. Absent where nothing took any.
    #[serde(default, skip_serializing_if = "Timing::is_nothing")]
    pub submit: Timing,
    /// issued − intended of all operations that came back.
    pub lag: Timing,
    /// The part of lag that neither a full queue nor a blocked submit explains: the generator's own.
    pub own_lag: Timing,
    /// `[bucket, n, …]`: operations at or over that bucket in response that would not have been without own lag.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forgiven: Vec<u64>,
    /// Response less all that the generator may have added to it: its largest own lag on that target since that last had
    /// nothing in flight, and the time that it came too late to look. Absent where that is the response itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor: Option<Timing>,
    /// Service less the time that the generator came too late to look; absent where that is the service itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_floor: Option<Timing>,
    /// Where the failed and short operations were, and how long they took: they are in no other histogram.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failures: Option<FailureTimes>,
}

/// Equal parts of a target by which failures are counted.
pub const PARTS: usize = 64;

/// The operations of one flow that failed or were short in one interval; those never handed over are not among them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FailureTimes {
    /// `[part, n, …]`: how many began in each of the target's [`PARTS`] equal parts.
    pub at: Vec<u64>,
    /// completed − intended; of a short operation up to its last byte.
    pub response: Timing,
}

impl FlowInterval {
    /// Failed operations of every kind of error. A log may claim any numbers; no sum of them overflows.
    pub fn failed(&self) -> u64 {
        self.errors.values().fold(0, |sum, n| sum.saturating_add(*n))
    }

    /// Operations that came to an end, well or not.
    pub fn ended(&self) -> u64 {
        self.ok.saturating_add(self.short).saturating_add(self.failed())
    }

    /// What the next interval inherits.
    pub fn carried_out(&self) -> u64 {
        self.in_flight.saturating_add(self.waiting).saturating_add(self.stuck)
    }

    /// True when the accounting identity holds with `carried_in` from the interval before.
    pub fn balances(&self, carried_in: u64) -> bool {
        let sum = |of: &[u64]| of.iter().map(|n| u128::from(*n)).sum::<u128>();
        sum(&[carried_in, self.scheduled]) == sum(&[self.ok, self.failed(), self.short, self.carried_out()])
    }
}

/// Lengths of time of one kind in one interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// Sum in nanoseconds.
    #[serde(rename = "sum")]
    pub sum_ns: u64,
    /// Largest in nanoseconds.
    #[serde(rename = "max")]
    pub max_ns: u64,
    /// Exact counts between thresholds, `[bucket, count, bucket, count, …]`, the empty ones left out.
    #[serde(rename = "n", default, skip_serializing_if = "Vec::is_empty", deserialize_with = "roomy")]
    pub counts: Vec<u64>,
}

impl Timing {
    fn is_nothing(&self) -> bool {
        self.max_ns == 0
    }

    /// The sparse form of `counts`, one per bucket.
    pub fn sparse(counts: &[u64]) -> Vec<u64> {
        let filled = counts.iter().enumerate().filter(|(_, n)| **n > 0);
        filled.flat_map(|(bucket, &n)| [bucket as u64, n]).collect()
    }

    /// Adds the counts to `dense`; buckets beyond its end are an error of the log and are reported as `Err(bucket)`.
    pub fn add_to(sparse: &[u64], dense: &mut [u64]) -> Result<(), u64> {
        for pair in sparse.chunks_exact(2) {
            let cell = usize::try_from(pair[0]).ok().and_then(|bucket| dense.get_mut(bucket)).ok_or(pair[0])?;
            *cell = cell.saturating_add(pair[1]);
        }
        Ok(())
    }
}

/// How late the generator was on one target in one interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Lateness {
    /// Index into `Header::targets`.
    pub target: u16,
    /// The largest time by which an operation may have come later than a punctual generator's, those before it considered, in
    /// nanoseconds.
    #[serde(rename = "shift", default, skip_serializing_if = "is_zero")]
    pub shift_ns: u64,
    /// The longest time between two intended moments that was met, in nanoseconds.
    #[serde(rename = "gap", default, skip_serializing_if = "is_zero")]
    pub gap_ns: u64,
    /// Given idle: the target was empty, an operation due, and not issued.
    #[serde(default, skip_serializing_if = "Pauses::is_nothing")]
    pub idle: Pauses,
    /// `[bucket, nanoseconds, …]`: given idle by how long the target was empty altogether.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub idle_in: Vec<u64>,
    /// Oversleeping: operations that had completed, or may have, were not looked for.
    #[serde(default, skip_serializing_if = "Pauses::is_nothing")]
    pub overslept: Pauses,
}

/// Pauses of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pauses {
    /// Sum in nanoseconds.
    #[serde(rename = "sum")]
    pub sum_ns: u64,
    /// Largest in nanoseconds.
    #[serde(rename = "max")]
    pub max_ns: u64,
    /// How many.
    #[serde(rename = "n")]
    pub count: u64,
}

impl Pauses {
    /// Counts one of `ns` nanoseconds.
    pub fn record(&mut self, ns: u64) {
        self.add(&Pauses { sum_ns: ns, max_ns: ns, count: 1 });
    }

    /// Adds others.
    pub fn add(&mut self, other: &Pauses) {
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.count = self.count.saturating_add(other.count);
    }

    fn is_nothing(&self) -> bool {
        self.count == 0
    }
}

/// What a block device counted in an interval, from its `stat` file in sysfs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskCounters {
    /// Index into `Header::targets`.
    pub target: u16,
    /// Completed reads.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Completed writes.
    pub writes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Completed flushes.
    pub flushes: u64,
}

/// The machine's clocks, read one after the other within a moment. No length of an operation is taken from them: they tell
/// what happened to the machine's time while the run went on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockSample {
    /// The run's own time line, nanoseconds.
    pub at_ns: u64,
    /// CLOCK_REALTIME, nanoseconds since 1970.
    pub real_ns: u64,
    /// CLOCK_BOOTTIME, nanoseconds: goes on while the machine sleeps.
    pub boot_ns: u64,
    /// CLOCK_MONOTONIC, nanoseconds: stands still while the machine sleeps.
    pub mono_ns: u64,
}

/// What the generator itself used in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostSample {
    /// CPU time of all workers, nanoseconds.
    pub cpu_ns: u64,
    /// Time runnable but not running, nanoseconds.
    pub run_queue_ns: u64,
    /// Time stolen by the hypervisor from all CPUs, nanoseconds.
    pub steal_ns: u64,
    /// Resident memory of the process, bytes.
    pub resident_bytes: u64,
}

/// Full distributions since the last such line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Histograms {
    /// First interval covered.
    pub first: u64,
    /// Last interval covered.
    pub last: u64,
    /// Phase of all of them.
    pub phase: u16,
    /// One entry for each flow that had operations.
    pub flows: Vec<FlowHistograms>,
}

/// Distributions of one flow: V2 deflate of HdrHistogram in base64, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowHistograms {
    /// Index into `Header::flows`.
    pub flow: u16,
    /// completed − intended.
    pub response: String,
    /// completed − issued.
    pub service: String,
    /// issued − intended.
    pub lag: String,
    /// Lengths above an hour of the three, which the histograms do not hold.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub overflow: [u64; 3],
}

impl FlowHistograms {
    /// The three distributions, decoded: response, service, lag.
    pub fn decode(&self) -> Result<[Times; 3], String> {
        Ok([
            Times::from_text(&self.response, self.overflow[0])?,
            Times::from_text(&self.service, self.overflow[1])?,
            Times::from_text(&self.lag, self.overflow[2])?,
        ])
    }
}

/// A list with room for a few pairs from the beginning: a log of two days holds millions of such.
fn roomy<'a, D: Deserializer<'a>>(from: D) -> Result<Vec<u64>, D::Error> {
    struct Numbers;
    impl<'a> Visitor<'a> for Numbers {
        type Value = Vec<u64>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a list of numbers")
        }

        fn visit_seq<A: SeqAccess<'a>>(self, mut seq: A) -> Result<Vec<u64>, A::Error> {
            let mut numbers = Vec::with_capacity(16);
            while let Some(number) = seq.next_element()? {
                numbers.push(number);
            }
            Ok(numbers)
        }
    }
    from.deserialize_seq(Numbers)
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

fn is_nothing(n: &[u64; 3]) -> bool {
    n.iter().all(|n| *n == 0)
}
