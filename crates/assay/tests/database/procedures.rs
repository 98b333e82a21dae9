//! Procedures of several runs on a database that loses what it acknowledged, or whose disk fails, while the program is killed: no
//! later run makes that undone.

use super::bed::{Log, Place, Running, Said, until};
use super::crash::Mounted;
use super::server::Served;
use super::shop::{FAST, in_one_line, shop, somebody};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

const LENGTHS: [&str; 6] = ["--warm-up", "0s", "--for", "3s", "--slice", "3s"];

/// The procedures, with their documents and the directory of their first run.
const PROCEDURES: [(&[&str], &str, &str); 3] = [
    (&["curve", "tpcc", "--sessions", "1,2"], "sessions.json", "1-sessions"),
    (&["curve", "open.toml", "--max", "2x", "--points", "50%,100%"], "curve.json", "01-1x"),
    (&["limit", "open.toml", "--from", "1x", "--to", "2x"], "limit.json", "01-1x"),
];

fn command<'a>(words: &[&'a str], url: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&words[..2], &[url][..], &words[2..], &LENGTHS[..], more].concat()
}

/// Starts a procedure, and waits until its first run has measured something.
fn begun(place: &Place, command: &[&str], run: &str) -> (Running, PathBuf) {
    let mut running = place.begin(&[command, &["--out", "p"]].concat());
    let log = place.path("p").join(run).join("run.jsonl");
    until("the first intervals", || {
        assert!(running.is_alive(), "it ended before it was asked to");
        fs::read_to_string(&log).is_ok_and(|text| text.matches("\"kind\":\"interval\"").count() > 1)
    });
    (running, log)
}

/// Asserts that the procedure is FAIL for what was lost, in every form of its result.
fn has_failed(place: &Place, said: &Said, document: &str, run: &str, names: &[&str]) {
    let words = format!("{document}: {}{}", said.out, said.err);
    assert_eq!(said.code, Some(10), "{words}");
    let document: Value = serde_json::from_str(&fs::read_to_string(place.path("p").join(document)).unwrap()).unwrap();
    let failure = &document["failures"][0];
    assert_eq!(failure["directory"], run, "{document}");
    for text in [failure["failure"].as_str().unwrap(), &in_one_line(&said.out)] {
        assert!(names.iter().any(|name| text.contains(name)), "{names:?}: {words}");
    }
}

/// The rows of the sessions go back by a few commits, as after a loss of power.
fn loses_commits(place: &Place) {
    let changed = somebody(place).execute("UPDATE assay_session SET seq = seq - 3", []).unwrap();
    assert!(changed > 0);
}

#[test]
fn commits_that_were_lost_while_a_procedure_was_down_are_found_before_it_goes_on() {
    for (at, (words, document, run)) in PROCEDURES.into_iter().enumerate() {
        let place = shop();
        let command = command(words, FAST, &["--verify"]);
        let (running, log) = begun(&place, &command, run);
        running.signal(if at == 1 { libc::SIGINT } else { libc::SIGKILL });
        running.end();
        let before = fs::read(&log).unwrap();
        loses_commits(&place);
        let said = place.assay(&[&command[..], &["--resume", "p"]].concat());
        has_failed(&place, &said, document, run, &["acknowledged commits are lost"]);
        assert_eq!(fs::read(&log).unwrap(), before, "what was measured stays");
        // It stays so, though all rows are above the lost numbers by now, and a run after it finds nothing.
        let again = place.assay(&[&command[..], &["--resume", "p"]].concat());
        has_failed(&place, &again, document, run, &["acknowledged commits are lost"]);
    }
}

#[test]
fn without_a_loss_a_procedure_that_was_killed_goes_on() {
    let (words, _, run) = PROCEDURES[0];
    let place = shop();
    let command = command(words, FAST, &["--verify"]);
    let (running, _) = begun(&place, &command, run);
    running.signal(libc::SIGKILL);
    running.end();
    let said = place.assay(&[&command[..], &["--resume", "p", "--json"]].concat());
    assert!(said.passed_or_late(), "{said:?}");
    let curve = said.json();
    // A machine that is late repeats the run that took the place of the killed one, too.
    let directory = curve["points"][0]["directory"].as_str().unwrap();
    assert!(directory.starts_with("1-sessions-"), "{curve}");
    assert!(curve.get("failures").is_none() && curve["repeated"][0]["directory"] == "1-sessions", "{curve}");
    // A ledger that somebody has changed proves nothing, and cannot be passed over.
    let ledger = place.path("p/1-sessions/ledger.bin");
    let mut bytes = fs::read(&ledger).unwrap();
    bytes[20] ^= 1;
    fs::write(&ledger, bytes).unwrap();
    let refused = place.assay(&[&command[..], &["--resume", "p"]].concat());
    assert!(refused.code == Some(11) && refused.err.contains("is not a ledger of commits"), "{refused:?}");
}

/// The names of the errors that a log has, of all flows.
fn errors(log: &Path) -> Vec<String> {
    let log = Log::of(log.parent().unwrap());
    let flows = log.intervals.iter().flat_map(|interval| &interval.flows);
    let mut names: Vec<String> = flows.flat_map(|flow| flow.errors.keys().cloned()).collect();
    names.extend(log.events.iter().filter(|event| event.what == "io-error").map(|_| "SQLITE".to_owned()));
    names
}

#[test]
fn transactions_that_failed_on_a_disk_are_not_forgotten_after_a_kill() {
    for (words, document, run) in PROCEDURES.into_iter().take(2) {
        let Some(mut mounted) = Mounted::new() else { return };
        let url = "sqlite:files/shop.db?synchronous=full";
        let command = command(words, url, &[]);
        let (running, log) = begun(&mounted.place, &command, run);
        mounted.disk.set("werr_every=1");
        until("a transaction to fail", || !errors(&log).is_empty());
        running.signal(libc::SIGKILL);
        running.end();
        mounted.disk.set("werr_every=off");
        mounted.again();
        let said = mounted.place.assay(&[&command[..], &["--resume", "p"]].concat());
        has_failed(&mounted.place, &said, document, run, &["SQLITE", "I/O"]);
    }
}

/// How a procedure on a server is ended while its first run goes on.
const ENDS: [libc::c_int; 2] = [libc::SIGKILL, libc::SIGINT];
/// How many procedures run at the same time, each on a server of its own.
const AT_A_TIME: usize = 3;
/// Long enough for what happens to the first run while it goes on.
const LONGER: [&str; 6] = ["--warm-up", "0s", "--for", "8s", "--slice", "8s"];

/// A procedure on a server of its own, and how it is ended.
struct Cell {
    served: Served,
    procedure: usize,
    end: libc::c_int,
}

/// Tries every procedure with every end; nothing where there is no server.
fn on_servers(tried: impl Fn(&Cell) + Sync) {
    let cells: Vec<(usize, libc::c_int)> =
        (0..PROCEDURES.len()).flat_map(|procedure| ENDS.map(|end| (procedure, end))).collect();
    for several in cells.chunks(AT_A_TIME) {
        std::thread::scope(|scope| {
            for &(procedure, end) in several {
                let tried = &tried;
                scope.spawn(move || {
                    let Some(served) = Served::new("-c fsync=off") else { return };
                    tried(&Cell { served, procedure, end });
                });
            }
        });
    }
}

#[test]
fn commits_that_a_server_lost_while_a_procedure_was_down_are_found_before_it_goes_on() {
    // A session may have committed only once.
    const LOST: [&str; 2] = ["acknowledged commits are lost", "1 acknowledged commit is lost"];
    on_servers(|Cell { served, procedure, end }| {
        let (words, document, run) = PROCEDURES[*procedure];
        let command = command(words, &served.url, &["--verify"]);
        let (running, log) = begun(&served.place, &command, run);
        running.signal(*end);
        running.end();
        let before = fs::read(&log).unwrap();
        served.ask("UPDATE assay_tpcc.assay_session SET seq = seq - 3");
        let said = served.place.assay(&[&command[..], &["--resume", "p"]].concat());
        has_failed(&served.place, &said, document, run, &LOST);
        assert_eq!(fs::read(&log).unwrap(), before, "{document}, {end}: what was measured stays");
        // It stays so, though all rows are above the lost numbers by now, and a run after it finds nothing.
        let again = served.place.assay(&[&command[..], &["--resume", "p"]].concat());
        has_failed(&served.place, &again, document, run, &LOST);
    });
}

#[test]
fn transactions_that_failed_on_a_server_are_not_forgotten_after_a_kill_or_an_interruption() {
    // Transactions wait for the districts, and one of their sessions is ended meanwhile.
    const END_ONE: &str = "BEGIN; LOCK TABLE assay_tpcc.district IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(0.3); \
                           SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                           WHERE application_name = 'assay' AND wait_event_type = 'Lock' LIMIT 1; COMMIT";
    on_servers(|Cell { served, procedure, end }| {
        let (words, document, run) = PROCEDURES[*procedure];
        let command = [&words[..2], &[&served.url], &words[2..], &LONGER[..]].concat();
        let (mut running, log) = begun(&served.place, &command, run);
        until("a transaction to fail", || {
            assert!(running.is_alive(), "it ended before a transaction had failed");
            served.ask(END_ONE);
            !errors(&log).is_empty()
        });
        running.signal(*end);
        running.end();
        let said = served.place.assay(&[&command[..], &["--resume", "p"]].concat());
        has_failed(&served.place, &said, document, run, &["57P01", "connection-lost", "outcome-unknown"]);
    });
}
