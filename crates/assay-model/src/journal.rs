//! A log on one target: what is appended to it, and the reads that follow at a distance. Each worker draws the whole log and keeps its own
//! operations, so that the places of writes of several sizes follow each other without a gap whoever issues them, and a reader never
//! overtakes the writer: it reads what was wanted so much earlier.
//!
//! A reader goes on each time that the writer has come one read further. Nothing is read before the writer is the distance ahead, and the
//! first reads are those of the beginning of the log. Readers of several copies are evenly shifted against each other.

use crate::arrival::{Part, Schedule};
use crate::generator::Generator;
use crate::joint::{DrawnOperations, IntendedOperation, Joint};
use crate::plan::{Arrival, Plan};
use assay_base::{Direction, Geometry, Instant, Op};

/// A stream that follows, or one copy of it.
#[derive(Debug)]
struct Reader {
    stream: u16,
    /// How far its next read begins behind the writer at least.
    distance: u64,
    /// Length of a read.
    len: u32,
    /// Where its next read begins, counted over all rounds of the log.
    next: u64,
}

impl Reader {
    /// The place of its next read in the log if the writer has come far enough at `reached`, in a log of `length` bytes.
    fn next_place(&mut self, reached: u64, length: u64) -> Option<u64> {
        let (len, within) = (u64::from(self.len), self.next % length);
        if within + len > length {
            self.next += length - within;
        }
        (self.next + self.distance <= reached).then(|| {
            self.next += len;
            (self.next - len) % length
        })
    }
}

/// See the module.
#[derive(Debug)]
pub struct Journal {
    writer: u16,
    generator: Generator,
    schedule: Schedule,
    /// Where the log begins on the target, and its length.
    begin: u64,
    length: u64,
    /// Where the last write ended in the log, and how many bytes of rounds are over.
    end: u64,
    rounds: u64,
    readers: Vec<Reader>,
    target: u16,
    worker: Part,
    count: u64,
    drawn: DrawnOperations,
}

impl Journal {
    /// The log of the stream `writer` of `plan` on `target`, as `worker` issues it from `start` on. The error says why there is none.
    pub fn new(
        plan: &Plan,
        writer: u16,
        target: u16,
        geometry: Geometry,
        worker: Part,
        start: Instant,
    ) -> Result<Journal, String> {
        let whole = Part { index: 0, of: 1 };
        let mut generator =
            Generator::new(plan, writer, target, geometry, whole, start).ok_or("the rate of the log does not fit")?;
        let schedule = generator.schedule.take().ok_or("a log has a rate")?;
        let length = log_length(plan, writer, geometry);
        Ok(Journal {
            writer,
            begin: generator.part_begin(),
            readers: log_readers(plan, writer, target, geometry.block, length)?,
            generator,
            schedule,
            length,
            end: 0,
            rounds: 0,
            target,
            worker,
            count: 0,
            drawn: DrawnOperations::new(start),
        })
    }

    /// The next operation, whichever it is.
    pub fn next_wanted(&mut self) -> Option<IntendedOperation> {
        while self.drawn.waiting.is_empty() {
            if !self.draw_next() {
                return None;
            }
        }
        self.take_operation()
    }

    /// Keeps an operation if it is this worker's.
    fn keep_own(&mut self, wanted: IntendedOperation) {
        if self.count % self.worker.of == self.worker.index {
            self.drawn.waiting.push_back(wanted);
        }
        self.count += 1;
    }

    /// What the readers may read now that all before `reached` was written.
    fn follow_writer(&mut self, wanted: Instant, reached: u64) {
        for at in 0..self.readers.len() {
            while let Some(offset) = self.readers[at].next_place(reached, self.length) {
                let Reader { stream, len, .. } = self.readers[at];
                let offset = self.begin + offset;
                let op = Op { target: self.target, direction: Direction::Read, durable: false, offset, len };
                self.keep_own(IntendedOperation { wanted, stream, op });
            }
        }
    }
}

/// Whether the log of a stream on a target is large enough for those who follow it; the error says what to do.
pub(crate) fn check_length(plan: &Plan, writer: u16, target: u16, geometry: Geometry) -> Result<(), String> {
    log_readers(plan, writer, target, geometry.block, log_length(plan, writer, geometry)).map(|_| ())
}

/// The length of the log on a target.
fn log_length(plan: &Plan, writer: u16, geometry: Geometry) -> u64 {
    let extent = plan.load.streams[usize::from(writer)].as_block().and_then(|block| block.extent);
    extent.map_or(geometry.size, |extent| extent.range_within(geometry.size, geometry.block).1)
}

/// The readers of the log of `writer` on `target`, which has blocks of so many bytes and a log of such a length.
fn log_readers(plan: &Plan, writer: u16, target: u16, block: u32, length: u64) -> Result<Vec<Reader>, String> {
    let name = &plan.load.streams[usize::from(writer)].name;
    let mut all = Vec::new();
    for (at, stream) in
        (0..).zip(&plan.load.streams).filter(|(_, stream)| stream.arrival.followed_stream() == Some(name))
    {
        let Arrival::Following { distance, copies, .. } = stream.arrival else { continue };
        let Some(own) = stream.as_block().filter(|_| plan.load.targets_of(at).any(|on| on == target)) else { continue };
        let len = own.size.in_blocks(block).largest_size();
        // The furthest reader is a read behind the others, and what it reads must not be overwritten meanwhile.
        if distance.get().saturating_add(2 * len) >= length {
            return Err(format!(
                "the stream {} stays {} behind {name}, whose log has {} on target {}: make the log larger",
                stream.name,
                distance.human_text(),
                assay_base::Bytes::new(length).human_text(),
                target + 1
            ));
        }
        for copy in 0..copies {
            let shift = u64::from(copy) * len / u64::from(copies.max(1));
            all.push(Reader { stream: at, distance: distance.get() + shift, len: len as u32, next: 0 });
        }
    }
    Ok(all)
}

impl Joint for Journal {
    fn drawn_operations(&self) -> &DrawnOperations {
        &self.drawn
    }

    fn drawn_mut(&mut self) -> &mut DrawnOperations {
        &mut self.drawn
    }

    fn draw_next(&mut self) -> bool {
        let wanted = self.schedule.next_due();
        self.drawn.reached = wanted;
        if wanted == Instant::FAR {
            return false;
        }
        self.schedule.advance_to_next();
        let op = self.generator.next_operation(wanted);
        let begin = op.offset - self.begin;
        if begin < self.end {
            self.rounds += self.length;
        }
        self.end = begin + u64::from(op.len);
        self.keep_own(IntendedOperation { wanted, stream: self.writer, op });
        self.follow_writer(wanted, self.rounds + self.end);
        true
    }
}

#[cfg(test)]
#[path = "journal_tests.rs"]
mod tests;
