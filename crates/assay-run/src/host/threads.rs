//! Threads of the program: each has a stack of fixed size, whatever `ulimit -s` and `RUST_MIN_STACK` say.

use crate::failure::Failure;
use std::thread::{Builder, Scope, ScopedJoinHandle};

/// Stack for a thread that works for a command: what it needs at most, and a reserve.
const STACK: usize = 2 << 20;
/// Stack for the command itself: parsing arguments, rendering, and parsing nested data.
const STACK_OF_ALL: usize = 8 << 20;

/// A builder for a thread.
pub fn thread_builder(name: &str) -> Builder {
    Builder::new().name(name.to_owned()).stack_size(STACK)
}

/// Starts a thread within `scope`.
pub fn spawn_scoped<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: String,
    body: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, Failure> {
    let thread = thread_builder(&name).spawn_scoped(scope, body);
    thread.map_err(|e| Failure::host_unable(format!("the thread {name} could not be started: {e}")))
}

/// Does all of the program's work on a separate stack: on the one that the kernel gives to the first thread, a small
/// `ulimit -s` could end the program anywhere. `None` when it panicked.
pub fn on_a_stack_of_its_own<T: Send + 'static>(body: fn() -> T) -> Option<T> {
    match Builder::new().name("assay".into()).stack_size(STACK_OF_ALL).spawn(body) {
        Ok(thread) => thread.join().ok(),
        // Where no thread can be started, the first one is used with the stack it has.
        Err(_) => std::panic::catch_unwind(body).ok(),
    }
}
