//! The disk's own account: what it answered, and how long each request took from its arrival to its answer.

use std::collections::BTreeMap;
use std::fmt;

/// Counts and service times since the last reset. Only answered operations count.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Truth {
    /// Reads answered in full.
    pub reads: u64,
    /// Writes acknowledged in full, including the damaged ones.
    pub writes: u64,
    /// Flushes that succeeded.
    pub flushes: u64,
    /// Reads answered with fewer bytes than requested.
    pub short: u64,
    /// Failed operations by error number.
    pub errors: BTreeMap<i32, u64>,
    /// Offsets of writes stored with a wrong byte.
    pub corrupted: Vec<u64>,
    /// Offsets of writes acknowledged and not stored.
    pub lost: Vec<u64>,
    /// Offsets of writes stored elsewhere.
    pub misdirected: Vec<u64>,
    /// Offsets of writes stored in part.
    pub torn: Vec<u64>,
    /// Requests taken and not answered yet.
    pub held: u64,
    /// Service times of the operations answered in full, in nanoseconds, in the order of completion.
    pub service_ns: Vec<u64>,
}

impl Truth {
    /// Number of failed operations over all kinds of errors.
    pub fn failed(&self) -> u64 {
        self.errors.values().sum()
    }

    /// The service time that the share `q` of the operations does not exceed, in nanoseconds; `None` without
    /// operations.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        let mut sorted = self.service_ns.clone();
        sorted.sort_unstable();
        let rank = (q * sorted.len() as f64).ceil() as usize;
        sorted.get(rank.clamp(1, sorted.len().max(1)) - 1).copied()
    }

    /// The share of operations whose service took longer than `ns`.
    pub fn share_over(&self, ns: u64) -> f64 {
        self.service_ns.iter().filter(|t| **t > ns).count() as f64 / self.service_ns.len().max(1) as f64
    }
}

impl fmt::Display for Truth {
    /// One `key value` per line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lists = [("corrupted", &self.corrupted), ("lost", &self.lost)];
        let more = [("misdirected", &self.misdirected), ("torn", &self.torn)];
        writeln!(f, "reads {}\nwrites {}\nflushes {}", self.reads, self.writes, self.flushes)?;
        writeln!(f, "short {}\nheld {}", self.short, self.held)?;
        for (name, offsets) in lists.into_iter().chain(more) {
            writeln!(f, "{name} {}", offsets.len())?;
        }
        for (errno, n) in &self.errors {
            writeln!(f, "errno_{errno} {n}")?;
        }
        for (name, q) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99_9", 0.999), ("max", 1.0)] {
            if let Some(ns) = self.quantile(q) {
                writeln!(f, "service_{name}_ns {ns}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_ranks() {
        let truth = Truth { service_ns: (1..=1000).rev().collect(), ..Truth::default() };
        for (q, expected) in [(0.0, 1), (0.5, 500), (0.99, 990), (0.999, 999), (1.0, 1000)] {
            assert_eq!(truth.quantile(q), Some(expected), "{q}");
        }
        assert_eq!(truth.share_over(900), 0.1);
        assert_eq!(Truth::default().quantile(0.5), None);
        assert!(truth.to_string().contains("service_p99_ns 990\n"));
    }
}
