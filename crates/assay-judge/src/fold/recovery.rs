//! How long it took after a disturbance until the criteria held again.
//!
//! A window of a criterion may be long, and a single interval may break a bound by chance that its window keeps. Therefore both are
//! looked at: the last window that breaks a bound says that the run had not recovered before it began, and within that window the
//! last interval that breaks one by itself says when it had. Of shares, means and rates a window can break a bound only if one of
//! its intervals does.

use crate::fold::layout::Layout;
use crate::fold::notes::Notes;
use crate::fold::placement::Placed;
use crate::fold::slices::{SeenWindow, Slices};
use crate::judgement::{RecoveryFigures, RecoveryState};

/// So many intervals in a row are like those of the healthy part where the figures have recovered.
const IN_A_ROW: u32 = 3;

/// What a part did, all streams together.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Level {
    operations: u64,
    response_ns: u128,
    measured_ns: u64,
}

impl Level {
    /// Counts operations with the sum of their responses, and time.
    pub(crate) fn add(&mut self, operations: u64, response_ns: u128, measured_ns: u64) {
        self.operations = self.operations.saturating_add(operations);
        self.response_ns = self.response_ns.saturating_add(response_ns);
        self.measured_ns = self.measured_ns.saturating_add(measured_ns);
    }

    /// The same of one interval.
    fn of_interval(placed: &Placed<'_>) -> Level {
        let mut level = Level::default();
        placed.interval.flows.iter().for_each(|flow| level.add(flow.ok, flow.response.sum_ns.into(), 0));
        level.add(0, 0, placed.length_ns());
        level
    }

    /// Whether at least half as much was done as on average there, and took at most twice as long.
    fn is_like(&self, healthy: &Level) -> bool {
        let of = |level: &Level, ns: u64| u128::from(level.operations) * u128::from(ns);
        let enough = of(self, healthy.measured_ns).saturating_mul(2) >= of(healthy, self.measured_ns);
        let own = self.response_ns.saturating_mul(u128::from(healthy.operations));
        let most = healthy.response_ns.saturating_mul(u128::from(self.operations)).saturating_mul(2);
        enough && own <= most
    }
}

/// Follows a part in which a disturbance is over.
#[derive(Clone, Debug)]
pub(crate) struct Recovery {
    since_ns: u64,
    allowed_ns: u64,
    /// Each interval judged by itself; `None` where nothing is asked of the part.
    intervals: Option<Slices>,
    notes: Notes,
    /// The end of the last interval that breaks a bound by itself.
    last_broken_ns: u64,
    /// Up to where bounds were certainly broken.
    broken_until_ns: u64,
    interrupted: bool,
    healthy: Option<Level>,
    /// How many intervals in a row are like those of the healthy part, and where the first of them begins.
    alike: u32,
    alike_since_ns: u64,
}

impl Recovery {
    /// A part that begins at `since_ns`, in which bounds may be broken for `allowed_ns`.
    pub(crate) fn new(since_ns: u64, allowed_ns: u64, intervals: Option<Slices>, healthy: Option<Level>) -> Recovery {
        let healthy = healthy.filter(|level| level.operations > 0 && level.measured_ns > 0);
        Recovery {
            since_ns,
            allowed_ns,
            intervals,
            notes: Notes::new(0),
            last_broken_ns: since_ns,
            broken_until_ns: since_ns,
            interrupted: false,
            healthy,
            alike: 0,
            alike_since_ns: since_ns,
        }
    }

    /// Adds an interval of the part, before the windows of the part get it. That others still use a disk excuses nothing here.
    pub(crate) fn add_interval(&mut self, placed: &Placed<'_>, layout: &Layout) {
        if let Some(intervals) = &mut self.intervals {
            intervals.add_interval(&Placed { disturbed: None, ..*placed }, layout, &mut self.notes);
            let seen = intervals.take_seen();
            self.note_broken_intervals(&seen);
        }
        let Some(healthy) = self.healthy.filter(|_| self.alike < IN_A_ROW && !layout.is_draining_at(placed.at_ns))
        else {
            return;
        };
        if !Level::of_interval(placed).is_like(&healthy) {
            self.alike = 0;
            return;
        }
        if self.alike == 0 {
            self.alike_since_ns = placed.at_ns;
        }
        self.alike += 1;
    }

    fn note_broken_intervals(&mut self, seen: &[SeenWindow]) {
        let broken = seen.iter().filter(|window| !window.within).map(|window| window.end_ns);
        self.last_broken_ns = broken.fold(self.last_broken_ns, u64::max);
    }

    /// Windows of the part have ended.
    pub(crate) fn see_windows(&mut self, seen: &[SeenWindow]) {
        for window in seen.iter().filter(|window| !window.within) {
            let within = self.last_broken_ns > window.start_ns && self.last_broken_ns <= window.end_ns;
            let until_ns = if within { self.last_broken_ns } else { window.end_ns };
            self.broken_until_ns = self.broken_until_ns.max(until_ns);
        }
    }

    /// The time that is allowed for the recovery is over: what was broken in it counts interval by interval.
    pub(crate) fn end_allowance(&mut self) {
        self.broken_until_ns = self.broken_until_ns.max(self.last_broken_ns);
    }

    /// The run was interrupted.
    pub(crate) fn note_interruption(&mut self) {
        self.interrupted = true;
    }

    /// Ends the intervals, before the windows of the part end.
    pub(crate) fn end_intervals(&mut self, layout: &Layout) {
        if let Some(intervals) = &mut self.intervals {
            intervals.close_open_windows(layout, &mut self.notes);
            let seen = intervals.take_seen();
            self.note_broken_intervals(&seen);
        }
    }

    /// The figures, where the part ends at `end_ns`.
    pub(crate) fn finish(&self, end_ns: u64, layout: &Layout) -> RecoveryFigures {
        let broken_ns = self.broken_until_ns.saturating_sub(self.since_ns);
        let at_end = broken_ns > 0 && self.broken_until_ns.saturating_add(layout.tolerance_ns()) >= end_ns;
        let state = if self.interrupted {
            RecoveryState::Interrupted
        } else if self.intervals.is_none() {
            RecoveryState::NotJudged
        } else if at_end {
            RecoveryState::NotRecovered
        } else {
            RecoveryState::Recovered
        };
        RecoveryFigures {
            state,
            took_ns: (state == RecoveryState::Recovered).then_some(broken_ns),
            precision_ns: layout.interval_ns,
            allowed_ns: self.allowed_ns,
            by_figures_ns: (self.alike >= IN_A_ROW).then(|| self.alike_since_ns.saturating_sub(self.since_ns)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::fixture;
    use assay_record::{FlowInterval, Interval, Timing};

    const SECOND: u64 = 1_000_000_000;

    fn seen(start: u64, end: u64, within: bool) -> SeenWindow {
        SeenWindow { start_ns: start * SECOND, end_ns: end * SECOND, within }
    }

    /// A recovery that is judged, from the tenth second on.
    fn judged(layout: &Layout) -> Recovery {
        let rules = crate::fold::part_windows::PartRules::new(1, &fixture::header(), &[], &Default::default());
        let slices = rules.windows_of(assay_base::MarkedPart::Recovered, 10 * SECOND, true, layout);
        Recovery::new(10 * SECOND, 0, Some(slices), None)
    }

    /// Which intervals and which windows are broken, and what follows of a part until the fortieth second.
    #[test]
    fn it_has_recovered_behind_the_last_interval_of_the_last_window_that_breaks_a_bound() {
        let layout = Layout::new(&fixture::header(), &[]).unwrap();
        for (intervals, windows, state, took) in [
            (vec![], vec![seen(10, 20, true), seen(20, 30, true)], RecoveryState::Recovered, Some(0)),
            (vec![13], vec![seen(10, 20, false), seen(20, 30, true)], RecoveryState::Recovered, Some(3)),
            // By chance, in a window that holds.
            (vec![13, 25], vec![seen(10, 20, false), seen(20, 30, true)], RecoveryState::Recovered, Some(3)),
            (vec![13, 25], vec![seen(10, 20, false), seen(20, 30, false)], RecoveryState::Recovered, Some(15)),
            (vec![40], vec![seen(10, 20, true), seen(20, 40, false)], RecoveryState::NotRecovered, None),
            // No interval explains it: the whole window counts.
            (vec![], vec![seen(10, 20, false)], RecoveryState::Recovered, Some(10)),
        ] {
            let mut recovery = judged(&layout);
            for window in &windows {
                let own = intervals.iter().filter(|end| **end * SECOND <= window.end_ns);
                let broken: Vec<_> = own.map(|end| seen(end - 1, *end, false)).collect();
                recovery.note_broken_intervals(&broken);
                recovery.see_windows(&[*window]);
            }
            let found = recovery.finish(40 * SECOND, &layout);
            assert_eq!((found.state, found.took_ns.map(|ns| ns / SECOND)), (state, took), "{intervals:?} {windows:?}");
        }
    }

    #[test]
    fn what_is_not_asked_or_was_interrupted_has_no_time() {
        let layout = Layout::new(&fixture::header(), &[]).unwrap();
        let mut interrupted = judged(&layout);
        interrupted.note_interruption();
        for (recovery, state) in
            [(interrupted, RecoveryState::Interrupted), (Recovery::new(0, 0, None, None), RecoveryState::NotJudged)]
        {
            let found = recovery.finish(9 * SECOND, &layout);
            assert_eq!((found.state, found.took_ns, found.by_figures_ns), (state, None, None));
        }
    }

    #[test]
    fn the_second_account_needs_three_intervals_in_a_row_like_those_before() {
        let layout = Layout::new(&fixture::header(), &[]).unwrap();
        let mut healthy = Level::default();
        healthy.add(1000, 1000 * 2_000_000, 10 * SECOND);
        let mut recovery = Recovery::new(10 * SECOND, 0, None, Some(healthy));
        // Operations in each second, and the milliseconds that each of them takes.
        for (at, (ok, ms)) in
            [(100, 2), (100, 2), (49, 2), (50, 4), (60, 5), (100, 4), (100, 2), (50, 4), (0, 0)].iter().enumerate()
        {
            let response = Timing { sum_ns: ok * ms * 1_000_000, ..Timing::default() };
            let flows = vec![FlowInterval { ok: *ok, response, ..FlowInterval::default() }, FlowInterval::default()];
            let start_ns = (10 + at as u64) * SECOND;
            let interval = Interval { start_ns, end_ns: start_ns + SECOND, flows, ..Interval::default() };
            let placed = Placed {
                at_ns: start_ns,
                joins: true,
                interval: &interval,
                carried: &[0, 0],
                opened: &[],
                disturbed: None,
            };
            recovery.add_interval(&placed, &layout);
        }
        assert_eq!(recovery.finish(20 * SECOND, &layout).by_figures_ns, Some(5 * SECOND));
    }
}
