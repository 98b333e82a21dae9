//! What one client tells the coordinator: which call it is in, and what it has finished. The coordinator looks at it
//! at any time, also while the client's call does not return.

use super::book::Book;
use super::client_loops::ClientTime;
use super::finished::Finished;
use assay_base::Instant;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A call that has not returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenCall {
    /// What it does.
    pub operation: &'static str,
    /// Its flow, where it has one.
    pub flow: Option<usize>,
    /// Which call of the client it is, counted from 0.
    pub number: u64,
    /// When it was issued.
    pub issued: Instant,
}

/// A sequence that is not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OpenSequence {
    /// Its index in the phase.
    pub(super) sequence: usize,
    /// How many of them: those of a server are made together.
    pub(super) number: u64,
    /// When its first call was issued.
    pub(super) issued: Instant,
}

/// What is on a desk.
#[derive(Debug, Default)]
pub(super) struct DeskState {
    pub(super) sequence: Option<OpenSequence>,
    pub(super) call: Option<OpenCall>,
    pub(super) finished: Vec<Finished>,
    pub(super) time: ClientTime,
    /// What lies here is counted for an interval that is just being closed: what ends from now on stays here until the
    /// next one has begun, or it would be counted as open and as ended.
    pub(super) is_collected: bool,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Desk {
    state: Mutex<DeskState>,
}

/// So many that have ended are counted at once: a lock that all clients share is then taken once for all of them.
const BATCH: usize = 64;

impl DeskState {
    /// What was open is not any more, if what has ended is a sequence and not a span of some of its calls.
    fn end_sequence(&mut self, ended: &Finished) {
        if ended.sequence.is_some() {
            self.sequence = None;
        }
    }

    fn count_batch(&mut self, book: &Mutex<Book>) {
        if self.finished.len() >= BATCH && !self.is_collected {
            let mut book = book.lock().unwrap_or_else(PoisonError::into_inner);
            self.finished.drain(..).for_each(|finished| book.count(finished));
        }
    }
}

impl Desk {
    /// The desk of a client in a phase that begins then.
    pub(super) fn starting_at(begun: Instant) -> Desk {
        Desk { state: Mutex::new(DeskState { time: ClientTime::starting_at(begun), ..DeskState::default() }) }
    }

    /// Locks it, also after a client has panicked with the lock: each entry is valid by itself.
    pub(super) fn lock(&self) -> MutexGuard<'_, DeskState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call is issued now, the first of a sequence perhaps.
    pub(super) fn begin_call(&self, call: OpenCall, sequence: Option<OpenSequence>) {
        let mut state = self.lock();
        state.call = Some(call);
        if sequence.is_some() {
            state.sequence = sequence;
        }
    }

    /// The call has returned, and with the last one the sequence has ended; those of a server may end several at once.
    pub(super) fn end_call(&self, call: Finished, sequences: impl IntoIterator<Item = Finished>, book: &Mutex<Book>) {
        let mut state = self.lock();
        state.call = None;
        state.time.calls_since = call.completed;
        state.finished.push(call);
        for sequence in sequences {
            state.end_sequence(&sequence);
            state.time.sequences_since = sequence.completed;
            state.finished.push(sequence);
        }
        state.count_batch(book);
    }

    /// Something has ended without a call.
    pub(super) fn count_at_once(&self, ended: Vec<Finished>, book: &Mutex<Book>) {
        let mut state = self.lock();
        ended.iter().for_each(|ended| state.end_sequence(ended));
        state.finished.extend(ended);
        state.count_batch(book);
    }

    /// The client does nothing more in this phase.
    pub(super) fn end_client(&self) {
        self.lock().time.has_ended = true;
    }
}
