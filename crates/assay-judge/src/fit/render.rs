//! A fit as text. Names may be hostile input: the page cleans them.

use super::figures::{Compared, Figure};
use super::outcome::Outcome;
use super::trail::{Round, Trail};
use crate::render::Page;
use crate::verdict::Verdict;
use assay_base::{Knobs, Span};
use std::fmt;

/// How it ended, a table for each round, and the reason for each figure that does not agree.
pub fn write_text(trail: &Trail, out: &mut dyn fmt::Write) -> fmt::Result {
    let mut page = Page::default();
    page.add_text("", &format!("{}: {}", title_line(trail), ending_in_words(trail)));
    let round = Span::from_ns(trail.round_ns);
    let tolerance = shortest_percent_text(trail.tolerance);
    page.add_text(
        "",
        &format!("{round} a round; {tolerance} is allowed, and in addition the counting noise of a round"),
    );
    if !trail.watermarks.is_empty() {
        page.add_text("", &trail.watermarks.join(", "));
    }
    for (at, round) in trail.rounds.iter().enumerate() {
        page.add_blank_line();
        let before = at.checked_sub(1).map(|before| trail.rounds[before].knobs);
        add_round_table(&mut page, at + 1, round, before);
    }
    if let Some(Outcome::Apart { figures, .. }) = &trail.outcome {
        page.add_blank_line();
        for short in figures {
            page.add_text(&format!("{}: ", short.of.figure.iostat_name()), &short.why.to_string());
        }
    }
    page.add_blank_line();
    trail.notes.iter().for_each(|note| page.add_text("note: ", note));
    page.write_lines(out)
}

fn title_line(trail: &Trail) -> String {
    match trail.drive.as_str() {
        "" => format!("{} on {}", trail.workload, trail.target),
        drive => format!("{} ({drive}) on {}", trail.workload, trail.target),
    }
}

/// How a fit ended, in words.
pub(crate) fn ending_in_words(trail: &Trail) -> String {
    match &trail.outcome {
        None => "the fit goes on".to_owned(),
        Some(Outcome::Agrees { round }) => format!("agrees with production in round {round}"),
        Some(Outcome::Apart { round, figures }) => {
            let names: Vec<&str> = figures.iter().map(|short| short.of.figure.iostat_name()).collect();
            let do_not = if names.len() == 1 { "does not" } else { "do not" };
            format!("{} {do_not} agree with production; nearest in round {round}", names.join(", "))
        }
        Some(Outcome::NotCarried { round }) => {
            let why = trail.rounds.get(round.saturating_sub(1)).map_or("", |round| round.reason.as_str());
            format!("the device does not carry production's load: {why}")
        }
        Some(Outcome::Stopped { verdict: Verdict::Fail, .. }) => {
            let failed = trail.aside.failures.first();
            let what = failed.map_or("", |run| run.failure.as_ref().unwrap_or(&run.reason));
            format!("the target failed, which no load excuses: {what}")
        }
        Some(Outcome::Stopped { verdict: Verdict::Incomplete, round }) => {
            format!("cut short in round {round}")
        }
        Some(Outcome::Stopped { round, verdict }) => {
            let why = trail.rounds.get(round.saturating_sub(1)).map_or("", |round| round.reason.as_str());
            format!("round {round} was {verdict}, so nothing is known: {why}")
        }
    }
}

fn add_round_table(page: &mut Page, number: usize, round: &Round, before: Option<Knobs>) {
    let moved = match before {
        None => "as the profile stands".to_owned(),
        Some(before) => moved_knobs_text(&before, &round.knobs),
    };
    page.add_text(&format!("round {number}  "), &moved);
    if round.figures.is_empty() {
        page.add_text("  ", &format!("{}: {}", round.verdict, round.reason));
        return;
    }
    page.add_line("           production         ours   difference     allowed");
    round.figures.iter().for_each(|one| page.add_line(figure_row(one)));
    if round.verdict != Verdict::Pass {
        page.add_text("  ", &format!("{}: {}", round.verdict, round.reason));
    }
}

fn figure_row(one: &Compared) -> String {
    format!(
        "  {:6} {:>12.1} {:>12.1} {:>12} {:>11}{}",
        one.figure.iostat_name(),
        shown_value(one.production, one),
        shown_value(one.measured, one),
        format!("{:+.2}%", one.difference * 100.0),
        format!("{:.2}%", one.allowed * 100.0),
        if one.agrees() { "" } else { "  too far" }
    )
}

/// A value in the unit of its figure.
fn shown_value(value: f64, one: &Compared) -> f64 {
    if one.figure.is_bytes() { value / 1024.0 } else { value }
}

/// Each knob that has changed, such as `large-block reads 100% -> 115.3%`.
pub fn moved_knobs_text(before: &Knobs, after: &Knobs) -> String {
    let pairs = before.named_values().into_iter().zip(after.named_values());
    let changed = pairs.filter(|((_, before), (_, after))| before != after);
    let each: Vec<String> = changed.map(|((name, before), (_, after))| format!("{name} {before} -> {after}")).collect();
    if each.is_empty() { "the same once more".to_owned() } else { each.join(", ") }
}

fn shortest_percent_text(share: f64) -> String {
    let text = format!("{:.2}", share * 100.0);
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.iostat_name())
    }
}
