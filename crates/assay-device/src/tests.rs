//! Requirements on every engine, tested on files and loop devices.

use crate::clock::Clock;
use crate::null::Null;
use crate::open::Target;
use crate::testbed::*;
use assay_base::Direction::{Read, Write};
use assay_base::{BlockDevice, Code, Done, Geometry, Op, Prng, Span, Ticket};
use std::path::Path;

/// The expected content of byte `i` of the block written by `ticket`.
fn pattern(ticket: usize, i: usize) -> u8 {
    (ticket * 31 + i * 7 + i / 512) as u8
}

fn writes_then_reads(path: &Path, writer: Make, reader: Make, name: &str) {
    let ops = |direction| -> Vec<Op> { (0..16).map(|i| op(direction, i * 8192, 8192)).collect() };
    let mut device = writer(vec![target(path, 131_072, true)], slots(16));
    for ticket in 0..16 {
        let buffer = device.slot_buffer(Ticket(ticket as u32));
        buffer.iter_mut().enumerate().for_each(|(i, byte)| *byte = pattern(ticket, i));
    }
    assert!(carry(&mut *device, &ops(Write)).iter().all(|c| c.result == Ok(8192)), "{name}: write");
    let mut device = reader(vec![target(path, 131_072, false)], slots(16));
    assert!(carry(&mut *device, &ops(Read)).iter().all(|c| c.result == Ok(8192)), "{name}: read");
    for ticket in 0..16 {
        let buffer = device.slot_buffer(Ticket(ticket as u32));
        assert!(buffer.iter().enumerate().all(|(i, byte)| *byte == pattern(ticket, i)), "{name}: slot {ticket}");
    }
}

#[test]
fn what_one_engine_writes_the_other_reads() {
    for (w, r) in [(0, 1), (1, 0)] {
        let name = format!("{} to {}", ENGINES[w].0, ENGINES[r].0);
        let file = scratch(131_072);
        writes_then_reads(file.path(), ENGINES[w].1, ENGINES[r].1, &name);
        if let Some(device) = Loop::of(131_072) {
            writes_then_reads(&device.path, ENGINES[w].1, ENGINES[r].1, &name);
        }
    }
}

#[test]
fn a_target_begins_behind_its_base_and_several_are_told_apart() {
    for (name, make) in ENGINES {
        let files = [scratch(65536), scratch(65536)];
        let targets = files.iter().map(|file| {
            Target::over_range(open(file.path(), true).into(), 4096, Geometry { size: 61440, block: 512 }, true)
        });
        let mut device = make(targets.collect(), slots(2));
        for target in 0..2 {
            device.slot_buffer(Ticket(target)).fill(target as u8 + 1);
        }
        let ops = [0, 1].map(|target| Op { target, ..op(Write, 1024, 512) });
        assert!(carry(&mut *device, &ops).iter().all(|c| c.result == Ok(512)), "{name}");
        for (file, byte) in files.iter().zip([1, 2]) {
            let bytes = std::fs::read(file.path()).unwrap();
            let (before, rest) = bytes.split_at(4096 + 1024);
            assert!(before.iter().all(|b| *b == 0) && rest[..512] == [byte; 512] && rest[512] == 0, "{name}");
        }
    }
}

#[test]
fn a_read_past_the_end_of_the_file_is_short_not_a_success() {
    for (name, make) in ENGINES {
        let file = scratch(6144);
        let mut device = make(vec![target(file.path(), 8192, false)], slots(3));
        let results: Vec<_> = carry(&mut *device, &[op(Read, 0, 4096), op(Read, 4096, 4096), op(Read, 6144, 512)])
            .iter()
            .map(|c| c.result)
            .collect();
        assert_eq!(results, [Ok(4096), Ok(2048), Ok(0)], "{name}");
    }
}

#[test]
fn what_may_not_happen_is_answered_without_the_kernel() {
    for (name, make) in ENGINES {
        let file = scratch(16384);
        let read_only = target(file.path(), 16384, false);
        let writable = target(file.path(), 8192, true);
        let mut device = make(vec![writable, read_only], slots(8));
        let ops = [
            op(Write, 8192, 512),
            op(Write, 7680, 1024),
            op(Write, u64::MAX - 511, 512),
            op(Read, 100, 512),
            op(Read, 0, 16384),
            op(Read, 0, 0),
            Op { target: 1, ..op(Write, 0, 512) },
            Op { target: 2, ..op(Read, 0, 512) },
        ];
        for ticket in 0..8 {
            device.slot_buffer(Ticket(ticket)).fill(0xff);
        }
        let results: Vec<_> = carry(&mut *device, &ops).iter().map(|c| c.result.unwrap_err().0).collect();
        let (inval, badf) = (libc::EINVAL, libc::EBADF);
        assert_eq!(results, [inval, inval, inval, inval, inval, inval, badf, inval], "{name}");
        assert_eq!(std::fs::read(file.path()).unwrap(), vec![0; 16384], "{name}: nothing was written");
    }
}

#[test]
fn errors_of_the_kernel_come_back_as_completions() {
    let geometry = Geometry { size: 8192, block: 512 };
    for (name, make) in ENGINES {
        let file = scratch(8192);
        let full = std::fs::OpenOptions::new().read(true).write(true).open("/dev/full").unwrap();
        let targets = vec![
            Target::over_range(full.into(), 0, geometry, true),
            Target::over_range(open(file.path(), false).into(), 0, geometry, true),
        ];
        let mut device = make(targets, slots(3));
        let ops = [op(Write, 0, 512), Op { target: 1, ..op(Write, 0, 512) }, Op { target: 1, ..op(Read, 0, 512) }];
        let done = carry(&mut *device, &ops);
        let results: Vec<_> = done.iter().map(|c| c.result).collect();
        assert_eq!(results, [Err(Code::ENOSPC), Err(Code(libc::EBADF)), Ok(512)], "{name}");
        assert!(done.iter().all(|c| c.issued <= c.accepted && c.accepted <= c.completed), "{name}");
    }
}

#[test]
fn a_durable_write_flushes_the_device_and_a_plain_one_does_not() {
    for (name, make) in ENGINES {
        let Some(device) = Loop::of(1 << 20) else { return };
        let mut engine = make(vec![target(&device.path, 1 << 20, true)], slots(8));
        // Fields 7 and 16: sectors written and completed flushes. A durable write flushes twice on a device without
        // FUA: instead of FUA, and once more after the write.
        for (durable, flushes) in [(false, 0), (true, 16)] {
            let before = (device.stat(7), device.stat(16));
            for i in 0..8 {
                carry(&mut *engine, &[Op { durable, ..op(Write, i * 4096, 4096) }]);
            }
            assert_eq!(device.stat(7) - before.0, 64, "{name}: sectors, durable {durable}");
            let flushed = device.stat(16) - before.1;
            assert_eq!(flushed, flushes, "{name}: flushes, durable {durable}");
        }
    }
}

/// Keeps `depth` random operations in flight, some of them impossible, and counts the completions per ticket.
fn every_ticket_comes_back_once(device: &mut dyn BlockDevice, depth: u32, name: &str) {
    let mut prng = Prng::for_path(11, &[u64::from(depth)]);
    let clock = Clock::start();
    let mut flying = vec![false; depth as usize];
    let (mut submitted, mut completed, mut done) = (0, 0, Done::new());
    while completed < 2000 {
        for ticket in 0..depth {
            if submitted < 2000 && !flying[ticket as usize] && prng.uniform_below(4) > 0 {
                let direction = if prng.uniform_below(2) == 0 { Read } else { Write };
                let durable = prng.uniform_below(64) == 0;
                // A sixteenth of the blocks lie outside the target.
                let offset = prng.uniform_below(136) * 8192;
                device.submit_request(clock.now(), Ticket(ticket), &Op { durable, ..op(direction, offset, 8192) });
                flying[ticket as usize] = true;
                submitted += 1;
            }
        }
        if prng.uniform_below(2) == 0 {
            device.wait_for_completion(Span::from_us(200));
        }
        device.poll_completions(clock.now(), &mut done);
        for completion in done.drain(..) {
            assert!(flying[completion.ticket.0 as usize], "{name}, depth {depth}: completed twice");
            flying[completion.ticket.0 as usize] = false;
            assert!(matches!(completion.result, Ok(8192) | Err(Code(libc::EINVAL))), "{name}: {completion:?}");
            completed += 1;
        }
        assert!(clock.now().as_ns() < 60_000_000_000, "{name}, depth {depth}: {completed} of {submitted}");
    }
    assert!(submitted == completed && !flying.contains(&true), "{name}, depth {depth}");
    device.poll_completions(clock.now(), &mut done);
    assert!(done.is_empty(), "{name}, depth {depth}");
}

#[test]
fn every_submitted_ticket_completes_exactly_once() {
    for depth in [1, 2, 17, 64, 256] {
        let file = scratch(1 << 20);
        for (name, make) in ENGINES {
            let mut device = make(vec![target(file.path(), 1 << 20, true)], slots(depth));
            every_ticket_comes_back_once(&mut *device, depth, name);
        }
        let mut null = Null::new(vec![Geometry { size: 1 << 20, block: 512 }]);
        every_ticket_comes_back_once(&mut null, depth, "null");
    }
}

#[test]
fn every_durable_write_completes_exactly_once_with_its_flush() {
    for depth in [1, 17, 64] {
        let Some(device) = Loop::of(1 << 20) else { return };
        for (name, make) in ENGINES {
            let mut engine = make(vec![target(&device.path, 1 << 20, true)], slots(depth));
            every_ticket_comes_back_once(&mut *engine, depth, name);
            // More operations than one hand-over carries; without precautions, one of them would be cut between a pair
            // of entries.
            let ops: Vec<Op> =
                (0..depth.min(64)).map(|i| Op { durable: i > 0, ..op(Write, u64::from(i) * 8192, 8192) }).collect();
            assert!(
                carry(&mut *engine, &ops).iter().all(|completion| completion.result == Ok(8192)),
                "{name}, depth {depth}"
            );
        }
    }
}

#[test]
fn an_engine_may_be_made_in_one_thread_and_used_in_another() {
    let file = scratch(8192);
    let targets = || vec![target(file.path(), 8192, false)];
    let uring = crate::uring::Uring::new(targets(), slots(1), Clock::start()).unwrap();
    let threads = crate::threads::Threads::new(targets(), slots(1), Clock::start()).unwrap();
    let devices: [Box<dyn BlockDevice + Send>; 2] = [Box::new(uring), Box::new(threads)];
    for mut device in devices {
        let done = std::thread::spawn(move || carry(&mut *device, &[op(Read, 0, 8192)])).join().unwrap();
        assert_eq!(done[0].result, Ok(8192));
    }
}

#[test]
fn waiting_with_nothing_in_flight_ends() {
    for (_, make) in ENGINES {
        let file = scratch(8192);
        let mut device = make(vec![target(file.path(), 8192, false)], slots(1));
        device.wait_for_completion(Span::from_ms(1));
        device.wait_for_completion(Span::ZERO);
        let mut done = Done::new();
        device.poll_completions(Clock::start().now(), &mut done);
        assert!(done.is_empty() && device.next_wakeup().is_none());
        assert_eq!(device.target_geometry(0), Geometry { size: 8192, block: 512 });
    }
}
