//! When a job flushes: after every N of its writes (`fsync`, `fdatasync`), and at its end (`end_fsync`,
//! `fsync_on_close`).

use super::job::Job;
use super::order::Mode;
use assay_base::Fault;

/// The properties that all copies of a job have in common.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flushes {
    /// The number of writes after which a flush follows.
    pub every: Option<u32>,
    /// Whether a flush follows when all operations are done.
    pub at_end: bool,
}

/// Upper bound on the writes between two flushes.
const MOST: u64 = 1_000_000_000;

/// Reads these keys of a job. fio flushes only for jobs that write.
pub(super) fn read_flushes(job: &Job<'_>, mode: Mode) -> Result<Flushes, Fault> {
    let (mut found, mut written) = (Flushes::default(), Vec::new());
    for key in ["fsync", "fdatasync"] {
        let (Some(every), Some(entry)) = (job.number_within::<u32>(key, 0, MOST)?, job.find_entry(key)) else {
            continue;
        };
        if every == 0 {
            continue;
        }
        if let (Some(before), true) = (found.every, mode.writes) {
            let remedy =
                format!("write one of the two: fio flushes after every {before} writes, and then after every {every}");
            return Err(job.not_yet(entry, "a job with fsync and fdatasync", &remedy));
        }
        if key == "fsync" && mode.writes {
            job.note_difference(entry, "carried as fdatasync: the data, and what is needed to find them again");
        }
        found.every = Some(every);
        written.push(entry);
    }
    for key in ["end_fsync", "fsync_on_close"] {
        if let (true, Some(entry)) = (job.is_switched_on(key)?, job.find_entry(key)) {
            found.at_end = true;
            written.push(entry);
        }
    }
    if let (true, Some(entry)) = (job.is_switched_on("end_syncfs")?, job.find_entry("end_syncfs")) {
        found.at_end = true;
        if mode.writes {
            job.note_difference(entry, entry.key.told);
        } else {
            written.push(entry);
        }
    }
    if mode.writes {
        return Ok(found);
    }
    written.iter().for_each(|entry| job.note_difference(entry, "without effect: the job writes nothing"));
    Ok(Flushes::default())
}
