//! `/metrics`, read by a real Prometheus (Debian's), which is asked by its API; and the dashboard for Grafana, each of whose expressions
//! that Prometheus evaluates.

use super::bed::{Place, Running, until};
use super::growing::{Live, Writer, lines_of, renamed};
use super::http::get;
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::{Command, Stdio};

/// What the intervals of a log say of a flow, added up without any code of the product.
#[derive(Debug, Default, PartialEq)]
struct Sums {
    scheduled: u64,
    issued: u64,
    completed: u64,
    bytes: u64,
    response_ns: u128,
    /// Operations by the bucket of their response.
    response: BTreeMap<u64, u64>,
}

fn sums_of(lines: &[String]) -> (BTreeMap<(String, String), Sums>, Vec<u64>) {
    let mut sums: BTreeMap<(String, String), Sums> = BTreeMap::new();
    let mut names: Vec<(String, String)> = Vec::new();
    let mut bounds = Vec::new();
    for line in lines {
        let line: Value = serde_json::from_str(line).unwrap();
        if line["kind"] == "header" {
            let name = |list: &str, index: &Value| {
                line[list][index.as_u64().unwrap() as usize]["name"].as_str().unwrap().to_owned()
            };
            let flows = line["flows"].as_array().unwrap();
            names =
                flows.iter().map(|flow| (name("streams", &flow["stream"]), name("targets", &flow["target"]))).collect();
            bounds = line["thresholds_ns"].as_array().unwrap().iter().map(|bound| bound.as_u64().unwrap()).collect();
            bounds.sort_unstable();
            bounds.dedup();
        }
        if line["kind"] != "interval" {
            continue;
        }
        for (name, flow) in names.iter().zip(line["flows"].as_array().unwrap()) {
            let sum = sums.entry(name.clone()).or_default();
            let number = |name: &str| flow[name].as_u64().unwrap();
            sum.scheduled += number("scheduled");
            sum.issued += number("issued");
            sum.completed += number("ok");
            sum.bytes += number("bytes");
            sum.response_ns += u128::from(flow["response"]["sum"].as_u64().unwrap());
            for pair in flow["response"]["n"].as_array().into_iter().flatten().collect::<Vec<_>>().chunks(2) {
                *sum.response.entry(pair[0].as_u64().unwrap()).or_default() += pair[1].as_u64().unwrap();
            }
        }
    }
    (sums, bounds)
}

impl Sums {
    /// How many took at least this long.
    fn over(&self, bounds: &[u64], ns: u64) -> u64 {
        let first = bounds.iter().position(|bound| *bound == ns).unwrap() as u64 + 1;
        self.response.range(first..).map(|(_, n)| n).sum()
    }
}

/// The value of a series in the text of `/metrics`.
fn value_of(text: &str, name: &str, labels: &[(&str, &str)]) -> f64 {
    let mine = text.lines().filter(|line| {
        let rest = line.strip_prefix(name).unwrap_or("-");
        (rest.starts_with('{') || rest.starts_with(' '))
            && labels.iter().all(|(label, value)| line.contains(&format!("{label}=\"{value}\"")))
    });
    let found: Vec<&str> = mine.collect();
    assert_eq!(found.len(), 1, "{name} {labels:?}: {found:?}");
    found[0].rsplit(' ').next().unwrap().parse().unwrap()
}

const RUN: [&str; 11] = [
    "run",
    "act-storage",
    "sim:flash",
    "sim:flash?seed=2",
    "--for",
    "30s",
    "--warm-up",
    "4s",
    "--slice",
    "10s",
    "--seed",
];

#[test]
fn counters_are_the_sums_of_the_log_to_the_unit() {
    let place = Place::new();
    place.assay(&[&RUN[..], &["1", "--out", "whole"]].concat());
    let lines = lines_of(&place, "whole");
    let mut writer = Writer::begin(&place, "live");
    let live = Live::serve(&place, &["live"]);
    let mut written = 0;
    for upto in [1, 2, 9, 20, lines.len()] {
        writer.append(&lines[written..upto]);
        written = upto;
        live.at(written - 1);
        let text = get(live.port, "/metrics").body;
        assert!(text.ends_with("# EOF\n"));
        assert_eq!(value_of(&text, "assay_log_line", &[]), (written - 1) as f64);
        let (sums, bounds) = sums_of(&lines[..written]);
        for ((stream, target), sum) in &sums {
            let labels = [("stream", stream.as_str()), ("target", target.as_str())];
            for (name, value) in [
                ("assay_scheduled_operations_total", sum.scheduled),
                ("assay_issued_operations_total", sum.issued),
                ("assay_completed_operations_total", sum.completed),
                ("assay_completed_bytes_total", sum.bytes),
                ("assay_short_operations_total", 0),
            ] {
                assert_eq!(value_of(&text, name, &labels), value as f64, "{name} {labels:?}");
            }
            for (threshold, ns) in [("1ms", 1_000_000), ("8ms", 8_000_000), ("64ms", 64_000_000)] {
                let labels = [labels[0], labels[1], ("threshold", threshold)];
                assert_eq!(value_of(&text, "assay_response_over_total", &labels), sum.over(&bounds, ns) as f64);
            }
        }
        let streams: std::collections::BTreeSet<&String> = sums.keys().map(|(stream, _)| stream).collect();
        for stream in streams {
            let mine = || sums.iter().filter(|((own, _), _)| own == stream).map(|(_, sum)| sum);
            let count: u64 = mine().map(|sum| sum.completed).sum();
            let labels = [("stream", stream.as_str())];
            assert_eq!(value_of(&text, "assay_response_seconds_count", &labels), count as f64);
            let seconds = mine().map(|sum| sum.response_ns).sum::<u128>() as f64 / 1e9;
            assert!((value_of(&text, "assay_response_seconds_sum", &labels) - seconds).abs() <= seconds * 1e-12);
            // An operation of exactly 1 ms is over 1 ms, and `le` includes its boundary.
            let below = count - mine().map(|sum| sum.over(&bounds, 1_000_000)).sum::<u64>();
            let le = [labels[0], ("le", "0.000999999")];
            assert_eq!(value_of(&text, "assay_response_seconds_bucket", &le), below as f64);
            let all = [labels[0], ("le", "+Inf")];
            assert_eq!(value_of(&text, "assay_response_seconds_bucket", &all), count as f64);
        }
    }
    drop(writer);
    let verdict = live.at_end()["standing"]["word"].as_str().unwrap().to_owned();
    let text = get(live.port, "/metrics").body;
    assert_eq!(value_of(&text, "assay_verdict", &[("verdict", &verdict)]), 1.0);
}

/// A Prometheus that scrapes each second.
struct Prometheus {
    port: u16,
    _running: Running,
}

impl Prometheus {
    /// Starts it; `None` where it is not installed.
    fn start(place: &Place, scraped: u16) -> Option<Prometheus> {
        if Command::new("prometheus").arg("--version").output().is_err() {
            eprintln!("skipped: no prometheus here (apt-get install prometheus)");
            return None;
        }
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let config = place.write(
            "prometheus.yml",
            &format!("global:\n  scrape_interval: 1s\nscrape_configs:\n  - job_name: assay\n    static_configs:\n      - targets: ['127.0.0.1:{scraped}']\n"),
        );
        let child = Command::new("prometheus")
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.tsdb.path={}", place.path("tsdb").display()))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        until("Prometheus", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
        until("it is ready", || get(port, "/-/ready").status == 200);
        Some(Prometheus { port, _running: Running::of(child) })
    }

    /// The result of a query.
    fn ask(&self, query: &str) -> Value {
        let quoted: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let answer = get(self.port, &format!("/api/v1/query?query={quoted}"));
        let answer = answer.json();
        assert_eq!(answer["status"], "success", "{query}: {answer}");
        answer["data"]["result"].clone()
    }

    fn number(&self, query: &str) -> Option<f64> {
        self.ask(query)[0]["value"][1].as_str()?.parse().ok()
    }
}

#[test]
fn a_prometheus_reads_them_and_the_dashboard_finds_all_that_it_asks_for() {
    let place = Place::new();
    place.assay(&[&RUN[..], &["1", "--out", "whole"]].concat());
    let lines = lines_of(&place, "whole");
    let mut writer = Writer::begin(&place, "live");
    writer.append(&lines[..6]);
    let live = Live::serve(&place, &["live"]);
    live.at(5);
    let Some(prometheus) = Prometheus::start(&place, live.port) else { return };
    let up = || prometheus.number("up{job=\"assay\"}");
    until("the first scrape", || up() == Some(1.0));
    // Rates need several scrapes with different values.
    for line in 6..lines.len() {
        writer.append(&lines[line..=line]);
        live.at(line);
        if line % 8 == 0 {
            let seen = (line) as f64;
            until("a scrape of this line", || prometheus.number("assay_log_line") == Some(seen));
        }
    }
    until("the last line", || prometheus.number("assay_log_line") == Some((lines.len() - 1) as f64));
    let (sums, bounds) = sums_of(&lines);
    for ((stream, target), sum) in &sums {
        let labels = format!("{{stream=\"{stream}\",target=\"{target}\"}}");
        assert_eq!(prometheus.number(&format!("assay_completed_operations_total{labels}")), Some(sum.completed as f64));
        let query = format!("assay_response_over_total{{stream=\"{stream}\",target=\"{target}\",threshold=\"1ms\"}}");
        assert_eq!(prometheus.number(&query), Some(sum.over(&bounds, 1_000_000) as f64));
    }
    drop(writer);
    live.at_end();
    let dashboard = concat!(env!("CARGO_MANIFEST_DIR"), "/../../share/grafana/assay.json");
    let dashboard: Value = serde_json::from_str(&std::fs::read_to_string(dashboard).unwrap()).unwrap();
    let names: Vec<String> = {
        let list = get(prometheus.port, "/api/v1/label/__name__/values").json();
        list["data"].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect()
    };
    let text = get(live.port, "/metrics").body;
    let mut expressions = Vec::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().unwrap() {
            expressions.push(target["expr"].as_str().unwrap().to_owned());
        }
    }
    assert!(expressions.len() >= 12, "{expressions:?}");
    for expression in &expressions {
        // The window of a rate that Grafana chooses by the width of a panel.
        let query = expression.replace("$__rate_interval", "1m").replace("$stream", ".*").replace("$target", ".*");
        assert!(!query.contains('$'), "{query}");
        assert!(!prometheus.ask(&query).as_array().unwrap().is_empty(), "{expression} is empty");
        for word in
            query.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| word.starts_with("assay_"))
        {
            // Nothing failed in this run, so that there is the name of that metric and no series of it.
            let declared = text.contains(&format!("# TYPE {} ", word.trim_end_matches("_total")));
            assert!(declared || names.iter().any(|name| name == word), "{word} is not a metric");
        }
    }
}

#[test]
fn names_that_look_like_markup_or_labels_stay_names() {
    let place = Place::new();
    let hostile = "r\"} 1\nassay_up 1 \\<script>";
    place.assay(&["run", "random-read", "sim:flash", "--for", "5s", "--slice", "2s", "--seed", "1", "--out", "whole"]);
    let lines = lines_of(&place, "whole");
    let stream = serde_json::from_str::<Value>(&lines[0]).unwrap()["streams"][0]["name"].as_str().unwrap().to_owned();
    Writer::begin(&place, "live").append(&renamed(&lines, &stream, hostile));
    let live = Live::serve(&place, &["live"]);
    live.at_end();
    let text = get(live.port, "/metrics").body;
    assert!(!text.lines().any(|line| line.starts_with("assay_up")), "{text}");
    if let Some(prometheus) = Prometheus::start(&place, live.port) {
        until("a scrape", || prometheus.number("up{job=\"assay\"}") == Some(1.0));
        assert!(prometheus.ask("assay_up").as_array().unwrap().is_empty());
        assert_eq!(prometheus.ask("assay_completed_operations_total").as_array().unwrap().len(), 1);
    }
}

#[test]
fn too_many_series_of_targets_give_way_to_those_of_their_streams() {
    let place = Place::new();
    let streams: String = (0..10)
        .map(|n| format!("[[stream]]\nname = \"s{n}\"\ndirection = \"read\"\nsize = \"4KiB\"\nrate = \"140/s\"\n"))
        .collect();
    place.write("wide.toml", &format!("name = \"wide\"\nmodel = \"streams\"\n{streams}"));
    let targets: Vec<String> = (0..80).map(|n| format!("sim:flash?seed={n}")).collect();
    let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
    let args = [&["run", "wide.toml"], &targets[..], &["--for", "3s", "--seed", "1", "--out", "run"]].concat();
    let said = place.assay(&args);
    assert!(place.path("run/run.jsonl").exists(), "{said:?}");
    let live = Live::serve(&place, &["run"]);
    live.at_end();
    let text = get(live.port, "/metrics").body;
    let series = text.lines().filter(|line| !line.starts_with('#')).count();
    assert!(series < 10_000, "{series}");
    assert!(value_of(&text, "assay_series_left_out", &[]) >= 8.0 * 10.0 * 80.0);
    let (sums, _) = sums_of(&lines_of(&place, "run"));
    assert_eq!(sums.len(), 800);
    for n in 0..10 {
        let stream = format!("s{n}");
        let completed: u64 = sums.iter().filter(|((own, _), _)| *own == stream).map(|(_, sum)| sum.completed).sum();
        let labels = [("stream", stream.as_str()), ("target", "")];
        assert!(completed > 0);
        assert_eq!(value_of(&text, "assay_completed_operations_total", &labels), completed as f64);
    }
}
