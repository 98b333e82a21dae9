//! The section on whether the result can be believed: checks, warnings, and what happened during the run.

use super::checks::{self, Check};
use crate::judgement::StepFigures;
use crate::words::clock_text;

/// What speaks for and against the result.
pub(crate) struct ProofView<'a> {
    pub checks: Vec<Check>,
    pub warnings: &'a [String],
    pub happenings: Vec<Happening<'a>>,
    /// Events that are not among them.
    pub events_left_out: u64,
}

/// An event, or an interruption.
pub(crate) struct Happening<'a> {
    pub at_ns: u64,
    pub at: String,
    pub what: &'a str,
    pub text: String,
}

impl<'a> ProofView<'a> {
    pub(crate) fn new(part: &'a StepFigures, warnings: &'a [String]) -> ProofView<'a> {
        let events_left_out = part.course.events_left_out;
        ProofView { checks: checks::all_checks(part), warnings, happenings: all_happenings(part), events_left_out }
    }
}

fn all_happenings(part: &StepFigures) -> Vec<Happening<'_>> {
    // Simulated time has no date at which the run could have continued.
    let simulated = part.targets.each.iter().any(|target| target.head.kind == "simulated");
    let gaps = part.course.gaps.iter().map(|gap| {
        let resumed = if simulated { "resumed".to_owned() } else { format!("resumed {}", gap.resumed) };
        Happening {
            at_ns: gap.at_ns,
            at: clock_text(gap.at_ns),
            what: "gap",
            text: format!("{}; {resumed}", gap.before),
        }
    });
    let events = part.course.events.iter().map(|event| {
        let details: Vec<String> = event.details.iter().map(|(name, value)| format!("{name} {value}")).collect();
        let details = if details.is_empty() { String::new() } else { format!(" ({})", details.join(", ")) };
        let text = format!("{}{details}", event.text);
        Happening { at_ns: event.at_ns, at: clock_text(event.at_ns), what: event.what.as_str(), text }
    });
    let mut all: Vec<Happening<'_>> = gaps.chain(events).collect();
    all.sort_by_key(|happening| happening.at_ns);
    all
}
