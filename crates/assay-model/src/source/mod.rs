//! Sources of block I/O: they say which operation a worker issues next, and when.
//!
//! [`BlockSources::from_plan`] makes the sources of one worker. `scheduled_stream` has the streams with a schedule,
//! `closed_stream` those with a number in flight, `closed_loop` the loops over several streams, and `drawn_together` the
//! streams whose operations are drawn in one sequence. `lifetime` wraps a source that begins later than the run or ends
//! before it. [`BlockSource`] is any of these.

mod block_source;
mod closed_loop;
mod closed_stream;
mod drawn_together;
mod free_slots;
mod from_plan;
mod gates;
mod grouped_stream;
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
pub use free_slots::signed_difference;
pub use from_plan::{BlockSources, SourceWorker};
pub use gates::Gates;
pub use read_back::{NextWritten, WrittenPlaces};
