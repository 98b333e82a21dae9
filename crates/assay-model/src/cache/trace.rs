//! The operations of a plan in the order in which they are wanted, without a device.
//!
//! A schedule says when. A closed loop has none: how often it comes round is the device's doing. Where a plan has nothing else,
//! its loops take turns, each as often as it has operations in flight.

use crate::arrival::Part;
use crate::generator::Generator;
use crate::plan::Plan;
use assay_base::{Geometry, Instant, Op};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// See the module.
#[derive(Debug)]
pub struct Trace {
    flows: Vec<Generator>,
    /// When each flow wants its next operation.
    due: BinaryHeap<Reverse<(Instant, usize)>>,
}

/// How long a closed loop with one in flight takes for a turn.
const TURN_NS: u64 = 1_000_000_000;

impl Trace {
    /// The trace of a plan on targets of these geometries. The error says why there is none.
    pub fn new(plan: &Plan, geometries: &[Geometry]) -> Result<Trace, String> {
        let whole = Part { index: 0, of: 1 };
        let mut flows = Vec::new();
        for (stream, target) in plan.flows() {
            let it = &plan.streams[usize::from(stream)];
            if it.reads_back() {
                continue;
            }
            let name = it.name.escape_debug();
            let geometry = geometries.get(usize::from(target)).ok_or("a target has no size")?;
            let flow = Generator::new(plan, stream, target, *geometry, whole, Instant::ZERO)
                .ok_or_else(|| format!("the stream \"{name}\" reads and writes no blocks, or its rate does not fit"))?;
            flows.push(flow);
        }
        let open = flows.iter().filter(|flow| flow.schedule.is_some()).count();
        if open > 0 && open < flows.len() {
            return Err(
                "some of its streams are closed loops and some have rates: how they mix depends on the device; \
                        give each stream a rate, or none"
                    .to_owned(),
            );
        }
        let mut trace = Trace { flows, due: BinaryHeap::new() };
        for flow in 0..trace.flows.len() {
            trace.goes_on(flow, Instant::ZERO);
        }
        Ok(trace)
    }

    /// Notes when a flow wants its next operation, the last of which was wanted at `before`.
    fn goes_on(&mut self, flow: usize, before: Instant) {
        let it = &self.flows[flow];
        let due = match &it.schedule {
            Some(schedule) => schedule.due(),
            None if it.in_flight == 0 => return,
            None => Instant::from_ns(before.as_ns().saturating_add(TURN_NS / u64::from(it.in_flight))),
        };
        if due != Instant::FAR {
            self.due.push(Reverse((due, flow)));
        }
    }
}

impl Iterator for Trace {
    type Item = Op;

    fn next(&mut self) -> Option<Op> {
        let Reverse((wanted, flow)) = self.due.pop()?;
        let it = &mut self.flows[flow];
        let op = it.operation(wanted);
        if let Some(schedule) = &mut it.schedule {
            schedule.advance();
        }
        self.goes_on(flow, wanted);
        Some(op)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload;
    use assay_base::Direction;

    fn trace(streams: &str) -> Result<Trace, String> {
        let file = format!("model = \"streams\"\n{streams}");
        let adjust = workload::Adjust { targets: 1, seed: 1, ..workload::Adjust::default() };
        let plan = workload::read("t", &file).unwrap().plan(&adjust).unwrap();
        Trace::new(&plan, &[Geometry { size: 1 << 30, block: 512 }])
    }

    fn stream(name: &str, direction: &str, pace: &str) -> String {
        format!("[[stream]]\nname = \"{name}\"\ndirection = \"{direction}\"\nsize = \"4KiB\"\n{pace}\n")
    }

    #[test]
    fn streams_come_in_proportion_to_their_rates_and_loops_to_what_they_have_in_flight() {
        for pace in [["rate = \"3000/s\"", "rate = \"1000/s\""], ["in_flight = 3", "in_flight = 1"]] {
            let both = stream("r", "read", pace[0]) + &stream("w", "write", pace[1]);
            let ops: Vec<Op> = trace(&both).unwrap().take(40_000).collect();
            let reads = ops.iter().filter(|op| op.direction == Direction::Read).count();
            assert!((29_500..30_500).contains(&reads), "{pace:?}: {reads}");
        }
    }

    #[test]
    fn what_depends_on_the_device_is_refused() {
        let mixed = stream("r", "read", "rate = \"3000/s\"") + &stream("w", "write", "in_flight = 1");
        assert!(trace(&mixed).unwrap_err().contains("depends on the device"));
    }
}
