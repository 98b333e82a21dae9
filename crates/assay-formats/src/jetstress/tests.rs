//! The sums of a published report, and logs that are not those of a mail store.

use super::*;
use assay_model::mail::SAMPLE;

/// A count as Jetstress 2010 printed it for two hours: operations per second, their mean size in bytes, and their mean
/// time in milliseconds.
fn reported(rate: f64, mean_bytes: f64, ms: f64) -> Count {
    let operations = rate * 7_200.0;
    Count {
        operations: operations.round() as u64,
        bytes: (operations * mean_bytes).round() as u64,
        response_ns: (operations * ms * 1e6).round() as u64,
        service_ns: (operations * ms * 1e6).round() as u64,
    }
}

#[test]
fn the_sums_of_a_published_report() {
    let io = Io {
        reads: reported(501.278, 33_146.672, 19.557),
        writes: reported(512.300, 34_842.730, 13.949),
        log_reads: Count::default(),
        log_writes: reported(163.294, 7_864.278, 3.103),
        maintenance: reported(24.789, 240_015.465, 0.0),
    };
    for (what, found, expected, within) in [
        ("transactional", io.transactional_io().rate_per_second(7200.0), 1013.577, 0.002),
        ("total reads", io.all_reads().rate_per_second(7200.0), 526.066, 0.001_1),
        ("their mean bytes", io.all_reads().mean_bytes(), 42_894.433, 1.0),
        ("writes", io.writes.rate_per_second(7200.0), 512.300, 0.001),
        ("latency of the reads", io.reads.response_ms(), 19.557, 0.001),
        ("log writes", io.log_writes.rate_per_second(7200.0), 163.294, 0.001),
        ("mean bytes of log writes", io.log_writes.mean_bytes(), 7_864.278, 0.01),
        ("no log reads", io.log_reads.mean_bytes() + io.log_reads.response_ms(), 0.0, 0.0),
    ] {
        assert!((found - expected).abs() <= within, "{what}: {found} instead of {expected}");
    }
    let twice = io.sum_with(io);
    assert_eq!((twice.reads.operations, twice.log_writes.bytes), (2 * io.reads.operations, 2 * io.log_writes.bytes));
    assert!((twice.reads.mean_bytes() - io.reads.mean_bytes()).abs() < 1e-9, "means do not add up");
}

#[test]
fn the_worst_sample_is_of_fifteen_seconds() {
    let count = |ms: u64| Count { operations: 1, response_ns: ms * 1_000_000, ..Count::default() };
    // Each row: the time in milliseconds of the one operation in each second, and the worst mean of a sample.
    for (seconds, worst) in [
        (vec![1; 30], Some(1.0)),
        ([vec![1; 15], vec![31; 15]].concat(), Some(31.0)),
        // The slow operations fill half of each of two samples.
        ([vec![1; 8], vec![31; 14], vec![1; 8]].concat(), Some(15.0)),
        // The end cuts the last sample below half of its length, so it does not count.
        ([vec![1; 15], vec![31; 7]].concat(), Some(1.0)),
        ([vec![1; 15], vec![31; 8]].concat(), Some(31.0)),
        (vec![5; 3], Some(5.0)),
        (vec![], None),
    ] {
        let mut samples = Samples::new(SAMPLE.as_ns());
        for (at, ms) in (0u64..).zip(&seconds) {
            samples.add_operations(at * 1_000_000_000, count(*ms));
            samples.reach_time((at + 1) * 1_000_000_000);
        }
        samples.end_sample();
        assert_eq!(samples.worst_ms.map(f64::round), worst, "{seconds:?}: {:?}", samples.worst_ms);
    }
}

#[test]
fn other_logs_are_refused() {
    let header = serde_json::json!({
        "format": 1, "tool": "assay", "created": "1970-01-01T00:00:00Z", "name": "test", "seed": 1,
        "model": "streams", "load": "1x", "slice_ns": 1, "interval_ns": 1, "phases": [], "streams": [], "flows": [], "targets": [],
        "thresholds_ns": [], "criteria": [], "max_lag_ns": 0, "engine": {}, "host": {}, "plan": {},
    });
    let header: Header = serde_json::from_value(header).unwrap();
    let told = Jetstress::new(Vec::new()).begin_segment(&header, &mut String::new()).unwrap_err();
    assert!(told.contains("not the log of a mail store"), "{told}");
    let mut empty = Jetstress::new(Vec::new());
    assert!(empty.take_interval(&Interval::default(), &mut String::new()).is_err());
    assert!(empty.end_log(&mut String::new()).is_err());
}

/// The header of a run of a mail store that measures for this many seconds.
fn store(seconds: u64) -> Header {
    let adjust = assay_model::workload::Adjust { targets: 1, ..Default::default() };
    let plan = assay_model::workload::read_workload("t", "model = \"mail\"\nverify = false")
        .unwrap()
        .make_plan(&adjust)
        .unwrap();
    let stream =
        |name: &str| serde_json::json!({"name": name, "direction": "read", "arrival": "poisson", "size": "32KiB"});
    let streams: Vec<serde_json::Value> = plan.load.streams.iter().map(|planned| stream(&planned.name)).collect();
    let flows: Vec<serde_json::Value> =
        (0..streams.len()).map(|at| serde_json::json!({"stream": at, "target": 0})).collect();
    let header = serde_json::json!({
        "format": 1, "tool": "assay", "created": "1970-01-01T00:00:00Z", "name": "test", "seed": 1,
        "model": "mail", "load": "1x", "slice_ns": 1, "interval_ns": 1_000_000_000,
        "phases": [{"name": "measure", "kind": "measure", "span_ns": seconds * 1_000_000_000}],
        "streams": streams, "flows": flows,
        "targets": [{"name": "disk", "kind": "simulated", "size_bytes": 4u64 << 30, "block_bytes": 512}],
        "thresholds_ns": [], "criteria": [], "max_lag_ns": 0, "engine": {}, "host": {}, "plan": plan,
    });
    serde_json::from_value(header).unwrap()
}

/// Adds this many seconds of ten reads each to the report.
fn seconds(report: &mut Jetstress, number: u64) {
    for at in 0..number {
        let mut flows = vec![assay_record::FlowInterval::default(); 5];
        flows[0] = assay_record::FlowInterval { ok: 10, bytes: 327_680, ..Default::default() };
        let (start_ns, end_ns) = (at * 1_000_000_000, (at + 1) * 1_000_000_000);
        report.take_interval(&Interval { start_ns, end_ns, flows, ..Interval::default() }, &mut String::new()).unwrap();
    }
}

/// A part that was measured twice counts twice, with its time; an interval that only drains adds no time.
#[test]
fn a_run_that_was_continued_has_the_rates_of_its_parts() {
    let mut report = Jetstress::new(vec!["Verdict: PASS".to_owned()]);
    report.begin_segment(&store(30), &mut String::new()).unwrap();
    seconds(&mut report, 12);
    report.begin_segment(&store(20), &mut String::new()).unwrap();
    seconds(&mut report, 21);
    let mut out = String::new();
    report.end_log(&mut out).unwrap();
    let line = |name: &str| {
        out.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name}: {out}")).to_owned()
    };
    assert!(line("Measured (s)").ends_with(" 32.000"), "{out}");
    assert!(line("I/O Database Reads/sec").ends_with(&format!(" {:.3}", 330.0 / 32.0)), "{out}");
    assert!(line("I/O Database Reads Average Bytes").ends_with(" 32768.000"), "{out}");
    assert!(line("Checksum pass").contains("did not verify") && out.ends_with("Verdict: PASS\n"), "{out}");
    let wrong = report.take_interval(&Interval::default(), &mut String::new());
    assert!(wrong.unwrap_err().contains("other flows"));
}
