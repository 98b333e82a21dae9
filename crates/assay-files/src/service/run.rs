//! What a thread is at: the steps that are left, and the calls of the step that it has begun.

use super::call::{CallFailure, CallTimes, CommitGroup, FileCall, SpanDone};
use super::prepared::PreparedStep;
use assay_base::{Instant, Span};
use std::collections::VecDeque;
use std::sync::Arc;

/// Something that is left to do.
#[derive(Clone, Debug)]
pub(super) enum Queued {
    /// A step as a whole.
    Step(Arc<PreparedStep>),
    /// Bytes of a group that did not fit into the file before.
    RestOfGroup {
        step: Arc<PreparedStep>,
        bytes: u64,
    },
    /// Calls on pages, of which some are made.
    Pages {
        step: Arc<PreparedStep>,
        done: u64,
        count: u64,
        span: Span,
    },
    /// The writer moves on from the file at this place of a kind.
    MoveOn {
        kind: usize,
        place: usize,
    },
    /// It has moved on.
    Switch {
        kind: usize,
    },
    /// A file that was made is a next one.
    IsReady {
        kind: usize,
        file: usize,
    },
    SpanBegins(usize),
    SpanEnds(usize),
    /// The commits of the group are durable.
    Acknowledge,
}

/// A span that has begun.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenSpan {
    pub(super) flow: usize,
    pub(super) issued: Option<Instant>,
    pub(super) own_lag: Span,
}

/// The commits of a group that are not durable yet.
#[derive(Clone, Debug)]
pub(super) struct OpenGroup {
    pub(super) intended: Vec<Instant>,
    pub(super) issued: Option<Instant>,
    pub(super) bytes: u64,
    /// When the writer could have begun it.
    pub(super) free: Instant,
    /// What was added behind its first call because of ourselves.
    pub(super) own_within: Span,
}

/// Why and since when a thread is at something.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunBeginning {
    /// The task; `None` for the writer's own steps.
    pub(super) task: Option<usize>,
    /// When it began.
    pub(super) began: Instant,
    /// Commits in the group, or since the task began last.
    pub(super) commits: u64,
}

/// What has ended, until the shell takes it.
#[derive(Clone, Debug, Default)]
pub(super) struct RunEnded {
    pub(super) acknowledged: Option<CommitGroup>,
    pub(super) spans: Vec<SpanDone>,
}

/// Bytes of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct ByteRange {
    pub(super) start: u64,
    pub(super) end: u64,
}

/// What the kernel was told to write back: the bytes since the last time, and those of that time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WriteBack {
    pub(super) unflushed: Option<ByteRange>,
    pub(super) flushed: Option<ByteRange>,
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) beginning: RunBeginning,
    pub(super) group: Option<OpenGroup>,
    pub(super) queue: VecDeque<Queued>,
    pub(super) calls: VecDeque<FileCall>,
    pub(super) current: Option<FileCall>,
    pub(super) spans: Vec<OpenSpan>,
    pub(super) completed: Instant,
    pub(super) failed: Option<CallFailure>,
    pub(super) ended: RunEnded,
    pub(super) write_back: WriteBack,
}

impl Run {
    pub(super) fn new(beginning: RunBeginning) -> Run {
        Run {
            completed: beginning.began,
            beginning,
            group: None,
            queue: VecDeque::new(),
            calls: VecDeque::new(),
            current: None,
            spans: Vec::new(),
            failed: None,
            ended: RunEnded::default(),
            write_back: WriteBack::default(),
        }
    }

    /// Puts steps behind everything else.
    pub(super) fn queue_steps(&mut self, steps: &[Arc<PreparedStep>]) {
        for step in steps {
            self.queue.extend(queued(step));
        }
    }

    /// Puts something before everything else, in this order.
    pub(super) fn queue_first(&mut self, first: Vec<Queued>) {
        for queued in first.into_iter().rev() {
            self.queue.push_front(queued);
        }
    }

    /// A call has returned.
    pub(super) fn note_times(&mut self, times: CallTimes) {
        let CallTimes { issued, completed, own_lag, stood, .. } = times;
        if let Some(group) = &mut self.group {
            let lag_within = if group.issued.is_some() { own_lag } else { Span::ZERO };
            group.issued = group.issued.or(Some(issued));
            group.own_within = group.own_within + lag_within + stood;
        }
        for span in &mut self.spans {
            let lag_within = if span.issued.is_some() { own_lag } else { Span::ZERO };
            span.issued = span.issued.or(Some(issued));
            span.own_lag = span.own_lag + lag_within + stood;
        }
        self.completed = completed;
    }

    /// The group is durable, or a call failed.
    pub(super) fn acknowledge(&mut self) {
        let Some(group) = self.group.take() else { return };
        self.ended.acknowledged = Some(CommitGroup {
            intended: group.intended,
            free: group.free,
            issued: group.issued.unwrap_or(self.completed),
            completed: self.completed,
            own_within: group.own_within,
            failed: self.failed,
        });
    }

    pub(super) fn end_span(&mut self, flow: usize) {
        let Some(at) = self.spans.iter().position(|span| span.flow == flow) else { return };
        let span = self.spans.remove(at);
        // One without a call took no time.
        let Some(issued) = span.issued else { return };
        let (own_lag, failed) = (span.own_lag, self.failed);
        self.ended.spans.push(SpanDone { flow, issued, completed: self.completed, own_lag, failed });
    }
}

/// A step with the spans that it begins and ends.
pub(super) fn queued(step: &Arc<PreparedStep>) -> Vec<Queued> {
    let mut all = Vec::new();
    all.extend(step.begins_span.map(Queued::SpanBegins));
    all.push(Queued::Step(step.clone()));
    all.extend(step.ends_span.map(Queued::SpanEnds));
    all
}
