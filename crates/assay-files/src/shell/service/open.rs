//! The open files of a server, which all of its threads share, as the threads of a real one do.

use super::super::kernel::close_descriptor;
use super::super::tree::OpenTree;
use crate::own_dir::{Known, OpenError};
use assay_base::Code;
use assay_model::files::service::{FileAccess, ServiceFile};
use rustix::fd::OwnedFd;
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The answer to a call on a file that is not open, because making it has failed.
pub(super) const NOT_OPEN: Code = Code(Errno::BADF.raw_os_error());

/// A file that is open.
#[derive(Debug)]
pub(super) struct OpenFile {
    pub(super) descriptor: OwnedFd,
    /// Where write(2) would write next: only the thread that writes to the file moves it.
    cursor: AtomicU64,
    /// Whole blocks are written by their place, also where one happens to follow the other.
    by_place: bool,
}

impl OpenFile {
    pub(super) fn new(descriptor: OwnedFd, described: &ServiceFile) -> OpenFile {
        OpenFile { descriptor, cursor: AtomicU64::new(0), by_place: described.block.is_some() }
    }

    /// Writes all bytes, as far as the kernel takes them at once: by write(2), as a program does that appends, where the
    /// file is at this place already.
    pub(super) fn write(&self, offset: u64, bytes: &[u8]) -> rustix::io::Result<usize> {
        if self.by_place || self.cursor.load(Ordering::Relaxed) != offset {
            return rustix::io::pwrite(&self.descriptor, bytes, offset);
        }
        let written = rustix::io::write(&self.descriptor, bytes)?;
        self.cursor.store(offset + written as u64, Ordering::Relaxed);
        Ok(written)
    }

    /// The next write(2) is at this place.
    pub(super) fn seek(&self, offset: u64) -> rustix::io::Result<()> {
        rustix::fs::seek(&self.descriptor, rustix::fs::SeekFrom::Start(offset))?;
        self.cursor.store(offset, Ordering::Relaxed);
        Ok(())
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct OpenFiles {
    files: Mutex<BTreeMap<usize, Arc<OpenFile>>>,
}

impl OpenFiles {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<usize, Arc<OpenFile>>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn insert(&self, file: usize, open: OpenFile) {
        self.lock().insert(file, Arc::new(open));
    }

    /// An open file.
    pub(super) fn get(&self, file: usize) -> Result<Arc<OpenFile>, Code> {
        self.lock().get(&file).cloned().ok_or(NOT_OPEN)
    }

    /// Closes a file that nobody uses any more, and returns what the kernel says to that.
    pub(super) fn close(&self, file: usize) -> Result<(), Code> {
        let open = self.lock().remove(&file);
        match open.and_then(Arc::into_inner) {
            Some(open) => close_descriptor(open.descriptor).map_err(|why| Code(why.raw_os_error())),
            None => Ok(()),
        }
    }

    /// Closes all; the first error, where there is one.
    pub(super) fn close_all(&self) -> Result<(), Code> {
        let files: Vec<usize> = self.lock().keys().copied().collect();
        let mut first = Ok(());
        for file in files {
            first = first.and(self.close(file));
        }
        first
    }
}

/// O_DSYNC (`include/uapi/asm-generic/fcntl.h`). `OFlags::DSYNC` of rustix 1 is O_SYNC with system calls of its own, which waits
/// for the times of the file too: on ext4 that is a second flush for each write.
const O_DSYNC: OFlags = OFlags::from_bits_retain(0o10000);

/// What a file is opened with.
pub(super) fn flags_of(access: FileAccess) -> OFlags {
    let mut flags = OFlags::RDWR;
    if access.is_direct() {
        flags |= OFlags::DIRECT;
    }
    if access.is_dsync() {
        flags |= O_DSYNC;
    }
    flags
}

/// Opens a file that was made before.
pub(super) fn open_again(tree: &OpenTree, name: u64, flags: OFlags) -> Result<OwnedFd, OpenError> {
    let name = tree.own_dir().names().file(name);
    tree.own_dir().directory().open_file(&name, flags, Known::Names(1))
}
