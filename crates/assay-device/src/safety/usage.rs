//! Who uses a family of devices: mounts in any namespace, swap, holders, multi-device file systems (rule S4), and where
//! the system itself is (rule S5).
//!
//! The mount tables contain device numbers, but btrfs and stacked file systems report anonymous ones, so the printed
//! source is looked up too, and `/sys/fs/{ext4,xfs,btrfs,…}` names devices mounted in namespaces that are no longer
//! visible.

use super::family::{Family, Member};
use super::roots::{DevNum, Roots, name_of, names_in};
use std::path::{Path, PathBuf};

/// One line of a mount table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Mount {
    /// Device number; major 0 when the file system has no single device.
    pub device: DevNum,
    /// Where it is mounted.
    pub point: PathBuf,
    /// File system type.
    pub kind: String,
    /// The source as printed.
    pub source: String,
}

/// Reads a mount table (proc(5), `mountinfo`).
pub(crate) fn mounts(path: &Path) -> std::io::Result<Vec<Mount>> {
    let bytes = std::fs::read(path)?;
    Ok(String::from_utf8_lossy(&bytes).lines().filter_map(parse_mount).collect())
}

fn parse_mount(line: &str) -> Option<Mount> {
    let (left, right) = line.split_once(" - ")?;
    let left: Vec<&str> = left.split(' ').collect();
    let mut right = right.split(' ');
    Some(Mount {
        device: DevNum::parse(left.get(2)?)?,
        point: unescape(left.get(4)?).into(),
        kind: right.next()?.to_owned(),
        source: unescape(right.next()?),
    })
}

/// Undoes the kernel's octal escapes (`\040` for a blank).
fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let octal = (first == b'\\').then(|| tail.get(..3)).flatten().and_then(|d| std::str::from_utf8(d).ok());
        match octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => (bytes.push(byte), rest = &tail[3..]).1,
            None => (bytes.push(first), rest = tail).1,
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The mount tables of this process, of process 1, and one of every other mount namespace that can be seen.
fn tables(roots: &Roots) -> Result<Vec<(PathBuf, Vec<Mount>)>, String> {
    let mut found = Vec::new();
    let mut spaces = Vec::new();
    for pid in ["self".to_owned(), "1".to_owned()] {
        let path = roots.proc.join(&pid).join("mountinfo");
        let table = mounts(&path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
        spaces.extend(std::fs::read_link(roots.proc.join(&pid).join("ns/mnt")));
        found.push((path, table));
    }
    for pid in names_in(&roots.proc).into_iter().filter(|name| name.parse::<u32>().is_ok()) {
        let Ok(space) = std::fs::read_link(roots.proc.join(&pid).join("ns/mnt")) else { continue };
        if !spaces.contains(&space) {
            spaces.push(space);
            let path = roots.proc.join(&pid).join("mountinfo");
            found.extend(mounts(&path).ok().map(|table| (path, table)));
        }
    }
    Ok(found)
}

/// Paths (as printed) of all active swap.
pub(super) fn swaps(roots: &Roots) -> Result<Vec<String>, String> {
    let path = roots.proc.join("swaps");
    let text = std::fs::read_to_string(&path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
    Ok(text.lines().skip(1).filter_map(|line| line.split_whitespace().next()).map(unescape).collect())
}

/// S4: every use of a member that was found. An error is something that could not be examined.
pub(super) fn uses(roots: &Roots, family: &Family, target: DevNum) -> Result<Vec<String>, String> {
    let mut found = mounted(roots, family)?;
    for swap in swaps(roots)? {
        if let Some(member) = family.named(roots, &swap) {
            found.push(format!("{} is active swap ({}/swaps)", member.name, roots.proc.display()));
        }
    }
    found.extend(known_to_file_systems(roots, family));
    found.extend(family.near.iter().flat_map(holders));
    found.extend(bound_loops(family, target)?);
    found.dedup();
    Ok(found)
}

fn mounted(roots: &Roots, family: &Family) -> Result<Vec<String>, String> {
    let mut found: Vec<String> = Vec::new();
    for (path, table) in tables(roots)? {
        for mount in table {
            let member = family.member(mount.device).or_else(|| family.named(roots, &mount.source));
            let known = |name: &str| {
                found.iter().any(|f| f.starts_with(&format!("{name} is mounted on {} ", mount.point.display())))
            };
            if let Some(member) = member.filter(|m| !known(&m.name)) {
                found.push(format!("{} is mounted on {} ({})", member.name, mount.point.display(), path.display()));
            }
        }
    }
    Ok(found)
}

/// Kernel directories whose entries are named after the block devices a file system runs on.
fn known_to_file_systems(roots: &Roots, family: &Family) -> Vec<String> {
    let base = roots.sys.join("fs");
    let plain = ["ext4", "xfs", "f2fs", "nilfs2", "erofs"].map(|kind| base.join(kind));
    let btrfs = names_in(&base.join("btrfs")).into_iter().map(|id| base.join("btrfs").join(id).join("devices"));
    let listed = plain.into_iter().chain(btrfs).flat_map(|dir| {
        let names = names_in(&dir);
        names.into_iter().map(move |name| (dir.clone(), name))
    });
    let is_member = |name: &str| family.members.iter().any(|m| m.name == name);
    listed
        .filter(|(_, name)| is_member(name))
        .map(|(dir, name)| format!("{name} carries a mounted file system ({})", dir.join(&name).display()))
        .collect()
}

fn holders(member: &Member) -> Vec<String> {
    let dir = member.dir.join("holders");
    let text = |holder: String| format!("{} is part of {holder} ({})", member.name, dir.join(&holder).display());
    names_in(&dir).into_iter().map(text).collect()
}

/// A loop device on top of the target or of a close relative; a binding that cannot be read counts as one.
fn bound_loops(family: &Family, target: DevNum) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    for bound in family.loops.iter().filter(|l| l.number != target) {
        let Some(backing) = bound.backing else {
            return Err(format!("the devices beneath {} cannot be found ({})", bound.name, bound.path));
        };
        let lower = family.near.iter().find(|m| Some(m.number) == backing.block);
        found.extend(lower.map(|m| format!("{} is the backing device of {} (its loop status)", m.name, bound.name)));
    }
    Ok(found)
}

/// The mount whose mount point is the longest prefix of `path`.
pub(crate) fn mount_of<'a>(table: &'a [Mount], path: &Path) -> Option<&'a Mount> {
    let covering = table.iter().filter(|m| path.starts_with(&m.point));
    covering.max_by_key(|m| m.point.components().count())
}

/// S5: which part of the system is in this family. `claimed`: the kernel granted exclusive use of the target, which it
/// never does for a mounted file system; this decides where a file system does not name its devices (overlay, ZFS).
pub(super) fn system_on(
    roots: &Roots,
    family: &Family,
    log_dir: Option<&Path>,
    claimed: bool,
) -> Result<String, String> {
    let program = std::fs::read_link(roots.proc.join("self/exe")).ok();
    let places = ["/", "/boot", "/boot/efi", "/usr"].map(PathBuf::from).into_iter();
    let places: Vec<PathBuf> = places.chain(log_dir.map(existing)).chain(program).collect();
    let mut unnamed = None;
    for (path, table) in tables(roots)?.into_iter().take(2) {
        for place in &places {
            let Some(mount) = mount_of(&table, place) else { continue };
            let member = family.member(mount.device).or_else(|| family.named(roots, &mount.source));
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

/// File systems that are not on a local disk.
fn off_disk(kind: &str) -> bool {
    let kinds =
        ["tmpfs", "ramfs", "rootfs", "devtmpfs", "nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "proc", "sysfs"];
    kinds.contains(&kind)
}

/// The longest existing prefix of a path, with links resolved.
pub(super) fn existing(path: &Path) -> PathBuf {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    whole.ancestors().find_map(|part| part.canonicalize().ok()).unwrap_or(whole)
}

/// The disk that contains a file, found through the mount table where `stat` reports an anonymous number.
pub(crate) fn disk_under(roots: &Roots, real: &Path, device: DevNum) -> Option<DevNum> {
    if device.major != 0 && roots.device_dir(device).is_some() {
        return Some(device);
    }
    let table = mounts(&roots.proc.join("self/mountinfo")).ok()?;
    let mount = mount_of(&table, real)?;
    let node = roots.in_dev(&mount.source)?;
    super::family::block_number(&node).or_else(|| {
        let name = name_of(&node.canonicalize().ok()?);
        let text = super::roots::attribute(&roots.sys.join("class/block").join(name).join("dev"))?;
        DevNum::parse(&text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_lines_read_back() {
        let line = r"36 35 98:0 /sub /mnt\040two rw,noatime shared:1 - ext4 /dev/sdb1 rw,errors=continue";
        let mount = parse_mount(line).unwrap();
        assert_eq!(mount.device, DevNum { major: 98, minor: 0 });
        assert_eq!(mount.point, Path::new("/mnt two"));
        assert_eq!((mount.kind.as_str(), mount.source.as_str()), ("ext4", "/dev/sdb1"));
        for bad in ["", "36 35", "36 35 x:0 / /mnt rw - ext4 a", "36 35 1:0 / /mnt rw ext4 a"] {
            assert_eq!(parse_mount(bad), None, "{bad}");
        }
    }

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
            assert_eq!(existing(&path), expected, "{}", path.display());
        }
        std::fs::remove_dir(dir).unwrap();
    }

    #[test]
    fn the_longest_mount_point_covers_a_path() {
        let mount = |point: &str| Mount {
            device: DevNum { major: 1, minor: 1 },
            point: point.into(),
            kind: String::new(),
            source: String::new(),
        };
        let table = [mount("/"), mount("/var"), mount("/var/log"), mount("/va")];
        for (path, point) in [("/var/log/x", "/var/log"), ("/var/lib", "/var"), ("/vast", "/"), ("/", "/")] {
            assert_eq!(mount_of(&table, Path::new(path)).unwrap().point, Path::new(point), "{path}");
        }
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
