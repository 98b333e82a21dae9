//! Whether processors were too busy to blame a device: an operation that is a call of a thread ends when the thread, and the
//! workers of the kernel that carry its requests, get a processor again. The kernel says in which part of the time something
//! that could run waited for one (pressure stall information, `/proc/pressure/cpu`, "some").
//!
//! It matters only where a bound is broken: what held although processors were busy, holds
//! ([0105](../../../../docs/decisions/0105-processors-that-were-too-busy.md)).

use crate::rules::value::Value;
use assay_base::Bound;

/// Below this share of the time a machine that has something to do is not called busy: two threads of our own that wake at
/// the same moment make some pressure.
const BUSY: f64 = 0.1;

/// Whether a value that breaks its bound might keep it if nothing had waited for a processor: no more operations are over
/// than there were moments in which something waited. `pressure` is the share of the window; `None` where it is not known.
pub(crate) fn may_hold_without(value: Value, bound: &Bound, pressure: Option<f64>) -> bool {
    let Some(pressure) = pressure.filter(|pressure| *pressure >= BUSY) else { return false };
    match value {
        Value::Share { over, of } => {
            let excused = (of as f64 * pressure.min(1.0)) as u64;
            bound.is_of_time() && Value::Share { over: over.saturating_sub(excused), of }.is_within(bound)
        }
        Value::Mean { .. } => true,
        // What was not done in time has a rule of its own.
        Value::Work { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_operations_are_excused_as_there_were_moments_of_waiting() {
        let bound: Bound = Bound::from_percentile("p99", "10ms".parse().unwrap()).unwrap();
        for (over, pressure, excused) in [
            (50, Some(0.09), false),
            (50, Some(0.1), true),
            (110, Some(0.1), true),
            (111, Some(0.1), false),
            (900, Some(0.5), false),
            (50, None, false),
            (1000, Some(7.0), true),
        ] {
            assert_eq!(
                may_hold_without(Value::Share { over, of: 1000 }, &bound, pressure),
                excused,
                "{over} {pressure:?}"
            );
        }
        let mean = Value::Mean { sum_ns: 1, of: 1 };
        assert!(may_hold_without(mean, &Bound::MeanAtMost("1ms".parse().unwrap()), Some(0.2)));
        let work = Value::Work { operations: 1, bytes: 1, ns: 1 };
        assert!(!may_hold_without(work, &Bound::RateAtLeast("9/s".parse().unwrap()), Some(0.2)));
    }
}
