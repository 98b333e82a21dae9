//! Preparation records: what was written onto a device before its test, kept where `certify` finds it again.
//!
//! One JSON file for each target under `/var/lib/assay/prepared` (root) or `$XDG_STATE_HOME/assay/prepared`. A record that was
//! begun and not finished is how an interrupted preparation goes on where it stopped.

use crate::failure::Failure;
use assay_record::Preparation;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// What is known of one target's preparation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Consent token of the device, or the file's path.
    pub identity: String,
    /// The target as it was named.
    pub target: String,
    /// Its size in bytes; a record for another size is no record of this target.
    pub size_bytes: u64,
    /// Marks the data.
    pub run: u32,
    /// Bytes zeroed from the start on.
    pub zeroed_bytes: u64,
    /// Bytes salted from the start on.
    pub salted_bytes: u64,
    /// Sampled blocks read back and found right.
    pub verified_blocks: u64,
    /// When all was done, RFC 3339.
    pub finished: Option<String>,
}

impl Record {
    /// What a run log says of it, when it is finished.
    pub fn preparation(&self) -> Option<Preparation> {
        Some(Preparation {
            finished: self.finished.clone()?,
            salted_bytes: self.salted_bytes,
            zeroed_bytes: self.zeroed_bytes,
            verified_blocks: self.verified_blocks,
        })
    }
}

/// Where records are kept.
#[derive(Clone, Debug)]
pub struct Records {
    dir: PathBuf,
}

impl Records {
    /// The records of this host and user.
    #[allow(clippy::disallowed_methods, reason = "the binary reads the environment")]
    pub fn host() -> Records {
        let variable = |name| std::env::var(name).ok().filter(|value| value.starts_with('/')).map(PathBuf::from);
        let own = || variable("HOME").map(|home| home.join(".local/state"));
        let state = match variable("XDG_STATE_HOME") {
            Some(state) => state,
            None if Path::new("/var/lib").metadata().is_ok_and(|_| is_root()) => PathBuf::from("/var/lib"),
            None => own().unwrap_or_else(std::env::temp_dir),
        };
        Records { dir: state.join("assay/prepared") }
    }

    /// The directory they are kept in.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    fn path(&self, identity: &str) -> PathBuf {
        let safe: String = identity.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        self.dir.join(format!("{}.json", safe.trim_start_matches('_')))
    }

    /// The record of a target of this identity and size, if there is one.
    pub fn find(&self, identity: &str, size_bytes: u64) -> Option<Record> {
        let text = std::fs::read_to_string(self.path(identity)).ok()?;
        let record: Record = serde_json::from_str(&text).ok()?;
        (record.identity == identity && record.size_bytes == size_bytes).then_some(record)
    }

    /// Writes a record; the old one stays until the new one is complete.
    pub fn keep(&self, record: &Record) -> Result<(), Failure> {
        let path = self.path(&record.identity);
        let write = || {
            std::fs::create_dir_all(&self.dir)?;
            let half = path.with_extension("new");
            std::fs::write(&half, serde_json::to_vec_pretty(record)?)?;
            std::fs::rename(&half, &path)
        };
        write().map_err(|e: std::io::Error| {
            Failure::host(format!("the preparation record {} cannot be written: {e}", path.display()))
        })
    }
}

fn is_root() -> bool {
    // Root alone may write there; what counts is whether we can.
    std::fs::metadata("/proc/self").is_ok_and(|meta| std::os::unix::fs::MetadataExt::uid(&meta) == 0)
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
            target: "x".into(),
            size_bytes: 4096,
            run: 1,
            zeroed_bytes: 4096,
            salted_bytes: 4096,
            verified_blocks: 1,
            finished: None,
        };
        records.keep(&record).unwrap();
        assert_eq!(records.find("/tmp/x y", 4096), Some(record.clone()));
        assert_eq!(records.find("/tmp/x y", 8192), None);
        assert_eq!(records.find("/tmp/x_y", 4096), None, "names that only look alike are other targets");
        assert_eq!(record.preparation(), None, "not finished");
    }
}
