//! The keys of fio's job files: none is missing, each is in its class and on the page that lists them, and none is ever
//! ignored silently.

#![allow(clippy::unwrap_used)]

use crate::common;

use assay_formats::fio::Choice;
use assay_formats::fio::keys::{self, Class, Key};
use common::fio::{around, of};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

/// Keys that are in another class than the table of 2026-08 has them: what was refused is driven, or what fio itself
/// ignores is not refused any more; and `exitall` was listed as exact and not driven.
const CHANGED: [(&str, Class); 32] = [
    ("group_reporting", Class::Exact),
    ("new_group", Class::Exact),
    ("zonemode", Class::Differs),
    ("zonesize", Class::Exact),
    ("zonerange", Class::Exact),
    ("zoneskip", Class::Exact),
    ("verify_backlog", Class::Differs),
    ("verify_backlog_batch", Class::Differs),
    ("verify_interval", Class::Differs),
    ("verify_offset", Class::Differs),
    ("verify_pattern", Class::Differs),
    ("verify_pattern_interval", Class::Differs),
    ("verify_state_save", Class::Differs),
    ("verify_state_load", Class::Differs),
    ("verify_only", Class::Differs),
    ("verify_policy", Class::Differs),
    ("experimental_verify", Class::NoEffect),
    ("verify_header_seed", Class::NoEffect),
    ("verify_write_sequence", Class::NoEffect),
    ("percentage_sequential", Class::NoEffect),
    ("rwmixcycle", Class::NoEffect),
    ("write_iolog", Class::NoEffect),
    ("serialize_overlap", Class::Differs),
    ("dedupe_global", Class::Differs),
    ("exitall", Class::Differs),
    ("exit_what", Class::Differs),
    ("end_syncfs", Class::Differs),
    ("pre_read", Class::Differs),
    ("lockfile", Class::Differs),
    ("filetype", Class::Differs),
    ("rate_ignore_thinktime", Class::Exact),
    ("cmd_type", Class::Refused),
];

/// The keys of a list, each with its other names.
fn listed(name: &str) -> BTreeMap<String, BTreeSet<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/fio/names").join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path:?}: {e}"));
    let names = text.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let mut words = line.split_whitespace().map(str::to_owned);
        (words.next().unwrap(), words.collect())
    });
    names.collect()
}

/// What fio 3.33 and 3.42 know in a job file, with their engines and profiles, and what came later or with SPDK.
#[test]
fn no_key_of_fio_is_missing_and_none_is_invented() {
    let lists = ["3.33.txt", "3.42.txt", "newer.txt", "spdk.txt"].map(listed);
    assert!(lists[0].len() >= 330 && lists[1].len() >= 375, "{} {}", lists[0].len(), lists[1].len());
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (name, others) in lists.into_iter().flatten() {
        all.entry(name).or_default().extend(others);
    }
    for (name, others) in &all {
        let key = keys::find_key(name).unwrap_or_else(|| panic!("{name} is missing"));
        assert_eq!(key.name, name);
        let own: BTreeSet<String> = key.aliases.iter().map(|alias| (*alias).to_owned()).collect();
        assert_eq!(own, *others, "{name}");
        own.iter().for_each(|other| assert!(keys::find_key(other).is_some(), "{other}"));
    }
    let mut known = BTreeSet::new();
    for key in keys::all_keys() {
        assert!(known.insert(key.name), "{} stands twice", key.name);
        assert!(all.contains_key(key.name), "fio has no key {}", key.name);
    }
}

#[test]
fn every_key_is_in_its_class() {
    for root in common::roots() {
        let text = std::fs::read_to_string(root.join("fio/keys.csv")).unwrap();
        let rows: Vec<Vec<&str>> = text.lines().skip(1).map(|line| line.splitn(4, ',').collect()).collect();
        assert_eq!(rows.len(), 271);
        for row in rows {
            let key = keys::find_key(row[0]).unwrap();
            let class = match row[2] {
                "exact" => Class::Exact,
                "differs" => Class::Differs,
                "no-effect" => Class::NoEffect,
                _ => Class::Refused,
            };
            let changed = CHANGED.iter().find(|(name, _)| *name == row[0]);
            let expected = changed.map_or(class, |(_, class)| *class);
            assert_eq!((key.name, key.class), (row[0], expected));
        }
    }
    for key in keys::all_keys() {
        // What it says, or why it says nothing.
        assert_eq!(key.class <= Class::Differs, !key.means.is_empty(), "{}", key.name);
        assert!(key.class == Class::Exact || !key.told.is_empty(), "{}", key.name);
        assert!(!key.told.contains("not understood"), "{}: {}", key.name, key.told);
    }
}

/// The lists of the page, as they follow from the table of keys.
fn page() -> String {
    let mut page = String::new();
    let names = |key: &Key| {
        let all: Vec<String> = std::iter::once(&key.name).chain(key.aliases).map(|name| format!("`{name}`")).collect();
        all.join(", ")
    };
    for (class, title) in [(Class::Exact, "Exact"), (Class::Differs, "Differs")] {
        write!(page, "\n### {title}\n\n| key | meaning |\n|---|---|\n").unwrap();
        for key in keys::all_keys().filter(|key| key.class == class) {
            let told: Vec<&str> = [key.means, key.told].into_iter().filter(|text| !text.is_empty()).collect();
            writeln!(page, "| {} | {} |", names(key), told.join("; ")).unwrap();
        }
    }
    for (class, title) in [(Class::NoEffect, "No effect"), (Class::Refused, "Refused")] {
        let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
        for key in keys::all_keys().filter(|key| key.class == class) {
            let reason = match key.engines {
                [] => key.told.to_owned(),
                engines => format!("of the engine {}", engines.join(", ")),
            };
            match reasons.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, keys)) => keys.push(names(key)),
                None => reasons.push((reason, vec![names(key)])),
            }
        }
        write!(page, "\n### {title}\n\n| reason | keys |\n|---|---|\n").unwrap();
        for (reason, keys) in reasons {
            writeln!(page, "| {reason} | {} |", keys.join(", ")).unwrap();
        }
    }
    page
}

#[test]
fn the_page_lists_every_key() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/fio.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (_, own) = text.split_once("## All keys\n").unwrap();
    let (_, lists) = own.split_once("\n\n### Exact").unwrap();
    let (found, expected) = (format!("\n### Exact{lists}"), page());
    for (found, expected) in found.lines().zip(expected.lines()) {
        assert_eq!(found, expected, "docs/fio.md");
    }
    assert_eq!(found.trim_end(), expected.trim_end(), "docs/fio.md, from \"### Exact\" on:\n{expected}");
    let number = keys::all_keys().count();
    assert!(text.contains(&format!("{number} keys")), "the page says how many keys there are: {number}");
}

/// Each key of the class refused, in a job that would run without it.
#[test]
fn every_refused_key_is_refused_with_a_reason_and_a_remedy() {
    let plain = "[a]\nfilename=data.img\ntime_based\nruntime=1\nrw=randwrite\n";
    assert!(of(plain, &Choice::default(), &around()).is_ok());
    for key in keys::all_keys().filter(|key| key.class == Class::Refused) {
        for name in std::iter::once(&key.name).chain(key.aliases) {
            let fault = of(&format!("{plain}{name}=1\n"), &Choice::default(), &around()).unwrap_err();
            assert_eq!((fault.line, fault.column), (6, 1), "{fault}");
            assert!(!fault.what.is_empty() && !fault.remedy.is_empty(), "{fault}");
            let found = keys::find_key(name).unwrap();
            assert!(fault.what.contains(found.name), "{name} is named: {fault}");
            if let [engine] = found.engines {
                assert!(fault.what.contains(engine), "{name} names its engine: {fault}");
            }
        }
    }
}

/// Each key of the class differs, in a job with a value that asks for something else than what is done.
#[test]
fn every_difference_is_told_in_the_plan() {
    let plain = "[a]\nfilename=data.img\ntime_based\nruntime=1\nrw=randwrite\nverify=md5\n";
    let values: BTreeMap<&str, &str> = [
        ("bssplit", "4k/50:8k/"),
        ("direct", "0"),
        ("dedupe_mode", "repeat"),
        ("exit_what", "all"),
        ("file_service_type", "random"),
        ("filetype", "block"),
        ("io_submit_mode", "offload"),
        ("ioengine", "libaio"),
        ("lockfile", "none"),
        ("random_distribution", "zipf:1.1"),
        ("verify_policy", "fsynced"),
        ("zonemode", "strided"),
    ]
    .into();
    // What is said of these stands elsewhere, or only with other keys.
    let elsewhere = ["bssplit", "dedupe_mode", "file_service_type", "lockfile", "ramp_time", "zonemode", "verify_only"];
    for key in keys::all_keys().filter(|key| key.class == Class::Differs) {
        let value = values.get(key.name).copied().unwrap_or("1");
        let zones = if key.name == "zonemode" { "zonesize=1m\n" } else { "" };
        let text = format!("{plain}{}={value}\n{zones}", key.name);
        let lowered = of(&text, &Choice::default(), &around()).unwrap_or_else(|fault| panic!("{fault}"));
        let notes = &lowered.workload.notes;
        let told = notes.iter().any(|note| note.starts_with(&format!("job.fio:7: {}={value}: ", key.name)));
        assert!(told || elsewhere.contains(&key.name), "{}: {notes:?}", key.name);
        let line = lowered.keys.iter().find(|line| line.line == 7).unwrap();
        assert!(line.class <= Class::Differs && !line.means.is_empty(), "{line:?}");
    }
}

/// A key that says something changes the plan, is told in its notes, or is refused. Values that are no number are refused.
#[test]
fn no_key_that_says_something_is_ignored() {
    let plain = "[a]\nfilename=data.img\ntime_based\nruntime=1\nrw=randwrite\n";
    let quiet = ["description", "name", "kb_base", "stonewall", "wait_for"];
    for key in keys::all_keys().filter(|key| key.class == Class::Exact && !quiet.contains(&key.name)) {
        let wrong = of(&format!("{plain}{}=?", key.name), &Choice::default(), &around());
        let text = ["filename", "directory", "filename_format", "ioscheduler"].contains(&key.name);
        assert_eq!(wrong.is_err(), !text, "{}", key.name);
    }
    let lines = of(plain, &Choice::default(), &around()).unwrap().keys;
    assert_eq!(lines.iter().map(|line| line.line).collect::<Vec<_>>(), [2, 3, 4, 5]);
}
