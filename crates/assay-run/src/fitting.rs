//! A fit to production: the judge's state machine says what to move next in a profile, and this runs the rounds that it asks for,
//! each in a directory of its own, and keeps them in a file from which an interrupted fit continues.

use crate::failure::Failure;
use crate::kept::{below, keep, kept, page};
use crate::observer::Observer;
use crate::production::Production;
use crate::results;
use crate::several::Several;
use crate::targets::Named;
use assay_base::{Knobs, Multiple, Share, Span};
use assay_judge::Verdict;
use assay_judge::fit::{Expected, Fit as Machine, Goal, Measured, Next, Outcome, SCHEMA, Trail, Why, moved};
use std::path::{Path, PathBuf};

/// The file of the rounds and the result.
pub const FILE: &str = "fit.json";
/// The fitted workload.
pub const FITTED: &str = "fitted.toml";

/// When a fit is near enough, and when it gives up.
#[derive(Clone, Copy, Debug)]
pub struct Aim {
    /// Difference from production that is small enough.
    pub tolerance: Share,
    /// Most rounds.
    pub rounds: u8,
}

/// A fit, and where its rounds are kept.
#[derive(Debug)]
pub struct Fitting {
    aim: Aim,
    dir: PathBuf,
    block: u32,
    /// Its rounds so far.
    pub trail: Trail,
}

impl Fitting {
    /// Begins in `dir`, or continues with the rounds that an earlier fit left there.
    pub fn begin(
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
    pub fn run(
        &mut self,
        several: &mut Several<'_>,
        production: &Production,
        observer: &mut dyn Observer,
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
                    let mut workload = production.at(&knobs)?;
                    workload.verification.verify = false;
                    several.now_runs(workload, several.pace().clone())?;
                    self.one(several, &mut machine, knobs, observer)?;
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
        observer: &mut dyn Observer,
    ) -> Result<(), Failure> {
        let number = self.trail.rounds.len() + 1;
        observer.title(&format!("round {number}"));
        // Each round has another seed: noise that repeats must not be taken for a property of the device.
        let seed = self.trail.seed.wrapping_add(number as u64 - 1);
        let (judgement, at) = several.run(&self.dir, &format!("{number:02}"), (Multiple::ONE, seed), observer)?;
        machine.observe(knobs, Measured::of(&judgement));
        let figures = machine.compared(number);
        let agree = figures.iter().filter(|one| one.agrees()).count();
        observer.say(&format!("round {number}: {agree} of {} figures agree", figures.len()));
        let at = below(&self.dir, &at);
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
    pub fn fitted(&self, production: &Production) -> Result<Option<String>, Failure> {
        let Some(round) = self.trail.result() else { return Ok(None) };
        let text = production.text(&round.knobs, &self.head(production))?;
        page(&self.dir.join(FITTED), |out| out.write_str(&text))?;
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
        Named::Path(_) | Named::Database(_) => None,
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
