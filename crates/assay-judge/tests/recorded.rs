//! What was recorded decides, wherever it is recorded: logs of failing devices, cut anywhere and continued by good
//! ones, never pass. They are cut at every line and at random bytes; `ASSAY_CAMPAIGN=20` takes twenty times as many
//! bytes.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test panics to fail, and is told how much to try"
)]

use crate::common;

use assay_base::{Prng, Span};
use assay_judge::judgement::Outcome;
use assay_judge::{Verdict, render};
use assay_record::{CloseReason, DatabaseHead, Entry, Header, PerMinute, PhaseHead, PhaseKind, Reader, Writer};
use common::*;

const TEN: u64 = 10 * MINUTE;

/// Three slices of ten minutes on two targets.
fn head() -> Header {
    let mut head = header(1, 2);
    head.slice_ns = TEN;
    head.phases[0].span_ns = MINUTE;
    head.phases[1].span_ns = 3 * TEN;
    head.criteria = criteria(&["reads response over 1ms below 5% per 10min"]);
    head
}

/// The header of a segment that continues at `at_ns`.
fn behind(at_ns: u64) -> Header {
    let mut head = Header { continues: true, measured_before_ns: at_ns, ..head() };
    head.phases[1].span_ns = 3 * TEN - at_ns;
    head
}

/// Details of an event about flow 1.
fn details(of: &[(&'static str, &'static str)]) -> Vec<(&'static str, &'static str)> {
    [&[("flow", "1"), ("target", "1"), ("offset", "8192"), ("bytes", "4096")], of].concat()
}

/// The intervals from `from` on, in which every operation succeeds.
fn sound(scenario: Scenario, minutes: u64) -> Scenario {
    let mut scenario = scenario;
    for _ in 0..minutes {
        scenario.interval(1, MINUTE, &|_| Minute { slow: 10, ..Minute::default() });
    }
    scenario
}

/// One interval in which flow 1 behaves like `bad`.
fn one(mut scenario: Scenario, bad: Minute) -> Scenario {
    scenario.interval(1, MINUTE, &|flow| if flow == 1 { bad } else { Minute { slow: 10, ..Minute::default() } });
    scenario
}

/// What a device did in minute 15 of the measured time: events, then the interval that counts them.
struct Fault {
    name: &'static str,
    events: &'static [(&'static str, &'static [(&'static str, &'static str)])],
    interval: Minute,
    /// The words for it in the report.
    told: &'static str,
}

const FAULTS: [Fault; 4] = [
    Fault {
        name: "errors",
        events: &[("io-error", &[("errno", "5")]), ("io-error", &[("errno", "5")]), ("io-error", &[("errno", "5")])],
        interval: Minute { errors: 3, ..GOOD },
        told: "3 EIO",
    },
    Fault {
        name: "short",
        events: &[("short-io", &[]), ("short-io", &[])],
        interval: Minute { short: 2, ..GOOD },
        told: "2 short",
    },
    Fault { name: "stuck", events: &[("stuck", &[])], interval: Minute { stuck: 1, ..GOOD }, told: "1 stuck" },
    Fault {
        name: "gone",
        events: &[("io-error", &[("errno", "19")]), ("target-lost", &[("errno", "19")])],
        interval: Minute { errors: 2, ..GOOD },
        told: "1 ENODEV",
    },
];

impl Fault {
    fn events(&self, scenario: Scenario) -> Scenario {
        let tell = |scenario: Scenario, (what, more): &(&str, &[(&'static str, &'static str)])| {
            scenario.event_with(what, "an operation failed", &details(more))
        };
        self.events.iter().fold(scenario, tell)
    }
}

/// A log cut after `bytes` and continued as the program does: the torn line is dropped, and measuring continues at the
/// beginning of the slice that was cut.
fn resumed(log: &[u8], bytes: usize) -> Scenario {
    let kept = log[..bytes].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let mut reader = Reader::new(&log[..kept]);
    let (mut before, mut measured, mut measuring) = (0, 0, None);
    let mut kinds: Vec<PhaseKind> = Vec::new();
    while let Some(Ok(entry)) = reader.next_entry().unwrap() {
        match entry {
            Entry::Header(head) => {
                (before, measuring) = (head.measured_before_ns, None);
                measured = before;
                kinds = head.phases.iter().map(|phase: &PhaseHead| phase.kind).collect();
            }
            Entry::Interval(interval) if kinds[usize::from(interval.phase)] == PhaseKind::Measure => {
                let start = *measuring.get_or_insert(interval.start_ns);
                measured = before + interval.end_ns - start;
            }
            _ => {}
        }
    }
    let at = measured.min(3 * TEN - 1) / TEN * TEN;
    let mut scenario = Scenario::new(head());
    scenario.writer = Writer::new(log[..kept].to_vec(), reader.next_seq());
    if kept < bytes {
        scenario = scenario.event("torn-tail", "bytes of an unfinished line were given up");
    }
    scenario.segment(behind(at))
}

/// The rest of a continued run, without a fault.
fn to_the_end(scenario: Scenario) -> Vec<u8> {
    let minutes = scenario.header.phases[1].span_ns / MINUTE;
    sound(scenario.warm_up(), minutes).completed().bytes()
}

/// The factor for the number of random cuts.
fn campaign() -> u64 {
    std::env::var("ASSAY_CAMPAIGN").ok().and_then(|n| n.parse().ok()).unwrap_or(1)
}

/// The end of every line after `from`, and random bytes after it.
fn cuts(log: &[u8], from: usize, prng: &mut Prng) -> Vec<usize> {
    let lines = (from..log.len()).filter(|at| log[*at] == b'\n').map(|at| at + 1);
    let bytes = (0..20 * campaign()).map(|_| from + prng.uniform_below((log.len() - from) as u64) as usize);
    [from].into_iter().chain(lines).chain(bytes.collect::<Vec<_>>()).collect()
}

#[test]
fn what_failed_in_an_interval_that_was_lost_has_failed() {
    for fault in &FAULTS {
        let told = fault.events(sound(Scenario::new(head()).warm_up(), 15));
        let from = told.writer.get_ref().len();
        let first = sound(one(told, fault.interval), 14).completed().bytes();
        let whole = judge_bytes(&first);
        assert_eq!(whole.verdict, Verdict::Fail, "{}: {}", fault.name, whole.reason);
        let mut prng = Prng::from_seed(5);
        for cut in cuts(&first, from, &mut prng) {
            let alone = judge_bytes(&first[..cut]);
            assert_eq!(alone.verdict, Verdict::Fail, "{} cut at {cut}: {}", fault.name, alone.reason);
            let again = to_the_end(resumed(&first, cut));
            let judged = judge_bytes(&again);
            assert_eq!(judged.verdict, Verdict::Fail, "{} cut at {cut}, continued: {}", fault.name, judged.reason);
            assert!(judged.reason.contains(fault.told) || fault.name == "gone", "{cut}: {}", judged.reason);
            let mut text = String::new();
            render::write_summary(&judged, &mut text).unwrap();
            assert!(!text.contains("no errors while measured"), "{} cut at {cut}: {text}", fault.name);
            // Cut again after the first interruption, and continued again.
            let second = cut + prng.uniform_below((again.len() - cut) as u64) as usize;
            let judged = judge_bytes(&to_the_end(resumed(&again, second)));
            assert_eq!(judged.verdict, Verdict::Fail, "{} cut at {cut} and {second}: {}", fault.name, judged.reason);
        }
    }
}

/// The same events and counters give the same sentence, wherever the log was cut after them: nothing is counted twice.
#[test]
fn what_an_interval_counts_is_not_counted_again() {
    for fault in &FAULTS[..3] {
        let told = fault.events(sound(Scenario::new(head()).warm_up(), 15));
        let lost = told.bytes();
        let told = fault.events(sound(Scenario::new(head()).warm_up(), 15));
        let counted = one(told, fault.interval).bytes();
        let [lost, counted] = [lost, counted].map(|log| judge_bytes(&log));
        for judged in [&lost, &counted] {
            assert!(judged.reason.contains(fault.told), "{}: {}", fault.name, judged.reason);
            let reads = &judged.part.streams.each[0].counts;
            let n = reads.errors.values().sum::<u64>() + reads.short + reads.stuck;
            assert_eq!(n, fault.events.len() as u64, "{}: {reads:?}", fault.name);
        }
    }
}

#[test]
fn damage_in_an_interval_that_was_lost_is_damage() {
    let damage =
        |kind| details(&[("damage", kind), ("generation", "3"), ("found_generation", "2"), ("found_offset", "8192")]);
    let verifying = Header { plan: serde_json::json!({"seed": 7, "verify": true}), ..head() };
    let first = sound(Scenario::new(verifying).warm_up(), 15);
    let first = first.event_with("damage", "lost", &damage("lost")).event_with("damage", "torn", &damage("torn"));
    let (log, cut) = (first.writer.get_ref().clone(), first.writer.get_ref().len());
    for log in [log.clone(), to_the_end(resumed(&log, cut))] {
        let judged = judge_bytes(&log);
        assert_eq!(judged.verdict, Verdict::Fail, "{}", judged.reason);
        assert!(
            judged.reason.contains("1 lost, 1 torn") && judged.reason.contains("must be read"),
            "{}",
            judged.reason
        );
        assert_eq!(judged.part.targets.integrity.as_ref().map(|it| (it.damaged, it.places.len())), Some((2, 2)));
        let mut text = String::new();
        render::write_summary(&judged, &mut text).unwrap();
        assert!(!text.contains("every one as written") && text.contains("DAMAGED: 2 places"), "{text}");
    }
}

/// Errors during a warm-up count too, but the reason does not say that they happened while measuring.
#[test]
fn errors_of_a_lost_warm_up_decide() {
    let event = |scenario: Scenario| scenario.event_with("io-error", "EIO", &details(&[("errno", "5")]));
    let lost = event(Scenario::new(head())).bytes();
    let judged = judge_bytes(&to_the_end(resumed(&lost, lost.len())));
    assert_eq!(judged.verdict, Verdict::Fail, "{}", judged.reason);
    assert!(judged.part.streams.each[0].counts.errors.is_empty());
}

/// An error that only an event reports is placed at the time of the event.
#[test]
fn what_only_an_event_tells_of_has_its_time() {
    let run = sound(Scenario::new(head()).warm_up(), 30);
    let at = format!("1 EIO, first {} into the run", Span::from_ns(run.at_ns).human_text());
    let judged = judge_bytes(&run.event_with("io-error", "EIO", &details(&[("errno", "5")])).bytes());
    assert!(judged.reason.contains(&at), "{at}: {}", judged.reason);
}

/// Events written by a hostile or another program: their figures may be anything.
#[test]
fn failures_that_say_nothing_of_themselves_fail_as_well() {
    for details in [&[][..], &[("flow", "x")], &[("flow", "99"), ("errno", "99999999999999999999")], &[("errno", "-3")]]
    {
        for what in ["io-error", "short-io", "stuck", "damage"] {
            let judged = sound(Scenario::new(head()).warm_up(), 30).event_with(what, "?", details).completed().judge();
            assert_eq!(judged.verdict, Verdict::Fail, "{what} {details:?}: {}", judged.reason);
        }
    }
    let judged = sound(Scenario::new(head()).warm_up(), 30).event("late-completion", "?").completed().judge();
    assert_eq!(judged.verdict, Verdict::Pass, "no failure by itself: {}", judged.reason);
}

/// Each row: how many of a thousand operations of target 1 are slow in one minute of the second slice, and what these make
/// of the run if they are the bound's share of all operations that the slice can have: 5 % of both targets' 12,002, or of
/// target 1's 6,002.
#[test]
fn a_slice_that_was_broken_already_when_it_was_cut_is_broken() {
    for (slow, own_us, arrival, made) in [
        (500, 0, "steady", None),
        (502, 0, "steady", Some(Verdict::Fail)),
        // Lag of the generator alone breaks nothing, and a slice that was over its bound by it is not proven by another one.
        (0, 1900, "steady", Some(Verdict::Invalid)),
        // A Poisson slice can have 12,002 operations plus six standard deviations, 657.
        (502, 0, "poisson", None),
        (600, 0, "poisson", Some(Verdict::Fail)),
        // The number of operations in a closed loop's slice is not known in advance.
        (1000, 0, "closed", None),
    ] {
        let mut first = head();
        first.streams[0].arrival = arrival.into();
        if arrival == "closed" {
            first.streams[0].rate = None;
        }
        let bad = Minute { slow, own_us, ..Minute::default() };
        let log = one(sound(Scenario::new(first.clone()).warm_up(), 10), bad).bytes();
        let again = resumed(&log, log.len());
        let mut head = again.header.clone();
        head.streams = first.streams.clone();
        let continued = Scenario::new(first).segment_of(log.clone(), head);
        for (log, rest) in [(log, Verdict::Incomplete), (to_the_end(continued), Verdict::Pass)] {
            let judged = judge_bytes(&log);
            assert_eq!(judged.verdict, made.unwrap_or(rest), "{slow} {own_us} {arrival}: {}", judged.reason);
            if made != Some(Verdict::Fail) {
                continue;
            }
            let words = "in slice 2 (10 min to 20 min) on sim:b, which was cut short: at least 5.";
            assert!(judged.reason.starts_with(words), "{}", judged.reason);
            let criterion = &judged.part.criteria[1];
            assert_eq!(criterion.outcome, Outcome::Fail);
            assert!(criterion.measured.as_ref().unwrap().text.starts_with("at least 5."));
            let on: Vec<&str> = criterion.broken_on.iter().map(|on| on.target.as_str()).collect();
            assert_eq!(on, ["sim:b"]);
            let cut: Vec<_> = judged.part.slices.listed.iter().filter(|slice| !slice.complete).collect();
            assert_eq!((cut.len(), cut[0].within, cut[0].number), (1, false, 2));
        }
    }
}

/// A single target is not named: it is the whole.
#[test]
fn a_cut_slice_of_the_only_target_names_no_target() {
    let run = Scenario::new(header(1, 1)).warm_up().minutes(0..10, |_, _| Minute { slow: 1000, ..Minute::default() });
    let judged = judge_bytes(&run.bytes());
    assert_eq!(judged.verdict, Verdict::Fail, "{}", judged.reason);
    assert!(judged.reason.starts_with("in slice 1 (0 to 1 h), which was cut short"), "{}", judged.reason);
    assert!(!judged.reason.contains("sim:a"), "{}", judged.reason);
}

/// Where the generator also delayed one operation in a hundred, a cut slice proves nothing, like a complete one; it
/// does not pass either.
#[test]
fn a_cut_slice_that_was_broken_while_the_generator_was_late_proves_nothing() {
    let bad = Minute { slow: 1000, own_us: 1100, ..Minute::default() };
    let log = one(sound(Scenario::new(head()).warm_up(), 10), bad).bytes();
    for log in [log.clone(), to_the_end(resumed(&log, log.len()))] {
        let judged = judge_bytes(&log);
        assert_eq!(judged.verdict, Verdict::Invalid, "{}", judged.reason);
        assert!(
            judged
                .reason
                .contains("when it was cut short, perhaps only because the test machine issued operations late"),
            "{}",
            judged.reason
        );
    }
}

/// Every operation of a minute is slow, and the log is cut anywhere after it: broken, unless the slice was measured to
/// its end.
#[test]
fn a_hang_stays_wherever_the_log_is_cut_behind_it() {
    let slow = one(sound(Scenario::new(head()).warm_up(), 14), Minute { slow: 1000, ..Minute::default() });
    let from = slow.writer.get_ref().len();
    let log = sound(slow, 15).completed().bytes();
    let mut prng = Prng::from_seed(6);
    for cut in cuts(&log, from, &mut prng) {
        for log in [log[..cut].to_vec(), to_the_end(resumed(&log, cut))] {
            let judged = judge_bytes(&log);
            assert_eq!(judged.verdict, Verdict::Fail, "cut at {cut}: {}", judged.reason);
        }
    }
    // A regular interruption, with a drain during which time passes without a schedule.
    let mut drained = one(sound(Scenario::new(head()).warm_up(), 14), Minute { slow: 450, ..Minute::default() });
    drained.interval_of(0, 1, 3 * MINUTE, &|_| Minute::default());
    let judged = drained.close(CloseReason::Interrupted, "SIGINT").judge();
    assert_eq!(judged.verdict, Verdict::Incomplete, "the rest of the schedule counts: {}", judged.reason);
}

/// A stream that has had no operation yet says nothing against a run that is not over.
#[test]
fn what_has_not_happened_yet_is_no_flaw_of_a_run_that_was_cut() {
    let rests = |minutes: u64| {
        let mut head = head();
        // A closed loop, of which nobody knows how many operations there should be.
        (head.streams[0].arrival, head.streams[0].rate) = ("closed".into(), None);
        let mut scenario = Scenario::new(head).warm_up();
        (0..minutes).for_each(|_| scenario.interval_of(0, 1, MINUTE, &|_| Minute::default()));
        scenario
    };
    let cut = rests(14).close(CloseReason::Interrupted, "SIGINT").judge();
    assert_eq!(cut.verdict, Verdict::Incomplete, "{}", cut.reason);
    let whole = rests(30).completed().judge();
    assert_eq!(whole.verdict, Verdict::Invalid, "{}", whole.reason);
}

/// Of several databases each is looked at for itself.
#[test]
fn each_of_several_databases_needs_its_check() {
    for (told, verdict, words) in [
        (&[("0", "checked"), ("1", "checked")][..], Verdict::Pass, ""),
        (&[("0", "checked")], Verdict::Invalid, "does not say that sqlite:b.db was checked"),
        (&[("1", "checked"), ("1", "checked")], Verdict::Invalid, "does not say that sqlite:a.db was checked"),
        (&[("0", "checked"), ("2", "checked")], Verdict::Invalid, "does not say that sqlite:b.db was checked"),
        (&[("0", "checked"), ("nonsense", "checked")], Verdict::Invalid, "sqlite:b.db"),
        (&[("0", "checked"), ("1", "condition-broken")], Verdict::Fail, "told: condition-broken"),
        (&[("0", "checked"), ("1", "checked"), ("7", "condition-broken")], Verdict::Fail, "told: condition-broken"),
    ] {
        let database = |url: &str| DatabaseHead { url: url.into(), ..DatabaseHead::default() };
        let head = Header { databases: vec![database("sqlite:a.db"), database("sqlite:b.db")], ..head() };
        let mut scenario = on_database(Scenario::new(head), &[]);
        for (target, what) in told {
            scenario = scenario.event_with(what, &format!("told: {what}"), &[("target", target), ("bytes", "9")]);
        }
        let judged = scenario.completed().judge();
        assert_eq!(judged.verdict, verdict, "{told:?}: {}", judged.reason);
        assert!(judged.reason.contains(words), "{told:?}: {}", judged.reason);
        let checked: Vec<bool> = judged.part.databases.iter().map(|it| it.checked.is_some()).collect();
        let about = |target: &str| told.iter().any(|(of, _)| *of == target);
        assert_eq!(checked, [about("0"), about("1")], "{told:?}");
    }
}

/// A run on a database, with what was told about it after the last interval.
fn on_database(scenario: Scenario, told: &[&str]) -> Scenario {
    let minutes = scenario.header.phases[1].span_ns / MINUTE;
    let measured = sound(scenario.warm_up(), minutes);
    told.iter().fold(measured, |scenario, what| scenario.event(what, &format!("told: {what}")))
}

fn database(head: Header, unchecked: bool) -> Header {
    let database = DatabaseHead { url: "sqlite:shop.db".into(), unchecked, ..DatabaseHead::default() };
    Header { databases: vec![database], ..head }
}

/// A database of which nothing is said after the run may be broken.
#[test]
fn a_run_on_a_database_passes_only_with_its_check() {
    for (told, unchecked, verdict, words) in [
        (&[][..], false, Verdict::Invalid, "does not say that sqlite:shop.db was checked"),
        (&["settings"], false, Verdict::Invalid, "does not say that sqlite:shop.db was checked"),
        (&[], true, Verdict::Pass, ""),
        (&["checked"], false, Verdict::Pass, ""),
        (&["checked", "settings"], false, Verdict::Pass, ""),
        (&["unchecked"], false, Verdict::Invalid, "told: unchecked"),
        (&["checked", "unchecked"], false, Verdict::Invalid, "told: unchecked"),
        (&["unchecked"], true, Verdict::Invalid, "told: unchecked"),
        (&["condition-broken"], false, Verdict::Fail, "told: condition-broken"),
        (&["condition-broken", "checked"], false, Verdict::Fail, "told: condition-broken"),
        (&["checked", "disturbed"], false, Verdict::Invalid, "told: disturbed"),
        (&["condition-broken", "disturbed"], false, Verdict::Fail, "told: condition-broken"),
    ] {
        let scenario = on_database(Scenario::new(database(head(), unchecked)), told);
        let whole = scenario.completed().judge();
        assert_eq!(whole.verdict, verdict, "{told:?}, {unchecked}: {}", whole.reason);
        assert!(whole.reason.contains(words), "{told:?}, {unchecked}: {}", whole.reason);
        let cut =
            on_database(Scenario::new(database(head(), unchecked)), told).close(CloseReason::Interrupted, "SIGINT");
        let cut = cut.judge();
        assert!(cut.verdict != Verdict::Pass, "{told:?}, {unchecked}: {}", cut.reason);
        assert!(!cut.reason.contains("does not say"), "a run that was cut says so: {}", cut.reason);
    }
}

/// What was found before an interruption says nothing about what was written after it, except that it was broken.
#[test]
fn what_was_checked_before_an_interruption_is_checked_again() {
    for (before, after, verdict) in [
        (&["checked"][..], &[][..], Verdict::Invalid),
        (&["checked"], &["checked"], Verdict::Pass),
        (&[], &["checked"], Verdict::Pass),
        (&["undisturbed"], &["checked"], Verdict::Pass),
        (&["undisturbed"], &["undisturbed"], Verdict::Invalid),
        (&["condition-broken"], &["checked"], Verdict::Fail),
    ] {
        let first = on_database(Scenario::new(database(head(), false)), before);
        let second = first.segment(database(behind(2 * TEN), false));
        let judged = on_database(second, after).completed().judge();
        assert_eq!(judged.verdict, verdict, "{before:?}, then {after:?}: {}", judged.reason);
        let checked = judged.part.databases.into_iter().find_map(|it| it.checked);
        assert_eq!(checked.is_some(), verdict != Verdict::Invalid, "{before:?}, then {after:?}: {checked:?}");
        let marks = judged.watermarks.iter().filter(|mark| mark.starts_with("UNCOMPARED: ")).count();
        assert_eq!(marks, usize::from(before.is_empty()), "{before:?}: {:?}", judged.watermarks);
    }
}

/// The log with a figure per minute of the reads, of which so many of each interval's completed ones do not count on target 1.
fn counting(bytes: &[u8], rolled_back: fn(u64) -> u64) -> Vec<u8> {
    let (mut reader, mut writer) = (Reader::new(bytes), Writer::new(Vec::new(), 0));
    while let Some(entry) = reader.next_entry().unwrap() {
        let mut entry = entry.unwrap();
        match &mut entry {
            Entry::Header(head) => {
                let (streams, without) = (vec!["reads".to_owned()], vec!["rolled-back".to_owned()]);
                head.per_minute = vec![PerMinute { name: "NOPM".to_owned(), streams, without }];
            }
            Entry::Interval(interval) => {
                let flow = &mut interval.flows[1];
                flow.counted.insert("rolled-back".to_owned(), rolled_back(flow.ok));
            }
            _ => {}
        }
        writer.write_entry(&entry).unwrap();
    }
    writer.into_inner()
}

/// A database that rolls back every order has done no work, however fast it answers, also where another one works well.
#[test]
fn a_figure_per_minute_that_is_0_although_operations_were_due_proves_nothing() {
    for (rolled_back, verdict) in [
        ((|_| 0) as fn(u64) -> u64, Verdict::Pass),
        (|ok| ok / 100, Verdict::Pass),
        (|ok| ok - 1, Verdict::Pass),
        (|ok| ok, Verdict::Invalid),
    ] {
        let whole = on_database(Scenario::new(database(head(), false)), &["checked"]).completed().bytes();
        let judged = judge_bytes(&counting(&whole, rolled_back));
        assert_eq!(judged.verdict, verdict, "{}", judged.reason);
        assert_eq!(judged.reason.contains("is 0: none of"), verdict == Verdict::Invalid, "{}", judged.reason);
    }
    // A broken bound decides all the same, and a run that was cut short is only that.
    let fails = one(Scenario::new(database(head(), false)).warm_up(), Minute { errors: 1, ..GOOD });
    let fails = sound(fails, 29).event("checked", "").completed().bytes();
    assert_eq!(judge_bytes(&counting(&fails, |ok| ok)).verdict, Verdict::Fail);
    let cut =
        sound(Scenario::new(database(head(), false)).warm_up(), 5).close(CloseReason::Interrupted, "SIGINT").bytes();
    assert_eq!(judge_bytes(&counting(&cut, |ok| ok)).verdict, Verdict::Incomplete);
}
