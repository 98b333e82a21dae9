//! What a log says once per segment: its header and its closing line.
//!
//! A log is a sequence of segments, each beginning with a header. A plain run is one segment; each step of a
//! certification is one; a run that was continued adds one with `continues` set, and the time between the two is the
//! gap.

use crate::database::{DatabaseHead, PerMinute};
use crate::durability::DurabilityHead;
use crate::foreign::WatchedDisk;
use crate::interval::ClockSample;
use crate::loops::LoopHead;
use assay_base::{Criterion, Direction, Rate, file_systems};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The format this crate writes; a log of a higher version is refused.
pub const FORMAT: u32 = 1;

/// Everything needed to judge what follows, and to repeat the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Version of the log format.
    pub format: u32,
    /// Tool version and commit: `assay 0.1.0 (abc1234)`.
    pub tool: String,
    /// Wall clock at the start, RFC 3339; a label, never used in arithmetic. Simulated runs begin in 1970.
    pub created: String,
    /// The machine's clocks at the start; absent in simulation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clocks: Option<ClockSample>,
    /// Id of the minisign key that signs the result, where one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signer: Option<String>,
    /// Run name: the workload's name unless the user gave another.
    pub name: String,
    /// What the result answers in one line, by its name: the service whose fitness is asked for. Absent where no such line is asked
    /// for, and in logs of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// Which step of a certification this is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepHead>,
    /// True when this segment continues the step before it after an interruption.
    #[serde(default)]
    pub continues: bool,
    /// Nanoseconds of the measured phase that are already in earlier segments of the same step.
    #[serde(default)]
    pub measured_before_ns: u64,
    /// The seed of every random choice.
    pub seed: u64,
    /// Model name (`streams`, `act-storage` …).
    pub model: String,
    /// The load as a multiple of the model's 1x, as text: `30x`.
    pub load: String,
    /// Length of the judging window in nanoseconds.
    pub slice_ns: u64,
    /// Length of an interval in nanoseconds.
    pub interval_ns: u64,
    /// The phases, in the order in which they run.
    pub phases: Vec<PhaseHead>,
    /// Named streams.
    pub streams: Vec<StreamHead>,
    /// Streams on targets; an interval lists its figures in this order.
    pub flows: Vec<FlowHead>,
    /// The closed loops, in which each operation's response begins when the one before it in its slot has completed. Absent
    /// in logs of older versions, in which it begins when the operation is handed over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loops: Vec<LoopHead>,
    /// The targets that were driven.
    pub targets: Vec<TargetHead>,
    /// Who carries the load, where that is more than one rank: one entry for each in the joint log, and its own in the log of a rank.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostHead>,
    /// The look-aside cache before the targets, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheHead>,
    /// What else was counted while the load ran; an interval lists its figures in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub meters: Vec<MeterHead>,
    /// The disks on which the load of others is told from that of the run (`Interval::foreign`); empty where it is not:
    /// on targets without a disk, and in logs of older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub watched: Vec<WatchedDisk>,
    /// Where the load of others cannot be told from that of the run, and why: one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unwatched: Vec<String>,
    /// What makes the data of targets durable, one entry for each target on which operations wait for that; empty where none
    /// do, in simulation, and in logs of older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub durability: Vec<DurabilityHead>,
    /// The databases that are the targets, in the order of the targets; empty where the targets are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub databases: Vec<DatabaseHead>,
    /// Figures per minute that results show.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub per_minute: Vec<PerMinute>,
    /// Boundaries of the exact counters, in nanoseconds.
    pub thresholds_ns: Vec<u64>,
    /// What decides the verdict.
    pub criteria: Vec<Criterion>,
    /// Schedule lag at which the run stops, in nanoseconds; 0 means that it never does.
    pub max_lag_ns: u64,
    /// True where the generator's lateness is counted (`floor`, `lateness`): members that are absent there are then
    /// zero. False in virtual time, where the generator is punctual, and in logs of older versions.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lateness: bool,
    /// Whether marks may divide the run into parts while it goes on. False in logs of older versions.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub takes_marks: bool,
    /// Facts that limit what the result proves: `SIMULATED`, `QUICK`, `SHORT`, `NON-CERTIFIABLE: …`.
    #[serde(default)]
    pub watermarks: Vec<String>,
    /// How the operations were carried: engine, ring flags, workers, in-flight bound, clock.
    pub engine: BTreeMap<String, String>,
    /// The machine; facts it does not report are absent.
    pub host: BTreeMap<String, String>,
    /// The plan as `assay explain --json` prints it.
    pub plan: serde_json::Value,
}

/// One of several ranks that carry a load together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostHead {
    /// Its number, from 0.
    pub rank: u32,
    /// Name of its host.
    pub name: String,
    /// Which boot of which host: ranks on one host have the same.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub boot: String,
    /// The parts of the load that it carries, from this one on.
    pub first_part: u64,
    /// How many these are.
    pub parts: u64,
    /// How many parts all ranks carry.
    pub all_parts: u64,
    /// What it knew of the clock of rank 0 when it began; absent for rank 0, whose clock is the one of all, and for ranks of its process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<HostClock>,
}

/// What a rank knows of the clock of rank 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostClock {
    /// The clock of rank 0 shows so many nanoseconds more than its own.
    pub offset_ns: i64,
    /// How far that may be off, to both sides.
    pub error_ns: i64,
    /// By how many billionths the clock of rank 0 was seen to run faster.
    pub scale_ppb: i64,
}

impl HostHead {
    /// How many of so many slots its parts have, which are dealt to all parts in turn.
    pub fn own_slots(&self, slots: u32) -> u32 {
        let (slots, all) = (u64::from(slots), self.all_parts.max(1));
        let of_part = |part: u64| slots / all + u64::from(part < slots % all);
        (self.first_part..self.first_part + self.parts).map(of_part).sum::<u64>() as u32
    }
}

/// Something that counts by itself while the load runs, and is read once per interval: a disk below a target that is no
/// device, or the server that a target belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeterHead {
    /// Its name in results, such as `vda`.
    pub name: String,
    /// The kind of thing that counts: `disk`, `server` or `link`.
    pub kind: String,
    /// What the target keeps there: `data`, `log`, `data and log`. Empty if that needs no explanation.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub holds: String,
    /// The names of its counters, such as `reads`, `read_bytes` and `read_ns`.
    pub counters: Vec<String>,
    /// Counters that stay zero because nothing measures them, each with the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub not_measured: BTreeMap<String, String>,
    /// The most that a counter can rise by in a second, where that is known: what a network link carries.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub most_per_second: BTreeMap<String, u64>,
}

/// One step of a certification.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepHead {
    /// 1-based.
    pub number: u32,
    /// The number of steps.
    pub of: u32,
    /// `load test, one device` …
    pub title: String,
    /// True where response times do not matter and only completion does.
    pub stress: bool,
    /// True where the certification ends as soon as its verdict is certain.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub until_certain: bool,
    /// True where it is a step of a workload and not of a certification.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_workload: bool,
}

impl StepHead {
    /// Whether it is a step of a certification.
    pub fn is_certification(&self) -> bool {
        !self.of_workload
    }
}

/// A part of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseHead {
    /// `warm-up`, `measure` …
    pub name: String,
    /// Whether it is judged.
    pub kind: PhaseKind,
    /// Planned length in nanoseconds; for a phase that waits for a steady state, the maximum.
    pub span_ns: u64,
    /// Length of a round in nanoseconds (`steady`), set where the phase ends as soon as the load is steady.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady_round_ns: Option<u64>,
    /// True where the phase ends as soon as every stream has done its operations; `span_ns` is then the maximum.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub until_done: bool,
}

/// What a phase is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PhaseKind {
    /// Load is offered and recorded but not judged.
    WarmUp,
    /// Judged.
    Measure,
}

/// A named stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StreamHead {
    /// `reads`, `large-block-writes` …
    pub name: String,
    /// Read or write; absent where the data of an operation go in neither direction, or in both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// What an operation does, where it is neither a read nor a write: `new-order`, `rename` …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// `poisson`, `steady`, `closed` or `paced`; the last two wait for completions.
    pub arrival: String,
    /// Planned rate over all targets together; absent for a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Operation size as text, for people; empty where operations have no size.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub size: String,
    /// The size that its operations really have, as text, where the target's blocks are larger or no divisor of `size`;
    /// otherwise empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub size_done: String,
    /// Whether ACT's tables also name it per device (`/dev/sdb-reads`).
    #[serde(default)]
    pub per_target: bool,
}

impl StreamHead {
    /// What an operation does, as one word.
    pub fn operation_word(&self) -> String {
        self.direction.map(|it| it.to_string()).or_else(|| self.operation.clone()).unwrap_or_default()
    }

    /// True for a stream whose operations have intended times of their own.
    pub fn is_open_loop(&self) -> bool {
        self.rate.is_some()
    }
}

/// One stream on one target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowHead {
    /// Index into `Header::streams`.
    pub stream: u16,
    /// Index into `Header::targets`.
    pub target: u16,
}

/// The value of a fact that a target does not report.
const ABSENT: &str = "absent";

/// One target; absent fields were not available.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TargetHead {
    /// As the user named it.
    pub name: String,
    /// `block device`, `scratch file`, `file`, `simulated`, `null`.
    pub kind: String,
    /// Usable bytes.
    pub size_bytes: u64,
    /// Smallest unit of direct I/O in bytes.
    pub block_bytes: u32,
    /// Model, serial, firmware, scheduler, write cache … by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, String>,
    /// Its preparation, if it was prepared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prepared: Option<Preparation>,
}

/// The kind of a target that is a directory on a file system.
pub const DIRECTORY: &str = "directory";
/// The facts by which the file system of a directory is known again after it was mounted anew: its UUID, and the number that
/// `statfs` gives where that does not follow from the device. File systems in memory, and most of those that a server has, have
/// neither.
pub const FILE_SYSTEM_UUID: &str = "file system uuid";
/// See [`FILE_SYSTEM_UUID`].
pub const FILE_SYSTEM_NUMBER: &str = "file system number";
/// What is mounted there: a device, or the name of a server's export.
const MOUNT_SOURCE: &str = "mount source";
/// Facts that count where both of two heads have them: the inode of a database, which logs of earlier versions lack, and what a
/// kernel may not say yet.
const WHERE_BOTH_HAVE_IT: [&str; 3] = ["inode", FILE_SYSTEM_UUID, FILE_SYSTEM_NUMBER];

impl TargetHead {
    /// The difference between this target and `was`, the target that a log was made on, in words; `None` where they are
    /// the same. A device is identified by what it reports about itself, whatever its name is today; a file, which has
    /// only its disk's facts, and a device that reports nothing are identified by their path.
    pub fn differs_from(&self, was: &TargetHead) -> Option<String> {
        let heads = [was, self];
        let by_place = !heads.iter().any(|head| head.reports_identity());
        let both_have = |fact: &&str| heads.iter().all(|head| head.facts.contains_key(*fact));
        let mut of_both: Vec<&'static str> = WHERE_BOTH_HAVE_IT.into_iter().filter(both_have).collect();
        // What a server exports has neither; memory has another source each time.
        let is_known = of_both.iter().any(|fact| [FILE_SYSTEM_UUID, FILE_SYSTEM_NUMBER].contains(fact));
        let by_source = !is_known && heads.iter().all(|head| head.kind == DIRECTORY && !head.is_in_memory());
        of_both.extend(Some(MOUNT_SOURCE).filter(both_have).filter(|_| by_source));
        let [before, now] = heads.map(|head| head.identity_facts(by_place, &of_both));
        let ((what, before), (_, now)) = before.into_iter().zip(now).find(|(before, now)| before != now)?;
        // For many targets the name and the place are the same text.
        Some(match (was.name == before, self.name == now) {
            (true, true) => format!("its target is {before}, not {now}"),
            _ => format!("the {what} of its target {} is {before}, that of {} is {now}", was.name, self.name),
        })
    }

    /// What two heads of one target have in common; `by_place` where they do not report who they are, and `of_both` the facts that
    /// count because both have them.
    fn identity_facts(&self, by_place: bool, of_both: &[&'static str]) -> Vec<(&'static str, String)> {
        let is_directory = self.kind == DIRECTORY;
        let mut facts = vec![
            ("kind", self.kind.clone()),
            // What a file system says of its size may follow from what is free (quotas, btrfs, network file systems).
            ("size", if is_directory { String::new() } else { format!("{} bytes", self.size_bytes) }),
            ("block size", format!("{} bytes", self.block_bytes)),
            ("serial", self.fact_or_absent("serial")),
            ("wwid", self.fact_or_absent("wwid")),
            // A disk reports the same facts for each of its partitions.
            ("partition", self.fact_or_absent("partition")),
            ("place", if by_place { self.path_or_name() } else { String::new() }),
            // Another file may have its path by now.
            ("file", self.fact_or_absent("file")),
            ("file system", if is_directory { self.fact_or_absent("file system") } else { String::new() }),
        ];
        facts.extend(of_both.iter().map(|fact| (*fact, self.fact_or_absent(fact))));
        facts
    }

    fn is_in_memory(&self) -> bool {
        file_systems::IN_MEMORY.contains(&self.fact_or_absent("file system").as_str())
    }

    /// Whether it is a device that reports who it is.
    fn reports_identity(&self) -> bool {
        self.kind == "block device" && ["serial", "wwid"].iter().any(|name| self.fact_or_absent(name) != ABSENT)
    }

    /// Its path, or its name where it has none.
    fn path_or_name(&self) -> String {
        if self.facts.contains_key("path") { self.fact_or_absent("path") } else { self.name.clone() }
    }

    /// A fact, or `absent`.
    fn fact_or_absent(&self, name: &str) -> String {
        self.facts.get(name).cloned().unwrap_or_else(|| ABSENT.to_owned())
    }
}

/// A look-aside cache on a device of its own, before the targets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CacheHead {
    /// The device or file.
    pub device: TargetHead,
    /// Bytes that it can hold.
    pub size_bytes: u64,
    /// Bytes of a block.
    pub block_bytes: u64,
    /// Bytes of a segment, which is written whole.
    pub segment_bytes: u64,
    /// True where what was in it after an earlier run is used again.
    pub loaded: bool,
    /// Blocks that are in it at the beginning.
    pub blocks: u64,
    /// The file that says between two runs what is in it; absent in simulation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<String>,
    /// Why it begins empty, where there was something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emptied: Option<String>,
}

/// The preparation that filled the target before the test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Preparation {
    /// Wall clock at its end, RFC 3339.
    pub finished: String,
    /// Bytes written with incompressible data.
    pub salted_bytes: u64,
    /// Bytes zeroed before.
    pub zeroed_bytes: u64,
    /// Sampled blocks that were read back and found correct.
    pub verified_blocks: u64,
    /// Wall clock at its beginning, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun: Option<String>,
    /// Tool version and commit that prepared it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// BLAKE3 of its record, in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record_blake3: Option<String>,
    /// Bytes that others than this program wrote to the device since, by the device's own counter; absent where that is
    /// not known, for example after a restart of the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreign_bytes: Option<u64>,
}

/// The last line of a segment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Close {
    /// How it ended.
    pub reason: CloseReason,
    /// End on the run's time line, nanoseconds.
    pub at_ns: u64,
    /// One sentence for people.
    pub text: String,
    /// Number of intervals written, to be compared with those found.
    pub intervals: u64,
    /// Operations issued and completed (ok, failed or short) over the whole segment, for the conservation check.
    pub issued: u64,
    /// See `issued`.
    pub completed: u64,
    /// Operations that never completed.
    pub stuck: u64,
}

/// How a segment ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CloseReason {
    /// All phases ran to their end.
    Completed,
    /// A signal ended the run.
    Interrupted,
    /// The schedule fell behind by more than the allowed lag, and the device was the cause.
    DeviceLag,
    /// The schedule fell behind by more than the allowed lag, and the generator was the cause.
    GeneratorLag,
    /// The target went away, changed, or failed too often in a row.
    TargetLost,
    /// The log itself could not be written.
    LogFailed,
    /// The engine could not submit.
    EngineFailed,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(name: &str, facts: &[(&str, &str)]) -> TargetHead {
        let facts = facts.iter().map(|(name, fact)| ((*name).to_owned(), (*fact).to_owned())).collect();
        let (name, kind) = (name.to_owned(), "block device".to_owned());
        TargetHead { name, kind, size_bytes: 1 << 30, block_bytes: 512, facts, prepared: None }
    }

    #[test]
    fn targets_are_told_apart_by_what_they_say_of_themselves() {
        let sda = target("sda", &[("path", "/dev/sda"), ("serial", "A1"), ("wwid", "absent")]);
        let loop0 = target("/dev/loop0", &[("path", "/dev/loop0"), ("serial", "absent"), ("wwid", "absent")]);
        let sim = target("sim:flash", &[]);
        let moved = target("sdb", &[("path", "/dev/sdb"), ("serial", "A1"), ("wwid", "absent")]);
        let other = target("sda", &[("path", "/dev/sda"), ("serial", "B2"), ("wwid", "absent")]);
        let part = |nth: &str| target("sda1", &[("path", "/dev/sda1"), ("serial", "A1"), ("partition", nth)]);
        let silent = target("sda", &[("path", "/dev/sda"), ("serial", "absent"), ("wwid", "absent")]);
        let linked = target("disk", &[("path", "/dev/loop0"), ("serial", "absent"), ("wwid", "absent")]);
        let loop1 = target("/dev/loop0", &[("path", "/dev/loop1"), ("serial", "absent"), ("wwid", "absent")]);
        let file = TargetHead { kind: "file".into(), ..sda.clone() };
        let elsewhere = TargetHead { kind: "file".into(), ..moved.clone() };
        let made = |when: &str| {
            let mut made = file.clone();
            made.facts.insert("file".into(), when.into());
            made
        };
        let mount = |facts: &[(&str, &str)]| TargetHead { kind: DIRECTORY.into(), ..target("mount", facts) };
        let (ext4, first, second) = (("file system", "ext4"), (FILE_SYSTEM_UUID, "aa"), (FILE_SYSTEM_UUID, "bb"));
        let tmpfs = ("file system", "tmpfs");
        let other_volume = [ext4, first, (FILE_SYSTEM_NUMBER, "6")];
        for (was, is, differs) in [
            (&mount(&[ext4, first]), mount(&[ext4, first]), None),
            (&mount(&[ext4, first]), mount(&[ext4, second]), Some("file system uuid")),
            (&mount(&[ext4, first]), mount(&[ext4]), None),
            (&mount(&[ext4]), mount(&[("file system", "xfs")]), Some("file system")),
            (&mount(&[ext4, first, (MOUNT_SOURCE, "/dev/a")]), mount(&[ext4, first, (MOUNT_SOURCE, "/dev/b")]), None),
            (&mount(&[(MOUNT_SOURCE, "a:/x")]), mount(&[(MOUNT_SOURCE, "a:/x")]), None),
            (&mount(&[(MOUNT_SOURCE, "a:/x")]), mount(&[(MOUNT_SOURCE, "b:/x")]), Some("mount source")),
            (&mount(&[tmpfs, (MOUNT_SOURCE, "a")]), mount(&[tmpfs, (MOUNT_SOURCE, "b")]), None),
            (&mount(&[ext4, first, (FILE_SYSTEM_NUMBER, "5")]), mount(&other_volume), Some("file system number")),
            (&made("inode 5 of 1.5"), made("inode 5 of 1.5"), None),
            (&made("inode 5 of 1.5"), made("inode 5 of 2.5"), Some("file")),
            (&file, elsewhere, Some("place")),
            (&sda, sda.clone(), None),
            (&sda, moved, None),
            (&sda, other, Some("serial")),
            (&sda, silent, Some("serial")),
            (&part("1 from sector 2048"), part("1 from sector 2048"), None),
            (&part("1 from sector 2048"), part("2 from sector 4096"), Some("partition")),
            (&sda, TargetHead { size_bytes: 2 << 30, ..sda.clone() }, Some("size")),
            (&sda, TargetHead { block_bytes: 4096, ..sda.clone() }, Some("block size")),
            (&sda, TargetHead { kind: "file".into(), ..sda.clone() }, Some("kind")),
            (&loop0, linked, None),
            (&loop0, loop1, Some("place")),
            (&sim, target("sim:flash?seed=2", &[]), Some("place")),
        ] {
            let told = is.differs_from(was);
            assert_eq!(told.is_some(), differs.is_some(), "{told:?}");
            let (told, differs) =
                (told.unwrap_or_default(), differs.map_or(String::new(), |it| format!("the {it} of its target")));
            let by_name = told.starts_with("its target is ") && differs.starts_with("the place");
            assert!(by_name || told.starts_with(&differs), "{told}");
        }
    }
}
