//! The workloads on file systems that come with the program, carried out in memory: each is read, each of its sequences is
//! done as often as its share says, nothing goes wrong that is not expected, and the tree keeps its size where it should.

use crate::memory_tree::Bench;
use assay_base::Span;
use assay_model::files::{FileSize, FilesPace, FilesWorkload, Until};
use std::collections::BTreeMap;
use std::path::Path;

/// Name and text of each.
fn shipped() -> Vec<(String, String)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads/files");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        found.push((name, std::fs::read_to_string(&path).unwrap()));
    }
    found.sort();
    found
}

fn read(name: &str, text: &str) -> FilesWorkload {
    let file = assay_model::workload::read_workload(name, text).map_err(|faults| faults.to_string()).unwrap();
    assert_eq!(file.name, name);
    assert!(!file.description.is_empty(), "{name} says what it is");
    file.load.as_files().unwrap().workload.clone()
}

fn find(name: &str) -> FilesWorkload {
    let all = shipped();
    let (name, text) = all.iter().find(|(shipped, _)| shipped == name).unwrap_or_else(|| panic!("{name} is shipped"));
    read(name, text)
}

/// The same with as little data as a test has time for. Which sequences there are, and their shares, stay.
fn made_small(mut workload: FilesWorkload) -> FilesWorkload {
    workload.tree.files = workload.tree.files.min(if workload.phases.is_empty() { 1000 } else { 400 });
    if workload.tree.size.mean() > 2000.0 {
        workload.tree.size = FileSize::Fixed(assay_base::Bytes::new(1900));
    }
    if let Some(shared) = &mut workload.tree.shared {
        shared.size = shared.size.map(|_| assay_base::Bytes::new(400_000));
    }
    // Their own time would be a microsecond for each of millions of turns.
    workload.phases.iter_mut().filter(|phase| phase.until == Until::Time).for_each(|phase| phase.span = None);
    let phases = workload.phases.iter_mut().flat_map(|phase| &mut phase.sequences);
    for sequence in workload.sequences.iter_mut().chain(phases) {
        sequence.size = sequence.size.map(|_| assay_base::Bytes::new(50_000));
        sequence.io = sequence.io.map(|io| io.min(assay_base::Bytes::new(1000)));
    }
    workload.io = workload.io.min(assay_base::Bytes::new(2000));
    workload.pace = FilesPace::Closed;
    workload
}

/// The 0.1 % point of chi-square, to within 2 % (Wilson and Hilferty 1931).
fn chi_square_limit(degrees: usize) -> f64 {
    let (k, z) = (degrees as f64, 3.0902);
    k * (1.0 - 2.0 / (9.0 * k) + z * (2.0 / (9.0 * k)).sqrt()).powi(3)
}

#[test]
fn every_one_is_read_and_carried_out_without_an_error() {
    let all = shipped();
    assert!(all.len() >= 9, "{} are there", all.len());
    for (name, text) in &all {
        let workload = made_small(read(name, text));
        let mut bench = Bench::new(&workload, 3);
        for (index, phase) in workload.all_phases().iter().enumerate() {
            bench.run_phase(index, Span::from_ms(20));
            assert_eq!(bench.errors.first(), None, "{name}, {}", phase.name);
            let done: u64 = (0..workload.clients).map(|client| bench.script.done_by(client)).sum();
            assert!(done > 0, "{name}, {} does something", phase.name);
            bench.tree.check(&bench.script);
        }
    }
}

#[test]
fn sequences_have_their_shares_by_chi_square() {
    let mut looked = 0;
    for (name, text) in shipped() {
        let workload = made_small(read(&name, &text));
        for (index, phase) in workload.all_phases().iter().enumerate() {
            // In bonnie, only the client that owns the file writes back: see its test.
            if phase.until != Until::Time || phase.sequences.len() < 2 || name == "bonnie" {
                continue;
            }
            looked += 1;
            let mut bench = Bench::remembering(&workload, 11);
            (0..index).for_each(|before| bench.run_phase(before, Span::from_ms(5)));
            bench.assigned.clear();
            bench.run_phase(index, Span::from_ms(150));
            let mut counts = vec![0.0; phase.sequences.len()];
            for (_, assignment) in &bench.assigned {
                if let Some(sequence) = assignment.sequence {
                    counts[sequence] += 1.0;
                }
            }
            let (number, whole) =
                (counts.iter().sum::<f64>(), phase.sequences.iter().map(|sequence| sequence.share).sum::<u64>());
            let mut chi = 0.0;
            for (count, sequence) in counts.iter().zip(&phase.sequences) {
                let expected = number * sequence.share as f64 / whole as f64;
                chi += (count - expected) * (count - expected) / expected;
            }
            let limit = chi_square_limit(counts.len() - 1);
            assert!(number > 3000.0 && chi < limit, "{name}, {}: {chi} of {number}, {counts:?}", phase.name);
        }
    }
    assert!(looked >= 4, "{looked} mixes were looked at");
}

#[test]
fn the_mail_spool_keeps_its_thousand_files() {
    let workload = find("mailspool");
    assert_eq!((workload.tree.files, workload.clients), (1000, 16));
    let mut bench = Bench::new(&made_small(workload), 1);
    bench.run_phase(0, Span::from_ms(300));
    let files = bench.script.ledger().all_names().count();
    assert!(bench.calls_made > 100_000 && files.abs_diff(1000) <= 16, "{files} after {} calls", bench.calls_made);
}

#[test]
fn a_tenth_of_bonnies_seeks_is_written_back() {
    let workload = made_small(find("bonnie"));
    let seeks = workload.phases.iter().position(|phase| phase.name == "seeks").unwrap();
    let mut bench = Bench::remembering(&workload, 1);
    (0..seeks).for_each(|before| bench.run_phase(before, Span::ZERO));
    bench.assigned.clear();
    bench.run_phase(seeks, Span::from_ms(60));
    let mut counts: BTreeMap<usize, f64> = BTreeMap::new();
    bench.assigned.iter().for_each(|(_, assigned)| *counts.entry(assigned.sequence.unwrap()).or_default() += 1.0);
    let share = counts[&1] / (counts[&0] + counts[&1]);
    assert!((0.08..0.12).contains(&share), "{share}: {counts:?}");
}

#[test]
fn the_mix_of_a_windows_server_has_dbenchs_counts() {
    let workload = find("smb");
    let mut calls: BTreeMap<&str, u64> = BTreeMap::new();
    for sequence in &workload.sequences {
        for operation in sequence.operations() {
            *calls.entry(operation.name()).or_default() += sequence.share;
        }
    }
    let opens = calls["open"] + calls["create"];
    let writes = calls["write"] + calls["overwrite"];
    assert_eq!(
        (calls["read"], calls["stat"], opens, calls["create"], writes),
        (124_199, 84_399, 79_230, 16_000, 39_502)
    );
    let rest = ["readdir", "unlink", "statfs", "chmod", "fsync", "rename"].map(|name| calls[name]);
    assert_eq!(rest, [27_765, 16_000, 13_168, 6454, 5553, 3355]);
    let largest = match workload.tree.size {
        FileSize::Between { to, .. } => to,
        _ => panic!("sizes have an end"),
    };
    assert!(largest <= workload.io, "a file is written by one call, so that the counts are those of calls");
}
