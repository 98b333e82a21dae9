//! `assay limit`: the highest load that still passes.
//!
//! The search itself is [`assay_run::procedure::searching`]; this shows its path.

use crate::args::{self, Access, BesideRun, Judged, Output, Pace, Ranks, Subject};
use crate::live_page::PageBesideRun;
use crate::progress::Progress;
use crate::stdout::{print_json, show_lines};
use assay_base::{Multiple, Span};
use assay_judge::Verdict;
use assay_judge::limit::{Outcome, Run, Trail};
use assay_run::failure::{Failure, escaped_path, one_line};
use assay_run::host::ranks::group::RankGroup;
use assay_run::observer::Observer;
use assay_run::procedure::searching::{FILE, PAGE, Searching, first_load};
use assay_run::procedure::tiles::TilesToSearch;
use std::fmt::Write;

/// `assay limit`
#[derive(clap::Args, Debug)]
pub(crate) struct Limit {
    #[command(flatten)]
    pub subject: Subject,
    /// Search how many tiles of a file of tiles hold, each of them judged (docs/tiles.md)
    #[arg(long)]
    pub tiles: bool,
    #[command(flatten)]
    pub search: args::Search,
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

/// Length of the longest bar, in characters.
const BAR: usize = 40;

/// Searches, shows the path, and leaves it in the run directory. The exit code is 0 when a load that passes was found,
/// 10 when even the lowest fails or an operation failed, otherwise that of the run that proved nothing.
pub(crate) fn search_limit(args: &Limit) -> Result<u8, Failure> {
    let lead = |ranks: Option<&RankGroup<'_>>| search_with_ranks(args, ranks);
    args.ranks.carry_procedure(args.output.workers, lead, |ranks| {
        let TilesToSearch { several, .. } = open_targets(args, Some(ranks))?;
        several.follow_first_rank()
    })
}

/// Opens the targets; `most_sentence` is empty where no tiles are searched.
fn open_targets<'a>(args: &'a Limit, ranks: Option<&'a RankGroup<'_>>) -> Result<TilesToSearch<'a>, Failure> {
    let bounds = if args.tiles { args.search.tile_bounds()? } else { args.search.search_bounds()? };
    first_load(&bounds, Multiple::ONE)?;
    let settings = args.output.settings_with_ranks(&args.access, &args.pace, &args.judged.criteria, ranks);
    if args.tiles {
        return args.subject.open_tiles(settings, bounds);
    }
    let several = args.subject.open_several("limit", settings)?;
    Ok(TilesToSearch { several, bounds, most_sentence: String::new() })
}

fn search_with_ranks(args: &Limit, ranks: Option<&RankGroup<'_>>) -> Result<u8, Failure> {
    let page = PageBesideRun::listen_if_asked(&args.page, args.output.judge_on)?;
    let TilesToSearch { several, bounds, most_sentence } = open_targets(args, ranks)?;
    let mut progress = Progress::new(false).with_page(page);
    if !most_sentence.is_empty() {
        progress.say_line(&most_sentence);
    }
    let dir = several.choose_directory()?;
    progress.begin_directory(&dir);
    progress.say_line(&several.length_sentence());
    let mut searching = Searching::begin_or_resume(&several, bounds, dir.clone(), args.output.resume.is_some())?;
    let outcome = searching.run_search(&mut progress)?;
    if args.output.json {
        print_json(searching.path_so_far())?;
    } else {
        show_lines(
            &path_text(searching.path_so_far(), outcome)
                .map_err(|_| Failure::internal_bug("a path that cannot be shown"))?,
        );
        if matches!(outcome, Outcome::Stopped { verdict: Verdict::Incomplete, .. }) {
            progress.say_line(&crate::again::cut_short(&dir));
        }
        progress
            .say_line(&format!("path in {}: {FILE}, {PAGE}, and a run directory for each load", escaped_path(&dir)));
    }
    Ok(outcome.verdict().exit_code())
}

/// Prints the path of a search that another process made; the verdict is that of the search as far as it came.
pub(super) fn show_kept(path: &Trail) -> Result<Verdict, Failure> {
    let at = path.runs.last().map_or(Multiple::ONE, |run| run.load);
    let unfinished = Outcome::Stopped { at, verdict: Verdict::Incomplete, passes: None };
    let outcome = path.outcome.unwrap_or(unfinished);
    show_lines(&path_text(path, outcome).map_err(|_| Failure::internal_bug("a path that cannot be shown"))?);
    Ok(outcome.verdict())
}

/// The path as a table in the order of the runs, and as bars in the order of the loads.
fn path_text(path: &Trail, outcome: Outcome) -> Result<String, std::fmt::Error> {
    let mut out = String::new();
    writeln!(out, "{}", path.outcome_in_words(outcome))?;
    path.gain_sentence().iter().try_for_each(|line| writeln!(out, "{line}"))?;
    writeln!(
        out,
        "{} on {}, {} a run\n",
        one_line(&path.workload),
        one_line(path.targets.join(", ")),
        Span::from_ns(path.run_ns)
    )?;
    if !path.watermarks.is_empty() {
        writeln!(out, "{}\n", one_line(path.watermarks.join(", ")))?;
    }
    // Beside multiples what users of the workload count loads in.
    let counted = path.counted.as_ref();
    let heading = counted.map_or_else(String::new, |counted| format!("  {:>9}", counted.name));
    writeln!(out, "run       load{heading}  verdict     response p99  measured")?;
    for (index, run) in path.runs.iter().enumerate() {
        let measured = one_line(run.measured.as_deref().filter(|_| run.is_proof()).unwrap_or(&run.reason));
        let number = counted.map_or_else(String::new, |counted| format!("  {:>9}", counted.count_as_text(run.load)));
        let p99 = run.response_p99_ns.map_or_else(|| "-".into(), |ns| Span::from_ns(ns).human_text());
        let stream = path.stream_of(run).map_or_else(String::new, |name| format!("p99 of {}; ", one_line(name)));
        let (load, verdict) = (run.load.to_string(), run.verdict.to_string());
        writeln!(out, "{:>3}  {load:>9}{number}  {verdict:10}  {p99:>12}  {stream}{measured}", index + 1)?;
    }
    path.aside.as_sentences().iter().try_for_each(|line| writeln!(out, "     {}", one_line(line)))?;
    let mut sorted: Vec<&Run> = path.runs.iter().collect();
    sorted.sort_by_key(|run| run.load);
    let highest = sorted.last().map_or(1.0, |run| run.load.as_f64());
    writeln!(out, "\nload")?;
    for run in sorted {
        let length = ((run.load.as_f64() / highest * BAR as f64) as usize).clamp(1, BAR);
        let mark = if run.verdict == Verdict::Pass { "=" } else { "x" };
        writeln!(out, "{:>9}  {:BAR$}  {}", run.load.to_string(), mark.repeat(length), run.verdict)?;
    }
    Ok(out)
}
