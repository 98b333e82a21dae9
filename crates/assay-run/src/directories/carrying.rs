//! The run of a plan on a directory: one phase of what clients do there. The tree is made before the first phase, and
//! compared and removed after the last one, or after the one that ended early.

use super::activity::is_stopped;
use super::findings::{event, event_of_cache, events_of_end, reads_files};
use super::links::LinkMeters;
use super::protocol::{Answer, Begin, Phase, PhaseEnd, PhaseOver, Refusal, Request, Stonewall, TreeMade};
use super::session::{ActivityWatch, NoAnswer, SILENT_AT_MOST, Session, TICK, Wait};
use super::target::{Directory, lock_session};
use crate::drive::durability::{head_of_files, heads_without_counts};
use crate::drive::{Beneath, Collector, Drive, Meters, RankShare, Sample, header_facts};
use crate::failure::Failure;
use crate::host::signals::StopCell;
use crate::host::watch::{self, Watch};
use crate::log::header::{self, HeaderFacts, RealTimeFacts};
use crate::log::logfile::LogFile;
use crate::log::tool;
use crate::observer::Observer;
use crate::open::targets::Targets;
use assay_base::text::counted_things;
use assay_base::{Bytes, Instant, Span};
use assay_device::clock::Clock;
use assay_device::probe::{MadeDurable, processor_pressure_ns};
use assay_device::safety::{DevNum, Roots};
use assay_engine::Ending;
use assay_engine::shell::Stop;
use assay_files::shell::ClientInterval;
use assay_model::Plan;
use assay_model::files::PlannedFiles;
use assay_record::{CloseReason, DurabilityHead, EventKind, HostSample, SHORT_RUN, SHORT_RUN_GROUP};
use std::collections::BTreeMap;

/// The time that a line of distributions covers in a run that is not short.
const GROUP: Span = Span::from_secs(10);
/// A call is given up after four times as long as it takes to be stuck: 120 s after 30 s.
const GIVEN_UP: u64 = 4;
/// Where names and inodes come from.
const METADATA_DROPPED: &str = "dropped before each phase, with all caches of the host (--drop-caches)";
const METADATA_WARM: &str = "metadata warm: names and inodes may be in memory; --drop-caches drops them";
/// A look for answers that comes later than this was kept from it: by a signal, or by a log that is slow to write.
const LATE_LOOK: Span = Span::from_secs(1);
/// How long nothing may come from the process that makes the calls, beyond the interval and the time after which a call
/// is given up.
const SILENCE: Span = Span::from_secs(10);

/// A run of a plan on a directory.
pub(crate) struct DirectoryRun<'a> {
    /// What is carried here.
    pub(crate) plan: &'a Plan,
    /// What all ranks carry.
    pub(crate) whole: &'a Plan,
    pub(crate) targets: &'a Targets,
    pub(crate) directory: &'a Directory,
    pub(crate) how: &'a Drive,
    pub(crate) stop: &'a StopCell,
}

/// How a phase ended, as the log has it.
struct PhaseEnding {
    reason: CloseReason,
    why: Option<String>,
    at: Instant,
    /// Whether the process that makes the calls can still be asked for something.
    answers: bool,
}

impl PhaseEnding {
    fn new(reason: CloseReason, why: Option<String>, at: Instant, answers: bool) -> PhaseEnding {
        PhaseEnding { reason, why, at, answers }
    }
}

impl DirectoryRun<'_> {
    /// Carries it out, into `log`.
    pub(crate) fn carry_out_run(&self, log: &mut LogFile, observer: &mut dyn Observer) -> Result<CloseReason, Failure> {
        let files = self.plan.load.files();
        let files = files.ok_or_else(|| Failure::internal_bug("a plan without clients on files"))?;
        let rank = self.how.share.as_ref().map_or(0, |share| share.place.rank);
        let session = self.directory.session_of_rank(rank)?;
        let mut session = lock_session(&session);
        self.begin_session(&mut session, files, observer)?;
        let clock = Clock::start();
        let made = self.directory.made_durable();
        let readings = self.how.readings.unwrap_or(watch::machine_clocks);
        let watch = self.directory.with_watched_mount(Watch::new(clock, readings, flushed_disks(made.as_ref())));
        let facts = header_facts(
            self.whole,
            self.targets,
            None,
            self.how,
            engine_facts(files, &session, clock, self.how.manner.directory.drop_caches),
            watch.clock_readings(),
        );
        let links = if self.directory.is_remote() { LinkMeters::of_machine() } else { LinkMeters::none() };
        let mut disks = Beneath::none();
        let mut durability: Vec<DurabilityHead> =
            made.and_then(|made| head_of_files(self.plan, made, &mut disks)).into_iter().collect();
        if let Some(why) = self.how.share.as_ref().and_then(RankShare::why_not_told_apart) {
            durability = heads_without_counts(durability, &why);
        }
        // Disks come first: what is durable names them by their places.
        let meters = disks.meter_heads().into_iter().chain(links.meter_heads()).collect();
        let in_real_time = RealTimeFacts { meters, durability, ..RealTimeFacts::default() };
        let facts = HeaderFacts { in_real_time, ..facts };
        let header = header::make_header(self.whole, facts);
        let collector = Collector::open_segment(self.plan, header, log, observer);
        let (meters, pressure) = (Meters::new(), PressureMeter::new());
        let session = &mut session;
        let mut collecting = Collecting { run: self, session, collector, watch, meters, pressure, disks, links, clock };
        collecting.carry_out_phase(files)
    }

    /// Makes the tree, where this is the first phase.
    fn begin_session(
        &self,
        session: &mut Session,
        files: &PlannedFiles,
        observer: &mut dyn Observer,
    ) -> Result<(), Failure> {
        if files.phase > 0 {
            return session.tree.as_ref().map(|_| ()).ok_or_else(|| {
                Failure::bad_usage("the tree of the earlier phases is gone: start another run, from the first phase")
            });
        }
        let name = self.directory.directory_name();
        observer.say_line(&format!("making the tree in {}", crate::failure::one_line(name)));
        let workload = files.workload.clone();
        let number = run_number();
        let run = format!("{} {number:08x}", self.plan.name);
        let drop_caches = self.how.manner.directory.drop_caches;
        let cleaning = self.directory.cleaning_command();
        let begin = Begin { run, number, seed: self.plan.load.seed, workload, drop_caches };
        let wait = Wait { stop: self.stop, patience: self.given_up(), warn: &|line| observer.warn_user(line) };
        let made = session.begin(begin, &wait).map_err(|why| match why {
            NoAnswer::Failed(why) => why,
            NoAnswer::Hangs(text) => Failure::host_unable(format!(
                "{text}; examine the file system, and then remove what is left: {cleaning}"
            )),
        })?;
        observer.say_line(&made_in_words(made));
        Ok(())
    }
}

fn made_in_words(made: &TreeMade) -> String {
    let (files, bytes) = (counted_things(made.files, "file"), Bytes::new(made.bytes).human_text());
    let within = match made.directories {
        0 => String::new(),
        number => format!(" in {}", counted_things(number, "directory")),
    };
    format!("made {files} with {bytes}{within} below {}", made.directory)
}

impl DirectoryRun<'_> {
    /// After how long a call that does not return is given up.
    fn given_up(&self) -> Span {
        Span::from_ns(self.how.manner.limits.stuck.as_ns().saturating_mul(GIVEN_UP))
    }
}

/// The disks that must be flushed: one that says meanwhile that it has no write cache is not flushed any more.
fn flushed_disks(made: Option<&MadeDurable>) -> Vec<(String, DevNum)> {
    match made {
        Some(MadeDurable::ByFlushesOf(disks)) => disks.iter().map(|disk| (disk.name.clone(), disk.number)).collect(),
        Some(MadeDurable::ByNothing(_) | MadeDurable::Unknown(_)) | None => Vec::new(),
    }
}

/// A number that differs between runs.
fn run_number() -> u32 {
    let now = assay_device::clock::wall_time().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |since| (since.as_nanos() as u64 / 1000) as u32)
}

/// Describes how a run is carried.
fn engine_facts(files: &PlannedFiles, session: &Session, clock: Clock, drop_caches: bool) -> BTreeMap<String, String> {
    let workload = &files.workload;
    let metadata = if drop_caches { METADATA_DROPPED } else { METADATA_WARM };
    let entries = [
        ("engine", Some("system calls".to_owned())),
        ("clients", Some(format!("{}, each a thread that waits in its calls", workload.clients))),
        ("cache", Some(workload.cache.to_string())),
        ("metadata", Some(metadata.to_owned())),
        ("directory", session.tree.as_ref().map(|tree| tree.directory.clone())),
        ("process of the calls", Some(session.connection.process_id().to_string())),
        ("clock", Some(clock.source_name().to_owned())),
        ("program", tool::program_checksum().map(|sum| format!("BLAKE3 {sum}"))),
    ];
    entries.into_iter().filter_map(|(name, fact)| Some((name.to_owned(), fact?))).collect()
}

/// The collecting side of a phase.
struct Collecting<'a, 'b> {
    run: &'a DirectoryRun<'a>,
    session: &'a mut Session,
    collector: Collector<'b>,
    watch: Watch,
    meters: Meters,
    pressure: PressureMeter,
    disks: Beneath,
    links: LinkMeters,
    clock: Clock,
}

impl Collecting<'_, '_> {
    fn carry_out_phase(&mut self, files: &PlannedFiles) -> Result<CloseReason, Failure> {
        let request = self.request(files);
        let given_up = request.given_up;
        let ended = match self.session.connection.send(&Request::Phase(request)) {
            Ok(()) => self.collect_answers(given_up),
            Err(failure) => self.process_ended(&failure),
        };
        let ended = if ended.answers && (files.is_last_phase() || ended.reason != CloseReason::Completed) {
            self.end_session(ended)
        } else {
            ended
        };
        if !ended.answers {
            self.abandon_tree();
        }
        let PhaseEnding { reason, why, at, .. } = ended;
        self.collector.close_segment(&Ending { reason, why, at, totals: None });
        Ok(reason)
    }

    fn request(&self, files: &PlannedFiles) -> Phase {
        let timing = &self.run.plan.timing;
        let limits = self.run.how.manner.limits;
        let length = timing.total_length();
        let group = if length <= SHORT_RUN { SHORT_RUN_GROUP } else { GROUP };
        Phase {
            index: files.phase,
            length,
            interval: timing.interval,
            group: (group.as_ns() / timing.interval.as_ns().max(1)).max(1),
            thresholds_ns: header::exact_thresholds(self.run.plan).bounds_ns().to_vec(),
            streams: self.run.plan.load.streams.iter().map(|stream| stream.name.clone()).collect(),
            loops: self.run.plan.closed_loops().len(),
            stuck: limits.stuck,
            given_up: self.run.given_up(),
            drop_caches: self.run.how.manner.directory.drop_caches,
            waits_for_start: self.run.how.share.is_some(),
            time_line: self.clock.time_line().into(),
        }
    }

    /// Writes what comes to the log until the phase is over.
    fn collect_answers(&mut self, given_up: Span) -> PhaseEnding {
        let patience = given_up + self.run.plan.timing.interval + self.run.plan.timing.interval + SILENCE;
        // What it does before a phase, such as dropping all files from the page cache, takes as long as it takes, but it does
        // something.
        let mut watch = ActivityWatch::begin(self.session.connection.process_id());
        let (mut heard, mut told_to_stop, mut looked) = (None, false, self.clock.now());
        loop {
            let answer = self.session.connection.next_answer(TICK);
            let now = self.clock.now();
            if now.since(looked) > LATE_LOOK {
                // This process did not run itself, and so the other one may not have run either.
                heard = heard.map(|_| now);
            }
            looked = now;
            match answer {
                Ok(Some(Answer::PhaseOver(over))) => return self.ending_of(over),
                Ok(Some(Answer::Refused(refusal))) => return self.phase_failed(refusal),
                Ok(Some(answer)) => {
                    let is_ready = matches!(answer, Answer::PhaseBegun(_));
                    self.take_answer(answer);
                    if is_ready && let Err(failure) = self.begin_with_others() {
                        return self.process_ended(&failure);
                    }
                    heard = Some(self.clock.now());
                }
                Ok(None) if heard.is_some_and(|heard| self.clock.now().since(heard) > patience) => {
                    return self.process_is_silent(patience);
                }
                Ok(None) if heard.is_none() => {
                    let most = if told_to_stop { given_up } else { SILENT_AT_MOST };
                    if watch.has_rested_for(most) {
                        return self.process_is_silent(most);
                    }
                    if let Some(text) = watch.new_warning(given_up) {
                        self.collector.observer.warn_user(&text);
                    }
                    self.collector.observer.time_passes();
                }
                Ok(None) => self.collector.observer.time_passes(),
                Err(failure) => return self.process_ended(&failure),
            }
            self.collector.log.settle_events();
            let asked = self.run.stop.stop_request();
            if let Some(Stop::Now(reason)) = asked {
                return PhaseEnding::new(reason, self.stop_reason(), self.clock.now(), false);
            }
            if !told_to_stop && (asked.is_some() || self.collector.log.write_failure().is_some()) {
                told_to_stop = true;
                // Where it cannot be told, its end is noticed next.
                let _ = self.session.connection.send(&Request::Stop);
            }
        }
    }

    /// Where other ranks carry the rest of the load: waits until all can begin, and lets the clients begin when all do. Where another
    /// rank cannot begin, the phase is over, and what was made for it is removed as behind any other one.
    fn begin_with_others(&mut self) -> Result<(), Failure> {
        let Some(share) = &self.run.how.share else { return Ok(()) };
        let at_ns = share.start.agree_on_start(self.clock).map(Instant::as_ns);
        self.session.connection.send(&Request::Start { at_ns })
    }

    fn take_answer(&mut self, answer: Answer) {
        match answer {
            Answer::Interval(interval, host) => self.write_interval(*interval, host),
            Answer::Event(event) => self.collector.write_event(event),
            Answer::PhaseBegun(look) => {
                if self.run.how.manner.directory.drop_caches {
                    let text = "all caches of the host were dropped before the phase: files, names and inodes";
                    let event = event(EventKind::Settings, text.to_owned(), self.clock.now());
                    self.collector.write_event(event);
                }
                let files = self.run.plan.load.files();
                if let Some((files, look)) = files.zip(look) {
                    let reads = reads_files(&files.current_phase());
                    self.collector.write_event(event_of_cache(files.workload.cache, reads, look, self.clock.now()));
                }
            }
            // Nothing else comes while a phase is carried out.
            _ => {}
        }
    }

    fn write_interval(&mut self, counted: ClientInterval, theirs: HostSample) {
        self.watch.changes_since_last().into_iter().for_each(|event| self.collector.write_event(event));
        let host = cost_of_both(self.meters.sample_host(), theirs);
        let host = Some(HostSample { cpu_pressure_ns: self.pressure.take_rise(), ..host });
        let clocks = self.watch.clock_readings();
        let meters = self.disks.sample_rises().into_iter().chain(self.links.take_rises()).collect();
        let sample = Sample { host, clocks, meters, ..Sample::default() };
        let ClientInterval { mut interval, histograms, entries } = counted;
        for (flow, items) in interval.flows.iter_mut().zip(entries) {
            flow.items = items;
        }
        self.collector.write_interval(interval, histograms, sample);
    }

    fn stop_reason(&self) -> Option<String> {
        self.run.stop.stop_reason().map(str::to_owned)
    }

    /// What a phase shows that was over sooner than its workload asks for is marked.
    fn mark_short_phase(&mut self, begun: Instant, over: Instant) {
        let Some(files) = self.run.plan.load.files() else { return };
        let phase = files.current_phase();
        let lasted = over.since(begun);
        if let Some(least) = phase.at_least.filter(|least| lasted < *least) {
            let lasted = Span::from_ms(lasted.as_ns() / 1_000_000);
            let text = format!("SHORT PHASE: {} took {lasted}, and its workload asks for at least {least}", phase.name);
            self.collector.write_event(event(EventKind::Watermark, text, over));
        }
    }

    fn ending_of(&mut self, over: PhaseOver) -> PhaseEnding {
        let (begun, at) = (Instant::from_ns(over.begun_ns), Instant::from_ns(over.at_ns));
        let mut done = at;
        if let Some(Stonewall { at_ns, sequences }) = over.stonewall {
            done = Instant::from_ns(at_ns);
            let lasted = done.since(begun);
            let text = format!(
                "the first client had done its part after {lasted}: all had done {sequences} sequences by then"
            );
            self.collector.write_event(event(EventKind::StreamEnd, text, done));
        }
        self.mark_short_phase(begun, done);
        match over.end {
            PhaseEnd::Whole => PhaseEnding::new(CloseReason::Completed, None, at, true),
            PhaseEnd::Stopped if self.collector.log.write_failure().is_some() => {
                PhaseEnding::new(CloseReason::LogFailed, None, at, true)
            }
            PhaseEnd::Stopped => PhaseEnding::new(CloseReason::Interrupted, self.stop_reason(), at, true),
            PhaseEnd::PlaceLost(text) => {
                let event = event(EventKind::TargetLost, text.clone(), at);
                self.collector.write_event(event);
                PhaseEnding::new(CloseReason::TargetLost, Some(text), at, true)
            }
            PhaseEnd::RoomTaken(text) => {
                let event = event(EventKind::Disturbed, text.clone(), at);
                self.collector.write_event(event);
                PhaseEnding::new(CloseReason::EngineFailed, Some(text), at, true)
            }
            PhaseEnd::GivenUp(call) => {
                let id = self.session.connection.process_id();
                let text = format!("{call}; the process {id} waits in it until the file system answers");
                let event = event(EventKind::TargetLost, text.clone(), at);
                self.collector.write_event(event);
                PhaseEnding::new(CloseReason::TargetLost, Some(text), at, false)
            }
        }
    }

    fn process_is_silent(&mut self, patience: Span) -> PhaseEnding {
        let id = self.session.connection.process_id();
        let text = format!("the process {id}, which makes the calls on the directory, says nothing for {patience}");
        let at = self.clock.now();
        if is_stopped(id) {
            // Somebody stopped it by a signal: nothing is known of the file system.
            let text = format!("{text}: it was stopped by a signal");
            self.collector.write_event(event(EventKind::EngineFailed, text.clone(), at));
            return PhaseEnding::new(CloseReason::EngineFailed, Some(text), at, false);
        }
        self.collector.write_event(event(EventKind::TargetLost, text.clone(), at));
        PhaseEnding::new(CloseReason::TargetLost, Some(text), at, false)
    }

    /// The process cannot carry the phase out, and says why. It can still compare and clean.
    fn phase_failed(&mut self, refusal: Refusal) -> PhaseEnding {
        let at = self.clock.now();
        self.collector.write_event(event(EventKind::EngineFailed, refusal.text.clone(), at));
        PhaseEnding::new(CloseReason::EngineFailed, Some(refusal.text), at, true)
    }

    fn process_ended(&mut self, failure: &Failure) -> PhaseEnding {
        let (text, at) = (failure.user_message().to_owned(), self.clock.now());
        self.collector.write_event(event(EventKind::EngineFailed, text.clone(), at));
        PhaseEnding::new(CloseReason::EngineFailed, Some(text), at, false)
    }

    /// Compares the tree with what was written, unless the run was cut short, and removes it. A call that hangs then ends
    /// the run as one in its phase does.
    fn end_session(&mut self, ended: PhaseEnding) -> PhaseEnding {
        let is_whole = ended.reason == CloseReason::Completed;
        let verify = self.run.plan.load.files().is_some_and(|files| files.verify);
        if verify && is_whole {
            self.collector.observer.say_line("comparing the tree with what was written; Ctrl-C ends without it");
        }
        let keep = self.run.how.manner.directory.keep;
        let observer = &*self.collector.observer;
        let wait = Wait { stop: self.run.stop, patience: self.run.given_up(), warn: &|line| observer.warn_user(line) };
        match self.session.end(verify && is_whole, keep, &wait) {
            Ok(end) => {
                if let Some(kept) = &end.kept {
                    let command = self.run.directory.cleaning_command();
                    self.collector.observer.say_line(&format!("kept {kept}: {command} removes it"));
                }
                for event in events_of_end(&end, verify && is_whole, self.clock.now()) {
                    self.collector.write_event(event);
                }
            }
            Err(NoAnswer::Hangs(text)) => {
                let at = self.clock.now();
                self.collector.write_event(event(EventKind::TargetLost, text.clone(), at));
                return PhaseEnding::new(CloseReason::TargetLost, Some(text), ended.at, false);
            }
            Err(NoAnswer::Failed(failure)) => {
                let text =
                    format!("what the run left was not compared with what was written: {}", failure.user_message());
                let event = event(EventKind::Unchecked, text, self.clock.now());
                self.collector.write_event(event);
            }
        }
        if verify && !is_whole {
            let text = "the run was cut short: what it left was not compared with what was written".to_owned();
            let event = event(EventKind::Warning, text, self.clock.now());
            self.collector.write_event(event);
        }
        ended
    }

    /// Says what stays in the directory, because nobody can be asked to remove it.
    fn abandon_tree(&mut self) {
        if let Some(tree) = self.session.tree.take() {
            let (command, id) = (self.run.directory.cleaning_command(), self.session.connection.process_id());
            let text = format!("{} stays: {command} removes it when the process {id} has ended", tree.directory);
            // Among many warnings of a hung file system the event alone would not be seen.
            self.collector.observer.warn_user(&text);
            let event = event(EventKind::Warning, text, self.clock.now());
            self.collector.write_event(event);
        }
    }
}

/// For how long something waited for a processor, since the last look. The calls of clients wait for their threads, and for
/// workers of the kernel, so that busy processors look like a slow file system.
struct PressureMeter {
    before_ns: Option<u64>,
}

impl PressureMeter {
    fn new() -> PressureMeter {
        PressureMeter { before_ns: processor_pressure_ns(&Roots::of_machine()) }
    }

    /// 0 where the kernel does not count it.
    fn take_rise(&mut self) -> u64 {
        let now = processor_pressure_ns(&Roots::of_machine());
        let before = std::mem::replace(&mut self.before_ns, now);
        now.zip(before).map_or(0, |(now, before)| now.saturating_sub(before))
    }
}

/// What this process and the one that makes the calls cost together.
fn cost_of_both(ours: HostSample, theirs: HostSample) -> HostSample {
    HostSample {
        cpu_ns: ours.cpu_ns.saturating_add(theirs.cpu_ns),
        run_queue_ns: theirs.run_queue_ns,
        resident_bytes: ours.resident_bytes.saturating_add(theirs.resident_bytes),
        ..ours
    }
}
