//! `pblio` as its users call it: the original's quick start, the statistics file, exit codes, and what is refused.

use super::bed::Place;
use serde_json::Value;
use std::fs;
use std::process::Command;

/// The original's quick start, on files that `fallocate` reserves.
fn files(place: &Place) {
    for (file, size) in [("file1", "45MiB"), ("file2", "45MiB"), ("file3", "10MiB")] {
        let made = Command::new("fallocate").args(["-l", size, file]).current_dir(place.path(".")).status().unwrap();
        assert!(made.success());
    }
}

const QUICK: [&str; 6] = ["as", "pblio", "-asu1=file1", "-asu2=file2", "-asu3=file3", "-bsu=2"];

fn records(place: &Place, file: &str) -> Vec<Value> {
    let text = fs::read_to_string(place.path(file)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_originals_quick_start_works_as_typed() {
    let place = Place::new();
    files(&place);
    let said = place.assay(&[&QUICK[..], &["-runlen=5", "-dataperiod=2"]].concat());
    // Nothing was ever written to the files, so that reads of them say nothing, and the verdict says so.
    assert!(said.code == Some(11) && said.err.contains("never written"), "{:?} {}", said.code, said.err);
    let banner = "-----\npblio\n-----\nCache   : None\nASU1    : 0.04 GB\nASU2    : 0.04 GB\nASU3    : 0.01 GB\nBSUs    : 2\n\
                  Contexts: 1\nRun time: 5 s\n-----\n";
    let (head, rest) = said.out.split_once(banner).unwrap();
    assert!(head.starts_with("pblio (assay "), "{head}");
    let periods: Vec<&str> = rest.split('\r').collect();
    assert_eq!(periods.len(), 3, "two whole periods and the end: {rest}");
    assert!(periods[..2].iter().all(|it| it.starts_with("ios:") && it.contains(" IOPS:") && it.contains(" ms  ")));
    assert!(periods[2].starts_with("Avg IOPS:") && periods[2].ends_with(" \n\n"), "{rest}");
    let data = records(&place, "pblio.data");
    assert_eq!(data.len(), 3, "the original leaves the last period out");
    let number = |value: &Value, path: &str| value.pointer(path).and_then(Value::as_u64).unwrap();
    for record in &data {
        for kind in ["total", "read", "write"] {
            for what in ["ios", "blocks", "latency/duration", "latency/count"] {
                let asus: u64 = (0..3).map(|asu| number(record, &format!("/spc/asu/{asu}/{kind}/{what}"))).sum();
                assert_eq!(asus, number(record, &format!("/spc/{kind}/{what}")), "{kind} {what}");
            }
        }
        assert_eq!(number(record, "/spc/asu/2/read/ios"), 0, "the log is only written");
    }
    let totals: Vec<u64> = data.iter().map(|record| number(record, "/spc/total/ios")).collect();
    assert!(totals.windows(2).all(|pair| pair[0] < pair[1]), "each has everything since the beginning: {totals:?}");
    let average: f64 = periods[2]["Avg IOPS:".len()..].split(' ').next().unwrap().parse().unwrap();
    assert!((average * 5.0 / *totals.last().unwrap() as f64 - 1.0).abs() < 0.2, "{average} {totals:?}");
    // The log and the report exist, and the statistics can be exported from the log.
    let run = fs::read_dir(place.path("assay-runs")).unwrap().next().unwrap().unwrap().path();
    assert!(run.join("report.html").exists());
    let exported = place.assay(&["export", run.to_str().unwrap(), "--to", "pblio-data"]);
    let exported: Value = serde_json::from_str(exported.out.lines().last().unwrap()).unwrap();
    assert_eq!(exported["spc"], data.last().unwrap()["spc"]);
    // A second run: the files are the program's own now, and the statistics are those of this run.
    let said = place.assay(&[&QUICK[..], &["-runlen=1"]].concat());
    assert!(said.code.is_some_and(|code| [0, 10, 11].contains(&code)), "{:?} {}", said.code, said.err);
    assert_eq!(records(&place, "pblio.data").len(), 1);
}

/// The rest of the original's quick start: the first run makes the cache, and the next one loads it.
#[test]
fn the_originals_quick_start_with_a_cache_works_as_typed() {
    let place = Place::new();
    files(&place);
    let made =
        Command::new("fallocate").args(["-l", "10MiB", "mycache"]).current_dir(place.path(".")).status().unwrap();
    assert!(made.success());
    for state in ["New", "Loaded"] {
        let said = place.assay(&[&QUICK[..], &["-runlen=4", "-cache=mycache"]].concat());
        let banner = format!("-----\nCache   : mycache ({state})\nC Size  : 0.01 GB\nASU1    : 0.04 GB\n");
        assert!(said.out.contains(&banner), "{}{}", said.out, said.err);
        let figure = |name: &str| -> f64 {
            let line = said.out.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            line.unwrap_or_else(|| panic!("{name}: {}", said.out)).trim_end_matches(" usec").parse().unwrap()
        };
        let (reads, hits) = (figure("Reads"), figure("Read hits"));
        assert!(reads > 100.0 && (figure("Read Hit Rate") - hits / reads).abs() < 1e-4, "{}", said.out);
        assert_eq!(figure("Ram Hits") + figure("Storage Hits"), hits);
        assert_eq!(figure("Storage Hits") > 0.0, state == "Loaded", "what the run before put in is on the device");
        assert!(said.out.contains("== Log Information ==\nRam Hit Rate: "));
        // The last line of the data file has the same counters, with the names of the original's file.
        let last = records(&place, "pblio.data").pop().unwrap();
        for (part, member, name) in [
            ("cache", "reads", "Reads"),
            ("cache", "readhits", "Read hits"),
            ("cache", "invalidations", "Invalidations"),
            ("cache", "invalidatehits", "Invalidate hits"),
            ("cache", "insertions", "Insertions"),
            ("cache", "evictions", "Evictions"),
            ("log", "ramhits", "Ram Hits"),
            ("log", "storagehits", "Storage Hits"),
            ("log", "wraps", "Wraps"),
        ] {
            assert_eq!(last[part][member].as_f64(), Some(figure(name)), "{part} {member}: {last}");
        }
        let segments = &last["log"]["mean_segmentwrite_usecs"];
        let mean = segments["duration"].as_f64().unwrap() / segments["count"].as_f64().unwrap().max(1.0) / 1e3;
        assert!((mean - figure("Mean Write Latency")).abs() <= 0.01, "{segments}: {}", said.out);
    }
    assert!(place.path("cache.pbl").exists());
}

/// Simulated storage has no noise, so that the verdict and its exit code are known.
#[test]
fn the_exit_code_is_that_of_the_verdict() {
    let place = Place::new();
    let on = |device: &str, bsu: &str| {
        let asus = [1, 2, 3].map(|asu| format!("-asu{asu}={device}"));
        let args =
            [&["as", "pblio"], &asus.each_ref().map(String::as_str)[..], &["-runlen=30", bsu, "-data=data"]].concat();
        let said = place.assay(&args);
        (said.code, said.err)
    };
    let (code, told) = on("sim:flash", "-bsu=150");
    assert!(code == Some(0) && told.contains("assay: PASS"), "{told}");
    let (code, told) = on("sim:disk", "-bsu=50");
    assert!(code == Some(10) && told.contains("assay: FAIL"), "{told}");
    let several = [
        "as",
        "pblio",
        "-asu1=sim:flash,sim:flash",
        "-asu2=sim:flash",
        "-asu3=sim:flash,sim:flash",
        "-runlen=5",
        "-data=d",
    ];
    let said = place.assay(&several);
    assert!(said.code == Some(0) && said.out.contains("Contexts: 1\n"), "{}", said.err);
}

#[test]
fn what_is_refused_writes_nothing() {
    let place = Place::new();
    files(&place);
    fs::write(place.path("theirs"), vec![1; 45 << 20]).unwrap();
    fs::create_dir(place.path("dir")).unwrap();
    for (args, code, words) in [
        (&["-asu1=file1", "-asu2=file2"][..], 2, "-asu3 is missing"),
        (&["-asu1=file1", "-asu2=file2", "-asu3=file3", "-cache=c"], 4, "c"),
        (&["-asu1=file1", "-asu2=file2", "-asu3=file3", "-cache=file3"], 4, "the same target"),
        (&["-asu1=file1", "-asu2=file2", "-asu3=file3", "-cache=theirs"], 4, "it holds data"),
        (&["-asu1=file1", "-asu2=file2", "-asu3=file3", "-cache=c", "-blocksize=3"], 4, "c"),
        (&["-asu1=file1", "-asu2=file2", "-asu3=file3", "-bsu=x"], 2, "-bsu=x"),
        (&["-asu1=file1", "-asu2=file2", "-asu3=file3", "-data=dir"], 5, "dir cannot be written"),
        (&["-asu1=file1", "-asu2=file2", "-asu3=file1"], 4, "file1"),
        (&["-asu1=theirs", "-asu2=file2", "-asu3=file3"], 4, "it holds data at byte 0"),
        (&["-asu1=file1", "-asu2=file2", "-asu3=none"], 4, "none"),
        (&["-asu1=null:1GiB", "-asu2=null:1GiB", "-asu3=null:1MiB"], 2, "the log, ASU 3"),
    ] {
        let said = place.assay(&[&["as", "pblio"], args].concat());
        assert!(said.code == Some(code) && said.err.contains(words), "{args:?}: {:?} {}", said.code, said.err);
        let blank = fs::read(place.path("file1")).unwrap();
        assert!(blank.iter().all(|byte| *byte == 0) && !place.path("pblio.data").exists(), "{args:?}");
    }
    let help = place.assay(&["as", "pblio", "-help"]);
    assert!(help.code == Some(0) && help.out.starts_with("Usage of pblio:"), "{}", help.out);
}
