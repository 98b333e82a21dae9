//! Walks through a real tree, depth first, and counts. It opens directories only, reads no file, follows no link, and stays
//! on the file system of the directory that was named. Of all entries it keeps none but the inodes of files with several
//! names, until the last of these has come.

use super::counts::TreeCounts;
use crate::trouble::Trouble;
use assay_base::text::one_line;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Statx, StatxFlags};
use rustix::io::Errno;
use std::collections::HashMap;
use std::ffi::{CStr, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// How many places are named of what could not be examined.
const MOST_REMARKS: usize = 10;

/// A place that was left out, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Remark {
    /// The path, for a message on one line.
    pub place: String,
    /// Why.
    pub why: String,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Survey {
    /// The figures.
    pub counts: TreeCounts,
    /// The first places that were left out.
    pub remarks: Vec<Remark>,
}

/// A directory that is being listed.
struct Level {
    listing: Dir,
    name: OsString,
    files: u64,
}

/// A file system, as far as it is told from others: by its mount where the kernel says that, and by its device.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Mounted {
    mount: u64,
    device: (u32, u32),
}

struct Walk {
    top: PathBuf,
    mounted: Mounted,
    levels: Vec<Level>,
    /// Names that are still to come of files with several, by inode.
    expected: HashMap<u64, u32>,
    counts: TreeCounts,
    remarks: Vec<Remark>,
}

/// Counts the tree below a directory.
///
/// # Errors
/// Host: the directory cannot be read. Usage: there is no file in it.
pub fn survey_tree(path: &Path) -> Result<Survey, Trouble> {
    let shown = one_line(path.display());
    let top = open_top(path).map_err(|why| match why {
        Errno::NOTDIR => Trouble::usage(format!("{shown} is not a directory: name the directory that has the files")),
        why => Trouble::host(format!("{shown} cannot be read: {why}")),
    })?;
    let unexamined = |why: Errno| Trouble::host(format!("{shown} cannot be examined: {why}"));
    let mounted = mounted_at(&examine(&top, c"").map_err(unexamined)?);
    let level = Level { listing: Dir::new(top).map_err(unexamined)?, name: OsString::new(), files: 0 };
    let mut walk = Walk {
        top: path.to_owned(),
        mounted,
        levels: vec![level],
        expected: HashMap::new(),
        counts: TreeCounts::default(),
        remarks: Vec::new(),
    };
    walk.go_through();
    if walk.counts.files == 0 {
        return Err(Trouble::usage(format!("there are no files in {shown}: name a directory that has some")));
    }
    Ok(Survey { counts: walk.counts, remarks: walk.remarks })
}

#[expect(clippy::disallowed_methods, reason = "a directory is opened for listing, and nothing is written to it")]
fn open_top(path: &Path) -> Result<OwnedFd, Errno> {
    rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

#[expect(clippy::disallowed_methods, reason = "a directory is opened for listing, and nothing is written to it")]
fn open_below(directory: impl AsFd, name: &CStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    rustix::fs::openat(directory, name, flags, Mode::empty())
}

/// What an entry is, without following it and without mounting anything. The empty name is the directory itself.
fn examine(directory: impl AsFd, name: &CStr) -> Result<Statx, Errno> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT | AtFlags::EMPTY_PATH;
    rustix::fs::statx(directory, name, flags, StatxFlags::BASIC_STATS | StatxFlags::MNT_ID)
}

fn mounted_at(facts: &Statx) -> Mounted {
    let has_mount = facts.stx_mask & StatxFlags::MNT_ID.bits() != 0;
    Mounted { mount: if has_mount { facts.stx_mnt_id } else { 0 }, device: (facts.stx_dev_major, facts.stx_dev_minor) }
}

impl Walk {
    fn go_through(&mut self) {
        while let Some(level) = self.levels.last_mut() {
            let name = match level.listing.next() {
                Some(Ok(entry)) => entry.file_name().to_owned(),
                Some(Err(why)) => {
                    self.counts.left_out.unreadable += 1;
                    self.remember(&[], why);
                    self.leave_directory();
                    continue;
                }
                None => {
                    self.leave_directory();
                    continue;
                }
            };
            if !matches!(name.to_bytes(), b"." | b"..") {
                self.take_entry(&name);
            }
        }
    }

    fn leave_directory(&mut self) {
        let depth = self.levels.len() as u32 - 1;
        if let Some(level) = self.levels.pop() {
            self.counts.add_directory(depth, level.files);
        }
    }

    fn take_entry(&mut self, name: &CStr) {
        let Some(level) = self.levels.last() else { return };
        let examined = level.listing.fd().and_then(|directory| examine(directory, name));
        let facts = match examined {
            Ok(facts) => facts,
            Err(why) => {
                self.counts.left_out.unknown += 1;
                return self.remember(name.to_bytes(), why);
            }
        };
        let length = name.to_bytes().len();
        match FileType::from_raw_mode(facts.stx_mode.into()) {
            FileType::RegularFile => self.take_file(&facts, length),
            FileType::Symlink => self.counts.add_symlink(length),
            FileType::Directory => self.enter_directory(name, &facts),
            FileType::Socket => self.counts.left_out.sockets += 1,
            FileType::Fifo => self.counts.left_out.pipes += 1,
            FileType::BlockDevice | FileType::CharacterDevice => self.counts.left_out.devices += 1,
            FileType::Unknown => self.counts.left_out.unknown += 1,
        }
    }

    /// A file, or a further name of one that was counted.
    fn take_file(&mut self, facts: &Statx, name_length: usize) {
        if facts.stx_nlink > 1 {
            let rest = self.expected.entry(facts.stx_ino).or_insert(facts.stx_nlink);
            let is_first = *rest == facts.stx_nlink;
            *rest = rest.saturating_sub(1);
            if *rest == 0 {
                self.expected.remove(&facts.stx_ino);
            }
            if !is_first {
                return self.counts.add_link(name_length);
            }
        }
        self.counts.add_file(facts.stx_size, name_length);
        if let Some(level) = self.levels.last_mut() {
            level.files += 1;
        }
    }

    fn enter_directory(&mut self, name: &CStr, facts: &Statx) {
        if mounted_at(facts) != self.mounted {
            self.counts.left_out.mount_points += 1;
            return self.remember_text(name.to_bytes(), "another file system is mounted there".to_owned());
        }
        let Some(level) = self.levels.last() else { return };
        let opened = level.listing.fd().and_then(|directory| open_below(directory, name)).and_then(Dir::new);
        match opened {
            Ok(listing) => {
                let name = OsStr::from_bytes(name.to_bytes()).to_owned();
                self.levels.push(Level { listing, name, files: 0 });
            }
            Err(why) => {
                self.counts.left_out.unreadable += 1;
                self.remember(name.to_bytes(), why);
            }
        }
    }

    fn remember(&mut self, name: &[u8], why: Errno) {
        self.remember_text(name, why.to_string());
    }

    /// Remembers where something was left out.
    fn remember_text(&mut self, name: &[u8], why: String) {
        if self.remarks.len() >= MOST_REMARKS {
            return;
        }
        let mut place = self.top.clone();
        for level in self.levels.iter().skip(1) {
            place.push(&level.name);
        }
        if !name.is_empty() {
            place.push(OsStr::from_bytes(name));
        }
        self.remarks.push(Remark { place: one_line(place.display()), why });
    }
}
