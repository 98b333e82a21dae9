//! The targets: what was done to each, what its block device counted, its health, and whether its data are what was written.

use assay_record::{Pauses, TargetHead};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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
    #[serde(default, skip_serializing_if = "crate::judgement::skip::is_zero")]
    pub sampled_reads: u64,
    /// Those that met a block that was never written: the device may not have looked for it.
    #[serde(default, skip_serializing_if = "crate::judgement::skip::is_zero")]
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
    pub(crate) fn own_all(&self) -> DiskCount {
        self.own_reads.plus(self.own_writes)
    }
}
