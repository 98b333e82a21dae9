//! The load of an Aerospike database node on its devices, as ACT models it, lowered to streams.
//!
//! Source: ACT's README (2020) and the behaviour of ACT 6.6. 1x is 2000 reads/s and 1000 writes/s on each device.

pub mod index;
pub mod storage;

pub use index::Index;
pub use storage::Storage;

use crate::plan::Arrival;
use assay_base::{Bound, Criterion, Measure, Multiple, Rate, Share, Span};
use serde::{Deserialize, Serialize};

/// Reads per second and device at 1x.
pub(crate) const READ_RATE: Rate = Rate::per_second(2000);
/// Writes per second and device at 1x.
pub(crate) const WRITE_RATE: Rate = Rate::per_second(1000);

/// Rates as a multiple of 1x on one device; `None` where reads and writes are in another proportion.
pub fn standard_multiple(reads: u64, writes: u64) -> Option<Multiple> {
    let ((one_read, _), (one_write, _)) = (READ_RATE.as_ratio(), WRITE_RATE.as_ratio());
    let alike = u128::from(reads) * u128::from(one_write) == u128::from(writes) * u128::from(one_read);
    Multiple::from_ratio(reads, one_read).filter(|_| alike)
}

/// Why inputs cannot be a load: the key that must change, and what is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Impossible {
    /// The key, as in workload files.
    pub key: &'static str,
    /// A sentence without its full stop.
    pub what: &'static str,
}

impl std::fmt::Display for Impossible {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.what)
    }
}

/// For rates that do not fit the number type.
const TOO_LARGE: Impossible = Impossible { key: "write_rate", what: "the rates are too large to be represented" };

/// The first rule that is broken, as an error.
fn first_broken(rules: &[(bool, &'static str, &'static str)]) -> Result<(), Impossible> {
    let broken = rules.iter().find(|(broken, ..)| *broken);
    broken.map_or(Ok(()), |&(_, key, what)| Err(Impossible { key, what }))
}

/// Rules for both models: copies, defragmentation, and whether there would be no load at all.
fn shared_rules(copies: u32, defrag_below: Share, idle: bool) -> [(bool, &'static str, &'static str); 3] {
    [
        (copies == 0, "replication_factor", "the replication factor must be at least 1"),
        (defrag_below >= Share::WHOLE, "defrag_below", "the defragmentation threshold must be below 100%"),
        (idle, "write_rate", "reads and writes can't both be zero"),
    ]
}

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
    /// Arrivals of this kind, at `rate`.
    pub fn arrival_at(self, rate: Rate) -> Arrival {
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
    let mut criteria = Vec::new();
    for (ms, below) in bounds {
        criteria.push(Criterion {
            stream: "reads".into(),
            measure: Measure::Response,
            bound: Bound::Over { over: Span::from_ms(ms), below },
            window: Some(window),
            least_operations: 0,
            parts: assay_base::MarkedParts::EVERY,
        });
    }
    criteria
}

/// `n / (1 − share)`: how many writes result from one write with defragmentation below `share`. Numerator and
/// denominator.
fn write_amplification(defrag_below: Share) -> (u64, u64) {
    (Share::WHOLE.as_ppb(), Share::WHOLE.as_ppb() - defrag_below.as_ppb())
}
