//! What one flow of a plan asks for: the operations of a stream on one target, as one worker of several issues them.

use crate::address::{Offsets, Space};
use crate::arrival::{Bursty, Part, Schedule, Standing, Varying};
use crate::plan::{Arrival, Block, Plan};
use crate::size::BlockSizes;
use assay_base::{Direction, Geometry, Instant, Op, Prng, Span};

/// The operations of one flow, as one worker of several issues them. Pure and seeded: the same place in the same plan gives
/// the same operations.
#[derive(Clone, Debug)]
pub struct Generator {
    target: u16,
    direction: Direction,
    durable: bool,
    sizes: BlockSizes,
    /// Where its extent begins.
    begin: u64,
    offsets: Offsets,
    prng: Prng,
    /// Intended times; `None` for a closed loop.
    pub schedule: Option<Schedule>,
    /// How many a closed loop keeps in flight, here.
    pub in_flight: u32,
    /// A closed loop's pause after a completion.
    pub pause: Span,
}

/// Purposes of the random generators of one flow, so that none disturbs another.
const FOR_ARRIVAL: u64 = 1;
const FOR_ADDRESS: u64 = 2;
/// Of a stream on all its targets in all workers, which burst together.
const FOR_STATES: u64 = 4;
/// The seed of orders, which is the same in each run.
const PLACES: u64 = 0x706c_6163_6573;
/// The last step of the path of a flow's content generator.
pub const FOR_CONTENT: u64 = 3;

impl Generator {
    /// The share that `worker` has in the flow of `stream` (by index) on `target`, which has `geometry`. The schedule begins
    /// at `start`. `None` when a rate does not fit.
    pub fn new(
        plan: &Plan,
        stream: u16,
        target: u16,
        geometry: Geometry,
        worker: Part,
        start: Instant,
    ) -> Option<Generator> {
        let it = plan.streams.get(usize::from(stream))?;
        let Block { direction, durable, ref size, ref address, extent, .. } = *it.block()?;
        let seed = |purpose| Prng::child(plan.seed, &[u64::from(stream), u64::from(target), worker.index, purpose]);
        let targets = plan.targets_of(stream).count() as u64;
        let place = plan.targets_of(stream).position(|it| it == target)? as u64;
        let part = Part { index: place + targets * worker.index, of: targets * worker.of };
        let (begin, length) = extent.map_or((0, geometry.size), |extent| extent.within(geometry.size, geometry.block));
        // Streams are shifted against each other by the golden ratio, so that none begins in step with another.
        let shift = (u64::from(stream) * 633) % 1024;
        let standing = Standing { start, until_zero: plan.warm_up().longest(), before: plan.before.time };
        let schedule = match &it.arrival {
            Arrival::Steady { rate } => Some(Schedule::steady(start, *rate, part, shift)?),
            Arrival::Poisson { rate } => Some(Schedule::poisson(start, *rate, part, seed(FOR_ARRIVAL))?),
            Arrival::Varying { rate, curve, even } => {
                let spaced = if *even { Ok(shift) } else { Err(seed(FOR_ARRIVAL)) };
                Some(Schedule::Varying(Box::new(Varying::new(standing, *rate, curve, part, spaced)?)))
            }
            Arrival::Bursty { rate, bursts } => {
                let states = Prng::child(plan.seed, &[u64::from(stream), FOR_STATES]);
                let bursty = Bursty::new(start, *rate, *bursts, part, states, seed(FOR_ARRIVAL))?;
                Some(Schedule::Bursty(Box::new(bursty)))
            }
            Arrival::Closed { .. } | Arrival::Paced { .. } => None,
        };
        let in_flight = match it.arrival {
            Arrival::Closed { in_flight } => {
                let in_flight = u64::from(in_flight);
                (in_flight / worker.of + u64::from(worker.index < in_flight % worker.of)) as u32
            }
            // One walk over each target is one walk, whatever the number of workers.
            Arrival::Paced { .. } => u32::from(worker.index == 0),
            _ => 0,
        };
        let pause = if let Arrival::Paced { pause } = it.arrival { pause } else { Span::ZERO };
        let walk = if matches!(it.arrival, Arrival::Paced { .. }) { Part { index: 0, of: 1 } } else { worker };
        let sizes = size.in_blocks(geometry.block);
        let space = Space {
            length,
            block: geometry.block.into(),
            largest: sizes.largest(),
            part: walk,
            // Not of the run's seed: what is hot in one run is so in the next one.
            key: Prng::child(PLACES, &[u64::from(plan.places_of(stream)), u64::from(target)]).next_u64(),
            zero: start,
            before: plan.before.time,
            seen: plan.before.seen,
        };
        let offsets = Offsets::new(address, space);
        Some(Generator {
            target,
            direction,
            durable,
            sizes,
            begin,
            offsets,
            prng: seed(FOR_ADDRESS),
            schedule,
            in_flight,
            pause,
        })
    }

    /// The place and kind of the next operation, which is wanted at `wanted`; the schedule is advanced by the caller, who knows when.
    /// The size is drawn first, then the place.
    #[inline]
    pub fn operation(&mut self, wanted: Instant) -> Op {
        let len = self.sizes.next(&mut self.prng);
        let offset = self.begin + self.offsets.next(len, wanted, &mut self.prng);
        self.at(offset, len)
    }

    /// An operation of this kind at `offset`: the rest of one that was carried out in part.
    #[inline]
    pub fn at(&self, offset: u64, len: u32) -> Op {
        Op { target: self.target, direction: self.direction, durable: self.durable, offset, len }
    }
}
