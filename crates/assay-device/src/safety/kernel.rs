//! What the kernel answers about an open file: the few ioctls the gate needs. Numbers from include/uapi/linux/fs.h,
//! loop.h and fiemap.h.

use super::roots::DevNum;
use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{AtFlags, StatxFlags};
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

/// Bytes of a block device.
pub fn size(fd: BorrowedFd<'_>) -> Result<u64, Errno> {
    // SAFETY: BLKGETSIZE64 stores one u64.
    unsafe { ioctl(fd, Getter::<BLKGETSIZE64, u64>::new()) }
}

/// Whether a block device refuses writes.
pub fn read_only(fd: BorrowedFd<'_>) -> Result<bool, Errno> {
    // SAFETY: BLKROGET stores one int.
    unsafe { ioctl(fd, Getter::<BLKROGET, i32>::new()) }.map(|flag| flag != 0)
}

/// Tells a block device that none of its `size` bytes are needed any more; what they read as afterwards is the device's affair.
pub fn discard(fd: BorrowedFd<'_>, size: u64) -> Result<(), Errno> {
    // SAFETY: BLKDISCARD reads two u64, offset and length.
    unsafe { ioctl(fd, Setter::<BLKDISCARD, [u64; 2]>::new([0, size])) }
}

/// The number the kernel gives each disk once (Linux 5.15 and later).
pub fn disk_sequence(fd: BorrowedFd<'_>) -> Option<u64> {
    // SAFETY: BLKGETDISKSEQ stores one u64.
    unsafe { ioctl(fd, Getter::<BLKGETDISKSEQ, u64>::new()) }.ok()
}

/// What a loop device stands on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoopBacking {
    /// Device of the file system the backing file lies on.
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
pub fn loop_backing(fd: impl AsFd) -> Result<LoopBacking, Errno> {
    // SAFETY: LOOP_GET_STATUS64 stores one `struct loop_info64`, 232 bytes, which LoopInfo mirrors.
    let info = unsafe { ioctl(fd, Getter::<LOOP_GET_STATUS64, LoopInfo>::new()) }?;
    let _ = info.rest;
    let block = (info.rdevice != 0).then(|| DevNum::of(info.rdevice));
    Ok(LoopBacking { device: DevNum::of(info.device), inode: info.inode, block })
}

/// Memory and offset alignment direct I/O wants (statx DIOALIGN, Linux 6.1 and later). `None`: the kernel or the file
/// system does not say; `Some((0, 0))`: no direct I/O on this file.
pub fn direct_alignment(fd: BorrowedFd<'_>) -> Option<(u32, u32)> {
    let stat = rustix::fs::statx(fd, c"", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN).ok()?;
    let told = stat.stx_mask & StatxFlags::DIOALIGN.bits() != 0;
    told.then_some((stat.stx_dio_mem_align, stat.stx_dio_offset_align))
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
pub fn shared_extent(fd: BorrowedFd<'_>) -> Result<Option<u64>, Errno> {
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
        // SAFETY: FS_IOC_FIEMAP reads the header and stores at most `count` extents behind it, which `map` has room for.
        unsafe { ioctl(fd, Updater::<FS_IOC_FIEMAP, Fiemap>::new(&mut map)) }?;
        let found = &map.extents[..(map.mapped as usize).min(EXTENTS)];
        if let Some(shared) = found.iter().find(|e| e.flags & FIEMAP_EXTENT_SHARED != 0) {
            return Ok(Some(shared.logical));
        }
        match found.last() {
            Some(last) if last.flags & FIEMAP_EXTENT_LAST == 0 && last.length > 0 => start = last.logical + last.length,
            _ => return Ok(None),
        }
    }
}
