//! Threads that share a piece of work before or after the load: each takes the next part until all are taken, or until
//! one of them fails.

use crate::trouble::Trouble;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{Builder, ScopedJoinHandle};

/// Enough for a worker, whose buffers are not on the stack.
const STACK: usize = 512 << 10;

/// The parts of a piece of work that nobody has taken yet.
#[derive(Debug)]
pub(super) struct Parts {
    next: AtomicU64,
    number: u64,
}

impl Parts {
    pub(super) fn new(number: u64) -> Parts {
        Parts { next: AtomicU64::new(0), number }
    }

    /// The next part.
    pub(super) fn take(&self) -> Option<u64> {
        // It stops at the number, or it would overflow one day.
        let taken =
            self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |next| (next < self.number).then(|| next + 1));
        taken.ok()
    }

    /// Nothing more is taken.
    pub(super) fn end(&self) {
        self.next.store(self.number, Ordering::Relaxed);
    }
}

/// Lets so many threads do the work, and returns what each came to. After the first failure no thread takes another
/// part.
///
/// # Errors
/// The first failure, or that a thread could not be started.
pub(super) fn run_workers<T: Send>(
    threads: u32,
    parts: &Parts,
    work: impl Fn(&Parts) -> Result<T, Trouble> + Sync,
) -> Result<Vec<T>, Trouble> {
    let until_failure = || {
        let result = work(parts);
        if result.is_err() {
            parts.end();
        }
        result
    };
    std::thread::scope(|scope| {
        let mut started: Vec<ScopedJoinHandle<'_, Result<T, Trouble>>> = Vec::new();
        for number in 0..threads.max(1) {
            let builder = Builder::new().name(format!("worker-{number}")).stack_size(STACK);
            match builder.spawn_scoped(scope, until_failure) {
                Ok(thread) => started.push(thread),
                // Fewer threads take longer; without any there is nobody.
                Err(why) if started.is_empty() => {
                    return Err(Trouble::host(format!("no thread could be started: {why}; end other programs")));
                }
                Err(_) => break,
            }
        }
        started.into_iter().map(|thread| thread.join().expect("a worker does not panic")).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_is_taken_once_and_a_failure_ends_the_rest() {
        let parts = Parts::new(1000);
        let sums = run_workers(4, &parts, |parts| {
            let mut sum = 0;
            while let Some(part) = parts.take() {
                sum += part;
            }
            Ok(sum)
        });
        assert_eq!(sums.unwrap().iter().sum::<u64>(), 499_500);
        let parts = Parts::new(u64::MAX);
        let failed = run_workers(2, &parts, |parts| match parts.take() {
            Some(0) => Err(Trouble::host("the first")),
            _ => {
                while parts.take().is_some() {}
                Ok(())
            }
        });
        assert_eq!(failed, Err(Trouble::host("the first")));
    }
}
