//! Loads: the same rows with any number of loaders and after kills of the client and of the server.

use crate::bed::{Bed, Server, small, sums_of, url};
use assay_model::tpcc::interpreter::Database;
use assay_model::tpcc::{Population, Scale};
use assay_sql::TroubleKind;
use assay_sql::mysql::{Loading, Progress, Statistics, check_conditions, load_missing, open_for_run, read_totals};
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
        let keys = "SELECT count(DISTINCT table_name, index_name) FROM information_schema.statistics \
                    WHERE table_schema = database() AND table_name NOT LIKE 'assay%'";
        assert_eq!(bed.ask(keys), "10");
    }
}

/// A server may refuse files from clients.
#[test]
fn a_server_that_takes_no_files_is_loaded_by_statements() {
    let Some(server) = Server::make("--local-infile=0 --innodb-flush-method=nosync") else { return };
    let bed = Bed::of(server);
    assert!(bed.load(small(), 2).unwrap().complete);
    assert_eq!(bed.sums(), sums_of(&Database::from_population(small())));
}

/// A load that ended between the first table and the first row has left an empty marker.
#[test]
fn a_load_that_got_as_far_as_its_first_table_goes_on() {
    let Some(bed) = Bed::loaded() else { return };
    let definition = bed.ask("SHOW CREATE TABLE assay_tpcc").split_once('\t').unwrap().1.replace("\\n", " ");
    bed.ask(&format!("DROP DATABASE {0}; CREATE DATABASE {0}; USE {0}; {definition}", bed.database));
    let trouble = open_for_run(&bed.url(), None).unwrap_err();
    assert!(trouble.kind == TroubleKind::NotReady && trouble.to_string().contains("is empty"), "{trouble}");
    assert!(bed.load(small(), 1).unwrap().complete);
    assert_eq!(bed.sums(), sums_of(&Database::from_population(small())));
}

/// What a load leaves that ended directly behind its marker, because it could not make any other table: with the right to
/// make that one only.
fn ended_behind_its_marker() -> Option<Bed> {
    let bed = Bed::new()?;
    let user = format!("limited_{}", bed.database);
    bed.ask_server(&format!(
        "CREATE DATABASE {0}; CREATE USER {user}; GRANT SELECT, CREATE, INSERT ON {0}.assay_tpcc TO {user}",
        bed.database
    ));
    let limited = Loading { url: bed.url_as(&user), ..bed.loading(small(), 1) };
    let trouble = load_missing(&limited, &mut |_| ControlFlow::Continue(())).unwrap_err();
    assert!(trouble.kind == TroubleKind::Host && trouble.to_string().contains("1142"), "{trouble}");
    assert_eq!(bed.ask("SHOW TABLES"), "assay_tpcc");
    assert_eq!(bed.ask("SELECT complete FROM assay_tpcc"), "0");
    Some(bed)
}

/// Whoever makes a table of one of our names where a load ended keeps it, with its content.
#[test]
fn a_table_of_somebody_else_is_neither_loaded_into_nor_deleted() {
    for (made, name) in [
        (
            "CREATE TABLE customer (id int PRIMARY KEY, name varchar(20)); INSERT INTO customer VALUES (7, 'Ann')",
            "customer",
        ),
        (
            "CREATE TABLE item (i_id int NOT NULL, i_im_id int NOT NULL, i_name varchar(24) NOT NULL); \
          INSERT INTO item VALUES (1, 1, 'mine')",
            "item",
        ),
        (
            "CREATE TABLE assay_parts (name varchar(50) PRIMARY KEY); INSERT INTO assay_parts VALUES ('x')",
            "assay_parts",
        ),
        (
            "CREATE TABLE base (w_id int); INSERT INTO base VALUES (3); CREATE VIEW warehouse AS SELECT * FROM base",
            "warehouse",
        ),
    ] {
        let Some(bed) = ended_behind_its_marker() else { return };
        bed.ask(made);
        let before =
            bed.ask(&format!("CHECKSUM TABLE {name}; SELECT * FROM {name}; SHOW TABLES; SHOW CREATE TABLE {name}"));
        for clear in [false, true] {
            let loading = Loading { clear, ..bed.loading(small(), 1) };
            let trouble = load_missing(&loading, &mut |_| ControlFlow::Continue(())).unwrap_err();
            let text = trouble.to_string();
            assert!(
                trouble.kind == TroubleKind::Refused && text.contains("no load has made") && text.contains(name),
                "{text}"
            );
            let after =
                bed.ask(&format!("CHECKSUM TABLE {name}; SELECT * FROM {name}; SHOW TABLES; SHOW CREATE TABLE {name}"));
            assert_eq!(after, before, "{name}, clear: {clear}");
        }
    }
}

/// A table that is exactly as ours and has rows although no part is loaded is somebody's, and so is one of another name.
#[test]
fn rows_that_no_part_has_brought_and_other_tables_keep_a_load_from_going_on() {
    for (made, name) in [
        ("CREATE TABLE mine (x int); INSERT INTO mine VALUES (1)", "mine"),
        (
            "CREATE TABLE new_order (no_w_id int NOT NULL, no_d_id int NOT NULL, no_o_id int NOT NULL, \
             PRIMARY KEY (no_w_id, no_d_id, no_o_id)) ENGINE=InnoDB DEFAULT CHARSET=ascii COLLATE=ascii_bin; \
             INSERT INTO new_order VALUES (9, 9, 9)",
            "new_order",
        ),
        (
            "CREATE TABLE new_order (no_w_id int NOT NULL, no_d_id int NOT NULL, no_o_id int NOT NULL) ENGINE=Aria",
            "new_order",
        ),
    ] {
        let Some(bed) = ended_behind_its_marker() else { return };
        bed.ask(made);
        let before = bed.ask(&format!("SHOW TABLES; SELECT * FROM {name}"));
        let trouble = bed.load(small(), 1).unwrap_err();
        let text = trouble.to_string();
        assert!(trouble.kind == TroubleKind::Refused && text.contains(&format!("({name})")), "{text}");
        assert_eq!(bed.ask(&format!("SHOW TABLES; SELECT * FROM {name}")), before, "nothing was made");
        bed.ask(&format!("DROP TABLE {name}"));
        assert!(bed.load(small(), 1).unwrap().complete);
        assert_eq!(bed.sums(), sums_of(&Database::from_population(small())));
    }
}

/// The same after a load that was killed in its middle: a table of ours that somebody has replaced.
#[test]
fn a_load_that_was_killed_does_not_go_on_in_a_table_of_somebody_else() {
    let Some(bed) = Bed::new() else { return };
    interrupted(&bed.text(), |child| child.kill().unwrap());
    bed.ask(
        "DROP TABLE customer; CREATE TABLE customer (id int, name varchar(20)); INSERT INTO customer VALUES (7, 'Ann')",
    );
    for clear in [false, true] {
        let loading = Loading { clear, ..bed.loading(small(), 1) };
        let trouble = patiently(|| match load_missing(&loading, &mut |_| ControlFlow::Continue(())) {
            Err(trouble) if !trouble.to_string().contains("another Assay") => Ok(trouble),
            other => other.map(|marker| panic!("it was loaded: {marker:?}")),
        });
        assert!(trouble.kind == TroubleKind::Refused && trouble.to_string().contains("(customer)"), "{trouble}");
        assert_eq!(bed.ask("SELECT * FROM customer"), "7\tAnn");
    }
}

/// What `--clear` has begun only another one goes on with: the rows that are left would be there twice.
#[test]
fn a_clear_that_was_interrupted_is_done_again() {
    let Some(bed) = Bed::loaded() else { return };
    bed.ask("UPDATE assay_tpcc SET complete = 0, version = 0; DROP TABLE customer");
    let refused = bed.load(small(), 1).unwrap_err();
    assert!(refused.kind == TroubleKind::Refused && refused.to_string().contains("--clear"), "{refused}");
    let clearing = Loading { clear: true, ..bed.loading(small(), 1) };
    assert!(load_missing(&clearing, &mut |_| ControlFlow::Continue(())).unwrap().complete);
    assert_eq!(bed.sums(), sums_of(&Database::from_population(small())));
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
    let Some(server) = Server::make("") else { return };
    let bed = Bed::of(server);
    interrupted(&bed.text(), |_| bed.server.crash(""));
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
    for (depends, gone) in [
        ("CREATE VIEW depends AS SELECT s_w_id FROM stock", "DROP VIEW depends"),
        ("CREATE TRIGGER depends BEFORE INSERT ON stock FOR EACH ROW SET @x = 1", "DROP TRIGGER depends"),
        ("CREATE TABLE refers (i int, CONSTRAINT depends FOREIGN KEY (i) REFERENCES item (i_id))", "DROP TABLE refers"),
    ] {
        bed.ask(depends);
        let refused = load_missing(&clearing, &mut |_| ControlFlow::Continue(())).unwrap_err();
        let name = format!("({}.depends)", bed.database);
        assert!(refused.kind == TroubleKind::Refused && refused.to_string().contains(&name), "{refused}");
        assert_eq!(bed.sums(), before);
        bed.ask(gone);
    }
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
    assert!(statistics.log_bytes > 0 && statistics.log_writes > 0 && statistics.commits > 20, "{statistics:?}");
    assert!(Statistics::database_bytes(&mut connection).unwrap() > 50_000_000);
}
