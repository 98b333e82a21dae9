//! Thousands of damaged config files and logs: every reader answers, none panics, whatever the text contains. The
//! damage is the same on every run.

#![allow(clippy::unwrap_used)]

use crate::common;

use assay_base::{Prng, Span};
use assay_formats::act::conf::{Kind, read_bytes, read_like_act};
use assay_formats::act::import;
use assay_formats::act::latency;
use assay_formats::act::log::{Item, Log};
use assay_formats::act::slices::tabulate_slices;
use assay_formats::collect::assemble::{Kind as Collected, assemble_profile};
use assay_formats::collect::{Collector, Options};
use assay_formats::{fio, iometer};
use assay_model::profile::write_profile;
use assay_model::workload::{read_profile, read_workload};
use std::io::BufRead;

/// Texts that have broken readers before.
const PIECES: [&[u8]; 18] = [
    b"\0",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\r",
    b"\n\n",
    b"\r\n",
    b"99999999999999999999999",
    b"-1",
    b"0",
    b"(",
    b")",
    b": ",
    b"after 9223372036854775807 sec:\n",
    b"reads (18446744073709551615 total)\n",
    b" (64: 18446744073709551615)\n",
    b"#",
    b"=",
    "é\u{202e}".as_bytes(),
];

/// One to eight damages.
fn damage(text: &[u8], prng: &mut Prng) -> Vec<u8> {
    let mut text = text.to_vec();
    for _ in 0..=prng.uniform_below(8) {
        let at = prng.uniform_below(text.len() as u64 + 1) as usize;
        match prng.uniform_below(6) {
            0 if at < text.len() => text[at] ^= 1 << prng.uniform_below(8),
            1 if at < text.len() => text[at] = b"0123456789:() \n"[prng.uniform_below(15) as usize],
            2 => drop(text.splice(at..at, PIECES[prng.uniform_below(18) as usize].iter().copied())),
            3 => text.truncate(at),
            4 => {
                let end = (at + prng.uniform_below(60) as usize).min(text.len());
                let piece = text[at..end].to_vec();
                let to = prng.uniform_below(text.len() as u64 + 1) as usize;
                drop(text.splice(to..to, piece));
            }
            _ => drop(text.drain(at..(at + prng.uniform_below(40) as usize).min(text.len()))),
        }
    }
    text
}

/// The golden files carried with the crate, cut so that many rounds are fast.
fn seeds(folder: &str, file: &str, most: usize) -> Vec<Vec<u8>> {
    let root = common::roots().into_iter().next().unwrap().join(folder);
    let mut found = Vec::new();
    for entry in common::entries(&root) {
        let path = if entry.is_dir() { entry.join(file) } else { entry };
        if path.extension().is_some_and(|e| file.ends_with(e.to_str().unwrap())) {
            let mut text = std::fs::read(&path).unwrap();
            text.truncate(most);
            found.push(text);
        }
    }
    assert!(!found.is_empty(), "no golden files in {folder}");
    found
}

#[test]
fn config_files() {
    let seeds = [seeds("act-badcfg", ".conf", 4000), seeds("act", "act.conf", 4000)].concat();
    let mut prng = Prng::from_seed(4);
    let (mut accepted, mut refused) = (0, 0);
    for round in 0..20_000 {
        let text = damage(&seeds[round % seeds.len()], &mut prng);
        let kind = if round % 2 == 0 { Kind::Storage } else { Kind::Index };
        let _ = read_like_act(&text, kind, 2);
        match read_bytes("f", &text, (round % 3 != 0).then_some(kind)) {
            Ok((conf, _)) => {
                accepted += 1;
                assert!(!conf.device_names.is_empty());
            }
            Err(fault) => {
                refused += 1;
                assert!(!fault.what.is_empty() && !fault.remedy.is_empty(), "{fault}");
                assert!(fault.to_string().len() < 4000);
            }
        }
    }
    assert!(accepted > 100 && refused > 1000, "{accepted} accepted, {refused} refused");
}

/// A machine that has some of what job files of fio name.
struct Somewhere;

impl fio::Surroundings for Somewhere {
    fn read_included(&self, name: &str, _: &str) -> Result<String, String> {
        if name.len().is_multiple_of(2) { Ok("include again\nbs=4k\n".into()) } else { Err("absent".into()) }
    }
    fn read_recording(&self, name: &str, _: &str) -> Result<assay_formats::collect::Played, String> {
        // What no recording is, or a short one.
        let text = if name.len().is_multiple_of(2) {
            name
        } else {
            "fio version 3 iolog\n5 f read 0 512\n9 f write 512 512\n"
        };
        let mut recorder = assay_formats::collect::Recorder::default();
        text.lines().try_for_each(|line| recorder.take_line(line))?;
        recorder.into_recording()
    }
    fn environment_variable(&self, name: &str) -> Option<String> {
        (name.len() % 2 == 1).then(|| "${X}8k".repeat(name.len() % 9))
    }
    fn keyword_number(&self, _: fio::Keyword) -> u64 {
        4096
    }
    fn size_of(&self, target: &str) -> Option<u64> {
        target.len().is_multiple_of(2).then_some(64 << 20)
    }
}

#[test]
fn job_files_of_fio() {
    let mut seeds = seeds("fio", ".fio", 4000);
    // What runs is damaged too, and not only what is refused.
    let timed = |seed: &Vec<u8>| [b"[global]\ntime_based\nruntime=2\n", seed.as_slice()].concat();
    let all: Vec<Vec<u8>> = seeds.iter().map(timed).collect();
    seeds.extend(all);
    seeds.extend([b"[a]\nrw=randread\ntime_based\nruntime=2\nbs=4k\nnorandommap\nnumjobs=2\n".to_vec()]);
    let mut prng = Prng::from_seed(6);
    let (mut accepted, mut refused) = (0, 0);
    for round in 0..10_000 {
        let text = damage(&seeds[round % seeds.len()], &mut prng);
        let text = String::from_utf8_lossy(&text);
        let choice = fio::Choice::default();
        match fio::read_job_file("f", &text, &Somewhere)
            .and_then(|jobs| fio::lower_job_file("f", &jobs, &choice, &Somewhere))
        {
            Ok(lowered) => {
                accepted += 1;
                // A section without a key is a job of fio's defaults.
                let is_key = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with([';', '#', '[']);
                let has_keys = !lowered.keys.is_empty() || !text.lines().any(is_key);
                assert!(!lowered.workload.load.streams.is_empty() && has_keys, "{text}");
            }
            Err(fault) => {
                refused += 1;
                assert!(!fault.what.is_empty() && !fault.remedy.is_empty(), "{fault}");
                assert!(fault.to_string().len() < 4000);
            }
        }
    }
    assert!(accepted > 20 && refused > 1000, "{accepted} accepted, {refused} refused");
}

#[test]
fn logs() {
    let seeds =
        [seeds("act", "log.txt", 6000), seeds("act-old", "log.txt", 6000), seeds("act-edge", "log.txt", 6000)].concat();
    let mut prng = Prng::from_seed(5);
    let (mut whole, mut faulty) = (0, 0);
    for round in 0..6000 {
        let text = damage(&seeds[round % seeds.len()], &mut prng);
        let read = Log::open("f", text.as_slice()).and_then(|log| log.collect::<Result<Vec<Item>, _>>());
        if read.is_ok() {
            whole += 1
        } else {
            faulty += 1
        }
        // The same for the judge: one header, or a fault with a message.
        let mut headers = 0;
        let judged = import::import_entries("f", text.as_slice(), Span::from_secs(10), &mut |entry| {
            headers += usize::from(matches!(entry, assay_record::Entry::Header(_)));
        });
        assert!(headers <= 1 && judged.map_or_else(|why| !why.to_string().is_empty(), |()| headers == 1));
        if let Ok(mut log) = Log::open("f", text.as_slice()) {
            let _ = tabulate_slices(&mut log, &["reads".to_owned()], Span::from_secs(1 + round as u64 % 5));
        }
        let mut out = String::new();
        let args: Vec<String> = ["-l", "f", "-t", "2", "-x", "-h", "reads", "-h", "/dev"].map(str::to_owned).into();
        let mut open = |_: &str| Ok(Box::new(std::io::Cursor::new(text.clone())) as Box<dyn BufRead>);
        let ended = latency::run_analyzer(&args, &mut open, &mut out).unwrap();
        assert_eq!(ended.code == 1, ended.complaint.is_some());
    }
    assert!(whole > 500 && faulty > 500, "{whole} whole, {faulty} faulty");
}

/// Damaged files of production: they become a profile or nothing, and a written profile is read back unchanged.
#[test]
fn collections() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = ["tests/collect/samples", "../../examples/worked", "../../examples/cluster/beta"];
    let files = folders.iter().flat_map(|folder| common::entries(&root.join(folder)));
    let seeds: Vec<Vec<u8>> = files.map(|path| std::fs::read(path).unwrap()).collect();
    assert!(seeds.len() >= 13);
    let mut prng = Prng::from_seed(8);
    let (mut whole, mut parts) = (0, 0);
    for round in 0..1500 {
        let mut seed = seeds[round % seeds.len()].clone();
        seed.truncate(8000);
        let mut collector = Collector::new(Options { keep_first_report: round % 2 == 0, ..Options::default() });
        collector.begin_file("x", "", "");
        damage(&seed, &mut prng).chunks(300).for_each(|piece| collector.feed_bytes(piece));
        collector.end_file();
        let found = collector.finish();
        for kind in [Collected::Aerospike, Collected::Application] {
            let profile = assemble_profile(&found, kind).profile;
            parts += profile.parts.len();
            let text = write_profile(&profile, "x", &[]);
            if let Ok(again) = read_profile("x", &text) {
                assert_eq!(again, profile, "{text}");
                whole += 1;
            }
            let _ = read_workload("x", &text);
        }
    }
    assert!(parts > 1000 && whole > 1500, "{parts} {whole}");
}

#[test]
fn configurations_of_iometer() {
    let seeds = seeds("icf", ".icf", 16_000);
    let mut prng = Prng::from_seed(8);
    let (mut accepted, mut refused) = (0, 0);
    for round in 0..10_000 {
        let text = damage(&seeds[round % seeds.len()], &mut prng);
        match iometer::read_config("f", &String::from_utf8_lossy(&text)) {
            Ok(config) => {
                accepted += 1;
                for step in iometer::all_steps(&config, None).iter().flatten() {
                    // Whatever is written can be read.
                    let Ok(text) = iometer::write_workload(&config, step, "name", "f") else { continue };
                    assay_model::workload::read_workload("f.toml", &text).unwrap_or_else(|fault| panic!("{fault}"));
                }
            }
            Err(fault) => {
                refused += 1;
                assert!(!fault.what.is_empty() && !fault.remedy.is_empty(), "{fault}");
                assert!(fault.to_string().len() < 4000);
            }
        }
    }
    assert!(accepted > 20 && refused > 1000, "{accepted} accepted, {refused} refused");
}
