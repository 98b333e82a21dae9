//! The section on ranks: what each of them did by itself, with a strip of cells along the slices for each criterion that counts
//! operations over a threshold. Drawn here as SVG: they need no script and print as they are.

use super::badge::Badge;
use super::bounds::largest_share;
use super::figures::{Cell, two_decimals_percent};
use crate::judgement::{RankFigures, RankShare, StepFigures, share_of};

/// Cells of a strip at most: of more slices some are shown together, as the sum of their operations.
const CELLS: usize = 120;
/// A cell in units of the SVG.
const CELL_WIDTH: f64 = 6.0;

/// The table; without rows where one process carried the load.
#[derive(Default)]
pub(crate) struct RanksView<'a> {
    /// The criteria that have a column.
    pub titles: Vec<&'a str>,
    pub rows: Vec<RankRow<'a>>,
}

/// One rank.
pub(crate) struct RankRow<'a> {
    pub rank: &'a RankFigures,
    pub badge: Option<Badge>,
    pub shares: Vec<ShareColumn>,
}

/// What it did under one criterion.
pub(crate) struct ShareColumn {
    pub share: Cell,
    pub is_straggler: bool,
    pub strip: Vec<StripCell>,
    /// The width of the strip, in units of the SVG.
    pub width: String,
}

/// Some slices of a strip.
pub(crate) struct StripCell {
    pub at: String,
    pub width: String,
    /// How much of the bound is used, from 0 to 1.
    pub level: String,
    pub is_over: bool,
    pub words: String,
}

impl<'a> RanksView<'a> {
    pub(crate) fn new(part: &'a StepFigures, root: &str) -> RanksView<'a> {
        let columns: Vec<usize> = part.generator.ranks.first().map_or_else(Vec::new, |first| {
            let known = first.shares.iter().map(|share| share.criterion);
            known.filter(|criterion| part.criteria.get(*criterion).is_some()).collect()
        });
        let rows = part.generator.ranks.iter().enumerate().map(|(at, rank)| RankRow {
            rank,
            badge: rank.verdict.map(Badge::for_verdict),
            shares: columns
                .iter()
                .map(|criterion| share_column(part, rank, *criterion, &format!("{root}/ranks/{at}")))
                .collect(),
        });
        RanksView {
            titles: columns.iter().map(|criterion| part.criteria[*criterion].asked.title.as_str()).collect(),
            rows: rows.collect(),
        }
    }
}

fn share_column(part: &StepFigures, rank: &RankFigures, criterion: usize, path: &str) -> ShareColumn {
    let bound = part.criteria[criterion].asked.exact_bound.and_then(largest_share);
    let Some((at, share)) = rank.shares.iter().enumerate().find(|(_, share)| share.criterion == criterion) else {
        return ShareColumn { share: Cell::absent(), is_straggler: false, strip: Vec::new(), width: String::new() };
    };
    let path = format!("{path}/shares/{at}");
    let strip = strip_of_slices(share, bound);
    ShareColumn {
        share: Cell::from_part(
            Some(share.over),
            share.operations,
            format!("{path}/over"),
            format!("{path}/operations"),
        ),
        is_straggler: share.others.is_some(),
        width: format!("{:.0}", strip.len() as f64 * CELL_WIDTH),
        strip,
    }
}

fn strip_of_slices(share: &RankShare, bound: Option<f64>) -> Vec<StripCell> {
    let together = share.slices.len().div_ceil(CELLS).max(1);
    let groups = share.slices.chunks(together).enumerate();
    let cell = |(at, slices): (usize, &[(u64, u64)])| {
        let sum = |count: fn(&(u64, u64)) -> u64| slices.iter().map(count).fold(0, u64::saturating_add);
        let own = share_of(sum(|slice| slice.0), sum(|slice| slice.1));
        let first = at * together + 1;
        let which = match slices.len() {
            1 => format!("slice {first}"),
            n => format!("slices {first} to {}", first + n - 1),
        };
        let used = own.map_or(0.0, |own| own / bound.filter(|bound| *bound > 0.0).unwrap_or(1.0));
        StripCell {
            at: format!("{:.0}", at as f64 * CELL_WIDTH),
            width: format!("{CELL_WIDTH:.0}"),
            level: format!("{:.2}", used.clamp(0.0, 1.0)),
            is_over: bound.is_some_and(|bound| own.is_some_and(|own| own > bound)),
            words: format!("{which}: {}", own.map_or("nothing completed".to_owned(), two_decimals_percent)),
        }
    };
    groups.map(cell).collect()
}
