//! The machine that a real run runs on.

use assay_base::Instant;
use assay_record::CloseReason;

/// The machine that a real run runs on: the time, and requests to end.
pub trait Host {
    /// The current time.
    fn now(&self) -> Instant;

    /// The part of this period in which no thread of the program ran, if there was one: the program was stopped or
    /// frozen, which a thread within a call cannot distinguish from a call that blocks. Called at every step, so it
    /// must be cheap.
    fn stood_still(&self, from: Instant, to: Instant) -> Option<(Instant, Instant)>;

    /// Whether the run must end, and how. Called at every step, so it must be cheap.
    fn requested_stop(&self) -> Option<Stop>;

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
