//! Properties of the pool only: how its start fails, and that a call that hangs delays nothing else.

use super::*;
use crate::testbed::*;
use assay_base::Direction::Read;
use rustix::process::Resource;
use std::os::fd::AsFd;

#[test]
fn more_slots_than_threads_make_sense_are_refused() {
    for count in [0, 1025] {
        let error = Threads::new(Vec::new(), Slots { count, bytes: 512 }, Clock::start()).err().unwrap();
        assert_eq!(error, EngineError::Slots { engine: "threads", asked: count, most: 1024 });
    }
}

#[test]
fn a_limit_of_threads_is_an_error_with_numbers_not_a_panic() {
    if !is_root() {
        return;
    }
    in_child("threads::tests::a_limit_of_threads_is_an_error_with_numbers_not_a_panic", || {
        limit(Resource::Nproc, 16, 16);
        become_user(65532);
        match Threads::new(Vec::new(), slots(64), Clock::start()).err().unwrap() {
            EngineError::Threads { started, wanted: 64, errno: Code(libc::EAGAIN) } => assert!(started < 64),
            other => panic!("{other}"),
        }
    });
}

#[test]
fn a_hung_operation_blocks_neither_waiting_nor_the_end() {
    // A read at the end of the kernel's log sleeps until there is a new message.
    let Ok(log) = std::fs::File::open("/dev/kmsg") else { return };
    rustix::fs::seek(log.as_fd(), rustix::fs::SeekFrom::End(0)).unwrap();
    let hung = Target::over(log.into(), 0, Geometry { size: 8192, block: 512 }, false);
    let file = scratch(8192);
    let targets = vec![hung, target(file.path(), 8192, false)];
    let mut threads = Threads::new(targets, slots(2), Clock::start()).unwrap();
    let mut done = Done::new();
    threads.submit(Instant::ZERO, Ticket(0), &op(Read, 0, 8192));
    threads.wait(Span::from_ms(1));
    threads.submit(Instant::ZERO, Ticket(1), &Op { target: 1, ..op(Read, 0, 512) });
    while !done.iter().any(|c| c.ticket == Ticket(1)) {
        threads.wait(Span::from_ms(100));
        threads.poll(Instant::ZERO, &mut done);
    }
    assert!(done.iter().all(|c| c.ticket == Ticket(0) || c.result == Ok(512)), "{done:?}");
    drop(threads);
}

#[test]
fn pool_threads_take_no_signals() {
    let before = blocked("thread-self");
    let file = scratch(8192);
    let mut threads = Threads::new(vec![target(file.path(), 8192, false)], slots(1), Clock::start()).unwrap();
    // Its thread is running, and has its name, after it has carried an operation.
    carry(&mut threads, &[op(Read, 0, 512)]);
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let pool: Vec<u64> = tasks
        .filter_map(|task| task.ok()?.file_name().into_string().ok())
        .filter(|id| std::fs::read_to_string(format!("/proc/self/task/{id}/comm")).is_ok_and(|c| c.starts_with("io-")))
        .filter_map(|id| blocked(&format!("self/task/{id}")))
        .collect();
    assert!(!pool.is_empty() && pool.iter().all(|mask| mask & (1 << 1) != 0 && mask & (1 << 14) != 0), "{pool:x?}");
    assert!(before.is_some() && blocked("thread-self") == before, "the caller's own signals are as before");
    drop(threads);
}

/// The blocked signals of a thread: bit n − 1 is signal n (2 is SIGINT, 15 is SIGTERM). `None`: the thread has ended,
/// which can happen to the threads of other tests.
fn blocked(task: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{task}/status")).ok()?;
    // For a thread that is about to end, the kernel reports no threads in its process and no signals.
    if status.contains("\nThreads:\t0\n") {
        return None;
    }
    let line = status.lines().find_map(|line| line.strip_prefix("SigBlk:"))?;
    u64::from_str_radix(line.trim(), 16).ok()
}
