//! Marks divide a run into parts, each of which is judged by itself: what a device did before, during and after a disturbance, and
//! which verdict must follow.

use crate::common;

use assay_base::MarkedPart;
use assay_judge::judgement::{Outcome, PartFigures, RecoveryState};
use assay_judge::{Judgement, Verdict, render};
use assay_record::{CloseReason, Header};
use common::*;

/// Three hours; the disturbance lasts from minute 90 to minute 120, and the device needs five more minutes.
const BEGINS: u64 = 90;
const ENDS: u64 = 120;
const RECOVERED: u64 = 125;

fn disturbed(minute: u64, flow: usize) -> Minute {
    if (BEGINS..RECOVERED).contains(&minute) { BAD } else { good(minute, flow) }
}

/// The header of such a run, judged by this criterion.
fn judged_by(criterion: &str, allowed: &str) -> Header {
    let plan = serde_json::json!({"seed": 7, "recovery_at_most": allowed});
    Header { criteria: criteria(&[criterion]), plan, takes_marks: true, ..header(3, 1) }
}

impl Scenario {
    fn mark(self, text: &str, part: &str) -> Scenario {
        self.event_with("mark", text, &[("part", part), ("id", "1-1")])
    }

    /// The run with both marks, where a device behaves like this.
    fn with_marks(self, behave: impl Fn(u64, usize) -> Minute + Copy) -> Scenario {
        let before = self.warm_up().minutes(0..BEGINS, behave).mark("scrub begins", "disturbed");
        before.minutes(BEGINS..ENDS, behave).mark("scrub ends", "recovered").minutes(ENDS..180, behave)
    }
}

fn parts(judged: &Judgement) -> &[PartFigures] {
    &judged.part.course.parts
}

fn outcomes(judged: &Judgement) -> Vec<Option<Outcome>> {
    parts(judged).iter().map(|part| part.outcome).collect()
}

#[test]
fn each_part_has_its_own_figures_and_they_add_up_to_the_run() {
    let judged = Scenario::new(judged_by(STANDARD[0], "0s")).with_marks(disturbed).completed().judge();
    let kinds: Vec<MarkedPart> = parts(&judged).iter().map(|part| part.kind).collect();
    assert_eq!(kinds, MarkedPart::ALL);
    let texts: Vec<&str> = parts(&judged).iter().map(|part| part.text.as_str()).collect();
    assert_eq!(texts, ["", "scrub begins", "scrub ends"]);
    let times: Vec<(u64, u64)> =
        parts(&judged).iter().map(|part| (part.start_ns / MINUTE, part.measured_ns / MINUTE)).collect();
    assert_eq!(times, [(0, 90), (90, 30), (120, 60)]);
    let own: Vec<u64> = parts(&judged).iter().map(|part| part.streams[0].operations).collect();
    assert_eq!(own, [54_000, 18_000, 36_000]);
    assert_eq!(own.iter().sum::<u64>(), judged.part.streams.each[0].counts.operations);
    let over: Vec<u64> =
        parts(&judged).iter().map(|part| *part.streams[0].response.over.values().next().unwrap()).collect();
    assert_eq!(over, [540, 3600, 5 * 120 + 55 * 6]);
    assert_eq!(over.iter().sum::<u64>(), *judged.part.streams.each[0].response.over.values().next().unwrap());
    assert_eq!(outcomes(&judged), [Some(Outcome::Pass), Some(Outcome::Fail), Some(Outcome::Pass)]);
    // Five bad minutes of sixty are 2.6 %: the window of the recovered part holds.
    let recovery = parts(&judged)[2].recovery.as_ref().unwrap();
    assert_eq!((recovery.state, recovery.took_ns), (RecoveryState::Recovered, Some(0)));
}

#[test]
fn a_mark_makes_no_verdict_milder_unless_the_criteria_name_parts() {
    for behave in [good as fn(u64, usize) -> Minute, disturbed, |m, f| if m % 60 < 2 { BAD } else { good(m, f) }] {
        let plain = Scenario::new(judged_by(STANDARD[0], "0s")).run(behave).completed().judge();
        for places in [[1, 2], [58, 62], [60, 120], [90, 120], [119, 121], [178, 179]] {
            for kinds in [["disturbed", "recovered"], ["healthy", "disturbed"], ["recovered", "recovered"]] {
                let mut run = Scenario::new(judged_by(STANDARD[0], "3h")).warm_up();
                let mut from = 0;
                for (at, kind) in places.into_iter().zip(kinds) {
                    run = run.minutes(from..at, behave).mark("m", kind);
                    from = at;
                }
                let marked = run.minutes(from..180, behave).completed().judge();
                assert!(marked.verdict >= plain.verdict, "{places:?} {kinds:?}: {}, {}", plain.reason, marked.reason);
                let slices =
                    |judged: &Judgement| judged.part.slices.listed.iter().map(|slice| slice.within).collect::<Vec<_>>();
                assert_eq!(slices(&plain), slices(&marked), "the slices of the whole run stay as they are");
            }
        }
    }
}

#[test]
fn criteria_hold_where_they_say_so_and_the_worst_part_that_they_name_decides() {
    let bounded = |parts: &str| format!("reads response over 1ms below 5% per 10m{parts}").replace("10m", "10min");
    for (parts, allowed, verdict, says) in [
        ("", "5min", Verdict::Fail, "part 2 (disturbed, \"scrub begins\")"),
        (
            " in healthy and recovered",
            "5min",
            Verdict::Pass,
            "in the parts that the criteria name, 1 (healthy) and 3 (recovered)",
        ),
        (" in healthy and recovered", "30min", Verdict::Pass, "1 (healthy) and 3 (recovered)"),
        (" in healthy and recovered", "1min", Verdict::Fail, "in part 3 (recovered, \"scrub ends\")"),
        (" in healthy and recovered", "0s", Verdict::Fail, "in part 3 (recovered, \"scrub ends\")"),
        (" in healthy", "0s", Verdict::Pass, "1 (healthy)"),
        (" in disturbed", "0s", Verdict::Fail, "in part 2 (disturbed, \"scrub begins\")"),
        (" in healthy and disturbed", "5min", Verdict::Fail, "in part 2 (disturbed, \"scrub begins\")"),
    ] {
        let judged = Scenario::new(judged_by(&bounded(parts), allowed)).with_marks(disturbed).completed().judge();
        assert_eq!(judged.verdict, verdict, "{parts} {allowed}: {}", judged.reason);
        let decided = judged.deciding.as_ref().and_then(|place| place.part.clone()).unwrap_or_default();
        assert!(judged.reason.contains(says) || decided.contains(says), "{parts} {allowed}: {}", judged.reason);
        let recovery = parts_recovery(&judged);
        let expected = if parts == " in healthy" || parts == " in disturbed" || parts == " in healthy and disturbed" {
            (RecoveryState::NotJudged, None)
        } else {
            (RecoveryState::Recovered, Some((RECOVERED - ENDS) * MINUTE))
        };
        assert_eq!(recovery, expected, "{parts} {allowed}");
    }
}

fn parts_recovery(judged: &Judgement) -> (RecoveryState, Option<u64>) {
    let recovery = parts(judged).iter().find_map(|part| part.recovery.as_ref()).unwrap();
    assert_eq!(recovery.precision_ns, MINUTE);
    (recovery.state, recovery.took_ns)
}

#[test]
fn a_device_that_does_not_recover_is_said_to() {
    let stays = |minute: u64, flow| if minute >= BEGINS { BAD } else { good(minute, flow) };
    let criterion = "reads response over 1ms below 5% per 10min in healthy and recovered";
    let judged = Scenario::new(judged_by(criterion, "5min")).with_marks(stays).completed().judge();
    assert_eq!(judged.verdict, Verdict::Fail, "{}", judged.reason);
    assert_eq!(parts_recovery(&judged), (RecoveryState::NotRecovered, None));
    assert_eq!(outcomes(&judged), [Some(Outcome::Pass), None, Some(Outcome::Fail)]);
}

/// Ten bad minutes of an hour are 4.2 % over the bound of the hour's slice: diluted there, and not in the part.
#[test]
fn the_worst_part_is_not_diluted_by_the_rest_of_its_slice() {
    let short = |minute: u64, flow| if (70..80).contains(&minute) { BAD } else { good(minute, flow) };
    let plain = Scenario::new(judged_by(STANDARD[0], "0s")).run(short).completed().judge();
    assert_eq!(plain.verdict, Verdict::Pass, "{}", plain.reason);
    let run = Scenario::new(judged_by(STANDARD[0], "0s")).warm_up().minutes(0..70, short).mark("a", "disturbed");
    let judged = run.minutes(70..80, short).mark("b", "recovered").minutes(80..180, short).completed().judge();
    assert_eq!(judged.verdict, Verdict::Fail, "{}", judged.reason);
    assert!(judged.reason.contains("in part 2 (disturbed, \"a\")"), "{}", judged.reason);
    assert_eq!(outcomes(&judged), [Some(Outcome::Pass), Some(Outcome::Fail), Some(Outcome::Pass)]);
}

#[test]
fn the_load_is_asked_for_in_the_parts_that_criteria_name() {
    // What waits at the end of each minute of the disturbance was not delivered.
    let behind = |minute: u64, flow| {
        let waiting = if (BEGINS..ENDS).contains(&minute) { 300 } else { 0 };
        Minute { waiting, ..good(minute, flow) }
    };
    // Nothing says that the device held it back.
    let unproven = Verdict::Invalid;
    for (parts, verdict) in [("", unproven), (" in healthy and recovered", Verdict::Pass), (" in disturbed", unproven)]
    {
        let criterion = format!("reads response over 1ms below 50% per 10min{parts}");
        let judged = Scenario::new(judged_by(&criterion, "0s")).with_marks(behind).completed().judge();
        assert_eq!(judged.verdict, verdict, "{parts}: {}", judged.reason);
    }
}

#[test]
fn a_part_that_a_criterion_names_must_have_been_measured() {
    let criterion = "reads response over 1ms below 5% per 10min in healthy and recovered";
    for (marks, verdict) in [
        (&[][..], Verdict::Invalid),
        (&[(BEGINS, "disturbed")][..], Verdict::Invalid),
        (&[(BEGINS, "disturbed"), (180, "recovered")][..], Verdict::Invalid),
        (&[(BEGINS, "recovered")][..], Verdict::Pass),
        (&[(BEGINS, "disturbed"), (ENDS, "recovered")][..], Verdict::Pass),
        (&[(0, "disturbed"), (ENDS, "recovered")][..], Verdict::Invalid),
        (&[(BEGINS, "disturbed"), (179, "recovered")][..], Verdict::Pass),
    ] {
        let mut run = Scenario::new(judged_by(criterion, "0s")).warm_up();
        let mut from = 0;
        for (at, kind) in marks {
            run = run.minutes(from..*at, good).mark("m", kind);
            from = *at;
        }
        let judged = run.minutes(from..180, good).completed().judge();
        assert_eq!(judged.verdict, verdict, "{marks:?}: {}", judged.reason);
        if verdict == Verdict::Invalid {
            assert!(judged.reason.contains("nothing was measured in one"), "{marks:?}: {}", judged.reason);
        }
    }
    // What is still to come may be marked.
    let cut = Scenario::new(judged_by(criterion, "0s")).warm_up().minutes(0..BEGINS, good);
    assert_eq!(cut.close(CloseReason::Interrupted, "").judge().verdict, Verdict::Incomplete);
}

#[test]
fn errors_may_be_in_the_parts_that_allow_them_and_nowhere_else() {
    let header = || Header {
        criteria: criteria(&[
            "reads response over 8ms below 5% per 10min in healthy and recovered",
            "reads errors at most 100% per 10min in disturbed",
        ]),
        ..judged_by(STANDARD[0], "2min")
    };
    for (first, verdict) in [
        (BEGINS, Verdict::Pass),
        (ENDS - 1, Verdict::Pass),
        // Within the time that is allowed for the recovery, and behind it.
        (ENDS + 1, Verdict::Pass),
        (ENDS + 2, Verdict::Fail),
        (BEGINS - 1, Verdict::Fail),
    ] {
        let failing =
            |minute: u64, flow| Minute { errors: if minute == first { 500 } else { 0 }, ..good(minute, flow) };
        let judged = Scenario::new(header()).with_marks(failing).completed().judge();
        assert_eq!(judged.verdict, verdict, "{first}: {}", judged.reason);
    }
}

#[test]
fn marks_where_nothing_is_measured_make_parts_without_anything() {
    let run = Scenario::new(judged_by(STANDARD[0], "0s")).mark("in the warm-up", "disturbed").warm_up();
    let run = run.minutes(0..10, good).mark("twice", "recovered").mark("at once", "healthy").minutes(10..180, good);
    let judged = run.mark("after the end", "disturbed").completed().judge();
    assert_eq!(judged.verdict, Verdict::Pass, "{}", judged.reason);
    let measured: Vec<u64> = parts(&judged).iter().map(|part| part.measured_ns / MINUTE).collect();
    assert_eq!(measured, [0, 10, 0, 170, 0]);
    assert_eq!(outcomes(&judged), [None, Some(Outcome::Pass), None, Some(Outcome::Pass), None]);
    assert!(parts(&judged)[2].recovery.is_none(), "nothing was measured in it");
}

#[test]
fn a_mark_that_makes_no_sense_is_damage() {
    for details in [vec![], vec![("part", "ill")], vec![("part", "")]] {
        let run = Scenario::new(header(1, 1)).run(good).event_with("mark", "m", &details).completed();
        let judged = run.judge();
        assert_eq!(judged.verdict, Verdict::Invalid, "{details:?}: {}", judged.reason);
    }
    let mut flood = Scenario::new(Header { takes_marks: true, ..header(1, 1) }).warm_up();
    for _ in 0..1100 {
        flood = flood.mark("m", "disturbed");
    }
    let judged = flood.minutes(0..60, good).completed().judge();
    assert_eq!(judged.verdict, Verdict::Invalid, "{}", judged.reason);
    assert_eq!(parts(&judged).len(), 1000);
    // Nobody writes one into a log that says that it takes none.
    let judged = Scenario::new(Header { takes_marks: false, ..judged_by(STANDARD[0], "0s") });
    let judged = judged.with_marks(good).completed().judge();
    assert_eq!((judged.verdict, parts(&judged).len()), (Verdict::Invalid, 0), "{}", judged.reason);
}

/// A run that is continued stays in its part, and its marks stay; what was measured of a window before counts as it is.
#[test]
fn a_run_that_is_continued_stays_in_its_part() {
    let criterion = "reads response over 1ms below 5% per 10min in healthy and recovered";
    let head = judged_by(criterion, "0s");
    for (bad, verdict) in [(None, Verdict::Pass), (Some(133), Verdict::Fail), (Some(95), Verdict::Pass)] {
        let behave =
            |minute: u64, flow| if bad == Some(minute) { Minute { slow: 900, ..BAD } } else { good(minute, flow) };
        let before = Scenario::new(head.clone()).warm_up().minutes(0..BEGINS, behave).mark("scrub begins", "disturbed");
        let before = before.minutes(BEGINS..ENDS, behave).mark("scrub ends", "recovered").minutes(ENDS..135, behave);
        let again = Header { continues: true, measured_before_ns: 120 * MINUTE, ..head.clone() };
        let phases = again.phases.iter().map(|phase| match phase.name.as_str() {
            "measure" => assay_record::PhaseHead { span_ns: HOUR, ..phase.clone() },
            _ => phase.clone(),
        });
        let again = Header { phases: phases.collect(), ..again };
        let judged = before.segment(again).warm_up().minutes(120..180, good).completed().judge();
        assert_eq!(judged.verdict, verdict, "{bad:?}: {}", judged.reason);
        let measured: Vec<u64> = parts(&judged).iter().map(|part| part.measured_ns / MINUTE).collect();
        assert_eq!(measured, [90, 30, 75]);
        assert_eq!(parts_recovery(&judged).0, RecoveryState::Interrupted);
        let own: u64 = parts(&judged).iter().map(|part| part.streams[0].operations).sum();
        assert_eq!(own, judged.part.streams.each[0].counts.operations);
    }
}

#[test]
fn every_form_of_a_result_has_the_parts_and_escapes_what_marks_say() {
    let run = Scenario::new(judged_by(STANDARD[0], "0s")).warm_up().minutes(0..BEGINS, disturbed);
    let run = run.mark("<img src=x> | *begins*", "disturbed").minutes(BEGINS..ENDS, disturbed);
    let judged = run.mark("ends", "recovered").minutes(ENDS..180, disturbed).completed().judge();
    let (mut text, mut html, mut markdown, mut json) = (String::new(), String::new(), String::new(), String::new());
    render::write_summary(&judged, &mut text).unwrap();
    render::write_html(&judged, &mut html).unwrap();
    render::write_markdown(&judged, &mut markdown).unwrap();
    render::write_json(&judged, &mut json).unwrap();
    for (form, what) in
        [(&text, "2 disturbed reads"), (&html, "Before, during, after"), (&markdown, "| 2 disturbed | reads |")]
    {
        assert!(form.contains(what), "{what}: {form}");
    }
    assert!(!html.contains("<img src=x>") && !markdown.contains("<img src=x>"));
    let back: Judgement = serde_json::from_str(&json).unwrap();
    assert_eq!(parts(&back).len(), 3);
    assert_eq!(parts(&back)[1].text, "<img src=x> | *begins*");
}

/// PASS of a run whose criteria name parts says so at first sight.
#[test]
fn a_pass_of_some_parts_says_which() {
    let criterion = "reads response over 1ms below 5% per 10min in healthy and recovered";
    let judged = Scenario::new(judged_by(criterion, "5min")).with_marks(disturbed).completed().judge();
    let mut html = String::new();
    render::write_html(&judged, &mut html).unwrap();
    assert!(!html.contains("every criterion held in every slice"));
    assert!(html.contains("every criterion held in the parts of the run that the criteria name"));
    let unasked = judged.part.slices.listed.iter().filter(|slice| !slice.valid).map(|slice| slice.number);
    assert_eq!(unasked.collect::<Vec<_>>(), [2, 3], "slices with a piece of the disturbance are not judged");
}

/// A log without marks, judged by criteria that name no part, has no parts: old results stay as they are.
#[test]
fn nothing_changes_without_marks() {
    let judged = Scenario::new(header(3, 1)).run(good).completed().judge();
    assert!(parts(&judged).is_empty());
    let mut json = String::new();
    render::write_json(&judged, &mut json).unwrap();
    assert!(!json.contains("\"parts\"") && !json.contains("\"part\""));
}

/// What may fail is bounded in each kind of part, also where no window is judged: while it warms up, and while it drains.
#[test]
fn errors_are_bounded_in_the_warm_up_and_while_it_drains() {
    let header = |share: &str| Header {
        criteria: criteria(&[
            "reads response over 8ms below 50% per 10min in healthy and recovered",
            &format!("reads errors at most {share} per 10min in healthy"),
            "reads errors at most 100% per 10min in disturbed",
        ]),
        ..judged_by(STANDARD[0], "2min")
    };
    // All of two minutes of warm-up fail: of 92 minutes of a healthy part 2.2 %.
    let failing = |_: usize| Minute { errors: 600, slow: 0, ..good(0, 0) };
    for (share, verdict) in [("2%", Verdict::Fail), ("3%", Verdict::Pass)] {
        let mut run = Scenario::new(header(share));
        (0..2).for_each(|_| run.interval(0, MINUTE, &failing));
        let run = run.minutes(0..BEGINS, good).mark("a", "disturbed").minutes(BEGINS..ENDS, good);
        let judged = run.mark("b", "recovered").minutes(ENDS..180, good).completed().judge();
        assert_eq!(judged.verdict, verdict, "{share}: {}", judged.reason);
        if verdict == Verdict::Fail {
            assert!(judged.reason.contains("from the first on while it is healthy"), "{}", judged.reason);
        }
    }
}

/// A mark while the run drains adds a part in which nothing was measured, and excuses nothing that fails then.
#[test]
fn a_mark_while_it_drains_changes_no_kind() {
    let header = Header {
        criteria: criteria(&[
            "reads response over 8ms below 50% per 10min in healthy",
            "reads errors at most 100% per 10min in disturbed",
        ]),
        ..judged_by(STANDARD[0], "2min")
    };
    let failing = |minute: u64, flow| Minute { errors: u64::from(minute == 180), ..good(minute, flow) };
    for marked in [false, true] {
        let run = Scenario::new(header.clone()).warm_up().minutes(0..180, good);
        let run = if marked { run.mark("late", "disturbed") } else { run };
        let judged = run.minutes(180..181, failing).completed().judge();
        assert_eq!(judged.verdict, Verdict::Fail, "{marked}: {}", judged.reason);
        assert_eq!(parts(&judged).len(), 1 + usize::from(marked));
    }
}

/// Time for a recovery is given after a disturbance, once.
#[test]
fn time_is_allowed_for_a_recovery_from_something() {
    let criterion = "reads response over 1ms below 5% per 10min in healthy and recovered";
    let bad_between = |from: u64, to: u64| {
        move |minute: u64, flow| if (from..to).contains(&minute) { BAD } else { good(minute, flow) }
    };
    // Nothing was disturbed.
    let behave = bad_between(90, 100);
    let run = Scenario::new(judged_by(criterion, "10min")).warm_up().minutes(0..90, behave).mark("a", "recovered");
    let judged = run.minutes(90..180, behave).completed().judge();
    assert_eq!(judged.verdict, Verdict::Fail, "{}", judged.reason);
    // Marked once more, and once more: the time runs from the first.
    for (until, verdict) in [(130, Verdict::Pass), (140, Verdict::Fail)] {
        let behave = bad_between(90, until);
        let mut run = Scenario::new(judged_by(criterion, "10min")).warm_up().minutes(0..90, behave);
        run = run.mark("a", "disturbed").minutes(90..120, behave).mark("b", "recovered");
        for from in [120, 125] {
            run = run.minutes(from..from + 5, behave).mark("again", "recovered");
        }
        let judged = run.minutes(130..180, behave).completed().judge();
        assert_eq!(judged.verdict, verdict, "{until}: {}", judged.reason);
    }
}

/// A part in which errors are allowed and nothing is asked for is not one that PASS is about.
#[test]
fn a_pass_does_not_name_a_part_that_may_only_fail() {
    let header = Header {
        criteria: criteria(&[
            "reads response over 8ms below 5% per 10min in healthy and recovered",
            "reads errors at most 100% per 10min in disturbed",
        ]),
        ..judged_by(STANDARD[0], "2min")
    };
    let judged = Scenario::new(header).with_marks(good).completed().judge();
    assert_eq!(judged.verdict, Verdict::Pass, "{}", judged.reason);
    assert!(judged.reason.contains("1 (healthy) and 3 (recovered)"), "{}", judged.reason);
}
