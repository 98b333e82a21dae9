//! Runs that are cut short: by a signal, by kill -9, in the background; and how they go on.

use super::bed::{Log, until};
use super::shop::{DB, FAST, in_one_line, run, shop};

/// What is said if the sums of a run that was cut short rose by what it committed.
const ALONE: &str = "nobody else wrote to it until the run was cut short";

const LONG: [&str; 6] = ["--warm-up", "1s", "--for", "6s", "--slice", "2s"];

fn long<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["run", "open.toml", FAST][..], &LONG[..], more].concat()
}

#[test]
fn after_a_signal_transactions_end_and_the_run_goes_on() {
    let place = shop();
    let running = place.start(&long(&[]), 3);
    running.signal(libc::SIGINT);
    let said = running.end();
    assert_eq!(said.is_of_verdict(&place.path("run")), "INCOMPLETE", "{said:?}");
    let log = Log::of(&place.path("run"));
    let last = log.intervals.last().unwrap();
    assert!(last.flows.iter().all(|flow| flow.in_flight == 0 && flow.errors.is_empty()), "{last:?}");
    let told = log.events.iter().any(|event| event.text.contains("was not checked: assay check does it"));
    assert!(told, "{:?}", log.events);
    assert!(log.events.iter().any(|event| event.text == ALONE), "{:?}", log.events);
    assert_eq!(place.assay(&["check", DB]).code, Some(0));
    let other = place.assay(&["run", "closed.toml", DB, "--resume", "run"]);
    assert!(other.code == Some(2) && other.err.contains("holds another run"), "{other:?}");
    let done = place.assay(&long(&["--resume", "run"]));
    done.is_of_verdict(&place.path("run"));
    assert!(done.passed_or_late(), "{done:?}");
    let log = Log::of(&place.path("run"));
    assert!(log.events.iter().any(|event| event.text.contains("conditions hold")), "{:?}", log.events);
    assert!(!done.out.contains("UNCOMPARED"), "{done:?}");
}

/// A part that is continued does not forgive what somebody else did to the part before.
#[test]
fn what_others_wrote_before_a_signal_is_not_forgiven() {
    let place = shop();
    let running = place.start(&long(&[]), 3);
    // As 50 payments of nothing would: no condition is broken.
    let change = "BEGIN IMMEDIATE; \
        UPDATE customer SET c_payment_cnt = c_payment_cnt + 50 WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 1; \
        INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) \
        SELECT 1, 1, 1, 1, 1, h_date, 0, 'x' FROM history LIMIT 50; COMMIT";
    let connection = rusqlite::Connection::open(place.path("shop.db")).unwrap();
    connection.busy_timeout(std::time::Duration::from_secs(20)).unwrap();
    connection.execute_batch(change).unwrap();
    drop(connection);
    running.signal(libc::SIGINT);
    running.end();
    let done = place.assay(&long(&["--resume", "run"]));
    assert_eq!(done.is_of_verdict(&place.path("run")), "INVALID", "{done:?}");
    assert!(in_one_line(&done.out).contains("the sum of C_PAYMENT_CNT rose by"), "{done:?}");
}

#[test]
fn after_kill_9_the_database_is_whole_and_the_run_goes_on() {
    for journal in ["wal", "delete"] {
        let place = shop();
        let url = format!("{FAST}&journal_mode={journal}");
        let args = [&["run", "open.toml", &url][..], &LONG[..]].concat();
        let running = place.start(&args, 3);
        running.signal(libc::SIGKILL);
        assert_eq!(running.end().code, None);
        let explained = place.assay(&["explain", "open.toml", DB]);
        assert_eq!(explained.code, Some(0), "{explained:?}");
        let done = place.assay(&[&args[..], &["--resume", "run"]].concat());
        done.is_of_verdict(&place.path("run"));
        assert!(done.passed_or_late(), "{journal}: {done:?}");
        assert!(in_one_line(&done.out).contains("UNCOMPARED: whether others wrote"), "{done:?}");
        assert_eq!(place.assay(&["check", DB]).code, Some(0), "{journal}");
    }
}

#[test]
fn a_run_in_the_background_is_watched() {
    let place = shop();
    let begun = place.assay(&long(&["--detach", "--json", "--out", "run"]));
    assert_eq!(begun.code, Some(0), "{begun:?}");
    let busy = place.assay(&run("open.toml", DB, &[]));
    assert!(busy.code == Some(4) && busy.err.contains("in use by another Assay"), "{busy:?}");
    let watched = place.assay(&["watch", "run"]);
    assert_eq!(watched.code, Some(0), "{watched:?}");
    assert!(watched.out.contains("NOPM"), "{watched:?}");
    until("its results", || place.path("run/report.html").exists());
}
