//! What a comparison comes to, in a sentence for each run that is compared with the first, and how long to measure where
//! it is too little to tell.

use super::bootstrap::Answer;
use super::rows::{Figure, StreamRow, title_with_step};
use crate::verdict::Verdict;
use assay_base::{Measure, Span};
use serde::Serialize;
use std::fmt;

/// The figures of a stream that stand for it, the first one that differs before the others.
const REPRESENTATIVE: [&str; 4] = ["p99", "p99.9", "p90", "p50"];
/// Number of streams that a sentence names.
const NAMED: usize = 4;

/// What came of the comparison of one run with the first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Conclusion {
    /// The label of the run.
    pub label: String,
    /// The sentence, without a full stop: `b is 1.3 ± 0.1 times slower in reads p99; nothing else differs by more than
    /// noise`.
    pub sentence: String,
}

/// A conclusion for each run but the first, whose labels are given.
pub(crate) fn conclude_for_runs(labels: &[&str], streams: &[StreamRow]) -> Vec<Conclusion> {
    let Some((first, others)) = labels.split_first() else { return Vec::new() };
    others
        .iter()
        .enumerate()
        .map(|(at, label)| Conclusion {
            label: (*label).to_owned(),
            sentence: conclusion_sentence(label, first, &Findings::new(streams, at)),
        })
        .collect()
}

/// The same, with the verdicts of the runs where these are not all PASS: times alone do not show that operations failed, or
/// that a run proves nothing. `verdicts` are those of all runs, `first` is the label of the first one.
pub(super) fn with_verdicts(conclusions: Vec<Conclusion>, first: &str, verdicts: &[Verdict]) -> Vec<Conclusion> {
    let Some((of_first, others)) = verdicts.split_first() else { return conclusions };
    let mut all = Vec::new();
    for (conclusion, verdict) in conclusions.into_iter().zip(others) {
        let said = verdicts_in_words((first, *of_first), (conclusion.label.as_str(), *verdict));
        let sentence = said.map_or(conclusion.sentence.clone(), |said| format!("{}; {said}", conclusion.sentence));
        all.push(Conclusion { sentence, ..conclusion });
    }
    all
}

/// `but b is FAIL and a is PASS`; nothing where both are PASS.
fn verdicts_in_words(first: (&str, Verdict), this: (&str, Verdict)) -> Option<String> {
    let verdicts = [first.1, this.1];
    if verdicts == [Verdict::Pass; 2] {
        return None;
    }
    let said = if first.1 == this.1 {
        format!("both are {}", this.1)
    } else {
        format!("but {} is {} and {} is {}", this.0, this.1, first.0, first.1)
    };
    let is_proof = verdicts.iter().all(|verdict| matches!(verdict, Verdict::Pass | Verdict::Fail));
    Some(if is_proof { said } else { format!("{said}, so that this proves nothing") })
}

/// The streams of a comparison as they stand for themselves: the response, or the service where a log has no response.
pub(super) fn principal_streams(streams: &[StreamRow]) -> impl Iterator<Item = &StreamRow> {
    streams.iter().filter(|row| {
        row.measure == Measure::Response
            || !streams.iter().any(|other| is_of_one_stream(other, row) && other.measure == Measure::Response)
    })
}

fn is_of_one_stream(one: &StreamRow, other: &StreamRow) -> bool {
    one.step == other.step && one.stream == other.stream
}

/// `step 2: reads p99`.
pub(super) fn figure_name(row: &StreamRow, figure: &Figure) -> String {
    let measure = if row.measure == Measure::Service { " service" } else { "" };
    title_with_step(row.step, &format!("{}{measure} {}", row.stream, figure.what))
}

/// What was found of one run.
#[derive(Default)]
struct Findings {
    /// What differs, a phrase for each stream and direction.
    differing: Vec<String>,
    /// Figures of which it is too little to tell.
    unknown: Vec<String>,
    /// Whether the run, or the first one, was ended by its lag.
    ended: Option<Ended>,
}

/// Which run was ended by its lag.
#[derive(Clone, Copy, PartialEq)]
enum Ended {
    This,
    First,
}

impl Findings {
    fn new(streams: &[StreamRow], at: usize) -> Findings {
        let mut findings = Findings::default();
        for row in streams {
            findings.take_in(streams, row, at);
        }
        findings
    }

    fn take_in(&mut self, streams: &[StreamRow], row: &StreamRow, at: usize) {
        let is_principal = principal_streams(streams).any(|other| std::ptr::eq(other, row));
        // Where the response differs, the service differs as a part of it.
        if !is_principal && streams.iter().any(|other| is_of_one_stream(other, row) && differs_from_first(other, at)) {
            return;
        }
        for (figure, answer) in row.figures.iter().filter_map(|figure| Some((figure, figure.against_first.get(at)?))) {
            match answer {
                Answer::CannotTell if is_principal => self.unknown.push(figure_name(row, figure)),
                Answer::Worse => self.ended = Some(Ended::This),
                Answer::Better => self.ended = Some(Ended::First),
                Answer::CannotTell | Answer::Noise { .. } | Answer::Differs { .. } => {}
            }
        }
        let ways = [Way::Worse, Way::Better];
        self.differing.extend(ways.into_iter().filter_map(|way| difference_phrase(row, at, way)));
    }
}

fn differs_from_first(row: &StreamRow, at: usize) -> bool {
    row.figures.iter().any(|figure| !matches!(figure.against_first.get(at), Some(Answer::Noise { .. }) | None))
}

/// The direction of a difference.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Worse,
    Better,
}

impl Way {
    /// The direction in which a figure differs, if it does.
    fn new(figure: &Figure, at: usize) -> Option<Way> {
        let Answer::Differs { low, .. } = figure.against_first.get(at)? else { return None };
        let same = if figure.share { 0.0 } else { 1.0 };
        Some(if *low > same { Way::Worse } else { Way::Better })
    }
}

/// `1.3 ± 0.1 times slower in reads p99 (also in p50)`; nothing where no figure of the stream differs in this way.
fn difference_phrase(row: &StreamRow, at: usize, way: Way) -> Option<String> {
    let all: Vec<&Figure> = row.figures.iter().filter(|figure| Way::new(figure, at) == Some(way)).collect();
    let first = REPRESENTATIVE
        .iter()
        .find_map(|name| all.iter().copied().find(|figure| figure.what == *name))
        .or(all.first().copied())?;
    let others: Vec<&str> =
        all.iter().filter(|figure| figure.what != first.what).map(|figure| figure.what.as_str()).collect();
    let also = if others.is_empty() { String::new() } else { format!(" (also in {})", others.join(", ")) };
    Some(format!("{} {}{also}", difference_amount(first, at, way)?, figure_name(row, first)))
}

/// `1.3 ± 0.1 times slower in`, or `by 0.5 ± 0.1 % of the operations more in`.
fn difference_amount(figure: &Figure, at: usize, way: Way) -> Option<String> {
    let Answer::Differs { low, high } = figure.against_first.get(at)? else { return None };
    if figure.share {
        let word = if way == Way::Worse { "worse" } else { "better" };
        return Some(format!(
            "{word} by {} % of the operations in",
            Interval::new(low * 100.0, high * 100.0).absolute_value()
        ));
    }
    Some(match way {
        Way::Worse => format!("{} times slower in", Interval::new(*low, *high)),
        Way::Better => format!("{} times faster in", Interval::new(1.0 / high, 1.0 / low)),
    })
}

fn conclusion_sentence(label: &str, first: &str, findings: &Findings) -> String {
    let ended = match findings.ended {
        Some(Ended::This) => {
            return format!("{label} is worse: it fell too far behind its schedule and was ended, {first} was not");
        }
        Some(Ended::First) => {
            return format!(
                "{label} is better: {first} fell too far behind its schedule and was ended, {label} was not"
            );
        }
        None if findings.differing.is_empty() => None,
        None => Some(format!("{label} is {}", join_first_few(&findings.differing, "; "))),
    };
    match (ended, findings.unknown.is_empty()) {
        (Some(ended), true) => format!("{ended}; nothing else differs by more than noise"),
        (Some(ended), false) => format!("{ended}; too little to tell for {}", join_first_few(&findings.unknown, ", ")),
        (None, true) => format!("{label} does not differ from {first} by more than noise"),
        (None, false) => {
            format!(
                "too little was measured to tell whether {label} differs from {first} in {}",
                join_first_few(&findings.unknown, ", ")
            )
        }
    }
}

fn join_first_few(all: &[String], between: &str) -> String {
    let more = match all.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!("{between}{more} more"),
    };
    all.iter().take(NAMED).cloned().collect::<Vec<_>>().join(between) + &more
}

/// The middle and half the width of a confidence interval.
pub(super) struct Interval {
    middle: f64,
    half: f64,
}

impl Interval {
    pub(super) fn new(low: f64, high: f64) -> Interval {
        Interval { middle: (low + high) / 2.0, half: (high - low).abs() / 2.0 }
    }

    fn absolute_value(self) -> Interval {
        Interval { middle: self.middle.abs(), ..self }
    }
}

/// `1.30 ± 0.04`: as many digits as the half width has meaning. A difference that is known without an interval is only
/// about right: `about 12`.
impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.half == 0.0 {
            return write!(f, "about {:.*}", usize::from(self.middle < 10.0), self.middle);
        }
        // A half width of 0.1 may be stored as a little less.
        let digits = (-(self.half * 1.000_001).log10().floor()).clamp(0.0, 4.0) as usize;
        write!(f, "{:.digits$} ± {:.digits$}", self.middle, self.half.max(0.1f64.powi(digits as i32)))
    }
}

/// The streams about which it is too little to tell.
pub(super) fn without_answer(streams: &[StreamRow]) -> impl Iterator<Item = &StreamRow> {
    principal_streams(streams).filter(|row| {
        row.figures.iter().flat_map(|figure| &figure.against_first).any(|answer| *answer == Answer::CannotTell)
    })
}

/// `at least 1 min 20 s`.
pub(super) fn required_time_text(ns: u64) -> String {
    Span::from_secs(ns.div_ceil(1_000_000_000)).human_text()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conclusion_says_which_runs_failed_or_prove_nothing() {
        use Verdict::{Fail, Incomplete, Invalid, Pass};
        let same = "b does not differ from a by more than noise";
        for (first, this, said) in [
            (Pass, Pass, ""),
            (Pass, Fail, "; but b is FAIL and a is PASS"),
            (Fail, Pass, "; but b is PASS and a is FAIL"),
            (Fail, Fail, "; both are FAIL"),
            (Pass, Invalid, "; but b is INVALID and a is PASS, so that this proves nothing"),
            (Invalid, Fail, "; but b is FAIL and a is INVALID, so that this proves nothing"),
            (Incomplete, Incomplete, "; both are INCOMPLETE, so that this proves nothing"),
        ] {
            let conclusions = vec![Conclusion { label: "b".into(), sentence: same.into() }];
            let found = with_verdicts(conclusions, "a", &[first, this]);
            assert_eq!(found[0].sentence, format!("{same}{said}"));
        }
    }

    #[test]
    fn an_interval_has_the_digits_that_it_can_have() {
        for (low, high, expected) in [
            (1.2, 1.4, "1.3 ± 0.1"),
            (1.26, 1.34, "1.30 ± 0.04"),
            (1.0251, 1.0259, "1.0255 ± 0.0004"),
            (1.0, 41.0, "21 ± 20"),
            (12.0, 12.0, "about 12"),
            (1.0025, 1.002501, "1.0025 ± 0.0001"),
        ] {
            assert_eq!(Interval::new(low, high).to_string(), expected);
        }
    }
}
