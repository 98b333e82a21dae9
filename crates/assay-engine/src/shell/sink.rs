//! Where a worker passes what it recorded.

use crate::payload::Payload;
use crate::worker::machine::Worker;
use assay_base::{Device, Instant, Source};
use assay_record::{Event, Frame};

/// Receives what a worker recorded, and gives used frames back.
pub trait Sink {
    /// An interval has ended.
    fn receive_frame(&mut self, frame: Frame);
    /// Something happened.
    fn receive_event(&mut self, event: Event);
    /// A frame whose memory can be used again.
    fn spent_frame(&mut self) -> Option<Frame>;
    /// The end of the phase that waits for a steady state, once it is decided. Called after each interval.
    fn phase_end(&mut self) -> Option<Instant> {
        None
    }
}

/// Passes what a worker has recorded to the sink, once per interval.
#[cold]
pub(super) fn hand_over<D: Device, S: Source<Request = D::Request>, P: Payload<D>>(
    worker: &mut Worker<D, S, P>,
    sink: &mut impl Sink,
    now: Instant,
) {
    let mut any = false;
    for event in worker.take_events() {
        sink.receive_event(event);
    }
    for frame in worker.take_frames() {
        sink.receive_frame(frame);
        any = true;
    }
    while let Some(frame) = sink.spent_frame() {
        worker.recycle_frame(frame);
    }
    if let Some(at) = sink.phase_end().filter(|_| any) {
        worker.end_phase(now, at);
    }
}
