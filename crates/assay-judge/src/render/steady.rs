//! Steadiness in words, for every rendering alike.

use crate::judgement::{Change, Part, Steadiness};
use crate::render::html::figures::clock;
use assay_base::Span;
use assay_base::steady::ROUNDS;

/// `96.8 µs`, or `1200.0/s`.
pub(crate) fn level(steadiness: &Steadiness, value: f64) -> String {
    match steadiness.measure.as_str() {
        "throughput" => format!("{value:.1}/s"),
        _ => Span::from_ns(value as u64).human(),
    }
}

/// `mean response of reads rose 45% (96.8 µs to 140 µs)`.
pub(crate) fn change(steadiness: &Steadiness, change: &Change) -> String {
    let share = change.after / change.before - 1.0;
    format!(
        "{} of {} {} {:.0}% ({} to {})",
        steadiness.measure,
        steadiness.stream,
        if share < 0.0 { "fell" } else { "rose" },
        share.abs() * 100.0,
        level(steadiness, change.before),
        level(steadiness, change.after)
    )
}

/// The lines of the summary, for the stream that is judged first: that it was not steady at the end, and its largest change.
pub(crate) fn lines(part: &Part) -> Vec<String> {
    let judged = part.criteria.iter().find_map(|criterion| criterion.stream.as_deref());
    let mine = |it: &&Steadiness| judged.is_none_or(|judged| judged == it.stream);
    let Some(steadiness) = part.steadiness.iter().find(mine) else { return Vec::new() };
    let end = steadiness.last.as_ref().filter(|last| !last.steady).map(|last| {
        format!(
            "not steady at the end: {} {} within {:.1}%, slope {:+.1}%, {ROUNDS} rounds of {}",
            steadiness.stream,
            steadiness.measure,
            last.excursion * 100.0,
            last.slope * 100.0,
            Span::from_ns(steadiness.round_ns).human(),
        )
    });
    let largest = steadiness.changes.iter().max_by(|a, b| a.size().total_cmp(&b.size()));
    let change = largest.map(|largest| {
        let more = steadiness.changes.len() - 1;
        let more = if more > 0 { format!(", {more} more") } else { String::new() };
        format!("change at {}: {}{more}", clock(largest.at_ns), change(steadiness, largest))
    });
    end.into_iter().chain(change).collect()
}
