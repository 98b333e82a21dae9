//! Who caused a lag: the time for which an operation waited while the queue was full, or while a hand-over blocked, is the
//! device's; the rest of `issued − intended` is the generator's own. `docs/decisions/0005-whose-lag.md` and
//! `0075-closed-loops-obey-littles-law.md` have the reasons.

use crate::stretches::Stretches;
use assay_base::{Completion, HandOver, Instant, Span};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A period in which the queue of a target was full.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    from: Instant,
    until: Instant,
}

impl Stretch {
    /// The part of it during which an operation that was due at `due` waited.
    #[inline]
    fn behind(&self, due: Instant) -> Span {
        self.until.since(self.from.max(due))
    }

    /// The beginning of a period that an operation due at `due` begins `now`: if the operation also waited during this
    /// period, the two are joined, without the time between them.
    #[inline]
    fn going_on(&self, due: Instant, now: Instant) -> Instant {
        if due < self.until { self.from + now.since(self.until) } else { now }
    }
}

/// When the queue of one target was full.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Full {
    /// When all slots were last taken; while they are, its end is not known.
    stretch: Stretch,
    /// When the worker found that they no longer were, and when the last operation that it found then had completed.
    seen: Instant,
    busy_until: Instant,
}

impl Full {
    /// A queue that was never full, for a run that begins at `start`.
    pub(crate) fn new(start: Instant) -> Full {
        Full { stretch: Stretch { from: start, until: start }, seen: start, busy_until: start }
    }

    /// How long an operation due at `due` waited for a slot.
    #[inline]
    pub(crate) fn behind(&self, due: Instant) -> Span {
        self.stretch.behind(due)
    }

    /// The last slot was taken `now` by an operation due at `due`, for which hand-overs had blocked for `blocked`.
    #[inline]
    pub(crate) fn begins(&mut self, now: Instant, due: Instant, blocked: Span) {
        let blocked = now.as_ns().saturating_sub(blocked.as_ns());
        self.stretch.from = self.stretch.going_on(due, now).min(Instant::from_ns(blocked));
    }

    /// All slots are still taken `now`.
    pub(crate) fn goes_on(&mut self, now: Instant) {
        self.stretch.until = now;
    }

    /// One of the slots was found free `now`; its operation had completed at `completed`. It is the first free slot of
    /// a full queue, or the last one of all. True when it is one of several that were found together in a full queue.
    #[inline(always)]
    pub(crate) fn freed(&mut self, now: Instant, completed: Instant, was_full: bool, all_free: bool) -> bool {
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
    pub(crate) fn stopped(&mut self, from: Instant, until: Instant) {
        self.stopped.add(from, until);
        self.blocked.remove(from, until);
    }

    /// The part of a time in which hand-overs blocked.
    #[inline(always)]
    pub(crate) fn blocked_within(&self, from: Instant, to: Instant) -> Span {
        self.blocked.within(from, to)
    }

    /// What of a hand-over was not the device's, because the thread could not run.
    #[inline(always)]
    fn interrupted(&self, completion: &Completion) -> Span {
        let Completion { issued, accepted, .. } = *completion;
        let took = accepted.since(issued);
        match took > LONG && self.reports {
            true => took.saturating_sub(self.blocked.within(issued, accepted)),
            false => Span::ZERO,
        }
    }

    /// The time at which an operation due at `due` and issued `now` would have been issued if the device had never
    /// blocked. `full` says when the queue was full. Before the queue was full or submitting blocked, the operation
    /// waited for the generator. Where the queue became full only because the generator was late, the operation waited
    /// for both, and only the device's part of that wait counts as the device's.
    #[inline]
    pub(crate) fn but_for_the_device(&self, full: &Full, now: Instant, due: Instant) -> Instant {
        self.but_for(full.behind(due).max(self.blocked.within(due, now)), now, due)
    }

    /// The same for an operation that waits for no slot: its own slot became free when it was due.
    #[inline(always)]
    pub(crate) fn but_for_hand_overs(&self, now: Instant, due: Instant) -> Instant {
        let blocked = self.blocked.within(due, now);
        if blocked.is_zero() { due } else { self.but_for(blocked, now, due) }
    }

    /// Early enough that at least the time in which the program was stopped remains as own lag.
    #[inline]
    fn but_for(&self, held: Span, now: Instant, due: Instant) -> Instant {
        due + held.min(now.since(due).saturating_sub(self.stopped.within(due, now)))
    }

    /// The generator's own part of the lag of an operation that was intended at `intended`, submitted in the step at
    /// `submitted` and issued at `issued`; `held` is its issue time if the device had never blocked.
    #[inline(always)]
    pub(crate) fn own(&self, intended: Instant, held: Instant, submitted: Instant, issued: Instant) -> OwnLag {
        let waited = issued.since(submitted);
        // An earlier operation of the same step may have blocked.
        let behind = if waited > LOOKED_AT { self.blocked.within(submitted, issued) } else { Span::ZERO };
        let own = issued.since(intended.max(held + behind)).min(issued.since(intended));
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
    pub(crate) fn steps(&mut self, now: Instant, idle: bool) {
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
    pub(crate) fn handed(&self, own: Span) -> Span {
        self.handed.max(own)
    }

    /// The worker looks for completions until `until`, whatever happens.
    #[inline]
    pub(crate) fn until(&mut self, until: Instant) {
        self.watched = until;
    }

    /// Nobody looked for completions after `from`.
    pub(crate) fn not_since(&mut self, from: Instant) {
        self.watched = self.watched.min(from);
    }

    /// How long a completion may have waited to be found, if it is stamped when it is found.
    #[inline(always)]
    pub(crate) fn slack(&self, completion: &Completion, held: &HeldBack) -> Span {
        let from = self.watched.max(completion.accepted);
        // Time in a hand-over that blocked is the device's.
        let unwatched =
            completion.completed.since(from).saturating_sub(held.blocked.within(from, completion.completed));
        unwatched + held.interrupted(completion)
    }
}

/// How much earlier an operation may have completed than the thread says that carried it: it can be late only while the
/// whole program stood still, or while that thread was `kept` from running.
#[inline(always)]
pub(crate) fn late_stamp(completion: &Completion, kept: Span, held: &HeldBack) -> Span {
    let Completion { accepted, completed, .. } = *completion;
    (held.stopped.within(accepted, completed) + kept).min(completed.since(accepted))
}

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
    pub(crate) fn begins(&mut self, now: Instant, waited: bool, peers: Span) {
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
    pub(crate) fn rest(&self, now: Instant, due: Instant) -> Option<Rest> {
        let given = now.since(due.max(self.empty_from));
        let (empty, gap) = (now.since(self.empty_from), due.since(self.last_due));
        (!given.is_zero()).then_some(Rest { empty, given, gap })
    }

    /// An operation of a schedule that was due at `due` is issued, `own` later than possible, after it `waited` for a
    /// slot. Returns its shift.
    #[inline]
    pub(crate) fn issues(&mut self, due: Instant, own: Span, waited: bool) -> Span {
        self.last_due = due;
        let shift = if waited { own + self.inherited } else { own };
        self.worst = self.worst.max(shift);
        shift
    }

    /// What an operation that was submitted at `submitted` passes on to those that wait for its slot, when its
    /// completion may have waited `slack` to be found. `peers` as above.
    #[cold]
    pub(crate) fn leaves(&mut self, now: Instant, submitted: Instant, slack: Span, peers: Span) {
        self.worst = self.worst.max(peers);
        if submitted >= self.began {
            (self.before, self.began) = (self.worst, now);
        }
        self.inherited = self.inherited.max(self.before + slack);
    }

    /// The largest shift of the operations in flight, and of those that were in flight together with them; `peers` as
    /// above.
    #[inline(always)]
    pub(crate) fn worst(&self, peers: Span) -> Span {
        self.worst.max(peers)
    }

    /// The largest shift since this was last called, while the largest of other workers is `peers`.
    pub(crate) fn take_peak(&mut self, peers: Span) -> Span {
        let worst = self.worst.max(peers);
        std::mem::replace(&mut self.peak, worst).max(worst)
    }

    /// Nothing is in flight any more: the last operation completed at most `slack` before it was found.
    #[inline]
    pub(crate) fn ends(&mut self, completed: Instant, slack: Span) {
        self.empty_from = Instant::from_ns(completed.as_ns().saturating_sub(slack.as_ns()));
    }

    /// A completion found `now` may have waited for `span`: the part of that which must be counted, once for all
    /// completions found together.
    #[inline]
    pub(crate) fn oversleeps(&mut self, now: Instant, span: Span) -> bool {
        let first = span >= OVERSLEPT && self.overslept != now;
        if first {
            self.overslept = now;
        }
        first
    }
}

/// What workers with the same targets must know about each other: for each target, how many of them have operations in
/// flight there, and the largest shift of any operation since none had.
#[derive(Debug)]
pub struct Peers(Box<[AtomicU64]>);

/// One worker in the count of a [`Peers`] word; the bits below hold the shift in nanoseconds, up to three days.
const ONE: u64 = 1 << 48;

impl Peers {
    /// Nothing in flight on any of `targets` targets.
    pub fn new(targets: u16) -> Arc<Peers> {
        Arc::new(Peers((0..targets).map(|_| AtomicU64::new(0)).collect()))
    }

    /// A worker begins to have operations in flight; returns the largest shift of the others.
    pub(crate) fn enter(&self, target: usize) -> Span {
        let enter = |word: u64| Some(if word < ONE { ONE } else { word + ONE });
        let before = self.0[target].fetch_update(Ordering::AcqRel, Ordering::Acquire, enter).unwrap_or(0);
        // A shift left over from a time before everybody left does not count.
        if before / ONE == 0 { Span::ZERO } else { Span::from_ns(before % ONE) }
    }

    /// A worker has nothing in flight any more.
    pub(crate) fn leave(&self, target: usize) {
        self.0[target].fetch_sub(ONE, Ordering::AcqRel);
    }

    /// An operation of a worker that has entered is shifted by `shift`.
    pub(crate) fn tell(&self, target: usize, shift: Span) {
        let longest = |word: u64| {
            let shift = shift.as_ns().min(ONE - 1);
            (shift > word % ONE).then_some(word / ONE * ONE + shift)
        };
        let _ = self.0[target].fetch_update(Ordering::AcqRel, Ordering::Acquire, longest);
    }

    /// The largest shift of any worker.
    #[inline]
    pub(crate) fn worst(&self, target: usize) -> Span {
        Span::from_ns(self.0[target].load(Ordering::Acquire) % ONE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_base::Ticket;

    fn at(us: u64) -> Instant {
        Instant::from_ns(us * 1000)
    }

    fn us(us: u64) -> Span {
        Span::from_us(us)
    }

    fn completion(accepted: u64, completed: u64) -> Completion {
        let (issued, accepted, completed) = (at(accepted), at(accepted), at(completed));
        Completion { ticket: Ticket(0), result: Ok(1), issued, accepted, completed }
    }

    #[test]
    fn stretches_that_one_waited_through_are_one_without_what_lay_between() {
        let stretch = Stretch { from: at(10), until: at(30) };
        assert_eq!((stretch.behind(at(5)), stretch.behind(at(22)), stretch.behind(at(31))), (us(20), us(8), us(0)));
        assert_eq!(stretch.going_on(at(29), at(50)), at(30), "the first stretch ended 20 µs before the second begins");
        assert_eq!(stretch.going_on(at(30), at(50)), at(50), "due when it was over: another stretch");
    }

    #[test]
    fn a_queue_that_was_full_held_back_until_it_was_found_free() {
        let mut full = Full::new(at(0));
        full.begins(at(10), at(10), us(0));
        assert!(full.freed(at(50), at(40), true, false), "the first that was found of a full queue");
        assert_eq!(full.behind(at(20)), us(30), "others were still busy when it was found");
        assert!(full.freed(at(50), at(45), false, true), "found with it, and the last of all");
        assert_eq!(full.behind(at(20)), us(25), "the device was done before anybody looked");
        assert!(!full.freed(at(60), at(58), false, true), "of a queue that was not full");
        assert_eq!(full.behind(at(20)), us(25));
    }

    /// What held back, when hand-overs blocked in these periods.
    fn blocked(periods: &[(u64, u64)]) -> HeldBack {
        let mut held = HeldBack::default();
        let mut found = periods.iter().map(|(from, until)| HandOver { from: at(*from), until: at(*until) }).collect();
        held.add_hand_overs(&mut found);
        held
    }

    #[test]
    fn a_hand_over_that_blocks_excuses_what_it_held_up_so_far() {
        let held = blocked(&[(10, 50)]);
        let own = |issued| held.own(at(5), at(5), at(10), at(issued)).own;
        assert_eq!(own(30), us(5), "handed over within it: it had blocked for 20 µs");
        assert_eq!(own(60), us(15), "and after it: for 40");
        let after = OwnLag { own: us(65), handing_over: us(10) };
        assert_eq!(held.own(at(5), at(5), at(60), at(70)), after, "submitted after it: it held up nothing");
    }

    /// Each of several hand-overs held up what was due before it: sixteen operations go with each of them.
    #[test]
    fn hand_overs_one_after_the_other_hold_up_what_waits_behind_them() {
        let mut held = blocked(&[(100, 1000), (1010, 2000), (2005, 3000)]);
        assert_eq!(held.but_for_hand_overs(at(3010), at(90)), at(90 + 2885));
        assert_eq!(held.own(at(90), at(90 + 2885), at(3010), at(3011)).own, us(36), "what lay between them is ours");
        assert_eq!(held.own(at(90), at(90), at(95), at(2003)).own, us(23), "and within one step");
        held.stopped(at(1500), at(2500));
        assert_eq!(held.but_for_hand_overs(at(3010), at(90)), at(90 + 900 + 490 + 500), "a stop is no hand-over");
    }

    #[test]
    fn slack_is_what_lies_between_looking_and_finding() {
        let mut held = HeldBack::default();
        let mut watch = Watch::new(at(0));
        watch.until(at(100));
        let slack =
            |watch: &Watch, held: &HeldBack, accepted, completed| watch.slack(&completion(accepted, completed), held);
        assert_eq!(slack(&watch, &held, 10, 90), us(0), "while it looked");
        assert_eq!(slack(&watch, &held, 10, 130), us(30));
        assert_eq!(slack(&watch, &held, 120, 130), us(10), "handed over later than that");
        held.add_hand_overs(&mut vec![HandOver { from: at(105), until: at(125) }]);
        assert_eq!(slack(&watch, &held, 10, 130), us(10), "what a hand-over took is the device's");
        assert_eq!(slack(&watch, &held, 10, 115), us(5), "as far as it had come");
        watch.not_since(at(50));
        assert_eq!(slack(&watch, &HeldBack::default(), 10, 130), us(80));
        watch.not_since(at(60));
        assert_eq!(slack(&watch, &HeldBack::default(), 10, 130), us(80), "not later than it was");
    }

    /// A thread that stamps its completion itself can be late while nothing runs, or while it has no processor.
    #[test]
    fn a_stamp_is_late_by_what_kept_its_thread() {
        let mut held = HeldBack::default();
        let late =
            |held: &HeldBack, accepted, completed, kept| late_stamp(&completion(accepted, completed), us(kept), held);
        assert_eq!(late(&held, 10, 130, 0), us(0), "the completion knows its time");
        assert_eq!(late(&held, 10, 130, 20), us(20));
        held.stopped(at(50), at(60));
        held.stopped(at(100), at(120));
        assert_eq!(late(&held, 10, 130, 0), us(30), "of each stop that it saw");
        assert_eq!(late(&held, 55, 110, 10), us(25));
        assert_eq!(late(&held, 105, 110, 50), us(5), "and no more than it took");
        assert_eq!(late(&held, 60, 90, 0), us(0));
    }

    /// A hand-over during which the thread had no processor, or the program was stopped, took longer than it blocked.
    #[test]
    fn what_a_hand_over_did_not_block_is_not_the_devices() {
        let took = |issued: u64, accepted: u64| Completion { issued: at(issued), ..completion(accepted, 500) };
        let mut watch = Watch::new(at(0));
        watch.until(at(500));
        let mut held = blocked(&[(10, 110)]);
        assert_eq!(watch.slack(&took(10, 110), &held), us(0));
        assert_eq!(watch.slack(&took(10, 200), &held), us(90), "its thread was kept from running");
        held.stopped(at(40), at(70));
        assert_eq!(watch.slack(&took(10, 110), &held), us(30), "or nothing ran");
        assert_eq!(watch.slack(&took(10, 59), &held), us(0), "a short one is not looked at");
        assert_eq!(watch.slack(&took(10, 200), &HeldBack::default()), us(0), "nor one of a device that reports none");
    }

    #[test]
    fn the_longest_hand_over_counts_until_nothing_is_in_flight() {
        let mut watch = Watch::new(at(0));
        let held = blocked(&[(31, 37)]);
        watch.steps(at(10), true);
        watch.hands_over(at(17), &held);
        watch.steps(at(20), false);
        watch.hands_over(at(21), &held);
        assert_eq!(watch.handed(us(3)), us(7));
        assert_eq!(watch.handed(us(10)), us(10), "its own was longer");
        watch.steps(at(30), false);
        watch.hands_over(at(40), &held);
        assert_eq!(watch.handed(us(3)), us(7), "but for what the device kept waiting");
        watch.handed_over_after(us(9));
        assert_eq!(watch.handed(us(3)), us(9), "that of another thread too");
        watch.steps(at(40), true);
        assert_eq!(watch.handed(us(1)), us(1));
    }

    #[test]
    fn the_largest_shift_counts_until_the_target_is_empty() {
        let mut shift = Shift::new(at(0));
        shift.begins(at(130), false, us(0));
        shift.issues(at(100), us(30), false);
        shift.issues(at(135), us(5), false);
        assert_eq!(shift.worst(us(0)), us(30), "the largest");
        assert_eq!(shift.worst(us(50)), us(50), "or that of others");
        shift.ends(at(160), us(10));
        assert_eq!(shift.rest(at(200), at(190)), Some(Rest { empty: us(50), given: us(10), gap: us(55) }));
        assert_eq!(shift.rest(at(200), at(140)), Some(Rest { empty: us(50), given: us(50), gap: us(5) }));
        assert_eq!(shift.rest(at(200), at(200)), None, "punctual");
        shift.begins(at(200), false, us(0));
        shift.issues(at(200), us(0), false);
        assert_eq!(shift.worst(us(0)), us(0));
        assert_eq!((shift.take_peak(us(0)), shift.take_peak(us(0))), (us(30), us(0)));
        assert_eq!(shift.take_peak(us(7)), us(7));
    }

    #[test]
    fn who_waits_for_a_slot_inherits_what_had_it_once_for_each_turn() {
        let mut shift = Shift::new(at(0));
        shift.begins(at(10), false, us(0));
        shift.issues(at(0), us(10), false);
        // Both were issued before the first generation began, and found 4 µs late.
        for submitted in [9, 9] {
            shift.leaves(at(100), at(submitted), us(4), us(0));
        }
        assert_eq!(shift.issues(at(50), us(1), true), us(5), "nothing of before was shifted");
        shift.leaves(at(200), at(100), us(4), us(0));
        assert_eq!(shift.issues(at(60), us(1), true), us(15), "the largest of the generation, found late, and its own");
        shift.leaves(at(200), at(100), us(4), us(0));
        assert_eq!(shift.issues(at(60), us(1), true), us(15), "not once for each");
        shift.leaves(at(300), at(200), us(4), us(40));
        assert_eq!(shift.issues(at(60), us(0), true), us(44), "those of others too");
        assert_eq!(shift.worst(us(0)), us(44));
        shift.begins(at(400), true, us(0));
        assert_eq!(shift.worst(us(0)), us(44), "what waits for a slot keeps it, though the target is empty");
        shift.begins(at(400), false, us(3));
        assert_eq!(shift.worst(us(0)), us(3));
    }

    #[test]
    fn oversleeping_counts_once_for_all_that_are_found_together() {
        let mut shift = Shift::new(at(0));
        assert!(!shift.oversleeps(at(5000), us(999)));
        assert!(shift.oversleeps(at(5000), us(1000)));
        assert!(!shift.oversleeps(at(5000), us(3000)));
        assert!(shift.oversleeps(at(9000), us(1000)));
    }

    #[test]
    fn workers_know_the_largest_shift_while_any_of_them_has_something_in_flight() {
        let peers = Peers::new(2);
        assert_eq!(peers.enter(0), us(0));
        peers.tell(0, us(30));
        peers.tell(0, us(20));
        assert_eq!((peers.enter(0), peers.worst(0), peers.worst(1)), (us(30), us(30), us(0)));
        peers.leave(0);
        assert_eq!(peers.enter(0), us(30), "one of them still has");
        peers.leave(0);
        peers.leave(0);
        assert_eq!((peers.enter(0), peers.worst(0)), (us(0), us(0)));
    }

    #[test]
    fn workers_are_counted_whatever_their_shifts_are() {
        let peers = Peers::new(1);
        peers.enter(0);
        peers.enter(0);
        peers.leave(0);
        peers.tell(0, us(30));
        assert_eq!(peers.enter(0), us(30), "one of two is still there");
        // A shift of days is limited to the largest that fits, and does not change the number of workers.
        peers.tell(0, Span::from_ns(ONE * 2));
        assert_eq!(peers.worst(0), Span::from_ns(ONE - 1));
        peers.leave(0);
        peers.leave(0);
        assert_eq!(peers.enter(0), us(0), "all had left");
    }
}
