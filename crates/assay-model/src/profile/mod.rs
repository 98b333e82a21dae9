//! A profile: what production does to its drives, as it was collected there. It is both a workload (`model =
//! "profile"`) and a document: each number states where it comes from.
//!
//! Source: "Advanced Flash Device Sizing" (2018), which describes the procedure. It does not say where in its bucket of
//! a histogram a size lies, and how its offsets are applied; `docs/sizing.md` says what is done here.

mod as_counted;
mod as_seen;
mod derivation;
mod knobs;
mod learnt;
mod lower;
mod sizes;
mod write;

pub use as_counted::{Counting, measured_rate, rounded_rate, share_from_percent};
pub use derivation::Derivation;
pub use knobs::AskedLoad;
pub use learnt::lines_with_what_they_tell;
pub use lower::{Lowered, ProfileFault};
pub use sizes::{Points, Sizes};
pub use write::write_profile;

use crate::address::Address;
use crate::extent::Extent;
use crate::plan::Arrival;
use assay_base::{Bytes, Rate, Share, Span};

/// A number and where it comes from, in words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sourced<T> {
    /// The number.
    pub value: T,
    /// `tables.txt:39, asloglatency, average of 5 slices`.
    pub source: String,
}

impl<T> Sourced<T> {
    /// A number with this source.
    pub fn new(value: T, source: impl Into<String>) -> Sourced<T> {
        Sourced { value, source: source.into() }
    }
}

/// What production does.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Profile {
    /// The drive that a target stands for, `node/drive` or the drive's name alone; chosen automatically where it is
    /// absent.
    pub drive: Option<String>,
    /// Namespaces and other applications.
    pub parts: Vec<ProfilePart>,
    /// Drives, as iostat shows them.
    pub drives: Vec<Drive>,
}

/// The kind of a part.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum PartKind {
    /// A namespace of Aerospike: its writes are gathered in large blocks.
    #[default]
    Namespace,
    /// Any application: reads and writes reach the drive unchanged.
    Application,
}

/// A namespace or an application on one node.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ProfilePart {
    /// What it is.
    pub kind: PartKind,
    /// Its name.
    pub name: String,
    /// The node; empty where there is only one.
    pub node: String,
    /// The drives of the node over which it is spread evenly; one drive where none is named.
    pub drives: Vec<String>,
    /// How many operations are in flight on a drive at any time: the next one is issued when one completes, and the rates
    /// of reads and writes say only how many of each there are.
    pub in_flight: Option<Sourced<u32>>,
    /// Flushes per second, on all drives together.
    pub flushes: Option<Sourced<Rate>>,
    /// What is read, on all those drives together.
    pub reads: Option<Flow>,
    /// What is written: operations of the storage layer, not of clients.
    pub writes: Option<Flow>,
    /// The blocks that writes are gathered in.
    pub large_blocks: LargeBlocks,
    /// What reaches the drives of a namespace beside what its server counts.
    pub others: Others,
    /// Each record is also written separately.
    pub commit_to_device: bool,
    /// Smallest such write; the drive's own block where it is absent.
    pub commit_min: Option<Bytes>,
    /// What written data compresses to; random data where it is absent.
    pub compress_to: Option<Share>,
    /// How long clients waited, as shares of their reads over times.
    pub reads_over: Option<Sourced<Vec<(Span, Share)>>>,
    /// The same for writes.
    pub writes_over: Option<Sourced<Vec<(Span, Share)>>>,
}

/// Reads or writes.
#[derive(Clone, PartialEq, Debug)]
pub struct Flow {
    /// Per second, on all drives together.
    pub rate: Option<Sourced<Rate>>,
    /// The sizes of the operations.
    pub sizes: Option<Sourced<Sizes>>,
    /// Where sizes lie in their bucket: 100 % is its lower bound, 200 % its upper one.
    pub position: Share,
    /// Whether writes must be on stable media to be complete.
    pub durable: bool,
    /// Where operations go and when they come, where that was seen.
    pub seen: Seen,
    /// Other properties that a trace shows. They are not part of the load.
    pub habits: Habits,
}

impl Default for Flow {
    fn default() -> Flow {
        Flow {
            rate: None,
            sizes: None,
            position: Share::WHOLE,
            durable: false,
            seen: Seen::default(),
            habits: Habits::default(),
        }
    }
}

/// Where operations go and when they come. What is absent was not seen: places are then uniform over the whole drive, and
/// arrivals independent.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Seen {
    /// Where operations go.
    pub address: Option<Sourced<Address>>,
    /// In which part of the drive.
    pub range: Option<Sourced<Extent>>,
    /// Flows with the same name have the same hot places.
    pub places: Option<String>,
    /// When operations are due; its rate is replaced by that of the flow.
    pub arrival: Option<Sourced<Arrival>>,
}

/// Properties of an application's operations.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Habits {
    /// Share of operations that begin where the one before ended.
    pub sequential: Option<Sourced<Share>>,
    /// The exponent of the Zipf law of its addresses, and its largest distance from the counts.
    pub zipf: Option<Sourced<(f64, Share)>>,
    /// Shares of the addresses, and the share of the operations that goes to each.
    pub hot_zones: Option<Sourced<Vec<(Share, Share)>>>,
    /// Variance divided by mean of the arrivals in windows of several lengths.
    pub dispersion: Option<Sourced<Vec<(Span, f64)>>>,
    /// The share of the reads that caches of these sizes would not answer.
    pub misses: Option<Sourced<Vec<(Bytes, Share)>>>,
    /// Share of the writes that follow a read of the same place within a second.
    pub rewritten: Option<Sourced<Share>>,
    /// Operations per second in each hour of the day; negative where unknown.
    pub hours: Option<Sourced<Vec<f64>>>,
}

/// The blocks that a namespace's writes are gathered in.
#[derive(Clone, PartialEq, Debug)]
pub struct LargeBlocks {
    /// Their size.
    pub size: Bytes,
    /// Written per second, by clients and by defragmentation, on all drives together.
    pub writes: Option<Sourced<Rate>>,
    /// Freed per second without having been read.
    pub direct_frees: Option<Sourced<Rate>>,
    /// Read per second by defragmentation.
    pub reads: Option<Sourced<Rate>>,
    /// Blocks that are less full than this are defragmented; used where `writes` is not known.
    pub defrag_below: Share,
    /// Scales the writes; a fit changes it.
    pub write_scale: Share,
    /// Scales the reads; a fit changes it.
    pub read_scale: Share,
    /// Whether they must be on stable media to be complete.
    pub durable: bool,
}

impl Default for LargeBlocks {
    fn default() -> LargeBlocks {
        LargeBlocks {
            size: Bytes::from_kib(128),
            writes: None,
            direct_frees: None,
            reads: None,
            defrag_below: Share::from_percent(50),
            write_scale: Share::WHOLE,
            read_scale: Share::WHOLE,
            durable: true,
        }
    }
}

impl LargeBlocks {
    /// Whether the number of blocks that are read follows from counts.
    pub fn counts_reads(&self) -> bool {
        self.reads.is_some() || self.direct_frees.is_some() && self.writes.is_some()
    }

    /// Whether the number of blocks that are written was counted.
    pub fn counts_writes(&self) -> bool {
        self.writes.is_some()
    }
}

/// Operations that reach the drives of a namespace and that its server does not count: iostat shows more than the
/// server's counts add up to. Nobody knows what they are: they are of one size and anywhere on the drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Others {
    /// Reads per second, on all drives together; a fit changes it.
    pub reads: Rate,
    /// Writes per second, on all drives together; a fit changes it.
    pub writes: Rate,
    /// Their size.
    pub size: Bytes,
}

impl Default for Others {
    /// None, of the size of a page.
    fn default() -> Others {
        Others { reads: Rate::ZERO, writes: Rate::ZERO, size: Bytes::from_kib(4) }
    }
}

/// A drive of production, according to its iostat. Bytes are per second.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Drive {
    /// The node.
    pub node: String,
    /// The device's name.
    pub name: String,
    /// Reads per second.
    pub reads: Option<Sourced<Rate>>,
    /// Writes per second.
    pub writes: Option<Sourced<Rate>>,
    /// Bytes read per second.
    pub read_bytes: Option<Sourced<Bytes>>,
    /// Bytes written per second.
    pub write_bytes: Option<Sourced<Bytes>>,
    /// Mean time of a read, queue included.
    pub read_await: Option<Sourced<Span>>,
    /// Mean time of a write.
    pub write_await: Option<Sourced<Span>>,
    /// Standard deviation of reads per second over the reports, as a share of their mean.
    pub reads_deviation: Option<Sourced<Share>>,
    /// The same of writes.
    pub writes_deviation: Option<Sourced<Share>>,
    /// Number of reports that the means were taken over.
    pub reports: u64,
}

impl Drive {
    /// `node/name`, or the name alone where there is no node.
    pub fn drive_path(&self) -> String {
        drive_path(&self.node, &self.name)
    }
}

/// `node/drive`.
pub(crate) fn drive_path(node: &str, drive: &str) -> String {
    if node.is_empty() { drive.to_owned() } else { format!("{node}/{drive}") }
}
