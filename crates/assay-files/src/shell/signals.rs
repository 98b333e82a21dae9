//! What the threads of a phase tell each other: that a client is done, and that all shall stop.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Thread;
use std::time::Duration;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Signals {
    stop: AtomicBool,
    clients_done: Mutex<usize>,
    news: Condvar,
    /// Threads that wait for each other, as those of a server do.
    threads: Mutex<Vec<Thread>>,
}

impl Signals {
    fn lock(&self) -> MutexGuard<'_, usize> {
        self.clients_done.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether no new sequence shall begin.
    pub(super) fn stops(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(super) fn request_stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        // Under the lock, so that the coordinator is not just before its wait.
        let _guard = self.lock();
        self.news.notify_all();
    }

    /// Wakes the coordinator for what another thread has found.
    pub(super) fn wake_coordinator(&self) {
        let _guard = self.lock();
        self.news.notify_all();
    }

    /// The threads that wait for each other from now on.
    pub(super) fn set_threads(&self, threads: Vec<Thread>) {
        *self.threads.lock().unwrap_or_else(PoisonError::into_inner) = threads;
    }

    /// Wakes all of them but the one that says it: something may be due for them.
    pub(super) fn wake_others(&self, number: usize) {
        let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.iter().enumerate().filter(|(at, _)| *at != number).for_each(|(_, thread)| thread.unpark());
    }

    /// A phase begins: no client is done.
    pub(super) fn begin_phase(&self) {
        *self.lock() = 0;
    }

    pub(super) fn clients_done(&self) -> usize {
        *self.lock()
    }

    pub(super) fn note_client_done(&self) {
        *self.lock() += 1;
        self.news.notify_all();
    }

    /// Waits until not as many clients are done as the caller knows of, or for other news, but not longer than this.
    pub(super) fn wait_for_news(&self, known_done: usize, longest: Duration) {
        let done = self.lock();
        if *done == known_done {
            drop(self.news.wait_timeout(done, longest).unwrap_or_else(PoisonError::into_inner));
        }
    }
}

/// Stops the clients from another thread, for example when a signal arrives: the calls that are open return, sequences
/// that are begun are carried out, and no other ones begin.
#[derive(Clone, Debug)]
pub struct StopHandle(pub(super) Arc<Signals>);

impl StopHandle {
    /// See the type.
    pub fn request_stop(&self) {
        self.0.request_stop();
    }
}

/// Says that a client is done when it is dropped, also after a panic.
pub(super) struct DoneGuard<'a>(pub(super) &'a Signals);

impl Drop for DoneGuard<'_> {
    fn drop(&mut self) {
        self.0.note_client_done();
    }
}
