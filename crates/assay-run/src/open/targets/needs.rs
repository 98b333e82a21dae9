//! What a plan requires of its targets, and what the user allows for them.

use crate::failure::Failure;
use assay_base::Bytes;
use assay_device::safety::{Examination, RuleId, Standing};
use assay_model::Plan;
use assay_model::page_cache::PageCached;
use assay_model::tiles::PlannedTiles;
use std::path::Path;

/// What a plan requires of its targets.
#[derive(Clone, Copy)]
pub struct TargetNeeds<'a> {
    /// Whether they are written.
    pub writes: bool,
    /// The smallest size of a target that can be used.
    pub smallest: SmallestTarget<'a>,
    /// How many of the targets, at the end, are no part of the load: a cache device, which is written, and whose size is
    /// checked by who uses it.
    pub beside: usize,
    /// The directory of the log.
    pub log_dir: &'a Path,
    /// The targets that are used through the page cache of the kernel.
    pub page_cache: &'a [PageCached],
    /// Processes of the other ranks of the same run on this host, with which targets are shared.
    pub fellows: &'a [u32],
}

impl<'a> TargetNeeds<'a> {
    /// What a plan requires: none of its targets is a cache device, and none is used through the page cache.
    pub fn for_plan(plan: &'a Plan, log_dir: &'a Path) -> TargetNeeds<'a> {
        let smallest = SmallestTarget::ForPlan(plan);
        TargetNeeds { writes: plan.load.writes_targets(), smallest, beside: 0, log_dir, page_cache: &[], fellows: &[] }
    }

    /// What filling targets with data requires. It keeps no log, only records: these must not be on a device that is
    /// overwritten.
    pub fn for_preparation(records: &'a Path) -> TargetNeeds<'a> {
        let smallest = SmallestTarget::OneBlock;
        TargetNeeds { writes: true, smallest, beside: 0, log_dir: records, page_cache: &[], fellows: &[] }
    }
}

/// The smallest size of a target that can be used.
#[derive(Clone, Copy)]
pub enum SmallestTarget<'a> {
    /// Any size: the caller checks it.
    Any,
    /// One block, and 4 KiB.
    OneBlock,
    /// What the plan needs on a target.
    ForPlan(&'a Plan),
    /// The most that one of these plans needs on a target.
    ForPlans(&'a [&'a Plan]),
}

impl SmallestTarget<'_> {
    /// The tiles for which there must be room.
    pub(super) fn planned_tiles(&self) -> Option<&PlannedTiles> {
        match self {
            SmallestTarget::Any | SmallestTarget::OneBlock => None,
            SmallestTarget::ForPlan(plan) => plan.load.tiles(),
            SmallestTarget::ForPlans(plans) => plans.iter().find_map(|plan| plan.load.tiles()),
        }
    }

    /// In bytes, for the target with this index and this block size.
    pub(super) fn size_bytes(self, target: u16, block: u32) -> u64 {
        match self {
            SmallestTarget::Any => 0,
            SmallestTarget::OneBlock => u64::from(block.max(4096)),
            SmallestTarget::ForPlan(plan) => plan.smallest_target(target, block),
            SmallestTarget::ForPlans(plans) => {
                plans.iter().map(|plan| plan.smallest_target(target, block)).max().unwrap_or(0)
            }
        }
    }
}

/// What the user allows for the targets.
#[derive(Clone, Copy)]
pub struct Allowed<'a> {
    /// Consent tokens of the devices that may lose their data.
    pub tokens: &'a [String],
    /// Consents given in advance.
    pub standing: &'a [Standing],
    /// Safety rules that are overridden.
    pub overrides: &'a [RuleId],
    /// Size of a file that is created where there is none.
    pub create: Option<Bytes>,
    /// The user confirmed that processes outside this container are invisible.
    pub in_container: bool,
    /// Called last, before devices are overwritten; it asks the user at the terminal.
    pub confirm: &'a dyn Fn(&[&Examination]) -> Result<(), Failure>,
}
