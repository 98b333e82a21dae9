//! The few lines around a worker that know how time passes: really, or as a number that jumps to the next event.

use crate::worker::{Step, Worker};
use assay_base::{Device, Instant, Span};
use assay_record::{CloseReason, Event, Frame};

/// What a real run asks of the machine it runs on.
pub trait Host {
    /// The present.
    fn now(&self) -> Instant;

    /// How often this thread gave up its processor of its own accord. A submit that blocks in the device does; one that is
    /// merely not scheduled does not.
    fn voluntary_switches(&self) -> u64;

    /// Whether the run is to end, and how: asked at every step, so it must be cheap.
    fn stop(&self) -> Option<Stop>;
}

/// A request to end a run early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Issue nothing more, wait for what is in flight.
    Drain(CloseReason),
    /// Wait for nothing.
    Now(CloseReason),
}

/// Takes what a worker recorded, and gives spent frames back.
pub trait Sink {
    /// An interval has ended.
    fn frame(&mut self, frame: Frame);
    /// Something happened.
    fn event(&mut self, event: Event);
    /// A frame whose memory can be used again.
    fn spent(&mut self) -> Option<Frame>;
}

/// A hand-over that takes longer is looked at: did it block?
const BLOCKING: Span = Span::from_us(50);

/// How a real run waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The last stretch before an operation is due is spun, not slept, because a sleep ends late.
    pub spin: Span,
}

/// Runs `worker` to its end in real time.
pub fn run_real<D: Device>(worker: &mut Worker<D>, host: &impl Host, sink: &mut impl Sink, waiting: Waiting) {
    loop {
        let now = host.now();
        match host.stop() {
            Some(Stop::Drain(reason)) => worker.stop(now, reason),
            Some(Stop::Now(reason)) => {
                worker.stop(now, reason);
                worker.abandon(now);
            }
            None => {}
        }
        let Step { wake, done } = worker.step(now);
        send(worker, host);
        pass_on(worker, sink);
        if done {
            return;
        }
        let ahead = wake.since(host.now());
        if ahead > waiting.spin {
            worker.wait(ahead.saturating_sub(waiting.spin));
        }
    }
}

/// Hands over what was issued; when that blocked, the worker is told.
fn send<D: Device>(worker: &mut Worker<D>, host: &impl Host) {
    let (before, switches) = (host.now(), host.voluntary_switches());
    worker.send(before);
    let after = host.now();
    if after.since(before) > BLOCKING && host.voluntary_switches() != switches {
        worker.blocked(after);
    }
}

/// Runs `worker` to its end in virtual time, which jumps from event to event. The device must say when it will next have
/// something. `stop` is asked after each interval.
pub fn run_virtual<D: Device>(worker: &mut Worker<D>, start: Instant, sink: &mut impl Sink, stop: impl Fn() -> bool) {
    let mut now = start;
    loop {
        let Step { wake, done } = worker.step(now);
        if pass_on(worker, sink) && stop() {
            worker.stop(now, CloseReason::Interrupted);
        }
        if done {
            return;
        }
        // Issuing may have given the device something that is ready before the worker's own next moment.
        now = wake.max(now);
        debug_assert!(wake != Instant::FAR, "virtual time has somewhere to go");
    }
}

/// True when an interval ended.
#[inline]
fn pass_on<D: Device>(worker: &mut Worker<D>, sink: &mut impl Sink) -> bool {
    worker.has_news() && hand_over(worker, sink)
}

/// Happens once an interval.
#[cold]
fn hand_over<D: Device>(worker: &mut Worker<D>, sink: &mut impl Sink) -> bool {
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
    any
}
