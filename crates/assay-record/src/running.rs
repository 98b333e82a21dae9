//! When each flow ran within the measured time: the plan in the header says it, and where numbers of operations or the
//! ends of other streams decide, events of the run.
//!
//! A rate is of the time in which something ran. What two flows did one after the other is therefore not added: their
//! operations are, over the time that both cover together ([`Stretches`]).

use crate::event::{Event, EventKind};
use crate::header::Header;
use crate::plan_head::{PlanHead, PlannedLife};

/// The beginning or the end of a flow, as an event reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LifeNews {
    /// Index of the flow.
    pub flow: usize,
    /// The time at which it happened, on the time line of the segment.
    pub at_ns: u64,
    /// Whether it has begun; otherwise the last of its operations has completed.
    pub begins: bool,
}

/// When each flow ran; see the module.
#[derive(Clone, Debug, Default)]
pub struct Running {
    /// Empty where every stream lasts as long as the run.
    streams: Vec<PlannedLife>,
    flows: Vec<FlowTimes>,
    /// When the last operation of all recordings completed, once all of them are done.
    recordings_completed_ns: Option<u64>,
}

/// What the run said about one flow, in measured time.
#[derive(Clone, Debug, Default)]
struct FlowTimes {
    stream: usize,
    begun_ns: Option<u64>,
    /// When the last of its operations completed, once it is done.
    completed_ns: Option<u64>,
}

impl Running {
    /// Creates the account of the flows that a header lists.
    pub fn from_header(header: &Header) -> Running {
        Running::new(header, &PlanHead::parse(&header.plan))
    }

    /// The same with the plan of that header.
    pub fn new(header: &Header, plan: &PlanHead) -> Running {
        let streams: Vec<PlannedLife> = (0..header.streams.len()).map(|stream| plan.life_at(stream)).collect();
        if streams.iter().all(|life| !life.is_special()) {
            return Running::default();
        }
        Running {
            streams,
            flows: header
                .flows
                .iter()
                .map(|flow| FlowTimes { stream: usize::from(flow.stream), ..FlowTimes::default() })
                .collect(),
            recordings_completed_ns: None,
        }
    }

    /// The beginning or the end of a flow that an event reports; `None` for any other event.
    pub fn life_news(&self, event: &Event) -> Option<LifeNews> {
        let flow = usize::try_from(number_in(event, "flow")?).ok().filter(|flow| *flow < self.flows.len())?;
        match event.what {
            EventKind::StreamBegin => Some(LifeNews { flow, at_ns: number_in(event, "begun_ns")?, begins: true }),
            EventKind::StreamEnd => Some(LifeNews { flow, at_ns: number_in(event, "completed_ns")?, begins: false }),
            _ => None,
        }
    }

    /// Takes what an event said, at `at_ns` of the measured time.
    pub fn note_life_news(&mut self, news: LifeNews, at_ns: u64) {
        let Some(flow) = self.flows.get_mut(news.flow) else { return };
        if news.begins {
            flow.begun_ns = Some(at_ns)
        } else {
            flow.completed_ns = Some(at_ns)
        }
        self.recordings_completed_ns = self.last_of_recordings();
    }

    /// The measurement begins again from its beginning: what was said will be said again.
    pub fn start_over(&mut self) {
        for flow in &mut self.flows {
            (flow.begun_ns, flow.completed_ns) = (None, None);
        }
        self.recordings_completed_ns = None;
    }

    /// The part of an interval in which a flow ran, in measured time: from its beginning until the last of its
    /// operations completed. `None` where it did not run; what completes there is in no rate.
    ///
    /// A flow whose time is over may have operations in flight that complete later. Those that complete within the
    /// interval in which its time ended cannot be told from the others, so its rate is over their time too.
    pub fn running_part(&self, flow: usize, from_ns: u64, to_ns: u64) -> Option<(u64, u64)> {
        let Some(own) = self.flows.get(flow) else { return Some((from_ns, to_ns)) };
        let Some(life) = self.streams.get(own.stream) else { return Some((from_ns, to_ns)) };
        let begin = if life.after.is_some() { own.begun_ns? } else { life.start_ns };
        let out_of_time = life.lasts_ns.map(|lasts| begin.saturating_add(lasts));
        if begin >= to_ns || out_of_time.is_some_and(|end| end <= from_ns) {
            return None;
        }
        let completed = if life.recorded { self.recordings_completed_ns } else { own.completed_ns };
        let end = match completed {
            Some(completed) if life.by_number => completed,
            Some(completed) => completed.max(out_of_time.unwrap_or(u64::MAX)),
            None => u64::MAX,
        };
        let from = from_ns.max(begin);
        (end > from_ns).then(|| (from, to_ns.min(end).max(from)))
    }

    fn last_of_recordings(&self) -> Option<u64> {
        let ends = self
            .flows
            .iter()
            .filter(|flow| self.streams.get(flow.stream).is_some_and(|life| life.recorded))
            .map(|flow| flow.completed_ns);
        ends.collect::<Option<Vec<u64>>>()?.into_iter().max()
    }
}

/// A figure of an event.
fn number_in(event: &Event, name: &str) -> Option<u64> {
    event.details.get(name)?.parse::<u64>().ok()
}

/// Stretches of time, which may overlap.
#[derive(Clone, Debug, Default)]
pub struct Stretches {
    each: Vec<(u64, u64)>,
}

impl Stretches {
    /// Adds one, from its beginning to its end. Most are equal to the one before.
    pub fn add_stretch(&mut self, stretch: (u64, u64)) {
        if self.each.last() != Some(&stretch) {
            self.each.push(stretch);
        }
    }

    /// Adds all of another list.
    pub fn add_all(&mut self, others: &Stretches) {
        others.each.iter().for_each(|stretch| self.add_stretch(*stretch));
    }

    /// The length of what they cover together, in nanoseconds.
    pub fn length_ns(&mut self) -> u64 {
        self.each.sort_unstable();
        let (mut length_ns, mut reached_ns) = (0u64, 0u64);
        for (from, to) in self.each.iter().copied() {
            length_ns = length_ns.saturating_add(to.saturating_sub(from.max(reached_ns)));
            reached_ns = reached_ns.max(to);
        }
        length_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const S: u64 = 1_000_000_000;

    fn running(reads: Value, writes: Value) -> Running {
        let plan = json!({ "streams": [reads, writes] });
        let plan = PlanHead::parse(&plan);
        let streams = (0..2).map(|stream| plan.life_at(stream)).collect();
        let flow = |stream| FlowTimes { stream, ..FlowTimes::default() };
        Running { streams, flows: vec![flow(0), flow(1)], recordings_completed_ns: None }
    }

    /// Each row: a life, what the run said about it (begun, completed), and where it ran in each of ten seconds.
    #[test]
    fn a_flow_ran_from_its_beginning_to_its_last_completion() {
        let whole = |seconds: std::ops::Range<u64>| seconds.map(|at| (at * S, (at + 1) * S)).collect::<Vec<_>>();
        let half = S / 2;
        let cut = (4 * S, 4 * S + half);
        for (life, begun, completed, expected) in [
            (json!({"start": "2s", "for": "3s"}), None, None, whole(2..5)),
            (json!({"start": "2s", "for": "2500ms"}), None, Some(cut.1), [whole(2..4), vec![cut]].concat()),
            // Its last operation took until the next second, in which nothing of it counts.
            (json!({"start": "2s", "for": "2500ms"}), None, Some(5 * S + half), whole(2..5)),
            (json!({"start": "2500ms"}), None, None, [vec![(2 * S + half, 3 * S)], whole(3..10)].concat()),
            (json!({"start": "1ns", "operations": 9}), None, Some(half), vec![(1, half)]),
            (json!({"operations": 9}), None, Some(3 * S), whole(0..3)),
            (json!({"after": "others", "operations": 9}), None, None, Vec::new()),
            (
                json!({"after": "others", "operations": 9}),
                Some(S + half),
                Some(3 * S),
                vec![(S + half, 2 * S), (2 * S, 3 * S)],
            ),
            // Its schedule ended with its time, whenever its last operation was.
            (json!({"for": "2s"}), None, Some(S), whole(0..2)),
            (json!({}), None, None, whole(0..10)),
        ] {
            let mut running = running(life.clone(), json!({"start": "1ns"}));
            for (begins, at_ns) in [(true, begun), (false, completed)] {
                if let Some(at_ns) = at_ns {
                    running.note_life_news(LifeNews { flow: 0, at_ns, begins }, at_ns);
                }
            }
            let ran: Vec<_> = (0..10).filter_map(|at| running.running_part(0, at * S, (at + 1) * S)).collect();
            assert_eq!(ran, expected, "{life}, {begun:?}, {completed:?}");
        }
        let known = running(json!({"for": "2s"}), json!({}));
        assert_eq!(known.running_part(9, 0, S), Some((0, S)), "a flow of which nothing is known");
    }

    /// The reads and writes of a recording last as long as the recording.
    #[test]
    fn the_streams_of_a_recording_run_equally_long() {
        let recorded = || json!({"operations": 2, "arrival": {"recorded": {"rate": "1/s"}}});
        let mut running = running(recorded(), recorded());
        running.note_life_news(LifeNews { flow: 0, at_ns: S, begins: false }, S);
        assert_eq!(running.running_part(0, 3 * S, 4 * S), Some((3 * S, 4 * S)), "the other one has not ended");
        running.note_life_news(LifeNews { flow: 1, at_ns: 5 * S, begins: false }, 5 * S);
        assert_eq!(running.running_part(0, 0, 9 * S), Some((0, 5 * S)));
        running.start_over();
        assert_eq!(running.running_part(0, 0, 9 * S), Some((0, 9 * S)));
    }

    #[test]
    fn a_stream_of_a_loop_has_the_life_of_that_loop() {
        let looped = json!({"arrival": {"looped": {"looped": "mix", "share": "100%"}}, "for": "1s"});
        let loops = json!([{ "name": "other", "for": "7s" }, { "name": "mix", "for": "9s", "bytes": "1GiB" }]);
        let plan = json!({ "streams": [looped, {"for": "3s", "after": "a", "and_after": ["b"]}], "loops": loops });
        let plan = PlanHead::parse(&plan);
        let [mix, own] = [0, 1].map(|stream| plan.life_at(stream));
        assert_eq!((mix.lasts_ns, mix.by_number, mix.by_bytes, mix.after.as_deref()), (Some(9 * S), true, true, None));
        assert_eq!((own.lasts_ns, own.by_number, own.after.as_deref()), (Some(3 * S), false, Some("a, b")));
        assert!(mix.is_special() && own.is_special() && !plan.life_at(2).is_special());
    }

    #[test]
    fn what_overlaps_is_counted_once() {
        for (stretches, expected) in [
            (&[][..], 0),
            (&[(0, 10)], 10),
            (&[(0, 10), (0, 10)], 10),
            (&[(5, 10), (0, 3)], 8),
            (&[(0, 10), (2, 3), (8, 12)], 12),
            (&[(7, 7), (1, 2)], 1),
        ] {
            let mut all = Stretches::default();
            stretches.iter().for_each(|stretch| all.add_stretch(*stretch));
            assert_eq!(all.length_ns(), expected, "{stretches:?}");
        }
    }
}
