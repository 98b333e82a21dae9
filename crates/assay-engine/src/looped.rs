//! A closed loop over several streams, on one target or in turns over several. Each value is one worker's part of one
//! copy of the loop.
//!
//! Each operation in flight takes one of the loop's slots. When it completes, the slot is free at once, or after a
//! pause of its own. The next operation is drawn when the first free slot issues it.

use crate::slots::{FreeSlots, difference};
use crate::source::{self, Next, Source};
use assay_base::{Instant, Op, Prng, Span};
use assay_model::address::Offsets;
use assay_model::generator::Generator;
use assay_model::mix::{Loop, Mix, Think};
use assay_model::turns::Turning;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// A stream of the loop on a target.
#[derive(Debug)]
pub(crate) struct Member {
    pub flow: usize,
    pub generator: Generator,
    /// The index of the cursor that it shares with other streams, if it shares one.
    pub cursor: Option<usize>,
    /// Whether each of its operations begins where the loop's last operation on the target ended.
    pub is_behind: bool,
}

/// How many operations of a flow were taken, and how many of them were counted as scheduled.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    pulled: u64,
    counted: u64,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Looped {
    members: Box<[Member]>,
    counts: Box<[Count]>,
    cursors: Box<[Offsets]>,
    /// For each target, the offset at which the last operation ended, for streams with `is_behind`.
    ended: Box<[Option<u64>]>,
    /// Decides which target comes next, if there are several.
    turning: Option<Box<Turning>>,
    /// The target whose turn it is, as an index into the targets of the loop.
    at: usize,
    mix: Mix,
    slots: Slots,
    /// The member whose operation was drawn last.
    next: usize,
    /// The next operation must not be issued before this, because its burst begins with a delay.
    not_before: Instant,
    pause: Span,
    /// Time that slots have waited by the rules of the loop, or will, since it was last counted: think times, delays of
    /// bursts, and what they wait for each other before they all pause together.
    paused: Span,
    in_flight: u32,
    prng: Prng,
}

impl Looped {
    /// A copy of `it` with `in_flight` slots in this worker, from `start` on. `members` are the streams, each on all
    /// targets of the loop; `turning` decides which target comes next, if there are several.
    pub(crate) fn new(
        it: &Loop,
        members: Vec<Member>,
        (cursors, mix, turning): (Vec<Offsets>, Mix, Option<(usize, Turning)>),
        in_flight: u32,
        (start, mut prng): (Instant, Prng),
    ) -> Looped {
        let mut mix = mix;
        let not_before = mix.begins(start, &mut prng);
        Looped {
            counts: vec![Count::default(); members.len()].into(),
            members: members.into(),
            cursors: cursors.into(),
            ended: vec![None; turning.as_ref().map_or(1, |(targets, _)| *targets)].into(),
            turning: turning.map(|(_, turning)| Box::new(turning)),
            at: 0,
            mix,
            slots: Slots::new(it.think, in_flight, start),
            next: 0,
            not_before,
            pause: it.pause(),
            paused: Span::ZERO,
            in_flight,
            prng,
        }
    }
}

impl Looped {
    /// Takes a slot for an operation that does not belong to a stream of the loop, and returns the intended time of
    /// that operation.
    pub(crate) fn take_slot(&mut self) -> Instant {
        let wanted = self.due();
        self.paused = self.paused + wanted.since(self.slots.take());
        wanted
    }

    /// The operation of the member that was drawn last.
    #[inline(always)]
    fn operation(&mut self, wanted: Instant) -> Op {
        let member = &mut self.members[self.next];
        let op = match (member.cursor, self.ended[self.at].filter(|_| member.is_behind)) {
            (None, None) => member.generator.operation(wanted),
            (None, Some(ended)) => member.generator.operation_behind(ended, wanted),
            (Some(cursor), _) => member.generator.operation_of(&mut self.cursors[cursor], wanted),
        };
        self.ended[self.at] = Some(op.offset + u64::from(op.len));
        op
    }

    /// Gives the slot of such an operation back. No pause follows, and the operation does not count towards the next
    /// pause.
    pub(crate) fn give_slot_back(&mut self, completed: Instant) {
        self.slots.give_back_unused(completed, &mut self.prng);
    }
}

impl Source for Looped {
    type Request = Op;

    #[inline(never)]
    fn due(&self) -> Instant {
        let free = self.slots.free();
        if free == Instant::FAR { free } else { free.max(self.not_before) }
    }

    #[inline(never)]
    fn next(&mut self, _now: Instant) -> Next {
        self.next = self.mix.next(&mut self.prng);
        if let Some(turning) = &mut self.turning {
            self.at = turning.next(&mut self.prng);
            self.next = self.next * self.ended.len() + self.at;
        }
        Next::Of(self.members[self.next].flow)
    }

    #[inline(never)]
    fn take(&mut self, _flow: usize) -> Op {
        let wanted = self.take_slot();
        self.counts[self.next].pulled += 1;
        // The delay of the next burst begins with the last operation of this one.
        self.not_before = self.mix.begins(wanted, &mut self.prng);
        self.operation(wanted)
    }

    fn draws_ahead(&self) -> bool {
        let moves = self.members.iter().any(|member| member.generator.moves_with_time())
            || self.cursors.iter().any(Offsets::move_with_time);
        self.pause.is_zero() && self.turning.is_none() && matches!(self.slots, Slots::Plain(_)) && !moves
    }

    #[inline(never)]
    fn draw(&mut self, now: Instant) -> (usize, Op) {
        self.next = self.mix.next(&mut self.prng);
        // Bursts begin without a delay.
        self.mix.begins(now, &mut self.prng);
        (self.members[self.next].flow, self.operation(now))
    }

    #[inline(never)]
    fn take_drawn(&mut self, flow: usize) {
        self.take_slot();
        self.follow(flow);
    }

    #[inline(never)]
    fn follow(&mut self, flow: usize) {
        let member = self.members.iter().position(|member| member.flow == flow);
        self.counts[member.expect("what was drawn belongs to a stream of the loop")].pulled += 1;
    }

    #[inline(never)]
    fn returned(&mut self, _flow: usize, completed: Instant) {
        self.paused = self.paused + self.slots.give_back(completed, &mut self.prng);
    }

    fn is_open_loop(&self) -> bool {
        false
    }

    fn pause(&self) -> Span {
        self.pause
    }

    fn slots(&self) -> u32 {
        self.in_flight
    }

    fn free_slots(&mut self, at: Instant) -> source::Slots {
        source::Slots { open_ns: self.slots.open(at), paused: std::mem::take(&mut self.paused) }
    }

    fn count_until(&mut self, _end: Instant, mut count: impl FnMut(usize, u64, u64)) {
        for (member, own) in self.members.iter().zip(&mut self.counts) {
            count(member.flow, own.pulled - own.counted, 0);
            own.counted = own.pulled;
        }
    }
}

/// The slots of the loop: they are free at once when an operation completes, or they pause.
#[derive(Debug)]
enum Slots {
    /// Slots without pauses.
    Plain(FreeSlots),
    /// Each slot pauses by itself.
    Thinking(Box<Thinking>),
    /// All slots pause together.
    Together(Box<Together>),
}

/// Slots that pause together: after a number of completions nothing is issued until all operations in flight have
/// completed, and then for the pause.
#[derive(Debug)]
struct Together {
    think: Think,
    all: u32,
    free: FreeSlots,
    /// The free slots may not issue before this.
    not_before: Instant,
    /// Completions since the last pause.
    done: u32,
}

impl Together {
    fn stops(&self) -> bool {
        self.done >= self.think.every
    }

    /// When the first slot may issue.
    fn first(&self) -> Instant {
        match self.free.first() {
            _ if self.stops() => Instant::FAR,
            Instant::FAR => Instant::FAR,
            free => free.max(self.not_before),
        }
    }

    /// Gives a slot back. Its operation counts as `counts` completions: 0 or 1.
    fn give_back(&mut self, completed: Instant, counts: u32, prng: &mut Prng) {
        self.free.add(completed);
        self.done = self.done.saturating_add(counts);
        if self.stops() && self.free.len() == self.all {
            self.not_before = self.free.last() + self.think.next(prng);
            self.done = 0;
        }
    }
}

/// Slots that pause, each by itself. It is not known which slot a completed operation belongs to: it is taken to be the
/// slot that has been in flight longest. This changes neither how many slots pause nor for how long.
#[derive(Debug)]
struct Thinking {
    think: Think,
    /// For each free slot, when it may issue, and how many of its operations have completed since its last pause.
    free: BinaryHeap<Reverse<(Instant, u32)>>,
    /// For each slot in flight, how many of its operations have completed since its last pause; the slot in flight
    /// longest is first.
    flying: VecDeque<u32>,
}

impl Slots {
    fn new(think: Option<Think>, in_flight: u32, start: Instant) -> Slots {
        let all_free = FreeSlots::new(in_flight, start);
        let Some(think) = think else { return Slots::Plain(all_free) };
        if think.together {
            let (all, free, not_before, done) = (in_flight, all_free, start, 0);
            return Slots::Together(Box::new(Together { think, all, free, not_before, done }));
        }
        let mut free = BinaryHeap::with_capacity(in_flight as usize);
        free.extend((0..in_flight).map(|_| Reverse((start, 0))));
        Slots::Thinking(Box::new(Thinking { think, free, flying: VecDeque::with_capacity(in_flight as usize) }))
    }

    /// When the first slot may issue.
    #[inline(never)]
    fn free(&self) -> Instant {
        match self {
            Slots::Plain(free) => free.first(),
            Slots::Together(together) => together.first(),
            Slots::Thinking(thinking) => thinking.free.peek().map_or(Instant::FAR, |Reverse((at, _))| *at),
        }
    }

    /// Uses the first slot, and returns since when it could have been used, but for the rules of the whole loop.
    #[inline(never)]
    fn take(&mut self) -> Instant {
        match self {
            Slots::Plain(free) => free.take(),
            Slots::Together(together) => together.free.take(),
            Slots::Thinking(thinking) => {
                let Reverse((due, done)) = thinking.free.pop().expect("a loop is asked when a slot is free");
                thinking.flying.push_back(done);
                due
            }
        }
    }

    /// Gives a slot back; returns for how long it pauses, as far as that is its own pause.
    #[inline(never)]
    fn give_back(&mut self, completed: Instant, prng: &mut Prng) -> Span {
        match self {
            Slots::Plain(free) => free.add(completed),
            Slots::Together(together) => together.give_back(completed, 1, prng),
            Slots::Thinking(thinking) => return thinking.give_back(completed, prng),
        }
        Span::ZERO
    }

    /// Gives back a slot whose operation does not count as a completion.
    #[inline(never)]
    fn give_back_unused(&mut self, completed: Instant, prng: &mut Prng) {
        match self {
            Slots::Plain(free) => free.add(completed),
            Slots::Together(together) => together.give_back(completed, 0, prng),
            Slots::Thinking(thinking) => {
                let done = thinking.flying.pop_front().expect("what comes back was in flight");
                thinking.free.push(Reverse((completed, done)));
            }
        }
    }

    /// The sum of the times since the free slots could have been used at `at`.
    fn open(&self, at: Instant) -> i64 {
        match self {
            Slots::Plain(free) => free.open(at),
            Slots::Together(together) => together.free.open(at),
            Slots::Thinking(thinking) => {
                let open = |sum: i64, slot: &Reverse<(Instant, u32)>| sum.saturating_add(difference(at, slot.0.0));
                thinking.free.iter().fold(0, open)
            }
        }
    }
}

impl Thinking {
    fn give_back(&mut self, completed: Instant, prng: &mut Prng) -> Span {
        let done = self.flying.pop_front().expect("what comes back was in flight") + 1;
        let (pause, done) = if done >= self.think.every { (self.think.next(prng), 0) } else { (Span::ZERO, done) };
        self.free.push(Reverse((completed + pause, done)));
        pause
    }
}
