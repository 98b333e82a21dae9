//! Why a figure does not agree with production's.

use super::figures::{Compared, Figure, Load, Measured, ratio_or_one};
use super::solve::{self, Movable};
use assay_base::{Direction, Knobs};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A figure that does not agree, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Short {
    /// The comparison.
    #[serde(flatten)]
    pub of: Compared,
    /// The reason.
    pub why: Why,
}

/// The reason.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// The kernel splits a request into several.
    Split {
        /// Requests counted per request issued.
        times: f64,
    },
    /// The kernel merges requests, or the device counts fewer than it was given.
    Merged {
        /// Requests counted per request issued.
        times: f64,
    },
    /// No knob changes this figure.
    Fixed,
    /// Sizes are rounded up to the device's blocks, and the rounding alone exceeds the difference.
    Blocks {
        /// Factor of the rounding: 1.25 for a quarter more.
        times: f64,
    },
    /// The knobs that change it are at a bound.
    Bound {
        /// Whether it is the lower one.
        lowest: bool,
    },
    /// One knob changes both operations and bytes of this direction, and their ratio differs from production's.
    Tied {
        /// Expected mean bytes per operation.
        ours: f64,
        /// Mean bytes per operation in production.
        theirs: f64,
    },
    /// According to the rounds so far it would agree in another round.
    Unfinished,
}

/// The round that is explained.
pub(super) struct State<'a> {
    pub knobs: &'a Knobs,
    pub measured: &'a Measured,
    pub production: &'a [Option<f64>; 4],
    pub tolerance: f64,
    /// Whether it is expected to agree in another round.
    pub unfinished: bool,
}

pub(super) fn reason_for_difference(load: &dyn Load, state: &State<'_>, figure: Figure) -> Why {
    let at = figure as usize;
    let made = state.measured.made_of_one()[at];
    if !figure.is_bytes() && (made - 1.0).abs() > state.tolerance {
        return if made > 1.0 { Why::Split { times: made } } else { Why::Merged { times: made } };
    }
    if state.unfinished {
        return Why::Unfinished;
    }
    let direction = figure.counted_direction();
    if !can_move_figure(load, state.knobs, figure) {
        return Why::Fixed;
    }
    let (ours, theirs) = (state.measured.compared_figures()[at], state.production[at].unwrap_or_default());
    let rounding = load.expected_counts(state.knobs).rounding[usize::from(direction == Direction::Write)];
    if figure.is_bytes() && ours > theirs && ours / rounding <= theirs * (1.0 + state.tolerance) {
        return Why::Blocks { times: rounding };
    }
    match tied_or_bound(load, state, direction, ours > theirs) {
        Why::Tied { .. } if rounding - 1.0 > state.tolerance => Why::Blocks { times: rounding },
        why => why,
    }
}

/// Whether any knob of the figure's direction changes it.
fn can_move_figure(load: &dyn Load, knobs: &Knobs, figure: Figure) -> bool {
    let movable = Movable::new(load, figure.counted_direction());
    let (position, amount) = movable.amounts_in(knobs);
    let expected = |position, amount| {
        load.expected_counts(&movable.with_position_and_amount(knobs, position, amount)).figures[figure as usize]
    };
    let now = expected(position, amount);
    let [low, high] = solve::POSITIONS;
    [expected(low, amount), expected(high, amount), expected(position, 0.0), expected(position, 1.0)]
        .iter()
        .any(|then| (then - now).abs() > 1e-9 * now.abs())
}

fn tied_or_bound(load: &dyn Load, state: &State<'_>, direction: Direction, above: bool) -> Why {
    let movable = Movable::new(load, direction);
    let (position, amount) = movable.amounts_in(state.knobs);
    let [operations, bytes] = Figure::of_direction(direction);
    let at_positions = solve::POSITIONS
        .map(|end| load.expected_counts(&movable.with_position_and_amount(state.knobs, end, amount)).figures);
    let sizes_move = at_positions[0][bytes as usize] != at_positions[1][bytes as usize];
    let now = load.expected_counts(&movable.with_position_and_amount(state.knobs, position, amount)).figures;
    // Because of rounding up to blocks, the last steps before a bound are all alike and show no difference.
    let bound = at_positions[usize::from(!above)];
    let at_bound = (bound[bytes as usize] / now[bytes as usize] - 1.0).abs() < state.tolerance;
    if sizes_move && at_bound || amount == movable.amount_bounds()[usize::from(!above)] {
        return Why::Bound { lowest: above };
    }
    let theirs = [bytes, operations].map(|figure| state.production[figure as usize].unwrap_or_default());
    Why::Tied {
        ours: ratio_or_one(now[bytes as usize], now[operations as usize]),
        theirs: ratio_or_one(theirs[0], theirs[1]),
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Split { times } => write!(
                f,
                "the kernel makes {times:.2} requests of each one (a request is larger than max_sectors_kb of the device's queue); the requests that are issued are fitted instead"
            ),
            Why::Merged { times } => write!(
                f,
                "the device counts {times:.2} requests for each one that is issued: the kernel merges neighbours, or something in between answers; the requests that are issued are fitted instead"
            ),
            Why::Fixed => f.write_str("no knob of a fit changes it: correct the rate or the sizes in the profile"),
            Why::Blocks { times } => {
                write!(f, "sizes are rounded up to the blocks of this device, which adds {:.1}%", (times - 1.0) * 100.0)
            }
            Why::Bound { lowest } => write!(
                f,
                "sizes or large blocks are at their {} bound already: the histogram and the counts in the profile allow no {}",
                if *lowest { "lower" } else { "upper" },
                if *lowest { "less" } else { "more" }
            ),
            Why::Tied { ours, theirs } => write!(
                f,
                "one knob changes both operations and bytes: an operation has {:.1} KiB here and {:.1} KiB in production",
                in_kib(*ours),
                in_kib(*theirs)
            ),
            Why::Unfinished => {
                f.write_str("it is expected to agree in another round: allow more (--rounds), or longer ones (--for)")
            }
        }
    }
}

fn in_kib(bytes: f64) -> f64 {
    bytes / 1024.0
}
