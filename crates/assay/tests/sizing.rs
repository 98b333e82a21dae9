//! From files of production to a load, as a user does it: the commands of `docs/sizing.md` in order, on the examples
//! that come with the program; the script that collects the files; and files with problems.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test makes files of its own")]

use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A directory with the examples and scripts in it, and `assay` in the path.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        for name in ["examples", "scripts"] {
            std::os::unix::fs::symlink(root().join(name), dir.path().join(name)).unwrap();
        }
        Place(dir)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn run(&self, line: &str) -> Output {
        let bin = Path::new(env!("CARGO_BIN_EXE_assay")).parent().unwrap();
        let path = format!("{}:{}:/usr/sbin:/sbin:/usr/bin:/bin", self.path("bin").display(), bin.display());
        let mut command = Command::new("sh");
        command.args(["-euc", line]).current_dir(self.0.path()).stdin(Stdio::null());
        command.env("PATH", path).env("XDG_STATE_HOME", self.path("state")).output().unwrap()
    }

    /// The exit code of a command, its standard output and its standard error.
    fn told(&self, line: &str) -> (i32, String, String) {
        let Output { status, stdout, stderr } = self.run(line);
        (status.code().unwrap(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
    }

    fn done(&self, line: &str) -> String {
        let (code, out, told) = self.told(line);
        assert_eq!(code, 0, "{line}\n{told}");
        out
    }
}

/// Every `sh` line of the page is run, and every line of output that the page shows was really printed.
#[test]
fn the_page_is_true() {
    let page = fs::read_to_string(root().join("docs/sizing.md")).unwrap();
    let place = Place::new();
    let (mut language, mut all, mut shown, mut commands) = (None, String::new(), Vec::new(), 0);
    for line in page.lines() {
        match (language, line.strip_prefix("```")) {
            (None, Some(name)) => language = Some(if name == "sh" { "sh" } else { "text" }),
            (Some(_), Some(_)) => language = None,
            (Some("sh"), None) => {
                let (code, out, told) = place.told(line);
                let verdict = line.starts_with("assay run");
                assert!(code == 0 || verdict && code == 10, "{line}: {code}\n{told}");
                commands += 1;
                all += &format!("{out}{told}");
                if let Some(made) = line.split("--out ").nth(1) {
                    let file = if made.ends_with(".toml") { made.to_owned() } else { format!("{made}/fitted.toml") };
                    all += &fs::read_to_string(place.path(&file)).unwrap_or_default();
                }
            }
            (Some(_), None) => shown.push(line),
            (None, None) => {}
        }
    }
    assert!(commands >= 13 && shown.len() > 10, "{commands} commands, {} lines", shown.len());
    // The page writes `cluster/`, because its reader works in the directory `examples/`.
    let all = all.replace("examples/", "");
    for line in shown.iter().filter(|line| !line.starts_with("scripts/")) {
        assert!(all.contains(line.trim_end()), "the page shows what is not printed: {line}\n{all}");
    }
    // The formulas in the table of the worked example were printed, too.
    for cell in page.lines().filter(|line| line.starts_with("| ")).flat_map(|line| line.split('`').skip(1).step_by(2)) {
        if cell.contains(" = ") {
            assert!(all.contains(cell), "{cell}");
        }
    }
}

#[test]
fn what_is_found_missing_and_contradictory_is_told_with_its_place() {
    let place = Place::new();
    let (code, out, told) = place.told("assay import aerospike examples/worked/asloglatency.txt --json");
    assert_eq!(code, 0, "{told}");
    let json: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(json["schema"], 1);
    assert_eq!(json["files"][0]["recognised"]["tables of asloglatency"], 4);
    let missing: Vec<&str> =
        json["missing"].as_array().unwrap().iter().map(|one| one["what"].as_str().unwrap()).collect();
    assert!(missing.iter().any(|what| what.contains("large blocks written")), "{missing:?}");
    let twice = fs::read_to_string(root().join("examples/worked/iostat.txt")).unwrap().replace("1547.50", "2547.50");
    place.write("io.txt", &twice);
    let (_, _, told) =
        place.told("assay import aerospike examples/worked/asloglatency.txt examples/worked/aerospike.log io.txt");
    let warning = told.split("warning: ").nth(1).unwrap();
    assert!(
        warning.starts_with(
            "nvme0n1: large blocks are written at 1543/s according to the server's log, but iostat has 2547.5/s writes"
        ),
        "{told}"
    );
    assert!(warning.contains(" --> examples/worked/aerospike.log:1") && warning.contains(" --> io.txt:7"), "{told}");
}

#[test]
fn several_files_of_several_nodes_in_any_form() {
    let place = Place::new();
    let worked = |name: &str| fs::read_to_string(root().join("examples/worked").join(name)).unwrap();
    // A whole terminal session in one file with Windows line ends gives the same profile as separate files. Then the
    // same file for two nodes, each with its name.
    let all = ["asloglatency.txt", "aerospike.log", "iostat.txt"].map(worked).concat().replace('\n', "\r\n");
    place.write("terminal", &all);
    let one = place.done("assay import aerospike terminal | sed 's/ *#.*//'");
    let apart = place.done("assay import aerospike examples/worked | sed 's/ *#.*//'");
    assert_eq!(one, apart);
    let named = place.done("assay import aerospike north=terminal south=terminal");
    assert_eq!((named.matches("node = \"north\"").count(), named.matches("node = \"south\"").count()), (2, 2));
    place
        .write("profile.toml", &named.replace("model = \"profile\"", "model = \"profile\"\ndrive = \"south/nvme0n1\""));
    let plan: Value = serde_json::from_str(&place.done("assay explain profile.toml --json")).unwrap();
    assert_eq!(plan["streams"].as_array().unwrap().len(), 3);
    assert_eq!(plan["derivation"][0]["source"], "terminal:58, asloglatency, average of 5 slices");
}

#[test]
fn what_cannot_be_imported_says_why() {
    let place = Place::new();
    place.write("prose.txt", "Dear customer,\nnothing here.\n");
    place.write("packed", "\u{1f}\u{8b}");
    fs::write(place.path("packed"), [0x1f, 0x8b, 8, 0]).unwrap();
    fs::write(place.path("trace"), [0x07, b't', b'a', b'e', 0, 0]).unwrap();
    place.write("kept.toml", "mine");
    for (line, code, words) in [
        ("assay import aerospike prose.txt", 3, "nothing in it was recognised as tables of asloglatency"),
        ("assay import iostat prose.txt examples/worked/aerospike.log", 3, "recognised as reports of iostat"),
        ("assay import aerospike packed", 3, "gunzip FILE"),
        ("assay import blktrace trace", 3, "blkparse -i NAME"),
        ("assay import aerospike none.txt", 3, "none.txt cannot be read"),
        ("mkfifo fifo; assay import aerospike fifo", 3, "not a regular file but a FIFO"),
        ("assay import aerospike", 2, "required"),
        ("assay import mysql prose.txt", 2, "unrecognized subcommand"),
        ("assay import aerospike examples/worked --out kept.toml", 5, "kept.toml"),
    ] {
        let (found, out, told) = place.told(line);
        assert!(found == code && told.contains(words) && out.is_empty(), "{line}: {found}\n{told}{out}");
    }
    assert_eq!(fs::read_to_string(place.path("kept.toml")).unwrap(), "mine");
}

/// The script runs with two small programs in place of a server, and the real iostat.
#[test]
fn what_the_script_collects_can_be_imported() {
    let place = Place::new();
    if !place.run("iostat -V").status.success() {
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), "skipped: iostat is not installed");
        return;
    }
    let tables = root().join("examples/worked/asloglatency.txt").display().to_string();
    place.write(
        "bin/asinfo",
        "#!/bin/sh\ncase $2 in namespaces) echo ycsb;; get-config*) echo 'a=1;enable-benchmarks-storage=false';; log/0) echo 'misc:INFO;drv_ssd:DETAIL';;\nset*) echo changed >> set-was-called;; latencies:) echo '{ycsb}-read:msec,8850.0,14.90,0.00;';; esac\n",
    );
    place.write("bin/asloglatency", &format!("#!/bin/sh\nfor w; do case $w in {{ycsb}}*) h=$w;; esac; done\nawk -v h=\"$h\" '$0 == h {{on=1}} /^\\[/ {{on=0}} on' {tables}\n"));
    for tool in ["asinfo", "asloglatency"] {
        fs::set_permissions(place.path(&format!("bin/{tool}")), fs::Permissions::from_mode(0o755)).unwrap();
    }
    place.write("server.log", "Apr 10 2018 07:00:00 GMT: INFO (info): (ticker.c:1) before the collection\n");
    let log = fs::read_to_string(root().join("examples/worked/aerospike.log")).unwrap();
    place.write("new.log", &log);
    let (code, out, told) =
        place.told("(sleep 1; cat new.log >> server.log) & scripts/collect --minutes 0 --every 1 --log server.log");
    assert_eq!(code, 0, "{told}");
    assert!(told.contains("enable-benchmarks-storage=true") && !told.contains("direct frees are not logged"), "{told}");
    assert!(!place.path("set-was-called").exists(), "the script only reads");
    let archive = out.trim();
    assert_eq!(place.told(&format!("assay import aerospike {archive}")).0, 3, "an archive is unpacked first");
    let dir = archive.strip_suffix(".tar.gz").unwrap();
    let (code, profile, told) = place.told(&format!("rm -r {dir}; tar xzf {archive}; assay import aerospike {dir}"));
    assert_eq!(code, 0, "{told}");
    for line in
        ["rate = \"10427/s\"", "rate = \"5916/s\"", "writes = \"1543/s\"", "direct_frees = \"369/s\"", "reads_over = "]
    {
        assert!(profile.contains(line), "{line}\n{profile}\n{told}");
    }
    assert!(told.contains("reports of iostat"), "{told}");
    assert_eq!(place.told("scripts/collect --minutes x").0, 2);
}

/// ACT's own keys for the same procedure: the final configuration of the guide.
#[test]
fn the_guides_configuration_runs() {
    let place = Place::new();
    place.write(
        "act.conf",
        "device-names: /dev/nvme0n1\nnum-queues: 4\nthreads-per-queue: 35\ntest-duration-sec: 7200\nreport-interval-sec: 1\nlarge-block-op-kbytes: 128\nrecord-bytes: 0\n\
         storage-read-histogram: 100.00,100.00,100.00,100.00,100.00,100.00,100.00,100.00,100.00,100.00,100.00,84.00,68.36,52.95,38.48,25.56,12.68,0.00\n\
         storage-write-histogram: 100.00,100.00,100.00,100.00,100.00,100.00,100.00,100.00,100.00,100.00,85.78,85.78,71.59,57.17,42.91,28.46,14.22,0.00\n\
         direct-frees: 300\ntotal-lbw-per-sec: 1527\nlbr-req-offset: 090\nlbw-req-offset: 093\nread-reqs-per-sec: 10470\nwrite-reqs-per-sec: 5957\nmicrosecond-histograms: no\nscheduler-mode: noop\n",
    );
    let plan: Value = serde_json::from_str(&place.done("assay explain act.conf sim:flash --json")).unwrap();
    assert_eq!(plan["model"], "profile");
    let rates: Vec<(&str, f64)> = plan["derived"]["streams"]
        .as_array()
        .unwrap()
        .iter()
        .map(|stream| (stream["name"].as_str().unwrap(), stream["operations_per_second"].as_f64().unwrap()))
        .collect();
    // (1527 − 300) × 90 % and 1527 × 93 %, a second.
    assert_eq!(rates, [("reads", 10_470.0), ("large-block-reads", 1104.3), ("large-block-writes", 1420.11)]);
    let (code, out, told) = place.told("assay run act.conf sim:flash --for 4s --slice 2s --out run --json");
    assert_eq!(code, 0, "{told}");
    let verdict: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(verdict["verdict"], "PASS");
    // The read operations are as large as the plan says: this is the mean of 41,880 sizes, whose standard deviation is
    // 1.3 times their mean.
    let number = |value: &Value| value.as_f64().unwrap();
    let read = &verdict["streams"].as_array().unwrap().iter().find(|stream| stream["name"] == "reads").unwrap().clone();
    let planned = number(&plan["derived"]["streams"][0]["bytes_per_second"]) / 10_470.0;
    let measured = number(&read["bytes"]) / number(&read["operations"]);
    assert!((measured / planned - 1.0).abs() < 0.03, "{measured} and {planned}");
}

/// The log is read as a stream, because it may be larger than the memory that the program may use (200 MB here). With
/// `ASSAY_CAMPAIGN` it has 5 GiB, as a real one.
#[test]
fn a_large_log_needs_little_memory() {
    let place = Place::new();
    let size = if std::env::var_os("ASSAY_CAMPAIGN").is_some() { "5G" } else { "256M" };
    let line = "Nov 18 2026 20:10:00 GMT: INFO (info): (ticker.c:286) {orders} client: tsvc (0,0) proxy (0,0,0) read (81,0,0,0)";
    let log = root().join("examples/cluster/alpha/aerospike.log").display().to_string();
    let feed = format!("(cat {log}; yes '{line}' | head -c {size}; echo; cat {log})");
    let (code, out, told) = place.told(&format!("{feed} | (ulimit -v 200000; exec assay import aerospike /dev/stdin)"));
    assert_eq!(code, 0, "{told}");
    assert!(out.contains("writes = \"99.9/s\""), "{out}\n{told}");
    assert!(told.contains("the clock goes back by 600 s"), "{told}");
}
