//! `assay curve` as a user calls it: simulated with identical bytes, on a file, on a loop device behind the same gate
//! as everything that writes, interrupted and continued.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test, of the program from outside")]

#[path = "../../assay-device/tests/safety_common/losetup.rs"]
mod losetup;

use serde_json::Value;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn command(dir: &Path, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    command.args(line.split(' ')).current_dir(dir).env("XDG_STATE_HOME", dir.join("state"));
    command
}

fn assay(dir: &Path, line: &str) -> Output {
    command(dir, line).output().unwrap()
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.as_slice(), &output.stderr].concat()).into_owned()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", told(output)))
}

fn place() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

const SIMULATED: &str = "curve act-storage sim:flash --max 130x --for 5s --slice 5s --json";

#[test]
fn a_simulated_curve_is_the_same_to_the_byte_and_what_it_was() {
    let dir = place();
    let first = assay(dir.path(), &format!("{SIMULATED} --out a"));
    let second = assay(dir.path(), &format!("{SIMULATED} --out b"));
    assert_eq!(first.status.code(), Some(10), "the simulated drive does not hold 130x: {}", told(&first));
    assert_eq!(first.stdout, second.stdout);
    for kept in ["curve.json", "curve.html", "01-13x/run.jsonl", "06-130x/run.jsonl", "06-130x/report.html"] {
        let read = |run: &str| std::fs::read(dir.path().join(run).join(kept)).unwrap();
        assert!(read("a") == read("b") && !read("a").is_empty(), "{kept}");
    }
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/expected/curve.json");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&golden, &first.stdout).unwrap();
    }
    let golden: Value = serde_json::from_slice(&std::fs::read(&golden).unwrap()).unwrap();
    assert_eq!(figures(json(&first)), figures(golden), "to take the new curve for right: BLESS=1");
}

/// A curve without its sentences, whose wording may change.
fn figures(mut curve: Value) -> Value {
    for point in curve["points"].as_array_mut().unwrap() {
        point.as_object_mut().unwrap().remove("reason");
    }
    curve
}

#[test]
fn the_maximum_is_searched_for_as_limit_does_and_the_page_has_its_points() {
    let dir = place();
    let search = "--from 40x --resolution 5x --for 5s --slice 5s --json";
    let limit = json(&assay(dir.path(), &format!("limit act-storage sim:flash {search} --out limit")));
    let output = assay(dir.path(), &format!("curve act-storage sim:flash {search} --points 50%,100%,90% --out curve"));
    let curve = json(&output);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    assert_eq!(curve["maximum"], limit["outcome"]["between"]["passes"]);
    assert_eq!(curve["asked"], serde_json::json!(["50%", "90%", "100%"]));
    assert!(dir.path().join("curve/maximum/limit.html").exists(), "its page points to it");
    let path = std::fs::read(dir.path().join("curve/maximum/limit.json")).unwrap();
    let path: Value = serde_json::from_slice(&path).unwrap();
    assert_eq!(path["outcome"], limit["outcome"]);
    // Every figure is computed from the log of its point alone.
    for point in curve["points"].as_array().unwrap() {
        let run = format!("curve/{}", point["directory"].as_str().unwrap());
        let judged = json(&assay(dir.path(), &format!("judge {run} --json")));
        let reads = judged["streams"].as_array().unwrap().iter().find(|stream| stream["name"] == "reads").unwrap();
        for figure in ["mean_ns", "p50_ns", "p99_ns"] {
            assert_eq!(point[figure], reads["response"][figure], "{run} {figure}");
        }
        assert_eq!(point["rate_achieved"], reads["rate_achieved"]);
    }
    let again = assay(dir.path(), &format!("curve act-storage sim:flash {search} --out curve"));
    assert_eq!(again.status.code(), Some(2), "a directory is never overwritten: {}", told(&again));
}

#[test]
fn a_maximum_as_a_rate_and_what_is_refused() {
    let dir = place();
    let line = "curve act-storage sim:flash sim:flash?seed=2 --max 80000/s --points 50% --for 2s --slice 2s --json";
    let curve = json(&assay(dir.path(), line));
    // 2000/s on each of two targets is 1x.
    assert_eq!((&curve["maximum"], &curve["points"][0]["load"]), (&"20x".into(), &"10x".into()));
    assert_eq!(curve["points"][0]["rate_asked"], 40_000.0);
    let closed =
        "model = \"streams\"\n[[stream]]\nname = \"seeks\"\ndirection = \"read\"\nsize = \"4KiB\"\nin_flight = 1\n";
    std::fs::write(dir.path().join("closed.toml"), closed).unwrap();
    for (line, code, why) in [
        ("curve act-storage sim:flash --max 80", 2, "neither a multiple nor a rate"),
        ("curve act-storage sim:flash --max 0/s", 2, "neither a multiple nor a rate"),
        ("curve act-storage sim:flash --points 0%,50%", 2, "offers no load"),
        ("curve act-storage sim:flash --points 50", 2, "%"),
        ("curve act-storage sim:flash --max 10x --from 5x", 2, "cannot be used with"),
        ("curve act-storage sim:flash --stream none", 2, "there are: reads, large-block-reads"),
        ("curve act-storage", 2, "needs a target"),
        ("curve closed.toml null:1GiB --max 10x", 3, "closed loop"),
        ("curve none sim:flash", 3, "none"),
    ] {
        let output = assay(dir.path(), line);
        assert!(output.status.code() == Some(code) && told(&output).contains(why), "{line}: {}", told(&output));
    }
    assert!(!dir.path().join("assay-runs/curve-closed").exists());
}

#[test]
fn where_not_even_the_lowest_load_holds_there_is_no_curve_and_that_is_a_fail() {
    let dir = place();
    let line = "curve act-storage sim:disk --from 1x --for 5s --slice 5s --out none";
    let output = assay(dir.path(), line);
    assert!(output.status.code() == Some(10) && told(&output).contains("no maximum"), "{}", told(&output));
    let kept: Value = serde_json::from_slice(&std::fs::read(dir.path().join("none/curve.json")).unwrap()).unwrap();
    assert!(kept["maximum"].is_null() && kept["points"].as_array().unwrap().is_empty());
}

#[test]
fn cut_short_it_is_incomplete_and_goes_on_with_what_is_missing() {
    let dir = place();
    std::fs::write(dir.path().join("scratch.toml"), WORKLOAD).unwrap();
    let line = "curve scratch.toml null:1GiB --max 2x --points 50%,100% --for 2s --slice 1s --seed 1";
    let mut child = command(dir.path(), &format!("{line} --out run"));
    let child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let log = dir.path().join("run/02-2x/run.jsonl");
    // Two lines: the header and the first interval of the second point.
    while std::fs::read_to_string(&log).map_or(0, |text| text.lines().count()) < 2 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let _ = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    let cut = child.wait_with_output().unwrap();
    assert!(cut.status.code() == Some(12) && told(&cut).contains("--resume run"), "{}", told(&cut));
    let out = String::from_utf8_lossy(&cut.stdout).into_owned();
    assert!(out.contains("INCOMPLETE: not measured to the end: 100%"), "{out}");
    let other = assay(dir.path(), &line.replace("50%", "40%").replace("--seed 1", "--resume run"));
    assert!(other.status.code() == Some(2) && told(&other).contains("cannot be continued"), "{}", told(&other));
    // A point is measured twice if the machine stands still.
    let directories = |curve: &Value| -> Vec<String> {
        let points = curve["points"].as_array().unwrap().iter();
        points.map(|point| point["directory"].as_str().unwrap().to_owned()).collect()
    };
    let kept: Value = serde_json::from_slice(&std::fs::read(dir.path().join("run/curve.json")).unwrap()).unwrap();
    let first = directories(&kept)[0].clone();
    let log = || std::fs::read(dir.path().join("run").join(&first).join("run.jsonl")).unwrap();
    let before = log();
    let curve = json(&assay(dir.path(), &format!("{line} --resume run --json")));
    let after = directories(&curve);
    assert!(after.len() == 2 && after[0] == first && first.starts_with("01-1x"), "{curve}");
    assert!(after[1].starts_with("02-2x-"), "not what was cut: {curve}");
    assert_eq!(log(), before, "the first point stands");
}

const WORKLOAD: &str = r#"
model = "streams"
[[stream]]
name = "writes"
direction = "write"
size = "4KiB"
rate = "200/s"
[[criterion]]
stream = "writes"
share_over = "1s"
at_most = "50%"
"#;

#[test]
fn a_file_and_a_loop_device_pass_the_same_gate() {
    let dir = place();
    std::fs::write(dir.path().join("small.toml"), WORKLOAD).unwrap();
    let rest = "--max 2x --points 50%,100% --for 1s --slice 1s --json";
    std::fs::write(dir.path().join("precious"), vec![7u8; 1 << 20]).unwrap();
    let refused = assay(dir.path(), &format!("curve small.toml precious {rest}"));
    assert_eq!(refused.status.code(), Some(4), "somebody's file: {}", told(&refused));
    assert_eq!(std::fs::read(dir.path().join("precious")).unwrap(), vec![7u8; 1 << 20]);
    measured(&assay(dir.path(), &format!("curve small.toml scratch --create 64MiB {rest}")));

    let image = dir.path().join("image");
    std::fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
    let device = match losetup::attach(&image, &[]) {
        Ok(device) => device,
        Err(why) => {
            let _ = writeln!(std::io::stderr(), "skipped: {why}");
            return;
        }
    };
    struct Detach(String);
    impl Drop for Detach {
        fn drop(&mut self) {
            let _ = Command::new("losetup").args(["-d", &self.0]).status();
        }
    }
    let device = Detach(device);
    let refused = assay(dir.path(), &format!("curve small.toml {} {rest}", device.0));
    assert_eq!(refused.status.code(), Some(4), "without consent: {}", told(&refused));
    let mut head = vec![0u8; 1 << 20];
    std::fs::File::open(&image).unwrap().read_exact_at(&mut head, 0).unwrap();
    assert!(head.iter().all(|byte| *byte == 0), "nothing was written");
    let all = json(&assay(dir.path(), &format!("devices {} --json", device.0)));
    let token = all[0]["token"].as_str().unwrap();
    measured(&assay(dir.path(), &format!("curve small.toml {} --destroy-data {token} {rest}", device.0)));
}

/// Asserts that there are two points, each from a run that was judged. Their verdicts are not asserted, because the
/// machine may be busy.
fn measured(output: &Output) {
    let curve = json(output);
    let points = curve["points"].as_array().unwrap();
    assert_eq!(points.len(), 2, "{}", told(output));
    for (point, asked) in points.iter().zip([200.0, 400.0]) {
        assert!(point["rate_asked"] == asked && point["mean_ns"].as_u64().unwrap() > 0, "{point}");
    }
    assert!([0, 10, 11].contains(&output.status.code().unwrap()), "{}", told(output));
}

/// Loads for which the share that a cache answers can be computed by hand; then what is refused.
#[test]
fn a_cache_curve_says_what_each_size_answers() {
    let dir = place();
    let stream = |keys: &str| {
        let file = format!(
            "model = \"streams\"\n[[stream]]\nname = \"reads\"\ndirection = \"read\"\nsize = \"4KiB\"\n{keys}\n"
        );
        std::fs::write(dir.path().join("w.toml"), file).unwrap();
    };
    // The reads go round and round over 64 blocks: a smaller cache answers none of them, a cache of 64 blocks all
    // except those of the first round.
    stream("in_flight = 1\naddress = \"sequential\"");
    for policy in ["lru", "fifo", "clock"] {
        let line = format!("cache-curve w.toml null:256KiB --operations 640 --policy {policy} --json --html c.html");
        let out = assay(dir.path(), &line);
        let curve = json(&out);
        let points: Vec<(u64, f64)> = curve["points"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| (it["bytes"].as_u64().unwrap(), it["hits"].as_f64().unwrap()))
            .collect();
        assert_eq!(*points.last().unwrap(), (256 << 10, 0.9), "{policy}");
        assert!(
            points.len() > 2 && points[..points.len() - 1].iter().all(|(_, hits)| *hits == 0.0),
            "{policy}: {points:?}"
        );
        assert_eq!(
            (&curve["cold"], &curve["different_blocks"], &curve["one_of"]),
            (&0.1.into(), &64.into(), &1.into())
        );
        let page = std::fs::read_to_string(dir.path().join("c.html")).unwrap();
        assert!(page.contains("<svg") && page.contains("90.0%"), "{page}");
    }
    let text = told(&assay(dir.path(), "cache-curve w.toml null:256KiB --operations 640"));
    assert!(text.contains("256 KiB     90.0%") && text.contains("10.0% of the reads are the first access"), "{text}");
    // The same block number on two targets is two blocks.
    let two = json(&assay(dir.path(), "cache-curve w.toml null:256KiB null:256KiB --operations 640 --json"));
    assert_eq!(two["different_blocks"], 128);
    // With `--writes around`, a write brings no block into the cache.
    let file = std::fs::read_to_string(dir.path().join("w.toml")).unwrap().replace("\"read\"", "\"write\"");
    std::fs::write(dir.path().join("writes.toml"), file).unwrap();
    let around =
        json(&assay(dir.path(), "cache-curve writes.toml null:256KiB --operations 640 --writes around --json"));
    assert_eq!((&around["written_blocks"], &around["different_blocks"]), (&640.into(), &0.into()));
    for (line, code, says) in [
        ("cache-curve w.toml", 2, "TARGETS"),
        ("cache-curve w.toml null:256KiB --block 5000B", 2, "power of two"),
        ("cache-curve w.toml null:256KiB --operations 0", 2, "at least 1"),
        ("cache-curve w.toml null:256KiB --policy best", 2, "lru, fifo, clock or log"),
        ("cache-curve nothing.toml null:256KiB", 3, "cannot be read"),
        ("cache-curve w.toml /nowhere/at/all", 2, "cannot be examined"),
        ("cache-curve w.toml null:256KiB --html /nowhere/c.html", 5, "cannot be written"),
    ] {
        let out = assay(dir.path(), line);
        assert!(told(&out).contains(says), "{line}: {}", told(&out));
        assert_eq!(out.status.code(), Some(code), "{line}: {out:?}");
    }
}
