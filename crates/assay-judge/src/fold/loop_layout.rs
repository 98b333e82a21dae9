//! The closed loops that a header describes.

use assay_record::{Header, LoopHead};

/// A closed loop, as the header describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopLayout {
    /// Indices of its flows.
    pub flows: Vec<usize>,
    /// Indices of its streams.
    pub streams: Vec<usize>,
    /// How many operations it has in flight.
    pub slots: u64,
    /// It ends after a number of operations or bytes: when, only its operations show.
    pub by_number: bool,
}

impl LoopLayout {
    /// The closed loops of a header; the error says which part of it is impossible.
    pub(crate) fn all(header: &Header) -> Result<Vec<LoopLayout>, String> {
        let one = |(index, head): (usize, &LoopHead)| {
            let flows: Vec<usize> = head.flows.iter().map(|flow| *flow as usize).collect();
            if flows.is_empty() || flows.iter().any(|flow| *flow >= header.flows.len()) {
                return Err(format!("closed loop {index} has a flow that is not there"));
            }
            let mut streams: Vec<usize> = flows.iter().map(|flow| header.flows[*flow].stream.into()).collect();
            streams.dedup();
            let by_number = streams.iter().any(|stream| ends_by_number(&header.plan, *stream));
            Ok(LoopLayout { flows, streams, slots: head.slots.into(), by_number })
        };
        if header.loops.len() > header.flows.len() {
            return Err("more closed loops than streams on targets".to_owned());
        }
        header.loops.iter().enumerate().map(one).collect()
    }
}

/// Whether the plan ends a stream, or the loop that it belongs to, after a number of operations or bytes.
fn ends_by_number(plan: &serde_json::Value, stream: usize) -> bool {
    let stream = &plan["streams"][stream];
    let name = stream.pointer("/arrival/looped/looped");
    let looped = plan["loops"].as_array().into_iter().flatten().find(|it| name.is_some_and(|name| it["name"] == *name));
    [Some(stream), looped].into_iter().flatten().any(|it| !it["operations"].is_null() || !it["bytes"].is_null())
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
            assert_eq!(LoopLayout::all(&header).is_ok(), fits, "{:?}", header.loops);
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
            header.plan = plan;
            assert_eq!(LoopLayout::all(&header).unwrap()[0].by_number, by_number, "{}", header.plan);
        }
    }
}
