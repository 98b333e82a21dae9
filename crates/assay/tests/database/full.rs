//! The disk of a server becomes full during a run, which ends, and fails by the server's own code.

use super::bed::{Log, Said};
use super::cluster::succeeds;
use super::mariadb;
use super::server::Served;
use super::shop::{in_one_line, run};
use super::small::Small;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;

/// Too little for the transactions of a second, and enough for some of them.
const ROOM: u64 = 256 << 10;

fn may_mount() -> bool {
    let may = rustix::process::geteuid().is_root();
    if !may {
        println!("skipped: only root may mount a small file system");
    }
    may
}

/// Asserts that a run failed by the code of a full disk, among whatever else happened then.
fn failed_by(code: &str, said: &Said, dir: &Path) {
    assert_eq!(said.is_of_verdict(dir), "FAIL", "{said:?}");
    let log = Log::of(dir);
    let full: u64 = log.intervals.iter().flat_map(|it| &it.flows).filter_map(|flow| flow.errors.get(code)).sum();
    assert!(full > 0, "{said:?}");
    let text = in_one_line(&said.out);
    assert!(text.contains(code) && text.contains("a run with failed operations never passes"), "{text}");
}

#[test]
fn a_full_disk_of_postgresql_fails_the_run_by_its_code() {
    if !may_mount() {
        return;
    }
    let Some(served) = Served::new("-c fsync=off") else { return };
    let at = served.cluster.dir.join("small");
    std::fs::create_dir(&at).unwrap();
    let small = Small::mount(&at, "size=400m,uid=nobody,mode=0700");
    served.ask(&format!("CREATE TABLESPACE small LOCATION '{}'", at.display()));
    let moved = ["-c", "ALTER DATABASE shop SET TABLESPACE small"];
    succeeds(&mut served.cluster.psql("template1", &moved));
    small.leave(ROOM);
    let said = served.place.assay(&run("closed.toml", &served.url, &["--out", "run"]));
    failed_by("53100", &said, &served.place.path("run"));
    small.grow("400m");
    let checked = served.place.assay(&["check", &served.url]);
    assert_eq!(checked.code, Some(0), "what was not committed has left nothing: {checked:?}");
}

/// What somebody else has inserted, and neither committed nor undone: it takes the room that the table of payments has in
/// its file beyond its rows, which is up to an extent of 1 MiB.
fn filled() -> String {
    let insert = "INSERT INTO history SELECT * FROM history WHERE h_w_id = 1 AND h_d_id = 1 LIMIT 300;\n";
    let begin = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;\nSTART TRANSACTION;\n";
    format!("{begin}{}SELECT 'filled';\n", insert.repeat(200))
}

/// Only the table of payments is on the small disk, because nothing in it is changed: of a change for which MariaDB 10.11
/// finds no room it cannot undo all, ends, and has lost rows when it begins again.
#[test]
fn a_full_disk_of_mariadb_fails_the_run_by_its_code() {
    if !may_mount() {
        return;
    }
    let Some(served) = mariadb::Served::at_rest() else { return };
    let [at, table] = ["small", "data/shop/history.ibd"].map(|it| served.server.dir.join(it));
    std::fs::create_dir(&at).unwrap();
    let small = Small::mount(&at, "size=100m,uid=nobody,mode=0700");
    std::fs::copy(&table, at.join("history.ibd")).unwrap();
    std::fs::remove_file(&table).unwrap();
    std::os::unix::fs::symlink(at.join("history.ibd"), &table).unwrap();
    succeeds(std::process::Command::new("chown").args(["-R", "nobody:nogroup"]).arg(&at));
    served.server.start("--innodb-flush-method=nosync");
    small.leave(ROOM);
    let mut client = served.server.client(&["--force", "shop"]);
    let mut other = client.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut input = other.stdin.take().unwrap();
    input.write_all(filled().as_bytes()).unwrap();
    let mut line = String::new();
    BufReader::new(other.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line.trim_end(), "filled");

    let said = served.assay(&run("closed.toml", &served.url, &["--out", "run"]));
    failed_by("1114", &said, &served.place.path("run"));
    small.grow("100m");
    drop(input);
    other.wait().unwrap();
    let checked = served.assay(&["check", &served.url]);
    assert_eq!(checked.code, Some(0), "what was not committed has left nothing: {checked:?}");
    // The server must not lose a file that it has open.
    served.server.stop();
    drop(small);
    std::fs::remove_dir_all(&served.server.dir).unwrap();
}

/// MariaDB does not answer a commit for whose binary log there is no room: it waits until somebody makes room.
#[test]
fn a_mariadb_that_waits_for_room_is_stuck_and_fails_the_run() {
    if !may_mount() {
        return;
    }
    let Some(served) = mariadb::Served::at_rest() else { return };
    let at = served.server.dir.join("small");
    std::fs::create_dir(&at).unwrap();
    let small = Small::mount(&at, "size=100m,uid=nobody,mode=0700");
    served.server.start(&format!("--innodb-flush-method=nosync --log-bin={}/log", at.display()));
    small.leave(ROOM);
    let lengths = ["--warm-up", "0s", "--for", "8s", "--slice", "2s", "--stuck", "2s", "--drain", "2s", "--out", "run"];
    let said = served.assay(&[&["run", "closed.toml", &served.url], &lengths[..]].concat());
    assert_eq!(said.is_of_verdict(&served.place.path("run")), "FAIL", "{said:?}");
    assert!(in_one_line(&said.out).contains("stuck"), "{said:?}");
    let log = Log::of(&served.place.path("run"));
    let told = log.events.iter().find(|event| event.what == "unchecked");
    assert!(told.is_some_and(|event| event.text.contains("sessions still wait")), "{:?}", log.events);
    small.grow("100m");
    let checked = served.assay(&["check", &served.url]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    // The server must not lose a file that it has open.
    served.server.stop();
    drop(small);
    std::fs::remove_dir_all(&served.server.dir).unwrap();
}
