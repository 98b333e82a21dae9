//! Makes the files that a server begins with. This is not judged, but it is checked.

use super::super::buffer::AlignedBuffer;
use super::super::make::Made;
use super::super::transfer::write_all;
use super::super::tree::OpenTree;
use super::super::workers::{Parts, run_workers};
use crate::contents::Contents;
use crate::own_dir::OpenError;
use crate::service::{FileState, ServiceScript};
use crate::trouble::Trouble;
use assay_model::files::service::{MadeBy, ServiceFile};
use rustix::fd::OwnedFd;
use rustix::fs::{Advice, FallocateFlags, OFlags};
use rustix::io::Errno;

/// Bytes that are written at a time.
const STEP: u64 = 1 << 20;
/// Threads that make files.
const MOST_WORKERS: u32 = 4;

/// Makes what the script says that there is, waits until it is on stable media, and drops it from the page cache.
///
/// # Errors
/// Host: what could not be made, and why; or that it was stopped.
pub fn make_service_files(tree: &OpenTree, script: &ServiceScript) -> Result<Made, Trouble> {
    let files = script.files().all();
    let parts = Parts::new(files.len() as u64);
    let made = run_workers(MOST_WORKERS, &parts, |parts| {
        let mut maker = Maker { tree, script, buffer: AlignedBuffer::default() };
        let mut made = Made::default();
        while let Some(part) = parts.take() {
            if tree.is_stopped() {
                return Err(Trouble::host("making the files was stopped"));
            }
            let file = part as usize;
            if files[file].exists {
                maker.make_file(file)?;
                made.files += 1;
                made.bytes += files[file].size;
            }
        }
        Ok(made)
    })?;
    let synchronised = rustix::fs::syncfs(tree.own_dir().directory());
    synchronised.map_err(|why| trouble(&tree.own_dir().shown(), "syncfs", why.into()))?;
    drop_from_page_cache(tree, files)?;
    Ok(Made::sum(made))
}

/// What a server has read before is not in memory when its run begins.
fn drop_from_page_cache(tree: &OpenTree, files: &[FileState]) -> Result<(), Trouble> {
    for state in files.iter().filter(|state| state.exists) {
        let dropped = super::open::open_again(tree, state.name, OFlags::RDONLY)
            .and_then(|file| Ok(rustix::fs::fadvise(&file, 0, None, Advice::DontNeed)?));
        dropped.map_err(|why| trouble(&tree.own_dir().names().file(state.name), "posix_fadvise", why))?;
    }
    Ok(())
}

struct Maker<'a> {
    tree: &'a OpenTree,
    script: &'a ServiceScript,
    buffer: AlignedBuffer,
}

impl Maker<'_> {
    fn make_file(&mut self, file: usize) -> Result<(), Trouble> {
        let state = self.script.files().file(file);
        let described = &self.script.service().files[state.kind];
        let name = self.tree.own_dir().names().file(state.name);
        let created = self.tree.own_dir().directory().create_file(&name, OFlags::RDWR);
        let descriptor = created.map_err(|why| trouble(&name, "create", why))?;
        let (call, made) = match described.made_by {
            MadeBy::Fallocate | MadeBy::FallocateKeepSize => ("fallocate", allocate_blocks(&descriptor, described)),
            MadeBy::Truncate => ("ftruncate", rustix::fs::ftruncate(&descriptor, described.size.get())),
            MadeBy::Nothing | MadeBy::Zeros | MadeBy::Written => ("write", Ok(())),
        };
        made.map_err(|why| trouble(&name, call, why.into()))?;
        let written = self.write_contents(file, &descriptor, described);
        written.map_err(|why| trouble(&name, "write", why.into()))?;
        super::super::kernel::close_descriptor(descriptor).map_err(|why| trouble(&name, "close", why.into()))
    }

    /// Writes what the file begins with; zeros where it is made of them.
    fn write_contents(&mut self, file: usize, descriptor: &OwnedFd, described: &ServiceFile) -> Result<(), Errno> {
        let state = self.script.files().file(file);
        let contents = Contents::new(self.tree.run());
        let is_filled = matches!(described.made_by, MadeBy::Zeros | MadeBy::Written);
        let end = if is_filled { state.size } else { state.readable() };
        let mut offset = 0;
        while offset < end && !self.tree.is_stopped() {
            let length = STEP.min(end - offset);
            let buffer = self.buffer.first(length as usize);
            contents.fill_pieces(&state.pieces(file, offset..offset + length), offset, buffer);
            write_all(descriptor, offset, buffer)?;
            offset += length;
        }
        Ok(())
    }
}

fn allocate_blocks(descriptor: &OwnedFd, described: &ServiceFile) -> Result<(), Errno> {
    rustix::fs::fallocate(descriptor, allocation_flags(described.made_by), 0, described.size.get())
}

pub(super) fn allocation_flags(made_by: MadeBy) -> FallocateFlags {
    match made_by {
        MadeBy::FallocateKeepSize => FallocateFlags::KEEP_SIZE,
        _ => FallocateFlags::empty(),
    }
}

fn trouble(what: &str, call: &str, why: OpenError) -> Trouble {
    let remedy = match why {
        OpenError::Kernel(Errno::NOSPC | Errno::DQUOT) => "make the files smaller, or make room",
        OpenError::Kernel(Errno::OPNOTSUPP) => "this file system cannot do that, and the service needs it",
        OpenError::Kernel(Errno::MFILE | Errno::NFILE) => "raise the limit with `ulimit -n`",
        _ => "examine the file system",
    };
    let why = match why {
        OpenError::Kernel(why) => assay_base::Code(why.raw_os_error()).to_string(),
        why => why.to_string(),
    };
    Trouble::host(format!("{what} could not be made: {call} failed: {why}; {remedy}"))
}
