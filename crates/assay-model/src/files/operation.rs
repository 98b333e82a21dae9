//! The operations on a file system: what a step of a sequence can be, and what a stream of the log counts.

use assay_base::Direction;
use serde::{Deserialize, Serialize};
use std::fmt;

/// An operation on a file, a directory or a file system. Its name in workload files and logs is the same word in
/// kebab case.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// Makes a file that is not there, and opens it.
    Create,
    /// Opens a file that is there.
    Open,
    /// Closes a file; a network file system tells lost writes here.
    Close,
    /// Asks by name what a file is.
    Stat,
    /// Asks by descriptor what a file is.
    Fstat,
    /// Asks by name what may be done with a file.
    Access,
    /// Lists a whole directory.
    Readdir,
    /// Reads where a symbolic link leads.
    Readlink,
    /// Reads bytes.
    Read,
    /// Writes bytes from the beginning on.
    Write,
    /// Writes bytes behind the end.
    Append,
    /// Writes bytes over others.
    Overwrite,
    /// Cuts a file.
    Truncate,
    /// Waits until a file is on stable media.
    Fsync,
    /// Waits until the bytes of a file are on stable media.
    Fdatasync,
    /// Waits until the names in a directory are on stable media.
    FsyncDir,
    /// Gives a file another name, over another file where one has it.
    Rename,
    /// Gives a file a second name.
    Link,
    /// Makes a symbolic link.
    Symlink,
    /// Removes a name.
    Unlink,
    /// Makes a directory.
    Mkdir,
    /// Removes an empty directory.
    Rmdir,
    /// Makes a file without opening it.
    Mknod,
    /// Changes who may do what with a file.
    Chmod,
    /// Asks how full the file system is.
    Statfs,
    /// Reserves space behind the end; it reads as zeros.
    Fallocate,
    /// Gives space inside back; it reads as zeros.
    Punch,
    /// Reads bytes through a mapping.
    MmapRead,
    /// Writes bytes through a mapping.
    MmapWrite,
    /// Waits until the bytes of a mapping are on stable media.
    Msync,
    /// Reads bytes, changes them and writes them back.
    Rmw,
    /// Locks bytes of a file.
    Lock,
    /// Unlocks them.
    Unlock,
    /// Reads an extended attribute.
    Getxattr,
    /// Writes an extended attribute.
    Setxattr,
    /// Copies bytes inside the file system, by reference where it can.
    CopyRange,
}

impl Operation {
    /// All of them.
    pub const ALL: [Operation; 36] = [
        Operation::Create,
        Operation::Open,
        Operation::Close,
        Operation::Stat,
        Operation::Fstat,
        Operation::Access,
        Operation::Readdir,
        Operation::Readlink,
        Operation::Read,
        Operation::Write,
        Operation::Append,
        Operation::Overwrite,
        Operation::Truncate,
        Operation::Fsync,
        Operation::Fdatasync,
        Operation::FsyncDir,
        Operation::Rename,
        Operation::Link,
        Operation::Symlink,
        Operation::Unlink,
        Operation::Mkdir,
        Operation::Rmdir,
        Operation::Mknod,
        Operation::Chmod,
        Operation::Statfs,
        Operation::Fallocate,
        Operation::Punch,
        Operation::MmapRead,
        Operation::MmapWrite,
        Operation::Msync,
        Operation::Rmw,
        Operation::Lock,
        Operation::Unlock,
        Operation::Getxattr,
        Operation::Setxattr,
        Operation::CopyRange,
    ];

    /// Its word in workload files and logs.
    pub fn name(self) -> &'static str {
        match self {
            Operation::Create => "create",
            Operation::Open => "open",
            Operation::Close => "close",
            Operation::Stat => "stat",
            Operation::Fstat => "fstat",
            Operation::Access => "access",
            Operation::Readdir => "readdir",
            Operation::Readlink => "readlink",
            Operation::Read => "read",
            Operation::Write => "write",
            Operation::Append => "append",
            Operation::Overwrite => "overwrite",
            Operation::Truncate => "truncate",
            Operation::Fsync => "fsync",
            Operation::Fdatasync => "fdatasync",
            Operation::FsyncDir => "fsync-dir",
            Operation::Rename => "rename",
            Operation::Link => "link",
            Operation::Symlink => "symlink",
            Operation::Unlink => "unlink",
            Operation::Mkdir => "mkdir",
            Operation::Rmdir => "rmdir",
            Operation::Mknod => "mknod",
            Operation::Chmod => "chmod",
            Operation::Statfs => "statfs",
            Operation::Fallocate => "fallocate",
            Operation::Punch => "punch",
            Operation::MmapRead => "mmap-read",
            Operation::MmapWrite => "mmap-write",
            Operation::Msync => "msync",
            Operation::Rmw => "rmw",
            Operation::Lock => "lock",
            Operation::Unlock => "unlock",
            Operation::Getxattr => "getxattr",
            Operation::Setxattr => "setxattr",
            Operation::CopyRange => "copy-range",
        }
    }

    /// The operation of a name.
    pub fn from_name(name: &str) -> Option<Operation> {
        Operation::ALL.into_iter().find(|operation| operation.name() == name)
    }

    /// The direction under which a log counts it: reading is what only asks for something.
    pub fn direction(self) -> Direction {
        match self {
            Operation::Open
            | Operation::Stat
            | Operation::Fstat
            | Operation::Access
            | Operation::Readdir
            | Operation::Readlink
            | Operation::Read
            | Operation::Statfs
            | Operation::MmapRead
            | Operation::Getxattr => Direction::Read,
            _ => Direction::Write,
        }
    }

    /// Whether it moves bytes of files, which a log counts.
    pub fn moves_bytes(self) -> bool {
        match self {
            Operation::Read | Operation::MmapRead => true,
            Operation::Rmw | Operation::CopyRange => true,
            _ => self.writes_bytes(),
        }
    }

    /// Whether it writes bytes that follow from run, file, generation and offset.
    pub fn writes_bytes(self) -> bool {
        use Operation::{Append, MmapWrite, Overwrite, Rmw, Write};
        matches!(self, Append | MmapWrite | Overwrite | Rmw | Write)
    }

    /// Whether it ends only when something is on stable media.
    pub fn makes_durable(self) -> bool {
        matches!(self, Operation::Fsync | Operation::Fdatasync | Operation::FsyncDir | Operation::Msync)
    }

    /// Whether files or names are others when it has succeeded. What others own is never changed.
    pub fn changes_something(self) -> bool {
        match self {
            Operation::Create | Operation::Mknod | Operation::Mkdir | Operation::Symlink | Operation::Link => true,
            Operation::Truncate | Operation::Fallocate | Operation::Punch | Operation::CopyRange => true,
            Operation::Chmod | Operation::Setxattr => true,
            _ => self.writes_bytes() || self.removes_names(),
        }
    }

    /// Whether a name that was there may be gone when it has succeeded.
    pub fn removes_names(self) -> bool {
        matches!(self, Operation::Rename | Operation::Unlink | Operation::Rmdir)
    }

    /// Whether it works on a file that is open.
    pub fn needs_descriptor(self) -> bool {
        match self {
            Operation::Close | Operation::Fstat | Operation::Read | Operation::Truncate => true,
            Operation::Fsync | Operation::Fdatasync | Operation::Fallocate | Operation::Punch => true,
            Operation::MmapRead | Operation::Msync | Operation::Lock | Operation::Unlock => true,
            Operation::Getxattr | Operation::Setxattr | Operation::CopyRange => true,
            _ => self.writes_bytes(),
        }
    }

    /// Whether it is about a directory or the whole file system instead of a file.
    pub fn is_of_directory(self) -> bool {
        matches!(self, Operation::Readdir | Operation::FsyncDir | Operation::Statfs)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_that_of_the_log_and_reads_back() {
        let mut names: Vec<&str> = Vec::new();
        for operation in Operation::ALL {
            let name = operation.name();
            assert_eq!(serde_json::to_string(&operation).unwrap(), format!("\"{name}\""));
            assert_eq!((Operation::from_name(name), operation.to_string().as_str()), (Some(operation), name));
            names.push(name);
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!((names.len(), Operation::from_name("erase")), (Operation::ALL.len(), None));
    }

    #[test]
    fn what_only_asks_is_read_and_changes_nothing() {
        let reads: Vec<&str> =
            Operation::ALL.into_iter().filter(|at| at.direction() == Direction::Read).map(Operation::name).collect();
        let expected = "open stat fstat access readdir readlink read statfs mmap-read getxattr";
        assert_eq!(reads.join(" "), expected);
        for operation in Operation::ALL {
            assert!(operation.direction() == Direction::Write || !operation.changes_something(), "{operation}");
            assert!(!operation.writes_bytes() || operation.moves_bytes() && operation.needs_descriptor());
        }
        let moving: Vec<&str> = Operation::ALL.into_iter().filter(|at| at.moves_bytes()).map(Operation::name).collect();
        assert_eq!(moving.join(" "), "read write append overwrite mmap-read mmap-write rmw copy-range");
        let durable = Operation::ALL.into_iter().filter(|at| at.makes_durable()).map(Operation::name);
        assert_eq!(durable.collect::<Vec<&str>>().join(" "), "fsync fdatasync fsync-dir msync");
    }
}
