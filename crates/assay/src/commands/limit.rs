//! `assay limit`: the highest load that still passes.
//!
//! The search is a state machine of the judge's crate; this file runs what the search asks for, each load in a
//! directory of its own below the run directory, and stores the path in `limit.json`, from which an interrupted search
//! continues, and for people in `limit.html`.

use super::several::{Several, keep, kept};
use crate::args::{self, Access, Judged, Output, Pace, Subject};
use crate::progress::Progress;
use crate::screen::tell;
use crate::stdout::{print_json, show};
use assay_base::{Multiple, Span};
use assay_judge::limit::{Next, Outcome, Run, SCHEMA, Search, Trail, html};
use assay_judge::{Verdict, for_a_shell};
use assay_run::failure::{Failure, one_line, shown};
use assay_run::files;
use assay_run::results;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// `assay limit`
#[derive(clap::Args, Debug)]
pub(crate) struct Limit {
    #[command(flatten)]
    pub subject: Subject,
    #[command(flatten)]
    pub search: args::Search,
    #[command(flatten)]
    pub pace: Pace,
    #[command(flatten)]
    pub judged: Judged,
    #[command(flatten)]
    pub access: Access,
    #[command(flatten)]
    pub output: Output,
}

/// Length of the longest bar, in characters.
const BAR: usize = 40;

/// Searches, shows the path, and leaves it in the run directory. The exit code is 0 when a load that passes was found,
/// 10 when even the lowest fails, otherwise that of the run that proved nothing.
pub(crate) fn limit(args: &Limit) -> Result<u8, Failure> {
    beginning(&args.search)?;
    let task = &args.subject;
    let several = Several::open("limit", task, (&args.pace, &args.judged), &args.access, &args.output)?;
    let dir = several.directory()?;
    let mut progress = Progress::new(false);
    progress.say(&several.length());
    let mut searching = Searching::begin(&several, &args.search, dir.clone(), args.output.resume.is_some())?;
    let outcome = searching.run(&mut progress)?;
    if args.output.json {
        print_json(&searching.path)?;
    } else {
        show(&searching.text(outcome).map_err(|_| Failure::bug("a path that cannot be shown"))?);
        if matches!(outcome, Outcome::Stopped { verdict: Verdict::Incomplete, .. }) {
            let typed = for_a_shell(&dir.to_string_lossy());
            progress.say(&format!("cut short; go on with the same command and --resume {typed}"));
        }
        progress.say(&format!("path in {}: {FILE}, {PAGE}, and a run directory for each load", shown(&dir)));
    }
    Ok(code(outcome))
}

/// The load of the first run, unless an option says otherwise.
const BEGINNING: Multiple = Multiple::whole(10);

/// The load of the first run.
pub(crate) fn beginning(search: &args::Search) -> Result<Multiple, Failure> {
    match (search.from, search.to) {
        (Some(from), Some(to)) if from > to => {
            Err(Failure::usage(format!("--to {to} is below --from {from}, where the search begins")))
        }
        (Some(from), _) => Ok(from),
        (None, Some(to)) if to < BEGINNING => Ok(to),
        (None, _) => Ok(BEGINNING),
    }
}

/// The exit code of a search.
pub(crate) fn code(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Between { .. } | Outcome::NeverFailed { .. } => assay_run::failure::code::DONE,
        Outcome::NeverPassed { .. } => Verdict::Fail.exit_code(),
        Outcome::Stopped { verdict, .. } => verdict.exit_code(),
    }
}

/// Name of the path's file; the page's name follows from it.
pub(crate) const FILE: &str = "limit.json";
const PAGE: &str = "limit.html";

/// A search, and where its path is stored.
pub(crate) struct Searching<'a> {
    several: &'a Several<'a>,
    search: &'a args::Search,
    dir: PathBuf,
    path: Trail,
}

impl<'a> Searching<'a> {
    /// Begins in `dir`, or continues the path that an earlier search left there.
    pub(crate) fn begin(
        several: &'a Several<'a>,
        search: &'a args::Search,
        dir: PathBuf,
        resumed: bool,
    ) -> Result<Searching<'a>, Failure> {
        let fresh = Trail {
            schema: SCHEMA,
            workload: several.plan.name.clone(),
            targets: several.names.clone(),
            devices: Vec::new(),
            run_ns: several.plan.measured().as_ns(),
            seed: several.plan.seed,
            plan_blake3: Some(several.plan_sum.clone()),
            watermarks: Vec::new(),
            outcome: None,
            runs: Vec::new(),
        };
        results::replaceable(&dir, &[FILE, PAGE])?;
        let path = if resumed { earlier(&dir, several)? } else { fresh };
        let mut searching = Searching { several, search, dir, path };
        if resumed {
            searching.take_in_failed()?;
        }
        Ok(searching)
    }

    /// The path so far.
    pub(crate) fn path(&self) -> &Trail {
        &self.path
    }

    /// If the search was killed after a load had failed by its log, that load counts as failed.
    fn take_in_failed(&mut self) -> Result<(), Failure> {
        let known: Vec<&Path> = self.path.runs.iter().map(|run| run.directory.as_path()).collect();
        let failed = self.several.failed_unkept(&self.dir, &known);
        failed.into_iter().for_each(|(load, judgement, dir)| self.path.add(load, &judgement, dir));
        self.keep()
    }

    /// Searches to the end.
    pub(crate) fn run(&mut self, progress: &mut Progress) -> Result<Outcome, Failure> {
        let args::Search { to, resolution, .. } = *self.search;
        let search = Search::start(beginning(self.search)?, resolution).resume(self.path.observations());
        let mut search = match to {
            Some(to) => search.up_to(to),
            None => search,
        };
        loop {
            match search.next() {
                Next::RunAt(multiple) => {
                    let verdict = self.one(multiple, progress)?;
                    search.observe(multiple, verdict);
                }
                Next::Done(outcome) => {
                    self.path.outcome = Some(outcome);
                    self.keep()?;
                    return Ok(outcome);
                }
            }
        }
    }

    /// One run of the path.
    fn one(&mut self, multiple: Multiple, progress: &mut Progress) -> Result<Verdict, Failure> {
        let number = self.path.runs.len() + 1;
        progress.title(&format!("run {number}"));
        let name = format!("{number:02}-{multiple}");
        let (judgement, dir) = self.several.run(&self.dir, &name, (multiple, self.path.seed), progress)?;
        progress.say(&format!("run {number}: {multiple} {}", judgement.verdict));
        self.path.add(multiple, &judgement, dir);
        self.keep()?;
        Ok(judgement.verdict)
    }

    /// A search continues from the path; the page only shows it, so the search does not end if it cannot be written.
    pub(crate) fn keep(&self) -> Result<(), Failure> {
        keep(&self.dir.join(FILE), &self.path)?;
        let mut page = String::new();
        html(&self.path, &mut page).map_err(|_| Failure::bug("a path that cannot be shown"))?;
        let file = self.dir.join(PAGE);
        files::replace(&file, page.as_bytes()).unwrap_or_else(|e| {
            tell(&format!("error: {} cannot be written: {e}\n  = {FILE} beside it holds the path", shown(&file)));
        });
        Ok(())
    }

    /// The path as a table in the order of the runs, and as bars in the order of the loads.
    fn text(&self, outcome: Outcome) -> Result<String, std::fmt::Error> {
        let mut out = String::new();
        writeln!(out, "{outcome}")?;
        writeln!(
            out,
            "{} on {}, {} a run\n",
            one_line(&self.path.workload),
            one_line(self.path.targets.join(", ")),
            Span::from_ns(self.path.run_ns)
        )?;
        writeln!(out, "run       load  verdict     response p99  measured")?;
        let p99 = |run: &Run| run.response_p99_ns.map_or_else(|| "-".into(), |ns| Span::from_ns(ns).human());
        for (index, run) in self.path.runs.iter().enumerate() {
            let measured = one_line(run.measured.as_deref().filter(|_| run.proves()).unwrap_or(&run.reason));
            writeln!(
                out,
                "{:>3}  {:>9}  {:10}  {:>12}  {measured}",
                index + 1,
                run.load.to_string(),
                run.verdict.to_string(),
                p99(run)
            )?;
        }
        let mut sorted: Vec<&Run> = self.path.runs.iter().collect();
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
}

/// The path that an earlier search left, which must belong to the same search.
fn earlier(dir: &Path, several: &Several<'_>) -> Result<Trail, Failure> {
    let trail = kept(&dir.join(FILE), |kept: &Trail| {
        several.goes_on((&kept.workload, &kept.targets), kept.run_ns, kept.plan_blake3.as_deref(), kept.seed)
    })?;
    several.same_targets(dir)?;
    Ok(trail)
}
