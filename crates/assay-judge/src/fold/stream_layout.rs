//! What the header, the plan and the criteria say about one stream.

use assay_base::{Bound, Criterion, MarkedPart, Share};
use assay_record::{Header, PlanHead, PlannedAddress, StreamHead};
use std::collections::BTreeMap;

/// A stream, its flows, and what the plan and the criteria say about it.
#[derive(Clone, Debug)]
pub struct StreamLayout {
    /// As the header describes it.
    pub head: StreamHead,
    /// The indices of its flows.
    pub flows: Vec<usize>,
    /// Whether it is sequential, so that the kernel may merge neighbouring requests.
    pub sequential: bool,
    /// Whether its writes are durable.
    pub durable: bool,
    /// Whether it reads back what the run has written, after the measured time.
    pub reads_back: bool,
    /// The share of its operations that a criterion allows to fail in each kind of part of the run; in one that is not here none speaks
    /// of errors, and each fails the run.
    pub may_fail: BTreeMap<MarkedPart, Share>,
}

impl StreamLayout {
    /// The stream at this place of the header; its flows are still missing.
    pub(crate) fn new(header: &Header, plan: &PlanHead, at: usize, criteria: &[Criterion]) -> StreamLayout {
        let head = header.streams[at].clone();
        let planned = plan.stream_at(at);
        let address = planned.map_or(PlannedAddress::Other, |stream| stream.address);
        StreamLayout {
            flows: Vec::new(),
            sequential: address == PlannedAddress::Sequential,
            durable: planned.is_some_and(|stream| stream.durable),
            reads_back: address == PlannedAddress::Written,
            may_fail: may_fail(&head.name, criteria),
            head,
        }
    }
}

/// The smallest share of a stream's operations that a criterion allows to fail, in each kind of part of which one speaks.
fn may_fail(stream: &str, criteria: &[Criterion]) -> BTreeMap<MarkedPart, Share> {
    let share_in = |kind: MarkedPart| {
        let about_part =
            criteria.iter().filter(|criterion| criterion.stream == stream && criterion.parts.has_part(kind));
        let shares = about_part.filter_map(|criterion| match criterion.bound {
            Bound::ErrorsAtMost(share) => Some(share),
            _ => None,
        });
        shares.min().map(|share| (kind, share))
    };
    MarkedPart::ALL.into_iter().filter_map(share_in).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::fixture;
    use crate::fold::layout::Layout;

    #[test]
    fn what_the_plan_says_of_a_stream_is_of_that_stream() {
        let plan = serde_json::json!({"streams": [
            {"address": "sequential", "durable": false},
            {"durable": true, "address": "uniform"},
        ]});
        let layout = Layout::new(&Header { plan, ..fixture::header() }, &[]).unwrap();
        let says = |layout: &Layout| layout.streams.iter().map(|it| (it.durable, it.sequential)).collect::<Vec<_>>();
        assert_eq!(says(&layout), [(false, true), (true, false)]);
        let silent = Layout::new(&fixture::header(), &[]).unwrap();
        assert_eq!(says(&silent), [(false, false); 2]);
    }
}
