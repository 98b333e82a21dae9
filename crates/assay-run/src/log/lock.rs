//! The lock that shows that a log is being written. The kernel releases it when its holder ends for any reason.

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::File;
use std::time::Duration;

/// Whether another process is writing this log.
pub fn is_being_written(file: &File) -> bool {
    let held = flock(file, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK);
    let _ = flock(file, FlockOperation::Unlock);
    held
}

/// Takes the lock. False when another process holds it. On a file system without locks the result is true.
pub(crate) fn mark_as_written(file: &File) -> bool {
    // A reader that checks holds the lock for a moment.
    for _ in 0..50 {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => std::thread::park_timeout(Duration::from_millis(10)),
            _ => return true,
        }
    }
    false
}
