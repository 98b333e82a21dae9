//! What `limit` and `curve` do with a workload: how long each run is, which loads are tried, which criterion is shown;
//! and loads that cannot be multiplied.

use crate::bed::{Place, Said};
use serde_json::Value;

/// A disk with one head carries about 74 reads per second: 40 per second are too many at 2x.
const MEAN_DECIDES: &str = r#"
name = "two bounds"
model = "streams"
duration = "20s"
slice = "10s"
[[stream]]
name = "reads"
direction = "read"
size = "4KiB"
rate = "40/s"
[[criterion]]
stream = "reads"
measure = "response"
share_over = "10s"
below = "50%"
[[criterion]]
stream = "reads"
measure = "response"
mean_at_most = "30ms"
"#;

const CLOSED: &str = r#"
name = "closed"
model = "streams"
[[stream]]
name = "filler"
direction = "write"
size = "64KiB"
in_flight = 4
"#;

fn path_of(json: &Value) -> Vec<(String, String)> {
    let runs = json["runs"].as_array().unwrap().iter();
    runs.map(|run| (run["load"].as_str().unwrap().into(), run["verdict"].as_str().unwrap().into())).collect()
}

#[test]
fn each_run_is_as_long_as_the_workload_says_and_a_start_that_fails_is_searched_below() {
    let place = Place::new();
    place.write("w.toml", MEAN_DECIDES);
    let said = place.assay(&["limit", "w.toml", "sim:disk", "--out", "found", "--json"]);
    assert!(
        said.err.contains("each run measures 20s (the workload's duration; --for asks for another)"),
        "{}",
        said.err
    );
    let json = said.json();
    assert_eq!((said.code, json["run_ns"].as_u64()), (Some(0), Some(20_000_000_000)), "{json}");
    let path = path_of(&json);
    let loads: Vec<&str> = path.iter().map(|(load, _)| load.as_str()).collect();
    assert_eq!(loads[..3], ["10x", "5x", "2x"], "{path:?}");
    // The criterion that is shown is the one that decided, with its bound; the first criterion was never near its
    // bound.
    for run in json["runs"].as_array().unwrap() {
        let measured = run["measured"].as_str().unwrap();
        let mean = measured.contains("mean") && measured.contains("(bound <= 30");
        assert!(mean || run["verdict"] == "FAIL" && measured.contains("(bound >= 99.9%)"), "{run}");
    }
    let held = json["runs"].as_array().unwrap().iter().filter(|run| run["verdict"] == "PASS");
    assert!(held.clone().count() > 0 && held.into_iter().all(|run| run["measured"].as_str().unwrap().contains("mean")));
    let page = std::fs::read_to_string(place.path("found/limit.html")).unwrap();
    for run in json["runs"].as_array().unwrap() {
        let directory = run["directory"].as_str().unwrap().rsplit('/').next().unwrap();
        assert!(page.contains(&format!("href=\"{directory}/report.html\"")), "{directory} is not on the page");
        assert!(place.path("found").join(directory).join("report.html").exists(), "{directory}");
        assert!(run["nines"].as_array().unwrap().len() > 5 && run["rate"].as_f64() > Some(1.0), "{run}");
    }
    assert!(page.contains("simulated") && page.contains("<b>SIMULATED</b>") && page.contains("class=\"stretch pass\""));
    let longer = place.assay(&["limit", "w.toml", "sim:disk", "--for", "10s", "--from", "1x", "--to", "1x"]);
    assert!(longer.err.contains("each run measures 10s (as asked by --for)"), "{}", longer.err);
    place.write("day.toml", &MEAN_DECIDES.replace("20s", "24h"));
    let curve = place.assay(&["curve", "day.toml", "sim:disk", "--max", "1x", "--points", "1%"]);
    assert!(curve.err.contains("each run measures 6h (of the workload's 24h;"), "{}", curve.err);
}

#[test]
fn a_load_that_nothing_can_multiply_is_refused() {
    let place = Place::new();
    place.write("closed.toml", CLOSED);
    for command in [
        &["run", "closed.toml", "null:1GiB", "--load", "2x", "--for", "1s"][..],
        &["explain", "closed.toml", "--load", "0.5x"],
        &["limit", "closed.toml", "null:1GiB", "--for", "1s"],
        &["curve", "closed.toml", "null:1GiB", "--max", "2x", "--for", "1s"],
    ] {
        let said = place.assay(command);
        assert!(
            said.code == Some(3) && said.err.contains("every stream of the workload is a closed loop"),
            "{}",
            said.err
        );
    }
    assert_eq!(place.left(&["closed.toml"]), [""; 0], "nothing was begun");
    assert_eq!(place.assay(&["explain", "closed.toml", "--load", "1x"]).code, Some(0));
}

#[test]
fn what_a_closed_loop_writes_is_said_to_have_no_bound() {
    let place = Place::new();
    place.write("closed.toml", CLOSED);
    let said = place.assay(&["explain", "closed.toml", "null:1GiB"]);
    assert!(
        said.out.contains("written as fast as the targets allow (filler), no bound on what is written in"),
        "{}",
        said.out
    );
    assert!(!said.out.contains("drive writes a day"), "{}", said.out);
    let json = place.assay(&["explain", "closed.toml", "--json"]).json();
    assert!(json["derived"]["written_bytes"].is_null() && json["derived"]["written_bytes_per_second"].is_null());
    assert_eq!(json["derived"]["read_bytes_per_second"], 0.0);
    place.write(
        "both.toml",
        &format!("{CLOSED}[[stream]]\nname = \"log\"\ndirection = \"write\"\nsize = \"4KiB\"\nrate = \"10/s\"\n"),
    );
    let said = place.assay(&["explain", "both.toml", "null:1GiB"]);
    assert!(said.out.contains("written 40 KiB/s and as fast as the targets allow (filler)"), "{}", said.out);
}

#[test]
fn criteria_that_are_typed_decide_instead_of_the_workloads_own() {
    let place = Place::new();
    let told = |said: &Said| format!("{}{}", said.out, said.err);
    let run = |criteria: &[&str]| {
        let typed = criteria.iter().flat_map(|text| ["--criterion", text]);
        let line = ["run", "random-read", "sim:flash", "--for", "4s", "--slice", "2s", "--seed", "1", "--json"];
        place.assay(&line.into_iter().chain(typed).collect::<Vec<_>>())
    };
    for (criteria, code, titles) in [
        (&["reads p99.9 at most 10s"] as &[&str], 0, vec![("reads response over 10 s", "<= 0.1%")]),
        (&["reads p50 at most 1ns"], 10, vec![("reads response over 1 ns", "<= 50%")]),
        (
            &["reads service max at most 10s per run", "reads max at most 10us"],
            10,
            vec![("reads service over 10 s", "<= 0%"), ("reads response over 10 µs", "<= 0%")],
        ),
    ] {
        let said = run(criteria);
        assert_eq!(said.code, Some(code), "{criteria:?}: {}", told(&said));
        let judged: Vec<(String, String)> = said.json()["criteria"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|criterion| criterion["title"] != "load delivered")
            .map(|it| (it["title"].as_str().unwrap().to_owned(), it["bound"].as_str().unwrap().to_owned()))
            .collect();
        let wanted: Vec<(String, String)> = titles.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        assert_eq!(judged, wanted);
    }
    let wrong = run(&["raeds p99 at most 1ms"]);
    assert!(wrong.code == Some(3) && told(&wrong).contains("did you mean reads?"), "{}", told(&wrong));
    let explained = place.assay(&["explain", "random-read", "sim:flash", "--criterion", "reads p99.9 at most 5ms"]);
    assert!(told(&explained).contains("(p99.9 at most 5ms)"), "{}", told(&explained));
    let limited = place.assay(&["limit", "random-read", "sim:flash", "--criterion", "reads p99 at most 1ns", "--json"]);
    assert_eq!(limited.code, Some(10), "nothing is as quick as that: {}", told(&limited));
    for certify in [&["certify", "sim:flash"][..], &["certify", "--quick"], &["explain", "certify", "sim:flash"]] {
        let refused = place.assay(&[certify, &["--criterion", "reads p99 at most 1ms"]].concat());
        assert!(refused.code == Some(2) && told(&refused).contains("[[criterion]]"), "{}", told(&refused));
    }
    let conf = "device-names: none\ntest-duration-sec: 2\nread-reqs-per-sec: 100\nwrite-reqs-per-sec: 0\nreport-interval-sec: 1\nrecord-bytes: 1536\n";
    place.write("users.conf", conf);
    place.write("events.conf", conf);
    let both = ["run", "users.conf", "events.conf", "sim:flash", "--json", "--criterion"];
    let judged = place.assay(&[&both[..], &["users.reads p99 at most 10s"]].concat());
    let titles: Vec<String> =
        judged.json()["criteria"].as_array().unwrap().iter().map(|it| it["title"].to_string()).collect();
    assert_eq!((judged.code, titles.len()), (Some(0), 2), "{titles:?}");
    assert!(titles[1].contains("users.reads response over 10 s"), "{titles:?}");
    let neither = place.assay(&[&both[..], &["reads p99 at most 10s"]].concat());
    assert!(neither.code == Some(3) && told(&neither).contains("no stream"), "{}", told(&neither));
}

#[test]
fn criteria_that_ask_for_work_hold_up_to_their_bound() {
    let place = Place::new();
    let stream = "model = \"streams\"\nduration = \"4s\"\nslice = \"2s\"\n[[stream]]\nname = \"reads\"\ndirection = \"read\"\nsize = \"4KiB\"\n";
    let judged = |load: &str, criterion: &str| {
        place.write("work.toml", &format!("{stream}{load}\n[[criterion]]\nstream = \"reads\"\n{criterion}\n"));
        place.assay(&["run", "work.toml", "sim:flash", "sim:flash", "--seed", "1", "--json"])
    };
    // 1000 reads a second on each of two targets, evenly spaced.
    let steady = "rate = \"1000/s\"\narrival = \"steady\"";
    let closed = "in_flight = 1";
    for (load, criterion, code, told) in [
        (steady, "rate_at_least = \"1990/s\"", 0, "reads rate at least 1990/s per 2s"),
        (steady, "rate_at_least = \"2001/s\"", 10, "reads ran at "),
        (
            steady,
            "throughput_at_least = \"7960KiB/s\"\nwindow = \"run\"",
            0,
            "reads throughput at least 7960KiB/s per run",
        ),
        (steady, "throughput_at_least = \"8010KiB/s\"", 10, "reads moved "),
        // Two reads in flight, about 80 µs each.
        (closed, "rate_at_least = \"10000/s\"", 0, "reads rate at least 10000/s per 2s"),
        (closed, "rate_at_least = \"100000/s\"", 10, "bound >= 100000/s"),
    ] {
        let said = judged(load, criterion);
        assert_eq!(said.code, Some(code), "{criterion}: {}{}", said.out, said.err);
        assert!(said.out.contains(told), "{criterion}: {}", said.out);
        let judged = &said.json()["criteria"][1];
        assert!(judged.get("measure").is_none() && judged["measured"]["value"].as_f64().unwrap() > 1000.0, "{judged}");
        assert!(
            judged["targets"].as_array().is_none_or(Vec::is_empty),
            "it is asked of all targets together: {judged}"
        );
    }
    // A disk that carries about 100 a second needs several seconds after the end to drain a queue of 1500; these
    // operations must not count towards its rate.
    place.write(
        "deep.toml",
        &format!("{stream}in_flight = 1500").replace("[[stream]]", "in_flight_bound = 1500\n[[stream]]"),
    );
    let deep =
        ["run", "deep.toml", "sim:disk", "--seed", "1", "--json", "--criterion", "reads rate at least 300/s per run"];
    let said = place.assay(&deep);
    assert_eq!(said.code, Some(10), "{}{}", said.out, said.err);
    for (criterion, remedy) in [
        ("rate_at_least = \"0/s\"", "always holds"),
        ("rate_at_least = \"5/s\"\nmeasure = \"service\"", "has no measure"),
        ("throughput_at_least = \"5MiB\"", "500MiB/s"),
        ("rate_at_least = \"5/s\"\nmean_at_most = \"1ms\"", "more than one"),
    ] {
        let said = judged(steady, criterion);
        assert!(said.code == Some(3) && said.err.contains(remedy), "{criterion}: {}", said.err);
    }
    let typed = ["run", "random-read", "sim:flash", "--for", "4s", "--slice", "2s", "--seed", "1", "--criterion"];
    let said = place.assay(&[&typed[..], &["reads rate at least 1000000/s", "--out", "typed"]].concat());
    assert!(said.code == Some(10) && said.out.contains("reads rate"), "{}{}", said.out, said.err);
    let junit = place.assay(&["export", "typed", "--to", "junit"]);
    assert!(junit.out.contains("name=\"reads rate &gt;= 1000000/s\""), "{}", junit.out);
}

#[test]
fn errors_that_a_criterion_allows_do_not_fail_a_run() {
    let place = Place::new();
    let stream = "model = \"streams\"\nduration = \"20s\"\nslice = \"10s\"\n[[stream]]\nname = \"reads\"\ndirection = \"read\"\nsize = \"4KiB\"\nrate = \"2000/s\"\n[[criterion]]\nstream = \"reads\"\n";
    let run = |criterion: &str, out: &str| {
        place.write("may-fail.toml", &format!("{stream}{criterion}\n"));
        place.assay(&["run", "may-fail.toml", "sim:flash?errors=1/1000", "--seed", "1", "--out", out])
    };
    for (criterion, code, told) in [
        ("errors_at_most = \"0.2%\"", 0, "reads errors"),
        ("errors_at_most = \"0.05%\"", 10, "of reads failed"),
        ("p99_at_most = \"1s\"", 10, " EIO between "),
    ] {
        let said = run(criterion, &format!("out-{code}-{}", told.len()));
        assert!(said.code == Some(code) && said.out.contains(told), "{criterion}: {}{}", said.out, said.err);
    }
    // Errors that a criterion allows are shown nevertheless, in every form of the result.
    for (form, told) in [("junit", "reads errors"), ("json", "EIO")] {
        let export = place.assay(&["export", "out-0-12", "--to", form]);
        assert!(export.code == Some(0) && export.out.contains(told), "{form}: {}{}", export.out, export.err);
    }
    let judged = place.assay(&["judge", "out-0-12"]);
    assert!(judged.code == Some(0) && judged.out.contains("EIO"), "{}", judged.out);
    let strict = place.assay(&["judge", "out-0-12", "--criterion", "reads errors at most 0.01% per run"]);
    assert!(strict.code == Some(2) && strict.err.contains("there is no option --criterion here"), "{strict:?}");
    let explained = place.assay(&["explain", "may-fail.toml", "--criterion", "reads errors at most 1%"]);
    assert!(explained.out.contains("reads errors at most 1% per 10s"), "{}{}", explained.out, explained.err);
}
