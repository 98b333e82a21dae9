//! Turns jobs into a workload. Each direction of each copy of a job is a stream; what streams cannot express yet is
//! refused at its place.

use super::Surroundings;
use super::by_order::{ByOrder, Part, by_order, refuse_beside};
use super::content::{Own, content, durable};
use super::ends::{Ends, ends, on_each_of};
use super::engines::{engine, refuse_undriven};
use super::explain::{self, Line};
use super::files::{Choice, Files, Used, refuse_other_count};
use super::flushes::{Flushes, flushes};
use super::groups::groups;
use super::job::{Job, jobs};
use super::naming::{Names, stem};
use super::order::{Mode, absolute, address, index, mode};
use super::pace::pace;
use super::page_cache::{Ways, is_buffered};
use super::seals::{sealing, verifies_only};
use super::sizes::sizes;
use super::steps::{Done, refuse_foreign_waits, settle, waits_for};
use super::text::JobFile;
use super::turns::{service, turns};
use super::zones::{up_to_the_end, zones};
use assay_base::{Bound, Bytes, Criterion, Direction, Fault, Measure, Rate, Share, Span};
use assay_model::arrival::SharedSchedule;
use assay_model::mix::{Loop, Think};
use assay_model::plan::{Arrival, Lane, Stream, Work};
use assay_model::workload::{Caches, Load, MOST_STREAMS, Sealing, Targets, Timing, Workload};
use assay_model::{Address, Extent, Flush, Life};

/// A job file as a workload.
#[derive(Debug)]
pub struct Lowered {
    /// The workload to run.
    pub workload: Workload,
    /// How each key was treated.
    pub keys: Vec<Line>,
}

/// The endings of the names of streams of flushes.
const AFTER_WRITES: &str = ".flushes";
const AT_END: &str = ".end-flush";

/// The window of `rate_min` without `rate_cycle`: the default of fio.
const CYCLE: Span = Span::from_secs(1);

/// Upper bound on the streams of all steps together.
const MOST_IN_ALL: usize = 65_536;

/// The workload of a job file, called `name`.
pub fn lower(name: &str, file: &JobFile, choice: &Choice, around: &dyn Surroundings) -> Result<Lowered, Fault> {
    let all = jobs(file)?;
    refuse_foreign_waits(&all)?;
    let jobs = chosen(file, all, choice)?;
    for job in &jobs {
        refuse_undriven(job)?;
        job.refuse_unset()?;
        // What is wrong with the mode itself is told where it is read.
        job.refuse(mode(job).map_or(true, |mode| mode.writes))?;
    }
    refuse_other_count(&jobs, choice)?;
    let mut made = Made::new(name, choice, around);
    let (mut done, mut step): (Vec<Done>, u32) = (Vec::new(), 1);
    for (at, job) in jobs.iter().enumerate() {
        if job.flag("stonewall")? && at > 0 {
            step += 1;
            made.first_of_step = made.workload.load.streams.len();
        }
        let after = waits_for(job, &done, step)?;
        let ends = ends(job, after, choice.measure)?;
        let one = made.done(job, &ends, step)?;
        done.push(one);
    }
    settle(&jobs, &done, &mut made.workload)?;
    made.workload.load.groups = groups(&jobs, &done, &made.workload.load.streams)?;
    // This must come last: only now has everything read its keys.
    take_notes(&jobs, &done, &mut made.workload, choice)?;
    if let Some(strange) = made.files.strange() {
        let remedy = format!("the files are {}", made.files.names().join(", "));
        return Err(file.whole(format!("no job has a file {}", strange.escape_debug()), remedy));
    }
    let Made { files, mut workload, ways, .. } = made;
    let page_cache = ways.cached();
    if choice.page_cache && page_cache.is_empty() {
        workload.notes.push("--page-cache changes nothing: no job asks for the page cache on a file".to_owned());
    }
    let workload = Workload {
        description: jobs.iter().find_map(|job| job.text("description").ok().flatten()).unwrap_or_default().to_owned(),
        load: Load { per_target: false, ..workload.load },
        targets: Targets { names: files.names(), paths: files.targets, ..workload.targets },
        caches: Caches { page: page_cache, ..workload.caches },
        // fio does not stop a job that lags behind its rate.
        timing: Timing { max_lag: Span::ZERO, ..workload.timing },
        ..workload
    };
    Ok(Lowered { workload, keys: explain::lines(file, &jobs, choice.page_cache) })
}

/// Takes the notes of the jobs, each note once in a step, and refuses keys that nobody has read.
fn take_notes(jobs: &[Job<'_>], done: &[Done], workload: &mut Workload, choice: &Choice) -> Result<(), Fault> {
    for (job, done) in jobs.iter().zip(done) {
        job.left(choice.page_cache)?;
        let of_step = workload.timing.steps.get_mut(done.step as usize - 1);
        let notes = of_step.map_or(&mut workload.notes, |step| &mut step.notes);
        for note in job.notes() {
            // Several jobs may have the same note, because of a global section.
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    Ok(())
}

/// The jobs that are asked for.
fn chosen<'a>(file: &JobFile, jobs: Vec<Job<'a>>, choice: &Choice) -> Result<Vec<Job<'a>>, Fault> {
    for name in &choice.sections {
        if !jobs.iter().any(|job| job.name == *name) {
            let names: Vec<&str> = jobs.iter().map(|job| job.name.as_str()).take(20).collect();
            return Err(file.whole(
                format!("no job is called {}", name.escape_debug()),
                format!("the jobs are {}", names.join(", ")),
            ));
        }
    }
    Ok(jobs.into_iter().filter(|job| choice.sections.is_empty() || choice.sections.contains(&job.name)).collect())
}

/// The workload while it is being built.
pub(super) struct Made<'a> {
    pub files: Files<'a>,
    pub workload: Workload,
    stream_names: Names,
    loop_names: Names,
    /// The index of the first stream of the current step.
    first_of_step: usize,
    /// The streams of the current job that begin when its other streams have ended.
    last: Vec<String>,
    /// How the jobs use their files.
    pub ways: Ways,
    /// What is done with the data of the current job.
    sealing: Option<Sealing>,
}

impl<'a> Made<'a> {
    fn new(name: &str, choice: &'a Choice, around: &'a dyn Surroundings) -> Made<'a> {
        Made {
            files: Files::new(choice, around),
            workload: Workload::new(name, "streams", Vec::new(), |_| Vec::new()),
            stream_names: Names::default(),
            loop_names: Names::default(),
            first_of_step: 0,
            last: Vec::new(),
            ways: Ways::default(),
            sealing: None,
        }
    }
}

impl Made<'_> {
    /// Adds the streams of a job, and says which they are.
    fn done(&mut self, job: &Job<'_>, ends: &Ends, step: u32) -> Result<Done, Fault> {
        let (streams, loops) = (self.workload.load.streams.len(), self.workload.load.loops.len());
        self.job(job, ends)?;
        let streams: Vec<String> =
            self.workload.load.streams[streams..].iter().map(|stream| stream.name.clone()).collect();
        let loops: Vec<String> = self.workload.load.loops[loops..].iter().map(|looped| looped.name.clone()).collect();
        let last = std::mem::take(&mut self.last);
        let names = match () {
            // A job that flushes at its end has ended when that flush is done.
            () if !last.is_empty() => last,
            () if loops.is_empty() => streams.clone(),
            () => loops,
        };
        let sealing = self.sealing.take();
        let of_stream = |name: &String| Some((name.clone(), sealing?));
        self.workload.verification.sealed.extend(streams.iter().filter_map(of_stream));
        self.workload.verification.verify |= sealing.is_some();
        Ok(Done { job: job.name.clone(), step, names, streams, sealing })
    }

    /// Refuses more streams than a step can have.
    pub(super) fn has_room(&self, job: &Job<'_>, more: u64) -> Result<(), Fault> {
        let streams = self.workload.load.streams.len();
        let of_step = (streams - self.first_of_step) as u64 + more;
        let (what, most) = match streams as u64 + more > MOST_IN_ALL as u64 {
            true => ("more streams than all steps of a workload can have", MOST_IN_ALL),
            false if of_step > MOST_STREAMS as u64 => ("more streams than run together in a step", MOST_STREAMS),
            false => return Ok(()),
        };
        let place = job.entry("numjobs").map_or(job.section.place, |entry| entry.place);
        let remedy = format!("write jobs whose copies and directions come to {most}; stonewall begins another step");
        Err(job.file.fault(place, what, remedy))
    }

    fn job(&mut self, job: &Job<'_>, ends: &Ends) -> Result<(), Fault> {
        if let Some(entry) = job
            .entry("kb_base")
            .filter(|entry| !entry.value.as_ref().is_some_and(|value| ["1000", "1024"].contains(&value.text.as_str())))
        {
            return Err(job.fault(entry, "no such base", "write 1024 or 1000"));
        }
        if let Some((entry, value)) = job.value("read_iolog")? {
            return self.replays(job, ends, (entry, value));
        }
        let mode = mode(job)?;
        let rounded = !(self.files.may_be_cached() && is_buffered(job)?);
        let order = by_order(job, mode)?;
        let sizes = sizes(job, order.as_ref().map(ByOrder::size).as_ref(), rounded)?;
        let (mode, sizes) = if verifies_only(job, mode)? {
            (mode.reading(), [sizes[1].clone(), sizes[1].clone()])
        } else {
            (mode, sizes)
        };
        let engine = engine(job)?;
        let flushes = flushes(job, mode)?;
        Files::refuse_locks(job)?;
        let several = self.files.several(job)?;
        let mixed = order.as_ref().filter(|order| order.is_mixed());
        mixed.map_or(Ok(()), |_| refuse_beside(job, several))?;
        let service = service(job)?;
        let pace = pace(job, mode, (engine.depth, flushes, several.then_some(service)), &sizes)?;
        let zones = zones(job, mode, several)?;
        let copies = job.within::<u64>("numjobs", 1, MOST_STREAMS as u64)?.unwrap_or(1);
        let of_each = mode.directions().count() + usize::from(flushes.every.is_some()) + usize::from(flushes.at_end);
        self.has_room(job, copies * of_each as u64)?;
        let own = Own { content: content(job)?, durable: durable(job)?, copies };
        let (mut before, mut shared) = (None, false);
        for copy in 0..copies {
            let used = self.files.of_copy(job, copy, engine, &sizes)?;
            self.ways.add(job, mode, &self.files, &used.targets)?;
            let Used { extent, all: length, .. } = used.clone();
            let rates = [0, 1].map(|direction| pace.arrivals[direction].as_ref().and_then(Arrival::rate));
            let lives = ends.lives(job, length, (&sizes, mode, rates))?;
            let lives = match used.targets.len() as u64 {
                files @ 2.. if pace.looped.is_none() => {
                    service.is_even(job, &used, lives.iter().any(Life::ends_by_number))?;
                    lives.map(|life| on_each_of(life, files))
                }
                _ => lives,
            };
            let schedule = pace.is_shared().then(|| self.loop_names.take(stem(job, copy, copies)));
            shared |= before.replace((used.targets.clone(), extent)) == Some((used.targets.clone(), extent));
            let made = self.workload.load.streams.len();
            let think = pace.looped.or(mixed.map(|_| None));
            let looped = think.map(|think| self.looped(job, (copy, copies), (engine.depth, think), &lives[0]));
            if let (Some(mixed), Some(looped)) = (mixed, &looped) {
                self.both_orders(job, (mode, copy), (&own, extent, &used.targets), (mixed, looped))?;
                self.flush(job, (copy, copies), (used.targets, Some(looped.clone())), flushes);
                continue;
            }
            for direction in mode.directions() {
                let Some(arrival) = pace.arrivals[index(direction)].clone() else { continue };
                let size = &sizes[index(direction)];
                let several = sizes.iter().any(|size| size.from != size.to) || (mode.both() && sizes[0] != sizes[1]);
                let address = address(
                    job,
                    mode,
                    direction,
                    size,
                    (several, looped.is_some()),
                    order.as_ref().map(ByOrder::unit),
                )?;
                let address = zones
                    .map_or(Ok(address.clone()), |zones| zones.over(job, address, mode.both() && looped.is_none()))?;
                // Where each block comes once per pass, the reads and writes of a loop share the pass, and they share
                // their zones.
                let is_shared = matches!(address, Address::Once { .. } | Address::Bands { .. });
                let places = looped.clone().filter(|_| is_shared);
                let extent = zoned(job, direction, (extent, length))?;
                let extent = if zones.is_some() { up_to_the_end(job, extent)? } else { extent };
                let work = own.block(direction, size.clone(), address, extent, places);
                let name = self.name(job, copy, own.copies, mode, direction);
                let arrival = match (arrival, &looped) {
                    (Arrival::Shared { rate, even, schedule: plain }, _) => {
                        let name = schedule.clone().unwrap_or_default();
                        Arrival::Shared { rate, even, schedule: SharedSchedule { name, ..plain } }
                    }
                    (Arrival::Looped { share, line, .. }, Some(looped)) => {
                        self.workload
                            .load
                            .lanes
                            .last_mut()
                            .into_iter()
                            .for_each(|lane| lane.streams.push(name.clone()));
                        Arrival::Looped { looped: looped.clone(), share, line }
                    }
                    (arrival, _) => arrival,
                };
                if arrival.rate().is_some() {
                    self.workload.load.lanes.push(Lane::for_stream(&name, engine.depth));
                }
                self.criteria(job, &name, direction)?;
                self.workload.load.streams.push(Stream {
                    name,
                    work,
                    arrival,
                    per_target: true,
                    targets: used.targets.clone(),
                    life: if looped.is_some() { Life::default() } else { lives[index(direction)].clone() },
                });
            }
            if used.targets.len() > 1 && looped.is_some() {
                let turns = turns(job, service, &used, &self.workload.load.streams[made..])?;
                self.workload.load.loops.last_mut().into_iter().for_each(|it| it.turns = Some(turns));
            }
            self.flush(job, (copy, copies), (used.targets, looped), flushes);
        }
        if shared && !mode.random {
            job.note(format!(
                "{}: its {copies} copies go through the same bytes of one file, each from the start",
                job.name
            ));
        }
        self.common(job, mode)
    }

    /// Adds the two streams of a copy whose operations are random or sequential, each with its size, to the loop of the
    /// copy, which was added last.
    fn both_orders(
        &mut self,
        job: &Job<'_>,
        (mode, copy): (Mode, u64),
        (own, extent, targets): (&Own, Extent, &[u16]),
        (order, looped): (&ByOrder, &String),
    ) -> Result<(), Fault> {
        if let Some(entry) = job.entry("percentage_random") {
            job.differs(entry, "what would go on beyond the end goes on at the start");
        }
        let direction = if mode.writes { Direction::Write } else { Direction::Read };
        for Part { behind, size, address, share } in order.parts() {
            let work = own.block(direction, size, address, extent, None);
            let name = self.stream_names.take(format!("{}{behind}", stem(job, copy, own.copies)));
            self.workload.load.lanes.last_mut().into_iter().for_each(|lane| lane.streams.push(name.clone()));
            self.criteria(job, &name, direction)?;
            self.workload.load.streams.push(Stream {
                name,
                work,
                arrival: Arrival::Looped { looped: looped.clone(), share, line: None },
                per_target: true,
                targets: targets.to_vec(),
                life: Life::default(),
            });
        }
        Ok(())
    }

    /// Adds a loop for a copy, with slots of its own, and returns its name.
    fn looped(
        &mut self,
        job: &Job<'_>,
        (copy, copies): (u64, u64),
        (depth, think): (u32, Option<Think>),
        life: &Life,
    ) -> String {
        let name = self.loop_names.take(stem(job, copy, copies));
        let (lines, life) = (Vec::new(), life.clone());
        let it = Loop { name: name.clone(), in_flight: depth, copies: 1, think, lines, turns: None, life };
        self.workload.load.lanes.push(Lane { streams: Vec::new(), in_flight_bound: it.slots() });
        self.workload.load.loops.push(it);
        name
    }

    /// Adds the flushes of a copy, whose streams are the last ones in the workload.
    fn flush(&mut self, job: &Job<'_>, (copy, copies): (u64, u64), of: (Vec<u16>, Option<String>), flushes: Flushes) {
        let (targets, looped) = of;
        let writes = self.workload.load.streams.last().map(|stream| stream.name.clone());
        let stem = stem(job, copy, copies);
        let mut add = |behind: &str, every, arrival, life| {
            let name = self.stream_names.take(format!("{stem}{behind}"));
            let (work, targets) = (Work::Flush(Flush::new(every)), targets.clone());
            self.workload.load.streams.push(Stream {
                name: name.clone(),
                work,
                arrival,
                per_target: true,
                targets,
                life,
            });
            name
        };
        if let (Some(every), Some(looped)) = (flushes.every, looped.clone()) {
            let arrival = Arrival::Looped { looped, share: Share::default(), line: None };
            let name = add(AFTER_WRITES, Some(every), arrival, Life::default());
            self.workload.load.lanes.last_mut().into_iter().for_each(|lane| lane.streams.push(name.clone()));
        }
        if flushes.at_end {
            let life = Life { operations: Some(1), after: looped.or(writes), ..Life::default() };
            let name = add(AT_END, None, Arrival::Closed { in_flight: 1 }, life);
            self.last.push(name);
        }
    }

    /// A name for a stream of a copy, which no other stream has.
    pub(super) fn name(&mut self, job: &Job<'_>, copy: u64, copies: u64, mode: Mode, direction: Direction) -> String {
        let way = if mode.both() { format!(".{direction}s") } else { String::new() };
        self.stream_names.take(format!("{}{way}", stem(job, copy, copies)))
    }

    /// Reads the keys whose effect is on the whole run.
    pub(super) fn common(&mut self, job: &Job<'_>, mode: Mode) -> Result<(), Fault> {
        let seed = job.count("randseed")?;
        if let (Some(entry), Some(_)) = (job.entry("randseed"), self.workload.seed.filter(|other| Some(*other) != seed))
        {
            return Err(job.fault(entry, "another job has another seed", "write it once, in [global]"));
        }
        self.workload.seed = self.workload.seed.or(seed);
        let scheduler = job.text("ioscheduler")?.map(str::to_owned);
        if let (Some(entry), Some(_)) = (
            job.entry("ioscheduler"),
            self.workload.targets.scheduler.as_ref().filter(|other| Some(*other) != scheduler.as_ref()),
        ) {
            return Err(job.fault(entry, "another job asks for another scheduler", "write it once, in [global]"));
        }
        self.workload.targets.scheduler = self.workload.targets.scheduler.take().or(scheduler);
        self.sealing = sealing(job, mode)?;
        Ok(())
    }

    /// Adds criteria for the bounds at which fio stops a job.
    pub(super) fn criteria(&mut self, job: &Job<'_>, stream: &str, direction: Direction) -> Result<(), Fault> {
        let mut add = |measure, bound, window| {
            self.workload.criteria.push(Criterion { stream: stream.to_owned(), measure, bound, window: Some(window) });
        };
        if let Some(longest) = job.time("max_latency", Span::from_us(1))?.filter(|longest| !longest.is_zero()) {
            let over = Span::from_ns(longest.as_ns() + 1);
            add(Measure::Service, Bound::OverAtMost { over, at_most: Share::from_ppb(0) }, self.workload.timing.slice);
            if let Some(entry) = job.entry("max_latency") {
                job.differs(entry, entry.key.told);
            }
        }
        let cycle = job.time("rate_cycle", Span::from_ms(1))?.unwrap_or(CYCLE);
        if let Some(entry) =
            job.entry("rate_cycle").filter(|_| cycle.is_zero() || !cycle.as_ns().is_multiple_of(CYCLE.as_ns()))
        {
            return Err(job.fault(entry, "not a window that can be judged", "write whole seconds, such as 1000"));
        }
        let operations = job.pair("rate_iops_min", |reading, text| reading.count(text))?[index(direction)];
        let bytes = job.pair("rate_min", |reading, text| reading.count(text))?[index(direction)];
        for entry in [job.entry("rate_iops_min"), job.entry("rate_min")].into_iter().flatten() {
            job.differs(entry, entry.key.told);
        }
        if let Some(rate) = operations.filter(|rate| *rate > 0) {
            add(Measure::Response, Bound::RateAtLeast(Rate::per_second(rate)), cycle);
        }
        if let Some(bytes) = bytes.filter(|bytes| *bytes > 0) {
            add(Measure::Response, Bound::ThroughputAtLeast(Bytes::new(bytes)), cycle);
        }
        Ok(())
    }
}

/// The part of the extent that zones of absolute size cover; without such zones, the whole extent.
fn zoned(job: &Job<'_>, direction: Direction, (extent, length): (Extent, Option<u64>)) -> Result<Extent, Fault> {
    let Some(zones) = absolute(job, direction)? else { return Ok(extent) };
    let space: u64 = zones.iter().map(|(_, space)| *space).sum();
    if let Some(entry) = job.entry("random_distribution").filter(|_| length.is_some_and(|length| space > length)) {
        let remedy = "write smaller zones, or a larger size";
        return Err(job.fault(
            entry,
            format!("the zones take {}, more than the job uses", Bytes::new(space).human()),
            remedy,
        ));
    }
    Ok(Extent { length: Some(assay_model::Amount::Bytes(Bytes::new(space))), ..extent })
}
