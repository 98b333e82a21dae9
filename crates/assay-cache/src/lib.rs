//! A look-aside cache of blocks: [`Cached`] is a device that carries block I/O on other targets and keeps copies of
//! what was read and written there on a target of its own, where later reads find it.
//!
//! The cache is write-through: a write changes its target first, and enters the cache only after it has succeeded. The
//! cache is a log of segments, each written whole. When it is full, the oldest segment is reused: its blocks are
//! evicted, except those that were read since (CLOCK, second chance). Only this process knows what is in the cache,
//! until [`Cached::finish`] returns an [`Index`] to keep. Nothing here opens a file, starts a thread or reads a clock.
#![warn(unreachable_pub)]
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "tests"))]

mod counters;
mod device;
mod flight;
mod index;
mod log;
mod memory;
mod racing;
mod shape;
mod sub;

pub use assay_base::cached::{Place, Range};
pub use counters::{Counted, Counters, Onward};
pub use device::{Cached, Setup};
pub use index::Index;
pub use shape::Shape;
