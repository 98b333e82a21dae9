//! What an application does to a device, counted request by request: [`Observed::step`] takes one request, and the memory
//! does not grow with their number. Every reader of a trace, and the capture of a running application, count here; what
//! follows from the counts for a load is in [`derive`](Observed::derive_load).
//!
//! Nothing of it is a time of day or a name, and places are counted relative to the device's begin.

mod arrivals;
mod classes;
mod derived;
mod fold;
mod in_flight;
mod levels;
mod moments;
mod reuse;
mod rewrites;
mod runs;
mod sample;
mod side;
mod windows;
mod zones;

pub use arrivals::{ArrivalShape, fit_arrival};
pub use derived::{DerivedFlow, DerivedLoad};
pub use fold::Observed;
pub use in_flight::{InFlight, SteadyDepth};
pub use moments::Moments;
pub use reuse::MissRatio;
pub use side::Side;
pub use windows::{WINDOWS, WindowCounts};
pub use zones::{Fit, Zones};

use assay_base::Direction;

/// What a request asks of the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Asked {
    /// Data.
    Data(Direction),
    /// That everything that was written is on stable media.
    Flush,
    /// That blocks are forgotten.
    Discard,
}

/// One request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// What it asks for.
    pub asked: Asked,
    /// When it was issued, in nanoseconds since any moment; `None` where that is not known.
    pub at: Option<u64>,
    /// Where it begins, in bytes from the begin of the device; `None` where that is not known.
    pub place: Option<u64>,
    /// Its length.
    pub bytes: u64,
    /// Whether it is complete only when it is on stable media.
    pub durable: bool,
}
