//! Reads single blocks of a target: those that a preparation wrote, and those that contain nothing.

use crate::failure::Failure;
use crate::open::targets::RealTarget;
use crate::prepare::carry::{CarriedWork, carry_work};
use assay_base::{BlockDevice, Completion, Direction, Geometry, Op, Ticket, stamp};
use assay_device::clock::Clock;
use assay_device::facts::Slots;
use assay_device::select::{AnyDevice, Choice, start_engine};

/// Number of blocks that are checked before a record is trusted: few enough for one second of a slow disk.
const LOOKS: u64 = 64;

/// The length of the blocks that are read back, each of which begins with a stamp, and their number.
pub(crate) fn readable_blocks(Geometry { size, block }: Geometry) -> (u32, u64) {
    let len = stamp::EVERY.max(u64::from(block));
    (len as u32, size / len)
}

/// One block that is read into the first buffer.
struct OneRead<F> {
    /// Until it is handed over.
    op: Option<Op>,
    /// Once it is back.
    completion: Option<Completion>,
    given_up: F,
}

impl<F: Fn() -> bool> CarriedWork for OneRead<F> {
    fn next(&mut self, _: &mut AnyDevice) -> Option<(Ticket, Op)> {
        self.op.take().map(|op| (Ticket(0), op))
    }

    fn take_completion(&mut self, completion: &Completion) -> Result<(), Failure> {
        self.completion = Some(*completion);
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.completion.is_some()
    }

    fn gives_up(&self) -> bool {
        (self.given_up)()
    }
}

/// Reads one block into the first buffer; `None` when `given_up` did not let it wait for that.
pub(crate) fn read_block(
    device: &mut AnyDevice,
    clock: Clock,
    offset: u64,
    len: u32,
    given_up: impl Fn() -> bool,
) -> Option<Completion> {
    let op = Op { target: 0, direction: Direction::Read, durable: false, offset, len };
    let mut work = OneRead { op: Some(op), completion: None, given_up };
    carry_work(device, clock, &mut work).ok().and(work.completion)
}

/// Offsets of blocks that contain only zeros, among some blocks spread evenly over the whole target. Blocks that cannot
/// be read are left out: the run will find them.
pub(crate) fn blank_offsets(real: &RealTarget) -> Vec<u64> {
    let (len, blocks) = readable_blocks(real.target.geometry());
    let (clock, slots) = (Clock::start(), Slots { count: 1, spare: 0, bytes: len });
    let Ok(mut device) = start_engine(Choice::Inline, vec![real.target.clone()], slots, clock) else {
        return Vec::new();
    };
    let looks = LOOKS.min(blocks);
    let places = (0..looks).map(|look| look * (blocks - 1) / (looks - 1).max(1) * u64::from(len));
    let mut blank = Vec::new();
    for offset in places {
        let completion = read_block(&mut device, clock, offset, len, || false);
        let is_read = completion.is_some_and(|done| done.result == Ok(len));
        if is_read && device.slot_buffer(Ticket(0)).iter().all(|byte| *byte == 0) {
            blank.push(offset);
        }
    }
    blank
}
