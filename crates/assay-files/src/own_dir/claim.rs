//! What shows on other hosts whether a place is the same directory there: a directory of our own with a marker that no other one has.

use super::gate::OwnDir;
use super::locked::content_of;
use super::marker::MARKER;
use super::names::is_own_directory;
use super::place::Place;
use super::resolve::{Resolution, StartingPoint};
use crate::trouble::{Trouble, error_in_words};
use rustix::fd::AsFd;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A directory of our own, as it is told to other hosts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    name: String,
    /// Digest of its marker, as hexadecimal digits.
    marker: String,
}

impl Claim {
    /// That of a directory that was made here.
    ///
    /// # Errors
    /// Host: its marker cannot be read.
    pub fn of_directory(place: &Place, own: &OwnDir) -> Result<Claim, Trouble> {
        let name = own.name().to_owned();
        match marker_at(place, &name) {
            Ok(Some(marker)) => Ok(Claim { name, marker }),
            Ok(None) => Err(Trouble::host(format!("{} was removed while it was made", own.shown()))),
            Err(why) => Err(unseen(place, &name, why)),
        }
    }

    /// Whether it is seen in this place.
    ///
    /// # Errors
    /// Host: what is there cannot be examined.
    pub fn is_seen_in(&self, place: &Place) -> Result<bool, Trouble> {
        // The name comes from another host.
        if !is_own_directory(self.name.as_bytes()) {
            return Ok(false);
        }
        let marker = marker_at(place, &self.name).map_err(|why| unseen(place, &self.name, why))?;
        Ok(marker.is_some_and(|marker| marker == self.marker))
    }
}

/// Digest of the marker of an entry; `None` where there is none.
fn marker_at(place: &Place, name: &str) -> rustix::io::Result<Option<String>> {
    let start =
        StartingPoint { directory: place.as_fd(), mounts: place.mounts(), resolution: Resolution::detect(place) };
    let path = Path::new(name).join(MARKER);
    match start.open(&path, OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty()) {
        Ok(file) => Ok(Some(blake3::hash(&content_of(&file)?).to_hex().to_string())),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV) => Ok(None),
        Err(why) => Err(why),
    }
}

fn unseen(place: &Place, name: &str, why: Errno) -> Trouble {
    Trouble::host(format!("{}/{name} cannot be examined: {}", place.shown(), error_in_words(why)))
}
