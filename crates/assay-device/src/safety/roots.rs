//! Where the kernel's information about the machine is read: `/proc`, `/sys` and `/dev`, given as a parameter so that
//! the rules for device-mapper, RAID, multipath and the root disk can be tested on small trees of files.
//!
//! What describes a device (its model, its serial number) is absent (`None`) where it is missing, unreadable or blank. What decides about
//! the use of a device (processes, holders, mounts, loop devices) is read by functions that return an error: a place that cannot be
//! looked at may hide a user.

use std::fmt;
use std::io;
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
    pub fn from_stat(dev: u64) -> DevNum {
        DevNum { major: rustix::fs::major(dev), minor: rustix::fs::minor(dev) }
    }

    /// Reads `MAJ:MIN`.
    pub fn parse_numbers(text: &str) -> Option<DevNum> {
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
    pub fn of_machine() -> Roots {
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
pub(crate) fn read_attribute(path: &Path) -> Option<String> {
    trimmed_text(&std::fs::read(path).ok()?)
}

fn trimmed_text(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!text.is_empty()).then(|| text.to_owned())
}

/// A whole number from an attribute.
pub(crate) fn read_number(path: &Path) -> Option<u64> {
    read_attribute(path)?.parse().ok()
}

/// Last part of a path as text; the kernel's block names are plain ASCII.
pub(super) fn name_of(path: &Path) -> String {
    path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Names in a directory, sorted.
///
/// # Errors
/// The directory cannot be read, or is missing; in words.
pub(crate) fn names_in(dir: &Path) -> Result<Vec<String>, String> {
    sorted_names(dir).map_err(|e| cannot_read(dir, &e))
}

/// The same, empty where there is no such directory: few devices have holders, few kernels have all file systems.
///
/// # Errors
/// The directory is there and cannot be read; in words.
pub(crate) fn names_if_any(dir: &Path) -> Result<Vec<String>, String> {
    match sorted_names(dir) {
        Err(e) if is_gone(&e) => Ok(Vec::new()),
        names => names.map_err(|e| cannot_read(dir, &e)),
    }
}

fn sorted_names(dir: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// The text of an attribute; `None` where there is none, or a blank one.
///
/// # Errors
/// The attribute is there and cannot be read; in words.
pub(crate) fn attribute_if_any(path: &Path) -> Result<Option<String>, String> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(trimmed_text(&bytes)),
        Err(e) if is_gone(&e) => Ok(None),
        Err(e) => Err(cannot_read(path, &e)),
    }
}

/// Whether a path exists.
///
/// # Errors
/// It cannot be found out; in words.
pub(crate) fn path_exists(path: &Path) -> Result<bool, String> {
    match path.try_exists() {
        // Its parent is an attribute.
        Err(e) if e.kind() == io::ErrorKind::NotADirectory => Ok(false),
        found => found.map_err(|e| cannot_read(path, &e)),
    }
}

/// The part of `/sys` or `/proc` that could not be read, and why.
pub(crate) fn cannot_read(path: &Path, e: &io::Error) -> String {
    format!("cannot read {}: {e}", path.display())
}

/// Whether an error says that a process has ended, that a device was removed, or that there never was one.
pub(crate) fn is_gone(e: &io::Error) -> bool {
    let gone = [rustix::io::Errno::SRCH, rustix::io::Errno::NODEV].map(|errno| Some(errno.raw_os_error()));
    e.kind() == io::ErrorKind::NotFound || gone.contains(&e.raw_os_error())
}
