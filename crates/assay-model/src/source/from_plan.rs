//! Makes the sources of one worker from the streams and loops of a plan.

use crate::arrival::{Part, Schedule};
use crate::cache::LoadBehindCache;
use crate::commit_groups::{CommitGroups, GroupWriter};
use crate::generator::{FlowShare, Generator};
use crate::journal::Journal;
use crate::mix::Loop;
use crate::oltp::{Load, WorkerPart};
use crate::plan::{Arrival, DrawnOltp, Plan};
use crate::recording::RecordingPlacement;
use crate::source::block_source::{BlockSource, Variant};
use crate::source::closed_stream::ClosedStream;
use crate::source::drawn_together::{DrawnTogether, Member};
use crate::source::gates::Gates;
use crate::source::grouped_stream::GroupedStream;
use crate::source::lifetime::{MakeSource, Waiting, WithLifetime};
use crate::source::loop_copies::deal_copies;
use crate::source::plan_flow::{PlanFlow, flows_of};
use crate::source::read_back::WrittenPlaces;
use crate::source::recorded_stream::{RecordedFlow, RecordedStream};
use crate::source::scheduled_stream::ScheduledStream;
use crate::source::work_share::{StreamOnTarget, part_of_stream, work_of_source};
use assay_base::{Geometry, Instant};
use std::sync::Arc;

/// The worker that sources are made for.
#[derive(Debug)]
pub struct SourceWorker<W> {
    /// The share of the load that the worker carries.
    pub part: Part,
    /// The time at which the run begins.
    pub start: Instant,
    /// What the run has written, for streams that read it back.
    pub written: Option<Arc<W>>,
    /// The gates of the run. A single worker makes its own.
    pub gates: Option<Arc<Gates>>,
    /// The geometry of each target.
    pub geometries: Vec<Geometry>,
}

/// The sources of one worker.
#[derive(Debug)]
pub struct BlockSources<W> {
    /// The sources. Those that read back are at the end.
    pub sources: Vec<BlockSource<W>>,
    /// The flows of each source.
    pub flows_of: Vec<Vec<usize>>,
    /// The index of the first source that reads back. It begins when all sources before it are over.
    pub after: Option<usize>,
}

impl<W: WrittenPlaces + 'static> BlockSources<W> {
    /// The sources of a worker of `plan`. `None` when a rate does not fit.
    pub fn from_plan(plan: &Plan, worker: SourceWorker<W>) -> Option<BlockSources<W>> {
        let mut making = SourceBuilder::new(plan, worker);
        // Behind a cache and in an OLTP load, the streams of a target are drawn together as one sequence.
        let oltp_loads = plan.load.oltp_loads();
        for target in 0..plan.load.targets {
            if plan.caches.simulated.is_some() {
                making.add_all_behind_cache(target)?;
            } else {
                oltp_loads.iter().try_for_each(|drawn| making.add_oltp_load(drawn, target))?;
            }
        }
        // The read-back comes after all other sources.
        for flow in flows_of(plan).filter(|flow| !is_drawn_together(plan, &oltp_loads, flow.stream)) {
            making.add_flow(flow)?;
        }
        making.gates.finish_entering();
        Some(making.made)
    }
}

/// The sources of one worker while they are being made.
struct SourceBuilder<W> {
    plan: Arc<Plan>,
    part: Part,
    start: Instant,
    written: Option<Arc<W>>,
    /// The geometry of each target.
    geometries: Arc<[Geometry]>,
    gates: Arc<Gates>,
    made: BlockSources<W>,
}

impl<W: WrittenPlaces + 'static> SourceBuilder<W> {
    fn new(plan: &Plan, worker: SourceWorker<W>) -> SourceBuilder<W> {
        let SourceWorker { part, start, written, gates, geometries } = worker;
        SourceBuilder {
            plan: Arc::new(plan.clone()),
            part,
            start,
            written,
            geometries: geometries.into(),
            gates: gates.unwrap_or_else(|| Gates::new(plan, part.of)),
            made: BlockSources { sources: Vec::new(), flows_of: Vec::new(), after: None },
        }
    }

    /// Adds a source that carries these flows.
    fn add_source(&mut self, source: BlockSource<W>, flows: Vec<usize>) {
        self.made.sources.push(source);
        self.made.flows_of.push(flows);
    }

    /// Makes the source of a flow. The source of a loop is made with the first stream of the loop. `None` when a rate
    /// does not fit.
    fn add_flow(&mut self, flow: PlanFlow) -> Option<()> {
        let plan = Arc::clone(&self.plan);
        if let Some(closed_loop) = plan.load.loop_of(flow.stream) {
            return if is_first_of_loop(&plan, closed_loop, flow) {
                self.add_loop(closed_loop, flow)
            } else {
                Some(())
            };
        }
        let stream = &plan.load.streams[usize::from(flow.stream)];
        if stream.is_appending() {
            return self.add_journal(&stream.name, flow);
        }
        if stream.arrival.followed_stream().is_some() {
            // A stream that follows a log shares the source of that log.
            return Some(());
        }
        self.add_stream(flow)
    }

    /// Makes the source of a stream without a loop on one target.
    fn add_stream(&mut self, flow: PlanFlow) -> Option<()> {
        let plan = Arc::clone(&self.plan);
        let reads_back = plan.load.reads_back(flow.stream);
        if reads_back {
            self.made.after.get_or_insert(self.made.sources.len());
        }
        let written = self.written.clone().filter(|_| reads_back);
        let geometry = self.geometries[usize::from(flow.target)];
        let single = SingleStream { flow, geometry, part: self.part, start: self.start };
        let one = single.make_source(&plan, plan.stream_begin(flow.stream, self.start), written)?;
        let life = plan.load.life_of(flow.stream);
        // A closed loop that only ends after a number of operations counts them itself, if there is a single worker and
        // nobody waits for it.
        let counts = life.is_by_operations() && self.part.of == 1 && !plan.load.is_waited_for(flow.stream);
        let source = if life.is_whole() || counts && matches!(one.0, Variant::Closed(_)) {
            one
        } else {
            let share = part_of_stream(&plan, flow.stream, self.part);
            let shared = Arc::clone(&plan);
            let make: MakeSource<BlockSource<W>> =
                Box::new(move |begins| single.make_source(&shared, begins, None).expect("it was made before"));
            self.with_lifetime(one, &[StreamOnTarget { stream: flow.stream, geometry }], share, make)
        };
        self.add_source(source, vec![flow.index]);
        Some(())
    }

    /// Makes the source of a log, which is also the source of the streams that follow it.
    fn add_journal(&mut self, name: &String, writer: PlanFlow) -> Option<()> {
        let plan = Arc::clone(&self.plan);
        let members = members_on(&plan, writer.target, |stream| {
            stream == writer.stream || plan.load.streams[usize::from(stream)].arrival.followed_stream() == Some(name)
        });
        let geometry = self.geometries[usize::from(writer.target)];
        let journal = Journal::new(&plan, writer.stream, writer.target, geometry, self.part, self.start).ok()?;
        let flows = members.iter().map(|member| member.flow).collect();
        self.add_source(BlockSource(Variant::Journal(Box::new(DrawnTogether::new(journal, members)))), flows);
        Some(())
    }

    /// Makes the source of all streams of a target, whose operations pass a cache as one sequence.
    fn add_all_behind_cache(&mut self, target: u16) -> Option<()> {
        let plan = Arc::clone(&self.plan);
        let members = members_on(&plan, target, |stream| !plan.load.reads_back(stream));
        if members.is_empty() {
            return Some(());
        }
        let flows = members.iter().map(|member| member.flow).collect();
        // A single worker carries all that passes the cache.
        let behind = LoadBehindCache::new(&plan, target, &self.geometries, self.start).ok();
        let behind = DrawnTogether::new(behind.filter(|_| self.part.of == 1)?, members);
        self.add_source(BlockSource(Variant::Behind(Box::new(behind))), flows);
        Some(())
    }

    /// Makes the source of the streams of an OLTP load on a target, whose operations are drawn together.
    fn add_oltp_load(&mut self, drawn: &DrawnOltp<'_>, target: u16) -> Option<()> {
        let plan = Arc::clone(&self.plan);
        let is_member = |stream: u16| drawn.own_name(&plan.load.streams[usize::from(stream)]).is_some();
        let members = members_on(&plan, target, is_member);
        if members.is_empty() {
            return Some(());
        }
        let flows = members.iter().map(|member| member.flow).collect();
        let own = WorkerPart { worker: self.part, start: self.start };
        let load = Load::for_drawn(&plan, drawn, Some(target), &self.geometries, own).ok()?;
        self.add_source(BlockSource(Variant::Oltp(Box::new(DrawnTogether::new(load, members)))), flows);
        Some(())
    }

    /// Wraps a source in the lifetime of its streams (`members`). `share` is the worker's part of their numbers of
    /// operations and bytes.
    fn with_lifetime(
        &self,
        one: BlockSource<W>,
        members: &[StreamOnTarget],
        share: Option<Part>,
        make: MakeSource<BlockSource<W>>,
    ) -> BlockSource<W> {
        let (plan, stream) = (&self.plan, members[0].stream);
        let life = plan.load.life_of(stream);
        let left = work_of_source(plan, members, share);
        let waits = self.gates.gate_after(&plan.load.waited_for_by(stream)).map(|gate| Waiting {
            gate,
            start: life.start,
            lasts: life.lasts,
            asks: plan.stream_begin(stream, self.start),
            make,
        });
        let until = if waits.is_some() { Instant::FAR } else { plan.stream_end(stream, self.start) };
        let source = WithLifetime::new(one, waits, until, left, self.gates.opened_by(stream));
        BlockSource(Variant::Living(Box::new(source)))
    }

    /// Makes the sources of the copies of a loop of which the worker has slots, and at least one: on the target of
    /// `first`, or if the loop takes turns, on all its targets.
    fn add_loop(&mut self, closed_loop: &Loop, first: PlanFlow) -> Option<()> {
        let plan = Arc::clone(&self.plan);
        let members = members_of_loop(&plan, closed_loop, first.target);
        let (start, begins) = (self.start, plan.stream_begin(first.stream, self.start));
        let flows: Vec<usize> = members.iter().map(|flow| flow.index).collect();
        let mut streams = Vec::new();
        for flow in &members {
            let geometry = self.geometries[usize::from(flow.target)];
            streams.push(StreamOnTarget { stream: flow.stream, geometry });
        }
        for copy in deal_copies(closed_loop, self.part, &members, &self.geometries) {
            let one = copy.make_source(&plan, start, begins)?;
            let share = (copy.slots > 0).then_some(copy.share);
            let source = if closed_loop.life.is_whole() {
                one
            } else {
                let shared = Arc::clone(&plan);
                let make: MakeSource<BlockSource<W>> =
                    Box::new(move |begins| copy.make_source(&shared, start, begins).expect("it was made before"));
                self.with_lifetime(one, &streams, share, make)
            };
            self.add_source(source, flows.clone());
        }
        Some(())
    }
}

/// Whether a flow is the first one of its loop: the one that the source of the loop is made with.
fn is_first_of_loop(plan: &Plan, closed_loop: &Loop, flow: PlanFlow) -> bool {
    let first = plan.load.streams.iter().position(|other| other.arrival.loop_name() == Some(&closed_loop.name));
    // A loop that takes turns is made with the first of its targets.
    let made = closed_loop.turns.is_some() && plan.load.targets_of(flow.stream).next() != Some(flow.target);
    first == Some(flow.stream.into()) && !made
}

/// The flows of a loop: on `target`, or if it takes turns, on all its targets.
fn members_of_loop(plan: &Plan, closed_loop: &Loop, target: u16) -> Vec<PlanFlow> {
    let here = flows_of(plan).filter(|flow| flow.target == target || closed_loop.turns.is_some());
    here.filter(|flow| plan.load.streams[usize::from(flow.stream)].arrival.loop_name() == Some(&closed_loop.name))
        .collect()
}

/// Whether the operations of a stream are drawn together with those of others.
fn is_drawn_together(plan: &Plan, oltp_loads: &[DrawnOltp<'_>], stream: u16) -> bool {
    let described = &plan.load.streams[usize::from(stream)];
    let behind_cache = plan.caches.simulated.is_some() && !plan.load.reads_back(stream);
    behind_cache || oltp_loads.iter().any(|drawn| drawn.own_name(described).is_some())
}

/// The flows of a target whose streams are drawn together.
fn members_on(plan: &Plan, target: u16, is_member: impl Fn(u16) -> bool) -> Vec<Member> {
    let here = flows_of(plan).filter(|flow| flow.target == target && is_member(flow.stream));
    here.map(|flow| Member { flow: flow.index, stream: flow.stream }).collect()
}

/// A stream without a loop on one target, as one worker carries it.
#[derive(Clone, Copy, Debug)]
struct SingleStream {
    flow: PlanFlow,
    geometry: Geometry,
    part: Part,
    /// The beginning of the run.
    start: Instant,
}

impl SingleStream {
    /// The source of the stream, which begins at `begins`; `written` is what it reads back. `None` when its rate does
    /// not fit.
    fn make_source<W>(self, plan: &Plan, begins: Instant, written: Option<Arc<W>>) -> Option<BlockSource<W>> {
        let SingleStream { flow, geometry, part, start } = self;
        let PlanFlow { index, stream, target } = flow;
        let described = &plan.load.streams[usize::from(stream)];
        if let Some((recording, block)) = described.arrival.played_recording().zip(described.as_block()) {
            let onto = RecordingPlacement::new(recording, geometry.size, geometry.block);
            let flow = RecordedFlow { index, target, direction: block.direction, durable: block.durable };
            let played = RecordedStream::new(flow, recording.clone(), onto, begins, part);
            return Some(BlockSource(Variant::Recorded(Box::new(played))));
        }
        let share = FlowShare { stream, target, geometry, worker: part, copy: 0, start, begins };
        if let Arrival::Grouped(groups) = &described.arrival {
            return share.make_grouped(plan, groups, index);
        }
        let mut generator = Generator::for_share(plan, &share)?;
        Some(BlockSource(match generator.schedule.take() {
            Some(schedule) => Variant::Scheduled(ScheduledStream::new(index, generator, schedule)),
            None => Variant::Closed(ClosedStream::new(index, target, generator, written, begins)),
        }))
    }
}

impl FlowShare {
    /// Groups of commits on one target, all of which the first worker carries. `None` when the rate does not fit.
    fn make_grouped<W>(self, plan: &Plan, groups: &CommitGroups, index: usize) -> Option<BlockSource<W>> {
        let block = plan.load.streams.get(usize::from(self.stream))?.as_block()?;
        let (begin, length) = block
            .extent
            .map_or((0, self.geometry.size), |extent| extent.range_within(self.geometry.size, self.geometry.block));
        let targets = plan.load.targets_of(self.stream).count() as u64;
        let place = plan.load.targets_of(self.stream).position(|own| own == self.target)? as u64;
        let part = Part { index: place, of: targets };
        let commits = if groups.even {
            Schedule::from_steady(self.begins, groups.commits, part, 0)?
        } else {
            Schedule::from_poisson(self.begins, groups.commits, part, self.prng_for_commits(plan))?
        };
        let writer = GroupWriter::new(groups, self.geometry.block, length, self.prng_for_images(plan));
        // A second writer would not wait for the first one.
        let begins = if self.worker.index == 0 { self.begins } else { Instant::FAR };
        let stream = GroupedStream::new(index, self.target, begin, writer, commits, begins);
        Some(BlockSource(Variant::Grouped(Box::new(stream))))
    }
}
