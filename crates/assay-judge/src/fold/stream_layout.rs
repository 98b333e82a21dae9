//! What the header, the plan and the criteria say about one stream.

use assay_base::{Bound, Criterion, Share};
use assay_record::{Header, StreamHead};

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
}

impl StreamLayout {
    /// The stream at this place of the header; its flows are still missing.
    pub(crate) fn new(header: &Header, at: usize, criteria: &[Criterion]) -> StreamLayout {
        let head = header.streams[at].clone();
        let planned = &header.plan["streams"][at];
        StreamLayout {
            flows: Vec::new(),
            sequential: planned.get("address").is_some_and(is_sequential),
            durable: planned.get("durable").is_some_and(|it| it == true),
            reads_back: planned["address"] == "written",
            may_fail: may_fail(&head.name, criteria),
            head,
        }
    }
}

/// The smallest share of a stream's operations that a criterion allows to fail.
fn may_fail(stream: &str, criteria: &[Criterion]) -> Option<Share> {
    let allowed =
        criteria.iter().filter(|criterion| criterion.stream == stream).filter_map(|criterion| match criterion.bound {
            Bound::ErrorsAtMost(share) => Some(share),
            _ => None,
        });
    allowed.min()
}

/// Whether one operation of such an address lies behind another.
fn is_sequential(address: &serde_json::Value) -> bool {
    address == "sequential"
        || address == "appended"
        || ["/runs", "/behind", "/asu/place/run"].iter().any(|at| address.pointer(at).is_some())
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

    #[test]
    fn addresses_that_lie_behind_each_other_are_sequential() {
        use serde_json::json;
        for (address, sequential) in [
            (json!("sequential"), true),
            (json!("appended"), true),
            (json!("uniform"), false),
            (json!({"runs": 4}), true),
            (json!({"behind": "writes"}), true),
            (json!({"asu": {"place": {"run": 8}}}), true),
            (json!({"asu": {"place": "uniform"}}), false),
        ] {
            assert_eq!(is_sequential(&address), sequential, "{address}");
        }
    }
}
