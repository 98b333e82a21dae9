//! Whose lag it is: the time an operation waited while the queue was full, or while a submit blocked, is the device's; the rest
//! of `issued − intended` is the generator's own. `docs/decisions/0005-whose-lag.md` has the reasons.

use assay_base::{Instant, Span};

/// A stretch in which operations were held back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch {
    pub from: Instant,
    pub until: Instant,
}

impl Stretch {
    /// None yet, in a run that begins at `start`.
    pub fn none(start: Instant) -> Stretch {
        Stretch { from: start, until: start }
    }

    /// The part of it that one that was due at `due` waited through.
    #[inline]
    pub fn behind(&self, due: Instant) -> Span {
        self.until.since(self.from.max(due))
    }

    /// Where a stretch that begins `now` begins when one that was due at `due` begins it: if that waited through this stretch
    /// too, both are one, without what lay between them.
    #[inline]
    pub fn going_on(&self, due: Instant, now: Instant) -> Instant {
        if due < self.until { self.from + now.since(self.until) } else { now }
    }
}

/// When the queue of one target was full.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Full {
    /// When all slots were taken last; while they are, its end is not known.
    stretch: Stretch,
    /// When the worker found that they no longer were, and when the last that it found then had completed.
    seen: Instant,
    busy_until: Instant,
}

impl Full {
    /// It never was, in a run that begins at `start`.
    pub fn new(start: Instant) -> Full {
        Full { stretch: Stretch::none(start), seen: start, busy_until: start }
    }

    /// For how long one that was due at `due` waited for a slot.
    #[inline]
    pub fn behind(&self, due: Instant) -> Span {
        self.stretch.behind(due)
    }

    /// The last slot was taken `now` by one that was due at `due`.
    #[inline]
    pub fn begins(&mut self, now: Instant, due: Instant, blocked: &Stretch) {
        self.stretch.from = self.stretch.going_on(due, now).min(blocked.going_on(due, now));
    }

    /// All slots are still taken `now`.
    pub fn goes_on(&mut self, now: Instant) {
        self.stretch.until = now;
    }

    /// One of the slots was found free `now`, when its operation had completed at `completed`: the first of a queue that was
    /// full, or the last of all.
    #[inline(always)]
    pub fn freed(&mut self, now: Instant, completed: Instant, was_full: bool, all_free: bool) {
        if was_full {
            (self.seen, self.busy_until) = (now, self.stretch.from);
        }
        if self.seen == now {
            self.busy_until = self.busy_until.max(completed.min(now));
            // Of several that are found together, where they are all there were, the last tells how long the device was busy:
            // that the worker came to look later is its own affair. Otherwise the device had enough to do.
            self.stretch.until = if all_free { self.busy_until } else { now };
        }
    }
}

/// What held the whole worker back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeldBack {
    /// The latest stretch in which handing over blocked.
    pub blocked: Stretch,
    /// The latest stretch in which no thread of the program ran.
    pub stopped: Stretch,
}

impl HeldBack {
    /// Nothing yet, in a run that begins at `start`.
    pub fn new(start: Instant) -> HeldBack {
        HeldBack { blocked: Stretch::none(start), stopped: Stretch::none(start) }
    }

    /// When an operation that was due at `due` and goes out `now` would have gone out but for the device, whose queue was `full`. Before
    /// the queue was full or handing over blocked, it waited for the generator; what had to wait in a queue that filled up
    /// only then, because the generator was late, waited for both, and the device answers for its part.
    #[inline]
    pub fn but_for_the_device(&self, full: &Full, now: Instant, due: Instant) -> Instant {
        let held = full.behind(due).max(self.blocked.behind(due));
        // So early that at least a stop remains as own lag.
        due + held.min(now.since(due).saturating_sub(self.stopped.behind(due)))
    }

    /// The generator's own part of the lag of an operation that was wanted at `intended`, submitted in the step at `submitted`, handed
    /// over at `issued`, and would have gone out at `held` but for the device.
    #[inline(always)]
    pub fn own(&self, intended: Instant, held: Instant, submitted: Instant, issued: Instant) -> Span {
        // One before it in the same step may have blocked.
        let behind = Stretch { until: self.blocked.until.min(issued), ..self.blocked }.behind(submitted);
        issued.since(intended.max(held + behind)).min(issued.since(intended))
    }
}
