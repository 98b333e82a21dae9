//! What a plan needs of its targets and of this machine's memory, apart from the size of single operations.

use crate::failure::Failure;
use crate::open::targets::Targets;
use assay_base::{Bytes, Geometry};
use assay_device::probe;
use assay_device::safety::Roots;
use assay_model::Plan;

/// One part in this many of the memory may be taken by simulated caches. The rest is for buffers, the kernel and other programs.
const SHARE_OF_MEMORY: u64 = 2;

/// Refuses targets that the parts of a plan or an OLTP load do not fit on, and a cache that would take the memory of this machine, before anything is issued: a
/// run that the kernel kills measures nothing.
pub(crate) fn refuse_impossible(plan: &Plan, targets: &Targets) -> Result<(), Failure> {
    let geometries: Vec<Geometry> =
        (0..usize::from(plan.load.targets)).map(|index| targets.target_geometry(index)).collect();
    plan.check_fits(&geometries).map_err(Failure::bad_workload)?;
    if let Some(oltp) = plan.load.oltp() {
        oltp.check_fits(&geometries).map_err(Failure::bad_usage)?;
    }
    if plan.caches.simulated.is_none() {
        return Ok(());
    }
    let host = probe::read_host(&Roots::of_machine());
    check_cache_fits(
        plan,
        &geometries,
        [host.memory, host.cgroup.memory].into_iter().flatten().min().unwrap_or(u64::MAX),
    )
}

fn check_cache_fits(plan: &Plan, targets: &[Geometry], memory: u64) -> Result<(), Failure> {
    let Some(cache) = &plan.caches.simulated else { return Ok(()) };
    let need = targets.iter().fold(0u64, |sum, target| sum.saturating_add(cache.memory_before(*target).get()));
    if need <= memory / SHARE_OF_MEMORY {
        Ok(())
    } else {
        Err(Failure::host_unable(format!(
            "the simulated caches would take {} of memory, and half of this machine's is {}\n  = write a larger block or a smaller size in [cache], or take fewer targets",
            Bytes::new(need).human_text(),
            Bytes::new(memory / SHARE_OF_MEMORY).human_text()
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::workload::{self, Adjust};

    #[test]
    fn a_cache_takes_no_more_than_half_of_the_memory() {
        let file = "model = \"streams\"\n[cache]\nsize = \"1GiB\"\n[[stream]]\nname = \"s\"\ndirection = \"read\"\nsize = \"4KiB\"\nrate = \"1/s\"\n";
        let plan =
            workload::read_workload("t", file).unwrap().make_plan(&Adjust { targets: 1, ..Adjust::default() }).unwrap();
        let target = |size| Geometry { size, block: 512 };
        // 262144 blocks of 96 bytes are 24 MiB; a target has no more blocks than it is large.
        for (targets, memory, fit) in [
            (&[1 << 40][..], 48 << 20, true),
            (&[1 << 40], 47 << 20, false),
            (&[1 << 40, 1 << 40], 48 << 20, false),
            (&[1 << 20, 1 << 20], 1 << 20, true),
        ] {
            let targets: Vec<Geometry> = targets.iter().copied().map(target).collect();
            let found = check_cache_fits(&plan, &targets, memory);
            assert_eq!(found.is_ok(), fit, "{targets:?} {memory}");
            assert!(found.err().is_none_or(|refusal| refusal.code == 5 && refusal.user_message().contains("[cache]")));
        }
    }
}
