//! The directory that a person names. It is opened once, examined, and from then on only its descriptor counts: what its
//! path leads to later does not matter.

use super::marker::{Lasting, MARKER};
use super::names::is_own_directory;
use super::resolve::{OwnMount, mount_number};
use super::views;
use crate::trouble::{Trouble, error_in_words};
use assay_base::file_systems;
use assay_base::text::one_line;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Directories of the system, in and below which nothing is made.
const OF_THE_SYSTEM: [&str; 6] = ["/boot", "/usr", "/etc", "/proc", "/sys", "/dev"];
/// File systems that show the kernel's own things, wherever they are mounted (include/uapi/linux/magic.h).
const OF_THE_KERNEL: [(u64, &str); 13] = [
    (0x9fa0, "proc"),
    (0x6265_6572, "sysfs"),
    (0x1cd1, "devpts"),
    (0x0027_e0eb, "cgroup"),
    (0x6367_7270, "cgroup2"),
    (0x6462_6720, "debugfs"),
    (0x7472_6163, "tracefs"),
    (0x7363_6673, "securityfs"),
    (0x6265_6570, "configfs"),
    (0xcafe_4a11, "bpf"),
    (0x6165_676c, "pstore"),
    (0xde5e_81e4, "efivarfs"),
    (0x4249_4e4d, "binfmt_misc"),
];
/// No path has more directories above it.
const DEEPEST: u32 = 4096;

/// What a directory must be.
#[derive(Clone, Copy, Debug, Default)]
pub struct Conditions<'a> {
    /// The type of its file system, as `--expect-fs` names it.
    pub file_system: Option<&'a str>,
    /// The directory of the run, in which its log is written; nothing else may be made there.
    pub run_directory: Option<&'a Path>,
}

/// A directory in which one of ours may be made.
#[derive(Debug)]
pub struct Place {
    path: PathBuf,
    descriptor: OwnedFd,
    mounts: OwnMount,
}

/// By what two directories are known to be one.
type Inode = (u64, u64);

impl AsFd for Place {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl Place {
    /// Opens a directory and examines it.
    ///
    /// # Errors
    /// Usage: there is no such file system as is expected. Refused: it belongs to the system, is a run's, or has another
    /// file system. Host: it cannot be opened or examined.
    pub fn open(path: &Path, conditions: Conditions<'_>) -> Result<Place, Trouble> {
        let expected = conditions.file_system.map(expected_number).transpose()?;
        let descriptor = open_directory(path)?;
        let file_system = rustix::fs::fstatfs(&descriptor).map_err(|why| unexamined(path, why))?.f_type as u64;
        let mounts = OwnMount::around(&descriptor).map_err(|why| unexamined(path, why))?;
        let place = Place { path: path.to_owned(), descriptor, mounts };
        place.refuse_the_systems(file_system & 0xffff_ffff)?;
        place.refuse_by_what_is_above(conditions.run_directory)?;
        if let Some((name, number)) = expected.filter(|(_, number)| *number != file_system & 0xffff_ffff) {
            return Err(place.other_file_system(name, number, file_system));
        }
        Ok(place)
    }

    /// The same place once more, for another directory in it.
    ///
    /// # Errors
    /// Host: this process may not have more files open.
    pub fn try_clone(&self) -> Result<Place, Trouble> {
        let descriptor = self.descriptor.try_clone().map_err(|why| {
            Trouble::host(format!("{} cannot be used once more: {why}; raise the limit with `ulimit -n`", self.shown()))
        })?;
        Ok(Place { path: self.path.clone(), descriptor, mounts: self.mounts.clone() })
    }

    /// The path as it was given, for use in a message.
    pub fn shown(&self) -> String {
        shown(&self.path)
    }

    /// The number of the mount on which it lies; none before Linux 5.8.
    pub fn mount_number(&self) -> Option<u64> {
        mount_number(&self.descriptor)
    }

    /// The number by which its file system knows itself, where it stays the same whenever it is mounted.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn lasting_number(&self) -> rustix::io::Result<Option<u64>> {
        let kind = rustix::fs::fstatfs(&self.descriptor)?.f_type as u64;
        let number = rustix::fs::fstatvfs(&self.descriptor)?.f_fsid;
        Ok(Some(number).filter(|number| *number != 0 && Lasting::of_file_system(kind) == Lasting::FileSystem))
    }

    /// The mount of the directory.
    pub(super) fn mounts(&self) -> &OwnMount {
        &self.mounts
    }

    fn refused(&self, why: &str) -> Trouble {
        Trouble::refused(format!("{} {why}: name a directory of your own", self.shown()))
    }

    fn other_file_system(&self, name: &str, number: u64, there: u64) -> Trouble {
        let there = file_systems::name_by_number(there).map_or_else(|| format!("{there:#x}"), str::to_owned);
        Trouble::refused(format!(
            "{} is on {there}, and {name} ({number:#x}) is expected: mount what shall be tested there",
            self.shown()
        ))
    }

    /// Refuses directories of the system, under whatever path they are reached.
    fn refuse_the_systems(&self, file_system: u64) -> Result<(), Trouble> {
        if let Some((_, name)) = OF_THE_KERNEL.iter().find(|(number, _)| *number == file_system) {
            return Err(self.refused(&format!("is on {name}, which the kernel makes up")));
        }
        let inode = inode_of(&self.descriptor).map_err(|why| self.unexamined(why))?;
        if inode_at("/") == Some(inode) {
            return Err(self.refused("is the root directory"));
        }
        let list = std::fs::read(MOUNTS).map_err(|why| unread(MOUNTS, &why))?;
        let now = path_of(&self.descriptor)?;
        let paths = views::all_paths(&list, &now, mount_number(&self.descriptor)).ok_or_else(|| self.not_listed())?;
        let systems = OF_THE_SYSTEM.into_iter().find(|system| paths.iter().any(|path| path.starts_with(system)));
        match systems {
            Some(system) => Err(self.refused(&format!("is in {system}, which belongs to the system"))),
            None => Ok(()),
        }
    }

    /// Refuses what lies in a directory of the system, in the run's own, or in one that this program made for files.
    fn refuse_by_what_is_above(&self, run_directory: Option<&Path>) -> Result<(), Trouble> {
        let systems = OF_THE_SYSTEM.map(|system| (inode_at(system), system));
        let run = run_directory.and_then(inode_at);
        let mut at = rustix::io::fcntl_dupfd_cloexec(&self.descriptor, 0).map_err(|why| self.unexamined(why))?;
        for _ in 0..DEEPEST {
            let inode = inode_of(&at).map_err(|why| self.unexamined(why))?;
            if let Some((_, system)) = systems.iter().find(|(known, _)| *known == Some(inode)) {
                return Err(self.refused(&format!("is in {system}, which belongs to the system")));
            }
            if run == Some(inode) {
                return Err(self.refused("is in the directory of the run, where its log is written"));
            }
            if rustix::fs::statat(&at, MARKER, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
                return Err(self.below_a_marker(&path_of(&at)?));
            }
            let above = open_above(&at).map_err(|why| self.unexamined(why))?;
            let is_top = inode_of(&above).map_err(|why| self.unexamined(why))? == inode;
            if is_top && mount_number(&above) == mount_number(&at) {
                return Ok(());
            }
            at = above;
        }
        Err(self.refused("has too many directories above it"))
    }

    fn unexamined(&self, why: Errno) -> Trouble {
        unexamined(&self.path, why)
    }

    /// The mount on which the directory lies is not in the list of mounts.
    fn not_listed(&self) -> Trouble {
        Trouble::refused(format!(
            "{} lies on a mount that {MOUNTS} does not have (it was unmounted while in use, or belongs to another mount \
             namespace), so that nobody knows which directories of the system it shows: name a directory by its path here",
            self.shown()
        ))
    }

    /// A directory above, or the place itself, has a file with the name of a marker.
    fn below_a_marker(&self, marked: &Path) -> Trouble {
        let (at, marker) = (self.shown(), shown(&marked.join(MARKER)));
        let is_ours = marked.file_name().is_some_and(|name| is_own_directory(name.as_bytes()));
        let Some(parent) = marked.parent().filter(|_| is_ours) else {
            return Trouble::refused(format!(
                "{at} lies where the file {marker} says that assay works: name another directory, or remove that file if \
                 no run of assay made it"
            ));
        };
        let parent = shown(parent);
        Trouble::refused(format!(
            "{at} lies in a directory that a run of assay made for its files (its marker is {marker}): name another \
             directory for a run; to remove what the run left, write `assay clean {parent}`"
        ))
    }
}

/// The kernel's list of mounts (proc_pid_mountinfo(5)).
const MOUNTS: &str = "/proc/self/mountinfo";

/// Where something that is open is now.
fn path_of(descriptor: &OwnedFd) -> Result<PathBuf, Trouble> {
    let link = format!("/proc/self/fd/{}", descriptor.as_raw_fd());
    std::fs::read_link(&link).map_err(|why| unread(&link, &why))
}

/// Something of the kernel cannot be read, without which no directory can be examined.
fn unread(path: &str, why: &std::io::Error) -> Trouble {
    let why = Errno::from_io_error(why).map_or_else(|| why.to_string(), error_in_words);
    Trouble::host(format!("{path} cannot be read: {why}; mount proc at /proc"))
}

fn unexamined(path: &Path, why: Errno) -> Trouble {
    Trouble::host(format!(
        "{} cannot be examined: {}; look whether you may search it and all directories above it, or name another one",
        shown(path),
        error_in_words(why)
    ))
}

fn shown(path: &Path) -> String {
    one_line(path.display())
}

fn expected_number(name: &str) -> Result<(&str, u64), Trouble> {
    file_systems::number_by_name(name).map(|number| (name, number)).ok_or_else(|| {
        let known: Vec<&str> = file_systems::known_names().collect();
        Trouble::usage(format!("there is no file system {}: expect one of {}", one_line(name), known.join(", ")))
    })
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is the gate: what it opens is examined before anything is made in it"
)]
fn open_directory(path: &Path) -> Result<OwnedFd, Trouble> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).map_err(|why| {
        let at = shown(path);
        match why {
            Errno::NOENT => Trouble::host(format!("{at} does not exist: make it, or mount what shall be tested there")),
            Errno::NOTDIR => Trouble::host(format!("{at} is not a directory: name the directory for the files")),
            Errno::ACCESS | Errno::PERM => Trouble::host(format!(
                "{at} cannot be opened: {}; name a directory of your own, or run as a user who may read it",
                error_in_words(why)
            )),
            why => Trouble::host(format!(
                "{at} cannot be opened: {}; name a directory that can be listed",
                error_in_words(why)
            )),
        }
    })
}

#[expect(clippy::disallowed_methods, reason = "a directory above is looked at, and nothing is written to it")]
fn open_above(directory: &OwnedFd) -> rustix::io::Result<OwnedFd> {
    rustix::fs::openat(directory, "..", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

fn inode_of(descriptor: &OwnedFd) -> rustix::io::Result<Inode> {
    rustix::fs::fstat(descriptor).map(|facts| (facts.st_dev, facts.st_ino))
}

/// What a path leads to; none where there is nothing.
fn inode_at(path: impl AsRef<Path>) -> Option<Inode> {
    rustix::fs::stat(path.as_ref()).ok().map(|facts| (facts.st_dev, facts.st_ino))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trouble::Kind;

    fn refusal(path: impl AsRef<Path>, conditions: Conditions<'_>) -> Option<(Kind, String)> {
        Place::open(path.as_ref(), conditions).err().map(|trouble| (trouble.kind, trouble.to_string()))
    }

    #[test]
    fn directories_of_the_system_are_refused_however_they_are_written() {
        let place = tempfile::tempdir().unwrap();
        let link = place.path().join("link");
        std::os::unix::fs::symlink("/usr/share", &link).unwrap();
        let up = place.path().join("../../../../../../../..");
        for path in ["/usr", "/usr/share", "/etc", "/proc", "/proc/self", "/sys/kernel", "/dev", "/dev/shm", "/boot"] {
            if Path::new(path).exists() {
                let (kind, said) = refusal(path, Conditions::default()).unwrap();
                assert!(kind == Kind::Refused && said.starts_with(path), "{said}");
            }
        }
        for path in [link.as_path(), &up, Path::new("/"), Path::new("//"), Path::new("/tmp/.."), Path::new("/usr/..")] {
            assert_eq!(refusal(path, Conditions::default()).unwrap().0, Kind::Refused, "{}", path.display());
        }
        assert_eq!(refusal(place.path(), Conditions::default()), None);
    }

    #[test]
    fn what_lies_in_the_directory_of_the_run_is_refused_and_what_holds_it_is_not() {
        let place = tempfile::tempdir().unwrap();
        let (run, below, beside) =
            (place.path().join("run"), place.path().join("run/a/b"), place.path().join("beside"));
        std::fs::create_dir_all(&below).unwrap();
        std::fs::create_dir(&beside).unwrap();
        let link = place.path().join("link");
        std::os::unix::fs::symlink(&below, &link).unwrap();
        let conditions = Conditions { run_directory: Some(&run), ..Conditions::default() };
        for path in [&run, &below, &link] {
            let (kind, said) = refusal(path, conditions).unwrap();
            assert!(kind == Kind::Refused && said.contains("the directory of the run"), "{said}");
        }
        for path in [beside.as_path(), place.path()] {
            assert_eq!(refusal(path, conditions), None);
        }
        let planned = place.path().join("not/there/yet");
        assert_eq!(refusal(&below, Conditions { run_directory: Some(&planned), ..conditions }), None);
        std::fs::write(place.path().join("run/ASSAYDIR"), "").unwrap();
        let (kind, said) = refusal(&below, Conditions::default()).unwrap();
        let marker = run.join("ASSAYDIR").display().to_string();
        assert!(kind == Kind::Refused && said.contains(&marker) && said.contains("remove that file if"), "{said}");
        std::fs::rename(&run, place.path().join("assay-00000001")).unwrap();
        let own = place.path().join("assay-00000001");
        for path in [own.join("a"), own.clone()] {
            let (_, said) = refusal(&path, Conditions::default()).unwrap();
            let clean = format!("`assay clean {}`", place.path().display());
            assert!(said.contains(&clean) && said.contains("assay-00000001/ASSAYDIR"), "{said}");
        }
    }

    #[test]
    fn another_file_system_than_expected_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let there = rustix::fs::statfs(place.path()).unwrap().f_type as u64;
        let name = file_systems::name_by_number(there).unwrap();
        let other = if name == "xfs" { "btrfs" } else { "xfs" };
        let expect = |name| refusal(place.path(), Conditions { file_system: Some(name), ..Conditions::default() });
        assert_eq!(expect(name), None);
        let (kind, said) = expect(other).unwrap();
        assert!(kind == Kind::Refused && said.contains(&format!("is on {name}, and {other}")), "{said}");
        let (kind, said) = expect("ext5").unwrap();
        assert!(kind == Kind::Usage && said.contains("no file system ext5: expect one of ext4, xfs"), "{said}");
    }

    #[test]
    fn what_is_no_directory_cannot_be_used() {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("file"), "").unwrap();
        for (name, says) in [("file", "is not a directory"), ("nothing", "does not exist")] {
            let (kind, said) = refusal(place.path().join(name), Conditions::default()).unwrap();
            assert!(kind == Kind::Host && said.contains(says), "{said}");
        }
    }
}
