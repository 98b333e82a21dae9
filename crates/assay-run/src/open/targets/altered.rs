//! What became of an open target since a run began: whether its name still leads to it, and what others changed.

use super::real::{RealTarget, TargetPermit};
use assay_device::safety::Kind;
use rustix::fs::{Stat, fstat, stat};
use rustix::io::Errno;

/// What became of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Altered {
    /// What was written to it is no longer where it was written; the text says how.
    Gone(String),
    /// Somebody else changed it; the text says what.
    ByOthers(String),
}

/// What a file was at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileStamp {
    size: i64,
    names: u64,
    /// When its content was changed, and when anything about it was, in seconds and nanoseconds.
    modified: (i64, u64),
    changed: (i64, u64),
}

impl FileStamp {
    fn from_stat(found: &Stat) -> FileStamp {
        FileStamp {
            size: found.st_size,
            names: found.st_nlink,
            modified: (found.st_mtime, found.st_mtime_nsec),
            changed: (found.st_ctime, found.st_ctime_nsec),
        }
    }
}

impl RealTarget {
    /// What a file is now; `None` for a device, or where the kernel does not say.
    pub(crate) fn file_stamp(&self) -> Option<FileStamp> {
        match self.access.gate_examination().kind {
            Kind::File(_) => fstat(self.as_fd()).ok().map(|found| FileStamp::from_stat(&found)),
            _ => None,
        }
    }

    /// Whether the gate has given the right to write to it.
    pub(crate) fn is_written(&self) -> bool {
        matches!(self.access, TargetPermit::Write(_))
    }

    /// What became of it since `before` was read.
    pub(crate) fn altered_since(&self, before: Option<&FileStamp>) -> Option<Altered> {
        let Ok(open) = fstat(self.as_fd()) else { return None };
        if let Some(gone) = self.not_under_its_name(&open) {
            return Some(Altered::Gone(gone));
        }
        if let Some(before) = before {
            let now = FileStamp::from_stat(&open);
            if let Some(altered) = self.file_altered(before, &now) {
                return Some(altered);
            }
        }
        let TargetPermit::Write(permit) = &self.access else { return None };
        if let Err(refusal) = permit.recheck_target() {
            return Some(Altered::Gone(refusal.evidence));
        }
        let foreign = before.and_then(|_| permit.foreign_content().ok().flatten())?;
        Some(Altered::ByOthers(format!("near byte {foreign} it holds data that this program has not written")))
    }

    /// Whether its name leads to something else now, or to nothing.
    fn not_under_its_name(&self, open: &Stat) -> Option<String> {
        let path = &self.access.gate_examination().real;
        if self.disk.is_none() && open.st_nlink == 0 {
            return Some("it was deleted".to_owned());
        }
        match stat(path) {
            Ok(named) if self.disk.is_some() && named.st_rdev == open.st_rdev => None,
            Ok(named) if self.disk.is_none() && is_same(&named, open) => None,
            Ok(_) => Some("something else has its name now".to_owned()),
            Err(Errno::NOENT | Errno::NOTDIR) => Some("nothing has its name any more".to_owned()),
            // Nothing is known.
            Err(_) => None,
        }
    }

    fn file_altered(&self, before: &FileStamp, now: &FileStamp) -> Option<Altered> {
        if now.size < before.size {
            return Some(Altered::Gone(format!("it was cut from {} to {} bytes", before.size, now.size)));
        }
        let what = if now.size > before.size {
            format!("it had {} bytes and has {} now", before.size, now.size)
        } else if now.names != before.names {
            format!("it has {} names now", now.names)
        } else if !self.is_written() && now.modified != before.modified {
            "its content was modified".to_owned()
        } else if !self.is_written() && now.changed != before.changed {
            "it was changed, and its time of modification set back".to_owned()
        } else {
            return None;
        };
        Some(Altered::ByOthers(what))
    }
}

fn is_same(named: &Stat, open: &Stat) -> bool {
    (named.st_dev, named.st_ino) == (open.st_dev, open.st_ino)
}
