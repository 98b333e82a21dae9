//! The streams and loops of a job: each direction of each copy is a stream, and copies that are closed loops have a loop.

use super::by_order::{ByOrder, StreamOfOrder, by_order, refuse_beside};
use super::content::{Own, are_writes_durable, compressed_and_repeated_shares};
use super::ends::{Ends, on_each_of};
use super::engines::{Engine, read_engine};
use super::files::{Files, Used};
use super::flushes::{Flushes, read_flushes};
use super::job::Job;
use super::lower::Made;
use super::naming::name_stem;
use super::order::{Mode, absolute_zones, choose_address, index_of_direction, read_mode};
use super::pace::{Pace, read_pace};
use super::page_cache::is_buffered;
use super::seals::reads_instead_of_writing;
use super::sizes::read_sizes;
use super::turns::{Service, read_service, turns_over_files};
use super::zones::{Zones, read_zones, up_to_the_end};
use assay_base::{Bytes, Direction, Fault, Share};
use assay_model::arrival::SharedSchedule;
use assay_model::mix::{Loop, Think};
use assay_model::plan::{Arrival, Lane, Stream, Work};
use assay_model::size::Size;
use assay_model::workload::MOST_STREAMS;
use assay_model::{Address, Extent, Flush, Life};

/// The endings of the names of streams of flushes.
const AFTER_WRITES: &str = ".flushes";
const AT_END: &str = ".end-flush";

/// The properties that all copies of a job have in common.
struct JobLoad<'a> {
    mode: Mode,
    /// The sizes by order, if the job has `bs_is_seq_rand`.
    order: Option<ByOrder>,
    /// The sizes of reads and of writes.
    sizes: [Size; 2],
    engine: Engine,
    flushes: Flushes,
    service: Service<'a>,
    pace: Pace,
    zones: Option<Zones<'a>>,
    own: Own,
}

impl JobLoad<'_> {
    /// The order, if random and sequential operations have streams of their own.
    fn mixed_order(&self) -> Option<&ByOrder> {
        self.order.as_ref().filter(|order| order.is_mixed())
    }

    /// Whether operations have several sizes.
    fn has_several_sizes(&self) -> bool {
        self.sizes.iter().any(|size| size.from != size.to)
            || (self.mode.reads_and_writes() && self.sizes[0] != self.sizes[1])
    }

    /// The lives of the reads and the writes of a copy with these files.
    fn copy_lives(&self, job: &Job<'_>, ends: &Ends, used: &Used) -> Result<[Life; 2], Fault> {
        let rates = [0, 1].map(|direction| self.pace.arrivals[direction].as_ref().and_then(Arrival::mean_rate));
        let lives = ends.direction_lives(job, used.all, &self.sizes, self.mode, rates)?;
        match used.targets.len() as u64 {
            files @ 2.. if self.pace.looped.is_none() => {
                self.service.is_even(job, used, lives.iter().any(Life::ends_by_number))?;
                Ok(lives.map(|life| on_each_of(life, files)))
            }
            _ => Ok(lives),
        }
    }
}

/// One copy of a job.
struct JobCopy {
    /// Its number among the copies of the job.
    number: u64,
    /// The beginning of the names of its streams.
    stem: String,
    used: Used,
    /// The lives of its reads and of its writes.
    lives: [Life; 2],
    /// The name of the schedule that its streams share, if they do.
    schedule: Option<String>,
    /// The name of the loop that its streams are in, if they are.
    looped: Option<String>,
}

impl Made<'_> {
    /// Adds the streams of all copies of a job.
    pub(super) fn add_copies(&mut self, job: &Job<'_>, ends: &Ends) -> Result<(), Fault> {
        let load = self.job_load(job)?;
        let copies = load.own.copies;
        let (mut before, mut shared) = (None, false);
        for number in 0..copies {
            let used = self.add_copy(job, ends, &load, number)?;
            shared |= before.replace((used.targets.clone(), used.extent)) == Some((used.targets, used.extent));
        }
        if shared && !load.mode.random {
            job.add_note(format!(
                "{}: its {copies} copies go through the same bytes of one file, each from the start",
                job.name
            ));
        }
        self.read_common_keys(job, load.mode)
    }

    /// Reads what all copies have in common. The order of the steps is the order in which faults are reported.
    fn job_load<'j>(&self, job: &Job<'j>) -> Result<JobLoad<'j>, Fault> {
        let mode = read_mode(job)?;
        let rounded = !(self.files.may_be_cached() && is_buffered(job)?);
        let order = by_order(job, mode)?;
        let sizes = read_sizes(job, order.as_ref().map(ByOrder::overall_size).as_ref(), rounded)?;
        let (mode, sizes) = if reads_instead_of_writing(job, mode)? {
            (mode.as_reading(), [sizes[1].clone(), sizes[1].clone()])
        } else {
            (mode, sizes)
        };
        let engine = read_engine(job)?;
        let flushes = read_flushes(job, mode)?;
        Files::refuse_locks(job)?;
        let several = self.files.has_several_files(job)?;
        if order.as_ref().is_some_and(ByOrder::is_mixed) {
            refuse_beside(job, several)?;
        }
        let service = read_service(job)?;
        let pace = read_pace(job, mode, engine.depth, flushes, several.then_some(service), &sizes)?;
        let zones = read_zones(job, mode, several)?;
        let copies = job.number_within::<u64>("numjobs", 1, MOST_STREAMS as u64)?.unwrap_or(1);
        let of_each = mode.directions().count() + usize::from(flushes.every.is_some()) + usize::from(flushes.at_end);
        self.has_room(job, copies * of_each as u64)?;
        let own = Own { content: compressed_and_repeated_shares(job)?, durable: are_writes_durable(job)?, copies };
        Ok(JobLoad { mode, order, sizes, engine, flushes, service, pace, zones, own })
    }

    /// Adds the streams of a copy, and returns what it uses of its files.
    fn add_copy(&mut self, job: &Job<'_>, ends: &Ends, load: &JobLoad<'_>, number: u64) -> Result<Used, Fault> {
        let used = self.files.of_copy(job, number, load.engine, &load.sizes)?;
        self.ways.add_job(job, load.mode, &self.files, &used.targets)?;
        let lives = load.copy_lives(job, ends, &used)?;
        let stem = name_stem(job, number, load.own.copies);
        let schedule = load.pace.is_shared().then(|| self.loop_names.take_name(stem.clone()));
        let first = self.workload.load.streams.len();
        let mixed = load.mixed_order();
        let think = load.pace.looped.or(mixed.map(|_| None));
        let looped = think.map(|think| self.add_loop(stem.clone(), load.engine.depth, think, &lives[0]));
        let copy = JobCopy { number, stem, used, lives, schedule, looped };
        if let (Some(order), Some(looped)) = (mixed, &copy.looped) {
            self.add_both_orders(job, load, &copy, order, looped)?;
        } else {
            for direction in load.mode.directions() {
                self.add_direction(job, load, &copy, direction)?;
            }
            if copy.used.targets.len() > 1 && copy.looped.is_some() {
                let turns = turns_over_files(job, load.service, &copy.used, &self.workload.load.streams[first..])?;
                if let Some(looped) = self.workload.load.loops.last_mut() {
                    looped.turns = Some(turns);
                }
            }
        }
        self.add_flushes(&copy, load.flushes);
        Ok(copy.used)
    }

    /// Adds the stream of a direction of a copy, if the job has operations in that direction.
    fn add_direction(
        &mut self,
        job: &Job<'_>,
        load: &JobLoad<'_>,
        copy: &JobCopy,
        direction: Direction,
    ) -> Result<(), Fault> {
        let Some(arrival) = load.pace.arrivals[index_of_direction(direction)].clone() else { return Ok(()) };
        let work = direction_work(job, load, copy, direction)?;
        let name = self.stream_name(job, copy.number, load.own.copies, load.mode, direction);
        let arrival = match (arrival, &copy.looped) {
            (Arrival::Shared { rate, even, schedule: plain }, _) => {
                let name = copy.schedule.clone().unwrap_or_default();
                Arrival::Shared { rate, even, schedule: SharedSchedule { name, ..plain } }
            }
            (Arrival::Looped { share, line, .. }, Some(looped)) => {
                self.put_into_last_lane(&name);
                Arrival::Looped { looped: looped.clone(), share, line }
            }
            (arrival, _) => arrival,
        };
        if arrival.mean_rate().is_some() {
            self.workload.load.lanes.push(Lane::for_stream(&name, load.engine.depth));
        }
        self.add_criteria(job, &name, direction)?;
        self.workload.load.streams.push(Stream {
            name,
            work,
            arrival,
            per_target: true,
            targets: copy.used.targets.clone(),
            life: if copy.looped.is_some() {
                Life::default()
            } else {
                copy.lives[index_of_direction(direction)].clone()
            },
        });
        Ok(())
    }

    /// Adds the two streams of a copy whose operations are random or sequential, each with its size, to the loop of the
    /// copy, which was added last.
    fn add_both_orders(
        &mut self,
        job: &Job<'_>,
        load: &JobLoad<'_>,
        copy: &JobCopy,
        order: &ByOrder,
        looped: &str,
    ) -> Result<(), Fault> {
        if let Some(entry) = job.find_entry("percentage_random") {
            job.note_difference(entry, "what would go on beyond the end goes on at the start");
        }
        let direction = if load.mode.writes { Direction::Write } else { Direction::Read };
        for StreamOfOrder { behind, size, address, share } in order.both_streams() {
            let work = load.own.block_work(direction, size, address, copy.used.extent, None);
            let name = self.stream_names.take_name(format!("{}{behind}", copy.stem));
            self.put_into_last_lane(&name);
            self.add_criteria(job, &name, direction)?;
            self.workload.load.streams.push(Stream {
                name,
                work,
                arrival: Arrival::Looped { looped: looped.to_owned(), share, line: None },
                per_target: true,
                targets: copy.used.targets.clone(),
                life: Life::default(),
            });
        }
        Ok(())
    }

    /// Adds a stream to the lane that was added last, which is that of the loop.
    fn put_into_last_lane(&mut self, stream: &str) {
        if let Some(lane) = self.workload.load.lanes.last_mut() {
            lane.streams.push(stream.to_owned());
        }
    }

    /// Adds a loop for a copy, with slots of its own, and returns its name.
    fn add_loop(&mut self, stem: String, depth: u32, think: Option<Think>, life: &Life) -> String {
        let name = self.loop_names.take_name(stem);
        let (lines, life) = (Vec::new(), life.clone());
        let looped = Loop { name: name.clone(), in_flight: depth, copies: 1, think, lines, turns: None, life };
        self.workload.load.lanes.push(Lane { streams: Vec::new(), in_flight_bound: looped.slot_count() });
        self.workload.load.loops.push(looped);
        name
    }

    /// Adds the flushes of a copy, whose streams are the last ones in the workload.
    fn add_flushes(&mut self, copy: &JobCopy, flushes: Flushes) {
        let writes = self.workload.load.streams.last().map(|stream| stream.name.clone());
        if let (Some(every), Some(looped)) = (flushes.every, copy.looped.clone()) {
            let arrival = Arrival::Looped { looped, share: Share::default(), line: None };
            let name = self.add_flush_stream(copy, AFTER_WRITES, Some(every), arrival, Life::default());
            self.put_into_last_lane(&name);
        }
        if flushes.at_end {
            let life = Life { operations: Some(1), after: copy.looped.clone().or(writes), ..Life::default() };
            let name = self.add_flush_stream(copy, AT_END, None, Arrival::Closed { in_flight: 1 }, life);
            self.last.push(name);
        }
    }

    /// Adds a stream of flushes, and returns its name, which ends in `behind`.
    fn add_flush_stream(
        &mut self,
        copy: &JobCopy,
        behind: &str,
        every: Option<u32>,
        arrival: Arrival,
        life: Life,
    ) -> String {
        let name = self.stream_names.take_name(format!("{}{behind}", copy.stem));
        self.workload.load.streams.push(Stream {
            name: name.clone(),
            work: Work::Flush(Flush::new(every)),
            arrival,
            per_target: true,
            targets: copy.used.targets.clone(),
            life,
        });
        name
    }
}

/// The work of the stream of a direction of a copy.
fn direction_work(job: &Job<'_>, load: &JobLoad<'_>, copy: &JobCopy, direction: Direction) -> Result<Work, Fault> {
    let is_looped = copy.looped.is_some();
    let size = &load.sizes[index_of_direction(direction)];
    let unit = load.order.as_ref().map(ByOrder::place_unit);
    let address = choose_address(job, load.mode, direction, size, load.has_several_sizes(), is_looped, unit)?;
    let address = match load.zones {
        Some(zones) => zones.address_in_zones(job, address, load.mode.reads_and_writes() && !is_looped)?,
        None => address,
    };
    // Where each block comes once per pass, the reads and writes of a loop share the pass, and they share their zones.
    let is_shared = matches!(address, Address::Once { .. } | Address::Bands { .. });
    let places = copy.looped.clone().filter(|_| is_shared);
    let extent = zoned_extent(job, direction, copy.used.extent, copy.used.all)?;
    let extent = if load.zones.is_some() { up_to_the_end(job, extent)? } else { extent };
    Ok(load.own.block_work(direction, size.clone(), address, extent, places))
}

/// The part of the extent that zones of absolute size cover; without such zones, the whole extent.
fn zoned_extent(job: &Job<'_>, direction: Direction, extent: Extent, length: Option<u64>) -> Result<Extent, Fault> {
    let Some(zones) = absolute_zones(job, direction)? else { return Ok(extent) };
    let space: u64 = zones.iter().map(|(_, space)| *space).sum();
    if let Some(entry) = job.find_entry("random_distribution").filter(|_| length.is_some_and(|length| space > length)) {
        let remedy = "write smaller zones, or a larger size";
        return Err(job.fault_at_entry(
            entry,
            format!("the zones take {}, more than the job uses", Bytes::new(space).human_text()),
            remedy,
        ));
    }
    Ok(Extent { length: Some(assay_model::Amount::Bytes(Bytes::new(space))), ..extent })
}
