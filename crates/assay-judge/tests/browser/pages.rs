//! The pages that show several runs: a comparison, the path of a search, a curve. All names in them are hostile.

#![allow(dead_code, reason = "each test file uses its own part")]

use crate::common;
use crate::fixture::{HOSTILE_IMAGE, HOSTILE_SCRIPT};
use assay_judge::compare::{Comparison, Run, Sampled};
use assay_judge::curve::Curve;
use assay_judge::limit::Trail;

/// A curve of a single-server queue, from its lightest load to its limit, with a name that would be a script.
pub fn points() -> Curve {
    let points = [10u64, 30, 50, 70, 90, 97].map(|percent| {
        serde_json::json!({
            "share": format!("{percent}%"), "load": format!("{percent}x"), "verdict": "PASS", "reason": "held", "delivered": true,
            "rate_asked": percent as f64 * 2000.0, "rate_achieved": percent as f64 * 2000.0 - 1.5,
            "mean_ns": 10_000_000 / (100 - percent), "p50_ns": 7_000_000 / (100 - percent), "p99_ns": 46_000_000 / (100 - percent),
            "p99_9_ns": 69_000_000 / (100 - percent), "directory": format!("{percent}"),
            "nines": nines(10_000_000 / (100 - percent)),
        })
    });
    let empty = serde_json::json!({
        "schema": 1, "workload": "orders </script><script>alert(1)</script>", "targets": ["<img src=x onerror=alert(1)>"],
        "stream": "reads", "seed": 7, "run_ns": 60_000_000_000u64, "maximum": "100x", "searched": true,
        "watermarks": ["SIMULATED: no device was tested"], "asked": [], "points": [],
    });
    let mut curve: Curve = serde_json::from_value(empty).unwrap();
    points.into_iter().for_each(|point| curve.set_point(serde_json::from_value(point).unwrap()));
    let lost = serde_json::json!({
        "share": "100%", "load": "100x", "verdict": "FAIL", "reason": "the load was not delivered", "delivered": false,
        "rate_asked": 200_000.0, "rate_achieved": 190_000.0, "mean_ns": 2_000_000_000, "directory": "100",
    });
    curve.set_point(serde_json::from_value(lost).unwrap());
    curve
}

/// Percentiles of an exponential distribution.
fn nines(mean_ns: u64) -> Vec<(f64, u64)> {
    let length = |share: f64| (mean_ns as f64 * -(1.0 - share).ln()) as u64;
    [0.1, 0.5, 0.9, 0.99, 0.999, 0.9999].map(|share| (share, length(share))).into()
}

/// A search that found 60x: ten runs, one of which proved nothing.
pub fn trail() -> Trail {
    let loads = [
        (10, "PASS"),
        (20, "PASS"),
        (40, "PASS"),
        (80, "FAIL"),
        (60, "INVALID"),
        (60, "PASS"),
        (70, "FAIL"),
        (65, "FAIL"),
    ];
    let runs = loads.iter().enumerate().map(|(index, (load, verdict))| {
        serde_json::json!({
            "load": format!("{load}x"), "verdict": verdict, "reason": format!("as measured on {HOSTILE_IMAGE}"),
            "measured": format!("reads response over 1 ms {load}% (bound < 5%)"), "response_p99_ns": 4_600_000_000u64 / (100 - load),
            "rate": f64::from(u32::try_from(*load).unwrap()) * 2047.0, "bytes_per_second": 3.1e8, "stream": "reads",
            "nines": nines(1_000_000_000 / (100 - load)), "directory": format!("/tmp/found/{:02}-{load}x", index + 1),
        })
    });
    serde_json::from_value(serde_json::json!({
        "schema": 1, "workload": format!("orders {HOSTILE_SCRIPT}"), "targets": [HOSTILE_IMAGE],
        "devices": [format!("{HOSTILE_IMAGE}: block device, 1 TiB")], "run_ns": 60_000_000_000u64, "seed": 7,
        "watermarks": ["SIMULATED: no device was tested"],
        "outcome": { "between": { "passes": "60x", "fails": "65x" } }, "runs": runs.collect::<Vec<_>>(),
    }))
    .unwrap()
}

pub fn limit(trail: &Trail) -> String {
    rendered(|page| assay_judge::limit::write_html(trail, page))
}

pub fn curve(curve: &Curve) -> String {
    rendered(|page| assay_judge::curve::write_html(curve, page))
}

/// A run for a comparison, with a name that would be a script.
fn compared(label: &str, slow: u64) -> Run {
    let minute = |minute, flow| common::Minute { slow: slow + minute % 3, ..common::good(minute, flow) };
    let log = common::Scenario::new(common::header(8, 1)).run(minute).completed().bytes();
    let mut sampled = Sampled::default();
    let mut reader = assay_record::Reader::new(&log[..]);
    while let Some(entry) = reader.next_entry().unwrap() {
        sampled.take_entry(&entry.unwrap()).unwrap();
    }
    let judgement =
        assay_judge::judge_log(assay_record::Reader::new(&log[..]), &assay_judge::Options::default()).unwrap();
    Run { label: label.to_owned(), judgement, sampled }
}

/// A comparison of runs, given by their names and the number of their slow operations.
pub fn comparison(runs: &[(&str, u64)]) -> Comparison {
    let runs: Vec<Run> = runs.iter().map(|(label, slow)| compared(label, *slow)).collect();
    assay_judge::compare::compare_runs(&runs, false).unwrap()
}

pub fn compare(runs: &[(&str, u64)]) -> String {
    let labels: Vec<String> = runs.iter().map(|(label, _)| (*label).to_owned()).collect();
    rendered(|page| assay_judge::compare::write_html(&comparison(runs), &labels, page))
}

fn rendered(render: impl FnOnce(&mut String) -> std::fmt::Result) -> String {
    let mut page = String::new();
    render(&mut page).unwrap();
    page
}
