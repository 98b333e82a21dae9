//! What goes wrong under clients, and what is wrong with a tree afterwards: each is counted or found by its name.

use crate::bed::{self, Mounted};
use crate::client_bed::{Bench, bench, bench_with, clock, settings};
use crate::mixes::{everything, sequence, workload};
use assay_base::{Bytes, Code, Instant, Span};
use assay_files::own_dir::Wants;
use assay_files::shell::{Disturbance, Patience, PhaseEnd, Settings, Verification, Watched, verify_tree};
use assay_model::files::{
    FileSize, FilesPhase, FilesWorkload, Layout, Operation, Sequence, SequenceFiles, Shared, Until,
};
use assay_record::EventKind;
use std::collections::BTreeSet;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Files of 10,000 bytes, which every client only asks for.
fn still() -> FilesWorkload {
    let mut still = workload(40, 2, vec![sequence("stat", "stat", 1)]);
    still.tree.size = FileSize::Fixed(Bytes::new(10_000));
    still.phases = vec![FilesPhase {
        name: "ask".to_owned(),
        until: Until::Done,
        sequences: still.sequences.clone(),
        ..FilesPhase::default()
    }];
    still
}

/// The files of a run by their names, in order.
fn files_below(directory: &Path) -> Vec<PathBuf> {
    let all = bed::picture(directory).into_keys().filter(|path| path.is_file());
    let mut files: Vec<PathBuf> = all.filter(|path| !path.ends_with("ASSAYDIR")).collect();
    files.sort_by_key(|path| path.file_name().map(ToOwned::to_owned));
    files
}

fn verify<C>(bench: Bench<C>) -> Verification
where
    C: Fn() -> Instant + Clone + Send + 'static,
{
    let left = bench.clients.finish().unwrap();
    verify_tree(&bench.tree, &left.script, &left.doubtful, &bench.workload, 2).unwrap()
}

#[test]
fn each_fault_of_a_tree_is_found_by_its_name() {
    let place = tempfile::tempdir().unwrap();
    let mut bench = bench(place.path(), &still(), Span::from_secs(1));
    assert_eq!(bench.run_phase(0).done, [20, 20]);
    let own = place.path().join(bench.tree.own_dir().name());
    let files = files_below(&own);
    let edit = |file: usize| std::fs::File::options().read(true).write(true).open(&files[file]).unwrap();
    std::fs::remove_file(&files[0]).unwrap();
    edit(1).set_len(9000).unwrap();
    edit(2).set_len(10_001).unwrap();
    edit(3).write_all_at(&[0; 4096], 4096).unwrap();
    let mut block = vec![0; 4096];
    edit(4).read_exact_at(&mut block, 0).unwrap();
    edit(4).write_all_at(&block, 4096).unwrap();
    edit(5).write_all_at(&block, 0).unwrap();
    edit(6).write_all_at(b"!", 5000).unwrap();
    edit(7).write_all_at(&[0; 2048], 2048).unwrap();
    std::fs::hard_link(&files[8], own.join("a link")).unwrap();
    std::fs::remove_file(&files[9]).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", &files[9]).unwrap();
    // A file of another time: its name is one of ours, and nothing has it.
    std::fs::write(own.join(bench.tree.own_dir().names().file(5000)), "").unwrap();
    let found = verify(bench);
    let mut shown: Vec<(String, Code, Option<u64>)> = Vec::new();
    for fault in &found.faults {
        let name = fault.path.rsplit('/').next().unwrap().to_owned();
        let at = files.iter().position(|file| file.ends_with(&name));
        shown.push((at.map_or(name, |at| at.to_string()), fault.kind, fault.offset));
    }
    shown.sort();
    let five_thousand = shown.iter().position(|(name, ..)| name.starts_with("f0005000")).unwrap();
    assert_eq!(shown.remove(five_thousand).1, Code::FOREIGN);
    let expected = [
        ("0", Code::LOST, None),
        ("1", Code::LOST, Some(9000)),
        ("2", Code::CORRUPT, Some(10_000)),
        ("3", Code::LOST, Some(4096)),
        ("4", Code::MISDIRECTED, Some(4104)),
        ("5", Code::MISDIRECTED, Some(16)),
        ("6", Code::CORRUPT, Some(5000)),
        ("7", Code::TORN, Some(2048)),
        ("8", Code::FOREIGN, None),
        ("9", Code::FOREIGN, None),
        ("a link", Code::FOREIGN, None),
    ];
    let simple: Vec<_> = shown.iter().map(|(name, kind, offset)| (name.as_str(), *kind, *offset)).collect();
    // The first byte that differs depends on the bytes; the block does not.
    for ((name, kind, offset), (known, expected, at)) in simple.iter().zip(&expected) {
        let block = |offset: &Option<u64>| offset.map(|offset| offset / 4096);
        assert_eq!((*name, *kind, block(offset)), (*known, *expected, block(at)), "{simple:?}");
    }
    assert_eq!((simple.len(), found.names), (expected.len(), 40), "{simple:?}");
}

#[test]
fn records_that_are_missing_or_torn_are_found() {
    let place = tempfile::tempdir().unwrap();
    let append = Sequence { on: SequenceFiles::Shared, ..sequence("append", "open append close", 1) };
    let mut described = workload(0, 2, vec![append]);
    described.tree.shared = Some(Shared { files: 1, layout: Layout::Append, size: None });
    let mut bench = bench(place.path(), &described, Span::from_ms(100));
    bench.run_phase(0);
    let own = place.path().join(bench.tree.own_dir().name());
    let file = std::fs::File::options().read(true).write(true).open(&files_below(&own)[0]).unwrap();
    let size = file.metadata().unwrap().len();
    assert!(size >= 2 * 700, "{size}");
    file.write_all_at(b"!", 650).unwrap();
    file.set_len(size - 700).unwrap();
    let counts = verify(bench).counts;
    assert_eq!(counts.get(&Code::TORN), Some(&1));
    // The one that was cut off, and the one that is torn.
    assert_eq!((counts.get(&Code::LOST), counts.len()), (Some(&2), 2));
}

#[test]
fn a_full_file_system_is_counted_where_it_is_told_and_nothing_else_is_found() {
    if !bed::root() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let _full = Mounted::tmpfs(&place.path().join("full"), "size=3m");
    let mut described = workload(20, 2, vec![sequence("append", "open append append fsync close", 1)]);
    described.io = Bytes::new(60_000);
    let mut bench = bench(&place.path().join("full"), &described, Span::from_ms(400));
    let report = bench.run_phase(0);
    let append = report.operations[&Operation::Append];
    assert!(append.failed > 0 && append.bytes > 1 << 20, "{append:?}");
    let flow = bench.clients.flows().of_operation(0, Operation::Append).unwrap();
    let counted: u64 =
        bench.told.intervals.iter().filter_map(|told| told.interval.flows[flow].errors.get("ENOSPC")).sum();
    assert_eq!(counted, append.failed);
    // Each sequence with such a call has failed too, and closed what it had opened.
    let sequence = bench.told.sum(0, |line| line.errors.values().sum());
    assert_eq!((sequence, report.operations[&Operation::Close].failed), (append.failed, 0));
    let event = &bench.told.events[0];
    assert!(event.what == EventKind::IoError && event.text.ends_with("failed: ENOSPC"), "{event:?}");
    assert!(bench.verify_and_clean().unsure > 0);
}

#[test]
fn a_file_system_that_becomes_read_only_is_counted() {
    if !bed::root() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let Ok(disk) = Mounted::on_loop("ext4", &place.path().join("disk")) else {
        return bed::skip("no ext4 on a loop device");
    };
    let mix = vec![sequence("create", "create close", 2), sequence("unlink", "unlink", 1), sequence("stat", "stat", 1)];
    disk.remount("errors=remount-ro");
    let device = bed::run(&["findmnt", "-no", "SOURCE", disk.point.to_str().unwrap()]).unwrap();
    let trigger = Path::new("/sys/fs/ext4").join(device.trim_start_matches("/dev/")).join("trigger_fs_error");
    let mut bench = bench(&disk.point, &workload(100, 2, mix), Span::from_ms(800));
    // What the file system does when it finds damage: it becomes read-only, whatever is open.
    std::fs::write(&trigger, "a test").unwrap();
    let report = bench.run_phase(0);
    let create = report.operations[&Operation::Create];
    assert!(create.failed > 0 && create.failed == create.calls, "{create:?}");
    assert_eq!(report.operations[&Operation::Stat].failed, 0);
    let mut told = BTreeSet::new();
    for interval in &bench.told.intervals {
        interval.interval.flows.iter().for_each(|flow| told.extend(flow.errors.keys().cloned()));
    }
    assert_eq!(told, ["EROFS".to_owned()].into());
    let found = verify(bench);
    assert!(found.is_sound(), "{:?}", found.faults);
}

/// Writes to a file system that is frozen wait until it is thawed.
#[test]
fn a_call_that_does_not_return_is_told_and_given_up_and_the_rest_is_counted() {
    if !bed::root() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let Ok(disk) = Mounted::on_loop("ext4", &place.path().join("disk")) else {
        return bed::skip("no ext4 on a loop device");
    };
    let patience = Patience { warning: Span::from_ms(100), stuck: Span::from_ms(300), given_up: Span::from_ms(900) };
    let settings = Settings { patience, ..settings(clock(), Span::from_secs(60)) };
    let mix = vec![sequence("pair", "mkdir rmdir", 1)];
    let mut bench = bench_with(&disk.point, &workload(10, 3, mix), settings);
    let point = disk.point.to_str().unwrap();
    let report = std::thread::scope(|scope| {
        scope.spawn(|| bed::run(&["fsfreeze", "-f", point]).unwrap());
        bench.clients.run_phase(0, 0, &mut bench.told).unwrap()
    });
    let stuck = bench.told.intervals.iter().map(|told| told.interval.flows.iter().map(|flow| flow.stuck).sum::<u64>());
    let most = stuck.max();
    bed::run(&["fsfreeze", "-u", point]).unwrap();
    let PhaseEnd::GivenUp { client: Some(_), call } = report.end else { panic!("{report:?}") };
    assert!(["mkdir", "rmdir"].contains(&call.operation), "{call:?}");
    // Each client hangs in one call and one sequence.
    assert_eq!(most, Some(6));
    for what in [EventKind::Warning, EventKind::Stuck, EventKind::TargetLost] {
        assert!(bench.told.events.iter().any(|event| event.what == what), "{what}");
    }
    assert!(bench.clients.finish().is_none(), "nobody knows what a call that is open may still do");
}

#[test]
fn a_place_that_something_is_mounted_over_ends_the_phase() {
    if !bed::root() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let point = place.path().join("point");
    let _beneath = Mounted::tmpfs(&point, "size=30m");
    let mut bench = bench(&point, &workload(10, 2, everything()), Span::from_secs(60));
    bench.clients = bench.clients.watching(Watched { path: point.clone(), wants: Wants::default() });
    // It is looked at when the phase begins, and each ten seconds.
    let over = Mounted::tmpfs(&point, "size=1m");
    assert_eq!(bench.run_phase(0).end, PhaseEnd::Disturbed(Disturbance::PathLost));
    drop(over);
    bench.verify_and_clean();
}

#[test]
fn room_that_somebody_else_takes_ends_the_phase_and_is_told_from_our_own() {
    if !bed::root() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let _disk = Mounted::tmpfs(&place.path().join("disk"), "size=20m");
    for (most, by_others) in [(u64::MAX, true), (0, false)] {
        let point = place.path().join("disk");
        let mut bench = bench(&point, &workload(10, 2, vec![sequence("stat", "stat", 1)]), Span::from_secs(60));
        let wants = Wants { bytes: most, files: most, open_files: 0 };
        bench.clients = bench.clients.watching(Watched { path: point.clone(), wants });
        std::fs::write(point.join("theirs"), vec![1; 20 << 20]).unwrap_err();
        let report = bench.run_phase(0);
        let PhaseEnd::Disturbed(Disturbance::Reserve(touched)) = report.end else { panic!("{report:?}") };
        assert!(touched.by_others == by_others && touched.free.bytes < touched.reserve.bytes, "{touched:?}");
        std::fs::remove_file(point.join("theirs")).unwrap();
        bench.verify_and_clean();
    }
}
