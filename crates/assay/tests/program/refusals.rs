//! Bad input: one clear error with its place and the remedy, the right exit code, and nothing is written.

use super::bed::{Place, Said};
use super::devices::{Disk, Loop, Mounted};
use std::fs;
use std::path::Path;

const USAGE: i32 = 2;
const WORKLOAD: i32 = 3;
const REFUSED: i32 = 4;
const HOST: i32 = 5;

/// A configuration of IOmeter.
const ICF: &str = include_str!("../../../assay-formats/tests/golden/icf/single.icf");
const IOSTAT: &str = "Linux 6.1.0 (host) \t11/27/2026 \t_x86_64_\t(2 CPU)\n\nDevice            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz  aqu-sz  %util\nsda            100.00    400.00     0.00   0.00    0.10     4.00   50.00    200.00     0.00   0.00    0.10     4.00    0.00   1.00\n\nDevice            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz  aqu-sz  %util\nsda            100.00    400.00     0.00   0.00    0.10     4.00   50.00    200.00     0.00   0.00    0.10     4.00    0.00   1.00\n";

/// Asserts the exit code, one error on stderr that contains all of `says`, and an empty stdout.
fn refused(said: &Said, code: i32, says: &[&str]) {
    assert_eq!((said.code, said.out.as_str()), (Some(code), ""), "{}", said.err);
    assert_eq!(said.err.matches("error:").count(), 1, "one error: {}", said.err);
    assert!(said.err.starts_with("error: "), "{}", said.err);
    for part in says {
        assert!(said.err.contains(part), "\"{part}\" is missing in: {}", said.err);
    }
}

const WORKING: &str = "name = \"x\"\nmodel = \"streams\"\n\n[[stream]]\nname = \"reads\"\ndirection = \"read\"\nsize = \"4KiB\"\nrate = \"10/s\"\n";

#[test]
fn bad_workload_files_name_line_and_remedy() {
    // The replaced text, its replacement, and the parts of the message.
    let table: [(&str, &str, &[&str]); 11] = [
        ("direction", "dirction", &["unknown key \"dirction\"", "x.toml:6:1", "^^^^^^^^", "did you mean direction?"]),
        ("\"4KiB\"", "\"4096\"", &["x.toml:7:", "^^^^^^", "8KiB"]),
        ("\"10/s\"", "\"10\"", &["x.toml:8:", "the unit is missing", "2000/s"]),
        ("\"10/s\"", "\"0/s\"", &["x.toml:8:", "a rate of zero", "write a rate above 0/s"]),
        ("\"10/s\"", "10", &["x.toml:8:", "/s"]),
        ("\"read\"", "\"reed\"", &["x.toml:6:", "read"]),
        ("model = \"streams\"", "model = \"stream\"", &["x.toml:2:", "streams"]),
        ("model = \"streams\"\n", "", &["model"]),
        ("[[stream]]", "[[stream]", &["x.toml:4:"]),
        ("\"4KiB\"", "\"0B\"", &["x.toml:7:", "write 1B to"]),
        ("rate = \"10/s\"\n", "", &["rate", "in_flight"]),
    ];
    let place = Place::new();
    for (from, to, says) in table {
        place.write("x.toml", &WORKING.replacen(from, to, 1));
        for command in [&["run", "x.toml", "sim:flash", "--for", "1s"][..], &["explain", "x.toml"]] {
            refused(&place.assay(command), WORKLOAD, says);
        }
    }
    fs::write(place.path("x.toml"), [0xff, 0xfe, 0]).unwrap();
    refused(&place.assay(&["run", "x.toml", "sim:flash"]), WORKLOAD, &["x.toml", "not text"]);
    assert_eq!(place.left(&["x.toml"]), [""; 0]);
    place.write("x.toml", WORKING);
    assert_eq!(place.assay(&["explain", "x.toml"]).code, Some(0), "the table's base is good");
}

#[test]
fn workloads_and_logs_that_cannot_be_read() {
    let place = Place::new();
    fs::create_dir(place.path("directory")).unwrap();
    for (arguments, code, says) in [
        (&["run", "none.toml", "sim:flash"][..], WORKLOAD, &["none.toml", "No such file", "act-storage"][..]),
        (&["run", "directory", "sim:flash"], WORKLOAD, &["directory"]),
        (&["run", "act-storage", "sim:flash", "--verify"], WORKLOAD, &["sim:flash", "no data", "without verify"]),
        (&["run", "act-storage", "null:1GiB", "--verify"], WORKLOAD, &["null:1GiB", "no data", "without verify"]),
        (&["explain", "none.toml"], WORKLOAD, &["none.toml", "random-read"]),
        (&["workloads", "none"], WORKLOAD, &["none", "act-storage"]),
        (&["judge", "none"], WORKLOAD, &["none", "run.jsonl"]),
        (&["judge", "directory"], WORKLOAD, &["directory/run.jsonl"]),
        (&["report", "none"], WORKLOAD, &["none"]),
    ] {
        refused(&place.assay(arguments), code, says);
    }
    assert_eq!(place.left(&["directory"]), [""; 0]);
}

/// What is given as a workload and is something else that this program knows: the message has the command that takes it, and
/// that command does.
#[test]
fn what_is_known_and_no_workload_is_answered_with_the_command_that_takes_it() {
    let place = Place::new();
    let run = place.assay(&["run", "act-storage", "sim:flash", "--for", "2s", "--slice", "1s", "--out", "my run"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let search = "limit act-storage sim:flash --to 2x --for 2s --slice 1s --out";
    let searched = place.assay(&search.split(' ').chain(["my search"]).collect::<Vec<_>>());
    assert_eq!(searched.code, Some(0), "{searched:?}");
    place.write("job.icf", ICF);
    place.write("io.txt", IOSTAT);
    place.write(
        "play.log",
        "fio version 3 iolog\n10 d.img add\n20 d.img open\n3000 d.img read 0 4096\n9000 d.img close\n",
    );
    for (file, is, command) in [
        ("my run", "the directory of a run", "assay judge 'my run'"),
        ("my search", "the directory of several runs", "assay judge 'my search/01-2x'"),
        ("my run/run.jsonl", "the log of a run", "assay judge 'my run/run.jsonl'"),
        ("job.icf", "a configuration of IOmeter", "assay import iometer job.icf > workload.toml"),
        ("io.txt", "output of iostat", "assay import iostat io.txt > workload.toml"),
        ("play.log", "an iolog of fio", "assay import fio-iolog play.log > workload.toml"),
    ] {
        for verb in ["run", "explain", "limit"] {
            let said = place.assay(&[verb, file, "sim:flash"]);
            refused(&said, WORKLOAD, &[&format!("{file} is {is}, not a workload"), command]);
        }
        let typed = command.replacen("assay", &place.command(&[]).get_program().to_string_lossy(), 1);
        let mut shell = std::process::Command::new("sh");
        let pasted = shell.args(["-c", &typed]).current_dir(place.path("")).output().unwrap();
        assert!(pasted.status.success(), "{typed}: {}", String::from_utf8_lossy(&pasted.stderr));
    }
}

#[test]
fn bad_arguments() {
    let place = Place::new();
    fs::create_dir(place.path("taken")).unwrap();
    let table: [(&[&str], &[&str]); 24] = [
        (&["run", "act-storage"], &["needs a target", "sim:flash"]),
        (&["run", "act-storage", "sim:flsh"], &["sim:flsh", "sim:flash-worn"]),
        (&["run", "act-storage", "sim:flash?iop=5"], &["iop", "did you mean iops?"]),
        (&["run", "act-storage", "null:5"], &["null:5", "the unit is missing"]),
        (&["run", "act-storage", "null:100KiB"], &["null:100KiB", "at least 128 KiB", "larger"]),
        (&["run", "act-storage", "sim:flash?size=64KiB"], &["at least 128 KiB"]),
        (&["run", "act-storage", "sim:flash", "null:1GiB"], &["cannot be mixed"]),
        (&["run", "act-storage", "sim:flash", "--load", "30"], &["--load", "30x"]),
        (&["run", "act-storage", "sim:flash", "--load", "0x"], &["--load", "30x"]),
        (&["run", "act-storage", "sim:flash", "--load", "-1x"], &["-1"]),
        (&["run", "act-storage", "sim:flash", "--for", "10"], &["--for", "the unit is missing"]),
        (&["run", "act-storage", "sim:flash", "--workers", "0"], &["--workers"]),
        (
            &["run", "random-read", "sim:flash", "--for", "5s", "--out", "taken"],
            &["taken", "never overwritten", "--out"],
        ),
        (&["limit", "act-storage", "sim:flash", "--out", "taken"], &["taken", "never overwritten", "--out"]),
        (
            &["limit", "act-storage", "new.dat", "--create", "64MiB", "--out", "taken"],
            &["taken", "never overwritten", "--out"],
        ),
        (&["run", "act-storage", "sim:flash", "--stuck", "0s"], &["--stuck", "100ms to 1h"]),
        (&["run", "act-storage", "sim:flash", "--stuck", "99ms"], &["--stuck", "100ms to 1h"]),
        (&["limit", "act-storage", "sim:flash", "--stuck", "2h"], &["--stuck", "100ms to 1h"]),
        (&["certify", "sim:flash", "--drain", "0s"], &["--drain", "100ms to 1h"]),
        (&["run", "act-storage", "sim:flash", "--drain", "5"], &["--drain", "the unit is missing"]),
        (&["run", "random-read", "sim:flash", "--engine", "aio"], &["--engine", "auto, io_uring, threads or inline"]),
        (&["run", "act-storage", "sim:flash", "--override", "S4"], &["S4", "no override"]),
        (&["certify"], &["certify needs a device", "--quick"]),
        (&["frobnicate"], &["frobnicate"]),
    ];
    for (arguments, says) in table {
        refused(&place.assay(arguments), USAGE, says);
    }
    assert_eq!(place.left(&["taken"]), [""; 0]);
    assert_eq!(fs::read_dir(place.path("taken")).unwrap().count(), 0);
}

#[test]
fn targets_that_are_none() {
    let place = Place::new();
    place.write("plain", &"somebody's data\n".repeat(100_000));
    let before = fs::read(place.path("plain")).unwrap();
    fs::create_dir(place.path("directory")).unwrap();
    std::os::unix::fs::symlink("nowhere", place.path("dangling")).unwrap();
    let made = ["plain", "directory", "dangling"];
    for workload in ["act-storage", "random-read"] {
        for (target, says) in [
            ("/dev/nothing", &["/dev/nothing", "No such file", "assay devices"][..]),
            ("none", &["none", "No such file"]),
            ("dangling", &["dangling", "No such file"]),
            ("directory", &["is a directory", "give a block device"]),
            ("/dev/null", &["character device"]),
        ] {
            refused(&place.assay(&["run", workload, target, "--for", "1s"]), REFUSED, says);
        }
    }
    let theirs = ["S10", "not a file of this program", "give a file that does not exist yet"];
    for arguments in [
        &["run", "act-storage", "plain"][..],
        &["run", "act-storage", "plain", "--create", "64MiB"],
        &["certify", "plain"],
        &["certify", "plain", "--quick"],
        &["prep", "plain"],
    ] {
        refused(&place.assay(arguments), REFUSED, &theirs);
    }
    assert_eq!(fs::read(place.path("plain")).unwrap(), before, "somebody's file is as it was");
    assert_eq!(place.left(&made), [""; 0]);
}

/// Linux would grant the memory, and end this program or another one once the memory is used.
#[test]
fn buffers_for_which_there_is_no_memory_are_refused_before_anything_is_begun() {
    let place = Place::new();
    place.write(
        "w.toml",
        "model = \"streams\"\nin_flight_bound = 16384\n[[stream]]\nname = \"w\"\ndirection = \"write\"\nsize = \"64MiB\"\n\
         in_flight = 1000\n",
    );
    let said = place.assay(&["run", "w.toml", "null:2TiB", "--for", "1s", "--out", "run"]);
    refused(&said, HOST, &["no memory for 67108864000 bytes", "lower the operations in flight or their size"]);
    assert_eq!(place.left(&["w.toml"]), [""; 0]);
}

#[test]
fn a_scratch_file_that_cannot_be_used_is_not_left_behind() {
    let place = Place::new();
    fs::create_dir(place.path("taken")).unwrap();
    for (arguments, code, says) in [
        (&["--create", "4KiB"][..], USAGE, &["at least 128 KiB", "larger"][..]),
        (&["--create", "64MiB", "--out", "taken"], USAGE, &["taken", "never overwritten"]),
    ] {
        let command = [&["run", "act-storage", "new.dat", "--for", "1s"], arguments].concat();
        refused(&place.assay(&command), code, says);
        assert_eq!(place.left(&["taken"]), [""; 0], "{arguments:?}");
    }
    let said = place.assay(&["run", "act-storage", "new.dat", "--for", "1s", "--create", "1000TiB"]);
    assert!(matches!(said.code, Some(REFUSED | HOST)), "{}", said.err);
    assert_eq!(place.left(&["taken"]), [""; 0]);
}

/// All command lines that would write to `disk`, with the consent in `token`.
fn writers<'a>(disk: &'a str, token: &'a str) -> [Vec<&'a str>; 4] {
    let consent = ["--destroy-data", token];
    let with = |verb: &[&'a str]| [verb, if token.is_empty() { &[] } else { &consent }].concat();
    [
        with(&["run", "act-storage", disk, "--for", "1s"]),
        with(&["certify", disk, "--for", "1s"]),
        with(&["certify", disk, "--quick", "--for", "1s"]),
        with(&["prep", disk]),
    ]
}

#[test]
fn a_block_device_needs_the_right_token() {
    let place = Place::new();
    let Some(disk) = Loop::over(&place, "disk.img", 64 << 20) else { return };
    let before = disk.counted();
    for token in ["", "00000000", "yes"] {
        for arguments in writers(disk.path(), token) {
            refused(
                &place.assay(&arguments),
                REFUSED,
                &["consent", "assay devices", "--destroy-data", "nothing was written"],
            );
        }
    }
    assert_eq!((disk.counted() - before).writes, 0);
    assert_eq!(place.left(&["disk.img"]), [""; 0]);
}

#[test]
fn a_read_only_device_is_not_written() {
    let place = Place::new();
    let Some(disk) = Loop::with(&place, "disk.img", 64 << 20, &["-r"]) else { return };
    let token = disk.token(&place);
    for arguments in writers(disk.path(), &token) {
        refused(&place.assay(&arguments), REFUSED, &["S3", "read-only", "choose a writable target"]);
    }
    assert_eq!(place.left(&["disk.img"]), [""; 0]);
}

#[test]
fn a_device_too_small_is_refused() {
    let place = Place::new();
    let Some(disk) = Loop::over(&place, "disk.img", 64 << 10) else { return };
    let token = disk.token(&place);
    let said = place.assay(&["run", "act-storage", disk.path(), "--destroy-data", &token]);
    refused(&said, USAGE, &["64 KiB", "at least 128 KiB", "larger"]);
    assert_eq!(place.left(&["disk.img"]), [""; 0]);
}

#[test]
fn a_mounted_device_is_refused_whatever_was_consented_and_stays_as_it_is() {
    let place = Place::new();
    let Some(disk) = Loop::over(&place, "disk.img", 64 << 20) else { return };
    let token = disk.token(&place);
    let explained = || place.assay(&["explain", "act-storage", disk.path()]).out;
    assert!(explained().ends_with("ALL DATA ON THE TARGETS WILL BE DESTROYED\n"), "{}", explained());
    let Some(mounted) = Mounted::ext4(&disk, place.path("mounted")) else { return };
    let refusal = format!("  but {} is refused as it stands, rule S2: ", disk.path());
    assert!(explained().contains(&refusal) && explained().contains("is mounted on"), "{}", explained());
    fs::write(place.path("mounted/precious"), "data").unwrap();
    for arguments in writers(disk.path(), &token) {
        refused(&place.assay(&arguments), REFUSED, &["mounted", "nothing was written"]);
        let forced = [&arguments[..], &["--override", "S6,S7,S8"]].concat();
        refused(&place.assay(&forced), REFUSED, &["nothing was written"]);
    }
    assert_eq!(fs::read_to_string(place.path("mounted/precious")).unwrap(), "data");
    drop(mounted);
    // After it is unmounted, it is still somebody's file system.
    let before = fs::read(&disk.backing).unwrap();
    for arguments in writers(disk.path(), &token) {
        refused(&place.assay(&arguments), REFUSED, &["S7", "ext", "nothing was written"]);
    }
    assert!(before == fs::read(&disk.backing).unwrap(), "not a byte was changed");
    assert_eq!(place.left(&["disk.img", "mounted"]), [""; 0]);
}

#[test]
fn lengths_that_could_not_be_judged_are_refused_before_anything_runs() {
    let place = Place::new();
    let streams =
        "\n[[stream]]\nname = \"r\"\ndirection = \"read\"\nsize = \"4KiB\"\nrate = \"10/s\"\narrival = \"steady\"\n";
    let file = |keys: &str, criterion: &str| {
        let text = format!("model = \"streams\"\n{keys}{streams}[[criterion]]\nstream = \"r\"\n{criterion}\n");
        place.write("w.toml", &text);
        place.assay(&["run", "w.toml", "sim:flash", "--for", "10s", "--out", "run"])
    };
    let good = "share_over = \"1ms\"\nbelow = \"5%\"";
    for (keys, criterion, what) in [
        ("interval = \"2h\"\n", good, "out of range"),
        ("slice = \"1500ms\"\n", good, "not a multiple of the interval"),
        ("", "share_over = \"1ms\"\nbelow = \"0%\"", "can never hold"),
        ("", "share_over = \"1ms\"\nbelow = \"150%\"", "can never be broken"),
        ("", "share_over = \"0s\"\nbelow = \"5%\"", "can never hold"),
        ("", "mean_at_most = \"0s\"", "can never hold"),
        ("", "mean_at_most = \"1ms\"\nwindow = \"0s\"", "not a multiple of the interval"),
        ("", "mean_at_most = \"1ms\"\nwindow = \"1500ms\"", "not a multiple of the interval"),
    ] {
        refused(&file(keys, criterion), WORKLOAD, &[what]);
    }
    for slice in ["0s", "1ns", "1500ms"] {
        let said = place.assay(&["run", "random-read", "sim:flash", "--for", "5s", "--slice", slice, "--out", "run"]);
        refused(&said, WORKLOAD, &["slice"]);
    }
    // A load like this is a typing error: its arrivals alone could not be counted in a lifetime.
    let said = place.assay(&["run", "act-storage", "sim:flash", "--for", "1s", "--load", "99999999999x"]);
    refused(&said, WORKLOAD, &["operations a second are asked for", "at most 100000000"]);
    assert_eq!(place.left(&["w.toml"]), [""; 0]);
    assert_eq!(file("slice = \"2s\"\n", good).code, Some(0));
}

#[test]
fn a_search_that_would_begin_above_its_end_is_refused() {
    let place = Place::new();
    let said = place.assay(&["limit", "random-read", "sim:flash", "--from", "100x", "--to", "10x", "--for", "1s"]);
    refused(&said, USAGE, &["--to 10x is below --from 100x"]);
    assert_eq!(place.left(&[]), [""; 0]);
}

#[test]
fn a_wrong_name_among_the_devices_never_becomes_a_file() {
    let place = Place::new();
    std::os::unix::fs::symlink("/dev", place.path("devices")).unwrap();
    let name = format!("assay-no-such-{}", std::process::id());
    for path in [format!("/dev/{name}"), place.path("devices").join(&name).to_str().unwrap().to_owned()] {
        for verb in [&["prep"][..], &["run", "act-storage"], &["certify", "--quick"]] {
            let said = place.assay(&[verb, &[&path, "--create", "1MiB"]].concat());
            refused(&said, REFUSED, &["there is no device", "files are not created in /dev"]);
            assert!(!Path::new("/dev").join(&name).exists(), "{verb:?}");
        }
    }
}

#[test]
fn one_target_under_two_names_is_refused() {
    let place = Place::new();
    fs::write(place.path("a"), [1; 8192]).unwrap();
    std::os::unix::fs::symlink("a", place.path("b")).unwrap();
    for other in ["a", "./a", "b"] {
        for verb in [&["run", "random-read"][..], &["prep"]] {
            let said = place.assay(&[verb, &["a", other]].concat());
            refused(&said, REFUSED, &["are the same target"]);
        }
    }
    assert_eq!(place.left(&["a", "b"]), [""; 0]);
}

#[test]
fn no_file_is_made_for_what_only_reads() {
    let place = Place::new();
    let said = place.assay(&["run", "random-read", "new.dat", "--create", "64MiB", "--for", "1s"]);
    refused(&said, USAGE, &["new.dat does not exist", "only reads", "assay prep new.dat --create SIZE"]);
    assert_eq!(place.left(&[]), [""; 0]);
    let made = place.assay(&["prep", "new.dat", "--create", "1MiB"]);
    assert_eq!(made.code, Some(0), "{made:?}");
}

/// A run in the background would write its messages to a file of somebody else.
#[test]
fn a_file_beside_the_run_directory_is_left_alone() {
    let place = Place::new();
    place.write("run.txt", "mine");
    let line = ["run", "random-read", "null:1GiB", "--for", "1s", "--slice", "1s", "--out", "run", "--detach"];
    let said = place.assay(&line);
    refused(&said, USAGE, &["run.txt exists already"]);
    assert_eq!(
        (place.left(&[]), fs::read_to_string(place.path("run.txt")).unwrap()),
        (vec!["run.txt".into()], "mine".into())
    );
}

/// If standard output is full, a document is incomplete, and the program says so; the result of a run is also in its
/// directory.
#[test]
fn a_full_standard_output_is_told() {
    let place = Place::new();
    let full = |args: &[&str]| {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        Said::of(place.command(args).stdout(full).output().unwrap(), args)
    };
    let said = full(&["workloads"]);
    refused(&said, HOST, &["standard output"]);
    let run = ["run", "random-read", "sim:flash", "--for", "2s", "--slice", "1s", "--out", "run"];
    let said = full(&run);
    assert!(said.err.contains("standard output"), "{said:?}");
    said.is_of_verdict(&place.path("run"));
    for more in [&["judge", "run"][..], &["export", "run", "--to", "csv"]] {
        assert_eq!(full(more).code, Some(HOST), "{more:?}");
    }
}

/// Names and paths may come from other people.
#[test]
fn control_characters_of_names_do_not_reach_a_terminal() {
    let place = Place::new();
    let workload = WORKING.replace("\"x\"", "\"a\\u001b[31mb\"");
    place.write("x.toml", &workload);
    for said in [
        place.assay(&["explain", "x.toml", "sim:flash"]),
        place.assay(&["run", "x.toml", "sim:flash", "--for", "2s", "--slice", "1s"]),
        place.assay(&["run", "x.toml", "/no\u{1b}[31mfile"]),
    ] {
        assert!(said.out.contains("[31m") || said.err.contains("[31m"), "{said:?}");
        assert!(!said.out.contains('\u{1b}') && !said.err.contains('\u{1b}'), "{said:?}");
    }
}

#[test]
fn what_is_no_log_is_told_at_once() {
    let place = Place::new();
    let zero = "/dev/zero";
    place.write("verdict.json", &"{}\n".repeat(1000));
    std::fs::create_dir_all(place.path("search/01-1x")).unwrap();
    place.write("search/01-1x/run.jsonl", "");
    let cases = [
        (&["judge", zero][..], "it is not a regular file"),
        (&["report", zero], "it is not a regular file"),
        (&["watch", zero], "it is not a regular file"),
        (&["compare", zero, zero], "it is not a regular file"),
        (&["watch", "verdict.json"], "not a line of a run log"),
        (&["judge", "search"], "search/01-1x"),
        (&["watch", "search"], "search/01-1x"),
    ];
    for (args, what) in cases {
        let said = place.assay(args);
        refused(&said, WORKLOAD, &[what]);
        assert!(said.err.lines().count() < 5, "{}", said.err);
    }
}

#[test]
fn options_that_would_mean_nothing_are_refused() {
    let place = Place::new();
    let run = ["run", "random-read", "sim:flash", "--for", "4s", "--slice", "2s", "--out", "a"];
    assert_eq!(place.assay(&run).code, Some(0));
    let other = ["run", "random-read", "sim:flash", "--for", "4s", "--slice", "2s", "--out", "b"];
    assert_eq!(place.assay(&other).code, Some(0));
    for (args, what) in [
        (&["export", "a", "--to", "csv", "--unit", "us"][..], "--unit is for"),
        (&["run", "random-read", "sim:flash", "--spin", "2s"], "0s to 1s"),
        (&["compare", "a", "b", "--label", "b=a"], "would have the name"),
        (&["judge", "a", "--slice", "0s"], "holds nothing"),
        (&["judge", "a", "--slice", "1500ms"], "not a multiple of the log's interval, 1s"),
    ] {
        refused(&place.assay(args), USAGE, &[what]);
    }
    assert_eq!(place.assay(&["judge", "a", "--slice", "1s"]).code, Some(0));
    assert_eq!(place.assay(&["doctor", "sim:flash"]).code, Some(0));
    let text = place.assay(&["workloads", "act-index", "--json"]).json();
    assert!(text["text"].as_str().unwrap().contains("act-index"), "{text}");
}

/// If a user may not look at a device, the message says that, and not that somebody else uses the device.
#[test]
fn missing_rights_are_told_from_use() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    let place = Place::new();
    let Some(disk) = Loop::over(&place, "disk.img", 64 << 20) else { return };
    fs::set_permissions(place.path("."), fs::Permissions::from_mode(0o777)).unwrap();
    fs::write(place.path("secret.dat"), [1; 1 << 20]).unwrap();
    // Another loop device: only root may know which file it is made of.
    fs::create_dir(place.path("closed")).unwrap();
    fs::set_permissions(place.path("closed"), fs::Permissions::from_mode(0o700)).unwrap();
    let Some(_closed) = Loop::over(&place, "closed/other.img", 1 << 20) else { return };
    fs::set_permissions(place.path("secret.dat"), fs::Permissions::from_mode(0o600)).unwrap();
    let nobody = |args: &[&str]| {
        let mut command = place.command(args);
        command.uid(65534).gid(65534);
        command.output().ok().map(|output| Said::of(output, args))
    };
    if nobody(&["--version"]).is_none_or(|said| said.code != Some(0)) {
        eprintln!("skipped: others than root cannot call the program here");
        return;
    }
    for args in [
        &["run", "random-read", disk.path(), "--for", "1s"][..],
        &["run", "random-read", "secret.dat", "--for", "1s"],
        &["run", "act-storage", disk.path(), "--for", "1s", "--destroy-data", "00000000"],
    ] {
        refused(&nobody(args).unwrap(), HOST, &["not permitted to open it", "run as root"]);
    }
    let shown = nobody(&["devices", disk.path()]).unwrap().out;
    let line = shown.lines().find(|line| line.trim_start().starts_with("S2")).unwrap_or_default();
    assert!(line.contains("not permitted to open it") && !line.contains("in use"), "{shown}");
    // The control: root has the right, and a device in use is reported as in use.
    let Some(_mounted) = Mounted::ext4(&disk, place.path("mnt")) else { return };
    let shown = place.assay(&["devices", disk.path()]).out;
    assert!(shown.contains("in use") && !shown.contains("not permitted"), "{shown}");
}

#[test]
fn a_configuration_is_explained_whose_drives_are_not_here() {
    let place = Place::new();
    place.write("act.conf", "device-names: /dev/none1,/dev/none2\ntest-duration-sec: 60\nread-reqs-per-sec: 4000\nwrite-reqs-per-sec: 2000\nlarge-block-op-kbytes: 128\n");
    let said = place.assay(&["explain", "act.conf"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    for words in [
        "on 2 targets",
        "target /dev/none1: is not here, so that its size",
        "target /dev/none2: is not here",
        "4000.000/s",
    ] {
        assert!(said.out.contains(words), "{words}: {}", said.out);
    }
    // A target of the command line may be a slip of the pen.
    let named = place.assay(&["explain", "act-storage", "/dev/none1"]);
    assert!(named.code == Some(2) && named.err.contains("cannot be examined"), "{named:?}");
    assert_eq!(place.assay(&["run", "act.conf", "--for", "1s"]).code, Some(4));
}

#[test]
fn a_slip_in_a_name_is_answered_with_the_name_that_was_meant() {
    let place = Place::new();
    place.write("orders.toml", WORKING);
    std::fs::create_dir(place.path("first-run")).unwrap();
    place.write("first-run/run.jsonl", "");
    assert_eq!(place.assay(&["prep", "disk.img", "--create", "1MiB"]).code, Some(0));
    for (args, code, meant) in [
        (&["run", "act-storge", "sim:flash"][..], WORKLOAD, "act-storage"),
        (&["explain", "ordres.toml"], WORKLOAD, "orders.toml"),
        (&["run", "orders.toml", "dsik.img"], REFUSED, "disk.img"),
        (&["judge", "frist-run"], WORKLOAD, "first-run"),
        (&["run", "orders.toml", "sim:flash", "--resume", "frist-run"], USAGE, "first-run"),
    ] {
        refused(&place.assay(args), code, &[&format!("did you mean {meant}?")]);
    }
    let said = place.assay(&["run", "orders.toml", "/dev/nul"]);
    assert!(
        said.code != Some(0) && !said.err.contains("did you mean"),
        "another device is never proposed: {}",
        said.err
    );
}
