//! One interval of the log: what was scheduled, what happened to it, and how long it took.
//!
//! Accounting identity, per flow and interval: what was carried in (waiting + in flight + stuck) plus `scheduled`
//! equals `ok` + errors + `short` plus what is carried out. A closed-loop flow schedules an operation when it issues
//! it.

use crate::foreign::ForeignLoad;
use crate::loops::LoopInterval;
use crate::pauses::Pauses;
use crate::skip::is_zero;
use crate::times::Times;
use assay_base::Span;
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;

/// Scalars of one interval over all flows; the flow's index is its place in `Header::flows`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Counts from 0 in each segment.
    pub index: u64,
    /// Begin and end on the run's time line, in nanoseconds.
    pub start_ns: u64,
    /// End, exclusive. The last interval of a phase that drains is longer than the others.
    pub end_ns: u64,
    /// Index into `Header::phases`.
    pub phase: u16,
    /// One entry for each flow.
    pub flows: Vec<FlowInterval>,
    /// How late the generator was, for each target; targets on which nothing was late are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lateness: Vec<Lateness>,
    /// What the slots of each closed loop did, in the order of `Header::loops`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loops: Vec<LoopInterval>,
    /// What each target's block device counted during the interval; empty where there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disks: Vec<DiskCounters>,
    /// The same, of the log of one of several ranks, where the block device is used by others of these too: by the first of them, for
    /// the log of all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared_disks: Vec<DiskCounters>,
    /// What others than the run did on the disks of `Header::watched` during the interval, at least; those on which nobody
    /// else did anything are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub foreign: Vec<ForeignLoad>,
    /// What a cache device before the targets counted during the interval; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<Box<CacheCounters>>,
    /// The increase of the counters of each meter since it was last read, in the order of `Header::meters`; empty for one
    /// that could not be read, whose next reading then covers the time of both.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub meters: Vec<Vec<u64>>,
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
    /// Bytes moved by the `ok` operations.
    pub bytes: u64,
    /// Entries of directories that the `ok` operations listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub items: u64,
    /// Completed with fewer bytes than asked for.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub short: u64,
    /// Failed operations by error name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<String, u64>,
    /// Other results of completed operations, counted by name: `rolled-back`, `retried SQLITE_BUSY` …
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counted: BTreeMap<String, u64>,
    /// Operations that were handed over and not yet completed at the end of the interval, without the stuck ones.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub in_flight: u64,
    /// The most that were handed over and not yet completed at any time within the interval; of several workers, the sum of
    /// what each had at most. Absent where it was not counted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub in_flight_max: u64,
    /// Operations that were due and not yet handed over at the end of the interval.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub waiting: u64,
    /// Operations that had been in flight for longer than the stuck limit at the end of the interval. The slot of such
    /// an operation is not used again until it completes.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stuck: u64,
    /// Reads of whole aligned blocks whose data were checked for blank blocks.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub sampled: u64,
    /// The checked reads whose data began with zeros: the block was never written, and the device may not have read its medium.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub blank: u64,
    /// Reads that were compared with what was written and are correct; counted by runs that verify.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub verified: u64,
    /// Reads of which a part could not be compared: never written with a seal, or being written meanwhile.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unverified: u64,
    /// Damaged places, each counted once for each time it was written. The reads that found them are counted as errors.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub damaged: u64,
    /// completed − intended of the `ok` operations.
    pub response: Timing,
    /// completed − issued of the `ok` operations.
    pub service: Timing,
    /// Time spent inside the hand-over, for operations that completed, without counts: time in a call that blocks is
    /// caused by the device and the kernel. Absent where there was none.
    #[serde(default, skip_serializing_if = "Timing::is_nothing")]
    pub submit: Timing,
    /// issued − intended of all operations that completed in any way.
    pub lag: Timing,
    /// The part of lag that neither a full queue nor a blocking submit explains: the generator's own.
    pub own_lag: Timing,
    /// `[bucket, n, …]`: operations whose response is in that bucket or a higher one, and would be in a lower one
    /// without own lag.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forgiven: Vec<u64>,
    /// Response less everything that the generator may have added to it: its largest own lag on that target since the
    /// target last had nothing in flight, and the time by which it looked for completions too late. Absent where this
    /// equals the response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor: Option<Timing>,
    /// Service less the time by which the generator looked too late; absent where this equals the service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_floor: Option<Timing>,
    /// Where the failed and short operations were, and how long they took: they are in no other histogram.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failures: Option<FailureTimes>,
}

/// Number of equal parts of a target by which failures are counted.
pub const PARTS: usize = 64;

/// The operations of one flow that failed or were short in one interval, without those that were never handed over.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FailureTimes {
    /// `[part, n, …]`: how many began in each of the target's [`PARTS`] equal parts.
    pub at: Vec<u64>,
    /// completed − intended; for a short operation, until its last byte.
    pub response: Timing,
}

impl FlowInterval {
    /// Number of failed operations over all kinds of errors. A log may claim any numbers, so the sum saturates.
    pub fn failed_operations(&self) -> u64 {
        self.errors.values().fold(0, |sum, n| sum.saturating_add(*n))
    }

    /// Operations that ended, successfully or not.
    pub fn ended_operations(&self) -> u64 {
        self.ok.saturating_add(self.short).saturating_add(self.failed_operations())
    }

    /// The number of operations that the next interval takes over: in flight, waiting or stuck.
    pub fn carried_out(&self) -> u64 {
        self.in_flight.saturating_add(self.waiting).saturating_add(self.stuck)
    }

    /// True when the accounting identity holds with `carried_in` from the interval before.
    pub fn is_balanced(&self, carried_in: u64) -> bool {
        sum_of(&[carried_in, self.scheduled])
            == sum_of(&[self.ok, self.failed_operations(), self.short, self.carried_out()])
    }
}

/// The sum of counts, which a log may make as large as it likes.
fn sum_of(counts: &[u64]) -> u128 {
    counts.iter().map(|n| u128::from(*n)).sum::<u128>()
}

/// Times of one kind in one interval.
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
    pub fn sparse_counts(counts: &[u64]) -> Vec<u64> {
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
    /// The largest time by which an operation may have reached the target later than from a punctual generator, taking
    /// the operations before it into account, in nanoseconds.
    #[serde(rename = "shift", default, skip_serializing_if = "is_zero")]
    pub shift_ns: u64,
    /// The longest time between two intended moments during which the target was empty, in nanoseconds.
    #[serde(rename = "gap", default, skip_serializing_if = "is_zero")]
    pub gap_ns: u64,
    /// Given idle: the target was empty although an operation was due and not yet issued.
    #[serde(default, skip_serializing_if = "Pauses::is_nothing")]
    pub idle: Pauses,
    /// `[bucket, nanoseconds, …]`: given idle, by the whole time for which the target was empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub idle_in: Vec<u64>,
    /// Oversleeping: operations had completed, or may have, and the generator did not look for them.
    #[serde(default, skip_serializing_if = "Pauses::is_nothing")]
    pub overslept: Pauses,
}

impl Lateness {
    /// Whether anything was late.
    pub(crate) fn says_something(&self) -> bool {
        self.shift_ns > 0 || self.idle.count > 0 || self.overslept.count > 0
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

/// What a look-aside cache counted in an interval. It counts blocks of its own size.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheCounters {
    /// Blocks that reads asked for.
    pub reads: u64,
    /// Of these, blocks that were in the cache.
    pub read_hits: u64,
    /// The hits that were found in the memory of segments that were filled lately; the others were read from the device of
    /// the cache.
    pub ram_hits: u64,
    /// Reads that went past the cache, because they do not consist of whole blocks.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bypassed: u64,
    /// Blocks that writes changed.
    pub invalidations: u64,
    /// Of these, blocks that were in the cache.
    pub invalidate_hits: u64,
    /// Blocks that were put in.
    pub insertions: u64,
    /// Blocks that could not be put in, because no segment had room at that moment.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub refused: u64,
    /// Blocks that had to make room.
    pub evictions: u64,
    /// How often the log of segments came back to its beginning.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub wraps: u64,
    /// Segments that were passed, because all their blocks were used or they were busy.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub skipped: u64,
    /// Errors of the device of the cache. After the first one it is not used any more.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub errors: u64,
    /// Reads from the device of the cache for hits, and what they took.
    #[serde(default, skip_serializing_if = "Moved::is_none")]
    pub device_reads: Moved,
    /// Segments that were read, because blocks in them stay when they are written again.
    #[serde(default, skip_serializing_if = "Moved::is_none")]
    pub segment_reads: Moved,
    /// Segments that were written.
    #[serde(default, skip_serializing_if = "Moved::is_none")]
    pub segment_writes: Moved,
    /// The reads that went on to each target, in the order of `Header::targets`.
    pub onward: Vec<OnwardReads>,
}

impl CacheCounters {
    /// Adds what was counted in another interval.
    pub fn add(&mut self, other: &CacheCounters) {
        add_to(&mut self.reads, other.reads);
        add_to(&mut self.read_hits, other.read_hits);
        add_to(&mut self.ram_hits, other.ram_hits);
        add_to(&mut self.bypassed, other.bypassed);
        add_to(&mut self.invalidations, other.invalidations);
        add_to(&mut self.invalidate_hits, other.invalidate_hits);
        add_to(&mut self.insertions, other.insertions);
        add_to(&mut self.refused, other.refused);
        add_to(&mut self.evictions, other.evictions);
        add_to(&mut self.wraps, other.wraps);
        add_to(&mut self.skipped, other.skipped);
        add_to(&mut self.errors, other.errors);
        add_moved(&mut self.device_reads, other.device_reads);
        add_moved(&mut self.segment_reads, other.segment_reads);
        add_moved(&mut self.segment_writes, other.segment_writes);
        self.onward.resize(self.onward.len().max(other.onward.len()), OnwardReads::default());
        for (own, other) in self.onward.iter_mut().zip(&other.onward) {
            add_to(&mut own.reads, other.reads);
            add_to(&mut own.bytes, other.bytes);
        }
    }
}

/// Adds what was moved.
fn add_moved(a: &mut Moved, b: Moved) {
    *a = Moved { count: a.count.saturating_add(b.count), sum_ns: a.sum_ns.saturating_add(b.sum_ns) };
}

/// Adds to a count; a log may claim any numbers, so it stops at its maximum.
fn add_to(a: &mut u64, b: u64) {
    *a = a.saturating_add(b)
}

/// A number of requests, and the nanoseconds that they took together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    /// Number of requests.
    pub count: u64,
    /// Their nanoseconds together.
    pub sum_ns: u64,
}

impl Moved {
    fn is_none(&self) -> bool {
        self.count == 0
    }
}

/// Reads that a cache could not answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OnwardReads {
    /// Number of operations.
    pub reads: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// The machine's clocks, read directly one after the other. No time of an operation is computed from them: they show
/// what happened to the machine's time during the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockSample {
    /// The run's own time line, nanoseconds.
    pub at_ns: u64,
    /// CLOCK_REALTIME, nanoseconds since 1970.
    pub real_ns: u64,
    /// CLOCK_BOOTTIME, nanoseconds: continues while the machine sleeps.
    pub boot_ns: u64,
    /// CLOCK_MONOTONIC, nanoseconds: does not advance while the machine sleeps.
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
    /// Time for which the processor quotas of control groups stopped threads, nanoseconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub throttled_ns: u64,
    /// Number of periods of these quotas in which threads were stopped.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub throttled_periods: u64,
    /// Time in which something that could run on this machine waited for a processor, nanoseconds; 0 where nothing did, and where
    /// that is not read.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cpu_pressure_ns: u64,
}

/// The longest run whose log has distributions at least each [`SHORT_RUN_GROUP`].
pub const SHORT_RUN: Span = Span::from_secs(300);
/// How far apart distributions of a short run are at most, if its interval is not longer: a chart of twenty seconds with
/// two points shows nothing.
pub const SHORT_RUN_GROUP: Span = Span::from_secs(2);

/// Full distributions since the previous line of this kind.
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
    /// How many times above an hour there were in each of the three, which the histograms do not hold.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub overflow: [u64; 3],
}

impl FlowHistograms {
    /// The three distributions, decoded: response, service, lag.
    pub fn decode_times(&self) -> Result<[Times; 3], String> {
        Ok([
            Times::from_text(&self.response, self.overflow[0])?,
            Times::from_text(&self.service, self.overflow[1])?,
            Times::from_text(&self.lag, self.overflow[2])?,
        ])
    }
}

/// A list with capacity for a few pairs from the beginning: a log of two days holds millions of them.
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

fn is_nothing(n: &[u64; 3]) -> bool {
    n.iter().all(|n| *n == 0)
}
