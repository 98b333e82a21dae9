//! The place of an interval in measured time, and how much time has been measured.
//!
//! A log uses the run's time line, which begins anew with each segment and includes warm-ups and drains. Everything
//! that is judged uses measured time, which does not advance while nothing is measured.

use crate::finding::failed::Moment;
use crate::fold::others::{Disturbance, Previous};
use assay_record::{Event, EventKind, Header, Interval, PhaseKind};

/// One interval and its place, as every state machine of a step gets it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed<'a> {
    /// Begin in measured time.
    pub(crate) at_ns: u64,
    /// It directly follows what was measured before it.
    pub(crate) joins: bool,
    /// The interval itself.
    pub(crate) interval: &'a Interval,
    /// For each flow, what was carried into it.
    pub(crate) carried: &'a [u64],
    /// For each closed loop, what was open when it began; empty where that is not known.
    pub(crate) opened: &'a [i64],
    /// Set where others disturb some target in it.
    pub(crate) disturbed: Option<Disturbing<'a>>,
}

/// What disturbs an interval, and the interval before, in which it may have begun.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Disturbing<'a> {
    /// What was found out.
    pub(crate) by: &'a Disturbance,
    /// The interval before.
    pub(crate) previous: &'a Previous,
}

impl Placed<'_> {
    /// Its length.
    pub(crate) fn length_ns(&self) -> u64 {
        self.interval.end_ns.saturating_sub(self.interval.start_ns)
    }
}

/// Gives the intervals of a step their places, segment by segment.
#[derive(Clone, Debug)]
pub(crate) struct Placement {
    phases: Vec<(PhaseKind, u64)>,
    measured_before: u64,
    phase: Option<u16>,
    phase_start: u64,
    phase_base: u64,
    /// Whether a judged phase was reached in this segment.
    measured: bool,
    cursor: u64,
    follows: bool,
    segments: u64,
}

impl Placement {
    /// The state before the first interval.
    pub(crate) fn new(header: &Header) -> Placement {
        Placement {
            phases: header.phases.iter().map(|phase| (phase.kind, phase.span_ns)).collect(),
            measured_before: header.measured_before_ns,
            phase: None,
            phase_start: 0,
            phase_base: 0,
            measured: false,
            cursor: header.measured_before_ns,
            follows: header.measured_before_ns == 0,
            segments: 1,
        }
    }

    /// Begins another segment of the same step.
    pub(crate) fn continue_with_segment(&mut self, header: &Header) {
        *self = Placement { follows: false, segments: self.segments + 1, ..Placement::new(header) };
    }

    /// Number of segments begun.
    pub(crate) fn segment_count(&self) -> u64 {
        self.segments
    }

    /// The measured time so far.
    pub(crate) fn reached_ns(&self) -> u64 {
        self.cursor
    }

    /// Whether a judged phase was reached in this segment.
    pub(crate) fn has_measured(&self) -> bool {
        self.measured
    }

    /// Whether an event at `at_ns`, which is not before the last interval, happened during the measured phase. A phase
    /// that may end early is assumed to last until its first interval.
    pub(crate) fn is_measured(&self, at_ns: u64) -> bool {
        let warm_up = self.phases.iter().take_while(|(kind, _)| *kind != PhaseKind::Measure);
        self.measured || at_ns >= warm_up.fold(0u64, |sum, (_, span)| sum.saturating_add(*span))
    }

    /// A moment of this segment's time line, as a reason names it.
    pub(crate) fn moment_at(&self, at_ns: u64) -> Moment {
        let load_ns = self.phases.iter().fold(0u64, |sum, (_, span)| sum.saturating_add(*span));
        match at_ns.checked_sub(load_ns).filter(|behind| load_ns > 0 && *behind > 0) {
            Some(behind_ns) => Moment::AfterLoad(behind_ns),
            None => Moment::UnderLoad(at_ns),
        }
    }

    /// Whether a phase is judged.
    pub(crate) fn is_judged_phase(&self, phase: u16) -> bool {
        self.phases.get(usize::from(phase)).is_some_and(|(kind, _)| *kind == PhaseKind::Measure)
    }

    /// The interval's place in measured time; `None` in a phase that is not judged. `joins`: no interval before it is missing.
    pub(crate) fn place_interval(&mut self, interval: &Interval, joins: bool) -> Option<u64> {
        if self.phase != Some(interval.phase) {
            let index = usize::from(interval.phase);
            let before = self.phases.iter().take(index);
            let planned = before.clone().fold(0u64, |sum, (_, span)| sum.saturating_add(*span));
            let measured = before.filter(|(kind, _)| *kind == PhaseKind::Measure);
            self.phase_base = measured.fold(self.measured_before, |sum, (_, span)| sum.saturating_add(*span));
            // A phase begins where its first interval does; when that one may be missing, at its planned begin.
            self.phase_start = if joins { interval.start_ns } else { planned.min(interval.start_ns) };
            self.phase = Some(interval.phase);
        }
        let (kind, _) = *self.phases.get(usize::from(interval.phase))?;
        self.measured |= kind == PhaseKind::Measure;
        let offset = interval.start_ns.saturating_sub(self.phase_start);
        (kind == PhaseKind::Measure).then(|| self.phase_base.saturating_add(offset))
    }

    /// An event's place in measured time. An event of a warm-up is placed at the beginning of the phase after it.
    pub(crate) fn place_event(&self, event: &Event) -> u64 {
        // A run that continues the log writes this event before its own header: the event has no place.
        let knows = event.what != EventKind::TornTail;
        self.measured_at(event.at_ns).filter(|_| knows).unwrap_or(self.cursor)
    }

    /// Converts a moment of the run's time line to measured time; `None` before the first interval.
    pub(crate) fn measured_at(&self, at_ns: u64) -> Option<u64> {
        let (kind, _) = *self.phases.get(usize::from(self.phase?))?;
        let offset = if kind == PhaseKind::Measure { at_ns.saturating_sub(self.phase_start) } else { 0 };
        Some(self.phase_base.saturating_add(offset))
    }

    /// Whether an interval that begins at `at_ns` follows what was measured before without a hole.
    pub(crate) fn follows_without_hole(&self, at_ns: u64, tolerance_ns: u64) -> bool {
        at_ns <= self.cursor.saturating_add(tolerance_ns)
    }

    /// Whether it also follows what this segment measured before.
    pub(crate) fn continues_segment(&self, at_ns: u64, tolerance_ns: u64) -> bool {
        self.follows && self.follows_without_hole(at_ns, tolerance_ns)
    }

    /// Advances measured time to the end of an interval.
    pub(crate) fn advance_past_interval(&mut self, placed: &Placed<'_>) {
        self.cursor = placed.at_ns.saturating_add(placed.length_ns());
        self.follows = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::fixture;
    use assay_record::PhaseHead;

    fn header(measured_before_ns: u64) -> Header {
        let phase =
            |kind, span_ns| PhaseHead { name: String::new(), kind, span_ns, steady_round_ns: None, until_done: false };
        let phases = vec![phase(PhaseKind::WarmUp, 50), phase(PhaseKind::Measure, 1000)];
        Header { phases, measured_before_ns, ..fixture::header() }
    }

    fn interval(phase: u16, start_ns: u64, end_ns: u64) -> Interval {
        Interval { phase, start_ns, end_ns, ..Interval::default() }
    }

    #[test]
    fn measured_time_begins_behind_the_warm_up_and_stands_still_between_segments() {
        let mut placement = Placement::new(&header(0));
        assert_eq!(placement.place_interval(&interval(0, 0, 10), true), None, "a warm-up is not judged");
        assert!(!placement.has_measured() && !placement.is_measured(49) && placement.is_measured(50));
        // The warm-up ended early.
        assert_eq!(placement.place_interval(&interval(1, 10, 20), true), Some(0));
        assert_eq!(placement.place_interval(&interval(1, 30, 40), false), Some(20));
        assert_eq!(placement.place_interval(&interval(7, 40, 50), true), None, "a phase that is not there");
        placement.continue_with_segment(&header(20));
        assert_eq!((placement.segment_count(), placement.reached_ns(), placement.has_measured()), (2, 20, false));
        assert!(
            !placement.continues_segment(20, 5)
                && placement.follows_without_hole(25, 5)
                && !placement.follows_without_hole(26, 5)
        );
        let mut again = Placement::new(&header(0));
        again.continue_with_segment(&header(0));
        assert!(
            !again.continues_segment(0, 5) && again.follows_without_hole(0, 5),
            "a segment begins after a gap, wherever it begins"
        );
        // Its first intervals are missing, so it began where it was planned.
        assert_eq!(placement.place_interval(&interval(1, 70, 80), false), Some(40));
    }

    #[test]
    fn what_is_found_while_a_run_waits_is_placed_behind_its_load() {
        let placement = Placement::new(&header(0));
        for (at_ns, expected) in [
            (0, "0 ns into the run"),
            (49, "49 ns into the run"),
            (1050, "1.05 µs into the run"),
            (1051, "1 ns after the load had ended"),
            (49_500_001_050, "49.5 s after the load had ended"),
        ] {
            assert_eq!(placement.moment_at(at_ns).to_string(), expected, "{at_ns}");
        }
        let endless = Placement::new(&Header { phases: Vec::new(), ..header(0) });
        assert_eq!(endless.moment_at(7).to_string(), "7 ns into the run", "a log without phases has no end to name");
    }

    #[test]
    fn events_stand_where_they_happened_if_they_know_it() {
        let mut placement = Placement::new(&header(0));
        let event =
            |what: &str, at_ns| Event { at_ns, what: what.into(), text: String::new(), details: Default::default() };
        assert_eq!(placement.place_event(&event("stuck", 99)), 0, "before the first interval");
        let first = interval(1, 50, 60);
        let at_ns = placement.place_interval(&first, true).unwrap();
        placement.advance_past_interval(&Placed {
            at_ns,
            joins: true,
            interval: &first,
            carried: &[],
            opened: &[],
            disturbed: None,
        });
        for (what, at, expected) in [("stuck", 57, 7), ("torn-tail", 57, 10), ("stuck", 3, 0)] {
            assert_eq!(placement.place_event(&event(what, at)), expected, "{what} at {at}");
        }
        assert!(placement.continues_segment(15, 5) && !placement.continues_segment(16, 5));
    }
}
