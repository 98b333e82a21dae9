//! Scratch files: created by us, labelled, with reserved space, admitted without a token, removed only by the process
//! that created them.

use super::blank::write_label;
use super::gate::Gate;
use super::label::LABEL_LEN;
use super::permit::Permit;
use super::request::Request;
use super::rule::{Refusal, RuleAnswer, RuleId};
use super::subject::kind_from_stat;
use super::usage;
use rustix::fs::{FallocateFlags, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Creates a scratch file with `size` usable bytes (rounded up to 4 KiB) on this machine. See [`Gate::create_scratch`].
///
/// # Errors
/// The name is taken, there is not enough space, or the file system refused.
pub fn create_scratch(path: &Path, size: u64) -> Result<Permit, Refusal> {
    Gate::of_machine().create_scratch(&Request::new(path), size)
}

impl Gate {
    /// Creates a scratch file at `request.path` with `size` usable bytes (rounded up to 4 KiB), labels it, reserves its
    /// space and admits it. When anything fails, nothing is left behind.
    ///
    /// # Errors
    /// The name is taken, there is not enough space (its size and 5 % more), or the file system refused.
    pub fn create_scratch(&self, request: &Request<'_>, size: u64) -> Result<Permit, Refusal> {
        let refused = |rule: RuleId, why: String| Refusal {
            given: request.path.to_path_buf(),
            subject: String::new(),
            rule,
            evidence: why,
            unpermitted: false,
            is_in_container: false,
            also: Vec::<RuleAnswer>::new(),
        };
        let usable = size.max(1).checked_next_multiple_of(LABEL_LEN);
        let whole = usable.and_then(|size| size.checked_add(LABEL_LEN)).filter(|size| i64::try_from(*size).is_ok());
        let whole = whole.ok_or_else(|| refused(RuleId::S3, format!("a file of {size} bytes is too large")))?;
        self.among_devices(request.path).map_err(|why| refused(RuleId::S0, why))?;
        check_room(request.path, whole).map_err(|why| refused(RuleId::S10, why))?;
        let file = create_exclusively(request.path).map_err(|e| refused(RuleId::S10, name_taken(request.path, e)))?;
        let made = UnfinishedScratch { path: request.path.to_path_buf(), file, keep: false };
        // The label comes first: a file whose creation is interrupted is still recognised as ours, and the refusal says
        // what is missing.
        write_label(&made.file, whole)
            .map_err(|e| refused(RuleId::S10, format!("the label could not be written: {e}")))?;
        reserve_space(&made.file, whole)
            .map_err(|e| refused(RuleId::S10, format!("{whole} bytes could not be reserved: {e}")))?;
        self.admit_target(request).map(|permit| made.hand_over(permit))
    }
}

impl Gate {
    /// A name below `/dev` is meant to be a device. Where there is none, a file in its place would fill the machine's
    /// memory, and the next user would mistake it for the device. File systems mounted below it, such as `/dev/shm`,
    /// are allowed.
    fn among_devices(&self, path: &Path) -> Result<(), String> {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let dev = device_of(&self.roots.dev);
        if dev.is_some() && dev == device_of(parent) {
            Err(format!("there is no device {}, and files are not created in /dev", path.display()))
        } else {
            Ok(())
        }
    }
}

/// A file being created: removed again unless it is handed over.
struct UnfinishedScratch {
    path: PathBuf,
    file: File,
    keep: bool,
}

impl UnfinishedScratch {
    fn hand_over(mut self, permit: Permit) -> Permit {
        self.keep = true;
        permit.mark_created()
    }
}

impl Drop for UnfinishedScratch {
    fn drop(&mut self) {
        let same = || {
            Some(
                kind_from_stat(&rustix::fs::fstat(&self.file).ok()?)
                    == kind_from_stat(&rustix::fs::lstat(&self.path).ok()?),
            )
        };
        if !self.keep && same() == Some(true) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

#[allow(clippy::disallowed_methods, reason = "the gate opens targets, and only it")]
fn create_exclusively(path: &Path) -> Result<File, Errno> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR).map(File::from)
}

fn name_taken(path: &Path, e: Errno) -> String {
    match e {
        Errno::EXIST => format!("{} exists already", path.display()),
        e => format!("{} could not be created: {e}", path.display()),
    }
}

/// Checks that the file system has space for the size and 5 % more.
fn check_room(path: &Path, whole: u64) -> Result<(), String> {
    let dir = usage::existing_prefix(path.parent().unwrap_or(Path::new(".")));
    let fs = rustix::fs::statvfs(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let free = u128::from(fs.f_bavail) * u128::from(fs.f_frsize);
    let needed = u128::from(whole) * 105 / 100;
    if free >= needed {
        Ok(())
    } else {
        Err(format!("{} has {free} bytes free, {needed} are needed (the file and 5 %)", dir.display()))
    }
}

/// Reserves space by fallocate or, where the file system does not support that, by writing zeros up to the label.
fn reserve_space(file: &File, whole: u64) -> io::Result<()> {
    finish_reservation(file, whole, rustix::fs::fallocate(file, FallocateFlags::empty(), 0, whole))
}

/// Makes the space durable after the answer of fallocate, with zeros where the file system has no fallocate.
fn finish_reservation(file: &File, whole: u64, answer: Result<(), Errno>) -> io::Result<()> {
    match answer {
        Ok(()) => {}
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => write_zeros(file, whole - LABEL_LEN)?,
        Err(e) => return Err(e.into()),
    }
    file.sync_all()
}

fn write_zeros(file: &File, usable: u64) -> io::Result<()> {
    let zeros = vec![0; 1 << 20];
    (0..usable).step_by(zeros.len()).try_for_each(|at| {
        let len = (usable - at).min(zeros.len() as u64) as usize;
        file.write_all_at(&zeros[..len], at)
    })
}

/// The number of the file system of a path.
fn device_of(path: &Path) -> Option<u64> {
    rustix::fs::stat(path).ok().map(|stat| stat.st_dev)
}

#[cfg(test)]
mod tests {
    use super::super::label;
    use super::*;
    use crate::safety::Roots;
    use std::os::unix::fs::PermissionsExt;

    const MIB: u64 = 1 << 20;

    #[test]
    fn zeros_reach_up_to_the_label_and_leave_it() {
        for usable in [4096, MIB, 2 * MIB, 2 * MIB + 4096] {
            let (file, whole) = (tempfile::tempfile().unwrap(), usable + LABEL_LEN);
            file.write_all_at(&vec![0xff; usable as usize], 0).unwrap();
            write_label(&file, whole).unwrap();
            write_zeros(&file, usable).unwrap();
            let mut bytes = vec![1; whole as usize];
            file.read_exact_at(&mut bytes, 0).unwrap();
            let (data, end) = bytes.split_at(usable as usize);
            assert_eq!(data.iter().position(|byte| *byte != 0), None, "{usable}");
            assert!(label::is_label(end, whole), "{usable}");
            assert_eq!(file.metadata().unwrap().len(), whole, "{usable}");
        }
    }

    #[test]
    fn where_space_cannot_be_reserved_zeros_are_written() {
        for (answer, reserved_all, written) in [
            (Ok(()), true, false),
            (Err(Errno::OPNOTSUPP), true, true),
            (Err(Errno::NOSYS), true, true),
            (Err(Errno::NOSPC), false, false),
        ] {
            let (file, whole) = (tempfile::tempfile().unwrap(), MIB + LABEL_LEN);
            write_label(&file, whole).unwrap();
            assert_eq!(finish_reservation(&file, whole, answer).is_ok(), reserved_all, "{answer:?}");
            let blocks = std::os::unix::fs::MetadataExt::blocks(&file.metadata().unwrap());
            assert_eq!(blocks * 512 >= whole, written, "{answer:?}: {blocks} blocks");
            let mut end = vec![1; LABEL_LEN as usize];
            file.read_exact_at(&mut end, MIB).unwrap();
            assert!(label::is_label(&end, whole), "{answer:?}");
        }
    }

    #[test]
    fn a_file_is_made_for_its_owner_only_and_not_for_the_programs_we_start() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("scratch");
        let file = create_exclusively(&path).unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert!(rustix::io::fcntl_getfd(&file).unwrap().contains(rustix::io::FdFlags::CLOEXEC));
        file.write_all_at(b"both ways", 0).unwrap();
        let mut bytes = [0; 9];
        file.read_exact_at(&mut bytes, 0).unwrap();
        assert_eq!(create_exclusively(&path).unwrap_err(), Errno::EXIST);
        std::os::unix::fs::symlink(dir.path().join("elsewhere"), dir.path().join("link")).unwrap();
        assert!(create_exclusively(&dir.path().join("link")).is_err());
        assert!(!dir.path().join("elsewhere").exists());
    }
    #[test]
    fn a_name_below_dev_is_meant_to_be_a_device() {
        let gate = Gate::of_machine();
        for (path, device) in [
            ("/dev/no-such-disk", true),
            ("/dev/../dev/no-such-disk", true),
            ("/tmp/scratch", false),
            ("/no/such/directory/scratch", false),
            ("scratch", false),
        ] {
            let told = gate.among_devices(Path::new(path));
            assert_eq!(told.is_err(), device, "{path}: {told:?}");
        }
        let nowhere = Gate::new(Roots { dev: "/no/such/dev".into(), ..Roots::of_machine() });
        assert_eq!(
            nowhere.among_devices(Path::new("/no/such/directory/scratch")),
            Ok(()),
            "two unknowns are not equal"
        );
    }

    #[test]
    fn a_file_leaves_a_twentieth_of_its_size_free() {
        let dir = tempfile::tempdir().unwrap();
        let fs = rustix::fs::statvfs(dir.path()).unwrap();
        let free = fs.f_bavail * fs.f_frsize;
        assert_eq!(check_room(&dir.path().join("scratch"), free / 100 * 90), Ok(()));
        let refused = check_room(&dir.path().join("scratch"), free / 100 * 99).unwrap_err();
        assert!(refused.contains("(the file and 5 %)"), "{refused}");
    }
}
