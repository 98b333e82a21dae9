//! A log that cannot be kept: the run stops INCOMPLETE, and what was acknowledged can be read.

use super::bed::{Log, Place, Said};
use super::devices::passed_over;
use super::rig::{alone, is_root};
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

/// A small file system in memory; unmounted when dropped.
struct Small(PathBuf);

impl Small {
    fn at(path: PathBuf) -> Option<Small> {
        fs::create_dir(&path).unwrap();
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=2m", "none"]).arg(&path).status();
        if !mounted.is_ok_and(|status| status.success()) {
            passed_over("no tmpfs to be mounted");
            return None;
        }
        Some(Small(path))
    }

    /// Leaves no byte free.
    fn fill(&self) {
        let mut file = fs::File::create(self.0.join("filler")).unwrap();
        while file.write_all(&[1; 4096]).is_ok() {}
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// The run ended by its log; the log's undamaged part is whole.
fn ended_by_its_log(place: &Place, said: &Said, dir: &str, at_least: usize) -> Log {
    assert_eq!(said.code, Some(12), "{}{}", said.out, said.err);
    assert!(said.err.contains("run log"), "{}", said.err);
    let log = Log::of(&place.path(dir));
    assert!(log.intervals.len() >= at_least, "{} intervals are there", log.intervals.len());
    assert!(log.damage.iter().all(|damage| damage.torn_tail), "{:?}", log.damage);
    log.intervals_add_up();
    let judged = place.assay(&["judge", dir]);
    assert_eq!(judged.code, Some(12), "{}", judged.out);
    log
}

#[test]
fn a_log_disk_that_is_full_ends_the_run_incomplete() {
    if !is_root() {
        return;
    }
    let _alone = alone();
    let place = Place::new();
    let Some(small) = Small::at(place.path("small")) else { return };
    let args = ["run", "random-read", "null:1GiB", "--for", "10min", "--out", "small/run"];
    let running = place.begin(&args);
    let path = place.path("small/run/run.jsonl");
    super::bed::until("three intervals", || {
        fs::read_to_string(&path).is_ok_and(|text| text.matches("\"kind\":\"interval\"").count() >= 3)
    });
    small.fill();
    let said = running.end();
    let log = ended_by_its_log(&place, &said, "small/run", 3);
    assert!(log.close.is_none(), "there was no room for it");
    assert!(said.err.contains("No space left") || said.err.contains("ENOSPC"), "{}", said.err);
}

#[test]
fn a_log_that_cannot_be_made_durable_ends_the_run_incomplete() {
    let _alone = alone();
    let place = Place::new();
    let strace = ["-f", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync", "-e", "inject=fdatasync:error=EIO:when=2+"];
    let args = ["run", "random-read", "null:1GiB", "--for", "10min", "--out", "run"];
    let plain = place.command(&args);
    let mut traced = Command::new("strace");
    traced.args(strace).arg(plain.get_program()).args(plain.get_args()).current_dir(place.path(""));
    traced.env("XDG_STATE_HOME", place.path("state"));
    let Ok(output) = traced.output() else { return passed_over("no strace here") };
    if String::from_utf8_lossy(&output.stderr).contains("ptrace") {
        return passed_over("strace may not trace here");
    }
    let said = Said::of(output, &args);
    let log = ended_by_its_log(&place, &said, "run", 5);
    assert!(said.err.contains("Input/output error") || said.err.contains("EIO"), "{}", said.err);
    drop(log);
}
