//! The section on the criteria: what was measured of each, and its bound.

use crate::judgement::{CriterionOutcome, Figure, MeasuredTime, Outcome, StepFigures};
use crate::words::clock_text;
use assay_base::Span;

/// The table of criteria, and the time over which they were judged.
pub(crate) struct CriteriaView<'a> {
    pub rows: Vec<CriterionRow<'a>>,
    pub planned: String,
    pub measured: String,
    pub slice: String,
    /// Criteria on times do not apply.
    pub stress: bool,
}

/// A row of the criteria table.
pub(crate) struct CriterionRow<'a> {
    pub class: &'static str,
    pub sign: &'static str,
    pub word: &'static str,
    pub outcome: &'a CriterionOutcome,
    pub measured: Option<FigureView<'a>>,
    pub worst: Option<FigureView<'a>>,
}

/// A measured value with its place in time and in the JSON.
pub(crate) struct FigureView<'a> {
    pub figure: &'a Figure,
    pub json: String,
    pub place: String,
}

impl<'a> CriteriaView<'a> {
    pub(crate) fn new(part: &'a StepFigures, root: &str) -> CriteriaView<'a> {
        let MeasuredTime { planned_ns, measured_ns, slice_ns, .. } = part.time;
        CriteriaView {
            rows: criterion_rows(&part.criteria, root),
            planned: Span::from_ns(planned_ns).to_string(),
            measured: clock_text(measured_ns),
            slice: Span::from_ns(slice_ns).to_string(),
            stress: part.stress,
        }
    }
}

fn criterion_rows<'a>(criteria: &'a [CriterionOutcome], root: &str) -> Vec<CriterionRow<'a>> {
    criteria.iter().enumerate().map(|(index, outcome)| row_of(index, outcome, root)).collect()
}

/// An outcome as a colour, a sign and a word.
#[derive(Clone, Copy)]
pub(crate) struct OutcomeState {
    pub class: &'static str,
    pub sign: &'static str,
    pub word: &'static str,
}

impl OutcomeState {
    pub(crate) fn new(outcome: Outcome) -> OutcomeState {
        let (class, sign, word) = match outcome {
            Outcome::Pass => ("pass", "✓", "held"),
            Outcome::Fail => ("fail", "✗", "broken"),
            Outcome::Invalid => ("invalid", "⚠", "proves nothing"),
            Outcome::Incomplete => ("incomplete", "◌", "incomplete"),
            Outcome::NotApplied => ("incomplete", "–", "not applied"),
        };
        OutcomeState { class, sign, word }
    }
}

/// The row of one criterion.
fn row_of<'a>(index: usize, outcome: &'a CriterionOutcome, root: &str) -> CriterionRow<'a> {
    let OutcomeState { class, sign, word } = OutcomeState::new(outcome.outcome);
    let (measured, worst) =
        (figure_view(&outcome.measured, index, "measured", root), figure_view(&outcome.worst, index, "worst", root));
    CriterionRow { class, sign, word, outcome, measured, worst }
}

/// A figure with its place, and its path in the result.
fn figure_view<'a>(figure: &'a Option<Figure>, index: usize, name: &str, root: &str) -> Option<FigureView<'a>> {
    let json = format!("{root}/criteria/{index}/{name}/value");
    figure.as_ref().map(|figure| FigureView { place: place_of_figure(figure), figure, json })
}

fn place_of_figure(figure: &Figure) -> String {
    let target = figure.target.as_ref().map(|target| format!(", {target}")).unwrap_or_default();
    format!("slice {} ({} to {}){target}", figure.window, clock_text(figure.start_ns), clock_text(figure.end_ns))
}
