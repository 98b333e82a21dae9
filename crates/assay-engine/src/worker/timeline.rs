//! When the intervals and phases of a run begin and end. Pure arithmetic on instants.

use assay_base::{Instant, Span};
use assay_model::plan::PlannedTiming;
use assay_model::{PhaseKind, Plan};
use assay_record::{SHORT_RUN, SHORT_RUN_GROUP};

/// The log gets distributions at least this often, in intervals.
const LONGEST_GROUP: u64 = 10;

/// Goes through the intervals of a run. After the last phase it continues, in that phase, for as long as operations are
/// drained.
#[derive(Clone, Debug)]
pub(crate) struct Timeline {
    interval: Span,
    slice: Span,
    /// The ends of the phases that have one.
    phases: Vec<Instant>,
    phase: usize,
    /// The phase that may be ended early.
    waits: Option<usize>,
    phase_start: Instant,
    index: u64,
    start: Instant,
    /// How many intervals have ended since the log got distributions.
    group: u64,
    /// With how many of them it gets distributions.
    full_group: u64,
}

/// One interval that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Closed {
    /// 0-based.
    pub(crate) index: u64,
    /// Begin.
    pub(crate) start: Instant,
    /// End, exclusive.
    pub(crate) end: Instant,
    /// Index of its phase.
    pub(crate) phase: u16,
    /// Whether the log gets the distributions together with it.
    pub(crate) close_group: bool,
}

/// What came of the wish to end the phase that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PhaseEnd {
    /// It ends then, and the later phases follow it.
    Moved,
    /// No phase waits, or it ends then anyway.
    Unchanged,
    /// That time has passed already.
    TooLate,
}

impl Timeline {
    /// The timeline of a plan whose run begins at `start`.
    pub(crate) fn new(plan: &Plan, start: Instant) -> Timeline {
        let mut end = start;
        let timed = plan.timing.phases.iter().filter(|phase| phase.kind != PhaseKind::ReadBack);
        let phases = timed.map(|phase| {
            end += phase.span;
            end
        });
        let phases: Vec<Instant> = phases.collect();
        assert!(!phases.is_empty(), "a plan has at least one phase");
        let PlannedTiming { interval, slice, .. } = plan.timing;
        let waits = plan.timing.phases.iter().position(|phase| phase.steady_round.is_some());
        let is_short = phases[phases.len() - 1].since(start) <= SHORT_RUN;
        let full_group = if is_short { intervals_in_short_group(interval) } else { LONGEST_GROUP };
        Timeline { interval, slice, phases, phase: 0, waits, phase_start: start, index: 0, start, group: 0, full_group }
    }

    /// Ends the phase that waits at `at`, and moves the later ones accordingly.
    pub(crate) fn end_phase(&mut self, at: Instant) -> PhaseEnd {
        let Some(waits) = self.waits else { return PhaseEnd::Unchanged };
        let early = self.phases[waits].since(at);
        if early.is_zero() {
            return PhaseEnd::Unchanged;
        }
        if self.phase != waits || at <= self.start {
            return PhaseEnd::TooLate;
        }
        for end in &mut self.phases[waits..] {
            *end = Instant::from_ns(end.as_ns() - early.as_ns());
        }
        PhaseEnd::Moved
    }

    /// Length of an interval.
    pub(crate) fn interval_length(&self) -> Span {
        self.interval
    }

    /// The end of the last phase.
    pub(crate) fn last_phase_end(&self) -> Instant {
        self.phases[self.phases.len() - 1]
    }

    /// The end of the interval that is open now.
    pub(crate) fn interval_end(&self) -> Instant {
        let next = self.start + self.interval;
        // Once the last phase is over, its end is in the past, and only intervals of the drain follow.
        if self.phases[self.phase] > self.start { next.min(self.phases[self.phase]) } else { next }
    }

    /// Ends the open interval at `end`, which is its boundary or, when a run is cut, earlier. `last`: no interval
    /// follows.
    pub(crate) fn close_interval(&mut self, end: Instant, last: bool) -> Closed {
        assert!(end >= self.start, "an interval ends after it begins");
        let phase_ends = end >= self.phases[self.phase];
        let slice_ends =
            !self.slice.is_zero() && end.since(self.phase_start).as_ns().is_multiple_of(self.slice.as_ns());
        self.group += 1;
        let close_group = last || phase_ends || slice_ends || self.group >= self.full_group;
        let closed = Closed { index: self.index, start: self.start, end, phase: self.phase as u16, close_group };
        if close_group {
            self.group = 0;
        }
        if phase_ends && self.phase + 1 < self.phases.len() {
            self.phase += 1;
            self.phase_start = end;
        }
        self.index += 1;
        self.start = end;
        closed
    }

    /// Begins the phase after the last one with an end, at the beginning of the open interval. It lasts until the run
    /// is over.
    pub(crate) fn read_back(&mut self) {
        self.phase = self.phases.len();
        self.phases.push(Instant::FAR);
        self.phase_start = self.start;
    }

    /// Whether intervals were closed whose distributions are not in the log yet.
    pub(crate) fn is_within_group(&self) -> bool {
        self.group > 0
    }

    /// Begin of the open interval.
    pub(crate) fn open_since(&self) -> Instant {
        self.start
    }
}

/// How many whole intervals of this length [`SHORT_RUN_GROUP`] has: from 1 to [`LONGEST_GROUP`].
fn intervals_in_short_group(interval: Span) -> u64 {
    (SHORT_RUN_GROUP.as_ns() / interval.as_ns().max(1)).clamp(1, LONGEST_GROUP)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::{WarmUp, workload};

    fn timeline(warm_up_ms: u64, measure_ms: u64, slice_ms: u64) -> Timeline {
        let file = format!("model = \"act-storage\"\nslice = \"{slice_ms}ms\"");
        let adjust = workload::Adjust {
            targets: 1,
            measure: Some(Span::from_ms(measure_ms)),
            warm_up: Some(WarmUp::For(Span::from_ms(warm_up_ms))),
            ..workload::Adjust::default()
        };
        Timeline::new(&workload::read_workload("t", &file).unwrap().make_plan(&adjust).unwrap(), Instant::from_ns(5))
    }

    fn walk(mut timeline: Timeline, n: usize) -> Vec<(u64, u64, u16, bool)> {
        let step = |_| {
            let boundary = timeline.interval_end();
            let closed = timeline.close_interval(boundary, false);
            (
                (closed.start.as_ns() - 5) / 1_000_000,
                (closed.end.as_ns() - 5) / 1_000_000,
                closed.phase,
                closed.close_group,
            )
        };
        (0..n).map(step).collect()
    }

    #[test]
    fn intervals_end_at_phases_and_go_on_while_draining() {
        let expected = [
            (0, 1000, 0, false),
            (1000, 1500, 0, true),
            (1500, 2500, 1, false),
            (2500, 3500, 1, true),
            (3500, 4000, 1, true),
            (4000, 5000, 1, true),
            (5000, 6000, 1, true),
        ];
        assert_eq!(walk(timeline(1500, 2500, 2000), 7), expected);
    }

    #[test]
    fn a_phase_that_waits_ends_early_and_the_next_keeps_its_length() {
        let file = "model = \"act-storage\"\nslice = \"2s\"\nduration = \"3s\"\nwarm_up = { until = \"steady\", limit = \"60s\", round = \"1s\" }";
        let plan = workload::read_workload("t", file).unwrap().make_plan(&workload::Adjust::default()).unwrap();
        let at = |s: u64| Instant::from_ns(5 + s * 1_000_000_000);
        let mut timeline = Timeline::new(&plan, at(0));
        assert_eq!(timeline.last_phase_end(), at(63));
        (0..5).for_each(|_| _ = timeline.close_interval(timeline.interval_end(), false));
        assert_eq!(
            timeline.clone().end_phase(at(5)),
            PhaseEnd::TooLate,
            "the interval that begins there is open already"
        );
        let twice = [timeline.end_phase(at(7)), timeline.end_phase(at(7))];
        assert_eq!(twice, [PhaseEnd::Moved, PhaseEnd::Unchanged], "twice is once");
        assert_eq!(timeline.last_phase_end(), at(10));
        let rest: Vec<(u16, bool)> = (0..6)
            .map(|_| timeline.close_interval(timeline.interval_end(), false))
            .map(|closed| (closed.phase, closed.close_group))
            .collect();
        assert_eq!(rest, [(0, true), (0, true), (1, false), (1, true), (1, true), (1, true)]);
        let later = [timeline.end_phase(at(7)), timeline.end_phase(at(6))];
        assert_eq!(later, [PhaseEnd::Unchanged, PhaseEnd::TooLate], "it is over");
    }

    /// The seconds at which the log of a run of this length gets distributions, in the first 40 of them.
    fn seconds_with_distributions(measure_ms: u64, slice_ms: u64) -> Vec<u64> {
        walk(timeline(0, measure_ms, slice_ms), 40).iter().filter(|c| c.3).map(|c| c.1 / 1000).collect()
    }

    #[test]
    fn distributions_go_out_every_ten_intervals_and_at_slices() {
        assert_eq!(seconds_with_distributions(301_000, 15_000), [10, 15, 25, 30, 40]);
    }

    #[test]
    fn distributions_of_a_short_run_go_out_every_two_seconds() {
        let even: Vec<u64> = (1..=20).map(|n| 2 * n).collect();
        assert_eq!(seconds_with_distributions(300_000, 10_000), even);
        let groups = [500, 1_000, 2_000, 5_000, 10, 0].map(|ms| intervals_in_short_group(Span::from_ms(ms)));
        assert_eq!(groups, [4, 2, 1, 1, 10, 10]);
    }
}
