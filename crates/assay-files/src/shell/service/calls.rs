//! Makes the calls of one thread of a server, one at a time. What is written is made before, so that only the call itself
//! is timed.

use super::super::buffer::AlignedBuffer;
use super::super::kernel::{self, Access, Mapping};
use super::super::tree::OpenTree;
use super::open::{NOT_OPEN, OpenFile, OpenFiles, flags_of};
use crate::contents::Contents;
use crate::own_dir::OpenError;
use crate::service::{FileCall, FileState};
use assay_base::Code;
use assay_model::files::service::{MadeBy, Service, ServiceCall};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, OFlags};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Whoever receives what sendfile(2) sends: nobody reads it.
const NOBODY: &str = "/dev/null";

/// A call with all that it needs.
pub(super) struct ReadyCall {
    call: FileCall,
    /// The open file; none where the call opens it, or is about its name.
    file: Option<Arc<OpenFile>>,
    name: String,
    new_name: String,
}

/// See the module.
pub(super) struct ServiceCalls {
    tree: Arc<OpenTree>,
    files: Arc<OpenFiles>,
    service: Arc<Service>,
    payload: AlignedBuffer,
    room: AlignedBuffer,
    mappings: BTreeMap<usize, Mapping>,
    nobody: Option<OwnedFd>,
}

impl ServiceCalls {
    pub(super) fn new(tree: Arc<OpenTree>, files: Arc<OpenFiles>, service: Arc<Service>) -> ServiceCalls {
        ServiceCalls {
            tree,
            files,
            service,
            payload: AlignedBuffer::default(),
            room: AlignedBuffer::default(),
            mappings: BTreeMap::new(),
            nobody: None,
        }
    }

    /// Makes the bytes and names that a call needs; `state` is its file.
    ///
    /// # Errors
    /// The call cannot be made.
    pub(super) fn prepare(&mut self, call: FileCall, state: &FileState) -> Result<ReadyCall, Code> {
        let names = self.tree.own_dir().names();
        let new_name = call.new_name.map_or_else(String::new, |number| names.file(number));
        let name = names.file(state.name);
        let file = match call.call {
            ServiceCall::Create | ServiceCall::Rename | ServiceCall::Unlink | ServiceCall::FsyncDir => None,
            _ => Some(self.files.get(call.file)?),
        };
        let length = usize::try_from(call.length).map_err(|_| code_of(Errno::OVERFLOW))?;
        match call.call {
            ServiceCall::Write | ServiceCall::MmapWrite | ServiceCall::Zero => {
                let payload = self.payload.first(length);
                match call.version {
                    Some(version) => Contents::new(self.tree.run()).fill(version, call.offset, payload),
                    None => payload.fill(0),
                }
            }
            ServiceCall::Read => {
                self.room.first(length);
            }
            ServiceCall::Sendfile if self.nobody.is_none() => {
                self.nobody = Some(open_nobody()?);
            }
            _ => {}
        }
        if matches!(call.call, ServiceCall::MmapWrite | ServiceCall::Msync)
            && let Some(file) = &file
        {
            self.map_file(call.file, state.size, file)?;
        }
        Ok(ReadyCall { call, file, name, new_name })
    }

    /// Maps a whole file, unless it is.
    fn map_file(&mut self, file: usize, size: u64, open: &OpenFile) -> Result<(), Code> {
        let whole = 0..size.max(1);
        if !self.mappings.get(&file).is_some_and(|mapping| mapping.covers(&whole)) {
            let mapping = Mapping::new(open.descriptor.as_fd(), whole, Access::Write).map_err(code_of)?;
            self.mappings.insert(file, mapping);
        }
        Ok(())
    }

    /// Asks the kernel; returns the bytes that were moved.
    pub(super) fn execute(&mut self, ready: &ReadyCall) -> Result<u64, Code> {
        let ReadyCall { call, file, name, new_name } = ready;
        let directory = self.tree.own_dir().directory();
        let length = call.length as usize;
        let Some(file) = file else {
            return match call.call {
                ServiceCall::Create => self.create_file(call, name),
                ServiceCall::Rename => done_or_code(rustix::fs::renameat(directory, name, directory, new_name)),
                ServiceCall::Unlink => done_or_code(rustix::fs::unlinkat(directory, name, AtFlags::empty())),
                _ => done_or_code(rustix::fs::fsync(directory)),
            };
        };
        let descriptor = &file.descriptor;
        match call.call {
            ServiceCall::Write => moved_or_code(file.write(call.offset, self.payload.first(length))),
            ServiceCall::Zero => moved_or_code(rustix::io::pwrite(descriptor, self.payload.first(length), call.offset)),
            ServiceCall::Read => moved_or_code(rustix::io::pread(descriptor, self.room.first(length), call.offset)),
            ServiceCall::Sendfile => self.send_to_nobody(call, descriptor),
            ServiceCall::Fallocate => {
                let made_by = self.kind_made_by(call);
                let flags = super::making::allocation_flags(made_by);
                done_or_code(rustix::fs::fallocate(descriptor, flags, 0, call.length))
            }
            ServiceCall::Truncate => done_or_code(rustix::fs::ftruncate(descriptor, call.offset)),
            ServiceCall::Fsync => done_or_code(rustix::fs::fsync(descriptor)),
            ServiceCall::Fdatasync => done_or_code(rustix::fs::fdatasync(descriptor)),
            ServiceCall::FlushRange => {
                done_or_code(kernel::flush_range(descriptor.as_fd(), range_of(call), kernel::FlushWait::No))
            }
            ServiceCall::AwaitRange => {
                done_or_code(kernel::flush_range(descriptor.as_fd(), range_of(call), kernel::FlushWait::Yes))
            }
            ServiceCall::MmapWrite => {
                let mapping = self.mappings.get(&call.file).ok_or(NOT_OPEN)?;
                moved_or_code(mapping.write_at(call.offset, self.payload.first(length)))
            }
            ServiceCall::Msync => done_or_code(self.mappings.get(&call.file).ok_or(NOT_OPEN)?.synchronise()),
            ServiceCall::Create | ServiceCall::Rename | ServiceCall::Unlink | ServiceCall::FsyncDir => Ok(0),
        }
    }

    fn create_file(&self, call: &FileCall, name: &str) -> Result<u64, Code> {
        let flags = flags_of(self.service.files[call.kind].access);
        match self.tree.own_dir().directory().create_file(name, flags) {
            Ok(descriptor) => {
                self.files.insert(call.file, OpenFile::new(descriptor, &self.service.files[call.kind]));
                Ok(0)
            }
            Err(OpenError::Kernel(why)) => Err(code_of(why)),
            Err(OpenError::Foreign(_)) => Err(Code::FOREIGN),
        }
    }

    fn kind_made_by(&self, call: &FileCall) -> MadeBy {
        self.service.files[call.kind].made_by
    }

    fn send_to_nobody(&self, call: &FileCall, descriptor: &OwnedFd) -> Result<u64, Code> {
        let nobody = self.nobody.as_ref().ok_or(NOT_OPEN)?;
        let mut offset = call.offset;
        moved_or_code(rustix::fs::sendfile(nobody, descriptor, Some(&mut offset), call.length as usize))
    }

    /// What follows a call that has succeeded: a file that is gone is closed.
    pub(super) fn settle(&mut self, ready: &ReadyCall) -> Result<(), Code> {
        if ready.call.call == ServiceCall::Unlink {
            self.mappings.remove(&ready.call.file);
            return self.files.close(ready.call.file);
        }
        Ok(())
    }
}

#[expect(clippy::disallowed_methods, reason = "it is neither a file of ours nor a target")]
fn open_nobody() -> Result<OwnedFd, Code> {
    rustix::fs::open(NOBODY, OFlags::WRONLY | OFlags::CLOEXEC, rustix::fs::Mode::empty()).map_err(code_of)
}

fn range_of(call: &FileCall) -> Range<u64> {
    call.offset..call.offset + call.length
}

fn code_of(why: Errno) -> Code {
    Code(why.raw_os_error())
}

fn done_or_code(result: rustix::io::Result<()>) -> Result<u64, Code> {
    result.map(|()| 0).map_err(code_of)
}

fn moved_or_code(result: rustix::io::Result<usize>) -> Result<u64, Code> {
    result.map(|bytes| bytes as u64).map_err(code_of)
}
