//! How far a run is, and how it ends.

use assay_base::Instant;
use assay_record::CloseReason;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Requests are issued as the schedule wants them.
    Scheduled,
    /// Nothing more is issued; what is in flight is waited for until then.
    Draining(Instant),
    /// What was written is read back; what is in flight is waited for until then.
    ReadingBack(Instant),
    Finished,
}

/// See the module.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stage {
    phase: Phase,
    reason: CloseReason,
}

impl Stage {
    /// At the beginning.
    pub(crate) fn new() -> Stage {
        Stage { phase: Phase::Scheduled, reason: CloseReason::Completed }
    }

    /// How it ended, or would end now.
    pub(crate) fn reason(&self) -> CloseReason {
        self.reason
    }

    #[inline(always)]
    pub(crate) fn is_scheduled(&self) -> bool {
        self.phase == Phase::Scheduled
    }

    pub(crate) fn is_draining(&self) -> bool {
        matches!(self.phase, Phase::Draining(_))
    }

    /// Whether what was written is read back, and nothing has ended that.
    pub(crate) fn reads_back(&self) -> bool {
        matches!(self.phase, Phase::ReadingBack(_)) && self.reason == CloseReason::Completed
    }

    #[inline(always)]
    pub(crate) fn is_finished(&self) -> bool {
        self.phase == Phase::Finished
    }

    /// When waiting for what is in flight is given up.
    #[inline(always)]
    pub(crate) fn gives_up(&self) -> Option<Instant> {
        match self.phase {
            Phase::Draining(until) | Phase::ReadingBack(until) => Some(until),
            Phase::Scheduled | Phase::Finished => None,
        }
    }

    /// The schedule is over.
    pub(crate) fn drains(&mut self, until: Instant) {
        self.phase = Phase::Draining(until);
    }

    /// Reading back begins, or goes on: it is waited for until then.
    pub(crate) fn waits_for_read_back(&mut self, until: Instant) {
        self.phase = Phase::ReadingBack(until);
    }

    /// The run is to end for `reason`: what is in flight is waited for until then, unless that is decided already. False when it
    /// ends for another reason.
    pub(crate) fn stops(&mut self, reason: CloseReason, until: Instant) -> bool {
        let stops = self.is_scheduled() || self.reason == CloseReason::Completed;
        if stops {
            self.reason = reason;
        }
        if self.is_scheduled() {
            self.drains(until);
        }
        stops
    }

    /// Nothing is waited for any more.
    pub(crate) fn abandons(&mut self, now: Instant) {
        self.phase = match self.phase {
            Phase::Scheduled | Phase::Draining(_) => Phase::Draining(now),
            Phase::ReadingBack(_) => Phase::ReadingBack(now),
            Phase::Finished => Phase::Finished,
        };
    }

    pub(crate) fn finishes(&mut self) {
        self.phase = Phase::Finished;
    }
}
