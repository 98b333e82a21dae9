//! Signals that are ignored when the program is started stay ignored: `nohup`, a shell's `trap '' HUP`, and the
//! background of a script mean that a run outlives its terminal. Every verb that runs something is tried.

use super::bed::{Log, Place, Running, Said, until};
use assay_record::CloseReason;
use std::fs::File;
use std::os::fd::FromRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

const SIGNALS: [i32; 3] = [libc::SIGHUP, libc::SIGINT, libc::SIGTERM];

/// Starts `command` with these signals ignored.
fn ignoring(mut command: Command, signals: &'static [i32]) -> Command {
    let ignore = move || {
        for signal in signals {
            // SAFETY: only a system call, between fork and exec; no handler is set.
            if unsafe { libc::signal(*signal, libc::SIG_IGN) } == libc::SIG_ERR {
                return Err(std::io::Error::last_os_error());
            }
        }
        Ok(())
    };
    // SAFETY: see above.
    unsafe { command.pre_exec(ignore) };
    command
}

/// A test of ACT that reads a file, which is made here.
fn config(place: &Place, seconds: u32) {
    let made = place.assay(&["prep", "act.dat", "--create", "16MiB"]);
    assert_eq!(made.code, Some(0), "{}", made.err);
    let conf = format!(
        "device-names: act.dat\nfile-size-mbytes: 16\ntest-duration-sec: {seconds}\nread-reqs-per-sec: 100\nmax-lag-sec: 0\nservice-threads: 4\n"
    );
    place.write("act.conf", &conf);
}

/// Waits until a run has written its first interval, to the log in this directory or in one below it.
fn begun(place: &Place, running: &mut Running, dir: &str) {
    let logs = || {
        let below = std::fs::read_dir(place.path(dir)).into_iter().flatten().flatten().map(|entry| entry.path());
        below.chain([place.path(dir)]).map(|dir| dir.join("run.jsonl")).collect::<Vec<_>>()
    };
    until("the first interval", || {
        assert!(running.is_alive(), "it ended before it was asked to");
        let text = |log: &std::path::PathBuf| std::fs::read_to_string(log).unwrap_or_default();
        logs().iter().any(|log| text(log).contains("\"kind\":\"interval\""))
    });
}

#[test]
fn every_verb_goes_on_when_a_signal_arrives_that_is_ignored() {
    let place = Place::new();
    config(&place, 3);
    for (dir, words) in [
        ("run", "run random-read null:1GiB --for 3s --slice 1s --load 0.01x --out run"),
        ("limit", "limit random-read null:1GiB --for 3s --slice 1s --from 0.01x --to 0.01x --out limit"),
        ("curve", "curve random-read null:1GiB --for 3s --slice 1s --max 0.01x --points 100% --out curve"),
        ("drop-in", "as act_storage act.conf"),
    ] {
        let args: Vec<&str> = words.split(' ').collect();
        let mut command = ignoring(place.command(&args), &SIGNALS);
        command.env("ASSAY_RUN_DIR", place.path("drop-in"));
        let mut running = Running::of(command.spawn().unwrap());
        begun(&place, &mut running, dir);
        SIGNALS.iter().for_each(|signal| running.signal(*signal));
        // A second time, which would not wait for operations in flight.
        SIGNALS.iter().for_each(|signal| running.signal(*signal));
        let said = running.end();
        assert!(matches!(said.code, Some(0 | 10 | 11)), "{words}: {:?} {}{}", said.code, said.out, said.err);
        assert!(!said.err.contains("interrupted"), "{words}: {}", said.err);
        if dir == "drop-in" {
            assert!(said.out.contains("after 3 sec:"), "ACT's last block: {}", said.out);
        }
    }
    for dir in ["run", "drop-in"] {
        assert_eq!(Log::of(&place.path(dir)).close.unwrap().reason, CloseReason::Completed, "{dir}");
    }
}

/// The control: a signal that is not ignored ends the run, also beside others that are.
#[test]
fn a_signal_that_is_not_ignored_ends_a_run_beside_others_that_are() {
    let place = Place::new();
    let words = ["run", "random-read", "null:1GiB", "--for", "10min", "--load", "0.01x", "--out", "run"];
    let mut running = Running::of(ignoring(place.command(&words), &[libc::SIGHUP]).spawn().unwrap());
    begun(&place, &mut running, "run");
    running.signal(libc::SIGHUP);
    running.signal(libc::SIGTERM);
    running.end();
    assert_eq!(Log::of(&place.path("run")).close.unwrap().reason, CloseReason::Interrupted);
}

/// A preparation, which writes for as long as its file is large.
#[test]
fn a_preparation_goes_on() {
    let place = Place::new();
    for (words, file) in [("prep made.dat --create 256MiB", "made.dat"), ("as act_prep made.dat", "made.dat")] {
        let args: Vec<&str> = words.split(' ').collect();
        let mut running = Running::of(ignoring(place.command(&args), &SIGNALS).spawn().unwrap());
        until("its file", || place.path(file).exists() || !running.is_alive());
        SIGNALS.iter().for_each(|signal| running.signal(*signal));
        let said = running.end();
        assert_eq!(said.code, Some(0), "{words}: {}{}", said.out, said.err);
    }
}

/// The terminal closes: the kernel sends SIGHUP, and every write to the terminal fails from then on.
#[test]
fn a_run_outlives_its_terminal() {
    let place = Place::new();
    config(&place, 4);
    for (words, dir) in [
        (&["run", "random-read", "null:1GiB", "--for", "4s", "--load", "0.01x", "--out", "run"][..], "run"),
        (&["as", "act_storage", "act.conf"], "drop-in"),
    ] {
        let mut command = ignoring(place.command(words), &[libc::SIGHUP]);
        command.env("ASSAY_RUN_DIR", place.path("drop-in"));
        let (child, terminal) = at_a_terminal(command);
        let mut running = Running::of(child);
        begun(&place, &mut running, dir);
        drop(terminal);
        let said = running.end();
        assert!(matches!(said.code, Some(0 | 5 | 10 | 11 | 12)), "{words:?}: {said:?}");
        let log = Log::of(&place.path(dir));
        log.adds_up();
        assert_eq!(log.close.unwrap().reason, CloseReason::Completed, "{words:?}");
    }
    assert!(place.path("run/verdict.json").exists());
}

/// Starts a program as the leader of a session at a pseudo-terminal, to which all three of its streams lead.
fn at_a_terminal(mut command: Command) -> (std::process::Child, File) {
    let (mut master, mut slave) = (0, 0);
    // SAFETY: the call writes both numbers; the rest is optional.
    let made = unsafe {
        libc::openpty(&raw mut master, &raw mut slave, std::ptr::null_mut(), std::ptr::null(), std::ptr::null())
    };
    assert_eq!(made, 0, "a pseudo-terminal");
    // SAFETY: both are open and owned by nobody else.
    let (master, slave) = unsafe { (File::from_raw_fd(master), File::from_raw_fd(slave)) };
    // SAFETY: a number that is open; the child does not keep the other end of its own terminal.
    assert_eq!(unsafe { libc::fcntl(std::os::fd::AsRawFd::as_raw_fd(&master), libc::F_SETFD, libc::FD_CLOEXEC) }, 0);
    command.stdin(slave.try_clone().unwrap()).stdout(slave.try_clone().unwrap()).stderr(slave);
    let seat = || {
        // SAFETY: only system calls, between fork and exec.
        let seated = unsafe { libc::setsid() >= 0 && libc::ioctl(0, libc::TIOCSCTTY, 0) == 0 };
        if seated { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    };
    // SAFETY: see above.
    unsafe { command.pre_exec(seat) };
    let child = command.spawn().unwrap();
    drop(command);
    (child, master)
}

/// A disk that is full while a drop-in writes its output to it: the test goes on, as ACT's does, and says what is missing.
#[test]
fn a_full_disk_under_the_output_ends_no_drop_in() {
    let place = Place::new();
    config(&place, 2);
    let mut command = place.command(&["as", "act_storage", "act.conf"]);
    command.env("ASSAY_RUN_DIR", place.path("run")).stdout(File::options().write(true).open("/dev/full").unwrap());
    let said = Said::of(command.stdin(Stdio::null()).output().unwrap(), &["act_storage"]);
    assert_eq!(said.code, Some(12), "{}", said.err);
    assert!(said.err.contains("the output cannot be written") && said.err.contains("the test goes on"), "{}", said.err);
    assert!(said.err.contains("bytes of the output are missing"), "{}", said.err);
    for once in ["cannot be written", "are missing"] {
        assert_eq!(said.err.matches(once).count(), 1, "{once}: {}", said.err);
    }
    assert_eq!(Log::of(&place.path("run")).close.unwrap().reason, CloseReason::Completed);
}
