//! Loads: the same rows with any number of loaders and after kills of the client and of the server.

use crate::bed::{Bed, Cluster, small, sums_of, url};
use assay_model::tpcc::interpreter::Database;
use assay_model::tpcc::{Population, Scale};
use assay_sql::TroubleKind;
use assay_sql::postgres::{Loading, Progress, Statistics, check_conditions, load_missing, open_for_run, read_totals};
use std::io::{BufRead, BufReader};
use std::ops::ControlFlow;
use std::process::{Command, Stdio};
use std::time::Instant;

#[test]
fn one_loader_and_four_load_the_rows_of_the_population() {
    let wanted = sums_of(&Database::from_population(small()));
    for loaders in [1, 4] {
        let Some(bed) = Bed::new() else { return };
        let marker = bed.load(small(), loaders).unwrap();
        assert!(marker.complete && marker.population == small() && marker.run == "test");
        assert_eq!(bed.sums(), wanted, "{loaders} loaders");
        assert_eq!(check_conditions(&mut bed.connection(), small()).unwrap(), []);
        let keys = "SELECT count(*) FROM pg_indexes WHERE schemaname = 'assay_tpcc' AND tablename NOT LIKE 'assay%'";
        assert_eq!(bed.ask(keys), "10");
    }
}

/// After about so many rows the child of the next test stands still, so that it can be killed.
const ROWS: u64 = 500;

/// The child of the test below: loads the database that the environment names, until it has loaded some parts.
#[test]
fn a_load_that_stands_still() {
    let Ok(name) = std::env::var("ASSAY_TEST_LOADS") else { return };
    let loading = Loading { url: url(&name), population: small(), run: "child".into(), loaders: 2, clear: false };
    let mut watch = |progress: Progress| {
        if progress.done > progress.found + ROWS {
            println!("stands still, found {}", progress.found);
            // Until the other end of the pipe is closed, which happens after the kill only.
            std::io::stdin().lines().for_each(drop);
        }
        ControlFlow::Continue(())
    };
    load_missing(&loading, &mut watch).unwrap();
}

/// Starts a load in a process of its own and stops in its middle for `then`. Returns how many rows that load had found.
fn interrupted(name: &str, then: impl FnOnce(&mut std::process::Child)) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "loads::a_load_that_stands_still", "--nocapture"])
        .env("ASSAY_TEST_LOADS", name)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let found = lines.find_map(|line| line.split_once("stands still, found ").map(|(_, found)| found.parse().unwrap()));
    then(&mut child);
    drop(child.stdin.take());
    assert!(!child.wait().unwrap().success(), "it did not come to its end");
    found.unwrap()
}

/// Until the server has noticed that a client is gone, its lock is held.
fn patiently<T>(mut body: impl FnMut() -> Result<T, assay_sql::Trouble>) -> T {
    for _ in 0..200 {
        match body() {
            Err(trouble) if trouble.to_string().contains("another Assay") => {
                std::thread::sleep(std::time::Duration::from_millis(50));
            }
            done => return done.unwrap(),
        }
    }
    panic!("the lock of a dead client stays");
}

#[test]
fn a_load_that_is_killed_twice_goes_on_where_it_was() {
    let Some(bed) = Bed::new() else { return };
    assert_eq!(interrupted(&bed.text(), |child| child.kill().unwrap()), 0);
    let parts: i32 = bed.ask("SELECT count(*) FROM assay_parts").parse().unwrap();
    assert!((1..45).contains(&parts), "{parts} of 45 parts");
    patiently(|| match open_for_run(&bed.url(), None) {
        Err(trouble) if trouble.kind == TroubleKind::NotReady => {
            assert!(trouble.to_string().contains("in part only"), "{trouble}");
            Ok(())
        }
        Err(trouble) => Err(trouble),
        Ok(_) => panic!("half a load is not ready"),
    });
    assert!(interrupted(&bed.text(), |child| child.kill().unwrap()) > 0, "it found what the first one left");
    let marker = patiently(|| bed.load(small(), 1));
    assert!(marker.complete && marker.run == "child", "it keeps the name it began with: {marker:?}");
    assert_eq!(bed.sums(), sums_of(&Database::from_population(small())));
}

/// With a cluster of its own, which is killed.
#[test]
fn a_load_whose_server_is_killed_goes_on_where_it_was() {
    let Some(cluster) = Cluster::make("") else { return };
    let bed = Bed::of(Box::leak(Box::new(cluster)));
    interrupted(&bed.text(), |_| bed.cluster.crash(""));
    let marker = bed.load(small(), 2).unwrap();
    assert!(marker.complete && marker.run == "child");
    assert_eq!(bed.sums(), sums_of(&Database::from_population(small())));
}

#[test]
fn a_load_ends_after_a_part_when_its_caller_wants_it_and_progress_grows_to_the_whole() {
    let Some(bed) = Bed::new() else { return };
    let mut watch =
        |progress: Progress| if progress.done > 500 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    assert!(!load_missing(&bed.loading(small(), 2), &mut watch).unwrap().complete);
    let mut all = Vec::new();
    let mut watch = |progress: Progress| {
        all.push(progress);
        ControlFlow::Continue(())
    };
    assert!(load_missing(&bed.loading(small(), 3), &mut watch).unwrap().complete);
    assert!(all.is_sorted_by_key(|progress| progress.done) && all[0].done == all[0].found && all[0].found > 500);
    let Progress { done, of, .. } = *all.last().unwrap();
    assert!(done == of && of > 5_000, "{done} of {of}");
    assert_eq!(bed.sums(), sums_of(&Database::from_population(small())));
}

#[test]
fn a_whole_load_is_left_as_it_is_and_another_one_needs_clear() {
    let Some(bed) = Bed::loaded() else { return };
    bed.ask("UPDATE warehouse SET w_name = 'kept'");
    let before = bed.sums();
    assert!(bed.load(small(), 1).unwrap().complete);
    assert_eq!(bed.sums(), before, "it is not loaded again");
    let other = Population::new(small().row_scale(), 1, 6);
    let refused = bed.load(other, 1).unwrap_err();
    assert!(refused.kind == TroubleKind::Refused && refused.to_string().contains("--clear"), "{refused}");
    assert_eq!(bed.sums(), before);
    bed.ask("CREATE TABLE mine (x integer)");
    let clearing = Loading { clear: true, ..bed.loading(other, 2) };
    bed.ask("CREATE VIEW depends AS SELECT * FROM stock");
    let refused = load_missing(&clearing, &mut |_| ControlFlow::Continue(())).unwrap_err();
    assert!(refused.kind == TroubleKind::Refused && refused.to_string().contains("depends on it"), "{refused}");
    assert_eq!(bed.sums(), before);
    bed.ask("DROP VIEW depends");
    assert!(load_missing(&clearing, &mut |_| ControlFlow::Continue(())).unwrap().complete);
    assert_eq!(bed.sums(), sums_of(&Database::from_population(other)));
    assert_eq!(bed.ask("INSERT INTO mine VALUES (1) RETURNING x"), "1", "a table that is not ours is still there");
}

/// A warehouse of the standard's size; with `ASSAY_WAREHOUSES=5` what a load and a check cost.
#[test]
fn a_warehouse_of_the_standards_size_has_the_standards_rows() {
    let Some(bed) = Bed::new() else { return };
    let warehouses = std::env::var("ASSAY_WAREHOUSES").map_or(1, |text| text.parse().unwrap());
    let population = Population::new(Scale::STANDARD, warehouses, 1);
    let begin = Instant::now();
    assert!(bed.load(population, 2).unwrap().complete);
    let loaded = begin.elapsed();
    let count = |table: &str| bed.ask(&format!("SELECT count(*) FROM {table}")).parse::<i32>().unwrap();
    let counts = ["warehouse", "district", "customer", "history", "stock", "orders", "new_order"].map(count);
    assert_eq!(counts, [1, 10, 30_000, 30_000, 100_000, 30_000, 9_000].map(|rows| rows * warehouses));
    assert_eq!(count("item"), 100_000);
    let mut connection = bed.connection();
    let begin = Instant::now();
    assert_eq!(check_conditions(&mut connection, population).unwrap(), []);
    println!("{warehouses} warehouses: loaded in {loaded:?}, checked in {:?}", begin.elapsed());
    let there = read_totals(&mut connection).unwrap();
    let of = i64::from(warehouses);
    assert_eq!((there.next_orders, there.payments, there.ytd), (30_010 * of, 30_000 * of, 30_000_000 * of));
    let statistics = Statistics::read_counters(&mut connection).unwrap();
    assert!(statistics.bytes > 50_000_000 && statistics.log_bytes > 0 && statistics.commits > 20, "{statistics:?}");
}
