//! The sections on what was tested: the targets, the machine with the engine, and the plan.

use super::plan::PlanView;
use super::targets::{self, TargetRow};
use crate::judgement::{GeneratorFigures, StepFigures};

/// What was tested, and with which load.
pub(crate) struct TestedView<'a> {
    pub targets: Vec<TargetRow<'a>>,
    pub generator: &'a GeneratorFigures,
    /// Nothing where the log has no plan.
    pub plan: Option<PlanView>,
}

impl<'a> TestedView<'a> {
    pub(crate) fn new(part: &'a StepFigures, root: &str) -> TestedView<'a> {
        let plan = &part.plan.json;
        TestedView {
            targets: targets::target_rows(part, root),
            generator: &part.generator,
            plan: (!plan.is_null()).then(|| PlanView::new(plan)),
        }
    }
}
