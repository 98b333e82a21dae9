//! The logs that the ranks of a run have left, as far as they are at hand: each host writes its own, which may be on a disk that only
//! that host sees.

use super::places::directory_of_rank;
use super::wording::name_ranks;
use crate::failure::{Failure, escaped_path};
use crate::log::reading::open_reader;
use assay_record::{Entry, Header, HostHead};
use std::path::{Path, PathBuf};

/// The log of a rank, in the directory of the run.
pub(super) fn log_of_rank(run: &Path, rank: usize) -> PathBuf {
    directory_of_rank(run, rank).join("run.jsonl")
}

/// The logs of all ranks of a run, in the order of the ranks.
///
/// # Errors
/// One is not there, or is not the log of the rank whose place it has.
pub fn logs_of_ranks(run: &Path) -> Result<Vec<PathBuf>, Failure> {
    let known = first_header(&run.join("run.jsonl")).map_or(0, |header| header.hosts.len());
    let logs: Vec<PathBuf> = (0..known.max(places_of_ranks(run))).map(|rank| log_of_rank(run, rank)).collect();
    let missing: Vec<usize> = (0..logs.len()).filter(|rank| !logs[*rank].is_file()).collect();
    if missing.len() == logs.len() {
        return Err(Failure::bad_usage(format!(
            "{} has no logs of ranks: they would be {}",
            escaped_path(run),
            escaped_path(&log_of_rank(run, 0))
        )));
    }
    if let Some(first) = missing.first() {
        return Err(Failure::bad_workload(format!(
            "{} lacks the own log of {}: the log of all is made from those of all ranks",
            escaped_path(run),
            name_ranks(&missing)
        ))
        .with_advice(&format!("bring it from its host to {}", escaped_path(&logs[*first]))));
    }
    refuse_foreign_logs(&logs)?;
    Ok(logs)
}

/// How many places for ranks there are in the directory of a run, counted up to the last one.
fn places_of_ranks(run: &Path) -> usize {
    let all = directory_of_rank(run, 0);
    let entries = all.parent().and_then(|all| std::fs::read_dir(all).ok());
    let numbers = entries.into_iter().flatten().filter_map(|entry| {
        let rank = entry.ok()?.file_name().to_str()?.parse::<usize>().ok()?;
        directory_of_rank(run, rank).is_dir().then_some(rank + 1)
    });
    // A directory that happens to have a number is not a rank's place.
    numbers.filter(|count| *count <= MOST_RANKS).max().unwrap_or(0)
}

/// As many ranks as `--hosts` takes.
const MOST_RANKS: usize = 100_000;

/// Refuses logs of other ranks than those whose places they have, and logs that are not those of all ranks.
fn refuse_foreign_logs(logs: &[PathBuf]) -> Result<(), Failure> {
    let (mut carried, mut all_parts) = (0, 0);
    for (rank, path) in logs.iter().enumerate() {
        let Some(header) = first_header(path) else { continue };
        let [HostHead { rank: own, parts, all_parts: all, .. }] = header.hosts[..] else {
            return Err(Failure::bad_workload(format!(
                "{} is not the log of one of several ranks",
                escaped_path(path)
            )));
        };
        if own as usize != rank {
            return Err(Failure::bad_workload(format!(
                "{} is the log of rank {own}, where that of rank {rank} belongs",
                escaped_path(path)
            )));
        }
        carried += parts;
        all_parts = all;
    }
    if carried < all_parts {
        return Err(Failure::bad_workload(format!(
            "the logs of {} carry {carried} of {all_parts} parts of the load: those of further ranks are missing",
            name_ranks(&(0..logs.len()).collect::<Vec<usize>>())
        )));
    }
    Ok(())
}

/// The header with which a log begins; `None` where it cannot be read or does not begin so.
pub(super) fn first_header(log: &Path) -> Option<Box<Header>> {
    match open_reader(log).ok()?.next_entry() {
        Ok(Some(Ok(Entry::Header(header)))) => Some(header),
        _ => None,
    }
}
