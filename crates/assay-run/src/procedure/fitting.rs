//! A fit to production: the judge's state machine says what to move next in a profile, and this runs the rounds that it asks for,
//! each in a directory of its own, and keeps them in a file from which an interrupted fit continues. A round that was complete when
//! the program was killed, and was not in that file yet, is run again unless something failed in it: no log says with which
//! knobs it ran.

use crate::failure::Failure;
use crate::log::results;
use crate::observer::Observer;
use crate::open::targets::Named;
use crate::procedure::kept::{read_document, write_document, write_page};
use crate::procedure::runner::{self, FinishedRun, Series};
use crate::procedure::several::{PlannedRun, Several};
use crate::workloads::production::{Production, ProductionLoad};
use assay_base::{Knobs, Multiple, Share, Span};
use assay_judge::fit::{Fit as Machine, Goal, Measured, Next, Outcome, SCHEMA, Trail, Why, moved_knobs_text};
use assay_judge::procedure::{Aside, Evidence};
use std::collections::BTreeMap;
use std::fmt;
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
pub struct Fitting<'a> {
    production: &'a Production,
    dir: PathBuf,
    machine: Machine<ProductionLoad<'a>>,
    /// The counts of the rounds that the file had, by their directories.
    counts: BTreeMap<String, Measured>,
    /// Its rounds so far.
    pub trail: Trail,
}

impl fmt::Debug for Fitting<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fitting({:?}, {:?})", self.dir, self.trail)
    }
}

impl<'a> Fitting<'a> {
    /// Begins in `dir`, or continues with the rounds that an earlier fit left there.
    pub fn begin_or_resume(
        several: &Several<'_>,
        production: &'a Production,
        aim: Aim,
        dir: PathBuf,
        resumed: bool,
    ) -> Result<Fitting<'a>, Failure> {
        results::check_replaceable(&dir, &[FILE, FITTED])?;
        let fresh = Trail {
            schema: SCHEMA,
            workload: several.plan.name.clone(),
            profile_blake3: production.profile_checksum(),
            drive: production.drive.clone(),
            target: several.names[0].clone(),
            device: None,
            size_bytes: None,
            round_ns: several.plan.timing.measured_length().as_ns(),
            seed: several.plan.load.seed,
            tolerance: aim.tolerance.as_f64(),
            rounds_max: usize::from(aim.rounds),
            watermarks: Vec::new(),
            notes: initial_notes(several, production),
            outcome: None,
            rounds: Vec::new(),
            aside: Aside::default(),
        };
        let mut trail = if resumed { read_earlier(&dir, &fresh, several)? } else { fresh };
        trail.outcome = None;
        let goal = Goal {
            production: production.drive_figures(),
            tolerance: aim.tolerance.as_f64(),
            rounds: usize::from(aim.rounds),
        };
        let machine = Machine::start(
            production.load_for_block_size(several.first_geometry().block),
            goal,
            production.profile_knobs(),
        );
        let counts = trail.known_rounds().map(|(_, measured, run)| (run.directory, measured)).collect();
        let mut fitting = Fitting { production, dir: dir.clone(), machine, counts, trail };
        runner::add_earlier_runs(several, &mut fitting, &dir)?;
        fitting.note_noise();
        Ok(fitting)
    }

    /// Runs the fit to its end.
    pub fn run_fit(&mut self, several: &Several<'_>, observer: &mut dyn Observer) -> Result<Outcome, Failure> {
        let dir = self.dir.clone();
        runner::carry_out(several, self, &dir, observer)?;
        let outcome = match self.machine.next() {
            Next::Done(outcome) => outcome,
            Next::RunAt(_) => return Err(Failure::internal_bug("a fit that ended before it was done")),
        };
        self.trail.outcome = Some(outcome.clone());
        self.note_split_requests(&outcome, several);
        self.note_uncounted(&outcome);
        several.tell_if_lost(self.write_document());
        Ok(outcome)
    }

    /// Adds a note where rounds are so short that counting noise decides.
    fn note_noise(&mut self) {
        let quiet = self.machine.quiet_seconds();
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
    fn note_split_requests(&mut self, outcome: &Outcome, several: &Several<'_>) {
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

    /// Says what is offered that the profile does not count.
    fn note_uncounted(&mut self, outcome: &Outcome) {
        let round = outcome.resulting_round().and_then(|round| self.trail.rounds.get(round.checked_sub(1)?));
        let note = round.and_then(|round| self.production.describe_uncounted(&round.knobs));
        self.trail.notes.extend(note.filter(|note| !self.trail.notes.contains(note)));
    }

    /// Lists a round that the machine has taken, with what its log says.
    fn list_round(&mut self, knobs: Knobs, made: &FinishedRun) {
        let figures = self.machine.comparison_table(self.machine.round_count());
        self.trail.add_round(knobs, &made.judgement, figures, made.evidence.directory.clone());
    }

    fn update_aside(&mut self) {
        self.trail.aside = self.machine.failed_and_repeated_rounds();
    }

    /// The text of the fitted workload, also written to the directory; `None` where nothing could be compared.
    pub fn fitted_text(&self) -> Result<Option<String>, Failure> {
        let Some(round) = self.trail.resulting_round() else { return Ok(None) };
        let text = self.production.fitted_text(&round.knobs, &self.comment_lines())?;
        write_page(&self.dir.join(FITTED), |out| out.write_str(&text))?;
        Ok(Some(text))
    }

    /// The changes and their reasons, as lines of comment.
    fn comment_lines(&self) -> Vec<String> {
        let Some(round) = self.trail.resulting_round() else { return Vec::new() };
        let production = self.production;
        let device = self.trail.device.as_deref().unwrap_or(&self.trail.target);
        let drive = if production.drive.is_empty() { "the drive" } else { &production.drive };
        let mut lines = vec![format!("Fitted to {drive} of production by `assay fit`, on"), format!("  {device}")];
        lines.push(if production.profile_knobs() == round.knobs {
            "  no knob had to be changed".to_owned()
        } else {
            format!("  {}", moved_knobs_text(&production.profile_knobs(), &round.knobs))
        });
        for one in &round.figures {
            let unit = if one.figure.is_bytes() { 1024.0 } else { 1.0 };
            let agrees = if one.agrees() { "" } else { ", which does not agree" };
            lines.push(format!(
                "  {:6} {:.1} in production, {:.1} here ({:+.2}%{agrees})",
                one.figure.iostat_name(),
                one.production / unit,
                one.measured / unit,
                one.difference * 100.0
            ));
        }
        lines
    }
}

impl Series for Fitting<'_> {
    type Place = Knobs;

    fn next(&self) -> Option<Knobs> {
        match self.machine.next() {
            Next::RunAt(knobs) => Some(knobs),
            Next::Done(_) => None,
        }
    }

    fn plan_run(&self, several: &Several<'_>, knobs: &Knobs) -> Result<PlannedRun, Failure> {
        let number = self.trail.rounds.len() + 1;
        // What is read back would be counted as load.
        let mut workload = self.production.workload_at(knobs)?;
        workload.verification.verify = false;
        Ok(PlannedRun {
            name: format!("{number:02}"),
            title: format!("round {number}"),
            workload,
            pace: several.run_pace().clone(),
            load: Multiple::ONE,
            // Each round has another seed: noise that repeats must not be taken for a property of the device.
            seed: self.trail.seed.wrapping_add(number as u64 - 1),
        })
    }

    fn known_failures(&self) -> Vec<Evidence> {
        self.trail.aside.failures.clone()
    }

    fn known_runs(&self) -> Vec<(Knobs, Evidence)> {
        self.trail.known_rounds().map(|(knobs, _, evidence)| (knobs, evidence)).collect()
    }

    fn place_of(&self, _: &FinishedRun) -> Option<Knobs> {
        None
    }

    fn add_earlier_run(&mut self, knobs: Option<Knobs>, evidence: Evidence, made: Option<&FinishedRun>) {
        let known = self.counts.get(&evidence.directory).cloned();
        let measured = made.map(|made| Measured::from_judgement(&made.judgement)).or(known);
        match (knobs, measured) {
            (Some(knobs), Some(measured)) => {
                self.machine.add_earlier_run(knobs, measured, evidence);
                if let Some(made) = made {
                    self.list_round(knobs, made);
                }
            }
            _ => self.machine.take_over_unknown(evidence),
        }
        self.update_aside();
    }

    fn observe_run(&mut self, knobs: Knobs, evidence: Evidence, made: &FinishedRun, observer: &mut dyn Observer) {
        self.machine.add_run(knobs, Measured::from_judgement(&made.judgement), evidence);
        self.list_round(knobs, made);
        let number = self.machine.round_count();
        let figures = self.machine.comparison_table(number);
        let agree = figures.iter().filter(|one| one.agrees()).count();
        observer.say_line(&format!("round {number}: {agree} of {} figures agree", figures.len()));
        self.update_aside();
    }

    fn write_document(&self) -> Result<(), Failure> {
        write_document(&self.dir.join(FILE), &self.trail)
    }
}

/// Notes that hold from the start.
fn initial_notes(several: &Several<'_>, production: &Production) -> Vec<String> {
    let mut notes = production.reader_notes();
    let own = match several.first_target() {
        Named::Simulated(_) => {
            Some("a simulated device takes every request as it is: what it completed is its counter")
        }
        Named::Null(_) => Some("a null target takes every request as it is: what it completed is its counter"),
        Named::Path(path) if path.is_file() => Some(
            "the target is a file, and the counters of the device beneath it are of its whole file system: requests are counted as they are issued, and splitting and merging below is not seen",
        ),
        Named::Path(_) | Named::Database(_) | Named::Directory(_) => None,
    };
    notes.extend(own.map(str::to_owned));
    notes
}

/// The rounds that an earlier fit left, which must be of the same fit.
fn read_earlier(dir: &Path, ours: &Trail, several: &Several<'_>) -> Result<Trail, Failure> {
    let asked_seed = several.asks_for_a_seed();
    let trail = read_document(&dir.join(FILE), |kept: &Trail| {
        kept.profile_blake3 == ours.profile_blake3
            && kept.target == ours.target
            && kept.round_ns == ours.round_ns
            && (!asked_seed || kept.seed == ours.seed)
    })?;
    // The number of rounds and the tolerance may differ from those before.
    Ok(Trail { tolerance: ours.tolerance, rounds_max: ours.rounds_max, ..trail })
}
