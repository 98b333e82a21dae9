//! Options of runs on a directory.

use assay_base::file_systems;
use assay_run::drive::DirectoryManner;

/// Options of runs on a directory.
#[derive(clap::Args, Debug, Clone, Default)]
pub(crate) struct OnDirectory {
    /// Refuse a directory on another file system than this one, such as xfs: a mount that failed otherwise tests the disk
    /// beneath. Nothing is made then (exit code 4)
    #[arg(long, value_name = "TYPE", value_parser = parse_file_system)]
    pub expect_fs: Option<String>,
    /// Drop the page cache, and the names and inodes in memory, before each phase of a run on a directory: those of the whole
    /// host, which needs root and makes everything on it slower for a while
    #[arg(long)]
    pub drop_caches: bool,
    /// Leave what a run has made in a directory, to be looked at. `assay clean DIR` removes it
    #[arg(long)]
    pub keep: bool,
}

impl OnDirectory {
    /// What they mean for a run.
    pub(crate) fn to_manner(&self) -> DirectoryManner {
        let OnDirectory { expect_fs, drop_caches, keep } = self;
        DirectoryManner { expected_file_system: expect_fs.clone(), drop_caches: *drop_caches, keep: *keep }
    }
}

/// The name of a file system that is known.
fn parse_file_system(text: &str) -> Result<String, String> {
    if file_systems::number_by_name(text).is_some() {
        return Ok(text.to_owned());
    }
    let known: Vec<&str> = file_systems::known_names().collect();
    Err(format!("no file system that is known; write one of {}", known.join(", ")))
}
