//! The slots of one worker's part of a closed loop, and how they pause after completions.

use crate::mix::Think;
use crate::source::free_slots::{FreeSlots, signed_difference};
use assay_base::{Instant, Prng, Span};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// The slots of the loop: they are free at once when an operation completes, or they pause.
#[derive(Debug)]
pub(super) enum LoopSlots {
    /// Slots without pauses.
    Plain(FreeSlots),
    /// Each slot pauses by itself.
    Thinking(Box<Thinking>),
    /// All slots pause together.
    PauseTogether(Box<PauseTogether>),
}

/// Slots that pause together: after a number of completions nothing is issued until all operations in flight have
/// completed, and then for the pause.
#[derive(Debug)]
pub(super) struct PauseTogether {
    think: Think,
    all: u32,
    free: FreeSlots,
    /// The free slots may not issue before this.
    not_before: Instant,
    /// Completions since the last pause.
    done: u32,
}

impl PauseTogether {
    /// Whether nothing is issued until all operations in flight have completed.
    fn is_pause_due(&self) -> bool {
        self.done >= self.think.every
    }

    /// When the first slot may issue.
    fn first_issue(&self) -> Instant {
        match self.free.first_free_since() {
            _ if self.is_pause_due() => Instant::FAR,
            Instant::FAR => Instant::FAR,
            free => free.max(self.not_before),
        }
    }

    /// Gives a slot back. Its operation counts as `counts` completions: 0 or 1.
    fn give_back(&mut self, completed: Instant, counts: u32, prng: &mut Prng) {
        self.free.add_slot(completed);
        self.done = self.done.saturating_add(counts);
        if self.is_pause_due() && self.free.len() == self.all {
            self.not_before = self.free.last_free_since() + self.think.next_pause(prng);
            self.done = 0;
        }
    }
}

/// Slots that pause, each by itself. It is not known which slot a completed operation belongs to: it is taken to be the
/// slot that has been in flight longest. This changes neither how many slots pause nor for how long.
#[derive(Debug)]
pub(super) struct Thinking {
    think: Think,
    /// For each free slot, when it may issue, and how many of its operations have completed since its last pause.
    free: BinaryHeap<Reverse<(Instant, u32)>>,
    /// For each slot in flight, how many of its operations have completed since its last pause; the slot in flight
    /// longest is first.
    flying: VecDeque<u32>,
}

impl LoopSlots {
    pub(super) fn new(think: Option<Think>, in_flight: u32, start: Instant) -> LoopSlots {
        let all_free = FreeSlots::new(in_flight, start);
        let Some(think) = think else { return LoopSlots::Plain(all_free) };
        if think.together {
            let (all, free, not_before, done) = (in_flight, all_free, start, 0);
            return LoopSlots::PauseTogether(Box::new(PauseTogether { think, all, free, not_before, done }));
        }
        let mut free = BinaryHeap::with_capacity(in_flight as usize);
        free.extend((0..in_flight).map(|_| Reverse((start, 0))));
        LoopSlots::Thinking(Box::new(Thinking { think, free, flying: VecDeque::with_capacity(in_flight as usize) }))
    }

    /// When the first slot may issue.
    #[inline(never)]
    pub(super) fn first_free(&self) -> Instant {
        match self {
            LoopSlots::Plain(free) => free.first_free_since(),
            LoopSlots::PauseTogether(together) => together.first_issue(),
            LoopSlots::Thinking(thinking) => thinking.free.peek().map_or(Instant::FAR, |Reverse((at, _))| *at),
        }
    }

    /// Uses the first slot, and returns since when it could have been used, but for the rules of the whole loop.
    #[inline(never)]
    pub(super) fn take_first(&mut self) -> Instant {
        match self {
            LoopSlots::Plain(free) => free.take_first(),
            LoopSlots::PauseTogether(together) => together.free.take_first(),
            LoopSlots::Thinking(thinking) => {
                let Reverse((due, done)) = thinking.free.pop().expect("a loop is asked when a slot is free");
                thinking.flying.push_back(done);
                due
            }
        }
    }

    /// Gives a slot back; returns for how long it pauses, as far as that is its own pause.
    #[inline(never)]
    pub(super) fn give_back(&mut self, completed: Instant, prng: &mut Prng) -> Span {
        match self {
            LoopSlots::Plain(free) => free.add_slot(completed),
            LoopSlots::PauseTogether(together) => together.give_back(completed, 1, prng),
            LoopSlots::Thinking(thinking) => return thinking.give_back(completed, prng),
        }
        Span::ZERO
    }

    /// Gives back a slot whose operation does not count as a completion.
    #[inline(never)]
    pub(super) fn give_back_unused(&mut self, completed: Instant, prng: &mut Prng) {
        match self {
            LoopSlots::Plain(free) => free.add_slot(completed),
            LoopSlots::PauseTogether(together) => together.give_back(completed, 0, prng),
            LoopSlots::Thinking(thinking) => {
                let done = thinking.flying.pop_front().expect("what comes back was in flight");
                thinking.free.push(Reverse((completed, done)));
            }
        }
    }

    /// The sum of the times since the free slots could have been used at `at`.
    pub(super) fn open_time(&self, at: Instant) -> i64 {
        match self {
            LoopSlots::Plain(free) => free.open_time(at),
            LoopSlots::PauseTogether(together) => together.free.open_time(at),
            LoopSlots::Thinking(thinking) => {
                thinking.free.iter().fold(0, |sum: i64, slot| sum.saturating_add(signed_difference(at, slot.0.0)))
            }
        }
    }
}

impl Thinking {
    /// Gives a slot back; returns for how long it pauses.
    fn give_back(&mut self, completed: Instant, prng: &mut Prng) -> Span {
        let done = self.flying.pop_front().expect("what comes back was in flight") + 1;
        let (pause, done) =
            if done >= self.think.every { (self.think.next_pause(prng), 0) } else { (Span::ZERO, done) };
        self.free.push(Reverse((completed + pause, done)));
        pause
    }
}
