//! The logs of PostgreSQL and MariaDB as streams on a block device: their writes are those that their writers make in
//! files, and those of the real servers.

use crate::service_bed::{VirtualService, at_rate, shipped, with_small_databases};
use crate::service_sizes::{folders, golden_sizes, mean_of};
use assay_base::{Bytes, Multiple, Prng, Rate, Span};
use assay_files::service::FileCall;
use assay_model::commit_groups::{CommitGroups, GroupWriter};
use assay_model::files::Spacing;
use assay_model::files::service::ServiceCall;
use assay_model::plan::{Arrival, Stream};
use assay_model::workload::{Adjust, Workload};
use std::path::Path;

/// A shipped workload on a block device.
fn on_device(name: &str) -> Result<Workload, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads/services").join(format!("{name}.toml"));
    let text = std::fs::read_to_string(path).unwrap();
    assay_model::workload::read_workload(name, &text).unwrap_or_else(|faults| panic!("{faults}")).on_device()
}

fn groups_of(workload: &Workload) -> CommitGroups {
    match &workload.load.streams[0].arrival {
        Arrival::Grouped(groups) => **groups,
        other => panic!("{other:?}"),
    }
}

fn writer(groups: &CommitGroups) -> GroupWriter {
    GroupWriter::new(groups, 512, groups.ring.get(), Prng::for_path(1, &[1]))
}

/// The length of a write for so many commits that wait.
fn write_for(writer: &mut GroupWriter, commits: usize) -> u64 {
    let mut left = commits;
    let write = writer.next_write(|| {
        let there = left > 0;
        left = left.saturating_sub(1);
        there
    });
    assert_eq!(left, 0, "all of them fit");
    write.end - write.start
}

fn sync_takes(span: Span) -> impl Fn(&FileCall) -> Span {
    move |call: &FileCall| if call.call.is_sync() { span } else { Span::from_us(20) }
}

/// The same commits in the same groups are the same writes, as long as no segment is full.
#[test]
fn groups_are_written_on_a_device_as_in_files() {
    for (name, kind) in [("postgres-wal", "wal"), ("mariadb-redo", "redo")] {
        for (rate, sync_ms) in [(100, 1), (500, 10), (2000, 10)] {
            let mut workload =
                at_rate(with_small_databases(shipped(name), Bytes::from_kib(4096)), rate, Spacing::Poisson);
            workload.service.as_mut().unwrap().writer.images = None;
            let service = VirtualService::run(&workload, Span::from_secs(5), sync_takes(Span::from_ms(sync_ms)));
            let mut on_device = writer(&CommitGroups { images: None, ..groups_of(&on_device(name).unwrap()) });
            let ours: Vec<u64> =
                service.groups.iter().map(|group| write_for(&mut on_device, group.intended.len())).collect();
            assert!(
                ours.len() > 100 && ours == service.sizes(ServiceCall::Write, kind),
                "{name}, {rate}/s, {sync_ms} ms"
            );
        }
    }
}

#[test]
fn whole_blocks_on_a_device_are_as_many_as_the_servers() {
    let mut compared = 0;
    for folder in folders() {
        for (name, service, entry, class, block) in [
            ("mariadb-10.11-update-c1", "mariadb-redo", 435, "redo", 512),
            ("postgres-15.18-pgbench-c1", "postgres-wal", 4308, "wal", 8192),
            ("postgres-15.18-pgbench-c1-after-checkpoint", "postgres-wal", 13_228, "wal", 8192),
        ] {
            let Some(theirs) = golden_sizes(&folder, name, class, "pwrite64") else { continue };
            let groups = groups_of(&on_device(service).unwrap());
            let mut one_by_one = writer(&CommitGroups { entry: Bytes::new(entry), images: None, ..groups });
            let writes = 5000;
            let bytes: u64 = (0..writes).map(|_| write_for(&mut one_by_one, 1)).sum();
            let ratio = bytes as f64 / f64::from(writes) / block as f64 / mean_of(&theirs, block);
            assert!((0.94..1.06).contains(&ratio), "{name}: {ratio} times the blocks of the server");
            compared += 1;
        }
    }
    assert!(compared >= 2);
}

/// The names of streams, each with its operations or commits a second.
fn rates_in_words(streams: &[Stream]) -> Vec<String> {
    let mut all = Vec::new();
    for stream in streams {
        let rate = stream.arrival.offered_rate().unwrap_or(Rate::per_second(0)).as_f64();
        all.push(format!("{} {rate:.2}", stream.name));
    }
    all
}

/// Syncs a second of the files that a task writes, at so many commits a second.
fn syncs_in_files(name: &str, call: ServiceCall, kinds: &[&str], commits: u64) -> f64 {
    // The fifth checkpoint has ended.
    let seconds = 1510;
    let workload = with_small_databases(shipped(name), Bytes::from_kib(4096));
    let workload = at_rate(workload, commits, Spacing::Steady);
    let service = VirtualService::run(&workload, Span::from_secs(seconds), sync_takes(Span::from_us(100)));
    let syncs =
        service.calls.iter().filter(|made| made.call.call == call && kinds.contains(&service.kind_of(&made.call)));
    syncs.count() as f64 / seconds as f64
}

/// A timer comes as often at any load, and so do the syncs behind it; pages are as many as the commits make.
#[test]
fn a_higher_load_has_more_commits_and_pages_and_as_many_flushes_as_in_files() {
    for (name, call, kinds, expected) in [
        (
            "postgres-wal",
            ServiceCall::Fsync,
            &["base"][..],
            &["wal-sync 200.00", "checkpoint-write 400.00", "checkpoint-fsync 0.10"][..],
        ),
        (
            "mariadb-redo",
            ServiceCall::Fdatasync,
            &["doublewrite", "table"],
            &["redo-sync 200.00", "pages-write 40.00", "pages-fdatasync 2.00", "pages-write-table 40.00"],
        ),
    ] {
        let adjust = Adjust { load: Some(Multiple::from_whole(2)), targets: 1, ..Adjust::default() };
        let plan = on_device(name).unwrap().make_plan(&adjust).unwrap();
        assert_eq!(rates_in_words(&plan.load.streams), expected, "{name}");
        let flushes = plan.load.streams.iter().find(|stream| stream.as_block().is_none()).unwrap();
        let of_device = flushes.arrival.offered_rate().unwrap().as_f64();
        for commits in [100, 200] {
            let of_files = syncs_in_files(name, call, kinds, commits);
            assert!((of_files / of_device - 1.0).abs() < 0.02, "{name} at {commits}/s: {of_files} and {of_device}");
        }
    }
}

#[test]
fn what_is_beside_the_log_is_pages_and_flushes_in_places_of_their_own() {
    let shown = |name: &str| {
        let workload = on_device(name).unwrap();
        let mut end = 0;
        for extent in workload.load.streams.iter().filter_map(|stream| stream.as_block()?.extent) {
            let (begin, length) = extent.range_within(1 << 30, 512);
            assert!(begin == end && length > 0, "{name}: {begin}, and the one before ends at {end}");
            end = begin + length;
        }
        rates_in_words(&workload.load.streams)
    };
    // Thirty files are synced each five minutes.
    assert_eq!(shown("postgres-wal"), ["wal-sync 100.00", "checkpoint-write 200.00", "checkpoint-fsync 0.10"]);
    assert_eq!(
        shown("mariadb-redo"),
        ["redo-sync 100.00", "pages-write 20.00", "pages-fdatasync 2.00", "pages-write-table 20.00"]
    );
}

#[test]
fn what_needs_files_has_no_form_on_a_device() {
    for name in
        ["etcd", "etcd-heavy", "k3s-etcd", "k3s-sqlite", "kafka", "redis-always", "rocksdb-sync", "sqlite-commit"]
    {
        let refused = on_device(name).unwrap_err();
        assert!(refused.contains("needs files"), "{name}: {refused}");
    }
}
