//! What remains of an interrupted run: the plan that was asked for, compared with what its log contains.

use crate::failure::{Failure, escaped_path};
use crate::log::resume::LoggedStep;
use crate::open::targets::Targets;
use assay_base::{Bytes, Span};
use assay_judge::for_a_shell;
use assay_model::plan::decisive_members;
use assay_model::{CarriedOver, Phase, PhaseKind, Plan};
use assay_record::StepHead;
use std::path::Path;

/// A plan as JSON, as in the log.
pub(crate) fn json_of(plan: &Plan) -> Result<serde_json::Value, Failure> {
    serde_json::to_value(plan).map_err(|e| Failure::internal_bug(format!("a plan that is not JSON: {e}")))
}

/// The part of an interrupted step that remains to be run.
#[derive(Debug)]
pub(crate) struct RemainingStep {
    /// The plan of the segment that continues it.
    pub plan: Plan,
    /// Measured time before it.
    pub at_ns: u64,
}

/// The step that a command would run, to be compared with the one in a log.
#[derive(Debug)]
pub(crate) struct RequestedStep<'a> {
    /// The plan of the whole step.
    pub plan: &'a Plan,
    /// Step of a certification.
    pub step: Option<&'a StepHead>,
    /// The targets; the plan uses the first ones.
    pub targets: &'a Targets,
    /// Whether the user gave the plan's seed; otherwise the log's seed is used.
    pub seed: bool,
}

fn step_in_words(step: Option<&StepHead>) -> String {
    step.map_or("a run of its own".to_owned(), |step| format!("step {} of {}, {}", step.number, step.of, step.title))
}

/// The same step without the option to end when the verdict is certain, which does not distinguish steps.
fn without_certainty(step: Option<&StepHead>) -> Option<StepHead> {
    step.map(|step| StepHead { until_certain: false, ..step.clone() })
}

impl RequestedStep<'_> {
    /// Refuses when the log in `dir` contains another run.
    pub(crate) fn refuse_other_run(&self, logged: &LoggedStep, dir: &Path) -> Result<(), Failure> {
        let plan = self.plan;
        if without_certainty(self.step) != without_certainty(logged.first.step.as_ref()) {
            return Err(belongs_to_other_run(dir, &format!("it is {}", step_in_words(logged.first.step.as_ref()))));
        }
        if decisive_members(&json_of(plan)?) != decisive_members(&logged.first.plan) {
            return Err(belongs_to_other_run(dir, "its streams, load, targets or criteria differ"));
        }
        if self.seed && plan.load.seed != logged.first.seed {
            return Err(belongs_to_other_run(dir, &format!("its seed is {}", logged.first.seed)));
        }
        if plan.timing.measured_length().as_ns() != logged.planned_ns {
            return Err(belongs_to_other_run(dir, &format!("it measures {}", Span::from_ns(logged.planned_ns))));
        }
        self.targets.differ_from(&logged.first.targets).map_or(Ok(()), |what| Err(belongs_to_other_run(dir, &what)))
    }

    /// The rest of the plan, of which the log in `dir` already contains `held`. Its seed is derived from that of the
    /// first segment.
    pub(crate) fn remaining_step(&self, logged: Option<&LoggedStep>, dir: &Path) -> Result<RemainingStep, Failure> {
        let logged = logged.ok_or_else(|| belongs_to_other_run(dir, "it is empty"))?;
        if logged.is_over() {
            return Err(nothing_remains(dir));
        }
        self.refuse_other_run(logged, dir)?;
        if self.plan.caches.simulated.is_some() {
            return Err(Failure::bad_usage(format!(
                "{} cannot be continued: what the simulated cache held when it was interrupted is in no log; start it again",
                escaped_path(dir)
            )));
        }
        // When a stream begins or ends by what was done before, the measurement is repeated from its beginning.
        let at_ns = if self.plan.load.starts_over() { 0 } else { logged.resume_at_ns() };
        let read_back = self.plan.timing.phases.iter().filter(|phase| phase.kind == PhaseKind::ReadBack).cloned();
        let parts: Vec<Phase> =
            self.plan.timing.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure).cloned().collect();
        let left = Phase::warm_up_and_remaining(self.plan.timing.warm_up(), &parts, Span::from_ns(at_ns));
        let phases = left.into_iter().chain(read_back).collect();
        // The same seed would repeat the operations that were already measured.
        let seed = logged.first.seed.wrapping_add(logged.segments.wrapping_mul(1_000_003));
        let mut plan = self.plan.continued_after(self.may_have_seen(logged), Span::from_ns(at_ns));
        (plan.timing.phases, plan.load.seed) = (phases, seed);
        Ok(RemainingStep { plan, at_ns })
    }

    /// The most blocks that the segments of the log may have used of those that are used once: each as much as the whole plan.
    fn may_have_seen(&self, logged: &LoggedStep) -> Bytes {
        let before = CarriedOver::from_logged_plan(&logged.first.plan).unwrap_or(self.plan.carried_over);
        let blocks = (0..usize::from(self.plan.load.targets)).map(|target| self.targets.target_geometry(target).block);
        let own = self.plan.carried_over.seen.get();
        let of_one = blocks.map(|block| self.plan.seen_after(block).get() - own).max().unwrap_or(0);
        Bytes::new(before.seen.get().saturating_add(of_one.saturating_mul(logged.segments)))
    }
}

/// The failure when nothing of the run in `dir` remains.
pub(crate) fn nothing_remains(dir: &Path) -> Failure {
    let typed = for_a_shell(&dir.to_string_lossy());
    Failure::bad_usage(format!(
        "{} is complete: there is nothing to resume; see assay judge {typed}",
        escaped_path(dir)
    ))
}

/// The failure for a directory that cannot be continued.
pub(crate) fn belongs_to_other_run(dir: &Path, what: &str) -> Failure {
    let dir = escaped_path(dir);
    Failure::bad_usage(format!("{dir} holds another run: {what}; repeat the command it was started with"))
}
