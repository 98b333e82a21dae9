//! Finds the knobs whose expected figures come nearest to production's.
//!
//! In each direction, both figures are linear in one amount, for a given position of its sizes: the scale of its large
//! blocks or, where those were counted, the operations beside what was counted. So the best amount for a position is known
//! exactly: it is where a line crosses zero, where two lines cross, or a bound.
//! Positions are tried one by one, because rounding up to blocks makes the figures step functions of them.

use super::figures::{Figure, Figures, Load, relative_difference};
use assay_base::{Direction, Knobs, Rate, Share};

/// Positions lie between the bounds of their bucket.
pub(super) const POSITIONS: [f64; 2] = [1.0, 2.0];
/// Bounds of the scale of large blocks.
const SCALES: [f64; 2] = [0.0, 10.0];
/// Bounds of other operations, per second: none, and more than a drive can do.
const OTHERS: [f64; 2] = [0.0, 1e8];
/// Step of other operations, per second.
const STEP_OF_OTHERS: f64 = 0.1;
/// So many other operations per second are as far to go as the whole of the large blocks.
const FAR: f64 = 1000.0;
/// Step of position and scale: a tenth of a percent is readable, and changes no figure by more than a tenth of the usual tolerance.
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

/// What a fit moves in one direction beside the position of its sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Amount {
    /// The scale of large blocks, which nobody has counted.
    LargeBlocks,
    /// Operations beside those that were counted.
    Others,
}

/// The knobs of one direction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Movable {
    direction: Direction,
    amount: Amount,
}

impl Movable {
    /// What a fit of this load moves in a direction.
    pub(super) fn new(load: &dyn Load, direction: Direction) -> Movable {
        let counted = load.counts_large_blocks()[usize::from(direction == Direction::Write)];
        Movable { direction, amount: if counted { Amount::Others } else { Amount::LargeBlocks } }
    }

    /// Position and amount.
    pub(super) fn amounts_in(self, knobs: &Knobs) -> (f64, f64) {
        let Knobs { read_position, write_position, read_scale, write_scale, other_reads, other_writes } = *knobs;
        let (position, scale, others) = match self.direction {
            Direction::Read => (read_position, read_scale, other_reads),
            Direction::Write => (write_position, write_scale, other_writes),
        };
        let amount = match self.amount {
            Amount::LargeBlocks => scale.as_f64(),
            Amount::Others => others.as_f64(),
        };
        (position.as_f64(), amount)
    }

    /// The knobs with position and amount replaced.
    pub(super) fn with_position_and_amount(self, knobs: &Knobs, position: f64, amount: f64) -> Knobs {
        let mut moved = *knobs;
        let (place, scale, others) = match self.direction {
            Direction::Read => (&mut moved.read_position, &mut moved.read_scale, &mut moved.other_reads),
            Direction::Write => (&mut moved.write_position, &mut moved.write_scale, &mut moved.other_writes),
        };
        *place = share_of_steps(position);
        match self.amount {
            Amount::LargeBlocks => *scale = share_of_steps(amount),
            Amount::Others => {
                *others = Rate::from_ratio((amount / STEP_OF_OTHERS).round() as u128, 10).unwrap_or(Rate::ZERO)
            }
        }
        moved
    }

    /// Bounds of the amount.
    pub(super) fn amount_bounds(self) -> [f64; 2] {
        match self.amount {
            Amount::LargeBlocks => SCALES,
            Amount::Others => OTHERS,
        }
    }

    /// An amount within its bounds, in whole steps.
    fn rounded_amount(self, amount: f64) -> f64 {
        let [least, most] = self.amount_bounds();
        let step = match self.amount {
            Amount::LargeBlocks => STEP,
            Amount::Others => STEP_OF_OTHERS,
        };
        (amount.clamp(least, most) / step).round() * step
    }

    /// How far it is from one amount to another, as a share of what is usual.
    fn relative_distance(self, from: f64, to: f64) -> f64 {
        let usual = if self.amount == Amount::Others { FAR } else { 1.0 };
        (to - from).abs() / usual
    }
}

/// The share that is nearest to a value, in whole steps.
fn share_of_steps(value: f64) -> Share {
    Share::from_ppb((value / STEP * 1e3).round() as u64 * 1_000)
}

/// Knobs of one direction, and how far they are from the goal.
#[derive(Clone, Copy, Debug)]
struct Setting {
    position: f64,
    amount: f64,
    worst: f64,
    cost: f64,
}

/// The knobs that come nearest. Writes are solved first: where large-block reads are derived from the writes, they
/// follow.
pub(super) fn solve_knobs(load: &dyn Load, aim: &Aim, from: &Knobs) -> Knobs {
    [Direction::Write, Direction::Read].into_iter().fold(*from, |knobs, direction| {
        let movable = Movable::new(load, direction);
        let best = of_direction(load, aim, &knobs, movable);
        let [operations, _] = Figure::of_direction(direction).map(|figure| figure as usize);
        let made = aim.made_of_one[operations];
        if best.worst <= aim.tolerance || (made - 1.0).abs() <= aim.tolerance {
            return movable.with_position_and_amount(&knobs, best.position, best.amount);
        }
        let mut handed_over = *aim;
        handed_over.factor[operations] /= made;
        let best = of_direction(load, &handed_over, &knobs, movable);
        movable.with_position_and_amount(&knobs, best.position, best.amount)
    })
}

fn of_direction(load: &dyn Load, aim: &Aim, from: &Knobs, movable: Movable) -> Setting {
    let (position, _) = movable.amounts_in(from);
    let at = |position: f64| at_position(load, aim, from, movable, position);
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

/// The best amount for a position.
fn at_position(load: &dyn Load, aim: &Aim, from: &Knobs, movable: Movable, position: f64) -> Setting {
    let (was_position, was_amount) = movable.amounts_in(from);
    let figures = |amount: f64| load.expected_counts(&movable.with_position_and_amount(from, position, amount)).figures;
    let (none, once) = (figures(0.0), figures(1.0));
    let both = Figure::of_direction(movable.direction);
    let lines: Vec<(f64, f64)> = both
        .into_iter()
        .filter_map(|figure| {
            let at = figure as usize;
            let production = aim.production[at].filter(|theirs| *theirs > 0.0)?;
            let times = aim.factor[at] / production;
            Some((none[at] * times - 1.0, (once[at] - none[at]) * times))
        })
        .collect();
    let setting = |amount: f64| {
        let off = |figure: Figure| {
            let at = figure as usize;
            let ours = (none[at] + amount * (once[at] - none[at])) * aim.factor[at];
            Some(relative_difference(ours, aim.production[at]?).abs())
        };
        let offs: Vec<f64> = both.into_iter().filter_map(off).collect();
        let worst = offs.iter().copied().fold(0.0, f64::max);
        let beyond = offs.iter().filter(|off| **off > aim.tolerance).count() as f64;
        let way = (position - was_position).abs() + movable.relative_distance(was_amount, amount);
        let cost = BEYOND * beyond + worst.min(BEYOND / 2.0) + BESIDE * offs.iter().sum::<f64>() + WAY * way;
        Setting { position, amount, worst, cost }
    };
    let settings =
        turning_points(&lines, movable.amount_bounds()).map(|amount| setting(movable.rounded_amount(amount)));
    settings.fold(setting(was_amount), |best, one| if one.cost < best.cost { one } else { best })
}

/// Where the larger distance of these lines from zero can be smallest.
fn turning_points(lines: &[(f64, f64)], bounds: [f64; 2]) -> impl Iterator<Item = f64> {
    let mut places: Vec<f64> = lines.iter().map(|line| zero_of(*line)).collect();
    if let [(a, b), (c, d)] = lines {
        places.extend([zero_of((a - c, b - d)), zero_of((a + c, b + d))]);
    }
    places.extend(bounds);
    places.into_iter().filter(|place| place.is_finite())
}

/// Where a line `a + b x` is zero.
fn zero_of(line: (f64, f64)) -> f64 {
    let (a, b) = line;
    -a / b
}
