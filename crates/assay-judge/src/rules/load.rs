//! Whether a slice proves anything: was the load asked for the load delivered, did anything complete, and whose was the lag.
//!
//! DESIGN §5: achieved below 99.9 % of what the schedule held is never PASS; short because of the device it is FAIL, because
//! of the generator INVALID. The generator's own lag: its 99th percentile above the smallest threshold of the criteria
//! makes a slice INVALID, above a tenth of it is a warning.

use crate::fold::cell::Cell;
use crate::fold::layout::Layout;
use crate::fold::window::{Window, sum};
use crate::judgement::{CriterionOutcome, Deciding, Figure, Outcome};
use crate::rules::criterion::place;
use crate::rules::finding::{Class, Finding};
use crate::rules::lateness;
use crate::rules::value::share_text;
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
    warned_own_lag: bool,
    /// What was found.
    pub findings: Vec<Finding>,
    /// What a reader should know.
    pub warnings: Vec<String>,
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
            let lag = Span::from_ns(lower).human();
            window.invalid = Some(format!("the generator held back 1% of all operations by {lag} or more"));
        } else if is_slice && late && !self.warned_own_lag {
            self.warned_own_lag = true;
            self.warnings.push(format!(
                "the generator held back 1% of all operations of slice {} by {} or more",
                window.number,
                Span::from_ns(lower).human()
            ));
        } else if is_slice && lower.saturating_mul(10) >= threshold.as_ns() && !self.warned_own_lag {
            self.warned_own_lag = true;
            let upper = upper.map_or_else(|| "an hour".to_owned(), |ns| Span::from_ns(ns).human());
            self.warnings.push(format!(
                "the generator's own lag (p99 of all operations, slice {}) is between {} and {upper}, more than a tenth of the \
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
        let before = self.unproven;
        let within = self.holds(window, layout);
        Seen { within, proves: self.unproven == before }
    }

    fn holds(&mut self, window: &Window, layout: &Layout) -> bool {
        if !window.complete {
            return true;
        }
        self.complete += u64::from(!window.repeated);
        if let Some(why) = &window.invalid {
            self.unproven += 1;
            self.find(
                Class::Unproven,
                format!("slice {} proves nothing: {why}", window.number),
                window,
                None,
                None,
                None,
            );
            return true;
        }
        self.windows += 1;
        let mut holds = true;
        for stream in 0..layout.streams.len() {
            holds &= self.stream(stream, window, layout);
        }
        holds
    }

    fn stream(&mut self, stream: usize, window: &Window, layout: &Layout) -> bool {
        let head = &layout.streams[stream];
        let flows = &layout.of_stream[stream];
        let together = &window.streams[stream];
        if head.is_open_loop() {
            self.check_schedule(stream, together, window, layout);
        }
        let mut holds = self.delivered(stream, together, None, flows.len(), window, layout);
        if flows.len() > 1 {
            for &flow in flows {
                holds &= self.delivered(stream, &window.flows[flow], Some(flow), 1, window, layout);
            }
        }
        holds
    }

    /// The schedule itself must hold what the plan asks: within 0.1 % and six standard deviations of a Poisson count.
    fn check_schedule(&mut self, stream: usize, cell: &Cell, window: &Window, layout: &Layout) {
        let head = &layout.streams[stream];
        let known = matches!(head.arrival.as_str(), "steady" | "poisson");
        let Some(rate) = head.rate.filter(|_| known) else { return };
        let expected = rate.as_f64() * (window.end_ns.saturating_sub(window.start_ns)) as f64 / 1e9;
        let least = expected * 0.999 - 6.0 * expected.sqrt() - 16.0;
        if (cell.scheduled as f64) < least {
            let text = format!(
                "in slice {} the schedule of {} held {} operations where the plan asks for {expected:.0}",
                window.number, head.name, cell.scheduled
            );
            self.unproven += 1;
            self.find(Class::Unproven, text, window, Some(&head.name), None, None);
        }
    }

    fn delivered(
        &mut self,
        stream: usize,
        cell: &Cell,
        flow: Option<usize>,
        flows: usize,
        window: &Window,
        layout: &Layout,
    ) -> bool {
        let name = layout.streams[stream].name.as_str();
        let target = flow.map(|flow| layout.target_of(flow).to_owned());
        let offered = cell.carried_in.saturating_add(cell.scheduled);
        if offered > 0 && cell.ended() == 0 {
            return self.nothing_completed(name, cell, target, window);
        }
        if cell.scheduled == 0 {
            return true;
        }
        // An operation due in the very last instant is on its way, not withheld.
        let waiting = cell.waiting.saturating_sub(flows as u64).min(cell.scheduled);
        let own = lag_is_the_generators(cell);
        let length = window.end_ns.saturating_sub(window.start_ns);
        let late = u128::from(waiting) * u128::from(length) <= u128::from(cell.scheduled) * u128::from(JITTER.as_ns());
        let waiting = if own && late { 0 } else { waiting };
        let within = waiting <= cell.scheduled / LEFT_WAITING;
        let value = 1.0 - waiting as f64 / cell.scheduled as f64;
        // What waits may wait because all that came before it was late.
        let behind = u128::from(waiting) * u128::from(length) / u128::from(cell.scheduled);
        let targets = || layout.of_stream[stream].iter().filter(|it| flow.is_none_or(|flow| **it == flow));
        let late = targets().filter_map(|it| window.late.get(usize::from(layout.flows[*it].target)));
        let shift = late.map(|late| lateness::behind_ns(late, layout)).max().unwrap_or(0);
        let generator = !within && (own || behind <= u128::from(shift));
        let figure = Figure {
            window: window.number,
            start_ns: window.start_ns,
            end_ns: window.end_ns,
            target,
            value,
            text: share_text(value, LEAST),
            operations: cell.scheduled,
            within,
            generator,
        };
        if !within {
            self.not_delivered(name, &figure, window);
        }
        if let Some(flow) = flow {
            less(&mut self.targets[usize::from(layout.flows[flow].target)], &figure);
        } else {
            less(&mut self.worst, &figure);
        }
        within || generator
    }

    fn not_delivered(&mut self, name: &str, figure: &Figure, window: &Window) {
        let (class, cause) = match figure.generator {
            true => (Class::Unproven, "the generator could not keep up"),
            false => (Class::Broken, "the device could not take it"),
        };
        *(if figure.generator { &mut self.unproven } else { &mut self.broken }) += 1;
        let text = format!(
            "{}: only {} of the scheduled {name} were issued; {cause}",
            place(figure, self.planned, None),
            figure.text
        );
        self.find(class, text, window, Some(name), figure.target.clone(), Some(&figure.text));
        if !figure.generator {
            self.first_broken.get_or_insert_with(|| figure.clone());
        }
    }

    fn nothing_completed(&mut self, name: &str, cell: &Cell, target: Option<String>, window: &Window) -> bool {
        let offered = cell.carried_in.saturating_add(cell.scheduled);
        let few = cell.carried_in == 0 && cell.scheduled < TOO_FEW;
        let reached = cell.in_flight > 0 || cell.stuck > 0 || cell.issued > 0;
        let (class, cause) = match (few, reached && !lag_is_the_generators(cell)) {
            (true, _) => (Class::Unproven, "too few to say anything"),
            (false, true) => (Class::Broken, "the device completed nothing"),
            (false, false) => (Class::Unproven, "the generator issued nothing"),
        };
        *(if class == Class::Broken { &mut self.broken } else { &mut self.unproven }) += 1;
        let on = target.as_ref().map(|target| format!(" on {target}")).unwrap_or_default();
        let text = format!("in slice {} none of {offered} {name}{on} completed: {cause}", window.number);
        self.find(class, text, window, Some(name), target, None);
        class != Class::Broken
    }

    /// Keeps the first finding of each class for each stream and target: the others say nothing new.
    fn find(
        &mut self,
        class: Class,
        text: String,
        window: &Window,
        stream: Option<&str>,
        target: Option<String>,
        measured: Option<&str>,
    ) {
        let same = |known: &Finding| {
            let place = &known.deciding;
            known.class == class && place.stream.as_deref() == stream && place.target == target
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
        self.findings.push(Finding { class, text, deciding });
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
