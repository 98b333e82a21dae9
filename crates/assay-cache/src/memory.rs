//! The data of the segments that were filled most recently, in memory.

use std::collections::HashMap;

#[derive(Default, Debug)]
struct Buffer {
    segment: Option<u32>,
    data: Vec<u8>,
    /// Whether the buffer holds all blocks of its segment.
    complete: bool,
}

/// The buffers of segments.
#[derive(Debug)]
pub(crate) struct Memory {
    /// Bytes of a segment; 0 if the devices carry no data.
    bytes: usize,
    buffers: Vec<Buffer>,
    of: HashMap<u32, usize>,
    turn: usize,
}

impl Memory {
    /// Up to `buffers` buffers of `bytes` bytes each. If `bytes` is 0, no data are kept.
    pub(crate) fn new(bytes: u32, buffers: usize) -> Memory {
        let buffers = (0..buffers).map(|_| Buffer::default()).collect();
        Memory { bytes: bytes as usize, buffers, of: HashMap::new(), turn: 0 }
    }

    /// Whether all blocks of the segment are in memory.
    pub(crate) fn holds_segment(&self, segment: u32) -> bool {
        self.of.get(&segment).is_some_and(|at| self.buffers[*at].complete)
    }

    /// Gives the segment a buffer: the one that it has already, or the one of the segment that got its buffer first,
    /// among those that `may` lose it. Returns whether the segment's data are in the buffer, or `None` if no buffer can
    /// be spared.
    pub(crate) fn take_buffer(&mut self, segment: u32, may: impl Fn(u32) -> bool) -> Option<bool> {
        if let Some(at) = self.of.get(&segment) {
            return Some(self.buffers[*at].complete);
        }
        let count = self.buffers.len();
        let mut places = (0..count).map(|n| (self.turn + n) % count);
        let at = places.find(|at| self.buffers[*at].segment.is_none_or(&may))?;
        self.turn = (at + 1) % count;
        let buffer = &mut self.buffers[at];
        if let Some(before) = buffer.segment.replace(segment) {
            self.of.remove(&before);
        }
        buffer.data.resize(self.bytes, 0);
        buffer.complete = false;
        self.of.insert(segment, at);
        Some(false)
    }

    /// Takes note that all blocks of the segment are in its buffer.
    pub(crate) fn is_complete(&mut self, segment: u32) {
        if let Some(at) = self.of.get(&segment) {
            self.buffers[*at].complete = true;
        }
    }

    /// `len` bytes of the segment from byte `from` on; empty if they are not in memory.
    pub(crate) fn segment_data(&mut self, segment: u32, from: usize, len: usize) -> &mut [u8] {
        match self.of.get(&segment) {
            Some(at) if self.bytes > 0 => &mut self.buffers[*at].data[from..from + len],
            _ => &mut [],
        }
    }

    /// Forgets everything.
    pub(crate) fn forget_all(&mut self) {
        *self = Memory::new(self.bytes as u32, self.buffers.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_segment_that_got_a_buffer_first_loses_it_unless_it_is_needed() {
        let mut memory = Memory::new(8, 4);
        for segment in 0..4 {
            assert_eq!(memory.take_buffer(segment, |_| true), Some(false));
            memory.segment_data(segment, 4, 2).fill(segment as u8);
            memory.is_complete(segment);
        }
        assert_eq!(memory.take_buffer(3, |_| false), Some(true), "it has one");
        assert_eq!(memory.take_buffer(99, |_| false), None);
        assert_eq!(memory.take_buffer(99, |segment| segment != 0), Some(false));
        assert!(!memory.holds_segment(1) && !memory.holds_segment(99) && memory.holds_segment(0));
        assert_eq!(memory.segment_data(2, 3, 4), [0, 2, 2, 0]);
        assert!(memory.segment_data(1, 0, 4).is_empty());
        memory.forget_all();
        assert!(!memory.holds_segment(2));
        let mut without = Memory::new(0, 4);
        assert_eq!(without.take_buffer(5, |_| true), Some(false));
        without.is_complete(5);
        assert!(without.holds_segment(5) && without.segment_data(5, 0, 4).is_empty());
    }
}
