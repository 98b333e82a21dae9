//! One run, or one step of a certificate, as the page shows it: its heading, and one view for each group of sections.

use super::badge::Badge;
use super::course::CourseView;
use super::criteria::CriteriaView;
use super::database::DatabaseView;
use super::figures::{ABSENT, count_text, megabytes_text};
use super::headline::iops_text;
use super::proof::ProofView;
use super::slices::SlicesView;
use super::streams::StreamsView;
use super::targets::BesideView;
use super::tested::TestedView;
use crate::judgement::{Step, StepFigures};
use crate::render::shown;
use crate::words::clock_text;
use crate::{Judgement, Verdict};

/// The data for `templates/part.html`.
pub(crate) struct PartView<'a> {
    /// The anchor of this part.
    pub id: String,
    /// Index into the JSON's `steps`; -1 for the result itself.
    pub step: i64,
    /// Set where there are several steps.
    pub head: Option<Head<'a>>,
    pub figures: &'a StepFigures,
    pub criteria: CriteriaView<'a>,
    pub streams: StreamsView<'a>,
    pub database: DatabaseView<'a>,
    pub course: CourseView<'a>,
    pub slices: SlicesView<'a>,
    pub beside: BesideView<'a>,
    pub proof: ProofView<'a>,
    pub tested: TestedView<'a>,
}

/// The heading of a step.
pub(crate) struct Head<'a> {
    pub number: u32,
    pub of: u32,
    pub title: &'a str,
    pub load: &'a str,
    pub gain: Option<String>,
    pub figures: StepCells,
    pub place: StepPlace,
    pub reason: &'a str,
    pub badge: Badge,
}

/// The figures of a step in the table of steps.
pub(crate) struct StepCells {
    /// How long it was measured.
    pub measured: String,
    /// Operations and megabytes per second of all its streams together.
    pub operations: String,
    pub megabytes: String,
    /// Items that its streams listed or counted.
    pub items: String,
    /// Mean and p99 response of its first streams, and how many more there are.
    pub responses: Vec<String>,
    /// See `responses`.
    pub more_responses: usize,
}

/// How many responses the table of steps has of each: all stand with the step.
const STEP_RESPONSES: usize = 3;

/// Where a step lies among all: they follow each other.
pub(crate) struct StepPlace {
    /// In units of its drawing.
    pub from: String,
    pub width: String,
    pub words: String,
}

/// The width of that drawing.
const MAP_WIDTH: f64 = 200.0;

impl StepPlace {
    /// The place of a step that began when `before_ns` of `all_ns` were measured.
    fn new(before_ns: u64, own_ns: u64, all_ns: u64) -> StepPlace {
        let all = all_ns.max(1) as f64;
        let width = (own_ns as f64 / all * MAP_WIDTH).max(1.5);
        let from = (before_ns as f64 / all * MAP_WIDTH).min(MAP_WIDTH - width);
        let words =
            format!("measured from {} to {}", clock_text(before_ns), clock_text(before_ns.saturating_add(own_ns)));
        StepPlace { from: format!("{from:.1}"), width: format!("{width:.1}"), words }
    }
}

impl StepCells {
    fn new(part: &StepFigures) -> StepCells {
        let (operations, bytes) = part.streams.total_throughput().unzip();
        let responses: Vec<String> = part.streams.streams_over_all_targets().filter_map(shown::response_text).collect();
        StepCells {
            measured: clock_text(part.time.measured_ns),
            operations: operations.map_or_else(|| ABSENT.to_owned(), iops_text),
            megabytes: bytes.filter(|_| part.streams.moves_bytes()).map_or_else(|| ABSENT.to_owned(), megabytes_text),
            items: items_text(part.streams.listed_items()),
            more_responses: responses.len().saturating_sub(STEP_RESPONSES),
            responses: responses.into_iter().take(STEP_RESPONSES).collect(),
        }
    }
}

/// For how long steps were measured together.
fn measured_ns(steps: &[Step]) -> u64 {
    steps.iter().fold(0, |sum, step| sum.saturating_add(step.part.time.measured_ns))
}

fn items_text(items: u64) -> String {
    if items > 0 { count_text(items) } else { ABSENT.to_owned() }
}

impl<'a> PartView<'a> {
    /// The result of a log without steps.
    pub(crate) fn from_judgement(judgement: &'a Judgement) -> PartView<'a> {
        let decided = judgement.deciding.is_some() && judgement.verdict != Verdict::Pass;
        PartView::new(&judgement.part, -1, None, &judgement.warnings, decided)
    }

    /// Step `index` of a certificate.
    pub(crate) fn from_step(judgement: &'a Judgement, index: usize) -> PartView<'a> {
        let step = &judgement.steps[index];
        let (before, own) = (measured_ns(&judgement.steps[..index]), step.part.time.measured_ns);
        let head = Head {
            number: step.number,
            of: step.of,
            title: &step.title,
            load: &step.load,
            gain: step.gain.map(|gain| gain.in_words()),
            figures: StepCells::new(&step.part),
            place: StepPlace::new(before, own, measured_ns(&judgement.steps)),
            reason: &step.reason,
            badge: Badge::for_verdict(step.verdict),
        };
        let here = judgement.deciding.as_ref().is_some_and(|deciding| deciding.step == step.number);
        let decided = here && judgement.verdict != Verdict::Pass;
        let index = i64::try_from(index).unwrap_or(i64::MAX);
        PartView::new(&step.part, index, Some(head), &step.warnings, decided)
    }

    fn new(
        figures: &'a StepFigures,
        step: i64,
        head: Option<Head<'a>>,
        warnings: &'a [String],
        decided: bool,
    ) -> PartView<'a> {
        let root = if step < 0 { String::new() } else { format!("/steps/{step}") };
        PartView {
            id: head.as_ref().map_or("result".to_owned(), |head| format!("step-{}", head.number)),
            step,
            head,
            figures,
            criteria: CriteriaView::new(figures, &root),
            streams: StreamsView::new(figures, &root),
            database: DatabaseView::new(figures),
            course: CourseView::new(figures, &root, decided),
            slices: SlicesView::new(figures, &root),
            beside: BesideView::new(figures, &root),
            proof: ProofView::new(figures, warnings),
            tested: TestedView::new(figures, &root),
        }
    }

    /// True when the data of the charts are present.
    pub(crate) fn has_series(&self) -> bool {
        !self.figures.course.series.at_ns.is_empty()
    }

    /// The sections of `templates/part.html` for it, each with the last part of its anchor, in order.
    pub(crate) fn contents(&self) -> Vec<(&'static str, &'static str)> {
        let all = [
            (true, ("criteria", "Criteria")),
            (!self.course.marked.parts.is_empty(), ("parts", "Before, during, after")),
            (true, ("streams", "Streams")),
            (self.database.is_there(), ("database", "Database")),
            (!self.streams.phases.is_empty(), ("phases", "Phases")),
            (self.has_series(), ("time", "Over time")),
            (self.course.beneath.is_some(), ("beneath", "Beneath")),
            (!self.course.steadiness.is_empty(), ("steady", "Was it steady?")),
            (!self.figures.slices.listed.is_empty(), ("slices", "Slices")),
            (!self.beside.tables.is_empty(), ("beside", "Targets side by side")),
            (!self.beside.ranks.rows.is_empty(), ("ranks", "Ranks side by side")),
            (true, ("proof", "Can it be believed?")),
            (true, ("tested", "What was tested")),
            (self.tested.plan.is_some(), ("plan", "The plan")),
        ];
        all.into_iter().filter(|(there, _)| *there).map(|(_, section)| section).collect()
    }
}
