//! The files of a server, where they are on this host.
//!
//! The path that a server reports may exist here too although the server is elsewhere, in a container for instance. The
//! cluster's own number, which the server tells and which its control file begins with, decides.

use crate::in_memory::in_memory;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The directories of a server on this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directories {
    /// The data.
    pub data: PathBuf,
    /// The write-ahead log, which may be on another disk.
    pub log: PathBuf,
    /// The tablespaces of the tables, where they are not in the data directory.
    pub tablespaces: Vec<PathBuf>,
}

impl Directories {
    /// Finds the directories of the server whose cluster has this number, if they are here and this process may look
    /// into them.
    pub(super) fn find_directories(data: &Path, cluster: u64, tablespaces: Vec<PathBuf>) -> Option<Directories> {
        let mut number = [0; 8];
        File::open(data.join("global/pg_control")).and_then(|mut file| file.read_exact(&mut number)).ok()?;
        let log = data.join("pg_wal").canonicalize().ok()?;
        (u64::from_ne_bytes(number) == cluster).then(|| Directories { data: data.to_owned(), log, tablespaces })
    }

    /// Whether one of them is in memory, and which.
    pub(super) fn in_memory(&self) -> Option<&Path> {
        let all = [&self.data, &self.log].into_iter().chain(&self.tablespaces);
        all.map(PathBuf::as_path).find(|path| in_memory(path))
    }
}
