//! Small stacks: a limit of the shell applies to the first thread, a variable of the environment to all others.

use super::bed::{Place, Said};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The limits as after `ulimit -s 64`.
fn small(mut command: Command) -> Command {
    let limit = || {
        let limit = rustix::process::Rlimit { current: Some(64 << 10), maximum: Some(64 << 10) };
        rustix::process::setrlimit(rustix::process::Resource::Stack, limit).map_err(Into::into)
    };
    // SAFETY: the closure makes only one system call.
    unsafe { command.pre_exec(limit) };
    command.env("RUST_MIN_STACK", "16384");
    command
}

#[test]
fn every_verb_works_on_a_small_stack() {
    let place = Place::new();
    let conf = "device-names: new.dat\nfile-size-mbytes: 16\ntest-duration-sec: 1\nread-reqs-per-sec: 10\n";
    place.write("act.conf", conf);
    let run = ["run", "random-read", "sim:flash", "--for", "2s", "--slice", "1s", "--seed", "1", "--out"];
    let verbs: [&[&str]; 17] = [
        &[&run[..], &["run"]].concat(),
        &[&run[..], &["other"]].concat(),
        &["limit", "random-read", "sim:flash", "--for", "1s", "--slice", "1s", "--to", "1x", "--out", "limit"],
        &["prep", "new.dat", "--create", "16MiB", "--skip-zero"],
        &["run", "random-read", "new.dat", "--for", "1s", "--slice", "1s", "--out", "real"],
        &["run", "random-read", "new.dat", "--for", "1s", "--slice", "1s", "--engine", "threads", "--out", "threads"],
        &["as", "act_storage", "act.conf"],
        &["explain", "act-storage", "sim:flash"],
        &["judge", "run"],
        &["watch", "run"],
        &["report", "run"],
        &["verify", "run"],
        &["compare", "run", "other"],
        &["export", "run", "--to", "fio-json"],
        &["devices"],
        &["doctor", "new.dat"],
        &["man"],
    ];
    for args in verbs {
        let said = Said::of(small(place.command(args)).output().unwrap(), args);
        assert!(matches!(said.code, Some(0 | 3 | 10 | 11)), "{args:?}: {said:?}");
        assert!(!said.out.is_empty(), "{args:?}: {said:?}");
    }
}
