//! How late the generator is, and which part of that the device caused: what a worker knows about both, updated by
//! every arrival and every completion. The state machines are in [`crate::blame`].

use crate::blame::{Full, HeldBack, Peers, Shift, Watch};
use assay_base::{Completion, Instant, Span};
use assay_record::{Excess, Recorder};
use std::sync::Arc;

/// See the module.
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
    /// Some source follows a schedule, or completions are found later than they occur: then the generator's lateness
    /// must be known. Where all sources are closed loops on a device that reports times, only oversleeping matters.
    pub may_be_late: bool,
    /// The same, or the program stood still at least once: each completion is examined closely.
    pub looks_close: bool,
    /// Completions are stamped when they are found.
    when_found: bool,
}

/// A request that is about to be issued.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub now: Instant,
    pub due: Instant,
    pub target: u16,
    /// It belongs to a schedule.
    pub scheduled: bool,
    /// It has an intended time of its own.
    pub has_moment: bool,
    /// Nothing is in flight on its target.
    pub rests: bool,
}

impl Lateness {
    /// One worker of `of` on `targets` targets, in a run that begins at `start`.
    pub(crate) fn new(start: Instant, targets: u16, of: u64, may_be_late: bool, when_found: bool) -> Lateness {
        Lateness {
            held_back: HeldBack::new(start),
            watch: Watch::new(start),
            shifts: vec![Shift::new(start); usize::from(targets)],
            peers: None,
            of: of.max(1),
            may_be_late,
            looks_close: may_be_late,
            when_found,
        }
    }

    /// The largest shift of other workers' requests on a target.
    #[inline]
    fn of_peers(&self, target: usize) -> Span {
        self.peers.as_ref().map_or(Span::ZERO, |peers| peers.worst(target))
    }

    /// The largest shift of the requests in flight on a target, and of those that were in flight together with them.
    pub(crate) fn worst(&self, target: usize) -> Span {
        self.shifts[target].worst(self.of_peers(target))
    }

    /// Records the largest shift on each target since the last call.
    pub(crate) fn note_peaks(&mut self, recorder: &mut Recorder) {
        for target in 0..self.shifts.len() {
            let peers = self.of_peers(target);
            let peak = self.shifts[target].take_peak(peers);
            recorder.shifted(target as u16, peak);
        }
    }

    /// Counts how late a request arrives at its target, and how long the target rested because of that. Returns when it
    /// would have been issued if the device, whose queue was `full`, had not delayed it.
    #[inline(never)]
    pub(crate) fn arrives(&mut self, arrival: &Arrival, full: &Full, recorder: &mut Recorder) -> Instant {
        let Arrival { now, due, target, scheduled, has_moment, rests } = *arrival;
        let held = self.held_back.but_for_the_device(full, now, due);
        let (at, several) = (usize::from(target), self.shifts.len() > 1);
        let shift = &mut self.shifts[at];
        if rests {
            let peers = self.peers.as_ref().map_or(Span::ZERO, |peers| peers.enter(at));
            shift.begins(now, held > due, peers);
            if scheduled && let Some(rest) = shift.rest(now, due) {
                // Each of several workers has its share of the intended times: the time between two of its own covers
                // several gaps.
                let gap = Span::from_ns(rest.gap.as_ns() / self.of);
                recorder.idle(target, rest.empty, rest.given, gap);
            }
        }
        // The request of a closed loop is intended when it is issued.
        if has_moment {
            // It is not known on which target a hand-over blocked: with several targets it may be another one.
            let by_target = if several { due + full.behind(due).min(held.since(due)) } else { held };
            let shifted = shift.issues(due, now.since(due.max(by_target)), by_target > due);
            if let Some(peers) = self.peers.as_ref().filter(|peers| shifted > peers.worst(at)) {
                peers.tell(at, shifted);
            }
        }
        held
    }

    /// Which part of a request's time the generator may have caused; `own` is its own lag, and it was submitted at
    /// `submitted`.
    #[inline(always)]
    pub(crate) fn excess(&self, target: u16, own: Span, submitted: Instant, completion: &Completion) -> Excess {
        let slack = self.watch.slack(completion, self.when_found, &self.held_back);
        let worst = self.worst(usize::from(target));
        // Nothing on this target has a schedule, or everything was punctual.
        if worst.is_zero() && own.is_zero() {
            return Excess { own_lag: own, response: slack, service: slack };
        }
        let handed = self.watch.handed(completion.issued, submitted);
        Excess { own_lag: own, response: (worst + handed).max(own) + slack, service: slack }
    }

    /// A completion was found `now` that may have waited `slack` to be found; `together` with the first one of a full
    /// queue.
    #[inline(always)]
    pub(crate) fn found(
        &mut self,
        now: Instant,
        target: u16,
        submitted: Instant,
        completed: Instant,
        (slack, together): (Span, bool),
        recorder: &mut Recorder,
    ) {
        let at = usize::from(target);
        let peers = if together { self.of_peers(at) } else { Span::ZERO };
        let shift = &mut self.shifts[at];
        if together {
            shift.leaves(now, submitted, slack + now.since(completed), peers);
        }
        let late = slack.max(now.since(completed));
        if shift.oversleeps(now, late) {
            recorder.overslept(target, late);
        }
    }

    /// Nothing is in flight on a target any more.
    #[inline(always)]
    pub(crate) fn ends(&mut self, target: u16, completed: Instant, slack: Span) {
        let at = usize::from(target);
        self.shifts[at].ends(completed, slack);
        if let Some(peers) = self.peers.as_ref().filter(|_| self.may_be_late) {
            peers.leave(at);
        }
    }

    /// A completion with a time of its own was found `late`: counts this, once for all that are found together.
    pub(crate) fn oversleeps(&mut self, now: Instant, target: u16, late: Span, recorder: &mut Recorder) {
        if self.shifts[usize::from(target)].oversleeps(now, late) {
            recorder.overslept(target, late);
        }
    }
}
