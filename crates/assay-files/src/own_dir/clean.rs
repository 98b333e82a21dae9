//! Cleaning: what a run made is removed, and nothing else. An entry goes only if its name, type, owner and device are
//! those of an entry of ours; the rest stays, is named, and keeps the directories that it lies in. The marker goes last,
//! so that a cleaning that was killed can go on.

use super::directory::{Directory, OpenError};
use super::locked::{self, Examined, LockedDirectory, Purpose, for_each_name};
use super::maker::Maker;
use super::marker::{MARKER, Marker};
use super::names::{EntryKind, Names, is_own_directory};
use super::place::Place;
use crate::trouble::Trouble;
use assay_base::text::one_line;
use rustix::fd::AsFd;
use rustix::fs::{AtFlags, FileType, Stat};
use rustix::io::Errno;
use std::ffi::{CStr, CString};

/// No tree of ours is deeper; what lies deeper stays.
pub const DEEPEST: usize = 128;
/// As many entries that stay are named; the others are counted.
const MOST_NAMED: usize = 1000;
/// How often a tree is walked again while entries disappear from it: on some file systems a listing skips entries when
/// others are removed meanwhile.
const MOST_PASSES: u32 = 100;

/// What became, or would become, of a directory with the name of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Its name in the place.
    pub name: String,
    /// What its marker says, where there is one.
    pub marker: Option<Box<Marker>>,
    /// What became of it.
    pub state: State,
    /// Entries of ours in it that were removed, or would be.
    pub entries: u64,
    /// Entries that stay, the first thousand of them.
    pub left: Vec<Left>,
    /// How many stay.
    pub left_count: u64,
}

/// What became of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// It was removed.
    Removed,
    /// Nothing speaks against its removal.
    Removable,
    /// Something stays in it, and so it does.
    Stays,
    /// A run or a cleaning uses it.
    InUse,
    /// It is not ours, and why.
    NotOurs(String),
    /// It could not be examined or removed, and why.
    Failed(String),
}

/// An entry that stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// Its path below the directory, as it may be shown.
    pub path: String,
    /// Why it stays.
    pub why: Why,
}

/// Why an entry stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It is not ours.
    Foreign(&'static str),
    /// It could not be removed.
    Failed(Errno),
}

impl Report {
    fn new(name: &str, marker: Option<Box<Marker>>, state: State) -> Report {
        Report { name: name.to_owned(), marker, state, entries: 0, left: Vec::new(), left_count: 0 }
    }

    /// Whether everything is gone, or would be.
    pub fn is_clean(&self) -> bool {
        matches!(self.state, State::Removed | State::Removable)
    }

    /// Whether everything that stays does so only because this machine could not remove it.
    pub fn has_only_failed(&self) -> bool {
        match self.state {
            State::Failed(_) => true,
            State::Stays => self.left.iter().all(|left| matches!(left.why, Why::Failed(_))),
            State::Removed | State::Removable | State::InUse | State::NotOurs(_) => false,
        }
    }
}

/// Removes the directories of ours in a place that nobody uses. It goes on where a cleaning was killed.
///
/// # Errors
/// Host: the place cannot be listed.
pub fn clean(place: &Place) -> Result<Vec<Report>, Trouble> {
    for_each_directory(place, Purpose::Remove)
}

/// Says what [`clean`] would do, and changes nothing.
///
/// # Errors
/// Host: the place cannot be listed.
pub fn list(place: &Place) -> Result<Vec<Report>, Trouble> {
    for_each_directory(place, Purpose::Look)
}

fn for_each_directory(place: &Place, purpose: Purpose) -> Result<Vec<Report>, Trouble> {
    let maker = Maker::here()?;
    let mut names = Vec::new();
    for_each_name(place, |name| {
        if is_own_directory(name.as_bytes()) {
            names.push(name.to_string_lossy().into_owned());
        }
    })
    .map_err(|why| Trouble::host(format!("{} cannot be listed: {why}", place.shown())))?;
    // A listing has no order.
    names.sort();
    names.dedup();
    Ok(names.iter().filter_map(|name| report_of(place, name, &maker, purpose)).collect())
}

fn report_of(place: &Place, name: &str, maker: &Maker, purpose: Purpose) -> Option<Report> {
    let examined = locked::examine(place, name, maker, purpose);
    let failed = |why: Errno| Report::new(name, None, State::Failed(why.to_string()));
    Some(match examined {
        // Another cleaning was faster.
        Err(Errno::NOENT) | Ok(Examined::Gone) => return None,
        Err(why) => failed(why),
        Ok(Examined::InUse(marker)) => Report::new(name, marker, State::InUse),
        Ok(Examined::NotOurs(why)) => Report::new(name, None, State::NotOurs(why)),
        Ok(Examined::Crash(..)) if purpose == Purpose::Look => Report::new(name, None, State::Removable),
        Ok(Examined::Crash(directory, marker)) => {
            let removed = match &marker {
                Some(_) => rustix::fs::unlinkat(&directory, MARKER, AtFlags::empty()),
                None => Ok(()),
            };
            match removed.and_then(|()| remove_directory(place, name)) {
                Ok(()) => Report::new(name, None, State::Removed),
                Err(Errno::NOENT) => return None,
                // It was no crash's, but was being made.
                Err(Errno::NOTEMPTY | Errno::EXIST) => Report::new(name, None, State::InUse),
                Err(why) => failed(why),
            }
        }
        Ok(Examined::Ours(ours)) => of_tree(place, *ours, purpose),
    })
}

/// Removes a tree of ours, or says what would be removed of it.
pub(super) fn of_tree(place: &Place, ours: LockedDirectory, purpose: Purpose) -> Report {
    let names = Names::for_run(&ours.marker.run);
    let mut walk = Walk::new(&names, purpose);
    let mut entries = 0;
    for _ in 0..MOST_PASSES {
        walk.go_through(&ours.directory, "", 0);
        entries += walk.entries;
        if purpose == Purpose::Look || walk.entries == 0 {
            break;
        }
        walk = Walk::new(&names, purpose);
    }
    let state = match (walk.left_count, purpose) {
        (0, Purpose::Look) => State::Removable,
        (0, Purpose::Remove) => remove_marker_and_directory(place, &ours, &mut walk),
        _ => State::Stays,
    };
    let Walk { left, left_count, .. } = walk;
    Report { entries, left, left_count, ..Report::new(&ours.name, Some(Box::new(ours.marker)), state) }
}

/// The last step, when nothing but the marker is left.
fn remove_marker_and_directory(place: &Place, ours: &LockedDirectory, walk: &mut Walk<'_>) -> State {
    match remove_marker(ours).and_then(|()| remove_directory(place, &ours.name)) {
        Ok(()) => State::Removed,
        Err(Errno::NOTEMPTY | Errno::EXIST) => {
            walk.leave(".".to_owned(), Why::Foreign("was filled again meanwhile"));
            State::Stays
        }
        Err(why) => State::Failed(why.to_string()),
    }
}

fn remove_marker(ours: &LockedDirectory) -> rustix::io::Result<()> {
    if !locked::is_empty_but_for(&ours.directory, Some(MARKER))? {
        return Err(Errno::NOTEMPTY);
    }
    let there = rustix::fs::statat(&ours.directory, MARKER, AtFlags::SYMLINK_NOFOLLOW)?;
    if there.st_ino != rustix::fs::fstat(&ours.marker_file)?.st_ino {
        // Somebody has put another file in its place.
        return Err(Errno::NOTEMPTY);
    }
    // What was removed before must not come back after a loss of power, when there is no marker any more.
    synchronise(&ours.directory)?;
    rustix::fs::unlinkat(&ours.directory, MARKER, AtFlags::empty())
}

fn remove_directory(place: &Place, name: &str) -> rustix::io::Result<()> {
    match rustix::fs::unlinkat(place, name, AtFlags::REMOVEDIR) {
        // Without its marker and empty it was a crash's to another cleaning, which was faster.
        Ok(()) | Err(Errno::NOENT) => synchronise(place),
        Err(why) => Err(why),
    }
}

/// Makes the entries of a directory durable. Some FUSE file systems cannot.
pub(super) fn synchronise(directory: impl AsFd) -> rustix::io::Result<()> {
    match rustix::fs::fsync(directory) {
        Err(Errno::INVAL | Errno::NOSYS) => Ok(()),
        other => other,
    }
}

/// One way through a tree.
struct Walk<'a> {
    names: &'a Names,
    purpose: Purpose,
    /// Entries of ours that were removed, or would be.
    entries: u64,
    left: Vec<Left>,
    left_count: u64,
}

impl Walk<'_> {
    fn new(names: &Names, purpose: Purpose) -> Walk<'_> {
        Walk { names, purpose, entries: 0, left: Vec::new(), left_count: 0 }
    }

    /// Goes through a directory whose path below our own is `path`, which is empty or ends with a slash.
    fn go_through(&mut self, directory: &Directory, path: &str, depth: usize) {
        let listed = for_each_name(directory, |name| {
            if depth > 0 || name.as_bytes() != MARKER.as_bytes() {
                self.treat(directory, path, &name, depth);
            }
        });
        if let Err(why) = listed {
            self.leave(format!("{path}."), Why::Failed(why));
        }
    }

    fn treat(&mut self, directory: &Directory, path: &str, name: &CString, depth: usize) {
        let shown = format!("{path}{}", one_line(name.to_string_lossy()));
        let facts = match rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT) {
            Ok(facts) => facts,
            Err(Errno::NOENT) => return,
            Err(why) => return self.leave(shown, Why::Failed(why)),
        };
        let kind = match self.kind_of_ours(directory, name, &facts) {
            Ok(kind) => kind,
            Err(why) => return self.leave(shown, Why::Foreign(why)),
        };
        let flags = match kind {
            EntryKind::Directory => {
                let before = self.left_count;
                self.go_below(directory, &shown, name, depth);
                if self.left_count > before {
                    return;
                }
                AtFlags::REMOVEDIR
            }
            EntryKind::File | EntryKind::Symlink => AtFlags::empty(),
        };
        self.remove(directory, shown, name, flags);
    }

    /// Which entry of ours it is, or what of it is not ours.
    fn kind_of_ours(&self, directory: &Directory, name: &CStr, facts: &Stat) -> Result<EntryKind, &'static str> {
        let kind = self.names.parse(name.to_bytes()).ok_or("has a name that is not of this run")?.kind;
        let expected = match kind {
            EntryKind::File => FileType::RegularFile,
            EntryKind::Directory => FileType::Directory,
            EntryKind::Symlink => FileType::Symlink,
        };
        let rules = directory.rules();
        if !rules.mounts.has_device(facts.st_dev) {
            Err("is a mount point")
        } else if FileType::from_raw_mode(facts.st_mode) != expected {
            Err("has the name of another type of entry")
        } else if facts.st_uid != rules.owner {
            Err("belongs to another user")
        } else {
            Ok(kind)
        }
    }

    fn go_below(&mut self, directory: &Directory, shown: &str, name: &CStr, depth: usize) {
        if depth == DEEPEST {
            return self.leave(shown.to_owned(), Why::Foreign("lies deeper than any tree of ours"));
        }
        let name = name.to_str().expect("the name of an entry of ours consists of letters, digits and a dash");
        match directory.open_directory(name) {
            Ok(below) => self.go_through(&below, &format!("{shown}/"), depth + 1),
            Err(OpenError::Kernel(Errno::NOENT)) => {}
            Err(OpenError::Kernel(Errno::XDEV)) => self.leave(shown.to_owned(), Why::Foreign("is a mount point")),
            Err(OpenError::Kernel(Errno::LOOP | Errno::NOTDIR)) | Err(OpenError::Foreign(_)) => {
                self.leave(shown.to_owned(), Why::Foreign("was replaced by something else"));
            }
            Err(OpenError::Kernel(why)) => self.leave(shown.to_owned(), Why::Failed(why)),
        }
    }

    fn remove(&mut self, directory: &Directory, shown: String, name: &CStr, flags: AtFlags) {
        let removed = match self.purpose {
            Purpose::Remove => rustix::fs::unlinkat(directory, name, flags),
            Purpose::Look => Ok(()),
        };
        match removed {
            Ok(()) => self.entries += 1,
            Err(Errno::NOENT) => {}
            Err(Errno::BUSY) => self.leave(shown, Why::Foreign("is a mount point")),
            Err(Errno::NOTDIR | Errno::ISDIR) => self.leave(shown, Why::Foreign("was replaced by something else")),
            Err(Errno::NOTEMPTY | Errno::EXIST) => self.leave(shown, Why::Foreign("was filled again meanwhile")),
            Err(why) => self.leave(shown, Why::Failed(why)),
        }
    }

    fn leave(&mut self, path: String, why: Why) {
        self.left_count += 1;
        if self.left.len() < MOST_NAMED {
            self.left.push(Left { path, why });
        }
    }
}
