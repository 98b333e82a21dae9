//! The calls that the threads of a server make on the kernel.

use assay_base::Direction;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A call on the kernel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServiceCall {
    /// open(2) of a file that is not there.
    Create,
    /// write(2) or pwrite(2).
    Write,
    /// The same, of zeros, to make a file.
    Zero,
    /// pread(2).
    Read,
    /// sendfile(2) to nobody who reads it.
    Sendfile,
    /// fallocate(2).
    Fallocate,
    /// ftruncate(2).
    Truncate,
    /// fsync(2).
    Fsync,
    /// fdatasync(2).
    Fdatasync,
    /// sync_file_range(2) with SYNC_FILE_RANGE_WRITE.
    FlushRange,
    /// sync_file_range(2) with SYNC_FILE_RANGE_WAIT_BEFORE, WRITE and WAIT_AFTER.
    AwaitRange,
    /// Bytes are changed through a mapping.
    MmapWrite,
    /// msync(2) with MS_SYNC.
    Msync,
    /// rename(2).
    Rename,
    /// unlink(2).
    Unlink,
    /// fsync(2) of the directory.
    FsyncDir,
}

impl ServiceCall {
    /// Its word in names of streams and in logs.
    pub fn name(self) -> &'static str {
        match self {
            ServiceCall::Create => "create",
            ServiceCall::Write => "write",
            ServiceCall::Zero => "zero",
            ServiceCall::Read => "read",
            ServiceCall::Sendfile => "sendfile",
            ServiceCall::Fallocate => "fallocate",
            ServiceCall::Truncate => "truncate",
            ServiceCall::Fsync => "fsync",
            ServiceCall::Fdatasync => "fdatasync",
            ServiceCall::FlushRange => "flush-range",
            ServiceCall::AwaitRange => "await-range",
            ServiceCall::MmapWrite => "mmap-write",
            ServiceCall::Msync => "msync",
            ServiceCall::Rename => "rename",
            ServiceCall::Unlink => "unlink",
            ServiceCall::FsyncDir => "fsync-dir",
        }
    }

    /// The direction under which a log counts it.
    pub fn direction(self) -> Direction {
        match self {
            ServiceCall::Read | ServiceCall::Sendfile => Direction::Read,
            _ => Direction::Write,
        }
    }

    /// Whether it moves bytes of files, which a log counts.
    pub fn moves_bytes(self) -> bool {
        self.direction() == Direction::Read || self.writes_bytes()
    }

    /// Whether it writes bytes.
    pub fn writes_bytes(self) -> bool {
        matches!(self, ServiceCall::Write | ServiceCall::Zero | ServiceCall::MmapWrite)
    }

    /// Whether it waits until something is on stable media.
    pub fn is_sync(self) -> bool {
        matches!(self, ServiceCall::Fsync | ServiceCall::Fdatasync | ServiceCall::Msync | ServiceCall::FsyncDir)
    }
}

impl fmt::Display for ServiceCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
