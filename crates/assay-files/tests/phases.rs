//! Phases in which every client takes every file once, and how they end.

use crate::memory_tree::Bench;
use crate::mixes::{sequence, workload};
use assay_base::Span;
use assay_files::script::Target;
use assay_model::files::{FilesPhase, FilesWorkload, Layout, Operation, Pick, Sequence, SequenceFiles, Shared, Until};
use std::collections::BTreeSet;

fn phase(name: &str, until: Until, sequence: Sequence) -> FilesPhase {
    FilesPhase { name: name.to_owned(), until, sequences: vec![sequence], ..FilesPhase::default() }
}

fn in_phases(files: u32, clients: u32, phases: Vec<FilesPhase>) -> FilesWorkload {
    let mut workload = workload(files, clients, Vec::new());
    workload.tree.empty = true;
    workload.phases = phases;
    workload
}

/// The numbers that calls of an operation were on, and who made them.
fn visits(bench: &Bench, wanted: Operation) -> Vec<(u32, u32)> {
    let mut visits = Vec::new();
    for (client, operation, target) in &bench.visited {
        if let (true, Target::Numbered(number)) = (*operation == wanted, *target) {
            visits.push((*client, number));
        }
    }
    visits
}

#[test]
fn every_client_takes_each_of_its_files_once() {
    let next = Sequence { pick: Pick::Next, ..sequence("stat", "stat", 1) };
    let drawn = Sequence { random_order: true, ..sequence("read", "open read close", 1) };
    let phases = vec![
        phase("create", Until::Done, sequence("create", "create write close", 1)),
        phase("stat", Until::Done, next),
        phase("read", Until::Done, drawn),
        phase("link", Until::Done, sequence("link", "link", 1)),
        phase("rename", Until::Done, sequence("rename", "rename", 1)),
        phase("unlink", Until::Done, sequence("unlink", "unlink", 1)),
        phase("mkdir", Until::Done, sequence("mkdir", "mkdir", 1)),
        phase("rmdir", Until::Done, sequence("rmdir", "rmdir", 1)),
        phase("again", Until::Done, sequence("create", "create close", 1)),
    ];
    let mut bench = Bench::remembering(&in_phases(1003, 7, phases), 1);
    for (index, operation, number) in [
        (0, Operation::Create, 1003),
        (1, Operation::Stat, 1003),
        (2, Operation::Open, 1003),
        (3, Operation::Link, 1003),
        (4, Operation::Rename, 2006),
        (5, Operation::Unlink, 2006),
        (6, Operation::Mkdir, 1003),
        (7, Operation::Rmdir, 1003),
        (8, Operation::Create, 1003),
    ] {
        bench.visited.clear();
        bench.run_phase(index, Span::ZERO);
        assert_eq!(bench.errors.first(), None, "{operation}");
        let visits = visits(&bench, operation);
        let numbers: BTreeSet<u32> = visits.iter().map(|(_, number)| *number).collect();
        assert_eq!((visits.len(), numbers.len()), (number, number), "{operation}");
        let shift = u32::from(operation == Operation::Stat);
        assert!(visits.iter().all(|(client, number)| number % 7 == (client + shift) % 7), "{operation}");
        let of_one: Vec<u32> = visits.iter().filter(|(client, _)| *client == 0).map(|(_, number)| *number).collect();
        assert_eq!(of_one.is_sorted(), operation != Operation::Open, "{operation}");
        bench.tree.check(&bench.script);
        assert!(bench.script.wall().is_some());
    }
}

/// As one process that makes the files of all others: each of them once, and by the first client alone.
#[test]
fn in_a_collective_phase_the_first_client_does_it_for_all() {
    let collective =
        |name, steps| FilesPhase { collective: true, ..phase(name, Until::Done, sequence(name, steps, 1)) };
    let phases = vec![
        collective("create", "create write close"),
        phase("stat", Until::Done, sequence("stat", "stat", 1)),
        collective("unlink", "unlink"),
        phase("again", Until::Done, sequence("create", "create close", 1)),
    ];
    let mut bench = Bench::remembering(&in_phases(1003, 7, phases), 1);
    for (index, operation, clients) in
        [(0, Operation::Create, 1), (1, Operation::Stat, 7), (2, Operation::Unlink, 1), (3, Operation::Create, 7)]
    {
        bench.visited.clear();
        bench.run_phase(index, Span::ZERO);
        assert_eq!(bench.errors.first(), None, "{operation}");
        let visits = visits(&bench, operation);
        let numbers: BTreeSet<u32> = visits.iter().map(|(_, number)| *number).collect();
        let busy: BTreeSet<u32> = visits.iter().map(|(client, _)| *client).collect();
        assert_eq!((visits.len(), numbers.len(), busy.len()), (1003, 1003, clients), "{operation}");
        assert!(busy.contains(&0), "{operation}");
        bench.tree.check(&bench.script);
    }
}

#[test]
fn a_phase_with_a_count_is_over_after_so_many_sequences_and_not_earlier() {
    let look = FilesPhase {
        span: Some(Span::from_secs(3600)),
        count: Some(777),
        ..phase("look", Until::Time, sequence("stat", "stat", 1))
    };
    let phases = vec![phase("create", Until::Done, sequence("create", "create close", 1)), look];
    let mut bench = Bench::remembering(&in_phases(50, 5, phases), 1);
    bench.run_phase(0, Span::from_secs(3600));
    bench.visited.clear();
    bench.run_phase(1, Span::from_secs(3600));
    assert_eq!((bench.errors.first(), visits(&bench, Operation::Stat).len()), (None, 777));
    assert_eq!((0..5).map(|client| bench.script.done_by(client)).sum::<u64>(), 777);
}

#[test]
fn a_slow_client_is_worn_out_to_equal_work_behind_the_stonewall() {
    let described = FilesPhase {
        span: Some(Span::from_ms(40)),
        ..phase("create", Until::Stonewall, sequence("create", "create close", 1))
    };
    let mut bench = Bench::new(&in_phases(100_000, 4, vec![described]), 1);
    bench.slowness[3] = 3;
    bench.run_phase(0, Span::from_secs(3600));
    let wall = bench.script.wall().unwrap().clone();
    let done: Vec<u64> = (0..4).map(|client| bench.script.done_by(client)).collect();
    assert!(wall.done[3] * 2 < wall.most && wall.most < 25_000, "{wall:?}");
    // A client that is in a sequence when the wall comes still ends it.
    assert!(done.iter().all(|done| (wall.most..=wall.most + 1).contains(done)), "{done:?}");
    assert!(bench.now.since(wall.at) > Span::from_ms(10));
    bench.tree.check(&bench.script);
}

#[test]
fn all_stop_when_the_first_is_done_and_do_what_they_lack() {
    let mut bench = Bench::new(
        &in_phases(4000, 4, vec![phase("create", Until::Stonewall, sequence("create", "create close", 1))]),
        1,
    );
    bench.slowness[0] = 4;
    bench.run_phase(0, Span::ZERO);
    let wall = bench.script.wall().unwrap().clone();
    assert_eq!(wall.most, 1000);
    assert!(wall.done[0] < 500, "{wall:?}");
    assert_eq!((0..4).map(|client| bench.script.done_by(client)).collect::<Vec<_>>(), [1000; 4]);
}

#[test]
fn each_record_of_a_shared_file_is_written_once_and_read_by_the_next() {
    for layout in [Layout::Interleaved, Layout::Segments] {
        let shared = |sequence| Sequence { on: SequenceFiles::Shared, ..sequence };
        let read = Sequence { pick: Pick::Next, random_order: true, ..shared(sequence("read", "read", 1)) };
        let phases =
            vec![phase("write", Until::Done, shared(sequence("write", "write", 1))), phase("read", Until::Done, read)];
        let mut workload = in_phases(0, 5, phases);
        workload.tree.shared = Some(Shared { files: 2, layout, size: None });
        workload.tree.size = assay_model::files::FileSize::Fixed(assay_base::Bytes::new(700 * 5 * 30 + 11));
        let mut bench = Bench::new(&workload, 1);
        bench.run_phase(0, Span::ZERO);
        bench.run_phase(1, Span::ZERO);
        assert_eq!(bench.errors.first(), None, "{layout:?}");
        assert_eq!((bench.tree.calls[&Operation::Write], bench.tree.calls[&Operation::Read]), (300, 300));
        for node in bench.script.shared_nodes() {
            assert_eq!(bench.script.ledger().node(*node).size, 700 * 5 * 30);
            assert_eq!(bench.script.ledger().pieces(*node, 0..u64::MAX).len(), 1, "no hole and nothing twice");
        }
        bench.tree.check(&bench.script);
    }
}

/// Its sequences follow each other, so that the later one finds what the earlier one made.
#[test]
fn files_that_a_phase_makes_are_there_for_its_next_sequence() {
    let two = vec![sequence("create", "create write close", 1), sequence("wait", "open fsync close", 1)];
    let both = FilesPhase { sequences: two, ..phase("both", Until::Done, sequence("x", "stat", 1)) };
    let mut bench = Bench::remembering(&in_phases(103, 4, vec![both]), 1);
    bench.run_phase(0, Span::ZERO);
    assert_eq!((visits(&bench, Operation::Create).len(), visits(&bench, Operation::Fsync).len()), (103, 103));
}
