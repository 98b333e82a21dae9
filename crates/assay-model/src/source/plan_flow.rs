//! A flow of a plan: a stream on one of its targets.

use crate::plan::Plan;

/// A stream on one target.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlanFlow {
    /// Its position among the flows of the plan.
    pub(super) index: usize,
    /// The stream, by its position in the plan.
    pub(super) stream: u16,
    /// The target, by its number.
    pub(super) target: u16,
}

/// All flows of a plan, in the order in which intervals list them.
pub(super) fn flows_of(plan: &Plan) -> impl Iterator<Item = PlanFlow> + '_ {
    plan.load.stream_targets().enumerate().map(|(index, (stream, target))| PlanFlow { index, stream, target })
}
