//! How late the generator is, and what of that the device did: what a worker knows of both, fed with every arrival and every
//! completion. The machines are in [`crate::blame`].

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
    /// Which share of each schedule is this worker's: one in so many.
    of: u64,
    /// Something follows a schedule, or is found later than it is done: how late the generator is must be known. Where all are
    /// closed loops on a device that tells the time, only whether it overslept.
    pub may_be_late: bool,
    /// That, or the program stood still once: each completion is looked at closely.
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
    /// It is of a schedule.
    pub scheduled: bool,
    /// It has a moment at which it was wanted.
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

    /// The largest shift of what is in flight on a target, or was together with it.
    pub(crate) fn worst(&self, target: usize) -> Span {
        self.shifts[target].worst(self.of_peers(target))
    }

    /// Notes the largest shift on each target since this was last asked.
    pub(crate) fn note_peaks(&mut self, recorder: &mut Recorder) {
        for target in 0..self.shifts.len() {
            let peers = self.of_peers(target);
            let peak = self.shifts[target].take_peak(peers);
            recorder.shifted(target as u16, peak);
        }
    }

    /// Counts how late a request arrives at its target, and what rest that gave it. Returns when it would have been issued if the
    /// device, whose queue was `full`, had not held it back.
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
                // Of several workers each has its share of the moments: what lies between two of its own is several gaps.
                let gap = Span::from_ns(rest.gap.as_ns() / self.of);
                recorder.idle(target, rest.empty, rest.given, gap);
            }
        }
        // A closed loop wants its request when it issues it.
        if has_moment {
            // Which target a hand-over blocked on is not known: where there are several it may be another's.
            let by_target = if several { due + full.behind(due).min(held.since(due)) } else { held };
            let shifted = shift.issues(due, now.since(due.max(by_target)), by_target > due);
            if let Some(peers) = self.peers.as_ref().filter(|peers| shifted > peers.worst(at)) {
                peers.tell(at, shifted);
            }
        }
        held
    }

    /// What of a request's time may be the generator's doing, `own` its lag, when it was submitted at `submitted`.
    #[inline(always)]
    pub(crate) fn excess(&self, target: u16, own: Span, submitted: Instant, completion: &Completion) -> Excess {
        let slack = self.watch.slack(completion, self.when_found, &self.held_back);
        let worst = self.worst(usize::from(target));
        // Nothing on this target has a schedule, or all of it was punctual.
        if worst.is_zero() && own.is_zero() {
            return Excess { own_lag: own, response: slack, service: slack };
        }
        let handed = self.watch.handed(completion.issued, submitted);
        Excess { own_lag: own, response: (worst + handed).max(own) + slack, service: slack }
    }

    /// A completion was found `now` that may have waited `slack` for that; `together` with the first of a full queue.
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

    /// A completion that tells its time was looked for so `late`: counts it, once for all that are found together.
    pub(crate) fn oversleeps(&mut self, now: Instant, target: u16, late: Span, recorder: &mut Recorder) {
        if self.shifts[usize::from(target)].oversleeps(now, late) {
            recorder.overslept(target, late);
        }
    }
}
