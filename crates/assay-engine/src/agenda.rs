//! What must be issued and when: the sources, the time when each is next due, and the flows of their requests.

use crate::queue::Lane;
use crate::source::{Lived, Source};
use assay_base::{Instant, Span};

/// A flow as its worker sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flow {
    pub target: u16,
    /// Index of the source of its requests.
    pub source: usize,
    /// Index of the lane whose slots they take.
    pub lane: usize,
    /// The number of requests that are issued and not completed.
    pub in_flight: u64,
    /// The number of those that have been in flight for longer than the stuck limit.
    pub stuck: u64,
}

/// A flow that is behind by less than this when the schedule ends counts as having no backlog, because a sound
/// generator may be this late. The judge uses the same limit (rule 3 of decision 0005).
const LAST_MOMENT: Span = Span::from_ms(50);

/// A source, and its properties that never change.
#[derive(Debug)]
struct Group<S> {
    source: S,
    /// Index of the lane whose slots its requests take. If it goes to several targets, this is the lane of the first
    /// one.
    lane: usize,
    /// The lanes of its other targets.
    others: Box<[usize]>,
    /// See [`Source::is_open_loop`].
    open_loop: bool,
    /// See [`Agenda::has_moment`].
    has_moment: bool,
}

impl<S> Group<S> {
    /// Whether there is a slot for its next request, whichever of its targets that goes to.
    #[inline(always)]
    fn has_room(&self, lanes: &[Lane]) -> bool {
        lanes[self.lane].has_room() && self.others.iter().all(|lane| lanes[*lane].has_room())
    }
}

/// Facts about a request that completed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Back {
    pub lane: usize,
    /// It belongs to a schedule.
    pub open_loop: bool,
    /// It had an intended time of its own.
    pub has_moment: bool,
    /// Set if it was the last request of its source: how many requests the source had.
    pub last_of: Option<u64>,
}

/// The sources and flows of one worker.
#[derive(Debug)]
pub(crate) struct Agenda<S> {
    groups: Vec<Group<S>>,
    /// When each source is next due: a separate vector, because it is searched for each operation.
    due: Vec<Instant>,
    pub flows: Vec<Flow>,
    /// The flows of each target.
    together: Vec<Vec<usize>>,
    /// The index of the first source that comes after all others; such sources are at the end.
    after: usize,
    /// No request with an intended time at or after this is issued.
    pub end: Instant,
    /// Every source follows a schedule.
    pub open_loop: bool,
}

impl<S: Source> Agenda<S> {
    /// `sources` up to `end`; those from index `after` on begin when all others are over. `flows_of` names the flows of
    /// each.
    pub(crate) fn new(
        sources: Vec<S>,
        (flows, flows_of): (Vec<Flow>, &[Vec<usize>]),
        after: usize,
        end: Instant,
    ) -> Agenda<S> {
        let group = |(source, own): (S, &Vec<usize>)| {
            let mut lanes: Vec<usize> = own.iter().map(|flow| flows[*flow].lane).collect();
            lanes.sort_unstable();
            lanes.dedup();
            let mut targets: Vec<u16> = own.iter().map(|flow| flows[*flow].target).collect();
            targets.sort_unstable();
            targets.dedup();
            assert_eq!(lanes.len(), targets.len(), "all flows of a source on one target are in one lane");
            let (lane, others) = lanes.split_first().expect("a source has a flow");
            let open_loop = source.is_open_loop();
            let has_moment = open_loop || !source.pause().is_zero();
            Group { source, lane: *lane, others: others.into(), open_loop, has_moment }
        };
        let groups: Vec<Group<S>> = sources.into_iter().zip(flows_of).map(group).collect();
        let open_loop = groups.iter().all(|group| group.open_loop);
        let targets = flows.iter().map(|flow| flow.target + 1).max().unwrap_or(0);
        let of = |target: u16| (0..flows.len()).filter(|flow| flows[*flow].target == target).collect();
        let (due, together) = (vec![Instant::FAR; groups.len()], (0..targets).map(of).collect());
        let mut agenda = Agenda { groups, due, flows, together, after, end, open_loop };
        (0..after).for_each(|source| agenda.look(source));
        agenda
    }

    /// Whether some source has intended times for its requests, so that they may be late.
    pub(crate) fn has_moments(&self) -> bool {
        (0..self.len()).any(|source| self.has_moment(source))
    }

    /// Whether a source's next request has an intended time of its own; otherwise it is intended when it is issued.
    #[inline(always)]
    pub(crate) fn has_moment(&self, source: usize) -> bool {
        self.groups[source].has_moment
    }

    #[inline(always)]
    pub(crate) fn is_open_loop(&self, source: usize) -> bool {
        self.groups[source].open_loop
    }

    /// The source, to take a request from it; [`Agenda::look`] must be called afterwards.
    #[inline(always)]
    pub(crate) fn source(&mut self, source: usize) -> &mut S {
        &mut self.groups[source].source
    }

    /// Updates when a source is next due.
    #[inline(always)]
    pub(crate) fn look(&mut self, source: usize) {
        let end = if source < self.after { self.end } else { Instant::FAR };
        let due = self.groups[source].source.due();
        self.due[source] = if due < end { due } else { Instant::FAR };
    }

    /// Notes that a request of a source completed at `completed`. `goes_on` says whether the run may still issue
    /// requests.
    #[inline(always)]
    pub(crate) fn back(&mut self, source: usize, flow: usize, completed: Instant, goes_on: bool) -> Back {
        self.flows[flow].in_flight -= 1;
        let lane = self.flows[flow].lane;
        let Group { source: it, open_loop, has_moment, .. } = &mut self.groups[source];
        let (open_loop, has_moment) = (*open_loop, *has_moment);
        it.returned(flow, completed);
        if open_loop {
            return Back { lane, open_loop, has_moment, last_of: None };
        }
        let due = it.due();
        if goes_on {
            let end = if source < self.after { self.end } else { Instant::FAR };
            self.due[source] = if due < end { due } else { Instant::FAR };
        }
        // A source that has more is due now: this completion was all that it waited for.
        let last_of = if due == Instant::FAR { self.ended(source) } else { None };
        Back { lane, open_loop, has_moment, last_of }
    }

    /// How many requests a source had, if it has no more and all of them have completed.
    #[cold]
    fn ended(&self, source: usize) -> Option<u64> {
        if self.life(source).is_some() {
            // Sources with a life of their own are reported at the end of the interval.
            return None;
        }
        let all = self.groups[source].source.operations()?;
        self.flows.iter().filter(|flow| flow.source == source).all(|flow| flow.in_flight == 0).then_some(all)
    }

    /// The progress of a source that begins or ends within the run; `None` for other sources.
    pub(crate) fn life(&self, source: usize) -> Option<Lived> {
        self.groups[source].source.life()
    }

    /// Asks the source again at `at`, if that is before its end; with [`Instant::FAR`] it is never asked again.
    pub(crate) fn put_off(&mut self, source: usize, at: Instant) {
        let end = if source < self.after { self.end } else { Instant::FAR };
        self.due[source] = if at < end { at } else { Instant::FAR };
    }

    /// The source that is due first, among those whose lanes have free slots.
    #[inline]
    pub(crate) fn earliest(&self, lanes: &[Lane]) -> (usize, Instant) {
        let mut earliest = (0, Instant::FAR);
        for (source, due) in self.due.iter().enumerate() {
            if *due < earliest.1 && self.groups[source].has_room(lanes) {
                earliest = (source, *due);
            }
        }
        earliest
    }

    /// The source that is due first. Computed without branches, because no branch predictor could guess which source
    /// that is.
    #[inline]
    pub(crate) fn soonest(&self) -> (usize, Instant) {
        let mut soonest = (0, Instant::FAR);
        for (source, due) in self.due.iter().enumerate() {
            let sooner = *due < soonest.1;
            soonest = (if sooner { source } else { soonest.0 }, soonest.1.min(*due));
        }
        soonest
    }

    /// The number of sources.
    pub(crate) fn len(&self) -> usize {
        self.due.len()
    }

    /// The lane of a source that goes to one target, or that of the first of several.
    #[inline(always)]
    pub(crate) fn lane(&self, source: usize) -> usize {
        self.groups[source].lane
    }

    /// When a source is next due.
    pub(crate) fn due(&self, source: usize) -> Instant {
        self.due[source]
    }

    /// One of the flows of a lane.
    pub(crate) fn flow_of(&self, lane: usize) -> Option<usize> {
        self.flows.iter().position(|flow| flow.lane == lane)
    }

    /// The first flow of a source.
    pub(crate) fn first_of(&self, source: usize) -> usize {
        self.flows.iter().position(|flow| flow.source == source).expect("a source has a flow")
    }

    /// Stops issuing.
    pub(crate) fn stop(&mut self, now: Instant) {
        self.end = self.end.min(now);
        self.due.fill(Instant::FAR);
    }

    /// The schedule is over. A backlog is not issued: the load ends at its planned end, and operations not delivered by
    /// then stay undelivered. Operations that became due in the last moment do not count as a backlog and are issued.
    /// Closed loops issue nothing more.
    pub(crate) fn ends(&mut self) {
        let moment = Instant::from_ns(self.end.as_ns().saturating_sub(LAST_MOMENT.as_ns()));
        for (due, Group { open_loop, .. }) in self.due.iter_mut().zip(&self.groups) {
            if !open_loop || *due < moment {
                *due = Instant::FAR;
            }
        }
    }

    /// Moves the end of the schedule.
    pub(crate) fn end_at(&mut self, end: Instant) {
        self.end = end;
        for source in 0..self.groups.len() {
            if self.groups[source].open_loop {
                self.look(source);
            }
        }
    }

    /// Whether no source of the schedule has more requests, however long the run lasts.
    pub(crate) fn is_over(&self) -> bool {
        self.groups[..self.after].iter().all(|group| group.source.operations().is_some())
    }

    /// Whether something comes after the schedule.
    pub(crate) fn has_more(&self) -> bool {
        self.after < self.groups.len()
    }

    /// Begins the sources that come after the schedule.
    pub(crate) fn go_on(&mut self, now: Instant) {
        for source in self.after..self.groups.len() {
            self.due[source] = self.groups[source].source.begin(now);
        }
    }

    /// Whether something is still to be issued.
    pub(crate) fn has_backlog(&self) -> bool {
        self.due.iter().any(|due| *due != Instant::FAR)
    }

    /// Whether nothing is in flight on the target of a flow.
    #[inline(always)]
    pub(crate) fn rests(&self, flow: usize) -> bool {
        let Flow { target, in_flight, .. } = self.flows[flow];
        in_flight == 0 && self.together[usize::from(target)].iter().all(|flow| self.flows[*flow].in_flight == 0)
    }

    /// Number of requests in flight over all flows.
    pub(crate) fn in_flight(&self) -> u64 {
        self.flows.iter().map(|flow| flow.in_flight).sum()
    }

    /// See [`Source::count_until`]; counts the schedule's part of the time before `end`.
    pub(crate) fn count_until(&mut self, end: Instant, mut count: impl FnMut(usize, u64, u64)) {
        let end = end.min(self.end);
        self.groups.iter_mut().for_each(|group| group.source.count_until(end, &mut count));
    }
}
