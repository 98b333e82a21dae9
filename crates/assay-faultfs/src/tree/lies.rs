//! What falsifies the tree behind everybody's back.

use super::faults::{AtOnce, TreeFaults};
use super::memory::{BLOCK, Content, Fallible, Memory};
use super::truth::Lie;
use std::ffi::OsStr;

/// How many writes and unlinks came since the last reset.
#[derive(Debug, Default)]
pub(crate) struct LieCounters {
    writes: u64,
    unlinks: u64,
}

impl LieCounters {
    /// Whether the next write is short, which is no lie.
    pub(crate) fn is_next_write_short(&mut self, faults: &TreeFaults) -> bool {
        self.writes += 1;
        faults.short_every > 0 && self.writes.is_multiple_of(faults.short_every)
    }

    /// What becomes of this write.
    pub(crate) fn of_next_write(&self, faults: &TreeFaults) -> Option<Lie> {
        let lies = [(faults.lost_every, Lie::Lost), (faults.torn_every, Lie::Torn), (faults.zeroed_every, Lie::Zeroed)];
        let told = lies.iter().find(|(every, _)| *every > 0 && self.writes.is_multiple_of(*every));
        told.map(|(_, lie)| *lie)
    }

    /// Whether the next unlink is only acknowledged.
    pub(crate) fn is_next_unlink_a_lie(&mut self, faults: &TreeFaults) -> bool {
        self.unlinks += 1;
        faults.undeleted_every > 0 && self.unlinks.is_multiple_of(faults.undeleted_every)
    }
}

/// Stores a write as a lie would have it. The size is the right one: what is missing reads as what was there before, or
/// as zeros.
pub(crate) fn write_falsely(memory: &mut Memory, inode: u64, offset: u64, data: &[u8], lie: Lie) -> Fallible<()> {
    let end = offset + data.len() as u64;
    if memory.file_bytes(inode)?.len() as u64 <= end {
        memory.resize(inode, end)?;
    }
    match lie {
        Lie::Torn => memory.write(inode, offset, &data[..data.len() / 2]),
        Lie::Zeroed => {
            let zeroed = data.len().min(BLOCK as usize);
            memory.write(inode, offset, data)?;
            memory.write(inode, offset, &vec![0; zeroed])
        }
        _ => Ok(()),
    }
}

/// A lie that was told at once: what it was, about which path, and whose pages the kernel must forget.
pub(crate) struct Told {
    pub lie: Lie,
    pub path: String,
    pub inodes: Vec<u64>,
}

/// Falsifies something now. `None` where it is not a lie.
pub(crate) fn falsify_now(memory: &mut Memory, wanted: &AtOnce) -> Fallible<Option<Told>> {
    let told = |lie, path: &str, inodes| Ok(Some(Told { lie, path: path.to_owned(), inodes }));
    match wanted {
        AtOnce::Reset | AtOnce::Stall(_) => Ok(None),
        AtOnce::Swap(one, other) => {
            let (first, second) = (memory.find_path(one)?, memory.find_path(other)?);
            let bytes = memory.file_bytes(first)?.to_vec();
            let others = std::mem::replace(memory.file_bytes_mut(second)?, bytes);
            *memory.file_bytes_mut(first)? = others;
            told(Lie::Swapped, &format!("{one},{other}"), vec![first, second])
        }
        AtOnce::Cut(path) => {
            let inode = memory.find_path(path)?;
            let half = memory.file_bytes(inode)?.len() as u64 / 2;
            memory.resize(inode, half)?;
            told(Lie::Cut, path, vec![inode])
        }
        AtOnce::Zero(path) | AtOnce::Tear(path) => {
            let inode = memory.find_path(path)?;
            let bytes = memory.file_bytes_mut(inode)?;
            let end = bytes.len().min(BLOCK as usize);
            let (lie, from) = if matches!(wanted, AtOnce::Zero(_)) { (Lie::Zeroed, 0) } else { (Lie::Torn, end / 2) };
            bytes[from..end].fill(0);
            told(lie, path, vec![inode])
        }
        AtOnce::Vanish(path) => {
            let inode = memory.find_path(path)?;
            let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
            let directory = memory.find_path(above)?;
            if matches!(memory.node(inode)?.content, Content::Directory(_)) {
                return Err(libc::EISDIR);
            }
            memory.unlink(directory, OsStr::new(name))?;
            told(Lie::Vanished, path, vec![inode])
        }
        AtOnce::Restore(path) => {
            let inode = memory.restore(path)?;
            told(Lie::Undeleted, path, vec![inode])
        }
    }
}
