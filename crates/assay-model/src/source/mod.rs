//! Sources of block I/O: what a worker is asked for next, and when.
//!
//! [`BlockSources::from_plan`] makes the sources of one worker. A stream with a schedule is a [`scheduled_stream`], one
//! with a number in flight a [`closed_stream`], a copy of a loop over several streams a [`closed_loop`]; streams whose
//! operations are drawn in one sequence are [`drawn_together`]. A source that begins later than the run or ends before it
//! is wrapped in a [`lifetime`]. [`BlockSource`] is any of these.

mod block_source;
mod closed_loop;
mod closed_stream;
mod drawn_together;
mod free_slots;
mod from_plan;
mod gates;
mod lifetime;
mod loop_copies;
mod loop_slots;
mod loop_with_flushes;
mod plan_flow;
mod read_back;
mod recorded_stream;
mod scheduled_stream;
mod work_share;

pub use block_source::BlockSource;
pub use free_slots::difference;
pub use from_plan::{BlockSources, SourceWorker};
pub use gates::Gates;
pub use read_back::{NextWritten, WrittenPlaces};
