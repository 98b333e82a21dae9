//! The family of a device: its disk, every partition of it, everything built on top (holders) and everything below
//! (slaves, the backing device of a loop), and so on from each of these. What harms one member harms them all.

use super::kernel::{LoopBacking, loop_backing};
use super::roots::{
    DevNum, Roots, attribute_if_any, cannot_read, name_of, names_if_any, names_in, path_exists, read_attribute,
};
use rustix::fs::{Mode, OFlags};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// One block device of a family.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Member {
    /// Device number.
    pub number: DevNum,
    /// The kernel's name.
    pub name: String,
    /// Its sysfs directory.
    pub dir: PathBuf,
}

/// The file or device that a loop device is bound to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Loop {
    /// The loop device.
    pub name: String,
    /// Its number.
    pub number: DevNum,
    /// The path sysfs prints.
    pub path: String,
    /// The backing as reported by the kernel (or, where that fails, found by the path). `None`: unknown.
    pub backing: Option<LoopBacking>,
}

impl Loop {
    /// The block device to which it is bound, if it is known and one.
    fn backing_device(&self) -> Option<DevNum> {
        self.backing?.block
    }
}

/// All bound loop devices.
///
/// # Errors
/// The devices of the machine cannot be listed.
pub(crate) fn all_loops(roots: &Roots) -> Result<Vec<Loop>, String> {
    let block = roots.sys.join("block");
    let mut found = Vec::new();
    for name in names_in(&block)?.into_iter().filter(|name| name.starts_with("loop")) {
        found.extend(bound_loop(roots, &block.join(&name), name)?);
    }
    Ok(found)
}

/// A loop device, if it is bound. One whose path the kernel cannot print, because it is too long, is bound as well.
fn bound_loop(roots: &Roots, dir: &Path, name: String) -> Result<Option<Loop>, String> {
    let path = match attribute_if_any(&dir.join("loop/backing_file")) {
        Ok(None) => return Ok(None),
        Ok(Some(path)) => path,
        Err(why) => why,
    };
    // Without a number it was removed meanwhile.
    let Some(text) = attribute_if_any(&dir.join("dev"))? else { return Ok(None) };
    let number = DevNum::parse_numbers(&text)
        .ok_or_else(|| format!("\"{text}\" in {} is no number", dir.join("dev").display()))?;
    let backing = ask_loop(roots, &name, number).or_else(|| look_at(roots, &path));
    Ok(Some(Loop { name, number, path, backing }))
}

/// The ioctl, on a node that is verified to be this device.
#[allow(clippy::disallowed_methods, reason = "a device is asked what it is, for reading")]
fn ask_loop(roots: &Roots, name: &str, number: DevNum) -> Option<LoopBacking> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let fd = rustix::fs::open(roots.dev.join(name), flags, Mode::empty()).ok()?;
    let stat = rustix::fs::fstat(&fd).ok()?;
    let same = DevNum::from_stat(stat.st_rdev) == number;
    same.then(|| loop_backing(&fd).ok()).flatten()
}

/// The printed path, where the ioctl was refused. A node of `/dev` that is not a block device in this tree is looked up
/// by name.
fn look_at(roots: &Roots, printed: &str) -> Option<LoopBacking> {
    let node = roots.in_dev(printed);
    let path = node.clone().unwrap_or_else(|| PathBuf::from(printed));
    let meta = std::fs::metadata(&path).ok()?;
    let block = match (block_number(&path), node) {
        (Some(number), _) => Some(number),
        (None, Some(node)) => Some(number_by_name(roots, &node)?),
        (None, None) => None,
    };
    Some(LoopBacking { device: DevNum::from_stat(meta.dev()), inode: meta.ino(), block })
}

/// The members of one device's family and the loop devices that matter to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Family {
    /// The device itself, its disk, its siblings, and everything above and below; sorted.
    pub members: Vec<Member>,
    /// The device itself and what directly shares its medium: its disk and that disk's partitions.
    pub near: Vec<Member>,
    /// Every bound loop device of the machine.
    pub loops: Vec<Loop>,
}

impl Family {
    /// Collects the family.
    ///
    /// # Errors
    /// Sysfs does not know the device, or a part of it cannot be read; in words.
    pub(super) fn read_family(roots: &Roots, device: DevNum) -> Result<Family, String> {
        let sys = roots.sys.display();
        let missing = || format!("{sys}/dev/block/{device} is missing: the devices above and below it are unknown");
        let dir = roots.device_dir(device).ok_or_else(missing)?;
        let loops = all_loops(roots)?;
        let mut family = Family { members: Vec::new(), near: Vec::new(), loops };
        family.near = with_partitions(&disk_of(&dir)?)?;
        let mut todo = family.near.clone();
        while let Some(member) = todo.pop() {
            if family.members.contains(&member) {
                continue;
            }
            todo.extend(family.linked_members(roots, &member)?);
            family.members.push(member);
        }
        family.members.sort();
        Ok(family)
    }

    fn linked_members(&self, roots: &Roots, member: &Member) -> Result<Vec<Member>, String> {
        let mut linked = Vec::new();
        for dir in self.dirs_above(roots, member)?.into_iter().chain(self.dirs_beneath(roots, member)?) {
            linked.extend(with_partitions(&disk_of(&dir)?)?);
        }
        Ok(linked)
    }

    /// The directories of devices that are built on a member: its holders, and loop devices bound to it.
    fn dirs_above(&self, roots: &Roots, member: &Member) -> Result<Vec<PathBuf>, String> {
        let bound = self.loops.iter().filter(|bound| bound.backing_device() == Some(member.number));
        let mut dirs = leading_to(&member.dir.join("holders"))?;
        // One without a directory was removed meanwhile.
        dirs.extend(bound.filter_map(|bound| roots.device_dir(bound.number)));
        Ok(dirs)
    }

    /// The directories of the devices that a member is built on: its slaves, or the device to which it is bound.
    fn dirs_beneath(&self, roots: &Roots, member: &Member) -> Result<Vec<PathBuf>, String> {
        let mut dirs = leading_to(&member.dir.join("slaves"))?;
        for bound in self.loops.iter().filter(|bound| bound.number == member.number) {
            if let Some(lower) = bound.backing_device() {
                let unknown = || format!("{lower}, beneath {}, is not in {}", bound.name, roots.sys.display());
                dirs.push(roots.device_dir(lower).ok_or_else(unknown)?);
            }
        }
        Ok(dirs)
    }

    /// The members that are built on a member.
    ///
    /// # Errors
    /// Sysfs cannot be read; in words.
    pub(super) fn members_above(&self, roots: &Roots, member: &Member) -> Result<Vec<&Member>, String> {
        Ok(self.members_at(&self.dirs_above(roots, member)?))
    }

    /// The members that a member is built on.
    ///
    /// # Errors
    /// Sysfs cannot be read; in words.
    pub(super) fn members_beneath(&self, roots: &Roots, member: &Member) -> Result<Vec<&Member>, String> {
        Ok(self.members_at(&self.dirs_beneath(roots, member)?))
    }

    fn members_at(&self, dirs: &[PathBuf]) -> Vec<&Member> {
        self.members.iter().filter(|member| dirs.contains(&member.dir)).collect()
    }

    /// The disk of a member; a disk is its own.
    ///
    /// # Errors
    /// Sysfs cannot be read, or shows no such disk; in words.
    pub(super) fn disk_of_member(&self, member: &Member) -> Result<&Member, String> {
        let dir = disk_of(&member.dir)?;
        let disk = self.members.iter().find(|other| other.dir == dir);
        disk.ok_or_else(|| format!("the disk of {} is unknown ({})", member.name, dir.display()))
    }

    /// The partitions of a member; none where it is a partition itself.
    ///
    /// # Errors
    /// Sysfs cannot be read; in words.
    pub(super) fn partitions_of(&self, disk: &Member) -> Result<Vec<&Member>, String> {
        let mut found = Vec::new();
        for member in self.members.iter().filter(|member| member.dir.parent() == Some(disk.dir.as_path())) {
            if is_partition(member)? {
                found.push(member);
            }
        }
        Ok(found)
    }

    /// The disk of `device`, where it is a partition.
    pub(super) fn disk_of_partition(&self, device: DevNum) -> Option<DevNum> {
        let disk = self.disk_of_member(self.member_by_number(device)?).ok()?;
        (disk.number != device).then_some(disk.number)
    }

    /// The member with this number.
    pub(super) fn member_by_number(&self, number: DevNum) -> Option<&Member> {
        self.members.iter().find(|m| m.number == number)
    }

    /// The member that a printed device path of the kernel means: by its number when the node exists, otherwise by its
    /// name.
    pub(super) fn member_by_name(&self, roots: &Roots, printed: &str) -> Option<&Member> {
        let node = roots.in_dev(printed)?;
        if let Some(number) = block_number(&node) {
            return self.member_by_number(number);
        }
        let real = node.canonicalize().unwrap_or(node);
        let name = name_of(&real);
        self.members.iter().find(|m| m.name == name || read_attribute(&m.dir.join("dm/name")).as_deref() == Some(&name))
    }
}

/// The number of a block node; `None` when it is not one.
pub(super) fn block_number(node: &Path) -> Option<DevNum> {
    let meta = std::fs::metadata(node).ok()?;
    let block = rustix::fs::FileType::from_raw_mode(meta.mode()) == rustix::fs::FileType::BlockDevice;
    block.then(|| DevNum::from_stat(meta.rdev()))
}

/// Whether a member is a partition.
///
/// # Errors
/// It cannot be found out; in words.
pub(super) fn is_partition(member: &Member) -> Result<bool, String> {
    path_exists(&member.dir.join("partition"))
}

/// The directories to which the links in a directory lead.
fn leading_to(links: &Path) -> Result<Vec<PathBuf>, String> {
    let mut dirs = Vec::new();
    for name in names_if_any(links)? {
        let link = links.join(name);
        dirs.push(link.canonicalize().map_err(|e| cannot_read(&link, &e))?);
    }
    Ok(dirs)
}

fn disk_of(dir: &Path) -> Result<PathBuf, String> {
    match dir.parent() {
        Some(parent) if path_exists(&dir.join("partition"))? => Ok(parent.to_path_buf()),
        _ => Ok(dir.to_path_buf()),
    }
}

/// The device that a directory of sysfs describes; `None` where it has no number, as a hidden path of a multipath device.
fn member_at(dir: &Path) -> Result<Option<Member>, String> {
    let Some(text) = attribute_if_any(&dir.join("dev"))? else { return Ok(None) };
    let number = DevNum::parse_numbers(&text)
        .ok_or_else(|| format!("\"{text}\" in {} is no number", dir.join("dev").display()))?;
    Ok(Some(Member { number, name: name_of(dir), dir: dir.to_path_buf() }))
}

/// A disk and its partitions.
fn with_partitions(disk: &Path) -> Result<Vec<Member>, String> {
    let mut found: Vec<Member> = member_at(disk)?.into_iter().collect();
    for name in names_in(disk)? {
        let dir = disk.join(name);
        if path_exists(&dir.join("partition"))? {
            found.extend(member_at(&dir)?);
        }
    }
    Ok(found)
}

/// The number of a device, by the name of its node.
fn number_by_name(roots: &Roots, node: &Path) -> Option<DevNum> {
    let dir = roots.sys.join("class/block").join(name_of(node));
    let dir = if dir.exists() { dir } else { roots.sys.join("block").join(name_of(node)) };
    DevNum::parse_numbers(&read_attribute(&dir.join("dev"))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::Command;

    fn number(major: u32, minor: u32) -> DevNum {
        DevNum { major, minor }
    }

    /// The machine of these tests: `sda` with two partitions, `sdb`, and loop devices over `sda2` and over a path that
    /// is none of a device.
    fn machine() -> (tempfile::TempDir, Roots) {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let disks = [("sda", "8:0"), ("sda/sda1", "8:1"), ("sda/sda2", "8:2"), ("sdb", "8:16")];
        for (name, number) in disks.into_iter().chain([("loop3", "7:3"), ("loop4", "7:4")]) {
            let block = at("sys/block").join(name);
            std::fs::create_dir_all(&block).unwrap();
            std::fs::write(block.join("dev"), format!("{number}\n")).unwrap();
            for links in ["sys/dev/block", "sys/class/block", "dev"] {
                std::fs::create_dir_all(at(links)).unwrap();
            }
            std::os::unix::fs::symlink(&block, at("sys/dev/block").join(number)).unwrap();
            std::os::unix::fs::symlink(&block, at("sys/class/block").join(name_of(&block))).unwrap();
            std::fs::write(at("dev").join(name_of(&block)), "").unwrap();
        }
        for (part, index) in [("sda1", "1"), ("sda2", "2")] {
            std::fs::write(at("sys/block/sda").join(part).join("partition"), index).unwrap();
        }
        let file = at("image").display().to_string();
        std::fs::write(&file, "").unwrap();
        for (looped, path) in [("loop3", "/dev/sda2"), ("loop4", &file)] {
            std::fs::create_dir(at("sys/block").join(looped).join("loop")).unwrap();
            std::fs::write(at("sys/block").join(looped).join("loop/backing_file"), path).unwrap();
        }
        let roots = Roots { proc: at("proc"), sys: at("sys"), dev: at("dev") };
        (dir, roots)
    }

    #[test]
    fn what_shares_a_medium_is_one_family() {
        let (_dir, roots) = machine();
        let sda = ["loop3", "sda", "sda1", "sda2"];
        for (of, expected) in [
            (number(8, 0), &sda[..]),
            (number(8, 2), &sda),
            (number(7, 3), &sda),
            (number(7, 4), &["loop4"]),
            (number(8, 16), &["sdb"]),
        ] {
            let family = Family::read_family(&roots, of).unwrap();
            let mut names: Vec<&str> = family.members.iter().map(|member| member.name.as_str()).collect();
            names.sort_unstable();
            assert_eq!(names, expected, "{of}");
        }
        assert!(Family::read_family(&roots, number(8, 32)).unwrap_err().contains("8:32 is missing"));
    }

    #[test]
    fn only_a_partition_has_a_disk_of_another_number() {
        let (_dir, roots) = machine();
        let disk = Some(number(8, 0));
        for (of, expected) in [
            (number(8, 1), disk),
            (number(8, 2), disk),
            (number(8, 0), None),
            (number(8, 16), None),
            (number(7, 3), None),
        ] {
            assert_eq!(Family::read_family(&roots, of).unwrap().disk_of_partition(of), expected, "{of}");
        }
    }

    /// A real loop device, where the tree prints a path that leads nowhere: the device itself knows its file.
    #[test]
    fn a_loop_device_is_asked_for_its_file_and_none_that_only_has_its_name() {
        use crate::safety::openers::Inode;
        let (dir, roots) = machine();
        let file = dir.path().join("image");
        std::fs::write(&file, vec![0; 4096]).unwrap();
        let node = match crate::losetup::attach(&file, &[]) {
            Ok(node) => node,
            Err(why) => return drop(writeln!(std::io::stderr(), "skipped: {why}")),
        };
        let meta = std::fs::metadata(&node).unwrap();
        let real = DevNum::from_stat(meta.rdev());
        let name = name_of(Path::new(&node));
        let host = Roots { dev: "/dev".into(), ..roots.clone() };
        let block = roots.sys.join("block").join(&name);
        std::fs::create_dir_all(block.join("loop")).unwrap();
        std::fs::write(block.join("loop/backing_file"), "/no/such/file").unwrap();
        let backing = |number: DevNum| {
            std::fs::write(block.join("dev"), number.to_string()).unwrap();
            let found = all_loops(&host).unwrap().into_iter().find(|bound| bound.name == name)?.backing?;
            Some((Inode { device: found.device, inode: found.inode }, found.block))
        };
        let found = (backing(real), backing(number(7, 4000)), block_number(Path::new(&node)));
        let status = Command::new("losetup").args(["-d", &node]).status();
        let inode = std::fs::metadata(&file).unwrap();
        let inode = Inode { device: DevNum::from_stat(inode.dev()), inode: inode.ino() };
        assert_eq!(found, (Some((inode, None)), None, Some(real)));
        assert!(status.is_ok_and(|status| status.success()));
        assert_eq!((block_number(&file), block_number(Path::new("/dev/null"))), (None, None), "{node}");
    }
}
