//! The threads of a server in one phase.

use super::call::{CallFailure, CallTimes, CommitGroup, FileCall, ServiceNext, SpanDone};
use super::files::ServiceFiles;
use super::prepared::PreparedService;
use super::reader::FollowingReader;
use super::run::{OpenGroup, OpenSpan, Queued, Run, RunBeginning};
use super::tasks::{Counted, TaskState};
use crate::script::Arrivals;
use assay_base::{Code, Instant, Prng, Span};
use assay_model::files::service::{Service, ServiceCall};

/// Separates what the threads of a server draw from what else is drawn.
const THREAD: u64 = 5;

/// One thread.
#[derive(Debug)]
struct ThreadState {
    is_writer: bool,
    /// Its tasks, by their place.
    tasks: Vec<usize>,
    /// Since when it has nothing to do.
    free: Instant,
    /// By how much that is later than it would be if the process had not stood still.
    shifted: Span,
    prng: Prng,
    run: Option<Run>,
}

/// See the module.
#[derive(Debug)]
pub struct ServiceScript {
    pub(super) prepared: PreparedService,
    pub(super) files: ServiceFiles,
    threads: Vec<ThreadState>,
    tasks: Vec<TaskState>,
    arrivals: Option<Arrivals>,
    end: Instant,
    counted: Counted,
    /// Of each step: the part of a call that is left for the next time, and where it reads.
    pub(super) left_over: Vec<f64>,
    pub(super) readers: Vec<FollowingReader>,
    /// Of each step, how often it has written one of the first two pages.
    pub(super) turns: Vec<u64>,
    seed: u64,
}

impl ServiceScript {
    /// The script of a server, whose files are as [`ServiceScript::files`] says before the first phase.
    pub fn new(service: &Service, seed: u64) -> ServiceScript {
        let prepared = PreparedService::new(service);
        let steps = prepared.steps;
        ServiceScript {
            files: ServiceFiles::new(service),
            prepared,
            threads: Vec::new(),
            tasks: Vec::new(),
            arrivals: None,
            end: Instant::ZERO,
            counted: Counted::default(),
            left_over: vec![0.0; steps],
            readers: vec![FollowingReader::default(); steps],
            turns: vec![0; steps],
            seed,
        }
    }

    /// Begins a phase, whose commits come as the schedule says.
    pub fn start_phase(&mut self, begun: Instant, arrivals: Arrivals) {
        self.end = arrivals.end();
        self.arrivals = Some(arrivals);
        let service = &self.prepared.service;
        let names = service.thread_names();
        self.threads.clear();
        for (number, name) in names.iter().enumerate() {
            let is_own = |task: &usize| service.tasks[*task].thread == *name;
            self.threads.push(ThreadState {
                is_writer: number == 0,
                tasks: (0..service.tasks.len()).filter(is_own).collect(),
                free: begun,
                shifted: Span::ZERO,
                prng: Prng::for_path(self.seed, &[THREAD, number as u64]),
                run: None,
            });
        }
        let mut tasks = Vec::new();
        for task in &service.tasks {
            tasks.push(TaskState::new(task, begun, self.counted, self.moves_of(task.after_full)));
        }
        self.tasks = tasks;
    }

    /// What exists.
    pub fn files(&self) -> &ServiceFiles {
        &self.files
    }

    /// The description.
    pub fn service(&self) -> &Service {
        &self.prepared.service
    }

    /// How many threads it has.
    pub fn thread_count(&self) -> usize {
        self.threads.len()
    }

    /// How often the writer has moved on from a file of this kind.
    fn moves_of(&self, kind: Option<usize>) -> u64 {
        kind.map_or(0, |kind| self.files.kinds[kind].moves)
    }

    /// What a thread does that has nothing to do.
    pub fn begin(&mut self, thread: usize, now: Instant) -> ServiceNext {
        assert!(self.threads[thread].run.is_none(), "a thread does one thing at a time");
        let is_over = now >= self.end;
        if !is_over && let Some((task, since)) = self.due_task(thread, now) {
            return self.begin_task(thread, task, since, now);
        }
        let next_commit = self.next_commit(thread);
        if next_commit.is_some_and(|next| next <= now) {
            return self.begin_group(thread, now);
        }
        if is_over {
            return ServiceNext::Over;
        }
        let ticks = self.threads[thread].tasks.iter().filter_map(|task| self.tasks[*task].next_tick());
        let until = ticks.chain(next_commit).min().unwrap_or(self.end);
        ServiceNext::WaitUntil(until.min(self.end))
    }

    fn next_commit(&self, thread: usize) -> Option<Instant> {
        let arrivals = self.arrivals.as_ref().filter(|_| self.threads[thread].is_writer)?;
        arrivals.next()
    }

    /// The task of a thread that is due, and since when.
    fn due_task(&mut self, thread: usize, now: Instant) -> Option<(usize, Instant)> {
        for at in 0..self.threads[thread].tasks.len() {
            let task = self.threads[thread].tasks[at];
            let described = &self.prepared.service.tasks[task];
            let moves = self.moves_of(described.after_full);
            if let Some(since) = self.tasks[task].due_since(described, now, self.counted, moves) {
                return Some((task, since));
            }
        }
        None
    }

    fn begin_task(&mut self, thread: usize, task: usize, since: Instant, now: Instant) -> ServiceNext {
        let described = &self.prepared.service.tasks[task];
        let moves = self.moves_of(described.after_full);
        let commits = self.tasks[task].begin(described, since, self.counted, moves);
        let may_issue = since.max(self.threads[thread].free);
        let mut run = Run::new(RunBeginning { task: Some(task), began: now, commits });
        run.queue_steps(&self.prepared.tasks[task]);
        self.threads[thread].run = Some(run);
        ServiceNext::Begin { may_issue }
    }

    /// The writer takes all commits that wait.
    fn begin_group(&mut self, thread: usize, now: Instant) -> ServiceNext {
        let writer = &self.prepared.service.writer;
        let most = writer.most.map_or(usize::MAX, |most| most as usize);
        let arrivals = self.arrivals.as_mut().expect("a phase has begun");
        let intended = arrivals.take_due(now, most);
        let state = &mut self.threads[thread];
        let mut bytes = writer.group.get();
        for _ in &intended {
            bytes += writer.entry.get();
            if let Some(images) = writer.images
                && state.prng.uniform_unit() < images.share.as_f64()
            {
                bytes += images.bytes.get();
            }
        }
        let first = intended.first().copied().unwrap_or(now);
        if first >= state.free {
            state.shifted = Span::ZERO;
        }
        let unshifted = state.free - state.shifted;
        let (free, may_issue) = (first.max(unshifted), first.max(state.free));
        let commits = intended.len() as u64;
        let mut run = Run::new(RunBeginning { task: None, began: now, commits });
        run.group = Some(OpenGroup { intended, issued: None, bytes, free, own_within: Span::ZERO });
        run.queue_steps(&self.prepared.writer);
        run.queue.push_back(Queued::Acknowledge);
        state.run = Some(run);
        ServiceNext::Begin { may_issue }
    }

    /// The next call of what a thread is at; `None` where that is done, and it asks [`ServiceScript::begin`] again.
    pub fn next_call(&mut self, thread: usize, now: Instant) -> Option<FileCall> {
        let mut run = self.threads[thread].run.take()?;
        while run.calls.is_empty() {
            let Some(queued) = run.queue.pop_front() else { break };
            self.carry_out(thread, &mut run, queued);
        }
        let call = run.calls.pop_front();
        if call.is_none() {
            self.end_run(thread, &run, now);
        }
        run.current = call.clone();
        self.threads[thread].run = Some(run);
        call
    }

    fn carry_out(&mut self, thread: usize, run: &mut Run, queued: Queued) {
        match queued {
            Queued::Acknowledge => {
                let bytes = run.group.as_ref().map_or(0, |group| group.bytes);
                self.counted.commits += run.beginning.commits;
                self.counted.bytes += bytes;
                run.acknowledge();
            }
            Queued::SpanBegins(flow) => {
                run.spans.push(OpenSpan { flow, issued: None, own_lag: Span::ZERO });
            }
            Queued::SpanEnds(flow) => run.end_span(flow),
            queued => self.expand_queued(thread, run, queued),
        }
    }

    fn end_run(&mut self, thread: usize, run: &Run, now: Instant) {
        if let Some(task) = run.beginning.task {
            self.tasks[task].end(&self.prepared.service.tasks[task], now);
        }
        self.threads[thread].free = now;
    }

    /// A thread has done what it was at, and [`ServiceScript::take_acknowledged`] and [`ServiceScript::take_spans`] were
    /// asked for.
    pub fn forget_run(&mut self, thread: usize) {
        self.threads[thread].run = None;
    }

    /// Takes the result of a thread's call: the bytes that it moved, or its error. After an error nothing more is done of
    /// what the thread is at.
    pub fn finish_call(&mut self, thread: usize, result: Result<u64, Code>, times: CallTimes) {
        let state = &mut self.threads[thread];
        state.shifted = state.shifted + times.stood_in_all;
        let mut run = self.threads[thread].run.take().expect("a thread that made a call has begun something");
        let call = run.current.take().expect("a result belongs to a call");
        run.note_times(times);
        match failure_of(&call, result) {
            None => self.note_done(&call),
            Some(failure) => {
                run.failed = run.failed.or(Some(failure));
                self.files.file_mut(call.file).is_unsure = true;
                run.calls.clear();
                run.queue.retain(|queued| matches!(queued, Queued::Acknowledge | Queued::SpanEnds(_)));
            }
        }
        self.threads[thread].run = Some(run);
    }

    fn note_done(&mut self, call: &FileCall) {
        let file = self.files.file_mut(call.file);
        match call.call {
            ServiceCall::Create => file.exists = true,
            ServiceCall::Unlink => file.exists = false,
            ServiceCall::Rename => file.name = call.new_name.unwrap_or(file.name),
            _ => {}
        }
    }

    /// How many commits are issued with the first call of the writer's group; `None` for other calls.
    pub fn commits_to_issue(&self, thread: usize) -> Option<u64> {
        let group = self.threads[thread].run.as_ref()?.group.as_ref()?;
        group.issued.is_none().then_some(group.intended.len() as u64)
    }

    /// The group that is durable since the last call, or that has failed.
    pub fn take_acknowledged(&mut self, thread: usize) -> Option<CommitGroup> {
        self.threads[thread].run.as_mut()?.ended.acknowledged.take()
    }

    /// The spans that have ended since the last call.
    pub fn take_spans(&mut self, thread: usize) -> Vec<SpanDone> {
        self.threads[thread].run.as_mut().map(|run| std::mem::take(&mut run.ended.spans)).unwrap_or_default()
    }

    /// Draws for a thread.
    pub(super) fn prng(&mut self, thread: usize) -> &mut Prng {
        &mut self.threads[thread].prng
    }

    /// When the phase ends.
    pub(super) fn end(&self) -> Instant {
        self.end
    }
}

/// Why a call did not do what it was asked for.
fn failure_of(call: &FileCall, result: Result<u64, Code>) -> Option<CallFailure> {
    match result {
        Err(code) => Some(CallFailure::Error(code)),
        Ok(moved) if call.call.writes_bytes() && moved < call.length => Some(CallFailure::Short),
        Ok(_) => None,
    }
}
