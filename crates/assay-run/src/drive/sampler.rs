//! Reads the counters of disks at the ends of intervals, in a thread of its own: the thread that writes the log may wait
//! for the very disk that somebody else uses.

use assay_base::{Instant, Span};
use assay_device::probe::{DiskStat, disk_stat};
use assay_device::safety::{DevNum, Roots};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::Thread;
use std::time::Duration;

/// Readings that nobody has taken are kept up to this number: those of an hour at an interval of a second.
const MOST: usize = 3600;

/// The counters of disks at a moment.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reading {
    /// When it was read.
    pub(super) at: Instant,
    /// One for each disk; `None` where the kernel has no counters for it.
    pub(super) disks: Vec<Option<DiskStat>>,
}

/// Reads disks until it is ended.
#[derive(Debug)]
pub(super) struct Sampler {
    roots: Roots,
    devices: Vec<DevNum>,
    interval: Span,
    /// The end of an interval, from which the ends of the others follow; nanoseconds of the run's clock.
    anchor: AtomicU64,
    readings: Mutex<VecDeque<Reading>>,
    over: AtomicBool,
}

impl Sampler {
    /// A sampler of these disks, for intervals of this length.
    pub(super) fn new(devices: Vec<DevNum>, interval: Span) -> Sampler {
        Sampler {
            roots: Roots::of_machine(),
            devices,
            interval,
            anchor: AtomicU64::new(0),
            readings: Mutex::default(),
            over: AtomicBool::new(false),
        }
    }

    /// Whether there is nothing to read.
    pub(super) fn is_empty(&self) -> bool {
        self.devices.is_empty()
    }

    /// Tells when an interval begins or ends.
    pub(super) fn align_intervals(&self, at: Instant) {
        self.anchor.store(at.as_ns(), Ordering::Relaxed);
    }

    /// Reads at the end of each interval, in the calling thread, until the value returned by [`Sampler::until_dropped`] is
    /// dropped.
    pub(super) fn sample_until_dropped(&self, now: impl Fn() -> Instant) {
        let mut next = self.end_after(now());
        while !self.over.load(Ordering::Relaxed) {
            let wait = next.since(now());
            if !wait.is_zero() {
                std::thread::park_timeout(Duration::from_nanos(wait.as_ns()));
                continue;
            }
            self.store_reading(self.read_disks(&now));
            next = self.end_after(now());
        }
    }

    /// Ends the reading of `thread` when the returned value is dropped.
    pub(super) fn until_dropped<'a>(&'a self, thread: &Thread) -> Sampling<'a> {
        Sampling { sampler: self, thread: thread.clone() }
    }

    /// Reads all disks now.
    pub(super) fn read_disks(&self, now: impl Fn() -> Instant) -> Reading {
        let disks = self.devices.iter().map(|device| disk_stat(&self.roots, *device)).collect();
        // After the counters, which hold nothing that completed later.
        Reading { at: now(), disks }
    }

    /// The first reading at or after `end`; one made now where there is none yet. Earlier readings are forgotten.
    pub(super) fn reading_after(&self, end: Instant, now: impl Fn() -> Instant) -> Reading {
        let mut readings = self.lock_readings();
        let earlier = readings.iter().take_while(|reading| reading.at < end).count();
        readings.drain(..earlier);
        readings.front().cloned().unwrap_or_else(|| self.read_disks(now))
    }

    /// When the interval ends that is open at `now`.
    fn end_after(&self, now: Instant) -> Instant {
        let (anchor, interval) = (self.anchor.load(Ordering::Relaxed), self.interval.as_ns().max(1));
        let passed = now.as_ns().saturating_sub(anchor) / interval;
        let begun = if now.as_ns() < anchor { 0 } else { passed + 1 };
        Instant::from_ns(anchor.saturating_add(begun.saturating_mul(interval)))
    }

    fn store_reading(&self, reading: Reading) {
        let mut readings = self.lock_readings();
        if readings.len() >= MOST {
            readings.pop_front();
        }
        readings.push_back(reading);
    }

    fn lock_readings(&self) -> MutexGuard<'_, VecDeque<Reading>> {
        self.readings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A thread that reads.
#[derive(Debug)]
pub(super) struct Sampling<'a> {
    sampler: &'a Sampler,
    thread: Thread,
}

impl Drop for Sampling<'_> {
    fn drop(&mut self) {
        self.sampler.over.store(true, Ordering::Relaxed);
        self.thread.unpark();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_ns(ms * 1_000_000)
    }

    fn sampler() -> Sampler {
        Sampler::new(Vec::new(), Span::from_ms(1000))
    }

    #[test]
    fn intervals_end_at_multiples_from_the_last_one_that_is_known() {
        let sampler = sampler();
        sampler.align_intervals(at(500));
        for (now, end) in [(0, 500), (499, 500), (500, 1500), (1499, 1500), (1500, 2500), (9000, 9500)] {
            assert_eq!(sampler.end_after(at(now)), at(end), "{now}");
        }
        sampler.align_intervals(at(9250));
        assert_eq!(sampler.end_after(at(9300)), at(10_250));
    }

    #[test]
    fn an_interval_gets_the_first_reading_after_its_end() {
        let sampler = sampler();
        let reading = |ms| Reading { at: at(ms), disks: Vec::new() };
        [1001, 2003, 3000].into_iter().for_each(|ms| sampler.store_reading(reading(ms)));
        let taken = |end, now| sampler.reading_after(at(end), || at(now)).at;
        assert_eq!(taken(1000, 3500), at(1001));
        assert_eq!(taken(1000, 3500), at(1001), "two intervals may end between two readings");
        assert_eq!((taken(2000, 3500), taken(3000, 3500)), (at(2003), at(3000)));
        assert_eq!(taken(3400, 3500), at(3500), "nobody has read since");
        (0..2 * MOST as u64).for_each(|ms| sampler.store_reading(reading(ms)));
        assert_eq!(sampler.lock_readings().len(), MOST);
    }

    #[test]
    fn it_reads_at_the_end_of_each_interval_until_it_is_ended() {
        let clock = assay_device::clock::Clock::start();
        let sampler = Sampler::new(Vec::new(), Span::from_ms(5));
        std::thread::scope(|scope| {
            let reading = scope.spawn(|| sampler.sample_until_dropped(|| clock.now()));
            let reading = sampler.until_dropped(reading.thread());
            while sampler.lock_readings().len() < 3 {
                std::thread::yield_now();
            }
            drop(reading);
        });
        let readings = sampler.lock_readings();
        let ends: Vec<u64> = readings.iter().map(|reading| reading.at.as_ns() / 5_000_000).collect();
        assert!(ends[0] > 0 && ends.is_sorted_by(|one, next| one < next), "one for each: {ends:?}");
    }
}
