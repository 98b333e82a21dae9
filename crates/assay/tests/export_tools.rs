//! Exports read by the tools that they are made for: fio-plot draws `fio-json`, and HdrHistogram's own reader for
//! Python sums the interval log; its sums must agree with the judgement. Both tools come from PyPI into an environment
//! of their own; where that is not possible, the test says so and leaves them out.
#![allow(clippy::disallowed_methods, reason = "a test makes files of its own")]
#![allow(clippy::unwrap_used, clippy::disallowed_macros, reason = "a test, which must say what it skipped")]

use crate::losetup;
use crate::pypi::tools;

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn assay(dir: &Path, line: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_assay")).args(line.split(' ')).current_dir(dir).output().unwrap()
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.as_slice(), &output.stderr].concat()).into_owned()
}

#[test]
fn fio_plot_draws_the_export() {
    let Some(bin) = tools(&["fio-plot"]) else { return };
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let dir = dir.path();
    let workload = |depth: u32| {
        format!(
            "model = \"streams\"\nname = \"reads\"\nin_flight_bound = {depth}\n[[stream]]\nname = \"reads\"\ndirection = \"read\"\n\
             size = \"4KiB\"\nin_flight = {depth}\n"
        )
    };
    for target in ["flash", "disk"] {
        std::fs::create_dir(dir.join(target)).unwrap();
        for depth in [1, 2, 4] {
            std::fs::write(dir.join("w.toml"), workload(depth)).unwrap();
            let run = assay(dir, &format!("run w.toml sim:{target} --for 5s --slice 5s --out run-{target}-{depth}"));
            assert_eq!(run.status.code(), Some(0), "{}", told(&run));
            let export = assay(dir, &format!("export run-{target}-{depth} --to fio-json"));
            std::fs::write(dir.join(target).join(format!("randread-{depth}-1.json")), &export.stdout).unwrap();
        }
    }
    for (name, arguments) in [
        ("bars", "-i flash -l -d 1 2 4 -n 1"),
        ("latency-histogram", "-i flash -H -d 4 -n 1"),
        ("jobs", "-i flash -N -d 4 -n 1"),
        ("surface", "-i flash -L -t lat -d 1 2 4 -n 1"),
        ("comparison", "-i flash disk -C -d 4 -n 1"),
    ] {
        let picture = dir.join(format!("{name}.png"));
        let output = Command::new(bin.join("fio-plot"))
            .args(arguments.split(' '))
            .args(["-T", name, "-r", "randread", "-o"])
            .arg(&picture)
            .current_dir(dir)
            .env("MPLCONFIGDIR", dir)
            .output()
            .unwrap();
        let drawn = std::fs::read(&picture).unwrap_or_default();
        assert!(drawn.starts_with(b"\x89PNG") && drawn.len() > 20_000, "{name}: {}", told(&output));
    }
}

/// A loop device over a file, removed at the end; `None`, with a message, where there can be none.
struct LoopDevice(String);

impl LoopDevice {
    fn new(file: &Path) -> Option<LoopDevice> {
        std::fs::File::create(file).and_then(|made| made.set_len(64 << 20)).unwrap();
        let attached = losetup::attach(file, &["--direct-io=on"]);
        attached.map_err(|why| eprintln!("skipped: {why}")).ok().map(LoopDevice)
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        // Another program, such as udev, may still use it for a moment.
        for _ in 0..100 {
            let removed = Command::new("losetup").args(["-d", &self.0]).output();
            if removed.is_ok_and(|removed| removed.status.success()) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    }
}

/// What a job of fio did on a file and on a device. Its options are numbers and words of fio's, which fio-plot reads.
#[test]
fn fio_plot_draws_what_a_job_did_on_a_file_and_on_a_device() {
    let Some(bin) = tools(&["fio-plot"]) else { return };
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let dir = dir.path();
    let device = LoopDevice::new(&dir.join("backing"));
    let consent = device.as_ref().map(|device| {
        let shown = assay(dir, &format!("devices --json {}", device.0));
        let shown: Value = serde_json::from_slice(&shown.stdout).unwrap_or_else(|_| panic!("{}", told(&shown)));
        format!("--map data.img={} --destroy-data {}", device.0, shown[0]["token"].as_str().unwrap())
    });
    let places = [("file", Some("--create 64MiB".to_owned())), ("device", consent)];
    for (kind, options) in places.iter().filter_map(|(kind, options)| Some((kind, options.as_ref()?))) {
        std::fs::create_dir(dir.join(kind)).unwrap();
        for depth in [1, 2, 4] {
            let job = format!(
                "[a]\ndirect=1\nioengine=libaio\nrw=write\nbs=64k\niodepth={depth}\nnumjobs=1\nfilename=data.img\nsize=64m\n\
                 time_based\nruntime=2\n"
            );
            std::fs::write(dir.join("job.fio"), job).unwrap();
            let out = format!("run-{kind}-{depth}");
            let run = assay(dir, &format!("run job.fio {options} --out {out}"));
            assert!(matches!(run.status.code(), Some(0 | 11)), "{}", told(&run));
            let export = assay(dir, &format!("export {out} --to fio-json"));
            let json: Value = serde_json::from_slice(&export.stdout).unwrap();
            let asked = &json["jobs"][0]["job options"];
            let found = ["rw", "iodepth", "numjobs"].map(|name| asked[name].as_str().unwrap().to_owned());
            assert_eq!(found, ["write".to_owned(), depth.to_string(), "1".to_owned()]);
            assert_eq!(json["jobs"].as_array().unwrap().len(), 1);
            std::fs::write(dir.join(kind).join(format!("write-{depth}-1.json")), &export.stdout).unwrap();
        }
        for (name, arguments) in [
            ("bars", "-l -d 1 2 4 -n 1"),
            ("latency-histogram", "-H -d 4 -n 1"),
            ("surface", "-L -t lat -d 1 2 4 -n 1"),
        ] {
            let picture = dir.join(format!("{kind}-{name}.png"));
            let output = Command::new(bin.join("fio-plot"))
                .args(["-i", kind])
                .args(arguments.split(' '))
                .args(["-T", name, "-r", "write", "-o"])
                .arg(&picture)
                .current_dir(dir)
                .env("MPLCONFIGDIR", dir)
                .output()
                .unwrap();
            let drawn = std::fs::read(&picture).unwrap_or_default();
            assert!(drawn.starts_with(b"\x89PNG") && drawn.len() > 20_000, "{kind} {name}: {}", told(&output));
        }
    }
}

/// Sums the log by tag: operations, and the 99th percentile in nanoseconds.
const READ: &str = r#"
import json, math, sys
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
sums = {}
reader = HistogramLogReader(sys.argv[1], HdrHistogram(1, 3600 * 10**9, 3))
while True:
    one = reader.get_next_interval_histogram()
    if one is None:
        break
    sums.setdefault(one.get_tag(), HdrHistogram(1, 3600 * 10**9, 3)).add(one)
def p99(it):
    # Its rank is rounded, ours is the next one: a quarter below a rank is rounded to it.
    n = it.get_total_count()
    return it.get_value_at_percentile((math.ceil(0.99 * n) - 0.25) / n * 100)
print(json.dumps({tag: [it.get_total_count(), p99(it)] for tag, it in sums.items()}))
"#;

#[test]
fn the_interval_log_adds_up_in_hdrhistograms_reader() {
    let Some(bin) = tools(&["hdrhistogram"]) else { return };
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let dir = dir.path();
    assay(dir, "run act-storage sim:flash --for 35s --slice 35s --load 0.5x --out run");
    std::fs::write(dir.join("run.hlog"), assay(dir, "export run --to hlog").stdout).unwrap();
    let read = Command::new(bin.join("python")).args(["-c", READ, "run.hlog"]).current_dir(dir).output().unwrap();
    let sums: Value = serde_json::from_slice(&read.stdout).unwrap_or_else(|_| panic!("{}", told(&read)));
    let judged: Value = serde_json::from_slice(&std::fs::read(dir.join("run/verdict.json")).unwrap()).unwrap();
    let streams = judged["streams"].as_array().unwrap();
    assert_eq!(sums.as_object().unwrap().len(), streams.len(), "{sums}");
    for stream in streams {
        let response = &stream["response"];
        let expected = [response["operations"].clone(), response["p99_ns"].clone()];
        assert_eq!(sums[stream["name"].as_str().unwrap()], serde_json::json!(expected), "{}", stream["name"]);
    }
}
