//! `assay capture`: running loads on devices of the test, seen through the kernel's tracepoints; what is left behind, what
//! is refused, and that what was captured is driven again.

use super::bed::{Place, Said, until};
use super::devices::{Disk, LOOKED_AT, Loop, Zram, passed_over};
use std::fs;
use std::path::{Path, PathBuf};

/// The instances of tracefs; `None` where a capture is not possible.
fn instances() -> Option<PathBuf> {
    let at = Path::new("/sys/kernel/tracing/instances");
    let probe = at.join(format!("other-{}", std::process::id()));
    let made = fs::create_dir(&probe).is_ok() || probe.exists();
    let _ = fs::remove_dir(&probe);
    if !made {
        passed_over("no tracefs that can be written");
    }
    made.then(|| at.to_owned())
}

/// The names of instances that begin with this.
fn named(instances: &Path, begin: &str) -> Vec<String> {
    let entries = fs::read_dir(instances).unwrap();
    let names = entries.flatten().map(|entry| entry.file_name().into_string().unwrap());
    names.filter(|name| name.starts_with(begin)).collect()
}

const LOAD: &str = "model = \"streams\"\nduration = \"20s\"\nslice = \"10s\"\n\
    [[stream]]\nname = \"reads\"\ndirection = \"read\"\nsize = { shares = [[\"4KiB\", \"75%\"], [\"16KiB\", \"25%\"]] }\nrate = \"400/s\"\n\
    [[stream]]\nname = \"writes\"\ndirection = \"write\"\nsize = \"8KiB\"\nrate = \"100/s\"\n";

/// A load that runs on a device until it is dropped.
fn load(place: &Place, disk: &dyn Disk, text: &str, out: &str) -> super::bed::Running {
    let file = format!("{out}.toml");
    place.write(&file, text);
    let token = disk.token(place);
    let running = place.begin(&["run", &file, disk.path(), "--destroy-data", &token, "--out", out]);
    let log = place.path(out).join("run.jsonl");
    until("the load", || fs::read_to_string(&log).is_ok_and(|text| text.contains("\"kind\":\"interval\"")));
    running
}

fn number(said: &Said, pointer: &str) -> f64 {
    said.json().pointer(pointer).and_then(serde_json::Value::as_f64).unwrap_or_else(|| panic!("{pointer}: {said:?}"))
}

/// On a loop device requests are queued by the kernel; zram takes them as they come.
#[test]
fn a_running_load_is_seen_and_nothing_is_left() {
    let Some(instances) = instances() else { return };
    let place = Place::new();
    let _guard = LOOKED_AT.read().unwrap();
    let looped: Option<Box<dyn Disk>> = Loop::over(&place, "image", 256 << 20).map(|it| Box::new(it) as Box<dyn Disk>);
    let zram: Option<Box<dyn Disk>> = Zram::of(256 << 20).map(|it| Box::new(it) as Box<dyn Disk>);
    for (at, disk) in looped.into_iter().chain(zram).enumerate() {
        // Somebody else traces meanwhile.
        let other = instances.join(format!("other-{}-{at}", std::process::id()));
        fs::create_dir(&other).unwrap();
        fs::write(other.join("events/block/block_bio_queue/enable"), "1").unwrap();
        let running = load(&place, &*disk, LOAD, &format!("run-{at}"));
        let out = format!("captured-{at}.toml");
        let mut capture = place.begin(&["capture", disk.path(), "--for", "5s", "--out", &out, "--json"]);
        let own = format!("assay-{}", capture.pid());
        until("its instance", || !capture.is_alive() || instances.join(&own).exists());
        let said = capture.end();
        drop(running);
        assert_eq!(said.code, Some(0), "{said:?}");
        assert!(named(&instances, &own).is_empty(), "it is removed");
        assert_eq!(fs::read_to_string(other.join("events/block/block_bio_queue/enable")).unwrap().trim(), "1");
        fs::write(other.join("events/enable"), "0").unwrap();
        fs::remove_dir(&other).unwrap();
        let seconds = number(&said, "/seconds");
        let (reads, writes) = (number(&said, "/reads/operations"), number(&said, "/writes/operations"));
        // Four standard deviations of counting, and a tenth for a busy machine.
        for (what, found, rate) in [("reads", reads, 400.0), ("writes", writes, 100.0)] {
            let expected = rate * seconds;
            let most = 4.0 * f64::sqrt(expected) + 0.1 * expected;
            assert!((found - expected).abs() < most, "{what}: {found} in {seconds} s\n{said:?}");
        }
        let mean = number(&said, "/reads/bytes") / reads;
        assert!((mean / (0.75 * 4096.0 + 0.25 * 16_384.0) - 1.0).abs() < 0.1, "{mean}");
        assert_eq!(number(&said, "/lost_events"), 0.0);
        let remarks = said.json()["remarks"].clone();
        assert!(remarks.as_array().unwrap().is_empty(), "the device's counters agree: {remarks}");
        let explained = place.assay(&["explain", &out, "null:256MiB"]);
        assert!(explained.code == Some(0) && explained.out.contains("places of reads"), "{explained:?}");
        let text = fs::read_to_string(place.path(&out)).unwrap();
        assert!(!text.contains(disk.name()) && text.contains("16KiB"), "{text}");
        let shown = place.assay(&["capture", "--show", &out]);
        assert!(shown.code == Some(0) && shown.out.contains("^ tells how much the application does"), "{shown:?}");
    }
}

/// What a killed capture leaves is removed by the next one; one that is asked to end gives what it saw.
#[test]
fn what_a_killed_capture_left_is_removed_and_an_interrupted_one_gives_what_it_saw() {
    let Some(instances) = instances() else { return };
    let place = Place::new();
    let _guard = LOOKED_AT.read().unwrap();
    let Some(disk) = Loop::over(&place, "image", 64 << 20) else { return };
    let running = load(&place, &disk, LOAD, "run");
    let mut killed = place.begin(&["capture", disk.path()]);
    let left = format!("assay-{}", killed.pid());
    until("its instance", || !killed.is_alive() || instances.join(&left).exists());
    killed.signal(libc::SIGKILL);
    assert_eq!(killed.end_with_signal(), Some(libc::SIGKILL));
    assert!(instances.join(&left).exists(), "a killed process removes nothing");
    let interrupted = place.begin(&["capture", disk.path(), "--for", "1h"]);
    let own = instances.join(format!("assay-{}", interrupted.pid()));
    until("the next instance", || own.join("tracing_on").exists() && !instances.join(&left).exists());
    std::thread::sleep(std::time::Duration::from_secs(3));
    interrupted.signal(libc::SIGINT);
    let said = interrupted.end();
    drop(running);
    assert!(said.code == Some(0) && said.out.contains("[application.reads]"), "{said:?}");
    assert!(said.err.contains("captured ") && !own.exists(), "{said:?}");
}

#[test]
fn what_cannot_be_captured_is_said_and_leaves_nothing() {
    let place = Place::new();
    place.write("file", "x");
    place.write("taken.toml", "x");
    for (args, code, what) in [
        (&["capture"][..], 2, "DEVICE"),
        (&["capture", "file"], 2, "is not a block device"),
        (&["capture", "no\nwhere"], 2, "no\\nwhere is not there"),
        (&["capture", "/dev/null"], 2, "is not a block device"),
        (&["capture", "/dev/null", "--for", "10ms"], 2, "a second at least"),
        (&["capture", "/dev/null", "--buffer", "1B"], 2, "8KiB to 1GiB"),
        (&["capture", "/dev/null", "--out", "taken.toml"], 5, "taken.toml"),
        (&["capture", "--show", "file"], 3, "file"),
        (&["capture", "--show", "none"], 3, "cannot be read"),
    ] {
        let said = place.assay(args);
        assert!(said.code == Some(code) && said.err.contains(what), "{args:?}: {said:?}");
    }
    let _guard = LOOKED_AT.read().unwrap();
    let (Some(instances), Some(idle)) = (instances(), Loop::over(&place, "image", 16 << 20)) else { return };
    let said = place.assay(&["capture", idle.path(), "--for", "1s", "--out", "idle.toml"]);
    assert!(said.code == Some(2) && said.err.contains("had no request in"), "{said:?}");
    assert!(!place.path("idle.toml").exists());
    // Without tracefs, as in a container: the command that helps is named.
    let hidden = "mount -t tmpfs none /sys/kernel/tracing && (umount /sys/kernel/debug/tracing; mount -t tmpfs none /sys/kernel/debug; true) \
                  && exec \"$0\" capture \"$1\" --for 1s";
    let mut command = std::process::Command::new("unshare");
    command.args(["-m", "sh", "-c", hidden, env!("CARGO_BIN_EXE_assay"), idle.path()]);
    let said = Said::of(command.output().unwrap(), &["capture without tracefs"]);
    assert!(said.code == Some(5) && said.err.contains("mount -t tracefs"), "{said:?}");
    let left: Vec<String> = named(&instances, "assay-").into_iter().filter(|name| is_of_nobody(name)).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Whether an instance is of a process that is gone.
fn is_of_nobody(name: &str) -> bool {
    let number = name.strip_prefix("assay-").and_then(|number| number.parse::<u32>().ok());
    number.is_some_and(|number| !Path::new(&format!("/proc/{number}")).exists())
}

/// A device that is removed while it is captured ends the capture with what was seen.
#[test]
fn a_device_that_goes_away_ends_the_capture() {
    let Some(instances) = instances() else { return };
    let place = Place::new();
    let _guard = LOOKED_AT.read().unwrap();
    let Some(disk) = Zram::of(64 << 20) else { return };
    let running = load(&place, &disk, LOAD, "run");
    let capture = place.begin(&["capture", disk.path(), "--for", "1h"]);
    let own = instances.join(format!("assay-{}", capture.pid()));
    until("its instance", || own.exists());
    std::thread::sleep(std::time::Duration::from_secs(2));
    drop(running);
    disk.until_free();
    drop(disk);
    let said = capture.end();
    assert!(said.code == Some(0) && said.err.contains("the device went away"), "{said:?}");
    assert!(said.out.contains("[application.reads]") && !own.exists(), "{said:?}");
}
