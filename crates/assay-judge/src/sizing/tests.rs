use super::*;
use crate::fit::{Compared, Figure, Round};
use crate::procedure::Evidence;
use assay_base::Knobs;

fn demand(drives: u32, growth: u64, headroom: u64) -> Demand {
    Demand { drives, growth: Multiple::from_whole(growth), headroom: Share::from_percent(headroom) }
}

#[test]
fn drives_needed_are_rounded_up_and_no_more() {
    let hundredths = |n: u64| Multiple::from_ratio(n, 100).unwrap();
    for (drives, growth, headroom, holds, needed) in [
        // 4 × 2 / (4 × 0.7) = 2.86
        (4, 2, 30, 400, Some(3)),
        // Exactly 2, not 3 because of a rounding error in the division.
        (7, 1, 30, 500, Some(2)),
        (1, 1, 0, 100, Some(1)),
        (1, 1, 0, 1600, Some(1)),
        (10, 1, 0, 50, Some(20)),
        (3, 2, 100, 800, None),
    ] {
        assert_eq!(
            demand(drives, growth, headroom).drives_of(hundredths(holds)),
            needed,
            "{drives} {growth} {headroom} {holds}"
        );
    }
}

fn fitted(target: &str, outcome: Option<fit::Outcome>) -> fit::Trail {
    let one = |figure, measured| Compared {
        figure,
        production: measured,
        measured,
        difference: 0.0,
        counting: 0.001,
        allowed: 0.011,
    };
    fit::Trail {
        schema: fit::SCHEMA,
        workload: "orders".into(),
        profile_blake3: String::new(),
        drive: "alpha/nvme0n1".into(),
        target: target.into(),
        device: Some(format!("{target}: a drive")),
        size_bytes: Some(864_000_000_000),
        round_ns: 60_000_000_000,
        seed: 1,
        tolerance: 0.01,
        rounds_max: 5,
        watermarks: Vec::new(),
        notes: Vec::new(),
        outcome,
        rounds: vec![Round {
            knobs: Knobs::default(),
            verdict: Verdict::Pass,
            reason: "the device <b>fell</b> behind".into(),
            delivered: true,
            seconds: 60.0,
            handed_over: [100.0, 10.0, 1e6, 1e7],
            counted: None,
            flushes: 0.0,
            figures: vec![one(Figure::Reads, 100.0)],
            nines: vec![(0.5, 90_000), (0.99, 400_000)],
            directory: "01".into(),
        }],
        aside: Aside::default(),
    }
}

fn searched(outcome: Outcome, runs: &[(u64, Verdict)]) -> Trail {
    let run = |&(load, verdict): &(u64, Verdict)| Run {
        load: Multiple::from_whole(load),
        verdict,
        reason: "why".into(),
        measured: Some("reads response over 1 ms 7.1% (bound < 5%)".into()),
        response_p99_ns: Some(100_000 * load),
        rate: Some(100.0),
        bytes_per_second: Some(1e6),
        stream: Some("reads".into()),
        nines: vec![(0.5, 80_000 * load)],
        workloads: Vec::new(),
        broken_tile: None,
        directory: format!("{load}").into(),
    };
    Trail {
        schema: 1,
        workload: "orders".into(),
        targets: Vec::new(),
        devices: Vec::new(),
        run_ns: 1,
        seed: 1,
        plan_blake3: None,
        counted: None,
        watermarks: Vec::new(),
        deviations: Vec::new(),
        tiles: None,
        outcome: Some(outcome),
        runs: runs.iter().map(run).collect(),
        aside: Aside::default(),
    }
}

fn sizing() -> Sizing {
    let demand = demand(4, 2, 30);
    let mut sizing = Sizing {
        schema: SCHEMA,
        workload: "orders".into(),
        profile_blake3: String::new(),
        targets: Vec::new(),
        drive: "alpha/nvme0n1".into(),
        demand,
        watermarks: Vec::new(),
        candidates: Vec::new(),
    };
    let agrees = || Some(fit::Outcome::Agrees { round: 1 });
    let whole = Multiple::from_whole;
    let between = Outcome::Between { passes: whole(4), fails: whole(5) };
    let paths = [
        (
            "sim:a",
            agrees(),
            Some(searched(between, &[(1, Verdict::Pass), (4, Verdict::Pass), (8, Verdict::Fail), (5, Verdict::Fail)])),
        ),
        (
            "/dev/\u{1b}<b>",
            agrees(),
            Some(searched(Outcome::NeverFailed { passes: whole(16) }, &[(1, Verdict::Pass), (16, Verdict::Pass)])),
        ),
        (
            "/dev/disk/by-id/nvme-a-name-that-is-long",
            Some(fit::Outcome::NotCarried { round: 1 }),
            Some(searched(Outcome::NeverPassed { fails: whole(1) }, &[(1, Verdict::Fail)])),
        ),
        ("sim:d", Some(fit::Outcome::Stopped { round: 1, verdict: Verdict::Invalid }), None),
    ];
    for (target, outcome, path) in &paths {
        let one = Candidate::new(&demand, &fitted(target, outcome.clone()), path.as_ref(), Some(5e6));
        sizing.add_candidate(one, &["SIMULATED".into()]);
    }
    sizing
}

#[test]
fn each_candidate_is_a_row_with_what_is_known_of_it() {
    let sizing = sizing();
    let all = &sizing.candidates;
    let known: Vec<(Option<u64>, Option<u64>, bool)> = all
        .iter()
        .map(|one| {
            (one.holds.map(|holds| holds.as_millionths() / 1_000_000), one.need.map(|need| need.drives), one.is_known())
        })
        .collect();
    assert_eq!(known, [(Some(4), Some(3), true), (Some(16), Some(1), true), (None, None, true), (None, None, false)]);
    // 10 MB/s are 864 GB a day: the whole drive once; 8 loads on 3 drives are 2.67 of it for each.
    assert_eq!(all[0].drive_writes_a_day, Some(1.0));
    assert!((all[0].need.unwrap().drive_writes_a_day.unwrap() - 8.0 / 3.0).abs() < 1e-9);
    assert_eq!(all[2].drive_writes_a_day, Some(0.5), "by production's figure where nothing was fitted");
    assert_eq!(all[0].broke.as_deref(), Some("at 5x: reads response over 1 ms 7.1% (bound < 5%)"));
    assert_eq!(all[0].nines, [(0.5, 80_000)], "of the run at 1x");
    assert_eq!(all[3].nines.len(), 0);
    assert_eq!(sizing.fewest_needed().unwrap().target, "/dev/\u{1b}<b>");
    assert_eq!(sizing.watermarks, ["SIMULATED"]);
    let json = serde_json::to_string(&sizing).unwrap();
    let read: Sizing = serde_json::from_str(&json).unwrap();
    assert_eq!((read.candidates.len(), read.demand), (4, sizing.demand));
}

/// Whatever else is known: a candidate on which something failed carries nothing, and the sizing is FAIL.
#[test]
fn a_candidate_that_failed_holds_nothing_and_makes_the_sizing_fail() {
    let demand = demand(4, 2, 30);
    let whole = Multiple::from_whole;
    let aside = || {
        let run = Evidence::from(Verdict::Fail).with_failure("3 EIO".to_owned());
        Aside { failures: vec![run], ..Aside::default() }
    };
    let runs = [(1, Verdict::Pass), (2, Verdict::Fail)];
    let failed_in_search = Trail {
        aside: aside(),
        ..searched(Outcome::TargetFailed { at: Some(whole(2)), passes: Some(whole(1)) }, &runs)
    };
    let agrees = fitted("sim:a", Some(fit::Outcome::Agrees { round: 1 }));
    let stopped = Some(fit::Outcome::Stopped { round: 1, verdict: Verdict::Fail });
    let failed_in_fit = fit::Trail { aside: aside(), ..fitted("sim:b", stopped) };
    for candidate in [
        Candidate::new(&demand, &agrees, Some(&failed_in_search), None),
        Candidate::new(&demand, &failed_in_fit, None, None),
    ] {
        assert_eq!((candidate.holds, candidate.need, candidate.is_known()), (None, None, true));
        let mut sizing = Sizing { candidates: vec![sizing().candidates[0].clone()], ..sizing() };
        assert_eq!(sizing.verdict(), Verdict::Pass);
        sizing.add_candidate(candidate, &[]);
        assert_eq!(sizing.verdict(), Verdict::Fail);
        let (mut words, mut page) = (String::new(), String::new());
        super::write_text(&sizing, &mut words).unwrap();
        write_html(&sizing, &mut page).unwrap();
        assert!(words.contains("3 EIO") && words.contains("failed in") && page.contains("; failed: sim:"), "{words}");
    }
}

#[test]
fn a_sizing_that_was_cut_short_is_incomplete() {
    let demand = demand(4, 2, 30);
    let stopped = |verdict| Outcome::Stopped { at: Multiple::ONE, verdict, passes: None };
    let agrees = fitted("sim:a", Some(fit::Outcome::Agrees { round: 1 }));
    let in_search = |verdict| Candidate::new(&demand, &agrees, Some(&searched(stopped(verdict), &[])), None);
    let in_fit = |verdict| {
        let outcome = Some(fit::Outcome::Stopped { round: 1, verdict });
        Candidate::new(&demand, &fitted("sim:b", outcome), None, None)
    };
    for (candidate, verdict) in [
        (in_search(Verdict::Incomplete), Verdict::Incomplete),
        (in_fit(Verdict::Incomplete), Verdict::Incomplete),
        (in_search(Verdict::Invalid), Verdict::Invalid),
        (in_fit(Verdict::Invalid), Verdict::Invalid),
    ] {
        let alone = Sizing { candidates: vec![candidate], ..sizing() };
        assert_eq!(alone.verdict(), verdict);
    }
    assert_eq!(Sizing { candidates: Vec::new(), ..sizing() }.verdict(), Verdict::Invalid);
}

#[test]
fn text_and_page_hold_every_candidate_and_no_markup_of_theirs() {
    let sizing = sizing();
    let mut text = String::new();
    super::write_text(&sizing, &mut text).unwrap();
    assert!(text.lines().all(|line| line.chars().count() <= 80) && !text.contains('\u{1b}'), "{text}");
    for told in [
        "production has 4 drives; asked is 2x of its load, with 30% of headroom",
        "sim:a                          4x            1.00       3          2.67",
        ">= 16x",
        "none",
        "…",
        "broken at 5x: reads response over 1 ms 7.1% (bound < 5%)",
        "Fewest drives: 1 of",
        "Drives needed = 4 × 2x / (what one holds × (1 − 30%)), rounded up.",
    ] {
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(told) || words(&text).contains(told), "{told}\n{text}");
    }
    let mut page = String::new();
    write_html(&sizing, &mut page).unwrap();
    assert!(!page.contains("<b>fell") && !page.contains("/dev/\u{1b}<b>") && !page.contains("<script"), "{page}");
    // A line for each candidate with a search, and the distributions at production's load.
    for told in
        ["class=\"line s1 d0\"", "class=\"line s2 d0\"", "sim:a holds 4x", "class=\"sign fail\"", "/limit/limit.html"]
    {
        assert!(page.contains(told), "{told}");
    }
    let none = Sizing { candidates: Vec::new(), ..sizing };
    let (mut text, mut page) = (String::new(), String::new());
    super::write_text(&none, &mut text).unwrap();
    write_html(&none, &mut page).unwrap();
    assert!(!text.contains("Fewest") && page.contains("no candidate is known"), "{text}");
}
