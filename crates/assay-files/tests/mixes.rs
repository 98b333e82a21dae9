//! Mixes of sequences on a tree in memory: nothing goes wrong that the ledger did not expect, the contents are right at
//! the end, and each sequence has its share.

use crate::memory_tree::Bench;
use assay_base::{Bytes, Code, Instant, Rate, Span};
use assay_files::script::{Begin, Script};
use assay_model::files::{
    CachePolicy, FileSize, FilesPace, FilesWorkload, Layout, Operation, Pick, Place, Sequence, SequenceFiles, Shared,
    Spacing, Tree, TreeShape,
};

/// How many calls the long test makes; the whole takes some minutes.
const CALLS: &str = "ASSAY_FILES_CALLS";

pub(crate) fn steps(text: &str) -> Vec<Vec<Operation>> {
    let lists = text.split(" | ");
    lists.map(|list| list.split(' ').map(|name| Operation::from_name(name).unwrap()).collect()).collect()
}

pub(crate) fn sequence(name: &str, text: &str, share: u64) -> Sequence {
    let sequence = Sequence { steps: steps(text), ..Sequence::new(name, &[], share) };
    assert_eq!(sequence.check(), Ok(()), "{text}");
    sequence
}

pub(crate) fn workload(files: u32, clients: u32, sequences: Vec<Sequence>) -> FilesWorkload {
    let size = FileSize::Gamma { mean: Bytes::new(2000), shape: 1.5 };
    let tree = Tree { width: Some(20), ..Tree::flat(files, size) };
    FilesWorkload {
        clients,
        pace: FilesPace::Closed,
        cache: CachePolicy::Drop,
        durable: None,
        io: Bytes::new(700),
        tree,
        sequences,
        phases: Vec::new(),
        service: None,
    }
}

/// Every operation that there is, in sequences of all kinds.
pub(crate) fn everything() -> Vec<Sequence> {
    let whole = |sequence| Sequence { at: Some(Place::Whole), ..sequence };
    vec![
        sequence("create", "create write fsync close", 10),
        sequence("replace", "create write fsync rename close fsync-dir", 6),
        sequence("append", "open append append fdatasync close", 4),
        sequence("journal", "append fdatasync", 2),
        sequence("read", "open fstat read close", 8),
        sequence("unlink", "unlink", 12),
        sequence("rename", "rename", 3),
        sequence("link", "link stat access chmod", 3),
        sequence("symlink", "symlink readlink", 2),
        sequence("readlink", "readlink unlink fsync-dir", 2),
        sequence("mkdir", "mkdir stat", 2),
        sequence("rmdir", "rmdir", 2),
        sequence("list", "readdir statfs fsync-dir", 2),
        sequence("node", "mknod open write close", 2),
        sequence("cut", "open truncate append close", 3),
        sequence("reserve", "open fallocate punch close", 2),
        sequence("mapped", "open mmap-read mmap-write msync close", 3),
        whole(sequence("rewrite", "open lock rmw unlock close", 2)),
        sequence("seek", "open rmw overwrite read close", 4),
        sequence("attribute", "open getxattr setxattr getxattr close", 2),
        sequence("copy", "create copy-range close", 3),
        sequence("spool", "unlink | create append fsync close | open read append fsync close | open read close", 4),
    ]
}

fn calls_wanted(usual: u64) -> u64 {
    std::env::var(CALLS).ok().and_then(|calls| calls.parse().ok()).unwrap_or(usual)
}

#[test]
fn no_call_fails_and_the_contents_are_right_at_the_end() {
    let mut bench = Bench::new(&workload(500, 8, everything()), 1);
    // A turn is a microsecond, and a call takes about two turns.
    bench.run_phase(0, Span::from_us(calls_wanted(400_000) * 3));
    assert_eq!(bench.errors.first(), None);
    assert!(bench.calls_made >= calls_wanted(400_000), "{} calls", bench.calls_made);
    for operation in Operation::ALL {
        assert!(bench.tree.calls.contains_key(&operation), "{operation} was never called");
    }
    bench.tree.check(&bench.script);
    let damaged = bench.script.ledger().all_names().find(|(_, node)| {
        let node = bench.script.ledger().node(*node);
        node.kind == assay_files::ledger::Kind::File && node.size > 0
    });
    bench.tree.damage(damaged.unwrap().0);
    let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| bench.tree.check(&bench.script)));
    assert!(checked.is_err(), "a changed byte is found");
}

#[test]
fn the_same_seed_makes_the_same_calls() {
    let calls = |seed| {
        let mut bench = Bench::remembering(&workload(200, 4, everything()), seed);
        bench.run_phase(0, Span::from_ms(20));
        bench.visited
    };
    assert!(calls(3) == calls(3) && calls(3) != calls(4));
}

#[test]
fn shared_files_are_written_by_all_and_read_by_all() {
    for layout in [Layout::Interleaved, Layout::Segments] {
        let shared = |sequence| Sequence { on: SequenceFiles::Shared, ..sequence };
        let mut workload = workload(
            10,
            6,
            vec![
                shared(sequence("write", "write", 3)),
                shared(sequence("rewrite", "open rmw fsync close", 2)),
                Sequence { pick: Pick::Any, ..shared(sequence("look", "open read mmap-read close", 2)) },
                Sequence {
                    pick: Pick::Next,
                    io: Some(Bytes::new(100)),
                    at: Some(Place::Random),
                    ..shared(sequence("seek", "read", 2))
                },
            ],
        );
        workload.tree.shared = Some(Shared { files: 2, layout, size: None });
        workload.tree.size = FileSize::Fixed(Bytes::new(700 * 6 * 20));
        let mut bench = Bench::new(&workload, 2);
        bench.run_phase(0, Span::from_ms(100));
        assert_eq!(bench.errors.first(), None, "{layout:?}");
        bench.tree.check(&bench.script);
    }
}

#[test]
fn appended_records_are_found_once() {
    let shared = |sequence| Sequence { on: SequenceFiles::Shared, ..sequence };
    let mut workload = workload(
        10,
        6,
        vec![shared(sequence("append", "append", 3)), shared(sequence("durable", "open append fsync close", 1))],
    );
    workload.tree.shared = Some(Shared { files: 2, layout: Layout::Append, size: None });
    let mut bench = Bench::new(&workload, 2);
    bench.run_phase(0, Span::from_ms(50));
    assert_eq!(bench.errors.first(), None);
    let found = bench.tree.check_records(&bench.script, 0, 700) + bench.tree.check_records(&bench.script, 1, 700);
    assert_eq!(found as u64, bench.tree.calls[&Operation::Append]);
}

#[test]
fn sequences_have_their_shares_by_chi_square() {
    // dbench's counts; 8 kinds have 7 degrees of freedom, whose 0.1 % point is 24.3.
    let shares = [124_199, 84_399, 79_230, 27_765, 16_000, 13_168, 6454, 5553];
    let texts =
        ["open read close", "stat", "open close", "readdir", "create close", "statfs", "chmod", "open fsync close"];
    let mut sequences = Vec::new();
    for (text, share) in texts.iter().zip(shares) {
        sequences.push(sequence(text, text, share));
    }
    let mut workload = workload(400, 8, sequences);
    workload.pace = FilesPace::Open { rate: Rate::per_second(100_000), arrival: Spacing::Poisson };
    let mut bench = Bench::remembering(&workload, 5);
    bench.run_phase(0, Span::from_ms(500));
    let mut counts = [0.0; 8];
    bench.assigned.iter().for_each(|(_, assignment)| counts[assignment.sequence.unwrap()] += 1.0);
    let (number, whole) = (bench.assigned.len() as f64, shares.iter().sum::<u64>() as f64);
    let mut chi = 0.0;
    for (count, share) in counts.iter().zip(shares) {
        let expected = number * share as f64 / whole;
        chi += (count - expected) * (count - expected) / expected;
    }
    assert!(number > 40_000.0 && chi < 24.3, "{chi} of {number}");
    assert_eq!((bench.script.skipped(), bench.errors.len()), (0, 0));
}

#[test]
fn a_mail_spool_keeps_its_size() {
    let spool =
        sequence("spool", "unlink | create append fsync close | open read append fsync close | open read close", 1);
    let mut workload = workload(1000, 16, vec![spool]);
    workload.tree.size = FileSize::Fixed(Bytes::from_kib(1));
    let mut bench = Bench::new(&workload, 1);
    bench.run_phase(0, Span::from_ms(300));
    assert_eq!(bench.errors.first(), None);
    let files = bench.script.ledger().all_names().count();
    assert!(files.abs_diff(1000) <= 16, "{files}");
    bench.tree.check(&bench.script);
}

/// A temporary file takes the place of another one, also where a client has so few that it often draws the new one.
#[test]
fn a_file_that_replaces_another_one_never_keeps_a_name_of_its_own() {
    let mut bench = Bench::new(&workload(4, 2, vec![sequence("replace", "create write fsync close rename", 1)]), 3);
    bench.run_phase(0, Span::from_ms(20));
    assert!(bench.calls_made > 1000, "{} calls", bench.calls_made);
    assert_eq!(bench.errors.first(), None);
    bench.tree.check(&bench.script);
    assert_eq!(bench.script.ledger().all_names().count(), 4);
}

#[test]
fn a_symbolic_link_to_a_file_that_was_taken_away_is_not_lost() {
    // Workload files only read and remove links; whoever follows one finds what the ledger knows.
    let follow = Sequence { steps: steps("symlink stat access"), ..Sequence::new("follow", &[], 2) };
    let mut bench = Bench::new(&workload(20, 4, vec![follow, sequence("unlink", "unlink", 1)]), 3);
    let cut =
        Sequence { steps: steps("symlink | unlink | unlink | readlink stat access"), ..Sequence::new("cut", &[], 1) };
    bench.run_phase(0, Span::from_ms(20));
    assert_eq!(bench.errors.first(), None);
    let mut bench = Bench::new(&workload(20, 1, vec![cut, sequence("create", "create close", 1)]), 3);
    bench.run_phase(0, Span::from_ms(20));
    assert_eq!(bench.errors.first(), None);
    bench.tree.check(&bench.script);
}

#[test]
fn who_reads_a_file_that_its_owner_has_cut_meanwhile_comes_to_an_end() {
    let look = Sequence { pick: Pick::Next, ..sequence("look", "open read close", 1) };
    let workload = workload(2, 2, vec![look]);
    let shape = TreeShape::new(&workload.tree, 2, 1).unwrap();
    let mut script = Script::new(&workload, shape, 1);
    assert!(script.start_phase(0, Instant::ZERO, Span::from_secs(1)));
    assert!(matches!(script.begin(0, Instant::ZERO), Begin::Sequence(_)));
    let mut calls = Vec::new();
    while let Some(call) = script.next_call(0) {
        calls.push(call.operation);
        assert!(calls.len() < 100, "it reads for ever");
        script.finish_call(0, Ok(0)).unwrap();
    }
    assert_eq!((calls[0], calls.last()), (Operation::Open, Some(&Operation::Close)));
}

#[test]
fn a_file_whose_open_failed_is_picked_again() {
    let mut bench = Bench::remembering(&workload(1, 1, vec![sequence("journal", "append fdatasync", 1)]), 3);
    bench.faults = Some(crate::memory_tree::Faults::at_first_open());
    bench.run_phase(0, Span::from_us(200));
    let opened = bench.visited.iter().filter(|(_, operation, _)| *operation == Operation::Open).count();
    assert!(opened == 2 && bench.tree.calls[&Operation::Append] > 10, "{:?}", bench.visited);
    assert_eq!((bench.errors.first(), bench.script.ledger().number_of(0, assay_files::ledger::Kind::File)), (None, 1));
    bench.tree.check(&bench.script);
}

#[test]
fn what_is_lost_and_what_is_foreign_is_told_apart_and_the_rest_goes_on() {
    let mut bench = Bench::new(&workload(300, 4, vec![sequence("stat", "stat", 1)]), 3);
    (0..20).for_each(|number| bench.tree.lose(number));
    bench.run_phase(0, Span::from_ms(300));
    let lost =
        bench.errors.iter().filter(|(call, code)| call.operation == Operation::Stat && *code == Code::LOST).count();
    assert_eq!((lost, bench.errors.len()), (20, 20), "each lost file is met once, and not picked again");
    // Names that something foreign has: the numbers that come next.
    let mut bench = Bench::new(&workload(300, 4, vec![sequence("create", "create write close", 1)]), 3);
    for number in 300..308 {
        bench.tree.foreign(number);
    }
    bench.run_phase(0, Span::from_ms(20));
    assert!(bench.errors.iter().all(|(call, code)| call.operation == Operation::Create && *code == Code::FOREIGN));
    assert_eq!(bench.errors.len(), 8);
}
