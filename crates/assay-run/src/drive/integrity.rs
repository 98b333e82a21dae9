//! What a run that verifies needs from its targets and from this machine's memory.

use crate::failure::Failure;
use crate::open::targets::Targets;
use assay_base::{Bytes, Geometry};
use assay_device::probe;
use assay_device::safety::Roots;
use assay_engine::{Ledger, Verified};
use assay_model::Plan;
use std::sync::Arc;

/// One part in this many of the memory may be used to record what was written where. The rest is for buffers, the
/// kernel and other programs.
const SHARE_OF_MEMORY: u64 = 4;

/// Refuses what cannot be verified, before anything is written.
pub fn refuse_impossible(plan: &Plan, targets: &Targets) -> Result<(), Failure> {
    let why = match targets {
        _ if !plan.verification.verify => return Ok(()),
        // The tree is compared with what was written, and not single blocks.
        Targets::Directory(_) => return Ok(()),
        Targets::Simulated(_) => "a simulated device has times and no data",
        Targets::Null(_) => "it keeps no data",
        Targets::Databases(_) => "a database has no blocks that a run writes",
        Targets::Real(_) => {
            let geometries: Vec<Geometry> =
                (0..usize::from(plan.load.targets)).map(|index| targets.target_geometry(index)).collect();
            let host = probe::read_host(&Roots::of_machine());
            let memory = [host.memory, host.cgroup.memory].into_iter().flatten().min().unwrap_or(u64::MAX);
            return check_ledger_fits(plan, &geometries, memory);
        }
    };
    Err(Failure::bad_workload(format!(
        "{} cannot be verified: {why}\n  = use a device or a file, or run it without verify",
        targets.target_name(0)
    )))
}

/// The ledger for a run of `plan` on `targets`, which must be possible; `None` when it does not verify.
pub fn ledger_for_plan(plan: &Plan, targets: &Targets, workers: usize) -> Option<Arc<Ledger>> {
    if !plan.verification.verify {
        return None;
    }
    let indexes = 0..usize::from(plan.load.targets);
    let all: Vec<Verified> = indexes
        .map(|index| Verified { geometry: targets.target_geometry(index), mark: seal_number(targets, index) })
        .collect();
    Ledger::new(plan, &all, workers as u32).map(Arc::new)
}

fn check_ledger_fits(plan: &Plan, targets: &[Geometry], memory: u64) -> Result<(), Failure> {
    let need = Ledger::memory_bytes(plan, targets).ok_or_else(|| no_granule(plan))?;
    if need <= memory / SHARE_OF_MEMORY {
        return Ok(());
    }
    let unit = targets.first().map_or_else(String::new, |target| units_on_target(plan, *target));
    Err(Failure::host_unable(format!(
        "verifying would take {} of memory (8 bytes for every {} of the targets), a {SHARE_OF_MEMORY}th of this machine's is {}\n  = align the writes to their size (address = {{ uniform = \"128KiB\" }}), take smaller targets, or leave out verify",
        Bytes::new(need).human_text(),
        unit,
        Bytes::new(memory / SHARE_OF_MEMORY).human_text()
    )))
}

fn no_granule(plan: &Plan) -> Failure {
    if !plan.caches.page.is_empty() {
        return Failure::bad_workload(
            "sizes and places that are not multiples of 512 bytes cannot be verified; write such multiples, or run it without verify",
        );
    }
    Failure::bad_workload("a target whose block size is not a power of two cannot be verified; run it without verify")
}

/// Describes how a plan verifies on targets like the first one, which has `geometry`.
pub fn describe_verification(plan: &Plan, geometry: Geometry) -> Option<String> {
    let granule = plan.load.common_granule(geometry.block).filter(|_| plan.verification.verify)?;
    let checked =
        if plan.verification.check_all.is_empty() { "" } else { "; all that is not written is read back too" };
    let (sealed, units) = (Bytes::new(granule), units_on_target(plan, geometry));
    Some(format!("{sealed} sealed at a time, 8 B of memory for every {units}{checked}"))
}

/// The units on the first target that words of the ledger stand for, from its begin to its end.
fn units_on_target(plan: &Plan, geometry: Geometry) -> String {
    let regions = plan.target_regions(0, geometry);
    // A region of less than a unit is what rounding has left between two others.
    let mut sizes: Vec<u64> = regions
        .iter()
        .filter(|region| region.unit_count() > 1 || regions.len() == 1)
        .map(|region| region.unit)
        .collect();
    sizes.dedup();
    let sizes: Vec<String> = sizes.iter().map(|unit| Bytes::new(*unit).to_string()).collect();
    sizes.join(" or ")
}

/// The number in every seal of a target: the same for the same device, or for the same file.
fn seal_number(targets: &Targets, index: usize) -> u32 {
    let identity = targets
        .real_targets()
        .get(index)
        .map_or_else(|| targets.target_name(index).to_owned(), |real| real.record_identity());
    let sum = blake3::hash(identity.as_bytes());
    sum.as_bytes()[..4].iter().fold(0, |mark, byte| mark << 8 | u32::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::workload::{Adjust, read_workload};

    #[test]
    fn memory_is_asked_for_before_anything_is_written() {
        let plan = |address: &str| {
            let file = format!(
                "model = \"streams\"\nverify = true\n[[stream]]\nname = \"w\"\ndirection = \"write\"\nsize = \"128KiB\"\naddress = {address}\nrate = \"1/s\""
            );
            read_workload("t", &file).unwrap().make_plan(&Adjust { targets: 1, ..Adjust::default() }).unwrap()
        };
        let terabyte = |block| [Geometry { size: 1 << 40, block }];
        let gib = 1u64 << 30;
        // (address, block, memory, fits)
        for (address, block, memory, ok) in [
            ("{ uniform = \"128KiB\" }", 512, gib, true),
            ("\"sequential\"", 512, gib, true),
            ("\"uniform\"", 4096, gib, false),
            ("\"uniform\"", 4096, 9 * gib, true),
            ("\"uniform\"", 512, 9 * gib, false),
        ] {
            let fits = check_ledger_fits(&plan(address), &terabyte(block), memory);
            assert_eq!(fits.is_ok(), ok, "{address} {block} {memory}: {fits:?}");
            if let Err(failure) = fits {
                assert_eq!(failure.code, crate::failure::code::HOST);
                assert!(format!("{failure:?}").contains("of memory (8 bytes for every"), "{failure:?}");
            }
        }
        assert_eq!(
            check_ledger_fits(&plan("\"uniform\""), &[Geometry { size: 1 << 30, block: 520 }], gib).unwrap_err().code,
            crate::failure::code::WORKLOAD
        );
    }
}
