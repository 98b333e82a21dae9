//! Operations of several streams that are drawn together, in the order in which they are wanted: which stream is next is known only when
//! its operation is drawn. Operations are therefore drawn before they are due, and wait here.

use assay_base::{Instant, Op};
use std::collections::VecDeque;

/// Operations that are drawn in one go in search of one for the target: so many take some milliseconds.
const IN_ONE_GO: u64 = 1 << 14;

/// An operation for the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// When it is wanted.
    pub wanted: Instant,
    /// Its stream, by its place in the plan.
    pub stream: u16,
    /// The operation.
    pub op: Op,
}

/// The operations that were drawn and not taken.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// In the order in which they are wanted.
    pub waiting: VecDeque<Wanted>,
    /// All operations before this time were drawn; [`Instant::FAR`] where there are no more.
    pub reached: Instant,
}

impl Drawn {
    /// Nothing was drawn yet; the first operation is wanted at `start` or later.
    pub fn new(start: Instant) -> Drawn {
        Drawn { waiting: VecDeque::new(), reached: start }
    }
}

/// See the module.
pub trait Joint {
    /// What was drawn.
    fn drawn(&self) -> &Drawn;

    /// The same, to be changed.
    fn drawn_mut(&mut self) -> &mut Drawn;

    /// Draws one operation more. It may be none for the target, or several. False where there are no more.
    fn draw(&mut self) -> bool;

    /// When the next operation for the target is wanted; where none was found yet, until when there is none.
    fn due(&self) -> Instant {
        let drawn = self.drawn();
        drawn.waiting.front().map_or(drawn.reached, |next| next.wanted)
    }

    /// The next operation for the target, if one was found.
    fn peek(&self) -> Option<&Wanted> {
        self.drawn().waiting.front()
    }

    /// Takes it.
    fn take(&mut self) -> Option<Wanted> {
        self.drawn_mut().waiting.pop_front()
    }

    /// Draws all operations that are wanted before `until`, and a limited number more where none was found for the target.
    fn look(&mut self, until: Instant) {
        let mut drawn = 0;
        while (self.drawn().waiting.is_empty() && drawn < IN_ONE_GO) || self.drawn().reached < until {
            drawn += 1;
            if !self.draw() {
                return;
            }
        }
    }

    /// What was found and is wanted before `end`, in its order.
    fn before(&self, end: Instant) -> impl Iterator<Item = &Wanted> {
        self.drawn().waiting.iter().take_while(move |next| next.wanted < end)
    }
}
