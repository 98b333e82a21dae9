//! The names in a directory. A listing is asked for in parts while names come and go: each name has a cookie that never
//! changes, and the next part begins behind the last cookie.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::ops::Bound;

/// Cookies of `.` and `..` come before.
pub(crate) const FIRST_COOKIE: u64 = 3;

#[derive(Clone, Copy, Debug)]
struct Entry {
    inode: u64,
    cookie: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    by_name: BTreeMap<OsString, Entry>,
    by_cookie: BTreeMap<u64, OsString>,
    given: u64,
}

impl Entries {
    pub(crate) fn inode_of(&self, name: &OsStr) -> Option<u64> {
        self.by_name.get(name).map(|entry| entry.inode)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// Gives a name, in place of whatever had it.
    pub(crate) fn insert_name(&mut self, name: &OsStr, inode: u64) {
        self.remove_name(name);
        let cookie = FIRST_COOKIE + self.given;
        self.given += 1;
        self.by_name.insert(name.to_owned(), Entry { inode, cookie });
        self.by_cookie.insert(cookie, name.to_owned());
    }

    pub(crate) fn remove_name(&mut self, name: &OsStr) -> Option<u64> {
        let entry = self.by_name.remove(name)?;
        self.by_cookie.remove(&entry.cookie);
        Some(entry.inode)
    }

    /// Name, inode and cookie of what comes behind a cookie.
    pub(crate) fn names_behind(&self, cookie: u64) -> impl Iterator<Item = (&OsStr, u64, u64)> + '_ {
        let behind = self.by_cookie.range((Bound::Excluded(cookie), Bound::Unbounded));
        behind.map(|(cookie, name)| (name.as_os_str(), self.by_name[name].inode, *cookie))
    }
}
