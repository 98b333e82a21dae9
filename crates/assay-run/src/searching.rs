//! The search for the highest load that passes: the judge's state machine says which load to try next, and this runs it, each load
//! in a directory of its own, and keeps the path in a file from which an interrupted search continues, and on a page.

use crate::failure::Failure;
use crate::kept::{keep, kept, page};
use crate::observer::Observer;
use crate::results;
use crate::several::Several;
use assay_base::Multiple;
use assay_judge::Verdict;
use assay_judge::limit::{Next, Outcome, SCHEMA, Search, Trail, html};
use std::path::{Path, PathBuf};

/// How the highest load that passes is searched for.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Load of the first run.
    pub from: Option<Multiple>,
    /// Highest load to try.
    pub to: Option<Multiple>,
    /// The search ends when the loads that pass and fail are this close; what the workload says where it is `None`.
    pub resolution: Option<Multiple>,
}

/// The load of the first run; `usual` unless an option says otherwise.
pub fn beginning(search: &Bounds, usual: Multiple) -> Result<Multiple, Failure> {
    match (search.from, search.to) {
        (Some(from), Some(to)) if from > to => {
            Err(Failure::usage(format!("--to {to} is below --from {from}, where the search begins")))
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
    search: Bounds,
    dir: PathBuf,
    path: Trail,
}

impl<'a> Searching<'a> {
    /// Begins in `dir`, or continues the path that an earlier search left there.
    pub fn begin(
        several: &'a Several<'a>,
        search: Bounds,
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
            deviations: Vec::new(),
            counted: several.plan.counted(),
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
    pub fn path(&self) -> &Trail {
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
    pub fn run(&mut self, observer: &mut dyn Observer) -> Result<Outcome, Failure> {
        let Bounds { to, resolution, .. } = self.search;
        let (usual, exact) = self.several.plan.search();
        let search = Search::start(beginning(&self.search, usual)?, resolution.unwrap_or(exact))
            .resume(self.path.observations());
        let mut search = match to {
            Some(to) => search.up_to(to),
            None => search,
        };
        loop {
            match search.next() {
                Next::RunAt(multiple) => {
                    let verdict = self.one(multiple, observer)?;
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
    fn one(&mut self, multiple: Multiple, observer: &mut dyn Observer) -> Result<Verdict, Failure> {
        let number = self.path.runs.len() + 1;
        observer.title(&format!("run {number}"));
        let name = format!("{number:02}-{multiple}");
        let (judgement, dir) = self.several.run(&self.dir, &name, (multiple, self.path.seed), observer)?;
        observer.say(&format!("run {number}: {multiple} {}", judgement.verdict));
        self.path.add(multiple, &judgement, dir);
        self.keep()?;
        Ok(judgement.verdict)
    }

    /// A search continues from the path; the page only shows it, so the search does not end if it cannot be written.
    pub fn keep(&self) -> Result<(), Failure> {
        keep(&self.dir.join(FILE), &self.path)?;
        page(&self.dir.join(PAGE), |text| html(&self.path, text)).unwrap_or_else(|failure| {
            self.several.tell(&format!("error: {}\n  = {FILE} beside it holds the path", failure.message()));
        });
        Ok(())
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
