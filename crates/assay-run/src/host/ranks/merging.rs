//! The log of all ranks once more, from the logs of the ranks alone.

use super::joint_writer::JointWriter;
use super::judged_lines::JudgedLines;
use super::link_failure;
use super::places::directory_of_rank;
use crate::failure::{Failure, escaped_path};
use crate::log::judging::Log;
use crate::log::logfile::LogFile;
use crate::observer::Unobserved;
use assay_base::Instant;
use assay_hosts::Link;
use assay_hosts::exchange::{Exchange, ExchangeLink};
use assay_hosts::joint_log::{JointNews, Patience, RankLog};
use assay_record::{Entry, Reader};
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

/// The logs of the ranks of a run, in the order of the ranks.
pub fn logs_of_ranks(run: &Path) -> Result<Vec<PathBuf>, Failure> {
    let logs: Vec<PathBuf> =
        (0..).map(|rank| directory_of_rank(run, rank).join("run.jsonl")).take_while(|log| log.is_file()).collect();
    if logs.is_empty() {
        return Err(Failure::bad_usage(format!(
            "{} has no logs of ranks: they would be {}",
            escaped_path(run),
            escaped_path(&directory_of_rank(run, 0).join("run.jsonl"))
        )));
    }
    Ok(logs)
}

/// One rank's log that is read.
struct ReadRank<'a> {
    lines: Reader<BufReader<&'a File>>,
    log: RankLog,
    judged: JudgedLines,
    link: ExchangeLink,
    is_at_end: bool,
}

/// Writes the log of all ranks into `joint`, from the logs of the ranks. Where one of these ends without a closing line, the joint
/// log ends with the last interval of all.
pub fn merge_logs(logs: &[PathBuf], joint: &mut LogFile) -> Result<(), Failure> {
    let opened = logs.iter().map(|log| Log::open_log(log)).collect::<Result<Vec<Log>, Failure>>()?;
    let patience = Patience::default();
    let mut ranks = Vec::new();
    for (log, link) in opened.iter().zip(Exchange::within_process(opened.len()).links()) {
        let rank_log = RankLog::begin_listening(patience, opened.len(), Instant::ZERO);
        let judged = JudgedLines::default();
        ranks.push(ReadRank { lines: log.line_reader()?, log: rank_log, judged, link, is_at_end: false });
    }
    let mut observer = Unobserved;
    let mut writer = JointWriter::begin_log(joint, &mut observer);
    loop {
        let mut has_moved = false;
        for (rank, path) in ranks.iter_mut().zip(logs) {
            // A line is read when it can be joined, so that none is kept in memory for long.
            while rank.log.wants_line() && !rank.is_at_end {
                rank.hear_next_line(path)?;
                has_moved = true;
            }
        }
        for rank in &mut ranks {
            has_moved |= rank.join_lines(&mut writer)?;
        }
        if !has_moved {
            // A log that ends without a closing line was cut off behind a whole interval.
            let held: Vec<JointNews> = ranks.iter_mut().filter_map(|rank| rank.log.take_held()).collect();
            return held.into_iter().try_for_each(|news| writer.receive_news(news));
        }
    }
}

impl ReadRank<'_> {
    fn hear_next_line(&mut self, path: &Path) -> Result<(), Failure> {
        match self.lines.next_entry() {
            Ok(Some(Ok(entry))) => self.judged.pass_line(entry, self.link.own_rank(), &mut self.log),
            // The last line of a run that was killed.
            Ok(Some(Err(damage))) if damage.torn_tail => {}
            Ok(Some(Err(damage))) => {
                return Err(Failure::bad_workload(format!("{}: {damage}", escaped_path(path))));
            }
            Ok(None) => self.is_at_end = true,
            Err(error) => return Err(Failure::bad_workload(format!("{}: {error}", escaped_path(path)))),
        }
        Ok(())
    }

    /// Whether anything went on.
    fn join_lines(&mut self, writer: &mut JointWriter<'_>) -> Result<bool, Failure> {
        let stepped = self.log.step(&mut self.link, Instant::ZERO).map_err(|error| link_failure(&error))?;
        stepped.news.into_iter().try_for_each(|news| writer.receive_news(news))?;
        Ok(stepped.has_moved)
    }
}

/// What two logs of all ranks have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Intervals that are the same.
    pub intervals: u64,
    /// Lines of distributions that are the same.
    pub distributions: u64,
}

/// Compares the intervals and distributions of two logs, number by number.
///
/// # Errors
/// They differ, or cannot be read; says where.
pub fn compare_logs(one: &Path, other: &Path) -> Result<Comparison, Failure> {
    let (first, second) = (Log::open_log(one)?, Log::open_log(other)?);
    let (mut first, mut second) = (first.line_reader()?, second.line_reader()?);
    let mut same = Comparison::default();
    loop {
        match (next_numbers(&mut first, one)?, next_numbers(&mut second, other)?) {
            (None, None) => return Ok(same),
            (Some(mine), Some(theirs)) if mine == theirs => match mine {
                Entry::Interval(_) => same.intervals += 1,
                _ => same.distributions += 1,
            },
            (mine, theirs) => {
                let place = [mine, theirs].into_iter().flatten().find_map(|entry| match entry {
                    Entry::Interval(interval) => Some(format!("interval {}", interval.index)),
                    Entry::Histograms(line) => Some(format!("the distributions up to interval {}", line.last)),
                    _ => None,
                });
                return Err(Failure::invalid_result(format!(
                    "{} and {} differ at {}",
                    escaped_path(one),
                    escaped_path(other),
                    place.unwrap_or_default()
                )));
            }
        }
    }
}

/// The next interval or line of distributions.
fn next_numbers(lines: &mut Reader<BufReader<&File>>, path: &Path) -> Result<Option<Entry>, Failure> {
    loop {
        match lines.next_entry() {
            Ok(Some(Ok(entry @ (Entry::Interval(_) | Entry::Histograms(_))))) => return Ok(Some(entry)),
            Ok(Some(Ok(_))) => {}
            Ok(Some(Err(damage))) if damage.torn_tail => {}
            Ok(Some(Err(damage))) => return Err(Failure::bad_workload(format!("{}: {damage}", escaped_path(path)))),
            Ok(None) => return Ok(None),
            Err(error) => return Err(Failure::bad_workload(format!("{}: {error}", escaped_path(path)))),
        }
    }
}
