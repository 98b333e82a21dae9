//! Cleaning: what a run made is removed, and nothing else. An entry goes only if its name, type, owner and device are
//! those of an entry of ours; the rest stays, is named, and keeps the directories that it lies in. The marker goes last,
//! so that a cleaning that was killed can go on.

use super::directory::{Directory, OpenError, synchronise};
use super::locked::{self, Examined, LockedDirectory, Purpose, for_each_name};
use super::maker::Maker;
use super::manifest::{Manifest, Way};
use super::marker::{MARKER, Marker};
use super::names::{EntryKind, Names, is_own_directory};
use super::place::Place;
use crate::trouble::{Trouble, error_in_words};
use assay_base::text::one_line;
use rustix::fs::{AtFlags, FileType, Stat};
use rustix::io::Errno;
use rustix::thread::{Timespec, nanosleep};
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
    /// Entries that stay, a thousand at most: first those that are not ours.
    pub left: Vec<Left>,
    /// How many stay.
    pub left_count: u64,
    /// How many of them are not ours.
    pub foreign_count: u64,
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
        let name = name.to_owned();
        Report { name, marker, state, entries: 0, left: Vec::new(), left_count: 0, foreign_count: 0 }
    }

    /// Whether everything is gone, or would be.
    pub fn is_clean(&self) -> bool {
        matches!(self.state, State::Removed | State::Removable)
    }

    /// Whether everything that stays does so only because this machine could not remove it.
    pub fn has_only_failed(&self) -> bool {
        match self.state {
            State::Failed(_) => true,
            State::Stays => self.foreign_count == 0,
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
    .map_err(|why| {
        let (at, why) = (place.shown(), error_in_words(why));
        Trouble::host(format!("{at} cannot be listed: {why}; run as a user who may read it, and look at its disk"))
    })?;
    // A listing has no order.
    names.sort();
    names.dedup();
    Ok(names.iter().filter_map(|name| report_of(place, name, &maker, purpose)).collect())
}

fn report_of(place: &Place, name: &str, maker: &Maker, purpose: Purpose) -> Option<Report> {
    let examined = locked::examine(place, name, maker, purpose);
    Some(match examined {
        // Another cleaning was faster.
        Err(Errno::NOENT) | Ok(Examined::Gone) => return None,
        Err(why) => Report::new(name, None, State::Failed(error_in_words(why))),
        Ok(Examined::InUse(marker)) => Report::new(name, marker, State::InUse),
        Ok(Examined::NotOurs(why)) => Report::new(name, None, State::NotOurs(why)),
        Ok(Examined::Crash(..)) if purpose == Purpose::Look => Report::new(name, None, State::Removable),
        Ok(Examined::Crash(directory, marker)) => {
            Report::new(name, None, remove_rest_of_crash(place, name, &directory, marker.is_some())?)
        }
        Ok(Examined::Ours(ours)) => of_tree(place, *ours, purpose),
    })
}

/// Removes what a crash left before there was a whole marker; none if it is gone already.
fn remove_rest_of_crash(place: &Place, name: &str, directory: &Directory, has_marker: bool) -> Option<State> {
    let unmarked = if has_marker { rustix::fs::unlinkat(directory, MARKER, AtFlags::empty()) } else { Ok(()) };
    match unmarked.map_or_else(Removal::Failed, |()| remove_directory(place, name, directory)) {
        Removal::Done => Some(State::Removed),
        Removal::Failed(Errno::NOENT) => None,
        // It was no crash's, but was being made.
        Removal::Filled => Some(State::InUse),
        Removal::Replaced => Some(State::NotOurs(REPLACED.to_owned())),
        Removal::Failed(why) => Some(State::Failed(error_in_words(why))),
    }
}

/// Removes a tree of ours, or says what would be removed of it.
pub(super) fn of_tree(place: &Place, ours: LockedDirectory, purpose: Purpose) -> Report {
    let names = Names::for_run(&ours.marker.run);
    let manifest = Manifest::read_from(&ours.directory, &names);
    let known = KnownNames { names: &names, manifest: &manifest };
    let mut walk = Walk::new(known, purpose);
    let mut entries = 0;
    for _ in 0..MOST_PASSES {
        walk.go_through(&ours.directory, At { path: "", depth: 0, way: Way::TOP });
        entries += walk.entries;
        if purpose == Purpose::Look || walk.entries == 0 {
            break;
        }
        walk = Walk::new(known, purpose);
    }
    let (name, marker) = (ours.name.clone(), Box::new(ours.marker.clone()));
    let state = match (walk.left_count, purpose) {
        (0, Purpose::Look) => State::Removable,
        (0, Purpose::Remove) => remove_marker_and_directory(place, ours, &mut walk),
        _ => State::Stays,
    };
    Report { entries, ..walk.report_as(Report::new(&name, Some(marker), state)) }
}

/// What became of the attempt to remove a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Removal {
    Done,
    /// Something was put into it meanwhile.
    Filled,
    /// Its name is that of something else now.
    Replaced,
    Failed(Errno),
}

impl Removal {
    fn from_error(why: Errno) -> Removal {
        match why {
            Errno::NOTEMPTY | Errno::EXIST => Removal::Filled,
            why => Removal::Failed(why),
        }
    }
}

/// Why a directory or file of another device stays.
const OTHER_FILE_SYSTEM: &str = "is a mount point, or a subvolume";
/// Why something stays that has the name of ours.
const REPLACED: &str = "was replaced by something else while it was cleaned";

/// The last step, when nothing but the marker is left.
fn remove_marker_and_directory(place: &Place, ours: LockedDirectory, walk: &mut Walk<'_>) -> State {
    let removal = match remove_marker(place, &ours) {
        Removal::Done => {
            let LockedDirectory { name, directory, marker_file, .. } = ours;
            // NFS and FUSE keep the name of a file that is removed while it is open, under another one.
            drop(marker_file);
            remove_emptied_directory(place, &name, &directory)
        }
        other => other,
    };
    match removal {
        Removal::Done => State::Removed,
        Removal::Filled => {
            walk.leave(".".to_owned(), Why::Foreign("was filled again meanwhile"));
            State::Stays
        }
        Removal::Replaced => {
            walk.leave(".".to_owned(), Why::Foreign(REPLACED));
            State::Stays
        }
        Removal::Failed(why) => State::Failed(error_in_words(why)),
    }
}

fn remove_marker(place: &Place, ours: &LockedDirectory) -> Removal {
    match removal_of_marker(place, ours) {
        Ok(removal) => removal,
        Err(why) => Removal::from_error(why),
    }
}

fn removal_of_marker(place: &Place, ours: &LockedDirectory) -> rustix::io::Result<Removal> {
    if !locked::is_at_name(place, &ours.name, &rustix::fs::fstat(&ours.directory)?)? {
        return Ok(Removal::Replaced);
    }
    remove_names_of_copy(ours)?;
    if !locked::is_empty_but_for(&ours.directory, Some(MARKER))? {
        return Ok(Removal::Filled);
    }
    let there = rustix::fs::statat(&ours.directory, MARKER, AtFlags::SYMLINK_NOFOLLOW)?;
    if there.st_ino != rustix::fs::fstat(&ours.marker_file)?.st_ino {
        // Somebody has put another file in its place.
        return Ok(Removal::Filled);
    }
    // What was removed before must not come back after a loss of power, when there is no marker any more. This directory
    // alone has to be durable: whatever lay deeper can only come back below a name in it, and these names are gone. One
    // fsync for each of 38,000 directories would say the same 38,000 times.
    synchronise(&ours.directory)?;
    rustix::fs::unlinkat(&ours.directory, MARKER, AtFlags::empty())?;
    Ok(Removal::Done)
}

/// The names of a copy go when nothing has one of them any more, also after a loss of power: what came back then without its
/// name in the list would be somebody else's.
fn remove_names_of_copy(ours: &LockedDirectory) -> rustix::io::Result<()> {
    let listed = Manifest::file_name(&Names::for_run(&ours.marker.run));
    match rustix::fs::statat(&ours.directory, &listed, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(_) => synchronise(&ours.directory)?,
        Err(Errno::NOENT) => return Ok(()),
        Err(why) => return Err(why),
    }
    match rustix::fs::unlinkat(&ours.directory, &listed, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(why) => Err(why),
    }
}

/// How often a directory is tried to be removed in which a file still stands under another name: FUSE hears later that it was closed.
const HIDDEN_TRIES: u32 = 40;
/// The time between two tries.
const HIDDEN_PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
/// How the name begins under which a file stands that was removed while somebody has it open: on NFS (fs/nfs/unlink.c), on FUSE (libfuse,
/// lib/fuse.c).
const HIDDEN: [&str; 2] = [".nfs", ".fuse_hidden"];

/// Removes the directory when it has no marker any more.
fn remove_emptied_directory(place: &Place, name: &str, directory: &Directory) -> Removal {
    for _ in 0..HIDDEN_TRIES {
        match remove_directory(place, name, directory) {
            Removal::Filled if holds_only_hidden(directory) => {
                let _ = nanosleep(&HIDDEN_PAUSE);
            }
            removal => return removal,
        }
    }
    remove_directory(place, name, directory)
}

/// Whether all that is in it are files that were removed, and are still open somewhere.
fn holds_only_hidden(directory: &Directory) -> bool {
    let mut others = 0;
    let is_hidden = |name: &CString| HIDDEN.iter().any(|prefix| name.as_bytes().starts_with(prefix.as_bytes()));
    let listed = for_each_name(directory, |name| others += usize::from(!is_hidden(&name)));
    listed.is_ok() && others == 0
}

/// Removes the directory that is open if it still has this name: somebody may have put another empty one there.
fn remove_directory(place: &Place, name: &str, directory: &Directory) -> Removal {
    match removal_of_directory(place, name, directory) {
        Ok(removal) => removal,
        Err(why) => Removal::from_error(why),
    }
}

fn removal_of_directory(place: &Place, name: &str, directory: &Directory) -> rustix::io::Result<Removal> {
    let ours = rustix::fs::fstat(directory)?;
    if !locked::is_at_name(place, name, &ours)? {
        // Without its marker and empty it was a crash's to another cleaning, which was faster.
        let is_gone = rustix::fs::fstat(directory)?.st_nlink == 0;
        return Ok(if is_gone { Removal::Done } else { Removal::Replaced });
    }
    match rustix::fs::unlinkat(place, name, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => synchronise(place).map(|()| Removal::Done),
        Err(why) => Err(why),
    }
}

/// By what the names of a run are known.
#[derive(Clone, Copy)]
struct KnownNames<'a> {
    names: &'a Names,
    manifest: &'a Manifest,
}

impl KnownNames<'_> {
    /// What kind of entry has this name, which somebody gave to an entry of this type.
    fn kind_of(self, name: &[u8], way: Way, kind: FileType) -> Option<EntryKind> {
        if let Some(entry) = self.names.parse(name) {
            return Some(entry.kind);
        }
        let kind = EntryKind::ALL.into_iter().find(|known| type_of(*known) == kind)?;
        let is_copied = !self.manifest.is_empty() && self.manifest.has_way(way.to_entry(self.names, kind, name));
        is_copied.then_some(kind)
    }
}

fn type_of(kind: EntryKind) -> FileType {
    match kind {
        EntryKind::File => FileType::RegularFile,
        EntryKind::Directory => FileType::Directory,
        EntryKind::Symlink => FileType::Symlink,
    }
}

/// Where a walk is: the path below our own directory, which is empty or ends with a slash, and its depth.
#[derive(Clone, Copy)]
struct At<'a> {
    path: &'a str,
    depth: usize,
    way: Way,
}

/// One way through a tree.
struct Walk<'a> {
    known: KnownNames<'a>,
    purpose: Purpose,
    /// Entries of ours that were removed, or would be.
    entries: u64,
    /// What stays because it is not ours, and what because it cannot be removed; a thousand of each.
    foreign: Vec<Left>,
    failed: Vec<Left>,
    left_count: u64,
    foreign_count: u64,
}

impl Walk<'_> {
    fn new(known: KnownNames<'_>, purpose: Purpose) -> Walk<'_> {
        let (foreign, failed) = (Vec::new(), Vec::new());
        Walk { known, purpose, entries: 0, foreign, failed, left_count: 0, foreign_count: 0 }
    }

    fn go_through(&mut self, directory: &Directory, at: At<'_>) {
        let listed = for_each_name(directory, |name| {
            if at.depth > 0 || name.as_bytes() != MARKER.as_bytes() {
                self.treat(directory, at, &name);
            }
        });
        if let Err(why) = listed {
            self.leave(format!("{}.", at.path), Why::Failed(why));
        }
    }

    fn treat(&mut self, directory: &Directory, at: At<'_>, name: &CString) {
        let shown = format!("{}{}", at.path, one_line(name.to_string_lossy()));
        let facts = match rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT) {
            Ok(facts) => facts,
            Err(Errno::NOENT) => return,
            Err(why) => return self.leave(shown, Why::Failed(why)),
        };
        let kind = match self.kind_of_ours(directory, at.way, name, &facts) {
            Ok(kind) => kind,
            Err(why) => return self.leave(shown, Why::Foreign(why)),
        };
        if at.depth == 0 && name.to_bytes() == Manifest::file_name(self.known.names).as_bytes() {
            // It goes when nothing has one of its names any more.
            return;
        }
        let flags = match kind {
            EntryKind::Directory => {
                let before = self.left_count;
                self.go_below(directory, &shown, at, name);
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
    fn kind_of_ours(
        &self,
        directory: &Directory,
        way: Way,
        name: &CStr,
        facts: &Stat,
    ) -> Result<EntryKind, &'static str> {
        let found = FileType::from_raw_mode(facts.st_mode);
        let kind = self.known.kind_of(name.to_bytes(), way, found).ok_or("has a name that is not of this run")?;
        let rules = directory.rules();
        if !rules.mounts.has_device(facts.st_dev) {
            Err(OTHER_FILE_SYSTEM)
        } else if found != type_of(kind) {
            Err("has the name of another type of entry")
        } else if facts.st_uid != rules.owner {
            Err("belongs to another user")
        } else {
            Ok(kind)
        }
    }

    fn go_below(&mut self, directory: &Directory, shown: &str, at: At<'_>, name: &CStr) {
        if at.depth == DEEPEST {
            return self.leave(shown.to_owned(), Why::Foreign("lies deeper than any tree of ours"));
        }
        let Ok(text) = name.to_str() else {
            return self.leave(shown.to_owned(), Why::Foreign("has a name that is not of this run"));
        };
        match directory.open_directory(text) {
            Ok(below) => {
                let way = at.way.to_entry(self.known.names, EntryKind::Directory, name.to_bytes());
                self.go_through(&below, At { path: &format!("{shown}/"), depth: at.depth + 1, way });
            }
            Err(OpenError::Kernel(Errno::NOENT)) => {}
            Err(OpenError::Kernel(Errno::XDEV)) => self.leave(shown.to_owned(), Why::Foreign(OTHER_FILE_SYSTEM)),
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
            Err(Errno::BUSY) => self.leave(shown, Why::Foreign(OTHER_FILE_SYSTEM)),
            Err(Errno::NOTDIR | Errno::ISDIR) => self.leave(shown, Why::Foreign("was replaced by something else")),
            Err(Errno::NOTEMPTY | Errno::EXIST) => self.leave(shown, Why::Foreign("was filled again meanwhile")),
            Err(why) => self.leave(shown, Why::Failed(why)),
        }
    }

    /// The report with what stays, first what is not ours.
    fn report_as(self, report: Report) -> Report {
        let Walk { foreign, failed, left_count, foreign_count, .. } = self;
        let left = foreign.into_iter().chain(failed).take(MOST_NAMED).collect();
        Report { left, left_count, foreign_count, ..report }
    }

    fn leave(&mut self, path: String, why: Why) {
        self.left_count += 1;
        let named = match why {
            Why::Foreign(_) => {
                self.foreign_count += 1;
                &mut self.foreign
            }
            Why::Failed(_) => &mut self.failed,
        };
        if named.len() < MOST_NAMED {
            named.push(Left { path, why });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::directory::Rules;
    use super::super::place::Conditions;
    use super::super::resolve::{OwnMount, Resolution};
    use super::*;
    use rustix::fd::OwnedFd;
    use std::path::Path;

    fn opened(path: &Path) -> Directory {
        let descriptor = OwnedFd::from(std::fs::File::open(path).unwrap());
        let mounts = OwnMount::around(&descriptor).unwrap();
        Directory::new(descriptor, Rules { resolution: Resolution::ByComponent, mounts, owner: 0 })
    }

    #[test]
    fn another_empty_directory_at_the_name_of_ours_stays() {
        let bed = tempfile::tempdir().unwrap();
        let at = |name: &str| bed.path().join(name);
        std::fs::create_dir(at("ours")).unwrap();
        let place = Place::open(bed.path(), Conditions::default()).unwrap();
        let ours = opened(&at("ours"));
        std::fs::rename(at("ours"), at("moved")).unwrap();
        assert_eq!(remove_directory(&place, "ours", &ours), Removal::Replaced, "moved away");
        std::fs::create_dir(at("ours")).unwrap();
        assert_eq!(remove_directory(&place, "ours", &ours), Removal::Replaced);
        assert!(at("ours").exists() && at("moved").exists());
        std::fs::remove_dir(at("ours")).unwrap();
        std::fs::rename(at("moved"), at("ours")).unwrap();
        std::fs::write(at("ours/file"), "").unwrap();
        assert_eq!(remove_directory(&place, "ours", &ours), Removal::Filled);
        std::fs::remove_file(at("ours/file")).unwrap();
        assert_eq!(remove_directory(&place, "ours", &ours), Removal::Done);
        assert!(!at("ours").exists());
        assert_eq!(remove_directory(&place, "ours", &ours), Removal::Done, "another cleaning was faster");
    }

    #[test]
    fn a_thousand_failures_do_not_hide_what_is_foreign() {
        let (names, manifest) = (Names::for_run("run 1"), Manifest::default());
        let known = KnownNames { names: &names, manifest: &manifest };
        let mut walk = Walk::new(known, Purpose::Remove);
        for number in 0..MOST_NAMED + 5 {
            walk.leave(format!("failed {number}"), Why::Failed(Errno::IO));
        }
        walk.leave("notes".to_owned(), Why::Foreign("has a name that is not of this run"));
        assert_eq!((walk.left_count, walk.foreign_count), (MOST_NAMED as u64 + 6, 1));
        let report = walk.report_as(Report::new("assay-00000001", None, State::Stays));
        assert_eq!((report.left.len(), report.left[0].path.as_str()), (MOST_NAMED, "notes"));
        assert!(!report.has_only_failed());
    }
}
