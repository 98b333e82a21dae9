//! The file system around the disk: one directory with `disk`, `ctl` and `truth`.
//!
//! All files are opened for direct I/O, so that every read and write of a client arrives here. A client may create
//! `disk` itself, like a scratch file, instead of finding it.

use crate::service::Service;
use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags, KernelConfig,
    LockOwner, OpenFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen,
    ReplyStatfs, ReplyWrite, Request, TimeOrNow, WriteFlags,
};
use std::ffi::OsStr;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Upper bound on the operations that the kernel keeps here at once; its default of 12 would be an additional queue.
const MAX_BACKGROUND: u16 = 1024;
/// The kernel caches nothing.
const TTL: Duration = Duration::ZERO;
/// Largest disk that a client may create.
const ROOM: u64 = 4 << 30;

const DISK: u64 = 2;
const CTL: u64 = 3;
const TRUTH: u64 = 4;
const NAMES: [(u64, &str); 3] = [(DISK, "disk"), (CTL, "ctl"), (TRUTH, "truth")];

/// The file system.
pub(crate) struct Files {
    pub service: Service,
    /// Whether `disk` exists.
    pub there: AtomicBool,
}

impl Files {
    fn inode(&self, name: &OsStr) -> Option<u64> {
        let (inode, _) = NAMES.iter().find(|(_, known)| OsStr::new(known) == name)?;
        (*inode != DISK || self.there.load(Ordering::SeqCst)).then_some(*inode)
    }

    fn attributes(&self, inode: u64) -> FileAttr {
        let size = if inode == DISK { self.service.size() } else { 0 };
        let root = inode == 1;
        FileAttr {
            ino: INodeNo(inode),
            size,
            blocks: size.div_ceil(512),
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind: if root { FileType::Directory } else { FileType::RegularFile },
            perm: if root { 0o755 } else { 0o644 },
            nlink: if root { 2 } else { 1 },
            // SAFETY: neither call has arguments or can fail.
            uid: unsafe { libc::geteuid() },
            // SAFETY: as above.
            gid: unsafe { libc::getegid() },
            rdev: 0,
            blksize: 4096,
            flags: 0,
        }
    }
}

fn direct() -> FopenFlags {
    FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES
}

impl Filesystem for Files {
    fn init(&mut self, _req: &Request, config: &mut KernelConfig) -> io::Result<()> {
        let needs = |_| io::Error::other("this kernel's FUSE has no asynchronous direct I/O");
        config.add_capabilities(InitFlags::FUSE_ASYNC_DIO).map_err(needs)?;
        let _ = config.set_max_background(MAX_BACKGROUND);
        let _ = config.set_congestion_threshold(MAX_BACKGROUND);
        let _ = config.set_max_write(1 << 20);
        Ok(())
    }

    fn lookup(&self, _req: &Request, _parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match self.inode(name) {
            Some(inode) => reply.entry(&TTL, &self.attributes(inode), Generation(0)),
            None => reply.error(Errno::from_i32(libc::ENOENT)),
        }
    }

    fn getattr(&self, _req: &Request, ino: INodeNo, _fh: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&TTL, &self.attributes(ino.into()));
    }

    fn setattr(
        &self,
        _req: &Request,
        ino: INodeNo,
        _mode: Option<u32>,
        _uid: Option<u32>,
        _gid: Option<u32>,
        size: Option<u64>,
        _atime: Option<TimeOrNow>,
        _mtime: Option<TimeOrNow>,
        _ctime: Option<SystemTime>,
        _fh: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<fuser::BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let inode = ino.into();
        if let Some(size) = size.filter(|_| inode == DISK) {
            if size > ROOM {
                return reply.error(Errno::from_i32(libc::ENOSPC));
            }
            self.service.resize(size);
        }
        reply.attr(&TTL, &self.attributes(inode));
    }

    fn create(
        &self,
        _req: &Request,
        _parent: INodeNo,
        name: &OsStr,
        _mode: u32,
        _umask: u32,
        _flags: i32,
        reply: ReplyCreate,
    ) {
        if name != "disk" || self.there.swap(true, Ordering::SeqCst) {
            return reply.error(Errno::from_i32(libc::EPERM));
        }
        reply.created(&TTL, &self.attributes(DISK), Generation(0), FileHandle(0), direct());
    }

    fn unlink(&self, _req: &Request, _parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        if name == "disk" && self.there.swap(false, Ordering::SeqCst) {
            self.service.resize(0);
            return reply.ok();
        }
        reply.error(Errno::from_i32(libc::EPERM));
    }

    fn open(&self, _req: &Request, _ino: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), direct());
    }

    fn read(
        &self,
        _req: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match ino.into() {
            DISK => self.service.read(offset, size, reply),
            TRUTH => {
                let text = self.service.truth().to_string();
                let from = (offset as usize).min(text.len());
                reply.data(&text.as_bytes()[from..(from + size as usize).min(text.len())]);
            }
            _ => reply.data(&[]),
        }
    }

    fn write(
        &self,
        _req: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        match ino.into() {
            DISK => self.service.write(offset, data, reply),
            CTL => match std::str::from_utf8(data).map_err(|e| e.to_string()).and_then(|text| self.service.set(text)) {
                Ok(()) => reply.written(data.len() as u32),
                Err(_) => reply.error(Errno::from_i32(libc::EINVAL)),
            },
            _ => reply.error(Errno::from_i32(libc::EROFS)),
        }
    }

    fn fallocate(
        &self,
        _req: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let end = offset.saturating_add(length);
        if u64::from(ino) != DISK || mode != 0 {
            return reply.error(Errno::from_i32(libc::EOPNOTSUPP));
        }
        if end > ROOM {
            return reply.error(Errno::from_i32(libc::ENOSPC));
        }
        self.service.resize(end.max(self.service.size()));
        reply.ok();
    }

    fn fsync(&self, _req: &Request, _ino: INodeNo, _fh: FileHandle, _datasync: bool, reply: ReplyEmpty) {
        self.service.flush(reply);
    }

    fn flush(&self, _req: &Request, _ino: INodeNo, _fh: FileHandle, _lock_owner: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn statfs(&self, _req: &Request, _ino: INodeNo, reply: ReplyStatfs) {
        let (blocks, free) = (ROOM / 4096, (ROOM - self.service.size().min(ROOM)) / 4096);
        reply.statfs(blocks, free, free, 4, 4, 4096, 255, 4096);
    }

    fn readdir(&self, _req: &Request, _ino: INodeNo, _fh: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let there = NAMES.iter().filter(|(_, name)| self.inode(OsStr::new(name)).is_some());
        let files = there.map(|(inode, name)| (*inode, FileType::RegularFile, *name));
        let all = [(1, FileType::Directory, "."), (1, FileType::Directory, "..")].into_iter().chain(files);
        for (at, (inode, kind, name)) in all.enumerate().skip(offset as usize) {
            if reply.add(INodeNo(inode), at as u64 + 1, kind, name) {
                break;
            }
        }
        reply.ok();
    }
}
