//! The operations of an OLTP load on an array: SPC-1-like, not comparable with audited SPC-1 results.
//!
//! The load uses three application storage units (ASU): a data store, a user store and a log. The load of one business
//! scaling unit (BSU) is 50 operations per second in eight streams, each of which is a Poisson process. Many such
//! processes together are one Poisson process, in which an operation belongs to each stream with the probability that
//! is the stream's share, and to each BSU with equal probability. So one schedule is enough, and this module draws what
//! is done at each of its times.
//!
//! Source: the published SPC-1 load generator, as its behaviour was measured over runs of two million operations
//! (shares, regions, lengths, the walk and its probabilities). The code and the random sequence are our own.

mod load;
mod lowered;
mod meant;
mod sequence;
mod stream;
mod walk;

pub use load::Load;
pub(crate) use load::WorkerPart;
pub(crate) use lowered::{lowered_streams, shown_groups};
pub use meant::{Oltp, OltpLoad, Storage};
pub use sequence::{Access, SMALLEST, Sequence, trimmed_sizes};
pub use stream::{BLOCK, NAMES, Place, RATE, ReadShares};

/// What every result of the model is marked with.
pub(crate) const LIKENESS: &str = "SPC-1-LIKE: not comparable with audited SPC-1 results";
