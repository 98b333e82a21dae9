//! Commits on one target as a source of block I/O: one durable write at a time, with all commits that came during the one
//! before it.

use crate::arrival::Schedule;
use crate::commit_groups::GroupWriter;
use assay_base::source::{NextRequest, Source};
use assay_base::{Direction, Instant, Op};

/// See the module. A write is intended when a commit waits and the write before it has completed.
#[derive(Debug)]
pub(super) struct GroupedStream {
    flow: usize,
    target: u16,
    /// Where the ring begins.
    begin: u64,
    writer: GroupWriter,
    /// When commits come.
    commits: Schedule,
    /// Since when no write is in flight; `None` while one is.
    free: Option<Instant>,
    /// The time at which the next write is taken.
    now: Instant,
    taken: u64,
    counted: u64,
}

impl GroupedStream {
    pub(super) fn new(
        flow: usize,
        target: u16,
        begin: u64,
        writer: GroupWriter,
        commits: Schedule,
        start: Instant,
    ) -> GroupedStream {
        GroupedStream { flow, target, begin, writer, commits, free: Some(start), now: start, taken: 0, counted: 0 }
    }
}

impl Source for GroupedStream {
    type Request = Op;

    fn next_due(&self) -> Instant {
        match self.free {
            Some(free) if self.writer.has_rest() => free,
            Some(free) => free.max(self.commits.next_due()),
            None => Instant::FAR,
        }
    }

    fn next(&mut self, now: Instant) -> NextRequest {
        self.now = now;
        NextRequest::Of(self.flow)
    }

    fn take_request(&mut self, _flow: usize) -> Op {
        let GroupedStream { now, commits, writer, .. } = self;
        let write = writer.next_write(|| {
            let waits = commits.next_due() <= *now;
            if waits {
                commits.advance_to_next();
            }
            waits
        });
        self.free = None;
        self.taken += 1;
        Op {
            target: self.target,
            direction: Direction::Write,
            durable: true,
            offset: self.begin + write.start,
            len: (write.end - write.start) as u32,
        }
    }

    fn note_completed(&mut self, _flow: usize, completed: Instant) {
        self.free = Some(completed);
    }

    fn is_open_loop(&self) -> bool {
        true
    }

    fn count_until(&mut self, end: Instant, mut count: impl FnMut(usize, u64, u64)) {
        let pending = u64::from(self.next_due() < end);
        let scheduled = (self.taken + pending).saturating_sub(self.counted);
        self.counted += scheduled;
        count(self.flow, scheduled, self.counted - self.taken);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrival::Part;
    use crate::commit_groups::CommitGroups;
    use assay_base::{Bytes, Prng, Rate};

    /// A commit of 600 bytes each millisecond.
    fn stream() -> GroupedStream {
        let groups = CommitGroups {
            commits: Rate::per_second(1000),
            even: true,
            entry: Bytes::new(600),
            group: Bytes::new(0),
            images: None,
            block: Bytes::new(8192),
            most: Bytes::new(1 << 20),
            ring: Bytes::new(1 << 20),
        };
        let commits = Schedule::from_steady(Instant::ZERO, groups.commits, Part { index: 0, of: 1 }, 0).unwrap();
        let writer = GroupWriter::new(&groups, 512, 1 << 20, Prng::for_path(1, &[1]));
        GroupedStream::new(3, 0, 4096, writer, commits, Instant::ZERO)
    }

    fn ms(n: u64) -> Instant {
        Instant::from_ns(n * 1_000_000)
    }

    fn write(stream: &mut GroupedStream) -> (u64, u32) {
        let due = stream.next_due();
        write_at(stream, due)
    }

    fn write_at(stream: &mut GroupedStream, now: Instant) -> (u64, u32) {
        assert_eq!(stream.next(now), NextRequest::Of(3));
        let op = stream.take_request(3);
        assert!(op.durable && op.direction == Direction::Write);
        (op.offset, op.len)
    }

    #[test]
    fn all_commits_that_came_during_a_write_are_in_the_next_one() {
        let mut stream = stream();
        assert_eq!(write(&mut stream), (4096, 8192), "one commit");
        assert_eq!(stream.next_due(), Instant::FAR);
        stream.note_completed(3, ms(30));
        assert_eq!(stream.next_due(), ms(30), "thirty of 18,000 bytes wait");
        assert_eq!(write(&mut stream), (4096, 24_576));
        stream.note_completed(3, ms(30) + assay_base::Span::from_us(5));
        assert_eq!(stream.next_due(), ms(31), "none waits");
    }

    #[test]
    fn each_write_is_counted_once_in_the_interval_in_which_it_was_wanted() {
        let mut stream = stream();
        let count = |stream: &mut GroupedStream, end| {
            let mut counted = None;
            stream.count_until(end, |_, scheduled, waiting| counted = Some((scheduled, waiting)));
            counted.unwrap()
        };
        write(&mut stream);
        assert_eq!(count(&mut stream, ms(10)), (1, 0));
        stream.note_completed(3, ms(12));
        assert_eq!(count(&mut stream, ms(20)), (1, 1), "one could have been issued at 12 ms");
        write_at(&mut stream, ms(21));
        assert_eq!(count(&mut stream, ms(30)), (0, 0));
    }
}
