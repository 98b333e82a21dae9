//! The closed loops of a step over all measured time: where their operations were, on average.

use crate::fold::layout::Layout;
use crate::fold::loop_layout::LoopLayout;
use crate::fold::loop_time::LoopTime;
use crate::fold::placement::Placed;
use crate::fold::rests::Rests;
use crate::judgement::LoopFigures;

/// What the slots of all closed loops did over the measured time.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoopTotals {
    loops: Vec<LoopTime>,
}

impl LoopTotals {
    /// Adds an interval. What is drained after the planned time is no load.
    pub(crate) fn add_interval(&mut self, placed: &Placed<'_>, layout: &Layout) {
        self.loops.resize(layout.loops.len(), LoopTime::default());
        if !layout.is_draining_at(placed.at_ns) {
            let own = self.loops.iter_mut().zip(&layout.loops).enumerate();
            own.for_each(|(index, (time, looped))| time.add_interval(index, looped, placed));
        }
    }

    /// The figures.
    pub(crate) fn finish(self, layout: &Layout, rests: &Rests) -> Vec<LoopFigures> {
        let shares = rests.loops.iter().copied().chain(std::iter::repeat(0.0));
        let all = self.loops.iter().zip(&layout.loops).zip(shares).filter(|((time, _), _)| time.length_ns > 0);
        all.map(|((time, looped), share)| loop_figures(time, looped, layout, share)).collect()
    }
}

/// The figures of one loop.
fn loop_figures(time: &LoopTime, looped: &LoopLayout, layout: &Layout, idle_share_max: f64) -> LoopFigures {
    let length_ns = time.length_ns.max(1) as f64;
    let (response, wanted) = time.both_sides(looped.slots);
    // The ends of the measured time cut operations: the parts of those are as large as the parts of the others.
    let of_ended = (time.lag_ns + time.service_ns).max(1) as f64;
    let responding = response.max(0) as f64 / length_ns;
    LoopFigures {
        streams: looped.streams.iter().map(|at| layout.streams[*at].head.name.clone()).collect(),
        target: layout.target_of_loop(looped).filter(|_| layout.targets.len() > 1).map(str::to_owned),
        in_flight_asked: looped.slots,
        in_flight: response as f64 / length_ns,
        on_target: responding * time.service_ns.saturating_sub(time.unnoticed_ns) as f64 / of_ended,
        held_back: responding * time.lag_ns.saturating_sub(time.own_lag_ns) as f64 / of_ended,
        left_idle: responding * time.own_lag_ns.saturating_add(time.unnoticed_ns) as f64 / of_ended,
        paused: looped.slots as f64 - wanted as f64 / length_ns,
        idle_share_max,
    }
}
