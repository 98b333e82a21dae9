//! The marker `ASSAYDIR`, by which a directory is known to be ours: a line of JSON with who made it and which directory
//! it is, and a line with its checksum. It is written before anything else is made, and removed after everything else.

use super::maker::Maker;
use super::torn::{self, VERSION};
use serde::{Deserialize, Serialize};

/// The name of the marker.
pub const MARKER: &str = "ASSAYDIR";
/// The most bytes of the name of a run.
pub const LONGEST_RUN_NAME: usize = 512;

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
    /// When the directory was made, in nanoseconds since 1970, where the file system keeps that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub born: Option<u64>,
}

/// Which directory it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) device: u64,
    pub(super) file_system: u64,
    pub(super) inode: u64,
    pub(super) owner: u32,
    pub(super) born: Option<u64>,
    pub(super) lasting: Lasting,
}

/// By what a directory is known again after its file system was mounted anew, or its host was started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lasting {
    /// By the number of its file system (`f_fsid`), which is of its UUID.
    FileSystem,
    /// By the moment at which it was made: the number of the file system is that of the device. A copy of the directory
    /// was made at another moment.
    Birth,
    /// By nothing: device and number are given anew at each mount.
    Nothing,
}

impl Lasting {
    /// That of a type of file systems, by its number (include/uapi/linux/magic.h).
    pub(super) fn of_file_system(number: u64) -> Lasting {
        match assay_base::file_systems::name_by_number(number) {
            // fs/ext4/super.c, fs/btrfs/super.c: of the UUID; fs/ceph/super.c: of the id of the cluster.
            Some("ext4" | "btrfs" | "ceph") => Lasting::FileSystem,
            // fs/xfs/xfs_super.c: of the device.
            Some("xfs") => Lasting::Birth,
            _ => Lasting::Nothing,
        }
    }
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
        let Identity { device, file_system, inode, owner, born, .. } = identity;
        let Maker { host, boot, process, user } = maker.clone();
        let run = run.to_owned();
        Marker { assay_directory: VERSION, run, host, boot, process, user, owner, device, file_system, inode, born }
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
            None if torn::is_torn(bytes) => Content::Torn,
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
        if !same_boot && self.host != maker.host {
            // Whether its lock is seen here is not known.
            return Some(format!("was made by the host {}: clean it there", shown_host(&self.host)));
        }
        if self.user != maker.user {
            return Some(format!("was made by the user {}: clean it as that user", self.user));
        }
        if self.owner != here.owner {
            return Some(format!(
                "belongs to the user {}, and was made for the user {}: give it back to him, or remove it by hand",
                here.owner, self.owner
            ));
        }
        if self.inode != here.inode {
            return Some(format!("is a copy: its marker names another directory; {BY_HAND}"));
        }
        self.other_file_system(here, same_boot)
    }

    /// Why the directory lies on another file system than the one on which it was made; none if it does not. Another one
    /// may have a directory with the same inode: the first one in a new ext4 always has the same.
    fn other_file_system(&self, here: Identity, same_boot: bool) -> Option<String> {
        let has_number = self.file_system != 0 && here.file_system != 0;
        let is_same = match here.lasting {
            Lasting::FileSystem if has_number => self.file_system == here.file_system,
            Lasting::Birth if self.born.is_some() => self.born == here.born,
            _ if !same_boot => {
                return Some(format!(
                    "cannot be told from a copy: it was made before this host was started, and its file system has no \
                     number that lasts; {BY_HAND}"
                ));
            }
            // Where devices are numbered anew at each mount, the file system may have a number at random.
            _ if has_number => self.file_system == here.file_system,
            _ => self.device == here.device,
        };
        if is_same { None } else { Some(format!("is a copy: its marker names another file system; {BY_HAND}")) }
    }
}

/// What to do with what may not be ours.
const BY_HAND: &str = "remove it by hand if nobody needs it";

/// The name of a host for use in a line, which a marker of somebody else may have chosen.
pub(super) fn shown_host(host: &str) -> String {
    assay_base::text::one_line(host)
}

#[cfg(test)]
mod tests {
    use super::super::torn::{LONGEST, SHORTEST};
    use super::*;

    fn maker() -> Maker {
        Maker { host: "here".into(), boot: "b1".into(), process: 7, user: 1000 }
    }

    fn identity() -> Identity {
        Identity { device: 5, file_system: 99, inode: 12, owner: 1000, born: Some(7), lasting: Lasting::FileSystem }
    }

    fn marker() -> Marker {
        Marker::new("run \"1\"\n", &maker(), identity())
    }

    #[test]
    fn what_is_written_is_read_and_no_marker_is_too_long_or_too_short() {
        let text = marker().text();
        assert_eq!(Marker::read(text.as_bytes()), Content::Whole(Box::new(marker())));
        let largest = u64::MAX;
        let identity = Identity {
            device: largest,
            file_system: largest,
            inode: largest,
            owner: u32::MAX,
            born: Some(largest),
            lasting: Lasting::Nothing,
        };
        let host = "\u{1}".repeat(64);
        let maker = Maker { host, boot: "b".repeat(36), process: u32::MAX, user: u32::MAX };
        let longest = Marker::new(&"\u{1}".repeat(LONGEST_RUN_NAME), &maker, identity).text();
        assert!(longest.len() <= LONGEST, "{}", longest.len());
        let nobody = Maker { host: String::new(), boot: String::new(), process: 0, user: 0 };
        let nothing = Identity { device: 0, file_system: 0, inode: 0, owner: 0, born: None, ..identity };
        let shortest = Marker::new("", &nobody, nothing).text();
        assert_eq!(shortest.len(), SHORTEST);
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
        let started_again = Maker { boot: "b2".into(), ..maker() };
        let other_number = Identity { file_system: 98, ..here };
        let at_birth = Identity { device: 6, file_system: 6, lasting: Lasting::Birth, ..here };
        let nothing = Identity { lasting: Lasting::Nothing, ..here };
        for (here, now, says) in [
            (here, now.clone(), None),
            (here, Maker { process: 8, ..now.clone() }, None),
            // The number of the device says nothing where the file system has one that lasts.
            (Identity { device: 6, ..here }, now.clone(), None),
            (Identity { device: 6, ..here }, started_again.clone(), None),
            (other_number, now.clone(), Some("another file system")),
            (other_number, started_again.clone(), Some("another file system")),
            (Identity { file_system: 0, ..here }, started_again.clone(), Some("cannot be told from a copy")),
            // On xfs the moment counts at which the directory was made.
            (at_birth, now.clone(), None),
            (at_birth, started_again.clone(), None),
            (Identity { born: Some(8), ..at_birth }, now.clone(), Some("another file system")),
            (Identity { born: None, ..at_birth }, started_again.clone(), Some("another file system")),
            // On tmpfs and overlay nothing lasts.
            (nothing, now.clone(), None),
            (Identity { file_system: 98, ..nothing }, now.clone(), Some("another file system")),
            (Identity { file_system: 0, ..nothing }, now.clone(), None),
            (Identity { device: 6, file_system: 0, ..nothing }, now.clone(), Some("another file system")),
            (nothing, started_again.clone(), Some("cannot be told from a copy")),
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
