//! Divides the measured time into windows of one length, and returns each window when it ends.
//!
//! One window is open at a time, so memory does not grow with the run. The last window includes everything that starts
//! at or after the planned end (the drain). Operations not issued by the planned end count as not issued. A window is
//! complete when its intervals follow each other from its beginning to its end without a hole.

use crate::finding::flaw::Flaw;
use crate::finding::others::OthersUse;
use crate::fold::counters::Counters;
use crate::fold::late::Late;
use crate::fold::layout::Layout;
use crate::fold::loop_time::LoopTime;
use crate::fold::others::{Disturbed, UndisturbedWork};
use crate::fold::placement::{Disturbing, Placed};
use crate::judgement::DiskCount;
use assay_base::Direction;
use assay_record::Interval;

/// A window that has ended.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    /// 1-based.
    pub number: u64,
    /// Begin in measured time.
    pub start_ns: u64,
    /// Planned end in measured time.
    pub end_ns: u64,
    /// False when it was cut, has a gap, or intervals of it are missing.
    pub complete: bool,
    /// Why it does not count, where it does not.
    pub invalid: Option<Flaw>,
    /// How many intervals of the planned time it contains.
    pub intervals: u64,
    /// Part of its time was measured twice, and both measurements are in its counts.
    pub mixed: bool,
    /// It was returned before, and measured again after an interruption.
    pub repeated: bool,
    /// One for each flow.
    pub flows: Vec<Counters>,
    /// One for each stream: the sum of its flows.
    pub streams: Vec<Counters>,
    /// How late the generator was, one for each target.
    pub late: Vec<Late>,
    /// What the slots of the closed loops did within the planned time, one for each loop.
    pub loops: Vec<LoopTime>,
    /// The part of it in which others disturbed a target, where they did.
    pub disturbed: Option<Box<Disturbed>>,
    /// The share of its time in which something waited for a processor, where the log counts it.
    pub processor_pressure: Option<f64>,
}

impl Window {
    /// What is left of `whole`, the sum of these flows, without what they did while others disturbed them; `None` where
    /// nobody did.
    pub(crate) fn undisturbed_work(
        &self,
        whole: &Counters,
        flows: impl Iterator<Item = usize>,
        layout: &Layout,
    ) -> Option<UndisturbedWork> {
        self.disturbed.as_ref()?.undisturbed_work(whole, flows, layout)
    }

    /// Whether others disturbed any of these flows.
    pub(crate) fn is_disturbed(&self, mut flows: impl Iterator<Item = usize>) -> bool {
        self.disturbed.as_ref().is_some_and(|disturbed| flows.any(|flow| disturbed.is_on(flow)))
    }

    /// What others did on the disks of some targets, in words.
    pub(crate) fn others_on_targets(&self, targets: impl Fn(usize) -> bool, layout: &Layout) -> Option<OthersUse> {
        self.disturbed.as_ref()?.in_words(layout, targets)
    }
}

/// A window that intervals are still added to.
#[derive(Clone, Debug)]
struct OpenWindow {
    index: u64,
    /// Planned end in measured time.
    end_ns: u64,
    /// The place in measured time up to which it was filled.
    reached: u64,
    irregular: Irregular,
    invalid: Option<Flaw>,
    intervals: u64,
    flows: Vec<Counters>,
    /// For each flow, in a window that waits: whether its last operations are in flight. In the window after it: whether its
    /// operations belong to the one that waits.
    rest: Vec<bool>,
    late: Vec<Late>,
    loops: Vec<LoopTime>,
    disturbed: Option<Box<Disturbed>>,
    pressure: PressedTime,
}

/// In how much of a time something waited for a processor.
#[derive(Clone, Copy, Debug, Default)]
struct PressedTime {
    pressed_ns: u64,
    of_ns: u64,
}

impl PressedTime {
    /// Adds an interval in which it was counted.
    fn add_interval(&mut self, placed: &Placed<'_>) {
        if let Some(host) = placed.interval.host {
            self.pressed_ns = self.pressed_ns.saturating_add(host.cpu_pressure_ns);
            self.of_ns = self.of_ns.saturating_add(placed.length_ns());
        }
    }

    /// As a share; `None` where it was not counted.
    fn share(self) -> Option<f64> {
        (self.of_ns > 0).then(|| self.pressed_ns as f64 / self.of_ns as f64)
    }
}

/// The ways in which the time of a window can be irregular.
#[derive(Clone, Debug, Default)]
struct Irregular {
    /// Whether a part of it is missing.
    hole: bool,
    /// Whether it was returned before.
    repeated: bool,
    /// Whether a part of it was measured twice.
    mixed: bool,
}

impl OpenWindow {
    /// Whether some stream has run out of time in it whose last operations are in flight; notes its flows.
    fn waits_for_ended_streams(&mut self, layout: &Layout) -> bool {
        if !layout.lives.is_some() {
            return false;
        }
        self.rest = self
            .flows
            .iter()
            .zip(&layout.flows)
            .map(|(cell, flow)| {
                let out = layout.lives.is_out_of_time_by(flow.stream.into(), self.end_ns);
                out && cell.in_flight.saturating_add(cell.waiting) > 0
            })
            .collect();
        self.rest.contains(&true)
    }

    /// What completes of the flows for which the window before waits belongs there.
    fn leaves_to(&mut self, held: Option<&OpenWindow>) {
        let Some(held) = held else { return };
        self.rest.clone_from(&held.rest);
        for (cell, _) in self.flows.iter_mut().zip(&self.rest).filter(|(_, rest)| **rest) {
            cell.carried_in = 0;
        }
    }

    /// Others disturbed an interval of it, and perhaps the interval before, if that belongs to it too.
    fn disturb_interval(&mut self, placed: &Placed<'_>, layout: &Layout) {
        let Some(Disturbing { by, .. }) = placed.disturbed else { return };
        let rest = std::mem::take(&mut self.rest);
        let part = self.disturbed.get_or_insert_default();
        part.add_interval(
            &placed.interval.flows,
            placed.length_ns(),
            by,
            |flow| by.is_on(flow, layout) && rest.get(flow) != Some(&true),
            layout,
        );
        self.rest = rest;
    }

    /// Others began to disturb a target in an interval after the last one of it.
    fn disturb_last(&mut self, placed: &Placed<'_>, layout: &Layout) {
        let Some(Disturbing { by, previous }) = placed.disturbed else { return };
        if self.intervals > 0 && by.begins.contains(&true) {
            let part = self.disturbed.get_or_insert_default();
            part.add_interval(&previous.flows, previous.length_ns, by, |flow| by.begins_on(flow, layout), layout);
        }
    }

    /// Others disturb an interval after its end in which operations of its flows complete.
    fn disturb_rest(&mut self, placed: &Placed<'_>, layout: &Layout) {
        let Some(Disturbing { by, .. }) = placed.disturbed else { return };
        let rest = std::mem::take(&mut self.rest);
        let part = self.disturbed.get_or_insert_default();
        part.add_interval(
            &placed.interval.flows,
            0,
            by,
            |flow| by.is_on(flow, layout) && rest.get(flow) == Some(&true),
            layout,
        );
        self.rest = rest;
    }

    /// Adds what an interval after its end brought of the flows for which it waits.
    fn add_rest(&mut self, placed: &Placed<'_>) {
        for ((cell, flow), rest) in self.flows.iter_mut().zip(&placed.interval.flows).zip(&mut self.rest) {
            if !*rest {
                continue;
            }
            let waiting = cell.waiting;
            if let Err(bucket) = cell.add_interval(flow) {
                self.invalid.get_or_insert(Flaw::NoBucket(bucket));
            }
            // As after the end of the run: what waited then was not delivered in time, and what completes now is no
            // work of the time before.
            cell.add_drained(flow.ok, flow.bytes);
            cell.waiting = cell.waiting.max(waiting);
            *rest = flow.in_flight.saturating_add(flow.waiting) > 0;
        }
    }

    /// Adds how late the generator was and what the disks counted; `Err` is the number of a bucket that does not exist.
    fn add_lateness(&mut self, interval: &Interval, layout: &Layout) -> Result<(), u64> {
        for lateness in &interval.lateness {
            let Some(late) = self.late.get_mut(usize::from(lateness.target)) else { continue };
            late.add_lateness(lateness, &layout.times.thresholds)?;
        }
        let disks = interval.disks.iter().filter(|_| layout.times.lateness);
        for disk in disks {
            let Some(late) = self.late.get_mut(usize::from(disk.target)) else { continue };
            late.add_disk(disk);
            for (head, flow) in layout.flows.iter().zip(&interval.flows).filter(|(head, _)| head.target == disk.target)
            {
                let stream = usize::from(head.stream);
                // What neither reads nor writes is none of the requests that a disk counts as such.
                let Some(direction) = layout.streams[stream].head.direction else { continue };
                let writes = direction == Direction::Write;
                let own = &mut late.own[usize::from(writes)];
                *own = own.sum_with(DiskCount { operations: flow.ended_operations(), bytes: flow.bytes });
                if writes && layout.streams[stream].durable {
                    late.durable = late.durable.saturating_add(flow.ok);
                }
            }
        }
        Ok(())
    }

    fn add_interval(&mut self, placed: &Placed<'_>, layout: &Layout) {
        let drains = layout.is_draining_at(placed.at_ns);
        if let Err(bucket) = self.add_lateness(placed.interval, layout) {
            self.invalid.get_or_insert(Flaw::NoBucket(bucket));
        }
        self.intervals += u64::from(!drains);
        self.pressure.add_interval(placed);
        if !drains {
            let own = self.loops.iter_mut().zip(&layout.loops).enumerate();
            own.for_each(|(index, (time, looped))| time.add_interval(index, looped, placed));
        }
        self.reached = self.reached.max(placed.at_ns.saturating_add(placed.length_ns()));
        for (index, (cell, flow)) in self.flows.iter_mut().zip(&placed.interval.flows).enumerate() {
            if self.rest.get(index) == Some(&true) {
                continue;
            }
            let waiting = cell.waiting;
            if let Err(bucket) = cell.add_interval(flow) {
                self.invalid.get_or_insert(Flaw::NoBucket(bucket));
            }
            if drains {
                cell.add_drained(flow.ok, flow.bytes);
                // An operation that waited when the load ended was not delivered in time, however fast it completes
                // afterwards.
                cell.waiting = cell.waiting.max(waiting);
            }
        }
    }

    /// Exact to the nanosecond, because intervals end on their schedule unless the run was ended early: a slice with
    /// part of an interval is not complete.
    fn has_ended(&self) -> bool {
        self.reached >= self.end_ns
    }
}

/// Windows of one length.
#[derive(Clone, Debug)]
pub(crate) struct Windows {
    /// Where the first one begins in measured time.
    begins_ns: u64,
    length_ns: u64,
    planned_ns: u64,
    /// A gap between segments does not matter: the window is the whole run, wherever it was interrupted.
    bridges_gaps: bool,
    open: Option<OpenWindow>,
    /// The window before, which is over, but in which a stream ended whose last operations are in flight.
    held: Option<OpenWindow>,
    invalid_ahead: Option<Flaw>,
    last_given: Option<u64>,
}

impl Windows {
    /// Windows of `length_ns` of the measured time from `begins_ns` on; `None` is one window over all of it.
    pub(crate) fn beginning_at(begins_ns: u64, length_ns: Option<u64>, planned_ns: u64) -> Windows {
        let length = length_ns.unwrap_or(u64::MAX).min(planned_ns.saturating_sub(begins_ns).max(1));
        Windows {
            begins_ns,
            length_ns: length,
            planned_ns,
            bridges_gaps: length_ns.is_none(),
            open: None,
            held: None,
            invalid_ahead: None,
            last_given: None,
        }
    }

    /// Length of a window; the last one may be shorter.
    pub(crate) fn length_ns(&self) -> u64 {
        self.length_ns
    }

    /// Whether a window is the last one and has less than half of the length of the others.
    pub(crate) fn is_too_short(&self, window: &Window) -> bool {
        window.end_ns.saturating_sub(window.start_ns).saturating_mul(2) < self.length_ns
    }

    /// Where a window begins in measured time, by its index.
    fn begin_of_window(&self, index: u64) -> u64 {
        self.begins_ns.saturating_add(index.saturating_mul(self.length_ns))
    }

    /// Number of windows in the plan.
    pub(crate) fn planned_windows(&self) -> u64 {
        self.planned_ns.saturating_sub(self.begins_ns).div_ceil(self.length_ns)
    }

    /// The measured time ended as planned, earlier than it could have: the open window ends with it.
    pub(crate) fn ends_at(&mut self, at_ns: u64) {
        self.planned_ns = self.planned_ns.min(at_ns);
        if let Some(open) = &mut self.open {
            open.end_ns = open.end_ns.min(at_ns);
        }
    }

    /// Adds an interval; returns the windows that have ended. One in which a stream has ended waits until the operations
    /// that were in flight then have completed, at most until the next one has ended.
    pub(crate) fn add_interval(&mut self, placed: &Placed<'_>, layout: &Layout) -> Vec<Window> {
        let own_ns = placed.at_ns.saturating_sub(self.begins_ns);
        let index = (own_ns / self.length_ns).min(self.planned_windows().saturating_sub(1));
        let mut ended = Vec::new();
        if let Some(open) = &mut self.open {
            open.disturb_last(placed, layout);
        }
        if self.open.as_ref().is_some_and(|open| open.index != index) {
            ended.extend(self.take_held(layout));
            let waits = self.open.as_mut().is_some_and(|open| open.waits_for_ended_streams(layout));
            if waits { self.held = self.open.take() } else { ended.extend(self.close_open_window(layout)) }
        }
        if self.open.is_none() {
            let mut open = self.begin_window(index, placed, layout);
            open.leaves_to(self.held.as_ref());
            self.open = Some(open);
        }
        let open = self.open.as_mut().expect("opened just above when there was none");
        open.add_interval(placed, layout);
        open.disturb_interval(placed, layout);
        if let Some(held) = &mut self.held {
            held.disturb_rest(placed, layout);
            held.add_rest(placed);
            if held.rest.iter().all(|rest| !rest) {
                ended.extend(self.take_held(layout));
            }
        }
        ended
    }

    /// The window that waits, as it is.
    pub(crate) fn take_held(&mut self, layout: &Layout) -> Option<Window> {
        let held = self.held.take()?;
        self.note_given_window(held.index);
        Some(self.finished_window(held, layout))
    }

    fn note_given_window(&mut self, index: u64) {
        self.last_given = Some(self.last_given.map_or(index, |last| last.max(index)));
    }

    fn begin_window(&mut self, index: u64, placed: &Placed<'_>, layout: &Layout) -> OpenWindow {
        let Placed { at_ns: at, joins, carried, .. } = *placed;
        let repeated = self.last_given.is_some_and(|last| index <= last);
        let late = at > self.begin_of_window(index).saturating_add(layout.tolerance_ns());
        let mut flows = vec![Counters::new(layout.times.thresholds.bucket_count()); layout.flows.len()];
        flows.iter_mut().zip(carried).for_each(|(cell, carried)| cell.carried_in = *carried);
        OpenWindow {
            index,
            end_ns: self.begin_of_window(index.saturating_add(1)).min(self.planned_ns),
            reached: at,
            irregular: Irregular { hole: late && !joins, repeated, mixed: false },
            invalid: self.invalid_ahead.take(),
            intervals: 0,
            flows,
            rest: Vec::new(),
            late: vec![Late::default(); layout.targets.len()],
            loops: vec![LoopTime::default(); layout.loops.len()],
            disturbed: None,
            pressure: PressedTime::default(),
        }
    }

    /// Something is missing after what was added last: the open window is not complete unless it ended there.
    pub(crate) fn note_hole(&mut self) {
        if let Some(open) = &mut self.open {
            open.irregular.hole |= !open.has_ended();
        }
    }

    /// Ends the open window if no part of it is missing: an interruption after it does not matter.
    pub(crate) fn close_whole(&mut self, layout: &Layout) -> Option<Window> {
        let whole = self.open.as_ref().is_some_and(|open| !open.irregular.hole && open.has_ended());
        if whole && !self.bridges_gaps { self.close_open_window(layout) } else { None }
    }

    /// The run continues at `at`, after an interruption at `from`. A window that begins there is measured again: the
    /// part measured before is returned.
    pub(crate) fn resume_after_gap(&mut self, from: u64, at: u64, layout: &Layout) -> Option<Window> {
        let tolerance = layout.tolerance_ns();
        let at_beginning = at % self.length_ns <= tolerance || self.length_ns - at % self.length_ns <= tolerance;
        let here = (at.saturating_add(tolerance)) / self.length_ns;
        let open = self.open.as_mut()?;
        if !self.bridges_gaps && at_beginning && open.index >= here {
            return self.open.take().map(|open| self.finished_window(open, layout));
        }
        open.irregular.mixed |= at < open.reached;
        open.irregular.hole |= !self.bridges_gaps && (!at_beginning || from.abs_diff(at) > tolerance);
        None
    }

    /// Marks the open window as invalid, and says why.
    pub(crate) fn spoil_open_window(&mut self, why: &Flaw) {
        let slot = match &mut self.open {
            Some(open) => &mut open.invalid,
            None => &mut self.invalid_ahead,
        };
        slot.get_or_insert_with(|| why.clone());
    }

    /// Ends the open window; `None` when there is none.
    pub(crate) fn close_open_window(&mut self, layout: &Layout) -> Option<Window> {
        let open = self.open.take()?;
        self.note_given_window(open.index);
        Some(self.finished_window(open, layout))
    }

    fn finished_window(&self, open: OpenWindow, layout: &Layout) -> Window {
        let streams = layout
            .streams
            .iter()
            .map(|stream| sum_of_flows(stream.flows.iter().map(|&flow| &open.flows[flow]), layout))
            .collect();
        Window {
            number: open.index.saturating_add(1),
            start_ns: self.begin_of_window(open.index),
            end_ns: open.end_ns,
            complete: open.has_ended() && !open.irregular.hole,
            invalid: open.invalid,
            intervals: open.intervals,
            mixed: open.irregular.mixed,
            repeated: open.irregular.repeated,
            flows: open.flows,
            streams,
            late: open.late,
            loops: open.loops,
            disturbed: open.disturbed,
            processor_pressure: open.pressure.share(),
        }
    }
}

/// The sum of flows.
pub(crate) fn sum_of_flows<'a>(flows: impl Iterator<Item = &'a Counters>, layout: &Layout) -> Counters {
    let mut sum = Counters::new(layout.times.thresholds.bucket_count());
    flows.for_each(|cell| sum.merge_flow(cell));
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::counted_times::CountedTimes;
    use crate::fold::stream_layout::StreamLayout;
    use assay_record::{FlowInterval, Header, PlanHead, Thresholds};
    use std::collections::BTreeSet;

    /// Intervals of 10, so that 5 are within tolerance, and windows of 100.
    fn layout() -> Layout {
        Layout {
            streams: Vec::new(),
            flows: Vec::new(),
            targets: Vec::new(),
            combined: Default::default(),
            loops: Vec::new(),
            times: CountedTimes {
                thresholds: Thresholds::new([]),
                shown: BTreeSet::new(),
                smallest: None,
                lateness: false,
            },
            lives: crate::fold::lives::Lives::default(),
            watched: Vec::new(),
            plan: PlanHead::default(),
            of_another_tool: false,
            interval_ns: 10,
            planned_ns: 1000,
        }
    }

    /// Windows in which the time between two moments was measured.
    fn measured(length: Option<u64>, from: u64, to: u64) -> Windows {
        let mut windows = Windows::beginning_at(0, length, 1000);
        let interval = Interval { start_ns: from, end_ns: to, ..Interval::default() };
        windows.add_interval(
            &Placed { at_ns: from, joins: true, interval: &interval, carried: &[], opened: &[], disturbed: None },
            &layout(),
        );
        windows
    }

    /// What is returned, and for the window that stays open whether it is complete and whether it was mixed.
    fn resumed(windows: &mut Windows, from: u64, at: u64) -> (Option<u64>, Option<(bool, bool)>) {
        let back = windows.resume_after_gap(from, at, &layout()).map(|window| window.number);
        (back, windows.close_open_window(&layout()).map(|window| (window.complete, window.mixed)))
    }

    #[test]
    fn a_window_in_which_a_run_goes_on_is_measured_afresh_from_its_beginning_or_not_whole() {
        let given_back = (Some(2), None);
        let stays = |complete, mixed| (None, Some((complete, mixed)));
        // Measured until, interrupted at, continued at.
        for (reached, from, at, expected) in [
            (150, 150, 100, given_back),
            (150, 150, 103, given_back),
            (150, 150, 105, given_back),
            (150, 150, 97, given_back),
            (150, 150, 95, given_back),
            (200, 200, 100, given_back),
            // In the middle of the window, and in the middle of the previous one.
            (150, 150, 106, stays(false, true)),
            (150, 150, 94, stays(false, true)),
            (150, 150, 149, stays(false, true)),
            (150, 150, 150, stays(false, false)),
            (150, 150, 151, stays(false, false)),
            // At the beginning of a later one: a window that had ended is complete if nothing is missing before its
            // end.
            (150, 150, 200, stays(false, false)),
            (200, 200, 200, stays(true, false)),
            (200, 205, 200, stays(true, false)),
            (200, 195, 200, stays(true, false)),
            (200, 206, 200, stays(false, false)),
            (200, 200, 300, stays(false, false)),
            (200, 200, 206, stays(false, false)),
            (200, 200, 194, stays(false, true)),
        ] {
            let mut windows = measured(Some(100), 100, reached);
            assert_eq!(resumed(&mut windows, from, at), expected, "reached {reached}, from {from} at {at}");
        }
        assert_eq!(resumed(&mut twice_mixed(), 150, 130), (None, Some((false, true))), "what was mixed stays mixed");
        let mut ended = measured(Some(100), 100, 200);
        ended.resume_after_gap(200, 150, &layout());
        assert_eq!(resumed(&mut ended, 200, 150), (None, Some((false, true))), "and what has a hole has one");
        assert!(
            twice_mixed().resume_after_gap(150, 100, &layout()).is_some_and(|back| back.mixed),
            "and in what is given back"
        );
        assert_eq!(resumed(&mut Windows::beginning_at(0, Some(100), 1000), 150, 100), (None, None), "none is open");
    }

    /// A window a part of which was already measured twice.
    fn twice_mixed() -> Windows {
        let mut windows = measured(Some(100), 100, 150);
        windows.resume_after_gap(150, 120, &layout());
        windows
    }

    #[test]
    fn the_window_of_the_whole_run_bears_interruptions() {
        for (at, mixed) in [(0, true), (450, true), (999, true), (1000, false), (1001, false)] {
            let mut windows = measured(None, 0, 1000);
            assert_eq!(resumed(&mut windows, 1000, at), (None, Some((true, mixed))), "{at}");
        }
    }

    #[test]
    fn a_window_is_not_complete_where_something_is_missing_before_its_end() {
        for (reached, then, complete) in [(150, 200, false), (200, 200, true), (150, 150, false)] {
            let mut windows = measured(Some(100), 100, reached);
            windows.note_hole();
            if then > reached {
                let interval = Interval { start_ns: reached, end_ns: then, ..Interval::default() };
                windows.add_interval(
                    &Placed {
                        at_ns: reached,
                        joins: true,
                        interval: &interval,
                        carried: &[],
                        opened: &[],
                        disturbed: None,
                    },
                    &layout(),
                );
            }
            assert_eq!(windows.close_open_window(&layout()).map(|it| it.complete), Some(complete), "{reached} {then}");
        }
        let mut windows = Windows::beginning_at(0, Some(100), 1000);
        windows.note_hole();
        assert!(windows.close_open_window(&layout()).is_none(), "none is open");
    }

    /// A window that begins late is complete only if it joins what was measured before: half an interval is allowed.
    #[test]
    fn a_window_begins_within_half_an_interval() {
        for (at, joins, complete) in [(100, false, true), (105, false, true), (106, false, false), (106, true, true)] {
            let mut windows = Windows::beginning_at(0, Some(100), 1000);
            let interval = Interval { start_ns: at, end_ns: 200, ..Interval::default() };
            windows.add_interval(
                &Placed { at_ns: at, joins, interval: &interval, carried: &[], opened: &[], disturbed: None },
                &layout(),
            );
            assert_eq!(windows.close_open_window(&layout()).map(|it| it.complete), Some(complete), "{at} {joins}");
        }
    }

    #[test]
    fn lateness_and_what_disks_counted_belong_to_their_targets() {
        use assay_record::{DiskCounters, FlowHead, Lateness, StreamHead};
        let stream = |direction: Option<Direction>, flows: &[usize], durable| StreamLayout {
            head: StreamHead {
                name: String::new(),
                direction,
                operation: direction.is_none().then(|| "flush".into()),
                arrival: "steady".into(),
                rate: None,
                size: String::new(),
                size_done: String::new(),
                per_target: true,
            },
            flows: flows.to_vec(),
            sequential: false,
            durable,
            may_fail: std::collections::BTreeMap::new(),
            reads_back: false,
        };
        let layout = Layout {
            streams: vec![
                stream(Some(Direction::Read), &[0], true),
                stream(Some(Direction::Write), &[1, 3], true),
                stream(Some(Direction::Write), &[2], false),
                stream(None, &[4], true),
            ],
            flows: [(0, 0), (1, 0), (2, 0), (1, 1), (3, 0)]
                .map(|(stream, target)| FlowHead { stream, target })
                .to_vec(),
            targets: vec!["a".into(), "b".into()],
            times: CountedTimes { lateness: true, ..layout().times },
            ..layout()
        };
        let flow = |ok, bytes| FlowInterval { ok, bytes, ..FlowInterval::default() };
        let interval = Interval {
            end_ns: 10,
            flows: vec![flow(1, 10), flow(2, 20), flow(4, 40), flow(8, 80), flow(16, 0)],
            lateness: vec![Lateness { target: 1, shift_ns: 7, ..Lateness::default() }],
            disks: vec![DiskCounters { target: 0, reads: 5, ..DiskCounters::default() }],
            ..Interval::default()
        };
        let mut windows = Windows::beginning_at(0, Some(100), 1000);
        windows.add_interval(
            &Placed { at_ns: 0, joins: true, interval: &interval, carried: &[0; 5], opened: &[], disturbed: None },
            &layout,
        );
        let late = windows.close_open_window(&layout).unwrap().late;
        assert_eq!(late.iter().map(|late| late.shift_ns).collect::<Vec<_>>(), [0, 7]);
        let count = |operations, bytes| DiskCount { operations, bytes };
        assert_eq!(
            late[0].own,
            [count(1, 10), count(6, 60)],
            "reads, and the writes of both streams; flushes are neither"
        );
        assert_eq!(
            (late[0].disk.map(|disk| disk.reads), late[0].durable),
            (Some(5), 2),
            "reads are not durable writes"
        );
        assert!(
            late[1].disk.is_none() && late[1].own == [count(0, 0); 2],
            "the disk of the other target is not counted"
        );
    }

    #[test]
    fn what_is_given_back_was_not_given() {
        let mut windows = measured(Some(100), 100, 150);
        assert!(windows.resume_after_gap(150, 100, &layout()).is_some_and(|window| !window.complete));
        let interval = Interval { start_ns: 100, end_ns: 200, ..Interval::default() };
        windows.add_interval(
            &Placed { at_ns: 100, joins: false, interval: &interval, carried: &[], opened: &[], disturbed: None },
            &layout(),
        );
        let again = windows.close_open_window(&layout()).unwrap();
        assert!(again.complete && !again.repeated, "measured afresh, it counts for the first time");
    }
    /// A stream lives until 100, and the last of its operations complete later: the window waits for them, and no longer.
    #[test]
    fn a_window_waits_until_the_last_operations_of_a_stream_have_completed() {
        use crate::fold::{fixture, lives::Lives};
        let header = Header { plan: serde_json::json!({"streams": [{"for": "100ns"}]}), ..fixture::header() };
        let of_header = Layout::new(&header, &[]).unwrap();
        let layout =
            Layout { interval_ns: 10, planned_ns: 1000, lives: Lives::new(&header, &of_header.plan), ..of_header };
        let mut windows = Windows::beginning_at(0, Some(100), 1000);
        let mut add = |at_ns: u64, ok: u64, in_flight: u64| {
            let first = FlowInterval { ok, in_flight, ..FlowInterval::default() };
            let flows = vec![first, FlowInterval { ok: 1, in_flight: 1, ..FlowInterval::default() }];
            let interval = Interval { start_ns: at_ns, end_ns: at_ns + 10, flows, ..Interval::default() };
            let ended = windows.add_interval(
                &Placed { at_ns, joins: true, interval: &interval, carried: &[0, 0], opened: &[], disturbed: None },
                &layout,
            );
            ended
                .iter()
                .map(|window| (window.number, window.flows[0].work.ok, window.flows[1].work.ok))
                .collect::<Vec<_>>()
        };
        assert!((0..10).all(|turn| add(turn * 10, 3, 5).is_empty()));
        for (at, ok, in_flight, ended) in
            [(100, 2, 3, None), (110, 0, 3, None), (120, 3, 0, Some((1, 35, 10))), (130, 0, 0, None)]
        {
            assert_eq!(add(at, ok, in_flight), Vec::from_iter(ended), "{at}");
        }
        assert!((14..20).all(|turn| add(turn * 10, 0, 0).is_empty()));
        assert_eq!(add(200, 0, 0), [(2, 0, 10)], "the stream does not live in the second, and no window waits for it");
    }
}
