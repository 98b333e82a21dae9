//! Properties of the pool only: how its start fails, and that a call that hangs delays nothing else.

use super::*;
use crate::testbed::*;
use assay_base::Direction::Read;
use rustix::process::Resource;
use std::os::fd::AsFd;

#[test]
fn more_slots_than_threads_make_sense_are_refused() {
    for count in [0, 1025] {
        let error = Threads::new(Vec::new(), Slots { count, spare: 0, bytes: 512 }, Clock::start()).err().unwrap();
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
    let hung = Target::over_range(log.into(), 0, Geometry { size: 8192, block: 512 }, false);
    let file = scratch(8192);
    let targets = vec![hung, target(file.path(), 8192, false)];
    let mut threads = Threads::new(targets, slots(2), Clock::start()).unwrap();
    let mut done = Done::new();
    threads.submit_request(Instant::ZERO, Ticket(0), &op(Read, 0, 8192));
    threads.wait_for_completion(Span::from_ms(1));
    threads.submit_request(Instant::ZERO, Ticket(1), &Op { target: 1, ..op(Read, 0, 512) });
    while !done.iter().any(|c| c.ticket == Ticket(1)) {
        threads.wait_for_completion(Span::from_ms(100));
        threads.poll_completions(Instant::ZERO, &mut done);
    }
    assert!(done.iter().all(|c| c.ticket == Ticket(0) || c.result == Ok(512)), "{done:?}");
    drop(threads);
}

/// A pool of `count` threads over a file, with `spare` tickets besides.
fn stocked(path: &std::path::Path, count: u32, spare: u32) -> Threads {
    Threads::new(vec![target(path, 8192, false)], Slots { spare, ..slots(count) }, Clock::start()).unwrap()
}

/// Polls until `wanted` operations have completed; each with the one that followed it.
fn completed(threads: &mut Threads, wanted: usize) -> Vec<(Completion, Option<Ticket>)> {
    let (mut done, mut all) = (Done::new(), Vec::new());
    while all.len() < wanted {
        threads.poll_completions(Instant::ZERO, &mut done);
        all.extend(done.drain(..).map(|completion| (completion, threads.follower_ticket(completion.ticket))));
        if all.len() < wanted {
            threads.wait_for_completion(Span::from_ms(1));
        }
    }
    all
}

#[test]
fn a_thread_goes_on_with_what_is_prepared_in_its_order_and_the_worker_hears_of_it_later() {
    let file = scratch(8192);
    let mut threads = stocked(file.path(), 1, 4);
    assert_eq!(threads.spare_tickets(), 4);
    (1..5).for_each(|ticket| threads.prepare_request(7, Ticket(ticket), &op(Read, 0, 512)));
    threads.submit_with_stock(Instant::ZERO, 7, Ticket(0), &op(Read, 0, 512));
    let all = completed(&mut threads, 5);
    let order: Vec<(u32, Option<Ticket>)> =
        all.iter().map(|(completion, follower)| (completion.ticket.0, *follower)).collect();
    let followed = |ticket: u32| (ticket, Some(Ticket(ticket + 1)));
    assert_eq!(order, [followed(0), followed(1), followed(2), followed(3), (4, None)]);
    for pair in all.windows(2) {
        assert!(pair[0].0.completed <= pair[1].0.issued, "one after the other: {pair:?}");
    }
    // The only thread has nothing to do now: it takes what is handed over next.
    threads.submit_request(Instant::ZERO, Ticket(3), &op(Read, 512, 512));
    assert_eq!(completed(&mut threads, 1)[0].0.result, Ok(512));
}

#[test]
fn nothing_follows_an_operation_that_fails_or_ends_too_late_or_is_of_no_stock() {
    let file = scratch(8192);
    let mut threads = stocked(file.path(), 1, 2);
    threads.prepare_request(0, Ticket(1), &op(Read, 0, 512));
    // The file was cut: there is nothing to read.
    file.as_file().set_len(0).unwrap();
    threads.submit_with_stock(Instant::ZERO, 0, Ticket(0), &op(Read, 4096, 4096));
    assert_eq!(
        completed(&mut threads, 1).pop().map(|(completion, follower)| (completion.result, follower)),
        Some((Ok(0), None))
    );
    file.as_file().set_len(8192).unwrap();
    threads.submit_request(Instant::ZERO, Ticket(0), &op(Read, 0, 512));
    assert_eq!(
        completed(&mut threads, 1).pop().map(|(completion, follower)| (completion.result, follower)),
        Some((Ok(512), None))
    );
    threads.set_end_of_stock(Instant::from_ns(1));
    threads.submit_with_stock(Instant::ZERO, 0, Ticket(0), &op(Read, 0, 512));
    assert_eq!(completed(&mut threads, 1)[0].1, None);
    assert_eq!(
        (threads.withdraw_prepared(0), threads.withdraw_prepared(0)),
        (Some(Ticket(1)), None),
        "it was never begun"
    );
    threads.submit_request(Instant::ZERO, Ticket(1), &op(Read, 0, 512));
    assert_eq!(completed(&mut threads, 1)[0].0.ticket, Ticket(1), "and can be used for another");
}

/// What cannot be carried out fails when it is its turn, as what is handed over does at once.
#[test]
fn a_prepared_operation_that_is_refused_fails_in_its_turn() {
    let file = scratch(8192);
    let mut threads = stocked(file.path(), 1, 2);
    threads.prepare_request(0, Ticket(1), &op(Read, 8192, 512));
    threads.prepare_request(0, Ticket(2), &op(Read, 0, 512));
    threads.submit_with_stock(Instant::ZERO, 0, Ticket(0), &op(Read, 0, 512));
    let all = completed(&mut threads, 2);
    assert_eq!((all[1].0.ticket, all[1].0.result, all[1].1), (Ticket(1), Err(Code(libc::EINVAL)), None));
    assert_eq!(threads.withdraw_prepared(0), Some(Ticket(2)), "nothing followed it");
}

/// As many operations in flight as threads, and never more, however often the stock runs dry.
#[test]
fn a_stock_is_refilled_while_threads_take_from_it() {
    let file = scratch(8192);
    let (count, spare) = (8, 16);
    let mut threads = stocked(file.path(), count, spare);
    let mut idle: Vec<Ticket> = (count..count + spare).map(Ticket).collect();
    (0..count).for_each(|ticket| threads.submit_with_stock(Instant::ZERO, 3, Ticket(ticket), &op(Read, 0, 512)));
    let (mut done, mut carried, mut in_flight, mut followed) = (Done::new(), 0, count, 0);
    while carried < 20_000 {
        idle.drain(..).for_each(|ticket| threads.prepare_request(3, ticket, &op(Read, 512, 512)));
        threads.wait_for_completion(Span::from_ms(1));
        threads.poll_completions(Instant::ZERO, &mut done);
        for completion in done.drain(..) {
            assert_eq!(completion.result, Ok(512));
            carried += 1;
            match threads.follower_ticket(completion.ticket) {
                Some(_) => {
                    followed += 1;
                    idle.push(completion.ticket);
                }
                None => {
                    in_flight -= 1;
                    let next = threads.withdraw_prepared(3).unwrap_or(completion.ticket);
                    if next != completion.ticket {
                        idle.push(completion.ticket);
                    }
                    threads.submit_with_stock(Instant::ZERO, 3, next, &op(Read, 0, 512));
                    in_flight += 1;
                }
            }
            assert_eq!(in_flight, count);
        }
    }
    assert!(followed > 0, "threads went on by themselves");
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
