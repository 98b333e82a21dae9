//! How late the generator is, and which part of that the device caused: what a worker knows about both, updated by
//! every arrival and every completion. The state machines are in the files beside this one.

use crate::lateness::held_back::{HeldBack, OwnLag, late_stamp};
use crate::lateness::peers::Peers;
use crate::lateness::queue_full::QueueFull;
use crate::lateness::shift::Shift;
use crate::lateness::watch::{OVERSLEPT, Watch};
use assay_base::{Completion, Instant, Span};
use assay_record::{Excess, Recorder};
use std::sync::Arc;

/// How late one worker is, on each of its targets.
#[derive(Debug)]
pub(crate) struct Lateness {
    pub held_back: HeldBack,
    pub watch: Watch,
    /// One for each target.
    shifts: Vec<Shift>,
    /// The other workers on the same targets.
    pub peers: Option<Arc<Peers>>,
    /// This worker's share of each schedule: one request in this many.
    of: u64,
    /// Some source follows a schedule or pauses, or completions are found later than they occur: then each arrival is
    /// examined. In closed loops on a device that reports times, only slots that were left idle matter.
    pub may_be_late: bool,
    /// Completions of requests that were accepted before this time are examined closely: all of them where each arrival
    /// is, else those that were in flight when the program last stood still.
    examined_before: Instant,
    /// Completions are stamped when they are found.
    when_found: bool,
    /// The device knows for how long its threads could not run.
    pub kept_known: bool,
}

/// A request that is about to be issued.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub now: Instant,
    pub due: Instant,
    pub target: u16,
    /// It belongs to a schedule.
    pub scheduled: bool,
    /// If it comes late, those behind it come late too: it follows a schedule, or a pause.
    pub shifts: bool,
    /// Its source may have waited for a slot of its target.
    pub contends: bool,
    /// Nothing is in flight on its target.
    pub rests: bool,
}

/// A completion that may have been found too late.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LateCompletion {
    pub target: u16,
    pub submitted: Instant,
    pub completed: Instant,
    /// The generator's own lag of the request.
    pub lag: OwnLag,
    /// How long the completion may have waited to be found.
    pub slack: Span,
    /// It was found together with the first one of a full queue.
    pub together: bool,
}

impl Lateness {
    /// One worker of `of` on `targets` targets, in a run that begins at `start`.
    pub(crate) fn new(start: Instant, targets: u16, of: u64, may_be_late: bool, when_found: bool) -> Lateness {
        Lateness {
            held_back: HeldBack::default(),
            watch: Watch::new(start),
            shifts: vec![Shift::new(start); usize::from(targets)],
            peers: None,
            of: of.max(1),
            may_be_late,
            examined_before: if may_be_late { Instant::FAR } else { start },
            when_found,
            kept_known: false,
        }
    }

    /// No thread of the program ran from `from` to `until`.
    pub(crate) fn note_stopped(&mut self, from: Instant, until: Instant) {
        self.held_back.note_stopped(from, until);
        self.watch.not_since(from);
        self.examined_before = self.examined_before.max(until);
    }

    /// Every arrival and completion is punctual, whatever the sources are.
    pub(crate) fn assume_punctual(&mut self) {
        (self.may_be_late, self.examined_before) = (false, Instant::from_ns(0));
    }

    /// Whether a request that was accepted at `accepted` may have been found late. No other one was in flight while the
    /// program stood still, so that its times are its own.
    #[inline(always)]
    pub(crate) fn must_examine(&self, accepted: Instant) -> bool {
        accepted < self.examined_before
    }

    /// The largest shift of other workers' requests on a target.
    #[inline]
    fn of_peers(&self, target: usize) -> Span {
        self.peers.as_ref().map_or(Span::ZERO, |peers| peers.worst_shift(target))
    }

    /// The largest shift of the requests in flight on a target, and of those that were in flight together with them.
    pub(crate) fn worst_shift(&self, target: usize) -> Span {
        self.shifts[target].worst_shift(self.of_peers(target))
    }

    /// Records the largest shift on each target since the last call.
    pub(crate) fn note_peaks(&mut self, recorder: &mut Recorder) {
        for target in 0..self.shifts.len() {
            let peers = self.of_peers(target);
            let peak = self.shifts[target].take_peak(peers);
            recorder.note_shift(target as u16, peak);
        }
    }

    /// Counts how late a request arrives at its target, and how long the target rested because of that. Returns when it
    /// would have been issued if the device, whose queue was `full`, had not delayed it.
    #[inline(never)]
    pub(crate) fn count_arrival(&mut self, arrival: &Arrival, full: &QueueFull, recorder: &mut Recorder) -> Instant {
        let Arrival { now, due, target, scheduled, shifts, contends, rests } = *arrival;
        let held = if contends {
            self.held_back.but_for_the_device(full, now, due)
        } else {
            self.held_back.but_for_hand_overs(now, due)
        };
        let (at, several) = (usize::from(target), self.shifts.len() > 1);
        let shift = &mut self.shifts[at];
        if rests {
            let peers = self.peers.as_ref().map_or(Span::ZERO, |peers| peers.enter_target(at));
            shift.begin_busy(now, held > due, peers);
            if scheduled && let Some(rest) = shift.rest_of_target(now, due) {
                // Each of several workers has its share of the intended times: the time between two of its own covers
                // several gaps.
                let gap = Span::from_ns(rest.gap.as_ns() / self.of);
                recorder.count_idle(target, rest.empty, rest.given, gap);
            }
        }
        // A slot of a closed loop that comes late makes no other one late.
        if shifts {
            // It is not known on which target a hand-over blocked: with several targets it may be another one.
            let by_target = if several { due + full.wait_for_slot(due).min(held.since(due)) } else { held };
            let shifted = shift.note_issue(due, now.since(due.max(by_target)), by_target > due);
            if let Some(peers) = self.peers.as_ref().filter(|peers| shifted > peers.worst_shift(at)) {
                peers.report_shift(at, shifted);
            }
        }
        held
    }

    /// For how long a completion may have been stamped or found too late, if the thread that carried the request was
    /// `kept` from running.
    #[inline(always)]
    pub(crate) fn completion_slack(&self, completion: &Completion, kept: Span) -> Span {
        if self.when_found {
            self.watch.completion_slack(completion, &self.held_back)
        } else {
            late_stamp(completion, kept, &self.held_back)
        }
    }

    /// Which part of a request's time the generator may have caused, if its completion may have been found `slack` too
    /// late. `shifts`: its source follows a schedule, or pauses.
    #[inline(always)]
    pub(crate) fn generator_excess(&self, target: u16, lag: OwnLag, slack: Span, shifts: bool) -> Excess {
        let worst = self.worst_shift(usize::from(target));
        let own = lag.own;
        // Nothing on this target has a schedule, or everything was punctual.
        if worst.is_zero() && (own.is_zero() || !shifts) {
            return Excess { own_lag: own, response: own + slack, service: slack };
        }
        let handed = self.watch.hand_over_bound(lag.handing_over);
        Excess { own_lag: own, response: (worst + handed).max(own) + slack, service: slack }
    }

    /// Notes a completion that was found `now`.
    #[inline(always)]
    pub(crate) fn note_completion_found(&mut self, now: Instant, completion: &LateCompletion, recorder: &mut Recorder) {
        let LateCompletion { target, submitted, completed, lag, slack, together } = *completion;
        if !self.when_found {
            // Known only now, because another thread began with it.
            self.watch.handed_over_after(lag.handing_over);
        }
        let at = usize::from(target);
        let peers = if together { self.of_peers(at) } else { Span::ZERO };
        let waited = now.since(completed);
        let shift = &mut self.shifts[at];
        if together {
            shift.note_completion(now, submitted, slack + waited, peers);
        }
        // While a hand-over blocked nobody could look.
        let blocked = if waited < OVERSLEPT { Span::ZERO } else { self.held_back.blocked_within(completed, now) };
        let late = slack.max(waited.saturating_sub(blocked));
        if shift.is_first_oversleeping(now, late) {
            recorder.count_overslept(target, late);
        }
    }

    /// Nothing is in flight on a target any more.
    #[inline(always)]
    pub(crate) fn note_target_empty(&mut self, target: u16, completed: Instant, slack: Span) {
        let at = usize::from(target);
        self.shifts[at].note_empty(completed, slack);
        if let Some(peers) = self.peers.as_ref().filter(|_| self.may_be_late) {
            peers.leave_target(at);
        }
    }

    /// A completion with a time of its own, `completed`, is found `now`: counts by how much that is too late, once for all that are found together.
    pub(crate) fn count_oversleeping(
        &mut self,
        now: Instant,
        target: u16,
        completed: Instant,
        recorder: &mut Recorder,
    ) {
        let late = now.since(completed).saturating_sub(self.held_back.blocked_within(completed, now));
        if self.shifts[usize::from(target)].is_first_oversleeping(now, late) {
            recorder.count_overslept(target, late);
        }
    }
}
