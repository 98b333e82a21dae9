//! What reaches the block layer, operation by operation, as the kernel traces it: sizes and places. Where tracefs is
//! not available, these tests are skipped.

use super::bed::{Loop, run_each, text};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A private trace of the requests to one device.
struct Trace {
    dir: PathBuf,
}

/// One request: whether it writes, its first sector and its number of sectors.
#[derive(Clone, Copy, Debug)]
struct Request {
    write: bool,
    sector: u64,
    sectors: u64,
}

impl Trace {
    fn of(device: &Loop) -> Option<Trace> {
        let dir = Path::new("/sys/kernel/tracing/instances").join(format!("assay-{}", device.name().replace('/', "-")));
        if std::fs::create_dir(&dir).is_err() {
            eprintln!("no tracefs here: nothing is tested");
            return None;
        }
        let trace = Trace { dir };
        let number = std::fs::read_to_string(device.sys("dev")).unwrap();
        let (major, minor) = number.trim().split_once(':').unwrap();
        let number = (major.parse::<u64>().unwrap() << 20) | minor.parse::<u64>().unwrap();
        let set = |file: &str, value: &str| std::fs::write(trace.dir.join(file), value).unwrap();
        set("buffer_size_kb", "4096");
        set("events/block/block_bio_queue/filter", &format!("dev == {number}"));
        set("events/block/block_bio_queue/enable", "1");
        Some(trace)
    }

    /// Forgets what was traced so far.
    fn clear(&self) {
        std::fs::write(self.dir.join("trace"), "").unwrap();
    }

    /// Reads lines such as `… block_bio_queue: 7,0 RS 12345 + 3 [worker-0]`. Only those of the worker count, because
    /// the safety gate reads too.
    fn requests(&self) -> Vec<Request> {
        let text = std::fs::read_to_string(self.dir.join("trace")).unwrap();
        let line = |line: &str| {
            let (_, rest) = line.split_once("block_bio_queue: ")?;
            if !rest.contains("[worker-") && !rest.contains("[iou-") {
                return None;
            }
            let words: Vec<&str> = rest.split_whitespace().collect();
            let (sector, sectors) = (words.get(2)?.parse().ok()?, words.get(4)?.parse().ok()?);
            Some(Request { write: words[1].contains('W'), sector, sectors })
        };
        text.lines().filter_map(line).filter(|request| request.sectors > 0).collect()
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        let _ = std::fs::write(self.dir.join("events/block/block_bio_queue/enable"), "0");
        let _ = std::fs::remove_dir(&self.dir);
    }
}

const LARGE: u64 = 256;

/// Runs `keys` on a device of `size` bytes and returns what the kernel saw.
fn traced(tool: &str, size: u64, keys: &str) -> Option<Vec<Request>> {
    let device = Loop::of(size)?;
    let trace = Trace::of(&device)?;
    let ran = run_each(tool, &[&device], keys, || trace.clear());
    assert_eq!(ran.output.status.code(), Some(0), "{}", text(&ran.output.stderr));
    Some(trace.requests())
}

/// Whether `count` is within five standard deviations of its share.
fn likely(count: usize, of: usize, share: f64) -> bool {
    let expected = of as f64 * share;
    (count as f64 - expected).abs() <= 5.0 * (expected * (1.0 - share)).sqrt() + 1.0
}

fn assert_everywhere(requests: &[Request], size: u64, what: &str) {
    let mut eighths = [0usize; 8];
    requests.iter().for_each(|request| eighths[(request.sector * 512 * 8 / size) as usize] += 1);
    for count in eighths {
        assert!(likely(count, requests.len(), 0.125), "{what} are not spread evenly: {eighths:?}");
    }
}

#[test]
fn committed_writes_have_every_size_and_go_over_the_whole_device() {
    let size = 256 << 20;
    let keys = "test-duration-sec: 2\nread-reqs-per-sec: 1000\nwrite-reqs-per-sec: 1000\ncommit-to-device: yes\n\
                record-bytes: 700\nrecord-bytes-range-max: 8100\n";
    let Some(all) = traced("act_storage", size, keys) else { return };
    for (write, name) in [(true, "writes"), (false, "reads")] {
        let small: Vec<Request> = all.iter().copied().filter(|r| r.write == write && r.sectors < LARGE).collect();
        assert!(small.len().abs_diff(2000) <= 2, "{} {name}", small.len());
        let mut sizes: BTreeMap<u64, usize> = BTreeMap::new();
        small.iter().for_each(|request| *sizes.entry(request.sectors).or_default() += 1);
        // Records of 704 to 8112 bytes take 2 to 16 blocks of 512 bytes; all sizes are equally likely.
        assert_eq!(sizes.keys().copied().collect::<Vec<_>>(), (2..=16).collect::<Vec<_>>(), "{name}");
        assert!(sizes.values().all(|count| likely(*count, small.len(), 1.0 / 15.0)), "{name}: {sizes:?}");
        let places: BTreeSet<u64> = small.iter().map(|request| request.sector).collect();
        assert!(places.len() > 1980, "{name} go to {} places", places.len());
        assert_everywhere(&small, size, name);
        let aligned = small.iter().filter(|request| request.sector % 8 == 0).count();
        assert!(likely(aligned, small.len(), 0.125), "{name}: {aligned} of {} at multiples of 4 KiB", small.len());
    }
    let large: Vec<Request> = all.iter().copied().filter(|request| request.sectors >= LARGE).collect();
    assert!(large.iter().all(|r| r.sectors == LARGE && r.sector % LARGE == 0) && large.len() > 100, "{}", large.len());
}

#[test]
fn index_reads_and_writes_pages_and_the_tomb_raider_walks() {
    let size = 64 << 20;
    let keys = "test-duration-sec: 1\nread-reqs-per-sec: 500\nwrite-reqs-per-sec: 500\n";
    let Some(all) = traced("act_index", size, keys) else { return };
    assert!(all.iter().all(|request| request.sectors == 8 && request.sector % 8 == 0));
    let writes: Vec<Request> = all.iter().copied().filter(|request| request.write).collect();
    assert!(writes.len().abs_diff(1000) <= 1 && (all.len() - writes.len()).abs_diff(2000) <= 2, "{}", all.len());
    assert_everywhere(&writes, size, "writes");

    // There is time for three thousand pauses; a busy machine manages a few hundred.
    let keys = "test-duration-sec: 3\nread-reqs-per-sec: 100\ntomb-raider: yes\ntomb-raider-sleep-usec: 1000\n";
    let Some(all) = traced("act_storage", 8 << 20, keys) else { return };
    let walk: Vec<u64> = all.iter().filter(|request| request.sectors == LARGE).map(|request| request.sector).collect();
    let blocks = (8 << 20) / 512 / LARGE;
    assert!(walk.len() as u64 > blocks, "the walk of {} blocks comes round", walk.len());
    for (at, sector) in walk.iter().enumerate() {
        assert_eq!(*sector, at as u64 % blocks * LARGE);
    }
}
