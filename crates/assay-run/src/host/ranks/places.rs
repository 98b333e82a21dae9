//! Where the logs of ranks go.

use crate::failure::{Failure, escaped_path};
use crate::files;
use crate::log::logfile::LogFile;
use std::io;
use std::path::{Path, PathBuf};

/// Where the directories of the ranks are, in that of the run.
const HOSTS: &str = "hosts";

/// The directory of the own log of a rank, in the directory of the run.
pub fn directory_of_rank(run: &Path, rank: usize) -> PathBuf {
    run.join(HOSTS).join(format!("{rank:04}"))
}

/// Makes the directory of a rank in that of the run; returns the path of the log that goes there. On another host than that of
/// rank 0 the directory of the run may not exist yet.
pub fn make_place_for_rank(run: &Path, rank: usize) -> Result<PathBuf, Failure> {
    let cannot = |e: io::Error| {
        let all = run.join(HOSTS);
        Failure::host_unable(format!("the directory {} of the ranks' logs cannot be made: {e}", escaped_path(&all)))
    };
    if !run.is_dir() {
        files::make_directories(run).map_err(cannot)?;
    }
    match files::make_directory(&run.join(HOSTS)) {
        Ok(held) => held.until_the_end(),
        // Another rank has made it.
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
        Err(e) => return Err(cannot(e)),
    }
    let directory = directory_of_rank(run, rank);
    files::make_directory(&directory).map_err(cannot)?.until_the_end();
    Ok(directory.join("run.jsonl"))
}

/// The log of all ranks, in the directory of the run.
pub fn begin_joint_log(run: &Path) -> Result<LogFile, Failure> {
    LogFile::create_new(&run.join("run.jsonl"))
}
