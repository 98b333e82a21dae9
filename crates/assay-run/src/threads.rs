//! Threads of the program: each with a stack of its own size, whatever `ulimit -s` and `RUST_MIN_STACK` say.

use crate::failure::Failure;
use std::thread::{Builder, Scope, ScopedJoinHandle};

/// What a thread that works for a command needs at most, with room to spare.
const STACK: usize = 2 << 20;
/// The command itself: reading arguments, rendering, and parsing what is nested.
const STACK_OF_ALL: usize = 8 << 20;

/// A thread to be started.
pub fn builder(name: &str) -> Builder {
    Builder::new().name(name.to_owned()).stack_size(STACK)
}

/// Starts one within `scope`.
pub fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: String,
    body: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, Failure> {
    let failed = |e| Failure::host(format!("the thread {name} could not be started: {e}"));
    builder(&name).spawn_scoped(scope, body).map_err(failed)
}

/// Does all of the program's work: on the stack that the kernel gives the first thread, a small `ulimit -s` would end it
/// anywhere. `None` when it panicked.
pub fn on_a_stack_of_its_own<T: Send + 'static>(body: fn() -> T) -> Option<T> {
    match Builder::new().name("assay".into()).stack_size(STACK_OF_ALL).spawn(body) {
        Ok(thread) => thread.join().ok(),
        // Where no thread can be started, the first one still has what it has.
        Err(_) => std::panic::catch_unwind(body).ok(),
    }
}
