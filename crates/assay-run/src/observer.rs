//! Who is told of a run while it goes on. What is shown of it, and where, is the caller's affair: nothing in this crate prints.

use assay_base::Span;
use assay_record::{Event, Header, Interval};

/// Is told of a run, or of a preparation, as it goes on. What it does not care for it leaves out.
pub trait Observer {
    /// A run begins, or one is looked at that has this header.
    fn start(&mut self, head: &Header) {
        let _ = head;
    }

    /// An interval has ended.
    fn interval(&mut self, interval: &Interval) {
        let _ = interval;
    }

    /// Something happened that the user should see at once.
    fn event(&mut self, event: &Event) {
        let _ = event;
    }

    /// Time passes between intervals.
    fn tick(&self) {}

    /// A stretch of writing or reading has done so many bytes of `total` and `took` so long for them.
    fn bytes(&mut self, what: &str, done: u64, total: u64, took: Span) {
        let _ = (what, done, total, took);
    }

    /// The run, or the stretch, is over.
    fn finish(&mut self) {}

    /// A line that the user must see, whatever else is shown.
    fn warn(&self, line: &str) {
        let _ = line;
    }
}

/// Nobody looks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {}

/// Where a line for the user goes that has no run to belong to.
pub type Tell = fn(&str);
