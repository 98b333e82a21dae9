//! Several databases in one run: each gets the load, is counted and checked for itself, and a fault names its database.

use super::bed::{Log, Place};
use super::shop::{DB, FAST, SHORT, in_one_line, shop, sums_of};
use assay_model::tpcc::TransactionKind;

const SECOND: &str = "sqlite:second.db?synchronous=off";

/// A shop with a second database of the same load.
fn two() -> Place {
    let place = shop();
    std::fs::copy(place.path("shop.db"), place.path("second.db")).unwrap();
    place
}

fn run<'a>(workload: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["run", workload, FAST, SECOND][..], &SHORT[..], more].concat()
}

/// Completed transactions of a kind on a target, and those counted under a name.
fn done(log: &Log, kind: TransactionKind, target: usize, name: &str) -> (u64, u64) {
    let own = || log.intervals.iter().map(|interval| &interval.flows[kind as usize * 2 + target]);
    (own().map(|flow| flow.ok).sum(), own().filter_map(|flow| flow.counted.get(name)).sum())
}

#[test]
fn each_of_two_gets_the_load_and_holds_what_the_log_counts_for_it() {
    for workload in ["open.toml", "closed.toml"] {
        let place = two();
        let before = ["shop.db", "second.db"].map(|file| sums_of(&place.path(file)));
        let (said, log) = place.run(&run(workload, &["--json"]));
        said.is_of_verdict(&place.path("run"));
        assert!(said.passed_or_late(), "{said:?}");
        for (target, file) in ["shop.db", "second.db"].into_iter().enumerate() {
            let after = sums_of(&place.path(file));
            let (orders, undone) = done(&log, TransactionKind::NewOrder, target, "rolled-back");
            let (payments, _) = done(&log, TransactionKind::Payment, target, "");
            assert!(payments > 10, "{workload}: {file} was used");
            let rose = (after.0 - before[target].0, after.1 - before[target].1);
            assert_eq!(rose, (orders - undone, payments), "{workload}: {file}");
        }
        // Their numbers may be equal by chance, and what was paid, in cents, is not.
        let paid = ["shop.db", "second.db"].map(|file| {
            let connection = rusqlite::Connection::open(place.path(file)).unwrap();
            connection.query_row("SELECT sum(w_ytd) FROM warehouse", [], |row| row.get::<_, i64>(0)).unwrap()
        });
        assert_ne!(paid[0], paid[1], "they are not asked for the same");
        let json = said.json();
        for (target, url) in [(0, DB), (1, "sqlite:second.db")] {
            let database = &json["databases"][target];
            assert_eq!((&database["url"], &database["checked"]), (&url.into(), &"all 17 conditions hold".into()));
            assert_eq!(database["settings_at_end"]["synchronous"], "off");
            assert_eq!(database["settings_at_end"]["target"], serde_json::Value::Null);
        }
        let constants = |target: usize| json["databases"][target]["constants"].to_string();
        assert_ne!(constants(0), constants(1));
        let minutes = &json["per_minute"][0];
        let on = |target: usize| minutes["targets"][target].as_f64().unwrap();
        assert!(on(0) > 0.0 && on(1) > 0.0, "{minutes}");
        assert!((on(0) + on(1) - minutes["value"].as_f64().unwrap()).abs() < 1e-6, "{minutes}");
        let shown = in_one_line(&place.assay(&["judge", "run"]).out);
        assert!(shown.contains("sqlite:second.db: NOPM") && shown.contains(&format!("{DB}: NOPM")), "{shown}");
        let page = std::fs::read_to_string(place.path("run/report.html")).unwrap();
        assert!(page.contains("NOPM on sqlite:second.db") && page.contains("Table of sqlite:second.db"));
        assert!(!page.contains("0 B written"), "transactions move no bytes that could be counted");
        let told = place.assay(&["export", "run", "--to", "markdown"]).out;
        assert!(told.contains("- on sqlite:second.db: NOPM ") && !told.contains("0 bytes"), "{told}");
        assert!(!log.events.iter().any(|event| event.what == "disturbed"), "{:?}", log.events);
    }
}

#[test]
fn what_is_wrong_with_one_of_them_names_it() {
    let place = two();
    let change = "UPDATE customer SET c_balance = 7 WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 1";
    assert_eq!(rusqlite::Connection::open(place.path("second.db")).unwrap().execute(change, []), Ok(1));
    let said = place.assay(&run("open.toml", &["--json", "--out", "run"]));
    assert_eq!(said.is_of_verdict(&place.path("run")), "FAIL", "{said:?}");
    let json = said.json();
    assert_eq!(json["databases"][0]["checked"], "all 17 conditions hold");
    assert!(json["databases"][1]["checked"].as_str().unwrap().contains("broken in"), "{json}");
    assert!(json["reason"].as_str().unwrap().contains("sqlite:second.db: condition 10"), "{}", json["reason"]);
}

#[test]
fn a_run_on_two_that_was_interrupted_goes_on_with_both() {
    let place = two();
    let args = run("open.toml", &[]);
    let running = place.start(&args, 3);
    running.signal(libc::SIGINT);
    let said = running.end();
    assert_eq!(said.is_of_verdict(&place.path("run")), "INCOMPLETE", "{said:?}");
    let other = place.assay(&[&["run", "open.toml", FAST][..], &SHORT[..], &["--resume", "run"]].concat());
    assert!(other.code == Some(2) && other.err.contains("holds another run"), "{other:?}");
    let done = place.assay(&[&args[..], &["--resume", "run"]].concat());
    done.is_of_verdict(&place.path("run"));
    assert!(done.passed_or_late(), "{done:?}");
    let log = Log::of(&place.path("run"));
    assert_eq!(log.events.iter().filter(|event| event.what == "checked").count(), 2);
}

#[test]
fn explain_says_what_each_of_them_gets() {
    let place = two();
    let said = place.assay(&["explain", "tpcc", FAST, SECOND]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let text = in_one_line(&said.out);
    assert!(text.contains("on each of 2 databases: 0.476 transactions a second"), "{text}");
    assert!(text.contains("0.429/s") && text.contains("each database has 1 warehouse"), "{text}");
}

#[test]
fn what_cannot_be_driven_together_is_refused() {
    let place = two();
    std::fs::write(place.path("f.dat"), [0; 4096]).unwrap();
    let three = place.assay(&["prep", "sqlite:three.db", "--warehouses", "2"]);
    assert_eq!(three.code, Some(0), "{three:?}");
    for (targets, more, code, says) in [
        ("sqlite:shop.db sqlite:shop.db", "", 2, "sqlite:shop.db is named twice"),
        ("sqlite:shop.db f.dat", "", 2, "databases or other targets"),
        (
            "sqlite:shop.db sqlite:three.db",
            "",
            2,
            "sqlite:shop.db was loaded with 1 and sqlite:three.db with 2 warehouses",
        ),
        ("sqlite:shop.db sqlite:second.db", "--verify", 2, "--verify is for a run on one database"),
        ("sqlite:shop.db sqlite:second.db", "--crash-test", 2, "--crash-test is for a run on one database"),
        ("sqlite:shop.db sqlite:none.db", "", 11, "does not exist"),
    ] {
        let mut args = vec!["run", "open.toml"];
        args.extend(targets.split(' '));
        args.extend(more.split_whitespace());
        let said = place.assay(&args);
        assert_eq!(said.code, Some(code), "{targets} {more}: {said:?}");
        assert!(said.err.contains(says), "{targets} {more}: {}", said.err);
    }
}
