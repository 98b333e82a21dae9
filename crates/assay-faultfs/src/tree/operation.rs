//! The calls that a tree tells apart.

use std::fmt;

/// A kind of call, under the name that it has in settings and in the account.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum TreeOperation {
    /// The kernel looks for a name; every call on a path begins with one for each component.
    Lookup,
    /// Makes a file and opens it.
    Create,
    /// Opens a file.
    Open,
    /// A descriptor is closed: what close(2) returns.
    Close,
    /// Attributes are asked for.
    Stat,
    /// access(2).
    Access,
    /// A part of a listing.
    Readdir,
    /// Reads a symbolic link.
    Readlink,
    /// Reads bytes, also for the page cache.
    Read,
    /// Writes bytes, also from the page cache.
    Write,
    /// Sets a size.
    Truncate,
    /// fsync(2) and fdatasync(2).
    Fsync,
    /// The same of a directory.
    FsyncDir,
    /// Gives another name.
    Rename,
    /// Gives a second name.
    Link,
    /// Makes a symbolic link.
    Symlink,
    /// Removes a name.
    Unlink,
    /// Makes a directory.
    Mkdir,
    /// Removes a directory.
    Rmdir,
    /// Makes a file without opening it.
    Mknod,
    /// Sets permissions, owners or times.
    Chmod,
    /// Asks how full the file system is.
    Statfs,
    /// Reserves or punches space.
    Fallocate,
    /// Locks and unlocks bytes (fcntl(2)).
    Lock,
    /// Reads or lists extended attributes.
    Getxattr,
    /// Sets or removes an extended attribute.
    Setxattr,
    /// copy_file_range(2).
    CopyRange,
}

impl TreeOperation {
    /// All of them, each with its name.
    pub const ALL: [(TreeOperation, &'static str); 27] = [
        (TreeOperation::Lookup, "lookup"),
        (TreeOperation::Create, "create"),
        (TreeOperation::Open, "open"),
        (TreeOperation::Close, "close"),
        (TreeOperation::Stat, "stat"),
        (TreeOperation::Access, "access"),
        (TreeOperation::Readdir, "readdir"),
        (TreeOperation::Readlink, "readlink"),
        (TreeOperation::Read, "read"),
        (TreeOperation::Write, "write"),
        (TreeOperation::Truncate, "truncate"),
        (TreeOperation::Fsync, "fsync"),
        (TreeOperation::FsyncDir, "fsync-dir"),
        (TreeOperation::Rename, "rename"),
        (TreeOperation::Link, "link"),
        (TreeOperation::Symlink, "symlink"),
        (TreeOperation::Unlink, "unlink"),
        (TreeOperation::Mkdir, "mkdir"),
        (TreeOperation::Rmdir, "rmdir"),
        (TreeOperation::Mknod, "mknod"),
        (TreeOperation::Chmod, "chmod"),
        (TreeOperation::Statfs, "statfs"),
        (TreeOperation::Fallocate, "fallocate"),
        (TreeOperation::Lock, "lock"),
        (TreeOperation::Getxattr, "getxattr"),
        (TreeOperation::Setxattr, "setxattr"),
        (TreeOperation::CopyRange, "copy-range"),
    ];

    /// The operation of a name.
    pub fn from_name(name: &str) -> Option<TreeOperation> {
        TreeOperation::ALL.iter().find(|(_, known)| *known == name).map(|(operation, _)| *operation)
    }

    /// Whether it changes something, so that a file system that is read-only refuses it.
    pub fn changes_something(self) -> bool {
        use TreeOperation::{
            Chmod, CopyRange, Create, Fallocate, Link, Mkdir, Mknod, Rename, Rmdir, Setxattr, Symlink, Truncate,
            Unlink, Write,
        };
        matches!(
            self,
            Chmod
                | CopyRange
                | Create
                | Fallocate
                | Link
                | Mkdir
                | Mknod
                | Rename
                | Rmdir
                | Setxattr
                | Symlink
                | Truncate
                | Unlink
                | Write
        )
    }
}

impl fmt::Display for TreeOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = TreeOperation::ALL.iter().find(|(operation, _)| operation == self);
        f.pad(found.map_or("", |(_, name)| name))
    }
}
