//! The drop-ins on loop devices: they issue what the config asks for, according to the run's own log and to the
//! device's own counters, and write nothing without consent. Without root, or without loop devices, these tests are
//! skipped.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "tests drive the program as its users do"
)]

mod bed;
mod manual;
mod overload;
mod parsed;
mod shared;
#[path = "../program/throttle.rs"]
mod throttle;
mod traced;

use bed::{Loop, assay, config, dropin, run, run_each, text, unhindered};
use std::cell::RefCell;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const LOAD: &str = "test-duration-sec: 1\nread-reqs-per-sec: 400\nwrite-reqs-per-sec: 400\n";

#[test]
fn every_option_issues_what_it_says() {
    let Some(device) = Loop::of(64 << 20) else { return };
    // Keys, and for each stream its operations in the one second of the test and their mean size in bytes.
    for (keys, expected) in [
        ("", &[("reads", 400, 1536), ("large-block-reads", 9, 131_072), ("large-block-writes", 9, 131_072)][..]),
        (
            "replication-factor: 3\n",
            &[("reads", 400, 1536), ("large-block-reads", 28, 131_072), ("large-block-writes", 28, 131_072)],
        ),
        ("update-pct: 50\n", &[("reads", 600, 1536), ("large-block-writes", 9, 131_072)]),
        ("defrag-lwm-pct: 75\n", &[("large-block-reads", 19, 131_072), ("large-block-writes", 19, 131_072)]),
        (
            "no-defrag-reads: yes\n",
            &[("reads", 400, 1536), ("large-block-reads", 0, 0), ("large-block-writes", 9, 131_072)],
        ),
        (
            "commit-to-device: yes\nrecord-bytes: 700\nrecord-bytes-range-max: 4000\nreplication-factor: 2\n",
            // 1024 to 4096 bytes in blocks of 512: 2560 on average.
            &[
                ("reads", 400, 2560),
                ("writes", 800, 2560),
                ("large-block-reads", 29, 131_072),
                ("large-block-writes", 14, 131_072),
            ],
        ),
        (
            "large-block-op-kbytes: 1024\nrecord-bytes: 20000\n",
            &[("reads", 400, 20_480), ("large-block-writes", 15, 1 << 20)],
        ),
        ("disable-odsync: yes\n", &[("large-block-writes", 9, 131_072)]),
        ("write-reqs-per-sec: 0\n", &[("reads", 400, 1536), ("large-block-reads", 0, 0), ("large-block-writes", 0, 0)]),
        (
            "read-reqs-per-sec: 0\n",
            &[("reads", 0, 0), ("large-block-reads", 9, 131_072), ("large-block-writes", 9, 131_072)],
        ),
    ] {
        let before = RefCell::new(device.stat());
        let ran = run_each("act_storage", &[&device], &format!("{LOAD}{keys}"), || drop(before.replace(device.stat())));
        let (before, after) = (before.take(), device.stat());
        assert_eq!(ran.output.status.code(), Some(0), "{keys}: {}", text(&ran.output.stderr));
        for (stream, rate, size) in expected {
            let (scheduled, issued, ok) =
                (ran.sum(stream, "scheduled"), ran.sum(stream, "issued"), ran.sum(stream, "ok"));
            assert!(scheduled.abs_diff(*rate) <= 1, "{keys}{stream}: {scheduled} scheduled, not {rate}");
            assert_eq!((issued, ok), (scheduled, scheduled), "{keys}{stream}");
            let mean = ran.sum(stream, "bytes").checked_div(ok).unwrap_or(0);
            assert!(mean.abs_diff(*size) <= size / 10, "{keys}{stream}: {mean} bytes on average, not {size}");
        }
        // The device's own counters: every written byte reached it, and no others. For reads, the counters that the log
        // recorded during the run are used, because the safety gate reads before it.
        assert_eq!((after[6] - before[6]) * 512, ran.bytes("write"), "{keys}written");
        let read = ran.disks("read_bytes");
        assert!(read.abs_diff(ran.bytes("read")) <= 1 << 20, "{keys}{read} read, not {}", ran.bytes("read"));
        let flushed = after[15] - before[15];
        let durable = ran.bytes("write") > 0 && !keys.contains("disable-odsync");
        assert_eq!(flushed > 0, durable, "{keys}{flushed} flushes");
    }
}

#[test]
fn committed_writes_go_everywhere_and_data_compresses_as_asked() {
    let Some(device) = Loop::of(32 << 20) else { return };
    let commit = "test-duration-sec: 1\nread-reqs-per-sec: 0\nwrite-reqs-per-sec: 1000\ncommit-to-device: yes\ndefrag-lwm-pct: 0\n";
    let ran = run("act_storage", &[&device], commit);
    assert_eq!(ran.output.status.code(), Some(0), "{}", text(&ran.output.stderr));
    assert_eq!(ran.sum("writes", "ok"), 1000);
    let (_, eighths) = device.content();
    assert!(eighths.iter().all(|blocks| (60..400).contains(blocks)), "not over the whole device: {eighths:?}");
    let sizes: Vec<u64> = [50, 100]
        .into_iter()
        .map(|percent| {
            let device = Loop::of(32 << 20).unwrap();
            let keys = format!(
                "test-duration-sec: 1\nwrite-reqs-per-sec: 4000\nno-defrag-reads: yes\ncompress-pct: {percent}\n"
            );
            let ran = run("act_storage", &[&device], &keys);
            assert_eq!(ran.output.status.code(), Some(0), "{}", text(&ran.output.stderr));
            let (zipped, eighths) = device.content();
            zipped * 100 / (eighths.iter().sum::<u64>() * 4)
        })
        .collect();
    assert!((45..60).contains(&sizes[0]) && (98..103).contains(&sizes[1]), "compressed to {sizes:?} %");
}

/// `commit-min-bytes`, a key of older ACT versions: the drop-in refuses it as ACT 6.6 does, but `assay run` accepts it.
#[test]
fn commit_min_bytes_rounds_every_write_up() {
    let Some(device) = Loop::of(32 << 20) else { return };
    let dir = tempfile::tempdir().unwrap();
    let keys = "test-duration-sec: 1\nread-reqs-per-sec: 100\nwrite-reqs-per-sec: 500\nrecord-bytes: 700\n\
                commit-to-device: yes\ncommit-min-bytes: 4096\n";
    let path = dir.path().join("act.conf");
    std::fs::write(&path, format!("device-names: {}\nmax-lag-sec: 0\n{keys}", device.name())).unwrap();
    let token = device.token();
    let ran = unhindered(|| {
        let out = dir.path().join("run");
        let _ = std::fs::remove_dir_all(&out);
        let mut command = Command::new(assay());
        command.arg("run").arg(&path).args(["--destroy-data", &token, "--json", "--out"]).arg(&out);
        command.output().unwrap()
    });
    let result: serde_json::Value =
        serde_json::from_slice(&ran.stdout).unwrap_or_else(|_| panic!("{}", text(&ran.stderr)));
    let of = |name: &str| {
        let stream = result["streams"].as_array().unwrap().iter().find(|stream| stream["name"] == name).unwrap();
        (stream["operations"].as_u64().unwrap(), stream["bytes"].as_u64().unwrap())
    };
    let (writes, bytes) = of("writes");
    assert!(writes > 300 && bytes == writes * 4096, "{writes} writes of {bytes} bytes");
    let (reads, bytes) = of("reads");
    assert!(reads > 50 && bytes == reads * 1024, "records of 704 bytes are read in two blocks: {reads} of {bytes}");
}

#[test]
fn several_devices_share_the_load_and_the_tomb_raider_walks_each() {
    let (Some(a), Some(b)) = (Loop::of(64 << 20), Loop::of(64 << 20)) else { return };
    let keys = "test-duration-sec: 2\nreport-interval-sec: 1\nread-reqs-per-sec: 1000\nwrite-reqs-per-sec: 200\n\
                microsecond-histograms: yes\ntomb-raider: yes\ntomb-raider-sleep-usec: 10000\n";
    let ran = run("act_storage", &[&a, &b], keys);
    let out = text(&ran.output.stdout);
    assert_eq!(ran.output.status.code(), Some(0), "{}", text(&ran.output.stderr));
    assert!(ran.sum("reads", "ok").abs_diff(2000) <= 1);
    // At most one walk read every 10 ms on each device, for two seconds.
    let walked = ran.sum("tomb-raider-reads", "ok");
    assert!((100..=404).contains(&walked), "{walked}");
    let total = |block: &str, name: &str| {
        let after = out.split(&format!("after {block} sec:\n")).nth(1).unwrap();
        let line = after.lines().find(|line| line.starts_with(&format!("{name} ("))).unwrap();
        line[name.len() + 2..].split(' ').next().unwrap().parse::<u64>().unwrap()
    };
    let device = |device: &Loop| format!("{}-reads", device.name());
    let [first, second] = [&a, &b].map(|one| total("2", &device(one)));
    assert_eq!(total("2", "reads"), first + second);
    assert!(first.abs_diff(second) <= 2, "{first} and {second}");
    assert!(total("2", "tomb-raider-reads") > 0, "reads that are made are shown");
    assert!(total("1", "reads") < total("2", "reads"));
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &ran.output.stdout).unwrap();
    let path = file.path().to_str().unwrap();
    let table = Command::new(assay()).args(["as", "act_latency", "-l", path, "-t", "1"]).output().unwrap();
    assert!(table.status.success() && text(&table.stdout).contains("%>(us)"), "{}", text(&table.stdout));
}

#[test]
fn index_delivers_the_whole_cache_load_on_two_devices() {
    let (Some(a), Some(b)) = (Loop::of(16 << 20), Loop::of(16 << 20)) else { return };
    let keys = "test-duration-sec: 1\nread-reqs-per-sec: 200\nwrite-reqs-per-sec: 300\n";
    let ran = run("act_index", &[&a, &b], keys);
    assert_eq!(ran.output.status.code(), Some(0), "{}", text(&ran.output.stderr));
    for (stream, rate) in [("reads", 500), ("cache-reads", 600), ("writes", 600)] {
        assert!(ran.sum(stream, "ok").abs_diff(rate) <= 2, "{stream}: {}", ran.sum(stream, "ok"));
    }
    let out = text(&ran.output.stdout);
    // Operations in flight when the test ends are in no report.
    let reads = out.lines().find_map(|line| line.strip_prefix("reads (")?.split(' ').next()?.parse::<u64>().ok());
    assert!((1050..=1101).contains(&reads.unwrap()), "cache reads count as reads: {out}");
    assert!(out.contains("Index device IO test") && !out.contains("cache-reads"), "{out}");
}

#[test]
fn safety_is_not_relaxed() {
    let Some(device) = Loop::of(16 << 20) else { return };
    let dir = tempfile::tempdir().unwrap();
    let conf = config(dir.path(), &[&device], LOAD);
    let written = device.stat()[6];
    let plain = |tool: &str, arg: &Path| {
        Command::new(assay()).args(["as", tool]).arg(arg).stdin(Stdio::null()).output().unwrap()
    };
    for output in [plain("act_storage", &conf), plain("act_prep", &device.path)] {
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(4), "{said}");
        assert!(said.contains("ASSAY_DESTROY_DATA") && said.contains("no token was given"), "{said}");
    }
    // A file system in use: refused although the token is right. The file system is initialised completely, because
    // otherwise the kernel writes the rest of it once it is mounted.
    let whole = ["-q", "-E", "lazy_itable_init=0,lazy_journal_init=0"];
    assert!(Command::new("mkfs.ext4").args(whole).arg(&device.path).status().unwrap().success());
    let mounted = dir.path().join("mnt");
    std::fs::create_dir(&mounted).unwrap();
    assert!(Command::new("mount").arg(&device.path).arg(&mounted).status().unwrap().success());
    let wrote = device.stat()[6];
    let outputs = [
        dropin("act_prep", &[&device]).arg(&device.path).output().unwrap(),
        dropin("act_storage", &[&device]).arg(&conf).output().unwrap(),
    ];
    let after = device.stat()[6];
    let unmounted = Command::new("umount").arg(&mounted).status().unwrap();
    for output in outputs {
        assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    }
    assert!(unmounted.success() && after.abs_diff(wrote) < 64, "{after} sectors, {wrote} before");
    assert!(written <= wrote);
    // For files, and for names that do not exist, the messages are ACT's own.
    let file = dir.path().join("regular.img");
    std::fs::write(&file, [0; 4096]).unwrap();
    let conf = dir.path().join("file.conf");
    std::fs::write(&conf, format!("device-names: {}\n{LOAD}", file.display())).unwrap();
    let output = plain("act_storage", &conf);
    assert!(text(&output.stdout).ends_with(&format!("ERROR: {} ioctl to discover size\n", file.display())));
    assert_eq!(output.status.code(), Some(255));
    assert_eq!(plain("act_prep", Path::new("/dev/no-such")).status.code(), Some(255));
    assert_eq!(plain("act_prep", &file).status.code(), Some(4), "a file of somebody else");
    assert_eq!(std::fs::read(&file).unwrap(), [0; 4096]);
}

#[test]
fn prep_by_its_own_name_writes_everything_with_acts_text() {
    // 100 large blocks and a tail that ACT leaves unsalted.
    let Some(device) = Loop::of(100 * 131_072 + 65_536) else { return };
    let dir = tempfile::tempdir().unwrap();
    let link = dir.path().join("act_prep");
    std::os::unix::fs::symlink(assay(), &link).unwrap();
    let output = unhindered(|| {
        let mut command = Command::new(&link);
        command.arg(&device.path).env("ASSAY_DESTROY_DATA", device.token()).env("XDG_STATE_HOME", dir.path());
        command.stdin(Stdio::null()).output().unwrap()
    });
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let name = device.name();
    let dots = ".".repeat(16);
    let expected = format!(
        "{name} size = 13172736 bytes, 100 large blocks\ncleaning device {name}\n{dots}\nsalting device {name}\n{dots}\n"
    );
    assert_eq!(text(&output.stdout), expected);
    let (zipped, eighths) = device.content();
    assert_eq!(eighths.iter().sum::<u64>(), 13_172_736 / 4096, "every block, and the tail");
    assert!(zipped * 1024 > 13_000_000, "{zipped} KiB");
}

#[test]
fn a_load_that_cannot_be_held_stops_with_acts_words() {
    let Some(device) = Loop::of(64 << 20) else { return };
    let keys = "test-duration-sec: 20\nread-reqs-per-sec: 3000000\nservice-threads: 2\nmax-lag-sec: 1\n";
    let ran = run("act_storage", &[&device], keys);
    let out = text(&ran.output.stdout);
    let words = "ERROR: service thread can't keep up\nACT can't do requested load - test stopped\ntry configuring more 'service-threads'\nafter ";
    assert!(out.contains(words), "{out}");
    let code = ran.output.status.code().unwrap();
    assert!(code == 10 || code == 11, "{code}: not an end that a script takes for a success");
    let last = out.rsplit("after ").next().unwrap();
    assert!(last.contains("reads ("), "the last block: {last}");
}

fn start(command: &mut Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Reads the program's output up to these words, which it prints when the load begins.
fn said_up_to(child: &mut Child, words: &str) -> String {
    let out = child.stdout.as_mut().unwrap();
    let (mut said, mut byte) = (Vec::new(), [0]);
    while !said.ends_with(words.as_bytes()) {
        assert_eq!(out.read(&mut byte).unwrap(), 1, "it ended before \"{words}\": {}", text(&said));
        said.push(byte[0]);
    }
    text(&said)
}

#[test]
fn a_signal_ends_at_a_whole_block_and_errors_are_told() {
    let Some(device) = Loop::of(64 << 20) else { return };
    let dir = tempfile::tempdir().unwrap();
    let keys = "test-duration-sec: 60\nread-reqs-per-sec: 200\n";
    let conf = config(dir.path(), &[&device], keys);
    let mut child = start(dropin("act_storage", &[&device]).arg(&conf));
    let begin = said_up_to(&mut child, "after 1 sec:");
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(12), "{}", text(&output.stderr));
    let out = begin + &text(&output.stdout);
    assert!(out.contains("after 1 sec:") && out.ends_with("\n\n") && !out.contains("after 5 sec"), "{out}");

    let keys = "test-duration-sec: 3\nread-reqs-per-sec: 200\n";
    let conf = config(dir.path(), &[&device], keys);
    let mut child = start(dropin("act_storage", &[&device]).arg(&conf));
    let begin = said_up_to(&mut child, "after 1 sec:");
    // The second half of the device disappears during the run.
    let file = std::fs::File::options().write(true).open(&device.file).unwrap();
    file.set_len(32 << 20).unwrap();
    let output = child.wait_with_output().unwrap();
    let out = begin + &text(&output.stdout);
    assert_eq!(output.status.code(), Some(10), "errors are no success: {}", text(&output.stderr));
    assert!(out.contains(&format!("ERROR: reading {}: 5 'Input/output error'\n", device.name())), "{out}");
    assert!(text(&output.stderr).contains("operations failed"), "{}", text(&output.stderr));
}

#[test]
fn the_scheduler_is_set_for_the_run_and_put_back() {
    let Some(device) = Loop::of(16 << 20) else { return };
    let file = device.sys("queue/scheduler");
    let offered = std::fs::read_to_string(&file).unwrap();
    let current =
        |text: &str| text.split('[').nth(1).and_then(|rest| rest.split(']').next()).unwrap_or(text.trim()).to_owned();
    let before = current(&offered);
    let Some(other) = offered.split_whitespace().find(|name| !name.starts_with('[') && *name != before) else {
        eprintln!("the kernel offers one scheduler: only its refusal is tested");
        return refused_scheduler(&device, &file);
    };
    let dir = tempfile::tempdir().unwrap();
    let keys =
        format!("test-duration-sec: 30\nread-reqs-per-sec: 100\nlarge-block-op-kbytes: 128\nscheduler-mode: {other}\n");
    let conf = config(dir.path(), &[&device], &keys);
    // One run ends normally, the other by a signal.
    for (number, seconds) in [(1, Some("1s")), (2, None)] {
        let out = dir.path().join(format!("run{number}"));
        let mut command = Command::new(assay());
        command.arg("run").arg(&conf).args(["--destroy-data", &device.token()]).arg("--out").arg(&out);
        command.args(seconds.iter().flat_map(|time| ["--for", time]));
        let mut child = start(&mut command);
        while current(&std::fs::read_to_string(&file).unwrap()) != other {
            assert!(child.try_wait().unwrap().is_none(), "it ended without having set the scheduler");
            std::thread::sleep(Duration::from_millis(10));
        }
        if seconds.is_none() {
            assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
        }
        let output = child.wait_with_output().unwrap();
        // Any verdict is accepted, including INVALID (11) on a busy machine.
        assert!([0, 10, 11, 12].contains(&output.status.code().unwrap()), "{}", text(&output.stderr));
        assert_eq!(current(&std::fs::read_to_string(&file).unwrap()), before, "after it");
        let log = std::fs::read_to_string(out.join("run.jsonl")).unwrap();
        assert!(log.contains(&format!("{other} for this run, {before} before and after")), "recorded");
    }
    refused_scheduler(&device, &file);
}

fn refused_scheduler(device: &Loop, file: &Path) {
    let dir = tempfile::tempdir().unwrap();
    let before = std::fs::read_to_string(file).unwrap();
    let conf = dir.path().join("s.toml");
    std::fs::write(&conf, "model = \"act-storage\"\nduration = \"1s\"\nscheduler = \"anticipatory\"\n").unwrap();
    let output = unhindered(|| {
        let mut command = Command::new(assay());
        command.arg("run").arg(&conf).arg(&device.path).args(["--destroy-data", &device.token()]).output().unwrap()
    });
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("it offers "), "{}", text(&output.stderr));
    assert_eq!(std::fs::read_to_string(file).unwrap(), before);
}
