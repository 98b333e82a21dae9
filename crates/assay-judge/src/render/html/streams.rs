//! The sections on the streams: what each was asked for and what it did, over all measured time and in each phase.

use super::figures::Cell;
use crate::judgement::{PhaseFigures, PhaseStream, StepFigures, StreamFigures, StreamTotals, TimesSummary};
use crate::render::shown::running_time_text;
use assay_base::Span;

/// The tables of streams and of phases.
pub(crate) struct StreamsView<'a> {
    pub rows: Vec<StreamRow<'a>>,
    pub phases: Vec<PhaseRow<'a>>,
    /// Whether some stream lists or counts items.
    pub has_items: bool,
    /// The streams of which nothing was due, in words: they have no row.
    pub unused: Option<String>,
}

/// A row of the table of streams.
pub(crate) struct StreamRow<'a> {
    pub totals: &'a StreamTotals,
    /// For how much of the measured time it ran, where that is not all of it.
    pub ran: Option<String>,
    pub asked: Cell,
    pub counts: Vec<Cell>,
    pub response: Vec<Cell>,
    pub service: Vec<Cell>,
}

/// A row of the table of phases: one stream in one phase.
pub(crate) struct PhaseRow<'a> {
    pub name: &'a str,
    pub measured: String,
    pub within: String,
    pub stream: &'a str,
    pub cells: Vec<Cell>,
}

impl<'a> StreamsView<'a> {
    pub(crate) fn new(part: &'a StepFigures, root: &str) -> StreamsView<'a> {
        let several = part.targets.each.len() > 1;
        let has_items = part.streams.listed_items() > 0;
        let rows = stream_rows(part, several, has_items, root);
        StreamsView { rows, phases: phase_rows(&part.streams, root), has_items, unused: unused_in_words(part, several) }
    }
}

/// With several targets only the sums; each single target is in a table of its own.
fn stream_rows<'a>(part: &'a StepFigures, several: bool, has_items: bool, root: &str) -> Vec<StreamRow<'a>> {
    let streams = &part.streams;
    let each = streams.each.iter().enumerate().filter(|(_, totals)| !several || totals.target.is_none());
    let each = each.filter(|(_, totals)| !is_unused(totals));
    let together = streams.together.iter().map(|totals| ("together".to_owned(), totals));
    let groups = streams.groups_beside_all().map(|(index, totals)| (format!("groups/{index}"), totals));
    together
        .chain(groups)
        .chain(each.map(|(index, totals)| (format!("streams/{index}"), totals)))
        .map(|(place, totals)| stream_row(place, totals, part, has_items, root))
        .collect()
}

/// Whether nothing was due of a stream that has no rate: a server does many things only now and then.
fn is_unused(totals: &StreamTotals) -> bool {
    let counts = &totals.counts;
    let did = [counts.scheduled, counts.issued, counts.operations, counts.short, counts.failed_operations()];
    totals.rate_asked.is_none() && did.iter().all(|count| *count == 0)
}

fn unused_in_words(part: &StepFigures, several: bool) -> Option<String> {
    let unused = part.streams.each.iter().filter(|totals| (!several || totals.target.is_none()) && is_unused(totals));
    let names: Vec<&str> = unused.map(|totals| totals.name.as_str()).collect();
    let streams = if names.len() == 1 { "stream" } else { "streams" };
    (!names.is_empty()).then(|| format!("{} {streams} had no operation: {}", names.len(), names.join(", ")))
}

/// The row of one stream.
fn stream_row<'a>(
    place: String,
    totals: &'a StreamTotals,
    part: &StepFigures,
    has_items: bool,
    root: &str,
) -> StreamRow<'a> {
    let path = format!("{root}/{place}");
    let mut cells = count_cells(totals, part, &path);
    if has_items {
        cells.insert(ITEMS_BEHIND, items_cell(totals, &path));
    }
    StreamRow {
        totals,
        ran: running_time_text(part, totals),
        asked: Cell::from_rate(totals.rate_asked, format!("{path}/rate_asked")),
        counts: cells,
        response: time_cells("response", &totals.response, &path),
        service: time_cells("service", &totals.service, &path),
    }
}

/// What a stream listed, which is at this path in the result.
pub(crate) fn items_cell(totals: &StreamTotals, path: &str) -> Cell {
    match totals.counts.items {
        0 => Cell::absent(),
        items => Cell::from_count(items, format!("{path}/items")),
    }
}

/// The cells of items stand behind those of the rate, the operations and the bytes.
const ITEMS_BEHIND: usize = 3;

/// What a stream did, as counts.
fn count_cells(totals: &StreamTotals, part: &StepFigures, path: &str) -> Vec<Cell> {
    let counts = &totals.counts;
    vec![
        Cell::from_rate(totals.rate_achieved, format!("{path}/rate_achieved")),
        Cell::from_count(counts.operations, format!("{path}/operations")),
        if counts.bytes == 0 && (totals.size.is_empty() || part.lacks_bytes()) {
            Cell::absent()
        } else {
            Cell::from_bytes(counts.bytes, format!("{path}/bytes"))
        },
        Cell::from_count(counts.failed_operations().saturating_add(counts.short), String::new())
            .marked_if(counts.failed_operations() > 0),
        if !part.lacks_in_flight() {
            Cell::from_count(totals.in_flight_max, format!("{path}/in_flight_max"))
        } else {
            Cell::absent()
        },
        Cell::from_count(totals.waiting_max, format!("{path}/waiting_max")),
    ]
}

/// The times of one measure, which are at this path in the result.
fn time_cells(name: &str, times: &TimesSummary, path: &str) -> Vec<Cell> {
    let figures = [
        ("mean_ns", times.mean_ns),
        ("p50_ns", times.p50_ns),
        ("p90_ns", times.p90_ns),
        ("p99_ns", times.p99_ns),
        ("p99_9_ns", times.p99_9_ns),
        ("p99_99_ns", times.p99_99_ns),
        ("max_ns", times.max_ns),
    ];
    figures.map(|(field, ns)| Cell::from_time(ns, format!("{path}/{name}/{field}"))).to_vec()
}

fn phase_rows<'a>(streams: &'a StreamFigures, root: &str) -> Vec<PhaseRow<'a>> {
    let mut rows = Vec::new();
    for (index, phase) in streams.phases.iter().enumerate() {
        for (at, stream) in phase.streams.iter().enumerate() {
            if stream.response.operations > 0 || stream.failed > 0 {
                rows.push(phase_row(phase, stream, &format!("{root}/phases/{index}/streams/{at}")));
            }
        }
    }
    rows
}

/// The row of a stream in a phase.
fn phase_row<'a>(phase: &'a PhaseFigures, stream: &'a PhaseStream, path: &str) -> PhaseRow<'a> {
    let times = &stream.response;
    let figures = [
        ("mean_ns", times.mean_ns),
        ("p50_ns", times.p50_ns),
        ("p90_ns", times.p90_ns),
        ("p99_ns", times.p99_ns),
        ("p99_9_ns", times.p99_9_ns),
        ("max_ns", times.max_ns),
    ];
    let times = figures.map(|(field, ns)| Cell::from_time(ns, format!("{path}/response/{field}")));
    let rate = Cell::from_rate(stream.rate_achieved, format!("{path}/rate_achieved"));
    let failed = Cell::from_count(stream.failed, format!("{path}/failed")).marked_if(stream.failed > 0);
    PhaseRow {
        name: &phase.name,
        measured: Span::from_ns(phase.measured_ns).human_text(),
        within: format!("{} of {}", phase.slices_within, phase.slices),
        stream: &stream.name,
        cells: [rate, failed].into_iter().chain(times).collect(),
    }
}
