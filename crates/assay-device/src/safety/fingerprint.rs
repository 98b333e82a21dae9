//! The properties by which a target is recognised later (S12), and the open target on its way to its permit.

use super::content;
use super::identity::Identity;
use super::kernel;
use super::label::{self, LABEL_LEN};
use super::openers::Inode;
use super::roots::{DevNum, Roots};
use super::shape::Shape;
use super::subject::{Kind, kind_from_stat};
use std::fs::File;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// The properties by which a target is recognised later (S12).
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Fingerprint {
    given: PathBuf,
    pub(super) kind: Kind,
    size: u64,
    diskseq: Option<u64>,
    serial: Option<String>,
}

impl Fingerprint {
    pub(super) fn of_device(given: &Path, number: DevNum, file: &File, shape: &Shape, roots: &Roots) -> Fingerprint {
        let size = kernel::device_size(file.as_fd()).unwrap_or(shape.size);
        let serial = Identity::read_identity(roots, number).and_then(|id| id.serial);
        let diskseq = kernel::disk_sequence(file.as_fd());
        Fingerprint { given: given.to_path_buf(), kind: Kind::Block(number), size, diskseq, serial }
    }

    pub(super) fn of_file(given: &Path, inode: Inode, size: u64) -> Fingerprint {
        Fingerprint { given: given.to_path_buf(), kind: Kind::File(inode), size, diskseq: None, serial: None }
    }

    /// S12: what has changed since, if anything has.
    pub(super) fn check_unchanged(&self, roots: &Roots, file: &File) -> Result<(), String> {
        let stat = rustix::fs::fstat(file).map_err(|e| format!("fstat: {e}"))?;
        let named =
            rustix::fs::stat(&self.given).map_err(|e| format!("{} no longer exists: {e}", self.given.display()))?;
        if kind_from_stat(&stat) != self.kind || kind_from_stat(&named) != self.kind {
            return Err(format!("{} was {}, and is {} now", self.given.display(), self.kind, kind_from_stat(&named)));
        }
        match self.kind {
            Kind::Block(number) => self.check_device(roots, file, number),
            _ => self.check_file(file, stat.st_nlink),
        }
    }

    fn check_device(&self, roots: &Roots, file: &File, number: DevNum) -> Result<(), String> {
        let size = kernel::device_size(file.as_fd()).map_err(|e| format!("BLKGETSIZE64: {e}"))?;
        if size != self.size {
            return Err(format!("its size was {} bytes and is {size} now", self.size));
        }
        let sequence = kernel::disk_sequence(file.as_fd());
        if sequence != self.diskseq {
            return Err(format!("its disk sequence number was {:?} and is {sequence:?} now", self.diskseq));
        }
        let serial = Identity::read_identity(roots, number).and_then(|id| id.serial);
        if serial != self.serial {
            return Err(format!("its serial number was {:?} and is {serial:?} now", self.serial));
        }
        Ok(())
    }

    fn check_file(&self, file: &File, names: impl Into<u64>) -> Result<(), String> {
        if names.into() != 1 {
            return Err("it has a second name now".into());
        }
        match has_label(file, self.size) {
            Ok(true) => Ok(()),
            Ok(false) => Err(format!("its length of {} bytes or its label has changed", self.size)),
            Err(e) => Err(format!("its label could not be read: {e}")),
        }
    }
}

/// Whether the file's last 4 KiB are our label for exactly this length.
pub(super) fn has_label(file: &File, size: u64) -> std::io::Result<bool> {
    let Some(at) = size.checked_sub(LABEL_LEN) else { return Ok(false) };
    let mut block = content::Aligned::new(LABEL_LEN as usize);
    let got = content::read_at_most(file, block.as_bytes(), at)?;
    Ok(got as u64 == LABEL_LEN && file.metadata()?.len() == size && label::is_label(block.as_bytes(), size))
}

/// How many of the `size` bytes of a file can be used: those before our label, where it ends with one.
pub fn usable_bytes(file: &File, size: u64) -> u64 {
    if has_label(file, size).unwrap_or(false) { size - LABEL_LEN } else { size }
}

/// An open target that passed the rules evaluated while opening it.
pub(super) struct Opened {
    pub file: File,
    /// The node of the whole disk, locked, where the target is a partition.
    pub disk: Option<File>,
    pub shape: Shape,
    pub fingerprint: Fingerprint,
    /// A file to which nobody has written, and which has no label yet.
    pub(super) blank: bool,
}
