//! Exports of a stored log: compared with stored files, with the judgement of the same log, and with what the format's
//! own library reads.
#![allow(clippy::unwrap_used, reason = "a test")]

use base64::Engine as _;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn log() -> String {
    here("../assay-record/tests/golden/run-v1.jsonl").display().to_string()
}

fn assay(args: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_assay")).args(args).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn export(args: &[&str]) -> String {
    let (code, text, error) = assay(&[&["export", &log(), "--to"], args].concat());
    assert_eq!(code, 0, "{args:?}: {error}");
    text
}

/// The judgement of the same log.
fn judged() -> Value {
    serde_json::from_str(&assay(&["judge", &log(), "--json"]).1).unwrap()
}

#[test]
fn every_format_as_it_was() {
    for format in ["csv", "hgrm", "fio-json", "junit", "markdown", "hlog"] {
        let kept = here(&format!("tests/expected/export/run-v1.{format}"));
        let mut text = export(&[format]);
        if format == "hlog" {
            // The bytes of the packed histograms depend on the packer; their content is checked below.
            let line = |line: &str| line.split(",HIST").next().unwrap().to_owned() + "\n";
            text = text.lines().map(line).collect();
        }
        assert_eq!(text, std::fs::read_to_string(&kept).unwrap(), "{} is not what {format} gives", kept.display());
    }
    assert_eq!(export(&["json"]), assay(&["judge", &log(), "--json"]).1);
}

#[test]
fn the_library_of_the_format_reads_the_interval_log() {
    let text = export(&["hlog"]);
    let mut all: BTreeMap<String, Histogram<u64>> = BTreeMap::new();
    let (mut base, mut last) = (None, BTreeMap::new());
    for entry in IntervalLogIterator::new(text.as_bytes()) {
        match entry.expect("an entry of the log") {
            LogEntry::BaseTime(time) => base = Some(time.as_secs()),
            LogEntry::StartTime(_) => {}
            LogEntry::Interval(interval) => {
                let packed = base64::engine::general_purpose::STANDARD.decode(interval.encoded_histogram()).unwrap();
                let read: Histogram<u64> = Deserializer::new().deserialize(&mut packed.as_slice()).unwrap();
                let tag = interval.tag().unwrap().to_string();
                let end = interval.start_timestamp() + interval.duration();
                assert_eq!(interval.start_timestamp(), last.insert(tag.clone(), end).unwrap_or_default(), "no gap");
                assert!((interval.max() * 1e6 - read.max() as f64).abs() < 1000.0);
                all.entry(tag).or_insert_with(|| Histogram::new(3).unwrap()).add(read).unwrap();
            }
        }
    }
    assert_eq!(base, Some(0), "the log is of 1970");
    let judged = judged();
    assert_eq!(all.len(), judged["streams"].as_array().unwrap().len());
    for stream in judged["streams"].as_array().unwrap() {
        let times = &all[stream["name"].as_str().unwrap()];
        assert_eq!(Some(times.len()), stream["response"]["operations"].as_u64(), "{}", stream["name"]);
        assert_eq!(Some(times.value_at_quantile(0.99)), stream["response"]["p99_ns"].as_u64(), "{}", stream["name"]);
    }
}

#[test]
fn the_table_adds_up_to_the_judgement() {
    let text = export(&["csv"]);
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = lines.next().unwrap();
    let rows: Vec<BTreeMap<&str, &str>> = lines
        .map(|cells| {
            assert_eq!(cells.len(), names.len());
            names.iter().copied().zip(cells).collect()
        })
        .collect();
    let sum = |stream: &str, column: &str| -> u64 {
        let mine = rows.iter().filter(|row| row["measured"] == "1" && row["stream"] == stream);
        mine.map(|row| row[column].parse::<u64>().unwrap()).sum()
    };
    for stream in judged()["streams"].as_array().unwrap() {
        let name = stream["name"].as_str().unwrap();
        assert_eq!(Some(sum(name, "completed_operations")), stream["operations"].as_u64());
        assert_eq!(Some(sum(name, "completed_bytes")), stream["bytes"].as_u64());
        assert_eq!(Some(sum(name, "response_over_8ms_operations")), stream["response"]["over"]["8ms"].as_u64());
        assert_eq!(Some(sum(name, "service_over_1ms_operations")), stream["service"]["over"]["1ms"].as_u64());
    }
}

#[test]
fn fio_json_says_what_the_judgement_says() {
    let fio: Value = serde_json::from_str(&export(&["fio-json"])).unwrap();
    let judged = judged();
    let streams = judged["streams"].as_array().unwrap();
    assert_eq!(fio["jobs"].as_array().unwrap().len(), streams.len());
    for (job, stream) in fio["jobs"].as_array().unwrap().iter().zip(streams) {
        let (mine, other) = if stream["direction"] == "read" { ("read", "write") } else { ("write", "read") };
        assert_eq!(job["jobname"], stream["name"]);
        assert_eq!((&job[mine]["total_ios"], &job[other]["total_ios"]), (&stream["operations"], &Value::from(0)));
        for (theirs, ours) in [("lat_ns", "response"), ("clat_ns", "service")] {
            assert_eq!(job[mine][theirs]["percentile"]["99.000000"], stream[ours]["p99_ns"]);
            assert_eq!(job[mine][theirs]["max"], stream[ours]["max_ns"]);
            let mean = job[mine][theirs]["mean"].as_f64().unwrap();
            assert!((mean - stream[ours]["mean_ns"].as_f64().unwrap()).abs() <= 1.0);
        }
        let cells = ["latency_ns", "latency_us", "latency_ms"].map(|unit| job[unit].as_object().unwrap());
        let all: f64 = cells.iter().flat_map(|unit| unit.values()).map(|share| share.as_f64().unwrap()).sum();
        assert!((all - 100.0).abs() < 1e-6, "{all}");
    }
}

#[test]
fn the_percentiles_are_of_the_stream_that_was_named() {
    let judged = judged();
    for stream in judged["streams"].as_array().unwrap() {
        let text = export(&["hgrm", "--unit", "us", "--stream", stream["name"].as_str().unwrap()]);
        let count = format!("Total count    = {:>12}]", stream["response"]["operations"].to_string());
        assert!(text.contains(&count), "{text}");
        let percentiles = text.lines().skip(2).filter(|line| !line.starts_with('#'));
        let last: Vec<&str> = percentiles.last().unwrap().split_whitespace().collect();
        assert_eq!((last[1], last[2]), ("1.000000000000", stream["response"]["operations"].to_string().as_str()));
    }
}

#[test]
fn what_cannot_be_is_refused() {
    for (args, code, told) in [
        (&["--to", "hgrm", "--stream", "nope"][..], 3, "there are reads, large-block-reads"),
        (&["--to", "csv", "--step", "4"], 3, "no step 4"),
        (&["--to", "junit", "--step", "1"], 2, "holds all steps"),
        (&["--to", "csv", "--stream", "reads"], 2, "--to hgrm"),
    ] {
        let (got, _, error) = assay(&[&["export", &log()], args].concat());
        assert!(got == code && error.contains(told), "{args:?}: {got} {error}");
    }
}

#[test]
fn the_page_names_every_format() {
    let help = assay(&["export", "--help"]).1;
    let page = std::fs::read_to_string(here("../../docs/formats/exports.md")).unwrap();
    let listed = help.lines().filter_map(|line| line.trim().strip_prefix("- ")?.split_once(':'));
    let formats: Vec<&str> = listed.map(|(name, _)| name).filter(|name| !["ms", "us"].contains(name)).collect();
    assert!(formats.len() >= 10, "{help}");
    for format in formats {
        assert!(page.contains(&format!("\n| `{format}` |")), "docs/formats/exports.md does not list {format}");
    }
    let header = export(&["csv"]).lines().next().unwrap().to_owned();
    for column in header.split(',').filter(|column| !column.contains("_over_")) {
        assert!(page.contains(&format!("`{column}`")), "docs/formats/exports.md does not say what {column} is");
    }
}
