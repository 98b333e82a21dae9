//! `seekmark` as its users know it: command lines, output, exit codes; also what it does and the original does not, and
//! `model = "seek"`, which is the same as a workload.

use super::bed::{Log, Place, Running, Said, until};
use super::devices::{Disk, Loop, Mounted, written_blocks};
use super::seekmark_text::{Report, read};
use assay_base::Stamp;
use assay_record::EventKind;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Outputs of the original: the complete set where it is present, otherwise those in the repository.
fn golden() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let all = [here.join("../../../shared/golden/seekmark"), here.join("../assay-formats/tests/golden/seekmark")];
    all.into_iter().find(|dir| dir.is_dir()).unwrap()
}

fn seekmark(place: &Place, args: &str) -> Said {
    let words: Vec<&str> = ["as", "seekmark"].into_iter().chain(args.split_whitespace()).collect();
    place.assay(&words)
}

fn report(said: &Said) -> Report {
    let report = read(&said.out).unwrap_or_else(|why| panic!("{why}\n{}{}", said.out, said.err));
    assert!(!said.out.contains("inf") && !said.out.contains("NaN"), "{}", said.out);
    report
}

/// Creates a file full of data, so that no read of it is blank.
fn file(place: &Place, name: &str, size: usize) {
    let bytes: Vec<u8> = (0..size / 8).flat_map(|at| (at as u64 | 1 << 63).to_le_bytes()).collect();
    fs::write(place.path(name), bytes).unwrap();
}

#[test]
fn the_originals_output_and_ours_follow_one_grammar() {
    let texts = fs::read_dir(golden()).unwrap().map(|entry| entry.unwrap().path());
    let mut threads = 0;
    for path in texts.filter(|path| path.extension().is_some_and(|end| end == "txt")) {
        let text = fs::read_to_string(&path).unwrap();
        let stem = path.file_stem().unwrap().to_str().unwrap();
        // Left out: empty files, where the original refused without a word, files that are not the output of SeekMark
        // alone, and files with errors between its lines.
        if text.is_empty() || ["loop", "cached_scaling", "allfail", "smallfile"].contains(&stem) {
            continue;
        }
        let report = read(&text).unwrap_or_else(|why| panic!("{stem}: {why}"));
        threads += report.threads.len();
    }
    assert!(threads >= 10, "{threads}");
    let place = Place::new();
    for (args, direction, count, quiet) in [
        ("-f sim:disk -s 50", "READ", 1, false),
        ("-t4 -fsim:disk -s50", "READ", 4, false),
        ("-t 3 -f sim:flash -s 40 -i 4096 -a 12 -S 10485760 -d 7", "READ", 3, false),
        ("-q -t2 -f sim:disk -s 30", "READ", 2, true),
        ("-t2 -f sim:flash -s 30 -w destroy-data", "WRITE", 2, false),
        ("-t2 -f sim:flash -s 30 -w destroy-data -R", "WRITE", 2, false),
    ] {
        let said = seekmark(&place, args);
        assert_eq!(said.code, Some(0), "{args}: {said:?}");
        let report = report(&said);
        assert_eq!(report.writes, direction == "WRITE", "{args}");
        assert_eq!(report.settings.is_none(), quiet, "{args}");
        let mut numbers: Vec<u64> = report.threads.iter().map(|thread| thread.0).collect();
        numbers.sort_unstable();
        let wanted: Vec<u64> = if quiet { Vec::new() } else { (0..count).collect() };
        assert_eq!((numbers, report.spawned), (wanted.clone(), wanted.len() as u64), "{args}");
        let [seconds, each, all, one] = report.total.unwrap();
        assert!(
            seconds >= 0.0 && each > 0.0 && all > 0.0 && (all / count as f64 - one).abs() < 0.02,
            "{args}: {}",
            said.out
        );
        assert!(said.err.contains("assay: service p50 ") && said.err.contains(", max "), "{}", said.err);
    }
}

#[test]
fn a_pause_is_no_part_of_a_request_and_the_total_is_one_over_the_throughput() {
    let place = Place::new();
    let plain = report(&seekmark(&place, "-f sim:flash -s 100"));
    let paused = report(&seekmark(&place, "-t2 -f sim:flash -s 100 -d 50"));
    let (_, seconds, rate, each) = paused.threads[0];
    assert!((4.9..6.0).contains(&seconds) && (16.0..20.5).contains(&rate), "a hundred pauses of 50 ms: {paused:?}");
    assert!(each < 1.0 && plain.threads[0].3 < 1.0, "the pause is not in it: {paused:?}");
    let [seconds, each, all, _] = paused.total.unwrap();
    assert!((each - 1000.0 / all).abs() < 0.01 && (seconds * all - 200.0).abs() < 1.0, "{paused:?}");
}

#[test]
fn exit_codes_are_the_originals_where_it_is_right() {
    let place = Place::new();
    file(&place, "sm.img", 16 << 20);
    fs::write(place.path("small.img"), [1; 100]).unwrap();
    // Where the original is wrong: it answers three failures with 0, and `-h`, which is no failure, with 1.
    let other = [("badopt", 2), ("smallfile", 3), ("S-beyond", 3), ("help", 0)];
    let mut compared = 0;
    for cmd in fs::read_dir(golden()).unwrap().map(|entry| entry.unwrap().path()) {
        let stem = cmd.file_stem().unwrap().to_str().unwrap().to_owned();
        let Ok(code) = fs::read_to_string(cmd.with_extension("rc")) else { continue };
        if cmd.extension().is_none_or(|end| end != "cmd") {
            continue;
        }
        let words = fs::read_to_string(&cmd).unwrap();
        // A smaller file than the gigabyte of the original will do. Writes are left out, because they need a file that
        // this program has made.
        let words = words.trim().trim_start_matches("./seekmark").replace("small2.img", "sm.img");
        if words.contains("destroy-data") {
            continue;
        }
        let said = seekmark(&place, &words);
        match other.iter().find(|(name, _)| *name == stem) {
            Some((_, code)) => assert_eq!(said.code, Some(*code), "{stem}: {said:?}"),
            None => assert_eq!(said.code == Some(0), code.trim() == "0", "{stem}: {said:?}"),
        }
        if said.code == Some(0) && stem != "help" && stem != "KB" && stem != "S-limit" {
            report(&said);
        }
        compared += 1;
    }
    assert!(compared > 3, "{compared}");
    for (args, code, word) in [
        ("-f small.img", 3, "does not fit"),
        ("-f sm.img -S 99999999", 3, "beyond the end"),
        ("-f sm.img -i 4096 -S 100", 3, "range"),
        ("-f sm.img -z", 2, "no option"),
        ("-f sm.img extra", 2, "no option"),
        ("-t1", 2, "-f FILE"),
        ("-f sm.img -w yes", 2, "-w destroy-data"),
        ("-f sm.img -s 3000000000", 2, "2147483647"),
    ] {
        let said = seekmark(&place, args);
        assert_eq!(said.code, Some(code), "{args}: {said:?}");
        assert!(said.err.contains(word) && said.out.is_empty(), "{args}: {said:?}");
    }
    let help = seekmark(&place, "-h");
    assert!(help.out.starts_with("usage: seekmark") && help.err.is_empty(), "{help:?}");
}

#[test]
fn a_list_of_threads_is_a_run_for_each_and_a_line_of_what_they_gain() {
    let place = Place::new();
    let said = seekmark(&place, "-f sim:disk -t 1,2,4 -s 50 -q");
    assert_eq!(said.code, Some(0), "{said:?}");
    let totals: Vec<&str> =
        said.out.lines().filter_map(|line| line.split_once(" total seeks per sec").map(|(rate, _)| rate)).collect();
    assert_eq!(totals.len(), 3, "{said:?}");
    let line = said.err.lines().find(|line| line.contains("total seeks per sec of -t 1: ")).unwrap();
    for (threads, total) in ["1", "2", "4"].iter().zip(&totals) {
        assert!(line.contains(&format!("-t {threads}: {total}/s (")), "{threads} threads, {total}: {line}");
    }
    assert!(line.contains("(1.00x), -t 2"), "{line}");
    // Each keeps its own log.
    let args = ["as", "seekmark", "-f", "sim:disk", "-t", "1,2", "-s", "50"];
    let kept = place.command(&args).env("ASSAY_RUN_DIR", place.path("kept")).output().unwrap();
    let kept = Said::of(kept, &args);
    assert_eq!(kept.code, Some(0), "{kept:?}");
    assert!(place.path("kept/threads-1/run.jsonl").exists() && place.path("kept/threads-2/run.jsonl").exists());
}

#[test]
fn reads_of_what_was_never_written_prove_nothing() {
    let place = Place::new();
    fs::File::create(place.path("blank.img")).unwrap().set_len(16 << 20).unwrap();
    let said = seekmark(&place, "-f blank.img -s 200 -q");
    assert_eq!(said.code, Some(11), "{said:?}");
    assert!(
        said.out.contains("total seeks per sec") && said.err.contains("blocks that were never written"),
        "{said:?}"
    );
    // The first of several that proves nothing is the last.
    let several = seekmark(&place, "-f blank.img -s 200 -q -t 1,2");
    assert_eq!((several.code, several.out.matches("READ benchmarking").count()), (Some(11), 1), "{several:?}");
}

#[test]
fn a_link_of_its_name_is_seekmark() {
    let place = Place::new();
    assert_eq!(place.assay(&["links", "tools"]).code, Some(0));
    let mut link = std::process::Command::new(place.path("tools/seekmark"));
    let said = Said::of(link.args(["-t2", "-f", "sim:disk", "-s", "20"]).output().unwrap(), &["seekmark"]);
    assert_eq!((said.code, report(&said).spawned), (Some(0), 2));
}

/// Starts an endless run and sends it a signal after one and a half seconds, when it has printed its first second.
fn endless(place: &Place, signal: i32) -> Said {
    let running: Running = place.begin(&["as", "seekmark", "-f", "null:1GiB", "-e", "-t", "2", "-d", "1"]);
    std::thread::sleep(std::time::Duration::from_millis(1500));
    running.signal(signal);
    running.end()
}

#[test]
fn without_an_end_it_tells_each_second_and_signals_give_the_total() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let place = Place::new();
        let said = endless(&place, signal);
        assert_eq!(said.code, Some(0), "{said:?}");
        let report = report(&said);
        assert!(report.endless && report.spawned == 2 && report.threads.len() == 2, "{}", said.out);
        assert!(report.total.unwrap()[2] > 1.0, "{}", said.out);
        assert!(said.err.lines().any(|line| line.contains(" seeks/sec, service ")), "{}", said.err);
    }
}

#[test]
fn one_with_an_end_that_is_interrupted_is_incomplete() {
    let place = Place::new();
    let running = place.begin(&["as", "seekmark", "-f", "null:1GiB", "-s", "1000000", "-d", "10"]);
    std::thread::sleep(std::time::Duration::from_millis(1200));
    running.signal(libc::SIGINT);
    let said = running.end();
    assert_eq!((said.code, report(&said).threads.len()), (Some(12), 1), "{said:?}");
}

/// The first and the fifth number of a device's statistics: the reads that it completed, and its writes.
fn counted(disk: &dyn Disk) -> (u64, u64) {
    let text = fs::read_to_string(format!("/sys/block/{}/stat", disk.name())).unwrap();
    let numbers: Vec<u64> = text.split_whitespace().map(|number| number.parse().unwrap()).collect();
    (numbers[0], numbers[4])
}

#[test]
fn a_cached_file_is_read_from_its_device() {
    let place = Place::new();
    let Some(disk) = Loop::over(&place, "disk.img", 64 << 20) else { return };
    let Some(_mounted) = Mounted::ext4(&disk, place.path("mount")) else { return };
    file(&place, "mount/file", 8 << 20);
    assert_eq!(fs::read(place.path("mount/file")).unwrap().len(), 8 << 20);
    let before = counted(&disk).0;
    let said = seekmark(&place, "-f mount/file -s 300 -t2");
    assert_eq!(said.code, Some(0), "{said:?}");
    let reads = counted(&disk).0 - before;
    // The 600 seeks, and the reads before the run, which compare the ways to the target.
    assert!((600..1000).contains(&reads), "{reads} reads of the device for 600 seeks");
    assert!(said.err.contains("O_DIRECT"), "{}", said.err);
}

#[test]
fn writing_a_device_needs_its_token_and_reading_needs_nothing() {
    let place = Place::new();
    let Some(disk) = Loop::over(&place, "disk.img", 16 << 20) else { return };
    let write = format!("-f {} -s 64 -t2 -i 4096 -a 12 -w destroy-data", disk.path());
    for wrong in ["", " --destroy-data 00000000"] {
        let said = seekmark(&place, &(write.clone() + wrong));
        assert_eq!((said.code, said.out.as_str()), (Some(4), ""), "{said:?}");
        assert!(said.err.contains("--destroy-data TOKEN"), "{}", said.err);
    }
    assert!(written_blocks(&disk.backing).is_empty(), "not one byte");
    let before = counted(&disk).1;
    let said = seekmark(&place, &format!("{write} -R --destroy-data {}", disk.token(&place)));
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(counted(&disk).1 - before >= 128, "each write reached the device");
    assert_eq!(report(&said).settings.unwrap().data.as_deref(), Some("single character repeated"));
    let blocks = written_blocks(&disk.backing);
    assert!(!blocks.is_empty() && blocks.len() <= 128, "{}", blocks.len());
    for (at, block) in &blocks {
        assert!(Stamp::read_from_block(block).is_some(), "a stamp at {at}");
        assert!(block[16..].iter().all(|byte| *byte == 234), "and one character behind it");
    }
    // A second run, without `-R`, on data that are now the program's own.
    let mut command = place.command(&["as", "seekmark"]);
    let kept = command.args(write.split_whitespace()).args(["--destroy-data", &disk.token(&place)]);
    let said = Said::of(kept.env("ASSAY_RUN_DIR", place.path("kept")).output().unwrap(), &["seekmark"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let log = Log::of(&place.path("kept"));
    log.adds_up();
    assert!(log.header.plan["streams"].as_array().unwrap().iter().all(|stream| stream["durable"] == true));
    let different: BTreeSet<Vec<u8>> =
        written_blocks(&disk.backing).into_iter().map(|(_, block)| block[16..].to_vec()).collect();
    assert!(different.len() > 40, "data of their own: {}", different.len());
}

const SEEK: &str = "model = \"seek\"\nthreads = 3\nsize = \"4KiB\"\nalign = \"4KiB\"\nseeks = 200\n";

#[test]
fn a_seek_workload_ends_when_all_threads_have_done_their_seeks() {
    let place = Place::new();
    place.write("seek.toml", SEEK);
    let (said, log) = place.run(&["run", "seek.toml", "sim:disk", "sim:disk"]);
    assert_eq!(said.is_of_verdict(&place.path("run")), "PASS", "{}", said.out);
    log.adds_up();
    for thread in 0..3 {
        assert_eq!(log.stream(&format!("thread-{thread}")).ok, 400, "200 on each of two targets");
    }
    let ends: Vec<_> = log.events.iter().filter(|event| event.what == EventKind::StreamEnd).collect();
    assert_eq!(ends.len(), 6, "each thread on each target");
    assert!(ends.iter().all(|event| event.details["operations"] == "200"));
    let close = log.close.unwrap();
    let last = ends.iter().map(|event| event.details["completed_ns"].parse::<u64>().unwrap()).max();
    assert_eq!(Some(close.at_ns), last, "the run is over with its last operation");
    let explained = place.assay(&["explain", "seek.toml", "sim:disk"]).out;
    assert!(explained.contains("until every stream has done its operations, at most 24h"), "{explained}");
    assert!(explained.contains("1 in flight, 200 times"), "{explained}");
    let again = place.assay(&["judge", "run", "--json"]).json();
    assert_eq!(again["verdict"], "PASS");
    // An interrupted run is not a PASS; a run whose time ends first is complete.
    place.write("long.toml", &SEEK.replace("200", "100000000"));
    let running = place.begin(&["run", "long.toml", "null:1GiB", "--out", "cut"]);
    until("its log", || fs::read_to_string(place.path("cut/run.jsonl")).is_ok_and(|log| log.contains("interval\"")));
    running.signal(libc::SIGINT);
    assert_eq!(running.end().code, Some(12));
    let resumed = place.begin(&["run", "long.toml", "null:1GiB", "--resume", "cut"]);
    let headers = || fs::read_to_string(place.path("cut/run.jsonl")).unwrap().matches("\"kind\":\"header\"").count();
    until("its second segment", || headers() == 2);
    resumed.signal(libc::SIGINT);
    assert_eq!(resumed.end().code, Some(12), "it measures again from its beginning, and is cut again");
    let timed = place.assay(&["run", "long.toml", "sim:disk", "--for", "20s", "--out", "timed"]);
    assert_eq!(timed.code, Some(0), "{timed:?}");
    let workers = place.assay(&["run", "seek.toml", "null:1GiB", "--workers", "2", "--out", "two"]);
    assert_eq!(workers.code, Some(0), "{workers:?}");
    assert_eq!(Log::of(&place.path("two")).stream("thread-0").ok, 200);
}

#[test]
fn each_number_of_threads_is_a_step_with_its_gain_over_the_first() {
    let place = Place::new();
    place.write("seek.toml", "model = \"seek\"\nthreads = [1, 2, 8]\nseeks = 400\nsize = \"4KiB\"\n");
    // A disk with one head serves as many seeks a second with eight threads as with one; flash with its channels serves
    // more.
    for (target, gains) in [("sim:disk", [1.0, 1.0, 1.0]), ("sim:flash", [1.0, 2.0, 8.0])] {
        let said = place.assay(&["run", "seek.toml", target, "--out", target]);
        assert_eq!(said.code, Some(0), "{said:?}");
        let json = place.assay(&["judge", target, "--json"]).json();
        let steps = json["steps"].as_array().unwrap();
        let titles: Vec<&str> = steps.iter().map(|step| step["title"].as_str().unwrap()).collect();
        assert_eq!(titles, ["1-threads", "2-threads", "8-threads"], "{target}");
        for ((step, threads), gain) in steps.iter().zip([1, 2, 8]).zip(gains) {
            let found = step["gain"]["over_first"].as_f64().unwrap();
            assert!((found / gain - 1.0).abs() < 0.1, "{target}: {threads} threads gain {found}");
            let operations = step["streams"][0]["operations"].as_u64().unwrap();
            assert_eq!(operations, 400 * threads);
            let rate = operations as f64 * 1e9 / step["measured_ns"].as_u64().unwrap() as f64;
            assert!((step["gain"]["per_second"].as_f64().unwrap() / rate - 1.0).abs() < 1e-9, "{step}");
        }
        assert!(said.out.contains("1.00x the first step"), "{}", said.out);
        assert!(fs::read_to_string(place.path(target).join("report.html")).unwrap().contains("x the first step"));
    }
    let explained = place.assay(&["explain", "seek.toml", "sim:disk"]).out;
    assert!(explained.contains("loop 8-threads: 1 in flight on each target in each of 8 copies"), "{explained}");
    place.write("bad.toml", "model = \"seek\"\nthreads = [1, 1]\n");
    assert_eq!(place.assay(&["explain", "bad.toml", "sim:disk"]).code, Some(3));
}
