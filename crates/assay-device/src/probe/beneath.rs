//! Which disks serve a device or a file in the end, and what they have to do for one operation of it: a partition lies on
//! its disk, a volume on its disks, a loop device on the file system that holds its file. `docs/decisions/0080` says what
//! this is for.
//!
//! Everything is an upper bound. Where the kernel does not say how many operations become of one, the answer is unknown
//! and says why.

use crate::safety::{DevNum, Loop, Mount, Roots, all_loops, list_mounts, mount_of, read_attribute, read_number};
use std::path::Path;

/// The most operations on disks that become of one operation above them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FanOut {
    /// Reads for a read.
    pub reads_of_read: u64,
    /// Reads for a write: RAID reads old data and parity.
    pub reads_of_write: u64,
    /// Writes for a write.
    pub writes_of_write: u64,
}

impl FanOut {
    /// One operation for one.
    pub const ONE: FanOut = FanOut { reads_of_read: 1, reads_of_write: 0, writes_of_write: 1 };

    /// Writes go to this many disks.
    fn mirrored_on(copies: u64) -> FanOut {
        FanOut { writes_of_write: copies, ..FanOut::ONE }
    }

    /// A write changes this many blocks of parity besides its own, and each of them is read before.
    fn with_parity(blocks: u64) -> FanOut {
        FanOut { reads_of_write: 1 + blocks, writes_of_write: 1 + blocks, ..FanOut::ONE }
    }

    /// The fan-out of an operation that goes through this layer and then through `lower`.
    fn followed_by(self, lower: FanOut) -> FanOut {
        FanOut {
            reads_of_read: self.reads_of_read * lower.reads_of_read,
            reads_of_write: self.reads_of_write * lower.reads_of_read + self.writes_of_write * lower.reads_of_write,
            writes_of_write: self.writes_of_write * lower.writes_of_write,
        }
    }

    /// The larger of both, figure by figure.
    fn maximum_with(self, other: FanOut) -> FanOut {
        FanOut {
            reads_of_read: self.reads_of_read.max(other.reads_of_read),
            reads_of_write: self.reads_of_write.max(other.reads_of_write),
            writes_of_write: self.writes_of_write.max(other.writes_of_write),
        }
    }
}

/// Into how many pieces an operation may be divided on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pieces {
    /// The most bytes that stay together.
    pub bytes: u64,
    /// Whether an operation is also divided where it crosses a boundary between such pieces.
    pub aligned: bool,
}

impl Pieces {
    /// The most pieces of `operations` that have `bytes` together and at most `largest` bytes each.
    pub fn most_pieces(self, operations: u64, bytes: u64, largest: u64) -> u64 {
        let crossing = if self.aligned { operations } else { 0 };
        let divided = if largest > self.bytes { bytes / self.bytes.max(1) } else { 0 };
        operations.saturating_add(crossing).saturating_add(divided)
    }

    fn minimum_with(self, other: Pieces) -> Pieces {
        Pieces { bytes: self.bytes.min(other.bytes), aligned: self.aligned || other.aligned }
    }
}

/// The disks that serve something in the end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServingDisks {
    /// The disks: what is above them is compared with the sum of their counters.
    pub disks: Vec<DevNum>,
    /// The fan-out of an operation over all layers.
    pub fan_out: FanOut,
    /// Into what an operation is divided.
    pub pieces: Pieces,
    /// Whether a file system lies between, which writes a journal and other things of its own.
    pub through_file_system: bool,
    /// Whether the kernel's memory lies between: reads may not reach the disks, and writes reach them later.
    pub through_memory: bool,
}

/// The disks beneath something.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Beneath {
    /// There are none: it is a disk itself, or lies in memory.
    Nothing,
    /// These.
    Disks(ServingDisks),
    /// They are not known, or not what they do for one operation; the text says why.
    Unknown(String),
}

/// Deeper stacks than this are unknown.
const DEEPEST: u32 = 8;
/// A page of memory, of which one segment of a request may consist.
const PAGE: u64 = 4096;
/// Bytes of a request before a queue divides it: 256 pages (BIO_MAX_VECS, include/linux/bio.h), of which memory that begins
/// within a page uses one more.
const LONGEST: u64 = 255 * PAGE;

/// The disks beneath a block device.
pub fn beneath_device(roots: &Roots, device: DevNum) -> Beneath {
    answer_from_search(served_beneath(roots, device, 0))
}

/// The disks beneath a file or a directory with this resolved path.
pub fn beneath_file(roots: &Roots, real: &Path) -> Beneath {
    let table = list_mounts(&roots.proc.join("self/mountinfo")).unwrap_or_default();
    let Some(mount) = mount_of(&table, real) else {
        return Beneath::Unknown("its file system is not in the table of mounts".to_owned());
    };
    if let Some(bytes) = super::nfs::bytes_of_a_call(roots, mount) {
        let pieces = Pieces { bytes, aligned: true };
        let (disks, fan_out) = (vec![mount.device], FanOut::ONE);
        return Beneath::Disks(ServingDisks {
            disks,
            fan_out,
            pieces,
            through_file_system: true,
            through_memory: false,
        });
    }
    let disk = super::stat::disk_under_path(roots, real);
    answer_from_search(on_file_system(roots, &mount.kind, disk, 0))
}

/// How the requests of a block device are divided.
pub fn pieces_of(roots: &Roots, device: DevNum) -> Pieces {
    let longest = Pieces { bytes: LONGEST, aligned: false };
    let Some(dir) = disk_dir(roots, device) else { return longest };
    let queue = dir.join("queue");
    let of = |name: &str, unit: u64| read_number(&queue.join(name)).map(|n| n.saturating_mul(unit)).filter(|n| *n > 0);
    let bytes = of("max_sectors_kb", 1024).into_iter().chain(of("max_segments", PAGE)).min();
    let chunk = read_number(&dir.join("md/chunk_size")).filter(|n| *n > 0).or_else(|| of("chunk_sectors", 512));
    let whole = longest.minimum_with(Pieces { bytes: bytes.unwrap_or(LONGEST), aligned: false });
    chunk.map_or(whole, |bytes| whole.minimum_with(Pieces { bytes, aligned: true }))
}

/// Why others than this machine may use a disk, in words; `None` where nothing says that they may.
pub fn of_another_host(roots: &Roots, device: DevNum) -> Option<String> {
    if let Some(server) = super::nfs::mount_source(roots, device) {
        return Some(format!("{server} is a server: what other machines do on it is not known"));
    }
    let dir = disk_dir(roots, device)?;
    let (path, name) = (dir.to_string_lossy().into_owned(), super::counted::disk_name(roots, device)?);
    let transport = read_attribute(&dir.join("device/transport")).filter(|transport| transport != "pcie");
    let remote = ["nbd", "rbd", "drbd"].iter().any(|driver| name.starts_with(driver))
        || ["/session", "/rport-", "/nvme-fabrics/"].iter().any(|part| path.contains(part))
        || transport.is_some() && name.starts_with("nvme");
    remote.then(|| format!("{name} is reached over a network: what other hosts do on it is not known"))
}

fn answer_from_search(found: Result<Option<ServingDisks>, String>) -> Beneath {
    match found {
        Ok(None) => Beneath::Nothing,
        Ok(Some(served)) => Beneath::Disks(served),
        Err(why) => Beneath::Unknown(why),
    }
}

/// The directory of the disk that a device is, or is a part of.
pub(super) fn disk_dir(roots: &Roots, device: DevNum) -> Option<std::path::PathBuf> {
    let dir = roots.device_dir(device)?;
    if dir.join("partition").exists() { dir.parent().map(Path::to_path_buf) } else { Some(dir) }
}

/// One step down from a device.
struct Layer {
    devices: Vec<DevNum>,
    fan_out: FanOut,
}

impl Layer {
    fn on_one_device(device: DevNum) -> Layer {
        Layer { devices: vec![device], fan_out: FanOut::ONE }
    }
}

/// `None`: nothing lies beneath it.
fn served_beneath(roots: &Roots, device: DevNum, depth: u32) -> Result<Option<ServingDisks>, String> {
    if depth >= DEEPEST {
        return Err("too many devices lie on each other".to_owned());
    }
    let dir = roots.device_dir(device).ok_or_else(|| format!("the kernel describes no device {device}"))?;
    if dir.join("loop").exists() {
        return beneath_loop(roots, device, depth);
    }
    let Some(layer) = read_layer(roots, &dir)? else { return Ok(None) };
    let mut served: Option<ServingDisks> = None;
    for lower in &layer.devices {
        let found = lowest_devices(roots, *lower, depth + 1)?;
        served = Some(served.map_or(found.clone(), |known| combine_parts(known, found)));
    }
    let pieces = pieces_of(roots, device);
    Ok(served.map(|served| ServingDisks {
        fan_out: layer.fan_out.followed_by(served.fan_out),
        pieces: pieces.minimum_with(served.pieces),
        ..served
    }))
}

/// What serves a device: what lies beneath it, or the device itself where it is the lowest.
fn lowest_devices(roots: &Roots, device: DevNum, depth: u32) -> Result<ServingDisks, String> {
    Ok(served_beneath(roots, device, depth)?.unwrap_or_else(|| ServingDisks {
        disks: vec![device],
        fan_out: FanOut::ONE,
        pieces: pieces_of(roots, device),
        through_file_system: false,
        through_memory: false,
    }))
}

/// The devices that serve two devices which share the work of one above them.
fn combine_parts(one: ServingDisks, other: ServingDisks) -> ServingDisks {
    let mut disks = one.disks;
    disks.extend(other.disks);
    disks.sort();
    disks.dedup();
    ServingDisks {
        disks,
        fan_out: one.fan_out.maximum_with(other.fan_out),
        pieces: one.pieces.minimum_with(other.pieces),
        through_file_system: one.through_file_system || other.through_file_system,
        through_memory: one.through_memory || other.through_memory,
    }
}

/// The devices directly beneath the one that a directory describes.
fn read_layer(roots: &Roots, dir: &Path) -> Result<Option<Layer>, String> {
    if dir.join("partition").exists() {
        let disk = dir.parent().and_then(|disk| DevNum::parse_numbers(&read_attribute(&disk.join("dev"))?));
        return disk
            .map(|disk| Some(Layer::on_one_device(disk)))
            .ok_or_else(|| "the disk of a partition is not known".to_owned());
    }
    let slaves = dir.join("slaves");
    let names = names_of(&slaves)?;
    if names.is_empty() {
        return Ok(None);
    }
    let devices = names.iter().map(|name| DevNum::parse_numbers(&read_attribute(&slaves.join(name).join("dev"))?));
    let devices = devices.collect::<Option<Vec<_>>>();
    let devices = devices.ok_or_else(|| format!("what lies beneath {} cannot be read", name_of(dir)))?;
    let fan_out = if dir.join("md").exists() { of_raid(dir)? } else { of_mapper(roots, dir, &names)? };
    Ok(Some(Layer { devices, fan_out }))
}

/// What software RAID does for one operation (drivers/md, and `Documentation/admin-guide/md.rst` for the attributes).
fn of_raid(dir: &Path) -> Result<FanOut, String> {
    let md = dir.join("md");
    let level = read_attribute(&md.join("level")).unwrap_or_default();
    match level.as_str() {
        "linear" | "raid0" => Some(FanOut::ONE),
        "raid1" => read_number(&md.join("raid_disks")).map(FanOut::mirrored_on),
        // The low byte is the number of near copies, the next one that of far copies.
        "raid10" => read_number(&md.join("layout")).map(|layout| {
            let [near, far] = [layout & 0xff, (layout >> 8) & 0xff];
            FanOut::mirrored_on(near.max(1) * far.max(1))
        }),
        "raid4" | "raid5" => Some(FanOut::with_parity(1)),
        "raid6" => Some(FanOut::with_parity(2)),
        _ => None,
    }
    .ok_or_else(|| {
        format!("{} is RAID of the level \"{level}\", and what it does for a write is not known", name_of(dir))
    })
}

/// What the device mapper does: the kernel names the kind of a device only in the name that its tool gave it.
fn of_mapper(roots: &Roots, dir: &Path, lower: &[String]) -> Result<FanOut, String> {
    let uuid = read_attribute(&dir.join("dm/uuid")).unwrap_or_default();
    // Volumes of LVM that are more than a place on disks have sub-volumes beneath them, or a purpose in their own name.
    let mut names = lower
        .iter()
        .map(|name| read_attribute(&roots.sys.join("block").join(name).join("dm/name")).unwrap_or_default());
    let compound = names.any(|name| {
        ["_rimage_", "_rmeta_", "_mimage_", "_tdata", "_tmeta", "_cdata", "_corig", "-tpool", "-cow", "-real", "_vdata"]
            .iter()
            .any(|part| name.contains(part))
    });
    let plain = uuid.starts_with("LVM-") && !uuid.get(68..).is_some_and(|purpose| purpose.starts_with('-'));
    let known = uuid.starts_with("CRYPT-") || uuid.starts_with("mpath-") || uuid.starts_with("part") || plain;
    if known && !compound {
        Ok(FanOut::ONE)
    } else {
        Err(format!("what {} does for an operation is not known", name_of(dir)))
    }
}

fn beneath_loop(roots: &Roots, device: DevNum, depth: u32) -> Result<Option<ServingDisks>, String> {
    let unknown = || format!("what lies beneath the loop device {device} cannot be read");
    let bound = all_loops(roots)?.into_iter().find(|bound| bound.number == device).ok_or_else(unknown)?;
    let Loop { name, path, backing, .. } = bound;
    let backing = backing.ok_or_else(unknown)?;
    let direct = read_attribute(&roots.sys.join("block").join(&name).join("loop/dio")).as_deref() == Some("1");
    let served = match backing.block {
        Some(block) => Some(lowest_devices(roots, block, depth + 1)?),
        None => {
            let table = list_mounts(&roots.proc.join("self/mountinfo")).unwrap_or_default();
            let by_number = table.iter().find(|mount: &&Mount| mount.device == backing.device);
            let mount = by_number.or_else(|| mount_of(&table, Path::new(&path))).ok_or_else(unknown)?;
            let disk = crate::safety::disk_under(roots, Path::new(&path), backing.device);
            on_file_system(roots, &mount.kind, disk, depth + 1)?
        }
    };
    let pieces = pieces_of(roots, device);
    Ok(served.map(|served| ServingDisks {
        pieces: pieces.minimum_with(served.pieces),
        through_memory: served.through_memory || !direct,
        ..served
    }))
}

/// What serves a file on a file system of this kind that lies on `disk`.
fn on_file_system(roots: &Roots, kind: &str, disk: Option<DevNum>, depth: u32) -> Result<Option<ServingDisks>, String> {
    match kind {
        "tmpfs" | "ramfs" | "devtmpfs" | "rootfs" => Ok(None),
        "ext2" | "ext3" | "ext4" | "xfs" | "vfat" | "exfat" => {
            let disk = disk.ok_or_else(|| format!("the disk beneath its {kind} is not known"))?;
            let served = lowest_devices(roots, disk, depth + 1)?;
            Ok(Some(ServingDisks { through_file_system: true, ..served }))
        }
        "nfs" | "nfs4" | "cifs" | "smb3" | "9p" | "ceph" | "virtiofs" => {
            Err(format!("it is on {kind}, whose server may serve others too"))
        }
        kind if kind.starts_with("fuse") => Err(format!("it is on {kind}, which a program serves")),
        kind => Err(format!("it is on {kind}, which writes other blocks than it is given")),
    }
}

/// The names in a directory, which may be absent; an error is one that cannot be read.
pub(super) fn names_of(dir: &Path) -> Result<Vec<String>, String> {
    let unread = |e: std::io::Error| format!("{} cannot be read: {e}", dir.display());
    let entries = match std::fs::read_dir(dir) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(unread)?,
    };
    let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let mut names = names.collect::<Result<Vec<String>, std::io::Error>>().map_err(unread)?;
    names.sort();
    Ok(names)
}

fn name_of(dir: &Path) -> String {
    dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
