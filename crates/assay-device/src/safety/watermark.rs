//! What keeps a result from being a certificate although the run is allowed (rule S11): storage that depends on other
//! storage, and checks that a person overrode.

use super::identity::Identity;
use super::roots::{DevNum, Roots, names_if_any};
use super::rule::RuleId;
use assay_base::file_systems::name_by_number;
use std::fmt;

/// A reason why a result is NON-CERTIFIABLE.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Watermark {
    /// A loop device: it is based on another file system.
    Loop(String),
    /// Compressed memory.
    Zram(String),
    /// A disk that another host or program emulates.
    Virtual(String),
    /// A file system in memory.
    Memory(&'static str),
    /// A file system on another host.
    Network(&'static str),
    /// A file system in a user-space process.
    Fuse,
    /// The devices beneath it could not be found out.
    UnknownBacking,
    /// The file system refuses direct I/O: the page cache answers too.
    Buffered,
    /// A person asked for the page cache.
    PageCache,
    /// The log is written to the same disk.
    LogOnTarget,
    /// Not every process of the host could be seen.
    Container,
    /// Somebody has another partition of the same drive open: who, and which.
    Neighbour(String),
    /// Another run under the same consent uses the same device: which.
    SharedDevice(String),
    /// Another partition of the same disk is in use: which, and how.
    SharedDisk(String),
    /// Somebody has the target open, but only for reading: who, and what.
    Reader(String),
    /// A person overrode this rule.
    Overridden(RuleId),
}

impl fmt::Display for Watermark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Watermark::Loop(name) => write!(f, "{name} is a loop device"),
            Watermark::Zram(name) => write!(f, "{name} is compressed memory"),
            Watermark::Virtual(what) => write!(f, "{what} is a virtual disk"),
            Watermark::Memory(kind) => write!(f, "{kind} is a file system in memory"),
            Watermark::Network(kind) => write!(f, "{kind} is a network file system"),
            Watermark::Fuse => f.write_str("a FUSE file system"),
            Watermark::UnknownBacking => f.write_str("the disk beneath is unknown"),
            Watermark::Buffered => f.write_str("no direct I/O: the page cache answers too"),
            Watermark::PageCache => f.write_str(
                "the jobs ask for it: the kernel answers from memory what it has there, and a write is complete when memory has it",
            ),
            Watermark::LogOnTarget => f.write_str("the run log is on the same disk"),
            Watermark::Container => f.write_str("run in a container that sees only its own processes"),
            Watermark::Neighbour(who) => write!(f, "another load may share the drive: {who}"),
            Watermark::SharedDevice(run) => write!(f, "{run} uses it too, under the same consent"),
            Watermark::SharedDisk(what) | Watermark::Reader(what) => f.write_str(what),
            Watermark::Overridden(rule) => write!(f, "rule {rule} was overridden"),
        }
    }
}

impl Watermark {
    /// Whether it tells of somebody else at work on the target or its drive, which a person is told before the run.
    pub fn is_company(&self) -> bool {
        use Watermark::{Neighbour, Reader, SharedDevice, SharedDisk};
        matches!(self, Neighbour(_) | SharedDevice(_) | SharedDisk(_) | Reader(_))
    }

    /// The word that stands before it in a result.
    pub fn leading_word(&self) -> &'static str {
        match self {
            Watermark::PageCache => "PAGE CACHE",
            Watermark::SharedDevice(_) => "SHARED DEVICE",
            Watermark::SharedDisk(_) => "SHARED DISK",
            Watermark::Reader(_) => "READ BY OTHERS",
            _ => "NON-CERTIFIABLE",
        }
    }
}

/// The watermarks of a block device: its own, or for device-mapper and RAID those of everything beneath.
pub(super) fn of_device(roots: &Roots, device: DevNum) -> Vec<Watermark> {
    let mut found = Vec::new();
    collect_watermarks(roots, device, 0, &mut found);
    found.sort();
    found.dedup();
    found
}

/// Deeper stacks than this count as unknown.
const DEEPEST: u32 = 8;

fn collect_watermarks(roots: &Roots, device: DevNum, depth: u32, found: &mut Vec<Watermark>) {
    let Some(identity) = Identity::read_identity(roots, device).filter(|_| depth < DEEPEST) else {
        found.push(Watermark::UnknownBacking);
        return;
    };
    let dir = identity.disk_dir.join("slaves");
    let Ok(slaves) = names_if_any(&dir) else {
        found.push(Watermark::UnknownBacking);
        return;
    };
    if slaves.is_empty() {
        found.extend(of_disk_itself(&identity));
    }
    for slave in slaves {
        match super::roots::read_attribute(&dir.join(slave).join("dev")).and_then(|text| DevNum::parse_numbers(&text)) {
            Some(number) => collect_watermarks(roots, number, depth + 1, found),
            None => found.push(Watermark::UnknownBacking),
        }
    }
}

/// The watermark of a disk that is no real one, which is recognised by the driver's name, by the bus in the sysfs path,
/// and by the model that hypervisors report.
fn of_disk_itself(identity: &Identity) -> Option<Watermark> {
    let disk = identity.disk.clone();
    let path = identity.disk_dir.to_string_lossy();
    let model = identity.model.as_deref().unwrap_or("");
    let made_up = ["/virtual/", "/virtio", "/vbd-"].iter().any(|part| path.contains(part));
    let hypervisor = ["QEMU", "VBOX", "Virtual"].iter().any(|word| model.contains(word));
    if disk.starts_with("loop") {
        Some(Watermark::Loop(disk))
    } else if disk.starts_with("zram") {
        Some(Watermark::Zram(disk))
    } else if made_up || hypervisor {
        Some(Watermark::Virtual(disk))
    } else {
        None
    }
}

/// The watermark for a file system itself.
pub(super) fn of_file_system(magic: u64) -> Option<Watermark> {
    match name_by_number(magic)? {
        kind @ ("tmpfs" | "ramfs") => Some(Watermark::Memory(kind)),
        kind @ ("nfs" | "cifs" | "smb3" | "9p" | "ceph") => Some(Watermark::Network(kind)),
        "fuse" => Some(Watermark::Fuse),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_systems_that_are_on_no_disk_of_this_host_have_a_watermark() {
        for (magic, expected) in [
            (0xef53, None),
            (0x0102_1994, Some(Watermark::Memory("tmpfs"))),
            (0x8584_58f6, Some(Watermark::Memory("ramfs"))),
            (0x6969, Some(Watermark::Network("nfs"))),
            // A number may be extended by its sign.
            (0xffff_ffff_ff53_4d42, Some(Watermark::Network("cifs"))),
            (0xfe53_4d42, Some(Watermark::Network("smb3"))),
            (0x0102_1997, Some(Watermark::Network("9p"))),
            (0x00c3_6400, Some(Watermark::Network("ceph"))),
            (0x6573_5546, Some(Watermark::Fuse)),
            (0x1234, None),
        ] {
            assert_eq!(of_file_system(magic), expected, "{magic:#x}");
        }
    }
}
