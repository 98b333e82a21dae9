//! When a task begins: by its timer, and after so many commits, bytes or full files.

use assay_base::Instant;
use assay_model::files::service::ServiceTask;

/// What has happened since the phase began.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Counted {
    pub(super) commits: u64,
    pub(super) bytes: u64,
}

/// A task between its beginnings.
#[derive(Clone, Debug)]
pub(super) struct TaskState {
    /// When its timer is up.
    tick: Option<Instant>,
    /// What had happened when it began last.
    before: Counted,
    moves_before: u64,
}

impl TaskState {
    pub(super) fn new(task: &ServiceTask, begun: Instant, counted: Counted, moves: u64) -> TaskState {
        let tick = task.each.or(task.pause).map(|span| begun + span);
        TaskState { tick, before: counted, moves_before: moves }
    }

    /// Since when it is due; `None` if it is not. A timer that is up without changes begins anew.
    pub(super) fn due_since(
        &mut self,
        task: &ServiceTask,
        now: Instant,
        counted: Counted,
        moves: u64,
    ) -> Option<Instant> {
        let commits = counted.commits - self.before.commits;
        let bytes = counted.bytes - self.before.bytes;
        let is_full = task.after_commits.is_some_and(|most| commits >= most)
            || task.after_bytes.is_some_and(|most| bytes >= most.get())
            || task.after_full.is_some() && moves > self.moves_before;
        if is_full {
            return Some(now);
        }
        let tick = self.tick.filter(|tick| *tick <= now)?;
        if !task.with_changes || commits > 0 {
            return Some(tick);
        }
        let span = task.each.or(task.pause)?;
        let mut next = tick + span;
        if next <= now {
            next = now + span;
        }
        self.tick = Some(next);
        None
    }

    /// When its timer is up.
    pub(super) fn next_tick(&self) -> Option<Instant> {
        self.tick
    }

    /// It begins; returns the commits since the last time.
    pub(super) fn begin(&mut self, task: &ServiceTask, since: Instant, counted: Counted, moves: u64) -> u64 {
        let commits = counted.commits - self.before.commits;
        (self.before, self.moves_before) = (counted, moves);
        if let Some(each) = task.each {
            self.tick = Some(since + each);
        }
        commits
    }

    /// It has ended.
    pub(super) fn end(&mut self, task: &ServiceTask, now: Instant) {
        if let Some(pause) = task.pause {
            self.tick = Some(now + pause);
        }
    }
}
