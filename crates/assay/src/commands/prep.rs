//! `assay prep`: zeros and salts targets.

use crate::args::Access;
use crate::candidates;
use crate::progress::Progress;
use crate::stdout::{print, print_json};
use assay_base::Bytes;
use assay_run::failure::{Failure, code, one_line};
use assay_run::prepare::{self, prepare};
use assay_run::records::Records;
use assay_run::seed::seed;
use assay_run::signals;
use assay_run::targets::{self, TargetNeeds};
use clap_complete::engine::ArgValueCompleter;

/// `assay prep`
#[derive(clap::Args, Debug)]
pub(crate) struct Prep {
    /// Block devices or files to prepare. All are prepared at the same time
    #[arg(required = true, add = ArgValueCompleter::new(candidates::devices))]
    pub targets: Vec<String>,
    /// Discard all blocks first (TRIM), so that the device knows that they are free
    #[arg(long)]
    pub discard: bool,
    /// Skip the first pass, which writes zeros
    #[arg(long)]
    pub skip_zero: bool,
    /// Print the preparation records as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub access: Access,
}

/// Prepares the targets in parallel and stores a record of each.
pub(crate) fn prep(args: &Prep) -> Result<u8, Failure> {
    // From the beginning: discarding takes minutes, and a Ctrl-C during it must end the whole command.
    let stop = signals::watch().map_err(|e| Failure::host(format!("signals cannot be watched: {e}")))?;
    let named = targets::named(&args.targets)?;
    let smallest = |_: u16, block: u32| u64::from(block.max(4096));
    // Preparing keeps no log, only its records: these must not be on a device that is overwritten.
    let kept = Records::host();
    let needs = TargetNeeds { writes: true, smallest: &smallest, beside: 0, log_dir: kept.dir(), page_cache: &[] };
    let opened = args.access.open(&named, needs)?;
    if opened.real().is_empty() {
        return Err(Failure::usage(
            "simulated and null targets hold no data and need no preparation; run the workload on them directly",
        ));
    }
    opened.recheck()?;
    let mut progress = Progress::new(false);
    let how = prepare::Preparation {
        zero: !args.skip_zero,
        afresh: args.discard,
        engine: args.access.engine,
        run: seed(None, &named) as u32,
    };
    let records = prepare(opened.real(), &args.targets, how, Some(&kept), &mut progress, &stop)?;
    if args.json {
        print_json(&records)?;
    } else {
        for record in &records {
            let human = |bytes| Bytes::new(bytes).human();
            print(&format!(
                "{}: {} zeroed, {} salted, {} sampled blocks verified\n",
                one_line(&record.target),
                human(record.zeroed_bytes),
                human(record.salted_bytes),
                record.verified_blocks
            ));
        }
    }
    Ok(code::DONE)
}
