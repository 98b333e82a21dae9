//! How bytes are read and written in each of the ways that a workload can ask for: through the page cache, past it, or
//! through it without staying there.

use super::buffer::ALIGNED;
use assay_model::files::CachePolicy;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::OFlags;
use rustix::io::{IoSlice, IoSliceMut, ReadWriteFlags, Result};

/// RWF_DONTCACHE (include/uapi/linux/fs.h), which Linux knows since 6.14.
const DONTCACHE: ReadWriteFlags = ReadWriteFlags::from_bits_retain(0x80);

/// How a file that is open is read and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Through the page cache.
    Buffered,
    /// Past it; the ragged end of a range goes through it.
    Direct,
    /// Through it, and nothing stays there.
    DontCache,
}

impl Way {
    /// The way of a policy.
    pub(super) fn from_policy(policy: CachePolicy) -> Way {
        match policy {
            CachePolicy::Direct => Way::Direct,
            CachePolicy::DontCache => Way::DontCache,
            CachePolicy::Drop | CachePolicy::Warm => Way::Buffered,
        }
    }

    /// What a file is opened with.
    pub(super) fn open_flags(self) -> OFlags {
        match self {
            Way::Direct => OFlags::DIRECT,
            Way::Buffered | Way::DontCache => OFlags::empty(),
        }
    }

    fn flags(self) -> ReadWriteFlags {
        match self {
            Way::DontCache => DONTCACHE,
            Way::Buffered | Way::Direct => ReadWriteFlags::empty(),
        }
    }
}

/// Reads from `offset` on until the buffer is full or the file ends.
pub(super) fn read_at(file: &OwnedFd, way: Way, offset: u64, buffer: &mut [u8]) -> Result<usize> {
    if way != Way::Direct {
        return read_all(file.as_fd(), way, offset, buffer);
    }
    let body = aligned_length(offset, buffer.len());
    let (aligned, ragged) = buffer.split_at_mut(body);
    let read = if body > 0 { read_all(file.as_fd(), way, offset, aligned)? } else { 0 };
    if read < body || ragged.is_empty() {
        return Ok(read);
    }
    let rest = through_cache(file, way, || read_all(file.as_fd(), way, offset + body as u64, ragged))?;
    Ok(read + rest)
}

fn read_all(file: BorrowedFd<'_>, way: Way, offset: u64, buffer: &mut [u8]) -> Result<usize> {
    let mut done = 0;
    while done < buffer.len() {
        let (at, rest) = (offset + done as u64, &mut buffer[done..]);
        let read = match way {
            Way::DontCache => rustix::io::preadv2(file, &mut [IoSliceMut::new(rest)], at, way.flags())?,
            Way::Buffered | Way::Direct => rustix::io::pread(file, rest, at)?,
        };
        if read == 0 {
            break;
        }
        done += read;
    }
    Ok(done)
}

/// Writes once at `offset`; the kernel may take fewer bytes than there are.
pub(super) fn write_at(file: &OwnedFd, way: Way, offset: u64, bytes: &[u8]) -> Result<usize> {
    match way {
        Way::Buffered => rustix::io::pwrite(file, bytes, offset),
        Way::DontCache => rustix::io::pwritev2(file, &[IoSlice::new(bytes)], offset, way.flags()),
        Way::Direct => {
            let body = aligned_length(offset, bytes.len());
            let (aligned, ragged) = bytes.split_at(body);
            let written = if body > 0 { rustix::io::pwrite(file, aligned, offset)? } else { 0 };
            if written < body || ragged.is_empty() {
                return Ok(written);
            }
            let rest = through_cache(file, way, || rustix::io::pwrite(file, ragged, offset + body as u64));
            if written > 0 { Ok(written + rest.unwrap_or(0)) } else { rest }
        }
    }
}

/// Writes all bytes at `offset`, through the page cache.
pub(super) fn write_all(file: &OwnedFd, offset: u64, bytes: &[u8]) -> Result<()> {
    let mut done = 0;
    while done < bytes.len() {
        done += rustix::io::pwrite(file, &bytes[done..], offset + done as u64)?;
    }
    Ok(())
}

/// Writes once at the end of a file that was opened for that.
pub(super) fn append(file: &OwnedFd, way: Way, bytes: &[u8]) -> Result<usize> {
    match way {
        Way::DontCache => rustix::io::pwritev2(file, &[IoSlice::new(bytes)], u64::MAX, way.flags()),
        Way::Buffered | Way::Direct => rustix::io::write(file, bytes),
    }
}

/// How many bytes of a range can be moved past the page cache.
fn aligned_length(offset: u64, length: usize) -> usize {
    if offset.is_multiple_of(ALIGNED as u64) { length / ALIGNED * ALIGNED } else { 0 }
}

/// Moves bytes through the page cache on a file, also if it is open for direct I/O: the ragged end of a range, and what
/// the kernel copies.
pub(super) fn through_cache<T>(file: &OwnedFd, way: Way, moves: impl FnOnce() -> Result<T>) -> Result<T> {
    if way != Way::Direct {
        return moves();
    }
    let flags = rustix::fs::fcntl_getfl(file)?;
    rustix::fs::fcntl_setfl(file, flags.difference(OFlags::DIRECT))?;
    let moved = moves();
    rustix::fs::fcntl_setfl(file, flags)?;
    moved
}
