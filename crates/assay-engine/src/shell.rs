//! The few lines around a worker that know how time passes: real time, or a number that jumps to the next event.

use crate::payload::Payload;
use crate::rules::Step;
use crate::source::Source;
use crate::worker::Worker;
use assay_base::{Device, Instant, Span};
use assay_record::{CloseReason, Event, Frame};

/// What a real run needs from the machine it runs on.
pub trait Host {
    /// The current time.
    fn now(&self) -> Instant;

    /// The part of this period in which no thread of the program ran, if there was one: the program was stopped or
    /// frozen, which a thread within a call cannot distinguish from a call that blocks. Called at every step, so it
    /// must be cheap.
    fn stood_still(&self, from: Instant, to: Instant) -> Option<(Instant, Instant)>;

    /// Whether the run must end, and how. Called at every step, so it must be cheap.
    fn stop(&self) -> Option<Stop>;

    /// Called once, before what was written is read back, and may take long. The error says why nothing can be read
    /// back; the run ends with it.
    fn before_read_back(&self) -> Result<(), String> {
        Ok(())
    }
}

/// A request to end a run early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Issue nothing more, and wait for operations in flight.
    Drain(CloseReason),
    /// Wait for nothing.
    Now(CloseReason),
}

/// Receives what a worker recorded, and gives used frames back.
pub trait Sink {
    /// An interval has ended.
    fn frame(&mut self, frame: Frame);
    /// Something happened.
    fn event(&mut self, event: Event);
    /// A frame whose memory can be used again.
    fn spent(&mut self) -> Option<Frame>;
    /// The end of the phase that waits for a steady state, once it is decided. Called after each interval.
    fn phase_end(&mut self) -> Option<Instant> {
        None
    }
}

/// Waits end some microseconds later than requested; a wait that ended even later was disturbed.
const DISTURBED: Span = Span::from_us(100);

/// How a real run waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// How long a worker spins before an operation is due, instead of sleeping, because a sleep ends late.
    pub spin: Spin,
}

/// How long to spin before an operation is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spin {
    /// Always this long.
    Fixed(Span),
    /// As long as sleeps were found to end late, at most this long, and at most a quarter of all time: at rates whose
    /// gaps are all shorter than a sleep is late, a processor would otherwise spin all the time.
    Learned(Span),
    /// Never, and a sleep takes at least this long: operations that become due within that time after the first are
    /// issued after the same wake-up, and the wait counts as own lag. This costs least where a sleep ends late or is
    /// expensive.
    Together(Span),
}

/// Learns how late sleeps end: keeps an estimate of the quantile [`Sleeps::SHARE`] of all observed values, by a step up
/// after a larger value and a smaller step down otherwise (stochastic approximation of a quantile: Robbins and Monro,
/// "A stochastic approximation method", 1951).
#[derive(Debug)]
struct Sleeps {
    ns: i64,
    most: i64,
    learns: bool,
    /// The shortest sleep.
    together: Span,
    /// Time that may still be spent spinning, in nanoseconds.
    credit: i64,
    /// When the credit was last updated.
    counted: Instant,
}

impl Sleeps {
    /// This many of a hundred sleeps end within the estimate.
    const SHARE: i64 = 90;
    /// The step up after a larger value, in nanoseconds; the step down is smaller by the odds of the share.
    const UP: i64 = 900;
    const DOWN: i64 = Self::UP * (100 - Self::SHARE) / Self::SHARE;
    /// One of this many nanoseconds may be spent spinning.
    const OF: i64 = 4;
    /// Upper bound on the credit, in nanoseconds.
    const CREDIT: i64 = 1_000_000;

    fn new(spin: Spin, now: Instant) -> Sleeps {
        let (most, together) = match spin {
            Spin::Fixed(most) | Spin::Learned(most) => (most, Span::ZERO),
            Spin::Together(together) => (Span::ZERO, together),
        };
        let most = i64::try_from(most.as_ns()).unwrap_or(i64::MAX);
        let learns = matches!(spin, Spin::Learned(_));
        Sleeps { ns: if learns { most / 2 } else { most }, most, learns, together, credit: 0, counted: now }
    }

    /// How long before an operation is due a sleep must end.
    fn ahead(&self) -> Span {
        if self.learns && self.credit <= 0 { Span::ZERO } else { self.span() }
    }

    /// How long to sleep at `now` before something is due at `wake`; zero means not at all.
    fn sleep(&self, now: Instant, wake: Instant) -> Span {
        let sleep = wake.since(now).saturating_sub(self.ahead());
        if sleep.is_zero() { sleep } else { sleep.max(self.together) }
    }

    fn span(&self) -> Span {
        Span::from_ns(self.ns.unsigned_abs())
    }

    /// A sleep ended `late` after its time.
    fn learn(&mut self, late: Span) {
        if self.learns {
            let step = if late > self.span() { Self::UP } else { -Self::DOWN };
            self.ns = (self.ns + step).clamp(0, self.most);
        }
    }

    /// Counts the time up to `now`, which was `spun` or not.
    fn count(&mut self, now: Instant, spun: bool) {
        let passed = i64::try_from(now.since(self.counted).as_ns()).unwrap_or(i64::MAX / 2);
        let cost = if spun { passed } else { 0 };
        self.credit = (self.credit + passed / Self::OF - cost).clamp(-Self::CREDIT, Self::CREDIT);
        self.counted = now;
    }
}

/// Runs `worker` to its end in real time.
pub fn run_real<D: Device, S: Source<Request = D::Request>, P: Payload<D>>(
    worker: &mut Worker<D, S, P>,
    host: &impl Host,
    sink: &mut impl Sink,
    waiting: Waiting,
) {
    let mut lateness = Sleeps::new(waiting.spin, host.now());
    let mut idle = false;
    let mut last = host.now();
    let mut reads_back = false;
    loop {
        if worker.reads_back() && !reads_back {
            reads_back = true;
            let ready = host.before_read_back();
            worker.begin_read_back(host.now(), ready);
            last = host.now();
        }
        let now = host.now();
        if let Some((from, to)) = host.stood_still(last, now) {
            worker.stopped(from, to);
        }
        last = now;
        lateness.count(now, idle);
        match host.stop() {
            Some(Stop::Drain(reason)) => worker.stop(now, reason),
            Some(Stop::Now(reason)) => {
                worker.stop(now, reason);
                worker.abandon(now);
            }
            None => {}
        }
        let Step { wake, issued, done } = worker.step(now);
        // Failures are reported before anything else is done: a hand-over may hang, and if the program is killed then,
        // the log must have them.
        if worker.has_told() {
            worker.take_events().for_each(|event| sink.event(event));
        }
        let mut before = now;
        if issued {
            worker.send(host.now());
            before = host.now();
        }
        if worker.has_news() {
            hand_over(worker, sink, now);
            before = host.now();
        }
        if done {
            return;
        }
        let sleep = worker.patience(lateness.sleep(before, wake));
        idle = sleep.is_zero() && !issued;
        worker.watched(before);
        if !sleep.is_zero() {
            worker.wait(sleep);
            let (ended, after) = (before + sleep, host.now());
            // A wait that ends this late was disturbed at some time: it is not known whether the worker could look for
            // completions at all.
            worker.watched(if after.since(ended) > DISTURBED { before } else { ended.min(after) });
            // A wait that a completion ended shows nothing about lateness.
            if after >= ended {
                lateness.learn(after.since(ended));
            }
        }
    }
}

/// Runs `worker` to its end in virtual time, which jumps from event to event. The device must report when its next
/// completion is due. `stop` is called after each step, so it must be cheap: with a high load, an interval takes long.
pub fn run_virtual<D: Device, S: Source<Request = D::Request>, P: Payload<D>>(
    worker: &mut Worker<D, S, P>,
    start: Instant,
    sink: &mut impl Sink,
    stop: impl Fn() -> bool,
) {
    let mut now = start;
    loop {
        let Step { wake, done, .. } = worker.step(now);
        if worker.has_news() {
            hand_over(worker, sink, now);
        }
        if stop() {
            worker.stop(now, CloseReason::Interrupted);
        }
        if done {
            return;
        }
        // Issuing may have given the device a request that completes before the worker's own next event.
        now = wake.max(now);
        assert!(wake != Instant::FAR, "virtual time has somewhere to go");
    }
}

/// Passes what a worker has recorded to the sink, once per interval.
#[cold]
fn hand_over<D: Device, S: Source<Request = D::Request>, P: Payload<D>>(
    worker: &mut Worker<D, S, P>,
    sink: &mut impl Sink,
    now: Instant,
) {
    let mut any = false;
    for event in worker.take_events() {
        sink.event(event);
    }
    for frame in worker.take_frames() {
        sink.frame(frame);
        any = true;
    }
    while let Some(frame) = sink.spent() {
        worker.recycle(frame);
    }
    if let Some(at) = sink.phase_end().filter(|_| any) {
        worker.end_phase(now, at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn learns_how_late_most_sleeps_end() {
        let mut lateness = Sleeps::new(Spin::Learned(Span::from_us(50)), Instant::ZERO);
        let mut prng = assay_base::Prng::seeded(1);
        for _ in 0..100_000 {
            lateness.learn(Span::from_ns(prng.below(40_000)));
        }
        // Nine of ten values are below 36 µs.
        assert!((33_000..39_000).contains(&lateness.ns), "{lateness:?}");
        for _ in 0..100_000 {
            lateness.learn(Span::from_ms(1));
        }
        assert_eq!(lateness.span(), Span::from_us(50), "never more than allowed");
        for _ in 0..1_000_000 {
            lateness.learn(Span::ZERO);
        }
        assert_eq!(lateness.span(), Span::ZERO);
    }

    #[test]
    fn spins_a_quarter_of_the_time_at_most() {
        let mut lateness = Sleeps::new(Spin::Learned(Span::from_us(50)), Instant::ZERO);
        let mut spun = 0;
        for us in 1..=1_000_000 {
            let spins = !lateness.ahead().is_zero();
            spun += u64::from(spins);
            lateness.count(Instant::from_ns(us * 1000), spins);
        }
        assert!((200_000..=251_000).contains(&spun), "{spun} of a million");
    }

    #[test]
    fn a_sleep_is_long_enough_for_several_operations_or_it_is_none() {
        let lateness = Sleeps::new(Spin::Together(Span::from_us(20)), Instant::ZERO);
        let us = |us: u64| Instant::from_ns(us * 1000);
        for (wake, sleep) in [(100, 0), (99, 0), (101, 20), (120, 20), (150, 50)] {
            assert_eq!(lateness.sleep(us(100), us(wake)), Span::from_us(sleep), "{wake}");
        }
        let spins = Sleeps::new(Spin::Fixed(Span::from_us(20)), Instant::ZERO);
        assert_eq!(spins.sleep(us(100), us(119)), Span::ZERO);
    }

    #[test]
    fn what_was_asked_for_is_kept() {
        let mut lateness = Sleeps::new(Spin::Fixed(Span::from_us(7)), Instant::ZERO);
        lateness.learn(Span::from_ms(1));
        assert_eq!(lateness.span(), Span::from_us(7));
    }
}
