//! Clients on real file systems: every operation, and what the intervals say about it.

use crate::bed;
use crate::client_bed::{Told, bench};
use crate::mixes::{everything, sequence, workload};
use assay_base::{Bytes, Rate, Span};
use assay_files::shell::{FlowMap, OperationTotals, PhaseEnd};
use assay_model::files::{
    CachePolicy, FileSize, FilesPace, FilesPhase, FilesWorkload, Layout, Operation, Sequence, SequenceFiles, Shared,
    Spacing, Until,
};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

/// A mix of all operations, on files of some pages.
pub(crate) fn all_operations(cache: CachePolicy) -> FilesWorkload {
    let mut mix = workload(300, 4, everything());
    mix.io = Bytes::new(5000);
    mix.tree.size = FileSize::Gamma { mean: Bytes::new(12_000), shape: 1.5 };
    mix.tree.shared = Some(Shared { files: 2, layout: Layout::Interleaved, size: None });
    FilesWorkload { cache, ..mix }
}

#[test]
fn every_operation_succeeds_on_every_file_system_and_the_intervals_account_for_it() {
    if !bed::root() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    for (kind, mounted) in bed::file_systems(place.path()) {
        for cache in [CachePolicy::Warm, CachePolicy::Direct] {
            let workload = all_operations(cache);
            let mut bench = bench(&place.path().join(kind), &workload, Span::from_ms(700));
            let mut made = BTreeSet::new();
            // A slow disk makes few calls in one phase.
            for _ in 0..30 {
                let report = bench.run_phase(0);
                assert_eq!((report.end, bench.told.events.first()), (PhaseEnd::Whole, None), "{kind} {cache:?}");
                compare_accounts(kind, &report.operations, bench.clients.flows(), &bench.told);
                made.extend(report.operations.into_keys());
                if made.len() == Operation::ALL.len() {
                    break;
                }
            }
            assert_eq!(made, Operation::ALL.into(), "{kind} {cache:?}");
            bench.verify_and_clean();
        }
        drop(mounted);
    }
}

/// The sums of the intervals are what the clients counted.
fn compare_accounts(kind: &str, operations: &BTreeMap<Operation, OperationTotals>, flows: &FlowMap, told: &Told) {
    for (operation, totals) in operations {
        assert_eq!(totals.failed, 0, "{kind} {operation}");
        if let Some(flow) = flows.of_operation(0, *operation) {
            assert_eq!(told.sum(flow, |line| line.ok), totals.calls, "{kind} {operation}");
            assert_eq!(told.sum(flow, |line| line.bytes), totals.bytes, "{kind} {operation}");
        }
    }
    let listed: u64 = told.intervals.iter().flat_map(|told| &told.entries).sum();
    assert_eq!(operations.get(&Operation::Readdir).map_or(0, |totals| totals.entries), listed, "{kind}");
}

#[test]
fn an_open_loop_schedules_as_its_rate_says_whatever_the_clients_do() {
    let place = tempfile::tempdir().unwrap();
    let pace = FilesPace::Open { rate: Rate::per_second(2000), arrival: Spacing::Steady };
    let mix = vec![sequence("ask", "stat access", 3), sequence("stat", "stat", 1)];
    let mut bench = bench(place.path(), &FilesWorkload { pace, ..workload(100, 3, mix) }, Span::from_ms(900));
    let report = bench.run_phase(0);
    // 2000/s for 0.9 s; a sequence of one operation with its name is counted as that operation.
    let flows = bench.clients.flows().names().to_vec();
    assert_eq!(flows, ["ask", "stat", "access"]);
    let ask = bench.told.sum(0, |line| line.scheduled);
    let stat = bench.told.sum(1, |line| line.scheduled);
    assert_eq!((ask + (stat - ask), report.done.iter().sum::<u64>()), (1800, 1800));
    assert_eq!(report.operations[&Operation::Stat].calls, 1800);
    assert_eq!(bench.told.sum(2, |line| line.ok), ask);
    let first = &bench.told.intervals[0].interval;
    assert!(first.end_ns - first.start_ns == 200_000_000 && bench.told.intervals.len() <= 6, "{first:?}");
    bench.verify_and_clean();
}

fn phase(name: &str, until: Until, sequence: Sequence) -> FilesPhase {
    FilesPhase { name: name.to_owned(), until, sequences: vec![sequence], ..FilesPhase::default() }
}

#[test]
fn phases_that_take_every_file_once_follow_each_other() {
    let place = tempfile::tempdir().unwrap();
    let mut described = workload(1004, 4, Vec::new());
    described.tree.empty = true;
    described.phases = vec![
        phase("create", Until::Done, sequence("create", "create write close", 1)),
        phase("stat", Until::Stonewall, sequence("stat", "stat", 1)),
        phase("unlink", Until::Done, sequence("unlink", "unlink", 1)),
    ];
    let mut bench = bench(place.path(), &described, Span::from_secs(1));
    for (index, operation) in [(0, Operation::Create), (1, Operation::Stat), (2, Operation::Unlink)] {
        let report = bench.run_phase(index);
        assert_eq!((report.end, report.done.iter().sum::<u64>()), (PhaseEnd::Whole, 1004), "{operation}");
        assert_eq!(report.operations[&operation].calls, 1004);
        let wall = report.wall.unwrap();
        assert!(wall.at <= report.ended && wall.done.iter().sum::<u64>() <= 1004);
    }
    bench.verify_and_clean();
}

#[test]
fn records_of_shared_files_are_appended_by_all() {
    let place = tempfile::tempdir().unwrap();
    let append = Sequence { on: SequenceFiles::Shared, ..sequence("append", "open append fsync close", 1) };
    let mut described = workload(0, 4, vec![append]);
    described.tree.shared = Some(Shared { files: 1, layout: Layout::Append, size: None });
    let mut bench = bench(place.path(), &described, Span::from_ms(300));
    let report = bench.run_phase(0);
    let append = report.operations[&Operation::Append];
    assert!(append.calls > 0 && append.failed == 0 && append.bytes == append.calls * 700, "{append:?}");
    bench.verify_and_clean();
}

/// How many calls the long test makes; by default few.
const CALLS: &str = "ASSAY_CLIENT_CALLS";

#[test]
fn a_long_mix_of_all_operations_leaves_nothing_that_is_wrong() {
    if !bed::root() {
        return;
    }
    let wanted = std::env::var(CALLS).map_or(20_000, |calls| calls.parse().unwrap());
    let place = tempfile::tempdir().unwrap();
    let _memory = bed::Mounted::tmpfs(&place.path().join("memory"), "size=600m");
    let mut bench = bench(&place.path().join("memory"), &all_operations(CachePolicy::Warm), Span::from_ms(500));
    let (mut calls, mut phases) = (0, 0);
    while calls < wanted {
        let report = bench.run_phase(0);
        assert_eq!((report.end, bench.told.events.first()), (PhaseEnd::Whole, None));
        calls += report.operations.values().map(|totals| totals.calls).sum::<u64>();
        phases += 1;
    }
    let found = bench.verify_and_clean();
    assert_eq!(found.unsure, 0);
    let _ = writeln!(std::io::stderr(), "{calls} calls in {phases} phases: {found:?}");
}

/// Shows what a client costs beside its calls: nothing is asserted of it.
#[test]
fn what_a_client_costs_is_shown() {
    if !bed::root() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let _memory = bed::Mounted::tmpfs(&place.path().join("memory"), "size=600m");
    let mixes = [("stat", "stat"), ("pair", "create close unlink"), ("append", "open append close")];
    for ((name, steps), clients) in mixes.into_iter().flat_map(|mix| [(mix, 1), (mix, 2), (mix, 8)]) {
        let described = workload(1000, clients, vec![sequence(name, steps, 1)]);
        let mut bench = bench(&place.path().join("memory"), &described, Span::from_ms(600));
        let report = bench.run_phase(0);
        let calls: u64 = report.operations.values().map(|totals| totals.calls).sum();
        let (mut service, mut own_lag) = (0, 0);
        for operation in report.operations.keys() {
            let flow = bench.clients.flows().of_operation(0, *operation).unwrap();
            service += bench.told.sum(flow, |line| line.service.sum_ns);
            own_lag += bench.told.sum(flow, |line| line.own_lag.sum_ns);
        }
        assert!(calls > 0, "{name}");
        let whole = report.ended.since(report.begun).as_ns() * u64::from(clients);
        let each = |ns: u64| ns / calls;
        let _ = writeln!(
            std::io::stderr(),
            "{steps}, {clients} clients: {calls} calls, each {} ns of service, {} ns of own lag, {} ns in all",
            each(service),
            each(own_lag),
            each(whole)
        );
        bench.verify_and_clean();
    }
}
