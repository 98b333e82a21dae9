//! Config files compared with ACT 6.6's behaviour: NAME.conf, NAME.out (stdout), NAME.rc (exit code, or how it
//! crashed).

#![allow(clippy::unwrap_used)]

use crate::common;

use assay_formats::act::conf::{self, Kind, Outcome, read_like_act};
use std::path::Path;

/// Decided by the command line or a missing file, not by the reader.
const OTHERS: [&str; 3] = ["conf-missing", "noargs", "twoargs"];

/// Where ACT ran something that nobody wrote, or crashed: we refuse these in our own words.
const NONSENSE: [&str; 9] = [
    "float",
    "trailing-garbage",
    "overflow",
    "yes-true",
    "yes-upper",
    "yes-yikes",
    "large-block-0",
    "record-8M",
    "record-gt-large-block",
];

fn kind_of(name: &str) -> Kind {
    if name.starts_with("act_index") { Kind::Index } else { Kind::Storage }
}

/// The name of the case, without that of its program.
fn case_of(name: &str) -> &str {
    name.split_once('-').map_or(name, |(_, case)| case)
}

/// The difference in one case, if there is any.
fn differs(path: &Path) -> Option<String> {
    let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap();
    let text = std::fs::read(path).unwrap();
    let printed = std::fs::read_to_string(path.with_extension("out")).unwrap();
    let code = std::fs::read_to_string(path.with_extension("rc")).unwrap();
    let nonsense = NONSENSE.contains(&case_of(name));
    match read_like_act(&text, kind_of(name), 2) {
        Outcome::Refused { stdout, exit } if code.trim() == "255" => {
            (stdout != printed || exit != 255).then(|| format!("{name}: not ACT's words:\n{stdout}"))
        }
        Outcome::Refused { .. } if nonsense => None,
        Outcome::Refused { stdout, .. } => Some(format!("{name}: refused, where ACT ran:\n{stdout}")),
        Outcome::Accepted { .. } if nonsense || code.trim() == "255" && !printed.contains("DERIVED") => {
            Some(format!("{name}: accepted"))
        }
        Outcome::Accepted { stdout, .. } => {
            (!printed.starts_with(&stdout)).then(|| format!("{name}: not ACT's words:\n{stdout}"))
        }
    }
}

#[test]
fn agrees_with_act_wherever_acts_answer_was_an_error() {
    let (mut tried, mut wrong) = (0, Vec::new());
    for root in common::roots() {
        for path in common::with_extension(&root.join("act-badcfg"), "conf") {
            let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap();
            if OTHERS.contains(&case_of(name)) {
                continue;
            }
            tried += 1;
            wrong.extend(differs(&path));
        }
    }
    assert!(tried > 60, "only {tried} configs found");
    assert!(wrong.is_empty(), "{} of {tried} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_missing_file_and_a_wrong_command_line() {
    for root in common::roots() {
        for (case, kind) in [("act_index-conf-missing", Kind::Index), ("act_storage-conf-missing", Kind::Storage)] {
            let mut got = String::new();
            conf::write_banner(kind, &mut got).unwrap();
            got.push_str(&conf::open_failed("/nonexistent.conf", 2, "No such file or directory"));
            assert_eq!(got, std::fs::read_to_string(root.join("act-badcfg").join(case).with_extension("out")).unwrap());
        }
        let mut got = String::new();
        conf::write_banner(Kind::Storage, &mut got).unwrap();
        conf::write_usage(Kind::Storage, &mut got).unwrap();
        assert_eq!(got, std::fs::read_to_string(root.join("act-badcfg/act_storage-noargs.out")).unwrap());
    }
}

#[test]
fn the_configuration_of_every_run_is_echoed_as_act_did() {
    let mut tried = 0;
    for root in common::roots() {
        for case in common::entries(&root.join("act")) {
            let text = std::fs::read(case.join("act.conf")).unwrap();
            let log = std::fs::read_to_string(case.join("log.txt")).unwrap();
            let kind = kind_of(&format!("act_{}", case.file_name().and_then(|n| n.to_str()).unwrap()));
            let Outcome::Accepted { stdout, conf } = read_like_act(&text, kind, 2) else {
                panic!("{}: refused", case.display());
            };
            assert!(log.starts_with(&stdout), "{}:\n{stdout}", case.display());
            // Our own reader finds the same load in the same file, except for the defaults that ACT lacks.
            let (own, _) = conf::read_conf("act.conf", std::str::from_utf8(&text).unwrap(), Some(kind)).unwrap();
            assert_eq!(own.derived_figures(), conf.derived_figures(), "{}", case.display());
            tried += 1;
        }
    }
    assert!(tried >= 3, "only {tried} runs found");
}

#[test]
fn files_of_older_versions_are_read_by_our_reader() {
    for root in common::roots() {
        for case in common::entries(&root.join("act-old")) {
            let text = std::fs::read_to_string(case.join("act.conf")).unwrap();
            let kind = if case.ends_with("run-5.2-index") { Kind::Index } else { Kind::Storage };
            let (conf, _) = conf::read_conf("act.conf", &text, Some(kind)).unwrap();
            assert_eq!((conf.read_reqs_per_sec, conf.write_reqs_per_sec), (2000, 1000), "{}", case.display());
        }
    }
}
