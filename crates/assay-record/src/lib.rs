//! What was observed: histograms, exact threshold counters, intervals, and the run log that stores them.
//!
//! Pure: the log is written to any `io::Write` and read from any `io::BufRead`. This room knows no workload and no
//! device. The run log is the only connection between running and judging; `docs/formats/log.md` specifies it.
#![warn(unreachable_pub)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make files and threads of their own"))]

mod cells;
mod commits;
mod database;
mod durability;
mod event;
mod flow_counters;
mod foreign;
pub mod header;
mod host_rows;
mod interval;
mod late;
mod log;
mod loops;
mod packed;
mod pauses;
mod plan_head;
mod recorder;
mod running;
mod skip;
mod thresholds;
mod times;

pub use commits::{BadLedger, Commit, CommitsEnd, CommitsHead, CommitsReader, CommitsWriter, Committed, LedgerEntry};
pub use database::{DatabaseHead, DatabaseSums, PerMinute};
pub use durability::DurabilityHead;
pub use event::{CACHED_SHARE, Event, EventKind, MARK_ID, PART};
pub use flow_counters::{FlowCounters, FlowWork};
pub use foreign::{DiskWork, ForeignAccount, ForeignLoad, OwnWork, WatchedDisk};
pub use header::{
    CacheHead, Close, CloseReason, DIRECTORY, FlowHead, Header, HostClock, HostHead, MeterHead, PhaseHead, PhaseKind,
    Preparation, StepHead, StreamHead, TargetHead,
};
pub use host_rows::{DistributionRows, IntervalRows, RowLayout};
pub use interval::{
    CacheCounters, ClockSample, DiskCounters, FailureTimes, FlowHistograms, FlowInterval, Histograms, HostSample,
    Interval, Lateness, Moved, OnwardReads, PARTS, SHORT_RUN, SHORT_RUN_GROUP, Timing,
};
pub use log::{Damage, Entry, Reader, Writer};
pub use loops::{LoopHead, LoopInterval};
pub use packed::{Filled, Unpacker};
pub use pauses::Pauses;
pub use plan_head::{PlanHead, PlannedAddress, PlannedGroup, PlannedLife, PlannedLoop, PlannedStream};
pub use recorder::{Excess, Failure, Frame, OperationTimes, Recorder};
pub use running::{LifeNews, Running, Stretches};
pub use thresholds::Thresholds;
pub use times::Times;
