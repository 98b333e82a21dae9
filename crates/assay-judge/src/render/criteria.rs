//! The criteria of a part, one per line.

use crate::judgement::{CriterionOutcome, MeasuredTime, Outcome, StepFigures};
use crate::render::page::Page;
use crate::render::room::{LISTED, Room};
use crate::words::broken_on;
use assay_base::Span;

/// Columns for the title of a criterion.
const TITLE: usize = 36;

/// Writes them.
pub(crate) fn add_criteria(page: &mut Page, part: &StepFigures, room: Room) {
    page.add_line(format!("{:<12}{:<37}{:>9} {:>9}  {}", "", "criterion", "bound", "measured", "where"));
    // Where only some can be listed, those that decide come first.
    let listed = room.choose_lines(LISTED, LISTED / 2);
    let mut criteria: Vec<&CriterionOutcome> = part.criteria.iter().collect();
    if criteria.len() > listed {
        criteria.sort_by_key(|criterion| criterion.outcome == Outcome::Pass);
    }
    for criterion in criteria.into_iter().take(listed) {
        let measured = criterion.measured.as_ref().map_or("-", |figure| figure.text.as_str());
        let mark = format!("{:<12}", outcome_mark(criterion.outcome));
        let figures = format!(" {:>9} {measured:>9}  {}", criterion.asked.bound, place_in_words(criterion, &part.time));
        page.add_row(&mark, &criterion.asked.title, TITLE, &figures);
        // A target that is already named in the row needs no line of its own.
        let named =
            criterion.broken_on.len() == 1 && criterion.measured.as_ref().is_some_and(|figure| figure.target.is_some());
        if !criterion.broken_on.is_empty() && !named && room.broken_on > 0 {
            page.add_words("            ", &broken_on(&criterion.broken_on, part.targets.each.len()), room.broken_on);
        }
    }
    if part.criteria.len() > listed {
        page.add_line(format!("            … {} more criteria", part.criteria.len() - listed));
    }
    let mut notes: Vec<&String> = part.criteria.iter().filter_map(|criterion| criterion.note.as_ref()).collect();
    notes.dedup();
    let most = room.choose_lines(usize::MAX, 1);
    notes.iter().take(room.choose_lines(2, 1)).for_each(|note| page.add_words("            ", note, most));
}

fn outcome_mark(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "ok",
        Outcome::Fail => "FAIL",
        Outcome::Invalid => "INVALID",
        Outcome::Incomplete => "INCOMPLETE",
        Outcome::NotApplied => "not applied",
    }
}

/// `slice 6, sim:c`; empty where the window is the whole run.
fn place_in_words(criterion: &CriterionOutcome, time: &MeasuredTime) -> String {
    let Some(figure) = &criterion.measured else { return String::new() };
    let window = match criterion.asked.window_ns {
        length if length >= time.planned_ns => None,
        length if length == time.slice_ns => Some(format!("slice {}", figure.window)),
        length => Some(format!("{} slice {}", Span::from_ns(length).human_text(), figure.window)),
    };
    window.into_iter().chain(figure.target.clone()).collect::<Vec<_>>().join(", ")
}
