//! One worker: its device, its flows, its slots, and the rules of the run.
//!
//! Order inside a step: reap, close the intervals that have ended, issue what is due. An operation keeps its intended time
//! however long it waits for a slot; nothing is dropped and nothing is forgiven.
//!
//! Whose lag it is: the time an operation waited for a full queue, or while a submit blocked, is the device's; the rest of
//! `issued − intended` is the generator's own.

use crate::flow::Flow;
use crate::timeline::Timeline;
use assay_base::{Completion, Device, Direction, Done, Errno, Instant, Prng, Span, Ticket, stamp};
use assay_model::Plan;
use assay_model::arrival::Part;
use assay_model::content::Content;
use assay_model::plan::{FOR_CONTENT, Generator};
use assay_record::{CloseReason, Event, Frame, Recorder, Thresholds};
use std::collections::BTreeMap;

/// When the rules of the run strike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest wait for what is in flight at the end.
    pub drain: Span,
    /// An operation in flight for longer is stuck.
    pub stuck: Span,
    /// So many failures in a row on one target end the run: the target is gone.
    pub failures_in_a_row: u32,
    /// Events written for single failures; beyond that they are only counted.
    pub failure_events: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { drain: Span::from_secs(30), stuck: Span::from_secs(30), failures_in_a_row: 1000, failure_events: 1000 }
    }
}

/// What a worker is made of besides its device.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Which share of the load is its.
    pub part: Part,
    /// Boundaries of the exact counters.
    pub thresholds: Thresholds,
    /// When the run begins on the time line.
    pub start: Instant,
    /// Number that marks this run's data.
    pub run: u32,
    /// The rules.
    pub limits: Limits,
}

/// What a worker wants after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// It has nothing to do before this, unless an operation completes.
    pub wake: Instant,
    /// All is over.
    pub done: bool,
}

/// What a worker carried over its whole life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Handed over.
    pub issued: u64,
    /// Came back: in full, short or failed.
    pub completed: u64,
    /// Never came back.
    pub stuck: u64,
}

impl std::ops::AddAssign for Totals {
    fn add_assign(&mut self, other: Totals) {
        self.issued += other.issued;
        self.completed += other.completed;
        self.stuck += other.stuck;
    }
}

/// An operation between submission and completion.
#[derive(Clone, Copy, Debug)]
struct Slot {
    flow: u16,
    live: bool,
    stuck: bool,
    blank_check: bool,
    len: u32,
    offset: u64,
    intended: Instant,
    submitted: Instant,
    /// Until when the device held the operation back.
    held: Instant,
}

/// The slots of one target.
#[derive(Debug)]
struct Lane {
    free: Vec<Ticket>,
    /// When a slot last became free of all being taken.
    full_until: Instant,
    failures: u32,
}

/// See the module.
#[derive(Debug)]
pub struct Worker<D> {
    device: D,
    flows: Vec<Flow>,
    due: Vec<Instant>,
    slots: Vec<Slot>,
    lanes: Vec<Lane>,
    recorder: Recorder,
    timeline: Timeline,
    limits: Limits,
    max_lag: Span,
    /// Nothing intended at or after this is issued.
    schedule_end: Instant,
    /// End of the open interval.
    boundary: Instant,
    /// When draining gives up; `None` while the schedule runs.
    drain_until: Option<Instant>,
    blocked_until: Instant,
    reason: CloseReason,
    finished: bool,
    totals: Totals,
    failures_told: u32,
    reads: u64,
    done: Done,
    frames: Vec<Frame>,
    events: Vec<Event>,
}

/// Every so many reads one is looked at.
const SAMPLE_EVERY: u64 = 64;
/// Bytes looked at.
const SAMPLE_BYTES: usize = 64;

impl<D: Device> Worker<D> {
    /// A worker for its part of `plan` on `device`, which has `bound × targets` slots for `bound` from [`Worker::bound`].
    /// `None` when a rate does not fit.
    pub fn new(plan: &Plan, device: D, setup: Setup) -> Option<Worker<D>> {
        let Setup { part, thresholds, start, run, limits } = setup;
        let flow = |(stream, target): (u16, u16)| {
            let generator = Generator::new(plan, stream, target, device.geometry(target), part, start)?;
            let spec = &plan.streams[usize::from(stream)];
            let path = [u64::from(stream), u64::from(target), part.index, FOR_CONTENT];
            let content = (spec.direction == Direction::Write)
                .then(|| Content::new(Prng::child(plan.seed ^ u64::from(run), &path), run, spec.compress_to));
            Some(Flow::new(generator, content, target, start))
        };
        let flows: Vec<Flow> = plan.flows().map(flow).collect::<Option<_>>()?;
        let bound = Self::bound(plan, part);
        let lane = |target: u32| Lane {
            free: (0..bound).rev().map(|i| Ticket(target * bound + i)).collect(),
            full_until: start,
            failures: 0,
        };
        let empty = Slot {
            flow: 0,
            live: false,
            stuck: false,
            blank_check: false,
            len: 0,
            offset: 0,
            intended: start,
            submitted: start,
            held: start,
        };
        let timeline = Timeline::new(plan, start);
        let schedule_end = timeline.end();
        Some(Worker {
            due: flows.iter().map(|flow| flow.due(schedule_end)).collect(),
            recorder: Recorder::new(thresholds, flows.len()),
            flows,
            device,
            slots: vec![empty; bound as usize * usize::from(plan.targets)],
            lanes: (0..u32::from(plan.targets)).map(lane).collect(),
            boundary: timeline.boundary(),
            timeline,
            limits,
            max_lag: plan.max_lag,
            schedule_end,
            drain_until: None,
            blocked_until: start,
            reason: CloseReason::Completed,
            finished: false,
            totals: Totals::default(),
            failures_told: 0,
            reads: 0,
            done: Done::new(),
            frames: Vec::new(),
            events: Vec::new(),
        })
    }

    /// In-flight bound of one target in the worker of `part`: its share of the plan's, at least 1.
    pub fn bound(plan: &Plan, part: Part) -> u32 {
        (u64::from(plan.in_flight_bound) / part.of + u64::from(part.index < u64::from(plan.in_flight_bound) % part.of))
            .max(1) as u32
    }

    /// Reaps, closes intervals, issues. Call [`Worker::send`] after it.
    pub fn step(&mut self, now: Instant) -> Step {
        if self.finished {
            return Step { wake: Instant::FAR, done: true };
        }
        self.reap(now);
        while self.boundary <= now {
            self.close_interval(self.boundary, false);
        }
        if now >= self.schedule_end && self.drain_until.is_none() {
            self.begin_drain(now);
        }
        let next = self.issue(now);
        self.finish_if_drained(now);
        let device = self.device.next_wakeup().unwrap_or(Instant::FAR);
        let drained = self.drain_until.unwrap_or(Instant::FAR);
        Step { wake: next.min(device).min(self.boundary).min(drained), done: self.finished }
    }

    /// The schedule is over. What was intended and still waits is issued all the same; closed loops issue nothing more.
    fn begin_drain(&mut self, now: Instant) {
        self.drain_until = Some(now + self.limits.drain);
        for (due, flow) in self.due.iter_mut().zip(&self.flows) {
            if !flow.is_open_loop() {
                *due = Instant::FAR;
            }
        }
    }

    /// Hands what was issued to the device.
    #[inline]
    pub fn send(&mut self, now: Instant) {
        self.device.poll(now, &mut self.done);
    }

    /// Says that handing over blocked until `until`: what waited meanwhile waited for the device.
    pub fn blocked(&mut self, until: Instant) {
        self.blocked_until = self.blocked_until.max(until);
    }

    /// Stops issuing; what is in flight is drained for at most the limit's time.
    pub fn stop(&mut self, now: Instant, reason: CloseReason) {
        if self.drain_until.is_none() || self.reason == CloseReason::Completed {
            self.reason = reason;
            self.schedule_end = self.schedule_end.min(now);
            self.drain_until.get_or_insert(now + self.limits.drain);
            self.due.fill(Instant::FAR);
        }
    }

    /// Gives up draining: the next step is the last.
    pub fn abandon(&mut self, now: Instant) {
        self.drain_until = Some(now);
    }

    /// Waits on the device.
    pub fn wait(&mut self, span: Span) {
        self.device.wait(span);
    }

    /// Whether an interval has ended or something happened since frames and events were last taken.
    #[inline]
    pub fn has_news(&self) -> bool {
        !self.frames.is_empty() || !self.events.is_empty()
    }

    /// Frames of intervals that have ended since the last call, oldest first.
    pub fn take_frames(&mut self) -> std::vec::Drain<'_, Frame> {
        self.frames.drain(..)
    }

    /// Gives a frame's memory back.
    pub fn recycle(&mut self, frame: Frame) {
        self.recorder.recycle(frame);
    }

    /// What happened since the last call.
    pub fn take_events(&mut self) -> std::vec::Drain<'_, Event> {
        self.events.drain(..)
    }

    /// How it ended, or would end now.
    pub fn reason(&self) -> CloseReason {
        self.reason
    }

    /// What was carried so far.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// What carries the operations.
    pub fn device(&self) -> &D {
        &self.device
    }

    fn reap(&mut self, now: Instant) {
        self.device.poll(now, &mut self.done);
        let mut done = std::mem::take(&mut self.done);
        for completion in done.drain(..) {
            self.complete(now, &completion);
        }
        self.done = done;
    }

    #[inline]
    fn complete(&mut self, now: Instant, completion: &Completion) {
        let ticket = completion.ticket;
        let slot = self.slots[ticket.0 as usize];
        assert!(slot.live, "a ticket completes once for each submission");
        self.slots[ticket.0 as usize].live = false;
        let index = usize::from(slot.flow);
        let flow = &mut self.flows[index];
        flow.returned(completion.completed);
        let open_loop = flow.is_open_loop();
        let target = flow.target;
        if !open_loop && self.drain_until.is_none() {
            self.due[index] = flow.due(self.schedule_end);
        }
        // A closed loop wants its operation when it issues it.
        let intended = if open_loop || !flow.pause().is_zero() { slot.intended } else { completion.issued };
        self.totals.completed += 1;
        let lag = completion.issued.since(intended);
        let own = completion.issued.since(intended.max(slot.held)).min(lag);
        self.recorder.lagged(index, lag, own);
        let lane = &mut self.lanes[usize::from(target)];
        if lane.free.is_empty() {
            lane.full_until = now;
        }
        lane.free.push(ticket);
        match completion.result {
            Ok(len) if len == slot.len => {
                lane.failures = 0;
                let response = completion.completed.since(intended);
                let service = completion.completed.since(completion.issued);
                self.recorder.completed(index, len, response, service, own);
                if slot.blank_check {
                    self.sample(index, ticket);
                }
            }
            Ok(len) => self.short(now, &slot, len),
            Err(errno) => self.failed(now, &slot, errno),
        }
        if slot.stuck {
            self.flows[index].stuck -= 1;
            let text = format!("an operation came back after {}", completion.completed.since(slot.submitted).human());
            self.tell(now, "late-completion", text, &slot, None);
        }
    }

    fn sample(&mut self, flow: usize, ticket: Ticket) {
        let data = self.device.buffer(ticket);
        let Some(head) = data.get(..SAMPLE_BYTES) else { return };
        let blank = head.iter().all(|byte| *byte == 0);
        let cell = self.recorder.cell(flow);
        cell.sampled += 1;
        cell.blank += u64::from(blank);
    }

    #[cold]
    fn short(&mut self, now: Instant, slot: &Slot, len: u32) {
        self.recorder.cell(usize::from(slot.flow)).short += 1;
        self.tell(now, "short-io", format!("{len} of {} bytes were moved", slot.len), slot, None);
        if len == 0 {
            self.tell(now, "target-lost", "nothing could be moved: the target ends before its size".into(), slot, None);
            self.stop(now, CloseReason::TargetLost);
        }
    }

    #[cold]
    fn failed(&mut self, now: Instant, slot: &Slot, errno: Errno) {
        self.recorder.failed(usize::from(slot.flow), errno);
        if errno == Errno::NOT_SUBMITTED {
            return self.stop(now, CloseReason::EngineFailed);
        }
        self.tell(now, "io-error", format!("an operation failed with {errno}"), slot, Some(errno));
        let target = self.flows[usize::from(slot.flow)].target;
        let lane = &mut self.lanes[usize::from(target)];
        lane.failures += 1;
        if lane.failures == self.limits.failures_in_a_row {
            let text = format!(
                "{} operations in a row failed, the last with {errno}: the target is taken for lost",
                lane.failures
            );
            self.tell(now, "target-lost", text, slot, Some(errno));
            self.stop(now, CloseReason::TargetLost);
        }
    }

    /// Writes an event about one operation, as long as there are not too many of them.
    fn tell(&mut self, now: Instant, what: &str, text: String, slot: &Slot, errno: Option<Errno>) {
        if self.failures_told >= self.limits.failure_events && what != "target-lost" {
            return;
        }
        self.failures_told += 1;
        let mut details = BTreeMap::from([
            ("flow".to_owned(), slot.flow.to_string()),
            ("target".to_owned(), self.flows[usize::from(slot.flow)].target.to_string()),
            ("offset".to_owned(), slot.offset.to_string()),
            ("bytes".to_owned(), slot.len.to_string()),
        ]);
        details.extend(errno.map(|errno| ("errno".to_owned(), errno.0.to_string())));
        self.events.push(Event { at_ns: now.as_ns(), what: what.to_owned(), text, details });
    }

    /// Issues what is due at `now` and returns when the next operation is due that has a slot.
    fn issue(&mut self, now: Instant) -> Instant {
        loop {
            let (index, due) = self.earliest();
            if due > now {
                return due;
            }
            if self.falls_behind(now, due, index) {
                return Instant::FAR;
            }
            self.submit(now, index, due);
        }
    }

    /// The flow whose next operation is due first, among those whose target has a free slot.
    #[inline]
    fn earliest(&self) -> (usize, Instant) {
        let mut earliest = (0, Instant::FAR);
        for (index, due) in self.due.iter().enumerate() {
            if *due < earliest.1 && !self.lanes[usize::from(self.flows[index].target)].free.is_empty() {
                earliest = (index, *due);
            }
        }
        earliest
    }

    /// The lag rule: the run ends when its schedule is behind by more than the plan allows.
    #[inline]
    fn falls_behind(&mut self, now: Instant, due: Instant, index: usize) -> bool {
        if self.max_lag.is_zero() || now.since(due) <= self.max_lag || !self.flows[index].is_open_loop() {
            return false;
        }
        self.lag_stop(now, due, index);
        true
    }

    #[cold]
    fn lag_stop(&mut self, now: Instant, due: Instant, index: usize) {
        let held = self.lanes[usize::from(self.flows[index].target)].full_until.max(self.blocked_until);
        let own = now.since(due.max(held));
        let (reason, who) = if own.as_ns() * 2 > now.since(due).as_ns() {
            (CloseReason::GeneratorLag, "the generator did not get to issue them")
        } else {
            (CloseReason::DeviceLag, "the device did not take them")
        };
        let text = format!(
            "operations are {} behind their schedule, more than {}: {who}",
            now.since(due).human(),
            self.max_lag
        );
        let details = BTreeMap::from([("flow".to_owned(), index.to_string())]);
        self.events.push(Event { at_ns: now.as_ns(), what: "lag-stop".into(), text, details });
        self.stop(now, reason);
    }

    #[inline]
    fn submit(&mut self, now: Instant, index: usize, due: Instant) {
        let flow = &mut self.flows[index];
        let op = flow.generator.operation();
        flow.pull();
        self.due[index] = flow.due(self.schedule_end);
        let lane = &mut self.lanes[usize::from(op.target)];
        let ticket = lane.free.pop().expect("earliest() only names flows whose target has a free slot");
        let mut blank_check = false;
        match &mut flow.content {
            Some(content) => {
                let buffer = self.device.buffer(ticket);
                if let Some(buffer) = buffer.get_mut(..op.len as usize) {
                    content.fill(op.offset, buffer);
                }
            }
            None => {
                self.reads += 1;
                blank_check = self.reads.is_multiple_of(SAMPLE_EVERY) && op.offset.is_multiple_of(stamp::EVERY);
            }
        }
        self.slots[ticket.0 as usize] = Slot {
            flow: index as u16,
            live: true,
            stuck: false,
            blank_check,
            len: op.len,
            offset: op.offset,
            intended: due,
            submitted: now,
            held: lane.full_until.max(self.blocked_until),
        };
        self.recorder.cell(index).issued += 1;
        self.totals.issued += 1;
        self.device.submit(now, ticket, &op);
    }

    fn close_interval(&mut self, end: Instant, last: bool) {
        self.find_stuck(end);
        for (index, flow) in self.flows.iter_mut().enumerate() {
            let (scheduled, waiting) = flow.count_until(end.min(self.schedule_end));
            let cell = self.recorder.cell(index);
            cell.scheduled += scheduled;
            cell.waiting = waiting;
            cell.stuck = flow.stuck;
            cell.in_flight = flow.in_flight - flow.stuck;
        }
        let closed = self.timeline.close(end, last);
        self.boundary = self.timeline.boundary();
        let (start, end) = (closed.start.as_ns(), closed.end.as_ns());
        self.frames.push(self.recorder.take(closed.index, start, end, closed.phase, closed.close_group));
    }

    /// Marks what has been in flight for too long. Its slot stays taken until the operation comes back.
    fn find_stuck(&mut self, now: Instant) {
        for at in 0..self.slots.len() {
            let slot = self.slots[at];
            if slot.live && !slot.stuck && now.since(slot.submitted) >= self.limits.stuck {
                self.slots[at].stuck = true;
                self.flows[usize::from(slot.flow)].stuck += 1;
                let text = format!("an operation has been in flight for {}", now.since(slot.submitted).human());
                self.tell(now, "stuck", text, &slot, None);
            }
        }
    }

    /// Ends the run when nothing is left to issue or to wait for, or when draining has taken too long.
    fn finish_if_drained(&mut self, now: Instant) {
        let Some(until) = self.drain_until else { return };
        let in_flight: u64 = self.flows.iter().map(|flow| flow.in_flight).sum();
        let backlog = self.due.iter().any(|due| *due != Instant::FAR);
        if (in_flight > 0 || backlog) && now < until {
            return;
        }
        // What is given up is stuck by definition, whether it was noticed before or not.
        for slot in self.slots.iter_mut().filter(|slot| slot.live && !slot.stuck) {
            slot.stuck = true;
            self.flows[usize::from(slot.flow)].stuck += 1;
        }
        self.totals.stuck = in_flight;
        if now > self.timeline.open_since() || in_flight > 0 {
            self.close_interval(now, true);
        }
        let Totals { issued, completed, stuck } = self.totals;
        assert_eq!(issued, completed + stuck, "every operation that was issued completed or is stuck");
        self.finished = true;
    }
}
