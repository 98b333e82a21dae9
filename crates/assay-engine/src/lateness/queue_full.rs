//! When the queue of a target was full, and how long an operation waited for a slot because of it.

use assay_base::{Instant, Span};

/// A period in which the queue of a target was full.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    pub(super) from: Instant,
    pub(super) until: Instant,
}

impl Stretch {
    /// The part of it during which an operation that was due at `due` waited.
    #[inline]
    pub(super) fn wait_for_slot(&self, due: Instant) -> Span {
        self.until.since(self.from.max(due))
    }

    /// The beginning of a period that an operation due at `due` begins `now`: if the operation also waited during this
    /// period, the two are joined, without the time between them.
    #[inline]
    pub(super) fn joined_begin(&self, due: Instant, now: Instant) -> Instant {
        if due < self.until { self.from + now.since(self.until) } else { now }
    }
}

/// When the queue of one target was full.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueFull {
    /// When all slots were last taken; while they are, its end is not known.
    stretch: Stretch,
    /// When the worker found that they no longer were, and when the last operation that it found then had completed.
    seen: Instant,
    busy_until: Instant,
}

impl QueueFull {
    /// A queue that was never full, for a run that begins at `start`.
    pub(crate) fn new(start: Instant) -> QueueFull {
        QueueFull { stretch: Stretch { from: start, until: start }, seen: start, busy_until: start }
    }

    /// How long an operation due at `due` waited for a slot.
    #[inline]
    pub(crate) fn wait_for_slot(&self, due: Instant) -> Span {
        self.stretch.wait_for_slot(due)
    }

    /// The last slot was taken `now` by an operation due at `due`, for which hand-overs had blocked for `blocked`.
    #[inline]
    pub(crate) fn note_full(&mut self, now: Instant, due: Instant, blocked: Span) {
        let blocked = now.as_ns().saturating_sub(blocked.as_ns());
        self.stretch.from = self.stretch.joined_begin(due, now).min(Instant::from_ns(blocked));
    }

    /// All slots are still taken `now`.
    pub(crate) fn mark_still_full(&mut self, now: Instant) {
        self.stretch.until = now;
    }

    /// One of the slots was found free `now`; its operation had completed at `completed`. It is the first free slot of
    /// a full queue, or the last one of all. True when it is one of several that were found together in a full queue.
    #[inline(always)]
    pub(crate) fn note_freed(&mut self, now: Instant, completed: Instant, was_full: bool, all_free: bool) -> bool {
        if was_full {
            (self.seen, self.busy_until) = (now, self.stretch.from);
        }
        if self.seen == now {
            self.busy_until = self.busy_until.max(completed.min(now));
            // If all operations in flight are found complete together, the last completion shows how long the device
            // was busy: the generator caused the time until it looked. Otherwise the device still had work.
            self.stretch.until = if all_free { self.busy_until } else { now };
        }
        self.seen == now
    }
}
