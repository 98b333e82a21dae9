//! Suites of made figures: what does not differ is noise in nineteen figures of twenty, what differs is found, and what proves nothing is
//! not compared.

use super::*;
use crate::compare::Answer;
use assay_base::Prng;
use assay_record::Reader;

/// Standard deviation of the logarithm of a time between rounds.
const NOISE: f64 = 0.04;

fn member(label: &str, class: &str) -> Member {
    let facts = [("type".to_owned(), "ext4".to_owned()), ("source".to_owned(), format!("/dev/{label}"))].into();
    let options = vec!["rw".to_owned(), format!("only-{label}")];
    Member {
        label: label.to_owned(),
        target: format!("/mnt/{label}"),
        class: class.to_owned(),
        facts,
        options,
        about: BTreeMap::new(),
        identity: None,
    }
}

/// A suite without runs of two workloads.
fn suite(members: Vec<Member>, rounds: u32) -> Suite {
    let workload = |name: &str| SuiteWorkload {
        name: name.to_owned(),
        plan_blake3: String::new(),
        length: "20s".to_owned(),
        cache: "drop".to_owned(),
    };
    Suite {
        schema: SCHEMA,
        compared: "mounts".to_owned(),
        members,
        workloads: vec![workload("commit"), workload("mail")],
        rounds,
        seed: 1,
        anyway: false,
        remarks: Vec::new(),
        lost: Vec::new(),
        watermarks: vec!["SHORT: 20s of 10min".to_owned()],
        runs: Vec::new(),
        aside: Aside::default(),
    }
}

/// Nearly normal, with this standard deviation.
fn noise(prng: &mut Prng) -> f64 {
    NOISE * ((0..12).map(|_| prng.uniform_unit()).sum::<f64>() - 6.0)
}

/// The run at a place, whose times are this many times those of the first member.
fn run(prng: &mut Prng, place: Place, slower: f64) -> SuiteRun {
    let streams = ["append", "create"].map(|stream| {
        let mut time = |ns: f64| Some((ns * slower * noise(prng).exp()) as u64);
        StreamTimes {
            step: None,
            stream: stream.to_owned(),
            principal: true,
            rate: Some(100.0 / slower),
            mean_ns: time(1e6),
            p50_ns: time(8e5),
            p90_ns: time(2e6),
            p99_ns: time(7e6),
        }
    });
    let (rate, client_share) = (Some(200.0 / slower), Some(0.2));
    let figures = RunFigures { rate, client_share, streams: streams.into(), ..RunFigures::default() };
    let directory = format!("run-{}-{}-{:?}", place.round, place.workload, place.member);
    SuiteRun { place, verdict: Verdict::Pass, reason: "all held".to_owned(), directory, figures }
}

/// The suite with all its runs; `slower` is for each member.
fn with_runs(mut suite: Suite, seed: u64, slower: &[f64]) -> Suite {
    let mut prng = Prng::from_seed(seed);
    for place in suite.places_of_rounds() {
        suite.runs.push(run(&mut prng, place, slower[place.member.unwrap()]));
    }
    suite
}

fn two_local(rounds: u32) -> Suite {
    suite(vec![member("a", "local"), member("b", "local")], rounds)
}

fn text_in_one_line(suite: &Suite) -> String {
    let mut text = String::new();
    write_text(suite, &mut text).unwrap();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn each_round_begins_with_another_member() {
    let suite = suite(["a", "b", "c"].map(|label| member(label, "local")).into(), 4);
    let of_round = |round: u32, workload: usize| -> Vec<usize> {
        let places = suite.places_of_rounds();
        places.iter().filter(|p| (p.round, p.workload) == (round, workload)).map(|p| p.member.unwrap()).collect()
    };
    for workload in 0..2 {
        let orders = [1, 2, 3, 4].map(|round| of_round(round, workload));
        assert_eq!(orders, [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 1, 2]]);
    }
    assert_eq!(suite.places_of_rounds().len(), 4 * 2 * 3);
    assert_eq!(suite.places_in_memory().len(), 2);
}

#[test]
fn of_two_like_members_one_figure_in_twenty_differs() {
    let (mut told, mut differing) = (0, 0);
    for seed in 0..100 {
        let compared = with_runs(two_local(5), seed, &[1.0, 1.0]).compare();
        assert_eq!(compared.told, 2 * 2 * 4, "two workloads, two streams, four figures");
        (told, differing) = (told + compared.told, differing + compared.differing);
    }
    let share = differing as f64 / told as f64;
    // The standard error of a share of 5 % among 1,600 figures is 0.5 %.
    assert!((0.025..=0.07).contains(&share), "{differing} of {told}");
}

#[test]
fn a_fifth_more_is_found_and_named() {
    let suite = with_runs(two_local(5), 7, &[1.0, 1.2]);
    let compared = suite.compare();
    let table = &compared.tables[0];
    let found = table.rows.iter().flat_map(|row| &row.figures).filter(
        |figure| matches!(figure.against_first[0], Answer::Differs { low, high } if low > 1.0 && (1.1..1.4).contains(&high)),
    );
    assert!(found.count() >= 12, "{table:?}");
    assert_eq!(table.conclusions.len(), 1);
    let sentence = &table.conclusions[0].sentence;
    assert!(sentence.starts_with("b is 1.") && sentence.contains("times slower in"), "{sentence}");
}

#[test]
fn fewer_than_three_rounds_tell_nothing() {
    for rounds in [1, 2] {
        let suite = with_runs(two_local(rounds), 1, &[1.0, 9.0]);
        let compared = suite.compare();
        assert_eq!((compared.told, compared.differing), (0, 0));
        let text = text_in_one_line(&suite);
        assert!(text.contains("too little to tell") && text.contains("--rounds 5"), "{text}");
    }
}

#[test]
fn members_of_one_class_stand_in_one_table() {
    let members = vec![member("ceph", "shared"), member("rbd", "network block"), member("nfs", "shared")];
    let mut suite = with_runs(suite(members, 3), 1, &[1.0, 1.0, 1.0]);
    let labels =
        |suite: &Suite| -> Vec<Vec<String>> { suite.compare().tables.into_iter().map(|table| table.labels).collect() };
    assert_eq!(labels(&suite), [vec!["ceph", "nfs"], vec!["rbd"]]);
    let text = text_in_one_line(&suite);
    assert!(text.contains("rbd is the only one of its class (network block)"), "{text}");
    suite.anyway = true;
    assert_eq!(labels(&suite), [vec!["ceph", "rbd", "nfs"]]);
    let text = text_in_one_line(&suite);
    assert!(text.contains("compared anyway, though they do different work"), "{text}");
}

#[test]
fn what_failed_or_proves_nothing_has_no_figures() {
    let mut suite = with_runs(two_local(4), 1, &[1.0, 1.0]);
    let at = |round, member| Place { round, workload: 0, member: Some(member) };
    let find = |suite: &Suite, place: Place| suite.runs.iter().position(|run| run.place == place).unwrap();
    let invalid = find(&suite, at(2, 0));
    suite.runs[invalid].verdict = Verdict::Invalid;
    // Three rounds are left.
    assert_eq!(suite.compare().told, 16);
    let failed = find(&suite, at(3, 1));
    suite.runs[failed].verdict = Verdict::Fail;
    assert_eq!(suite.compare().told, 16, "a broken bound is no failure");
    let evidence = Evidence { directory: suite.runs[failed].directory.clone(), ..Evidence::from(Verdict::Fail) };
    suite.aside.failures.push(evidence.with_failure("1 EIO".to_owned()));
    assert_eq!(suite.compare().told, 8, "two rounds are left of one workload");
    assert_eq!(suite.verdict(), Verdict::Fail);
    let text = text_in_one_line(&suite);
    assert!(text.contains("without figures: commit on a, round 2 of 4: INVALID"), "{text}");
    suite.runs.remove(0);
    suite.aside.failures.clear();
    assert!(!suite.is_whole());
}

#[test]
fn what_limits_a_member_is_named() {
    let mut suite = with_runs(two_local(3), 1, &[1.0, 2.0]);
    for run in &mut suite.runs {
        if run.place.member == Some(0) {
            let link = LinkShare { name: "eth0".to_owned(), bytes_per_second: 125_000_000, share: 0.94 };
            run.figures.link = Some(link);
            let share = f64::from(run.place.round) / 100.0;
            run.figures.cached = Some(ShareRange { lowest: 0.0, highest: share });
        } else {
            run.figures.client_share = Some(0.97);
        }
    }
    let place = Place { round: 0, workload: 0, member: None };
    let memory = SuiteRun {
        figures: RunFigures { rate: Some(206.0), ..RunFigures::default() },
        ..run(&mut Prng::from_seed(1), place, 1.0)
    };
    suite.runs.push(memory);
    let ceilings = suite.compare().ceilings;
    assert_eq!(ceilings.len(), 4);
    assert!(ceilings[0].limited_by[0].starts_with("limited by the link eth0 (94% of"), "{ceilings:?}");
    assert_eq!(ceilings[0].limited_by[1], "as fast as memory");
    assert_eq!(ceilings[1].limited_by, ["limited by the client (97% of its processors)"]);
    assert!((ceilings[1].times_in_memory.unwrap() - 2.06).abs() < 1e-9);
    assert_eq!(ceilings[3].times_in_memory, None, "the other workload did not run in memory");
    let in_memory = suite.runs.iter().position(|run| run.place.member.is_none()).unwrap();
    let with = |verdict: Verdict, follows_a_rate: bool| {
        let mut suite = suite.clone();
        suite.runs[in_memory].verdict = verdict;
        suite.runs[in_memory].figures.follows_a_rate = follows_a_rate;
        suite.compare().ceilings[0].times_in_memory
    };
    assert!(with(Verdict::Pass, false).is_some());
    assert_eq!(with(Verdict::Pass, true), None, "the same rate is everywhere the same");
    assert_eq!(with(Verdict::Fail, false), None, "what failed in memory is no ceiling");
    assert_eq!(ceilings[0].cached, Some(ShareRange { lowest: 0.0, highest: 0.03 }), "over all rounds");
    let text = text_in_one_line(&suite);
    assert!(text.contains("link eth0 94%, in the page cache before 0% to 3%;"), "{text}");
    let mut page = String::new();
    write_html(&suite, &mut page).unwrap();
    assert!(page.contains("<td class=\"n\">0% to 3%</td>"), "{page}");
    let told = suite.compare().told;
    assert_eq!(told, 16, "the run in memory is compared with none");
}

#[test]
fn in_what_members_differ_is_said() {
    let mut suite = two_local(3);
    suite.members[0].options.push("sync".to_owned());
    let sentences = suite.compare().tables.remove(0).differences;
    assert_eq!(
        sentences,
        [
            "source: /dev/a (a), /dev/b (b)",
            "options that not all have: only-a,sync (a)",
            "options that not all have: only-b (b)"
        ]
    );
}

#[test]
fn a_document_reads_back_and_every_name_stays_text() {
    let hostile = "</svg><script>alert(1)</script>\u{1b}[31m";
    let mut suite = with_runs(two_local(3), 1, &[1.0, 1.3]);
    suite.members[1].label = hostile.to_owned();
    suite.workloads[0].name = hostile.to_owned();
    suite.members[0].facts.insert(hostile.to_owned(), hostile.to_owned());
    let kept: Suite = serde_json::from_str(&serde_json::to_string(&suite).unwrap()).unwrap();
    assert_eq!(kept, suite);
    let (mut page, mut text) = (String::new(), String::new());
    write_html(&suite, &mut page).unwrap();
    write_text(&suite, &mut text).unwrap();
    assert!(!page.contains("<script") && page.matches("</svg>").count() == page.matches("<svg").count(), "{page}");
    assert!(!text.contains('\u{1b}') && text.contains("DIFFERS 1."), "{text}");
    for shown in ["p50", "mail: append", "What limits this result"] {
        assert!(page.contains(shown), "{shown}");
    }
    assert!(!page.contains("NaN") && !page.contains("inf "), "{page}");
}

#[test]
fn a_suite_without_runs_is_shown() {
    let (mut page, mut text) = (String::new(), String::new());
    write_html(&two_local(5), &mut page).unwrap();
    write_text(&two_local(5), &mut text).unwrap();
    assert!(page.contains("Suite of mounts") && text.contains("5 rounds"));
    assert_eq!(two_local(5).verdict(), Verdict::Incomplete);
}

#[test]
fn the_figures_of_a_run_are_those_of_its_log() {
    let log = include_bytes!("../../../assay-record/tests/golden/run-v1.jsonl");
    let judgement = crate::judge_log(Reader::new(&log[..]), &crate::Options::default()).unwrap();
    let figures = RunFigures::from_judgement(&judgement);
    let totals = &judgement.part.streams.each[0];
    let times = figures.times_of(None, &totals.name).unwrap();
    assert_eq!((times.p99_ns, times.mean_ns), (totals.response.p99_ns, totals.response.mean_ns));
    assert!(times.principal && figures.rate.is_some_and(|rate| rate > 0.0));
}

#[test]
fn what_was_in_the_page_cache_comes_from_the_events_of_each_phase() {
    let log = include_bytes!("../../../assay-record/tests/golden/run-v1.jsonl");
    let mut judgement = crate::judge_log(Reader::new(&log[..]), &crate::Options::default()).unwrap();
    assert_eq!(RunFigures::from_judgement(&judgement).cached, None);
    for share in ["0.031", "0.5", "twice", "7"] {
        let details = [(assay_record::CACHED_SHARE.to_owned(), share.to_owned())].into();
        let event = assay_record::Event { at_ns: 0, what: "settings".into(), text: String::new(), details };
        judgement.part.course.events.push(event);
    }
    let cached = RunFigures::from_judgement(&judgement).cached;
    assert_eq!(cached, Some(ShareRange { lowest: 0.031, highest: 0.5 }));
}

#[test]
fn what_users_say_and_what_was_lost_is_shown_in_text_and_on_the_page() {
    let mut suite = with_runs(two_local(3), 1, &[1.0, 1.0]);
    suite.members[0].about = [("media".to_owned(), "<ssd>".to_owned())].into();
    let place = Place { round: 2, workload: 0, member: Some(1) };
    suite.lost.push(LostMember { label: "b".to_owned(), place, why: "ESTALE <gone>".to_owned() });
    let text = text_in_one_line(&suite);
    assert!(text.contains("as its user says: media <ssd>"), "{text}");
    assert!(text.contains("differs: media, as said: <ssd> (a), not said (b)"), "{text}");
    assert!(text.contains("lost: b was lost at commit on b, round 2 of 3"), "{text}");
    let mut page = String::new();
    write_html(&suite, &mut page).unwrap();
    assert!(page.contains("b was lost at commit on b, round 2 of 3") && page.contains("as its user says: media"));
    assert!(!page.contains("<ssd>") && !page.contains("<gone>"));
}
