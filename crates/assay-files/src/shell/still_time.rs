//! Times in which the whole process did not run: it was stopped by a signal, frozen with its control group, or got no
//! processor. A call that was open meanwhile returns late, and what was due meanwhile begins late, because of ourselves.
//!
//! Whoever starts the clients knows of such times: a thread of its own wakes each few milliseconds and makes no call on
//! the file system.

use assay_base::{Instant, Span};
use std::fmt;
use std::sync::Arc;

type LookUp = dyn Fn(Instant, Instant) -> Option<(Instant, Instant)> + Send + Sync;

/// See the module.
#[derive(Clone, Default)]
pub struct StillTime(Option<Arc<LookUp>>);

impl StillTime {
    /// Asks `look_up` for the part of a time, from its beginning to its end, in which the process did not run.
    pub fn from_look_up(
        look_up: impl Fn(Instant, Instant) -> Option<(Instant, Instant)> + Send + Sync + 'static,
    ) -> StillTime {
        StillTime(Some(Arc::new(look_up)))
    }

    /// The part of a time in which the process did not run.
    pub(super) fn part_within(&self, from: Instant, to: Instant) -> Option<(Instant, Instant)> {
        self.0.as_ref().and_then(|look_up| look_up(from, to))
    }

    /// How long that part is.
    pub(super) fn length_within(&self, from: Instant, to: Instant) -> Span {
        self.part_within(from, to).map_or(Span::ZERO, |(begin, end)| end.since(begin))
    }
}

impl fmt::Debug for StillTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "StillTime(looked up)" } else { "StillTime(never)" })
    }
}
