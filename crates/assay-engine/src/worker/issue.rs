//! Issues requests: due requests are issued while there are free slots, and the run ends when its schedule is
//! too far behind.

use crate::lateness::arrivals::Arrival;
use crate::payload::{Payload, RequestId};
use crate::worker::machine::Worker;
use crate::worker::queue::Origin;
use assay_base::{Device, Instant, NextRequest, Request, Source, Ticket};
use assay_record::{CloseReason, EventKind};
use std::collections::BTreeMap;

impl<D: Device, S: Source<Request = D::Request>, P: Payload<D>> Worker<D, S, P> {
    /// Issues what is due at `now` and returns when the next request that has a slot is due.
    pub(crate) fn issue_due(&mut self, now: Instant) -> Instant {
        loop {
            let (source, due) = self.agenda.earliest_with_slot(&self.queue.lanes);
            if due > now {
                return due;
            }
            if self.stop_if_behind(now, due, source) {
                return Instant::FAR;
            }
            if let Some(number) = self.stocks.of_source(source)
                && self.issue_prepared(now, source, number, due)
            {
                continue;
            }
            match self.agenda.source_mut(source).next(now) {
                NextRequest::Of(flow) => self.issue_next(now, Origin { source, flow }, due),
                NextRequest::Later(at) => self.agenda.put_off(source, at),
                NextRequest::Over => self.agenda.put_off(source, Instant::FAR),
            }
        }
    }

    /// The lag rule: the run ends when its schedule is behind by more than the plan allows.
    #[inline]
    fn stop_if_behind(&mut self, now: Instant, due: Instant, source: usize) -> bool {
        if self.rules.max_lag.is_zero() || now.since(due) <= self.rules.max_lag || !self.agenda.is_open_loop(source) {
            return false;
        }
        self.lag_stop(now, due, source);
        true
    }

    /// The lag rule for requests without a slot: where no slot becomes free, nothing else checks them.
    #[cold]
    pub(crate) fn look_at_full_lanes(&mut self, now: Instant) {
        if !self.stage.is_scheduled() {
            return;
        }
        for source in 0..self.agenda.len() {
            let (lane, due) = (self.agenda.first_lane(source), self.agenda.next_due(source));
            let lane = &mut self.queue.lanes[lane];
            if due < now && !lane.has_room() {
                lane.full.mark_still_full(now);
                if self.stop_if_behind(now, due, source) {
                    return;
                }
            }
        }
    }

    #[cold]
    fn lag_stop(&mut self, now: Instant, due: Instant, source: usize) {
        let index = self.agenda.first_of(source);
        let flow = self.agenda.flows[index];
        // Not only its own delay: the operations before it were late too.
        let shift = self.lateness.worst_shift(usize::from(flow.target));
        let held = self.lateness.held_back.but_for_the_device(&self.queue.lanes[flow.lane].full, now, due);
        let own = now.since(due.max(held)).max(shift);
        let (reason, who) = if own.as_ns() * 2 > now.since(due).as_ns() {
            (CloseReason::GeneratorLag, "the test machine did not get to issue them")
        } else {
            (CloseReason::DeviceLag, "the device did not take them")
        };
        let text = format!(
            "operations are {} behind their schedule, more than {}: {who}",
            now.since(due).human_text(),
            self.rules.max_lag
        );
        self.incidents.write_event(
            now,
            EventKind::LagStop,
            text,
            BTreeMap::from([("flow".to_owned(), index.to_string())]),
        );
        self.stop_issuing(now, reason);
    }

    /// Issues the next request of a source. Kept out of `step`, because together both would have too few registers (15 %
    /// on the null device). The request is made here: one that is handed over by its caller is written as two words and
    /// read back as one, which waits for the writes (a third of this function's time).
    #[inline(never)]
    fn issue_next(&mut self, now: Instant, origin: Origin, due: Instant) {
        let request = self.agenda.source_mut(origin.source).take_request(origin.flow);
        let ticket = self.take_slot(now, origin, due, request);
        match self.stocks.of_source(origin.source) {
            Some(number) => self.device.submit_with_stock(now, number, ticket, &request),
            None => self.device.submit_request(now, ticket, &request),
        }
    }

    /// Prepares a slot for a request of a source's flow and counts it as issued.
    #[inline(always)]
    pub(crate) fn take_slot(&mut self, now: Instant, origin: Origin, due: Instant, request: D::Request) -> Ticket {
        let lane = self.agenda.flows[origin.flow].lane;
        let held = self.held_until(now, origin, lane, due, &request);
        let ticket = self.queue.take_slot(lane, now, due, &self.lateness.held_back);
        let look = self.payload.before_issue(&mut self.device, RequestId { flow: origin.flow, ticket }, &request);
        self.queue.fill_slot(ticket, origin, request, [due, now, held], look);
        self.count_issued(origin);
        ticket
    }

    /// When a request would have been issued if the device had not delayed it.
    #[inline(always)]
    pub(crate) fn held_until(
        &mut self,
        now: Instant,
        origin: Origin,
        lane: usize,
        due: Instant,
        request: &D::Request,
    ) -> Instant {
        let contends = self.agenda.may_wait_for_slot(origin.source);
        if self.lateness.may_be_late {
            let arrival = Arrival {
                now,
                due,
                target: request.target_index(),
                scheduled: self.agenda.is_open_loop(origin.source),
                shifts: self.agenda.delays_followers(origin.source),
                contends,
                rests: self.agenda.is_target_idle(origin.flow),
            };
            let full = &self.queue.lanes[lane].full;
            self.lateness.count_arrival(&arrival, full, &mut self.book.recorder)
        } else if contends {
            self.lateness.held_back.but_for_the_device(&self.queue.lanes[lane].full, now, due)
        } else {
            self.lateness.held_back.but_for_hand_overs(now, due)
        }
    }

    /// Counts a request of a source's flow as issued.
    #[inline(always)]
    pub(crate) fn count_issued(&mut self, origin: Origin) {
        self.agenda.update_due(origin.source);
        self.agenda.count_issued(origin.flow);
        self.book.recorder.flow_counters_mut(origin.flow).issued += 1;
        self.book.totals.issued += 1;
    }
}
