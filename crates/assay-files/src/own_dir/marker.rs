//! The marker `ASSAYDIR`, by which a directory is known to be ours: a line of JSON with who made it and which directory
//! it is, and a line with its checksum. It is written before anything else is made, and removed after everything else.

use super::maker::Maker;
use serde::{Deserialize, Serialize};

/// The name of the marker.
pub const MARKER: &str = "ASSAYDIR";
/// No marker is longer.
pub(super) const LONGEST: usize = 4096;
/// How every marker begins.
const BEGINNING: &str = "{\"assay_directory\":";
/// The version of its text.
const VERSION: u32 = 1;

/// What a marker says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Marker {
    /// The version of the text.
    assay_directory: u32,
    /// The run for which the directory was made; the names in it follow from it.
    pub run: String,
    /// The host that made it.
    pub host: String,
    /// The boot of that host, by which it is known whether the number of the device still means the same.
    pub boot: String,
    /// The process that made it.
    pub process: u32,
    /// The user whose process it was.
    pub user: u32,
    /// The user to whom the file system says that the directory belongs; a server may have made it somebody else.
    pub owner: u32,
    /// The number of the directory's device.
    pub device: u64,
    /// The number by which its file system knows itself, which stays the same when some are mounted anew.
    pub file_system: u64,
    /// The directory's inode.
    pub inode: u64,
}

/// Which directory it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) device: u64,
    pub(super) file_system: u64,
    pub(super) inode: u64,
    pub(super) owner: u32,
}

/// What the content of a marker is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// A whole marker.
    Whole(Box<Marker>),
    /// The beginning of one, as a crash leaves it while it is written.
    Torn,
    /// Something else, or a marker of another version.
    Other,
}

impl Marker {
    /// The marker of a directory.
    pub(super) fn new(run: &str, maker: &Maker, identity: Identity) -> Marker {
        let Identity { device, file_system, inode, owner } = identity;
        let Maker { host, boot, process, user } = maker.clone();
        let run = run.to_owned();
        Marker { assay_directory: VERSION, run, host, boot, process, user, owner, device, file_system, inode }
    }

    /// The text as it is written.
    pub(super) fn text(&self) -> String {
        let line = serde_json::to_string(self).expect("numbers and texts are always JSON");
        let check = blake3::hash(line.as_bytes()).to_hex();
        format!("{line}\n{check}\n")
    }

    /// Reads what a file called like a marker holds.
    pub(super) fn read(bytes: &[u8]) -> Content {
        match Marker::parse(bytes) {
            Some(marker) => Content::Whole(Box::new(marker)),
            None if is_torn(bytes) => Content::Torn,
            None => Content::Other,
        }
    }

    fn parse(bytes: &[u8]) -> Option<Marker> {
        let (line, check) = std::str::from_utf8(bytes).ok()?.split_once('\n')?;
        let is_whole = check.strip_suffix('\n')? == blake3::hash(line.as_bytes()).to_hex().as_str();
        let marker: Marker = serde_json::from_str(line).ok().filter(|_| is_whole)?;
        (marker.assay_directory == VERSION).then_some(marker)
    }

    /// Why the marker is not that of the directory in which it lies; none if it is.
    pub(super) fn mismatch(&self, here: Identity, maker: &Maker) -> Option<String> {
        let same_boot = self.boot == maker.boot;
        let same_file_system = self.file_system != 0 && self.file_system == here.file_system;
        if !same_boot && self.host != maker.host {
            // Whether its lock is seen here is not known.
            return Some(format!("was made by the host {}: clean it there", shown_host(&self.host)));
        }
        if self.user != maker.user {
            return Some(format!("was made by the user {}: clean it as that user", self.user));
        }
        if self.owner != here.owner {
            return Some(format!("belongs to the user {}, and was made for the user {}", here.owner, self.owner));
        }
        if self.inode != here.inode {
            return Some("is a copy: its marker names another directory".to_owned());
        }
        // After a restart devices may have other numbers.
        if same_boot && self.device != here.device && !same_file_system {
            return Some("is a copy: its marker names another file system".to_owned());
        }
        None
    }
}

/// The name of a host for use in a line, which a marker of somebody else may have chosen.
pub(super) fn shown_host(host: &str) -> String {
    assay_base::text::one_line(host)
}

/// Whether this may be a marker that a crash cut off: as far as it goes it is the beginning of one, or it has its length
/// and no content, as after a loss of power.
fn is_torn(bytes: &[u8]) -> bool {
    let begins = bytes.starts_with(BEGINNING.as_bytes()) || BEGINNING.as_bytes().starts_with(bytes);
    let ends_early = !bytes.ends_with(b"\n") || bytes.iter().filter(|byte| **byte == b'\n').count() < 2;
    (begins && ends_early) || bytes.iter().all(|byte| *byte == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn maker() -> Maker {
        Maker { host: "here".into(), boot: "b1".into(), process: 7, user: 1000 }
    }

    fn identity() -> Identity {
        Identity { device: 5, file_system: 99, inode: 12, owner: 1000 }
    }

    fn marker() -> Marker {
        Marker::new("run \"1\"\n", &maker(), identity())
    }

    #[test]
    fn what_is_written_is_read_and_each_beginning_of_it_is_torn() {
        let text = marker().text();
        assert_eq!(Marker::read(text.as_bytes()), Content::Whole(Box::new(marker())));
        for end in 0..text.len() {
            assert_eq!(Marker::read(&text.as_bytes()[..end]), Content::Torn, "{end}");
        }
        assert_eq!(Marker::read(&vec![0; text.len()]), Content::Torn);
        assert!(text.len() < LONGEST);
    }

    #[test]
    fn a_marker_that_was_changed_is_none() {
        let text = marker().text();
        for at in 0..text.len() {
            let mut changed = text.clone().into_bytes();
            changed[at] ^= 1;
            assert!(!matches!(Marker::read(&changed), Content::Whole(_)), "{at}");
        }
        let other = Marker { assay_directory: 2, ..marker() }.text();
        for foreign in [other.as_str(), "notes\n", "{}\n", "\n", "{\"assay_directory\":\n\n"] {
            assert_eq!(Marker::read(foreign.as_bytes()), Content::Other, "{foreign}");
        }
    }

    #[test]
    fn a_marker_is_of_one_directory_of_one_user_on_one_host() {
        let (here, now) = (identity(), maker());
        let elsewhere = Maker { host: "there".into(), boot: "b2".into(), ..maker() };
        for (here, now, says) in [
            (here, now.clone(), None),
            (here, Maker { process: 8, ..now.clone() }, None),
            (Identity { device: 6, ..here }, now.clone(), None),
            (Identity { device: 6, file_system: 98, ..here }, now.clone(), Some("another file system")),
            (Identity { device: 6, file_system: 98, ..here }, Maker { boot: "b2".into(), ..now.clone() }, None),
            (here, Maker { host: "renamed".into(), ..now.clone() }, None),
            (here, elsewhere, Some("made by the host here")),
            (Identity { inode: 13, ..here }, now.clone(), Some("another directory")),
            (Identity { owner: 0, ..here }, now.clone(), Some("belongs to the user 0")),
            (here, Maker { user: 0, ..now }, Some("made by the user 1000")),
        ] {
            let found = marker().mismatch(here, &now);
            assert!(found.as_deref().is_none_or(|found| says.is_some_and(|says| found.contains(says))), "{found:?}");
            assert_eq!(found.is_some(), says.is_some(), "{says:?}");
        }
    }
}
