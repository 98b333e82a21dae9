//! The progress of a run, and how it ends.

use assay_base::Instant;
use assay_record::CloseReason;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Requests are issued according to the schedule.
    Scheduled,
    /// Nothing more is issued; the run waits for requests in flight until this time.
    Draining(Instant),
    /// What was written is read back; the run waits for requests in flight until this time.
    ReadingBack(Instant),
    Finished,
}

/// The progress of a run, and the reason for its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stage {
    phase: Phase,
    reason: CloseReason,
}

impl Stage {
    /// The stage at the beginning.
    pub(crate) fn new() -> Stage {
        Stage { phase: Phase::Scheduled, reason: CloseReason::Completed }
    }

    /// The reason for which the run ended, or would end now.
    pub(crate) fn close_reason(&self) -> CloseReason {
        self.reason
    }

    #[inline(always)]
    pub(crate) fn is_scheduled(&self) -> bool {
        self.phase == Phase::Scheduled
    }

    pub(crate) fn is_draining(&self) -> bool {
        matches!(self.phase, Phase::Draining(_))
    }

    /// Whether the run is reading back what was written, and no other reason has ended it.
    pub(crate) fn reads_back(&self) -> bool {
        matches!(self.phase, Phase::ReadingBack(_)) && self.reason == CloseReason::Completed
    }

    #[inline(always)]
    pub(crate) fn is_finished(&self) -> bool {
        self.phase == Phase::Finished
    }

    /// When the run gives up waiting for requests in flight.
    #[inline(always)]
    pub(crate) fn gives_up(&self) -> Option<Instant> {
        match self.phase {
            Phase::Draining(until) | Phase::ReadingBack(until) => Some(until),
            Phase::Scheduled | Phase::Finished => None,
        }
    }

    /// Notes that the schedule is over: the run waits for requests in flight until this time.
    pub(crate) fn begin_draining(&mut self, until: Instant) {
        self.phase = Phase::Draining(until);
    }

    /// The read-back begins or continues: the run waits for it until this time.
    pub(crate) fn waits_for_read_back(&mut self, until: Instant) {
        self.phase = Phase::ReadingBack(until);
    }

    /// Ends the run for `reason`: it waits for requests in flight until this time, unless its end was already decided.
    /// Returns false if it ends for another reason.
    pub(crate) fn begin_stop(&mut self, reason: CloseReason, until: Instant) -> bool {
        let stops = self.is_scheduled() || self.reason == CloseReason::Completed;
        if stops {
            self.reason = reason;
        }
        if self.is_scheduled() {
            self.begin_draining(until);
        }
        stops
    }

    /// Gives up waiting for requests in flight.
    pub(crate) fn abandon_draining(&mut self, now: Instant) {
        self.phase = match self.phase {
            Phase::Scheduled | Phase::Draining(_) => Phase::Draining(now),
            Phase::ReadingBack(_) => Phase::ReadingBack(now),
            Phase::Finished => Phase::Finished,
        };
    }

    pub(crate) fn finish_run(&mut self) {
        self.phase = Phase::Finished;
    }
}
