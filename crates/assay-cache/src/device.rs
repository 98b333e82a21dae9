//! The device in front of the targets: it decides which operations the cache answers and which go on to the targets.

use crate::counters::{Counters, add_to_counter};
use crate::flight::{Flight, FlightKind};
use crate::index::Index;
use crate::log::{Job, Log, PIECE};
use crate::racing::Racing;
use crate::shape::Shape;
use crate::sub::{Fragment, FragmentSource, Sub, Subs};
use assay_base::cached::{Place, Range, Ranges, TouchedBlocks};
use assay_base::{
    BlockDevice, Code, Completion, Device, Direction, Done, Geometry, HandOver, Instant, Op, Span, Ticket,
};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// How often at most one `poll` asks the inner device for completions; it asks again only after it submitted something.
const LOOKS: usize = 3;

/// The device of a cache, and the targets that it caches, as one device.
pub struct Cached<D> {
    inner: D,
    /// Index of the cache's target in `inner`.
    target: u16,
    shape: Shape,
    ranges: Ranges,
    log: Log,
    racing: Racing,
    flights: Vec<Flight>,
    subs: Subs,
    /// Completions of operations that memory answered.
    found: Done,
    scratch: Done,
    runs: Vec<Run>,
    counters: Arc<Counters>,
    /// The first error of the cache's device; since then the cache is not used.
    failed: Option<Code>,
    /// No more blocks are put into the cache.
    closed: bool,
    /// Tells the time after a piece of work, given the time before it.
    clock: Box<dyn Fn(Instant) -> Instant>,
}

impl<D> fmt::Debug for Cached<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cached({:?}, {} blocks, failed: {:?})", self.shape, self.log.index.len(), self.failed)
    }
}

/// The parts of a cache, besides its devices.
pub struct Setup<'a> {
    /// The content of the cache at the beginning.
    pub index: Index,
    /// Index of the target that holds the cached blocks.
    pub target: u16,
    /// The parts of the other targets that are cached.
    pub ranges: &'a [Range],
    /// Operations that its caller may have in flight. The inner device has [`Cached::<()>::SLOTS`] more.
    pub slots: u32,
    /// How many segments stay in memory: the ones filled most recently. At least [`Cached::<()>::FEWEST`].
    pub buffers: usize,
    /// The counters that the cache adds to.
    pub counters: Arc<Counters>,
    /// Tells the time after a piece of work, given the time before it.
    pub clock: Box<dyn Fn(Instant) -> Instant>,
}

/// Adjacent blocks of a read that come from one place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Run {
    /// First block within the read.
    first: u32,
    count: u32,
    from: Source,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Source {
    /// The run begins at this slot of the cache, and its data are in memory.
    Memory(u32),
    /// The run begins at this slot of the cache, and its data are on the device of the cache.
    Cache(u32),
    Target,
}

impl Cached<()> {
    /// Slots of the inner device that the cache needs in addition to those of its caller.
    pub const SLOTS: u32 = 64;
    /// The fewest segments in memory: one that is being filled, one that comes next, and two that are being written.
    pub const FEWEST: usize = 4;
    /// The smallest size in bytes of the buffer of each slot.
    pub const BYTES: u32 = PIECE;
}

impl<D: BlockDevice> Cached<D> {
    /// A cache on the target `setup.target` of `inner`, in front of the targets with lower indexes.
    pub fn new(mut inner: D, setup: Setup<'_>) -> Cached<D> {
        let Setup { index, target, ranges, slots, buffers, counters, clock } = setup;
        assert!(buffers >= Cached::FEWEST, "segments that are filled and written are in memory");
        let shape = index.shape();
        assert!(shape.occupied_bytes() <= inner.target_geometry(target).size, "the cache fits onto its target");
        let carries = !inner.slot_buffer(Ticket(slots)).is_empty();
        Cached {
            inner,
            target,
            shape,
            ranges: Ranges::new(ranges, target, shape.block),
            log: Log::new(index, carries, buffers),
            racing: Racing::default(),
            flights: vec![Flight::default(); slots as usize],
            subs: Subs::new(slots, Cached::SLOTS),
            found: Done::new(),
            scratch: Done::new(),
            runs: Vec::new(),
            counters,
            failed: None,
            closed: false,
            clock,
        }
    }

    /// The inner device, which has the targets and the cache's own target.
    pub fn inner_device(&mut self) -> &mut D {
        &mut self.inner
    }

    /// The first error of the cache's own device, if there was one; since then the cache is not used.
    pub fn first_error(&self) -> Option<Code> {
        self.failed
    }

    /// Writes what is only in memory to the cache's device, makes it durable, and returns an index of what is in the
    /// cache. With the index, the cache can be used again as long as nobody writes to its targets. Returns `None` if
    /// the cache's device has failed or did not answer within `limit`, or if a write of the caller is still in flight,
    /// because nobody knows when that write will reach its target.
    pub fn finish(&mut self, now: impl Fn() -> Instant, limit: Span) -> Option<Index> {
        let end = now() + limit;
        self.closed = true;
        self.log.seal_segment();
        let mut durable = None;
        while self.failed.is_none() && now() < end {
            self.poll_completions(now(), &mut Done::new());
            if !self.log.is_at_rest() || self.log.has_jobs() || !self.subs.is_at_rest() {
                self.inner.wait_for_completion(self.pause_length(now(), end));
                continue;
            }
            if self.flights.iter().any(|flight| matches!(flight.kind, FlightKind::Write(..))) {
                return None;
            }
            if durable.is_some() {
                return Some(self.log.index.clone());
            }
            let ticket = self.subs.begin_request(Sub::Flush, now())?;
            durable = Some(ticket);
            self.inner.submit_request(now(), ticket, &Op::flush_on_target(self.target));
        }
        None
    }

    fn pause_length(&self, now: Instant, end: Instant) -> Span {
        let next = self.inner.next_wakeup().unwrap_or(Instant::FAR);
        next.min(end).since(now).min(Span::from_ms(10))
    }

    /// A read of whole cached blocks.
    fn read_blocks(&mut self, now: Instant, ticket: Ticket, op: &Op, touched: TouchedBlocks) {
        self.find_blocks(touched);
        let count = |source: fn(&Source) -> bool| {
            self.runs.iter().filter(|run| source(&run.from)).map(|run| u64::from(run.count)).sum::<u64>()
        };
        add_to_counter(&self.counters.reads, touched.count.into());
        add_to_counter(&self.counters.read_hits, count(|from| *from != Source::Target));
        add_to_counter(&self.counters.ram_hits, count(|from| matches!(from, Source::Memory(_))));
        let kind = match self.runs[..] {
            [Run { from: Source::Target, .. }] => {
                self.counters.count_onward(op.target, op.len);
                self.inner.submit_request(now, ticket, op);
                FlightKind::Miss(touched, self.racing.read_begins(touched.first, touched.count))
            }
            [Run { from: Source::Cache(slot), .. }] => {
                let segment = self.shape.segment_of(slot);
                self.log.pin_segment(segment);
                let offset = self.shape.offset_of_slot(slot);
                self.inner.submit_request(now, ticket, &Op { target: self.target, offset, durable: false, ..*op });
                FlightKind::Hit { segment }
            }
            _ => self.in_parts(now, ticket, op, touched),
        };
        let issued = matches!(kind, FlightKind::Parts { .. }).then_some(now);
        self.flights[ticket.0 as usize] = Flight { op: *op, kind, issued };
    }

    /// Finds where the blocks of a read are, and stores the answer in `self.runs`.
    fn find_blocks(&mut self, touched: TouchedBlocks) {
        let Cached { runs, log, shape, .. } = self;
        runs.clear();
        for n in 0..touched.count {
            let slot = log.index.slot_of_block(touched.first.advanced_by_blocks(n));
            let from = match slot {
                None => Source::Target,
                Some(slot) => {
                    log.index.mark_used(slot);
                    if log.memory.holds_segment(shape.segment_of(slot)) {
                        Source::Memory(slot)
                    } else {
                        Source::Cache(slot)
                    }
                }
            };
            match runs.last_mut() {
                Some(run) if run.continues_with(from, shape) => run.count += 1,
                _ => runs.push(Run { first: n, count: 1, from }),
            }
        }
    }

    /// A read that memory answers, or whose data have to be collected from several places.
    fn in_parts(&mut self, now: Instant, ticket: Ticket, op: &Op, touched: TouchedBlocks) -> FlightKind {
        let mut left = 0;
        for at in 0..self.runs.len() {
            let Run { first, count, from } = self.runs[at];
            let (begin, len) = (first * self.shape.block, count * self.shape.block);
            let part = Op { offset: op.offset + u64::from(begin), len, ..*op };
            let from = match from {
                Source::Memory(slot) => {
                    self.copy_from_memory(ticket, begin, slot, count);
                    continue;
                }
                Source::Cache(slot) => {
                    let segment = self.shape.segment_of(slot);
                    self.log.pin_segment(segment);
                    FragmentSource::Cache { offset: self.shape.offset_of_slot(slot), segment }
                }
                Source::Target => {
                    let place = touched.first.advanced_by_blocks(first);
                    FragmentSource::Target(Some((place, self.racing.read_begins(place, count))))
                }
            };
            left += 1;
            self.subs.queue_part(Fragment { of: ticket, at: begin, op: part, from });
        }
        if left == 0 {
            let completed = (self.clock)(now);
            self.found.push(Completion { ticket, result: Ok(op.len), issued: now, accepted: now, completed });
            return FlightKind::None;
        }
        FlightKind::Parts { left, last: now, result: Ok(op.len) }
    }

    /// Copies slots that are in memory into the buffer of a read.
    fn copy_from_memory(&mut self, ticket: Ticket, begin: u32, slot: u32, count: u32) {
        let (block, blocks) = (self.shape.block as usize, self.shape.blocks);
        let (from, len) = ((slot % blocks) as usize * block, count as usize * block);
        let data = self.log.memory.segment_data(self.shape.segment_of(slot), from, len);
        let buffer = self.inner.slot_buffer(ticket);
        if let Some(place) = buffer.get_mut(begin as usize..begin as usize + data.len()) {
            place.copy_from_slice(data);
        }
    }

    /// A write to blocks that may be cached. Their copies in the cache are stale from now on, so they are removed.
    fn write_blocks(&mut self, now: Instant, ticket: Ticket, op: &Op, touched: TouchedBlocks) {
        let hits =
            (0..touched.count).filter(|n| self.log.index.remove_block(touched.first.advanced_by_blocks(*n))).count();
        add_to_counter(&self.counters.invalidations, touched.count.into());
        add_to_counter(&self.counters.invalidate_hits, hits as u64);
        let kind = FlightKind::Write(touched, self.racing.write_begins(touched.first, touched.count));
        self.flights[ticket.0 as usize] = Flight { op: *op, kind, issued: None };
        self.inner.submit_request(now, ticket, op);
    }

    /// Passes an operation on unchanged, without the cache. `issued` is when it was first issued, if that was earlier.
    fn pass_on(&mut self, now: Instant, ticket: Ticket, op: &Op, issued: Option<Instant>) {
        if op.direction == Direction::Read && op.target < self.target {
            self.counters.count_onward(op.target, op.len);
        }
        self.flights[ticket.0 as usize] = Flight { op: *op, kind: FlightKind::Through, issued };
        self.inner.submit_request(now, ticket, op);
    }

    /// An operation of the caller has completed on the inner device. Returns true if it had to be submitted again, to
    /// its target.
    fn take_completion(&mut self, now: Instant, completion: Completion, done: &mut Done) -> bool {
        let ticket = completion.ticket;
        let Flight { op, kind, issued } = std::mem::take(&mut self.flights[ticket.0 as usize]);
        let whole = completion.result == Ok(op.len);
        match kind {
            FlightKind::Miss(touched, began) => {
                self.put_in(ticket, touched.first, touched.count, whole, |racing, block| {
                    racing.read_ends(block, began)
                });
            }
            FlightKind::Write(touched, began) => {
                let whole = whole && touched.whole;
                self.put_in(ticket, touched.first, touched.count, whole, |racing, block| {
                    racing.write_ends(block, began)
                });
            }
            FlightKind::Hit { segment } => {
                self.log.unpin_segment(segment);
                add_to_counter(&self.counters.device_reads, 1);
                add_to_counter(&self.counters.device_read_ns, completion.completed.since(completion.issued).as_ns());
                if !whole {
                    self.stop_using_cache(completion.result);
                    self.pass_on(now, ticket, &op, Some(completion.issued));
                    return true;
                }
            }
            FlightKind::None | FlightKind::Through | FlightKind::Parts { .. } => {}
        }
        done.push(Completion { issued: issued.unwrap_or(completion.issued), ..completion });
        false
    }

    /// Ends an operation on `count` blocks from `first` on, whose data are in the buffer of `ticket`, and puts those blocks into the
    /// cache that it may put in: `ends` says of each, and `whole` of all.
    fn put_in(
        &mut self,
        ticket: Ticket,
        first: Place,
        count: u32,
        whole: bool,
        ends: impl Fn(&mut Racing, Place) -> bool,
    ) {
        for n in 0..count {
            if ends(&mut self.racing, first.advanced_by_blocks(n)) && whole {
                self.insert_block(ticket, n * self.shape.block, first.advanced_by_blocks(n));
            }
        }
    }

    /// Puts a block into the cache. Its data begin at byte `at` of the buffer of `ticket`.
    fn insert_block(&mut self, ticket: Ticket, at: u32, block: Place) {
        if self.failed.is_some() || self.closed {
            return;
        }
        let (at, len) = (at as usize, self.shape.block as usize);
        let data = self.inner.slot_buffer(ticket).get(at..at + len).unwrap_or_default();
        self.log.insert_block(block, data, &self.counters);
    }

    /// A request of the cache's own has completed.
    fn own_ended(&mut self, completion: Completion, done: &mut Done) {
        let Completion { ticket, result, completed, .. } = completion;
        let (sub, began) = self.subs.end_request(ticket);
        match sub {
            Sub::Fragment(part) => self.part_ended(part, completion, began, done),
            Sub::Segment(job) if result == Ok(job.len) => {
                if !job.is_write {
                    let (Job { segment, at, len, .. }, buffer) = (job, self.inner.slot_buffer(ticket));
                    let place = self.log.memory.segment_data(segment, at as usize, len as usize);
                    if place.len() <= buffer.len() {
                        place.copy_from_slice(&buffer[..place.len()]);
                    }
                }
                self.log.job_done(job, completed, &self.counters);
            }
            Sub::Flush if result.is_ok() => {}
            Sub::Segment(_) | Sub::Flush => self.stop_using_cache(result),
        }
    }

    fn part_ended(&mut self, part: Fragment, completion: Completion, began: Instant, done: &mut Done) {
        let Fragment { of, at, op, from } = part;
        let whole = completion.result == Ok(op.len);
        match from {
            FragmentSource::Cache { segment, .. } => {
                self.log.unpin_segment(segment);
                add_to_counter(&self.counters.device_reads, 1);
                add_to_counter(&self.counters.device_read_ns, completion.completed.since(began).as_ns());
                if !whole {
                    self.stop_using_cache(completion.result);
                    return self.subs.queue_part(Fragment { from: FragmentSource::Target(None), ..part });
                }
            }
            FragmentSource::Target(None) => {}
            FragmentSource::Target(Some((first, began))) => {
                let count = op.len / self.shape.block;
                self.put_in(completion.ticket, first, count, whole, |racing, block| racing.read_ends(block, began));
            }
        }
        self.hand_over(completion.ticket, of, at as usize, op.len as usize);
        let FlightKind::Parts { left, last, result } = &mut self.flights[of.0 as usize].kind else { return };
        *left -= 1;
        *last = (*last).max(completion.completed);
        match completion.result {
            Err(code) => *result = Err(code),
            Ok(bytes) if bytes < op.len => *result = result.map(|all| all.min(at + bytes)),
            Ok(_) => {}
        }
        if *left == 0 {
            let (result, completed) = (*result, *last);
            let issued = self.flights[of.0 as usize].issued.unwrap_or(completed);
            self.flights[of.0 as usize] = Flight::default();
            done.push(Completion { ticket: of, result, issued, accepted: issued, completed });
        }
    }

    /// Copies the data of a part into the buffer of its read.
    fn hand_over(&mut self, from: Ticket, of: Ticket, at: usize, len: usize) {
        let data = self.inner.slot_buffer(from).get(..len).unwrap_or_default().to_vec();
        let buffer = self.inner.slot_buffer(of);
        if !data.is_empty() {
            buffer[at..at + len].copy_from_slice(&data);
        }
    }

    /// The device of the cache has failed: the cache is not used any more.
    fn stop_using_cache(&mut self, result: Result<u32, Code>) {
        add_to_counter(&self.counters.errors, 1);
        // A short read or write is an error too.
        self.failed.get_or_insert(result.err().unwrap_or(Code::EIO));
        self.log.forget_all();
    }

    /// Starts requests that wait for one of the cache's own slots. It starts only one piece of a segment per call,
    /// because copying a piece takes several microseconds and operations of the caller may be due.
    fn start_waiting_requests(&mut self, now: Instant) -> bool {
        let mut started = false;
        while self.subs.has_parts() && self.subs.has_room() {
            let Some(part) = self.subs.next_part() else { break };
            let op = match part.from {
                FragmentSource::Cache { offset, .. } => Op { target: self.target, offset, durable: false, ..part.op },
                FragmentSource::Target(_) => {
                    self.counters.count_onward(part.op.target, part.op.len);
                    part.op
                }
            };
            let Some(ticket) = self.subs.begin_request(Sub::Fragment(part), now) else { break };
            self.inner.submit_request(now, ticket, &op);
            started = true;
        }
        if self.subs.has_room()
            && let Some(job) = self.log.next_job(now)
            && let Some(ticket) = self.subs.begin_request(Sub::Segment(job), now)
        {
            self.start_job(now, ticket, job);
            started = true;
        }
        started
    }

    /// Whether a request of the cache's own waits although a slot is free: the next poll starts it, and must come at once.
    fn can_start(&self) -> bool {
        (self.log.has_jobs() || self.subs.has_parts()) && self.subs.has_room()
    }

    fn start_job(&mut self, now: Instant, ticket: Ticket, job: Job) {
        let Job { segment, at, len, is_write } = job;
        let direction = if is_write { Direction::Write } else { Direction::Read };
        if is_write {
            let data = self.log.memory.segment_data(segment, at as usize, len as usize);
            if let Some(place) = self.inner.slot_buffer(ticket).get_mut(..data.len()) {
                place.copy_from_slice(data);
            }
        }
        let offset = self.shape.offset_of_slot(segment * self.shape.blocks) + u64::from(at);
        self.inner.submit_request(now, ticket, &Op { target: self.target, direction, durable: false, offset, len });
    }
}

impl Run {
    /// Whether the next block of the read, which comes from `from`, continues this run.
    fn continues_with(&self, from: Source, shape: &Shape) -> bool {
        match (self.from, from) {
            (Source::Target, Source::Target) => true,
            (Source::Memory(mine), Source::Memory(slot)) | (Source::Cache(mine), Source::Cache(slot)) => {
                slot == mine + self.count && shape.segment_of(slot) == shape.segment_of(mine)
            }
            _ => false,
        }
    }
}

impl<D: BlockDevice> Device for Cached<D> {
    type Request = Op;

    #[inline]
    fn submit_request(&mut self, now: Instant, ticket: Ticket, op: &Op) {
        let touched = self.ranges.touched_blocks(op);
        match (touched, op.direction) {
            (Some(touched), Direction::Write) => self.write_blocks(now, ticket, op, touched),
            (Some(touched), Direction::Read) if touched.whole && self.failed.is_none() => {
                self.read_blocks(now, ticket, op, touched);
            }
            (Some(_), Direction::Read) if self.failed.is_none() => {
                add_to_counter(&self.counters.bypassed, 1);
                self.pass_on(now, ticket, op, None);
            }
            _ => self.pass_on(now, ticket, op, None),
        }
    }

    fn poll_completions(&mut self, now: Instant, done: &mut Done) {
        done.append(&mut self.found);
        let mut again = self.start_waiting_requests(now);
        for _ in 0..LOOKS {
            let mut scratch = std::mem::take(&mut self.scratch);
            self.inner.poll_completions(now, &mut scratch);
            for completion in scratch.drain(..) {
                if self.subs.is_own(completion.ticket) {
                    self.own_ended(completion, done);
                } else {
                    again |= self.take_completion(now, completion, done);
                }
            }
            self.scratch = scratch;
            again |= self.subs.has_parts() && self.start_waiting_requests(now);
            if !std::mem::take(&mut again) {
                break;
            }
        }
    }

    fn next_wakeup(&self) -> Option<Instant> {
        let own = self.found.iter().map(|found| found.completed).min();
        let own = if self.can_start() { Some(Instant::ZERO) } else { own };
        match (own, self.inner.next_wakeup()) {
            (Some(own), Some(inner)) => Some(own.min(inner)),
            (own, inner) => own.or(inner),
        }
    }

    fn wait_for_completion(&mut self, span: Span) {
        if self.found.is_empty() && !self.can_start() {
            self.inner.wait_for_completion(span);
        }
    }

    fn is_stamped_when_found(&self) -> bool {
        self.inner.is_stamped_when_found()
    }

    #[inline]
    fn take_hand_overs(&mut self, into: &mut Vec<HandOver>) {
        self.inner.take_hand_overs(into);
    }

    fn code_name(&self, code: Code) -> Cow<'static, str> {
        self.inner.code_name(code)
    }
}

impl<D: BlockDevice> BlockDevice for Cached<D> {
    fn target_geometry(&self, target: u16) -> Geometry {
        self.inner.target_geometry(target)
    }

    fn slot_buffer(&mut self, ticket: Ticket) -> &mut [u8] {
        self.inner.slot_buffer(ticket)
    }
}
