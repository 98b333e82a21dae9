//! Logs that no engine wrote: none of them may cause a panic, and none of them may pass.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use crate::common;

use assay_base::{Prng, Rate, Share, Span};
use assay_judge::{JudgeError, Options, Verdict, judge_log, render};
use assay_record::{Close, CloseReason, DiskCounters, Entry, FlowHead, Header, HostSample, Interval, Reader, Writer};
use common::*;

/// Judges the log and renders the result in every format.
fn survive(bytes: &[u8]) -> Option<Verdict> {
    let judged = judge_log(Reader::new(bytes), &Options::default()).ok()?;
    let mut text = String::new();
    render::write_summary(&judged, &mut text).unwrap();
    render::write_slice_tables(&judged, &mut text).unwrap();
    render::write_json(&judged, &mut text).unwrap();
    render::write_html(&judged, &mut text).unwrap();
    let drawn: Vec<&str> = text.split("<svg").skip(1).filter_map(|rest| rest.split("</svg>").next()).collect();
    assert!(drawn.iter().all(|chart| !chart.contains("NaN") && !chart.contains("inf")), "{drawn:?}");
    Some(judged.verdict)
}

/// Writes the log again with every entry changed, so that its checksums are correct.
fn rewritten(bytes: &[u8], mut change: impl FnMut(&mut Entry)) -> Vec<u8> {
    let (mut reader, mut writer) = (Reader::new(bytes), Writer::new(Vec::new(), 0));
    while let Some(Ok(mut entry)) = reader.next_entry().unwrap() {
        change(&mut entry);
        writer.write_entry(&entry).unwrap();
    }
    writer.into_inner()
}

fn sample() -> Vec<u8> {
    let mut small = header(1, 2);
    small.slice_ns = 10 * MINUTE;
    small.criteria =
        criteria(&["reads response over 1ms below 5% per 10min", "reads service mean at most 1ms per run"]);
    Scenario::new(small).run(good).completed().bytes()
}

#[test]
fn bytes_changed_anywhere() {
    let good = sample();
    assert_eq!(survive(&good), Some(Verdict::Pass));
    let mut prng = Prng::from_seed(3);
    for _ in 0..120 {
        let mut bad = good.clone();
        for _ in 0..=prng.uniform_below(3) {
            let at = prng.uniform_below(bad.len() as u64) as usize;
            bad[at] ^= 1 << prng.uniform_below(8);
        }
        assert_ne!(survive(&bad), Some(Verdict::Pass));
    }
}

#[test]
fn lines_lost_repeated_and_swapped() {
    let good = sample();
    let lines: Vec<&[u8]> = good.split_inclusive(|&b| b == b'\n').collect();
    let mut prng = Prng::from_seed(4);
    for _ in 0..100 {
        let mut order = lines.clone();
        let (a, b) = (prng.uniform_below(lines.len() as u64) as usize, prng.uniform_below(lines.len() as u64) as usize);
        match prng.uniform_below(3) {
            0 => drop(order.remove(a)),
            1 => order.insert(b, lines[a]),
            _ => order.swap(a, b),
        }
        if order != lines {
            assert_ne!(survive(&order.concat()), Some(Verdict::Pass), "{a} {b}");
        }
    }
}

type Change = fn(&mut Interval);

#[test]
fn absurd_numbers_in_intervals() {
    const MAX: u64 = u64::MAX;
    let changes: [Change; 22] = [
        |i| i.start_ns = MAX,
        |i| i.end_ns = 0,
        |i| i.end_ns = MAX,
        |i| (i.start_ns, i.end_ns) = (MAX, 0),
        |i| i.index = MAX,
        |i| i.phase = u16::MAX,
        |i| i.flows.clear(),
        |i| i.flows.extend(i.flows.clone()),
        |i| i.flows[0].scheduled = MAX,
        |i| i.flows.iter_mut().for_each(|f| (f.ok, f.scheduled) = (MAX, MAX)),
        |i| i.flows.iter_mut().for_each(|f| (f.waiting, f.in_flight, f.stuck) = (MAX, MAX, MAX)),
        |i| i.flows[1].errors = [("EIO".into(), MAX), ("<b>".into(), MAX)].into(),
        |i| i.flows[0].short = MAX,
        |i| i.flows[0].response.counts = vec![MAX, MAX],
        |i| i.flows[0].response.counts = vec![3, MAX, 3, MAX, 4],
        |i| i.flows[0].own_lag.counts = vec![60, MAX],
        |i| i.flows[0].forgiven = vec![MAX, 1],
        |i| i.flows.iter_mut().for_each(|f| f.forgiven = vec![30, MAX, 31, MAX]),
        |i| (i.flows[0].response.sum_ns, i.flows[0].response.max_ns) = (MAX, MAX),
        |i| {
            i.disks = vec![
                DiskCounters {
                    target: 0,
                    reads: MAX,
                    read_bytes: MAX,
                    writes: MAX,
                    written_bytes: MAX,
                    flushes: MAX
                };
                2
            ]
        },
        |i| i.disks = vec![DiskCounters { target: u16::MAX, ..DiskCounters::default() }],
        |i| {
            i.host = Some(HostSample {
                cpu_ns: MAX,
                run_queue_ns: MAX,
                steal_ns: MAX,
                resident_bytes: MAX,
                throttled_ns: MAX,
                throttled_periods: MAX,
                cpu_pressure_ns: MAX,
            })
        },
    ];
    // These change figures that no PASS depends on: forgiven operations can only turn FAIL into INVALID.
    let harmless = [17, 18, 20, 21];
    let good = sample();
    for (number, change) in changes.iter().enumerate() {
        for (from, to) in [(0, u64::MAX), (30, 31), (61, 62)] {
            let bad = rewritten(&good, |entry| {
                if let Entry::Interval(interval) = entry
                    && (from..to).contains(&interval.index)
                {
                    change(interval);
                }
            });
            let verdict = survive(&bad);
            let warm_up_only = from == 0 && to == 1;
            assert!(
                verdict != Some(Verdict::Pass) || harmless.contains(&number) || warm_up_only,
                "change {number} at {from}"
            );
        }
    }
}

#[test]
fn absurd_headers() {
    let changes: [fn(&mut Header); 22] = [
        |h| h.slice_ns = 0,
        |h| h.slice_ns = 1,
        |h| h.slice_ns = u64::MAX,
        |h| h.interval_ns = 0,
        |h| h.interval_ns = 1,
        |h| h.interval_ns = u64::MAX,
        |h| h.phases.clear(),
        |h| h.phases.iter_mut().for_each(|p| p.span_ns = u64::MAX),
        |h| h.phases.iter_mut().for_each(|p| p.span_ns = 0),
        |h| h.measured_before_ns = u64::MAX,
        |h| h.streams.clear(),
        |h| h.targets.clear(),
        |h| h.flows.clear(),
        |h| h.flows = vec![FlowHead { stream: 9, target: 0 }],
        |h| h.flows = vec![FlowHead { stream: 0, target: 9 }; 2],
        |h| h.thresholds_ns.clear(),
        |h| h.thresholds_ns = (0..100_000).collect(),
        |h| h.thresholds_ns = vec![u64::MAX; 5],
        |h| h.streams[0].rate = Rate::from_ratio(u128::from(u64::MAX), 1),
        |h| h.criteria[0].window = Some(Span::ZERO),
        |h| h.criteria[0].bound = assay_base::Bound::Over { over: Span::from_ms(1), below: Share::from_ppb(0) },
        |h| h.continues = true,
    ];
    let good = sample();
    for (number, change) in changes.iter().enumerate() {
        let bad = rewritten(&good, |entry| {
            if let Entry::Header(header) = entry {
                change(header);
            }
        });
        let verdict = survive(&bad);
        // Unusual but valid: an interval or a slice of any length, a criterion with an empty window, a lone segment
        // that says it continues another.
        let sensible = [1, 2, 4, 19, 21].contains(&number);
        assert!(sensible || verdict != Some(Verdict::Pass), "change {number}: {verdict:?}");
    }
}

#[test]
fn absurd_distributions_and_closing_lines() {
    for overflow in [1, u64::MAX] {
        let bad = rewritten(&sample(), |entry| {
            if let Entry::Histograms(lines) = entry {
                lines.flows.iter_mut().for_each(|flow| flow.overflow = [overflow; 3]);
                (lines.first, lines.last) = (0, u64::MAX);
            }
        });
        survive(&bad);
    }
    let bad = rewritten(&sample(), |entry| {
        if let Entry::Histograms(lines) = entry {
            lines.flows[0].flow = 77;
        }
    });
    assert_eq!(survive(&bad), Some(Verdict::Invalid));
    let bad = rewritten(&sample(), |entry| {
        if let Entry::Close(close) = entry {
            let reason = CloseReason::Completed;
            let max = u64::MAX;
            *close = Close {
                reason,
                at_ns: max,
                text: "\u{7}".repeat(9999),
                intervals: max,
                issued: max,
                completed: max,
                stuck: max,
            };
        }
    });
    assert_eq!(survive(&bad), Some(Verdict::Incomplete));
}

#[test]
fn what_is_no_log_is_refused_with_words() {
    for (bytes, words) in [
        (&b""[..], "it is empty"),
        (b"hello\nworld\n", "not a line of a run log"),
        (b"\0\0\0", "middle of a line"),
        (b"{\"schema\":1}\n", "not a line of a run log"),
    ] {
        let error = judge_log(Reader::new(bytes), &Options::default()).unwrap_err();
        assert!(matches!(&error, JudgeError::NotALog(_)) && error.to_string().contains(words), "{error}");
    }
    let newer = rewritten(&sample(), |entry| {
        if let Entry::Header(header) = entry {
            header.format = 2;
        }
    });
    let error = judge_log(Reader::new(newer.as_slice()), &Options::default()).unwrap_err();
    assert!(error.to_string().contains("newer"), "{error}");
}
