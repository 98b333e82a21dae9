//! What the steps of a server are as calls: on which file, where, and how many bytes.

use super::call::FileCall;
use super::files::{Moving, size_when_made};
use super::prepared::PreparedStep;
use super::run::{ByteRange, Queued, Run, queued};
use super::script::ServiceScript;
use crate::extents::Version;
use assay_base::{Instant, Span};
use assay_model::files::service::{Amount, MadeBy, ServiceCall, StepCall, StepPlace, WhenFull, WhichFile};
use std::sync::Arc;

impl ServiceScript {
    pub(super) fn expand_queued(&mut self, thread: usize, run: &mut Run, item: Queued) {
        match item {
            Queued::Step(step) => self.expand_step(thread, run, &step),
            Queued::RestOfGroup { step, bytes } => self.write_group(run, &step, bytes),
            Queued::Pages { step, done, count, span } => self.next_page(thread, run, &step, done, count, span),
            Queued::MoveOn { kind, place } => self.move_on(run, kind, place),
            Queued::Switch { kind } => self.switch_files(kind),
            Queued::IsReady { kind, file } => self.files.kinds[kind].ready.push_back(file),
            Queued::Acknowledge | Queued::SpanBegins(_) | Queued::SpanEnds(_) => {}
        }
    }

    fn expand_step(&mut self, thread: usize, run: &mut Run, step: &Arc<PreparedStep>) {
        match step.step.call {
            StepCall::Write | StepCall::MmapWrite | StepCall::Read | StepCall::Sendfile => {
                self.move_bytes(thread, run, step);
            }
            StepCall::Fsync => self.on_files(run, step, ServiceCall::Fsync),
            StepCall::Fdatasync => self.on_files(run, step, ServiceCall::Fdatasync),
            StepCall::Msync => self.on_files(run, step, ServiceCall::Msync),
            StepCall::FsyncDir => self.on_files(run, step, ServiceCall::FsyncDir),
            StepCall::Truncate => self.truncate_files(run, step),
            StepCall::Extend => self.extend_files(run, step),
            StepCall::Rename => self.rename_files(run, step),
            StepCall::Create => self.create_file(run, step),
            StepCall::Unlink => self.unlink_files(run, step),
            StepCall::Make => self.make_file(run, step),
            StepCall::Recycle => self.recycle_files(run, step),
            StepCall::Restart => {
                for file in self.files_of(step) {
                    self.files.file_mut(file).restart();
                }
            }
        }
    }

    /// The files that a step is on.
    fn files_of(&self, step: &PreparedStep) -> Vec<usize> {
        let kind = &self.files.kinds[step.step.file];
        match step.step.of {
            WhichFile::Current => kind.current.get(kind.turn).copied().flatten().into_iter().collect(),
            WhichFile::Old => {
                let moving = kind.moving.map(|moving| moving.old);
                moving.or(kind.old.back().copied()).into_iter().collect()
            }
            WhichFile::New => kind.moving.map(|moving| moving.new).into_iter().collect(),
            WhichFile::Each => kind.current.iter().copied().flatten().collect(),
        }
    }

    fn on_files(&mut self, run: &mut Run, step: &PreparedStep, call: ServiceCall) {
        for file in self.files_of(step) {
            run.calls.push_back(FileCall::new(call, file, step));
        }
    }

    fn truncate_files(&mut self, run: &mut Run, step: &PreparedStep) {
        for file in self.files_of(step) {
            let state = self.files.file_mut(file);
            state.resize(state.readable());
            let offset = state.size;
            run.calls.push_back(FileCall { offset, ..FileCall::new(ServiceCall::Truncate, file, step) });
        }
    }

    fn extend_files(&mut self, run: &mut Run, step: &PreparedStep) {
        let Amount::Bytes(more) = step.step.amount else { return };
        for file in self.files_of(step) {
            let state = self.files.file_mut(file);
            state.resize(state.size + more.get());
            let offset = state.size;
            run.calls.push_back(FileCall { offset, ..FileCall::new(ServiceCall::Truncate, file, step) });
        }
    }

    fn rename_files(&mut self, run: &mut Run, step: &PreparedStep) {
        for file in self.files_of(step) {
            let new_name = Some(self.files.take_name());
            run.calls.push_back(FileCall { new_name, ..FileCall::new(ServiceCall::Rename, file, step) });
        }
    }

    fn create_file(&mut self, run: &mut Run, step: &PreparedStep) {
        let kind = step.step.file;
        let file = self.files.add(kind);
        let state = &mut self.files.kinds[kind];
        let place = state.turn;
        let before = state.current[place].replace(file);
        if let Some(before) = before.filter(|before| self.files.file(*before).exists) {
            self.files.kinds[kind].old.push_back(before);
        }
        run.calls.push_back(FileCall::new(ServiceCall::Create, file, step));
    }

    fn unlink_files(&mut self, run: &mut Run, step: &PreparedStep) {
        if step.step.of != WhichFile::Old {
            return self.on_files(run, step, ServiceCall::Unlink);
        }
        let keep = self.prepared.service.files[step.step.file].keep as usize;
        while self.files.kinds[step.step.file].old.len() > keep {
            let oldest = self.files.kinds[step.step.file].old.pop_front().expect("more than those that are kept");
            run.calls.push_back(FileCall::new(ServiceCall::Unlink, oldest, step));
        }
    }

    /// Makes a file: the next one of a writer that moves on, or one beforehand unless enough are there.
    fn make_file(&mut self, run: &mut Run, step: &PreparedStep) {
        let kind = step.step.file;
        let moving = self.files.kinds[kind].moving.filter(|_| step.step.of == WhichFile::New);
        let file = match moving {
            Some(moving) => moving.new,
            None => {
                let wanted = self.prepared.service.files[kind].ready.max(1) as usize;
                if self.files.kinds[kind].ready.len() >= wanted {
                    return;
                }
                let file = self.files.add(kind);
                run.queue.push_back(Queued::IsReady { kind, file });
                file
            }
        };
        let described = self.prepared.service.files[kind].clone();
        let size = described.size.get();
        run.calls.push_back(FileCall::new(ServiceCall::Create, file, step));
        self.files.file_mut(file).resize(size_when_made(&described));
        match described.made_by {
            MadeBy::Nothing => {}
            MadeBy::Fallocate | MadeBy::FallocateKeepSize => {
                run.calls.push_back(FileCall { length: size, ..FileCall::new(ServiceCall::Fallocate, file, step) });
            }
            MadeBy::Truncate => {
                run.calls.push_back(FileCall { offset: size, ..FileCall::new(ServiceCall::Truncate, file, step) });
            }
            MadeBy::Zeros | MadeBy::Written => {
                let piece = described.piece.get();
                let mut offset = 0;
                while offset < size {
                    let length = piece.min(size - offset);
                    run.calls.push_back(FileCall { offset, length, ..FileCall::new(ServiceCall::Zero, file, step) });
                    offset += length;
                }
            }
        }
    }

    /// Old files become next ones.
    fn recycle_files(&mut self, run: &mut Run, step: &PreparedStep) {
        let kind = step.step.file;
        let keep = self.prepared.service.files[kind].keep as usize;
        while self.files.kinds[kind].old.len() > keep {
            let file = self.files.kinds[kind].old.pop_front().expect("more than those that are kept");
            let new_name = Some(self.files.take_name());
            run.calls.push_back(FileCall { new_name, ..FileCall::new(ServiceCall::Rename, file, step) });
            run.calls.push_back(FileCall::new(ServiceCall::FsyncDir, file, step));
            self.files.file_mut(file).restart();
            run.queue.push_back(Queued::IsReady { kind, file });
        }
    }

    /// The writer moves on: steps on the old file come before the new one is made, where none is ready.
    fn move_on(&mut self, run: &mut Run, kind: usize, place: usize) {
        let Some(old) = self.files.kinds[kind].current[place] else { return };
        let ready = self.files.kinds[kind].ready.pop_front();
        let is_ready = ready.is_some();
        let new = ready.unwrap_or_else(|| self.files.add(kind));
        self.files.kinds[kind].moving = Some(Moving { place, old, new });
        let (next, make) = (self.prepared.next[kind].clone(), self.prepared.make[kind].clone());
        let on_old = next.iter().take_while(|step| step.step.of == WhichFile::Old).count();
        let mut first: Vec<Queued> = Vec::new();
        next[..on_old].iter().for_each(|step| first.extend(queued(step)));
        if !is_ready {
            make.iter().for_each(|step| first.extend(queued(step)));
        }
        next[on_old..].iter().for_each(|step| first.extend(queued(step)));
        first.push(Queued::Switch { kind });
        run.queue_first(first);
    }

    fn switch_files(&mut self, kind: usize) {
        let state = &mut self.files.kinds[kind];
        let Some(Moving { place, old, new }) = state.moving.take() else { return };
        state.current[place] = Some(new);
        state.old.push_back(old);
        state.moves += 1;
    }

    fn move_bytes(&mut self, thread: usize, run: &mut Run, step: &Arc<PreparedStep>) {
        match step.step.amount {
            Amount::Group => {
                let bytes = run.group.as_ref().map_or(0, |group| group.bytes);
                self.write_group(run, step, bytes);
            }
            Amount::Bytes(bytes) => self.on_page(thread, run, step, bytes.get(), None),
            Amount::Pages { pages, per_commit, .. } => {
                let wanted = pages + per_commit * run.beginning.commits as f64 + self.left_over[step.number];
                let count = wanted.max(0.0) as u64;
                self.left_over[step.number] = wanted - count as f64;
                let span = self.time_to_spread(run, step);
                run.queue_first(vec![Queued::Pages { step: step.clone(), done: 0, count, span }]);
            }
        }
    }

    /// Over which time the calls of a step are spread.
    fn time_to_spread(&self, run: &Run, step: &PreparedStep) -> Span {
        let task = run.beginning.task.map(|task| &self.prepared.service.tasks[task]);
        let period = task.and_then(|task| task.each.or(task.pause)).unwrap_or(Span::ZERO);
        Span::from_ns((period.as_ns() as f64 * step.step.spread.as_f64()) as u64)
    }

    /// One call on a page, unless all are made or their time is over with that of the phase.
    fn next_page(&mut self, thread: usize, run: &mut Run, step: &Arc<PreparedStep>, done: u64, count: u64, span: Span) {
        let Amount::Pages { page, .. } = step.step.amount else { return };
        let wanted = (!span.is_zero()).then(|| moment_of(run.beginning.began, span, done, count));
        if done >= count || wanted.is_some_and(|wanted| wanted >= self.end()) {
            return;
        }
        run.queue_first(vec![Queued::Pages { step: step.clone(), done: done + 1, count, span }]);
        self.on_page(thread, run, step, page.get(), wanted);
        self.flush_behind(run, step, done + 1);
    }

    /// Tells the kernel to write back what was written since the last time.
    fn flush_behind(&mut self, run: &mut Run, step: &PreparedStep, done: u64) {
        if step.step.flush_every == 0 || !done.is_multiple_of(step.step.flush_every.into()) {
            return;
        }
        let Some(written) = run.write_back.unflushed.take() else { return };
        let Some(file) = run.calls.back().map(|call| call.file) else { return };
        let (offset, length) = (written.start, written.end - written.start);
        run.calls.push_back(FileCall { offset, length, ..FileCall::new(ServiceCall::FlushRange, file, step) });
        if step.step.flush_waits
            && let Some(before) = run.write_back.flushed
        {
            let (offset, length) = (before.start, before.end - before.start);
            run.calls.push_back(FileCall { offset, length, ..FileCall::new(ServiceCall::AwaitRange, file, step) });
        }
        run.write_back.flushed = Some(written);
    }

    /// One call of so many bytes, where the step says.
    fn on_page(&mut self, thread: usize, run: &mut Run, step: &Arc<PreparedStep>, bytes: u64, wanted: Option<Instant>) {
        let first_new = run.calls.len();
        match (step.step.call, step.step.at) {
            (StepCall::Read | StepCall::Sendfile, place) => self.read_part(thread, run, step, place, bytes),
            (_, StepPlace::Random | StepPlace::FirstTwo) => self.write_page(thread, run, step),
            (call, place) => {
                let call = if call == StepCall::MmapWrite { ServiceCall::MmapWrite } else { ServiceCall::Write };
                self.write_bytes(run, step, call, place, bytes);
            }
        }
        for call in run.calls.iter_mut().skip(first_new) {
            call.wanted = wanted;
        }
        if let Some(call) = run.calls.back().filter(|_| step.step.flush_every > 0) {
            let (start, end) = (call.offset, call.offset + call.length);
            let is_at_end = step.step.at == StepPlace::End;
            let first = run.write_back.unflushed.filter(|_| is_at_end).map_or(start, |before| before.start.min(start));
            run.write_back.unflushed = Some(ByteRange { start: first, end });
        }
    }

    fn read_part(&mut self, thread: usize, run: &mut Run, step: &PreparedStep, place: StepPlace, bytes: u64) {
        let call = if step.step.call == StepCall::Sendfile { ServiceCall::Sendfile } else { ServiceCall::Read };
        let kind = step.step.file;
        if place == StepPlace::Follow {
            let (files, reader) = (&self.files, &mut self.readers[step.number]);
            if let Some(part) = reader.next_part(files, &files.kinds[kind], bytes) {
                let (offset, length) = (part.offset, part.length);
                run.calls.push_back(FileCall { offset, length, ..FileCall::new(call, part.file, step) });
            }
            return;
        }
        let places = self.files.kinds[kind].current.len() as u64;
        let drawn = self.prng(thread).uniform_below(places) as usize;
        let Some(file) = self.files.kinds[kind].current[drawn] else { return };
        let readable = self.files.file(file).readable();
        let pages = readable / bytes.max(1);
        if pages == 0 {
            return;
        }
        let offset = match place {
            StepPlace::Start => 0,
            _ => self.prng(thread).uniform_below(pages) * bytes,
        };
        run.calls.push_back(FileCall { offset, length: bytes, ..FileCall::new(call, file, step) });
    }

    fn write_page(&mut self, thread: usize, run: &mut Run, step: &PreparedStep) {
        let kind = step.step.file;
        let page_bytes = self.prepared.service.files[kind].block.map_or(1, |block| block.get());
        let places = self.files.kinds[kind].current.len() as u64;
        let drawn = if places > 1 { self.prng(thread).uniform_below(places) as usize } else { 0 };
        let Some(file) = self.files.kinds[kind].current[drawn] else { return };
        let pages = self.files.file(file).page_count();
        let page = if step.step.at == StepPlace::FirstTwo {
            self.turns[step.number] += 1;
            (self.turns[step.number] - 1) % 2 % pages.max(1)
        } else {
            self.prng(thread).uniform_below(pages)
        };
        self.files.kinds[kind].turn = drawn;
        let generation = self.files.file_mut(file).write_page(page);
        let version = Some(Version { file: file as u32, generation });
        let (offset, length) = (page * page_bytes, page_bytes);
        run.calls.push_back(FileCall { offset, length, version, ..FileCall::new(ServiceCall::Write, file, step) });
    }

    /// Bytes at the end of a file or at its beginning, in pieces.
    fn write_bytes(
        &mut self,
        run: &mut Run,
        step: &Arc<PreparedStep>,
        call: ServiceCall,
        place: StepPlace,
        bytes: u64,
    ) {
        let kind = step.step.file;
        let described = &self.prepared.service.files[kind];
        let (most, is_ring) = (described.size.get(), described.when_full == WhenFull::Start);
        let turn = self.files.kinds[kind].turn;
        let Some(file) = self.files_of(step).first().copied() else { return };
        if place == StepPlace::Start {
            // The same bytes once more: what is there is a part of the same generation.
            return self.push_pieces(run, step, call, file, 0..bytes);
        }
        let is_full = self.files.file(file).position + bytes > most;
        if is_full && (is_ring || call == ServiceCall::MmapWrite) {
            self.files.file_mut(file).restart();
        }
        let start = self.files.file(file).position;
        self.files.file_mut(file).position = start + bytes;
        self.push_pieces(run, step, call, file, start..start + bytes);
        let is_full = self.files.file(file).position >= most && !is_ring && call == ServiceCall::Write;
        if is_full
            && !run.queue.iter().any(|queued| matches!(queued, Queued::MoveOn { kind: other, .. } if *other == kind))
        {
            run.queue.push_back(Queued::MoveOn { kind, place: turn });
        }
    }

    fn push_pieces(
        &mut self,
        run: &mut Run,
        step: &PreparedStep,
        call: ServiceCall,
        file: usize,
        bytes: std::ops::Range<u64>,
    ) {
        let piece = step.step.piece.map_or(u64::MAX, |piece| piece.get());
        let generation = self.files.file_mut(file).write_to_end(bytes.start, bytes.end);
        let version = Some(Version { file: file as u32, generation });
        let mut offset = bytes.start;
        while offset < bytes.end {
            let length = piece.min(bytes.end - offset);
            run.calls.push_back(FileCall { offset, length, version, ..FileCall::new(call, file, step) });
            offset += length;
        }
    }

    /// The bytes of a group, or what is left of them.
    fn write_group(&mut self, run: &mut Run, step: &Arc<PreparedStep>, bytes: u64) {
        let kind = step.step.file;
        let described = &self.prepared.service.files[kind];
        if self.files.kinds[kind].current.len() > 1 {
            return self.write_in_turn(run, step, bytes);
        }
        if !described.divides_groups() {
            return self.write_bytes(run, step, ServiceCall::Write, StepPlace::End, bytes);
        }
        let (most, is_ring) = (described.size.get(), described.when_full == WhenFull::Start);
        let block = described.block.map_or(1, |block| block.get());
        let Some(file) = self.files.kinds[kind].current[0] else { return };
        if self.files.file(file).position >= most {
            if is_ring {
                self.files.file_mut(file).restart();
            } else {
                let rest = Queued::RestOfGroup { step: step.clone(), bytes };
                return run.queue_first(vec![Queued::MoveOn { kind, place: 0 }, rest]);
            }
        }
        let position = self.files.file(file).position;
        let taken = bytes.min(most - position);
        let end = position + taken;
        self.files.file_mut(file).position = end;
        // The last block is written again by the next group, as far as it is not full.
        let whole = position / block * block..end.div_ceil(block) * block;
        self.push_pieces(run, step, ServiceCall::Write, file, whole);
        if taken < bytes {
            run.queue_first(vec![Queued::RestOfGroup { step: step.clone(), bytes: bytes - taken }]);
        }
    }

    /// The pieces of a group, each to another of the files that are used at the same time.
    fn write_in_turn(&mut self, run: &mut Run, step: &Arc<PreparedStep>, bytes: u64) {
        let kind = step.step.file;
        let piece = step.step.piece.map_or(bytes, |piece| piece.get()).max(1);
        let mut left = bytes;
        while left > 0 {
            let state = &mut self.files.kinds[kind];
            state.turn = (state.turn + 1) % state.current.len();
            let length = piece.min(left);
            self.write_bytes(run, step, ServiceCall::Write, StepPlace::End, length);
            left -= length;
        }
    }
}

impl FileCall {
    fn new(call: ServiceCall, file: usize, step: &PreparedStep) -> FileCall {
        let flow = step.flow_of(call);
        let kind = step.step.file;
        FileCall { call, file, kind, offset: 0, length: 0, version: None, new_name: None, flow, wanted: None }
    }
}

/// When a call is wanted that is one of several, spread over a time.
fn moment_of(began: Instant, span: Span, done: u64, count: u64) -> Instant {
    let part = u128::from(span.as_ns()) * u128::from(done) / u128::from(count.max(1));
    began + Span::from_ns(part as u64)
}
