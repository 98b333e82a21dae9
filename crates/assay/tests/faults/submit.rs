//! Submissions that the kernel refuses: the verdict is INVALID, and never blames the device. Also limits of the host,
//! and messages that nobody reads.

use super::bed::{Place, Said, refuse};
use super::devices::passed_over;
use super::rig::{beside, steady, workload};
use std::os::unix::process::CommandExt;

#[test]
fn refused_submissions_prove_nothing_about_the_device() {
    let _turn = beside();
    // EPERM ends the run immediately, EAGAIN after five seconds of repeated attempts.
    for (errno, name) in [(libc::EPERM, "EPERM"), (libc::EAGAIN, "EAGAIN")] {
        let place = Place::new();
        place.write("workload.toml", &workload("10min", ("1s", "50%"), &[&steady("read", 100)]));
        let create = ["run", "act-storage", "disk", "--create", "64MiB", "--for", "1s", "--engine", "threads"];
        assert!(place.run(&create).0.code.is_some(), "a file to read from");
        let args = ["run", "workload.toml", "disk", "--engine", "io_uring", "--out", "refused"];
        let mut command = place.command(&args);
        refuse(&mut command, libc::SYS_io_uring_enter, errno);
        let said = Said::of(command.output().unwrap(), &args);
        if said.code == Some(5) {
            return passed_over("no io_uring on this host");
        }
        assert_eq!(said.is_of_verdict(&place.path("refused")), "INVALID", "{}", said.out);
        assert!(said.out.contains("the engine could not submit"), "{}", said.out);
        let log = super::bed::Log::of(&place.path("refused"));
        log.adds_up();
        let reads = log.stream("reads");
        assert_eq!(reads.errors.get("not submitted"), Some(&reads.issued), "each is on the account as not submitted");
        assert!(log.events.iter().any(|event| event.what == "engine-failed" && event.text.contains(name)));
    }
}

/// CAP_IPC_LOCK: limits on locked memory do not apply to a process that has it.
const IPC_LOCK: libc::c_ulong = 14;

/// Runs the program without any locked memory, as in a container.
fn without_locked_memory(place: &Place, args: &[&str]) -> Said {
    let mut command = place.command(args);
    let limit = || {
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: both calls affect only the child's only thread, between fork and exec; neither allocates.
        let limited = unsafe {
            libc::setrlimit(libc::RLIMIT_MEMLOCK, &raw const none) == 0
                && libc::prctl(libc::PR_CAPBSET_DROP, IPC_LOCK, 0, 0, 0) == 0
        };
        if limited { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    };
    // SAFETY: the closure makes only system calls.
    unsafe { command.pre_exec(limit) };
    Said::of(command.output().unwrap(), args)
}

#[test]
fn without_locked_memory_the_run_falls_back_or_says_what_to_raise() {
    if !super::rig::is_root() {
        return;
    }
    let _turn = beside();
    let place = Place::new();
    let run = ["run", "act-storage", "disk", "--create", "64MiB", "--for", "1s", "--engine"];
    let said = without_locked_memory(&place, &[&run[..], &["io_uring", "--out", "uring"]].concat());
    // Either the kernel counts no memory for rings, or it does and the advice is correct.
    assert!(said.code != Some(5) || said.err.contains("ulimit -l"), "{}", said.err);
    let said = without_locked_memory(&place, &[&run[..], &["auto", "--out", "run"]].concat());
    said.is_of_verdict(&place.path("run"));
    let log = super::bed::Log::of(&place.path("run"));
    log.adds_up();
    assert!(log.header.engine["notes"].contains("ulimit -l"), "the log says what was refused: {:?}", log.header.engine);
}

#[test]
fn too_few_files_are_told_before_anything_is_opened() {
    let place = Place::new();
    for files in [10, 16, 27] {
        let args = ["run", "act-storage", "disk", "--create", "64MiB", "--for", "1s", "--out", "run"];
        let mut command = place.command(&args);
        let limit = move || {
            let few = libc::rlimit { rlim_cur: files, rlim_max: files };
            // SAFETY: the call affects only the child's only thread, between fork and exec, and does not allocate.
            if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const few) } == 0 {
                Ok(())
            } else {
                Err(std::io::Error::last_os_error())
            }
        };
        // SAFETY: the closure makes only one system call.
        unsafe { command.pre_exec(limit) };
        let said = Said::of(command.output().unwrap(), &args);
        assert_eq!(said.code, Some(5), "{files}: {}", said.err);
        assert!(said.err.contains("ulimit -n 28"), "{}", said.err);
        assert!(!place.path("disk").exists() && !place.path("run").exists(), "nothing was made");
    }
}

#[test]
fn a_run_goes_on_when_nobody_listens_to_its_messages() {
    let _turn = beside();
    let place = Place::new();
    let mut command = place.command(&["run", "random-read", "null:1GiB", "--for", "1s", "--out", "run"]);
    let mut child = command.spawn().unwrap();
    drop((child.stdout.take(), child.stderr.take()));
    let code = child.wait().unwrap().code();
    assert!([Some(0), Some(10), Some(11)].contains(&code), "a verdict, not {code:?}");
    assert!(place.path("run/verdict.json").exists());
}
