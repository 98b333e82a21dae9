//! The result of judging one log: the whole, each step of a certification, and the figures of a step.

use crate::judgement::cache::CacheFigures;
use crate::judgement::conditions::{Clocks, Gap, GeneratorCost, Intervals};
use crate::judgement::criteria::{CriterionOutcome, Deciding};
use crate::judgement::database::{DatabaseFigures, PerMinuteFigures};
use crate::judgement::gain::Gain;
use crate::judgement::log::{Damaged, LogSum};
use crate::judgement::meters::MeterFigures;
use crate::judgement::phases::PhaseFigures;
use crate::judgement::series::{Series, Steadiness};
use crate::judgement::streams::{Slice, StreamTotals};
use crate::judgement::targets::{Integrity, TargetTotals};
use crate::verdict::Verdict;
use assay_base::Measure;
use assay_record::{CloseReason, Event};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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
    /// Planned length of the measured phase.
    pub planned_ns: u64,
    /// The part of it that the log contains, without gaps.
    pub measured_ns: u64,
    /// Length of a slice.
    pub slice_ns: u64,
    /// How many intervals there should be, and how many there are.
    #[serde(default)]
    pub intervals: Intervals,
    /// Segments of the log: 1, and one more for each continuation.
    #[serde(default)]
    pub segments: u64,
    /// The machine's clocks at both ends and what happened to them; absent where no clock was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clocks: Option<Clocks>,
    /// Id of the key that signs the result; absent where no key does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signer: Option<String>,
    /// How the last segment ended; absent when it was cut off without a closing line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed: Option<CloseReason>,
    /// Places where the log contradicts itself: intervals that do not add up, overlap or disagree with the closing line.
    #[serde(default, skip_serializing_if = "crate::judgement::skip::is_zero")]
    pub contradictions: u64,
    /// How often a change of the machine was found: it slept, or its clock source or the queue of a target changed.
    #[serde(default, skip_serializing_if = "crate::judgement::skip::is_zero")]
    pub environment_changes: u64,
    /// The built-in criterion of delivered load first, then the plan's in their order.
    pub criteria: Vec<CriterionOutcome>,
    /// In order of time; the first 2000, and after them only those in which something was broken.
    pub slices: Vec<Slice>,
    /// Number of slices that are not listed.
    #[serde(default, skip_serializing_if = "crate::judgement::skip::is_zero")]
    pub slices_left_out: u64,
    /// The databases that were the targets, in the order of the targets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub databases: Vec<DatabaseFigures>,
    /// Figures per minute, where the log names some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub per_minute: Vec<PerMinuteFigures>,
    /// One entry for each stream on each target, and one over all targets together (`target` absent) where there are several.
    pub streams: Vec<StreamTotals>,
    /// The operations of all streams together, where a criterion is about them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub together: Option<StreamTotals>,
    /// Each measured phase, where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseFigures>,
    /// The generator's own cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator: Option<GeneratorCost>,
    /// How the operations were carried: engine, workers, in-flight bound, clock.
    pub engine: BTreeMap<String, String>,
    /// The machine.
    pub host: BTreeMap<String, String>,
    /// The targets that were driven.
    pub targets: Vec<TargetTotals>,
    /// What a look-aside cache before the targets did; absent where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheFigures>,
    /// What else was counted while the load ran, such as by the disk below a file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub meters: Vec<MeterFigures>,
    /// What was read, compared with what was written; absent where the plan does not verify.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub integrity: Option<Integrity>,
    /// Interruptions after which the run continued.
    pub gaps: Vec<Gap>,
    /// Events at a moment; the first 1000.
    pub events: Vec<Event>,
    /// Number of further events.
    pub events_left_out: u64,
    /// Whether it was steady and where its level changed, for each stream over all targets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steadiness: Vec<Steadiness>,
    /// Data of the charts.
    pub series: Series,
    /// The plan as it was run.
    pub plan: serde_json::Value,
    /// BLAKE3 of the plan as compact JSON, in hexadecimal: equal plans have equal checksums.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_blake3: Option<String>,
}

impl Judgement {
    /// Ties it to the bytes of its log. `hash` computes the hexadecimal checksum of some bytes; the caller supplies it,
    /// because this crate does not need one otherwise.
    pub fn sealed(mut self, log: LogSum, hash: impl Fn(&[u8]) -> String) -> Judgement {
        let parts = std::iter::once(&mut self.part).chain(self.steps.iter_mut().map(|step| &mut step.part));
        for part in parts {
            part.plan_blake3 = serde_json::to_vec(&part.plan).ok().map(|plan| hash(&plan));
        }
        Judgement { log: Some(log), ..self }
    }
}
