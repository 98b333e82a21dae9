//! One operation as one system call of the calling thread.

use crate::clock::Clock;
use crate::open::Target;
use assay_base::{Code, Completion, Direction, Op, Ticket};
use rustix::fs::fdatasync;
use rustix::io::{IoSlice, ReadWriteFlags, pread, pwrite, pwritev2};

/// Carries `op` out at `offset` of its file, on `data`, between two readings of the clock. The call is both submission
/// and completion: `accepted` equals `issued`, because time in a call that blocks is the device's in any case.
#[inline]
pub(crate) fn carry_out(
    target: &Target,
    clock: Clock,
    ticket: Ticket,
    op: &Op,
    offset: u64,
    data: &mut [u8],
) -> Completion {
    let fd = target.borrow_fd();
    let issued = clock.now();
    let moved = loop {
        let moved = match (op.direction, op.durable) {
            (Direction::Read, _) => pread(fd, &mut *data, offset),
            (Direction::Write, false) => pwrite(fd, data, offset),
            (Direction::Write, true) if op.is_flush() => fdatasync(fd).map(|()| 0),
            (Direction::Write, true) => pwritev2(fd, &[IoSlice::new(data)], offset, ReadWriteFlags::DSYNC),
        };
        if moved != Err(rustix::io::Errno::INTR) {
            break moved;
        }
    };
    let completed = clock.now();
    let result = moved.map(|n| n as u32).map_err(|e| Code(e.raw_os_error()));
    Completion { ticket, result, issued, accepted: issued, completed }
}
