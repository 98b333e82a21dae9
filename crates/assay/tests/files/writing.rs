//! Obstacles in the place of a file that the program wants to write.

use super::bed::{Place, Said};
use super::live::{Loop, root};
use rustix::fs::FileType;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt, symlink};
use std::path::{Path, PathBuf};

/// Puts an obstacle at a path.
type Lay<'a> = &'a dyn Fn(&Path);
/// Runs a verb up to the point where it would make the file, has the obstacle put there, and lets it continue.
type Make = fn(&Place, Lay<'_>) -> Said;

/// Each verb, a file that it makes, and how to make the verb do so. If a verb makes a file that is missing here,
/// `every_file_that_is_made_is_in_the_table` fails.
const FILES: [(&str, &str, Make); 50] = [
    ("man", "assay.1", |place, lay| at(place, "pages/assay.1", lay, &["man", "--out", "pages"])),
    ("man", "assay-certify.1", |place, lay| at(place, "pages/assay-certify.1", lay, &["man", "--out", "pages"])),
    ("links", "act_storage", |place, lay| at(place, "tools/act_storage", lay, &["links", "tools"])),
    ("links", "pblio", |place, lay| at(place, "tools/pblio", lay, &["links", "tools"])),
    ("links", "seekmark", |place, lay| at(place, "tools/seekmark", lay, &["links", "tools"])),
    ("links", "bonnie++", |place, lay| at(place, "tools/bonnie++", lay, &["links", "tools"])),
    ("links", "act_latency.py", |place, lay| at(place, "tools/act_latency.py", lay, &["links", "tools"])),
    ("consent", "consent", |place, lay| {
        let disk = Loop::blank(&place.path("."), "disk.img", 1 << 20);
        let token = place.assay(&["devices", "--json", &disk.dev]).json()[0]["token"].as_str().unwrap().to_owned();
        place_at(&place.path(&format!("state/assay/consent/{token}.json")), lay);
        place.assay(&["consent", &disk.dev, "--destroy-data", &token])
    }),
    ("report", "report.html", |place, lay| {
        measured(place);
        at(place, "run/report.html", lay, &["report", "run"])
    }),
    ("report", "page.html", |place, lay| {
        measured(place);
        at(place, "page.html", lay, &["report", "run", "--out", "page.html"])
    }),
    ("live", "rows.csv", |place, lay| {
        measured(place);
        at(place, "rows.csv", lay, &["live", "run", "--linger", "1ms", "--csv", "rows.csv"])
    }),
    ("import", "profile.toml", |place, lay| {
        place.write("table", include_str!("../../../../examples/worked/asloglatency.txt"));
        at(place, "profile.toml", lay, &["import", "aerospike", "table", "--out", "profile.toml"])
    }),
    ("compare", "page.html", |place, lay| {
        measured(place);
        at(place, "page.html", lay, &["compare", "run", "run", "--html", "page.html"])
    }),
    ("cache-curve", "page.html", |place, lay| {
        let args = ["cache-curve", "random-read", "null:1MiB", "--operations", "10", "--html", "page.html"];
        at(place, "page.html", lay, &args)
    }),
    ("run", "run", |place, lay| at(place, "run", lay, &words(&["--out", "run"]))),
    ("run", "run.txt", |place, lay| at(place, "run.txt", lay, &words(&["--out", "run", "--detach"]))),
    ("run", "said.txt", |place, lay| {
        cut(place);
        at(place, "run/said.txt", lay, &words(&["--resume", "run", "--detach"]))
    }),
    ("run", "run.jsonl", |place, lay| {
        cut(place);
        at(place, "run/run.jsonl", lay, &words(&["--resume", "run"]))
    }),
    ("run", "verdict.json", |place, lay| {
        cut(place);
        at(place, "run/verdict.json", lay, &words(&["--resume", "run"]))
    }),
    ("run", "verdict.json.minisig", |place, lay| {
        cut(place);
        key(place);
        at(place, "run/verdict.json.minisig", lay, &words(&["--resume", "run", "--sign", "key"]))
    }),
    ("run", "report.html", |place, lay| {
        cut(place);
        at(place, "run/report.html", lay, &words(&["--resume", "run"]))
    }),
    ("run", "new.dat", |place, lay| {
        let made = ["run", "act-storage", "new.dat", "--create", "16MiB", "--for", "1s", "--out", "run"];
        at(place, "new.dat", lay, &made)
    }),
    ("prep", "shop.db", |place, lay| at(place, "shop.db", lay, &["prep", "sqlite:shop.db", "--warehouses", "1"])),
    ("run", "ssd", |place, lay| cached(place, "ssd", lay)),
    ("run", "ssd.index", |place, lay| cached(place, "ssd.index", lay)),
    ("certify", "verdict.json", |place, lay| {
        let certify = ["certify", "sim:flash", "--at", "1x", "--for", "2s", "--slice", "1s", "--warm-up", "0s"];
        place.assay(&[&certify[..], &["--out", "run"]].concat());
        shorten(place);
        at(place, "run/verdict.json", lay, &[&certify[..], &["--resume", "run"]].concat())
    }),
    ("limit", "limit.json", |place, lay| limit(place, "run/limit.json", lay)),
    ("limit", "limit.html", |place, lay| limit(place, "run/limit.html", lay)),
    ("curve", "curve.json", |place, lay| curve(place, "run/curve.json", lay)),
    ("curve", "curve.html", |place, lay| curve(place, "run/curve.html", lay)),
    ("curve", "maximum", |place, lay| curve(place, "run/maximum", lay)),
    ("curve", "sessions.json", |place, lay| by_sessions(place, "run/sessions.json", lay)),
    ("curve", "sessions.html", |place, lay| by_sessions(place, "run/sessions.html", lay)),
    ("matrix", "matrix.json", |place, lay| matrix(place, "run/matrix.json", lay)),
    ("matrix", "matrix.html", |place, lay| matrix(place, "run/matrix.html", lay)),
    ("capture", "orders.toml", |place, lay| capture(place, "orders.toml", lay)),
    ("merge", "merged.jsonl", |place, lay| {
        place.assay(&words(&["--local", "2", "--out", "joint"]));
        at(place, "joint/merged.jsonl", lay, &["merge", "joint"])
    }),
    ("suite", "suite.json", |place, lay| suite(place, "run/suite.json", lay)),
    ("suite", "suite.html", |place, lay| suite(place, "run/suite.html", lay)),
    ("fit", "fit.json", |place, lay| fit(place, "run/fit.json", lay)),
    ("fit", "fitted.toml", |place, lay| fit(place, "run/fitted.toml", lay)),
    ("fit", "mine.toml", |place, lay| {
        place.write("small.profile", PROFILE);
        at(place, "mine.toml", lay, &[&FIT[..], &["--fitted", "mine.toml", "--out", "run"]].concat())
    }),
    ("size", "size.json", |place, lay| size(place, "run/size.json", lay)),
    ("size", "size.html", |place, lay| size(place, "run/size.html", lay)),
    ("size", "01-sim-flash", |place, lay| size(place, "run/01-sim-flash", lay)),
    ("size", "fit", |place, lay| size(place, "run/01-sim-flash/fit", lay)),
    ("size", "limit", |place, lay| size(place, "run/01-sim-flash/limit", lay)),
    ("prep", "record", |place, lay| {
        let prep = ["prep", "new.dat", "--skip-zero"];
        assert_eq!(place.assay(&[&prep[..], &["--create", "1MiB"]].concat()).code, Some(0));
        let records = place.path("state/assay/prepared");
        let record = fs::read_dir(&records).unwrap().next().unwrap().unwrap().path();
        place_at(&record, lay);
        place.assay(&prep)
    }),
    ("as", "pblio.data", |place, lay| {
        let asus = ["-asu1=sim:flash", "-asu2=sim:flash", "-asu3=sim:flash"];
        at(place, "pblio.data", lay, &[&["as", "pblio"], &asus[..], &["-runlen=1", "-bsu=1"]].concat())
    }),
    ("as", "run directory", |place, lay| {
        let conf = place.write(
            "act.conf",
            "device-names: new.dat\nfile-size-mbytes: 16\ntest-duration-sec: 1\nwrite-reqs-per-sec: 1000\n",
        );
        place_at(&place.path("kept"), lay);
        let mut command = place.command(&["as", "act_storage", conf.to_str().unwrap()]);
        Said::of(command.env("ASSAY_RUN_DIR", "kept").output().unwrap(), &["as act_storage"])
    }),
];

/// Verbs that make no file, each with arguments that make it succeed.
const NONE: [(&str, &[&str]); 14] = [
    ("new", &["new", "--read", "70%"]),
    ("explain", &["explain", "random-read", "sim:flash"]),
    ("judge", &["judge", "run"]),
    ("watch", &["watch", "run"]),
    ("mark", &["mark", "run", "the run is over"]),
    ("verify", &["verify", "run"]),
    ("export", &["export", "run", "--to", "csv"]),
    ("devices", &["devices", "run/run.jsonl"]),
    ("check", &["check", "sqlite:none.db"]),
    ("clean", &["clean", "."]),
    ("doctor", &["doctor"]),
    ("workloads", &["workloads"]),
    ("completions", &["completions", "bash"]),
    ("as act_latency", &["as", "act_latency", "-l", "none"]),
];

/// The rows that can be tested here.
fn rows() -> impl Iterator<Item = &'static (&'static str, &'static str, Make)> {
    static ROWS: &[(&str, &str, Make)] = &FILES;
    let root = root();
    let is_traced = root && Path::new("/sys/kernel/tracing/instances").is_dir();
    ROWS.iter().filter(move |row| (root || row.0 != "consent") && (is_traced || row.0 != "capture"))
}

/// Captures a device that is read meanwhile.
fn capture(place: &Place, file: &str, lay: Lay<'_>) -> Said {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let device = Loop::blank(dir.path(), "image", 1 << 20);
    let reads = "while dd if=\"$1\" of=/dev/null bs=4096 count=64 iflag=direct status=none; do sleep 0.02; done";
    let mut reading = std::process::Command::new("sh").args(["-c", reads, "sh", &device.dev]).spawn().unwrap();
    let said = at(place, file, lay, &["capture", &device.dev, "--for", "2s", "--out", file]);
    reading.kill().unwrap();
    reading.wait().unwrap();
    said
}

const RUN: [&str; 7] = ["run", "random-read", "sim:flash", "--for", "4s", "--slice", "1s"];

fn words<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&RUN[..], more].concat()
}

fn measured(place: &Place) {
    let said = place.assay(&words(&["--out", "run"]));
    assert_eq!(said.code, Some(0), "{said:?}");
}

/// A run that was killed in its third second.
fn cut(place: &Place) {
    measured(place);
    shorten(place);
    for made in ["verdict.json", "report.html"] {
        fs::remove_file(place.path("run").join(made)).unwrap();
    }
}

fn shorten(place: &Place) {
    let log = place.path("run/run.jsonl");
    let text = fs::read_to_string(&log).unwrap();
    let third = text.match_indices("\"kind\":\"interval\"").nth(1).unwrap().0;
    fs::write(&log, &text[..third]).unwrap();
}

/// A run with a cache, whose content is kept after the run.
fn cached(place: &Place, file: &str, lay: Lay<'_>) -> Said {
    let made = ["run", "act-storage", "new.dat", "--cache", "ssd", "--create", "16MiB", "--for", "1s", "--out", "run"];
    at(place, file, lay, &made)
}

fn key(place: &Place) {
    let pair = minisign::KeyPair::generate_unencrypted_keypair().unwrap();
    place.write("key", &pair.sk.to_box(None).unwrap().to_string());
}

fn limit(place: &Place, file: &str, lay: Lay<'_>) -> Said {
    let limit = ["limit", "random-read", "sim:flash", "--for", "1s", "--slice", "1s", "--to", "1x"];
    place.assay(&[&limit[..], &["--out", "run"]].concat());
    at(place, file, lay, &[&limit[..], &["--resume", "run"]].concat())
}

fn curve(place: &Place, file: &str, lay: Lay<'_>) -> Said {
    let curve = ["curve", "random-read", "sim:flash", "--for", "1s", "--slice", "1s", "--to", "1x", "--points", "100%"];
    place.assay(&[&curve[..], &["--out", "run"]].concat());
    let kept = place.path("run/curve.json");
    let mut json: serde_json::Value = serde_json::from_str(&fs::read_to_string(&kept).unwrap()).unwrap();
    // The state before the search for the maximum.
    (json["maximum"], json["points"]) = (serde_json::Value::Null, serde_json::json!([]));
    fs::write(&kept, json.to_string()).unwrap();
    fs::remove_dir_all(place.path("run/maximum")).unwrap();
    at(place, file, lay, &[&curve[..], &["--resume", "run"]].concat())
}

/// A loaded database, of which each test has a copy.
fn shop() -> &'static Path {
    static LOADED: std::sync::OnceLock<PathBuf> = std::sync::OnceLock::new();
    LOADED.get_or_init(|| {
        // It stays for the whole program of tests.
        let place = Box::leak(Box::new(Place::new()));
        let said = place.assay(&["prep", "sqlite:shop.db", "--warehouses", "1"]);
        assert_eq!(said.code, Some(0), "{said:?}");
        place.path("shop.db")
    })
}

fn by_sessions(place: &Place, file: &str, lay: Lay<'_>) -> Said {
    fs::copy(shop(), place.path("shop.db")).unwrap();
    let times = ["--for", "1s", "--slice", "1s", "--warm-up", "0s", "--no-check"];
    let curve = [&["curve", "tpcc", "sqlite:shop.db?synchronous=off", "--sessions", "1"][..], &times[..]].concat();
    // Whatever its verdict is: a busy machine may look for completions too late.
    place.assay(&[&curve[..], &["--out", "run"]].concat());
    let kept = place.path("run/sessions.json");
    let mut json: serde_json::Value = serde_json::from_str(&fs::read_to_string(&kept).unwrap()).unwrap();
    // The state before the first run.
    json["points"] = serde_json::json!([]);
    fs::write(&kept, json.to_string()).unwrap();
    at(place, file, lay, &[&curve[..], &["--resume", "run"]].concat())
}

fn matrix(place: &Place, file: &str, lay: Lay<'_>) -> Said {
    let matrix = ["matrix", "orion", "sim:flash", "--disks", "1", "--for", "1s", "--slice", "1s"];
    place.assay(&[&matrix[..], &["--out", "run"]].concat());
    at(place, file, lay, &[&matrix[..], &["--resume", "run"]].concat())
}

/// A suite of mounts that goes on, although nothing of it is missing.
fn suite(place: &Place, file: &str, lay: Lay<'_>) -> Said {
    ["one", "two"].iter().for_each(|directory| fs::create_dir(place.path(directory)).unwrap());
    let mounts = ["suite", "mounts", "a=one", "b=two", "--workloads", "commit", "--rounds", "1", "--for", "1s"];
    let mounts = [&mounts[..], &["--memory", "none"]].concat();
    place.assay(&[&mounts[..], &["--out", "run"]].concat());
    at(place, file, lay, &[&mounts[..], &["--resume", "run"]].concat())
}

/// A profile that a round fits.
pub const PROFILE: &str = "name = \"p\"\nmodel = \"profile\"\n[[application]]\nname = \"a\"\n[application.reads]\nrate = \"5000/s\"\n\
    sizes = [[\"4KiB\", \"100%\"]]\n[[iostat]]\ndrive = \"sda\"\nreads = \"5000/s\"\n";
const FIT: [&str; 5] = ["fit", "small.profile", "sim:flash", "--for", "2s"];

fn fit(place: &Place, file: &str, lay: Lay<'_>) -> Said {
    place.write("small.profile", PROFILE);
    place.assay(&[&FIT[..], &["--out", "run"]].concat());
    at(place, file, lay, &[&FIT[..], &["--resume", "run"]].concat())
}

/// Continues a sizing after the directory of its candidate was lost.
fn size(place: &Place, file: &str, lay: Lay<'_>) -> Said {
    place.write("small.profile", PROFILE);
    let size = ["size", "small.profile", "sim:flash", "--for", "1s", "--slice", "1s", "--fit-for", "2s", "--to", "1x"];
    place.assay(&[&size[..], &["--out", "run"]].concat());
    if !file.contains("size.") {
        fs::remove_dir_all(place.path(file)).unwrap();
    }
    at(place, file, lay, &[&size[..], &["--resume", "run"]].concat())
}

fn at(place: &Place, file: &str, lay: Lay<'_>, args: &[&str]) -> Said {
    place_at(&place.path(file), lay);
    place.assay(args)
}

/// If the file already exists, the obstacle replaces it, with the same content where possible.
fn place_at(path: &Path, lay: Lay<'_>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    lay(path);
}

/// Everything outside: files in a directory of their own, and a device. They must stay unchanged.
struct Outside {
    dir: tempfile::TempDir,
    device: Option<Loop>,
}

fn node(at: &Path, kind: FileType, number: u64) {
    rustix::fs::mknodat(rustix::fs::CWD, at, kind, rustix::fs::Mode::RWXU, number).unwrap();
}

const KINDS: [(&str, &str); 8] = [
    ("symlink to a file", "symbolic link"),
    ("symlink to a device", "symbolic link"),
    ("dangling symlink", "symbolic link"),
    ("hard link", "hard links"),
    ("FIFO", "FIFO"),
    ("socket", "socket"),
    ("directory", "directory"),
    ("device node", "block device"),
];

impl Outside {
    fn new() -> Outside {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let device = root().then(|| Loop::blank(dir.path(), "image", 1 << 20));
        if let Some(device) = &device {
            device.write(0, &[0x5a; 1 << 20]);
        }
        Outside { dir, device }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Puts an obstacle of this kind at `at`; what was there before is outside then. False where this kind cannot be
    /// made here.
    fn lay(&self, kind: &str, at: &Path) {
        let precious = self.path("precious");
        let before = fs::read(at).unwrap_or_else(|_| b"precious".to_vec());
        fs::write(&precious, &before).unwrap();
        let _ = fs::remove_file(at);
        match kind {
            "symlink to a file" => symlink(&precious, at).unwrap(),
            "symlink to a device" => symlink(self.device.as_ref().unwrap().path(), at).unwrap(),
            "dangling symlink" => symlink(self.path("nothing"), at).unwrap(),
            "hard link" => fs::hard_link(&precious, at).unwrap(),
            "FIFO" => node(at, FileType::Fifo, 0),
            "socket" => node(at, FileType::Socket, 0),
            "directory" => fs::create_dir(at).unwrap(),
            _ => {
                let number = fs::metadata(self.device.as_ref().unwrap().path()).unwrap().rdev();
                node(at, FileType::BlockDevice, number);
            }
        }
    }

    /// The state of everything outside: names, bytes, and the content of the device.
    fn state(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut all: Vec<_> = fs::read_dir(self.dir.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        all.sort();
        all.into_iter().map(|path| (path.clone(), fs::read(&path).unwrap())).collect()
    }
}

/// What an obstacle is: its kind, where it leads, and what a file contains.
fn shape(at: &Path) -> (u32, u64, u64, Option<PathBuf>, Option<Vec<u8>>) {
    let meta = fs::symlink_metadata(at).unwrap();
    let bytes = meta.is_file().then(|| fs::read(at).unwrap());
    (meta.mode(), meta.ino(), meta.rdev(), fs::read_link(at).ok(), bytes)
}

#[test]
fn nothing_in_the_place_of_a_file_is_written_through() {
    let kinds: Vec<_> = KINDS.iter().filter(|(kind, _)| root() || !kind.contains("device")).collect();
    let jobs: Vec<_> = rows().flat_map(|row| kinds.iter().map(move |kind| (row, *kind))).collect();
    let next = std::sync::atomic::AtomicUsize::new(0);
    let work = || {
        let outside = Outside::new();
        let mut wrong = Vec::new();
        while let Some((row, kind)) = jobs.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
            wrong.extend(one(&outside, row, kind));
        }
        wrong
    };
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..3).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), jobs.len(), wrong.join("\n"));
}

fn one(outside: &Outside, (verb, file, make): &(&str, &str, Make), (kind, named): &(&str, &str)) -> Vec<String> {
    // An existing directory with that name is accepted.
    if ["maximum", "01-sim-flash", "fit", "limit"].contains(file) && *kind == "directory" {
        return Vec::new();
    }
    let place = Place::new();
    let laid = std::cell::RefCell::new(None);
    let lay = |at: &Path| {
        outside.lay(kind, at);
        *laid.borrow_mut() = Some((at.to_path_buf(), shape(at), outside.state()));
    };
    let said = make(&place, &lay);
    let (at, before, state) = laid.into_inner().unwrap();
    let mut wrong = Vec::new();
    if outside.state() != state {
        wrong.push(format!("{verb}, {kind} for {file}: what lies outside changed"));
    }
    let after = fs::symlink_metadata(&at).ok().map(|_| shape(&at));
    if after.as_ref() != Some(&before) {
        wrong.push(format!("{verb}, {kind} for {file}: the obstacle became {after:?}"));
    }
    // The message about these names the file: the gate refuses a target, and an existing run directory is refused
    // whatever its kind is.
    let named = if [
        "run",
        "run directory",
        "new.dat",
        "shop.db",
        "ssd",
        "act_storage",
        "pblio",
        "seekmark",
        "bonnie++",
        "act_latency.py",
    ]
    .contains(file)
    {
        at.file_name().unwrap().to_str().unwrap()
    } else {
        named
    };
    let said_it = said.err.contains(named) || said.out.contains(named);
    if !said_it || !matches!(said.code, Some(2..=5 | 255)) {
        wrong.push(format!(
            "{verb}, {kind} for {file}: {:?}, \"{named}\" is not in: {}{}",
            said.code, said.out, said.err
        ));
    }
    if !["new.dat", "shop.db", "ssd"].contains(file)
        && fs::read_dir(at.parent().unwrap()).unwrap().any(|entry| half(&entry.unwrap().path()))
    {
        wrong.push(format!("{verb}, {kind} for {file}: a half-written file is left"));
    }
    wrong
}

fn half(path: &Path) -> bool {
    path.file_name().unwrap().to_str().unwrap().starts_with(".assay-")
}

/// All files below a directory, by name; a preparation record by its kind.
fn below(dir: &Path, names: &mut BTreeSet<String>) {
    for entry in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap()) {
        let path = entry.path();
        if path.is_dir() {
            below(&path, names);
        } else if dir.ends_with("assay/prepared") {
            names.insert("record".to_owned());
        } else if dir.ends_with("assay/consent") {
            names.insert("consent".to_owned());
        } else {
            names.insert(entry.file_name().into_string().unwrap());
        }
    }
}

/// The control: without an obstacle, each row makes its file completely, and no row makes a file that is in no row.
#[test]
fn every_file_that_is_made_is_in_the_table() {
    // Files that the tests make, and files in a directory that has a row of its own.
    let theirs = ["key", "act.conf", "table", "small.profile", "disk.img", "act_index", "act_prep", "act_latency"];
    let known: BTreeSet<&str> = FILES.iter().map(|(_, file, _)| *file).chain(theirs).collect();
    for (verb, file, make) in rows() {
        let place = Place::new();
        let path = std::cell::RefCell::new(PathBuf::new());
        let said = make(&place, &|at| *path.borrow_mut() = at.to_path_buf());
        assert!(!matches!(said.code, Some(2..=5 | 70)), "{verb} {file}: {said:?}");
        let path = path.into_inner();
        // If a run in the background ends before anybody can follow it, its output is shown, and the file is removed.
        if ["run.txt", "said.txt"].contains(file) {
            assert!(said.err.contains("PASS") || said.out.contains(file), "{verb} {file}: {said:?}");
            continue;
        }
        // A link made by the program leads to the program.
        let made = if ["act_storage", "pblio", "seekmark", "bonnie++"].contains(file) {
            fs::symlink_metadata(&path)
        } else {
            fs::metadata(&path)
        };
        let made = made.unwrap_or_else(|e| panic!("{verb} {file}: {e}: {said:?}"));
        assert!(
            made.is_dir() || made.is_symlink() || (made.is_file() && made.len() > 0 && made.nlink() == 1),
            "{verb} {file}: {made:?}"
        );
        assert!(!made.file_type().is_fifo());
        let mut names = BTreeSet::new();
        below(&place.path("."), &mut names);
        for name in names.iter().filter(|name| !(name.starts_with("assay-") && name.ends_with(".1"))) {
            assert!(known.contains(name.as_str()), "{verb} makes {name}, which no row lays an obstacle for");
        }
    }
}

/// Every verb of the program is in one of the two tables, and those in `NONE` really make no file.
#[test]
fn every_verb_is_in_the_table_or_makes_no_file() {
    let place = Place::new();
    measured(&place);
    let help = place.assay(&["--help"]).out;
    let commands = help.split("Commands:").nth(1).unwrap().split("Options:").next().unwrap();
    let lines = commands.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let verbs: BTreeSet<&str> =
        lines.map(|line| line.trim().split(' ').next().unwrap()).filter(|verb| *verb != "help").collect();
    let first = |verb: &'static str| verb.split(' ').next().unwrap();
    let table = FILES.iter().map(|row| row.0).chain(NONE.iter().map(|row| first(row.0)));
    assert_eq!(verbs, table.collect(), "a verb joins FILES with every file it makes, or NONE");
    let all = || {
        let mut names = BTreeSet::new();
        below(&place.path("."), &mut names);
        names
    };
    let before = all();
    for (verb, args) in NONE {
        place.assay(args);
        assert_eq!(all(), before, "{verb} made a file");
    }
}

/// The name of a quick look's scratch file can be predicted.
#[test]
fn a_scratch_file_is_made_over_nothing() {
    let outside = Outside::new();
    for (kind, _) in KINDS.iter().filter(|(kind, _)| root() || !kind.contains("device")) {
        let place = Place::new();
        let mut shell = place.command(&["certify", "--quick", "--for", "1s", "--warm-up", "0s"]);
        let (read, write) = std::io::pipe().unwrap();
        // Stopped until the obstacle is in place under the process id that the program will have.
        let args: Vec<_> = shell.get_args().map(|arg| arg.to_owned()).collect();
        let mut held = std::process::Command::new("/bin/sh");
        held.args(["-c", "read x; exec \"$@\"", "sh"]).arg(shell.get_program()).args(args);
        held.current_dir(place.path(".")).stdin(read).stderr(std::process::Stdio::piped());
        shell.stdout(std::process::Stdio::null());
        let child = held.stdout(std::process::Stdio::piped()).spawn().unwrap();
        outside.lay(kind, &place.path(&format!("assay-scratch-{}.dat", child.id())));
        let before = outside.state();
        std::io::Write::write_all(&mut &write, b"\n").unwrap();
        drop(write);
        let said = Said::of(child.wait_with_output().unwrap(), &["certify --quick"]);
        assert_eq!(said.code, Some(4), "{kind}: {said:?}");
        assert!(said.err.contains("exists already"), "{kind}: {said:?}");
        assert!(outside.state() == before, "{kind}");
    }
}

/// A full disk: the existing file stays, no partial file is left, and the message says what and where.
#[test]
fn on_a_full_disk_the_file_that_was_there_stays() {
    if !root() {
        return;
    }
    let place = Place::new();
    let pages = place.path("pages");
    fs::create_dir(&pages).unwrap();
    super::live::run(&["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", pages.to_str().unwrap()]).unwrap();
    let unmount = || super::live::run(&["umount", pages.to_str().unwrap()]);
    let tried = std::panic::catch_unwind(|| {
        fs::write(pages.join("assay.1"), "the page that was there").unwrap();
        let _ = fs::write(pages.join("filler"), [1; 64 << 10]);
        let said = place.assay(&["man", "--out", "pages"]);
        assert_eq!(said.code, Some(5), "{said:?}");
        assert!(said.err.contains("pages/assay.1") && said.err.contains("No space left"), "{said:?}");
        assert_eq!(fs::read_to_string(pages.join("assay.1")).unwrap(), "the page that was there");
        let left: Vec<_> = fs::read_dir(&pages).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(left.len() == 2 && !left.iter().any(|path| half(path)), "{left:?}");
    });
    unmount().unwrap();
    tried.unwrap();
}
