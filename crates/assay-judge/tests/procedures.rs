//! Complete procedures, as a specification: what a device or a generator did, and which verdict must follow.

use crate::common;

use assay_base::{Direction, Measure, Span};
use assay_judge::judgement::Outcome;
use assay_judge::{Options, Verdict, render};
use assay_record::{
    CloseReason, DiskCounters, Entry, Event, Header, HostHead, PhaseHead, PhaseKind, Preparation, Reader, StepHead,
    TargetHead, Writer,
};
use common::*;

#[test]
fn a_good_device_passes_and_says_what_was_closest() {
    let judged = Scenario::new(header(3, 1)).run(good).completed().judge();
    assert_eq!(judged.verdict, Verdict::Pass, "{}", judged.reason);
    assert!(judged.reason.contains("all 3 slices") && judged.reason.contains("1.00%"), "{}", judged.reason);
    let part = &judged.part;
    assert_eq!(part.criteria[0].asked.title, "load delivered");
    assert!(part.criteria.iter().all(|criterion| criterion.outcome == Outcome::Pass && criterion.windows == 3));
    let reads = &part.streams.each[0];
    assert_eq!((reads.counts.scheduled, reads.counts.operations), (108_000, 108_000));
    assert_eq!(reads.response.over[&Span::from_ms(1)], 1080);
    assert_eq!(reads.response.max_ns, Some(2_000_000));
    let p50 = reads.response.p50_ns.unwrap();
    assert!((199_000..=201_000).contains(&p50), "{p50}");
    assert_eq!(judged.watermarks, ["SIMULATED"]);
    assert!(judged.warnings.is_empty(), "{:?}", judged.warnings);
}

#[test]
fn twelve_hours_of_a_device_that_degrades_after_five_fail_in_slice_six() {
    let degrade = |minute, flow| if minute >= 300 { BAD } else { good(minute, flow) };
    let judged = Scenario::new(header(12, 1)).run(degrade).completed().judge();
    assert_eq!(judged.verdict, Verdict::Fail);
    let deciding = judged.deciding.as_ref().unwrap();
    assert_eq!((deciding.slice, deciding.measured.as_deref()), (Some(6), Some("20.00%")));
    let within: Vec<bool> = judged.part.slices.listed.iter().map(|slice| slice.within).collect();
    assert_eq!(within, [true, true, true, true, true, false, false, false, false, false, false, false]);
    assert!(
        judged.reason.contains("slice 6 (5 h to 6 h)") && judged.reason.contains("held in 5 before"),
        "{}",
        judged.reason
    );
}

/// A slice that is over its bound only because of the generator's own lag is not valid, and its note names the own lag.
#[test]
fn a_slice_that_only_own_lag_broke_is_called_so() {
    let pushed = |m, f| Minute { pushed: if m >= 60 { 9 } else { 0 }, slow: 45, ..good(m, f) };
    let judged = Scenario::new(header(2, 1)).run(pushed).completed().judge();
    let marks: Vec<_> = judged.part.slices.listed.iter().map(|slice| (slice.valid, slice.within)).collect();
    assert_eq!(marks, [(true, true), (false, true)]);
    assert!(
        judged.part.slices.listed[1].note.as_ref().unwrap().contains("own lag"),
        "{:?}",
        judged.part.slices.listed[1]
    );
}

#[test]
fn an_engine_that_lost_count_proves_nothing() {
    for (dropped, overflowed, verdict) in
        [("0", "0", Verdict::Pass), ("1", "0", Verdict::Invalid), ("0", "3", Verdict::Invalid)]
    {
        let details =
            [("submit_retries", "5"), ("submissions_dropped", dropped), ("completions_overflowed", overflowed)];
        let scenario = Scenario::new(header(2, 1)).run(good).event_with("engine-health", "5 repeated", &details);
        let judged = scenario.completed().judge();
        assert_eq!(judged.verdict, verdict, "{dropped} {overflowed}: {}", judged.reason);
        assert_eq!(judged.reason.contains("lost count"), verdict == Verdict::Invalid, "{}", judged.reason);
    }
}

#[test]
fn verdicts() {
    type Case = (&'static str, fn(u64, usize) -> Minute, CloseReason, Verdict, &'static str);
    use CloseReason::*;
    let cases: &[Case] = &[
        ("EIO once", |m, f| Minute { errors: u64::from(m == 70), ..good(m, f) }, Completed, Verdict::Fail, "1 EIO"),
        ("short once", |m, f| Minute { short: u64::from(m == 70), ..good(m, f) }, Completed, Verdict::Fail, "1 short"),
        ("stuck once", |m, f| Minute { stuck: u64::from(m == 70), ..good(m, f) }, Completed, Verdict::Fail, "1 stuck"),
        (
            "EIO, then cut",
            |m, f| Minute { errors: u64::from(m == 3), ..good(m, f) },
            Interrupted,
            Verdict::Fail,
            "1 EIO",
        ),
        ("bad, then cut", |m, _| if m < 60 { BAD } else { Minute::default() }, Interrupted, Verdict::Fail, "slice 1"),
        ("cut", good, Interrupted, Verdict::Incomplete, "interrupted"),
        ("log failed", good, LogFailed, Verdict::Incomplete, "log could not be kept"),
        ("target lost", good, TargetLost, Verdict::Fail, "target was lost"),
        ("device lag", good, DeviceLag, Verdict::Fail, "load was not held"),
        ("generator lag", good, GeneratorLag, Verdict::Invalid, "the test machine was too slow and let"),
        ("engine failed", good, EngineFailed, Verdict::Invalid, "the engine failed"),
        (
            "slow because of own lag",
            |m, f| Minute { pushed: if m >= 60 { 9 } else { 0 }, slow: 45, ..good(m, f) },
            Completed,
            Verdict::Invalid,
            "only because the test machine issued operations late",
        ),
        (
            "slow besides own lag",
            |m, f| Minute { pushed: 9, slow: 60, ..good(m, f) },
            Completed,
            Verdict::Fail,
            "slice 1",
        ),
        (
            "own lag p99 over 1 ms",
            |m, f| Minute { pushed: 20, ..good(m, f) },
            Completed,
            Verdict::Invalid,
            "slice 1 proves nothing: the test machine issued 1% of all operations",
        ),
        (
            "not delivered, device",
            |m, f| Minute { waiting: if m % 60 == 59 { 500 } else { 0 }, queue_us: 100, ..good(m, f) },
            Completed,
            Verdict::Fail,
            "device could not take",
        ),
        (
            "not delivered, generator",
            |m, f| Minute { waiting: if m % 60 == 59 { 500 } else { 0 }, own_us: 20, ..good(m, f) },
            Completed,
            Verdict::Invalid,
            "test machine could not keep up",
        ),
        (
            "schedule too thin",
            |m, f| Minute { unscheduled: 100, ..good(m, f) },
            Completed,
            Verdict::Invalid,
            "the plan asks for 36000",
        ),
        (
            "nothing issued",
            |m, _| Minute { waiting: (m + 1) * 600, ..Minute::default() },
            Completed,
            Verdict::Invalid,
            "issued nothing",
        ),
        (
            "nothing completed",
            |m, _| Minute { in_flight: (m + 1) * 600, ..Minute::default() },
            Completed,
            Verdict::Fail,
            "completed nothing",
        ),
        (
            "nothing scheduled",
            |_, _| Minute { unscheduled: 600, ..Minute::default() },
            Completed,
            Verdict::Invalid,
            "only 0 operations of reads were due",
        ),
    ];
    for (name, behave, reason, verdict, words) in cases {
        let judged = Scenario::new(header(3, 1)).run(behave).close(*reason, "as told").judge();
        assert_eq!(judged.verdict, *verdict, "{name}: {}", judged.reason);
        assert!(judged.reason.contains(words), "{name}: {}", judged.reason);
        let listed = judged.part.criteria.iter().all(|criterion| criterion.outcome == Outcome::Pass);
        assert!(!listed || judged.verdict != Verdict::Pass);
    }
}

#[test]
fn a_generator_lag_of_a_tenth_of_the_threshold_is_a_warning() {
    let judged = Scenario::new(header(2, 1)).run(|m, f| Minute { own_us: 140, ..good(m, f) }).completed().judge();
    assert_eq!(judged.verdict, Verdict::Pass, "{}", judged.reason);
    assert!(
        judged.warnings.len() == 1 && judged.warnings[0].contains("too late, by 128 µs to 256 µs or more"),
        "{:?}",
        judged.warnings
    );
}

#[test]
fn a_log_cut_at_any_line_is_incomplete_and_never_passes() {
    let bytes = Scenario::new(header(1, 1)).run(good).completed().bytes();
    let ends: Vec<usize> = bytes.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(at, _)| at + 1).collect();
    assert_eq!(judge_bytes(&bytes).verdict, Verdict::Pass);
    for &end in &ends[..ends.len() - 1] {
        for torn in [0, 30] {
            let judged = judge_bytes(&bytes[..end + torn]);
            assert_eq!(judged.verdict, Verdict::Incomplete, "cut at byte {}: {}", end + torn, judged.reason);
        }
    }
}

#[test]
fn a_damaged_middle_never_passes_and_does_not_hide_an_earlier_failure() {
    let degrade = |minute, flow| if minute < 60 { BAD } else { good(minute, flow) };
    for (name, bytes, verdict) in [
        ("good", Scenario::new(header(3, 1)).run(good).completed().bytes(), Verdict::Invalid),
        ("bad first", Scenario::new(header(3, 1)).run(degrade).completed().bytes(), Verdict::Fail),
    ] {
        let mut bytes = bytes;
        let at = bytes.len() * 2 / 3;
        bytes[at] ^= 1;
        let judged = judge_bytes(&bytes);
        assert_eq!(judged.verdict, verdict, "{name}: {}", judged.reason);
        assert_eq!(judged.damage.len(), 1);
    }
}

#[test]
fn counts_that_do_not_add_up_are_invalid() {
    let scenario = Scenario::new(header(2, 1)).run(good);
    let mut scenario = scenario.completed();
    let text = String::from_utf8(
        std::mem::replace(&mut scenario.writer, assay_record::Writer::new(Vec::new(), 0)).into_inner(),
    )
    .unwrap();
    let mut reader = assay_record::Reader::new(text.as_bytes());
    let mut writer = assay_record::Writer::new(Vec::new(), 0);
    while let Some(Ok(mut entry)) = reader.next_entry().unwrap() {
        if let assay_record::Entry::Interval(interval) = &mut entry
            && interval.index == 30
        {
            interval.flows[0].scheduled += 1;
        }
        writer.write_entry(&entry).unwrap();
    }
    let judged = judge_bytes(&writer.into_inner());
    assert_eq!(judged.verdict, Verdict::Invalid);
    assert!(judged.reason.contains("does not add up: interval 30, reads on sim:a"), "{}", judged.reason);
    assert!(!judged.part.slices.listed[0].valid && judged.part.slices.listed[1].valid);
}

#[test]
fn a_bad_one_of_four_devices_is_named() {
    let third = |minute, flow| if flow == 2 && minute >= 60 { Minute { slow: 90, ..BAD } } else { good(minute, flow) };
    let judged = Scenario::new(header(3, 4)).run(third).completed().judge();
    assert_eq!(judged.verdict, Verdict::Fail, "together they would have been within");
    let deciding = judged.deciding.as_ref().unwrap();
    assert_eq!((deciding.target.as_deref(), deciding.slice), (Some("sim:c"), Some(2)));
    assert!(judged.reason.contains("sim:c"), "{}", judged.reason);
    let all = |minute, flow| if minute >= 60 { BAD } else { good(minute, flow) };
    let judged = Scenario::new(header(3, 4)).run(all).completed().judge();
    assert_eq!(judged.deciding.unwrap().target, None, "all are bad, none is named");
    assert_eq!(judged.part.streams.each.len(), 5);
    assert_eq!(judged.part.criteria[1].targets.len(), 4);
}

#[test]
fn a_short_run_is_judged_over_what_it_planned() {
    let mut short = header(1, 1);
    short.phases[1].span_ns = 30 * MINUTE;
    let judged = Scenario::new(short.clone()).run(good).completed().judge();
    assert_eq!(judged.verdict, Verdict::Pass, "{}", judged.reason);
    assert_eq!(judged.part.criteria[1].note.as_deref(), Some("judged over 30 min, the whole measured time"));
    short.phases[1].span_ns = 90 * MINUTE;
    let tail = |minute, flow| if minute >= 60 { BAD } else { good(minute, flow) };
    let judged = Scenario::new(short).run(tail).completed().judge();
    assert_eq!(judged.verdict, Verdict::Fail, "a planned trailing slice counts");
    assert_eq!(judged.part.slices.listed[1].note.as_deref(), Some("30 min long"));
}

#[test]
fn the_drain_belongs_to_the_last_slice() {
    // Of 36,000 operations in the slice, 36 may wait when the load ends. Waiting operations are not delivered, even
    // though they are drained later.
    for (waiting, verdict) in [(30, Verdict::Pass), (300, Verdict::Fail)] {
        let mut scenario = Scenario::new(header(2, 1)).warm_up().minutes(0..119, good);
        scenario.interval(1, MINUTE, &|_| Minute { waiting, in_flight: 10, queue_us: 50, ..Minute::default() });
        scenario.interval(1, 7_000_000_000, &|_| Minute { unscheduled: 70, queue_us: 50, ..Minute::default() });
        scenario.interval(1, MINUTE, &|_| Minute { unscheduled: PER_MINUTE, ..Minute::default() });
        let judged = scenario.completed().judge();
        assert_eq!(judged.verdict, verdict, "{}", judged.reason);
        let part = &judged.part;
        assert_eq!(part.slices.listed.len(), 2);
        assert_eq!(part.slices.listed[1].streams[0].counts.operations, 36_000);
        assert_eq!(
            (part.time.intervals.planned, part.time.intervals.present, part.time.intervals.valid),
            (120, 120, 120)
        );
        let achieved = part.streams.each[0].rate_achieved.unwrap() * 7200.0;
        assert_eq!(achieved.round() as u64, 72_000 - waiting - 10, "what was drained was not in time");
    }
}

#[test]
fn a_slice_that_was_seen_whole_counts_though_it_is_measured_again() {
    let cut = |behave: fn(u64, usize) -> Minute, again: fn(u64, usize) -> Minute| {
        let mut head = header(3, 1);
        head.continues = true;
        head.measured_before_ns = 2 * HOUR;
        head.phases[1].span_ns = HOUR;
        let first = Scenario::new(header(3, 1)).run(behave).close(CloseReason::Interrupted, "SIGINT while it drained");
        first.segment(head).warm_up().minutes(0..60, again).completed().judge()
    };
    let late: fn(u64, usize) -> Minute = |minute, flow| if minute >= 120 { BAD } else { good(minute, flow) };
    let judged = cut(late, good);
    assert_eq!(judged.verdict, Verdict::Fail, "{}", judged.reason);
    let judged = cut(good, |_, _| BAD);
    assert_eq!(judged.verdict, Verdict::Fail, "{}", judged.reason);
    let judged = cut(good, good);
    assert_eq!(judged.verdict, Verdict::Pass, "{}", judged.reason);
    assert_eq!(judged.part.time.intervals.valid, 180);
    assert!(judged.reason.contains("in all 3 slices"), "{}", judged.reason);
}

#[test]
fn a_slice_that_lacks_a_part_of_its_last_interval_is_not_whole() {
    // A signal comes at any time: the last interval has any length.
    for ms in [600, 30_000, 40_000, 59_999] {
        let cut = || {
            let mut first = Scenario::new(header(2, 1)).warm_up().minutes(0..119, good);
            first.interval(1, ms * 1_000_000, &|_| Minute::default());
            first.close(CloseReason::Interrupted, "SIGINT")
        };
        let judged = cut().judge();
        assert_eq!(judged.verdict, Verdict::Incomplete, "{ms} ms of a minute: {}", judged.reason);
        let complete: Vec<bool> = judged.part.slices.listed.iter().map(|slice| slice.complete).collect();
        assert_eq!(complete, [true, false], "{ms} ms");

        let mut head = header(2, 1);
        head.continues = true;
        head.measured_before_ns = HOUR;
        head.phases[1].span_ns = HOUR;
        let judged = cut().segment(head).warm_up().minutes(0..60, good).completed().judge();
        assert_eq!(judged.verdict, Verdict::Pass, "{ms} ms of a minute: {}", judged.reason);
        assert!(judged.reason.contains("in all 2 slices"), "{}", judged.reason);
    }
}

#[test]
fn a_step_goes_on_with_what_it_began_with() {
    type Change = fn(&mut TargetHead);
    let changes: [(Change, Verdict); 4] = [
        (|_| {}, Verdict::Pass),
        (|target| target.size_bytes *= 2, Verdict::Invalid),
        (|target| target.name = "sim:other".into(), Verdict::Invalid),
        (|target| drop(target.facts.insert("serial".into(), "S2".into())), Verdict::Invalid),
    ];
    for (change, verdict) in changes {
        let mut first = header(2, 1);
        first.targets[0].facts.insert("serial".into(), "S1".into());
        let mut head = first.clone();
        head.continues = true;
        head.measured_before_ns = HOUR;
        head.phases[1].span_ns = HOUR;
        change(&mut head.targets[0]);
        let first = Scenario::new(first).warm_up().minutes(0..60, good).close(CloseReason::Interrupted, "SIGINT");
        let judged = first.segment(head).warm_up().minutes(0..60, good).completed().judge();
        assert_eq!(judged.verdict, verdict, "{}", judged.reason);
    }
}

/// A slice of a second: up to 50 ms of its schedule may wait for the generator at its end, but nothing may wait for the
/// device.
#[test]
fn a_generator_that_is_a_moment_late_at_the_end_has_offered_the_load() {
    for (waiting, own_us, verdict) in [(25, 100, Verdict::Pass), (40, 100, Verdict::Invalid), (25, 0, Verdict::Fail)] {
        let mut short = header(1, 1);
        (short.slice_ns, short.phases[1].span_ns, short.interval_ns) = (1_000_000_000, 1_000_000_000, 1_000_000_000);
        let mut scenario = Scenario::new(short).warm_up();
        // At 600 per second; 10 in an interval of a second are the schedule's own.
        let busy = Minute { waiting, own_us, queue_us: 10, ..Minute::default() };
        scenario.interval_of(600, 1, 1_000_000_000, &|_| busy);
        scenario.interval(1, 1_000_000_000, &|_| Minute { unscheduled: 10, own_us, queue_us: 10, ..Minute::default() });
        let judged = scenario.completed().judge();
        assert_eq!(judged.verdict, verdict, "{waiting}: {}", judged.reason);
    }
}

/// A run that falls behind before anything was issued shows nothing about the device.
#[test]
fn a_device_that_was_asked_nothing_has_not_failed() {
    let closed = Scenario::new(header(1, 1)).close(CloseReason::DeviceLag, "behind by 10 s").judge();
    assert_eq!(closed.verdict, Verdict::Invalid, "{}", closed.reason);
}

#[test]
fn reads_of_what_was_never_written_prove_nothing() {
    let cases = [
        ("file", 100, 0, Verdict::Pass, 0),
        ("file", 100, 9, Verdict::Pass, 1),
        ("file", 100, 10, Verdict::Invalid, 0),
        ("block device", 100, 100, Verdict::Invalid, 0),
        ("simulated", 100, 100, Verdict::Pass, 0),
        ("null", 100, 100, Verdict::Pass, 0),
        // One blank read among a few may be chance; a single one is all that is known.
        ("file", 1, 1, Verdict::Invalid, 0),
        ("file", 2, 1, Verdict::Pass, 1),
        ("file", 2, 2, Verdict::Invalid, 0),
    ];
    for (kind, sampled, blank, verdict, warnings) in cases {
        let mut head = header(1, 1);
        head.targets[0].kind = kind.into();
        let bytes = Scenario::new(head).run(good).completed().bytes();
        let (mut reader, mut writer) = (Reader::new(bytes.as_slice()), Writer::new(Vec::new(), 0));
        while let Some(Ok(mut entry)) = reader.next_entry().unwrap() {
            if let Entry::Interval(interval) = &mut entry {
                let here = u64::from(interval.index == 7);
                (interval.flows[0].sampled, interval.flows[0].blank) = (here * sampled, here * blank);
            }
            writer.write_entry(&entry).unwrap();
        }
        let judged = judge_bytes(&writer.into_inner());
        assert_eq!(
            (judged.verdict, judged.warnings.len()),
            (verdict, warnings),
            "{kind}, {blank} of {sampled}: {}",
            judged.reason
        );
    }
}

/// Judges a log after `change` has modified its intervals.
fn judged_with(bytes: &[u8], change: impl Fn(&mut assay_record::Interval)) -> assay_judge::Judgement {
    let (mut reader, mut writer) = (Reader::new(bytes), Writer::new(Vec::new(), 0));
    while let Some(Ok(mut entry)) = reader.next_entry().expect("a log in memory is read") {
        if let Entry::Interval(interval) = &mut entry {
            change(interval);
        }
        writer.write_entry(&entry).expect("a log in memory is written");
    }
    judge_bytes(&writer.into_inner())
}

/// A run that verifies makes a statement about the data only where it found data to verify.
#[test]
fn a_run_that_verifies_and_verified_nothing_proves_nothing() {
    let nothing = "nothing that was read could be verified";
    for (verify, verified, damaged, said) in
        [(true, 0, 0, true), (true, 1, 0, false), (true, 0, 1, false), (false, 0, 0, false)]
    {
        let mut head = header(1, 1);
        head.plan = serde_json::json!({ "seed": 7, "verify": verify });
        let judged = judged_with(&Scenario::new(head).run(good).completed().bytes(), |interval| {
            let here = u64::from(interval.index == 7);
            (interval.flows[0].verified, interval.flows[0].damaged) = (here * verified, here * damaged);
        });
        assert_eq!(judged.reason.contains(nothing), said, "{verify} {verified} {damaged}: {}", judged.reason);
        assert_eq!(judged.verdict == Verdict::Pass, !said && damaged == 0, "{}", judged.reason);
    }
    // A run that did not finish is incomplete, and nothing more is said about it.
    let mut head = header(1, 1);
    head.plan = serde_json::json!({ "seed": 7, "verify": true });
    let judged = Scenario::new(head).minutes(0..9, good).close(CloseReason::Interrupted, "by a signal").judge();
    assert_eq!(judged.verdict, Verdict::Incomplete, "{}", judged.reason);
    assert!(!judged.reason.contains(nothing) && !judged.warnings.iter().any(|it| it.contains(nothing)));
}

/// Only across an interruption it is unknown whether a read returns the newest data.
#[test]
fn a_run_that_verified_over_an_interruption_warns_of_what_it_cannot_know() {
    for segments in [1, 2] {
        let mut head = header(1, 1);
        head.plan = serde_json::json!({ "seed": 7, "verify": true });
        let mut run = Scenario::new(head.clone()).minutes(0..30, good);
        if segments == 2 {
            head.continues = true;
            head.measured_before_ns = 30 * MINUTE;
            run = run.segment(head);
        }
        let judged = judged_with(&run.minutes(30..60, good).completed().bytes(), |at| at.flows[0].verified = 1);
        let warned = judged.warnings.iter().any(|told| told.contains("not whether it is the newest"));
        assert_eq!(warned, segments == 2, "{:?}", judged.warnings);
    }
}

/// An incomplete window of a criterion is missing, like an incomplete slice; a complete one is not.
#[test]
fn windows_of_a_criterions_own_have_to_be_complete() {
    let own = |minutes: u64| {
        let mut head = header(1, 1);
        head.criteria = criteria(&["reads response over 1ms below 5% per 30min"]);
        Scenario::new(head).minutes(0..minutes, good).completed().judge()
    };
    assert_eq!(own(60).verdict, Verdict::Pass, "{}", own(60).reason);
    assert!(own(60).part.criteria.iter().all(|it| it.outcome == Outcome::Pass), "{:?}", own(60).part.criteria);
    let cut = own(59);
    assert_eq!(cut.verdict, Verdict::Incomplete, "{}", cut.reason);
    // The run continued at the beginning of a slice, in the middle of the window.
    for (window, verdict) in [("30min", Verdict::Incomplete), ("10min", Verdict::Pass)] {
        let mut head = header(1, 1);
        head.slice_ns = 10 * MINUTE;
        head.criteria = criteria(&[&format!("reads response over 1ms below 5% per {window}")]);
        let run = Scenario::new(head.clone()).minutes(0..10, good);
        head.continues = true;
        head.measured_before_ns = 10 * MINUTE;
        let judged = run.segment(head).minutes(10..60, good).completed().judge();
        assert_eq!(judged.verdict, verdict, "{}", judged.reason);
        let named =
            judged.reason.contains("1 of 2 slices of \"reads response over 1ms below 5% per 30min\" are complete");
        assert_eq!(named, verdict == Verdict::Incomplete, "{}", judged.reason);
    }
}

/// No operation was due: that is not a load, whatever the device did.
#[test]
fn a_schedule_that_asked_for_nothing_proves_nothing() {
    let mut head = header(1, 1);
    // A closed loop that never issued an operation.
    head.streams[0].rate = None;
    let idle = |minutes: &'static [u64]| {
        let behave = move |minute: u64, _: usize| match minutes.contains(&minute) {
            true => good(minute, 0),
            false => Minute { unscheduled: PER_MINUTE, ..Minute::default() },
        };
        Scenario::new(head.clone()).run(behave).completed().judge()
    };
    let judged = idle(&[]);
    assert_eq!(judged.verdict, Verdict::Invalid, "{}", judged.reason);
    assert!(judged.reason.contains("no operation was scheduled in any slice"), "{}", judged.reason);
    assert_eq!(idle(&[7]).verdict, Verdict::Pass, "{}", idle(&[7]).reason);
}

#[test]
fn a_run_that_measured_nothing_says_so() {
    let judged = Scenario::new(header(1, 1)).completed().judge();
    assert_eq!((judged.verdict, judged.reason.as_str()), (Verdict::Incomplete, "nothing was measured"));
}

/// Only where the header says which reads are checked: older versions did not check slow streams.
#[test]
fn reads_of_which_none_was_looked_at_prove_nothing() {
    for (told, direction, sampled, verdict) in [
        (true, Direction::Read, 0, Verdict::Invalid),
        (true, Direction::Read, 1, Verdict::Pass),
        (true, Direction::Write, 0, Verdict::Pass),
        (false, Direction::Read, 0, Verdict::Pass),
    ] {
        let mut head = header(1, 2);
        head.streams[0].direction = Some(direction);
        if told {
            head.engine.insert("blank check".into(), "the first of each interval".into());
        }
        let bytes = Scenario::new(head).run(good).completed().bytes();
        let (mut reader, mut writer) = (Reader::new(bytes.as_slice()), Writer::new(Vec::new(), 0));
        while let Some(Ok(mut entry)) = reader.next_entry().unwrap() {
            if let Entry::Interval(interval) = &mut entry {
                (interval.flows[0].sampled, interval.flows[1].sampled) = (9, u64::from(interval.index == 7) * sampled);
            }
            writer.write_entry(&entry).unwrap();
        }
        let judged = judge_bytes(&writer.into_inner());
        assert_eq!(judged.verdict, verdict, "{told} {direction} {sampled}: {}", judged.reason);
        assert!(!judged.reason.contains("any of its 0 reads"), "{}", judged.reason);
        let named = judged.reason.contains("reads on sim:b: it is not known whether any of its 37200 reads");
        assert_eq!(named, verdict == Verdict::Invalid, "{}", judged.reason);
    }
    // Where nothing was read, nothing had to be looked at.
    let idle = |minute, flow| Minute { unscheduled: flow as u64 * PER_MINUTE, ..good(minute, flow) };
    let judged = |told: bool| {
        let mut head = header(1, 2);
        head.engine.extend(told.then(|| ("blank check".into(), "the first of each interval".into())));
        let mut run = Scenario::new(head);
        (0..2).for_each(|minute| run.interval(0, MINUTE, &|flow| idle(minute, flow)));
        let bytes = run.minutes(0..60, idle).completed().bytes();
        judged_with(&bytes, |interval| interval.flows[0].sampled = 9)
    };
    assert_eq!(judged(true).reason, judged(false).reason);
}

/// A machine that changed proves nothing in that slice, and the change is counted.
#[test]
fn a_machine_that_changed_makes_its_slice_prove_nothing() {
    let text = "the queue of sim:a was changed";
    let run = Scenario::new(header(2, 1)).warm_up().minutes(0..30, good);
    let run = run.event("environment-changed", text).event("environment", "a remark").minutes(30..120, good);
    let judged = run.completed().judge();
    assert_eq!(judged.verdict, Verdict::Invalid, "{}", judged.reason);
    let valid: Vec<bool> = judged.part.slices.listed.iter().map(|slice| slice.valid).collect();
    assert_eq!((valid, judged.part.history.environment_changes), (vec![false, true], 1));
    let outcomes: Vec<Outcome> = judged.part.criteria.iter().map(|it| it.outcome).collect();
    assert_eq!(outcomes, [Outcome::Invalid; 4], "a criterion that held in the other slice is not proven either");
    assert!(judged.warnings.iter().any(|it| it == text), "{:?}", judged.warnings);
    assert!(judged.warnings.iter().any(|it| it == "a remark"), "{:?}", judged.warnings);
}

/// A slice that was cut short names every target that had broken it by then.
#[test]
fn each_target_that_broke_a_slice_that_was_cut_is_named() {
    let behave = |minute, flow| if flow == 1 { good(minute, flow) } else { BAD };
    let run = Scenario::new(header(1, 4)).warm_up().minutes(0..40, behave);
    let judged = run.close(CloseReason::Interrupted, "").judge();
    assert_eq!(judged.verdict, Verdict::Fail, "{}", judged.reason);
    let named: Vec<&str> = judged.part.criteria[1].broken_on.iter().map(|it| it.target.as_str()).collect();
    assert_eq!(named, ["sim:a", "sim:c", "sim:d"]);
}

/// What happened in the slice that decides, and not before or after it; health reports, warnings and a load that became
/// steady explain nothing.
#[test]
fn a_broken_slice_names_what_happened_in_it() {
    let bad = |minute, flow| if minute / 60 == 1 { BAD } else { good(minute, flow) };
    let run = Scenario::new(header(3, 1)).warm_up().minutes(0..30, bad).event("drum-fire", "").minutes(30..90, bad);
    let run = run.event("knock", "").event("knock", "").event("warning", "w").event("steady", "s").event("health", "");
    let judged = run.minutes(90..150, bad).event("drum-fire", "").minutes(150..180, bad).completed().judge();
    assert_eq!(judged.deciding.as_ref().and_then(|it| it.slice), Some(2), "{}", judged.reason);
    assert!(judged.reason.contains("2 × knock"), "{}", judged.reason);
    let health = |it: &Event| it.what == assay_record::EventKind::Health;
    assert!(
        !judged.part.course.events.iter().any(health),
        "what targets report about their health is told with the targets"
    );
    for other in ["drum", "warning", "steady", "health"] {
        assert!(!judged.reason.contains(other), "{other}: {}", judged.reason);
    }
}

/// What others wrote between preparation and run: a warning, and not a certification. Later headers of the same target
/// include what the run itself wrote before it was killed.
#[test]
fn what_others_wrote_to_a_prepared_target_is_said() {
    let prepared = |head: &mut assay_record::Header, foreign_bytes| {
        head.targets[0].prepared =
            Some(Preparation { finished: "2026-11-21T00:00:00Z".into(), foreign_bytes, ..Preparation::default() });
    };
    for (foreign, said) in [(None, false), (Some(0), false), (Some(1 << 30), true)] {
        let mut head = header(1, 1);
        prepared(&mut head, foreign);
        let plain = Scenario::new(head.clone()).run(good).completed().judge();
        assert_eq!(plain.verdict, Verdict::Pass, "{}", plain.reason);
        let warned = plain.warnings.iter().any(|told| told.starts_with("sim:a: others wrote 1 GiB to it after"));
        assert_eq!(warned, said, "{:?}", plain.warnings);
        head.step = Some(StepHead {
            number: 1,
            of: 1,
            title: "load test".into(),
            stress: false,
            until_certain: false,
            of_workload: false,
        });
        let certified = Scenario::new(head).run(good).completed().judge();
        let expected = if said { Verdict::Invalid } else { Verdict::Pass };
        assert_eq!(certified.verdict, expected, "{}", certified.reason);
    }
    let (mut first, mut second) = (step(1, false), step(2, true));
    prepared(&mut first, Some(0));
    prepared(&mut second, Some(1 << 20));
    let mut behind = first.clone();
    (behind.continues, behind.measured_before_ns) = (true, 0);
    prepared(&mut behind, Some(1 << 20));
    let cut = Scenario::new(first).warm_up().minutes(0..9, good).segment(behind).run(good).completed();
    let judged = cut.segment(second).run(good).completed().judge();
    assert_eq!(judged.verdict, Verdict::Pass, "{}", judged.reason);
    assert!(!judged.warnings.iter().any(|told| told.contains("others wrote")), "{:?}", judged.warnings);
}

#[test]
fn windows_of_their_own_length() {
    let mut own = header(2, 1);
    own.criteria =
        criteria(&["reads response over 1ms below 5% per 10min", "reads service mean at most 300us per run"]);
    let spike =
        |minute, flow| if (70..80).contains(&minute) { Minute { slow: 100, ..BAD } } else { good(minute, flow) };
    let judged = Scenario::new(own.clone()).run(spike).completed().judge();
    assert_eq!(judged.verdict, Verdict::Fail);
    let [_, window, run] = judged.part.criteria.as_slice() else { panic!("three criteria") };
    assert_eq!((window.windows, window.broken, window.measured.as_ref().unwrap().window), (12, 1, 8));
    assert_eq!((run.windows, run.outcome), (1, Outcome::Pass));
    let judged = Scenario::new(own).run(good).completed().judge();
    assert_eq!(judged.verdict, Verdict::Pass, "{}", judged.reason);
}

#[test]
fn criteria_that_cannot_be_judged_never_pass() {
    for text in ["writes response over 1ms below 5% per 1h", "reads response over 1500us below 5% per 1h"] {
        let mut other = header(1, 1);
        other.criteria = criteria(&[text]);
        let judged = Scenario::new(other).run(good).completed().judge();
        assert_eq!(judged.verdict, Verdict::Invalid, "{text}: {}", judged.reason);
    }
    let mut none = header(1, 1);
    none.criteria.clear();
    let judged = Scenario::new(none).run(good).completed().judge();
    assert_eq!((judged.verdict, judged.part.criteria.len()), (Verdict::Pass, 1), "the delivered load was judged");
}

#[test]
fn service_instead_of_response() {
    let waiting = |minute, flow| Minute { queue_us: 1500, ..good(minute, flow) };
    let bytes = Scenario::new(header(1, 1)).run(waiting).completed().bytes();
    assert_eq!(judge_bytes(&bytes).verdict, Verdict::Fail);
    let service = Options { judge_on: Some(Measure::Service), ..Options::default() };
    let judged = judge_with(&bytes, &service);
    assert_eq!(judged.verdict, Verdict::Pass, "{}", judged.reason);
    assert_eq!(judged.part.criteria[1].asked.criterion, "reads service over 1ms below 5% per 1h");
}

/// Percentiles come from distributions; where these lack some operations, the reader gets a warning, unless the log
/// cannot have any.
#[test]
fn percentiles_that_are_not_of_all_operations_are_warned_of() {
    let bytes = Scenario::new(header(1, 1)).run(good).completed().bytes();
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let is_distributions = |line: &[u8]| String::from_utf8_lossy(line).contains("\"histograms\"");
    let without: Vec<u8> = lines.iter().filter(|line| !is_distributions(line)).flat_map(|line| line.to_vec()).collect();
    assert!(without.len() < bytes.len(), "the log has distributions");
    for (log, without_distributions, expected) in
        [(&bytes, false, false), (&without, false, true), (&without, true, false)]
    {
        let judged = judge_with(log, &Options { without_distributions, ..Options::default() });
        let warned = judged.warnings.iter().any(|warning| warning.starts_with("percentiles of reads cover 0 of "));
        assert_eq!(warned, expected, "{:?}", judged.warnings);
    }
}

fn step(number: u32, stress: bool) -> assay_record::Header {
    let mut head = header(1, 1);
    let title = if stress { "stress test, one device" } else { "load test, one device" };
    head.step = Some(StepHead { number, of: 2, title: title.into(), stress, until_certain: false, of_workload: false });
    head.seed += u64::from(number);
    head
}

/// A log of a certification that was put together from the steps of several: each of them may be the best of many.
#[test]
fn steps_that_are_not_of_one_run_prove_nothing() {
    type Change = fn(&mut assay_record::Header);
    let sample = |seconds: u64| {
        let ns = seconds * 1_000_000_000;
        Some(assay_record::ClockSample { at_ns: 0, real_ns: ns, boot_ns: ns, mono_ns: ns })
    };
    let changes: [(&str, Change); 8] = [
        ("", |_| {}),
        ("", |head| head.targets.push(TargetHead { name: "sim:b".into(), ..head.targets[0].clone() })),
        ("its seed is 8, and 9 would follow", |head| head.seed -= 1),
        ("it is of k3s-etcd", |head| head.name = "k3s-etcd".into()),
        ("the serial of its target", |head| drop(head.targets[0].facts.insert("serial".into(), "S2".into()))),
        ("sim:a is none of its targets", |head| head.targets[0].name = "sim:other".into()),
        ("it is one of 3 steps", |head| head.step.as_mut().unwrap().of = 3),
        ("it began at 1970-01-01T00:00:01Z", |head| {
            let clocks = head.clocks.as_mut().unwrap();
            (clocks.real_ns, clocks.mono_ns) = (1_000_000_000, 1_000_000_000);
            head.created = "1970-01-01T00:00:01Z".into();
        }),
    ];
    for (words, change) in changes {
        let (mut first, mut second) = (step(1, false), step(2, true));
        first.targets[0].facts.insert("serial".into(), "S1".into());
        second.targets[0].facts.insert("serial".into(), "S1".into());
        (first.clocks, second.clocks) = (sample(1000), sample(90_000));
        change(&mut second);
        let judged = Scenario::new(first).run(good).completed().segment(second).run(good).completed().judge();
        let expected = if words.is_empty() { Verdict::Pass } else { Verdict::Invalid };
        let told = judged.damage.first().map_or("", |damage| damage.what.as_str());
        assert_eq!((judged.verdict, told.contains(words)), (expected, true), "{words}: {}: {told}", judged.reason);
    }
}

#[test]
fn a_certificate_is_as_good_as_its_worst_step() {
    let two = |second: fn(u64, usize) -> Minute| {
        Scenario::new(step(1, false)).run(good).completed().segment(step(2, true)).run(second).completed().judge()
    };
    let judged = two(|_, _| BAD);
    assert_eq!(judged.verdict, Verdict::Pass, "latencies do not count in a stress step: {}", judged.reason);
    assert_eq!(judged.steps.len(), 2);
    assert_eq!(judged.steps[1].part.criteria[1].outcome, Outcome::NotApplied);
    let judged = two(|m, f| Minute { errors: u64::from(m == 5), ..good(m, f) });
    assert_eq!(judged.verdict, Verdict::Fail);
    assert!(judged.reason.starts_with("step 2 of 2 (stress test, one device): "), "{}", judged.reason);
    assert!(judged.part.stress, "the deciding step's figures stand on top");
    let judged = Scenario::new(step(1, false)).run(good).completed().judge();
    assert_eq!(judged.verdict, Verdict::Incomplete);
    assert!(judged.reason.contains("step 2 of 2 is not in the log"), "{}", judged.reason);
    let mut suites = String::new();
    render::write_junit(&judged, &mut suites).unwrap();
    assert!(suites.contains("<error type=\"INCOMPLETE\""), "{suites}");
}

#[test]
fn reading_back_does_not_hide_that_the_load_was_never_steady() {
    for (steady, verdict) in [("steady", Verdict::Pass), ("not-steady", Verdict::Invalid)] {
        let mut head = header(1, 1);
        head.step = Some(StepHead {
            number: 1,
            of: 1,
            title: "load test".into(),
            stress: false,
            until_certain: false,
            of_workload: false,
        });
        head.phases[0].steady_round_ns = Some(MINUTE);
        let back = PhaseKind::WarmUp;
        head.phases.push(PhaseHead {
            name: "read-back".into(),
            kind: back,
            span_ns: HOUR,
            steady_round_ns: None,
            until_done: false,
        });
        let mut scenario = Scenario::new(head).warm_up().event(steady, "no five rounds").minutes(0..60, good);
        scenario.interval(2, MINUTE, &|_| Minute { unscheduled: PER_MINUTE, ..Minute::default() });
        let judged = scenario.completed().judge();
        assert_eq!(judged.verdict, verdict, "{}", judged.reason);
    }
}

#[test]
fn a_phase_that_ends_when_all_is_done_was_planned_for_as_long_as_it_lasted() {
    let log = |until_done: bool, done: bool| {
        let mut head = header(24, 2);
        (head.phases[0].span_ns, head.phases[1].until_done) = (0, until_done);
        head.plan = serde_json::json!({"seed": 7, "streams": [{"name": "reads", "operations": 9000}]});
        let scenario = Scenario::new(head).minutes(0..30, good).event_with("stream-end", "done", &[("flow", "0")]);
        if done { scenario.event_with("stream-end", "done", &[("flow", "1")]) } else { scenario }
    };
    let judged = log(true, true).completed().judge();
    assert_eq!(judged.verdict, Verdict::Pass, "{}", judged.reason);
    assert_eq!((judged.part.time.planned_ns, judged.part.slices.listed.len()), (30 * MINUTE, 1));
    let closing = |scenario: Scenario, reason| scenario.close(reason, "said").judge().verdict;
    assert_eq!(closing(log(true, true), CloseReason::Interrupted), Verdict::Incomplete, "it was cut");
    assert_eq!(closing(log(true, false), CloseReason::Completed), Verdict::Incomplete, "one stream was not done");
    assert_eq!(closing(log(false, true), CloseReason::Completed), Verdict::Incomplete, "24 hours were planned");
    let bad = Scenario::new({
        let mut head = header(24, 1);
        (head.phases[0].span_ns, head.phases[1].until_done) = (0, true);
        head
    });
    let judged = bad.minutes(0..30, |_, _| BAD).completed().judge();
    assert_eq!(judged.verdict, Verdict::Fail, "what broke a bound is judged: {}", judged.reason);
}

#[test]
fn a_continued_step_counts_only_uninterrupted_slices() {
    let resumed = |at_minute: u64| {
        let mut head = header(3, 1);
        head.continues = true;
        head.measured_before_ns = at_minute * MINUTE;
        head.phases[1].span_ns = 3 * HOUR - at_minute * MINUTE;
        let first =
            Scenario::new(header(3, 1)).warm_up().minutes(0..90, good).close(CloseReason::Interrupted, "SIGINT");
        let minutes = 180 - at_minute;
        first.segment(head).warm_up().minutes(0..minutes, good).completed().judge()
    };
    let in_the_middle = resumed(90);
    assert_eq!(in_the_middle.verdict, Verdict::Incomplete, "{}", in_the_middle.reason);
    assert!(in_the_middle.reason.contains("2 of 3 slices"), "{}", in_the_middle.reason);
    assert_eq!(in_the_middle.part.course.gaps.len(), 1);
    let at_the_slice = resumed(60);
    assert_eq!(at_the_slice.verdict, Verdict::Pass, "the cut slice was measured again: {}", at_the_slice.reason);
    let complete: Vec<bool> = in_the_middle.part.slices.listed.iter().map(|slice| slice.complete).collect();
    assert_eq!(complete, [true, false, true]);
}

/// What several ranks began a process alone cannot continue, nor ranks what a process began: it would prove another load.
#[test]
fn nobody_continues_a_run_of_several_ranks() {
    let of_ranks = |mut head: Header, ranks: u32| {
        let rank =
            |rank| HostHead { rank, name: "node".to_owned(), parts: 1, all_parts: ranks.into(), ..HostHead::default() };
        head.hosts = (0..ranks).map(rank).collect();
        head
    };
    for (before, after) in [(2, 0), (0, 2), (2, 2), (1, 0), (1, 1)] {
        let first = Scenario::new(of_ranks(header(3, 1), before)).warm_up().minutes(0..60, good);
        let mut head = of_ranks(header(3, 1), after);
        head.continues = true;
        head.measured_before_ns = HOUR;
        head.phases[1].span_ns = 2 * HOUR;
        let again = first.close(CloseReason::Interrupted, "SIGINT").segment(head).warm_up().minutes(0..120, good);
        let judged = again.completed().judge();
        assert_eq!(judged.verdict, Verdict::Invalid, "{before} and {after}: {}", judged.reason);
    }
}

#[test]
fn block_devices_that_counted_something_else() {
    type Disk = fn(u64, u64) -> DiskCounters;
    let cases: [(Disk, Verdict, usize); 4] = [
        (|n, bytes| DiskCounters { reads: n, read_bytes: bytes, ..DiskCounters::default() }, Verdict::Pass, 0),
        (|n, bytes| DiskCounters { reads: n / 2, read_bytes: bytes, ..DiskCounters::default() }, Verdict::Pass, 0),
        (
            |n, bytes| DiskCounters { reads: n * 11 / 10, read_bytes: bytes * 12 / 10, ..DiskCounters::default() },
            Verdict::Pass,
            1,
        ),
        (|_, _| DiskCounters::default(), Verdict::Invalid, 0),
    ];
    for (disks, verdict, warnings) in cases {
        let scenario = Scenario::new(header(1, 1)).with_disks(disks);
        let judged = scenario.run(good).completed().judge();
        assert_eq!(
            (judged.verdict, judged.warnings.len()),
            (verdict, warnings),
            "{} {:?}",
            judged.reason,
            judged.warnings
        );
    }
    let scenario = Scenario::new(header(1, 1)).with_disks(|_, _| DiskCounters::default());
    let judged = scenario.run(|_, _| BAD).completed().judge();
    assert_eq!(
        judged.verdict,
        Verdict::Invalid,
        "a slice over its bound proves nothing about a device that was not asked"
    );
}

/// The counters of the block device are in the result beside what the run completed.
#[test]
fn what_a_block_device_counted_is_told() {
    let disks = |n, bytes| DiskCounters { reads: n * 5 / 4, read_bytes: bytes * 3 / 2, ..DiskCounters::default() };
    let judged = Scenario::new(header(1, 1)).with_disks(disks).run(good).completed().judge();
    let disk = judged.part.targets.each[0].disk.as_ref().unwrap();
    let (own, bytes) = (62 * PER_MINUTE, 62 * PER_MINUTE * 512);
    assert_eq!((disk.own_operations, disk.own_bytes), (own, bytes));
    assert_eq!((disk.operations, disk.bytes), (own * 5 / 4, bytes * 3 / 2));
    assert_eq!(disk.mismatch, 0.25, "by operations it is closer");
}

/// The place of errors in the result: which stream on which target, how many, since when.
#[test]
fn an_error_is_placed() {
    let behave = |minute, flow| Minute { errors: u64::from(minute == 7 && flow == 1) * 3, ..good(minute, flow) };
    let judged = Scenario::new(header(1, 2)).run(behave).completed().judge();
    let place = judged.deciding.as_ref().unwrap();
    let of = |text: &Option<String>| text.clone().unwrap_or_default();
    assert_eq!((of(&place.stream).as_str(), of(&place.target).as_str()), ("reads", "sim:b"));
    assert_eq!(of(&place.measured), "3 EIO");
    // The seventh minute of the measured time.
    assert_eq!((place.start_ns, place.end_ns), (7 * MINUTE, 7 * MINUTE));
}

#[test]
fn the_series_are_thin_and_agree_with_the_totals() {
    let judged = Scenario::new(header(48, 4)).run(good).completed().judge();
    let series = &judged.part.course.series;
    assert!(series.at_ns.len() <= 2001 && series.at_ns.len() > 1000, "{}", series.at_ns.len());
    let total: f64 =
        series.streams[0].achieved.iter().zip(&series.width_ns).map(|(rate, ns)| rate * *ns as f64 / 1e9).sum();
    assert_eq!(total.round() as u64, judged.part.streams.each[0].counts.operations);
    let moved: f64 =
        series.streams[0].bytes_per_second.iter().zip(&series.width_ns).map(|(rate, ns)| rate * *ns as f64 / 1e9).sum();
    assert!((moved / total - 512.0).abs() < 1e-6, "each moved 512 bytes: {}", moved / total);
    assert_eq!(series.flows.len(), 4);
    assert!(series.streams[0].bands.p99_ns.iter().any(Option::is_some));
    let heat: u64 = series.streams[0].heat.columns.iter().flat_map(|column| column.chunks(2).map(|pair| pair[1])).sum();
    assert_eq!(heat, judged.part.streams.each[0].counts.operations);
    assert!(series.streams[0].heat.at_ns.len() <= 241);
}

#[test]
fn events_stand_in_measured_time_and_own_windows_are_not_called_slices() {
    let mut head = header(1, 1);
    head.slice_ns = 20 * MINUTE;
    head.criteria = criteria(&["reads response over 1ms below 5% per 10min"]);
    let event = |at_ns, what: &str| {
        Entry::Event(Event { at_ns, what: what.into(), text: String::new(), details: Default::default() })
    };
    // On the run's time line, two minutes of warm-up precede the measured time.
    let mut scenario = Scenario::new(head.clone());
    scenario.writer.write_entry(&event(MINUTE / 2, "early")).unwrap();
    scenario = scenario.warm_up();
    scenario.writer.write_entry(&event(2 * MINUTE + 1, "boundary")).unwrap();
    let slow = |minute, _| Minute { slow: if minute >= 20 { 900 } else { 0 }, ..Minute::default() };
    scenario = scenario.minutes(0..3, slow);
    scenario.writer.write_entry(&event(5 * MINUTE + 7, "later")).unwrap();
    scenario = scenario.minutes(3..60, slow);
    scenario.writer.write_entry(&event(62 * MINUTE, "last")).unwrap();
    let judged = scenario.completed().judge();
    let at: Vec<(u64, &str)> =
        judged.part.course.events.iter().map(|event| (event.at_ns, event.what.as_str())).collect();
    assert_eq!(at, [(0, "early"), (1, "boundary"), (3 * MINUTE + 7, "later"), (60 * MINUTE, "last")]);
    assert!(judged.reason.starts_with("in 10 min slice 3 (20 min to 30 min)"), "{}", judged.reason);
    let deciding = judged.deciding.unwrap();
    assert_eq!((deciding.slice, deciding.window_ns), (Some(3), Some(10 * MINUTE)));
    assert_eq!((judged.part.time.intervals.planned, judged.part.time.intervals.present), (60, 60));
    assert_eq!((judged.part.history.segments, judged.part.history.contradictions), (1, 0));
    assert_eq!(judged.part.history.closed, Some(CloseReason::Completed));
}

fn may_fail(texts: &[&str], behave: impl Fn(u64, usize) -> Minute) -> assay_judge::judgement::Judgement {
    let mut head = header(2, 2);
    head.criteria = criteria(texts);
    Scenario::new(head).run(behave).completed().judge()
}

/// 600 operations a minute and target: 36,000 an hour on each.
#[test]
fn errors_that_a_criterion_allows_are_counted_against_it() {
    let allow = "reads errors at most 0.1% per 1h";
    let failing = |n: u64| move |m, f| Minute { errors: if (m, f) == (70, 1) { n } else { 0 }, ..good(m, f) };
    // To the operation: 36 of 36,000 on one target.
    let judged = may_fail(&[allow], failing(36));
    assert_eq!(judged.verdict, Verdict::Pass, "{}", judged.reason);
    let outcome = &judged.part.criteria[1];
    assert_eq!((outcome.asked.title.as_str(), outcome.asked.bound.as_str()), ("reads errors", "<= 0.1%"));
    assert_eq!(outcome.targets.len(), 2, "each target is judged by itself");
    let judged = may_fail(&[allow], failing(37));
    assert_eq!(judged.verdict, Verdict::Fail, "{}", judged.reason);
    assert!(judged.reason.contains("of reads failed") && judged.reason.contains("sim:b"), "{}", judged.reason);
    assert_eq!(judged.deciding.as_ref().unwrap().slice, Some(2), "the criterion speaks, not the rule of the whole run");
    // Without the criterion one is too many, and a criterion of another stream allows nothing.
    assert_eq!(may_fail(&STANDARD, failing(1)).verdict, Verdict::Fail);
    assert_eq!(may_fail(&[allow, "reads errors at most 0% per run"], failing(1)).verdict, Verdict::Fail);
    assert_eq!(may_fail(&["reads errors at most 0% per 1h"], good).verdict, Verdict::Pass);
}

#[test]
fn what_is_worse_than_an_error_stays_so_whatever_a_criterion_allows() {
    let all = ["reads errors at most 100% per 1h"];
    for (short, stuck, told) in [(1, 0, "1 short"), (0, 1, "1 stuck")] {
        let judged = may_fail(&all, |m, f| Minute {
            short: short * u64::from(m == 5),
            stuck: stuck * u64::from(m == 119),
            ..good(m, f)
        });
        assert!(judged.verdict == Verdict::Fail && judged.reason.contains(told), "{told}: {}", judged.reason);
    }
    // An event of an error that it does not name may be of anything.
    let lost = |details: &[(&str, &str)]| {
        let mut head = header(1, 1);
        head.criteria = criteria(&all);
        Scenario::new(head).event_with("io-error", "an operation failed", details).run(good).completed().judge().verdict
    };
    assert_eq!(lost(&[]), Verdict::Fail);
    assert_ne!(lost(&[("errno", "5")]), Verdict::Fail);
}

/// A device that fails what takes it long is not a fast one.
#[test]
fn what_failed_is_over_any_time() {
    let both = ["reads response over 1ms below 5% per 1h", "reads errors at most 50% per 1h"];
    let failing = |share: u64| move |m, f| Minute { errors: 6 * share, ..good(m, f) };
    // 1 % are slow by themselves.
    assert_eq!(may_fail(&both, failing(3)).verdict, Verdict::Pass);
    let judged = may_fail(&both, failing(5));
    assert_eq!(judged.verdict, Verdict::Fail);
    assert!(judged.reason.contains("of reads had a response over 1 ms"), "{}", judged.reason);
    let judged = may_fail(&["reads response over 1ms below 5% per 1h", "reads errors at most 100% per 1h"], |m, f| {
        Minute { errors: 600, slow: 0, ..good(m, f) }
    });
    assert_eq!(judged.verdict, Verdict::Fail, "nothing has a length: {}", judged.reason);
    // A mean says nothing of what failed: no log may ask for it.
    let mut head = header(1, 1);
    head.criteria = criteria(&["reads response mean at most 1s per 1h", "reads errors at most 1% per 1h"]);
    let bytes = Scenario::new(head).run(good).completed().bytes();
    let refused = assay_judge::judge_log(Reader::new(&bytes[..]), &Options::default()).unwrap_err();
    assert!(refused.to_string().contains("those have no length"), "{refused}");
}

/// Windows are of measured time only; what fails before it must not be forgotten.
#[test]
fn the_allowed_share_holds_from_the_first_operation_on() {
    for (errors, verdict) in [(72, Verdict::Pass), (74, Verdict::Fail)] {
        let mut head = header(2, 1);
        head.criteria = criteria(&["reads errors at most 0.1% per 1h"]);
        let mut run = Scenario::new(head);
        run.interval(0, MINUTE, &|_| Minute { errors, ..Minute::default() });
        run.interval(0, MINUTE, &|_| Minute::default());
        let judged = run.minutes(0..120, good).completed().judge();
        // 73,200 operations in all.
        assert_eq!(judged.verdict, verdict, "{}", judged.reason);
        assert_eq!(
            judged.reason.contains("more than 0.1% of all 73200 operations"),
            verdict == Verdict::Fail,
            "{}",
            judged.reason
        );
    }
    // Of a part of the run the share is not known yet: that is no PASS, and no FAIL.
    let mut head = header(2, 1);
    head.criteria = criteria(&["reads errors at most 0.1% per 1h"]);
    let mut run = Scenario::new(head);
    run.interval(0, MINUTE, &|_| Minute { errors: 30, ..Minute::default() });
    run.interval(0, MINUTE, &|_| Minute::default());
    let judged = run.minutes(0..5, good).close(CloseReason::Interrupted, "").judge();
    assert_eq!(judged.verdict, Verdict::Incomplete, "{}", judged.reason);
}

/// The last window of a criterion, cut by the end, counts from half of its length on where the plan says so; otherwise always.
#[test]
fn a_window_that_the_end_cuts_short_counts_from_half_its_length_on() {
    for (minutes, per, half_windows, verdict) in [
        (64, "10min", true, Verdict::Pass),
        (64, "10min", false, Verdict::Fail),
        (65, "10min", true, Verdict::Fail),
        (69, "10min", true, Verdict::Fail),
        (70, "10min", true, Verdict::Fail),
        // Slices always count.
        (64, "1h", true, Verdict::Fail),
    ] {
        let mut head = header(1, 1);
        head.phases[1].span_ns = minutes * MINUTE;
        head.criteria = criteria(&[&format!("reads response over 1ms below 5% per {per}")]);
        head.slice_ns = HOUR;
        head.plan["half_windows"] = half_windows.into();
        // The last minutes are slow, those after the last whole window.
        let whole = if minutes == 70 { 60 } else { minutes / 10 * 10 };
        let slow = move |minute, flow| {
            if minute < whole { good(minute, flow) } else { Minute { slow: 80, ..Minute::default() } }
        };
        let judged = Scenario::new(head).run(slow).completed().judge();
        assert_eq!(judged.verdict, verdict, "{minutes} {per} {half_windows}: {}", judged.reason);
    }
}
