//! Which write of a preparation comes next, and how much is written. It uses no device and no clock.

use assay_base::{Completion, Direction, Geometry, Op, Ticket};

/// Bytes of one write, and how many are in flight: enough to keep a device busy, small enough to stay in its queue.
pub(super) const WRITE: u64 = 1 << 20;
pub(super) const DEPTH: u32 = 16;

/// A pass that fills a target.
#[derive(Debug)]
pub(super) struct Fill {
    size: u64,
    next: u64,
    /// Offset and length of the write of each ticket.
    in_flight: Vec<Option<(u64, u32)>>,
}

impl Fill {
    pub(super) fn new(geometry: Geometry, from: u64) -> Fill {
        let size = geometry.size / u64::from(geometry.block) * u64::from(geometry.block);
        Fill { size, next: from.min(size) / WRITE * WRITE, in_flight: vec![None; DEPTH as usize] }
    }

    /// The next write, unless all were issued or `stop` is set.
    pub(super) fn next(&mut self, stop: bool) -> Option<(Ticket, Op)> {
        if self.next >= self.size || stop {
            return None;
        }
        let free = self.in_flight.iter().position(Option::is_none)?;
        let len = WRITE.min(self.size - self.next) as u32;
        let op = Op { target: 0, direction: Direction::Write, durable: false, offset: self.next, len };
        self.in_flight[free] = Some((self.next, len));
        self.next += u64::from(len);
        Some((Ticket(free as u32), op))
    }

    /// Takes a completion; returns the bytes it wrote.
    pub(super) fn take_completion(&mut self, completion: &Completion) -> Result<u64, String> {
        let carried = self.in_flight.get_mut(completion.ticket.0 as usize).and_then(Option::take);
        let (offset, len) = carried.expect("a ticket completes once for each submission");
        match completion.result {
            Ok(moved) if moved == len => Ok(u64::from(len)),
            Ok(moved) => Err(format!("only {moved} of {len} bytes were written at {offset}")),
            Err(errno) => Err(format!("{errno} writing {len} bytes at {offset}")),
        }
    }

    /// Everything below this offset is written.
    pub(super) fn written_below(&self) -> u64 {
        self.in_flight.iter().flatten().map(|(offset, _)| *offset).min().unwrap_or(self.next)
    }

    /// Whether nothing is in flight and nothing more will be issued: all is written, or `stop` is set.
    pub(super) fn is_over(&self, stop: bool) -> bool {
        self.in_flight.iter().all(Option::is_none) && (stop || self.next >= self.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_base::Instant;

    fn complete(fill: &mut Fill, ticket: Ticket, len: u32) -> Result<u64, String> {
        let at = Instant::ZERO;
        fill.take_completion(&Completion { ticket, result: Ok(len), issued: at, accepted: at, completed: at })
    }

    #[test]
    fn writes_every_byte_once_with_the_tail_and_marks_only_what_is_written() {
        let size = 40 * WRITE + 512 * 3;
        let mut fill = Fill::new(Geometry { size: size + 100, block: 512 }, 0);
        let mut written = 0;
        let mut last = None;
        while let Some((ticket, op)) = fill.next(false) {
            assert_eq!((op.offset, fill.written_below()), (written, written));
            last = Some(op);
            written += complete(&mut fill, ticket, op.len).unwrap();
        }
        assert_eq!((written, fill.written_below(), fill.is_over(false)), (size, size, true));
        assert_eq!(last.unwrap().len, 512 * 3);
    }

    #[test]
    fn the_mark_waits_for_the_slowest_and_a_short_write_is_a_failure() {
        let mut fill = Fill::new(Geometry { size: 64 * WRITE, block: 512 }, 5 * WRITE + 7);
        let (first, op) = fill.next(false).unwrap();
        assert_eq!(op.offset, 5 * WRITE, "resumed at the beginning of a write");
        let (second, _) = fill.next(false).unwrap();
        complete(&mut fill, second, WRITE as u32).unwrap();
        assert_eq!(fill.written_below(), 5 * WRITE);
        assert!(complete(&mut fill, first, 512).unwrap_err().contains("only 512"));
        assert!(
            fill.next(true).is_none() && !fill.is_over(false) && fill.is_over(true),
            "stopped, it ends where it is"
        );
    }
}
