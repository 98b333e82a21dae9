//! One worker: its device, its flows, its slots, and the rules of the run.
//!
//! Order inside a step: reap, close the intervals that have ended, issue what is due. An operation keeps its intended time
//! however long it waits for a slot; nothing is dropped and nothing is forgiven.

use crate::blame::{Full, HeldBack, LOOK, OVERSLEPT, Peers, Shift, Stretch, Watch};
use crate::flow::Flow;
use crate::ledger::Ledger;
use crate::look;
use crate::timeline::Timeline;
use crate::verify::{Answer, Damage, Verifier};
use assay_base::{Completion, Device, Direction, Done, Errno, Instant, Op, Prng, Span, Ticket};
use assay_model::arrival::Part;
use assay_model::content::Content;
use assay_model::plan::{FOR_CONTENT, Generator, READ_BACK_DEPTH};
use assay_model::{Address, Plan};
use assay_record::{CloseReason, Event, Excess, Failure, Frame, PARTS, Recorder, Thresholds};
use std::collections::BTreeMap;
use std::sync::Arc;

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
    /// Operations in flight at most on each target, of all streams that have no lane of their own.
    pub bound: u32,
    /// When the run begins on the time line.
    pub start: Instant,
    /// Number that marks this run's data.
    pub run: u32,
    /// The rules.
    pub limits: Limits,
    /// What all workers have written, for a plan that verifies.
    pub ledger: Option<Arc<Ledger>>,
}

/// What a worker wants after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// It has nothing to do before this, unless an operation completes.
    pub wake: Instant,
    /// Nothing is issued before this, whatever completes; the beginning of time where that is not known.
    pub quiet: Instant,
    /// Something was issued, which [`Worker::send`] hands over.
    pub issued: bool,
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
    /// Its rest is on the way: it came back short once.
    rest: bool,
    /// It was counted as completed when it was issued: it only takes up its slot until then.
    counted: bool,
    len: u32,
    offset: u64,
    intended: Instant,
    submitted: Instant,
    /// When it would have gone out but for the device.
    held: Instant,
}

impl Slot {
    /// Whether its operation is in flight, not counted as completed and not known to be stuck.
    fn is_missed(&self) -> bool {
        self.live && !self.counted && !self.stuck
    }
}

/// What is known of a short operation while its rest is on the way.
#[derive(Clone, Copy, Debug)]
struct Begun {
    ticket: Ticket,
    /// Bytes that its first part moved.
    moved: u32,
    /// When its first part was issued, and when that hand-over returned.
    issued: Instant,
    accepted: Instant,
}

/// Slots of one target that some streams share.
#[derive(Debug)]
struct Lane {
    free: Vec<Ticket>,
    full: Full,
    slots: usize,
    /// When operations complete, or have completed, that were counted when they were issued and have no slot.
    early: Vec<Instant>,
}

impl Lane {
    /// Whether operations without a slot may be as many as there are slots left for them, seen from `now`.
    #[inline]
    fn may_be_full(&mut self, now: Instant) -> bool {
        self.early.len() >= self.free.len() && self.forgets_too_few(now)
    }

    /// Forgets what has completed by `now`; true when half of the slots or more would be needed for the rest, so that it is
    /// done once for many operations.
    #[cold]
    fn forgets_too_few(&mut self, now: Instant) -> bool {
        self.early.retain(|completed| *completed > now);
        self.early.len() * 2 >= self.free.len()
    }
}

/// See the module.
#[derive(Debug)]
pub struct Worker<D> {
    device: D,
    flows: Vec<Flow>,
    due: Vec<Instant>,
    slots: Vec<Slot>,
    /// Short operations whose rest is on the way.
    begun: Vec<Begun>,
    /// All of the first target's, then of the second's.
    lanes: Vec<Lane>,
    /// How many operations of each target failed in a row.
    failures: Vec<u32>,
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
    held_back: HeldBack,
    /// Something follows a schedule, or is found later than it is done: how late the generator is must be known. Where all are
    /// closed loops on a device that tells the time, only whether it overslept.
    may_be_late: bool,
    /// That, or the program stood still once: each completion is looked at closely.
    looks_close: bool,
    /// One for each target, and its flows.
    shifts: Vec<Shift>,
    together: Vec<Vec<usize>>,
    watch: Watch,
    /// Which share of each schedule is this worker's: one in so many.
    of: u64,
    /// The other workers on the same targets.
    peers: Option<Arc<Peers>>,
    /// Issuing need not wait for completions to be looked at: every flow follows a schedule, on a device that is
    /// [sure](Device::is_sure).
    ahead: bool,
    /// Every flow follows a schedule.
    open_loop: bool,
    /// Completions are stamped when they are found.
    when_found: bool,
    /// Up to when it was issued ahead.
    reached: Instant,
    reason: CloseReason,
    finished: bool,
    totals: Totals,
    failures_told: u32,
    verifier: Option<Verifier>,
    damages: Vec<Damage>,
    /// The first flow that reads back; they are the last.
    read_back: usize,
    /// Whether they do so now.
    reads_back: bool,
    done: Done,
    frames: Vec<Frame>,
    events: Vec<Event>,
}

/// Operations issued ahead in one step at most: between two it is asked whether the run is to end.
const AHEAD: u32 = 1 << 18;
/// A flow that is behind by less than this when the schedule ends has no backlog: a generator may be that late, as the judge has it
/// too (rule 3 of decision 0005).
const LAST_MOMENT: Span = Span::from_ms(50);
/// Stretches of a target looked at in one step for something to read back.
const LOOKED_AT: u64 = 1 << 16;

/// A part's share of a bound, at least 1.
fn share(bound: u32, part: Part) -> u32 {
    let bound = u64::from(bound);
    (bound / part.of + u64::from(part.index < bound % part.of)).max(1) as u32
}

/// The bounds of a target's lanes in the worker of `part`: first that of the lane which all share who have none of their own.
fn bounds(plan: &Plan, part: Part, shared: u32) -> Vec<u32> {
    std::iter::once(shared).chain(plan.lanes.iter().map(|lane| share(lane.in_flight_bound, part))).collect()
}

impl<D: Device> Worker<D> {
    /// A worker for its part of `plan` on `device`, which has [`Worker::slots`].
    /// `None` when a rate does not fit.
    pub fn new(plan: &Plan, device: D, setup: Setup) -> Option<Worker<D>> {
        let Setup { part, thresholds, bound, start, run, limits, ledger } = setup;
        let bounds = bounds(plan, part, bound);
        let flow = |(stream, target): (u16, u16)| {
            let generator = Generator::new(plan, stream, target, device.geometry(target), part, start)?;
            let spec = &plan.streams[usize::from(stream)];
            let path = [u64::from(stream), u64::from(target), part.index, FOR_CONTENT];
            let content = (spec.direction == Direction::Write)
                .then(|| Content::new(Prng::child(plan.seed ^ u64::from(run), &path), run, spec.compress_to));
            let lane = usize::from(target) * bounds.len() + plan.lane_of(stream);
            Some(Flow::new(generator, content, (target, lane), start))
        };
        let flows: Vec<Flow> = plan.flows().map(flow).collect::<Option<_>>()?;
        let written = |(stream, _): &(u16, u16)| plan.streams[usize::from(*stream)].address == Address::Written;
        let read_back = plan.flows().position(|flow| written(&flow)).unwrap_or(flows.len());
        let mut tickets = (0..).map(Ticket);
        let lane = |bound: u32| {
            let mut free: Vec<Ticket> = tickets.by_ref().take(bound as usize).collect();
            free.reverse();
            Lane { free, full: Full::new(start), slots: bound as usize, early: Vec::new() }
        };
        let empty = Slot {
            flow: 0,
            live: false,
            stuck: false,
            blank_check: false,
            rest: false,
            counted: false,
            len: 0,
            offset: 0,
            intended: start,
            submitted: start,
            held: start,
        };
        let slots = bounds.iter().sum::<u32>() as usize * usize::from(plan.targets);
        let geometries = (0..plan.targets).map(|target| device.geometry(target));
        let verifier = ledger.map(|ledger| Verifier::new(plan, ledger, run, slots, geometries));
        let timeline = Timeline::new(plan, start);
        let schedule_end = timeline.end();
        // What is counted early has completed when draining gives up: it completes within the interval.
        let waits = plan.max_lag.is_zero() || limits.drain >= plan.interval;
        let open_loop = flows.iter().all(Flow::is_open_loop);
        let when_found = device.is_stamped_when_found();
        let ahead = device.is_sure() && verifier.is_none() && waits && open_loop;
        let may_be_late =
            !ahead && (when_found || flows.iter().any(|flow| flow.is_open_loop() || !flow.pause().is_zero()));
        Some(Worker {
            due: flows
                .iter()
                .enumerate()
                .map(|(index, flow)| if index < read_back { flow.due(schedule_end) } else { Instant::FAR })
                .collect(),
            begun: Vec::new(),
            recorder: Recorder::new(thresholds, flows.len()).with_lateness(plan.targets.into()),
            may_be_late,
            looks_close: may_be_late,
            together: (0..plan.targets)
                .map(|it| (0..flows.len()).filter(|at| flows[*at].target == it).collect())
                .collect(),
            flows,
            device,
            slots: vec![empty; slots],
            lanes: (0..plan.targets).flat_map(|_| &bounds).copied().map(lane).collect(),
            failures: vec![0; usize::from(plan.targets)],
            boundary: timeline.boundary(),
            timeline,
            limits,
            max_lag: plan.max_lag,
            schedule_end,
            drain_until: None,
            held_back: HeldBack::new(start),
            shifts: vec![Shift::new(start); usize::from(plan.targets)],
            watch: Watch::new(start),
            of: part.of.max(1),
            peers: None,
            ahead,
            open_loop,
            when_found,
            // Before all: a worker in real time is asked before its run begins.
            reached: Instant::ZERO,
            reason: CloseReason::Completed,
            finished: false,
            totals: Totals::default(),
            failures_told: 0,
            verifier,
            damages: Vec::new(),
            read_back,
            reads_back: false,
            done: Done::new(),
            frames: Vec::new(),
            events: Vec::new(),
        })
    }

    /// In-flight bound of one target in the worker of `part`, of the streams without a lane of their own: its share of the plan's,
    /// at least 1.
    pub fn bound(plan: &Plan, part: Part) -> u32 {
        share(plan.in_flight_bound, part)
    }

    /// Operations in flight at most on each target in the worker of `part`, of all streams.
    pub fn slots(plan: &Plan, part: Part, bound: u32) -> u32 {
        bounds(plan, part, bound).iter().sum()
    }

    /// Reaps, closes intervals, issues.
    pub fn step(&mut self, now: Instant) -> Step {
        if self.finished {
            return Step { wake: Instant::FAR, quiet: Instant::FAR, issued: false, done: true };
        }
        let now = now.max(self.reached);
        let before = self.totals.issued;
        self.watch.steps(now, before == self.totals.completed);
        self.reap(now);
        while self.boundary <= now {
            self.close_interval(self.boundary, false);
            self.look_at_full_lanes(now);
        }
        if now >= self.schedule_end && self.drain_until.is_none() {
            self.begin_drain(now);
        }
        let next = if self.may_run_ahead(now) { self.issue_ahead(now) } else { self.issue(now) };
        self.finish_if_drained(now);
        let device = match self.reached > now {
            true => Instant::FAR,
            false => self.device.next_wakeup().unwrap_or(Instant::FAR),
        };
        let drained = self.drain_until.unwrap_or(Instant::FAR);
        let issued = self.totals.issued > before;
        // A closed loop issues when something completes.
        let quiet = if self.open_loop { self.soonest().1 } else { Instant::ZERO };
        let wake = next.min(device).min(self.boundary).min(drained);
        self.watch.until(wake.max(now));
        Step { wake, quiet, issued, done: self.finished }
    }

    /// The schedule is over. A backlog is not issued: the load ends at its end, and what was not delivered stays so. What was due in
    /// the last moment is none, and goes out. Closed loops issue nothing more.
    fn begin_drain(&mut self, now: Instant) {
        self.drain_until = Some(now + self.limits.drain);
        let moment = Instant::from_ns(self.schedule_end.as_ns().saturating_sub(LAST_MOMENT.as_ns()));
        for (due, flow) in self.due.iter_mut().zip(&self.flows) {
            if !flow.is_open_loop() || *due < moment {
                *due = Instant::FAR;
            }
        }
    }

    /// Hands what was issued to the device.
    #[inline]
    pub fn send(&mut self, now: Instant) {
        self.watch.hands_over(now);
        self.device.poll(now, &mut self.done);
    }

    /// Says that handing over blocked from `from` to `until`: what waited meanwhile waited for the device.
    pub fn blocked(&mut self, from: Instant, until: Instant) {
        self.held_back.blocked = Stretch { from, until };
    }

    /// Says that no thread of the program ran from `from` to `until`: what was due before the end waited for the generator, and
    /// whoever it waited for besides, that long the device does not answer for.
    pub fn stopped(&mut self, from: Instant, until: Instant) {
        self.held_back.stopped = Stretch { from, until };
        self.watch.not_since(from);
        self.looks_close = true;
    }

    /// When an operation of a lane that was due at `due` and goes out `now` would have gone out but for the device.
    #[inline]
    fn held(&self, lane: usize, now: Instant, due: Instant) -> Instant {
        self.held_back.but_for_the_device(&self.lanes[lane].full, now, due)
    }

    /// Makes known the other workers on the same targets, before the first step.
    pub fn beside(&mut self, peers: Arc<Peers>) {
        self.peers = Some(peers);
    }

    /// How long to wait of `span` before looking for completions.
    #[inline]
    pub fn patience(&self, span: Span) -> Span {
        if self.totals.issued == self.totals.completed { span } else { span.min(LOOK) }
    }

    /// Says that completions were looked for until `until`; without that, the next step comes when the last wished it to.
    #[inline]
    pub fn watched(&mut self, until: Instant) {
        self.watch.until(until);
    }

    /// The largest shift of other workers' operations on a target.
    #[inline]
    fn peers(&self, target: usize) -> Span {
        self.peers.as_ref().map_or(Span::ZERO, |peers| peers.worst(target))
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

    /// Ends the phase that waits at `at`. Told of it too late, the worker stops: it would measure another stretch than the
    /// others.
    pub fn end_phase(&mut self, now: Instant, at: Instant) {
        if self.drain_until.is_some() {
            return;
        }
        match self.timeline.end_phase(at) {
            Some(true) => {}
            Some(false) => return,
            None => {
                let text =
                    format!("the end of the warm-up was {} ago when this worker was told", now.since(at).human());
                self.events.push(Event { at_ns: now.as_ns(), what: "warning".into(), text, details: BTreeMap::new() });
                return self.stop(now, CloseReason::GeneratorLag);
            }
        }
        self.boundary = self.timeline.boundary();
        self.schedule_end = self.timeline.end();
        for (due, flow) in self.due.iter_mut().zip(&self.flows).filter(|(_, flow)| flow.is_open_loop()) {
            *due = flow.due(self.schedule_end);
        }
    }

    /// Gives up draining: the next step is the last.
    pub fn abandon(&mut self, now: Instant) {
        self.drain_until = Some(now);
    }

    /// Waits on the device, unless completions wait to be looked at.
    pub fn wait(&mut self, span: Span) {
        if self.done.is_empty() {
            self.device.wait(span);
        }
    }

    /// Whether an interval has ended or something happened since frames and events were last taken.
    #[inline]
    pub fn has_news(&self) -> bool {
        !self.frames.is_empty() || !self.events.is_empty()
    }

    /// Whether something happened since events were last taken.
    #[inline]
    pub fn has_told(&self) -> bool {
        !self.events.is_empty()
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
    pub fn device(&mut self) -> &mut D {
        &mut self.device
    }

    fn reap(&mut self, now: Instant) {
        self.device.poll(now, &mut self.done);
        let mut done = std::mem::take(&mut self.done);
        // Where time is virtual and the device sure, it does not matter when it is looked at.
        if done.first().is_some_and(|first| now.since(first.completed) >= OVERSLEPT) && !self.ahead {
            self.oversleeps(now, &done);
        }
        for completion in done.drain(..) {
            self.complete(now, &completion);
        }
        self.done = done;
    }

    /// Counts that completions which tell their times, in their order, were looked for long after that.
    #[cold]
    fn oversleeps(&mut self, now: Instant, done: &Done) {
        for completion in done {
            let flow = self.slots[completion.ticket.0 as usize].flow;
            let (target, late) = (self.flows[usize::from(flow)].target, now.since(completion.completed));
            if self.shifts[usize::from(target)].oversleeps(now, late) {
                self.recorder.overslept(target, late);
            }
        }
    }

    #[inline]
    fn complete(&mut self, now: Instant, completion: &Completion) {
        let ticket = completion.ticket;
        let slot = self.slots[ticket.0 as usize];
        assert!(slot.live, "a ticket completes once for each submission");
        let index = usize::from(slot.flow);
        if slot.counted {
            self.free(now, self.flows[index].lane, completion);
            return;
        }
        if completion.result == Ok(slot.len) && !slot.rest {
            let (intended, own, excess) = self.back(now, &slot, completion);
            let response = completion.completed.since(intended);
            if self.verifier.is_none() || self.is_sound(now, &slot, ticket, response) {
                let service = completion.completed.since(completion.issued);
                match excess {
                    None => self.recorder.completed(index, slot.len, response, service, own),
                    Some(excess) => self.recorder.completed_late(index, slot.len, response, service, excess),
                }
                if slot.blank_check {
                    self.sample(index, ticket, &slot);
                }
            }
        } else if !self.takes_rest(now, &slot, completion) {
            self.fell_short(now, &slot, *completion);
        }
        if slot.stuck && !self.slots[ticket.0 as usize].live {
            self.flows[index].stuck -= 1;
            let text = format!("an operation came back after {}", completion.completed.since(slot.submitted).human());
            self.tell(now, "late-completion", text, &slot, None);
        }
    }

    /// Frees the slot of an operation that came back, and returns when it was wanted and how much of its time may be our own.
    #[inline(always)]
    fn back(&mut self, now: Instant, slot: &Slot, completion: &Completion) -> (Instant, Span, Option<Excess>) {
        let index = usize::from(slot.flow);
        let flow = &mut self.flows[index];
        flow.returned(completion.completed);
        let open_loop = flow.is_open_loop();
        let target = flow.target;
        if !open_loop {
            if self.drain_until.is_none() {
                self.due[index] = flow.due(self.schedule_end);
            } else if self.reads_back && self.reason == CloseReason::Completed {
                self.due[index] = flow.due(Instant::FAR);
                self.drain_until = Some(now + self.limits.drain);
            }
        }
        // A closed loop wants its operation when it issues it: no part of it is late.
        let (intended, own) = if open_loop || !flow.pause().is_zero() {
            (slot.intended, self.held_back.own(slot.intended, slot.held, slot.submitted, completion.issued))
        } else {
            (completion.issued, Span::ZERO)
        };
        self.totals.completed += 1;
        self.recorder.lagged(index, completion.issued.since(intended), own);
        self.recorder.submitted(index, completion.accepted.since(completion.issued));
        let excess = if self.looks_close {
            Some(self.found(now, slot, completion, own))
        } else {
            self.free(now, self.flows[index].lane, completion);
            None
        };
        if completion.result.is_ok() {
            self.failures[usize::from(target)] = 0;
        }
        (intended, own, excess)
    }

    /// What of an operation's time may be the generator's doing, `own` its lag.
    #[inline(always)]
    fn excess(&self, target: usize, own: Span, slot: &Slot, completion: &Completion) -> Excess {
        let slack = self.watch.slack(completion, self.when_found, &self.held_back);
        let worst = self.shifts[target].worst(self.peers(target));
        // Nothing on this target has a schedule, or all of it was punctual.
        if worst.is_zero() && own.is_zero() {
            return Excess { own_lag: own, response: slack, service: slack };
        }
        let handed = self.watch.handed(completion.issued, slot.submitted);
        Excess { own_lag: own, response: (worst + handed).max(own) + slack, service: slack }
    }

    /// Frees the slot of an operation that had `own` lag, and returns what of its time may be the generator's doing.
    ///
    /// This and `arrives` are kept out of the way of closed loops on devices that tell the time, which need neither (10 % on the
    /// null device).
    #[inline(never)]
    fn found(&mut self, now: Instant, slot: &Slot, completion: &Completion, own: Span) -> Excess {
        let Flow { lane, target, in_flight, .. } = self.flows[usize::from(slot.flow)];
        let excess = self.excess(usize::from(target), own, slot, completion);
        let slack = excess.service;
        let late = slack.max(now.since(completion.completed));
        let together = self.free(now, lane, completion);
        let peers = if together { self.peers(usize::from(target)) } else { Span::ZERO };
        let shift = &mut self.shifts[usize::from(target)];
        if together {
            shift.leaves(now, slot.submitted, slack + now.since(completion.completed), peers);
        }
        if shift.oversleeps(now, late) {
            self.recorder.overslept(target, late);
        }
        let at = usize::from(target);
        if in_flight == 0 && self.together[at].iter().all(|flow| self.flows[*flow].in_flight == 0) {
            self.shifts[at].ends(completion.completed, slack);
            if let Some(peers) = self.peers.as_ref().filter(|_| self.may_be_late) {
                peers.leave(at);
            }
        }
        excess
    }

    /// Gives a slot back; true when its operation was found with the first of a full queue.
    #[inline(always)]
    fn free(&mut self, now: Instant, lane: usize, completion: &Completion) -> bool {
        self.slots[completion.ticket.0 as usize].live = false;
        let lane = &mut self.lanes[lane];
        let was_full = lane.free.is_empty();
        lane.free.push(completion.ticket);
        lane.full.freed(now, completion.completed, was_full, lane.free.len() == lane.slots)
    }

    /// Submits the rest of an operation that moved only some of its bytes, from its last whole block on; once for each
    /// operation. True when the operation is on its way again.
    #[cold]
    fn takes_rest(&mut self, now: Instant, slot: &Slot, completion: &Completion) -> bool {
        let Ok(moved) = completion.result else { return false };
        if slot.rest || moved == 0 || moved >= slot.len {
            return false;
        }
        let ticket = completion.ticket;
        let flow = &self.flows[usize::from(slot.flow)];
        // Direct I/O begins at whole blocks only.
        let whole = moved - moved % self.device.geometry(flow.target).block.max(1);
        let op = flow.generator.at(slot.offset + u64::from(whole), slot.len - whole);
        if op.direction == Direction::Write {
            let buffer = self.device.buffer(ticket);
            let end = buffer.len().min(slot.len as usize);
            buffer.copy_within((whole as usize).min(end)..end, 0);
        }
        self.slots[ticket.0 as usize].rest = true;
        let Completion { issued, accepted, .. } = *completion;
        self.begun.push(Begun { ticket, moved, issued, accepted });
        self.device.submit(now, ticket, &op);
        true
    }

    /// Counts what came back with an error or with too few bytes.
    #[cold]
    fn fell_short(&mut self, now: Instant, slot: &Slot, mut completion: Completion) {
        let mut moved = 0;
        if let Some(at) = self.begun.iter().position(|begun| begun.ticket == completion.ticket) {
            let begun = self.begun.swap_remove(at);
            (completion.issued, completion.accepted) = (begun.issued, begun.accepted);
            moved = begun.moved;
        }
        let (intended, ..) = self.back(now, slot, &completion);
        let index = usize::from(slot.flow);
        let failure = self.failure(slot, completion.completed.since(intended));
        self.unsettled(slot);
        match completion.result {
            Ok(len) => {
                self.recorder.short(index, failure);
                self.short(now, slot, moved, len);
            }
            // The first part was moved: it stays a short operation, whatever became of its rest.
            Err(errno) if moved > 0 => {
                self.recorder.short(index, failure);
                let text = format!("{moved} of {} bytes were moved, and the rest failed with {errno}", slot.len);
                self.tell(now, "short-io", text, slot, Some(errno));
            }
            Err(Errno::NOT_SUBMITTED) => {
                self.recorder.not_submitted(index);
                self.stop(now, CloseReason::EngineFailed);
            }
            Err(errno) => {
                self.recorder.failed(index, errno, failure);
                self.failed(now, slot, errno);
            }
        }
    }

    /// Where and how long an operation failed.
    fn failure(&self, slot: &Slot, response: Span) -> Failure {
        let size = self.device.geometry(self.flows[usize::from(slot.flow)].target).size.max(1);
        let part = (u128::from(slot.offset) * PARTS as u128 / u128::from(size)) as usize;
        Failure { part, response }
    }

    /// Holds what came back in full against what was written: false, and counted, when it is damaged.
    fn is_sound(&mut self, now: Instant, slot: &Slot, ticket: Ticket, response: Span) -> bool {
        let Some(verifier) = &self.verifier else { return true };
        let index = usize::from(slot.flow);
        let target = self.flows[index].target;
        if self.flows[index].content.is_some() {
            verifier.written(target, slot.offset, slot.len, true);
            return true;
        }
        let Some(data) = self.device.buffer(ticket).get_mut(..slot.len as usize) else { return true };
        let answer = verifier.read(ticket, target, slot.offset, data, &mut self.damages);
        let cell = self.recorder.cell(index);
        match answer {
            Answer::Right => cell.verified += 1,
            Answer::Open => cell.unverified += 1,
            Answer::Wrong(kind) => self.damaged(now, slot, kind, response),
        }
        !matches!(answer, Answer::Wrong(_))
    }

    #[cold]
    fn damaged(&mut self, now: Instant, slot: &Slot, kind: Errno, response: Span) {
        let index = usize::from(slot.flow);
        let failure = self.failure(slot, response);
        self.recorder.failed(index, kind, failure);
        self.recorder.cell(index).damaged += self.damages.len() as u64;
        for damage in std::mem::take(&mut self.damages) {
            if self.failures_told >= self.limits.failure_events {
                continue;
            }
            self.failures_told += 1;
            let mut details = damage.details();
            details.insert("flow".to_owned(), slot.flow.to_string());
            details.insert("target".to_owned(), self.flows[index].target.to_string());
            self.events.push(Event { at_ns: now.as_ns(), what: "damage".into(), text: damage.text(), details });
        }
    }

    /// A write that did not succeed may have left anything.
    #[cold]
    fn unsettled(&mut self, slot: &Slot) {
        let flow = &self.flows[usize::from(slot.flow)];
        if let Some(verifier) = self.verifier.as_ref().filter(|_| flow.content.is_some()) {
            verifier.written(flow.target, slot.offset, slot.len, false);
        }
    }

    fn sample(&mut self, flow: usize, ticket: Ticket, slot: &Slot) {
        let data = self.device.buffer(ticket);
        let Some(seen) = look::seen(slot.offset, slot.len, data) else { return };
        let blank = seen.iter().all(|byte| *byte == 0);
        let cell = self.recorder.cell(flow);
        cell.sampled += 1;
        cell.blank += u64::from(blank);
    }

    #[cold]
    fn short(&mut self, now: Instant, slot: &Slot, moved: u32, len: u32) {
        let text = match moved {
            0 => format!("{len} of {} bytes were moved", slot.len),
            _ => format!("{moved} of {} bytes were moved at first, and {len} when the rest was asked for", slot.len),
        };
        self.tell(now, "short-io", text, slot, None);
        if len == 0 {
            self.tell(now, "target-lost", "nothing could be moved: the target ends before its size".into(), slot, None);
            self.stop(now, CloseReason::TargetLost);
        }
    }

    #[cold]
    fn failed(&mut self, now: Instant, slot: &Slot, errno: Errno) {
        self.tell(now, "io-error", format!("an operation failed with {errno}"), slot, Some(errno));
        let target = self.flows[usize::from(slot.flow)].target;
        let failures = &mut self.failures[usize::from(target)];
        *failures += 1;
        if *failures == self.limits.failures_in_a_row {
            let text =
                format!("{} operations in a row failed, the last with {errno}: the target is taken for lost", failures);
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
        self.events.push(Event { at_ns: now.as_ns(), what: what.into(), text, details });
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
            if index >= self.read_back {
                self.read_back(now, index);
            } else {
                let op = self.flows[index].generator.operation();
                self.submit(now, index, due, op);
            }
        }
    }

    /// Whether issuing may go on before completions are looked at. Not while frames wait to be taken: who takes them may end
    /// the run or the phase at this moment. Nor while operations wait.
    #[inline]
    fn may_run_ahead(&self, now: Instant) -> bool {
        self.ahead
            && self.drain_until.is_none()
            && !self.has_news()
            && self.lanes.iter().all(|lane| !lane.free.is_empty())
            && self.soonest().1 >= now
    }

    /// Issues what is due from `now` on, each operation in its time, up to the end of the interval at most, not too many at once,
    /// and while there are slots. What completes within the interval is counted at once; the rest is found later, and carries its own time.
    /// Returns when to go on.
    #[inline(never)]
    fn issue_ahead(&mut self, now: Instant) -> Instant {
        self.reached = now;
        for left in (0..AHEAD).rev() {
            let (index, due) = self.soonest();
            if due >= self.boundary {
                // All of it has completed by then.
                self.lanes.iter_mut().for_each(|lane| lane.early.clear());
                return due;
            }
            debug_assert!(due >= self.reached, "nothing waits, and times of a schedule ascend");
            self.reached = due;
            let op = self.flows[index].generator.operation();
            self.carry(due, index, op);
            if left == 0 || self.lanes[self.flows[index].lane].may_be_full(due) {
                self.settle_early();
                break;
            }
        }
        self.reached
    }

    /// Issues an operation that is due now on a device that is sure.
    #[inline]
    fn carry(&mut self, now: Instant, index: usize, op: Op) {
        match self.device.foretell(now, &op) {
            Some((completed, Ok(len))) if len == op.len && completed <= self.boundary => {
                self.pull(index);
                self.flows[index].in_flight -= 1;
                self.recorder.cell(index).issued += 1;
                self.recorder.prompt(index, len, completed.since(now));
                self.totals.issued += 1;
                self.totals.completed += 1;
                self.failures[usize::from(op.target)] = 0;
                self.lanes[self.flows[index].lane].early.push(completed);
            }
            foretold => self.carry_on(now, index, op, foretold),
        }
    }

    /// Gives a slot to an operation that is not over within the interval.
    #[cold]
    fn carry_on(&mut self, now: Instant, index: usize, op: Op, foretold: Option<(Instant, Result<u32, Errno>)>) {
        let ticket = self.take_slot(now, index, now, &op);
        match foretold {
            Some((completed, result)) => {
                self.device.keep(Completion { ticket, result, issued: now, accepted: now, completed });
            }
            None => self.device.submit(now, ticket, &op),
        }
    }

    /// Gives slots to what was counted early and is still in flight: from here on it counts who is in flight when.
    #[cold]
    fn settle_early(&mut self) {
        let now = self.reached;
        for (at, lane) in self.lanes.iter_mut().enumerate() {
            let Some(flow) = self.flows.iter().position(|flow| flow.lane == at) else { continue };
            for completed in lane.early.drain(..).filter(|completed| *completed > now) {
                let ticket = lane.free.pop().expect("there are no more of them than free slots");
                let slot = &mut self.slots[ticket.0 as usize];
                *slot = Slot { flow: flow as u16, live: true, counted: true, stuck: false, submitted: now, ..*slot };
                self.device.keep(Completion { ticket, result: Ok(0), issued: now, accepted: now, completed });
            }
        }
    }

    /// Issues the next reading back of a flow, when there is one.
    #[cold]
    fn read_back(&mut self, now: Instant, index: usize) {
        let Some(verifier) = &self.verifier else { return };
        let target = self.flows[index].target;
        match verifier.ledger().book(target).next_written(LOOKED_AT) {
            Ok((offset, len)) => {
                let op = Op { target, direction: Direction::Read, durable: false, offset, len };
                self.submit(now, index, now, op);
            }
            // It goes on in the next step: what has come back is waiting.
            Err(true) => self.due[index] = now + Span::from_ns(1),
            Err(false) => self.due[index] = Instant::FAR,
        }
    }

    /// The flow whose next operation is due first, among those whose lane has a free slot.
    #[inline]
    fn earliest(&self) -> (usize, Instant) {
        let mut earliest = (0, Instant::FAR);
        for (index, due) in self.due.iter().enumerate() {
            if *due < earliest.1 && !self.lanes[self.flows[index].lane].free.is_empty() {
                earliest = (index, *due);
            }
        }
        earliest
    }

    /// The flow whose next operation is due first. Without a branch: which of them it is cannot be foreseen.
    #[inline]
    fn soonest(&self) -> (usize, Instant) {
        let mut soonest = (0, Instant::FAR);
        for (index, due) in self.due.iter().enumerate() {
            let sooner = *due < soonest.1;
            soonest = (if sooner { index } else { soonest.0 }, soonest.1.min(*due));
        }
        soonest
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

    /// The lag rule for those that have no slot: where none comes free, nothing else asks for them.
    #[cold]
    fn look_at_full_lanes(&mut self, now: Instant) {
        if self.drain_until.is_some() {
            return;
        }
        for index in 0..self.due.len() {
            let due = self.due[index];
            let lane = &mut self.lanes[self.flows[index].lane];
            if due < now && lane.free.is_empty() {
                lane.full.goes_on(now);
                if self.falls_behind(now, due, index) {
                    return;
                }
            }
        }
    }

    #[cold]
    fn lag_stop(&mut self, now: Instant, due: Instant, index: usize) {
        let at = usize::from(self.flows[index].target);
        // Not only its own: those before it were late too.
        let shift = self.shifts[at].worst(self.peers(at));
        let own = now.since(due.max(self.held(self.flows[index].lane, now, due))).max(shift);
        let (reason, who) = if own.as_ns() * 2 > now.since(due).as_ns() {
            (CloseReason::GeneratorLag, "the test machine did not get to issue them")
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

    /// Issues an operation. Not within `step`, where both would have too few registers (15 % on the null device).
    #[inline(never)]
    fn submit(&mut self, now: Instant, index: usize, due: Instant, op: Op) {
        let ticket = self.take_slot(now, index, due, &op);
        self.device.submit(now, ticket, &op);
    }

    /// Takes an operation off its flow's schedule.
    #[inline(always)]
    fn pull(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        flow.pull();
        let end = if index < self.read_back { self.schedule_end } else { Instant::FAR };
        self.due[index] = flow.due(end);
    }

    /// Counts how late an operation arrives at its target, and what rest that gave it. Returns when it would have gone out but for
    /// the device.
    #[inline(never)]
    fn arrives(&mut self, now: Instant, index: usize, due: Instant) -> Instant {
        let flow = &self.flows[index];
        let held = self.held(flow.lane, now, due);
        let (scheduled, at, several) = (flow.is_open_loop(), usize::from(flow.target), self.shifts.len() > 1);
        let shift = &mut self.shifts[at];
        if flow.in_flight == 0 && self.together[at].iter().all(|flow| self.flows[*flow].in_flight == 0) {
            let peers = self.peers.as_ref().map_or(Span::ZERO, |peers| peers.enter(at));
            shift.begins(now, held > due, peers);
            if scheduled && let Some(rest) = shift.rest(now, due) {
                // Of several workers each has its share of the moments: what lies between two of its own is several gaps.
                let gap = Span::from_ns(rest.gap.as_ns() / self.of);
                self.recorder.idle(flow.target, rest.empty, rest.given, gap);
            }
        }
        // A closed loop wants its operation when it issues it.
        if scheduled || !flow.pause().is_zero() {
            // Which target a hand-over blocked on is not known: where there are several it may be another's.
            let full = self.lanes[flow.lane].full.behind(due);
            let by_target = if several { due + full.min(held.since(due)) } else { held };
            let shifted = shift.issues(due, now.since(due.max(by_target)), by_target > due);
            if let Some(peers) = self.peers.as_ref().filter(|peers| shifted > peers.worst(at)) {
                peers.tell(at, shifted);
            }
        }
        held
    }

    /// Makes a slot ready for an operation of a flow and counts it as issued.
    #[inline(always)]
    fn take_slot(&mut self, now: Instant, index: usize, due: Instant, op: &Op) -> Ticket {
        let held = if self.may_be_late {
            self.arrives(now, index, due)
        } else if self.open_loop {
            self.held(self.flows[index].lane, now, due)
        } else {
            // A closed loop wants its operation when it issues it: the device did not hold it back.
            due
        };
        self.pull(index);
        let flow = &mut self.flows[index];
        let lane = &mut self.lanes[flow.lane];
        let ticket = lane.free.pop().expect("earliest() only names flows whose lane has a free slot");
        if lane.free.is_empty() {
            lane.full.begins(now, due, &self.held_back.blocked);
        }
        let mut blank_check = false;
        match &mut flow.content {
            Some(content) => {
                let buffer = self.device.buffer(ticket);
                if let Some(buffer) = buffer.get_mut(..op.len as usize) {
                    match &mut self.verifier {
                        None => content.fill(op.offset, buffer),
                        Some(verifier) => verifier.writing(ticket, op, content, buffer),
                    }
                }
            }
            None => {
                if let Some(verifier) = &mut self.verifier {
                    verifier.reading(ticket, op);
                }
                blank_check = flow.looks.at(op.offset, op.len);
            }
        }
        self.slots[ticket.0 as usize] = Slot {
            flow: index as u16,
            live: true,
            stuck: false,
            blank_check,
            rest: false,
            counted: false,
            len: op.len,
            offset: op.offset,
            intended: due,
            submitted: now,
            held,
        };
        self.recorder.cell(index).issued += 1;
        self.totals.issued += 1;
        ticket
    }

    fn close_interval(&mut self, end: Instant, last: bool) {
        self.find_stuck(end);
        for (index, flow) in self.flows.iter_mut().enumerate() {
            flow.looks.begin();
            let (scheduled, waiting) = flow.count_until(end.min(self.schedule_end));
            let cell = self.recorder.cell(index);
            cell.scheduled += scheduled;
            cell.waiting = waiting;
            cell.stuck = flow.stuck;
            cell.in_flight = flow.in_flight - flow.stuck;
        }
        for target in 0..self.shifts.len() {
            let peers = self.peers(target);
            let peak = self.shifts[target].take_peak(peers);
            self.recorder.shifted(target as u16, peak);
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
            if slot.is_missed() && now.since(slot.submitted) >= self.limits.stuck {
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
        // What was counted when it was issued is waited for as well: until then the run goes on.
        let counted = self.ahead && self.slots.iter().any(|slot| slot.live && slot.counted);
        if (in_flight > 0 || backlog || counted) && now < until {
            return;
        }
        if self.begins_read_back(now, in_flight == 0 && !backlog) {
            return;
        }
        // What is given up is stuck by definition, whether it was noticed before or not.
        for slot in self.slots.iter_mut().filter(|slot| slot.is_missed()) {
            slot.stuck = true;
            self.flows[usize::from(slot.flow)].stuck += 1;
        }
        self.totals.stuck = in_flight;
        if self.has_open_interval(now) || in_flight > 0 {
            self.close_interval(now, true);
        }
        let Totals { issued, completed, stuck } = self.totals;
        assert_eq!(issued, completed + stuck, "every operation that was issued completed or is stuck");
        self.finished = true;
    }

    /// Whether something is left to close at `now`: time, or distributions that wait for their group's last interval.
    fn has_open_interval(&self, now: Instant) -> bool {
        now > self.timeline.open_since() || self.timeline.is_within_group()
    }

    /// The schedule is over and nothing is in flight (`drained`). The last worker of all reads back what all have written.
    fn begins_read_back(&mut self, now: Instant, drained: bool) -> bool {
        let Some(verifier) = self.verifier.as_ref().filter(|_| !self.reads_back) else { return false };
        self.reads_back = true;
        let whole = drained && self.reason == CloseReason::Completed;
        if !verifier.ledger().written(whole) || self.read_back == self.flows.len() {
            return false;
        }
        if self.has_open_interval(now) {
            self.close_interval(now, true);
        }
        self.timeline.read_back();
        self.boundary = self.timeline.boundary();
        self.drain_until = Some(now + self.limits.drain);
        for (due, flow) in self.due.iter_mut().zip(&mut self.flows).skip(self.read_back) {
            *due = flow.begin(now, READ_BACK_DEPTH);
        }
        true
    }
}
