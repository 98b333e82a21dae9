//! A flash drive: parallel channels, a write cache that is programmed in the background, pauses for garbage collection
//! and, if asked for, wear. It models what decides a certificate (how waiting grows with the load, and where the limit
//! of the drive is), not any particular product; every figure is a parameter, and the defaults are those of an average
//! data-centre NVMe drive according to data sheets (about 90 µs per read, 20 µs per cached write, 400 000 reads and 3
//! GiB per second).
//!
//! **Channels.** An operation starts on the channel that is free first and occupies it for `channels / iops`; so
//! operations that are no larger than `read_bandwidth / iops` are carried at exactly `iops` per second, and no faster.
//! A read completes `read × e^(spread × Z) + length / read_bandwidth` after its start, Z standard normal; a write,
//! which ends in the cache (protected against power loss, so `durable` costs nothing more), `write × e^(spread × Z) +
//! length / read_bandwidth` after its start.
//!
//! A larger operation costs more: a read occupies its channel for `channels × length / read_bandwidth` if that is
//! longer.
//!
//! **Cached writes.** The part of a write's programming that goes beyond the time its channel is occupied (`channels ×
//! length / write_bandwidth`, less that time) is channel time that the drive owes. It is paid off with the time
//! constant `cache`: in idle time of the channels as far as that suffices, otherwise by occupying the channels longer.
//! In addition, a read meets a cell that is being programmed with a probability equal to the present share of
//! programming in the drive's time, and then takes longer by a uniform part of `program`. So writes delay reads, the
//! more the higher the load; a burst much shorter than `cache` hardly does, and a capacity must be measured over many
//! times `cache`.
//!
//! **Garbage collection.** After an amount of written bytes, exponentially distributed with the mean of `gc =
//! pause/bytes`, all channels stop for `pause`.
//!
//! **Capacity.** Of one second, a read of L bytes costs `max(1/iops, L/read_bandwidth)`, a write of L bytes
//! `max(1/iops, L/write_bandwidth) + pause × L/bytes`. A mix can be carried for any time if the sum of rate × cost
//! stays below 1, and cannot if it exceeds 1. ACT's 1x (2000 reads of 1536 B, 23.44 reads and writes of 128 KiB per
//! second) costs 0.00786 of the default drive, whose limit is therefore 127x.
//!
//! **Wear** (`sim:flash-worn`). From the time `after` on, a share `slow` of the reads takes `slow_read × e^(spread × Z)`
//! instead of `read × …` (the drive reads again with other voltages); capacity is as before.

//!
//! **Fresh out of the box** (`fresh = share/time`). The time of an operation, apart from waiting and transfer, is
//! shorter by `share` at the start, and this advantage decays with the time constant `time`, in steps of a 64th of it;
//! capacity is unchanged. It gives a test that waits for a steady state something to wait for.

use super::channels::Channels;
use super::draw::{LogNormal, draw_exponential, exp_clamped};
use assay_base::{Bytes, Direction, Op, Prng, Share, Span};

/// The parameters of a flash drive; see the head of this file.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Parameters {
    pub channels: u64,
    pub read: Span,
    pub write: Span,
    pub iops: u64,
    pub read_bandwidth: Bytes,
    pub write_bandwidth: Bytes,
    pub spread: Share,
    pub cache: Span,
    pub program: Span,
    pub gc_pause: Span,
    pub gc_every: Bytes,
    pub fresh: Option<Fresh>,
    pub wear: Option<Wear>,
}

/// How a drive behaves that was never written.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Fresh {
    pub less: Share,
    pub lasts: Span,
}

/// How a worn drive behaves.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Wear {
    pub after: Span,
    pub slow: Share,
    pub slow_read: Span,
}

impl Parameters {
    /// The drive of `sim:flash`.
    pub(super) fn fresh_drive() -> Parameters {
        Parameters {
            channels: 16,
            read: Span::from_us(90),
            write: Span::from_us(20),
            iops: 400_000,
            read_bandwidth: Bytes::new(3 << 30),
            write_bandwidth: Bytes::new(3 << 29),
            spread: Share::from_percent(25),
            cache: Span::from_ms(500),
            program: Span::from_us(300),
            gc_pause: Span::from_ms(2),
            gc_every: Bytes::new(4 << 30),
            fresh: None,
            wear: None,
        }
    }

    /// The drive of `sim:flash-worn`.
    pub(super) fn worn_drive() -> Parameters {
        let wear = Wear { after: Span::from_secs(5 * 3600), slow: Share::from_percent(8), slow_read: Span::from_ms(4) };
        Parameters { wear: Some(wear), ..Parameters::fresh_drive() }
    }

    /// The mean part of the drive's time that one operation takes, in seconds.
    pub(super) fn mean_cost(&self, direction: Direction, len: u32) -> f64 {
        let len = f64::from(len);
        let least = 1.0 / self.iops as f64;
        match direction {
            Direction::Read => least.max(len / self.read_bandwidth.get() as f64),
            Direction::Write => {
                let pauses = self.gc_pause.as_secs_f64() * len / self.gc_every.get() as f64;
                least.max(len / self.write_bandwidth.get() as f64) + pauses
            }
        }
    }

    /// How long one operation occupies its channel, in nanoseconds; at least 1.
    fn channel_hold(&self) -> u64 {
        ((self.channels * 1_000_000_000 + self.iops / 2) / self.iops).max(1)
    }
}

/// A time below 292 years as a floating-point number; processors convert signed integers in one instruction.
#[inline]
fn to_float(ns: u64) -> f64 {
    ns as i64 as f64
}

/// After this many nanoseconds in which no channel was busy, the idle time of all channels is counted at once;
/// otherwise the whole debt after a long pause would fall on the channel that starts first.
const PAUSE_OF_LOAD: u64 = 1_000_000;

/// A simulated flash drive. Times are nanoseconds of the drive's own time line.
#[derive(Clone, Debug)]
pub(super) struct Flash {
    prng: Prng,
    channels: Channels,
    hold: u64,
    /// Channel time owed, and the part of it that is paid off per nanosecond.
    debt: u64,
    paid_per_ns: f64,
    last_start: u64,
    /// Idle channel time not yet used to pay debt: that of each channel is counted once, when it starts again, and
    /// little is kept (idle time that was not used is lost).
    idle: u64,
    /// The time at which the channel that is busy longest becomes free.
    busy_until: u64,
    /// The longest time that a read waits for a cell, and the probability (in units of 2^-32) per nanosecond owed that
    /// it does.
    program: u64,
    met_per_debt: f64,
    /// Time on the bus, and channel time of reads and of writes.
    bus: PerByte,
    read_cost: PerByte,
    write_cost: PerByte,
    read: LogNormal,
    write: LogNormal,
    gc_pause: u64,
    gc_every: f64,
    /// Bytes still to be written before the next pause.
    gc_left: u64,
    /// Boxed, because most drives have none.
    fresh: Option<Box<Advantage>>,
    wear: Option<Worn>,
}

/// The rest of the advantage of a fresh drive.
#[derive(Clone, Debug)]
struct Advantage {
    /// The part saved of an operation's time, in units of 2^-32.
    less: u64,
    step: u64,
    /// The time at which the next step is due.
    next: u64,
}

/// Steps per time constant; and the part of the advantage that remains after a step.
const FRESH_STEPS: u64 = 64;

impl Advantage {
    /// The time that an operation of `time` takes at `now`.
    #[inline]
    fn shorten_time(&mut self, now: u64, time: u64) -> u64 {
        while now >= self.next && self.less > 0 {
            self.less = (to_float(self.less) * exp_clamped(-1.0 / FRESH_STEPS as f64)) as i64 as u64;
            self.next += self.step;
        }
        time - ((u128::from(time) * u128::from(self.less)) >> 32) as u64
    }
}

#[derive(Clone, Debug)]
struct Worn {
    after: u64,
    /// A random 64-bit number below this means a slow read.
    slow: u64,
    read: LogNormal,
}

/// Nanoseconds per byte, in units of 2^-32 ns.
#[derive(Clone, Copy, Debug)]
struct PerByte(u64);

impl PerByte {
    /// The reciprocal of the bandwidth, times `channels`.
    fn new(channels: u64, bandwidth: Bytes) -> PerByte {
        PerByte((((u128::from(channels) * 1_000_000_000) << 32) / u128::from(bandwidth.get())) as u64)
    }

    #[inline]
    fn transfer_time(self, len: u32) -> u64 {
        ((u128::from(self.0) * u128::from(len)) >> 32) as u64
    }
}

impl Flash {
    pub(super) fn new(parameters: &Parameters, mut prng: Prng) -> Flash {
        let channels = parameters.channels;
        let cache = parameters.cache.as_ns().max(1) as f64;
        let sigma = parameters.spread.as_f64();
        let gc_every = parameters.gc_every.get() as f64;
        let worn = |wear: &Wear| Worn {
            after: wear.after.as_ns(),
            slow: (wear.slow.as_f64() * 18_446_744_073_709_551_616.0) as u64,
            read: LogNormal::new(wear.slow_read, sigma),
        };
        Flash {
            channels: Channels::new(parameters.channels as usize),
            hold: parameters.channel_hold(),
            debt: 0,
            paid_per_ns: 1.0 / cache,
            last_start: 0,
            idle: 0,
            busy_until: 0,
            program: parameters.program.as_ns(),
            met_per_debt: 4_294_967_296.0 / (cache * channels as f64),
            bus: PerByte::new(1, parameters.read_bandwidth),
            read_cost: PerByte::new(channels, parameters.read_bandwidth),
            write_cost: PerByte::new(channels, parameters.write_bandwidth),
            read: LogNormal::new(parameters.read, sigma),
            write: LogNormal::new(parameters.write, sigma),
            gc_pause: parameters.gc_pause.as_ns(),
            gc_every,
            gc_left: draw_exponential(&mut prng, gc_every) as u64,
            fresh: parameters.fresh.as_ref().map(|fresh| {
                let step = (fresh.lasts.as_ns() / FRESH_STEPS).max(1);
                Box::new(Advantage { less: (fresh.less.as_f64() * 4_294_967_296.0) as u64, step, next: step })
            }),
            wear: parameters.wear.as_ref().map(worn),
            prng,
        }
    }

    /// The time at which an operation that arrives at `at` completes. `at` is the drive's own time (it stands still in
    /// a stall) and never decreases; `now` is the caller's time, by which the drive ages.
    #[inline]
    pub(super) fn serve_operation(&mut self, now: u64, at: u64, op: &Op) -> u64 {
        let transfer = self.bus.transfer_time(op.len);
        match op.direction {
            Direction::Read => {
                let start = self.occupy_channel(at, self.hold.max(self.read_cost.transfer_time(op.len)));
                let time = self.read_time(now);
                start + transfer + self.age_time(now, time)
            }
            Direction::Write => {
                self.collect_garbage(at, u64::from(op.len));
                let start = self.occupy_channel(at, self.hold);
                self.debt += self.write_cost.transfer_time(op.len).saturating_sub(self.hold);
                let time = self.write.draw_ns(&mut self.prng);
                start + transfer + self.age_time(now, time)
            }
        }
    }

    #[inline]
    fn age_time(&mut self, now: u64, time: u64) -> u64 {
        self.fresh.as_mut().map_or(time, |fresh| fresh.shorten_time(now, time))
    }

    #[inline]
    fn read_time(&mut self, now: u64) -> u64 {
        self.read_cell(now) + if self.debt <= self.hold { 0 } else { self.wait_for_program() }
    }

    #[inline]
    fn wait_for_program(&mut self) -> u64 {
        let bits = self.prng.next_u64();
        let met = to_float(bits >> 32) <= to_float(self.debt) * self.met_per_debt;
        if met { ((bits & 0xffff_ffff) * self.program) >> 32 } else { 0 }
    }

    #[inline]
    fn read_cell(&mut self, now: u64) -> u64 {
        match &self.wear {
            Some(worn) if now >= worn.after && self.prng.next_u64() < worn.slow => worn.read.draw_ns(&mut self.prng),
            _ => self.read.draw_ns(&mut self.prng),
        }
    }

    /// Takes the channel that is free first and returns when it starts.
    #[inline]
    fn occupy_channel(&mut self, at: u64, hold: u64) -> u64 {
        let free = self.channels.first_free();
        let start = at.max(free);
        let paid = if self.debt == 0 { 0 } else { self.pay_debt(start, start - free) };
        self.last_start = start;
        let free = start + hold + paid;
        self.busy_until = self.busy_until.max(free);
        self.channels.replace_first(free);
        start
    }

    /// Pays off the debt that is due and returns how long the channel is occupied for that; `idle` is how long it was
    /// idle.
    #[inline]
    fn pay_debt(&mut self, start: u64, idle: u64) -> u64 {
        let idle = if start > self.busy_until + PAUSE_OF_LOAD { self.channels.idle_until(start) } else { idle };
        let kept = self.channels.channel_count() * PAUSE_OF_LOAD;
        self.idle = (self.idle + idle).min(idle.max(kept)).min(self.debt);
        let part = to_float(start.saturating_sub(self.last_start)) * self.paid_per_ns;
        let due = (to_float(self.debt) * part.min(1.0)) as i64 as u64;
        // The remainder is paid off faster; otherwise it would never end.
        let due = due.max(64).min(self.debt);
        self.debt -= due;
        let worked = due.min(self.idle);
        self.idle -= worked;
        due - worked
    }

    /// Stops all channels when enough has been written.
    #[inline]
    fn collect_garbage(&mut self, at: u64, len: u64) {
        let mut left = len;
        while self.gc_pause > 0 && left > self.gc_left {
            left -= self.gc_left;
            self.gc_left = draw_exponential(&mut self.prng, self.gc_every) as u64;
            self.channels.pause_all(at, self.gc_pause);
            self.busy_until = at.max(self.busy_until) + self.gc_pause;
        }
        self.gc_left = self.gc_left.saturating_sub(left);
    }
}
