//! A plan: a complete description of what will be done. `assay explain` prints it, the log stores it, the engine runs
//! it.

pub use crate::address::Address;
use crate::address::common_power;
use crate::arrival::{Bursts, Curve, SharedSchedule};
use crate::cache::{CacheDevice, Caching};
pub use crate::extent::{Amount, Extent, Frame};
use crate::flush::Flush;
use crate::life::Life;
use crate::mail::Mail;
use crate::mix::Loop;
use crate::oltp::{Oltp, RATE};
use crate::page_cache::PageCached;
use crate::profile::Derivation;
use crate::recording::Recording;
use crate::seal;
use crate::size::Size;
use crate::tpcc;
use assay_base::cached::Range;
use assay_base::{Bytes, Counted, Criterion, Direction, Geometry, Multiple, Parts, Rate, Share, Span};
use serde::{Deserialize, Serialize};

/// Streams, phases, criteria, seed. A plan that was written, to a log or for another host, is read back unchanged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The workload's name.
    pub name: String,
    /// The name of the model that its streams were made from, such as `act-storage`.
    pub model: String,
    /// The multiple by which the rates of the streams are already multiplied. Several workloads with different
    /// multiples have 1x here, and theirs in `loads`.
    pub load: Multiple,
    /// The multiples of several workloads that run together, in their order, because multiples of different workloads
    /// have no sum. Empty for a single workload.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loads: Vec<Multiple>,
    /// The seed of every random choice.
    pub seed: u64,
    /// Number of targets over which the streams' rates are spread.
    pub targets: u16,
    /// The streams.
    pub streams: Vec<Stream>,
    /// The phases, in the order in which they run.
    pub phases: Vec<Phase>,
    /// What decides the verdict.
    pub criteria: Vec<Criterion>,
    /// Length of a judging window, in measured time. A criterion may have another one.
    pub slice: Span,
    /// Length of a recording step: the log has one line for each.
    pub interval: Span,
    /// The run stops when its schedule falls this far behind; zero means that it never does.
    pub max_lag: Span,
    /// Upper bound on operations in flight per target. A full queue makes operations wait, and the wait counts.
    pub in_flight_bound: u32,
    /// Groups of streams that have slots of their own on each target.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lanes: Vec<Lane>,
    /// Streams whose figures are also shown together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<Group>,
    /// Closed loops over several streams.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loops: Vec<Loop>,
    /// The streams that are drawn together, as one OLTP load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oltp: Option<Oltp>,
    /// The mail store that its streams are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mail: Option<Mail>,
    /// The transactions on a database that its streams are, at the plan's load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tpcc: Option<tpcc::Load>,
    /// The simulated cache before each target: what passes it is what the target sees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<Caching>,
    /// The look-aside cache on a device of its own before the targets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_device: Option<CacheDevice>,
    /// The targets that are used through the page cache of the kernel.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub page_cache: Vec<PageCached>,
    /// Whether everything that is written is sealed, and everything that is read is compared with what was written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub verify: bool,
    /// Whether nothing is read back at the end: sealed data are left for a later run to compare.
    #[serde(default, rename = "sealed_only", skip_serializing_if = "std::ops::Not::not")]
    pub leave_sealed: bool,
    /// Whether a criterion ignores its last window if the end of the measurement leaves less than half of it. Set by
    /// the model `mail`.
    #[serde(default, rename = "half_windows", skip_serializing_if = "std::ops::Not::not")]
    pub skip_half_windows: bool,
    /// Length of schedule that may wait at the end of a window and still counts as delivered; zero for block I/O. Set
    /// by the model `tpcc`, whose sessions are few.
    #[serde(default, rename = "backlog", skip_serializing_if = "is_no_time")]
    pub backlog_allowed: Span,
    /// The names of the streams whose places are all read back at the end, also those that the run has not written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub check_all: Vec<String>,
    /// How each number of the streams was derived, at 1x on one target. Empty for models that do not say it step by
    /// step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub derivation: Vec<Derivation>,
    /// What earlier segments and runs have already done of the patterns that continue from one to the next. Set when a
    /// run is opened: from the log that it continues, or from the preparation records of its targets.
    #[serde(default, rename = "before", skip_serializing_if = "CarriedOver::is_nothing")]
    pub carried_over: CarriedOver,
    /// What the reader of a report must know about the derivation of this plan.
    pub notes: Vec<String>,
    /// Watermarks of every result of this plan, such as that it resembles another tool's and is not comparable with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub watermarks: Vec<String>,
}

/// What earlier segments and runs have done of the patterns that continue where these ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CarriedOver {
    /// Measured time of the earlier segments, by which working sets have moved and rates have changed.
    #[serde(default, skip_serializing_if = "is_no_time")]
    pub time: Span,
    /// Bytes that are used up of the order in which places are seen only once (`never_seen`), on each target.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub seen: Bytes,
}

fn is_zero(bytes: &Bytes) -> bool {
    bytes.get() == 0
}

fn is_no_time(span: &Span) -> bool {
    span.is_zero()
}

impl CarriedOver {
    /// What the plan in the header of a log had carried over; `None` where it does not say it.
    pub fn from_logged_plan(plan: &serde_json::Value) -> Option<CarriedOver> {
        serde_json::from_value(plan.get("before")?.clone()).ok()
    }

    fn is_nothing(&self) -> bool {
        *self == CarriedOver::default()
    }
}

/// Streams whose figures are also shown together, such as those of the copies of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// The name under which reports show the sum.
    pub name: String,
    /// The names of its streams.
    pub streams: Vec<String>,
}

impl Group {
    /// The groups that have streams among `streams`, and only those of their streams.
    pub fn within(groups: &[Group], streams: &[Stream]) -> Vec<Group> {
        let mut within = Vec::new();
        for group in groups {
            let names = group.streams.iter().filter(|name| streams.iter().any(|stream| stream.name == **name));
            let names: Vec<String> = names.cloned().collect();
            if !names.is_empty() {
                within.push(Group { streams: names, name: group.name.clone() });
            }
        }
        within
    }
}

/// Streams whose operations have slots of their own on each target: operations that a device holds for long do not
/// occupy the slots of others, as if they had threads of their own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lane {
    /// The names of the streams.
    pub streams: Vec<String>,
    /// Upper bound on their operations in flight on one target, in addition to the plan's bound for the streams without
    /// a lane of their own.
    pub in_flight_bound: u32,
}

impl Lane {
    /// A lane for one stream.
    pub fn for_stream(stream: &str, in_flight_bound: u32) -> Lane {
        Lane { streams: vec![stream.to_owned()], in_flight_bound }
    }
}

/// A named flow of operations of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stream {
    /// Its name, unique in the plan: `reads`, `large-block-writes` …
    pub name: String,
    /// What an operation does.
    #[serde(flatten)]
    pub work: Work,
    /// When operations are intended, over all targets of the stream together.
    pub arrival: Arrival,
    /// Whether tables in the form of ACT also have a column for it on each device.
    pub per_target: bool,
    /// The targets of the plan that it runs on, in ascending order; all targets if the list is empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<u16>,
    /// When it begins and ends. A stream of a loop has none: the loop has one for all of its streams.
    #[serde(flatten)]
    pub life: Life,
}

/// What an operation does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Work {
    /// Reads or writes blocks.
    Block(Block),
    /// Flushes the target.
    Flush(Flush),
    /// An operation with this name, for another kind of device.
    Other {
        /// `new-order`, `rename` …
        operation: String,
    },
}

/// A read or a write of blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// Read or write.
    pub direction: Direction,
    /// Whether a write must be on stable media to be complete (O_DSYNC).
    pub durable: bool,
    /// The byte that fills what is written, behind its stamp; without it written data are unique.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filled_with: Option<u8>,
    /// Size of an operation, before rounding up to the target's blocks.
    pub size: Size,
    /// The addresses of the operations.
    pub address: Address,
    /// The part of the target that the operations stay in; the whole target where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extent: Option<Extent>,
    /// Name of its places: streams with the same name have the same hot places, and in one loop the same cursor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub places: Option<String>,
    /// The share of their size that written data compress to; 100 % for incompressible data.
    pub compress_to: Share,
    /// The share of its blocks of 4 KiB that are copies of one of its earlier blocks.
    #[serde(default, skip_serializing_if = "is_none_of_it")]
    pub duplicates: Share,
}

fn is_none_of_it(share: &Share) -> bool {
    share.as_ppb() == 0
}

impl Stream {
    /// Its reads or writes of blocks; `None` for a stream of flushes or of other operations.
    pub fn block(&self) -> Option<&Block> {
        match &self.work {
            Work::Block(block) => Some(block),
            Work::Flush(_) | Work::Other { .. } => None,
        }
    }

    /// Its flushes; `None` for every other stream.
    pub fn flush(&self) -> Option<Flush> {
        match self.work {
            Work::Flush(flush) => Some(flush),
            Work::Block(_) | Work::Other { .. } => None,
        }
    }

    /// The name of its operation where it neither reads nor writes blocks.
    pub fn operation(&self) -> Option<&str> {
        match &self.work {
            Work::Block(_) => None,
            Work::Flush(_) => Some(Flush::WORD),
            Work::Other { operation } => Some(operation),
        }
    }

    /// The direction in which it moves data; `None` if it moves none.
    pub fn direction(&self) -> Option<Direction> {
        self.block().map(|block| block.direction)
    }

    /// Whether it overwrites blocks.
    pub fn writes(&self) -> bool {
        self.direction() == Some(Direction::Write)
    }

    /// Whether its operations take places that no earlier run has used (`never_seen`).
    pub fn goes_once(&self) -> bool {
        self.block().is_some_and(|block| matches!(block.address, Address::NeverSeen { .. }))
    }

    /// Whether its operations are appended to those before them, and drawn together with the streams that follow it.
    pub fn appends(&self) -> bool {
        self.block().is_some_and(|block| matches!(block.address, Address::Appended))
    }

    /// Whether it reads back what the run has written.
    pub fn reads_back(&self) -> bool {
        self.block().is_some_and(|block| matches!(block.address, Address::Written))
    }
}

/// When the operations of a stream are intended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrival {
    /// Evenly spaced.
    Steady {
        /// Rate over all targets.
        rate: Rate,
    },
    /// Independent clients.
    Poisson {
        /// Rate over all targets.
        rate: Rate,
    },
    /// A rate that changes over the run.
    Varying {
        /// Rate at 100 % of the curve, over all targets.
        rate: Rate,
        /// The share of that rate at each time.
        curve: Curve,
        /// Whether operations are evenly spaced; otherwise their clients are independent.
        even: bool,
    },
    /// Independent clients, each of which asks for several operations at one moment, in ascending order of their
    /// places.
    Batches {
        /// Rate of operations, over all targets.
        rate: Rate,
        /// Number of operations that a client asks for at one moment.
        batch: u32,
    },
    /// One operation each time that another stream, whose operations are appended, has advanced by the size of an
    /// operation.
    Following {
        /// Rate that follows from the rate of that stream, over all targets.
        rate: Rate,
        /// Name of the stream that it follows.
        stream: String,
        /// Distance in bytes by which it stays behind the other stream.
        distance: Bytes,
        /// How many times it reads everything that the other stream has written.
        copies: u32,
    },
    /// Bursts of independent clients, between times with a lower rate.
    Bursty {
        /// Mean rate over all targets.
        rate: Rate,
        /// Mean lengths of bursts and of the times between them, and the share of the rate in the latter.
        bursts: Bursts,
    },
    /// The schedule of an application that pauses after some of its operations, or takes turns over its targets; see
    /// [`crate::arrival::Shared`].
    Shared {
        /// Rate without the pauses, over all targets.
        rate: Rate,
        /// Evenly spaced; otherwise independent clients.
        even: bool,
        /// The schedule that its streams share.
        schedule: SharedSchedule,
    },
    /// The times, places and sizes of a recording.
    Recorded {
        /// Mean rate over all targets.
        rate: Rate,
        /// The recording that is played.
        recording: Recording,
    },
    /// Closed loop with a number of operations in flight on each target: the next one is issued when one completes.
    Closed {
        /// Number in flight on each target.
        in_flight: u32,
    },
    /// Closed loop of one operation on each target, with a pause before the next.
    Paced {
        /// Time between a completion and the next operation.
        pause: Span,
    },
    /// One of the streams of a closed loop that the plan names.
    Looped {
        /// The name of the loop.
        looped: String,
        /// Weight of this stream among those of its loop, or of its line: the share of their operations that are its
        /// own.
        share: Share,
        /// The name of its line, if the loop has lines.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        line: Option<String>,
    },
}

impl Arrival {
    /// The planned rate over all targets, in the mean; `None` for a closed loop.
    pub fn rate(&self) -> Option<Rate> {
        match self {
            Arrival::Steady { rate }
            | Arrival::Poisson { rate }
            | Arrival::Batches { rate, .. }
            | Arrival::Following { rate, .. }
            | Arrival::Bursty { rate, .. }
            | Arrival::Recorded { rate, .. } => Some(*rate),
            Arrival::Varying { rate, curve, .. } => Some(times(*rate, curve.mean(None))),
            Arrival::Shared { rate, schedule, .. } => Some(schedule.mean(*rate)),
            Arrival::Closed { .. } | Arrival::Paced { .. } | Arrival::Looped { .. } => None,
        }
    }

    /// The operations that a closed loop of a single stream has in flight on each target; `None` for others.
    pub fn slots(&self) -> Option<u32> {
        match self {
            Arrival::Closed { in_flight } => Some(*in_flight),
            Arrival::Paced { .. } => Some(1),
            _ => None,
        }
    }

    /// The loop that a stream belongs to.
    pub fn loop_name(&self) -> Option<&String> {
        match self {
            Arrival::Looped { looped, .. } => Some(looped),
            _ => None,
        }
    }

    /// The weight of a stream among those of its loop; `None` for a stream without a loop.
    pub fn share(&self) -> Option<Share> {
        match self {
            Arrival::Looped { share, .. } => Some(*share),
            _ => None,
        }
    }

    /// The highest rate over all targets, in operations per second; `None` for a closed loop.
    pub fn peak(&self) -> Option<f64> {
        match self {
            Arrival::Varying { rate, curve, .. } => Some(rate.as_f64() * curve.most().as_f64()),
            Arrival::Bursty { rate, bursts } => Some(rate.as_f64() * bursts.peak()),
            other => other.rate().map(Rate::as_f64),
        }
    }

    /// How many operations come in `span` at most, over all targets: six standard deviations above the mean. `None` for a closed loop.
    pub fn most_in(&self, span: Span) -> Option<f64> {
        let seconds = span.as_secs_f64();
        let mean = self.rate()?.as_f64() * seconds;
        let variance = match self {
            Arrival::Steady { .. } => return Some(mean + 2.0),
            // Whichever part of the curve it is.
            Arrival::Varying { .. } => {
                let most = self.peak()? * seconds;
                return Some(most + 6.0 * most.sqrt() + 16.0);
            }
            Arrival::Batches { batch, .. } => mean * f64::from(*batch),
            // What was due in a pause comes when the pause is over.
            Arrival::Shared { rate, schedule: SharedSchedule { pauses, .. }, .. } => {
                let caught_up = pauses.map_or(0.0, |pauses| rate.as_f64() * pauses.time.as_secs_f64());
                return Some(mean + caught_up + 6.0 * mean.sqrt() + 16.0);
            }
            Arrival::Bursty { rate, bursts } if seconds > 0.0 => mean * bursts.dispersion(rate.as_f64(), seconds),
            _ => mean,
        };
        Some(mean + 6.0 * variance.sqrt() + 16.0)
    }

    /// The name of the arrival in the log and in reports.
    pub fn name(&self) -> &'static str {
        match self {
            Arrival::Steady { .. } => "steady",
            Arrival::Poisson { .. } => "poisson",
            Arrival::Varying { .. } => "varying",
            Arrival::Batches { .. } => "batches",
            Arrival::Following { .. } => "following",
            Arrival::Bursty { .. } => "bursty",
            Arrival::Shared { .. } => "shared",
            Arrival::Recorded { .. } => "recorded",
            Arrival::Closed { .. } | Arrival::Looped { .. } => "closed",
            Arrival::Paced { .. } => "paced",
        }
    }

    /// The same arrival at a multiple of its rate, if it has one; `None` if that rate cannot be represented.
    pub fn scaled(&self, load: Multiple) -> Option<Arrival> {
        let mut scaled = self.clone();
        match &mut scaled {
            Arrival::Steady { rate }
            | Arrival::Poisson { rate }
            | Arrival::Varying { rate, .. }
            | Arrival::Batches { rate, .. }
            | Arrival::Following { rate, .. }
            | Arrival::Bursty { rate, .. } => *rate = load.scaled_rate(*rate)?,
            Arrival::Shared { rate, schedule, .. } => {
                (*rate, *schedule) = (load.scaled_rate(*rate)?, schedule.scaled(load)?);
            }
            Arrival::Recorded { rate, recording } => {
                *rate = load.scaled_rate(*rate)?;
                recording.speed = recording.speed.times(load)?;
            }
            Arrival::Closed { .. } | Arrival::Paced { .. } | Arrival::Looped { .. } => {}
        }
        Some(scaled)
    }

    /// The same arrival on several targets, each of which has its rate; `None` if the sum cannot be represented.
    pub fn on_each_of(&self, targets: u64) -> Option<Arrival> {
        let spread = Multiple::ratio(targets, 1)?;
        match self {
            // It is played on each of them, at its speed.
            Arrival::Recorded { rate, recording } => {
                Some(Arrival::Recorded { rate: spread.scaled_rate(*rate)?, recording: recording.clone() })
            }
            other => other.scaled(spread),
        }
    }

    /// The name of the stream that it follows; `None` for an arrival of its own.
    pub fn follows(&self) -> Option<&String> {
        match self {
            Arrival::Following { stream, .. } => Some(stream),
            _ => None,
        }
    }

    /// The recording that is played, if one is.
    pub fn recording(&self) -> Option<&Recording> {
        match self {
            Arrival::Recorded { recording, .. } => Some(recording),
            _ => None,
        }
    }

    /// The same arrival with a rate that follows a curve; `None` if its rate follows a curve already.
    pub fn along(&self, curve: &Curve) -> Option<Arrival> {
        match self {
            Arrival::Steady { rate } => Some(Arrival::Varying { rate: *rate, curve: curve.clone(), even: true }),
            Arrival::Poisson { rate } => Some(Arrival::Varying { rate: *rate, curve: curve.clone(), even: false }),
            Arrival::Varying { .. }
            | Arrival::Batches { .. }
            | Arrival::Following { .. }
            | Arrival::Bursty { .. }
            | Arrival::Shared { .. }
            | Arrival::Recorded { .. } => None,
            Arrival::Closed { .. } | Arrival::Paced { .. } | Arrival::Looped { .. } => Some(self.clone()),
        }
    }
}

/// `rate` times a factor, to parts per billion.
fn times(rate: Rate, factor: f64) -> Rate {
    rate.scaled((factor * 1e9).round() as u64, 1_000_000_000).unwrap_or(rate)
}

/// Upper bound on the streams of one workload.
pub const MOST_STREAMS: usize = 256;

/// Name of the stream and of the phase of the read-back.
pub const READ_BACK: &str = "read-back";
/// Number of reads of the read-back in flight on each target.
pub const READ_BACK_DEPTH: u32 = 32;

/// The smallest block that a target can have, in bytes.
const SMALLEST_BLOCK: u32 = 512;

/// A part of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phase {
    /// `warm-up`, `measure` …
    pub name: String,
    /// Whether it is judged.
    pub kind: PhaseKind,
    /// Its length; the longest that it may take if it ends earlier (`steady`, `until_done`).
    pub span: Span,
    /// Ends as soon as the load is steady, judged over rounds of this length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady_round: Option<Span>,
    /// Ends as soon as every stream has done its operations.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub until_done: bool,
}

/// How long the load is offered before it is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarmUp {
    /// For a fixed time.
    For(Span),
    /// Until five consecutive rounds are steady (`assay_base::steady` has the rule).
    UntilSteady {
        /// The longest time that it may take.
        limit: Span,
        /// Length of a round.
        round: Span,
    },
}

impl WarmUp {
    /// Length of a round where the workload gives none: SNIA's own rounds last a minute.
    pub const ROUND: Span = Span::from_secs(60);

    /// The longest it may last.
    pub fn longest(self) -> Span {
        match self {
            WarmUp::For(span) => span,
            WarmUp::UntilSteady { limit, .. } => limit,
        }
    }
}

/// What a phase is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PhaseKind {
    /// Offered and recorded, not judged.
    WarmUp,
    /// Judged.
    Measure,
    /// What was written is read back, for as long as that takes; recorded, not judged.
    ReadBack,
}

impl Block {
    /// The lowest bit of the answer is the common unit of its lengths and offsets, counted from the begin of its part of
    /// the target; zero for the read-back, which has the units of the writes.
    pub(crate) fn step(&self, block: u32) -> u64 {
        match self.address {
            Address::Written => 0,
            ref address => {
                let largest = self.size.in_blocks(block).largest();
                self.size.step(block) | address.step(block.into(), largest)
            }
        }
    }

    /// How many operations go through its part of a target once, where all have one size; at least one.
    pub fn pass(&self, target: Geometry) -> u64 {
        let length = self.extent.map_or(target.size, |extent| extent.within(target.size, target.block).1);
        (length / self.size.in_blocks(target.block).largest().max(1)).max(1)
    }
}

/// The name under which a stream shares its places with others.
fn name_of_places(stream: &Stream) -> Option<&String> {
    stream.block()?.places.as_ref()
}

/// Whether the places or the rate of a stream depend on how long the run has lasted.
fn changes_with_time(stream: &Stream) -> bool {
    let moves = stream.block().is_some_and(|block| matches!(block.address, Address::WorkingSet { .. }));
    moves || matches!(stream.arrival, Arrival::Varying { .. })
}

impl Plan {
    /// Why a plan without any rate cannot run at another load, and what to do.
    pub const ONLY_CLOSED_LOOPS: &str = "every stream of the workload is a closed loop (in_flight), which has no rate to \
                                         multiply; give a stream a rate";

    /// Whether its load can be multiplied, because some stream has a rate.
    pub fn can_be_scaled(&self) -> bool {
        self.streams.iter().any(|stream| stream.arrival.rate().is_some())
    }

    /// Streams in a direction whose rate depends on the target: closed loops, without a bound on what they move. The
    /// read-back moves what was written, once, and is not included.
    pub fn unbounded(&self, direction: Direction) -> impl Iterator<Item = &Stream> {
        let own = self.streams.iter().filter(move |stream| stream.direction() == Some(direction));
        own.filter(|stream| stream.arrival.rate().is_none() && !stream.reads_back())
    }

    /// The phases of an ordinary run: warm-up, unless it is zero, and measure.
    pub fn phases(warm_up: WarmUp, measure: Span) -> Vec<Phase> {
        let (span, steady_round) = match warm_up {
            WarmUp::For(span) => (span, None),
            WarmUp::UntilSteady { limit, round } => (limit, Some(round)),
        };
        let warm_up = Phase { name: "warm-up".into(), kind: PhaseKind::WarmUp, span, steady_round, until_done: false };
        let measure = Phase {
            name: "measure".into(),
            kind: PhaseKind::Measure,
            span: measure,
            steady_round: None,
            until_done: false,
        };
        [warm_up, measure].into_iter().filter(|phase| !phase.span.is_zero()).collect()
    }

    /// The phases of a run that measures `parts` one after another, of which the first `passed` are over.
    pub fn phases_of(warm_up: WarmUp, parts: &[Phase], mut passed: Span) -> Vec<Phase> {
        let mut phases = Plan::phases(warm_up, Span::ZERO);
        for part in parts {
            let over = passed.min(part.span);
            passed = passed.saturating_sub(over);
            phases.extend((over < part.span).then(|| Phase { span: part.span.saturating_sub(over), ..part.clone() }));
        }
        phases
    }

    /// The stream that reads back what the others have written, and its phase; `None` when nothing is written.
    pub(crate) fn read_back(streams: &[Stream]) -> Option<(Stream, Phase)> {
        streams.iter().find(|stream| stream.writes())?;
        let largest = streams.iter().filter_map(Stream::block).map(|block| block.size.to).max()?;
        let stream = Stream {
            name: READ_BACK.into(),
            work: Work::Block(Block {
                direction: Direction::Read,
                durable: false,
                filled_with: None,
                // Not larger than the other operations, so that the buffers, and therefore the run itself, are the same
                // as without it.
                size: Size::fixed(largest),
                address: Address::Written,
                extent: None,
                places: None,
                compress_to: Share::WHOLE,
                duplicates: Share::default(),
            }),
            arrival: Arrival::Closed { in_flight: READ_BACK_DEPTH },
            per_target: false,
            targets: Vec::new(),
            life: Life::default(),
        };
        let phase = Phase {
            name: READ_BACK.into(),
            kind: PhaseKind::ReadBack,
            span: Span::ZERO,
            steady_round: None,
            until_done: false,
        };
        Some((stream, phase))
    }

    /// Whether it ends when every stream has done its operations, which may be before the end of its phases.
    pub fn ends_when_done(&self) -> bool {
        self.phases.iter().any(|phase| phase.until_done)
    }

    /// The loop of a stream.
    pub fn loop_of(&self, stream: u16) -> Option<&Loop> {
        let name = self.streams[usize::from(stream)].arrival.loop_name()?;
        self.loops.iter().find(|known| known.name == *name)
    }

    /// The load in words: `30x`; of several workloads `1x each`, or `2x and 1x` in their order.
    pub fn load_in_words(&self) -> String {
        let texts: Vec<String> = self.loads.iter().map(Multiple::to_string).collect();
        match texts.split_last() {
            None => self.load.to_string(),
            Some((last, others)) if others.iter().all(|other| other == last) => format!("{last} each"),
            Some((last, others)) => format!("{} and {last}", others.join(", ")),
        }
    }

    /// Whether a stream reads back what the run has written.
    pub fn reads_back(&self, stream: u16) -> bool {
        self.streams[usize::from(stream)].reads_back()
    }

    /// The lane of a stream, by its index: 0 is the one that all share who have none of their own, and 1 is the first of `lanes`.
    pub fn lane_of(&self, stream: u16) -> usize {
        let name = &self.streams[usize::from(stream)].name;
        self.lanes.iter().position(|lane| lane.streams.contains(name)).map_or(0, |own| own + 1)
    }

    /// For each target, the bounds of its lanes, in the order of [`Plan::lane_of`]; 0 where no stream of a lane goes to the
    /// target, so that a load of many targets needs memory only for what it can have in flight.
    pub fn bounds(&self) -> Vec<Vec<u32>> {
        let lanes: Vec<usize> = (0..self.streams.len() as u16).map(|stream| self.lane_of(stream)).collect();
        let mut bounds = vec![vec![0; 1 + self.lanes.len()]; usize::from(self.targets)];
        for (stream, target) in self.flows() {
            let lane = lanes[usize::from(stream)];
            let own = lane.checked_sub(1).map_or(self.in_flight_bound, |own| self.lanes[own].in_flight_bound);
            bounds[usize::from(target)][lane] = own;
        }
        bounds
    }

    /// The lanes in words, to follow the bound in a sentence: `, beside them 32 of large-block-reads`.
    pub fn lanes_in_words(&self) -> String {
        let lanes = self.lanes.iter().map(|lane| format!("{} of {}", lane.in_flight_bound, lane.streams.join(" and ")));
        let lanes: Vec<String> = lanes.collect();
        if lanes.is_empty() { String::new() } else { format!(", beside them {}", lanes.join(", ")) }
    }

    /// The same plan for a worker that carries one operation at a time: it has only one slot.
    pub fn in_one_lane(&self) -> Plan {
        Plan { lanes: Vec::new(), ..self.clone() }
    }

    /// The unit that the load is counted in beside multiples, such as BSUs or mailboxes; `None` if there is none.
    pub fn counted(&self) -> Option<Counted> {
        if let Some(mail) = &self.mail {
            let parts = Some(Parts { name: "database".to_owned(), number: mail.databases(self.targets).into() });
            return Some(Counted { name: "mailboxes".to_owned(), at_1x: mail.mailboxes as f64, parts });
        }
        if let Some(tpcc) = &self.tpcc {
            let at_1x = tpcc.new_orders_a_minute()? / self.load.as_f64();
            return Some(Counted { name: "NOPM".to_owned(), at_1x, parts: None });
        }
        let oltp = self.oltp.as_ref()?;
        Some(Counted {
            name: "BSU".to_owned(),
            at_1x: oltp.rate.as_f64() / RATE as f64 / self.load.as_f64(),
            parts: None,
        })
    }

    /// Which tool or benchmark the load resembles, in the words that every text about it must have because results are
    /// not comparable. Empty if it resembles none.
    pub fn likeness(&self) -> Vec<String> {
        let mail = self.mail.as_ref().map(|_| crate::mail::LIKENESS);
        let oltp = self.oltp.as_ref().map(|_| crate::oltp::LIKENESS);
        let of_model = mail.or(oltp).or(self.tpcc.as_ref().map(|_| tpcc::WATERMARK));
        let mut all: Vec<String> = of_model.into_iter().map(str::to_owned).collect();
        // A merged plan has what its parts are like among its watermarks.
        all.extend(self.watermarks.iter().filter(|mark| of_model != Some(mark.as_str())).cloned());
        all
    }

    /// Where a search for the highest load begins, and how exact its answer is, unless somebody says otherwise.
    pub fn search(&self) -> (Multiple, Multiple) {
        match &self.mail {
            // What 1x is says the number of mailboxes, which is near what is wanted.
            Some(_) => (Multiple::ONE, Multiple::from_millionths(50_000).unwrap_or(Multiple::ONE)),
            // A database carries hundreds of times what the terminals of its warehouses ask for.
            None if self.tpcc.is_some() => (Multiple::whole(100), Multiple::whole(10)),
            None => (Multiple::whole(10), Multiple::ONE),
        }
    }

    /// Length of all phases.
    pub fn length(&self) -> Span {
        self.phases.iter().fold(Span::ZERO, |sum, phase| sum + phase.span)
    }

    /// Length of the judged phases.
    pub fn measured(&self) -> Span {
        let measured = self.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure);
        measured.fold(Span::ZERO, |sum, phase| sum + phase.span)
    }

    /// The warm-up before the first judged phase.
    pub fn warm_up(&self) -> WarmUp {
        let before = self.phases.first().filter(|phase| phase.kind == PhaseKind::WarmUp);
        before.map_or(WarmUp::For(Span::ZERO), |phase| match phase.steady_round {
            Some(round) => WarmUp::UntilSteady { limit: phase.span, round },
            None => WarmUp::For(phase.span),
        })
    }

    /// True when running it destroys what the targets hold.
    pub fn writes(&self) -> bool {
        self.streams.iter().any(Stream::writes)
    }

    /// The first stream whose places are those of a stream, by index: itself where it shares them with none.
    pub fn places_of(&self, stream: u16) -> u16 {
        let Some(own) = name_of_places(&self.streams[usize::from(stream)]) else { return stream };
        let first = self.streams.iter().position(|other| name_of_places(other) == Some(own));
        first.map_or(stream, |first| first as u16)
    }

    /// The targets that a stream is on.
    pub fn targets_of(&self, stream: u16) -> impl Iterator<Item = u16> + '_ {
        let named = &self.streams[usize::from(stream)].targets;
        (0..self.targets).filter(|target| named.is_empty() || named.contains(target))
    }

    /// Flows (stream, target) in the order in which intervals list them: all targets of the first stream, then of the
    /// second.
    pub fn flows(&self) -> impl Iterator<Item = (u16, u16)> + '_ {
        (0..self.streams.len() as u16).flat_map(|stream| self.targets_of(stream).map(move |target| (stream, target)))
    }

    /// The parts of the targets that a cache in front of them takes, be it a device or simulated: of an OLTP load data
    /// store and user store, of any other load whole targets.
    pub fn cacheable(&self, geometries: &[Geometry]) -> Result<Vec<Range>, String> {
        match &self.oltp {
            Some(oltp) => oltp.stores(geometries),
            None => Ok((0..).zip(geometries).map(|(target, it)| Range { target, start: 0, end: it.size }).collect()),
        }
    }

    fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.streams.iter().filter_map(Stream::block)
    }

    /// How large a target must be for the streams that are on it, in bytes, for blocks of `block` bytes; [`Plan::fits`] says more where
    /// parts of targets are laid out together.
    pub fn smallest_target(&self, target: u16, block: u32) -> u64 {
        let mut most = 0;
        for (stream, _, need) in self.needs(block) {
            let is_here = stream.targets.is_empty() || stream.targets.contains(&target);
            if is_here && !stream.is_laid_out() {
                most = most.max(need);
            }
        }
        most
    }

    /// The size of the smallest target that one of its streams fits on.
    pub(crate) fn needed_by(&self, stream: u16, block: u32) -> u64 {
        let own = &self.streams[usize::from(stream)].name;
        self.needs(block).find(|(stream, ..)| stream.name == *own).map_or(0, |(_, _, need)| need)
    }

    /// Refuses a range that is too small on any target; the error says whose.
    pub(crate) fn fits_somewhere(&self) -> Result<(), String> {
        match self.needs(SMALLEST_BLOCK).find(|(_, _, need)| *need == u64::MAX) {
            Some((stream, within, _)) => Err(format!(
                "the range of the stream {} is too small: it needs {} there",
                stream.name,
                Bytes::new(within).human()
            )),
            None => Ok(()),
        }
    }

    /// Of each stream how much of a target it needs for itself, and how large that target has to be.
    fn needs(&self, block: u32) -> impl Iterator<Item = (&Stream, u64, u64)> {
        (0..).zip(&self.streams).filter_map(move |(at, stream)| {
            let own = Stream::block(stream)?;
            let largest = own.size.in_blocks(block).largest();
            let set = if let Address::WorkingSet { size, .. } = own.address { size.get() } else { 0 };
            let recorded = stream.arrival.recording().filter(|recording| !recording.scaled);
            let reaches = recorded.map_or(0, |recording| recording.reaches.get());
            let within = largest.max(own.address.unit().get()).max(set).max(self.seen_once(at, block)).max(reaches);
            Some((stream, within, own.extent.map_or(within, |extent| extent.smallest(within, block))))
        })
    }

    /// How many bytes of each of its targets a stream goes through at most, where it goes to each place once; zero elsewhere.
    pub fn seen_once(&self, stream: u16, block: u32) -> u64 {
        let described = &self.streams[usize::from(stream)];
        let Some(Block { address: Address::NeverSeen { unit, reread }, .. }) = described.block() else { return 0 };
        let back = reread.map_or(0.0, |reread| reread.share.as_f64().min(1.0));
        let targets = self.targets_of(stream).count().max(1) as f64;
        let operations = described.arrival.most_in(self.length()).unwrap_or(0.0) / targets;
        // Six standard deviations of which of them go back, and what workers are apart.
        let new = operations * (1.0 - back) + 6.0 * (operations * back).sqrt() + 1024.0;
        let unit = unit.get().next_multiple_of(u64::from(block));
        (new.ceil() as u64).saturating_mul(unit)
    }

    /// The value of [`CarriedOver::seen`] after this plan has run, for blocks of `block` bytes.
    pub fn seen_after(&self, block: u32) -> Bytes {
        let once = (0..self.streams.len() as u16).map(|stream| self.seen_once(stream, block)).max();
        Bytes::new(self.carried_over.seen.get().saturating_add(once.unwrap_or(0)))
    }

    /// The same plan after a run of it that used up `seen` and measured `time`: patterns that continue from run to run
    /// begin where that run ended.
    #[must_use]
    pub fn behind(&self, seen: Bytes, time: Span) -> Plan {
        let seen = if self.streams.iter().any(Stream::goes_once) { seen } else { self.carried_over.seen };
        let moves = self.has_lives() || self.streams.iter().any(changes_with_time);
        let time = if moves { self.carried_over.time + time } else { self.carried_over.time };
        Plan { carried_over: CarriedOver { time, seen }, ..self.clone() }
    }

    /// The largest operation in bytes, for blocks of `block` bytes.
    pub fn largest_operation(&self, block: u32) -> u64 {
        let own = self.blocks().map(|it| it.size.in_blocks(block).largest()).max().unwrap_or(0);
        // A cache reads whole blocks at both ends.
        own + self.cache.map_or(0, |cache| 2 * cache.block.get().next_multiple_of(block.into()))
    }

    /// The name of how the operations of a stream arrive at the target, as the log has it.
    pub fn arrival_of(&self, stream: &Stream) -> &'static str {
        if self.cache.is_some() { "behind a cache" } else { stream.arrival.name() }
    }

    /// The common unit of all reads and writes on a target with blocks of `block` bytes: the largest power of two that
    /// divides all their lengths and offsets. `None` when that is less than the smallest granule of a seal.
    pub fn granule(&self, block: u32) -> Option<u64> {
        let common = self.common(block, |_| true).min(seal::LARGEST);
        (common >= seal::SMALLEST).then_some(common)
    }

    /// The common unit of the writes, or of the reads where nothing is written: one generation is counted for each
    /// unit.
    pub fn unit(&self, block: u32) -> u64 {
        let writes = self.writes();
        self.common(block, |it| (it.direction == Direction::Write) == writes)
    }

    fn common(&self, block: u32, which: impl Fn(&Block) -> bool) -> u64 {
        let mut all = 0;
        for (at, stream) in (0..).zip(&self.streams) {
            let Some(own) = stream.block().filter(|own| which(own)) else { continue };
            if own.address != Address::Written {
                all |= own.extent.map_or(0, |extent| extent.step(block)) | self.step_of(at, block);
            }
        }
        common_power(all)
    }

    /// The lowest bit of the answer is the common unit of the lengths and offsets of a stream (by its index), counted from
    /// the begin of its part of the target. Zero if it moves no blocks.
    pub(crate) fn step_of(&self, stream: u16, block: u32) -> u64 {
        let own = self.streams[usize::from(stream)].block().map_or(0, |it| it.step(block));
        own | self.sharing_cursor(stream).fold(0, |all, it| all | it.step(block))
    }

    /// The largest operation, in bytes, of those that go on from each other's places: a stream's own, and those of the
    /// streams that share its cursor. Zero if it moves no blocks.
    pub(crate) fn largest_at_cursor(&self, stream: u16, block: u32) -> u64 {
        let own = self.streams[usize::from(stream)].block();
        let all = own.into_iter().chain(self.sharing_cursor(stream));
        all.map(|own| own.size.in_blocks(block).largest()).max().unwrap_or(0)
    }

    /// The streams whose operations move the cursor of a stream on: those of its loop that share its places.
    fn sharing_cursor(&self, stream: u16) -> impl Iterator<Item = &Block> {
        let own = &self.streams[usize::from(stream)];
        let name = own.block().filter(|it| it.address.has_cursor()).and_then(|it| it.places.as_ref());
        let of_loop = self
            .streams
            .iter()
            .filter(move |other| name.is_some() && other.arrival.loop_name() == own.arrival.loop_name());
        let others = of_loop.filter_map(Stream::block);
        others.filter(move |it| it.address.has_cursor() && it.places.as_ref() == name)
    }

    /// Bytes per second that a stream moves over all its targets, for blocks of `block` bytes; `None` for a closed loop.
    pub fn bytes_per_second(stream: &Stream, block: u32) -> Option<f64> {
        Some(stream.arrival.rate()?.as_f64() * stream.block()?.size.in_blocks(block).mean())
    }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
