//! The files that a client has open, each in the slot that its script names.

use super::kernel::{Mapping, close_descriptor};
use super::transfer::Way;
use crate::script::Slot;
use rustix::fd::OwnedFd;
use rustix::io::{Errno, Result};
use std::collections::BTreeMap;

/// A file that is open.
#[derive(Debug)]
pub(super) struct OpenFile {
    pub(super) descriptor: OwnedFd,
    pub(super) way: Way,
    /// Whether every write goes to its end.
    pub(super) appends: bool,
    /// What a step mapped last. It stays until the next one, so that `msync` finds it.
    pub(super) mapping: Option<Mapping>,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct OpenFiles {
    own: Option<OpenFile>,
    source: Option<OpenFile>,
    kept: BTreeMap<u32, OpenFile>,
}

impl OpenFiles {
    /// Puts a file that was opened into its slot, which is empty.
    pub(super) fn insert(&mut self, slot: Slot, file: OpenFile) {
        let before = match slot {
            Slot::Own => self.own.replace(file),
            Slot::Source => self.source.replace(file),
            Slot::Kept(number) => self.kept.insert(number, file),
        };
        assert!(before.is_none(), "a slot that is opened was closed before");
    }

    /// The file in a slot. EBADF is what the kernel would say where none is.
    pub(super) fn file(&self, slot: Slot) -> Result<&OpenFile> {
        let file = match slot {
            Slot::Own => self.own.as_ref(),
            Slot::Source => self.source.as_ref(),
            Slot::Kept(number) => self.kept.get(&number),
        };
        file.ok_or(Errno::BADF)
    }

    /// The same, for a call that maps it.
    pub(super) fn file_mut(&mut self, slot: Slot) -> Result<&mut OpenFile> {
        let file = match slot {
            Slot::Own => self.own.as_mut(),
            Slot::Source => self.source.as_mut(),
            Slot::Kept(number) => self.kept.get_mut(&number),
        };
        file.ok_or(Errno::BADF)
    }

    /// Closes the file in a slot. The slot is empty afterwards, whatever the kernel says.
    pub(super) fn close(&mut self, slot: Slot) -> Result<()> {
        let file = match slot {
            Slot::Own => self.own.take(),
            Slot::Source => self.source.take(),
            Slot::Kept(number) => self.kept.remove(&number),
        };
        close_descriptor(file.ok_or(Errno::BADF)?.descriptor)
    }

    /// Closes what is open, and returns the first error.
    pub(super) fn close_all(&mut self) -> Result<()> {
        let mut slots: Vec<Slot> = self.kept.keys().map(|number| Slot::Kept(*number)).collect();
        slots.extend([Slot::Own, Slot::Source]);
        let mut result = Ok(());
        for slot in slots {
            if self.file(slot).is_ok() {
                result = result.and(self.close(slot));
            }
        }
        result
    }
}
