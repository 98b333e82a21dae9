//! The gate: makes the directory of a run, with its marker, and hands out the permit for everything below it.

use super::clean::{self, Report};
use super::directory::{Directory, Rules, synchronise};
use super::guard::{Reserve, Room, Wants};
use super::locked::{self, LockedDirectory, Purpose, identity_of};
use super::maker::Maker;
use super::manifest::Manifest;
use super::marker::{LONGEST_RUN_NAME, MARKER, Marker};
use super::names::{Names, own_directory};
use super::place::Place;
use super::resolve::{OwnMount, Resolution, StartingPoint};
use crate::trouble::{Trouble, error_in_words};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::path::Path;

/// How many names are tried.
const ATTEMPTS: u32 = 1000;

/// What the directory is made for.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The run, by a name that no other run has, of [`LONGEST_RUN_NAME`] bytes at most.
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
    /// Usage: the name of the run is too long. Refused: it does not fit; nothing was made. Busy: a cleaning came upon the
    /// directory while it was made. Host: it cannot be made.
    pub fn make(place: Place, request: Request<'_>) -> Result<OwnDir, Trouble> {
        let unmade = |why: Errno| unmade(&place, why);
        if request.run.len() > LONGEST_RUN_NAME {
            let length = request.run.len();
            return Err(Trouble::usage(format!(
                "the name of the run has {length} bytes: give it one of {LONGEST_RUN_NAME} bytes at most"
            )));
        }
        let reserve = Room::around(&place).map_err(unmade)?.reserve_for(request.wants, &place.shown())?;
        let resolution = request.resolution.unwrap_or_else(|| Resolution::detect(&place));
        let maker = Maker::here()?;
        let name = make_directory(&place, request.run, &maker).map_err(unmade)?;
        let making = Making { place: &place, name: &name, resolution };
        let locked = making.make_marked(request.run, &maker).map_err(|why| unmarked(&place, &name, why))?;
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

    /// Writes down the names of a copy before any of them is made.
    ///
    /// # Errors
    /// Host: it cannot be written.
    pub fn write_manifest(&self, manifest: &Manifest) -> Result<(), Trouble> {
        manifest.write_into(self.directory(), &self.names).map_err(|why| {
            Trouble::host(format!("the names of the copy cannot be written down in {}: {why}; make room", self.shown()))
        })
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
        // A process that is being started has this descriptor too, until it runs its program.
        let _ = rustix::fs::flock(&self.locked.marker_file, FlockOperation::Unlock);
        self.shown()
    }
}

/// Why no directory was made.
fn unmade(place: &Place, why: Errno) -> Trouble {
    let (at, why_in_words) = (place.shown(), error_in_words(why));
    let remedy = match why {
        Errno::ACCESS | Errno::PERM => "give yourself the right to write there, or name a directory of your own",
        Errno::ROFS => "mount its file system for writing",
        Errno::NOSPC | Errno::DQUOT => "make room there",
        Errno::NOENT => "it was removed meanwhile: make it again",
        Errno::EXIST => "remove what other runs have left there with `assay clean`",
        _ => "look at its file system, or name another directory",
    };
    Trouble::host(format!("nothing can be made in {at}: {why_in_words}; {remedy}"))
}

/// Why the directory has no marker.
fn unmarked(place: &Place, name: &str, why: Errno) -> Trouble {
    let at = place.shown();
    match why {
        Errno::NOENT | Errno::WOULDBLOCK => {
            Trouble::busy(format!("a cleaning came upon {at}/{name} while it was made: try again"))
        }
        Errno::NOSYS | Errno::NOLCK | Errno::OPNOTSUPP => Trouble::host(format!(
            "{at} has no locks, by which a directory in use is known: {}; mount its file system with locks",
            error_in_words(why)
        )),
        why => Trouble::host(format!(
            "{at}/{name} cannot be marked as ours: {}; look at its file system, and write `assay clean {at}` afterwards",
            error_in_words(why)
        )),
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
    /// Opens the directory and marks it. Where that fails, the directory goes again.
    fn make_marked(&self, run: &str, maker: &Maker) -> rustix::io::Result<LockedDirectory> {
        let Making { place, name, resolution } = *self;
        let start = StartingPoint { directory: place.as_fd(), mounts: place.mounts(), resolution };
        let opened = start.open(Path::new(name), OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?;
        let facts = rustix::fs::fstat(&opened)?;
        let marked = self.with_marker(opened, run, maker);
        if marked.is_err() && locked::is_at_name(place, name, &facts)? {
            // It goes only if it is empty, and so it is, unless somebody else has put something in.
            let _ = rustix::fs::unlinkat(place, name, AtFlags::REMOVEDIR);
        }
        marked
    }

    fn with_marker(&self, opened: OwnedFd, run: &str, maker: &Maker) -> rustix::io::Result<LockedDirectory> {
        let Making { place, name, resolution } = *self;
        let identity = identity_of(&opened)?;
        let rules = Rules { resolution, mounts: OwnMount::around(&opened)?, owner: identity.owner };
        let marker = Marker::new(run, maker, identity);
        let (directory, marker_file) = write_marker(Directory::new(opened, rules), &marker)?;
        synchronise(place)?;
        self.check_still_there(&directory, &marker_file)?;
        Ok(LockedDirectory { name: name.to_owned(), directory, marker, marker_file })
    }

    /// A cleaning may have removed the directory before its marker was locked.
    fn check_still_there(&self, directory: &Directory, marker_file: &OwnedFd) -> rustix::io::Result<()> {
        let has_marker = rustix::fs::fstat(marker_file)?.st_nlink == 1;
        let is_there = locked::is_at_name(self.place, self.name, &rustix::fs::fstat(directory)?)?;
        if is_there && has_marker { Ok(()) } else { Err(Errno::NOENT) }
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
    if !locked::lock_alone(file)? {
        return Err(Errno::WOULDBLOCK);
    }
    let text = marker.text();
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        let written = rustix::io::write(file, rest)?;
        rest = &rest[written..];
    }
    rustix::fs::fsync(file)?;
    synchronise(directory)
}
