//! For how long a thread could not run although it had work: it had no processor, or the quota of its control group was
//! used up.
//!
//! The kernel counts that for each thread (second field of `/proc/thread-self/schedstat`). Reading it costs 1 µs, so it is
//! read at calls that took long, and otherwise only now and then, so that what it counted before such a call began is
//! hardly ever attributed to the call. Where the kernel does not count it, a long call in which the thread did not give up
//! its processor by itself was interrupted, and nothing else is known.

use crate::usage::voluntary_switches;
use assay_base::{Instant, Span};
use std::fs::File;
use std::os::unix::fs::FileExt;

/// A call that takes longer than this is looked at.
const LONG: Span = Span::from_us(50);
/// The counter is read at least this often, in time with calls.
const STALE: Span = Span::from_ms(2);

/// The counter of the calling thread.
#[derive(Debug)]
pub(crate) struct RunDelay {
    counter: Counter,
    last: u64,
    read_at: Instant,
}

#[derive(Debug)]
enum Counter {
    /// Nanoseconds in which the thread could not run.
    Delay(File),
    /// How often the thread gave up its processor by itself.
    Switches,
}

impl RunDelay {
    /// The counter of the calling thread, which alone may use it.
    pub(crate) fn of_this_thread(now: Instant) -> RunDelay {
        let file = File::open("/proc/thread-self/schedstat").ok().filter(|file| delay_ns(file).is_some());
        let counter = file.map_or(Counter::Switches, Counter::Delay);
        let last = counter.read_delay();
        RunDelay { counter, last, read_at: now }
    }

    /// A call begins soon: what was counted before does not belong to it.
    #[inline]
    pub(crate) fn begin_call(&mut self, now: Instant) {
        (self.last, self.read_at) = (self.counter.read_delay(), now);
    }

    /// How much of a call that lasted from `from` until now the thread could not run.
    #[inline]
    pub(crate) fn of_call(&mut self, from: Instant, now: Instant) -> Span {
        let took = now.since(from);
        if took > LONG || now.since(self.read_at) > STALE { self.read_rise(took, now) } else { Span::ZERO }
    }

    #[cold]
    fn read_rise(&mut self, took: Span, now: Instant) -> Span {
        let before = std::mem::replace(&mut self.last, self.counter.read_delay());
        self.read_at = now;
        if took <= LONG {
            return Span::ZERO;
        }
        match self.counter {
            Counter::Delay(_) => Span::from_ns(self.last.saturating_sub(before)).min(took),
            Counter::Switches if self.last == before => took.saturating_sub(LONG),
            Counter::Switches => Span::ZERO,
        }
    }
}

impl Counter {
    fn read_delay(&self) -> u64 {
        match self {
            Counter::Delay(file) => delay_ns(file).unwrap_or(0),
            Counter::Switches => voluntary_switches(),
        }
    }
}

fn delay_ns(file: &File) -> Option<u64> {
    let mut text = [0; 96];
    let len = file.read_at(&mut text, 0).ok()?;
    std::str::from_utf8(&text[..len]).ok()?.split(' ').nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;

    #[test]
    fn short_calls_are_not_looked_at_and_a_delay_is_never_longer_than_its_call() {
        let clock = Clock::start();
        let mut delay = RunDelay::of_this_thread(clock.now());
        let begin = clock.now();
        assert_eq!(delay.of_call(begin, begin + LONG), Span::ZERO);
        delay.last = 0;
        let end = begin + Span::from_us(60);
        assert!(delay.of_call(begin, end) <= Span::from_us(60));
    }

    /// Threads that all want the processors must wait for each other, and each of them knows for how long.
    #[test]
    fn a_thread_without_a_processor_knows_it() {
        let clock = Clock::start();
        let threads = 2 * std::thread::available_parallelism().map_or(1, usize::from) + 1;
        let waited = || {
            let mut delay = RunDelay::of_this_thread(clock.now());
            let begin = clock.now();
            let mut waited = Span::ZERO;
            while waited.is_zero() && clock.now().since(begin) < Span::from_secs(20) {
                let from = clock.now();
                while clock.now().since(from) < Span::from_ms(10) {
                    std::hint::spin_loop();
                }
                waited = delay.of_call(from, clock.now());
            }
            matches!(delay.counter, Counter::Switches) || !waited.is_zero()
        };
        std::thread::scope(|scope| {
            let all: Vec<_> = (0..threads).map(|_| scope.spawn(waited)).collect();
            assert!(all.into_iter().any(|thread| thread.join().unwrap()));
        });
    }

    #[test]
    fn without_the_kernels_counter_a_call_that_gave_up_nothing_was_interrupted() {
        let mut delay = RunDelay { counter: Counter::Switches, last: 0, read_at: Instant::ZERO };
        delay.last = voluntary_switches();
        let took = delay.of_call(Instant::ZERO, Instant::ZERO + Span::from_ms(1));
        // Another test may have made this thread wait: then nothing is certain.
        assert!(took == Span::from_us(950) || took.is_zero(), "{took}");
        delay.last = u64::MAX;
        assert_eq!(delay.of_call(Instant::ZERO, Instant::ZERO + Span::from_ms(1)), Span::ZERO);
    }
}
