//! A load on both sides of a simulated cache, as `explain` shows it.

use super::outline::PlanLines;
use assay_base::{Bytes, Geometry};
use assay_model::Plan;
use assay_model::cache::{Did, Side, Sides, sides_of_cache};
use assay_run::failure::Failure;

/// Operations that are followed to show both sides: a second or two.
const FOLLOWED: u64 = 1_000_000;

/// Both sides of the plan's cache before the first target, where there is one and the target has a size.
pub(super) fn both_sides(plan: &Plan, sizes: &[Option<(u64, u32)>]) -> Option<Result<Sides, Failure>> {
    plan.caches.simulated?;
    let known = sizes.iter().map_while(|known| *known);
    let geometries: Vec<Geometry> = known.map(|(size, block)| Geometry { size, block }).collect();
    geometries.first()?;
    Some(sides_of_cache(plan, &geometries, FOLLOWED).map_err(Failure::bad_workload))
}

fn hit_share(read: u64, hits: u64) -> f64 {
    hits as f64 / read.max(1) as f64
}

/// Operations per second and mean size.
fn side_figures(did: Option<&Did>, seconds: f64) -> String {
    did.filter(|did| did.operations > 0).map_or_else(
        || "-".to_owned(),
        |did| {
            let mean = Bytes::new(did.bytes / did.operations).human_text();
            format!("{:.1}/s of {mean}", did.operations as f64 / seconds.max(1e-9))
        },
    )
}

/// The share of the operations that write.
fn write_share(plan: &Plan, side: &Side) -> f64 {
    let writing = side.streams.iter().filter(|(stream, _)| plan.load.streams[usize::from(**stream)].writes_blocks());
    let written: u64 = writing.map(|(_, did)| did.operations).sum();
    let all: u64 = side.streams.values().map(|did| did.operations).sum();
    written as f64 / all.max(1) as f64
}

/// Both sides as lines.
pub(super) fn sides_text(plan: &Plan, sizes: &[Option<(u64, u32)>], both: &Sides) -> String {
    let mut out = PlanLines::default();
    let Some(cache) = &plan.caches.simulated else { return String::new() };
    out.add_heading(format_args!("before each target a simulated cache: {cache}"));
    let before =
        sizes.iter().flatten().map(|(size, block)| cache.memory_before(Geometry { size: *size, block: *block }).get());
    out.add_line(format_args!("  takes up to {} of this machine's memory", Bytes::new(before.sum()).human_text()));
    out.add_line(format_args!(
        "  of the first {} operations, {:.1} s of them, {:.1}% of the blocks read are in it",
        both.operations,
        both.seconds,
        hit_share(both.read.0, both.read.1) * 100.0
    ));
    let wide = plan.load.streams.iter().map(|stream| stream.name.chars().count()).max().unwrap_or(0).max(20);
    out.add_line(format_args!("  {:wide$} {:>24} {:>24}", "on the first target", "application", "target"));
    for (index, stream) in (0u16..).zip(&plan.load.streams) {
        let [application, target] =
            [&both.application, &both.target].map(|side| side_figures(side.streams.get(&index), both.seconds));
        out.add_line(format_args!("  {:wide$} {application:>24} {target:>24}", stream.name));
    }
    let sides = [&both.application, &both.target];
    for (what, shares) in [
        ("writes", sides.map(|side| write_share(plan, side))),
        ("to the busiest tenth", sides.map(Side::busiest_tenth)),
    ] {
        let [application, target] = shares.map(|share| format!("{:.1}%", share * 100.0));
        out.add_line(format_args!("  {what:wide$} {application:>24} {target:>24}"));
    }
    out.0
}

/// Both sides as JSON.
pub(super) fn sides_json(plan: &Plan, both: &Sides) -> serde_json::Value {
    serde_json::json!({
        "operations": both.operations, "seconds": both.seconds, "read_blocks": both.read.0, "read_hits": both.read.1,
        "application": side_as_json(plan, both, &both.application), "target": side_as_json(plan, both, &both.target),
    })
}

fn side_as_json(plan: &Plan, both: &Sides, side: &Side) -> serde_json::Value {
    let mut streams = Vec::new();
    for (stream, did) in &side.streams {
        streams.push(serde_json::json!({
            "name": plan.load.streams[usize::from(*stream)].name, "operations": did.operations, "bytes": did.bytes,
            "operations_per_second": did.operations as f64 / both.seconds.max(1e-9),
        }));
    }
    serde_json::json!({
        "streams": streams,
        "writes": write_share(plan, side), "busiest_tenth": side.busiest_tenth(),
    })
}
