//! Streams that begin later than the run or end before it: which part of a slice is judged, and what proves nothing.

#![allow(clippy::unwrap_used, reason = "a test panics to fail")]

use crate::common;

use assay_judge::{Judgement, Verdict, render};
use assay_record::{FlowHead, StepHead, StreamHead};
use common::*;
use serde_json::{Value, json};

const NOTHING: Minute = Minute { unscheduled: PER_MINUTE, ..GOOD };

/// Three hours of a stream with this life, in slices of an hour; events stand before the interval that they belong to.
fn judged(life: Value, at: impl Fn(u64) -> Minute, events: &[(u64, &str, &str, u64)]) -> Judgement {
    let mut head = header(3, 1);
    head.phases[0].span_ns = 0;
    let mut stream = json!({"name": "reads"});
    stream.as_object_mut().unwrap().extend(life.as_object().unwrap().clone());
    head.plan = json!({"seed": 7, "streams": [stream]});
    head.criteria.push("reads rate at least 9.9/s per 1h".parse().unwrap());
    let mut scenario = Scenario::new(head);
    for minute in 0..180 {
        for (_, what, detail, minutes) in events.iter().filter(|(at, ..)| *at == minute) {
            scenario = scenario.event_with(what, "told", &[("flow", "0"), (detail, &(minutes * MINUTE).to_string())]);
        }
        scenario = scenario.minutes(minute..minute + 1, |minute, _| at(minute));
    }
    scenario.completed().judge()
}

fn within(minutes: std::ops::Range<u64>) -> impl Fn(u64) -> Minute {
    move |minute| if minutes.contains(&minute) { GOOD } else { NOTHING }
}

#[test]
fn a_slice_is_judged_over_the_part_in_which_the_stream_lives() {
    let life = json!({"start": "30min", "for": "75min"});
    let whole = judged(json!({}), within(30..105), &[]);
    assert_eq!(whole.verdict, Verdict::Fail, "without its life its rate is too low: {}", whole.reason);
    let lived = judged(life.clone(), within(30..105), &[]);
    assert_eq!(lived.verdict, Verdict::Pass, "{}", lived.reason);
    assert_eq!(lived.part.criteria.last().unwrap().windows, 2, "there is nothing to judge in the third slice");
    let rate = lived.part.streams.each[0].rate_achieved.unwrap();
    assert!((9.9..10.1).contains(&rate), "its rate is that of its life: {rate}");
    let idle = judged(life.clone(), within(30..90), &[]);
    assert_eq!(idle.verdict, Verdict::Fail, "a quarter of an hour of its life is missing: {}", idle.reason);
    let slow = judged(life, |minute| Minute { slow: 200, ..within(30..105)(minute) }, &[]);
    assert_eq!(slow.verdict, Verdict::Fail, "{}", slow.reason);
}

#[test]
fn what_was_in_flight_at_its_end_is_judged_with_the_slice_in_which_it_ended() {
    let life = json!({"for": "1h"});
    // Its last five operations take long, and complete in the next slice.
    let at = |minute| match minute {
        59 => Minute { in_flight: 5, ..GOOD },
        60 => Minute { slow: 1000, ..NOTHING },
        minute => within(0..59)(minute),
    };
    let judged_ = judged(life.clone(), at, &[]);
    assert_eq!(judged_.verdict, Verdict::Pass, "5 of 36000 are slow: {}", judged_.reason);
    assert_eq!(judged_.part.slices.listed[0].streams[0].counts.operations, 36_000, "all of them are in its only slice");
    let never = |minute| match minute {
        59 => Minute { in_flight: 5, ..GOOD },
        60.. => Minute { in_flight: 5, ..NOTHING },
        minute => within(0..59)(minute),
    };
    let stuck = judged(life, never, &[]);
    assert_ne!(stuck.verdict, Verdict::Pass, "five operations never came back: {}", stuck.reason);
}

#[test]
fn numbers_and_other_streams_end_and_begin_a_life_by_what_the_run_tells() {
    let ends = [(90, "stream-end", "completed_ns", 90)];
    let counted = judged(json!({"operations": 54000, "start": "1ns"}), within(0..90), &ends);
    assert_eq!(counted.verdict, Verdict::Pass, "{}", counted.reason);
    let untold = judged(json!({"operations": 54000, "start": "1ns"}), within(0..90), &[]);
    assert_eq!(untold.verdict, Verdict::Fail, "nothing says that it was done: {}", untold.reason);
    let begins = [(70, "stream-begin", "begun_ns", 70)];
    let behind = json!({"after": "others", "for": "20min"});
    let begun = judged(behind.clone(), within(70..90), &begins);
    assert_eq!(begun.verdict, Verdict::Pass, "{}", begun.reason);
    let never = judged(behind, within(0..0), &[]);
    assert_eq!(never.verdict, Verdict::Invalid, "{}", never.reason);
    assert!(never.reason.contains("reads never began, because others had not ended"), "{}", never.reason);
}

#[test]
fn a_life_in_which_nothing_completed_does_not_pass() {
    let nothing = judged(json!({"start": "30min", "for": "10min"}), within(0..0), &[]);
    assert_ne!(nothing.verdict, Verdict::Pass, "{}", nothing.reason);
}

/// What the run told before it was interrupted holds after it as well.
#[test]
fn a_life_is_remembered_over_an_interruption() {
    let mut head = header(3, 1);
    head.phases[0].span_ns = 0;
    head.plan = json!({"seed": 7, "streams": [{"name": "reads", "operations": 54_000, "start": "1ns"}]});
    let mut rest = head.clone();
    (rest.continues, rest.measured_before_ns, rest.phases[1].span_ns) = (true, 100 * MINUTE, 80 * MINUTE);
    let details = [("flow", "0"), ("completed_ns", &(90 * MINUTE).to_string()[..])];
    let first = Scenario::new(head).minutes(0..90, |_, _| GOOD).event_with("stream-end", "told", &details);
    let first = first.minutes(90..100, |_, _| NOTHING).close(assay_record::CloseReason::Interrupted, "SIGINT");
    let judged = first.segment(rest).minutes(100..180, |_, _| NOTHING).completed().judge();
    let slices: Vec<_> = judged.part.slices.listed.iter().map(|slice| (slice.valid, slice.within)).collect();
    assert_eq!((judged.part.history.segments, slices[2]), (2, (true, true)), "{}: {slices:?}", judged.reason);
    let rate = judged.part.streams.each[0].rate_achieved.unwrap();
    assert!((9.99..10.01).contains(&rate), "over the ninety minutes in which it lived: {rate}");
}

/// The log ends while the second slice waits for the last operations of a stream that ended with it.
#[test]
fn a_slice_that_waits_when_the_log_ends_is_judged() {
    let mut head = header(3, 1);
    head.phases[0].span_ns = 0;
    head.plan = json!({"seed": 7, "streams": [{"name": "reads", "for": "2h"}]});
    let never = |minute, _| match minute {
        119 => Minute { in_flight: 5, ..GOOD },
        120.. => Minute { in_flight: 5, ..NOTHING },
        _ => GOOD,
    };
    let run = Scenario::new(head).minutes(0..130, never);
    let judged = run.close(assay_record::CloseReason::Interrupted, "SIGINT").judge();
    let slices: Vec<_> = judged.part.slices.listed.iter().map(|slice| (slice.number, slice.complete)).collect();
    assert_eq!(slices[..2], [(1, true), (2, true)], "{}", judged.reason);
    assert_eq!(judged.part.criteria.iter().map(|it| it.windows).max(), Some(2), "{slices:?}");
}

/// A run of a stream for each life, all on one target; `at` says what each does in each minute.
fn together(lives: &[Value], at: impl Fn(u64, usize) -> Minute, events: &[(u64, usize, &str, u64)]) -> Judgement {
    let mut head = header(1, 1);
    head.phases[0].span_ns = 0;
    let name = |at: usize| format!("job-{at}");
    head.streams = (0..lives.len()).map(|at| StreamHead { name: name(at), ..head.streams[0].clone() }).collect();
    head.flows = (0..lives.len() as u16).map(|stream| FlowHead { stream, target: 0 }).collect();
    let streams = lives.iter().enumerate().map(|(at, life)| {
        let mut stream = json!({"name": name(at)});
        stream.as_object_mut().unwrap().extend(life.as_object().unwrap().clone());
        stream
    });
    head.plan = json!({"seed": 7, "streams": streams.collect::<Vec<_>>()});
    head.criteria.clear();
    let mut scenario = Scenario::new(head);
    for minute in 0..60 {
        for (_, flow, what, minutes) in events.iter().filter(|(at, ..)| *at == minute) {
            let detail = if *what == "stream-begin" { "begun_ns" } else { "completed_ns" };
            let details = [("flow", &flow.to_string()[..]), (detail, &(minutes * MINUTE).to_string())];
            scenario = scenario.event_with(what, "told", &details);
        }
        scenario = scenario.minutes(minute..minute + 1, &at);
    }
    scenario.completed().judge()
}

/// Every stream does ten operations a second while it runs. However they follow each other, a drive that did ten a second
/// is never shown with more.
#[test]
fn rates_of_what_ran_one_after_another_are_not_added() {
    let begin_end =
        |flow: usize, from: u64, to: u64| [(from, flow, "stream-begin", from), (to - 1, flow, "stream-end", to)];
    let waits = [begin_end(1, 20, 40), begin_end(2, 40, 60)].concat();
    let counted = |life: Value| {
        let mut life = life;
        life["operations"] = 12_000.into();
        life
    };
    for (what, lives, ran, events, expected) in [
        (
            "jobs that wait for each other",
            vec![
                counted(json!({"start": "1ns"})),
                counted(json!({"after": "job-0"})),
                counted(json!({"after": "job-1"})),
            ],
            vec![0..20u64, 20..40, 40..60],
            [vec![(19, 0, "stream-end", 20)], waits].concat(),
            (10.0, 60),
        ),
        (
            "jobs that begin later, with a pause in between",
            vec![json!({"for": "10min"}), json!({"start": "30min", "for": "20min"})],
            vec![0..10, 30..50],
            vec![(9, 0, "stream-end", 10), (49, 1, "stream-end", 50)],
            (10.0, 30),
        ),
        (
            "one beside all, and one for a part of the time",
            vec![json!({}), json!({"start": "30min", "for": "30min"})],
            vec![0..60, 30..60],
            vec![],
            (15.0, 60),
        ),
    ] {
        let judged = together(&lives, |minute, flow| if ran[flow].contains(&minute) { GOOD } else { NOTHING }, &events);
        let throughput = judged.part.streams.throughput.unwrap();
        let shown = (throughput.operations_per_second, (throughput.ran_ns + 1) / MINUTE);
        assert!((shown.0 - expected.0).abs() < 0.01 && shown.1 == expected.1, "{what}: {throughput:?}");
        for (stream, own) in judged.part.streams.each.iter().zip(&ran) {
            let rate = stream.rate_achieved.unwrap();
            assert!((rate - 10.0).abs() < 0.01, "{what}: {} ran at {rate}", stream.name);
            let minutes = (*own != (0..60)).then_some(own.end - own.start);
            assert_eq!(
                stream.ran_ns.map(|ns| (ns + 1) / MINUTE).filter(|ran| *ran < 60),
                minutes,
                "{what}: {}",
                stream.name
            );
        }
        for shown in [
            text(&judged, render::write_summary),
            text(&judged, render::write_markdown),
            text(&judged, render::write_junit),
        ] {
            assert!(
                shown.contains(&format!("{:.0} IOPS", expected.0)) && !shown.contains("20 IOPS"),
                "{what}: {shown}"
            );
            let in_part = throughput.ran_ns + MINUTE < 60 * MINUTE;
            assert!(!shown.contains("60 min") && !shown.contains("in 1 h"), "all of the time is no part: {shown}");
            assert_eq!(shown.contains("over the 30 min in which a stream ran"), in_part, "{what}: {shown}");
        }
        let page = text(&judged, render::write_html);
        assert!(page.contains(&format!("<dt>IOPS</dt><dd>{:.1}<", expected.0)), "{what}");
        assert!(!page.contains("while a stream ran, 1 h") && !page.contains("60 min"), "{what}");
    }
}

fn text(judged: &Judgement, render: fn(&Judgement, &mut dyn std::fmt::Write) -> std::fmt::Result) -> String {
    let mut text = String::new();
    render(judged, &mut text).unwrap();
    text
}

/// Each of two steps has figures of its own in every form of the result.
#[test]
fn each_step_is_shown_with_its_own_figures() {
    let step = |number, title: &str| {
        let mut head = header(1, 1);
        head.phases[0].span_ns = 0;
        head.criteria.clear();
        head.step = Some(StepHead {
            number,
            of: 2,
            title: title.into(),
            stress: false,
            until_certain: false,
            of_workload: true,
        });
        head
    };
    let slow = |minute, flow| Minute { unscheduled: PER_MINUTE / 2, ..good(minute, flow) };
    let run = Scenario::new(step(1, "fill")).minutes(0..60, good).completed();
    let judged = run.segment(step(2, "reader")).minutes(0..60, slow).completed().judge();
    assert_eq!(judged.steps.len(), 2);
    for shown in [
        text(&judged, render::write_summary),
        text(&judged, render::write_markdown),
        text(&judged, render::write_junit),
    ] {
        for figure in ["10 IOPS", "5.0 IOPS"] {
            assert!(shown.contains(figure), "{figure}: {shown}");
        }
        assert!(!shown.contains("15 IOPS"), "{shown}");
    }
    let mut piped = String::new();
    render::text_for(&judged, "LOG", render::Reader::Pipe, &mut piped).unwrap();
    for heading in ["step 1 of 2, fill", "step 2 of 2, reader", "reads 10.0 of 10.0/s", "reads 5.0 of 10.0/s"] {
        assert!(piped.contains(heading), "{heading}: {piped}");
    }
    let page = text(&judged, render::write_html);
    let steps = page.split("id=\"steps\"").nth(1).and_then(|rest| rest.split("</section>").next()).unwrap();
    assert!(steps.contains(">10.0<") && steps.contains(">5.0<"), "{steps}");
}
