//! One run on several targets: every target that broke a criterion is named, the worst first, and no figure in the
//! result is better than the one that decided.

use crate::common;

use assay_judge::judgement::{CriterionOutcome, Judgement};
use assay_judge::{Verdict, render};
use assay_record::CloseReason;
use common::*;

fn named(criterion: &CriterionOutcome) -> Vec<(&str, u64, &str)> {
    let named = criterion.broken_on.iter();
    named.map(|it| (it.target.as_str(), it.windows, it.worst.text.as_str())).collect()
}

fn text(judged: &Judgement, render: impl Fn(&Judgement, &mut dyn std::fmt::Write) -> std::fmt::Result) -> String {
    let mut text = String::new();
    render(judged, &mut text).expect("a string takes everything");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Every text of a result that a person or a program reads.
fn everywhere(judged: &Judgement, words: &str) {
    for told in [
        judged.reason.clone(),
        text(judged, render::write_summary),
        text(judged, render::write_junit),
        text(judged, render::write_markdown),
    ] {
        assert!(told.contains(words), "no \"{words}\" in:\n{told}");
    }
}

/// No target and no sum of them is worse than the worst figure, and the worst is not better than the deciding one.
fn worst_is_worst(judged: &Judgement) {
    for criterion in &judged.part.criteria {
        let (Some(worst), Some(measured)) = (&criterion.worst, &criterion.measured) else { continue };
        let sign = if criterion.asked.stream.is_none() { -1.0 } else { 1.0 };
        for figure in criterion.targets.iter().chain([measured]) {
            assert!(worst.value * sign >= figure.value * sign, "{}: {worst:?} {figure:?}", criterion.asked.title);
        }
        assert!(criterion.broken <= criterion.windows, "{}", criterion.asked.title);
    }
}

#[test]
fn the_targets_that_broke_a_bound_are_named_worst_first() {
    let slow = |minute: u64, flow: usize| match flow {
        1 if minute >= 60 => Minute { slow: 80, ..Minute::default() },
        2 if minute >= 120 => Minute { slow: 200, ..Minute::default() },
        _ => good(minute, flow),
    };
    let judged = Scenario::new(header(3, 4)).run(slow).completed().judge();
    assert_eq!(judged.verdict, Verdict::Fail);
    let criterion = &judged.part.criteria[1];
    assert_eq!(named(criterion), [("sim:c", 1, "20.00%"), ("sim:b", 2, "8.00%")]);
    assert_eq!((criterion.broken, criterion.windows), (2, 3));
    assert_eq!(criterion.worst.as_ref().unwrap().target.as_deref(), Some("sim:c"));
    assert!(judged.reason.starts_with("in slice 2 (1 h to 2 h) on sim:b: 8.00% of reads had"), "{}", judged.reason);
    everywhere(&judged, "on 2 of 4 targets, the worst first: sim:c 20.00%, sim:b 8.00%");
    worst_is_worst(&judged);
}

#[test]
fn all_targets_or_one() {
    let all = |_: u64, flow: usize| Minute { slow: 100 + 10 * flow as u64, ..Minute::default() };
    let judged = Scenario::new(header(2, 4)).run(all).completed().judge();
    everywhere(&judged, "on all 4 targets, the worst first: sim:d 13.00%, sim:c 12.00%, sim:b 11.00%, sim:a 10.00%");
    worst_is_worst(&judged);
    let one = |minute, flow| if flow == 3 { Minute { slow: 100, ..Minute::default() } } else { good(minute, flow) };
    let judged = Scenario::new(header(2, 4)).run(one).completed().judge();
    everywhere(&judged, "on 1 of 4 targets: sim:d 10.00%");
    worst_is_worst(&judged);
    let alone = Scenario::new(header(2, 1)).run(|_, _| Minute { slow: 100, ..Minute::default() }).completed().judge();
    assert!(!alone.reason.contains("targets") && alone.part.criteria[1].broken_on.is_empty(), "{}", alone.reason);
}

/// If a slice was not delivered, it counts as one slice, on however many targets and streams.
#[test]
fn a_load_that_two_targets_did_not_take_breaks_one_slice() {
    let behind = |minute: u64, flow: usize| match flow {
        1 if minute == 59 => Minute { waiting: 590, queue_us: 100, ..good(minute, flow) },
        2 if minute == 59 => Minute { waiting: 300, queue_us: 100, ..good(minute, flow) },
        _ => good(minute, flow),
    };
    let judged = Scenario::new(header(1, 4)).run(behind).completed().judge();
    assert_eq!(judged.verdict, Verdict::Fail);
    let load = &judged.part.criteria[0];
    assert_eq!((load.broken, load.windows), (1, 1), "{load:?}");
    assert_eq!(named(load), [("sim:b", 1, "98.36%"), ("sim:c", 1, "99.17%")]);
    assert!(judged.reason.starts_with("over the measured 1 h on sim:b: only 98.36% of the"), "{}", judged.reason);
    everywhere(&judged, "on 2 of 4 targets, the worst first: sim:b 98.36%, sim:c 99.17%");
    worst_is_worst(&judged);
}

/// A target on which nothing completes is the worst of all; it must not appear as a target with 100 %.
#[test]
fn a_target_that_completes_nothing_is_named() {
    let hangs = |minute: u64, flow: usize| match flow {
        2 => Minute { in_flight: (minute + 1) * 600, ..Minute::default() },
        _ => good(minute, flow),
    };
    let mut scenario = Scenario::new(header(1, 4));
    let in_warm_up = scenario.header.phases[0].span_ns / MINUTE;
    for minute in 0..in_warm_up {
        scenario.interval(0, MINUTE, &|flow| hangs(minute, flow));
    }
    let later = |minute, flow| hangs(minute + in_warm_up, flow);
    let judged = scenario.minutes(0..60, later).close(CloseReason::Completed, "").judge();
    assert_eq!(judged.verdict, Verdict::Fail, "{}", judged.reason);
    let load = &judged.part.criteria[0];
    assert_eq!(named(load), [("sim:c", 1, "none")]);
    assert_eq!(load.measured.as_ref().unwrap().text, "none");
    assert!(judged.reason.contains("on sim:c: none of ") && judged.reason.contains("completed nothing"));
    everywhere(&judged, "on 1 of 4 targets: sim:c none");
    worst_is_worst(&judged);
}

#[test]
fn every_target_with_errors_is_named() {
    let failing = |minute: u64, flow: usize| match (flow, minute) {
        (1, 10) => Minute { errors: 2, ..good(minute, flow) },
        (3, 20) => Minute { errors: 5, ..good(minute, flow) },
        _ => good(minute, flow),
    };
    let judged = Scenario::new(header(1, 4)).run(failing).completed().judge();
    assert_eq!(judged.verdict, Verdict::Fail);
    assert!(judged.reason.starts_with("reads on sim:b: 2 EIO"), "{}", judged.reason);
    everywhere(&judged, "also reads on sim:d: 5 EIO");
}

/// The head of a summary names models, size and the throughput of all targets together.
#[test]
fn the_head_names_the_models_of_several_targets() {
    for (models, told) in [
        (["A1", "A1", "A1", "A1"], "4 × A1, 4 GiB; 40 IOPS, 0.0 MB/s"),
        (["A1", "B2", "A1", "absent"], "2 × A1, 1 × B2, 4 GiB; 40 IOPS, 0.0 MB/s"),
        (["A1", "B2", "C3", "D4"], "1 × A1, 1 × B2, 2 more models, 4 GiB; 40 IOPS, 0.0 MB/s"),
    ] {
        let mut head = header(1, 4);
        for (target, model) in head.targets.iter_mut().zip(models) {
            target.facts.insert("model".into(), model.into());
        }
        let judged = Scenario::new(head).run(good).completed().judge();
        assert!(text(&judged, render::write_summary).contains(told), "{told}");
    }
}
