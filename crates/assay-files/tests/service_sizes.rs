//! How large the writes of the shipped services are, compared with what the real servers wrote
//! (`sizes-*.csv` and `group-commit.csv` of the golden data).

use crate::service_bed::{VirtualService, at_rate, shipped, with_small_databases};
use assay_base::{Bytes, Span};
use assay_files::service::FileCall;
use assay_model::files::Spacing;
use assay_model::files::service::ServiceCall;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The folders with golden data: a selection that is carried with the room, and all where it is there.
pub(crate) fn folders() -> Vec<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let all = [here.join("tests/golden/services"), here.join("../../../shared/golden/services")];
    all.into_iter().filter(|folder| folder.is_dir()).collect()
}

/// How many calls of a kind on a class of file had at most so many bytes, by the next power of two.
pub(crate) fn golden_sizes(folder: &Path, name: &str, class: &str, call: &str) -> Option<BTreeMap<u64, f64>> {
    let text = std::fs::read_to_string(folder.join(format!("sizes-{name}.csv"))).ok()?;
    let mut counts = BTreeMap::new();
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        if fields[0] == class && fields[1] == call {
            counts.insert(fields[2].parse().unwrap(), fields[3].parse().unwrap());
        }
    }
    Some(counts)
}

fn by_power_of_two(sizes: &[u64]) -> BTreeMap<u64, f64> {
    let mut counts = BTreeMap::new();
    for size in sizes {
        *counts.entry(size.next_power_of_two()).or_default() += 1.0;
    }
    counts
}

/// The largest difference between the shares up to each size.
fn largest_difference(ours: &BTreeMap<u64, f64>, theirs: &BTreeMap<u64, f64>) -> f64 {
    let total = |counts: &BTreeMap<u64, f64>| counts.values().sum::<f64>();
    let up_to = |counts: &BTreeMap<u64, f64>, size: u64| counts.range(..=size).map(|(_, n)| n).sum::<f64>();
    let mut largest: f64 = 0.0;
    for size in ours.keys().chain(theirs.keys()) {
        let difference = up_to(ours, *size) / total(ours) - up_to(theirs, *size) / total(theirs);
        largest = largest.max(difference.abs());
    }
    largest
}

/// A sync as long as those of the machine on which the servers were traced (`flushes-per-sync.csv`).
fn as_traced(call: &FileCall) -> Span {
    if call.call.is_sync() { Span::from_us(400) } else { Span::from_us(20) }
}

/// A service with commits of so many bytes, of which each waits for the one before it: as one client makes them.
fn one_by_one(name: &str, entry: u64, kind: &str) -> Vec<u64> {
    let mut workload = at_rate(with_small_databases(shipped(name), Bytes::from_kib(4096)), 300, Spacing::Steady);
    let writer = &mut workload.service.as_mut().unwrap().writer;
    (writer.entry, writer.most, writer.images) = (Bytes::new(entry), Some(1), None);
    VirtualService::run(&workload, Span::from_secs(20), as_traced).sizes(ServiceCall::Write, kind)
}

#[test]
fn etcd_writes_what_the_server_writes_for_one_client() {
    for folder in folders() {
        for (name, put) in [
            ("etcd-3.6.8-put-256B-c1", 32 + 256),
            ("etcd-3.6.8-put-1KiB-c1", 32 + 1024),
            ("etcd-3.6.8-put-8KiB-c1", 32 + 8192),
        ] {
            let Some(theirs) = golden_sizes(&folder, name, "wal", "write") else { continue };
            let ours = by_power_of_two(&one_by_one("etcd", put + 56, "wal"));
            let difference = largest_difference(&ours, &theirs);
            assert!(difference < 0.02, "{name}: {ours:?}, and the server {theirs:?}");
        }
    }
}

#[test]
fn etcd_writes_groups_as_the_server_does_under_open_load() {
    let mut compared = 0;
    for folder in folders() {
        for (name, rate) in [("etcd-3.6.8-put-1KiB-100ps", 100), ("etcd-3.6.8-put-1KiB-500ps", 500)] {
            let Some(theirs) = golden_sizes(&folder, name, "wal", "write") else { continue };
            let workload =
                at_rate(with_small_databases(shipped("etcd"), Bytes::from_kib(4096)), rate, Spacing::Poisson);
            let service = VirtualService::run(&workload, Span::from_secs(20), as_traced);
            let ours = by_power_of_two(&service.sizes(ServiceCall::Write, "wal"));
            // A generator that sends one request for each tick of a clock makes the groups a little larger or smaller.
            assert!(largest_difference(&ours, &theirs) < 0.1, "{name}: {ours:?}, and the server {theirs:?}");
            let pages = service.sizes(ServiceCall::Write, "db").len() as f64;
            let commits = service.calls.iter().filter(|made| made.call.call == ServiceCall::Fdatasync);
            let commits = commits.filter(|made| service.kind_of(&made.call) == "db").count() as f64 / 2.0;
            let their_writes = golden_sizes(&folder, name, "db", "pwrite64").unwrap().values().sum::<f64>();
            let their_commits = golden_sizes(&folder, name, "db", "fdatasync").unwrap()[&0] / 2.0;
            let ratio = (pages / commits) / (their_writes / their_commits);
            assert!((0.85..1.15).contains(&ratio), "{name}: {ratio} times the pages of the server");
            compared += 1;
        }
    }
    assert!(compared >= 2, "the selection that is carried with the room has both");
}

/// Mean blocks of a write: those of the server by its histogram, whose bounds are exact for one and two blocks.
pub(crate) fn mean_of(counts: &BTreeMap<u64, f64>, block: u64) -> f64 {
    let (mut sum, mut of) = (0.0, 0.0);
    for (size, n) in counts {
        let blocks = size / block;
        // Three or four blocks are in one class: more often three.
        let mean = if blocks == 4 { 3.1 } else { blocks as f64 };
        sum += mean * n;
        of += n;
    }
    sum / of
}

/// Sizes that are the same for every commit of one client.
#[test]
fn rocksdb_redis_and_sqlite_write_what_the_library_writes_for_one_client() {
    let mut compared = 0;
    for folder in folders() {
        for (name, service, class, call, kind) in [
            ("rocksdb-7.8.3-fillrandom-sync-t1", "rocksdb-sync", "wal", "write", "log"),
            ("redis-7.0.15-aof-always-c1", "redis-always", "aof", "write", "aof"),
            ("sqlite-3.40-wal-full", "sqlite-commit", "wal", "pwrite64", "wal"),
        ] {
            let Some(theirs) = golden_sizes(&folder, name, class, call) else { continue };
            let workload = shipped(service);
            let entry = workload.service.as_ref().unwrap().writer.entry.get();
            let ours = by_power_of_two(&one_by_one(service, entry, kind));
            let difference = largest_difference(&ours, &theirs);
            assert!(difference < 0.02, "{name}: {ours:?}, and the server {theirs:?}");
            compared += 1;
        }
    }
    assert!(compared >= 3);
}

#[test]
fn whole_blocks_of_postgres_and_mariadb_are_as_many_as_the_servers() {
    let mut compared = 0;
    for folder in folders() {
        // Bytes of a commit: `group-commit.csv`.
        for (name, service, entry, call, class, block) in [
            ("mariadb-10.11-update-c1", "mariadb-redo", 435, "pwrite64", "redo", 512),
            ("postgres-15.18-pgbench-c1", "postgres-wal", 4308, "pwrite64", "wal", 8192),
            ("postgres-15.18-pgbench-c1-after-checkpoint", "postgres-wal", 13_228, "pwrite64", "wal", 8192),
        ] {
            let Some(theirs) = golden_sizes(&folder, name, class, call) else { continue };
            let sizes = one_by_one(service, entry, class);
            let ours = sizes.iter().sum::<u64>() as f64 / sizes.len() as f64 / block as f64;
            let ratio = ours / mean_of(&theirs, block);
            assert!((0.94..1.06).contains(&ratio), "{name}: {ours} blocks, {ratio} times those of the server");
            compared += 1;
        }
    }
    assert!(compared >= 2);
}
