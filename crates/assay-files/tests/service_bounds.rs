//! What the services that come with the program are asked for: the loads, bounds and steps that `docs/services.md` promises, by
//! name. A bound that got lost, or an easier one, would make disks fit that are not.

use crate::service_bed::all_shipped;
use assay_base::{Bytes, Multiple, Span};
use assay_model::files::service::FileAccess;
use assay_model::workload::Workload;
use std::path::Path;

fn workload(name: &str) -> Workload {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads/services").join(format!("{name}.toml"));
    assay_model::workload::read_workload(name, &std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Its bounds, without their windows.
fn bounds_of(workload: &Workload) -> Vec<String> {
    let mut bounds = Vec::new();
    for criterion in &workload.criteria {
        let text = criterion.to_string();
        let (bound, window) = text.split_once(" per ").unwrap();
        let least = window.split_once(" of at least ").map_or(String::new(), |(_, least)| format!(", {least}"));
        bounds.push(format!("{bound}{least}"));
    }
    bounds
}

/// The usual bounds of a sync: a p99, a p99.9, and none of a second.
fn usual(stream: &str) -> Vec<String> {
    vec![
        format!("{stream} service over 10ms at most 1%, 1000 operations"),
        format!("{stream} service over 100ms at most 0.1%, 10000 operations"),
        format!("{stream} service over 1s at most 0%"),
    ]
}

#[test]
fn each_service_has_the_bounds_that_are_promised() {
    let p99_and_longest = |stream: &str, p99: &str| {
        vec![
            format!("{stream} service over {p99} at most 1%, 1000 operations"),
            format!("{stream} service over 1s at most 0%"),
        ]
    };
    let known: [(&str, u64, Vec<String>); 11] = [
        ("etcd", 100, [p99_and_longest("wal-sync", "10ms"), p99_and_longest("page-commit", "25ms")].concat()),
        (
            "etcd-heavy",
            500,
            [vec!["wal-sync service mean at most 2ms".to_owned()], p99_and_longest("wal-sync", "10ms")].concat(),
        ),
        ("k3s-etcd", 50, p99_and_longest("wal-sync", "5ms")),
        ("k3s-sqlite", 10, p99_and_longest("wal-sync", "10ms")),
        (
            "kafka",
            310,
            [
                p99_and_longest("append-write", "10ms"),
                vec![
                    "metadata-sync service over 1s at most 0%".to_owned(),
                    "reader-sendfile throughput at least 10000000B/s".to_owned(),
                ],
            ]
            .concat(),
        ),
        ("mariadb-redo", 100, [usual("redo-sync"), p99_and_longest("redo-write", "10ms")].concat()),
        ("postgres-wal", 100, usual("wal-sync")),
        ("redis-always", 1000, usual("aof-sync")),
        ("redis-everysec", 1000, vec!["aof-sync service over 2s at most 0%".to_owned()]),
        ("rocksdb-sync", 100, usual("log-sync")),
        ("sqlite-commit", 10, usual("wal-sync")),
    ];
    let shipped: Vec<String> = all_shipped().into_iter().map(|(name, _)| name).collect();
    assert_eq!(shipped, known.each_ref().map(|(name, ..)| (*name).to_owned()));
    for (name, rate, bounds) in known {
        let workload = workload(name);
        assert_eq!(bounds_of(&workload), bounds, "{name}");
        let commits = workload.load.streams.iter().find(|stream| stream.name == "commit").unwrap();
        assert_eq!(commits.arrival.mean_rate().unwrap().as_f64(), rate as f64, "{name}");
    }
    let openshift = workload("etcd").with_limits("openshift").unwrap();
    assert_eq!(bounds_of(&openshift)[0], "wal-sync service over 20ms at most 1%, 1000 operations");
    assert_eq!(bounds_of(&openshift)[1..], bounds_of(&workload("etcd"))[1..], "the others stay");
}

#[test]
fn each_certificate_has_an_hour_at_the_load_and_ten_minutes_at_twice_the_load() {
    let minutes = |n: u64| Span::from_secs(n * 60);
    for (name, _) in all_shipped() {
        let workload = workload(&name);
        let certificate = workload.certificate.unwrap();
        let load = certificate.load;
        assert_eq!((load.length, load.slice), (minutes(60), minutes(5)), "{name}");
        let quick = certificate.quick.unwrap();
        // 50 a second need half a minute for a p99.
        let slice = Span::from_secs(if name == "k3s-etcd" { 30 } else { 20 });
        assert_eq!((quick.time.length, quick.time.slice), (minutes(1), slice), "{name}");
        let stress = certificate.stress.unwrap();
        assert_eq!((stress.times, stress.time.length), (Multiple::from_whole(2), minutes(10)), "{name}");
        assert_eq!(stress.time.slice, minutes(1), "{name}");
        let beside = certificate.beside.unwrap();
        assert_eq!((beside.append, beside.time.length), (Bytes::new(40_000_000), minutes(10)), "{name}");
        // What ends when data are durable is bounded in each step, by a second or, of Redis, by two.
        for criteria in [&quick.criteria, &stress.criteria] {
            let longest = |bound: &str| criteria.iter().any(|criterion| criterion.to_string().contains(bound));
            assert!(longest("over 1s at most 0%") || longest("over 2s at most 0%"), "{name}");
        }
    }
}

/// A write past the page cache moves the data, so that the sync behind it shows nothing of a disk that is slow to write.
#[test]
fn writes_past_the_page_cache_are_bounded_too() {
    let mut direct = 0;
    for (name, files) in all_shipped() {
        let service = files.service.as_ref().unwrap();
        let log = &service.files[service.writer.steps[0].file];
        if !matches!(log.access, FileAccess::Direct) {
            continue;
        }
        direct += 1;
        let workload = workload(&name);
        let write = format!("{}-write", service.writer.name);
        let certificate = workload.certificate.as_ref().unwrap();
        let (quick, stress) = (certificate.quick.as_ref().unwrap(), certificate.stress.as_ref().unwrap());
        for criteria in [&workload.criteria, &quick.criteria, &stress.criteria] {
            assert!(criteria.iter().any(|criterion| criterion.stream == write), "{name}: {write}");
        }
        let on_device = workload.on_device().unwrap();
        assert!(on_device.criteria.iter().all(|criterion| criterion.stream != write), "its durable write contains it");
    }
    assert_eq!(direct, 1, "MariaDB");
}
