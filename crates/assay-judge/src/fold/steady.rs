//! Whether the measured time was steady, and where its level changed: computed while the log is read.

use crate::fold::changes::find_level_changes;
use crate::fold::layout::Layout;
use crate::fold::placement::Placed;
use crate::fold::stream_layout::StreamLayout;
use crate::judgement::{Change, Steadiness, SteadyWindow};
use assay_base::steady::{ROUNDS, Rounds};
use assay_record::Header;

/// Upper bound on the values in the series of one stream.
const VALUES: u64 = 1000;
/// Length of a round where the plan names none: SNIA's own rounds last a minute; a shorter run is divided into five.
const ROUND_NS: u64 = 60_000_000_000;
/// Upper bound on the streams that are examined; a workload has fewer.
const STREAMS: usize = 16;
/// The smallest change that is reported, and how many changes are.
const LEAST: f64 = 0.05;
const MOST: usize = 20;

/// One period of one stream.
#[derive(Clone, Copy, Debug, Default)]
struct Value {
    begin_ns: u64,
    length_ns: u64,
    operations: u64,
    response_ns: u128,
}

impl Value {
    fn add(&mut self, other: &Value) {
        self.length_ns = self.length_ns.saturating_add(other.length_ns);
        self.operations = self.operations.saturating_add(other.operations);
        self.response_ns = self.response_ns.saturating_add(other.response_ns);
    }

    /// Mean response in nanoseconds, or operations per second.
    fn mean_level(&self, open_loop: bool) -> Option<f64> {
        if open_loop {
            (self.operations > 0).then(|| self.response_ns as f64 / self.operations as f64)
        } else {
            (self.length_ns > 0).then(|| self.operations as f64 * 1e9 / self.length_ns as f64)
        }
    }
}

#[derive(Clone, Debug)]
struct Watched {
    rounds: Rounds,
    begin_ns: Vec<u64>,
    steady_from_ns: Option<u64>,
    last: Option<SteadyWindow>,
    values: Vec<Value>,
}

/// Observes every stream of a step.
#[derive(Clone, Debug)]
pub(crate) struct SteadyFold {
    round_ns: u64,
    width_ns: u64,
    streams: Vec<Watched>,
}

impl SteadyFold {
    /// Rounds are as long as those of a warm-up that waited for a steady state; otherwise a minute, or a fifth of a
    /// shorter run.
    pub(crate) fn new(header: &Header, layout: &Layout) -> SteadyFold {
        let asked = header.phases.iter().find_map(|phase| phase.steady_round_ns);
        let fifth = (layout.planned_ns / ROUNDS as u64).min(ROUND_NS) / layout.interval_ns * layout.interval_ns;
        let round_ns = asked.unwrap_or(fifth).max(layout.interval_ns);
        let width_ns = (layout.planned_ns / VALUES).next_multiple_of(layout.interval_ns).max(layout.interval_ns);
        SteadyFold {
            round_ns,
            width_ns,
            streams: layout.streams.iter().take(STREAMS).map(|stream| watched_stream(stream, round_ns)).collect(),
        }
    }

    /// Adds an interval. What completes after the planned end, while the run drains, is not part of the load.
    pub(crate) fn add_interval(&mut self, placed: &Placed<'_>, layout: &Layout) {
        let (at, interval, length_ns) = (placed.at_ns, placed.interval, placed.length_ns());
        if layout.is_draining_at(at) {
            return;
        }
        for (stream, (watched, own_layout)) in self.streams.iter_mut().zip(&layout.streams).enumerate() {
            // A part of an interval says nothing about a level.
            if !layout.lives.lives_through(stream, at, at.saturating_add(length_ns)) {
                continue;
            }
            let mut value = Value { begin_ns: at, length_ns, ..Value::default() };
            for flow in own_layout.flows.iter().filter_map(|flow| interval.flows.get(*flow)) {
                let (operations, response_ns) = (flow.ok, u128::from(flow.response.sum_ns));
                value.add(&Value { operations, response_ns, ..Value::default() });
            }
            watched.add_round(&value, self.round_ns);
            let full = watched.values.len() as u64 >= VALUES;
            let open = watched.values.last_mut();
            match open.filter(|open| full || at / self.width_ns == open.begin_ns / self.width_ns) {
                Some(open) => open.add(&value),
                None => watched.values.push(value),
            }
        }
    }

    /// Begins new rounds after an interruption.
    pub(crate) fn begin_new_rounds(&mut self) {
        for watched in &mut self.streams {
            watched.rounds.forget_rounds();
            watched.begin_ns.clear();
        }
    }

    /// The result, a line for each stream that was active for at least a round. An open loop whose log has no sums of
    /// responses, as ACT's have none, has no mean that could be steady or not.
    pub(crate) fn finish(self, layout: &Layout) -> Vec<Steadiness> {
        let round_ns = self.round_ns;
        self.streams
            .into_iter()
            .zip(&layout.streams)
            .filter_map(|(watched, layout)| steadiness_of_stream(watched, &layout.head, round_ns))
            .collect()
    }
}

/// How steady a stream was; `None` where it was not active for at least a round.
fn steadiness_of_stream(watched: Watched, head: &assay_record::StreamHead, round_ns: u64) -> Option<Steadiness> {
    let open_loop = head.is_open_loop();
    let idle = watched.values.iter().all(|value| value.operations == 0);
    let unknown = open_loop && watched.values.iter().all(|value| value.response_ns == 0);
    (watched.rounds.ended_rounds() > 0 && !idle && !unknown).then(|| Steadiness {
        stream: head.name.clone(),
        measure: if open_loop { "mean response" } else { "throughput" }.to_owned(),
        round_ns,
        rounds: watched.rounds.ended_rounds(),
        steady_from_ns: watched.steady_from_ns,
        last: watched.last,
        changes: level_changes(&watched.values, open_loop),
    })
}

/// The state of a stream before its first round.
fn watched_stream(stream: &StreamLayout, round_ns: u64) -> Watched {
    Watched {
        rounds: Rounds::new(round_ns, stream.head.is_open_loop()),
        begin_ns: Vec::new(),
        steady_from_ns: None,
        last: None,
        values: Vec::new(),
    }
}

impl Watched {
    fn add_round(&mut self, value: &Value, round_ns: u64) {
        if self.begin_ns.len() > ROUNDS {
            self.begin_ns.remove(0);
        }
        let fresh = self.begin_ns.last().is_none_or(|begin| value.begin_ns >= begin.saturating_add(round_ns));
        if fresh {
            self.begin_ns.push(value.begin_ns);
        }
        if !self.rounds.add_interval(value.length_ns, value.operations, value.response_ns) {
            return;
        }
        self.last = self.rounds.last_window().map(|window| SteadyWindow {
            start_ns: self.begin_ns.iter().rev().nth(ROUNDS - 1).copied().unwrap_or(0),
            end_ns: value.begin_ns.saturating_add(value.length_ns),
            average: window.average,
            excursion: window.excursion,
            slope: window.slope,
            steady: window.is_steady(),
        });
        if let Some(last) = self.last.as_ref().filter(|last| last.steady) {
            self.steady_from_ns.get_or_insert(last.start_ns);
        }
    }
}

/// The changes of level that are worth reporting, in order of time.
fn level_changes(values: &[Value], open_loop: bool) -> Vec<Change> {
    let placed: Vec<(usize, f64)> =
        values.iter().enumerate().filter_map(|(at, value)| Some((at, value.mean_level(open_loop)?))).collect();
    let series: Vec<f64> = placed.iter().map(|(_, level)| *level).collect();
    let mut bounds: Vec<usize> = find_level_changes(&series).into_iter().map(|index| placed[index].0).collect();
    bounds.insert(0, 0);
    bounds.push(values.len());
    // The smallest change is removed first, so that two small steps in the same direction may together still be large
    // enough.
    loop {
        let found = (1..bounds.len().saturating_sub(1)).map(|at| (at, change_at(&bounds, at, values, open_loop)));
        let least = found.min_by(|a, b| a.1.relative_size().total_cmp(&b.1.relative_size()));
        match least {
            Some((at, change_at)) if change_at.relative_size() < LEAST || bounds.len() > MOST + 2 => {
                bounds.remove(at);
            }
            _ => break,
        }
    }
    (1..bounds.len().saturating_sub(1)).map(|at| change_at(&bounds, at, values, open_loop)).collect()
}

/// The change of level at one of the bounds.
fn change_at(bounds: &[usize], at: usize, values: &[Value], open_loop: bool) -> Change {
    Change {
        at_ns: values[bounds[at]].begin_ns,
        before: level_between(bounds[at - 1], bounds[at], values, open_loop),
        after: level_between(bounds[at], bounds[at + 1], values, open_loop),
    }
}

/// The level of the values from one place to another.
fn level_between(from: usize, to: usize, values: &[Value], open_loop: bool) -> f64 {
    let mut sum = Value::default();
    values[from..to].iter().for_each(|value| sum.add(value));
    sum.mean_level(open_loop).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::fixture;
    use assay_record::Interval;

    /// Periods of a second of a closed loop, a number of each of these rates.
    fn periods(each: usize, rates: impl Iterator<Item = u64>) -> Vec<Value> {
        let value = |operations| Value { begin_ns: 0, length_ns: 1_000_000_000, operations, response_ns: 0 };
        rates.flat_map(|rate| std::iter::repeat_n(value(rate), each)).collect()
    }

    #[test]
    fn changes_of_a_twentieth_are_told_and_the_twenty_largest() {
        for (rates, found) in [([1000, 1040], 0), ([1000, 1060], 1), ([1000, 940], 1), ([1000, 960], 0)] {
            assert_eq!(level_changes(&periods(200, rates.into_iter()), false).len(), found, "{rates:?}");
        }
        for (steps, found) in [(5, 5), (20, 20), (21, 20), (24, 20)] {
            // Each step is larger than the one before, so that the smallest are left out.
            let rates = (0..=steps).scan(1000.0, |rate, step| {
                *rate *= 1.1 + 0.01 * f64::from(step);
                Some(*rate as u64)
            });
            assert_eq!(level_changes(&periods(400, rates), false).len(), found, "{steps}");
        }
    }

    #[test]
    fn a_level_is_a_response_in_open_loops_and_a_rate_in_closed_ones() {
        let value = |length_ns, operations, response_ns| Value { begin_ns: 0, length_ns, operations, response_ns };
        for (value, open, closed) in [
            (value(2_000_000_000, 500, 1500), Some(3.0), Some(250.0)),
            (value(2_000_000_000, 0, 0), None, Some(0.0)),
            (value(0, 5, 10), Some(2.0), None),
        ] {
            assert_eq!((value.mean_level(true), value.mean_level(false)), (open, closed), "{value:?}");
        }
    }
    /// Intervals of a log whose times jump to and fro are gathered once there are as many values as are kept.
    #[test]
    fn times_that_jump_take_no_more_memory() {
        let header = fixture::header();
        let layout = Layout::new(&header, &[]).unwrap();
        let mut fold = SteadyFold::new(&header, &layout);
        let interval = Interval { end_ns: 1_000_000_000, ..Interval::default() };
        for turn in 0..2 * VALUES {
            let placed = Placed {
                at_ns: turn % 2 * 60_000_000_000,
                joins: true,
                interval: &interval,
                carried: &[],
                opened: &[],
                disturbed: None,
            };
            fold.add_interval(&placed, &layout);
        }
        let kept: Vec<u64> = fold.streams.iter().map(|watched| watched.values.len() as u64).collect();
        assert_eq!(kept, [VALUES; 2]);
        let last = fold.streams[0].values.last().unwrap();
        assert_eq!(last.length_ns, (VALUES + 1) * 1_000_000_000, "what came later is in the last");
    }
}
