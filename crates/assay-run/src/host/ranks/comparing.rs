//! Compares the log of all ranks with what their own logs make of it, number by number.

use super::merging::merge_logs;
use super::rank_logs::{first_header, log_of_rank};
use super::wording::name_ranks;
use crate::failure::{Failure, escaped_path};
use crate::log::logfile::{Listen, LogFile};
use crate::log::reading::open_reader;
use assay_base::Bytes;
use assay_judge::{Judgement, Verdict};
use assay_record::{CloseReason, Entry, Header, Reader};
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// What the log of all and the one made from those of the ranks have in common, and where they part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Intervals that are the same.
    pub intervals: u64,
    /// Lines of distributions that are the same.
    pub distributions: u64,
    /// Intervals behind these that only the log of all has.
    pub only_kept: u64,
    /// Intervals behind these that only the ranks' logs have.
    pub only_of_ranks: u64,
    /// The first numbers that are not the same, where some are not.
    pub first_difference: Option<String>,
    /// Whether the log of all was closed at the end of its plan: then no rank has more.
    pub is_complete: bool,
}

impl Comparison {
    /// How the ranks' logs contradict the log of all; `None` where they do not, or have less of it.
    pub fn contradiction(&self) -> Option<String> {
        if let Some(place) = &self.first_difference {
            return Some(format!("they differ at {place}"));
        }
        (self.is_complete && self.only_of_ranks > 0).then(|| {
            format!(
                "it is closed at the end of its plan behind {} intervals, and the ranks have {} more",
                self.intervals, self.only_of_ranks
            )
        })
    }
}

/// The numbers of a log: its intervals and lines of distributions.
struct Numbers {
    path: PathBuf,
    lines: Reader<BufReader<File>>,
    is_complete: bool,
}

impl Numbers {
    fn next_numbers(&mut self) -> Result<Option<Entry>, Failure> {
        let unreadable =
            |why: &dyn std::fmt::Display| Failure::bad_workload(format!("{}: {why}", escaped_path(&self.path)));
        loop {
            match self.lines.next_entry() {
                Ok(Some(Ok(entry @ (Entry::Interval(_) | Entry::Histograms(_))))) => return Ok(Some(entry)),
                Ok(Some(Ok(Entry::Close(close)))) => self.is_complete = close.reason == CloseReason::Completed,
                // Another step begins.
                Ok(Some(Ok(Entry::Header(_)))) => self.is_complete = false,
                Ok(Some(Ok(_))) => {}
                Ok(Some(Err(damage))) if damage.torn_tail => {}
                Ok(Some(Err(damage))) => return Err(unreadable(&damage)),
                Ok(None) => return Ok(None),
                Err(error) => return Err(unreadable(&error)),
            }
        }
    }
}

/// Compares lines that are made from the ranks' logs with those of the log of all.
pub struct Comparing {
    kept: Numbers,
    found: Comparison,
    failure: Option<Failure>,
}

/// Hears the lines that are made.
struct HearMade(Arc<Mutex<Comparing>>);

impl std::fmt::Debug for HearMade {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HearMade")
    }
}

impl Listen for HearMade {
    fn hear_entry(&mut self, entry: &Entry) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).compare_line(entry);
    }
}

impl Comparing {
    fn compare_line(&mut self, made: &Entry) {
        let is_over = self.failure.is_some() || self.found.first_difference.is_some();
        if is_over || !matches!(made, Entry::Interval(_) | Entry::Histograms(_)) {
            return;
        }
        match self.kept.next_numbers() {
            Err(failure) => self.failure = Some(failure),
            Ok(None) => self.found.only_of_ranks += u64::from(matches!(made, Entry::Interval(_))),
            Ok(Some(kept)) if kept != *made => self.found.first_difference = Some(place_of_numbers(&kept)),
            Ok(Some(Entry::Interval(_))) => self.found.intervals += 1,
            Ok(Some(_)) => self.found.distributions += 1,
        }
    }

    fn finish(&mut self) -> Result<Comparison, Failure> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        while let Some(entry) = self.kept.next_numbers()? {
            self.found.only_kept += u64::from(matches!(entry, Entry::Interval(_)));
        }
        self.found.is_complete = self.kept.is_complete;
        Ok(self.found.clone())
    }
}

fn place_of_numbers(entry: &Entry) -> String {
    match entry {
        Entry::Histograms(line) => format!("the distributions up to interval {}", line.last),
        Entry::Interval(interval) => format!("interval {}", interval.index),
        _ => String::new(),
    }
}

/// Makes the log of all from those of the ranks, into `made`, and compares it with the one at `kept`.
///
/// # Errors
/// One of them cannot be read.
pub fn merge_and_compare(logs: &[PathBuf], made: LogFile, kept: &Path) -> Result<Comparison, Failure> {
    let kept = Numbers { path: kept.to_owned(), lines: open_reader(kept)?, is_complete: false };
    let comparing = Comparing { kept, found: Comparison::default(), failure: None };
    let comparing = Arc::new(Mutex::new(comparing));
    let mut made = made.heard_by(Box::new(HearMade(Arc::clone(&comparing))));
    merge_logs(logs, &mut made)?;
    if let Some(why) = made.write_failure() {
        return Err(Failure::host_unable(format!("{} could not be written: {why}", escaped_path(made.log_path()))));
    }
    let mut comparing = comparing.lock().unwrap_or_else(PoisonError::into_inner);
    comparing.finish()
}

/// Ranks' logs that are larger than this together are not compared whenever the log of all is judged: it takes some seconds for each
/// gigabyte.
const COMPARED_UNASKED: u64 = 1 << 30;

/// Compares the log of all at `joint`, which was judged, with the ranks' own logs beside it, as far as they are at hand. The log of all
/// stands for itself: what is missing is said, and what contradicts it makes the result prove nothing.
pub(crate) fn compare_with_ranks(joint: &Path, judgement: &mut Judgement) {
    let Some(run) = joint.parent().filter(|run| run.join("hosts").is_dir()) else { return };
    let ranks = judgement.part.generator.ranks.len();
    if ranks < 2 {
        return;
    }
    let Some(header) = first_header(joint).filter(|header| header.hosts.len() == ranks) else { return };
    let found = look_at_logs(run, joint, &header);
    judgement.warnings.extend(found.remarks);
    let Some(why) = found.contradiction else { return };
    let why = format!("the ranks' own logs contradict the log of all: {why}");
    if matches!(judgement.verdict, Verdict::Pass | Verdict::Incomplete) {
        (judgement.verdict, judgement.deciding) = (Verdict::Invalid, None);
        judgement.reason = why.clone();
    }
    judgement.warnings.insert(0, why);
}

/// What a look at the ranks' own logs has found.
#[derive(Default)]
struct FoundInLogs {
    remarks: Vec<String>,
    contradiction: Option<String>,
}

/// How far the own log of a rank goes.
struct OwnLog {
    rank: usize,
    intervals: u64,
    /// What is wrong with it.
    flaw: Option<String>,
}

/// `header` is the first one of the log of all.
fn look_at_logs(run: &Path, joint: &Path, header: &Header) -> FoundInLogs {
    let ranks = header.hosts.len();
    let mut found = FoundInLogs::default();
    let logs: Vec<PathBuf> = (0..ranks).map(|rank| log_of_rank(run, rank)).collect();
    let (here, missing): (Vec<usize>, Vec<usize>) = (0..ranks).partition(|rank| logs[*rank].is_file());
    if !missing.is_empty() {
        found.remarks.push(format!(
            "{} of {ranks}: the own log is not at hand in {}, and was not compared with the log of all",
            name_ranks(&missing),
            escaped_path(&run.join("hosts"))
        ));
    }
    if let Some(why) = here.iter().find_map(|rank| why_foreign(&logs[*rank], *rank, header)) {
        found.contradiction = Some(why);
        return found;
    }
    let bytes: u64 = here.iter().filter_map(|rank| logs[*rank].metadata().ok()).map(|meta| meta.len()).sum();
    if bytes > COMPARED_UNASKED {
        let size = Bytes::new(bytes).human_text();
        found.remarks.push(format!(
            "the ranks' own logs have {size}, and were not compared with the log of all: assay merge does"
        ));
        return found;
    }
    let intervals = intervals_of_log(joint).map_or(0, |own| own.intervals);
    let read: Vec<OwnLog> = here.iter().filter_map(|rank| read_own_log(*rank, &logs[*rank])).collect();
    for OwnLog { rank, intervals: own, flaw } in &read {
        match flaw {
            Some(flaw) => found.remarks.push(format!("the own log of rank {rank} is damaged: {flaw}")),
            None if *own < intervals => found.remarks.push(format!(
                "the own log of rank {rank} has {own} of {intervals} intervals: the rest was cut off, or never written"
            )),
            None => {}
        }
    }
    if missing.is_empty() && read.iter().all(|own| own.flaw.is_none()) {
        match merge_and_compare(&logs, LogFile::without_file(), joint) {
            Ok(comparison) => found.contradiction = comparison.contradiction(),
            Err(failure) => {
                found.remarks.push(format!("the ranks' own logs cannot be compared: {}", failure.user_message()))
            }
        }
    }
    found
}

/// Why the log at a rank's place is not the one that this rank has written for this run.
fn why_foreign(log: &Path, rank: usize, of_all: &Header) -> Option<String> {
    let path = escaped_path(log);
    let header = first_header(log)?;
    let is_of_rank = header.hosts[..] == of_all.hosts[rank..=rank];
    let is_of_run = (&header.name, header.seed, &header.load) == (&of_all.name, of_all.seed, &of_all.load);
    (!is_of_rank || !is_of_run).then(|| format!("{path} is not the log of rank {rank} of this run"))
}

fn read_own_log(rank: usize, log: &Path) -> Option<OwnLog> {
    Some(OwnLog { rank, ..intervals_of_log(log)? })
}

/// How many intervals a log has; `None` where it cannot be opened.
fn intervals_of_log(log: &Path) -> Option<OwnLog> {
    let mut lines = open_reader(log).ok()?;
    let mut own = OwnLog { rank: 0, intervals: 0, flaw: None };
    loop {
        match lines.next_entry() {
            Ok(Some(Ok(Entry::Interval(_)))) => own.intervals += 1,
            Ok(Some(Ok(_))) => {}
            Ok(Some(Err(damage))) if damage.torn_tail => {}
            Ok(Some(Err(damage))) => own.flaw = Some(own.flaw.take().unwrap_or_else(|| damage.to_string())),
            Ok(None) => return Some(own),
            Err(error) => {
                own.flaw = Some(error.to_string());
                return Some(own);
            }
        }
    }
}
