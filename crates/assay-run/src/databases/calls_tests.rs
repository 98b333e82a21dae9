use super::*;
use assay_base::{Prng, Rate};
use assay_model::arrival::Part;
use assay_model::tpcc::Mix;
use std::collections::{BTreeMap, BTreeSet};

fn deck() -> Deck {
    Deck::new(Mix::Deck, 3)
}

fn poisson(per_second: u64) -> Schedule {
    Schedule::from_poisson(Instant::ZERO, Rate::per_second(per_second), Part { index: 0, of: 1 }, Prng::from_seed(3))
        .unwrap()
}

/// Takes the next call, which must be due at its time.
fn take(calls: &mut Calls) -> (Instant, Call) {
    let due = calls.next_due();
    let NextRequest::Of(flow) = calls.next(due) else { panic!("there is always another") };
    let call = calls.take_request(flow);
    assert_eq!(TransactionKind::ALL[flow], call.kind);
    (due, call)
}

fn secs(seconds: u64) -> Instant {
    Instant::ZERO + Span::from_secs(seconds)
}

#[test]
fn flows_are_those_of_its_target_in_the_order_of_the_kinds() {
    let flows = |calls: &Calls| TransactionKind::ALL.map(|kind| calls.flow_of(kind));
    let one = Calls::open_loop(deck(), 3, 1, poisson(100));
    assert_eq!(flows(&one), [0, 1, 2, 3, 4]);
    let mut second = Calls::open_loop(deck(), 3, 1, poisson(100)).on_target(1, 3);
    assert_eq!(flows(&second), [1, 4, 7, 10, 13]);
    let NextRequest::Of(flow) = second.next(second.next_due()) else { panic!("there is always another") };
    let call = second.take_request(flow);
    assert_eq!((flow % 3, TransactionKind::ALL[flow / 3], call.target), (1, call.kind, 1));
    let mut counted = [0; 15];
    second.count_until(secs(1), |flow, wanted, _| counted[flow] += wanted);
    assert!(counted.iter().enumerate().all(|(flow, wanted)| flow % 3 == 1 || *wanted == 0) && counted[1] > 0);

    let mut others = second.for_other_workers();
    assert_eq!((others.next_due(), others.is_open_loop()), (Instant::FAR, true));
    others.count_until(secs(1), |_, _, _| panic!("others carry them"));
    assert!(!Calls::closed_loop(deck(), 3, 2, secs(0)).for_other_workers().is_open_loop());
}

#[test]
fn an_open_loop_takes_the_deck_in_order_and_waits_for_nobody() {
    let mut calls = Calls::open_loop(deck(), 1, 7, poisson(100));
    let (mut deck, mut before) = (deck(), Instant::ZERO);
    for number in 0..1_000 {
        let (due, call) = take(&mut calls);
        assert!(due >= before && calls.is_open_loop() && calls.pause_after_completion().is_zero());
        assert_eq!(
            call,
            Call { target: 0, kind: deck.kind_of_transaction(number), number, session: (number % 7) as u32 }
        );
        before = due;
    }
}

#[test]
fn what_is_scheduled_is_counted_by_kind_before_it_is_taken() {
    let mut calls = Calls::open_loop(deck(), 1, 1, poisson(100));
    assert_eq!((0..50).map(|_| take(&mut calls)).filter(|(due, _)| *due < secs(10)).count(), 50);
    let mut counted = BTreeMap::new();
    calls.count_until(secs(10), |flow, scheduled, waiting| {
        counted.insert(flow, (scheduled, waiting));
    });
    let scheduled: u64 = counted.values().map(|(scheduled, _)| scheduled).sum();
    assert_eq!(counted.values().map(|(_, waiting)| waiting).sum::<u64>(), scheduled - 50);
    let mut taken = [0; KINDS];
    let mut again = Calls::open_loop(deck(), 1, 1, poisson(100));
    while again.next_due() < secs(10) {
        taken[take(&mut again).1.kind as usize] += 1;
    }
    assert_eq!(counted.values().map(|(scheduled, _)| *scheduled).collect::<Vec<_>>(), taken);
    calls.count_until(secs(10), |_, scheduled, _| assert_eq!(scheduled, 0, "nothing is counted twice"));
}

#[test]
fn closed_sessions_ask_one_at_a_time_and_keep_their_numbers() {
    let mut calls = Calls::closed_loop(deck(), 1, 3, Instant::ZERO);
    let first: Vec<Call> = (0..3).map(|_| take(&mut calls).1).collect();
    assert_eq!(first.iter().map(|call| call.session).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(calls.next_due(), Instant::FAR, "all sessions wait");
    calls.note_completed(first[1].kind as usize, secs(5));
    assert_eq!(calls.next_due(), secs(5));
    let (_, call) = take(&mut calls);
    assert_eq!(call.number, 3);
    assert_eq!(calls.next_due(), Instant::FAR);
    calls.count_until(secs(9), |_, _, waiting| assert_eq!(waiting, 0, "a closed loop owes nothing"));
    assert!(!calls.is_open_loop());
}

/// Answers every call after a second, for half an hour; returns the calls of each terminal with their times.
fn keyed(terminals: u32) -> BTreeMap<u32, Vec<(Instant, Call)>> {
    let mut calls = Calls::keyed_terminals(deck(), 1, terminals, Instant::ZERO);
    let (mut of, mut open) = (BTreeMap::<u32, Vec<_>>::new(), VecDeque::new());
    loop {
        let answered: Option<&(Instant, usize)> = open.front();
        match answered.copied().filter(|(at, _)| *at <= calls.next_due()) {
            Some((at, flow)) => {
                open.pop_front();
                calls.note_completed(flow, at);
            }
            None if calls.next_due() > secs(1_800) => return of,
            None => {
                let (due, call) = take(&mut calls);
                open.push_back((due + Span::from_secs(1), call.kind as usize));
                of.entry(call.session).or_default().push((due, call));
            }
        }
    }
}

#[test]
fn people_at_terminals_think_and_key_between_their_transactions() {
    let of = keyed(20);
    assert_eq!(of.keys().copied().collect::<Vec<_>>(), (0..20).collect::<Vec<_>>());
    let (mut numbers, mut new_orders) = (BTreeSet::new(), 0);
    for calls in of.values() {
        assert!(calls.iter().all(|(_, call)| numbers.insert(call.number)), "no transaction comes twice");
        new_orders += calls.iter().filter(|(_, call)| call.kind == TransactionKind::NewOrder).count();
        for pair in calls.windows(2) {
            let answer = if pair[0].1.kind == TransactionKind::Delivery { Span::ZERO } else { Span::from_secs(1) };
            let least = pair[0].0 + answer + keying_time(pair[1].1.kind);
            assert!(pair[1].0 >= least, "{pair:?}");
        }
    }
    // A cycle takes 23 s on average: keying 10, thinking 11.6, and the answer; so 20 terminals make some 700 new
    // orders.
    assert!((550..850).contains(&new_orders), "{new_orders}");
    let calls = Calls::keyed_terminals(deck(), 1, 1, Instant::ZERO);
    assert!(!calls.pause_after_completion().is_zero() && !calls.is_open_loop());
}
