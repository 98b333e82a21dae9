//! Certificates of workloads that say how they are certified: their own steps, windows and bounds, other bounds by name, and
//! an answer in one line. The load is a single client that commits; whether it is fast enough is the machine's matter, so
//! that bounds here are either of no concern or impossible to keep.

use super::bed::{Place, in_one_line};
use assay_record::{Entry, Reader, Writer};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

const COMMITS: &str = r#"
name = "commits"
model = "files"
clients = 1
rate = "40/s"
arrival = "steady"
stands_for = "40 commits"
duration = "4s"
slice = "2s"
interval = "500ms"
cache = "warm"
io = "1KiB"
[tree]
files = 2
size = "16KiB"
[[do]]
name = "commit"
steps = ["open", "append", "fdatasync", "close"]
[[criterion]]
stream = "fdatasync"
measure = "service"
p99_at_most = "30s"
operations_at_least = 50
[certify]
for = "4s"
slice = "2s"
[certify.quick]
for = "3s"
slice = "1s"
[[certify.quick.criterion]]
stream = "fdatasync"
measure = "service"
p99_at_most = "20s"
[certify.stress]
load = "2x"
for = "2s"
slice = "1s"
[[certify.stress.criterion]]
stream = "fdatasync"
measure = "service"
max_at_most = "50s"
[limits.strict]
[[limits.strict.criterion]]
stream = "fdatasync"
measure = "service"
p99_at_most = "50us"
"#;

fn place() -> Place {
    let place = Place::new();
    place.write("w.toml", COMMITS);
    fs::create_dir(place.path("data")).unwrap();
    place
}

fn result(place: &Place, run: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(place.path(run).join("verdict.json")).unwrap()).unwrap()
}

fn titles(steps: &[Value]) -> Vec<&str> {
    steps.iter().map(|step| step["title"].as_str().unwrap()).collect()
}

fn is_empty(place: &Place) -> bool {
    fs::read_dir(place.path("data")).unwrap().next().is_none()
}

#[test]
fn a_certificate_has_the_steps_that_its_workload_names_and_answers_in_the_last_line() {
    let place = place();
    let said = place.assay(&["certify", "w.toml", "data", "--keep-going", "--out", "run"]);
    let json = result(&place, "run");
    let steps = json["steps"].as_array().unwrap_or_else(|| panic!("{said:?}"));
    assert_eq!(titles(steps), ["load test at 1x, one directory", "stress test at 2x, one directory"]);
    for (step, slice_ms, slices, bound) in [(&steps[0], 2000, 2, "over 30s"), (&steps[1], 1000, 2, "over 50s")] {
        assert_eq!(step["slice_ns"].as_u64(), Some(slice_ms * 1_000_000), "{}", step["title"]);
        assert_eq!(step["slices"].as_array().map(Vec::len), Some(slices), "{}", step["title"]);
        let criteria = step["criteria"].as_array().unwrap();
        let judged = criteria.iter().map(|criterion| criterion["criterion"].as_str().unwrap()).collect::<Vec<_>>();
        assert!(judged.len() == 2 && judged[1].contains(bound), "{judged:?}");
        assert!(criteria[1]["outcome"] != "not-applied", "a stress step with criteria is judged");
    }
    let answer = json["answer"].as_str().unwrap();
    let last = said.out.trim_end().rsplit("\n\n").next().unwrap().replace('\n', " ");
    assert_eq!(last, answer, "{}", said.out);
    if said.code == Some(0) {
        assert!(answer.starts_with("commits: fit, p99 ") && answer.contains(" of 30000 ms, worst 2 s "), "{answer}");
    }
    assert!(!json["watermarks"].to_string().contains("SHORT"), "{}", json["watermarks"]);
    assert!(is_empty(&place));
    let page = fs::read_to_string(place.path("run/report.html")).unwrap();
    assert!(page.contains("commits: "), "the page answers too");
    // Another mount is another answer: the result names it, with its options, and says how full it is.
    for fact in ["mount type", "mount source", "mount options", "free share"] {
        let known = json["steps"][0]["targets"][0]["facts"][fact].as_str().unwrap_or_else(|| panic!("{fact}: {json}"));
        // Which step the text is about depends on the verdict, and room is taken meanwhile.
        let shown = if fact == "free share" { "% free" } else { known };
        assert!(page.contains(fact) && in_one_line(&said.out).contains(shown), "{fact} {known}: {}", said.out);
    }
    // The log answers the same.
    let again = in_one_line(&place.assay(&["judge", "run"]).out);
    assert!(again.ends_with(&in_one_line(answer)), "{again}");
}

#[test]
fn a_quick_look_is_short_has_its_own_bounds_and_is_no_certificate() {
    let place = place();
    let said = place.assay(&["certify", "w.toml", "data", "--quick", "--out", "run"]);
    let json = result(&place, "run");
    assert!(json["watermarks"].to_string().contains("QUICK"), "{said:?}");
    assert_eq!(json["slices"].as_array().map(Vec::len), Some(3), "{said:?}");
    assert!(json["criteria"][1]["criterion"].as_str().unwrap().contains("over 20s"), "{}", json["criteria"]);
    if said.code == Some(0) {
        assert!(
            json["answer"].as_str().unwrap().starts_with("commits: fit in a quick look, p99 "),
            "{}",
            json["answer"]
        );
    }
    assert!(is_empty(&place));
}

#[test]
fn other_bounds_by_name_decide_and_are_written_into_the_certificate() {
    let place = place();
    let said = place.assay(&["certify", "w.toml", "data", "--limits", "strict", "--keep-going", "--out", "run"]);
    let json = result(&place, "run");
    let answer = json["answer"].as_str().unwrap();
    // A machine that is busy issues operations later than such a short bound allows, and proves nothing.
    match said.code {
        Some(10) => {
            assert!(answer.starts_with("commits (limits strict): not fit: step 1 of 2"), "{answer}");
            assert!(answer.contains(" of 0.05 ms") && answer.ends_with("times the bound"), "{answer}");
        }
        _ => assert!(answer.starts_with("commits (limits strict): nothing is known: "), "{said:?}"),
    }
    let notes = json["steps"][0]["plan"].to_string();
    assert!(notes.contains("limits strict: fdatasync service over 50us at most 1%"), "{notes}");
    let said = place.assay(&["certify", "w.toml", "data", "--limits", "lax"]);
    assert!(said.code == Some(2) && in_one_line(&said.err).contains("there are strict"), "{said:?}");
    assert!(is_empty(&place));
}

#[test]
fn a_percentile_of_too_few_operations_is_never_fit() {
    let place = place();
    place.write("w.toml", &COMMITS.replace("operations_at_least = 50", "operations_at_least = 1000"));
    let said = place.assay(&["certify", "w.toml", "data", "--keep-going", "--out", "run"]);
    let json = result(&place, "run");
    let answer = json["answer"].as_str().unwrap();
    if said.code == Some(11) {
        assert!(
            answer.starts_with("commits: nothing is known: ") && answer.contains("too few: 80 operations"),
            "{answer}"
        );
    }
    assert!(said.code != Some(0), "{said:?}");
}

#[test]
fn what_cannot_be_certified_says_why_and_makes_nothing() {
    let place = place();
    place.write("plain.toml", COMMITS.split("[certify]").next().unwrap());
    for (args, code, told) in [
        (&["certify", "w.toml", "data", "--beside"][..], 2, "does not say what writes beside it"),
        (&["certify", "w.toml", "data", "--beside", "--quick"], 2, "one step only"),
        (&["certify", "plain.toml", "data", "--limits", "strict"], 2, "no others"),
        (&["certify", "plain.toml", "data", "--quick"], 2, "leave out"),
        (&["certify", "w.toml"], 2, "needs a place"),
        (&["certify", "w.toml", "w.toml"], 2, "name a directory"),
        (&["certify", "w.toml", "data", "--expect-fs", "ntfs3"], 4, "ntfs3"),
    ] {
        let said = place.assay(args);
        let err = in_one_line(&said.err);
        assert!(said.code == Some(code) && err.contains(told), "{args:?}: {said:?}");
        assert!(is_empty(&place), "{args:?}");
    }
}

/// A file system of another kind in the place of `data`, until the program has said what it says there.
fn said_on(place: &Place, mount: &[&str], args: &[&str]) -> Option<(Option<i32>, String)> {
    let point = place.path("data");
    let mounted = Command::new("mount").args(mount).arg(&point).output().is_ok_and(|output| output.status.success());
    if !mounted {
        eprintln!("skipped: no {mount:?} can be mounted");
        return None;
    }
    let said = place.assay(args);
    let unmounted = Command::new("umount").arg(&point).status().unwrap();
    assert!(unmounted.success());
    Some((said.code, format!("{} {}", in_one_line(&said.out), in_one_line(&said.err))))
}

#[test]
fn memory_overlays_read_only_and_small_file_systems_are_told_from_a_disk() {
    let place = place();
    let quick = ["certify", "w.toml", "data", "--quick", "--out", "run"];
    if let Some((code, said)) = said_on(&place, &["-t", "tmpfs", "-o", "size=64m", "assay-test"], &quick) {
        assert_eq!(code, Some(11), "{said}");
        assert!(said.contains("commits: nothing is known: nothing was made durable"), "{said}");
    }
    let read_only = ["certify", "w.toml", "data", "--quick", "--out", "read-only"];
    if let Some((code, said)) = said_on(&place, &["-t", "tmpfs", "-o", "size=64m,ro", "assay-test"], &read_only) {
        assert_eq!(code, Some(5), "{said}");
    }
    let small = ["certify", "large.toml", "data", "--quick"];
    place.write("large.toml", &COMMITS.replace("size = \"16KiB\"", "size = \"64MiB\""));
    if let Some((code, said)) = said_on(&place, &["-t", "tmpfs", "-o", "size=16m", "assay-test"], &small) {
        assert_eq!(code, Some(4), "{said}");
    }
    for name in ["upper", "work", "lower"] {
        fs::create_dir(place.path(name)).unwrap();
    }
    let at = |name: &str| place.path(name).to_string_lossy().into_owned();
    let layers = format!("lowerdir={},upperdir={},workdir={}", at("lower"), at("upper"), at("work"));
    let overlay = ["certify", "w.toml", "data", "--quick", "--out", "over"];
    if let Some((code, said)) = said_on(&place, &["-t", "overlay", "-o", &layers, "overlay"], &overlay) {
        assert_eq!(code, Some(4), "{said}");
        assert!(said.contains("is on an overlay") && said.contains("nothing was made"), "{said}");
    }
    assert!(is_empty(&place));
}

#[test]
fn how_far_it_goes_is_said_in_commits_and_curves_and_comparisons_work() {
    let place = place();
    let said = place.assay(&["limit", "w.toml", "data", "--from", "1x", "--to", "2x", "--for", "2s", "--out", "limit"]);
    let path: Value = serde_json::from_str(&fs::read_to_string(place.path("limit/limit.json")).unwrap()).unwrap();
    assert_eq!(path["counted"]["name"], "commits", "{said:?}");
    if said.code == Some(0) {
        assert!(in_one_line(&said.out).contains("80 commits"), "{}", said.out);
    }
    let said = place
        .assay(&["curve", "w.toml", "data", "--max", "2x", "--points", "50%,100%", "--for", "2s", "--out", "curve"]);
    let curve: Value = serde_json::from_str(&fs::read_to_string(place.path("curve/curve.json")).unwrap()).unwrap();
    assert_eq!(curve["points"].as_array().map(Vec::len), Some(2), "{said:?}");
    assert!(is_empty(&place));
}

#[test]
fn a_certificate_is_explained_step_by_step() {
    let place = place();
    let said = place.assay(&["explain", "certify", "w.toml", "data"]);
    assert!(said.code == Some(0), "{said:?}");
    for part in ["load test at 1x, one directory", "stress test at 2x, one directory"] {
        assert!(said.out.contains(part), "{}", said.out);
    }
    assert!(is_empty(&place));
}

/// A server with a log, whose certificate has a step beside a neighbour.
const SERVER: &str = r#"
name = "server"
model = "service"
rate = "40/s"
arrival = "steady"
duration = "2s"
slice = "1s"
interval = "500ms"
[[file]]
name = "log"
size = "4MiB"
made_by = "fallocate"
[writer]
name = "log"
entry = "1100B"
steps = [{ write = "log" }, { fdatasync = "log", name = "log-sync" }]
[[criterion]]
stream = "log-sync"
measure = "service"
p99_at_most = "30s"
[certify]
for = "2s"
slice = "1s"
[certify.beside]
append = "1MB/s"
for = "3s"
slice = "1s"
"#;

#[test]
fn beside_a_neighbour_another_file_grows_and_is_gone_afterwards() {
    let place = place();
    place.write("w.toml", SERVER);
    let said = place.assay(&["certify", "w.toml", "data", "--beside", "--keep-going", "--out", "run"]);
    let json = result(&place, "run");
    let steps = json["steps"].as_array().unwrap_or_else(|| panic!("{said:?}"));
    let titles = titles(steps);
    assert!(titles.len() == 2 && titles[1].starts_with("load test beside") && titles[1].contains("1x"), "{titles:?}");
    let bytes = |step: &Value, name: &str| {
        let streams = step["streams"].as_array().unwrap();
        let stream = streams.iter().find(|stream| stream["name"] == name);
        stream.and_then(|stream| stream["bytes"].as_u64())
    };
    assert_eq!(bytes(&steps[0], "neighbour-write"), None, "the load step is alone");
    let appended = bytes(&steps[1], "neighbour-write").unwrap_or_else(|| panic!("{}", steps[1]["streams"]));
    assert!(appended >= 1_000_000, "{appended} bytes in three seconds: {said:?}");
    assert!(is_empty(&place), "{said:?}");
}

#[test]
fn each_service_that_comes_with_the_program_can_be_certified() {
    let place = place();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads/services");
    let mut names: Vec<String> = Vec::new();
    for file in fs::read_dir(folder).unwrap() {
        names.push(file.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned());
    }
    assert!(names.iter().any(|name| name == "etcd"), "{names:?}");
    for name in names {
        let said = place.assay(&["explain", "certify", &name, "data"]);
        assert!(said.code == Some(0), "{name}: {said:?}");
        for part in ["load test at 1x, one directory", "stress test at 2x, one directory"] {
            assert!(said.out.contains(part), "{name}: {}", said.out);
        }
    }
    let said = place.assay(&["certify", "etcd", "data", "--limits", "none"]);
    assert!(said.code == Some(2) && in_one_line(&said.err).contains("there are openshift"), "{said:?}");
    assert!(is_empty(&place));
}

/// A server whose log is a ring of whole blocks.
const RING: &str = r#"
name = "ring"
model = "service"
rate = "100/s"
arrival = "steady"
streams = true
duration = "3s"
slice = "1s"
interval = "500ms"
[[file]]
name = "log"
size = "1MiB"
made_by = "zeros"
block = "4KiB"
when_full = "start"
[[file]]
name = "pages"
size = "1MiB"
made_by = "written"
block = "4KiB"
[writer]
name = "log"
entry = "600B"
steps = [{ write = "log" }, { fdatasync = "log", name = "log-sync" }]
[[task]]
name = "pages"
each = "100ms"
steps = [{ write = "pages", page = "4KiB", pages_per_commit = 0.5, at = "random" }, { fdatasync = "pages" }]
[[criterion]]
stream = "log-sync"
measure = "service"
max_at_most = "30s"
[certify]
for = "3s"
slice = "1s"
[certify.quick]
for = "3s"
slice = "1s"
[certify.beside]
append = "1MB/s"
for = "3s"
slice = "1s"
"#;

/// On blocks the writer's groups are durable writes, one at a time, for as long as commits come.
#[test]
fn a_log_of_whole_blocks_runs_without_a_file_system_and_says_so() {
    let place = place();
    place.write("ring.toml", RING);
    let said = place.assay(&["run", "ring.toml", "blocks", "--create", "4MiB", "--out", "run", "--json"]);
    assert!(matches!(said.code, Some(0 | 10 | 11)), "{said:?}");
    let json = result(&place, "run");
    let watermarks = json["watermarks"].to_string();
    assert!(watermarks.contains("WITHOUT A FILE SYSTEM: its journal is not in this result"), "{watermarks}");
    let streams = json["streams"].as_array().unwrap();
    let stream = |name: &str| streams.iter().find(|stream| stream["name"] == name).unwrap();
    let (groups, bytes) = (stream("log-sync")["operations"].as_u64(), stream("log-sync")["bytes"].as_u64());
    // Three hundred commits; where the disk is slow, several are in a group.
    assert!(groups.is_some_and(|groups| (3..=301).contains(&groups)), "{groups:?}");
    assert!(bytes >= groups.map(|groups| groups * 4096), "{bytes:?} bytes of {groups:?} groups");
    assert!(stream("pages-write")["operations"].as_u64() >= Some(100), "{streams:?}");
    for (args, code, part) in [
        (&["certify", "ring.toml", "sim:flash", "--quick"][..], 0, "ring: fit in a quick look"),
        (&["certify", "ring.toml", "sim:flash", "--beside"], 2, "--beside appends to another file"),
        (&["limit", "ring.toml", "sim:flash", "--for", "2s"], 0, " commits"),
    ] {
        let said = place.assay(args);
        assert_eq!(said.code, Some(code), "{args:?}: {said:?}");
        let all = in_one_line(&format!("{} {}", said.out, said.err));
        assert!(all.contains(part), "{args:?}: {all}");
    }
}

#[test]
fn what_a_block_device_cannot_hold_is_refused_there() {
    let place = place();
    for name in [
        "etcd",
        "etcd-heavy",
        "k3s-etcd",
        "k3s-sqlite",
        "kafka",
        "redis-always",
        "redis-everysec",
        "rocksdb-sync",
        "sqlite-commit",
    ] {
        for verb in [&["certify", name, "sim:flash", "--quick"][..], &["run", name, "sim:flash"]] {
            let said = place.assay(verb);
            let text = in_one_line(&said.err);
            assert!(
                said.code == Some(2) && text.contains("a model that a block device cannot hold"),
                "{verb:?}: {said:?}"
            );
        }
    }
    // A description says by its line what of it needs a file system.
    place.write("grows.toml", &RING.replacen("made_by = \"zeros\"\nblock = \"4KiB\"\nwhen_full = \"start\"\n", "", 1));
    let said = place.assay(&["explain", "grows.toml"]);
    assert!(
        said.code == Some(3) && in_one_line(&said.err).contains("a block device cannot hold this server"),
        "{said:?}"
    );
}

/// The lines of a log, each as its entry, by the number of its step.
fn entries_of_steps(log: &Path) -> Vec<Vec<Entry>> {
    let mut reader = Reader::new(std::io::BufReader::new(fs::File::open(log).unwrap()));
    let mut steps: Vec<Vec<Entry>> = Vec::new();
    while let Some(entry) = reader.next_entry().unwrap() {
        let entry = entry.unwrap();
        if matches!(entry, Entry::Header(_)) {
            steps.push(Vec::new());
        }
        steps.last_mut().unwrap().push(entry);
    }
    steps
}

/// A log of these lines, with numbers and checksums that fit.
fn write_log<'a>(log: &Path, entries: impl IntoIterator<Item = &'a Entry>) {
    let mut writer = Writer::new(Vec::new(), 0);
    entries.into_iter().for_each(|entry| writer.write_entry(entry).unwrap());
    fs::write(log, writer.into_inner()).unwrap();
}

/// The first half of a step of one log, and the second half of that of another.
fn halves<'a>(one: &'a [Entry], other: &'a [Entry]) -> Vec<&'a Entry> {
    let half = one.len().min(other.len()) / 2;
    one[..half].iter().chain(&other[half..]).collect()
}

/// Logs that are put together from two certificates of one server, or cut: of a directory and of its log on blocks.
#[test]
fn certificates_that_are_put_together_or_cut_are_never_fit() {
    let stress = "[certify.stress]\nload = \"2x\"\nfor = \"2s\"\nslice = \"1s\"\n[[certify.stress.criterion]]\nstream = \"log-sync\"\n\
                  measure = \"service\"\nmax_at_most = \"30s\"\n[certify.beside]";
    for (workload, targets) in [(SERVER, ["data", "other"]), (RING, ["one", "two"])] {
        let place = place();
        place.write("w.toml", &workload.replacen("[certify.beside]", stress, 1));
        fs::create_dir(place.path("other")).unwrap();
        for (target, out) in targets.iter().zip(["a", "b"]) {
            if workload == RING {
                assert_eq!(place.assay(&["prep", target, "--create", "4MiB"]).code, Some(0));
            }
            place.assay(&["certify", "w.toml", target, "--keep-going", "--out", out]);
        }
        let compared = place.assay(&["compare", "a", "b"]);
        assert!(compared.code == Some(0) && compared.out.contains("log-sync"), "{targets:?}: {compared:?}");
        let steps = ["a", "b"].map(|out| entries_of_steps(&place.path(out).join("run.jsonl")));
        let [a, b] = &steps;
        assert_eq!([a.len(), b.len()], [2, 2]);
        let logs: [(&str, Vec<&Entry>); 8] = [
            ("load of a, stress of b", a[0].iter().chain(&b[1]).collect()),
            ("load of b, stress of a", b[0].iter().chain(&a[1]).collect()),
            ("load half of b", halves(&a[0], &b[0]).into_iter().chain(&a[1]).collect()),
            ("stress half of b", a[0].iter().chain(halves(&a[1], &b[1])).collect()),
            ("load of both", a[0].iter().chain(&b[0]).collect()),
            ("in another order", a[1].iter().chain(&a[0]).collect()),
            ("only the load", a[0].iter().collect()),
            ("only the stress", a[1].iter().collect()),
        ];
        for (name, entries) in logs {
            let log = place.path("put.jsonl");
            write_log(&log, entries);
            let judged = place.assay(&["judge", "put.jsonl", "--json"]);
            assert!(matches!(judged.code, Some(10..=12)), "{name}, {targets:?}: {}", judged.out);
            let answer = judged.json()["answer"].as_str().unwrap().to_owned();
            assert!(!answer.contains(": fit"), "{name}, {targets:?}: {answer}");
            place.write("verdict.json", &judged.out);
            let verified = place.assay(&["verify", "verdict.json", "put.jsonl"]);
            assert!(matches!(verified.code, Some(2 | 3)), "{name}, {targets:?}: {verified:?}");
            let page = place.assay(&["report", "put.jsonl", "--out", "-"]).out;
            assert!(!page.is_empty() && !page.contains(": fit"), "{name}, {targets:?}");
        }
        // Lines without new numbers are damage, wherever they come from.
        let raw = ["a", "b"].map(|out| fs::read_to_string(place.path(out).join("run.jsonl")).unwrap());
        place.write("raw.jsonl", &raw.concat());
        assert!(matches!(place.assay(&["judge", "raw.jsonl"]).code, Some(3 | 10..=12)), "{targets:?}");
    }
}

/// What was asked for is in the line that answers: another load, less time, longer windows.
#[test]
fn an_answer_says_what_limits_it() {
    let place = place();
    for (more, mark, words) in [
        (&["--at", "0.5x"][..], "", "commits at 0.5x: "),
        (&["--for", "2s"], "SHORT: ", "commits: "),
        (&["--slice", "4s"], "LONGER WINDOWS: ", "commits: "),
        (&["--quick", "--for", "2s"], "QUICK: ", "commits: "),
    ] {
        let out = format!("run{}", more.concat());
        let said = place.assay(&[&["certify", "w.toml", "data", "--keep-going", "--out", &out], more].concat());
        let json = result(&place, &out);
        let answer = json["answer"].as_str().unwrap();
        assert!(answer.starts_with(words), "{more:?}: {answer}");
        assert!(json["watermarks"].to_string().contains(mark), "{more:?}: {}", json["watermarks"]);
        if said.code == Some(0) && !mark.is_empty() {
            assert!(answer.contains("fit in a ") || answer.contains("fit in longer windows"), "{more:?}: {answer}");
        }
    }
    assert!(is_empty(&place));
}
