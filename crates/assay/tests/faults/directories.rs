//! Runs on a directory of a file system that fails or lies: each fault × what the run then says, and what it leaves there.

use crate::bed::{Log, Place, Said};
use assay_faultfs::FaultTree;
use assay_record::EventKind;
use std::fs;
use std::path::PathBuf;

pub(crate) const MIX: &str = r#"
name = "mix"
model = "files"
clients = 3
rate = "200/s"
duration = "4s"
slice = "4s"
interval = "500ms"
cache = "drop"
io = "4KiB"
[tree]
files = 60
size = "8KiB"
width = 20
[[do]]
name = "deliver"
steps = [["create", "write", "fsync", "close"], ["unlink"]]
[[do]]
name = "look"
steps = ["stat", "open", "read", "close"]
share = 3
"#;

/// A place with the workload and a mounted tree; `None` where FUSE cannot be mounted, which it says.
pub(crate) struct Mounted {
    pub(crate) place: Place,
    pub(crate) tree: FaultTree,
}

impl Mounted {
    pub(crate) fn new(workload: &str) -> Option<Mounted> {
        let place = Place::new();
        place.write("w.toml", workload);
        fs::create_dir(place.path("mount")).unwrap();
        match FaultTree::mount(&place.path("mount")) {
            Ok(tree) => Some(Mounted { place, tree }),
            Err(why) => {
                eprintln!("skipped: no tree can be mounted: {why}");
                None
            }
        }
    }

    /// A run whose load meets the faults from its first interval on.
    fn run_with(&self, faults: &str) -> (Said, Log) {
        let running = self.place.start(&["run", "w.toml", "mount"], 1);
        self.tree.set(faults);
        let said = running.end();
        (said, Log::of(&self.place.path("run")))
    }

    pub(crate) fn entries(&self) -> Vec<PathBuf> {
        fs::read_dir(self.place.path("mount")).unwrap().map(|entry| entry.unwrap().path()).collect()
    }
}

pub(crate) fn texts(log: &Log, kind: &EventKind) -> Vec<String> {
    log.events.iter().filter(|event| event.what == *kind).map(|event| event.text.clone()).collect()
}

#[test]
fn errors_are_counted_by_kind_and_operation_and_fail_the_run() {
    for (fault, operation, error) in [
        ("write.errno=ENOSPC write.every=5", "write", "ENOSPC"),
        ("fsync.errno=EIO fsync.every=5", "fsync", "EIO"),
        ("close.errno=EDQUOT close.every=9", "close", "EDQUOT"),
        ("create.errno=EROFS create.every=5", "create", "EROFS"),
    ] {
        let Some(mounted) = Mounted::new(MIX) else { return };
        let (said, log) = mounted.run_with(fault);
        assert_eq!(said.code, Some(10), "{fault}: {said:?}");
        assert!(log.stream(operation).errors.contains_key(error), "{fault}: {:?}", log.stream(operation).errors);
        log.adds_up();
        assert!(mounted.entries().is_empty(), "{fault}: {:?}", mounted.entries());
    }
}

#[test]
fn a_tree_that_cannot_be_removed_is_named_and_removed_later() {
    let Some(mounted) = Mounted::new(MIX) else { return };
    let (said, log) = mounted.run_with("unlink.errno=EROFS");
    assert_eq!(said.code, Some(10), "{said:?}");
    let own = mounted.entries().pop().unwrap().file_name().unwrap().to_string_lossy().into_owned();
    let stays = texts(&log, &EventKind::Warning);
    assert!(stays.iter().any(|text| text.contains(&own) && text.contains("stays")), "{stays:?}");
    mounted.tree.set("unlink.errno=off");
    let cleaned = mounted.place.assay(&["clean", "mount"]);
    assert!(cleaned.code == Some(0) && mounted.entries().is_empty(), "{cleaned:?}");
}

#[test]
fn lies_are_found_by_name_when_all_is_compared() {
    for (fault, word) in [("lost_every=7", "lost"), ("torn_every=7", "torn")] {
        let Some(mounted) = Mounted::new(MIX) else { return };
        let (said, log) = mounted.run_with(fault);
        assert_eq!(said.code, Some(10), "{fault}: {said:?}");
        let broken = texts(&log, &EventKind::ConditionBroken);
        assert!(broken[0].contains(word) && broken.len() > 1, "{fault}: {broken:?}");
        assert!(broken[1..].iter().all(|text| text.starts_with('d')), "each names a file: {broken:?}");
        assert!(mounted.entries().is_empty(), "{fault}");
    }
}

/// Files are dropped from the page cache before the load begins, and the disk fails then.
#[test]
fn a_phase_that_cannot_begin_ends_the_run_at_once_and_blames_nobody() {
    // Making and dropping these files takes long enough to fail in between.
    let Some(mounted) = Mounted::new(&MIX.replace("files = 60", "files = 3000")) else { return };
    let running = mounted.place.begin(&["run", "w.toml", "mount", "--out", "run"]);
    // From here on only the drop synchronises files: the marker, which is synchronised too, is there.
    let tree_is_being_made = |own: &PathBuf| fs::read_dir(own).is_ok_and(|entries| entries.count() > 1);
    crate::bed::until("the first entry of the tree", || mounted.entries().iter().any(tree_is_being_made));
    mounted.tree.set("fsync.errno=EIO");
    let said = running.end();
    mounted.tree.set("fsync.errno=off");
    let log = Log::of(&mounted.place.path("run"));
    if log.intervals.is_empty() {
        assert_eq!(said.code, Some(11), "{said:?}");
        assert!(texts(&log, &EventKind::EngineFailed)[0].contains("could not be dropped from the page cache: EIO"));
    } else {
        assert_eq!(said.code, Some(10), "the load met the error instead: {said:?}");
    }
}

#[test]
fn a_run_goes_on_after_an_interruption_only_where_nothing_is_lost_by_it() {
    let Some(mounted) = Mounted::new(&MIX.replace("cache =", "verify = false\ncache =")) else { return };
    let running = mounted.place.start(&["run", "w.toml", "mount"], 1);
    running.signal(libc::SIGTERM);
    let said = running.end();
    assert!(said.code == Some(12) && said.out.contains("--resume"), "{said:?}");
    assert!(mounted.entries().is_empty(), "{:?}", mounted.entries());
    let said = mounted.place.assay(&["run", "w.toml", "mount", "--resume", "run"]);
    assert!(said.passed_or_late(), "{said:?}");
    // What is compared in the end is not what the first part wrote.
    let Some(compared) = Mounted::new(MIX) else { return };
    let running = compared.place.start(&["run", "w.toml", "mount"], 1);
    running.signal(libc::SIGTERM);
    let said = running.end();
    assert!(said.code == Some(12) && !said.out.contains("--resume"), "{said:?}");
    let refused = compared.place.assay(&["run", "w.toml", "mount", "--resume", "run"]);
    assert!(refused.code == Some(2) && refused.err.contains("start another run"), "{refused:?}");
}

/// Two clients whose appends take 50 ms each carry 40 a second: four times the 10 that stand for 5 streams. A load beyond
/// that waits longer and longer; within four seconds the wait reaches a second at some 5.3x.
const STREAMS: &str = r#"
name = "streams"
model = "files"
clients = 2
rate = "10/s"
arrival = "steady"
stands_for = "5 streams"
duration = "4s"
slice = "4s"
interval = "500ms"
cache = "warm"
io = "4KiB"
verify = false
[tree]
files = 4
size = "4KiB"
[[do]]
name = "record"
steps = ["append"]
[[criterion]]
stream = "record"
share_over = "1s"
at_most = "0%"
window = "4s"
"#;

#[test]
fn the_most_streams_without_a_late_second_are_found_and_said() {
    let Some(mounted) = Mounted::new(STREAMS) else { return };
    mounted.tree.set("write.delay=50ms");
    let args = ["limit", "w.toml", "mount", "--resolution", "1x", "--to", "16x", "--out", "limit"];
    let said = mounted.place.assay(&args);
    let text = fs::read_to_string(mounted.place.path("limit/limit.json")).unwrap();
    let path: serde_json::Value = serde_json::from_str(&text).unwrap();
    let verdict_at = |load: &str| {
        let runs = path["runs"].as_array().unwrap();
        runs.iter().find(|run| run["load"] == load).map(|run| run["verdict"].as_str().unwrap().to_owned())
    };
    // What proves nothing on a machine that is late says nothing about the tree.
    assert_ne!(verdict_at("1x").as_deref(), Some("FAIL"), "{said:?}");
    assert_ne!(verdict_at("8x").as_deref(), Some("PASS"), "{said:?}");
    if said.code == Some(0) {
        let told = crate::bed::in_one_line(&said.out);
        let found = (3..=7).any(|load| told.contains(&format!("{load}x is {} streams", load * 5)));
        assert!(found, "{told}");
    }
    assert!(mounted.entries().is_empty(), "{:?}", mounted.entries());
}
