//! What the slots of a closed loop did over some time.
//!
//! Each slot carries one operation after the other. The response of an operation begins when the one before it in its
//! slot has completed, so responses and pauses cover the time of every slot without a gap: rate × mean response is the
//! number of operations that were asked for in flight (Little's law), but for pauses.

use crate::fold::loop_layout::LoopLayout;
use crate::fold::placement::Placed;
use assay_record::{FlowInterval, Interval, Pauses};

/// What the slots of one closed loop did over some time. All sums are in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LoopTime {
    /// The time itself.
    pub(crate) length_ns: u64,
    /// completed − intended of all operations that ended, whatever their outcome.
    pub(crate) response_ns: u128,
    /// completed − issued of those that completed in full.
    pub(crate) service_ns: u128,
    /// issued − intended, and the generator's own part of that.
    pub(crate) lag_ns: u128,
    /// See `lag_ns`.
    pub(crate) own_lag_ns: u128,
    /// What completions may have waited to be found.
    pub(crate) unnoticed_ns: u128,
    /// The growth of the time that operations have taken which have not ended.
    pub(crate) opened_ns: i128,
    /// Pauses that began.
    pub(crate) paused_ns: u128,
    /// Slots that the generator left without an operation for a millisecond or more.
    pub(crate) idle: Pauses,
    /// Operations in flight at the end.
    pub(crate) in_flight: u64,
    /// An interval before it is missing, so that it is not known what was open at its beginning.
    pub(crate) unknown: bool,
}

impl LoopTime {
    /// Adds an interval; `before`: what was open when it began, where that is known.
    pub(crate) fn add_interval(&mut self, looped: usize, layout: &LoopLayout, placed: &Placed<'_>) {
        let Some(own) = placed.interval.loops.get(looped) else {
            self.unknown = true;
            return;
        };
        self.length_ns = self.length_ns.saturating_add(placed.length_ns());
        let flows = || layout.flows.iter().filter_map(|flow| placed.interval.flows.get(*flow));
        flows().for_each(|flow| self.add_flow(flow));
        self.in_flight = flows().fold(0, |sum, flow| sum.saturating_add(flow.in_flight).saturating_add(flow.stuck));
        match placed.opened.get(looped) {
            Some(before) => self.opened_ns += i128::from(own.open_ns) - i128::from(*before),
            None => self.unknown = true,
        }
        self.paused_ns = self.paused_ns.saturating_add(own.paused_ns.into());
        self.idle.add(&own.idle);
    }

    fn add_flow(&mut self, flow: &FlowInterval) {
        let failed = flow.failures.as_ref().map_or(0, |failures| failures.response.sum_ns);
        let unnoticed = flow.service_floor.as_ref().map_or(0, |floor| flow.service.sum_ns.saturating_sub(floor.sum_ns));
        for (sum, ns) in [
            (&mut self.response_ns, flow.response.sum_ns.saturating_add(failed)),
            (&mut self.service_ns, flow.service.sum_ns),
            (&mut self.lag_ns, flow.lag.sum_ns),
            (&mut self.own_lag_ns, flow.own_lag.sum_ns),
            (&mut self.unnoticed_ns, unnoticed),
        ] {
            *sum = sum.saturating_add(ns.into());
        }
    }

    /// Rate × mean response, over all slots, and what it must be: the slots' time but for their pauses.
    pub(crate) fn both_sides(&self, slots: u64) -> (i128, i128) {
        let response = i128::try_from(self.response_ns).unwrap_or(i128::MAX).saturating_add(self.opened_ns);
        let paused = i128::try_from(self.paused_ns).unwrap_or(i128::MAX);
        (response, (i128::from(slots) * i128::from(self.length_ns)).saturating_sub(paused))
    }

    /// The share of the slots' time for which the generator left them without an operation, a millisecond or more at a
    /// time.
    pub(crate) fn idle_share(&self, slots: u64) -> f64 {
        self.idle.sum_ns as f64 / (slots as f64 * self.length_ns as f64).max(1.0)
    }
}

/// What each loop of an interval has open at its end.
pub(crate) fn open_at_end(interval: &Interval) -> Vec<i64> {
    interval.loops.iter().map(|looped| looped.open_ns).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_record::{FailureTimes, LoopInterval, Timing};

    fn placed<'a>(interval: &'a Interval, opened: &'a [i64]) -> Placed<'a> {
        Placed { at_ns: interval.start_ns, joins: true, interval, carried: &[], opened, disturbed: None }
    }

    /// Two slots for 100 ns: one operation took 70 ns and another failed after 60, 40 ns were open before and 90 are now,
    /// and a slot paused for 20 ns.
    #[test]
    fn responses_pauses_and_what_is_open_cover_the_time_of_all_slots() {
        let layout = LoopLayout { flows: vec![0, 1], streams: vec![0, 1], slots: 2, by_number: false };
        let timing = |sum_ns| Timing { sum_ns, ..Timing::default() };
        let failures = Some(FailureTimes { at: vec![0, 1], response: timing(60) });
        let flows = vec![
            FlowInterval { ok: 1, response: timing(70), in_flight: 1, ..FlowInterval::default() },
            FlowInterval { failures, in_flight: 1, ..FlowInterval::default() },
        ];
        let loops = vec![LoopInterval { open_ns: 90, paused_ns: 20, ..LoopInterval::default() }];
        let interval = Interval { start_ns: 100, end_ns: 200, flows, loops, ..Interval::default() };
        let mut time = LoopTime::default();
        time.add_interval(0, &layout, &placed(&interval, &[40]));
        assert_eq!((time.both_sides(2), time.in_flight, time.unknown), ((180, 180), 2, false));
        time.add_interval(0, &layout, &placed(&interval, &[]));
        assert!(time.unknown, "what was open before is not known");
    }
}
