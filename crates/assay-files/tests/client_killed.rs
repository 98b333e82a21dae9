//! `kill -9` while a client makes files and synchronises each: all that it had finished is there, to the byte.

use crate::client_bed::{RUN, bench, script};
use crate::mixes::{sequence, workload};
use assay_base::{Bytes, Span};
use assay_files::contents::Contents;
use assay_files::extents::Version;
use assay_files::own_dir::Names;
use assay_files::script::Script;
use assay_model::files::{FileSize, FilesPhase, FilesWorkload, Until};
use std::path::Path;
use std::process::{Command, Stdio};

/// Tells the child where it works.
const PLACE: &str = "ASSAY_KILLED_PLACE";
const KILLS: u64 = 12;

/// One client that makes files in the order of their numbers, all in one directory.
fn making() -> FilesWorkload {
    let mut making = workload(1_000_000, 1, Vec::new());
    (making.tree.width, making.tree.empty) = (None, true);
    making.tree.size = FileSize::Between { from: Bytes::new(1), to: Bytes::new(20_000) };
    let sequences = vec![sequence("make", "create write fsync close", 1)];
    making.phases =
        vec![FilesPhase { name: "make".to_owned(), until: Until::Done, sequences, ..FilesPhase::default() }];
    making
}

/// Not a test by itself, but the process that is killed.
#[test]
fn the_process_that_is_killed() {
    let Ok(place) = std::env::var(PLACE) else { return };
    bench(Path::new(&place), &making(), Span::from_secs(60)).run_phase(0);
}

/// Kills the process when it has made so many files, and returns the directory that it left.
fn killed_at(place: &Path, files: usize) -> std::path::PathBuf {
    std::fs::create_dir(place).unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "client_killed::the_process_that_is_killed", "--test-threads=1"])
        .env(PLACE, place)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    loop {
        let own = std::fs::read_dir(place).unwrap().next().map(|entry| entry.unwrap().path());
        if let Some(own) = own.filter(|own| std::fs::read_dir(own).is_ok_and(|entries| entries.count() > files)) {
            child.kill().unwrap();
            child.wait().unwrap();
            return own;
        }
        assert!(child.try_wait().unwrap().is_none(), "the process ended by itself");
    }
}

/// How many files there are, each of which is whole but perhaps the last.
fn whole_files(own: &Path, script: &Script) -> u32 {
    let names = Names::for_run("run 1");
    let there = std::fs::read_dir(own).unwrap().count() as u32 - 1;
    for number in 0..there.saturating_sub(1) {
        let read = std::fs::read(own.join(names.file(number.into()))).unwrap_or_else(|why| panic!("{number}: {why}"));
        let mut expected = vec![0; script.shape().size(number) as usize];
        Contents::new(RUN).fill(Version { file: number, generation: 1 }, 0, &mut expected);
        assert!(read == expected, "file {number} is as it was written");
    }
    there
}

#[test]
fn what_was_synchronised_is_there_after_kill_9() {
    let place = tempfile::tempdir().unwrap();
    let script = script(&making());
    for kill in 0..KILLS {
        let own = killed_at(&place.path().join(kill.to_string()), 3 + 7 * kill as usize);
        assert!(whole_files(&own, &script) >= 3 + 7 * kill as u32);
    }
}
