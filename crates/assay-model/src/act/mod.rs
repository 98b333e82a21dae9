//! The load an Aerospike database node puts on its devices, as ACT models it, lowered to streams.
//!
//! Source: ACT's README (2020) and the behaviour of ACT 6.6. 1x is 2000 reads/s and 1000 writes/s on each device.

pub mod index;
pub mod storage;

pub use index::Index;
pub use storage::Storage;

use crate::plan::Arrival;
use assay_base::{Bound, Criterion, Measure, Rate, Share, Span};
use serde::{Deserialize, Serialize};

/// Reads per second and device at 1x.
pub const READ_RATE: Rate = Rate::per_second(2000);
/// Writes per second and device at 1x.
pub const WRITE_RATE: Rate = Rate::per_second(1000);

/// How derived rates are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rates {
    /// In exact arithmetic, as ACT's README computes them.
    #[default]
    Exact,
    /// As ACT 6.6 does: whole records per block, whole internal reads per second.
    Act,
}

/// How operations are spread over time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pace {
    /// Independent clients.
    #[default]
    Poisson,
    /// Evenly spaced.
    Steady,
}

impl Pace {
    /// Arrivals of this kind.
    pub fn at(self, rate: Rate) -> Arrival {
        match self {
            Pace::Poisson => Arrival::Poisson { rate },
            Pace::Steady => Arrival::Steady { rate },
        }
    }
}

/// "In any one-hour period … fewer than 5 % of transactions fail to complete in 1 ms, fewer than 1 % in 8 ms, fewer than
/// 0.1 % in 64 ms" (README, "Evaluate Device(s) by the Standard Pass/Fail Criteria"), with windows of `window`.
pub fn standard_criteria(window: Span) -> Vec<Criterion> {
    let bounds = [(1, Share::from_percent(5)), (8, Share::from_percent(1)), (64, Share::from_ppb(1_000_000))];
    let criterion = |(ms, below)| Criterion {
        stream: "reads".into(),
        measure: Measure::Response,
        bound: Bound::Over { over: Span::from_ms(ms), below },
        window: Some(window),
    };
    bounds.into_iter().map(criterion).collect()
}

/// `n / (1 − share)`: what defragmentation below `share` makes of one write. Numerator and denominator.
fn amplification(defrag_below: Share) -> (u64, u64) {
    (Share::WHOLE.as_ppb(), Share::WHOLE.as_ppb() - defrag_below.as_ppb())
}
