//! At which size of area an application's places differ, how much of the device it uses, and which areas are hot.
//!
//! With n requests of which c fall on an area, c·(c−1) summed over the areas and divided by n·(n−1) is how likely two
//! requests are to fall on the same area, whatever chance did. Multiplied by the number of areas it is 1 where all are
//! used equally often (concentration). Where hot blocks lie scattered it falls as areas become larger; where hot places
//! are large it stays. The areas are the largest ones at which it still is what it is for the smallest.

use super::classes::{Class, find_classes};
use super::side::Side;
use super::zones::CountedZones;
use std::collections::BTreeMap;

/// How much of the concentration above 1 areas must keep.
const KEPT: f64 = 0.99;
/// Standard deviations beyond which places are not used equally often.
const BEYOND_CHANCE: f64 = 4.0;
/// Runs for each zone by which it can be said how much of the device is used, and zones that are told apart at least.
const RUNS_OF_ZONE: f64 = 16.0;
const ZONES_MIN: f64 = 64.0;
/// Runs from which it can be said that some areas are hotter than others.
const LEAST_RUNS: f64 = 200.0;
/// Largest area that is tried.
const LARGEST: u64 = 1 << 40;

/// Areas of one size.
#[derive(Clone, Debug)]
struct Level {
    /// Bytes of an area.
    size: u64,
    /// Number of areas of this size from the first to the last that is used.
    extent: f64,
    /// Requests to each area that was used, of those that are looked at.
    counts: Vec<u64>,
    /// The share of the areas that are looked at.
    rate: f64,
    /// Requests to all areas.
    operations: f64,
}

/// What follows from the counts for a load.
#[derive(Clone, Debug)]
pub(super) struct Areas {
    /// Bytes of an area.
    pub size: u64,
    /// The areas that are used, in bytes.
    pub span: u64,
    /// Classes of areas, each with its share of the requests and of the areas that are used.
    pub zones: Vec<Zone>,
}

/// Areas that are used equally often.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Zone {
    /// Their share of the requests.
    pub operations: f64,
    /// Their share of the areas.
    pub space: f64,
}

/// The areas of a direction; `None` where no place is known.
pub(super) fn find_areas(side: &Side) -> Option<Areas> {
    let unit = side.usual_unit();
    let (all, starts) = (side.zones.counted_zones(), side.starts.zones.counted_zones());
    let runs = starts.counts.iter().map(|(_, count)| *count).sum::<u64>() as f64;
    if runs < 1.0 {
        return None;
    }
    let span = span_used(&all, runs);
    let extent = all.extent * all.size;
    let finest = Level::finest_level(side, &starts, unit).within_extent(extent);
    let level = choose_level(&finest, &starts, extent);
    let areas = (span as f64 / level.size as f64).round().max(1.0);
    // A zone at the end of the device may reach beyond it.
    let span = (areas as u64).saturating_mul(level.size).min(side.furthest.max(level.size));
    Some(Areas { size: level.size, span, zones: level.zones_of(areas) })
}

/// How much of the device is used, in zones that are large enough that chance leaves out few of them.
fn span_used(all: &CountedZones, runs: f64) -> u64 {
    let mut zones = all.clone();
    while zones.extent as f64 > ZONES_MIN.max(runs / RUNS_OF_ZONE) {
        zones = zones.coarsened_to(zones.size * 2);
    }
    // Finer zones tell more where the whole device is used, up to its end.
    let used = Level::from_zones(&zones).areas_used() * zones.size as f64;
    (used as u64).min(all.extent * all.size)
}

/// The largest areas at which places differ as much as they do at any size.
fn choose_level(finest: &Level, starts: &CountedZones, extent: u64) -> Level {
    let mut levels = vec![finest.clone()];
    let mut size = starts.size.max(finest.size * 2);
    while size <= LARGEST && extent / size >= 16 {
        levels.push(Level::from_zones(&starts.coarsened_to(size)).within_extent(extent));
        size *= 2;
    }
    levels.retain(|level| level.pair_concentration() - 1.0 >= BEYOND_CHANCE * level.chance_deviation());
    let most = levels.iter().map(|level| level.pair_concentration() - 1.0).fold(0.0, f64::max);
    let chosen = levels
        .into_iter()
        .rev()
        .find(|level| level.pair_concentration() - 1.0 >= KEPT * most - level.chance_deviation());
    chosen.unwrap_or_else(|| finest.clone())
}

impl Level {
    fn from_zones(zones: &CountedZones) -> Level {
        let counts: Vec<u64> = zones.counts.iter().map(|(_, count)| *count).collect();
        let operations = counts.iter().sum::<u64>() as f64;
        Level { size: zones.size, extent: zones.extent as f64, counts, rate: 1.0, operations }
    }

    /// The same within so many bytes.
    fn within_extent(self, extent: u64) -> Level {
        Level { extent: extent.div_ceil(self.size).max(1) as f64, ..self }
    }

    /// The smallest areas that were counted: zones where these are small, otherwise a sample of the blocks.
    fn finest_level(side: &Side, starts: &CountedZones, unit: u64) -> Level {
        let block = 1u64 << super::sample::BLOCK;
        let zones = Level::from_zones(&starts.coarsened_to(unit));
        if zones.size <= unit.max(block) {
            return zones;
        }
        let sample = &side.starts.sample;
        let counts = sample.kept_counts().collect();
        Level {
            size: unit.max(block),
            extent: zones.extent,
            counts,
            rate: sample.kept_share(),
            operations: zones.operations,
        }
    }

    /// See the module.
    fn pair_concentration(&self) -> f64 {
        let pairs: f64 = self.counts.iter().map(|count| *count as f64 * (*count as f64 - 1.0)).sum();
        let all = self.operations * (self.operations - 1.0);
        if all > 0.0 { self.extent * pairs / self.rate / all } else { 1.0 }
    }

    /// The standard deviation of the concentration where all areas are used equally often.
    fn chance_deviation(&self) -> f64 {
        (2.0 * self.extent / self.rate).sqrt() / self.operations.max(1.0)
    }

    /// The number of areas that are used, those included that chance left out: from how many were used once and twice
    /// (A. Chao, "Nonparametric estimation of the number of classes in a population", Scandinavian Journal of Statistics
    /// 11, 1984).
    fn areas_used(&self) -> f64 {
        let number_with = |wanted: u64| self.counts.iter().filter(|count| **count == wanted).count() as f64;
        let (once, twice) = (number_with(1), number_with(2));
        let unseen = once * (once - 1.0).max(0.0) / (2.0 * (twice + 1.0));
        ((self.counts.len() as f64 + unseen) / self.rate).min(self.extent)
    }

    /// The zones of `areas` areas, the hottest first.
    fn zones_of(&self, areas: f64) -> Vec<Zone> {
        let mut counts: BTreeMap<u64, f64> = BTreeMap::new();
        self.counts.iter().for_each(|count| *counts.entry(*count).or_default() += 1.0);
        let unused = areas * self.rate - self.counts.len() as f64;
        *counts.entry(0).or_default() += unused.max(0.0);
        let is_known = self.operations >= LEAST_RUNS;
        if !is_known
            || self.concentration_of(areas) - 1.0 < BEYOND_CHANCE * (2.0 * areas / self.rate).sqrt() / self.operations
        {
            return vec![Zone { operations: 1.0, space: 1.0 }];
        }
        zones_of_classes(find_classes(&counts), areas)
    }

    fn concentration_of(&self, areas: f64) -> f64 {
        if self.extent > 0.0 { self.pair_concentration() * areas / self.extent } else { 1.0 }
    }
}

/// Upper bound on the zones of a load.
const ZONES_MAX: usize = 16;

/// Classes as shares of `areas`; classes that differ least are joined until there are few, and each has whole areas.
fn zones_of_classes(classes: Vec<Class>, areas: f64) -> Vec<Zone> {
    let mut classes: Vec<Class> = classes.into_iter().filter(|class| class.space > 0.0).collect();
    while classes.len() > ZONES_MAX {
        let at = (1..classes.len())
            .min_by(|a, b| cost_of_joining(&classes, *a).total_cmp(&cost_of_joining(&classes, *b)))
            .unwrap_or(1);
        join_with_next(&mut classes, at - 1);
    }
    let space: f64 = classes.iter().map(|class| class.space).sum();
    let operations: f64 = classes.iter().map(|class| class.rate * class.space).sum();
    let (mut zones, mut until, mut whole, mut carried): (Vec<Zone>, f64, f64, f64) = (Vec::new(), 0.0, 0.0, 0.0);
    for class in &classes {
        until += class.space / space * areas;
        carried += class.rate * class.space / operations;
        // A class of less than an area is a part of the next one.
        if until.round() > whole {
            zones.push(Zone { operations: std::mem::take(&mut carried), space: (until.round() - whole) / areas });
            whole = until.round();
        }
    }
    if let Some(last) = zones.last_mut() {
        last.operations += carried;
    }
    zones
}

fn join_with_next(classes: &mut Vec<Class>, at: usize) {
    let (a, b) = (classes[at], classes.remove(at + 1));
    let space = a.space + b.space;
    classes[at] = Class { rate: (a.rate * a.space + b.rate * b.space) / space, space };
}

/// How many operations move to other areas where a class is joined with the one before it.
fn cost_of_joining(classes: &[Class], at: usize) -> f64 {
    let (a, b) = (classes[at - 1], classes[at]);
    (a.rate - b.rate) * a.space * b.space / (a.space + b.space)
}
