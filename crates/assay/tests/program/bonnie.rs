//! `bonnie++`: its command line, table and line, made of a run on a directory; the line of a log; and the options of runs on
//! directories.

use super::bed::{Log, Place, Running, Said};
use assay_record::EventKind;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Tests that take a moment. Root says whose rights it keeps.
const SMALL: [&str; 15] =
    ["as", "bonnie++", "-u", "root", "-r", "0", "-f", "-s", "4:8k:300:3", "-n", "1:100:10:3", "-m", "a,b", "-z", "42"];

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The small tests in the directory `data`, with more options. Only root names a user.
fn small(place: &Place, more: &[&str]) -> Said {
    let _ = fs::create_dir(place.path("data"));
    let mut args: Vec<&str> = SMALL.to_vec();
    if !is_root() {
        args.drain(2..4);
    }
    args.extend(["-d", "data"]);
    args.extend(more);
    place.assay(&args)
}

fn entries(place: &Place, directory: &str) -> Vec<PathBuf> {
    fs::read_dir(place.path(directory)).unwrap().map(|entry| entry.unwrap().path()).collect()
}

fn fields(line: &str) -> Vec<String> {
    line.split(',').map(str::to_owned).collect()
}

/// A rate is a number, or the plus signs of a test that took too little time.
fn is_rate(field: &str) -> bool {
    field == "+++++" || field.parse::<u64>().is_ok()
}

#[test]
fn the_originals_table_and_line_are_printed_and_nothing_is_left() {
    let place = Place::new();
    let said = small(&place, &[]);
    assert!(said.passed_or_late(), "{said:?}");
    assert_eq!(entries(&place, "data"), [] as [PathBuf; 0]);
    let lines: Vec<&str> = said.out.lines().collect();
    assert_eq!(lines.len(), 11, "two tables of five lines, and the line: {}", said.out);
    assert!(lines[0].starts_with("Version 2.00a       ------Sequential Output"), "{}", said.out);
    assert!(lines[3].starts_with("a,b         4M::300 "), "{}", said.out);
    assert!(lines[8].starts_with("         1:100:10/3 "), "{}", said.out);
    let fields = fields(lines[10]);
    assert_eq!(fields.len(), 50, "{}", lines[10]);
    assert_eq!(fields[..9], ["1.98", "2.00a", "a-b", "1", "42", "4M", "8192", "300", "3"]);
    assert_eq!(fields[9..11], ["", ""], "no test byte by byte");
    assert_eq!(fields[21..26], ["1", "100", "10", "3", "8192"]);
    for place in [11, 13, 17, 19, 26, 28, 30, 32, 34, 36] {
        assert!(is_rate(&fields[place]), "{place}: {}", lines[10]);
    }
    for place in [39, 40, 42, 43, 44, 45, 46, 47, 48, 49] {
        let microseconds = fields[place].strip_suffix("us").and_then(|number| number.parse::<u64>().ok());
        assert!(microseconds.is_some_and(|us| us > 0), "{place}: {}", lines[10]);
    }
    for text in ["Writing intelligently...done\n", "Rewriting...done\n", "Delete files in random order...done.\n"] {
        assert!(said.err.contains(text), "{text}: {}", said.err);
    }
}

#[test]
fn quiet_leaves_the_line_alone_on_standard_output_and_several_times_are_lines_under_their_names() {
    let place = Place::new();
    let said = small(&place, &["-q", "-n", "0"]);
    assert!(said.passed_or_late() && said.out.lines().count() == 1, "{said:?}");
    assert!(said.out.starts_with("1.98,2.00a,a-b,1,42,4M,"), "{said:?}");
    assert!(said.err.contains("Name:Size etc") && !said.err.contains("Writing"), "{said:?}");
    let said = small(&place, &["-x", "2", "-s", "0", "-n", "1"]);
    let lines: Vec<Vec<String>> = said.out.lines().map(fields).collect();
    // A run that is not PASS, on a machine that was late, ends all.
    if said.code == Some(0) {
        assert_eq!(lines.len(), 3, "{said:?}");
    }
    assert!(lines[0][0] == "format_version" && lines.iter().all(|line| line.len() == 50), "{said:?}");
    assert_eq!(lines[1][5..21].concat(), "", "no large file");
    assert_eq!(entries(&place, "data"), [] as [PathBuf; 0]);
}

#[test]
fn the_log_is_kept_where_the_environment_says_it_and_makes_the_same_line_again() {
    let place = Place::new();
    fs::create_dir(place.path("data")).unwrap();
    let mut args = SMALL.to_vec();
    if !is_root() {
        args.drain(2..4);
    }
    args.extend(["-d", "data", "-q"]);
    let mut command = place.command(&args);
    let said = Said::of(command.env("ASSAY_RUN_DIR", place.path("log")).output().unwrap(), &args);
    assert!(said.passed_or_late(), "{said:?}");
    let text = fs::read_to_string(place.path("log/run.jsonl")).unwrap();
    assert!(text.contains("RUN AS bonnie++") && text.matches("\"kind\":\"header\"").count() == 11);
    assert_eq!(place.assay(&["judge", "log"]).code, said.code, "the log is judged as the run was");
    let again = place.assay(&["export", "log", "--to", "bonnie-csv"]);
    let (ours, theirs) = (fields(again.out.trim()), fields(said.out.trim()));
    assert_eq!((ours[..2].to_vec(), &ours[3..]), (theirs[..2].to_vec(), &theirs[3..]), "all but the machine's name");
}

#[test]
fn what_cannot_be_is_refused_and_makes_nothing() {
    let place = Place::new();
    fs::create_dir(place.path("data")).unwrap();
    for (args, code, says) in [
        (vec!["-s", "abc"], 2, "write for example 4096 or 4g"),
        (vec!["-Q"], 2, "no option \"-Q\""),
        (vec!["-n", "4:-2"], 2, "links in place of files"),
        (vec!["-x", "0"], 2, "write 1 to"),
        (vec!["-s", "0", "-n", "0"], 2, "nothing to test"),
        (vec!["-s", "8", "-r", "8"], 2, "should be twice the memory, which is 8 MiB: write -s 16"),
        (vec!["-s", "8", "-n", "0", "-f", "-r", "0", "-d", "nothing"], 5, "does not exist"),
        (vec!["-s", "8", "-n", "0", "-f", "-r", "0", "-d", "/usr"], 4, "belongs to the system"),
    ] {
        let mut all = vec!["as", "bonnie++", "-d", "data"];
        if is_root() {
            all.extend(["-u", "root"]);
        }
        all.extend(&args);
        let said = place.assay(&all);
        assert!(said.code == Some(code) && said.err.contains(says) && said.out.is_empty(), "{args:?}: {said:?}");
    }
    let unknown = place.assay(&["as", "bonnie++", "-u", "nobody-of-this-name", "-d", "data"]);
    assert!(unknown.code == Some(2) && unknown.err.contains("there is no user nobody-of-this-name"), "{unknown:?}");
    if is_root() {
        let said = place.assay(&["as", "bonnie++", "-d", "data", "-r", "0", "-s", "4", "-f", "-n", "0"]);
        assert!(said.code == Some(2) && said.err.contains("add -u USER"), "{said:?}");
    }
    assert_eq!(entries(&place, "data"), [] as [PathBuf; 0]);
    assert_eq!(place.left(&["data", "state"]), Vec::<String>::new());
    let help = place.assay(&["as", "bonnie++", "-h"]);
    assert!(help.code == Some(0) && help.out.starts_with("usage: bonnie++"), "{help:?}");
}

/// Root gives its rights up: what the run makes belongs to the user, and a directory that the user may not write is refused.
#[test]
fn root_gives_up_its_rights_before_anything_is_made() {
    if !is_root() {
        return;
    }
    // The user must be able to reach the program and the directory.
    let dir = tempfile::Builder::new().prefix("bonnie").tempdir_in("/tmp").unwrap();
    let program = dir.path().join("assay");
    fs::copy(env!("CARGO_BIN_EXE_assay"), &program).unwrap();
    let data = dir.path().join("data");
    fs::create_dir(&data).unwrap();
    let run = || {
        let mut command = Command::new(&program);
        command.args(["as", "bonnie++", "-u", "65534:65534", "-r", "0", "-f", "-s", "4:8k:10:2", "-n", "0", "-d"]);
        Said::of(command.arg(&data).current_dir("/").stdin(Stdio::null()).output().unwrap(), &["bonnie++"])
    };
    let open = |path, mode| fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    open(dir.path(), 0o755);
    open(data.as_path(), 0o755);
    let said = run();
    assert!(said.code == Some(5) && said.err.contains("nothing can be made in"), "{said:?}");
    assert!(said.err.contains("Using uid:65534, gid:65534."), "{said:?}");
    open(data.as_path(), 0o777);
    let said = run();
    assert!(said.passed_or_late() && said.out.contains("1.98,2.00a,"), "{said:?}");
    assert_eq!(fs::read_dir(&data).unwrap().count(), 0);
}

/// Semaphores belong to the whole host, and so this is one test. Where the original is installed, the two wait for each other.
#[test]
fn processes_wait_for_each_other_before_each_test() {
    let place = Place::new();
    fs::create_dir(place.path("data")).unwrap();
    let semaphores = fs::read_to_string("/proc/sysvipc/sem").unwrap_or_default();
    if semaphores.lines().any(|line| line.split_whitespace().next() == Some("4711")) {
        eprintln!("skipped: somebody else on this host has made the semaphores of bonnie++, and they were NOT tried");
        return;
    }
    let without = small(&place, &["-y", "s"]);
    assert!(without.code == Some(5) && without.err.contains("make them first with -p N"), "{without:?}");
    let made = place.assay(&["as", "bonnie++", "-p", "2"]);
    assert!(made.code == Some(0) && made.err.contains("Creating semaphore for 2 procs."), "{made:?}");
    let mut args = SMALL.to_vec();
    if !is_root() {
        args.drain(2..4);
    }
    args.extend(["-d", "data", "-y", "s"]);
    let mut first = place.begin(&args);
    assert!(first.is_alive());
    let original = Command::new("bonnie++")
        .args(["-u", "root", "-r", "0", "-f", "-s", "4:8k:300:3", "-n", "1", "-q", "-y", "s", "-d", "data"])
        .current_dir(place.path("."))
        .output();
    match original {
        Ok(ended) if is_root() => assert!(ended.status.success(), "{ended:?}"),
        _ => {
            let second = place.assay(&args);
            assert!(second.passed_or_late(), "{second:?}");
        }
    }
    let ended = first.end();
    assert!(ended.passed_or_late(), "{ended:?}");
    // All have met: no process can come to a test any more.
    let late = small(&place, &["-y", "s"]);
    assert!(late.code == Some(5) && late.err.contains("more processes came"), "{late:?}");
    // A process whose others never come ends by a signal, and leaves nothing.
    assert_eq!(place.assay(&["as", "bonnie++", "-p", "2"]).code, Some(0));
    let mut alone = place.begin(&args);
    until_it_waits(&mut alone);
    alone.signal(libc::SIGTERM);
    let ended = alone.end();
    assert!(ended.code == Some(12), "{ended:?}");
    let removed = place.assay(&["as", "bonnie++", "-p", "-1"]);
    assert!(removed.code == Some(0) && removed.err.contains("Semaphore removed."), "{removed:?}");
    assert_eq!(place.assay(&["as", "bonnie++", "-p", "-1"]).code, Some(5));
    assert_eq!(entries(&place, "data"), [] as [PathBuf; 0]);
}

/// Waits until a process has come to the first semaphore: one of its two is left then.
fn until_it_waits(process: &mut Running) {
    super::bed::until("the first semaphore", || {
        assert!(process.is_alive());
        // SAFETY: both calls take numbers alone.
        unsafe { libc::semctl(libc::semget(4711, 0, 0), first_test_without_chars(), libc::GETVAL) == 1 }
    });
}

/// The number of the first test of the large file with `-f`.
fn first_test_without_chars() -> i32 {
    assay_formats::bonnie::Test::from_phase_name("write").unwrap().number() as i32
}

/// A full disk under the output of a script: nothing of hours of tests is lost, and nobody is told that all went well.
#[test]
fn a_line_that_cannot_be_written_stands_on_standard_error_and_is_no_success() {
    let place = Place::new();
    fs::create_dir(place.path("data")).unwrap();
    let mut args = SMALL.to_vec();
    if !is_root() {
        args.drain(2..4);
    }
    args.extend(["-d", "data", "-q"]);
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = place.command(&args).stdout(full).stderr(std::process::Stdio::piped()).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{told}");
    assert!(told.lines().any(|line| line.starts_with("1.98,2.00a,")), "{told}");
}

/// A link of the name, and what a script gives it.
#[test]
fn a_link_of_its_name_takes_its_arguments() {
    let place = Place::new();
    assert_eq!(place.assay(&["links", "tools"]).code, Some(0));
    let said = Command::new(place.path("tools/bonnie++")).arg("-h").output().unwrap();
    assert!(String::from_utf8_lossy(&said.stdout).starts_with("usage: bonnie++"));
}

/// What `chars = true` adds, with fewer bytes.
const CHARS: &str = r#"
[[phase]]
name  = "write-chars"
until = "done"
files = 1
[[phase.do]]
name  = "write-by-byte"
steps = ["create", "write", "fsync", "close"]
size  = "32KiB"
io    = "1B"
[[phase]]
name  = "read-chars"
until = "done"
files = 1
[[phase.do]]
name  = "read-by-byte"
steps = ["open", "read", "close"]
io    = "1B"
"#;

/// The directory with the workload `bonnie` made small, and its log.
fn small_log(place: &Place) -> (Said, Log) {
    fs::create_dir(place.path("data")).unwrap();
    let text = place.assay(&["workloads", "bonnie"]).out;
    let small =
        text.replace("files = 16384", "files = 2048").replace("\"4GiB\"", "\"4MiB\"").replace("\"30s\"", "\"1s\"");
    assert_ne!(small, text);
    place.write("small.toml", &(small + CHARS));
    place.run(&["run", "small.toml", "data"])
}

#[test]
fn the_line_of_a_log_is_read_by_the_converters_of_the_original() {
    let place = Place::new();
    let (said, log) = small_log(&place);
    assert!(said.passed_or_late(), "{said:?}");
    let exported = place.assay(&["export", "run", "--to", "bonnie-csv"]);
    assert_eq!(exported.code, Some(0), "{exported:?}");
    let row = fields(exported.out.trim_end());
    assert_eq!((row.len(), exported.out.lines().count()), (50, 1), "{exported:?}");
    assert_eq!((row[0].as_str(), row[4].as_str()), ("1.98", log.header.seed.to_string().as_str()));
    assert_eq!(row[5..7], ["4M", "8192"]);
    assert_eq!(row[8], "5");
    // The bytes that are moved one by one are calls of the log.
    let text = fs::read_to_string(place.path("run/run.jsonl")).unwrap();
    assert!(text.contains("write-by-byte") && is_rate(&row[9]) && is_rate(&row[15]), "{row:?}");
    assert_eq!(row[21..26], ["2", "", "", "", ""]);
    // The seeks last a second, so that they have a rate; it is what the log counts.
    let seeks: u64 = row[7].parse().unwrap();
    let rate: u64 = row[19].parse().unwrap();
    assert!(seeks > 0 && rate.abs_diff(seeks) <= seeks / 5 + 1, "{row:?}");
    for name in ["bon_csv2txt", "bon_csv2html"] {
        let started = Command::new(name).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let Ok(mut converter) = started else {
            eprintln!("skipped: {name} is not installed (package bonnie++), the line was NOT tried with it");
            continue;
        };
        std::io::Write::write_all(&mut converter.stdin.take().unwrap(), exported.out.as_bytes()).unwrap();
        let shown = converter.wait_with_output().unwrap().stdout;
        check_converted(name, &String::from_utf8_lossy(&shown), &row);
    }
}

/// Each cell of a line stands under its title.
fn check_converted(name: &str, shown: &str, row: &[String]) {
    if name == "bon_csv2html" {
        let cells: Vec<&str> =
            shown.split("<td").skip(1).map(|cell| cell.split('>').next_back().unwrap_or("")).collect();
        assert!(cells.len() > 50, "{shown}");
        let body = shown.rsplit_once("rowheader").unwrap().1;
        for expected in [&row[2], &row[5], &row[6], &row[20], &row[21], &row[39], &row[44], &row[49]] {
            assert!(body.contains(&format!(">{expected}<")), "{expected}: {shown}");
        }
        return;
    }
    let lines: Vec<&str> = shown.lines().collect();
    let named = lines.iter().position(|line| line.starts_with("Name:Size")).unwrap();
    let large: Vec<&str> = lines[named + 1].split_whitespace().collect();
    assert!(large[1].starts_with("4M:8192:") || large[0].contains("4M:8192"), "{shown}");
    // From the right: the seeks are the last two cells, the blocks that are read stand before them.
    assert_eq!(large[large.len() - 2..], [row[19].as_str(), row[20].as_str()], "{shown}");
    let latencies: Vec<&str> = lines[named + 2].split_whitespace().collect();
    assert_eq!(
        latencies[1..],
        [&row[38], &row[39], &row[40], &row[41], &row[42], &row[43]].map(String::as_str),
        "{shown}"
    );
    let small: Vec<&str> = lines.last().map(|line| line.split_whitespace().collect()).unwrap();
    assert_eq!(small[1..], row[44..50].iter().map(String::as_str).collect::<Vec<_>>(), "{shown}");
}

#[test]
fn a_log_without_these_tests_has_no_line() {
    let place = Place::new();
    let (said, _) = place.run(&["run", "random-read", "sim:flash", "--for", "2s", "--slice", "1s"]);
    assert!(said.code.is_some(), "{said:?}");
    let exported = place.assay(&["export", "run", "--to", "bonnie-csv"]);
    assert!(exported.code == Some(3) && exported.err.contains("no run on a directory"), "{exported:?}");
    assert_eq!(exported.out, "");
}

/// A small mix on a directory.
const MIX: &str = "name = \"mix\"\nmodel = \"files\"\nclients = 2\nclosed = true\nduration = \"1s\"\nslice = \"1s\"\n\
                   [tree]\nfiles = 20\nsize = \"4KiB\"\n[[do]]\nname = \"look\"\nsteps = [\"stat\"]\n";

#[test]
fn what_a_run_made_stays_where_that_is_wanted_and_clean_removes_it() {
    let place = Place::new();
    fs::create_dir(place.path("data")).unwrap();
    place.write("mix.toml", MIX);
    let (said, log) = place.run(&["run", "mix.toml", "data", "--keep"]);
    assert!(said.passed_or_late() && said.err.contains("assay clean data removes it"), "{said:?}");
    assert_eq!(entries(&place, "data").len(), 1);
    assert!(log.events.iter().any(|event| event.what == EventKind::Settings && event.text.contains("--keep")));
    let cleaned = place.assay(&["clean", "data"]);
    assert!(cleaned.code == Some(0) && cleaned.out.contains("was removed, with 2"), "{cleaned:?}");
    assert_eq!(entries(&place, "data"), [] as [PathBuf; 0]);
}

#[test]
fn another_file_system_than_expected_is_refused_and_nothing_is_made() {
    let place = Place::new();
    fs::create_dir(place.path("data")).unwrap();
    place.write("mix.toml", MIX);
    let (said, log) = place.run(&["run", "mix.toml", "data"]);
    assert!(said.passed_or_late(), "{said:?}");
    let there = log.header.targets[0].facts["file system"].clone();
    let other = if there == "xfs" { "btrfs" } else { "xfs" };
    let refused = place.assay(&["run", "mix.toml", "data", "--expect-fs", other, "--out", "no"]);
    let expected = format!("is on {there}, and {other}");
    assert!(refused.code == Some(4) && refused.err.contains(&expected), "{refused:?}");
    let taken = place.assay(&["run", "mix.toml", "data", "--expect-fs", &there, "--out", "yes"]);
    assert!(taken.passed_or_late(), "{taken:?}");
    assert_eq!((entries(&place, "data"), place.path("no").exists()), (Vec::<PathBuf>::new(), false));
    let curve = place.assay(&["curve", "mix.toml", "data", "--expect-fs", other, "--out", "no"]);
    assert!(matches!(curve.code, Some(3 | 4)), "{curve:?}");
}

#[test]
fn caches_of_the_host_are_dropped_with_an_event_and_otherwise_metadata_is_said_to_be_warm() {
    let place = Place::new();
    fs::create_dir(place.path("data")).unwrap();
    place.write("mix.toml", MIX);
    let (_, log) = place.run(&["run", "mix.toml", "data"]);
    assert!(log.header.engine["metadata"].starts_with("metadata warm"), "{:?}", log.header.engine);
    let said = place.assay(&["run", "mix.toml", "data", "--drop-caches", "--out", "dropped"]);
    if said.code == Some(5) {
        assert!(said.err.contains("/proc/sys/vm/drop_caches") && said.err.contains("as root"), "{said:?}");
        assert_eq!(entries(&place, "data"), [] as [PathBuf; 0]);
        return;
    }
    let log = Log::of(&place.path("dropped"));
    assert!(log.header.engine["metadata"].starts_with("dropped before each phase"), "{:?}", log.header.engine);
    let dropped = log.events.iter().filter(|event| event.text.contains("all caches of the host were dropped"));
    assert_eq!(dropped.count(), 1);
}

#[test]
fn options_of_directories_are_refused_for_other_targets() {
    let place = Place::new();
    for option in [&["--keep"][..], &["--drop-caches"], &["--expect-fs", "xfs"]] {
        for verb in ["run", "limit"] {
            let said = place.assay(&[&[verb, "random-read", "sim:flash"], option].concat());
            let expected = format!("{} is for a run on a directory", option[0]);
            assert!(said.code == Some(2) && said.err.contains(&expected), "{verb} {option:?}: {said:?}");
        }
    }
    fs::create_dir(place.path("data")).unwrap();
    place.write("mix.toml", &MIX.replace("closed = true", "rate = \"10/s\""));
    let said = place.assay(&["limit", "mix.toml", "data", "--keep"]);
    assert!(said.code == Some(2) && said.err.contains("--keep is for a single run"), "{said:?}");
    assert_eq!(entries(&place, "data"), [] as [PathBuf; 0]);
}
