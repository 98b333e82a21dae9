//! Before, during and after a disturbance of real storage: a throttle that comes and goes, and what a btrfs of several loop devices
//! does to itself. How fast this machine is decides nothing here: what the log and the result say of themselves must fit together.

use super::bed::{Log, Place, Running, in_one_line};
use super::devices::{Disk, Loop, passed_over};
use super::throttle::Throttle;
use assay_record::EventKind;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Has the run write a mark.
fn mark(place: &Place, text: &str) {
    let said = place.assay(&["mark", "run", text]);
    assert_eq!(said.code, Some(0), "{text}: {said:?}");
}

/// Waits until the run has written so many more intervals.
fn let_it_run(place: &Place, running: &mut Running, intervals: usize) {
    let count = || {
        let text = fs::read_to_string(place.path("run/run.jsonl")).unwrap();
        text.matches("\"kind\":\"interval\"").count()
    };
    let before = count();
    super::bed::until("intervals", || {
        assert!(running.is_alive(), "the run ended");
        count() >= before + intervals
    });
}

/// What the parts of a result say, held against the log: each mark stands behind a whole interval, and what a part did is what the
/// intervals between its marks did.
fn parts_fit_the_log(place: &Place) -> Vec<Value> {
    let dir = place.path("run");
    let log = Log::of(&dir);
    log.adds_up();
    let verdict: Value = serde_json::from_str(&fs::read_to_string(dir.join("verdict.json")).unwrap()).unwrap();
    let parts = verdict["parts"].as_array().unwrap().clone();
    let marks: Vec<u64> =
        log.events.iter().filter(|event| event.what == EventKind::Mark).map(|event| event.at_ns).collect();
    assert_eq!(parts.len(), marks.len() + 1);
    let measured =
        log.intervals.iter().filter(|interval| log.header.phases[usize::from(interval.phase)].name != "warm-up");
    let measured: Vec<_> = measured.collect();
    for (nth, part) in parts.iter().enumerate() {
        let from = if nth == 0 { 0 } else { marks[nth - 1] };
        let to = marks.get(nth).copied().unwrap_or(u64::MAX);
        let own = measured.iter().filter(|interval| interval.start_ns >= from && interval.start_ns < to);
        for (flow, head) in log.header.flows.iter().enumerate() {
            let sum: u64 = own.clone().map(|interval| interval.flows[flow].ok).sum();
            let name = &log.header.streams[usize::from(head.stream)].name;
            let said = part["streams"].as_array().unwrap().iter().find(|stream| stream["name"] == *name).unwrap();
            assert_eq!(said["operations"], sum, "part {nth}, {name}");
        }
    }
    let again = place.assay(&["judge", "run", "--json"]).json();
    assert_eq!(again["parts"].as_array(), Some(&parts), "the log alone says the same");
    parts
}

const THROTTLED: &str = "name = \"w\"\nmodel = \"streams\"\nmax_lag = \"0s\"\ninterval = \"200ms\"\nslice = \"2s\"\nrecovery_at_most = \"20s\"\n\
    [[stream]]\nname = \"reads\"\ndirection = \"read\"\nsize = \"4KiB\"\nrate = \"300/s\"\n\
    [[criterion]]\nstream = \"reads\"\nshare_over = \"1s\"\nat_most = \"5%\"\nin = [\"healthy\", \"recovered\"]\n";

/// The kernel lets a tenth of the load pass, and then all of it: what waited meanwhile completes behind the mark.
#[test]
fn a_throttle_that_comes_and_goes() {
    let place = Place::in_memory();
    let bytes: Vec<u8> = (0..8u64 << 20).flat_map(|at| (at | 1 << 63).to_le_bytes()).collect();
    fs::write(place.path("disk.img"), bytes).unwrap();
    let Some(disk) = Loop::over(&place, "disk.img", 64 << 20) else { return };
    let number = format!("/sys/block/{}/dev", disk.name());
    let Some(throttle) = Throttle::new(Path::new(&number), &[]) else { return };
    place.write("w.toml", THROTTLED);
    let args = ["run", "w.toml", disk.path(), "--for", "40s", "--warm-up", "0s", "--out", "run"];
    let command = place.command(&args);
    let mut command = throttle.within(&command);
    let child =
        command.current_dir(place.path(".")).stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut running = Running::of(child.spawn().unwrap());
    super::bed::until("the log", || place.path("run/run.jsonl").exists());
    let_it_run(&place, &mut running, 15);
    mark(&place, "throttled to 30 reads a second");
    throttle.limit(Path::new(&number), "read_iops", 30);
    let_it_run(&place, &mut running, 20);
    // What waits for it completes behind the mark.
    mark(&place, "no throttle");
    throttle.limit(Path::new(&number), "read_iops", 0);
    let said = running.end();
    let parts = parts_fit_the_log(&place);
    let kinds: Vec<&str> = parts.iter().map(|part| part["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["healthy", "disturbed", "recovered"]);
    let rate = |part: &Value| part["streams"][0]["rate_achieved"].as_f64().unwrap();
    // The kernel's own bound, and not the speed of this machine.
    assert!(rate(&parts[1]) < 100.0, "{parts:?}");
    let recovery = &parts[2]["recovery"];
    assert_eq!(
        (recovery["precision_ns"].as_u64(), recovery["allowed_ns"].as_u64()),
        (Some(200_000_000), Some(20_000_000_000))
    );
    // What waited for the throttle was late by seconds: the first interval behind the mark broke the bound.
    assert!(recovery["took_ns"].as_u64().is_none_or(|took| took > 0), "{recovery}");
    let text = in_one_line(&said.out);
    assert!(text.contains("recovery in part 3 (recovered, \"no throttle\")"), "{text}");
    assert!(!text.contains("part 2 (disturbed, \"throttled to 30 reads a second\"), broken"), "{text}");
    assert!(text.contains("no criterion names it"), "{text}");
}

/// A btrfs over loop devices, mounted below a place; unmounted before the devices go.
struct Btrfs {
    point: PathBuf,
    devices: Vec<Loop>,
}

impl Btrfs {
    /// Two mirrored devices, and a third one beside them.
    fn mirrored(place: &Place) -> Option<Btrfs> {
        let devices = ["a.img", "b.img", "c.img"].map(|name| Loop::over(place, name, 300 << 20));
        let devices: Vec<Loop> = devices.into_iter().collect::<Option<_>>()?;
        let point = place.path("mount");
        fs::create_dir(&point).unwrap();
        let (a, b) = (devices[0].path(), devices[1].path());
        let made = tool(&["mkfs.btrfs", "-q", "-f", "-d", "raid1", "-m", "raid1", a, b])
            .and_then(|()| tool(&["mount", "-o", &format!("device={a},device={b}"), a, point.to_str().unwrap()]));
        if let Err(why) = made {
            assert!(std::env::var_os("CI").is_none(), "no btrfs: {why}");
            passed_over(&format!("no btrfs here: {why}"));
            return None;
        }
        Some(Btrfs { point, devices })
    }

    fn at(&self) -> &str {
        self.point.to_str().unwrap()
    }
}

impl Drop for Btrfs {
    fn drop(&mut self) {
        super::bed::until("unmounting", || tool(&["umount", self.at()]).is_ok());
    }
}

fn tool(command: &[&str]) -> Result<(), String> {
    let output = Command::new(command[0]).args(&command[1..]).output().map_err(|why| why.to_string())?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

const FILES: &str = r#"
name = "mix"
model = "files"
clients = 2
rate = "60/s"
interval = "500ms"
slice = "2s"
io = "4KiB"
[tree]
files = 300
size = "64KiB"
width = 20
[[do]]
name = "deliver"
steps = [["create", "write", "fsync", "close"], ["unlink"]]
[[do]]
name = "look"
steps = ["stat", "open", "read", "close"]
share = 3
[[criterion]]
stream = "deliver"
p90_at_most = "30s"
"#;

#[test]
fn a_btrfs_is_scrubbed_repaired_and_balanced_under_load() {
    let place = Place::new();
    place.write("w.toml", FILES);
    let Some(btrfs) = Btrfs::mirrored(&place) else { return };
    let mut running = place.start(&["run", "w.toml", "mount", "--for", "60s"], 4);
    let (b, c) = (btrfs.devices[1].path(), btrfs.devices[2].path());
    for (what, command) in [
        ("scrub", &["btrfs", "scrub", "start", "-B", btrfs.at()][..]),
        ("replace", &["btrfs", "replace", "start", "-B", "-f", b, c, btrfs.at()]),
        ("balance", &["btrfs", "balance", "start", "--full-balance", btrfs.at()]),
    ] {
        mark(&place, &format!("{what} begins"));
        tool(command).unwrap_or_else(|why| panic!("{what}: {why}"));
        mark(&place, &format!("{what} has ended"));
        let_it_run(&place, &mut running, 3);
    }
    running.signal(libc::SIGINT);
    let said = running.end();
    let parts = parts_fit_the_log(&place);
    let kinds: Vec<&str> = parts.iter().map(|part| part["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["healthy", "disturbed", "recovered", "disturbed", "recovered", "disturbed", "recovered"]);
    let texts: Vec<&str> = parts.iter().skip(1).map(|part| part["text"].as_str().unwrap()).collect();
    assert_eq!(
        texts,
        [
            "scrub begins",
            "scrub has ended",
            "replace begins",
            "replace has ended",
            "balance begins",
            "balance has ended"
        ]
    );
    for part in parts.iter().filter(|part| part["kind"] == "recovered") {
        assert!(part["recovery"]["state"].is_string(), "{part}");
        assert!(part["measured_ns"].as_u64().unwrap() >= 1_500_000_000, "{part}");
    }
    assert!(["INCOMPLETE", "FAIL", "INVALID"].contains(&said.is_of_verdict(&place.path("run")).as_str()), "{said:?}");
}
