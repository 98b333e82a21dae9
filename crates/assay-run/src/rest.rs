//! What is left of an interrupted run: the plan that was asked for, held against what its log holds.

use crate::failure::{Failure, shown};
use crate::resume::Held;
use crate::targets::Targets;
use assay_base::{Bytes, Span};
use assay_judge::for_a_shell;
use assay_model::{Before, Phase, PhaseKind, Plan};
use assay_record::StepHead;
use std::path::Path;

/// A plan as the log has it.
pub fn json_of(plan: &Plan) -> Result<serde_json::Value, Failure> {
    serde_json::to_value(plan).map_err(|e| Failure::bug(format!("a plan that is not JSON: {e}")))
}

/// What makes a run another one, whatever its length and seed.
pub fn decisive(plan: &serde_json::Value) -> [serde_json::Value; 7] {
    ["streams", "criteria", "targets", "load", "slice", "interval", "verify"].map(|key| plan[key].clone())
}

/// What is left of an interrupted step.
#[derive(Debug)]
pub struct Rest {
    /// The plan of the segment that continues it.
    pub plan: Plan,
    /// Measured time that stands before it.
    pub at_ns: u64,
}

/// What a command would run, to be held against what a log holds.
#[derive(Debug)]
pub struct Asked<'a> {
    /// The plan of the whole step.
    pub plan: &'a Plan,
    /// Step of a certification.
    pub step: Option<&'a StepHead>,
    /// The targets, of which the plan takes the first.
    pub targets: &'a Targets,
    /// Whether the plan's seed was asked for; otherwise the log's is as good.
    pub seed: bool,
}

impl Asked<'_> {
    /// Refuses where the log in `dir` holds another run.
    pub fn same(&self, held: &Held, dir: &Path) -> Result<(), Failure> {
        let plan = self.plan;
        let step = |head: Option<&StepHead>| {
            head.map_or("a run of its own".to_owned(), |step| {
                format!("step {} of {}, {}", step.number, step.of, step.title)
            })
        };
        // Whether it ends when its verdict is certain makes it no other step.
        let plain = |step: Option<&StepHead>| step.map(|step| StepHead { until_certain: false, ..step.clone() });
        if plain(self.step) != plain(held.first.step.as_ref()) {
            return Err(other(dir, &format!("it is {}", step(held.first.step.as_ref()))));
        }
        if decisive(&json_of(plan)?) != decisive(&held.first.plan) {
            return Err(other(dir, "its streams, load, targets or criteria differ"));
        }
        if self.seed && plan.seed != held.first.seed {
            return Err(other(dir, &format!("its seed is {}", held.first.seed)));
        }
        if plan.measured().as_ns() != held.planned_ns {
            return Err(other(dir, &format!("it measures {}", Span::from_ns(held.planned_ns))));
        }
        self.targets.differ_from(&held.first.targets).map_or(Ok(()), |what| Err(other(dir, &what)))
    }

    /// The rest of the plan, of which the log in `dir` already holds `held`. Its seed goes on from the first segment's.
    pub fn rest(&self, held: Option<&Held>, dir: &Path) -> Result<Rest, Failure> {
        let held = held.ok_or_else(|| other(dir, "it is empty"))?;
        if held.is_over() {
            return Err(complete(dir));
        }
        self.same(held, dir)?;
        let at_ns = held.resume_at_ns();
        let read_back = self.plan.phases.iter().filter(|phase| phase.kind == PhaseKind::ReadBack).cloned();
        let parts: Vec<Phase> =
            self.plan.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure).cloned().collect();
        let left = Plan::phases_of(self.plan.warm_up(), &parts, Span::from_ns(at_ns));
        let phases = left.into_iter().chain(read_back).collect();
        // The same seed would repeat the operations that were already measured.
        let seed = held.first.seed.wrapping_add(held.segments.wrapping_mul(1_000_003));
        let plan = Plan { phases, seed, ..self.plan.behind(self.seen(held), Span::from_ns(at_ns)) };
        Ok(Rest { plan, at_ns })
    }

    /// What the segments that the log holds may have seen of what is seen once: each as much as the whole plan.
    fn seen(&self, held: &Held) -> Bytes {
        let before: Option<Before> = serde_json::from_value(held.first.plan["before"].clone()).ok();
        let before = before.unwrap_or(self.plan.before);
        let blocks = (0..usize::from(self.plan.targets)).map(|target| self.targets.geometry(target).block);
        let own = self.plan.before.seen.get();
        let of_one = blocks.map(|block| self.plan.seen_after(block).get() - own).max().unwrap_or(0);
        Bytes::new(before.seen.get().saturating_add(of_one.saturating_mul(held.segments)))
    }
}

/// Nothing of the run in `dir` is left.
pub fn complete(dir: &Path) -> Failure {
    let typed = for_a_shell(&dir.to_string_lossy());
    Failure::usage(format!("{} is complete: there is nothing to resume; see assay judge {typed}", shown(dir)))
}

/// A directory that cannot be continued.
pub fn other(dir: &Path, what: &str) -> Failure {
    let dir = shown(dir);
    Failure::usage(format!("{dir} holds another run: {what}; repeat the command it was started with"))
}
