//! Recordings: operations that were recorded elsewhere in a trace, and are issued again at the pace of the recording or
//! at a multiple of it.
//!
//! A plan names a recording and describes what is in it. The operations themselves are read from the recording's file
//! and are not part of the plan.

use assay_base::{Bytes, Direction, Multiple, Span};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// One recorded operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// The time since the first operation of the recording, in nanoseconds.
    pub at_ns: u64,
    /// The offset of the operation, in bytes.
    pub offset: u64,
    /// The length of the operation in bytes; above zero.
    pub len: u32,
    /// Whether it was a read or a write.
    pub direction: Direction,
}

/// The most operations of a recording. This many take half a gigabyte of memory.
pub const MOST: usize = 20_000_000;

/// The operations of one direction of a recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recording {
    /// The name of the recording's file.
    pub file: String,
    /// The speed at which it is played, as a multiple of the recorded speed.
    pub speed: Multiple,
    /// Whether offsets are scaled down if the target is smaller than the recording; otherwise such a target is refused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub scaled: bool,
    /// Number of operations.
    pub operations: u64,
    /// The time from the first operation of the whole recording to the last one of this direction, as recorded.
    pub lasts: Span,
    /// The highest offset at which an operation ends.
    pub reaches: Bytes,
    /// A checksum (FNV-1a, 64 bits) of its operations, in hexadecimal. Plans with different operations differ in it.
    pub checksum: String,
    #[serde(skip)]
    lines: Lines,
}

/// The operations; two recordings are compared by their checksums.
#[derive(Clone, Default)]
struct Lines(Arc<[Line]>);

impl PartialEq for Lines {
    fn eq(&self, _: &Lines) -> bool {
        true
    }
}
impl Eq for Lines {}

impl fmt::Debug for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} lines", self.0.len())
    }
}

impl Recording {
    /// A recording of which only the file's name is known, because the file is not read yet.
    pub fn with_file_name(file: String, speed: Multiple, scaled: bool) -> Recording {
        let (lasts, reaches) = (Span::ZERO, Bytes::new(0));
        Recording {
            file,
            speed,
            scaled,
            operations: 0,
            lasts,
            reaches,
            checksum: String::new(),
            lines: Lines::default(),
        }
    }

    /// This recording with the operations of `direction` among `all`, which must be in the order of their times. `None`
    /// if there are none.
    pub fn with_lines(&self, all: &[Line], direction: Direction) -> Option<Recording> {
        let lines: Arc<[Line]> = all.iter().filter(|line| line.direction == direction).copied().collect();
        let last = lines.last()?;
        let reaches = lines.iter().map(|line| line.offset.saturating_add(line.len.into())).max()?;
        Some(Recording {
            operations: lines.len() as u64,
            lasts: Span::from_ns(last.at_ns),
            reaches: Bytes::new(reaches),
            checksum: format!("{:016x}", lines_checksum(&lines)),
            lines: Lines(lines),
            ..self.clone()
        })
    }

    /// The operations in the order of their times; empty if the file was not read.
    pub fn recorded_lines(&self) -> &Arc<[Line]> {
        &self.lines.0
    }

    /// When an operation is wanted at the speed of this recording, as the time since the recording's beginning.
    #[inline]
    pub fn wanted_after(&self, line: &Line) -> Span {
        let (times, of) = self.speed.as_ratio();
        Span::from_ns(
            u64::try_from(u128::from(line.at_ns) * u128::from(of) / u128::from(times)).unwrap_or(u64::MAX / 2),
        )
    }
}

fn lines_checksum(lines: &[Line]) -> u64 {
    let mut sum = 0xcbf2_9ce4_8422_2325_u64;
    for line in lines {
        let at = line.at_ns.to_le_bytes().into_iter();
        for byte in at.chain(line.offset.to_le_bytes()).chain(line.len.to_le_bytes()) {
            sum = (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    sum
}

/// The places of a recording on a target of `size` bytes with blocks of `block` bytes. Offsets are rounded down to
/// blocks and lengths are rounded up. Offsets are scaled down if the target is smaller than the recording; such a
/// target is refused elsewhere unless scaling was asked for.
#[derive(Clone, Copy, Debug)]
pub struct RecordingPlacement {
    size: u64,
    block: u64,
    reaches: u64,
}

impl RecordingPlacement {
    /// The places of this recording.
    pub fn new(recording: &Recording, size: u64, block: u32) -> RecordingPlacement {
        RecordingPlacement { size, block: u64::from(block.max(1)), reaches: recording.reaches.get().max(1) }
    }

    /// The offset and length of an operation on the target, in bytes.
    #[inline]
    pub fn place_on_target(&self, line: &Line) -> (u64, u32) {
        let len = u64::from(line.len).next_multiple_of(self.block);
        let offset = if self.reaches > self.size {
            (u128::from(line.offset) * u128::from(self.size) / u128::from(self.reaches)) as u64
        } else {
            line.offset
        };
        let whole = self.size / self.block * self.block;
        (offset.min(whole.saturating_sub(len)) / self.block * self.block, len as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(at_ns: u64, offset: u64, len: u32, direction: Direction) -> Line {
        Line { at_ns, offset, len, direction }
    }

    #[test]
    fn a_recording_has_the_operations_of_its_direction() {
        use Direction::{Read, Write};
        let all = [line(0, 4096, 512, Read), line(10, 0, 8192, Write), line(30, 1 << 20, 4096, Read)];
        let named = Recording::with_file_name("t".into(), Multiple::from_whole(2), false);
        let reads = named.with_lines(&all, Read).unwrap();
        assert_eq!((reads.operations, reads.lasts, reads.reaches.get()), (2, Span::from_ns(30), (1 << 20) + 4096));
        assert_eq!(reads.wanted_after(&reads.recorded_lines()[1]), Span::from_ns(15), "at twice its speed");
        assert!(named.with_lines(&all[..1], Write).is_none() && named.recorded_lines().is_empty());
        let writes = named.with_lines(&all, Write).unwrap();
        assert_ne!(reads.checksum, writes.checksum);
        let read_back: Recording = serde_json::from_str(&serde_json::to_string(&reads).unwrap()).unwrap();
        assert!(read_back == reads && read_back.recorded_lines().is_empty(), "a plan does not hold the operations");
        assert_ne!(reads, Recording { checksum: writes.checksum, ..reads.clone() });
    }

    #[test]
    fn places_are_whole_blocks_within_the_target() {
        let read = |offset, len| line(0, offset, len, Direction::Read);
        let all = [read(0, 512), read(1000, 100), read(65_536 - 512, 512)];
        let recording =
            Recording::with_file_name("t".into(), Multiple::ONE, true).with_lines(&all, Direction::Read).unwrap();
        for (size, block, expected) in [
            (1 << 20, 512, [(0, 512), (512, 512), (65_024, 512)]),
            (1 << 20, 4096, [(0, 4096), (0, 4096), (61_440, 4096)]),
            // A target half as large as the recording.
            (32_768, 512, [(0, 512), (0, 512), (32_256, 512)]),
            (32_768, 4096, [(0, 4096), (0, 4096), (28_672, 4096)]),
            (4096 + 100, 4096, [(0, 4096), (0, 4096), (0, 4096)]),
        ] {
            let onto = RecordingPlacement::new(&recording, size, block);
            assert_eq!(all.map(|line| onto.place_on_target(&line)), expected, "{size} {block}");
        }
    }
}
