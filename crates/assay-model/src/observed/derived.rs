//! The load that does what was seen.

use super::arrivals::{ArrivalShape, fit_arrival};
use super::fold::Observed;
use super::in_flight::SteadyDepth;
use super::levels::{Areas, Zone, find_areas};
use super::side::Side;
use super::zones::Zones;
use crate::address::{HeatMap, LARGEST_AREA};
use assay_base::{Bytes, Share};
use std::collections::BTreeMap;

/// Runs that are so few, as a share of the requests, come by chance.
const BY_CHANCE: f64 = 0.002;
/// From this share of requests that continue a run, alone, all of them are one run.
const THROUGH: f64 = 0.999;
/// Requests from which the places of a direction can be said.
const LEAST: u64 = 200;
/// From this share of writes to places that are read, reads and writes use the same part of the device.
const COMMON: f64 = 0.5;

/// A direction of a load.
#[derive(Clone, PartialEq, Debug)]
pub struct DerivedFlow {
    /// Where operations go.
    pub heat: HeatMap,
    /// Whether it is one run from the begin to the end, again and again, instead.
    pub goes_through: bool,
    /// In how much of the device.
    pub span: Bytes,
    /// When they are due.
    pub arrival: ArrivalShape,
}

/// A load.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DerivedLoad {
    /// Its reads, where enough of them were seen.
    pub reads: Option<DerivedFlow>,
    /// Its writes.
    pub writes: Option<DerivedFlow>,
    /// Where the part of the writes begins: behind that of the reads, where they use different ones.
    pub writes_begin: Bytes,
    /// Whether what is often read is often written.
    pub same_places: bool,
    /// What is in flight, where that is constant.
    pub in_flight: Option<SteadyDepth>,
}

impl Observed {
    /// The load of what was seen for this long, up to `end`; of so many such applications at once, on places of their own.
    pub fn derive_load(&self, seconds: f64, end: u64, copies: u32) -> DerivedLoad {
        let watched = Watched { seconds, end, copies };
        let [reads, writes] = [&self.reads, &self.writes].map(|side| derive_flow(side, &watched));
        let common = common_places(&self.reads.zones, &self.writes.zones);
        let same_places = common.correlation > COMMON;
        let (reads, writes) = if same_places { on_same_places(reads, writes) } else { (reads, writes) };
        DerivedLoad {
            writes_begin: if common.writes_to_read < COMMON {
                begin_behind(&reads, &writes, self, copies)
            } else {
                Bytes::default()
            },
            same_places,
            in_flight: self.in_flight.steady_depth(),
            reads,
            writes,
        }
    }
}

/// For how long, up to which time, and how many applications are meant.
struct Watched {
    seconds: f64,
    end: u64,
    copies: u32,
}

fn derive_flow(side: &Side, watched: &Watched) -> Option<DerivedFlow> {
    if side.addressed < LEAST {
        return None;
    }
    let areas = find_areas(side)?;
    let copies = u64::from(watched.copies);
    let operations = side.operations as f64 * copies as f64;
    let rate = if watched.seconds > 0.0 { operations / watched.seconds } else { 0.0 };
    let counts = side.windows.counts_until(watched.end).map(|counts| counts.of_copies(watched.copies));
    let goes_through = side.sequential as f64 > THROUGH * side.addressed as f64 && side.runs.runs_at_a_time() == 1;
    Some(DerivedFlow {
        goes_through,
        span: Bytes::new(areas.span.saturating_mul(copies)),
        heat: heat_of(side, areas),
        arrival: fit_arrival(&counts, rate),
    })
}

/// Where the writes begin behind the reads, so that both are within what was used of the device.
fn begin_behind(reads: &Option<DerivedFlow>, writes: &Option<DerivedFlow>, seen: &Observed, copies: u32) -> Bytes {
    let (Some(reads), Some(writes)) = (reads, writes) else { return Bytes::default() };
    let room = seen.reads.furthest.max(seen.writes.furthest).saturating_mul(copies.into());
    let room = room.saturating_sub(writes.span.get());
    let unit = writes.heat.unit.get();
    Bytes::new(reads.span.get().min(room).next_multiple_of(unit).min(room / unit * unit))
}

/// The same flows over as many areas of the same size, so that the hot areas of both are the same ones.
fn on_same_places(
    reads: Option<DerivedFlow>,
    writes: Option<DerivedFlow>,
) -> (Option<DerivedFlow>, Option<DerivedFlow>) {
    let (Some(mut reads), Some(mut writes)) = (reads.clone(), writes.clone()) else { return (reads, writes) };
    let span = reads.span.max(writes.span);
    let area = reads.heat.area.min(writes.heat.area).max(reads.heat.unit).max(writes.heat.unit);
    for flow in [&mut reads, &mut writes] {
        let used = flow.span.get() as f64 / span.get() as f64;
        if used < 1.0 {
            let mut space: Vec<f64> = flow.heat.zones.iter().map(|(_, space)| space.as_f64() * used).collect();
            space.push(1.0 - used);
            let operations = flow.heat.zones.iter().map(|(operations, _)| *operations).chain([Share::default()]);
            flow.heat.zones = operations.zip(space_shares(&space)).collect();
        }
        (flow.span, flow.heat.area) = (span, area);
    }
    (Some(reads), Some(writes))
}

fn heat_of(side: &Side, areas: Areas) -> HeatMap {
    let in_runs = side.sequential as f64 > BY_CHANCE * side.addressed as f64;
    let lengths = if in_runs { side.runs.run_lengths() } else { Vec::new() };
    let all: u64 = lengths.iter().map(|length| length.runs).sum();
    let parts: Vec<f64> = lengths.iter().map(|length| length.runs as f64 / all as f64).collect();
    let run_lengths = lengths.iter().map(|length| length.length).zip(whole_shares(&parts)).collect();
    let operations: Vec<f64> = areas.zones.iter().map(|zone: &Zone| zone.operations).collect();
    let space: Vec<f64> = areas.zones.iter().map(|zone| zone.space).collect();
    HeatMap {
        zones: whole_shares(&operations).into_iter().zip(space_shares(&space)).collect(),
        area: Bytes::new(areas.size.min(LARGEST_AREA)),
        unit: Bytes::new(side.usual_unit().min(areas.size)),
        run_lengths,
        interleaved: if in_runs { side.runs.runs_at_a_time() } else { 1 },
    }
}

/// Shares of space that make exactly the whole. Each end is rounded up, so that the number of areas before it, which is
/// rounded down where areas are drawn, is what it was.
fn space_shares(parts: &[f64]) -> Vec<Share> {
    let whole = Share::WHOLE.as_ppb();
    let (mut until, mut before, mut shares) = (0.0, 0, Vec::new());
    for (at, part) in parts.iter().enumerate() {
        until += part;
        let end = if at + 1 == parts.len() { whole } else { (until * whole as f64 + 0.5).ceil() as u64 };
        // Those that follow have a part too.
        let room = whole - (parts.len() - 1 - at) as u64;
        let end = end.max(before + 1).min(room);
        shares.push(Share::from_ppb(end - before));
        before = end;
    }
    shares
}

/// Shares that make exactly the whole, of which none is nothing: the largest one takes what rounding leaves.
fn whole_shares(parts: &[f64]) -> Vec<Share> {
    let whole = Share::WHOLE.as_ppb();
    let mut ppb: Vec<u64> = parts.iter().map(|part| ((part * whole as f64).round() as u64).max(1)).collect();
    let sum: u64 = ppb.iter().sum();
    if let Some(largest) = ppb.iter_mut().max() {
        *largest = (*largest + whole).saturating_sub(sum);
    }
    ppb.into_iter().map(Share::from_ppb).collect()
}

/// What two directions have in common.
struct Common {
    /// The share of the writes that goes to zones that are read.
    writes_to_read: f64,
    /// How far zones that are often read are often written, from 0 to 1.
    correlation: f64,
}

fn common_places(reads: &Zones, writes: &Zones) -> Common {
    let (reads, writes) = (reads.counted_zones(), writes.counted_zones());
    let size = reads.size.max(writes.size);
    let (reads, writes) = (reads.coarsened_to(size), writes.coarsened_to(size));
    let of_reads: BTreeMap<u64, u64> = reads.counts.iter().copied().collect();
    let [all_reads, all_writes] =
        [&reads, &writes].map(|zones| zones.counts.iter().map(|(_, count)| *count).sum::<u64>() as f64);
    let (mut to_read, mut product) = (0.0, 0.0);
    for (zone, count) in &writes.counts {
        if let Some(read) = of_reads.get(zone) {
            to_read += *count as f64;
            product += *count as f64 * *read as f64;
        }
    }
    let zones = reads.extent.max(writes.extent) as f64;
    let above_chance = |pairs: f64, all: f64| (zones * pairs / all.max(1.0) - 1.0).max(0.0);
    let own = |counts: &[(u64, u64)], all: f64| {
        let pairs = counts.iter().map(|(_, count)| *count as f64 * (*count as f64 - 1.0)).sum();
        above_chance(pairs, all * (all - 1.0))
    };
    let both = above_chance(product, all_reads * all_writes);
    let each = (own(&reads.counts, all_reads) * own(&writes.counts, all_writes)).sqrt();
    Common {
        writes_to_read: if all_writes > 0.0 { to_read / all_writes } else { 0.0 },
        correlation: if each > 0.01 { both / each } else { 0.0 },
    }
}
