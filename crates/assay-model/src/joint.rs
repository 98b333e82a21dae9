//! Operations of several streams that are drawn together, in the order of their intended times. Which stream and which
//! target the next operation belongs to is known only when it is drawn. So operations are drawn before they are due,
//! and wait here.

use assay_base::{Instant, Op};
use std::collections::VecDeque;

/// The most operations that are drawn at once in search of one for the target. To draw this many takes some
/// milliseconds.
const IN_ONE_GO: u64 = 1 << 14;

/// An operation for the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntendedOperation {
    /// The intended time of the operation.
    pub wanted: Instant,
    /// The stream of the operation, by its position in the plan.
    pub stream: u16,
    /// The operation.
    pub op: Op,
}

/// The operations that were drawn and are not taken yet.
#[derive(Clone, Debug)]
pub struct DrawnOperations {
    /// These operations in the order of their intended times.
    pub waiting: VecDeque<IntendedOperation>,
    /// All operations wanted before this time have been drawn; [`Instant::FAR`] if there are no more.
    pub reached: Instant,
}

impl DrawnOperations {
    /// Nothing was drawn yet; the first operation is wanted at `start` or later.
    pub fn new(start: Instant) -> DrawnOperations {
        DrawnOperations { waiting: VecDeque::new(), reached: start }
    }
}

/// A source that draws the operations of several streams together.
pub trait Joint {
    /// The operations that were drawn and are not taken yet.
    fn drawn_operations(&self) -> &DrawnOperations;

    /// The same operations, to be changed.
    fn drawn_mut(&mut self) -> &mut DrawnOperations;

    /// Draws one more operation of the load. It may give none, one or several operations for the target. Returns false
    /// if the load has no more.
    fn draw_next(&mut self) -> bool;

    /// The intended time of the next operation for the target. If none was found yet, the time before which there is
    /// none.
    fn next_intended(&self) -> Instant {
        let drawn = self.drawn_operations();
        drawn.waiting.front().map_or(drawn.reached, |next| next.wanted)
    }

    /// The next operation for the target, if one was found.
    fn peek_operation(&self) -> Option<&IntendedOperation> {
        self.drawn_operations().waiting.front()
    }

    /// Takes the next operation for the target, if one was found.
    fn take_operation(&mut self) -> Option<IntendedOperation> {
        self.drawn_mut().waiting.pop_front()
    }

    /// Draws all operations that are wanted before `until`. If this finds none for the target, it draws a limited
    /// number of further ones.
    fn draw_until(&mut self, until: Instant) {
        let mut drawn = 0;
        while (self.drawn_operations().waiting.is_empty() && drawn < IN_ONE_GO)
            || self.drawn_operations().reached < until
        {
            drawn += 1;
            if !self.draw_next() {
                return;
            }
        }
    }

    /// The operations that were found and are wanted before `end`, in the order of their intended times.
    fn wanted_before(&self, end: Instant) -> impl Iterator<Item = &IntendedOperation> {
        self.drawn_operations().waiting.iter().take_while(move |next| next.wanted < end)
    }
}
