//! One phase of a run judged by itself, with everything before it as its warm-up.

#![allow(clippy::unwrap_used, reason = "a test panics to fail")]

use crate::common;

use assay_judge::{Judgement, Options, Verdict};
use assay_record::{PhaseHead, PhaseKind};
use common::*;

/// Three measured phases of an hour after ten minutes of warm-up: 0.5, 4 and 6 % of the operations over 1 ms, and `errors`
/// errors a minute in the last.
fn three_with(errors: u64) -> Scenario {
    let mut head = header(1, 1);
    let phase = |name: &str| PhaseHead {
        name: name.into(),
        kind: PhaseKind::Measure,
        span_ns: HOUR,
        steady_round_ns: None,
        until_done: false,
    };
    head.phases[0].span_ns = 10 * MINUTE;
    head.phases.truncate(1);
    head.phases.extend(["low", "high", "beyond"].map(phase));
    let mut scenario = Scenario::new(head).warm_up();
    for (index, slow, errors) in [(1, 5, 0), (2, 40, 0), (3, 60, errors)] {
        (0..60).for_each(|_| scenario.interval(index, MINUTE, &|_| Minute { slow, errors, ..Minute::default() }));
    }
    scenario
}

fn three() -> Scenario {
    three_with(0)
}

fn only(log: &[u8], phase: &str) -> Judgement {
    judge_with(log, &Options { phase: Some(phase.into()), ..Options::default() })
}

#[test]
fn each_phase_has_its_own_verdict_and_figures() {
    let log = three().completed().bytes();
    let whole = judge_with(&log, &Options::default());
    assert_eq!((whole.verdict, whole.part.time.planned_ns), (Verdict::Fail, 3 * HOUR));
    for (index, (name, verdict, over)) in
        [("low", Verdict::Pass, 0.005), ("high", Verdict::Pass, 0.04), ("beyond", Verdict::Fail, 0.06)]
            .into_iter()
            .enumerate()
    {
        let judged = only(&log, name);
        let part = &judged.part;
        assert_eq!(
            (judged.verdict, part.time.planned_ns, part.time.measured_ns),
            (verdict, HOUR, HOUR),
            "{}",
            judged.reason
        );
        assert_eq!((part.slices.listed.len(), part.streams.phases.len()), (1, 0), "{name}");
        let found = &part.streams.each[0];
        let of_whole = &whole.part.streams.phases[index].streams[0];
        assert_eq!(found.rate_achieved, of_whole.rate_achieved, "{name}");
        assert_eq!(found.response.operations, of_whole.response.operations, "{name}");
        let share = part.criteria[1].worst.as_ref().unwrap().value;
        assert!((share - over).abs() < 0.0005, "{name}: {share}");
    }
}

#[test]
fn a_phase_that_is_not_whole_in_the_log_proves_nothing() {
    let cut = three().bytes();
    assert_eq!(only(&cut, "low").verdict, Verdict::Incomplete, "nobody knows how the run ended");
    let log = three().completed().bytes();
    let unknown = judge(&log, "lower");
    assert!(unknown.is_err(), "no step has such a phase");
    let mut rest = three().header;
    (rest.continues, rest.measured_before_ns) = (true, 3 * HOUR);
    let continued = three().segment(rest).completed().bytes();
    assert_ne!(
        only(&continued, "low").verdict,
        Verdict::Pass,
        "a run that was continued was not one uninterrupted run"
    );
}

/// An error outside of the phase that is judged counts against the device, as an error in a warm-up does.
#[test]
fn an_error_in_any_phase_fails_each() {
    let log = three_with(1).completed().bytes();
    for phase in ["low", "high", "beyond"] {
        let judged = only(&log, phase);
        assert!(judged.verdict == Verdict::Fail && judged.reason.contains("60 EIO"), "{phase}: {}", judged.reason);
    }
}

fn judge(log: &[u8], phase: &str) -> Result<Judgement, assay_judge::JudgeError> {
    let options = Options { phase: Some(phase.into()), ..Options::default() };
    assay_judge::judge_log(assay_record::Reader::new(log), &options)
}
