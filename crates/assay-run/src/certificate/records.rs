//! Preparation records: what was written to a device before its test, stored where `certify` finds it.
//!
//! One JSON file for each target under `/var/lib/assay/prepared` (root) or `$XDG_STATE_HOME/assay/prepared`. By a
//! record without an end, an interrupted preparation continues where it stopped.

use crate::failure::{Failure, escaped_path};
use crate::files;
use crate::files::sum::blake3_hex;
use crate::observer::Tell;
use crate::open::targets::RealTarget;
use crate::prepare::blank;
use assay_base::{Bytes, Span};
use assay_device::probe::disk_stat;
use assay_device::safety::Roots;
use assay_judge::for_a_shell;
use assay_model::Plan;
use assay_record::Preparation;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// The record of one target's preparation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Consent token of the device, or the file's path.
    pub identity: String,
    /// Inode and creation time of the file, because another file may have the path now. Absent for devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The target as it was named.
    pub target: String,
    /// Its size in bytes; a record for another size does not belong to this target.
    pub size_bytes: u64,
    /// Number that marks the data.
    pub run: u32,
    /// Bytes zeroed so far, from the start.
    pub zeroed_bytes: u64,
    /// Bytes salted so far, from the start.
    pub salted_bytes: u64,
    /// Sampled blocks that were read back and found correct.
    pub verified_blocks: u64,
    /// When it was finished, RFC 3339.
    pub finished: Option<String>,
    /// When it was begun, RFC 3339.
    #[serde(default)]
    pub begun: Option<String>,
    /// Tool version and commit.
    #[serde(default)]
    pub tool: Option<String>,
    /// The device's own counter after the last byte that this program wrote to it; absent where there is none.
    #[serde(default)]
    pub mark: Option<Mark>,
    /// Up to where runs have gone through what is seen once, in the order that all runs have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_bytes: Option<u64>,
}

/// A device's counter of written bytes, and the period over which it counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The boot of the kernel that counts (`/proc/sys/kernel/random/boot_id`).
    pub boot: String,
    /// The disk sequence number: another disk has another counter.
    pub diskseq: Option<u64>,
    /// Bytes written, plus bytes discarded, which are lost too.
    pub written_bytes: u64,
}

impl Mark {
    /// The current counter of a block device; `None` where there is none.
    pub fn from_target(real: &RealTarget) -> Option<Mark> {
        let stat = disk_stat(&Roots::of_machine(), real.disk?)?;
        let written_bytes = stat.write_sectors.checked_add(stat.discard_sectors.unwrap_or(0))?.checked_mul(512)?;
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim().to_owned();
        Some(Mark { boot, diskseq: real.disk_sequence(), written_bytes })
    }

    /// Bytes written between this mark and a later one; `None` where the two do not belong to the same counter.
    fn bytes_written_until(&self, later: &Mark) -> Option<u64> {
        let same = (&self.boot, self.diskseq) == (&later.boot, later.diskseq);
        same.then(|| later.written_bytes.checked_sub(self.written_bytes)).flatten()
    }
}

impl Record {
    /// The form for a run log, when it is finished.
    pub fn finished_preparation(&self) -> Option<Preparation> {
        Some(Preparation {
            finished: self.finished.clone()?,
            salted_bytes: self.salted_bytes,
            zeroed_bytes: self.zeroed_bytes,
            verified_blocks: self.verified_blocks,
            begun: self.begun.clone(),
            tool: self.tool.clone(),
            record_blake3: serde_json::to_vec(&Record { mark: None, seen_bytes: None, ..self.clone() })
                .ok()
                .map(|bytes| blake3_hex(&bytes)),
            foreign_bytes: None,
        })
    }
}

/// Upper bound on the size of a record file.
const LARGEST: u64 = 1 << 20;

/// The directory of the records.
#[derive(Clone, Debug)]
pub struct Records {
    dir: PathBuf,
}

impl Records {
    /// The records of this host and user.
    pub fn for_host() -> Records {
        Records { dir: state_directory().join("assay/prepared") }
    }

    /// The directory in which they are stored.
    pub fn directory_path(&self) -> &Path {
        &self.dir
    }

    fn record_path(&self, identity: &str) -> PathBuf {
        let safe: String = identity.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        // Names that become equal in these characters are distinguished by a checksum.
        let sum = blake3::hash(identity.as_bytes()).to_hex();
        self.dir.join(format!("{}-{}.json", safe.trim_start_matches('_'), &sum[..8]))
    }

    /// The record of a target, if there is one.
    pub fn record_of(&self, real: &RealTarget) -> Option<Record> {
        self.find_record(&real.record_identity(), real.file_identity().as_deref(), real.target.geometry().size)
    }

    fn find_record(&self, identity: &str, file: Option<&str>, size_bytes: u64) -> Option<Record> {
        let text = files::read_text(&self.record_path(identity), LARGEST).ok()?;
        let record: Record = serde_json::from_str(&text).ok()?;
        let same = record.identity == identity && record.file.as_deref() == file && record.size_bytes == size_bytes;
        same.then_some(record)
    }

    /// The preparation of a target for the log, with what others wrote to it since. A record is trusted only as far as
    /// the target agrees with it: everything that this program writes to a prepared target begins with a stamp, so a
    /// block of zeros was discarded or zeroed by somebody; then `tell` gets a message.
    pub fn preparation_of_target(&self, real: &RealTarget, notify: Tell) -> Option<Preparation> {
        let record = self.record_of(real)?;
        let preparation = record.finished_preparation()?;
        let blank = blank::blank_offsets(real);
        if let Some(at) = blank.first() {
            notify(&format!(
                "warning: {0}: {1} of the sampled blocks are empty, the first at byte {at}; the preparation of {2} does not \
                 count\n  = prepare it again: assay prep {3}",
                real.name,
                blank.len(),
                preparation.finished,
                for_a_shell(&real.name)
            ));
            return None;
        }
        let foreign_bytes = record.mark.as_ref().and_then(|mark| mark.bytes_written_until(&Mark::from_target(real)?));
        Some(Preparation { foreign_bytes, ..preparation })
    }

    /// The same for each of these targets.
    pub fn preparations_of_targets(&self, all: &[RealTarget], notify: Tell) -> Vec<Option<Preparation>> {
        all.iter().map(|real| self.preparation_of_target(real, notify)).collect()
    }

    /// What this program writes itself must not count as written by others: adds what a run wrote since `before` to the
    /// record of a target. Without a record nothing happens.
    pub fn add_own_writes(&self, real: &RealTarget, before: Option<&Mark>) {
        let Some(mut record) = self.record_of(real) else { return };
        let since = before.zip(Mark::from_target(real)).and_then(|(before, now)| before.bytes_written_until(&now));
        let (Some(mark), Some(since)) = (&mut record.mark, since) else { return };
        mark.written_bytes = mark.written_bytes.saturating_add(since);
        // If the record cannot be stored, the next run will find writes by others, which is the safe side.
        let _ = self.keep_record(&record);
    }

    /// A plan that goes to blocks which were never seen goes on behind those of the runs before it. What it may see is taken down
    /// before it begins, so that it counts also when the run is cut short.
    pub fn with_unseen_blocks(&self, plan: &Plan, all: &[RealTarget]) -> Result<Plan, Failure> {
        let all = all.iter().take(usize::from(plan.load.targets));
        let known: Vec<(&RealTarget, Record)> = all.filter_map(|real| Some((real, self.record_of(real)?))).collect();
        let seen = known.iter().filter_map(|(_, record)| record.seen_bytes).max();
        let plan = seen.map_or(plan.clone(), |seen| plan.continued_after(Bytes::new(seen), Span::ZERO));
        for (real, record) in known {
            let after = plan.seen_after(real.target.geometry().block);
            self.keep_record(&Record { seen_bytes: Some(after.get()), ..record })?;
        }
        Ok(plan)
    }

    /// Writes a record; the old one stays until the new one is complete. After a power cut either the old or the new
    /// one is complete.
    pub fn keep_record(&self, record: &Record) -> Result<(), Failure> {
        let path = self.record_path(&record.identity);
        self.write_record(&path, record).map_err(|e| {
            Failure::host_unable(format!(
                "the preparation record {} cannot be written: {e}{}",
                escaped_path(&path),
                ELSEWHERE
            ))
        })
    }

    fn write_record(&self, path: &Path, record: &Record) -> std::io::Result<()> {
        fs::create_dir_all(&self.dir)?;
        files::replace_file(path, &serde_json::to_vec_pretty(record)?)
    }

    /// Whether records can be kept here: asked before a target is touched, because a preparation without a record does not
    /// count.
    pub fn check_writable(&self) -> Result<(), Failure> {
        // Nothing is created yet: a target that is refused leaves nothing behind.
        let existing = self.dir.ancestors().find(|dir| dir.symlink_metadata().is_ok()).unwrap_or(&self.dir);
        let of_a_directory = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
        let writable = if existing.is_dir() {
            rustix::fs::access(existing, of_a_directory).map_err(std::io::Error::from)
        } else {
            Err(std::io::ErrorKind::NotADirectory.into())
        };
        writable.map_err(|e: std::io::Error| {
            Failure::host_unable(format!(
                "preparation records cannot be kept in {}: {e}{ELSEWHERE}",
                escaped_path(&self.dir)
            ))
        })
    }
}

/// The advice for a place where records cannot be kept.
const ELSEWHERE: &str =
    "\n  = name another directory for them, the same for all commands: XDG_STATE_HOME=/absolute/path assay …";

/// The directory of this host and user for files that outlive a run.
#[allow(clippy::disallowed_methods, reason = "the binary reads the environment")]
pub fn state_directory() -> PathBuf {
    match path_in("XDG_STATE_HOME") {
        Some(state) => state,
        None if Path::new("/var/lib").metadata().is_ok_and(|_| is_root()) => PathBuf::from("/var/lib"),
        None => path_in("HOME").map_or_else(std::env::temp_dir, |home| home.join(".local/state")),
    }
}

/// The absolute path in a variable of the environment.
#[allow(clippy::disallowed_methods, reason = "the binary reads the environment")]
fn path_in(variable: &str) -> Option<PathBuf> {
    std::env::var(variable).ok().filter(|value| value.starts_with('/')).map(PathBuf::from)
}

fn is_root() -> bool {
    // Only root may write there; what matters is whether this process may.
    fs::metadata("/proc/self").is_ok_and(|meta| std::os::unix::fs::MetadataExt::uid(&meta) == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_found_by_identity_and_size_only() {
        let dir = tempfile::tempdir().unwrap();
        let records = Records { dir: dir.path().join("deep/er") };
        let record = Record {
            identity: "/tmp/x y".into(),
            file: Some("inode 12 of 1.5".into()),
            target: "x".into(),
            size_bytes: 4096,
            run: 1,
            zeroed_bytes: 4096,
            salted_bytes: 4096,
            verified_blocks: 1,
            finished: None,
            begun: None,
            tool: None,
            mark: None,
            seen_bytes: None,
        };
        records.keep_record(&record).unwrap();
        let find = |identity: &str, size| records.find_record(identity, Some("inode 12 of 1.5"), size);
        assert_eq!(find("/tmp/x y", 4096), Some(record.clone()));
        assert_eq!(find("/tmp/x y", 8192), None);
        assert_eq!(find("/tmp/x_y", 4096), None, "names that only look alike are other targets");
        for file in [None, Some("inode 12 of 2.5"), Some("inode 13 of 1.5")] {
            assert_eq!(records.find_record("/tmp/x y", file, 4096), None, "another file of the same path");
        }
        let alike = Record { identity: "/tmp/x_y".into(), ..record.clone() };
        records.keep_record(&alike).unwrap();
        let found = [find("/tmp/x y", 4096), find("/tmp/x_y", 4096)];
        assert_eq!(found, [Some(record.clone()), Some(alike)], "and each keeps its own");
        assert_eq!(record.finished_preparation(), None, "not finished");
        let finished = Record { finished: Some("2026-11-21T00:00:00Z".into()), ..record };
        let sum = |record: &Record| record.finished_preparation().unwrap().record_blake3.unwrap();
        let mark = Some(Mark { boot: "a".into(), diskseq: Some(1), written_bytes: 4096 });
        assert_eq!(
            sum(&Record { mark, seen_bytes: Some(1), ..finished.clone() }),
            sum(&finished),
            "what is written later changes nothing of it"
        );
        assert_ne!(sum(&Record { run: 2, ..finished.clone() }), sum(&finished));
    }

    #[test]
    fn what_lies_in_the_way_of_a_record_is_not_written_through() {
        let dir = tempfile::tempdir().unwrap();
        let records = Records { dir: dir.path().join("records") };
        let precious = dir.path().join("precious");
        fs::write(&precious, "mine").unwrap();
        fs::create_dir(&records.dir).unwrap();
        std::os::unix::fs::symlink(&precious, records.record_path("x")).unwrap();
        let record: Record = serde_json::from_value(serde_json::json!({
            "identity": "x", "target": "x", "size_bytes": 4096, "run": 1, "zeroed_bytes": 0, "salted_bytes": 0,
            "verified_blocks": 0, "finished": null
        }))
        .unwrap();
        assert!(records.keep_record(&record).is_err());
        assert_eq!(fs::read_to_string(&precious).unwrap(), "mine");
        fs::remove_file(records.record_path("x")).unwrap();
        records.keep_record(&record).unwrap();
        assert_eq!(records.find_record("x", None, 4096), Some(record));
        let left: Vec<_> = fs::read_dir(&records.dir).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(left, [records.record_path("x")]);
    }

    #[test]
    fn bytes_are_counted_by_one_counter_only() {
        let mark = |boot: &str, diskseq, written_bytes| Mark { boot: boot.into(), diskseq, written_bytes };
        let first = mark("a", Some(1), 4096);
        assert_eq!(first.bytes_written_until(&mark("a", Some(1), 8192)), Some(4096));
        for other in [mark("b", Some(1), 8192), mark("a", Some(2), 8192), mark("a", None, 8192), mark("a", Some(1), 0)]
        {
            assert_eq!(first.bytes_written_until(&other), None, "{other:?}");
        }
    }
}
