//! Logs of ACT as entries of ours: every operation is counted once, the accounting adds up, and hostile text is refused.

#![allow(clippy::unwrap_used, reason = "a helper that cannot go on ends its test")]

use crate::common;

use assay_base::Span;
use assay_formats::act::import;
use assay_formats::act::log::{Item, Log};
use assay_record::{CloseReason, Entry, Header, Interval};
use std::fmt::Write;

fn entries(text: &[u8]) -> Result<Vec<Entry>, String> {
    let mut all = Vec::new();
    import::import_entries("log.txt", text, Span::from_secs(3600), &mut |entry| all.push(entry))
        .map_err(|e| e.to_string())?;
    Ok(all)
}

fn header(all: &[Entry]) -> &Header {
    match &all[0] {
        Entry::Header(header) => header,
        other => panic!("{other:?} comes first"),
    }
}

fn intervals(all: &[Entry]) -> Vec<&Interval> {
    all.iter().filter_map(|entry| if let Entry::Interval(interval) = entry { Some(interval) } else { None }).collect()
}

fn reason(all: &[Entry]) -> Option<CloseReason> {
    if let Some(Entry::Close(close)) = all.last() { Some(close.reason) } else { None }
}

#[test]
fn every_golden_log_adds_up() {
    let mut seen = 0;
    for root in common::roots() {
        for case in ["act", "act-old", "act-edge"].iter().flat_map(|kind| common::entries(&root.join(kind))) {
            let Ok(text) = std::fs::read(case.join("log.txt")) else { continue };
            let Ok(all) = entries(&text) else { continue };
            let header = header(&all);
            let mut carried = vec![0; header.flows.len()];
            let mut counted = vec![0; header.flows.len()];
            let mut end = 0;
            for interval in intervals(&all) {
                assert_eq!(interval.start_ns, end, "{}", case.display());
                end = interval.end_ns;
                for (index, flow) in interval.flows.iter().enumerate() {
                    assert!(flow.is_balanced(carried[index]), "{} at {end}: {flow:?}", case.display());
                    let sum: u64 = flow.service.counts.chunks(2).map(|pair| pair[1]).sum();
                    assert_eq!(sum, flow.ok);
                    carried[index] = flow.carried_out();
                    counted[index] += flow.ok;
                }
            }
            // Exactly what the last complete block says.
            let mut last = vec![0; header.streams.len()];
            let mut log = Log::open("log.txt", text.as_slice()).unwrap();
            while let Some(Ok(item)) = log.next() {
                if let Item::Block(block) = item
                    && block.complete
                {
                    block.readings.iter().for_each(|reading| last[reading.histogram] = reading.total);
                }
            }
            assert_eq!(counted, last, "{}", case.display());
            seen += 1;
        }
    }
    assert!(seen >= 10, "{seen} logs");
}

/// A log with blocks of one histogram: seconds, and the number of operations in the lowest bucket.
fn log(blocks: &[(u64, u64)], more: &str) -> String {
    let mut text = "\nACT version 6.6\nStorage device IO test\nCopyright 2020 by Aerospike. All rights reserved.\n\n\
        ACT-STORAGE CONFIGURATION\ndevice-names: /dev/x\nnum-devices: 1\nservice-threads: 2\ntest-duration-sec: 3\n\
        report-interval-sec: 1\nmicrosecond-histograms: no\nread-reqs-per-sec: 10\nwrite-reqs-per-sec: 0\n\n\
        DERIVED CONFIGURATION\ninternal-read-reqs-per-sec: 10\n\n/dev/x size = 1048576 bytes\n\nHISTOGRAM NAMES\nreads\n\n"
        .to_owned();
    for (second, count) in blocks {
        writeln!(text, "after {second} sec:\nreads ({count} total)\n (00: {count:010})\n").unwrap();
    }
    text + more
}

#[test]
fn ends_and_errors() {
    let whole = [(1, 10), (2, 20), (3, 30)];
    for (blocks, more, expected) in [
        (&whole[..], "", Some(CloseReason::Completed)),
        (&whole[..2], "", None),
        (
            &whole[..2],
            "ERROR: service thread can't keep up\nACT can't do requested load - test stopped\n",
            Some(CloseReason::GeneratorLag),
        ),
        (
            &whole[..2],
            "ERROR: large block reads can't keep up\ndrive(s) can't keep up - test stopped\n",
            Some(CloseReason::DeviceLag),
        ),
        (&whole[..1], "SIGSEGV received\nstacktrace:\n", Some(CloseReason::EngineFailed)),
        (&[], "", None),
    ] {
        let all = entries(log(blocks, more).as_bytes()).unwrap();
        assert_eq!((reason(&all), intervals(&all).len()), (expected, blocks.len()), "{more}");
    }
    // An error after the last block, and one of a device that is not listed: neither is lost.
    let error = "ERROR: reading /dev/x: 5 'Input/output error'\nERROR: reading /dev/y: 61 'No data available'\n";
    let all = entries(log(&whole, error).as_bytes()).unwrap();
    let failed: u64 =
        intervals(&all).iter().flat_map(|interval| &interval.flows).map(|flow| flow.failed_operations()).sum();
    assert_eq!(failed, 2);
    assert!(intervals(&all)[3].flows[0].errors.contains_key("EIO"));
    // Operations missing from the planned load count as waiting: 12 of 30 ended, and each of two threads may have one
    // in flight.
    let all = entries(log(&[(1, 4), (2, 8), (3, 12)], "").as_bytes()).unwrap();
    let last = &intervals(&all)[2].flows[0];
    assert_eq!((last.scheduled, last.waiting, last.in_flight), (10, 16, 2));
    assert!(last.own_lag.sum_ns > 0, "ACT's threads are not the device");
}

#[test]
fn hostile_logs_are_refused() {
    for (text, words) in [
        (log(&[(1, 20), (2, 10)], ""), "go back"),
        (log(&[(2, 20), (1, 30)], ""), "time goes back"),
        (String::new(), "ACT version"),
        (log(&[(1, 10)], "after 2 sec:\nreads (7 total)\n (00: 0000000009)\n\n"), "the total says"),
    ] {
        let why = entries(text.as_bytes()).unwrap_err();
        assert!(why.contains(words), "{why}");
    }
    // The largest possible numbers neither overflow nor take memory.
    let big = log(&[(1, u64::MAX)], "").replace("read-reqs-per-sec: 10", "read-reqs-per-sec: 18446744073709551615");
    let all = entries(big.replace("test-duration-sec: 3", "test-duration-sec: 4294967295").as_bytes()).unwrap();
    assert_eq!(intervals(&all)[0].flows[0].ok, u64::MAX);
}

/// The second run may have failed: a verdict on the first would be taken for one on both.
#[test]
fn the_log_of_a_second_run_is_refused_wherever_it_begins() {
    let whole = log(&[(1, 10), (2, 20), (3, 30)], "");
    let failed = log(&[(1, 10)], "ERROR: reading /dev/x: 5 'Input/output error'\n");
    let old = failed.replace("ACT version 6.6", "Aerospike act version 4.0");
    let (begun, cut) = (log(&[], ""), &whole[..whole.len() - 5]);
    for first in [whole.as_str(), begun.as_str(), &failed] {
        for second in [failed.as_str(), old.as_str(), "ACT version 6.6\n"] {
            let refused = entries(format!("{first}{second}").as_bytes()).unwrap_err();
            assert!(refused.contains("another run begins in the same log"), "{refused}");
        }
    }
    // Of the first one the end is missing.
    assert!(entries(format!("{cut}\n{failed}").as_bytes()).is_err());
    assert!(entries(whole.as_bytes()).is_ok());
}
