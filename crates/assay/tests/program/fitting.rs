//! `fit` and `size`: the worked example in simulation, small profiles on a loop device and on zram, figures that cannot
//! agree, refusals, and what a killed command leaves behind.

use crate::bed::{Place, Said, until};
use crate::devices::{Disk, Loop, Zram, passed_over};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// A namespace small enough for any test device, and what its drive did.
const SMALL: &str = r#"
name = "small"
model = "profile"
[[namespace]]
name = "ns"
drives = ["sda"]
[namespace.reads]
rate = "800/s"
larger_than = [["4KiB", "100%"], ["8KiB", "50%"], ["16KiB", "0%"]]
[namespace.writes]
rate = "100/s"
larger_than = [["1KiB", "100%"], ["2KiB", "0%"]]
[namespace.large_blocks]
writes = "80/s"
direct_frees = "20/s"
[[iostat]]
drive = "sda"
reads = "872/s"
writes = "80/s"
read_bytes = "16000KiB"
write_bytes = "10240KiB"
"#;

fn example(place: &Place, name: &str) -> String {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name);
    let out = format!("{name}.toml");
    let said = place.assay(&["import", "aerospike", example.to_str().unwrap(), "--name", name, "--out", &out]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    out
}

fn told(said: &Said) -> String {
    format!("{}{}", said.out, said.err)
}

fn rounds(fit: &Value) -> &Vec<Value> {
    fit["rounds"].as_array().unwrap()
}

/// `(figure, difference, allowed)` of the last round.
fn last(fit: &Value) -> Vec<(String, f64, f64)> {
    let figures = rounds(fit).last().unwrap()["figures"].as_array().unwrap().iter();
    let number = |one: &Value, name: &str| one[name].as_f64().unwrap();
    figures
        .map(|one| (one["figure"].as_str().unwrap().into(), number(one, "difference"), number(one, "allowed")))
        .collect()
}

#[test]
fn the_worked_example_agrees_within_a_percent_and_what_was_counting_is_told() {
    let place = Place::new();
    let profile = example(&place, "worked");
    for seed in ["1", "2", "3", "4"] {
        let said = place.assay(&["fit", &profile, "sim:flash", "--seed", seed, "--out", seed, "--json"]);
        assert_eq!(said.code, Some(0), "{}", told(&said));
        let fit = said.json();
        assert!(rounds(&fit).len() <= 5 && fit["outcome"]["agrees"]["round"].as_u64().is_some(), "{fit}");
        assert_eq!(last(&fit).len(), 4);
        for (figure, difference, allowed) in last(&fit) {
            let counting = allowed - 0.01;
            assert!(difference.abs() <= allowed && counting < 0.007, "{figure}: {difference} of {allowed}");
            // Without the counting noise of this round, the figures are within one percent.
            assert!(difference.abs() - counting < 0.01, "{figure}: {difference}");
        }
        assert_eq!(fs::read_to_string(place.path(seed).join("fit.json")).unwrap().trim(), said.out.trim());
        for round in rounds(&fit) {
            let dir = place.path(seed).join(round["directory"].as_str().unwrap());
            assert!(dir.join("run.jsonl").exists() && dir.join("report.html").exists());
        }
    }
    let said = place.assay(&["fit", &profile, "sim:flash", "--out", "text", "--fitted", "mine.toml"]);
    for line in [
        "agrees with production in round 2",
        "round 1  as the profile stands",
        "position of reads 100% -> 1",
        "other reads 0/s -> ",
        "too far",
        "in no count of the",
    ] {
        assert!(said.out.contains(line), "{line}\n{}", told(&said));
    }
    // A fitted profile is a workload like any other.
    let text = fs::read_to_string(place.path("mine.toml")).unwrap();
    assert_eq!(text, fs::read_to_string(place.path("text/fitted.toml")).unwrap());
    assert!(
        text.starts_with("# Fitted to nvme0n1 of production by `assay fit`, on\n#   sim:flash: ")
            && text.contains("# fitted, was 100%"),
        "{text}"
    );
    assert!(text.contains("asloglatency.txt:58, asloglatency"), "origins stay: {text}");
    let explained = place.assay(&["explain", "mine.toml"]);
    // What the server's log has counted is what runs, and what nobody counted is named.
    for line in [
        "large-block reads = (1543/s − 369/s freed directly) × 100% = 1174/s",
        "large-block writes = 1543/s × 100% = 1543/s",
        "other reads = ",
    ] {
        assert!(explained.out.contains(line), "{line}\n{}", explained.out);
    }
    assert!(text.contains("[namespace.others]\nreads = \""), "{text}");
    let again = place.assay(&["fit", "mine.toml", "sim:flash", "--out", "again", "--json"]).json();
    assert_eq!(again["outcome"]["agrees"]["round"], 1, "{again}");
    let limit = place.assay(&[
        "limit",
        "mine.toml",
        "sim:flash",
        "--for",
        "2s",
        "--slice",
        "1s",
        "--from",
        "1x",
        "--to",
        "2x",
        "--json",
    ]);
    assert_eq!((limit.code, limit.json()["outcome"]["never-failed"]["passes"].as_str()), (Some(0), Some("2x")));
}

#[test]
fn several_namespaces_of_several_nodes_are_fitted_to_the_drive_that_is_meant() {
    let place = Place::new();
    let profile = example(&place, "cluster");
    let said = place.assay(&["fit", &profile, "sim:flash", "--out", "fit", "--json"]);
    assert_eq!(said.code, Some(0), "{}", told(&said));
    let fit = said.json();
    assert_eq!(fit["drive"], "alpha/nvme1n1");
    assert!(fit["notes"].to_string().contains("the counting noise is larger than the tolerance; --for 10min"), "{fit}");
    let text = fs::read_to_string(place.path("fit/fitted.toml")).unwrap();
    assert!(text.contains("\ndrive = \"alpha/nvme1n1\"\n"), "{text}");
    // Both namespaces of this node are fitted, and none of the other node's.
    assert_eq!(text.matches("# fitted, was 100%").count() % 2, 0, "{text}");
    let (alpha, beta) = text.split_once("node = \"beta\"").unwrap();
    assert!(alpha.contains("# fitted") && !beta.split("[[iostat]]").next().unwrap().contains("# fitted"), "{text}");
}

#[test]
fn what_cannot_agree_says_why_and_by_how_much() {
    let place = Place::new();
    let fit = |name: &str, text: &str, target: &str| {
        place.write(&format!("{name}.toml"), text);
        let said = place.assay(&["fit", &format!("{name}.toml"), target, "--for", "20s", "--out", name]);
        Said { out: said.out.split_whitespace().collect::<Vec<_>>().join(" "), ..said }
    };
    let profile = SMALL;
    let tied = fit("tied", &profile.replace("10240KiB", "5120KiB"), "sim:flash");
    assert_eq!(tied.code, Some(10), "{}", told(&tied));
    assert!(tied.out.contains("wkB/s: sizes or large blocks are at their lower bound already"), "{}", tied.out);
    assert!(tied.out.contains("too far") && place.path("tied/fitted.toml").exists(), "{}", tied.out);
    let bound = fit("bound", &profile.replace("16000KiB", "99000KiB"), "sim:flash");
    assert!(bound.code == Some(10) && bound.out.contains("at their upper bound already"), "{}", told(&bound));
    let blocks = fit("blocks", profile, "sim:flash?block=16KiB");
    assert!(
        blocks.code == Some(10) && blocks.out.contains("rounded up to the blocks of this device"),
        "{}",
        told(&blocks)
    );
    let slow = fit("slow", profile, "sim:disk");
    assert_eq!(slow.code, Some(10), "{}", told(&slow));
    assert!(slow.out.contains("does not carry production's load") && !place.path("slow/fitted.toml").exists());
    let partial = profile.replace("write_bytes = \"10240KiB\"\n", "");
    let partial = fit("partial", &partial, "sim:flash");
    assert!(partial.code == Some(0) && partial.out.contains("has no wkB/s, which is not fitted"), "{}", told(&partial));
}

#[test]
fn what_is_no_fit_is_refused_before_anything_is_begun() {
    let place = Place::new();
    place.write("small.toml", SMALL);
    place.write("bare.toml", SMALL.split("[[iostat]]").next().unwrap());
    place.write("streams.toml", "name = \"s\"\nmodel = \"streams\"\n");
    place.write("broken.toml", "name = \"s\"\nmodel = \"profile\"\n[[namespace]]\nnmae = 1\n");
    place.write("taken.toml", "mine");
    let made = ["small.toml", "bare.toml", "streams.toml", "broken.toml", "taken.toml"];
    for (args, code, words) in [
        (&["fit", "none.toml", "sim:flash"][..], 3, "assay import"),
        (&["fit", "bare.toml", "sim:flash"], 3, "bare.toml has no iostat of the drive sda"),
        (&["fit", "streams.toml", "sim:flash"], 3, "a workload of the model \"streams\", not a profile"),
        (&["fit", "broken.toml", "sim:flash"], 3, "broken.toml:4:1"),
        (&["fit", "small.toml", "sim:nothing"], 2, "sim:nothing"),
        (&["fit", "small.toml"], 2, "required"),
        (&["fit", "small.toml", "sim:flash", "sim:disk"], 2, "unexpected argument"),
        (&["fit", "small.toml", "sim:flash", "--tolerance", "0%"], 2, "write 0.1% to 50%"),
        (&["fit", "small.toml", "sim:flash", "--rounds", "0"], 2, "--rounds"),
        (&["fit", "small.toml", "sim:flash", "--verify"], 2, "verify with assay run"),
        (&["fit", "small.toml", "sim:flash", "--fitted", "taken.toml"], 5, "exists already"),
        (&["fit", "small.toml", "sim:flash", "--out", "taken.toml"], 2, "exists already"),
        (&["fit", "small.toml", "sim:flash?size=64KiB"], 2, "needs at least"),
        (&["fit", "small.toml", "taken.toml"], 4, "taken.toml"),
        (&["size", "small.toml"], 2, "required"),
        (&["size", "small.toml", "sim:flash", "sim:flash"], 2, "given twice"),
        (&["size", "bare.toml", "sim:flash"], 3, "no iostat"),
        (&["size", "small.toml", "sim:flash", "--headroom", "95%"], 2, "write 0% to 90%"),
        (&["size", "small.toml", "sim:flash", "--drives", "0"], 2, "--drives"),
        // The second target is refused, so that the first one is not started either.
        (&["size", "small.toml", "sim:flash", "taken.toml"], 4, "taken.toml"),
    ] {
        let said = place.assay(args);
        assert!(
            said.code == Some(code) && said.err.contains(words) && said.out.is_empty(),
            "{args:?}: {:?} {}",
            said.code,
            told(&said)
        );
        assert_eq!(place.left(&made), [""; 0], "{args:?}");
    }
    assert_eq!(fs::read_to_string(place.path("taken.toml")).unwrap(), "mine");
}

/// A profile whose first round cannot agree, in simulated time, so that no busy machine decides how it ends. A round is
/// long enough to be killed in.
fn unfinished(place: &Place) -> [&'static str; 7] {
    place.write("small.toml", SMALL);
    ["fit", "small.toml", "sim:flash", "--for", "20min", "--seed", "3"]
}

#[test]
fn a_fit_that_was_killed_keeps_its_rounds_and_goes_on() {
    let place = Place::new();
    let line = unfinished(&place);
    let mut running = place.begin(&[&line[..], &["--out", "fit"]].concat());
    let kept = || -> Option<Value> { serde_json::from_str(&fs::read_to_string(place.path("fit/fit.json")).ok()?).ok() };
    until("the first round", || {
        assert!(running.is_alive(), "it ended before it was asked to");
        kept().is_some_and(|fit| !rounds(&fit).is_empty())
    });
    running.signal(libc::SIGKILL);
    running.end();
    let before = kept().unwrap();
    assert!(before["outcome"].is_null());
    for (more, words) in [(&["--for", "3s"][..], "another length"), (&["--seed", "4"], "seed")] {
        let said = place.assay(&[&line[..3], more, &["--resume", "fit"]].concat());
        assert!(said.code == Some(2) && said.err.contains(words), "{}", told(&said));
    }
    let said = place.assay(&[&line[..], &["--resume", "fit", "--json"]].concat());
    assert_eq!(said.code, Some(0), "{}", told(&said));
    let fit = said.json();
    assert_eq!(rounds(&fit)[0], rounds(&before)[0], "the round that was kept is not run again");
    assert!(rounds(&fit).len() >= 2 && place.path("fit/fitted.toml").exists(), "{fit}");
    // A fit that has ended has nothing left to run.
    let again = place.assay(&[&line[..], &["--resume", "fit", "--json"]].concat()).json();
    assert_eq!(rounds(&again).len(), rounds(&fit).len());
    place.write("small.toml", &SMALL.replace("872/s", "873/s"));
    let other = place.assay(&[&line[..], &["--resume", "fit"]].concat());
    assert!(other.code == Some(2) && other.err.contains("cannot be continued"), "{}", told(&other));
}

#[test]
fn a_fit_that_is_interrupted_says_how_to_go_on() {
    let place = Place::new();
    let line = unfinished(&place);
    let mut running = place.begin(&[&line[..], &["--out", "fit"]].concat());
    until("the first round's log", || {
        assert!(running.is_alive());
        fs::read_to_string(place.path("fit/01/run.jsonl")).is_ok_and(|log| log.contains("\"kind\":\"interval\""))
    });
    running.signal(libc::SIGINT);
    let said = running.end();
    assert!(said.code == Some(12) && said.err.contains("--resume fit"), "{}", told(&said));
    let said = place.assay(&[&line[..], &["--resume", "fit", "--json"]].concat());
    // What was cut stays listed, and was run again.
    let fit = said.json();
    assert_eq!((said.code, fit["rounds"][0]["verdict"].as_str()), (Some(0), Some("INCOMPLETE")), "{}", told(&said));
    assert_eq!((fit["repeated"][0]["directory"].as_str(), rounds(&fit).len() > 1), (Some("01"), true), "{fit}");
}

/// Prepares a device and fits the small profile on it.
fn fitted(place: &Place, disk: &dyn Disk, profile: &str, out: &str) -> (Said, Value) {
    let token = disk.token(place);
    let prepared = place.assay(&["prep", disk.path(), "--destroy-data", &token]);
    assert_eq!(prepared.code, Some(0), "{}", told(&prepared));
    place.write("small.toml", profile);
    let line = [
        "fit",
        "small.toml",
        disk.path(),
        "--destroy-data",
        &token,
        "--for",
        "4s",
        "--seed",
        "5",
        "--out",
        out,
        "--json",
    ];
    let said = place.assay(&line);
    let fit = said.json();
    (said, fit)
}

/// The same, again while the machine was too busy to carry the load in time, or its disk to carry it: up to five times. A
/// machine that was late each time says nothing about a fit.
fn fitted_when_free(place: &Place, disk: &dyn Disk) -> Option<(Said, Value)> {
    let late = |fit: &Value| {
        let text = fit.to_string();
        text.contains("the test machine") || text.contains("another program used")
    };
    let busy = |fit: &Value| late(fit) || !fit["outcome"]["not-carried"].is_null();
    let mut found = fitted(place, disk, SMALL, "fit-1");
    for n in 2..=5 {
        if !busy(&found.1) {
            break;
        }
        found = fitted(place, disk, SMALL, &format!("fit-{n}"));
    }
    if found.0.code == Some(11) && late(&found.1) {
        passed_over("this machine was late, or its disk was used by others, in each of five tries");
        return None;
    }
    Some(found)
}

fn agrees(said: &Said, fit: &Value) {
    assert_eq!(said.code, Some(0), "{fit}\n{}", said.err);
    for (figure, difference, allowed) in last(fit) {
        assert!(difference.abs() <= allowed, "{figure}: {difference} of {allowed}");
    }
    assert!(rounds(fit).iter().all(|round| round["counted"].is_array()), "the device's own counters: {fit}");
}

#[test]
fn a_loop_device_is_fitted_by_its_own_counters() {
    let place = Place::new();
    let Some(disk) = Loop::over(&place, "back", 128 << 20) else { return };
    let Some((said, fit)) = fitted_when_free(&place, &disk) else { return };
    agrees(&said, &fit);
    if disk.queue("write_cache") == "write back" && disk.queue("fua") == "0" {
        assert!(rounds(&fit)[0]["flushes"].as_f64() > Some(40.0), "{fit}");
        assert!(fit["notes"].to_string().contains("empty write"), "{fit}");
    }
}

#[test]
fn zram_is_fitted_by_its_own_counters() {
    let place = Place::new();
    let Some(disk) = Zram::of(128 << 20) else { return };
    let Some((said, fit)) = fitted_when_free(&place, &disk) else { return };
    agrees(&said, &fit);
}

/// Limits the size of a device's requests. It is put back when dropped, because the kernel keeps the limit of a loop
/// device even after the device is detached.
struct Narrow {
    file: String,
    before: String,
}

impl Narrow {
    fn to(disk: &dyn Disk, kib: &str) -> Option<Narrow> {
        let file = format!("/sys/block/{}/queue/max_sectors_kb", disk.name());
        let before = disk.queue("max_sectors_kb");
        fs::write(&file, kib).ok()?;
        Some(Narrow { file, before })
    }
}

impl Drop for Narrow {
    fn drop(&mut self) {
        let _ = fs::write(&self.file, &self.before);
    }
}

#[test]
fn what_the_kernel_splits_is_told_on_a_real_device() {
    let place = Place::new();
    let Some(disk) = Loop::over(&place, "back", 128 << 20) else { return };
    let Some(_narrow) = Narrow::to(&disk, "64") else { return };
    let Some((said, fit)) = fitted_when_free(&place, &disk) else { return };
    assert_eq!(said.code, Some(10), "{fit}");
    let short = fit["outcome"]["apart"]["figures"].as_array().unwrap_or_else(|| panic!("{fit}"));
    let writes = short.iter().find(|one| one["figure"] == "w/s").unwrap_or_else(|| panic!("{fit}"));
    let times = writes["why"]["split"]["times"].as_f64().unwrap_or_else(|| panic!("{writes}"));
    assert!((1.9..2.1).contains(&times), "{writes}");
    assert!(fit["notes"].to_string().contains("max_sectors_kb of /dev/loop"), "{fit}");
    assert!(!short.iter().any(|one| one["figure"] == "wkB/s"), "what is handed over is fitted: {fit}");
}

#[test]
fn a_file_is_fitted_by_what_is_handed_over_and_says_so() {
    let place = Place::new();
    place.write("small.toml", SMALL);
    let said = place.assay(&[
        "fit",
        "small.toml",
        "scratch.dat",
        "--create",
        "128MiB",
        "--for",
        "2s",
        "--seed",
        "5",
        "--rounds",
        "1",
        "--out",
        "fit",
    ]);
    assert!(matches!(said.code, Some(0 | 10 | 11)), "{}", told(&said));
    assert!(said.out.contains("requests are counted as they are issued"), "{}", told(&said));
}

#[test]
fn candidates_are_compared_and_one_that_fails_is_a_row() {
    let place = Place::new();
    let profile = example(&place, "worked");
    let targets = ["sim:flash", "sim:flash?iops=40000", "sim:disk"];
    let line =
        [&["size", &profile], &targets[..], &["--for", "4s", "--slice", "2s", "--fit-for", "20s", "--drives", "4"]]
            .concat();
    let said = place.assay(&[&line[..], &["--out", "size", "--json"]].concat());
    assert_eq!(said.code, Some(0), "{}", told(&said));
    let size = said.json();
    let all = size["candidates"].as_array().unwrap();
    let holds: Vec<f64> = all
        .iter()
        .map(|one| one["holds"].as_str().map_or(0.0, |holds| holds.trim_end_matches('x').parse().unwrap()))
        .collect();
    assert!(holds[0] > holds[1] && holds[1] >= 1.0 && holds[2] == 0.0, "{holds:?}\n{size}");
    for (one, holds) in all.iter().zip(&holds).take(2) {
        assert_eq!((&one["agrees"], one["failure"].is_null()), (&Value::Bool(true), true));
        let needed = (4.0 * 2.0 / (holds * 0.7) - 1e-9).ceil();
        assert_eq!(one["need"]["drives"].as_f64(), Some(needed), "{one}");
        assert!(one["broke"].as_str().unwrap().contains("bound"), "{one}");
        // 198080 KiB/s on 894 GiB, within the tolerance of a fit.
        let day = one["drive_writes_a_day"].as_f64().unwrap();
        assert!((day / (198_080.0 * 1024.0 * 86_400.0 / (894u64 << 30) as f64) - 1.0).abs() < 0.03, "{day}");
    }
    assert!(all[2]["fit"].as_str().unwrap().contains("does not carry") && all[2]["need"].is_null(), "{size}");
    let page = fs::read_to_string(place.path("size/size.html")).unwrap();
    assert!(
        page.contains("sim:flash?iops=40000") && page.matches("<svg").count() >= 2 && !page.contains("<script"),
        "{page}"
    );
    for one in all {
        let dir = place.path("size").join(one["directory"].as_str().unwrap());
        assert!(dir.join("fit/fit.json").exists() && dir.join("limit/limit.html").exists());
    }
    // The same command continues with what is there, and shows it as text.
    let again = place.assay(&[&line[..], &["--resume", "size"]].concat());
    assert_eq!(again.code, Some(0), "{}", told(&again));
    assert!(again.out.contains("Fewest drives:") && again.out.contains("none"), "{}", again.out);
    assert!(!again.err.contains("run 1:"), "nothing is run again: {}", again.err);
    let none = place.assay(&["size", &profile, "sim:disk", "--for", "2s", "--slice", "1s", "--fit-for", "2s"]);
    assert_eq!(none.code, Some(10), "{}", told(&none));
}

#[test]
fn a_sizing_that_was_killed_goes_on_where_it_was() {
    let place = Place::new();
    place.write("small.toml", SMALL);
    let targets = ["sim:flash", "sim:flash?iops=40000"];
    let lengths = ["--for", "20min", "--fit-for", "2s", "--to", "2x", "--seed", "5"];
    let line = [&["size", "small.toml"], &targets[..], &lengths].concat();
    let mut running = place.begin(&[&line[..], &["--out", "size"]].concat());
    let kept = |file: &str| -> Option<Value> {
        serde_json::from_str(&fs::read_to_string(place.path("size").join(file)).ok()?).ok()
    };
    until("the first run of the search", || {
        assert!(running.is_alive(), "it ended before it was asked to");
        kept("01-sim-flash/limit/limit.json").is_some_and(|path| !path["runs"].as_array().unwrap().is_empty())
    });
    running.signal(libc::SIGKILL);
    running.end();
    let before = kept("01-sim-flash/limit/limit.json").unwrap();
    let said = place.assay(&[&line[..], &["--resume", "size", "--json"]].concat());
    assert_eq!(said.code, Some(0), "{}", told(&said));
    let after = kept("01-sim-flash/limit/limit.json").unwrap();
    assert_eq!(after["runs"][0], before["runs"][0]);
    assert_eq!(said.json()["candidates"].as_array().unwrap().len(), 2);
}
