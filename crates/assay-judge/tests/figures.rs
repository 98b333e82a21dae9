//! What a result tells besides its verdict, and whole runs with a late generator: each row says what the log holds and
//! which figures must follow.
#![allow(clippy::unwrap_used, reason = "a helper that cannot go on ends its test")]

use crate::common;

use assay_base::{Direction, Rate, Span};
use assay_judge::judgement::{Judgement, Outcome, Steadiness};
use assay_judge::{Fold, Options, Verdict};
use assay_record::*;
use common::*;

/// The log that the scenario wrote, with each entry changed or, where `change` says so, left out.
fn changed(scenario: Scenario, mut change: impl FnMut(&mut Entry) -> bool) -> Vec<u8> {
    let bytes = scenario.bytes();
    let (mut reader, mut writer) = (Reader::new(bytes.as_slice()), Writer::new(Vec::new(), 0));
    while let Some(Ok(mut entry)) = reader.next_entry().unwrap() {
        if change(&mut entry) {
            writer.write_entry(&entry).unwrap();
        }
    }
    writer.into_inner()
}

/// A run of some hours by a generator whose lateness is counted: in each measured minute the target was empty for
/// `idle_ms`, at once, although operations were due, and for `overslept_ms` nobody looked for completions.
fn late(hours: u64, idle_ms: u64, overslept_ms: u64, behave: fn(u64, usize) -> Minute) -> Judgement {
    let mut head = header(hours, 1);
    head.lateness = true;
    let thresholds = Thresholds::from_bounds(head.thresholds_ns.clone());
    let pause = |ms: u64| Pauses { sum_ns: ms * 1_000_000, max_ns: ms * 1_000_000, count: u64::from(ms > 0) };
    let lateness = Lateness {
        target: 0,
        shift_ns: 1_000_000,
        gap_ns: 100_000_000,
        idle: pause(idle_ms),
        idle_in: vec![thresholds.bucket_for_time(idle_ms * 1_000_000) as u64, idle_ms * 1_000_000],
        overslept: pause(overslept_ms),
    };
    judge_bytes(&changed(Scenario::new(head).run(behave).completed(), |entry| {
        if let Entry::Interval(interval) = entry {
            interval.lateness = vec![lateness.clone()];
        }
        true
    }))
}

#[test]
fn a_generator_that_let_the_target_rest_proves_no_bound_that_held() {
    // A minute has 60,000 ms: 600 are a hundredth.
    for (idle_ms, verdict, warnings) in
        [(0, Verdict::Pass, 0), (59, Verdict::Pass, 0), (599, Verdict::Pass, 1), (700, Verdict::Invalid, 1)]
    {
        let judged = late(2, idle_ms, 0, good);
        assert_eq!(judged.verdict, verdict, "{idle_ms}: {}", judged.reason);
        let told = judged.warnings.iter().filter(|it| it.contains("without work")).count();
        assert_eq!(told, warnings, "once, whatever the number of slices: {:?}", judged.warnings);
        let totals = judged.part.targets.each[0].lateness.unwrap();
        // What is shorter than the schedule's own gap is none of the generator's.
        let rest = if idle_ms > 200 { idle_ms as f64 / 60_000.0 } else { 0.0 };
        assert!((totals.rest_share_max - rest).abs() < 1e-9, "{idle_ms}: {}", totals.rest_share_max);
        assert_eq!(totals.idle.sum_ns, 120 * idle_ms * 1_000_000, "two hours, without the warm-up");
        let flaw = (verdict == Verdict::Invalid).then_some("the test machine was too late to prove anything");
        let notes: Vec<_> = judged.part.slices.listed.iter().map(|slice| slice.note.as_deref()).collect();
        assert_eq!(notes, [flaw; 2]);
        let valid = if verdict == Verdict::Pass { 120 } else { 0 };
        assert_eq!(judged.part.time.intervals.valid, valid, "{idle_ms}");
    }
    // An open loop asks for as much, however late completions are found.
    assert_eq!(late(1, 0, 6000, good).verdict, Verdict::Pass);
}

#[test]
fn a_rest_does_not_excuse_what_is_slower_than_it_can_have_made_it() {
    let slow = |_, _| Minute { slow: 200, ..Minute::default() };
    // Operations of 2 ms. Without rest they break the bound; where the target rested for seconds, these may be why.
    for (idle_ms, verdict) in [(0, Verdict::Fail), (700, Verdict::Invalid)] {
        let judged = late(1, idle_ms, 0, slow);
        assert_eq!(judged.verdict, verdict, "{idle_ms}: {}", judged.reason);
    }
}

/// Work that was not done while the generator gave none is not missing on the device's side.
#[test]
fn a_bound_on_work_does_not_count_the_time_without_work() {
    for (overslept_ms, verdict) in [(0, Verdict::Fail), (6000, Verdict::Invalid)] {
        let mut head = header(1, 1);
        head.lateness = true;
        // Ten are done each second; the bound is 5 % more.
        head.criteria = criteria(&["reads rate at least 10.5/s per 1h"]);
        let overslept = Pauses { sum_ns: overslept_ms * 1_000_000, max_ns: 1_000_000, count: 1 };
        let judged = judge_bytes(&changed(Scenario::new(head).run(good).completed(), |entry| {
            if let Entry::Interval(interval) = entry {
                interval.lateness = vec![Lateness { target: 0, overslept, ..Lateness::default() }];
            }
            true
        }));
        assert_eq!(judged.verdict, verdict, "{overslept_ms}: {}", judged.reason);
    }
}

/// The slice of which an interval is lost is not complete, and the others are.
#[test]
fn a_lost_interval_makes_its_slice_incomplete() {
    for (lost, complete) in [(70, [true, false, true]), (30, [false, true, true])] {
        let run = Scenario::new(header(3, 1)).run(good).completed();
        let judged = judge_bytes(&changed(run, |entry| !matches!(entry, Entry::Interval(it) if it.index == 2 + lost)));
        assert_ne!(judged.verdict, Verdict::Pass, "{}", judged.reason);
        let found: Vec<bool> = judged.part.slices.listed.iter().map(|slice| slice.complete).collect();
        assert_eq!(found, complete, "minute {lost}");
        assert_eq!((judged.part.time.intervals.planned, judged.part.time.intervals.valid), (180, 120));
    }
}

#[test]
fn a_closing_line_that_contradicts_the_intervals_is_counted() {
    for more in [0, 1] {
        let bytes = changed(Scenario::new(header(1, 1)).run(good).completed(), |entry| {
            if let Entry::Close(close) = entry {
                close.issued += more;
            }
            true
        });
        let judged = judge_bytes(&bytes);
        assert_eq!(
            (judged.part.history.contradictions, judged.verdict == Verdict::Pass),
            (more, more == 0),
            "{}",
            judged.reason
        );
    }
}

/// The criterion that is nearest to its bound, as a share of the bound, is named, whatever their order.
#[test]
fn a_pass_names_the_criterion_that_came_nearest_to_its_bound() {
    let (far, near) = ("reads response over 1ms below 5% per 1h", "reads response over 2ms below 1.25% per 1h");
    for order in [[far, near], [near, far]] {
        let mut head = header(1, 1);
        head.criteria = criteria(&order);
        head.thresholds_ns = Thresholds::new([Span::from_ms(2)]).bounds_ns().to_vec();
        let judged = Scenario::new(head).run(good).completed().judge();
        assert_eq!(judged.verdict, Verdict::Pass, "{}", judged.reason);
        assert!(judged.reason.contains("closest: reads response over 2 ms"), "{}", judged.reason);
    }
}

#[test]
fn the_totals_of_a_stream_agree_with_what_was_done() {
    let behave = |minute, flow| Minute { own_us: 40, ..good(minute, flow) };
    let judged = Scenario::new(header(1, 2)).run(behave).completed().judge();
    let [together, a, b] = judged.part.streams.each.as_slice() else {
        panic!("two targets: {:?}", judged.part.streams.each)
    };
    assert_eq!(
        (together.target.as_deref(), a.target.as_deref(), b.target.as_deref()),
        (None, Some("sim:a"), Some("sim:b"))
    );
    assert!((together.rate_achieved.unwrap() - 20.0).abs() < 1e-9 && (a.rate_achieved.unwrap() - 10.0).abs() < 1e-9);
    assert_eq!(a.response.over[&Span::from_ms(1)], 360);
    for totals in [together, a, b] {
        let operations = totals.counts.operations;
        // 40 µs lie between 32 and 64.
        assert_eq!(totals.own_lag_counts, [(32_000, operations)]);
        assert!(totals.blocked_submit.is_none(), "no hand-over blocked");
        let nines = &totals.response.nines;
        assert_eq!(nines[0].0, 0.0);
        assert_eq!(nines[nines.len() - 1], (1.0, 2_040_000), "the largest is exact");
        // 36,000 operations on each: the last quantile with at least one operation above it has four nines.
        let last = if operations >= 100_000 { 0.99999 } else { 0.9999 };
        assert_eq!(nines[nines.len() - 2].0, last, "{operations}: {nines:?}");
        assert!(nines.iter().all(|(_, ns)| *ns <= 2_040_000));
        let p50 = totals.response.p50_ns.unwrap();
        assert!((230_000..=250_000).contains(&p50), "{:?}: {p50}", totals.target);
    }
}

#[test]
fn a_hand_over_that_blocked_is_told() {
    let run = Scenario::new(header(1, 1)).run(good).completed();
    let judged = judge_bytes(&changed(run, |entry| {
        if let Entry::Interval(interval) = entry {
            interval.flows[0].submit = Timing { sum_ns: 10, max_ns: 5, counts: Vec::new() };
            interval.host = Some(HostSample {
                cpu_ns: 7,
                run_queue_ns: 2,
                steal_ns: 1,
                resident_bytes: interval.index,
                ..HostSample::default()
            });
        }
        true
    }));
    let blocked = judged.part.streams.each[0].blocked_submit.as_ref().unwrap();
    assert_eq!((blocked.sum_ns, blocked.max_ns), (600, 5), "sixty minutes, without the warm-up");
    let cost = judged.part.generator.cost.unwrap();
    assert_eq!((cost.cpu_ns, cost.run_queue_ns, cost.steal_ns, cost.sampled_ns), (420, 120, 60, HOUR));
    assert_eq!(cost.resident_bytes_max, 61);
}

#[test]
fn a_quota_that_stopped_the_program_is_told() {
    let run = Scenario::new(header(1, 1)).run(good).completed();
    let judged = judge_bytes(&changed(run, |entry| {
        if let Entry::Interval(interval) = entry {
            let stopped = u64::from(interval.index >= 58);
            interval.host = Some(HostSample {
                throttled_periods: 3 * stopped,
                throttled_ns: 500_000_000 * stopped,
                ..HostSample::default()
            });
        }
        true
    }));
    let cost = judged.part.generator.cost.unwrap();
    let measured = 62 - 58;
    assert_eq!((cost.throttled_periods, cost.throttled_ns), (3 * measured, 500_000_000 * measured));
    assert_eq!((cost.throttled_within_ns, cost.sampled_ns), (measured * MINUTE, HOUR));
    let warnings: Vec<&String> = judged.warnings.iter().filter(|warning| warning.contains("quota")).collect();
    assert!(
        warnings.len() == 1 && warnings[0].contains("in 12 periods, for 2 s in all, within 4 min of 1 h"),
        "{:?}",
        judged.warnings
    );
}

/// The lines of the charts, minute by minute.
#[test]
fn the_lines_of_the_charts_follow_what_happened() {
    let behave = |minute, flow| match minute {
        20..30 => Minute { unscheduled: PER_MINUTE, ..Minute::default() },
        30..40 => Minute { slow: 100, ..Minute::default() },
        _ => good(minute, flow),
    };
    let judged = Scenario::new(header(1, 2)).run(behave).completed().judge();
    let series = &judged.part.course.series;
    assert_eq!((series.at_ns.len(), series.at_ns[59], series.width_ns[59]), (60, 59 * MINUTE, MINUTE));
    let (line, flow) = (&series.streams[0], &series.flows[1]);
    for (minute, share, rate) in [(0, Some(0.01), 20.0), (25, None, 0.0), (35, Some(0.1), 20.0), (59, Some(0.01), 20.0)]
    {
        assert_eq!((line.share_over[minute], line.achieved[minute]), (share, rate), "{minute}");
        assert_eq!((flow.share_over[minute], flow.achieved[minute]), (share, rate / 2.0), "{minute}");
    }
    assert_eq!((line.heat.at_ns.len(), line.heat.at_ns[1]), (60, MINUTE));
    // The distributions are of ten minutes each, and stand in their middle.
    assert_eq!(line.bands.at_ns.len(), 6, "{:?}", line.bands.at_ns);
    assert_eq!(line.bands.at_ns[..2], [2 * MINUTE, 12 * MINUTE], "the first one contains the warm-up");
    assert!(line.bands.at_ns.windows(2).all(|pair| pair[1] - pair[0] <= 10 * MINUTE), "{:?}", line.bands.at_ns);
}

#[test]
fn criteria_follow_the_slice_that_the_options_name() {
    let bytes = Scenario::new(header(2, 1)).run(good).completed().bytes();
    let judged = judge_with(&bytes, &Options { slice: Some(Span::from_ns(HOUR / 2)), ..Options::default() });
    let windows: Vec<u64> = judged.part.criteria.iter().map(|it| it.asked.window_ns).collect();
    assert_eq!((windows, judged.part.slices.listed.len()), (vec![HOUR / 2; 4], 4), "{}", judged.reason);
    let mut own = header(2, 1);
    own.criteria =
        criteria(&["reads response over 1ms below 5% per 10min", "reads response over 1ms below 5% per 10s"]);
    let bytes = Scenario::new(own).run(good).completed().bytes();
    let judged = judge_with(&bytes, &Options { slice: Some(Span::from_ns(HOUR / 2)), ..Options::default() });
    let windows: Vec<u64> = judged.part.criteria.iter().map(|it| it.asked.window_ns).collect();
    assert_eq!(windows, [HOUR / 2, 10 * MINUTE, MINUTE], "windows of their own stay, none is shorter than an interval");
    let notes: Vec<bool> = judged.part.criteria.iter().map(|it| it.note.is_some()).collect();
    assert_eq!(notes, [false, false, true], "{:?}", judged.part.criteria[2].note);
}

/// A segment continues a step only with the same streams, flows, targets, thresholds and intervals.
#[test]
fn a_step_does_not_go_on_with_another_layout() {
    type Change = fn(&mut Header);
    let changes: [(Change, bool); 6] = [
        (|_| {}, true),
        (|head| head.streams[0].rate = Some(Rate::per_second(11)), false),
        (|head| head.thresholds_ns.truncate(5), false),
        (|head| head.interval_ns /= 2, false),
        (|head| head.targets.push(head.targets[0].clone()), false),
        (|head| head.flows.push(FlowHead { stream: 0, target: 0 }), false),
    ];
    for (at, (change, same)) in changes.into_iter().enumerate() {
        let first = header(2, 1);
        let mut head = first.clone();
        (head.continues, head.measured_before_ns, head.phases[1].span_ns) = (true, HOUR, HOUR);
        change(&mut head);
        let first = Scenario::new(first).warm_up().minutes(0..60, good).close(CloseReason::Interrupted, "SIGINT");
        let judged = first.segment(head).completed().judge();
        assert_eq!(judged.part.history.segments, if same { 2 } else { 1 }, "{at}: {}", judged.reason);
        assert_eq!(
            judged.part.course.gaps.iter().map(|gap| gap.before.as_str()).collect::<Vec<_>>(),
            vec!["interrupted"; same.into()]
        );
    }
}

/// A load that has failed for certain is known while the log grows.
#[test]
fn a_log_that_grows_fails_once_nothing_can_change_that() {
    let bad = |minute, flow| if minute >= 60 { Minute { slow: 200, ..Minute::default() } } else { good(minute, flow) };
    for (behave, disks, fails) in [
        (good as fn(u64, usize) -> Minute, None, None),
        // The slice from minute 60 to 120 is judged by the interval after it, and two are the warm-up's.
        (bad, None, Some(2 + 120)),
        // A disk that did nothing outweighs it: a cache answered.
        (bad, Some((|_, _| DiskCounters::default()) as fn(u64, u64) -> DiskCounters), None),
    ] {
        let mut scenario = Scenario::new(header(3, 1));
        scenario.disks = disks;
        let bytes = scenario.run(behave).bytes();
        let (mut reader, mut fold, mut first) = (Reader::new(bytes.as_slice()), Fold::new(Options::default()), None);
        while let Some(Ok(entry)) = reader.next_entry().unwrap() {
            fold.take_entry(&entry);
            if let (Entry::Interval(interval), true, None) = (&entry, fold.fails_already(), first) {
                first = Some(interval.index);
            }
        }
        assert_eq!(first, fails);
    }
}

#[test]
fn a_criterion_of_an_unfinished_run_without_its_stream_proves_nothing() {
    let mut head = header(2, 1);
    head.criteria = criteria(&["writes response over 1ms below 5% per 1h", "reads response over 1ms below 5% per 1h"]);
    let judged = Scenario::new(head).warm_up().minutes(0..30, good).close(CloseReason::Interrupted, "").judge();
    let outcomes: Vec<Outcome> = judged.part.criteria.iter().map(|it| it.outcome).collect();
    assert_eq!(outcomes, [Outcome::Incomplete, Outcome::Invalid, Outcome::Incomplete]);
    assert_eq!(judged.part.time.intervals.valid, 0);
}

/// One slice in which more than one stream or target is not delivered is one broken slice.
#[test]
fn a_slice_in_which_the_load_was_not_delivered_counts_once() {
    let waits = |minute, _| match minute {
        59 => Minute { waiting: 400, in_flight: 5, ..Minute::default() },
        _ => Minute::default(),
    };
    let judged = Scenario::new(header(2, 3)).run(waits).completed().judge();
    let load = &judged.part.criteria[0];
    assert_eq!((judged.verdict, load.windows, load.broken), (Verdict::Fail, 2, 1), "{}", judged.reason);
    assert_eq!(load.broken_on.len(), 3);
    assert_eq!(load.asked.criterion, "load delivered at least 99.9% per slice");
}

/// The same where the generator held it back: no slice is broken, and none proves anything.
#[test]
fn a_load_that_the_generator_did_not_offer_is_not_proven() {
    let waits = |minute, _| Minute { waiting: if minute == 59 { 400 } else { 0 }, own_us: 100, ..Minute::default() };
    let judged = Scenario::new(header(2, 1)).run(waits).completed().judge();
    let load = &judged.part.criteria[0];
    assert_eq!(
        (judged.verdict, load.outcome, load.broken),
        (Verdict::Invalid, Outcome::Invalid, 0),
        "{}",
        judged.reason
    );
    assert_eq!(judged.part.slices.listed.iter().map(|slice| slice.valid).collect::<Vec<_>>(), [false, true]);
}

/// A slice that one criterion broke is valid, even if another one is over its bound only by the generator's lag.
#[test]
fn a_broken_slice_is_valid_whatever_else_is_not_proven_in_it() {
    let mut head = header(1, 1);
    head.criteria = criteria(&["reads response over 1ms below 5% per 1h", "reads response over 1ms below 6.5% per 1h"]);
    let judged = Scenario::new(head).run(|m, f| Minute { pushed: 9, slow: 60, ..good(m, f) }).completed().judge();
    let outcomes: Vec<Outcome> = judged.part.criteria.iter().map(|it| it.outcome).collect();
    assert_eq!(outcomes, [Outcome::Pass, Outcome::Fail, Outcome::Invalid], "{}", judged.reason);
    let slice = &judged.part.slices.listed[0];
    assert_eq!((slice.valid, slice.within, slice.note.as_deref()), (true, false, None));
}

/// Rests are summed over whole slices: not over windows of a criterion's own, and not over a slice that was cut.
#[test]
fn rests_are_counted_once_for_each_whole_slice() {
    let mut head = header(2, 1);
    head.lateness = true;
    head.criteria.extend(criteria(&["reads response over 1ms below 5% per 10min"]));
    let run = Scenario::new(head).warm_up().minutes(0..90, good).close(CloseReason::Interrupted, "");
    let idle = Pauses { sum_ns: 1000, max_ns: 1000, count: 1 };
    let judged = judge_bytes(&changed(run, |entry| {
        if let Entry::Interval(interval) = entry {
            interval.lateness = vec![Lateness { target: 0, idle, ..Lateness::default() }];
        }
        true
    }));
    assert_eq!(judged.part.targets.each[0].lateness.unwrap().idle.count, 60, "{}", judged.reason);
}

/// A schedule thinner than the plan's proves nothing, as far as chance does not explain it.
#[test]
fn a_thin_schedule_proves_nothing() {
    // 36,000 an hour are planned; a thousandth, six standard deviations of 189.7 and sixteen may be missing: 1190.
    for (arrival, missing, verdict) in [
        ("steady", 1190, Verdict::Pass),
        ("steady", 1191, Verdict::Invalid),
        ("poisson", 1191, Verdict::Invalid),
        ("closed", 20_000, Verdict::Pass),
    ] {
        let mut head = header(1, 1);
        head.streams[0].arrival = arrival.into();
        let mut run = Scenario::new(head).warm_up();
        for minute in 0..60 {
            let unscheduled = (missing / 60) + u64::from(minute < missing % 60);
            run.interval(1, MINUTE, &|_| Minute { unscheduled, slow: 10, ..Minute::default() });
        }
        let judged = run.completed().judge();
        assert_eq!(judged.verdict, verdict, "{arrival} {missing}: {}", judged.reason);
        let slice = &judged.part.slices.listed[0];
        let proves = verdict == Verdict::Pass;
        assert_eq!((slice.valid, slice.note.as_deref()), (proves, (!proves).then_some("the load was not offered")));
        assert_eq!(judged.part.criteria[0].outcome == Outcome::Invalid, !proves, "{arrival} {missing}");
    }
}

/// A closed loop has no schedule that could be thin or late, and its level is what it does in a second.
#[test]
fn changes_of_level_are_told_with_their_time() {
    let (mut head, open) = (header(2, 1), header(2, 1));
    head.streams[0].rate = None;
    head.streams[0].arrival = "closed".into();
    head.streams[0].direction = Some(Direction::Read);
    let drop = |minute, flow| {
        if minute >= 60 { Minute { unscheduled: 300, ..good(minute, flow) } } else { good(minute, flow) }
    };
    let judged = Scenario::new(head).run(drop).completed().judge();
    let [line] = judged.part.course.steadiness.as_slice() else { panic!("{:?}", judged.part.course.steadiness) };
    assert_eq!((line.measure.as_str(), line.rounds, line.round_ns), ("throughput", 120, MINUTE));
    assert_eq!(line.steady_from_ns, Some(0), "the first five rounds");
    let last = line.last.unwrap();
    assert_eq!((last.start_ns, last.end_ns, last.steady), (115 * MINUTE, 120 * MINUTE, true));
    let changes: Vec<_> = line.changes.iter().map(|it| (it.at_ns, it.before, it.after)).collect();
    assert_eq!(changes, [(HOUR, 10.0, 5.0)]);
    let slower =
        |minute, flow| if minute >= 60 { Minute { queue_us: 50, ..good(minute, flow) } } else { good(minute, flow) };
    let judged = Scenario::new(open).run(slower).completed().judge();
    let line = &judged.part.course.steadiness[0];
    let changes: Vec<_> = line.changes.iter().map(|it| (it.at_ns, it.before, it.after)).collect();
    // 1 % take 2 ms and the others 200 µs.
    assert_eq!((line.measure.as_str(), changes), ("mean response", vec![(HOUR, 218_000.0, 268_000.0)]));
}

/// Rounds of three intervals. After an interruption rounds begin anew, and no window contains it.
#[test]
fn a_window_of_rounds_begins_where_its_first_round_does() {
    let mut head = header(1, 1);
    head.phases[1].steady_round_ns = Some(3 * MINUTE);
    let judged = Scenario::new(head.clone()).run(good).completed().judge();
    let line = &judged.part.course.steadiness[0];
    let window = |line: &Steadiness| line.last.map(|last| (last.start_ns / MINUTE, last.end_ns / MINUTE));
    assert_eq!((line.rounds, line.steady_from_ns, window(line)), (20, Some(0), Some((45, 60))));

    let mut rest = head.clone();
    (rest.continues, rest.measured_before_ns, rest.phases[1].span_ns) = (true, 31 * MINUTE, 29 * MINUTE);
    let first = Scenario::new(head).warm_up().minutes(0..31, good).close(CloseReason::Interrupted, "SIGINT");
    let judged = first.segment(rest).run(good).completed().judge();
    let line = &judged.part.course.steadiness[0];
    assert_eq!(
        (judged.part.history.segments, line.rounds, window(line)),
        (2, 10 + 9, Some((43, 58))),
        "{}",
        judged.reason
    );
}

#[test]
fn nothing_is_said_of_a_stream_that_ended_no_round_or_did_nothing() {
    let nothing = |_, _| Minute { unscheduled: PER_MINUTE, ..Minute::default() };
    for (round_ns, behave, lines) in
        [(HOUR, good as fn(u64, usize) -> Minute, 1), (HOUR + MINUTE, good, 0), (MINUTE, nothing, 0)]
    {
        let mut head = header(1, 1);
        (head.phases[1].steady_round_ns, head.streams[0].rate) = (Some(round_ns), None);
        let judged = Scenario::new(head).run(behave).completed().judge();
        assert_eq!(judged.part.course.steadiness.len(), lines, "{round_ns}: {:?}", judged.part.course.steadiness);
    }
}

/// Only the first of two findings that are both true is told.
#[test]
fn a_plan_without_a_measured_phase_says_so() {
    let mut head = header(1, 1);
    head.phases.truncate(1);
    let judged = Scenario::new(head).warm_up().completed().judge();
    assert_eq!((judged.verdict, judged.reason.as_str()), (Verdict::Invalid, "the plan holds no measured phase"));
}

#[test]
fn each_measured_phase_has_percentiles_of_its_own() {
    let mut head = header(1, 1);
    let rise = PhaseHead { name: "rise".into(), ..head.phases[1].clone() };
    (head.phases[1].span_ns, head.phases[1].name) = (HOUR, "usual".into());
    head.phases.push(rise);
    let mut run = Scenario::new(head).run(good);
    for _ in 0..60 {
        run.interval(2, MINUTE, &|_| Minute { slow: 600, ..Minute::default() });
    }
    let judged = run.completed().judge();
    let medians: Vec<u64> =
        judged.part.streams.phases.iter().map(|phase| phase.streams[0].response.p50_ns.unwrap() / 100_000).collect();
    assert_eq!(medians, [2, 20], "a tenth of a millisecond: {}", judged.reason);
}

#[test]
fn where_nothing_was_measured_there_is_no_rate_and_no_percentile() {
    let judged = Scenario::new(header(1, 1)).completed().judge();
    let totals = &judged.part.streams.each[0];
    assert_eq!((totals.rate_achieved, totals.response.nines.as_slice(), totals.response.p50_ns), (None, &[][..], None));
}

/// The distributions of a warm-up are read, and none of their operations is counted among those measured.
#[test]
fn percentiles_are_those_of_the_measured_time() {
    let mut head = header(1, 1);
    head.phases[0].span_ns = 20 * MINUTE;
    let mut run = Scenario::new(head);
    for _ in 0..20 {
        run.interval(0, MINUTE, &|_| Minute { slow: 1000, ..Minute::default() });
    }
    let judged = run.minutes(0..60, good).completed().judge();
    let told: Vec<_> = judged.warnings.iter().filter(|it| it.contains("percentiles")).collect();
    let p50 = judged.part.streams.each[0].response.p50_ns.unwrap();
    assert!(told.is_empty() && p50 < 300_000, "{told:?} {p50}");
}

#[test]
fn a_load_that_one_target_did_not_take_names_no_target_among_others() {
    let waits = |_, _| Minute { waiting: 400, in_flight: 5, ..Minute::default() };
    let judged = Scenario::new(header(1, 1)).run(waits).completed().judge();
    let load = &judged.part.criteria[0];
    assert_eq!((judged.verdict, load.broken_on.len()), (Verdict::Fail, 0), "{}", judged.reason);
    let deciding = judged.deciding.unwrap();
    assert_eq!((deciding.stream.as_deref(), deciding.target), (Some("reads"), None));
}

/// A slice in which a run was interrupted is not complete unless it was measured again from its beginning.
#[test]
fn slices_that_are_missing_are_told_with_the_reason() {
    let head = header(3, 1);
    let early = Scenario::new(head.clone()).warm_up().minutes(0..150, good).completed().judge();
    assert_eq!((early.verdict, early.reason.as_str()), (Verdict::Incomplete, "2 of 3 slices are complete"));
    let mut rest = head.clone();
    (rest.continues, rest.measured_before_ns, rest.phases[1].span_ns) = (true, 90 * MINUTE, 90 * MINUTE);
    let first = Scenario::new(head).warm_up().minutes(0..90, good).close(CloseReason::Interrupted, "SIGINT");
    let judged = first.segment(rest).run(good).completed().judge();
    let reason = "2 of 3 slices are complete; one that holds an interruption does not count";
    assert_eq!((judged.verdict, judged.reason.as_str()), (Verdict::Incomplete, reason));
}

/// What the clocks of the machine say about a run: each row is what they do in one minute of it.
#[test]
fn what_happened_to_the_clocks_is_told() {
    for (slept_min, set_min, told, verdict) in [
        (0, 0, None, Verdict::Pass),
        (0, 5, Some("the wall clock was set forward by 5 min"), Verdict::Pass),
        (7, 0, Some("slept"), Verdict::Invalid),
    ] {
        let mut head = header(1, 1);
        let sample = |at_ns: u64, slept: u64, set: u64| ClockSample {
            at_ns,
            real_ns: 1_000 * HOUR + at_ns + slept + set,
            boot_ns: 50 * HOUR + at_ns + slept,
            mono_ns: 20 * HOUR + at_ns,
        };
        head.clocks = Some(sample(0, 0, 0));
        let judged = judge_bytes(&changed(Scenario::new(head).run(good).completed(), |entry| {
            if let Entry::Interval(interval) = entry {
                let late = if interval.index >= 30 { 1 } else { 0 };
                interval.clocks = Some(sample(interval.end_ns, late * slept_min * MINUTE, late * set_min * MINUTE));
            }
            true
        }));
        assert_eq!(judged.verdict, verdict, "{slept_min} {set_min}: {}", judged.reason);
        let found: Vec<&String> =
            judged.warnings.iter().filter(|it| told.is_some_and(|told| it.contains(told))).collect();
        assert_eq!(found.len(), usize::from(told.is_some()), "{:?}", judged.warnings);
        let clocks = judged.part.history.clocks.unwrap();
        assert_eq!((clocks.events.len(), clocks.start.at_ns, clocks.end.at_ns), (found.len(), 0, HOUR + 2 * MINUTE));
    }
}

/// Where a criterion is about all streams, there are figures of all of them.
#[test]
fn all_streams_together_have_figures_where_a_criterion_is_about_them() {
    for (criterion, arrival, told) in [
        ("all response over 1ms below 5% per 1h", "steady", Some("steady")),
        ("all response over 1ms below 5% per 1h", "poisson", Some("")),
        ("reads response over 1ms below 5% per 1h", "steady", None),
    ] {
        let mut head = header(1, 1);
        head.criteria = criteria(&[criterion]);
        let second = StreamHead { name: "writes".into(), arrival: arrival.into(), ..head.streams[0].clone() };
        head.streams.push(second);
        head.flows.push(FlowHead { stream: 1, target: 0 });
        let judged = Scenario::new(head).run(good).completed().judge();
        assert_eq!(judged.verdict, Verdict::Pass, "{criterion}: {}", judged.reason);
        let all = judged.part.streams.together;
        assert_eq!(all.as_ref().map(|all| all.arrival.as_str()), told, "{criterion}");
        let Some(all) = all else { continue };
        assert_eq!((all.name.as_str(), all.rate_asked, all.counts.operations), ("all", Some(20.0), 72_000));
        assert!((all.rate_achieved.unwrap() - 20.0).abs() < 1e-9 && all.response.p50_ns.is_some());
    }
}

/// What failed is judged by its own rule; only where a criterion lets some fail, it counts as too slow in the others.
#[test]
fn failures_are_no_slow_operations_where_none_may_fail() {
    for (second, outcome) in [("reads errors at most 20% per 1h", Outcome::Fail), (STANDARD[2], Outcome::Pass)] {
        let mut head = header(1, 1);
        head.criteria = criteria(&[STANDARD[0], second]);
        let judged = Scenario::new(head).run(|_, _| Minute { errors: 60, ..Minute::default() }).completed().judge();
        assert_eq!((judged.verdict, judged.part.criteria[1].outcome), (Verdict::Fail, outcome), "{}", judged.reason);
    }
}

/// Reads that a cache before the targets answers are not missing on the target, and what its device suffered is told.
#[test]
fn a_target_behind_a_cache_is_compared_with_the_reads_that_went_on() {
    let part = |of: u64| (PER_MINUTE / of, PER_MINUTE / of * 512);
    // Whether there is a cache, which part of the reads the target counted, errors of the cache's device in the warm-up.
    for (cached, counted, errors, verdict, mismatch) in [
        (true, 4, 0, Verdict::Pass, 0.0),
        (true, 4, 2, Verdict::Pass, 0.0),
        (true, 12, 0, Verdict::Invalid, 2.0 / 3.0),
        (false, 4, 0, Verdict::Invalid, 0.75),
    ] {
        let mut head = header(1, 1);
        head.cache = cached.then(CacheHead::default);
        let writes = StreamHead { name: "writes".into(), direction: Some(Direction::Write), ..head.streams[0].clone() };
        head.streams.push(writes);
        head.flows.push(FlowHead { stream: 1, target: 0 });
        let log = changed(Scenario::new(head).run(good).completed(), |entry| {
            let Entry::Interval(interval) = entry else { return true };
            let ((reads, read_bytes), (writes, written_bytes)) = (part(counted), part(1));
            interval.disks = vec![DiskCounters { reads, read_bytes, writes, written_bytes, ..DiskCounters::default() }];
            let ((reads, bytes), errors) = (part(4), if interval.index == 0 { errors } else { 0 });
            let hits = PER_MINUTE - reads;
            let onward = vec![OnwardReads { reads, bytes }];
            let counters =
                CacheCounters { reads: PER_MINUTE, read_hits: hits, errors, onward, ..CacheCounters::default() };
            interval.cache = cached.then(|| Box::new(counters));
            true
        });
        let judged = judge_bytes(&log);
        let case = format!("{cached} {counted} {errors}: {} {:?}", judged.reason, judged.warnings);
        assert_eq!(judged.verdict, verdict, "{case}");
        let found = judged.part.targets.each[0].disk.as_ref().unwrap().mismatch;
        assert!((found - mismatch).abs() < 1e-9, "{found} {case}");
        let failed = judged.warnings.iter().filter(|it| it.contains("the cache's device failed")).count();
        assert_eq!(failed, usize::from(errors > 0), "{case}");
        let told =
            judged.part.targets.cache.as_ref().map(|it| (it.counted.reads, it.read_hit_rate, it.errors_of_all_phases));
        assert_eq!(told, cached.then_some((60 * PER_MINUTE, Some(0.75), errors)), "{case}");
    }
}
