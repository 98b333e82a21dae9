//! The table of slices × thresholds, as ACT's README prints it: response and service side by side, avg and max below.

use crate::judgement::{Judgement, Slice, SliceTimes, StepFigures, StreamFigures, percent_of};
use crate::render::page::{Page, cut_to_width};
use assay_base::Span;
use std::collections::BTreeSet;
use std::fmt;

/// Number of thresholds for which two blocks of columns fit beside each other.
const COLUMNS: usize = 4;
/// Number of targets that the summary lists.
const TARGETS: usize = 8;

/// How the averages below a table are made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Averages {
    /// The share over all operations of all slices.
    OfOperations,
    /// The mean of the shares of the slices as they are printed, which is what ACT's analyzer prints of its logs.
    OfSlices,
}

impl Averages {
    /// For the table of a log: as its own analyzer has them, if it is one of ACT.
    pub(crate) fn for_log(judgement: &Judgement) -> Averages {
        if judgement.tool.starts_with("ACT ") { Averages::OfSlices } else { Averages::OfOperations }
    }
}

/// Every slice of every step, for each stream that has criteria, over all targets and on each.
pub fn write_slice_tables(judgement: &Judgement, out: &mut dyn fmt::Write) -> fmt::Result {
    let mut page = Page::default();
    let parts: Vec<(String, &StepFigures)> = match judgement.steps.as_slice() {
        [] => vec![(String::new(), &judgement.part)],
        steps => steps.iter().map(|step| (format!("step {}: {}", step.number, step.title), &step.part)).collect(),
    };
    for (title, part) in parts {
        if !title.is_empty() {
            page.add_blank_line();
            page.add_line(title);
        }
        for stream in shown_streams(part) {
            for target in targets_of(&part.streams, &stream) {
                page.add_blank_line();
                page.append(slice_table(part, &stream, target.as_deref(), usize::MAX, Averages::for_log(judgement)));
            }
        }
    }
    page.write_lines(out)
}

/// The streams that have criteria; where there are none, the first stream.
pub(crate) fn shown_streams(part: &StepFigures) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in part.criteria.iter().filter_map(|criterion| criterion.asked.stream.clone()) {
        if !names.contains(&name) && part.streams.each.iter().any(|stream| stream.name == name) {
            names.push(name);
        }
    }
    if names.is_empty() {
        names.extend(part.streams.each.first().map(|stream| stream.name.clone()));
    }
    names
}

/// All targets together first, then each target where there are several.
fn targets_of(streams: &StreamFigures, stream: &str) -> Vec<Option<String>> {
    let each: Vec<_> =
        streams.each.iter().filter(|entry| entry.name == stream).map(|entry| entry.target.clone()).collect();
    if each.len() > 1 { each } else { vec![None] }
}

/// The thresholds of a stream's criteria; without criteria, the standard ones.
pub(crate) fn shown_thresholds(part: &StepFigures, stream: &str) -> Vec<Span> {
    let about = part.criteria.iter().filter(|criterion| criterion.asked.stream.as_deref() == Some(stream));
    let mut own: BTreeSet<Span> = about.filter_map(|criterion| criterion.asked.threshold).collect();
    if own.is_empty() {
        own = part
            .slices
            .listed
            .first()
            .and_then(|slice| slice.figures_of_stream(stream, None))
            .map_or(own, |entry| entry.response.over.keys().copied().collect());
    }
    own.into_iter().take(COLUMNS).collect()
}

/// One table of at most about `most` lines.
pub(crate) fn slice_table(
    part: &StepFigures,
    stream: &str,
    target: Option<&str>,
    most: usize,
    averages: Averages,
) -> Page {
    let columns = shown_thresholds(part, stream);
    let device = device_stream(&part.streams, stream);
    let mut page = Page::default();
    add_heading(&mut page, part, stream, target, &columns);
    let rows = choose_slices(&part.slices.listed, stream, target, columns.first().copied(), most.saturating_sub(7));
    let mut next = 0;
    for index in rows.iter().copied().chain([part.slices.listed.len()]) {
        left_out(&mut page, &part.slices.listed[next..index]);
        if let Some(slice) = part.slices.listed.get(index) {
            let over = is_over(part, slice, stream, target);
            add_slice_row(&mut page, slice, stream, &device, target, &columns, over);
        }
        next = index + 1;
    }
    if part.slices.left_out > 0 {
        page.add_line(format!("    … {} more slices that are not listed", part.slices.left_out));
    }
    add_totals(&mut page, part, stream, target, &columns, averages);
    page
}

/// Whether the stream broke a bound in this slice. A slice is over its bound for all streams together; a stream that
/// kept its own bounds must not be marked. Where no stream explains the slice (the load was not delivered, or a window
/// is longer than a slice), all are marked.
pub(crate) fn is_over(part: &StepFigures, slice: &Slice, stream: &str, target: Option<&str>) -> bool {
    if slice.within {
        false
    } else if slice.has_unkept_bound(stream, target) {
        true
    } else {
        !is_explained(part, slice) && target.is_none_or(|target| broke_a_bound(part, stream, target))
    }
}

/// Whether a stream that a criterion is about broke a bound in this slice.
fn is_explained(part: &StepFigures, slice: &Slice) -> bool {
    part.criteria
        .iter()
        .filter_map(|criterion| criterion.asked.stream.as_deref())
        .any(|name| targets_of(&part.streams, name).iter().any(|on| slice.has_unkept_bound(name, on.as_deref())))
}

/// Whether this target alone broke a bound in any slice: a slice is over its bound for all targets together, and a good
/// target must not be marked.
fn broke_a_bound(part: &StepFigures, stream: &str, target: &str) -> bool {
    let of_stream = part.criteria.iter().filter(|criterion| criterion.asked.stream.as_deref() == Some(stream));
    let mut figures = of_stream.flat_map(|criterion| &criterion.targets);
    figures.any(|figure| figure.target.as_deref() == Some(target) && !figure.within)
}

/// The stream that has the service times of `stream`: a log of ACT up to 5.x has a separate one.
fn device_stream(streams: &StreamFigures, stream: &str) -> String {
    let device = format!("device-{}", stream.trim_start_matches("trans-"));
    if streams.each.iter().any(|entry| entry.name == device) { device } else { stream.to_owned() }
}

fn add_heading(page: &mut Page, part: &StepFigures, stream: &str, target: Option<&str>, columns: &[Span]) {
    let width = columns.len() * 7;
    if let Some(target) = target {
        page.add_line(format!("{stream} on {target}"));
    }
    let mut name = format!("{stream} response");
    if name.chars().count() > width.max(16) {
        page.add_line(format!("      {name}"));
        name.clear();
    }
    let device = device_stream(&part.streams, stream);
    let device = if device == stream { format!("device-{stream} service") } else { format!("{device} service") };
    page.add_line(format!("      {name:<w$}   {device}", w = width.max(16)));
    let unit = "%>(ms)";
    page.add_line(format!("      {unit:<w$}   {unit}", w = width.max(16)));
    let names: String = columns.iter().map(|span| format!("{:>7}", milliseconds_text(*span))).collect();
    page.add_line(format!("slice {names:<w$}   {names}", w = width.max(16)));
    add_rule(page, columns);
}

fn add_rule(page: &mut Page, columns: &[Span]) {
    let dashes = " ------".repeat(columns.len());
    page.add_line(format!("----- {dashes:<w$}   {dashes}", w = (columns.len() * 7).max(16)));
}

fn milliseconds_text(span: Span) -> String {
    let text = format!("{:.3}", span.as_ns() as f64 / 1e6);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn share_cells(times: &SliceTimes, columns: &[Span]) -> String {
    columns.iter().map(|span| percent_cell(times.percent_over(*span))).collect()
}

fn percent_cell(percent: Option<f64>) -> String {
    percent.map_or_else(|| format!("{:>7}", "-"), |percent| format!("{percent:>7.2}"))
}

fn add_slice_row(
    page: &mut Page,
    slice: &Slice,
    stream: &str,
    device: &str,
    target: Option<&str>,
    columns: &[Span],
    over: bool,
) {
    let Some(entry) = slice.figures_of_stream(stream, target) else { return };
    let service = slice.figures_of_stream(device, target).unwrap_or(entry);
    let (response, service) = (share_cells(&entry.response, columns), share_cells(&service.service, columns));
    let mark = if !slice.complete {
        "  not complete"
    } else if !slice.valid {
        "  proves nothing"
    } else if over {
        "  over"
    } else {
        ""
    };
    let note = slice.note.as_ref().filter(|_| slice.complete).map(|note| format!("  {note}")).unwrap_or_default();
    let w = (columns.len() * 7).max(16);
    page.add_line(format!("{:>5} {response:<w$}   {service}{mark}{note}", slice.number));
}

fn left_out(page: &mut Page, slices: &[Slice]) {
    if slices.is_empty() {
        return;
    }
    let over = slices.iter().filter(|slice| !slice.within).count();
    let odd = slices.iter().filter(|slice| !slice.complete || !slice.valid).count();
    let how = match (over, odd) {
        (0, 0) => "all within".to_owned(),
        (over, 0) => format!("{over} over"),
        (over, odd) => format!("{over} over, {odd} not counted"),
    };
    let slice = if slices.len() == 1 { "slice" } else { "slices" };
    page.add_line(format!("    … {} more {slice}, {how}", slices.len()));
}

/// Which slices get a row: all when they fit; otherwise the first broken one, the worst, the first that does not count,
/// the last, and as many of the first ones as fit.
fn choose_slices(
    slices: &[Slice],
    stream: &str,
    target: Option<&str>,
    threshold: Option<Span>,
    rows: usize,
) -> Vec<usize> {
    if slices.len() <= rows {
        return (0..slices.len()).collect();
    }
    let worst = (0..slices.len()).rev().max_by(|a, b| {
        value_in(&slices[*a], stream, target, threshold).total_cmp(&value_in(&slices[*b], stream, target, threshold))
    });
    let broken = slices.iter().position(|slice| !slice.within);
    let odd = slices.iter().position(|slice| !slice.complete || !slice.valid);
    let last = slices.len().checked_sub(1);
    let mut kept = BTreeSet::new();
    for index in [broken, worst, odd, last].into_iter().flatten().chain(0..rows) {
        kept.insert(index);
        if kept.len() > 1 && table_lines(&kept, slices.len()) > rows {
            kept.remove(&index);
        }
    }
    kept.into_iter().collect()
}

/// The share over the threshold in a slice; less than nothing where it has none.
fn value_in(slice: &Slice, stream: &str, target: Option<&str>, threshold: Option<Span>) -> f64 {
    threshold.and_then(|span| slice.figures_of_stream(stream, target)?.response.share_over(span)).unwrap_or(-1.0)
}

/// Number of lines of a table that shows the slices `kept` of `of`: one for each, and one wherever some are left out.
fn table_lines(kept: &BTreeSet<usize>, of: usize) -> usize {
    let ends = kept.iter().copied().chain([of]);
    let begins = std::iter::once(0).chain(kept.iter().map(|index| index + 1));
    kept.len() + begins.zip(ends).filter(|(begin, end)| begin < end).count()
}

/// The average share of the complete slices, and the largest share of any slice, in percent.
fn add_totals(
    page: &mut Page,
    part: &StepFigures,
    stream: &str,
    target: Option<&str>,
    columns: &[Span],
    averages: Averages,
) {
    let (average, largest) = averages_and_largest(part, stream, target, columns, averages);
    add_rule(page, columns);
    let w = (columns.len() * 7).max(16);
    for (name, [response, service]) in [("avg", average), ("max", largest)] {
        page.add_line(format!("{name:>5} {:<w$}   {}", percents_row(&response), percents_row(&service)));
    }
}

/// A row of percentages.
fn percents_row(values: &[Option<f64>]) -> String {
    values.iter().map(|value| percent_cell(*value)).collect()
}

type Pair = [Vec<Option<f64>>; 2];

fn averages_and_largest(
    part: &StepFigures,
    stream: &str,
    target: Option<&str>,
    columns: &[Span],
    averages: Averages,
) -> (Pair, Pair) {
    let entries: Vec<_> = part
        .slices
        .listed
        .iter()
        .filter(|slice| slice.complete)
        .filter_map(|slice| slice.figures_of_stream(stream, target))
        .collect();
    let device = device_stream(&part.streams, stream);
    let complete = part.slices.listed.iter().filter(|slice| slice.complete);
    let services = complete
        .filter_map(|slice| slice.figures_of_stream(&device, target).or(slice.figures_of_stream(stream, target)));
    let sides: [Vec<&SliceTimes>; 2] =
        [entries.iter().map(|entry| &entry.response).collect(), services.map(|entry| &entry.service).collect()];
    (
        sides.each_ref().map(|times| columns.iter().map(|span| average_of(times, span, averages)).collect()),
        sides.each_ref().map(|times| columns.iter().map(|span| largest_of(times, span)).collect()),
    )
}

/// The largest share of a column, in percent.
fn largest_of(times: &[&SliceTimes], span: &Span) -> Option<f64> {
    times.iter().filter_map(|times| times.percent_over(*span)).max_by(f64::total_cmp)
}

/// The average below a column.
fn average_of(times: &[&SliceTimes], span: &Span, averages: Averages) -> Option<f64> {
    match averages {
        Averages::OfOperations => share_of_operations(times, *span),
        Averages::OfSlices => mean_of_slices(times, *span),
    }
}

/// The share over all operations together, in percent.
fn share_of_operations(times: &[&SliceTimes], threshold: Span) -> Option<f64> {
    let over: u128 = times.iter().filter_map(|times| times.over.get(&threshold)).map(|n| u128::from(*n)).sum();
    let all: u128 = times.iter().map(|times| u128::from(times.operations)).sum();
    percent_of(over, all)
}

/// The mean of the shares of the slices in percent, each rounded to the two digits that are printed. ACT's analyzer has 0
/// for a slice without operations.
fn mean_of_slices(times: &[&SliceTimes], threshold: Span) -> Option<f64> {
    let counted: Vec<&&SliceTimes> = times.iter().filter(|times| times.over.contains_key(&threshold)).collect();
    let sum: f64 = counted
        .iter()
        .map(|times| format!("{:.2}", times.percent_over(threshold).unwrap_or(0.0)).parse().unwrap_or(0.0))
        .sum();
    (!counted.is_empty()).then(|| sum / counted.len() as f64)
}

/// The largest share of any slice on each target, the worst target first; empty where there is only one target.
pub(crate) fn by_target(part: &StepFigures, stream: &str) -> Page {
    let mut page = Page::default();
    let columns = shown_thresholds(part, stream);
    let names: Vec<String> = targets_of(&part.streams, stream).into_iter().flatten().collect();
    if names.is_empty() {
        return page;
    }
    let mut rows: Vec<(String, Pair)> = names
        .into_iter()
        .map(|name| {
            let (_, largest) = averages_and_largest(part, stream, Some(&name), &columns, Averages::OfOperations);
            (name, largest)
        })
        .collect();
    rows.sort_by(|a, b| first_share(b).total_cmp(&first_share(a)));
    let w = (columns.len() * 7).max(16);
    page.add_line("max of any slice, by target:");
    for (name, [response, service]) in rows.iter().take(TARGETS) {
        page.add_line(format!(
            "      {:<w$}   {}  {}",
            percents_row(response),
            percents_row(service),
            cut_to_width(name, 78usize.saturating_sub(11 + w + 7 * columns.len()))
        ));
    }
    if rows.len() > TARGETS {
        page.add_line(format!("      … {} more targets, all with less", rows.len() - TARGETS));
    }
    page
}

/// The share over the first threshold, by which targets are sorted.
fn first_share(row: &(String, Pair)) -> f64 {
    row.1[0].first().copied().flatten().unwrap_or(-1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_costs_a_line_wherever_it_lies() {
        for (kept, of, expected) in
            [(&[5][..], 12, 3), (&[0, 5, 11], 12, 5), (&[0, 1, 2], 3, 3), (&[0, 1], 12, 3), (&[11], 12, 2)]
        {
            assert_eq!(table_lines(&kept.iter().copied().collect(), of), expected, "{kept:?} of {of}");
        }
    }
}
