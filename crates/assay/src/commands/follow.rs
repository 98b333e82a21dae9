//! `assay watch`: shows the progress of a run in another terminal or in the background, and its result once it has
//! ended. On a terminal that is a view with tabs (`follow_terminal`), elsewhere lines of text; [`follow_procedure`] does the latter
//! for several runs.

#[cfg(feature = "live")]
use super::follow_terminal::{self, Viewed};
use super::following::follow_log;
use super::{follow_procedure, result};
use crate::progress::Progress;
use crate::stdout::show_text;
use assay_judge::Options;
use assay_run::failure::Failure;
use assay_run::log::judging::Log;
use assay_run::log::rundir;
use std::path::PathBuf;

/// `assay watch`
#[derive(clap::Args, Debug)]
pub(crate) struct Watch {
    /// The directory of a run, of a limit, curve, matrix, fit or size; or the run.jsonl of a run
    pub dir: PathBuf,
    /// Print lines instead of the view with tabs, also on a terminal
    #[arg(long)]
    pub plain: bool,
}

/// Follows the run in a directory to its end and prints its result; the exit code is that of the verdict.
pub(crate) fn watch_run(args: &Watch) -> Result<u8, Failure> {
    #[cfg(feature = "live")]
    if !args.plain
        && crate::terminal::can_show_view()
        && let Viewed::Left(code) = follow_terminal::view_on_terminal(&args.dir)?
    {
        return Ok(code);
    }
    let path = rundir::log_in(&args.dir);
    let log = if args.dir.is_dir() && !path.exists() {
        follow_procedure::watch_procedure(&args.dir)?;
        if !path.exists() {
            return follow_procedure::print_result(&args.dir);
        }
        Log::open_log(&path)?
    } else {
        // What was followed is what is judged: something else may lie at the path by then.
        let log = Log::open_log(&path)?;
        follow_log(&log, &path, &mut Progress::for_one_run(""))?;
        log
    };
    let judgement = log.judge_log(Options::default())?;
    show_text(&result::judgement_text(&judgement, &args.dir.to_string_lossy())?);
    Ok(judgement.verdict.exit_code())
}
