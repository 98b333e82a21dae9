//! What a reader sees, compared with expected texts. `ACCEPT=1 cargo test -p assay-judge` accepts changes.
#![allow(clippy::disallowed_methods, reason = "a test makes files of its own")]

use crate::common;

use assay_judge::judgement::*;
use assay_judge::{Judgement, Verdict, render};
use assay_record::{CloseReason, FlowHead, StepHead};
use common::*;

#[allow(clippy::unwrap_used, reason = "a helper of tests")]
fn text(judged: &Judgement) -> String {
    let mut text = String::new();
    render::write_summary(judged, &mut text).unwrap();
    text
}

#[track_caller]
fn fits(text: &str) {
    assert!(text.lines().count() <= 40, "{} lines:\n{text}", text.lines().count());
    for line in text.lines() {
        // A name that is longer than a line and a command stay whole, so that they can be copied.
        let is_whole = line.starts_with("next: ") || !line.trim().contains(' ');
        assert!(line.chars().count() <= 80 || is_whole, "wider than 80: {line}");
    }
}

#[track_caller]
#[allow(clippy::unwrap_used, reason = "a helper of tests")]
fn expect(got: &str, file: &str, expected: &str) {
    if std::env::var_os("ACCEPT").is_some() {
        return std::fs::write(format!("{}/tests/expected/{file}", env!("CARGO_MANIFEST_DIR")), got).unwrap();
    }
    assert!(got == expected, "tests/expected/{file} differs; now it is:\n{got}");
}

const BAD: fn(u64, usize) -> Minute = |m, f| Minute { slow: if m >= 300 { 200 } else { 10 + m / 10 }, ..good(m, f) };

#[test]
fn a_failure_of_twelve_hours() {
    let judged = Scenario::new(header(12, 1)).run(BAD).completed().judge();
    let got = text(&judged);
    fits(&got);
    expect(&got, "fail.txt", include_str!("expected/fail.txt"));
}

#[test]
fn a_long_run_keeps_first_worst_and_last() {
    let judged = Scenario::new(header(48, 4))
        .run(|m, f| Minute { slow: if m / 60 == 30 && f == 1 { 45 } else { 10 }, ..good(m, f) });
    let got = text(&judged.completed().judge());
    fits(&got);
    expect(&got, "long.txt", include_str!("expected/long.txt"));
}

#[test]
fn every_slice_in_the_table() {
    let judged = Scenario::new(header(12, 2)).run(BAD).completed().judge();
    let mut got = String::new();
    render::write_slice_tables(&judged, &mut got).unwrap();
    assert_eq!(got.lines().filter(|line| line.ends_with("over")).count(), 3 * 7);
    expect(&got, "table.txt", include_str!("expected/table.txt"));
}

#[test]
fn other_ends_fit_too() {
    use CloseReason::*;
    for reason in [Interrupted, DeviceLag, GeneratorLag, TargetLost, LogFailed, EngineFailed] {
        let mut head = header(2, 4);
        head.watermarks = vec!["QUICK".into(), "SIMULATED".into()];
        head.targets[0].name = format!("evil\u{1b}[2J\n{}", "<img onerror=x>".repeat(20));
        head.name = "x".repeat(500);
        let got = text(&Scenario::new(head).warm_up().minutes(0..70, good).close(reason, "why").judge());
        fits(&got);
        assert!(got.contains("quick look, not a certification") && !got.contains('\u{1b}'), "{got}");
    }
    let empty = text(&Scenario::new(header(1, 1)).judge());
    fits(&empty);
    assert!(empty.starts_with("INCOMPLETE") && !empty.contains('%') | empty.contains("< 5%"), "{empty}");
}

/// Reads and writes on one target, each with a criterion of its own.
fn two_streams(texts: &[&str]) -> assay_record::Header {
    let mut head = header(2, 1);
    let mut writes = head.streams[0].clone();
    writes.name = "writes".into();
    head.streams.push(writes);
    let flow = FlowHead { stream: 1, ..head.flows[0] };
    head.flows.push(flow);
    head.criteria = criteria(texts);
    head
}

/// Two streams with bounds of their own: the one that kept its bound must not be marked as broken. In a stress step no
/// bound applies, and no slice is over.
#[test]
fn a_slice_is_over_for_the_stream_that_broke_its_bound() {
    let head =
        || two_streams(&["reads response over 1ms below 5% per 1h", "writes response over 1ms below 50% per 1h"]);
    let slow = |m, f| Minute { slow: if f == 0 { 200 } else { 100 }, ..good(m, f) };
    let table = |judged: &Judgement| {
        let mut got = String::new();
        render::write_slice_tables(judged, &mut got).unwrap();
        got
    };
    let judged = Scenario::new(head()).run(slow).completed().judge();
    let got = table(&judged);
    let (reads, writes) = got.split_once("writes response").unwrap();
    assert_eq!(
        (judged.verdict, reads.matches("  over").count(), writes.matches("  over").count()),
        (Verdict::Fail, 2, 0),
        "{got}"
    );
    let mut stress = head();
    stress.step = Some(StepHead {
        number: 1,
        of: 1,
        title: "stress".into(),
        stress: true,
        until_certain: false,
        of_workload: false,
    });
    let judged = Scenario::new(stress).run(slow).completed().judge();
    assert!(judged.verdict == Verdict::Pass && !table(&judged).contains("  over"), "{}", table(&judged));
}

/// A bound on work is judged over all targets together, also where there is only one: the table and the report mark the stream
/// that did too little in each slice, and no other one.
#[test]
fn a_slice_is_over_for_the_stream_that_did_too_little() {
    let head = two_streams(&["reads rate at least 11/s per 1h", "writes rate at least 9/s per 1h"]);
    let judged = Scenario::new(head).run(good).completed().judge();
    let (mut table, mut page) = (String::new(), String::new());
    render::write_slice_tables(&judged, &mut table).unwrap();
    render::write_html(&judged, &mut page).unwrap();
    let (reads, writes) = table.split_once("writes response").unwrap();
    assert_eq!(judged.verdict, Verdict::Fail, "{}", judged.reason);
    assert_eq!((reads.matches("  over").count(), writes.matches("  over").count()), (2, 0), "{table}");
    assert_eq!(page.matches("✗ broken").count(), 1 + 2, "the criterion, and a row for each slice of the reads");
}

#[test]
fn the_head_says_what_was_tested_and_what_it_did() {
    let mut head = header(2, 1);
    head.targets[0].facts = [("model", "PM9A3"), ("serial", "S64F")].map(|(k, v)| (k.into(), v.into())).into();
    let got = text(&Scenario::new(head).run(good).completed().judge());
    let line = got.lines().nth(1).unwrap().trim();
    assert!(line.starts_with("PM9A3 S64F, 1 GiB; 10 IOPS, ") && line.ends_with(" MB/s"), "{got}");
    // Facts that the log does not have are not shown.
    let mut unknown = header(2, 1);
    unknown.targets[0].facts = [("model", "absent"), ("serial", "absent")].map(|(k, v)| (k.into(), v.into())).into();
    let got = text(&Scenario::new(unknown).run(good).completed().judge());
    assert!(got.lines().nth(1).unwrap().trim().starts_with("1 GiB; 10 IOPS, "), "{got}");
}

/// Streams are listed in the order of the plan; the worst one is always listed, wherever it is in the plan.
#[test]
fn the_worst_stream_is_never_left_out() {
    let judged = Scenario::new(header(2, 1)).run(good).completed().judge();
    let with = |worst: usize, deciding: Option<usize>| {
        let mut judged = judged.clone();
        let only = judged.part.streams.each[0].clone();
        judged.part.streams.each = (0..9)
            .map(|n| {
                let mut stream = StreamTotals { name: format!("stream-{n}"), ..only.clone() };
                stream.response.p99_ns = Some(if n == worst { 9_000_000 } else { 1_000_000 });
                stream
            })
            .collect();
        let place = |n| Deciding { stream: Some(format!("stream-{n}")), ..deciding_place() };
        judged.deciding = deciding.map(place);
        text(&judged)
    };
    for (worst, deciding, shown) in [(0, None, 0), (8, None, 8), (3, Some(7), 7), (8, Some(1), 1)] {
        let got = with(worst, deciding);
        assert!(got.contains(&format!("stream-{shown} response")) && got.contains("more streams"), "{got}");
    }
}

fn deciding_place() -> Deciding {
    Deciding {
        step: 1,
        slice: Some(1),
        window_ns: None,
        stream: None,
        target: None,
        measured: None,
        bound: None,
        start_ns: 0,
        end_ns: HOUR,
        part: None,
    }
}

/// Neither the exit code nor the processor time is cut off, however long the path is and however little space there is.
#[test]
fn the_exit_code_and_the_processor_time_are_always_there() {
    let mut judged = Scenario::new(header(48, 4)).run(BAD).completed().judge();
    judged.part.generator.cost = Some(GeneratorCost { cpu_ns: 1, sampled_ns: 3, ..GeneratorCost::default() });
    judged.warnings = vec!["it is a long way to the end of the line, and to that of the next one too".into(); 3];
    for stream in &mut judged.part.streams.each {
        stream.lag.p99_ns = Some(5_240_000);
        stream.own_lag.max_ns = Some(16_500_000);
        (stream.in_flight_max, stream.waiting_max) = (256, 140_000);
    }
    for log in ["run", &"/a/long/way".repeat(12)] {
        let mut got = String::new();
        render::text_for(&judged, log, render::Reader::default(), &mut got).unwrap();
        fits(&got);
        assert!(got.trim_end().ends_with("(exit code 10)"), "{got}");
        let words = got.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("own lag max 16.5 ms, CPU 33% of one"), "{got}");
    }
}

/// The command to type next can be copied, whatever the directory is called.
#[test]
fn a_name_is_one_word_for_a_shell() {
    let judged = Scenario::new(header(2, 1)).run(good).completed().judge();
    for (log, word) in [("a/run-1", "a/run-1"), ("run dir", "'run dir'"), ("it's", "'it'\\''s'"), ("läufe", "läufe")]
    {
        let mut got = String::new();
        render::text_for(&judged, log, render::Reader::default(), &mut got).unwrap();
        assert!(got.contains(&format!("next: assay report {word}  (exit code 0)")), "{got}");
    }
}

/// Rows of a table are left out before words of a warning.
#[test]
fn warnings_stand_whole_beside_a_long_table() {
    let told =
        "the generator was late by itself in 12 of 48 slices, by 8 ms at most, so that what is below that is not proof";
    for many in 1..=3 {
        let mut judged = Scenario::new(header(48, 4)).run(BAD).completed().judge();
        judged.reason =
            "reads response over 8 ms was 2.3 %, allowed 1 % in slice 17, and more of the same in others".into();
        judged.watermarks = vec!["SIMULATED".into()];
        judged.warnings = vec![told.into(); many];
        let got = text(&judged);
        fits(&got);
        assert_eq!(got.split_whitespace().filter(|word| *word == "proof").count(), many, "{got}");
        assert!(got.contains("\nslice "), "and a table:\n{got}");
    }
}

/// However much there is to say, the summary keeps to its 40 lines and begins with what decided. Only the reason and the
/// watermarks, which are never cut, may take more lines than the three that they usually have.
#[test]
fn a_summary_with_too_much_of_everything_fits() {
    let long = "the device was slower than what was asked of it, and longer than a line is wide, ".repeat(9);
    let mut judged = Scenario::new(header(48, 4)).run(BAD).completed().judge();
    let mut tight = 0;
    for many in 0..12 {
        let repeat = |of: &str| vec![of.to_owned(); many];
        judged.reason = long.clone();
        (judged.watermarks, judged.warnings) = (repeat("SIMULATED: and so on"), repeat(&long));
        judged.damage = vec![Damaged { line: 7, offset: 7, what: long.clone(), torn_tail: false }; many];
        let broken = judged.part.criteria[1].clone();
        let noted = CriterionOutcome { note: Some(long.clone()), ..broken };
        judged.part.criteria.extend(vec![noted; many]);
        let stream = judged.part.streams.each[0].clone();
        judged
            .part
            .streams
            .each
            .extend((0..many).map(|n| StreamTotals { name: format!("{n}{long}"), ..stream.clone() }));
        judged.part.course.gaps =
            vec![Gap { at_ns: HOUR, before: "interrupted".into(), resumed: "1970-01-01T01:00:00Z".into() }; many];
        let place = DamagedPlace { target: long.clone(), damage: "torn".into(), ..DamagedPlace::default() };
        judged.part.targets.integrity = Some(Integrity {
            verified_reads: 1_000_000_000,
            unverified_reads: many as u64,
            damaged: many as u64,
            places: vec![place; many],
        });
        let changes = vec![Change { before: 1.0, after: 2.0, ..Change::default() }; many];
        judged.part.course.steadiness =
            vec![Steadiness { stream: long.clone(), changes, ..Steadiness::default() }; many];
        let part = StepFigures { criteria: Vec::new(), ..judged.part.clone() };
        let step = Step {
            number: 1,
            of: 12,
            title: long.clone(),
            verdict: Verdict::Fail,
            reason: long.clone(),
            deciding: None,
            load: "30x".into(),
            gain: None,
            warnings: Vec::new(),
            part,
        };
        judged.steps = vec![step; many];
        let got = text(&judged);
        let limits = got.lines().skip(1).take_while(|line| line.starts_with("            ")).count();
        let kept: Vec<&str> = got.lines().take(1).chain(got.lines().skip(limits.saturating_sub(2))).collect();
        fits(&kept.join("\n"));
        tight += usize::from(got.contains("assay judge LOG --table"));
        assert!(got.starts_with("FAIL") && got.trim_end().ends_with("(exit code 10)"), "{got}");
        assert!(
            got.lines().any(|line| line.starts_with("FAIL        reads response over 1 ms")),
            "what was broken is listed:\n{got}"
        );
    }
    assert!(tight > 0, "not one of them was too long");
}

#[test]
fn json_holds_what_scripts_read() {
    let judged = Scenario::new(header(2, 1)).run(good).completed().judge();
    let mut text = String::new();
    render::write_json(&judged, &mut text).unwrap();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["schema"], 1);
    assert_eq!(value["verdict"], "PASS");
    let reads = &value["streams"][0];
    for (key, expected) in
        [("name", serde_json::json!("reads")), ("scheduled", 72_000.into()), ("operations", 72_000.into())]
    {
        assert_eq!(reads[key], expected);
    }
    assert_eq!(reads["response"]["over"]["1ms"], 720);
    assert_eq!(reads["service"]["max_ns"], 2_000_000);
    assert!(reads["lag"]["p99_9_ns"].is_u64() && reads["errors"].as_object().unwrap().is_empty());
    assert_eq!(value["slices"][1]["streams"][0]["response"]["over"]["8ms"], 0);
    assert!(value["criteria"].is_array() && value["targets"].is_array() && value["plan"].is_object());
    let back: Judgement = serde_json::from_str(&text).unwrap();
    assert_eq!(back, judged, "the JSON says everything the judgement does");
}

/// What limits a result and what decided it are never shortened, however narrow the terminal is and however much else
/// there is to say.
#[test]
fn a_narrow_terminal_gets_reason_and_watermarks_whole() {
    let mut judged = Scenario::new(header(48, 4)).run(BAD).completed().judge();
    let words = |many: usize, of: &str| (0..many).map(|n| format!("{of}{n}")).collect::<Vec<_>>().join(" ");
    for (many, columns) in [(5, 80), (60, 80), (120, 80), (120, 120), (120, 20)] {
        judged.reason = words(many, "why") + " 2 ms";
        judged.watermarks =
            vec![format!("SIMULATED: {}", words(many, "mark")), format!("DERIVED {}", words(many, "of"))];
        judged.warnings = vec![words(90, "warning"); 9];
        judged.part.criteria[0].asked.title = words(12, "title");
        let mut shown = String::new();
        assert_eq!(render::text_for(&judged, "LOG", render::Reader::Terminal(columns), &mut shown), Ok(()));
        let shown_words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        for whole in [&judged.reason, &judged.watermarks[0], &judged.watermarks[1]] {
            assert!(shown_words.contains(whole.as_str()), "{columns} columns lack {whole}:\n{shown}");
        }
        assert!(shown_words.contains(&words(12, "title")), "the title of a criterion:\n{shown}");
        assert!(!shown.lines().any(|line| line.trim_start().starts_with("ms")), "a unit without its number:\n{shown}");
    }
}
