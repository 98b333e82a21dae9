//! When a worker looked for completions, and how long one may have waited to be found.

use crate::lateness::held_back::HeldBack;
use assay_base::{Completion, Instant, Span};

/// Completions that may have waited this long or longer to be found count as overslept. Every program that waits on
/// this machine has shorter delays, and a worker needs such times to go through a full queue.
pub(crate) const OVERSLEPT: Span = Span::from_ms(1);

/// When the worker looked for completions, and when it should have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watch {
    /// Until this time, each completion was found when it occurred, or would have been.
    watched: Instant,
    /// The beginning of the step, and the longest time from a step's beginning to the end of its hand-over since
    /// nothing was in flight.
    stepped: Instant,
    handed: Span,
}

impl Watch {
    /// The state for a run that begins at `start`.
    pub(crate) fn new(start: Instant) -> Watch {
        Watch { watched: start, stepped: start, handed: Span::ZERO }
    }

    /// A step begins; `idle`: with nothing in flight.
    #[inline]
    pub(crate) fn begin_step(&mut self, now: Instant, idle: bool) {
        self.stepped = now;
        if idle {
            self.handed = Span::ZERO;
        }
    }

    /// The operations issued in this step are about to be handed over; `held` says when the device kept them waiting.
    #[inline]
    pub(crate) fn hands_over(&mut self, now: Instant, held: &HeldBack) {
        let since = now.since(self.stepped);
        if since > self.handed {
            self.handed = self.handed.max(since.saturating_sub(held.blocked_within(self.stepped, now)));
        }
    }

    /// The hand-over of an operation took this long.
    #[inline(always)]
    pub(crate) fn handed_over_after(&mut self, span: Span) {
        self.handed = self.handed.max(span);
    }

    /// Upper bound on the time between the beginning of a step and the hand-over, for all operations in flight
    /// including one for which it took `own`.
    #[inline(always)]
    pub(crate) fn hand_over_bound(&self, own: Span) -> Span {
        self.handed.max(own)
    }

    /// The worker looks for completions until `until`, whatever happens.
    #[inline]
    pub(crate) fn watch_until(&mut self, until: Instant) {
        self.watched = until;
    }

    /// Nobody looked for completions after `from`.
    pub(crate) fn not_since(&mut self, from: Instant) {
        self.watched = self.watched.min(from);
    }

    /// How long a completion may have waited to be found, if it is stamped when it is found.
    #[inline(always)]
    pub(crate) fn completion_slack(&self, completion: &Completion, held: &HeldBack) -> Span {
        let from = self.watched.max(completion.accepted);
        // Time in a hand-over that blocked is the device's.
        let unwatched =
            completion.completed.since(from).saturating_sub(held.blocked_within(from, completion.completed));
        unwatched + held.interrupted_time(completion)
    }
}
