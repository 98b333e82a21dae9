//! What a slice that was cut short can still prove: that it was broken.
//!
//! An operation over a threshold stays over it, whatever the rest of the slice contains. So as soon as the operations
//! over it make up the bound's share of *all* operations that the complete slice can have, the slice is broken. How
//! many it can have is known where there is a schedule; a closed loop has none, so a part of its slice proves nothing.

use crate::fold::counters::Counters;
use crate::fold::window::Window;
use crate::rules::value::Value;
use assay_record::StreamHead;

/// `value` of a part of `window`, without what the generator caused, as a share of all operations that the complete
/// window can have: the final value is at least this. `shares` is the number of flows among which the stream's schedule
/// is divided; `cell`, the part, covers one of them or all.
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
        // The rest of the slice may bring any amount of work.
        Value::Work { .. } => return None,
    })
}

/// Upper bound on the operations that can complete in the whole window: those carried into it and those that its
/// schedule has. A Poisson count is within six standard deviations of its mean. How much of the schedule was already
/// issued does not help: while an interrupted run drains, time passes without a schedule.
fn most(cell: &Counters, window: &Window, head: &StreamHead, shares: usize) -> Option<u64> {
    let length = window.end_ns.saturating_sub(window.start_ns);
    let expected = head.rate?.as_f64() * length as f64 / 1e9 / shares.max(1) as f64;
    let planned = match head.arrival.as_str() {
        "steady" => expected + 2.0,
        "poisson" => expected + 6.0 * expected.sqrt() + 16.0,
        _ => return None,
    };
    // A number too large for the counter is replaced by the counter's maximum.
    Some(cell.carried_in.saturating_add(cell.scheduled.max(planned.ceil() as u64)))
}
