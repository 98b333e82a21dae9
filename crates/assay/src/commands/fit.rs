//! `assay fit`: runs a profile on a target, a minute at a time, and changes what its measurements leave open until the
//! target does what production's drive did.
//!
//! The fit is a state machine in the judge's crate; this runs the rounds that it asks for, each in a directory of its
//! own below the run directory, and keeps them in `fit.json`, from which an interrupted fit continues. Its result is
//! `fitted.toml`.

use super::several::{Several, keep, kept};
use crate::args::{Access, Judged, Output, Pace};
use crate::candidates;
use crate::progress::Progress;
use crate::stdout::{print_json, show};
use assay_base::{Knobs, Multiple, Share, Span};
use assay_judge::fit::{Expected, Fit as Machine, Goal, Measured, Next, Outcome, SCHEMA, Trail, Why, moved, text};
use assay_judge::{Verdict, for_a_shell};
use assay_model::workload::Workload;
use assay_run::failure::{Failure, shown};
use assay_run::production::Production;
use assay_run::results::{self, rendered};
use assay_run::targets::Named;
use clap_complete::engine::ArgValueCompleter;
use std::path::{Path, PathBuf};

/// `assay fit`
#[derive(clap::Args, Debug)]
#[command(mut_arg("measure", |arg| arg.help("Length of a round, such as 10min [default: 60s]")), mut_arg("verify", |arg| arg.hide(true)), after_help = "\
Compared are r/s, w/s, rkB/s and wkB/s of the profile's [[iostat]] with the counters of the target. Moved are where sizes lie in the
buckets of their histograms, and how many large blocks are read and written. The result, fitted.toml in the run directory, is a
workload for `assay run`, `assay limit` and `assay explain`.
Exit code: 0 when all figures agree, 10 when one does not or the load is not carried, 11 when a round proves nothing, 12 when the
command was cut short.")]
pub(crate) struct Fit {
    /// A profile that `assay import` made, with the iostat of its drive
    #[arg(value_hint = clap::ValueHint::FilePath)]
    pub profile: String,
    /// What stands for one of its drives: a block device, a file, sim:flash, sim:flash-worn, sim:disk or null:SIZE
    #[arg(add = ArgValueCompleter::new(candidates::targets))]
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
    #[arg(long, value_name = "SHARE", default_value = "1%", value_parser = tolerance)]
    pub tolerance: Share,
    /// Most rounds of the fit, 1 to 20
    #[arg(long, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u8).range(1..=20))]
    pub rounds: u8,
}

fn tolerance(text: &str) -> Result<Share, String> {
    let share: Share = text.parse().map_err(|e: assay_base::UnitError| e.to_string())?;
    let sensible = Share::from_ppb(1_000_000)..=Share::from_percent(50);
    if sensible.contains(&share) { Ok(share) } else { Err("write 0.1% to 50%".to_owned()) }
}

/// Default length of a round: the guide's procedure compares a minute of iostat.
pub(crate) const ROUND: Span = Span::from_secs(60);
/// The file of the rounds and the result.
pub(crate) const FILE: &str = "fit.json";
pub(crate) const FITTED: &str = "fitted.toml";

/// Runs the fit, shows the rounds, writes the fitted workload to the run directory.
pub(crate) fn fit(args: &Fit) -> Result<u8, Failure> {
    if args.pace.verify {
        return Err(Failure::usage(
            "a fit compares counters, in which reading back would count; verify with assay run",
        ));
    }
    let production = Production::read(&args.profile)?;
    if let Some(file) = &args.fitted {
        results::free(file)?;
    }
    let (pace, judged) = (paced(&args.pace), Judged::default());
    let start = Workload { verify: false, ..production.at(&production.knobs())? };
    let task = (start, std::slice::from_ref(&args.target));
    let mut several = Several::of("fit", task, (&pace, &judged), &args.access, &args.output)?;
    let dir = several.directory()?;
    let mut progress = Progress::new(false);
    let resumed = args.output.resume.is_some();
    let mut fitting = Fitting::begin(&several, &production, args.aim, dir.clone(), resumed)?;
    let outcome = fitting.run(&mut several, &production, &mut progress)?;
    let fitted = fitting.fitted(&production)?;
    if let (Some(file), Some(text)) = (&args.fitted, &fitted) {
        results::write_new(file, text)?;
    }
    if args.output.json {
        print_json(&fitting.trail)?;
    } else {
        show(&rendered(|out| text(&fitting.trail, out))?);
        told(&dir, &outcome, fitted.is_some(), &progress);
    }
    Ok(code(&outcome))
}

/// Reports what is in the directory, and how to continue.
fn told(dir: &Path, outcome: &Outcome, fitted: bool, progress: &Progress) {
    let typed = for_a_shell(&dir.to_string_lossy());
    if matches!(outcome, Outcome::Stopped { verdict: Verdict::Incomplete, .. }) {
        progress.say(&format!("cut short; go on with the same command and --resume {typed}"));
    }
    let holds = if fitted { format!("{FILE}, {FITTED}, and") } else { format!("{FILE} and") };
    progress.say(&format!("fit in {}: {holds} a run directory for each round", shown(dir)));
    if fitted {
        progress.say(&format!("how far a drive goes with it: assay limit {typed}/{FITTED} TARGET --from 1x"));
    }
}

/// A round lasts a minute, unless `--for` is given.
pub(crate) fn paced(pace: &Pace) -> Pace {
    Pace { measure: Some(pace.measure.unwrap_or(ROUND)), ..pace.clone() }
}

/// The exit code of a fit.
pub(crate) fn code(outcome: &Outcome) -> u8 {
    match outcome {
        Outcome::Agrees { .. } => assay_run::failure::code::DONE,
        Outcome::Apart { .. } | Outcome::NotCarried { .. } => Verdict::Fail.exit_code(),
        Outcome::Stopped { verdict, .. } => verdict.exit_code(),
    }
}

/// A fit, and where its rounds are kept.
pub(crate) struct Fitting {
    aim: Aim,
    dir: PathBuf,
    block: u32,
    pub(crate) trail: Trail,
}

impl Fitting {
    /// Begins in `dir`, or continues with the rounds that an earlier fit left there.
    pub(crate) fn begin(
        several: &Several<'_>,
        production: &Production,
        aim: Aim,
        dir: PathBuf,
        resumed: bool,
    ) -> Result<Fitting, Failure> {
        results::replaceable(&dir, &[FILE, FITTED])?;
        let fresh = Trail {
            schema: SCHEMA,
            workload: several.plan.name.clone(),
            profile_blake3: production.sum(),
            drive: production.drive.clone(),
            target: several.names[0].clone(),
            device: None,
            size_bytes: None,
            round_ns: several.plan.measured().as_ns(),
            seed: several.plan.seed,
            tolerance: aim.tolerance.as_f64(),
            rounds_max: usize::from(aim.rounds),
            watermarks: Vec::new(),
            notes: notes(several, production),
            outcome: None,
            rounds: Vec::new(),
        };
        let mut trail = if resumed { earlier(&dir, &fresh, several)? } else { fresh };
        // A round that was interrupted is run again.
        trail.rounds.retain(|round| round.verdict != Verdict::Incomplete);
        trail.outcome = None;
        let fitting = Fitting { aim, dir, block: several.geometry().block, trail };
        // So that a fit that is killed in its first round can be continued.
        fitting.keep()?;
        Ok(fitting)
    }

    /// Runs the fit to its end.
    pub(crate) fn run(
        &mut self,
        several: &mut Several<'_>,
        production: &Production,
        progress: &mut Progress,
    ) -> Result<Outcome, Failure> {
        let goal = Goal {
            production: production.figures(),
            tolerance: self.aim.tolerance.as_f64(),
            rounds: usize::from(self.aim.rounds),
        };
        let mut machine = Machine::start(production.expected(self.block), goal, production.knobs());
        self.trail.observations().for_each(|(knobs, measured)| machine.observe(knobs, measured));
        self.noise(machine.quiet_seconds());
        loop {
            match machine.next() {
                Next::RunAt(knobs) => {
                    // What is read back would be counted as load.
                    let workload = Workload { verify: false, ..production.at(&knobs)? };
                    several.now_runs(workload, &several.pace().clone())?;
                    self.one(several, &mut machine, knobs, progress)?;
                }
                Next::Done(outcome) => {
                    self.trail.outcome = Some(outcome.clone());
                    self.split(&outcome, several);
                    self.keep()?;
                    return Ok(outcome);
                }
            }
        }
    }

    /// Runs one round.
    fn one<L: Fn(&Knobs) -> Expected>(
        &mut self,
        several: &Several<'_>,
        machine: &mut Machine<L>,
        knobs: Knobs,
        progress: &mut Progress,
    ) -> Result<(), Failure> {
        let number = self.trail.rounds.len() + 1;
        progress.title(&format!("round {number}"));
        // Each round has another seed: noise that repeats must not be taken for a property of the device.
        let seed = self.trail.seed.wrapping_add(number as u64 - 1);
        let (judgement, at) = several.run(&self.dir, &format!("{number:02}"), (Multiple::ONE, seed), progress)?;
        machine.observe(knobs, Measured::of(&judgement));
        let figures = machine.compared(number);
        let agree = figures.iter().filter(|one| one.agrees()).count();
        progress.say(&format!("round {number}: {agree} of {} figures agree", figures.len()));
        let at = at.strip_prefix(&self.dir).unwrap_or(&at).to_string_lossy().into_owned();
        self.trail.add(knobs, &judgement, figures, at);
        self.keep()
    }

    /// Adds a note where rounds are so short that counting noise decides.
    fn noise(&mut self, quiet: f64) {
        let round = Span::from_ns(self.trail.round_ns);
        let longer = Span::from_secs((quiet / 60.0).ceil().clamp(1.0, 1e7) as u64 * 60);
        const BEGINS: &str = "in a round of";
        let note = format!(
            "{BEGINS} {round} the counting noise is larger than the tolerance; --for {longer} makes it smaller"
        );
        self.trail.notes.retain(|note| !note.starts_with(BEGINS));
        if longer > round {
            self.trail.notes.push(note);
        }
    }

    /// Says at which size the kernel splits, where it does.
    fn split(&mut self, outcome: &Outcome, several: &Several<'_>) {
        let Outcome::Apart { figures, .. } = outcome else { return };
        let splits = figures.iter().any(|short| matches!(short.why, Why::Split { .. }));
        let note = several.largest_request().filter(|_| splits).map(|kib| {
            format!(
                "max_sectors_kb of {} is {kib}: a larger request is split there, and counted in pieces",
                self.trail.target
            )
        });
        self.trail.notes.extend(note.filter(|note| !self.trail.notes.contains(note)));
    }

    fn keep(&self) -> Result<(), Failure> {
        keep(&self.dir.join(FILE), &self.trail)
    }

    /// The text of the fitted workload, also written to the directory; `None` where nothing could be compared.
    pub(crate) fn fitted(&self, production: &Production) -> Result<Option<String>, Failure> {
        let Some(round) = self.trail.result() else { return Ok(None) };
        let text = production.text(&round.knobs, &self.head(production))?;
        let file = self.dir.join(FITTED);
        assay_run::files::replace(&file, text.as_bytes())
            .map_err(|e| Failure::host(format!("{} cannot be written: {e}", shown(&file))))?;
        Ok(Some(text))
    }

    /// What was changed and why, as lines of comment.
    fn head(&self, production: &Production) -> Vec<String> {
        let Some(round) = self.trail.result() else { return Vec::new() };
        let device = self.trail.device.as_deref().unwrap_or(&self.trail.target);
        let drive = if production.drive.is_empty() { "the drive" } else { &production.drive };
        let mut lines = vec![format!("Fitted to {drive} of production by `assay fit`, on"), format!("  {device}")];
        lines.push(match production.knobs() == round.knobs {
            true => "  no knob had to be changed".to_owned(),
            false => format!("  {}", moved(&production.knobs(), &round.knobs)),
        });
        for one in &round.figures {
            let unit = if one.figure.is_bytes() { 1024.0 } else { 1.0 };
            let agrees = if one.agrees() { "" } else { ", which does not agree" };
            lines.push(format!(
                "  {:6} {:.1} in production, {:.1} here ({:+.2}%{agrees})",
                one.figure.name(),
                one.production / unit,
                one.measured / unit,
                one.difference * 100.0
            ));
        }
        lines
    }
}

/// What a reader should know from the start.
fn notes(several: &Several<'_>, production: &Production) -> Vec<String> {
    let mut notes = production.notes();
    let own = match several.first() {
        Named::Simulated(_) => {
            Some("a simulated device takes every request as it is: what it completed is its counter")
        }
        Named::Null(_) => Some("a null target takes every request as it is: what it completed is its counter"),
        Named::Path(path) if path.is_file() => Some(
            "the target is a file, and the counters of the device beneath it are of its whole file system: requests are counted as they are issued, and splitting and merging below is not seen",
        ),
        Named::Path(_) => None,
    };
    notes.extend(own.map(str::to_owned));
    notes
}

/// The rounds that an earlier fit left, which must be of the same fit.
fn earlier(dir: &Path, ours: &Trail, several: &Several<'_>) -> Result<Trail, Failure> {
    let asked_seed = several.asks_for_a_seed();
    let trail = kept(&dir.join(FILE), |kept: &Trail| {
        let of = |trail: &Trail| (trail.profile_blake3.clone(), trail.target.clone(), trail.round_ns);
        of(kept) == of(ours) && (!asked_seed || kept.seed == ours.seed)
    })?;
    several.same_targets(dir)?;
    // The number of rounds and the tolerance may differ from those before.
    Ok(Trail { tolerance: ours.tolerance, rounds_max: ours.rounds_max, ..trail })
}
