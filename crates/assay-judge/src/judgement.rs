//! What judging gives: plain data, the same for text, JSON and HTML.
//!
//! Its JSON is the result format, `"schema": 1`. All times are nanoseconds; positions in time are in *measured time*, which
//! runs from the beginning of the measured phase and stands still over gaps. A figure that was not counted is absent, never
//! zero. Stream and target names are what the log says: hostile input to whoever renders them.

use crate::verdict::Verdict;
use assay_base::{Measure, Span};
use assay_record::{ClockSample, CloseReason, Event, Pauses, TargetHead};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of the JSON shape.
pub const SCHEMA: u32 = 1;

/// The result of judging one log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// Version of this shape, [`SCHEMA`].
    pub schema: u32,
    /// What the log proves.
    pub verdict: Verdict,
    /// Why, in one or two sentences; names the step when there are several.
    pub reason: String,
    /// The slice that decided, where one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deciding: Option<Deciding>,
    /// Run name.
    pub name: String,
    /// Model name.
    pub model: String,
    /// The load as a multiple of 1x, as text.
    pub load: String,
    /// The seed.
    pub seed: u64,
    /// Tool version and commit that wrote the log.
    pub tool: String,
    /// Wall clock at the start, RFC 3339.
    pub created: String,
    /// Facts that limit what the result proves (`SIMULATED`, `QUICK` …), over all steps.
    pub watermarks: Vec<String>,
    /// What a reader should know, over all steps.
    pub warnings: Vec<String>,
    /// Places where the log is not what was written.
    pub damage: Vec<Damaged>,
    /// The measure all criteria were judged on by request (`--judge`), instead of their own; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged_on: Option<Measure>,
    /// The file this was made of; absent when the log did not come from a file of ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<LogSum>,
    /// The step's figures; of several steps the deciding one's.
    #[serde(flatten)]
    pub part: Part,
    /// Every step, when the log has more than one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
}

/// What ties a judgement to the bytes of its log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogSum {
    /// Length of the file.
    pub bytes: u64,
    /// BLAKE3 of the file's bytes, in hexadecimal.
    pub blake3: String,
}

/// Intervals of the measured phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intervals {
    /// As many as the planned time holds.
    pub planned: u64,
    /// As many as the log holds.
    pub present: u64,
    /// As many as stand in slices that are complete and prove something.
    #[serde(default)]
    pub valid: u64,
}

/// The machine's clocks over a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clocks {
    /// Before the first interval.
    pub start: ClockSample,
    /// With the last.
    pub end: ClockSample,
    /// Between them, the first 100.
    pub events: Vec<ClockEvent>,
}

/// Something that happened to a clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockEvent {
    /// In measured time.
    pub at_ns: u64,
    /// `slept` or `wall-clock-set`.
    pub what: String,
    /// For how long, or how far forward.
    pub by_ns: i64,
}

/// One step of a certification.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// 1-based.
    pub number: u32,
    /// Of how many were planned.
    pub of: u32,
    /// `load test, one device` …
    pub title: String,
    /// What this step proves.
    pub verdict: Verdict,
    /// Why.
    pub reason: String,
    /// The slice that decided, where one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deciding: Option<Deciding>,
    /// The load as a multiple of 1x, as text.
    pub load: String,
    /// What a reader should know of this step.
    pub warnings: Vec<String>,
    /// Its figures.
    #[serde(flatten)]
    pub part: Part,
}

/// The figures of one step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// True where latency criteria do not apply and only completion does.
    pub stress: bool,
    /// Planned length of the measured phase.
    pub planned_ns: u64,
    /// What of it the log holds, gaps not counted.
    pub measured_ns: u64,
    /// Length of a slice.
    pub slice_ns: u64,
    /// How many intervals there should be and are.
    #[serde(default)]
    pub intervals: Intervals,
    /// Segments of the log: 1, and one more for each continuation.
    #[serde(default)]
    pub segments: u64,
    /// The machine's clocks at both ends and what happened to them; absent where none was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clocks: Option<Clocks>,
    /// Id of the key that signs the result; absent where none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signer: Option<String>,
    /// How the last segment ended; absent when it was cut off without a closing line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed: Option<CloseReason>,
    /// Places where the log contradicts itself: intervals that do not add up, overlap or disagree with the closing line.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub contradictions: u64,
    /// Times the machine was found changed: it slept, its clock source or the queue of a target became another.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub environment_changes: u64,
    /// The built-in criterion of delivered load first, then the plan's in their order.
    pub criteria: Vec<CriterionOutcome>,
    /// In order of time; the first 2000, and of the others those in which something was broken.
    pub slices: Vec<Slice>,
    /// Slices that are not listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub slices_left_out: u64,
    /// One entry for each stream on each target, and one over all targets together (`target` absent) where there are several.
    pub streams: Vec<StreamTotals>,
    /// The generator's own cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator: Option<GeneratorCost>,
    /// How the operations were carried: engine, workers, in-flight bound, clock.
    pub engine: BTreeMap<String, String>,
    /// The machine.
    pub host: BTreeMap<String, String>,
    /// What was driven.
    pub targets: Vec<TargetTotals>,
    /// What was read, held against what was written; absent where the plan does not verify.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub integrity: Option<Integrity>,
    /// Interruptions that were continued.
    pub gaps: Vec<Gap>,
    /// What happened at a moment; the first 1000.
    pub events: Vec<Event>,
    /// Events beyond those.
    pub events_left_out: u64,
    /// Whether it was steady and where its level changed, for each stream over all targets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steadiness: Vec<Steadiness>,
    /// Thin lines for charts.
    pub series: Series,
    /// The plan as it was run.
    pub plan: serde_json::Value,
    /// BLAKE3 of the plan as compact JSON, in hexadecimal: equal plans have equal sums.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_blake3: Option<String>,
}

/// The slice, stream and target that decided, with the figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Deciding {
    /// Step number, 1-based; 1 when the log has no steps.
    pub step: u32,
    /// Window number, 1-based; the slice when the window is the slice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice: Option<u64>,
    /// Length of that window where it is not the slice but the criterion's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_ns: Option<u64>,
    /// Stream, where one is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<String>,
    /// Target; absent for all together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The measured value as text: `21.3%`, `1.23 ms`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<String>,
    /// The bound as text: `below 5%`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<String>,
    /// Begin and end in measured time.
    pub start_ns: u64,
    /// See `start_ns`.
    pub end_ns: u64,
}

/// How a criterion came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Held in every window.
    Pass,
    /// Broken in a complete, valid window.
    Fail,
    /// Some window proves nothing and none is broken.
    Invalid,
    /// Some window is missing or cut and none is broken.
    Incomplete,
    /// Latency criteria are not applied in stress steps.
    NotApplied,
}

/// One criterion and how it came out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CriterionOutcome {
    /// The criterion as its text, or `load delivered at least 99.9% per slice`.
    pub criterion: String,
    /// What is measured, in words: `reads response over 1 ms`.
    pub title: String,
    /// The bound in words: `< 5%`.
    pub bound: String,
    /// Stream; absent for the built-in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<String>,
    /// What was judged; absent for the built-in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measure: Option<Measure>,
    /// The threshold it counts against, if it counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Span>,
    /// Length of its windows as judged.
    pub window_ns: u64,
    /// How it came out.
    pub outcome: Outcome,
    /// Windows judged.
    pub windows: u64,
    /// Of which over the bound.
    pub broken: u64,
    /// The targets that broke it by themselves, the worst first, where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub broken_on: Vec<BrokenTarget>,
    /// The deciding figure: the first broken window, otherwise the worst; absent when nothing was judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<Figure>,
    /// The worst figure of all windows, on one target or on all together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst: Option<Figure>,
    /// The worst of each target alone, where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<Figure>,
    /// What else must be said: `judged over 30 min, the whole measured time`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A target that broke a criterion by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BrokenTarget {
    /// Its name.
    pub target: String,
    /// Windows in which it did.
    pub windows: u64,
    /// The worst figure of those.
    pub worst: Figure,
}

/// A measured value of a criterion in one window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Window number, 1-based.
    pub window: u64,
    /// Begin in measured time.
    pub start_ns: u64,
    /// End in measured time.
    pub end_ns: u64,
    /// Target; absent for all together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// A share (0 to 1) or a mean in nanoseconds, as the criterion asks.
    pub value: f64,
    /// The same for people: `2.70%`, `1.23 ms`.
    pub text: String,
    /// Operations it is taken over.
    pub operations: u64,
    /// False where it is over the bound.
    pub within: bool,
    /// Set where it would have been within the bound without the generator's own lag.
    #[serde(default, skip_serializing_if = "is_false")]
    pub generator: bool,
}

/// One slice of the measured time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Slice {
    /// 1-based.
    pub number: u64,
    /// Begin in measured time.
    pub start_ns: u64,
    /// Planned end in measured time.
    pub end_ns: u64,
    /// False when it was cut, has a gap, or lines of it are missing; then it does not count.
    pub complete: bool,
    /// False when something in it proves nothing (generator lag, the log does not add up).
    pub valid: bool,
    /// False when a criterion is broken in it.
    pub within: bool,
    /// What is special about it: `30 min long`, `interrupted`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// As in [`Part::streams`]: each stream on each target, and all together where there are several.
    pub streams: Vec<SliceStream>,
}

/// One stream (on one target or on all) in one slice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SliceStream {
    /// Stream name.
    pub stream: String,
    /// Target; absent for all together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Counters and errors.
    #[serde(flatten)]
    pub counts: Counts,
    /// Completed − intended.
    pub response: SliceTimes,
    /// Completed − issued.
    pub service: SliceTimes,
    /// The generator's own part of issued − intended: upper bound of its 99th percentile from the exact counters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_lag_p99_below_ns: Option<u64>,
}

/// What happened to the operations of a stream.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// Whose intended time lies in it.
    pub scheduled: u64,
    /// Handed to the device.
    pub issued: u64,
    /// Completed in full.
    pub operations: u64,
    /// Bytes of those.
    pub bytes: u64,
    /// Completed with too few bytes.
    pub short: u64,
    /// Failed, by error name.
    pub errors: BTreeMap<String, u64>,
    /// Failed and short, by the part of the target in which they began: 0 to 63, each a 64th of it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failed_at: BTreeMap<u64, u64>,
    /// At the end: in flight, waiting, stuck.
    pub in_flight: u64,
    /// See `in_flight`.
    pub waiting: u64,
    /// See `in_flight`.
    pub stuck: u64,
}

/// Lengths of time within a slice.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SliceTimes {
    /// Operations counted.
    pub operations: u64,
    /// Absent when nothing was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_ns: Option<u64>,
    /// Absent when nothing was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_ns: Option<u64>,
    /// Operations at or over each threshold, exact.
    pub over: BTreeMap<Span, u64>,
}

/// The totals of one stream over all measured time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StreamTotals {
    /// Stream name.
    pub name: String,
    /// Target; absent for all together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// `read` or `write`.
    pub direction: String,
    /// `poisson`, `steady`, `closed` …
    pub arrival: String,
    /// Operation size as text.
    pub size: String,
    /// Planned operations per second over all targets together; absent for a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_asked: Option<f64>,
    /// Completed operations per second of measured time; absent when no time was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_achieved: Option<f64>,
    /// Counters and errors.
    #[serde(flatten)]
    pub counts: Counts,
    /// Most in flight at the end of any interval.
    pub in_flight_max: u64,
    /// Most waiting at the end of any interval.
    pub waiting_max: u64,
    /// Completed − intended.
    pub response: TimesSummary,
    /// Completed − issued.
    pub service: TimesSummary,
    /// Issued − intended.
    pub lag: TimesSummary,
    /// The generator's own part of the lag; from counters, without percentiles.
    pub own_lag: TimesSummary,
    /// Its histogram: `[from, operations]`, from that many nanoseconds up to the next entry's, exact; empty ones left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own_lag_counts: Vec<(u64, u64)>,
    /// Time inside the hand-over to the kernel; absent where none was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_submit: Option<Blocked>,
}

/// Time inside the hand-over of operations: what a call that blocks takes is the device's and the kernel's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocked {
    /// Of all operations that came back.
    pub sum_ns: u64,
    /// Longest.
    pub max_ns: u64,
}

/// A distribution of lengths of time. Percentiles are absent when nothing was counted or when they lie above an hour.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TimesSummary {
    /// Lengths counted.
    pub operations: u64,
    /// Mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_ns: Option<u64>,
    /// Median.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_ns: Option<u64>,
    /// 90 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p90_ns: Option<u64>,
    /// 99 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ns: Option<u64>,
    /// 99.9 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_9_ns: Option<u64>,
    /// 99.99 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_99_ns: Option<u64>,
    /// Largest, exact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_ns: Option<u64>,
    /// At or over each threshold, exact.
    pub over: BTreeMap<Span, u64>,
    /// `[share not above, nanoseconds]`, ascending, for a chart by nines; empty when nothing was counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nines: Vec<(f64, u64)>,
}

/// One target and what its block device counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TargetTotals {
    /// As the log describes it.
    #[serde(flatten)]
    pub head: TargetHead,
    /// Bytes written to it by this step, warm-up included.
    pub written_bytes: u64,
    /// Bytes read from it by this step, warm-up included.
    pub read_bytes: u64,
    /// Reads whose data were looked at.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub sampled_reads: u64,
    /// Those that met a block that was never written: the device may not have looked for it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub blank_reads: u64,
    /// What its block device counted meanwhile; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<DiskTotals>,
    /// How late the generator was; absent where that is not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lateness: Option<LatenessTotals>,
    /// What it says of its health; absent where nobody asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<Health>,
}

/// How late the generator was on one target, in the slices that are complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LatenessTotals {
    /// Given idle: the target was empty, an operation due, and not issued.
    pub idle: Pauses,
    /// Of that, in times longer than any that the schedule itself gave: its largest share of a slice.
    pub rest_share_max: f64,
    /// Completions were not looked for.
    pub overslept: Pauses,
    /// Its largest share of a slice.
    pub overslept_share_max: f64,
}

/// What a target says of its health (SMART), by name; `smart: absent` where it says nothing to us.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// Before the first operation.
    pub before: BTreeMap<String, String>,
    /// After the last; the same as before where the run was cut.
    pub after: BTreeMap<String, String>,
}

/// What a step that verifies found in all of its phases.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Integrity {
    /// Reads that are what was written, the reading back at the end among them.
    pub verified_reads: u64,
    /// Reads of which a part was never written with a seal, or was being written meanwhile.
    pub unverified_reads: u64,
    /// Places that hold something else, each once for each time it was written.
    pub damaged: u64,
    /// The first of them, at most 16 on each target.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<DamagedPlace>,
}

/// A place that holds something else than was written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DamagedPlace {
    /// Target.
    pub target: String,
    /// `lost`, `misdirected`, `torn`, `corrupt` or `foreign`.
    pub damage: String,
    /// In bytes from the start of the target.
    pub offset: u64,
    /// How many.
    pub bytes: u64,
    /// Generation that was written there last; 0 for never by this run.
    pub generation: u64,
    /// Generation that was found, where what was found has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found_generation: Option<u64>,
    /// Where that was written to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found_offset: Option<u64>,
    /// Of a lost write: where on this target it was found instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub went_to: Option<u64>,
}

/// Counters of a block device against what was issued to it, over the intervals that have them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DiskTotals {
    /// Reads and writes the device completed.
    pub operations: u64,
    /// Bytes of those.
    pub bytes: u64,
    /// Operations the run completed meanwhile.
    pub own_operations: u64,
    /// Bytes of those.
    pub own_bytes: u64,
    /// Reads the device completed.
    pub reads: DiskCount,
    /// Writes the device completed.
    pub writes: DiskCount,
    /// Reads the run completed meanwhile.
    pub own_reads: DiskCount,
    /// Writes the run completed meanwhile.
    pub own_writes: DiskCount,
    /// The largest difference as a share of the run's own: of all by operations or bytes, whichever is closer, and of what is
    /// missing of either direction by both, whichever is farther.
    pub mismatch: f64,
}

/// So many operations, and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskCount {
    /// How many.
    pub operations: u64,
    /// Bytes of those.
    pub bytes: u64,
}

impl DiskCount {
    /// Both added up.
    pub fn plus(self, other: DiskCount) -> DiskCount {
        DiskCount {
            operations: self.operations.saturating_add(other.operations),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }
}

impl DiskTotals {
    /// Reads and writes of the device.
    pub fn all(&self) -> DiskCount {
        self.reads.plus(self.writes)
    }
    /// Reads and writes of the run.
    pub fn own_all(&self) -> DiskCount {
        self.own_reads.plus(self.own_writes)
    }
}

/// The generator's own cost over the measured time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GeneratorCost {
    /// CPU time of all workers.
    pub cpu_ns: u64,
    /// Time runnable but not running.
    pub run_queue_ns: u64,
    /// Time stolen by the hypervisor.
    pub steal_ns: u64,
    /// Largest resident memory, bytes.
    pub resident_bytes_max: u64,
    /// Wall time of the intervals that were sampled.
    pub sampled_ns: u64,
}

/// An interruption that was continued.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// Where in measured time.
    pub at_ns: u64,
    /// How the segment before ended.
    pub before: String,
    /// Wall clock when the next segment began.
    pub resumed: String,
}

/// Whether one stream was steady over the measured time, and where its level changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Steadiness {
    /// Stream name.
    pub stream: String,
    /// What is averaged: `mean response` (nanoseconds) of an open loop, `throughput` (operations per second) of a closed one.
    pub measure: String,
    /// Length of a round.
    pub round_ns: u64,
    /// Rounds that ended.
    pub rounds: u64,
    /// Where the first five rounds in a row that were steady begin; absent when there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady_from_ns: Option<u64>,
    /// The last five rounds in a row; absent when there were fewer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<SteadyWindow>,
    /// Where the level changed by 5 % or more for longer than noise explains; the largest 20, in order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
}

/// Five rounds in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SteadyWindow {
    /// Begin in measured time.
    pub start_ns: u64,
    /// End in measured time.
    pub end_ns: u64,
    /// Average of the rounds.
    pub average: f64,
    /// Largest less smallest round, as a share of the average; at most 0.2 where it is steady.
    pub excursion: f64,
    /// What the best straight line gains over them, as a share of the average; within ±0.1 where it is steady.
    pub slope: f64,
    /// Both bounds hold.
    pub steady: bool,
}

/// A change of level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Where in measured time.
    pub at_ns: u64,
    /// Level of the stretch before it.
    pub before: f64,
    /// Level of the stretch after it.
    pub after: f64,
}

impl Change {
    /// How large, the same for a rise and the fall back: 0.5 for half as much again, or a third less.
    pub fn size(&self) -> f64 {
        let (low, high) = (self.before.min(self.after), self.before.max(self.after));
        if low > 0.0 { high / low - 1.0 } else { f64::INFINITY }
    }
}

/// A damaged place of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Damaged {
    /// 1-based line.
    pub line: u64,
    /// Byte offset.
    pub offset: u64,
    /// True for the unfinished last line, as a kill leaves it.
    pub torn_tail: bool,
    /// What is wrong.
    pub what: String,
}

/// Lines for charts, in columns: every vector of a stream has one entry for each entry of the `at_ns` beside it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Begin of each point in measured time; at most 2000 points.
    pub at_ns: Vec<u64>,
    /// Length of each point.
    pub width_ns: Vec<u64>,
    /// The threshold of `share_over`: the smallest of the criteria, else 1 ms.
    pub threshold: Span,
    /// One entry for each stream, over all targets.
    pub streams: Vec<StreamSeries>,
    /// One entry for each stream on each target, where there are several targets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<FlowSeries>,
}

/// One stream's lines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StreamSeries {
    /// Stream name.
    pub stream: String,
    /// Scheduled operations per second.
    pub asked: Vec<f64>,
    /// Completed operations per second.
    pub achieved: Vec<f64>,
    /// Bytes that they moved per second.
    #[serde(default)]
    pub bytes_per_second: Vec<f64>,
    /// Share of responses at or over the threshold (0 to 1); `None` where nothing completed.
    pub share_over: Vec<Option<f64>>,
    /// Failed and short operations.
    pub errors: Vec<u64>,
    /// Mean lag in nanoseconds; `None` where nothing came back.
    pub lag_mean_ns: Vec<Option<u64>>,
    /// Largest lag.
    pub lag_max_ns: Vec<u64>,
    /// Largest response.
    pub response_max_ns: Vec<u64>,
    /// Percentiles of response, on a coarser time axis of their own (the distributions are logged every few seconds).
    pub bands: Bands,
    /// Time × response, for a heat map.
    pub heat: Heat,
}

/// Percentiles of response along the time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bands {
    /// Begin of each point in measured time.
    pub at_ns: Vec<u64>,
    /// Median.
    pub p50_ns: Vec<Option<u64>>,
    /// 99 %.
    pub p99_ns: Vec<Option<u64>>,
    /// 99.9 %.
    pub p99_9_ns: Vec<Option<u64>>,
}

/// How many responses fell between which boundaries, when. At most 240 columns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Heat {
    /// Boundaries in nanoseconds: row `i` lies below boundary `i` and at or above the one before; the last row above all.
    pub bounds_ns: Vec<u64>,
    /// Begin of each column in measured time.
    pub at_ns: Vec<u64>,
    /// For each column `[row, operations, row, operations, …]`, empty rows left out.
    pub columns: Vec<Vec<u64>>,
}

/// One stream on one target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowSeries {
    /// Stream name.
    pub stream: String,
    /// Target name.
    pub target: String,
    /// Completed operations per second.
    pub achieved: Vec<f64>,
    /// Share of responses at or over the threshold (0 to 1); `None` where nothing completed.
    pub share_over: Vec<Option<f64>>,
}

impl Judgement {
    /// Ties it to the bytes it was made of. `hash` makes the hexadecimal sum of some bytes; it is the caller's, because this
    /// room has no need of one otherwise.
    pub fn sealed(mut self, log: LogSum, hash: impl Fn(&[u8]) -> String) -> Judgement {
        let parts = std::iter::once(&mut self.part).chain(self.steps.iter_mut().map(|step| &mut step.part));
        for part in parts {
            part.plan_blake3 = serde_json::to_vec(&part.plan).ok().map(|plan| hash(&plan));
        }
        Judgement { log: Some(log), ..self }
    }
}

impl SliceTimes {
    /// Share of operations at or over `threshold` (0 to 1); `None` when nothing completed or it was not counted.
    pub fn share_over(&self, threshold: Span) -> Option<f64> {
        let over = *self.over.get(&threshold)?;
        (self.operations > 0).then(|| over as f64 / self.operations as f64)
    }

    /// The same in percent, by one division: of a share times 100 the last digit shown can be another (0.46 of 93 in 20000,
    /// where ACT's analyzer has 0.47).
    pub fn percent_over(&self, threshold: Span) -> Option<f64> {
        let over = *self.over.get(&threshold)?;
        percent_of(over.into(), self.operations.into())
    }
}

/// `part` in percent of `whole`, as ACT's analyzer computes it; `None` of nothing.
pub fn percent_of(part: u128, whole: u128) -> Option<f64> {
    (whole > 0).then(|| (part * 100) as f64 / whole as f64)
}

impl Counts {
    /// Failed operations of every kind of error.
    pub fn failed(&self) -> u64 {
        self.errors.values().fold(0, |sum, n| sum.saturating_add(*n))
    }

    /// The share of what was scheduled that was handed over by the end (0 to 1); `None` when nothing was scheduled.
    pub fn delivered(&self) -> Option<f64> {
        (self.scheduled > 0).then(|| 1.0 - self.waiting.min(self.scheduled) as f64 / self.scheduled as f64)
    }
}

impl Slice {
    /// The figures of `stream` on `target` (`None`: all together; on a single target that is the same).
    pub fn stream(&self, stream: &str, target: Option<&str>) -> Option<&SliceStream> {
        let mine = || self.streams.iter().filter(|entry| entry.stream == stream);
        let exact = mine().find(|entry| entry.target.as_deref() == target);
        exact.or_else(|| if target.is_none() && mine().count() == 1 { mine().next() } else { None })
    }
}

fn is_false(flag: &bool) -> bool {
    !flag
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}
