//! `assay cache-curve`: the share of a workload's reads that a cache would answer, for each size of the cache. No I/O.

use super::outline::{largest_block, sizes_of};
use super::run::RunRequest;
use crate::args::{ActTest, Jobs, Judged, Pace};
use crate::candidates;
use crate::screen::print_to_stderr;
use crate::stdout::{print_json, show_lines};
use assay_base::cached::{Place, Ranges, SEGMENT};
use assay_base::{Bytes, Geometry, Multiple};
use assay_judge::cache_curve::{CacheCurve, Point, SCHEMA, index_of_knee, write_html, write_text};
use assay_model::Plan;
use assay_model::cache::{self, Policy, Settings, Trace, Writes};
use assay_run::failure::{Failure, code, escaped_path};
use assay_run::open::targets;
use assay_run::procedure::kept::write_page;
use clap::ValueEnum;
use clap_complete::engine::ArgValueCompleter;
use std::path::PathBuf;

/// `assay cache-curve`
#[derive(clap::Args, Debug)]
pub(crate) struct CacheCurveArgs {
    /// A workload file, or the name of a workload that comes with the program
    #[arg(add = ArgValueCompleter::new(candidates::explain_candidates))]
    pub workload: String,
    /// Targets. Only their sizes matter, because offsets depend on them; nothing is written. Without a device of the right size,
    /// give a null target, such as null:1TiB
    #[arg(required = true, value_name = "TARGETS", add = ArgValueCompleter::new(candidates::workloads_and_targets))]
    pub targets: Vec<String>,
    #[command(flatten)]
    pub test: ActTest,
    /// Load, as a multiple of the workload's own (1x), such as 30x: the streams of an OLTP load reuse blocks in another way
    /// at another load [default: the workload's]
    #[arg(long, visible_alias = "at", value_name = "LOAD")]
    pub load: Option<Multiple>,
    /// Which block is evicted: the least recently used (lru), the one inserted first (fifo), or the next one around a circle that
    /// was not used since the hand last passed it (clock), or what a cache device does (log): the same with a new place for what
    /// is written again, in segments, of whole blocks only
    #[arg(long, default_value_t = Policy::Lru)]
    pub policy: Policy,
    /// Size of a block of the cache
    #[arg(long, value_name = "SIZE", default_value = "4KiB")]
    pub block: Bytes,
    /// Whether a write puts its block into the cache (allocate) or bypasses the cache (around)
    #[arg(long, value_enum, default_value_t = WritesArg::Allocate)]
    pub writes: WritesArg,
    /// Operations to generate
    #[arg(long, value_name = "N", default_value_t = 10_000_000)]
    pub operations: u64,
    /// Seed of the operations: the same seed gives the same curve
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Write the curve as one HTML page to this file as well
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Print the curve as JSON
    #[arg(long)]
    pub json: bool,
}

/// As [`Writes`], on the command line.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum WritesArg {
    Allocate,
    Around,
}

/// Number of accesses up to which all blocks are followed.
const EXACT: u64 = 100_000_000;
/// The smallest cache on the curve.
const SMALLEST: u64 = 16;

/// Computes the curve.
pub(crate) fn cache_curve(args: &CacheCurveArgs) -> Result<u8, Failure> {
    let block_bytes = args.block.get();
    if !block_bytes.is_power_of_two() || !(512..=64 << 20).contains(&block_bytes) {
        return Err(Failure::bad_usage("--block must be a power of two from 512B to 64MiB"));
    }
    if args.operations == 0 {
        return Err(Failure::bad_usage("--operations must be at least 1"));
    }
    let jobs = Jobs { test: args.test, ..Jobs::default() };
    let request = RunRequest::parse_words("cache-curve", &args.workload, &args.targets, &jobs, &Pace::default())?;
    let named = targets::parse_block_targets(&request.names)?;
    if named.is_empty() {
        return Err(Failure::bad_usage("name a target, for its size: assay cache-curve WORKLOAD null:1TiB"));
    }
    let pace = crate::args::Pace { seed: Some(args.seed), ..crate::args::Pace::default() };
    let plan = request.joint_plan(&named, args.load, &pace, &Judged::default())?;
    let sizes = sizes_of(&named)?;
    let usual = largest_block(&sizes);
    let names: Vec<String> = named.iter().map(|(name, _)| name.clone()).collect();
    let mut geometries = Vec::new();
    for (name, size) in names.iter().zip(&sizes) {
        let (size, block) = size.ok_or_else(|| {
            Failure::bad_usage(format!("the size of {} is not known: name a target that has one", name.escape_debug()))
        })?;
        geometries.push(Geometry { size, block });
    }
    let taken = cacheable_ranges(&plan, &geometries, args.block)?;
    let trace = Trace::new(&plan, &geometries)
        .map_err(|why| Failure::bad_workload(format!("the workload {} has no order of its own: {why}", plan.name)))?;
    let settings = Settings {
        policy: args.policy,
        writes: if matches!(args.writes, WritesArg::Around) { Writes::Around } else { Writes::Allocate },
        one_of: one_of(&plan, usual, args),
        segment: u64::from(SEGMENT).div_ceil(block_bytes),
    };
    let curve = follow_trace(trace, &plan, &taken, settings, args, names);
    if let Some(file) = &args.html {
        write_page(file, |text| write_html(&curve, text))?;
        print_to_stderr(&format!("the page is in {}", escaped_path(file)));
    }
    if args.json {
        let value = serde_json::to_value(&curve)
            .map_err(|e| Failure::internal_bug(format!("a curve that is not JSON: {e}")))?;
        print_json(&value)?;
    } else {
        let mut out = String::new();
        write_text(&curve, &mut out)
            .map_err(|e| Failure::internal_bug(format!("a text that cannot be written: {e}")))?;
        show_lines(&out);
    }
    Ok(code::DONE)
}

/// The ranges of the targets that a cache takes.
fn cacheable_ranges(plan: &Plan, geometries: &[Geometry], block: Bytes) -> Result<Ranges, Failure> {
    if geometries.iter().any(|geometry| geometry.size / block.get() >= Place::MOST) {
        return Err(Failure::bad_usage(format!(
            "a target has more than {} blocks of {}: name a smaller target, or give --block a larger size",
            Place::MOST,
            block.human_text()
        )));
    }
    let ranges = plan.load.cacheable_ranges(geometries).map_err(Failure::bad_usage)?;
    let block = u32::try_from(block.get()).map_err(|_| Failure::bad_usage("--block is too large"))?;
    Ok(Ranges::new(&ranges, plan.load.targets, block))
}

/// One of how many blocks is followed, so that at most [`EXACT`] accesses are.
fn one_of(plan: &Plan, block: u32, args: &CacheCurveArgs) -> u64 {
    let largest = u64::from(plan.largest_operation(block).max(1) as u32);
    let blocks = args.operations.saturating_mul(largest.div_ceil(args.block.get()).max(1));
    match blocks.div_ceil(EXACT) {
        1 => 1,
        // With fewer blocks, groups would be empty.
        n => n.next_power_of_two(),
    }
}

fn follow_trace(
    trace: Trace,
    plan: &Plan,
    taken: &Ranges,
    settings: Settings,
    args: &CacheCurveArgs,
    targets: Vec<String>,
) -> CacheCurve {
    let (block, all) = (args.block.get(), taken.block_count());
    // Four sizes for each doubling, where they cost nothing.
    let steps = if settings.policy == Policy::Lru { 4.0 } else { 1.0 };
    let sizes = (0u32..).map(|step| (SMALLEST as f64 * (f64::from(step) / steps).exp2()).round() as u64);
    let sizes: Vec<u64> = sizes.take_while(|size| *size < all).chain([all]).collect();
    let mut curve = cache::CacheCurve::new(settings, sizes);
    let mut operations = 0;
    for op in trace.take(usize::try_from(args.operations).unwrap_or(usize::MAX)) {
        operations += 1;
        curve.follow_operation(taken, &op);
    }
    let mut points: Vec<Point> = curve
        .curve_points()
        .into_iter()
        .map(|point| Point { bytes: point.blocks * block, hits: point.hits, error: point.error })
        .collect();
    // Sizes beyond the number of blocks accessed show nothing new.
    let whole = points
        .iter()
        .position(|point| point.bytes / block >= curve.different_blocks())
        .map_or(points.len(), |at| at + 1);
    points.truncate(whole);
    CacheCurve {
        schema: SCHEMA,
        workload: plan.name.clone(),
        targets,
        seed: plan.load.seed,
        policy: settings.policy.to_string(),
        writes: if settings.writes == Writes::Around { "around" } else { "allocate" }.to_owned(),
        block_bytes: block,
        operations,
        bypassed: curve.bypassed_operations(),
        read_blocks: curve.reads_followed(),
        written_blocks: curve.writes_followed(),
        different_blocks: curve.different_blocks(),
        one_of: settings.one_of,
        cold: curve.cold_share(),
        knee: index_of_knee(&points),
        points,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Alone {
        #[command(flatten)]
        args: CacheCurveArgs,
    }

    #[test]
    fn only_what_is_too_much_to_follow_is_sampled() {
        for (operations, one) in [("1000000", 1), ("100000000", 1), ("100000001", 2), ("300000000", 4)] {
            let args = Alone::parse_from(["x", "random-read", "null:1GiB", "--operations", operations]).args;
            let jobs = Jobs { test: args.test, ..Jobs::default() };
            let request =
                RunRequest::parse_words("cache-curve", &args.workload, &args.targets, &jobs, &Pace::default()).unwrap();
            let named = targets::parse_block_targets(&request.names).unwrap();
            let plan = request.joint_plan(&named, None, &crate::args::Pace::default(), &Judged::default()).unwrap();
            assert_eq!(one_of(&plan, 512, &args), one, "{operations}");
        }
    }
}
