//! Several processes on one target: two drop-ins under one consent (`act_storage` twice, as people start it), or the ranks
//! of one run on one host.
//!
//! The first of them has claimed the device (`O_EXCL`) and locked it. The second one does not open it beside that claim: it
//! takes a copy of the very descriptor that holds both (pidfd_getfd), so that claim and lock last until the last of them
//! ends. A drop-in may do so only from a process that holds a lock on the record of the same consent, a file that only root
//! can open; a rank only from the processes of its own run, which run this very program. Nobody else has agreed to share
//! anything.

use super::openers::Inode;
use super::processes::list_processes;
use super::roots::{DevNum, Roots, read_attribute};
use assay_base::text::one_line;
use rustix::fs::{FileType, FlockOperation, OFlags};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
use std::fmt;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What several processes may hold together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Held {
    /// A block device.
    Device(DevNum),
    /// A regular file.
    File(Inode),
}

impl Held {
    /// Whether an open file of this type and with these numbers is it.
    fn is_it(self, mode: u32, device: u64, inode: u64, of_node: u64) -> bool {
        match self {
            Held::Device(wanted) => {
                FileType::from_raw_mode(mode) == FileType::BlockDevice && DevNum::from_stat(of_node) == wanted
            }
            Held::File(wanted) => {
                FileType::from_raw_mode(mode) == FileType::RegularFile
                    && (Inode { device: DevNum::from_stat(device), inode }) == wanted
            }
        }
    }
}

/// Another process that has the target open, and with which it may be shared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Partner {
    /// Process id.
    pub pid: u32,
    name: String,
    /// The descriptor that holds the claim and the lock, once it has both.
    claim: Option<i32>,
}

impl fmt::Display for Partner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} ({})", self.pid, self.name)
    }
}

/// All such runs on a device, ordered by process id. A process that cannot be looked into is none.
///
/// # Errors
/// `/proc` cannot be read.
pub(super) fn partner_runs(roots: &Roots, device: DevNum, record: Inode) -> Result<Vec<Partner>, String> {
    let processes = list_processes(roots)?;
    let each = processes.others.into_iter();
    let agreed = Some(record);
    Ok(each.filter_map(|pid| find_partner(roots, pid, Held::Device(device), agreed)).collect())
}

/// Those of these processes, ranks of one run, that hold the target. A process that runs another program is none, whatever its
/// number says.
pub(super) fn partner_ranks(roots: &Roots, held: Held, processes: &[u32]) -> Vec<Partner> {
    let own = program_of(&roots.proc.join("self"));
    let same = processes.iter().filter(|pid| own.is_some() && program_of(&roots.proc.join(pid.to_string())) == own);
    same.filter_map(|pid| find_partner(roots, *pid, held, None)).collect()
}

fn program_of(process: &Path) -> Option<Inode> {
    let meta = std::fs::metadata(process.join("exe")).ok()?;
    Some(Inode { device: DevNum::from_stat(meta.dev()), inode: meta.ino() })
}

/// The process, where it has the target open, and has locked the record where there is one.
fn find_partner(roots: &Roots, pid: u32, held: Held, record: Option<Inode>) -> Option<Partner> {
    let process = roots.proc.join(pid.to_string());
    let (mut is_open, mut is_agreed, mut claim) = (false, record.is_none(), None);
    for entry in std::fs::read_dir(process.join("fd")).ok()?.flatten() {
        let Ok(meta) = std::fs::metadata(entry.path()) else { continue };
        let number = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok());
        let info =
            || number.and_then(|n| read_attribute(&process.join("fdinfo").join(n.to_string()))).unwrap_or_default();
        if held.is_it(meta.mode(), meta.dev(), meta.ino(), meta.rdev()) {
            is_open = true;
            claim = claim.or(number.filter(|_| is_locked(&info(), "WRITE")));
        } else if Some(Inode { device: DevNum::from_stat(meta.dev()), inode: meta.ino() }) == record {
            is_agreed |= is_locked(&info(), "READ");
        }
    }
    let name = read_attribute(&process.join("comm")).map_or_else(|| "unnamed".to_owned(), one_line);
    (is_open && is_agreed).then_some(Partner { pid, name, claim })
}

/// Whether an open file holds a lock of this kind by flock (proc(5), fdinfo: those of this very file).
fn is_locked(info: &str, kind: &str) -> bool {
    let of_kind =
        |line: &str| line.starts_with("lock:") && line.contains(" FLOCK ") && line.contains(&format!(" {kind} "));
    info.lines().any(of_kind)
}

/// A copy of a partner's descriptor with claim and lock; `None` where it has none yet, has ended, or the kernel refuses.
pub(super) fn copy_descriptor(partner: &Partner, held: Held) -> Option<File> {
    let pid = Pid::from_raw(i32::try_from(partner.pid).ok()?)?;
    let process = pidfd_open(pid, PidfdFlags::empty()).ok()?;
    let copy = File::from(pidfd_getfd(&process, partner.claim?, PidfdGetfdFlags::empty()).ok()?);
    // The process may be another one by now: only what was copied counts.
    let stat = rustix::fs::fstat(&copy).ok()?;
    let is_it = held.is_it(stat.st_mode, stat.st_dev, stat.st_ino, stat.st_rdev);
    let flags = rustix::fs::fcntl_getfl(&copy).ok()?;
    // Not every file system has direct I/O for files.
    let is_direct = matches!(held, Held::File(_)) || flags.contains(OFlags::DIRECT);
    let is_ours = flags & OFlags::RWMODE == OFlags::RDWR && is_direct;
    // The lock belongs to the open file: through any other one it would be refused.
    let is_claim = rustix::fs::flock(&copy, FlockOperation::NonBlockingLockExclusive).is_ok();
    (is_it && is_ours && is_claim).then_some(copy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_of_an_open_file_are_read() {
        let info = "pos:\t0\nflags:\t02140002\nmnt_id:\t24\nlock:\t1: FLOCK  ADVISORY  WRITE 7 00:06:5 0 EOF\n";
        assert!(is_locked(info, "WRITE") && !is_locked(info, "READ"));
        assert!(!is_locked(&info.replace("FLOCK", "POSIX"), "WRITE"));
        assert!(!is_locked("pos:\t0\nflags:\t02\n", "WRITE") && !is_locked("", "READ"));
    }
}
