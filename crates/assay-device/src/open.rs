//! A target as the engines see it: an open file, the range of it that may be used, and whether it may be written.
//!
//! This is the last check before the kernel. Range, alignment and permission are checked here for every operation
//! against what was true at opening; an operation that fails a check is answered with an error and never submitted. An
//! open file for writing can only come from `safety`: there is no public function that makes a target from a bare
//! descriptor.

use crate::durable::Durable;
use assay_base::{Code, Direction, Geometry, Op};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// An opened target. Clones share the open file, one for each worker.
#[derive(Clone, Debug)]
pub struct Target {
    fd: Arc<OwnedFd>,
    base: u64,
    geometry: Geometry,
    writable: bool,
    durable: Durable,
}

impl Target {
    /// A target over `base..base + geometry.size` of `fd`. The range must end within an `i64`, as file offsets do.
    pub(crate) fn over_range(fd: OwnedFd, base: u64, geometry: Geometry, writable: bool) -> Target {
        assert!(geometry.block.is_power_of_two(), "block sizes are powers of two");
        assert!(base.is_multiple_of(u64::from(geometry.block)), "the usable range begins on a block");
        assert!(
            base.checked_add(geometry.size).is_some_and(|end| i64::try_from(end).is_ok()),
            "file offsets fit an i64"
        );
        Target { fd: Arc::new(fd), base, geometry, writable, durable: Durable::default() }
    }

    /// The same target, with this kind of durable writes.
    pub(crate) fn with_durable_writes(self, durable: Durable) -> Target {
        Target { durable, ..self }
    }

    /// Usable bytes and block size.
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// Whether writes are allowed at all.
    pub fn is_writable(&self) -> bool {
        self.writable
    }

    /// The requests that a durable write to it makes.
    pub fn durable_requests(&self) -> Durable {
        self.durable
    }

    /// The open file, for the engines.
    pub(crate) fn borrow_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Offset of `op` in the file. `EBADF`: a write to a target that was opened for reading, or its flush, which nobody
    /// needs. `EINVAL`: see [`check_fits`].
    #[inline]
    pub(crate) fn file_offset(&self, op: &Op) -> Result<u64, Code> {
        if op.direction == Direction::Write && !self.writable {
            return Err(Code(libc::EBADF));
        }
        check_fits(self.geometry, op)?;
        Ok(self.base + op.offset)
    }
}

/// Whether `op` is a flush, or is not empty, lies within the target and is aligned to its blocks; `EINVAL` otherwise.
#[inline]
pub(crate) fn check_fits(geometry: Geometry, op: &Op) -> Result<(), Code> {
    let len = u64::from(op.len);
    let inside = len > 0 && len <= geometry.size && op.offset <= geometry.size - len;
    let aligned = (op.offset | len) & (u64::from(geometry.block) - 1) == 0;
    if inside && aligned || op.is_flush() { Ok(()) } else { Err(Code(libc::EINVAL)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn op(direction: Direction, offset: u64, len: u32) -> Op {
        Op { target: 0, direction, durable: false, offset, len }
    }

    #[test]
    fn only_what_lies_within_the_opened_range_has_a_place() {
        let file = std::fs::File::open("/dev/zero").unwrap();
        let geometry = Geometry { size: 8192, block: 512 };
        let target = Target::over_range(file.into(), 4096, geometry, false);
        for (offset, len, place) in [
            (0, 512, Ok(4096)),
            (7680, 512, Ok(11776)),
            (0, 8192, Ok(4096)),
            (8192, 512, Err(22)),
            (7680, 1024, Err(22)),
            (u64::MAX - 511, 512, Err(22)),
            (0, 8704, Err(22)),
            (0, 0, Err(22)),
            (256, 512, Err(22)),
            (0, 100, Err(22)),
        ] {
            let got = target.file_offset(&op(Direction::Read, offset, len)).map_err(|e| e.0);
            assert_eq!(got, place, "{len} at {offset}");
        }
        assert_eq!(target.file_offset(&op(Direction::Write, 0, 512)), Err(Code(libc::EBADF)));
        assert_eq!(
            target.file_offset(&Op::flush_on_target(0)),
            Err(Code(libc::EBADF)),
            "nothing is written there, so nothing is flushed"
        );
        let file = std::fs::File::open("/dev/zero").unwrap();
        let target = Target::over_range(file.into(), 4096, geometry, true);
        assert_eq!(target.file_offset(&Op::flush_on_target(0)), Ok(4096));
        assert_eq!(
            target.file_offset(&op(Direction::Write, 0, 0)),
            Err(Code(libc::EINVAL)),
            "a write of nothing is no flush"
        );
    }
}
