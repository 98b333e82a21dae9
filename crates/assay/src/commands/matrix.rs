//! `assay matrix orion`: small and large operations at every depth, a run for each point.
//!
//! The matrix itself is [`assay_run::procedure::matrix`]; this shows it.

use crate::args::{Access, Output, Pace};
use crate::candidates;
use crate::progress::Progress;
use crate::stdout::print_json;
use assay_base::{Share, Span};
use assay_judge::matrix::{Matrix, Place, write_html, write_text};
use assay_run::failure::{Failure, escaped_path};
use assay_run::observer::Observer;
use assay_run::procedure::kept::write_page;
use assay_run::procedure::matrix::{self, FILE, Measuring, PAGE};
use assay_run::procedure::several::Several;
use clap_complete::engine::ArgValueCompleter;
use std::path::Path;

/// `assay matrix`
#[derive(clap::Args, Debug)]
pub(crate) struct MatrixArgs {
    /// Which matrix
    #[command(subcommand)]
    pub kind: MatrixKind,
}

/// The matrices.
#[derive(clap::Subcommand, Debug)]
pub(crate) enum MatrixKind {
    /// Orion-like, not comparable: 8 KiB and 1 MiB operations, each at growing numbers in flight, or all pairs of them
    Orion(Orion),
}

/// `assay matrix orion`
#[derive(clap::Args, Debug)]
#[command(after_help = "\
With N disks: 1 to 5N small operations in flight, then 1 to 2N large ones; with --detailed all pairs of them, none of a kind included.
Each point is a run of 60s (--for). A point in which the generator was the bottleneck is void: it has no figure on the maps.
Exit code: 0 when every point is true of the target, 10 when operations failed, 11 when a point is void, 12 when the command was cut short
and nothing failed.")]
pub(crate) struct Orion {
    /// Where to run it: block devices, files, sim:flash, sim:flash-worn, sim:disk or null:SIZE. The numbers in flight are for each
    #[arg(required = true, value_name = "TARGETS", add = ArgValueCompleter::new(candidates::target_candidates))]
    pub targets: Vec<String>,
    /// Number of disks behind a target
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub disks: u32,
    /// Share of the operations that write. Writing destroys the data on the targets
    #[arg(long, value_name = "SHARE", default_value = "0%")]
    pub write: Share,
    /// Run all pairs of small and large operations
    #[arg(long)]
    pub detailed: bool,
    /// Large operations are sequential streams of 128 MiB from random places on, in place of random ones
    #[arg(long)]
    pub streams: bool,
    #[command(flatten)]
    pub pace: Pace,
    #[command(flatten)]
    pub access: Access,
    #[command(flatten)]
    pub output: Output,
}

/// Most points: with more the matrix would last for months.
const MOST_POINTS: u64 = 20_000;

/// Runs the points that are missing, and shows the matrix.
pub(crate) fn measure_matrix(args: &MatrixArgs) -> Result<u8, Failure> {
    let MatrixKind::Orion(args) = &args.kind;
    let places = places_to_measure(args)?;
    let orion = matrix::Orion { disks: args.disks, writes: args.write, sequential: args.streams };
    let largest = Place { small: 5 * args.disks, large: 2 * args.disks };
    let settings = args.output.run_settings(&args.access, &args.pace, &[]);
    let several = Several::open_loops("matrix", orion.workload_at(largest)?, &args.targets, settings)?;
    let dir = several.choose_directory()?;
    let mut progress = Progress::new(false);
    let measuring = Measuring::begin_or_resume(&several, orion, places, &dir, args.output.resume.is_some())?;
    let each = several.plan.timing.total_length();
    let all = Span::from_ns(each.as_ns().saturating_mul(measuring.points_left() as u64));
    progress.say_line(&format!("{} points of {each}: {} in all", measuring.points_left(), all.human_text()));
    let matrix = measuring.run_matrix(&mut progress)?;
    show_matrix(&matrix, &dir, args.output.json, &progress)?;
    Ok(matrix.verdict().exit_code())
}

/// The places that are measured: first small operations alone, then large ones alone; of a detailed matrix all pairs.
fn places_to_measure(args: &Orion) -> Result<Vec<Place>, Failure> {
    if args.write > Share::WHOLE {
        return Err(Failure::bad_usage("--write is a share of the operations: write 0% to 100%"));
    }
    let (most_small, most_large) = (5 * args.disks, 2 * args.disks);
    let all = if args.detailed {
        (u64::from(most_small) + 1) * (u64::from(most_large) + 1) - 1
    } else {
        u64::from(most_small + most_large)
    };
    if all > MOST_POINTS {
        return Err(Failure::bad_usage(format!(
            "{all} points would take months; ask for at most {MOST_POINTS}, with fewer disks"
        )));
    }
    if args.detailed {
        let rows = (0..=most_large).flat_map(|large| (0..=most_small).map(move |small| Place { small, large }));
        return Ok(rows.filter(|place| place.small + place.large > 0).collect());
    }
    let small = (1..=most_small).map(|small| Place { small, large: 0 });
    Ok(small.chain((1..=most_large).map(|large| Place { small: 0, large })).collect())
}

fn show_matrix(matrix: &Matrix, dir: &Path, json: bool, progress: &Progress) -> Result<(), Failure> {
    if let Err(why) = write_page(&dir.join(PAGE), |text| write_html(matrix, text)) {
        progress.warn_user(&format!("error: {}", why.user_message()));
    }
    if json {
        return print_json(matrix);
    }
    let mut printed = String::new();
    write_text(matrix, &mut printed).map_err(|_| Failure::internal_bug("a matrix that cannot be shown"))?;
    crate::stdout::show_text(&printed);
    if !matrix.is_whole() {
        progress.say_line(&crate::again::cut_short(dir));
    }
    progress.say_line(&format!("matrix in {}: {FILE}, {PAGE}, and a run directory for each point", escaped_path(dir)));
    Ok(())
}
