//! A target file that somebody deletes, replaces, cuts or writes to while a run works on it.

use super::bed::{Log, Place, Running, Said};
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A rate that any machine carries, and no bound that a busy one breaks.
const WRITES: &str = "model = \"streams\"\nname = \"writes\"\nwarm_up = \"0s\"\nduration = \"3s\"\nslice = \"3s\"\n\
    [[stream]]\nname = \"w\"\ndirection = \"write\"\nsize = \"4KiB\"\nrate = \"50/s\"\n";

/// A place with a file that was written, and the two workloads.
fn place() -> Place {
    let place = Place::new();
    place.write("writes.toml", WRITES);
    place.write("reads.toml", &WRITES.replace("write", "read"));
    let said = place.assay(&["prep", "target", "--create", "8MiB"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    place
}

/// The verdict, and what the log says about the target.
fn ended(place: &Place, running: Running) -> (String, Vec<String>, Said) {
    let said = running.end();
    let verdict = said.is_of_verdict(&place.path("run"));
    let log = Log::of(&place.path("run"));
    let told = log.events.iter().filter(|event| event.what == "disturbed" || event.what == "condition-broken");
    let told = told.map(|event| format!("{}: {}", event.what, event.text)).collect();
    (verdict, told, said)
}

fn overwrite(path: &Path) {
    let file = fs::File::options().write(true).open(path).unwrap();
    file.write_all_at(&[7; 4096], 1 << 20).unwrap();
}

/// A process that has the file open until its input ends.
fn holder(path: &Path, redirection: &str) -> Child {
    let mut holder = Command::new("sh");
    holder.args(["-c", &format!("exec 3{redirection}'{}'; echo ready; read -r line", path.display())]);
    let mut holder = holder.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    holder.stdout.as_mut().unwrap().read_exact(&mut [0; 6]).unwrap();
    holder
}

fn release(mut holder: Child) {
    drop(holder.stdin.take());
    holder.wait().unwrap();
}

type Change = fn(&Path);

#[test]
fn a_file_whose_data_is_gone_at_the_end_fails_a_run_that_wrote_it_and_spoils_one_that_read_it() {
    let changes: [(&str, Change); 4] = [
        ("it was deleted", |path| fs::remove_file(path).unwrap()),
        ("nothing has its name any more", |path| fs::rename(path, path.with_file_name("elsewhere")).unwrap()),
        ("something else has its name now", |path| {
            fs::rename(path, path.with_file_name("elsewhere")).unwrap();
            fs::copy(path.with_file_name("elsewhere"), path).unwrap();
        }),
        ("it was cut from", |path| {
            let path = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
            // SAFETY: the path is a text that ends with a zero byte. The file is not opened for it.
            assert_eq!(unsafe { libc::truncate(path.as_ptr(), 7 << 20) }, 0);
        }),
    ];
    for (says, change) in changes {
        for (workload, verdict, kind) in
            [("writes.toml", "FAIL", "condition-broken"), ("reads.toml", "INVALID", "disturbed")]
        {
            let place = place();
            let running = place.start(&["run", workload, "target"], 1);
            change(&place.path("target"));
            let (found, told, said) = ended(&place, running);
            if says.contains("cut") && workload == "reads.toml" {
                // Beyond its end it has nothing to read.
                assert_eq!(found, "FAIL", "{said:?}");
                continue;
            }
            assert_eq!(found, verdict, "{says}, {workload}: {said:?}");
            let is_told = |text: &String| text.starts_with(kind) && text.contains(says);
            assert!(told.iter().any(is_told), "{says}, {workload}: {told:?}");
        }
    }
}

#[test]
fn somebody_else_who_writes_to_the_file_makes_the_run_invalid() {
    let written: Change = overwrite;
    let written_and_set_back: Change = |path| {
        let before = fs::metadata(path).unwrap().modified().unwrap();
        overwrite(path);
        fs::File::options().write(true).open(path).unwrap().set_modified(before).unwrap();
    };
    let longer: Change = |path| fs::File::options().append(true).open(path).unwrap().write_all(&[1; 512]).unwrap();
    for (change, name) in [(written, "written"), (written_and_set_back, "set back"), (longer, "longer")] {
        for workload in ["writes.toml", "reads.toml"] {
            let place = place();
            let running = place.start(&["run", workload, "target"], 1);
            change(&place.path("target"));
            let (verdict, told, said) = ended(&place, running);
            assert_eq!(verdict, "INVALID", "{name}, {workload}: {said:?}");
            let is_told = |text: &String| text.contains("somebody else had target open for writing during the run");
            assert!(told.iter().any(is_told), "{name}, {workload}: {told:?}");
        }
    }
}

#[test]
fn who_still_has_the_file_open_for_writing_at_the_end_is_named() {
    let place = place();
    let running = place.start(&["run", "writes.toml", "target"], 1);
    let writer = holder(&place.path("target"), "<>");
    let (verdict, told, said) = ended(&place, running);
    assert_eq!(verdict, "INVALID", "{said:?}");
    let names = format!("somebody else has target open for writing: process {} (sh)", writer.id());
    assert!(told.iter().any(|text| text.contains(&names)), "{told:?}");
    release(writer);
}

#[test]
fn readers_and_a_second_run_that_is_refused_spoil_nothing() {
    for workload in ["writes.toml", "reads.toml"] {
        let place = place();
        let running = place.start(&["run", workload, "target"], 1);
        let reader = holder(&place.path("target"), "<");
        fs::read(place.path("target")).unwrap();
        if workload == "writes.toml" {
            let second = place.assay(&["run", "writes.toml", "target", "--out", "second"]);
            assert_eq!(second.code, Some(4), "{second:?}");
            // The times and the rights of a file that is written say nothing about others.
            fs::set_permissions(place.path("target"), fs::Permissions::from_mode(0o640)).unwrap();
        }
        let (_, told, said) = ended(&place, running);
        assert!(said.passed_or_late() && told.is_empty(), "{workload}: {said:?}");
        release(reader);
    }
}
