//! A sizing as text. Names may be hostile input: the page cleans them.

use super::{Candidate, Demand, Sizing};
use crate::limit::Outcome;
use crate::render::Page;
use std::fmt;

/// Width of a target's name; its end identifies it better than its beginning.
const NAME: usize = 22;

/// A row for each candidate, what broke, and how many are needed.
pub fn write_text(sizing: &Sizing, out: &mut dyn fmt::Write) -> fmt::Result {
    let mut page = Page::default();
    page.add_text("", &title_line(sizing));
    page.add_text("", &demand_in_words(&sizing.demand));
    if !sizing.watermarks.is_empty() {
        page.add_text("", &sizing.watermarks.join(", "));
    }
    page.add_blank_line();
    page.add_line(format!(
        "{:NAME$}  {:>9}  {:>14}  {:>6}  {:>12}",
        "", "holds", "drive writes", "drives", "drive writes"
    ));
    page.add_line(format!(
        "{:NAME$}  {:>9}  {:>14}  {:>6}  {:>12}",
        "candidate", "times 1x", "a day at 1x", "needed", "a day then"
    ));
    sizing.candidates.iter().for_each(|one| add_candidate_row(&mut page, one));
    page.add_blank_line();
    for one in &sizing.candidates {
        page.add_line(&one.target);
        page.add_text("  ", &endings_in_words(one));
    }
    page.add_blank_line();
    if let Some(best) = sizing.fewest_needed() {
        let drives = best.need.map_or(0, |need| need.drives);
        page.add_text("", &format!("Fewest drives: {drives} of {}.", best.target));
    }
    page.add_text("", &formula_in_words(&sizing.demand));
    page.write_lines(out)
}

fn title_line(sizing: &Sizing) -> String {
    let whose = if sizing.drive.is_empty() { "one drive of production" } else { &sizing.drive };
    format!("{}: 1x is the load of {whose}", sizing.workload)
}

/// What the drives must provide.
pub(super) fn demand_in_words(demand: &Demand) -> String {
    let drives = if demand.drives == 1 { "1 drive".to_owned() } else { format!("{} drives", demand.drives) };
    format!("production has {drives}; asked is {} of its load, with {} of headroom", demand.growth, demand.headroom)
}

/// How many drives are needed, with the numbers of the formula.
pub(super) fn formula_in_words(demand: &Demand) -> String {
    let Demand { drives, growth, headroom } = demand;
    format!(
        "Drives needed = {drives} × {growth} / (what one holds × (1 − {headroom})), rounded up. By load alone: what the data take is another bound."
    )
}

fn add_candidate_row(page: &mut Page, one: &Candidate) {
    let name = match one.target.chars().count().checked_sub(NAME) {
        Some(over) if over > 0 => format!("…{}", one.target.chars().skip(over + 1).collect::<String>()),
        _ => one.target.clone(),
    };
    page.add_line(format!(
        "{name:NAME$}  {:>9}  {:>14}  {:>6}  {:>12}",
        held_load_text(one),
        per_day(one.drive_writes_a_day),
        one.need.map_or("-".to_owned(), |need| need.drives.to_string()),
        per_day(one.need.and_then(|need| need.drive_writes_a_day))
    ));
}

/// Drive writes a day, or a dash.
fn per_day(day: Option<f64>) -> String {
    day.map_or("-".to_owned(), |day| format!("{day:.2}"))
}

/// The load that it holds: `8.25x`, `>= 16x`, `none`, `?`.
pub(super) fn held_load_text(one: &Candidate) -> String {
    match (one.holds, one.limit) {
        (Some(holds), Some(Outcome::NeverFailed { .. } | Outcome::Stopped { .. })) => format!(">= {holds}"),
        (Some(holds), _) => holds.to_string(),
        (None, Some(Outcome::NeverPassed { .. })) => "none".to_owned(),
        (None, _) if one.has_failure() => "failed".to_owned(),
        (None, _) => "?".to_owned(),
    }
}

/// How the fit and the search of a candidate ended.
pub(super) fn endings_in_words(one: &Candidate) -> String {
    let mut words = vec![one.fit.clone()];
    words.extend(one.limit.map(|outcome| outcome.to_string()));
    words.extend(one.broke.as_ref().map(|broke| format!("broken {broke}")));
    words.extend(one.failure.clone());
    words.extend(one.aside.as_sentences());
    words.join("; ")
}
