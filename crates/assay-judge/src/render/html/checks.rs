//! Whether the result can be believed: what the rules of proof looked at, with the figures they looked at.
//!
//! The rules themselves stand in `crate::rules`; nothing is decided here again. Where a rule's answer is not in the judgement,
//! the figures are shown without a mark.

use super::figures::{count, percent};
use super::part::{maybe_time, of};
use crate::judgement::{CriterionOutcome, Outcome, Part};
use assay_base::Bytes;

/// Above this a difference between the block device's counters and our own is worth a word, and above `FAR_OFF` the run
/// proves nothing (DESIGN: rules of truth, 3).
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

fn check(mark: Mark, what: &'static str, found: String, why: &'static str) -> Check {
    let (class, sign) = match mark {
        Mark::Good => ("pass", "✓"),
        Mark::Warn => ("invalid", "⚠"),
        Mark::Bad => ("fail", "✗"),
        Mark::Note => ("incomplete", "·"),
    };
    Check { class, sign, what, found, why }
}

/// All checks of a step, the same ones in the same order for every run.
pub(crate) fn checks(part: &Part) -> Vec<Check> {
    let mut checks: Vec<Check> =
        part.criteria.iter().filter(|outcome| outcome.stream.is_none()).map(delivered).collect();
    checks.extend([own_lag(part), slices(part), accounting(part), errors(part), disks(part), prepared(part)]);
    checks.extend(generator(part));
    checks
}

fn delivered(outcome: &CriterionOutcome) -> Check {
    let mark = match outcome.outcome {
        Outcome::Pass => Mark::Good,
        Outcome::Fail => Mark::Bad,
        Outcome::Invalid | Outcome::Incomplete => Mark::Warn,
        Outcome::NotApplied => Mark::Note,
    };
    let measured = outcome.measured.as_ref().map_or("not measured".to_owned(), |figure| figure.text.clone());
    let found = format!("{measured} (bound {})", outcome.bound);
    check(mark, "Load delivered", found, "A load that was not offered proves nothing.")
}

fn own_lag(part: &Part) -> Check {
    let invalid = part.slices.iter().filter(|slice| !slice.valid).count();
    let worst =
        part.slices.iter().flat_map(|slice| &slice.streams).filter_map(|entry| entry.own_lag_p99_below_ns).max();
    let largest = part.streams.iter().filter_map(|totals| totals.own_lag.max_ns).max();
    let found = format!(
        "99 % of operations below {} in the worst slice; largest {}; {} prove nothing",
        maybe_time(worst),
        maybe_time(largest),
        of(invalid as u64, part.slices.len() as u64) + " slices",
    );
    let mark = if invalid > 0 { Mark::Bad } else { Mark::Good };
    check(mark, "Generator's own lag", found, "A late generator must not be taken for a slow device.")
}

fn slices(part: &Part) -> Check {
    let complete = part.slices.iter().filter(|slice| slice.complete).count();
    let mark = if complete == part.slices.len() && part.gaps.is_empty() { Mark::Good } else { Mark::Warn };
    let found = format!("{} complete; {} gaps", of(complete as u64, part.slices.len() as u64), part.gaps.len());
    check(mark, "Slices", found, "A slice that was cut short or interrupted does not count.")
}

fn accounting(part: &Part) -> Check {
    let several = part.targets.len() > 1;
    let totals = part.streams.iter().filter(|totals| !several || totals.target.is_some()).map(|totals| &totals.counts);
    let (mut scheduled, mut ended, mut open) = (0u64, 0u64, 0u64);
    for counts in totals {
        scheduled = scheduled.saturating_add(counts.scheduled);
        ended = [counts.operations, counts.short, counts.failed()].into_iter().fold(ended, u64::saturating_add);
        open = [counts.in_flight, counts.waiting, counts.stuck].into_iter().fold(open, u64::saturating_add);
    }
    let found = format!("{} scheduled; {} ended, {} open at the end", count(scheduled), count(ended), count(open));
    // More may end than was scheduled: what the warm-up left open ends in the measured phase.
    let lost = scheduled.saturating_sub(ended.saturating_add(open));
    let mark = if lost == 0 && part.gaps.is_empty() { Mark::Good } else { Mark::Warn };
    check(mark, "Accounting", found, "Every scheduled operation ends, fails or is still open; none vanishes.")
}

fn errors(part: &Part) -> Check {
    let several = part.targets.len() > 1;
    let mut by_name = std::collections::BTreeMap::<&str, u64>::new();
    for totals in part.streams.iter().filter(|totals| !several || totals.target.is_some()) {
        let short = (totals.counts.short > 0).then_some(("short", totals.counts.short));
        for (name, n) in totals.counts.errors.iter().map(|(name, n)| (name.as_str(), *n)).chain(short) {
            let sum = by_name.entry(name).or_default();
            *sum = sum.saturating_add(n);
        }
    }
    let texts: Vec<String> = by_name.iter().map(|(name, n)| format!("{} {name}", count(*n))).collect();
    let (mark, found) = if texts.is_empty() { (Mark::Good, "none".to_owned()) } else { (Mark::Bad, texts.join(", ")) };
    check(mark, "I/O errors", found, "Failed operations are in no distribution, and no run with them passes.")
}

fn disks(part: &Part) -> Check {
    let worst = part.targets.iter().filter_map(|target| Some((target.disk?.mismatch, &target.head.name)));
    let worst = worst.max_by(|a, b| a.0.total_cmp(&b.0));
    let (mark, found) = match worst {
        None => (Mark::Note, "no block device counters".to_owned()),
        Some((off, name)) if off > FAR_OFF => (Mark::Bad, format!("{} off on {name}", percent(off))),
        Some((off, name)) if off > OFF => (Mark::Warn, format!("{} off on {name}", percent(off))),
        Some((off, _)) => (Mark::Good, format!("at most {} off", percent(off))),
    };
    check(
        mark,
        "Device counters",
        found,
        "What the block device counted must be what was issued, or something cached it.",
    )
}

fn prepared(part: &Part) -> Check {
    let done = part.targets.iter().filter(|target| target.head.prepared.is_some()).count();
    let found = of(done as u64, part.targets.len() as u64) + " targets written full before the test";
    let mark = if done == part.targets.len() { Mark::Good } else { Mark::Note };
    check(mark, "Preparation", found, "Reads of blocks that were never written are answered without the medium.")
}

fn generator(part: &Part) -> Option<Check> {
    let cost = part.generator?;
    let of_time = |ns: u64| percent(ns as f64 / cost.sampled_ns.max(1) as f64);
    let found = format!(
        "{} of one CPU, {} waiting for a CPU, {} stolen by the hypervisor, {} resident at most",
        of_time(cost.cpu_ns),
        of_time(cost.run_queue_ns),
        of_time(cost.steal_ns),
        Bytes::new(cost.resident_bytes_max).human(),
    );
    Some(check(Mark::Note, "Generator's cost", found, "What the test itself took from the host."))
}
