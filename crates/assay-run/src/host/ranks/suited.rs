//! Which runs several ranks can carry.

use crate::failure::{Failure, one_line};
use crate::open::targets::Named;
use crate::procedure::steps::Task;
use assay_engine::Settling;
use assay_model::Plan;
use assay_model::files::PartOfClients;
use assay_model::hosts::PlaceAmong;

/// How many parts of the load of a plan a rank carries: one for each of its workers; on a directory, one for each of its clients, of
/// which a rank has the same share as any other one, or all where its host has a directory of its own.
pub fn parts_of_rank(plan: &Plan, workers: u64, rank: PlaceAmong) -> u64 {
    let Some(files) = plan.load.files() else { return workers };
    let clients = u64::from(files.workload.clients);
    if plan.hosts.are_own() { clients } else { PartOfClients::of_rank(rank.index, rank.count, clients).own }
}

/// How many workers carry the parts of a rank: one each. On a directory its clients do, and there is no number of workers.
pub fn workers_of_parts(plan: &Plan, parts: u64) -> Option<u16> {
    u16::try_from(parts).ok().filter(|_| plan.load.files().is_none())
}

/// Refuses a run that several ranks with so many parts in all cannot carry.
pub fn refuse_unsuited(tasks: &[Task], named: &[(String, Named)], all_parts: u64) -> Result<(), Failure> {
    if let Some((name, _)) = named.iter().find(|(_, named)| matches!(named, Named::Database(_))) {
        return Err(Failure::bad_usage(format!(
            "several ranks carry runs on block devices, files, directories and simulated devices, and {} is none of these",
            one_line(name)
        )));
    }
    // The phases of a load on files are steps, each with a beginning and an end of all.
    let has_phases = tasks.iter().all(|task| task.plan.load.files().is_some());
    if tasks.len() > 1 && !has_phases {
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
    if plan.load.files().is_some() {
        return Ok(());
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
