//! `assay explain`: the plan, with derived rates, bytes and the data that will be destroyed, or why a target would be
//! refused. Targets that a plan writes are examined like in `assay devices`.

mod files;
mod words;

use super::behind;
use super::job;
use super::outline::{byte_totals, largest_block, sizes_of};
use super::run::RunRequest;
use super::{steps, transactions};
use crate::args::{BehindCache, Jobs, Judged, Lookaside, Pace, TileCount};
use crate::candidates;
use crate::stdout::{print_json, show_lines};
use assay_base::{Direction, Geometry, Multiple};
use assay_model::{Plan, Stream};
use assay_run::failure::{Failure, code};
use assay_run::open::targets::{self, Named};
use clap_complete::engine::ArgValueCompleter;
use words::{Known, plan_text};

/// `assay explain`
#[derive(clap::Args, Debug)]
pub(crate) struct Explain {
    /// A workload file, an ACT configuration, a fio job file, the name of a workload that comes with the program, or the word `certify` to
    /// explain all steps of `assay certify TARGETS`
    #[arg(add = ArgValueCompleter::new(candidates::explain_candidates))]
    pub workload: String,
    /// Targets it would run on. Nothing is opened for writing. Further workloads may stand before the targets, as for `run`
    #[arg(value_name = "WORKLOAD... TARGETS", add = ArgValueCompleter::new(candidates::workloads_and_targets))]
    pub targets: Vec<String>,
    /// Load, as a multiple of the workload's own (1x), such as 30x. For an ACT configuration 1x is ACT's own: 2000 reads and
    /// 1000 writes per second on each device [default: the workload's]
    #[arg(long, visible_alias = "at", value_name = "LOAD")]
    pub load: Option<Multiple>,
    #[command(flatten)]
    pub tiles: TileCount,
    #[command(flatten)]
    pub behind: BehindCache,
    #[command(flatten)]
    pub lookaside: Lookaside,
    #[command(flatten)]
    pub jobs: Jobs,
    #[command(flatten)]
    pub pace: Pace,
    #[command(flatten)]
    pub judged: Judged,
    /// Print the plan as JSON
    #[arg(long)]
    pub json: bool,
}

/// Prints the plan.
pub(crate) fn explain_plan(args: &Explain) -> Result<u8, Failure> {
    if args.workload == candidates::CERTIFY {
        if !args.judged.criteria.is_empty() {
            return Err(Failure::bad_usage(
                "certify judges by the criteria of its workload: write your own as [[criterion]] in a workload file instead of --criterion",
            ));
        }
        return steps::explain_certification(
            &args.targets,
            args.load,
            args.jobs.test.act_kind(),
            &args.pace,
            args.json,
        );
    }
    let request = RunRequest::parse_words("explain", &args.workload, &args.targets, &args.jobs, &args.pace)?;
    let request = request.behind_simulated_cache(&args.behind).with_cache_device(&args.lookaside)?;
    let named = targets::parse_targets(&request.names)?;
    let unknown = transactions::unknown_reason(&named);
    let load = args.tiles.load_of_workload(request.first_workload(), args.load, Some(1))?;
    let tasks = request.make_tasks(&named, load, &args.pace, &args.judged)?;
    // A job's own files may be made by the run, and the drives of a configuration may be in another machine.
    let sizes = if args.targets.is_empty() {
        named.iter().map(|(_, named)| named.known_geometry()).collect()
    } else {
        sizes_of(&named)?
    };
    let sizes = through_page_cache(tasks.first().map(|task| &task.plan), sizes);
    for task in &tasks {
        refuse_too_small(&task.plan, &sizes)?;
    }
    if args.json {
        let all =
            tasks.iter().map(|task| plan_json(&task.plan, &named, &sizes)).collect::<Result<Vec<_>, Failure>>()?;
        let mut value = match tasks.as_slice() {
            [task] if task.head.is_none() => all.into_iter().collect::<Vec<_>>().remove(0),
            _ => serde_json::json!({ "steps": all }),
        };
        if !request.keys.is_empty() {
            value["keys"] = request.keys.iter().map(job::key_json).collect();
        }
        print_json(&value)?;
    } else {
        let mut all = String::new();
        for task in &tasks {
            let plan = plan_text(&task.plan, &named, &sizes, unknown.as_deref());
            let sides = behind::both_sides(&task.plan, &sizes).transpose()?;
            let plan = plan + &sides.map_or_else(String::new, |both| behind::sides_text(&task.plan, &sizes, &both));
            all += &match &task.head {
                Some(head) => format!("step {} of {}, {}\n{plan}\n", head.number, head.of, head.title),
                None => plan,
            };
        }
        show_lines(&(all + &job::keys_text(&request.keys)));
    }
    Ok(code::DONE)
}

/// A plan with what follows from it for these targets.
fn plan_json(plan: &Plan, named: &[(String, Named)], sizes: &[Known]) -> Result<serde_json::Value, Failure> {
    let mut value =
        serde_json::to_value(plan).map_err(|e| Failure::internal_bug(format!("a plan that is not JSON: {e}")))?;
    value["targets_named"] = serde_json::json!(named.iter().map(|(name, _)| name).collect::<Vec<_>>());
    value["derived"] = derived_json(plan, largest_block(sizes));
    if let Some(both) = behind::both_sides(plan, sizes) {
        value["cache_sides"] = behind::sides_json(plan, &both?);
    }
    Ok(value)
}

/// Refuses an OLTP load, or parts that are laid out together, on targets that are too small for them, where the sizes of all are known.
fn refuse_too_small(plan: &Plan, sizes: &[Option<(u64, u32)>]) -> Result<(), Failure> {
    let known: Option<Vec<Geometry>> =
        sizes.iter().map(|known| known.map(|(size, block)| Geometry { size, block })).collect();
    if let Some(geometries) = &known {
        plan.check_fits(geometries).map_err(Failure::bad_workload)?;
    }
    match (plan.load.oltp(), known) {
        (Some(oltp), Some(geometries)) if !geometries.is_empty() => {
            oltp.check_fits(&geometries).map_err(Failure::bad_usage)
        }
        _ => Ok(()),
    }
}

/// The same sizes, with blocks of a byte for the targets that a plan uses through the page cache.
fn through_page_cache(plan: Option<&Plan>, mut sizes: Vec<Option<(u64, u32)>>) -> Vec<Option<(u64, u32)>> {
    for cached in plan.iter().flat_map(|plan| &plan.caches.page) {
        if let Some(Some((_, block))) = sizes.get_mut(usize::from(cached.target)) {
            *block = 1;
        }
    }
    sizes
}

fn derived_json(plan: &Plan, block: u32) -> serde_json::Value {
    let (read, written, total) = byte_totals(plan, block);
    // A closed loop moves as much as the target takes: no figure exists in advance.
    let [bounds_reads, bounds_writes] =
        [Direction::Read, Direction::Write].map(|direction| plan.load.unbounded_streams(direction).next().is_none());
    serde_json::json!({
        "block_bytes": block,
        "read_bytes_per_second": bounds_reads.then_some(read),
        "written_bytes_per_second": bounds_writes.then_some(written),
        "written_bytes": bounds_writes.then_some(total),
        "duration_seconds": plan.timing.total_length().as_secs_f64(),
        "destroys_data": plan.load.writes_targets(),
        "streams": plan.load.streams.iter().map(|stream| derived_of_stream(stream, block)).collect::<Vec<_>>(),
    })
}

fn derived_of_stream(stream: &Stream, block: u32) -> serde_json::Value {
    serde_json::json!({
        "name": stream.name,
        "operations_per_second": stream.arrival.mean_rate().map(|rate| rate.as_f64()),
        "bytes_per_second": stream.bytes_per_second(block),
        "size_done": stream.as_block().and_then(|own| own.size.size_on_target(block)).map(|done| done.to_string()),
    })
}
