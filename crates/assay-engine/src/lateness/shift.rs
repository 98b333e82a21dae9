//! How much later operations arrive at a target than with a punctual generator.

use crate::lateness::watch::OVERSLEPT;
use assay_base::{Instant, Span};

/// How much later than with a punctual generator the operations on one target arrive there, and how long the target
/// rests because of it.
///
/// `docs/decisions/0028-late-generator.md` has the proof that no response becomes longer by more than this.
#[derive(Clone, Debug)]
pub(crate) struct Shift {
    /// The largest shift since the target last had nothing in flight (`worst`), and since it was last read (`peak`).
    worst: Span,
    peak: Span,
    /// The same up to `began`; an operation that waited for a slot inherits it from the operation that had the slot.
    before: Span,
    began: Instant,
    inherited: Span,
    /// Since when the target may have been empty.
    empty_from: Instant,
    /// The latest intended time of the schedule.
    last_due: Instant,
    /// The step in which its completions were found too late.
    overslept: Instant,
}

/// The rest that a target got because operations were issued late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rest {
    /// How long it was empty.
    pub empty: Span,
    /// The part of that with an operation due.
    pub given: Span,
    /// The schedule's time between that operation and the one before it.
    pub gap: Span,
}

impl Shift {
    /// The state for a run that begins at `start`.
    pub(crate) fn new(start: Instant) -> Shift {
        Shift {
            worst: Span::ZERO,
            peak: Span::ZERO,
            before: Span::ZERO,
            began: start,
            inherited: Span::ZERO,
            empty_from: start,
            last_due: start,
            overslept: start,
        }
    }

    /// The target has nothing in flight, the largest shift of other workers is `peers`, and an operation is issued
    /// `now`: counting begins anew, unless the operation `waited` for a slot.
    #[inline]
    pub(crate) fn begin_busy(&mut self, now: Instant, waited: bool, peers: Span) {
        self.peak = self.peak.max(self.worst);
        if waited {
            self.worst = self.worst.max(peers);
        } else {
            (self.worst, self.before, self.inherited) = (peers, peers, peers);
            self.began = now;
        }
    }

    /// The rest of a target that has nothing in flight, when an operation due at `due` is issued `now`.
    #[inline]
    pub(crate) fn rest_of_target(&self, now: Instant, due: Instant) -> Option<Rest> {
        let given = now.since(due.max(self.empty_from));
        let (empty, gap) = (now.since(self.empty_from), due.since(self.last_due));
        (!given.is_zero()).then_some(Rest { empty, given, gap })
    }

    /// An operation of a schedule that was due at `due` is issued, `own` later than possible, after it `waited` for a
    /// slot. Returns its shift.
    #[inline]
    pub(crate) fn note_issue(&mut self, due: Instant, own: Span, waited: bool) -> Span {
        self.last_due = due;
        let shift = if waited { own + self.inherited } else { own };
        self.worst = self.worst.max(shift);
        shift
    }

    /// What an operation that was submitted at `submitted` passes on to those that wait for its slot, when its
    /// completion may have waited `slack` to be found. `peers` as above.
    #[cold]
    pub(crate) fn note_completion(&mut self, now: Instant, submitted: Instant, slack: Span, peers: Span) {
        self.worst = self.worst.max(peers);
        if submitted >= self.began {
            (self.before, self.began) = (self.worst, now);
        }
        self.inherited = self.inherited.max(self.before + slack);
    }

    /// The largest shift of the operations in flight, and of those that were in flight together with them; `peers` as
    /// above.
    #[inline(always)]
    pub(crate) fn worst_shift(&self, peers: Span) -> Span {
        self.worst.max(peers)
    }

    /// The largest shift since this was last called, while the largest of other workers is `peers`.
    pub(crate) fn take_peak(&mut self, peers: Span) -> Span {
        let worst = self.worst.max(peers);
        std::mem::replace(&mut self.peak, worst).max(worst)
    }

    /// Nothing is in flight any more: the last operation completed at most `slack` before it was found.
    #[inline]
    pub(crate) fn note_empty(&mut self, completed: Instant, slack: Span) {
        self.empty_from = Instant::from_ns(completed.as_ns().saturating_sub(slack.as_ns()));
    }

    /// A completion found `now` may have waited for `span`: the part of that which must be counted, once for all
    /// completions found together.
    #[inline]
    pub(crate) fn is_first_oversleeping(&mut self, now: Instant, span: Span) -> bool {
        let first = span >= OVERSLEPT && self.overslept != now;
        if first {
            self.overslept = now;
        }
        first
    }
}
