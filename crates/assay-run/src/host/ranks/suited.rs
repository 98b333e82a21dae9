//! Which runs several ranks can carry.

use crate::failure::{Failure, one_line};
use crate::open::targets::Named;
use crate::procedure::steps::Task;
use assay_engine::Settling;
use assay_model::Plan;

/// Refuses a run that several ranks with so many parts in all cannot carry.
pub fn refuse_unsuited(tasks: &[Task], named: &[(String, Named)], all_parts: u64) -> Result<(), Failure> {
    let is_suited = |named: &Named| matches!(named, Named::Simulated(_) | Named::Null(_) | Named::Path(_));
    if let Some((name, _)) = named.iter().find(|(_, named)| !is_suited(named)) {
        return Err(Failure::bad_usage(format!(
            "several ranks carry runs on block devices, files and simulated devices, and {} is none of these",
            one_line(name)
        )));
    }
    if tasks.len() > 1 {
        return Err(Failure::bad_workload("several ranks carry runs of one step only, and this workload has more"));
    }
    tasks.iter().try_for_each(|task| refuse_unsuited_plan(&task.plan, all_parts))
}

fn refuse_unsuited_plan(plan: &Plan, all_parts: u64) -> Result<(), Failure> {
    if plan.caches.simulated.is_some() || plan.caches.device.is_some() {
        return Err(Failure::bad_workload(
            "a cache before the targets is one for all operations, and several ranks cannot share it",
        ));
    }
    if plan.verification.verify && !plan.hosts.are_known_to_one() {
        return Err(Failure::bad_workload(
            "whether reads return what was written is known to one process only: several ranks cannot verify what they share; write \
             ranges = \"disjoint\" in [hosts]",
        ));
    }
    if plan.load.has_lives() {
        return Err(Failure::bad_workload(
            "streams that begin or end within the run, or wait for each other, need one process: ranks do not tell each other how far they are",
        ));
    }
    if Settling::new(plan).is_some() {
        return Err(Failure::bad_workload("a warm-up until the load is steady needs one process; give --warm-up TIME"));
    }
    // How many parts a host has that has targets of its own shows when all ranks have said where they are.
    if plan.hosts.are_own() { Ok(()) } else { refuse_few_slots(plan, all_parts) }
}

/// Refuses a plan with fewer operations in flight than there are parts of it.
pub(super) fn refuse_few_slots(plan: &Plan, all_parts: u64) -> Result<(), Failure> {
    let lanes = plan.load.lane_bounds().into_iter().flatten().filter(|bound| *bound > 0);
    let bound = lanes.min().map_or(u64::from(plan.load.in_flight_bound), u64::from);
    if bound < all_parts {
        return Err(Failure::bad_workload(format!(
            "a stream may have at most {bound} operations in flight, fewer than the {all_parts} parts of the load: each part needs one at least"
        )));
    }
    Ok(())
}
