//! Which call of its sequence a client does next, and what follows from its result.

use super::call::{Call, Payload, Slot, Target};
use super::running::{Bound, Running};
use super::{MOST_DRAWS, Script};
use crate::extents::Version;
use crate::ledger::Kind;
use crate::records::Record;
use assay_model::files::{Layout, Operation, Place, Sequence, SequenceFiles, Subject};
use std::ops::Range;

impl Script {
    /// The next call of a client's sequence; `None` when the sequence is carried out.
    pub fn next_call(&mut self, client: u32) -> Option<Call> {
        let mut running = self.clients[client as usize].running.take()?;
        assert!(running.call.is_none(), "a client makes one call at a time");
        let mut call = self.find_call(client, &mut running);
        if let Some(call) = &mut call {
            self.describe_target(client, call);
        }
        running.call = call.clone();
        self.clients[client as usize].running = Some(running);
        call
    }

    /// Says what the target of a call is, as far as the ledger knows it.
    fn describe_target(&self, client: u32, call: &mut Call) {
        let number = match call.target {
            Target::Numbered(number) => number,
            // Nobody gives a shared file another name.
            Target::Shared(_) => return call.names = Some(1),
            Target::Directory(_) => return,
        };
        let made = match call.operation {
            Operation::Mkdir => Some(Kind::Directory),
            Operation::Symlink => Some(Kind::Symlink),
            _ => None,
        };
        let node = self.ledger.node_of(number);
        call.kind = made.or(node.map(|node| node.kind)).unwrap_or(Kind::File);
        if self.ledger.owner(number) == client {
            call.names = node.map(|node| node.links);
        }
    }

    fn find_call(&mut self, client: u32, running: &mut Running) -> Option<Call> {
        if running.is_abandoned {
            let slot = running.open.last().copied()?;
            let target = running.bound.map_or(Target::Numbered(0), |bound| bound.target);
            return Some(Call::new(Operation::Close, target, slot));
        }
        let Some(sequence) = running.sequence else { return self.close_kept(client) };
        loop {
            let steps = self.steps_of(sequence).get(running.list)?;
            let Some(operation) = steps.get(running.step).copied() else {
                running.next_list();
                continue;
            };
            if running.bound.is_none() {
                match self.bind(client, sequence, running.list) {
                    Some(bound) => running.bound = Some(bound),
                    None => {
                        self.skipped += 1;
                        running.next_list();
                        continue;
                    }
                }
            }
            if let Some(call) = self.call_of_step(client, running, operation) {
                return Some(call);
            }
            if operation == Operation::Symlink && running.progress == 0 {
                self.leave_out_symlink(running);
                continue;
            }
            running.next_step();
        }
    }

    /// There is no file for a symbolic link to lead to: the steps behind have nothing to work on.
    fn leave_out_symlink(&mut self, running: &mut Running) {
        if let Some(Target::Numbered(number)) = running.bound.map(|bound| bound.target) {
            self.ledger.give_back(number);
        }
        self.skipped += 1;
        running.next_list();
    }

    /// The next call of a step; `None` when the step is done, or has nothing to work on.
    fn call_of_step(&mut self, client: u32, running: &mut Running, operation: Operation) -> Option<Call> {
        let bound = running.bound?;
        if bound.opens_first {
            return Some(self.open_call(running, Operation::Open, bound));
        }
        match operation {
            Operation::CopyRange => self.copy_call(client, running, bound),
            Operation::Read | Operation::Write | Operation::Append | Operation::Overwrite => {
                self.data_call(client, running, operation, bound)
            }
            Operation::Rmw | Operation::MmapRead | Operation::MmapWrite | Operation::Punch => {
                self.data_call(client, running, operation, bound)
            }
            _ if running.progress > 0 => None,
            Operation::Create | Operation::Open => Some(self.open_call(running, operation, bound)),
            _ => self.other_call(client, running, operation, bound),
        }
    }

    fn open_call(&self, running: &Running, operation: Operation, bound: Bound) -> Call {
        let appends = matches!(bound.target, Target::Shared(_)) && self.layout() == Layout::Append;
        let writes = self.steps_at(running).iter().any(|step| step.changes_something());
        Call { writes, appends: appends && writes, ..Call::new(operation, bound.target, bound.slot) }
    }

    /// Calls that move no bytes.
    fn other_call(&mut self, client: u32, running: &Running, operation: Operation, bound: Bound) -> Option<Call> {
        let mut call = Call::new(operation, bound.target, bound.slot);
        let size = self.size_of(bound.target);
        match operation {
            Operation::Readdir | Operation::FsyncDir | Operation::Statfs => {
                call.target = Target::Directory(self.directory_of(bound.target));
            }
            Operation::Truncate => call.offset = size / 2,
            Operation::Fallocate => (call.offset, call.length) = (size, self.io_of(running)),
            Operation::Lock | Operation::Unlock => {
                let range = self.record_range(bound).unwrap_or(0..size.max(1));
                (call.offset, call.length) = (range.start, range.end - range.start);
            }
            Operation::Msync if running.mapped.is_empty() => return None,
            Operation::Msync => {
                (call.offset, call.length) = (running.mapped.start, running.mapped.end - running.mapped.start);
            }
            Operation::Link => call.other = Some(self.new_number(client)),
            Operation::Symlink if self.is_link_of_source(bound.target) => {}
            Operation::Symlink => call.other = Some(self.pick(client, Kind::File)?),
            Operation::Rename => call.other = Some(self.new_name(client, running)),
            _ => {}
        }
        Some(call)
    }

    /// Whether the source says what a symbolic link leads to.
    fn is_link_of_source(&self, target: Target) -> bool {
        let Target::Numbered(number) = target else { return false };
        self.shape.listed_source().is_some_and(|listed| listed.link_text(number).is_some())
    }

    /// The name that a rename gives: that of another own file where the sequence made this one, else a new one.
    fn new_name(&mut self, client: u32, running: &Running) -> u32 {
        let replaces = Subject::from_steps(self.steps_at(running)) == Subject::NewFile;
        let own = running.bound.map(|bound| bound.target);
        let replaced = if replaces { self.pick_other(client, own) } else { None };
        replaced.unwrap_or_else(|| self.new_number(client))
    }

    /// One of a client's own files that is not this one; `None` where it has no other, as far as draws can tell.
    fn pick_other(&mut self, client: u32, this: Option<Target>) -> Option<u32> {
        for _ in 0..MOST_DRAWS {
            let number = self.pick(client, Kind::File)?;
            if Some(Target::Numbered(number)) != this {
                return Some(number);
            }
        }
        None
    }

    /// The next call of a step that moves bytes, or gives them back.
    fn data_call(&mut self, client: u32, running: &mut Running, operation: Operation, bound: Bound) -> Option<Call> {
        if let (Target::Shared(file), Operation::Append, Layout::Append) = (bound.target, operation, self.layout()) {
            return (running.progress == 0).then(|| self.append_record(client, file, bound.slot));
        }
        let io = self.io_of(running);
        if running.range.is_none() {
            running.range = Some(self.range_of_step(client, running, operation, bound));
        }
        let range = running.range.clone()?;
        let offset = range.start + running.progress;
        // An empty file is asked for bytes once, as a program that reads until the end does.
        let asks_empty = operation == Operation::Read && range.is_empty() && running.progress == 0;
        if asks_empty {
            running.range = None;
            running.progress = 1;
            return Some(Call { offset, length: io, ..Call::new(operation, bound.target, bound.slot) });
        }
        if offset >= range.end || range.is_empty() {
            return None;
        }
        let length = io.min(range.end - offset);
        let mut call = Call { offset, length, ..Call::new(operation, bound.target, bound.slot) };
        if matches!(operation, Operation::MmapRead | Operation::MmapWrite) {
            running.mapped = offset..offset + length;
        }
        if operation.writes_bytes() {
            let node = self.node_of(bound.target)?;
            let bytes = offset..offset + length;
            let copied = self.copied_version(operation, bound.target, &bytes);
            call.payload = Payload::Version(copied.unwrap_or_else(|| self.ledger.begin_write(node, &bytes)));
        }
        Some(call)
    }

    /// The version of bytes that are copied: of those that a file of the source has, where the copy ends before them.
    fn copied_version(&self, operation: Operation, target: Target, bytes: &Range<u64>) -> Option<Version> {
        let Target::Numbered(number) = target else { return None };
        let is_of_source = self.is_copy() && number < self.shape.files() && bytes.end <= self.shape.size(number);
        let is_new = operation == Operation::Write && bytes.start >= self.size_of(target);
        (is_of_source && is_new).then(|| Version::of_source(number))
    }

    fn append_record(&mut self, client: u32, file: u32, slot: Slot) -> Call {
        let number = self.appended[file as usize][client as usize].next;
        let payload = Payload::Record(Record { file, client, number });
        Call { length: self.records.length, payload, ..Call::new(Operation::Append, Target::Shared(file), slot) }
    }

    /// The bytes that a step is on.
    fn range_of_step(&mut self, client: u32, running: &Running, operation: Operation, bound: Bound) -> Range<u64> {
        let (size, io) = (self.size_of(bound.target), self.io_of(running));
        let place = self.sequence_of(running).and_then(|sequence| sequence.at).unwrap_or(Place::usual(operation));
        let must_exist = !matches!(operation, Operation::Write | Operation::Append);
        let within = match (self.record_range(bound), operation) {
            (Some(record), _) if must_exist && record.end > size => return 0..0,
            (Some(record), _) => record,
            (None, Operation::Append) => return size..size + io,
            (None, Operation::Write) => 0..self.size_to_write(running, bound.target),
            (None, _) => 0..size,
        };
        if place == Place::Whole || within.is_empty() {
            return within;
        }
        let pieces = (within.end - within.start).div_ceil(io);
        let start = within.start + self.clients[client as usize].prng.uniform_below(pieces) * io;
        start..within.end.min(start + io)
    }

    /// Calls of a copy: the source is opened, its bytes are copied, it is closed.
    fn copy_call(&mut self, client: u32, running: &mut Running, bound: Bound) -> Option<Call> {
        let own = bound.target;
        if running.source.is_none() && running.progress == 0 {
            let picked = self.pick(client, Kind::File)?;
            running.source = Some(picked).filter(|number| Target::Numbered(*number) != own);
        }
        let source = running.source?;
        let from = Target::Numbered(source);
        match running.progress {
            0 => Some(Call::new(Operation::Open, from, Slot::Source)),
            1 if self.size_of(from) > 0 => {
                let length = self.size_of(from);
                Some(Call { other: Some(source), length, ..Call::new(Operation::CopyRange, own, bound.slot) })
            }
            1 | 2 if running.open.contains(&Slot::Source) => Some(Call::new(Operation::Close, from, Slot::Source)),
            _ => None,
        }
    }

    /// Closes what a client kept open, one after another.
    fn close_kept(&self, client: u32) -> Option<Call> {
        let kept = self.clients[client as usize].kept.last()?;
        Some(Call::new(Operation::Close, kept.target, Slot::Kept(kept.slot)))
    }

    /// The bytes of a record that a client's steps are on.
    pub(super) fn record_range(&self, bound: Bound) -> Option<Range<u64>> {
        let ((owner, record), Target::Shared(file)) = (bound.record?, bound.target) else { return None };
        let records = self.records_of(file);
        let place = self.layout().place(owner, record, self.clients.len() as u32, records)?;
        Some(place * self.records.length..(place + 1) * self.records.length)
    }

    fn steps_of(&self, sequence: usize) -> &[Vec<Operation>] {
        &self.phase().described.sequences[sequence].steps
    }

    /// The sequence that a client carries out; none where it closes what it kept open.
    pub(super) fn sequence_of(&self, running: &Running) -> Option<&Sequence> {
        running.sequence.map(|sequence| &self.phase().described.sequences[sequence])
    }

    /// The list of steps that a client carries out.
    fn steps_at(&self, running: &Running) -> &[Operation] {
        self.sequence_of(running).map_or(&[], |sequence| &sequence.steps[running.list])
    }

    /// Bytes of one read or write.
    fn io_of(&self, running: &Running) -> u64 {
        self.sequence_of(running).and_then(|sequence| sequence.io).unwrap_or(self.workload.io).get().max(1)
    }

    pub(super) fn is_shared(&self, sequence: usize) -> bool {
        self.phase().described.sequences[sequence].on == SequenceFiles::Shared
    }
}
