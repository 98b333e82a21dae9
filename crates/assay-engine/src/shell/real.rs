//! Runs a worker in real time.

use crate::payload::Payload;
use crate::rules::Step;
use crate::shell::host::{Host, Stop};
use crate::shell::sink::{Sink, hand_over};
use crate::shell::sleeps::{Sleeps, Waiting};
use crate::worker::machine::Worker;
use assay_base::{Device, Source, Span};

/// Waits end some microseconds later than requested; a wait that ended even later was disturbed.
const DISTURBED: Span = Span::from_us(100);

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
            worker.note_program_stopped(from, to);
        }
        last = now;
        lateness.count_time(now, idle);
        match host.requested_stop() {
            Some(Stop::Drain(reason)) => worker.stop_issuing(now, reason),
            Some(Stop::Now(reason)) => {
                worker.stop_issuing(now, reason);
                worker.abandon_draining(now);
            }
            None => {}
        }
        let Step { wake, issued, done } = worker.step(now);
        // Failures are reported before anything else is done: a hand-over may hang, and if the program is killed then,
        // the log must have them.
        if worker.has_told() {
            worker.take_events().for_each(|event| sink.receive_event(event));
        }
        let mut before = now;
        if issued {
            worker.send_issued(host.now());
            before = host.now();
        }
        if worker.has_news() {
            hand_over(worker, sink, now);
            before = host.now();
        }
        if done {
            return;
        }
        let sleep = worker.time_to_wait(lateness.sleep_span(before, wake));
        idle = sleep.is_zero() && !issued;
        worker.note_watched(before);
        if !sleep.is_zero() {
            worker.wait_on_device(sleep);
            let (ended, after) = (before + sleep, host.now());
            // A wait that ends this late was disturbed at some time: it is not known whether the worker could look for
            // completions at all.
            worker.note_watched(if after.since(ended) > DISTURBED { before } else { ended.min(after) });
            // A wait that a completion ended shows nothing about lateness.
            if after >= ended {
                lateness.learn_lateness(after.since(ended));
            }
        }
    }
}
