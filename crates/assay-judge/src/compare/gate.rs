//! A comparison as a gate: whether a run is worse than the first by more than a tolerance. A run that proves nothing opens no
//! gate and closes none.

use super::conclusion::{figure_name, principal_streams, required_time_text};
use super::{Answer, Comparison, Figure, RunSummary, StreamRow};
use crate::verdict::Verdict;
use assay_base::Share;
use serde::Serialize;

/// The figures of each stream that decide.
const DECIDING: [&str; 2] = ["p50", "p99"];
/// A longer run than this many times is not proposed: then the difference is as large as the tolerance.
const LONGEST: f64 = 100.0;

/// What a gate says of all runs together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum GateOutcome {
    /// No run is worse by more than the tolerance.
    NotWorse,
    /// It is too little to tell.
    Unknown,
    /// A run is worse.
    Worse,
}

/// The answer, with a sentence for each run but the first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Gate {
    /// The worst of all.
    pub outcome: GateOutcome,
    /// How much longer the response may be.
    pub tolerance: String,
    /// Why.
    pub sentences: Vec<String>,
}

impl Gate {
    /// Judges a comparison: worse is a run in which the p50 or the p99 of a stream's response is longer than the first
    /// run's by more than `tolerance`, or which fails where the first one passes.
    pub fn new(comparison: &Comparison, tolerance: Share) -> Gate {
        let bound = 1.0 + tolerance.as_ppb() as f64 / 1e9;
        let runs = comparison.runs.iter().skip(1).enumerate();
        let answers: Vec<(GateOutcome, String)> = runs.map(|(at, run)| judge_run(comparison, at, run, bound)).collect();
        let outcome = answers.iter().map(|(outcome, _)| *outcome).max().unwrap_or(GateOutcome::NotWorse);
        Gate {
            outcome,
            tolerance: tolerance.to_string(),
            sentences: answers
                .into_iter()
                .map(|(outcome, why)| match outcome {
                    GateOutcome::NotWorse => format!("{why} by more than {tolerance}"),
                    GateOutcome::Unknown | GateOutcome::Worse => why,
                })
                .collect(),
        }
    }
}

fn is_proof(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Pass | Verdict::Fail)
}

/// What is found of the run at this place behind the first.
fn judge_run(comparison: &Comparison, at: usize, run: &RunSummary, bound: f64) -> (GateOutcome, String) {
    let (label, first) = (&run.label, &comparison.runs[0]);
    if let Some(proves_nothing) = [first, run].into_iter().find(|run| !is_proof(run.verdict)) {
        let (label, verdict) = (&proves_nothing.label, proves_nothing.verdict);
        return (GateOutcome::Unknown, format!("{label} is {verdict}: it proves nothing"));
    }
    let mut worse: Vec<String> = Vec::new();
    if (first.verdict, run.verdict) == (Verdict::Pass, Verdict::Fail) {
        worse.push(format!("it is FAIL where {} is PASS", first.label));
    }
    let mut unknown = Reasons::default();
    for (row, figure) in deciding_figures(comparison) {
        match of_figure(figure, at, bound) {
            FigureVerdict::Worse(how) => worse.push(format!("{} {how}", figure_name(row, figure))),
            FigureVerdict::Unknown(how) => unknown.add_figure(how, figure_name(row, figure)),
            FigureVerdict::NotWorse => {}
        }
    }
    let (is_worse, is_known) = (!worse.is_empty(), unknown.0.is_empty());
    // Others slow a run down: what is slower beside them need not be, and what is no slower than a first run beside them may be.
    let disturbed = if is_worse { run } else { first };
    match disturbed.foreign.first().filter(|_| is_worse || is_known) {
        Some(others) => (
            GateOutcome::Unknown,
            format!("others used the disk of {} ({others}): measure again without them", disturbed.label),
        ),
        None if is_worse => (GateOutcome::Worse, format!("{label} is worse: {}", worse.join(", "))),
        None if is_known => (GateOutcome::NotWorse, format!("{label} is not worse than {}", first.label)),
        None => (GateOutcome::Unknown, unknown_sentence(comparison, label, &unknown)),
    }
}

/// Figures that leave it open whether a run is worse, by the reason, in the order in which the reasons came up.
#[derive(Debug, Default)]
struct Reasons(Vec<(Doubt, Vec<String>)>);

impl Reasons {
    fn add_figure(&mut self, doubt: Doubt, figure: String) {
        match self.0.iter_mut().find(|(known, _)| *known == doubt) {
            Some((_, figures)) => figures.push(figure),
            None => self.0.push((doubt, vec![figure])),
        }
    }

    /// `reads p50, writes p50 have too few intervals; reads p99 is 0.99 to 1.12 times as long`.
    fn in_words(&self) -> String {
        let said = self.0.iter().map(|(doubt, figures)| match (doubt, figures.len()) {
            (Doubt::FewIntervals, 1) => format!("{} has too few intervals", figures[0]),
            (Doubt::FewIntervals, _) => format!("{} have too few intervals", figures.join(", ")),
            (Doubt::Interval(how), _) => format!("{} {how}", figures.join(", ")),
        });
        said.collect::<Vec<_>>().join("; ")
    }
}

fn unknown_sentence(comparison: &Comparison, label: &str, unknown: &Reasons) -> String {
    let needed =
        comparison.measure_at_least_ns.map(|ns| format!("; measure each run for at least {}", required_time_text(ns)));
    format!("too little to tell whether {label} is worse: {}{}", unknown.in_words(), needed.unwrap_or_default())
}

/// Each deciding figure with its row.
fn deciding_figures(comparison: &Comparison) -> impl Iterator<Item = (&StreamRow, &Figure)> {
    principal_streams(&comparison.streams).flat_map(|row| {
        let row: &StreamRow = row;
        row.figures.iter().filter(|figure| DECIDING.contains(&figure.what.as_str())).map(move |figure| (row, figure))
    })
}

/// What is found of one figure.
#[derive(Debug, PartialEq)]
enum FigureVerdict {
    NotWorse,
    Worse(String),
    Unknown(Doubt),
}

/// Why a figure leaves it open.
#[derive(Debug, PartialEq)]
enum Doubt {
    /// Too few intervals were measured for any answer.
    FewIntervals,
    /// The bound lies within what the figure can be; in words.
    Interval(String),
}

fn of_figure(figure: &Figure, at: usize, bound: f64) -> FigureVerdict {
    match figure.against_first.get(at) {
        Some(Answer::Worse) => FigureVerdict::Worse("is that of a run that was ended by its lag".to_owned()),
        Some(Answer::Better) | None => FigureVerdict::NotWorse,
        Some(Answer::CannotTell) => FigureVerdict::Unknown(Doubt::FewIntervals),
        Some(Answer::Noise { low, high } | Answer::Differs { low, high }) => of_interval(*low, *high, bound),
    }
}

/// Compares an interval of a ratio with the bound.
fn of_interval(low: f64, high: f64, bound: f64) -> FigureVerdict {
    match (low > bound, high <= bound) {
        (true, _) => FigureVerdict::Worse(format!("is {} times as long", super::conclusion::Interval::new(low, high))),
        (_, true) => FigureVerdict::NotWorse,
        _ => {
            let how = format!("is {low:.2} to {high:.2} times as long{}", run_length_factor(low, high, bound));
            FigureVerdict::Unknown(Doubt::Interval(how))
        }
    }
}

/// How many times as long a run must be for an interval that does not hold the bound: its width falls with the root of
/// the time.
fn run_length_factor(low: f64, high: f64, bound: f64) -> String {
    let (low, high, bound) = (low.max(1e-9).ln(), high.max(1e-9).ln(), bound.ln());
    let (middle, half) = ((low + high) / 2.0, (high - low) / 2.0);
    let times = (half / (bound - middle).abs().max(1e-9)).powi(2);
    match times {
        times if times <= LONGEST => format!(" (runs {:.0} times as long would tell)", times.ceil().max(2.0)),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(how: &str) -> FigureVerdict {
        FigureVerdict::Unknown(Doubt::Interval(how.to_owned()))
    }

    #[test]
    fn figures_that_leave_it_open_are_named_together_by_their_reason() {
        let mut reasons = Reasons::default();
        let names = ["reads p50", "reads p99", "writes p50"].map(str::to_owned);
        reasons.add_figure(Doubt::FewIntervals, names[0].clone());
        assert_eq!(reasons.in_words(), "reads p50 has too few intervals");
        reasons.add_figure(Doubt::Interval("is 0.99 to 1.11 times as long".to_owned()), names[1].clone());
        reasons.add_figure(Doubt::FewIntervals, names[2].clone());
        let expected = "reads p50, writes p50 have too few intervals; reads p99 is 0.99 to 1.11 times as long";
        assert_eq!(reasons.in_words(), expected);
    }

    #[test]
    fn an_interval_is_worse_only_as_a_whole_and_not_worse_only_as_a_whole() {
        for (low, high, expected) in [
            (1.06, 1.30, FigureVerdict::Worse("is 1.2 ± 0.1 times as long".to_owned())),
            (12.0, 12.0, FigureVerdict::Worse("is about 12 times as long".to_owned())),
            (0.90, 1.05, FigureVerdict::NotWorse),
            (0.10, 0.10, FigureVerdict::NotWorse),
            (0.98, 1.06, interval("is 0.98 to 1.06 times as long (runs 2 times as long would tell)")),
            (0.99, 1.113, interval("is 0.99 to 1.11 times as long")),
        ] {
            assert_eq!(of_interval(low, high, 1.05), expected, "{low} to {high}");
        }
    }
}
