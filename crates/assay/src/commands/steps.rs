//! `assay explain certify TARGET…`: everything that a certification would do to these targets, step by step: time,
//! bytes, what is judged. The figures come from the plans that `certify` would run.

use super::outline::{PlanLines, byte_totals, in_words, largest_block, refusal_reason, sizes_of};
use crate::args::Pace;
use crate::stdout::{print_json, show_lines};
use assay_base::{Bytes, Direction, Multiple, Span};
use assay_formats::act::conf::Kind;
use assay_model::Plan;
use assay_run::failure::{Failure, code};
use assay_run::open::targets::Named;
use assay_run::procedure::{Procedure, ProcedureOptions, Step};

/// The speed for which the time of a preparation is given, because the drive's own speed is not known before it is
/// written.
const EXAMPLE_SPEED: u64 = 1_000_000_000;
/// Preparation writes everything twice: zeros, then data.
const PASSES: u64 = 2;

/// A certification to be explained.
struct ExplainedCertification {
    procedure: Procedure,
    named: Vec<(String, Named)>,
    sizes: Vec<Option<(u64, u32)>>,
    steps: Vec<(Step, Plan)>,
}

/// Prints what a certification with these words of a command line would do. Writes nothing.
pub(crate) fn explain_certification(
    words: &[String],
    load: Option<Multiple>,
    model: Option<Kind>,
    pace: &Pace,
    json: bool,
) -> Result<u8, Failure> {
    let (mut procedure, names) =
        Procedure::from_words(words, ProcedureOptions { at: load, model, ..ProcedureOptions::default() })?;
    let named = procedure.parse_targets(&names)?;
    let sizes = sizes_of(&named)?;
    let seed = assay_run::open::seed::choose_seed(pace.seed.or(procedure.workload.seed), &[]);
    let steps = procedure.steps_on_targets(named.len().max(1) as u16, pace.measure)?;
    let pace = pace.to_pace();
    let mut planned = Vec::new();
    for step in steps {
        let plan = procedure.plan_step(&step, pace.workload_adjustments(&procedure.workload, seed, step.targets))?;
        planned.push((step, plan));
    }
    let explained = ExplainedCertification { procedure, named, sizes, steps: planned };
    if json {
        print_json(&explained.to_json())?
    } else {
        show_lines(&explained.to_text())
    }
    Ok(code::DONE)
}

impl ExplainedCertification {
    fn target_count(&self) -> usize {
        self.named.len().max(1)
    }

    /// Time of all steps together.
    fn total_length(&self) -> Span {
        self.steps.iter().fold(Span::ZERO, |sum, (_, plan)| sum + plan.timing.total_length())
    }

    /// Bytes read and written by a step on all its targets; `None` where a closed loop moves as much as it can.
    /// Of clients on files nobody knows it before.
    fn step_bytes(&self, plan: &Plan) -> [Option<u64>; 2] {
        if plan.load.files().is_some() {
            return [None; 2];
        }
        let (read, _, written) = byte_totals(plan, largest_block(&self.sizes));
        let read = read * plan.timing.total_length().as_secs_f64();
        [(Direction::Read, read), (Direction::Write, written)]
            .map(|(direction, bytes)| plan.load.unbounded_streams(direction).next().is_none().then_some(bytes as u64))
    }

    /// Bytes that all steps together write to one target: the first targets take part in more steps.
    fn written_to(&self, target: usize) -> Option<u64> {
        let takes_part = self.steps.iter().filter(|(step, _)| target < usize::from(step.targets));
        takes_part.map(|(step, plan)| Some(self.step_bytes(plan)[1]? / u64::from(step.targets))).sum()
    }

    /// Whether it is of a directory: nothing is prepared then, and nothing of others is touched.
    fn is_of_directory(&self) -> bool {
        self.procedure.workload.load.as_files().is_some()
    }

    fn to_json(&self) -> serde_json::Value {
        let steps = self.steps.iter().zip(1..).map(|((step, plan), number)| {
            let [read, written] = self.step_bytes(plan);
            serde_json::json!({
                "number": number, "title": step.title, "load": step.load.to_string(), "stress": step.stress,
                "targets": step.targets, "duration_seconds": plan.timing.total_length().as_secs_f64(),
                "read_bytes": read, "written_bytes": written, "plan": plan,
            })
        });
        serde_json::json!({
            "schema": 1,
            "workload": self.procedure.workload.name,
            "duration_seconds": self.total_length().as_secs_f64(),
            "destroys_data": self.steps.iter().any(|(_, plan)| plan.load.writes_targets()),
            "steps": steps.collect::<Vec<_>>(),
            "targets": (0..self.named.len()).map(|index| self.target_as_json(index)).collect::<Vec<_>>(),
        })
    }

    fn target_as_json(&self, index: usize) -> serde_json::Value {
        let size = self.sizes[index].map(|(size, _)| size);
        serde_json::json!({
            "name": self.named[index].0, "size_bytes": size, "written_bytes": self.written_to(index),
            "preparation_bytes": size.filter(|_| !self.is_of_directory()).map(|size| size.saturating_mul(PASSES)),
        })
    }

    fn to_text(&self) -> String {
        let mut out = PlanLines::default();
        let (steps, length) = (self.steps.len(), self.total_length().human_text());
        let on = match self.target_count() {
            1 => "1 target".to_owned(),
            n => format!("{n} targets"),
        };
        out.add_line(format_args!(
            "certify {} on {on}: {steps} steps, {length} in all, if none fails",
            self.procedure.workload.name
        ));
        if !self.is_of_directory() {
            self.describe_preliminaries(&mut out);
        }
        out.add_heading("steps, one after the other");
        out.add_line(format_args!("     {:36} {:>6} {:>12} {:>12}  judged", "", "time", "read", "written"));
        for ((step, plan), number) in self.steps.iter().zip(1..) {
            let [read, written] = self.step_bytes(plan).map(human_bytes);
            let judged = if step.stress { "that the load is carried" } else { "every criterion" };
            let time = plan.timing.total_length().human_text();
            out.add_line(format_args!("  {number}  {:36} {time:>6} {read:>12} {written:>12}  {judged}", step.title));
        }
        if !self.is_of_directory() {
            self.per_target(&mut out);
        }
        self.describe_judgement(&mut out);
        if self.is_of_directory() {
            out.add_heading("each step makes a directory of its own in the one that is named, and removes it: nothing else is touched");
        } else if self.steps.iter().any(|(_, plan)| plan.load.writes_targets()) {
            out.add_heading("ALL DATA ON THE TARGETS WILL BE DESTROYED");
            let refused = self.named.iter().filter_map(|(_, named)| refusal_reason(named));
            refused.for_each(|why| out.add_line(format_args!("  but {why}")));
        } else {
            out.add_heading("reads only: nothing is destroyed");
        }
        out.0
    }

    /// Describes what each kind of step requires.
    fn describe_judgement(&self, out: &mut PlanLines) {
        if let Some((_, plan)) = self.steps.iter().find(|(step, _)| !step.stress) {
            let slice = plan.timing.slice.human_text();
            out.add_heading(format_args!(
                "a load test passes when all of this holds, in every slice of {slice} by itself"
            ));
            plan.criteria.iter().for_each(|criterion| out.add_line(in_words(criterion)));
            out.add_line("  at least 99.9% of the operations that are due are issued, and none fails");
        }
        if self.steps.iter().any(|(step, _)| step.stress) {
            out.add_heading("a stress test passes when the drive carries twice that load to the end");
            out.add_line("  at least 99.9% of the operations that are due are issued, and none fails; response times do not count");
        }
        out.add_heading(
            "it ends as soon as it is certain that the verdict is FAIL; --keep-going runs all steps to their end",
        );
    }

    fn per_target(&self, out: &mut PlanLines) {
        for (index, ((name, _), size)) in self.named.iter().zip(&self.sizes).enumerate() {
            let Some((size, _)) = size else { continue };
            let all = self
                .written_to(index)
                .map_or_else(|| "as much as it takes".to_owned(), |bytes| Bytes::new(bytes).human_text());
            let times = self.written_to(index).map(|bytes| bytes as f64 / (*size).max(1) as f64);
            let times = times.map_or_else(String::new, |times| format!(", {times:.1} drive writes"));
            out.add_line(format_args!(
                "target {name}: {}, {all} written to it in all steps{times}",
                Bytes::new(*size).human_text()
            ));
        }
    }

    /// Describes what happens before the first step.
    fn describe_preliminaries(&self, out: &mut PlanLines) {
        out.add_heading(
            "before it: assay prep TARGET writes every byte twice, once zeros and once data that do not compress",
        );
        for ((name, named), size) in self.named.iter().zip(&self.sizes) {
            let (Some((size, _)), Named::Path(_)) = (size, named) else { continue };
            let bytes = size.saturating_mul(PASSES);
            let time = Span::from_secs(bytes.div_ceil(EXAMPLE_SPEED)).human_text();
            out.add_line(format_args!(
                "  {name}: {}, which takes {time} where the drive writes 1 GB a second",
                Bytes::new(bytes).human_text()
            ));
        }
    }
}

fn human_bytes(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| "no bound".to_owned(), |bytes| Bytes::new(bytes).human_text())
}
