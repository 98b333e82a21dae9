//! When a late generator may still speak: what a window that holds its bounds must besides, to be a PASS.
//!
//! A late generator makes a response longer, and so what holds with all lag counted would hold without it; unless the device
//! rested when it should have worked, did less because a closed loop asked for less, or was handed bunches that it could
//! merge. `docs/decisions/0028-late-generator.md` has the proof and its conditions.

use crate::fold::late::Late;
use crate::fold::layout::Layout;
use crate::fold::window::Window;
use crate::judgement::LatenessTotals;
use crate::rules::value::percent;
use assay_base::{Direction, Span};

/// Of the window, what of given idle or of oversleeping leaves nothing proven.
const AT_MOST: f64 = 0.01;
/// From here on it is told.
const TELL: f64 = 0.001;
/// Of the operations or flushes, how many may be missing in the disk's own count.
const MERGED: f64 = 0.01;
/// So many operations more: the disk is asked a moment before or after an interval ends.
const COUNTED_APART: f64 = 3.0;
/// A rest counts when it is longer than the schedule's own by this part of the smallest threshold.
const MARGIN: u64 = 10;

/// What lateness did to one target in a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// Given idle that counts, as a share of the window.
    pub rest: f64,
    /// Time overslept, as a share of the window.
    pub overslept: f64,
}

impl Share {
    /// Of a target in a window of `length_ns`.
    pub fn of(late: &Late, length_ns: u64, layout: &Layout) -> Share {
        let length = length_ns.max(1) as f64;
        let rest = late.rest_ns(&layout.thresholds, margin_ns(layout));
        Share { rest: rest as f64 / length, overslept: late.overslept.sum_ns as f64 / length }
    }
}

impl LatenessTotals {
    /// Adds a slice of `length_ns`.
    pub fn add(&mut self, late: &Late, length_ns: u64, layout: &Layout) {
        let share = Share::of(late, length_ns, layout);
        self.idle.add(&late.idle);
        self.overslept.add(&late.overslept);
        self.rest_share_max = self.rest_share_max.max(share.rest);
        self.overslept_share_max = self.overslept_share_max.max(share.overslept);
    }
}

/// By how much a rest must be longer than the schedule's own.
pub fn margin_ns(layout: &Layout) -> u64 {
    layout.smallest.map_or(0, |smallest| smallest.as_ns() / MARGIN)
}

/// Why a window that holds its bounds does not prove that they hold for a stream; `None` where it does.
pub fn flaw(window: &Window, stream: usize, layout: &Layout) -> Option<String> {
    let flows = layout.of_stream[stream].iter();
    flows.map(|flow| usize::from(layout.flows[*flow].target)).find_map(|target| on_target(window, target, layout))
}

fn on_target(window: &Window, target: usize, layout: &Layout) -> Option<String> {
    let late = window.late.get(target)?;
    let name = &layout.targets[target];
    let share = Share::of(late, window.end_ns.saturating_sub(window.start_ns), layout);
    let has = |open| layout.streams_of(target).any(|stream| layout.streams[stream].is_open_loop() == open);
    if has(true) && share.rest > AT_MOST {
        let longest = Span::from_ns(late.idle.max_ns).human();
        let share = percent(share.rest);
        return Some(format!(
            "the generator let {name} rest for {share} of the time, up to {longest} at once, while operations were due"
        ));
    }
    if has(false) && share.overslept > AT_MOST {
        let longest = Span::from_ns(late.overslept.max_ns).human();
        let share = percent(share.overslept);
        return Some(format!(
            "the generator overslept {share} of the time, up to {longest} at once, in which a closed loop on {name} asked for less"
        ));
    }
    if share.rest > TELL || share.overslept > TELL { merged(late, target, layout) } else { None }
}

/// Where the generator let a target rest for more than may be, what it may have made a response longer by: a device that saves
/// something up lost what it could have saved in that time, and has not got it back when it is next empty. `None` where it
/// rested for no more: then what the floors count is enough.
pub fn given_away_ns(window: &Window, targets: impl Iterator<Item = usize>, layout: &Layout) -> Option<u64> {
    let length = window.end_ns.saturating_sub(window.start_ns);
    let late = targets.filter_map(|target| window.late.get(target));
    let much = late.filter(|late| Share::of(late, length, layout).rest > AT_MOST);
    much.map(|late| behind_ns(late, layout)).max()
}

/// How far the generator may have put the whole schedule of a target behind.
pub fn behind_ns(late: &Late, layout: &Layout) -> u64 {
    late.shift_ns.saturating_add(late.rest_ns(&layout.thresholds, margin_ns(layout)))
}

/// What is worth a word though it takes nothing away.
pub fn warning(window: &Window, layout: &Layout) -> Option<String> {
    let length = window.end_ns.saturating_sub(window.start_ns);
    let shares = window.late.iter().map(|late| Share::of(late, length, layout));
    let worst = shares.enumerate().max_by(|a, b| a.1.rest.total_cmp(&b.1.rest))?;
    (worst.1.rest > TELL).then(|| {
        format!(
            "the generator let {} rest for {} of slice {} while operations were due (proves nothing above {})",
            layout.targets[worst.0],
            percent(worst.1.rest),
            window.number,
            percent(AT_MOST)
        )
    })
}

/// Bunches are merged on their way to the disk, and flushes of several become one: it then did less than was asked of it.
fn merged(late: &Late, target: usize, layout: &Layout) -> Option<String> {
    let disk = late.disk?;
    let name = &layout.targets[target];
    let fewer = |counted: u64, own: u64| own as f64 - counted as f64 > own as f64 * MERGED + COUNTED_APART;
    let sequential = |direction| {
        layout.streams_of(target).any(|at| layout.sequential[at] && layout.streams[at].direction == direction)
    };
    for (direction, counted, own) in
        [(Direction::Read, disk.reads, late.own[0]), (Direction::Write, disk.writes, late.own[1])]
    {
        if sequential(direction) && fewer(counted, own.operations) {
            return Some(format!(
                "the generator was late, and {name} counted {counted} {direction}s where the run made {}: what came in bunches was \
                 merged",
                own.operations
            ));
        }
    }
    // A disk that counts none needs none.
    (disk.flushes > 0 && fewer(disk.flushes, late.durable)).then(|| {
        format!(
            "the generator was late, and {name} counted {} flushes where {} writes were to be durable: those of a bunch became one",
            disk.flushes, late.durable
        )
    })
}
