//! Properties of the ring only: what it registers, and how it ends when the kernel refuses.

use super::*;
use crate::testbed::*;
use assay_base::Direction::{Read, Write};
use rustix::event::{EventfdFlags, eventfd};
use rustix::process::Resource;

fn ring(size: u64, count: u32) -> (Uring, tempfile::NamedTempFile) {
    let file = scratch(size);
    let uring = Uring::new(vec![target(file.path(), size, true)], slots(count), Clock::start()).unwrap();
    (uring, file)
}

#[test]
fn targets_and_buffers_are_registered() {
    let (uring, _file) = ring(8192, 4);
    let facts = uring.engine_facts();
    assert!(facts.registered_files && facts.registered_buffers && facts.notes.is_empty(), "{facts:?}");
    assert_eq!((facts.name, facts.slots.count), ("io_uring", 4));
}

#[test]
fn slots_beyond_the_kernels_limit_are_refused() {
    for count in [0, 40_000] {
        let error = Uring::new(Vec::new(), Slots { count, spare: 0, bytes: 512 }, Clock::start()).err().unwrap();
        assert_eq!(error, EngineError::Slots { engine: "io_uring", asked: count, most: 32_768 });
    }
}

#[test]
fn little_lockable_memory_means_unregistered_buffers_that_work() {
    if !is_root() {
        return;
    }
    in_child("uring::tests::little_lockable_memory_means_unregistered_buffers_that_work", || {
        limit(Resource::Memlock, 65536, 65536);
        let file = scratch(131_072);
        let targets = vec![target(file.path(), 131_072, true)];
        // A user whom nobody else is: what servers lock that run as 65534 would count against the limit.
        become_user(64_999);
        let mut uring = Uring::new(targets, slots(64), Clock::start()).unwrap();
        let facts = uring.engine_facts();
        assert!(!facts.registered_buffers && facts.registered_files, "{facts:?}");
        assert!(facts.notes[0].contains("ENOMEM for 524288 bytes (ulimit -l)"), "{facts:?}");
        uring.slot_buffer(Ticket(0)).fill(0xa5);
        assert_eq!(carry(&mut uring, &[op(Write, 8192, 8192)])[0].result, Ok(8192));
        uring.slot_buffer(Ticket(0)).fill(0);
        assert_eq!(carry(&mut uring, &[op(Read, 8192, 8192)])[0].result, Ok(8192));
        assert_eq!(uring.slot_buffer(Ticket(0)), [0xa5; 8192]);
    });
}

#[test]
fn a_soft_limit_of_lockable_memory_is_raised() {
    if !is_root() {
        return;
    }
    in_child("uring::tests::a_soft_limit_of_lockable_memory_is_raised", || {
        let hard = rustix::process::getrlimit(Resource::Memlock).maximum.unwrap_or(1 << 30);
        limit(Resource::Memlock, 65536, hard);
        become_user(65533);
        let uring = Uring::new(Vec::new(), slots(64), Clock::start()).unwrap();
        assert!(uring.engine_facts().registered_buffers, "{:?}", uring.engine_facts());
    });
}

#[test]
fn unregistered_targets_work() {
    in_child("uring::tests::unregistered_targets_work", || {
        let file = scratch(8192);
        let one = target(file.path(), 8192, false);
        // The kernel registers at most as many targets as the process may have open files.
        limit(Resource::Nofile, 64, 64);
        let mut uring = Uring::new(vec![one; 65], slots(1), Clock::start()).unwrap();
        let facts = uring.engine_facts();
        assert!(!facts.registered_files && facts.registered_buffers, "{facts:?}");
        assert!(facts.notes[0].contains("(ulimit -n)"), "{facts:?}");
        assert_eq!(carry(&mut uring, &[Op { target: 64, ..op(Read, 0, 8192) }])[0].result, Ok(8192));
    });
}

#[test]
fn submissions_refused_for_long_complete_as_not_submitted() {
    // (the kernel's answer to every enter, whether another attempt makes sense)
    for (errno, passing) in [(libc::EAGAIN, true), (libc::EBUSY, true), (libc::EIO, false)] {
        apart(move || {
            let (mut uring, _file) = ring(8192, 4);
            uring.patience = Span::from_ms(20);
            refuse(libc::SYS_io_uring_enter, errno);
            let done = carry(&mut uring, &[op(Read, 0, 512), op(Read, 512, 512)]);
            assert!(done.iter().all(|c| c.result == Err(Code::NOT_SUBMITTED)), "{done:?}");
            let health = uring.kernel_health();
            assert_eq!((health.submit_retries > 1, health.refused), (passing, Some(Code(errno))));
            assert_eq!(uring.refused_with(), Some(Code(errno)));
            let later = carry(&mut uring, &[op(Read, 0, 512)]);
            assert_eq!(later[0].result, Err(Code::NOT_SUBMITTED), "a broken ring takes nothing more");
        });
    }
}

#[test]
fn a_durable_write_refused_with_its_flush_completes_once() {
    let Some(device) = Loop::of(1 << 20) else { return };
    apart(move || {
        let mut uring = Uring::new(vec![target(&device.path, 1 << 20, true)], slots(4), Clock::start()).unwrap();
        uring.patience = Span::from_ms(20);
        refuse(libc::SYS_io_uring_enter, libc::EAGAIN);
        let ops = [0, 8192].map(|offset| Op { durable: true, ..op(Write, offset, 8192) });
        let done = carry(&mut uring, &ops);
        assert!(done.len() == 2 && done.iter().all(|c| c.result == Err(Code::NOT_SUBMITTED)), "{done:?}");
        assert_eq!(uring.in_kernel, 0);
    });
}

#[test]
fn a_submission_refused_for_a_moment_is_repeated() {
    let (mut uring, _file) = ring(8192, 4);
    uring.handle_refusal(Code(libc::EAGAIN), Instant::ZERO, Instant::ZERO);
    assert_eq!(carry(&mut uring, &[op(Read, 0, 512)])[0].result, Ok(512));
    assert_eq!((uring.refused_since, uring.kernel_health()), (None, Health { submit_retries: 1, ..Health::default() }));
}

#[test]
fn a_hung_operation_blocks_neither_waiting_nor_the_end() {
    // A read of an eventfd that nobody signals hangs like a device that never answers.
    let fd = eventfd(0, EventfdFlags::empty()).unwrap();
    let hung = Target::over_range(fd, 0, Geometry { size: 8192, block: 8 }, false);
    let file = scratch(8192);
    let mut uring = Uring::new(vec![hung, target(file.path(), 8192, false)], slots(2), Clock::start()).unwrap();
    let mut done = Done::new();
    uring.submit_request(Instant::ZERO, Ticket(0), &op(Read, 0, 8));
    uring.wait_for_completion(Span::from_ms(1));
    uring.poll_completions(Instant::ZERO, &mut done);
    assert!(done.is_empty() && uring.in_kernel == 1, "{done:?}");
    uring.submit_request(Instant::ZERO, Ticket(1), &Op { target: 1, ..op(Read, 0, 512) });
    while done.is_empty() {
        uring.wait_for_completion(Span::from_ms(100));
        uring.poll_completions(Instant::ZERO, &mut done);
    }
    assert_eq!((done[0].ticket, done[0].result), (Ticket(1), Ok(512)));
    drop(uring);
}

#[test]
#[should_panic(expected = "used again only after its completion")]
fn a_ticket_in_flight_is_not_used_again() {
    let (mut uring, _file) = ring(8192, 1);
    uring.submit_request(Instant::ZERO, Ticket(0), &op(Read, 0, 512));
    uring.submit_request(Instant::ZERO, Ticket(0), &op(Read, 0, 512));
}
