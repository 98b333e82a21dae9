//! The targets: what was done to each, what its block device counted, its health, and whether its data are what was
//! written.

use crate::judgement::cache::CacheFigures;
use crate::judgement::durability::DurabilityFigures;
use crate::judgement::foreign::ForeignFigures;
use crate::judgement::meters::MeterFigures;
use assay_record::{Pauses, TargetHead};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The figures of what was driven in a step: the targets, the cache before them, and what was counted beneath them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TargetFigures {
    /// The targets that were driven.
    #[serde(rename = "targets")]
    pub each: Vec<TargetTotals>,
    /// What a look-aside cache before the targets did; absent where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheFigures>,
    /// What else was counted while the load ran, such as by the disk below a file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub meters: Vec<MeterFigures>,
    /// What was made durable on each target on which operations wait for that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub durability: Vec<DurabilityFigures>,
    /// The disks on which the load of others is counted, and what they did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub foreign: Vec<ForeignFigures>,
    /// Where the load of others is not counted, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unwatched: Vec<String>,
    /// What was read, compared with what was written; absent where the plan does not verify.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub integrity: Option<Integrity>,
}

impl TargetFigures {
    /// The sum of a figure over all targets.
    pub(crate) fn sum_over_targets(&self, figure: fn(&TargetTotals) -> u64) -> u64 {
        self.each.iter().map(figure).fold(0, u64::saturating_add)
    }
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
    /// Reads whose data were checked for blank blocks.
    #[serde(default, skip_serializing_if = "crate::judgement::skip::is_zero")]
    pub sampled_reads: u64,
    /// The checked reads that found a block that was never written: the device may not have read its medium.
    #[serde(default, skip_serializing_if = "crate::judgement::skip::is_zero")]
    pub blank_reads: u64,
    /// What its block device counted meanwhile; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<DiskTotals>,
    /// How late the generator was; absent where that is not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lateness: Option<LatenessTotals>,
    /// What it reports about its health; absent where it was not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<Health>,
}

/// If one read in this many or more found a block that was never written, nothing is proven. A smaller share makes a
/// share over a bound look smaller by at most a ninth, and is a warning.
const BLANK_OF: u64 = 10;

impl TargetTotals {
    /// Whether so many reads met blocks that were never written that the run proves nothing.
    pub fn is_blank(&self) -> bool {
        is_too_blank(&self.head.kind, self.blank_reads, self.sampled_reads)
    }

    /// Whether its reads can meet data.
    pub(crate) fn holds_data(&self) -> bool {
        holds_data(&self.head.kind)
    }
}

/// Simulated and null targets hold no data by design, and a watermark says so.
fn holds_data(kind: &str) -> bool {
    !matches!(kind, "null" | "simulated")
}

/// Whether so many of the reads that were looked at met blocks that were never written that a run proves nothing about a
/// target of this kind ([`assay_record::TargetHead::kind`]). One among a few may be chance.
pub fn is_too_blank(kind: &str, blank: u64, sampled: u64) -> bool {
    holds_data(kind) && blank > 0 && blank.saturating_mul(BLANK_OF) >= sampled && (blank > 1 || sampled == 1)
}

/// How late the generator was on one target, over the complete slices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LatenessTotals {
    /// Given idle: the target was empty although an operation was due and not issued.
    pub idle: Pauses,
    /// The largest share of a slice that was spent in idle times longer than any that the schedule itself left.
    pub rest_share_max: f64,
    /// Times in which the generator did not look for completions.
    pub overslept: Pauses,
    /// Its largest share of a slice.
    pub overslept_share_max: f64,
}

/// What a target reports about its health (SMART), by name; `smart: absent` where nothing could be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// Before the first operation.
    pub before: BTreeMap<String, String>,
    /// After the last operation; the same as before where the run was cut.
    pub after: BTreeMap<String, String>,
}

/// What a step that verifies found in all of its phases.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Integrity {
    /// Reads that returned what was written, including those of the read-back at the end.
    pub verified_reads: u64,
    /// Reads a part of which was never written with a seal, or was being written meanwhile.
    pub unverified_reads: u64,
    /// Places that hold something else, each counted once for each time it was written.
    pub damaged: u64,
    /// The first of these places, at most 16 on each target.
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
    /// Length in bytes.
    pub bytes: u64,
    /// The generation that was written there last; 0 if this run never wrote there.
    pub generation: u64,
    /// The generation that was found, where the data found have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found_generation: Option<u64>,
    /// The offset that the data found were written to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found_offset: Option<u64>,
    /// For a lost write: where on this target it was found instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub went_to: Option<u64>,
}

/// Counters of a block device compared with what was issued to it, over the intervals that have them.
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
    /// The largest of these differences, as shares of the run's own counts: that of both directions together (by
    /// operations or bytes, whichever is smaller), and what is missing in either direction (by operations or bytes,
    /// whichever is larger).
    pub mismatch: f64,
}

/// A number of operations, and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskCount {
    /// Number of operations.
    pub operations: u64,
    /// Bytes of those.
    pub bytes: u64,
}

impl DiskCount {
    /// The sum of both.
    pub fn sum_with(self, other: DiskCount) -> DiskCount {
        DiskCount {
            operations: self.operations.saturating_add(other.operations),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }
}

impl DiskTotals {
    /// Reads and writes of the device together.
    pub fn reads_and_writes(&self) -> DiskCount {
        self.reads.sum_with(self.writes)
    }
    /// Reads and writes of the run together.
    pub(crate) fn own_all(&self) -> DiskCount {
        self.own_reads.sum_with(self.own_writes)
    }
}
