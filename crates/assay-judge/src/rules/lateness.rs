//! When a PASS is possible although the generator was late: what a window that keeps its bounds must fulfil in
//! addition.
//!
//! A late generator makes a response longer, so a bound that holds with all lag counted would also hold without it;
//! except where the device rested when it should have worked, did less because a closed loop asked for less, or got
//! bunches of operations that it could merge. `docs/decisions/0028-late-generator.md` has the proof and its conditions.

use crate::finding::flaw::{self, LateBy};
use crate::fold::late::Late;
use crate::fold::layout::Layout;
use crate::fold::window::Window;
use crate::judgement::LatenessTotals;
use crate::rules::loops;
use crate::words::percent_text;
use assay_base::Direction;

/// The share of the window from which given idle or oversleeping prevents a PASS.
const AT_MOST: f64 = 0.01;
/// The share from which it is reported.
const TELL: f64 = 0.001;
/// The share of operations or flushes that may be missing in the disk's own count.
const MERGED: f64 = 0.01;
/// This many operations more may be missing: the disk's counters are read a moment before or after an interval ends.
const COUNTED_APART: f64 = 3.0;
/// A rest counts when it is longer than the schedule's own gap by the smallest threshold divided by this.
const MARGIN: u64 = 10;

/// The effects of lateness on one target in a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LateShare {
    /// Given idle that counts, as a share of the window.
    pub rest: f64,
    /// Time overslept, as a share of the window.
    pub overslept: f64,
}

impl LateShare {
    /// The shares of a target in a window of `length_ns`.
    pub(crate) fn new(late: &Late, length_ns: u64, layout: &Layout) -> LateShare {
        let length = length_ns.max(1) as f64;
        let rest = late.rest_ns(&layout.times.thresholds, margin_ns(layout));
        LateShare { rest: rest as f64 / length, overslept: late.overslept.sum_ns as f64 / length }
    }
}

impl LatenessTotals {
    /// Adds a slice of `length_ns`.
    pub fn add_slice(&mut self, late: &Late, length_ns: u64, layout: &Layout) {
        let share = LateShare::new(late, length_ns, layout);
        self.idle.add(&late.idle);
        self.overslept.add(&late.overslept);
        self.rest_share_max = self.rest_share_max.max(share.rest);
        self.overslept_share_max = self.overslept_share_max.max(share.overslept);
    }
}

/// A rest must be longer than the schedule's own by this much.
pub(crate) fn margin_ns(layout: &Layout) -> u64 {
    layout.times.smallest.map_or(0, |smallest| smallest.as_ns() / MARGIN)
}

/// Why a window that keeps its bounds does not prove that they hold for a stream; `None` where it does.
pub(crate) fn flaw_of_window(window: &Window, stream: usize, layout: &Layout) -> Option<flaw::Late> {
    let flows = layout.streams[stream].flows.iter();
    let of_targets = flows.map(|flow| usize::from(layout.flows[*flow].target)).find_map(|target| {
        let what = on_target(window, target, layout)?;
        Some(flaw::Late { target: layout.targets[target].clone(), what })
    });
    of_targets.or_else(|| loops::flaw_of_window(window, stream, layout))
}

fn on_target(window: &Window, target: usize, layout: &Layout) -> Option<LateBy> {
    let late = window.late.get(target)?;
    let share = LateShare::new(late, window.end_ns.saturating_sub(window.start_ns), layout);
    if has_streams(layout, target, true) && share.rest > AT_MOST {
        return Some(LateBy::Rest { share: share.rest, longest_ns: late.idle.max_ns });
    }
    // Where the log counts what slots do, that decides about closed loops.
    if has_streams(layout, target, false) && layout.loops.is_empty() && share.overslept > AT_MOST {
        return Some(LateBy::Overslept { share: share.overslept, longest_ns: late.overslept.max_ns });
    }
    if share.rest > TELL || share.overslept > TELL { merged_lateness(late, target, layout) } else { None }
}

/// Whether open or closed loops run on a target.
fn has_streams(layout: &Layout, target: usize, is_open_loop: bool) -> bool {
    layout.streams_of(target).any(|stream| layout.streams[stream].head.is_open_loop() == is_open_loop)
}

/// Where the generator let a target rest for longer than allowed, by how much this may have made a response longer: a
/// device that accumulates something (such as tokens) could not accumulate it in that time, and has not recovered it
/// when it is next empty. `None` where it rested for no longer: then the floors are sufficient.
pub(crate) fn given_away_ns(window: &Window, targets: impl Iterator<Item = usize>, layout: &Layout) -> Option<u64> {
    let length = window.end_ns.saturating_sub(window.start_ns);
    let late = targets.filter_map(|target| window.late.get(target));
    let much = late.filter(|late| LateShare::new(late, length, layout).rest > AT_MOST);
    much.map(|late| behind_ns(late, layout)).max()
}

/// The time by which the generator may have delayed the whole schedule of a target.
pub(crate) fn behind_ns(late: &Late, layout: &Layout) -> u64 {
    late.shift_ns.saturating_add(late.rest_ns(&layout.times.thresholds, margin_ns(layout)))
}

/// For how long the generator may have left a target with less work than it should have had: it issued due operations
/// late, or found completions late that a closed loop waited for.
pub(crate) fn without_work_ns(late: &Late, layout: &Layout) -> u64 {
    behind_ns(late, layout).saturating_add(late.overslept.sum_ns)
}

/// A warning where lateness is worth mentioning although it does not affect the verdict.
pub(crate) fn warning_text(window: &Window, layout: &Layout) -> Option<String> {
    let length = window.end_ns.saturating_sub(window.start_ns);
    let shares = window.late.iter().map(|late| LateShare::new(late, length, layout));
    let worst = shares.enumerate().max_by(|a, b| a.1.rest.total_cmp(&b.1.rest))?;
    (worst.1.rest > TELL).then(|| {
        format!(
            "the test machine left {} without work for {} of slice {} although operations were due (above {} a slice proves nothing)",
            layout.targets[worst.0],
            percent_text(worst.1.rest),
            window.number,
            percent_text(AT_MOST)
        )
    })
}

/// Bunched operations are merged on their way to the disk, and several flushes become one: the disk then did less than
/// it was asked to.
fn merged_lateness(late: &Late, target: usize, layout: &Layout) -> Option<LateBy> {
    let disk = late.disk?;
    let sequential = |direction| {
        layout
            .streams_of(target)
            .any(|at| layout.streams[at].sequential && layout.streams[at].head.direction == Some(direction))
    };
    for (direction, counted, own) in
        [(Direction::Read, disk.reads, late.own[0]), (Direction::Write, disk.writes, late.own[1])]
    {
        if sequential(direction) && is_fewer(counted, own.operations) {
            return Some(LateBy::Merged { direction, counted, own: own.operations });
        }
    }
    // A disk that counts no flushes needs none.
    let (counted, durable) = (disk.flushes, late.durable);
    (counted > 0 && is_fewer(counted, durable)).then_some(LateBy::Flushes { counted, durable })
}

/// Whether so many fewer were counted that operations must have been merged.
fn is_fewer(counted: u64, own: u64) -> bool {
    own as f64 - counted as f64 > own as f64 * MERGED + COUNTED_APART
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::counted_times::CountedTimes;
    use crate::fold::stream_layout::StreamLayout;
    use crate::judgement::DiskCount;
    use assay_base::Rate;
    use assay_base::Span;
    use assay_record::{DiskCounters, FlowHead, Lateness, Pauses, StreamHead, Thresholds};
    use std::collections::BTreeSet;

    const MS: u64 = 1_000_000;
    const SECOND: u64 = 1_000 * MS;

    /// One stream on one target, judged by the share over 1 ms.
    fn layout(open: bool, direction: Direction) -> Layout {
        let head = StreamHead {
            name: "s".into(),
            direction: Some(direction),
            operation: None,
            arrival: "steady".into(),
            rate: open.then(|| Rate::per_second(500)),
            size: "4KiB".into(),
            size_done: String::new(),
            per_target: false,
        };
        Layout {
            streams: vec![StreamLayout {
                head,
                flows: vec![0],
                sequential: false,
                durable: false,
                may_fail: std::collections::BTreeMap::new(),
                reads_back: false,
            }],
            flows: vec![FlowHead { stream: 0, target: 0 }],
            targets: vec!["disk".into()],
            combined: Default::default(),
            loops: Vec::new(),
            times: CountedTimes {
                thresholds: Thresholds::new([]),
                shown: BTreeSet::new(),
                smallest: Some(Span::from_ms(1)),
                lateness: true,
            },
            lives: Default::default(),
            watched: Vec::new(),
            plan: assay_record::PlanHead::default(),
            of_another_tool: false,
            interval_ns: SECOND,
            planned_ns: 10 * SECOND,
        }
    }

    /// Ten seconds with given idle (its time, and that of the whole empty period), gaps of 2 ms, and oversleeping.
    fn window(idle: &[(u64, u64)], overslept: u64, layout: &Layout) -> Window {
        let mut late = Late::default();
        for (given, empty) in idle {
            let pauses = Pauses { sum_ns: *given, max_ns: *given, count: 1 };
            let idle_in = vec![layout.times.thresholds.bucket_for_time(*empty) as u64, *given];
            let lateness = Lateness { gap_ns: 2 * MS, shift_ns: 7 * MS, idle: pauses, idle_in, ..Lateness::default() };
            late.add_lateness(&lateness, &layout.times.thresholds).unwrap();
        }
        late.overslept.record_pause(overslept);
        Window {
            number: 1,
            start_ns: 0,
            end_ns: 10 * SECOND,
            complete: true,
            invalid: None,
            intervals: 10,
            mixed: false,
            repeated: false,
            flows: Vec::new(),
            streams: Vec::new(),
            late: vec![late],
            loops: Vec::new(),
            disturbed: None,
            processor_pressure: None,
        }
    }

    #[test]
    fn a_rest_counts_when_it_is_longer_than_the_schedules_own() {
        let layout = layout(true, Direction::Read);
        // 2.1 ms are allowed: what lies in the bucket from 2.048 to 4 ms is not counted.
        for (idle, rest) in [
            (&[(50 * MS, 2 * MS)][..], 0),
            (&[(50 * MS, 3 * MS)], 0),
            (&[(50 * MS, 4 * MS)], 50 * MS),
            (&[(50 * MS, 3 * MS), (20 * MS, 5 * MS), (30 * MS, 3_600_000 * MS)], 50 * MS),
        ] {
            let window = window(idle, 0, &layout);
            assert_eq!(window.late[0].rest_ns(&layout.times.thresholds, margin_ns(&layout)), rest, "{idle:?}");
            assert_eq!(behind_ns(&window.late[0], &layout), rest + 7 * MS, "{idle:?}");
        }
        assert_eq!(margin_ns(&layout), 100_000);
        assert_eq!(Late::default().rest_ns(&layout.times.thresholds, 0), 0, "nothing was late");
        assert_eq!(Late { gap_ns: u64::MAX, ..Late::default() }.rest_ns(&layout.times.thresholds, 9), 0);
    }

    #[test]
    fn what_holds_is_proven_with_a_hundredth_of_rest_and_not_with_more() {
        for (rest, open, flawed, told) in [
            (9 * MS, true, false, false),
            (10 * MS, true, false, false),
            (11 * MS, true, false, true),
            (100 * MS, true, false, true),
            (101 * MS, true, true, true),
            // A closed loop has no rest that its schedule did not ask for.
            (101 * MS, false, false, true),
        ] {
            let layout = layout(open, Direction::Read);
            let window = window(&[(rest, SECOND)], 0, &layout);
            assert_eq!(flaw_of_window(&window, 0, &layout).is_some(), flawed, "{rest} {open}");
            assert_eq!(warning_text(&window, &layout).is_some(), told, "{rest} {open}");
            let away = given_away_ns(&window, [0].into_iter(), &layout);
            assert_eq!(away, (rest > 100 * MS).then_some(rest + 7 * MS), "{rest}");
        }
    }

    #[test]
    fn only_a_closed_loop_asks_for_less_by_oversleeping() {
        for (overslept, open, flawed) in [(100 * MS, false, false), (101 * MS, false, true), (101 * MS, true, false)] {
            let layout = layout(open, Direction::Read);
            let found = flaw_of_window(&window(&[], overslept, &layout), 0, &layout);
            assert_eq!(found.is_some(), flawed, "{overslept} {open}: {found:?}");
        }
    }

    /// From a thousandth of rest or of oversleeping on, bunches may have been merged.
    #[test]
    fn merging_counts_from_a_thousandth_on() {
        let mut layout = layout(true, Direction::Read);
        layout.streams[0].sequential = true;
        for (rest, overslept, flawed) in
            [(10 * MS, 10 * MS, false), (11 * MS, 0, true), (0, 11 * MS, true), (0, 0, false), (20 * MS, 20 * MS, true)]
        {
            let idle = [(rest, SECOND)];
            let mut window = window(if rest > 0 { &idle } else { &[] }, overslept, &layout);
            let late = &mut window.late[0];
            late.add_disk(&DiskCounters { reads: 5_000, ..DiskCounters::default() });
            late.own = [DiskCount { operations: 10_000, bytes: 1 }; 2];
            assert_eq!(flaw_of_window(&window, 0, &layout).is_some(), flawed, "{rest} {overslept}");
        }
        layout.streams[0].head.direction = Some(Direction::Write);
        let mut window = window(&[(20 * MS, SECOND)], 0, &layout);
        window.late[0].add_disk(&DiskCounters { reads: 0, writes: 10_000, ..DiskCounters::default() });
        window.late[0].own = [DiskCount { operations: 10_000, bytes: 1 }; 2];
        assert_eq!(
            flaw_of_window(&window, 0, &layout),
            None,
            "only writes are sequential here, and no write is missing"
        );
        assert_eq!(without_work_ns(&Late::default(), &layout), 0);
        window.late[0].overslept.record_pause(5);
        assert_eq!(without_work_ns(&window.late[0], &layout), 27 * MS + 5, "rest, shift and oversleeping");
    }

    #[test]
    fn what_was_merged_proves_nothing_where_the_generator_was_late() {
        for (direction, sequential, durable, counted, rest, flawed) in [
            (Direction::Read, true, false, 9_897, 11, false),
            (Direction::Read, true, false, 9_896, 11, true),
            (Direction::Read, true, false, 20_000, 11, false),
            (Direction::Read, true, false, 9_000, 10, false),
            (Direction::Read, false, false, 9_000, 11, false),
            (Direction::Write, true, false, 9_000, 11, true),
            (Direction::Write, false, true, 9_897, 11, false),
            (Direction::Write, false, true, 9_896, 11, true),
            // A disk without a cache counts no flushes.
            (Direction::Write, false, true, 0, 11, false),
        ] {
            let mut layout = layout(true, direction);
            (layout.streams[0].sequential, layout.streams[0].durable) = (sequential, durable);
            let mut window = window(&[(rest * MS, SECOND)], 0, &layout);
            let late = &mut window.late[0];
            let flushes = if durable { counted } else { 0 };
            late.add_disk(&DiskCounters { reads: counted, writes: counted, flushes, ..DiskCounters::default() });
            late.own = [DiskCount { operations: 10_000, bytes: 1 }; 2];
            late.durable = if durable { 10_000 } else { 0 };
            let found = flaw_of_window(&window, 0, &layout);
            assert_eq!(found.is_some(), flawed, "{direction} {sequential} {durable} {counted} {rest}: {found:?}");
            window.late[0].disk = None;
            assert_eq!(flaw_of_window(&window, 0, &layout), None, "nobody counted");
        }
    }

    #[test]
    fn totals_keep_the_worst_slice() {
        let layout = layout(true, Direction::Read);
        let mut totals = LatenessTotals::default();
        for (rest, overslept) in [(50 * MS, 20 * MS), (20 * MS, 30 * MS)] {
            totals.add_slice(&window(&[(rest, SECOND)], overslept, &layout).late[0], 10 * SECOND, &layout);
        }
        assert_eq!((totals.rest_share_max, totals.overslept_share_max), (0.005, 0.003));
        assert_eq!((totals.idle.sum_ns, totals.idle.count, totals.overslept.max_ns), (70 * MS, 2, 30 * MS));
    }
}
