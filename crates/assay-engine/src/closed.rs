//! A stream with a number of operations in flight on one target as a source of block I/O.

use crate::ledger::Ledger;
use crate::source::{Next, Source};
use assay_base::{Instant, Op, Span};
use assay_model::generator::Generator;
use assay_model::plan::READ_BACK_DEPTH;
use std::sync::Arc;

/// Upper bound on the places of a target that are searched in one step for something to read back.
const LOOKED_AT: u64 = 1 << 16;

/// One stream on one target, as one of several workers issues it: an operation follows when another one completes.
#[derive(Debug)]
pub(crate) struct Closed {
    flow: usize,
    target: u16,
    generator: Generator,
    /// For a read-back: the ledger of what was written, and where the next place was found.
    written: Option<Arc<Ledger>>,
    found: (u64, u32),
    /// Number of operations that it may issue now; never more than are left.
    credits: u32,
    /// When it may issue the next operation.
    ready: Instant,
    /// Number of operations that it has from here on, and had when they were counted last, and at its beginning.
    left: u64,
    left_when_counted: u64,
    all: u64,
}

impl Closed {
    pub(crate) fn new(
        flow: usize,
        target: u16,
        generator: Generator,
        written: Option<Arc<Ledger>>,
        start: Instant,
    ) -> Closed {
        let all = generator.operations;
        let credits = u64::from(generator.in_flight).min(all) as u32;
        Closed {
            flow,
            target,
            generator,
            written,
            found: (0, 0),
            credits,
            ready: start,
            left: all,
            left_when_counted: all,
            all,
        }
    }

    #[cold]
    fn look_for_written(&mut self, now: Instant) -> Next {
        let Some(ledger) = &self.written else { return Next::Over };
        match ledger.book(self.target).next_written(LOOKED_AT) {
            Ok(found) => {
                self.found = found;
                Next::Of(self.flow)
            }
            // It continues in the next step: completions are waiting.
            Err(true) => Next::Later(now + Span::from_ns(1)),
            Err(false) => Next::Over,
        }
    }
}

impl Source for Closed {
    type Request = Op;

    #[inline(always)]
    fn due(&self) -> Instant {
        if self.credits > 0 { self.ready } else { Instant::FAR }
    }

    #[inline(always)]
    fn next(&mut self, now: Instant) -> Next {
        if self.written.is_some() { self.look_for_written(now) } else { Next::Of(self.flow) }
    }

    #[inline(always)]
    fn take(&mut self, _flow: usize) -> Op {
        self.credits -= 1;
        self.left -= 1;
        match self.written {
            None => self.generator.operation(self.ready),
            Some(_) => self.generator.at(self.found.0, self.found.1),
        }
    }

    #[inline(always)]
    fn returned(&mut self, _flow: usize, completed: Instant) {
        self.credits += u32::from(u64::from(self.credits) < self.left);
        self.ready = completed + self.generator.pause;
    }

    fn operations(&self) -> Option<u64> {
        (self.left == 0).then_some(self.all)
    }

    fn is_open_loop(&self) -> bool {
        false
    }

    fn pause(&self) -> Span {
        self.generator.pause
    }

    fn count_until(&mut self, _end: Instant, mut count: impl FnMut(usize, u64, u64)) {
        count(self.flow, std::mem::replace(&mut self.left_when_counted, self.left) - self.left, 0);
    }

    fn begin(&mut self, now: Instant) -> Instant {
        (self.ready, self.credits) = (now, READ_BACK_DEPTH);
        now
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_base::Geometry;
    use assay_model::arrival::Part;
    use assay_model::workload;

    fn flow(keys: &str) -> Closed {
        let file =
            format!("model = \"streams\"\n[[stream]]\nname = \"s\"\ndirection = \"read\"\nsize = \"4KiB\"\n{keys}");
        let adjust = workload::Adjust { targets: 1, seed: 1, ..workload::Adjust::default() };
        let plan = workload::read("t", &file).unwrap().plan(&adjust).unwrap();
        let geometry = Geometry { size: 1 << 20, block: 512 };
        let generator = Generator::new(&plan, 0, 0, geometry, Part { index: 0, of: 1 }, Instant::ZERO).unwrap();
        Closed::new(0, 0, generator, None, Instant::ZERO)
    }

    fn counted(flow: &mut Closed) -> (u64, u64) {
        let mut counted = None;
        flow.count_until(Instant::FAR, |_, scheduled, waiting| counted = Some((scheduled, waiting)));
        counted.unwrap()
    }

    #[test]
    fn it_has_no_more_after_its_operations() {
        let mut closed = flow("in_flight = 2\noperations = 3");
        assert_eq!(closed.operations(), None);
        closed.take(0);
        closed.take(0);
        assert_eq!(closed.due(), Instant::FAR);
        closed.returned(0, Instant::from_ns(7));
        assert_eq!((closed.due(), closed.operations()), (Instant::from_ns(7), None));
        closed.returned(0, Instant::from_ns(8));
        assert_eq!((closed.due(), closed.operations()), (Instant::from_ns(8), None));
        closed.take(0);
        assert_eq!((closed.due(), closed.operations()), (Instant::FAR, Some(3)), "no fourth one");
        closed.returned(0, Instant::from_ns(9));
        assert_eq!((closed.due(), counted(&mut closed)), (Instant::FAR, (3, 0)));
        assert_eq!(counted(&mut closed), (0, 0), "each is counted once");
        assert_eq!(flow("in_flight = 2").operations(), None);
    }

    #[test]
    fn fewer_operations_than_it_keeps_in_flight() {
        let mut closed = flow("in_flight = 4\noperations = 1");
        closed.take(0);
        assert_eq!((closed.due(), closed.operations()), (Instant::FAR, Some(1)));
    }

    #[test]
    fn it_keeps_its_number_in_flight() {
        let mut closed = flow("in_flight = 2");
        assert_eq!(closed.due(), Instant::ZERO);
        closed.take(0);
        closed.take(0);
        assert_eq!(closed.due(), Instant::FAR);
        closed.returned(0, Instant::from_ns(7));
        assert_eq!(closed.due(), Instant::from_ns(7));
        assert_eq!(counted(&mut closed), (2, 0));
        let mut paced = flow("in_flight = 1\npause = \"1ms\"");
        paced.take(0);
        paced.returned(0, Instant::from_ns(5));
        assert_eq!(paced.due(), Instant::from_ns(1_000_005));
    }
}
