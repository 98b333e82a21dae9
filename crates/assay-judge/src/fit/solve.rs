//! Finds the knobs whose expected figures come nearest to production's.
//!
//! In each direction, both figures are linear in the scale of its large blocks, for a given position of its sizes. So
//! the best scale for a position is known exactly: it is where a line crosses zero, where two lines cross, or a bound.
//! Positions are tried one by one, because rounding up to blocks makes the figures step functions of them.

use super::figures::{Figure, Figures, Load, difference};
use assay_base::{Direction, Knobs, Share};

/// Positions lie between the bounds of their bucket.
pub(super) const POSITIONS: [f64; 2] = [1.0, 2.0];
/// Bounds of the scale of large blocks.
pub(super) const SCALES: [f64; 2] = [0.0, 10.0];
/// Step of both: a tenth of a percent is readable, and changes no figure by more than a tenth of the usual tolerance.
const STEP: f64 = 0.001;
/// Positions are first tried at this distance, then one step apart around the best of them.
const COARSE: f64 = 0.01;
/// Penalty for moving a knob over its full range, as a difference: of settings with equal results, the nearest is
/// taken.
const WAY: f64 = 1e-5;
/// Penalty for a figure beyond the tolerance: one agreeing figure of two is better than none.
const BEYOND: f64 = 1000.0;
/// Weight of the smaller difference relative to the larger one.
const BESIDE: f64 = 0.01;

/// The goal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Aim {
    /// See [`super::machine::Goal`].
    pub production: [Option<f64>; 4],
    /// See [`super::machine::Goal`].
    pub tolerance: f64,
    /// Factor between what the device is expected to count and what the plan asks for.
    pub factor: Figures,
    /// Ratio of what the device counts to what was issued.
    pub made_of_one: Figures,
}

/// Knobs of one direction, and how far they are from the goal.
#[derive(Clone, Copy, Debug)]
struct Setting {
    position: f64,
    scale: f64,
    worst: f64,
    cost: f64,
}

/// The knobs that come nearest. Writes are solved first: where large-block reads are derived from the writes, they
/// follow.
pub(super) fn solve(load: &dyn Load, aim: &Aim, from: &Knobs) -> Knobs {
    [Direction::Write, Direction::Read].into_iter().fold(*from, |knobs, direction| {
        let best = of_direction(load, aim, &knobs, direction);
        let [operations, _] = Figure::of(direction).map(|figure| figure as usize);
        let made = aim.made_of_one[operations];
        if best.worst <= aim.tolerance || (made - 1.0).abs() <= aim.tolerance {
            return with(&knobs, direction, best.position, best.scale);
        }
        let mut handed_over = *aim;
        handed_over.factor[operations] /= made;
        let best = of_direction(load, &handed_over, &knobs, direction);
        with(&knobs, direction, best.position, best.scale)
    })
}

fn of_direction(load: &dyn Load, aim: &Aim, from: &Knobs, direction: Direction) -> Setting {
    let (position, _) = of(from, direction);
    let at = |position: f64| at_position(load, aim, from, direction, position);
    let nearest = |settings: &mut dyn Iterator<Item = Setting>, first: Setting| {
        settings.fold(first, |best, one| if one.cost < best.cost { one } else { best })
    };
    let [least, most] = POSITIONS;
    let steps = ((most - least) / COARSE).round() as u32;
    let coarse = nearest(&mut (0..=steps).map(|n| at(least + f64::from(n) * COARSE)), at(position));
    let around = (COARSE / STEP).round() as i32;
    let fine = (-around..=around).map(|n| (coarse.position + f64::from(n) * STEP).clamp(least, most));
    nearest(&mut fine.map(at), coarse)
}

/// The best scale for a position.
fn at_position(load: &dyn Load, aim: &Aim, from: &Knobs, direction: Direction, position: f64) -> Setting {
    let (was_position, was_scale) = of(from, direction);
    let figures = |scale: f64| load.expected(&with(from, direction, position, scale)).figures;
    let (none, once) = (figures(0.0), figures(1.0));
    let line = |figure: Figure| {
        let at = figure as usize;
        let production = aim.production[at].filter(|theirs| *theirs > 0.0)?;
        let times = aim.factor[at] / production;
        Some((none[at] * times - 1.0, (once[at] - none[at]) * times))
    };
    let lines: Vec<(f64, f64)> = Figure::of(direction).into_iter().filter_map(line).collect();
    let setting = |scale: f64| {
        let off = |figure: Figure| {
            let at = figure as usize;
            let ours = (none[at] + scale * (once[at] - none[at])) * aim.factor[at];
            Some(difference(ours, aim.production[at]?).abs())
        };
        let offs: Vec<f64> = Figure::of(direction).into_iter().filter_map(off).collect();
        let worst = offs.iter().copied().fold(0.0, f64::max);
        let beyond = offs.iter().filter(|off| **off > aim.tolerance).count() as f64;
        let way = (position - was_position).abs() + (scale - was_scale).abs();
        let cost = BEYOND * beyond + worst.min(BEYOND / 2.0) + BESIDE * offs.iter().sum::<f64>() + WAY * way;
        Setting { position, scale, worst, cost }
    };
    let settings = turns(&lines).map(|scale| setting(rounded(scale.clamp(SCALES[0], SCALES[1]))));
    settings.fold(setting(was_scale), |best, one| if one.cost < best.cost { one } else { best })
}

/// Where the larger distance of these lines from zero can be smallest.
fn turns(lines: &[(f64, f64)]) -> impl Iterator<Item = f64> {
    let zero = |(a, b): (f64, f64)| -a / b;
    let mut places: Vec<f64> = lines.iter().map(|line| zero(*line)).collect();
    if let [(a, b), (c, d)] = lines {
        places.extend([zero((a - c, b - d)), zero((a + c, b + d))]);
    }
    places.extend(SCALES);
    places.into_iter().filter(|place| place.is_finite())
}

/// Rounded to whole steps.
fn rounded(value: f64) -> f64 {
    (value / STEP).round() * STEP
}

/// Position and scale of a direction.
pub(super) fn of(knobs: &Knobs, direction: Direction) -> (f64, f64) {
    match direction {
        Direction::Read => (knobs.read_position.as_f64(), knobs.read_scale.as_f64()),
        Direction::Write => (knobs.write_position.as_f64(), knobs.write_scale.as_f64()),
    }
}

/// The knobs with those of one direction replaced.
pub(super) fn with(knobs: &Knobs, direction: Direction, position: f64, scale: f64) -> Knobs {
    let share = |value: f64| Share::from_ppb((value / STEP * 1e3).round() as u64 * 1_000);
    let (position, scale) = (share(position), share(scale));
    match direction {
        Direction::Read => Knobs { read_position: position, read_scale: scale, ..*knobs },
        Direction::Write => Knobs { write_position: position, write_scale: scale, ..*knobs },
    }
}
