//! Who uses a family of devices: mounts in any namespace, swap, holders, multi-device file systems (rule S4), and where
//! the system itself is (rule S5).
//!
//! The mount tables contain device numbers, but btrfs and stacked file systems report anonymous ones, so the printed
//! source is looked up too, and `/sys/fs/{ext4,xfs,btrfs,…}` names devices mounted in namespaces that are no longer
//! visible.

use super::family::{Family, Member};
use super::mounts::{Mount, list_mounts, mount_of, read_mounts, unescape_octal};
use super::processes::list_processes;
use super::roots::{DevNum, Roots, cannot_read, is_gone, name_of, names_if_any};
use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

/// A mount table with the path at which it was read.
type Table = (PathBuf, Vec<Mount>);

/// The mount tables of this process, of process 1, and one of every other mount namespace that processes are in. Where the namespace of a
/// process cannot be seen, its table counts as another one.
///
/// # Errors
/// A table or the list of processes cannot be read.
fn mount_tables(roots: &Roots) -> Result<Vec<Table>, String> {
    let mut found = Vec::new();
    let mut spaces = Vec::new();
    for pid in ["self", "1"] {
        let path = roots.proc.join(pid).join("mountinfo");
        let table = read_mounts(&path)?;
        spaces.extend(std::fs::read_link(roots.proc.join(pid).join("ns/mnt")));
        found.push((path, table));
    }
    for pid in list_processes(roots)?.others {
        match std::fs::read_link(roots.proc.join(pid.to_string()).join("ns/mnt")) {
            Ok(space) if spaces.contains(&space) => continue,
            Ok(space) => spaces.push(space),
            // It has ended.
            Err(e) if is_gone(&e) => continue,
            Err(_) => {}
        }
        found.extend(table_of(roots, pid)?);
    }
    Ok(found)
}

/// The mount table of a process; `None` where it has ended.
fn table_of(roots: &Roots, pid: u32) -> Result<Option<Table>, String> {
    let path = roots.proc.join(pid.to_string()).join("mountinfo");
    let ended = |e: &std::io::Error| is_gone(e) || e.raw_os_error() == Some(rustix::io::Errno::INVAL.raw_os_error());
    match list_mounts(&path) {
        Ok(table) => Ok(Some((path, table))),
        Err(e) if ended(&e) => Ok(None),
        Err(e) => Err(cannot_read(&path, &e)),
    }
}

/// Paths (as printed) of all active swap.
pub(super) fn active_swaps(roots: &Roots) -> Result<Vec<String>, String> {
    let path = roots.proc.join("swaps");
    let text = std::fs::read_to_string(&path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
    Ok(text.lines().skip(1).filter_map(|line| line.split_whitespace().next()).map(unescape_octal).collect())
}

/// A use of a device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct DeviceUse {
    /// The device, and how it is used: `sda1 is mounted`.
    what: String,
    /// The rest of the sentence: where, and where this was found.
    place: String,
}

impl DeviceUse {
    fn new(device: &str, how: &str, place: impl fmt::Display) -> DeviceUse {
        DeviceUse { what: format!("{device} {how}"), place: place.to_string() }
    }

    /// The use alone, without its place.
    pub(super) fn without_place(&self) -> String {
        self.what.clone()
    }
}

impl fmt::Display for DeviceUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.what, self.place)
    }
}

/// S4: every use of a member that was found.
///
/// # Errors
/// Something could not be examined; in words.
pub(super) fn uses_of_family(roots: &Roots, family: &Family, target: DevNum) -> Result<Vec<DeviceUse>, String> {
    let mut found = mounted_members(roots, family)?;
    for swap in active_swaps(roots)? {
        if let Some(member) = family.member_by_name(roots, &swap) {
            found.push(DeviceUse::new(&member.name, "is active swap", format!("({}/swaps)", roots.proc.display())));
        }
    }
    found.extend(known_to_file_systems(roots, family)?);
    for member in &family.near {
        found.extend(uses_by_holders(member)?);
    }
    found.extend(bound_loops(family, target)?);
    found.dedup();
    Ok(found)
}

/// Each mount of a member, once for each place.
fn mounted_members(roots: &Roots, family: &Family) -> Result<Vec<DeviceUse>, String> {
    let (mut found, mut known) = (Vec::new(), BTreeSet::new());
    for (path, table) in mount_tables(roots)? {
        for mount in table {
            let member = family.member_by_number(mount.device).or_else(|| family.member_by_name(roots, &mount.source));
            if let Some(member) = member.filter(|member| known.insert((member.number, mount.point.clone()))) {
                let place = format!("on {} ({})", mount.point.display(), path.display());
                found.push(DeviceUse::new(&member.name, "is mounted", place));
            }
        }
    }
    Ok(found)
}

/// Kernel directories whose entries are named after the block devices a file system runs on.
fn known_to_file_systems(roots: &Roots, family: &Family) -> Result<Vec<DeviceUse>, String> {
    let base = roots.sys.join("fs");
    let mut directories = ["ext4", "xfs", "f2fs", "nilfs2", "erofs"].map(|kind| base.join(kind)).to_vec();
    let btrfs = base.join("btrfs");
    directories.extend(names_if_any(&btrfs)?.into_iter().map(|id| btrfs.join(id).join("devices")));
    let mut found = Vec::new();
    for directory in directories {
        for name in names_if_any(&directory)? {
            if family.members.iter().any(|member| member.name == name) {
                let place = format!("({})", directory.join(&name).display());
                found.push(DeviceUse::new(&name, "carries a mounted file system", place));
            }
        }
    }
    Ok(found)
}

fn uses_by_holders(member: &Member) -> Result<Vec<DeviceUse>, String> {
    let dir = member.dir.join("holders");
    let uses = names_if_any(&dir)?.into_iter().map(|holder| {
        let place = format!("({})", dir.join(&holder).display());
        DeviceUse::new(&member.name, &format!("is part of {holder}"), place)
    });
    Ok(uses.collect())
}

/// A loop device on top of the target or of a close relative; a binding that cannot be read counts as one.
fn bound_loops(family: &Family, target: DevNum) -> Result<Vec<DeviceUse>, String> {
    let mut found = Vec::new();
    for bound in family.loops.iter().filter(|l| l.number != target) {
        let Some(backing) = bound.backing else {
            return Err(format!("the devices beneath {} cannot be found ({})", bound.name, bound.path));
        };
        let lower = family.near.iter().find(|m| Some(m.number) == backing.block);
        let how = format!("is the backing device of {}", bound.name);
        found.extend(lower.map(|m| DeviceUse::new(&m.name, &how, "(its loop status)")));
    }
    Ok(found)
}

/// Whether a directory, or what exists of its path, lies on a member.
pub(super) fn lies_on(roots: &Roots, family: &Family, dir: &Path) -> bool {
    let place = existing_prefix(dir);
    let tables = ["self", "1"].map(|pid| list_mounts(&roots.proc.join(pid).join("mountinfo")).unwrap_or_default());
    tables.iter().filter_map(|table| mount_of(table, &place)).any(|mount| {
        family.member_by_number(mount.device).or_else(|| family.member_by_name(roots, &mount.source)).is_some()
    })
}

/// S5: which part of the system is in this family. `claimed`: the kernel granted exclusive use of the target, which it
/// never does for a mounted file system; this decides where a file system does not name its devices (overlay, ZFS).
pub(super) fn system_on(
    roots: &Roots,
    family: &Family,
    log_dir: Option<&Path>,
    claimed: bool,
) -> Result<String, String> {
    let places = ["/", "/boot", "/boot/efi", "/usr"].map(PathBuf::from).into_iter();
    let places: Vec<PathBuf> = places.chain(log_dir.map(existing_prefix)).chain(program_path(roots)?).collect();
    let mut unnamed = None;
    for (path, table) in mount_tables(roots)?.into_iter().take(2) {
        for place in &places {
            let Some(mount) = mount_of(&table, place) else { continue };
            let member = family.member_by_number(mount.device).or_else(|| family.member_by_name(roots, &mount.source));
            if let Some(member) = member {
                return Err(format!("{} lies on {} ({})", place.display(), member.name, path.display()));
            }
            let hidden = mount.device.major == 0 && roots.in_dev(&mount.source).is_none();
            unnamed =
                unnamed.or_else(|| (hidden && !off_disk(&mount.kind)).then(|| (place.clone(), mount.kind.clone())));
        }
    }
    match unnamed {
        None => Ok(format!("{} places are elsewhere ({}/{{self,1}}/mountinfo)", places.len(), roots.proc.display())),
        Some((place, kind)) if claimed => Ok(format!(
            "{} is on {kind}, which names no device; the exclusive claim of S2 stands for it",
            place.display()
        )),
        Some((place, kind)) => {
            Err(format!("{} is on {kind}, which names no device, and the target could not be claimed", place.display()))
        }
    }
}

/// The path of this program; `None` where the kernel names none.
///
/// # Errors
/// It cannot be read; in words.
pub(super) fn program_path(roots: &Roots) -> Result<Option<PathBuf>, String> {
    let link = roots.proc.join("self/exe");
    match std::fs::read_link(&link) {
        Ok(program) => Ok(Some(program)),
        Err(e) if is_gone(&e) => Ok(None),
        Err(e) => Err(cannot_read(&link, &e)),
    }
}

/// File systems that are not on a local disk.
fn off_disk(kind: &str) -> bool {
    let kinds =
        ["tmpfs", "ramfs", "rootfs", "devtmpfs", "nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "proc", "sysfs"];
    kinds.contains(&kind)
}

/// The longest existing prefix of a path, with links resolved.
pub(super) fn existing_prefix(path: &Path) -> PathBuf {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    whole.ancestors().find_map(|part| part.canonicalize().ok()).unwrap_or(whole)
}

/// The disk that contains a file, found through the mount table where `stat` reports an anonymous number.
pub(crate) fn disk_under(roots: &Roots, real: &Path, device: DevNum) -> Option<DevNum> {
    if device.major != 0 && roots.device_dir(device).is_some() {
        return Some(device);
    }
    let table = list_mounts(&roots.proc.join("self/mountinfo")).ok()?;
    let mount = mount_of(&table, real)?;
    let node = roots.in_dev(&mount.source)?;
    super::family::block_number(&node).or_else(|| {
        let name = name_of(&node.canonicalize().ok()?);
        let text = super::roots::read_attribute(&roots.sys.join("class/block").join(name).join("dev"))?;
        DevNum::parse_numbers(&text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_of_a_path_that_exists_is_found() {
        let dir = tempfile::tempdir().unwrap().keep().canonicalize().unwrap();
        let here = std::path::absolute(".").unwrap().canonicalize().unwrap();
        for (path, expected) in [
            (dir.join("a/b"), dir.clone()),
            (dir.clone(), dir.clone()),
            (PathBuf::new(), here.clone()),
            ("no-such".into(), here),
        ] {
            assert_eq!(existing_prefix(&path), expected, "{}", path.display());
        }
        std::fs::remove_dir(dir).unwrap();
    }

    #[test]
    fn the_disk_under_a_file_is_the_one_that_the_kernel_names() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for name in ["proc/self", "dev", "sys/dev/block/8:16", "sys/dev/block/0:9", "sys/class/block/sdz"] {
            std::fs::create_dir_all(at(name)).unwrap();
        }
        std::fs::write(at("dev/sdz"), "").unwrap();
        std::fs::write(at("sys/class/block/sdz/dev"), "8:400").unwrap();
        std::fs::write(at("proc/self/mountinfo"), "1 0 0:5 / / rw - btrfs /dev/sdz rw\n").unwrap();
        let roots = Roots { proc: at("proc"), sys: at("sys"), dev: at("dev") };
        let number = |major, minor| DevNum { major, minor };
        for (of_file, disk) in [
            (number(8, 16), number(8, 16)),
            // Unknown to the kernel, and anonymous: the mount table tells.
            (number(8, 32), number(8, 400)),
            (number(0, 5), number(8, 400)),
            (number(0, 9), number(8, 400)),
        ] {
            assert_eq!(disk_under(&roots, Path::new("/file"), of_file), Some(disk), "{of_file}");
        }
    }
}
