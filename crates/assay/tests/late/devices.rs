//! Devices in virtual time with known rules, for a generator that may be late: one server, several servers, one that
//! recovers at rest, one that merges operations that come together, and one that hands out tokens.
//!
//! The time of an operation is drawn from its number, so that a punctual generator meets the same device to the
//! nanosecond. All times are in nanoseconds.

use assay_base::{BlockDevice, Completion, Device, Done, Geometry, Instant, Op, Prng, Span, Ticket};
use std::cell::Cell;
use std::rc::Rc;

pub const US: u64 = 1_000;
pub const MS: u64 = 1_000_000;

/// What decides when an operation completes.
#[derive(Clone, Debug)]
pub enum Kind {
    /// The times at which the servers are free; the next operation goes to the one that is free first.
    Servers(Vec<u64>),
    /// One server that owes `debt` of upkeep for each operation. It pays this off after it was idle for `onset`; when
    /// it owes more than `most`, the next operation waits until it has paid off `pays`.
    Recovers { free: u64, owed: u64, debt: u64, onset: u64, most: u64, pays: u64 },
    /// One server that takes up to `most` waiting operations at once.
    Merges { free: u64, filling: (u64, u64), most: u64, carried: Rc<Cell<u64>> },
    /// `burst` tokens, and a new one every `every`; an operation waits for a token, and is otherwise carried
    /// immediately.
    Tokens { next: u64, every: u64, burst: u64 },
}

/// The time of one operation: `least`, plus an exponential time with the mean `mean`; a share of them takes `slow`
/// longer.
#[derive(Clone, Copy, Debug)]
pub struct Draw {
    pub seed: u64,
    pub least: u64,
    pub mean: u64,
    pub slow: u64,
    /// That share in parts per million.
    pub slow_ppm: u64,
}

impl Draw {
    fn of(&self, number: u64) -> u64 {
        let mut prng = Prng::for_path(self.seed, &[number]);
        let usual = self.least + (-(1.0 - prng.uniform_unit()).max(1e-9).ln() * self.mean as f64) as u64;
        if prng.uniform_below(1_000_000) < self.slow_ppm { usual + self.slow } else { usual }
    }
}

/// Somebody else who uses the same device: operations of one size at random moments within some stretches of time.
#[derive(Clone, Debug)]
pub struct Neighbour {
    pub draw: Draw,
    /// Operations per second while it is there.
    pub rate: u64,
    pub bytes: u64,
    /// When it is there: from, to.
    pub stretches: Vec<(u64, u64)>,
}

/// What a device did until some moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Did {
    pub operations: u64,
    pub bytes: u64,
}

/// A device whose completions have the time at which they were found, or times of their own.
pub struct Simulated {
    kind: Kind,
    draw: Draw,
    number: u64,
    when_found: bool,
    pending: Vec<Completion>,
    neighbour: Option<(Neighbour, u64)>,
    /// The next moment at which the neighbour comes; `None` if it never comes again.
    comes: Option<u64>,
    /// Completions that [`Simulated::did`] has not counted: when, and how many bytes.
    uncounted: Vec<(u64, u64)>,
    did: Did,
}

impl Simulated {
    pub fn new(kind: Kind, draw: Draw, when_found: bool) -> Simulated {
        Simulated {
            kind,
            draw,
            number: 0,
            when_found,
            pending: Vec::new(),
            neighbour: None,
            comes: None,
            uncounted: Vec::new(),
            did: Did::default(),
        }
    }

    /// The same device, which a neighbour uses too.
    pub fn beside(mut self, neighbour: Neighbour) -> Simulated {
        self.comes = neighbour.after(0, 0);
        self.neighbour = Some((neighbour, 0));
        self
    }

    /// Serves the neighbour's operations that come until `now`.
    fn serve_neighbour(&mut self, now: u64) {
        while let (Some(at), Some((neighbour, number))) = (self.comes.filter(|at| *at <= now), &mut self.neighbour) {
            let span = neighbour.draw.of(*number);
            *number += 1;
            self.uncounted.push((self.kind.serve(at, span), neighbour.bytes));
            self.comes = neighbour.after(at, *number);
        }
    }

    /// What the device has completed until `now`, for everybody, as its counters say.
    pub fn did(&mut self, now: u64) -> Did {
        self.serve_neighbour(now);
        for (_, bytes) in self.uncounted.extract_if(.., |it| it.0 <= now) {
            self.did = Did { operations: self.did.operations + 1, bytes: self.did.bytes + bytes };
        }
        self.did
    }
}

impl Neighbour {
    /// When its next operation comes, after one at `at`.
    fn after(&self, at: u64, number: u64) -> Option<u64> {
        let mut prng = Prng::for_path(self.draw.seed, &[number, 1]);
        let gap = -(1.0 - prng.uniform_unit()).max(1e-9).ln() * 1e9 / self.rate.max(1) as f64;
        let next = at + gap as u64;
        let (from, to) = self.stretches.iter().copied().find(|(_, to)| next < *to)?;
        // What would come between two stretches comes a moment after the beginning of the later one.
        if next >= from { Some(next) } else { Some(from + (gap as u64).min((to - from) / 2)) }
    }
}

impl Simulated {
    /// When the next operation completes: this wakes a thread that waits.
    pub fn next_completion(&self) -> Option<Instant> {
        self.pending.iter().map(|it| it.completed).min()
    }
}

impl Kind {
    /// When an operation that arrives `now` and takes `span` completes.
    fn serve(&mut self, now: u64, span: u64) -> u64 {
        match self {
            Kind::Servers(free) => {
                let first = free.iter_mut().min().expect("there is a server");
                *first = now.max(*first) + span;
                *first
            }
            Kind::Recovers { free, owed, debt, onset, most, pays } => {
                let rest = now.saturating_sub(*free);
                if rest > *onset {
                    *owed = owed.saturating_sub(rest - *onset);
                }
                *owed += *debt;
                let paid = if *owed > *most { *pays } else { 0 };
                *owed = owed.saturating_sub(paid);
                *free = now.max(*free) + paid + span;
                *free
            }
            Kind::Merges { free, filling: (begins, held), most, carried } => {
                // A batch is filled until the server is free and begins with it; a later operation begins another
                // batch.
                if now >= *begins || *held >= *most {
                    *begins = now.max(*free);
                    *free = *begins + span;
                    *held = 0;
                    carried.set(carried.get() + 1);
                }
                *held += 1;
                *free
            }
            Kind::Tokens { next, every, burst } => {
                let begins = now.max(*next);
                *next = (*next).max(now.saturating_sub(*every * *burst)) + *every;
                begins.max(now) + span
            }
        }
    }
}

impl Device for Simulated {
    type Request = Op;

    fn submit_request(&mut self, now: Instant, ticket: Ticket, op: &Op) {
        self.serve_neighbour(now.as_ns());
        let span = self.draw.of(self.number);
        self.number += 1;
        let completed = Instant::from_ns(self.kind.serve(now.as_ns(), span));
        self.uncounted.push((completed.as_ns(), op.len.into()));
        self.pending.push(Completion { ticket, result: Ok(op.len), issued: now, accepted: now, completed });
    }
    fn poll_completions(&mut self, now: Instant, done: &mut Done) {
        let before = done.len();
        done.extend(self.pending.extract_if(.., |it| it.completed <= now));
        done[before..].sort_by_key(|it| it.completed);
        if self.when_found {
            done[before..].iter_mut().for_each(|it| it.completed = now);
        }
    }
    fn next_wakeup(&self) -> Option<Instant> {
        None
    }
    fn is_stamped_when_found(&self) -> bool {
        self.when_found
    }
    fn wait_for_completion(&mut self, _: Span) {}
}

impl BlockDevice for Simulated {
    fn target_geometry(&self, _: u16) -> Geometry {
        Geometry { size: 1 << 30, block: 512 }
    }

    fn slot_buffer(&mut self, _: Ticket) -> &mut [u8] {
        &mut []
    }
}
