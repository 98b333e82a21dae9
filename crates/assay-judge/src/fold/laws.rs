//! Laws that the figures of a step obey whatever the log says: no figure is larger than the counters of the time that
//! it names allow.
//!
//! A rate times its time is never more than the operations that were counted; what ran one after another is not added;
//! and the parts are never more than the whole. Each law compares figures that were computed apart. A step that breaks
//! one was computed wrongly, which is our mistake and never that of the log.

use crate::fold::layout::Layout;
use crate::judgement::{StepFigures, StreamTotals, counts_among_all};

/// Asserts all laws. `peak` is the largest throughput of any interval, by its own length, where every interval was a
/// whole one.
///
/// # Panics
/// If a figure breaks a law: it was computed wrongly, and a wrong number is worse than none.
pub(crate) fn assert_all(part: &StepFigures, layout: &Layout, peak: Option<f64>) {
    let broken = first_broken_law(part, layout, peak);
    assert!(broken.is_none(), "a figure contradicts its counters: {}", broken.unwrap_or_default());
}

/// The first law that is broken, in words.
fn first_broken_law(part: &StepFigures, layout: &Layout, peak: Option<f64>) -> Option<String> {
    broken_stream_law(part)
        .or_else(|| broken_target_law(part, layout))
        .or_else(|| broken_throughput_law(part))
        .or_else(|| mean_of_intervals(part, peak?))
        .or_else(|| broken_phase_law(part, layout))
        .or_else(|| broken_part_law(part, layout))
        .or_else(|| per_minute(part, layout))
        .or_else(|| over_time(part, layout))
}

/// Whether a number is at most another one, but for the last digits of a floating-point number.
fn is_at_most(figure: f64, counted: f64) -> bool {
    figure <= counted * (1.0 + 1e-9) + 1e-6
}

/// The operations of a rate within its time.
fn operations_in_time(rate: Option<f64>, ns: u64) -> f64 {
    rate.unwrap_or(0.0) * ns as f64 / 1e9
}

/// The entries of each stream of the layout: the one of all its targets, and those of each where there are several.
fn entries_by_stream<'a>(part: &'a StepFigures, layout: &Layout) -> Vec<(&'a StreamTotals, &'a [StreamTotals])> {
    let mut left = part.streams.each.as_slice();
    let mut all = Vec::new();
    for stream in &layout.streams {
        let Some((whole, rest)) = left.split_first() else { break };
        let targets = if stream.flows.len() > 1 { stream.flows.len().min(rest.len()) } else { 0 };
        all.push((whole, &rest[..targets]));
        left = &rest[targets..];
    }
    all
}

/// What a stream did in the parts into which marks divide the run is what it did.
fn broken_part_law(part: &StepFigures, layout: &Layout) -> Option<String> {
    let parts = &part.course.parts;
    let streams = entries_by_stream(part, layout).into_iter().enumerate().filter(|_| !parts.is_empty());
    streams.into_iter().find_map(|(index, (whole, _))| {
        let own = parts.iter().filter_map(|part| part.streams.get(index));
        let sum = own.fold(0u64, |sum, stream| sum.saturating_add(stream.operations));
        let all = whole.counts.operations;
        let differs = sum != all && !is_full(sum);
        differs.then(|| format!("{} did {all} operations, and {sum} in the parts of the run", whole.name))
    })
}

/// Whether a counter has reached the end of its range, as that of a forged log may: then it says nothing.
fn is_full(counter: u64) -> bool {
    counter == u64::MAX
}

/// A stream ran within the measured time, and did no more in it than was counted.
fn broken_stream_law(part: &StepFigures) -> Option<String> {
    let measured_ns = part.time.measured_ns;
    let shown = part.streams.each.iter().chain(&part.streams.together).chain(&part.streams.groups);
    shown.into_iter().find_map(|totals| {
        let ran_ns = totals.ran_ns.unwrap_or(measured_ns);
        let (named, counted) = (operations_in_time(totals.rate_achieved, ran_ns), totals.counts.operations);
        let holds = ran_ns <= measured_ns && is_at_most(named, counted as f64);
        (!holds).then(|| format!("{} did {named} operations in {ran_ns} ns, of {counted} counted", totals.name))
    })
}

/// What a stream did on its targets is what it did.
fn broken_target_law(part: &StepFigures, layout: &Layout) -> Option<String> {
    entries_by_stream(part, layout).into_iter().filter(|(_, targets)| !targets.is_empty()).find_map(
        |(whole, targets)| {
            let all = whole.counts.operations;
            let sum = targets.iter().fold(0u64, |sum, totals| sum.saturating_add(totals.counts.operations));
            (sum != all).then(|| format!("{} did {all} operations, and {sum} on its targets", whole.name))
        },
    )
}

/// All streams together do no more than what they did, in no less time than any of them ran.
fn broken_throughput_law(part: &StepFigures) -> Option<String> {
    let counted: Vec<_> =
        part.streams.streams_over_all_targets().filter(|totals| counts_among_all(&totals.direction)).collect();
    let (rate, bytes) = part.streams.total_throughput()?;
    let ran_ns = part.streams.throughput.as_ref().map_or(part.time.measured_ns, |together| together.ran_ns);
    let all: f64 = counted.iter().map(|totals| totals.counts.operations as f64).sum();
    let all_bytes: f64 = counted.iter().map(|totals| totals.counts.bytes as f64).sum();
    let longest = counted.iter().filter_map(|totals| totals.ran_ns).max().unwrap_or(0);
    let holds = ran_ns <= part.time.measured_ns
        && longest <= ran_ns
        && is_at_most(operations_in_time(Some(rate), ran_ns), all)
        && is_at_most(operations_in_time(Some(bytes), ran_ns), all_bytes);
    (!holds).then(|| format!("{rate} operations and {bytes} bytes a second for {ran_ns} ns, of {all} and {all_bytes}"))
}

/// A mean is not above the largest of what it is the mean of, however the time was counted in which streams ran.
fn mean_of_intervals(part: &StepFigures, peak: f64) -> Option<String> {
    let (rate, _) = part.streams.total_throughput()?;
    (!is_at_most(rate, peak)).then(|| format!("{rate} operations a second, and at most {peak} in any interval"))
}

/// The phases of a stream are no more than the stream.
fn broken_phase_law(part: &StepFigures, layout: &Layout) -> Option<String> {
    entries_by_stream(part, layout).into_iter().enumerate().find_map(|(index, (whole, _))| {
        let phases = part.streams.phases.iter();
        let of = phases
            .filter_map(|phase| Some(operations_in_time(phase.streams.get(index)?.rate_achieved, phase.measured_ns)));
        excess_sentence(of.sum(), whole).map(|more| format!("{more} in its phases"))
    })
}

/// The points of a line are no more than the stream.
fn over_time(part: &StepFigures, layout: &Layout) -> Option<String> {
    let series = &part.course.series;
    entries_by_stream(part, layout).into_iter().zip(&series.streams).find_map(|((whole, _), line)| {
        let points = line.achieved.iter().zip(&series.width_ns);
        let of = points.map(|(rate, width_ns)| operations_in_time(Some(*rate), *width_ns));
        excess_sentence(of.sum(), whole).map(|more| format!("{more} over time"))
    })
}

/// A figure per minute counts operations of the streams.
fn per_minute(part: &StepFigures, layout: &Layout) -> Option<String> {
    let all: f64 = entries_by_stream(part, layout).iter().map(|(whole, _)| whole.counts.operations as f64).sum();
    part.streams.per_minute.iter().find_map(|figure| {
        let named = operations_in_time(figure.value, part.time.measured_ns) / 60.0;
        (!is_at_most(named, all)).then(|| format!("{} counts {named} operations, of {all}", figure.name))
    })
}

/// Says that the parts of a stream are more than the stream, where they are.
fn excess_sentence(parts: f64, whole: &StreamTotals) -> Option<String> {
    let counted = whole.counts.operations;
    let holds = is_full(counted) || is_at_most(parts, counted as f64);
    (!holds).then(|| format!("{} did {parts} operations, of {counted} counted,", whole.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::fixture;
    use crate::judgement::{
        Counts, MeasuredTime, PerMinuteFigures, PhaseFigures, PhaseStream, Series, StreamFigures, StreamSeries,
        Throughput, TimesSummary,
    };
    use assay_record::FlowHead;

    const SECOND: u64 = 1_000_000_000;

    fn totals(name: &str, target: Option<&str>, (rate, ran_s): (f64, Option<u64>), operations: u64) -> StreamTotals {
        StreamTotals {
            name: name.to_owned(),
            target: target.map(str::to_owned),
            rate_achieved: Some(rate),
            ran_ns: ran_s.map(|seconds| seconds * SECOND),
            counts: Counts { operations, bytes: operations * 512, ..Counts::default() },
            ..StreamTotals::default()
        }
    }

    /// Ten seconds of two streams, the first of which has two targets.
    fn layout() -> Layout {
        let mut header = fixture::header();
        header.targets.push(header.targets[0].clone());
        header.flows.insert(1, FlowHead { stream: 0, target: 1 });
        Layout::new(&header, &[]).unwrap()
    }

    fn part(streams: StreamFigures) -> StepFigures {
        let time = MeasuredTime { measured_ns: 10 * SECOND, ..MeasuredTime::default() };
        StepFigures { streams, time, ..StepFigures::default() }
    }

    /// The first stream does 50 operations on each target in its first five seconds, the second one 200 in the others.
    fn lawful() -> StreamFigures {
        let each = vec![
            totals("reads", None, (20.0, Some(5)), 100),
            totals("reads", Some("a"), (10.0, Some(5)), 50),
            totals("reads", Some("b"), (10.0, Some(5)), 50),
            totals("writes", Some("a"), (40.0, Some(5)), 200),
        ];
        StreamFigures { each, ..StreamFigures::default() }.with_throughput(10 * SECOND)
    }

    #[test]
    fn what_ran_one_after_another_is_not_added() {
        let streams = lawful();
        let expected = Throughput { ran_ns: 10 * SECOND, operations_per_second: 30.0, bytes_per_second: 30.0 * 512.0 };
        assert_eq!(streams.throughput, Some(expected), "300 operations in ten seconds, not 60 a second");
        assert_eq!(first_broken_law(&part(streams), &layout(), Some(40.0)), None);
    }

    /// Each row forges a figure.
    #[test]
    fn a_figure_that_its_counters_do_not_allow_is_found() {
        type Forge = fn(&mut StepFigures);
        let forged: [(&str, Forge); 11] = [
            // The sum of the rates of what ran one after another.
            ("at most 40 in any interval", |part| part.streams.throughput.as_mut().unwrap().ran_ns = 5 * SECOND),
            ("operations and", |part| part.streams.throughput = None),
            ("operations and", |part| part.streams.throughput.as_mut().unwrap().ran_ns = 11 * SECOND),
            ("reads did", |part| part.streams.each[0].rate_achieved = Some(20.1)),
            ("reads did", |part| part.streams.each[2].rate_achieved = Some(20.0)),
            ("writes did", |part| part.streams.each[3].ran_ns = Some(11 * SECOND)),
            ("writes did", |part| part.streams.each[3].ran_ns = None),
            ("101 on its targets", |part| part.streams.each[2].counts.operations = 51),
            ("in its phases", |part| part.streams.phases = phases_of([21.0, 40.0])),
            ("over time", |part| part.course.series = points_of([20.0, 40.1])),
            ("counts 301", |part| part.streams.per_minute = vec![minute(301.0 * 6.0)]),
        ];
        for (words, forge) in forged {
            let mut part = part(lawful());
            forge(&mut part);
            let found = first_broken_law(&part, &layout(), Some(40.0));
            assert!(found.as_ref().is_some_and(|found| found.contains(words)), "{words}: {found:?}");
        }
        let mut lawful = part(lawful());
        lawful.streams.phases = phases_of([20.0, 40.0]);
        lawful.course.series = points_of([20.0, 40.0]);
        lawful.streams.per_minute = vec![minute(300.0 * 6.0)];
        assert_eq!(first_broken_law(&lawful, &layout(), Some(40.0)), None);
    }

    fn phases_of(rates: [f64; 2]) -> Vec<PhaseFigures> {
        let stream = |rate| PhaseStream {
            name: String::new(),
            rate_achieved: Some(rate),
            failed: 0,
            response: TimesSummary::default(),
        };
        let phase = |rates: [f64; 2]| PhaseFigures {
            name: String::new(),
            planned_ns: 5 * SECOND,
            measured_ns: 5 * SECOND,
            slices: 0,
            slices_within: 0,
            streams: rates.map(stream).to_vec(),
        };
        vec![phase([rates[0], 0.0]), phase([0.0, rates[1]])]
    }

    fn points_of(rates: [f64; 2]) -> Series {
        let stream = |achieved| StreamSeries { achieved, ..StreamSeries::default() };
        Series {
            width_ns: vec![5 * SECOND; 2],
            streams: vec![stream(vec![rates[0], 0.0]), stream(vec![0.0, rates[1]])],
            ..Series::default()
        }
    }

    fn minute(value: f64) -> PerMinuteFigures {
        PerMinuteFigures { name: "NOPM".into(), value: Some(value), ..PerMinuteFigures::default() }
    }

    /// A forged log may have counters at the end of their range, of which no sum is known.
    #[test]
    fn a_full_counter_says_nothing() {
        let mut part = part(lawful());
        part.streams.each[3].counts.operations = u64::MAX;
        part.streams.phases = phases_of([20.0, 1e19]);
        assert_eq!(first_broken_law(&part, &layout(), Some(40.0)), None);
    }
}
