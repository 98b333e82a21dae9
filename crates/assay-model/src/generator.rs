//! The operations of one flow of a plan: those of a stream on one target, as one of several workers issues them.

use crate::address::{Offsets, Space, common_power};
use crate::arrival::{
    Batches, Bursty, Clock, CurveStart, OwnPart, Part, Poisson, Schedule, Shared, SharedSchedule, Steady, Varying,
};
use crate::plan::{Address, Arrival, Block, Plan};
use crate::size::{BlockSizes, Size};
use assay_base::{Bytes, Direction, Geometry, Instant, Op, Prng, Share, Span};

/// The operations of one flow, as one of several workers issues them. Pure and seeded: the same plan, flow and worker
/// give the same operations.
#[derive(Clone, Debug)]
pub struct Generator {
    target: u16,
    direction: Direction,
    durable: bool,
    sizes: BlockSizes,
    /// Where its part of the target begins.
    begin: u64,
    offsets: Offsets,
    /// The operations of one moment that are left, the first one last; `None` where each has a moment of its own.
    batch: Option<Box<Batch>>,
    prng: Prng,
    /// Intended times; `None` for a closed loop.
    pub schedule: Option<Schedule>,
    /// Number of operations that a closed loop keeps in flight in this worker.
    pub in_flight: u32,
    /// A closed loop's pause after a completion.
    pub pause: Span,
    /// Number of operations that a closed loop issues in this worker.
    pub operations: u64,
}

/// The share that one worker has of a flow.
#[derive(Clone, Copy, Debug)]
pub struct FlowShare {
    /// The stream, by its position in the plan.
    pub stream: u16,
    /// The target, by its number.
    pub target: u16,
    /// Size and block size of the target.
    pub geometry: Geometry,
    /// The worker among those that share the flow, or the copy of its loop.
    pub worker: Part,
    /// The copy of the stream's loop, counted from 1; 0 for a stream without a loop.
    pub copy: u32,
    /// The beginning of the run.
    pub start: Instant,
    /// The beginning of the stream.
    pub begins: Instant,
}

/// Operations that are wanted at one moment.
#[derive(Clone, Debug)]
struct Batch {
    of: u32,
    /// Offset and length of those that are left, in descending order.
    left: Vec<(u64, u32)>,
}

/// Purposes of the random generators of one flow, so that none disturbs another.
const FOR_ARRIVAL: u64 = 1;
const FOR_ADDRESS: u64 = 2;
/// Of a stream on all its targets in all workers, which burst together.
const FOR_STATES: u64 = 4;
/// Of the turns over the targets of a schedule that streams share.
const FOR_TURNS: u64 = 6;
/// The seed of the orders of places, which is the same in each run.
const PLACES: u64 = 0x706c_6163_6573;
/// In the path of the generator of a loop's draws.
pub const FOR_LOOP: u64 = 5;
/// The last step of the path of a flow's content generator.
pub const FOR_CONTENT: u64 = 3;

/// How much later than at the beginning a steady stream has its first operation, in 1024ths of its period. Streams are
/// shifted against each other by the golden ratio, so that no two begin in step.
fn shift_of(stream: u16) -> u64 {
    (u64::from(stream) * 633) % 1024
}

/// The operations of `stream` in a schedule that it shares with other streams: every flow goes through all of it. `own`
/// does not say yet which of these streams it is.
fn shared_schedule(
    plan: &Plan,
    stream: u16,
    schedule: &SharedSchedule,
    begins: Instant,
    own: OwnPart,
) -> Option<Shared> {
    let (mut clocks, mut first, mut place) = (Vec::new(), None, None);
    for (at, other) in (0..).zip(&plan.load.streams) {
        let Arrival::Shared { rate, even, schedule: theirs } = &other.arrival else { continue };
        if theirs.name != schedule.name {
            continue;
        }
        first.get_or_insert(at);
        place = place.or((at == stream).then_some(clocks.len()));
        let whole = Part { index: 0, of: 1 };
        let seed = Prng::for_path(plan.load.seed, &[u64::from(at), FOR_STATES]);
        clocks.push(if *even {
            Clock::Even(Steady::new(begins, *rate, whole, shift_of(at))?)
        } else {
            Clock::Independent(Box::new(Poisson::new(begins, *rate, seed)?))
        });
    }
    let turns = Prng::for_path(plan.load.seed, &[u64::from(first?), FOR_TURNS]);
    Shared::new(schedule, clocks, plan.load.targets_of(stream).count(), turns, OwnPart { stream: place?, ..own })
}

/// The number of operations that a worker keeps in flight on a target; 0 for a stream with a schedule.
fn slots_of_worker(arrival: &Arrival, worker: Part) -> u32 {
    match *arrival {
        Arrival::Closed { in_flight } => {
            let in_flight = u64::from(in_flight);
            (in_flight / worker.of + u64::from(worker.index < in_flight % worker.of)) as u32
        }
        // There is one sequential walk per target, for any number of workers.
        Arrival::Paced { .. } => u32::from(worker.index == 0),
        _ => 0,
    }
}

/// How many of `all` operations of a closed loop the worker issues that keeps `in_flight` of them in flight: the workers
/// that have any divide them.
fn share_of(all: u64, in_flight: u32, arrival: &Arrival, worker: Part) -> u64 {
    let workers = match arrival {
        Arrival::Closed { in_flight } => worker.of.min((*in_flight).into()).max(1),
        _ => 1,
    };
    if in_flight == 0 { 0 } else { all / workers + u64::from(worker.index < all % workers) }
}

/// What flushes are as writes: durable ones of no bytes, always at the same place ([`Op::flush_on_target`]).
fn of_no_bytes() -> Block {
    Block {
        direction: Direction::Write,
        durable: true,
        filled_with: None,
        size: Size::from_fixed(Bytes::new(0)),
        address: Address::Sequential,
        extent: None,
        places: None,
        compress_to: Share::WHOLE,
        duplicates: Share::default(),
    }
}

impl FlowShare {
    /// The random numbers of this share for a purpose, so that none disturbs another.
    fn prng_for(&self, plan: &Plan, purpose: u64) -> Prng {
        let own = [u64::from(self.stream), u64::from(self.target), self.worker.index, purpose];
        let of_copy = (self.copy > 0).then_some(u64::from(self.copy));
        let path: Vec<u64> = own.into_iter().chain(of_copy).collect();
        Prng::for_path(plan.load.seed, &path)
    }
}

impl FlowShare {
    /// The random numbers of the commits of a stream of groups, and of the bytes that some of them have more.
    pub(crate) fn prng_for_commits(&self, plan: &Plan) -> Prng {
        self.prng_for(plan, FOR_ARRIVAL)
    }

    /// See [`FlowShare::prng_for_commits`].
    pub(crate) fn prng_for_images(&self, plan: &Plan) -> Prng {
        self.prng_for(plan, FOR_ADDRESS)
    }
}

impl Generator {
    /// The share of `worker` in the flow of `stream` (by index) on `target`, which has `geometry`, in a run that begins
    /// at `start`. `None` when a rate does not fit.
    pub fn new(
        plan: &Plan,
        stream: u16,
        target: u16,
        geometry: Geometry,
        worker: Part,
        start: Instant,
    ) -> Option<Generator> {
        let begins = plan.stream_begin(stream, start);
        Generator::for_share(plan, &FlowShare { stream, target, geometry, worker, copy: 0, start, begins })
    }

    /// The operations of a worker's share of a flow. `None` when a rate does not fit.
    pub fn for_share(plan: &Plan, share: &FlowShare) -> Option<Generator> {
        let FlowShare { stream, target, geometry, worker, copy, start, begins } = *share;
        let described = plan.load.streams.get(usize::from(stream))?;
        let flushes = described.as_flush().map(|_| of_no_bytes());
        let block = described.as_block().or(flushes.as_ref())?;
        let Block { direction, durable, ref size, ref address, extent, .. } = *block;
        let of_copy = (copy > 0).then_some(u64::from(copy));
        let targets = plan.load.targets_of(stream).count() as u64;
        let place = plan.load.targets_of(stream).position(|own| own == target)? as u64;
        let part = Part { index: place + targets * worker.index, of: targets * worker.of };
        let (begin, length) =
            extent.map_or((0, geometry.size), |extent| extent.range_within(geometry.size, geometry.block));
        let shift = shift_of(stream);
        let zero = start + plan.timing.warm_up().longest_warm_up();
        let (until_zero, before) = (zero.since(begins), plan.carried_over.time + begins.since(zero));
        let standing = CurveStart { start: begins, until_zero, before };
        let schedule = match &described.arrival {
            Arrival::Steady { rate } => Some(Schedule::from_steady(begins, *rate, part, shift)?),
            Arrival::Poisson { rate } => {
                Some(Schedule::from_poisson(begins, *rate, part, share.prng_for(plan, FOR_ARRIVAL))?)
            }
            Arrival::Varying { rate, curve, even } => {
                let spaced = if *even { Ok(shift) } else { Err(share.prng_for(plan, FOR_ARRIVAL)) };
                Some(Schedule::Varying(Box::new(Varying::new(standing, *rate, curve, part, spaced)?)))
            }
            Arrival::Bursty { rate, bursts } => {
                let states = Prng::for_path(plan.load.seed, &[u64::from(stream), FOR_STATES]);
                let bursty = Bursty::new(begins, *rate, *bursts, part, states, share.prng_for(plan, FOR_ARRIVAL))?;
                Some(Schedule::Bursty(Box::new(bursty)))
            }
            Arrival::Batches { rate, batch } => {
                Some(Schedule::Batches(Batches::new(begins, *rate, *batch, part, share.prng_for(plan, FOR_ARRIVAL))?))
            }
            Arrival::Shared { schedule, .. } => {
                let own = OwnPart { stream: 0, target: place as usize, worker };
                Some(Schedule::Shared(Box::new(shared_schedule(plan, stream, schedule, begins, own)?)))
            }
            // Wanted when the stream that it follows has come far enough, at times of its own, or when commits wait.
            Arrival::Following { .. } | Arrival::Recorded { .. } | Arrival::Grouped(_) => None,
            Arrival::Closed { .. } | Arrival::Paced { .. } | Arrival::Looped { .. } | Arrival::InSequence => None,
        };
        let in_flight = slots_of_worker(&described.arrival, worker);
        let pause = if let Arrival::Paced { pause } = described.arrival { pause } else { Span::ZERO };
        let walk = if matches!(described.arrival, Arrival::Paced { .. }) { Part { index: 0, of: 1 } } else { worker };
        let sizes = if flushes.is_some() { BlockSizes::of_no_bytes() } else { size.in_blocks(geometry.block) };
        let space = Space {
            length,
            block: geometry.block.into(),
            largest: plan.load.largest_at_cursor(stream, geometry.block),
            common: common_power(plan.load.step_of(stream, geometry.block)),
            part: walk,
            // Independent of the run's seed: what is hot in one run is hot in the next one.
            key: Prng::for_path(PLACES, &[u64::from(plan.load.places_of(stream)), u64::from(target)]).next_u64(),
            zero: start,
            before: plan.carried_over.time,
            seen: plan.carried_over.seen,
        };
        // Hot places are those of all copies; a cursor is each copy's own.
        let of_copy = of_copy.filter(|_| address.has_cursor());
        let space =
            Space { key: of_copy.map_or(space.key, |copy| Prng::for_path(space.key, &[copy]).next_u64()), ..space };
        let offsets = Offsets::new(address, space);
        Some(Generator {
            target,
            direction,
            durable,
            sizes,
            begin,
            offsets,
            batch: match described.arrival {
                Arrival::Batches { batch, .. } => Some(Box::new(Batch { of: batch, left: Vec::new() })),
                _ => None,
            },
            prng: share.prng_for(plan, FOR_ADDRESS),
            schedule,
            in_flight,
            pause,
            operations: described
                .life
                .operations
                .map_or(u64::MAX, |all| share_of(all, in_flight, &described.arrival, worker)),
        })
    }

    /// The place and kind of the next operation, whose intended time is `wanted`; the caller advances the schedule. The
    /// size is drawn first, then the place.
    #[inline(never)]
    pub fn next_operation(&mut self, wanted: Instant) -> Op {
        if self.batch.is_some() {
            return self.operation_of_batch(wanted);
        }
        let (offset, len) = self.draw_place(wanted);
        self.operation_at(offset, len)
    }

    #[inline]
    fn draw_place(&mut self, wanted: Instant) -> (u64, u32) {
        let len = self.sizes.next_size(&mut self.prng);
        (self.begin + self.offsets.next(len, wanted, &mut self.prng), len)
    }

    /// Of a batch all are drawn with its first.
    #[cold]
    fn operation_of_batch(&mut self, wanted: Instant) -> Op {
        let mut batch = self.batch.take().expect("it was asked for a batch");
        if batch.left.is_empty() {
            batch.left.extend((0..batch.of).map(|_| self.draw_place(wanted)));
            batch.left.sort_unstable_by(|one, other| other.cmp(one));
        }
        let (offset, len) = batch.left.pop().expect("a batch has an operation");
        self.batch = Some(batch);
        self.operation_at(offset, len)
    }

    /// Where its part of the target begins.
    pub(crate) fn part_begin(&self) -> u64 {
        self.begin
    }

    /// The same at the next place of a cursor that it shares with others.
    pub fn operation_of(&mut self, cursor: &mut Offsets, wanted: Instant) -> Op {
        let len = self.sizes.next_size(&mut self.prng);
        let offset = self.begin + cursor.next(len, wanted, &mut self.prng);
        self.operation_at(offset, len)
    }

    /// The same behind an operation of its loop that ended at `end`, which may lie outside its own part of the target.
    pub fn operation_behind(&mut self, end: u64, wanted: Instant) -> Op {
        // What ended before its part counts as beyond it: both begin at the start.
        self.offsets.note_last_end(end.checked_sub(self.begin).unwrap_or(u64::MAX));
        self.next_operation(wanted)
    }

    /// Whether its places depend on when operations are wanted, so that none can be drawn before that is known.
    pub fn moves_with_time(&self) -> bool {
        self.offsets.moves_with_time()
    }

    /// Its places from here on, to be shared with others.
    pub fn offsets_cursor(&self) -> Offsets {
        self.offsets.clone()
    }

    /// An operation of this kind at `offset`: the rest of one that was carried out in part.
    #[inline]
    pub fn operation_at(&self, offset: u64, len: u32) -> Op {
        Op { target: self.target, direction: self.direction, durable: self.durable, offset, len }
    }
}
