//! The files of a server, where they are on this host.
//!
//! The path that a server reports may exist here too although the server is elsewhere, in a container for instance. A
//! server that is reached by a socket is a process of this host, and works in its directory for data.

use crate::in_memory::in_memory;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The directories of a server on this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directories {
    /// The data.
    pub data: PathBuf,
    /// InnoDB's log, which may be on another disk.
    pub log: PathBuf,
    /// The binary log, if there is one.
    pub binary_log: Option<PathBuf>,
}

impl Directories {
    /// Those of the server with this process, if this process may look into them.
    pub(super) fn find(process: i32, data: &str, log: &str, binary_log: &str) -> Option<Directories> {
        let id = |path: &Path| std::fs::metadata(path).ok().map(|it| (it.dev(), it.ino()));
        let data = Path::new(data);
        let works_in = id(Path::new(&format!("/proc/{process}/cwd")))?;
        if id(data)? != works_in {
            return None;
        }
        // Relative paths are below the data.
        let log = data.join(log).canonicalize().ok()?;
        let binary_log = Path::new(binary_log).parent().and_then(|path| data.join(path).canonicalize().ok());
        Some(Directories { data: data.canonicalize().ok()?, log, binary_log })
    }

    /// Whether one of them is in memory, and which.
    pub(super) fn in_memory(&self) -> Option<&Path> {
        let all = [Some(&self.data), Some(&self.log), self.binary_log.as_ref()];
        all.into_iter().flatten().map(PathBuf::as_path).find(|path| in_memory(path))
    }
}
