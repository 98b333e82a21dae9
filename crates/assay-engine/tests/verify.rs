//! Verification against a disk in memory that guarantees no more than a real disk: sectors of an operation are written
//! and read one by one, at any time between its submission and its completion. Whatever overlaps, this alone is never
//! reported as damage; whatever is lost, torn, misdirected or changed is always reported.
#![allow(clippy::unwrap_used, reason = "a test")]

use assay_base::{BlockDevice, Code, Completion, Device, Direction, Done, Geometry, Instant, Op, Prng, Span, Ticket};
use assay_engine::{Blocks, Data, Ledger, Limits, Setup, Verified, Worker};
use assay_model::arrival::Part;
use assay_model::{Plan, workload};
use assay_record::{Event, FlowInterval, Thresholds};
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::rc::Rc;
use std::sync::Arc;

const SECTOR: usize = 512;
const SIZE: u64 = 1 << 20;

/// A sector's number on the disk, and its data.
type Sector = (usize, Vec<u8>);

/// What happens to one write in a given number.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Fault {
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

struct Disk {
    size: u64,
    memory: Vec<u8>,
    effects: BinaryHeap<Effect>,
    buffers: Vec<Vec<Vec<u8>>>,
    prng: Prng,
    fault: Fault,
    every: u64,
    writes: u64,
    /// Offsets and lengths of everything that was damaged, including the places that misdirected writes went to.
    damaged: Vec<(u64, u64)>,
    injected: u64,
}

impl Disk {
    fn moment(&mut self, from: Instant, to: Instant) -> Instant {
        from + Span::from_ns(self.prng.below(to.since(from).as_ns()))
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
                let at = self.prng.below(op.len.into());
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
}

impl Device for Way {
    type Request = Op;

    fn submit(&mut self, now: Instant, ticket: Ticket, op: &Op) {
        let mut disk = self.disk.borrow_mut();
        disk.advance(now);
        let done = now + Span::from_ns(1_000 + disk.prng.below(200_000));
        let write = op.direction == Direction::Write;
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
    fn poll(&mut self, now: Instant, done: &mut Done) {
        let mut disk = self.disk.borrow_mut();
        disk.advance(now);
        self.pending.retain(|(at, completion, write)| {
            let over = *at <= now;
            if over {
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
    fn wait(&mut self, _: Span) {}
}

impl BlockDevice for Way {
    fn geometry(&self, _: u16) -> Geometry {
        Geometry { size: self.disk.borrow().size, block: SECTOR as u32 }
    }

    fn buffer(&mut self, ticket: Ticket) -> &mut [u8] {
        &mut self.own[ticket.0 as usize]
    }
}

struct Outcome {
    disk: Disk,
    events: Vec<Event>,
    /// Sums over all intervals, by flow.
    flows: Vec<FlowInterval>,
    phases: BTreeMap<u16, u64>,
}

impl Outcome {
    /// Offsets and lengths of the damage events.
    fn told(&self) -> Vec<(u64, u64)> {
        let number = |event: &Event, name: &str| event.details[name].parse().unwrap();
        let damage = self.events.iter().filter(|event| event.what == "damage");
        damage.map(|event| (number(event, "offset"), number(event, "bytes"))).collect()
    }

    fn kinds(&self) -> BTreeMap<&str, u64> {
        self.events.iter().filter(|event| event.what == "damage").fold(BTreeMap::new(), |mut kinds, event| {
            *kinds.entry(event.details["damage"].as_str()).or_default() += 1;
            kinds
        })
    }
}

fn plan(streams: &str, seed: u64) -> Plan {
    let file = format!("model = \"streams\"\nverify = true\nduration = \"200ms\"\ninterval = \"20ms\"\n{streams}");
    let adjust = workload::Adjust { targets: 1, seed, ..workload::Adjust::default() };
    workload::read("t", &file).unwrap().plan(&adjust).unwrap()
}

/// Runs `plan` on a disk with `fault` in one of `every` writes, with `workers` that share it.
fn run(plan: &Plan, fault: Fault, every: u64, workers: usize) -> Outcome {
    run_on(SIZE, plan, fault, every, workers)
}

/// The same on a disk of another size.
fn run_on(size: u64, plan: &Plan, fault: Fault, every: u64, workers: usize) -> Outcome {
    let parts = (0..workers).map(|index| Part { index: index as u64, of: workers as u64 });
    let slots: Vec<usize> = parts.clone().map(|part| assay_engine::bound(plan, part) as usize).collect();
    let bytes = plan.largest_operation(SECTOR as u32) as usize;
    let disk = Rc::new(RefCell::new(Disk {
        size,
        memory: vec![0; size as usize],
        effects: BinaryHeap::new(),
        buffers: slots.iter().map(|slots| vec![vec![0; bytes]; *slots]).collect(),
        prng: Prng::seeded(plan.seed),
        fault,
        every,
        writes: 0,
        damaged: Vec::new(),
        injected: 0,
    }));
    let targets = [Verified { geometry: Geometry { size, block: SECTOR as u32 }, mark: 7 }];
    let ledger = Arc::new(Ledger::new(plan, &targets, workers as u32).unwrap());
    let made = parts.map(|part| {
        let worker = part.index as usize;
        let way = Way { disk: disk.clone(), worker, own: vec![vec![0; bytes]; slots[worker]], pending: Vec::new() };
        let setup = Setup {
            part,
            thresholds: Thresholds::new([]),
            bound: assay_engine::bound(plan, part),
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
    let mut flows = vec![FlowInterval::default(); plan.streams.len()];
    loop {
        let steps: Vec<_> = made.iter_mut().map(|worker| worker.step(now)).collect();
        for worker in &mut made {
            events.extend(worker.take_events());
            let frames: Vec<_> = worker.take_frames().collect();
            for frame in frames {
                *phases.entry(frame.phase).or_default() += 1;
                for (sum, flow) in flows.iter_mut().zip(frame.interval().flows) {
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

/// Reads and writes of many sizes that overlap in every way.
fn crowded() -> &'static str {
    "[[stream]]\nname = \"w\"\ndirection = \"write\"\nsize = { from = \"512B\", to = \"16KiB\" }\nin_flight = 12\n\
     [[stream]]\nname = \"hot\"\ndirection = \"write\"\nsize = \"4KiB\"\nin_flight = 2\naddress = \"sequential\"\n\
     [[stream]]\nname = \"r\"\ndirection = \"read\"\nsize = { from = \"512B\", to = \"16KiB\" }\nin_flight = 12\n"
}

/// Writes of 4 KiB to separate places, and reads of the same places.
fn apart() -> &'static str {
    "[[stream]]\nname = \"w\"\ndirection = \"write\"\nsize = \"4KiB\"\nin_flight = 1\naddress = { uniform = \"4KiB\" }\n\
     [[stream]]\nname = \"r\"\ndirection = \"read\"\nsize = \"4KiB\"\nin_flight = 4\naddress = { uniform = \"4KiB\" }\n"
}

fn covers(places: &[(u64, u64)], (offset, len): (u64, u64)) -> bool {
    places.iter().any(|(begin, length)| offset < begin + length && *begin < offset + len)
}

#[test]
fn whatever_overlaps_is_no_damage() {
    for seed in 1..=6 {
        for (fault, workers) in [(Fault::None, 1), (Fault::None, 3), (Fault::Fails, 1), (Fault::Fails, 3)] {
            let outcome = run(&plan(crowded(), seed), fault, 7, workers);
            let case = format!("seed {seed}, {fault:?}, {workers} workers");
            assert_eq!(outcome.told(), [], "{case}: {:?}", outcome.events.last());
            let read = &outcome.flows[2];
            assert!(read.verified > 500, "{case}: {read:?}");
            assert_eq!(read.verified + read.unverified, read.ok, "{case}");
            let back = &outcome.flows[3];
            assert!(back.verified + back.unverified == back.ok && back.verified > 10, "{case}: {back:?}");
            assert!(outcome.phases.keys().eq(&[0, 1]), "{case}: {:?}", outcome.phases);
        }
    }
}

#[test]
fn all_that_is_injected_is_found_and_nothing_else() {
    for seed in 1..=6 {
        for (fault, kind) in [
            (Fault::Lost, "lost"),
            (Fault::Torn, "torn"),
            (Fault::Misdirected, "misdirected"),
            (Fault::Corrupt, "corrupt"),
        ] {
            for workers in [1, 2] {
                let outcome = run(&plan(apart(), seed), fault, 13, workers);
                let case = format!("seed {seed}, {fault:?}, {workers} workers");
                let told = outcome.told();
                assert!(outcome.disk.injected > 50, "{case}: {}", outcome.disk.injected);
                for place in &told {
                    assert!(covers(&outcome.disk.damaged, *place), "{case}: {place:?} was never damaged");
                }
                assert!(outcome.kinds()[kind] > 0, "{case}: {:?}", outcome.kinds());
                let damaged: u64 = outcome.flows.iter().map(|flow| flow.damaged).sum();
                assert_eq!(damaged, told.len() as u64, "{case}");
                let failed: u64 = outcome.flows.iter().map(FlowInterval::failed).sum();
                assert!(failed >= damaged, "{case}");
            }
        }
    }
}

#[test]
fn what_is_left_damaged_at_the_end_is_found_by_reading_back() {
    for seed in 1..=6 {
        for (fault, kinds) in [
            (Fault::Lost, &["lost"][..]),
            (Fault::Torn, &["torn"]),
            (Fault::Misdirected, &["lost", "misdirected"]),
            (Fault::Corrupt, &["corrupt"]),
        ] {
            // Single writes, one after the other, each to a place of its own: what is injected stays.
            let once = "[[stream]]\nname = \"w\"\ndirection = \"write\"\nsize = \"4KiB\"\nrate = \"1000/s\"\narrival = \"steady\"\naddress = \"sequential\"\n";
            let outcome = run(&plan(once, seed), fault, 13, 1);
            let case = format!("seed {seed}, {fault:?}: {:?}", outcome.kinds());
            assert_eq!(outcome.disk.writes, 200, "less than the 256 places of the disk");
            assert_eq!(outcome.disk.injected, 200 / 13, "{case}");
            let told: BTreeSet<u64> = outcome.told().iter().map(|(offset, _)| *offset).collect();
            for (offset, _) in outcome.disk.damaged.iter().filter(|_| fault != Fault::Misdirected) {
                assert!(told.contains(&(offset / 4096 * 4096)), "{case}: {offset}");
            }
            assert_eq!(told.len() as u64, outcome.disk.injected, "{case}");
            assert!(outcome.kinds().keys().all(|kind| kinds.contains(kind)), "{case}");
        }
    }
}

/// A page store of 2.4 MiB and its log of 1 MiB, which 5/s for each mailbox write round once.
fn mail(check: &str, iops: &str, seed: u64) -> Plan {
    let file = format!(
        "model = \"mail\"\nverify = true\nduration = \"200ms\"\ninterval = \"20ms\"\nslice = \"200ms\"\niops_per_mailbox = \"{iops}\"\n\
         log_size = \"1MiB\"\nmaintenance = \"paced\"\nwrite_batch = 4\ncheck = \"{check}\"\ndurable = false"
    );
    let adjust = workload::Adjust { targets: 1, seed, ..workload::Adjust::default() };
    workload::read("t", &file).unwrap().plan(&adjust).unwrap()
}

const STORE: u64 = 4 << 20;
const LOG: u64 = 3 << 20;

/// Pages and log blocks have units of their own, and what is damaged in either is found where it is.
#[test]
fn damage_of_pages_and_of_the_log_is_found_at_its_address() {
    for (fault, kind) in
        [(Fault::Lost, "lost"), (Fault::Torn, "torn"), (Fault::Misdirected, "misdirected"), (Fault::Corrupt, "corrupt")]
    {
        let (mut pages, mut blocks) = (0, 0);
        for (seed, workers) in [(1, 1), (2, 2), (3, 1), (4, 3)] {
            let outcome = run_on(STORE, &mail("written", "5/s", seed), fault, 11, workers);
            let case = format!("{fault:?}, seed {seed}, {workers} workers");
            assert!(outcome.disk.injected > 20, "{case}: {}", outcome.disk.injected);
            let told = outcome.told();
            for place in &told {
                assert!(covers(&outcome.disk.damaged, *place), "{case}: {place:?} was never damaged");
            }
            assert!(outcome.kinds().get(kind).is_some_and(|n| *n > 0), "{case}: {:?}", outcome.kinds());
            pages += told.iter().filter(|(offset, _)| *offset < LOG).count();
            blocks += told.iter().filter(|(offset, _)| *offset >= LOG).count();
        }
        assert!(pages > 10 && blocks > 10, "{fault:?}: {pages} pages and {blocks} blocks");
    }
}

#[test]
fn a_sound_store_is_read_back_page_by_page() {
    for (check, workers) in [("written", 1), ("written", 3), ("all", 1), ("all", 3)] {
        let outcome = run_on(STORE, &mail(check, "0.5/s", 9), Fault::None, 11, workers);
        assert_eq!(outcome.told(), [], "{check}: {:?}", outcome.events.last());
        let back = outcome.flows.last().unwrap();
        assert!(back.verified > 10, "{check}: {back:?}");
        // Of what was written every read proves something; of the rest of the pages none does.
        assert_eq!(back.unverified > 0, check == "all", "{check}: {back:?}");
        assert_eq!(back.verified + back.unverified, back.ok, "{check}");
    }
}
