//! Operations outside a run: those that prepare a target, and single blocks that are read. What a run measures, the engine carries.

use crate::failure::Failure;
use assay_base::{Completion, Device, Done, Op, Span, Ticket};
use assay_device::clock::Clock;
use assay_device::select::AnyDevice;

/// Work that is carried out operation by operation, and takes the completions.
pub(crate) trait CarriedWork {
    /// The next operation, its data in the buffer of its ticket; `None` while there is none.
    fn next(&mut self, device: &mut AnyDevice) -> Option<(Ticket, Op)>;

    /// An operation came back. An error ends the work.
    fn take_completion(&mut self, completion: &Completion) -> Result<(), Failure>;

    /// All that had come back was looked at. An error ends the work.
    fn after_completions(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Nothing is on its way, and nothing more is to be done.
    fn is_over(&self) -> bool;

    /// True if operations in flight are not to be waited for any longer.
    fn gives_up(&self) -> bool;
}

/// Carries work to its end; false when it was given up before.
pub(crate) fn carry_work(device: &mut AnyDevice, clock: Clock, work: &mut impl CarriedWork) -> Result<bool, Failure> {
    let mut done = Done::new();
    while !work.is_over() {
        if work.gives_up() {
            return Ok(false);
        }
        let now = clock.now();
        while let Some((ticket, op)) = work.next(device) {
            device.submit_request(now, ticket, &op);
        }
        device.poll_completions(now, &mut done);
        if done.is_empty() {
            device.wait_for_completion(Span::from_ms(100));
        }
        for completion in done.drain(..) {
            work.take_completion(&completion)?;
        }
        work.after_completions()?;
    }
    Ok(true)
}
