//! The requests in flight: the slots of all targets, and the lanes that divide them.

use crate::lateness::held_back::HeldBack;
use crate::lateness::queue_full::QueueFull;
use assay_base::{Completion, Instant, Request, Ticket};
use assay_model::Plan;
use assay_model::arrival::Part;

/// A request between submission and completion.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot<R> {
    pub flow: u16,
    /// The source it came from.
    pub source: u16,
    live: bool,
    pub stuck: bool,
    /// Its payload asks to examine it when it completes.
    pub look: bool,
    /// Its rest was requested: it completed short once.
    pub rest: bool,
    /// It was counted as completed when it was issued: until then it only occupies its slot.
    pub counted: bool,
    pub request: R,
    pub intended: Instant,
    pub submitted: Instant,
    /// When it would have been issued if the device had not delayed it.
    pub held: Instant,
}

/// The source and the flow that a request belongs to, each by its index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    pub source: usize,
    pub flow: usize,
}

impl<R> Slot<R> {
    /// Whether its request is in flight, not counted as completed and not known to be stuck.
    fn is_missed(&self) -> bool {
        self.live && !self.counted && !self.stuck
    }
}

/// The facts about a short request while its rest is in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begun {
    pub ticket: Ticket,
    /// Bytes moved by its first part.
    pub moved: u32,
    /// When its first part was issued, and when that hand-over returned.
    pub issued: Instant,
    pub accepted: Instant,
}

/// The slots of one target that some streams share.
#[derive(Debug)]
pub(crate) struct Lane {
    free: Vec<Ticket>,
    pub full: QueueFull,
    slots: usize,
    /// When those requests complete, or completed, that were counted when they were issued and have no slot.
    pub early: Vec<Instant>,
}

impl Lane {
    #[inline(always)]
    pub(crate) fn has_room(&self) -> bool {
        !self.free.is_empty()
    }

    /// Whether the requests without a slot may be as many as the slots left for them, seen from `now`.
    #[inline]
    pub(crate) fn may_be_full(&mut self, now: Instant) -> bool {
        self.early.len() >= self.free.len() && self.forgets_too_few(now)
    }

    /// Drops those that have completed by `now`; true when the rest would need half of the slots or more, so that this
    /// is done once for many requests.
    #[cold]
    fn forgets_too_few(&mut self, now: Instant) -> bool {
        self.early.retain(|completed| *completed > now);
        self.early.len() * 2 >= self.free.len()
    }

    /// Takes a slot.
    pub(crate) fn take_ticket(&mut self) -> Ticket {
        self.free.pop().expect("only a lane with a free slot is asked for one")
    }
}

/// The slots of all targets, and the lanes that divide them.
#[derive(Debug)]
pub(crate) struct Queue<R> {
    slots: Vec<Slot<R>>,
    /// All lanes of the first target, then those of the second, and so on.
    pub lanes: Vec<Lane>,
    /// Short requests whose rest is in flight.
    pub begun: Vec<Begun>,
    /// Number of slots beyond those of the lanes, for requests that are prepared.
    spare: usize,
}

/// A worker's share of a bound, at least 1.
pub(crate) fn share_of_bound(bound: u32, part: Part) -> u32 {
    let bound = u64::from(bound);
    (bound / part.of + u64::from(part.index < bound % part.of)).max(1) as u32
}

/// The bounds of all lanes in the worker of `part`, target by target; the first lane of each target is the one shared by
/// all streams without one of their own, and holds `shared` operations where there are such streams.
pub(crate) fn lane_bounds(plan: &Plan, part: Part, shared: u32) -> Vec<u32> {
    let mut bounds = Vec::new();
    for lanes in plan.load.lane_bounds() {
        for (lane, bound) in lanes.into_iter().enumerate() {
            bounds.push(match (lane, bound) {
                (_, 0) => 0,
                (0, _) => shared,
                (_, own) => share_of_bound(own, part),
            });
        }
    }
    bounds
}

impl<R: Request> Queue<R> {
    /// Lanes of `bounds` slots, those of all targets, and `spare` slots besides, in a run that begins at `start`.
    pub(crate) fn new(bounds: &[u32], spare: u32, start: Instant) -> Queue<R> {
        let mut tickets = (0..).map(Ticket);
        let mut lanes = Vec::with_capacity(bounds.len());
        for bound in bounds {
            let mut free: Vec<Ticket> = tickets.by_ref().take(*bound as usize).collect();
            free.reverse();
            lanes.push(Lane { free, full: QueueFull::new(start), slots: *bound as usize, early: Vec::new() });
        }
        let slots: usize = lanes.iter().map(|lane| lane.slots).sum();
        let empty = Slot {
            flow: 0,
            source: 0,
            live: false,
            stuck: false,
            look: false,
            rest: false,
            counted: false,
            request: R::default(),
            intended: start,
            submitted: start,
            held: start,
        };
        let spare = spare as usize;
        Queue { slots: vec![empty; slots + spare], lanes, begun: Vec::new(), spare }
    }

    /// The slot that a completion belongs to.
    #[inline(always)]
    pub(crate) fn live_slot(&self, ticket: Ticket) -> &Slot<R> {
        let slot = self.last_content(ticket);
        assert!(slot.live, "a ticket completes once for each submission");
        slot
    }

    /// The content of a slot, or its last content: it stays until the slot is taken again.
    #[inline(always)]
    pub(crate) fn last_content(&self, ticket: Ticket) -> &Slot<R> {
        &self.slots[ticket.0 as usize]
    }

    /// Whether a request still occupies its slot.
    pub(crate) fn is_live(&self, ticket: Ticket) -> bool {
        self.slots[ticket.0 as usize].live
    }

    /// Takes a slot of `lane` for a request that was due at `due` and is issued `now`; [`Queue::fill_slot`] fills it.
    #[inline(always)]
    pub(crate) fn take_slot(&mut self, lane: usize, now: Instant, due: Instant, held: &HeldBack) -> Ticket {
        let lane = &mut self.lanes[lane];
        let ticket = lane.free.pop().expect("only a source whose lane has a free slot is asked");
        if lane.free.is_empty() {
            lane.full.note_full(now, due, held.blocked_within(due, now));
        }
        ticket
    }

    /// Fills a slot with a request that is in flight; `times` are `intended`, `submitted` and
    /// `held`. Written out field by field: another copy of the struct would cost 4 % on the null device.
    #[inline(always)]
    pub(crate) fn fill_slot(&mut self, ticket: Ticket, origin: Origin, request: R, times: [Instant; 3], look: bool) {
        let slot = &mut self.slots[ticket.0 as usize];
        (slot.flow, slot.source) = (origin.flow as u16, origin.source as u16);
        (slot.live, slot.stuck, slot.look, slot.rest, slot.counted) = (true, false, look, false, false);
        slot.request = request;
        [slot.intended, slot.submitted, slot.held] = times;
    }

    /// Fills a spare slot with a request that is prepared.
    #[inline]
    pub(crate) fn fill_spare_slot(&mut self, ticket: Ticket, origin: Origin, request: R, look: bool) {
        self.fill_slot(ticket, origin, request, [Instant::ZERO; 3], look);
        self.slots[ticket.0 as usize].live = false;
    }

    /// A prepared request has the place of one that completed at `completed`, and is in flight from then on. The slot of
    /// the other one is a spare one now.
    #[inline]
    pub(crate) fn pass_on(&mut self, completed: Instant, from: Ticket, to: Ticket) {
        self.slots[from.0 as usize].live = false;
        let slot = &mut self.slots[to.0 as usize];
        assert!(!slot.live, "what is prepared is not in flight");
        slot.live = true;
        (slot.intended, slot.submitted, slot.held) = (completed, completed, completed);
    }

    /// Fills a slot for a request that was counted when it was issued.
    pub(crate) fn put_counted(&mut self, ticket: Ticket, origin: Origin, now: Instant) {
        self.fill_slot(ticket, origin, R::default(), [now; 3], false);
        self.slots[ticket.0 as usize].counted = true;
    }

    /// Notes that the rest of a request is in flight.
    pub(crate) fn add_rest(&mut self, begun: Begun) {
        self.slots[begun.ticket.0 as usize].rest = true;
        self.begun.push(begun);
    }

    /// Frees a slot; true when its request was found together with the first one of a full queue.
    #[inline(always)]
    pub(crate) fn free_slot(&mut self, now: Instant, lane: usize, completion: &Completion) -> bool {
        self.slots[completion.ticket.0 as usize].live = false;
        let lane = &mut self.lanes[lane];
        let was_full = lane.free.is_empty();
        lane.free.push(completion.ticket);
        lane.full.note_freed(now, completion.completed, was_full, lane.free.len() == lane.slots)
    }

    /// Marks requests in flight as stuck for which `is_stuck` holds and which are not marked yet; calls `tell` for
    /// each.
    pub(crate) fn mark_stuck(&mut self, is_stuck: impl Fn(&Slot<R>) -> bool, mut report: impl FnMut(&Slot<R>)) {
        for slot in self.slots.iter_mut().filter(|slot| slot.is_missed() && is_stuck(slot)) {
            slot.stuck = true;
            report(slot);
        }
    }

    /// The slots that requests have.
    pub(crate) fn taken_slots(&self) -> impl Iterator<Item = &Slot<R>> {
        self.slots.iter().filter(|slot| slot.live)
    }

    /// Asserts that every slot is either free or taken.
    pub(crate) fn assert_whole(&self) {
        let free: usize = self.lanes.iter().map(|lane| lane.free.len()).sum();
        let live = self.slots.iter().filter(|slot| slot.live).count();
        assert_eq!(free + live + self.spare, self.slots.len(), "each slot is free, taken or a spare one");
        let mut free = self.lanes.iter().flat_map(|lane| &lane.free);
        assert!(!free.any(|ticket| self.slots[ticket.0 as usize].live), "no slot is both");
    }

    /// Whether a slot is occupied by a request that was counted when it was issued.
    pub(crate) fn has_counted(&self) -> bool {
        self.slots.iter().any(|slot| slot.live && slot.counted)
    }
}
