//! Runs a worker in virtual time.

use crate::payload::Payload;
use crate::rules::Step;
use crate::shell::sink::{Sink, hand_over};
use crate::worker::machine::Worker;
use assay_base::{Device, Instant, Source};
use assay_record::CloseReason;

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
            worker.stop_issuing(now, CloseReason::Interrupted);
        }
        if done {
            return;
        }
        // Issuing may have given the device a request that completes before the worker's own next event.
        now = wake.max(now);
        assert!(wake != Instant::FAR, "virtual time has somewhere to go");
    }
}
