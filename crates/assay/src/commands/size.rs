//! `assay size`: which of several drives carries production's load, how many times of it, and how many are needed.
//!
//! Each candidate is fitted, then its limit is searched, like `assay fit` and `assay limit`, in a directory of its own.
//! All are opened before the first run, so that a missing token is not found only after a night. A failure on one
//! candidate is reported in its row, and the others are still tested.

use super::fit::Aim;
use crate::args::{Access, Judged, Output, Pace};
use crate::candidates;
use crate::progress::Progress;
use crate::screen::tell;
use crate::stdout::{print_json, show};
use assay_base::{Multiple, Share, Span};
use assay_judge::limit::Outcome;
use assay_judge::sizing::{Candidate, Demand, SCHEMA, Sizing, html, text};
use assay_judge::{Verdict, fit as machine, for_a_shell};
use assay_run::failure::{Failure, code, one_line, shown};
use assay_run::fitting::{self, Fitting};
use assay_run::kept::{keep, kept, page};
use assay_run::observer::Observer;
use assay_run::production::Production;
use assay_run::results::{self, rendered};
use assay_run::searching::{self, Bounds, Searching};
use assay_run::several::Several;
use assay_run::{files, rundir, targets};
use clap_complete::engine::ArgValueCompleter;
use std::path::{Path, PathBuf};

/// `assay size`
#[derive(clap::Args, Debug)]
#[command(mut_arg("measure", |arg| arg.help("Length of each run of the search, such as 6h [default: the workload's, at most 6h]")), after_help = "\
Drives needed = drives of production x --growth / (what one candidate holds x (1 - --headroom)), rounded up. It counts load alone: what
the data take is another bound.
Exit code: 0 when at least one candidate carries the load or a part of it, 10 when none does, 11 when nothing is known of any, 12 when
the command was cut short. A candidate that fails is a row of the table.")]
pub(crate) struct Size {
    /// A profile that `assay import` made, with the iostat of its drive
    #[arg(value_hint = clap::ValueHint::FilePath)]
    pub profile: String,
    /// The candidates: block devices, files, sim:flash, sim:flash-worn, sim:disk or null:SIZE
    #[arg(required = true, add = ArgValueCompleter::new(candidates::targets))]
    pub targets: Vec<String>,
    /// How many times production's load is to be carried, such as 2x
    #[arg(long, value_name = "LOAD", default_value = "2x")]
    pub growth: Multiple,
    /// Share of what a drive holds that is to be left free
    #[arg(long, value_name = "SHARE", default_value = "30%", value_parser = headroom)]
    pub headroom: Share,
    /// Drives that production has [default: those in the profile]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub drives: Option<u32>,
    #[command(flatten)]
    pub aim: Aim,
    /// Length of a round of the fit
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub fit_for: Span,
    /// Highest load to try, such as 20x [default: no limit]
    #[arg(long, value_name = "LOAD")]
    pub to: Option<Multiple>,
    /// How exactly to find the limit: the search ends when the loads that pass and fail are this close
    #[arg(long, value_name = "LOAD", default_value = "0.25x")]
    pub resolution: Multiple,
    #[command(flatten)]
    pub pace: Pace,
    #[command(flatten)]
    pub judged: Judged,
    #[command(flatten)]
    pub access: Access,
    #[command(flatten)]
    pub output: Output,
}

fn headroom(text: &str) -> Result<Share, String> {
    let share: Share = text.parse().map_err(|e: assay_base::UnitError| e.to_string())?;
    if share <= Share::from_percent(90) { Ok(share) } else { Err("write 0% to 90%".to_owned()) }
}

/// The file of the comparison, besides its page.
const FILE: &str = "size.json";
const PAGE: &str = "size.html";
/// Directories of the fit and of the search of a candidate.
const FIT: &str = "fit";
const LIMIT: &str = "limit";

/// Tests all candidates, shows the comparison, writes it to the run directory.
pub(crate) fn size(args: &Size) -> Result<u8, Failure> {
    let search = Bounds { from: Some(first(args.to)), to: args.to, resolution: Some(args.resolution) };
    distinct(&args.targets)?;
    let production = Production::read(&args.profile)?;
    let mut start = production.at(&production.knobs())?;
    start.verification.verify = false;
    let open = |target: &String| {
        let mut settings = args.output.settings(&args.access, &args.pace, &args.judged.criteria);
        (settings.pace.measure, settings.pace.verify) = (Some(args.fit_for), false);
        Several::open("size", start.clone(), std::slice::from_ref(target), settings)
    };
    let opened = args.targets.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    let dir = opened[0].directory()?;
    results::replaceable(&dir, &[FILE, PAGE])?;
    let mut progress = Progress::new(false);
    let mut run = Run { args, search, production: &production, dir: &dir, sizing: fresh(args, &production) };
    run.begin()?;
    let cut = run.all(opened, &mut progress)?;
    if args.output.json {
        print_json(&run.sizing)?;
    } else {
        show(&rendered(|out| text(&run.sizing, out))?);
        if cut {
            let typed = for_a_shell(&dir.to_string_lossy());
            progress.say(&format!("cut short; go on with the same command and --resume {typed}"));
        }
        progress.say(&format!("sizing in {}: {FILE}, {PAGE}, and a directory for each candidate", shown(&dir)));
    }
    Ok(if cut { code::INCOMPLETE } else { ended(&run.sizing) })
}

/// The first load of a search: production's own.
fn first(to: Option<Multiple>) -> Multiple {
    to.map_or(Multiple::ONE, |to| to.min(Multiple::ONE))
}

/// Refuses a target that is given twice, even by different names.
fn distinct(names: &[String]) -> Result<(), Failure> {
    let paths: Vec<String> =
        names.iter().filter(|name| !name.starts_with("sim:") && !name.starts_with("null:")).cloned().collect();
    targets::named(&paths)?;
    let twice = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name));
    match twice {
        Some((_, name)) => Err(Failure::usage(format!("{} is given twice; give each candidate once", one_line(name)))),
        None => Ok(()),
    }
}

fn fresh(args: &Size, production: &Production) -> Sizing {
    let drives = args.drives.unwrap_or_else(|| u32::try_from(production.drives.len()).unwrap_or(u32::MAX).max(1));
    Sizing {
        schema: SCHEMA,
        workload: production.workload.name.clone(),
        profile_blake3: production.sum(),
        targets: args.targets.clone(),
        drive: production.drive.clone(),
        demand: Demand { drives, growth: args.growth, headroom: args.headroom },
        watermarks: Vec::new(),
        candidates: Vec::new(),
    }
}

/// The exit code of a sizing that ended.
fn ended(sizing: &Sizing) -> u8 {
    let any = |what: fn(&Candidate) -> bool| sizing.candidates.iter().any(what);
    match (any(|one| one.holds.is_some()), any(Candidate::is_known)) {
        (true, _) => code::DONE,
        (false, true) => Verdict::Fail.exit_code(),
        (false, false) => Verdict::Invalid.exit_code(),
    }
}

/// A sizing in progress.
struct Run<'a> {
    args: &'a Size,
    search: Bounds,
    production: &'a Production,
    dir: &'a Path,
    sizing: Sizing,
}

/// The result of a candidate, and whether it was interrupted.
struct Tested {
    candidate: Candidate,
    watermarks: Vec<String>,
    cut: bool,
}

impl Run<'_> {
    /// Begins, or continues what an earlier command left, which must be of the same candidates. Candidates that were
    /// finished are read from their directories and not run again.
    fn begin(&self) -> Result<(), Failure> {
        if self.args.output.resume.is_some() {
            let task = |of: &Sizing| (of.profile_blake3.clone(), of.targets.clone());
            kept(&self.dir.join(FILE), |kept: &Sizing| task(kept) == task(&self.sizing))?;
        }
        self.keep()
    }

    /// One candidate after the other; true when the command was interrupted.
    fn all(&mut self, opened: Vec<Several<'_>>, progress: &mut Progress) -> Result<bool, Failure> {
        let of = opened.len();
        for (index, several) in opened.into_iter().enumerate() {
            let name = several.names[0].clone();
            progress.say(&format!("candidate {} of {of}: {}", index + 1, one_line(&name)));
            let directory = directory_of(index, &name);
            let tested = self.one(several, &self.dir.join(&directory), progress)?;
            let candidate = Candidate { directory, ..tested.candidate };
            self.sizing.add(candidate, &tested.watermarks);
            self.keep()?;
            if tested.cut {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Fits a candidate and searches its limit. A failure is reported in its row.
    fn one(&self, mut several: Several<'_>, dir: &Path, progress: &mut Progress) -> Result<Tested, Failure> {
        let (in_fit, in_limit) = (made(dir, FIT)?, made(dir, LIMIT)?);
        let resumed = in_fit.join(fitting::FILE).exists();
        let mut fitting = Fitting::begin(&several, self.production, self.args.aim.aim(), in_fit, resumed)?;
        let fitted = fitting.run(&mut several, self.production, progress).and_then(|_| fitting.fitted(self.production));
        if let Err(failure) = fitted {
            return Ok(self.tested(&fitting, None, Some(failure)));
        }
        if matches!(fitting.trail.outcome, Some(machine::Outcome::Stopped { .. })) {
            return Ok(self.tested(&fitting, None, None));
        }
        // Where nothing could be fitted, the device does not carry the load; the search with the unchanged profile
        // finds how much it does.
        let knobs = fitting.trail.result().map_or_else(|| self.production.knobs(), |round| round.knobs);
        several.now_runs(self.production.at(&knobs)?, self.args.pace.asked())?;
        let resumed = in_limit.join(searching::FILE).exists();
        let mut searching = Searching::begin(&several, self.search, in_limit, resumed)?;
        // Written before a kill is possible, because the next command finds the search at this path.
        searching.keep()?;
        let failure = searching.run(progress).err();
        Ok(self.tested(&fitting, Some(&searching), failure))
    }

    fn tested(&self, fitting: &Fitting, searching: Option<&Searching<'_>>, failure: Option<Failure>) -> Tested {
        let trail = &fitting.trail;
        let path = searching.map(Searching::path);
        let written = self.production.figures()[3];
        let failure = failure.map(|failure| failure.message().to_owned());
        failure.iter().for_each(|failure| tell(&format!("error: {failure}")));
        let candidate = Candidate { failure, ..Candidate::of(&self.sizing.demand, trail, path, written) };
        let watermarks = trail.watermarks.iter().chain(path.into_iter().flat_map(|path| &path.watermarks));
        let in_fit = matches!(trail.outcome, Some(machine::Outcome::Stopped { verdict: Verdict::Incomplete, .. }));
        let in_search = path
            .is_some_and(|path| matches!(path.outcome, Some(Outcome::Stopped { verdict: Verdict::Incomplete, .. })));
        Tested { candidate, watermarks: watermarks.cloned().collect(), cut: in_fit || in_search }
    }

    /// Writes the comparison so far; a failure to write the page does not end a sizing.
    fn keep(&self) -> Result<(), Failure> {
        keep(&self.dir.join(FILE), &self.sizing)?;
        page(&self.dir.join(PAGE), |text| html(&self.sizing, text)).unwrap_or_else(|failure| {
            tell(&format!("error: {}\n  = {FILE} beside it holds the comparison", failure.message()));
        });
        Ok(())
    }
}

/// The directory of a candidate, such as `01-dev-sdb`.
fn directory_of(index: usize, name: &str) -> String {
    let stem = rundir::safe(name);
    let stem: String = stem.trim_matches('-').chars().take(40).collect();
    format!("{:02}-{stem}", index + 1)
}

/// A directory below that of a candidate, created if needed.
fn made(dir: &Path, name: &str) -> Result<PathBuf, Failure> {
    let path = dir.join(name);
    let failed = |e| Failure::host(format!("the run directory {} cannot be made: {e}", shown(&path)));
    files::directory(dir).and_then(|()| files::directory(&path)).map_err(failed)?;
    Ok(path)
}
