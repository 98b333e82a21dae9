//! Loaders beside each other: who takes which task, how far they are together, and how they end.

use crate::threads::thread_builder;
use crate::trouble::Trouble;
use assay_model::tpcc::{LoadPart, Population};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::ScopedJoinHandle;
use std::time::Duration;

/// How far a load is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// About how many rows are loaded, those of an earlier, interrupted load included.
    pub done: u64,
    /// About how many rows there will be.
    pub of: u64,
    /// About how many of them this load found.
    pub found: u64,
}

/// Asked how a load goes on; called by the thread that called `load`, after each part and several times a second.
pub type Watch<'a> = &'a mut dyn FnMut(Progress) -> ControlFlow<()>;

/// How often a load is watched when no task ends meanwhile.
const TICK: Duration = Duration::from_millis(200);

/// What carries out tasks: a loader with a connection of its own.
pub(crate) trait Loader<T>: Send {
    /// Carries out one task as a whole, or leaves no trace of it.
    fn carry_out(&mut self, task: &T) -> Result<(), Trouble>;
}

/// A task, and about how many rows it is.
pub(crate) struct Task<T> {
    pub(crate) what: T,
    pub(crate) rows: u64,
}

/// The tasks that are left.
pub(crate) struct LoadTasks<T> {
    left: Mutex<Left<T>>,
}

struct Left<T> {
    tasks: std::vec::IntoIter<Task<T>>,
    progress: Progress,
    /// Set when the load is to end: a loader failed, or the caller wants it.
    ends: bool,
}

/// What is guarded stays whole if its holder panics.
pub(crate) fn lock_ignoring_panic<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T: Send> LoadTasks<T> {
    /// Tasks for loaders, beside so many rows that are there already.
    pub(crate) fn new(tasks: Vec<Task<T>>, found: u64) -> LoadTasks<T> {
        let rows: u64 = tasks.iter().map(|task| task.rows).sum();
        let progress = Progress { done: found, of: found + rows, found };
        LoadTasks { left: Mutex::new(Left { tasks: tasks.into_iter(), progress, ends: false }) }
    }

    /// How far the loaders are.
    pub(crate) fn progress_so_far(&self) -> Progress {
        lock_ignoring_panic(&self.left).progress
    }

    /// Makes work that has come so far already.
    pub(crate) fn with_progress(self, progress: Progress) -> LoadTasks<T> {
        lock_ignoring_panic(&self.left).progress = progress;
        self
    }

    /// Carries out all tasks in threads, one for each loader, while this one watches.
    pub(crate) fn carry_out_all<L: Loader<T>>(
        &self,
        loaders: Vec<L>,
        watch: Watch<'_>,
    ) -> Result<ControlFlow<()>, Trouble> {
        std::thread::scope(|scope| {
            // Without room for messages: a loader goes on when its last task was noticed.
            let (sender, noticed) = sync_channel(0);
            let mut threads = Vec::new();
            for mut loader in loaders {
                let sender = sender.clone();
                let spawned =
                    thread_builder("loader").spawn_scoped(scope, move || self.run_loader(&mut loader, &sender));
                threads.push(
                    spawned.map_err(|why| {
                        self.end_all(Trouble::host_unable(format!("no thread can be started: {why}")))
                    })?,
                );
            }
            drop(sender);
            self.watch_loaders(&noticed, watch);
            // The loaders that still want to say something find nobody, and end.
            drop(noticed);
            let ended = threads
                .into_iter()
                .map(|thread: ScopedJoinHandle<'_, _>| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
            ended.collect::<Result<Vec<()>, Trouble>>()
        })?;
        Ok(if lock_ignoring_panic(&self.left).ends { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    /// Asks the caller after each task and each tick, until all loaders have ended.
    fn watch_loaders(&self, noticed: &Receiver<()>, watch: Watch<'_>) {
        loop {
            if watch(self.progress_so_far()).is_break() {
                lock_ignoring_panic(&self.left).ends = true;
            }
            if noticed.recv_timeout(TICK) == Err(RecvTimeoutError::Disconnected) {
                return;
            }
        }
    }

    /// Lets all loaders end, because of this.
    fn end_all(&self, trouble: Trouble) -> Trouble {
        lock_ignoring_panic(&self.left).ends = true;
        trouble
    }

    fn run_loader(&self, loader: &mut impl Loader<T>, noticed: &SyncSender<()>) -> Result<(), Trouble> {
        while let Some(task) = self.next() {
            loader.carry_out(&task.what).map_err(|trouble| self.end_all(trouble))?;
            lock_ignoring_panic(&self.left).progress.done += task.rows;
            let _ = noticed.send(());
        }
        Ok(())
    }

    fn next(&self) -> Option<Task<T>> {
        let mut left = lock_ignoring_panic(&self.left);
        if left.ends { None } else { left.tasks.next() }
    }
}

/// The parts of a population that are still to be loaded, where those with these names are there.
pub(crate) fn parts_left(population: Population, there: &BTreeSet<String>) -> LoadTasks<LoadPart> {
    let tasks = population.load_parts().map(|what| Task { what, rows: what.row_weight(population.row_scale()) });
    let (done, left): (Vec<_>, Vec<_>) = tasks.partition(|task| there.contains(&task.what.part_name()));
    LoadTasks::new(left, done.iter().map(|task| task.rows).sum())
}
