//! What decides the verdict beside times: conditions, foreign hands, errors, settings.

use super::bed::{Log, Place};
use super::shop::{DB, FAST, in_one_line, run, shop, somebody};
use super::small::Small;

/// A payment of a cent by somebody else, after which all conditions hold.
const PAYMENT: &str = "BEGIN IMMEDIATE;
    UPDATE warehouse SET w_ytd = w_ytd + 1 WHERE w_id = 1;
    UPDATE district SET d_ytd = d_ytd + 1 WHERE d_w_id = 1 AND d_id = 1;
    UPDATE customer SET c_balance = c_balance - 1, c_ytd_payment = c_ytd_payment + 1, c_payment_cnt = c_payment_cnt + 1
        WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 1;
    INSERT INTO history SELECT 1, 1, 1, 1, 1, 0, 1, 'x';
    COMMIT;";

#[test]
fn somebody_else_who_writes_during_the_run_makes_it_invalid() {
    let place = shop();
    let running = place.start(&run("open.toml", FAST, &[]), 2);
    somebody(&place).execute_batch(PAYMENT).unwrap();
    let said = running.end();
    assert_eq!(said.is_of_verdict(&place.path("run")), "INVALID", "{said:?}");
    let text = in_one_line(&said.out);
    assert!(
        text.contains("somebody else wrote to the database during the run: the sum of C_PAYMENT_CNT rose by"),
        "{text}"
    );
    assert_eq!(place.assay(&["check", DB]).code, Some(0), "its conditions hold");
    let again = place.assay(&run("open.toml", FAST, &["--out", "again"]));
    assert!(again.passed_or_late(), "alone on it the next run passes: {again:?}");
}

#[test]
fn a_condition_that_does_not_hold_after_the_run_fails_it() {
    let place = shop();
    let change = "UPDATE customer SET c_balance = 7 WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 1";
    assert_eq!(somebody(&place).execute(change, []), Ok(1));
    let (said, log) = place.run(&run("open.toml", DB, &[]));
    assert_eq!(said.is_of_verdict(&place.path("run")), "FAIL", "{said:?}");
    let broken: Vec<&str> =
        log.events.iter().filter(|event| event.what == "condition-broken").map(|event| event.text.as_str()).collect();
    assert!(broken[0].starts_with("condition 10: C_BALANCE"), "{broken:?}");
    assert!(said.out.contains("condition 10"), "{}", said.out);
    let unchecked = place.assay(&run("open.toml", FAST, &["--no-check", "--out", "unchecked"]));
    assert!(unchecked.passed_or_late(), "{unchecked:?}");
    assert!(in_one_line(&unchecked.out).contains("UNCHECKED: what the run left"), "{unchecked:?}");
}

#[test]
fn a_row_that_is_missing_is_an_error_with_its_name() {
    let place = shop();
    let gone = somebody(&place).execute("DELETE FROM stock WHERE s_i_id > 50000", []).unwrap();
    assert_eq!(gone, 50_000);
    let (said, log) = place.run(&run("open.toml", DB, &[]));
    assert_eq!(said.is_of_verdict(&place.path("run")), "FAIL", "{said:?}");
    assert!(log.intervals.iter().any(|it| it.flows[0].errors.contains_key("missing-row")), "{said:?}");
}

#[test]
fn a_commit_that_may_be_lost_marks_the_result() {
    let place = shop();
    for (options, mark) in [
        ("?synchronous=off", "NOT DURABLE: synchronous=off"),
        ("?synchronous=normal", "NOT DURABLE: synchronous=normal"),
        ("?journal_mode=memory", "NOT DURABLE: journal_mode=memory"),
    ] {
        let url = format!("{DB}{options}");
        let said = place.assay(&run("open.toml", &url, &["--json", "--out", &options[1..]]));
        let marks = said.json()["watermarks"].to_string();
        assert!(marks.contains(mark), "{options}: {marks}");
    }
    let full = place.assay(&run("open.toml", DB, &["--json", "--out", "full"]));
    let json = full.json();
    assert_eq!(json["databases"][0]["settings"]["synchronous"], "full");
    assert!(!json["watermarks"].to_string().contains("NOT DURABLE"), "{}", json["watermarks"]);
}

/// A file system in memory of a size, in the directory `small`.
fn small(place: &Place, size: &str) -> Option<Small> {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root may mount a small file system");
        return None;
    }
    std::fs::create_dir(place.path("small")).unwrap();
    Some(Small::mount(&place.path("small"), &format!("size={size}")))
}

#[test]
fn a_full_disk_fails_the_run_by_its_name() {
    let place = shop();
    // Some fifty transactions fill what is left, which any machine carries in four seconds.
    let room = std::fs::metadata(place.path("shop.db")).unwrap().len() + (2 << 20);
    let Some(_small) = small(&place, &room.to_string()) else { return };
    std::fs::copy(place.path("shop.db"), place.path("small/shop.db")).unwrap();
    let (said, log) = place.run(&run("closed.toml", "sqlite:small/shop.db", &[]));
    assert_eq!(said.is_of_verdict(&place.path("run")), "FAIL", "{said:?}");
    let full: u64 =
        log.intervals.iter().flat_map(|it| &it.flows).filter_map(|flow| flow.errors.get("SQLITE_FULL")).sum();
    assert!(full > 0, "{said:?}");
    let text = in_one_line(&said.out);
    assert!(text.contains("SQLITE_FULL") && text.contains("a run with failed operations never passes"), "{text}");
    let marks = log.header.watermarks.join(" ");
    assert!(marks.contains("NOT DURABLE: the file is on a file system in memory"), "{marks}");
}

#[test]
fn a_disk_that_is_not_found_below_a_database_is_told_and_can_be_named() {
    let place = shop();
    let Some(_small) = small(&place, "150m") else { return };
    std::fs::copy(place.path("shop.db"), place.path("small/shop.db")).unwrap();
    for (more, known) in [(&["--out", "absent"][..], false), (&["--out", "named", "--disk", "."], true)] {
        let short = ["run", "open.toml", "sqlite:small/shop.db", "--warm-up", "0s", "--for", "1s", "--slice", "1s"];
        let said = place.assay(&[&short[..], more].concat());
        assert_eq!(in_one_line(&said.out).contains("name it with --disk"), !known, "{said:?}");
        let log = Log::of(&place.path(more[1]));
        let disks: Vec<&str> = log.header.meters.iter().map(|meter| meter.holds.as_str()).collect();
        assert_eq!(disks, if known { vec!["the database, as --disk says"] } else { vec![] });
    }
}

#[test]
fn the_settings_at_the_end_are_those_of_its_own_sessions() {
    let place = shop();
    let running = place.start(&run("open.toml", FAST, &[]), 2);
    somebody(&place).pragma_update(None, "wal_autocheckpoint", 7).unwrap();
    let said = running.end();
    // It is a setting of that connection alone.
    said.is_of_verdict(&place.path("run"));
    assert!(said.passed_or_late(), "{said:?}");
    let log = Log::of(&place.path("run"));
    let settings = log.events.iter().find(|event| event.what == "settings").unwrap();
    assert_eq!(settings.details["wal_autocheckpoint"], "1000");
    assert!(settings.details["bytes"].parse::<u64>().unwrap() > 50_000_000);
}

#[test]
fn a_transaction_that_met_somebody_elses_lock_again_and_again_proves_nothing() {
    let place = shop();
    let running = place.start(&run("open.toml", FAST, &[]), 2);
    let holder = somebody(&place);
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let said = running.end();
    holder.execute_batch("ROLLBACK").unwrap();
    assert_eq!(said.is_of_verdict(&place.path("run")), "INVALID", "{said:?}");
    assert!(in_one_line(&said.out).contains("somebody else held a lock on"), "{said:?}");
    let log = Log::of(&place.path("run"));
    let flows = || log.intervals.iter().flat_map(|it| &it.flows);
    assert!(flows().any(|flow| flow.errors.contains_key("SQLITE_BUSY")), "{said:?}");
    let failed: u64 = flows().filter_map(|flow| flow.errors.get("SQLITE_BUSY")).sum();
    let again: u64 = flows().filter_map(|flow| flow.counted.get("retried SQLITE_BUSY")).sum();
    assert!(again >= 10 * failed, "each was repeated ten times: {again} for {failed}");
}
