//! Carries ranks through a run: each writes its own log in a thread, while this one joins their logs over the link.

use super::joint_writer::JointWriter;
use super::judged_lines::JudgedLines;
use super::link_failure;
use super::start::{StartOfAll, start_channel};
use crate::drive::{Drive, RankPlace, RankShare};
use crate::failure::{Failure, one_line};
use crate::host::signals::StopCell;
use crate::host::threads::spawn_scoped;
use crate::log::logfile::{Listen, LogFile};
use crate::observer::{Observer, Unobserved};
use crate::open::targets::Targets;
use crate::procedure::steps::{Course, Task, never_decided};
use assay_base::Span;
use assay_device::clock::Clock;
use assay_hosts::clock::ClockMap;
use assay_hosts::joint_log::{JointNews, Patience, RankLog};
use assay_hosts::{Link, LinkError};
use assay_record::Entry;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::time::Duration;

/// Between two looks at the link.
const LOOK_EVERY: Duration = Duration::from_millis(1);
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

/// Sends each line of a log to the thread that joins them.
#[derive(Debug)]
struct SendLines(SyncSender<Entry>);

impl Listen for SendLines {
    fn hear_entry(&mut self, entry: &Entry) {
        // Where nobody joins the logs any more, each rank still has its own.
        let _ = self.0.send(entry.clone());
    }
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
    has_ended: bool,
}

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
                let share = RankShare { place, start: Arc::new(start_of_rank), beside };
                let work = move || {
                    let _ = end.send(self.carry_own_share(share, &log, lines, stop));
                };
                let log = RankLog::begin_listening(Patience::default(), link.world_size(), clock.now());
                let log = log.with_lead(self.lead);
                let judged = JudgedLines::default();
                carried.push(Carrying { link, log, judged, lines: heard, ended, start, common_time, has_ended: false });
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

    /// What a rank does by itself.
    fn carry_own_share(
        &self,
        share: RankShare,
        log: &std::path::Path,
        lines: SyncSender<Entry>,
        stop: &StopCell,
    ) -> Result<(), Failure> {
        let mut log = LogFile::create_new(log)?.heard_by(Box::new(SendLines(lines)));
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
        let mut shown = clock.now();
        loop {
            stop.take_over(self.stop);
            let mut has_moved = false;
            for rank in ranks.iter_mut() {
                has_moved |= rank.hear_own_lines().inspect_err(|failure| rank.tell_failure(failure, clock))?;
                if rank.start.has_armed() {
                    rank.log.arm();
                }
                let stepped = rank.log.step(rank.link, clock.now()).map_err(|error| link_failure(&error))?;
                has_moved |= stepped.has_moved;
                for news in stepped.news {
                    rank.obey_news(&news, stop, clock)?;
                    if let Some(writer) = writer.as_deref_mut().filter(|_| rank.link.own_rank() == 0) {
                        writer.receive_news(news)?;
                    }
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
            if !has_moved {
                std::thread::park_timeout(LOOK_EVERY);
            }
        }
    }
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
        let _ = self.log.step(self.link, clock.now());
    }

    /// Does what news ask of this rank.
    fn obey_news(&self, news: &JointNews, stop: &StopCell, clock: Clock) -> Result<(), Failure> {
        match news {
            JointNews::Start { ns } => {
                self.start.tell_start(self.common_time.own_time_at(i64::try_from(*ns).unwrap_or(i64::MAX)), clock);
            }
            JointNews::EndsEarly => stop.ask_because("another rank ended before its time"),
            JointNews::Lost { rank, quiet_for } => {
                return Err(Failure::cut_short(format!(
                    "nothing was heard of rank {rank} for {}",
                    quiet_for.human_text()
                )));
            }
            JointNews::Failed { rank, why } => {
                return Err(Failure::host_unable(format!("rank {rank} cannot go on: {why}")));
            }
            _ => {}
        }
        Ok(())
    }

    fn is_done(&mut self) -> Result<bool, LinkError> {
        Ok(self.has_ended && self.log.is_at_rest() && self.link.all_has_left()?)
    }
}
