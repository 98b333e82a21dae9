//! `assay fit`: runs a profile on a target, a minute at a time, and changes what its measurements leave open until the
//! target does what production's drive did.
//!
//! The fit itself is [`assay_run::procedure::fitting`]; this shows its rounds. Its result is `fitted.toml`.

use crate::args::{Access, Output, Pace};
use crate::candidates;
use crate::progress::Progress;
use crate::stdout::{print_json, show_text};
use assay_base::{Share, Span};
use assay_judge::fit::{Outcome, write_text};
use assay_judge::{Verdict, for_a_shell};
use assay_run::failure::{Failure, escaped_path};
use assay_run::log::results::{self, render_text};
use assay_run::observer::Observer;
use assay_run::procedure::fitting::{self, FILE, FITTED, Fitting};
use assay_run::procedure::several::Several;
use assay_run::workloads::production::Production;
use clap_complete::engine::ArgValueCompleter;
use std::path::{Path, PathBuf};

/// `assay fit`
#[derive(clap::Args, Debug)]
#[command(mut_arg("measure", |arg| arg.help("Length of a round, such as 10min [default: 60s]")), mut_arg("verify", |arg| arg.hide(true)), after_help = "\
Compared are r/s, w/s, rkB/s and wkB/s of the profile's [[iostat]] with the counters of the target. Moved are where sizes lie in the
buckets of their histograms, and how many large blocks are read and written. The result, fitted.toml in the run directory, is a
workload for `assay run`, `assay limit` and `assay explain`.
Exit code: 0 when all figures agree, 10 when one does not, the load is not carried or an operation failed, 11 when a round proves
nothing, 12 when the command was cut short and nothing failed.")]
pub(crate) struct Fit {
    /// A profile that `assay import` made, with the iostat of its drive
    #[arg(value_hint = clap::ValueHint::FilePath)]
    pub profile: String,
    /// What stands for one of its drives: a block device, a file, sim:flash, sim:flash-worn, sim:disk or null:SIZE
    #[arg(add = ArgValueCompleter::new(candidates::target_candidates))]
    pub target: String,
    #[command(flatten)]
    pub aim: Aim,
    /// Also write the fitted workload to this file, which must not exist yet
    #[arg(long, value_name = "FILE")]
    pub fitted: Option<PathBuf>,
    #[command(flatten)]
    pub pace: Pace,
    #[command(flatten)]
    pub access: Access,
    #[command(flatten)]
    pub output: Output,
}

/// When a fit is near enough, and when it gives up.
#[derive(clap::Args, Debug, Clone, Copy)]
pub(crate) struct Aim {
    /// Difference from production that is small enough. What counting varies by in a round is allowed beside it
    #[arg(long, value_name = "SHARE", default_value = "1%", value_parser = parse_tolerance)]
    pub tolerance: Share,
    /// Most rounds of the fit, 1 to 20
    #[arg(long, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u8).range(1..=20))]
    pub rounds: u8,
}

impl Aim {
    pub(crate) fn to_aim(self) -> fitting::Aim {
        fitting::Aim { tolerance: self.tolerance, rounds: self.rounds }
    }
}

fn parse_tolerance(text: &str) -> Result<Share, String> {
    let share: Share = text.parse().map_err(|e: assay_base::UnitError| e.to_string())?;
    let sensible = Share::from_ppb(1_000_000)..=Share::from_percent(50);
    if sensible.contains(&share) { Ok(share) } else { Err("write 0.1% to 50%".to_owned()) }
}

/// Default length of a round: the guide's procedure compares a minute of iostat.
pub(crate) const ROUND: Span = Span::from_secs(60);
/// Runs the fit, shows the rounds, writes the fitted workload to the run directory.
pub(crate) fn fit_profile(args: &Fit) -> Result<u8, Failure> {
    if args.pace.verify {
        return Err(Failure::bad_usage(
            "a fit compares counters, in which reading back would count; verify with assay run",
        ));
    }
    let production = Production::read_profile(&args.profile)?;
    if let Some(file) = &args.fitted {
        results::refuse_taken_path(file)?;
    }
    let measure = Some(args.pace.measure.unwrap_or(ROUND));
    let mut settings = args.output.run_settings(&args.access, &args.pace, &[]);
    settings.pace.measure = measure;
    let mut start = production.workload_at(&production.profile_knobs())?;
    start.verification.verify = false;
    let several = Several::open_for_verb("fit", start, std::slice::from_ref(&args.target), settings)?;
    let dir = several.choose_directory()?;
    let mut progress = Progress::new(false);
    let resumed = args.output.resume.is_some();
    let mut fitting = Fitting::begin_or_resume(&several, &production, args.aim.to_aim(), dir.clone(), resumed)?;
    let outcome = fitting.run_fit(&several, &mut progress)?;
    let fitted = fitting.fitted_text()?;
    if let (Some(file), Some(text)) = (&args.fitted, &fitted) {
        results::write_new(file, text)?;
    }
    if args.output.json {
        print_json(&fitting.trail)?;
    } else {
        show_text(&render_text(|out| write_text(&fitting.trail, out))?);
        report_end(&dir, &outcome, fitted.is_some(), &progress);
    }
    Ok(outcome.verdict().exit_code())
}

/// Reports what is in the directory, and how to continue.
fn report_end(dir: &Path, outcome: &Outcome, fitted: bool, progress: &Progress) {
    let typed = for_a_shell(&dir.to_string_lossy());
    if matches!(outcome, Outcome::Stopped { verdict: Verdict::Incomplete, .. }) {
        progress.say_line(&crate::again::cut_short(dir));
    }
    let holds = if fitted { format!("{FILE}, {FITTED}, and") } else { format!("{FILE} and") };
    progress.say_line(&format!("fit in {}: {holds} a run directory for each round", escaped_path(dir)));
    if fitted {
        progress.say_line(&format!("how far a drive goes with it: assay limit {typed}/{FITTED} TARGET --from 1x"));
    }
}
