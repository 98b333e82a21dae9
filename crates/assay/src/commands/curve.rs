//! `assay curve`: throughput against response, a run for each share of a maximum that is given or searched for.

use crate::args::{Access, BesideRun, Judged, Output, Pace, Ranks, Search, Subject};
use crate::live_page::PageBesideRun;
use crate::progress::Progress;
use crate::stdout::print_json;
use assay_base::{Criterion, Multiple, Rate, Share};
use assay_judge::curve::{self, write_text};
use assay_judge::sessions;
use assay_model::Plan;
use assay_model::plan::PlannedLoad;
use assay_run::databases::by_sessions::{self, with_sessions};
use assay_run::failure::{Failure, escaped_path, one_line};
use assay_run::host::ranks::group::RankGroup;
use assay_run::observer::Observer;
use assay_run::procedure::curving::{CurveRequest, Curving, FILE, PAGE, make_directory, write_curve};
use assay_run::procedure::searching::first_load;
use assay_run::procedure::several::Several;
use std::path::Path;

/// `assay curve`
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Without --max, the command first searches for the maximum load, as `assay limit` does (--from, --to, --resolution).
Exit code: 0 when every point passed, 10 when a point or an operation failed (or no load passed), 11 when a point proves nothing,
12 when the command was cut short and nothing failed.")]
pub(crate) struct Curve {
    #[command(flatten)]
    pub subject: Subject,
    /// Shares of the maximum load to measure, separated by commas
    #[arg(long, value_name = "SHARES", value_delimiter = ',', default_value = "10%,50%,80%,90%,95%,100%")]
    pub points: Vec<Share>,
    /// Load that counts as 100 %: a multiple such as 30x, or the rate of the stream over all targets, such as 60000/s
    /// [default: the highest load that passes]
    #[arg(long, value_name = "LOAD", conflicts_with_all = ["from", "to", "resolution"])]
    pub max: Option<Maximum>,
    /// Measure a database by the number of sessions instead, each of which asks again as soon as it is answered: numbers separated
    /// by commas, such as 1,2,4,8
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=4096),
          conflicts_with_all = ["points", "max", "stream", "runs", "beside", "from", "to", "resolution"])]
    pub sessions: Vec<u32>,
    /// Stream whose throughput and response time are shown [default: the stream of the first criterion]
    #[arg(long, value_name = "NAME")]
    pub stream: Option<String>,
    /// Measure each point in a run of its own, or all in one uninterrupted run from the highest load to the lowest [default: one for
    /// OLTP loads, each for all others]
    #[arg(long, value_name = "HOW")]
    pub runs: Option<Runs>,
    /// Measure a second curve without the cache, and show both in one picture: `--cache /dev/nvme0n1 --beside none`
    #[arg(long, value_name = "none")]
    pub beside: Option<SecondCurve>,
    #[command(flatten)]
    pub search: Search,
    #[command(flatten)]
    pub pace: Pace,
    #[command(flatten)]
    pub judged: Judged,
    #[command(flatten)]
    pub access: Access,
    #[command(flatten)]
    pub ranks: Ranks,
    #[command(flatten)]
    pub output: Output,
    #[command(flatten)]
    pub page: BesideRun,
}

/// In how many runs the points are measured.
#[derive(Clone, Copy, Debug, PartialEq, clap::ValueEnum)]
pub(crate) enum Runs {
    /// Each point in a run of its own
    Each,
    /// All points in one uninterrupted run
    One,
}

/// What the second curve has instead of the cache.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum SecondCurve {
    /// No cache
    None,
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
        if let Ok(load) = text.parse() {
            return Ok(Maximum::Load(load));
        }
        match text.parse() {
            Ok(rate) if rate != Rate::ZERO => Ok(Maximum::Rate(rate)),
            _ => Err(format!(
                "\"{}\" is neither a multiple nor a rate; write it like 30x or 60000/s",
                text.escape_debug()
            )),
        }
    }
}

/// Directory of the curve without the cache, below that of the curve with it.
const BESIDE: &str = "beside";

/// Runs the points, shows the curve, and leaves it in the run directory.
pub(crate) fn measure_curve(args: &Curve) -> Result<u8, Failure> {
    if !args.sessions.is_empty() {
        if args.ranks.are_given() {
            return Err(Failure::bad_usage(
                "--sessions measures a database, which one process drives: leave out --hosts and --local",
            ));
        }
        return by_sessions(args);
    }
    let lead = |ranks: Option<&RankGroup<'_>>| measure_with_ranks(args, ranks);
    args.ranks.carry_procedure(args.output.workers, lead, |ranks| open_targets(args, Some(ranks))?.follow_first_rank())
}

fn open_targets<'a>(args: &'a Curve, ranks: Option<&'a RankGroup<'_>>) -> Result<Several<'a>, Failure> {
    let settings = args.output.settings_with_ranks(&args.access, &args.pace, &args.judged.criteria, ranks);
    args.subject.open_several("curve", settings)
}

fn measure_with_ranks(args: &Curve, ranks: Option<&RankGroup<'_>>) -> Result<u8, Failure> {
    let shares = sorted_shares(&args.points)?;
    first_load(&args.search.search_bounds()?, Multiple::ONE)?;
    let page = PageBesideRun::listen_if_asked(&args.page, args.output.judge_on)?;
    let mut several = open_targets(args, ranks)?;
    if args.beside.is_some() && !several.has_cache() {
        let remedy = "--beside compares a cache with none, and there is no cache: give one with --cache PATH";
        return Err(Failure::bad_usage(remedy));
    }
    let stream = choose_stream(&several.plan, args.stream.as_deref())?;
    let given = args.max.map(|max| maximum_load(max, &several.plan, &stream)).transpose()?;
    let usual = if several.plan.load.oltp().is_some() { Runs::One } else { Runs::Each };
    let in_one_run = args.runs.unwrap_or(usual) == Runs::One;
    let request = CurveRequest { shares, stream, maximum: given, in_one_run };
    let dir = several.choose_directory()?;
    let mut progress = Progress::new(false).with_page(page);
    progress.begin_directory(&dir);
    progress.say_line(&several.length_sentence());
    let resumed = args.output.resume.is_some();
    let mut curve = measure_in_directory(args, &several, &request, &dir, resumed, &mut progress)?;
    if args.beside.is_some() && curve.is_whole() {
        several.without_cache()?;
        let below = dir.join(BESIDE);
        let resumed = below.join(FILE).exists();
        make_directory(&below)?;
        progress.say_line("the same without the cache");
        curve.put_beside(measure_in_directory(args, &several, &request, &below, resumed, &mut progress)?);
    }
    several.tell_if_lost(write_curve(&curve, &dir));
    show_curve(&curve, &dir, args.output.json, &progress)?;
    Ok(curve.verdict().exit_code())
}

/// Runs a closed loop for each number of sessions, shows the curve, and leaves it in the run directory.
fn by_sessions(args: &Curve) -> Result<u8, Failure> {
    let mut numbers = args.sessions.clone();
    numbers.sort_unstable();
    numbers.dedup();
    let page = PageBesideRun::listen_if_asked(&args.page, args.output.judge_on)?;
    let settings = args.output.run_settings(&args.access, &args.pace, &args.judged.criteria);
    let workload = args.subject.workload_for_verb("curve", args.pace.measure)?;
    let first = with_sessions(&workload, numbers[0])?;
    let several = Several::open_loops("curve", first, &args.subject.targets, settings)?;
    let dir = several.choose_directory()?;
    let mut progress = Progress::new(false).with_page(page);
    progress.begin_directory(&dir);
    progress.say_line(&several.length_sentence());
    let resumed = args.output.resume.is_some();
    let curve = by_sessions::measure_by_sessions(&several, &workload, &numbers, &dir, resumed, &mut progress)?;
    if args.output.json {
        print_json(&curve)?;
    } else {
        let mut printed = String::new();
        sessions::write_text(&curve, &mut printed)
            .map_err(|_| Failure::internal_bug("a curve that cannot be shown"))?;
        crate::stdout::show_text(&printed);
    }
    if !curve.is_whole() {
        progress.say_line(&crate::again::cut_short(&dir));
    }
    let (file, page) = (by_sessions::FILE, by_sessions::PAGE);
    progress.say_line(&format!("curve in {}: {file}, {page}, and a run directory for each number", escaped_path(&dir)));
    Ok(curve.verdict().exit_code())
}

/// Measures one curve in `dir`, as far as it comes.
fn measure_in_directory(
    args: &Curve,
    several: &Several<'_>,
    request: &CurveRequest,
    dir: &Path,
    resumed: bool,
    progress: &mut Progress,
) -> Result<curve::Curve, Failure> {
    let mut curving =
        Curving::begin_or_resume(several, request, args.search.search_bounds()?, dir.to_path_buf(), resumed)?;
    curving.run_curve(progress)?;
    let curve = curving.into_curve();
    several.tell_if_lost(write_curve(&curve, dir));
    Ok(curve)
}

/// The shares that were asked for, ascending, without duplicates.
fn sorted_shares(points: &[Share]) -> Result<Vec<Share>, Failure> {
    let mut shares = points.to_vec();
    shares.sort_by_key(|share| share.as_ppb());
    shares.dedup();
    if shares.first().is_none_or(|share| share.as_ppb() == 0) {
        return Err(Failure::bad_usage("a point at 0% offers no load; give shares such as --points 10%,50%,100%"));
    }
    Ok(shares)
}

/// The stream whose throughput and response are shown. It must have a rate, because loads multiply rates.
fn choose_stream(plan: &Plan, asked: Option<&str>) -> Result<String, Failure> {
    let judged = plan.criteria.first().map(|criterion| criterion.stream.as_str());
    let with_rate = plan.load.streams.iter().filter(|stream| stream.arrival.mean_rate().is_some());
    let with_rate: Vec<&str> = with_rate.map(|stream| stream.name.as_str()).collect();
    let name = asked.or(judged.filter(|name| has_rate(plan, name))).or(with_rate.first().copied());
    match name {
        Some(name) if has_rate(plan, name) => Ok(name.to_owned()),
        Some(name) => Err(Failure::bad_usage(format!(
            "there is no stream {} with a rate; there are: {}",
            one_line(name),
            one_line(with_rate.join(", "))
        ))),
        None => Err(Failure::bad_workload(PlannedLoad::ONLY_CLOSED_LOOPS)),
    }
}

/// True for a stream with a rate, and for the name of all streams where a criterion is about all.
fn has_rate(plan: &Plan, name: &str) -> bool {
    name == Criterion::ALL && plan.criteria.iter().any(|criterion| criterion.stream == name)
        || plan.load.streams.iter().any(|stream| stream.name == name && stream.arrival.mean_rate().is_some())
}

/// The load at which the stream has the given rate.
fn maximum_load(max: Maximum, plan: &Plan, stream: &str) -> Result<Multiple, Failure> {
    let rate = match max {
        Maximum::Load(load) => return Ok(load),
        Maximum::Rate(rate) => rate,
    };
    let one = plan.load.streams.iter().find(|known| known.name == stream).and_then(|stream| stream.arrival.mean_rate());
    let one = one.or(plan.load.oltp().map(|oltp| oltp.rate));
    let (ours, theirs) = (one.unwrap_or(rate).as_ratio(), rate.as_ratio());
    let load = theirs.0.checked_mul(ours.1).zip(theirs.1.checked_mul(ours.0));
    load.and_then(|(n, d)| Multiple::from_ratio(n, d)).ok_or_else(|| {
        Failure::bad_usage(format!(
            "{rate} of {stream} cannot be expressed as a multiple of 1x; give --max as a multiple such as 30x"
        ))
    })
}

fn show_curve(curve: &curve::Curve, dir: &Path, json: bool, progress: &Progress) -> Result<(), Failure> {
    if json {
        return print_json(curve);
    }
    let mut printed = String::new();
    write_text(curve, &mut printed).map_err(|_| Failure::internal_bug("a curve that cannot be shown"))?;
    crate::stdout::show_text(&printed);
    if curve.is_cut_short() {
        progress.say_line(&crate::again::cut_short(dir));
    }
    let runs = if curve.in_one_run { "the directory of the run" } else { "a run directory for each point" };
    progress.say_line(&format!("curve in {}: {FILE}, {PAGE}, and {runs}", escaped_path(dir)));
    Ok(())
}
