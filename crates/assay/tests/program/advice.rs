//! What a message advises helps: the commands that it names are typed as they stand there.

use super::bed::{Log, Place, Said};
use super::devices::{Disk, Loop};
use std::process::Command;

/// A file of which the space is reserved and nothing was written.
fn reserve(place: &Place, file: &str) -> bool {
    let made = Command::new("fallocate").args(["-l", "16MiB", file]).current_dir(place.path(".")).status().unwrap();
    made.success()
}

/// Reads that met nothing, in all streams.
fn blank_reads(place: &Place, dir: &str) -> u64 {
    let verdict: serde_json::Value =
        serde_json::from_slice(&std::fs::read(place.path(dir).join("verdict.json")).unwrap()).unwrap();
    let targets = verdict["targets"].as_array().unwrap();
    targets.iter().map(|target| target["blank_reads"].as_u64().unwrap_or(0)).sum()
}

fn read(place: &Place, file: &str, more: &[&str], out: &str) -> Said {
    place.assay(&[&["run", "random-read", file, "--for", "1s", "--warm-up", "0s", "--out", out], more].concat())
}

/// Before the run, at its end and in the plan it is said that reads prove nothing; each remedy is tried.
#[test]
fn reads_of_a_file_in_which_nothing_was_written_are_announced_and_prevented_by_what_is_advised() {
    let place = Place::new();
    for file in ["a file", "other.img", "third.img"] {
        assert!(reserve(&place, file));
    }
    let plan = place.assay(&["explain", "random-read", "a file"]);
    let said = "nothing was ever written to it, and reads of it prove nothing: fill it with assay prep 'a file'";
    assert!(plan.code == Some(0) && plan.out.contains(said), "{plan:?}");
    let warned = read(&place, "a file", &[], "blank");
    assert!(warned.err.contains("warning: nothing was ever written to a file"), "{warned:?}");
    assert_eq!(warned.code, Some(11), "{warned:?}");
    assert!(blank_reads(&place, "blank") > 0, "{warned:?}");
    let next = warned.out.lines().find_map(|line| line.strip_prefix("next: ")).unwrap();
    assert!(next.starts_with("assay prep 'a file'"), "{next}");
    // It is typed as it is shown.
    let typed = next.split("  (").next().unwrap().replacen("assay", env!("CARGO_BIN_EXE_assay"), 1);
    let mut shell = Command::new("sh");
    shell.args(["-c", &typed]).current_dir(place.path(".")).env("XDG_STATE_HOME", place.path("state"));
    assert!(shell.status().unwrap().success(), "{typed}");
    for (file, more, out) in [("a file", &[][..], "filled"), ("other.img", &["--prep"], "prepared")] {
        let run = read(&place, file, more, out);
        assert!(!run.err.contains("nothing was ever written"), "{run:?}");
        assert_eq!(blank_reads(&place, out), 0, "{run:?}");
        assert!(!run.out.contains("next: assay prep"), "{run:?}");
        assert!(Log::of(&place.path(out)).header.targets[0].prepared.is_some(), "{file} is known for prepared");
    }
    // A second run with the option fills nothing again.
    let again = read(&place, "other.img", &["--prep"], "again");
    assert!(!again.err.contains("filling"), "{again:?}");
    // Nothing is filled where the run cannot be.
    let refused = read(&place, "third.img", &["--prep"], "again");
    assert_ne!(refused.code, Some(0), "{refused:?}");
    assert!(
        place.assay(&["explain", "random-read", "third.img"]).out.contains("nothing was ever written"),
        "untouched"
    );
}

#[test]
fn where_no_record_can_be_kept_nothing_is_made_and_the_variable_is_named() {
    let place = Place::new();
    place.write("plain", "");
    let nowhere = place.path("plain").join("state");
    let refused = place.command(&["prep", "d.img", "--create", "4MiB"]).env("XDG_STATE_HOME", &nowhere).output();
    let refused = Said::of(refused.unwrap(), &["prep"]);
    assert_eq!(refused.code, Some(5), "{refused:?}");
    assert!(refused.err.contains("XDG_STATE_HOME=/absolute/path assay"), "{refused:?}");
    assert_eq!(place.left(&["plain"]), [""; 0], "nothing is left behind");
    let elsewhere =
        place.command(&["prep", "d.img", "--create", "4MiB"]).env("XDG_STATE_HOME", place.path("kept")).output();
    assert_eq!(Said::of(elsewhere.unwrap(), &["prep"]).code, Some(0), "as it is advised");
}

#[test]
fn a_loop_device_is_listed_with_the_file_beneath_it() {
    let place = Place::new();
    let Some(disk) = Loop::over(&place, "beneath it.img", 8 << 20) else { return };
    let listed = place.assay(&["devices", disk.path()]);
    assert!(listed.out.contains(&format!("over {}", disk.backing.display())), "{listed:?}");
    let json = place.assay(&["devices", disk.path(), "--json"]).json();
    assert!(json.to_string().contains("beneath it.img"), "{json}");
}

#[test]
fn the_options_of_databases_alone_stand_under_their_heading() {
    let help = Place::new().assay(&["prep", "--help"]).out;
    let (before, behind) = help.split_once("Databases:\n").unwrap();
    let listed: Vec<&str> = behind
        .split("\n\n")
        .take_while(|part| part.trim_start().starts_with("--"))
        .flat_map(|part| part.lines().filter_map(|line| line.trim_start().strip_prefix("--")))
        .filter_map(|line| line.split([' ', '=']).next())
        .collect();
    assert_eq!(listed, ["warehouses", "seed", "clear", "loaders"], "{help}");
    for common in ["--create", "--destroy-data", "--skip-zero"] {
        assert!(before.contains(common), "{common}: {help}");
    }
}
