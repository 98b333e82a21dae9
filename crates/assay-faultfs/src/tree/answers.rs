//! Answers that are given later: after a delay, after a stall, or when a hang ends.
//!
//! One thread gives them. It sleeps until 100 µs before the next is due and spins for the rest, because a sleep ends late.

use super::operation::TreeOperation;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The last period before an answer is due is spent spinning.
const SPIN: Duration = Duration::from_micros(100);

/// Passes an answer to the kernel.
pub(crate) type Send = Box<dyn FnOnce() + std::marker::Send>;

struct HeldAnswer {
    operation: TreeOperation,
    due: Instant,
    send: Send,
}

#[derive(Default)]
struct Held {
    answers: Vec<HeldAnswer>,
    /// Kinds of calls that are not answered.
    hanging: Vec<TreeOperation>,
    stalled_until: Option<Instant>,
    is_over: bool,
}

impl Held {
    fn is_hanging(&self, operation: TreeOperation) -> bool {
        !self.is_over && self.hanging.contains(&operation)
    }

    /// When an answer may be given at the earliest.
    fn due_of(&self, answer: &HeldAnswer) -> Instant {
        match self.stalled_until {
            _ if self.is_over => answer.due.min(Instant::now()),
            Some(until) => until.max(answer.due),
            None => answer.due,
        }
    }

    /// The index of the answer that is due first, and when.
    fn first_due(&self) -> Option<(usize, Instant)> {
        let waiting = self.answers.iter().enumerate().filter(|(_, answer)| !self.is_hanging(answer.operation));
        waiting.map(|(index, answer)| (index, self.due_of(answer))).min_by_key(|(_, due)| *due)
    }
}

/// See the module.
#[derive(Clone, Default)]
pub(crate) struct Answers(Arc<(Mutex<Held>, Condvar)>);

impl Answers {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives an answer, `delay` after `taken`; at once where nothing holds it back.
    pub(crate) fn give_answer(&self, operation: TreeOperation, taken: Instant, delay: Duration, send: Send) {
        let mut held = self.held();
        if held.is_over || delay.is_zero() && held.stalled_until.is_none() && !held.is_hanging(operation) {
            drop(held);
            return send();
        }
        held.answers.push(HeldAnswer { operation, due: taken + delay, send });
        drop(held);
        self.0.1.notify_all();
    }

    /// Number of answers that are held.
    pub(crate) fn count(&self) -> u64 {
        self.held().answers.len() as u64
    }

    /// From now on these kinds of calls are not answered.
    pub(crate) fn set_hanging(&self, hanging: Vec<TreeOperation>) {
        self.held().hanging = hanging;
        self.0.1.notify_all();
    }

    /// Answers nothing until then.
    pub(crate) fn stall_until(&self, until: Instant) {
        self.held().stalled_until = Some(until);
        self.0.1.notify_all();
    }

    /// The main function of the answering thread.
    pub(crate) fn serve(&self) {
        let mut held = self.held();
        loop {
            let now = Instant::now();
            if held.stalled_until.is_some_and(|until| until <= now) {
                held.stalled_until = None;
            }
            match held.first_due() {
                None if held.is_over => return,
                None => held = self.0.1.wait(held).unwrap_or_else(PoisonError::into_inner),
                Some((index, due)) if due <= now => {
                    let answer = held.answers.remove(index);
                    drop(held);
                    (answer.send)();
                    held = self.held();
                }
                Some((_, due)) if due.saturating_duration_since(now) <= SPIN => {
                    drop(held);
                    while Instant::now() < due {
                        std::hint::spin_loop();
                    }
                    held = self.held();
                }
                Some((_, due)) => {
                    let span = due.saturating_duration_since(now).saturating_sub(SPIN);
                    held = self.0.1.wait_timeout(held, span).unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        }
    }

    /// Gives every answer that is held, holds none any more, and ends the thread.
    pub(crate) fn end(&self) {
        self.held().is_over = true;
        self.0.1.notify_all();
    }
}
