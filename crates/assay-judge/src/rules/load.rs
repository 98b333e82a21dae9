//! Whether a slice proves anything: was the load asked for the load delivered, did anything complete, and whose was the lag.
//!
//! DESIGN §5: achieved below 99.9 % of what the schedule held is never PASS; short because of the device it is FAIL, because
//! of the generator INVALID. The generator's own lag: its 99th percentile above the smallest threshold of the criteria
//! makes a slice INVALID, above a tenth of it is a warning.

use crate::finding::criterion::BrokenOn as BrokenTargets;
use crate::finding::flaw::Flaw;
use crate::finding::load::{Cause, LoadFinding, NotDelivered};
use crate::finding::{Class, Finding, Kind};
use crate::fold::cell::Cell;
use crate::fold::layout::Layout;
use crate::fold::window::{Window, sum};
use crate::judgement::{CriterionOutcome, Deciding, Figure, Outcome};
use crate::rules::broken::BrokenOn;
use crate::rules::lateness;
use crate::words::share_text;
use assay_base::{Share, Span};

/// One part in this many of the schedule may be left waiting at the end of a slice: 0.1 %.
const LEFT_WAITING: u64 = 1000;
/// The share that must be issued.
const LEAST: Share = Share::from_ppb(999_000_000);
/// What the generator is behind by no more than this at the end of a slice is on its way, and its lag is judged as such: in a
/// slice of a second 0.1 % are a millisecond, which any machine is late by now and then.
const JITTER: Span = Span::from_ms(50);
/// Fewer operations than this in a slice, none of them completed, say nothing about the device.
const TOO_FEW: u64 = 10;

/// Follows the built-in rules through the slices.
#[derive(Debug)]
pub struct LoadTracker {
    step: u32,
    planned: u64,
    /// The smallest threshold of the criteria that are judged; none in stress steps.
    threshold: Option<Span>,
    windows: u64,
    complete: u64,
    broken: u64,
    unproven: u64,
    first_broken: Option<Figure>,
    worst: Option<Figure>,
    targets: Vec<Option<Figure>>,
    broken_on: BrokenOn,
    warned_own_lag: bool,
    /// What was found; see [`LoadTracker::take_findings`].
    pub findings: Vec<Finding>,
    /// What a reader should know.
    pub warnings: Vec<String>,
}

/// What became of the load of one stream in one slice, on one target or on all.
#[derive(Debug)]
struct Found {
    target: Option<usize>,
    figure: Figure,
    /// What speaks against it, if anything does.
    fault: Option<Cause>,
}

impl Found {
    fn is(&self, class: Class) -> bool {
        self.fault.is_some_and(|cause| cause.class() == class)
    }
}

/// What one slice came to.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// The load was delivered, as far as it is the device's.
    pub within: bool,
    /// The load was offered, so that the slice says something.
    pub proves: bool,
}

impl LoadTracker {
    /// Follows `planned` slices of step `step`.
    pub fn new(step: u32, planned: u64, threshold: Option<Span>, layout: &Layout) -> LoadTracker {
        LoadTracker {
            step,
            planned,
            threshold,
            windows: 0,
            complete: 0,
            broken: 0,
            unproven: 0,
            first_broken: None,
            worst: None,
            targets: vec![None; layout.targets.len()],
            broken_on: BrokenOn::new(layout.targets.len(), |a, b| a < b),
            warned_own_lag: false,
            findings: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Checks a window for the generator's lag and sets `window.invalid`, before criteria are judged on it.
    pub fn check_own_lag(&mut self, window: &mut Window, is_slice: bool, layout: &Layout) {
        let Some(threshold) = self.threshold.filter(|_| window.complete && window.invalid.is_none()) else { return };
        // Over all operations of the slice together: one late operation in a hundred of a rare stream is no starved generator.
        let all = sum(window.streams.iter(), layout);
        let Some((lower, upper)) = all.own_lag.p99_between(&layout.thresholds) else { return };
        let late = lower >= threshold.as_ns();
        if late && !layout.lateness {
            window.invalid = Some(Flaw::OwnLag(lower));
        } else if is_slice && late && !self.warned_own_lag {
            self.warned_own_lag = true;
            self.warnings.push(format!(
                "the test machine issued 1% of all operations of slice {} too late, by {} or more",
                window.number,
                Span::from_ns(lower).human()
            ));
        } else if is_slice && lower.saturating_mul(10) >= threshold.as_ns() && !self.warned_own_lag {
            self.warned_own_lag = true;
            let upper = upper.map_or_else(|| "an hour".to_owned(), |ns| Span::from_ns(ns).human());
            self.warnings.push(format!(
                "the test machine issued 1% of all operations of slice {} too late, by {} to {upper} or more: over a tenth of the \
                 threshold of {}",
                window.number,
                Span::from_ns(lower).human(),
                threshold.human()
            ));
        }
    }

    /// Whether the generator held back so much of what there is of a window that was cut short that the whole one would prove
    /// nothing.
    pub fn is_held_back(&self, window: &Window, layout: &Layout) -> bool {
        if layout.lateness {
            return false;
        }
        let all = sum(window.streams.iter(), layout);
        let p99 = all.own_lag.p99_between(&layout.thresholds);
        self.threshold.zip(p99).is_some_and(|(threshold, (lower, _))| lower >= threshold.as_ns())
    }

    /// Judges one slice.
    pub fn observe(&mut self, window: &Window, layout: &Layout) -> Seen {
        if !window.complete {
            return Seen { within: true, proves: true };
        }
        self.complete += u64::from(!window.repeated);
        if let Some(why) = &window.invalid {
            self.unproven += 1;
            self.find(LoadFinding::Slice(window.number, why.clone()), window, None, None, None);
            return Seen { within: true, proves: false };
        }
        self.windows += 1;
        // However many streams and targets speak against it, it is one slice.
        let (mut broken, mut unproven) = (false, false);
        for stream in 0..layout.streams.len() {
            unproven |= self.is_thin(stream, window, layout);
            let found = delivered_by(stream, window, layout);
            broken |= found.iter().any(|found| found.is(Class::Broken));
            unproven |= found.iter().any(|found| found.is(Class::Unproven));
            self.keep(found, &layout.streams[stream].name, window);
        }
        self.broken += u64::from(broken);
        self.unproven += u64::from(unproven);
        Seen { within: !broken, proves: !unproven }
    }

    /// The schedule itself must hold what the plan asks: within 0.1 % and six standard deviations of a Poisson count.
    fn is_thin(&mut self, stream: usize, window: &Window, layout: &Layout) -> bool {
        let (head, cell) = (&layout.streams[stream], &window.streams[stream]);
        let known = matches!(head.arrival.as_str(), "steady" | "poisson");
        let Some(rate) = head.rate.filter(|_| known && head.is_open_loop()) else { return false };
        let expected = rate.as_f64() * (window.end_ns.saturating_sub(window.start_ns)) as f64 / 1e9;
        let least = expected * 0.999 - 6.0 * expected.sqrt() - 16.0;
        if (cell.scheduled as f64) < least {
            let (slice, scheduled, stream) = (window.number, cell.scheduled, head.name.clone());
            let found = LoadFinding::Thin { slice, stream, scheduled, expected };
            self.find(found, window, Some(&head.name), None, None);
            return true;
        }
        false
    }

    /// Keeps what became of a stream; of a bad target among good ones it is told before it is told of all together.
    fn keep(&mut self, mut found: Vec<Found>, name: &str, window: &Window) {
        // Of equal ones all together, which stand first, stand for each.
        found.iter().for_each(|it| less(&mut self.worst, &it.figure));
        let alone = || found.iter().filter(|it| it.target.is_some());
        let some_hold = alone().any(|it| it.fault.is_none());
        found.sort_by(|a, b| {
            let key = |it: &Found| (it.target.is_none() == some_hold, it.figure.value);
            key(a).0.cmp(&key(b).0).then(key(a).1.total_cmp(&key(b).1))
        });
        for Found { target, figure, fault } in found {
            if let Some(target) = target {
                less(&mut self.targets[target], &figure);
            }
            let Some(cause) = fault else { continue };
            let (stream, planned) = (name.to_owned(), self.planned);
            let found = NotDelivered { stream, figure: figure.clone(), planned, cause, on: None };
            let measured = cause.has_share().then_some(figure.text.as_str());
            self.find(LoadFinding::NotDelivered(found), window, Some(name), figure.target.clone(), measured);
            if cause.class() == Class::Broken {
                if let Some(target) = target {
                    self.broken_on.add(target, &figure);
                }
                self.first_broken.get_or_insert(figure);
            }
        }
    }

    /// Keeps the first finding of each class for each stream and target: the others say nothing new.
    fn find(
        &mut self,
        found: LoadFinding,
        window: &Window,
        stream: Option<&str>,
        target: Option<String>,
        measured: Option<&str>,
    ) {
        let same = |known: &Finding| {
            let place = &known.deciding;
            known.class() == found.class() && place.stream.as_deref() == stream && place.target == target
        };
        if self.findings.iter().any(same) {
            return;
        }
        let deciding = Deciding {
            step: self.step,
            slice: Some(window.number),
            window_ns: None,
            stream: stream.map(str::to_owned),
            target,
            measured: measured.map(str::to_owned),
            bound: measured.map(|_| BOUND.to_owned()),
            start_ns: window.start_ns,
            end_ns: window.end_ns,
        };
        self.findings.push(Finding::new(found, deciding));
    }

    /// What was found, with the targets that did not take their load.
    pub fn take_findings(&mut self) -> Vec<Finding> {
        let on = BrokenTargets { targets: self.broken_on.worst_first(), of: self.targets.len() };
        let mut findings = std::mem::take(&mut self.findings);
        for finding in &mut findings {
            if let Kind::Load(load) = &mut finding.kind
                && let LoadFinding::NotDelivered(found) = &mut **load
                && found.cause.class() == Class::Broken
            {
                found.on = Some(on.clone());
            }
        }
        findings
    }

    /// How the delivered load came out.
    pub fn outcome(self, slice_ns: u64) -> CriterionOutcome {
        let outcome = match () {
            () if self.broken > 0 => Outcome::Fail,
            () if self.unproven > 0 => Outcome::Invalid,
            () if self.complete < self.planned => Outcome::Incomplete,
            () if self.worst.is_none() => Outcome::Invalid,
            () => Outcome::Pass,
        };
        CriterionOutcome {
            criterion: "load delivered at least 99.9% per slice".to_owned(),
            title: "load delivered".to_owned(),
            bound: BOUND.to_owned(),
            stream: None,
            measure: None,
            threshold: None,
            window_ns: slice_ns,
            outcome,
            windows: self.windows,
            broken: self.broken,
            broken_on: self.broken_on.worst_first(),
            measured: self.first_broken.or_else(|| self.worst.clone()),
            worst: self.worst,
            targets: self.targets.into_iter().flatten().collect(),
            note: None,
        }
    }

    /// Slices that are complete.
    pub fn complete(&self) -> u64 {
        self.complete
    }

    /// True when no slice held an operation and nothing else says why that proves nothing.
    pub fn saw_nothing(&self) -> bool {
        self.worst.is_none() && self.findings.is_empty()
    }
}

const BOUND: &str = ">= 99.9%";

/// What became of a stream's load: on all targets together, and on each where there are several.
fn delivered_by(stream: usize, window: &Window, layout: &Layout) -> Vec<Found> {
    let flows = &layout.of_stream[stream];
    let together = delivered(stream, &window.streams[stream], None, window, layout);
    let alone = flows.iter().filter(|_| flows.len() > 1);
    let alone = alone.map(|&flow| delivered(stream, &window.flows[flow], Some(flow), window, layout));
    std::iter::once(together).chain(alone).flatten().collect()
}

/// `None` where nothing was due.
fn delivered(stream: usize, cell: &Cell, flow: Option<usize>, window: &Window, layout: &Layout) -> Option<Found> {
    let offered = cell.carried_in.saturating_add(cell.scheduled);
    if offered > 0 && cell.ended() == 0 {
        let cause = nothing_completed(cell);
        let told = ("none".to_owned(), 0.0, offered, cause.class() != Class::Broken);
        return Some(found(flow, window, layout, told, Some(cause)));
    }
    if cell.scheduled == 0 {
        return None;
    }
    let own = lag_is_the_generators(cell);
    let waiting = waiting(cell, if flow.is_some() { 1 } else { layout.of_stream[stream].len() }, own, window);
    let within = waiting <= cell.scheduled / LEFT_WAITING;
    let generator = !within && (own || behind_ns(cell, waiting, window) <= shift_ns(stream, flow, window, layout));
    let value = 1.0 - waiting as f64 / cell.scheduled as f64;
    let text = share_text(value, LEAST);
    let fault = (!within).then_some(if generator { Cause::Generator } else { Cause::Device });
    Some(found(flow, window, layout, (text, value, cell.scheduled, generator), fault))
}

fn found(
    flow: Option<usize>,
    window: &Window,
    layout: &Layout,
    (text, value, operations, generator): (String, f64, u64, bool),
    fault: Option<Cause>,
) -> Found {
    let figure = Figure {
        window: window.number,
        start_ns: window.start_ns,
        end_ns: window.end_ns,
        target: flow.map(|flow| layout.target_of(flow).to_owned()),
        value,
        text,
        operations,
        within: fault.is_none(),
        generator,
    };
    Found { target: flow.map(|flow| usize::from(layout.flows[flow].target)), figure, fault }
}

fn nothing_completed(cell: &Cell) -> Cause {
    let few = cell.carried_in == 0 && cell.scheduled < TOO_FEW;
    let reached = cell.in_flight > 0 || cell.stuck > 0 || cell.issued > 0;
    match (few, reached && !lag_is_the_generators(cell)) {
        (true, _) => Cause::TooFew,
        (false, true) => Cause::NothingCompleted,
        (false, false) => Cause::NothingIssued,
    }
}

/// What is left waiting at the end of the window and was withheld.
fn waiting(cell: &Cell, flows: usize, own: bool, window: &Window) -> u64 {
    // An operation due in the very last instant is on its way, not withheld.
    let waiting = cell.waiting.saturating_sub(flows as u64).min(cell.scheduled);
    let length = window.end_ns.saturating_sub(window.start_ns);
    let late = u128::from(waiting) * u128::from(length) <= u128::from(cell.scheduled) * u128::from(JITTER.as_ns());
    if own && late { 0 } else { waiting }
}

/// Time that the schedule takes for what waits.
fn behind_ns(cell: &Cell, waiting: u64, window: &Window) -> u128 {
    let length = window.end_ns.saturating_sub(window.start_ns);
    u128::from(waiting) * u128::from(length) / u128::from(cell.scheduled.max(1))
}

/// What waits may wait because all that came before it was late: by so much.
fn shift_ns(stream: usize, flow: Option<usize>, window: &Window, layout: &Layout) -> u128 {
    let flows = layout.of_stream[stream].iter().filter(|it| flow.is_none_or(|flow| **it == flow));
    let late = flows.filter_map(|it| window.late.get(usize::from(layout.flows[*it].target)));
    late.map(|late| lateness::behind_ns(late, layout)).max().unwrap_or(0).into()
}

/// Lag − own lag is what a full queue or a blocked submit explains: the device's. Where nothing was issued, the queue tells.
fn lag_is_the_generators(cell: &Cell) -> bool {
    if cell.lag.sum_ns == 0 {
        return cell.in_flight == 0 && cell.stuck == 0;
    }
    cell.own_lag.sum_ns.saturating_mul(2) > cell.lag.sum_ns
}

fn less(kept: &mut Option<Figure>, figure: &Figure) {
    if kept.as_ref().is_none_or(|kept| figure.value < kept.value) {
        *kept = Some(figure.clone());
    }
}
