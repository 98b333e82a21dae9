//! The gate: makes the directory of a run, with its marker, and hands out the permit for everything below it.

use super::clean::{self, Report, synchronise};
use super::directory::{Directory, Rules};
use super::guard::{Reserve, Room, Wants};
use super::locked::{LockedDirectory, Purpose, identity_of};
use super::maker::Maker;
use super::marker::{MARKER, Marker};
use super::names::{Names, own_directory};
use super::place::Place;
use super::resolve::{OwnMount, Resolution, StartingPoint};
use crate::trouble::Trouble;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::path::Path;

/// How many names are tried.
const ATTEMPTS: u32 = 1000;

/// What the directory is made for.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The run, by a name that no other run has.
    pub run: &'a str,
    /// What its workload wants.
    pub wants: Wants,
    /// How paths are resolved; none for what works here.
    pub resolution: Option<Resolution>,
}

/// The permit to work in a directory of our own, for as long as it exists. Its marker stays locked meanwhile.
#[derive(Debug)]
pub struct OwnDir {
    place: Place,
    locked: LockedDirectory,
    names: Names,
    reserve: Reserve,
}

impl OwnDir {
    /// Makes a directory in a place, if the workload fits.
    ///
    /// # Errors
    /// Refused: it does not fit; nothing was made. Busy: a cleaning came upon the directory
    /// while it was made. Host: it cannot be made.
    pub fn make(place: Place, request: Request<'_>) -> Result<OwnDir, Trouble> {
        let unmade = |why: Errno| Trouble::host(format!("nothing can be made in {}: {why}", place.shown()));
        let reserve = Room::around(&place).map_err(unmade)?.reserve_for(request.wants, &place.shown())?;
        let resolution = request.resolution.unwrap_or_else(|| Resolution::detect(&place));
        let maker = Maker::here()?;
        let name = make_directory(&place, request.run, &maker).map_err(unmade)?;
        let made = Making { place: &place, name: &name, resolution }.with_marker(request.run, &maker);
        let locked = made.map_err(|why| {
            // It goes only if it is empty, and so it is, unless somebody else has put something in.
            let _ = rustix::fs::unlinkat(&place, &name, AtFlags::REMOVEDIR);
            unmarked(&place, &name, why)
        })?;
        Ok(OwnDir { names: Names::for_run(request.run), place, locked, reserve })
    }

    /// The directory. Everything below it is opened through it.
    pub fn directory(&self) -> &Directory {
        &self.locked.directory
    }

    /// Its name in the place.
    pub fn name(&self) -> &str {
        &self.locked.name
    }

    /// Its path as it may be shown.
    pub fn shown(&self) -> String {
        format!("{}/{}", self.place.shown(), self.name())
    }

    /// The names of what is made below it.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// What must stay free while the workload runs.
    pub fn reserve(&self) -> Reserve {
        self.reserve
    }

    /// What its file system has now.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn room(&self) -> rustix::io::Result<Room> {
        Room::around(self.directory())
    }

    /// Removes everything that was made, and the directory itself.
    pub fn clean(self) -> Report {
        clean::of_tree(&self.place, self.locked, Purpose::Remove)
    }

    /// Leaves everything as it is, for `assay clean`. The lock ends.
    pub fn keep(self) -> String {
        self.shown()
    }
}

/// Why the directory has no marker.
fn unmarked(place: &Place, name: &str, why: Errno) -> Trouble {
    let at = place.shown();
    match why {
        Errno::NOENT | Errno::WOULDBLOCK => {
            Trouble::busy(format!("a cleaning came upon {at}/{name} while it was made: try again"))
        }
        Errno::NOSYS | Errno::NOLCK | Errno::OPNOTSUPP => Trouble::host(format!(
            "{at} has no locks, by which a directory in use is known ({why}): mount its file system with locks"
        )),
        why => Trouble::host(format!("{at}/{name} cannot be marked as ours: {why}")),
    }
}

/// Makes the directory under the first of its names that is free.
fn make_directory(place: &Place, run: &str, maker: &Maker) -> rustix::io::Result<String> {
    let origin = format!("{run} {} {} {}", maker.host, maker.boot, maker.process);
    for attempt in 0..ATTEMPTS {
        let name = own_directory(&origin, attempt);
        match rustix::fs::mkdirat(place, &name, Mode::RWXU) {
            Err(Errno::EXIST) => {}
            made => return made.map(|()| name),
        }
    }
    Err(Errno::EXIST)
}

/// A directory that was made, and has no marker yet.
struct Making<'a> {
    place: &'a Place,
    name: &'a str,
    resolution: Resolution,
}

impl Making<'_> {
    fn with_marker(&self, run: &str, maker: &Maker) -> rustix::io::Result<LockedDirectory> {
        let Making { place, name, resolution } = *self;
        let start = StartingPoint { directory: place.as_fd(), mounts: place.mounts(), resolution };
        let opened = start.open(Path::new(name), OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?;
        let identity = identity_of(&opened)?;
        let rules = Rules { resolution, mounts: OwnMount::around(&opened)?, owner: identity.owner };
        let marker = Marker::new(run, maker, identity);
        let (directory, marker_file) = write_marker(Directory::new(opened, rules), &marker)?;
        synchronise(place)?;
        self.is_still_there(&directory, &marker_file)?;
        Ok(LockedDirectory { name: name.to_owned(), directory, marker, marker_file })
    }

    /// A cleaning may have removed the directory before its marker was locked.
    fn is_still_there(&self, directory: &Directory, marker_file: &OwnedFd) -> rustix::io::Result<()> {
        let there = rustix::fs::statat(self.place, self.name, AtFlags::SYMLINK_NOFOLLOW)?;
        let ours = rustix::fs::fstat(directory)?;
        let has_marker = rustix::fs::fstat(marker_file)?.st_nlink == 1;
        let is_same = (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino);
        if is_same && has_marker { Ok(()) } else { Err(Errno::NOENT) }
    }
}

/// Writes the marker into a new directory, locks it, and makes it durable before anything else is made. If that fails,
/// there is none.
fn write_marker(directory: Directory, marker: &Marker) -> rustix::io::Result<(Directory, OwnedFd)> {
    let file = directory.create_careful(MARKER, OFlags::RDWR)?;
    if let Err(why) = fill_marker(&directory, &file, marker) {
        let _ = rustix::fs::unlinkat(&directory, MARKER, AtFlags::empty());
        return Err(why);
    }
    let device = rustix::fs::fstat(&file)?.st_dev;
    Ok((directory.with_device(device), file))
}

fn fill_marker(directory: &Directory, file: &OwnedFd, marker: &Marker) -> rustix::io::Result<()> {
    rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive)?;
    let text = marker.text();
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        let written = rustix::io::write(file, rest)?;
        rest = &rest[written..];
    }
    rustix::fs::fsync(file)?;
    synchronise(directory)
}
