//! 10,000 mutations of certificate and log, forged pairs, and everything that keeps a true record from being a certification.

use super::*;
use crate::drive::{Drive, drive};
use crate::logfile::LogFile;
use crate::progress::Progress;
use crate::signals::StopCell;
use crate::targets::{Named, Targets};
use assay_base::{Bytes, Prng, Span};
use assay_record::{Preparation, StepHead, TargetHead, Writer};

/// A whole simulated run, kept, and its certificate.
fn pair() -> (Vec<u8>, Vec<u8>) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.jsonl");
    let names = vec!["sim:flash".to_owned()];
    let Named::Simulated(spec) = crate::targets::named(&names).unwrap().remove(0).1 else { panic!("a simulation") };
    let targets = Targets::Simulated(vec![(names[0].clone(), spec)]);
    let measure = Some(Span::from_secs(12));
    let adjust = Adjust { measure, slice: Some(Span::from_secs(3)), targets: 1, ..Adjust::default() };
    let plan = workloads::find("random-read").unwrap().plan(&adjust).unwrap();
    let mut log = LogFile::create(&path).unwrap();
    let how = Drive { prepared: vec![None], ..Drive::default() };
    drive(&plan, &targets, &how, &mut log, &mut Progress::new(true), &StopCell::default()).unwrap();
    drop(log);
    let log = std::fs::read(path).unwrap();
    (certificate(&log), log)
}

fn certificate(log: &[u8]) -> Vec<u8> {
    let mut text = String::new();
    assay_judge::render::json(&judge(log, &Options::default()).unwrap().judgement, &mut text).unwrap();
    text.into_bytes()
}

/// Line `at` with its checksum put right again.
fn resum(line: &mut [u8]) {
    if line.len() > 18 {
        let crc = format!("{:08x}", crc32c::crc32c(&line[18..]));
        line[8..16].copy_from_slice(crc.as_bytes());
    }
}

fn lines(log: &[u8]) -> Vec<Vec<u8>> {
    log.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect()
}

fn joined(lines: &[Vec<u8>]) -> Vec<u8> {
    lines.iter().flat_map(|line| line.iter().chain(b"\n")).copied().collect()
}

/// Changes one digit somewhere in a line, without a leading zero that would not be JSON.
fn digit(line: &mut [u8], prng: &mut Prng) {
    let places: Vec<usize> = (18..line.len()).filter(|at| line[*at].is_ascii_digit()).collect();
    let Some(at) = places.get(prng.below(places.len().max(1) as u64) as usize) else { return };
    let before = line[*at];
    while line[*at] == before {
        line[*at] = b'1' + prng.below(9) as u8;
    }
}

/// One mutation of the log: bytes, lines, cuts, and numbers whose checksum is put right.
fn mutate(log: &[u8], prng: &mut Prng) -> Vec<u8> {
    let mut rows = lines(log);
    let (a, b) = (prng.below(rows.len() as u64) as usize, prng.below(rows.len() as u64) as usize);
    match prng.below(7) {
        0 => flipped(log, prng),
        1 => log[..prng.below(log.len() as u64) as usize].to_vec(),
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
    let at = prng.below(bad.len() as u64) as usize;
    bad[at] ^= 1 << prng.below(8);
    bad
}

#[test]
fn ten_thousand_mutations_are_rejected() {
    let (certificate, log) = pair();
    assert!(matches!(examine(&certificate, log.as_slice()), Standing::Record(why) if why.contains("SIMULATED")));
    let mut prng = Prng::seeded(7);
    let (mut tried, mut unseen_by_judging) = (0, 0);
    while tried < 10_000 {
        let (bad_certificate, bad_log) = match prng.below(3) {
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
        let standing = examine(&bad_certificate, bad_log.as_slice());
        assert!(matches!(standing, Standing::Untrusted(_)), "mutation {tried}: {standing:?}");
        // Without the checksum of the file: how many would judging again alone have let through? A sample tells.
        if tried % 10 == 0 && bad_log != log && judge(bad_log.as_slice(), &Options::default()).is_ok() {
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
    crate::signing::check(&keys.pk, &signature, &good).unwrap();
    assert!(crate::signing::check(&other.pk, &signature, &good).is_err());
    assert!(crate::signing::check(&keys.pk, &sign(&other, &good), &good).is_err());
    let mut prng = Prng::seeded(11);
    let (mut fits, mut tried) = (0, 0);
    while tried < 500 {
        let mut rows = lines(&log);
        let at = prng.below(rows.len() as u64) as usize;
        digit(&mut rows[at], &mut prng);
        resum(&mut rows[at]);
        let forged_log = joined(&rows);
        if forged_log == log || judge(forged_log.as_slice(), &Options::default()).is_err() {
            continue;
        }
        tried += 1;
        let forged = certificate(&forged_log);
        // Without a key some pairs fit: the honest limit. None of them is signed.
        fits += usize::from(!matches!(examine(&forged, forged_log.as_slice()), Standing::Untrusted(_)));
        assert!(crate::signing::check(&keys.pk, &signature, &forged).is_err());
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
    assert!(matches!(examine(&bytes, log.as_slice()), Standing::Untrusted(why) if why.contains("checksum")));
}

/// The headers of a certification of `all` devices at `load`, as the program writes them.
fn heads(all: u16, load: &str) -> Vec<Header> {
    let step = |number: u32, of: u32| {
        let targets = if number > 2 { all } else { 1 };
        let stress = number.is_multiple_of(2);
        let load: Multiple = load.parse().unwrap();
        let (numerator, denominator) = load.as_ratio();
        let load = Multiple::ratio(numerator * if stress { 2 } else { 1 }, denominator);
        let adjust = Adjust { load, targets, seed: u64::from(number), ..Adjust::default() };
        let plan = workloads::find(PROFILE).unwrap().plan(&adjust).unwrap();
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
            }),
            ..TargetHead::default()
        };
        let title = String::new();
        let around = header::Around {
            step: Some(StepHead { number, of, title, stress }),
            targets: (0..targets).map(target).collect(),
            ..header::Around::default()
        };
        header::header(&plan, around)
    };
    let of = if all > 1 { 4 } else { 2 };
    (1..=of).map(|number| step(number, of)).collect()
}

/// A judgement that speaks for nothing but its verdict.
fn judgement(verdict: Verdict) -> Judgement {
    let (certificate, _) = pair();
    let judgement: Judgement = serde_json::from_slice(&certificate).unwrap();
    Judgement { verdict, watermarks: Vec::new(), ..judgement }
}

#[test]
fn a_certification_is_the_whole_published_procedure() {
    for (devices, load) in [(1, "30x"), (3, "1.5x")] {
        let heads = heads(devices, load);
        assert_eq!(standing(&judgement(Verdict::Pass), &heads), Standing::Pass, "{devices} at {load}");
        assert_eq!(standing(&judgement(Verdict::Fail), &heads), Standing::Fail);
        // A failed one may end early, a passed one may not.
        assert_eq!(standing(&judgement(Verdict::Fail), &heads[..1]), Standing::Fail);
        assert!(matches!(standing(&judgement(Verdict::Pass), &heads[..1]), Standing::Record(_)));
    }
}

#[test]
fn what_limits_a_run_keeps_it_from_being_a_certification() {
    type Change = fn(&mut Vec<Header>, &mut Judgement);
    let changes: [(&str, Change); 21] = [
        ("SIMULATED", |_, judged| judged.watermarks.push("SIMULATED: no device was tested".into())),
        ("QUICK", |heads, _| heads[1].watermarks.push("QUICK: quick look".into())),
        ("S7 was overridden", |heads, _| heads[0].watermarks.push("NON-CERTIFIABLE: rule S7 was overridden".into())),
        ("service by request", |_, judged| judged.judged_on = Some(assay_base::Measure::Service)),
        ("verdict is INVALID", |_, judged| judged.verdict = Verdict::Invalid),
        ("verdict is INCOMPLETE", |_, judged| judged.verdict = Verdict::Incomplete),
        ("single run", |heads, _| heads[0].step = None),
        ("steps were run", |heads, _| drop(heads.pop())),
        ("another place", |heads, _| drop(heads.remove(0))),
        ("another place", |heads, _| heads.swap(0, 1)),
        ("exchanged", |heads, _| heads[0].step.as_mut().unwrap().stress = true),
        ("number of steps or targets", |heads, _| heads[0].targets.clear()),
        ("is a simulated", |heads, _| heads[0].targets[0].kind = "simulated".into()),
        ("is a scratch file", |heads, _| heads[1].targets[0].kind = "scratch file".into()),
        ("not written full", |heads, _| heads[0].targets[0].prepared = None),
        ("not written full", |heads, _| heads[0].targets[0].size_bytes += 1),
        ("shorter", |heads, _| heads[1].phases.iter_mut().for_each(|phase| phase.span_ns -= 1)),
        ("load are not", |heads, _| heads[1].plan["load"] = "30x".into()),
        ("criteria are not", |heads, _| heads[0].plan["criteria"] = serde_json::json!([])),
        ("not what its plan makes", |heads, _| heads[0].criteria.clear()),
        ("not what its plan makes", |heads, _| heads[0].slice_ns *= 2),
    ];
    let good = judgement(Verdict::Pass);
    for (number, (words, change)) in changes.iter().enumerate() {
        let (mut heads, mut judged) = (heads(1, "30x"), good.clone());
        change(&mut heads, &mut judged);
        let standing = standing(&judged, &heads);
        let Standing::Record(why) = &standing else { panic!("change {number}: {standing:?}") };
        assert!(why.contains(words), "change {number}: {why}");
        assert_eq!(standing.exit_code(), 3);
    }
}

#[test]
fn a_log_that_contradicts_itself_is_not_to_be_trusted_even_with_a_certificate_of_its_own() {
    let (_, log) = pair();
    let (mut reader, mut writer) = (Reader::new(log.as_slice()), Writer::new(Vec::new(), 0));
    while let Some(Ok(mut entry)) = reader.next_entry().unwrap() {
        if let Entry::Interval(interval) = &mut entry {
            interval.flows[0].ok += u64::from(interval.index == 5);
        }
        writer.write(&entry).unwrap();
    }
    let bad = writer.into_inner();
    let standing = examine(&certificate(&bad), bad.as_slice());
    assert_eq!(standing, Standing::Untrusted("the log does not add up".into()));
}
