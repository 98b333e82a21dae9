//! The order of calls of the shipped services, as the real servers made them (`tests/golden/services/sequences.csv`).

use crate::service_bed::{VirtualService, at_rate, shipped, with_small_databases};
use assay_base::{Bytes, Span};
use assay_files::service::FileCall;
use assay_model::files::{FilesWorkload, Spacing};
use std::path::Path;

/// A sync takes half a millisecond.
fn usual(call: &FileCall) -> Span {
    if call.call.is_sync() { Span::from_us(500) } else { Span::from_us(5) }
}

fn small(name: &str, rate: u64) -> FilesWorkload {
    at_rate(with_small_databases(shipped(name), Bytes::from_kib(4096)), rate, Spacing::Poisson)
}

/// One step of a real server.
#[derive(Debug)]
struct Traced {
    call: String,
    file: String,
    bytes: String,
    repeat: String,
}

/// The steps of a service on an occasion, in their order.
fn traced(service: &str, when: &str) -> Vec<Traced> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/services/sequences.csv");
    let text = std::fs::read_to_string(path).unwrap();
    let mut steps = Vec::new();
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.splitn(10, ',').collect();
        if fields[0] == service && fields[2] == when {
            let (call, file) = (fields[4].to_owned(), fields[5].to_owned());
            steps.push(Traced { call, file, bytes: fields[6].to_owned(), repeat: fields[8].to_owned() });
        }
    }
    assert!(!steps.is_empty(), "{service}, {when}");
    steps
}

/// Our word for a system call.
fn our_word(traced: &Traced) -> &str {
    match (traced.call.as_str(), traced.file.contains("directory")) {
        ("fsync", true) => "fsync-dir",
        ("pwrite64" | "write", _) => "write",
        ("pwritev", _) => "zero",
        ("ftruncate", _) => "truncate",
        ("renameat", _) => "rename",
        (call, _) => call,
    }
}

#[test]
fn etcd_moves_on_to_the_next_file_as_the_server_does() {
    let service = VirtualService::run(&small("etcd", 20_000), Span::from_secs(6), usual);
    let calls = service.calls_of(0);
    let cut = calls.iter().position(|(call, ..)| *call == "truncate").expect("64 MB are full after 3 s");
    let steps = traced("etcd", "wal passes 64 MB");
    // The last one is made by another thread at once.
    let (by_writer, by_other) = steps.split_at(steps.len() - 1);
    let expected: Vec<&str> = by_writer.iter().map(our_word).collect();
    let found: Vec<&str> = calls[cut..cut + by_writer.len()].iter().map(|(call, ..)| *call).collect();
    assert_eq!(found, expected);
    assert_eq!(calls[cut + 2].2, 96);
    // Behind them come groups again; before them is the group that filled the file, which was synced.
    assert_eq!(calls[cut - 1].0, "fdatasync");
    assert_eq!(calls[cut + by_writer.len()].0, "write");
    let names = service.script.service().thread_names();
    let prepare = names.iter().position(|name| *name == "prepare").unwrap();
    let made = service.calls_of(prepare);
    assert_eq!((made[0].0, made[1].0, made[1].2), ("create", our_word(&by_other[0]), 64_000_000));
    let before = &service.calls.iter().find(|made| made.thread == prepare).unwrap().issued;
    let after_cut = service.calls.iter().filter(|made| made.thread == 0 && made.issued >= *before).count();
    assert!(after_cut > 0, "it is made while the writer works on");
}

#[test]
fn etcd_writes_pages_and_waits_twice() {
    let service = VirtualService::run(&small("etcd", 100), Span::from_secs(20), usual);
    let backend = service.script.service().thread_names().iter().position(|name| *name == "backend").unwrap();
    let calls = service.calls_of(backend);
    let syncs = calls.iter().filter(|(call, ..)| *call == "fdatasync").count();
    assert!((360..=400).contains(&syncs), "18 to 20 a second at any load: {syncs}");
    let steps = traced("etcd", "every 100 ms with changes or 10000 operations");
    let expected: Vec<&str> = steps.iter().map(our_word).collect();
    assert_eq!(expected, ["write", "fdatasync", "write", "fdatasync"]);
    let mut order: Vec<&str> = calls.iter().map(|(call, ..)| *call).collect();
    order.dedup();
    assert!(order.chunks(2).all(|pair| pair == &expected[..2]), "{order:?}");
    assert!(calls.iter().filter(|(call, ..)| *call == "write").all(|(.., bytes)| *bytes == 4096));
    // 7.2 pages and one meta page for 10 puts.
    let writes = calls.len() - syncs;
    assert!((writes as f64 / (syncs as f64 / 2.0) - 8.24).abs() < 0.4, "{writes} writes, {syncs} syncs");
}

#[test]
fn postgres_makes_a_segment_as_the_server_does_where_none_is_recycled() {
    let mut workload = small("postgres-wal", 2000);
    workload.service.as_mut().unwrap().files[0].ready = 0;
    let service = VirtualService::run(&workload, Span::from_secs(2), usual);
    let calls = service.calls_of(0);
    let first = calls.iter().position(|(call, ..)| *call == "create").expect("16 MiB are full after 1 s");
    let steps = traced("postgres-wal", "new segment while none is recycled");
    let mut expected = vec!["create"];
    for step in &steps {
        let times: usize = step.repeat.parse().unwrap();
        expected.extend(std::iter::repeat_n(our_word(step), times));
    }
    // The remark at the rename: then fsync of the file and of the directory.
    expected.extend(["fsync", "fsync-dir"]);
    let found: Vec<&str> = calls[first..first + expected.len()].iter().map(|(call, ..)| *call).collect();
    assert_eq!(found, expected);
    assert_eq!((steps[0].bytes.as_str(), calls[first + 1].2), ("262144", 262_144));
    // The old segment was durable before.
    assert_eq!(calls[first - 1].0, "fdatasync");
}

#[test]
fn postgres_spreads_a_checkpoint_and_syncs_each_file_at_its_end() {
    let service = VirtualService::run(&small("postgres-wal", 100), Span::from_secs(602), usual);
    let names = service.script.service().thread_names();
    let checkpoint = names.iter().position(|name| *name == "checkpoint").unwrap();
    let made: Vec<_> = service.calls.iter().filter(|made| made.thread == checkpoint).collect();
    let count = |word| made.iter().filter(|made| made.call.call.name() == word).count() as f64;
    let seconds = |made: &crate::service_bed::MadeCall| made.issued.as_ns() as f64 / 1e9;
    // Two writes for each of 30,000 commits before it, in 270 s; the second one is begun at 600 s.
    let first: Vec<_> = made.iter().filter(|made| seconds(made) < 599.0).collect();
    let writes = first.iter().filter(|made| made.call.call.name() == "write").count() as f64;
    assert!((writes / 60_000.0 - 1.0).abs() < 0.03, "{writes}");
    let last =
        first.iter().filter(|made| made.call.call.name() == "write").map(|made| seconds(made)).fold(0.0, f64::max);
    assert!(last > 560.0 && last < 571.0, "{last}");
    assert!((count("write") / count("flush-range") - 3.0).abs() < 0.01);
    let syncs = first.iter().filter(|made| made.call.call.name() == "fsync").count();
    assert_eq!(syncs, 30, "each file once");
    let behind: Vec<&str> = first
        .iter()
        .rev()
        .take_while(|made| made.call.call.name() != "fsync")
        .map(|made| made.call.call.name())
        .collect();
    assert!(
        behind.iter().all(|call| ["rename", "fsync-dir"].contains(call)),
        "then old segments are used again: {behind:?}"
    );
}

/// What a thread does each time, as the words of its calls without repetitions.
fn order_of(service: &VirtualService, task: &str) -> Vec<&'static str> {
    let thread = service.script.service().thread_names().iter().position(|name| *name == task).unwrap();
    let mut order: Vec<&str> = service.calls_of(thread).iter().map(|(call, ..)| *call).collect();
    order.dedup();
    order
}

#[test]
fn tasks_of_other_services_have_the_order_of_the_traced_servers() {
    let redis = VirtualService::run(&small("redis-always", 1000), Span::from_secs(302), usual);
    let order = order_of(&redis, "rewrite");
    // 1024 writes and a range, which the next one waits for: 16 times for 64 MiB; then fsync and rename.
    assert_eq!(order[..6], ["create", "write", "flush-range", "write", "flush-range", "await-range"]);
    assert_eq!(order.iter().filter(|call| **call == "await-range").count(), 15);
    assert_eq!(order[order.len() - 2..], ["fsync", "rename"]);
    let rocksdb = VirtualService::run(&small("rocksdb-sync", 40_000), Span::from_secs(6), usual);
    let order = order_of(&rocksdb, "memtable");
    let memtable = ["create", "write", "fdatasync", "fsync-dir", "write", "fdatasync", "unlink"];
    assert_eq!(order[..memtable.len()], memtable);
    assert_eq!(order[memtable.len()..memtable.len() + 5], ["read", "create", "write", "truncate", "fdatasync"]);
    let tables = rocksdb.sizes(assay_model::files::service::ServiceCall::Write, "sst");
    assert!(tables.len() >= 62 && tables.iter().all(|bytes| *bytes == 1 << 20));
    let kafka = VirtualService::run(&small("kafka", 310), Span::from_secs(5), usual);
    assert_eq!(order_of(&kafka, "metadata")[..5], ["write", "fsync", "mmap-write", "msync", "write"]);
    let written: std::collections::BTreeSet<usize> = kafka
        .calls
        .iter()
        .filter(|made| kafka.kind_of(&made.call) == "log" && made.call.version.is_some())
        .map(|made| made.call.file)
        .collect();
    assert_eq!(written.len(), 12, "each partition in its turn");
    let mariadb = VirtualService::run(&small("mariadb-redo", 100), Span::from_secs(5), usual);
    assert_eq!(order_of(&mariadb, "pages")[..4], ["write", "fdatasync", "write", "fdatasync"]);
}

#[test]
fn sqlite_appends_two_frames_and_copies_pages_after_a_thousand() {
    let service = VirtualService::run(&small("sqlite-commit", 500), Span::from_secs(3), usual);
    let calls = service.calls_of(0);
    let commit = [("write", 24), ("write", 4096), ("write", 24), ("write", 4096), ("fdatasync", 0)];
    for (at, expected) in commit.iter().cycle().take(2500).enumerate() {
        assert_eq!((calls[at].0, calls[at].2), *expected, "call {at}");
    }
    // Behind the 500th commit the same thread copies.
    let steps = traced("sqlite-wal", "every 1000 frames");
    let expected: Vec<&str> = steps.iter().map(our_word).collect();
    let mut order: Vec<&str> = calls[2500..2592].iter().map(|(call, ..)| *call).collect();
    order.dedup();
    assert_eq!(order, expected);
    // Then the log is overwritten from its start.
    let first_again = service.calls.iter().filter(|made| made.thread == 0).nth(2592).unwrap();
    assert_eq!((first_again.call.offset, first_again.call.length), (0, 24));
}

/// SQLite with a rollback journal, described in the words of a workload file.
#[test]
fn a_rollback_journal_can_be_described() {
    let frames = "{ write = \"journal\", bytes = \"4B\" }, { write = \"journal\", bytes = \"4KiB\" }, { write = \"journal\", bytes = \"4B\" },";
    let text = format!(
        "model = \"service\"\nrate = \"100/s\"\n[[file]]\nname = \"journal\"\nsize = \"1MiB\"\n\
         [[file]]\nname = \"db\"\nsize = \"1MiB\"\nmade_by = \"written\"\nblock = \"4KiB\"\n\
         [writer]\nname = \"w\"\nentry = \"12824B\"\nmost = 1\nsteps = [{{ create = \"journal\" }},\
         {{ write = \"journal\", bytes = \"512B\" }}, {frames} {frames} {frames} {{ fdatasync = \"journal\" }},\
         {{ fsync_dir = \"journal\" }}, {{ write = \"journal\", bytes = \"12B\", at = \"start\" }}, {{ fdatasync = \"journal\" }},\
         {{ write = \"db\", page = \"4KiB\", pages = 3, at = \"random\" }}, {{ fdatasync = \"db\" }}, {{ unlink = \"journal\" }}]\n"
    );
    let service = VirtualService::run(&crate::service_bed::read(&text), Span::from_secs(1), usual);
    let mut expected = vec!["create"];
    let steps = traced("sqlite-delete", "each commit of 1 row (3 pages)");
    for step in &steps {
        let times: usize = step.repeat.parse().unwrap();
        // The directory is synchronised by fsync here, and by fdatasync there.
        let word = if step.file == "directory" { "fsync-dir" } else { our_word(step) };
        expected.extend(std::iter::repeat_n(word, times));
    }
    let calls = service.calls_of(0);
    let found: Vec<&str> = calls[..expected.len()].iter().map(|(call, ..)| *call).collect();
    assert_eq!(found, expected);
    assert_eq!(calls[expected.len()].0, "create", "the next commit");
}
