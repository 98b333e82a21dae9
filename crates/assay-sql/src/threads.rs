//! Threads of this room: each has a stack of fixed size, whatever `ulimit -s` and `RUST_MIN_STACK` say.

use std::thread::Builder;

/// Enough for SQLite and for the rows of a part, which are not on the stack.
const STACK: usize = 2 << 20;

/// A builder for a thread.
pub(crate) fn thread_builder(name: &str) -> Builder {
    Builder::new().name(name.to_owned()).stack_size(STACK)
}
