//! Directories and files of a run that somebody moves, replaces, deletes or overwrites while the run goes on: the results are of
//! what the run has written, stay beside it, and nothing of anybody else is touched.

use super::bed::{Place, Running, Said, in_one_line, until};
use super::devices::{Loop, Mounted, passed_over};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

/// Three seconds that break their bound on any file in memory, and as many that keep it on any machine. What does nothing breaks a
/// bound only by the machine's lateness, which proves nothing.
const BREAKS: [&str; 11] = [
    "run",
    "random-read",
    "disk",
    "--for",
    "3s",
    "--slice",
    "1s",
    "--warm-up",
    "0s",
    "--criterion",
    "reads response max at most 1ns",
];
const HOLDS: [&str; 11] = [
    "run",
    "random-read",
    "null:1GiB",
    "--for",
    "3s",
    "--slice",
    "1s",
    "--warm-up",
    "0s",
    "--criterion",
    "reads response max at most 1h",
];

/// A place with a file that was written.
fn place_with_disk() -> Place {
    let place = Place::in_memory();
    assert_eq!(place.assay(&["prep", "disk", "--create", "64MiB", "--skip-zero"]).code, Some(0));
    place
}

/// A place with the directory of somebody's run that passed.
fn place() -> Place {
    let place = place_with_disk();
    let said = place.assay(&[&HOLDS[..3], &["--for", "1s", "--slice", "1s", "--out", "other"], &HOLDS[7..]].concat());
    assert!(said.passed_or_late(), "{said:?}");
    place
}

/// The files below a directory with their contents.
fn content(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            all.extend(content(&path))
        } else {
            drop(all.insert(path.clone(), fs::read(&path).unwrap()))
        }
    }
    all
}

fn copy_directory(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for (path, bytes) in content(from) {
        fs::write(to.join(path.file_name().unwrap()), bytes).unwrap();
    }
}

fn verdict(dir: &Path) -> String {
    let json: Value = serde_json::from_slice(&fs::read(dir.join("verdict.json")).unwrap()).unwrap();
    json["verdict"].as_str().unwrap().to_owned()
}

fn is_fail(said: &Said) -> bool {
    said.code == Some(10) && said.out.starts_with("FAIL")
}

#[test]
fn a_run_directory_that_is_moved_or_replaced_keeps_its_results_and_the_other_one_is_left_alone() {
    for replaced in [false, true] {
        let place = place();
        let running = place.start(&BREAKS, 1);
        fs::rename(place.path("run"), place.path("elsewhere")).unwrap();
        if replaced {
            copy_directory(&place.path("other"), &place.path("run"));
        }
        let before = replaced.then(|| content(&place.path("run")));
        let said = running.end();
        assert!(is_fail(&said), "replaced: {replaced}: {said:?}");
        assert!(said.err.contains("its results are in") && said.err.contains("elsewhere"), "{}", said.err);
        assert!(!said.err.contains("results in run:"), "{}", said.err);
        assert_eq!(verdict(&place.path("elsewhere")), "FAIL");
        assert!(place.path("elsewhere/report.html").exists());
        assert_eq!(place.path("run").exists().then(|| content(&place.path("run"))), before);
        assert!(is_fail(&place.assay(&["judge", "elsewhere"])));
    }
}

#[test]
fn a_second_run_in_a_directory_of_the_same_name_gets_its_own_verdict_and_so_does_the_first() {
    let place = place();
    let first = place.start(&BREAKS, 1);
    fs::rename(place.path("run"), place.path("elsewhere")).unwrap();
    let second = place.start(&HOLDS, 1);
    let (first, second) = (first.end(), second.end());
    assert!(is_fail(&first) && second.passed_or_late(), "{first:?}, {second:?}");
    assert_eq!(verdict(&place.path("elsewhere")), "FAIL");
    assert_eq!(second.is_of_verdict(&place.path("run")), verdict(&place.path("run")));
    assert_ne!(verdict(&place.path("run")), "FAIL");
}

#[test]
fn a_run_directory_that_is_deleted_takes_no_verdict_with_it() {
    for replaced in [false, true] {
        let place = place();
        let running = place.start(&BREAKS, 1);
        fs::remove_dir_all(place.path("run")).unwrap();
        if replaced {
            copy_directory(&place.path("other"), &place.path("run"));
        }
        let before = replaced.then(|| content(&place.path("run")));
        let said = running.end();
        assert!(is_fail(&said), "replaced: {replaced}: {said:?}");
        assert!(said.err.contains("run was deleted while the run went on"), "{}", said.err);
        assert!(!said.err.contains("results in"), "{}", said.err);
        assert_eq!(place.path("run").exists().then(|| content(&place.path("run"))), before);
    }
}

#[test]
fn a_log_that_loses_its_name_is_judged_and_rescued() {
    type Change = fn(&Place);
    let changes: [(&str, Change); 4] = [
        ("moved", |place| fs::rename(place.path("run/run.jsonl"), place.path("run/moved")).unwrap()),
        ("deleted", |place| fs::remove_file(place.path("run/run.jsonl")).unwrap()),
        ("replaced", |place| {
            fs::copy(place.path("other/run.jsonl"), place.path("new")).unwrap();
            fs::rename(place.path("new"), place.path("run/run.jsonl")).unwrap();
        }),
        ("replaced by a link", |place| {
            fs::remove_file(place.path("run/run.jsonl")).unwrap();
            std::os::unix::fs::symlink(place.path("other/run.jsonl"), place.path("run/run.jsonl")).unwrap();
        }),
    ];
    for (name, change) in changes {
        let place = place();
        let others = content(&place.path("other"));
        let running = place.start(&BREAKS, 1);
        change(&place);
        let there = fs::read(place.path("run/run.jsonl")).ok();
        let said = running.end();
        assert!(is_fail(&said), "{name}: {said:?}");
        assert_eq!(verdict(&place.path("run")), "FAIL", "{name}");
        assert!(said.err.contains("run-rescued.jsonl"), "{name}: {}", said.err);
        assert!(is_fail(&place.assay(&["judge", "run/run-rescued.jsonl"])), "{name}");
        assert_eq!(fs::read(place.path("run/run.jsonl")).ok(), there, "{name}: what has its name now is somebody's");
        assert_eq!(content(&place.path("other")), others, "{name}");
    }
}

#[test]
fn a_log_that_somebody_overwrites_or_cuts_gives_its_verdict_from_memory_and_never_pass() {
    type Change = fn(&Place);
    let changes: [(&str, Change); 3] = [
        ("overwritten", |place| {
            fs::copy(place.path("other/run.jsonl"), place.path("run/run.jsonl")).unwrap();
        }),
        ("cut", |place| {
            fs::File::options().write(true).open(place.path("run/run.jsonl")).unwrap().set_len(100).unwrap();
        }),
        ("emptied", |place| fs::write(place.path("run/run.jsonl"), "").unwrap()),
    ];
    for (name, change) in changes {
        for (line, is_broken) in [(&BREAKS, true), (&HOLDS, false)] {
            let place = place();
            let running = place.start(&line[..], 1);
            change(&place);
            let said = running.end();
            let found = said.is_of_verdict(&place.path("run"));
            assert!(said.err.contains("the result below is made from memory"), "{name}: {}", said.err);
            assert!(in_one_line(&said.out).contains("made from memory"), "{name}: {}", said.out);
            // A machine that was late proves nothing either.
            assert!(
                if is_broken { found == "FAIL" } else { ["INCOMPLETE", "INVALID"].contains(&&*found) },
                "{name}: {found}"
            );
        }
    }
}

#[test]
fn results_that_are_replaced_by_something_else_are_written_anew_or_told() {
    let place = place();
    let running = place.start(&BREAKS, 1);
    fs::write(place.path("theirs"), "notes").unwrap();
    std::os::unix::fs::symlink(place.path("theirs"), place.path("run/verdict.json")).unwrap();
    fs::create_dir(place.path("run/report.html")).unwrap();
    let said = running.end();
    assert!(is_fail(&said) && said.err.contains("cannot be written"), "{said:?}");
    assert_eq!(fs::read_to_string(place.path("theirs")).unwrap(), "notes");
}

/// A procedure of several runs, on what it needs, and the document that it writes.
struct Procedure {
    line: Vec<&'static str>,
    document: &'static str,
}

const PROFILE: &str = "name = \"p\"\nmodel = \"profile\"\n[[application]]\nname = \"a\"\n[application.reads]\nrate = \"50/s\"\n\
    sizes = [[\"4KiB\", \"100%\"]]\n[[iostat]]\ndrive = \"sda\"\nreads = \"50/s\"\n";

/// Every procedure, each on a file or on nothing, in real time.
fn procedures() -> Vec<Procedure> {
    let procedure = |words: &'static str, document| Procedure { line: words.split(' ').collect(), document };
    vec![
        procedure("limit random-read null:1GiB --from 1x --to 2x --for 2s --slice 1s --warm-up 0s", "limit.json"),
        procedure(
            "curve random-read null:1GiB --max 2x --points 50%,100% --for 2s --slice 1s --warm-up 0s",
            "curve.json",
        ),
        procedure("fit profile.toml disk --rounds 2 --for 2s --slice 1s --warm-up 0s", "fit.json"),
        procedure("size profile.toml disk --fit-for 2s --to 2x --for 2s --slice 1s --warm-up 0s", "size.json"),
        procedure("matrix orion null:1GiB --disks 1 --for 1s", "matrix.json"),
        procedure("certify --quick --for 2s --slice 1s --warm-up 0s", "verdict.json"),
    ]
}

fn place_of_procedures() -> Place {
    let place = place_with_disk();
    place.write("profile.toml", PROFILE);
    place
}

/// Begins a procedure in `many`, and waits until one of its logs has an interval.
fn begun(place: &Place, line: &[&str]) -> Running {
    let mut running = place.begin(&[line, &["--out", "many"]].concat());
    until("the first interval", || {
        assert!(running.is_alive(), "it ended before it was asked to");
        let logs = logs(&place.path("many"));
        logs.iter().any(|log| fs::read_to_string(log).is_ok_and(|text| text.contains("\"kind\":\"interval\"")))
    });
    running
}

/// The logs below a directory, as far as it is there.
fn logs(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    entries
        .flat_map(|path| match path.is_dir() {
            true => logs(&path),
            false if path.ends_with("run.jsonl") => vec![path],
            false => Vec::new(),
        })
        .collect()
}

#[test]
fn every_procedure_leaves_its_results_in_the_directory_that_it_made() {
    for Procedure { line, document } in procedures() {
        let undisturbed = place_of_procedures();
        let usual = undisturbed.assay(&[&line[..], &["--out", "many"]].concat());
        let names = |place: &Place, dir: &str| -> Vec<PathBuf> {
            let root = place.path(dir);
            content(&root).into_keys().map(|path| path.strip_prefix(&root).unwrap().to_owned()).collect()
        };
        let place = place_of_procedures();
        let running = begun(&place, &line);
        fs::rename(place.path("many"), place.path("elsewhere")).unwrap();
        fs::create_dir(place.path("many")).unwrap();
        fs::write(place.path("many").join(document), "notes").unwrap();
        let said = running.end();
        assert_eq!(names(&place, "many"), [PathBuf::from(document)], "{line:?}: {said:?}");
        assert_eq!(fs::read_to_string(place.path("many").join(document)).unwrap(), "notes", "{line:?}");
        assert!(said.err.contains("elsewhere"), "{line:?} says where: {}", said.err);
        // A busy machine may need other runs, and end otherwise. A file of each kind must be there.
        let file_names = |names: Vec<PathBuf>| -> Vec<String> {
            let mut all: Vec<String> =
                names.iter().map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect();
            all.sort();
            all.dedup();
            all
        };
        if said.code == usual.code {
            assert_eq!(
                file_names(names(&place, "elsewhere")),
                file_names(names(&undisturbed, "many")),
                "{line:?}: {said:?}"
            );
        }
        assert!(place.path("elsewhere").join(document).exists(), "{line:?}: {said:?}");
    }
}

#[test]
fn a_directory_in_which_a_procedure_works_is_continued_only_when_it_has_ended() {
    let run = Procedure { line: HOLDS.to_vec(), document: "verdict.json" };
    for Procedure { line, document } in procedures().into_iter().chain([run]) {
        // A size has nothing to continue, nor has a quick look, whose file is gone.
        if ["size", "certify"].contains(&line[0]) {
            continue;
        }
        let place = place_of_procedures();
        let running = begun(&place, &line);
        let resume = [&line[..], &["--resume", "many"]].concat();
        let before = logs(&place.path("many"));
        let said = place.assay(&resume);
        assert_eq!(said.code, Some(5), "{line:?}: {said:?}");
        assert!(said.err.contains("another run is writing it"), "{line:?}: {}", said.err);
        assert!(before.iter().all(|path| path.exists()), "{line:?}");
        // A search is continued from its first result.
        if document == "limit.json" {
            until("the result of its first run", || place.path("many/limit.json").exists());
        }
        running.signal(libc::SIGKILL);
        running.end();
        let said = place.assay(&resume);
        assert!(![Some(2), Some(5)].contains(&said.code), "{line:?}: the lock ends with its process: {said:?}");
        assert!(place.path("many").join(document).exists(), "{line:?}");
    }
}

/// Makes a mounted ext4 as it is after its disk has died: everything that needs it gives EIO.
fn shut_down(mounted: &Path) -> bool {
    const SHUTDOWN: libc::c_ulong = 0x8004_587d;
    let dir = fs::File::open(mounted).unwrap();
    let without_log: u32 = 2;
    // SAFETY: the request takes a pointer to an integer that lives longer than the call.
    unsafe { libc::ioctl(dir.as_raw_fd(), SHUTDOWN as _, &raw const without_log) == 0 }
}

#[test]
fn a_verdict_survives_the_file_system_of_its_log() {
    for (line, verdict) in [(BREAKS, "FAIL"), (HOLDS, "INCOMPLETE")] {
        let place = place_with_disk();
        let Some(disk) = Loop::over(&place, "low.img", 128 << 20) else { return };
        let Some(_mounted) = Mounted::ext4(&disk, place.path("mounted")) else { return };
        let mut running = place.begin(&[&line[..], &["--out", "mounted/run"]].concat());
        let log = place.path("mounted/run/run.jsonl");
        until("two intervals", || {
            assert!(running.is_alive(), "it ended before it was asked to");
            fs::read_to_string(&log).is_ok_and(|text| text.matches("\"kind\":\"interval\"").count() >= 2)
        });
        if !shut_down(&place.path("mounted")) {
            return passed_over("no file system can be shut down here");
        }
        let said = running.end();
        assert!(said.err.contains("made from memory"), "{said:?}");
        assert!(
            said.out.starts_with(verdict) || verdict == "INCOMPLETE" && said.out.starts_with("INVALID"),
            "{said:?}"
        );
        assert!([Some(10), Some(11), Some(12)].contains(&said.code), "{said:?}");
        assert!(!said.out.contains("results in"), "{said:?}");
        assert!(!said.err.contains("the run log holds all of it"), "{said:?}");
    }
}

/// Runs a procedure whose logs are on a file system that is shut down behind two intervals; nothing where there is none.
fn on_a_file_system_that_ends(line: &[&str]) -> Option<Said> {
    let place = place_with_disk();
    let disk = Loop::over(&place, "low.img", 128 << 20)?;
    let _mounted = Mounted::ext4(&disk, place.path("mounted"))?;
    let mut running = place.begin(&[line, &["--out", "mounted/many"]].concat());
    until("two intervals", || {
        assert!(running.is_alive(), "it ended before it was asked to");
        let has_two = |log: &PathBuf| {
            fs::read_to_string(log).is_ok_and(|text| text.matches("\"kind\":\"interval\"").count() >= 2)
        };
        logs(&place.path("mounted/many")).iter().any(has_two)
    });
    if !shut_down(&place.path("mounted")) {
        passed_over("no file system can be shut down here");
        return None;
    }
    Some(running.end())
}

/// A run on a machine that was late proves nothing: the better of three counts.
fn in_time(run: impl Fn() -> Option<Said>) -> Option<Said> {
    let was_late = |said: &Said| said.code == Some(11) && in_one_line(&said.out).contains("the test machine");
    let said = (0..2).map_while(|_| run()).find(|said| !was_late(said));
    said.or_else(run)
}

/// What the points of a procedure say is of the fold that ran while the log was written, as for a single run, also of each
/// phase of one run; and the result is printed although its document cannot be kept.
#[test]
fn procedures_survive_the_file_system_of_their_logs() {
    let shared = ["random-read", "disk", "--for", "3s", "--slice", "1s", "--warm-up", "0s"];
    let broken = ["--criterion", "reads response max at most 1ns"];
    let held = ["--criterion", "reads response max at most 1h"];
    let points = ["--max", "2x", "--points", "50%,100%", "--runs"];
    let curve = |runs| [&["curve"], &shared[..], &points, &[runs]].concat();
    let limit = [&["limit"], &shared[..], &["--from", "1x", "--to", "2x"]].concat();
    for (line, bound, codes, says) in [
        (curve("one"), broken, &[10][..], "FAIL"),
        (curve("one"), held, &[11, 12], "IN"),
        // Where another run would follow, there is no place for its log: the host failed, behind the verdict of this one.
        (curve("each"), broken, &[5, 10], "FAIL"),
        (limit, broken, &[5, 10, 12], "FAIL"),
    ] {
        let line = [&line[..], &bound].concat();
        let Some(said) = in_time(|| on_a_file_system_that_ends(&line)) else { return };
        assert!(said.code.is_some_and(|code| codes.contains(&code)), "{line:?}: {said:?}");
        assert!(
            said.err.contains("made from memory") && format!("{}{}", said.out, said.err).contains(says),
            "{line:?}: {said:?}"
        );
        assert!(!said.err.contains("the run log holds all of it"), "{line:?}: {said:?}");
    }
}

/// Limits the size of files that a command may write.
fn with_largest_file(place: &Place, args: &[&str], bytes: u64) -> std::process::Command {
    let mut command = place.command(args);
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
    // SAFETY: the closure makes only a system call, between fork and exec.
    unsafe {
        command.pre_exec(move || match libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        })
    };
    command
}

#[test]
fn a_log_or_a_target_that_the_largest_size_of_a_file_does_not_allow_is_refused() {
    let place = place_of_procedures();
    for (args, says) in [
        (&[&HOLDS[..], &["--out", "run"]].concat()[..], "ulimit -f"),
        (&["run", "act-storage", "disk", "--for", "1s", "--out", "run"], "may write files of"),
    ] {
        let said = Said::of(with_largest_file(&place, args, 4096).output().unwrap(), args);
        assert!(said.code == Some(5) && said.err.contains(says), "{args:?}: {said:?}");
        assert!(!place.path("run").exists(), "{args:?}");
    }
}

#[test]
fn a_log_that_reaches_the_largest_size_of_a_file_ends_the_run_with_its_verdict() {
    for (line, code) in [(BREAKS, 10), (HOLDS, 12)] {
        let place = place_with_disk();
        let mut running = place.start(&line, 2);
        let size = fs::metadata(place.path("run/run.jsonl")).unwrap().len();
        let limit = libc::rlimit { rlim_cur: size, rlim_max: size };
        // SAFETY: the process is this test's, and the limit outlives the call.
        assert_eq!(
            unsafe { libc::prlimit(running.pid(), libc::RLIMIT_FSIZE, &raw const limit, std::ptr::null_mut()) },
            0
        );
        assert!(running.is_alive());
        let said = running.end();
        assert!(said.code == Some(code) || code == 12 && said.code == Some(11), "{said:?}");
        assert!(said.err.contains("File too large"), "{said:?}");
    }
}

/// Bytes that a file takes on its disk.
fn allocated(path: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).unwrap().blocks() * 512
}

#[test]
fn what_a_killed_run_had_reserved_is_bounded_and_given_back_when_its_log_is_read() {
    for length in ["20d", "10min"] {
        for visit in [&["judge", "run"][..], &["report", "run"], &["export", "run", "--to", "csv"], &["watch", "run"]] {
            let place = Place::new();
            let running = place.start(&["run", "random-read", "null:1GiB", "--for", length, "--slice", "1s"], 1);
            let log = place.path("run/run.jsonl");
            let reserved = allocated(&log);
            assert!(reserved <= (1 << 30) + (1 << 20), "{length}: {reserved}");
            assert_eq!(place.assay(&["judge", "run"]).code, Some(12));
            assert_eq!(allocated(&log), reserved, "the room of a run that goes on stays");
            running.signal(libc::SIGKILL);
            running.end();
            let before = fs::read(&log).unwrap();
            assert_eq!(
                place.assay(visit).code,
                Some(12).filter(|_| visit[0] == "judge" || visit[0] == "watch").or(Some(0))
            );
            assert_eq!(fs::read(&log).unwrap(), before, "{visit:?}");
            let left = allocated(&log);
            assert!(left <= before.len() as u64 + (1 << 20), "{length}, {visit:?}: {left} of {reserved}");
        }
    }
}
