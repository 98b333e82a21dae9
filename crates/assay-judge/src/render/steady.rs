//! Steadiness in the summary.

use crate::render::shown::Shown;
use crate::verdict::Verdict;
use crate::words::{change_sentence, clock_text};
use assay_base::Span;
use assay_base::steady::ROUNDS;

/// The lines of the summary for the stream that is judged first: that it was not steady at the end, and its largest
/// change, unless the reason mentions it already.
pub(crate) fn steadiness_lines(shown: Shown<'_>) -> Vec<String> {
    let part = shown.part;
    let judged = part.criteria.iter().find_map(|criterion| criterion.asked.stream.as_deref());
    let Some(steadiness) =
        part.course.steadiness.iter().find(|steadiness| judged.is_none_or(|judged| judged == steadiness.stream))
    else {
        return Vec::new();
    };
    let end = steadiness.last.as_ref().filter(|last| !last.steady).map(|last| {
        format!(
            "not steady at the end: the {} of {} differed by up to {:.1}% among the last {ROUNDS} rounds of {}, with a trend of {:+.1}%",
            steadiness.measure,
            steadiness.stream,
            last.excursion * 100.0,
            Span::from_ns(steadiness.round_ns).human_text(),
            last.slope * 100.0,
        )
    });
    let largest = steadiness.changes.iter().max_by(|a, b| a.relative_size().total_cmp(&b.relative_size()));
    // Where a window decided a FAIL, the reason mentions what changed in it.
    let decided = shown.deciding.filter(|deciding| shown.verdict == Verdict::Fail && deciding.slice.is_some());
    let reported = decided.and_then(|window| part.course.largest_change(window.start_ns..window.end_ns));
    let largest = largest
        .filter(|largest| !reported.is_some_and(|(changed, at)| changed.stream == steadiness.stream && at == *largest));
    let change = largest.map(|largest| {
        let more = steadiness.changes.len() - 1;
        let more = if more > 0 { format!(", {more} more") } else { String::new() };
        format!("change at {}: {}{more}", clock_text(largest.at_ns), change_sentence(steadiness, largest))
    });
    end.into_iter().chain(change).collect()
}
