//! The cells of a figure on a page: a value of each run, and how it compares with the first one.

use super::bootstrap::Answer;
use super::render::{answer_text, value_text};
use super::rows::Figure;

/// One cell.
pub(crate) struct FigureCell {
    pub(crate) value: String,
    pub(crate) against_first: Option<String>,
    pub(crate) differs: bool,
}

impl FigureCell {
    /// Those of a figure, in the order of the runs.
    pub(crate) fn cells_of_figure(figure: &Figure) -> Vec<FigureCell> {
        let answers = std::iter::once(None).chain(figure.against_first.iter().map(Some));
        let mut cells = Vec::new();
        for (value, answer) in figure.values.iter().zip(answers) {
            cells.push(FigureCell {
                value: value_text(figure, *value),
                against_first: answer.map(|answer| answer_text(figure, answer)),
                differs: matches!(answer, Some(Answer::Differs { .. } | Answer::Worse | Answer::Better)),
            });
        }
        cells
    }
}
