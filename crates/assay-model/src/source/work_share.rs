//! How many of a stream's operations and bytes one worker has, where the stream ends after a number of them.

use crate::arrival::Part;
use crate::plan::{Arrival, Plan};
use crate::source::lifetime::WorkLeft;
use assay_base::{Bytes, Geometry};

/// A stream, and the geometry of one of its targets.
#[derive(Clone, Copy, Debug)]
pub(super) struct StreamOnTarget {
    /// The stream, by its position in the plan.
    pub(super) stream: u16,
    /// Size and block size of the target.
    pub(super) geometry: Geometry,
}

/// The worker's part of the operations and bytes of a stream without a loop; `None` if it issues nothing of the stream.
pub(super) fn part_of_stream(plan: &Plan, stream: u16, part: Part) -> Option<Part> {
    let workers = match plan.load.streams[usize::from(stream)].arrival {
        Arrival::Closed { in_flight } => part.of.min(in_flight.into()),
        Arrival::Paced { .. } | Arrival::Grouped(_) => 1,
        _ => part.of,
    };
    (part.index < workers).then_some(Part { of: workers, ..part })
}

/// How many operations and bytes a source has that carries `streams`, if `share` is the worker's part of them.
pub(super) fn work_of_source(plan: &Plan, streams: &[StreamOnTarget], share: Option<Part>) -> WorkLeft {
    let life = plan.load.life_of(streams[0].stream);
    let Some(part) = share else { return WorkLeft { operations: 0, bytes: 0 } };
    let operations = life.operations.unwrap_or(u64::MAX);
    match (single_size(plan, streams), life.bytes.map(Bytes::get)) {
        // With a single size, bytes are a number of operations, of which the last may reach beyond the bytes.
        (Some(size), Some(bytes)) => {
            WorkLeft { operations: part_of(operations.min(bytes.div_ceil(size)), part), bytes: u64::MAX }
        }
        (None, Some(bytes)) => WorkLeft { operations: part_of_limit(operations, part), bytes: part_of(bytes, part) },
        (_, None) => WorkLeft { operations: part_of_limit(operations, part), bytes: u64::MAX },
    }
}

/// The size of all operations of the streams that move data, if there is only one size.
fn single_size(plan: &Plan, streams: &[StreamOnTarget]) -> Option<u64> {
    let mut sizes = streams.iter().filter_map(|on_target| fixed_size(plan, on_target));
    let first = sizes.next().filter(|first| *first > 0)?;
    sizes.all(|size| size == first).then_some(first)
}

/// The size of a stream's operations on a target; 0 if they have several sizes, and `None` if they move no data.
fn fixed_size(plan: &Plan, on_target: &StreamOnTarget) -> Option<u64> {
    let size = &plan.load.streams[usize::from(on_target.stream)].as_block()?.size;
    Some(if size.from == size.to { size.in_blocks(on_target.geometry.block).largest_size() } else { 0 })
}

/// The worker's part of a number.
fn part_of(all: u64, part: Part) -> u64 {
    all / part.of + u64::from(part.index < all % part.of)
}

/// The worker's part of a limit; the largest number stands for no limit.
fn part_of_limit(limit: u64, part: Part) -> u64 {
    if limit == u64::MAX { limit } else { part_of(limit, part) }
}
