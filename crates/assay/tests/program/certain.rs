//! A run whose failure is certain: it says so while it goes on, and ends where that is asked for.

use super::bed::{Log, Place};
use assay_record::CloseReason;

/// Nothing is as fast as this.
const IMPOSSIBLE: [&str; 2] = ["--criterion", "reads response mean at most 1ns"];

#[test]
fn a_run_ends_when_its_failure_is_certain_and_only_if_that_is_asked_for() {
    let place = Place::new();
    let run = ["run", "act-storage", "sim:flash-worn", "--for", "7h", "--load", "0.01x", "--seed", "1"];
    let whole = place.assay(&[&run[..], &["--out", "whole"]].concat());
    let ended = place.assay(&[&run[..], &["--stop-when-certain", "--out", "ended"]].concat());
    for said in [&whole, &ended] {
        assert!(said.code == Some(10) && said.out.contains("in slice 6 (5 h to 6 h)"), "{said:?}");
    }
    let closed = |dir| Log::of(&place.path(dir)).close.map(|close| close.reason);
    assert_eq!([closed("whole"), closed("ended")], [CloseReason::Completed, CloseReason::Interrupted].map(Some));
    assert!(ended.err.contains("the verdict is certain: FAIL. The rest is not run"), "{}", ended.err);
    let measured = Log::of(&place.path("ended")).intervals.last().map(|interval| interval.end_ns / 3_600_000_000_000);
    assert!(measured.is_some_and(|hours| (5..=6).contains(&hours)), "{measured:?}");
    // What is decided is not measured again.
    let resumed = [&run[..], &["--stop-when-certain", "--resume", "ended"]].concat();
    let again = place.assay(&resumed);
    assert!(again.code == Some(10) && again.err.contains("ended is decided: its verdict is FAIL"), "{again:?}");
    let rest = place.assay(&[&run[..], &["--resume", "ended"]].concat());
    assert!(rest.code == Some(10) && !rest.err.contains("decided"), "{rest:?}");
    assert_eq!(closed("ended"), Some(CloseReason::Completed));
}

#[test]
fn a_run_in_real_time_says_at_once_that_it_fails_and_so_does_watch() {
    let place = Place::new();
    let run = ["run", "act-storage", "null:1GiB", "--for", "6s", "--slice", "1s"];
    let running = place.start(&[&run[..], &IMPOSSIBLE].concat(), 1);
    let watched = place.assay(&["watch", "run"]);
    let said = running.end();
    // A busy machine makes a run of this length INVALID.
    for said in [&said, &watched] {
        assert!(matches!(said.code, Some(10 | 11)), "{said:?}");
        let certain = said.err.contains("FAIL is certain: ");
        assert!(certain || said.code == Some(11), "{said:?}");
    }
    let ends =
        ["run", "act-storage", "null:1GiB", "--for", "60s", "--slice", "1s", "--stop-when-certain", "--out", "ends"];
    let said = place.assay(&[&ends[..], &IMPOSSIBLE].concat());
    let seconds = Log::of(&place.path("ends")).intervals.len();
    assert!(said.code == Some(11) || said.code == Some(10) && seconds < 60, "{seconds}: {said:?}");
}
