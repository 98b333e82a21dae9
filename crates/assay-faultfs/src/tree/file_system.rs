//! The requests of the kernel, each carried out by the service and answered at its time.
//!
//! The kernel caches pages, so that files can be mapped, and nothing else: names and attributes are asked for each time.

use super::answers::Send;
use super::entries::{Entries, FIRST_COOKIE};
use super::locks::ByteLock;
use super::memory::{BLOCK, Content, Fallible, Making, ROOT};
use super::operation::TreeOperation;
use super::service::{State, TreeService};
use fuser::{
    AccessFlags, CopyFileRangeFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation,
    INodeNo, InitFlags, KernelConfig, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData,
    ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyLock, ReplyOpen, ReplyStatfs, ReplyWrite, ReplyXattr, Request,
    TimeOrNow, WriteFlags,
};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Names and attributes are never cached.
const TTL: Duration = Duration::ZERO;
/// Upper bound on the requests that the kernel keeps here at once; its default of 12 would be an additional queue.
const MAX_BACKGROUND: u16 = 1024;
/// What statfs says where no limit is set.
const USUAL_SPACE: u64 = 1 << 40;
const USUAL_FILES: u64 = 1 << 30;

const CTL: u64 = 2;
const TRUTH: u64 = 3;

/// See the module.
pub(crate) struct TreeFileSystem {
    pub service: TreeService,
}

/// The files of the control: they have no faults.
fn control_inode(directory: INodeNo, name: &OsStr) -> Option<u64> {
    match name.as_bytes() {
        b"ctl" if directory.0 == ROOT => Some(CTL),
        b"truth" if directory.0 == ROOT => Some(TRUTH),
        _ => None,
    }
}

fn is_control(inode: INodeNo) -> bool {
    matches!(inode.0, CTL | TRUTH)
}

fn attributes_of_control(inode: u64) -> FileAttr {
    FileAttr {
        ino: INodeNo(inode),
        size: 0,
        blocks: 0,
        atime: UNIX_EPOCH,
        mtime: UNIX_EPOCH,
        ctime: UNIX_EPOCH,
        crtime: UNIX_EPOCH,
        kind: FileType::RegularFile,
        perm: 0o644,
        nlink: 1,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: 4096,
        flags: 0,
    }
}

fn send_empty(result: Fallible<()>, reply: ReplyEmpty) -> Send {
    Box::new(move || match result {
        Ok(()) => reply.ok(),
        Err(errno) => reply.error(Errno::from_i32(errno)),
    })
}

fn send_entry(result: Fallible<FileAttr>, reply: ReplyEntry) -> Send {
    Box::new(move || match result {
        Ok(attributes) => reply.entry(&TTL, &attributes, Generation(0)),
        Err(errno) => reply.error(Errno::from_i32(errno)),
    })
}

fn send_attributes(result: Fallible<FileAttr>, reply: ReplyAttr) -> Send {
    Box::new(move || match result {
        Ok(attributes) => reply.attr(&TTL, &attributes),
        Err(errno) => reply.error(Errno::from_i32(errno)),
    })
}

fn send_data(result: Fallible<Vec<u8>>, reply: ReplyData) -> Send {
    Box::new(move || match result {
        Ok(data) => reply.data(&data),
        Err(errno) => reply.error(Errno::from_i32(errno)),
    })
}

fn send_written(result: Fallible<u32>, reply: ReplyWrite) -> Send {
    Box::new(move || match result {
        Ok(bytes) => reply.written(bytes),
        Err(errno) => reply.error(Errno::from_i32(errno)),
    })
}

/// An extended attribute, or how long it is where the kernel asks with a length of 0.
fn send_attribute(result: Fallible<Vec<u8>>, size: u32, reply: ReplyXattr) -> Send {
    Box::new(move || match result {
        Ok(value) if size == 0 => reply.size(value.len() as u32),
        Ok(value) if value.len() > size as usize => reply.error(Errno::ERANGE),
        Ok(value) => reply.data(&value),
        Err(errno) => reply.error(Errno::from_i32(errno)),
    })
}

/// Makes something and tells the kernel of it.
fn make_known(
    state: &mut State,
    directory: INodeNo,
    name: &OsStr,
    content: Content,
    making: Making,
) -> Fallible<FileAttr> {
    let inode = state.memory.make(directory.0, name, content, making)?;
    state.memory.look_up(inode)
}

fn making(request: &Request, mode: u32, device: u32) -> Making {
    Making { mode, owner: (request.uid(), request.gid()), device }
}

impl TreeFileSystem {
    fn answer_empty(&self, operation: TreeOperation, taken: Instant, result: Fallible<()>, reply: ReplyEmpty) {
        self.service.answer(operation, taken, send_empty(result, reply));
    }

    fn answer_entry(&self, operation: TreeOperation, taken: Instant, result: Fallible<FileAttr>, reply: ReplyEntry) {
        self.service.answer(operation, taken, send_entry(result, reply));
    }

    /// A line for the control. The kernel is told by a thread of its own, because this one takes its requests.
    fn set_control(&self, data: &[u8], reply: ReplyWrite) {
        let set = std::str::from_utf8(data).map_err(|e| e.to_string()).and_then(|text| self.service.set(text));
        match set {
            Ok(inodes) => {
                let service = self.service.clone();
                std::thread::spawn(move || service.forget_pages(&inodes));
                reply.written(data.len() as u32);
            }
            Err(_) => reply.error(Errno::EINVAL),
        }
    }
}

impl Filesystem for TreeFileSystem {
    fn init(&mut self, _req: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // Without them the kernel keeps locks itself, reads one piece after another, or lists without attributes.
        for capability in [InitFlags::FUSE_ASYNC_DIO, InitFlags::FUSE_POSIX_LOCKS, InitFlags::FUSE_PARALLEL_DIROPS] {
            let _ = config.add_capabilities(capability);
        }
        let _ = config.set_max_background(MAX_BACKGROUND);
        let _ = config.set_congestion_threshold(MAX_BACKGROUND);
        let _ = config.set_max_write(1 << 20);
        Ok(())
    }

    fn lookup(&self, _req: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if let Some(inode) = control_inode(parent, name) {
            return reply.entry(&TTL, &attributes_of_control(inode), Generation(0));
        }
        let taken = Instant::now();
        let found = self.service.carry_out(TreeOperation::Lookup, |state| {
            let inode = state.memory.find_name(parent.0, name)?;
            state.memory.look_up(inode)
        });
        self.answer_entry(TreeOperation::Lookup, taken, found, reply);
    }

    fn forget(&self, _req: &Request, ino: INodeNo, nlookup: u64) {
        if !is_control(ino) && ino.0 != ROOT {
            self.service.state().memory.forget(ino.0, nlookup);
        }
    }

    fn getattr(&self, _req: &Request, ino: INodeNo, _fh: Option<FileHandle>, reply: ReplyAttr) {
        if is_control(ino) {
            return reply.attr(&TTL, &attributes_of_control(ino.0));
        }
        let taken = Instant::now();
        let found = self.service.carry_out(TreeOperation::Stat, |state| state.memory.attributes(ino.0));
        self.service.answer(TreeOperation::Stat, taken, send_attributes(found, reply));
    }

    fn setattr(
        &self,
        _req: &Request,
        ino: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
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
        if is_control(ino) {
            return reply.attr(&TTL, &attributes_of_control(ino.0));
        }
        let taken = Instant::now();
        let operation = if size.is_some() { TreeOperation::Truncate } else { TreeOperation::Chmod };
        let changed = self.service.carry_out(operation, |state| {
            if let Some(size) = size {
                state.memory.resize(ino.0, size)?;
            }
            let node = state.memory.node_mut(ino.0)?;
            node.set_owner(uid, gid);
            if let Some(mode) = mode {
                node.set_mode(mode);
            }
            state.memory.attributes(ino.0)
        });
        self.service.answer(operation, taken, send_attributes(changed, reply));
    }

    fn readlink(&self, _req: &Request, ino: INodeNo, reply: ReplyData) {
        let taken = Instant::now();
        let target =
            self.service.carry_out(TreeOperation::Readlink, |state| match &state.memory.node(ino.0)?.content {
                Content::Symlink(target) => Ok(target.as_bytes().to_vec()),
                _ => Err(libc::EINVAL),
            });
        self.service.answer(TreeOperation::Readlink, taken, send_data(target, reply));
    }

    fn mknod(
        &self,
        req: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        rdev: u32,
        reply: ReplyEntry,
    ) {
        let taken = Instant::now();
        let content = match mode & libc::S_IFMT {
            libc::S_IFIFO => Content::Special(FileType::NamedPipe),
            libc::S_IFSOCK => Content::Special(FileType::Socket),
            libc::S_IFCHR => Content::Special(FileType::CharDevice),
            libc::S_IFBLK => Content::Special(FileType::BlockDevice),
            _ => Content::File(Vec::new()),
        };
        let made = self
            .service
            .carry_out(TreeOperation::Mknod, |state| make_known(state, parent, name, content, making(req, mode, rdev)));
        self.answer_entry(TreeOperation::Mknod, taken, made, reply);
    }

    fn mkdir(&self, req: &Request, parent: INodeNo, name: &OsStr, mode: u32, _umask: u32, reply: ReplyEntry) {
        let taken = Instant::now();
        let made = self.service.carry_out(TreeOperation::Mkdir, |state| {
            make_known(state, parent, name, Content::Directory(Entries::default()), making(req, mode, 0))
        });
        self.answer_entry(TreeOperation::Mkdir, taken, made, reply);
    }

    fn symlink(&self, req: &Request, parent: INodeNo, link_name: &OsStr, target: &Path, reply: ReplyEntry) {
        let taken = Instant::now();
        let made = self.service.carry_out(TreeOperation::Symlink, |state| {
            make_known(state, parent, link_name, Content::Symlink(target.as_os_str().to_owned()), making(req, 0o777, 0))
        });
        self.answer_entry(TreeOperation::Symlink, taken, made, reply);
    }

    fn unlink(&self, _req: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let taken = Instant::now();
        let removed = self.service.carry_out(TreeOperation::Unlink, |state| state.unlink(parent.0, name));
        self.answer_empty(TreeOperation::Unlink, taken, removed, reply);
    }

    fn rmdir(&self, _req: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let taken = Instant::now();
        let removed = self.service.carry_out(TreeOperation::Rmdir, |state| state.memory.rmdir(parent.0, name));
        self.answer_empty(TreeOperation::Rmdir, taken, removed, reply);
    }

    fn rename(
        &self,
        _req: &Request,
        parent: INodeNo,
        name: &OsStr,
        newparent: INodeNo,
        newname: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let taken = Instant::now();
        let renamed = self.service.carry_out(TreeOperation::Rename, |state| {
            let memory = &mut state.memory;
            if flags.contains(RenameFlags::RENAME_EXCHANGE) {
                return memory.exchange((parent.0, name), (newparent.0, newname));
            }
            let is_there = memory.find_name(newparent.0, newname).is_ok();
            if flags.contains(RenameFlags::RENAME_NOREPLACE) && is_there {
                return Err(libc::EEXIST);
            }
            memory.rename((parent.0, name), (newparent.0, newname))
        });
        self.answer_empty(TreeOperation::Rename, taken, renamed, reply);
    }

    fn link(&self, _req: &Request, ino: INodeNo, newparent: INodeNo, newname: &OsStr, reply: ReplyEntry) {
        let taken = Instant::now();
        let linked = self.service.carry_out(TreeOperation::Link, |state| {
            state.memory.link(ino.0, newparent.0, newname)?;
            state.memory.look_up(ino.0)
        });
        self.answer_entry(TreeOperation::Link, taken, linked, reply);
    }

    fn open(&self, _req: &Request, ino: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        if is_control(ino) {
            return reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
        }
        let taken = Instant::now();
        let opened = self.service.carry_out(TreeOperation::Open, |state| state.memory.node(ino.0).map(drop));
        let send: Send = Box::new(move || match opened {
            Ok(()) => reply.opened(FileHandle(0), FopenFlags::empty()),
            Err(errno) => reply.error(Errno::from_i32(errno)),
        });
        self.service.answer(TreeOperation::Open, taken, send);
    }

    fn create(
        &self,
        req: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        _flags: i32,
        reply: ReplyCreate,
    ) {
        let taken = Instant::now();
        let made = self.service.carry_out(TreeOperation::Create, |state| {
            make_known(state, parent, name, Content::File(Vec::new()), making(req, mode, 0))
        });
        let send: Send = Box::new(move || match made {
            Ok(attributes) => {
                reply.created(&TTL, &attributes, Generation(0), FileHandle(0), FopenFlags::empty());
            }
            Err(errno) => reply.error(Errno::from_i32(errno)),
        });
        self.service.answer(TreeOperation::Create, taken, send);
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
        if is_control(ino) {
            let text = if ino.0 == TRUTH { self.service.truth().to_string() } else { String::new() };
            let from = (offset as usize).min(text.len());
            return reply.data(&text.as_bytes()[from..(from + size as usize).min(text.len())]);
        }
        let taken = Instant::now();
        let data =
            self.service.carry_out(TreeOperation::Read, |state| state.memory.read(ino.0, offset, u64::from(size)));
        self.service.answer(TreeOperation::Read, taken, send_data(data, reply));
    }

    fn write(
        &self,
        _req: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        offset: u64,
        data: &[u8],
        write_flags: WriteFlags,
        flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        if is_control(ino) {
            return self.set_control(data, reply);
        }
        let taken = Instant::now();
        let appends = flags.0 & libc::O_APPEND != 0 && !write_flags.contains(WriteFlags::FUSE_WRITE_CACHE);
        let written = self.service.carry_out(TreeOperation::Write, |state| {
            let offset = if appends { state.memory.file_bytes(ino.0)?.len() as u64 } else { offset };
            state.write(ino.0, offset, data)
        });
        self.service.answer(TreeOperation::Write, taken, send_written(written, reply));
    }

    fn flush(&self, _req: &Request, ino: INodeNo, _fh: FileHandle, lock_owner: LockOwner, reply: ReplyEmpty) {
        if is_control(ino) {
            return reply.ok();
        }
        let taken = Instant::now();
        let closed = self.service.carry_out(TreeOperation::Close, |_| Ok(()));
        self.service.release_locks(ino.0, lock_owner.0);
        self.answer_empty(TreeOperation::Close, taken, closed, reply);
    }

    fn fsync(&self, _req: &Request, ino: INodeNo, _fh: FileHandle, _datasync: bool, reply: ReplyEmpty) {
        if is_control(ino) {
            return reply.ok();
        }
        let taken = Instant::now();
        let synced = self.service.carry_out(TreeOperation::Fsync, |_| Ok(()));
        self.answer_empty(TreeOperation::Fsync, taken, synced, reply);
    }

    fn fsyncdir(&self, _req: &Request, _ino: INodeNo, _fh: FileHandle, _datasync: bool, reply: ReplyEmpty) {
        let taken = Instant::now();
        let synced = self.service.carry_out(TreeOperation::FsyncDir, |_| Ok(()));
        self.answer_empty(TreeOperation::FsyncDir, taken, synced, reply);
    }

    fn readdir(&self, _req: &Request, ino: INodeNo, _fh: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let taken = Instant::now();
        let listed = self.service.carry_out(TreeOperation::Readdir, |state| {
            let above = state.memory.directory_above(ino.0);
            for (cookie, inode, name) in [(1, ino.0, "."), (2, above, "..")] {
                if offset < cookie && reply.add(INodeNo(inode), cookie, FileType::Directory, name) {
                    return Ok(());
                }
            }
            for (name, inode, cookie) in state.memory.entries(ino.0)?.names_behind(offset.max(FIRST_COOKIE - 1)) {
                let kind = state.memory.node(inode)?.kind();
                if reply.add(INodeNo(inode), cookie, kind, name) {
                    break;
                }
            }
            Ok(())
        });
        let send: Send = Box::new(move || match listed {
            Ok(()) => reply.ok(),
            Err(errno) => reply.error(Errno::from_i32(errno)),
        });
        self.service.answer(TreeOperation::Readdir, taken, send);
    }

    fn statfs(&self, _req: &Request, _ino: INodeNo, reply: ReplyStatfs) {
        let taken = Instant::now();
        let asked = self.service.carry_out(TreeOperation::Statfs, |state| {
            let memory = &state.memory;
            let blocks = memory.space.unwrap_or(USUAL_SPACE) / BLOCK;
            let files = memory.most_nodes.unwrap_or(USUAL_FILES);
            let free = blocks.saturating_sub(memory.bytes.div_ceil(BLOCK));
            Ok((blocks, free, files, files.saturating_sub(memory.count())))
        });
        let send: Send = Box::new(move || match asked {
            Ok((blocks, free, files, files_free)) => {
                reply.statfs(blocks, free, free, files, files_free, BLOCK as u32, 255, BLOCK as u32);
            }
            Err(errno) => reply.error(Errno::from_i32(errno)),
        });
        self.service.answer(TreeOperation::Statfs, taken, send);
    }

    fn setxattr(
        &self,
        _req: &Request,
        ino: INodeNo,
        name: &OsStr,
        value: &[u8],
        flags: i32,
        _position: u32,
        reply: ReplyEmpty,
    ) {
        let taken = Instant::now();
        let set = self.service.carry_out(TreeOperation::Setxattr, |state| {
            let attributes = &mut state.memory.node_mut(ino.0)?.attributes;
            let is_there = attributes.contains_key(name);
            if flags & libc::XATTR_CREATE != 0 && is_there {
                return Err(libc::EEXIST);
            }
            if flags & libc::XATTR_REPLACE != 0 && !is_there {
                return Err(libc::ENODATA);
            }
            attributes.insert(name.to_owned(), value.to_vec());
            Ok(())
        });
        self.answer_empty(TreeOperation::Setxattr, taken, set, reply);
    }

    fn getxattr(&self, _req: &Request, ino: INodeNo, name: &OsStr, size: u32, reply: ReplyXattr) {
        // The kernel itself asks for these before each write: no call of a client.
        if is_control(ino) || name.as_bytes().starts_with(b"security.") || name.as_bytes().starts_with(b"system.") {
            return reply.error(Errno::ENODATA);
        }
        let taken = Instant::now();
        let value = self.service.carry_out(TreeOperation::Getxattr, |state| {
            state.memory.node(ino.0)?.attributes.get(name).cloned().ok_or(libc::ENODATA)
        });
        self.service.answer(TreeOperation::Getxattr, taken, send_attribute(value, size, reply));
    }

    fn listxattr(&self, _req: &Request, ino: INodeNo, size: u32, reply: ReplyXattr) {
        let taken = Instant::now();
        let names = self.service.carry_out(TreeOperation::Getxattr, |state| {
            let mut names = Vec::new();
            for name in state.memory.node(ino.0)?.attributes.keys() {
                names.extend_from_slice(name.as_bytes());
                names.push(0);
            }
            Ok(names)
        });
        self.service.answer(TreeOperation::Getxattr, taken, send_attribute(names, size, reply));
    }

    fn removexattr(&self, _req: &Request, ino: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let taken = Instant::now();
        let removed = self.service.carry_out(TreeOperation::Setxattr, |state| {
            state.memory.node_mut(ino.0)?.attributes.remove(name).map(drop).ok_or(libc::ENODATA)
        });
        self.answer_empty(TreeOperation::Setxattr, taken, removed, reply);
    }

    fn access(&self, _req: &Request, ino: INodeNo, _mask: AccessFlags, reply: ReplyEmpty) {
        if is_control(ino) {
            return reply.ok();
        }
        let taken = Instant::now();
        let allowed = self.service.carry_out(TreeOperation::Access, |state| state.memory.node(ino.0).map(drop));
        self.answer_empty(TreeOperation::Access, taken, allowed, reply);
    }

    fn getlk(
        &self,
        _req: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        lock_owner: LockOwner,
        start: u64,
        end: u64,
        typ: i32,
        pid: u32,
        reply: ReplyLock,
    ) {
        let wish = ByteLock { inode: ino.0, owner: lock_owner.0, start, end, kind: typ, pid };
        match self.service.state().locks.find_conflict(&wish) {
            Some(held) => reply.locked(held.start, held.end, held.kind, held.pid),
            None => reply.locked(start, end, libc::F_UNLCK, 0),
        }
    }

    fn setlk(
        &self,
        _req: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        lock_owner: LockOwner,
        start: u64,
        end: u64,
        typ: i32,
        pid: u32,
        sleep: bool,
        reply: ReplyEmpty,
    ) {
        let wish = ByteLock { inode: ino.0, owner: lock_owner.0, start, end, kind: typ, pid };
        self.service.lock(wish, sleep, reply);
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
        let taken = Instant::now();
        let allocated = self
            .service
            .carry_out(TreeOperation::Fallocate, |state| state.memory.fallocate(ino.0, offset, length, mode));
        self.answer_empty(TreeOperation::Fallocate, taken, allocated, reply);
    }

    fn copy_file_range(
        &self,
        _req: &Request,
        ino_in: INodeNo,
        _fh_in: FileHandle,
        offset_in: u64,
        ino_out: INodeNo,
        _fh_out: FileHandle,
        offset_out: u64,
        len: u64,
        _flags: CopyFileRangeFlags,
        reply: ReplyWrite,
    ) {
        let taken = Instant::now();
        let copied = self.service.carry_out(TreeOperation::CopyRange, |state| {
            let data = state.memory.read(ino_in.0, offset_in, len.min(1 << 30))?;
            state.memory.write(ino_out.0, offset_out, &data).map(|()| data.len() as u32)
        });
        self.service.answer(TreeOperation::CopyRange, taken, send_written(copied, reply));
    }
}
