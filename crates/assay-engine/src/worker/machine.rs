//! One worker: its device, its sources, its slots, and the rules of the run.
//!
//! Order inside a step: reap, close the intervals that have ended, issue what is due. A request keeps its intended time
//! however long it waits for a slot; no request is dropped, and no delay is left out.

use crate::lateness::arrivals::Lateness;
use crate::lateness::peers::Peers;
use crate::payload::Payload;
use crate::rules::{Limits, Setup, Step, Totals};
use crate::worker::agenda::{Agenda, Flow, GroupedSources};
use crate::worker::incidents::{EventRequest, Incidents};
use crate::worker::lifetime_reports::LifetimeReports;
use crate::worker::queue::{Queue, Slot, lane_bounds};
use crate::worker::stage::Stage;
use crate::worker::stocks::Stocks;
use crate::worker::timeline::{PhaseEnd, Timeline};
use assay_base::source::{FreeSlotTimes, Source};
use assay_base::{Code, Device, Done, HandOver, Instant, Span};
use assay_model::Plan;
use assay_model::source::signed_difference;
use assay_record::{CloseReason, Event, EventKind, Frame, Recorder};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The requests of a worker: where they come from, and their data.
#[derive(Debug)]
pub struct Parts<S, P> {
    /// The groups of flows.
    pub sources: Vec<S>,
    /// The flows of each source, by its index: on each target all in one lane. Several sources may carry a flow together.
    pub flows_of: Vec<Vec<usize>>,
    /// The index of the first source that begins when all sources before it are over.
    pub after: usize,
    /// The code that handles the data.
    pub payload: P,
}

/// One worker: its device, its sources, its slots, and the rules of the run.
#[derive(Debug)]
pub struct Worker<D: Device, S, P> {
    pub(crate) device: D,
    pub(crate) agenda: Agenda<S>,
    pub(crate) queue: Queue<D::Request>,
    pub(crate) stocks: Stocks,
    pub(crate) payload: P,
    pub(crate) lateness: Lateness,
    pub(crate) incidents: Incidents,
    pub(crate) stage: Stage,
    pub(crate) book: Books,
    pub(crate) ahead: IssueAhead<D, S, P>,
    pub(crate) rules: RunRules,
    reported: Reported,
}

/// The rules of the run.
#[derive(Debug)]
pub(crate) struct RunRules {
    pub limits: Limits,
    /// The run ends when a schedule is further behind than this; zero for never.
    pub max_lag: Span,
}

/// Memory that is reused for the reports of the device.
#[derive(Debug)]
struct Reported {
    /// Completions that are not taken yet.
    done: Done,
    hand_overs: Vec<HandOver>,
}

/// What is recorded: the counters of the open interval, and the intervals that have ended.
#[derive(Debug)]
pub(crate) struct Books {
    pub recorder: Recorder,
    pub timeline: Timeline,
    /// End of the open interval.
    pub boundary: Instant,
    /// The reports about the beginnings and ends of streams.
    lives: Option<Box<LifetimeReports>>,
    frames: Vec<Frame>,
    pub totals: Totals,
}

/// Issues what is due from a given time on, and returns when to continue.
type Issue<D, S, P> = fn(&mut Worker<D, S, P>, Instant) -> Instant;

/// Issuing before completions are looked at; see [`crate::worker::issue_ahead`].
pub(crate) struct IssueAhead<D: Device, S, P> {
    /// The function, where it is possible: every source follows a schedule, on a device that is sure.
    pub how: Option<Issue<D, S, P>>,
    /// The time up to which that was done.
    pub reached: Instant,
}

impl<D: Device, S, P> std::fmt::Debug for IssueAhead<D, S, P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Ahead({}, {:?})", self.how.is_some(), self.reached)
    }
}

impl<D: Device, S: Source<Request = D::Request>, P: Payload<D>> Worker<D, S, P> {
    /// A worker for its part of `plan` on `device`, which has slots for as many requests on each target as `setup`
    /// allows, plus those of the lanes.
    pub fn from_parts(plan: &Plan, mut device: D, parts: Parts<S, P>, setup: Setup) -> Self {
        let Setup { part, thresholds, bound, start, limits, .. } = setup;
        let Parts { sources, flows_of, after, payload } = parts;
        let lanes = 1 + plan.load.lanes.len();
        assert_eq!(flows_of.len(), sources.len(), "each source has its flows");
        let mut flows = Vec::new();
        for (at, (stream, target)) in plan.load.stream_targets().enumerate() {
            let lane = usize::from(target) * lanes + plan.load.lane_of(stream);
            let source =
                flows_of.iter().position(|flows| flows.contains(&at)).expect("each flow of the plan has its source");
            flows.push(Flow { target, source, lane, in_flight: 0, most: 0, stuck: 0 });
        }
        let timeline = Timeline::new(plan, start);
        let (when_found, count) = (device.is_stamped_when_found(), flows.len());
        let (loops, bounds) = (plan.closed_loops(), lane_bounds(plan, part, bound));
        let mut agenda = Agenda::new(
            GroupedSources { sources, flows_of: &flows_of, after },
            flows,
            timeline.last_phase_end(),
            &loops,
        );
        agenda.find_contention(&bounds);
        let lives = LifetimeReports::new(&agenda, &flows_of, part.of);
        let may_be_late = when_found || agenda.has_shifts();
        let recorder = Recorder::new(thresholds, count).with_lateness(plan.load.targets.into());
        let spare = if payload.may_find_damage() { 0 } else { device.spare_tickets() };
        let stocks = if spare > 0 { Stocks::new(&mut agenda, bounds.iter().sum(), spare) } else { Stocks::default() };
        device.set_end_of_stock(agenda.end);
        let mut lateness = Lateness::new(start, plan.load.targets, part.of, may_be_late, when_found);
        lateness.kept_known = device.knows_kept_from_running();
        Worker {
            agenda,
            queue: Queue::new(&bounds, spare, start),
            stocks,
            payload,
            lateness,
            incidents: Incidents::new(limits, plan.load.targets),
            stage: Stage::new(),
            book: Books {
                recorder: recorder.with_loops(loops.len()),
                boundary: timeline.interval_end(),
                timeline,
                lives,
                frames: Vec::new(),
                totals: Totals::default(),
            },
            // Before the beginning: a worker in real time is stepped before its run begins.
            ahead: IssueAhead { how: None, reached: Instant::ZERO },
            rules: RunRules { limits, max_lag: plan.timing.max_lag },
            reported: Reported { done: Done::new(), hand_overs: Vec::new() },
            device,
        }
    }

    /// Reaps, closes intervals, issues. Not inlined into the shell's loop, because together both would have too few
    /// registers.
    #[inline(never)]
    pub fn step(&mut self, now: Instant) -> Step {
        if self.stage.is_finished() {
            return Step { wake: Instant::FAR, issued: false, done: true };
        }
        let now = now.max(self.ahead.reached);
        let before = self.book.totals.issued;
        self.lateness.watch.begin_step(now, before == self.book.totals.completed);
        let now = self.reap_completions(now);
        while self.book.boundary <= now {
            self.close_interval(self.book.boundary, false);
            self.look_at_full_lanes(now);
        }
        if now >= self.agenda.end && self.stage.is_scheduled() {
            self.stage.begin_draining(now + self.rules.limits.drain);
            self.agenda.end_schedule();
            self.withdraw_stocks();
        }
        let next = match self.ahead.how.filter(|_| self.may_run_ahead(now)) {
            Some(issue_ahead) => issue_ahead(self, now),
            None => self.issue_due(now),
        };
        self.restock_loops(now);
        if next == Instant::FAR && self.stage.is_scheduled() && self.agenda.is_over() {
            self.stage.begin_draining(now + self.rules.limits.drain);
        }
        self.finish_if_drained(now);
        let device =
            if self.ahead.reached > now { Instant::FAR } else { self.device.next_wakeup().unwrap_or(Instant::FAR) };
        let drained = self.stage.gives_up().unwrap_or(Instant::FAR);
        let issued = self.book.totals.issued > before;
        let wake = next.min(device).min(self.book.boundary).min(drained);
        self.lateness.watch.watch_until(wake.max(now));
        Step { wake, issued, done: self.stage.is_finished() }
    }

    /// Looks for completions. Returns the present: a device may have found some after `now`, and what they make due is due
    /// in this step.
    fn reap_completions(&mut self, now: Instant) -> Instant {
        self.poll_device(now);
        let mut done = std::mem::take(&mut self.reported.done);
        let now = done.last().map_or(now, |last| now.max(last.completed));
        self.look_for_oversleeping(now, &done);
        for completion in done.drain(..) {
            self.handle_completion(now, &completion);
        }
        self.reported.done = done;
        now
    }

    /// Hands what was issued to the device.
    #[inline]
    pub fn send_issued(&mut self, now: Instant) {
        self.take_hand_overs();
        let Lateness { watch, held_back, .. } = &mut self.lateness;
        watch.hands_over(now, held_back);
        self.poll_device(now);
    }

    /// Asks the device what has completed, and what it reports of its hand-overs.
    #[inline]
    fn poll_device(&mut self, now: Instant) {
        self.device.poll_completions(now, &mut self.reported.done);
        self.take_hand_overs();
    }

    /// Takes the reports of hand-overs: requests that waited while one of them blocked this thread waited for the device.
    #[inline]
    fn take_hand_overs(&mut self) {
        self.device.take_hand_overs(&mut self.reported.hand_overs);
        self.lateness.held_back.add_hand_overs(&mut self.reported.hand_overs);
    }

    /// Reports that no thread of the program ran from `from` to `until`: requests that were due before the end waited
    /// for the generator, and the device is not responsible for that time, even if they also waited for it.
    pub fn note_program_stopped(&mut self, from: Instant, until: Instant) {
        self.lateness.note_stopped(from, until);
    }

    /// Sets the other workers on the same targets, before the first step.
    pub fn set_peers(&mut self, peers: Arc<Peers>) {
        self.lateness.peers = Some(peers);
    }

    /// The part of `span` to wait before looking for completions.
    #[inline]
    pub fn time_to_wait(&self, span: Span) -> Span {
        if self.book.totals.issued == self.book.totals.completed { span } else { span.min(self.rules.limits.look) }
    }

    /// Reports that the worker looked for completions until `until`; without this call, the next step is assumed to
    /// come at the time that the last step asked for.
    #[inline]
    pub fn note_watched(&mut self, until: Instant) {
        self.lateness.watch.watch_until(until);
    }

    /// Stops issuing; requests in flight are drained for at most the limit's time.
    pub fn stop_issuing(&mut self, now: Instant, reason: CloseReason) {
        if self.stage.begin_stop(reason, now + self.rules.limits.drain) {
            self.agenda.stop_issuing(now);
            self.withdraw_stocks();
        }
    }

    /// Ends the phase that waits at `at`. If the worker learns of it too late, it stops, because it would measure another
    /// period than the others.
    pub(crate) fn end_phase(&mut self, now: Instant, at: Instant) {
        if !self.stage.is_scheduled() {
            return;
        }
        match self.book.timeline.end_phase(at) {
            PhaseEnd::Moved => {}
            PhaseEnd::Unchanged => return,
            PhaseEnd::TooLate => {
                let text =
                    format!("the end of the warm-up was {} ago when this worker was told", now.since(at).human_text());
                self.incidents.write_event(now, EventKind::Warning, text, BTreeMap::new());
                return self.stop_issuing(now, CloseReason::GeneratorLag);
            }
        }
        self.book.boundary = self.book.timeline.interval_end();
        self.agenda.end_at(self.book.timeline.last_phase_end());
        self.device.set_end_of_stock(self.agenda.end);
    }

    /// Gives up draining: the next step is the last.
    pub(crate) fn abandon_draining(&mut self, now: Instant) {
        self.stage.abandon_draining(now);
    }

    /// Waits on the device, unless completions are already waiting to be looked at.
    pub fn wait_on_device(&mut self, span: Span) {
        if self.reported.done.is_empty() {
            self.device.wait_for_completion(span);
        }
    }

    /// Whether an interval has ended or an event occurred since frames and events were last taken.
    #[inline]
    pub(crate) fn has_news(&self) -> bool {
        !self.book.frames.is_empty() || self.has_told()
    }

    /// Whether some stream begins or ends within the run.
    pub(crate) fn has_lives(&self) -> bool {
        self.book.lives.is_some()
    }

    /// Whether an event occurred since events were last taken.
    #[inline]
    pub(crate) fn has_told(&self) -> bool {
        !self.incidents.is_empty()
    }

    /// Frames of intervals that have ended since the last call, oldest first.
    pub fn take_frames(&mut self) -> std::vec::Drain<'_, Frame> {
        self.book.frames.drain(..)
    }

    /// Takes a frame's memory back for later use.
    pub fn recycle_frame(&mut self, frame: Frame) {
        self.book.recorder.recycle_frame(frame);
    }

    /// Events since the last call.
    pub fn take_events(&mut self) -> std::vec::Drain<'_, Event> {
        self.incidents.drain_events()
    }

    /// The reason for which it ended, or would end now.
    pub fn close_reason(&self) -> CloseReason {
        self.stage.close_reason()
    }

    /// The numbers of operations that were carried so far.
    pub fn operation_totals(&self) -> Totals {
        self.book.totals
    }

    /// The device that carries the requests.
    pub fn device_mut(&mut self) -> &mut D {
        &mut self.device
    }

    /// Writes an event about the request of a slot.
    pub(crate) fn write_slot_event(
        &mut self,
        now: Instant,
        what: EventKind,
        text: String,
        slot: &Slot<D::Request>,
        code: Option<Code>,
    ) {
        let code: Option<(Code, Cow<'static, str>)> = code.map(|code| (code, self.device.code_name(code)));
        self.incidents.write_request_event(now, what, text, describe_request(&self.agenda, slot), code);
    }

    pub(crate) fn close_interval(&mut self, end: Instant, last: bool) {
        let Totals { issued, completed, .. } = self.book.totals;
        assert_eq!(self.agenda.in_flight(), issued - completed, "what was issued has come back or is in flight");
        self.queue.assert_whole();
        self.find_stuck(end);
        self.payload.begin_interval();
        let recorder = &mut self.book.recorder;
        self.agenda.count_until(end, |flow, scheduled, waiting| {
            let cell = recorder.flow_counters_mut(flow);
            cell.scheduled += scheduled;
            cell.waiting = waiting;
        });
        // Issuing ahead does not know how many are in flight at a time.
        let counts_most = self.ahead.how.is_none();
        for (index, flow) in self.agenda.flows.iter_mut().enumerate() {
            let cell = recorder.flow_counters_mut(index);
            cell.stuck = flow.stuck;
            cell.in_flight = flow.in_flight - flow.stuck;
            cell.in_flight_max = if counts_most { flow.most } else { 0 };
            flow.most = flow.in_flight;
        }
        self.lateness.note_peaks(recorder);
        self.count_slots(end);
        self.tell_of_lives(end);
        let Books { recorder, timeline, boundary, frames, .. } = &mut self.book;
        let closed = timeline.close_interval(end, last);
        *boundary = timeline.interval_end();
        let (start, end) = (closed.start.as_ns(), closed.end.as_ns());
        frames.push(recorder.take_frame(closed.index, start, end, closed.phase, closed.close_group));
    }

    /// Counts what the slots of closed loops do at the end of an interval.
    fn count_slots(&mut self, end: Instant) {
        let Worker { agenda, queue, book, .. } = self;
        for source in 0..agenda.len() {
            if let Some(looped) = agenda.closed_loop(source) {
                let FreeSlotTimes { open_ns, paused } = agenda.free_slots(source, end);
                book.recorder.count_slots(looped, open_ns, paused);
            }
        }
        for slot in queue.taken_slots() {
            if let Some(looped) = agenda.closed_loop(usize::from(slot.source)) {
                book.recorder.count_slots(looped, signed_difference(end, slot.intended), Span::ZERO);
            }
        }
    }

    /// Tells which streams have begun and ended in the interval that ends at `end`.
    fn tell_of_lives(&mut self, end: Instant) {
        let Books { recorder, lives, .. } = &mut self.book;
        if let Some(lives) = lives {
            let incidents = &mut self.incidents;
            lives.report_interval(
                &self.agenda,
                |flow| recorder.flow_counters_mut(flow).issued,
                |(what, text, details)| incidents.write_event(end, what, text, details),
            );
        }
    }

    /// Marks requests that have been in flight for too long. Their slots stay taken until they complete.
    fn find_stuck(&mut self, now: Instant) {
        let Worker { queue, agenda, incidents, rules, .. } = self;
        queue.mark_stuck(
            |slot| now.since(slot.submitted) >= rules.limits.stuck,
            |slot| {
                agenda.flows[usize::from(slot.flow)].stuck += 1;
                let text = format!("an operation has been in flight for {}", now.since(slot.submitted).human_text());
                incidents.write_request_event(now, EventKind::Stuck, text, describe_request(agenda, slot), None);
            },
        );
    }

    /// Ends the run when nothing is left to issue or to wait for, or when draining has taken too long.
    fn finish_if_drained(&mut self, now: Instant) {
        let Some(until) = self.stage.gives_up() else { return };
        let (in_flight, backlog) = (self.agenda.in_flight(), self.agenda.has_backlog());
        // Requests counted when they were issued are also waited for: the run lasts until they complete.
        let counted = self.ahead.how.is_some() && self.queue.has_counted();
        if (in_flight > 0 || backlog || counted) && now < until {
            return;
        }
        if self.stage.is_draining() && self.begins_read_back(now, in_flight == 0 && !backlog) {
            return;
        }
        // Requests that are given up are stuck by definition, whether that was noticed before or not.
        let flows = &mut self.agenda.flows;
        self.queue.mark_stuck(|_| true, |slot| flows[usize::from(slot.flow)].stuck += 1);
        self.book.totals.stuck = in_flight;
        if self.has_open_interval(now) || in_flight > 0 {
            self.close_interval(now, true);
        } else {
            // A worker that has no part of any stream has no interval either, and yet its part is over.
            self.tell_of_lives(now);
        }
        let Totals { issued, completed, stuck } = self.book.totals;
        assert_eq!(issued, completed + stuck, "every operation that was issued completed or is stuck");
        self.stage.finish_run();
    }

    /// Whether what was written is being read back. It is true before the first read is issued.
    #[inline]
    pub(crate) fn reads_back(&self) -> bool {
        self.stage.reads_back()
    }

    /// The read-back may begin at `now`, or cannot for the reason that is given.
    pub(crate) fn begin_read_back(&mut self, now: Instant, ready: Result<(), String>) {
        match ready {
            Ok(()) => self.stage.waits_for_read_back(now + self.rules.limits.drain),
            Err(why) => {
                self.incidents.write_event(now, EventKind::TargetLost, why, BTreeMap::new());
                self.stop_issuing(now, CloseReason::TargetLost);
            }
        }
    }

    /// Whether an interval must be closed at `now`: there is time, or distributions that wait for the last interval of their
    /// group.
    fn has_open_interval(&self, now: Instant) -> bool {
        now > self.book.timeline.open_since() || self.book.timeline.is_within_group()
    }

    /// Begins to read back what all workers have written, if this worker is the last one whose schedule is over and
    /// nothing is in flight (`drained`). Returns whether it begins.
    fn begins_read_back(&mut self, now: Instant, drained: bool) -> bool {
        let whole = drained && self.stage.close_reason() == CloseReason::Completed;
        if !self.payload.is_over(whole) || !self.agenda.has_more() {
            return false;
        }
        if self.has_open_interval(now) {
            self.close_interval(now, true);
        }
        self.book.timeline.read_back();
        self.book.boundary = self.book.timeline.interval_end();
        self.stage.waits_for_read_back(now + self.rules.limits.drain);
        self.agenda.begin_after_schedule(now);
        true
    }
}

/// Describes the request in a slot.
pub(crate) fn describe_request<S, R: Copy>(agenda: &Agenda<S>, slot: &Slot<R>) -> EventRequest<R> {
    EventRequest { flow: slot.flow, target: agenda.flows[usize::from(slot.flow)].target, request: slot.request }
}
