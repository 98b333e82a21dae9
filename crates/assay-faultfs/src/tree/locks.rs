//! Locks on bytes of files, as fcntl(2) has them: those of one owner replace each other, those of two conflict unless both
//! only read.

/// A lock, or the wish for one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ByteLock {
    pub inode: u64,
    pub owner: u64,
    /// The first byte and the last one.
    pub start: u64,
    pub end: u64,
    /// `F_RDLCK`, `F_WRLCK` or `F_UNLCK`.
    pub kind: i32,
    pub pid: u32,
}

impl ByteLock {
    fn overlaps(&self, other: &ByteLock) -> bool {
        self.inode == other.inode && self.start <= other.end && other.start <= self.end
    }
}

/// All locks of a tree.
#[derive(Debug, Default)]
pub(crate) struct ByteLocks {
    held: Vec<ByteLock>,
}

impl ByteLocks {
    /// The lock that stands in the way of a wish.
    pub(crate) fn find_conflict(&self, wish: &ByteLock) -> Option<ByteLock> {
        let found = self.held.iter().find(|held| {
            let both_read = held.kind == libc::F_RDLCK && wish.kind == libc::F_RDLCK;
            held.owner != wish.owner && held.overlaps(wish) && !both_read
        });
        found.copied().filter(|_| wish.kind != libc::F_UNLCK)
    }

    /// Takes or releases a lock; false where another one is in the way.
    pub(crate) fn set_lock(&mut self, wish: ByteLock) -> bool {
        if self.find_conflict(&wish).is_some() {
            return false;
        }
        let mut kept = Vec::new();
        for held in &self.held {
            if held.owner != wish.owner || !held.overlaps(&wish) {
                kept.push(*held);
                continue;
            }
            if held.start < wish.start {
                kept.push(ByteLock { end: wish.start - 1, ..*held });
            }
            if held.end > wish.end {
                kept.push(ByteLock { start: wish.end + 1, ..*held });
            }
        }
        if wish.kind != libc::F_UNLCK {
            kept.push(wish);
        }
        self.held = kept;
        true
    }

    /// Releases what an owner has of a file, as closing it does.
    pub(crate) fn release_all(&mut self, inode: u64, owner: u64) {
        self.held.retain(|held| held.inode != inode || held.owner != owner);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_exclude_each_other_and_replace_their_own() {
        let lock = |owner, kind, start, end| ByteLock { inode: 9, owner, start, end, kind, pid: 1 };
        let mut locks = ByteLocks::default();
        assert!(locks.set_lock(lock(1, libc::F_WRLCK, 0, 99)));
        assert!(!locks.set_lock(lock(2, libc::F_RDLCK, 50, 60)));
        assert!(locks.set_lock(lock(2, libc::F_WRLCK, 100, 199)));
        assert!(locks.set_lock(lock(1, libc::F_UNLCK, 40, 59)));
        assert!(locks.set_lock(lock(2, libc::F_RDLCK, 40, 59)) && !locks.set_lock(lock(2, libc::F_RDLCK, 39, 59)));
        assert!(locks.set_lock(lock(3, libc::F_RDLCK, 45, 50)), "both only read");
        locks.release_all(9, 1);
        assert!(locks.set_lock(lock(2, libc::F_WRLCK, 0, 30)));
    }
}
