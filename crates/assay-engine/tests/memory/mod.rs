//! A disk in memory that keeps data and guarantees no more than a real disk: sectors of an operation are written and read
//! one by one, at any time between its submission and its completion. It damages what it is told to damage, and keeps
//! an account of that.
#![allow(dead_code, reason = "shared by several test programs")]

use assay_base::{BlockDevice, Code, Completion, Device, Direction, Done, Geometry, Instant, Op, Prng, Span, Ticket};
use assay_engine::{Blocks, Data, Ledger, Limits, Setup, Verified, Worker};
use assay_model::Plan;
use assay_model::arrival::Part;
use assay_record::{Event, FlowInterval, Thresholds};
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::rc::Rc;
use std::sync::Arc;

const SECTOR: usize = 512;
pub const SIZE: u64 = 1 << 20;

/// A sector's number on the disk, and its data.
type Sector = (usize, Vec<u8>);

/// What happens to one write in a given number.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Fault {
    None,
    Lost,
    Torn,
    Misdirected,
    Corrupt,
    /// It fails, and leaves garbage.
    Fails,
}

/// One sector of one operation, at its time.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Effect {
    at: Reverse<Instant>,
    write: bool,
    sector: usize,
    /// The buffer that is read into: its worker, slot and sector.
    buffer: (usize, usize, usize),
    data: Vec<u8>,
}

pub struct Disk {
    size: u64,
    memory: Vec<u8>,
    effects: BinaryHeap<Effect>,
    buffers: Vec<Vec<Vec<u8>>>,
    prng: Prng,
    fault: Fault,
    every: u64,
    pub writes: u64,
    /// Offsets and lengths of everything that was damaged, including the places that misdirected writes went to.
    pub damaged: Vec<(u64, u64)>,
    pub injected: u64,
    /// All writes so far.
    written: Vec<Written>,
    /// Where one byte was changed while nothing was in flight; see [`Planting`].
    pub planted: Option<u64>,
    in_flight: u64,
}

/// A write: its place, and when it was in flight.
#[derive(Clone, Copy)]
struct Written {
    offset: u64,
    len: u64,
    from: Instant,
    until: Instant,
}

/// Whether one byte of what was written is changed before it is read back.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Planting {
    No,
    /// By the first read that finds nothing in flight after this time.
    After(Instant),
}

/// The disk and the workers of a run.
#[derive(Clone, Copy, Debug)]
pub struct Bed {
    pub size: u64,
    /// Bytes of a block.
    pub block: u32,
    pub workers: usize,
    pub planting: Planting,
}

/// Writes that are closer to each other than this may belong to one unit of the ledger.
const NEAR: u64 = 64 << 10;

impl Disk {
    /// Changes one byte that the last write to its place has left, and that no other write may explain: none near it was
    /// in flight at the same time.
    fn plant(&mut self) {
        if self.in_flight > 0 || self.planted.is_some() {
            return;
        }
        let near = |one: &Written, other: &Written| {
            one.offset < other.offset + other.len + NEAR && other.offset < one.offset + one.len + NEAR
        };
        let is_last = |at: &usize| {
            let one = &self.written[*at];
            let others = self.written.iter().enumerate().filter(|(other, it)| other != at && near(one, it));
            others.into_iter().all(|(_, it)| it.until < one.from)
        };
        let candidates: Vec<usize> = (0..self.written.len()).rev().take(400).filter(is_last).collect();
        let Some(at) = candidates.get(self.prng.uniform_below(candidates.len().max(1) as u64) as usize) else { return };
        let Written { offset, len, .. } = self.written[*at];
        let byte = offset + self.prng.uniform_below(len);
        self.memory[byte as usize] ^= 1;
        self.planted = Some(byte);
    }

    fn moment(&mut self, from: Instant, to: Instant) -> Instant {
        from + Span::from_ns(self.prng.uniform_below(to.since(from).as_ns()))
    }

    fn advance(&mut self, now: Instant) {
        while self.effects.peek().is_some_and(|next| next.at.0 <= now) {
            let Effect { write, sector, buffer: (worker, slot, at), data, .. } = self.effects.pop().unwrap();
            let stored = &mut self.memory[sector * SECTOR..(sector + 1) * SECTOR];
            if write {
                stored.copy_from_slice(&data);
            } else {
                self.buffers[worker][slot][at * SECTOR..(at + 1) * SECTOR].copy_from_slice(stored);
            }
        }
    }

    /// Decides the result of a write; returns the sectors that are written, with their data, and the result.
    fn decide(&mut self, op: &Op, data: &[u8]) -> (Vec<Sector>, Result<u32, Code>) {
        self.writes += 1;
        let first = op.offset as usize / SECTOR;
        let count = data.len() / SECTOR;
        let sectors = |from: usize| data.chunks(SECTOR).enumerate().map(move |(i, d)| (from + i, d.to_vec()));
        let strikes = self.writes.is_multiple_of(self.every);
        let fault = if strikes { self.fault } else { Fault::None };
        let whole: Vec<_> = sectors(first).collect();
        self.injected += u64::from(strikes);
        let hurt = |disk: &mut Disk| disk.damaged.push((op.offset, op.len.into()));
        match fault {
            Fault::None => (whole, Ok(op.len)),
            Fault::Lost => {
                hurt(self);
                (Vec::new(), Ok(op.len))
            }
            Fault::Torn => {
                self.damaged
                    .push((op.offset + (count / 2 * SECTOR) as u64, (op.len as usize - count / 2 * SECTOR) as u64));
                (whole.into_iter().take(count / 2).collect(), Ok(op.len))
            }
            Fault::Misdirected => {
                hurt(self);
                let elsewhere = (op.offset + u64::from(op.len)) % (self.size - u64::from(op.len) + 1) / 4096 * 4096;
                self.damaged.push((elsewhere, op.len.into()));
                (sectors(elsewhere as usize / SECTOR).collect(), Ok(op.len))
            }
            Fault::Corrupt => {
                let at = self.prng.uniform_below(op.len.into());
                self.damaged.push((op.offset + at, 1));
                let mut whole = whole;
                whole[at as usize / SECTOR].1[at as usize % SECTOR] ^= 1;
                (whole, Ok(op.len))
            }
            Fault::Fails => {
                let garbage = |(sector, mut data): (usize, Vec<u8>)| {
                    data[17] ^= 0xff;
                    (sector, data)
                };
                (whole.into_iter().skip(1).map(garbage).collect(), Err(Code::EIO))
            }
        }
    }
}

/// The connection of one worker to the disk.
struct Way {
    disk: Rc<RefCell<Disk>>,
    worker: usize,
    own: Vec<Vec<u8>>,
    pending: Vec<(Instant, Completion, bool)>,
    block: u32,
    planting: Planting,
}

impl Device for Way {
    type Request = Op;

    fn submit_request(&mut self, now: Instant, ticket: Ticket, op: &Op) {
        let mut disk = self.disk.borrow_mut();
        disk.advance(now);
        assert!(op.offset + u64::from(op.len) <= disk.size, "an operation ends on the disk: {op:?}");
        let done = now + Span::from_ns(1_000 + disk.prng.uniform_below(200_000));
        let write = op.direction == Direction::Write;
        if !write && matches!(self.planting, Planting::After(at) if now >= at) {
            disk.plant();
        }
        disk.in_flight += 1;
        if write {
            disk.written.push(Written { offset: op.offset, len: op.len.into(), from: now, until: done });
        }
        let slot = ticket.0 as usize;
        let (sectors, result) = if write {
            disk.decide(op, &self.own[slot][..op.len as usize])
        } else {
            let first = op.offset as usize / SECTOR;
            ((0..op.len as usize / SECTOR).map(|i| (first + i, Vec::new())).collect(), Ok(op.len))
        };
        for (index, (sector, data)) in sectors.into_iter().enumerate() {
            let at = Reverse(disk.moment(now, done));
            disk.effects.push(Effect { at, write, sector, buffer: (self.worker, slot, index), data });
        }
        let completion = Completion { ticket, result, issued: now, accepted: now, completed: done };
        self.pending.push((done, completion, write));
    }
    fn poll_completions(&mut self, now: Instant, done: &mut Done) {
        let mut disk = self.disk.borrow_mut();
        disk.advance(now);
        self.pending.retain(|(at, completion, write)| {
            let over = *at <= now;
            if over {
                disk.in_flight -= 1;
                if !write {
                    let slot = completion.ticket.0 as usize;
                    self.own[slot].copy_from_slice(&disk.buffers[self.worker][slot]);
                }
                done.push(*completion);
            }
            !over
        });
    }
    fn next_wakeup(&self) -> Option<Instant> {
        self.pending.iter().map(|(at, ..)| *at).min()
    }
    fn wait_for_completion(&mut self, _: Span) {}
}

impl BlockDevice for Way {
    fn target_geometry(&self, _: u16) -> Geometry {
        Geometry { size: self.disk.borrow().size, block: self.block }
    }

    fn slot_buffer(&mut self, ticket: Ticket) -> &mut [u8] {
        &mut self.own[ticket.0 as usize]
    }
}

pub struct Outcome {
    pub disk: Disk,
    pub events: Vec<Event>,
    /// Sums over all intervals, by flow.
    pub flows: Vec<FlowInterval>,
    pub phases: BTreeMap<u16, u64>,
}

impl Outcome {
    /// Offsets and lengths of the damage events.
    pub fn told(&self) -> Vec<(u64, u64)> {
        let number = |event: &Event, name: &str| event.details[name].parse().unwrap();
        let damage = self.events.iter().filter(|event| event.what == "damage");
        damage.map(|event| (number(event, "offset"), number(event, "bytes"))).collect()
    }

    pub fn kinds(&self) -> BTreeMap<&str, u64> {
        self.events.iter().filter(|event| event.what == "damage").fold(BTreeMap::new(), |mut kinds, event| {
            *kinds.entry(event.details["damage"].as_str()).or_default() += 1;
            kinds
        })
    }
}

/// Runs `plan` on a disk with `fault` in one of `every` writes, with `workers` that share it.
pub fn run(plan: &Plan, fault: Fault, every: u64, workers: usize) -> Outcome {
    run_on(SIZE, plan, fault, every, workers)
}

/// The same on a disk of another size.
pub fn run_on(size: u64, plan: &Plan, fault: Fault, every: u64, workers: usize) -> Outcome {
    run_in(Bed { size, block: SECTOR as u32, workers, planting: Planting::No }, plan, fault, every)
}

/// The same on any bed.
pub fn run_in(bed: Bed, plan: &Plan, fault: Fault, every: u64) -> Outcome {
    let Bed { size, block, workers, planting } = bed;
    let parts = (0..workers).map(|index| Part { index: index as u64, of: workers as u64 });
    let slots: Vec<usize> = parts
        .clone()
        .map(|part| assay_engine::slots_upper_bound(plan, part, assay_engine::in_flight_bound(plan, part)) as usize)
        .collect();
    let bytes = plan.largest_operation(block) as usize;
    let disk = Rc::new(RefCell::new(Disk {
        size,
        memory: vec![0; size as usize],
        effects: BinaryHeap::new(),
        buffers: slots.iter().map(|slots| vec![vec![0; bytes]; *slots]).collect(),
        prng: Prng::from_seed(plan.load.seed),
        fault,
        every,
        writes: 0,
        damaged: Vec::new(),
        injected: 0,
        written: Vec::new(),
        planted: None,
        in_flight: 0,
    }));
    let targets = [Verified { geometry: Geometry { size, block }, mark: 7 }];
    let ledger = Arc::new(Ledger::new(plan, &targets, workers as u32).unwrap());
    let made = parts.map(|part| {
        let worker = part.index as usize;
        let way = Way {
            disk: disk.clone(),
            worker,
            own: vec![vec![0; bytes]; slots[worker]],
            pending: Vec::new(),
            block,
            planting,
        };
        let setup = Setup {
            part,
            thresholds: Thresholds::new([]),
            bound: assay_engine::in_flight_bound(plan, part),
            start: Instant::ZERO,
            run: 0xabcd,
            limits: Limits { failure_events: 1_000_000, ..Limits::default() },
            ledger: Some(ledger.clone()),
            gates: None,
        };
        Worker::new(plan, way, setup).unwrap()
    });
    let mut made: Vec<Worker<Way, Blocks, Data>> = made.collect();
    let mut now = Instant::ZERO;
    let (mut events, mut phases) = (Vec::new(), BTreeMap::new());
    let mut flows = vec![FlowInterval::default(); plan.load.streams.len()];
    loop {
        let steps: Vec<_> = made.iter_mut().map(|worker| worker.step(now)).collect();
        for worker in &mut made {
            events.extend(worker.take_events());
            let frames: Vec<_> = worker.take_frames().collect();
            for frame in frames {
                *phases.entry(frame.phase).or_default() += 1;
                for (sum, flow) in flows.iter_mut().zip(frame.interval_line().flows) {
                    sum.ok += flow.ok;
                    sum.verified += flow.verified;
                    sum.unverified += flow.unverified;
                    sum.damaged += flow.damaged;
                    flow.errors.iter().for_each(|(name, n)| *sum.errors.entry(name.clone()).or_default() += n);
                }
            }
        }
        if steps.iter().all(|step| step.done) {
            break;
        }
        now = steps.iter().map(|step| step.wake).min().unwrap().max(now + Span::from_ns(1));
    }
    drop(made);
    let disk = Rc::try_unwrap(disk).ok().unwrap().into_inner();
    Outcome { disk, events, flows, phases }
}
