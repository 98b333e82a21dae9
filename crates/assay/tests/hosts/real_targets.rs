//! Several ranks on real targets: one loop device or file for all, and targets that are not the same on all hosts. Two mounts of one
//! directory (bindfs) stand for two hosts that share storage: each has device and inode numbers of its own.

use crate::hosts::{Mpi, told};
use crate::losetup;
use serde_json::Value;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub(crate) const WORKLOAD: &str = r#"
name = "mixed"
model = "streams"
duration = "3s"
slice = "1s"
in_flight_bound = 32
[[stream]]
name = "reads"
direction = "read"
size = "4KiB"
rate = "400/s"
arrival = "steady"
[[stream]]
name = "writes"
direction = "write"
size = "16KiB"
rate = "200/s"
arrival = "steady"
durable = true
[[criterion]]
stream = "reads"
p99_at_most = "60s"
"#;

/// Bytes of a target.
const SIZE: u64 = 16 << 20;

/// PASS, FAIL or INVALID: a busy machine may be late, and what is tested is what was carried and counted.
pub(crate) const ENDED: [Option<i32>; 3] = [Some(0), Some(10), Some(11)];

pub(crate) struct Bench {
    directory: tempfile::TempDir,
}

impl Bench {
    pub(crate) fn new() -> Bench {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        std::fs::write(directory.path().join("mixed.toml"), WORKLOAD).unwrap();
        Bench { directory }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn assay(&self, words: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
        command.current_dir(self.directory.path()).args(words).stdin(Stdio::null()).output().unwrap()
    }

    pub(crate) fn run_words(&self, target: &str, more: &str) -> Vec<String> {
        let workload = self.path("mixed.toml").display().to_string();
        let out = self.path("run").display().to_string();
        let words = ["run".to_owned(), workload, target.to_owned(), "--out".to_owned(), out];
        words.into_iter().chain(more.split_whitespace().map(str::to_owned)).collect()
    }

    /// A file of this program's own, which `assay prep` has filled.
    pub(crate) fn prepare_file(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        let output = self.assay(&["prep", &path.display().to_string(), "--create", "16MiB"]);
        assert_eq!(output.status.code(), Some(0), "{}", told(&output));
        path
    }

    pub(crate) fn loop_device(&self, name: &str) -> Option<LoopDevice> {
        let backing = self.path(name);
        File::create(&backing).unwrap().set_len(SIZE).unwrap();
        let attached = losetup::attach(&backing, &["--direct-io=on"]);
        let device = attached.map_err(|why| eprintln!("skipped: {why}")).ok()?;
        Some(LoopDevice { device, backing })
    }

    pub(crate) fn token_of(&self, device: &LoopDevice) -> String {
        let output = self.assay(&["devices", "--json", &device.device]);
        let shown: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", told(&output)));
        shown[0]["token"].as_str().unwrap().to_owned()
    }

    pub(crate) fn lines_of_kind(&self, log: &str, kind: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.path(log)).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter(|line| line["kind"] == kind).collect()
    }

    /// The sum of a number of a flow over all intervals of a log.
    pub(crate) fn sum_of(&self, log: &str, flow: usize, number: &str) -> u64 {
        let intervals = self.lines_of_kind(log, "interval");
        intervals.iter().map(|line| line["flows"][flow][number].as_u64().unwrap()).sum()
    }

    /// The log of all is what the ranks' logs make.
    pub(crate) fn check_merged(&self) {
        let output = self.assay(&["merge", "run"]);
        assert_eq!(output.status.code(), Some(0), "{}", told(&output));
        assert!(told(&output).contains("the same as in"), "{}", told(&output));
    }
}

pub(crate) struct LoopDevice {
    pub(crate) device: String,
    backing: PathBuf,
}

impl LoopDevice {
    /// Bytes that the kernel has counted as written.
    pub(crate) fn bytes_written(&self) -> u64 {
        let name = self.device.rsplit('/').next().unwrap();
        let text = std::fs::read_to_string(format!("/sys/block/{name}/stat")).unwrap();
        text.split_whitespace().nth(6).unwrap().parse::<u64>().unwrap() * 512
    }

    pub(crate) fn content(&self) -> Vec<u8> {
        std::fs::read(&self.backing).unwrap()
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        // Another program, such as udev, may still use it for a moment.
        for _ in 0..100 {
            let removed = Command::new("losetup").args(["-d", &self.device]).output();
            if removed.is_ok_and(|removed| removed.status.success()) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// Two mounts of one directory, each with numbers of its own.
pub(crate) struct TwoMounts([PathBuf; 2]);

impl TwoMounts {
    pub(crate) fn of_directory(bench: &Bench, directory: &Path) -> Option<TwoMounts> {
        let points = ["one", "two"].map(|name| bench.path(name));
        for point in &points {
            std::fs::create_dir(point).unwrap();
            let mounted = Command::new("bindfs").args(["--no-allow-other"]).arg(directory).arg(point).output();
            if !mounted.as_ref().is_ok_and(|mounted| mounted.status.success()) {
                eprintln!("skipped: bindfs mounts nothing here, shared storage was NOT tried: {mounted:?}");
                return None;
            }
        }
        Some(TwoMounts(points))
    }

    pub(crate) fn points(&self) -> &[PathBuf; 2] {
        &self.0
    }

    pub(crate) fn targets(&self, name: &str) -> [String; 2] {
        self.0.each_ref().map(|point| point.join(name).display().to_string())
    }
}

impl TwoMounts {
    /// The process that serves the second mount.
    pub(crate) fn server_of_second(&self) -> u32 {
        let point = self.0[1].display().to_string();
        let serves = |pid: &u32| {
            let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let words = String::from_utf8_lossy(&words).into_owned();
            words.starts_with("bindfs\0") && words.contains(&format!("\0{point}\0"))
        };
        let all =
            std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
        all.into_iter().find(serves).expect("the mount has a server")
    }
}

impl Drop for TwoMounts {
    fn drop(&mut self) {
        for point in &self.0 {
            let _ = Command::new("umount").arg(point).output();
        }
    }
}

/// Four ranks on one device that the kernel grants once: what it counts is what they did together.
#[test]
fn ranks_on_one_device_write_what_it_counts() {
    for mpi in Mpi::all_installed() {
        let bench = Bench::new();
        let Some(device) = bench.loop_device("disk") else { return };
        let before = device.bytes_written();
        let more = format!("--hosts 4 --destroy-data {}", bench.token_of(&device));
        let output = mpi.command(4, &bench.run_words(&device.device, &more)).output().unwrap();
        assert!(ENDED.contains(&output.status.code()), "{}: {}", mpi.name, told(&output));
        let written = bench.sum_of("run/run.jsonl", 1, "bytes");
        assert_eq!(device.bytes_written() - before, written, "{}: {}", mpi.name, told(&output));
        // Each rank did a quarter of what is due in three seconds.
        for rank in 0..4 {
            let due = bench.sum_of(&format!("run/hosts/{rank:04}/run.jsonl"), 1, "scheduled");
            assert!(due.abs_diff(150) <= 2, "{}: rank {rank}: {due}", mpi.name);
        }
        // The log of all has the counters of the device once, and they are what was done; a rank's own log has none to be judged by.
        let counted = |log: &str, field: &str| -> u64 {
            let intervals = bench.lines_of_kind(log, "interval");
            let disks = intervals.iter().filter_map(|line| line[field][0]["written_bytes"].as_u64());
            disks.sum()
        };
        // What is done between the end of an interval and the reading of the counters is in the next one, or after the last.
        let last = u64::from(u16::MAX);
        assert!(counted("run/run.jsonl", "disks").abs_diff(written) <= last, "{}", mpi.name);
        assert_eq!(counted("run/hosts/0000/run.jsonl", "shared_disks"), counted("run/run.jsonl", "disks"));
        for (log, field) in [("run/hosts/0000/run.jsonl", "disks"), ("run/hosts/0001/run.jsonl", "shared_disks")] {
            assert_eq!(counted(log, field), 0, "{}: {log} {field}", mpi.name);
        }
        let verdict: Value = serde_json::from_slice(&std::fs::read(bench.path("run/verdict.json")).unwrap()).unwrap();
        let durability = &verdict["durability"][0];
        // The kernel flushes once for several of them.
        assert_eq!(durability["syncs"].as_u64().unwrap(), bench.sum_of("run/run.jsonl", 1, "ok"), "{durability}");
        assert!(durability["flushes"].as_u64().unwrap() > 0, "{durability}");
        let header = &bench.lines_of_kind("run/hosts/0002/run.jsonl", "header")[0];
        let unwatched = header["unwatched"].to_string();
        assert!(unwatched.contains("ranks 0, 1 and 3 use the same disks"), "{}: {unwatched}", mpi.name);
        bench.check_merged();
    }
}

#[test]
fn ranks_of_one_process_share_a_file() {
    let bench = Bench::new();
    let file = bench.prepare_file("data.img");
    let output = bench.assay(&["run", "mixed.toml", &file.display().to_string(), "--local", "3", "--out", "run"]);
    assert!(ENDED.contains(&output.status.code()), "{}", told(&output));
    let due = |flow| bench.sum_of("run/run.jsonl", flow, "scheduled");
    assert!(due(0).abs_diff(1_200) <= 3 && due(1).abs_diff(600) <= 3, "{} {}", due(0), due(1));
    // All ranks began together, and each has the intervals of all.
    for rank in 0..3 {
        let own = bench.lines_of_kind(&format!("run/hosts/{rank:04}/run.jsonl"), "interval");
        assert_eq!(own.len(), bench.lines_of_kind("run/run.jsonl", "interval").len());
    }
    bench.check_merged();
}

/// The hosts have the same file, each by numbers of its own: a claim proves it.
#[test]
fn what_hosts_share_is_proven_by_a_claim() {
    let Some(mpi) = Mpi::all_installed().into_iter().next() else { return };
    let bench = Bench::new();
    std::fs::create_dir(bench.path("shared")).unwrap();
    bench.prepare_file("shared/data.img");
    let Some(mounts) = TwoMounts::of_directory(&bench, &bench.path("shared")) else { return };
    let [first, second] = mounts.targets("data.img").map(|target| bench.run_words(&target, "--hosts 2"));
    let output = mpi.command_of_two(&first, &second).output().unwrap();
    assert!(ENDED.contains(&output.status.code()), "{}", told(&output));
    assert!(bench.sum_of("run/run.jsonl", 1, "scheduled").abs_diff(600) <= 3);
    bench.check_merged();
}

/// Somebody on a host that takes no part writes to what the hosts share: nobody begins.
#[test]
fn who_writes_from_another_host_is_noticed_before_the_load() {
    let Some(mpi) = Mpi::all_installed().into_iter().next() else { return };
    let bench = Bench::new();
    std::fs::create_dir(bench.path("shared")).unwrap();
    let data = bench.prepare_file("shared/data.img");
    let Some(mounts) = TwoMounts::of_directory(&bench, &bench.path("shared")) else { return };
    let [first, second] = mounts.targets("data.img").map(|target| bench.run_words(&target, "--hosts 2"));
    let is_over = AtomicBool::new(false);
    let output = std::thread::scope(|scope| {
        scope.spawn(|| {
            // Blocks that look like those of another run of this program.
            let file = File::options().write(true).open(&data).unwrap();
            let mut block = [0u8; 4096];
            block[..8].copy_from_slice(b"ASSAYBLK");
            while !is_over.load(Ordering::Relaxed) {
                block[100] = block[100].wrapping_add(1);
                file.write_all_at(&block, 0).unwrap();
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let output = mpi.command_of_two(&first, &second).output().unwrap();
        is_over.store(true, Ordering::Relaxed);
        output
    });
    assert_eq!(output.status.code(), Some(4), "{}", told(&output));
    assert!(told(&output).contains("somebody on another host"), "{}", told(&output));
    assert!(!bench.path("run").exists(), "nobody has begun");
}

/// Targets that are not the same everywhere, and a device that is in use on one host: every rank says no, and no byte is changed.
#[test]
fn targets_that_differ_or_are_refused_on_one_host_are_refused_by_all() {
    for mpi in Mpi::all_installed() {
        let bench = Bench::new();
        let (Some(first), Some(second)) = (bench.loop_device("a"), bench.loop_device("b")) else { return };
        let tokens = format!("--hosts 2 --destroy-data {},{}", bench.token_of(&first), bench.token_of(&second));
        let words = [&first, &second].map(|device| bench.run_words(&device.device, &tokens));
        let before = [first.content(), second.content()];
        let output = mpi.command_of_two(&words[0], &words[1]).output().unwrap();
        assert_eq!(output.status.code(), Some(4), "{}: {}", mpi.name, told(&output));
        let text = told(&output);
        assert!(text.contains("is not the target that") && text.contains(&first.device), "{}: {text}", mpi.name);
        assert!(before == [first.content(), second.content()], "{}: a byte was changed", mpi.name);
        assert!(!bench.path("run").exists(), "{}: nobody has begun", mpi.name);

        let made = Command::new("mkfs.ext4").args(["-q", &second.device]).output().unwrap();
        assert!(made.status.success(), "{}", told(&made));
        let point = bench.path("mounted");
        std::fs::create_dir(&point).unwrap();
        assert!(Command::new("mount").arg(&second.device).arg(&point).status().unwrap().success());
        let output = mpi.command_of_two(&words[0], &words[1]).output().unwrap();
        assert!(Command::new("umount").arg(&point).status().unwrap().success());
        assert_eq!(output.status.code(), Some(4), "{}: {}", mpi.name, told(&output));
        assert!(told(&output).contains("rank 1:"), "{}: {}", mpi.name, told(&output));
        assert!(before[0] == first.content(), "{}: a byte was changed", mpi.name);
        assert!(!bench.path("run").exists(), "{}: nobody has begun", mpi.name);
    }
}
