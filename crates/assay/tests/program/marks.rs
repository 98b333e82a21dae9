//! Marks that are sent to a run in progress: each is in the log when the command returns, or the command says that nothing was
//! marked; whatever else stands in the directory, and whatever happens to the run or to the command.

use super::bed::{Log, Place, Running, Said, in_one_line, until};
use assay_record::{Event, EventKind};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

/// A load that any machine carries, on a target that needs no disk.
const LOAD: &str = "name = \"w\"\nmodel = \"streams\"\ninterval = \"100ms\"\nslice = \"1s\"\n\
    [[stream]]\nname = \"reads\"\ndirection = \"read\"\nsize = \"4KiB\"\nrate = \"400/s\"\n\
    [[criterion]]\nstream = \"reads\"\np99_at_most = \"1s\"\n";
/// The same with intervals that are as short as they can be.
const QUICK: &str = "name = \"w\"\nmodel = \"streams\"\ninterval = \"10ms\"\nslice = \"1s\"\n\
    [[stream]]\nname = \"reads\"\ndirection = \"read\"\nsize = \"4KiB\"\nrate = \"400/s\"\n";
const REQUEST: &str = "run/mark.pending";

/// A run that goes on.
fn going_on(workload: &str, seconds: &str) -> (Place, Running) {
    let place = Place::new();
    place.write("w.toml", workload);
    let running = place.start(&["run", "w.toml", "null:1GiB", "--for", seconds, "--warm-up", "0s"], 3);
    (place, running)
}

/// The marks of a log, each with the number of intervals before it.
fn marks(dir: &Path) -> Vec<(Event, usize)> {
    let text = fs::read_to_string(dir.join("run.jsonl")).unwrap();
    let log = Log::of(dir);
    let mut events = log.events.into_iter().filter(|event| event.what == EventKind::Mark);
    let mut intervals = 0;
    let mut found = Vec::new();
    for line in text.lines() {
        intervals += usize::from(line.contains("\"kind\":\"interval\""));
        if line.contains("\"kind\":\"event\",\"at_ns\"") && line.contains("\"what\":\"mark\"") {
            found.push((events.next().unwrap(), intervals));
        }
    }
    found
}

fn verdict(dir: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(dir.join("verdict.json")).unwrap()).unwrap()
}

/// The mark was taken.
fn taken(said: &Said) {
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.contains("part begins"), "{said:?}");
}

#[test]
fn a_mark_is_in_the_log_when_the_command_returns_and_divides_every_result() {
    let (place, running) = going_on(LOAD, "5s");
    for (nth, (text, more)) in
        [("scrub begins", &[][..]), ("scrub ends", &[][..]), ("all is well", &["--part", "healthy"][..])]
            .iter()
            .enumerate()
    {
        taken(&place.assay(&[&["mark", "run", text], *more].concat()));
        let so_far = marks(&place.path("run"));
        assert_eq!(so_far.len(), nth + 1);
        assert_eq!(so_far[nth].0.text, *text);
        assert!(!place.path(REQUEST).exists());
    }
    let said = running.end();
    assert!(said.passed_or_late(), "{said:?}");
    assert!(said.err.contains("mark: scrub begins (the disturbed part begins)"), "{said:?}");
    let (dir, log) = (place.path("run"), Log::of(&place.path("run")));
    log.adds_up();
    let found = marks(&dir);
    let begun = log.intervals[0].start_ns;
    let mut from = 0;
    let parts = verdict(&dir)["parts"].clone();
    let kinds: Vec<&str> = parts.as_array().unwrap().iter().map(|part| part["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["healthy", "disturbed", "recovered", "healthy"]);
    for (nth, part) in parts.as_array().unwrap().iter().enumerate() {
        let to = found.get(nth).map_or(log.intervals.len(), |(_, intervals)| *intervals);
        if let Some((mark, _)) = found.get(nth) {
            assert_eq!(mark.at_ns, log.intervals[to - 1].end_ns, "a mark stands behind a whole interval");
            assert_eq!(parts[nth + 1]["start_ns"], mark.at_ns - begun);
        }
        let own: u64 = log.intervals[from..to].iter().map(|interval| interval.flows[0].ok).sum();
        assert_eq!(part["streams"][0]["operations"], own, "part {nth}: {part}");
        from = to;
    }
    // The page of the format names each member.
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats/verdict.md")).unwrap();
    for object in [&parts[2], &parts[2]["streams"][0], &parts[2]["recovery"]] {
        for member in object.as_object().unwrap().keys() {
            assert!(page.contains(&format!("`{member}`")), "{member} is not in docs/formats/verdict.md");
        }
    }
    // The log alone says the same, and every form of the result shows it.
    let judged = place.assay(&["judge", "run", "--json"]).json();
    assert_eq!(judged["parts"], parts);
    let judged = in_one_line(&place.assay(&["judge", "run"]).out);
    assert!(
        judged.contains("part 2 (disturbed, \"scrub begins\")") && judged.contains("recovery in part 3"),
        "{judged}"
    );
    let page = fs::read_to_string(dir.join("report.html")).unwrap();
    assert!(page.contains("Before, during, after") && page.contains("all is well"));
    let markdown = place.assay(&["export", "run", "--to", "markdown"]).out;
    assert!(markdown.contains("| 2 disturbed | reads |"), "{markdown}");
    let table = place.assay(&["export", "run", "--to", "csv"]).out;
    let (head, rows) = table.split_once("\r\n").unwrap();
    assert!(head.ends_with(",part"), "{head}");
    let mut column: Vec<&str> = rows.lines().map(|row| row.rsplit(',').next().unwrap()).collect();
    column.dedup();
    assert_eq!(column, ["1 healthy", "2 disturbed", "3 recovered", "4 healthy"]);
    let watched = place.assay(&["watch", "run"]);
    assert!(watched.err.contains("mark: scrub ends (the recovered part begins)"), "{watched:?}");
}

#[test]
fn a_mark_is_one_line_with_a_few_words() {
    let (place, running) = going_on(LOAD, "3s");
    let large = "x".repeat(100_000);
    for text in ["", "   ", "two\nlines", "\u{1b}[2Jgone", "turned \u{202e}round", &large] {
        let said = place.assay(&["mark", "run", text]);
        assert_eq!(said.code, Some(2), "{text:?}: {said:?}");
        assert!(said.err.contains("mark"), "{said:?}");
    }
    let said = place.assay(&["mark", "run", "x", "--part", "ill"]);
    assert!(said.code == Some(2) && said.err.contains("healthy, disturbed or recovered"), "{said:?}");
    taken(&place.assay(&["mark", "run", "<b>\"50 % – ünïcode\"</b> \\ $(x)"]));
    drop(running);
    assert_eq!(marks(&place.path("run")).len(), 1);
}

#[test]
fn where_nothing_can_be_marked_the_command_says_so() {
    let place = Place::new();
    place.write("w.toml", LOAD);
    let finished = place.assay(&["run", "w.toml", "sim:flash", "--for", "1s", "--out", "finished"]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let search = ["limit", "random-read", "sim:flash", "--for", "1s", "--slice", "1s", "--to", "1x", "--out", "search"];
    assert_eq!(place.assay(&search).code, Some(0));
    fs::create_dir(place.path("empty")).unwrap();
    for (dir, code, says) in [
        ("finished", 2, "no run is in progress in finished"),
        ("finished/run.jsonl", 2, "no run is in progress"),
        ("search", 3, "a search or a curve has a log for each of its runs"),
        ("empty", 3, "cannot be read"),
        ("nowhere", 3, "cannot be read"),
        ("w.toml", 3, "not a line of a run log"),
    ] {
        let said = place.assay(&["mark", dir, "x"]);
        assert_eq!(said.code, Some(code), "{dir}: {said:?}");
        assert!(said.err.contains(says), "{dir}: {said:?}");
    }
    let left = place.left(&["w.toml", "finished", "search", "empty", "state"]);
    assert_eq!(left, [""; 0], "nothing is left behind");
    // Procedures and steps take none, and say why.
    place.write("seek.toml", "model = \"seek\"\nthreads = [1, 2]\nduration = \"9s\"\n");
    for (args, says) in [
        (
            &["certify", "null:1GiB", "--at", "1x", "--for", "4s", "--warm-up", "0s"][..],
            "it is a step of a certification",
        ),
        (&["run", "seek.toml", "null:1GiB", "--for", "4s"], "its workload has steps"),
    ] {
        let running = place.start(args, 1);
        let said = place.assay(&["mark", "run", "x"]);
        assert!(
            said.code == Some(2) && said.err.contains("takes no marks") && said.err.contains(says),
            "{args:?}: {said:?}"
        );
        running.signal(libc::SIGINT);
        running.end();
        fs::remove_dir_all(place.path("run")).unwrap();
    }
}

/// Criteria that name parts are refused before anything is done where no mark could divide the run.
#[test]
fn criteria_that_name_parts_need_a_run_that_takes_marks() {
    let place = Place::new();
    let naming = LOAD.replace("p99_at_most", "in = [\"healthy\", \"recovered\"]\np99_at_most");
    place.write("w.toml", &naming);
    for args in [
        &["limit", "w.toml", "sim:flash", "--for", "1s", "--slice", "1s", "--to", "1x", "--out", "limit"][..],
        &["run", "w.toml", "sim:flash", "--for", "1s", "--local", "2", "--out", "joint"],
        // In virtual time it is over before anybody could mark it.
        &["run", "w.toml", "sim:flash", "--for", "1s", "--out", "simulated"],
    ] {
        let said = place.assay(args);
        assert!(said.code == Some(3) && said.err.contains("names parts of a run"), "{args:?}: {said:?}");
    }
    assert!(!place.path("limit").exists(), "nothing was made");
    let plan = place.assay(&["explain", "w.toml", "sim:flash"]).out;
    assert!(in_one_line(&plan).contains("per 1s in healthy and recovered"), "{plan}");
    let said = place.assay(&["run", "w.toml", "null:1GiB", "--for", "2s", "--out", "run"]);
    assert_eq!(said.is_of_verdict(&place.path("run")), "INVALID", "{said:?}");
    assert!(in_one_line(&said.out).contains("names the recovered part, and nothing was measured in one"), "{said:?}");
    place.write("none.toml", &LOAD.replace("p99_at_most", "in = []\np99_at_most"));
    let said = place.assay(&["explain", "none.toml", "sim:flash"]);
    assert!(said.code == Some(3) && said.err.contains("holds in no part"), "{said:?}");
}

#[test]
fn many_at_once_are_taken_one_by_one_and_no_run_takes_more_than_a_hundred() {
    let (place, mut running) = going_on(QUICK, "60s");
    std::thread::scope(|scope| {
        let marking: Vec<_> = (0..8)
            .map(|nth| {
                let place = &place;
                scope.spawn(move || place.assay(&["mark", "run", &format!("mark {nth}")]))
            })
            .collect();
        marking.into_iter().for_each(|mark| taken(&mark.join().unwrap()));
    });
    let together = marks(&place.path("run"));
    let mut texts: Vec<String> = together.iter().map(|(mark, _)| mark.text.clone()).collect();
    texts.sort();
    assert_eq!(texts, (0..8).map(|nth| format!("mark {nth}")).collect::<Vec<_>>());
    let parts: Vec<&str> = together.iter().map(|(mark, _)| mark.details["part"].as_str()).collect();
    assert_eq!(parts, ["disturbed", "recovered"].repeat(4));
    for nth in 8..100 {
        taken(&place.assay(&["mark", "run", &format!("mark {nth}")]));
    }
    let refused = place.assay(&["mark", "run", "one too many", "--wait", "1s"]);
    assert!(refused.code == Some(5) && refused.err.contains("at most 100"), "{refused:?}");
    assert!(running.is_alive() && !place.path(REQUEST).exists());
    running.signal(libc::SIGINT);
    let said = running.end();
    assert!(said.err.contains("a run takes at most 100 marks"), "{said:?}");
    assert_eq!(marks(&place.path("run")).len(), 100);
    assert_eq!(verdict(&place.path("run"))["parts"].as_array().unwrap().len(), 101);
}

/// A run that does not run takes nothing: the request is withdrawn, and never taken later.
#[test]
fn a_run_that_is_stopped_is_waited_for_as_long_as_it_was_said() {
    let (place, running) = going_on(LOAD, "20s");
    running.signal(libc::SIGSTOP);
    let said = place.assay(&["mark", "run", "never taken", "--wait", "500ms"]);
    assert!(said.code == Some(5) && said.err.contains("withdrawn: nothing was marked"), "{said:?}");
    assert!(!place.path(REQUEST).exists());
    let waiting = place.begin(&["mark", "run", "taken later"]);
    until("the request", || place.path(REQUEST).exists());
    running.signal(libc::SIGCONT);
    taken(&waiting.end());
    running.signal(libc::SIGINT);
    running.end();
    let found = marks(&place.path("run"));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].0.text, "taken later");
}

#[test]
fn a_mark_that_a_killed_run_had_not_taken_is_not_taken_by_the_one_that_continues_it() {
    let place = Place::new();
    place.write("w.toml", LOAD);
    let args = ["run", "w.toml", "null:1GiB", "--for", "4s", "--warm-up", "0s"];
    let running = place.start(&args, 12);
    taken(&place.assay(&["mark", "run", "before the kill"]));
    running.signal(libc::SIGSTOP);
    let waiting = place.begin(&["mark", "run", "too late"]);
    until("the request", || place.path(REQUEST).exists());
    let request = fs::read(place.path(REQUEST)).unwrap();
    running.signal(libc::SIGKILL);
    let said = waiting.end();
    assert!(said.code == Some(5) && said.err.contains("the run ended before it took the mark"), "{said:?}");
    assert!(!place.path(REQUEST).exists(), "it is withdrawn");
    running.end();
    // Whoever asked was killed as well.
    fs::write(place.path(REQUEST), &request).unwrap();
    let resumed = place.assay(&[&args[..], &["--resume", "run"]].concat());
    let log = Log::of(&place.path("run"));
    assert!(log.damage.is_empty(), "{:?}", log.damage);
    assert!(!place.path(REQUEST).exists());
    let found = marks(&place.path("run"));
    assert_eq!(found.len(), 1, "{resumed:?}");
    assert_eq!(found[0].0.text, "before the kill");
    let told = log.events.iter().find(|event| event.what == EventKind::Warning && event.text.contains("too late"));
    assert!(told.is_some_and(|event| event.text.contains("a mark was given up")), "{:?}", log.events);
    let parts = verdict(&place.path("run"))["parts"].clone();
    assert_eq!(parts.as_array().unwrap().len(), 2, "{parts}");
    assert!(in_one_line(&resumed.out).contains("\"before the kill\""), "{resumed:?}");
}

/// What is not a request is neither followed nor removed, whatever it is; the run goes on, and takes the next one.
#[test]
fn what_stands_in_the_place_of_a_request_stays_as_it_is() {
    let (place, running) = going_on(LOAD, "30s");
    place.write("precious", "precious");
    let (at, precious) = (place.path(REQUEST), place.path("precious"));
    let fifo = |at: &Path| {
        let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU);
        rustix::fs::mknodat(rustix::fs::CWD, at, kind, mode, 0).unwrap();
    };
    let lay: [(&str, &dyn Fn()); 6] = [
        ("symbolic link", &|| symlink(&precious, &at).unwrap()),
        ("symbolic link", &|| symlink("/dev/zero", &at).unwrap()),
        ("hard links", &|| fs::hard_link(&precious, &at).unwrap()),
        ("FIFO", &|| fifo(&at)),
        ("directory", &|| fs::create_dir(&at).unwrap()),
        ("did not take", &|| fs::write(&at, "of somebody").unwrap()),
    ];
    for (says, lay) in lay {
        lay();
        let before = fs::symlink_metadata(&at).unwrap();
        let said = place.assay(&["mark", "run", "x", "--wait", "600ms"]);
        assert!(said.code == Some(5) && said.err.contains(says), "{says}: {said:?}");
        let after = fs::symlink_metadata(&at).unwrap();
        assert_eq!(before.file_type(), after.file_type(), "{says}");
        assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
        if after.is_dir() {
            fs::remove_dir(&at).unwrap()
        } else {
            fs::remove_file(&at).unwrap()
        }
        taken(&place.assay(&["mark", "run", says]));
    }
    running.signal(libc::SIGINT);
    let said = running.end();
    assert!(said.err.contains("no mark is taken from") && said.err.contains("symbolic link"), "{said:?}");
    assert_eq!(marks(&place.path("run")).len(), 6);
}

/// At its last interval, and after its end: the mark is in the log, or nothing was marked.
#[test]
fn at_the_end_of_a_run_a_mark_is_taken_or_said_to_be_late() {
    let (place, mut running) = going_on(QUICK, "2s");
    let (mut done, mut late) = (0, 0);
    while running.is_alive() && late == 0 {
        let said = place.assay(&["mark", "run", "x"]);
        match said.code {
            Some(0) => done += 1,
            code => {
                assert!(code == Some(5) || code == Some(2), "{said:?}");
                late += 1;
            }
        }
        if done == 90 {
            break;
        }
    }
    running.end();
    assert_eq!(marks(&place.path("run")).len(), done);
    assert!(!place.path(REQUEST).exists());
    let judged = place.assay(&["judge", "run", "--json"]).json();
    assert_eq!(judged["damage"].as_array().unwrap().len(), 0, "{judged}");
}

/// Who may not write in the directory of a run cannot mark it.
#[test]
fn a_run_of_another_user_is_marked_only_by_who_may_write_there() {
    // SAFETY: no arguments, cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        return super::devices::passed_over("no root, who can be somebody else");
    }
    let (place, running) = going_on(LOAD, "20s");
    let open = |mode| fs::set_permissions(place.path("."), fs::Permissions::from_mode(mode)).unwrap();
    open(0o755);
    let mut command = std::process::Command::new("setpriv");
    command.args([
        "--reuid=nobody",
        "--regid=nogroup",
        "--clear-groups",
        env!("CARGO_BIN_EXE_assay"),
        "mark",
        "run",
        "x",
    ]);
    let said = Said::of(command.current_dir(place.path(".")).output().unwrap(), &["mark"]);
    assert!(said.code == Some(5) && said.err.contains("Permission denied"), "{said:?}");
    taken(&place.assay(&["mark", "run", "mine"]));
    drop(running);
    assert_eq!(marks(&place.path("run")).len(), 1);
}

/// The workload files of the page.
#[test]
fn the_workloads_of_the_page_are_workloads() {
    let place = Place::new();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/marks.md");
    let page = fs::read_to_string(page).unwrap();
    let mut shown = 0;
    for block in page.split("```toml\n").skip(1) {
        place.write("w.toml", block.split("```").next().unwrap());
        let target = if block.contains("tpcc") { "postgres://me@db.example/shop" } else { "sim:flash" };
        let said = place.assay(&["explain", "w.toml", target]);
        assert_eq!(said.code, Some(0), "{said:?}");
        shown += 1;
    }
    assert_eq!(shown, 2);
}

/// An editor that moves, removes or inserts a mark makes a log of which the judge says so.
#[test]
fn a_mark_that_an_editor_moves_is_damage() {
    let (place, running) = going_on(LOAD, "3s");
    taken(&place.assay(&["mark", "run", "here"]));
    running.end();
    let path = place.path("run/run.jsonl");
    let whole = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let at = lines.iter().position(|line| line.contains("\"what\":\"mark\"")).unwrap();
    let with = |change: &dyn Fn(&mut Vec<String>)| {
        let mut changed: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        change(&mut changed);
        changed.concat()
    };
    for (what, text) in [
        ("removed", with(&|lines| drop(lines.remove(at)))),
        ("moved", with(&|lines| lines.swap(at, at - 2))),
        ("repeated", with(&|lines| lines.insert(at + 3, lines[at].clone()))),
        ("renamed", with(&|lines| lines[at] = lines[at].replace("disturbed", "recovered"))),
    ] {
        fs::write(&path, text).unwrap();
        let said = place.assay(&["judge", "run", "--json"]);
        assert_eq!(said.code, Some(11), "{what}: {said:?}");
        assert!(!said.json()["damage"].as_array().unwrap().is_empty(), "{what}");
    }
}
