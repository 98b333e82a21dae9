//! What works in the directory of a run: clients on a tree, or the threads of a server on its files.

use assay_base::Instant;
use assay_files::Trouble;
use assay_files::own_dir::Wants;
use assay_files::script::Script;
use assay_files::service::ServiceScript;
use assay_files::shell::{
    Clients, Made, OpenTree, PhaseReport, ServiceThreads, Settings, Sink, StopHandle, Verification, Watched,
    make_service_files, make_tree, refuse_missing_way, verify_service, verify_tree,
};
use assay_model::files::{FilesWorkload, TreeShape};
use std::sync::Arc;

/// How many threads make or compare a tree, at most: more only wait for each other.
pub(super) const MOST_VERIFIERS: u32 = 16;
/// Files that this process has open besides those of the tree.
const OPEN_BESIDE: u64 = 64;
/// The most directories of a tree that stay open.
pub(super) const MOST_OPEN_DIRECTORIES: usize = 4096;

/// What will work there, when its files are made.
pub(super) enum ReadyLoad {
    Clients(Script),
    Service { schedule: Script, script: Box<ServiceScript> },
}

impl ReadyLoad {
    /// What a workload asks for.
    pub(super) fn new(workload: &FilesWorkload, shape: TreeShape, seed: u64) -> ReadyLoad {
        let schedule = Script::new(workload, shape, seed);
        match &workload.service {
            Some(service) => ReadyLoad::Service { schedule, script: Box::new(ServiceScript::new(service, seed)) },
            None => ReadyLoad::Clients(schedule),
        }
    }

    /// Makes its files.
    pub(super) fn make_files(&self, tree: &OpenTree, workload: &FilesWorkload) -> Result<Made, Trouble> {
        match self {
            ReadyLoad::Clients(script) => {
                refuse_missing_way(tree, workload.cache)?;
                make_tree(tree, script, workload.clients.min(MOST_VERIFIERS))
            }
            ReadyLoad::Service { script, .. } => make_service_files(tree, script),
        }
    }

    /// What works there.
    pub(super) fn start<C: Fn() -> Instant + Clone + Send + 'static>(
        self,
        tree: Arc<OpenTree>,
        workload: &FilesWorkload,
        settings: Settings<C>,
        watched: Watched,
    ) -> Result<DirectoryLoad<C>, Trouble> {
        Ok(match self {
            ReadyLoad::Clients(script) => {
                DirectoryLoad::Clients(Clients::new(tree, script, workload, settings).watching(watched))
            }
            ReadyLoad::Service { schedule, script } => {
                let threads = ServiceThreads::new(tree, schedule, *script, workload, settings)?;
                DirectoryLoad::Service(threads.watching(watched))
            }
        })
    }
}

/// See the module.
pub(super) enum DirectoryLoad<C> {
    Clients(Clients<C>),
    Service(ServiceThreads<C>),
}

impl<C: Fn() -> Instant + Clone + Send + 'static> DirectoryLoad<C> {
    pub(super) fn change_settings(&mut self, settings: Settings<C>) {
        match self {
            DirectoryLoad::Clients(clients) => clients.change_settings(settings),
            DirectoryLoad::Service(threads) => threads.change_settings(settings),
        }
    }

    pub(super) fn stop_handle(&self) -> StopHandle {
        match self {
            DirectoryLoad::Clients(clients) => clients.stop_handle(),
            DirectoryLoad::Service(threads) => threads.stop_handle(),
        }
    }

    /// The names of its flows.
    pub(super) fn flow_names(&self) -> &[String] {
        match self {
            DirectoryLoad::Clients(clients) => clients.flows().names(),
            DirectoryLoad::Service(threads) => threads.flows().names(),
        }
    }

    pub(super) fn run_phase(&mut self, index: usize, sink: &mut dyn Sink) -> Result<PhaseReport, Trouble> {
        match self {
            DirectoryLoad::Clients(clients) => clients.run_phase(index, 0, sink),
            DirectoryLoad::Service(threads) => threads.run_phase(index, 0, sink),
        }
    }

    /// Ends it, and compares what it left with what it wrote, if so wanted; `None` where that is not known because a call
    /// has not returned.
    pub(super) fn finish(
        self,
        tree: &OpenTree,
        workload: &FilesWorkload,
        verify: bool,
    ) -> Result<Option<Verification>, Trouble> {
        match self {
            DirectoryLoad::Clients(clients) => match clients.finish().filter(|_| verify) {
                Some(left) => {
                    let threads = workload.clients.min(MOST_VERIFIERS);
                    verify_tree(tree, &left.script, &left.doubtful, workload, threads).map(Some)
                }
                None => Ok(None),
            },
            DirectoryLoad::Service(threads) => match threads.finish()?.filter(|_| verify) {
                Some(left) => verify_service(tree, &left.script).map(Some),
                None => Ok(None),
            },
        }
    }
}

/// What the files need of a file system, and what is done with them.
pub(super) fn wants_of(workload: &FilesWorkload, shape: &TreeShape) -> Wants {
    if let Some(room) = workload.room_of_service() {
        return Wants { bytes: room.bytes, files: room.files, open_files: room.files + OPEN_BESIDE };
    }
    let totals = shape.totals();
    let open_files =
        u64::from(workload.clients) * 3 + shape.directories().min(MOST_OPEN_DIRECTORIES as u64) + OPEN_BESIDE;
    let bytes = totals.bytes.get().saturating_add(workload.bytes_beyond_tree());
    Wants { bytes, files: totals.inodes(), open_files }
}
