//! Faults of a simulated device, which can be added to any model.
//!
//! - `stall=2s@10s` (may be repeated): from 10 s to 12 s the device serves nothing. Its own time stands still, so requests
//!   that arrive wait, and those in service when it begins end later by its length.
//! - `errors=1/100000`: each operation fails with EIO with this probability, at the time it would have ended.
//! - `hang=1@30s` (may be repeated): the first operation submitted at 30 s or later never completes (unless the device
//!   disappears, which ends it).
//! - `gone@60s`: the device disappears: operations in flight fail then, later ones fail at once, with ENODEV.

use super::draw::draw_geometric;
use assay_base::{Code, Prng, Span};

/// No such device: the device has disappeared.
const ENODEV: Code = Code(19);

/// An immediate failure still takes this long (a round trip through the kernel, by order of magnitude); otherwise a
/// closed loop on a dead device would never advance in time.
pub(super) const AT_ONCE: u64 = 1_000;

/// The faults of one target, as written.
#[derive(Clone, PartialEq, Default, Debug)]
pub(super) struct Faults {
    /// Start and length, in order, without overlap.
    pub stalls: Vec<(Span, Span)>,
    /// This many operations out of this many fail.
    pub errors: Option<(u64, u64)>,
    /// Since when, and how many operations.
    pub hangs: Vec<(Span, u64)>,
    pub gone: Option<Span>,
}

/// How an operation ends: when, and with which error if any.
pub(super) type End = (u64, Option<Code>);

/// The faults of a device in use. Times are nanoseconds of the caller's time line unless said otherwise.
#[derive(Clone, Debug)]
pub(super) struct Trouble {
    prng: Prng,
    stalls: Vec<(u64, u64)>,
    errors: Option<(u64, u64)>,
    /// Operations until the next error, including the one that fails.
    until_error: u64,
    hangs: Vec<(u64, u64)>,
    gone: u64,
}

impl Trouble {
    /// `None` for a device without faults, which then has no cost for them.
    pub(super) fn new(faults: &Faults, mut prng: Prng) -> Option<Trouble> {
        if *faults == Faults::default() {
            return None;
        }
        let until_error = faults.errors.map_or(u64::MAX, |(part, whole)| draw_geometric(&mut prng, part, whole));
        Some(Trouble {
            prng,
            stalls: faults.stalls.iter().map(|(start, len)| (start.as_ns(), len.as_ns())).collect(),
            errors: faults.errors,
            until_error,
            hangs: faults.hangs.iter().map(|(from, count)| (from.as_ns(), *count)).collect(),
            gone: faults.gone.map_or(u64::MAX, Span::as_ns),
        })
    }

    /// How an operation submitted at `now` ends; `None` if it never does. `serve` is the model, in the device's own time.
    pub(super) fn serve_with_faults(&mut self, now: u64, serve: impl FnOnce(u64) -> u64) -> Option<End> {
        if now >= self.gone {
            return Some((now + AT_ONCE, Some(ENODEV)));
        }
        let served = self.caller_time(serve(self.device_time(now)));
        let end = if self.hangs_now(now) { u64::MAX } else { served };
        if end > self.gone {
            return Some((self.gone, Some(ENODEV)));
        }
        if end == u64::MAX {
            return None;
        }
        Some((end, self.draw_error()))
    }

    /// The device's own time: the caller's without the stalls.
    fn device_time(&self, now: u64) -> u64 {
        now - self.stalls.iter().map(|(start, len)| now.saturating_sub(*start).min(*len)).sum::<u64>()
    }

    /// The inverse of `device_time`; at the very moment of a stall, the stall's beginning.
    fn caller_time(&self, device: u64) -> u64 {
        self.stalls.iter().fold(device, |time, (start, len)| if time > *start { time + len } else { time })
    }

    fn hangs_now(&mut self, now: u64) -> bool {
        let due = self.hangs.iter_mut().find(|(from, left)| now >= *from && *left > 0);
        due.map(|(_, left)| *left -= 1).is_some()
    }

    fn draw_error(&mut self) -> Option<Code> {
        let (part, whole) = self.errors?;
        self.until_error -= 1;
        if self.until_error > 0 {
            return None;
        }
        self.until_error = draw_geometric(&mut self.prng, part, whole);
        Some(Code::EIO)
    }
}
