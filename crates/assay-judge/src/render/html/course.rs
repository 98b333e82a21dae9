//! The sections on the course of the run: charts over time, what was counted beneath, and whether it was steady.

use super::beneath::{self, Beneath};
use super::charts::{self, StreamCharts};
use super::kinds::KindsView;
use super::marked::MarkedView;
use crate::judgement::{Steadiness, StepFigures};
use crate::words::{change_sentence, clock_text, level_text};
use assay_base::Span;

/// What is shown along the measured time.
pub(crate) struct CourseView<'a> {
    /// The parts into which marks divide it.
    pub marked: MarkedView<'a>,
    pub kinds: KindsView<'a>,
    pub charts: Vec<StreamCharts<'a>>,
    /// The verdict was decided in this part, and the charts shade the deciding window.
    pub decided: bool,
    pub beneath: Option<Beneath>,
    pub steadiness: Vec<SteadyRow<'a>>,
}

/// Whether a stream was steady, and how its level changed.
pub(crate) struct SteadyRow<'a> {
    pub it: &'a Steadiness,
    pub round: String,
    pub from: String,
    pub last: Option<LastRounds>,
    pub changes: Vec<String>,
}

/// The last five rounds.
pub(crate) struct LastRounds {
    pub steady: bool,
    pub average: String,
    pub excursion: String,
    pub slope: String,
}

impl<'a> CourseView<'a> {
    pub(crate) fn new(part: &'a StepFigures, root: &str, decided: bool) -> CourseView<'a> {
        CourseView {
            marked: MarkedView::new(part, root),
            kinds: KindsView::new(part, root),
            charts: charts::all_charts(part),
            decided,
            beneath: beneath::view_beneath(part, root),
            steadiness: part.course.steadiness.iter().map(SteadyRow::new).collect(),
        }
    }
}

impl SteadyRow<'_> {
    fn new(it: &Steadiness) -> SteadyRow<'_> {
        SteadyRow {
            round: Span::from_ns(it.round_ns).human_text(),
            from: it.steady_from_ns.map_or("never".to_owned(), clock_text),
            last: it.last.as_ref().map(|last| LastRounds {
                steady: last.steady,
                average: level_text(it, last.average),
                excursion: format!("{:.1}%", last.excursion * 100.0),
                slope: format!("{:+.1}%", last.slope * 100.0),
            }),
            changes: it
                .changes
                .iter()
                .map(|at| format!("{}: {}", clock_text(at.at_ns), change_sentence(it, at)))
                .collect(),
            it,
        }
    }
}
