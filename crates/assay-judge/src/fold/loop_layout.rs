//! The closed loops that a header describes.

use assay_record::{Header, LoopHead, PlanHead};

/// A closed loop, as the header describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopLayout {
    /// Indices of its flows.
    pub flows: Vec<usize>,
    /// Indices of its streams.
    pub streams: Vec<usize>,
    /// How many operations it has in flight.
    pub slots: u64,
    /// Whether it ends after a number of operations or bytes; only its operations show when.
    pub by_number: bool,
}

impl LoopLayout {
    /// The closed loops of a header with its plan; the error says which part of the header is impossible.
    pub(crate) fn all_from_plan(header: &Header, plan: &PlanHead) -> Result<Vec<LoopLayout>, String> {
        if header.loops.len() > header.flows.len() {
            return Err("more closed loops than streams on targets".to_owned());
        }
        header.loops.iter().enumerate().map(|(index, head)| LoopLayout::new(header, plan, index, head)).collect()
    }

    fn new(header: &Header, plan: &PlanHead, index: usize, head: &LoopHead) -> Result<LoopLayout, String> {
        let flows: Vec<usize> = head.flows.iter().map(|flow| *flow as usize).collect();
        if flows.is_empty() || flows.iter().any(|flow| *flow >= header.flows.len()) {
            return Err(format!("closed loop {index} has a flow that is not there"));
        }
        let mut streams: Vec<usize> = flows.iter().map(|flow| header.flows[*flow].stream.into()).collect();
        streams.dedup();
        let by_number = streams.iter().any(|stream| plan.ends_by_number(*stream));
        Ok(LoopLayout { flows, streams, slots: head.slots.into(), by_number })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::fixture;

    #[test]
    fn a_loop_that_names_what_is_not_there_is_refused() {
        let mut header = fixture::header();
        for (flows, fits) in [(vec![0], true), (vec![0, 1], true), (vec![2], false), (vec![], false)] {
            header.loops = vec![LoopHead { flows, slots: 4 }];
            assert_eq!(LoopLayout::all_from_plan(&header, &PlanHead::default()).is_ok(), fits, "{:?}", header.loops);
        }
    }

    #[test]
    fn the_plan_says_whether_a_loop_ends_by_number() {
        let mut header = fixture::header();
        header.loops = vec![LoopHead { flows: vec![0, 1], slots: 4 }];
        let looped = serde_json::json!({"arrival": {"looped": {"looped": "mix", "share": "100%"}}});
        for (plan, by_number) in [
            (serde_json::json!({}), false),
            (serde_json::json!({"streams": [{"operations": 5}, {}]}), true),
            (serde_json::json!({"streams": [{"for": "5s"}, {"bytes": "4KiB"}]}), true),
            (serde_json::json!({"streams": [looped, looped], "loops": [{"name": "mix", "operations": 7}]}), true),
            (serde_json::json!({"streams": [looped, looped], "loops": [{"name": "other", "operations": 7}]}), false),
        ] {
            let loops = LoopLayout::all_from_plan(&header, &PlanHead::parse(&plan)).unwrap();
            assert_eq!(loops[0].by_number, by_number, "{plan}");
        }
    }
}
