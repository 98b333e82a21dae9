//! Sessions that are driven by the thread that waits for them.

use crate::bed::dialect::gate::Permit;
use crate::bed::dialect::{
    Connection, Loading, Mode, Session, create_session_rows, load_missing, read_kept, read_totals,
};
use crate::bed::{Address, Bed, small};
use crate::shared::parameters;
use assay_model::tpcc::interpreter::Database;
use assay_model::tpcc::{Deck, Home, Mix, Outcome, Transaction, TransactionKind};
use assay_sql::{Converse, Execute, Fault};
use rustix::event::{PollFd, PollFlags, poll};
use std::io::{Read, Write};
use std::ops::ControlFlow;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Who waits for the answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The session.
    Itself,
    /// Its caller.
    Caller,
}

/// Each mode, and who can wait for its answers.
pub const WAYS: [(Mode, By); 3] =
    [(Mode::Procedures, By::Itself), (Mode::Procedures, By::Caller), (Mode::Client, By::Itself)];

/// Executes a transaction once.
pub fn execute(session: &mut Session, by: By, transaction: &Transaction) -> Result<Outcome, Fault> {
    let conversation = session.as_conversation().filter(|it| by == By::Caller && it.is_ready());
    match conversation {
        Some(conversation) => converse(conversation, transaction),
        None => session.carry_out_transaction(transaction),
    }
}

fn converse(conversation: &mut dyn Converse, transaction: &Transaction) -> Result<Outcome, Fault> {
    conversation.send_transaction(transaction);
    loop {
        if let Some(outcome) = conversation.take_outcome(transaction) {
            return outcome;
        }
        let wanted = if conversation.has_more() { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
        poll(&mut [PollFd::from_borrowed_fd((conversation as &dyn Converse).answer_socket(), wanted)], None).unwrap();
        conversation.read_arrived();
    }
}

/// Loads a database over this address, and has a session there execute transactions whose answers its caller waits for.
pub fn is_driven_over(bed: &Bed, url: &Address) {
    let loading = Loading { url: url.clone(), ..bed.loading(small(), 2) };
    load_missing(&loading, &mut |_| ControlFlow::Continue(())).unwrap();
    let permit = Arc::new(Permit::to_use(url).unwrap());
    let connection = Connection::open_permitted(&permit, url).unwrap();
    let mut session = Session::new(connection, small().row_scale(), Mode::Procedures).unwrap();
    let (mut interpreter, parameters) = (Database::from_population(small()), parameters(3, 2));
    let mut deck = Deck::new(Mix::Deck, 3);
    for number in 0..100 {
        let transaction = parameters.numbered_transaction(deck.kind_of_transaction(number), number, Home::All);
        let outcome = converse(session.as_conversation().unwrap(), &transaction).unwrap();
        assert_eq!(outcome, interpreter.execute_transaction(&transaction), "{number}");
    }
}

/// Something between a session and its server, which passes on what they say.
struct Between {
    _dir: tempfile::TempDir,
    socket: PathBuf,
}

impl Between {
    /// Passes on what the server says with `say`.
    fn new(bed: &Bed, say: impl Fn(&mut UnixStream, &[u8]) + Clone + Send + 'static) -> Between {
        let dir = tempfile::tempdir().unwrap();
        let server = bed.socket();
        let socket = dir.path().join(server.file_name().unwrap());
        let listener = UnixListener::bind(&socket).unwrap();
        std::thread::spawn(move || {
            for near in listener.incoming() {
                let (near, far) = (near.unwrap(), UnixStream::connect(&server).unwrap());
                let (from, to, say) = (near.try_clone().unwrap(), far.try_clone().unwrap(), say.clone());
                std::thread::spawn(move || pass(from, to, |to, bytes| drop(to.write_all(bytes))));
                std::thread::spawn(move || pass(far, near, say));
            }
        });
        Between { _dir: dir, socket }
    }
}

fn pass(mut from: UnixStream, mut to: UnixStream, say: impl Fn(&mut UnixStream, &[u8])) {
    let mut bytes = [0; 4096];
    while let Ok(read @ 1..) = from.read(&mut bytes) {
        say(&mut to, &bytes[..read]);
    }
    let _ = to.shutdown(std::net::Shutdown::Both);
}

#[test]
fn answers_may_come_byte_by_byte() {
    let Some(bed) = Bed::loaded() else { return };
    let slowly = |to: &mut UnixStream, bytes: &[u8]| {
        for byte in bytes {
            let _ = to.write_all(&[*byte]);
            std::thread::yield_now();
        }
    };
    let between = Between::new(&bed, slowly);
    let connection = Connection::open_permitted(&bed.permit(), &bed.url_by(&between.socket)).unwrap();
    let mut session = Session::new(connection, small().row_scale(), Mode::Procedures).unwrap();
    let (mut interpreter, parameters) = (Database::from_population(small()), parameters(3, 2));
    let (mut deck, mut pieces) = (Deck::new(Mix::Deck, 3), 0);
    for number in 0..100 {
        let transaction = parameters.numbered_transaction(deck.kind_of_transaction(number), number, Home::All);
        let conversation = session.as_conversation().unwrap();
        assert!(conversation.is_ready());
        conversation.send_transaction(&transaction);
        let outcome = loop {
            if let Some(outcome) = conversation.take_outcome(&transaction) {
                break outcome.unwrap();
            }
            poll(&mut [PollFd::from_borrowed_fd((conversation as &dyn Converse).answer_socket(), PollFlags::IN)], None)
                .unwrap();
            conversation.read_arrived();
            pieces += 1;
        };
        assert_eq!(outcome, interpreter.execute_transaction(&transaction), "{number}");
    }
    assert!(pieces > 500, "{pieces} pieces of 100 answers");
}

/// What was sent may have been committed, what was not sent cannot be. The next transaction needs a connection first, which
/// its session makes when it is asked to wait.
#[test]
fn a_connection_that_is_cut_is_made_again_by_whoever_may_wait() {
    let Some(bed) = Bed::loaded() else { return };
    static SAID: AtomicUsize = AtomicUsize::new(usize::MAX);
    let until_then = |to: &mut UnixStream, bytes: &[u8]| {
        let left = SAID.load(Ordering::SeqCst).min(bytes.len());
        let _ = to.write_all(&bytes[..left]);
        if left < bytes.len() {
            SAID.store(usize::MAX, Ordering::SeqCst);
            let _ = to.shutdown(std::net::Shutdown::Both);
        }
    };
    let between = Between::new(&bed, until_then);
    let permit = bed.permit();
    let connection = Connection::open_permitted(&permit, &bed.url_by(&between.socket)).unwrap();
    let mut session = Session::new(connection, small().row_scale(), Mode::Procedures).unwrap();
    let before = read_totals(&mut bed.connection_with(&permit)).unwrap();
    let of = |kind, number| parameters(1, 2).numbered_transaction(kind, number, Home::All);
    let (payment, level) = (of(TransactionKind::Payment, 1), of(TransactionKind::StockLevel, 2));
    // In the middle of the answer.
    for (said, transaction, code) in [
        (0, &payment, Fault::OUTCOME_UNKNOWN),
        (30, &payment, Fault::OUTCOME_UNKNOWN),
        (0, &level, Fault::LOST),
        (30, &level, Fault::LOST),
    ] {
        SAID.store(said, Ordering::SeqCst);
        let conversation = session.as_conversation().unwrap();
        assert!(conversation.is_ready());
        let fault = converse(conversation, transaction).unwrap_err();
        assert_eq!((fault.code.as_str(), fault.again), (code, false), "{said}: {fault}");
        assert!(!session.as_conversation().unwrap().is_ready(), "it has no connection");
        session.carry_out_transaction(&level).unwrap();
    }
    let after = read_totals(&mut bed.connection_with(&permit)).unwrap();
    assert_eq!(after.payments - before.payments, 2, "the unknown ones were committed");
}

/// Answers to something else are no answers: a session that was left in the middle is connected again.
#[test]
fn an_answer_that_nobody_read_is_not_taken_for_that_of_the_next_transaction() {
    let Some(bed) = Bed::loaded() else { return };
    let mut session = bed.session(&bed.permit(), Mode::Procedures);
    let of = |kind| parameters(1, 2).numbered_transaction(kind, 1, Home::All);
    session.as_conversation().unwrap().send_transaction(&of(TransactionKind::StockLevel));
    assert!(!session.as_conversation().unwrap().is_ready());
    assert!(matches!(session.carry_out_transaction(&of(TransactionKind::Payment)).unwrap(), Outcome::Paid(_)));
    assert!(session.as_conversation().unwrap().is_ready());
}

/// What needs several answers, or has a number of its own to send, is waited for by a thread.
#[test]
fn sessions_that_cannot_converse_say_so() {
    let Some(bed) = Bed::loaded() else { return };
    let permit = bed.permit();
    assert!(bed.session(&permit, Mode::Procedures).as_conversation().is_some());
    assert!(bed.session(&permit, Mode::Client).as_conversation().is_none());
    let mut connection = bed.connection_with(&permit);
    create_session_rows(&mut connection, "run", 1).unwrap();
    let mut marked = Session::new_marked(connection, small().row_scale(), Mode::Procedures, ("run", 0)).unwrap();
    assert!(marked.as_conversation().is_none());
}

/// A transaction whose connection was lost while it waited for a lock is committed when its session has gone on.
#[test]
fn a_commit_that_comes_late_does_not_take_a_number_back() {
    for mode in [Mode::Procedures, Mode::Client] {
        let Some(bed) = Bed::loaded() else { return };
        let permit = bed.permit();
        let mut connection = bed.connection_with(&permit);
        create_session_rows(&mut connection, "run", 1).unwrap();
        let marked =
            || Session::new_marked(bed.connection_with(&permit), small().row_scale(), mode, ("run", 0)).unwrap();
        let mut sessions = [marked(), marked()];
        let payment = |number| parameters(1, 2).numbered_transaction(TransactionKind::Payment, number, Home::All);
        for (session, number, stands) in [(0, 1, 1), (0, 2, 2), (1, 3, 2), (1, 4, 2)] {
            sessions[session].carry_out_transaction(&payment(number)).unwrap();
            let kept = read_kept(&mut connection, "run", small().row_scale().order_count()).unwrap();
            assert_eq!(kept.sessions[&0], stands, "{mode:?}: {number}");
        }
    }
}
