//! The only file that reads a clock.
//!
//! All workers of a run share one [`Clock`], so their instants are on one time line and may be subtracted.
//!
//! The source is `CLOCK_MONOTONIC_RAW`: time-keeping daemons change the speed of `CLOCK_MONOTONIC` by up to 500 ppm
//! while they correct the wall clock, which would distort every measured time; the raw clock is the bare counter, and
//! both cost the same through the vDSO (24.3 ns each on Linux 6.18 with the TSC as clock source; the counter alone 9.6
//! ns). Kernels before 5.3 serve the raw clock only by a system call; this is measured at the start, and the plain
//! monotonic clock is used then. The wall clock is a label for people and is never subtracted.

use assay_base::{Instant, Span};
use rustix::thread::set_current_timer_slack;
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::num::NonZeroU64;
use std::time::SystemTime;

/// A running monotonic clock with its origin. Copies have the same time line.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    id: ClockId,
    origin_ns: u64,
}

/// The time line of a [`Clock`], by which another process of this machine can read the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeLine {
    /// Whether it is that of CLOCK_MONOTONIC_RAW; otherwise of CLOCK_MONOTONIC.
    pub is_raw: bool,
    /// What that clock showed at its origin, in nanoseconds.
    pub origin_ns: u64,
}

/// The machine's clocks, read together, in nanoseconds: labels and evidence, never the time of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Readings {
    /// This time line.
    pub at: Instant,
    /// CLOCK_MONOTONIC: does not advance while the machine sleeps.
    pub mono_ns: u64,
    /// CLOCK_BOOTTIME: also advances while the machine sleeps.
    pub boot_ns: u64,
    /// CLOCK_REALTIME, since 1970; 0 before.
    pub real_ns: u64,
}

/// Four readings take 0.2 µs; a set that takes longer than this was interrupted, and the readings are repeated a few
/// times.
const MOMENT: Span = Span::from_ms(1);
const READINGS: u32 = 10;
/// Number of readings per source when the sources are compared at the start; about 50 µs altogether.
const PROBES: u32 = 1000;

impl Clock {
    /// Starts a time line: its origin is now.
    pub fn start() -> Clock {
        let id = cheaper_clock(ClockId::MonotonicRaw, ClockId::Monotonic);
        Clock { id, origin_ns: read_clock(id) }
    }

    /// A clock on a time line that another process has begun.
    pub fn on_time_line(line: TimeLine) -> Clock {
        let id = if line.is_raw { ClockId::MonotonicRaw } else { ClockId::Monotonic };
        Clock { id, origin_ns: line.origin_ns }
    }

    /// Its time line, for another process.
    pub fn time_line(&self) -> TimeLine {
        TimeLine { is_raw: matches!(self.id, ClockId::MonotonicRaw), origin_ns: self.origin_ns }
    }

    /// The current time, in nanoseconds since the origin.
    #[inline]
    pub fn now(&self) -> Instant {
        Instant::from_ns(read_clock(self.id).saturating_sub(self.origin_ns))
    }

    /// The machine's clocks, read together. `None` when every attempt was interrupted.
    pub fn read_clocks(&self) -> Option<Readings> {
        let once = || {
            let at = self.now();
            let (mono_ns, boot_ns, real_ns) =
                (read_clock(ClockId::Monotonic), read_clock(ClockId::Boottime), read_clock(ClockId::Realtime));
            (self.now().since(at), Readings { at, mono_ns, boot_ns, real_ns })
        };
        let closest = (0..READINGS).map(|_| once()).find(|(took, _)| *took < MOMENT);
        closest.map(|(_, readings)| readings)
    }

    /// The kernel's name of the clock that is read, for the log.
    pub fn source_name(&self) -> &'static str {
        match self.id {
            ClockId::MonotonicRaw => "CLOCK_MONOTONIC_RAW",
            _ => "CLOCK_MONOTONIC",
        }
    }
}

/// The wall clock: a label for reports and file names.
#[allow(clippy::disallowed_methods)]
pub fn wall_time() -> SystemTime {
    SystemTime::now()
}

/// Lets the calling thread wake up at the time it asked for: by default the kernel adds up to 50 µs (the timer slack),
/// which would be lag of every operation that the thread sleeps for. If the kernel refuses, the default stays.
pub(crate) fn sharpen_sleeps() {
    let _ = set_current_timer_slack(NonZeroU64::new(1));
}

#[inline]
fn read_clock(id: ClockId) -> u64 {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(id);
    // Monotonic clocks count from the boot: neither part is negative, and 584 years fit.
    (tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(tv_nsec as u64)
}

/// `preferred`, unless reading it costs more than twice as much as `other`: then the vDSO does not serve it.
fn cheaper_clock(preferred: ClockId, other: ClockId) -> ClockId {
    let cost = |id| {
        let begin = read_clock(other);
        for _ in 0..PROBES {
            std::hint::black_box(read_clock(id));
        }
        read_clock(other).saturating_sub(begin)
    };
    cost(other); // the first readings fault the vDSO pages in
    // A preemption may disturb one measurement, but hardly all three.
    let measure = |id| (0..3).map(|_| cost(id)).min().unwrap_or(0);
    if measure(preferred) > 2 * measure(other) { other } else { preferred }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_on_the_time_line_of_another_one_shows_its_time() {
        let clock = Clock::start();
        let same = Clock::on_time_line(clock.time_line());
        let (before, between, after) = (clock.now(), same.now(), clock.now());
        assert!(before <= between && between <= after, "{before:?} {between:?} {after:?}");
        assert_eq!(same.source_name(), clock.source_name());
    }

    #[test]
    fn copies_share_one_time_line_that_never_goes_back() {
        let clock = Clock::start();
        let mut last = Instant::ZERO;
        for _ in 0..1000 {
            let here = clock.now();
            let there = std::thread::scope(|s| s.spawn(|| clock.now()).join()).unwrap();
            assert!(last <= here && here <= there);
            last = there;
        }
        assert!(last < Instant::from_ns(3_600_000_000_000), "the origin is the start, not the boot");
    }

    #[test]
    fn the_clocks_of_the_machine_go_on_together() {
        let clock = Clock::start();
        let first = clock.read_clocks().unwrap();
        let later =
            std::iter::repeat_with(|| clock.read_clocks()).flatten().find(|r| r.at.since(first.at) > MOMENT).unwrap();
        assert!(first.boot_ns >= first.mono_ns && later.mono_ns > first.mono_ns && later.boot_ns > first.boot_ns);
        let wall = wall_time().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
        assert!(wall.abs_diff(later.real_ns / 1_000_000_000) <= 60);
    }

    #[test]
    fn sleeps_are_sharpened_for_the_calling_thread() {
        std::thread::spawn(|| {
            sharpen_sleeps();
            assert_eq!(rustix::thread::current_timer_slack(), Ok(1));
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_source_answered_by_a_system_call_is_passed_over() {
        // The CPU-time clock of a process is never served by the vDSO.
        assert_eq!(cheaper_clock(ClockId::ProcessCPUTime, ClockId::Monotonic), ClockId::Monotonic);
        assert_eq!(Clock { id: ClockId::Monotonic, origin_ns: 0 }.source_name(), "CLOCK_MONOTONIC");
    }
}
