//! The section on the parts into which marks divide a run.

use super::criteria::OutcomeState;
use super::figures::Cell;
use crate::judgement::{PartFigures, PartStream, StepFigures};
use crate::render::marked::found_in_words;
use crate::words::{clock_text, human_time};

/// The tables of the section.
pub(crate) struct MarkedView<'a> {
    pub parts: Vec<PartRow<'a>>,
    pub streams: Vec<PartStreamRow<'a>>,
    /// What each recovery took, in words.
    pub recoveries: Vec<String>,
}

/// A part.
pub(crate) struct PartRow<'a> {
    pub number: usize,
    pub kind: String,
    pub text: &'a str,
    pub from: String,
    pub measured: Cell,
    pub state: Option<OutcomeState>,
    pub found: String,
}

/// A stream in a part.
pub(crate) struct PartStreamRow<'a> {
    pub number: usize,
    pub kind: String,
    pub stream: &'a str,
    pub cells: Vec<Cell>,
}

impl<'a> MarkedView<'a> {
    pub(crate) fn new(part: &'a StepFigures, root: &str) -> MarkedView<'a> {
        let parts = &part.course.parts;
        let numbered = || parts.iter().enumerate();
        let recovered = numbered().filter_map(|(at, part)| Some((at + 1, part, part.recovery.as_ref()?)));
        MarkedView {
            parts: numbered().map(|(at, part)| part_row(at, part, root)).collect(),
            streams: numbered().flat_map(|(at, part)| stream_rows(at, part, root)).collect(),
            recoveries: recovered
                .map(|(number, part, recovery)| {
                    format!("Recovery in {}: {}.", part.part_in_words(number), recovery.in_words())
                })
                .collect(),
        }
    }
}

fn part_row<'a>(at: usize, part: &'a PartFigures, root: &str) -> PartRow<'a> {
    PartRow {
        number: at + 1,
        kind: part.kind.to_string(),
        text: &part.text,
        from: clock_text(part.start_ns),
        measured: Cell::from_time(Some(part.measured_ns), format!("{root}/parts/{at}/measured_ns")),
        state: part.outcome.map(OutcomeState::new),
        found: found_in_words(part),
    }
}

fn stream_rows<'a>(at: usize, part: &'a PartFigures, root: &str) -> Vec<PartStreamRow<'a>> {
    let there = part.streams.iter().enumerate().filter(|(_, stream)| stream.operations > 0 || stream.failed > 0);
    there
        .map(|(index, stream)| PartStreamRow {
            number: at + 1,
            kind: part.kind.to_string(),
            stream: &stream.name,
            cells: stream_cells(stream, &format!("{root}/parts/{at}/streams/{index}")),
        })
        .collect()
}

fn stream_cells(stream: &PartStream, path: &str) -> Vec<Cell> {
    vec![
        Cell::from_rate(stream.rate_achieved, format!("{path}/rate_achieved")),
        Cell::from_count(stream.operations, format!("{path}/operations")),
        Cell::from_count(stream.failed, String::new()).marked_if(stream.failed > 0),
        Cell::from_time(stream.response.mean_ns, format!("{path}/response/mean_ns")),
        Cell::from_figure(stream.response_p99_below_ns.map_or_else(|| "–".to_owned(), human_time)),
        Cell::from_time(stream.response.max_ns, format!("{path}/response/max_ns")),
    ]
}
