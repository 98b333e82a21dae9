//! What others do on a server while a run goes on: they hold locks, cause deadlocks, and end sessions.

use super::bed::{Log, Place, Running};
use super::mariadb;
use super::server::Served;
use super::shop::{done, in_one_line};
use assay_model::tpcc::TransactionKind;

/// Three sessions for so many seconds.
fn begun(place: &Place, url: &str, seconds: &str) -> Running {
    place.start(&["run", "closed.toml", url, "--warm-up", "0s", "--for", seconds, "--slice", seconds], 1)
}

/// How often transactions of all kinds were tried again because of a code.
fn retried(log: &Log, code: &str) -> u64 {
    TransactionKind::ALL.into_iter().map(|kind| done(log, kind, &format!("retried {code}")).1).sum()
}

/// Asserts that what the log counts is what the database holds, although transactions were tried again.
fn adds_up(log: &Log, before: (u64, u64), after: (u64, u64)) {
    let (orders, undone) = done(log, TransactionKind::NewOrder, "rolled-back");
    let (payments, _) = done(log, TransactionKind::Payment, "");
    assert_eq!((after.0 - before.0, after.1 - before.1), (orders - undone, payments));
    let failed: Vec<_> = log.intervals.iter().flat_map(|it| &it.flows).filter(|flow| !flow.errors.is_empty()).collect();
    assert!(failed.is_empty(), "{failed:?}");
    assert!(log.events.iter().any(|event| event.what == "checked"), "{:?}", log.events);
}

/// Locks the districts, waits for a payment, which has locked the warehouse and waits for its district, and asks for the
/// warehouse. Says whether a payment came in time.
///
/// The server looks for a deadlock once in each wait, a second after it began. It ends the payment if this session waits for
/// the warehouse by then, and then the next payment, which had waited for the warehouse too. Where this session was late, it
/// is ended itself, and another attempt is made.
const CROSSED: &str = "
    SET deadlock_timeout = '3s';
    BEGIN;
    UPDATE assay_tpcc.district SET d_street_1 = d_street_1;
    DO $$ BEGIN
        PERFORM set_config('assay.waits', 'no', true);
        FOR attempt IN 1 .. 50 LOOP
            IF EXISTS (
                SELECT FROM pg_locks AS waits JOIN pg_locks AS holds USING (pid)
                WHERE waits.locktype = 'transactionid' AND NOT waits.granted
                    AND waits.transactionid = pg_current_xact_id()::xid
                    AND holds.relation = 'assay_tpcc.warehouse'::regclass AND holds.mode = 'RowExclusiveLock'
            ) THEN
                PERFORM set_config('assay.waits', 'yes', true);
                EXIT;
            END IF;
            PERFORM pg_sleep(0.01);
        END LOOP;
    END $$;
    UPDATE assay_tpcc.warehouse SET w_street_1 = w_street_1;
    SHOW assay.waits;
    ROLLBACK;";

#[test]
fn a_deadlock_on_postgresql_is_tried_again_and_counted() {
    // A sync that takes a second would make this session late.
    let Some(served) = Served::new("-c fsync=off") else { return };
    let before = served.sums();
    let mut running = begun(&served.place, &served.url, "12s");
    served.place.write("crossed.sql", CROSSED);
    let script = served.place.path("crossed.sql");
    let crossed = || {
        let said = served.psql(&["-f", script.to_str().unwrap()]).output().unwrap();
        said.status.success() && String::from_utf8_lossy(&said.stdout).contains("yes")
    };
    while !crossed() {
        assert!(running.is_alive(), "no payment came in time");
    }
    let said = running.end();
    assert!(said.passed_or_late(), "{said:?}");
    let log = Log::of(&served.place.path("run"));
    assert!(retried(&log, "40P01") > 0, "{said:?}");
    assert!(in_one_line(&said.out).contains("retried 40P01"), "{said:?}");
    adds_up(&log, before, served.sums());
}

#[test]
fn a_session_that_somebody_ends_on_postgresql_fails_the_run_by_its_code() {
    let Some(served) = Served::new("-c fsync=off") else { return };
    let before = served.sums();
    let mut running = begun(&served.place, &served.url, "3s");
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
               WHERE application_name = 'assay' AND backend_xid IS NOT NULL LIMIT 1";
    while served.ask(end) != "t" {
        assert!(running.is_alive(), "no session wrote");
    }
    let said = running.end();
    assert_eq!(said.is_of_verdict(&served.place.path("run")), "FAIL", "{said:?}");
    let log = Log::of(&served.place.path("run"));
    let flows = || log.intervals.iter().flat_map(|it| &it.flows);
    let codes: Vec<&str> = flows().flat_map(|flow| flow.errors.keys().map(String::as_str)).collect();
    let known = ["57P01", "connection-lost", "outcome-unknown"];
    assert!(!codes.is_empty() && codes.iter().all(|code| known.contains(code)), "{codes:?}");
    let text = in_one_line(&said.out);
    assert!(codes.iter().all(|code| text.contains(code)), "{codes:?}: {text}");
    let unknown = |kind: TransactionKind| -> u64 {
        log.intervals.iter().filter_map(|it| it.flows[kind as usize].errors.get("outcome-unknown")).sum()
    };
    let after = served.sums();
    let (orders, undone) = done(&log, TransactionKind::NewOrder, "rolled-back");
    let (payments, _) = done(&log, TransactionKind::Payment, "");
    for (rose, committed, unknown) in [
        (after.0 - before.0, orders - undone, unknown(TransactionKind::NewOrder)),
        (after.1 - before.1, payments, unknown(TransactionKind::Payment)),
    ] {
        assert!((committed..=committed + unknown).contains(&rose), "{rose} and {committed}");
    }
    assert!(log.events.iter().any(|event| event.what == "checked"), "{:?}", log.events);
}

/// Somebody locks the districts for longer than the sessions wait.
const HELD: &str = "SET innodb_lock_wait_timeout = 50; START TRANSACTION; UPDATE shop.district SET d_street_1 = 'held'; \
                    DO SLEEP(2); ROLLBACK";

/// Somebody locks the districts and then wants the warehouse. The server ends the session that has changed fewer rows.
const MANY: &str = "SET innodb_lock_wait_timeout = 50; START TRANSACTION; UPDATE shop.district SET d_street_1 = 'held'; \
                    UPDATE shop.stock SET s_ytd = s_ytd + 1 WHERE s_i_id <= 2000; DO SLEEP(0.3); \
                    UPDATE shop.warehouse SET w_street_1 = 'held'; ROLLBACK";

#[test]
fn locks_that_take_too_long_and_deadlocks_on_mariadb_are_tried_again_and_counted() {
    let Some(served) = mariadb::Served::new("--innodb-flush-method=nosync --innodb-lock-wait-timeout=1") else {
        return;
    };
    let before = served.sums();
    let mut running = begun(&served.place, &served.url_with_file(), "7s");
    served.ask(HELD);
    let deadlocks = || served.ask("SHOW GLOBAL STATUS LIKE 'Innodb_deadlocks'");
    let crossed = || {
        let earlier = deadlocks();
        served.server.client(&["-e", MANY]).output().unwrap().status.success() && deadlocks() != earlier
    };
    while !crossed() {
        assert!(running.is_alive(), "no payment came in time");
    }
    let said = running.end();
    assert!(said.passed_or_late(), "{said:?}");
    let log = Log::of(&served.place.path("run"));
    for code in ["1205", "1213"] {
        assert!(retried(&log, code) > 0 && in_one_line(&said.out).contains(&format!("retried {code}")), "{said:?}");
    }
    adds_up(&log, before, served.sums());
}
