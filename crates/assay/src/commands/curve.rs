//! `assay curve`: throughput against response, a run for each share of a maximum that is given or searched for.
//!
//! The judge computes the figures (`assay_judge::curve`); this file runs the points and stores them in `curve.json`
//! after each one, from which an interrupted curve continues. A point that proves nothing is run once more.

use super::limit::code;
use crate::args::{Access, Judged, Output, Pace, Search, Subject};
use crate::progress::Progress;
use crate::stdout::print_json;
use assay_base::{Criterion, Multiple, Rate, Share};
use assay_judge::curve::{self, SCHEMA, html, text};
use assay_judge::limit::Outcome;
use assay_judge::{Verdict, for_a_shell};
use assay_model::Plan;
use assay_run::failure::{Failure, one_line, shown};
use assay_run::files;
use assay_run::kept::{keep, kept};
use assay_run::observer::Observer;
use assay_run::results;
use assay_run::searching::{Searching, beginning};
use assay_run::several::Several;
use std::path::{Path, PathBuf};

/// `assay curve`
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Without --max, the command first searches for the maximum load, as `assay limit` does (--from, --to, --resolution).
Exit code: 0 when every point passed, 10 when a point failed (or no load passed), 11 when a point proves nothing,
12 when the command was cut short.")]
pub(crate) struct Curve {
    #[command(flatten)]
    pub subject: Subject,
    /// Shares of the maximum load to measure, separated by commas. Each is a run of its own
    #[arg(long, value_name = "SHARES", value_delimiter = ',', default_value = "10%,50%,80%,90%,95%,100%")]
    pub points: Vec<Share>,
    /// Load that counts as 100 %: a multiple such as 30x, or the rate of the stream over all targets, such as 60000/s
    /// [default: the highest load that passes]
    #[arg(long, value_name = "LOAD", conflicts_with_all = ["from", "to", "resolution"])]
    pub max: Option<Maximum>,
    /// Stream whose throughput and response time are shown [default: the stream of the first criterion]
    #[arg(long, value_name = "NAME")]
    pub stream: Option<String>,
    #[command(flatten)]
    pub search: Search,
    #[command(flatten)]
    pub pace: Pace,
    #[command(flatten)]
    pub judged: Judged,
    #[command(flatten)]
    pub access: Access,
    #[command(flatten)]
    pub output: Output,
}

/// The load of a curve's 100 %.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Maximum {
    /// A multiple of the workload's 1x.
    Load(Multiple),
    /// A rate of the stream, over all targets.
    Rate(Rate),
}

impl std::str::FromStr for Maximum {
    type Err = String;
    fn from_str(text: &str) -> Result<Maximum, String> {
        let load = text.parse().map(Maximum::Load).ok();
        let rate = || text.parse().map(Maximum::Rate).ok().filter(|rate| !matches!(rate, Maximum::Rate(Rate::ZERO)));
        load.or_else(rate).ok_or_else(|| {
            format!("\"{}\" is neither a multiple nor a rate; write it like 30x or 60000/s", text.escape_debug())
        })
    }
}

/// Name of the curve's file; the page's name follows from it.
const FILE: &str = "curve.json";
const PAGE: &str = "curve.html";
/// Directory of the search for the maximum.
const SEARCH: &str = "maximum";

/// Runs the points, shows the curve, and leaves it in the run directory. The exit code is that of its worst point, or
/// of the search if that found no maximum.
pub(crate) fn curve(args: &Curve) -> Result<u8, Failure> {
    let asked = shares(&args.points)?;
    beginning(&args.search.bounds(), Multiple::ONE)?;
    let settings = args.output.settings(&args.access, &args.pace, &args.judged.criteria);
    let several = args.subject.open("curve", settings)?;
    let stream = stream(&several.plan, args.stream.as_deref())?;
    let given = args.max.map(|max| maximum(max, &several.plan, &stream)).transpose()?;
    let fresh = curve::Curve {
        schema: SCHEMA,
        workload: several.plan.name.clone(),
        targets: several.names.clone(),
        devices: Vec::new(),
        stream,
        seed: several.plan.seed,
        plan_blake3: Some(several.plan_sum.clone()),
        run_ns: several.plan.measured().as_ns(),
        maximum: given,
        searched: given.is_none(),
        watermarks: Vec::new(),
        counted: several.plan.counted(),
        asked,
        points: Vec::new(),
        knee: None,
        overall_response_ns: None,
    };
    let resumed = args.output.resume.as_deref();
    let mut curve = resumed.map_or(Ok(fresh.clone()), |dir| earlier(dir, &fresh, &several))?;
    let dir = several.directory()?;
    results::replaceable(&dir, &[FILE, PAGE])?;
    let mut progress = Progress::new(false);
    progress.say(&several.length());
    keep(&dir.join(FILE), &curve)?;
    let found = if curve.maximum.is_none() { search(args, &several, &dir, &mut curve, &mut progress)? } else { None };
    if curve.maximum.is_some() {
        points(&several, &dir, &mut curve, &mut progress)?;
    }
    let code = match found {
        Some(outcome) if curve.maximum.is_none() => code(outcome),
        _ => curve.verdict().exit_code(),
    };
    // A search that ended without a maximum has no points either, and cannot be continued.
    let cut = code == Verdict::Incomplete.exit_code();
    show(&curve, &dir, (args.output.json, cut), &progress)?;
    Ok(code)
}

/// The shares that were asked for, ascending, without duplicates.
fn shares(points: &[Share]) -> Result<Vec<Share>, Failure> {
    let mut shares = points.to_vec();
    shares.sort_by_key(|share| share.as_ppb());
    shares.dedup();
    if shares.first().is_none_or(|share| share.as_ppb() == 0) {
        return Err(Failure::usage("a point at 0% offers no load; give shares such as --points 10%,50%,100%"));
    }
    Ok(shares)
}

/// The stream whose throughput and response are shown. It must have a rate, because loads multiply rates.
fn stream(plan: &Plan, asked: Option<&str>) -> Result<String, Failure> {
    let judged = plan.criteria.first().map(|criterion| criterion.stream.as_str());
    let all = |name: &str| name == Criterion::ALL && plan.criteria.iter().any(|criterion| criterion.stream == name);
    let open = |name: &str| all(name) || plan.streams.iter().any(|it| it.name == name && it.arrival.rate().is_some());
    let first = || plan.streams.iter().find(|it| it.arrival.rate().is_some()).map(|it| it.name.as_str());
    let name = asked.or(judged.filter(|name| open(name))).or_else(first);
    let with_rate = || plan.streams.iter().filter(|it| it.arrival.rate().is_some());
    let names = || with_rate().map(|it| it.name.clone()).collect::<Vec<_>>().join(", ");
    match name {
        Some(name) if open(name) => Ok(name.to_owned()),
        Some(name) => Err(Failure::usage(format!(
            "there is no stream {} with a rate; there are: {}",
            one_line(name),
            one_line(names())
        ))),
        None => Err(Failure::workload(Plan::ONLY_CLOSED_LOOPS)),
    }
}

/// The load at which the stream has the given rate.
fn maximum(max: Maximum, plan: &Plan, stream: &str) -> Result<Multiple, Failure> {
    let rate = match max {
        Maximum::Load(load) => return Ok(load),
        Maximum::Rate(rate) => rate,
    };
    let one = plan.streams.iter().find(|it| it.name == stream).and_then(|it| it.arrival.rate());
    let one = one.or(plan.oltp.as_ref().map(|oltp| oltp.rate));
    let (ours, theirs) = (one.unwrap_or(rate).as_ratio(), rate.as_ratio());
    let load = theirs.0.checked_mul(ours.1).zip(theirs.1.checked_mul(ours.0));
    load.and_then(|(n, d)| Multiple::ratio(n, d)).ok_or_else(|| {
        Failure::usage(format!(
            "{rate} of {stream} cannot be expressed as a multiple of 1x; give --max as a multiple such as 30x"
        ))
    })
}

/// The curve that an earlier call left, which must belong to the same task.
fn earlier(dir: &Path, ours: &curve::Curve, several: &Several<'_>) -> Result<curve::Curve, Failure> {
    let curve = kept(&dir.join(FILE), |kept: &curve::Curve| {
        let task = (kept.workload.as_str(), kept.targets.as_slice());
        let same = several.goes_on(task, kept.run_ns, kept.plan_blake3.as_deref(), kept.seed);
        let maximum = kept.searched == ours.searched && (ours.searched || kept.maximum == ours.maximum);
        same && maximum && kept.stream == ours.stream && kept.asked == ours.asked
    })?;
    several.same_targets(dir)?;
    Ok(curve)
}

/// Searches for the maximum, or continues an interrupted search.
fn search(
    args: &Curve,
    several: &Several<'_>,
    dir: &Path,
    curve: &mut curve::Curve,
    progress: &mut Progress,
) -> Result<Option<Outcome>, Failure> {
    let below = dir.join(SEARCH);
    let resumed = below.join("limit.json").exists();
    files::directory(&below)
        .map_err(|e| Failure::host(format!("the run directory {} cannot be made: {e}", shown(&below))))?;
    let outcome = Searching::begin(several, args.search.bounds(), below, resumed)?.run(progress)?;
    match outcome {
        Outcome::Between { passes, .. } | Outcome::NeverFailed { passes } => curve.maximum = Some(passes),
        Outcome::NeverPassed { .. } | Outcome::Stopped { .. } => progress.say(&format!("no maximum: it {outcome}")),
    }
    keep(&dir.join(FILE), curve)?;
    Ok(Some(outcome))
}

/// Runs the remaining points; ends early when one was cut short.
fn points(several: &Several<'_>, dir: &Path, curve: &mut curve::Curve, progress: &mut Progress) -> Result<(), Failure> {
    let Some(maximum) = curve.maximum else { return Ok(()) };
    take_in_failed(several, dir, maximum, curve);
    for share in curve.left() {
        let load = part(maximum, share).ok_or_else(|| {
            Failure::usage(format!("{share} of {maximum} is too small to be a load; give larger shares with --points"))
        })?;
        for attempt in 1..=2 {
            progress.title(&share.to_string());
            let number = curve.asked.iter().position(|asked| *asked == share).map_or(0, |index| index + 1);
            let name = format!("{number:02}-{load}");
            let (judgement, at) = several.run(dir, &name, (load, curve.seed), progress)?;
            progress.say(&format!("{share}: {load} {}", judgement.verdict));
            let at = at.strip_prefix(dir).unwrap_or(&at).to_string_lossy().into_owned();
            curve.add_run(share, load, &judgement, at);
            keep(&dir.join(FILE), curve)?;
            match judgement.verdict {
                Verdict::Incomplete => return Ok(()),
                Verdict::Invalid if attempt == 1 => {}
                _ => break,
            }
        }
    }
    Ok(())
}

/// If the curve was killed after a point had failed by its log, that point counts as failed.
fn take_in_failed(several: &Several<'_>, dir: &Path, maximum: Multiple, curve: &mut curve::Curve) {
    let known: Vec<PathBuf> = curve.points.iter().map(|point| dir.join(&point.directory)).collect();
    let known: Vec<&Path> = known.iter().map(PathBuf::as_path).collect();
    for (load, judgement, at) in several.failed_unkept(dir, &known) {
        let share = curve.left().into_iter().find(|share| part(maximum, *share) == Some(load));
        if let Some(share) = share {
            let at = at.strip_prefix(dir).unwrap_or(&at).to_string_lossy().into_owned();
            curve.add_run(share, load, &judgement, at);
        }
    }
}

/// A share of a load, to the millionth; `None` when it is zero.
fn part(maximum: Multiple, share: Share) -> Option<Multiple> {
    let millionths = u128::from(maximum.as_millionths()) * u128::from(share.as_ppb()) / 1_000_000_000;
    Multiple::from_millionths(u64::try_from(millionths).ok()?)
}

fn show(curve: &curve::Curve, dir: &Path, (json, cut): (bool, bool), progress: &Progress) -> Result<(), Failure> {
    let bug = |_| Failure::bug("a curve that cannot be shown");
    let mut page = String::new();
    html(curve, &mut page).map_err(bug)?;
    let path = dir.join(PAGE);
    files::replace(&path, page.as_bytes())
        .map_err(|e| Failure::host(format!("{} cannot be written: {e}", shown(&path))))?;
    if json {
        return print_json(curve);
    }
    let mut printed = String::new();
    text(curve, &mut printed).map_err(bug)?;
    crate::stdout::show(&printed);
    if cut {
        let dir = for_a_shell(&dir.to_string_lossy());
        progress.say(&format!("cut short; go on with the same command and --resume {dir}"));
    }
    progress.say(&format!("curve in {}: {FILE}, {PAGE}, and a run directory for each point", shown(dir)));
    Ok(())
}
