//! The sequence that the binary uses: from a scratch file through the gate to an engine, with public functions only.

use assay_base::{BlockDevice, Completion, Device, Direction, Done, Op, Span, Ticket};
use assay_device::clock::Clock;
use assay_device::facts::{Health, Slots};
use assay_device::safety::{Gate, Request, scratch};
use assay_device::select::{AnyDevice, Choice, start_engine};

const BLOCK: u32 = 4096;

/// Carries one operation of a block at `offset`, on ticket 0.
fn carry(device: &mut AnyDevice, clock: Clock, direction: Direction, offset: u64) -> Completion {
    carry_op(device, clock, Op { target: 0, direction, durable: true, offset, len: BLOCK })
}

/// The same of any operation.
fn carry_op(device: &mut AnyDevice, clock: Clock, op: Op) -> Completion {
    device.submit_request(clock.now(), Ticket(0), &op);
    let mut done = Done::new();
    while done.is_empty() {
        device.wait_for_completion(Span::from_secs(1));
        device.poll_completions(clock.now(), &mut done);
    }
    assert_eq!(done.len(), 1, "one operation, one completion");
    done[0]
}

#[test]
fn a_permit_gives_a_target_that_is_written_and_a_pass_one_that_is_only_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("scratch");
    let slots = Slots { count: 1, spare: 0, bytes: BLOCK };
    for choice in [Choice::Uring, Choice::Threads, Choice::Inline] {
        let clock = Clock::start();
        let permit = scratch::create_scratch(&path, 1 << 20).unwrap();
        let mut device = start_engine(choice, vec![permit.engine_target().unwrap()], slots, clock).unwrap();
        let size = device.target_geometry(0).size;
        let last = size - u64::from(BLOCK);
        device.slot_buffer(Ticket(0)).fill(0x5a);
        let written = carry(&mut device, clock, Direction::Write, last);
        assert_eq!(written.result, Ok(BLOCK), "{choice}");
        assert!(
            written.issued <= written.accepted
                && written.accepted <= written.completed
                && written.completed <= clock.now()
        );
        assert_eq!(
            carry(&mut device, clock, Direction::Write, size).result.map_err(|e| e.to_string()),
            Err("EINVAL".into())
        );
        assert_eq!(carry_op(&mut device, clock, Op::flush_on_target(0)).result, Ok(0), "{choice}");
        drop((device, permit));

        let pass = Gate::of_machine().admit_read(&Request::new(&path)).unwrap();
        let mut device = start_engine(choice, vec![pass.engine_target().unwrap()], slots, clock).unwrap();
        assert_eq!(carry(&mut device, clock, Direction::Read, last).result, Ok(BLOCK), "{choice}");
        assert_eq!(device.slot_buffer(Ticket(0)), [0x5a; BLOCK as usize], "{choice}");
        assert_eq!(
            carry(&mut device, clock, Direction::Write, last).result.map_err(|e| e.to_string()),
            Err("EBADF".into())
        );
        let flushed = carry_op(&mut device, clock, Op::flush_on_target(0)).result;
        assert_eq!(flushed.map_err(|e| e.to_string()), Err("EBADF".into()), "{choice}: nothing is written there");
        assert_eq!(device.kernel_health(), Health::default());
        drop((device, pass));
        std::fs::remove_file(&path).unwrap();
    }
}
