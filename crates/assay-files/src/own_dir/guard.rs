//! How much room a workload needs, whether a file system has it, and whether somebody else uses up what must stay free.

use crate::trouble::Trouble;
use rustix::fd::AsFd;
use rustix::process::{Resource, getrlimit};

/// What stays free, as a share of what is free at the beginning: one twentieth (5 %).
const RESERVE: u64 = 20;
/// Each file and each directory takes up to one block more than its bytes. Network file systems call the size of a
/// request their block; no more than this is counted.
const LARGEST_BLOCK: u64 = 4096;
/// Files that this program has open itself: the log, the ends of pipes, the directories.
const OPEN_BY_US: u64 = 64;

/// What a workload wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wants {
    /// The most bytes that its files have at once: the tree, its growth and temporary copies.
    pub bytes: u64,
    /// The most files, directories and links that exist at once.
    pub files: u64,
    /// The most files that are open at once.
    pub open_files: u64,
}

/// What a file system and this process have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Free bytes for this user.
    pub bytes: u64,
    /// The size of a block.
    pub block: u64,
    /// Files that can still be made; none where the file system makes room for them as they come (btrfs).
    pub files: Option<u64>,
    /// The most files that this process may have open; none where there is no limit.
    pub open_files: Option<u64>,
}

impl Room {
    /// What the file system of something that is open has.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn around(descriptor: impl AsFd) -> rustix::io::Result<Room> {
        let facts = rustix::fs::fstatvfs(descriptor)?;
        Ok(Room {
            bytes: facts.f_bavail.saturating_mul(facts.f_frsize),
            block: facts.f_frsize.clamp(1, LARGEST_BLOCK),
            files: (facts.f_files != 0).then_some(facts.f_favail),
            open_files: getrlimit(Resource::Nofile).current,
        })
    }

    /// The bytes that a workload occupies here.
    fn occupied(&self, wants: Wants) -> u64 {
        wants.bytes.saturating_add(wants.files.saturating_mul(self.block))
    }

    /// Makes sure that a workload fits, and says what it must leave free.
    ///
    /// # Errors
    /// Refused: what does not fit, and what there is.
    pub fn reserve_for(&self, wants: Wants, place: &str) -> Result<Reserve, Trouble> {
        let lacks = |needed: String, there: String| {
            Trouble::refused(format!("{place}: the workload needs {needed}, and there is room for {there}"))
        };
        let reserve = Reserve { bytes: self.bytes / RESERVE, files: self.files.unwrap_or(0) / RESERVE };
        let (occupied, free) = (self.occupied(wants), self.bytes - reserve.bytes);
        if occupied > free {
            let needed = format!("{} bytes with its {} files and directories", occupied, wants.files);
            return Err(lacks(needed, format!("{free} (5 % of what is free stay free): make it smaller")));
        }
        if let Some(files) = self.files.map(|files| files - reserve.files).filter(|files| *files < wants.files) {
            let needed = format!("{} files and directories", wants.files);
            return Err(lacks(needed, format!("{files} (5 % of the free inodes stay free): make fewer")));
        }
        let open_files = wants.open_files.saturating_add(OPEN_BY_US);
        if let Some(most) = self.open_files.filter(|most| *most < open_files) {
            let needed = format!("{open_files} open files, {OPEN_BY_US} of them for this program itself");
            return Err(lacks(needed, format!("{most}: raise the limit with `ulimit -n {open_files}`")));
        }
        Ok(reserve)
    }
}

/// What must stay free while a workload runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reserve {
    /// Bytes.
    pub bytes: u64,
    /// Files; 0 where their number has no limit.
    pub files: u64,
}

/// The reserve was touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touched {
    /// What is free.
    pub free: Reserve,
    /// What must stay free.
    pub reserve: Reserve,
    /// Whether this run kept to its sum, so that somebody else did it.
    pub by_others: bool,
}

/// Looks at each second whether the reserve is still free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReserveWatch {
    reserve: Reserve,
    wants: Wants,
}

impl ReserveWatch {
    /// Watches the reserve of a workload.
    pub fn new(reserve: Reserve, wants: Wants) -> ReserveWatch {
        ReserveWatch { reserve, wants }
    }

    /// Compares what is free now with the reserve. `used` is what the run has now by its own account.
    pub fn observe(&self, room: Room, used: Wants) -> Option<Touched> {
        let ReserveWatch { reserve, wants } = *self;
        let lacks_files = room.files.is_some_and(|files| files < reserve.files);
        let by_others = used.bytes <= wants.bytes && used.files <= wants.files;
        let free = Reserve { bytes: room.bytes, files: room.files.unwrap_or(0) };
        (room.bytes < reserve.bytes || lacks_files).then_some(Touched { free, reserve, by_others })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: Room = Room { bytes: 1_000_000, block: 1000, files: Some(1000), open_files: Some(1024) };

    fn wants(bytes: u64, files: u64, open_files: u64) -> Wants {
        Wants { bytes, files, open_files }
    }

    #[test]
    fn a_workload_fits_to_the_last_byte_file_and_open_file() {
        let btrfs = Room { files: None, ..ROOM };
        let endless = Room { open_files: None, ..ROOM };
        for (room, wants, lacks) in [
            (ROOM, wants(950_000, 0, 960), None),
            (ROOM, wants(950_001, 0, 0), Some("950001 bytes")),
            (ROOM, wants(850_000, 100, 0), None),
            (ROOM, wants(850_001, 100, 0), Some("with its 100 files")),
            (Room { block: 1, ..ROOM }, wants(0, 950, 0), None),
            (Room { block: 1, ..ROOM }, wants(0, 951, 0), Some("room for 950")),
            (Room { block: 1, ..btrfs }, wants(0, 949_999, 0), None),
            (ROOM, wants(0, 0, 961), Some("ulimit -n 1025")),
            (endless, wants(0, 0, u64::MAX), None),
            (ROOM, wants(u64::MAX, u64::MAX, 0), Some("bytes")),
            (Room { bytes: 0, files: Some(0), ..ROOM }, wants(0, 0, 0), None),
        ] {
            let answer = room.reserve_for(wants, "/mnt");
            let said = answer.as_ref().err().map(ToString::to_string);
            assert_eq!(said.is_some(), lacks.is_some(), "{wants:?} {said:?}");
            assert!(said.is_none_or(|said| lacks.is_some_and(|lacks| said.contains(lacks))), "{wants:?} {answer:?}");
        }
    }

    #[test]
    fn whoever_uses_up_the_reserve_is_told_from_us() {
        let wanted = wants(100_000, 100, 0);
        let watch = ReserveWatch::new(ROOM.reserve_for(wanted, "").unwrap(), wanted);
        let (low, few) = (Room { bytes: 49_999, ..ROOM }, Room { files: Some(49), ..ROOM });
        for (room, used, expected) in [
            (ROOM, wanted, None),
            (Room { bytes: 50_000, files: Some(50), ..ROOM }, wanted, None),
            (Room { files: None, ..ROOM }, wanted, None),
            (low, wanted, Some(true)),
            (few, wanted, Some(true)),
            (low, wants(100_001, 0, 0), Some(false)),
            (few, wants(0, 101, 0), Some(false)),
        ] {
            assert_eq!(watch.observe(room, used).map(|touched| touched.by_others), expected, "{room:?} {used:?}");
        }
    }

    #[test]
    fn what_statvfs_says_is_what_there_is() {
        let proc = Room::around(std::fs::File::open("/proc").unwrap()).unwrap();
        assert_eq!((proc.bytes, proc.files), (0, None));
        let here = Room::around(std::fs::File::open("/").unwrap()).unwrap();
        assert!(here.block > 0 && here.block <= LARGEST_BLOCK && here.bytes > 0, "{here:?}");
        assert_eq!(here.open_files, getrlimit(Resource::Nofile).current);
    }
}
