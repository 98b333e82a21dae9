//! Calls of the kernel that rustix does not have in a safe form: with `semaphores.rs` the only file of this room with
//! `unsafe` code.

use rustix::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd};
use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::mm::{MapFlags, MsyncFlags, ProtFlags};
use std::ffi::{CStr, c_long};
use std::ops::Range;

/// Numbers that are the same on every architecture (include/uapi/asm-generic/unistd.h).
const SYS_CACHESTAT: c_long = 451;
const SYS_FCHMODAT2: c_long = 452;
/// Pages of every architecture that we know are a power of two that divides this.
const LARGEST_PAGE: u64 = 65_536;

/// The error that the last call of this thread left.
fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

/// What a call returned: a number, or -1.
fn number_or_error(returned: c_long) -> Result<u64, Errno> {
    u64::try_from(returned).map_err(|_| last_error())
}

/// Closes a file and returns what the kernel says: some file systems report here that written bytes are lost. The
/// descriptor is gone in any case, also after an error (close(2), on Linux), so it is never closed twice.
pub(super) fn close_descriptor(descriptor: OwnedFd) -> Result<(), Errno> {
    // SAFETY: the descriptor was owned, and nobody else uses its number.
    let returned = unsafe { libc::close(descriptor.into_raw_fd()) };
    number_or_error(returned.into()).map(|_| ())
}

/// `struct fsuuid2` (include/uapi/linux/fs.h): how many bytes the UUID has, and 16 bytes.
type FileSystemUuid = [u8; 17];
/// FS_IOC_GETFSUUID, since Linux 6.9.
const GET_FILE_SYSTEM_UUID: rustix::ioctl::Opcode = rustix::ioctl::opcode::read::<FileSystemUuid>(0x15, 0);

/// The UUID of the file system of something that is open, in hexadecimal digits; none where it has none, or where the kernel does
/// not say it.
pub fn file_system_uuid(descriptor: impl AsFd) -> Option<String> {
    let mut answer = FileSystemUuid::default();
    // SAFETY: the call stores 17 bytes.
    let returned =
        unsafe { libc::ioctl(descriptor.as_fd().as_raw_fd(), GET_FILE_SYSTEM_UUID as _, answer.as_mut_ptr()) };
    number_or_error(returned.into()).ok()?;
    let bytes = answer[1..].get(..usize::from(answer[0])).filter(|bytes| !bytes.is_empty())?;
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// What becomes of a range of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LockChange {
    /// Nobody else can lock it.
    Lock,
    /// Others can.
    Unlock,
}

/// Locks or unlocks bytes of an open file, and waits for others. The lock belongs to the open file description: locks
/// of the process would not keep the clients of one process apart.
pub(super) fn change_lock(descriptor: BorrowedFd<'_>, bytes: Range<u64>, change: LockChange) -> Result<(), Errno> {
    let kind = match change {
        LockChange::Lock => libc::F_WRLCK,
        LockChange::Unlock => libc::F_UNLCK,
    };
    let start = i64::try_from(bytes.start).map_err(|_| Errno::OVERFLOW)?;
    let length = i64::try_from(bytes.end - bytes.start).map_err(|_| Errno::OVERFLOW)?;
    // SAFETY: `flock64` consists of numbers, for which zero is valid.
    let mut lock: libc::flock64 = unsafe { std::mem::zeroed() };
    (lock.l_type, lock.l_whence) = (kind as _, libc::SEEK_SET as _);
    (lock.l_start, lock.l_len) = (start, length);
    loop {
        // SAFETY: F_OFD_SETLKW reads one `flock64`, which lives until the call returns.
        let returned = unsafe { libc::fcntl(descriptor.as_raw_fd(), libc::F_OFD_SETLKW, &lock) };
        match number_or_error(returned.into()) {
            Err(Errno::INTR) => {}
            done => return done.map(|_| ()),
        }
    }
}

/// Changes the permissions of what has a name, without following a link. Before Linux 6.6 the kernel cannot do that in
/// one call, and the error is `ENOSYS`.
pub(super) fn change_mode(directory: BorrowedFd<'_>, name: &CStr, mode: Mode) -> Result<(), Errno> {
    // SAFETY: fchmodat2 reads a name that ends with zero and lives until the call returns.
    let returned = unsafe {
        libc::syscall(
            SYS_FCHMODAT2,
            directory.as_raw_fd(),
            name.as_ptr(),
            mode.as_raw_mode(),
            libc::AT_SYMLINK_NOFOLLOW,
        )
    };
    number_or_error(returned).map(|_| ())
}

/// Pages of a range of a file that are in the page cache.
pub(super) fn cached_pages(descriptor: BorrowedFd<'_>, bytes: Range<u64>) -> Result<u64, Errno> {
    // `struct cachestat_range` and `struct cachestat` (include/uapi/linux/mman.h).
    let range = [bytes.start, bytes.end - bytes.start];
    let mut counts = [0u64; 5];
    // SAFETY: cachestat reads two u64 and stores five.
    let returned =
        unsafe { libc::syscall(SYS_CACHESTAT, descriptor.as_raw_fd(), range.as_ptr(), counts.as_mut_ptr(), 0) };
    number_or_error(returned).map(|_| counts[0])
}

/// Whether bytes that are written back are waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FlushWait {
    /// Writing back begins.
    No,
    /// Until they are with the device. They need not be durable there.
    Yes,
}

/// Writes bytes of a file back (sync_file_range(2)).
pub(super) fn flush_range(descriptor: BorrowedFd<'_>, bytes: Range<u64>, wait: FlushWait) -> Result<(), Errno> {
    let offset = i64::try_from(bytes.start).map_err(|_| Errno::OVERFLOW)?;
    let length = i64::try_from(bytes.end - bytes.start).map_err(|_| Errno::OVERFLOW)?;
    let flags = match wait {
        FlushWait::No => libc::SYNC_FILE_RANGE_WRITE,
        FlushWait::Yes => {
            libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER
        }
    };
    // SAFETY: the call reads only its arguments.
    let returned = unsafe { libc::sync_file_range(descriptor.as_raw_fd(), offset, length, flags) };
    number_or_error(returned.into()).map(|_| ())
}

/// What a mapping is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// Its bytes are read.
    Read,
    /// They are also changed.
    Write,
}

/// Bytes of a file in memory, until it is dropped. They are never touched directly: where the file was cut, or where
/// its device fails, that would end the process with SIGBUS. The kernel copies them instead (process_vm_readv(2)), and
/// reports EFAULT there.
#[derive(Debug)]
pub(super) struct Mapping {
    address: *mut std::ffi::c_void,
    length: usize,
    /// Where the mapping begins in the file: at the beginning of a page.
    start: u64,
    /// The bytes that it was made for.
    bytes: Range<u64>,
}

impl Mapping {
    /// Maps bytes of a file, of which there is at least one.
    pub(super) fn new(descriptor: BorrowedFd<'_>, bytes: Range<u64>, access: Access) -> Result<Mapping, Errno> {
        let start = bytes.start / LARGEST_PAGE * LARGEST_PAGE;
        let length = usize::try_from(bytes.end - start).map_err(|_| Errno::OVERFLOW)?;
        let protection = match access {
            Access::Read => ProtFlags::READ,
            Access::Write => ProtFlags::READ | ProtFlags::WRITE,
        };
        // SAFETY: the kernel chooses an address where nothing is.
        let address =
            unsafe { rustix::mm::mmap(std::ptr::null_mut(), length, protection, MapFlags::SHARED, descriptor, start) }?;
        Ok(Mapping { address, length, start, bytes })
    }

    /// Whether it has all of these bytes.
    pub(super) fn covers(&self, bytes: &Range<u64>) -> bool {
        self.bytes.start <= bytes.start && bytes.end <= self.bytes.end
    }

    /// The address of the first of the bytes that it was made for.
    fn first_byte(&self) -> *mut std::ffi::c_void {
        // SAFETY: the bytes begin within the mapping, whose length reaches their end.
        unsafe { self.address.byte_add((self.bytes.start - self.start) as usize) }
    }

    /// Reads the bytes that it was made for, as many as fit. Less where the rest cannot be read.
    pub(super) fn read_into(&self, buffer: &mut [u8]) -> Result<usize, Errno> {
        let length = buffer.len().min((self.bytes.end - self.bytes.start) as usize);
        let local = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: length };
        let remote = libc::iovec { iov_base: self.first_byte(), iov_len: length };
        // SAFETY: the kernel stores `length` bytes, for which the buffer has room, and checks the other addresses.
        let returned = unsafe { libc::process_vm_readv(own_process(), &local, 1, &remote, 1, 0) };
        Ok(number_or_error(returned as c_long)? as usize)
    }

    /// Changes the bytes that it was made for, as many as are given.
    pub(super) fn write_from(&self, buffer: &[u8]) -> Result<usize, Errno> {
        let length = buffer.len().min((self.bytes.end - self.bytes.start) as usize);
        let local = libc::iovec { iov_base: buffer.as_ptr().cast_mut().cast(), iov_len: length };
        let remote = libc::iovec { iov_base: self.first_byte(), iov_len: length };
        // SAFETY: the kernel reads `length` bytes of the buffer. It stores them in the mapping, which no Rust value
        // is in.
        let returned = unsafe { libc::process_vm_writev(own_process(), &local, 1, &remote, 1, 0) };
        Ok(number_or_error(returned as c_long)? as usize)
    }

    /// Changes bytes somewhere in those that it was made for.
    pub(super) fn write_at(&self, offset: u64, buffer: &[u8]) -> Result<usize, Errno> {
        let end = offset.checked_add(buffer.len() as u64).ok_or(Errno::OVERFLOW)?;
        if !self.covers(&(offset..end)) {
            return Err(Errno::FAULT);
        }
        let local = libc::iovec { iov_base: buffer.as_ptr().cast_mut().cast(), iov_len: buffer.len() };
        // SAFETY: the offset lies within the mapping, as was just compared.
        let address = unsafe { self.first_byte().byte_add((offset - self.bytes.start) as usize) };
        let remote = libc::iovec { iov_base: address, iov_len: buffer.len() };
        // SAFETY: the kernel reads the buffer, and stores in the mapping, which no Rust value is in.
        let returned = unsafe { libc::process_vm_writev(own_process(), &local, 1, &remote, 1, 0) };
        Ok(number_or_error(returned as c_long)? as usize)
    }

    /// Waits until all of it is on stable media.
    pub(super) fn synchronise(&self) -> Result<(), Errno> {
        // SAFETY: msync changes nothing in the memory of the process.
        unsafe { rustix::mm::msync(self.address, self.length, MsyncFlags::SYNC) }
    }

    /// How many of its pages are in the page cache, and how many there are.
    pub(super) fn resident_pages(&self) -> Result<(u64, u64), Errno> {
        let page = rustix::param::page_size();
        let mut pages = vec![0u8; self.length.div_ceil(page)];
        // SAFETY: mincore stores a byte for each page of the mapping.
        let returned = unsafe { libc::mincore(self.address, self.length, pages.as_mut_ptr()) };
        number_or_error(returned.into())?;
        Ok((pages.iter().filter(|page| **page & 1 != 0).count() as u64, pages.len() as u64))
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: nothing refers to this memory, which was mapped by `new` alone.
        let _ = unsafe { rustix::mm::munmap(self.address, self.length) };
    }
}

fn own_process() -> libc::pid_t {
    std::process::id() as libc::pid_t
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::FileExt;

    #[test]
    fn a_mapping_reads_and_writes_and_survives_that_the_file_is_cut() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[7; 200_000]).unwrap();
        let mapping = Mapping::new(file.as_fd(), 100_001..150_001, Access::Write).unwrap();
        let mut read = vec![0; 50_000];
        assert_eq!(mapping.read_into(&mut read), Ok(50_000));
        assert!(read.iter().all(|byte| *byte == 7));
        assert_eq!(mapping.write_from(&[9; 50_000]), Ok(50_000));
        mapping.synchronise().unwrap();
        file.read_exact_at(&mut read, 100_001).unwrap();
        assert!(read.iter().all(|byte| *byte == 9));
        assert!(mapping.covers(&(120_000..150_001)) && !mapping.covers(&(100_000..100_002)));
        let (resident, pages) = mapping.resident_pages().unwrap();
        assert!(resident > 0 && resident <= pages);
        file.set_len(0).unwrap();
        assert_eq!(mapping.read_into(&mut read), Err(Errno::FAULT), "and not a signal that ends the process");
        assert_eq!(mapping.write_from(&read), Err(Errno::FAULT));
    }

    #[test]
    fn a_file_is_closed_once_and_a_lock_keeps_others_out() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let other = std::fs::File::options().write(true).open(file.path()).unwrap();
        let descriptor: OwnedFd = file.reopen().unwrap().into();
        change_lock(descriptor.as_fd(), 10..20, LockChange::Lock).unwrap();
        change_lock(other.as_fd(), 20..30, LockChange::Lock).unwrap();
        // The other one waits until the first is closed, and with it the lock is gone.
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| change_lock(other.as_fd(), 10..20, LockChange::Lock));
            change_lock(descriptor.as_fd(), 10..20, LockChange::Unlock).unwrap();
            assert_eq!(waits.join().unwrap(), Ok(()));
        });
        assert_eq!(close_descriptor(descriptor), Ok(()));
    }
}
