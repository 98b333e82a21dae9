//! `assay matrix orion`: small and large operations at every depth, a run for each point.
//!
//! The judge knows what a point is worth (`assay_judge::matrix`); this file runs the points and stores them in `matrix.json` after each
//! one, from which an interrupted matrix continues. A point that proves nothing is run once more.

use crate::args::{Access, Output, Pace};
use crate::candidates;
use crate::progress::Progress;
use crate::stdout::print_json;
use assay_base::{Multiple, Share, Span};
use assay_judge::matrix::{Figures, Matrix, Place, Point, SCHEMA, html, text};
use assay_judge::{Verdict, for_a_shell};
use assay_model::workload::{self, Workload};
use assay_run::failure::{Failure, shown};
use assay_run::kept::{keep, kept, page};
use assay_run::observer::Observer;
use assay_run::results;
use assay_run::several::Several;
use clap_complete::engine::ArgValueCompleter;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// `assay matrix`
#[derive(clap::Args, Debug)]
pub(crate) struct MatrixArgs {
    /// Which matrix
    #[command(subcommand)]
    pub kind: What,
}

/// The matrices.
#[derive(clap::Subcommand, Debug)]
pub(crate) enum What {
    /// Orion-like, not comparable: 8 KiB and 1 MiB operations, each at growing numbers in flight, or all pairs of them
    Orion(Orion),
}

/// `assay matrix orion`
#[derive(clap::Args, Debug)]
#[command(after_help = "\
With N disks: 1 to 5N small operations in flight, then 1 to 2N large ones; with --detailed all pairs of them, none of a kind included.
Each point is a run of 60s (--for). A point in which the generator was the bottleneck is void: it has no figure on the maps.
Exit code: 0 when every point is true of the target, 10 when operations failed, 11 when a point is void, 12 when the command was cut short.")]
pub(crate) struct Orion {
    /// Where to run it: block devices, files, sim:flash, sim:flash-worn, sim:disk or null:SIZE. The numbers in flight are for each
    #[arg(required = true, value_name = "TARGETS", add = ArgValueCompleter::new(candidates::targets))]
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

/// Orion's usual time of a point.
const POINT: Span = Span::from_secs(60);
/// The matrix, in its directory.
const FILE: &str = "matrix.json";
const PAGE: &str = "matrix.html";
/// Most points: with more the matrix would last for months.
const MOST_POINTS: u64 = 20_000;

/// Runs the points that are missing, and shows the matrix.
pub(crate) fn matrix(args: &MatrixArgs) -> Result<u8, Failure> {
    let What::Orion(args) = &args.kind;
    let asked = places(args)?;
    let largest = Place { small: 5 * args.disks, large: 2 * args.disks };
    let settings = args.output.settings(&args.access, &args.pace, &[]);
    let mut several = Several::open_loops("matrix", orion(args, largest)?, &args.targets, settings)?;
    let pace = several.pace().clone();
    let fresh = Matrix {
        schema: SCHEMA,
        workload: several.plan.name.clone(),
        targets: several.names.clone(),
        devices: Vec::new(),
        disks: args.disks,
        writes: args.write,
        sequential: args.streams,
        seed: several.plan.seed,
        plan_blake3: several.plan_sum.clone(),
        run_ns: several.plan.measured().as_ns(),
        watermarks: Vec::new(),
        asked,
        points: Vec::new(),
    };
    let resumed = args.output.resume.as_deref();
    let mut matrix = resumed.map_or(Ok(fresh.clone()), |dir| earlier(dir, &fresh, &several))?;
    let dir = several.directory()?;
    results::replaceable(&dir, &[FILE, PAGE])?;
    let mut progress = Progress::new(false);
    keep(&dir.join(FILE), &matrix)?;
    take_in_failed(&several, &dir, &mut matrix);
    let left = matrix.left();
    let each = several.plan.length();
    let all = Span::from_ns(each.as_ns().saturating_mul(left.len() as u64));
    progress.say(&format!("{} points of {each}: {} in all", left.len(), all.human()));
    points((args, &pace), &mut several, &dir, &mut matrix, &mut progress)?;
    let code = matrix.verdict().exit_code();
    show(&matrix, &dir, (args.output.json, matrix.verdict() == Verdict::Incomplete), &progress)?;
    Ok(code)
}

/// What is run: first small operations alone, then large ones alone; of a detailed matrix all pairs.
fn places(args: &Orion) -> Result<Vec<Place>, Failure> {
    if args.write > Share::WHOLE {
        return Err(Failure::usage("--write is a share of the operations: write 0% to 100%"));
    }
    let (most_small, most_large) = (5 * args.disks, 2 * args.disks);
    let all = match args.detailed {
        true => (u64::from(most_small) + 1) * (u64::from(most_large) + 1) - 1,
        false => u64::from(most_small + most_large),
    };
    if all > MOST_POINTS {
        return Err(Failure::usage(format!(
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

/// The workload of a point.
fn orion(args: &Orion, place: Place) -> Result<Workload, Failure> {
    let mut text = format!("name = \"orion\"\nmodel = \"streams\"\nduration = \"{POINT}\"\nslice = \"{POINT}\"\n");
    let address = if args.streams { "\naddress = { runs = \"128MiB\" }" } else { "" };
    for (kind, in_flight, keys) in [
        ("small", place.small, "size = \"8KiB\"".to_owned()),
        ("large", place.large, format!("size = \"1MiB\"{address}")),
    ] {
        if in_flight > 0 {
            text += &group(kind, in_flight, &keys, args.write);
        }
    }
    workload::read("orion", &text).map_err(|fault| Failure::bug(format!("a matrix that is not a workload: {fault}")))
}

/// The streams of one kind. Sequential ones in flight are copies of their own, so that each has a place of its own.
fn group(kind: &str, in_flight: u32, keys: &str, write: Share) -> String {
    let is_sequential = keys.contains("runs");
    let number = if is_sequential { "copies" } else { "in_flight" };
    let mut text = format!("\n[[loop]]\nname = \"{kind}\"\n{number} = {in_flight}\n");
    let read = Share::from_ppb(Share::WHOLE.as_ppb() - write.as_ppb());
    for (direction, share) in [("read", read), ("write", write)] {
        if share.as_ppb() > 0 {
            let _ = write!(
                text,
                "\n[[stream]]\nname = \"{kind}-{direction}s\"\ndirection = \"{direction}\"\nloop = \"{kind}\"\nshare = \"{share}\"\n{keys}\n"
            );
            if is_sequential {
                let _ = writeln!(text, "places = \"{kind}\"");
            }
        }
    }
    text
}

/// The matrix that an earlier call left, which must belong to the same task.
fn earlier(dir: &Path, ours: &Matrix, several: &Several<'_>) -> Result<Matrix, Failure> {
    let matrix = kept(&dir.join(FILE), |kept: &Matrix| {
        let task = (kept.workload.as_str(), kept.targets.as_slice());
        let same = several.goes_on(task, kept.run_ns, Some(&kept.plan_blake3), kept.seed);
        same && kept.asked == ours.asked
    })?;
    several.same_targets(dir)?;
    Ok(matrix)
}

/// Name of the directory of a point.
fn named(place: Place) -> String {
    format!("small-{:03}-large-{:03}", place.small, place.large)
}

/// If the matrix was killed after a point had failed by its log, that point counts as failed.
fn take_in_failed(several: &Several<'_>, dir: &Path, matrix: &mut Matrix) {
    let known: Vec<PathBuf> = matrix.points.iter().map(|point| dir.join(&point.directory)).collect();
    let known: Vec<&Path> = known.iter().map(PathBuf::as_path).collect();
    for (_, judgement, at) in several.failed_unkept(dir, &known) {
        let name = at.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let place = matrix.left().into_iter().find(|place| name.starts_with(&named(*place)));
        if let Some(place) = place {
            matrix.add_run(place, &judgement, name);
        }
    }
}

/// Runs the remaining points; ends early when one was cut short.
fn points(
    (args, pace): (&Orion, &assay_run::pace::Pace),
    several: &mut Several<'_>,
    dir: &Path,
    matrix: &mut Matrix,
    progress: &mut Progress,
) -> Result<(), Failure> {
    for place in matrix.left() {
        several.now_runs(orion(args, place)?, pace.clone())?;
        for attempt in 1..=2 {
            progress.title(&format!("{} small, {} large", place.small, place.large));
            let (judgement, at) = several.run(dir, &named(place), (Multiple::ONE, matrix.seed), progress)?;
            let at = at.strip_prefix(dir).unwrap_or(&at).to_string_lossy().into_owned();
            matrix.add_run(place, &judgement, at);
            keep(&dir.join(FILE), matrix)?;
            let Some(point) = matrix.points.iter().find(|point| point.place == place) else { continue };
            progress.say(&told(point));
            match point.verdict {
                Verdict::Incomplete => return Ok(()),
                Verdict::Invalid if attempt == 1 => {}
                _ => break,
            }
        }
    }
    Ok(())
}

/// A point in one line.
fn told(point: &Point) -> String {
    let kind = |it: Option<Figures>, kind: &str| {
        it.map(|it| format!("{kind} {:.1}/s at {}", it.rate, Span::from_ns(it.mean_ns).human()))
    };
    let figures = [kind(point.small, "small"), kind(point.large, "large")];
    let figures: Vec<String> = figures.into_iter().flatten().collect();
    let Place { small, large } = point.place;
    format!("{small} small, {large} large in flight: {} {}", point.verdict, figures.join(", "))
}

fn show(matrix: &Matrix, dir: &Path, (json, cut): (bool, bool), progress: &Progress) -> Result<(), Failure> {
    let bug = |_| Failure::bug("a matrix that cannot be shown");
    page(&dir.join(PAGE), |text| html(matrix, text))?;
    if json {
        return print_json(matrix);
    }
    let mut printed = String::new();
    text(matrix, &mut printed).map_err(bug)?;
    crate::stdout::show(&printed);
    if cut {
        let dir = for_a_shell(&dir.to_string_lossy());
        progress.say(&format!("cut short; go on with the same command and --resume {dir}"));
    }
    progress.say(&format!("matrix in {}: {FILE}, {PAGE}, and a run directory for each point", shown(dir)));
    Ok(())
}
