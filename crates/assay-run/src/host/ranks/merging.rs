//! The log of all ranks once more, from the logs of the ranks alone.

use super::joint_writer::JointWriter;
use super::judged_lines::JudgedLines;
use super::link_failure;
use crate::failure::{Failure, escaped_path};
use crate::log::logfile::LogFile;
use crate::log::reading::open_reader;
use crate::observer::Unobserved;
use assay_base::Instant;
use assay_hosts::Link;
use assay_hosts::exchange::{Exchange, ExchangeLink};
use assay_hosts::joint_log::{JointNews, Patience, RankLog};
use assay_record::Reader;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

/// One rank's log that is read.
struct ReadRank {
    lines: Reader<BufReader<File>>,
    log: RankLog,
    judged: JudgedLines,
    link: ExchangeLink,
    is_at_end: bool,
}

/// Writes the log of all ranks into `joint`, from the logs of the ranks. Where one of these ends without a closing line, the joint
/// log ends with the last interval of all.
pub fn merge_logs(logs: &[PathBuf], joint: &mut LogFile) -> Result<(), Failure> {
    let patience = Patience::default();
    let mut ranks = Vec::new();
    for (path, link) in logs.iter().zip(Exchange::within_process(logs.len()).links()) {
        let log = RankLog::begin_listening(patience, logs.len(), Instant::ZERO);
        let judged = JudgedLines::default();
        ranks.push(ReadRank { lines: open_reader(path)?, log, judged, link, is_at_end: false });
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
            // A log that ends without a closing line was cut off behind a whole interval; the last one of a log that was closed early
            // is not whole.
            if ranks.iter().any(|rank| rank.log.has_ended_early()) {
                return Ok(());
            }
            let held: Vec<JointNews> = ranks.iter_mut().filter_map(|rank| rank.log.take_held()).collect();
            return held.into_iter().try_for_each(|news| writer.receive_news(news));
        }
    }
}

impl ReadRank {
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
        let stepped = self.log.step(&mut self.link, &|| Instant::ZERO).map_err(|error| link_failure(&error))?;
        stepped.news.into_iter().try_for_each(|news| writer.receive_news(news))?;
        Ok(stepped.has_moved)
    }
}
