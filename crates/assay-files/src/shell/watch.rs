//! Looks at the place of a run while clients work: whether what must stay free is still free, and whether its path still
//! leads to where it was found. A thread of its own does it, because such a look can hang as any other call.

use super::desk::{Desk, OpenCall};
use super::signals::Signals;
use super::tree::OpenTree;
use crate::own_dir::{ReserveWatch, Room, Touched, Wants};
use crate::trouble::Trouble;
use assay_base::{Instant, Span};
use assay_model::files::Operation;
use rustix::fs::{AtFlags, CWD, StatxFlags};
use rustix::io::Errno;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// How often free room is looked at, and every how many times the path is.
const ROOM_EVERY: Span = Span::from_secs(1);
const PATH_EVERY: u64 = 10;
/// Enough for a thread that asks the kernel.
const STACK: usize = 256 << 10;

/// What is watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watched {
    /// The path that a person named.
    pub path: PathBuf,
    /// What the workload wants at most.
    pub wants: Wants,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Disturbance {
    /// What must stay free is not free any more.
    Reserve(Touched),
    /// The path does not lead to the directory of the run any more.
    PathLost,
}

/// Where a path leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Location {
    mount: u64,
    device: (u32, u32),
    inode: u64,
}

/// What the watching thread and the coordinator share.
#[derive(Debug, Default)]
pub(super) struct WatchState {
    /// The look that has not returned.
    pub(super) desk: Desk,
    found: Mutex<Option<Disturbance>>,
    ends: AtomicBool,
}

/// The watching thread.
#[derive(Debug)]
pub(super) struct RunningWatch {
    pub(super) state: Arc<WatchState>,
    pub(super) wants: Wants,
    thread: JoinHandle<()>,
}

impl RunningWatch {
    /// Starts it.
    pub(super) fn start<C: Fn() -> Instant + Send + 'static>(
        tree: Arc<OpenTree>,
        watched: Watched,
        signals: Arc<Signals>,
        clock: C,
    ) -> Result<RunningWatch, Trouble> {
        let (state, wants) = (Arc::<WatchState>::default(), watched.wants);
        let watcher = Watcher { tree, watched, state: state.clone(), signals, clock };
        let thread = Builder::new().name("watch".to_owned()).stack_size(STACK).spawn(move || watcher.work());
        let thread = thread.map_err(|why| Trouble::host(format!("no thread could be started: {why}")))?;
        Ok(RunningWatch { state, wants, thread })
    }

    /// Starts it for a phase, if there is something to watch.
    pub(super) fn start_for_phase<C: Fn() -> Instant + Clone + Send + 'static>(
        tree: &Arc<OpenTree>,
        watched: Option<&Watched>,
        signals: &Arc<Signals>,
        clock: &C,
    ) -> Result<Option<RunningWatch>, Trouble> {
        let Some(watched) = watched else { return Ok(None) };
        RunningWatch::start(tree.clone(), watched.clone(), signals.clone(), clock.clone()).map(Some)
    }

    /// Ends it, unless it is in a call: that may never return.
    pub(super) fn end(self) {
        self.state.ends.store(true, Ordering::Relaxed);
        self.thread.thread().unpark();
        if self.state.desk.lock().call.is_none() {
            // A mistake of ours in it has ended it before.
            let _ = self.thread.join();
        }
    }
}

impl WatchState {
    /// What was found, once.
    pub(super) fn take_found(&self) -> Option<Disturbance> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// See the module.
struct Watcher<C> {
    tree: Arc<OpenTree>,
    watched: Watched,
    state: Arc<WatchState>,
    signals: Arc<Signals>,
    clock: C,
}

impl<C: Fn() -> Instant> Watcher<C> {
    /// Looks until it is told to end, or until something is found.
    fn work(self) {
        let reserve = ReserveWatch::new(self.tree.own_dir().reserve(), self.watched.wants);
        let mut looks = 0;
        while !self.state.ends.load(Ordering::Relaxed) {
            let found = self.look(&reserve, looks);
            if found.is_some() {
                *self.state.found.lock().unwrap_or_else(PoisonError::into_inner) = found;
                return self.signals.wake_coordinator();
            }
            looks += 1;
            std::thread::park_timeout(Duration::from_nanos(ROOM_EVERY.as_ns()));
        }
    }

    fn look(&self, reserve: &ReserveWatch, looks: u64) -> Option<Disturbance> {
        self.begin_look(Operation::Statfs.name(), looks);
        let room = Room::around(self.tree.own_dir().directory());
        // What the run itself has is not known here: the coordinator finds out whether somebody else took the room.
        let touched = room.ok().and_then(|room| reserve.observe(room, Wants::default()));
        let mut found = touched.map(Disturbance::Reserve);
        if found.is_none() && looks.is_multiple_of(PATH_EVERY) {
            self.begin_look(Operation::Stat.name(), looks);
            found = (!self.leads_to_own_directory()).then_some(Disturbance::PathLost);
        }
        self.state.desk.lock().call = None;
        found
    }

    fn begin_look(&self, operation: &'static str, number: u64) {
        let call = OpenCall { operation, flow: None, number, issued: (self.clock)() };
        self.state.desk.begin_call(call, None);
    }

    /// Whether the path leads to the place in which the directory of the run is.
    fn leads_to_own_directory(&self) -> bool {
        let own = self.tree.own_dir();
        let by_path = self.watched.path.join(own.name());
        let found = rustix::fs::statx(CWD, &by_path, AtFlags::SYMLINK_NOFOLLOW, location_flags()).map(location_of);
        let expected = rustix::fs::statx(own.directory(), "", AtFlags::EMPTY_PATH, location_flags()).map(location_of);
        match (found, expected) {
            (Ok(found), Ok(expected)) => found == expected,
            // Anything else than that it is not there says nothing about where the path leads.
            (Err(Errno::NOENT | Errno::NOTDIR), _) => false,
            _ => true,
        }
    }
}

fn location_flags() -> StatxFlags {
    StatxFlags::INO | StatxFlags::MNT_ID
}

/// Where something is. A kernel that does not tell the mount (before Linux 5.8) says 0 for all.
fn location_of(facts: rustix::fs::Statx) -> Location {
    Location { mount: facts.stx_mnt_id, device: (facts.stx_dev_major, facts.stx_dev_minor), inode: facts.stx_ino }
}
