//! `kill -9` at any moment while directories are made, filled and cleaned: one cleaning later nothing of ours is left, and
//! nothing else has changed.

use crate::bed::{Mounted, make, names_in, open, picture, plant, root, run, skip};
use assay_base::Prng;
use assay_files::own_dir::{EntryKind, MARKER, Manifest, Names, OwnDir, State, Way, clean};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// Tells the child where it works.
const PLACE: &str = "ASSAY_TEST_PLACE";
const COPY: &str = "ASSAY_TEST_COPY";
/// How often the child is killed; `ASSAY_KILLS=1000` is the long campaign (half a minute).
const KILLS: &str = "ASSAY_KILLS";
const KILLS_BY_DEFAULT: u64 = 200;

/// Not a test by itself, but the process that is killed. It makes directories, fills them and cleans them for ever.
#[test]
fn the_process_that_is_killed() {
    let Ok(place) = std::env::var(PLACE) else { return };
    let place = Path::new(&place);
    let mut said = std::io::stdout();
    for turn in 0..u64::MAX {
        if turn == 1 {
            said.write_all(b"begun\n").and_then(|()| said.flush()).unwrap();
        }
        let own = make(place, &format!("run {turn}"));
        if turn % 2 == 0 {
            plant(&place.join(own.name()), own.names());
        } else {
            plant_copy(&own, place);
        }
        own.keep();
        clean(&open(place)).unwrap();
    }
}

/// A copy with names of its source: two directories, files and a link.
fn plant_copy(own: &OwnDir, place: &Path) {
    let (names, top) = (own.names(), own.names().directory(1));
    let way = Way::TOP.to_entry(names, EntryKind::Directory, top.as_bytes());
    let below = way.to_entry(names, EntryKind::Directory, b"etc");
    let mut ways = vec![Way::TOP, way, below, below.to_entry(names, EntryKind::Symlink, b"link")];
    let files: Vec<String> = (0..8).map(|number| format!("file {number}")).collect();
    ways.extend(files.iter().map(|name| below.to_entry(names, EntryKind::File, name.as_bytes())));
    own.write_manifest(&Manifest::from_ways(ways)).unwrap();
    let copy = place.join(own.name()).join(top).join("etc");
    std::fs::create_dir_all(&copy).unwrap();
    for name in &files {
        std::fs::write(copy.join(name), "ours").unwrap();
    }
    std::os::unix::fs::symlink("anywhere", copy.join("link")).unwrap();
}

/// Not a test by itself, but the process that is killed at each call of a cleaning of a copy.
#[test]
fn the_process_that_cleans_a_copy() {
    let Ok(place) = std::env::var(COPY) else { return };
    let place = Path::new(&place);
    let own = make(place, "run 1");
    plant_copy(&own, place);
    own.clean();
}

/// Traces that process, and does something at some of its calls; returns the trace.
fn trace_cleaning(place: &Path, calls: &str, more: &[&str]) -> String {
    let trace = place.with_extension("trace");
    Command::new("strace")
        .args(["-f", "-y", "-e", &format!("trace={calls}")])
        .args(more)
        .arg("-o")
        .arg(&trace)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "own_dir_killed::the_process_that_cleans_a_copy", "--test-threads=1"])
        .env(COPY, place)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    std::fs::read_to_string(trace).unwrap()
}

#[test]
fn a_cleaning_of_a_copy_that_is_killed_at_any_of_its_calls_is_finished_by_the_next_one() {
    if run(&["strace", "-V"]).is_err() {
        return skip("no strace");
    }
    let bed = tempfile::tempdir().unwrap();
    let place = bed.path().join("place");
    std::fs::create_dir(&place).unwrap();
    for call in ["unlinkat", "fsync"] {
        let mut kills = 0;
        loop {
            let inject = format!("inject={call}:signal=KILL:when={}", kills + 1);
            let trace = trace_cleaning(&place, call, &["-e", &inject]);
            if !trace.contains("killed by SIGKILL") {
                break;
            }
            kills += 1;
            for report in clean(&open(&place)).unwrap() {
                assert_eq!(report.state, State::Removed, "{call} {kills}: {report:?}\n{trace}");
            }
            assert_eq!(names_in(&place), [""; 0], "{call} {kills}\n{trace}");
        }
        // Of unlinkat eight files, a link, two directories, the list, the marker and our own directory.
        let least = if call == "unlinkat" { 14 } else { 5 };
        assert!(kills >= least, "{call}: {kills}");
    }
}

/// What has gone must not come back after a loss of power when that by which it is known is gone.
#[test]
fn what_is_cleaned_is_durable_before_the_list_of_names_goes_and_again_before_the_marker() {
    if run(&["strace", "-V"]).is_err() {
        return skip("no strace");
    }
    let bed = tempfile::tempdir().unwrap();
    let place = bed.path().join("place");
    std::fs::create_dir(&place).unwrap();
    let names = Names::for_run("run 1");
    let trace = trace_cleaning(&place, "unlinkat,fsync", &[]);
    let place_of = |from: usize, what: &str| {
        let at = trace.lines().skip(from).position(|line| line.contains(what));
        from + at.unwrap_or_else(|| panic!("no {what} from line {from} on:\n{trace}"))
    };
    let copy = place_of(0, &format!("\"{}\", AT_REMOVEDIR", names.directory(1)));
    let first_sync = place_of(copy, "fsync(");
    let list = place_of(copy, &format!("\"{}\", 0", names.name(Manifest::ENTRY)));
    let second_sync = place_of(list, "fsync(");
    let marker = place_of(copy, &format!("\"{MARKER}\", 0"));
    assert!(copy < first_sync && first_sync < list && list < second_sync && second_sync < marker, "{trace}");
}

fn killed_after(place: &Path, turns: u64) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "own_dir_killed::the_process_that_is_killed", "--nocapture", "--test-threads=1"])
        .env(PLACE, place)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("begun")), "the child ended by itself");
    for _ in 0..turns {
        std::hint::spin_loop();
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

/// How many directories were found after kills: with a marker, and without a whole one.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    with_marker: u64,
    without: u64,
}

fn killed_and_cleaned(place: &Path, kills: u64) -> Found {
    std::fs::create_dir_all(place.join("assay-0badcafe")).unwrap();
    std::fs::create_dir(place.join("theirs")).unwrap();
    for file in [Names::for_run("run 1").file(0), "theirs/file".to_owned(), "assay-0badcafe/file".to_owned()] {
        std::fs::write(place.join(file), "theirs").unwrap();
    }
    let before = picture(place);
    let (mut pauses, mut found) = (Prng::from_seed(kills), Found::default());
    for kill in 0..kills {
        killed_after(place, pauses.uniform_below(200_000));
        for report in clean(&open(place)).unwrap().into_iter().filter(|report| report.name != "assay-0badcafe") {
            assert_eq!(report.state, State::Removed, "kill {kill}: {report:?}");
            found.with_marker += u64::from(report.marker.is_some());
            found.without += u64::from(report.marker.is_none());
        }
        assert_eq!(picture(place), before, "kill {kill}");
    }
    found
}

/// On a disk the child is mostly killed at its syncs, in memory mostly between them.
#[test]
fn after_kill_9_at_any_moment_a_cleaning_leaves_nothing_of_ours_and_everything_else() {
    let bed = tempfile::tempdir().unwrap();
    let kills = std::env::var(KILLS).map_or(KILLS_BY_DEFAULT, |kills| kills.parse().unwrap());
    let mut places = vec![bed.path().join("disk")];
    let memory = root().then(|| Mounted::tmpfs(&bed.path().join("memory"), "size=24m"));
    places.extend(memory.iter().map(|memory| memory.point.clone()));
    for place in &places {
        let found = killed_and_cleaned(place, kills / places.len() as u64);
        let _ = writeln!(std::io::stderr(), "{}: {kills} kills in all, {found:?}", place.display());
        assert!(found.with_marker > 0, "the child was killed at its work");
    }
}
