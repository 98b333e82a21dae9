//! Handles a completion: it is counted, its data are examined, and its slot becomes free.

use crate::lateness::arrivals::LateCompletion;
use crate::lateness::held_back::OwnLag;
use crate::lateness::watch::OVERSLEPT;
use crate::payload::{ExaminationResult, Payload, RequestId};
use crate::worker::agenda::ReturnedRequest;
use crate::worker::machine::{Worker, describe_request};
use crate::worker::queue::{Begun, Slot};
use assay_base::{Code, Completion, Device, Done, Instant, Request, Source, Span, Ticket};
use assay_record::{CloseReason, EventKind, Excess, Failure, OperationTimes};

/// The facts about a request when its completion is found.
struct FoundCompletion {
    flow: usize,
    submitted: Instant,
    /// The generator's own lag.
    lag: OwnLag,
    /// The time for which the thread that carried it was kept from running.
    kept: Span,
    /// The prepared request that followed it.
    follower: Option<Ticket>,
}

/// What the generator may have added to the times of a request. Two numbers are returned in registers; three would be
/// written to memory and read back in larger words, which waits for the writes (a tenth of a step on the null device).
#[derive(Clone, Copy)]
struct AddedTime {
    response: Span,
    service: Span,
}

impl<D: Device, S: Source<Request = D::Request>, P: Payload<D>> Worker<D, S, P> {
    /// Where time is virtual and the device is sure, it does not matter when completions are looked at.
    #[inline(always)]
    pub(crate) fn look_for_oversleeping(&mut self, now: Instant, done: &Done) {
        if done.first().is_some_and(|first| now.since(first.completed) >= OVERSLEPT) && self.ahead.how.is_none() {
            self.count_oversleeping(now, done);
        }
    }

    /// Counts that completions with times of their own, in their order, were found long after those times.
    #[cold]
    fn count_oversleeping(&mut self, now: Instant, done: &Done) {
        for completion in done {
            // Its slot may still be a prepared one: the request that it followed is found with it.
            let Slot { flow, source, .. } = *self.queue.last_content(completion.ticket);
            // Nothing waited for it to be found: the next one had followed it.
            if self.prepared_follower(usize::from(source), completion).is_some() {
                continue;
            }
            let target = self.agenda.flows[usize::from(flow)].target;
            self.lateness.count_oversleeping(now, target, completion.completed, &mut self.book.recorder);
        }
    }

    #[inline]
    pub(crate) fn handle_completion(&mut self, now: Instant, completion: &Completion) {
        let slot = self.queue.live_slot(completion.ticket);
        let (counted, stuck) = (slot.counted, slot.stuck);
        // Differences of times saturate: one that ran backwards would silently be a time of 0.
        let Completion { issued, accepted, completed, .. } = *completion;
        assert!(
            slot.intended <= issued && issued <= accepted && accepted <= completed,
            "an operation is due, issued, accepted and completed in this order"
        );
        if counted {
            self.queue.free_slot(now, self.agenda.first_lane(usize::from(slot.source)), completion);
            return;
        }
        if completion.result == Ok(slot.request.expected_bytes()) && !slot.rest {
            self.count_success(now, completion);
        } else if !self.takes_rest(now, completion) {
            self.count_unsuccessful(now, *completion);
        }
        if stuck {
            self.came_back(now, completion);
        }
    }

    /// A request that was stuck is not stuck any more, unless its rest is in flight.
    #[cold]
    fn came_back(&mut self, now: Instant, completion: &Completion) {
        if self.queue.is_live(completion.ticket) {
            return;
        }
        let slot = *self.queue.last_content(completion.ticket);
        self.agenda.flows[usize::from(slot.flow)].stuck -= 1;
        let text = format!("an operation came back after {}", completion.completed.since(slot.submitted).human_text());
        self.write_slot_event(now, EventKind::LateCompletion, text, &slot, None);
    }

    /// Counts a full completion.
    #[inline(always)]
    fn count_success(&mut self, now: Instant, completion: &Completion) {
        let slot = self.queue.last_content(completion.ticket);
        let (index, look, bytes) = (usize::from(slot.flow), slot.look, slot.request.expected_bytes());
        let took = self.finish_request(now, completion);
        if look || self.payload.may_find_damage() {
            let slot = self.queue.last_content(completion.ticket);
            let (at, cell) =
                (RequestId { flow: index, ticket: completion.ticket }, self.book.recorder.flow_counters_mut(index));
            if let ExaminationResult::Damaged(kind) =
                self.payload.after_completion(&mut self.device, at, &slot.request, look, cell)
            {
                return self.count_damaged(now, completion.ticket, kind, &took);
            }
        }
        self.book.recorder.count_completed(index, bytes, took);
    }

    /// Frees the slot of a request that completed, and returns its times, and how much of them the generator may have
    /// caused.
    #[inline(always)]
    fn finish_request(&mut self, now: Instant, completion: &Completion) -> OperationTimes {
        let slot = self.queue.last_content(completion.ticket);
        let (target, intended, submitted, held) =
            (slot.request.target_index(), slot.intended, slot.submitted, slot.held);
        let (index, source) = (usize::from(slot.flow), usize::from(slot.source));
        let Completion { issued, accepted, completed, .. } = *completion;
        let scheduled = self.stage.is_scheduled();
        let reads_back = !scheduled && self.stage.reads_back();
        let may_issue = scheduled || reads_back;
        let follower = self.prepared_follower(source, completion);
        let back = match follower {
            None => self.agenda.take_back(source, index, completed, may_issue),
            Some(follower) => self.agenda.pass_on(source, index, usize::from(self.queue.last_content(follower).flow)),
        };
        if reads_back && !back.open_loop {
            self.stage.waits_for_read_back(now + self.rules.limits.drain);
        }
        if let Some(operations) = back.last_of {
            self.stream_ends(now, index, operations, completed);
        }
        let lag = self.lateness.held_back.own_lag(intended, held, submitted, issued);
        self.book.totals.completed += 1;
        let kept = if self.lateness.kept_known { self.device.kept_from_running(completion.ticket) } else { Span::ZERO };
        let added = if self.lateness.must_examine(accepted) || !kept.is_zero() {
            let found = FoundCompletion { flow: index, submitted, lag, kept, follower };
            self.free_slot_and_find_added_time(now, &back, completion, &found)
        } else {
            self.free_slot(now, source, back.lane, completion, follower);
            AddedTime { response: lag.own, service: Span::ZERO }
        };
        let excess = Excess { own_lag: lag.own, response: added.response, service: added.service };
        let idle = excess.own_lag + excess.service;
        if idle >= OVERSLEPT
            && let Some(looped) = back.looped
        {
            self.book.recorder.left_idle(looped, idle);
        }
        if completion.result.is_ok() {
            self.incidents.note_success(target);
        }
        OperationTimes {
            response: completed.since(intended),
            service: completed.since(issued),
            lag: issued.since(intended),
            submit: accepted.since(issued),
            excess,
        }
    }

    /// Writes that a stream has done its operations, the last of which completed at `completed`.
    #[cold]
    fn stream_ends(&mut self, now: Instant, flow: usize, operations: u64, completed: Instant) {
        let text = format!("a stream has done its {operations} operations");
        let details = [
            ("flow", flow.to_string()),
            ("operations", operations.to_string()),
            ("completed_ns", completed.as_ns().to_string()),
        ];
        let details = details.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        self.incidents.write_event(now, EventKind::StreamEnd, text, details);
    }

    /// Frees the slot of a request, and returns the part of its time that the generator may have caused.
    ///
    /// This function and [`Lateness::count_arrival`](crate::lateness::arrivals::Lateness::count_arrival) are not inlined into the path of
    /// closed loops on devices that report times, which need neither (10 % on the null device).
    #[inline(never)]
    fn free_slot_and_find_added_time(
        &mut self,
        now: Instant,
        back: &ReturnedRequest,
        completion: &Completion,
        found: &FoundCompletion,
    ) -> AddedTime {
        let FoundCompletion { flow, submitted, lag, kept, follower } = *found;
        let target = self.agenda.flows[flow].target;
        let slack = self.lateness.completion_slack(completion, kept);
        let excess = self.lateness.generator_excess(target, lag, slack, back.shifts);
        let source = usize::from(self.queue.last_content(completion.ticket).source);
        let together = self.free_slot(now, source, back.lane, completion, follower);
        let completed = completion.completed;
        let recorder = &mut self.book.recorder;
        let late = LateCompletion { target, submitted, completed, lag, slack, together };
        self.lateness.note_completion_found(now, &late, recorder);
        if self.agenda.is_target_idle(flow) {
            self.lateness.note_target_empty(target, completed, slack);
        }
        AddedTime { response: excess.response, service: excess.service }
    }

    /// Frees the slot of a request, or gives its place to the prepared one that followed it; true when it was found
    /// together with the first one of a full queue.
    #[inline(always)]
    fn free_slot(
        &mut self,
        now: Instant,
        source: usize,
        lane: usize,
        completion: &Completion,
        follower: Option<Ticket>,
    ) -> bool {
        match follower {
            None => self.queue.free_slot(now, lane, completion),
            Some(follower) => {
                self.pass_on(source, completion, follower);
                false
            }
        }
    }

    /// Submits the rest of a request that moved only some of its bytes, once per request. True when the rest is in
    /// flight.
    #[cold]
    fn takes_rest(&mut self, now: Instant, completion: &Completion) -> bool {
        let slot = *self.queue.last_content(completion.ticket);
        let Ok(moved) = completion.result else { return false };
        if slot.rest || moved == 0 || moved >= slot.request.expected_bytes() {
            return false;
        }
        let Completion { ticket, issued, accepted, .. } = *completion;
        let Some(rest) = self.payload.request_for_rest(&mut self.device, ticket, &slot.request, moved) else {
            return false;
        };
        self.queue.add_rest(Begun { ticket, moved, issued, accepted });
        self.device.submit_request(now, ticket, &rest);
        true
    }

    /// Counts a completion with an error or with too few bytes.
    #[cold]
    fn count_unsuccessful(&mut self, now: Instant, mut completion: Completion) {
        let slot = &{ *self.queue.last_content(completion.ticket) };
        let mut moved = 0;
        if let Some(at) = self.queue.begun.iter().position(|begun| begun.ticket == completion.ticket) {
            let begun = self.queue.begun.swap_remove(at);
            (completion.issued, completion.accepted) = (begun.issued, begun.accepted);
            moved = begun.moved;
        }
        let took = self.finish_request(now, &completion);
        let index = usize::from(slot.flow);
        let failure = self.describe_failure(slot, took.response);
        self.book.recorder.fell_short(index, &took);
        self.payload.note_failed(index, &slot.request);
        match completion.result {
            Ok(len) => {
                self.book.recorder.count_short(index, failure);
                self.count_short(now, slot, moved, len);
            }
            // The first part was moved: it stays a short operation, whatever the result of its rest.
            Err(code) if moved > 0 => {
                self.book.recorder.count_short(index, failure);
                let (all, name) = (slot.request.expected_bytes(), self.device.code_name(code));
                let text = format!("{moved} of {all} bytes were moved, and the rest failed with {name}");
                self.write_slot_event(now, EventKind::ShortIo, text, slot, Some(code));
            }
            Err(Code::NOT_SUBMITTED) => {
                self.book.recorder.not_submitted(index);
                self.stop_issuing(now, CloseReason::EngineFailed);
            }
            Err(code) => {
                self.book.recorder.count_failed(index, self.device.code_name(code), failure);
                self.count_failed(now, slot, code);
            }
        }
    }

    /// Where a request failed and how long it took.
    fn describe_failure(&self, slot: &Slot<D::Request>, response: Span) -> Failure {
        Failure { part: self.payload.target_part(&self.device, &slot.request), response }
    }

    #[cold]
    fn count_damaged(&mut self, now: Instant, ticket: Ticket, kind: Code, took: &OperationTimes) {
        let slot = &{ *self.queue.last_content(ticket) };
        let failure = self.describe_failure(slot, took.response);
        self.book.recorder.fell_short(usize::from(slot.flow), took);
        self.book.recorder.count_failed(usize::from(slot.flow), self.device.code_name(kind), failure);
        let target = describe_request(&self.agenda, slot).target;
        for damage in self.payload.take_damages() {
            self.incidents.write_damage_event(now, slot.flow, target, damage);
        }
    }

    #[cold]
    fn count_short(&mut self, now: Instant, slot: &Slot<D::Request>, moved: u32, len: u32) {
        let all = slot.request.expected_bytes();
        let text = match moved {
            0 => format!("{len} of {all} bytes were moved"),
            _ => format!("{moved} of {all} bytes were moved at first, and {len} when the rest was asked for"),
        };
        self.write_slot_event(now, EventKind::ShortIo, text, slot, None);
        if len == 0 {
            self.write_slot_event(
                now,
                EventKind::TargetLost,
                "no bytes could be transferred: the target ends before its reported size".into(),
                slot,
                None,
            );
            self.stop_issuing(now, CloseReason::TargetLost);
        }
    }

    #[cold]
    fn count_failed(&mut self, now: Instant, slot: &Slot<D::Request>, code: Code) {
        let name = self.device.code_name(code);
        self.write_slot_event(now, EventKind::IoError, format!("an operation failed with {name}"), slot, Some(code));
        if let Some(failures) = self.incidents.note_failure(describe_request(&self.agenda, slot).target) {
            let text =
                format!("{failures} operations in a row failed, the last with {name}: the target is considered lost");
            self.write_slot_event(now, EventKind::TargetLost, text, slot, Some(code));
            self.stop_issuing(now, CloseReason::TargetLost);
        }
    }
}
