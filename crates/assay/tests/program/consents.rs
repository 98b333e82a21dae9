//! Consent in advance: what a drop-in may write without asking anybody, for how long, and what ends the consent.

use super::bed::{Log, Place, Said};
use super::devices::{Disk, Loop, Mounted, passed_over};
use super::terminal::Seated;
use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A device that holds somebody's data: it may be written only with consent and an override of S8.
fn unknown(place: &Place, name: &str) -> Option<Loop> {
    let disk = Loop::over(place, name, 16 << 20)?;
    let file = fs::OpenOptions::new().write(true).open(disk.path()).unwrap();
    file.write_all_at(b"somebody's", 0).unwrap();
    file.sync_all().unwrap();
    Some(disk)
}

fn conf(place: &Place, disk: &Loop) -> PathBuf {
    let load = "test-duration-sec: 1\nread-reqs-per-sec: 100\nwrite-reqs-per-sec: 1000\nmax-lag-sec: 0\n";
    place.write("act.conf", &format!("device-names: {}\n{load}", disk.path()))
}

fn agree(place: &Place, disk: &Loop, more: &[&str]) -> Said {
    let token = disk.token(place);
    place.assay(&[&["consent", disk.path(), "--destroy-data", &token], more].concat())
}

/// The only file of the consent store.
fn file(place: &Place) -> PathBuf {
    let mut all = fs::read_dir(place.path("state/assay/consent")).unwrap().map(|entry| entry.unwrap().path());
    let file = all.next().expect("a consent");
    assert!(all.next().is_none());
    file
}

/// Asserts that act_prep refuses, with these words, and that nothing was written.
fn refused(place: &Place, disk: &Loop, words: &[&str]) {
    let before = fs::read(&disk.backing).unwrap();
    let said = place.assay(&["as", "act_prep", disk.path()]);
    assert_eq!((said.code, said.out.as_str()), (Some(4), ""), "{}", said.err);
    for words in words {
        assert!(said.err.contains(words), "{words} in: {}", said.err);
    }
    assert!(fs::read(&disk.backing).unwrap() == before, "bytes changed");
}

#[test]
fn a_drop_in_writes_what_was_agreed_to_and_says_so() {
    let place = Place::new();
    let Some(disk) = unknown(&place, "disk.img") else { return };
    let advice = format!("assay consent {} --override S8", disk.path());
    refused(&place, &disk, &["rule S8", "also rule consent", &advice]);
    assert!(
        !place.assay(&["as", "act_prep", disk.path()]).err.contains("--destroy-data"),
        "advice that can be followed"
    );
    // No single one of the conditions is sufficient.
    for (given, words) in [
        (agree(&place, &disk, &[]), "rule S8"),
        (place.assay(&["consent", disk.path(), "--override", "S8"]), "there is no terminal"),
        (place.assay(&["consent", disk.path(), "--override", "S8", "--destroy-data", "00000000"]), "no token given"),
    ] {
        assert_eq!(given.code, Some(4), "{}", given.err);
        assert!(given.err.contains(words), "{}", given.err);
    }
    for bad in [&["--override", "S4"][..], &["--for", "1s"], &["--for", "365d"], &["--list", "--revoke"]] {
        assert_eq!(agree(&place, &disk, bad).code, Some(2), "{bad:?}");
    }
    assert!(!place.path("state/assay/consent").exists(), "nothing was kept");

    let given = agree(&place, &disk, &["--override", "S8", "--for", "2h"]);
    assert_eq!(given.code, Some(0), "{}", given.err);
    assert!(
        given.out.contains(disk.path()) && given.out.contains("overriding S8: unknown data near byte 0"),
        "{}",
        given.out
    );
    assert_eq!(fs::metadata(file(&place)).unwrap().permissions().mode() & 0o7777, 0o600);
    let listed = place.assay(&["consent", "--list", "--json"]).json();
    assert!(listed[0]["counts"] == true && listed[0]["consent"]["target"] == disk.path(), "{listed}");

    let mut command = place.command(&["as", "act_storage", conf(&place, &disk).to_str().unwrap()]);
    let ran = Said::of(command.env("ASSAY_RUN_DIR", place.path("run")).output().unwrap(), &["act_storage"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let named = format!("{} is written by the consent of ", disk.path());
    assert!(ran.err.contains(&named) && ran.err.contains("overriding S8"), "{}", ran.err);
    assert!(ran.out.contains("after 1 sec:"), "{}", ran.out);
    let header = Log::of(&place.path("run")).header;
    assert!(header.targets[0].facts["consent"].starts_with("by the consent of "), "{:?}", header.targets[0].facts);
    assert!(header.watermarks.iter().any(|mark| mark.contains("rule S8 was overridden")), "{:?}", header.watermarks);
    disk.until_free();
    // Other verbs have an option for consent, and require it.
    let run = place.assay(&["run", "act-storage", disk.path(), "--for", "1s", "--out", "other"]);
    assert!(run.code == Some(4) && run.err.contains("no token was given"), "{}", run.err);
    disk.until_free();
    assert_eq!(place.assay(&["consent", "--revoke", disk.path()]).code, Some(0));
    refused(&place, &disk, &["assay consent"]);
    assert_eq!(place.assay(&["consent", "--revoke", disk.path()]).code, Some(2), "there is none any more");
}

#[test]
fn a_consent_ends_with_its_time_its_device_and_its_file() {
    let place = Place::new();
    let Some(disk) = unknown(&place, "disk.img") else { return };
    let give = || assert_eq!(agree(&place, &disk, &["--override", "S8"]).code, Some(0));
    let change = |from: &str, to: &str| {
        let text = fs::read_to_string(file(&place)).unwrap();
        let at = text.find(from).unwrap_or_else(|| panic!("{from} in {text}")) + from.len();
        let end = at + text[at..].find('"').unwrap();
        fs::write(file(&place), format!("{}{to}{}", &text[..at], &text[end..])).unwrap();
    };
    give();
    change("\"until\": \"", "2026-01-01T00:00:00Z");
    change("\"given\": \"", "2025-12-31T00:00:00Z");
    refused(&place, &disk, &["not valid: it ended at 2026-01-01T00:00:00Z"]);
    let listed = place.assay(&["consent", "--list"]).out;
    assert!(listed.contains("not valid: it ended at"), "{listed}");
    give();
    change("\"given\": \"", "2999-01-01T00:00:00Z");
    refused(&place, &disk, &["the clock was set back"]);
    give();
    change("\"size in bytes\": \"", "12345");
    refused(&place, &disk, &["it is of another device: its size in bytes was 12345"]);
    give();
    change("\"rule\": \"", "S2");
    refused(&place, &disk, &["cannot be overridden in advance"]);
    give();
    fs::set_permissions(file(&place), fs::Permissions::from_mode(0o644)).unwrap();
    refused(&place, &disk, &["rule S8"]);
    // The device grows, as one that is part of an array may.
    give();
    fs::OpenOptions::new().write(true).open(&disk.backing).unwrap().set_len(32 << 20).unwrap();
    assert!(Command::new("losetup").args(["-c", disk.path()]).status().unwrap().success());
    refused(&place, &disk, &["its size in bytes was 16777216 and is 33554432 now"]);
    // Another device takes its place.
    give();
    let path = disk.path().to_owned();
    drop(disk);
    let other = place.path("other.img");
    fs::write(&other, vec![0x55; 32 << 20]).unwrap();
    if Command::new("losetup").args([&path, other.to_str().unwrap()]).status().unwrap().success() {
        let said = place.assay(&["as", "act_prep", &path]);
        let _ = Command::new("losetup").args(["-d", &path]).status();
        assert!(said.code == Some(4) && said.err.contains("its disk sequence number was"), "{}", said.err);
        assert!(fs::read(&other).unwrap().iter().all(|byte| *byte == 0x55));
    }
}

#[test]
fn no_consent_covers_what_is_in_use() {
    let place = Place::new();
    let Some(disk) = Loop::over(&place, "disk.img", 16 << 20) else { return };
    assert_eq!(agree(&place, &disk, &[]).code, Some(0));
    // A new file system on the device, which is mounted later.
    let whole = ["-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", disk.path()];
    if !Command::new("mkfs.ext4").args(whole).status().is_ok_and(|status| status.success()) {
        return passed_over("no mkfs.ext4");
    }
    refused(&place, &disk, &["rule S7", "--override S7"]);
    assert_eq!(agree(&place, &disk, &["--override", "S7,S8"]).code, Some(0));
    let Some(mounted) = Mounted::ext4(&disk, place.path("mounted")) else { return };
    refused(&place, &disk, &["rule S2", "is mounted on", "unmount it"]);
    assert_eq!(agree(&place, &disk, &["--override", "S7,S8"]).code, Some(4), "nor is it agreed to");
    drop(mounted);
}

/// A shell with job control at a terminal, as a person has it; it reports how its job ended.
fn job(place: &Place, script: &str) -> (Option<i32>, String) {
    let mut command = Command::new("bash");
    command.args(["-c", &format!("set -m; {script} > out.txt & wait $!; echo \"ended with $?\" >&2")]);
    command.current_dir(place.path(".")).env("XDG_STATE_HOME", place.path("state"));
    command.env("ASSAY", env!("CARGO_BIN_EXE_assay"));
    Seated::at(command).ends()
}

#[test]
fn at_a_terminal_it_is_asked_once_and_then_runs_in_the_background() {
    let place = Place::new();
    let Some(disk) = Loop::over(&place, "disk.img", 16 << 20) else { return };
    let prep = format!("\"$ASSAY\" as act_prep {}", disk.path());
    // A background job is not stopped by a question, and does not write: neither without consent, nor with consent from
    // a script.
    let token = disk.token(&place);
    for script in [prep.clone(), format!("ASSAY_DESTROY_DATA={token} {prep}")] {
        let (code, shown) = job(&place, &script);
        assert!(code == Some(0) && shown.contains("ended with 4"), "{code:?} {shown}");
        assert!(shown.contains("a background process cannot ask") && shown.contains("assay consent"), "{shown}");
        disk.until_free();
    }
    assert!(fs::read(&disk.backing).unwrap().iter().all(|byte| *byte == 0), "nothing was written");
    for (answer, code) in [("0000\n", 4), ("\x03", 4)] {
        let mut seated = Seated::at(place.command(&["consent", disk.path()]));
        seated.sees("Type the last 4 of the token");
        seated.types(answer);
        assert_eq!(seated.ends().0, Some(code));
        assert!(!place.path("state/assay/consent").exists());
    }
    let mut seated = Seated::at(place.command(&["consent", disk.path()]));
    seated.sees("Type the last 4 of the token");
    seated.types(&format!("{}\n", &token[4..]));
    let (code, shown) = seated.ends();
    assert_eq!(code, Some(0), "{shown}");
    let (code, shown) = job(&place, &prep);
    assert!(code == Some(0) && shown.contains("ended with 0") && shown.contains("by the consent of"), "{shown}");
    disk.until_free();
    // With consent in advance, nothing is asked in the foreground either.
    let conf = conf(&place, &disk);
    let mut seated = Seated::at(place.command(&["as", "act_storage", conf.to_str().unwrap()]));
    let (code, shown) = seated.ends();
    assert!(code == Some(0) && !shown.contains("Type"), "{code:?} {shown}");
}

#[test]
fn it_passes_sudo_which_the_environment_does_not() {
    let place = Place::new();
    let Some(disk) = Loop::over(&place, "disk.img", 16 << 20) else { return };
    let token = disk.token(&place);
    let sudo = |seated: bool, ampersand: bool| {
        let state = format!("XDG_STATE_HOME={}", place.path("state").display());
        let words = ["sudo", "-n", &state, env!("CARGO_BIN_EXE_assay"), "as", "act_prep", disk.path()];
        if seated {
            let words = words.map(|word| format!("'{word}'")).join(" ");
            let mut command = Command::new("bash");
            let (job, wait) = if ampersand { ("set -m;", "& wait $!") } else { ("", "") };
            command.args(["-c", &format!("{job} {words} > out.txt {wait}; echo \"ended with $?\" >&2")]);
            command.current_dir(place.path(".")).env("ASSAY_DESTROY_DATA", &token);
            return Seated::at(command).ends().1;
        }
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).env("ASSAY_DESTROY_DATA", &token).stdin(Stdio::null());
        let Ok(output) = command.output() else { return String::new() };
        format!("{}ended with {}", String::from_utf8_lossy(&output.stderr), output.status.code().unwrap_or(-1))
    };
    let first = sudo(false, false);
    if first.is_empty() || first.contains("a password is required") || first.contains("not in the sudoers") {
        return passed_over("no sudo to be had");
    }
    assert!(first.contains("no token was given") && first.contains("sudo does not pass on"), "{first}");
    disk.until_free();
    let background = sudo(true, true);
    assert!(
        background.contains("ended with 4") && background.contains("a background process cannot ask"),
        "{background}"
    );
    disk.until_free();
    assert_eq!(agree(&place, &disk, &[]).code, Some(0));
    for (seated, ampersand) in [(false, false), (true, true), (true, false)] {
        let shown = sudo(seated, ampersand);
        assert!(shown.contains("ended with 0") && shown.contains("by the consent of"), "{seated} {ampersand}: {shown}");
        disk.until_free();
    }
}

/// In a container of its own: processes outside it are invisible, which a person has to confirm.
fn contained(place: &Place, words: &[&str], variables: &[(&str, &str)]) -> Said {
    let mut command = Command::new("unshare");
    command.args(["-pf", "--mount-proc", env!("CARGO_BIN_EXE_assay")]).args(words);
    command.current_dir(place.path(".")).env("XDG_STATE_HOME", place.path("state")).stdin(Stdio::null());
    command.envs(variables.iter().copied());
    Said::of(command.output().unwrap(), words)
}

#[test]
fn in_a_container_consent_covers_what_is_outside_it() {
    let place = Place::new();
    let Some(disk) = Loop::over(&place, "disk.img", 16 << 20) else { return };
    if !super::live::have("unshare") {
        return;
    }
    let token = disk.token(&place);
    let prep = ["as", "act_prep", disk.path()];
    let conf = conf(&place, &disk);
    let storage = ["as", "act_storage", conf.to_str().unwrap()];
    for words in [&prep, &storage] {
        let said = contained(&place, words, &[]);
        let advice = format!("assay consent {} --in-container", disk.path());
        assert!(said.code == Some(4) && said.err.contains(&advice) && !said.err.contains("--override"), "{}", said.err);
        assert!(said.err.contains("ASSAY_IN_CONTAINER=1"), "{}", said.err);
        // A token alone does not say that nothing outside uses the device.
        let said = contained(&place, words, &[("ASSAY_DESTROY_DATA", &token)]);
        assert!(said.code == Some(4) && said.err.contains("this is a container"), "{}", said.err);
    }
    let consent = ["consent", disk.path(), "--destroy-data", &token];
    assert_eq!(contained(&place, &consent, &[]).code, Some(4));
    // Consent that was given outside says nothing of a container.
    assert_eq!(agree(&place, &disk, &[]).code, Some(0));
    assert_eq!(contained(&place, &prep, &[]).code, Some(4));
    assert!(fs::read(&disk.backing).unwrap().iter().all(|byte| *byte == 0), "nothing was written");

    let given = contained(&place, &[&consent[..], &["--in-container"]].concat(), &[]);
    assert_eq!(given.code, Some(0), "{}", given.err);
    for (words, variables) in [
        (&prep, &[][..]),
        (&storage, &[]),
        // Also with a token.
        (&storage, &[("ASSAY_DESTROY_DATA", token.as_str())]),
    ] {
        let said = contained(&place, words, &[variables, &[("ASSAY_RUN_DIR", "run")]].concat());
        assert_eq!(said.code, Some(0), "{words:?}: {}", said.err);
        disk.until_free();
        if words[1] == "act_storage" {
            let header = Log::of(&place.path("run")).header;
            assert!(header.watermarks.iter().any(|mark| mark.contains("container")), "{:?}", header.watermarks);
            fs::remove_dir_all(place.path("run")).unwrap();
        }
    }
    // Without any consent, a script gives the token and the confirmation.
    assert_eq!(place.assay(&["consent", "--revoke"]).code, Some(0));
    let both = [("ASSAY_DESTROY_DATA", token.as_str()), ("ASSAY_IN_CONTAINER", "1")];
    assert_eq!(contained(&place, &prep, &both).code, Some(0));
    disk.until_free();
    let wrong = [("ASSAY_DESTROY_DATA", token.as_str()), ("ASSAY_IN_CONTAINER", "perhaps")];
    assert_eq!(contained(&place, &prep, &wrong).code, Some(2));
}

/// Consent may cover who uses the device, by name: a monitoring agent that has it open for writing.
#[test]
fn consent_covers_the_processes_that_use_a_device_by_their_names() {
    let place = Place::new();
    let Some(disk) = Loop::over(&place, "disk.img", 16 << 20) else { return };
    let agent = || super::live::Holder::shell(&format!("exec 3<>{}; echo held; read x", disk.path()));
    let first = agent();
    refused(&place, &disk, &["rule S6", "process ", "stop that process", "--override S6"]);
    assert_eq!(agree(&place, &disk, &[]).code, Some(4), "it is in use");
    let given = agree(&place, &disk, &["--override", "S6,S8"]);
    assert_eq!(given.code, Some(0), "{}", given.err);
    assert!(given.out.contains("overriding S6: sh\n") && given.out.contains("S8 holds now"), "{}", given.out);
    drop(first);
    // Another process of the same name; a process of another name.
    let second = agent();
    let said = place.assay(&["as", "act_prep", disk.path()]);
    assert!(said.code == Some(0) && said.err.contains("overriding S6"), "{}", said.err);
    drop(second);
    disk.until_free();
    let other = super::live::Holder::start(Command::new("python3").args([
        "-c",
        &format!("import os; f = os.open('{}', os.O_RDWR); print('held', flush=True); input()", disk.path()),
    ]));
    refused(&place, &disk, &["rule S6", "python3"]);
    drop(other);
}

/// A reader is no reason to refuse, and is named.
#[test]
fn who_only_reads_the_device_is_named_and_not_in_the_way() {
    let place = Place::new();
    let Some(disk) = Loop::over(&place, "disk.img", 16 << 20) else { return };
    let reader = super::live::Holder::shell(&format!("exec 3<{}; echo held; read x", disk.path()));
    let token = disk.token(&place);
    let run = ["run", "act-storage", disk.path(), "--for", "1s", "--destroy-data", &token, "--out", "run"];
    let said = place.assay(&run);
    assert!(matches!(said.code, Some(0 | 10 | 11)), "{:?} {}", said.code, said.err);
    let who = format!("process {} (sh) has {} open for reading", reader.child.id(), disk.path());
    assert!(said.err.contains(&who), "before the run: {}", said.err);
    let marks = Log::of(&place.path("run")).header.watermarks;
    assert!(marks.contains(&format!("READ BY OTHERS: {who}")), "{marks:?}");
    drop(reader);
}

/// The default is as long as a certification, and a day more.
#[test]
fn a_consent_lasts_as_long_as_a_certification() {
    let place = Place::new();
    let Some(disk) = Loop::over(&place, "disk.img", 16 << 20) else { return };
    assert_eq!(agree(&place, &disk, &[]).code, Some(0));
    let listed = place.assay(&["consent", "--list", "--json"]).json();
    let time = |key: &str| listed[0]["consent"][key].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    let hours = (time("until").as_second() - time("given").as_second()) / 3600;
    assert!(hours >= 96 + 24, "{hours} h");
}

/// Automation that was written for ACT expects 0 after an overload.
#[test]
fn the_originals_exit_codes_are_given_where_they_are_asked_for() {
    let place = Place::new();
    let Some(disk) = Loop::over(&place, "disk.img", 64 << 20) else { return };
    let load = "test-duration-sec: 20\nread-reqs-per-sec: 3000000\nservice-threads: 2\nmax-lag-sec: 1\n";
    let overload = place.write("overload.conf", &format!("device-names: {}\n{load}", disk.path()));
    let overload = overload.to_str().unwrap();
    let run = |variables: &[(&str, &str)], words: &[&str]| {
        let mut command = place.command(words);
        command.envs(variables.iter().copied());
        let said = Said::of(command.output().unwrap(), words);
        disk.until_free();
        said
    };
    let storage = ["as", "act_storage", overload];
    let code = run(&[], &storage).code;
    assert!(matches!(code, Some(10 | 11)), "{code:?}");
    assert_eq!(run(&[("ASSAY_ACT_EXIT", "act")], &storage).code, Some(0));
    assert_eq!(run(&[("ASSAY_ACT_EXIT", "other")], &storage).code, Some(2));
    // A refusal is no success in any case, and neither is a config that cannot be read.
    let writes = place.write(
        "writes.conf",
        &format!("device-names: {}\ntest-duration-sec: 1\nwrite-reqs-per-sec: 100\n", disk.path()),
    );
    let writes = ["as", "act_storage", writes.to_str().unwrap()];
    let refused = run(&[("ASSAY_ACT_EXIT", "act")], &writes);
    assert!(refused.code == Some(255) && refused.err.contains("nothing was written"), "{refused:?}");
    assert_eq!(run(&[], &writes).code, Some(4));
    assert_eq!(run(&[("ASSAY_ACT_EXIT", "act")], &["as", "act_storage", "missing.conf"]).code, Some(255));
    assert_eq!(run(&[("ASSAY_ACT_EXIT", "act")], &["as", "act_prep", disk.path()]).code, Some(255));
    // sudo drops variables, and a consent stays.
    let given = agree(&place, &disk, &["--exit-codes", "act"]);
    assert_eq!(given.code, Some(0), "{}", given.err);
    assert_eq!(run(&[], &storage).code, Some(0));
    assert!(matches!(run(&[("ASSAY_ACT_EXIT", "assay")], &storage).code, Some(10 | 11)), "the variable goes first");
    // A signal ends the original at once.
    let long = place.write(
        "long.conf",
        &format!("device-names: {}\ntest-duration-sec: 600\nread-reqs-per-sec: 100\nmax-lag-sec: 0\n", disk.path()),
    );
    let mut command = place.command(&["as", "act_storage", long.to_str().unwrap()]);
    let mut running = super::bed::Running::of(command.env("ASSAY_RUN_DIR", place.path("long")).spawn().unwrap());
    let log = place.path("long/run.jsonl");
    super::bed::until("the first interval", || {
        assert!(running.is_alive());
        fs::read_to_string(&log).is_ok_and(|text| text.contains("\"kind\":\"interval\""))
    });
    running.signal(libc::SIGTERM);
    let ended = running.end_with_signal();
    assert_eq!(ended, Some(libc::SIGTERM));
    assert!(Log::of(&place.path("long")).close.is_some(), "its log is whole");
}
