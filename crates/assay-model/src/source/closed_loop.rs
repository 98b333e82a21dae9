//! A closed loop over several streams, on one target or in turns over several. Each value is one worker's part of one
//! copy of the loop.
//!
//! Each operation in flight takes one of the loop's slots. When it completes, the slot is free at once, or after a
//! pause of its own. The next operation is drawn when the first free slot issues it.

use crate::address::Offsets;
use crate::generator::Generator;
use crate::mix::{Loop, Mix};
use crate::source::loop_slots::LoopSlots;
use crate::turns::Turning;
use assay_base::source::{FreeSlotTimes, NextRequest, Source};
use assay_base::{Instant, Op, Prng, Span};

/// A stream of the loop on a target.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) flow: usize,
    pub(super) generator: Generator,
    /// The index of the cursor that it shares with other streams, if it shares one.
    pub(super) cursor: Option<usize>,
    /// Whether each of its operations begins where the loop's last operation on the target ended.
    pub(super) is_behind: bool,
}

/// How many operations of a flow were taken, and how many of them were counted as scheduled.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    pulled: u64,
    counted: u64,
}

/// The targets of the loop. A target is named by its position among them.
#[derive(Debug)]
struct LoopTargets {
    /// For each target, the offset at which the last operation ended, for streams with `is_behind`.
    ended: Box<[Option<u64>]>,
    /// Decides which target comes next, if there are several.
    turning: Option<Box<Turning>>,
    /// The target whose turn it is.
    current: usize,
}

/// What a copy of a loop draws its operations from.
#[derive(Debug)]
pub(super) struct LoopDraws {
    /// The streams, each on all targets of the loop: those of one target after the other, for each stream.
    pub(super) members: Vec<Member>,
    /// The cursors that members share.
    pub(super) cursors: Vec<Offsets>,
    /// Decides which stream comes next.
    pub(super) mix: Mix,
    /// The number of targets, and what decides which of them comes next; `None` for a loop on one target.
    pub(super) turning: Option<(usize, Turning)>,
    /// Random numbers for the rules of the loop.
    pub(super) prng: Prng,
}

/// One worker's part of one copy of a closed loop.
#[derive(Debug)]
pub(super) struct LoopSource {
    members: Box<[Member]>,
    counts: Box<[Count]>,
    cursors: Box<[Offsets]>,
    targets: LoopTargets,
    mix: Mix,
    slots: LoopSlots,
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

impl LoopSource {
    /// A copy of `closed_loop` with `in_flight` slots in this worker, from `start` on.
    pub(super) fn new(closed_loop: &Loop, draws: LoopDraws, in_flight: u32, start: Instant) -> LoopSource {
        let LoopDraws { members, cursors, mut mix, turning, mut prng } = draws;
        let not_before = mix.earliest_issue(start, &mut prng);
        let targets = LoopTargets {
            ended: vec![None; turning.as_ref().map_or(1, |(targets, _)| *targets)].into(),
            turning: turning.map(|(_, turning)| Box::new(turning)),
            current: 0,
        };
        LoopSource {
            counts: vec![Count::default(); members.len()].into(),
            members: members.into(),
            cursors: cursors.into(),
            targets,
            mix,
            slots: LoopSlots::new(closed_loop.think, in_flight, start),
            next: 0,
            not_before,
            pause: closed_loop.longest_pause(),
            paused: Span::ZERO,
            in_flight,
            prng,
        }
    }
}

impl LoopSource {
    /// Takes a slot for an operation that does not belong to a stream of the loop, and returns the intended time of
    /// that operation.
    pub(super) fn take_slot(&mut self) -> Instant {
        let wanted = self.next_due();
        self.paused = self.paused + wanted.since(self.slots.take_first());
        wanted
    }

    /// The operation of the member that was drawn last.
    #[inline(always)]
    fn operation_for_member(&mut self, wanted: Instant) -> Op {
        let member = &mut self.members[self.next];
        let ended = &mut self.targets.ended[self.targets.current];
        let op = match (member.cursor, ended.filter(|_| member.is_behind)) {
            (None, None) => member.generator.next_operation(wanted),
            (None, Some(ended)) => member.generator.operation_behind(ended, wanted),
            (Some(cursor), _) => member.generator.operation_of(&mut self.cursors[cursor], wanted),
        };
        *ended = Some(op.offset + u64::from(op.len));
        op
    }

    /// Gives the slot of such an operation back. No pause follows, and the operation does not count towards the next
    /// pause.
    pub(super) fn give_slot_back(&mut self, completed: Instant) {
        self.slots.give_back_unused(completed, &mut self.prng);
    }
}

impl Source for LoopSource {
    type Request = Op;

    #[inline(never)]
    fn next_due(&self) -> Instant {
        let free = self.slots.first_free();
        if free == Instant::FAR { free } else { free.max(self.not_before) }
    }

    #[inline(never)]
    fn next(&mut self, _now: Instant) -> NextRequest {
        self.next = self.mix.next_stream(&mut self.prng);
        let LoopTargets { ended, turning, current } = &mut self.targets;
        if let Some(turning) = turning {
            *current = turning.next_target(&mut self.prng);
            self.next = self.next * ended.len() + *current;
        }
        NextRequest::Of(self.members[self.next].flow)
    }

    #[inline(never)]
    fn take_request(&mut self, _flow: usize) -> Op {
        let wanted = self.take_slot();
        self.counts[self.next].pulled += 1;
        // The delay of the next burst begins with the last operation of this one.
        self.not_before = self.mix.earliest_issue(wanted, &mut self.prng);
        self.operation_for_member(wanted)
    }

    fn draws_ahead(&self) -> bool {
        let moves = self.members.iter().any(|member| member.generator.moves_with_time())
            || self.cursors.iter().any(Offsets::moves_with_time);
        self.pause.is_zero() && self.targets.turning.is_none() && matches!(self.slots, LoopSlots::Plain(_)) && !moves
    }

    #[inline(never)]
    fn draw_ahead(&mut self, now: Instant) -> (usize, Op) {
        self.next = self.mix.next_stream(&mut self.prng);
        // Bursts begin without a delay.
        self.mix.earliest_issue(now, &mut self.prng);
        (self.members[self.next].flow, self.operation_for_member(now))
    }

    #[inline(never)]
    fn take_drawn(&mut self, flow: usize) {
        self.take_slot();
        self.note_followed(flow);
    }

    #[inline(never)]
    fn note_followed(&mut self, flow: usize) {
        let member = self.members.iter().position(|member| member.flow == flow);
        self.counts[member.expect("what was drawn belongs to a stream of the loop")].pulled += 1;
    }

    #[inline(never)]
    fn note_completed(&mut self, _flow: usize, completed: Instant) {
        self.paused = self.paused + self.slots.give_back(completed, &mut self.prng);
    }

    fn is_open_loop(&self) -> bool {
        false
    }

    fn pause_after_completion(&self) -> Span {
        self.pause
    }

    fn slot_count(&self) -> u32 {
        self.in_flight
    }

    fn free_slots(&mut self, at: Instant) -> FreeSlotTimes {
        FreeSlotTimes { open_ns: self.slots.open_time(at), paused: std::mem::take(&mut self.paused) }
    }

    fn count_until(&mut self, _end: Instant, mut count: impl FnMut(usize, u64, u64)) {
        for (member, own) in self.members.iter().zip(&mut self.counts) {
            count(member.flow, own.pulled - own.counted, 0);
            own.counted = own.pulled;
        }
    }
}
