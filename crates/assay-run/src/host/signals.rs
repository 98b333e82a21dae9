//! Signals, and every other reason to end a run early, as cells that workers read: one cell for requests to the
//! program, which end all its runs, and one per run for its own reasons.

use crate::failure::Failure;
use assay_device::ignored::is_ignored;
use assay_engine::shell::Stop;
use assay_record::CloseReason;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use std::sync::atomic::{AtomicI32, AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};

/// A write beyond the largest size that this process may give a file (`ulimit -f`) is an error of that write, EFBIG. Unless
/// the signal has a handler, it ends the program before anybody learns of the error. A program that this one starts does
/// not inherit the handler.
pub fn survive_file_size_limit() {
    let seen = Arc::new(std::sync::atomic::AtomicBool::new(false));
    // Without the handler a limit ends the program, as before.
    let _ = signal_hook::flag::register(SIGXFSZ, seen);
}

/// Shared by all workers of a run and everything that may end it.
#[derive(Clone, Debug, Default)]
pub struct StopCell(Arc<AtomicU8>, Arc<OnceLock<String>>);

/// Reasons by the number in the cell; 0 is none. With the last one, nothing is waited for.
const REASONS: [CloseReason; 7] = [
    CloseReason::Interrupted,
    CloseReason::DeviceLag,
    CloseReason::GeneratorLag,
    CloseReason::TargetLost,
    CloseReason::LogFailed,
    CloseReason::EngineFailed,
    CloseReason::Interrupted,
];
const AT_ONCE: u8 = REASONS.len() as u8;

impl StopCell {
    /// The request to stop, if there is one.
    #[inline]
    pub fn stop_request(&self) -> Option<Stop> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            AT_ONCE => Some(Stop::Now(CloseReason::Interrupted)),
            number => Some(Stop::Drain(REASONS[usize::from(number) - 1])),
        }
    }

    /// Requests the end; the first reason stays.
    pub fn request_stop(&self, reason: CloseReason) {
        let number = REASONS.iter().position(|known| *known == reason).map_or(1, |at| at as u8 + 1);
        let _ = self.0.compare_exchange(0, number, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Requests an early end, and says why.
    pub fn ask_because(&self, why: &str) {
        if !self.is_set() {
            let _ = self.1.set(why.to_owned());
            self.request_stop(CloseReason::Interrupted);
        }
    }

    /// The reason why the end was requested, if one was given.
    pub fn stop_reason(&self) -> Option<&str> {
        self.1.get().map(String::as_str)
    }

    /// Takes over what was requested in another cell, where that is more urgent than what was requested here.
    pub fn take_over(&self, other: &StopCell) {
        match other.0.load(Ordering::Relaxed) {
            0 => {}
            AT_ONCE => self.0.store(AT_ONCE, Ordering::Relaxed),
            number => {
                if let Some(why) = other.stop_reason().filter(|_| !self.is_set()) {
                    let _ = self.1.set(why.to_owned());
                }
                let _ = self.0.compare_exchange(0, number, Ordering::Relaxed, Ordering::Relaxed);
            }
        }
    }

    /// A signal arrived: the first requests the end, the second does not wait for operations in flight.
    fn note_signal(&self) {
        if self.0.compare_exchange(0, 1, Ordering::Relaxed, Ordering::Relaxed).is_err() {
            self.0.store(AT_ONCE, Ordering::Relaxed);
        }
    }

    /// True once an end was requested.
    pub fn is_set(&self) -> bool {
        self.stop_request().is_some()
    }
}

/// The signals that end a run.
const ENDING: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// The last of them that arrived; 0: none.
static ARRIVED: AtomicI32 = AtomicI32::new(0);

/// Makes SIGINT, SIGTERM and SIGHUP end the run regularly from now on. One that is ignored stays ignored: whoever started
/// this program under nohup, or in the background of a script, wants it to go on.
pub fn stop_on_signals() -> Result<StopCell, Failure> {
    watch_signals().map_err(|e| Failure::host_unable(format!("signals cannot be watched: {e}")))
}

fn watch_signals() -> std::io::Result<StopCell> {
    let cell = StopCell::default();
    let mut signals = signal_hook::iterator::Signals::new(ENDING.into_iter().filter(|signal| !is_ignored(*signal)))?;
    let shared = cell.clone();
    crate::host::threads::thread_builder("signals").spawn(move || {
        for signal in signals.forever() {
            ARRIVED.store(signal, Ordering::Relaxed);
            shared.note_signal();
        }
    })?;
    Ok(cell)
}

/// Ends this process as the signal that arrived would have ended it, if one did: for programs whose callers look for that.
pub fn end_as_signalled() {
    match ARRIVED.load(Ordering::Relaxed) {
        0 => {}
        // It returns only where the signal does not end a process.
        signal => drop(signal_hook::low_level::emulate_default_handler(signal)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_reason_stands_and_a_second_signal_hurries() {
        let cell = StopCell::default();
        assert_eq!(cell.stop_request(), None);
        cell.request_stop(CloseReason::DeviceLag);
        cell.request_stop(CloseReason::LogFailed);
        assert_eq!(cell.stop_request(), Some(Stop::Drain(CloseReason::DeviceLag)));
        cell.note_signal();
        assert_eq!(cell.stop_request(), Some(Stop::Now(CloseReason::Interrupted)));
    }

    #[test]
    fn what_ends_a_program_ends_its_run_and_not_the_other_way_round() {
        let (program, run) = (StopCell::default(), StopCell::default());
        run.take_over(&program);
        assert_eq!(run.stop_request(), None);
        run.ask_because("another rank ended before its time");
        run.take_over(&program);
        assert_eq!((program.is_set(), run.stop_reason()), (false, Some("another rank ended before its time")));
        program.request_stop(CloseReason::LogFailed);
        run.take_over(&program);
        assert_eq!(run.stop_request(), Some(Stop::Drain(CloseReason::Interrupted)), "the first reason stays");
        program.note_signal();
        run.take_over(&program);
        assert_eq!(run.stop_request(), Some(Stop::Now(CloseReason::Interrupted)));
    }
}
