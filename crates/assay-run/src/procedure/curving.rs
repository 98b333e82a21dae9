//! Throughput against response at shares of a maximum that is given or searched for: a run for each share, or one
//! uninterrupted run through all of them.
//!
//! The judge computes the figures (`assay_judge::curve`). This file says which run measures a point, and stores the points in
//! `curve.json` after each run; an interrupted curve continues from there.

use crate::failure::{Failure, escaped_path};
use crate::files;
use crate::log::results;
use crate::observer::Observer;
use crate::procedure::kept::{read_document, write_document, write_page};
use crate::procedure::runner::{self, FinishedRun, Series};
use crate::procedure::searching::{Bounds, FILE as PATH, Searching};
use crate::procedure::several::{PlannedRun, Ramp, Several};
use assay_base::{Multiple, Share};
use assay_judge::curve::{Curve, Limits, Measured, SCHEMA, Scale, Shape, write_html};
use assay_judge::procedure::{AfterFailure, Aside, Attempts, Evidence};
use assay_model::Phase;
use std::path::{Path, PathBuf};

/// The choices for a curve.
#[derive(Clone, Debug)]
pub struct CurveRequest {
    /// The shares of the maximum, ascending.
    pub shares: Vec<Share>,
    /// The stream whose throughput and response are shown.
    pub stream: String,
    /// The load of 100 %; it is searched for where it is `None`.
    pub maximum: Option<Multiple>,
    /// All points in one uninterrupted run, from the highest share to the lowest, instead of a run for each.
    pub in_one_run: bool,
}

/// Name of the curve's file; the page's name follows from it.
pub const FILE: &str = "curve.json";
/// Name of the page that shows it.
pub const PAGE: &str = "curve.html";
/// Directory of the search for the maximum.
const SEARCH: &str = "maximum";
/// Directory of the run that has all points.
const RAMP: &str = "ramp";

/// The place in a curve that a run measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CurvePlace {
    /// All points, because points from different runs are not an uninterrupted ramp.
    All,
    /// The point at a share.
    At(Share),
}

/// A curve, and where it is stored.
#[derive(Debug)]
pub struct Curving<'a> {
    several: &'a Several<'a>,
    bounds: Bounds,
    dir: PathBuf,
    curve: Curve,
    /// The run that has all points, where one run has them.
    ramp: Option<Ramp>,
    /// The places that are measured.
    spots: Vec<CurvePlace>,
    attempts: Attempts<CurvePlace>,
}

impl<'a> Curving<'a> {
    /// Begins in `dir`, or continues the curve that an earlier call left there.
    pub fn begin_or_resume(
        several: &'a Several<'a>,
        request: &CurveRequest,
        bounds: Bounds,
        dir: PathBuf,
        resumed: bool,
    ) -> Result<Curving<'a>, Failure> {
        let fresh = new_curve(several, request);
        let falling: Vec<Share> = request.shares.iter().rev().copied().collect();
        let ramp = request.in_one_run.then(|| several.make_ramp(&falling)).transpose()?;
        let curve = if resumed { read_earlier(&dir, &fresh, several)? } else { fresh };
        results::check_replaceable(&dir, &[FILE, PAGE])?;
        let spots = match ramp {
            Some(_) => vec![CurvePlace::All],
            None => request.shares.iter().copied().map(CurvePlace::At).collect(),
        };
        let attempts = Attempts::new(AfterFailure::GoOn);
        let curving = Curving { several, bounds, dir, curve, ramp, spots, attempts };
        curving.write_document()?;
        Ok(curving)
    }

    /// The curve so far.
    pub fn into_curve(self) -> Curve {
        self.curve
    }

    /// Measures to the end, or until no further run is made.
    pub fn run_curve(&mut self, observer: &mut dyn Observer) -> Result<(), Failure> {
        if self.curve.scale.searched {
            self.search_maximum(observer)?;
        }
        if self.curve.scale.maximum.is_none() {
            return Ok(());
        }
        let (several, dir) = (self.several, self.dir.clone());
        runner::add_earlier_runs(several, self, &dir)?;
        runner::carry_out(several, self, &dir, observer)
    }

    /// Searches for the maximum, or continues an interrupted search. What failed in one that found its maximum counts too.
    fn search_maximum(&mut self, observer: &mut dyn Observer) -> Result<(), Failure> {
        let below = self.dir.join(SEARCH);
        let resumed = below.join(PATH).exists();
        make_directory(&below)?;
        let mut searching = Searching::begin_or_resume(self.several, self.bounds, below, resumed)?;
        if self.curve.scale.maximum.is_none() {
            let outcome = searching.run_search(observer)?;
            self.curve.scale.maximum = outcome.limit();
            self.curve.scale.without_maximum = outcome.limit().is_none().then_some(outcome);
            if outcome.limit().is_none() {
                observer.say_line(&format!("no maximum: {outcome}"));
            }
        }
        self.curve.aside = searching.path_so_far().aside.clone().in_directory(SEARCH).joined_with(self.own_aside());
        self.several.tell_if_lost(self.write_document());
        Ok(())
    }

    /// The runs that failed or were repeated among the points.
    fn own_aside(&self) -> Aside {
        let Aside { mut failures, mut repeated } = self.curve.aside.clone();
        failures.retain(|run| !run.is_in(SEARCH));
        repeated.retain(|run| !run.is_in(SEARCH));
        Aside { failures, repeated }
    }

    /// The loads of the shares that were asked for, in the order of the ramp: the highest first.
    fn asked_loads(&self) -> Vec<(Share, Multiple)> {
        let Some(maximum) = self.curve.scale.maximum else { return Vec::new() };
        let shares = self.curve.asked.iter().rev();
        shares.filter_map(|share| Some((*share, share_of_load(maximum, *share).ok()?))).collect()
    }

    fn found_maximum(&self) -> Result<Multiple, Failure> {
        self.curve.scale.maximum.ok_or_else(|| Failure::internal_bug("a point of a curve without a maximum"))
    }

    /// The name of the directory of a run.
    fn name_of(&self, spot: CurvePlace) -> Result<String, Failure> {
        let CurvePlace::At(share) = spot else { return Ok(RAMP.to_owned()) };
        let number = self.curve.asked.iter().position(|known| *known == share).map_or(0, |index| index + 1);
        Ok(format!("{number:02}-{}", share_of_load(self.found_maximum()?, share)?))
    }

    /// Shows a run as the points that it decides.
    fn add_decisive_run(&mut self, spot: CurvePlace, directory: &str, made: &FinishedRun) {
        let decides = self.attempts.deciding_run(&spot).is_some_and(|run| run.directory == directory);
        match spot {
            _ if !decides => {}
            CurvePlace::All => {
                let loads = self.asked_loads();
                self.curve.add_ramp(&loads, &made.judgement, &made.phases, directory);
            }
            CurvePlace::At(share) => {
                let load = self.asked_loads().into_iter().find_map(|(of, load)| (of == share).then_some(load));
                if let Some(load) = load {
                    self.curve.add_run(share, load, &made.judgement, directory.to_owned());
                }
            }
        }
    }

    /// Takes over which runs failed or were repeated, in the search too.
    fn update_aside(&mut self) {
        let search = std::mem::take(&mut self.curve.aside).only_in(SEARCH);
        self.curve.aside = search.joined_with(self.attempts.failed_and_repeated_runs());
    }
}

impl Series for Curving<'_> {
    type Place = CurvePlace;

    fn next(&self) -> Option<CurvePlace> {
        self.attempts.next_of(&self.spots)
    }

    fn plan_run(&self, several: &Several<'_>, spot: &CurvePlace) -> Result<PlannedRun, Failure> {
        let maximum = self.found_maximum()?;
        self.curve.asked.iter().try_for_each(|share| share_of_load(maximum, *share).map(drop))?;
        let (name, seed) = (self.name_of(*spot)?, self.curve.of.seed);
        Ok(match (spot, &self.ramp) {
            (CurvePlace::At(share), _) => PlannedRun {
                name,
                title: share.to_string(),
                workload: several.current_workload().clone(),
                pace: several.run_pace().clone(),
                load: share_of_load(maximum, *share)?,
                seed,
            },
            (CurvePlace::All, Some(ramp)) => PlannedRun {
                name,
                title: "all points".to_owned(),
                workload: ramp.workload.clone(),
                pace: ramp.pace.clone(),
                load: maximum,
                seed,
            },
            (CurvePlace::All, None) => return Err(Failure::internal_bug("a curve of several runs asks for one")),
        })
    }

    fn judged_phases(&self) -> &[Phase] {
        self.ramp.as_ref().map_or(&[], |ramp| &ramp.workload.timing.phases)
    }

    fn known_failures(&self) -> Vec<Evidence> {
        self.own_aside().failures
    }

    fn known_runs(&self) -> Vec<(CurvePlace, Evidence)> {
        let known = self.curve.known_runs();
        match self.ramp {
            None => known.map(|(share, evidence)| (CurvePlace::At(share), evidence)).collect(),
            Some(_) => {
                known.max_by_key(|(_, run)| run.verdict).map(|(_, run)| (CurvePlace::All, run)).into_iter().collect()
            }
        }
    }

    fn place_of(&self, made: &FinishedRun) -> Option<CurvePlace> {
        runner::place_named(&self.spots, &made.evidence.directory, |spot| self.name_of(*spot).unwrap_or_default())
    }

    fn add_earlier_run(&mut self, spot: Option<CurvePlace>, evidence: Evidence, made: Option<&FinishedRun>) {
        let directory = evidence.directory.clone();
        self.attempts.add_earlier_run(spot, evidence);
        if let (Some(spot), Some(made)) = (spot, made) {
            self.add_decisive_run(spot, &directory, made);
        }
        self.update_aside();
    }

    fn observe_run(&mut self, spot: CurvePlace, evidence: Evidence, made: &FinishedRun, observer: &mut dyn Observer) {
        let directory = evidence.directory.clone();
        self.attempts.add_run(spot, evidence);
        self.add_decisive_run(spot, &directory, made);
        for point in self.curve.points.iter().rev().filter(|point| point.directory == directory) {
            if spot == CurvePlace::All || spot == CurvePlace::At(point.share) {
                observer.say_line(&format!("{}: {} {}", point.share, point.load, point.verdict));
            }
        }
        self.update_aside();
    }

    fn write_document(&self) -> Result<(), Failure> {
        write_document(&self.dir.join(FILE), &self.curve)
    }
}

/// Stores a curve in `dir` with the page that shows it.
pub fn write_curve(curve: &Curve, dir: &Path) -> Result<(), Failure> {
    write_document(&dir.join(FILE), curve)?;
    write_page(&dir.join(PAGE), |text| write_html(curve, text))
}

/// Makes a directory below that of the curve, unless it exists.
pub fn make_directory(below: &Path) -> Result<(), Failure> {
    files::ensure_directory(below)
        .map_err(|e| Failure::host_unable(format!("the run directory {} cannot be made: {e}", escaped_path(below))))
}

/// A curve of which nothing was measured.
fn new_curve(several: &Several<'_>, request: &CurveRequest) -> Curve {
    Curve {
        schema: SCHEMA,
        of: Measured {
            workload: several.plan.name.clone(),
            targets: several.names.clone(),
            devices: Vec::new(),
            stream: request.stream.clone(),
            seed: several.plan.load.seed,
            plan_blake3: Some(several.plan_sum.clone()),
            run_ns: several.plan.timing.measured_length().as_ns(),
        },
        scale: Scale {
            maximum: request.maximum,
            searched: request.maximum.is_none(),
            without_maximum: None,
            counted: several.plan.load.load_unit(),
        },
        limits: Limits::default(),
        asked: request.shares.clone(),
        points: Vec::new(),
        shape: Shape::default(),
        aside: Aside::default(),
        cache: None,
        in_one_run: request.in_one_run,
        beside: None,
    }
}

/// The curve that an earlier call left, which must belong to the same task.
fn read_earlier(dir: &Path, ours: &Curve, several: &Several<'_>) -> Result<Curve, Failure> {
    let curve = read_document(&dir.join(FILE), |kept: &Curve| {
        let Measured { workload, targets, run_ns, plan_blake3, seed, .. } = &kept.of;
        let same = several.is_of_same_task(workload, targets, *run_ns, plan_blake3.as_deref(), *seed);
        let maximum = kept.scale.searched == ours.scale.searched
            && (ours.scale.searched || kept.scale.maximum == ours.scale.maximum);
        let points = kept.asked == ours.asked && kept.in_one_run == ours.in_one_run;
        same && maximum && points && kept.of.stream == ours.of.stream
    })?;
    // The curve without the cache has a file of its own.
    Ok(Curve { beside: None, ..curve })
}

/// A share of a load, to the millionth.
fn share_of_load(maximum: Multiple, share: Share) -> Result<Multiple, Failure> {
    let millionths = u128::from(maximum.as_millionths()) * u128::from(share.as_ppb()) / 1_000_000_000;
    u64::try_from(millionths).ok().and_then(Multiple::from_millionths).ok_or_else(|| {
        Failure::bad_usage(format!("{share} of {maximum} is too small to be a load; give larger shares with --points"))
    })
}
