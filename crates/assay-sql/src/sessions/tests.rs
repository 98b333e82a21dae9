use super::*;
use crate::fault::Fault;
use crate::retry::Retry;
use assay_base::Completion;
use assay_model::tpcc::{Outcome, Parameters, Scale, Transaction, TransactionKind};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

type Act = Box<dyn FnMut(&Transaction) -> Result<Outcome, Fault> + Send>;

/// The caller that drives a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Thread,
    Engine,
}

const BOTH: [By; 2] = [By::Thread, By::Engine];

/// A session that calls a function of the test for each transaction. Its answers arrive on a socket.
struct Acting {
    by: By,
    act: Act,
    near: UnixStream,
    far: UnixStream,
    answer: Option<Result<Outcome, Fault>>,
    /// Number of pieces of an answer, of which the first is sent at once.
    answers_after: usize,
    pieces: usize,
    /// Called when an answer is evaluated.
    evaluates: Box<dyn FnMut() + Send>,
    /// Number of transactions for which it is not connected.
    unready: Arc<AtomicUsize>,
    /// Number of calls after which its request is sent completely.
    unsent: usize,
}

impl Acting {
    fn new(by: By, act: impl FnMut(&Transaction) -> Result<Outcome, Fault> + Send + 'static) -> Acting {
        let (near, far) = UnixStream::pair().unwrap();
        near.set_nonblocking(true).unwrap();
        Acting {
            by,
            act: Box::new(act),
            near,
            far,
            answer: None,
            answers_after: 1,
            pieces: 0,
            evaluates: Box::new(|| {}),
            unready: Arc::default(),
            unsent: 0,
        }
    }
}

impl Execute for Acting {
    fn execute_transaction(&mut self, transaction: &Transaction) -> Result<Outcome, Fault> {
        (self.act)(transaction)
    }

    fn as_conversation(&mut self) -> Option<&mut dyn Converse> {
        (self.by == By::Engine).then_some(self)
    }
}

impl Converse for Acting {
    fn is_ready(&self) -> bool {
        let lower = |left: usize| left.checked_sub(1);
        self.unready.fetch_update(Ordering::SeqCst, Ordering::SeqCst, lower).is_err()
    }

    fn send_transaction(&mut self, transaction: &Transaction) {
        assert!(self.answer.is_none(), "one after the other");
        self.answer = Some((self.act)(transaction));
        if self.unsent == 0 && self.answers_after != usize::MAX {
            self.far.write_all(b".").unwrap();
        }
    }

    fn has_more(&self) -> bool {
        self.unsent > 0
    }

    fn read_arrived(&mut self) {
        if self.unsent > 0 {
            self.unsent -= 1;
            return if self.unsent == 0 {
                self.far.write_all(b".").unwrap()
            };
        }
        self.near.read_exact(&mut [0]).unwrap();
        self.pieces += 1;
    }

    fn take_outcome(&mut self, _: &Transaction) -> Option<Result<Outcome, Fault>> {
        if self.pieces < self.answers_after {
            return None;
        }
        self.pieces = 0;
        (self.evaluates)();
        self.answer.take()
    }

    fn answer_socket(&self) -> BorrowedFd<'_> {
        self.near.as_fd()
    }
}

fn asking(homes: Option<i32>) -> TransactionSource {
    TransactionSource { parameters: Parameters::new(1, 100, 3, Scale::for_tests(100, 30)), seed: 1, homes }
}

/// A clock that advances by so many nanoseconds whenever it is read.
fn clock_by(step: u64) -> impl Fn() -> Instant + Clone + Send + 'static {
    let now = Arc::new(AtomicU64::new(0));
    move || Instant::from_ns(now.fetch_add(step, Ordering::SeqCst))
}

fn clock() -> impl Fn() -> Instant + Clone + Send + 'static {
    clock_by(1)
}

/// A clock that advances a millisecond whenever it is read, so that pauses end soon.
fn quick_clock() -> impl Fn() -> Instant + Clone + Send + 'static {
    clock_by(1_000_000)
}

fn call(number: u64, kind: TransactionKind) -> Call {
    Call { kind, number, session: number as u32, ..Call::default() }
}

fn fault(code: &str, again: bool) -> Fault {
    Fault { code: code.into(), text: String::new(), again }
}

/// Submits calls and waits for all completions; returns them by ticket.
fn carried<C: Fn() -> Instant + Clone + Send + 'static>(sessions: &mut Sessions<C>, calls: &[Call]) -> Vec<Completion> {
    for (ticket, call) in (0..).map(Ticket).zip(calls) {
        sessions.submit_request(Instant::ZERO, ticket, call);
    }
    let mut done = Done::new();
    while done.len() < calls.len() {
        sessions.wait_for_completion(Span::from_secs(10));
        sessions.poll_completions(Instant::ZERO, &mut done);
    }
    done.sort_by_key(|completion| completion.ticket.0);
    done
}

#[test]
fn every_call_completes_once_with_its_times_in_order() {
    for by in BOTH {
        let session = || Acting::new(by, |_: &Transaction| Ok(Outcome::Low(0)));
        let mut sessions =
            Sessions::start_sessions((0..4).map(|_| session()).collect(), asking(None), clock()).unwrap();
        let calls: Vec<Call> = (0..500).map(|number| call(number, TransactionKind::StockLevel)).collect();
        let done = carried(&mut sessions, &calls);
        for (at, completion) in done.iter().enumerate() {
            let Completion { ticket, result, issued, accepted, completed } = *completion;
            assert_eq!((ticket, result), (Ticket(at as u32), Ok(0)));
            assert!(issued <= accepted && accepted < completed, "{by:?}");
        }
        assert_eq!(sessions.current_tally(), Tally { sent: vec![0; 4], ..Tally::default() });
        let (threads, when_found) = if by == By::Engine { (0, true) } else { (4, false) };
        assert_eq!((sessions.thread_count(), sessions.is_stamped_when_found()), (threads, when_found));
    }
}

#[test]
fn a_session_carries_one_transaction_at_a_time_and_all_sessions_work() {
    // All sessions wait for each other at a barrier: if one session carried all calls, it would never end.
    let barrier = Arc::new(std::sync::Barrier::new(3));
    let session = || {
        let barrier = Arc::clone(&barrier);
        Acting::new(By::Thread, move |_: &Transaction| {
            barrier.wait();
            Ok(Outcome::Low(0))
        })
    };
    let mut sessions = Sessions::start_sessions((0..3).map(|_| session()).collect(), asking(None), clock()).unwrap();
    let calls: Vec<Call> = (0..30).map(|number| call(number, TransactionKind::StockLevel)).collect();
    assert_eq!(carried(&mut sessions, &calls).len(), 30);
}

/// The first numbers whose new orders are to be rolled back, or those whose are not.
fn orders_of(rolled_back: bool) -> impl Iterator<Item = u64> {
    let asking = asking(None);
    let is_rolled_back = move |number: &u64| match asking.make_transaction(&call(*number, TransactionKind::NewOrder)) {
        Transaction::NewOrder(order) => order.asks_for_unused_item(asking.parameters.database_scale()),
        _ => false,
    };
    (0..).filter(move |number| is_rolled_back(number) == rolled_back)
}

fn accepted() -> Outcome {
    Outcome::Ordered(assay_model::tpcc::Ordered { order: 1, total: 0, lines: Vec::new() })
}

/// A database that has lost its items rolls every order back, and one that has the unused item commits every order.
#[test]
fn an_outcome_that_was_not_asked_for_is_an_error_and_what_was_committed_is_counted() {
    for by in BOTH {
        let mut outcomes = vec![accepted(), Outcome::RolledBack, accepted(), Outcome::RolledBack];
        let session = Acting::new(by, move |_: &Transaction| Ok(outcomes.pop().unwrap()));
        let mut sessions = Sessions::start_sessions(vec![session], asking(None), clock()).unwrap();
        let (intended, other) = (orders_of(true).next().unwrap(), orders_of(false).next().unwrap());
        let calls = [other, other, intended, intended].map(|number| call(number, TransactionKind::NewOrder));
        let done = carried(&mut sessions, &calls);
        let results = done.iter().map(|completion| completion.result.map_err(|code| sessions.code_name(code)));
        let expected = [Err(Fault::MISSING_ROW.into()), Ok(0), Ok(0), Err(Fault::UNUSED_ITEM.into())];
        assert_eq!(results.collect::<Vec<_>>(), expected, "{by:?}");
        let Tally { orders, rolled_back, .. } = sessions.current_tally();
        assert_eq!((orders, rolled_back), (2, 1), "the last one is in the database too");
        assert_eq!(
            sessions.account.take_counted(4),
            Counted::from([((TransactionKind::NewOrder, ROLLED_BACK.to_owned()), 1)])
        );
    }
}

#[test]
fn outcomes_are_counted() {
    for by in BOTH {
        let scale = asking(None).parameters.database_scale();
        let session = Acting::new(by, move |transaction: &Transaction| {
            Ok(match transaction {
                Transaction::NewOrder(asked) if asked.asks_for_unused_item(scale) => Outcome::RolledBack,
                Transaction::NewOrder(_) => accepted(),
                Transaction::Payment(_) => Outcome::Paid(assay_model::tpcc::Paid { customer: 1, balance: 0 }),
                Transaction::Delivery(_) => {
                    Outcome::Delivered(assay_model::tpcc::Delivered { orders: vec![Some(1), None, None] })
                }
                _ => Outcome::Low(3),
            })
        });
        let asking = asking(None);
        let mut sessions = Sessions::start_sessions(vec![session], asking, clock()).unwrap();
        let orders = orders_of(true)
            .take(3)
            .chain(orders_of(false).take(17))
            .map(|number| call(number, TransactionKind::NewOrder));
        let others = (0..80).map(|number| call(number, TransactionKind::ALL[1 + number as usize % 4]));
        let calls: Vec<Call> = orders.chain(others).collect();
        carried(&mut sessions, &calls);
        let Tally { rolled_back, skipped, orders, payments, paid, retried, unknown, .. } = sessions.current_tally();
        assert_eq!(unknown, Unknown::default());
        assert_eq!((orders, rolled_back, payments, skipped), (17, 3, 20, 40));
        assert!(retried.is_empty());
        let amount = |call: &Call| match asking.make_transaction(call) {
            Transaction::Payment(asked) => asked.amount,
            _ => 0,
        };
        assert_eq!(paid, calls.iter().map(amount).sum::<i64>());
    }
}

#[test]
fn what_others_stood_in_the_way_of_is_tried_again_with_the_same_parameters() {
    for by in BOTH {
        let mut seen: Vec<Transaction> = Vec::new();
        let session = Acting::new(by, move |transaction: &Transaction| {
            assert!(seen.iter().all(|before| before == transaction));
            seen.push(transaction.clone());
            if seen.len() < 3 { Err(fault("SQLITE_BUSY", true)) } else { Ok(accepted()) }
        });
        let mut sessions = Sessions::start_sessions(vec![session], asking(None), quick_clock()).unwrap();
        let order = call(orders_of(false).next().unwrap(), TransactionKind::NewOrder);
        assert_eq!(carried(&mut sessions, &[order])[0].result, Ok(0));
        let Tally { orders, retried, .. } = sessions.current_tally();
        assert_eq!((orders, retried), (1, BTreeMap::from([("SQLITE_BUSY".to_owned(), 2)])));
    }
}

#[test]
fn spent_repetitions_and_other_faults_are_errors_with_their_names() {
    for by in BOTH {
        let session = Acting::new(by, |transaction: &Transaction| match transaction.transaction_kind() {
            TransactionKind::NewOrder => Err(fault("SQLITE_BUSY", true)),
            TransactionKind::Payment => Err(fault("SQLITE_FULL", false)),
            _ => Err(fault("40001", false)),
        });
        let mut sessions = Sessions::start_sessions(vec![session], asking(None), quick_clock()).unwrap();
        let done = carried(&mut sessions, &[0, 1, 2, 1].map(|kind| call(7, TransactionKind::ALL[kind])));
        let names: Vec<_> = done.iter().map(|completion| sessions.code_name(completion.result.unwrap_err())).collect();
        assert_eq!(names, ["SQLITE_BUSY", "SQLITE_FULL", "40001", "SQLITE_FULL"]);
        assert_eq!(sessions.current_tally().retried, BTreeMap::from([("SQLITE_BUSY".to_owned(), 10)]));
        assert_eq!(sessions.code_name(Code(5)), "EIO");
    }
}

/// Figures belong to the completions that were fetched, and are returned once.
#[test]
fn what_transactions_report_is_told_with_the_completions_that_were_fetched() {
    for by in BOTH {
        let session = Acting::new(by, |transaction: &Transaction| match transaction.transaction_kind() {
            TransactionKind::Payment => Err(fault(Fault::OUTCOME_UNKNOWN, false)),
            _ => Ok(Outcome::RolledBack),
        });
        let asking = asking(None);
        let mut sessions = Sessions::start_sessions(vec![session], asking, clock()).unwrap();
        let account = sessions.shared_account();
        let kinds =
            [TransactionKind::NewOrder, TransactionKind::NewOrder, TransactionKind::Payment, TransactionKind::NewOrder];
        let calls: Vec<Call> = kinds.into_iter().zip(orders_of(true)).map(|(kind, at)| call(at, kind)).collect();
        assert_eq!(carried(&mut sessions, &calls).len(), 4);
        let rolled_back = |n: u64| Counted::from([((TransactionKind::NewOrder, ROLLED_BACK.to_owned()), n)]);
        assert_eq!(account.take_counted(0), Counted::new());
        assert_eq!((account.take_counted(1), account.take_counted(1)), (rolled_back(1), Counted::new()));
        assert_eq!(account.take_counted(9), rolled_back(2));
        let Transaction::Payment(payment) = asking.make_transaction(&calls[2]) else { panic!("the third pays") };
        let unknown = Unknown { orders: 0, payments: 1, paid: payment.amount };
        assert_eq!((account.current_tally().unknown, account.busy_sessions()), (unknown, 0));
    }
}

/// A panic of a session is an error of its call, and the session continues with the next call.
#[test]
fn a_call_completes_although_its_session_panics() {
    for by in BOTH {
        let session = Acting::new(by, |transaction: &Transaction| match transaction.transaction_kind() {
            TransactionKind::NewOrder => panic!("as it is meant to be"),
            _ => Ok(Outcome::Low(0)),
        });
        let mut sessions = Sessions::start_sessions(vec![session], asking(None), clock()).unwrap();
        let done = carried(&mut sessions, &[call(0, TransactionKind::NewOrder), call(1, TransactionKind::Payment)]);
        assert_eq!((sessions.code_name(done[0].result.unwrap_err()).as_ref(), done[1].result), (Fault::PANIC, Ok(0)));
    }
}

#[test]
fn a_session_of_the_load_has_its_home() {
    let asking = asking(Some(3));
    for session in 0..30 {
        let call = Call { session, number: 5, kind: TransactionKind::StockLevel, target: 0 };
        let Transaction::StockLevel(asked) = asking.make_transaction(&call) else { panic!("another kind") };
        assert_eq!((asked.warehouse, asked.district), (session as i32 % 3 + 1, session as i32 / 3 + 1));
    }
}

#[test]
fn a_transaction_that_hangs_keeps_nobody_from_ending() {
    let (hold, held) = std::sync::mpsc::channel::<()>();
    let held = Mutex::new(held);
    let waiting = Acting::new(By::Thread, move |_: &Transaction| {
        let _ = held.lock().unwrap().recv();
        Ok(Outcome::Low(0))
    });
    for session in [waiting, Acting { answers_after: usize::MAX, ..Acting::new(By::Engine, |_| Ok(Outcome::Low(0))) }] {
        let mut sessions = Sessions::start_sessions(vec![session], asking(None), clock()).unwrap();
        sessions.submit_request(Instant::ZERO, Ticket(0), &call(0, TransactionKind::StockLevel));
        while sessions.account.busy_sessions() == 0 {
            std::thread::yield_now();
        }
        sessions.wait_for_completion(Span::from_ms(1));
        let mut done = Done::new();
        sessions.poll_completions(Instant::ZERO, &mut done);
        assert!(done.is_empty());
    }
    drop(hold);
}

/// The socket is read until the answer is complete, and nothing else is sent on it before.
#[test]
fn an_answer_may_arrive_in_pieces() {
    let sent = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&sent);
    let session = Acting::new(By::Engine, move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        Ok(Outcome::Low(0))
    });
    let mut far = session.far.try_clone().unwrap();
    let session = Acting { answers_after: 3, ..session };
    let mut sessions = Sessions::start_sessions(vec![session], asking(None), clock()).unwrap();
    for ticket in 0..2 {
        sessions.submit_request(Instant::ZERO, Ticket(ticket), &call(ticket.into(), TransactionKind::StockLevel));
    }
    let mut done = Done::new();
    for piece in 1..=6 {
        sessions.wait_for_completion(Span::from_secs(10));
        sessions.poll_completions(Instant::ZERO, &mut done);
        assert_eq!((done.len(), sent.load(Ordering::SeqCst)), (piece / 3, (piece / 3 + 1).min(2)), "{piece}");
        if piece % 3 != 0 {
            // No other piece arrives by itself.
            sessions.wait_for_completion(Span::from_ms(1));
            sessions.poll_completions(Instant::ZERO, &mut done);
            assert_eq!(done.len(), piece / 3);
            far.write_all(b".").unwrap();
        }
    }
}

/// Answers that arrive together have the same time, however long the evaluation of the first one takes.
#[test]
fn all_that_has_arrived_is_read_before_any_of_it_is_evaluated() {
    let clock = clock();
    let evaluated = Arc::new(Mutex::new(Vec::new()));
    let session = || {
        let (clock, evaluated) = (clock.clone(), Arc::clone(&evaluated));
        let evaluates = move || evaluated.lock().unwrap().push(clock());
        Acting { evaluates: Box::new(evaluates), ..Acting::new(By::Engine, |_| Ok(Outcome::Low(0))) }
    };
    let mut sessions =
        Sessions::start_sessions((0..3).map(|_| session()).collect(), asking(None), clock.clone()).unwrap();
    let calls: Vec<Call> = (0..3).map(|number| call(number, TransactionKind::StockLevel)).collect();
    let done = carried(&mut sessions, &calls);
    let first = *evaluated.lock().unwrap().first().unwrap();
    assert!(done.iter().all(|completion| completion.completed < first), "{done:?} {first:?}");
}

/// The engine waits for the end of pauses, and can do other work meanwhile.
#[test]
fn a_pause_ends_at_its_time_and_holds_up_no_other_session() {
    let mut faults = vec![fault("40001", true)];
    let busy = Acting::new(By::Engine, move |_| faults.pop().map_or(Ok(Outcome::Low(0)), Err));
    let free = Acting::new(By::Engine, |_| Ok(Outcome::Low(0)));
    let now = Arc::new(AtomicU64::new(0));
    let clock = {
        let now = Arc::clone(&now);
        move || Instant::from_ns(now.load(Ordering::SeqCst))
    };
    let mut sessions = Sessions::start_sessions(vec![busy, free], asking(None), clock).unwrap();
    let mut done = Done::new();
    assert_eq!(sessions.next_wakeup(), None);
    for number in 0..2 {
        sessions.submit_request(Instant::ZERO, Ticket(number), &call(number.into(), TransactionKind::StockLevel));
    }
    sessions.wait_for_completion(Span::from_secs(10));
    sessions.poll_completions(Instant::ZERO, &mut done);
    assert_eq!(done.iter().map(|completion| completion.ticket).collect::<Vec<_>>(), [Ticket(1)]);
    let until = sessions.next_wakeup().unwrap();
    assert_eq!(until, Instant::ZERO + Retry::new(1, 0).next_pause().unwrap());
    now.store(until.as_ns() - 1, Ordering::SeqCst);
    sessions.wait_for_completion(Span::from_ns(1));
    sessions.poll_completions(Instant::ZERO, &mut done);
    assert_eq!((done.len(), sessions.account.busy_sessions()), (1, 1));
    now.store(until.as_ns(), Ordering::SeqCst);
    sessions.wait_for_completion(Span::from_secs(10));
    sessions.poll_completions(Instant::ZERO, &mut done);
    assert_eq!((sessions.next_wakeup(), done.len()), (None, 1), "sent again");
    sessions.wait_for_completion(Span::from_secs(10));
    sessions.poll_completions(Instant::ZERO, &mut done);
    assert_eq!((done.len(), sessions.account.busy_sessions()), (2, 0));
    assert_eq!(sessions.current_tally().retried, BTreeMap::from([("40001".to_owned(), 1)]));
}

/// A session that must reconnect does so in a thread, with its transaction, while the other sessions continue.
#[test]
fn a_session_that_is_not_ready_is_lent_to_a_thread() {
    let engine = std::thread::current().id();
    let (hold, held) = std::sync::mpsc::channel::<()>();
    let held = Mutex::new(held);
    let mut carried_by = Vec::new();
    let lost = Acting::new(By::Engine, move |transaction: &Transaction| {
        carried_by.push(std::thread::current().id() == engine);
        match carried_by.len() {
            1 => held.lock().unwrap().recv().unwrap(),
            2 => panic!("as it is meant to be"),
            _ => assert_eq!(carried_by, [false, false, true], "{transaction:?}"),
        }
        Ok(Outcome::Low(0))
    });
    let unready = Arc::new(AtomicUsize::new(2));
    let lost = Acting { unready: Arc::clone(&unready), ..lost };
    let free = Acting::new(By::Engine, |_| Ok(Outcome::RolledBack));
    let mut sessions = Sessions::start_sessions(vec![lost, free], asking(None), quick_clock()).unwrap();
    let mut done = Done::new();
    for number in 0..3 {
        sessions.submit_request(Instant::ZERO, Ticket(number), &call(number.into(), TransactionKind::StockLevel));
    }
    while done.len() < 2 {
        sessions.wait_for_completion(Span::from_secs(10));
        sessions.poll_completions(Instant::ZERO, &mut done);
    }
    assert_eq!(
        done.iter().map(|completion| completion.ticket).collect::<Vec<_>>(),
        [Ticket(1), Ticket(2)],
        "by the other one"
    );
    assert_eq!(sessions.account.busy_sessions(), 1);
    hold.send(()).unwrap();
    while done.len() < 3 {
        sessions.wait_for_completion(Span::from_secs(10));
        sessions.poll_completions(Instant::ZERO, &mut done);
    }
    assert_eq!((done[2].ticket, done[2].result), (Ticket(0), Ok(0)));
    // It is lent once more and panics there; then it is driven again.
    let done = [0, 1].map(|_| {
        carried(&mut sessions, &[call(3, TransactionKind::StockLevel)])[0]
            .result
            .map_err(|code| sessions.code_name(code))
    });
    assert_eq!(done, [Err(Fault::PANIC.into()), Ok(0)]);
    assert_eq!(unready.load(Ordering::SeqCst), 0);
}

/// The rest of a request that the socket does not accept completely is sent when the socket accepts more.
#[test]
fn what_could_not_be_sent_at_once_is_sent_later() {
    let session = Acting::new(By::Engine, |_| Ok(Outcome::Low(0)));
    let session = Acting { unsent: 3, ..session };
    let mut sessions = Sessions::start_sessions(vec![session], asking(None), clock()).unwrap();
    assert_eq!(carried(&mut sessions, &[call(0, TransactionKind::StockLevel)])[0].result, Ok(0));
}
