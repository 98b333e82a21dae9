//! What the header, the plan and the criteria say about one stream.

use assay_base::{Bound, Criterion, MarkedParts, Share};
use assay_record::{Header, PlanHead, PlannedAddress, StreamHead};

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
    /// The share of its operations that a criterion allows to fail; `None` where none speaks of errors, and each fails the run.
    pub may_fail: Option<Share>,
    /// The parts of the run in which they may.
    pub may_fail_in: MarkedParts,
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
            may_fail_in: parts_with_failures(&head.name, criteria),
            head,
        }
    }
}

/// The smallest share of a stream's operations that a criterion allows to fail.
fn may_fail(stream: &str, criteria: &[Criterion]) -> Option<Share> {
    let about_stream = criteria.iter().filter(|criterion| criterion.stream == stream);
    about_stream
        .filter_map(|criterion| match criterion.bound {
            Bound::ErrorsAtMost(share) => Some(share),
            _ => None,
        })
        .min()
}

/// The parts of a run in which a criterion allows operations of a stream to fail.
fn parts_with_failures(stream: &str, criteria: &[Criterion]) -> MarkedParts {
    let about_stream = criteria.iter().filter(|criterion| criterion.stream == stream);
    about_stream
        .filter(|criterion| matches!(criterion.bound, Bound::ErrorsAtMost(_)))
        .fold(MarkedParts::NONE, |sum, criterion| sum.joined_with(criterion.parts))
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
