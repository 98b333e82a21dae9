//! The search for the highest load that passes: the judge's state machine says which load to try next. Each load is a run in a
//! directory of its own; the path is kept in a file from which an interrupted search continues, and on a page.

use crate::failure::Failure;
use crate::log::results;
use crate::observer::Observer;
use crate::procedure::kept::{read_document, write_document, write_page};
use crate::procedure::runner::{self, FinishedRun, Series};
use crate::procedure::several::{PlannedRun, Several};
use assay_base::Multiple;
use assay_judge::limit::{Next, Outcome, SCHEMA, Search, TilesFound, Trail, write_html};
use assay_judge::procedure::{Aside, Evidence};
use std::path::PathBuf;

/// The bounds of a search for the highest load that passes.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Load of the first run.
    pub from: Option<Multiple>,
    /// Highest load to try.
    pub to: Option<Multiple>,
    /// The search ends when the loads that pass and fail are this close; what the workload says where it is `None`.
    pub resolution: Option<Multiple>,
}

impl Bounds {
    /// The search between them, before its first run.
    fn begin_search(&self, several: &Several<'_>) -> Result<Search, Failure> {
        let (usual, exact) = several.plan.load.search_start_and_exactness();
        let search = Search::start(first_load(self, usual)?, self.resolution.unwrap_or(exact));
        // Each tile is judged, and by chance one of many may break: the number that holds is tried twice.
        let search = if several.plan.load.tiles().is_some() { search.with_repetition() } else { search };
        Ok(match self.to {
            Some(to) => search.up_to(to),
            None => search,
        })
    }
}

/// The load of the first run; `usual` unless an option says otherwise.
pub fn first_load(search: &Bounds, usual: Multiple) -> Result<Multiple, Failure> {
    match (search.from, search.to) {
        (Some(from), Some(to)) if from > to => {
            Err(Failure::bad_usage(format!("--to {to} is below --from {from}, where the search begins")))
        }
        (Some(from), _) => Ok(from),
        (None, Some(to)) if to < usual => Ok(to),
        (None, _) => Ok(usual),
    }
}

/// Name of the path's file; the page's name follows from it.
pub const FILE: &str = "limit.json";
/// Name of the page that shows it.
pub const PAGE: &str = "limit.html";

/// A search, and where its path is stored.
#[derive(Debug)]
pub struct Searching<'a> {
    several: &'a Several<'a>,
    search: Search,
    dir: PathBuf,
    path: Trail,
}

impl<'a> Searching<'a> {
    /// Begins in `dir`, or continues what an earlier search left there.
    pub fn begin_or_resume(
        several: &'a Several<'a>,
        bounds: Bounds,
        dir: PathBuf,
        resumed: bool,
    ) -> Result<Searching<'a>, Failure> {
        let fresh = Trail {
            schema: SCHEMA,
            workload: several.plan.name.clone(),
            targets: several.names.clone(),
            devices: Vec::new(),
            run_ns: several.plan.timing.measured_length().as_ns(),
            seed: several.plan.load.seed,
            plan_blake3: Some(several.plan_sum.clone()),
            watermarks: Vec::new(),
            deviations: Vec::new(),
            counted: several.plan.load.load_unit(),
            tiles: several.plan.load.tiles().map(|_| TilesFound::default()),
            outcome: None,
            runs: Vec::new(),
            aside: Aside::default(),
        };
        results::check_replaceable(&dir, &[FILE, PAGE])?;
        let path = if resumed {
            read_document(&dir.join(FILE), |kept: &Trail| {
                several.is_of_same_task(
                    &kept.workload,
                    &kept.targets,
                    kept.run_ns,
                    kept.plan_blake3.as_deref(),
                    kept.seed,
                )
            })?
        } else {
            fresh
        };
        let search = bounds.begin_search(several)?;
        let mut searching = Searching { several, search, dir: dir.clone(), path };
        runner::add_earlier_runs(several, &mut searching, &dir)?;
        Ok(searching)
    }

    /// The path so far.
    pub fn path_so_far(&self) -> &Trail {
        &self.path
    }

    /// Searches to the end.
    pub fn run_search(&mut self, observer: &mut dyn Observer) -> Result<Outcome, Failure> {
        let (several, dir) = (self.several, self.dir.clone());
        runner::carry_out(several, self, &dir, observer)?;
        let outcome = match self.search.next() {
            Next::Done(outcome) => outcome,
            Next::RunAt(_) => return Err(Failure::internal_bug("a search that ended before it was done")),
        };
        self.path.outcome = Some(outcome);
        self.path.note_tiles_found();
        several.tell_if_lost(self.write_document());
        Ok(outcome)
    }

    fn update_aside(&mut self) {
        self.path.aside = self.search.failed_and_repeated_runs();
    }
}

impl Series for Searching<'_> {
    type Place = Multiple;

    fn next(&self) -> Option<Multiple> {
        match self.search.next() {
            Next::RunAt(load) => Some(load),
            Next::Done(_) => None,
        }
    }

    fn plan_run(&self, several: &Several<'_>, load: &Multiple) -> Result<PlannedRun, Failure> {
        let number = self.path.runs.len() + 1;
        Ok(PlannedRun {
            name: format!("{number:02}-{load}"),
            title: format!("run {number}"),
            workload: several.current_workload().clone(),
            pace: several.run_pace().clone(),
            load: *load,
            seed: self.path.seed,
        })
    }

    fn known_failures(&self) -> Vec<Evidence> {
        self.path.aside.failures.clone()
    }

    fn known_runs(&self) -> Vec<(Multiple, Evidence)> {
        self.path.known_runs().collect()
    }

    fn place_of(&self, made: &FinishedRun) -> Option<Multiple> {
        made.judgement.load.parse().ok()
    }

    fn add_earlier_run(&mut self, load: Option<Multiple>, evidence: Evidence, made: Option<&FinishedRun>) {
        // A run that the path does not know and that proves nothing is no part of it.
        if let (Some(load), Some(made)) = (load, made)
            && (evidence.is_proof() || self.path.has_run(&evidence.directory))
        {
            self.path.add_run(load, &made.judgement, made.path.clone());
        }
        self.search.add_earlier_run(load, evidence);
        self.update_aside();
    }

    fn observe_run(&mut self, load: Multiple, evidence: Evidence, made: &FinishedRun, observer: &mut dyn Observer) {
        self.path.add_run(load, &made.judgement, made.path.clone());
        observer.say_line(&format!("run {}: {load} {}", self.path.runs.len(), evidence.verdict));
        self.search.add_run(load, evidence);
        self.update_aside();
    }

    /// A search continues from the path; the page only shows it, so the search does not end if it cannot be written.
    fn write_document(&self) -> Result<(), Failure> {
        write_document(&self.dir.join(FILE), &self.path)?;
        write_page(&self.dir.join(PAGE), |text| write_html(&self.path, text)).unwrap_or_else(|failure| {
            self.several.tell_user(&format!("error: {}\n  = {FILE} beside it holds the path", failure.user_message()));
        });
        Ok(())
    }
}
