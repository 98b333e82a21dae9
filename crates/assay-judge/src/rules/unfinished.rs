//! What a slice that was cut short can still prove: that it was broken.
//!
//! An operation over a threshold stays over it, whatever the rest of the slice contains. So as soon as the operations
//! over it make up the bound's share of *all* operations that the complete slice can have, the slice is broken. How
//! many it can have is known where there is a schedule; a closed loop has none, so a part of its slice proves nothing.

use crate::fold::counters::Counters;
use crate::fold::stream_layout::StreamLayout;
use crate::fold::window::Window;
use crate::rules::value::Value;

/// `value` of a part of `window`, without what the generator caused, as a share of all operations that the complete
/// window can have: the final value is at least this. `streams` are those that it covers, and `shares` is the number of flows among which their
/// schedule is divided; `cell`, the part, covers one of them or all.
pub(crate) fn at_least(
    value: Value,
    cell: &Counters,
    window: &Window,
    streams: &[StreamLayout],
    shares: usize,
) -> Option<Value> {
    let most = most_completions(cell, window, streams, shares)?;
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
fn most_completions(cell: &Counters, window: &Window, streams: &[StreamLayout], shares: usize) -> Option<u64> {
    let length = window.end_ns.saturating_sub(window.start_ns);
    let planned = streams.iter().map(|stream| expected_at_most(&stream.head, length, shares)).sum::<Option<f64>>()?;
    // A number too large for the counter is replaced by the counter's maximum.
    Some(cell.carried_in.saturating_add(cell.work.scheduled.max(planned.ceil() as u64)))
}

/// The most operations that the schedule of a stream has in this time; `None` where it has no limit.
fn expected_at_most(head: &assay_record::StreamHead, length: u64, shares: usize) -> Option<f64> {
    let expected = head.rate?.as_f64() * length as f64 / 1e9 / shares.max(1) as f64;
    match head.arrival.as_str() {
        "steady" => Some(expected + 2.0),
        "poisson" => Some(expected + 6.0 * expected.sqrt() + 16.0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::fixture;
    use crate::fold::layout::Layout;
    use assay_base::Rate;
    use assay_record::{FlowWork, StreamHead};

    #[test]
    fn a_part_is_a_share_of_all_that_the_whole_can_have() {
        let layout = Layout::new(&fixture::header(), &[]).unwrap();
        let window = fixture::window(&layout);
        let stream = |arrival: &str, rate: Option<u64>| {
            let rate = rate.map(Rate::per_second);
            let head = StreamHead { arrival: arrival.into(), rate, ..layout.streams[0].head.clone() };
            StreamLayout { head, ..layout.streams[0].clone() }
        };
        for (arrival, rate, carried_in, scheduled, shares, most) in [
            // A hundred per second, for ten seconds, and two at its ends.
            ("steady", Some(100), 0, 7, 1, Some(1002)),
            ("steady", Some(100), 5, 7, 1, Some(1007)),
            ("steady", Some(100), 0, 7, 4, Some(252)),
            ("steady", Some(100), 3, 2000, 1, Some(2003)),
            // 1000 and six standard deviations of 31.6, and sixteen.
            ("poisson", Some(100), 0, 7, 1, Some(1206)),
            ("closed", Some(100), 0, 7, 1, None),
            ("steady", None, 0, 7, 1, None),
        ] {
            let cell = Counters { carried_in, work: FlowWork { scheduled, ..FlowWork::default() }, ..Counters::new(1) };
            let (stream, value) = (stream(arrival, rate), Value::Share { over: 9, of: 20 });
            let found = at_least(value, &cell, &window, std::slice::from_ref(&stream), shares);
            assert_eq!(
                found,
                most.map(|of| Value::Share { over: 9, of }),
                "{arrival} {rate:?} {carried_in} {scheduled}"
            );
            let mean =
                at_least(Value::Mean { sum_ns: 9, of: 5000 }, &cell, &window, std::slice::from_ref(&stream), shares);
            assert_eq!(mean, most.map(|_| Value::Mean { sum_ns: 9, of: 5000 }), "more than it can have were counted");
            let work = Value::Work { operations: 9, bytes: 9, ns: 9 };
            assert_eq!(at_least(work, &cell, &window, std::slice::from_ref(&stream), shares), None);
        }
    }
}
