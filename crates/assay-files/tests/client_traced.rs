//! The kernel's own count of calls is that of the clients: a process that carries out a mix is traced.

use crate::bed;
use crate::client_bed::bench;
use crate::client_runs::all_operations;
use assay_base::Span;
use assay_model::files::{CachePolicy, Operation};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Tells the child where it works.
const PLACE: &str = "ASSAY_TRACED_PLACE";

/// Which operations make which calls, of those that nothing else in the process makes.
const CALLS: [(&str, &[Operation]); 13] = [
    ("renameat", &[Operation::Rename]),
    ("linkat", &[Operation::Link]),
    ("symlinkat", &[Operation::Symlink]),
    ("mknodat", &[Operation::Mknod]),
    ("ftruncate", &[Operation::Truncate]),
    ("fallocate", &[Operation::Fallocate, Operation::Punch]),
    ("process_vm_readv", &[Operation::MmapRead]),
    ("process_vm_writev", &[Operation::MmapWrite]),
    ("msync", &[Operation::Msync]),
    ("fgetxattr", &[Operation::Getxattr]),
    ("fdatasync", &[Operation::Fdatasync]),
    ("readlinkat", &[Operation::Readlink]),
    ("unlinkat", &[Operation::Unlink, Operation::Rmdir]),
];

/// Not a test by itself, but the process that is traced. It leaves its directory, and says what it did.
#[test]
fn the_process_that_is_traced() {
    let Ok(place) = std::env::var(PLACE) else { return };
    let mut bench = bench(Path::new(&place), &all_operations(CachePolicy::Warm), Span::from_ms(1500));
    let report = bench.run_phase(0);
    let mut said = std::io::stdout();
    for (operation, totals) in report.operations {
        writeln!(said, "made {operation} {}", totals.calls).unwrap();
    }
}

#[test]
fn what_strace_counts_is_what_the_clients_count() {
    if !bed::root() {
        return;
    }
    if bed::run(&["strace", "-V"]).is_err() {
        return bed::skip("no strace");
    }
    let place = tempfile::tempdir().unwrap();
    let memory = bed::Mounted::tmpfs(&place.path().join("memory"), "size=100m");
    let summary = place.path().join("summary");
    let names: Vec<&str> = CALLS.iter().map(|(name, _)| *name).collect();
    let child = Command::new("strace")
        .args(["-f", "-c", "-U", "calls,name", "-e", &format!("trace={}", names.join(",")), "-o"])
        .arg(&summary)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "client_traced::the_process_that_is_traced", "--nocapture", "--test-threads=1"])
        .env(PLACE, &memory.point)
        .stderr(Stdio::null())
        .output()
        .unwrap();
    let told = String::from_utf8(child.stdout).unwrap();
    let made: BTreeMap<&str, u64> = told
        .lines()
        .filter_map(|line| line.split_once("made ")?.1.split_once(' '))
        .map(|(name, calls)| (name, calls.parse().unwrap()))
        .collect();
    let summary = std::fs::read_to_string(&summary).unwrap();
    let traced: BTreeMap<&str, u64> = summary
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let calls = words.next()?.parse().ok()?;
            Some((words.next()?, calls))
        })
        .collect();
    assert!(made.len() > 30, "the process did its work: {told}");
    for (name, operations) in CALLS {
        let counted: u64 = operations.iter().filter_map(|operation| made.get(operation.name())).sum();
        assert_eq!(traced.get(name).copied().unwrap_or(0), counted, "{name}\n{summary}\n{told}");
        assert!(counted > 0, "{name} was made: {told}");
    }
}
