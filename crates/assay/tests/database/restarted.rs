//! A server that is killed and comes back under load: the run is divided by marks, and criteria say in which parts they hold.

use super::bed::Log;
use super::server::Served;
use super::shop::{OPEN, in_one_line};
use assay_model::tpcc::TransactionKind;
use assay_record::EventKind;
use serde_json::Value;

/// Bounds for the parts in which the server is there, and errors in the one in which it is not.
fn criteria(in_disturbed: bool) -> String {
    let mut text = OPEN.to_owned() + "recovery_at_most = \"4s\"\nmax_lag = \"0s\"\n";
    for kind in TransactionKind::ALL {
        let name = kind.stream_name();
        text += &format!(
            "[[criterion]]\nstream = \"{name}\"\nshare_over = \"10s\"\nat_most = \"50%\"\nwindow = \"1s\"\nin = [\"healthy\", \"recovered\"]\n"
        );
        if in_disturbed {
            text += &format!("[[criterion]]\nstream = \"{name}\"\nerrors_at_most = \"100%\"\nin = [\"disturbed\"]\n");
        }
    }
    text
}

#[test]
fn a_server_that_is_killed_and_comes_back_is_judged_before_during_and_after() {
    for in_disturbed in [true, false] {
        let Some(served) = Served::new("") else { return };
        let place = &served.place;
        place.write("parts.toml", &criteria(in_disturbed));
        let args = ["run", "parts.toml", &served.url, "--warm-up", "1s", "--for", "25s", "--slice", "1s"];
        let running = place.start(&args, 9);
        let mark = |text: &str| {
            let said = place.assay(&["mark", "run", text]);
            assert_eq!(said.code, Some(0), "{text}: {said:?}");
        };
        mark("the server is killed");
        served.cluster.crash("");
        mark("the server is back");
        let said = running.end();
        let log = Log::of(&place.path("run"));
        let text = in_one_line(&said.out);
        let verdict: Value =
            serde_json::from_str(&std::fs::read_to_string(place.path("run/verdict.json")).unwrap()).unwrap();
        let parts = verdict["parts"].as_array().unwrap();
        let kinds: Vec<&str> = parts.iter().map(|part| part["kind"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["healthy", "disturbed", "recovered"]);
        let failed = |part: &Value| -> u64 {
            part["streams"].as_array().unwrap().iter().map(|stream| stream["failed"].as_u64().unwrap_or(0)).sum()
        };
        let all: u64 =
            log.intervals.iter().flat_map(|interval| &interval.flows).map(|flow| flow.failed_operations()).sum();
        assert!(failed(&parts[0]) == 0 && failed(&parts[1]) > 0, "{parts:?}");
        assert_eq!(parts.iter().map(failed).sum::<u64>(), all);
        let marks: Vec<&str> =
            log.events.iter().filter(|event| event.what == EventKind::Mark).map(|event| event.text.as_str()).collect();
        assert_eq!(marks, ["the server is killed", "the server is back"]);
        assert!(text.contains("recovery in part 3 (recovered, \"the server is back\")"), "{text}");
        assert!(log.events.iter().any(|event| event.what == "checked"), "{said:?}");
        if in_disturbed {
            assert!(said.passed_or_late(), "{said:?}");
        } else {
            assert_eq!(said.is_of_verdict(&place.path("run")), "FAIL", "errors that no criterion allows: {said:?}");
        }
    }
}
