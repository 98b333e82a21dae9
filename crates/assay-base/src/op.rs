//! One block operation: what it does, where, and the code that says how it ended.

use std::borrow::Cow;
use std::fmt;

/// The direction of the data.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Direction {
    /// From the target.
    #[default]
    Read,
    /// To the target; destroys the data there.
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

/// One block I/O on one target.
///
/// A flush is a durable write of no bytes: when it completes, all writes that completed before it are on stable media. No
/// other operation has a length of zero.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
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

impl Op {
    /// The flush of a target.
    pub const fn flush_on_target(target: u16) -> Op {
        Op { target, direction: Direction::Write, durable: true, offset: 0, len: 0 }
    }

    /// Whether it is a flush.
    #[inline(always)]
    pub const fn is_flush(&self) -> bool {
        self.len == 0 && self.durable
    }
}

/// The slot an operation occupies from submission to completion. Tickets are dense: `0..slots`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ticket(pub u32);

/// The reason why a request did not succeed, as a number that the device which carried it can
/// [name](crate::Device::code_name): an errno of the operating system (1 to 4095), a code of our own (zero and below), or a
/// code that the device defines (above 4095).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Code(pub i32);

/// The names of the errors of storage and of file systems, by Linux number (include/uapi/asm-generic/errno*.h), and of
/// damaged data, which no system call reports.
const NAMES: [(i32, &str); 48] = [
    (-5, "foreign"),
    (-4, "corrupt"),
    (-3, "torn"),
    (-2, "misdirected"),
    (-1, "lost"),
    (0, "not submitted"),
    (1, "EPERM"),
    (2, "ENOENT"),
    (4, "EINTR"),
    (5, "EIO"),
    (6, "ENXIO"),
    (9, "EBADF"),
    (11, "EAGAIN"),
    (12, "ENOMEM"),
    (13, "EACCES"),
    (14, "EFAULT"),
    (16, "EBUSY"),
    (17, "EEXIST"),
    (18, "EXDEV"),
    (19, "ENODEV"),
    (20, "ENOTDIR"),
    (21, "EISDIR"),
    (22, "EINVAL"),
    (23, "ENFILE"),
    (24, "EMFILE"),
    (26, "ETXTBSY"),
    (27, "EFBIG"),
    (28, "ENOSPC"),
    (30, "EROFS"),
    (31, "EMLINK"),
    (35, "EDEADLK"),
    (36, "ENAMETOOLONG"),
    (37, "ENOLCK"),
    (38, "ENOSYS"),
    (39, "ENOTEMPTY"),
    (40, "ELOOP"),
    (61, "ENODATA"),
    (75, "EOVERFLOW"),
    (84, "EILSEQ"),
    (95, "EOPNOTSUPP"),
    (103, "ECONNABORTED"),
    (107, "ENOTCONN"),
    (110, "ETIMEDOUT"),
    (112, "EHOSTDOWN"),
    (116, "ESTALE"),
    (121, "EREMOTEIO"),
    (122, "EDQUOT"),
    (125, "ECANCELED"),
];

impl Code {
    /// Not an error of the target: the engine failed, and the operation was never handed over.
    pub const NOT_SUBMITTED: Code = Code(0);
    /// The read returned data from before a write that completed: the write is lost. So is a file that was made, and that
    /// is not there.
    pub const LOST: Code = Code(-1);
    /// The read returned data that were written to another place.
    pub const MISDIRECTED: Code = Code(-2);
    /// The read returned only a part of a write.
    pub const TORN: Code = Code(-3);
    /// The read returned one of our writes, but changed.
    pub const CORRUPT: Code = Code(-4);
    /// The read returned data that this program never wrote, at a place that it has written. So is a file that was not
    /// made, and that is there.
    pub const FOREIGN: Code = Code(-5);
    /// Input/output error.
    pub const EIO: Code = Code(5);
    /// No such file or directory.
    pub const ENOENT: Code = Code(2);
    /// The file exists.
    pub const EEXIST: Code = Code(17);
    /// No space left on the target.
    pub const ENOSPC: Code = Code(28);
    /// There is no such attribute.
    pub const ENODATA: Code = Code(61);
}

impl Code {
    /// All kinds of damaged data.
    pub const DAMAGE: [Code; 5] = [Code::LOST, Code::MISDIRECTED, Code::TORN, Code::CORRUPT, Code::FOREIGN];
}

impl Code {
    /// The largest errno (Linux, include/linux/err.h).
    pub(crate) const LARGEST_ERRNO: i32 = 4095;
    /// The first code that stands for a text of five characters.
    const OF_TEXT: i32 = 1 << 24;

    /// The code of a name made of five digits and capital letters, such as an SQLSTATE (ISO/IEC 9075); `None` for any
    /// other text.
    pub fn of_text(text: &str) -> Option<Code> {
        // A longer text would not fit into a number.
        if text.len() != 5 {
            return None;
        }
        let mut number = 0;
        for c in text.chars() {
            number = number * 36 + c.to_digit(36).filter(|_| !c.is_ascii_lowercase())? as i32;
        }
        Some(Code(Code::OF_TEXT + number))
    }

    /// The names of all codes that have one, in the order of their numbers.
    pub fn all_names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(_, name)| *name)
    }

    /// True for an errno and for a code of our own.
    pub fn is_of_the_system(self) -> bool {
        self.0 <= Code::LARGEST_ERRNO
    }

    /// The symbolic name (`EIO`), the five characters it was made of (`40001`), or `errno 999` for one without a name.
    pub fn symbolic_name(self) -> Cow<'static, str> {
        if let Some((_, name)) = NAMES.iter().find(|(number, _)| *number == self.0) {
            return (*name).into();
        }
        match self.0.checked_sub(Code::OF_TEXT).filter(|number| (0..36i32.pow(5)).contains(number)) {
            Some(number) => (0..5).rev().map(|place| digit_of_text(number, place)).collect::<String>().into(),
            None if self.is_of_the_system() => format!("errno {}", self.0).into(),
            None => format!("code {}", self.0).into(),
        }
    }
}

/// The character at a place of a text of five, which stands for this number.
fn digit_of_text(number: i32, place: u32) -> char {
    let digit = char::from_digit((number / 36i32.pow(place) % 36) as u32, 36).unwrap_or('0');
    digit.to_ascii_uppercase()
}

impl fmt::Display for Code {
    /// Its [name](Code::symbolic_name).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.symbolic_name())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test panics to fail")]
mod tests {
    use super::*;

    #[test]
    fn codes_have_names() {
        for (code, name) in [(5, "EIO"), (0, "not submitted"), (-4, "corrupt"), (999, "errno 999"), (5000, "code 5000")]
        {
            assert_eq!(Code(code).to_string(), name);
        }
        assert!(NAMES.is_sorted_by_key(|(number, _)| *number));
        for (code, name) in
            [(Code::ENOENT, "ENOENT"), (Code::EEXIST, "EEXIST"), (Code(95), "EOPNOTSUPP"), (Code(122), "EDQUOT")]
        {
            assert_eq!(code.to_string(), name);
        }
        for text in ["40001", "40P01", "00000", "ZZZZZ", "HY000"] {
            let code = Code::of_text(text).unwrap();
            assert!(!code.is_of_the_system());
            assert_eq!(code.symbolic_name(), text);
        }
        for text in ["", "4000", "400001", "40p01", "40-01", "é001", "4000000000", "DEADLOCK"] {
            assert_eq!(Code::of_text(text), None, "{text}");
        }
    }
}
