//! The operations of a plan in the order of their intended times, without a device.
//!
//! The intended times come from the schedules. A closed loop has no schedule, because its pace depends on the device.
//! If a plan has only closed loops, they take turns in proportion to their numbers of operations in flight.

use super::meant::EVICTIONS;
use crate::arrival::Part;
use crate::generator::Generator;
use crate::mix::Line;
use crate::oltp::Load;
use crate::plan::{Arrival, Plan, Stream};
use assay_base::{Geometry, Instant, Op};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The operations of a plan in the order of their intended times.
#[derive(Debug)]
pub struct Trace(TraceSource);

#[derive(Debug)]
enum TraceSource {
    /// Streams that are drawn together.
    Joint(Box<Load>),
    /// Streams that are drawn independently of each other.
    Flows(Flows),
}

#[derive(Debug)]
struct Flows {
    flows: Vec<Generator>,
    /// The stream of each flow, by its position in the plan.
    streams: Vec<u16>,
    /// For each flow without a schedule: the time between two of its operations, in nanoseconds.
    turns: Vec<u64>,
    /// How many operations each flow has left before it ends.
    left: Vec<u64>,
    /// The intended time of each flow's next operation.
    due: BinaryHeap<Reverse<(Instant, usize)>>,
}

/// The time assumed between two operations of a closed loop with one operation in flight, in nanoseconds. Only its
/// ratio to that of other loops matters.
const TURN_NS: u64 = 1_000_000_000;

impl Trace {
    /// The trace of a plan on targets of these geometries. The error says why there is none.
    pub fn new(plan: &Plan, geometries: &[Geometry]) -> Result<Trace, String> {
        Trace::for_target(plan, None, geometries, Instant::ZERO)
    }

    /// The trace of one target only, from `start` on.
    pub fn of_target(plan: &Plan, target: u16, geometries: &[Geometry], start: Instant) -> Result<Trace, String> {
        Trace::for_target(plan, Some(target), geometries, start)
    }

    fn for_target(plan: &Plan, target: Option<u16>, geometries: &[Geometry], start: Instant) -> Result<Trace, String> {
        if plan.load.oltp().is_some() {
            let whole = Part { index: 0, of: 1 };
            return Load::new(plan, target, geometries, whole, start)
                .map(|load| Trace(TraceSource::Joint(Box::new(load))));
        }
        let flows = plan.load.stream_targets().filter(|(_, on)| target.is_none_or(|target| target == *on));
        let with_geometry = flows.map(|flow| (flow, geometries.get(usize::from(flow.1)).copied()));
        Flows::from_plan(plan, with_geometry, start).map(|flows| Trace(TraceSource::Flows(flows)))
    }

    /// The next operation, with its intended time and its stream.
    pub fn next_wanted(&mut self) -> Option<(Instant, u16, Op)> {
        match &mut self.0 {
            TraceSource::Flows(flows) => flows.next_wanted(),
            TraceSource::Joint(load) => load.next_wanted().map(|next| (next.wanted, next.stream, next.op)),
        }
    }
}

impl Flows {
    fn from_plan(
        plan: &Plan,
        all: impl Iterator<Item = ((u16, u16), Option<Geometry>)>,
        start: Instant,
    ) -> Result<Flows, String> {
        let whole = Part { index: 0, of: 1 };
        let (mut flows, mut streams, mut turns, mut left) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for ((stream, target), geometry) in all {
            let described = &plan.load.streams[usize::from(stream)];
            // These streams have no addresses of their own to follow: read-back and evictions follow from what the
            // other streams do, and a flush has no address.
            if described.reads_back()
                || (plan.caches.simulated.is_some() && described.name == EVICTIONS)
                || described.as_flush().is_some()
            {
                continue;
            }
            let name = described.name.escape_debug();
            if let Some(other) = described.arrival.followed_stream() {
                return Err(format!(
                    "the stream \"{name}\" follows {other}, which is not done here: remove it (of a mail store: copies = 1)"
                ));
            }
            if described.arrival.played_recording().is_some() {
                return Err(format!("the stream \"{name}\" plays a recording, which is not followed here: remove it"));
            }
            if !plan.load.life_of(stream).is_by_operations() {
                return Err(format!(
                    "when the stream \"{name}\" begins or ends depends on time or on others; remove start, for, bytes and after"
                ));
            }
            let geometry = geometry.ok_or("a target has no size")?;
            let flow = Generator::new(plan, stream, target, geometry, whole, start)
                .ok_or_else(|| format!("the stream \"{name}\" reads and writes no blocks, or its rate does not fit"))?;
            if plan.load.loop_of(stream).is_some()
                && described.as_block().is_some_and(|block| block.address.has_cursor() || block.address.is_behind())
            {
                return Err(format!("the places of the stream \"{name}\" follow from those of others in its loop"));
            }
            turns.push((TURN_NS as f64 / flow_weight(plan, stream, &flow).max(f64::MIN_POSITIVE)) as u64);
            left.push(described.life.operations.unwrap_or(u64::MAX));
            flows.push(flow);
            streams.push(stream);
        }
        let open = flows.iter().filter(|flow| flow.schedule.is_some()).count();
        if open > 0 && open < flows.len() {
            return Err(
                "some of its streams are closed loops and some have rates: how they mix depends on the device; \
                        give each stream a rate, or none"
                    .to_owned(),
            );
        }
        let mut trace = Flows { flows, streams, turns, left, due: BinaryHeap::new() };
        for flow in 0..trace.flows.len() {
            trace.store_next(flow, start);
        }
        Ok(trace)
    }

    /// Stores the intended time of a flow's next operation. The intended time of its last operation was `before`.
    fn store_next(&mut self, flow: usize, before: Instant) {
        if self.left[flow] == 0 {
            return;
        }
        self.left[flow] -= 1;
        let due = match &self.flows[flow].schedule {
            Some(schedule) => schedule.next_due(),
            None => Instant::from_ns(before.as_ns().saturating_add(self.turns[flow])),
        };
        if due != Instant::FAR {
            self.due.push(Reverse((due, flow)));
        }
    }
}

/// The pace of a flow without a schedule: its number of operations in flight or, in a loop, its share of the loop's.
fn flow_weight(plan: &Plan, stream: u16, flow: &Generator) -> f64 {
    let Some(looped) = plan.load.loop_of(stream) else { return f64::from(flow.in_flight) };
    let targets = looped.turns.map_or(1, |_| plan.load.targets_of(stream).count().max(1)) as f64;
    let Some((share, line)) = share_of_loop(&plan.load.streams[usize::from(stream)], &looped.name) else { return 0.0 };
    let all = plan.load.streams.iter().filter_map(|stream| share_of_loop(stream, &looped.name));
    let beside = all.filter(|(_, other)| *other == line);
    let among: f64 = beside.map(|(share, _)| share).sum();
    let of_line = looped
        .lines
        .iter()
        .find(|known| Some(&known.name) == line)
        .map_or(1.0, |own| operations_of_bursts(own) / looped.lines.iter().map(operations_of_bursts).sum::<f64>());
    f64::from(looped.slot_count()) / targets * of_line * share / among.max(f64::MIN_POSITIVE)
}

/// The share and the line of a stream in the loop of this name; `None` if it is in another loop or in none.
fn share_of_loop<'a>(stream: &'a Stream, loop_name: &str) -> Option<(f64, Option<&'a String>)> {
    match &stream.arrival {
        Arrival::Looped { looped, share, line } if looped == loop_name => Some((share.as_f64(), line.as_ref())),
        _ => None,
    }
}

/// How many operations the bursts of a line have, relative to other lines.
fn operations_of_bursts(line: &Line) -> f64 {
    line.weight as f64 * f64::from(line.burst)
}

impl Flows {
    fn next_wanted(&mut self) -> Option<(Instant, u16, Op)> {
        let Reverse((wanted, flow)) = self.due.pop()?;
        let generator = &mut self.flows[flow];
        let op = generator.next_operation(wanted);
        if let Some(schedule) = &mut generator.schedule {
            schedule.advance_to_next();
        }
        self.store_next(flow, wanted);
        Some((wanted, self.streams[flow], op))
    }
}

impl Iterator for Trace {
    type Item = Op;

    fn next(&mut self) -> Option<Op> {
        self.next_wanted().map(|(_, _, op)| op)
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
        let plan = workload::read_workload("t", &file).unwrap().make_plan(&adjust).unwrap();
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
    fn a_stream_ends_after_its_operations() {
        let both = stream("r", "read", "in_flight = 3\noperations = 100")
            + &stream("w", "write", "in_flight = 1\noperations = 10");
        assert_eq!(trace(&both).unwrap().count(), 110);
    }

    #[test]
    fn streams_of_a_loop_share_what_it_has_in_flight() {
        let mixed = "[[loop]]\nname = \"users\"\nin_flight = 4\n".to_owned()
            + &stream("r", "read", "loop = \"users\"\nshare = \"70%\"")
            + &stream("w", "write", "loop = \"users\"\nshare = \"30%\"");
        let ops: Vec<Op> = trace(&mixed).unwrap().take(10_000).collect();
        let reads = ops.iter().filter(|op| op.direction == Direction::Read).count();
        assert!((6990..=7010).contains(&reads), "{reads}");
        let cursor = stream("r", "read", "loop = \"users\"\naddress = \"sequential\"");
        let cursor = "[[loop]]\nname = \"users\"\nin_flight = 4\n".to_owned() + &cursor;
        assert!(trace(&cursor).unwrap_err().contains("follow from those of others"));
    }

    #[test]
    fn what_depends_on_the_device_is_refused() {
        let mixed = stream("r", "read", "rate = \"3000/s\"") + &stream("w", "write", "in_flight = 1");
        assert!(trace(&mixed).unwrap_err().contains("depends on the device"));
    }
}
