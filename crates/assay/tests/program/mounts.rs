//! `suite mounts`: each workload runs on each mount in each round, in rotated order; what was measured is compared, and an interrupted
//! suite goes on with what is missing.

use super::bed::{Place, Said, until};
use super::procedures::cut;
use serde_json::Value;
use std::fs;

/// Closed, so that the machine cannot be late, and short.
const MIX: &str = r#"
name = "mix"
model = "files"
clients = 2
closed = true
duration = "1s"
slice = "1s"
interval = "250ms"
cache = "warm"
io = "4KiB"
[tree]
files = 40
size = "4KiB"
[[do]]
name = "look"
steps = ["stat", "open", "read", "close"]
"#;

const PHASES: &str = r#"
name = "phases"
model = "files"
clients = 2
closed = true
duration = "1min"
slice = "1min"
[tree]
files = 50
size = "4KiB"
empty = true
[[phase]]
name = "make"
until = "done"
[[phase.do]]
name = "make"
steps = ["create", "write", "close"]
[[phase]]
name = "ask"
until = "done"
[[phase.do]]
name = "stat"
steps = ["stat"]
"#;

fn place() -> Place {
    let place = Place::new();
    place.write("mix.toml", MIX);
    place.write("phases.toml", PHASES);
    for name in ["a", "b"] {
        fs::create_dir(place.path(name)).unwrap();
    }
    place
}

fn suite(place: &Place, more: &[&str]) -> Said {
    let command = ["suite", "mounts", "one=a", "two=b", "--memory", "none"];
    place.assay(&[&command[..], more].concat())
}

/// The directories of the runs in the order in which they ended. Their logs say only in which second they began.
fn runs_in_order(place: &Place, dir: &str) -> Vec<String> {
    let mut runs = Vec::new();
    for entry in fs::read_dir(place.path(dir)).unwrap() {
        let path = entry.unwrap().path();
        let Ok(log) = fs::metadata(path.join("run.jsonl")) else { continue };
        runs.push((log.modified().unwrap(), path.file_name().unwrap().to_string_lossy().into_owned()));
    }
    runs.sort();
    runs.into_iter().map(|(_, name)| name).collect()
}

fn is_empty(place: &Place, dir: &str) -> bool {
    fs::read_dir(place.path(dir)).unwrap().next().is_none()
}

#[test]
fn each_workload_runs_on_each_mount_in_rotated_order_and_is_compared() {
    let place = place();
    let said = suite(
        &place,
        &[
            "--workloads",
            "mix.toml,phases.toml",
            "--rounds",
            "3",
            "--for",
            "1s",
            "--about",
            "two.media=8 SAS disks",
            "--out",
            "s",
            "--json",
        ],
    );
    assert_eq!(said.code, Some(0), "{said:?}");
    let json = said.json();
    assert_eq!((json["schema"].as_u64(), json["compared"].as_str()), (Some(1), Some("mounts")));
    assert_eq!(json["runs"].as_array().unwrap().len(), 2 * 2 * 3);
    let tables = json["comparison"]["tables"].as_array().unwrap();
    assert_eq!(tables.len(), 1, "both are on one file system");
    let remarks = json["remarks"].to_string();
    assert!(remarks.contains("one and two are on one mount"), "{remarks}");
    assert_eq!(json["members"][1]["about"]["media"], "8 SAS disks");
    assert_eq!(tables[0]["labels"], serde_json::json!(["one", "two"]));
    let streams: Vec<(&str, Option<u64>, &str)> = tables[0]["rows"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["principal"] == true)
        .map(|row| (row["workload"].as_str().unwrap(), row["step"].as_u64(), row["stream"].as_str().unwrap()))
        .collect();
    assert_eq!(streams, [("mix", None, "look"), ("phases", Some(1), "make"), ("phases", Some(2), "stat")]);
    let told = json["comparison"]["told"].as_u64().unwrap();
    let differing = json["comparison"]["differing"].as_u64().unwrap();
    assert!(told >= 12 && differing <= told, "{told} {differing}");
    let order = runs_in_order(&place, "s");
    let firsts: Vec<&str> = order.iter().step_by(2).map(|run| run.split('-').next().unwrap()).collect();
    assert_eq!(firsts, ["one", "one", "two", "two", "one", "one"], "{order:?}");
    // Each run is an ordinary one: its log has the mount, and its own result.
    let header: Value = serde_json::from_str(
        fs::read_to_string(place.path("s/one-mix-round-1/run.jsonl")).unwrap().lines().next().unwrap(),
    )
    .unwrap();
    for fact in ["mount source", "mount type", "mount options", "mount class"] {
        assert!(header["targets"][0]["facts"][fact].is_string(), "{fact}: {}", header["targets"][0]);
    }
    // What was in the page cache before stands beside, where the kernel says it.
    let facts = &header["targets"][0]["facts"];
    let run = json["runs"].as_array().unwrap().iter().find(|run| run["directory"] == "one-mix-round-1").unwrap();
    let ceiling = &json["comparison"]["ceilings"][0];
    for (is_said, shares) in [("run", &run["cached"]), ("ceiling", &ceiling["cached"])] {
        let is_known = shares["lowest"].as_f64().is_some_and(|lowest| lowest <= shares["highest"].as_f64().unwrap());
        assert!(is_known || facts["file system"] == "tmpfs", "{is_said}: {shares} {facts}");
    }
    assert!(place.path("s/two-phases-round-3/verdict.json").exists() && place.path("s/suite.json").exists());
    let page = fs::read_to_string(place.path("s/suite.html")).unwrap();
    assert!(page.contains("Suite of mounts") && page.contains("<svg"));
    assert!(is_empty(&place, "a") && is_empty(&place, "b"));
}

#[test]
fn a_killed_suite_goes_on_with_what_is_missing() {
    let place = place();
    let options = ["--workloads", "mix.toml", "--rounds", "3", "--for", "1s"];
    let command = ["suite", "mounts", "one=a", "two=b", "--memory", "none", "--out", "s"];
    let running = place.begin(&[&command[..], &options].concat());
    let third = place.path("s/two-mix-round-2/run.jsonl");
    until("the third run", || fs::read_to_string(&third).is_ok_and(|text| text.contains("\"kind\":\"interval\"")));
    running.signal(libc::SIGKILL);
    running.end_with_signal();
    let first = fs::read(place.path("s/one-mix-round-1/run.jsonl")).unwrap();
    let said = suite(&place, &[&options[..], &["--resume", "s", "--json"]].concat());
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(fs::read(place.path("s/one-mix-round-1/run.jsonl")).unwrap(), first, "what was whole is not made again");
    let json = said.json();
    assert_eq!(json["runs"].as_array().unwrap().len(), 6);
    let repeated = json["repeated"].as_array().unwrap();
    assert_eq!(repeated.len(), 1);
    assert_eq!(
        (repeated[0]["directory"].as_str(), repeated[0]["verdict"].as_str()),
        (Some("two-mix-round-2"), Some("INCOMPLETE"))
    );
    assert!(place.path("s/two-mix-round-2-2/run.jsonl").exists());
    // What the killed one left in the mount is for assay clean.
    assert_eq!(place.assay(&["clean", "b"]).code, Some(0));
    assert!(is_empty(&place, "a") && is_empty(&place, "b"));
    // More rounds may be added, and nothing else may change.
    let again = suite(&place, &["--workloads", "mix.toml", "--rounds", "4", "--for", "1s", "--resume", "s", "--json"]);
    assert_eq!((again.code, again.json()["runs"].as_array().unwrap().len()), (Some(0), 8), "{again:?}");
    let other = suite(&place, &["--workloads", "phases.toml", "--rounds", "3", "--resume", "s"]);
    assert!(other.code == Some(2) && other.err.contains("it is of other workloads"), "{other:?}");
}

#[test]
fn a_failure_that_a_killed_run_recorded_is_not_forgotten_and_not_repeated() {
    let place = place();
    let options = ["--workloads", "mix.toml", "--rounds", "1", "--for", "1s"];
    assert_eq!(suite(&place, &[&options[..], &["--out", "s"]].concat()).code, Some(0));
    cut(&place.path("s/two-mix-round-1/run.jsonl"), true);
    let said = suite(&place, &[&options[..], &["--resume", "s", "--json"]].concat());
    assert_eq!(said.code, Some(10), "{said:?}");
    let json = said.json();
    assert_eq!(json["failures"][0]["directory"], "two-mix-round-1");
    assert!(said.out.contains("1 EIO") && !place.path("s/two-mix-round-1-2").exists(), "{said:?}");
    // Whoever removes its log.
    fs::remove_dir_all(place.path("s/two-mix-round-1")).unwrap();
    let again = suite(&place, &[&options[..], &["--resume", "s", "--json"]].concat());
    assert!(again.code == Some(10) && again.out.contains("1 EIO"), "{again:?}");
}

/// A run of a round that nobody asks for any more, of which the suite did not hear before it was killed.
#[test]
fn a_broken_bound_in_a_round_that_is_not_asked_for_any_more_is_not_forgotten() {
    let place = place();
    let options = ["--workloads", "mix.toml", "--for", "1s"];
    assert_eq!(suite(&place, &[&options[..], &["--rounds", "2", "--out", "s"]].concat()).code, Some(0));
    // Reads so long that no lateness of this machine matters.
    let long = MIX.replace("io = \"4KiB\"", "io = \"32MiB\"").replace("files = 40", "files = 4");
    let bound = "[[criterion]]\nstream = \"look\"\nshare_over = \"500us\"\nat_most = \"0%\"\n";
    place.write("broken.toml", &(long.replace("size = \"4KiB\"", "size = \"32MiB\"") + bound));
    // A machine that was too busy proves nothing, and is asked again.
    let mut broken = place.assay(&["run", "broken.toml", "b", "--for", "1s", "--out", "broken"]);
    for _ in 0..9 {
        if broken.code != Some(11) {
            break;
        }
        fs::remove_dir_all(place.path("broken")).unwrap();
        broken = place.assay(&["run", "broken.toml", "b", "--for", "1s", "--out", "broken"]);
    }
    assert_eq!(broken.code, Some(10), "{broken:?}");
    fs::copy(place.path("broken/run.jsonl"), place.path("s/two-mix-round-2/run.jsonl")).unwrap();
    let kept = place.path("s/suite.json");
    let mut json: Value = serde_json::from_str(&fs::read_to_string(&kept).unwrap()).unwrap();
    json["runs"].as_array_mut().unwrap().retain(|run| run["directory"] != "two-mix-round-2");
    fs::write(&kept, json.to_string()).unwrap();
    let said = suite(&place, &[&options[..], &["--rounds", "1", "--resume", "s", "--json"]].concat());
    assert_eq!((said.code, said.json()["runs"].as_array().unwrap().len()), (Some(10), 4), "{said:?}");
}

#[test]
fn the_same_workload_in_memory_is_a_ceiling_and_leaves_no_mount() {
    let place = place();
    // Where this program mounts a tmpfs: other tests mount file systems elsewhere at the same time.
    let points = ["/mnt", "/media", "/srv", "/var/tmp", "/tmp"];
    let mounts = || {
        let all = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let at_points = all.lines().filter(|line| line.split(' ').nth(4).is_some_and(|point| points.contains(&point)));
        at_points.map(str::to_owned).collect::<Vec<_>>()
    };
    let before = mounts();
    let options = ["--workloads", "mix.toml", "--rounds", "1", "--for", "1s", "--out", "s", "--json"];
    let said = place.assay(&[&["suite", "mounts", "one=a", "two=b"], &options[..]].concat());
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(mounts(), before);
    let json = said.json();
    let ceiling = &json["comparison"]["ceilings"][0];
    let remarks = json["remarks"].as_array().cloned().unwrap_or_default();
    match remarks.iter().find(|why| why.as_str().unwrap().contains("no ceiling by memory")) {
        Some(_) => assert!(ceiling["times_in_memory"].is_null(), "{ceiling}"),
        None => {
            assert!(ceiling["times_in_memory"].as_f64().unwrap() > 0.0, "{ceiling}");
            let log = fs::read_to_string(place.path("s/memory-mix-round-0/run.jsonl")).unwrap();
            assert!(log.contains("\"mount type\":\"tmpfs\""));
        }
    }
    assert!(ceiling["rate"].as_f64().unwrap() > 0.0);
}

#[test]
fn what_cannot_be_compared_is_refused_before_anything_is_made() {
    let place = place();
    place.write("file", "");
    for (args, code, says) in [
        (&["one=a"][..], 2, "nothing is compared with one mount"),
        (&["a", "b"], 2, "is not NAME=DIR"),
        (&["one=a", "one=b"], 2, "have the same name one"),
        (&["one=a", "two=file"], 2, "is not a directory"),
        (&["one=a", "two=nothing"], 2, "is not a directory"),
        (&["one=a", "two=/usr"], 4, "belongs to the system"),
        (&["one=a", "two=b", "--workloads", "random-read"], 2, "is not for directories"),
        (&["one=a", "two=b", "--workloads", "mix.toml,mix.toml"], 2, "given twice"),
        (&["one=a", "two=b", "--rounds", "0"], 2, "--rounds"),
        (&["one=a", "two=b", "--about", "three.media=ssd"], 2, "no mount has the name three"),
        (&["one=a", "two=b", "--memory", "a"], 4, "tmpfs"),
        (&["one=a", "two=b", "--load", "2x"], 3, "load"),
    ] {
        let said = place.assay(&[&["suite", "mounts"], args, &["--out", "s"]].concat());
        assert!(said.code == Some(code) && said.err.contains(says), "{args:?}: {said:?}");
        assert!(!place.path("s").exists() && is_empty(&place, "a") && is_empty(&place, "b"), "{args:?}");
    }
}
