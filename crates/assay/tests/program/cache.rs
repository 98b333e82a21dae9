//! A cache device before the targets as a user meets it. It begins empty and keeps its content from run to run, but the
//! content is never used where it could be stale: after a kill at any moment, after somebody wrote to the targets, or
//! for other storage.

use super::bed::Place;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::FileExt;
use std::process::Command;
use std::time::Duration;

const FILES: [(&str, &str); 4] = [("file1", "45MiB"), ("file2", "45MiB"), ("file3", "10MiB"), ("ssd", "10MiB")];

fn files(place: &Place) {
    for (file, size) in FILES {
        let made = Command::new("fallocate").args(["-l", size, file]).current_dir(place.path(".")).status().unwrap();
        assert!(made.success());
    }
}

/// The command line of a run with a cache, with more arguments.
fn run<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let usual = ["run", "oltp", "file1", "file2", "file3", "--cache", "ssd", "--load", "4x", "--warm-up", "0s"];
    [&usual[..], more].concat()
}

fn cache(place: &Place, dir: &str) -> Value {
    let text = fs::read_to_string(place.path(dir).join("verdict.json")).unwrap();
    serde_json::from_str::<Value>(&text).unwrap()["cache"].clone()
}

/// Asserts that every block that the metadata say is in the cache holds what its target holds. Returns how many blocks
/// there are; `None` if the metadata say that the cache is in use.
fn compared(place: &Place) -> Option<usize> {
    let bytes = fs::read(place.path("ssd.index")).ok()?;
    if bytes == b"in use\n" {
        return None;
    }
    let line = bytes.iter().position(|byte| *byte == b'\n').unwrap();
    let head: Value = serde_json::from_slice(&bytes[..line]).unwrap();
    let slots = (head["segment_blocks"].as_u64().unwrap() * head["segments"].as_u64().unwrap()) as usize;
    let words: Vec<u64> =
        bytes[line + 1..].chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect();
    let targets = ["file1", "file2"].map(|name| fs::read(place.path(name)).unwrap());
    let ssd = fs::read(place.path("ssd")).unwrap();
    let mut count = 0;
    for (slot, word) in words[1..=slots].iter().enumerate().filter(|(_, word)| **word != u64::MAX) {
        let block = word & !(1 << 63);
        let (target, number) = ((block >> 47) as usize, (block & ((1 << 47) - 1)) as usize);
        let (cached, stored) = (&ssd[slot * 4096..][..4096], &targets[target][number * 4096..][..4096]);
        assert!(cached == stored, "slot {slot} of the cache is not block {number} of target {target}");
        count += 1;
    }
    Some(count)
}

#[test]
fn a_cache_goes_on_where_it_ended_and_is_what_its_targets_hold() {
    let place = Place::new();
    files(&place);
    assert_eq!(place.assay(&["prep", "file1", "file2", "file3"]).code, Some(0));
    let first = place.assay(&run(&["--for", "3s", "--slice", "1s", "--verify", "--out", "one"]));
    assert!(first.out.contains("of 4") || first.out.contains("blocks read were in it"), "{}{}", first.out, first.err);
    let one = cache(&place, "one");
    assert_eq!((one["head"]["loaded"].as_bool(), one["head"]["device"]["name"].as_str()), (Some(false), Some("ssd")));
    let blocks = compared(&place).expect("it ended well");
    assert!(blocks > 200, "{blocks} blocks");
    let html = fs::read_to_string(place.path("one/report.html")).unwrap();
    assert!(html.contains("Table of the cache"), "the report shows it");
    let second = place.assay(&run(&["--for", "3s", "--slice", "1s", "--verify", "--out", "two"]));
    let two = cache(&place, "two");
    assert_eq!((two["head"]["loaded"].as_bool(), two["head"]["blocks"].as_u64()), (Some(true), Some(blocks as u64)));
    assert!(two["read_hits"].as_u64() > two["ram_hits"].as_u64(), "what is not in memory is read from it: {two}");
    assert!(compared(&place).is_some_and(|more| more > blocks), "{}", second.err);
    for dir in ["one", "two"] {
        let text = fs::read_to_string(place.path(dir).join("verdict.json")).unwrap();
        let verdict: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(verdict["integrity"]["damaged"].as_u64(), Some(0), "{dir}");
    }
    // A run without the cache writes to the targets behind the cache's back.
    let without = ["run", "oltp", "file1", "file2", "file3", "--for", "1s", "--slice", "1s", "--warm-up", "0s"];
    place.assay(&without);
    let third = place.assay(&run(&["--for", "1s", "--slice", "1s", "--out", "three"]));
    assert!(third.err.contains("begins empty: it cannot be shown that nothing was written to file1"), "{}", third.err);
    assert_eq!(cache(&place, "three")["head"]["loaded"].as_bool(), Some(false));
    // Somebody else does the same to a target or to the cache's own device, and sets the time of modification back.
    for (name, dir) in [("file2", "four"), ("ssd", "five")] {
        let file = fs::File::options().write(true).open(place.path(name)).unwrap();
        let modified = file.metadata().unwrap().modified().unwrap();
        file.write_all_at(&[7; 4096], 1 << 20).unwrap();
        file.set_modified(modified).unwrap();
        drop(file);
        let said = place.assay(&run(&["--for", "1s", "--slice", "1s", "--out", dir]));
        let says = format!("begins empty: it cannot be shown that nothing was written to {name}");
        assert!(said.err.contains(&says), "{name}: {}", said.err);
        assert_eq!(cache(&place, dir)["head"]["loaded"].as_bool(), Some(false), "{name}");
    }
}

#[test]
fn after_a_kill_at_any_moment_a_cache_is_empty_or_right() {
    let kills = std::env::var("ASSAY_CAMPAIGN").map_or(12, |_| 1000);
    let place = Place::new();
    files(&place);
    assert_eq!(place.assay(&["prep", "file1", "file2", "file3"]).code, Some(0));
    let mut empty = 0;
    for kill in 0..kills {
        let dir = format!("run-{kill}");
        let mut child = place.command(&run(&["--for", "1s", "--slice", "1s", "--out", &dir])).spawn().unwrap();
        // The kill comes at any time, from before the cache is opened until after its metadata are stored.
        std::thread::sleep(Duration::from_millis(30 + (kill * 997) % 2400));
        let _ = child.kill();
        child.wait().unwrap();
        empty += u32::from(compared(&place).is_none());
        let _ = fs::remove_dir_all(place.path(&dir));
    }
    assert!(empty > 0, "some kills hit a run");
    let last = place.assay(&run(&["--for", "1s", "--slice", "1s", "--verify", "--out", "last"]));
    assert!(last.code.is_some_and(|code| [0, 10, 11].contains(&code)), "{}", last.err);
    assert!(compared(&place).is_some(), "a run that ends by itself keeps its cache");
}

#[test]
fn what_is_no_cache_of_this_storage_is_refused() {
    let place = Place::new();
    files(&place);
    assert_eq!(place.assay(&["prep", "file1", "file2", "file3"]).code, Some(0));
    let short = ["--for", "1s", "--slice", "1s"];
    place.assay(&run(&short));
    let kept = fs::read(place.path("ssd.index")).unwrap();
    let refused = |args: &[&str], code: i32, words: &str| {
        let said = place.assay(args);
        assert!(said.code == Some(code) && said.err.contains(words), "{args:?}: {:?} {}", said.code, said.err);
        assert_eq!(fs::read(place.path("ssd.index")).unwrap(), kept, "{args:?}");
    };
    refused(&run(&[&short[..], &["--cache-size", "4MiB"]].concat()), 2, "belongs to a cache of 9961472 bytes");
    refused(&run(&[&short[..], &["--cache-size", "1GiB"]].concat()), 2, "a cache of 1 GiB was asked for");
    refused(&run(&[&short[..], &["--cache-size", "1MiB"]].concat()), 2, "too few for a cache");
    refused(&run(&[&short[..], &["--workers", "2"]].concat()), 2, "one worker");
    refused(
        &["run", "oltp", "file2", "file1", "file3", "--cache", "ssd"],
        2,
        "belongs to another cache or to other storage",
    );
    refused(&["run", "oltp", "file1", "file2", "file3", "--cache", "file1"], 4, "the same target");
    refused(&["run", "oltp", "file1", "file2", "file3", "--cache", "sim:flash"], 2, "cannot be mixed");
    refused(&["run", "oltp", "file1", "file2", "file3", "--cache-size", "1GiB"], 2, "there is none");
    fs::write(place.path("theirs"), vec![7; 10 << 20]).unwrap();
    refused(&["run", "oltp", "file1", "file2", "file3", "--cache", "theirs"], 4, "it holds data");
    assert!(fs::read(place.path("theirs")).unwrap().iter().all(|byte| *byte == 7));
    let damaged: Vec<u8> = kept.iter().map(|byte| byte ^ 1).collect();
    fs::write(place.path("other.index"), &damaged).unwrap();
    let metadata = ["--cache-metadata", "other.index"];
    refused(&run(&[&short[..], &metadata].concat()), 2, "damaged");
    fs::remove_file(place.path("other.index")).unwrap();
    std::os::unix::fs::symlink(place.path("theirs"), place.path("other.index")).unwrap();
    refused(&run(&[&short[..], &metadata].concat()), 2, "other.index");
    for (keys, words) in [
        ("path = \"ssd\"\npolicy = \"lru\"", "make room by CLOCK"),
        ("path = \"ssd\"\nwrites = \"back\"", "writes go through"),
        ("path = \"ssd\"\nwarm = 5", "about simulated caches"),
        ("path = \"\"", "names no file"),
        ("metadata = \"x\"\nsize = \"1GiB\"", "a cache that has a path"),
        ("block = \"4KiB\"", "has a size"),
    ] {
        place.write("w.toml", &format!("model = \"oltp\"\n[cache]\n{keys}\n"));
        let said = place.assay(&["explain", "w.toml"]);
        assert!(said.code == Some(3) && said.err.contains(words) && said.err.contains('^'), "{keys}: {}", said.err);
    }
}

/// Three disks, which together carry about 200 operations a second, with and without a cache of flash before them.
#[test]
fn a_simulated_cache_device_answers_what_the_disk_need_not() {
    let place = Place::new();
    let disks = ["run", "oltp", "sim:disk", "sim:disk", "sim:disk", "--load", "1x", "--for", "300s", "--slice", "300s"];
    let means = [&["--cache", "sim:flash"][..], &["--cache", "none"]].map(|cache| {
        let said = place.assay(&[&disks[..], cache, &["--warm-up", "3000s", "--json"]].concat());
        let verdict = said.json();
        let mean = verdict["together"]["response"]["mean_ns"].as_f64().unwrap();
        (mean, verdict["cache"]["read_hit_rate"].as_f64())
    });
    assert!(means[0].0 < means[1].0 && means[0].1.is_some_and(|rate| rate > 0.005), "{means:?}");
    assert_eq!(means[1].1, None);
}

/// A run or a search with a cache continues only with that cache, because two systems must not be judged as one.
#[test]
fn what_is_continued_has_the_cache_that_it_began_with() {
    let place = Place::new();
    let load = ["oltp", "sim:flash", "sim:flash", "sim:flash", "--for", "20s", "--slice", "5s", "--warm-up", "0s"];
    let with = ["--cache", "sim:flash"];
    let others: [&[&str]; 4] =
        [&[], &["--cache", "none"], &["--cache", "sim:disk"], &["--cache", "sim:flash", "--cache-size", "1GiB"]];
    for (began, others) in [(&with[..], &others[..]), (&[], &[&with[..]])] {
        let args = [&["run"], &load[..], began].concat();
        assert_eq!(place.assay(&[&args[..], &["--out", "run"]].concat()).code, Some(0));
        let log = place.path("run/run.jsonl");
        let text = fs::read_to_string(&log).unwrap();
        let cut = text.match_indices("\"kind\":\"interval\"").nth(9).unwrap().0;
        fs::write(&log, &text[..cut]).unwrap();
        for other in others {
            let said = place.assay(&[&["run"], &load[..], other, &["--resume", "run"]].concat());
            assert!(
                said.code == Some(2) && said.err.contains("holds another run"),
                "{began:?} {other:?}: {}",
                said.err
            );
            assert_eq!(fs::read_to_string(&log).unwrap().len(), cut, "{other:?}");
        }
        let said = place.assay(&[&args[..], &["--resume", "run"]].concat());
        assert_eq!(said.code, Some(0), "{began:?}: {}{}", said.out, said.err);
        fs::remove_dir_all(place.path("run")).unwrap();
    }
    let limit = [&["limit"], &load[..], &["--from", "10x", "--to", "20x", "--resolution", "10x"]].concat();
    assert_eq!(place.assay(&[&limit[..], &with, &["--out", "limit"]].concat()).code, Some(0));
    let said = place.assay(&[&limit[..], &["--resume", "limit"]].concat());
    assert!(said.code == Some(2) && said.err.contains("cannot be continued"), "{}", said.err);
}

/// How much more do the targets carry with a cache? One command draws both curves in one picture, and keeps what was
/// measured if a part is missing.
#[test]
fn a_curve_with_the_cache_has_the_one_without_it_beside_it() {
    let place = Place::new();
    files(&place);
    assert_eq!(place.assay(&["prep", "file1", "file2", "file3"]).code, Some(0));
    let curve = ["curve", "oltp", "file1", "file2", "file3", "--max", "4x", "--points", "50%,100%", "--for", "2s"];
    let usual = ["--slice", "1s", "--warm-up", "0s", "--beside", "none", "--json"];
    let with = [&curve[..], &usual, &["--cache", "ssd"]].concat();
    let shown = |more: &[&str]| {
        let said = place.assay(&[&with[..], more].concat());
        // The disk below is a real one and shared: without the cache it may be too slow.
        assert!(matches!(said.code, Some(0 | 1 | 11)), "{}{}", said.out, said.err);
        said.json()
    };
    let first = shown(&["--out", "curve"]);
    assert_eq!(first["cache"], "ssd", "{first}");
    let beside = &first["beside"];
    for at in [0, 1] {
        assert!(first["points"][at]["hit_rate"].is_number() && beside["points"][at]["hit_rate"].is_null(), "{first}");
        assert_eq!(first["points"][at]["load"], beside["points"][at]["load"]);
    }
    let page = fs::read_to_string(place.path("curve/curve.html")).unwrap();
    // Where the machine was late, the points are those of a second run, `ramp-2`.
    assert!(page.contains("\"beside/ramp") && page.contains("/report.html"), "{page}");
    // What proves nothing, because the machine was late, is not drawn.
    let proven = |curve: &serde_json::Value| {
        curve["points"].as_array().unwrap().iter().any(|point| point["verdict"] != "INVALID")
    };
    for (curve, said) in [(&first, "mean with the cache ssd"), (beside, "mean without the cache")] {
        assert!(!proven(curve) || page.contains(said), "{said}: {page}");
    }
    // If only the second curve is missing, only that curve is measured.
    let runs = |dir: &str| fs::read_dir(place.path(dir)).unwrap().count();
    let before = (runs("curve"), fs::read(place.path("curve/ramp/run.jsonl")).unwrap());
    fs::remove_dir_all(place.path("curve/beside")).unwrap();
    let again = shown(&["--resume", "curve"]);
    assert_eq!((runs("curve"), fs::read(place.path("curve/ramp/run.jsonl")).unwrap()), before);
    assert_eq!((&again["points"], again["beside"]["points"].as_array().unwrap().len()), (&first["points"], 2));
    let said = place.assay(&[&curve[..], &usual].concat());
    assert!(said.code == Some(2) && said.err.contains("give one with --cache PATH"), "{}", said.err);
}

/// The share of reads that the cache of a run answered, and the one that `cache-curve` says for a cache of that size, at
/// the same load, with the same seed and number of operations. Both begin with an empty cache.
fn hits_of_run_and_curve(place: &Place, targets: &[&str], cache: &str, size: &str) -> [f64; 2] {
    let load = [&["oltp"], targets, &["--load", "60x", "--seed", "7", "--json"]].concat();
    let of_run = ["--cache", cache, "--cache-size", size, "--warm-up", "0s", "--for", "5s", "--slice", "5s"];
    let run = place.assay(&[&["run"], &load[..], &of_run].concat());
    let verdict = run.json();
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{}{}", run.out, run.err));
    let operations: f64 = verdict["streams"].as_array().unwrap().iter().map(|it| number(&it["operations"])).sum();
    let counted = &verdict["cache"];
    let count = format!("{operations:.0}");
    let of_curve = ["--policy", "log", "--operations", &count];
    let curve = place.assay(&[&["cache-curve"], &load[..], &of_curve].concat()).json();
    // What was under way at the end of the run makes the difference.
    let (taken, expected) = (number(&counted["reads"]), curve["read_blocks"].as_f64().unwrap());
    assert!((taken - expected).abs() < 0.01 * expected, "{size}: {taken} blocks read, {expected} on the curve");
    let bypassed = curve["bypassed"].as_f64().unwrap() / operations;
    assert!((bypassed - 0.281).abs() < 0.02, "{size}: {bypassed} of the operations are on the log");
    let bytes = size.strip_suffix("MiB").unwrap().parse::<u64>().unwrap() << 20;
    let points = curve["points"].as_array().unwrap();
    let point = points.iter().find(|point| point["bytes"] == bytes).unwrap_or_else(|| panic!("{size}: {curve}"));
    [number(&counted["read_hits"]) / taken, point["hits"].as_f64().unwrap()]
}

/// On files, and on targets in memory that answer at once.
#[test]
fn the_curve_of_a_cache_says_what_the_cache_of_a_run_answers() {
    let place = Place::new();
    files(&place);
    let made = Command::new("fallocate").args(["-l", "40MiB", "large"]).current_dir(place.path(".")).status().unwrap();
    assert!(made.success());
    assert_eq!(place.assay(&["prep", "file1", "file2", "file3"]).code, Some(0));
    for (targets, cache) in
        [(["file1", "file2", "file3"], "large"), (["null:45MiB", "null:45MiB", "null:10MiB"], "null:40MiB")]
    {
        let mut all = Vec::new();
        for size in ["8MiB", "16MiB", "32MiB"] {
            let _ = fs::remove_file(place.path("large.index"));
            let [run, curve] = hits_of_run_and_curve(&place, &targets, cache, size);
            assert!((run - curve).abs() < 0.01, "{cache}, {size}: {run} in the run, {curve} on the curve");
            all.push(curve);
        }
        assert!(all[0] + 0.05 < all[1] && all[1] < all[2], "the sizes differ: {all:?}");
    }
}
