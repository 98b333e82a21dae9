//! The family of a device: its disk, every partition of it, everything built on top (holders) and everything below
//! (slaves, the backing device of a loop), and so on from each of these. What harms one member harms them all.

use super::kernel::{LoopBacking, loop_backing};
use super::roots::{DevNum, Roots, attribute, name_of, names_in};
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

/// What a loop device is bound to.
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

/// All bound loop devices.
pub(crate) fn loops(roots: &Roots) -> Vec<Loop> {
    let block = roots.sys.join("block");
    let bound = |name: String| {
        let dir = block.join(&name);
        let path = attribute(&dir.join("loop/backing_file"))?;
        let number = DevNum::parse(&attribute(&dir.join("dev"))?)?;
        let backing = ask_loop(roots, &name, number).or_else(|| look_at(roots, &path));
        Some(Loop { name, number, path, backing })
    };
    names_in(&block).into_iter().filter(|name| name.starts_with("loop")).filter_map(bound).collect()
}

/// The ioctl, on a node that is verified to be this device.
#[allow(clippy::disallowed_methods, reason = "a device is asked what it is, for reading")]
fn ask_loop(roots: &Roots, name: &str, number: DevNum) -> Option<LoopBacking> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let fd = rustix::fs::open(roots.dev.join(name), flags, Mode::empty()).ok()?;
    let stat = rustix::fs::fstat(&fd).ok()?;
    let same = DevNum::of(stat.st_rdev) == number;
    same.then(|| loop_backing(&fd).ok()).flatten()
}

/// The printed path, where the ioctl was refused. A node of `/dev` that is not a block device in this tree is looked up
/// by name.
fn look_at(roots: &Roots, printed: &str) -> Option<LoopBacking> {
    let node = roots.in_dev(printed);
    let path = node.clone().unwrap_or_else(|| PathBuf::from(printed));
    let meta = std::fs::metadata(&path).ok()?;
    let by_name = |node: PathBuf| {
        let dir = roots.sys.join("class/block").join(name_of(&node));
        let dir = if dir.exists() { dir } else { roots.sys.join("block").join(name_of(&node)) };
        DevNum::parse(&attribute(&dir.join("dev"))?)
    };
    let block = match (block_number(&path), node) {
        (Some(number), _) => Some(number),
        (None, Some(node)) => Some(by_name(node)?),
        (None, None) => None,
    };
    Some(LoopBacking { device: DevNum::of(meta.dev()), inode: meta.ino(), block })
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
    /// Collects the family. `None` when sysfs does not know the device.
    pub(super) fn of(roots: &Roots, device: DevNum) -> Option<Family> {
        let dir = roots.device_dir(device)?;
        let loops = loops(roots);
        let mut family = Family { members: Vec::new(), near: Vec::new(), loops };
        family.near = with_partitions(&disk_of(&dir));
        let mut todo = family.near.clone();
        while let Some(member) = todo.pop() {
            if family.members.contains(&member) {
                continue;
            }
            todo.extend(family.linked(roots, &member));
            family.members.push(member);
        }
        family.members.sort();
        Some(family)
    }

    fn linked(&self, roots: &Roots, member: &Member) -> Vec<Member> {
        let linked = ["holders", "slaves"].into_iter().flat_map(|kind| {
            let dir = member.dir.join(kind);
            names_in(&dir).into_iter().filter_map(move |name| dir.join(name).canonicalize().ok())
        });
        let beneath = self.loops.iter().filter(|l| l.number == member.number).filter_map(|l| l.backing?.block);
        let above = self.loops.iter().filter(|l| l.backing.and_then(|b| b.block) == Some(member.number));
        let by_number = beneath.chain(above.map(|l| l.number)).filter_map(|number| roots.device_dir(number));
        linked.chain(by_number).flat_map(|dir| with_partitions(&disk_of(&dir))).collect()
    }

    /// Where `device` is a partition: the other partitions of its disk. They share the drive with it, but no byte.
    pub(super) fn neighbours_of(&self, device: DevNum) -> Vec<&Member> {
        let is_partition = |member: &&Member| member.dir.join("partition").exists();
        let itself = self.near.iter().find(|member| member.number == device);
        let others = self.near.iter().filter(|member| member.number != device).filter(is_partition);
        if itself.filter(is_partition).is_some() { others.collect() } else { Vec::new() }
    }

    /// Where `device` is a partition: its disk.
    pub(super) fn disk_of_partition(&self, device: DevNum) -> Option<DevNum> {
        let disk = self.near.iter().find(|member| !member.dir.join("partition").exists())?;
        (disk.number != device).then_some(disk.number)
    }

    /// The member with this number.
    pub(super) fn member(&self, number: DevNum) -> Option<&Member> {
        self.members.iter().find(|m| m.number == number)
    }

    /// The member that a printed device path of the kernel means: by its number when the node exists, otherwise by its
    /// name.
    pub(super) fn named(&self, roots: &Roots, printed: &str) -> Option<&Member> {
        let node = roots.in_dev(printed)?;
        if let Some(number) = block_number(&node) {
            return self.member(number);
        }
        let real = node.canonicalize().unwrap_or(node);
        let name = name_of(&real);
        self.members.iter().find(|m| m.name == name || attribute(&m.dir.join("dm/name")).as_deref() == Some(&name))
    }
}

/// The number of a block node; `None` when it is not one.
pub(super) fn block_number(node: &Path) -> Option<DevNum> {
    let meta = std::fs::metadata(node).ok()?;
    let block = rustix::fs::FileType::from_raw_mode(meta.mode()) == rustix::fs::FileType::BlockDevice;
    block.then(|| DevNum::of(meta.rdev()))
}

fn disk_of(dir: &Path) -> PathBuf {
    match dir.parent() {
        Some(parent) if dir.join("partition").exists() => parent.to_path_buf(),
        _ => dir.to_path_buf(),
    }
}

fn member_at(dir: &Path) -> Option<Member> {
    let number = DevNum::parse(&attribute(&dir.join("dev"))?)?;
    Some(Member { number, name: name_of(dir), dir: dir.to_path_buf() })
}

/// A disk and its partitions.
pub(super) fn with_partitions(disk: &Path) -> Vec<Member> {
    let below = names_in(disk).into_iter().map(|name| disk.join(name)).filter(|dir| dir.join("partition").exists());
    std::iter::once(disk.to_path_buf()).chain(below).filter_map(|dir| member_at(&dir)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
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
            let family = Family::of(&roots, of).unwrap();
            let mut names: Vec<&str> = family.members.iter().map(|member| member.name.as_str()).collect();
            names.sort_unstable();
            assert_eq!(names, expected, "{of}");
        }
        assert_eq!(Family::of(&roots, number(8, 32)), None);
    }

    #[test]
    fn only_a_partition_has_neighbours_and_a_disk() {
        let (_dir, roots) = machine();
        for (of, neighbours, disk) in [
            (number(8, 1), &[number(8, 2)][..], Some(number(8, 0))),
            (number(8, 2), &[number(8, 1)], Some(number(8, 0))),
            (number(8, 0), &[], None),
            (number(8, 16), &[], None),
            (number(7, 3), &[], None),
        ] {
            let family = Family::of(&roots, of).unwrap();
            let found: Vec<DevNum> = family.neighbours_of(of).into_iter().map(|member| member.number).collect();
            assert_eq!((found.as_slice(), family.disk_of_partition(of)), (neighbours, disk), "{of}");
        }
    }

    /// A real loop device, where the tree prints a path that leads nowhere: the device itself knows its file.
    #[test]
    fn a_loop_device_is_asked_for_its_file_and_none_that_only_has_its_name() {
        use crate::safety::openers::Inode;
        let (dir, roots) = machine();
        let file = dir.path().join("image");
        std::fs::write(&file, vec![0; 4096]).unwrap();
        let bound = rustix::process::geteuid()
            .is_root()
            .then(|| Command::new("losetup").args(["-f", "--show"]).arg(&file).output());
        // Without the right to bind one, or in the very moment in which another program takes the same one.
        let Some(Ok(bound)) = bound.filter(|bound| bound.as_ref().is_ok_and(|bound| bound.status.success())) else {
            return;
        };
        let node = String::from_utf8(bound.stdout).unwrap().trim().to_owned();
        let meta = std::fs::metadata(&node).unwrap();
        let real = DevNum::of(meta.rdev());
        let name = name_of(Path::new(&node));
        let host = Roots { dev: "/dev".into(), ..roots.clone() };
        let block = roots.sys.join("block").join(&name);
        std::fs::create_dir_all(block.join("loop")).unwrap();
        std::fs::write(block.join("loop/backing_file"), "/no/such/file").unwrap();
        let backing = |number: DevNum| {
            std::fs::write(block.join("dev"), number.to_string()).unwrap();
            let found = loops(&host).into_iter().find(|it| it.name == name)?.backing?;
            Some((Inode { device: found.device, inode: found.inode }, found.block))
        };
        let found = (backing(real), backing(number(7, 4000)), block_number(Path::new(&node)));
        let status = Command::new("losetup").args(["-d", &node]).status();
        let inode = std::fs::metadata(&file).unwrap();
        let inode = Inode { device: DevNum::of(inode.dev()), inode: inode.ino() };
        assert_eq!(found, (Some((inode, None)), None, Some(real)));
        assert!(status.is_ok_and(|status| status.success()));
        assert_eq!((block_number(&file), block_number(Path::new("/dev/null"))), (None, None), "{node}");
    }
}
