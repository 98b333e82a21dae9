//! What the process that holds the log and the process that makes the calls say to each other: one line of JSON each.

use assay_base::Span;
use assay_device::clock::TimeLine;
use assay_files::own_dir::Claim;
use assay_files::shell::ClientInterval;
use assay_model::files::FilesWorkload;
use assay_record::{Event, HostSample};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A path, which need not be UTF-8.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PathBytes(Vec<u8>);

impl PathBytes {
    pub(super) fn new(path: &Path) -> PathBytes {
        PathBytes(path.as_os_str().as_bytes().to_vec())
    }

    pub(super) fn to_path(&self) -> PathBuf {
        PathBuf::from(OsStr::from_bytes(&self.0))
    }
}

/// What is asked of the process that makes the calls. It carries out one request after the other; `Stop` at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Request {
    /// Open a directory, and examine whether a run may make one of its own there.
    Examine(Examine),
    /// Make an empty directory of our own there, by which other hosts know the place.
    Claim {
        /// The name of the run.
        run: String,
        /// What all ranks that have this place will do there together, which must fit.
        load: Box<FilesWorkload>,
    },
    /// Say which of these are there.
    LookFor(Vec<Claim>),
    /// Remove what was made for others to find.
    Unclaim,
    /// Make a directory of our own there, and the tree in it.
    Begin(Box<Begin>),
    /// Carry out a phase.
    Phase(Phase),
    /// Let the clients of a phase begin that waits for it.
    Start {
        /// When, on the time line of the log, in nanoseconds; `None` where they do not begin.
        at_ns: Option<u64>,
    },
    /// Begin no further sequence.
    Stop,
    /// Remove the tree; compare it before with what was written, if so wanted.
    End {
        /// Whether it is compared.
        verify: bool,
        /// Whether it stays.
        keep: bool,
    },
}

/// A directory to examine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Examine {
    /// As the user named it; `None` for one in memory, which the process finds or makes.
    pub(super) path: Option<PathBytes>,
    /// The type that its file system must have.
    pub(super) file_system: Option<String>,
    /// The directory of the log.
    pub(super) run_directory: PathBytes,
}

/// The beginning of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Begin {
    /// Its name, which no other run has.
    pub(super) run: String,
    /// Its number in the stamps of its contents.
    pub(super) number: u32,
    /// The seed of everything that is drawn.
    pub(super) seed: u64,
    /// What clients do.
    pub(super) workload: FilesWorkload,
    /// Whether the caches of the host will be dropped, which is tried first.
    pub(super) drop_caches: bool,
}

/// A phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Phase {
    /// Its place in the workload.
    pub(super) index: u32,
    /// Its length, or the longest that it may take.
    pub(super) length: Span,
    /// The recording step.
    pub(super) interval: Span,
    /// How many intervals a line of distributions covers.
    pub(super) group: u64,
    /// The boundaries of the exact counts.
    pub(super) thresholds_ns: Vec<u64>,
    /// The names of the streams, in the order of the log.
    pub(super) streams: Vec<String>,
    /// How many closed loops of the clients the log has: of their calls, and of their sequences.
    pub(super) loops: usize,
    /// After how long a call is stuck, and after how long it is given up.
    pub(super) stuck: Span,
    /// See `stuck`.
    pub(super) given_up: Span,
    /// Whether the caches of the host are dropped before it.
    pub(super) drop_caches: bool,
    /// Whether its clients begin when they are told to, as those of other ranks do.
    pub(super) waits_for_start: bool,
    /// The time line of the log.
    pub(super) time_line: SharedTimeLine,
}

/// A [`TimeLine`], as it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SharedTimeLine {
    is_raw: bool,
    origin_ns: u64,
}

impl From<TimeLine> for SharedTimeLine {
    fn from(TimeLine { is_raw, origin_ns }: TimeLine) -> SharedTimeLine {
        SharedTimeLine { is_raw, origin_ns }
    }
}

impl From<SharedTimeLine> for TimeLine {
    fn from(SharedTimeLine { is_raw, origin_ns }: SharedTimeLine) -> TimeLine {
        TimeLine { is_raw, origin_ns }
    }
}

/// What the process that makes the calls says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Answer {
    /// A run may make a directory there.
    Examined(PlaceFacts),
    /// A directory is there for others to find.
    Claimed(Claim),
    /// Whether each of those that were asked for is there.
    Seen(Vec<bool>),
    /// It was removed; what stays of it, in words.
    Unclaimed(Option<String>),
    /// The tree is there.
    Begun(TreeMade),
    /// A phase has begun, whose files were looked at in the page cache; `None` where there is nothing to look at.
    PhaseBegun(Option<CacheLook>),
    /// What happened in an interval, and what this process cost meanwhile.
    Interval(Box<ClientInterval>, HostSample),
    /// Something happened.
    Event(Event),
    /// The phase is over.
    PhaseOver(PhaseOver),
    /// The tree was compared and removed.
    Ended(RunEnd),
    /// The request could not be carried out.
    Refused(Refusal),
}

/// What of the files was in the page cache before a phase.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct CacheLook {
    /// Files that were looked at.
    pub(super) files: u64,
    /// The share of their pages (0 to 1); `None` where the kernel does not say it.
    pub(super) share: Option<f64>,
}

/// A request that could not be carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Refusal {
    /// Why.
    pub(super) kind: RefusalKind,
    /// What, where, and what to do.
    pub(super) text: String,
}

/// See [`assay_files::Kind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum RefusalKind {
    /// The command line does not make sense.
    Usage,
    /// Data that is not ours could be lost, or the place is too small.
    Refused,
    /// Another Assay works there.
    Busy,
    /// The host or its file system is not able to do it.
    Host,
}

impl From<assay_files::Trouble> for Refusal {
    fn from(trouble: assay_files::Trouble) -> Refusal {
        let kind = match trouble.kind {
            assay_files::Kind::Usage => RefusalKind::Usage,
            assay_files::Kind::Refused => RefusalKind::Refused,
            assay_files::Kind::Busy => RefusalKind::Busy,
            assay_files::Kind::Host => RefusalKind::Host,
        };
        Refusal { kind, text: trouble.to_string() }
    }
}

impl From<Refusal> for assay_files::Trouble {
    fn from(Refusal { kind, text }: Refusal) -> assay_files::Trouble {
        match kind {
            RefusalKind::Usage => assay_files::Trouble::usage(text),
            RefusalKind::Refused => assay_files::Trouble::refused(text),
            RefusalKind::Busy => assay_files::Trouble::busy(text),
            RefusalKind::Host => assay_files::Trouble::host(text),
        }
    }
}

/// Facts about a directory and its file system.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PlaceFacts {
    /// The type of its file system; its number where this program knows no name of it.
    pub(super) file_system: String,
    /// Its size in bytes.
    pub(super) size: u64,
    /// The size of its blocks.
    pub(super) block: u32,
    /// Further facts by name, for the log.
    pub(super) facts: BTreeMap<String, String>,
    /// The number of its mount (`stx_mnt_id` of statx(2)), where the kernel says it.
    pub(super) mount_number: Option<u64>,
}

/// A tree that was made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TreeMade {
    /// The path of our own directory, as it may be shown.
    pub(super) directory: String,
    /// Directories below it.
    pub(super) directories: u64,
    /// Files.
    pub(super) files: u64,
    /// Their bytes.
    pub(super) bytes: u64,
}

/// How a phase ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct PhaseOver {
    /// The time at which its clients began: behind what was done before, such as dropping all files from the page cache.
    pub(super) begun_ns: u64,
    /// The time at which its last client was done.
    pub(super) at_ns: u64,
    /// Why it ended.
    pub(super) end: PhaseEnd,
    /// When the first client had no more to do, and how many sequences all had done by then; where each takes every file
    /// once.
    pub(super) stonewall: Option<Stonewall>,
}

/// Why a phase ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum PhaseEnd {
    /// It was over.
    Whole,
    /// It was told to stop.
    Stopped,
    /// A call did not return; which, and whose.
    GivenUp(String),
    /// The path leads to something else; in words.
    PlaceLost(String),
    /// What must stay free was used up; in words.
    RoomTaken(String),
}

/// The moment when the first client had no more to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stonewall {
    pub(super) at_ns: u64,
    pub(super) sequences: u64,
}

/// What the comparison and the cleaning found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RunEnd {
    /// The comparison, where there was one.
    pub(super) compared: Option<Compared>,
    /// What stays of the directory, in words; `None` if nothing does.
    pub(super) left: Option<String>,
    /// The path of what was to stay.
    pub(super) kept: Option<String>,
    /// What of the source is not what it was when the run began, each in words.
    pub(super) source_changed: Vec<String>,
}

/// What the comparison of the tree with what was written found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Compared {
    /// Names that were compared.
    pub(super) names: u64,
    /// Bytes that were compared.
    pub(super) bytes: u64,
    /// Names that were left out, because a failed call leaves open what they are.
    pub(super) unsure: u64,
    /// How many faults there are of each kind, by its word.
    pub(super) counts: BTreeMap<String, u64>,
    /// The first of them, in words.
    pub(super) faults: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_no_text_arrives_as_it_was() {
        let path = Path::new(OsStr::from_bytes(b"/mnt/\xff\xfe x"));
        let sent = serde_json::to_string(&PathBytes::new(path)).unwrap();
        assert_eq!(serde_json::from_str::<PathBytes>(&sent).unwrap().to_path(), path);
    }

    #[test]
    fn a_refusal_arrives_with_its_class() {
        for trouble in [
            assay_files::Trouble::usage("a"),
            assay_files::Trouble::refused("b"),
            assay_files::Trouble::busy("c"),
            assay_files::Trouble::host("d"),
        ] {
            let sent = serde_json::to_string(&Answer::Refused(trouble.clone().into())).unwrap();
            let Answer::Refused(arrived) = serde_json::from_str(&sent).unwrap() else { panic!("{sent}") };
            assert_eq!(assay_files::Trouble::from(arrived), trouble);
        }
    }
}
