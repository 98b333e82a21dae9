//! A directory as the target of a run.

use super::child::CLASS_FACT;
use super::protocol::{Examine, PathBytes, PlaceFacts};
use super::session::Session;
use crate::failure::{Failure, one_line};
use crate::host::watch::Watch;
use assay_base::file_systems;
use assay_device::probe::{MadeDurable, MountClass, made_durable_on_mount};
use assay_device::safety::{DevNum, Roots};
use assay_files::own_dir::Claim;
use assay_model::files::FilesWorkload;
use assay_record::TargetHead;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a name begins with that is a directory, whatever is there.
const PREFIX: &str = "dir:";
/// What a directory in memory is called that nobody named.
const MEMORY_NAME: &str = "memory";

/// A directory that a command line names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedDirectory {
    path: PathBuf,
    /// Whether it is not there yet: a directory on a tmpfs, which the process that makes the calls finds or mounts.
    is_in_memory: bool,
    /// Whether it is only a ceiling for others: whether its data are durable does not matter.
    pub is_ceiling: bool,
    /// The type that its file system must have.
    pub file_system: Option<String>,
}

impl NamedDirectory {
    /// The directory that a name means: one that begins with `dir:`, or the path of a directory.
    pub fn from_name(name: &str) -> Option<NamedDirectory> {
        let path = match name.strip_prefix(PREFIX) {
            Some(path) => Path::new(path),
            None => Some(Path::new(name)).filter(|path| path.is_dir())?,
        };
        Some(NamedDirectory { path: path.to_owned(), is_in_memory: false, is_ceiling: false, file_system: None })
    }

    /// A directory in memory, for comparison: nobody named it.
    pub fn in_memory() -> NamedDirectory {
        let path = PathBuf::from(MEMORY_NAME);
        NamedDirectory { path, is_in_memory: true, is_ceiling: true, file_system: None }
    }

    /// Whether a name says by itself that it is a directory.
    pub fn is_called_one(name: &str) -> bool {
        name.starts_with(PREFIX)
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// A directory that the gate has accepted.
#[derive(Debug)]
pub struct Directory {
    name: String,
    path: PathBuf,
    is_ceiling: bool,
    facts: PlaceFacts,
    examine: Examine,
    sessions: Mutex<Sessions>,
}

/// The runs on a directory: one for each rank of this process that works there.
#[derive(Debug, Default)]
struct Sessions {
    /// With the process that has examined the directory, until a rank takes it.
    first: Option<Session>,
    of_ranks: BTreeMap<u32, Arc<Mutex<Session>>>,
}

impl Directory {
    /// Lets the process that makes the calls examine a directory.
    pub fn open_named(name: &str, named: &NamedDirectory, log_dir: &Path) -> Result<Directory, Failure> {
        let examine = Examine {
            path: (!named.is_in_memory).then(|| PathBytes::new(&named.path)),
            file_system: named.file_system.clone(),
            run_directory: PathBytes::new(log_dir),
        };
        let (session, facts) = Session::open(examine.clone(), &one_line(name))?;
        let (path, is_ceiling) = (named.path.clone(), named.is_ceiling);
        let sessions = Mutex::new(Sessions { first: Some(session), of_ranks: BTreeMap::new() });
        Ok(Directory { name: name.to_owned(), path, is_ceiling, facts, examine, sessions })
    }

    /// As the user named it.
    pub fn directory_name(&self) -> &str {
        &self.name
    }

    /// The command that removes what a run has left there.
    pub(super) fn cleaning_command(&self) -> String {
        format!("assay clean {}", assay_judge::for_a_shell(&self.path.to_string_lossy()))
    }

    /// Whether it is on an overlay, whose file system is that of another directory.
    pub(crate) fn is_on_overlay(&self) -> bool {
        self.facts.facts.get(super::child::TYPE_FACT).is_some_and(|kind| kind == "overlay")
    }

    /// Whether its file system is reached over a network, as far as the kernel says it.
    pub(super) fn is_remote(&self) -> bool {
        let class = self.facts.facts.get(CLASS_FACT);
        class.is_some_and(|class| *class != MountClass::Local.to_string())
    }

    /// What makes data durable there; `None` for a ceiling, which decides nothing.
    /// The path is not touched: a file system that hangs would hold this process.
    pub(super) fn made_durable(&self) -> Option<MadeDurable> {
        if self.is_ceiling {
            return None;
        }
        let unknown =
            || MadeDurable::Unknown("the kernel does not say on which mount it is (Linux 5.8 does)".to_owned());
        let number = self.facts.mount_number;
        Some(number.map_or_else(unknown, |number| made_durable_on_mount(&Roots::of_machine(), number)))
    }

    /// The disks that are flushed where data become durable there.
    pub(crate) fn disks_to_flush(&self) -> Vec<DevNum> {
        match self.made_durable() {
            Some(MadeDurable::ByFlushesOf(disks)) => disks.iter().map(|disk| disk.number).collect(),
            _ => Vec::new(),
        }
    }

    /// The same watch, also of its mount.
    pub(super) fn with_watched_mount(&self, watch: Watch) -> Watch {
        watch.with_mount(&one_line(&self.name), self.facts.mount_number)
    }

    /// The run of a rank of this process, with a process of its own that makes the calls; a run that no other rank carries is that of
    /// rank 0.
    pub(super) fn session_of_rank(&self, rank: u32) -> Result<Arc<Mutex<Session>>, Failure> {
        let mut sessions = self.lock_sessions();
        if let Some(known) = sessions.of_ranks.get(&rank) {
            return Ok(known.clone());
        }
        let session = match sessions.first.take() {
            Some(first) => first,
            None => Session::open(self.examine.clone(), &one_line(&self.name))?.0,
        };
        let session = Arc::new(Mutex::new(session));
        sessions.of_ranks.insert(rank, session.clone());
        Ok(session)
    }

    /// Makes a directory of our own there, by which other hosts know it; see [`Session::make_claim`].
    pub(crate) fn make_claim(&self, rank: u32, run: String, load: FilesWorkload) -> Result<Claim, Failure> {
        lock_session(self.session_of_rank(rank)?.as_ref()).make_claim(run, load)
    }

    /// Which of the directories that others have made are seen there.
    pub(crate) fn look_for(&self, rank: u32, claims: Vec<Claim>) -> Result<Vec<bool>, Failure> {
        lock_session(self.session_of_rank(rank)?.as_ref()).look_for(claims)
    }

    /// Removes what was made for others to find.
    pub(crate) fn remove_claim(&self, rank: u32) -> Result<(), Failure> {
        lock_session(self.session_of_rank(rank)?.as_ref()).remove_claim()
    }

    fn lock_sessions(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its entry in the log.
    pub(crate) fn target_head(&self) -> TargetHead {
        let mut facts = self.facts.facts.clone();
        facts.insert("file system".to_owned(), self.facts.file_system.clone());
        TargetHead {
            name: self.name.clone(),
            kind: "directory".to_owned(),
            size_bytes: self.facts.size,
            block_bytes: self.facts.block,
            facts,
            prepared: None,
        }
    }

    /// What keeps a result on it from being a certificate.
    pub(crate) fn result_watermarks(&self) -> Vec<String> {
        watermarks_of(&self.facts.file_system)
    }
}

pub(super) fn lock_session(session: &Mutex<Session>) -> MutexGuard<'_, Session> {
    session.lock().unwrap_or_else(PoisonError::into_inner)
}

/// File systems whose data are with a server.
const ON_A_SERVER: [&str; 5] = ["nfs", "cifs", "smb3", "9p", "ceph"];

fn watermarks_of(file_system: &str) -> Vec<String> {
    let mut marks = Vec::new();
    if file_systems::IN_MEMORY.contains(&file_system) {
        marks.push(format!("NON-CERTIFIABLE: {file_system} is memory: no storage was tested"));
    }
    if ON_A_SERVER.contains(&file_system) {
        marks.push(format!(
            "SERVER CACHE UNKNOWN: what the server of {file_system} keeps in its memory cannot be seen from here"
        ));
    }
    marks
}

impl Drop for Directory {
    /// Removes what a run has made whose last phase was not reached.
    fn drop(&mut self) {
        let mut sessions = self.lock_sessions();
        sessions.first.iter_mut().for_each(Session::end_unattended);
        for session in sessions.of_ranks.values() {
            lock_session(session).end_unattended();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_and_servers_are_said() {
        for (file_system, begins) in [
            ("tmpfs", vec!["NON-CERTIFIABLE: tmpfs is memory"]),
            ("nfs", vec!["SERVER CACHE UNKNOWN: what the server of nfs"]),
            ("ext4", vec![]),
        ] {
            let marks = watermarks_of(file_system);
            assert_eq!(marks.len(), begins.len(), "{marks:?}");
            assert!(marks.iter().zip(begins).all(|(mark, begin)| mark.starts_with(begin)), "{marks:?}");
        }
    }
}
