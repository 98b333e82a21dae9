//! 10,000 mutations of certificate and log, forged pairs, and everything that keeps an authentic record from being a
//! certification.

use super::lacks::schedule_lack;
use super::*;
use crate::drive::{Drive, drive_plan};
use crate::host::signals::StopCell;
use crate::log::header;
use crate::log::logfile::LogFile;
use crate::observer::Unobserved;
use crate::open::targets::{Named, Targets};
use crate::workloads;
use assay_base::{Bytes, Multiple, Prng, Span};
use assay_judge::judgement::{Clocks, LogHistory, MeasuredTime, StepFigures, StreamFigures};
use assay_model::workload::Adjust;
use assay_record::{CloseReason, PhaseKind, Preparation, StepHead, TargetHead, Writer};

/// A complete simulated run, stored, and its certificate.
fn pair() -> (Vec<u8>, Vec<u8>) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.jsonl");
    let names = vec!["sim:flash".to_owned()];
    let Named::Simulated(spec) = crate::open::targets::parse_block_targets(&names).unwrap().remove(0).1 else {
        panic!("a simulation")
    };
    let targets = Targets::Simulated(vec![(names[0].clone(), spec)]);
    let measure = Some(Span::from_secs(12));
    let adjust = Adjust { measure, slice: Some(Span::from_secs(3)), targets: 1, ..Adjust::default() };
    let plan = workloads::find_workload("random-read").unwrap().make_plan(&adjust).unwrap();
    let mut log = LogFile::create_new(&path).unwrap();
    let how = Drive { prepared: vec![None], ..Drive::default() };
    drive_plan(&plan, &targets, &how, &mut log, &mut Unobserved, &StopCell::default()).unwrap();
    drop(log);
    let log = std::fs::read(path).unwrap();
    (certificate(&log), log)
}

fn certificate(log: &[u8]) -> Vec<u8> {
    let mut text = String::new();
    assay_judge::render::write_json(&judge_with_sum(log, &Options::default()).unwrap().judgement, &mut text).unwrap();
    text.into_bytes()
}

/// Corrects the checksum of a changed line.
fn resum(line: &mut [u8]) {
    if line.len() > 18 {
        let crc = format!("{:08x}", crc_fast::crc32_iscsi(&line[18..]));
        line[8..16].copy_from_slice(crc.as_bytes());
    }
}

fn lines(log: &[u8]) -> Vec<Vec<u8>> {
    log.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect()
}

fn joined(lines: &[Vec<u8>]) -> Vec<u8> {
    lines.iter().flat_map(|line| line.iter().chain(b"\n")).copied().collect()
}

/// Changes one digit somewhere in a line, without a leading zero, which JSON does not allow.
fn digit(line: &mut [u8], prng: &mut Prng) {
    let places: Vec<usize> = (18..line.len()).filter(|at| line[*at].is_ascii_digit()).collect();
    let Some(at) = places.get(prng.uniform_below(places.len().max(1) as u64) as usize) else { return };
    let before = line[*at];
    while line[*at] == before {
        line[*at] = b'1' + prng.uniform_below(9) as u8;
    }
}

/// One mutation of the log: bytes, lines, cuts, and numbers with a corrected checksum.
fn mutate(log: &[u8], prng: &mut Prng) -> Vec<u8> {
    let mut rows = lines(log);
    let (a, b) = (prng.uniform_below(rows.len() as u64) as usize, prng.uniform_below(rows.len() as u64) as usize);
    match prng.uniform_below(7) {
        0 => flipped(log, prng),
        1 => log[..prng.uniform_below(log.len() as u64) as usize].to_vec(),
        2 => {
            rows.remove(a);
            joined(&rows)
        }
        3 => {
            rows.insert(b, rows[a].clone());
            joined(&rows)
        }
        4 => {
            rows.swap(a, b);
            joined(&rows)
        }
        _ => {
            digit(&mut rows[a], prng);
            resum(&mut rows[a]);
            joined(&rows)
        }
    }
}

fn flipped(bytes: &[u8], prng: &mut Prng) -> Vec<u8> {
    let mut bad = bytes.to_vec();
    let at = prng.uniform_below(bad.len() as u64) as usize;
    bad[at] ^= 1 << prng.uniform_below(8);
    bad
}

#[test]
fn ten_thousand_mutations_are_rejected() {
    let (certificate, log) = pair();
    assert!(
        matches!(examine_certificate(&certificate, log.as_slice()), Standing::Record(why) if why.contains("SIMULATED"))
    );
    let mut prng = Prng::from_seed(7);
    let (mut tried, mut unseen_by_judging) = (0, 0);
    while tried < 10_000 {
        let (bad_certificate, bad_log) = match prng.uniform_below(3) {
            0 => (flipped(&certificate, &mut prng), log.clone()),
            1 => {
                let mut bad = certificate.clone();
                digit(&mut bad, &mut prng);
                (bad, log.clone())
            }
            _ => (certificate.clone(), mutate(&log, &mut prng)),
        };
        if (&bad_certificate, &bad_log) == (&certificate, &log) {
            continue;
        }
        tried += 1;
        let standing = examine_certificate(&bad_certificate, bad_log.as_slice());
        assert!(matches!(standing, Standing::Untrusted(_)), "mutation {tried}: {standing:?}");
        // Without the checksum of the file: how many would judging the log again alone have accepted? A sample shows
        // it.
        if tried % 10 == 0 && bad_log != log && judge_with_sum(bad_log.as_slice(), &Options::default()).is_ok() {
            let strip = |bytes: &[u8]| {
                let mut value: Judgement = serde_json::from_slice(bytes).unwrap();
                value.log = None;
                value
            };
            unseen_by_judging += usize::from(strip(&self::certificate(&bad_log)) == strip(&certificate));
        }
    }
    assert!(unseen_by_judging < 100, "{unseen_by_judging} change nothing that is judged");
}

#[test]
fn a_pair_that_was_forged_together_is_rejected_by_the_key() {
    let (good, log) = pair();
    let keys = minisign::KeyPair::generate_unencrypted_keypair().unwrap();
    let other = minisign::KeyPair::generate_unencrypted_keypair().unwrap();
    let sign = |keys: &minisign::KeyPair, bytes: &[u8]| {
        minisign::sign(None, &keys.sk, std::io::Cursor::new(bytes), Some("assay"), None).unwrap().into_string()
    };
    let signature = sign(&keys, &good);
    crate::certificate::signing::check_signature(&keys.pk, &signature, &good).unwrap();
    assert!(crate::certificate::signing::check_signature(&other.pk, &signature, &good).is_err());
    assert!(crate::certificate::signing::check_signature(&keys.pk, &sign(&other, &good), &good).is_err());
    let mut prng = Prng::from_seed(11);
    let (mut fits, mut tried) = (0, 0);
    while tried < 500 {
        let mut rows = lines(&log);
        let at = prng.uniform_below(rows.len() as u64) as usize;
        digit(&mut rows[at], &mut prng);
        resum(&mut rows[at]);
        let forged_log = joined(&rows);
        if forged_log == log || judge_with_sum(forged_log.as_slice(), &Options::default()).is_err() {
            continue;
        }
        tried += 1;
        let forged = certificate(&forged_log);
        // Without a key some pairs match, which is the known limit. None of them is signed.
        fits += usize::from(!matches!(examine_certificate(&forged, forged_log.as_slice()), Standing::Untrusted(_)));
        assert!(crate::certificate::signing::check_signature(&keys.pk, &signature, &forged).is_err());
    }
    assert!(fits < tried, "{fits} of {tried} forged pairs fit");
}

#[test]
fn the_same_log_gives_the_same_bytes() {
    let (first, log) = pair();
    assert_eq!(first, certificate(&log));
    assert_eq!(pair().0, first, "a simulated run is the same each time");
    let mut without: serde_json::Value = serde_json::from_slice(&first).unwrap();
    without.as_object_mut().unwrap().remove("log");
    let bytes = serde_json::to_vec(&without).unwrap();
    assert!(
        matches!(examine_certificate(&bytes, log.as_slice()), Standing::Untrusted(why) if why.contains("checksum"))
    );
}

/// The headers of a certification of `all` devices at `load`, as the program writes them.
fn heads(all: u16, load: &str) -> Vec<Header> {
    heads_of("act-storage", all, load)
}

fn heads_of(profile: &str, all: u16, load: &str) -> Vec<Header> {
    let step = |number: u32, of: u32| {
        let targets = if number > 2 { all } else { 1 };
        let stress = number.is_multiple_of(2);
        let load: Multiple = load.parse().unwrap();
        let (numerator, denominator) = load.as_ratio();
        let load = Multiple::from_ratio(numerator * if stress { 2 } else { 1 }, denominator);
        let adjust = Adjust { load, targets, seed: u64::from(number), ..Adjust::default() };
        let plan = workloads::find_workload(profile).unwrap().make_plan(&adjust).unwrap();
        let target = |index| TargetHead {
            name: format!("/dev/nvme{index}n1"),
            kind: "block device".into(),
            size_bytes: Bytes::new(1 << 40).get(),
            block_bytes: 512,
            prepared: Some(Preparation {
                finished: "2026-11-20T00:00:00Z".into(),
                salted_bytes: 1 << 40,
                zeroed_bytes: 1 << 40,
                verified_blocks: 1000,
                foreign_bytes: Some(0),
                ..Preparation::default()
            }),
            ..TargetHead::default()
        };
        let title = String::new();
        let facts = header::HeaderFacts {
            step: header::StepFacts {
                head: Some(StepHead { number, of, title, stress, until_certain: false, of_workload: false }),
                measured_before_ns: None,
                takes_marks: false,
            },
            targets: (0..targets).map(target).collect(),
            ..header::HeaderFacts::default()
        };
        header::make_header(&plan, facts)
    };
    let of = if all > 1 { 4 } else { 2 };
    (1..=of).map(|number| step(number, of)).collect()
}

/// A judgement of steps with these headers; only its verdict is given.
fn judgement(verdict: Verdict, heads: &[Header]) -> Judgement {
    let (certificate, _) = pair();
    let judgement: Judgement = serde_json::from_slice(&certificate).unwrap();
    let step = |head: &Header| {
        let planned_ns =
            head.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure).map(|phase| phase.span_ns).sum();
        let stream = |stream: &assay_record::StreamHead| {
            let mut totals = judgement.part.streams.each[0].clone();
            totals.name.clone_from(&stream.name);
            totals.counts.scheduled =
                (stream.rate.map_or(0.0, |rate| rate.as_f64()) * planned_ns as f64 / 1e9).round() as u64;
            totals
        };
        let start = assay_record::ClockSample { at_ns: 1, ..Default::default() };
        let end = assay_record::ClockSample { at_ns: 2 * planned_ns, ..Default::default() };
        let part = StepFigures {
            time: MeasuredTime { planned_ns, measured_ns: planned_ns, ..MeasuredTime::default() },
            history: LogHistory {
                segments: 1,
                closed: Some(CloseReason::Completed),
                clocks: Some(Clocks { start, end, events: Vec::new() }),
                ..LogHistory::default()
            },
            streams: StreamFigures { each: head.streams.iter().map(stream).collect(), ..StreamFigures::default() },
            ..StepFigures::default()
        };
        let told = head.step.as_ref().unwrap();
        assay_judge::judgement::Step {
            number: told.number,
            of: told.of,
            title: String::new(),
            verdict,
            reason: String::new(),
            deciding: None,
            load: head.load.clone(),
            gain: None,
            warnings: Vec::new(),
            part,
        }
    };
    let steps = heads.iter().map(step).collect();
    Judgement { verdict, watermarks: Vec::new(), steps, ..judgement }
}

#[test]
fn a_certification_is_the_whole_published_procedure() {
    for (profile, devices, load) in [("act-storage", 1, "30x"), ("act-storage", 3, "1.5x"), ("act-index", 2, "30x")] {
        let mut heads = heads_of(profile, devices, load);
        let of = |verdict, heads: &[Header]| standing_by_log(&judgement(verdict, heads), heads);
        assert_eq!(of(Verdict::Pass, &heads), Standing::Pass, "{profile} on {devices} at {load}");
        assert_eq!(of(Verdict::Fail, &heads), Standing::Fail);
        // A failed certification may end early, a passed one may not.
        assert_eq!(of(Verdict::Fail, &heads[..1]), Standing::Fail);
        assert!(matches!(of(Verdict::Pass, &heads[..1]), Standing::Record(_)));
        // The streams of one model are not those of the other, whatever their name.
        let passed = judgement(Verdict::Pass, &heads);
        heads[0].model = if profile == "act-index" { "act-storage" } else { "act-index" }.to_owned();
        assert!(matches!(standing_by_log(&passed, &heads), Standing::Record(_)), "{profile}");
    }
}

/// On what a server's certificate is made.
#[derive(Clone, Copy, Debug, PartialEq)]
enum On {
    Directory,
    Devices(u16),
}

/// The steps of a server's certificate, as a run of them writes them.
fn heads_of_service(name: &str, on: On, beside: bool) -> Vec<Header> {
    use crate::procedure::{Procedure, ProcedureOptions};
    let options = ProcedureOptions { beside, ..ProcedureOptions::default() };
    let (procedure, _) = Procedure::from_words(&[name.to_owned()], options).unwrap();
    let (procedure, targets, mark) = match on {
        On::Directory => (procedure, 1, crate::procedure::WARM_METADATA),
        On::Devices(targets) => (procedure.on_devices().unwrap(), targets, assay_model::workload::WITHOUT_FILE_SYSTEM),
    };
    let devices = heads_of("act-storage", targets.max(2), "1x").pop().unwrap().targets;
    let steps = procedure.steps_on_targets(targets, None).unwrap();
    let of = steps.len() as u32;
    let mut heads = Vec::new();
    for (number, step) in (1..).zip(&steps) {
        let adjust = Adjust { seed: 6 + u64::from(number), targets, ..Adjust::default() };
        let plan = procedure.plan_step(step, adjust).unwrap();
        let mut targets = devices[..usize::from(targets)].to_vec();
        for target in targets.iter_mut().filter(|_| on == On::Directory) {
            (target.kind, target.prepared) = ("directory".into(), None);
        }
        let (title, stress) = (step.title.clone(), step.stress);
        let facts = header::HeaderFacts {
            step: header::StepFacts {
                head: Some(StepHead { number, of, title, stress, until_certain: false, of_workload: false }),
                measured_before_ns: None,
                takes_marks: false,
            },
            targets,
            watermarks: vec![mark.to_owned()],
            ..header::HeaderFacts::default()
        };
        heads.push(header::make_header(&plan, facts));
    }
    heads
}

/// Of a server on a directory and of its log on devices: what was left out, changed, or taken from another certificate.
#[test]
fn a_servers_certificate_is_compared_with_that_of_its_workload() {
    type Change = fn(&mut Vec<Header>, On);
    let changes: [(&str, Change); 10] = [
        ("shorter", |heads, _| heads[0].phases.iter_mut().for_each(|phase| phase.span_ns /= 2)),
        ("its criteria are not those of the published", |heads, _| heads[0].plan["criteria"] = serde_json::json!([])),
        ("its load are not those of the published", |heads, _| heads[1].plan["load"] = "1x".into()),
        ("mine does not come with this program", |heads, _| {
            heads.iter_mut().for_each(|head| head.plan["name"] = serde_json::json!("mine"));
        }),
        ("not at its place", |heads, _| heads.swap(0, 1)),
        ("not at its place", |heads, _| drop(heads.remove(0))),
        ("steps were run", |heads, _| drop(heads.pop())),
        ("it is of another workload than the steps before it", |heads, on| {
            let other = if heads[0].plan["name"] == "mariadb-redo" { "postgres-wal" } else { "mariadb-redo" };
            let step = heads[1].step.clone();
            heads[1] = Header { step, ..heads_of_service(other, on, false).swap_remove(1) };
        }),
        ("it has other targets than the steps before it", |heads, _| heads[1].targets[0].name += "x"),
        ("of its target", |heads, _| {
            for (name, fact) in [("serial", "S2"), ("file system id", "2b"), ("mount source", "/dev/sdb1")] {
                heads[0].targets[0].facts.insert(name.into(), "first".into());
                heads[1].targets[0].facts.insert(name.into(), fact.into());
            }
        }),
    ];
    for (name, on, beside) in [
        ("etcd", On::Directory, false),
        ("kafka", On::Directory, true),
        ("postgres-wal", On::Directory, true),
        ("postgres-wal", On::Devices(1), false),
        ("mariadb-redo", On::Devices(2), false),
    ] {
        let good = heads_of_service(name, on, beside);
        let passed = judgement(Verdict::Pass, &good);
        assert_eq!(missing_for_certificate(&passed, &good), None, "{name} {on:?} {beside}");
        for (number, (words, change)) in changes.iter().enumerate() {
            let mut heads = good.clone();
            change(&mut heads, on);
            let why = missing_for_certificate(&passed, &heads);
            assert!(why.as_ref().is_some_and(|why| why.contains(words)), "{name} {on:?}, change {number}: {why:?}");
        }
    }
    let good = heads_of_service("postgres-wal", On::Devices(1), false);
    type TargetChange = fn(&mut TargetHead);
    let on_devices: [(&str, TargetChange); 2] = [
        ("not written full", |target| target.prepared = None),
        ("is a file, not a block device", |target| target.kind = "file".into()),
    ];
    for (words, change) in on_devices {
        let mut heads = good.clone();
        heads.iter_mut().for_each(|head| change(&mut head.targets[0]));
        let why = missing_for_certificate(&judgement(Verdict::Pass, &heads), &heads).unwrap();
        assert!(why.contains(words), "{why}");
    }
}

#[test]
fn what_limits_a_run_keeps_it_from_being_a_certification() {
    type Change = fn(&mut Vec<Header>, &mut Judgement);
    fn part(judged: &mut Judgement) -> &mut StepFigures {
        &mut judged.steps[1].part
    }
    let changes: [(&str, Change); 33] = [
        ("SIMULATED", |_, judged| judged.watermarks.push("SIMULATED: no device was tested".into())),
        ("QUICK", |heads, _| heads[1].watermarks.push("QUICK: quick look".into())),
        ("S7 was overridden", |heads, _| heads[0].watermarks.push("NON-CERTIFIABLE: rule S7 was overridden".into())),
        ("service by request", |_, judged| judged.judged_on = Some(assay_base::Measure::Service)),
        ("verdict is INVALID", |_, judged| judged.verdict = Verdict::Invalid),
        ("verdict is INCOMPLETE", |_, judged| judged.verdict = Verdict::Incomplete),
        ("single run", |heads, _| heads[0].step = None),
        ("steps were run", |heads, _| drop(heads.pop())),
        ("not at its place", |heads, _| drop(heads.remove(0))),
        ("not at its place", |heads, _| heads.swap(0, 1)),
        ("exchanged", |heads, _| heads[0].step.as_mut().unwrap().stress = true),
        ("number of steps or targets", |heads, _| heads[0].targets.clear()),
        ("is a simulated", |heads, _| heads[0].targets[0].kind = "simulated".into()),
        ("is a scratch file", |heads, _| heads[1].targets[0].kind = "scratch file".into()),
        ("not written full", |heads, _| heads[0].targets[0].prepared = None),
        ("not written full", |heads, _| heads[0].targets[0].size_bytes += 1),
        ("others wrote 4096 bytes", |heads, _| {
            heads[0].targets[0].prepared.as_mut().unwrap().foreign_bytes = Some(4096);
        }),
        ("not known whether others wrote", |heads, _| {
            heads[0].targets[0].prepared.as_mut().unwrap().foreign_bytes = None;
        }),
        ("met blocks that were never written", |_, judged| {
            let mut target = judged.part.targets.each[0].clone();
            target.blank_reads = 1;
            part(judged).targets.each.push(target);
        }),
        ("other targets than the steps before", |heads, _| heads[1].targets[0].name += "x"),
        ("the serial of its target", |heads, _| {
            heads[1].targets[0].facts.insert("serial".into(), "another".into());
        }),
        ("the size of its target", |heads, _| {
            let mut again = heads[1].clone();
            again.continues = true;
            again.targets[0].size_bytes -= 512;
            heads.push(again);
        }),
        ("continues a run that is not there", |heads, _| heads.iter_mut().for_each(|head| head.continues = true)),
        ("clocks were not recorded", |_, judged| part(judged).history.clocks = None),
        ("step 2: the machine changed", |_, judged| part(judged).history.environment_changes = 1),
        ("longer than the time that went by", |_, judged| part(judged).history.clocks.as_mut().unwrap().end.at_ns = 5),
        // Twice 120,000 reads per second for a day: six standard deviations are 600,000 operations.
        ("reads scheduled", |_, judged| part(judged).streams.each[0].counts.scheduled += 700_000),
        ("reads scheduled", |_, judged| part(judged).streams.each[0].counts.scheduled -= 700_000),
        ("shorter", |heads, _| heads[1].phases.iter_mut().for_each(|phase| phase.span_ns -= 1)),
        ("load are not", |heads, _| heads[1].plan["load"] = "30x".into()),
        ("criteria are not", |heads, _| heads[0].plan["criteria"] = serde_json::json!([])),
        ("not what its plan makes", |heads, _| heads[0].criteria.clear()),
        ("not what its plan makes", |heads, _| heads[0].slice_ns *= 2),
    ];
    let good = judgement(Verdict::Pass, &heads(1, "30x"));
    for (number, (words, change)) in changes.iter().enumerate() {
        let (mut heads, mut judged) = (heads(1, "30x"), good.clone());
        change(&mut heads, &mut judged);
        let standing = standing_by_log(&judged, &heads);
        let Standing::Record(why) = &standing else { panic!("change {number}: {standing:?}") };
        assert!(why.contains(words), "change {number}: {why}");
        assert_eq!(standing.exit_code(), 3);
    }
}

/// The first step has one device; the others are added in the third.
#[test]
fn nobody_wrote_to_any_of_the_devices() {
    let good = heads(3, "30x");
    let judged = judgement(Verdict::Pass, &good);
    assert_eq!(standing_by_log(&judged, &good), Standing::Pass);
    for device in 0..3 {
        let mut heads = good.clone();
        let first = heads.iter_mut().find(|head| head.targets.len() > device).unwrap();
        first.targets[device].prepared.as_mut().unwrap().foreign_bytes = Some(512);
        let Standing::Record(why) = standing_by_log(&judged, &heads) else { panic!("device {device}") };
        assert!(why.contains("others wrote 512 bytes"), "{why}");
        // What the run itself wrote is only known at its beginning.
        let mut heads = good.clone();
        heads[3].targets[device].prepared.as_mut().unwrap().foreign_bytes = Some(512);
        assert_eq!(standing_by_log(&judged, &heads), Standing::Pass);
    }
}

#[test]
fn even_arrivals_are_checked_to_the_operation() {
    let mut heads = heads(1, "30x");
    heads.iter_mut().flat_map(|head| &mut head.streams).for_each(|stream| stream.arrival = "steady".into());
    let mut judged = judgement(Verdict::Pass, &heads);
    assert_eq!(schedule_lack(&judged.steps[0].part, &heads[0]), None);
    judged.steps[0].part.streams.each[1].counts.scheduled += 3;
    let why = schedule_lack(&judged.steps[0].part, &heads[0]).unwrap();
    assert!(why.starts_with("large-block-reads scheduled"), "{why}");
}

/// A log with clocks, each changed in one place by `change`.
fn clocked(change: impl Fn(&mut Header, &mut [assay_record::Interval])) -> Vec<u8> {
    let (_, log) = pair();
    let (mut reader, mut writer) = (Reader::new(log.as_slice()), Writer::new(Vec::new(), 0));
    let mut entries = Vec::new();
    while let Some(Ok(entry)) = reader.next_entry().unwrap() {
        entries.push(entry);
    }
    let sample = |at_ns: u64| assay_record::ClockSample {
        at_ns,
        real_ns: 1_700_000_000_000_000_000 + at_ns,
        boot_ns: 90_000_000_000 + at_ns,
        mono_ns: 80_000_000_000 + at_ns,
    };
    let mut intervals: Vec<assay_record::Interval> = Vec::new();
    for entry in &entries {
        if let Entry::Interval(interval) = entry {
            intervals.push(assay_record::Interval { clocks: Some(sample(interval.end_ns)), ..interval.clone() });
        }
    }
    let mut head =
        entries.iter().find_map(|entry| if let Entry::Header(head) = entry { Some(head.clone()) } else { None });
    let head = head.as_mut().unwrap();
    (head.clocks, head.created) = (Some(sample(0)), rundir::format_moment(sample(0).real_ns));
    change(head, &mut intervals);
    let mut intervals = intervals.into_iter();
    for entry in entries {
        let entry = match entry {
            Entry::Header(_) => Entry::Header(head.clone()),
            Entry::Interval(_) => Entry::Interval(intervals.next().unwrap()),
            other => other,
        };
        writer.write_entry(&entry).unwrap();
    }
    writer.into_inner()
}

#[test]
fn clocks_that_contradict_the_log_are_not_to_be_trusted() {
    let of = |log: &[u8]| examine_certificate(&certificate(log), log);
    assert!(matches!(of(&clocked(|_, _| {})), Standing::Record(why) if why.contains("SIMULATED")));
    type Change = fn(&mut Header, &mut [assay_record::Interval]);
    fn all(
        intervals: &mut [assay_record::Interval],
        from: usize,
    ) -> impl Iterator<Item = &mut assay_record::ClockSample> {
        intervals[from..].iter_mut().map(|interval| interval.clocks.as_mut().unwrap())
    }
    let changes: [(&str, Change); 5] = [
        ("the beginning is dated otherwise", |head, _| head.created = "2023-11-14T22:13:21Z".into()),
        ("an interval takes longer by the run than by the machine", |_, intervals| {
            all(intervals, 5).for_each(|clocks| clocks.at_ns += 500_000_000);
        }),
        ("the machine went on and the run did not", |_, intervals| {
            all(intervals, 5).for_each(|clocks| {
                clocks.mono_ns += 500_000_000;
                clocks.boot_ns += 500_000_000;
                clocks.real_ns += 500_000_000;
            });
        }),
        ("read before the interval ended", |_, intervals| all(intervals, 0).for_each(|clocks| clocks.at_ns /= 2)),
        ("a clock that goes back", |_, intervals| all(intervals, 5).for_each(|clocks| clocks.boot_ns -= 20_000_000)),
    ];
    for (what, change) in changes {
        let standing = of(&clocked(change));
        assert!(
            matches!(&standing, Standing::Untrusted(why) if why.contains("does not add up")),
            "{what}: {standing:?}"
        );
    }
}

/// The wall clock is a label: setting it during a run is noted, and every figure stays the same.
#[test]
fn a_wall_clock_that_jumps_changes_no_figure() {
    let judged = |log: &[u8]| judge_with_sum(log, &Options::default()).unwrap().judgement;
    let good = judged(&clocked(|_, _| {}));
    for (by, words) in [(3_600_000_000_000i64, "set forward by 1 h"), (-3_600_000_000_000, "set back by 1 h")] {
        let jumped = judged(&clocked(|_, intervals| {
            for clocks in intervals[6..].iter_mut().filter_map(|interval| interval.clocks.as_mut()) {
                clocks.real_ns = clocks.real_ns.saturating_add_signed(by);
            }
        }));
        let clocks = jumped.part.history.clocks.clone().unwrap();
        assert_eq!((clocks.events.len(), clocks.events[0].by_ns), (1, by));
        assert!(jumped.warnings.iter().any(|warning| warning.contains(words)), "{:?}", jumped.warnings);
        let mut without = jumped;
        (without.log, without.warnings) = (good.log.clone(), good.warnings.clone());
        without.part.history.clocks.clone_from(&good.part.history.clocks);
        assert_eq!(without, good, "nothing else differs");
    }
}

/// Sleep is different: time passed in which nobody observed the device.
#[test]
fn a_machine_that_slept_proves_nothing() {
    let log = clocked(|head, intervals| {
        assert_eq!(head.phases[0].span_ns, 2_000_000_000, "so that interval 6 is the fifth second measured");
        for clocks in intervals[6..].iter_mut().filter_map(|interval| interval.clocks.as_mut()) {
            clocks.boot_ns += 5_000_000_000;
            clocks.real_ns += 5_000_000_000;
        }
    });
    let judged = judge_with_sum(log.as_slice(), &Options::default()).unwrap().judgement;
    assert_eq!(judged.verdict, Verdict::Invalid, "{}", judged.reason);
    assert!(judged.reason.contains("slept for 5 s"), "{}", judged.reason);
    let part = &judged.part;
    assert_eq!(part.slices.listed.iter().map(|slice| slice.valid).collect::<Vec<_>>(), [true, false, true, true]);
    assert_eq!((part.time.intervals.present, part.time.intervals.valid, part.history.environment_changes), (12, 9, 1));
}

#[test]
fn a_log_that_contradicts_itself_is_not_to_be_trusted_even_with_a_certificate_of_its_own() {
    let (_, log) = pair();
    let (mut reader, mut writer) = (Reader::new(log.as_slice()), Writer::new(Vec::new(), 0));
    while let Some(Ok(mut entry)) = reader.next_entry().unwrap() {
        if let Entry::Interval(interval) = &mut entry {
            interval.flows[0].ok += u64::from(interval.index == 5);
        }
        writer.write_entry(&entry).unwrap();
    }
    let bad = writer.into_inner();
    let standing = examine_certificate(&certificate(&bad), bad.as_slice());
    assert_eq!(standing, Standing::Untrusted("the log does not add up".into()));
}
