//! What a call meets: the faults that are set, the tree, the account, and an answer at its time.

use super::answers::{Answers, Send};
use super::faults::{AtOnce, TreeFaults};
use super::lies::{LieCounters, falsify_now, write_falsely};
use super::locks::{ByteLock, ByteLocks};
use super::memory::{Fallible, Memory};
use super::operation::TreeOperation;
use super::truth::{Lie, TreeTruth};
use fuser::{INodeNo, Notifier, ReplyEmpty};
use std::ffi::OsStr;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

/// A lock that is waited for.
pub(crate) struct LockWaiter {
    wish: ByteLock,
    taken: Instant,
    reply: ReplyEmpty,
}

/// Everything that calls change.
pub(crate) struct State {
    pub memory: Memory,
    pub faults: TreeFaults,
    pub truth: TreeTruth,
    pub locks: ByteLocks,
    counters: LieCounters,
    waiters: Vec<LockWaiter>,
}

impl State {
    /// A write, as the faults have it; returns how many bytes are acknowledged.
    pub(crate) fn write(&mut self, inode: u64, offset: u64, data: &[u8]) -> Fallible<u32> {
        let data = if self.counters.is_next_write_short(&self.faults) { &data[..data.len() / 2] } else { data };
        self.store_write(inode, offset, data).map(|()| data.len() as u32)
    }

    fn store_write(&mut self, inode: u64, offset: u64, data: &[u8]) -> Fallible<()> {
        let Some(lie) = self.counters.of_next_write(&self.faults) else {
            return self.memory.write(inode, offset, data);
        };
        write_falsely(&mut self.memory, inode, offset, data, lie)?;
        self.truth.lies.push((lie, self.memory.path_of(inode)));
        Ok(())
    }

    /// An unlink, as the faults have it.
    pub(crate) fn unlink(&mut self, directory: u64, name: &OsStr) -> Fallible<()> {
        let inode = self.memory.find_name(directory, name)?;
        if self.counters.is_next_unlink_a_lie(&self.faults) {
            self.truth.lies.push((Lie::Undeleted, self.memory.path_of(inode)));
            return Ok(());
        }
        self.memory.unlink(directory, name).map(drop)
    }
}

/// Shared by the file system, the thread that answers, and whoever sets faults.
#[derive(Clone)]
pub(crate) struct TreeService {
    state: Arc<Mutex<State>>,
    pub answers: Answers,
    notifier: Arc<OnceLock<Notifier>>,
}

impl TreeService {
    pub(crate) fn new(owner: (u32, u32)) -> TreeService {
        let state = State {
            memory: Memory::new(owner),
            faults: TreeFaults::default(),
            truth: TreeTruth::default(),
            locks: ByteLocks::default(),
            counters: LieCounters::default(),
            waiters: Vec::new(),
        };
        TreeService {
            state: Arc::new(Mutex::new(state)),
            answers: Answers::default(),
            notifier: Arc::new(OnceLock::new()),
        }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on the kernel can be told to forget pages.
    pub(crate) fn set_notifier(&self, notifier: Notifier) {
        let _ = self.notifier.set(notifier);
    }

    /// Sets faults, and says of which inodes the kernel must forget the pages. When one line is wrong, nothing is changed.
    pub(crate) fn set(&self, lines: &str) -> Result<Vec<u64>, String> {
        let mut state = self.state();
        let mut faults = state.faults.clone();
        let lines = lines.split(['\n', ' ']).map(str::trim).filter(|line| !line.is_empty());
        let at_once: Vec<Option<AtOnce>> = lines.map(|line| faults.set(line)).collect::<Result<_, _>>()?;
        (state.memory.space, state.memory.most_nodes) = (faults.space, faults.files);
        let kinds = TreeOperation::ALL.map(|(operation, _)| operation).into_iter();
        self.answers.set_hanging(kinds.filter(|operation| faults.of_call(*operation).hang).collect());
        state.faults = faults;
        let mut inodes = Vec::new();
        for wanted in at_once.into_iter().flatten() {
            match wanted {
                AtOnce::Reset => (state.truth, state.counters) = (TreeTruth::default(), LieCounters::default()),
                AtOnce::Stall(span) => self.answers.stall_until(Instant::now() + span),
                _ => {}
            }
            let told = falsify_now(&mut state.memory, &wanted)
                .map_err(|errno| format!("{wanted:?}: {}", std::io::Error::from_raw_os_error(errno)))?;
            if let Some(told) = told {
                state.truth.lies.push((told.lie, told.path));
                inodes.extend(told.inodes);
            }
        }
        Ok(inodes)
    }

    /// Makes the kernel forget the pages of files. It waits for reads of them, which this file system answers: never
    /// called by the thread that takes requests.
    pub(crate) fn forget_pages(&self, inodes: &[u64]) {
        let Some(notifier) = self.notifier.get() else { return };
        for inode in inodes {
            let _ = notifier.inval_inode(INodeNo(*inode), 0, 0);
        }
    }

    pub(crate) fn truth(&self) -> TreeTruth {
        let state = self.state();
        let held = self.answers.count() + state.waiters.len() as u64;
        TreeTruth { held, ..state.truth.clone() }
    }

    /// Carries a call out unless a fault says that it fails, and enters it into the account.
    pub(crate) fn carry_out<T>(
        &self,
        operation: TreeOperation,
        call: impl FnOnce(&mut State) -> Fallible<T>,
    ) -> Fallible<T> {
        let mut state = self.state();
        let count = state.truth.calls.entry(operation).or_default();
        *count += 1;
        let (count, faults) = (*count, state.faults.of_call(operation));
        let injected = faults.errno.filter(|_| count.is_multiple_of(faults.every));
        let result = if state.faults.stale {
            Err(libc::ESTALE)
        } else if let Some(errno) = injected {
            Err(errno)
        } else if state.faults.read_only && operation.changes_something() {
            Err(libc::EROFS)
        } else {
            call(&mut state)
        };
        if let Err(errno) = &result {
            *state.truth.failed.entry((operation, *errno)).or_default() += 1;
        }
        result
    }

    /// Gives the answer to a call that came at `taken`.
    pub(crate) fn answer(&self, operation: TreeOperation, taken: Instant, send: Send) {
        let delay = self.state().faults.of_call(operation).delay;
        self.answers.give_answer(operation, taken, delay, send);
    }

    /// Takes a lock, waits for it, or refuses it.
    pub(crate) fn lock(&self, wish: ByteLock, waits: bool, reply: ReplyEmpty) {
        let taken = Instant::now();
        let is_taken = self.carry_out(TreeOperation::Lock, |state| Ok(state.locks.set_lock(wish)));
        match is_taken {
            Ok(true) => self.answer(TreeOperation::Lock, taken, Box::new(|| reply.ok())),
            Ok(false) if waits => self.state().waiters.push(LockWaiter { wish, taken, reply }),
            Ok(false) => self.answer(TreeOperation::Lock, taken, Box::new(|| reply.error(fuser::Errno::EAGAIN))),
            Err(errno) => {
                let errno = fuser::Errno::from_i32(errno);
                self.answer(TreeOperation::Lock, taken, Box::new(move || reply.error(errno)));
            }
        }
        self.serve_waiters();
    }

    /// A descriptor was closed: its owner has no locks on the file any more.
    pub(crate) fn release_locks(&self, inode: u64, owner: u64) {
        self.state().locks.release_all(inode, owner);
        self.serve_waiters();
    }

    fn serve_waiters(&self) {
        let mut state = self.state();
        let (mut served, mut waiting) = (Vec::new(), Vec::new());
        for waiter in std::mem::take(&mut state.waiters) {
            if state.locks.set_lock(waiter.wish) {
                served.push(waiter);
            } else {
                waiting.push(waiter);
            }
        }
        state.waiters = waiting;
        drop(state);
        for LockWaiter { taken, reply, .. } in served {
            self.answer(TreeOperation::Lock, taken, Box::new(|| reply.ok()));
        }
    }

    /// Answers everything that is held, and ends the thread that answers.
    pub(crate) fn end(&self) {
        for LockWaiter { reply, .. } in std::mem::take(&mut self.state().waiters) {
            reply.error(fuser::Errno::EINTR);
        }
        self.answers.end();
    }
}
