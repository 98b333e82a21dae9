//! Messages that nobody has taken yet, within bounds: the oldest go first.

use bytes::Bytes;
use std::collections::VecDeque;
use std::time::Duration;

/// The most messages that wait: those of ten minutes with intervals of a second.
const MESSAGES: usize = 600;
/// The most bytes that they have together. A run with very many flows has long messages.
const BYTES: usize = 16 << 20;
/// The shortest and the longest pause behind a message that was not taken.
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);

/// Messages in their order, each with its number.
#[derive(Debug, Default)]
pub(super) struct Queue {
    messages: VecDeque<(u64, Bytes)>,
    next_number: u64,
    bytes: usize,
}

impl Queue {
    /// Adds a message, and returns how many had to go for it.
    pub(super) fn add_message(&mut self, message: Bytes) -> u64 {
        self.bytes += message.len();
        self.messages.push_back((self.next_number, message));
        self.next_number += 1;
        let mut gone = 0;
        while self.messages.len() > MESSAGES || self.bytes > BYTES {
            let Some((_, oldest)) = self.messages.pop_front() else { break };
            self.bytes -= oldest.len();
            gone += 1;
        }
        gone
    }

    /// The oldest message.
    pub(super) fn oldest(&self) -> Option<(u64, Bytes)> {
        self.messages.front().cloned()
    }

    /// Removes the message with this number, if it has not gone by itself.
    pub(super) fn remove_message(&mut self, number: u64) {
        if self.messages.front().is_some_and(|(oldest, _)| *oldest == number)
            && let Some((_, message)) = self.messages.pop_front()
        {
            self.bytes -= message.len();
        }
    }

    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }
}

/// How long nothing is sent behind a message that was not taken.
#[derive(Debug, Default)]
pub(super) struct Pause {
    last: Option<Duration>,
    /// Whether a person was told.
    pub(super) was_told: bool,
}

impl Pause {
    /// 1, 2, 4 … 60 s.
    pub(super) fn next_pause(&mut self) -> Duration {
        let next = self.last.map_or(SHORTEST, |last| (last * 2).min(LONGEST));
        self.last = Some(next);
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_go_where_too_many_wait_or_they_are_too_long() {
        let mut queue = Queue::default();
        let gone: u64 = (0..700).map(|_| queue.add_message(Bytes::from_static(b"x"))).sum();
        assert_eq!((gone, queue.messages.len(), queue.oldest().unwrap().0), (100, 600, 100));
        queue.remove_message(99);
        assert_eq!(queue.oldest().unwrap().0, 100, "that one went by itself");
        queue.remove_message(100);
        assert_eq!((queue.oldest().unwrap().0, queue.bytes), (101, 599));
        let long = Bytes::from(vec![0; BYTES / 4]);
        let gone: u64 = (0..5).map(|_| queue.add_message(long.clone())).sum();
        assert_eq!((gone, queue.messages.len()), (600, 4));
        assert_eq!(queue.add_message(Bytes::from(vec![0; BYTES + 1])), 5, "nothing that is longer than all may be");
        assert!(queue.is_empty() && queue.bytes == 0);
    }

    #[test]
    fn pauses_double_up_to_a_minute() {
        let mut pause = Pause::default();
        let seconds: Vec<u64> = (0..8).map(|_| pause.next_pause().as_secs()).collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 60, 60]);
    }
}
