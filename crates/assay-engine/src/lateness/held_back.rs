//! What kept a worker from issuing: hand-overs that blocked are the device's, and times in which the program was stopped
//! are not. The rest of `issued − intended` is the generator's own lag.

use crate::lateness::queue_full::QueueFull;
use crate::lateness::stretches::Stretches;
use assay_base::{Completion, HandOver, Instant, Span};

/// What delayed the whole worker.
#[derive(Clone, Debug, Default)]
pub(crate) struct HeldBack {
    /// When hand-overs blocked.
    blocked: Stretches,
    /// When no thread of the program ran.
    stopped: Stretches,
    /// The device reports its hand-overs: what they do not cover of a long one was not the device's.
    reports: bool,
}

/// A hand-over that takes longer than this may have been interrupted.
const LONG: Span = Span::from_us(50);
/// A request that is handed over sooner than this after its step began waited for no other one that is worth a look.
const LOOKED_AT: Span = Span::from_us(1);

impl HeldBack {
    /// Adds what the device reported.
    #[inline]
    pub(crate) fn add_hand_overs(&mut self, found: &mut Vec<HandOver>) {
        if !found.is_empty() {
            self.reports = true;
            self.blocked.add_all(found, &self.stopped);
        }
    }

    /// No thread of the program ran from `from` to `until`: hand-overs that were under way did not block then.
    pub(crate) fn note_stopped(&mut self, from: Instant, until: Instant) {
        self.stopped.add_period(from, until);
        self.blocked.remove_period(from, until);
    }

    /// The part of a time in which hand-overs blocked.
    #[inline(always)]
    pub(crate) fn blocked_within(&self, from: Instant, to: Instant) -> Span {
        self.blocked.time_within(from, to)
    }

    /// What of a hand-over was not the device's, because the thread could not run.
    #[inline(always)]
    pub(super) fn interrupted_time(&self, completion: &Completion) -> Span {
        let Completion { issued, accepted, .. } = *completion;
        let took = accepted.since(issued);
        if took > LONG && self.reports {
            took.saturating_sub(self.blocked.time_within(issued, accepted))
        } else {
            Span::ZERO
        }
    }

    /// The time at which an operation due at `due` and issued `now` would have been issued if the device had never
    /// blocked. `full` says when the queue was full. Before the queue was full or submitting blocked, the operation
    /// waited for the generator. Where the queue became full only because the generator was late, the operation waited
    /// for both, and only the device's part of that wait counts as the device's.
    #[inline]
    pub(crate) fn but_for_the_device(&self, full: &QueueFull, now: Instant, due: Instant) -> Instant {
        self.but_for(full.wait_for_slot(due).max(self.blocked.time_within(due, now)), now, due)
    }

    /// The same for an operation that waits for no slot: its own slot became free when it was due.
    #[inline(always)]
    pub(crate) fn but_for_hand_overs(&self, now: Instant, due: Instant) -> Instant {
        let blocked = self.blocked.time_within(due, now);
        if blocked.is_zero() { due } else { self.but_for(blocked, now, due) }
    }

    /// Early enough that at least the time in which the program was stopped remains as own lag.
    #[inline]
    fn but_for(&self, held: Span, now: Instant, due: Instant) -> Instant {
        due + held.min(now.since(due).saturating_sub(self.stopped.time_within(due, now)))
    }

    /// The generator's own part of the lag of an operation that was intended at `intended`, submitted in the step at
    /// `submitted` and issued at `issued`; `held` is its issue time if the device had never blocked.
    #[inline(always)]
    pub(crate) fn own_lag(&self, intended: Instant, held: Instant, submitted: Instant, issued: Instant) -> OwnLag {
        let waited = issued.since(submitted);
        // An earlier operation of the same step may have blocked.
        let behind = if waited > LOOKED_AT { self.blocked.time_within(submitted, issued) } else { Span::ZERO };
        let lag = issued.since(intended);
        let own = if lag.is_zero() { lag } else { issued.since(intended.max(held + behind)).min(lag) };
        OwnLag { own, handing_over: waited.saturating_sub(behind) }
    }
}

/// The generator's own lag of one operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OwnLag {
    /// All of it.
    pub own: Span,
    /// From the beginning of its step to its hand-over, or until the thread that carries it began: it may be the device's
    /// that the operation waited before that step.
    pub handing_over: Span,
}

/// How much earlier an operation may have completed than the thread says that carried it: it can be late only while the
/// whole program stood still, or while that thread was `kept` from running.
#[inline(always)]
pub(crate) fn late_stamp(completion: &Completion, kept: Span, held: &HeldBack) -> Span {
    let Completion { accepted, completed, .. } = *completion;
    (held.stopped.time_within(accepted, completed) + kept).min(completed.since(accepted))
}
