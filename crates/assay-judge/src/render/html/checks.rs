//! Whether the result can be believed: what the rules of proof examined, with their figures.
//!
//! The rules themselves are in `crate::rules`; nothing is decided here again. Where the judgement does not contain a
//! rule's answer, the figures are shown without a mark.

use super::figures::part_of_whole;
use super::figures::{count_text, time_text, two_decimals_percent};
use crate::judgement::{
    CriterionOutcome, DamagedPlace, DurabilityFigures, GeneratorFigures, Outcome, StepFigures, TargetFigures,
};
use crate::rules;
use assay_base::Bytes;

/// Above `OFF`, a difference between the block device's counters and our own is a warning; above `FAR_OFF` the run
/// proves nothing.
const OFF: f64 = 0.05;
const FAR_OFF: f64 = 0.5;

/// One check.
pub(crate) struct Check {
    pub class: &'static str,
    pub sign: &'static str,
    pub what: &'static str,
    pub found: String,
    pub why: &'static str,
}

#[derive(Clone, Copy)]
enum Mark {
    Good,
    Warn,
    Bad,
    Note,
}

fn new_check(mark: Mark, what: &'static str, found: String, why: &'static str) -> Check {
    let (class, sign) = match mark {
        Mark::Good => ("pass", "✓"),
        Mark::Warn => ("invalid", "⚠"),
        Mark::Bad => ("fail", "✗"),
        Mark::Note => ("incomplete", "·"),
    };
    Check { class, sign, what, found, why }
}

/// All checks of a step, the same ones in the same order for every run.
pub(crate) fn all_checks(part: &StepFigures) -> Vec<Check> {
    let mut checks: Vec<Check> =
        part.criteria.iter().filter(|outcome| outcome.asked.stream.is_none()).map(check_delivered).collect();
    checks.extend([
        own_lag(part),
        check_rest(&part.targets),
        check_overslept(part),
        check_slices(part),
        check_accounting(part),
        check_errors(part),
        check_disks(&part.targets),
        check_others(&part.targets),
        check_prepared(&part.targets),
        check_blanks(&part.targets),
    ]);
    checks.extend(part.targets.durability.iter().map(check_durability));
    checks.extend(check_integrity(&part.targets));
    checks.extend(check_generator(&part.generator));
    checks
}

/// Rule of proof: what was said to be durable was flushed. Flushes are those of everybody, so that enough of them are no proof.
fn check_durability(figures: &DurabilityFigures) -> Check {
    let is_broken = !rules::durability::check_durability(std::slice::from_ref(figures), 1).is_empty();
    let mark = match figures.flushes {
        _ if is_broken => Mark::Bad,
        None => Mark::Note,
        Some(_) if rules::durability::too_fast(figures).is_some() => Mark::Warn,
        Some(_) => Mark::Good,
    };
    let why = "A sync that reaches no device is fast, and keeps nothing through a loss of power.";
    new_check(mark, "Made durable", format!("{}: {}", figures.target, figures.in_words()), why)
}

fn check_delivered(outcome: &CriterionOutcome) -> Check {
    let mark = match outcome.outcome {
        Outcome::Pass => Mark::Good,
        Outcome::Fail => Mark::Bad,
        Outcome::Invalid | Outcome::Incomplete => Mark::Warn,
        Outcome::NotApplied => Mark::Note,
    };
    let measured = outcome.measured.as_ref().map_or("not measured".to_owned(), |figure| figure.text.clone());
    let found = format!("{measured} (bound {})", outcome.asked.bound);
    new_check(mark, "Load delivered", found, "A load that was not offered proves nothing.")
}

/// Rule of proof: 99 % of the own lag must lie below the smallest threshold that a criterion counts against.
fn own_lag(part: &StepFigures) -> Check {
    let below =
        part.slices.listed.iter().flat_map(|slice| &slice.streams).filter_map(|entry| entry.own_lag_p99_below_ns).max();
    let largest = part.streams.each.iter().filter_map(|totals| totals.own_lag.max_ns).max();
    let smallest = part.criteria.iter().filter_map(|outcome| outcome.asked.threshold).min();
    let found =
        format!("99 % below {} in the worst slice; largest {}", time_or_unknown(below), time_or_unknown(largest));
    let mark = match (below, smallest) {
        (Some(below), Some(smallest)) if below > smallest.as_ns() => Mark::Warn,
        (Some(_), _) => Mark::Good,
        (None, _) => Mark::Note,
    };
    new_check(mark, "Generator's own lag", found, "A late generator must not be taken for a slow device.")
}

/// A time in words.
fn time_or_unknown(ns: Option<u64>) -> String {
    ns.map_or("not counted".to_owned(), time_text)
}

/// Rule of proof: the share of a slice for which a target may rest because of the generator, or a closed loop may
/// oversleep.
const LATE: f64 = 0.01;

fn check_rest(targets: &TargetFigures) -> Check {
    let late = targets.each.iter().filter_map(|target| target.lateness.as_ref());
    let worst = late.max_by(|a, b| a.rest_share_max.total_cmp(&b.rest_share_max));
    let found = worst.map_or("not counted".to_owned(), |late| {
        let counted = figures_of(late.rest_share_max, &late.idle);
        let ordered = reordered_targets(targets);
        if ordered.is_empty() {
            counted
        } else {
            format!("{counted}; {ordered} may change the order of operations, of which nothing is proven")
        }
    });
    let mark = mark_for_share(worst.map(|late| late.rest_share_max));
    new_check(mark, "Rest given", found, "A device that rests because the generator is late may recover.")
}

/// Targets with an I/O scheduler, which may let later operations overtake earlier ones: what is proven for queues is
/// not proven for them.
fn reordered_targets(targets: &TargetFigures) -> String {
    targets
        .each
        .iter()
        .filter(|target| {
            target.head.facts.get("scheduler").is_some_and(|scheduler| !matches!(scheduler.as_str(), "none" | "absent"))
        })
        .map(|target| target.head.name.as_str())
        .collect::<Vec<_>>()
        .join(", ")
}

fn check_overslept(part: &StepFigures) -> Check {
    let late = part.targets.each.iter().filter_map(|target| target.lateness.as_ref());
    let worst = late.max_by(|a, b| a.overslept_share_max.total_cmp(&b.overslept_share_max));
    let found = worst.map_or("not counted".to_owned(), |late| figures_of(late.overslept_share_max, &late.overslept));
    let closed = part.streams.each.iter().any(|totals| totals.rate_asked.is_none());
    let share = worst.map(|late| if closed { late.overslept_share_max } else { 0.0 });
    new_check(
        mark_for_share(share),
        "Overslept",
        found,
        "An operation that is found complete too late seems to have taken long, and a closed loop then issues fewer.",
    )
}

fn figures_of(share: f64, pauses: &assay_record::Pauses) -> String {
    let (share, sum) = (two_decimals_percent(share), time_text(pauses.sum_ns));
    format!(
        "{share} of the worst slice; {sum} in all, {} times, up to {}",
        count_text(pauses.count),
        time_text(pauses.max_ns)
    )
}

fn mark_for_share(share: Option<f64>) -> Mark {
    match share {
        None => Mark::Note,
        Some(share) if share > LATE => Mark::Warn,
        Some(_) => Mark::Good,
    }
}

fn check_slices(part: &StepFigures) -> Check {
    let complete = part.slices.listed.iter().filter(|slice| slice.complete).count();
    let nothing = part.slices.listed.iter().filter(|slice| !slice.valid).count();
    let whole = complete == part.slices.listed.len() && nothing == 0 && part.course.gaps.is_empty();
    let found = format!(
        "{} complete; {nothing} that prove nothing; gaps: {}",
        part_of_whole(complete as u64, part.slices.listed.len() as u64),
        part.course.gaps.len()
    );
    let mark = if whole { Mark::Good } else { Mark::Warn };
    new_check(
        mark,
        "Slices",
        found,
        "A slice that was cut short, interrupted or held back by the generator does not count.",
    )
}

fn check_accounting(part: &StepFigures) -> Check {
    let several = part.targets.each.len() > 1;
    let totals =
        part.streams.each.iter().filter(|totals| !several || totals.target.is_some()).map(|totals| &totals.counts);
    let (mut scheduled, mut ended, mut open) = (0u64, 0u64, 0u64);
    for counts in totals {
        scheduled = scheduled.saturating_add(counts.scheduled);
        ended =
            [counts.operations, counts.short, counts.failed_operations()].into_iter().fold(ended, u64::saturating_add);
        open = [counts.in_flight, counts.waiting, counts.stuck].into_iter().fold(open, u64::saturating_add);
    }
    let found = format!(
        "{} scheduled; {} ended, {} open at the end",
        count_text(scheduled),
        count_text(ended),
        count_text(open)
    );
    // More operations may end than were scheduled: what the warm-up left open ends in the measured phase.
    let lost = scheduled.saturating_sub(ended.saturating_add(open));
    let mark = if lost == 0 { Mark::Good } else { Mark::Warn };
    new_check(mark, "Accounting", found, "Every scheduled operation ends, fails or is still open; none vanishes.")
}

fn check_errors(part: &StepFigures) -> Check {
    let several = part.targets.each.len() > 1;
    let mut by_name = std::collections::BTreeMap::<&str, u64>::new();
    for totals in part.streams.each.iter().filter(|totals| !several || totals.target.is_some()) {
        let short = (totals.counts.short > 0).then_some(("short", totals.counts.short));
        for (name, n) in totals.counts.errors.iter().map(|(name, n)| (name.as_str(), *n)).chain(short) {
            let sum = by_name.entry(name).or_default();
            *sum = sum.saturating_add(n);
        }
    }
    let texts: Vec<String> = by_name.iter().map(|(name, n)| format!("{} {name}", count_text(*n))).collect();
    let (mark, found) = if texts.is_empty() { (Mark::Good, "none".to_owned()) } else { (Mark::Bad, texts.join(", ")) };
    new_check(mark, "I/O errors", found, "Failed operations are in no distribution, and no run with them passes.")
}

fn check_disks(targets: &TargetFigures) -> Check {
    let worst = targets.each.iter().filter_map(|target| Some((target.disk?.mismatch, &target.head.name)));
    let worst = worst.max_by(|a, b| a.0.total_cmp(&b.0));
    let (mark, found) = match worst {
        None => (Mark::Note, "no block device counters".to_owned()),
        Some((off, name)) if off > FAR_OFF => (Mark::Bad, format!("{} off on {name}", two_decimals_percent(off))),
        Some((off, name)) if off > OFF => (Mark::Warn, format!("{} off on {name}", two_decimals_percent(off))),
        Some((off, _)) => (Mark::Good, format!("at most {} off", two_decimals_percent(off))),
    };
    new_check(
        mark,
        "Device counters",
        found,
        "What the block device counted must be what was issued, or something cached it.",
    )
}

fn check_others(targets: &TargetFigures) -> Check {
    let said: Vec<&str> = targets.foreign.iter().filter_map(|disk| disk.said.as_deref()).collect();
    let watched: Vec<&str> = targets.foreign.iter().map(|disk| disk.head.name.as_str()).collect();
    let not_known = targets.unwatched.join("; ");
    let (mark, mut found) = match (said.is_empty(), watched.is_empty()) {
        (false, _) => (Mark::Warn, said.join("; ")),
        (true, false) => {
            let mark = if not_known.is_empty() { Mark::Good } else { Mark::Note };
            (mark, format!("less than a hundredth of what {} did", watched.join(", ")))
        }
        (true, true) => (Mark::Note, "not counted".to_owned()),
    };
    if !not_known.is_empty() {
        found += &format!("; not known: {not_known}");
    }
    new_check(mark, "Others on the disks", found, "A bound that is broken while others use the disk proves nothing.")
}

fn check_prepared(targets: &TargetFigures) -> Check {
    let done = targets.each.iter().filter(|target| target.head.prepared.is_some()).count();
    let found = part_of_whole(done as u64, targets.each.len() as u64) + " targets written full before the test";
    let mark = if done == targets.each.len() { Mark::Good } else { Mark::Note };
    new_check(mark, "Preparation", found, "Reads of blocks that were never written are answered without the medium.")
}

fn check_blanks(targets: &TargetFigures) -> Check {
    let (blank, sampled) = (
        targets.sum_over_targets(|target| target.blank_reads),
        targets.sum_over_targets(|target| target.sampled_reads),
    );
    let mark = match (blank, sampled) {
        (_, 0) => Mark::Note,
        (0, _) => Mark::Good,
        _ => Mark::Warn,
    };
    let found =
        if sampled == 0 { "no reads looked at".to_owned() } else { part_of_whole(blank, sampled) + " reads looked at" };
    new_check(mark, "Reads of blank blocks", found, "The device may answer them without looking.")
}

fn check_integrity(targets: &TargetFigures) -> Option<Check> {
    let integrity = targets.integrity.as_ref()?;
    let seen = integrity.verified_reads.saturating_add(integrity.unverified_reads);
    let mut found = part_of_whole(integrity.verified_reads, seen) + " reads verified";
    if integrity.damaged > 0 {
        let places: Vec<String> = integrity.places.iter().map(DamagedPlace::in_words).collect();
        found += &format!("; {} damaged places: {}", count_text(integrity.damaged), places.join("; "));
    }
    let mark = match (integrity.damaged, integrity.verified_reads) {
        (0, 0) => Mark::Note,
        (0, _) => Mark::Good,
        _ => Mark::Bad,
    };
    Some(new_check(mark, "Integrity of the data", found, "What is read must be what was written."))
}

fn check_generator(generator: &GeneratorFigures) -> Option<Check> {
    let cost = generator.cost?;
    let found = format!(
        "{} of one CPU, {} waiting for a CPU, {} stolen by the hypervisor, {} resident at most",
        share_of_time(cost.cpu_ns, cost.sampled_ns),
        share_of_time(cost.run_queue_ns, cost.sampled_ns),
        share_of_time(cost.steal_ns, cost.sampled_ns),
        Bytes::new(cost.resident_bytes_max).human_text(),
    );
    Some(new_check(Mark::Note, "Generator's cost", found, "What the test itself took from the host."))
}

/// A time as a share of the sampled time.
fn share_of_time(ns: u64, sampled_ns: u64) -> String {
    two_decimals_percent(ns as f64 / sampled_ns.max(1) as f64)
}
