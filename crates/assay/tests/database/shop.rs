//! A loaded database, and what it holds.

pub use super::bed::in_one_line;
use super::bed::{Log, Place};
use assay_model::tpcc::{DERIVED, TransactionKind};
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

/// The workload of most tests: a rate that any machine carries.
pub const OPEN: &str = "model = \"tpcc\"\nname = \"open\"\nrate = \"30/s\"\n";
/// Sessions that ask as fast as they are answered.
pub const CLOSED: &str = "model = \"tpcc\"\nname = \"closed\"\nsessions = 3\n";
/// Lengths in seconds, for a test.
pub const SHORT: [&str; 6] = ["--warm-up", "1s", "--for", "4s", "--slice", "2s"];
pub const DB: &str = "sqlite:shop.db";
/// The same without waiting for the disk, which other tests use too: for runs that must pass.
pub const FAST: &str = "sqlite:shop.db?synchronous=off";

/// One warehouse, loaded once.
fn loaded() -> &'static PathBuf {
    static LOADED: OnceLock<PathBuf> = OnceLock::new();
    LOADED.get_or_init(|| {
        // It stays for the whole program of tests.
        let place = Box::leak(Box::new(Place::new()));
        let said = place.assay(&["prep", DB, "--warehouses", "1"]);
        assert_eq!(said.code, Some(0), "{said:?}");
        place.path("shop.db")
    })
}

/// A place with a copy of the database and the two workloads.
pub fn shop() -> Place {
    let place = Place::new();
    std::fs::copy(loaded(), place.path("shop.db")).unwrap();
    place.write("open.toml", OPEN);
    place.write("closed.toml", CLOSED);
    place
}

/// The command that runs a workload for a short time.
pub fn run<'a>(workload: &'a str, url: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["run", workload, url][..], &SHORT[..], more].concat()
}

/// A connection of somebody else.
pub fn somebody(place: &Place) -> Connection {
    let connection = Connection::open(place.path("shop.db")).unwrap();
    connection.busy_timeout(Duration::from_secs(20)).unwrap();
    connection
}

/// The sums that orders and payments raise.
pub fn sums(place: &Place) -> (u64, u64) {
    sums_of(&place.path("shop.db"))
}

/// The same of a file.
pub fn sums_of(file: &Path) -> (u64, u64) {
    let connection = Connection::open(file).unwrap();
    connection.busy_timeout(Duration::from_secs(20)).unwrap();
    let sql = "SELECT (SELECT sum(d_next_o_id) FROM district), (SELECT sum(c_payment_cnt) FROM customer)";
    let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)? as u64, row.get::<_, i64>(1)? as u64));
    connection.query_row(sql, [], read).unwrap()
}

/// Completed transactions of a kind over the whole log, and those counted under a name.
pub fn done(log: &Log, kind: TransactionKind, name: &str) -> (u64, u64) {
    let own = || log.intervals.iter().map(|interval| &interval.flows[kind as usize]);
    (own().map(|flow| flow.ok).sum(), own().filter_map(|flow| flow.counted.get(name)).sum())
}

/// Every form of a result says what it is derived from, and never calls its figure by a name that is not its own.
pub fn says_what_it_is(form: &str, text: &str) {
    let text = in_one_line(text);
    assert!(text.contains(DERIVED), "{form} lacks the sentence");
    assert!(text.contains("DERIVED"), "{form} lacks the watermark");
    assert!(!text.contains(concat!("tpm", "C")), "{form} uses the standard's name");
    for deviation in ["terminals", "pricing", "isolation"] {
        assert!(text.contains(deviation), "{form} lacks the deviation {deviation}");
    }
}
