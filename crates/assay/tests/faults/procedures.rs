//! Every procedure of several runs on a disk (a suite: on a tree of files) that fails, and then is killed, interrupted, stopped or left alone, and continued on a
//! disk that is sound again: **what any log of it recorded as a failure is never forgotten**.
//!
//! One table: procedure × fault × what happens to the program. In each cell the final exit code is 10 where a log recorded that
//! an operation failed, never came back, or read other data than were written; the result names it; and what was measured
//! before is still there. A bound that is broken by a disk that is too slow is something else: for a search it is a load above
//! the limit, so that there the rule is that such a load is never said to hold. The normal tests run each procedure with each
//! fault and one of the ends; `ASSAY_CAMPAIGN=20` (`make campaign`) all cells so many times, each at a random moment.

use super::bed::{Log, Place, Running, Said, until};
use super::devices::passed_over;
use super::rig::{DISK, beside, steady, trials, workload};
use assay_base::Prng;
use assay_faultfs::{FaultDisk, FaultTree};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Number of cells that are tried at the same time: most of their time they wait.
const LANES: usize = 6;
/// Directory of the procedure.
const OUT: &str = "p";

#[derive(Clone, Copy, Debug, PartialEq)]
enum Procedure {
    Limit,
    CurveOfRuns,
    CurveInOneRun,
    Fit,
    Size,
    Matrix,
    Certify,
    Steps,
    LimitOfServer,
    CurveOfServer,
    CertifyServer,
    Suite,
}

use Procedure::{
    Certify, CertifyServer, CurveInOneRun, CurveOfRuns, CurveOfServer, Fit, Limit, LimitOfServer, Matrix, Size, Steps,
    Suite,
};
const PROCEDURES: [Procedure; 12] = [
    Limit,
    CurveOfRuns,
    CurveInOneRun,
    Fit,
    Size,
    Matrix,
    Certify,
    Steps,
    LimitOfServer,
    CurveOfServer,
    CertifyServer,
    Suite,
];

/// What fails: a disk, or for a suite a tree with a directory for each of its members.
enum Storage {
    Disk(FaultDisk),
    Tree(FaultTree),
}

impl Storage {
    /// The empty storage of a procedure, at `mount` in a place.
    fn mount_for(procedure: Procedure, place: &Place) -> std::io::Result<Storage> {
        let point = place.path("mount");
        fs::create_dir(&point).unwrap();
        if procedure != Suite {
            let disk = FaultDisk::mount_empty(&point)?;
            let said = place.assay(&["prep", DISK, "--create", "16MiB"]);
            assert_eq!(said.code, Some(0), "{said:?}");
            return Ok(Storage::Disk(disk));
        }
        let tree = FaultTree::mount(&point)?;
        for member in ["a", "b"] {
            fs::create_dir(point.join(member)).unwrap();
        }
        Ok(Storage::Tree(tree))
    }

    fn begin_fault(&self, fault: Fault) {
        match self {
            Storage::Disk(disk) => disk.set(&format!("reset=1 {}", fault.begins())),
            Storage::Tree(tree) => tree.set(&format!("reset=1 {}", fault.begins_in_tree())),
        }
    }

    /// From now on everything is answered as it should be.
    fn end_faults(&self) {
        match self {
            Storage::Disk(disk) => disk.set(Fault::ENDS),
            Storage::Tree(tree) => tree.set(Fault::ENDS_IN_TREE),
        }
    }

    /// Whether many operations took longer than the bound.
    fn was_slow(&self) -> bool {
        match self {
            Storage::Disk(disk) => disk.truth().service_ns.iter().filter(|ns| **ns > 100_000_000).count() > 100,
            Storage::Tree(_) => false,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    /// Operations fail.
    Errors,
    /// Operations do not come back.
    Hang,
    /// What is read is not what was written.
    Damage,
    /// Operations take longer than the bound, and come back.
    Slow,
}

const FAULTS: [Fault; 4] = [Fault::Errors, Fault::Hang, Fault::Damage, Fault::Slow];

/// What happens to the program after the fault was recorded.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Kill,
    Interrupt,
    /// SIGSTOP, and SIGCONT some time later.
    Stop,
    /// Nothing: the disk is sound again, and the procedure goes on.
    Alone,
}

const ENDS: [End; 4] = [End::Kill, End::Interrupt, End::Stop, End::Alone];

impl Procedure {
    /// The words of its command line, and options that only it has.
    fn words(self) -> &'static [&'static str] {
        match self {
            Limit => &["limit", "w.toml", DISK, "--from", "1x", "--to", "2x"],
            CurveOfRuns => &["curve", "w.toml", DISK, "--max", "2x", "--points", "50%,100%", "--runs", "each"],
            CurveInOneRun => &["curve", "w.toml", DISK, "--max", "2x", "--points", "50%,100%", "--runs", "one"],
            Fit => &["fit", "profile.toml", DISK, "--rounds", "2"],
            Size => &["size", "profile.toml", DISK, "--fit-for", "1s", "--to", "1x"],
            Matrix => &["matrix", "orion", DISK, "--disks", "1", "--write", "50%"],
            Certify => &["certify", "w.toml", DISK],
            Steps => &["run", "steps.toml", DISK],
            LimitOfServer => &["limit", "server.toml", DISK, "--from", "1x", "--to", "2x"],
            CurveOfServer => &["curve", "server.toml", DISK, "--max", "2x", "--points", "50%,100%"],
            CertifyServer => &["certify", "server.toml", DISK],
            Suite => SUITE,
        }
    }

    /// The command with the options that all have.
    fn command(self, fault: Fault) -> Vec<&'static str> {
        let lengths = ["--warm-up", "0s", "--for", "1s", "--slice", "1s", "--drain", "1s", "--stuck", "500ms"];
        // What a run on a directory left is always compared.
        let verify = if fault == Fault::Damage && self != Suite { &["--verify"][..] } else { &[] };
        [self.words(), &lengths, verify].concat()
    }

    /// Whether it can meet this fault at all. A fit compares counters, in which reading back would count; a matrix and a suite have
    /// no bound; a server reads nothing.
    fn meets(self, fault: Fault) -> bool {
        !matches!(
            (self, fault),
            (Fit | LimitOfServer | CurveOfServer | CertifyServer, Fault::Damage)
                | (Fit | Size | Matrix | Suite, Fault::Slow)
        )
    }
}

impl Fault {
    fn begins(self) -> &'static str {
        match self {
            Fault::Errors => "rerr_every=3 werr_every=3",
            Fault::Hang => "hang=1",
            Fault::Damage => "corrupt_every=2 lost_every=3",
            Fault::Slow => "tail=60%:300ms",
        }
    }

    const ENDS: &str = "rerr_every=off werr_every=off hang=0 corrupt_every=off lost_every=off tail=off";

    /// The same in a tree of files.
    fn begins_in_tree(self) -> &'static str {
        match self {
            Fault::Errors => "read.errno=EIO read.every=3 write.errno=EIO write.every=3",
            Fault::Hang => "hang=1",
            Fault::Damage => "lost_every=2 torn_every=3",
            Fault::Slow => unreachable!("a suite has no bound"),
        }
    }

    const ENDS_IN_TREE: &str = "read.errno=off write.errno=off hang=0 lost_every=off torn_every=off";

    /// One of these words is in a result that names it.
    fn names(self) -> &'static [&'static str] {
        match self {
            Fault::Errors => &["EIO"],
            Fault::Hang => &["stuck", "never came back", "did not return"],
            Fault::Damage => &["lost", "corrupt", "torn", "damage", "must be read"],
            Fault::Slow => &["over 100 ms"],
        }
    }

    fn is_failure(self) -> bool {
        self != Fault::Slow
    }
}

/// The files that the procedures need.
fn write_workloads(place: &Place) {
    let streams = [steady("read", 200), steady("write", 100)];
    let keyed = |text: String| text.replacen("duration", "interval = \"50ms\"\nmax_lag = \"0s\"\nduration", 1);
    let streams = [streams[0].as_str(), streams[1].as_str()];
    place.write("w.toml", &keyed(workload("1s", ("100ms", "20%"), &streams)));
    let [first, second] = [1, 2].map(|step| {
        let of = |direction: &str, rate| {
            let keys = steady(direction, rate);
            format!("{}\nstep = {step}", keys.replacen(&format!("{direction}s"), &format!("{direction}s-{step}"), 1))
        };
        [of("read", 200), of("write", 100)]
    });
    let all = [first[0].as_str(), &first[1], &second[0], &second[1]];
    place.write("steps.toml", &keyed(workload("1s", ("100ms", "20%"), &all)));
    place.write("profile.toml", PROFILE);
    place.write("server.toml", SERVER);
    place.write("files.toml", FILES);
}

/// The log of a server, which has no file system here, and pages.
const SERVER: &str = r#"
name = "server"
model = "service"
rate = "200/s"
arrival = "steady"
streams = true
duration = "1s"
slice = "1s"
interval = "50ms"
max_lag = "0s"
[[file]]
name = "log"
size = "1MiB"
made_by = "zeros"
block = "4KiB"
when_full = "start"
[[file]]
name = "pages"
size = "1MiB"
made_by = "written"
block = "4KiB"
[writer]
name = "log"
entry = "600B"
steps = [{ write = "log" }, { fdatasync = "log", name = "log-sync" }]
[[task]]
name = "pages"
each = "100ms"
steps = [{ write = "pages", page = "4KiB", pages_per_commit = 0.5, at = "random" }, { fdatasync = "pages" }]
[[criterion]]
stream = "log-sync"
measure = "service"
share_over = "100ms"
at_most = "20%"
[certify]
for = "1s"
slice = "1s"
[certify.stress]
load = "2x"
for = "1s"
slice = "1s"
[[certify.stress.criterion]]
stream = "log-sync"
measure = "service"
share_over = "100ms"
at_most = "20%"
"#;

const SUITE: &[&str] = &[
    "suite",
    "mounts",
    "one=mount/a",
    "two=mount/b",
    "--workloads",
    "files.toml",
    "--rounds",
    "2",
    "--memory",
    "none",
    "--seed",
    "1",
];

/// Files that are made, read and deleted. None is there before the load begins: nothing fails that is not counted.
const FILES: &str = r#"
name = "files"
model = "files"
clients = 2
closed = true
duration = "1s"
slice = "1s"
interval = "50ms"
cache = "warm"
io = "4KiB"
[tree]
files = 20
size = "4KiB"
empty = true
[[do]]
name = "make"
steps = ["create", "write", "close"]
[[do]]
name = "look"
steps = ["open", "read", "close"]
share = 3
[[do]]
name = "delete"
steps = ["unlink"]
"#;

const PROFILE: &str = r#"
name = "small"
model = "profile"
[[application]]
name = "a"
[application.reads]
rate = "200/s"
sizes = [["4KiB", "100%"]]
[application.writes]
rate = "100/s"
sizes = [["4KiB", "100%"]]
[[iostat]]
drive = "sda"
reads = "200/s"
writes = "100/s"
read_bytes = "800KiB"
write_bytes = "400KiB"
"#;

/// The logs below a directory, by their paths.
fn logs(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left = vec![dir.to_path_buf()];
    while let Some(dir) = left.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let path = entry.path();
            match entry.file_name() == "run.jsonl" {
                true => found.push(path),
                false if path.is_dir() => left.push(path),
                false => {}
            }
        }
    }
    found.sort();
    found
}

/// How many headers a log has: one for each run, step and continuation.
fn headers(log: &Path) -> usize {
    fs::read_to_string(log).map_or(0, |text| text.matches("\"kind\":\"header\"").count())
}

/// Whether a log has a whole header, so that it can be read.
fn has_begun(log: &Path) -> bool {
    fs::read_to_string(log).is_ok_and(|text| text.contains('\n'))
}

/// Whether a log holds an operation that failed, was short or never came back, or damage.
fn records_failure(log: &Path) -> bool {
    if !has_begun(log) {
        return false;
    }
    let log = Log::of(log.parent().unwrap());
    let failed =
        |what: &str| matches!(what, "io-error" | "short-io" | "damage" | "stuck" | "target-lost" | "condition-broken");
    let flows = || log.intervals.iter().flat_map(|interval| &interval.flows);
    flows().any(|flow| flow.failed_operations() + flow.short + flow.stuck > 0)
        || log.events.iter().any(|event| failed(event.what.as_str()))
}

/// The verdicts of all logs, judged now.
fn verdicts(place: &Place) -> BTreeMap<PathBuf, String> {
    let all = logs(&place.path(OUT)).into_iter().filter(|log| has_begun(log));
    let judged = |log: &Path| place.assay(&["judge", log.to_str().unwrap(), "--json"]).json();
    all.map(|log| (log.clone(), judged(&log)["verdict"].as_str().unwrap().to_owned())).collect()
}

/// Whatever happens to a test, its disk answers again when it is over.
struct SoundAtLast<'a>(&'a Storage, Cell);

impl Drop for SoundAtLast<'_> {
    fn drop(&mut self) {
        self.0.end_faults();
        if std::thread::panicking() {
            eprintln!("in {:?}", self.1);
        }
    }
}

/// One cell of the table.
#[derive(Clone, Copy, Debug)]
struct Cell {
    procedure: Procedure,
    fault: Fault,
    end: End,
    seed: u64,
}

/// What came of a cell.
#[derive(Debug, PartialEq)]
enum Came {
    /// A log recorded the fault.
    Recorded,
    /// The procedure was over, or killed, before any log did.
    Unseen,
    NoFuse,
}

impl Cell {
    fn tried(self) -> Came {
        let place = Place::new();
        let storage = match Storage::mount_for(self.procedure, &place) {
            Ok(storage) => storage,
            Err(e) => {
                passed_over(&format!("no FUSE mount to be had: {e}"));
                return Came::NoFuse;
            }
        };
        write_workloads(&place);
        let mut prng = Prng::from_seed(self.seed);
        let command = self.procedure.command(self.fault);
        let mut running = place.begin(&[&command[..], &["--out", OUT]].concat());
        // A program whose disk hangs cannot be waited for.
        let _sound = SoundAtLast(&storage, self);
        self.fails(&place, &storage, &mut running, &mut prng);
        let said = self.ends(&storage, running, &mut prng);
        let before: BTreeMap<PathBuf, Vec<u8>> =
            logs(&place.path(OUT)).into_iter().map(|log| (log.clone(), fs::read(&log).unwrap())).collect();
        let last = match self.end {
            End::Kill | End::Interrupt => self.resumed(&place, &command),
            End::Stop | End::Alone => said,
        };
        self.keeps(&place, &before, &last);
        self.is_judged(&place, &last)
    }

    /// Lets the disk fail at some moment of the first or the second run, and waits until a log has recorded it.
    fn fails(self, place: &Place, storage: &Storage, running: &mut Running, prng: &mut Prng) {
        let runs = 1 + prng.uniform_below(2) as usize;
        until("the run in which the fault begins", || {
            let begun = logs(&place.path(OUT)).iter().map(|log| headers(log)).sum::<usize>();
            !running.is_alive() || begun >= runs
        });
        std::thread::sleep(Duration::from_millis(prng.uniform_below(600)));
        storage.begin_fault(self.fault);
        let recorded = || match self.fault.is_failure() {
            true => logs(&place.path(OUT)).iter().any(|log| records_failure(log)),
            false => storage.was_slow(),
        };
        // A hang may begin between two runs, where no log is written.
        let begin = Instant::now();
        while running.is_alive() && !recorded() && begin.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(20));
        }
        std::thread::sleep(Duration::from_millis(prng.uniform_below(200)));
    }

    /// What happens to the program then.
    fn ends(self, storage: &Storage, mut running: Running, prng: &mut Prng) -> Said {
        match self.end {
            _ if !running.is_alive() => {}
            End::Kill => running.signal(libc::SIGKILL),
            End::Interrupt => running.signal(libc::SIGINT),
            End::Stop => {
                running.signal(libc::SIGSTOP);
                std::thread::sleep(Duration::from_millis(200 + prng.uniform_below(600)));
                running.signal(libc::SIGCONT);
            }
            End::Alone => {}
        }
        if self.end == End::Interrupt && self.fault == Fault::Hang {
            // The run waits for what is in flight, and gives it up.
            std::thread::sleep(Duration::from_millis(1500));
        }
        storage.end_faults();
        running.end()
    }

    /// Continues the procedure to its end; where nothing is left of it, its result is what is judged.
    fn resumed(self, place: &Place, command: &[&str]) -> Said {
        let said = place.assay(&[command, &["--resume", OUT]].concat());
        let is_over = said.code == Some(2) && said.err.contains("nothing to resume");
        if is_over { place.assay(&["judge", OUT]) } else { said }
    }

    /// What was measured before is there, to the byte.
    fn keeps(self, place: &Place, before: &BTreeMap<PathBuf, Vec<u8>>, last: &Said) {
        for (log, bytes) in before {
            let now = fs::read(log).unwrap_or_else(|e| panic!("{self:?}: {} is gone: {e}", log.display()));
            let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            let is_kept = now.len() >= whole && now[..whole] == bytes[..whole];
            assert!(is_kept, "{self:?}: {} was changed: {last:?} in {:?}", log.display(), place.path(OUT));
        }
    }

    /// What the procedure came to follows from its logs.
    fn is_judged(self, place: &Place, last: &Said) -> Came {
        let recorded = logs(&place.path(OUT)).iter().any(|log| records_failure(log));
        let verdicts = verdicts(place);
        let failed: Vec<&PathBuf> = verdicts.iter().filter(|(_, is)| *is == "FAIL").map(|(log, _)| log).collect();
        let words = format!("{self:?}: {verdicts:?}\n{}{}", last.out, last.err);
        if recorded {
            assert_eq!(last.code, Some(10), "a failure is a FAIL: {words}");
            let named = self.fault.names().iter().any(|name| last.out.contains(name));
            assert!(named, "the failure is not named: {words}");
            self.is_in_its_document(place, &words);
            return Came::Recorded;
        }
        match (self.procedure, failed.is_empty()) {
            (_, true) => return Came::Unseen,
            (Limit | Size | LimitOfServer, false) => self.never_holds_what_failed(place, &failed, &words),
            (
                CurveOfRuns | CurveInOneRun | Matrix | Certify | Steps | Fit | CurveOfServer | CertifyServer | Suite,
                false,
            ) => {
                // In a fit late answers prevent nothing.
                assert!(self.procedure == Fit || last.code == Some(10), "{words}");
            }
        }
        Came::Recorded
    }

    /// The document of the procedure has the failure, for those who read only that.
    fn is_in_its_document(self, place: &Place, words: &str) {
        let name = match self.procedure {
            Limit | LimitOfServer => "limit.json",
            CurveOfRuns | CurveInOneRun | CurveOfServer => "curve.json",
            Fit => "fit.json",
            Size => "size.json",
            Matrix => "matrix.json",
            Suite => "suite.json",
            Certify | Steps | CertifyServer => "verdict.json",
        };
        let text = fs::read_to_string(place.path(OUT).join(name)).unwrap_or_else(|e| panic!("{name}: {e}: {words}"));
        let document: Value = serde_json::from_str(&text).unwrap();
        let failures = match self.procedure {
            Certify | Steps | CertifyServer => return assert_eq!(document["verdict"], "FAIL", "{words}"),
            Size => &document["candidates"][0]["failures"],
            _ => &document["failures"],
        };
        let failures = failures.as_array().unwrap_or_else(|| panic!("{name} has no failures: {text}\n{words}"));
        for failure in failures {
            let what = failure["failure"].as_str().unwrap();
            assert!(self.fault.names().iter().any(|name| what.contains(name)), "{what}: {words}");
        }
    }

    /// A search never says that a load holds whose run failed.
    fn never_holds_what_failed(self, place: &Place, failed: &[&PathBuf], words: &str) {
        let path = place.path(OUT).join("limit.json");
        let Ok(text) = fs::read_to_string(&path) else { return };
        let path: Value = serde_json::from_str(&text).unwrap();
        let load = |text: &str| text.trim_end_matches('x').parse::<f64>().unwrap();
        let outcome = path["outcome"].as_object().unwrap().values().next().unwrap();
        let holds = outcome["passes"].as_str().map_or(0.0, load);
        for log in failed {
            let name = log.parent().unwrap().file_name().unwrap().to_str().unwrap();
            let of = load(name.split('-').nth(1).unwrap());
            assert!(holds < of, "{holds}x is said to hold, and {name} failed: {words}");
        }
    }
}

/// The cells of the normal tests: each procedure with each fault, the ends in turn. All cells of a campaign.
fn cells() -> Vec<Cell> {
    let times = if trials() > 2 { trials() } else { 0 };
    let mut cells = Vec::new();
    for (row, procedure) in PROCEDURES.into_iter().enumerate() {
        for (column, fault) in FAULTS.into_iter().enumerate().filter(|(_, fault)| procedure.meets(*fault)) {
            // An error and a kill are what was forgotten most often.
            let usual = if fault == Fault::Errors { vec![0, 1 + row % 3] } else { vec![(row + column) % ENDS.len()] };
            let ends: Vec<usize> = if times == 0 { usual } else { (0..ENDS.len()).collect() };
            for (end, time) in ends.into_iter().flat_map(|end| (0..times.max(1)).map(move |time| (end, time))) {
                let seed = (((row * 10 + column) * 10 + end) * 1000 + time) as u64;
                cells.push(Cell { procedure, fault, end: ENDS[end], seed });
            }
        }
    }
    cells
}

#[test]
fn what_a_log_of_a_procedure_recorded_is_never_forgotten() {
    let _turn = beside();
    let (cells, next, recorded) = (cells(), AtomicUsize::new(0), AtomicUsize::new(0));
    let tried = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..LANES {
            scope.spawn(|| {
                while let Some(cell) = cells.get(next.fetch_add(1, Relaxed)) {
                    let came = cell.tried();
                    if came == Came::NoFuse {
                        return;
                    }
                    tried.fetch_add(1, Relaxed);
                    recorded.fetch_add(usize::from(came == Came::Recorded), Relaxed);
                }
            });
        }
    });
    let (tried, recorded) = (tried.into_inner(), recorded.into_inner());
    eprintln!("{recorded} of {tried} cells recorded their fault");
    assert!(tried == 0 || recorded * 4 > tried * 3, "hardly a fault was met: {recorded} of {tried}");
}
