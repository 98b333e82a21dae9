//! What the gate returns. A `Permit` owns the only open descriptor that may be written to; only the gate creates one,
//! it cannot be copied, and it is bound to the device it was given for. A `ReadPass` owns a descriptor opened for
//! reading.

use super::blank;
use super::claim::{self, CLAIM_BYTES};
use super::content;
use super::examination::{Examination, into_refusal};
use super::fingerprint::{Fingerprint, Opened, has_label};
use super::kernel;
use super::label::LABEL_LEN;
use super::roots::Roots;
use super::rule::{Refusal, RuleAnswer, RuleId};
use super::shape::Shape;
use super::subject::{Kind, kind_from_stat};
use super::watermark::Watermark;
use crate::durable::Durable;
use crate::open::Target;
use assay_base::Geometry;
use rustix::fs::FlockOperation;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The rules that a permit for a device needs. S12 is checked repeatedly later, S15 is for readers.
const OF_DEVICES: [RuleId; 14] = {
    use RuleId::*;
    [S0, S1, S2, S3, S4, S5, S6, S7, S8, S9, S11, S13, S14, Consent]
};
const OF_FILES: [RuleId; 12] = {
    use RuleId::*;
    [S0, S1, S2, S3, S5, S6, S7, S8, S10, S11, S13, S14]
};

/// The right to write to one target. Dropping it closes the target and ends every lock on it.
#[derive(Debug)]
pub struct Permit {
    file: File,
    _disk: Option<File>,
    roots: Roots,
    exam: Examination,
    shape: Shape,
    fingerprint: Fingerprint,
    created: bool,
    /// A file to which nobody has written, and which has no label yet: its size with the label.
    blank: AtomicU64,
}

impl Permit {
    pub(super) fn new(roots: Roots, exam: Examination, opened: Opened) -> Permit {
        let asked = |id: &RuleId| exam.rules.iter().any(|answer| answer.id == *id && answer.may_continue());
        let every: &[RuleId] = if matches!(exam.kind, Kind::Block(_)) { &OF_DEVICES } else { &OF_FILES };
        assert!(every.iter().all(asked), "a permit stands on the answer of every rule");
        let Opened { file, disk, shape, fingerprint, blank } = opened;
        let blank = AtomicU64::new(if blank { shape.size + LABEL_LEN } else { 0 });
        Permit { file, _disk: disk, roots, exam, shape, fingerprint, created: false, blank }
    }

    /// Marks it as the permit of a file that this process created.
    pub(super) fn mark_created(self) -> Permit {
        Permit { created: true, ..self }
    }

    /// The open file.
    pub fn borrow_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Usable bytes and block size.
    pub fn geometry(&self) -> Geometry {
        self.shape.engine_geometry()
    }

    /// Size, blocks and alignment in full.
    pub fn full_shape(&self) -> Shape {
        self.shape
    }

    /// The identity of the target and the answer of each rule.
    pub fn gate_examination(&self) -> &Examination {
        &self.exam
    }

    /// Why a result on it cannot be a certificate; empty when there is no reason.
    pub fn result_watermarks(&self) -> &[Watermark] {
        &self.exam.watermarks
    }

    /// The rules that a person overrode.
    pub fn overridden_rules(&self) -> Vec<RuleId> {
        self.exam.rules.iter().filter(|answer| answer.overridden).map(|answer| answer.id).collect()
    }

    /// S14 for one operation: whether it lies inside what was admitted.
    #[inline]
    pub fn covers_range(&self, offset: u64, len: u64) -> bool {
        offset.checked_add(len).is_some_and(|end| end <= self.shape.size)
    }

    /// S12: checked immediately before the first write and before each phase. A file to which nobody has written gets the program's label
    /// the first time: not earlier, because until all targets of a run are admitted nothing may be written to any.
    ///
    /// # Errors
    /// The device was replaced, resized or renamed, or somebody has written to a file that was blank.
    pub fn recheck_target(&self) -> Result<(), Refusal> {
        let refused = |id: RuleId, why: String| {
            let rules = vec![RuleAnswer::new(id, Err(why))];
            into_refusal(Examination { rules, ..self.exam.clone() })
        };
        let blank = self.blank.load(Relaxed);
        if blank > 0 {
            blank::take_over(&self.file, blank).map_err(|why| refused(RuleId::S10, why))?;
            self.blank.store(0, Relaxed);
        }
        self.fingerprint.check_unchanged(&self.roots, &self.file).map_err(|why| refused(RuleId::S12, why))
    }

    /// Looks at samples of what a file holds, as the gate has done before it gave the permit: the first byte near which it
    /// is neither zero nor written by this program, unless the gate has let such data pass.
    ///
    /// # Errors
    /// A part could not be read.
    pub fn foreign_content(&self) -> io::Result<Option<u64>> {
        if self.overridden_rules().contains(&RuleId::S8) {
            return Ok(None);
        }
        Ok(content::examine_content(&self.file, self.shape.size)?.foreign)
    }

    /// A digest of samples of what it holds: where it changes and this host has written nothing, another one has.
    ///
    /// # Errors
    /// A part could not be read.
    pub fn content_digest(&self) -> io::Result<[u8; 32]> {
        content::digest_samples(&self.file, self.shape.size)
    }

    /// Writes a claim into its last block, so that other hosts can show that they have the same target. Like all writing, only after
    /// [`Permit::recheck_target`]. Returns what was there, for [`Permit::put_back`].
    ///
    /// # Errors
    /// It cannot be written, or the target is smaller than a block of 4 KiB.
    pub fn write_claim(&self, claim: &[u8; CLAIM_BYTES]) -> io::Result<Vec<u8>> {
        claim::write_claim(&self.file, &self.shape, claim)
    }

    /// Puts back what was there before a claim was written.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn put_back(&self, before: &[u8]) -> io::Result<()> {
        claim::put_back(&self.file, &self.shape, before)
    }

    /// The claim in its last block; `None` where there is none.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read_claim(&self) -> io::Result<Option<[u8; CLAIM_BYTES]>> {
        claim::read_claim(&self.file, &self.shape)
    }

    /// Takes a file for labelled, to which another host of the same run has written its label since it was opened here.
    ///
    /// # Errors
    /// The label cannot be read.
    pub fn accept_label(&self) -> io::Result<()> {
        let blank = self.blank.load(Relaxed);
        if blank > 0 && has_label(&self.file, blank)? {
            self.blank.store(0, Relaxed);
        }
        Ok(())
    }

    /// Discards the whole device (TRIM, UNMAP), as far as it can. Files keep the space that was reserved for them.
    ///
    /// # Errors
    /// The device does not discard, or it is a file.
    pub fn discard_all(&self) -> io::Result<()> {
        match self.exam.kind {
            Kind::Block(_) => Ok(kernel::discard_device(self.file.as_fd(), self.shape.size)?),
            _ => Err(io::Error::new(io::ErrorKind::Unsupported, "only block devices are discarded")),
        }
    }

    /// The target as the engines take it: a second descriptor of the same open file. It stays writable as long as the
    /// engines hold it, so the permit is kept beside them for `recheck` and the lock.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn engine_target(&self) -> io::Result<Target> {
        let fd = self.file.as_fd().try_clone_to_owned()?;
        let durable = Durable::from_file(&self.roots, self.file.as_fd());
        Ok(Target::over_range(fd, 0, self.geometry(), true).with_durable_writes(durable))
    }

    /// Removes the scratch file, if this process created it and the name still leads to it. `Ok(false)`: the file
    /// existed before and is not removed.
    ///
    /// # Errors
    /// What the kernel said, or that another file has the name now.
    pub fn remove_scratch(self) -> io::Result<bool> {
        if !self.created {
            return Ok(false);
        }
        let named = rustix::fs::lstat(&self.exam.real)?;
        if kind_from_stat(&named) != self.fingerprint.kind {
            return Err(io::Error::other(format!(
                "{} is another file now; it was not removed",
                self.exam.real.display()
            )));
        }
        std::fs::remove_file(&self.exam.real)?;
        Ok(true)
    }
}

/// The right to read one target.
#[derive(Debug)]
pub struct ReadPass {
    file: File,
    exam: Examination,
    shape: Shape,
}

impl ReadPass {
    /// The lock tells runs that would write that somebody measures here (S6, S13). It is no condition for reading: reading
    /// harms nobody.
    pub(super) fn new(exam: Examination, file: File, shape: Shape) -> ReadPass {
        let _ = rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared);
        ReadPass { file, exam, shape }
    }

    /// The open file; the kernel refuses every write to it.
    pub fn borrow_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Usable bytes and block size.
    pub fn geometry(&self) -> Geometry {
        self.shape.engine_geometry()
    }

    /// Size, blocks and alignment in full.
    pub fn full_shape(&self) -> Shape {
        self.shape
    }

    /// The identity of the target and the answers of the rules.
    pub fn gate_examination(&self) -> &Examination {
        &self.exam
    }

    /// Why a result on it cannot be a certificate.
    pub fn result_watermarks(&self) -> &[Watermark] {
        &self.exam.watermarks
    }

    /// The claim in its last block; `None` where there is none.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read_claim(&self) -> io::Result<Option<[u8; CLAIM_BYTES]>> {
        claim::read_claim(&self.file, &self.shape)
    }

    /// The target as the engines take it.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn engine_target(&self) -> io::Result<Target> {
        let fd = self.file.as_fd().try_clone_to_owned()?;
        Ok(Target::over_range(fd, 0, self.geometry(), false))
    }
}
