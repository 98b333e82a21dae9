//! Job files of fio as a user runs them: explained, run and limited; refused with the place of the error, and before
//! anything is opened.

use super::bed::{Place, Said};
use std::path::{Path, PathBuf};

/// A job of reads and writes at a rate, with a key that has no effect here; then a job of two copies.
const JOB: &str = "[global]\nioengine=libaio\ntime_based\nruntime=2\nfilename=data.img\nsize=64m\n\
                   [both]\nrw=randrw\nrwmixread=70\nrate_iops=500\niodepth=8\nnice=5\n\
                   [later]\nstonewall\nrw=read\nrate_iops=1k\nnumjobs=2\n";

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../assay-formats/tests/golden/fio")
}

#[test]
fn a_job_runs_at_exactly_its_rates() {
    for (section, streams) in
        [("both", [("both.reads", 1000), ("both.writes", 1000)]), ("later", [("later.0", 2048), ("later.1", 2048)])]
    {
        let place = Place::new();
        place.write("job.fio", JOB);
        let (said, log) = place.run(&["run", "job.fio", "--section", section, "--map", "data.img=sim:flash"]);
        assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
        for (name, operations) in streams {
            assert_eq!(log.stream(name).ok, operations, "{name}");
        }
        log.adds_up();
    }
}

#[test]
fn directions_with_rates_end_with_their_parts_of_the_size() {
    let place = Place::new();
    place.write(
        "job.fio",
        "[both]\nfilename=data.img\nrw=randrw\nrate_iops=600,200\niodepth=8\nioengine=libaio\nsize=4m\n",
    );
    let (said, log) = place.run(&["run", "job.fio", "--map", "data.img=sim:flash"]);
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    assert_eq!((log.stream("both.reads").ok, log.stream("both.writes").ok), (768, 256));
    assert!(said.out.contains("1.28 s measured"), "both end at the same time: {}", said.out);
    log.adds_up();
}

/// The operations of each stream, over all steps of the log in the run directory.
fn operations(place: &Place) -> Vec<(String, u64)> {
    let mut found: Vec<(String, u64)> = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for line in std::fs::read_to_string(place.path("run/run.jsonl")).unwrap().lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        if line["kind"] == "header" {
            let name = |flow: &serde_json::Value| {
                line["streams"][flow["stream"].as_u64().unwrap() as usize]["name"].as_str().unwrap().to_owned()
            };
            names = line["flows"].as_array().unwrap().iter().map(name).collect();
            found.extend(names.iter().map(|name| (name.clone(), 0)));
        } else if line["kind"] == "interval" {
            for (name, flow) in names.iter().zip(line["flows"].as_array().unwrap()) {
                let own = found.iter_mut().find(|(known, _)| known == name).unwrap();
                own.1 += flow["ok"].as_u64().unwrap_or(0);
            }
        }
    }
    found
}

/// The jobs of the run's fio-json: name, reads, writes and flushes of each.
fn exported(place: &Place) -> Vec<(String, u64, u64, u64)> {
    let json: serde_json::Value =
        serde_json::from_str(&place.assay(&["export", "run", "--to", "fio-json"]).out).unwrap();
    let job = |job: &serde_json::Value| {
        let ios = |way: &str| {
            // Operations that completed while the run drained are in neither number.
            let n = if way == "sync" { "lat_ns" } else { "clat_ns" };
            assert_eq!(job[way]["total_ios"], job[way][n]["N"], "{job:#}");
            job[way]["total_ios"].as_u64().unwrap()
        };
        let name = job["jobname"].as_str().unwrap().rsplit(": ").next().unwrap().to_owned();
        (name, ios("read"), ios("write"), ios("sync"))
    };
    json["jobs"].as_array().unwrap().iter().map(job).collect()
}

/// What fio itself did, from a file of reference data: name, reads, writes and flushes of each job.
fn reference(file: &str) -> Vec<(String, u64, u64, u64)> {
    let json = std::fs::read(golden().join(format!("{file}.json"))).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    let jobs = json["jobs"].as_array().unwrap();
    let job = |(at, job): (usize, &serde_json::Value)| {
        let ios = |way: &str| job[way]["operations"].as_u64().unwrap_or(0);
        let name = job["job"].as_str().unwrap().to_owned();
        let copies = jobs.iter().filter(|other| other["job"] == job["job"]).count();
        let copy = jobs[..at].iter().filter(|other| other["job"] == job["job"]).count();
        let name = if copies > 1 { format!("{name}.{copy}") } else { name };
        (name, ios("read"), ios("write"), ios("sync"))
    };
    jobs.iter().enumerate().map(job).collect()
}

/// Runs the reference jobs on files of their own, which are created and filled first. A run is repeated when this machine
/// stood still as a load ended: operations that are not issued by then are not issued at all, and the tests count them.
fn runs(file: &str, files: &[String], size: &str) -> Place {
    let attempt = || run_once(file, files, size);
    (0..9).map(|_| attempt()).find(|place| waiting(place) == 0).unwrap_or_else(attempt)
}

/// How many operations were not issued because this machine stood still when their load ended.
fn waiting(place: &Place) -> u64 {
    let text = std::fs::read_to_string(place.path("run/run.jsonl")).unwrap();
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let steps = lines.split(|line| line["kind"] == "header");
    let last = steps.filter_map(|step| step.iter().rfind(|line| line["kind"] == "interval"));
    last.flat_map(|last| last["flows"].as_array().unwrap()).filter_map(|flow| flow["waiting"].as_u64()).sum()
}

fn run_once(file: &str, files: &[String], size: &str) -> Place {
    let place = Place::new();
    let job = format!("{file}.fio");
    for name in [job.as_str(), "include-common.inc"] {
        std::fs::copy(golden().join(name), place.path(name)).unwrap();
    }
    if !files.is_empty() {
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        let said = place.assay(&[&["prep"], files.as_slice(), &["--create", size]].concat());
        assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    }
    let args = ["run", &job, "--out", "run"];
    let said = Said::of(place.command(&args).env("BS", "16k").output().unwrap(), &args);
    let verdict = said.is_of_verdict(&place.path("run"));
    assert!(["PASS", "INVALID"].contains(&verdict.as_str()), "{file}: {verdict}: {}", said.out);
    place
}

#[test]
fn jobs_that_end_by_themselves_do_what_the_reference_jobs_did() {
    for (file, files, size) in [
        ("places", &["data.img"][..], "100MiB"),
        ("phases", &["data.img"], "32MiB"),
        ("simple", &["data.img"], "64MiB"),
        ("journal", &["./journal.0.0", "./every-eighth.0.0"], "3MiB"),
        ("include", &["data.img"], "16MiB"),
        ("units", &[], ""),
    ] {
        let files: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
        assert_eq!(exported(&runs(file, &files, size)), reference(file), "{file}");
    }
}

/// Where a job draws whether it reads, the share is within four standard deviations.
#[test]
fn jobs_that_draw_do_what_the_reference_jobs_did() {
    for (file, size) in [("sequences", "16MiB"), ("bsrange", "128MiB"), ("bssplit", "128MiB"), ("skew", "64MiB")] {
        let (ours, theirs) = (exported(&runs(file, &["data.img".to_owned()], size)), reference(file));
        assert_eq!(ours.len(), theirs.len(), "{file}");
        for (ours, theirs) in ours.iter().zip(&theirs) {
            let all = theirs.1 + theirs.2;
            assert_eq!((&ours.0, ours.1 + ours.2, ours.3), (&theirs.0, all, 0), "{file}");
            // The share of reads that the job file states, from which fio drew.
            let share = match theirs.0.as_str() {
                _ if theirs.2 == 0 => 1.0,
                "read-and-write" => 0.75,
                "both" => 0.6,
                "rw-zoned" => 0.7,
                _ => 0.5,
            };
            let (all, spread) = (all as f64, 4.0 * (all as f64 * share * (1.0f64 - share)).sqrt());
            assert!((ours.1 as f64 - all * share).abs() <= spread, "{file}: {ours:?}");
        }
    }
}

/// Rates are exact, where fio falls a few operations short. An operation counts as one, whatever its size.
#[test]
fn jobs_with_rates_and_pauses_do_what_the_reference_jobs_did() {
    let place = runs("rate-mixed", &["data.img".to_owned()], "64MiB");
    let expected = [
        ("both-500", 1000, 1000),
        ("suffix", 2048, 0),
        ("two-copies.0", 600, 0),
        ("two-copies.1", 600, 0),
        ("bytes", 1024, 0),
        ("splits", 1000, 0),
    ];
    let done = operations(&place);
    let of = |name: &str| done.iter().find(|(known, _)| known == name).map_or(0, |(_, n)| *n);
    for (name, reads, writes) in expected {
        let both = (of(&format!("{name}.reads")), of(&format!("{name}.writes")));
        let found = if writes > 0 { both } else { (of(name), 0) };
        assert_eq!(found, (reads, writes), "{name}: {done:?}");
    }
    let place = runs("rate-poisson", &["data.img".to_owned()], "64MiB");
    let done = operations(&place);
    for ((name, n), expected) in done.iter().zip([1600.0, 400.0f64]) {
        assert!((*n as f64 - expected).abs() <= 4.0 * expected.sqrt(), "{name}: {n}");
    }
    let done = operations(&runs("think", &["data.img".to_owned()], "16MiB"));
    // Two seconds with a pause of 10 ms after each operation.
    assert!(done[0].1 <= 201 && done[0].1 > 50 && done[1] == ("every-tenth".to_owned(), 200), "{done:?}");
}

/// The three profiles of an Italian article, as its job files have them: sixteen copies, each with a file of its own
/// and 32 operations in flight.
#[test]
fn the_three_profiles_run_as_they_were_written() {
    for (file, size) in [("max-io", "2MiB"), ("max-bandwidth", "8MiB"), ("real-life", "4MiB")] {
        let files: Vec<String> = (0..16).map(|copy| format!("./{file}.{copy}.0")).collect();
        let (ours, theirs) = (exported(&runs(file, &files, size)), reference(file));
        for (ours, theirs) in ours.iter().zip(&theirs) {
            let all = theirs.1 + theirs.2;
            let spread = if theirs.2 > 0 { 4.0 * (all as f64 * 0.8 * 0.2).sqrt() } else { 0.0 };
            assert_eq!((&ours.0, ours.1 + ours.2, ours.3), (&theirs.0, all, 0), "{file}");
            assert!((ours.1 as f64 - all as f64 * if theirs.2 > 0 { 0.8 } else { 1.0 }).abs() <= spread, "{ours:?}");
        }
        assert_eq!((ours.len(), theirs.len()), (16, 16), "{file}");
    }
}

#[test]
fn flushes_of_a_job_follow_its_writes_and_its_end() {
    let place = Place::new();
    place.write(
        "job.fio",
        "[global]\nfilename=data.img\nsize=1m\nbs=4k\n[mix]\nrw=randrw\nfsync=4\nioengine=libaio\niodepth=8\nend_fsync=1\n\
         [next]\nwait_for=mix\nrw=write\nfsync_on_close=1\nfdatasync=0\n[timed]\nstonewall\nrw=write\ntime_based\nruntime=2\n\
         rate_iops=100\nend_fsync=1\n[reads]\nstonewall\nrw=read\nfsync=1\nend_fsync\n",
    );
    let (said, log) = place.run(&["run", "job.fio", "--map", "data.img=sim:flash"]);
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    drop(log);
    let done = operations(&place);
    let of = |name: &str| done.iter().find(|(known, _)| known == name).map(|(_, n)| *n);
    let (writes, flushes) = (of("mix.writes").unwrap(), of("mix.flushes").unwrap());
    assert_eq!(of("mix.reads").unwrap() + writes, 256);
    // A flush follows every fourth write, except for the last one if that was the last operation of the job.
    assert!((writes.div_ceil(4) - 1..=writes / 4).contains(&flushes), "{flushes} after {writes}");
    for (name, n) in [
        ("mix.end-flush", 1),
        ("next", 256),
        ("next.end-flush", 1),
        ("timed", 200),
        ("timed.end-flush", 1),
        ("reads", 256),
    ] {
        assert_eq!(of(name), Some(n), "{name}: {done:?}");
    }
    assert_eq!(done.len(), 9, "{done:?}");
    let json = exported(&place);
    let names: Vec<&str> = json.iter().map(|job| job.0.as_str()).collect();
    assert_eq!((names, json[0].3), (vec!["mix", "next", "timed", "reads"], flushes));
    let explained = place.assay(&["explain", "job.fio", "--map", "data.img=sim:flash", "--json"]).out;
    for told in ["fsync=4: carried as fdatasync", "fsync=1: without effect: the job writes nothing"] {
        assert!(explained.contains(told), "{told}: {explained}");
    }
    for (keys, what) in [
        ("fsync=1\nfdatasync=2", "fsync and fdatasync is not driven yet"),
        ("fsync=1\nrate_iops=5", "writes that have a rate is not driven yet"),
        ("fsync=4g", "out of range"),
        ("end_fsync=2", "end_fsync is a switch"),
    ] {
        place.write("bad.fio", &format!("[a]\nfilename=data.img\nsize=1m\nrw=write\n{keys}\n"));
        let said = place.assay(&["explain", "bad.fio", "--map", "data.img=sim:flash"]);
        assert!(
            said.code == Some(3) && said.err.contains(what) && said.err.contains("bad.fio:"),
            "{keys}: {}",
            said.err
        );
    }
}

#[test]
fn a_mix_keeps_its_shares_and_its_depth() {
    let place = Place::new();
    place.write("mix.fio", "[a]\nioengine=libaio\nfilename=data.img\nsize=64m\nrw=randrw\nrwmixread=80\niodepth=8\nnumjobs=2\ntime_based\nruntime=1\n");
    let (said, log) = place.run(&["run", "mix.fio", "--map", "data.img=sim:disk", "--for", "20s"]);
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    for copy in 0..2 {
        let of = |way: &str| log.stream(&format!("a.{copy}.{way}")).ok as f64;
        let all = of("reads") + of("writes");
        assert!(all > 500.0, "{all}");
        assert!((of("reads") - all * 0.8).abs() <= 4.0 * (all * 0.16).sqrt(), "{} of {all}", of("reads"));
    }
    assert!(log.intervals.iter().all(|interval| interval.flows.iter().map(|flow| flow.in_flight).sum::<u64>() <= 16));
    log.adds_up();
    let json: serde_json::Value =
        serde_json::from_str(&place.assay(&["export", "run", "--to", "fio-json"]).out).unwrap();
    let names: Vec<&str> =
        json["jobs"].as_array().unwrap().iter().map(|job| job["jobname"].as_str().unwrap()).collect();
    assert_eq!(names, ["a.0", "a.1"]);
}

#[test]
fn every_key_is_explained_with_its_line() {
    let place = Place::new();
    place.write("job.fio", JOB);
    let said = place.assay(&["explain", "job.fio", "--section", "both", "--json"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let json = said.json();
    let keys = json["keys"].as_array().unwrap();
    let found: Vec<(u64, &str, &str)> = keys
        .iter()
        .map(|key| (key["line"].as_u64().unwrap(), key["written"].as_str().unwrap(), key["class"].as_str().unwrap()))
        .collect();
    let (exact, differs) = ("exact", "differs");
    let expected = [
        (2, "ioengine=libaio", differs),
        (3, "time_based", exact),
        (4, "runtime=2", exact),
        (5, "filename=data.img", exact),
        (6, "size=64m", exact),
        (8, "rw=randrw", exact),
        (9, "rwmixread=70", exact),
        (10, "rate_iops=500", differs),
        (11, "iodepth=8", exact),
        (12, "nice=5", "no effect"),
    ];
    assert_eq!(found, expected);
    assert!(keys.iter().all(|key| !key["means"].as_str().unwrap().is_empty()), "{keys:?}");
    let notes = json["notes"].to_string();
    for told in ["job.fio:2: ioengine", "job.fio:10: rate_iops=500", "direct is absent", "whatever rwmixread"] {
        assert!(notes.contains(told), "{told}: {notes}");
    }
    let text = place.assay(&["explain", "job.fio", "--section", "both"]);
    for line in ["10  rate_iops=500", "keys without effect", "12  nice=5"] {
        assert!(text.out.contains(line), "{line}: {}", text.out);
    }
    assert!(place.left(&["job.fio"]).is_empty());
}

#[test]
fn what_is_refused_opens_nothing() {
    let place = Place::new();
    let image = std::fs::File::create(place.path("data.img")).unwrap();
    image.set_len(16 << 20).unwrap();
    let cases = std::fs::read(golden().join("refused/refused.json")).unwrap();
    let cases: serde_json::Value = serde_json::from_slice(&cases).unwrap();
    for case in cases.as_array().unwrap() {
        let name = case["case"].as_str().unwrap();
        std::fs::copy(golden().join("refused").join(name), place.path(name)).unwrap();
        for verb in ["run", "explain"] {
            let said = place.assay(&[verb, name]);
            assert_eq!(said.code, Some(3), "{verb} {name}: {}", said.err);
            let carets = "^".repeat(case["under_the_caret"].as_str().unwrap().chars().count());
            assert!(said.err.contains(&format!("--> {name}:{}:{}\n", case["line"], case["column"])), "{}", said.err);
            assert!(said.err.contains(&format!(" {carets} ")), "{}", said.err);
        }
        std::fs::remove_file(place.path(name)).unwrap();
    }
    assert!(place.left(&["data.img"]).is_empty());
}

#[test]
fn targets_of_a_job_are_as_safe_as_any_other() {
    let place = Place::new();
    place.write("job.fio", &JOB.replace("size=64m\n", ""));
    // A file that the program did not make is not written, whatever a job says.
    let before = vec![7u8; 1 << 20];
    std::fs::write(place.path("data.img"), &before).unwrap();
    let said = place.assay(&["run", "job.fio", "--section", "both"]);
    assert_eq!(said.code, Some(4), "{}", said.err);
    assert!(std::fs::read(place.path("data.img")).unwrap() == before);
    std::fs::remove_file(place.path("data.img")).unwrap();
    let said = place.assay(&["run", "job.fio", "--section", "both"]);
    assert!(said.code == Some(4) && said.err.contains("--create"), "{}", said.err);
    assert!(!place.path("data.img").exists());
}

#[test]
fn what_is_chosen_wrongly_is_said() {
    let place = Place::new();
    place.write("job.fio", JOB);
    for (args, code, told) in [
        (&["explain", "job.fio", "--section", "nobody"][..], 3, "the jobs are both, later"),
        (&["explain", "job.fio", "--section", "both", "--map", "other=sim:flash"], 3, "the files are data.img"),
        (&["explain", "job.fio", "--section", "both", "--map", "data.img"], 2, "--map data.img=/dev/sdb"),
        (&["explain", "random-read", "sim:flash", "--section", "both"], 2, "is none"),
        (&["explain", "job.fio", "sim:flash", "sim:disk", "--section", "both"], 3, "1 file (data.img)"),
        (&["explain", "absent.fio"], 3, "cannot be read"),
    ] {
        let said = place.assay(args);
        assert!(said.code == Some(code) && said.err.contains(told), "{args:?}: {:?} {}", said.code, said.err);
    }
}

#[test]
fn the_load_of_a_job_is_searched_for() {
    let place = Place::new();
    place.write("job.fio", JOB);
    let said = place.assay(&[
        "limit",
        "job.fio",
        "sim:flash",
        "--section",
        "both",
        "--from",
        "1x",
        "--to",
        "2x",
        "--out",
        "limit",
    ]);
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    assert!(said.out.contains("job on sim:flash"), "{}", said.out);
}

/// The combined view against another account of the same thing: the log's own intervals, and the copies one by one.
#[test]
fn what_copies_do_together_is_shown_beside_what_each_does() {
    let place = Place::new();
    let job = "[w]\nfilename=data.img\nsize=64m\nrw=randrw\nrate_iops=200\nruntime=3\ntime_based\nnumjobs=3\ngroup_reporting\n";
    place.write("job.fio", job);
    let (said, log) = place.run(&["run", "job.fio", "--map", "data.img=sim:flash"]);
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    let verdict: serde_json::Value =
        serde_json::from_slice(&std::fs::read(place.path("run/verdict.json")).unwrap()).unwrap();
    for (at, direction) in ["reads", "writes"].iter().enumerate() {
        let group = &verdict["groups"][at];
        assert_eq!(group["name"], format!("w.{direction} x3"));
        let copies: Vec<_> = (0..3).map(|copy| log.stream(&format!("w.{copy}.{direction}"))).collect();
        assert_eq!(group["operations"].as_u64(), Some(copies.iter().map(|copy| copy.ok).sum()));
        assert_eq!(group["bytes"].as_u64(), Some(copies.iter().map(|copy| copy.bytes).sum()));
        assert_eq!(group["response"]["operations"], group["operations"]);
        // A percentile of all lies between the smallest and the largest of the copies.
        let of = |figure: &serde_json::Value| figure["response"]["p99_ns"].as_u64().unwrap();
        let streams = verdict["streams"].as_array().unwrap();
        let own: Vec<u64> = streams
            .iter()
            .filter(|it| it["name"].as_str().is_some_and(|name| name.ends_with(direction)))
            .map(of)
            .collect();
        assert!(own.len() == 3 && (*own.iter().min().unwrap()..=*own.iter().max().unwrap()).contains(&of(group)));
        let line = &verdict["series"]["groups"][at];
        let drawn: f64 = line["achieved"].as_array().unwrap().iter().filter_map(serde_json::Value::as_f64).sum();
        assert!((drawn - group["operations"].as_f64().unwrap()).abs() < 1.0, "a point is a second: {drawn}");
        assert!(said.out.contains(&format!("w.{direction} x3 response")), "{}", said.out);
        let page = std::fs::read_to_string(place.path("run/report.html")).unwrap();
        assert!(page.contains(&format!("<summary>w.{direction} x3</summary>")), "no chart");
    }
    let groups = verdict["groups"].as_array().unwrap();
    let rates: f64 = groups.iter().map(|group| group["rate_achieved"].as_f64().unwrap()).sum();
    assert!((rates / 1200.0 - 1.0).abs() < 0.02, "{rates}");
}
