//! `suite mounts` on two trees, one of which is slower by a fifth: the difference is found.

use crate::bed::Place;
use assay_faultfs::FaultTree;
use std::fs;

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
