//! The second tab: how long the operations of a stream took, over the whole step and along its time.

use super::bars::Course;
use super::picture::{Picture, soft_line, title_line};
use super::table::{Column, Table};
use crate::terminal::words::{clock_text, count_text, share_text};
use assay_base::Span;
use assay_judge::judgement::{Bands, StreamTotals, TimesSummary};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

/// Draws it. It is no list.
pub(super) fn draw_times(frame: &mut Frame<'_>, area: Rect, picture: &Picture<'_>) -> usize {
    let mut lines = vec![title_line(&format!("{} over the step so far", picture.stream_in_words()))];
    let stream = chosen_totals(picture);
    if let Some(stream) = stream {
        lines.extend(times_table(stream).lines(usize::from(area.width), 0, 3));
        lines.push(shares_line(stream));
    } else {
        lines.push(soft_line(" distributions come about every ten seconds".to_owned()));
    }
    lines.push(Line::default());
    let rows = [lines.len() as u16, 0, 0, 0, 1];
    let [text, p50, p99, p99_9, axis] = Layout::vertical([
        Constraint::Length(rows[0]),
        Constraint::Fill(1),
        Constraint::Fill(1),
        Constraint::Fill(1),
        Constraint::Length(rows[4]),
    ])
    .areas(area);
    frame.render_widget(Paragraph::new(lines), text);
    let Some(bands) = bands_of_stream(picture) else { return 0 };
    for (name, values, area) in
        [("p50", &bands.p50_ns, p50), ("p99", &bands.p99_ns, p99), ("p99.9", &bands.p99_9_ns, p99_9)]
    {
        let values = values.iter().map(|ns| ns.map(|ns| ns as f64)).collect();
        Course { title: format!("{name} of the response"), values, shown: time_text }.draw(frame, area);
    }
    frame.render_widget(Paragraph::new(axis_line(bands)), axis);
    0
}

/// The percentiles of the stream that is shown, a line for each.
pub(super) fn percentile_lines(picture: &Picture<'_>) -> Vec<Line<'static>> {
    let mut lines = vec![title_line(&picture.stream_in_words())];
    if let Some(stream) = chosen_totals(picture) {
        for (name, ns) in named_times(&stream.response) {
            lines.push(Line::from(format!("  {name:8}{}", time_of(ns))));
        }
        lines.extend(shares_over(stream).into_iter().map(|share| Line::from(format!("  {share}"))));
    }
    lines
}

/// The totals of the stream that is shown, over all its targets.
fn chosen_totals<'a>(picture: &'a Picture<'_>) -> Option<&'a StreamTotals> {
    let head = picture.state.head.as_ref()?;
    let name = head.stream_name(picture.screen.stream);
    let streams = &picture.state.judged.as_ref()?.part.streams.each;
    let own = || streams.iter().filter(|stream| stream.name == name);
    own().find(|stream| stream.target.is_none()).or_else(|| own().next())
}

fn bands_of_stream<'a>(picture: &'a Picture<'_>) -> Option<&'a Bands> {
    let series = &picture.state.judged.as_ref()?.part.course.series;
    Some(&series.streams.get(picture.screen.stream)?.bands)
}

fn times_table(stream: &StreamTotals) -> Table {
    let rows = [("response", &stream.response), ("service", &stream.service), ("own lag", &stream.own_lag)];
    let names = rows.iter().map(|row| row.0.to_owned()).collect();
    let counts = rows.iter().map(|row| count_text(row.1.operations)).collect();
    let mut columns = vec![Column::of_texts("time", 0, names), Column::of_figures("operations", 3, counts)];
    for (at, (name, _)) in named_times(&stream.response).into_iter().enumerate() {
        let rank = if name == "mean" || name == "p90" { 2 } else { 1 };
        let cells = rows.iter().map(|row| time_of(named_times(row.1)[at].1)).collect();
        columns.push(Column::of_figures(name, rank, cells));
    }
    Table::of_columns(columns)
}

fn named_times(times: &TimesSummary) -> [(&'static str, Option<u64>); 7] {
    [
        ("mean", times.mean_ns),
        ("p50", times.p50_ns),
        ("p90", times.p90_ns),
        ("p99", times.p99_ns),
        ("p99.9", times.p99_9_ns),
        ("p99.99", times.p99_99_ns),
        ("max", times.max_ns),
    ]
}

/// The exact shares over each threshold.
fn shares_over(stream: &StreamTotals) -> Vec<String> {
    let operations = stream.response.operations.max(1) as f64;
    let shares = stream.response.over.iter();
    shares.map(|(threshold, over)| format!("{} over {threshold}", share_text(*over as f64 / operations))).collect()
}

fn shares_line(stream: &StreamTotals) -> Line<'static> {
    Line::from(format!(" responses: {}", shares_over(stream).join(", ")))
}

fn axis_line(bands: &Bands) -> Line<'static> {
    let [first, last] = [bands.at_ns.first(), bands.at_ns.last()].map(|at| clock_text(at.copied().unwrap_or(0)));
    soft_line(format!(" from {first} to {last} of the measured time"))
}

fn time_of(ns: Option<u64>) -> String {
    ns.map_or_else(|| "-".to_owned(), |ns| Span::from_ns(ns).human_text())
}

fn time_text(ns: f64) -> String {
    Span::from_ns(ns as u64).human_text()
}
