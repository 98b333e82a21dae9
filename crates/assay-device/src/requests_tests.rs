//! Which requests a durable write sends to the device, according to the kernel's block trace: the same for every
//! engine, and the same as `pwrite` on a device opened with `O_DSYNC`. Without root, loop devices or tracefs there is
//! nothing to test.

use crate::testbed::*;
use assay_base::Direction::Write;
use assay_base::Op;
use rustix::fs::OFlags;
use std::path::{Path, PathBuf};

/// A private trace of the requests to one loop device.
struct Trace(PathBuf);

/// Requests to the block layer (`bio`), and those of them that went to the device (`rq`).
const EVENTS: [&str; 2] = ["block_bio_queue", "block_rq_issue"];

impl Trace {
    fn of(device: &Loop) -> Option<Trace> {
        let name = device.path.file_name()?.to_str()?.to_owned();
        let trace = Trace(Path::new("/sys/kernel/tracing/instances").join(format!("assay-durable-{name}")));
        std::fs::create_dir(&trace.0).ok()?;
        let number = std::fs::read_to_string(Path::new("/sys/block").join(name).join("dev")).unwrap();
        let (major, minor) = number.trim().split_once(':').unwrap();
        let number = (major.parse::<u64>().unwrap() << 20) | minor.parse::<u64>().unwrap();
        for event in EVENTS {
            let event = trace.0.join("events/block").join(event);
            std::fs::write(event.join("filter"), format!("dev == {number}")).unwrap();
            std::fs::write(event.join("enable"), "1").unwrap();
        }
        Some(trace)
    }

    /// Writes and flushes since the last call: `bio WFS 8 sectors`, `rq FF 0 sectors`.
    fn seen(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.0.join("trace")).unwrap();
        std::fs::write(self.0.join("trace"), "").unwrap();
        let seen = |line: &str| {
            let (event, rest) = line.split_once(": block_")?.1.split_once(": ")?;
            let flags = rest.split_whitespace().nth(1)?;
            let sectors = rest.split_once(" + ")?.1.split_whitespace().next()?;
            let of = event.split('_').next()?;
            flags.contains(['W', 'F']).then(|| format!("{of} {flags} {sectors} sectors"))
        };
        text.lines().filter(|line| !line.starts_with('#')).filter_map(seen).collect()
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        for event in EVENTS {
            let _ = std::fs::write(self.0.join("events/block").join(event).join("enable"), "0");
        }
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// The cache setting of a loop device; the kernel keeps it for the next user of the device, so it is restored on drop.
struct Cache(PathBuf, String);

impl Cache {
    fn of(device: &Loop, says: &str) -> Cache {
        let attribute = Path::new("/sys/block").join(device.path.file_name().unwrap()).join("queue/write_cache");
        let before = std::fs::read_to_string(&attribute).unwrap();
        std::fs::write(&attribute, says).unwrap();
        Cache(attribute, before)
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        let _ = std::fs::write(&self.0, &self.1);
    }
}

/// The operations of an application.
fn written_by_pwrite(path: &Path, offset: u64) {
    let flags = OFlags::RDWR | OFlags::DIRECT | OFlags::DSYNC;
    let file = rustix::fs::open(path, flags, rustix::fs::Mode::empty()).unwrap();
    let arena = crate::arena::Arena::new(slots(1)).unwrap();
    // SAFETY: the slot is 8 KiB long and used by nobody else.
    let data = unsafe { std::slice::from_raw_parts(arena.slot_start(assay_base::Ticket(0)), 8192) };
    assert_eq!(rustix::io::pwrite(&file, data, offset), Ok(8192));
}

#[test]
fn a_durable_write_asks_of_the_device_what_pwrite_with_o_dsync_asks() {
    for (cache, flushes) in [("write back", true), ("write through", false)] {
        let Some(device) = Loop::of(1 << 20) else { return };
        let Some(trace) = Trace::of(&device) else { return };
        let _cache = Cache::of(&device, cache);
        trace.seen();
        written_by_pwrite(&device.path, 0);
        let asked = trace.seen();
        assert!(asked.contains(&"bio WFS 16 sectors".to_owned()) || !flushes, "the trace shows it: {asked:?}");
        assert_eq!(asked.iter().any(|request| request.starts_with("rq FF")), flushes, "{cache}: {asked:?}");
        for (name, make) in ENGINES {
            let mut engine = make(vec![target(&device.path, 1 << 20, true)], slots(4));
            for nth in 0..3 {
                carry(&mut *engine, &[Op { durable: true, ..op(Write, nth * 8192, 8192) }]);
                assert_eq!(trace.seen(), asked, "{name}, {cache}, write {nth}");
            }
            carry(&mut *engine, &[op(Write, 0, 8192)]);
            let plain = trace.seen();
            assert!(
                plain.iter().all(|request| !request.contains('F')) && !plain.is_empty(),
                "{name}, {cache}: {plain:?}"
            );
        }
    }
}

#[test]
fn a_flush_asks_of_the_device_what_fdatasync_asks() {
    for (cache, flushes) in [("write back", 1), ("write through", 0)] {
        let Some(device) = Loop::of(1 << 20) else { return };
        let Some(trace) = Trace::of(&device) else { return };
        let _cache = Cache::of(&device, cache);
        for (name, make) in ENGINES {
            let mut engine = make(vec![target(&device.path, 1 << 20, true)], slots(4));
            carry(&mut *engine, &[op(Write, 0, 8192)]);
            trace.seen();
            for nth in 0..3 {
                let done = carry(&mut *engine, &[Op::flush_on_target(0)]);
                assert_eq!(done[0].result, Ok(0), "{name}");
                let seen = trace.seen();
                let found = seen.iter().filter(|request| request.starts_with("rq FF")).count();
                assert_eq!(found, flushes, "{name}, {cache}, flush {nth}: {seen:?}");
            }
        }
    }
}
