//! What survives: 1,000 writers killed at random moments, power cuts with a disk that forgets what was not synced, a
//! disk that fills up. Each check is also tried on a case that must fail it.

use super::*;
use assay_base::Prng;
use assay_model::workload::Adjust;
use assay_record::{Event, FlowInterval, Histograms, Interval, Reader};
use std::io::{BufRead, BufWriter};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

/// Set in the processes that are killed: what to write, and how.
const TASK: &str = "ASSAY_TEST_WRITER";
/// Number of kills of the real writer.
const KILLS: u64 = 1_000;

fn interval(index: u64) -> Entry {
    let flow = FlowInterval { scheduled: 10, issued: 10, ok: 10, bytes: 40_960, ..FlowInterval::default() };
    Entry::Interval(Interval { index, start_ns: index, end_ns: index + 1, flows: vec![flow; 3], ..Interval::default() })
}

/// The intervals in a log, read with all checks: those before the first damage, and the damages.
fn held(bytes: &[u8]) -> (Vec<u64>, Vec<assay_record::Damage>) {
    let (mut reader, mut held, mut damage) = (Reader::new(bytes), Vec::new(), Vec::new());
    while let Some(item) = reader.next_entry().unwrap() {
        match item {
            Ok(Entry::Interval(interval)) => held.push(interval.index),
            Ok(_) => {}
            Err(found) => damage.push(found),
        }
    }
    (held, damage)
}

/// The property: every acknowledged interval is there, in order, and nothing is damaged except an incomplete last line.
fn kept(bytes: &[u8], acknowledged: u64) -> Result<bool, String> {
    let (held, damage) = held(bytes);
    if let Some(bad) = damage.iter().find(|damage| !damage.torn_tail) {
        return Err(bad.to_string());
    }
    let complete = held.iter().enumerate().all(|(at, index)| *index == at as u64);
    if complete && held.len() as u64 >= acknowledged {
        Ok(!damage.is_empty())
    } else {
        Err(format!("{} intervals of {acknowledged} acknowledged", held.len()))
    }
}

/// Not a test by itself, but the process that is killed. It writes intervals as fast as it can and acknowledges each
/// after writing.
#[test]
fn the_writer_that_is_killed() {
    #[allow(clippy::disallowed_methods, reason = "how a parent tells its child what to do")]
    let Ok(task) = std::env::var(TASK) else { return };
    let (how, path) = task.split_once(':').unwrap();
    let mut told = std::io::stdout();
    let mut say = |line: String| told.write_all(line.as_bytes()).and_then(|()| told.flush()).unwrap();
    if how == "buffering" {
        let file = File::options().append(true).create_new(true).open(path).unwrap();
        let mut writer = Writer::new(BufWriter::new(file), 0);
        for index in 0..u64::MAX {
            writer.write_entry(&interval(index)).unwrap();
            say(format!("ack {}\n", index + 1));
        }
    }
    let mut log = LogFile::create_new(Path::new(path)).unwrap();
    log.reserve_room(1 << 20).unwrap();
    for index in 0..u64::MAX {
        log.write_entry(&interval(index));
        assert_eq!(log.write_failure(), None);
        say(format!("ack {}\n", index + 1));
    }
}

/// Starts a writer, kills it after a random number of acknowledgements and microseconds, and returns the number it had
/// acknowledged.
fn killed(how: &str, path: &Path, prng: &mut Prng) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "log::logfile::tests::the_writer_that_is_killed", "--nocapture", "--test-threads=1"])
        .env(TASK, format!("{how}:{}", path.display()))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufReader::new(child.stdout.take().unwrap());
    let enough = prng.uniform_below(120);
    let (mut acknowledged, mut line) = (0, String::new());
    while acknowledged <= enough {
        line.clear();
        assert!(lines.read_line(&mut line).unwrap() > 0, "the writer ended by itself");
        acknowledged = count(&line).unwrap_or(acknowledged);
    }
    let pause = prng.uniform_below(400_000);
    for _ in 0..pause {
        std::hint::spin_loop();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // What it printed before it died counts as well.
    for line in lines.lines().map_while(Result::ok) {
        acknowledged = count(&format!("{line}\n")).unwrap_or(acknowledged);
    }
    acknowledged
}

/// A complete acknowledgement; the test harness writes its own text on the same line as the first one.
fn count(line: &str) -> Option<u64> {
    line.strip_suffix('\n')?.rsplit_once("ack ")?.1.parse().ok()
}

#[test]
fn kill_9_at_a_thousand_moments_loses_nothing_that_was_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    let torn: u64 = std::thread::scope(|scope| {
        let lane = |lane: u64| {
            let dir = dir.path();
            scope.spawn(move || {
                let mut prng = Prng::from_seed(lane);
                let mut torn = 0;
                for kill in 0..KILLS / 2 {
                    let path = dir.join(format!("{lane}-{kill}"));
                    let acknowledged = killed("log", &path, &mut prng);
                    let bytes = std::fs::read(&path).unwrap();
                    torn += u64::from(kept(&bytes, acknowledged).unwrap_or_else(|e| panic!("kill {lane}-{kill}: {e}")));
                    std::fs::remove_file(&path).unwrap();
                }
                torn
            })
        };
        let lanes: Vec<_> = (0..2).map(lane).collect();
        lanes.into_iter().map(|lane| lane.join().unwrap()).sum()
    });
    // Each line is a single write, so a kill falls between lines, hardly ever inside one.
    assert!(torn <= KILLS / 10, "{torn}");
}

#[test]
fn a_writer_that_buffers_fails_the_same_check() {
    let dir = tempfile::tempdir().unwrap();
    let mut prng = Prng::from_seed(9);
    let lost = (0..40).filter(|kill| {
        let path = dir.path().join(kill.to_string());
        let acknowledged = killed("buffering", &path, &mut prng);
        kept(&std::fs::read(&path).unwrap(), acknowledged).is_err()
    });
    let lost = lost.count();
    assert!(lost >= 30, "the check noticed a buffering writer in {lost} of 40");
}

/// A reader that accepts everything that parses as JSON, without further checks.
fn trusting(bytes: &[u8]) -> usize {
    let lines = bytes.split(|byte| *byte == b'\n');
    lines
        .filter(|line| serde_json::from_slice::<serde_json::Value>(line).is_ok_and(|line| line["kind"] == "interval"))
        .count()
}

#[test]
fn a_reader_without_checks_fails_where_ours_notices() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log");
    let mut log = LogFile::create_new(&path).unwrap();
    (0..50).for_each(|index| log.write_entry(&interval(index)));
    drop(log);
    let good = std::fs::read(&path).unwrap();
    assert_eq!((kept(&good, 50), trusting(&good)), (Ok(false), 50));
    let mut prng = Prng::from_seed(5);
    let (mut trials, mut fooled) = (0, 0);
    while trials < 500 {
        let mut bad = good.clone();
        let at = prng.uniform_below(bad.len() as u64) as usize;
        bad[at] ^= 1 << prng.uniform_below(8);
        assert!(kept(&bad, 50).is_err() || held(&bad).1.iter().any(|damage| damage.torn_tail), "byte {at}");
        fooled += usize::from(trusting(&bad) == 50);
        trials += 1;
    }
    assert!(fooled > 50, "damage went past a reader without checks {fooled} times");
}

/// A disk with a volatile cache: a power cut leaves what was synced, and random whole blocks of the rest.
#[derive(Clone, Debug)]
struct Volatile(Arc<Mutex<Cache>>);

#[derive(Debug)]
struct Cache {
    written: Vec<u8>,
    synced: usize,
    lies: bool,
    /// Number of bytes that fit.
    room: usize,
}

impl Volatile {
    fn new(lies: bool, room: usize) -> Volatile {
        Volatile(Arc::new(Mutex::new(Cache { written: Vec::new(), synced: 0, lies, room })))
    }

    fn log(&self) -> LogFile {
        LogFile::new(Path::new("volatile"), Some(Writer::new(Box::new(self.clone()), 0)))
    }

    /// The content after a power cut. Blocks that did not reach the medium read as zeros.
    fn cut(&self, prng: &mut Prng) -> Vec<u8> {
        let cache = self.0.lock().unwrap();
        let mut left = cache.written.clone();
        let stable = if cache.lies { 0 } else { cache.synced };
        let from = stable.div_ceil(4096) * 4096;
        // The block in which the synced part ends was written completely.
        for block in (from..left.len()).step_by(4096) {
            if prng.uniform_below(2) == 0 {
                let end = (block + 4096).min(left.len());
                left[block..end].fill(0);
            }
        }
        left
    }
}

impl Write for Volatile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut cache = self.0.lock().unwrap();
        let fits = bytes.len().min(cache.room - cache.written.len());
        if fits == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        cache.written.extend_from_slice(&bytes[..fits]);
        Ok(fits)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl LogStorage for Volatile {
    fn make_durable(&self) -> io::Result<()> {
        let mut cache = self.0.lock().unwrap();
        cache.synced = cache.written.len();
        Ok(())
    }

    fn written_bytes(&self) -> io::Result<u64> {
        Ok(0)
    }

    fn free_bytes(&self) -> io::Result<u64> {
        Ok(u64::MAX)
    }

    fn reserve_space(&self, _: u64, bytes: u64) -> io::Result<()> {
        let cache = self.0.lock().unwrap();
        if bytes > cache.room as u64 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    fn release_space(&self) -> io::Result<()> {
        Ok(())
    }
}

/// Power cuts after a random number of lines; returns how many of them lost durable lines.
fn cuts(lies: bool) -> usize {
    let mut prng = Prng::from_seed(3);
    let trial = |_| {
        let disk = Volatile::new(lies, usize::MAX);
        let mut log = disk.log();
        (0..prng.uniform_below(300) + 10).for_each(|index| log.write_entry(&interval(index)));
        let left = disk.cut(&mut prng);
        let (held, _) = held(&left);
        let whole = held.iter().enumerate().take_while(|(at, index)| **index == *at as u64).count() as u64;
        whole < log.durable()
    };
    (0..200).map(trial).filter(|lost| *lost).count()
}

#[test]
fn power_cuts_leave_all_that_was_synced() {
    assert_eq!(cuts(false), 0, "lost after a sync");
    let lost = cuts(true);
    assert!(lost > 150, "the same check noticed a disk that does not sync in {lost} of 200");
}

#[test]
fn long_intervals_are_durable_ten_seconds_later_as_well() {
    const S: u64 = 1_000_000_000;
    for (length, histograms, durable) in [
        // The first ones wait for the tenth line.
        (1, false, [0, 0, 0, 0]),
        (4, false, [0, 0, 3, 3]),
        (10, false, [1, 2, 3, 4]),
        (3600, false, [1, 2, 3, 4]),
        (3600, true, [2, 4, 6, 8]),
    ] {
        let mut log = Volatile::new(false, usize::MAX).log();
        for (index, durable) in (0..).zip(durable) {
            let interval = Interval {
                index,
                start_ns: index * length * S,
                end_ns: (index + 1) * length * S,
                ..Interval::default()
            };
            log.write_entry(&Entry::Interval(interval));
            if histograms {
                log.write_entry(&Entry::Histograms(Histograms::default()));
            }
            assert_eq!(log.durable(), durable, "interval {index} of {length} s");
        }
    }
}

/// An event reports a failure, and its counter comes later: a kill must not find the event only in our own memory.
#[test]
fn an_event_is_written_at_once_and_durable_when_nothing_waits() {
    let disk = Volatile::new(false, usize::MAX);
    let mut log = disk.log();
    let event = Event { at_ns: 1, what: "io-error".into(), text: String::new(), details: Default::default() };
    let event = Entry::Event(event);
    for lines in 1..=3 {
        log.write_entry(&event);
        let written = disk.0.lock().unwrap().written.iter().filter(|byte| **byte == b'\n').count();
        assert_eq!((written, log.durable()), (lines, 0));
    }
    log.settle_events();
    assert_eq!(log.durable(), 3);
    log.settle_events();
    log.write_entry(&event);
    log.write_entry(&interval(0));
    assert_eq!(log.durable(), 5, "the next line makes it durable as well");
    (0..12).for_each(|_| log.write_entry(&event));
    assert!(log.durable() >= 15, "of very many no more than ten lines wait: {}", log.durable());
}

#[test]
fn the_time_line_of_a_new_segment_is_its_own() {
    const S: u64 = 1_000_000_000;
    let mut log = Volatile::new(false, usize::MAX).log();
    let plan = crate::workloads::find_workload("random-read").unwrap().make_plan(&Adjust::default()).unwrap();
    let header = crate::log::header::make_header(&plan, crate::log::header::HeaderFacts::default());
    let at = |s: u64| Entry::Interval(Interval { start_ns: s * S, end_ns: (s + 4) * S, ..Interval::default() });
    log.write_entry(&at(3600));
    log.write_entry(&Entry::Header(Box::new(header)));
    assert_eq!(log.durable(), 2);
    (0..3).for_each(|index| log.write_entry(&at(4 * index)));
    assert_eq!(log.durable(), 5);
}

#[test]
fn a_disk_that_fills_up_keeps_what_was_acknowledged_and_ends_the_log() {
    for room in [100, 4_000, 20_011] {
        let disk = Volatile::new(false, room);
        let mut log = disk.log();
        let mut acknowledged = 0;
        for index in 0..200 {
            log.write_entry(&interval(index));
            acknowledged += u64::from(log.write_failure().is_none());
        }
        assert!(log.write_failure().is_some() && acknowledged < 200);
        let left = disk.0.lock().unwrap().written.clone();
        kept(&left, acknowledged).unwrap();
        assert_eq!(held(&left).0.len() as u64, acknowledged, "nothing is written behind a torn line");
        let refused = disk.log().reserve_room(1 << 30).unwrap_err();
        assert_eq!(refused.code, crate::failure::code::HOST);
    }
}

#[test]
fn reserved_room_is_given_back_and_does_not_change_the_length() {
    use std::os::unix::fs::MetadataExt;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log");
    let mut log = LogFile::create_new(&path).unwrap();
    log.reserve_room(8 << 20).unwrap();
    let meta = path.metadata().unwrap();
    let reserved = meta.blocks() * 512;
    assert_eq!(meta.len(), 0);
    log.write_entry(&interval(0));
    drop(log);
    let meta = path.metadata().unwrap();
    assert!(meta.len() > 100 && meta.blocks() * 512 < 1 << 20, "{} bytes remain", meta.blocks() * 512);
    // What this file system reserves for anybody, if it can.
    let other = tempfile::tempfile_in(dir.path()).unwrap();
    let can = rustix::fs::fallocate(&other, rustix::fs::FallocateFlags::KEEP_SIZE, 0, 8 << 20).is_ok();
    assert_eq!(reserved >= 8 << 20, can, "{reserved} were reserved");
    assert_eq!(held(&std::fs::read(&path).unwrap()).0, [0]);
}

/// A file system that cannot reserve space, or that fails to.
#[derive(Debug)]
struct Unreserving(io::ErrorKind);

impl Write for Unreserving {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl LogStorage for Unreserving {
    fn make_durable(&self) -> io::Result<()> {
        Ok(())
    }

    fn written_bytes(&self) -> io::Result<u64> {
        Ok(0)
    }

    fn free_bytes(&self) -> io::Result<u64> {
        Ok(1 << 40)
    }

    fn reserve_space(&self, _: u64, _: u64) -> io::Result<()> {
        Err(self.0.into())
    }

    fn release_space(&self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn where_space_cannot_be_reserved_the_free_space_counts() {
    let dir = tempfile::tempdir().unwrap();
    let (unsupported, full) = (io::ErrorKind::Unsupported, io::ErrorKind::StorageFull);
    for (kind, bytes, begins) in [(unsupported, 1, true), (unsupported, u64::MAX, false), (full, 1, false)] {
        let writer = Writer::new(Box::new(Unreserving(kind)) as Box<dyn LogStorage>, 0);
        let mut log = LogFile::new(&dir.path().join("run.jsonl"), Some(writer));
        let refused = log.reserve_room(bytes).err().map(|why| format!("{why:?}"));
        assert_eq!(refused.is_none(), begins, "{kind:?} {bytes}: {refused:?}");
        assert!(refused.is_none_or(|why| why.contains("cannot be reserved")), "{kind:?} {bytes}");
    }
    assert!(LogFile::without_file().reserve_room(u64::MAX).is_ok(), "nothing is stored");
}

#[test]
fn a_log_without_a_line_is_empty_and_is_forgotten_with_its_directory() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("assay-runs/one/run.jsonl");
    let made = |keep: bool| {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut log = LogFile::create_new(&path).unwrap();
        assert!(log.is_empty());
        if keep {
            log.write_entry(&interval(0));
            assert!(!log.is_empty());
        }
        log.forget_unbegun();
    };
    made(false);
    assert!(!dir.path().join("assay-runs").exists() && dir.path().exists(), "only the directories of runs go");
    // What else lies beside it stays.
    std::fs::create_dir_all(dir.path().join("assay-runs/two")).unwrap();
    made(false);
    assert!(dir.path().join("assay-runs/two").exists() && !dir.path().join("assay-runs/one").exists());
    made(true);
    assert!(path.exists(), "a log with a line is a run");
    let unkept = LogFile::without_file();
    assert!(unkept.is_empty());
    unkept.forget_unbegun();
}

#[test]
fn nothing_is_synced_where_no_event_waits_or_the_log_has_failed() {
    let event =
        || Entry::Event(Event { at_ns: 0, what: "stuck".into(), text: String::new(), details: Default::default() });
    let disk = Volatile::new(false, usize::MAX);
    let mut log = disk.log();
    log.write_entry(&interval(0));
    log.settle_events();
    assert_eq!(log.durable(), 0, "an interval may wait");
    log.write_entry(&event());
    assert_eq!(log.durable(), 0);
    log.settle_events();
    assert_eq!(log.durable(), 2);
    let mut failed = Volatile::new(false, 0).log();
    failed.write_entry(&event());
    let why = failed.write_failure().map(str::to_owned);
    failed.settle_events();
    assert!(why.is_some() && failed.write_failure() == why.as_deref() && failed.durable() == 0);
}
