//! What a workload is: everything except the number of targets and the multiple of its load.

use super::certificate::{Certificate, Limits};
use super::step::Step;
use crate::files::{PlannedFiles, SourceFound};
use crate::hosts::HostTargets;
use crate::lives;
use crate::mail::Mail;
use crate::mix::Loop;
use crate::oltp::OltpLoad;
pub use crate::plan::Caches;
use crate::plan::{Group, Lane, Phase, Stream, WarmUp};
use crate::profile::Derivation;
use crate::tpcc;
use assay_base::{Bytes, Criterion, Multiple, Span};

/// Judging windows of an hour, as in ACT's criteria.
const SLICE: Span = Span::from_secs(3600);
/// A day, as in ACT's manual.
const DURATION: Span = Span::from_secs(86_400);
/// Recording step.
const INTERVAL: Span = Span::from_secs(1);
/// ACT's max-lag-sec.
const MAX_LAG: Span = Span::from_secs(10);
/// Upper bound on operations in flight per target. It is enough for a device to use all its parallelism, and limited
/// because the buffers must be; an operation that finds the queue full waits, and its wait counts.
pub const IN_FLIGHT_BOUND: u32 = 512;
/// Longest run, and longest slice: a year.
pub(super) const LONGEST_RUN: Span = Span::from_secs(366 * 86_400);
/// Shortest slice and interval.
pub(super) const SHORTEST_SLICE: Span = Span::from_ms(10);

/// A workload: everything except the number of targets and the multiple of its load.
#[derive(Clone, Debug)]
pub struct Workload {
    /// Its name, or that of the file.
    pub name: String,
    /// One line about it; may be empty.
    pub description: String,
    /// The model's name.
    pub model: &'static str,
    /// The load at 1x.
    pub load: Load,
    /// What it says about its targets.
    pub targets: Targets,
    /// How long it takes, and how this time is divided.
    pub timing: Timing,
    /// Which data is compared with what was written.
    pub verification: Verification,
    /// The caches between the load and its targets.
    pub caches: Caches,
    /// See [`Plan::hosts`](crate::plan::Plan::hosts).
    pub hosts: HostTargets,
    /// The file's own seed.
    pub seed: Option<u64>,
    /// What decides the verdict.
    pub criteria: Vec<Criterion>,
    /// How it is certified, where the file says so.
    pub certificate: Option<Certificate>,
    /// Other bounds, by name.
    pub limits: Vec<Limits>,
    /// See [`Notes::derivation`](crate::plan::Notes::derivation).
    pub derivation: Vec<Derivation>,
    /// What the reader of a report must know.
    pub notes: Vec<String>,
    /// See [`Notes::watermarks`](crate::plan::Notes::watermarks).
    pub watermarks: Vec<String>,
}

/// A load at 1x: its streams, and what they share.
#[derive(Clone, Debug)]
pub struct Load {
    /// Streams at 1x. Rates are for each target when `per_target`, otherwise for all targets together.
    pub streams: Vec<Stream>,
    /// Whether the rates of `streams` are for each target.
    pub per_target: bool,
    /// The rates of `streams` as a multiple of the model's 1x on one target; `None` where they themselves define 1x.
    pub standard: Option<Multiple>,
    /// Streams that `--load` does not multiply.
    pub unscaled: Vec<String>,
    /// See [`PlannedLoad::lanes`](crate::plan::PlannedLoad::lanes).
    pub lanes: Vec<Lane>,
    /// See [`PlannedLoad::groups`](crate::plan::PlannedLoad::groups).
    pub groups: Vec<Group>,
    /// See [`PlannedLoad::loops`](crate::plan::PlannedLoad::loops).
    pub loops: Vec<Loop>,
    /// See [`PlannedLoad::in_flight_bound`](crate::plan::PlannedLoad::in_flight_bound).
    pub in_flight_bound: u32,
    /// The application whose load the streams are; absent where they stand for themselves.
    pub application: Option<Application>,
}

/// An application that has figures of its own, beyond those of its streams. All are for 1x.
#[derive(Clone, Debug)]
pub enum Application {
    /// An OLTP database on an array.
    Oltp(OltpLoad),
    /// A mail store.
    Mail(Mail),
    /// Transactions on a database.
    Tpcc(tpcc::Load),
    /// Clients on a tree of files.
    Files(PlannedFiles),
    /// Workloads that run together, as often as there are tiles.
    Tiles(Tiles),
}

/// What a file of tiles says: workloads that run together on ranges of each target.
#[derive(Clone, Debug, Default)]
pub struct Tiles {
    /// The ranges of one tile, one behind the other on each target.
    pub parts: Vec<TilePart>,
    /// What runs once, beside all tiles.
    pub background: Vec<TileMember>,
    /// The times that all workloads have, in the place of their own.
    pub times: TileTimes,
}

/// One range of a tile on each target, and what runs on it.
#[derive(Clone, Debug)]
pub struct TilePart {
    /// Its size on each target.
    pub size: Bytes,
    /// What runs on it.
    pub members: Vec<TileMember>,
}

/// A workload of a tile, or beside the tiles.
#[derive(Clone, Debug)]
pub struct TileMember {
    /// Its name in the names of its streams.
    pub name: String,
    /// Its workload, as the file of tiles names it.
    pub file: String,
    /// Its load in each tile; its own if absent.
    pub load: Option<Multiple>,
    /// Absent until its file has been read.
    pub workload: Option<Box<Workload>>,
}

/// Times that a file of tiles gives to all its workloads.
#[derive(Clone, Copy, Debug, Default)]
pub struct TileTimes {
    /// How long is measured.
    pub duration: Option<Span>,
    /// The warm-up before.
    pub warm_up: Option<WarmUp>,
    /// The windows that are judged one by one.
    pub slice: Option<Span>,
}

/// What a workload says about its targets.
#[derive(Clone, Debug, Default)]
pub struct Targets {
    /// Targets the workload itself names (an ACT configuration does).
    pub paths: Vec<String>,
    /// What the workload calls its targets, in the order in which they are given; empty where it does not tell them apart.
    pub names: Vec<String>,
    /// I/O scheduler that the devices are given for the run, by the kernel's name for it.
    pub scheduler: Option<String>,
}

/// How long a workload takes, and how this time is divided.
#[derive(Clone, Debug)]
pub struct Timing {
    /// The warm-up before measuring.
    pub warm_up: WarmUp,
    /// Measured time.
    pub duration: Span,
    /// The steps, where it is carried out in steps, one after another.
    pub steps: Vec<Step>,
    /// The phases of the measured time, where it has some.
    pub phases: Vec<Phase>,
    /// Judging window.
    pub slice: Span,
    /// See [`PlannedTiming::skip_half_windows`](crate::plan::PlannedTiming::skip_half_windows).
    pub skip_half_windows: bool,
    /// Recording step.
    pub interval: Span,
    /// See [`PlannedTiming::max_lag`](crate::plan::PlannedTiming::max_lag).
    pub max_lag: Span,
    /// See [`PlannedTiming::backlog_allowed`](crate::plan::PlannedTiming::backlog_allowed).
    pub backlog_allowed: Span,
    /// See [`PlannedTiming::recovery_at_most`](crate::plan::PlannedTiming::recovery_at_most).
    pub recovery_at_most: Span,
}

/// Which data is compared with what was written.
#[derive(Clone, Debug, Default)]
pub struct Verification {
    /// See [`PlannedVerification::verify`](crate::plan::PlannedVerification::verify).
    pub verify: bool,
    /// It verifies where its targets keep data, and does not where they do not.
    pub if_possible: bool,
    /// What is done with the data of single streams, where not all are alike; then `verify` is not looked at.
    pub sealed: Vec<(String, Sealing)>,
    /// See [`PlannedVerification::check_all`](crate::plan::PlannedVerification::check_all).
    pub check_all: Vec<String>,
}

/// What is done with the data of a stream in a workload that verifies some of its streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sealing {
    /// What it reads is compared with what was written.
    Compared,
    /// What it writes is sealed, and read back in the end.
    ReadBack,
    /// What it writes is sealed, and left for a later run to compare.
    Left,
}

impl Default for Timing {
    fn default() -> Self {
        Timing {
            warm_up: WarmUp::For(Span::ZERO),
            duration: DURATION,
            steps: Vec::new(),
            phases: Vec::new(),
            slice: SLICE,
            skip_half_windows: false,
            interval: INTERVAL,
            max_lag: MAX_LAG,
            backlog_allowed: Span::ZERO,
            recovery_at_most: Span::ZERO,
        }
    }
}

impl Load {
    /// Streams with rates for each target, which share nothing and define 1x themselves.
    pub fn from_streams(streams: Vec<Stream>) -> Load {
        Load {
            streams,
            per_target: true,
            standard: None,
            unscaled: Vec::new(),
            lanes: Vec::new(),
            groups: Vec::new(),
            loops: Vec::new(),
            in_flight_bound: IN_FLIGHT_BOUND,
            application: None,
        }
    }

    /// The transactions on a database that its streams are.
    pub fn as_tpcc(&self) -> Option<&tpcc::Load> {
        match &self.application {
            Some(Application::Tpcc(load)) => Some(load),
            _ => None,
        }
    }

    /// The clients on a tree of files whose operations its streams are.
    pub fn as_files(&self) -> Option<&PlannedFiles> {
        match &self.application {
            Some(Application::Files(files)) => Some(files),
            _ => None,
        }
    }

    /// The load as written, on this many targets: 1x, unless its rates are known as another multiple of the model's 1x.
    pub fn load_as_written(&self, targets: u16) -> Multiple {
        let shared = if self.per_target { 1 } else { u64::from(targets) };
        self.standard.and_then(|standard| standard.divided_by(Multiple::from_whole(shared))).unwrap_or(Multiple::ONE)
    }
}

impl Workload {
    /// A workload with a model's streams and the common defaults.
    pub fn new(
        name: &str,
        model: &'static str,
        streams: Vec<Stream>,
        criteria: impl FnOnce(Span) -> Vec<Criterion>,
    ) -> Workload {
        Workload {
            name: name.to_owned(),
            description: String::new(),
            model,
            load: Load::from_streams(streams),
            targets: Targets::default(),
            timing: Timing::default(),
            verification: Verification::default(),
            caches: Caches::default(),
            hosts: HostTargets::default(),
            seed: None,
            criteria: criteria(SLICE),
            certificate: None,
            limits: Vec::new(),
            derivation: Vec::new(),
            notes: Vec::new(),
            watermarks: Vec::new(),
        }
    }

    /// Adds what was found in the tree that its clients copy, and what the reader of a report must know of it.
    pub fn set_source_found(&mut self, found: &SourceFound, remarks: Vec<String>) {
        if let Some(Application::Files(files)) = &mut self.load.application {
            let tree = &mut files.workload.tree;
            *tree = tree.clone().with_source_found(found.clone());
        }
        self.notes.extend(remarks);
    }

    /// How long it measures, or would if all its streams lasted as long as they may.
    pub fn measured_length(&self) -> Span {
        let own = self.timing.duration;
        lives::all_over(&self.load.streams, &self.load.loops).map_or(own, |over| over.min(own))
    }

    /// A criterion whose window was the file's slice follows the slice when the command line changes it.
    pub(super) fn with_new_window(&self, criterion: &Criterion, slice: Span) -> Criterion {
        let window = criterion.window.map(|window| if window == self.timing.slice { slice } else { window });
        Criterion { window, ..criterion.clone() }
    }
}
