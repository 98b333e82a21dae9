//! Compares the two paths to a target, io_uring and a plain read, one operation at a time: which adds less delay.
//!
//! io_uring hands operations of some devices (those that cannot promise not to sleep: zram, FUSE) to kernel threads.
//! The cost of that counts as the device's time. So both paths are tried at the start, alternately, and the difference
//! is written to the log.

use crate::arena::Arena;
use crate::call::carry_out;
use crate::clock::Clock;
use crate::facts::Slots;
use crate::open::Target;
use crate::safety::{DevNum, Roots};
use crate::uring::Uring;
use assay_base::{Completion, Device, Direction, Done, Op, Prng, Span, Ticket};
use rustix::thread::{Timespec, nanosleep};

/// Bytes of a read; a block where that is larger.
const BYTES: u32 = 4096;
/// Consecutive reads on each path; the first of them is not counted, because it follows a change of path.
const ROW: usize = 9;
/// Number of rows on each path.
const ROWS: usize = 8;
/// No new row is begun after this time.
const LONGEST: Span = Span::from_ms(200);
/// A target that does not answer for this long is not read again.
const PATIENCE: Span = Span::from_secs(1);

/// Median service times of reads at queue depth 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Paths {
    /// Through io_uring.
    pub uring: Span,
    /// By pread.
    pub pread: Span,
    /// Number of reads counted on each path.
    pub reads: usize,
    /// Number of all reads made.
    pub carried: usize,
    /// Bytes of each.
    pub bytes: u32,
}

impl Paths {
    /// By how much io_uring takes longer.
    pub fn uring_excess(&self) -> Span {
        self.uring.saturating_sub(self.pread)
    }
}

/// Reads `target` at random places on both paths, at the calling thread's priority, with a pause before each read.
/// `None` when io_uring is refused, or when the target is too small, fails, or does not answer: then the run itself
/// will report the problem.
pub fn compare_paths(target: &Target, pause: Span, clock: Clock, prng: &mut Prng) -> Option<Paths> {
    let geometry = target.geometry();
    let len = BYTES.max(geometry.block);
    let places = geometry.size / u64::from(len);
    let slots = Slots { count: 1, spare: 0, bytes: len };
    let mut arena = Arena::new(slots).ok()?;
    let mut ring = Uring::new(vec![target.clone()], slots, clock).ok()?;
    let (mut uring, mut pread) = (Vec::new(), Vec::new());
    let begin = clock.now();
    let mut rows = 0;
    for _ in 0..ROWS {
        if places == 0 || clock.now().since(begin) > LONGEST {
            break;
        }
        rows += 1;
        let mut op = || {
            let offset = prng.uniform_below(places) * u64::from(len);
            Op { target: 0, direction: Direction::Read, durable: false, offset, len }
        };
        // io_uring first: a target that hangs can be left alone then, which is impossible with a plain call.
        for nth in 0..ROW {
            pause_before_next(pause);
            keep_time(&mut uring, nth, read_through_ring(&mut ring, clock, &op())?)?;
        }
        for nth in 0..ROW {
            let op = op();
            let place = target.file_offset(&op).ok()?;
            pause_before_next(pause);
            let data = &mut arena.slot_bytes(Ticket(0))[..len as usize];
            keep_time(&mut pread, nth, carry_out(target, clock, Ticket(0), &op, place, data))?;
        }
    }
    let (reads, carried) = (uring.len(), 2 * rows * ROW);
    Some(Paths { uring: median_time(&mut uring)?, pread: median_time(&mut pread)?, reads, carried, bytes: len })
}

fn pause_before_next(pause: Span) {
    // A signal may shorten the pause, which does not matter. It is less than a second.
    let _ = nanosleep(&Timespec { tv_sec: 0, tv_nsec: pause.as_ns().min(999_999_999) as i64 });
}

fn keep_time(times: &mut Vec<Span>, nth: usize, completion: Completion) -> Option<()> {
    completion.result.ok()?;
    if nth > 0 {
        times.push(completion.completed.since(completion.issued));
    }
    Some(())
}

fn read_through_ring(ring: &mut Uring, clock: Clock, op: &Op) -> Option<Completion> {
    let mut done = Done::new();
    let begin = clock.now();
    ring.submit_request(begin, Ticket(0), op);
    loop {
        let now = clock.now();
        ring.poll_completions(now, &mut done);
        if let Some(completion) = done.pop() {
            return Some(completion);
        }
        if now.since(begin) > PATIENCE {
            return None;
        }
        ring.wait_for_completion(PATIENCE);
    }
}

fn median_time(times: &mut [Span]) -> Option<Span> {
    times.sort_unstable();
    times.get(times.len() / 2).copied()
}

/// Whether a block device does its work in the calling thread, so that it never has more than one operation at a time:
/// the kernel's devices in memory. The kernel knows this (`BLK_FEAT_SYNCHRONOUS` in include/linux/blkdev.h) but does
/// not report it; so the device is recognised by name (`zram`, `ram`, `pmem`) and by the lack of request queues (`mq`
/// in sysfs).
pub fn answers_in_the_call(roots: &Roots, number: DevNum) -> bool {
    let Some(device) = roots.device_dir(number) else { return false };
    let name = device.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let kind = name.trim_end_matches(|c: char| c.is_ascii_digit());
    matches!(kind, "zram" | "ram" | "pmem") && device.join("queue").is_dir() && !device.join("mq").exists()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::{scratch, target};

    #[test]
    fn both_ways_are_measured_and_nothing_is_changed() {
        let file = scratch(1 << 20);
        let before = std::fs::read(file.path()).unwrap();
        let paths = compare_paths(
            &target(file.path(), 1 << 20, false),
            Span::from_us(100),
            Clock::start(),
            &mut Prng::from_seed(1),
        )
        .unwrap();
        assert!(paths.reads >= ROW - 1 && paths.reads <= ROWS * (ROW - 1), "{paths:?}");
        assert!(!paths.uring.is_zero() && !paths.pread.is_zero(), "{paths:?}");
        assert_eq!(std::fs::read(file.path()).unwrap(), before);
    }

    #[test]
    fn a_target_too_small_or_that_fails_is_not_measured() {
        let file = scratch(2048);
        assert_eq!(
            compare_paths(
                &target(file.path(), 2048, false),
                Span::from_us(100),
                Clock::start(),
                &mut Prng::from_seed(1)
            ),
            None
        );
        let shrunk = scratch(8192);
        let seen = target(shrunk.path(), 8192, false);
        let directory =
            Target::over_range(std::fs::File::open(std::env::temp_dir()).unwrap().into(), 0, seen.geometry(), false);
        assert_eq!(compare_paths(&directory, Span::ZERO, Clock::start(), &mut Prng::from_seed(1)), None, "EISDIR");
    }

    #[test]
    fn devices_in_memory_are_told_from_others() {
        let tree = tempfile::tempdir().unwrap();
        let [proc, sys, dev] = ["proc", "sys", "dev"].map(|name| tree.path().join(name));
        let roots = Roots { proc, sys, dev };
        let made = |name: &str, parts: &[&str], minor: u32| {
            let device = tree.path().join("sys/devices/virtual/block").join(name);
            parts.iter().for_each(|part| std::fs::create_dir_all(device.join(part)).unwrap());
            std::fs::create_dir_all(tree.path().join("sys/dev/block")).unwrap();
            std::os::unix::fs::symlink(&device, tree.path().join(format!("sys/dev/block/252:{minor}"))).unwrap();
            answers_in_the_call(&roots, DevNum { major: 252, minor })
        };
        assert!(made("zram0", &["queue"], 0));
        assert!(made("ram15", &["queue"], 1));
        assert!(!made("zram1", &["queue", "mq"], 2), "request queues");
        assert!(!made("dm-0", &["queue"], 3));
        assert!(!made("loop0", &["queue", "mq"], 4));
        assert!(!answers_in_the_call(&roots, DevNum { major: 9, minor: 9 }));
    }
}
