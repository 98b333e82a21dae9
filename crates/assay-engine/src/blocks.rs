//! The streams and loops of a plan as sources of block I/O, and the worker that carries them.

use crate::closed::Closed;
use crate::data::Data;
use crate::flushing::Flushing;
use crate::living::Living;
use crate::looped::Looped;
use crate::making::Making;
use crate::passing::Passing;
use crate::queue::{bounds, share};
use crate::recorded::Recorded;
use crate::rules::Setup;
use crate::scheduled::Scheduled;
use crate::source::{Lived, Next, Source};
use crate::verify::Verifier;
use crate::worker::{Parts, Worker};
use assay_base::{BlockDevice, Direction, Instant, Op, Prng, Span};
use assay_model::Plan;
use assay_model::arrival::Part;
use assay_model::content::Content;
use assay_model::generator::FOR_CONTENT;

/// A source of block I/O on one target, as one of several workers issues it.
#[derive(Debug)]
pub struct Blocks(pub(crate) Kind);

/// Which kind of source it is.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "nearly all sources are single streams, and a box is a step more for each operation"
)]
pub(crate) enum Kind {
    /// A stream with a number in flight.
    Closed(Closed),
    /// A stream with a schedule.
    Scheduled(Scheduled),
    /// A stream that plays a recording.
    Recorded(Box<Recorded>),
    /// A copy of a closed loop over several streams.
    Loop(Box<Looped>),
    /// The same with flushes after its writes.
    Flushing(Box<Flushing>),
    /// Any of these that begins or ends within the run.
    Living(Box<Living>),
    /// All streams of a target, of whose operations a part goes on to it.
    Passing(Box<Passing>),
}

/// The same call of whichever it is.
macro_rules! either {
    ($it:expr, $one:ident => $call:expr) => {
        match $it {
            Kind::Closed($one) => $call,
            Kind::Scheduled($one) => $call,
            Kind::Recorded($one) => $call,
            Kind::Loop($one) => $call,
            Kind::Flushing($one) => $call,
            Kind::Living($one) => $call,
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

    fn life(&self) -> Option<Lived> {
        either!(&self.0, it => it.life())
    }

    fn begin(&mut self, now: Instant) -> Instant {
        either!(&mut self.0, it => it.begin(now))
    }
}

impl<D: BlockDevice> Worker<D, Blocks, Data> {
    /// A worker for its part of `plan` on `device`, which has [`Worker::slots`]. `None` when a rate does not fit.
    pub fn new(plan: &Plan, device: D, setup: Setup) -> Option<Self> {
        let Setup { part, bound, run, ref ledger, .. } = setup;
        let mut making = Making::new(plan, &setup);
        // Behind a cache the streams of a target are one sequence.
        let (alone, together) = if plan.cache.is_some() { (0, plan.targets) } else { (usize::MAX, 0) };
        for target in 0..together {
            making.passing(target, device.geometry(target))?;
        }
        for (flow, (stream, target)) in plan.flows().enumerate().take(alone) {
            making.flow((flow, stream, target), device.geometry(target))?;
        }
        let Making { sources, flows_of, after, gates, .. } = making;
        gates.counted();
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

/// In-flight bound of one target in the worker of `part`, for the streams without a lane of their own: its share of the
/// plan's bound, at least 1.
pub fn bound(plan: &Plan, part: Part) -> u32 {
    share(plan.in_flight_bound, part)
}

/// Upper bound on the operations in flight on each target in the worker of `part`, over all streams.
pub fn slots(plan: &Plan, part: Part, bound: u32) -> u32 {
    bounds(plan, part, bound).iter().sum()
}
