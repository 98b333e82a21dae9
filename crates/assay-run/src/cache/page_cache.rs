//! Targets that a run uses through the page cache of the kernel: what the kernel is told before the run, and before what
//! was written is read back.

use crate::failure::one_line;
use crate::open::targets::Targets;
use assay_device::page_cache::{self, Order};
use assay_model::Plan;
use assay_model::page_cache::{Advice, PageCached};

/// The targets of a plan that are used so, with what the kernel is told about each.
fn page_cached_targets<'a>(
    plan: &'a Plan,
    targets: &'a Targets,
) -> impl Iterator<Item = (&'a PageCached, &'a crate::open::targets::RealTarget)> {
    plan.caches.page.iter().filter_map(|cached| Some((cached, targets.real_targets().get(usize::from(cached.target))?)))
}

/// Whether a target is used so.
pub(crate) fn is_cached(plan: &Plan, target: usize) -> bool {
    plan.caches.page.iter().any(|cached| usize::from(cached.target) == target)
}

/// Tells the kernel about the order of the operations, and to drop what it has of the targets unless a job keeps it.
/// A request that the kernel refuses is a warning.
pub(crate) fn advise_kernel(plan: &Plan, targets: &Targets, mut warn: impl FnMut(String)) {
    for (cached, real) in page_cached_targets(plan, targets) {
        let order = match cached.advice {
            Advice::None => Order::Any,
            Advice::Sequential => Order::Sequential,
            Advice::Random => Order::Random,
        };
        let told = page_cache::advise_order(&real.target, order);
        let told = if cached.keep { told } else { told.and_then(|()| page_cache::drop_clean(&real.target)) };
        if let Err(why) = told {
            warn(format!(
                "the file system of {} takes no advice about its page cache: {why}; what memory held before the run may answer its reads",
                one_line(&real.name)
            ));
        }
    }
}

/// Writes to the disks what the kernel has of the targets, and asks it to drop that, so that what is read back comes from
/// the disks.
///
/// # Errors
/// Something could not be written: it is lost.
pub(crate) fn before_read_back(plan: &Plan, targets: &Targets) -> Result<(), String> {
    page_cached_targets(plan, targets).try_for_each(|(_, real)| {
        page_cache::write_and_drop(&real.target).map_err(|why| {
            format!(
                "what memory held of {} could not be written to its disk ({why}), so that nothing was read back; look at the kernel's messages",
                one_line(&real.name)
            )
        })
    })
}
