//! When operations are intended. An open-loop schedule does not depend on completions; a closed loop depends only on
//! them.

mod batches;
mod bursty;
mod curve;
mod part;
mod poisson;
mod shared;
mod steady;
mod varying;

pub use batches::Batches;
pub use bursty::{Bursts, Bursty};
pub use curve::Curve;
pub use part::Part;
pub use poisson::Poisson;
pub use shared::{Clock, OwnPart, Pauses, Shared, SharedSchedule};
pub use steady::Steady;
pub use varying::{CurveStart, Varying};

use assay_base::{Instant, Prng, Rate};

/// The intended times of one flow, in ascending order. A clone continues with the same times as the original.
#[derive(Clone, Debug)]
pub enum Schedule {
    /// Evenly spaced.
    Steady(Steady),
    /// Independent clients.
    Poisson(Poisson),
    /// A rate that changes over time.
    Varying(Box<Varying>),
    /// Several operations at one moment.
    Batches(Batches),
    /// Bursts.
    Bursty(Box<Bursty>),
    /// One for several streams and targets.
    Shared(Box<Shared>),
}

impl Schedule {
    /// This part's operations of a steady stream: `index`, `index + of`, … , with the whole stream shifted by `shift`
    /// 1024ths of its period. `None` when the rate is zero or does not fit.
    pub fn from_steady(start: Instant, rate: Rate, part: Part, shift: u64) -> Option<Schedule> {
        Steady::new(start, rate, part, shift).map(Schedule::Steady)
    }

    /// This part's operations of a Poisson stream: an independent Poisson stream with `1/of` of the rate.
    pub fn from_poisson(start: Instant, rate: Rate, part: Part, prng: Prng) -> Option<Schedule> {
        Poisson::new(start, rate.scaled_by(1, part.of)?, prng).map(Schedule::Poisson)
    }

    /// The intended time of the next operation.
    #[inline]
    pub fn next_due(&self) -> Instant {
        match self {
            Schedule::Steady(steady) => steady.next_due(),
            Schedule::Poisson(poisson) => poisson.next_due(),
            Schedule::Varying(varying) => varying.next_due(),
            Schedule::Batches(batches) => batches.next_due(),
            Schedule::Bursty(bursty) => bursty.next_due(),
            Schedule::Shared(shared) => shared.next_due(),
        }
    }

    /// Advances to the operation after it.
    #[inline]
    pub fn advance_to_next(&mut self) {
        match self {
            Schedule::Steady(steady) => steady.advance_to_next(),
            Schedule::Poisson(poisson) => poisson.advance_to_next(),
            Schedule::Varying(varying) => varying.advance_to_next(),
            Schedule::Batches(batches) => batches.advance_to_next(),
            Schedule::Bursty(bursty) => bursty.advance_to_next(),
            Schedule::Shared(shared) => shared.advance_to_next(),
        }
    }
}
