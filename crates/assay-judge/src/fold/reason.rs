//! The reason for the verdict of a step, in one or two sentences.

use crate::finding::{Class, Finding, deciding_finding};
use crate::judgement::{Counts, Course, CriterionOutcome, Deciding, StepFigures, StreamFigures};
use crate::rules::value::bound_as_number;
use crate::verdict::Verdict;
use crate::words::{change_sentence, clock_text, event_in_words, human_time, list_in_words};
use assay_base::Span;
use assay_record::EventKind;
use std::collections::{BTreeMap, BTreeSet};

/// The verdict, its reason, and the place that decided, if there is one.
pub(crate) fn decide_verdict(findings: &[Finding], part: &StepFigures) -> (Verdict, String, Option<Deciding>) {
    let Some(finding) = deciding_finding(findings) else { return (Verdict::Pass, pass_reason(part), None) };
    let reason = match finding.severity_class() {
        Class::Broken => finding.as_sentence() + &changes_in_window(&part.course, &finding.deciding),
        Class::Errors => also_failed(findings, finding),
        Class::Between | Class::Unproven | Class::Missing => finding.as_sentence(),
    };
    (finding.verdict(), reason, finding.is_placed().then(|| finding.deciding.clone()))
}

/// What failed, in words, whatever decided.
pub(crate) fn failure_in_words(findings: &[Finding]) -> Option<String> {
    let failed = findings.iter().filter(|finding| finding.is_failure());
    let first = failed.min_by_key(|finding| finding.deciding.start_ns)?;
    Some(also_failed(findings, first))
}

/// Upper bound on the error findings that a reason names besides the deciding one.
const ALSO: usize = 7;

/// The first error decides; the other streams and targets that failed are named as well.
fn also_failed(findings: &[Finding], first: &Finding) -> String {
    let others: Vec<String> = findings
        .iter()
        .filter(|other| other.severity_class() == Class::Errors && place_of(other) != place_of(first))
        .filter_map(|other| {
            let Deciding { stream, target, measured, .. } = &other.deciding;
            Some(format!("{} on {}: {}", stream.as_ref()?, target.as_ref()?, measured.as_ref()?))
        })
        .collect();
    let more = match others.len().saturating_sub(ALSO) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    if others.is_empty() {
        first.as_sentence()
    } else {
        let named = others.iter().take(ALSO).cloned().collect::<Vec<_>>().join(", ");
        format!("{}; also {named}{more}", first.as_sentence())
    }
}

/// The stream and the target that a finding is about.
fn place_of(finding: &Finding) -> (Option<String>, Option<String>) {
    (finding.deciding.stream.clone(), finding.deciding.target.clone())
}

/// What else changed in the deciding window: the largest change of level, and the kinds of events in it. Empty when
/// nothing did.
fn changes_in_window(course: &Course, window: &Deciding) -> String {
    let changed = course
        .largest_change(window.start_ns..window.end_ns)
        .map(|(steadiness, at)| format!("{} at {}", change_sentence(steadiness, at), clock_text(at.at_ns)));
    let mut kinds: BTreeMap<&str, (&EventKind, u64)> = BTreeMap::new();
    for event in course.events.iter().filter(|event| {
        (window.start_ns..window.end_ns).contains(&event.at_ns)
            && !matches!(event.what, EventKind::Health | EventKind::Warning | EventKind::Steady | EventKind::Mark)
    }) {
        kinds.entry(event.what.as_str()).or_insert((&event.what, 0)).1 += 1;
    }
    let events = kinds.values().map(|(kind, times)| event_in_words(kind, *times));
    let all: Vec<String> = changed.into_iter().chain(events).collect();
    if all.is_empty() { String::new() } else { format!("; meanwhile {}", all.join(", ")) }
}

/// Why it passed, and which criterion came nearest to its bound.
fn pass_reason(part: &StepFigures) -> String {
    // A slice may have been measured twice.
    let kept: BTreeSet<u64> = part.slices.listed.iter().map(|slice| slice.number).collect();
    let slices = kept.len() as u64 + part.slices.left_out;
    let over = match slices {
        _ if part.course.has_unasked_part() => format!("in the parts that the criteria name, {}", asked_parts(part)),
        1 => format!("over the measured {}", Span::from_ns(part.time.planned_ns).human_text()),
        n => format!("in all {n} slices of {}", Span::from_ns(part.time.slice_ns).human_text()),
    };
    let allowed = allowed_failures_text(&part.streams);
    let clean = if allowed.is_empty() { ", without an error" } else { "" };
    let also = allowed + &checks_in_words(part);
    if part.stress {
        return format!("the load was delivered {over}{clean}; latencies do not count in a stress test{also}");
    }
    let nearest = part.criteria.iter().filter_map(nearness_to_bound).max_by(|a, b| a.0.total_cmp(&b.0));
    match nearest {
        Some((_, text)) => format!("the load was delivered and every bound held {over}; closest: {text}{also}"),
        None => format!("the load was delivered {over}{clean}; no other criterion was asked for{also}"),
    }
}

/// The parts of the run of which the criteria ask something: `1 (healthy) and 3 (recovered)`.
fn asked_parts(part: &StepFigures) -> String {
    let numbered = part.course.parts.iter().enumerate().filter(|(_, part)| part.is_asked_of());
    let named: Vec<String> = numbered.map(|(at, part)| format!("{} ({})", at + 1, part.kind)).collect();
    let allowed =
        part.course.parts.iter().filter_map(|part| part.recovery.as_ref()).map(|recovery| recovery.allowed_ns).max();
    let allowed = allowed.filter(|ns| *ns > 0).map(|ns| format!(", after {} allowed for a recovery", human_time(ns)));
    list_in_words(&named) + &allowed.unwrap_or_default()
}

/// How near a criterion came to its bound, and what was measured.
fn nearness_to_bound(criterion: &CriterionOutcome) -> Option<(f64, String)> {
    let limit = bound_as_number(&criterion.asked.exact_bound?);
    let figures = criterion.worst.iter().chain(&criterion.targets);
    let worst = figures.max_by(|a, b| a.value.total_cmp(&b.value))?;
    let on = worst.target.as_ref().map(|target| format!(" on {target}")).unwrap_or_default();
    Some((
        worst.value / limit,
        format!("{} {}{on}, bound {}", criterion.asked.title, worst.text, criterion.asked.bound),
    ))
}

/// The operations that failed, where the criteria allow some.
fn allowed_failures_text(streams: &StreamFigures) -> String {
    let sum = |of: fn(&Counts) -> u64| {
        streams.streams_over_all_targets().fold(0u64, |sum, totals| sum.saturating_add(of(&totals.counts)))
    };
    let failed = sum(|counts| counts.failed_operations().saturating_add(counts.short));
    match failed {
        0 => String::new(),
        n => format!(
            "; {n} of {} operations failed, which the criteria allow",
            n.saturating_add(sum(|counts| counts.operations))
        ),
    }
}

/// What was looked at after the run; the same for several databases is said once.
fn checks_in_words(part: &StepFigures) -> String {
    let found: BTreeSet<&str> = part.databases.iter().filter_map(|database| database.checked.as_deref()).collect();
    if found.is_empty() {
        String::new()
    } else {
        format!("; checked afterwards: {}", found.into_iter().collect::<Vec<_>>().join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judgement::{DatabaseFigures, MeasuredTime, SliceList, StreamTotals};

    #[test]
    fn a_pass_names_the_failures_that_were_allowed_and_what_was_checked() {
        let stream = |name: &str, operations, errors: &[(&str, u64)], short| {
            let errors = errors.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect();
            let counts = Counts { operations, errors, short, ..Counts::default() };
            StreamTotals { name: name.to_owned(), counts, ..StreamTotals::default() }
        };
        let of = |each, checked: &[Option<&str>], stress| {
            let database = |found: &Option<&str>| DatabaseFigures {
                checked: found.map(ToOwned::to_owned),
                ..DatabaseFigures::default()
            };
            let databases = checked.iter().map(database).collect();
            let streams = StreamFigures { each, ..StreamFigures::default() };
            pass_reason(&StepFigures { streams, databases, stress, ..StepFigures::default() })
        };
        let clean = of(vec![stream("reads", 9, &[], 0)], &[], false);
        assert!(clean.contains("without an error") && !clean.contains("failed"), "{clean}");
        for stress in [false, true] {
            let each = vec![stream("reads", 90, &[("EIO", 3), ("ENOSPC", 2)], 1), stream("writes", 4, &[], 0)];
            let failed = of(each, &[], stress);
            assert!(!failed.contains("without an error"), "{failed}");
            assert!(failed.ends_with("; 6 of 100 operations failed, which the criteria allow"), "{failed}");
        }
        let both = of(Vec::new(), &[Some("all 15 conditions hold"), None, Some("all 15 conditions hold")], false);
        assert!(both.ends_with("; checked afterwards: all 15 conditions hold"), "{both}");
    }

    #[test]
    fn slices_that_are_not_listed_have_passed_too() {
        for (left_out, expected) in [(1, "over the measured 2 h"), (3, "in all 3 slices of 1 h")] {
            let hour = 3_600_000_000_000;
            let time = MeasuredTime { slice_ns: hour, planned_ns: 2 * hour, ..MeasuredTime::default() };
            let slices = SliceList { left_out, ..SliceList::default() };
            let part = StepFigures { time, slices, ..StepFigures::default() };
            let (verdict, reason, _) = decide_verdict(&[], &part);
            assert!(verdict == Verdict::Pass && reason.contains(expected), "{reason}");
        }
    }
}
