//! Where the kernel's information about the machine is read: `/proc`, `/sys` and `/dev`, given as a parameter so that
//! the rules for device-mapper, RAID, multipath and the root disk can be tested on small trees of files.
//!
//! An attribute that is missing, unreadable or blank is absent (`None`), never an empty success.

use std::fmt;
use std::path::{Path, PathBuf};

/// A device number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DevNum {
    /// The number of the driver.
    pub major: u32,
    /// The device's number under that driver.
    pub minor: u32,
}

impl DevNum {
    /// Splits a number from `stat`.
    pub fn of(dev: u64) -> DevNum {
        DevNum { major: rustix::fs::major(dev), minor: rustix::fs::minor(dev) }
    }

    /// Reads `MAJ:MIN`.
    pub fn parse(text: &str) -> Option<DevNum> {
        let (major, minor) = text.trim().split_once(':')?;
        Some(DevNum { major: major.parse().ok()?, minor: minor.parse().ok()? })
    }
}

impl fmt::Display for DevNum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

/// The three trees in which everything is looked up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Roots {
    /// `/proc`.
    pub proc: PathBuf,
    /// `/sys`.
    pub sys: PathBuf,
    /// `/dev`.
    pub dev: PathBuf,
}

impl Roots {
    /// The machine that this program runs on.
    pub fn host() -> Roots {
        Roots { proc: "/proc".into(), sys: "/sys".into(), dev: "/dev".into() }
    }

    /// The directory that describes a block device; for a partition, below that of its disk. `None` when the kernel
    /// knows no such device.
    pub(crate) fn device_dir(&self, number: DevNum) -> Option<PathBuf> {
        self.sys.join(format!("dev/block/{number}")).canonicalize().ok()
    }

    /// The path in this tree for a path that the kernel printed as `/dev/…`.
    pub(crate) fn in_dev(&self, printed: &str) -> Option<PathBuf> {
        printed.strip_prefix("/dev/").map(|rest| self.dev.join(rest))
    }
}

/// The text of an attribute without surrounding white space.
pub(crate) fn attribute(path: &Path) -> Option<String> {
    let bytes = std::fs::read(path).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!text.is_empty()).then(|| text.to_owned())
}

/// A whole number from an attribute.
pub(crate) fn number(path: &Path) -> Option<u64> {
    attribute(path)?.parse().ok()
}

/// Last part of a path as text; the kernel's block names are plain ASCII.
pub(super) fn name_of(path: &Path) -> String {
    path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Names in a directory, sorted; empty when it cannot be read.
pub(crate) fn names_in(dir: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    let mut names: Vec<String> = entries.flatten().map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
