use super::*;
use assay_model::tpcc::Scale;
use std::sync::atomic::{AtomicU64, Ordering};

/// A session that does what it was made for with each transaction.
struct Acting<F>(F);

impl<F: FnMut(&Transaction) -> Result<Outcome, Fault> + Send + 'static> Execute for Acting<F> {
    fn execute(&mut self, transaction: &Transaction) -> Result<Outcome, Fault> {
        (self.0)(transaction)
    }
}

fn asking(homes: Option<i32>) -> Asking {
    Asking { parameters: Parameters::new(1, 100, 3, Scale::reduced(100, 30)), seed: 1, homes }
}

/// A clock that goes on by a nanosecond whenever it is read.
fn clock() -> impl Fn() -> Instant + Clone + Send + 'static {
    let now = Arc::new(AtomicU64::new(0));
    move || Instant::from_ns(now.fetch_add(1, Ordering::SeqCst))
}

fn call(number: u64, kind: Kind) -> Call {
    Call { kind, number, session: number as u32, ..Call::default() }
}

fn fault(code: &str, again: bool) -> Fault {
    Fault { code: code.into(), text: String::new(), again }
}

/// Carries calls to their completions, by ticket.
fn carried<C: Fn() -> Instant + Clone + Send + 'static>(sessions: &mut Sessions<C>, calls: &[Call]) -> Vec<Completion> {
    for (ticket, call) in (0..).map(Ticket).zip(calls) {
        sessions.submit(Instant::ZERO, ticket, call);
    }
    let mut done = Done::new();
    while done.len() < calls.len() {
        sessions.wait(Span::from_secs(10));
        sessions.poll(Instant::ZERO, &mut done);
    }
    done.sort_by_key(|completion| completion.ticket.0);
    done
}

#[test]
fn every_call_completes_once_with_its_times_in_order() {
    let session = || Acting(|_: &Transaction| Ok(Outcome::Low(0)));
    let mut sessions = Sessions::start((0..4).map(|_| session()).collect(), asking(None), clock()).unwrap();
    let calls: Vec<Call> = (0..500).map(|number| call(number, Kind::StockLevel)).collect();
    let done = carried(&mut sessions, &calls);
    for (at, completion) in done.iter().enumerate() {
        let Completion { ticket, result, issued, accepted, completed } = *completion;
        assert_eq!((ticket, result), (Ticket(at as u32), Ok(0)));
        assert!(issued < accepted && accepted < completed);
    }
    assert_eq!(sessions.tally(), Tally { sent: vec![0; 4], ..Tally::default() });
}

#[test]
fn a_session_carries_one_transaction_at_a_time_and_all_sessions_work() {
    // Each waits for the other, so that one session alone would never end.
    let barrier = Arc::new(std::sync::Barrier::new(3));
    let session = || {
        let barrier = Arc::clone(&barrier);
        Acting(move |_: &Transaction| {
            barrier.wait();
            Ok(Outcome::Low(0))
        })
    };
    let mut sessions = Sessions::start((0..3).map(|_| session()).collect(), asking(None), clock()).unwrap();
    let calls: Vec<Call> = (0..30).map(|number| call(number, Kind::StockLevel)).collect();
    assert_eq!(carried(&mut sessions, &calls).len(), 30);
}

#[test]
fn outcomes_are_counted() {
    let session = Acting(|transaction: &Transaction| {
        Ok(match transaction {
            Transaction::NewOrder(asked) if asked.lines.len() > 10 => Outcome::RolledBack,
            Transaction::NewOrder(_) => {
                Outcome::Ordered(assay_model::tpcc::Ordered { order: 1, total: 0, lines: Vec::new() })
            }
            Transaction::Payment(_) => Outcome::Paid(assay_model::tpcc::Paid { customer: 1, balance: 0 }),
            Transaction::Delivery(_) => {
                Outcome::Delivered(assay_model::tpcc::Delivered { orders: vec![Some(1), None, None] })
            }
            _ => Outcome::Low(3),
        })
    });
    let asking = asking(None);
    let mut sessions = Sessions::start(vec![session], asking, clock()).unwrap();
    let calls: Vec<Call> = (0..100).map(|number| call(number, Kind::ALL[number as usize % 5])).collect();
    carried(&mut sessions, &calls);
    let Tally { rolled_back, skipped, orders, payments, paid, retried, unknown, .. } = sessions.tally();
    assert_eq!(unknown, Unknown::default());
    assert_eq!((orders as u64 + rolled_back, payments, skipped), (20, 20, 40));
    assert!(orders > 0 && rolled_back > 0 && retried.is_empty());
    let amount = |call: &Call| match asking.transaction(call) {
        Transaction::Payment(asked) => asked.amount,
        _ => 0,
    };
    assert_eq!(paid, calls.iter().map(amount).sum::<i64>());
}

#[test]
fn what_others_stood_in_the_way_of_is_tried_again_with_the_same_parameters() {
    let mut seen: Vec<Transaction> = Vec::new();
    let session = Acting(move |transaction: &Transaction| {
        assert!(seen.iter().all(|before| before == transaction));
        seen.push(transaction.clone());
        if seen.len() < 3 { Err(fault("SQLITE_BUSY", true)) } else { Ok(Outcome::RolledBack) }
    });
    let mut sessions = Sessions::start(vec![session], asking(None), clock()).unwrap();
    assert_eq!(carried(&mut sessions, &[call(4, Kind::NewOrder)])[0].result, Ok(0));
    let Tally { rolled_back, retried, .. } = sessions.tally();
    assert_eq!((rolled_back, retried), (1, BTreeMap::from([("SQLITE_BUSY".to_owned(), 2)])));
}

#[test]
fn spent_repetitions_and_other_faults_are_errors_with_their_names() {
    let session = Acting(|transaction: &Transaction| match transaction.kind() {
        Kind::NewOrder => Err(fault("SQLITE_BUSY", true)),
        Kind::Payment => Err(fault("SQLITE_FULL", false)),
        _ => Err(fault("40001", false)),
    });
    let mut sessions = Sessions::start(vec![session], asking(None), clock()).unwrap();
    let done = carried(&mut sessions, &[0, 1, 2, 1].map(|kind| call(7, Kind::ALL[kind])));
    let names: Vec<_> = done.iter().map(|completion| sessions.name(completion.result.unwrap_err())).collect();
    assert_eq!(names, ["SQLITE_BUSY", "SQLITE_FULL", "40001", "SQLITE_FULL"]);
    assert_eq!(sessions.tally().retried, BTreeMap::from([("SQLITE_BUSY".to_owned(), 10)]));
    assert_eq!(sessions.name(Code(5)), "EIO");
}

/// What is reported belongs to the completions that were fetched, and is returned once.
#[test]
fn what_transactions_report_is_told_with_the_completions_that_were_fetched() {
    let session = Acting(|transaction: &Transaction| match transaction.kind() {
        Kind::Payment => Err(fault(Fault::OUTCOME_UNKNOWN, false)),
        _ => Ok(Outcome::RolledBack),
    });
    let asking = asking(None);
    let mut sessions = Sessions::start(vec![session], asking, clock()).unwrap();
    let account = sessions.account();
    let calls: Vec<Call> = [0, 0, 1, 0].iter().zip(0..).map(|(kind, at)| call(at, Kind::ALL[*kind])).collect();
    assert_eq!(carried(&mut sessions, &calls).len(), 4);
    let rolled_back = |n: u64| Counted::from([((Kind::NewOrder, ROLLED_BACK.to_owned()), n)]);
    assert_eq!(account.counted(0), Counted::new());
    assert_eq!((account.counted(1), account.counted(1)), (rolled_back(1), Counted::new()));
    assert_eq!(account.counted(9), rolled_back(2));
    let Transaction::Payment(payment) = asking.transaction(&calls[2]) else { panic!("the third pays") };
    let unknown = Unknown { orders: 0, payments: 1, paid: payment.amount };
    assert_eq!((account.tally().unknown, account.busy()), (unknown, 0));
}

/// A mistake of ours is an error of the call, and the session goes on with the next.
#[test]
fn a_call_completes_although_its_session_panics() {
    let session = Acting(|transaction: &Transaction| match transaction.kind() {
        Kind::NewOrder => panic!("as it is meant to be"),
        _ => Ok(Outcome::Low(0)),
    });
    let mut sessions = Sessions::start(vec![session], asking(None), clock()).unwrap();
    let done = carried(&mut sessions, &[call(0, Kind::NewOrder), call(1, Kind::Payment)]);
    assert_eq!((sessions.name(done[0].result.unwrap_err()).as_ref(), done[1].result), (Fault::PANIC, Ok(0)));
}

#[test]
fn a_session_of_the_load_has_its_home() {
    let asking = asking(Some(3));
    for session in 0..30 {
        let call = Call { session, number: 5, kind: Kind::StockLevel, target: 0 };
        let Transaction::StockLevel(asked) = asking.transaction(&call) else { panic!("another kind") };
        assert_eq!((asked.warehouse, asked.district), (session as i32 % 3 + 1, session as i32 / 3 + 1));
    }
}

#[test]
fn a_transaction_that_hangs_keeps_nobody_from_ending() {
    let (hold, held) = std::sync::mpsc::channel::<()>();
    let held = Mutex::new(held);
    let session = Acting(move |_: &Transaction| {
        let _ = held.lock().unwrap().recv();
        Ok(Outcome::Low(0))
    });
    let mut sessions = Sessions::start(vec![session], asking(None), clock()).unwrap();
    sessions.submit(Instant::ZERO, Ticket(0), &call(0, Kind::StockLevel));
    while sessions.shared.state().busy == 0 {
        std::thread::yield_now();
    }
    sessions.wait(Span::from_ms(1));
    let mut done = Done::new();
    sessions.poll(Instant::ZERO, &mut done);
    assert!(done.is_empty());
    drop(sessions);
    drop(hold);
}
