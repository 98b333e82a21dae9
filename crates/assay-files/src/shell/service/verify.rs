//! Compares the files of a server with what its threads wrote: each that must be there is, has its size, and has every
//! byte of what was durable. What is read does not come from the page cache.

use super::super::buffer::AlignedBuffer;
use super::super::faults::{TreeFault, Verification};
use super::super::transfer::{self, Way};
use super::super::tree::OpenTree;
use super::super::workers::{Parts, run_workers};
use crate::contents::Contents;
use crate::own_dir::OpenError;
use crate::service::{FileState, ServiceScript};
use crate::trouble::Trouble;
use assay_base::Code;
use rustix::fd::OwnedFd;
use rustix::fs::{Advice, OFlags};
use rustix::io::Errno;

/// Bytes that are read and compared at a time.
const STEP: u64 = 1 << 20;
/// Threads that compare.
const MOST_WORKERS: u32 = 4;

/// Compares all files of a server. A file on which a call failed is left out.
///
/// # Errors
/// Host: no thread could be started. What differs is no error, but a fault.
pub fn verify_service(tree: &OpenTree, script: &ServiceScript) -> Result<Verification, Trouble> {
    let files = script.files().all();
    let parts = Parts::new(files.len() as u64);
    let found = run_workers(MOST_WORKERS, &parts, |parts| {
        let mut verifier =
            ServiceVerifier { tree, script, buffer: AlignedBuffer::default(), found: Verification::default() };
        while let Some(part) = parts.take().filter(|_| !tree.is_stopped()) {
            verifier.compare_file(part as usize);
        }
        Ok(verifier.found)
    })?;
    let mut sum = Verification::default();
    found.into_iter().for_each(|found| sum.add(found));
    Ok(sum)
}

struct ServiceVerifier<'a> {
    tree: &'a OpenTree,
    script: &'a ServiceScript,
    buffer: AlignedBuffer,
    found: Verification,
}

impl ServiceVerifier<'_> {
    fn compare_file(&mut self, file: usize) {
        let state = self.script.files().file(file);
        if state.is_unsure {
            self.found.unsure += 1;
            return;
        }
        if !state.exists {
            return;
        }
        self.found.names += 1;
        let (opened, way) = match self.open_to_read(state) {
            Ok(opened) => opened,
            Err(OpenError::Kernel(Errno::NOENT)) => {
                return self.add_fault(state, Code::LOST, None, "it is not there".to_owned());
            }
            Err(why) => return self.add_fault(state, Code::LOST, None, format!("it cannot be opened: {why}")),
        };
        let there = rustix::fs::fstat(&opened).map_or(0, |facts| facts.st_size as u64);
        if there != state.size {
            let (kind, at) = if there < state.size { (Code::LOST, there) } else { (Code::CORRUPT, state.size) };
            let text = format!("it has {there} bytes, and must have {}", state.size);
            return self.add_fault(state, kind, Some(at), text);
        }
        if let Err(why) = self.compare_bytes(file, state, &opened, way) {
            self.add_fault(state, Code::LOST, None, format!("it cannot be read: {}", Code(why.raw_os_error())));
        }
    }

    fn add_fault(&mut self, state: &FileState, kind: Code, offset: Option<u64>, text: String) {
        let described = &self.script.service().files[state.kind].name;
        let path = format!("{} ({described})", self.tree.own_dir().names().file(state.name));
        self.found.add_fault(TreeFault { path, kind, offset, text });
    }

    fn open_to_read(&self, state: &FileState) -> Result<(OwnedFd, Way), OpenError> {
        match super::open::open_again(self.tree, state.name, OFlags::RDONLY | OFlags::DIRECT) {
            Ok(file) => Ok((file, Way::Direct)),
            Err(OpenError::Kernel(Errno::INVAL)) => {
                let file = super::open::open_again(self.tree, state.name, OFlags::RDONLY)?;
                rustix::fs::fdatasync(&file)?;
                rustix::fs::fadvise(&file, 0, None, Advice::DontNeed)?;
                Ok((file, Way::Buffered))
            }
            Err(why) => Err(why),
        }
    }

    fn compare_bytes(&mut self, file: usize, state: &FileState, opened: &OwnedFd, way: Way) -> Result<(), Errno> {
        let contents = Contents::new(self.tree.run());
        let end = state.known_bytes().min(state.size);
        let mut offset = 0;
        while offset < end && !self.tree.is_stopped() {
            let length = STEP.min(end - offset);
            let buffer = self.buffer.first(length as usize);
            let read = transfer::read_at(opened, way, offset, buffer)?;
            let pieces = state.pieces(file, offset..offset + length);
            if let Err(damage) = contents.check(&pieces, offset, &buffer[..read]) {
                let found = damage.found.map_or(String::new(), |head| {
                    format!("; it says to be generation {} of file {}", head.stamp.generation, head.file)
                });
                let text = format!("other bytes than were written{found}");
                self.add_fault(state, damage.kind, Some(damage.offset), text);
                return Ok(());
            }
            self.found.bytes += read as u64;
            offset += length;
        }
        Ok(())
    }
}
