//! Two drop-ins on one device, under one consent: `act_storage` twice, as people start it.
//!
//! The first run has claimed the device (`O_EXCL`) and locked it. The second one does not open it beside that claim: it
//! takes a copy of the very descriptor that holds both (pidfd_getfd), so that claim and lock last until the last of the
//! runs ends. It may do so only from a process that holds a lock on the record of the same consent, a file that only root
//! can open: nobody else has agreed to share anything.

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

/// Another run that has the device open and has locked the record of the consent.
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
    Ok(each.filter_map(|pid| find_partner(&roots.proc.join(pid.to_string()), pid, device, record)).collect())
}

fn find_partner(process: &Path, pid: u32, device: DevNum, record: Inode) -> Option<Partner> {
    let (mut is_open, mut is_agreed, mut claim) = (false, false, None);
    for entry in std::fs::read_dir(process.join("fd")).ok()?.flatten() {
        let Ok(meta) = std::fs::metadata(entry.path()) else { continue };
        let number = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok());
        let info =
            || number.and_then(|n| read_attribute(&process.join("fdinfo").join(n.to_string()))).unwrap_or_default();
        if FileType::from_raw_mode(meta.mode()) == FileType::BlockDevice && DevNum::from_stat(meta.rdev()) == device {
            is_open = true;
            claim = claim.or(number.filter(|_| is_locked(&info(), "WRITE")));
        } else if (Inode { device: DevNum::from_stat(meta.dev()), inode: meta.ino() }) == record {
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
pub(super) fn copy_descriptor(partner: &Partner, device: DevNum) -> Option<File> {
    let pid = Pid::from_raw(i32::try_from(partner.pid).ok()?)?;
    let process = pidfd_open(pid, PidfdFlags::empty()).ok()?;
    let copy = File::from(pidfd_getfd(&process, partner.claim?, PidfdGetfdFlags::empty()).ok()?);
    // The process may be another one by now: only what was copied counts.
    let stat = rustix::fs::fstat(&copy).ok()?;
    let is_device =
        FileType::from_raw_mode(stat.st_mode) == FileType::BlockDevice && DevNum::from_stat(stat.st_rdev) == device;
    let flags = rustix::fs::fcntl_getfl(&copy).ok()?;
    let is_ours = flags & OFlags::RWMODE == OFlags::RDWR && flags.contains(OFlags::DIRECT);
    // The lock belongs to the open file: through any other one it would be refused.
    let is_claim = rustix::fs::flock(&copy, FlockOperation::NonBlockingLockExclusive).is_ok();
    (is_device && is_ours && is_claim).then_some(copy)
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
