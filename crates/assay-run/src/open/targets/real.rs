//! One device or file that the safety gate admitted.

use super::needs::{Allowed, TargetNeeds};
use crate::failure::{Failure, escaped_path, one_line};
use crate::host::named_fact;
use crate::workloads::meant::similar_file;
use assay_base::Bytes;
use assay_device::open::Target;
use assay_device::probe;
use assay_device::safety::{
    DevNum, Examination, Gate, Inode, Kind, Needs, Permit, ReadPass, Refusal, Request, Roots, RuleId, Watermark,
};
use assay_judge::for_a_shell;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// One device or file.
#[derive(Debug)]
pub struct RealTarget {
    /// As the user named it.
    pub name: String,
    /// The opened file, for an engine to use.
    pub target: Target,
    /// The right to use it.
    pub access: TargetPermit,
    /// The block device whose counters show what reached it; `None` for files, which share theirs.
    pub disk: Option<DevNum>,
    /// That device, or the one under the file system of a file.
    pub under: Option<DevNum>,
    /// Whether it is a scratch file that this run created and removes.
    pub scratch: bool,
    /// Whether it is a file that was created for this run (`--create`), and stays.
    pub(super) made: bool,
}

/// The right to use it.
#[derive(Debug)]
pub enum TargetPermit {
    /// The right to write.
    Write(Permit),
    /// The right to read.
    Read(ReadPass),
}

impl TargetPermit {
    pub(super) fn gate_examination(&self) -> &Examination {
        match self {
            TargetPermit::Write(permit) => permit.gate_examination(),
            TargetPermit::Read(pass) => pass.gate_examination(),
        }
    }

    pub(super) fn gate_watermarks(&self) -> &[Watermark] {
        match self {
            TargetPermit::Write(permit) => permit.result_watermarks(),
            TargetPermit::Read(pass) => pass.result_watermarks(),
        }
    }

    fn borrow_fd(&self) -> BorrowedFd<'_> {
        match self {
            TargetPermit::Write(permit) => permit.borrow_fd(),
            TargetPermit::Read(pass) => pass.borrow_fd(),
        }
    }
}

/// How a person agreed; `None` where nobody was asked.
pub(super) fn consent_kind(exam: &Examination) -> Option<&str> {
    exam.rules.iter().find(|rule| rule.id == RuleId::Consent).map(|rule| rule.evidence.as_str())
}

/// A file that could not be created: the rule's own advice is to create one.
fn not_created(refusal: Refusal, path: &Path) -> Failure {
    if refusal.rule != RuleId::S10 || path.symlink_metadata().is_ok() {
        return Failure::from_gate_refusal(refusal);
    }
    Failure::refused_for_safety(format!(
        "{}\n  to do: name a file where this user may create one, on a file system with room for it and 5 % more, or give a smaller --create; nothing was written",
        refusal.finding_text()
    ))
}

/// A refusal, with the name that was probably meant where there is nothing at the path.
fn refused_target(refusal: Refusal, path: &Path) -> Failure {
    let failure = Failure::from_gate_refusal(refusal);
    match similar_file(path) {
        Some(meant) => failure.with_advice(&format!("did you mean {}?", escaped_path(&meant))),
        None => failure,
    }
}

impl RealTarget {
    /// Opens the target with this index.
    pub(super) fn open_indexed(
        index: usize,
        name: &str,
        path: &Path,
        needs: TargetNeeds<'_>,
        allowed: Allowed<'_>,
    ) -> Result<RealTarget, Failure> {
        let request = Request {
            tokens: allowed.tokens,
            standing: allowed.standing,
            overrides: allowed.overrides,
            needs: Needs { extent: 0, alignment: 0 },
            log_dir: Some(needs.log_dir),
            page_cache: needs.page_cache.iter().any(|cached| usize::from(cached.target) == index),
            in_container: allowed.in_container,
            ranks: needs.fellows,
            ..Request::new(path)
        };
        let gate = Gate::of_machine();
        let made = allowed.create.is_some() && !path.exists();
        if made && !needs.writes {
            return Err(Failure::bad_usage(format!(
                "{} does not exist, and --create creates no file for a workload that only reads, because it would hold nothing to read; \
                 make it with assay prep {} --create SIZE, or add --prep",
                one_line(name),
                for_a_shell(name)
            )));
        }
        let pass = match allowed.create {
            Some(size) if made => gate
                .create_scratch(&request, size.get())
                .map(TargetPermit::Write)
                .map_err(|refusal| not_created(refusal, path))?,
            _ if needs.writes => {
                gate.admit_target(&request).map(TargetPermit::Write).map_err(|refusal| refused_target(refusal, path))?
            }
            _ => gate.admit_read(&request).map(TargetPermit::Read).map_err(|refusal| refused_target(refusal, path))?,
        };
        Ok(RealTarget { made, ..RealTarget::from_pass(name, pass, false)? })
    }

    /// A scratch file that the run creates and removes.
    pub fn create_scratch(path: &Path, size: Bytes, log_dir: &Path) -> Result<RealTarget, Failure> {
        let request = Request { log_dir: Some(log_dir), ..Request::new(path) };
        let permit = Gate::of_machine().create_scratch(&request, size.get()).map_err(Failure::from_gate_refusal)?;
        RealTarget::from_pass(&path.to_string_lossy(), TargetPermit::Write(permit), true)
    }

    /// The last check of the safety gate before something is written: is it still the same target?
    pub(crate) fn recheck_gate(&self) -> Result<(), Failure> {
        match &self.access {
            TargetPermit::Write(permit) => permit.recheck_target().map_err(Failure::from_gate_refusal),
            TargetPermit::Read(_) => Ok(()),
        }
    }

    fn from_pass(name: &str, access: TargetPermit, scratch: bool) -> Result<RealTarget, Failure> {
        let target = match &access {
            TargetPermit::Write(permit) => permit.engine_target(),
            TargetPermit::Read(pass) => pass.engine_target(),
        };
        let target = target.map_err(|e| Failure::host_unable(format!("{} cannot be used: {e}", one_line(name))))?;
        let disk = match access.gate_examination().kind {
            Kind::Block(number) => Some(number),
            _ => None,
        };
        let under = disk.or_else(|| probe::disk_under_path(&Roots::of_machine(), &access.gate_examination().real));
        Ok(RealTarget { name: name.to_owned(), target, access, disk, under, scratch, made: false })
    }

    pub(super) fn target_facts(&self) -> (String, BTreeMap<String, String>) {
        let exam = self.access.gate_examination();
        let print = probe::read_target(&Roots::of_machine(), &exam.real);
        let facts = [
            ("path", Some(exam.real.to_string_lossy().into_owned())),
            ("model", print.model),
            ("serial", print.serial),
            ("wwid", print.wwid),
            ("firmware", print.firmware),
            ("diskseq", print.diskseq.map(|number| number.to_string())),
            ("file", self.file_identity()),
            ("file system", print.file_system),
            ("device", print.device),
            ("partition", print.partition),
            ("physical block", print.physical_block.map(|number| number.to_string())),
            ("scheduler", print.scheduler),
            ("nr_requests", print.nr_requests.map(|number| number.to_string())),
            ("write cache", print.write_cache),
            ("fua", print.fua.map(yes_or_no)),
            ("durable write", self.target.is_writable().then(|| self.target.durable_requests().to_string())),
            ("rotational", print.rotational.map(yes_or_no)),
            ("pci link", print.pci_link),
        ];
        let consent = consent_kind(exam).map(|words| ("consent".to_owned(), words.to_owned()));
        let facts = facts.into_iter().map(|(name, value)| named_fact(name, value)).chain(consent).collect();
        let kind = match (self.disk, self.scratch) {
            (Some(_), _) => "block device",
            (None, true) => "scratch file",
            (None, false) => "file",
        };
        (kind.to_owned(), facts)
    }

    /// Its path without links.
    pub(crate) fn real_path(&self) -> &Path {
        &self.access.gate_examination().real
    }

    /// What tells it from every other target wherever it is seen: the WWID of a device; the number and the moment of creation of a file.
    /// `None` where they are not known.
    pub(crate) fn lasting_identity(&self) -> Option<String> {
        match self.disk {
            Some(_) => self.access.gate_examination().wwid.clone(),
            None => self.file_identity().filter(|identity| identity.contains(" of ")),
        }
    }

    /// Whether its file system refuses direct I/O, so that the page cache answers too.
    pub(crate) fn is_buffered(&self) -> bool {
        self.access.gate_watermarks().contains(&Watermark::Buffered)
    }

    /// The open file.
    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.access.borrow_fd()
    }

    /// A path that leads to the open file, whatever its own name leads to by now.
    pub(crate) fn open_path(&self) -> String {
        format!("/proc/self/fd/{}", self.as_fd().as_raw_fd())
    }

    /// The kernel's sequence number of this disk.
    pub fn disk_sequence(&self) -> Option<u64> {
        self.access.gate_examination().diskseq
    }

    /// Discards the whole device, as far as the device can.
    pub fn discard_all(&self) -> Result<(), Failure> {
        let TargetPermit::Write(permit) = &self.access else { return Ok(()) };
        permit.discard_all().map_err(|e| {
            Failure::host_unable(format!(
                "{} was not discarded: {e}\n  = prepare it without --discard",
                one_line(&self.name)
            ))
        })
    }

    /// Returns when all written data have left the device's cache. A durable write would not be enough: a device that
    /// can write around its cache (FUA) does so only with that single write.
    pub fn sync_cache(&self) -> std::io::Result<()> {
        Ok(rustix::fs::fdatasync(self.access.borrow_fd())?)
    }

    /// What its disk reports about its health.
    pub fn disk_health(&self) -> BTreeMap<String, String> {
        match self.disk {
            Some(number) => probe::disk_health(&Roots::of_machine(), number, self.access.borrow_fd()),
            None => BTreeMap::from([("smart".to_owned(), "absent: a file has none".to_owned())]),
        }
    }

    /// The record of the consent under which other runs may share it.
    pub(crate) fn shared_under(&self) -> Option<Inode> {
        self.access.gate_examination().shared_under
    }

    pub(super) fn watermark_texts(&self) -> Vec<String> {
        self.access.gate_watermarks().iter().map(|mark| format!("{}: {mark}", mark.leading_word())).collect()
    }

    /// The consent token, under which preparation records are stored; for files the path.
    pub fn record_identity(&self) -> String {
        let exam = self.access.gate_examination();
        exam.token.clone().unwrap_or_else(|| exam.real.to_string_lossy().into_owned())
    }

    /// When anything about a file was last changed, in seconds and nanoseconds; `None` for devices.
    pub(crate) fn last_change(&self) -> Option<(i64, i64)> {
        let found = File::from(self.access.borrow_fd().try_clone_to_owned().ok()?).metadata().ok()?;
        self.disk.is_none().then(|| (found.ctime(), found.ctime_nsec()))
    }

    /// What distinguishes a file from another one that had or gets its path: the inode number, and the creation time,
    /// because numbers are reused. `None` for devices. Where the file system has no creation time, only the number.
    pub fn file_identity(&self) -> Option<String> {
        if self.disk.is_some() {
            return None;
        }
        let found = File::from(self.access.borrow_fd().try_clone_to_owned().ok()?).metadata().ok()?;
        let made = found.created().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        let made = made.map(|made| format!(" of {}.{:09}", made.as_secs(), made.subsec_nanos())).unwrap_or_default();
        Some(format!("inode {}{made}", found.ino()))
    }
}

fn yes_or_no(answer: bool) -> String {
    if answer { "yes".to_owned() } else { "no".to_owned() }
}
