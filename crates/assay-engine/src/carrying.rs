//! Creates the worker that carries the block I/O of a plan.

use crate::blocks::Blocks;
use crate::data::Data;
use crate::making::Making;
use crate::queue::{bounds, share};
use crate::rules::Setup;
use crate::verify::Verifier;
use crate::worker::{Parts, Worker};
use assay_base::{BlockDevice, Direction, Geometry, Prng};
use assay_model::Plan;
use assay_model::arrival::Part;
use assay_model::content::Content;
use assay_model::generator::FOR_CONTENT;

impl<D: BlockDevice> Worker<D, Blocks, Data> {
    /// A worker for its part of `plan` on `device`, which has as many slots as `Worker::slots` says. `None` when a rate does not fit.
    pub fn new(plan: &Plan, device: D, setup: Setup) -> Option<Self> {
        let Setup { part, bound, run, ref ledger, .. } = setup;
        let geometries: Vec<Geometry> = (0..plan.targets).map(|target| device.geometry(target)).collect();
        let mut making = Making::new(plan, &setup, geometries.clone());
        // Behind a cache and in an OLTP load, the streams of a target are drawn together as one sequence.
        let joint = plan.cache.is_some() || plan.oltp.is_some();
        for target in 0..if joint { plan.targets } else { 0 } {
            making.joint(target)?;
        }
        // The read-back comes after all other sources.
        for (flow, (stream, target)) in plan.flows().enumerate().filter(|(_, (at, _))| !joint || plan.reads_back(*at)) {
            making.flow((flow, stream, target))?;
        }
        let Making { sources, flows_of, after, gates, .. } = making;
        gates.counted();
        let content = |(stream, target): (u16, u16)| {
            let spec = &plan.streams[usize::from(stream)];
            let path = [u64::from(stream), u64::from(target), part.index, FOR_CONTENT];
            let block = spec.block().filter(|block| block.direction == Direction::Write)?;
            let content = Content::new(Prng::child(plan.seed ^ u64::from(run), &path), run, block.compress_to);
            Some(content.repeating(block.duplicates).filled_with(block.filled_with))
        };
        let slots = slots(plan, part, bound) as usize;
        let verifier = ledger.clone().map(|ledger| Verifier::new(ledger, run, slots));
        let parts = Parts {
            after: after.unwrap_or(sources.len()),
            flows_of,
            sources,
            payload: Data::new(plan.flows().map(|of| (content(of), grid(plan, &geometries, of.1))).collect(), verifier),
        };
        Some(Worker::of(plan, device, parts, setup))
    }
}

/// The power of two that all offsets and lengths on a target are multiples of.
fn grid(plan: &Plan, geometries: &[Geometry], target: u16) -> u64 {
    plan.granule(geometries[usize::from(target)].block).unwrap_or(1)
}

/// The in-flight bound of one target in the worker of `part`, for the streams without a lane of their own: the worker's
/// share of the plan's bound, at least 1.
pub fn bound(plan: &Plan, part: Part) -> u32 {
    share(plan.in_flight_bound, part)
}

/// Upper bound on the operations in flight in the worker of `part`, over all streams and targets.
pub fn slots(plan: &Plan, part: Part, bound: u32) -> u32 {
    bounds(plan, part, bound).iter().sum()
}
