//! The interface through which a run reports its progress. The caller decides what to show and where; this crate prints nothing.

use assay_base::Span;
use assay_record::{Event, Header, Interval};
use std::path::Path;

/// Receives the progress of a run or of a preparation. An implementation overrides only the methods it needs.
pub trait Observer {
    /// The results of what is done are in this directory, which has just been created, or is continued.
    fn begin_directory(&mut self, dir: &Path) {
        let _ = dir;
    }

    /// The next part of the work begins; it is called `title`.
    fn begin_part(&mut self, title: &str) {
        let _ = title;
    }

    /// A line about what was done, which a quiet observer leaves out.
    fn say_line(&self, line: &str) {
        let _ = line;
    }

    /// A run with this header begins, or `watch` has begun to follow one.
    fn begin_run(&mut self, head: &Header) {
        let _ = head;
    }

    /// An interval has ended.
    fn interval_ended(&mut self, interval: &Interval) {
        let _ = interval;
    }

    /// It has become certain that the run will be judged FAIL, whatever follows, for the reason `why`.
    fn fails_for_certain(&mut self, why: &str) {
        let _ = why;
    }

    /// Something happened that the user should see at once.
    fn show_event(&mut self, event: &Event) {
        let _ = event;
    }

    /// Time passes between intervals.
    fn time_passes(&self) {}

    /// A pass of writing or reading has completed `done` of `total` bytes, in the time `took`.
    fn bytes_done(&mut self, what: &str, done: u64, total: u64, took: Span) {
        let _ = (what, done, total, took);
    }

    /// About `done` of `total` rows of a database are loaded, `found` of them by an earlier load, the others in the time
    /// `took`.
    fn rows_done(&mut self, done: u64, total: u64, found: u64, took: Span) {
        let _ = (done, total, found, took);
    }

    /// The run, or the pass, is over.
    fn finish_part(&mut self) {}

    /// A line that the user must see, whatever else is shown.
    fn warn_user(&self, line: &str) {
        let _ = line;
    }
}

/// Ignores all progress.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {}

/// Takes a message for the user that does not belong to a run.
pub type Tell = fn(&str);
