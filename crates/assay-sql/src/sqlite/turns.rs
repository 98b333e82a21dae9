//! The order in which the sessions of this process write to a file of SQLite, which has one writer at a time.
//!
//! SQLite itself has no queue: a session that finds the file in use can only try again later, and of four sessions that
//! do so one may be unlucky eleven times in a second. So they wait here, in the order in which they came. Another
//! process is met as before, by a transaction that is tried again.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The session that writes, and those that come next.
#[derive(Debug, Default)]
pub(super) struct Turns {
    state: Mutex<State>,
    passed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The number that the next one gets.
    next: u64,
    /// The number whose turn it is.
    now: u64,
}

/// The right to write, as long as it exists.
#[derive(Debug)]
pub(super) struct Turn<'a>(&'a Turns);

impl Turns {
    /// The numbers stay whole if their holder panics.
    fn lock_state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until all who came before have written.
    pub(super) fn wait_for_turn(&self) -> Turn<'_> {
        let mut state = self.lock_state();
        let own = state.next;
        state.next += 1;
        drop(self.passed.wait_while(state, |state| state.now != own));
        Turn(self)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.lock_state().now += 1;
        self.0.passed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn one_writes_at_a_time_in_the_order_of_arrival() {
        let (turns, written) = (Arc::new(Turns::default()), Arc::new(Mutex::new(Vec::new())));
        let first = turns.wait_for_turn();
        let mut waiting = Vec::new();
        for number in 0..4 {
            let (turns, written) = (Arc::clone(&turns), Arc::clone(&written));
            let before = turns.lock_state().next;
            let shared = Arc::clone(&turns);
            waiting.push(std::thread::spawn(move || {
                let _turn = shared.wait_for_turn();
                written.lock().unwrap().push(number);
            }));
            while turns.lock_state().next == before {
                std::thread::yield_now();
            }
        }
        assert!(written.lock().unwrap().is_empty(), "the first one has not written yet");
        drop(first);
        waiting.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(*written.lock().unwrap(), [0, 1, 2, 3]);
    }

    #[test]
    fn one_that_panics_passes_its_turn_on() {
        let turns = Arc::new(Turns::default());
        let shared = Arc::clone(&turns);
        let panics = std::thread::spawn(move || {
            let _turn = shared.wait_for_turn();
            panic!("on purpose");
        });
        assert!(panics.join().is_err());
        drop(turns.wait_for_turn());
    }
}
