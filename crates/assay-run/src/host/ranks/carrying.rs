//! Carries ranks through a run: each writes its own log in a thread, while this one joins their logs over the link.

use super::joint_writer::JointWriter;
use super::judged_lines::JudgedLines;
use super::link_failure;
use super::own_log::SendLines;
use super::start::{StartOfAll, start_channel};
use super::wording::name_on_host;
use crate::drive::{Drive, RankPlace, RankShare};
use crate::failure::{Failure, one_line};
use crate::host::signals::StopCell;
use crate::host::threads::spawn_scoped;
use crate::log::logfile::LogFile;
use crate::observer::{Observer, Unobserved};
use crate::open::targets::Targets;
use crate::procedure::steps::{Course, Task, never_decided};
use assay_base::{Instant, Span};
use assay_device::clock::Clock;
use assay_hosts::clock::{ClockMap, ClockReading};
use assay_hosts::joint_log::{ClockLimits, JointNews, Patience, RankLog, Strayed};
use assay_hosts::{Link, LinkError};
use assay_record::{Entry, Event, EventKind, HostClock};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::time::Duration;

/// Between two looks at the link while answers may come.
const LOOK_EVERY: Duration = Duration::from_millis(1);
/// The same while there is nothing to wait for but the next line or letter: a look each millisecond takes 4 % of a processor.
const LOOK_AT_REST: Duration = Duration::from_millis(20);
/// So long after something has happened there may be more.
const AT_REST_AFTER: Span = Span::from_ms(20);
/// The time between two updates of the live display.
const SHOW_EVERY: Span = Span::from_ms(250);
/// Lines that a rank may write ahead of what was joined.
const LINES_AHEAD: usize = 256;

/// What all ranks carry, and what this process knows of it.
pub struct JointRun<'a> {
    /// The runs, one after another, as each rank carries them.
    pub tasks: &'a [Task],
    /// The targets, open.
    pub targets: &'a Targets,
    /// The way in which they are carried out.
    pub how: &'a Drive,
    /// Ends them early, and whatever would follow them.
    pub stop: &'a StopCell,
    /// From the moment when all ranks can begin to the start: each must have heard of it before.
    pub lead: Span,
    /// The host of each rank.
    pub hosts: &'a [String],
}

/// A rank that this process carries.
pub struct CarriedRank<'a> {
    /// What joins it with the others.
    pub link: &'a mut dyn Link,
    /// Its place among them.
    pub place: RankPlace,
    /// The other ranks that use disks of this one.
    pub beside: Vec<u32>,
    /// The file of its own log, which nothing may be at.
    pub log: PathBuf,
    /// The clock of rank 0.
    pub common_time: ClockMap,
}

/// A rank while it is carried.
struct Carrying<'a> {
    link: &'a mut dyn Link,
    log: RankLog,
    judged: JudgedLines,
    lines: Receiver<Entry>,
    ended: Receiver<Result<(), Failure>>,
    start: StartOfAll,
    common_time: ClockMap,
    /// When this rank could begin, until it does.
    armed_at: Option<Instant>,
    has_ended: bool,
}

/// How long a rank that could begin waits for the others. What they do meanwhile is what it has done.
const ARMED_WITHIN: Span = Span::from_secs(120);
/// The same where each makes a tree of files before.
const ARMED_WITH_TREE_WITHIN: Span = Span::from_secs(3600);
/// By how much the other ranks wait longer than rank 0, which knows whom all wait for.
const LATER_THAN_RANK_ZERO: Span = Span::from_secs(5);
/// Of the ranks that hear nothing of rank 0, these say so before they give it up.
const SPEAKERS: std::ops::RangeInclusive<usize> = 1..=3;

impl JointRun<'_> {
    /// Carries ranks to the end of their tasks. The log of all is written into `joint`, where rank 0 is among them.
    pub fn carry_ranks(
        &self,
        ranks: Vec<CarriedRank<'_>>,
        joint: Option<&mut LogFile>,
        observer: &mut dyn Observer,
        clock: Clock,
    ) -> Result<(), Failure> {
        if let Some(joint) = &joint {
            joint.keep_in_memory(self.how.manner.judge_on);
        }
        let mut writer = joint.map(|log| JointWriter::begin_log(log, observer));
        // What ends this run, because another rank has ended, does not end those that may follow it.
        let stop = &StopCell::default();
        std::thread::scope(|scope| {
            let mut carried = Vec::new();
            for CarriedRank { link, place, beside, log, common_time } in ranks {
                let (lines, heard) = sync_channel(LINES_AHEAD);
                let (end, ended) = sync_channel(1);
                let name = format!("rank-{}", place.rank);
                let (start_of_rank, start) = start_channel();
                let share = RankShare {
                    place,
                    clock: clock_of_rank_zero(&common_time),
                    start: Arc::new(start_of_rank),
                    beside,
                };
                let work = move || {
                    let _ = end.send(self.carry_own_share(share, &log, lines, stop));
                };
                let log = RankLog::begin_listening(Patience::default(), link.world_size(), clock.now());
                let log = log.with_lead(self.lead);
                let judged = JudgedLines::default();
                let (lines, armed_at, has_ended) = (heard, None, false);
                carried.push(Carrying { link, log, judged, lines, ended, start, common_time, armed_at, has_ended });
                spawn_scoped(scope, name, work)?;
            }
            let joined = self.join_logs(&mut carried, writer.as_mut(), clock, stop);
            if let Err(failure) = &joined {
                // No rank goes on alone.
                stop.ask_because("the ranks do not go on together");
                if let Some(writer) = &mut writer {
                    for held in carried.iter_mut().filter_map(|rank| rank.log.take_held()) {
                        writer.receive_news(held)?;
                    }
                    writer.close_cut_off(&one_line(failure.user_message()));
                }
            }
            joined
        })
    }

    /// How long a rank that could begin waits for the others.
    fn armed_within(&self) -> Span {
        let has_tree = self.tasks.iter().any(|task| task.plan.load.files().is_some());
        if has_tree { ARMED_WITH_TREE_WITHIN } else { ARMED_WITHIN }
    }

    /// From when on it matters how far a clock is off.
    fn clock_limits(&self) -> ClockLimits {
        let plans = || self.tasks.iter().map(|task| &task.plan);
        let windows = plans().flat_map(|plan| plan.criteria.iter().filter_map(|criterion| criterion.window));
        let shortest = windows.chain(plans().map(|plan| plan.timing.slice)).min().unwrap_or(Span::ZERO);
        ClockLimits::of_run(plans().map(|plan| plan.timing.interval).max().unwrap_or(Span::ZERO), shortest)
    }

    /// What a rank does by itself.
    fn carry_own_share(
        &self,
        share: RankShare,
        log: &std::path::Path,
        lines: SyncSender<Entry>,
        stop: &StopCell,
    ) -> Result<(), Failure> {
        let mut log = LogFile::create_new(log)?.heard_by(Box::new(SendLines::of_log(log.to_owned(), lines)));
        let how = Drive { share: Some(share), ..self.how.clone() };
        let course = Course { targets: self.targets, how: &how, stop };
        course.run_tasks(self.tasks.to_vec(), &mut log, &mut Unobserved, &never_decided)
    }

    /// Joins the logs until all ranks of this process have ended, and all that they wrote is joined.
    fn join_logs(
        &self,
        ranks: &mut [Carrying<'_>],
        mut writer: Option<&mut JointWriter<'_>>,
        clock: Clock,
        stop: &StopCell,
    ) -> Result<(), Failure> {
        let (mut shown, mut moved) = (clock.now(), clock.now());
        loop {
            stop.take_over(self.stop);
            let mut has_moved = false;
            for rank in ranks.iter_mut() {
                has_moved |= rank.hear_own_lines().inspect_err(|failure| rank.tell_failure(failure, clock))?;
                if rank.start.has_armed() {
                    rank.log.arm();
                    rank.armed_at = Some(clock.now());
                }
                rank.refuse_late_start(clock.now(), self.armed_within(), self.hosts)
                    .inspect_err(|failure| rank.tell_failure(failure, clock))?;
                let stepped = rank.log.step(rank.link, &|| clock.now()).map_err(|error| link_failure(&error))?;
                has_moved |= stepped.has_moved;
                for news in stepped.news {
                    let obeyed = rank.obey_news(&news, self, stop, clock);
                    // Also what ends the run is written.
                    if let Some(writer) = writer.as_deref_mut().filter(|_| rank.link.own_rank() == 0) {
                        writer.receive_news(news)?;
                    }
                    obeyed?;
                }
            }
            if writer.as_ref().is_some_and(|writer| writer.has_failed()) {
                stop.ask_because("the log of all ranks could not be kept");
            }
            let done = ranks.iter_mut().map(Carrying::is_done).collect::<Result<Vec<bool>, LinkError>>();
            if done.map_err(|error| link_failure(&error))?.into_iter().all(|is_done| is_done) {
                return Ok(());
            }
            if let Some(writer) = writer.as_ref().filter(|_| clock.now().since(shown) >= SHOW_EVERY) {
                writer.time_passes();
                shown = clock.now();
            }
            if has_moved {
                moved = clock.now();
                continue;
            }
            let is_at_rest = clock.now().since(moved) > AT_REST_AFTER;
            let waits = ranks.iter().any(|rank| rank.log.waits_for_others());
            std::thread::park_timeout(if is_at_rest && !waits { LOOK_AT_REST } else { LOOK_EVERY });
        }
    }
}

/// What a rank knows of the clock of rank 0, for its header.
fn clock_of_rank_zero(map: &ClockMap) -> Option<HostClock> {
    let ClockReading { offset_ns, error_ns, .. } = map.last_reading()?;
    Some(HostClock { offset_ns, error_ns, scale_ppb: map.scale_ppb })
}

impl Carrying<'_> {
    /// Takes lines of the own log as far as they can be joined: a rank in virtual time may be far ahead of the others, and waits.
    /// Whether there were any.
    fn hear_own_lines(&mut self) -> Result<bool, Failure> {
        let mut has_heard = false;
        while self.log.wants_line() {
            match self.lines.try_recv() {
                Ok(line) => self.judged.pass_line(line, self.link.own_rank(), &mut self.log),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => {
                    self.hear_end()?;
                    break;
                }
            }
            has_heard = true;
        }
        Ok(has_heard)
    }

    /// How the rank's thread has ended, which writes no more lines.
    fn hear_end(&mut self) -> Result<(), Failure> {
        match self.ended.try_recv() {
            Ok(Ok(())) => self.has_ended = true,
            Ok(Err(failure)) => return Err(failure),
            Err(TryRecvError::Disconnected) if !self.has_ended => {
                return Err(Failure::internal_bug("the thread of a rank has died"));
            }
            Err(_) => {}
        }
        Ok(())
    }

    /// Tells the other ranks why this one cannot go on, as far as the link still carries it.
    fn tell_failure(&mut self, failure: &Failure, clock: Clock) {
        self.log.fail(failure.user_message().to_owned());
        let _ = self.log.step(self.link, &|| clock.now());
    }

    /// Gives up a start for which others are not ready.
    fn refuse_late_start(&self, now: Instant, armed_within: Span, hosts: &[String]) -> Result<(), Failure> {
        let is_first = self.link.own_rank() == 0;
        let within = if is_first { armed_within } else { armed_within + LATER_THAN_RANK_ZERO };
        if self.armed_at.is_none_or(|armed_at| now.since(armed_at) < within) {
            return Ok(());
        }
        let late: Vec<String> =
            self.log.unarmed_ranks().into_iter().map(|rank| name_on_host(rank, &hosts[rank])).collect();
        let who = if is_first { late.join(", ") } else { "others".to_owned() };
        Err(Failure::host_unable(format!(
            "rank {} could begin {within} ago, and {who} cannot yet",
            self.link.own_rank()
        )))
    }

    /// Does what news ask of this rank.
    fn obey_news(
        &mut self,
        news: &JointNews,
        run: &JointRun<'_>,
        stop: &StopCell,
        clock: Clock,
    ) -> Result<(), Failure> {
        let whom = |rank: usize| name_on_host(rank, &run.hosts[rank]);
        match news {
            JointNews::Start { ns } => {
                self.armed_at = None;
                if let Some(reading) = self.common_time.last_reading() {
                    self.log.watch_clock(run.clock_limits(), reading, clock.now());
                }
                self.start.tell_start(self.common_time.own_time_at(i64::try_from(*ns).unwrap_or(i64::MAX)), clock);
            }
            JointNews::ClockStrayed(strayed) => self.log.hear_line(self.event_of_clock(*strayed, clock)),
            JointNews::EndsEarly => stop.ask_because("another rank ended before its time"),
            JointNews::Silent { rank, quiet_for } => {
                let own_rank = self.link.own_rank();
                if own_rank == 0 || SPEAKERS.contains(&own_rank) {
                    let says = if own_rank == 0 { String::new() } else { format!("rank {own_rank}: ") };
                    let quiet_for = quiet_for.human_text();
                    self.link.tell_user(&format!("{says}nothing was heard of {} for {quiet_for}", whom(*rank)));
                }
            }
            JointNews::Lost { rank, quiet_for } => {
                return Err(Failure::cut_short(format!(
                    "nothing was heard of {} for {}",
                    whom(*rank),
                    quiet_for.human_text()
                )));
            }
            JointNews::Failed { rank, why } => {
                return Err(Failure::host_unable(format!("{} cannot go on: {why}", whom(*rank))));
            }
            _ => {}
        }
        Ok(())
    }

    /// What is to be said of the own clock, for the log of all: where it is too far off, the windows that are open prove nothing.
    fn event_of_clock(&self, strayed: Strayed, clock: Clock) -> Entry {
        let Strayed { by_ns, error_ns, spoils } = strayed;
        let [by, error] = [by_ns, error_ns].map(|ns| Span::from_ns(ns.unsigned_abs()).human_text());
        let direction = if by_ns > 0 { "behind" } else { "ahead of" };
        let text = format!(
            "since the start the clock of rank {} has moved {by} {direction} that of rank 0 (± {error}): intervals of one number are not of one time",
            self.link.own_rank()
        );
        let at = self.start.on_line_of_run(clock.now(), clock).unwrap_or(Instant::ZERO);
        let what = if spoils { EventKind::EnvironmentChanged } else { EventKind::Warning };
        let details = [("strayed_ns", by_ns), ("error_ns", error_ns)];
        let details = details.map(|(name, ns)| (name.to_owned(), ns.to_string()));
        Entry::Event(Event { at_ns: at.as_ns(), what, text, details: details.into() })
    }

    fn is_done(&mut self) -> Result<bool, LinkError> {
        Ok(self.has_ended && self.log.is_at_rest() && self.link.all_has_left()?)
    }
}
