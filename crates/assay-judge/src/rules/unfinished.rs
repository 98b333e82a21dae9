//! What a slice that was cut short proves all the same: that it was broken.
//!
//! An operation over a threshold stays over it, whatever the rest of the slice brings. So as soon as those that are over make
//! the bound's share of *all* operations that the whole slice can hold, the slice is broken. How many it can hold is known
//! where the schedule says it; a closed loop has none, and a part of its slice proves nothing.

use crate::fold::counters::Counters;
use crate::fold::window::Window;
use crate::rules::value::Value;
use assay_record::StreamHead;

/// `value` of a part of `window`, the generator's doing not counted, and over all operations that the whole window can
/// hold: the final value is at least this. `shares` is among how many flows the stream's schedule is divided, of which `cell`, the
/// part, holds one or all.
pub(crate) fn at_least(
    value: Value,
    cell: &Counters,
    window: &Window,
    (head, shares): (&StreamHead, usize),
) -> Option<Value> {
    let most = most(cell, window, head, shares)?;
    Some(match value {
        Value::Share { over, of } => Value::Share { over, of: of.max(most) },
        Value::Mean { sum_ns, of } => Value::Mean { sum_ns, of: of.max(most) },
        // The rest of the slice may bring any amount.
        Value::Work { .. } => return None,
    })
}

/// The most operations that can complete in the whole window: those that were carried into it and those that its schedule holds.
/// A Poisson count is within six standard deviations of its mean. How much of the schedule is there already is of no use: while
/// an interrupted run waits for what is in flight, time goes on without one.
fn most(cell: &Counters, window: &Window, head: &StreamHead, shares: usize) -> Option<u64> {
    let length = window.end_ns.saturating_sub(window.start_ns);
    let expected = head.rate?.as_f64() * length as f64 / 1e9 / shares.max(1) as f64;
    let planned = match head.arrival.as_str() {
        "steady" => expected + 2.0,
        "poisson" => expected + 6.0 * expected.sqrt() + 16.0,
        _ => return None,
    };
    // More than the counter holds is its largest value.
    Some(cell.carried_in.saturating_add(cell.scheduled.max(planned.ceil() as u64)))
}
