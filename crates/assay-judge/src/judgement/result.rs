//! The result of judging one log: the whole, each step of a certification, and the figures of a step.

use crate::judgement::course::Course;
use crate::judgement::criteria::{CriterionOutcome, Deciding};
use crate::judgement::database::DatabaseFigures;
use crate::judgement::gain::Gain;
use crate::judgement::generator::GeneratorFigures;
use crate::judgement::history::LogHistory;
use crate::judgement::log::{Damaged, LogSum};
use crate::judgement::plan::PlanAsRun;
use crate::judgement::slices::SliceList;
use crate::judgement::stream_figures::StreamFigures;
use crate::judgement::targets::TargetFigures;
use crate::judgement::time::MeasuredTime;
use crate::verdict::Verdict;
use assay_base::Measure;
use serde::{Deserialize, Serialize};

/// The version of the JSON shape.
pub const SCHEMA: u32 = 1;

/// The result of judging one log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// Version of this shape, [`SCHEMA`].
    pub schema: u32,
    /// What the log proves.
    pub verdict: Verdict,
    /// Why, in one or two sentences; names the step when there are several.
    pub reason: String,
    /// The answer to the header's `question`, in one line; absent where nothing is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// The slice that decided, where one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deciding: Option<Deciding>,
    /// Run name.
    pub name: String,
    /// Model name.
    pub model: String,
    /// The load as a multiple of 1x, as text.
    pub load: String,
    /// The seed.
    pub seed: u64,
    /// Tool version and commit that wrote the log.
    pub tool: String,
    /// Wall clock at the start, RFC 3339.
    pub created: String,
    /// Facts that limit what the result proves (`SIMULATED`, `QUICK` …), over all steps.
    pub watermarks: Vec<String>,
    /// What a reader should know, over all steps.
    pub warnings: Vec<String>,
    /// Places where the log differs from what was written.
    pub damage: Vec<Damaged>,
    /// The measure that all criteria were judged on because of `--judge`, instead of their own; absent without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged_on: Option<Measure>,
    /// The file that was judged; absent when the log did not come from a file of this program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<LogSum>,
    /// The figures of the step; with several steps those of the deciding one.
    #[serde(flatten)]
    pub part: StepFigures,
    /// Every step, when the log has more than one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
}

/// One step of a certification.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// 1-based.
    pub number: u32,
    /// Number of planned steps.
    pub of: u32,
    /// `load test, one device` …
    pub title: String,
    /// What this step proves.
    pub verdict: Verdict,
    /// Why.
    pub reason: String,
    /// The slice that decided, where one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deciding: Option<Deciding>,
    /// The load as a multiple of 1x, as text.
    pub load: String,
    /// Its rate, where steps are numbers of threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gain: Option<Gain>,
    /// What a reader should know about this step.
    pub warnings: Vec<String>,
    /// Its figures.
    #[serde(flatten)]
    pub part: StepFigures,
}

/// The figures of one step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepFigures {
    /// True where criteria on times do not apply and only completion does.
    pub stress: bool,
    /// How long it was measured.
    #[serde(flatten)]
    pub time: MeasuredTime,
    /// How its log was written.
    #[serde(flatten)]
    pub history: LogHistory,
    /// The built-in criterion of delivered load first, then the plan's in their order.
    pub criteria: Vec<CriterionOutcome>,
    /// The windows that were judged one by one.
    #[serde(flatten)]
    pub slices: SliceList,
    /// The databases that were the targets, in the order of the targets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub databases: Vec<DatabaseFigures>,
    /// What the streams did.
    #[serde(flatten)]
    pub streams: StreamFigures,
    /// What generated the load.
    #[serde(flatten)]
    pub generator: GeneratorFigures,
    /// What was driven.
    #[serde(flatten)]
    pub targets: TargetFigures,
    /// What happened along the measured time.
    #[serde(flatten)]
    pub course: Course,
    /// The plan as it was run.
    #[serde(flatten)]
    pub plan: PlanAsRun,
    /// What failed, in words: an operation, damaged data, a lost target, a broken condition. A broken bound alone is none. It is of
    /// use to procedures of several runs; the reason of the verdict says the same, so no file has it.
    #[serde(skip)]
    pub failure: Option<String>,
}

impl Judgement {
    /// What failed in any of its steps, in words; see [`StepFigures::failure`].
    pub fn failure_in_words(&self) -> Option<&str> {
        let parts = std::iter::once(&self.part).chain(self.steps.iter().map(|step| &step.part));
        parts.filter_map(|part| part.failure.as_deref()).next()
    }

    /// The step whose figures those of the result are, where there are several: the first of those with the worst
    /// verdict.
    pub(crate) fn shown_step(&self) -> Option<&Step> {
        let worst = self.steps.iter().map(|step| step.verdict).max()?;
        self.steps.iter().find(|step| step.verdict == worst)
    }

    /// Ties it to the bytes of its log. `hash` computes the hexadecimal checksum of some bytes; the caller supplies it,
    /// because this crate does not need one otherwise.
    pub fn seal_with_log(mut self, log: LogSum, hash: impl Fn(&[u8]) -> String) -> Judgement {
        let parts = std::iter::once(&mut self.part).chain(self.steps.iter_mut().map(|step| &mut step.part));
        parts.for_each(|part| part.plan.add_checksum(&hash));
        Judgement { log: Some(log), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The least that a file of an earlier version says of a step, in the order of the format.
    const LEAST: &str = concat!(
        r#"{"stress":true,"planned_ns":3,"measured_ns":2,"slice_ns":1,"criteria":[],"slices":[],"streams":[],"#,
        r#""engine":{"engine":"inline"},"host":{},"targets":[],"gaps":[],"events":[],"events_left_out":4,"#,
        r#""series":{"at_ns":[],"width_ns":[],"threshold":"0s","streams":[]},"plan":{"seed":5}}"#
    );

    #[test]
    fn the_parts_of_a_step_are_members_of_one_object_and_those_of_later_versions_may_be_absent() {
        let step: StepFigures = serde_json::from_str(LEAST).unwrap();
        let expected = StepFigures {
            stress: true,
            time: MeasuredTime { planned_ns: 3, measured_ns: 2, slice_ns: 1, ..MeasuredTime::default() },
            generator: GeneratorFigures {
                engine: [("engine".to_owned(), "inline".to_owned())].into(),
                ..GeneratorFigures::default()
            },
            course: Course { events_left_out: 4, ..Course::default() },
            plan: PlanAsRun { json: serde_json::json!({"seed": 5}), blake3: None },
            ..StepFigures::default()
        };
        assert_eq!(step, expected);
        let later = r#""intervals":{"planned":0,"present":0,"valid":0},"segments":0,"#;
        let written = LEAST.replace(r#""criteria""#, &format!(r#"{later}"criteria""#));
        assert_eq!(serde_json::to_string(&step).unwrap(), written);
        for absent in ["planned_ns", "criteria", "streams", "engine", "targets", "gaps", "plan"] {
            let lacking = LEAST.replace(&format!("\"{absent}\":"), "\"x\":");
            let error = serde_json::from_str::<StepFigures>(&lacking).unwrap_err().to_string();
            assert!(error.contains(&format!("missing field `{absent}`")), "{error}");
        }
    }
}
