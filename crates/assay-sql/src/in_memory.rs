//! File systems in memory, from which a loss of power takes everything.

use std::path::Path;

/// linux/magic.h
const TMPFS: i64 = 0x0102_1994;
const RAMFS: i64 = 0x8584_58f6;

/// Whether a path is on one.
pub(crate) fn in_memory(path: &Path) -> bool {
    rustix::fs::statfs(path).is_ok_and(|facts| [TMPFS, RAMFS].contains(&facts.f_type))
}
