//! What a text shows in detail: a result without steps, or one of its steps.

use crate::judgement::{Deciding, Judgement, Step, StepFigures, StreamTotals};
use crate::render::slices::Averages;
use crate::verdict::Verdict;
use crate::words::human_time;

/// Number of streams whose figures stand in the line of a step.
const STREAMS: usize = 3;

/// See the module.
#[derive(Clone, Copy)]
pub(crate) struct Shown<'a> {
    /// Its figures.
    pub(crate) part: &'a StepFigures,
    /// What it proves.
    pub(crate) verdict: Verdict,
    /// What decided, where something did.
    pub(crate) deciding: Option<&'a Deciding>,
    /// How the averages below its tables are made.
    pub(crate) averages: Averages,
    /// Whether its own headline stands at the top of the text: there are no steps.
    pub(crate) is_headed: bool,
}

impl<'a> Shown<'a> {
    /// The result; where there are several steps, the one that decided.
    pub(crate) fn from_judgement(judgement: &'a Judgement) -> Shown<'a> {
        Shown {
            part: &judgement.part,
            verdict: judgement.verdict,
            deciding: judgement.deciding.as_ref(),
            averages: Averages::for_log(judgement),
            is_headed: judgement.steps.is_empty(),
        }
    }

    /// One of the steps of a result.
    pub(crate) fn from_step(judgement: &Judgement, step: &'a Step) -> Shown<'a> {
        Shown {
            part: &step.part,
            verdict: step.verdict,
            deciding: step.deciding.as_ref(),
            averages: Averages::for_log(judgement),
            is_headed: false,
        }
    }
}

/// Operations and bytes per second of all streams together: `20020 IOPS, 82.0 MB/s`, with the time that they are of
/// where it is not all of the measured time.
pub(crate) fn throughput_text(part: &StepFigures) -> Option<String> {
    let streams = &part.streams;
    let (iops, bytes) = streams.total_throughput().filter(|(iops, _)| *iops > 0.0)?;
    // People at terminals do less than one operation a second.
    let iops = format!("{iops:.*}", usize::from(iops < 10.0));
    let figures = match (streams.moves_bytes(), part.lacks_bytes()) {
        (true, false) => format!("{iops} IOPS, {:.1} MB/s", bytes / 1e6),
        (true, true) => format!("{iops} IOPS"),
        (false, _) => format!("{iops} operations/s"),
    };
    let over = together_ran(part).map(|ran| format!(" over the {ran} in which a stream ran"));
    Some(figures + &over.unwrap_or_default())
}

/// What one asks first about a database: its figures per minute with their extremes, and the share of the time that the
/// disks below it spent in flushes. Nothing for other targets.
pub(crate) fn of_database(part: &StepFigures) -> Option<String> {
    let slices = &part.slices;
    let minutes =
        part.streams.per_minute.iter().map(|figure| figure.in_words_with_extremes(slices)).collect::<Vec<_>>();
    if minutes.is_empty() {
        return None;
    }
    let in_flush = part.targets.meters.iter().filter_map(|meter| {
        let percent = meter.share_in_flush()? * 100.0;
        Some(format!("{percent:.0} % of the time in flushes of {} {}", meter.head.kind, meter.head.name))
    });
    Some(std::iter::once(minutes.join(", ")).chain(in_flush).collect::<Vec<_>>().join("; "))
}

/// The throughput of a step, and mean and p99 of its streams.
pub(crate) fn figures_of_step(part: &StepFigures) -> String {
    let streams: Vec<String> = part.streams.streams_over_all_targets().filter_map(response_text).collect();
    let more = match streams.len().saturating_sub(STREAMS) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let streams = streams.into_iter().take(STREAMS).collect::<Vec<_>>().join(", ") + &more;
    let figures = throughput_text(part).into_iter().chain((!streams.is_empty()).then_some(streams));
    figures.collect::<Vec<_>>().join("; ")
}

/// `reads mean 391 µs, p99 512 µs`; nothing for a stream of which nothing completed.
pub(crate) fn response_text(totals: &StreamTotals) -> Option<String> {
    let mean = format!("{} mean {}", totals.name, human_time(totals.response.mean_ns?));
    let p99 = totals.response.p99_ns.map(|ns| format!(", p99 {}", human_time(ns)));
    Some(mean + &p99.unwrap_or_default())
}

/// The rate of a stream, with the rate that was asked of it and the time that it ran where that is not all of the
/// measured time: `reads 20010.0 of 20000.0/s in 512 ms`.
pub(crate) fn rate_text(part: &StepFigures, totals: &StreamTotals) -> Option<String> {
    let achieved = totals.rate_achieved?;
    let asked = totals.rate_asked.map(|asked| format!(" of {asked:.1}")).unwrap_or_default();
    Some(format!("{} {achieved:.1}{asked}/s{}", totals.name, ran_after(part, totals)))
}

/// ` in 512 ms`, where a stream did not run for all of the measured time.
pub(crate) fn ran_after(part: &StepFigures, totals: &StreamTotals) -> String {
    running_time_text(part, totals).map(|ran| format!(" in {ran}")).unwrap_or_default()
}

/// For how long a stream ran, where a reader sees that it is not the measured time.
pub(crate) fn running_time_text(part: &StepFigures, totals: &StreamTotals) -> Option<String> {
    unless_measured(part, totals.ran_ns?)
}

/// For how long any stream ran, where a reader sees that it is not the measured time.
pub(crate) fn together_ran(part: &StepFigures) -> Option<String> {
    unless_measured(part, part.streams.throughput.as_ref()?.ran_ns)
}

/// A time in words, where it is not the measured time, which stands beside it in whole or as planned: `9 s` of 9 s, or
/// `60 min` of 1 h, would be read as a difference.
fn unless_measured(part: &StepFigures, ns: u64) -> Option<String> {
    let measured_ns = part.time.measured_ns;
    let shown_ns = measured_ns.min(part.time.planned_ns);
    (!is_close(ns, measured_ns) && !is_close(ns, shown_ns)).then(|| human_time(ns))
}

/// Whether two times are the same for a reader.
fn is_close(ns: u64, other: u64) -> bool {
    ns.abs_diff(other) < other / 1000 || human_time(ns) == human_time(other)
}
