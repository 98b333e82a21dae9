//! The staffing of a run: how many workers, with which priority, how they wait between operations, and how many
//! operations each has in flight.

use super::how::Drive;
use crate::failure::Failure;
use crate::host::threads::spawn_scoped;
use crate::open::engine::{self, Case, Chosen, Priority, Workers, choose_engine, in_memory, measure_paths};
use crate::open::targets;
use assay_base::Span;
use assay_device::clock::Clock;
use assay_device::select::Choice;
use assay_device::usage;
use assay_engine::shell::Spin;
use assay_model::arrival::Part;
use assay_model::{Arrival, Plan};
use std::borrow::Cow;
use std::fmt;

/// Operations per second for one worker before a second one is started. Measured: one worker carries more than 200,000
/// per second on a device that can; with this limit there is a reserve.
const RATE_OF_A_WORKER: f64 = 150_000.0;
/// Real-time priority of workers: above everything with normal priority, below the kernel's own interrupt threads (50).
const PRIORITY: i32 = 10;
/// A worker whose mean time between operations is shorter than this does not sleep between them: sleeps that end late
/// would bunch operations, and save only a tenth of the processor time. The kernel stops a real-time thread that never
/// sleeps for some 50 ms of each second, so such a worker has normal priority. `docs/decisions/0015-waiting.md` has the
/// measurements.
const SLEEPLESS: Span = Span::from_us(30);
/// Longest time spent spinning before an operation is due, unless configured otherwise.
const SPIN: Span = Span::from_us(50);

/// The kernel's scheduling of a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Scheduling {
    /// First in, first out, before everything with normal priority.
    RealTime,
    /// Normal priority, with the reason in words.
    Normal(String),
}

impl fmt::Display for Scheduling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scheduling::RealTime => write!(f, "SCHED_FIFO {PRIORITY}"),
            Scheduling::Normal(why) => f.write_str(why),
        }
    }
}

/// The staffing of one run.
#[derive(Clone, Copy)]
pub(super) struct Staffing<'a> {
    pub(super) plan: &'a Plan,
    pub(super) how: &'a Drive,
}

impl Staffing<'_> {
    /// The number of workers that carry the load, and the most that there may be.
    pub(super) fn worker_counts(&self) -> Workers {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let needed = ((engine::scheduled_rate(self.plan) / RATE_OF_A_WORKER).ceil() as usize).clamp(1, processors);
        if self.plan.load.tpcc().is_some() {
            // One for each database, whose sessions have threads of their own.
            let databases = usize::from(self.plan.load.targets);
            return Workers { usual: databases, most: databases };
        }
        if self.plan.caches.simulated.is_some() || self.plan.caches.device.is_some() {
            // It has the cache that all operations of a target pass.
            return Workers { usual: 1, most: 1 };
        }
        let bound = self.plan.load.in_flight_bound as usize;
        match self.how.manner.workers {
            Some(asked) => {
                Workers { usual: allowed_workers(asked.into(), bound), most: allowed_workers(asked.into(), bound) }
            }
            None => Workers { usual: allowed_workers(needed, bound), most: allowed_workers(processors, bound) },
        }
    }

    /// Compares the paths to the targets, in threads with the priority of a worker: the kernel threads that carry its
    /// operations inherit its priority or wait behind it, which decides how fast they wake.
    pub(super) fn choose_engine(
        &self,
        targets: &[targets::RealTarget],
        workers: Workers,
        clock: Clock,
    ) -> Result<Chosen, Failure> {
        let case = Case {
            plan: self.plan,
            requested: self.how.manner.engine,
            workers,
            in_memory: in_memory(targets),
            in_real_time: self.normal_by_load(workers.usual).is_none(),
        };
        let mut granted = true;
        choose_engine(case, |priority| {
            // Where real-time priority is refused there is only the normal one.
            if priority == Priority::Normal && !granted {
                return Ok(Vec::new());
            }
            std::thread::scope(|scope| {
                let thread = spawn_scoped(scope, "compare".to_owned(), || {
                    let in_real_time = priority == Priority::Workers
                        && self.take_priority(workers.usual, None) == Scheduling::RealTime;
                    (in_real_time, measure_paths(self.plan, targets, workers, clock))
                })?;
                let compared =
                    thread.join().map_err(|_| Failure::internal_bug("comparing the ways to the target failed"))?;
                granted &= compared.0 || priority == Priority::Normal;
                Ok(compared.1)
            })
        })
    }

    /// The reason why the workers have normal priority because of the load. An open loop sleeps most of the time, and must not be
    /// late when it wakes; a closed loop would keep other threads from the processor, and the kernel would stop a load
    /// that is too dense.
    pub(super) fn normal_by_load(&self, workers: usize) -> Option<&'static str> {
        if self.plan.load.tpcc().is_some() {
            // The work is done by sessions, in threads of their own: this one sleeps between two transactions.
            return None;
        }
        let mut own = self.plan.load.streams.iter().filter(|stream| !stream.reads_back());
        if own.any(|stream| matches!(stream.arrival, Arrival::Closed { .. } | Arrival::Looped { .. })) {
            return Some("normal");
        }
        self.is_sleepless(workers).then_some("normal: operations so close together leave a worker no time to sleep")
    }

    pub(super) fn is_sleepless(&self, workers: usize) -> bool {
        engine::time_between_operations(self.plan, workers).is_some_and(|gap| gap < SLEEPLESS)
    }

    /// Gives the calling thread the priority of a worker; `normal` is the reason for normal priority.
    pub(super) fn take_priority(&self, workers: usize, normal: Option<&str>) -> Scheduling {
        let why = match (self.normal_by_load(workers), normal) {
            (Some(by_load), _) => return Scheduling::Normal(by_load.to_owned()),
            (None, Some(why)) => why.to_owned(),
            (None, None) => match usage::real_time(PRIORITY) {
                Ok(()) => return Scheduling::RealTime,
                Err(errno) => format!("real-time priority was refused with {errno}"),
            },
        };
        Scheduling::Normal(format!("normal: {why}"))
    }

    /// The way in which a worker waits until its next operation is due.
    pub(super) fn spin_mode(&self, workers: usize) -> Spin {
        match self.how.manner.spin {
            Some(asked) => asked,
            None if self.is_sleepless(workers) => Spin::Fixed(SPIN),
            None => Spin::Learned(SPIN),
        }
    }

    /// Upper bound on the operations that one worker has in flight per target, over all streams without a lane of their
    /// own: its share of the plan's bound.
    pub(super) fn in_flight_bound(&self, part: Part, choice: Choice) -> u32 {
        if choice == Choice::Inline { 1 } else { assay_engine::in_flight_bound(self.plan, part) }
    }

    /// The plan as an engine carries it: with an engine that carries one operation at a time, all streams share one
    /// slot.
    pub(super) fn plan_as_carried(&self, choice: Choice) -> Cow<'_, Plan> {
        if choice == Choice::Inline { Cow::Owned(self.plan.in_one_lane()) } else { Cow::Borrowed(self.plan) }
    }

    /// The largest bound of the plan for which `most` operations on all targets suffice.
    pub(super) fn largest_shared_bound(&self, most: u32) -> u64 {
        let bounds = self.plan.load.lane_bounds();
        let own: u64 = bounds.iter().flat_map(|lanes| &lanes[1..]).map(|bound| u64::from(*bound)).sum();
        let sharing = bounds.iter().filter(|lanes| lanes[0] > 0).count().max(1) as u64;
        (u64::from(most).saturating_sub(own) / sharing).max(1)
    }
}

/// A number of workers that each have at least one of the `bound` operations in flight; one at least.
fn allowed_workers(workers: usize, bound: usize) -> usize {
    workers.min(bound).max(1)
}
