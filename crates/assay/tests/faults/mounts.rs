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
struct Loop(String);

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

#[test]
fn a_suite_goes_on_when_a_file_system_has_another_size() {
    // The loop device goes after what is mounted on it.
    let (image, device);
    let mut mounted = MountPoint::unmounted("");
    let point = mounted.point();
    image = mounted.place.path("image");
    fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
    match Loop::make_over(&image) {
        Ok(made) => device = made,
        Err(why) => return eprintln!("skipped: no loop device: {why}"),
    }
    let mount = ["mount", &device.0, text_of(&point)];
    if let Err(why) = succeeds(&["mkfs.ext4", "-q", "-F", &device.0, "40M"]).and_then(|()| succeeds(&mount)) {
        return eprintln!("skipped: no ext4 on a loop device: {why}");
    }
    mounted.layers = 1;
    mounted.place.write("short.toml", &short());
    fs::create_dir(mounted.place.path("a")).unwrap();
    let one_round: Vec<&str> = SHORT_SUITE.iter().map(|word| if *word == "3" { "1" } else { word }).collect();
    let first = mounted.place.assay(&[&one_round[..], &["--out", "s"]].concat());
    assert_eq!(first.code, Some(0), "{first:?}");
    succeeds(&["umount", text_of(&point)]).unwrap();
    succeeds(&["e2fsck", "-fy", &device.0]).unwrap();
    succeeds(&["resize2fs", &device.0]).unwrap();
    succeeds(&mount).unwrap();
    let again = mounted.place.assay(&[&SHORT_SUITE[..], &["--resume", "s", "--json"]].concat());
    assert_eq!(again.code, Some(0), "{again:?}");
    assert_eq!(runs_of(&again.json(), 1), [1, 2, 3]);
}
