//! A limit for what waits within a library and cannot be interrupted.

use crate::failure::Failure;
use crate::host::threads::thread_builder;
use assay_base::Span;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

/// Ends this process unless it is dropped in time.
#[must_use]
pub(super) struct TimeLimit {
    /// What the thread that waits hears of when it is dropped.
    _over: SyncSender<()>,
}

impl TimeLimit {
    /// From now on. When the time is over, `late` is reported, and this process ends with its code at once: what a library has set up to
    /// run at the end of a process may wait as well.
    ///
    /// # Errors
    /// No thread could be started.
    pub(super) fn begin(within: Span, late: Failure, report: fn(&Failure)) -> Result<TimeLimit, Failure> {
        let (over, is_over) = sync_channel(0);
        let wait = move || {
            if is_over.recv_timeout(Duration::from_nanos(within.as_ns())) == Err(RecvTimeoutError::Timeout) {
                report(&late);
                signal_hook::low_level::exit(i32::from(late.code));
            }
        };
        let started = thread_builder("time-limit").spawn(wait);
        started.map_err(|e| Failure::host_unable(format!("the thread of a time limit could not be started: {e}")))?;
        Ok(TimeLimit { _over: over })
    }
}
