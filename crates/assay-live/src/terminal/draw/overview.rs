//! The first tab: what each stream does now, its last ten minutes, and the criteria.

use super::bars::Course;
use super::picture::{Picture, soft_line};
use super::table::{Column, Table};
use crate::terminal::words::{clock_text, count_text, rate_text, share_text, shown_text};
use crate::view::moment::StreamMoment;
use assay_base::text::counted_things;
use assay_base::{Bytes, Span};
use assay_judge::judgement::{CriterionOutcome, Outcome, PerMinuteFigures};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

/// Rows of the two courses at least, and at most for each.
const COURSES: usize = 4;
const TALLEST: usize = 9;
/// The most runs of a procedure that are named.
const RUNS: usize = 4;

/// Draws it. Returns with which criterion the list can begin at the latest.
pub(super) fn draw_overview(frame: &mut Frame<'_>, area: Rect, picture: &Picture<'_>) -> usize {
    let further = further_lines(picture);
    let (streams, criteria) = (streams_table(picture), criteria_table(picture));
    let width = usize::from(area.width);
    // Each table has a head, and a free row stands behind it.
    let room = usize::from(area.height).saturating_sub(further.len() + COURSES + 4);
    let criteria_rows = criteria.row_count().min(room.saturating_sub(streams.row_count().min(room / 2)));
    let stream_rows = streams.row_count().min(room - criteria_rows);
    let courses = (room - criteria_rows - stream_rows + COURSES).min(2 * TALLEST);
    let rows = [stream_rows + 2, courses, criteria_rows + 2, further.len()].map(|rows| Constraint::Length(rows as u16));
    let [streams_area, courses_area, criteria_area, further_area] = Layout::vertical(rows).areas(area);

    // The stream that is shown below is always among those that are listed.
    let first_stream = (picture.screen.stream + 1).saturating_sub(stream_rows);
    let listed = lines_with_rest(streams, width, first_stream, stream_rows, "streams: left and right show them");
    frame.render_widget(Paragraph::new(listed), streams_area);
    draw_courses(frame, courses_area, picture);
    let last_first = criteria.row_count().saturating_sub(criteria_rows);
    let first = picture.screen.first_row.min(last_first);
    let listed = lines_with_rest(criteria, width, first, criteria_rows, "criteria: up and down show them");
    frame.render_widget(Paragraph::new(listed), criteria_area);
    frame.render_widget(Paragraph::new(further), further_area);
    last_first
}

/// Rows of a table; where some are left out, the free row behind it says how many.
fn lines_with_rest(table: Table, width: usize, first: usize, rows: usize, what: &str) -> Vec<Line<'static>> {
    let all = table.row_count();
    if all == 0 {
        return Vec::new();
    }
    let mut lines = table.lines(width, first, rows);
    if rows < all {
        lines.push(soft_line(format!(" … {rows} of {all} {what}")));
    }
    lines
}

/// The same for a terminal with little room: a line for each figure.
pub(super) fn one_column(picture: &Picture<'_>) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if let Some(stream) = chosen_moment(picture) {
        lines.push(Line::from(format!(" {}", picture.stream_in_words())));
        for (name, value) in [
            ("asked", rate_text(stream.asked)),
            ("achieved", rate_text(stream.achieved)),
            ("in flight", count_text(stream.in_flight)),
            ("waiting", count_text(stream.waiting)),
            ("failed", count_text(stream.errors)),
        ] {
            lines.push(Line::from(format!("  {name:10}{value}")));
        }
        if let Some(threshold) = picture.state.shown_threshold() {
            let share = stream.share_over(threshold.index).map_or_else(|| "-".to_owned(), share_text);
            lines.push(Line::from(format!("  over {}: {share}", threshold.span)));
        }
    }
    for criterion in criteria_of(picture) {
        let state = state_of_criterion(picture, criterion);
        lines.push(Line::from(format!(" {}: {}", state.word, shown_text(&criterion.asked.criterion))));
    }
    lines.extend(further_lines(picture));
    lines
}

/// The newest figures of the stream that is shown.
fn chosen_moment<'a>(picture: &'a Picture<'_>) -> Option<&'a StreamMoment> {
    picture.state.newest_moment()?.streams.get(picture.screen.stream)
}

fn streams_table(picture: &Picture<'_>) -> Table {
    let (Some(head), Some(moment)) = (&picture.state.head, picture.state.newest_moment()) else {
        return Table::of_columns(Vec::new());
    };
    let streams = &moment.streams;
    let figures = |title: &str, rank: u8, figure: fn(&StreamMoment) -> String| {
        Column::of_figures(title, rank, streams.iter().map(figure).collect())
    };
    let names = (0..streams.len()).map(|at| shown_text(head.stream_name(at))).collect();
    let mut columns = vec![
        Column::of_texts("stream", 0, names),
        figures("asked", 1, |stream| if stream.asked > 0.0 { rate_text(stream.asked) } else { "-".to_owned() }),
        figures("achieved", 1, |stream| rate_text(stream.achieved)),
        figures("moved", 6, |stream| format!("{}/s", Bytes::new(stream.bytes_per_second as u64).human_text())),
        figures("in flight", 3, |stream| count_text(stream.in_flight)),
        figures("waiting", 4, |stream| count_text(stream.waiting)),
        figures("failed", 2, |stream| count_text(stream.errors)),
    ];
    if let Some(threshold) = picture.state.shown_threshold() {
        let shares = streams.iter().map(|stream| stream.share_over(threshold.index));
        let shares = shares.map(|share| share.map_or_else(|| "-".to_owned(), share_text)).collect();
        columns.push(Column::of_figures(&format!("over {}", threshold.span), 2, shares));
    }
    columns.push(figures("largest", 5, |stream| Span::from_ns(stream.response_max_ns).human_text()));
    columns.push(figures("own lag", 5, |stream| Span::from_ns(stream.own_lag_max_ns).human_text()));
    let mut table = Table::of_columns(columns);
    table.marked = (streams.len() > 1).then_some(picture.screen.stream);
    table
}

/// The last ten minutes of the stream that is shown: what it achieved, and its share over the threshold.
fn draw_courses(frame: &mut Frame<'_>, area: Rect, picture: &Picture<'_>) {
    let recent = &picture.state.recent;
    let span_ns = match (recent.front(), recent.back()) {
        (Some(oldest), Some(newest)) => newest.at_ns.saturating_sub(oldest.at_ns).saturating_add(oldest.length_ns),
        _ => return,
    };
    let name = picture.stream_in_words();
    let since = format!("last {}", Span::from_secs(span_ns / 1_000_000_000).human_text());
    let streams = || recent.iter().map(|moment| moment.streams.get(picture.screen.stream));
    let achieved = Course {
        title: format!("achieved by {name}, {since}"),
        values: streams().map(|stream| stream.map(|stream| stream.achieved)).collect(),
        shown: rate_text,
    };
    let halves = [Constraint::Fill(1), Constraint::Fill(1)];
    let [upper, lower] = Layout::vertical(halves).areas(area);
    achieved.draw(frame, upper);
    if let Some(threshold) = picture.state.shown_threshold() {
        let share = Course {
            title: format!("share over {} of {name}, {since}", threshold.span),
            values: streams().map(|stream| stream.and_then(|stream| stream.share_over(threshold.index))).collect(),
            shown: share_text,
        };
        share.draw(frame, lower);
    }
}

fn criteria_of<'a>(picture: &'a Picture<'_>) -> &'a [CriterionOutcome] {
    picture.state.judged.as_ref().map_or(&[], |judged| &judged.part.criteria)
}

/// How a criterion stands, in words, and the class of its colour.
struct CriterionState {
    word: &'static str,
    class: &'static str,
}

/// Before the end nobody knows that a bound is kept: none was broken so far.
fn state_of_criterion(picture: &Picture<'_>, criterion: &CriterionOutcome) -> CriterionState {
    let ended = picture.state.standing_in_words().ended;
    let (word, class) = match criterion.outcome {
        Outcome::Fail => ("BROKEN", "fail"),
        Outcome::NotApplied => ("not judged", "incomplete"),
        Outcome::Pass if ended => ("kept", "pass"),
        Outcome::Invalid if ended => ("unproven", "invalid"),
        Outcome::Incomplete if ended => ("not complete", "incomplete"),
        _ if criterion.broken > 0 => ("BROKEN", "fail"),
        _ => ("not broken so far", "incomplete"),
    };
    CriterionState { word, class }
}

fn criteria_table(picture: &Picture<'_>) -> Table {
    let criteria = criteria_of(picture);
    let states: Vec<CriterionState> = criteria.iter().map(|criterion| state_of_criterion(picture, criterion)).collect();
    let cells = |cell: fn(&CriterionOutcome) -> String| criteria.iter().map(cell).collect();
    let worst = |criterion: &CriterionOutcome| {
        let figure = criterion.worst.as_ref().or(criterion.measured.as_ref());
        figure.map_or_else(|| "-".to_owned(), |figure| shown_text(&figure.text))
    };
    let mut table = Table::of_columns(vec![
        Column::of_texts("criterion", 0, cells(|criterion| shown_text(&criterion.asked.title))),
        Column::of_figures("bound", 2, cells(|criterion| shown_text(&criterion.asked.bound))),
        Column::of_figures("worst", 2, cells(worst)),
        Column::of_figures("windows", 4, cells(|criterion| count_text(criterion.windows))),
        Column::of_figures("broken", 3, cells(|criterion| count_text(criterion.broken))),
        Column::of_texts("state", 1, states.iter().map(|state| state.word.to_owned()).collect()),
    ]);
    table.styles = states.iter().map(|state| picture.style_of_class(state.class)).collect();
    table
}

/// What there is besides: figures of databases, others on the disks, the runs of a procedure.
fn further_lines(picture: &Picture<'_>) -> Vec<Line<'static>> {
    let state = picture.state;
    let mut lines = Vec::new();
    if let Some(judged) = &state.judged {
        let figures: Vec<String> = judged.part.streams.per_minute.iter().map(PerMinuteFigures::in_words).collect();
        if !figures.is_empty() {
            let until = clock_text(judged.part.time.measured_ns);
            lines.push(Line::from(format!(" {} a minute, over {until}", shown_text(&figures.join(", ")))));
        }
        if !judged.warnings.is_empty() {
            lines.push(Line::from(format!(" {}: tab 5", counted_things(judged.warnings.len() as u64, "warning"))));
        }
    }
    if let Some(share) = state.newest_moment().and_then(|moment| moment.foreign).filter(|share| *share > 0.0) {
        lines.push(Line::from(format!(" share of others on a disk of the run: {}", share_text(share))));
    }
    if state.runs.len() > 1 {
        let before = state.runs.len().saturating_sub(RUNS);
        let mut words: Vec<String> = Vec::new();
        for run in &state.runs[before..] {
            let verdict = run.verdict.map_or_else(|| "running".to_owned(), |verdict| verdict.to_string());
            words.push(format!("{} {verdict}", shown_text(&run.name)));
        }
        let more = if before > 0 { format!(" ({before} before them)") } else { String::new() };
        lines.push(Line::from(format!(" runs{more}: {}", words.join(", "))));
    }
    lines
}
