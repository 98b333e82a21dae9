//! The operations of an OLTP load with their times and their places on targets.

use super::meant::{Oltp, Piece};
use super::sequence::{Access, Sequence};
use super::stream::{BLOCK, NAMES};
use crate::arrival::{CurveStart, Part, Schedule, Varying};
use crate::generator::FOR_LOOP;
use crate::joint::{DrawnOperations, IntendedOperation, Joint};
use crate::plan::{DrawnOltp, Plan};
use assay_base::{Direction, Geometry, Instant, Op, Prng};

/// The operations for one target or for all targets, as one of several workers issues them. Each target and each worker
/// draws all operations of the load and keeps only its own, because each place depends on the operations drawn before.
#[derive(Debug)]
pub struct Load {
    sequence: Sequence,
    schedule: Schedule,
    asus: [Vec<Piece>; 3],
    /// For each of the eight streams, the positions in the plan of its reads and of its writes.
    streams: [[u16; 2]; 8],
    /// The target whose operations are kept; `None` for all targets.
    target: Option<u16>,
    worker: Part,
    /// How many operations have been drawn.
    count: u64,
    drawn: DrawnOperations,
}

impl Load {
    /// The operations of `plan` for `target`, on targets of these geometries. The error says why there are none.
    pub fn new(
        plan: &Plan,
        target: Option<u16>,
        geometries: &[Geometry],
        worker: Part,
        start: Instant,
    ) -> Result<Load, String> {
        let loads = plan.load.oltp_loads();
        let drawn = loads.first().ok_or("the plan has no OLTP load")?;
        Load::for_drawn(plan, drawn, target, geometries, WorkerPart { worker, start })
    }

    /// The same of one of several OLTP loads of a plan.
    pub(crate) fn for_drawn(
        plan: &Plan,
        drawn: &DrawnOltp<'_>,
        target: Option<u16>,
        geometries: &[Geometry],
        share: WorkerPart,
    ) -> Result<Load, String> {
        let (oltp, WorkerPart { worker, start }) = (drawn.oltp, share);
        let (asus, used) = oltp.asu_pieces(geometries)?;
        let (for_schedule, for_sequence) = (drawn.prng_for(plan, 0), drawn.prng_for(plan, 1));
        let schedule = joint_schedule(oltp, plan, start, for_schedule).ok_or("its rate does not fit")?;
        Ok(Load {
            sequence: Sequence::new(used, oltp.bsu_count(), oltp.contexts, oltp.mix, for_sequence),
            schedule,
            asus,
            streams: stream_places(plan, drawn),
            target,
            worker,
            count: 0,
            drawn: DrawnOperations::new(start),
        })
    }

    /// The next operation of this worker on its target or targets.
    pub fn next_wanted(&mut self) -> Option<IntendedOperation> {
        while self.drawn.waiting.is_empty() {
            if !self.draw_next() {
                return None;
            }
        }
        self.take_operation()
    }

    /// The operation of an access. An access that would cross the end of a piece of storage is moved back, so that it
    /// ends there.
    fn operation_for(&self, access: &Access) -> Op {
        let (mut block, mut piece) = (access.block, self.asus[access.asu][0]);
        for next in &self.asus[access.asu] {
            piece = *next;
            if block < next.blocks {
                break;
            }
            block -= next.blocks;
        }
        let within = block.min(piece.blocks - u64::from(access.blocks));
        Op {
            target: piece.target,
            direction: access.direction,
            durable: false,
            offset: piece.begin + within * BLOCK,
            len: access.blocks * BLOCK as u32,
        }
    }
}

/// The share of a worker in an OLTP load, and when the run begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WorkerPart {
    /// The worker.
    pub(crate) worker: Part,
    /// The beginning of the run.
    pub(crate) start: Instant,
}

impl DrawnOltp<'_> {
    /// The random numbers of the load for a purpose: each of several loads has its own.
    fn prng_for(&self, plan: &Plan, purpose: u64) -> Prng {
        let path: Vec<u64> = [FOR_LOOP, purpose].into_iter().chain(self.number).collect();
        Prng::for_path(plan.load.seed, &path)
    }
}

/// One schedule for all streams: independent Poisson processes together are one Poisson process.
fn joint_schedule(oltp: &Oltp, plan: &Plan, start: Instant, prng: Prng) -> Option<Schedule> {
    let whole = Part { index: 0, of: 1 };
    let Some(curve) = &oltp.curve else { return Schedule::from_poisson(start, oltp.rate, whole, prng) };
    let standing =
        CurveStart { start, until_zero: plan.timing.warm_up().longest_warm_up(), before: plan.carried_over.time };
    Some(Schedule::Varying(Box::new(Varying::new(standing, oltp.rate, curve, whole, Err(prng))?)))
}

/// The positions in the plan of the reads and the writes of each of the eight streams. Where a stream has no reads or
/// no writes the position is 0; it is not used, because that direction is never drawn.
fn stream_places(plan: &Plan, drawn: &DrawnOltp<'_>) -> [[u16; 2]; 8] {
    let mut places = [[0; 2]; 8];
    let own = plan.load.streams.iter().enumerate().filter_map(|(at, stream)| {
        let own = drawn.own_name(stream)?;
        let of = NAMES.iter().position(|name| own.starts_with(name))?;
        Some((of, stream.data_direction()?, at as u16))
    });
    own.for_each(|(of, direction, at)| places[of][usize::from(direction == Direction::Write)] = at);
    places
}

impl Joint for Load {
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
        let access = self.sequence.next_access();
        let own = self.count % self.worker.of == self.worker.index;
        self.count += 1;
        let op = self.operation_for(&access);
        if own && self.target.is_none_or(|target| target == op.target) {
            let stream = self.streams[access.stream][usize::from(op.direction == Direction::Write)];
            self.drawn.waiting.push_back(IntendedOperation { wanted, stream, op });
        }
        true
    }
}

#[cfg(test)]
#[path = "load_tests.rs"]
mod tests;
