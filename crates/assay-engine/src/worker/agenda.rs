//! The agenda says what must be issued and when: the sources, the time when each is next due, and the flows of their requests.

use crate::worker::queue::Lane;
use assay_base::source::{FreeSlotTimes, Lifetime, Source};
use assay_base::{Instant, Span};
use assay_model::closed_loops::ClosedLoop;

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
    /// The largest such number since it was last recorded.
    pub most: u64,
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
    /// See [`Agenda::delays_followers`].
    shifts: bool,
    /// See [`Agenda::may_wait_for_slot`].
    contends: bool,
    /// Index of the closed loop of the plan whose slots its requests take.
    looped: Option<u16>,
}

impl<S> Group<S> {
    /// The lanes of all its targets.
    fn all_lanes(&self) -> impl Iterator<Item = usize> {
        std::iter::once(self.lane).chain(self.others.iter().copied())
    }

    /// Whether there is a slot for its next request, whichever of its targets that goes to.
    #[inline(always)]
    fn has_room(&self, lanes: &[Lane]) -> bool {
        lanes[self.lane].has_room() && self.others.iter().all(|lane| lanes[*lane].has_room())
    }
}

/// Facts about a request that completed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReturnedRequest {
    pub lane: usize,
    /// It belongs to a schedule.
    pub open_loop: bool,
    /// See [`Agenda::delays_followers`].
    pub shifts: bool,
    /// The closed loop of the plan that it belongs to.
    pub looped: Option<u16>,
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
    by_target: Vec<Vec<usize>>,
    /// The index of the first source that comes after all others; such sources are at the end.
    after: usize,
    /// No request with an intended time at or after this is issued.
    pub end: Instant,
    /// Every source follows a schedule.
    pub open_loop: bool,
}

/// The sources of a worker, and the flows of each.
pub(crate) struct GroupedSources<'a, S> {
    pub sources: Vec<S>,
    pub flows_of: &'a [Vec<usize>],
    /// The index of the first source that begins when all others are over.
    pub after: usize,
}

impl<S: Source> Group<S> {
    /// A source with its flows, as indices into the `flows` of the worker.
    fn new(source: S, own: &[usize], flows: &[Flow], loops: &[ClosedLoop]) -> Group<S> {
        let mut lanes: Vec<usize> = own.iter().map(|flow| flows[*flow].lane).collect();
        lanes.sort_unstable();
        lanes.dedup();
        let mut targets: Vec<u16> = own.iter().map(|flow| flows[*flow].target).collect();
        targets.sort_unstable();
        targets.dedup();
        assert_eq!(lanes.len(), targets.len(), "all flows of a source on one target are in one lane");
        let (lane, others) = lanes.split_first().expect("a source has a flow");
        let open_loop = source.is_open_loop();
        let shifts = open_loop || !source.pause_after_completion().is_zero();
        let looped = loops.iter().position(|known| own.first().is_some_and(|flow| known.flows.contains(flow)));
        let looped = looped.map(|at| at as u16);
        Group { source, lane: *lane, others: others.into(), open_loop, shifts, contends: true, looped }
    }
}

/// The flows of each target.
fn flows_by_target(flows: &[Flow]) -> Vec<Vec<usize>> {
    let targets = flows.iter().map(|flow| flow.target + 1).max().unwrap_or(0);
    let mut by_target = vec![Vec::new(); usize::from(targets)];
    for (index, flow) in flows.iter().enumerate() {
        by_target[usize::from(flow.target)].push(index);
    }
    by_target
}

impl<S: Source> Agenda<S> {
    /// The sources up to `end`, with the `flows` of the worker. `loops` names the flows of each closed loop of the plan.
    pub(crate) fn new(
        grouped: GroupedSources<'_, S>,
        flows: Vec<Flow>,
        end: Instant,
        loops: &[ClosedLoop],
    ) -> Agenda<S> {
        let GroupedSources { sources, flows_of, after } = grouped;
        let pairs = sources.into_iter().zip(flows_of);
        let groups: Vec<Group<S>> = pairs.map(|(source, own)| Group::new(source, own, &flows, loops)).collect();
        let open_loop = groups.iter().all(|group| group.open_loop);
        let (due, by_target) = (vec![Instant::FAR; groups.len()], flows_by_target(&flows));
        let mut agenda = Agenda { groups, due, flows, by_target, after, end, open_loop };
        (0..after).for_each(|source| agenda.update_due(source));
        agenda
    }

    /// Decides which sources may wait for a slot of their lanes, which have `lanes` slots: those of a schedule, and closed
    /// loops that share a lane with others that may fill it.
    pub(crate) fn find_contention(&mut self, lanes: &[u32]) {
        let mut wanted = vec![0u64; lanes.len()];
        for group in &self.groups {
            let slots = if group.open_loop { u64::MAX } else { group.source.slot_count().into() };
            for lane in group.all_lanes() {
                wanted[lane] = wanted[lane].saturating_add(slots);
            }
        }
        for group in &mut self.groups {
            let contends = group.all_lanes().any(|lane| wanted[lane] > lanes[lane].into());
            group.contends = contends;
        }
    }

    /// Whether some source is such that a late request makes others late.
    pub(crate) fn has_shifts(&self) -> bool {
        self.groups.iter().any(|group| group.shifts)
    }

    /// Whether a late request of a source makes those behind it late: those of a schedule, and of slots that pause. In a
    /// loop without pauses each slot follows its own completion.
    #[inline(always)]
    pub(crate) fn delays_followers(&self, source: usize) -> bool {
        self.groups[source].shifts
    }

    /// Whether a source's requests may wait for a slot that others have. Each slot of other closed loops has a slot of the
    /// lane: a lane that is full holds nothing of theirs back.
    #[inline(always)]
    pub(crate) fn may_wait_for_slot(&self, source: usize) -> bool {
        self.groups[source].contends
    }

    /// Whether requests of a source may be prepared: it draws ahead, no other source waits for the slots of its lane, and
    /// it is one of the plan's loops.
    pub(crate) fn draws_ahead(&self, source: usize) -> bool {
        let group = &self.groups[source];
        group.source.draws_ahead() && !group.contends && group.looped.is_some() && source < self.after
    }

    /// The closed loop of the plan that a source belongs to.
    #[inline(always)]
    pub(crate) fn closed_loop(&self, source: usize) -> Option<u16> {
        self.groups[source].looped
    }

    /// The slots of a source without requests in flight at `at`.
    pub(crate) fn free_slots(&mut self, source: usize, at: Instant) -> FreeSlotTimes {
        self.groups[source].source.free_slots(at)
    }

    #[inline(always)]
    pub(crate) fn is_open_loop(&self, source: usize) -> bool {
        self.groups[source].open_loop
    }

    /// The source, to take a request from it; [`Agenda::update_due`] must be called afterwards.
    #[inline(always)]
    pub(crate) fn source_mut(&mut self, source: usize) -> &mut S {
        &mut self.groups[source].source
    }

    /// Updates when a source is next due.
    #[inline(always)]
    pub(crate) fn update_due(&mut self, source: usize) {
        let end = if source < self.after { self.end } else { Instant::FAR };
        let due = self.groups[source].source.next_due();
        self.due[source] = if due < end { due } else { Instant::FAR };
    }

    /// Notes that a request of a flow is issued.
    #[inline(always)]
    pub(crate) fn count_issued(&mut self, flow: usize) {
        let flow = &mut self.flows[flow];
        flow.in_flight += 1;
        flow.most = flow.most.max(flow.in_flight);
    }

    /// Notes that a request of a source completed at `completed`. `may_issue` says whether the run may still issue
    /// requests.
    #[inline(always)]
    pub(crate) fn take_back(
        &mut self,
        source: usize,
        flow: usize,
        completed: Instant,
        may_issue: bool,
    ) -> ReturnedRequest {
        self.flows[flow].in_flight -= 1;
        let lane = self.flows[flow].lane;
        let Group { source: own, open_loop, shifts, looped, .. } = &mut self.groups[source];
        let (open_loop, shifts, looped) = (*open_loop, *shifts, *looped);
        own.note_completed(flow, completed);
        if open_loop {
            // A schedule goes on by itself; groups of commits wait for the one in flight.
            if may_issue && self.due[source] == Instant::FAR {
                self.update_due(source);
            }
            return ReturnedRequest { lane, open_loop, shifts, looped, last_of: None };
        }
        let due = own.next_due();
        if may_issue {
            let end = if source < self.after { self.end } else { Instant::FAR };
            self.due[source] = if due < end { due } else { Instant::FAR };
        }
        // A source that has more is due now: this completion was all that it waited for.
        let last_of = if due == Instant::FAR { self.ended_operations(source) } else { None };
        ReturnedRequest { lane, open_loop, shifts, looped, last_of }
    }

    /// Notes that a request of a source completed, and that a prepared one of its flow `follower` has its slot from then on.
    #[inline]
    pub(crate) fn pass_on(&mut self, source: usize, flow: usize, follower: usize) -> ReturnedRequest {
        self.flows[flow].in_flight -= 1;
        let lane = self.flows[flow].lane;
        self.count_issued(follower);
        let Group { source: own, looped, .. } = &mut self.groups[source];
        own.note_followed(follower);
        ReturnedRequest { lane, open_loop: false, shifts: false, looped: *looped, last_of: None }
    }

    /// How many requests a source had, if it has no more and all of them have completed.
    #[cold]
    fn ended_operations(&self, source: usize) -> Option<u64> {
        if self.source_lifetime(source).is_some() {
            // Sources with a lifetime of their own are reported at the end of the interval.
            return None;
        }
        let all = self.groups[source].source.total_operations()?;
        self.flows.iter().filter(|flow| flow.source == source).all(|flow| flow.in_flight == 0).then_some(all)
    }

    /// The progress of a source that begins or ends within the run; `None` for other sources.
    pub(crate) fn source_lifetime(&self, source: usize) -> Option<Lifetime> {
        self.groups[source].source.lifetime_progress()
    }

    /// Asks the source again at `at`, if that is before its end; with [`Instant::FAR`] it is never asked again.
    pub(crate) fn put_off(&mut self, source: usize, at: Instant) {
        let end = if source < self.after { self.end } else { Instant::FAR };
        self.due[source] = if at < end { at } else { Instant::FAR };
    }

    /// The source that is due first, among those whose lanes have free slots.
    #[inline(always)]
    pub(crate) fn earliest_with_slot(&self, lanes: &[Lane]) -> (usize, Instant) {
        // One source, as most closed loops are: 5 % on the null device.
        match self.due[..] {
            [due] if self.groups[0].has_room(lanes) => (0, due),
            [_] => (0, Instant::FAR),
            _ => self.earliest_of_several(lanes),
        }
    }

    #[inline(never)]
    fn earliest_of_several(&self, lanes: &[Lane]) -> (usize, Instant) {
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
    pub(crate) fn earliest_due(&self) -> (usize, Instant) {
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
    pub(crate) fn first_lane(&self, source: usize) -> usize {
        self.groups[source].lane
    }

    /// When a source is next due.
    pub(crate) fn next_due(&self, source: usize) -> Instant {
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
    pub(crate) fn stop_issuing(&mut self, now: Instant) {
        self.end = self.end.min(now);
        self.due.fill(Instant::FAR);
    }

    /// The schedule is over. A backlog is not issued: the load ends at its planned end, and operations not delivered by
    /// then stay undelivered. Operations that became due in the last moment do not count as a backlog and are issued.
    /// Closed loops issue nothing more.
    pub(crate) fn end_schedule(&mut self) {
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
                self.update_due(source);
            }
        }
    }

    /// Whether no source of the schedule has more requests, however long the run lasts.
    pub(crate) fn is_over(&self) -> bool {
        self.groups[..self.after].iter().all(|group| group.source.total_operations().is_some())
    }

    /// Whether something comes after the schedule.
    pub(crate) fn has_more(&self) -> bool {
        self.after < self.groups.len()
    }

    /// Begins the sources that come after the schedule.
    pub(crate) fn begin_after_schedule(&mut self, now: Instant) {
        for source in self.after..self.groups.len() {
            self.due[source] = self.groups[source].source.begin_after_others(now);
        }
    }

    /// Whether something is still to be issued.
    pub(crate) fn has_backlog(&self) -> bool {
        self.due.iter().any(|due| *due != Instant::FAR)
    }

    /// Whether nothing is in flight on the target of a flow.
    #[inline(always)]
    pub(crate) fn is_target_idle(&self, flow: usize) -> bool {
        let Flow { target, in_flight, .. } = self.flows[flow];
        in_flight == 0 && self.by_target[usize::from(target)].iter().all(|flow| self.flows[*flow].in_flight == 0)
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
