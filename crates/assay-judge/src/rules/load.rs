//! Whether a slice proves anything: whether the load asked for was delivered, whether anything completed, and who
//! caused the lag.
//!
//! If less than 99.9 % of what the schedule holds was delivered, the slice never passes: it is FAIL where the device is
//! the cause, INVALID where the generator is. The generator's own lag: a 99th percentile above the smallest threshold
//! of the criteria makes a slice INVALID, one above a tenth of it is a warning.

use crate::finding::load::{Cause, LoadFinding, NotDelivered};
use crate::finding::{Class, Finding, FindingKind};
use crate::fold::layout::Layout;
use crate::fold::window::Window;
use crate::judgement::{CriterionOutcome, Deciding, Figure, Outcome, Requirement};
use crate::rules::delivered::{DeliveryCheck, delivered_by};
use crate::rules::tally::Tally;
use crate::rules::worst::Worst;

const BOUND: &str = ">= 99.9%";

/// Judges the built-in criterion slice by slice.
#[derive(Clone, Debug)]
pub(crate) struct LoadTracker {
    step: u32,
    planned: u64,
    tally: Tally,
    first_broken: Option<Figure>,
    worst: Worst,
    /// What was found; see [`LoadTracker::take_findings`].
    pub(crate) findings: Vec<Finding>,
}

/// The outcome of one slice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SliceLoad {
    /// The load was delivered, as far as the device could deliver it.
    pub(crate) within: bool,
    /// The load was offered, so that the slice is valid.
    pub(crate) proves: bool,
    /// The load was not delivered while others used the device.
    pub(crate) others: bool,
}

impl LoadTracker {
    /// Judges `planned` slices of step `step`.
    pub(crate) fn new(step: u32, planned: u64, layout: &Layout) -> LoadTracker {
        LoadTracker {
            step,
            planned,
            tally: Tally::default(),
            first_broken: None,
            worst: Worst::new(layout.targets.len(), |a, b| a < b),
            findings: Vec::new(),
        }
    }

    /// Changes how many slices there are.
    pub(crate) fn set_planned_slices(&mut self, slices: u64) {
        self.planned = slices;
    }

    /// Judges one slice.
    pub(crate) fn judge_slice(&mut self, window: &Window, layout: &Layout) -> SliceLoad {
        if !window.complete {
            return SliceLoad { within: true, proves: true, others: false };
        }
        self.tally.complete += u64::from(!window.repeated);
        if let Some(why) = &window.invalid {
            self.tally.unproven += 1;
            self.keep_finding(LoadFinding::Slice(window.number, why.clone()), window, None, None, None);
            return SliceLoad { within: true, proves: false, others: false };
        }
        self.tally.windows += 1;
        // It counts as one slice, however many streams and targets were not delivered.
        let (mut broken, mut unproven, mut others) = (false, false, false);
        for stream in 0..layout.streams.len() {
            unproven |= self.is_thin(stream, window, layout);
            let found = delivered_by(stream, window, layout);
            broken |= found.iter().any(|found| found.is_of_class(Class::Broken));
            unproven |= found.iter().any(|found| found.is_of_class(Class::Unproven));
            others |= found.iter().any(|found| found.fault == Some(Cause::Others));
            self.keep_checks(found, &layout.streams[stream].head.name, window, layout);
        }
        self.tally.broken += u64::from(broken);
        self.tally.unproven += u64::from(unproven);
        SliceLoad { within: !broken, proves: !unproven, others }
    }

    /// Counts a slice without judging it: nobody asks for the load in it.
    pub(crate) fn count_slice(&mut self, window: &Window) {
        self.tally.complete += u64::from(window.complete && !window.repeated);
    }

    /// The schedule itself must contain what the plan asks for: within 0.1 % and six standard deviations of a Poisson
    /// count.
    fn is_thin(&mut self, stream: usize, window: &Window, layout: &Layout) -> bool {
        let (head, cell) = (&layout.streams[stream].head, &window.streams[stream]);
        let known = matches!(head.arrival.as_str(), "steady" | "poisson");
        let Some(rate) = head.rate.filter(|_| known && head.is_open_loop()) else { return false };
        // How much of the schedule lies before a number of operations was done is not known from the time.
        if layout.lives.is_done_by(stream, window.end_ns) {
            return false;
        }
        let lived_ns = layout.lives.lived_ns(stream, window.start_ns, window.end_ns);
        let expected = rate.as_f64() * lived_ns as f64 / 1e9;
        let least = expected * 0.999 - 6.0 * expected.sqrt() - 16.0;
        if (cell.work.scheduled as f64) < least {
            let (slice, scheduled, stream) = (window.number, cell.work.scheduled, head.name.clone());
            let found = LoadFinding::Thin { slice, stream, scheduled, expected };
            self.keep_finding(found, window, Some(&head.name), None, None);
            return true;
        }
        false
    }

    /// Keeps the outcome of a stream; that of a bad target among good ones is reported before that of all together.
    fn keep_checks(&mut self, mut found: Vec<DeliveryCheck>, name: &str, window: &Window, layout: &Layout) {
        // Where figures are equal, the one over all targets together, which comes first, is kept.
        found.iter().for_each(|found| self.worst.take_figure(&found.figure));
        let some_hold = found.iter().filter(|found| found.target.is_some()).any(|found| found.fault.is_none());
        found.sort_by(|a, b| {
            let (a, b) = (rank_of(a, some_hold), rank_of(b, some_hold));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
        });
        for DeliveryCheck { target, figure, fault } in found {
            if let Some(target) = target {
                self.worst.see_alone(target, &figure);
            }
            let Some(cause) = fault else { continue };
            let (stream, planned) = (name.to_owned(), self.planned);
            let others = (cause == Cause::Others)
                .then(|| window.others_on_targets(|at| target.is_none_or(|target| target == at), layout));
            let others = others.flatten();
            let found = NotDelivered { stream, figure: figure.clone(), planned, cause, on: None, others };
            let measured = cause.has_share().then_some(figure.text.as_str());
            self.keep_finding(LoadFinding::NotDelivered(found), window, Some(name), figure.target.clone(), measured);
            if cause.severity_class() == Class::Broken {
                if let Some(target) = target {
                    self.worst.count_broken_target(target, &figure);
                }
                self.first_broken.get_or_insert(figure);
            }
        }
    }

    /// Keeps the first finding of each class for each stream and target: further ones add nothing.
    fn keep_finding(
        &mut self,
        found: LoadFinding,
        window: &Window,
        stream: Option<&str>,
        target: Option<String>,
        measured: Option<&str>,
    ) {
        if self.findings.iter().any(|known| {
            let place = &known.deciding;
            known.severity_class() == found.severity_class()
                && place.stream.as_deref() == stream
                && place.target == target
        }) {
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
            part: None,
        };
        self.findings.push(Finding::new(found, deciding));
    }

    /// The findings, with the targets that did not take their load.
    pub(crate) fn take_findings(&mut self) -> Vec<Finding> {
        let on = self.worst.broken_on();
        let mut findings = std::mem::take(&mut self.findings);
        for finding in &mut findings {
            if let FindingKind::Load(load) = &mut finding.kind
                && let LoadFinding::NotDelivered(found) = &mut **load
                && found.cause.severity_class() == Class::Broken
            {
                found.on = Some(on.clone());
            }
        }
        findings
    }

    /// The outcome of the built-in criterion.
    pub(crate) fn final_outcome(&self, slice_ns: u64) -> CriterionOutcome {
        let outcome = match self.tally.outcome_over_windows(self.planned) {
            Outcome::Pass if self.worst.worst_overall().is_none() => Outcome::Invalid,
            outcome => outcome,
        };
        let asked = Requirement {
            criterion: "load delivered at least 99.9% per slice".to_owned(),
            title: "load delivered".to_owned(),
            bound: BOUND.to_owned(),
            window_ns: slice_ns,
            ..Requirement::default()
        };
        CriterionOutcome {
            asked,
            outcome,
            windows: self.tally.windows,
            broken: self.tally.broken,
            broken_on: self.worst.broken_worst_first(),
            measured: self.first_broken.as_ref().or(self.worst.worst_overall()).cloned(),
            worst: self.worst.worst_overall().cloned(),
            targets: self.worst.worst_by_target(),
            note: None,
        }
    }

    /// Number of complete slices.
    pub(crate) fn complete_slices(&self) -> u64 {
        self.tally.complete
    }

    /// True when no slice had an operation and no other finding explains that this proves nothing.
    pub(crate) fn saw_nothing(&self) -> bool {
        self.worst.worst_overall().is_none() && self.findings.is_empty()
    }
}

/// The order in which outcomes are kept: that of a bad target among good ones first.
fn rank_of(check: &DeliveryCheck, some_hold: bool) -> (bool, f64) {
    (check.target.is_none() == some_hold, check.figure.value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::flaw::Flaw;
    use crate::fold::fixture;

    /// Of ten thousand operations a thousandth, six standard deviations of a hundred and sixteen may be missing.
    #[test]
    fn a_schedule_is_thin_below_what_chance_explains() {
        let mut header = fixture::header();
        for (arrival, rate, scheduled, thin) in [
            ("poisson", Some(1000), 9374, false),
            ("poisson", Some(1000), 9373, true),
            ("steady", Some(1000), 9373, true),
            ("profile", Some(1000), 9373, false),
            ("steady", None, 0, false),
        ] {
            header.streams[0].arrival = arrival.into();
            header.streams[0].rate = rate.map(assay_base::Rate::per_second);
            let layout = Layout::new(&header, &[]).unwrap();
            let mut window = fixture::window(&layout);
            window.streams[0].work.scheduled = scheduled;
            let mut load = LoadTracker::new(1, 1, &layout);
            assert_eq!(load.is_thin(0, &window, &layout), thin, "{arrival} {rate:?} {scheduled}");
            assert_eq!(load.findings.len(), usize::from(thin));
        }
    }

    #[test]
    fn slices_that_prove_nothing_are_counted_and_none_at_all_is_no_pass() {
        let layout = Layout::new(&fixture::header(), &[]).unwrap();
        let nothing = fixture::window(&layout);
        let spoiled = Window { invalid: Some(Flaw::Slept(1)), ..nothing.clone() };
        let cut = Window { complete: false, ..nothing.clone() };
        let mut done = nothing.clone();
        (done.streams[0].work.scheduled, done.streams[0].work.ok) = (50, 50);
        for (windows, planned, outcome, complete) in [
            (vec![&done, &done], 2, Outcome::Pass, 2),
            (vec![&done, &cut], 2, Outcome::Incomplete, 1),
            (vec![&done, &spoiled], 2, Outcome::Invalid, 2),
            (vec![&nothing, &nothing], 2, Outcome::Invalid, 2),
            (vec![&done], 1, Outcome::Pass, 1),
        ] {
            let mut load = LoadTracker::new(1, 7, &layout);
            let seen: Vec<bool> = windows.iter().map(|window| load.judge_slice(window, &layout).proves).collect();
            assert_eq!(seen, windows.iter().map(|window| window.invalid.is_none()).collect::<Vec<_>>());
            load.set_planned_slices(planned);
            assert_eq!(load.complete_slices(), complete);
            assert_eq!(load.final_outcome(10).outcome, outcome, "{} windows", windows.len());
        }
    }

    #[test]
    fn of_each_class_stream_and_target_the_first_is_kept() {
        let layout = Layout::new(&fixture::header(), &[]).unwrap();
        let window = fixture::window(&layout);
        let mut load = LoadTracker::new(1, 5, &layout);
        let figure = Figure {
            window: 2,
            start_ns: 0,
            end_ns: 1,
            target: None,
            value: 0.5,
            text: "50%".into(),
            operations: 9,
            within: false,
            generator: false,
            others: false,
            too_few: false,
            processors: false,
        };
        for (cause, stream, target, found) in [
            (Some(Cause::Device), "reads", Some("disk"), 1),
            (Some(Cause::Device), "reads", Some("disk"), 1),
            (Some(Cause::NothingCompleted), "reads", Some("disk"), 1),
            (Some(Cause::Generator), "reads", Some("disk"), 2),
            (Some(Cause::Device), "writes", Some("disk"), 3),
            (Some(Cause::Device), "reads", Some("other"), 4),
            (Some(Cause::Device), "reads", None, 5),
            (None, "reads", Some("disk"), 5),
            (None, "reads", None, 6),
            (None, "reads", None, 6),
        ] {
            let (name, planned) = (stream.to_owned(), 5);
            let finding = match cause {
                Some(cause) => LoadFinding::NotDelivered(NotDelivered {
                    stream: name,
                    figure: figure.clone(),
                    planned,
                    cause,
                    on: None,
                    others: None,
                }),
                None => LoadFinding::Slice(2, Flaw::Slept(1)),
            };
            load.keep_finding(finding, &window, Some(stream), target.map(str::to_owned), None);
            assert_eq!(load.findings.len(), found, "{cause:?} {stream} {target:?}");
        }
    }
}
