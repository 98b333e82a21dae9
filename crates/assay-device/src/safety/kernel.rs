//! What the kernel reports about an open file: the few ioctls that the gate needs. Numbers from
//! include/uapi/linux/fs.h, loop.h and fiemap.h.

use super::roots::DevNum;
use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{AtFlags, SeekFrom, StatxFlags};
use rustix::io::Errno;
use rustix::ioctl::{Getter, Opcode, Setter, Updater, ioctl};

const BLKROGET: Opcode = 0x125e;
const BLKDISCARD: Opcode = 0x1277;
const BLKGETSIZE64: Opcode = 0x8008_1272;
const BLKGETDISKSEQ: Opcode = 0x8008_1280;
const LOOP_GET_STATUS64: Opcode = 0x4c05;
const FS_IOC_FIEMAP: Opcode = 0xc020_660b;
const FIEMAP_FLAG_SYNC: u32 = 1;
const FIEMAP_EXTENT_LAST: u32 = 1;
const FIEMAP_EXTENT_SHARED: u32 = 0x2000;
/// Reserved, and not written.
const FIEMAP_EXTENT_UNWRITTEN: u32 = 0x800;
/// Written to the page cache, and not placed on the disk yet.
const FIEMAP_EXTENT_DELALLOC: u32 = 0x4;

/// Bytes of a block device.
pub(super) fn device_size(fd: BorrowedFd<'_>) -> Result<u64, Errno> {
    // SAFETY: BLKGETSIZE64 stores one u64.
    unsafe { ioctl(fd, Getter::<BLKGETSIZE64, u64>::new()) }
}

/// Whether a block device refuses writes.
pub(super) fn read_only(fd: BorrowedFd<'_>) -> Result<bool, Errno> {
    // SAFETY: BLKROGET stores one int.
    unsafe { ioctl(fd, Getter::<BLKROGET, i32>::new()) }.map(|flag| flag != 0)
}

/// Tells a block device that none of its `size` bytes are needed any more; what they read as afterwards depends on the
/// device.
pub(super) fn discard_device(fd: BorrowedFd<'_>, size: u64) -> Result<(), Errno> {
    // SAFETY: BLKDISCARD reads two u64, offset and length.
    unsafe { ioctl(fd, Setter::<BLKDISCARD, [u64; 2]>::new([0, size])) }
}

/// The number that the kernel gives to each disk once (Linux 5.15 and later).
pub(super) fn disk_sequence(fd: BorrowedFd<'_>) -> Option<u64> {
    // SAFETY: BLKGETDISKSEQ stores one u64.
    unsafe { ioctl(fd, Getter::<BLKGETDISKSEQ, u64>::new()) }.ok()
}

/// Whether two threads of a process have the same open files (kcmp(2)); false also where the kernel does not answer.
pub(super) fn share_files(process: u32, thread: u32) -> bool {
    const KCMP_FILES: libc::c_int = 2;
    let [process, thread] = [process, thread].map(|id| id as libc::pid_t);
    // SAFETY: kcmp compares by numbers and touches no memory of this process.
    unsafe { libc::syscall(libc::SYS_kcmp, process, thread, KCMP_FILES, 0, 0) == 0 }
}

/// The file or device that a loop device is built on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LoopBacking {
    /// Device of the file system that contains the backing file.
    pub device: DevNum,
    /// Inode of the backing file there.
    pub inode: u64,
    /// The block device, when the backing file is one.
    pub block: Option<DevNum>,
}

/// `struct loop_info64`.
#[repr(C)]
struct LoopInfo {
    device: u64,
    inode: u64,
    rdevice: u64,
    rest: [u8; 208],
}

/// The backing of a bound loop device.
pub(super) fn loop_backing(fd: impl AsFd) -> Result<LoopBacking, Errno> {
    // SAFETY: LOOP_GET_STATUS64 stores one `struct loop_info64`, 232 bytes, which LoopInfo mirrors.
    let info = unsafe { ioctl(fd, Getter::<LOOP_GET_STATUS64, LoopInfo>::new()) }?;
    let _ = info.rest;
    let block = (info.rdevice != 0).then(|| DevNum::from_stat(info.rdevice));
    Ok(LoopBacking { device: DevNum::from_stat(info.device), inode: info.inode, block })
}

/// Alignment of memory and offsets that direct I/O requires (statx DIOALIGN, Linux 6.1 and later). `None`: the kernel
/// or the file system does not report it; `Some((0, 0))`: no direct I/O on this file.
pub(super) fn direct_alignment(fd: BorrowedFd<'_>) -> Option<(u32, u32)> {
    let stat = rustix::fs::statx(fd, c"", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN).ok()?;
    let known = stat.stx_mask & StatxFlags::DIOALIGN.bits() != 0;
    known.then_some((stat.stx_dio_mem_align, stat.stx_dio_offset_align))
}

/// Whether an alignment can be used: zero says that there is no direct I/O.
pub(super) fn is_usable(alignment: &(u32, u32)) -> bool {
    let (memory, offset) = *alignment;
    memory > 0 && offset > 0
}

const EXTENTS: usize = 64;

#[repr(C)]
#[derive(Clone, Copy)]
struct Extent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

impl Extent {
    /// Whether its space is reserved, and nothing was written to it. One of no length is none of which that is known.
    fn is_unwritten(&self) -> bool {
        self.length > 0 && self.flags & FIEMAP_EXTENT_UNWRITTEN != 0 && self.flags & FIEMAP_EXTENT_DELALLOC == 0
    }
}

#[repr(C)]
struct Fiemap {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    count: u32,
    reserved: u32,
    extents: [Extent; EXTENTS],
}

/// The first byte of a file whose blocks another file shares (a reflink copy). `Ok(None)`: none is shared.
pub(super) fn shared_extent(fd: BorrowedFd<'_>) -> Result<Option<u64>, Errno> {
    first_extent(fd, |extent| extent.flags & FIEMAP_EXTENT_SHARED != 0)
}

/// The first byte of a file to which something may have been written; `None` where its space is at most reserved. What was written and has
/// not reached the disk yet is sent there first. A file system without extents, such as one in memory, is asked where its data begins.
pub(super) fn first_data(fd: BorrowedFd<'_>) -> Result<Option<u64>, Errno> {
    match first_extent(fd, |extent| !extent.is_unwritten()) {
        Err(Errno::OPNOTSUPP | Errno::NOTTY) => match rustix::fs::seek(fd, SeekFrom::Data(0)) {
            Ok(at) => Ok(Some(at)),
            Err(Errno::NXIO) => Ok(None),
            Err(e) => Err(e),
        },
        found => found,
    }
}

/// The beginning of the first extent of a file that `is` the one searched for.
fn first_extent(fd: BorrowedFd<'_>, is: fn(&Extent) -> bool) -> Result<Option<u64>, Errno> {
    let empty = Extent { logical: 0, physical: 0, length: 0, reserved64: [0; 2], flags: 0, reserved: [0; 3] };
    let mut start = 0;
    loop {
        let mut map = Fiemap {
            start,
            length: u64::MAX - start,
            flags: FIEMAP_FLAG_SYNC,
            mapped: 0,
            count: EXTENTS as u32,
            reserved: 0,
            extents: [empty; EXTENTS],
        };
        // SAFETY: FS_IOC_FIEMAP reads the header and stores at most `count` extents after it, for which `map` has
        // space.
        unsafe { ioctl(fd, Updater::<FS_IOC_FIEMAP, Fiemap>::new(&mut map)) }?;
        match search_extents(&map.extents[..(map.mapped as usize).min(EXTENTS)], is) {
            ExtentSearch::Found(at) => return Ok(Some(at)),
            ExtentSearch::More(from) => start = from,
            ExtentSearch::End => return Ok(None),
        }
    }
}

/// The result of one answer of FIEMAP for the search for an extent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ExtentSearch {
    /// The extent that begins at this byte.
    Found(u64),
    /// None of these; the next answer begins at this byte.
    More(u64),
    /// None of these, and there are no more.
    End,
}

/// An extent of length zero would be requested again for ever, so it ends the search like the last one.
fn search_extents(extents: &[Extent], is: fn(&Extent) -> bool) -> ExtentSearch {
    if let Some(found) = extents.iter().find(|extent| is(extent)) {
        return ExtentSearch::Found(found.logical);
    }
    match extents.last() {
        Some(last) if last.flags & FIEMAP_EXTENT_LAST == 0 && last.length > 0 => {
            ExtentSearch::More(last.logical + last.length)
        }
        _ => ExtentSearch::End,
    }
}

#[cfg(test)]
mod tests {
    use super::super::roots::read_number;
    use super::*;
    use crate::testbed::Loop;
    use std::fs::File;
    use std::os::unix::fs::FileExt;
    use std::path::Path;

    fn extent(logical: u64, length: u64, flags: u32) -> Extent {
        Extent { logical, physical: 1 << 30, length, reserved64: [0; 2], flags, reserved: [0; 3] }
    }

    #[test]
    fn the_first_shared_extent_is_found_among_flags_of_every_kind() {
        // Flags with other meanings: delayed allocation, data without alignment, reserved and not written.
        let others = 0x4 | 0x100 | 0x800;
        let shared = FIEMAP_EXTENT_SHARED;
        for (extents, seen) in [
            (vec![], ExtentSearch::End),
            (vec![extent(0, 4096, 0)], ExtentSearch::More(4096)),
            (vec![extent(0, 4096, others)], ExtentSearch::More(4096)),
            (vec![extent(0, 4096, FIEMAP_EXTENT_LAST)], ExtentSearch::End),
            (vec![extent(0, 4096, others | FIEMAP_EXTENT_LAST)], ExtentSearch::End),
            (vec![extent(0, 4096, 0), extent(12288, 8192, 0)], ExtentSearch::More(20480)),
            (vec![extent(0, 4096, 0), extent(12288, 0, 0)], ExtentSearch::End),
            (vec![extent(0, 4096, shared)], ExtentSearch::Found(0)),
            (
                vec![extent(0, 4096, 0), extent(8192, 4096, shared | others | FIEMAP_EXTENT_LAST)],
                ExtentSearch::Found(8192),
            ),
            (vec![extent(4096, 4096, shared), extent(8192, 4096, shared)], ExtentSearch::Found(4096)),
        ] {
            let told: Vec<_> = extents.iter().map(|e| (e.logical, e.length, e.flags)).collect();
            assert_eq!(search_extents(&extents, |extent| extent.flags & FIEMAP_EXTENT_SHARED != 0), seen, "{told:?}");
        }
    }

    #[test]
    fn only_what_was_reserved_and_not_written_is_unwritten() {
        let (unwritten, delayed) = (FIEMAP_EXTENT_UNWRITTEN, FIEMAP_EXTENT_DELALLOC);
        for (length, flags, is) in [
            (4096, 0, false),
            (4096, unwritten, true),
            (4096, unwritten | FIEMAP_EXTENT_LAST, true),
            (4096, delayed, false),
            (4096, unwritten | delayed, false),
            // Encoded, encrypted, inside the inode: data.
            (4096, 0x8 | 0x80 | 0x200, false),
            (0, unwritten, false),
        ] {
            assert_eq!(extent(0, length, flags).is_unwritten(), is, "{length} {flags:#x}");
        }
    }

    /// More extents than fit in one answer.
    #[test]
    fn a_file_in_many_pieces_of_its_own_shares_none() {
        let file = tempfile::tempfile().unwrap();
        for piece in 0..2 * EXTENTS as u64 + 3 {
            file.write_all_at(&[7; 4096], piece * 16384).unwrap();
        }
        file.sync_all().unwrap();
        // A file system in memory has no extents.
        assert!(matches!(shared_extent(file.as_fd()), Ok(None) | Err(Errno::OPNOTSUPP | Errno::NOTTY)));
    }

    fn release() -> (u32, u32) {
        let text = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
        let mut parts = text.split(['.', '-']).map(|part| part.trim().parse().unwrap_or(0));
        (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
    }

    /// What the kernel reports about an open device equals what sysfs reports.
    #[test]
    fn a_device_is_asked_for_its_sequence_and_alignment() {
        let mut sequences = Vec::new();
        for _ in 0..2 {
            let Some(device) = Loop::of(1 << 20) else { return };
            let dir = Path::new("/sys/block").join(device.path.file_name().unwrap());
            let told = |what: &str| read_number(&dir.join(what));
            let file = File::open(&device.path).unwrap();
            assert_eq!(disk_sequence(file.as_fd()), told("diskseq"));
            sequences.extend(told("diskseq"));
            let aligned = direct_alignment(file.as_fd()).map(|(memory, offset)| (memory.into(), offset.into()));
            let expected = told("queue/dma_alignment").zip(told("queue/logical_block_size"));
            let expected = expected.filter(|_| release() >= (6, 1)).map(|(mask, block)| (mask + 1, block));
            assert_eq!(aligned, expected);
        }
        assert!(sequences.windows(2).all(|pair| pair[0] < pair[1]), "each binding has a number of its own");
    }

    #[test]
    fn a_file_system_that_says_nothing_of_alignment_is_not_quoted() {
        // proc has no direct I/O, and no file system reports anything about a socket.
        let (socket, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        assert_eq!(direct_alignment(socket.as_fd()), None);
        let table = File::open("/proc/self/mountinfo").unwrap();
        assert_eq!(direct_alignment(table.as_fd()), None);
    }

    #[test]
    fn what_is_no_disk_has_no_disk_sequence_number() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(disk_sequence(file.as_fd()), None);
    }
}
