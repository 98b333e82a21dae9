//! The vocabulary every room shares: time, units, random numbers, one operation, and the contract of a device.
//!
//! It knows no workload, no clock and no operating system. It defines once what everything else uses: the text of a
//! unit, the meaning of "over 1 ms", the three times of an operation.
#![warn(unreachable_pub)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make files and threads of their own"))]

pub mod cached;
pub mod counted;
mod criterion;
pub mod device;
pub mod fault;
pub mod file_systems;
pub mod knobs;
mod marked;
pub mod math;
pub mod multiple;
mod number;
pub mod op;
pub mod prng;
pub mod source;
pub mod stamp;
pub mod steady;
mod tags;
pub mod text;
pub mod time;
pub mod units;

#[cfg(feature = "serde")]
mod serde_text;

pub use counted::{Counted, Parts};
pub use criterion::{Bound, Criterion, Measure};
pub use device::{
    BlockDevice, Completion, Device, Done, Foretelling, Geometry, HandOver, Request, STOCK_MOST, STOCKS_MOST,
};
pub use fault::Fault;
pub use knobs::{KnobValue, Knobs};
pub use marked::{MarkedPart, MarkedParts};
pub use multiple::Multiple;
pub use number::UnitError;
pub use op::{Code, Direction, Op, Ticket};
pub use prng::Prng;
pub use source::{NextRequest, Source};
pub use stamp::Stamp;
pub use tags::more_than_tags;
pub use time::{Instant, Span};
pub use units::{Bytes, Rate, Share};
