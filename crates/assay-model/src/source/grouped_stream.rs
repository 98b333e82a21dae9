//! Commits on one target as a source of block I/O: one durable write at a time, with all commits that came during the one
//! before it.

use crate::arrival::Schedule;
use crate::commit_groups::GroupWriter;
use assay_base::source::{NextRequest, Source};
use assay_base::{Direction, Instant, Op};
use std::ops::Range;

/// See the module. A write is intended when a commit waits and the write before it has completed. Commits for which the
/// write before it had no room do not wait because of its sync: theirs is intended since they came.
#[derive(Debug)]
pub(super) struct GroupedStream {
    flow: usize,
    target: u16,
    /// Where the ring begins.
    begin: u64,
    queue: CommitQueue,
    /// Since when no write is in flight; `None` while one is.
    free: Option<Instant>,
    /// The time at which the next write is taken.
    now: Instant,
    /// When the last write was intended.
    wanted: Instant,
    /// Whether commits waited for which the last group had no room.
    is_behind: bool,
    counted: u64,
    /// A copy that is ahead of what was taken, by the full writes that wait: kept so that each is counted once.
    ahead: Option<CommitQueue>,
}

/// Commits and the writer that takes them.
#[derive(Clone, Debug)]
struct CommitQueue {
    writer: GroupWriter,
    /// When commits come.
    commits: Schedule,
    /// Number of writes that were taken.
    writes: u64,
}

impl CommitQueue {
    /// The next write, of commits that came until `now`.
    fn take_write(&mut self, now: Instant) -> Range<u64> {
        let CommitQueue { writer, commits, writes } = self;
        *writes += 1;
        writer.next_write(|| {
            let waits = commits.next_due() <= now;
            if waits {
                commits.advance_to_next();
            }
            waits
        })
    }
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
        GroupedStream {
            flow,
            target,
            begin,
            queue: CommitQueue { writer, commits, writes: 0 },
            free: Some(start),
            now: start,
            wanted: start,
            is_behind: false,
            counted: 0,
            ahead: None,
        }
    }

    /// Number of writes so far, with those that commits until `end` fill and leave others waiting.
    fn count_full_writes(&mut self, end: Instant) -> u64 {
        if self.queue.commits.next_due() >= end {
            self.ahead = None;
            return self.queue.writes;
        }
        let ahead = self.ahead.take().filter(|ahead| ahead.writes >= self.queue.writes);
        let mut ahead = ahead.unwrap_or_else(|| self.queue.clone());
        loop {
            let mut behind_it = ahead.clone();
            behind_it.take_write(Instant::from_ns(end.as_ns().saturating_sub(1)));
            if behind_it.commits.next_due() >= end {
                break;
            }
            ahead = behind_it;
        }
        self.ahead.insert(ahead).writes
    }
}

impl Source for GroupedStream {
    type Request = Op;

    fn next_due(&self) -> Instant {
        match self.free {
            Some(_) if self.is_behind && self.queue.writer.has_rest() => self.wanted,
            Some(_) if self.is_behind => self.wanted.max(self.queue.commits.next_due()),
            Some(free) if self.queue.writer.has_rest() => free,
            Some(free) => free.max(self.queue.commits.next_due()),
            None => Instant::FAR,
        }
    }

    fn next(&mut self, now: Instant) -> NextRequest {
        self.now = now;
        NextRequest::Of(self.flow)
    }

    fn take_request(&mut self, _flow: usize) -> Op {
        self.wanted = self.next_due();
        // What is left of a group takes no commits, whatever room there is.
        let is_rest = self.queue.writer.has_rest();
        let write = self.queue.take_write(self.now);
        if !is_rest {
            self.is_behind = self.queue.commits.next_due() <= self.now;
        }
        self.free = None;
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
        let total = self.count_full_writes(end) + pending;
        let scheduled = total.saturating_sub(self.counted);
        self.counted += scheduled;
        count(self.flow, scheduled, self.counted - self.queue.writes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrival::Part;
    use crate::commit_groups::CommitGroups;
    use assay_base::{Bytes, Prng, Rate, Span};

    /// A commit of 600 bytes each millisecond.
    fn stream() -> GroupedStream {
        stream_with(1 << 20, 1 << 20)
    }

    /// The same with writes of at most so many bytes, in a ring of so many.
    fn stream_with(most: u64, ring: u64) -> GroupedStream {
        let groups = CommitGroups {
            commits: Rate::per_second(1000),
            even: true,
            entry: Bytes::new(600),
            group: Bytes::new(0),
            images: None,
            block: Bytes::new(8192),
            most: Bytes::new(most),
            ring: Bytes::new(ring),
        };
        let commits = Schedule::from_steady(Instant::ZERO, groups.commits, Part { index: 0, of: 1 }, 0).unwrap();
        let writer = GroupWriter::new(&groups, 512, ring, Prng::for_path(1, &[1]));
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

    /// Each write has room for 27 commits or so, and takes a second, in which a thousand come.
    #[test]
    fn commits_that_find_no_room_are_late_and_counted_as_writes_that_wait() {
        for ring in [1 << 20, 1 << 16] {
            let mut stream = stream_with(32 << 10, ring);
            let (mut scheduled, mut waiting) = (0, 0);
            let mut wanted = Instant::ZERO;
            for second in 1..=20 {
                let due = stream.next_due();
                assert!(due >= wanted, "{due:?} is before {wanted:?}");
                wanted = due;
                write_at(&mut stream, ms(1000 * (second - 1)));
                stream.count_until(ms(1000 * second), |_, more, waits| {
                    (scheduled, waiting) = (scheduled + more, waits);
                });
                stream.note_completed(3, ms(1000 * second));
            }
            let lag = ms(20_000).since(stream.next_due());
            assert!(lag > Span::from_secs(18), "{lag:?} behind, in a ring of {ring}");
            assert_eq!(scheduled, waiting + 20, "each is counted once");
            assert!((600..1200).contains(&waiting), "{waiting} of 20 s");
            // The disk is fast from now on.
            for _ in 0..waiting {
                write_at(&mut stream, ms(20_000));
                stream.note_completed(3, ms(20_000));
            }
            stream.count_until(ms(20_000), |_, more, waits| {
                assert_eq!((more, waits), (1, 1), "the last one is not full")
            });
            write_at(&mut stream, ms(20_000));
            stream.count_until(ms(20_000), |_, more, waits| assert_eq!((more, waits), (0, 0), "none waits"));
        }
    }
}
