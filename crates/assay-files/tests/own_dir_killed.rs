//! `kill -9` at any moment while directories are made, filled and cleaned: one cleaning later nothing of ours is left, and
//! nothing else has changed.

use crate::bed::{Mounted, make, open, picture, plant, root};
use assay_base::Prng;
use assay_files::own_dir::{Names, State, clean};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// Tells the child where it works.
const PLACE: &str = "ASSAY_TEST_PLACE";
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
        plant(&place.join(own.name()), own.names());
        own.keep();
        clean(&open(place)).unwrap();
    }
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
