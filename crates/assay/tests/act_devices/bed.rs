//! Loop devices, and drop-ins that run on them.

#[path = "../../../assay-device/tests/safety_common/losetup.rs"]
mod losetup;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// A loop device over a sparse file; detached when dropped.
pub struct Loop {
    pub path: PathBuf,
    /// Nobody holds it open, because the safety gate refuses a device that somebody holds open.
    pub file: tempfile::TempPath,
}

impl Loop {
    pub fn of(size: u64) -> Option<Loop> {
        // In memory where possible: the program is not to be blamed for the time that this machine's disk takes to
        // flush.
        let file = tempfile::NamedTempFile::new_in("/dev/shm").or_else(|_| tempfile::NamedTempFile::new()).unwrap();
        file.as_file().set_len(size).unwrap();
        let file = file.into_temp_path();
        match losetup::attach(&file, &["--direct-io=on"]) {
            Ok(path) => Some(Loop { path: path.into(), file }),
            Err(why) => {
                eprintln!("nothing is tested: {why}");
                None
            }
        }
    }

    pub fn name(&self) -> &str {
        self.path.to_str().unwrap()
    }

    pub fn sys(&self, attribute: &str) -> PathBuf {
        Path::new("/sys/block").join(self.path.file_name().unwrap()).join(attribute)
    }

    /// The device's counters (Documentation/block/stat.rst).
    pub fn stat(&self) -> Vec<u64> {
        let text = std::fs::read_to_string(self.sys("stat")).unwrap();
        text.split_whitespace().map(|n| n.parse().unwrap()).collect()
    }

    pub fn token(&self) -> String {
        let output = Command::new(assay()).args(["devices", "--json", self.name()]).output().unwrap();
        let devices: Value = serde_json::from_slice(&output.stdout).unwrap();
        devices[0]["token"].as_str().unwrap().to_owned()
    }

    /// Size in KiB after gzip of everything on it, and the number of non-blank 4 KiB blocks in each eighth of the
    /// device.
    pub fn content(&self) -> (u64, Vec<u64>) {
        let data = std::fs::read(&self.file).unwrap();
        let written = |part: &[u8]| part.chunks(4096).filter(|block| block.iter().any(|b| *b != 0)).count() as u64;
        let eighths = data.chunks(data.len() / 8).map(written).collect();
        let zipped = Command::new("gzip").arg("-1c").arg(&self.file).output().unwrap();
        (zipped.stdout.len() as u64 / 1024, eighths)
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("-d").arg(&self.path).status();
    }
}

pub fn assay() -> &'static str {
    env!("CARGO_BIN_EXE_assay")
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The command that starts a drop-in, with consent for `devices`.
pub fn dropin(tool: &str, devices: &[&Loop]) -> Command {
    let tokens: Vec<String> = devices.iter().map(|device| device.token()).collect();
    let mut command = Command::new(assay());
    command.args(["as", tool]).env("ASSAY_DESTROY_DATA", tokens.join(",")).stdin(Stdio::null());
    command
}

/// Repeats a run while another program that examines all devices holds one of them for a moment: the gate then refuses,
/// as it must.
pub fn unhindered(run: impl Fn() -> Output) -> Output {
    for _ in 0..20 {
        let output = run();
        if output.status.code() != Some(4) || !text(&output.stderr).contains("EBUSY") {
            return output;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    run()
}

pub struct Ran {
    pub output: Output,
    /// Entries of the run log.
    pub log: Vec<Value>,
}

/// Runs a config and reads the log of the run.
pub fn run(tool: &str, devices: &[&Loop], keys: &str) -> Ran {
    run_each(tool, devices, keys, || {})
}

/// The same, with `before` before each attempt. A run is repeated when this machine stood still as its load ended:
/// operations that are not issued by then are not issued at all, and the tests count them.
pub fn run_each(tool: &str, devices: &[&Loop], keys: &str, before: impl Fn()) -> Ran {
    let attempt = || {
        before();
        run_once(tool, devices, keys)
    };
    let is_whole = |ran: &Ran| ran.output.status.code() != Some(0) || ran.waiting() == 0;
    (0..9).map(|_| attempt()).find(is_whole).unwrap_or_else(attempt)
}

fn run_once(tool: &str, devices: &[&Loop], keys: &str) -> Ran {
    let dir = tempfile::tempdir().unwrap();
    let conf = config(dir.path(), devices, keys);
    let out = dir.path().join("run");
    let output = unhindered(|| dropin(tool, devices).arg(&conf).env("ASSAY_RUN_DIR", &out).output().unwrap());
    let log = std::fs::read_to_string(out.join("run.jsonl")).unwrap_or_default();
    let log = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    Ran { output, log }
}

pub fn config(dir: &Path, devices: &[&Loop], keys: &str) -> PathBuf {
    let names: Vec<&str> = devices.iter().map(|device| device.name()).collect();
    let path = dir.join("act.conf");
    // `max-lag-sec: 0`, because the program is not to be blamed for a slow disk of this machine. A later line with the
    // same key takes precedence.
    std::fs::write(&path, format!("device-names: {}\nmax-lag-sec: 0\n{keys}", names.join(","))).unwrap();
    path
}

impl Ran {
    /// Lines of one kind.
    pub fn lines(&self, kind: &str) -> impl Iterator<Item = &Value> {
        self.log.iter().filter(move |line| line["kind"] == kind)
    }

    pub fn header(&self) -> &Value {
        self.lines("header").next().unwrap_or_else(|| panic!("no header in {:?}", self.log.first()))
    }

    /// The sum of `key` for a stream over the whole run, on all targets.
    pub fn sum(&self, stream: &str, key: &str) -> u64 {
        let header = self.header();
        let index = header["streams"].as_array().unwrap().iter().position(|head| head["name"] == stream);
        let Some(index) = index else { return 0 };
        let flows = header["flows"].as_array().unwrap();
        let mut sum = 0;
        for interval in self.lines("interval") {
            for (flow, head) in interval["flows"].as_array().unwrap().iter().zip(flows) {
                if head["stream"] == index {
                    sum += flow[key].as_u64().unwrap_or(0);
                }
            }
        }
        sum
    }

    /// How many operations were not issued before the load ended.
    pub fn waiting(&self) -> u64 {
        let flows = self.lines("interval").last().and_then(|last| last["flows"].as_array());
        flows.into_iter().flatten().filter_map(|flow| flow["waiting"].as_u64()).sum()
    }

    pub fn disks(&self, key: &str) -> u64 {
        let disks = self.lines("interval").filter_map(|interval| interval["disks"].as_array());
        disks.flatten().filter_map(|disk| disk[key].as_u64()).sum()
    }

    pub fn bytes(&self, direction: &str) -> u64 {
        let streams = self.header()["streams"].as_array().unwrap();
        let names = streams.iter().filter(|head| head["direction"] == direction);
        names.map(|head| self.sum(head["name"].as_str().unwrap(), "bytes")).sum()
    }
}
