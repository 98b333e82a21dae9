//! Threads that work for a command while it waits for them.

use crate::failure::Failure;
use std::thread::{Builder, Scope, ScopedJoinHandle};

/// Starts one within `scope`.
pub fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: String,
    body: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, Failure> {
    let failed = |e| Failure::host(format!("the thread {name} could not be started: {e}"));
    Builder::new().name(name.clone()).spawn_scoped(scope, body).map_err(failed)
}
