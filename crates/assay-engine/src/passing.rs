//! All streams of one target as one source, in the order in which they are wanted, where only a part of their operations goes on to the
//! target. Which part that is the model knows; here it is a schedule like any other.

use crate::source::{Next, Source};
use assay_base::{Instant, Op};
use assay_model::cache::Behind;

/// A flow of the source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub flow: usize,
    /// By its place in the plan.
    pub stream: u16,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Passing {
    behind: Behind,
    members: Box<[Member]>,
    /// Of each member: operations that were taken, and how many of its operations are counted.
    counts: Box<[(u64, u64)]>,
}

impl Passing {
    pub(crate) fn new(behind: Behind, members: Vec<Member>) -> Passing {
        let counts = vec![(0, 0); members.len()].into();
        let mut passing = Passing { behind, members: members.into(), counts };
        passing.behind.look(Instant::ZERO);
        passing
    }

    fn member(&self, stream: u16) -> usize {
        self.members.iter().position(|member| member.stream == stream).expect("what goes on is of one of the streams")
    }
}

impl Source for Passing {
    type Request = Op;

    #[inline(never)]
    fn due(&self) -> Instant {
        self.behind.due()
    }

    #[inline(never)]
    fn next(&mut self, now: Instant) -> Next {
        self.behind.look(Instant::ZERO);
        match self.behind.peek() {
            Some(next) if next.wanted <= now => Next::Of(self.members[self.member(next.stream)].flow),
            Some(next) => Next::Later(next.wanted),
            // It goes on looking there; where there is nothing more at all, it is not asked again.
            None => Next::Later(self.behind.due()),
        }
    }

    #[inline(never)]
    fn take(&mut self, _flow: usize) -> Op {
        let next = self.behind.take().expect("it was asked for the next one");
        let member = self.member(next.stream);
        self.counts[member].0 += 1;
        self.behind.look(Instant::ZERO);
        next.op
    }

    #[inline(never)]
    fn returned(&mut self, _flow: usize, _completed: Instant) {}

    fn is_open_loop(&self) -> bool {
        true
    }

    fn count_until(&mut self, end: Instant, mut count: impl FnMut(usize, u64, u64)) {
        self.behind.look(end);
        for (member, own) in self.members.iter().zip(&mut self.counts) {
            let waiting = self.behind.before(end).filter(|next| next.stream == member.stream).count() as u64;
            let scheduled = (own.0 + waiting).saturating_sub(own.1);
            own.1 += scheduled;
            count(member.flow, scheduled, own.1.saturating_sub(own.0));
        }
    }
}
