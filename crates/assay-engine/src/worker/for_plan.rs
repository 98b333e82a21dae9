//! Creates the worker that carries the block I/O of a plan.

use crate::rules::Setup;
use crate::verify::data::Data;
use crate::verify::ledger::Ledger;
use crate::verify::verifier::Verifier;
use crate::worker::machine::{Parts, Worker};
use crate::worker::queue::{lane_bounds, share_of_bound};
use assay_base::{BlockDevice, Direction, Geometry, Prng};
use assay_model::Plan;
use assay_model::arrival::Part;
use assay_model::content::Content;
use assay_model::generator::FOR_CONTENT;
use assay_model::source::{BlockSource, BlockSources, SourceWorker};

/// A source of block I/O whose read-back is of what the [`Ledger`] knows.
pub type Blocks = BlockSource<Ledger>;

impl<D: BlockDevice> Worker<D, Blocks, Data> {
    /// A worker for its part of `plan` on `device`, which has as many slots as [`slots_upper_bound`] says. `None` when a rate does
    /// not fit.
    pub fn new(plan: &Plan, device: D, setup: Setup) -> Option<Self> {
        let Setup { part, bound, run, start, ref ledger, ref gates, .. } = setup;
        let geometries: Vec<Geometry> = (0..plan.load.targets).map(|target| device.target_geometry(target)).collect();
        let written = ledger.clone();
        let source_worker = SourceWorker { part, start, written, gates: gates.clone(), geometries: geometries.clone() };
        let BlockSources { sources, flows_of, after } = BlockSources::from_plan(plan, source_worker)?;
        let slots = slots_upper_bound(plan, part, bound) as usize;
        let verifier = ledger.clone().map(|ledger| Verifier::new(ledger, run, slots));
        let mut flows = Vec::new();
        for (stream, target) in plan.load.stream_targets() {
            flows.push((content_for_stream(plan, stream, target, part, run), offset_grid(plan, &geometries, target)));
        }
        let payload = Data::new(flows, verifier);
        let parts = Parts { after: after.unwrap_or(sources.len()), flows_of, sources, payload };
        Some(Worker::from_parts(plan, device, parts, setup))
    }
}

/// The content that fills the writes of a stream on a target in run `run`; `None` for a stream that does not write.
fn content_for_stream(plan: &Plan, stream: u16, target: u16, part: Part, run: u32) -> Option<Content> {
    let block =
        plan.load.streams[usize::from(stream)].as_block().filter(|block| block.direction == Direction::Write)?;
    let path = [u64::from(stream), u64::from(target), part.index, FOR_CONTENT];
    let content = Content::new(Prng::for_path(plan.load.seed ^ u64::from(run), &path), run, block.compress_to);
    Some(content.with_repeated_share(block.duplicates).filled_with(block.filled_with))
}

/// The power of two that all offsets and lengths on a target are multiples of.
fn offset_grid(plan: &Plan, geometries: &[Geometry], target: u16) -> u64 {
    plan.load.common_granule(geometries[usize::from(target)].block).unwrap_or(1)
}

/// The in-flight bound of one target in the worker of `part`, for the streams without a lane of their own: the worker's
/// share of the plan's bound, at least 1.
pub fn in_flight_bound(plan: &Plan, part: Part) -> u32 {
    share_of_bound(plan.load.in_flight_bound, part)
}

/// Upper bound on the operations in flight in the worker of `part`, over all streams and targets.
pub fn slots_upper_bound(plan: &Plan, part: Part, bound: u32) -> u32 {
    lane_bounds(plan, part, bound).iter().sum()
}
