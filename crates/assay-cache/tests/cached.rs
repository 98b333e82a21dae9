//! The cache in front of a device in memory whose operations overtake each other and which fails on demand.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

use assay_base::{BlockDevice, Code, Completion, Device, Direction, Done, Geometry, Instant, Op, Prng, Span, Ticket};
use assay_cache::{Cached, Counters, Index, Range, Setup, Shape};
use std::collections::BTreeMap;
use std::sync::Arc;

const BLOCK: u32 = 4096;
/// The blocks of the storage that are cached.
const BLOCKS: u64 = 8000;
/// Slots of the caller.
const SLOTS: u32 = 32;

/// What goes wrong on the cache's target, each after this many operations on that target.
#[derive(Clone, Copy, Default)]
struct Faults {
    reads_fail_from: Option<u64>,
    writes_fail_from: Option<u64>,
    writes_are_short_from: Option<u64>,
    hangs_from: Option<u64>,
}

struct Pending {
    ticket: Ticket,
    op: Op,
    issued: u64,
    /// When the data are copied; `None` afterwards.
    moves: Option<u64>,
    completes: u64,
    result: Result<u32, Code>,
}

/// Target 0 is the storage, target 1 the cache's.
struct Memory {
    media: [Vec<u8>; 2],
    buffers: Vec<Vec<u8>>,
    pending: Vec<Pending>,
    prng: Prng,
    faults: Faults,
    cache_ops: [u64; 2],
    flushed: bool,
    flying: Vec<bool>,
}

impl Memory {
    fn new(seed: u64, cache: usize, faults: Faults) -> Memory {
        let slots = (SLOTS + Cached::SLOTS) as usize;
        Memory {
            media: [vec![0; BLOCKS as usize * BLOCK as usize], vec![0xee; cache]],
            buffers: vec![vec![0; Cached::BYTES as usize]; slots],
            pending: Vec::new(),
            prng: Prng::from_seed(seed),
            faults,
            cache_ops: [0; 2],
            flushed: false,
            flying: vec![false; slots],
        }
    }

    /// Copies the data of all operations that are due to move them by `now`, in the order of those times.
    fn settle(&mut self, now: u64) {
        let mut due: Vec<(u64, usize)> = self
            .pending
            .iter()
            .enumerate()
            .filter_map(|(n, it)| Some((it.moves.filter(|at| *at <= now)?, n)))
            .collect();
        due.sort_unstable();
        for (_, n) in due {
            let Pending { ticket, op, moves, result, .. } = &mut self.pending[n];
            *moves = None;
            let Ok(len) = *result else { continue };
            let medium = &mut self.media[usize::from(op.target)];
            let place = &mut medium[op.offset as usize..op.offset as usize + len as usize];
            let buffer = &mut self.buffers[ticket.0 as usize][..len as usize];
            match op.direction {
                Direction::Read => buffer.copy_from_slice(place),
                Direction::Write => place.copy_from_slice(buffer),
            }
        }
    }

    fn outcome(&mut self, op: &Op) -> Option<Result<u32, Code>> {
        if op.target == 0 {
            return Some(Ok(op.len));
        }
        let count = &mut self.cache_ops[usize::from(op.direction == Direction::Write)];
        *count += 1;
        let after = |from: Option<u64>| from.is_some_and(|from| *count > from);
        let Faults { reads_fail_from, writes_fail_from, writes_are_short_from, hangs_from } = self.faults;
        Some(match op.direction {
            _ if after(hangs_from) => return None,
            Direction::Read if after(reads_fail_from) => Err(Code::EIO),
            Direction::Write if after(writes_fail_from) => Err(Code::ENOSPC),
            Direction::Write if after(writes_are_short_from) => Ok(op.len / 2),
            _ => Ok(op.len),
        })
    }
}

impl Device for Memory {
    type Request = Op;

    fn submit_request(&mut self, now: Instant, ticket: Ticket, op: &Op) {
        assert!(!std::mem::replace(&mut self.flying[ticket.0 as usize], true), "a ticket is used once at a time");
        self.flushed |= op.is_flush() && op.target == 1;
        let Some(result) = self.outcome(op) else { return };
        let issued = now.as_ns();
        // Some reads of the cache take so long that the log has come round before they complete.
        let long = op.target == 1 && op.direction == Direction::Read && self.prng.uniform_below(60) == 0;
        let completes = issued + 1 + self.prng.uniform_below(if long { 40_000 } else { 1000 });
        let moves = issued + self.prng.uniform_below(completes - issued);
        self.pending.push(Pending { ticket, op: *op, issued, moves: Some(moves), completes, result });
    }

    fn poll_completions(&mut self, now: Instant, done: &mut Done) {
        self.settle(now.as_ns());
        let mut n = 0;
        while n < self.pending.len() {
            if self.pending[n].completes > now.as_ns() {
                n += 1;
                continue;
            }
            let Pending { ticket, issued, completes, result, .. } = self.pending.swap_remove(n);
            self.flying[ticket.0 as usize] = false;
            let [issued, completed] = [issued, completes].map(Instant::from_ns);
            done.push(Completion { ticket, result, issued, accepted: issued, completed });
        }
    }

    fn next_wakeup(&self) -> Option<Instant> {
        self.pending.iter().map(|it| Instant::from_ns(it.completes)).min()
    }

    fn wait_for_completion(&mut self, _span: Span) {}
}

impl BlockDevice for Memory {
    fn target_geometry(&self, target: u16) -> Geometry {
        Geometry { size: self.media[usize::from(target)].len() as u64, block: 512 }
    }

    fn slot_buffer(&mut self, ticket: Ticket) -> &mut [u8] {
        assert!(!self.flying[ticket.0 as usize], "the buffer of an operation in flight is not touched");
        &mut self.buffers[ticket.0 as usize]
    }
}

/// An operation of the caller.
#[derive(Clone, Copy, Debug)]
struct Asked {
    op: Op,
    from: u64,
    version: u32,
}

/// A write: from when to when it was in flight.
#[derive(Clone, Copy, Debug)]
struct Written {
    version: u32,
    from: u64,
    to: u64,
}

/// A caller that knows which data each sector of 512 bytes of the storage may hold.
struct Caller {
    device: Cached<Memory>,
    counters: Arc<Counters>,
    now: u64,
    prng: Prng,
    in_flight: BTreeMap<u32, Asked>,
    /// All writes of each sector, in the order of their beginning.
    written: BTreeMap<u64, Vec<Written>>,
    version: u32,
    errors: u64,
}

fn cached(memory: Memory, index: Index) -> (Cached<Memory>, Arc<Counters>) {
    let counters = Arc::new(Counters::new(1));
    let ranges = [Range { target: 0, start: 0, end: BLOCKS * u64::from(BLOCK) }];
    let size = index.shape().occupied_bytes();
    let setup = Setup {
        index,
        target: 1,
        ranges: &ranges,
        slots: SLOTS,
        buffers: if size < 40 << 20 { 4 } else { 32 },
        counters: counters.clone(),
        clock: Box::new(|now| now),
    };
    (Cached::new(memory, setup), counters)
}

impl Caller {
    fn new(seed: u64, size: u64, faults: Faults) -> Caller {
        let shape = Shape::new(size, BLOCK, 512).unwrap();
        Caller::over(seed, Memory::new(seed, size as usize, faults), Index::new(shape), BTreeMap::new())
    }

    fn over(seed: u64, memory: Memory, index: Index, written: BTreeMap<u64, Vec<Written>>) -> Caller {
        let (device, counters) = cached(memory, index);
        let version = written.values().flatten().map(|it| it.version).max().unwrap_or(0);
        // Later than every earlier write.
        let now = written.values().flatten().map(|it| it.to).max().unwrap_or(0) + 1;
        let prng = Prng::from_seed(seed ^ 77);
        Caller { device, counters, now, prng, in_flight: BTreeMap::new(), written, version, errors: 0 }
    }

    /// Begins an operation at a random place; most operations go to places where others are in flight.
    fn submit(&mut self) {
        let Some(ticket) = (0..SLOTS).find(|slot| !self.in_flight.contains_key(slot)) else { return };
        let n = &mut self.prng;
        let hot = n.uniform_below(4) > 0;
        let blocks = [1, 1, 1, 2, 4, 16][n.uniform_below(6) as usize];
        let block = n.uniform_below(if hot { 1500 } else { BLOCKS - blocks });
        let (mut offset, mut len) = (block * u64::from(BLOCK), (blocks * u64::from(BLOCK)) as u32);
        if n.uniform_below(10) == 0 {
            // Not aligned to the blocks of the cache.
            (offset, len) = (offset + 512 * n.uniform_below(8), 512 * (1 + n.uniform_below(6) as u32));
        }
        let direction = if n.uniform_below(3) == 0 { Direction::Write } else { Direction::Read };
        let op = Op { target: 0, direction, durable: false, offset, len };
        self.version += 1;
        if direction == Direction::Write {
            let buffer = &mut self.device.slot_buffer(Ticket(ticket))[..len as usize];
            for (n, sector) in buffer.chunks_mut(512).enumerate() {
                let at = offset / 512 + n as u64;
                sector.fill(self.version as u8);
                sector[..8].copy_from_slice(&at.to_le_bytes());
                sector[8..12].copy_from_slice(&self.version.to_le_bytes());
            }
        }
        self.in_flight.insert(ticket, Asked { op, from: self.now, version: self.version });
        self.device.submit_request(Instant::from_ns(self.now), Ticket(ticket), &op);
    }

    /// Takes completions, and checks what was read.
    fn poll(&mut self) {
        let mut done = Done::new();
        self.device.poll_completions(Instant::from_ns(self.now), &mut done);
        for Completion { ticket, result, issued, completed, .. } in done {
            let asked = self.in_flight.remove(&ticket.0).expect("an operation completes once");
            assert!(issued.as_ns() >= asked.from && completed >= issued, "{asked:?}: {issued:?} {completed:?}");
            if result != Ok(asked.op.len) {
                self.errors += 1;
                continue;
            }
            let sectors = asked.op.offset / 512..(asked.op.offset + u64::from(asked.op.len)) / 512;
            match asked.op.direction {
                Direction::Write => sectors.for_each(|at| {
                    let (version, from, to) = (asked.version, asked.from, self.now);
                    self.written.entry(at).or_default().push(Written { version, from, to });
                }),
                Direction::Read => {
                    let buffer = self.device.slot_buffer(ticket).to_vec();
                    sectors.zip(buffer.chunks(512)).for_each(|(at, sector)| self.may_hold(&asked, at, sector));
                }
            }
        }
    }

    /// Fails if a sector holds data that it cannot have held at any moment of the read.
    fn may_hold(&self, read: &Asked, at: u64, sector: &[u8]) {
        let version = u32::from_le_bytes(sector[8..12].try_into().unwrap());
        let none = Vec::new();
        let writes = self.written.get(&at).unwrap_or(&none);
        // A write is overwritten if another one began after it had ended, and ended before the read began.
        let is_over = |it: &Written| writes.iter().any(|other| other.from > it.to && other.to < read.from);
        if version == 0 {
            let any = writes.iter().find(|it| it.to < read.from);
            assert!(sector.iter().all(|byte| *byte == 0) && any.is_none(), "sector {at} is blank again: {any:?}");
            return;
        }
        assert_eq!(sector[..8], at.to_le_bytes(), "sector {at} holds what was written elsewhere");
        assert!(sector[12..].iter().all(|byte| *byte == version as u8), "sector {at} is torn");
        let flying = self.in_flight.values().any(|it| it.version == version);
        match writes.iter().find(|it| it.version == version) {
            Some(written) => assert!(!is_over(written), "sector {at} is stale at {read:?}: {written:?} of {writes:?}"),
            None => assert!(flying, "sector {at} holds a version that nobody wrote: {version}"),
        }
    }

    fn run(&mut self, operations: u64) {
        for _ in 0..operations {
            for _ in 0..self.prng.uniform_below(3) {
                self.submit();
            }
            self.now += 1 + self.prng.uniform_below(120);
            self.poll();
        }
    }

    /// Waits until everything in flight has ended.
    fn drain(&mut self) {
        for _ in 0..200_000 {
            if self.in_flight.is_empty() {
                return;
            }
            self.now += 20;
            self.poll();
        }
        panic!("{} operations never ended", self.in_flight.len());
    }

    fn finish(&mut self) -> Option<Index> {
        let now = std::cell::Cell::new(self.now);
        let clock = || {
            now.set(now.get() + 50);
            Instant::from_ns(now.get())
        };
        let index = self.device.finish(clock, Span::from_ms(100));
        self.now = now.get();
        index
    }
}

#[test]
fn what_is_read_was_written_last_whatever_overtakes_what() {
    let seeds = std::env::var("ASSAY_CAMPAIGN").map_or(6, |_| 300);
    for seed in 0..seeds {
        // Cache sizes: smaller than the hot blocks, larger than these, and larger than all blocks.
        for size in [4 << 20, 8 << 20, 40 << 20] {
            let mut caller = Caller::new(seed, size, Faults::default());
            caller.run(6000);
            caller.drain();
            let counted = caller.counters.read();
            assert!(counted.read_hits > 500 && counted.invalidate_hits > 100, "{seed} {size}: {counted:?}");
            let from_device = counted.read_hits - counted.ram_hits;
            assert!(from_device >= counted.device_reads && counted.device_reads > 0, "{counted:?}");
            assert!(counted.bypassed > 100, "reads of parts of blocks go past it: {counted:?}");
            assert!(size > 4 << 20 || counted.evictions > 500 && counted.segment_reads > 0, "{counted:?}");
            assert_eq!((caller.errors, counted.errors), (0, 0));
        }
    }
}

#[test]
fn a_cache_that_is_used_again_is_right() {
    for seed in 0..6 {
        for size in [4 << 20, 40 << 20] {
            let mut caller = Caller::new(seed, size, Faults::default());
            caller.run(3000);
            caller.drain();
            let index = caller.finish().expect("it ended well");
            assert!(caller.device.inner_device().flushed, "what is kept is durable");
            let words: Vec<u64> = index.to_stored().collect();
            let index = Index::from_stored(index.shape(), words).unwrap();
            let blocks = index.len();
            let media = std::mem::take(&mut caller.device.inner_device().media);
            let memory = Memory { media, ..Memory::new(seed + 9, 0, Faults::default()) };
            let mut again = Caller::over(seed + 1, memory, index, caller.written);
            again.run(3000);
            again.drain();
            let counted = again.counters.read();
            assert!(counted.read_hits - counted.ram_hits > 100, "{blocks} blocks were known: {counted:?}");
        }
    }
}

#[test]
fn a_failing_device_of_the_cache_is_bypassed_and_nothing_is_lost() {
    for seed in 0..6 {
        for (name, faults) in [
            ("reads fail", Faults { reads_fail_from: Some(40), ..Faults::default() }),
            ("writes fail", Faults { writes_fail_from: Some(30), ..Faults::default() }),
            ("writes are short", Faults { writes_are_short_from: Some(30), ..Faults::default() }),
        ] {
            // The cache is larger than what is kept in memory, so that its device is read.
            let mut caller = Caller::new(seed, 4 << 20, faults);
            caller.run(6000);
            caller.drain();
            let counted = caller.counters.read();
            assert_eq!(caller.errors, 0, "{name}: the caller does not notice");
            assert!(counted.errors > 0 && caller.device.first_error().is_some(), "{name}: {counted:?}");
            assert_eq!(caller.finish().map(|index| index.len()), None, "{name}: nothing to keep");
        }
    }
}

#[test]
fn a_device_of_the_cache_that_hangs_leaves_nothing_to_keep() {
    let mut caller = Caller::new(3, 2 << 20, Faults { hangs_from: Some(20), ..Faults::default() });
    caller.run(3000);
    assert!(caller.finish().is_none());
}

#[test]
fn what_the_cache_answers_does_not_reach_the_target() {
    let mut caller = Caller::new(1, 16 << 20, Faults::default());
    let read = |caller: &mut Caller, offset: u64, len: u32| {
        let op = Op { target: 0, direction: Direction::Read, durable: false, offset, len };
        caller.in_flight.insert(0, Asked { op, from: caller.now, version: 0 });
        caller.device.submit_request(Instant::from_ns(caller.now), Ticket(0), &op);
        caller.drain();
    };
    read(&mut caller, 8192, 4096);
    read(&mut caller, 8192, 4096);
    // The first and the last block are not in the cache, and are two reads of the target.
    read(&mut caller, 4096, 12_288);
    let counted = caller.counters.read();
    assert_eq!((counted.reads, counted.read_hits, counted.insertions), (5, 2, 3));
    let onward = caller.counters.onward_reads();
    assert_eq!((onward[0].operations, onward[0].bytes), (3, 12_288));
}
