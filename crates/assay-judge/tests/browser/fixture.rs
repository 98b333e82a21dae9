//! Judgements built in code for the tests of the report: a failed day on several targets with hostile names, a small
//! pass, a certificate of two steps, and the largest result that a report must handle. The figures are invented but
//! agree with each other where the tests compare them.

#![allow(dead_code, reason = "each test file uses its own part")]

use assay_base::{Bound, Measure, Share, Span};
use assay_judge::judgement::*;
use assay_judge::{Judgement, Verdict};
use assay_record::{Event, Preparation, TargetHead};
use std::collections::BTreeMap;

/// Names that an attacker might give to a device, a host, a workload.
pub const HOSTILE_IMAGE: &str = "<img src=x onerror=alert(1)>";
pub const HOSTILE_SCRIPT: &str = "</script><script>document.title='owned'</script>";

const SECOND: u64 = 1_000_000_000;
const HOUR: u64 = 3600 * SECOND;
const THRESHOLDS: [u64; 3] = [1, 8, 64];

/// The size of the judgement.
#[derive(Clone, Copy)]
pub struct Size {
    pub hours: u64,
    pub targets: usize,
    pub streams: usize,
    pub points: u64,
}

/// A number between 0 and 1 that looks random and is always the same.
fn noise(at: u64) -> f64 {
    let mixed =
        (at ^ 0x9e37_79b9).wrapping_mul(0x2545_f491_4f6c_dd1d).rotate_left(23).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 40) as f64 / (1u64 << 24) as f64
}

/// Share over 1 ms of target `target` at `at_ns`: the second target breaks its bound in slice 6.
fn share(target: usize, at_ns: u64) -> f64 {
    let base = 0.008 + 0.004 * noise(at_ns / SECOND + target as u64 * 977);
    if target == 1 && (5 * HOUR..6 * HOUR).contains(&at_ns) { 0.079 } else { base }
}

fn spans(counts: [u64; 3]) -> BTreeMap<Span, u64> {
    THRESHOLDS.map(Span::from_ms).into_iter().zip(counts).collect()
}

fn below(ms: u64, percent: u64) -> Bound {
    Bound::Over { over: Span::from_ms(ms), below: Share::from_percent(percent) }
}

/// The bound that the second target breaks.
fn broken_bound() -> UnkeptBound {
    UnkeptBound { measure: Measure::Response, bound: below(1, 5) }
}

fn text_map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn target_name(index: usize) -> String {
    match index {
        0 => "/dev/nvme0n1".to_owned(),
        1 => HOSTILE_IMAGE.to_owned(),
        2 => HOSTILE_SCRIPT.to_owned(),
        other => format!("/dev/nvme{other}n1"),
    }
}

fn stream_name(index: usize) -> String {
    ["reads", "large-block-reads", "large-block-writes"]
        .get(index)
        .map_or(format!("stream-{index}"), |name| (*name).to_owned())
}

fn rate(stream: usize) -> f64 {
    if stream == 0 { 4000.0 } else { 47.058_823_529 }
}

fn times(operations: u64, over_1ms: u64, scale: f64) -> SliceTimes {
    let ns = |us: f64| Some((us * scale * 1000.0) as u64);
    SliceTimes { operations, mean_ns: ns(212.3), max_ns: ns(9_412.7), over: spans([over_1ms, over_1ms / 40, 0]) }
}

fn slice_stream(size: Size, hour: u64, stream: usize, target: Option<usize>) -> SliceStream {
    let part = if target.is_some() { size.targets as f64 } else { 1.0 };
    let operations = (rate(stream) * 3600.0 / part) as u64;
    let shares =
        (0..size.targets).filter(|index| target.is_none_or(|target| target == *index)).map(|t| share(t, hour * HOUR));
    let mean = shares.clone().sum::<f64>() / shares.count() as f64;
    let over = (operations as f64 * mean) as u64;
    SliceStream {
        stream: stream_name(stream),
        target: target.map(target_name).or((size.targets == 1).then(|| target_name(0))),
        counts: Counts {
            scheduled: operations,
            issued: operations,
            operations,
            bytes: operations * 1536,
            ..Counts::default()
        },
        response: times(operations, over, 1.0),
        service: times(operations, over * 9 / 10, 0.9),
        own_lag_p99_below_ns: Some(16_384),
        unkept: if stream == 0 && mean >= 0.05 { vec![broken_bound()] } else { Vec::new() },
    }
}

/// Each stream on each target and, where there are several targets, all together.
fn each(size: Size) -> impl Iterator<Item = (usize, Option<usize>)> {
    let targets = move || (0..size.targets).filter(move |_| size.targets > 1).map(Some).chain([None]);
    (0..size.streams).flat_map(move |stream| targets().map(move |target| (stream, target)))
}

fn slices(size: Size) -> Vec<Slice> {
    let slice = |hour: u64| Slice {
        number: hour + 1,
        start_ns: hour * HOUR,
        end_ns: (hour + 1) * HOUR,
        complete: true,
        valid: true,
        within: !(size.targets > 1 && hour == 5),
        note: None,
        streams: each(size).map(|(stream, target)| slice_stream(size, hour, stream, target)).collect(),
    };
    (0..size.hours).map(slice).collect()
}

fn summary(operations: u64, scale: f64) -> TimesSummary {
    let ns = |us: f64| Some((us * scale * 1000.0) as u64);
    let nines = (0..=50u32).map(|step| {
        let nines = f64::from(step) / 10.0;
        (1.0 - 10f64.powf(-nines), (80_000.0 * scale * (1.0 + nines.powi(3))) as u64)
    });
    TimesSummary {
        operations,
        mean_ns: ns(212.345),
        p50_ns: ns(180.1),
        p90_ns: ns(410.7),
        p99_ns: ns(987.6),
        p99_9_ns: ns(2_345.6),
        p99_99_ns: ns(8_123.4),
        max_ns: ns(14_999.9),
        over: spans([operations / 100, operations / 4000, 0]),
        nines: nines.chain([(1.0, (14_999_900.0 * scale) as u64)]).collect(),
    }
}

fn totals(size: Size, stream: usize, target: Option<usize>) -> StreamTotals {
    let operations =
        (rate(stream) * 3600.0) as u64 * size.hours / if target.is_some() { size.targets as u64 } else { 1 };
    let scale = if target == Some(1) { 2.4 } else { 1.0 };
    StreamTotals {
        name: stream_name(stream),
        target: target.map(target_name).or((size.targets == 1).then(|| target_name(0))),
        direction: if stream == 2 { "write" } else { "read" }.to_owned(),
        arrival: if stream == 0 { "poisson" } else { "steady" }.to_owned(),
        size: if stream == 0 { "1536B" } else { "128KiB" }.to_owned(),
        size_done: String::new(),
        rate_asked: Some(rate(stream)),
        rate_achieved: Some(operations as f64 / (size.hours as f64 * 3600.0)),
        ran_ns: None,
        counts: Counts {
            scheduled: operations + 7,
            issued: operations + 7,
            operations,
            bytes: operations * 1536,
            errors: if target != Some(0) && stream == 0 && size.targets > 1 {
                [("EIO".to_owned(), 7)].into()
            } else {
                BTreeMap::new()
            },
            in_flight: if target != Some(0) && stream == 0 && size.targets > 1 { 0 } else { 7 },
            ..Counts::default()
        },
        in_flight_max: 61,
        waiting_max: 0,
        response: summary(operations, scale),
        service: summary(operations, scale * 0.9),
        lag: TimesSummary { operations, mean_ns: Some(3_210), max_ns: Some(812_000), ..TimesSummary::default() },
        own_lag: TimesSummary { operations, mean_ns: Some(2_980), max_ns: Some(402_000), ..TimesSummary::default() },
        own_lag_counts: Vec::new(),
        blocked_submit: None,
    }
}

fn heat(size: Size) -> Heat {
    let columns = 240.min(size.points);
    let column = |at: u64| {
        let rows = (0..22u64).filter_map(|row| {
            let off = row as f64 - 8.0 - 1.5 * noise(at * 31);
            let count = (90_000.0 * (-off * off / 7.0).exp() * (0.5 + noise(at * 7 + row))) as u64;
            (count > 0).then_some([row, count])
        });
        rows.flatten().collect()
    };
    Heat {
        bounds_ns: (0..40).map(|at| (1000.0 * 10f64.powf(f64::from(at) / 6.0)) as u64).collect(),
        at_ns: (0..columns).map(|at| at * size.hours * HOUR / columns).collect(),
        columns: (0..columns).map(column).collect(),
    }
}

fn stream_series(size: Size, stream: usize) -> StreamSeries {
    let at = |index: u64| index * size.hours * HOUR / size.points;
    let points = 0..size.points;
    let band = points.clone().step_by(2);
    let mean = |at: u64| (0..size.targets).map(|target| share(target, at)).sum::<f64>() / size.targets as f64;
    let wave = |at: u64, base: f64| Some((base * (1.0 + 0.15 * noise(at / SECOND) + 20.0 * mean(at))) as u64);
    StreamSeries {
        stream: stream_name(stream),
        asked: points.clone().map(|_| rate(stream)).collect(),
        achieved: points.clone().map(|index| rate(stream) * (0.995 + 0.01 * noise(index))).collect(),
        bytes_per_second: points.clone().map(|_| rate(stream) * 4096.0).collect(),
        share_over: points.clone().map(|index| Some(mean(at(index)))).collect(),
        errors: points
            .clone()
            .map(|index| if stream == 0 && size.targets > 1 && index == size.points / 3 { 7 } else { 0 })
            .collect(),
        lag_mean_ns: points.clone().map(|index| Some(3_000 + (noise(index) * 500.0) as u64)).collect(),
        lag_max_ns: points.clone().map(|index| 90_000 + (noise(index) * 50_000.0) as u64).collect(),
        response_max_ns: points.clone().map(|index| 5_000_000 + (noise(index) * 4_000_000.0) as u64).collect(),
        bands: Bands {
            at_ns: band.clone().map(at).collect(),
            p50_ns: band.clone().map(|index| wave(at(index), 180_000.0)).collect(),
            p99_ns: band.clone().map(|index| wave(at(index), 990_000.0)).collect(),
            p99_9_ns: band.clone().map(|index| wave(at(index) + 7, 2_300_000.0)).collect(),
        },
        heat: heat(size),
    }
}

fn flow_series(size: Size, stream: usize, target: usize) -> FlowSeries {
    let at = |index: u64| index * size.hours * HOUR / size.points;
    FlowSeries {
        stream: stream_name(stream),
        target: target_name(target),
        achieved: (0..size.points)
            .map(|index| rate(stream) / size.targets as f64 * (0.99 + 0.02 * noise(index)))
            .collect(),
        share_over: (0..size.points).map(|index| Some(share(target, at(index)))).collect(),
    }
}

fn series(size: Size) -> Series {
    let flows = each(size).filter_map(|(stream, target)| Some(flow_series(size, stream, target?)));
    Series {
        at_ns: (0..size.points).map(|index| index * size.hours * HOUR / size.points).collect(),
        width_ns: vec![size.hours * HOUR / size.points; size.points as usize],
        threshold: Span::from_ms(1),
        streams: (0..size.streams).map(|stream| stream_series(size, stream)).collect(),
        flows: flows.collect(),
        ..Series::default()
    }
}

fn figure(hour: u64, target: Option<usize>, value: f64, within: bool) -> Figure {
    Figure {
        window: hour + 1,
        start_ns: hour * HOUR,
        end_ns: (hour + 1) * HOUR,
        target: target.map(target_name),
        value,
        text: format!("{:.2}%", value * 100.0),
        operations: 4_800_000,
        within,
        generator: false,
        others: false,
        too_few: false,
        processors: false,
    }
}

fn criteria(size: Size) -> Vec<CriterionOutcome> {
    let broken = size.targets > 1;
    let delivered = CriterionOutcome {
        asked: Requirement {
            criterion: "load delivered at least 99.9% per slice".into(),
            title: "load delivered".into(),
            bound: "at least 99.9%".into(),
            window_ns: HOUR,
            ..Requirement::default()
        },
        outcome: Outcome::Pass,
        windows: size.hours,
        broken: 0,
        broken_on: Vec::new(),
        measured: Some(figure(3, None, 0.99998, true)),
        worst: Some(figure(3, None, 0.99998, true)),
        targets: Vec::new(),
        note: None,
    };
    let over = |ms: u64, percent: u64, fails: bool| {
        let value = if fails { share(1, 5 * HOUR) } else { 0.0009 };
        let worst = Some(figure(5, fails.then_some(1), value, !fails));
        CriterionOutcome {
            asked: Requirement {
                criterion: format!("reads response over {ms}ms below {percent}% per 1h"),
                title: format!("reads response over {ms} ms"),
                bound: format!("< {percent}%"),
                stream: Some("reads".into()),
                measure: Some(Measure::Response),
                threshold: Some(Span::from_ms(ms)),
                window_ns: HOUR,
                exact_bound: Some(below(ms, percent)),
            },
            outcome: if fails { Outcome::Fail } else { Outcome::Pass },
            broken: u64::from(fails),
            broken_on: Vec::new(),
            measured: worst.clone(),
            worst,
            ..delivered.clone()
        }
    };
    vec![delivered.clone(), over(1, 5, broken), over(8, 1, false)]
}

fn targets(size: Size) -> Vec<TargetTotals> {
    let facts = [
        ("model", "EXAMPLE NVMe 3.84TB"),
        ("firmware", "GXA7802Q"),
        ("scheduler", "none"),
        ("write cache", "write back"),
    ];
    let target = |index: usize| TargetTotals {
        head: TargetHead {
            name: target_name(index),
            kind: "block device".into(),
            size_bytes: 3_840_755_982_336,
            block_bytes: 4096,
            facts: text_map(&facts),
            prepared: Some(Preparation {
                finished: "2026-11-19T22:14:03Z".into(),
                salted_bytes: 3_840_755_982_336,
                zeroed_bytes: 3_840_755_982_336,
                verified_blocks: 1024,
                ..Preparation::default()
            }),
        },
        written_bytes: 177_000_000_000,
        read_bytes: 710_000_000_000,
        sampled_reads: 0,
        blank_reads: 0,
        disk: Some(DiskTotals {
            reads: DiskCount { operations: 1_000_400, bytes: 4_000_000 },
            own_reads: DiskCount { operations: 1_000_000, bytes: 4_000_000 },
            mismatch: 0.0004,
            ..DiskTotals::default()
        }),
        lateness: None,
        health: None,
    };
    (0..size.targets).map(target).collect()
}

fn steadiness(size: Size) -> Vec<Steadiness> {
    let window = |slope| SteadyWindow {
        start_ns: size.hours * HOUR - 300 * SECOND,
        end_ns: size.hours * HOUR,
        average: 140_000.0,
        excursion: 0.083,
        slope,
        steady: slope < 0.1,
    };
    let of = |(index, slope)| Steadiness {
        stream: stream_name(index),
        measure: "mean response".into(),
        round_ns: 60 * SECOND,
        rounds: size.hours * 60,
        steady_from_ns: (index == 0).then_some(600 * SECOND),
        last: Some(window(slope)),
        changes: vec![Change { at_ns: 5 * HOUR + 720 * SECOND, before: 96_800.0, after: 140_000.0 }],
    };
    [(0, 0.012), (1, 0.31)].into_iter().take(size.streams).map(of).collect()
}

fn part(size: Size) -> StepFigures {
    let event = |at_ns: u64, what: &str, text: &str| Event {
        at_ns,
        what: what.into(),
        text: text.into(),
        details: text_map(&[("address", "0x1f400000")]),
    };
    StepFigures {
        stress: false,
        failure: None,
        time: MeasuredTime {
            planned_ns: size.hours * HOUR,
            measured_ns: size.hours * HOUR,
            slice_ns: HOUR,
            intervals: Intervals { planned: size.hours * 3600, present: size.hours * 3600, valid: size.hours * 3600 },
        },
        history: LogHistory { segments: 1, ..LogHistory::default() },
        criteria: criteria(size),
        slices: SliceList { listed: slices(size), left_out: 0 },
        databases: Vec::new(),
        streams: StreamFigures {
            each: each(size).map(|(stream, target)| totals(size, stream, target)).collect(),
            ..StreamFigures::default()
        },
        generator: GeneratorFigures {
            cost: Some(GeneratorCost {
                cpu_ns: 9_000 * SECOND,
                run_queue_ns: 3 * SECOND,
                steal_ns: 0,
                resident_bytes_max: 96 << 20,
                sampled_ns: size.hours * HOUR,
                ..GeneratorCost::default()
            }),
            engine: text_map(&[
                ("engine", "io_uring"),
                ("workers", "4"),
                ("in flight", "256"),
                ("clock", "CLOCK_MONOTONIC_RAW"),
            ]),
            host: text_map(&[("cpu", "AMD EPYC 7543"), ("kernel", "6.1.0-25-amd64"), ("name", "rack7<b>-12")]),
            ranks: ranks(size),
        },
        targets: TargetFigures { each: targets(size), ..TargetFigures::default() },
        course: Course {
            gaps: Vec::new(),
            events: vec![
                event(size.hours * HOUR / 3, "io-error", &format!("read failed with EIO on {HOSTILE_IMAGE}")),
                event(5 * HOUR, "environment", "temperature of the device rose from 41 °C to 78 °C"),
            ],
            events_left_out: 0,
            parts: Vec::new(),
            steadiness: steadiness(size),
            series: series(size),
        },
        plan: PlanAsRun {
            json: serde_json::json!({ "name": "orders volume", "model": "act-storage", "streams": (0..size.streams).map(stream_name).collect::<Vec<_>>(), "note": HOSTILE_SCRIPT }),
            blake3: None,
        },
    }
}

/// Four ranks of which the third is slow from the sixth hour on; its host has a hostile name.
fn ranks(size: Size) -> Vec<RankFigures> {
    let share = |rank: u64, criterion: usize| {
        let over = |hour: u64| if rank == 2 && hour >= 5 { 40_000 } else { 1_000 + 10 * hour };
        let slices: Vec<(u64, u64)> = (0..size.hours).map(|hour| (over(hour) / criterion as u64, 720_000)).collect();
        let sum = |count: fn(&(u64, u64)) -> u64| slices.iter().map(count).sum::<u64>();
        let others = (rank == 2).then_some((1_234, 3 * 720_000 * size.hours));
        RankShare { criterion, over: sum(|slice| slice.0), operations: sum(|slice| slice.1), slices, others }
    };
    let rank = |rank: u64| RankFigures {
        rank: rank as u32,
        host: if rank == 2 { HOSTILE_IMAGE.into() } else { format!("node{rank}") },
        parts: 2,
        verdict: Some(if rank == 2 { Verdict::Fail } else { Verdict::Pass }),
        shares: vec![share(rank, 1), share(rank, 2)],
    };
    (0..4).map(rank).collect()
}

fn judgement(size: Size, verdict: Verdict, reason: &str) -> Judgement {
    Judgement {
        schema: SCHEMA,
        verdict,
        reason: reason.to_owned(),
        answer: None,
        deciding: None,
        name: "orders volume".into(),
        model: "act-storage".into(),
        load: "30x".into(),
        seed: 20_261_120,
        tool: "assay 0.1.0 (7aede88)".into(),
        created: "2026-11-20T09:00:00Z".into(),
        watermarks: Vec::new(),
        warnings: vec!["the scheduler of /dev/nvme0n1 is mq-deadline; write none to its queue/scheduler".into()],
        damage: Vec::new(),
        judged_on: None,
        log: Some(LogSum { bytes: 4_711_000, blake3: "c0ffee".repeat(10) + "c0de" }),
        part: part(size),
        steps: Vec::new(),
    }
}

/// A day on three targets, two of them with hostile names, the second of them slow in slice 6.
pub fn failed() -> Judgement {
    let reason = format!("reads took 1 ms or longer in 7.90% of slice 6 on {HOSTILE_IMAGE}; the bound is < 5%.");
    let mut failed = judgement(Size { hours: 24, targets: 3, streams: 3, points: 2000 }, Verdict::Fail, &reason);
    failed.deciding = Some(Deciding {
        step: 1,
        slice: Some(6),
        window_ns: None,
        stream: Some("reads".into()),
        target: Some(HOSTILE_IMAGE.into()),
        measured: Some("7.90%".into()),
        bound: Some("< 5%".into()),
        start_ns: 5 * HOUR,
        end_ns: 6 * HOUR,
        part: None,
    });
    failed.damage = vec![Damaged { line: 812, offset: 99_331, torn_tail: true, what: "the line has no end".into() }];
    failed.part.course.gaps =
        vec![Gap { at_ns: 9 * HOUR, before: "interrupted by SIGTERM".into(), resumed: "2026-11-20T18:20:00Z".into() }];
    failed
}

/// Two hours on one simulated target.
pub fn passed() -> Judgement {
    let mut passed = judgement(
        Size { hours: 2, targets: 1, streams: 2, points: 720 },
        Verdict::Pass,
        "every bound held in 2 of 2 slices.",
    );
    passed.watermarks = vec!["SIMULATED".into(), "QUICK".into()];
    passed
}

/// A load test and a stress test; the first failed.
pub fn certificate() -> Judgement {
    let mut whole = failed();
    let step = |number: u32, title: &str, verdict: Verdict, part: StepFigures| Step {
        number,
        of: 2,
        title: title.to_owned(),
        verdict,
        reason: "as the criteria say.".to_owned(),
        deciding: None,
        load: "30x".to_owned(),
        gain: None,
        warnings: Vec::new(),
        part,
    };
    let mut stress = part(Size { hours: 6, targets: 3, streams: 3, points: 2000 });
    stress.stress = true;
    stress.criteria.iter_mut().skip(1).for_each(|outcome| outcome.outcome = Outcome::NotApplied);
    let load = whole.part.clone();
    whole.steps = vec![step(1, "load test", Verdict::Fail, load), step(2, "stress test", Verdict::Pass, stress)];
    whole
}

/// 48 hours on 24 targets with 7 streams: the largest log the report is made for.
pub fn largest() -> Judgement {
    judgement(Size { hours: 48, targets: 24, streams: 7, points: 2000 }, Verdict::Fail, "too slow.")
}

/// A log that ends before anything was measured.
pub fn nothing() -> Judgement {
    let size = Size { hours: 1, targets: 1, streams: 1, points: 10 };
    Judgement { part: StepFigures::default(), ..judgement(size, Verdict::Incomplete, "nothing was measured.") }
}
