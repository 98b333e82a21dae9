//! `assay import behind`: what a target sees of a load behind a cache, as a workload of its own.

use crate::args::{ActTest, BehindCache, Jobs, Judged, Pace};
use crate::commands::outline::{largest_block, sizes_of};
use crate::commands::run::RunRequest;
use crate::screen::print_to_stderr;
use crate::stdout::{print_document, print_json};
use assay_base::{Bytes, Geometry, Rate, Share};
use assay_model::Plan;
use assay_model::cache::{Caching, Did, Sides, sides_of_cache};
use assay_run::failure::{Failure, code, escaped_path, one_line};
use assay_run::log::results;
use assay_run::open::targets;
use std::fmt::Write;
use std::path::PathBuf;

/// `assay import behind`
#[derive(clap::Args, Debug)]
#[command(after_help = "\
The operations of the workload pass a simulated cache, without I/O; the workload that is written has the rates, sizes and places of what
goes on to the target: how many in each twentieth of it. Which operation follows which is not kept. `assay run --behind` keeps it.")]
pub(crate) struct Behind {
    /// A workload file, or the name of a workload that comes with the program. Its streams have rates
    pub workload: String,
    /// The target, for its size; nothing is opened for writing. Without a device at hand name one as large, such as null:1TiB
    pub target: String,
    #[command(flatten)]
    pub test: ActTest,
    /// Size of the cache, such as 64GiB. The table [cache] of the workload says more of it
    #[arg(long, value_name = "SIZE", required = true)]
    pub cache: Option<Bytes>,
    /// Operations that fill the cache before others are counted [default: twice as many as the cache has
    /// blocks, at least as many as are counted, at most 200,000,000]
    #[arg(long, value_name = "N")]
    pub warm: Option<u64>,
    /// Operations that are counted
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1000..=1_000_000_000))]
    pub operations: u64,
    /// File to write the workload to, which must not exist yet [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Print the workload as JSON
    #[arg(long)]
    pub json: bool,
}

/// Most operations that fill the cache unless the user says how many: they take a minute or two.
const MOST_WARM: u64 = 200_000_000;

/// Follows the operations and writes what goes on.
pub(super) fn import_behind_cache(args: &Behind) -> Result<u8, Failure> {
    if let Some(out) = &args.out {
        results::refuse_taken_path(out)?;
    }
    let behind = BehindCache { behind: args.cache };
    let jobs = Jobs { test: args.test, ..Jobs::default() };
    let targets = std::slice::from_ref(&args.target);
    let request = RunRequest::parse_words("import behind", &args.workload, targets, &jobs, &Pace::default())?
        .behind_simulated_cache(&behind);
    let named = targets::parse_block_targets(&request.names)?;
    let pace = Pace { seed: Some(1), ..Pace::default() };
    let mut plan = request.joint_plan(&named, None, &pace, &Judged::default())?;
    let sizes = sizes_of(&named)?;
    let Some((size, _)) = sizes.first().copied().flatten() else {
        return Err(Failure::bad_usage(format!(
            "the size of {} is not known: name a target that has one",
            one_line(&args.target)
        )));
    };
    let block = largest_block(&sizes);
    plan.caches.simulated = plan.caches.simulated.map(|cache| {
        let blocks = cache.capacity_blocks(block).min(size / cache.block.get().max(1));
        let filled = blocks.saturating_mul(2).clamp(args.operations.min(MOST_WARM), MOST_WARM);
        Caching { warm: args.warm.unwrap_or(cache.warm.max(filled)), ..cache }
    });
    let both = sides_of_cache(&plan, &[Geometry { size, block }], args.operations).map_err(Failure::bad_workload)?;
    let text = workload_behind_cache(&plan, &both, args)?;
    match &args.out {
        Some(out) => {
            results::write_new(out, &text)?;
            print_to_stderr(&format!("{}: what goes on to the target", escaped_path(out)));
        }
        None if args.json => {}
        None => print_document(&text),
    }
    if args.json {
        print_json(&serde_json::json!({ "schema": 1, "workload": text, "file": args.out }))?;
    }
    Ok(code::DONE)
}

fn workload_behind_cache(plan: &Plan, both: &Sides, args: &Behind) -> Result<String, Failure> {
    let cache = plan.caches.simulated.map_or_else(String::new, |cache| cache.to_string());
    let name: String =
        plan.name.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' }).collect();
    let mut out = format!(
        "# What a target of {} sees of {name} behind a cache of {cache}: {} operations were followed.\n# Places are shared out over twentieths \
         of the target; which operation follows which is not kept.\nname     = \"{name}-behind\"\nmodel    = \"streams\"\nduration = \"{}\"\n\
         slice    = \"{}\"\nnote     = \"what misses a simulated cache of {cache}\"\n",
        one_line(&args.target),
        both.operations,
        plan.timing.measured_length(),
        plan.timing.slice,
    );
    for (index, did) in both.target.streams.iter().filter(|(_, did)| did.operations > 0) {
        let stream = &plan.load.streams[usize::from(*index)];
        let Some(block) = stream.as_block() else { continue };
        let rate = Rate::from_ratio(u128::from(did.operations) * 1000, ((both.seconds * 1000.0).max(1.0)) as u128);
        let rate = rate.ok_or_else(|| Failure::bad_workload("a rate behind the cache does not fit"))?;
        let _ = write!(
            out,
            "\n[[stream]]\nname      = \"{}\"\ndirection = \"{}\"\nsize      = {}\nrate      = \"{:.6}/s\"\naddress   = {}\n",
            stream.name,
            block.direction,
            sizes_line(did),
            rate.as_f64(),
            places_lines(did),
        );
        if block.durable {
            out += "durable   = true\n";
        }
    }
    if both.target.streams.is_empty() {
        Err(Failure::bad_workload(
            "nothing goes on to the target: the cache answers everything; name a smaller one with --cache",
        ))
    } else {
        Ok(out)
    }
}

/// Most sizes of a stream: rarer ones count as the next larger one that is kept.
const MOST_SIZES: usize = 32;

fn sizes_line(did: &Did) -> String {
    let mut kept: Vec<(u32, u64)> = did.sizes.iter().map(|(size, count)| (*size, *count)).collect();
    while kept.len() > MOST_SIZES {
        let rarest = (0..kept.len() - 1).min_by_key(|at| kept[*at].1).unwrap_or(0);
        kept[rarest + 1].1 += kept[rarest].1;
        kept.remove(rarest);
    }
    if let [(size, _)] = kept[..] {
        return format!("\"{}\"", Bytes::new(size.into()));
    }
    let counts: Vec<u64> = kept.iter().map(|(_, count)| *count).collect();
    let shares = kept.iter().zip(shares_of_counts(&counts)).filter(|(_, share)| share.as_ppb() > 0);
    let shares: Vec<String> =
        shares.map(|((size, _), share)| format!("[\"{}\", \"{share}\"]", Bytes::new((*size).into()))).collect();
    format!("{{ shares = [{}] }}", shares.join(", "))
}

fn places_lines(did: &Did) -> String {
    let zones: Vec<String> =
        shares_of_counts(&did.stretches).iter().map(|share| format!("[\"{share}\", \"5%\"]")).collect();
    format!("{{ zones = [{}] }}", zones.join(", "))
}

/// Shares of counts, to a hundredth of a percent, that make 100 % together.
fn shares_of_counts(counts: &[u64]) -> Vec<Share> {
    let all: u128 = counts.iter().map(|count| u128::from(*count)).sum::<u128>().max(1);
    let (mut before, mut given) = (0u128, 0u64);
    let mut shares = Vec::new();
    for count in counts {
        before += u128::from(*count);
        let until = (before * 10_000 / all) as u64;
        shares.push(Share::from_ppb((until - given) * 100_000));
        given = until;
    }
    shares
}
