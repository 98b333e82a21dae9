//! Turns jobs into a workload. Each direction of each copy of a job is a stream; what streams cannot express yet is
//! refused at its place.

use super::Surroundings;
use super::ends::{Ends, read_ends};
use super::engines::refuse_undriven;
use super::explain::{self, Line};
use super::files::{Choice, Files, refuse_other_count};
use super::groups::direction_groups;
use super::job::{Job, all_jobs};
use super::naming::{Names, name_stem};
use super::order::{Mode, index_of_direction, read_mode};
use super::page_cache::Ways;
use super::seals::read_sealing;
use super::steps::{Done, refuse_foreign_waits, settle_all_jobs, waits_for};
use super::text::JobFile;
use assay_base::{Bound, Bytes, Criterion, Direction, Fault, Measure, Rate, Share, Span};
use assay_model::workload::{Caches, Load, MOST_STREAMS, Sealing, Targets, Timing, Workload};

/// A job file as a workload.
#[derive(Debug)]
pub struct Lowered {
    /// The workload to run.
    pub workload: Workload,
    /// How each key was treated.
    pub keys: Vec<Line>,
}

/// The window of `rate_min` without `rate_cycle`: the default of fio.
const CYCLE: Span = Span::from_secs(1);

/// Upper bound on the streams of all steps together.
const MOST_IN_ALL: usize = 65_536;

/// The workload of a job file, called `name`.
pub fn lower_job_file(
    name: &str,
    file: &JobFile,
    choice: &Choice,
    around: &dyn Surroundings,
) -> Result<Lowered, Fault> {
    let all = all_jobs(file)?;
    refuse_foreign_waits(&all)?;
    let jobs = chosen_jobs(file, all, choice)?;
    for job in &jobs {
        refuse_undriven(job)?;
        job.refuse_unset()?;
        // What is wrong with the mode itself is told where it is read.
        job.refuse_unsupported(read_mode(job).map_or(true, |mode| mode.writes))?;
    }
    refuse_other_count(&jobs, choice)?;
    let mut made = Made::new(name, choice, around);
    let (mut done, mut step): (Vec<Done>, u32) = (Vec::new(), 1);
    for (at, job) in jobs.iter().enumerate() {
        if job.is_switched_on("stonewall")? && at > 0 {
            step += 1;
            made.first_of_step = made.workload.load.streams.len();
        }
        let after = waits_for(job, &done, step)?;
        let ends = read_ends(job, after, choice.measure)?;
        let one = made.add_job_streams(job, &ends, step)?;
        done.push(one);
    }
    settle_all_jobs(&jobs, &done, &mut made.workload)?;
    made.workload.load.groups = direction_groups(&jobs, &done, &made.workload.load.streams)?;
    // This must come last: only now has everything read its keys.
    take_notes(&jobs, &done, &mut made.workload, choice)?;
    if let Some(strange) = made.files.unknown_mapped_name() {
        let remedy = format!("the files are {}", made.files.target_names().join(", "));
        return Err(file.fault_of_file(format!("no job has a file {}", strange.escape_debug()), remedy));
    }
    let Made { files, mut workload, ways, .. } = made;
    let page_cache = ways.cached_targets();
    if choice.page_cache && page_cache.is_empty() {
        workload.notes.push("--page-cache changes nothing: no job asks for the page cache on a file".to_owned());
    }
    let workload = Workload {
        description: jobs
            .iter()
            .find_map(|job| job.text_of_key("description").ok().flatten())
            .unwrap_or_default()
            .to_owned(),
        load: Load { per_target: false, ..workload.load },
        targets: Targets { names: files.target_names(), paths: files.targets, ..workload.targets },
        caches: Caches { page: page_cache, ..workload.caches },
        // fio does not stop a job that lags behind its rate.
        timing: Timing { max_lag: Span::ZERO, ..workload.timing },
        ..workload
    };
    Ok(Lowered { workload, keys: explain::explained_lines(file, &jobs, choice.page_cache) })
}

/// Takes the notes of the jobs, each note once in a step, and refuses keys that nobody has read.
fn take_notes(jobs: &[Job<'_>], done: &[Done], workload: &mut Workload, choice: &Choice) -> Result<(), Fault> {
    for (job, done) in jobs.iter().zip(done) {
        job.refuse_unread_keys(choice.page_cache)?;
        let of_step = workload.timing.steps.get_mut(done.step as usize - 1);
        let notes = of_step.map_or(&mut workload.notes, |step| &mut step.notes);
        for note in job.all_notes() {
            // Several jobs may have the same note, because of a global section.
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    Ok(())
}

/// The jobs that are asked for.
fn chosen_jobs<'a>(file: &JobFile, jobs: Vec<Job<'a>>, choice: &Choice) -> Result<Vec<Job<'a>>, Fault> {
    for name in &choice.sections {
        if !jobs.iter().any(|job| job.name == *name) {
            let names: Vec<&str> = jobs.iter().map(|job| job.name.as_str()).take(20).collect();
            return Err(file.fault_of_file(
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
    pub stream_names: Names,
    pub loop_names: Names,
    /// The index of the first stream of the current step.
    first_of_step: usize,
    /// The streams of the current job that begin when its other streams have ended.
    pub last: Vec<String>,
    /// How the jobs use their files.
    pub ways: Ways,
    /// The seals that the current job writes into its data, or looks for in them.
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
    fn add_job_streams(&mut self, job: &Job<'_>, ends: &Ends, step: u32) -> Result<Done, Fault> {
        let (streams, loops) = (self.workload.load.streams.len(), self.workload.load.loops.len());
        self.add_job(job, ends)?;
        let streams: Vec<String> =
            self.workload.load.streams[streams..].iter().map(|stream| stream.name.clone()).collect();
        let loops: Vec<String> = self.workload.load.loops[loops..].iter().map(|looped| looped.name.clone()).collect();
        let last = std::mem::take(&mut self.last);
        let names = if !last.is_empty() {
            // A job that flushes at its end has ended when that flush is done.
            last
        } else if loops.is_empty() {
            streams.clone()
        } else {
            loops
        };
        let sealing = self.sealing.take();
        if let Some(sealing) = sealing {
            self.workload.verification.sealed.extend(streams.iter().map(|name| (name.clone(), sealing)));
        }
        self.workload.verification.verify |= sealing.is_some();
        Ok(Done { job: job.name.clone(), step, names, streams, sealing })
    }

    /// Refuses more streams than a step can have.
    pub(super) fn has_room(&self, job: &Job<'_>, more: u64) -> Result<(), Fault> {
        let streams = self.workload.load.streams.len();
        let of_step = (streams - self.first_of_step) as u64 + more;
        let (what, most) = if streams as u64 + more > MOST_IN_ALL as u64 {
            ("more streams than all steps of a workload can have", MOST_IN_ALL)
        } else if of_step > MOST_STREAMS as u64 {
            ("more streams than run together in a step", MOST_STREAMS)
        } else {
            return Ok(());
        };
        let place = job.find_entry("numjobs").map_or(job.section.place, |entry| entry.place);
        let remedy = format!("write jobs whose copies and directions come to {most}; stonewall begins another step");
        Err(job.file.fault_at(place, what, remedy))
    }

    fn add_job(&mut self, job: &Job<'_>, ends: &Ends) -> Result<(), Fault> {
        if let Some(entry) = job
            .find_entry("kb_base")
            .filter(|entry| !entry.value.as_ref().is_some_and(|value| ["1000", "1024"].contains(&value.text.as_str())))
        {
            return Err(job.fault_at_entry(entry, "no such base", "write 1024 or 1000"));
        }
        match job.value_of_key("read_iolog")? {
            Some((entry, value)) => self.add_replays(job, ends, entry, value),
            None => self.add_copies(job, ends),
        }
    }

    /// A name for a stream of a copy, which no other stream has.
    pub(super) fn stream_name(
        &mut self,
        job: &Job<'_>,
        copy: u64,
        copies: u64,
        mode: Mode,
        direction: Direction,
    ) -> String {
        let way = if mode.reads_and_writes() { format!(".{direction}s") } else { String::new() };
        self.stream_names.take_name(format!("{}{way}", name_stem(job, copy, copies)))
    }

    /// Reads the keys whose effect is on the whole run.
    pub(super) fn read_common_keys(&mut self, job: &Job<'_>, mode: Mode) -> Result<(), Fault> {
        let seed = job.count_of_key("randseed")?;
        if let (Some(entry), Some(_)) =
            (job.find_entry("randseed"), self.workload.seed.filter(|other| Some(*other) != seed))
        {
            return Err(job.fault_at_entry(entry, "another job has another seed", "write it once, in [global]"));
        }
        self.workload.seed = self.workload.seed.or(seed);
        let scheduler = job.text_of_key("ioscheduler")?.map(str::to_owned);
        if let (Some(entry), Some(_)) = (
            job.find_entry("ioscheduler"),
            self.workload.targets.scheduler.as_ref().filter(|other| Some(*other) != scheduler.as_ref()),
        ) {
            return Err(job.fault_at_entry(
                entry,
                "another job asks for another scheduler",
                "write it once, in [global]",
            ));
        }
        self.workload.targets.scheduler = self.workload.targets.scheduler.take().or(scheduler);
        self.sealing = read_sealing(job, mode)?;
        Ok(())
    }

    /// Adds criteria for the bounds at which fio stops a job.
    pub(super) fn add_criteria(&mut self, job: &Job<'_>, stream: &str, direction: Direction) -> Result<(), Fault> {
        if let Some(longest) = job.time_of_key("max_latency", Span::from_us(1))?.filter(|longest| !longest.is_zero()) {
            let over = Span::from_ns(longest.as_ns() + 1);
            let bound = Bound::OverAtMost { over, at_most: Share::from_ppb(0) };
            self.add_criterion(stream, Measure::Service, bound, self.workload.timing.slice);
            if let Some(entry) = job.find_entry("max_latency") {
                job.note_difference(entry, entry.key.told);
            }
        }
        let cycle = job.time_of_key("rate_cycle", Span::from_ms(1))?.unwrap_or(CYCLE);
        if let Some(entry) =
            job.find_entry("rate_cycle").filter(|_| cycle.is_zero() || !cycle.as_ns().is_multiple_of(CYCLE.as_ns()))
        {
            return Err(job.fault_at_entry(
                entry,
                "not a window that can be judged",
                "write whole seconds, such as 1000",
            ));
        }
        let operations =
            job.pair_of_key("rate_iops_min", |reading, text| reading.parse_count(text))?[index_of_direction(direction)];
        let bytes =
            job.pair_of_key("rate_min", |reading, text| reading.parse_count(text))?[index_of_direction(direction)];
        for entry in [job.find_entry("rate_iops_min"), job.find_entry("rate_min")].into_iter().flatten() {
            job.note_difference(entry, entry.key.told);
        }
        if let Some(rate) = operations.filter(|rate| *rate > 0) {
            self.add_criterion(stream, Measure::Response, Bound::RateAtLeast(Rate::per_second(rate)), cycle);
        }
        if let Some(bytes) = bytes.filter(|bytes| *bytes > 0) {
            self.add_criterion(stream, Measure::Response, Bound::ThroughputAtLeast(Bytes::new(bytes)), cycle);
        }
        Ok(())
    }

    fn add_criterion(&mut self, stream: &str, measure: Measure, bound: Bound, window: Span) {
        self.workload.criteria.push(Criterion {
            stream: stream.to_owned(),
            measure,
            bound,
            window: Some(window),
            least_operations: 0,
            parts: assay_base::MarkedParts::EVERY,
        });
    }
}
