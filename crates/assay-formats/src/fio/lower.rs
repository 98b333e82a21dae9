//! Turns jobs into a workload. Each direction of each copy of a job is a stream; what streams cannot express yet is
//! refused at its place.

use super::Surroundings;
use super::by_order::{ByOrder, Part, by_order, refuse_beside};
use super::ends::{Ends, ends};
use super::explain::{self, Line};
use super::files::{Choice, Files, Used};
use super::flushes::{Flushes, flushes};
use super::job::{Job, jobs};
use super::order::{Mode, absolute, address, index, mode};
use super::pace::{engine, pace};
use super::page_cache::{Ways, is_buffered};
use super::seals::{sealing, together};
use super::sizes::sizes;
use super::text::JobFile;
use super::turns::{service, turns};
use assay_base::{Bound, Bytes, Criterion, Direction, Fault, Measure, Rate, Share, Span};
use assay_model::lives::{all_over, life_of};
use assay_model::mix::{Loop, Think};
use assay_model::plan::{Arrival, Block, Lane, Stream, WarmUp, Work};
use assay_model::size::Size;
use assay_model::workload::{
    Caches, IN_FLIGHT_BOUND, LARGEST_BOUND, Load, MOST_STREAMS, Sealing, Targets, Timing, Workload,
};
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

/// The workload of a job file, called `name`.
pub fn lower(name: &str, file: &JobFile, choice: &Choice, around: &dyn Surroundings) -> Result<Lowered, Fault> {
    let all = jobs(file)?;
    waits(&all)?;
    let jobs = chosen(file, all, choice)?;
    jobs.iter().try_for_each(Job::refuse)?;
    let mut made = Made {
        files: Files::new(choice, around),
        workload: Workload::new(name, "streams", Vec::new(), |_| Vec::new()),
        last: Vec::new(),
        ways: Ways::default(),
        sealing: None,
    };
    let (mut done, mut step): (Vec<Done>, u32) = (Vec::new(), 1);
    for (at, job) in jobs.iter().enumerate() {
        step += u32::from(job.flag("stonewall")? && at > 0);
        let ends = ends(job, waits_for(job, &done, step)?)?;
        let (streams, loops) = (made.workload.load.streams.len(), made.workload.load.loops.len());
        made.job(job, &ends)?;
        let streams: Vec<String> =
            made.workload.load.streams[streams..].iter().map(|stream| stream.name.clone()).collect();
        let loops: Vec<String> = made.workload.load.loops[loops..].iter().map(|it| it.name.clone()).collect();
        let last = std::mem::take(&mut made.last);
        let names = match () {
            // A job that flushes at its end has ended when that flush is done.
            () if !last.is_empty() => last,
            () if loops.is_empty() => streams.clone(),
            () => loops,
        };
        let sealing = made.sealing.take();
        let of_stream = |name: &String| Some((name.clone(), sealing?));
        made.workload.verification.sealed.extend(streams.iter().filter_map(of_stream));
        made.workload.verification.verify |= sealing.is_some();
        done.push(Done { job: job.name.clone(), step, names, streams, sealing });
    }
    lasts(&jobs, &done, &mut made.workload)?;
    for (job, own) in jobs.iter().zip(&done) {
        let step = done.iter().filter(|other| other.step == own.step);
        let others: Vec<Sealing> = step.filter_map(|other| other.sealing).collect();
        own.sealing.map_or(Ok(()), |sealing| together(job, sealing, &others))?;
    }
    // This must come last: only now has everything read its keys.
    for job in &jobs {
        job.left()?;
        for note in job.notes() {
            // Several jobs may have the same note, because of a global section: it is given once.
            if !made.workload.notes.contains(&note) {
                made.workload.notes.push(note);
            }
        }
    }
    if let Some(strange) = made.files.strange() {
        let remedy = format!("the files are {}", made.files.names().join(", "));
        return Err(file.whole(format!("no job has a file {}", strange.escape_debug()), remedy));
    }
    let of = |stream: &Stream| if let Arrival::Closed { in_flight } = stream.arrival { in_flight.into() } else { 1 };
    let in_flight: u64 = made.workload.load.streams.iter().map(of).sum();
    let all = made.workload.load.lanes.iter().fold(in_flight, |sum, lane| sum + u64::from(lane.in_flight_bound));
    if all > LARGEST_BOUND.into() {
        return Err(file.whole(
            format!("{all} operations would be in flight"),
            format!("write iodepth and numjobs that come to {LARGEST_BOUND} or less"),
        ));
    }
    let Made { files, mut workload, ways, .. } = made;
    let page_cache = ways.cached();
    if choice.page_cache && page_cache.is_empty() {
        workload.notes.push("--page-cache changes nothing: no job asks for the page cache on a file".to_owned());
    }
    let workload = Workload {
        description: jobs.iter().find_map(|job| job.text("description").ok().flatten()).unwrap_or_default().to_owned(),
        load: Load { per_target: false, in_flight_bound: IN_FLIGHT_BOUND.max(in_flight as u32), ..workload.load },
        targets: Targets { names: files.names(), paths: files.targets, ..workload.targets },
        caches: Caches { page: page_cache, ..workload.caches },
        // fio does not stop a job that lags behind its rate.
        timing: Timing { max_lag: Span::ZERO, ..workload.timing },
        ..workload
    };
    Ok(Lowered { workload, keys: explain::lines(file, &jobs, choice.page_cache) })
}

/// Refuses `wait_for` unless the job that it names stands before.
fn waits(jobs: &[Job<'_>]) -> Result<(), Fault> {
    for (at, job) in jobs.iter().enumerate() {
        if let Some((entry, value)) = job.value("wait_for")?
            && !jobs[..at].iter().any(|before| before.name == value.text)
        {
            return Err(job.fault(entry, "no job of this name stands before this one", "name one that does"));
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

/// The names that a job waits for: the loops or streams of all copies of the job that `wait_for` names. None if that job
/// is in an earlier step, because steps run one after another anyway.
fn waits_for(job: &Job<'_>, made: &[Done], step: u32) -> Result<Vec<String>, Fault> {
    let Some((_, value)) = job.value("wait_for")? else { return Ok(Vec::new()) };
    let Some(done) = made.iter().rfind(|done| done.job == value.text) else {
        // That job is not among the chosen ones.
        job.note(format!("{}: wait_for={}: that job is not run", job.name, value.text));
        return Ok(Vec::new());
    };
    Ok(if done.step < step { Vec::new() } else { done.names.clone() })
}

/// A job that was lowered.
struct Done {
    job: String,
    step: u32,
    /// The names that others can wait for: those of its last streams, of its loops, or of its streams.
    names: Vec<String>,
    /// All its streams.
    streams: Vec<String>,
    /// What is done with its data.
    sealing: Option<Sealing>,
}

/// Sets how long the workload lasts. If all jobs have the same runtime and nothing else begins or ends them, that is
/// the duration of the workload; otherwise each job keeps its own life.
fn lasts(jobs: &[Job<'_>], done: &[Done], workload: &mut Workload) -> Result<(), Fault> {
    let mut before = Span::ZERO;
    for job in jobs {
        before = before.max(job.time("ramp_time", Span::from_secs(1))?.unwrap_or(Span::ZERO));
    }
    workload.timing.warm_up = WarmUp::For(before);
    let own = |stream: &Stream| life_of(stream, &workload.load.loops).clone();
    let first = workload.load.streams.first().map(own).unwrap_or_default();
    let plain = Life { lasts: first.lasts, ..Life::default() };
    let alike = first.lasts.filter(|_| workload.load.streams.iter().all(|stream| own(stream) == plain));
    if let Some(duration) = alike {
        workload.timing.duration = duration;
        workload.load.streams.iter_mut().for_each(|stream| stream.life = Life::default());
        workload.load.loops.iter_mut().for_each(|it| it.life = Life::default());
    } else if let Some(over) = all_over(&workload.load.streams, &workload.load.loops) {
        workload.timing.duration = over;
    }
    let last = done.last().map_or(1, |done| done.step);
    if last > 1 {
        let of = |step| done.iter().filter(move |done| done.step == step).flat_map(|done| done.streams.clone());
        workload.timing.steps = (1..=last).map(|step| of(step).collect()).collect();
    }
    Ok(())
}

/// The workload while it is being built.
pub(super) struct Made<'a> {
    pub files: Files<'a>,
    pub workload: Workload,
    /// The streams of the current job that begin when its other streams have ended.
    last: Vec<String>,
    /// How the jobs use their files.
    pub ways: Ways,
    /// What is done with the data of the current job.
    sealing: Option<Sealing>,
}

impl Made<'_> {
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
        let sizes = sizes(job, order.as_ref(), rounded)?;
        let engine = engine(job)?;
        let flushes = flushes(job, mode)?;
        let several = self.files.several(job)?;
        let mixed = order.as_ref().filter(|order| order.is_mixed());
        mixed.map_or(Ok(()), |_| refuse_beside(job, several))?;
        let pace = pace(job, mode, (engine.depth, flushes, several), &sizes)?;
        let service = service(job)?;
        let copies = job.within::<u64>("numjobs", 1, MOST_STREAMS as u64)?.unwrap_or(1);
        let of_each = mode.directions().count() + usize::from(flushes.every.is_some()) + usize::from(flushes.at_end);
        if self.workload.load.streams.len() as u64 + copies * of_each as u64 > MOST_STREAMS as u64 {
            let place = job.entry("numjobs").map_or(job.section.place, |entry| entry.place);
            return Err(job.file.fault(
                place,
                "more streams than a workload can have",
                format!("write jobs whose copies and directions come to {MOST_STREAMS}"),
            ));
        }
        let own = Own { content: content(job)?, durable: durable(job)?, copies };
        let (mut before, mut shared) = (None, false);
        for copy in 0..copies {
            let used = self.files.of_copy(job, copy, engine, &sizes)?;
            self.ways.add(job, mode, &self.files, &used.targets)?;
            let Used { extent, all: length, .. } = used;
            let rates = [0, 1].map(|direction| pace.arrivals[direction].as_ref().and_then(Arrival::rate));
            let lives = ends.lives(job, length, (&sizes, mode, rates))?;
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
                let address = address(job, mode, direction, size, (several, looped.is_some()), order.as_ref())?;
                // Where each block comes once per pass, the reads and writes of a loop share the pass.
                let places = looped.clone().filter(|_| matches!(address, Address::Once { .. }));
                let extent = zoned(job, direction, (extent, length))?;
                let work = own.block(direction, size.clone(), address, extent, places);
                let name = self.name(job, copy, own.copies, mode, direction);
                let arrival = match (arrival, &looped) {
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
                    self.workload.load.lanes.push(Lane::of(&name, engine.depth));
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
            if used.targets.len() > 1 {
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
            let taken = |name: &String| self.workload.load.streams.iter().any(|stream| stream.name == *name);
            let name = free(format!("{}{behind}", stem(job, copy, own.copies)), taken);
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
        let name = free(stem(job, copy, copies), |name| self.workload.load.loops.iter().any(|it| it.name == *name));
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
            let taken = |name: &String| self.workload.load.streams.iter().any(|stream| stream.name == *name);
            let name = free(format!("{stem}{behind}"), taken);
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
    pub(super) fn name(&self, job: &Job<'_>, copy: u64, copies: u64, mode: Mode, direction: Direction) -> String {
        let way = if mode.both() { format!(".{direction}s") } else { String::new() };
        let plain = format!("{}{way}", stem(job, copy, copies));
        free(plain, |name| self.workload.load.streams.iter().any(|stream| stream.name == *name))
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

/// The beginning of the names of a copy's streams: the name of the job, and the number of the copy if there are
/// several. Characters that a name may not have become `-`.
fn stem(job: &Job<'_>, copy: u64, copies: u64) -> String {
    let usable = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let stem: String = job.name.chars().take(40).map(usable).collect();
    if copies > 1 { format!("{stem}.{copy}") } else { stem }
}

/// The name `plain`, or if it is taken, that name with a number after it.
fn free(plain: String, taken: impl Fn(&String) -> bool) -> String {
    let further = (2..).map(|n| format!("{plain}.{n}"));
    std::iter::once(plain.clone()).chain(further).find(|name| !taken(name)).unwrap_or_else(|| plain.clone())
}

/// What all streams of a job have in common.
pub(super) struct Own {
    /// What written data compress to, and how much of them repeats.
    pub content: (Share, Share),
    pub durable: bool,
    pub copies: u64,
}

impl Own {
    /// What a stream does whose sizes and places come from a recording.
    pub(super) fn recorded(&self, direction: Direction) -> Work {
        let whole = Extent::new(assay_model::Amount::ZERO, None);
        self.block(direction, Size::fixed(Bytes::new(1)), Address::Recorded, whole, None)
    }

    fn block(
        &self,
        direction: Direction,
        size: assay_model::Size,
        address: assay_model::Address,
        extent: assay_model::Extent,
        places: Option<String>,
    ) -> Work {
        let writes = direction == Direction::Write;
        let plain = (Share::WHOLE, Share::default());
        let (compress_to, duplicates) = if writes { self.content } else { plain };
        let whole = assay_model::Extent::new(assay_model::Amount::ZERO, None);
        let durable = writes && self.durable;
        let extent = Some(extent).filter(|extent| *extent != whole);
        Work::Block(Block {
            direction,
            durable,
            size,
            address,
            extent,
            places,
            compress_to,
            duplicates,
            filled_with: None,
        })
    }
}

/// Whether writes are on stable media when they complete.
pub(super) fn durable(job: &Job<'_>) -> Result<bool, Fault> {
    let Some((entry, value)) = job.value("sync")? else { return Ok(false) };
    match value.text.as_str() {
        "0" | "none" => Ok(false),
        "1" | "sync" | "dsync" => {
            job.differs(entry, "O_DSYNC");
            Ok(true)
        }
        _ => Err(job.fault(entry, "no such way to write", "write none, sync or dsync")),
    }
}

/// What written data compress to, and how much of them repeats.
pub(super) fn content(job: &Job<'_>) -> Result<(Share, Share), Fault> {
    let compressible = job.percent("buffer_compress_percentage")?.unwrap_or(0);
    let duplicates = job.percent("dedupe_percentage")?.unwrap_or(0);
    if let Some(entry) = job.entry("dedupe_percentage").filter(|_| duplicates == 100) {
        return Err(job.fault(entry, "the first of equal blocks repeats none", "write 99 or less"));
    }
    if let Some(entry) =
        job.entry("dedupe_mode").filter(|entry| entry.value.as_ref().is_none_or(|value| value.text != "repeat"))
    {
        return Err(job.fault(entry, "not driven here", "write repeat"));
    }
    let zeros = job.flag("zero_buffers")?;
    if let Some(entry) = job.entry("zero_buffers").filter(|_| zeros) {
        job.differs(entry, entry.key.told);
    }
    let compress_to = if zeros { 0 } else { 100 - compressible };
    Ok((Share::from_percent(compress_to), Share::from_percent(duplicates)))
}
