//! A password stands in no argument, no name of a thread and no file, while a run goes on and after it.

use super::bed::{Place, Said, until};
use super::mariadb;
use super::server::Served;
use super::shop::{in_one_line, run};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

/// A password that must not be found anywhere.
const CANARY: &str = "canary-b04d2e";

/// What everybody on this machine sees of the processes that work in a place.
#[derive(Default)]
struct Seen {
    processes: BTreeSet<String>,
    /// Command lines, of each thread too, and the names of threads.
    shown: BTreeSet<String>,
}

impl Seen {
    /// All that is seen while something is done.
    fn while_done<T>(place: &Place, act: impl FnOnce() -> T) -> (Seen, T) {
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let looker = scope.spawn(|| {
                let mut seen = Seen::default();
                while !over.load(Ordering::Relaxed) {
                    seen.look(place);
                    std::thread::sleep(std::time::Duration::from_millis(10));
                }
                seen
            });
            // Also where the test fails meanwhile.
            let ends = Ends(&over);
            let done = act();
            drop(ends);
            (looker.join().unwrap(), done)
        })
    }

    /// Processes belong to the place whose state directory their environment names, those in the background too.
    fn look(&mut self, place: &Place) {
        let read = |path: &Path| std::fs::read(path).map(|it| String::from_utf8_lossy(&it).replace('\0', " "));
        let state = format!("XDG_STATE_HOME={}", place.path("state").display());
        for process in std::fs::read_dir("/proc").unwrap().flatten() {
            let dir = process.path();
            if !read(&dir.join("environ")).is_ok_and(|it| it.contains(&state)) {
                continue;
            }
            let threads = std::fs::read_dir(dir.join("task")).into_iter().flatten().flatten();
            let of_threads = threads.flat_map(|it| ["cmdline", "comm"].map(|file| it.path().join(file)));
            let shown: Vec<String> = of_threads.filter_map(|it| read(&it).ok()).collect();
            // Before a new process has become the program it shows what the test program was called with.
            if shown.iter().any(|it| it.contains(env!("CARGO_BIN_EXE_assay"))) {
                self.processes.insert(process.file_name().to_string_lossy().into_owned());
            }
            self.shown.extend(shown);
        }
    }

    fn show(&self, text: &str) -> bool {
        self.shown.iter().any(|it| it.contains(text))
    }
}

struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Asserts that no file of a place holds the password, apart from the one that it was read from.
fn in_no_file(dir: &Path, canary: &str) {
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => in_no_file(&path, canary),
            false if entry.file_name() == "secret" => {}
            false => {
                let content = std::fs::read(&path).unwrap();
                let holds = content.windows(canary.len()).any(|it| it == canary.as_bytes());
                assert!(!holds, "{} holds the password", path.display());
            }
        }
    }
}

#[test]
fn what_is_looked_for_would_be_found() {
    let place = Place::new();
    let (seen, ()) = Seen::while_done(&place, || {
        let mut shell = Command::new("sh");
        shell.args(["-c", "read -r line", CANARY]).env("XDG_STATE_HOME", place.path("state"));
        let mut shell = shell.stdin(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(200));
        shell.stdin.take().unwrap().write_all(b"end\n").unwrap();
        shell.wait().unwrap();
    });
    assert!(seen.show(CANARY), "{:?}", seen.shown);
    std::fs::create_dir(place.path("below")).unwrap();
    place.write("below/file", &format!("it is {CANARY}!"));
    let found = std::panic::catch_unwind(|| in_no_file(&place.path(""), CANARY));
    assert!(found.is_err());
}

/// The server demands the password of this role, whose commits do not wait for the disk.
#[test]
fn a_role_of_postgresql_whose_password_is_in_the_environment() {
    let Some(served) = Served::new("") else { return };
    served.ask(&format!(
        "CREATE ROLE lazy LOGIN SUPERUSER PASSWORD '{CANARY}'; ALTER ROLE lazy SET synchronous_commit = off"
    ));
    let rules = "local all postgres trust\nlocal all lazy scram-sha-256\n";
    std::fs::write(served.cluster.dir.join("data/pg_hba.conf"), rules).unwrap();
    served.ask("SELECT pg_reload_conf()");
    let asks = |password: &str| {
        let mut psql = served.psql(&["-w", "-U", "lazy", "-c", "SELECT 1"]);
        !psql.env("PGPASSWORD", password).output().unwrap().status.success()
    };
    until("the server asks for a password", || asks("wrong"));
    assert!(!asks(CANARY));

    let url = served.url_as("lazy");
    let args = run("closed.toml", &url, &["--out", "run"]);
    let without = served.place.command(&args).env_remove("PGPASSWORD").output().unwrap();
    assert_eq!(without.status.code(), Some(5), "{without:?}");
    let (seen, said) = Seen::while_done(&served.place, || {
        Said::of(served.place.command(&args).env("PGPASSWORD", CANARY).output().unwrap(), &args)
    });
    assert!(said.passed_or_late(), "{said:?}");
    assert!(seen.show("closed.toml") && seen.processes.len() == 1, "{:?}", seen.shown);
    assert!(!seen.show(CANARY) && !said.out.contains(CANARY) && !said.err.contains(CANARY), "{:?}", seen.shown);
    in_no_file(&served.place.path(""), CANARY);
    // The server has another setting than the role.
    assert_eq!(served.ask("SHOW synchronous_commit"), "on");
    assert!(in_one_line(&said.out).contains("NOT DURABLE: synchronous_commit=off"), "{}", said.out);
}

#[test]
fn a_user_of_mariadb_whose_password_is_in_a_file_for_a_run_in_the_background() {
    let Some(served) = mariadb::Served::new("--innodb-flush-method=nosync") else { return };
    let url = served.url_with_file();
    let lengths = ["--warm-up", "0s", "--for", "3s", "--slice", "3s", "--detach", "--out", "run"];
    let (seen, begun) = Seen::while_done(&served.place, || {
        let args = [&["run", "closed.toml", &url][..], &lengths[..]].concat();
        let begun = Said::of(served.place.command(&args).env_remove("MYSQL_PWD").output().unwrap(), &args);
        until("its results", || served.place.path("run/report.html").exists());
        begun
    });
    assert_eq!(begun.code, Some(0), "{begun:?}");
    let judged = served.place.assay(&["judge", "run"]);
    assert!(judged.passed_or_late(), "{judged:?}");
    assert!(seen.show("--detach") && seen.processes.len() == 2, "the program, and the one behind: {:?}", seen.shown);
    assert!(!seen.show(mariadb::CANARY) && !judged.out.contains(mariadb::CANARY), "{:?}", seen.shown);
    in_no_file(&served.place.path(""), mariadb::CANARY);
}
