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
        let _ = self.start.send(on_time_line(line, moment, clock));
    }

    /// When the clock of this thread shows `moment`, the rank is at this moment of the run; `None` before it could begin.
    pub(super) fn on_line_of_run(&self, moment: Instant, clock: Clock) -> Option<Instant> {
        self.line.map(|line| on_time_line(line, moment, clock))
    }
}

/// The same moment on another time line of this machine. The two may be of different clocks of its kernel, whose readings are then
/// compared.
fn on_time_line(line: TimeLine, moment: Instant, clock: Clock) -> Instant {
    let own = clock.time_line();
    if own.is_raw == line.is_raw {
        let shown = own.origin_ns.saturating_add(moment.as_ns());
        return Instant::from_ns(shown.saturating_sub(line.origin_ns));
    }
    let (here, there) = (clock.now(), Clock::on_time_line(line).now());
    Instant::from_ns((there.as_ns().saturating_add(moment.as_ns())).saturating_sub(here.as_ns()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whichever clocks of the kernel the two time lines are of.
    #[test]
    fn a_moment_is_the_same_on_both_time_lines() {
        let clock = Clock::start();
        for is_raw in [false, true] {
            let line = Clock::on_time_line(TimeLine { is_raw, origin_ns: 1_000 });
            let (now, there) = (clock.now(), line.now());
            let translated = on_time_line(line.time_line(), now + assay_base::Span::from_secs(2), clock);
            let ahead = translated.as_ns() - there.as_ns();
            assert!(ahead.abs_diff(2_000_000_000) < 100_000_000, "{is_raw}: {ahead}");
        }
    }
}
