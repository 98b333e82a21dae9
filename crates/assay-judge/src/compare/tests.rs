//! Synthetic logs: the same distribution twice is noise, a run slower by a fifth is not, and what is not comparable is
//! refused.

use super::*;
use assay_base::Prng;
use assay_record::{
    Entry, FlowHistograms, FlowInterval, Header, Histograms, Interval, Reader, Thresholds, Times, Timing,
};

/// The first header of a stored log, with only one stream.
fn header() -> Header {
    let log = include_bytes!("../../../assay-record/tests/golden/run-v1.jsonl");
    let Ok(Entry::Header(header)) = Reader::new(&log[..]).next_entry().unwrap().unwrap() else { panic!("no header") };
    let mut header = *header;
    header.streams.truncate(1);
    header.flows.truncate(1);
    header
}

/// A run of `groups` × 10 intervals. The level varies from group to group (AR(1), coefficient 0.7), as that of real
/// devices does.
fn run(seed: u64, slower: f64, groups: u64) -> Run {
    let mut prng = Prng::from_seed(seed);
    let header = header();
    let bounds = Thresholds::from_bounds(header.thresholds_ns.clone());
    let mut sampled = Sampled::default();
    sampled.take_entry(&Entry::Header(Box::new(header))).unwrap();
    let mut level = 0.0;
    for group in 0..groups {
        level = 0.7 * level + 0.05 * (prng.uniform_unit() - 0.5);
        let mut times = Times::default();
        for index in group * 10..(group + 1) * 10 {
            let mut counts = vec![0; bounds.bucket_count()];
            for _ in 0..40 {
                // Exponential above a minimum: mean 0.5 ms.
                let ns = ((100_000.0 - 400_000.0 * (1.0 - prng.uniform_unit()).ln()) * (1.0 + level) * slower) as u64;
                times.record_time(ns);
                counts[bounds.bucket_for_time(ns)] += 1;
            }
            let response = Timing { counts: Timing::sparse_counts(&counts), ..Timing::default() };
            let service = response.clone();
            let flow = FlowInterval { scheduled: 40, ok: 40, response, service, ..FlowInterval::default() };
            let interval = Interval { index, phase: 1, flows: vec![flow], ..Interval::default() };
            sampled.take_entry(&Entry::Interval(interval)).unwrap();
        }
        let (response, service) = (times.to_text(), times.to_text());
        let flow = FlowHistograms { flow: 0, response, service, ..FlowHistograms::default() };
        let histograms = Histograms { first: group * 10, last: group * 10 + 9, phase: 1, flows: vec![flow] };
        sampled.take_entry(&Entry::Histograms(histograms)).unwrap();
    }
    Run { label: format!("run {seed}"), judgement: judgement(), sampled }
}

fn judgement() -> Judgement {
    let log = include_bytes!("../../../assay-record/tests/golden/run-v1.jsonl");
    crate::judge_log(Reader::new(&log[..]), &crate::Options::default()).unwrap()
}

/// The answer for one figure of the second run.
fn answer<'a>(comparison: &'a Comparison, what: &str) -> &'a Answer {
    let figures = &comparison.streams[0].figures;
    &figures.iter().find(|figure| figure.what == what).unwrap().against_first[0]
}

/// Compares a run with one that is `slower` times as slow, for 24 seeds: in at least nine of ten comparisons `is`,
/// which gets the number of the figure, must accept the answer for each figure.
fn mostly(slower: f64, is: impl Fn(usize, &Answer) -> bool) {
    const SEEDS: u64 = 24;
    const GROUPS: u64 = 48;
    let figures = ["p50", "p99", "over 1ms"];
    let mut right = [0; 3];
    for seed in 0..SEEDS {
        let compared = compare_runs(&[run(2 * seed, 1.0, GROUPS), run(2 * seed + 1, slower, GROUPS)], false).unwrap();
        for (index, what) in figures.iter().enumerate() {
            right[index] += u64::from(is(index, answer(&compared, what)));
        }
    }
    for (what, right) in figures.iter().zip(right) {
        assert!(right * 10 >= SEEDS * 9, "{what}: {slower} times as slow was answered right for {right} of {SEEDS}");
    }
}

#[test]
fn the_same_twice_is_noise() {
    mostly(1.0, |_, answer| matches!(answer, Answer::Noise { .. }));
}

#[test]
fn a_fifth_slower_is_no_noise() {
    // For percentiles the interval is of the ratio, for the share over a threshold of the difference.
    let none = |index: usize| if index < 2 { 1.0 } else { 0.0 };
    mostly(1.2, |index, answer| matches!(answer, Answer::Differs { low, .. } if *low > none(index)));
}

#[test]
fn too_little_is_said_to_be_so() {
    let compared = compare_runs(&[run(1, 1.0, 7), run(2, 1.5, 7)], false).unwrap();
    assert_eq!(*answer(&compared, "p99"), Answer::CannotTell);
}

#[test]
fn a_tenfold_difference_is_told_from_few_blocks_and_less_is_not() {
    for (groups, slower, told) in [(1, 100.0, true), (3, 20.0, true), (1, 5.0, false), (7, 8.0, false)] {
        let compared = compare_runs(&[run(1, 1.0, groups), run(2, slower, groups)], false).unwrap();
        for what in ["p50", "p90"] {
            let answer = answer(&compared, what);
            let plain = matches!(answer, Answer::Differs { low, high } if low == high && *low > 10.0);
            assert!(plain == told && (told || *answer == Answer::CannotTell), "{groups} {slower} {what}: {answer:?}");
        }
        // Of 400 operations, too few lie beyond p99.9 to be more than chance.
        assert_eq!(*answer(&compared, "p99.9"), Answer::CannotTell, "{groups} {slower}");
    }
    let faster = compare_runs(&[run(1, 100.0, 1), run(2, 1.0, 1)], false).unwrap();
    assert!(matches!(answer(&faster, "p50"), Answer::Differs { high, .. } if *high < 0.1));
    // None of the first run's operations exceeds 8 ms, nearly all of the second's do.
    let short = |seed, slower| {
        let mut run = run(seed, slower, 1);
        run.sampled.shorten(3);
        run
    };
    let share = |slower| answer(&compare_runs(&[short(1, 1.0), short(2, slower)], false).unwrap(), "over 8ms").clone();
    assert!(matches!(share(1000.0), Answer::Differs { low, high } if low == high && low > 0.9));
    assert_eq!((share(1.5), share(5.0)), (Answer::CannotTell, Answer::CannotTell), "none, and too few");
}

#[test]
fn a_run_that_its_lag_ended_is_worse_whatever_it_had_measured_by_then() {
    let stopped = |mut run: Run| {
        run.judgement.verdict = Verdict::Fail;
        run.judgement.part.history.closed = Some(CloseReason::DeviceLag);
        run
    };
    let failed = |mut run: Run| {
        run.judgement.verdict = Verdict::Fail;
        run
    };
    let of = |first: Run, second: Run| compare_runs(&[first, second], false).unwrap();
    let worse = of(failed(run(1, 1.0, 2)), stopped(run(2, 0.5, 2)));
    assert_eq!((answer(&worse, "p50"), answer(&worse, "over 1ms")), (&Answer::Worse, &Answer::Worse));
    assert_eq!(worse.ranking[1].label, "run 2", "the one that was not ended comes first, whatever its p99");
    assert_ne!(worse.ranking[0].rank, worse.ranking[1].rank);
    assert_eq!(*answer(&of(stopped(run(2, 0.5, 2)), failed(run(1, 1.0, 2))), "p50"), Answer::Better);
    assert_eq!(*answer(&of(stopped(run(2, 0.5, 2)), stopped(run(1, 1.0, 2))), "p50"), Answer::CannotTell);
    let service = worse.streams.iter().find(|row| row.measure == Measure::Service).unwrap();
    assert!(!service.figures[0].against_first.contains(&Answer::Worse), "what the device took is compared as it is");
}

#[test]
fn every_watermark_is_kept() {
    let mut marked = run(2, 1.0, 2);
    marked.judgement.watermarks = vec!["SIMULATED".into(), "SHORT: 20s of 24h".into()];
    let mut plain = run(1, 1.0, 2);
    plain.judgement.watermarks.clear();
    let comparison = compare_runs(&[plain, marked], false).unwrap();
    assert_eq!(comparison.watermarks.len(), 1);
    let labels = ["run 1".to_owned(), "run 2".to_owned()];
    let (mut page, mut terminal) = (String::new(), String::new());
    write_html(&comparison, &labels, &mut page).unwrap();
    write_text(&comparison, &labels, &mut terminal).unwrap();
    assert!(terminal.contains("SIMULATED") && terminal.contains("SHORT: 20s of 24h"), "{terminal}");
    assert!(page.contains("<b>SIMULATED</b>") && page.contains("<b>SHORT</b> 20s of 24h"), "{page}");
}

#[test]
fn the_same_logs_give_the_same_answer() {
    let one = || compare_runs(&[run(1, 1.0, 32), run(2, 1.1, 32)], false).unwrap();
    assert_eq!(one(), one());
}

#[test]
fn another_plan_is_refused_unless_told() {
    let mut other = run(2, 1.0, 16);
    let mut changed = header();
    changed.load = "2x".into();
    changed.criteria.truncate(1);
    other.sampled = Sampled::default();
    other.sampled.take_entry(&Entry::Header(Box::new(changed))).unwrap();
    let runs = [run(1, 1.0, 16), other];
    let refused = compare_runs(&runs, false).unwrap_err();
    assert!(refused.iter().any(|line| line.contains("load is 1x in run 1 and 2x in run 2")), "{refused:?}");
    assert!(refused.iter().any(|line| line.contains("criteria")), "{refused:?}");
    let told = compare_runs(&runs, true).unwrap();
    assert_eq!(told.plans_differ, refused);
}

#[test]
fn a_member_that_differs_is_named_by_its_path() {
    let differences = |change: fn(&mut Header)| {
        let mut other = run(2, 1.0, 16);
        let (mut planned, mut changed) = (header(), header());
        let stream = |zipf| serde_json::json!({"streams": [{"name": "reads", "addresses": {"zipf": zipf, "blocks": [1, 2]}, "after": null}]});
        (planned.plan, changed.plan) = (stream(0.8), stream(0.8));
        change(&mut changed);
        let mut first = run(1, 1.0, 16);
        for (run, header) in [(&mut first, planned), (&mut other, changed)] {
            run.sampled = Sampled::default();
            run.sampled.take_entry(&Entry::Header(Box::new(header))).unwrap();
        }
        compare_runs(&[first, other], false).err().unwrap_or_default()
    };
    assert!(differences(|_| {}).is_empty());
    for (change, line) in [
        (
            (|it| it.plan["streams"][0]["addresses"]["zipf"] = 0.9.into()) as fn(&mut Header),
            "stream reads, addresses.zipf is 0.8 in run 1 and 0.9 in run 2",
        ),
        (
            |it| it.plan["streams"][0]["after"] = "writes".into(),
            "stream reads, after is writes in run 2, and run 1 has none",
        ),
        (
            |it| it.plan["streams"][0]["addresses"]["blocks"] = serde_json::json!([3]),
            "stream reads, addresses.blocks is [1,2] in run 1 and [3] in run 2",
        ),
        (|it| it.plan["streams"] = serde_json::json!([]), "stream reads is described in the log of one of"),
        (|it| it.streams[0].arrival = "steady".into(), "steady, "),
    ] {
        let found = differences(change);
        assert!(found.len() == 1 && found[0].contains(line), "{line}: {found:?}");
    }
}

#[test]
fn the_ranking_ties_what_noise_cannot_tell_apart() {
    let runs = [run(3, 1.5, 64), run(1, 1.0, 64), run(2, 1.0, 64)];
    let ranking = compare_runs(&runs, false).unwrap().ranking;
    let ranks: Vec<usize> = ranking.iter().map(|ranked| ranked.rank).collect();
    assert_eq!(ranks, [1, 1, 3], "{ranking:?}");
    assert_eq!(ranking[2].label, "run 3");
}

#[test]
fn a_long_log_is_kept_in_few_units_and_loses_nothing() {
    let long = run(1, 1.0, 600);
    let series = long.sampled.main().unwrap();
    assert!(series.groups.all.len() <= 512 && series.intervals.all.len() <= 512);
    let all: u64 = series.groups.all.iter().flat_map(|unit| unit.values()).sum();
    assert_eq!(all, 600 * 10 * 40);
}

#[test]
fn blocks_are_longer_where_neighbours_are_alike() {
    let mut prng = Prng::from_seed(1);
    let independent: Vec<f64> = (0..400).map(|_| prng.uniform_unit()).collect();
    let mut level = 0.0;
    let alike: Vec<f64> = (0..400)
        .map(|_| {
            level = 0.95 * level + prng.uniform_unit() - 0.5;
            level
        })
        .collect();
    let (short, long) = (bootstrap::block_length(&independent), bootstrap::block_length(&alike));
    assert!(short == 25 && long > short, "{short} and {long}");
    assert_eq!(bootstrap::block_length(&[]), 1);
}

#[test]
fn names_stay_text() {
    let mut hostile = run(2, 1.2, 16);
    hostile.label = "<script>alert(1)</script>\u{1b}[31m".into();
    let runs = [run(1, 1.0, 16), hostile];
    let comparison = compare_runs(&runs, false).unwrap();
    let labels: Vec<String> = runs.iter().map(|run| run.label.clone()).collect();
    let (mut page, mut terminal) = (String::new(), String::new());
    write_html(&comparison, &labels, &mut page).unwrap();
    write_text(&comparison, &labels, &mut terminal).unwrap();
    assert!(!page.contains("<script") && page.contains("&#60;script&#62;") && !terminal.contains('\u{1b}'));
    assert!(terminal.contains("DIFFERS 1."), "{terminal}");
}
