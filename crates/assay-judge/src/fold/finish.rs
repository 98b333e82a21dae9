//! Ends a step: adds up its findings, lets the heaviest decide, and makes plain data of what was folded.

use crate::finding::course::{CourseFinding, Cut, Reached};
use crate::finding::target::TargetFinding;
use crate::finding::{Class, Finding, deciding};
use crate::fold::cell::{Cell, Lengths};
use crate::fold::layout::Layout;
use crate::fold::step::StepFold;
use crate::fold::targets::Looked;
use crate::fold::totals::Most;
use crate::judgement::{
    Blocked, CriterionOutcome, Deciding, Intervals, Part, Step, StreamTotals, TargetTotals, TimesSummary,
};
use crate::rules::disk;
use crate::verdict::Verdict;
use crate::words::{change, clock};
use assay_base::{Criterion, Direction, Span};
use assay_record::{CloseReason, Event, EventKind, Times};
use std::collections::{BTreeMap, BTreeSet};

/// The quantiles of a chart by nines.
const NINES: [f64; 17] = [
    0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995, 0.9999, 0.99999, 0.999999, 0.9999999,
];

/// Of reads of which one in this many met a block that was never written, nothing is proven. Fewer make a share over a bound
/// look smaller by at most a ninth, and are a warning.
const BLANK_OF: u64 = 10;

/// A step that has ended.
#[derive(Debug)]
pub struct Finished {
    /// Its result.
    pub step: Step,
    /// Whether the certification ends as soon as its verdict is certain.
    pub until_certain: bool,
}

/// Ends a step.
pub fn finish(mut fold: StepFold) -> Finished {
    let ended = fold.end();
    let targets = fold.target_totals();
    let mut findings = std::mem::take(&mut fold.notes.findings);
    let mut warnings = std::mem::take(&mut fold.notes.warnings);
    let (between, notes) = disk::check(&targets, fold.number());
    findings.extend(between);
    warnings.extend(notes);
    // What is behind these holds nothing by its nature, and says so in a watermark.
    let real = targets.iter().filter(|target| !matches!(target.head.kind.as_str(), "null" | "simulated"));
    for target in real.filter(|target| target.blank_reads > 0) {
        let (blanks, all) = (target.blank_reads, target.sampled_reads);
        // One of a few is chance.
        match blanks.saturating_mul(BLANK_OF) >= all && (blanks > 1 || all == 1) {
            true => findings.push(Finding::of_step(blank(target), fold.number())),
            false => warnings.push(blank(target).to_string()),
        }
    }
    unseen(&fold, &mut findings);
    missing(&fold, ended, &mut findings);
    unverified(&fold, ended, &mut findings, &mut warnings);
    gather(&mut fold, &mut findings, &mut warnings);
    let streams = streams(&fold, &mut warnings);
    let (verdict, reason, place, part, head) = {
        let header = fold.header.clone();
        let stress = fold.slices.stress;
        let part = part(fold, targets, streams, ended);
        let decides = deciding(&findings).cloned();
        let verdict = decides.as_ref().map_or(Verdict::Pass, Finding::verdict);
        let place: Option<Deciding> = match &decides {
            Some(finding) => finding.is_placed().then(|| finding.deciding.clone()),
            None => None,
        };
        let reason = match decides {
            None => pass_reason(&part, stress),
            Some(finding) if finding.class() == Class::Broken => finding.text() + &meanwhile(&part, &finding.deciding),
            Some(finding) if finding.class() == Class::Errors => also_failed(&findings, &finding),
            Some(finding) => finding.text(),
        };
        (verdict, reason, place, part, header)
    };
    let step = head.step.as_ref();
    Finished {
        until_certain: step.is_some_and(|step| step.until_certain),
        step: Step {
            number: step.map_or(1, |step| step.number),
            of: step.map_or(1, |step| step.of),
            title: step.map_or_else(|| head.name.clone(), |step| step.title.clone()),
            verdict,
            reason,
            deciding: place,
            load: head.load.clone(),
            warnings,
            part,
        },
    }
}

/// Reads of which none was looked at may all have met blocks that were never written. Only where the header says what is looked
/// at: logs written before looked at fewer reads, and at none of a slow stream.
fn unseen(fold: &StepFold, findings: &mut Vec<Finding>) {
    if !fold.header.engine.contains_key("blank check") {
        return;
    }
    for (flow, Looked { read, seen }) in fold.targets.looked.iter().enumerate() {
        let head = &fold.layout.streams[usize::from(fold.layout.flows[flow].stream)];
        if head.direction == Direction::Read && *read > 0 && *seen == 0 {
            let (stream, target) = (head.name.clone(), fold.layout.target_of(flow).to_owned());
            let found = TargetFinding::Unseen { stream, target, reads: *read };
            findings.push(Finding::of_step(found, fold.number()));
        }
    }
}

/// Findings of errors that a reason names beside the one that decides.
const ALSO: usize = 7;

/// Errors decide by the first of them; the streams and targets that failed besides are named as well.
fn also_failed(findings: &[Finding], first: &Finding) -> String {
    let place = |finding: &Finding| (finding.deciding.stream.clone(), finding.deciding.target.clone());
    let others: Vec<String> = findings
        .iter()
        .filter(|other| other.class() == Class::Errors && place(other) != place(first))
        .filter_map(|other| {
            let Deciding { stream, target, measured, .. } = &other.deciding;
            Some(format!("{} on {}: {}", stream.as_ref()?, target.as_ref()?, measured.as_ref()?))
        })
        .collect();
    let more = match others.len().saturating_sub(ALSO) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    match others.is_empty() {
        true => first.text(),
        false => {
            let named = others.iter().take(ALSO).cloned().collect::<Vec<_>>().join(", ");
            format!("{}; also {named}{more}", first.text())
        }
    }
}

/// What the rules that followed the windows found.
fn gather(fold: &mut StepFold, findings: &mut Vec<Finding>, warnings: &mut Vec<String>) {
    findings.append(&mut fold.slices.load.take_findings());
    warnings.append(&mut fold.slices.load.warnings);
    findings.extend(fold.slices.of_criteria());
}

/// What was planned and is not there.
fn missing(fold: &StepFold, ended: Option<CloseReason>, findings: &mut Vec<Finding>) {
    let mut miss = |found: CourseFinding| findings.push(Finding::of_step(found, fold.number()));
    let (planned_ns, reached_ns) = (fold.layout.planned_ns, fold.placement.reached_ns());
    if planned_ns > 0 && fold.measured.totals.measured_ns == 0 {
        miss(CourseFinding::NothingMeasured);
    }
    let said = fold.closed().map(|close| close.text.clone()).unwrap_or_default();
    let cut = match ended {
        None => Some(Cut::Off),
        Some(CloseReason::Interrupted) => Some(Cut::Interrupted(said)),
        Some(CloseReason::LogFailed) => Some(Cut::LogFailed(said)),
        Some(_) => None,
    };
    if let Some(cut) = cut {
        miss(CourseFinding::Short(cut, Reached { ns: reached_ns, of_ns: planned_ns }));
    }
    if planned_ns == 0 {
        miss(CourseFinding::NoMeasuredPhase);
    }
    let (complete, planned) = (fold.slices.load.complete(), fold.slices.windows().planned());
    if complete < planned {
        miss(CourseFinding::Slices { complete, planned, interrupted: !fold.events.gaps.is_empty() });
    } else if planned_ns > 0 && fold.slices.load.saw_nothing() {
        miss(CourseFinding::NoOperation);
    }
    let of_criteria = fold.slices.judged[1..].iter().filter(|_| !fold.slices.stress);
    for judged in of_criteria {
        let planned = judged.windows.planned();
        if let Some((_, tracker)) = judged.trackers.iter().find(|(_, tracker)| tracker.complete() < planned) {
            let (complete, criterion) = (tracker.complete(), tracker.criterion().clone());
            miss(CourseFinding::Windows { complete, planned, criterion });
        }
    }
}

/// What keeps a run that verifies from saying anything about the data.
fn unverified(fold: &StepFold, ended: Option<CloseReason>, findings: &mut Vec<Finding>, warnings: &mut Vec<String>) {
    let Some(integrity) = fold.integrity.finish(&fold.header.plan) else { return };
    if integrity.verified_reads == 0 && integrity.damaged == 0 && ended == Some(CloseReason::Completed) {
        findings.push(Finding::of_step(TargetFinding::NothingVerified, fold.number()));
    }
    if fold.placement.segments() > 1 {
        let text = "of what was written before an interruption only place and checksum were verified, not whether it is the newest";
        warnings.push(text.to_owned());
    }
}

fn part(
    mut fold: StepFold,
    targets: Vec<TargetTotals>,
    streams: Vec<StreamTotals>,
    closed: Option<CloseReason>,
) -> Part {
    let slice_ns = fold.slices.windows().length_ns();
    let mut criteria: Vec<(usize, CriterionOutcome)> = Vec::new();
    for judged in std::mem::take(&mut fold.slices.judged) {
        let planned = judged.windows.planned();
        let outcome = |(order, tracker): (usize, crate::rules::criterion::Tracker)| {
            (order, tracker.outcome(planned, fold.slices.stress))
        };
        criteria.extend(judged.trackers.into_iter().map(outcome));
    }
    criteria.sort_by_key(|(order, _)| *order);
    let load = fold.slices.load.outcome(slice_ns);
    Part {
        stress: fold.slices.stress,
        planned_ns: fold.layout.planned_ns,
        measured_ns: fold.measured.totals.measured_ns,
        slice_ns,
        intervals: Intervals {
            planned: fold.layout.planned_ns.div_ceil(fold.layout.interval_ns.max(1)),
            present: fold.measured.totals.intervals,
            valid: fold.slices.valid_intervals,
        },
        segments: fold.placement.segments(),
        clocks: fold.environment.clocks.finish(),
        signer: fold.header.signer,
        closed,
        contradictions: fold.notes.contradictions,
        environment_changes: fold.environment.changes,
        criteria: std::iter::once(load).chain(criteria.into_iter().map(|(_, outcome)| outcome)).collect(),
        slices: fold.slices.kept.slices,
        slices_left_out: fold.slices.kept.left_out,
        streams,
        generator: fold.measured.totals.cost,
        engine: fold.header.engine,
        host: fold.header.host,
        targets,
        integrity: fold.integrity.finish(&fold.header.plan),
        gaps: fold.events.gaps,
        events: fold.events.kept,
        events_left_out: fold.events.left_out,
        steadiness: fold.measured.steady.finish(&fold.layout),
        series: fold.measured.series.finish(&fold.layout),
        plan: fold.header.plan,
        plan_blake3: None,
    }
}

fn blank(target: &TargetTotals) -> TargetFinding {
    let (blank, sampled) = (target.blank_reads, target.sampled_reads);
    TargetFinding::Blank { target: target.head.name.clone(), blank, sampled }
}

/// Totals of each stream: all targets together first, then each.
fn streams(fold: &StepFold, warnings: &mut Vec<String>) -> Vec<StreamTotals> {
    let layout = &fold.layout;
    let mut entries = Vec::new();
    for (stream, flows) in layout.of_stream.iter().enumerate() {
        let times = fold.measured.distributions.streams[stream].as_ref();
        let together =
            crate::fold::window::sum(flows.iter().map(|&flow| &fold.measured.totals.flows[flow].cell), layout);
        let covered = times.map_or(0, |times| times[0].count());
        if covered != together.ok {
            let name = &layout.streams[stream].name;
            warnings.push(format!("percentiles of {name} cover {covered} of {} operations", together.ok));
        }
        let only = if let [flow] = flows.as_slice() { Some(layout.target_of(*flow)) } else { None };
        let in_time = |flows: &[usize]| {
            flows.iter().fold(0u64, |sum, &flow| sum.saturating_add(fold.measured.totals.flows[flow].in_time))
        };
        let maxima = fold.measured.totals.streams[stream];
        entries.push(totals(fold, stream, only, (&together, in_time(flows)), times, maxima));
        if flows.len() > 1 {
            for &flow in flows {
                let times = fold.measured.distributions.flows[flow].as_ref();
                let target = Some(layout.target_of(flow));
                let cell = (&fold.measured.totals.flows[flow].cell, in_time(&[flow]));
                entries.push(totals(fold, stream, target, cell, times, fold.measured.totals.flows[flow].most));
            }
        }
    }
    entries
}

fn totals(
    fold: &StepFold,
    stream: usize,
    target: Option<&str>,
    (cell, in_time): (&Cell, u64),
    times: Option<&[Times; 3]>,
    most: Most,
) -> StreamTotals {
    let (head, layout) = (&fold.layout.streams[stream], &fold.layout);
    let summary = |lengths, which: usize| summary(lengths, times.map(|times| &times[which]), layout);
    let seconds = fold.measured.totals.measured_ns as f64 / 1e9;
    StreamTotals {
        name: head.name.clone(),
        target: target.map(str::to_owned),
        direction: head.direction.to_string(),
        arrival: head.arrival.clone(),
        size: head.size.clone(),
        rate_asked: head.rate.map(|rate| rate.as_f64()),
        rate_achieved: (fold.measured.totals.measured_ns > 0).then(|| in_time as f64 / seconds),
        counts: cell.counts(),
        in_flight_max: most.in_flight,
        waiting_max: most.waiting,
        response: summary(&cell.response, 0),
        service: summary(&cell.service, 1),
        lag: summary(&cell.lag, 2),
        own_lag: self::summary(&cell.own_lag, None, layout),
        own_lag_counts: counted(&cell.own_lag, layout),
        blocked_submit: (cell.submit.max_ns > 0).then(|| Blocked {
            sum_ns: u64::try_from(cell.submit.sum_ns).unwrap_or(u64::MAX),
            max_ns: cell.submit.max_ns,
        }),
    }
}

/// The exact counts with the length that each begins at.
fn counted(lengths: &Lengths, layout: &Layout) -> Vec<(u64, u64)> {
    let from = std::iter::once(0).chain(layout.thresholds.bounds().iter().copied());
    from.zip(lengths.counts.iter().copied()).filter(|(_, n)| *n > 0).collect()
}

fn summary(lengths: &Lengths, times: Option<&Times>, layout: &Layout) -> TimesSummary {
    let slice = lengths.slice_times(&layout.thresholds, &layout.shown);
    // A histogram knows three digits; the largest is known exactly, and nothing is above it.
    let value = |quantile| Some(times?.quantile(quantile)?.as_ns().min(lengths.max_ns));
    let counted = times.map_or(0, Times::count);
    let resolved = |quantile: &&f64| counted > 0 && (1.0 - **quantile) * counted as f64 >= 1.0;
    let mut nines: Vec<(f64, u64)> = NINES.iter().filter(resolved).filter_map(|&q| Some((q, value(q)?))).collect();
    nines.extend((counted > 0).then_some((1.0, lengths.max_ns)));
    TimesSummary {
        operations: slice.operations,
        mean_ns: slice.mean_ns,
        p50_ns: value(0.5),
        p90_ns: value(0.9),
        p99_ns: value(0.99),
        p99_9_ns: value(0.999),
        p99_99_ns: value(0.9999),
        max_ns: slice.max_ns,
        over: slice.over,
        nines,
    }
}

/// What else changed in the window that decided: the largest change of level, and what happened by its kind. Empty for nothing.
fn meanwhile(part: &Part, window: &Deciding) -> String {
    let within = |at_ns: u64| (window.start_ns..window.end_ns).contains(&at_ns);
    let changes = part.steadiness.iter().flat_map(|it| it.changes.iter().map(move |at| (it, at)));
    let largest = changes.filter(|(_, at)| within(at.at_ns)).max_by(|a, b| a.1.size().total_cmp(&b.1.size()));
    let changed = largest.map(|(it, at)| format!("{} at {}", change(it, at), clock(at.at_ns)));
    let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
    let told = |event: &&Event| {
        within(event.at_ns) && !matches!(event.what, EventKind::Health | EventKind::Warning | EventKind::Steady)
    };
    part.events.iter().filter(told).for_each(|event| *kinds.entry(event.what.as_str()).or_default() += 1);
    let happened = kinds.iter().map(|(what, n)| format!("{n} × {what}"));
    let all: Vec<String> = changed.into_iter().chain(happened).collect();
    if all.is_empty() { String::new() } else { format!("; meanwhile {}", all.join(", ")) }
}

/// Why it passed, and what came closest to its bound.
fn pass_reason(part: &Part, stress: bool) -> String {
    // One may have been measured twice.
    let kept: BTreeSet<u64> = part.slices.iter().map(|slice| slice.number).collect();
    let slices = kept.len() as u64 + part.slices_left_out;
    let over = match slices {
        1 => format!("over the measured {}", Span::from_ns(part.planned_ns).human()),
        n => format!("in all {n} slices of {}", Span::from_ns(part.slice_ns).human()),
    };
    if stress {
        return format!("the load was delivered {over}, without an error; latencies do not count in a stress test");
    }
    let near = |criterion: &CriterionOutcome| {
        let parsed: Criterion = criterion.criterion.parse().ok()?;
        let limit = crate::rules::value::limit(&parsed.bound);
        let figures = criterion.worst.iter().chain(&criterion.targets);
        let worst = figures.max_by(|a, b| a.value.total_cmp(&b.value))?;
        let on = worst.target.as_ref().map(|target| format!(" on {target}")).unwrap_or_default();
        Some((worst.value / limit, format!("{} {}{on}, bound {}", criterion.title, worst.text, criterion.bound)))
    };
    let nearest = part.criteria.iter().filter_map(near).max_by(|a, b| a.0.total_cmp(&b.0));
    match nearest {
        Some((_, text)) => format!("the load was delivered and every bound held {over}; closest: {text}"),
        None => format!("the load was delivered {over}, without an error; no other criterion was asked for"),
    }
}
