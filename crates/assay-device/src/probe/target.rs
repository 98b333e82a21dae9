//! The fingerprint of a target: which device it is and how the kernel drives it. It is read again during a run; a
//! difference means that the environment changed.

use super::stat::disk_under_path;
use crate::safety::{DevNum, Identity, Kind, Roots, kind_of, read_attribute, read_number};
use assay_base::file_systems::name_by_number;
use std::path::{Path, PathBuf};

/// The properties of a target, as far as they are known. For a file, the device fields are those of the disk under its
/// file system.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct TargetFingerprint {
    /// The resolved name.
    pub path: Option<PathBuf>,
    /// Size in bytes: of the device, or of the file.
    pub size: Option<u64>,
    /// The file system that contains a file; absent for a device.
    pub file_system: Option<String>,
    /// The kernel's name of the device: `nvme0n1p2`.
    pub device: Option<String>,
    /// Number and start of a partition: `2 from sector 2048`, in the kernel's sectors of 512 bytes.
    pub partition: Option<String>,
    /// Device number, `MAJ:MIN`.
    pub number: Option<String>,
    /// Model.
    pub model: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    /// World-wide identifier.
    pub wwid: Option<String>,
    /// Firmware revision.
    pub firmware: Option<String>,
    /// Disk sequence number.
    pub diskseq: Option<u64>,
    /// Logical block size in bytes.
    pub logical_block: Option<u64>,
    /// Physical block size in bytes.
    pub physical_block: Option<u64>,
    /// The active I/O scheduler.
    pub scheduler: Option<String>,
    /// Queue length.
    pub nr_requests: Option<u64>,
    /// `write back` or `write through`.
    pub write_cache: Option<String>,
    /// Whether the device supports forced unit access.
    pub fua: Option<bool>,
    /// Whether it is a rotating disk.
    pub rotational: Option<bool>,
    /// Speed of its PCI link, and width.
    pub pci_link: Option<String>,
    /// NUMA node it is attached to.
    pub numa_node: Option<u64>,
}

/// Reads the facts of a path, without opening it.
pub fn read_target(roots: &Roots, path: &Path) -> TargetFingerprint {
    let mut found = TargetFingerprint { path: path.canonicalize().ok(), ..TargetFingerprint::default() };
    if let Some(device) = disk_under_path(roots, path) {
        found.number = Some(device.to_string());
        if let Some(identity) = Identity::read_identity(roots, device) {
            describe_device(&mut found, identity);
        }
    }
    let stat = found.path.as_ref().and_then(|real| rustix::fs::stat(real).ok());
    if let Some(stat) = stat.filter(|stat| matches!(kind_of(stat), Kind::File(_))) {
        found.size = u64::try_from(stat.st_size).ok();
        found.file_system =
            rustix::fs::statfs(path).ok().and_then(|fs| name_by_number(fs.f_type as u64)).map(str::to_owned);
    }
    found
}

fn describe_device(found: &mut TargetFingerprint, identity: Identity) {
    let queue = identity.disk_dir.join("queue");
    found.logical_block = read_number(&queue.join("logical_block_size"));
    found.physical_block = read_number(&queue.join("physical_block_size"));
    found.scheduler = read_attribute(&queue.join("scheduler")).and_then(|text| bracketed_choice(&text));
    found.nr_requests = read_number(&queue.join("nr_requests"));
    found.write_cache = read_attribute(&queue.join("write_cache"));
    found.fua = queue_flag(&queue, "fua");
    found.rotational = queue_flag(&queue, "rotational");
    found.pci_link = pci_link(&identity.disk_dir);
    found.numa_node =
        ["device/numa_node", "device/device/numa_node"].iter().find_map(|n| read_number(&identity.disk_dir.join(n)));
    found.size = identity.size;
    found.device = Some(identity.name);
    found.partition = identity.partition.map(|(number, start)| format!("{number} from sector {start}"));
    found.model = identity.model;
    found.serial = identity.serial;
    found.wwid = identity.wwid;
    found.firmware = identity.firmware;
    found.diskseq = identity.diskseq;
}

/// The name of the largest request that a queue takes whole; larger ones are split.
pub const LARGEST_REQUEST: &str = "largest request in KiB";

/// How the kernel drives a disk, by name: settings that nobody may change during a measurement.
pub fn queue_settings(roots: &Roots, device: DevNum) -> Vec<(&'static str, String)> {
    let Some(identity) = Identity::read_identity(roots, device) else { return Vec::new() };
    let queue = identity.disk_dir.join("queue");
    let scheduler = read_attribute(&queue.join("scheduler")).and_then(|text| bracketed_choice(&text));
    let plain = [("queue length", "nr_requests"), ("write cache", "write_cache"), (LARGEST_REQUEST, "max_sectors_kb")];
    let plain = plain.into_iter().map(|(name, file)| (name, read_attribute(&queue.join(file))));
    std::iter::once(("scheduler", scheduler)).chain(plain).filter_map(|(name, value)| Some((name, value?))).collect()
}

/// The bracketed choice in `none [mq-deadline] kyber`; the only word where nothing is bracketed.
pub(super) fn bracketed_choice(text: &str) -> Option<String> {
    let bracketed = text.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    let is_one_word = !text.is_empty() && !text.contains(char::is_whitespace);
    bracketed.or(Some(text).filter(|_| is_one_word)).map(str::to_owned)
}

/// The link of the nearest bus device above the disk that has one.
fn pci_link(disk: &Path) -> Option<String> {
    let above = disk.ancestors().skip(1).take(8);
    above.into_iter().find_map(|dir| {
        let speed = read_attribute(&dir.join("current_link_speed"))?;
        let width = read_attribute(&dir.join("current_link_width"))?;
        Some(format!("{speed} x{width}"))
    })
}

/// A switch of a queue.
fn queue_flag(queue: &Path, name: &str) -> Option<bool> {
    read_number(&queue.join(name)).map(|n| n != 0)
}
