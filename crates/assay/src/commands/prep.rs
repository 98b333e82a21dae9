//! `assay prep`: zeros and salts targets, or loads databases.

use crate::args::Access;
use crate::candidates;
use crate::progress::Progress;
use crate::stdout::{print_document, print_json};
use assay_base::Bytes;
use assay_device::select::Choice;
use assay_model::tpcc::DERIVED;
use assay_run::certificate::records::Records;
use assay_run::databases::{self, LoadRequest, Loaded};
use assay_run::failure::{Failure, code, one_line};
use assay_run::host::signals;
use assay_run::open::prepared::Prepared;
use assay_run::open::seed::choose_seed;
use assay_run::open::targets::{self, TargetNeeds};
use assay_run::prepare::{self, prepare_targets};
use assay_sql::Url;
use clap_complete::engine::ArgValueCompleter;

/// `assay prep`
#[derive(clap::Args, Debug)]
pub(crate) struct Prep {
    /// Block devices or files to prepare, all at the same time; or databases to load, one after another: sqlite:FILE,
    /// postgres://user@host/database or mysql://user@host/database
    #[arg(required = true, add = ArgValueCompleter::new(candidates::device_candidates))]
    pub targets: Vec<String>,
    /// Discard all blocks first (TRIM), so that the device knows that they are free
    #[arg(long)]
    pub discard: bool,
    /// Skip the first pass, which writes zeros
    #[arg(long)]
    pub skip_zero: bool,
    /// Print the preparation records, or what the databases hold, as JSON
    #[arg(long)]
    pub json: bool,
    // Its heading applies to everything behind it: options of databases come last.
    #[command(flatten)]
    pub access: Access,
    #[command(flatten)]
    pub load: Load,
}

/// Options of a database.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Databases")]
pub(crate) struct Load {
    /// Number of warehouses to load: about 80 MB each
    #[arg(long, value_name = "W", value_parser = clap::value_parser!(i32).range(1..=1_000_000))]
    pub warehouses: Option<i32>,
    /// Seed from which all rows follow [default: 1]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Delete what an earlier load left in the database first: the tables of this workload, by name
    #[arg(long)]
    pub clear: bool,
    /// Number of threads that make rows [default: one for each processor, at most 4]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub loaders: Option<u16>,
}

impl Load {
    fn is_given(&self) -> bool {
        let Load { warehouses, seed, clear, loaders } = self;
        warehouses.is_some() || seed.is_some() || *clear || loaders.is_some()
    }
}

/// Prepares what is named.
pub(crate) fn prepare_named(args: &Prep) -> Result<u8, Failure> {
    match args.targets.iter().filter(|name| Url::is_one(name)).count() {
        0 if args.load.is_given() => Err(Failure::bad_usage(
            "--warehouses, --seed, --clear and --loaders are for databases, and no target is one: write sqlite:FILE",
        )),
        0 => prepare_devices(args),
        all if all == args.targets.len() => load_databases(args),
        _ => Err(Failure::bad_usage("databases and other targets cannot be prepared together: use two commands")),
    }
}

/// Loads databases, one after another.
fn load_databases(args: &Prep) -> Result<u8, Failure> {
    let Access { destroy_data, overrides, create, in_container, engine, .. } = &args.access;
    let for_devices = args.discard || args.skip_zero || *in_container || *engine != Choice::default();
    if for_devices || create.is_some() || !destroy_data.is_empty() || !overrides.is_empty() {
        return Err(Failure::bad_usage("options for devices cannot be used with a database"));
    }
    let Load { warehouses, seed, clear, loaders } = args.load;
    let Some(warehouses) = warehouses else {
        return Err(Failure::bad_usage("a database needs --warehouses: the number to load, such as --warehouses 10"));
    };
    let request = LoadRequest { warehouses, seed: seed.unwrap_or(1), loaders: loaders.map(usize::from), clear };
    let urls = args.targets.iter().map(|name| databases::parse_url(name)).collect::<Result<Vec<_>, _>>()?;
    let stop = signals::stop_on_signals()?;
    let mut progress = Progress::new(false);
    let loaded = urls.iter().map(|url| databases::load_database(url, request, &mut progress, &stop));
    let loaded = loaded.collect::<Result<Vec<_>, _>>()?;
    if args.json {
        print_json(&loaded)?;
        return Ok(code::DONE);
    }
    for Loaded { database, warehouses, seed, .. } in &loaded {
        let word = if *warehouses == 1 { "warehouse" } else { "warehouses" };
        print_document(&format!("{database}: {warehouses} {word} loaded with seed {seed}\n"));
    }
    print_document(&format!("{DERIVED}\n"));
    Ok(code::DONE)
}

/// Prepares devices and files in parallel and stores a record of each.
fn prepare_devices(args: &Prep) -> Result<u8, Failure> {
    // From the beginning: discarding takes minutes, and a Ctrl-C during it must end the whole command.
    let stop = signals::stop_on_signals()?;
    let named = targets::parse_block_targets(&args.targets)?;
    let kept = Records::for_host();
    kept.check_writable()?;
    let opened = args.access.open_targets(&named, TargetNeeds::for_preparation(kept.directory_path()))?;
    let Prepared { targets: opened, stop, .. } = &Prepared::from_opened(opened, stop);
    if opened.real_targets().is_empty() {
        return Err(Failure::bad_usage(
            "simulated and null targets hold no data and need no preparation; run the workload on them directly",
        ));
    }
    opened.recheck_gate()?;
    let mut progress = Progress::new(false);
    let how = prepare::Preparation {
        zero: !args.skip_zero,
        afresh: args.discard,
        engine: args.access.engine,
        run: choose_seed(None, &named) as u32,
    };
    let records = prepare_targets(opened.real_targets(), &args.targets, how, Some(&kept), &mut progress, stop)?;
    if args.json {
        print_json(&records)?;
    } else {
        for record in &records {
            print_document(&format!(
                "{}: {} zeroed, {} salted, {} sampled blocks verified\n",
                one_line(&record.target),
                Bytes::new(record.zeroed_bytes).human_text(),
                Bytes::new(record.salted_bytes).human_text(),
                record.verified_blocks
            ));
        }
    }
    Ok(code::DONE)
}
