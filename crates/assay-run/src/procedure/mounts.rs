//! A suite of mounts: workloads for directories on each of several mounts, round by round, and once in memory as a ceiling.
//!
//! What a suite comes to is in the judge's room (`assay_judge::suite`); this file says what runs next, what the machine knows of a
//! mount, and stores the runs in `suite.json` after each one, from which an interrupted suite continues.

mod chosen;
mod earlier;
mod member;
mod named;

pub use chosen::ChosenWorkload;
pub use named::NamedMount;

use crate::failure::{Failure, one_line};
use crate::log::results;
use crate::observer::Observer;
use crate::procedure::kept::write_document;
use crate::procedure::runner::{self, FinishedRun, Series};
use crate::procedure::several::{PlannedRun, Several};
use assay_base::Multiple;
use assay_judge::procedure::{AfterFailure, Attempts, Evidence};
use assay_judge::suite::{LostMember, MOST_ROUNDS, Place, SCHEMA, Suite, SuiteComparison, SuiteWorkload};
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Name of the suite's file.
pub const FILE: &str = "suite.json";
/// Name of the page that shows it.
pub const PAGE: &str = "suite.html";
/// What is compared.
const COMPARED: &str = "mounts";
/// What stands in the name of a run in memory in the place of a mount's name.
const MEMORY: &str = "memory";

/// The targets of a suite, open.
#[derive(Debug)]
pub struct OpenedMounts<'a> {
    /// The mounts, each with the user's name for it.
    pub mounts: Vec<(NamedMount, Several<'a>)>,
    /// A directory in memory, or why there is none.
    pub memory: Result<Several<'a>, Failure>,
}

impl<'a> OpenedMounts<'a> {
    /// The sets of targets in the order of the suite's members, memory last.
    fn all(&self) -> Vec<&Several<'a>> {
        let mounts = self.mounts.iter().map(|(_, several)| several);
        mounts.chain(self.memory.as_ref().ok()).collect()
    }
}

/// The choices of the user.
#[derive(Clone, Debug)]
pub struct SuiteChoices {
    /// The workloads, each with its pace.
    pub workloads: Vec<ChosenWorkload>,
    /// Number of rounds.
    pub rounds: u32,
    /// The load of every run.
    pub load: Multiple,
    /// Whether mounts of different classes are compared in one table.
    pub anyway: bool,
}

/// The document of a suite: what was measured, and what it comes to.
#[derive(Debug, Serialize)]
pub struct SuiteDocument<'a> {
    /// What was measured; a suite is continued from this alone.
    #[serde(flatten)]
    pub suite: &'a Suite,
    /// What it comes to.
    pub comparison: SuiteComparison,
}

impl<'a> SuiteDocument<'a> {
    /// The document of a suite as it is now.
    pub fn new(suite: &'a Suite) -> SuiteDocument<'a> {
        SuiteDocument { suite, comparison: suite.compare() }
    }
}

/// Which runs are made now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    InMemory,
    Rounds,
}

/// A suite of mounts, and where it is stored.
#[derive(Debug)]
pub struct MountSuite<'a> {
    opened: &'a OpenedMounts<'a>,
    choices: SuiteChoices,
    suite: Suite,
    stage: Stage,
    /// The runs on mounts.
    attempts: Attempts<Place>,
    /// The runs in memory: they decide nothing.
    attempts_in_memory: Attempts<Place>,
    /// Workloads that do not run in memory.
    left_out: Vec<Place>,
    /// Members on which a run could not even begin.
    unreachable: BTreeSet<usize>,
    dir: PathBuf,
}

impl<'a> MountSuite<'a> {
    /// Begins in `dir` the suite that was planned, or continues the one that an earlier call left there.
    ///
    /// # Errors
    /// Usage: what is there is another suite.
    pub fn begin_or_resume(
        opened: &'a OpenedMounts<'a>,
        choices: SuiteChoices,
        fresh: Suite,
        dir: &Path,
        resumed: bool,
    ) -> Result<MountSuite<'a>, Failure> {
        results::check_replaceable(dir, &[FILE, PAGE])?;
        let asks_for_a_seed = opened.mounts.first().is_some_and(|(_, several)| several.asks_for_a_seed());
        let suite = if resumed { earlier::read_suite(&dir.join(FILE), &fresh, asks_for_a_seed)? } else { fresh };
        let attempts = Attempts::new(AfterFailure::GoOn);
        let mut this = MountSuite {
            opened,
            choices,
            suite,
            stage: Stage::InMemory,
            attempts_in_memory: attempts.clone(),
            attempts,
            left_out: Vec::new(),
            unreachable: BTreeSet::new(),
            dir: dir.to_path_buf(),
        };
        runner::add_earlier_runs_on(&opened.all(), &mut this, dir)?;
        Ok(this)
    }

    /// The number of runs that are left to make.
    pub fn runs_left(&self) -> usize {
        let in_memory = if self.opened.memory.is_ok() { self.suite.places_in_memory() } else { Vec::new() };
        self.attempts.count_open_places(&self.suite.places_of_rounds())
            + self.attempts_in_memory.count_open_places(&in_memory)
    }

    /// Makes the runs that are left, or until no further run is made. Returns what was measured in any case, and why it ended
    /// before its end.
    pub fn run_suite(mut self, observer: &mut dyn Observer) -> (Suite, Result<(), Failure>) {
        let ended = self.run_stages(observer);
        (self.suite, ended)
    }

    fn run_stages(&mut self, observer: &mut dyn Observer) -> Result<(), Failure> {
        let (opened, dir) = (self.opened.all(), self.dir.clone());
        self.run_in_memory(&opened, observer)?;
        if self.attempts_in_memory.was_cut_short() {
            return Ok(());
        }
        self.stage = Stage::Rounds;
        runner::carry_out_on(&opened, self, &dir, observer)
    }

    /// Makes the runs in memory. They are only a ceiling: where one cannot be made, the suite goes on without it.
    ///
    /// # Errors
    /// A signal ended it.
    fn run_in_memory(&mut self, opened: &[&Several<'_>], observer: &mut dyn Observer) -> Result<(), Failure> {
        if let Err(why) = &self.opened.memory {
            self.add_remark(format!("no ceiling by memory: {}", why.user_message()), observer);
            return Ok(());
        }
        let dir = self.dir.clone();
        while let Some(place) = self.next() {
            let Err(why) = runner::carry_out_on(opened, self, &dir, observer) else { continue };
            if opened.iter().any(|several| several.was_asked_to_stop()) {
                return Err(why);
            }
            let failed = self.next().unwrap_or(place);
            let workload = self.suite.workloads[failed.workload].name.clone();
            self.left_out.push(failed);
            self.add_remark(format!("no ceiling by memory for {workload}: {}", why.user_message()), observer);
        }
        Ok(())
    }

    fn add_lost_member(&mut self, member: usize, place: Place, why: String, observer: &mut dyn Observer) {
        let lost = LostMember { label: self.suite.members[member].label.clone(), place, why };
        observer.warn_user(&one_line(self.suite.loss_in_words(&lost)).to_string());
        self.forget_loss(member);
        self.suite.lost.push(lost);
    }

    /// A later run was made on a member, or it was lost once more.
    fn forget_loss(&mut self, member: usize) {
        let label = &self.suite.members[member].label;
        self.suite.lost.retain(|lost| lost.label != *label);
    }

    fn add_remark(&mut self, remark: String, observer: &mut dyn Observer) {
        observer.say_line(&one_line(&remark).to_string());
        if !self.suite.remarks.contains(&remark) {
            self.suite.remarks.push(remark);
        }
    }

    fn attempts_at(&mut self, place: Option<&Place>) -> &mut Attempts<Place> {
        if place.is_some_and(|place| place.member.is_none()) {
            &mut self.attempts_in_memory
        } else {
            &mut self.attempts
        }
    }

    /// Puts a run into the suite if it is the one that decides at its place.
    fn add_decisive_run(&mut self, place: Place, directory: &str, made: &FinishedRun) {
        let decides =
            |attempts: &Attempts<Place>| attempts.deciding_run(&place).is_some_and(|run| run.directory == directory);
        if decides(self.attempts_at(Some(&place))) {
            self.suite.add_run(place, &made.judgement, directory.to_owned());
        }
        self.suite.aside = self.attempts.failed_and_repeated_runs();
    }

    /// The place of the run in a directory, as its name says it.
    fn place_of_directory(&self, directory: &str) -> Option<Place> {
        // Also of rounds that are not asked for any more: what failed in them is not forgotten.
        let places = [self.suite.places_in_memory(), self.suite.places_of_first(MOST_ROUNDS)].concat();
        runner::place_named(&places, directory, |place| directory_of(&self.suite, *place))
    }
}

impl Series for MountSuite<'_> {
    type Place = Place;

    fn next(&self) -> Option<Place> {
        match self.stage {
            Stage::Rounds => {
                let mut places = self.suite.places_of_rounds();
                places.retain(|place| place.member.is_none_or(|member| !self.unreachable.contains(&member)));
                self.attempts.next_apart(&places, |ended, place| ended.member == place.member)
            }
            Stage::InMemory => {
                let mut places = self.suite.places_in_memory();
                places.retain(|place| !self.left_out.contains(place));
                self.attempts_in_memory.next_of(&places)
            }
        }
    }

    fn plan_run(&self, _several: &Several<'_>, place: &Place) -> Result<PlannedRun, Failure> {
        let ChosenWorkload { workload, pace } = &self.choices.workloads[place.workload];
        Ok(PlannedRun {
            name: directory_of(&self.suite, *place),
            title: self.suite.place_in_words(*place),
            workload: workload.clone(),
            pace: pace.clone(),
            load: self.choices.load,
            // All mounts do the same in a round, and something else in the next one.
            seed: self.suite.seed.wrapping_add(u64::from(place.round.saturating_sub(1))),
        })
    }

    fn targets_of_run(&self, directory: &str) -> Option<usize> {
        let place = self.place_of_directory(directory)?;
        Some(place.member.unwrap_or(self.opened.mounts.len()))
    }

    fn known_runs(&self) -> Vec<(Place, Evidence)> {
        self.suite.known_runs().collect()
    }

    fn known_failures(&self) -> Vec<Evidence> {
        self.suite.aside.failures.clone()
    }

    fn place_of(&self, made: &FinishedRun) -> Option<Place> {
        self.place_of_directory(&made.evidence.directory)
    }

    fn add_earlier_run(&mut self, place: Option<Place>, evidence: Evidence, made: Option<&FinishedRun>) {
        let directory = evidence.directory.clone();
        self.attempts_at(place.as_ref()).add_earlier_run(place, evidence);
        if let (Some(place), Some(made)) = (place, made) {
            self.add_decisive_run(place, &directory, made);
        }
        self.suite.aside = self.attempts.failed_and_repeated_runs();
    }

    fn observe_run(&mut self, place: Place, evidence: Evidence, made: &FinishedRun, observer: &mut dyn Observer) {
        let (verdict, directory) = (evidence.verdict, evidence.directory.clone());
        self.attempts_at(Some(&place)).add_run(place, evidence);
        self.add_decisive_run(place, &directory, made);
        let run = self.suite.runs.iter().find(|run| run.place == place);
        let rate = run.and_then(|run| run.figures.rate).map_or_else(String::new, |rate| format!(", {rate:.1}/s"));
        observer.say_line(&format!("{}: {verdict}{rate}", self.suite.place_in_words(place)));
        let is_lost = self.attempts.ended_for_good().any(|(ended, _)| *ended == place);
        match place.member {
            Some(member) if is_lost => self.add_lost_member(member, place, made.evidence.reason.clone(), observer),
            Some(member) => self.forget_loss(member),
            None => {}
        }
    }

    /// A mount on which no run can begin is lost; the others go on. Where no mount is left, the suite ends with the failure.
    fn observe_unmade_run(&mut self, place: &Place, why: Failure, observer: &mut dyn Observer) -> Result<(), Failure> {
        let Some(member) = place.member.filter(|_| self.stage == Stage::Rounds) else { return Err(why) };
        self.unreachable.insert(member);
        self.add_lost_member(member, *place, why.user_message().to_owned(), observer);
        let is_any_left = self.opened.mounts.len() > self.unreachable.len();
        if is_any_left { self.write_document() } else { Err(why) }
    }

    fn write_document(&self) -> Result<(), Failure> {
        write_document(&self.dir.join(FILE), &SuiteDocument::new(&self.suite))
    }
}

/// A suite without runs; nothing is made.
///
/// # Errors
/// Usage: two runs would have the same directory. Workload: one cannot be run in this way, such as with a load.
pub fn plan_suite(opened: &OpenedMounts<'_>, choices: &SuiteChoices) -> Result<Suite, Failure> {
    let (_, first) = opened.mounts.first().ok_or_else(|| Failure::internal_bug("a suite without mounts"))?;
    let mut suite = Suite {
        schema: SCHEMA,
        compared: COMPARED.to_owned(),
        members: opened.mounts.iter().map(|(mount, several)| member::describe_mount(mount, several)).collect(),
        workloads: Vec::new(),
        rounds: choices.rounds,
        seed: first.plan.load.seed,
        anyway: choices.anyway,
        remarks: member::same_mounts_in_words(&opened.mounts),
        lost: Vec::new(),
        watermarks: Vec::new(),
        runs: Vec::new(),
        aside: assay_judge::procedure::Aside::default(),
    };
    for chosen in &choices.workloads {
        let ChosenWorkload { workload, pace } = chosen;
        let planned = PlannedRun {
            name: String::new(),
            title: String::new(),
            workload: workload.clone(),
            pace: pace.clone(),
            load: choices.load,
            seed: suite.seed,
        };
        suite.workloads.push(SuiteWorkload {
            name: workload.name.clone(),
            plan_blake3: first.checksum_of_run(&planned)?,
            length: chosen.length_in_words(),
            cache: workload.load.as_files().map_or_else(String::new, |files| files.workload.cache.to_string()),
        });
    }
    refuse_same_directories(&suite)?;
    Ok(suite)
}

/// Name of the directory of a run. The number of a repetition follows it, and no other name ends with `round-` and a number.
fn directory_of(suite: &Suite, place: Place) -> String {
    let label = place.member.map_or(MEMORY, |member| suite.members[member].label.as_str());
    let workload = crate::log::rundir::safe_file_name(&suite.workloads[place.workload].name);
    format!("{label}-{workload}-round-{}", place.round)
}

/// Refuses names by which two runs would have the same directory.
fn refuse_same_directories(suite: &Suite) -> Result<(), Failure> {
    let mut names = BTreeSet::new();
    for place in [suite.places_in_memory(), suite.places_of_rounds()].concat() {
        let name = directory_of(suite, place);
        if names.contains(&name) {
            return Err(Failure::bad_usage(format!(
                "two runs would have the directory {name}: give the mounts or the workloads other names"
            )));
        }
        names.insert(name);
    }
    Ok(())
}
