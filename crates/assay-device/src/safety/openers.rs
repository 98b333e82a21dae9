//! Who has a device or file open (rule S6): a walk over `/proc/*/fd`.
//!
//! It cannot see a file that a process registered with io_uring and then closed, nor one that is only mapped; the
//! exclusive open of S2 finds processes that hold a device exclusively.

use super::roots::{DevNum, Roots, attribute};
use std::fmt;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A file, identified by its file system and inode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Inode {
    /// Device of the file system.
    pub device: DevNum,
    /// Inode number.
    pub inode: u64,
}

/// What is looked for.
#[derive(Clone, Default, Debug)]
pub(super) struct Wanted {
    /// Block devices, with the path each is printed as.
    pub devices: Vec<(DevNum, String)>,
    /// Regular files.
    pub inodes: Vec<Inode>,
    /// The disk of a partition. A run on another of its partitions has the disk open only to hold its lock
    /// ([`holds_its_lock`]), which does not count as use.
    pub disk: Option<DevNum>,
}

/// A process that has it open.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Opener {
    /// Process id, in our own namespace.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// What it has open, as `/proc` prints it.
    pub path: String,
}

impl fmt::Display for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} ({}) has {} open", self.pid, self.name, self.path)
    }
}

/// The result of a walk.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct Openers {
    /// Who was found, ordered by process id; the process itself is left out.
    pub found: Vec<Opener>,
    /// Number of processes whose open files may not be seen.
    pub hidden: u32,
    /// Number of processes examined.
    pub seen: u32,
}

impl Openers {
    /// Whether all processes found are short-lived probes, which examine a device whenever somebody closes it.
    pub(super) fn only_probes(&self) -> bool {
        let probe = |name: &str| matches!(name, "(udev-worker)" | "systemd-udevd" | "udevd" | "blkid" | "udisksd");
        self.found.iter().all(|o| probe(&o.name))
    }

    /// Whether another look cannot change the result, after `look` repeated looks.
    fn is_final(&self, look: u32) -> bool {
        self.found.is_empty() || (look >= LOOKS_AT_OTHERS && !self.only_probes())
    }

    /// Who was found, in words.
    pub(super) fn text(&self) -> String {
        self.found.iter().map(Opener::to_string).collect::<Vec<_>>().join("; ")
    }
}

/// How often the look is repeated for short-lived probes before they count.
pub(super) const LOOKS: u32 = 20;
const WAIT_NS: i64 = 50_000_000;
/// How often it is repeated for other processes: a process between fork and exec, or a tool that lists devices, has
/// ended by then.
const LOOKS_AT_OTHERS: u32 = 5;

/// Lets a short-lived process finish.
pub(super) fn wait_a_little() {
    let _ = rustix::thread::nanosleep(&rustix::time::Timespec { tv_sec: 0, tv_nsec: WAIT_NS });
}

/// Who still has it open after short-lived users are gone.
pub(super) fn settled(roots: &Roots, wanted: &Wanted) -> Openers {
    let mut seen = openers(roots, wanted);
    for look in 0..LOOKS {
        if seen.is_final(look) {
            break;
        }
        wait_a_little();
        seen = openers(roots, wanted);
    }
    seen
}

/// Walks over all processes except this one.
pub(super) fn openers(roots: &Roots, wanted: &Wanted) -> Openers {
    let mut result = Openers::default();
    for pid in pids(roots) {
        let files = match std::fs::read_dir(roots.proc.join(pid.to_string()).join("fd")) {
            Ok(files) => files,
            Err(e) => {
                // A process that ended meanwhile (ENOENT, ESRCH) has nothing open any more.
                result.hidden += u32::from(e.kind() == ErrorKind::PermissionDenied);
                continue;
            }
        };
        result.seen += 1;
        let hit = files.flatten().find_map(|entry| matches(wanted, &entry.path()));
        result.found.extend(hit.map(|path| {
            let name = attribute(&roots.proc.join(pid.to_string()).join("comm"));
            Opener { pid, name: name.unwrap_or_else(|| "unnamed".into()), path: path.display().to_string() }
        }));
    }
    result
}

fn pids(roots: &Roots) -> Vec<u32> {
    let own = std::process::id();
    let names = super::roots::names_in(&roots.proc);
    let mut pids: Vec<u32> = names.iter().filter_map(|name| name.parse().ok()).filter(|pid| *pid != own).collect();
    pids.sort_unstable();
    pids
}

/// Compares by number where the file can be examined, otherwise by its printed name.
fn matches(wanted: &Wanted, link: &Path) -> Option<PathBuf> {
    let printed = std::fs::read_link(link).ok()?;
    let same = match std::fs::metadata(link) {
        Ok(meta) => {
            let kind = rustix::fs::FileType::from_raw_mode(meta.mode());
            let inode = Inode { device: DevNum::of(meta.dev()), inode: meta.ino() };
            let number = DevNum::of(meta.rdev());
            let block = kind == rustix::fs::FileType::BlockDevice;
            let is_lock = || wanted.disk == Some(number) && holds_its_lock(link);
            wanted.inodes.contains(&inode) || (block && wanted.devices.iter().any(|d| d.0 == number) && !is_lock())
        }
        Err(_) => wanted.devices.iter().any(|d| Path::new(&d.1) == printed),
    };
    same.then_some(printed)
}

/// Whether an open file is used for nothing but a shared lock: open for reading, locked by flock in shared mode
/// (proc(5), fdinfo).
fn holds_its_lock(link: &Path) -> bool {
    let Some((process, number)) = link.parent().and_then(Path::parent).zip(link.file_name()) else { return false };
    let Some(info) = attribute(&process.join("fdinfo").join(number)) else { return false };
    let flags = info.lines().find_map(|line| u32::from_str_radix(line.strip_prefix("flags:")?.trim(), 8).ok());
    let reads_only = flags.is_some_and(|flags| flags & O_ACCMODE == 0);
    let locks: Vec<&str> = info.lines().filter(|line| line.starts_with("lock:")).collect();
    let shared = |line: &&str| line.contains(" FLOCK ") && line.contains(" READ ");
    reads_only && !locks.is_empty() && locks.iter().all(shared)
}

/// The bits that distinguish reading from writing; 0 is reading only (include/uapi/asm-generic/fcntl.h).
const O_ACCMODE: u32 = 3;

/// The number of the first process namespace (PROC_PID_INIT_INO, include/linux/proc_ns.h).
const FIRST_PID_NAMESPACE: &str = "pid:[4026531836]";

/// Whether every process of the machine is visible at all.
pub(super) fn in_first_namespace(roots: &Roots) -> bool {
    std::fs::read_link(roots.proc.join("self/ns/pid")).is_ok_and(|space| space == Path::new(FIRST_PID_NAMESPACE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::without_rights;

    fn found(names: &[&str]) -> Openers {
        let opener = |name: &&str| Opener { pid: 7, name: (*name).to_owned(), path: "/dev/sda".into() };
        Openers { found: names.iter().map(opener).collect(), ..Openers::default() }
    }

    #[test]
    fn probes_are_waited_for_longer_than_others() {
        for (names, look, end) in [
            (&[][..], 0, true),
            (&[], LOOKS_AT_OTHERS, true),
            (&["fio"], 0, false),
            (&["fio"], LOOKS_AT_OTHERS - 1, false),
            (&["fio"], LOOKS_AT_OTHERS, true),
            (&["fio"], LOOKS_AT_OTHERS + 1, true),
            (&["blkid"], LOOKS_AT_OTHERS, false),
            (&["blkid", "udisksd"], LOOKS - 1, false),
            (&["blkid", "fio"], LOOKS_AT_OTHERS - 1, false),
            (&["blkid", "fio"], LOOKS_AT_OTHERS, true),
        ] {
            assert_eq!(found(names).is_final(look), end, "{names:?} {look}");
        }
    }

    #[test]
    fn processes_that_may_not_be_looked_at_are_counted_and_ended_ones_are_not() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let mode = |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        mode(dir.path(), 0o755);
        let pid = |n: u32| dir.path().join((4_194_400 + n).to_string());
        (0..5).for_each(|n| std::fs::create_dir_all(pid(n).join("fd")).unwrap());
        // Two are closed, three are open, one ended between two looks.
        std::fs::create_dir_all(pid(5)).unwrap();
        [0, 3].iter().for_each(|n| mode(&pid(*n).join("fd"), 0o000));
        let roots = Roots { proc: dir.path().to_path_buf(), ..Roots::host() };
        let seen = without_rights(|| openers(&roots, &Wanted::default()));
        assert_eq!(seen, Openers { found: Vec::new(), hidden: 2, seen: 3 });
        [0, 3].iter().for_each(|n| mode(&pid(*n).join("fd"), 0o700));
    }

    #[test]
    fn a_look_is_repeated_after_a_pause() {
        let clock = crate::clock::Clock::start();
        let begin = clock.now();
        wait_a_little();
        let waited = clock.now().since(begin).as_ns();
        assert!(waited >= WAIT_NS as u64, "{waited} ns");
    }
}
