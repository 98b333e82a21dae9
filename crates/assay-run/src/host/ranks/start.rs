//! How a rank in a thread of its own learns from the thread that joins the ranks when the load begins.

use crate::drive::AgreeOnStart;
use assay_base::Instant;
use assay_device::clock::{Clock, TimeLine};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};

/// The rank's side.
#[derive(Debug)]
pub(super) struct StartOfRank {
    /// Tells that the rank could begin, and on which time line it works.
    armed: SyncSender<TimeLine>,
    start: Mutex<Receiver<Instant>>,
}

/// The side of the thread that joins the ranks.
#[derive(Debug)]
pub(super) struct StartOfAll {
    /// Hears that the rank could begin.
    pub(super) armed: Receiver<TimeLine>,
    start: SyncSender<Instant>,
    /// The time line on which it works, once it could begin.
    line: Option<TimeLine>,
}

pub(super) fn start_channel() -> (StartOfRank, StartOfAll) {
    let ((arm, armed), (tell, start)) = (sync_channel(1), sync_channel(1));
    (StartOfRank { armed: arm, start: Mutex::new(start) }, StartOfAll { armed, start: tell, line: None })
}

impl AgreeOnStart for StartOfRank {
    fn agree_on_start(&self, clock: Clock) -> Option<Instant> {
        self.armed.send(clock.time_line()).ok()?;
        self.start.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
    }
}

impl StartOfAll {
    /// Whether the rank has just become able to begin.
    pub(super) fn has_armed(&mut self) -> bool {
        let Ok(line) = self.armed.try_recv() else { return false };
        self.line = Some(line);
        true
    }

    /// Tells the rank to begin when the clock of this thread shows `moment`.
    pub(super) fn tell_start(&self, moment: Instant, clock: Clock) {
        let Some(line) = self.line else { return };
        // Both are time lines of one clock, whose origins differ.
        let shown = clock.time_line().origin_ns.saturating_add(moment.as_ns());
        let _ = self.start.send(Instant::from_ns(shown.saturating_sub(line.origin_ns)));
    }
}
