//! The analyzer compared with the original's output: every NAME.cmd (arguments), NAME.txt (output) and NAME.rc (exit
//! code).

#![allow(clippy::unwrap_used)]

use crate::common;

use assay_formats::act::latency;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// Runs the analyzer in `folder` and returns its output and exit code.
fn analyze(folder: &Path, words: &[&str]) -> (String, u8) {
    let args: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
    let mut out = String::new();
    let mut open =
        |name: &str| File::open(folder.join(name)).map(|file| Box::new(BufReader::new(file)) as Box<dyn BufRead>);
    let ended = latency::run_analyzer(&args, &mut open, &mut out).unwrap();
    (out, ended.code)
}

/// Compares one triple; a line per difference.
fn compare(folder: &Path, words: &[&str], expected: &Path, wrong: &mut Vec<String>) {
    let text = std::fs::read_to_string(expected).unwrap();
    let code = std::fs::read_to_string(expected.with_extension("rc")).unwrap_or("0".into());
    let (got, got_code) = analyze(folder, words);
    if got_code.to_string() != code.trim() {
        wrong.push(format!("{}: exit code {got_code}, not {code}", expected.display()));
    }
    if got != text {
        let line = got.lines().zip(text.lines()).position(|(a, b)| a != b);
        wrong.push(format!("{}: differs from line {line:?}", expected.display()));
    }
}

#[test]
fn byte_for_byte_the_originals_output() {
    let (mut tried, mut wrong) = (0, Vec::new());
    for root in common::roots() {
        let mut folders = Vec::new();
        for case in common::entries(&root.join("act")) {
            folders.push((case.clone(), case.join("lat")));
        }
        for case in common::entries(&root.join("act-edge")) {
            folders.push((case.clone(), case));
        }
        for (folder, triples) in folders {
            for cmd in common::with_extension(&triples, "cmd") {
                let line = std::fs::read_to_string(&cmd).unwrap();
                let words: Vec<&str> = line.split_whitespace().skip(1).collect();
                compare(&folder, &words, &cmd.with_extension("txt"), &mut wrong);
                tried += 1;
            }
        }
    }
    assert!(tried > 30, "only {tried} golden tables found");
    assert!(wrong.is_empty(), "{} of {tried} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn logs_of_5x_and_6_0_as_their_own_analyzers_saw_them() {
    let (mut tried, mut wrong) = (0, Vec::new());
    for root in common::roots() {
        for case in common::entries(&root.join("act-old")) {
            if case.ends_with("run-3.0") {
                continue;
            }
            let runs: [(&str, &[&str]); 2] = [
                ("t10", &["-l", "log.txt", "-t", "10"]),
                ("t5n4e2", &["-l", "log.txt", "-t", "5", "-n", "4", "-e", "2"]),
            ];
            for (name, words) in runs {
                compare(&case, words, &case.join("lat").join(name).with_extension("txt"), &mut wrong);
                tried += 1;
            }
        }
    }
    assert!(tried >= 4, "only {tried} golden tables found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
