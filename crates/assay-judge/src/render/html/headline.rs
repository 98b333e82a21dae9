//! What is shown beside the verdict: what was tested, and the few figures everybody asks for first.

use super::figures::{ABSENT, count_text, megabytes_text, per_second, time_text};
use crate::Judgement;
use crate::judgement::{PerMinuteFigures, StepFigures, StreamFigures, StreamTotals, TargetTotals};
use crate::render::shown::{ran_after, together_ran};
use crate::words::clock_text;
use assay_base::Span;

/// Number of devices named on the first screen; further ones are only counted.
const MOST_DEVICES: usize = 4;

/// The first screen beside the verdict.
pub(crate) struct Headline {
    /// The step that the figures belong to, where there are several.
    pub step: Option<String>,
    pub devices: Vec<String>,
    /// Number of devices that are not named.
    pub more: usize,
    pub figures: Vec<HeadFigure>,
}

/// One large number.
pub(crate) struct HeadFigure {
    pub label: String,
    pub value: String,
    /// How it is made up.
    pub note: String,
}

impl Headline {
    pub(crate) fn new(judgement: &Judgement) -> Headline {
        let part = &judgement.part;
        let step = judgement.shown_step();
        let devices: Vec<String> = part.targets.each.iter().map(TargetTotals::device_description).collect();
        Headline {
            step: step.map(|step| format!("step {} of {}, {}", step.number, step.of, step.title)),
            more: devices.len().saturating_sub(MOST_DEVICES),
            devices: devices.into_iter().take(MOST_DEVICES).collect(),
            figures: head_figures(part),
        }
    }
}

fn head_figures(part: &StepFigures) -> Vec<HeadFigure> {
    let (rate, bytes) = part.streams.total_throughput().unzip();
    let each = figure_by_stream(&part.streams, |totals| {
        totals.rate_achieved.map(|rate| iops_text(rate) + &ran_after(part, totals))
    });
    let over = together_ran(part).map(|ran| format!("while a stream ran, {ran}; "));
    let each = over.unwrap_or_default() + &each;
    let name = if part.streams.moves_bytes() { "IOPS" } else { "Operations/s" };
    let minutes = part
        .streams
        .per_minute
        .iter()
        .map(|figure| head_figure(&figure.name, figure.figure_text(), per_minute(part, figure)));
    let mut figures: Vec<HeadFigure> = minutes.collect();
    if !figures.is_empty() {
        let in_flush = part.targets.meters.iter().filter_map(|meter| Some((meter, meter.share_in_flush()?)));
        figures.extend(in_flush.map(|(meter, share)| {
            head_figure("In flushes", format!("{:.0} %", share * 100.0), format!("of the time of {}", meter.head.name))
        }));
    }
    figures.push(head_figure(name, rate.map_or(ABSENT.into(), iops_text), each));
    if part.streams.moves_bytes() && !part.lacks_bytes() {
        let each = figure_by_stream(&part.streams, |totals| totals.bytes_per_second().map(megabytes_text));
        figures.push(head_figure("MB/s", bytes.map_or(ABSENT.into(), megabytes_text), each));
    }
    if let Some(totals) = judged_stream(part) {
        let p99 = totals.response.p99_ns.map_or(ABSENT.to_owned(), time_text);
        figures.push(head_figure("p99 response", p99, format!("of {}", totals.name)));
    }
    let planned = format!("of {} planned", Span::from_ns(part.time.planned_ns).human_text());
    figures.push(head_figure("Measured", clock_text(part.time.measured_ns), planned));
    figures
}

fn head_figure(label: &str, value: String, note: String) -> HeadFigure {
    HeadFigure { label: label.to_owned(), value, note }
}

/// `per minute; slices 9120 to 28896`
fn per_minute(part: &StepFigures, it: &PerMinuteFigures) -> String {
    let extremes = it.extremes_of_slices(&part.slices).map(|extremes| {
        let [lowest, peak] = [extremes.lowest, extremes.peak].map(PerMinuteFigures::value_text);
        format!("; slices {lowest} to {peak}")
    });
    "per minute".to_owned() + &extremes.unwrap_or_default()
}

/// The stream of the first criterion, otherwise the first.
fn judged_stream(part: &StepFigures) -> Option<&StreamTotals> {
    let named = part.criteria.iter().find_map(|outcome| outcome.asked.stream.as_deref());
    let mut all = part.streams.together.iter().chain(part.streams.streams_over_all_targets());
    all.find(|totals| Some(totals.name.as_str()) == named).or_else(|| part.streams.streams_over_all_targets().next())
}

pub(crate) fn iops_text(rate: f64) -> String {
    if rate >= 100.0 { count_text(rate.round() as u64) } else { per_second(rate).replace("/s", "") }
}

/// The part of each stream, where there are several: `reads 4,000 · writes 47`; where there are many, only their
/// number.
fn figure_by_stream(streams: &StreamFigures, figure: impl Fn(&StreamTotals) -> Option<String>) -> String {
    let each: Vec<String> = streams
        .streams_over_all_targets()
        .filter_map(|totals| Some(format!("{} {}", totals.name, figure(totals)?)))
        .collect();
    match each.len() {
        0 | 1 => String::new(),
        2 | 3 => each.join(" · "),
        many => format!("{many} streams together"),
    }
}
