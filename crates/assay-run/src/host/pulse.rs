//! Detects that the whole program did not run for a while: it was stopped by a signal, frozen with its control group, or got no
//! processor.
//!
//! When a call of a worker returns late, the worker cannot tell whether the device blocked it or the program was not running:
//! the kernel reports a wait in both cases. A separate thread that never waits for a device can tell. It wakes every few
//! milliseconds; if it was late at the same time, the lateness is the generator's own.
//!
//! Where threads stamp completions themselves, nothing else tells how late a stamp is, so the pulse is finer then: a
//! control group with a quota is stopped for less than its period, which is usually 100 ms or less.

use assay_base::{Instant, Span};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::Thread;
use std::time::Duration;

/// A beat that comes later than this after the one before counts as late. Shorter gaps are ignored.
const LATE: Span = Span::from_ms(60);
/// The same where threads stamp completions themselves.
const LATE_IF_FINE: Span = Span::from_ms(12);
/// So many beats come within the time after which one is late.
const BEATS: u64 = 3;

/// The beats, in nanoseconds of the run's clock.
#[derive(Debug)]
pub(crate) struct Pulse {
    /// After how long a beat is late.
    late: AtomicU64,
    last: AtomicU64,
    /// The latest period without a beat.
    still_from: AtomicU64,
    still_to: AtomicU64,
    over: AtomicBool,
}

impl Default for Pulse {
    fn default() -> Pulse {
        Pulse {
            late: AtomicU64::new(LATE.as_ns()),
            last: AtomicU64::default(),
            still_from: AtomicU64::default(),
            still_to: AtomicU64::default(),
            over: AtomicBool::default(),
        }
    }
}

impl Pulse {
    /// Beats more often, for an engine whose threads stamp completions themselves.
    pub(crate) fn set_fine(&self) {
        self.late.store(LATE_IF_FINE.as_ns(), Ordering::Relaxed);
    }

    #[inline]
    fn latest_beat(&self) -> Span {
        Span::from_ns(self.late.load(Ordering::Relaxed))
    }

    /// Beats in the calling thread until the value returned by [`Pulse::until_dropped`] is dropped.
    pub(crate) fn beat_until_dropped(&self, now: impl Fn() -> Instant) {
        self.note_beat(now());
        while !self.over.load(Ordering::Relaxed) {
            std::thread::park_timeout(Duration::from_nanos(self.latest_beat().as_ns() / BEATS));
            self.note_beat(now());
        }
    }

    /// Ends the beating of `thread` when the returned value is dropped.
    pub(crate) fn until_dropped<'a>(&'a self, thread: &Thread) -> Beating<'a> {
        Beating { pulse: self, thread: thread.clone() }
    }

    fn note_beat(&self, now: Instant) {
        let last = self.last.load(Ordering::Relaxed);
        if last > 0 && now.as_ns().saturating_sub(last) > self.latest_beat().as_ns() {
            self.still_from.store(last, Ordering::Relaxed);
            self.still_to.store(now.as_ns(), Ordering::Relaxed);
        }
        // A thread that sees this beat also sees the period before it.
        self.last.store(now.as_ns(), Ordering::Release);
    }

    /// The part of the time from `from` to `to` in which a beat was due and did not come.
    #[inline]
    pub(crate) fn stood_still(&self, from: Instant, to: Instant) -> Option<(Instant, Instant)> {
        if to.since(from) <= self.latest_beat() { None } else { self.still_within(from, to) }
    }

    #[cold]
    fn still_within(&self, from: Instant, to: Instant) -> Option<(Instant, Instant)> {
        let last = Instant::from_ns(self.last.load(Ordering::Acquire));
        let known = [&self.still_from, &self.still_to].map(|ns| Instant::from_ns(ns.load(Ordering::Relaxed)));
        // This thread woke before the beating thread: the next beat has not come yet.
        let open = [last, if to.since(last) > self.latest_beat() { to } else { last }];
        let within = [known, open].map(|[begin, end]| (begin.max(from), end.min(to)));
        let longest = within.into_iter().max_by_key(|(begin, end)| end.since(*begin))?;
        (longest.0 < longest.1).then_some(longest)
    }
}

/// A thread that beats.
#[derive(Debug)]
pub(crate) struct Beating<'a> {
    pulse: &'a Pulse,
    thread: Thread,
}

impl Drop for Beating<'_> {
    fn drop(&mut self) {
        self.pulse.over.store(true, Ordering::Relaxed);
        self.thread.unpark();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_ns(ms * 1_000_000)
    }

    fn beating(until_ms: u64) -> Pulse {
        let pulse = Pulse::default();
        (20..=until_ms).step_by(20).for_each(|ms| pulse.note_beat(at(ms)));
        pulse
    }

    #[test]
    fn a_device_that_blocks_leaves_the_beat_alone() {
        let pulse = beating(3000);
        assert_eq!(pulse.stood_still(at(1000), at(3010)), None);
    }

    #[test]
    fn a_stop_is_seen_whoever_wakes_first() {
        // Stopped from 1,005 to 3,000 ms, within a call that began at 1,001.
        let pulse = beating(1000);
        let stop = Some((at(1001), at(3000)));
        assert_eq!(pulse.stood_still(at(1001), at(3000)), stop, "the worker first");
        pulse.note_beat(at(3001));
        assert_eq!(pulse.stood_still(at(1001), at(3000)), stop, "the beat first");
        (3020..=9000).step_by(20).for_each(|ms| pulse.note_beat(at(ms)));
        assert_eq!(pulse.stood_still(at(1001), at(3000)), stop, "and later");
        assert_eq!(pulse.stood_still(at(4000), at(8000)), None, "a later call has nothing to do with it");
        assert_eq!(pulse.stood_still(at(2900), at(4000)), Some((at(2900), at(3001))), "only what lies within");
    }

    #[test]
    fn short_calls_are_not_looked_at() {
        assert_eq!(beating(1000).stood_still(at(5000), at(5050)), None);
    }

    #[test]
    fn a_finer_pulse_sees_shorter_stops() {
        let stop = |fine: bool| {
            let pulse = Pulse::default();
            if fine {
                pulse.set_fine();
            }
            (4..=1000).step_by(4).for_each(|ms| pulse.note_beat(at(ms)));
            pulse.note_beat(at(1038));
            pulse.stood_still(at(1001), at(1037))
        };
        assert_eq!(stop(false), None);
        assert_eq!(stop(true), Some((at(1001), at(1037))));
    }

    #[test]
    fn it_beats_until_it_is_ended() {
        let pulse = Pulse::default();
        let clock = assay_device::clock::Clock::start();
        std::thread::scope(|scope| {
            let beating = scope.spawn(|| pulse.beat_until_dropped(|| clock.now()));
            let first = pulse.last.load(Ordering::Acquire);
            while pulse.last.load(Ordering::Acquire) == first {
                std::thread::yield_now();
            }
            drop(pulse.until_dropped(beating.thread()));
        });
    }
}
