//! `suite mounts` on two trees, one of which is slower by a fifth: the difference is found. One that is lost ends its own runs, and
//! no others.

use crate::bed::{Place, Said, until};
use crate::directories_mounts::{MountPoint, succeeds, text_of};
use assay_faultfs::FaultTree;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

const MIX: &str = r#"
name = "mix"
model = "files"
clients = 1
closed = true
duration = "2s"
slice = "2s"
interval = "500ms"
cache = "warm"
verify = false
io = "4KiB"
[tree]
files = 40
size = "4KiB"
[[do]]
name = "settle"
steps = ["fsync"]
"#;

#[test]
fn a_mount_that_is_slower_by_a_fifth_is_found() {
    let place = Place::new();
    place.write("mix.toml", MIX);
    let mut trees = Vec::new();
    for name in ["a", "b"] {
        fs::create_dir(place.path(name)).unwrap();
        match FaultTree::mount(&place.path(name)) {
            Ok(tree) => trees.push(tree),
            Err(why) => return eprintln!("skipped: no tree can be mounted: {why}"),
        }
    }
    // Long beside what a busy machine adds to each call.
    trees[0].set("fsync.delay=50ms");
    trees[1].set("fsync.delay=60ms");
    let said = place.assay(&[
        "suite",
        "mounts",
        "first=a",
        "second=b",
        "--workloads",
        "mix.toml",
        "--for",
        "2s",
        "--memory",
        "none",
        "--out",
        "s",
        "--json",
    ]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let json = said.json();
    assert_eq!(json["members"][0]["class"], "shared");
    let table = &json["comparison"]["tables"][0];
    let row = table["rows"].as_array().unwrap().iter().find(|row| row["stream"] == "settle").unwrap();
    let p50 = row["figures"].as_array().unwrap().iter().find(|figure| figure["what"] == "p50").unwrap();
    let answer = &p50["against_first"][0];
    assert!(answer["answer"] == "differs" && answer["low"].as_f64().unwrap() > 1.0, "{p50}");
    let sentence = table["conclusions"][0]["sentence"].as_str().unwrap();
    assert!(sentence.starts_with("second is 1.") && sentence.contains("slower"), "{sentence}");
}

/// Short runs without a sync, which would prove nothing in memory.
fn short() -> String {
    let look = "name = \"look\"\nsteps = [\"stat\", \"open\", \"read\", \"close\"]";
    MIX.replace("name = \"mix\"", "name = \"short\"").replace("name = \"settle\"\nsteps = [\"fsync\"]", look)
}

const SHORT_SUITE: [&str; 12] = [
    "suite",
    "mounts",
    "one=a",
    "two=mount",
    "--workloads",
    "short.toml",
    "--for",
    "1s",
    "--memory",
    "none",
    "--rounds",
    "3",
];

/// Three rounds; as soon as the first one is over, `lose` takes the second mount away.
fn suite_that_loses_a_mount(place: &Place, lose: impl FnOnce()) -> Said {
    place.write("short.toml", &short());
    fs::create_dir(place.path("a")).unwrap();
    let running = place.begin(&[&SHORT_SUITE[..], &["--out", "s", "--json"]].concat());
    until("the first round", || place.path("s/two-short-round-1/verdict.json").exists());
    lose();
    running.end()
}

fn runs_of(json: &Value, member: u64) -> Vec<u64> {
    let runs = json["runs"].as_array().unwrap().iter().filter(|run| run["member"] == member);
    runs.map(|run| run["round"].as_u64().unwrap()).collect()
}

/// The other mount has all of its runs, and who lost what is said everywhere.
fn only_the_second_is_lost(place: &Place, said: &Said) {
    let json = said.json();
    assert_eq!(runs_of(&json, 0), [1, 2, 3], "{said:?}");
    assert!(runs_of(&json, 1).len() < 3, "{said:?}");
    assert_eq!(json["lost"].as_array().unwrap().len(), 1, "{said:?}");
    assert_eq!(json["lost"][0]["label"], "two");
    let page = fs::read_to_string(place.path("s/suite.html")).unwrap();
    assert!(page.contains("two was lost at short on two, round ") && said.err.contains("two was lost at"), "{said:?}");
}

#[test]
fn a_mount_that_is_taken_away_ends_its_own_runs_alone() {
    let Some(mut mounted) = MountPoint::in_memory("") else { return };
    let point = mounted.point();
    let said = suite_that_loses_a_mount(&mounted.place, || succeeds(&["umount", "-l", text_of(&point)]).unwrap());
    mounted.layers = 0;
    assert_eq!(said.code, Some(10), "a run on it failed: {said:?}");
    only_the_second_is_lost(&mounted.place, &said);
    // Whoever mounts it again goes on; what failed stays.
    mounted.mount_over().unwrap();
    let again = mounted.place.assay(&[&SHORT_SUITE[..], &["--resume", "s", "--json"]].concat());
    assert_eq!((again.code, runs_of(&again.json(), 1)), (Some(10), vec![1, 2, 3]), "{again:?}");
    assert!(again.json()["lost"].is_null());
    // What is in memory is another one when it is mounted anew, and that cannot be overlooked.
    let marks = again.json()["watermarks"].to_string();
    assert!(marks.contains("MOUNTED ANEW: two was mounted again between its rounds"), "{marks}");
    let page = fs::read_to_string(mounted.place.path("s/suite.html")).unwrap();
    assert!(page.contains("MOUNTED ANEW"));
}

#[test]
fn a_mount_on_which_nothing_can_begin_ends_its_own_runs_alone() {
    let place = Place::new();
    fs::create_dir(place.path("mount")).unwrap();
    let tree = match FaultTree::mount(&place.path("mount")) {
        Ok(tree) => tree,
        Err(why) => return eprintln!("skipped: no tree can be mounted: {why}"),
    };
    let said = suite_that_loses_a_mount(&place, || tree.set("stale=1"));
    assert!(said.code == Some(10) || said.code == Some(12), "{said:?}");
    only_the_second_is_lost(&place, &said);
    assert!(said.err.contains("ESTALE"), "{said:?}");
}

/// A loop device over a file, until it is dropped.
pub(crate) struct Loop(pub(crate) String);

impl Loop {
    fn make_over(image: &Path) -> Result<Loop, String> {
        let made = Command::new("losetup").args(["-f", "--show", "--direct-io=on"]).arg(image).output();
        let made = made.map_err(|why| why.to_string())?;
        if !made.status.success() {
            return Err(String::from_utf8_lossy(&made.stderr).into_owned());
        }
        Ok(Loop(String::from_utf8_lossy(&made.stdout).trim().to_owned()))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = succeeds(&["losetup", "-d", &self.0]);
    }
}

/// A file system on a loop device of ours, mounted where the second member of a suite is.
pub(crate) struct OnLoop {
    // The loop device goes after what is mounted on it.
    pub(crate) mounted: MountPoint,
    pub(crate) device: Loop,
}

impl OnLoop {
    /// A device of this size; `None` where there is no loop device, which it says.
    pub(crate) fn with_size(bytes: u64) -> Option<OnLoop> {
        let mounted = MountPoint::unmounted("");
        let image = mounted.place.path("image");
        fs::File::create(&image).unwrap().set_len(bytes).unwrap();
        match Loop::make_over(&image) {
            Ok(device) => {
                mounted.place.write("short.toml", &short());
                fs::create_dir(mounted.place.path("a")).unwrap();
                Some(OnLoop { mounted, device })
            }
            Err(why) => {
                eprintln!("skipped: no loop device: {why}");
                None
            }
        }
    }

    /// Makes a file system with a command that takes the device last but for `more`, and mounts it.
    pub(crate) fn make(&mut self, command: &[&str], more: &[&str]) -> bool {
        let made = succeeds(&[command, &[self.device.0.as_str()], more].concat()).and_then(|()| self.mount());
        made.map_err(|why| eprintln!("skipped: no file system by {}: {why}", command[0])).is_ok()
    }

    fn mount(&mut self) -> Result<(), String> {
        succeeds(&["mount", &self.device.0, text_of(&self.mounted.point())])?;
        self.mounted.layers = 1;
        Ok(())
    }

    fn unmount(&mut self) {
        succeeds(&["umount", text_of(&self.mounted.point())]).unwrap();
        self.mounted.layers = 0;
    }

    /// One round, or all three.
    fn suite(&self, rounds: &str, more: &[&str]) -> Said {
        let words = SHORT_SUITE.iter().map(|word| if *word == "3" { rounds } else { *word });
        self.mounted.place.assay(&[&words.collect::<Vec<_>>()[..], more].concat())
    }
}

#[test]
fn a_suite_goes_on_when_a_file_system_has_another_size() {
    let Some(mut disk) = OnLoop::with_size(64 << 20) else { return };
    if !disk.make(&["mkfs.ext4", "-q", "-F"], &["40M"]) {
        return;
    }
    let first = disk.suite("1", &["--out", "s"]);
    assert_eq!(first.code, Some(0), "{first:?}");
    disk.unmount();
    succeeds(&["e2fsck", "-fy", &disk.device.0]).unwrap();
    succeeds(&["resize2fs", &disk.device.0]).unwrap();
    disk.mount().unwrap();
    let again = disk.suite("3", &["--resume", "s", "--json"]);
    assert_eq!(again.code, Some(0), "{again:?}");
    assert_eq!(runs_of(&again.json(), 1), [1, 2, 3]);
    assert!(!again.json()["watermarks"].to_string().contains("MOUNTED ANEW"), "{again:?}");
}

#[test]
fn rounds_of_another_file_system_at_the_same_path_are_not_joined() {
    for (command, bytes) in [(&["mkfs.ext4", "-q", "-F"][..], 64 << 20), (&["mkfs.xfs", "-q", "-f"], 320 << 20)] {
        let Some(mut disk) = OnLoop::with_size(bytes) else { return };
        if !disk.make(command, &[]) {
            continue;
        }
        let first = disk.suite("1", &["--out", "s"]);
        assert_eq!(first.code, Some(0), "{first:?}");
        disk.unmount();
        disk.mount().unwrap();
        let same = disk.suite("2", &["--resume", "s", "--json"]);
        assert_eq!((same.code, runs_of(&same.json(), 1)), (Some(0), vec![1, 2]), "{command:?}: {same:?}");
        disk.unmount();
        assert!(disk.make(command, &[]));
        let kept = fs::read(disk.mounted.place.path("s/suite.json")).unwrap();
        let other = disk.suite("3", &["--resume", "s"]);
        assert_eq!(other.code, Some(2), "{command:?}: {other:?}");
        assert!(other.err.contains("two has another file system than in its earlier rounds"), "{other:?}");
        // The document may be lost: the logs know it too.
        assert_eq!(fs::read(disk.mounted.place.path("s/suite.json")).unwrap(), kept);
        let json: Value = serde_json::from_slice(&kept).unwrap();
        let mut without = json.clone();
        without["runs"].as_array_mut().unwrap().clear();
        fs::write(disk.mounted.place.path("s/suite.json"), without.to_string()).unwrap();
        let by_logs = disk.suite("3", &["--resume", "s"]);
        assert_ne!(by_logs.code, Some(0), "{by_logs:?}");
        assert!(by_logs.err.contains("file system"), "{by_logs:?}");
    }
}

/// How many suites are made; `ASSAY_SUITES=20` is the campaign.
const SUITES: &str = "ASSAY_SUITES";

/// Figures of one workload go together (mean and percentiles of a stream, streams of one run), so that a single suite may have several
/// that differ, or none; over many suites they are one in twenty.
#[test]
fn of_two_directories_of_one_disk_about_one_figure_in_twenty_differs() {
    let suites: u64 = std::env::var(SUITES).ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let Some(mut disk) = OnLoop::with_size(128 << 20) else { return };
    if !disk.make(&["mkfs.ext4", "-q", "-F"], &[]) {
        return;
    }
    let place = &disk.mounted.place;
    for member in ["b", "c"] {
        fs::create_dir(place.path("mount").join(member)).unwrap();
    }
    let (mut told, mut differing) = (0, 0);
    for number in 0..suites {
        let out = format!("s{number}");
        let members = ["suite", "mounts", "one=mount/b", "two=mount/c", "--workloads", "short.toml", "--for", "1s"];
        let said =
            place.assay(&[&members[..], &["--memory", "none", "--rounds", "5", "--out", &out, "--json"]].concat());
        assert!(matches!(said.code, Some(0 | 11)), "{said:?}");
        let comparison = &said.json()["comparison"];
        told += comparison["told"].as_u64().unwrap();
        differing += comparison["differing"].as_u64().unwrap();
        eprintln!("after {} suites {differing} of {told} figures differ", number + 1);
    }
    let most = if suites >= 20 { 0.12 } else { 0.75 };
    assert!(told > 0 && differing as f64 <= told as f64 * most, "{differing} of {told}");
}
