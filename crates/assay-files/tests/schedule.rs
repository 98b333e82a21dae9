//! When sequences are wanted, and what of a wait belongs to whom.

use crate::memory_tree::Bench;
use crate::mixes::{sequence, workload};
use assay_base::{Instant, Rate, Span};
use assay_files::script::{Assignment, Begin, Script};
use assay_model::files::{FilesPace, FilesWorkload, Spacing, TreeShape};

fn stats(clients: u32, pace: FilesPace) -> FilesWorkload {
    FilesWorkload { pace, ..workload(100, clients, vec![sequence("stat", "stat", 1)]) }
}

fn started(workload: &FilesWorkload) -> Script {
    let mut script = Script::new(workload, TreeShape::new(&workload.tree, workload.clients, 1).unwrap(), 1);
    assert!(script.start_phase(0, Instant::from_ns(1000), Span::from_secs(1)));
    script
}

fn begun(script: &mut Script, client: u32, now: Instant) -> Assignment {
    let Begin::Sequence(assignment) = script.begin(client, now) else { panic!("the phase is not over") };
    assignment
}

fn carried_out(script: &mut Script, client: u32, now: Instant) {
    while script.next_call(client).is_some() {
        script.finish_call(client, Ok(0)).unwrap();
    }
    assert!(script.end_sequence(client, now));
}

#[test]
fn a_client_that_is_free_waits_and_one_that_was_busy_is_the_targets_wait() {
    let ms = |ms: u64| Instant::from_ns(1000 + ms * 1_000_000);
    let mut script = started(&stats(2, FilesPace::Open { rate: Rate::per_second(100), arrival: Spacing::Steady }));
    let first = begun(&mut script, 0, ms(0));
    assert_eq!((first.number, first.intended, first.may_issue), (0, ms(0), ms(0)));
    let second = begun(&mut script, 1, ms(1));
    assert_eq!((second.number, second.intended, second.may_issue), (1, ms(10), ms(10)), "it waits for the schedule");
    carried_out(&mut script, 0, ms(35));
    let third = begun(&mut script, 0, ms(36));
    // It was wanted at 20 ms, and the client was free only at 35 ms: what comes behind that is our own lag.
    assert_eq!((third.number, third.intended, third.may_issue), (2, ms(20), ms(35)));
}

#[test]
fn in_a_closed_loop_the_completion_before_is_the_intended_time() {
    let mut script = started(&stats(2, FilesPace::Closed));
    let first = begun(&mut script, 0, Instant::from_ns(1200));
    assert_eq!(first.intended, Instant::from_ns(1000));
    carried_out(&mut script, 0, Instant::from_ns(5000));
    let second = begun(&mut script, 0, Instant::from_ns(5500));
    assert_eq!((second.intended, second.may_issue), (Instant::from_ns(5000), Instant::from_ns(5000)));
}

#[test]
fn the_schedule_is_the_same_whatever_the_clients_do() {
    for arrival in [Spacing::Steady, Spacing::Poisson] {
        let times = |clients: u32, slowness: u64| {
            let mut bench =
                Bench::remembering(&stats(clients, FilesPace::Open { rate: Rate::per_second(20_000), arrival }), 1);
            bench.slowness[0] = slowness;
            bench.run_phase(0, Span::from_ms(500));
            let mut assigned: Vec<Assignment> = bench.assigned.iter().map(|(_, assignment)| *assignment).collect();
            assigned.sort_unstable_by_key(|assignment| assignment.number);
            assert!(assigned.iter().enumerate().all(|(at, assignment)| assignment.number == at as u64));
            assert!(assigned.iter().all(|assignment| assignment.may_issue >= assignment.intended));
            assigned.into_iter().map(|assignment| assignment.intended).collect::<Vec<_>>()
        };
        let (few, many) = (times(1, 30), times(16, 0));
        assert!(few == many && few.is_sorted(), "{arrival:?}");
        // 10,000 in half a second; the number of a Poisson process differs by √n.
        let most = if arrival == Spacing::Steady { 0 } else { 400 };
        assert!(few.len().abs_diff(10_000) <= most, "{arrival:?}: {}", few.len());
        assert!(few.last().unwrap().as_ns() < 500_000_000);
    }
}

#[test]
fn a_rate_of_nothing_does_not_begin() {
    let workload = stats(2, FilesPace::Open { rate: Rate::ZERO, arrival: Spacing::Steady });
    let mut script = Script::new(&workload, TreeShape::new(&workload.tree, 2, 1).unwrap(), 1);
    assert!(!script.start_phase(0, Instant::ZERO, Span::from_secs(1)));
}
