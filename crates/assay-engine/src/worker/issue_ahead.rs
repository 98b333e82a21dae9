//! Issuing ahead: on a device in virtual time whose completions are certain, these need not be looked at before the
//! next request is issued.

use crate::payload::Payload;
use crate::worker::machine::Worker;
use crate::worker::queue::Origin;
use assay_base::{Code, Completion, Device, Foretelling, Instant, NextRequest, Request, Source};

/// Upper bound on the requests issued ahead in one step: between two steps the shell checks whether the run must end.
const AHEAD: u32 = 1 << 18;

impl<D: Device, S: Source<Request = D::Request>, P: Payload<D>> Worker<D, S, P> {
    /// Whether issuing may continue before completions are looked at. Not while frames wait to be taken, because their
    /// receiver may end the run or the phase at this moment, and not while requests wait.
    #[inline]
    pub(crate) fn may_run_ahead(&self, now: Instant) -> bool {
        self.stage.is_scheduled()
            && !self.has_news()
            && self.queue.lanes.iter().all(|lane| lane.has_room())
            && self.agenda.earliest_due().1 >= now
    }
}

impl<D: Foretelling, S: Source<Request = D::Request>, P: Payload<D>> Worker<D, S, P> {
    /// The same worker, but issuing ahead where its device is sure, nothing is verified, and every source follows a
    /// schedule.
    #[must_use]
    pub fn with_foretelling(mut self) -> Self {
        // What is counted early has completed before draining is given up: it completes within the interval.
        let waits = self.rules.max_lag.is_zero() || self.rules.limits.drain >= self.book.timeline.interval_length();
        if self.device.is_sure()
            && !self.has_lives()
            && !self.payload.may_find_damage()
            && waits
            && self.agenda.open_loop
        {
            self.ahead.how = Some(Self::issue_ahead);
            self.lateness.assume_punctual();
        }
        self
    }

    /// Issues what is due from `now` on, each request at its time, at most up to the end of the interval, not too many
    /// at once, and only while there are slots. What completes within the interval is counted at once; the rest is
    /// found later, with its own time. Returns when to continue.
    #[inline(never)]
    fn issue_ahead(&mut self, now: Instant) -> Instant {
        self.ahead.reached = now;
        for left in (0..AHEAD).rev() {
            let (source, due) = self.agenda.earliest_due();
            if due >= self.book.boundary {
                // All of these requests have completed by then.
                self.queue.lanes.iter_mut().for_each(|lane| lane.early.clear());
                return due;
            }
            assert!(due >= self.ahead.reached, "nothing waits, and times of a schedule ascend");
            self.ahead.reached = due;
            match self.agenda.source_mut(source).next(due) {
                NextRequest::Of(flow) => {
                    let request = self.agenda.source_mut(source).take_request(flow);
                    self.carry_request(due, Origin { source, flow }, request);
                }
                NextRequest::Later(at) => self.agenda.put_off(source, at),
                NextRequest::Over => self.agenda.put_off(source, Instant::FAR),
            }
            let lane = self.agenda.first_lane(source);
            if left == 0 || self.queue.lanes[lane].may_be_full(due) {
                self.settle_early();
                break;
            }
        }
        self.ahead.reached
    }

    /// Issues a request that is due now.
    #[inline]
    fn carry_request(&mut self, now: Instant, origin: Origin, request: D::Request) {
        match self.device.foretell_completion(now, &request) {
            Some((completed, Ok(moved))) if moved == request.expected_bytes() && completed <= self.book.boundary => {
                self.agenda.source_mut(origin.source).note_completed(origin.flow, completed);
                self.agenda.update_due(origin.source);
                let lane = self.agenda.first_lane(origin.source);
                self.book.recorder.flow_counters_mut(origin.flow).issued += 1;
                self.book.recorder.count_prompt(origin.flow, moved, completed.since(now));
                self.book.totals.issued += 1;
                self.book.totals.completed += 1;
                self.incidents.note_success(request.target_index());
                self.queue.lanes[lane].early.push(completed);
            }
            foretold => self.submit_foretold(now, origin, request, foretold),
        }
    }

    /// Gives a slot to a request that does not complete within the interval.
    #[cold]
    fn submit_foretold(
        &mut self,
        now: Instant,
        origin: Origin,
        request: D::Request,
        foretold: Option<(Instant, Result<u32, Code>)>,
    ) {
        let ticket = self.take_slot(now, origin, now, request);
        match foretold {
            Some((completed, result)) => {
                self.device.keep_foretold(Completion { ticket, result, issued: now, accepted: now, completed });
            }
            None => self.device.submit_request(now, ticket, &request),
        }
    }

    /// Gives slots to requests that were counted early and are still in flight: from here on it matters how many are in
    /// flight.
    #[cold]
    fn settle_early(&mut self) {
        let now = self.ahead.reached;
        for lane in 0..self.queue.lanes.len() {
            let Some(flow) = self.agenda.flow_of(lane) else { continue };
            for completed in std::mem::take(&mut self.queue.lanes[lane].early) {
                if completed <= now {
                    continue;
                }
                let ticket = self.queue.lanes[lane].take_ticket();
                let origin = Origin { source: self.agenda.flows[flow].source, flow };
                self.queue.put_counted(ticket, origin, now);
                self.device.keep_foretold(Completion { ticket, result: Ok(0), issued: now, accepted: now, completed });
            }
        }
    }
}
