//! What a file of a source was when it was listed.

use rustix::fs::Stat;

/// By what a file is known to be the one that was listed, unchanged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FileFacts {
    device: u64,
    inode: u64,
    size: i64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileFacts {
    pub(super) fn from_stat(facts: &Stat) -> FileFacts {
        FileFacts {
            device: facts.st_dev,
            inode: facts.st_ino,
            size: facts.st_size,
            modified: (facts.st_mtime, facts.st_mtime_nsec as i64),
            changed: (facts.st_ctime, facts.st_ctime_nsec as i64),
        }
    }
}
