//! The read-back: what a run that verifies has written is read at its end and compared.

use super::arrival::Arrival;
use super::stream::{Block, Stream, Work};
use super::timing::{Phase, PhaseKind};
use crate::address::Address;
use crate::life::Life;
use crate::size::Size;
use assay_base::{Direction, Share, Span};

/// Name of the stream and of the phase of the read-back.
pub const READ_BACK: &str = "read-back";
/// Number of reads of the read-back in flight on each target.
pub const READ_BACK_DEPTH: u32 = 32;

/// The stream that reads back what the others have written, and its phase; `None` when nothing is written.
pub(crate) fn final_read_back(streams: &[Stream]) -> Option<(Stream, Phase)> {
    streams.iter().find(|stream| stream.writes_blocks())?;
    let largest = streams.iter().filter_map(Stream::as_block).map(|block| block.size.to).max()?;
    let stream = Stream {
        name: READ_BACK.into(),
        work: Work::Block(Block {
            direction: Direction::Read,
            durable: false,
            filled_with: None,
            // Not larger than the other operations, so that the buffers, and therefore the run itself, are the same
            // as without it.
            size: Size::from_fixed(largest),
            address: Address::Written,
            extent: None,
            places: None,
            compress_to: Share::WHOLE,
            duplicates: Share::default(),
        }),
        arrival: Arrival::Closed { in_flight: READ_BACK_DEPTH },
        per_target: false,
        targets: Vec::new(),
        life: Life::default(),
    };
    let phase = Phase {
        name: READ_BACK.into(),
        kind: PhaseKind::ReadBack,
        span: Span::ZERO,
        steady_round: None,
        until_done: false,
    };
    Some((stream, phase))
}
