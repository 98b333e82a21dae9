//! One operation: what it does, where, and how it ended.

use std::fmt;

/// Which way the data goes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Direction {
    /// From the target.
    Read,
    /// To the target; destroys what was there.
    Write,
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Direction::Read => "read",
            Direction::Write => "write",
        })
    }
}

impl std::str::FromStr for Direction {
    type Err = String;
    fn from_str(text: &str) -> Result<Direction, String> {
        match text {
            "read" => Ok(Direction::Read),
            "write" => Ok(Direction::Write),
            _ => Err(format!("\"{}\" is not a direction; write read or write", text.escape_debug())),
        }
    }
}

/// One I/O on one target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Op {
    /// Index of the target in the plan's list.
    pub target: u16,
    /// Read or write.
    pub direction: Direction,
    /// A write that counts as complete only when it is on stable media (O_DSYNC).
    pub durable: bool,
    /// Byte offset from the start of the target.
    pub offset: u64,
    /// Length in bytes.
    pub len: u32,
}

/// The slot an operation occupies from submission to completion. Tickets are dense: `0..slots`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ticket(pub u32);

/// An error number of the operating system.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Errno(pub i32);

/// The names of the errors storage gives, by Linux number (include/uapi/asm-generic/errno*.h), and of damaged data, which no
/// system call reports.
const NAMES: [(i32, &str); 28] = [
    (-5, "foreign"),
    (-4, "corrupt"),
    (-3, "torn"),
    (-2, "misdirected"),
    (-1, "lost"),
    (0, "not submitted"),
    (1, "EPERM"),
    (4, "EINTR"),
    (5, "EIO"),
    (6, "ENXIO"),
    (9, "EBADF"),
    (11, "EAGAIN"),
    (12, "ENOMEM"),
    (14, "EFAULT"),
    (16, "EBUSY"),
    (19, "ENODEV"),
    (22, "EINVAL"),
    (27, "EFBIG"),
    (28, "ENOSPC"),
    (30, "EROFS"),
    (61, "ENODATA"),
    (84, "EILSEQ"),
    (103, "ECONNABORTED"),
    (107, "ENOTCONN"),
    (110, "ETIMEDOUT"),
    (116, "ESTALE"),
    (121, "EREMOTEIO"),
    (125, "ECANCELED"),
];

impl Errno {
    /// No error of the target: the engine broke, and the operation was never handed over.
    pub const NOT_SUBMITTED: Errno = Errno(0);
    /// What was read was there before a write that completed: the write is lost.
    pub const LOST: Errno = Errno(-1);
    /// What was read was written to another place.
    pub const MISDIRECTED: Errno = Errno(-2);
    /// What was read is a write in part only.
    pub const TORN: Errno = Errno(-3);
    /// What was read is a write of ours that was changed.
    pub const CORRUPT: Errno = Errno(-4);
    /// What was read was never written by this program, at a place that it has written.
    pub const FOREIGN: Errno = Errno(-5);
    /// Input/output error.
    pub const EIO: Errno = Errno(5);
    /// No space left on the target.
    pub const ENOSPC: Errno = Errno(28);
}

impl Errno {
    /// All kinds of damaged data.
    pub const DAMAGE: [Errno; 5] = [Errno::LOST, Errno::MISDIRECTED, Errno::TORN, Errno::CORRUPT, Errno::FOREIGN];
}

impl fmt::Display for Errno {
    /// The symbolic name (`EIO`), or `errno 999` for one that storage is not known to give.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|(number, _)| *number == self.0) {
            Some((_, name)) => f.pad(name),
            None => f.pad(&format!("errno {}", self.0)),
        }
    }
}
