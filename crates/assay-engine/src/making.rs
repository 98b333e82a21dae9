//! Makes the sources of one worker from the streams and loops of a plan.

use crate::blocks::{Blocks, Kind};
use crate::closed::Closed;
use crate::flushing::Flushing;
use crate::gate::Gates;
use crate::joint::{Joined, Member};
use crate::ledger::Ledger;
use crate::living::{Living, Make, Numbers, Waits};
use crate::looped::{self, Looped};
use crate::recorded::Recorded;
use crate::rules::Setup;
use crate::scheduled::Scheduled;
use assay_base::{Geometry, Instant, Prng};
use assay_model::arrival::Part;
use assay_model::cache::Behind;
use assay_model::generator::{FOR_LOOP, Generator};
use assay_model::journal::Journal;
use assay_model::mix::{Loop, Mix};
use assay_model::oltp::Load;
use assay_model::recording::Onto;
use assay_model::turns::{Turning, Turns};
use assay_model::{Arrival, Plan};
use std::sync::Arc;

/// The sources of one worker while they are being made.
pub(crate) struct Making {
    plan: Arc<Plan>,
    part: Part,
    start: Instant,
    ledger: Option<Arc<Ledger>>,
    /// The geometry of each target.
    geometries: Arc<[Geometry]>,
    pub gates: Arc<Gates>,
    pub sources: Vec<Blocks>,
    pub flows_of: Vec<Vec<usize>>,
    /// The index of the first source that reads back.
    pub after: Option<usize>,
}

/// A flow: its index, its stream and its target.
type Flow = (usize, u16, u16);

/// The slots of one copy of a loop that a worker has: on one target, or if the loop takes turns, on all its targets
/// together.
#[derive(Clone)]
struct Dealt {
    looped: String,
    members: Vec<(usize, (u16, u16))>,
    geometries: Arc<[Geometry]>,
    copy: u32,
    slots: u32,
    /// The worker's place among the workers that have slots of this copy.
    share: Part,
}

impl Making {
    pub(crate) fn new(plan: &Plan, setup: &Setup, geometries: Vec<Geometry>) -> Making {
        Making {
            plan: Arc::new(plan.clone()),
            part: setup.part,
            start: setup.start,
            ledger: setup.ledger.clone(),
            geometries: geometries.into(),
            gates: setup.gates.clone().unwrap_or_else(|| Gates::new(plan, setup.part.of)),
            sources: Vec::new(),
            flows_of: Vec::new(),
            after: None,
        }
    }

    /// Makes the source of a flow. The source of a loop is made with the first stream of the loop. `None` when a rate
    /// does not fit.
    pub(crate) fn flow(&mut self, flow: Flow) -> Option<()> {
        let (at, stream, target) = flow;
        let (plan, geometry) = (Arc::clone(&self.plan), self.geometries[usize::from(target)]);
        if let Some(it) = plan.loop_of(stream) {
            let first = plan.streams.iter().position(|other| other.arrival.loop_name() == Some(&it.name));
            // A loop that takes turns is made with the first of its targets.
            let made = it.turns.is_some() && plan.targets_of(stream).next() != Some(target);
            return if first == Some(stream.into()) && !made { self.copies(it, stream, target) } else { Some(()) };
        }
        let it = &plan.streams[usize::from(stream)];
        if it.appends() {
            return self.journal(&it.name, (stream, target), geometry);
        }
        if it.arrival.follows().is_some() {
            // A stream that follows a log shares the source of that log.
            return Some(());
        }
        let reads_back = it.reads_back();
        if reads_back {
            self.after.get_or_insert(self.sources.len());
        }
        let (start, part) = (self.start, self.part);
        let ledger = self.ledger.clone().filter(|_| reads_back);
        let begin = plan.begins(stream, start);
        let one = single(&plan, flow, geometry, part, (start, begin), ledger)?;
        let life = plan.life_of(stream);
        // A closed loop that only ends after a number of operations counts them itself, if there is a single worker and
        // nobody waits for it.
        let counts = life.is_by_operations() && part.of == 1 && !plan.is_waited_for(stream);
        let source = match life.is_whole() || counts && matches!(one.0, Kind::Closed(_)) {
            true => one,
            false => {
                let shares = shares(&plan, stream, part);
                let shared = Arc::clone(&plan);
                let make: Make<Blocks> = Box::new(move |begin| {
                    single(&shared, flow, geometry, part, (start, begin), None).expect("it was made before")
                });
                self.living(one, &[(stream, geometry)], shares, make)
            }
        };
        self.sources.push(source);
        self.flows_of.push(vec![at]);
        Some(())
    }

    /// Makes the source of a log, which is also the source of the streams that follow it.
    fn journal(&mut self, name: &String, (writer, target): (u16, u16), geometry: Geometry) -> Option<()> {
        let plan = Arc::clone(&self.plan);
        let is_member =
            |stream: u16| stream == writer || plan.streams[usize::from(stream)].arrival.follows() == Some(name);
        let here = plan.flows().enumerate().filter(|(_, (stream, on))| *on == target && is_member(*stream));
        let members: Vec<Member> = here.map(|(flow, (stream, _))| Member { flow, stream }).collect();
        let journal = Journal::new(&plan, (writer, target), geometry, self.part, self.start).ok()?;
        self.flows_of.push(members.iter().map(|member| member.flow).collect());
        self.sources.push(Blocks(Kind::Journal(Box::new(Joined::new(journal, members)))));
        Some(())
    }

    /// Makes the source of the streams of a target whose operations are drawn together: behind a cache, or in an OLTP
    /// load.
    pub(crate) fn joint(&mut self, target: u16) -> Option<()> {
        let (plan, geometries) = (Arc::clone(&self.plan), &*self.geometries);
        let here = plan.flows().enumerate().filter(|(_, (stream, on))| *on == target && !plan.reads_back(*stream));
        let members: Vec<Member> = here.map(|(flow, (stream, _))| Member { flow, stream }).collect();
        if members.is_empty() {
            return Some(());
        }
        let flows = members.iter().map(|member| member.flow).collect();
        let kind = match plan.cache {
            // A single worker carries all that passes the cache.
            Some(_) => {
                let behind = Behind::new(&plan, target, geometries, self.start).ok();
                Kind::Behind(Box::new(Joined::new(behind.filter(|_| self.part.of == 1)?, members)))
            }
            None => {
                let load = Load::new(&plan, Some(target), geometries, (self.part, self.start)).ok()?;
                Kind::Oltp(Box::new(Joined::new(load, members)))
            }
        };
        self.flows_of.push(flows);
        self.sources.push(Blocks(kind));
        Some(())
    }

    /// Wraps a source in the life of its streams (`members`, each with the geometry of its target). `share` is the
    /// worker's part of their numbers of operations and bytes.
    fn living(&self, one: Blocks, members: &[(u16, Geometry)], share: Option<Part>, make: Make<Blocks>) -> Blocks {
        let (plan, stream) = (&self.plan, members[0].0);
        let life = plan.life_of(stream);
        let left = numbers(plan, members, share);
        let waits = self.gates.behind(&plan.waited_for_by(stream)).map(|gate| Waits {
            gate,
            start: life.start,
            lasts: life.lasts,
            asks: plan.begins(stream, self.start),
            make,
        });
        let until = if waits.is_some() { Instant::FAR } else { plan.until(stream, self.start) };
        let living = Living::new(one, waits, (until, left), self.gates.opened_by(stream));
        Blocks(Kind::Living(Box::new(living)))
    }

    /// Makes the sources of the copies of a loop of which the worker has slots, and at least one: on a target, or if
    /// the loop takes turns, on all its targets. Slots are dealt to workers in turn, beginning with those of the first
    /// copy. The workers that have slots of a copy share its
    /// cursors by position.
    fn copies(&mut self, it: &Loop, stream: u16, target: u16) -> Option<()> {
        let plan = Arc::clone(&self.plan);
        let member = |(_, (stream, on)): &(usize, (u16, u16))| {
            let here = *on == target || it.turns.is_some();
            here && plan.streams[usize::from(*stream)].arrival.loop_name() == Some(&it.name)
        };
        let members: Vec<(usize, (u16, u16))> = plan.flows().enumerate().filter(member).collect();
        let (depth, of) = (u64::from(it.in_flight), self.part.of.max(1));
        let dealt = |copy: u32| {
            // The copy's first slot is dealt to this worker, which has every `of`-th from there on.
            let place = (self.part.index + of - u64::from(copy) * depth % of) % of;
            let slots = (depth / of + u64::from(place < depth % of)) as u32;
            let share = Part { index: place.min(depth - 1), of: depth.min(of) };
            let geometries = Arc::clone(&self.geometries);
            Dealt { looped: it.name.clone(), members: members.clone(), geometries, copy, slots, share }
        };
        let mut own: Vec<Dealt> = (0..it.copies).map(dealt).filter(|dealt| dealt.slots > 0).collect();
        if own.is_empty() {
            // The worker has no slot, but its flows still need a source.
            own.push(dealt(0));
        }
        let (start, begin) = (self.start, plan.begins(stream, self.start));
        let flows: Vec<usize> = members.iter().map(|(flow, _)| *flow).collect();
        let on = |(_, (stream, target)): &(usize, (u16, u16))| (*stream, self.geometries[usize::from(*target)]);
        let streams: Vec<(u16, Geometry)> = members.iter().map(on).collect();
        for dealt in own {
            let copy = dealt.make(&plan, (start, begin))?;
            let share = (dealt.slots > 0).then_some(dealt.share);
            let source = match it.life.is_whole() {
                true => copy,
                false => {
                    let shared = Arc::clone(&plan);
                    let make: Make<Blocks> =
                        Box::new(move |begin| dealt.make(&shared, (start, begin)).expect("it was made before"));
                    self.living(copy, &streams, share, make)
                }
            };
            self.sources.push(source);
            self.flows_of.push(flows.clone());
        }
        Some(())
    }
}

/// The source of a stream without a loop.
fn single(
    plan: &Plan,
    (flow, stream, target): Flow,
    geometry: Geometry,
    part: Part,
    (start, begin): (Instant, Instant),
    ledger: Option<Arc<Ledger>>,
) -> Option<Blocks> {
    let it = &plan.streams[usize::from(stream)];
    if let Some((recording, block)) = it.arrival.recording().zip(it.block()) {
        let onto = Onto::new(recording, geometry.size, geometry.block);
        let does = (block.direction, block.durable);
        let played = Recorded::new((flow, target), (recording.clone(), onto), does, begin, part);
        return Some(Blocks(Kind::Recorded(Box::new(played))));
    }
    let mut generator = Generator::of_copy(plan, (stream, target), geometry, (part, 0), (start, begin))?;
    Some(Blocks(match generator.schedule.take() {
        Some(schedule) => Kind::Scheduled(Scheduled::new(flow, generator, schedule)),
        None => Kind::Closed(Closed::new(flow, target, generator, ledger, begin)),
    }))
}

/// The worker's part of the numbers of operations and bytes of a stream without a loop; `None` if it issues nothing of
/// the stream.
fn shares(plan: &Plan, stream: u16, part: Part) -> Option<Part> {
    let workers = match plan.streams[usize::from(stream)].arrival {
        Arrival::Closed { in_flight } => part.of.min(in_flight.into()),
        Arrival::Paced { .. } => 1,
        _ => part.of,
    };
    (part.index < workers).then_some(Part { of: workers, ..part })
}

/// How many operations and bytes a source has that carries `streams`, each on a target, if `share` is the worker's part
/// of them.
fn numbers(plan: &Plan, streams: &[(u16, Geometry)], share: Option<Part>) -> Numbers {
    let life = plan.life_of(streams[0].0);
    let Some(part) = share else { return Numbers { operations: 0, bytes: 0 } };
    let own = |all: u64| all / part.of + u64::from(part.index < all % part.of);
    let fixed = |(stream, target): &(u16, Geometry)| {
        let size = &plan.streams[usize::from(*stream)].block()?.size;
        Some(if size.from == size.to { size.in_blocks(target.block).largest() } else { 0 })
    };
    let fixed: Vec<u64> = streams.iter().filter_map(fixed).collect();
    let one_size = fixed.first().copied().filter(|first| *first > 0 && fixed.iter().all(|size| size == first));
    let operations = life.operations.unwrap_or(u64::MAX);
    let bytes = life.bytes.map(assay_base::Bytes::get);
    match (one_size, bytes) {
        // With a single size, bytes are a number of operations, of which the last may reach beyond the bytes.
        (Some(size), Some(bytes)) => Numbers { operations: own(operations.min(bytes.div_ceil(size))), bytes: u64::MAX },
        (None, Some(bytes)) => Numbers { operations: limited(operations, own), bytes: own(bytes) },
        (_, None) => Numbers { operations: limited(operations, own), bytes: u64::MAX },
    }
}

fn limited(operations: u64, own: impl Fn(u64) -> u64) -> u64 {
    if operations == u64::MAX { operations } else { own(operations) }
}

impl Dealt {
    /// The source of the copy, with the flushes after its writes. `times` are the start of the run and the beginning of
    /// the loop.
    fn make(&self, plan: &Plan, times: (Instant, Instant)) -> Option<Blocks> {
        let copy = self.looped(plan, times)?;
        let flushes = |(_, (stream, _)): &&(usize, (u16, u16))| plan.streams[usize::from(*stream)].flush();
        let member = self.members.iter().find(|member| flushes(member).is_some());
        Some(Blocks(match member.and_then(|member| Some((member, flushes(&member)?.every?))) {
            None => Kind::Loop(Box::new(copy)),
            Some(((flow, of), every)) => {
                let worker = (self.share, self.copy + 1);
                let generator = Generator::of_copy(plan, *of, self.geometry(*of), worker, times)?;
                Kind::Flushing(Box::new(Flushing::new(copy, (*flow, generator), every)))
            }
        }))
    }

    /// The loop over those streams that move data.
    fn looped(&self, plan: &Plan, (start, begin): (Instant, Instant)) -> Option<Looped> {
        let it = plan.loops.iter().find(|it| it.name == self.looped)?;
        let moves = |(_, (stream, _)): &&(usize, (u16, u16))| plan.streams[usize::from(*stream)].flush().is_none();
        let members = || self.members.iter().filter(moves);
        let arrival = |stream: u16| &plan.streams[usize::from(stream)].arrival;
        let line = |stream: u16| match arrival(stream) {
            Arrival::Looped { line: Some(line), .. } => it.lines.iter().position(|known| known.name == *line),
            _ => Some(0),
        };
        let (_, (first, target)) = *self.members.first()?;
        // The draw of a stream does not depend on the target, so one target's streams stand for those of all.
        let streams = members().filter(|(_, (_, on))| *on == target);
        let weights = streams.map(|(_, (stream, _))| Some((arrival(*stream).share()?.as_ppb(), line(*stream)?)));
        let mix = Mix::new(it, &weights.collect::<Option<Vec<_>>>()?);
        let (mut generators, mut cursors) = (Vec::new(), Vec::new());
        let mut shared: Vec<((&String, u16), usize)> = Vec::new();
        for (flow, of) in members() {
            let worker = (self.share, self.copy + 1);
            let generator = Generator::of_copy(plan, *of, self.geometry(*of), worker, (start, begin))?;
            let block = plan.streams[usize::from(of.0)].block()?;
            let name = block.places.as_ref().filter(|_| block.address.has_cursor()).map(|name| (name, of.1));
            let cursor = name.map(|name| {
                let known = shared.iter().find(|(known, _)| *known == name).map(|(_, cursor)| *cursor);
                known.unwrap_or_else(|| {
                    shared.push((name, cursors.len()));
                    cursors.push(generator.cursor());
                    cursors.len() - 1
                })
            });
            generators.push(looped::Member { flow: *flow, generator, cursor, is_behind: block.address.is_behind() });
        }
        let path = [u64::from(first), u64::from(target), self.share.index, FOR_LOOP, u64::from(self.copy)];
        let prng = Prng::child(plan.seed, &path);
        let turning = it.turns.map(|turns| self.turning(plan, turns, first));
        Some(Looped::new(it, generators, (cursors, mix, turning), self.slots, (begin, prng)))
    }

    fn geometry(&self, (_, target): (u16, u16)) -> Geometry {
        self.geometries[usize::from(target)]
    }

    /// The number of targets of the loop, which are those of `stream`, and its turns over them. The workers that share
    /// a copy also share each pass through a target, and begin with different targets.
    fn turning(&self, plan: &Plan, turns: Turns, stream: u16) -> (usize, Turning) {
        let block = plan.streams[usize::from(stream)].block();
        let Part { index, of } = self.share;
        let pass = |target: u16| {
            let all = block.map_or(1, |block| block.pass(self.geometries[usize::from(target)]));
            all / of + u64::from(index < all % of)
        };
        let passes: Vec<u64> = plan.targets_of(stream).map(pass).collect();
        (passes.len(), Turning::new(turns, passes.len(), &passes, (index % passes.len() as u64) as usize))
    }
}
