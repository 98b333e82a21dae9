//! Where the generator let a target rest although operations were due, slice by slice.

use crate::fold::layout::Layout;
use crate::fold::notes::Notes;
use crate::fold::window::Window;
use crate::judgement::LatenessTotals;
use crate::rules::lateness;
use crate::rules::loops;

/// Sums over one step.
#[derive(Clone, Debug)]
pub(crate) struct Rests {
    /// How late the generator was on each target; empty where that is not counted.
    pub(crate) targets: Vec<LatenessTotals>,
    /// For each closed loop, the largest share of its slots' time in a slice for which the generator left one without an
    /// operation, a millisecond or more at a time.
    pub(crate) loops: Vec<f64>,
    reported: bool,
    loops_reported: bool,
}

impl Rests {
    /// The state before the first window.
    pub(crate) fn new(layout: &Layout) -> Rests {
        let targets = if layout.times.lateness { layout.targets.len() } else { 0 };
        Rests {
            targets: vec![LatenessTotals::default(); targets],
            loops: vec![0.0; layout.loops.len()],
            reported: false,
            loops_reported: false,
        }
    }

    /// Keeps the worst share of each target, and warns once.
    pub(crate) fn observe_window(&mut self, window: &Window, layout: &Layout, notes: &mut Notes) {
        let length = window.end_ns.saturating_sub(window.start_ns);
        for (kept, late) in self.targets.iter_mut().zip(&window.late) {
            kept.add_slice(late, length, layout);
        }
        for ((kept, time), looped) in self.loops.iter_mut().zip(&window.loops).zip(&layout.loops) {
            *kept = kept.max(time.idle_share(looped.slots));
        }
        if !self.reported
            && let Some(text) = lateness::warning_text(window, layout).filter(|_| layout.times.lateness)
        {
            self.reported = true;
            notes.add_warning(text);
        }
        if !self.loops_reported
            && let Some(text) = loops::warning_text(window, layout)
        {
            self.loops_reported = true;
            notes.add_warning(text);
        }
    }
}
