//! Who has a device or file open (rule S6): a walk over `/proc/*/fd`, and over `/proc/*/task/*/fd` of threads whose open
//! files are not those of their process.
//!
//! A process of which any open file cannot be seen counts as hidden, and the walk proves nothing. One exception: the
//! first process of the machine, where a security module keeps even a root with all capabilities out of it. It starts
//! and stops the others and uses no device, and without the exception nothing could be tested on such a machine.
//!
//! The walk cannot see a file that a process registered with io_uring and then closed, nor one that is only mapped; the
//! exclusive open of S2 finds processes that hold a device exclusively.

use super::kernel;
use super::processes::{how_to_see_all, in_first_namespace, list_processes, may_look_into_all};
use super::roots::{DevNum, Roots, cannot_read, is_gone, read_attribute};
use assay_base::text::one_line;
use rustix::fs::{AtFlags, OFlags, StatxFlags};
use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A file, identified by its file system and inode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Inode {
    /// Device of the file system.
    pub device: DevNum,
    /// Inode number.
    pub inode: u64,
}

/// The devices and files that are looked for.
#[derive(Clone, Default, Debug)]
pub(super) struct WantedObjects {
    /// Block devices, with the path each is printed as.
    pub devices: Vec<(DevNum, String)>,
    /// Regular files.
    pub inodes: Vec<Inode>,
    /// The disk of a partition. A run on another of its partitions has the disk open only to hold its lock
    /// ([`holds_its_lock`]), which does not count as use.
    pub disk: Option<DevNum>,
}

/// How a process has it open, by how much it speaks against a test.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Access {
    /// For reading, without a lock: a trace, a monitoring agent, a copy.
    Reading,
    /// For reading, with a lock on it: another run, or whoever wants it for itself.
    Locking,
    /// For writing, or in a way that cannot be found out.
    Writing,
}

/// A process that has it open.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Opener {
    /// Process id, in our own namespace.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// The file that it has open, as `/proc` prints it.
    pub path: String,
    /// How it has it open.
    pub access: Access,
}

impl fmt::Display for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = match self.access {
            Access::Reading => "for reading",
            Access::Locking => "for reading, and has locked it",
            Access::Writing => "for writing",
        };
        write!(f, "process {} ({}) has {} open {how}", self.pid, self.name, self.path)
    }
}

/// Stands among the names of users for processes that cannot be seen.
pub(super) const UNSEEN: &str = "processes that cannot be seen";

/// Processes in words.
pub(super) fn in_words<'a>(openers: impl IntoIterator<Item = &'a Opener>) -> String {
    openers.into_iter().map(Opener::to_string).collect::<Vec<_>>().join("; ")
}

/// The result of a walk.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct Openers {
    /// The openers that were found, ordered by process id; the process itself is left out.
    pub found: Vec<Opener>,
    /// Number of processes whose open files cannot be seen.
    pub hidden: u32,
    /// The part of the first of them that could not be read, and why.
    pub unread: Option<String>,
    /// Why there may be processes that the walk did not see at all.
    pub concealed: Option<String>,
    /// Whether a security module keeps root out of the first process of the machine, which is the only one unseen.
    pub init_is_protected: bool,
    /// Number of processes examined.
    pub seen: u32,
}

impl Openers {
    /// Whether all processes found are short-lived probes, which examine a device whenever somebody closes it.
    pub(super) fn only_probes(&self) -> bool {
        let probes = ["(udev-worker)", "systemd-udevd", "udevd", "blkid", "udisksd"];
        self.found.iter().all(|opener| probes.contains(&opener.name.as_str()))
    }

    /// Whether another look cannot change the result, after `look` repeated looks.
    fn is_final(&self, look: u32) -> bool {
        self.found.is_empty() || (look >= LOOKS_AT_OTHERS && !self.only_probes())
    }

    /// Why this walk is no proof that nobody has it open; `None` where everybody was seen.
    pub(super) fn doubt_reason(&self, roots: &Roots) -> Option<String> {
        let what = match (&self.concealed, self.hidden) {
            (Some(why), _) => why.clone(),
            (None, 0) => return None,
            (None, hidden) => {
                let first = self.unread.as_deref().map_or(String::new(), |why| format!(": {why}"));
                format!(
                    "the open files of {hidden} {} cannot be seen{first}",
                    if hidden == 1 { "process" } else { "processes" }
                )
            }
        };
        Some(format!("{what} ({}/*/fd); {}", roots.proc.display(), how_to_see_all(roots)))
    }

    /// How many processes were seen, in words.
    pub(super) fn describe_extent(&self) -> String {
        if self.init_is_protected {
            format!("{} processes; a security module keeps everybody out of process 1, the machine's first", self.seen)
        } else {
            format!("{} processes", self.seen)
        }
    }

    /// The openers that use it: they may write to it, or have locked it.
    pub(super) fn using_openers(&self) -> impl Iterator<Item = &Opener> {
        self.found.iter().filter(|opener| opener.access > Access::Reading)
    }

    /// The names of those that use it, for a consent that is given in advance; with [`UNSEEN`] where some may not have been
    /// seen.
    pub(super) fn user_names(&self) -> BTreeSet<String> {
        let unseen = self.hidden > 0 || self.concealed.is_some();
        self.using_openers().map(|user| user.name.clone()).chain(unseen.then(|| UNSEEN.to_owned())).collect()
    }

    /// The openers that only read it.
    pub(super) fn reading_openers(&self) -> impl Iterator<Item = &Opener> {
        self.found.iter().filter(|opener| opener.access == Access::Reading)
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

/// Finds who still has it open after short-lived users are gone.
///
/// # Errors
/// `/proc` cannot be walked over.
pub(super) fn find_settled(roots: &Roots, wanted: &WantedObjects) -> Result<Openers, String> {
    let mut seen = find_openers(roots, wanted)?;
    for look in 0..LOOKS {
        if seen.is_final(look) {
            break;
        }
        wait_a_little();
        seen = find_openers(roots, wanted)?;
    }
    Ok(seen)
}

/// Walks over all processes except this one.
///
/// # Errors
/// `/proc` cannot be read, or does not list the processes.
pub(super) fn find_openers(roots: &Roots, wanted: &WantedObjects) -> Result<Openers, String> {
    let processes = list_processes(roots)?;
    let mut result = Openers { concealed: processes.concealed, ..Openers::default() };
    for pid in processes.others {
        let process = Process { pid, dir: roots.proc.join(pid.to_string()), is_ours: processes.are_ours };
        let sight = process.look_for_wanted(wanted);
        if let Some(Open { path, access }) = sight.open {
            let name = read_attribute(&process.dir.join("comm")).map_or_else(|| "unnamed".into(), one_line);
            result.found.push(Opener { pid, name, path: path.display().to_string(), access });
        }
        match sight.unread {
            Some(_) if pid == INIT && in_first_namespace(roots) && may_look_into_all(roots) => {
                result.init_is_protected = true;
            }
            Some(why) => {
                result.hidden += 1;
                result.unread.get_or_insert(why);
            }
            None => result.seen += u32::from(sight.there),
        }
    }
    Ok(result)
}

/// The id of the first process.
const INIT: u32 = 1;

/// A process that is looked at.
struct Process {
    pid: u32,
    dir: PathBuf,
    /// Whether its id is the one that system calls of this process take.
    is_ours: bool,
}

/// The part of a process that was seen.
#[derive(Default)]
struct SeenProcess {
    /// Whether it was still there.
    there: bool,
    /// A wanted thing that it has open; of several the one that it has open in the worst way.
    open: Option<Open>,
    /// The first thing that could not be read, and why.
    unread: Option<String>,
}

/// An open file of a process.
struct Open {
    /// The path as `/proc` prints it.
    path: PathBuf,
    access: Access,
}

impl Process {
    /// Looks at the open files of the process, and at those of each thread that has files of its own.
    fn look_for_wanted(&self, wanted: &WantedObjects) -> SeenProcess {
        let mut sight = SeenProcess::default();
        sight.read_table(&self.dir.join("fd"), wanted);
        let tasks = self.dir.join("task");
        let threads = super::roots::names_if_any(&tasks).unwrap_or_else(|why| {
            sight.unread.get_or_insert(why);
            Vec::new()
        });
        for thread in threads.iter().filter_map(|name| name.parse().ok()).filter(|thread| *thread != self.pid) {
            if !(self.is_ours && kernel::share_files(self.pid, thread)) {
                sight.read_table(&tasks.join(thread.to_string()).join("fd"), wanted);
            }
        }
        sight
    }
}

impl SeenProcess {
    /// Looks through one table of open files. One that is missing belongs to a process or thread that has ended.
    fn read_table(&mut self, table: &Path, wanted: &WantedObjects) {
        if let Err(e) = self.read_entries(table, wanted)
            && !is_gone(&e)
        {
            self.unread.get_or_insert(cannot_read(table, &e));
        }
    }

    fn read_entries(&mut self, table: &Path, wanted: &WantedObjects) -> io::Result<()> {
        let entries = std::fs::read_dir(table)?;
        self.there = true;
        for entry in entries {
            let link = entry?.path();
            match match_link(wanted, &link) {
                Ok(Some(path)) => self.add_opener(Open { path, access: access_of(&link) }),
                Ok(None) => {}
                // Closed meanwhile.
                Err(e) if is_gone(&e) => {}
                Err(e) => {
                    self.unread.get_or_insert(cannot_read(&link, &e));
                }
            }
        }
        Ok(())
    }

    fn add_opener(&mut self, open: Open) {
        if self.open.as_ref().is_none_or(|known| known.access < open.access) {
            self.open = Some(open);
        }
    }
}

/// What a link of a table leads to, if it is wanted. Compares by number where the file can be examined, otherwise by its
/// printed name.
///
/// # Errors
/// It cannot be found out what is open there.
fn match_link(wanted: &WantedObjects, link: &Path) -> io::Result<Option<PathBuf>> {
    let printed = std::fs::read_link(link)?;
    // What the kernel knows of an open file without asking a server, which may be gone: kind and numbers never change.
    let stat = rustix::fs::statx(rustix::fs::CWD, link, AtFlags::STATX_DONT_SYNC, StatxFlags::BASIC_STATS);
    let same = match stat.map_err(io::Error::from) {
        Ok(stat) => {
            let kind = rustix::fs::FileType::from_raw_mode(stat.stx_mode.into());
            let device = DevNum { major: stat.stx_dev_major, minor: stat.stx_dev_minor };
            let inode = Inode { device, inode: stat.stx_ino };
            let number = DevNum { major: stat.stx_rdev_major, minor: stat.stx_rdev_minor };
            let block = kind == rustix::fs::FileType::BlockDevice;
            let is_lock = || wanted.disk == Some(number) && holds_its_lock(link);
            wanted.inodes.contains(&inode) || (block && wanted.devices.iter().any(|d| d.0 == number) && !is_lock())
        }
        Err(_) if wanted.devices.iter().any(|d| Path::new(&d.1) == printed) => true,
        Err(e) if is_gone(&e) || is_elsewhere(wanted, link) => false,
        Err(e) => return Err(e),
    };
    Ok(same.then_some(printed))
}

/// Whether a file that cannot be examined is of a FUSE file system that keeps root out, and none of the wanted files is on it. Only users
/// other than root mount those, and the kernel opens no device on them (nodev).
fn is_elsewhere(wanted: &WantedObjects, link: &Path) -> bool {
    let fuse = rustix::fs::statfs(link).is_ok_and(|fs| fs.f_type as u64 & 0xffff_ffff == FUSE_SUPER_MAGIC);
    let Ok(stat) = rustix::fs::statx(rustix::fs::CWD, link, AtFlags::empty(), StatxFlags::empty()) else {
        return false;
    };
    let device = DevNum { major: stat.stx_dev_major, minor: stat.stx_dev_minor };
    fuse && !wanted.inodes.iter().any(|inode| inode.device == device)
}

/// include/uapi/linux/magic.h.
const FUSE_SUPER_MAGIC: u64 = 0x6573_5546;

/// What the kernel tells of an open file (proc(5), fdinfo); `None` where it tells nothing.
fn info_of(link: &Path) -> Option<String> {
    let (process, number) = link.parent().and_then(Path::parent).zip(link.file_name())?;
    read_attribute(&process.join("fdinfo").join(number))
}

/// The flags with which a file was opened.
fn flags_of(info: &str) -> Option<u32> {
    info.lines().find_map(|line| u32::from_str_radix(line.strip_prefix("flags:")?.trim(), 8).ok())
}

/// Whether an open file can only be read from.
fn is_for_reading(info: &str) -> bool {
    flags_of(info).is_some_and(|flags| flags & O_ACCMODE == 0)
}

/// How an open file is used.
fn access_of(link: &Path) -> Access {
    match info_of(link) {
        Some(info) if is_for_reading(&info) && info.lines().any(|line| line.starts_with("lock:")) => Access::Locking,
        Some(info) if is_for_reading(&info) => Access::Reading,
        _ => Access::Writing,
    }
}

/// Whether an open file is used for nothing but a shared lock: open for reading, not for direct I/O as a run that reads
/// opens its target, and locked by flock in shared mode.
fn holds_its_lock(link: &Path) -> bool {
    let Some(info) = info_of(link) else { return false };
    let locks: Vec<&str> = info.lines().filter(|line| line.starts_with("lock:")).collect();
    let are_shared = locks.iter().all(|line| line.contains(" FLOCK ") && line.contains(" READ "));
    let is_direct = flags_of(&info).is_none_or(|flags| flags & OFlags::DIRECT.bits() != 0);
    is_for_reading(&info) && !is_direct && !locks.is_empty() && are_shared
}

/// The bits that distinguish reading from writing; 0 is reading only (include/uapi/asm-generic/fcntl.h).
const O_ACCMODE: u32 = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::without_rights;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn found(names: &[&str]) -> Openers {
        let opener =
            |name: &&str| Opener { pid: 7, name: (*name).to_owned(), path: "/dev/sda".into(), access: Access::Writing };
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

    /// A `/proc` of this process and of others with these ids, each with an open file that is not the wanted one.
    fn machine(ids: std::ops::Range<u32>) -> (tempfile::TempDir, Roots) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        for id in ids {
            std::fs::create_dir_all(dir.path().join(id.to_string()).join("fd")).unwrap();
            symlink("/dev/null", dir.path().join(id.to_string()).join("fd/3")).unwrap();
        }
        std::fs::create_dir(dir.path().join("1000")).unwrap();
        symlink("1000", dir.path().join("self")).unwrap();
        std::fs::write(dir.path().join("1000/mountinfo"), "1 0 0:5 / / rw - tmpfs none rw\n").unwrap();
        let roots = Roots { proc: dir.path().to_path_buf(), ..Roots::of_machine() };
        (dir, roots)
    }

    fn mode(path: &Path, mode: u32) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn processes_that_may_not_be_looked_at_are_counted_and_ended_ones_are_not() {
        let (dir, roots) = machine(4_194_400..4_194_406);
        let pid = |n: u32| dir.path().join((4_194_400 + n).to_string());
        // The tables of two are closed, that of one has links that lead where nobody may look, one ended between two looks.
        [0, 3].iter().for_each(|n| mode(&pid(*n).join("fd"), 0o000));
        std::fs::remove_dir_all(pid(5).join("fd")).unwrap();
        let closed = dir.path().join("closed");
        std::fs::create_dir(&closed).unwrap();
        symlink(closed.join("file"), pid(4).join("fd/4")).unwrap();
        mode(&closed, 0o000);
        let seen = without_rights(|| find_openers(&roots, &WantedObjects::default())).unwrap();
        assert_eq!((seen.found.len(), seen.hidden, seen.seen), (0, 3, 2), "{seen:?}");
        let unread = seen.unread.clone().unwrap();
        assert!(unread.starts_with("cannot read ") && unread.contains("Permission denied"), "{unread}");
        let doubt = seen.doubt_reason(&roots).unwrap();
        assert!(doubt.contains("the open files of 3 processes cannot be seen: cannot read"), "{doubt}");
        [0, 3].iter().for_each(|n| mode(&pid(*n).join("fd"), 0o700));
        mode(&closed, 0o700);
        std::fs::remove_dir_all(dir.path().join("1000")).unwrap();
        assert!(find_openers(&roots, &WantedObjects::default()).is_err(), "a list without this process");
    }

    /// A security module may keep root out of the first process. It is an exception only for root with every right, on the machine itself.
    #[test]
    fn only_the_first_process_may_be_kept_from_root() {
        const ALL: &str = "000001ffffffffff";
        for (hidden, capabilities, space, is_an_exception) in [
            (1, ALL, "pid:[4026531836]", true),
            (1, "000001fffff7ffff", "pid:[4026531836]", false),
            (1, ALL, "pid:[4026532222]", false),
            (2, ALL, "pid:[4026531836]", false),
        ] {
            let (dir, roots) = machine(1..3);
            std::fs::write(dir.path().join("1000/status"), format!("CapEff:\t{capabilities}\n")).unwrap();
            std::fs::create_dir(dir.path().join("1000/ns")).unwrap();
            symlink(space, dir.path().join("1000/ns/pid")).unwrap();
            symlink("user:[4026531837]", dir.path().join("1000/ns/user")).unwrap();
            let closed = dir.path().join(format!("{hidden}/fd"));
            mode(&closed, 0o000);
            let seen = without_rights(|| find_openers(&roots, &WantedObjects::default())).unwrap();
            let expected = (u32::from(!is_an_exception), is_an_exception, 1);
            assert_eq!((seen.hidden, seen.init_is_protected, seen.seen), expected, "{hidden} {capabilities} {space}");
            assert_eq!(seen.doubt_reason(&roots).is_some(), !is_an_exception);
            mode(&closed, 0o700);
        }
    }

    /// Threads may have files of their own, and the first thread of a process may have ended.
    #[test]
    fn threads_with_files_of_their_own_are_looked_at() {
        let (dir, roots) = machine(4_194_400..4_194_401);
        let wanted = WantedObjects {
            devices: vec![(DevNum { major: 8, minor: 0 }, "/dev/no-such-disk".into())],
            ..WantedObjects::default()
        };
        assert!(find_openers(&roots, &wanted).unwrap().found.is_empty());
        let thread = dir.path().join("4194400/task/4194401/fd");
        std::fs::create_dir_all(&thread).unwrap();
        symlink("/dev/no-such-disk", thread.join("9")).unwrap();
        let seen = find_openers(&roots, &wanted).unwrap();
        assert_eq!(in_words(&seen.found), "process 4194400 (unnamed) has /dev/no-such-disk open for writing");
    }

    /// What the kernel tells of an open file decides; where it tells nothing, the worst is assumed.
    #[test]
    fn readers_are_told_from_those_who_write_or_lock() {
        let lock = |kind: &str| format!("flags:\t02100000\nlock:\t1: FLOCK  ADVISORY  {kind} 7 00:06:5 0 EOF\n");
        let (dir, roots) = machine(4_194_400..4_194_401);
        let wanted = WantedObjects {
            devices: vec![(DevNum { major: 8, minor: 0 }, "/dev/no-such-disk".into())],
            ..WantedObjects::default()
        };
        let process = dir.path().join("4194400");
        std::fs::create_dir(process.join("fdinfo")).unwrap();
        symlink("/dev/no-such-disk", process.join("fd/9")).unwrap();
        for (info, access) in [
            (Some("pos:\t0\nflags:\t0100000\n".to_owned()), Access::Reading),
            // Without the page cache, closed on exec; as a mere path.
            (Some("flags:\t02140000\n".to_owned()), Access::Reading),
            (Some("flags:\t012000000\n".to_owned()), Access::Reading),
            (Some(lock("READ")), Access::Locking),
            (Some(lock("WRITE")), Access::Locking),
            (Some("flags:\t0100001\n".to_owned()), Access::Writing),
            (Some("flags:\t0100002\n".to_owned()), Access::Writing),
            (Some("flags:\t0100003\n".to_owned()), Access::Writing),
            (Some("pos:\t0\n".to_owned()), Access::Writing),
            (None, Access::Writing),
        ] {
            let _ = std::fs::remove_file(process.join("fdinfo/9"));
            info.iter().for_each(|info| std::fs::write(process.join("fdinfo/9"), info).unwrap());
            let seen = find_openers(&roots, &wanted).unwrap();
            let found: Vec<Access> = seen.found.iter().map(|opener| opener.access).collect();
            assert_eq!(found, [access], "{info:?}");
            let users = usize::from(access != Access::Reading);
            assert_eq!((seen.using_openers().count(), seen.reading_openers().count()), (users, 1 - users), "{info:?}");
        }
        // Of several, the worst.
        symlink("/dev/no-such-disk", process.join("fd/8")).unwrap();
        std::fs::write(process.join("fdinfo/8"), "flags:\t0100000\n").unwrap();
        std::fs::write(process.join("fdinfo/9"), "flags:\t0100002\n").unwrap();
        assert_eq!(find_openers(&roots, &wanted).unwrap().using_openers().count(), 1);
    }

    #[test]
    fn a_walk_that_may_have_missed_somebody_is_no_proof() {
        let roots = Roots::of_machine();
        for (hidden, concealed, words) in [
            (0, None, None),
            (1, None, Some("the open files of 1 process cannot be seen")),
            (2, None, Some("the open files of 2 processes cannot be seen")),
            (0, Some("/proc is mounted with hidepid=2, which hides processes"), Some("hidepid=2")),
            (3, Some("/proc is mounted with hidepid=2, which hides processes"), Some("hidepid=2")),
        ] {
            let seen = Openers { hidden, concealed: concealed.map(str::to_owned), ..Openers::default() };
            let doubt = seen.doubt_reason(&roots);
            assert_eq!(doubt.is_some(), words.is_some(), "{doubt:?}");
            assert!(words.is_none_or(|words| doubt.as_ref().is_some_and(|text| text.contains(words))), "{doubt:?}");
        }
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
