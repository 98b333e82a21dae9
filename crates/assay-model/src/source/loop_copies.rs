//! The copies of a closed loop that a worker carries, each with the slots that were dealt to the worker.

use crate::arrival::Part;
use crate::generator::{FOR_LOOP, FlowShare, Generator};
use crate::mix::{Loop, Mix};
use crate::plan::{Arrival, Block, Plan, Stream};
use crate::source::block_source::{BlockSource, Variant};
use crate::source::closed_loop::{LoopDraws, LoopSource, Member};
use crate::source::loop_with_flushes::LoopWithFlushes;
use crate::source::plan_flow::PlanFlow;
use crate::turns::{Turning, Turns};
use assay_base::{Geometry, Instant, Prng};
use std::sync::Arc;

/// The slots of one copy of a loop that a worker has: on one target, or if the loop takes turns, on all its targets
/// together.
#[derive(Clone, Debug)]
pub(super) struct LoopCopy {
    loop_name: String,
    members: Vec<PlanFlow>,
    /// The geometry of each target of the plan.
    geometries: Arc<[Geometry]>,
    copy: u32,
    pub(super) slots: u32,
    /// The worker's place among the workers that have slots of this copy.
    pub(super) share: Part,
}

/// The copies of `closed_loop` of which `worker` has slots, and at least one. Slots are dealt to workers in turn,
/// beginning with those of the first copy. The workers that have slots of a copy share its cursors by position.
pub(super) fn deal_copies(
    closed_loop: &Loop,
    worker: Part,
    members: &[PlanFlow],
    geometries: &Arc<[Geometry]>,
) -> Vec<LoopCopy> {
    let all = (0..closed_loop.copies).map(|copy| LoopCopy::new(closed_loop, worker, copy, members, geometries));
    let mut own: Vec<LoopCopy> = all.filter(|copy| copy.slots > 0).collect();
    if own.is_empty() {
        // The worker has no slot, but its flows still need a source.
        own.push(LoopCopy::new(closed_loop, worker, 0, members, geometries));
    }
    own
}

impl LoopCopy {
    fn new(
        closed_loop: &Loop,
        worker: Part,
        copy: u32,
        members: &[PlanFlow],
        geometries: &Arc<[Geometry]>,
    ) -> LoopCopy {
        let (depth, of) = (u64::from(closed_loop.in_flight), worker.of.max(1));
        // The copy's first slot is dealt to this worker, which has every `of`-th from there on.
        let place = (worker.index + of - u64::from(copy) * depth % of) % of;
        let slots = (depth / of + u64::from(place < depth % of)) as u32;
        let share = Part { index: place.min(depth - 1), of: depth.min(of) };
        let (loop_name, members, geometries) = (closed_loop.name.clone(), members.to_vec(), Arc::clone(geometries));
        LoopCopy { loop_name, members, geometries, copy, slots, share }
    }

    /// The source of the copy, with the flushes after its writes, in a run that begins at `start`; the loop begins at
    /// `begins`.
    pub(super) fn make_source<W>(&self, plan: &Plan, start: Instant, begins: Instant) -> Option<BlockSource<W>> {
        let copy = self.make_loop(plan, start, begins)?;
        Some(BlockSource(match self.flushes_flow(plan) {
            None => Variant::Loop(Box::new(copy)),
            Some((flow, every)) => {
                let flushes = Generator::for_share(plan, &self.share_of_flow(flow, start, begins))?;
                Variant::Flushing(Box::new(LoopWithFlushes::new(copy, flow.index, flushes, every)))
            }
        }))
    }

    /// The flow of the loop's flushes, and the number of writes after which one follows.
    fn flushes_flow(&self, plan: &Plan) -> Option<(PlanFlow, u32)> {
        let (flow, flush) = self.members.iter().find_map(|flow| Some((*flow, stream_of(plan, *flow).as_flush()?)))?;
        Some((flow, flush.every?))
    }

    /// The loop over those streams that move data.
    fn make_loop(&self, plan: &Plan, start: Instant, begins: Instant) -> Option<LoopSource> {
        let closed_loop = plan.load.loops.iter().find(|known| known.name == self.loop_name)?;
        let first = *self.members.first()?;
        let mix = self.stream_mix(plan, closed_loop, first.target)?;
        let (mut members, mut cursors) = (Vec::new(), Vec::new());
        let mut shared: Vec<((&String, u16), usize)> = Vec::new();
        for flow in self.moving_data(plan) {
            let generator = Generator::for_share(plan, &self.share_of_flow(flow, start, begins))?;
            let block = stream_of(plan, flow).as_block()?;
            let cursor = cursor_name(block, flow.target).map(|name| {
                let known = shared.iter().find(|(known, _)| *known == name).map(|(_, cursor)| *cursor);
                known.unwrap_or_else(|| {
                    shared.push((name, cursors.len()));
                    cursors.push(generator.offsets_cursor());
                    cursors.len() - 1
                })
            });
            members.push(Member { flow: flow.index, generator, cursor, is_behind: block.address.is_behind() });
        }
        let path = [u64::from(first.stream), u64::from(first.target), self.share.index, FOR_LOOP, u64::from(self.copy)];
        let prng = Prng::for_path(plan.load.seed, &path);
        let turning = closed_loop.turns.map(|turns| self.targets_and_turns(plan, turns, first.stream));
        Some(LoopSource::new(closed_loop, LoopDraws { members, cursors, mix, turning, prng }, self.slots, begins))
    }

    /// Decides which stream of the loop comes next. The draw does not depend on the target, so the streams on `target`
    /// stand for those on all targets.
    fn stream_mix(&self, plan: &Plan, closed_loop: &Loop, target: u16) -> Option<Mix> {
        let mut weights = Vec::new();
        for flow in self.moving_data(plan).filter(|flow| flow.target == target) {
            let arrival = &stream_of(plan, flow).arrival;
            weights.push((arrival.share_of_loop()?.as_ppb(), line_of(closed_loop, arrival)?));
        }
        Some(Mix::new(closed_loop, &weights))
    }

    /// The flows of the loop that move data: all but flushes.
    fn moving_data<'a>(&'a self, plan: &'a Plan) -> impl Iterator<Item = PlanFlow> + 'a {
        self.members.iter().copied().filter(|flow| stream_of(plan, *flow).as_flush().is_none())
    }

    /// The worker's share of a flow of this copy.
    fn share_of_flow(&self, flow: PlanFlow, start: Instant, begins: Instant) -> FlowShare {
        FlowShare {
            stream: flow.stream,
            target: flow.target,
            geometry: self.geometries[usize::from(flow.target)],
            worker: self.share,
            copy: self.copy + 1,
            start,
            begins,
        }
    }

    /// The number of targets of the loop, which are those of `stream`, and its turns over them. The workers that share
    /// a copy also share each pass through a target, and begin with different targets.
    fn targets_and_turns(&self, plan: &Plan, turns: Turns, stream: u16) -> (usize, Turning) {
        let block = plan.load.streams[usize::from(stream)].as_block();
        let Part { index, of } = self.share;
        let mut passes = Vec::new();
        for target in plan.load.targets_of(stream) {
            let all = block.map_or(1, |block| block.operations_per_pass(self.geometries[usize::from(target)]));
            passes.push(all / of + u64::from(index < all % of));
        }
        (passes.len(), Turning::new(turns, passes.len(), &passes, (index % passes.len() as u64) as usize))
    }
}

/// The stream of a flow.
fn stream_of(plan: &Plan, flow: PlanFlow) -> &Stream {
    &plan.load.streams[usize::from(flow.stream)]
}

/// The position of a stream's line among the lines of its loop.
fn line_of(closed_loop: &Loop, arrival: &Arrival) -> Option<usize> {
    match arrival {
        Arrival::Looped { line: Some(line), .. } => closed_loop.lines.iter().position(|known| known.name == *line),
        _ => Some(0),
    }
}

/// The name of the cursor that a stream shares with others on `target`, if it shares one.
fn cursor_name(block: &Block, target: u16) -> Option<(&String, u16)> {
    block.places.as_ref().filter(|_| block.address.has_cursor()).map(|name| (name, target))
}
