//! Streams of one target whose operations are drawn together, as one source: those of an OLTP load, or those that pass
//! a simulated cache. The model draws the operations; here they are a schedule like any other.

use crate::joint::Joint;
use assay_base::source::{NextRequest, Source};
use assay_base::{Instant, Op};

/// A flow of the source.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub(super) flow: usize,
    /// The index of the stream in the plan.
    pub(super) stream: u16,
}

/// The source of several streams that are drawn together.
#[derive(Debug)]
pub(super) struct DrawnTogether<J> {
    drawn: J,
    members: Box<[Member]>,
    /// For each member: how many of its operations were taken, and how many were counted as scheduled.
    counts: Box<[(u64, u64)]>,
    /// For each stream of the plan, the index of its member.
    member_of: Box<[u16]>,
}

impl<J: Joint> DrawnTogether<J> {
    pub(super) fn new(drawn: J, members: Vec<Member>) -> DrawnTogether<J> {
        let counts = vec![(0, 0); members.len()].into();
        let streams = members.iter().map(|member| usize::from(member.stream) + 1).max().unwrap_or(0);
        let mut member_of = vec![u16::MAX; streams];
        members.iter().zip(0..).for_each(|(member, at)| member_of[usize::from(member.stream)] = at);
        let mut source = DrawnTogether { drawn, members: members.into(), counts, member_of: member_of.into() };
        source.drawn.draw_until(Instant::ZERO);
        source
    }

    /// The index of the member of a stream. Only operations of streams on this target are drawn here, so there always
    /// is one.
    fn member_index(&self, stream: u16) -> usize {
        usize::from(self.member_of[usize::from(stream)])
    }
}

impl<J: Joint> Source for DrawnTogether<J> {
    type Request = Op;

    #[inline(never)]
    fn next_due(&self) -> Instant {
        self.drawn.next_intended()
    }

    #[inline(never)]
    fn next(&mut self, now: Instant) -> NextRequest {
        self.drawn.draw_until(Instant::ZERO);
        match self.drawn.peek_operation() {
            Some(next) if next.wanted <= now => NextRequest::Of(self.members[self.member_index(next.stream)].flow),
            Some(next) => NextRequest::Later(next.wanted),
            // It looks for further operations at that time. If there are none at all, the time is never, and it is not
            // asked again.
            None => NextRequest::Later(self.drawn.next_intended()),
        }
    }

    #[inline(never)]
    fn take_request(&mut self, _flow: usize) -> Op {
        let next = self.drawn.take_operation().expect("it was asked for the next one");
        let member = self.member_index(next.stream);
        self.counts[member].0 += 1;
        self.drawn.draw_until(Instant::ZERO);
        next.op
    }

    #[inline(never)]
    fn note_completed(&mut self, _flow: usize, _completed: Instant) {}

    fn is_open_loop(&self) -> bool {
        true
    }

    fn count_until(&mut self, end: Instant, mut count: impl FnMut(usize, u64, u64)) {
        self.drawn.draw_until(end);
        let mut waiting = vec![0u64; self.members.len()];
        self.drawn.wanted_before(end).for_each(|next| waiting[self.member_index(next.stream)] += 1);
        for ((member, own), waiting) in self.members.iter().zip(&mut self.counts).zip(waiting) {
            let scheduled = (own.0 + waiting).saturating_sub(own.1);
            own.1 += scheduled;
            count(member.flow, scheduled, own.1.saturating_sub(own.0));
        }
    }
}
