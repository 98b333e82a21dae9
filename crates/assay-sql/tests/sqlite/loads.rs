//! Loads: the same rows with any number of loaders and after kills, and nothing that is not ours is touched.

use crate::bed::{Bed, small, sums_of};
use assay_model::tpcc::interpreter::Database;
use assay_model::tpcc::{Population, Scale, Table};
use assay_sql::sqlite::gate::Permit;
use assay_sql::sqlite::{
    Connection, Loading, Progress, check_conditions, load_missing, open_for_run, peek_marker, read_marker,
    ready_to_check,
};
use assay_sql::{Journal, SqliteUrl, Synchronous, TroubleKind};
use std::io::{BufRead, BufReader};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[test]
fn one_loader_and_four_load_the_rows_of_the_population() {
    let wanted = sums_of(&Database::from_population(small()));
    for loaders in [1, 4] {
        let bed = Bed::new();
        let marker = bed.load(small(), loaders).unwrap();
        assert!(marker.complete && marker.population == small() && marker.run == "test");
        assert_eq!(bed.sums(), wanted, "{loaders} loaders");
        assert_eq!(check_conditions(&bed.connection(), small()).unwrap(), []);
    }
}

/// After about so many rows the child of the next test stands still, so that it can be killed.
const ROWS: u64 = 500;

/// The child of the test below: loads the file that the environment names, until it has loaded some parts.
#[test]
fn a_load_that_stands_still() {
    let Some(path) = std::env::var_os("ASSAY_TEST_LOADS").map(PathBuf::from) else { return };
    let url = SqliteUrl::new(&path);
    let loading = Loading { url, population: small(), run: "child".into(), loaders: 2, clear: false };
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

/// Starts a load in a process of its own and kills it in the middle. Returns how many rows that load had found.
fn killed(path: &Path) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "loads::a_load_that_stands_still", "--nocapture"])
        .env("ASSAY_TEST_LOADS", path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let found = lines.find_map(|line| line.split_once("stands still, found ").map(|(_, found)| found.parse().unwrap()));
    child.kill().unwrap();
    assert!(!child.wait().unwrap().success(), "it was killed before its end");
    found.unwrap()
}

#[test]
fn a_load_that_is_killed_twice_goes_on_where_it_was() {
    let bed = Bed::new();
    assert_eq!(killed(&bed.path), 0);
    let half = rusqlite::Connection::open(&bed.path).unwrap();
    let parts: i64 = half.query_row("SELECT count(*) FROM assay_parts", [], |row| row.get(0)).unwrap();
    assert!((1..45).contains(&parts), "{parts} of 45 parts");
    drop(half);
    let trouble = bed.connection_trouble();
    assert!(trouble.contains("in part only"), "{trouble}");
    assert!(killed(&bed.path) > 0, "the second load found what the first one left");
    let mut first = None;
    let mut watch = |progress: Progress| {
        first.get_or_insert(progress);
        ControlFlow::Continue(())
    };
    let marker = load_missing(&bed.loading(small(), 1), &mut watch).unwrap();
    assert!(marker.complete && marker.run == "child", "it keeps the name it began with: {marker:?}");
    assert!(first.unwrap().found > 0);
    assert_eq!(bed.sums(), sums_of(&Database::from_population(small())));
}

impl Bed {
    /// What a run would be told of a database that is not loaded in full.
    fn connection_trouble(&self) -> String {
        let opened = open_for_run(&self.url(), None);
        let trouble = opened.unwrap_err();
        assert_eq!(trouble.kind, TroubleKind::NotReady);
        trouble.to_string()
    }
}

#[test]
fn a_load_ends_after_a_part_when_its_caller_wants_it() {
    let bed = Bed::new();
    let mut watch =
        |progress: Progress| if progress.done > 500 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    assert!(!load_missing(&bed.loading(small(), 2), &mut watch).unwrap().complete);
    assert!(bed.load(small(), 1).unwrap().complete);
    assert_eq!(bed.sums(), sums_of(&Database::from_population(small())));
}

/// What stands in the place of our tables, or hangs on them, is not used by any command.
#[test]
fn what_no_load_has_made_is_refused_and_what_is_missing_needs_another_load() {
    let trigger = "CREATE TRIGGER more AFTER INSERT ON orders BEGIN DELETE FROM item; END";
    for (change, load_says, use_kind, use_says) in [
        (trigger, "the trigger more", TroubleKind::Refused, "the trigger more"),
        ("ALTER TABLE stock ADD COLUMN more INTEGER", "the table stock", TroubleKind::Refused, "the table stock"),
        ("DROP TABLE item", "item is missing", TroubleKind::Damaged, "item is missing"),
        (
            "DROP INDEX customer_by_name",
            "customer_by_name is missing",
            TroubleKind::NotReady,
            "customer_by_name is missing",
        ),
    ] {
        let bed = Bed::loaded();
        bed.change(change);
        let before = bed.dump();
        let refused = bed.load(small(), 1).unwrap_err();
        assert!(refused.kind == TroubleKind::Refused && refused.to_string().contains(load_says), "{change}: {refused}");
        for trouble in [
            open_for_run(&bed.url(), None).map(drop).unwrap_err(),
            assay_sql::sqlite::ready_to_check(&bed.url()).map(drop).unwrap_err(),
            assay_sql::sqlite::peek_marker(&bed.url()).map(drop).unwrap_err(),
        ] {
            assert!(trouble.kind == use_kind && trouble.to_string().contains(use_says), "{change}: {trouble}");
        }
        assert_eq!(bed.dump(), before, "{change}: it is left as it is");
    }
    let bed = Bed::loaded();
    bed.change_all("DROP TABLE item; CREATE VIEW item AS SELECT 1 AS i_id");
    let clearing = Loading { clear: true, ..bed.loading(small(), 1) };
    let refused = load_missing(&clearing, &mut |_| ControlFlow::Continue(())).unwrap_err();
    assert!(refused.kind == TroubleKind::Refused && refused.to_string().contains("the view item"), "{refused}");
    bed.change_all("DROP VIEW item; DROP INDEX customer_by_name");
    assert!(load_missing(&clearing, &mut |_| ControlFlow::Continue(())).unwrap().complete);
    assert_eq!(bed.sums(), sums_of(&Database::from_population(small())));
}

#[test]
fn progress_grows_to_the_whole() {
    let bed = Bed::new();
    let mut all = Vec::new();
    let mut watch = |progress: Progress| {
        all.push(progress);
        ControlFlow::Continue(())
    };
    load_missing(&bed.loading(small(), 3), &mut watch).unwrap();
    assert!(all.is_sorted_by_key(|progress| progress.done) && all[0].done == 0);
    let Progress { done, of, found } = *all.last().unwrap();
    assert!(done == of && found == 0 && of > 5_000, "{done} of {of}, {found} found");
}

#[test]
fn a_load_that_fails_says_so_and_goes_on_later() {
    let bed = Bed::new();
    assert!(!load_missing(&bed.loading(small(), 1), &mut |_| ControlFlow::Break(())).unwrap().complete);
    // A row that is in the way of one of the load.
    bed.change("INSERT INTO warehouse VALUES (1, '', '', '', '', '', '', 0, 0)");
    let trouble = bed.load(small(), 3).unwrap_err();
    assert!(trouble.kind == TroubleKind::Host && trouble.to_string().contains("UNIQUE constraint failed"), "{trouble}");
    bed.change("DELETE FROM warehouse");
    assert!(bed.load(small(), 3).unwrap().complete);
    assert_eq!(bed.sums(), sums_of(&Database::from_population(small())));
}

#[test]
fn a_whole_load_is_left_as_it_is_and_another_one_needs_clear() {
    let bed = Bed::loaded();
    bed.change("UPDATE warehouse SET w_name = 'kept'");
    let before = bed.sums();
    assert!(bed.load(small(), 1).unwrap().complete);
    assert_eq!(bed.sums(), before, "it is not loaded again");
    let other = Population::new(small().row_scale(), 1, 6);
    let refused = bed.load(other, 1).unwrap_err();
    assert!(refused.kind == TroubleKind::Refused && refused.to_string().contains("--clear"), "{refused}");
    assert_eq!(bed.sums(), before);
    bed.change("CREATE TABLE mine (x)");
    let loading = Loading { clear: true, ..bed.loading(other, 2) };
    assert!(load_missing(&loading, &mut |_| ControlFlow::Continue(())).unwrap().complete);
    assert_eq!(bed.sums(), sums_of(&Database::from_population(other)));
    assert_eq!(bed.change("INSERT INTO mine VALUES (1)"), 1, "a table that is not ours is still there");
}

/// The servers refuse this too, because what others have made would be lost or could not be used any more.
#[test]
fn what_depends_on_our_tables_keeps_them_from_being_cleared() {
    for (made, name) in [
        ("CREATE TRIGGER theirs AFTER UPDATE ON stock BEGIN SELECT 1; END", "theirs"),
        ("CREATE TRIGGER theirs AFTER INSERT ON Customer BEGIN SELECT 1; END", "theirs"),
        ("CREATE VIEW theirs AS SELECT w_name FROM warehouse", "theirs"),
        ("CREATE VIEW \"the \"\"irs\" AS SELECT count(*) AS n FROM (SELECT * FROM main.item)", "the \"irs"),
        ("CREATE TABLE theirs (item REFERENCES item (i_id))", "theirs"),
    ] {
        let bed = Bed::loaded();
        bed.change("CREATE VIEW broken AS SELECT x FROM nowhere");
        bed.change("CREATE VIEW alone AS SELECT 1");
        bed.change(made);
        let schema = || -> Vec<String> {
            let sqlite = rusqlite::Connection::open(&bed.path).unwrap();
            let mut all = sqlite.prepare("SELECT coalesce(sql, name) FROM sqlite_schema ORDER BY 1").unwrap();
            all.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
        };
        let (before, sums) = (schema(), bed.sums());
        let loading = Loading { clear: true, ..bed.loading(Population::new(small().row_scale(), 1, 6), 2) };
        let refused = load_missing(&loading, &mut |_| ControlFlow::Continue(())).unwrap_err();
        assert!(
            refused.kind == TroubleKind::Refused && refused.to_string().ends_with(&format!("({name})")),
            "{refused}"
        );
        assert_eq!((schema(), bed.sums()), (before, sums), "{made}");
        let kind = made.split(' ').nth(1).unwrap();
        bed.change(&format!("DROP {kind} \"{}\"", name.replace('"', "\"\"")));
        assert!(load_missing(&loading, &mut |_| ControlFlow::Continue(())).unwrap().complete, "{made}");
    }
}

/// The journal is a property of the file.
#[test]
fn a_check_leaves_the_journal_as_it_is() {
    let bed = Bed::loaded();
    let mode = |sqlite: &rusqlite::Connection| -> String {
        sqlite.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap()
    };
    for journal in ["wal", "delete"] {
        let sqlite = rusqlite::Connection::open(&bed.path).unwrap();
        sqlite.pragma_update(None, "journal_mode", journal).unwrap();
        drop(sqlite);
        let (_, connection, marker) = ready_to_check(&bed.url()).unwrap();
        assert_eq!(check_conditions(&connection, marker.population).unwrap(), []);
        assert_eq!(connection.current_settings().journal_mode, journal);
        drop(connection);
        assert_eq!(mode(&rusqlite::Connection::open(&bed.path).unwrap()), journal);
    }
    let named = SqliteUrl { journal_mode: Some(Journal::Wal), ..bed.url() };
    assert_eq!(ready_to_check(&named).unwrap().1.current_settings().journal_mode, "wal", "what the URL names is made");
}

/// What a refusal leaves: the same bytes, and no file more.
fn refused(path: &Path, kind: TroubleKind, says: &str) {
    let before = std::fs::read(path).ok();
    let names = || {
        let mut names: Vec<_> =
            std::fs::read_dir(path.parent().unwrap()).unwrap().map(|it| it.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let (there, url) = (names(), SqliteUrl::new(path));
    for clear in [false, true] {
        let loading = Loading { url: url.clone(), population: small(), run: "x".into(), loaders: 1, clear };
        let trouble = load_missing(&loading, &mut |_| ControlFlow::Continue(())).unwrap_err();
        assert!(trouble.kind == kind && trouble.to_string().contains(says), "{says}: {trouble}");
    }
    assert_eq!((std::fs::read(path).ok(), names()), (before, there));
}

#[test]
fn what_is_not_ours_is_refused_and_left_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    std::fs::write(at("letter"), "Dear Sir").unwrap();
    refused(&at("letter"), TroubleKind::Refused, "is not a database");
    std::fs::write(at("long"), [7; 5_000]).unwrap();
    refused(&at("long"), TroubleKind::Refused, "is not a database");
    let foreign = rusqlite::Connection::open(at("foreign.db")).unwrap();
    foreign
        .execute_batch("PRAGMA journal_mode=wal; CREATE TABLE warehouse (w_id); INSERT INTO warehouse VALUES (1);")
        .unwrap();
    drop(foreign);
    refused(&at("foreign.db"), TroubleKind::Refused, "a database of something else");
    std::os::unix::fs::symlink(at("foreign.db"), at("link")).unwrap();
    refused(&at("link"), TroubleKind::Refused, "symbolic link");
    std::os::unix::fs::symlink(at("nowhere"), at("dangling")).unwrap();
    refused(&at("dangling"), TroubleKind::Refused, "symbolic link");
    assert!(!at("nowhere").exists());
    std::fs::create_dir(at("directory")).unwrap();
    refused(&at("directory"), TroubleKind::Refused, "is a directory");
    std::fs::write(at("two"), "").unwrap();
    std::fs::hard_link(at("two"), at("names")).unwrap();
    refused(&at("two"), TroubleKind::Refused, "2 names");
    rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    let trouble = Permit::to_load(&at("pipe")).unwrap_err();
    assert!(trouble.to_string().contains("not a regular file"), "{trouble}");
    let trouble = Permit::to_load(&at("no/such/directory.db")).unwrap_err();
    assert!(trouble.kind == TroubleKind::Host && trouble.to_string().contains("create it first"), "{trouble}");
}

/// Its header says that it is ours, and nothing else in it does.
#[test]
fn a_file_without_a_marker_is_left_as_it_is_to_the_byte() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("imitated.db");
    let imitated = rusqlite::Connection::open(&path).unwrap();
    imitated.execute_batch("PRAGMA application_id = 1098085475; CREATE TABLE letters (text);").unwrap();
    drop(imitated);
    let before = std::fs::read(&path).unwrap();
    let (url, population) = (SqliteUrl::new(&path), small());
    for clear in [false, true] {
        let loading = Loading { url: url.clone(), population, run: "other".into(), loaders: 1, clear };
        let trouble = load_missing(&loading, &mut |_| ControlFlow::Continue(())).unwrap_err();
        assert!(trouble.kind == TroubleKind::Refused && trouble.to_string().contains("no marker"), "{trouble}");
    }
    assert_eq!(open_for_run(&url, None).unwrap_err().kind, TroubleKind::Refused);
    assert!(std::fs::read(&path).unwrap() == before, "its bytes have changed");
}

#[test]
fn a_journal_of_another_database_is_not_played_back() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("shop.db");
    for (end, empty) in [("-journal", false), ("-wal", false), ("-shm", true)] {
        let beside = dir.path().join(format!("shop.db{end}"));
        std::fs::write(&beside, "of somebody").unwrap();
        if empty {
            std::fs::write(&path, "").unwrap();
        }
        refused(&path, TroubleKind::Refused, "belongs to another database");
        std::fs::remove_file(beside).unwrap();
    }
}

/// SQLite writes to these files without asking what they are.
#[test]
fn a_link_beside_a_database_is_refused_and_what_it_leads_to_is_left_as_it_is() {
    let bed = Bed::loaded();
    let victim = bed.path.with_file_name("victim");
    std::fs::write(&victim, "of somebody").unwrap();
    let link = |path: &Path| std::os::unix::fs::symlink(&victim, path);
    let hard = |path: &Path| std::fs::hard_link(&victim, path);
    let directory = |path: &Path| std::fs::create_dir(path);
    type Make<'a> = &'a dyn Fn(&Path) -> std::io::Result<()>;
    let ways: [(Make<'_>, &str); 3] =
        [(&link, "is a symbolic link"), (&hard, "has 2 names (hard links)"), (&directory, "is not a regular file")];
    for end in ["-journal", "-wal", "-shm"] {
        let beside = bed.path.with_file_name(format!("shop.db{end}"));
        for (make, says) in ways {
            make(&beside).unwrap();
            let says = format!("shop.db{end} {says}, and SQLite would write to it");
            refused(&bed.path, TroubleKind::Refused, &says);
            let url = bed.url();
            for trouble in [
                open_for_run(&url, None).unwrap_err(),
                ready_to_check(&url).unwrap_err(),
                peek_marker(&url).unwrap_err(),
            ] {
                assert!(
                    trouble.kind == TroubleKind::Refused && trouble.to_string().contains(&says),
                    "{says}: {trouble}"
                );
            }
            assert_eq!(std::fs::read_to_string(&victim).unwrap(), "of somebody", "{says}");
            std::fs::remove_file(&beside).or_else(|_| std::fs::remove_dir(&beside)).unwrap();
        }
    }
    assert!(open_for_run(&bed.url(), None).is_ok());
}

#[test]
fn an_empty_file_is_filled() {
    let bed = Bed::new();
    std::fs::write(&bed.path, "").unwrap();
    let trouble = Permit::to_use(&bed.path).unwrap_err();
    assert!(trouble.kind == TroubleKind::NotReady && trouble.to_string().contains("is empty"), "{trouble}");
    assert!(bed.load(small(), 1).unwrap().complete);
}

#[test]
fn a_file_without_a_marker_of_ours_is_refused() {
    for (spoil, says) in [
        ("DROP TABLE assay_tpcc", "no marker"),
        ("DELETE FROM assay_tpcc", "not exactly one marker"),
        ("INSERT INTO assay_tpcc SELECT * FROM assay_tpcc", "not exactly one marker"),
        ("UPDATE assay_tpcc SET items = 7", "no load wrote"),
        ("UPDATE assay_tpcc SET warehouses = -1", "no load wrote"),
    ] {
        let bed = Bed::loaded();
        bed.change(spoil);
        let before = bed.sums();
        let trouble = bed.load(small(), 1).unwrap_err();
        assert!(trouble.kind == TroubleKind::Refused && trouble.to_string().contains(says), "{spoil}: {trouble}");
        assert_eq!(bed.sums(), before);
    }
}

#[test]
fn another_assay_is_kept_out_while_one_works() {
    let bed = Bed::loaded();
    let session = bed.session();
    for trouble in [Permit::to_use(&bed.path).unwrap_err(), Permit::to_load(&bed.path).unwrap_err()] {
        assert!(
            trouble.kind == TroubleKind::Refused && trouble.to_string().contains("in use by another Assay"),
            "{trouble}"
        );
    }
    drop(session);
    assert!(Permit::to_use(&bed.path).is_ok());
}

#[test]
fn settings_are_made_and_read_back() {
    let bed = Bed::loaded();
    let permit = bed.permit();
    for (journal, synchronous, weak) in [
        (Journal::Wal, Synchronous::Full, 0),
        (Journal::Delete, Synchronous::Extra, 0),
        (Journal::Memory, Synchronous::Normal, 2),
        (Journal::Wal, Synchronous::Off, 1),
    ] {
        let url = SqliteUrl { journal_mode: Some(journal), synchronous: Some(synchronous), ..bed.url() };
        let connection = Connection::open_permitted(&permit, &url).unwrap();
        let settings = connection.current_settings();
        assert_eq!(
            (settings.journal_mode.as_str(), settings.synchronous.as_str()),
            (journal.word(), synchronous.word())
        );
        let weak = weak + usize::from(settings.in_memory);
        assert_eq!(settings.not_durable().len(), weak, "{:?}", settings.not_durable());
        assert_eq!(settings.page_size, 4096);
    }
}

#[test]
fn a_warehouse_of_the_standards_size_has_the_standards_rows() {
    let bed = Bed::new();
    let population = Population::new(Scale::STANDARD, 1, 1);
    assert!(bed.load(population, 2).unwrap().complete);
    let sqlite = rusqlite::Connection::open(&bed.path).unwrap();
    let count = |table: Table| {
        let sql = format!("SELECT count(*) FROM {}", table.table_name());
        sqlite.query_row(&sql, [], |row| row.get::<_, i64>(0)).unwrap()
    };
    let counts = Table::ALL.map(count);
    assert_eq!(counts[..8], [1, 10, 30_000, 30_000, 100_000, 100_000, 30_000, 9_000]);
    assert!((295_000..305_000).contains(&counts[8]), "{} order lines", counts[8]);
    let connection = bed.connection();
    assert_eq!(check_conditions(&connection, population).unwrap(), []);
    assert_eq!(read_marker(&connection).unwrap().population, population);
}
