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
pub use varying::{Standing, Varying};

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
    pub fn steady(start: Instant, rate: Rate, part: Part, shift: u64) -> Option<Schedule> {
        Steady::new(start, rate, part, shift).map(Schedule::Steady)
    }

    /// This part's operations of a Poisson stream: an independent Poisson stream with `1/of` of the rate.
    pub fn poisson(start: Instant, rate: Rate, part: Part, prng: Prng) -> Option<Schedule> {
        Poisson::new(start, rate.scaled(1, part.of)?, prng).map(Schedule::Poisson)
    }

    /// The intended time of the next operation.
    #[inline]
    pub fn due(&self) -> Instant {
        match self {
            Schedule::Steady(steady) => steady.due(),
            Schedule::Poisson(poisson) => poisson.due(),
            Schedule::Varying(varying) => varying.due(),
            Schedule::Batches(batches) => batches.due(),
            Schedule::Bursty(bursty) => bursty.due(),
            Schedule::Shared(shared) => shared.due(),
        }
    }

    /// Advances to the operation after it.
    #[inline]
    pub fn advance(&mut self) {
        match self {
            Schedule::Steady(steady) => steady.advance(),
            Schedule::Poisson(poisson) => poisson.advance(),
            Schedule::Varying(varying) => varying.advance(),
            Schedule::Batches(batches) => batches.advance(),
            Schedule::Bursty(bursty) => bursty.advance(),
            Schedule::Shared(shared) => shared.advance(),
        }
    }
}
