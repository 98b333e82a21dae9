//! Workloads that are drawn, with errors of every kind put in between: whatever happens, the ledger agrees with the tree.
//! No call fails that nobody made fail, nobody changes what is another client's, and at the end names, types, links, sizes
//! and bytes are those of the ledger, except where an error left them open.

use crate::memory_tree::{Bench, Faults};
use crate::mixes::{everything, steps};
use assay_base::{Bytes, Prng, Rate, Share, Span};
use assay_model::files::{
    CachePolicy, FileSize, FilesPace, FilesPhase, FilesWorkload, Layout, Operation, Pick, Place, Sequence,
    SequenceFiles, Shared, Spacing, Tree, TreeShape, Until, keeps_file_open,
};

/// How many calls all workloads together make; 10,000,000 take some minutes.
const CALLS: &str = "ASSAY_FILES_CAMPAIGN";
const USUAL_CALLS: u64 = 1_000_000;
/// The first seed, to repeat a workload that failed.
const SEED: &str = "ASSAY_FILES_SEED";

fn number_from(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).map_or(usual, |number| number.parse().unwrap())
}

#[test]
fn whatever_fails_the_ledger_agrees_with_the_tree() {
    let (wanted, mut seed) = (number_from(CALLS, USUAL_CALLS), number_from(SEED, 1));
    let mut made = 0;
    let (mut injected, mut seen) = (0, std::collections::BTreeSet::new());
    while made < wanted {
        let bench = carried_out(seed);
        made += bench.calls_made;
        injected += bench.injected;
        seen.extend(bench.tree.calls.keys().copied());
        seed += 1;
    }
    for operation in Operation::ALL {
        assert!(seen.contains(&operation) || wanted < USUAL_CALLS, "{operation} was never called");
    }
    assert!(injected * 500 > made, "{injected} errors in {made} calls");
}

/// Carries out a workload that follows from a seed, and compares the tree after each of its phases.
fn carried_out(seed: u64) -> Bench {
    let workload = drawn_workload(seed);
    let said = format!("{SEED}={seed}: {workload:?}");
    let mut bench = Bench::new(&workload, seed);
    // Every third workload goes well.
    bench.faults = (!seed.is_multiple_of(3)).then(|| Faults::new(seed));
    for index in 0..bench.script.phases().len() {
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            bench.run_phase(index, Span::from_ms(4));
            assert_eq!(bench.errors.first(), None, "an error that nobody put in");
            bench.tree.check(&bench.script);
        }));
        assert!(outcome.is_ok(), "phase {index} of {said}");
    }
    bench
}

fn drawn_workload(seed: u64) -> FilesWorkload {
    let mut prng = Prng::from_seed(seed);
    let clients = 1 + prng.uniform_below(9) as u32;
    let layout = [Layout::Segments, Layout::Interleaved, Layout::Append][prng.uniform_below(3) as usize];
    let shared =
        (prng.uniform_below(2) == 0).then(|| Shared { files: 1 + prng.uniform_below(3) as u32, layout, size: None });
    let tree = Tree {
        symlinks: Share::from_percent(prng.uniform_below(40)),
        links: Share::from_percent(prng.uniform_below(40)),
        width: (prng.uniform_below(3) > 0).then(|| 1 + prng.uniform_below(30) as u32),
        private: prng.uniform_below(2) == 0,
        empty: prng.uniform_below(4) == 0,
        shared,
        ..Tree::flat(1 + prng.uniform_below(200) as u32, drawn_size(&mut prng))
    };
    assert!(TreeShape::new(&tree, clients, seed).is_some());
    let pace = if prng.uniform_below(2) == 0 {
        FilesPace::Closed
    } else {
        FilesPace::Open { rate: Rate::per_second(50_000 + prng.uniform_below(400_000)), arrival: Spacing::Poisson }
    };
    let io = Bytes::new(32 + prng.uniform_below(3000));
    let mut phases = Vec::new();
    for index in 0..1 + prng.uniform_below(4) {
        phases.push(drawn_phase(&mut prng, &tree, index));
    }
    let cache = CachePolicy::Drop;
    FilesWorkload { clients, pace, cache, durable: None, io, tree, sequences: Vec::new(), phases, service: None }
}

fn drawn_size(prng: &mut Prng) -> FileSize {
    match prng.uniform_below(4) {
        0 => FileSize::Fixed(Bytes::new(prng.uniform_below(9000))),
        1 => FileSize::Between { from: Bytes::new(0), to: Bytes::new(1 + prng.uniform_below(9000)) },
        2 => FileSize::Log2(vec![1, 1, 2, 3, 0, 5, 4, 3, 3, 2, 2, 1]),
        _ => FileSize::Gamma { mean: Bytes::new(1 + prng.uniform_below(5000)), shape: 1.5 },
    }
}

fn drawn_phase(prng: &mut Prng, tree: &Tree, index: u64) -> FilesPhase {
    let until = [Until::Time, Until::Time, Until::Done, Until::Stonewall][prng.uniform_below(4) as usize];
    let span = match until {
        Until::Time => Some(Span::from_us(500 + prng.uniform_below(8000))),
        _ => (prng.uniform_below(2) == 0).then(|| Span::from_us(500 + prng.uniform_below(8000))),
    };
    let mut phase = FilesPhase { name: format!("phase{index}"), span, until, ..FilesPhase::default() };
    if phase.takes_every_file_once() && prng.uniform_below(4) == 0 {
        phase.files = Some(1 + prng.uniform_below(100) as u32);
    }
    let wanted = 1 + prng.uniform_below(6) as usize;
    while phase.sequences.len() < wanted {
        let sequence = drawn_sequence(prng, tree, phase.sequences.len());
        let keeps_open = sequence.steps.iter().any(|steps| keeps_file_open(steps));
        let is_of_tree = sequence.on == SequenceFiles::Tree;
        if phase.takes_every_file_once() && (sequence.pick == Pick::Any || keeps_open && is_of_tree) {
            continue;
        }
        phase.sequences.push(sequence);
        if phase.sequence_in_a_race().is_some() {
            phase.sequences.pop();
        }
    }
    phase
}

/// A sequence that a workload file could have: one of those that programs do, or steps that are drawn until they fit.
fn drawn_sequence(prng: &mut Prng, tree: &Tree, index: usize) -> Sequence {
    loop {
        let mut sequence = if prng.uniform_below(3) == 0 {
            let all = everything();
            all[prng.uniform_below(all.len() as u64) as usize].clone()
        } else {
            let mut lists = Vec::new();
            for _ in 0..1 + prng.uniform_below(2) {
                lists.push(drawn_steps(prng));
            }
            Sequence { steps: lists, ..Sequence::new("drawn", &[], 1) }
        };
        sequence.name = format!("s{index}");
        sequence.share = 1 + prng.uniform_below(10);
        sequence.pick = [Pick::Own, Pick::Own, Pick::Next, Pick::Any][prng.uniform_below(4) as usize];
        sequence.at = [None, Some(Place::Whole), Some(Place::Random)][prng.uniform_below(3) as usize];
        sequence.io = (prng.uniform_below(3) == 0).then(|| Bytes::new(1 + prng.uniform_below(5000)));
        sequence.size = (prng.uniform_below(4) == 0).then(|| Bytes::new(prng.uniform_below(6000)));
        sequence.random_order = prng.uniform_below(2) == 0;
        if let Some(shared) = tree.shared.filter(|_| prng.uniform_below(3) == 0) {
            sequence.on = SequenceFiles::Shared;
            sequence.io = sequence.io.filter(|_| shared.layout != Layout::Append);
            let is_append = shared.layout == Layout::Append;
            let fits = |operation: Operation| match operation {
                Operation::Append => is_append,
                operation => !is_append || !operation.moves_bytes(),
            };
            if !sequence.operations().all(fits) {
                continue;
            }
        }
        if sequence.check().is_ok() {
            return sequence;
        }
    }
}

/// Operations of which some fit to each other.
fn drawn_steps(prng: &mut Prng) -> Vec<Operation> {
    let all = Operation::ALL;
    let mut drawn = Vec::new();
    if prng.uniform_below(2) == 0 {
        drawn.extend(steps(["open", "create"][prng.uniform_below(2) as usize]).remove(0));
    }
    for _ in 0..1 + prng.uniform_below(4) {
        drawn.push(all[prng.uniform_below(all.len() as u64) as usize]);
    }
    if matches!(drawn[0], Operation::Open | Operation::Create) {
        drawn.push(Operation::Close);
    }
    drawn
}
