//! The streams and loops of a plan as sources of block I/O, and the worker that carries them.

use crate::closed::Closed;
use crate::data::Data;
use crate::looped::{Looped, Member};
use crate::passing::{self, Passing};
use crate::queue::{bounds, share};
use crate::rules::Setup;
use crate::scheduled::Scheduled;
use crate::source::{Next, Source};
use crate::verify::Verifier;
use crate::worker::{Parts, Worker};
use assay_base::{BlockDevice, Direction, Geometry, Instant, Op, Prng, Span};
use assay_model::arrival::Part;
use assay_model::cache::Behind;
use assay_model::content::Content;
use assay_model::generator::{FOR_CONTENT, FOR_LOOP, Generator};
use assay_model::mix::{Loop, Mix};
use assay_model::{Arrival, Plan};

/// A source of block I/O on one target, as one of several workers issues it.
#[derive(Debug)]
pub struct Blocks(Kind);

#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "nearly all sources are single streams, and a box is a step more for each operation"
)]
enum Kind {
    /// A stream with a number in flight.
    Closed(Closed),
    /// A stream with a schedule.
    Scheduled(Scheduled),
    /// A copy of a closed loop over several streams.
    Loop(Box<Looped>),
    /// All streams of a target, of whose operations a part goes on to it.
    Passing(Box<Passing>),
}

/// The same call of whichever it is.
macro_rules! either {
    ($it:expr, $one:ident => $call:expr) => {
        match $it {
            Kind::Closed($one) => $call,
            Kind::Scheduled($one) => $call,
            Kind::Loop($one) => $call,
            Kind::Passing($one) => $call,
        }
    };
}

impl Source for Blocks {
    type Request = Op;

    #[inline(always)]
    fn due(&self) -> Instant {
        either!(&self.0, it => it.due())
    }

    #[inline(always)]
    fn next(&mut self, now: Instant) -> Next {
        either!(&mut self.0, it => it.next(now))
    }

    #[inline(always)]
    fn take(&mut self, flow: usize) -> Op {
        either!(&mut self.0, it => it.take(flow))
    }

    #[inline(always)]
    fn returned(&mut self, flow: usize, completed: Instant) {
        either!(&mut self.0, it => it.returned(flow, completed));
    }

    fn operations(&self) -> Option<u64> {
        either!(&self.0, it => it.operations())
    }

    fn is_open_loop(&self) -> bool {
        either!(&self.0, it => it.is_open_loop())
    }

    fn pause(&self) -> Span {
        either!(&self.0, it => it.pause())
    }

    fn count_until(&mut self, end: Instant, count: impl FnMut(usize, u64, u64)) {
        either!(&mut self.0, it => it.count_until(end, count));
    }

    fn begin(&mut self, now: Instant) -> Instant {
        either!(&mut self.0, it => it.begin(now))
    }
}

impl<D: BlockDevice> Worker<D, Blocks, Data> {
    /// A worker for its part of `plan` on `device`, which has [`Worker::slots`]. `None` when a rate does not fit.
    pub fn new(plan: &Plan, device: D, setup: Setup) -> Option<Self> {
        let Setup { part, bound, start, run, ref ledger, .. } = setup;
        let written = |stream: u16| plan.streams[usize::from(stream)].reads_back();
        let (mut sources, mut flows_of, mut after): (Vec<Blocks>, Vec<Vec<usize>>, Option<usize>) = Default::default();
        if plan.cache.is_some() {
            for target in 0..plan.targets {
                if plan.flows().all(|(_, on)| on != target) {
                    continue;
                }
                let (passing, flows) = passing(plan, (target, device.geometry(target)), part, start)?;
                sources.push(Blocks(Kind::Passing(Box::new(passing))));
                flows_of.push(flows);
            }
        }
        for (flow, (stream, target)) in plan.flows().enumerate().filter(|_| plan.cache.is_none()) {
            let geometry = device.geometry(target);
            if let Some(it) = plan.loop_of(stream) {
                // All of it, with its first stream.
                if plan.streams.iter().position(|other| other.arrival.loop_name() == Some(&it.name))
                    == Some(stream.into())
                {
                    let (copies, flows) = copies(plan, it, (target, geometry), part, start)?;
                    flows_of.resize(flows_of.len() + copies.len(), flows);
                    sources.extend(copies.into_iter().map(|copy| Blocks(Kind::Loop(Box::new(copy)))));
                }
                continue;
            }
            let mut generator = Generator::new(plan, stream, target, geometry, part, start)?;
            if written(stream) {
                after.get_or_insert(sources.len());
            }
            let ledger = ledger.clone().filter(|_| written(stream));
            sources.push(Blocks(match generator.schedule.take() {
                Some(schedule) => Kind::Scheduled(Scheduled::new(flow, generator, schedule)),
                None => Kind::Closed(Closed::new(flow, target, generator, ledger, start)),
            }));
            flows_of.push(vec![flow]);
        }
        let content = |(stream, target): (u16, u16)| {
            let spec = &plan.streams[usize::from(stream)];
            let path = [u64::from(stream), u64::from(target), part.index, FOR_CONTENT];
            let block = spec.block().filter(|block| block.direction == Direction::Write)?;
            let content = Content::new(Prng::child(plan.seed ^ u64::from(run), &path), run, block.compress_to);
            Some(content.repeating(block.duplicates).filled_with(block.filled_with))
        };
        let slots = slots(plan, part, bound) as usize * usize::from(plan.targets);
        let geometries = (0..plan.targets).map(|target| device.geometry(target));
        let verifier = ledger.clone().map(|ledger| Verifier::new(plan, ledger, run, slots, geometries));
        let parts = Parts {
            after: after.unwrap_or(sources.len()),
            flows_of,
            sources,
            payload: Data::new(plan.flows().map(content).collect(), verifier),
        };
        Some(Worker::of(plan, device, parts, setup))
    }
}

/// The streams of a target behind a cache, and their flows. There is one worker.
fn passing(
    plan: &Plan,
    (target, geometry): (u16, Geometry),
    part: Part,
    start: Instant,
) -> Option<(Passing, Vec<usize>)> {
    let behind = Behind::new(plan, target, geometry, start).ok().filter(|_| part.of == 1)?;
    let flows = plan.flows().enumerate().filter(|(_, (_, on))| *on == target);
    let members: Vec<passing::Member> = flows.map(|(flow, (stream, _))| passing::Member { flow, stream }).collect();
    let flows = members.iter().map(|member| member.flow).collect();
    Some((Passing::new(behind, members), flows))
}

/// The copies of a loop on a target that the worker of `part` has slots of, one at least, and the flows of their operations.
/// Slots are dealt to workers in turn, the first copy's first; the workers that have some of a copy share its cursors by position.
fn copies(
    plan: &Plan,
    it: &Loop,
    (target, geometry): (u16, Geometry),
    part: Part,
    start: Instant,
) -> Option<(Vec<Looped>, Vec<usize>)> {
    let member = |(_, (stream, on)): &(usize, (u16, u16))| {
        *on == target && plan.streams[usize::from(*stream)].arrival.loop_name() == Some(&it.name)
    };
    let members: Vec<(usize, (u16, u16))> = plan.flows().enumerate().filter(member).collect();
    let arrival = |stream: u16| &plan.streams[usize::from(stream)].arrival;
    let line = |stream: u16| match arrival(stream) {
        Arrival::Looped { line: Some(line), .. } => it.lines.iter().position(|known| known.name == *line),
        _ => Some(0),
    };
    let weights = members.iter().map(|(_, (stream, _))| Some((arrival(*stream).share()?.as_ppb(), line(*stream)?)));
    let mix = Mix::new(it, &weights.collect::<Option<Vec<_>>>()?);
    let (depth, of) = (u64::from(it.in_flight), part.of.max(1));
    let copy = |copy: u32, idle: bool| -> Option<Option<Looped>> {
        // The copy's first slot is dealt to this worker, which has every `of`-th from there on.
        let place = (part.index + of - u64::from(copy) * depth % of) % of;
        let own = depth / of + u64::from(place < depth % of);
        if own == 0 && !idle {
            return Some(None);
        }
        let share = Part { index: place.min(depth - 1), of: depth.min(of) };
        let (mut generators, mut cursors, mut shared) = (Vec::new(), Vec::new(), Vec::<(&String, usize)>::new());
        for (flow, of) in &members {
            let generator = Generator::of_copy(plan, *of, geometry, (share, copy + 1), start)?;
            let block = plan.streams[usize::from(of.0)].block()?;
            let name = block.places.as_ref().filter(|_| block.address.has_cursor());
            let cursor = name.map(|name| {
                let known = shared.iter().find(|(known, _)| *known == name).map(|(_, cursor)| *cursor);
                known.unwrap_or_else(|| {
                    shared.push((name, cursors.len()));
                    cursors.push(generator.cursor());
                    cursors.len() - 1
                })
            });
            generators.push(Member { flow: *flow, generator, cursor, is_behind: block.address.is_behind() });
        }
        let first = u64::from(members.first()?.1.0);
        let path = [first, u64::from(target), share.index, FOR_LOOP, u64::from(copy)];
        let prng = Prng::child(plan.seed, &path);
        Some(Some(Looped::new(it, generators, (cursors, mix.clone()), own as u32, (start, prng))))
    };
    let mut copies: Vec<Looped> =
        (0..it.copies).map(|at| copy(at, false)).collect::<Option<Vec<_>>>()?.into_iter().flatten().collect();
    if copies.is_empty() {
        // It has no slot, and its flows have a source all the same.
        copies.push(copy(0, true)??);
    }
    Some((copies, members.into_iter().map(|(flow, _)| flow).collect()))
}

/// In-flight bound of one target in the worker of `part`, for the streams without a lane of their own: its share of the
/// plan's bound, at least 1.
pub fn bound(plan: &Plan, part: Part) -> u32 {
    share(plan.in_flight_bound, part)
}

/// Upper bound on the operations in flight on each target in the worker of `part`, over all streams.
pub fn slots(plan: &Plan, part: Part, bound: u32) -> u32 {
    bounds(plan, part, bound).iter().sum()
}
