//! Throughput against response at shares of a maximum that is given or searched for: a run for each share, or one
//! uninterrupted run through all of them.
//!
//! The judge computes the figures (`assay_judge::curve`). This file runs the points and stores them in `curve.json`
//! after each run; an interrupted curve continues from there. A point that proves nothing is run once more.

use crate::failure::{Failure, shown};
use crate::files;
use crate::kept::{below, keep, kept, page};
use crate::observer::Observer;
use crate::results;
use crate::searching::{self, Bounds, Searching};
use crate::several::{Ramp, Several};
use assay_base::{Multiple, Share};
use assay_judge::Verdict;
use assay_judge::curve::{Curve, Limits, Measured, SCHEMA, Scale, Shape, html};
use assay_judge::limit::Outcome;
use std::path::{Path, PathBuf};

/// What a curve shows.
#[derive(Clone, Debug)]
pub struct Asked {
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

/// A curve, and where it is stored.
#[derive(Debug)]
pub struct Curving<'a> {
    several: &'a Several<'a>,
    bounds: Bounds,
    dir: PathBuf,
    curve: Curve,
    /// The run that has all points, where one run has them.
    ramp: Option<Ramp>,
}

impl<'a> Curving<'a> {
    /// Begins in `dir`, or continues the curve that an earlier call left there.
    pub fn begin(
        several: &'a Several<'a>,
        asked: &Asked,
        bounds: Bounds,
        dir: PathBuf,
        resumed: bool,
    ) -> Result<Curving<'a>, Failure> {
        let fresh = Curve {
            schema: SCHEMA,
            of: Measured {
                workload: several.plan.name.clone(),
                targets: several.names.clone(),
                devices: Vec::new(),
                stream: asked.stream.clone(),
                seed: several.plan.seed,
                plan_blake3: Some(several.plan_sum.clone()),
                run_ns: several.plan.measured().as_ns(),
            },
            scale: Scale { maximum: asked.maximum, searched: asked.maximum.is_none(), counted: several.plan.counted() },
            limits: Limits::default(),
            asked: asked.shares.clone(),
            points: Vec::new(),
            shape: Shape::default(),
            cache: None,
            in_one_run: asked.in_one_run,
            beside: None,
        };
        let falling: Vec<Share> = asked.shares.iter().rev().copied().collect();
        let ramp = asked.in_one_run.then(|| several.ramp(&falling)).transpose()?;
        let curve = if resumed { earlier(&dir, &fresh, several)? } else { fresh };
        results::replaceable(&dir, &[FILE, PAGE])?;
        let curving = Curving { several, bounds, dir, curve, ramp };
        curving.keep()?;
        Ok(curving)
    }

    /// The curve so far.
    pub fn curve(self) -> Curve {
        self.curve
    }

    /// Measures to the end. The result is the outcome of a search that found no maximum.
    pub fn run(&mut self, observer: &mut dyn Observer) -> Result<Option<Outcome>, Failure> {
        let outcome = if self.curve.scale.maximum.is_none() { Some(self.search(observer)?) } else { None };
        let Some(maximum) = self.curve.scale.maximum else { return Ok(outcome) };
        match self.ramp.take() {
            Some(ramp) => self.in_one_run(&ramp, maximum, observer)?,
            None => self.points(maximum, observer)?,
        }
        Ok(None)
    }

    /// Runs all points in one run. If a point is missing or proves nothing, all points are measured again, because
    /// points from different runs are not an uninterrupted ramp.
    fn in_one_run(&mut self, ramp: &Ramp, maximum: Multiple, observer: &mut dyn Observer) -> Result<(), Failure> {
        for _ in 1..=2 {
            if self.curve.left().is_empty() {
                break;
            }
            observer.title("all points");
            let at = (self.dir.as_path(), RAMP);
            let (whole, points, run) = self.several.run_ramp(ramp, at, (maximum, self.curve.of.seed), observer)?;
            let directory = below(&self.dir, &run);
            for (share, judgement) in self.curve.asked.clone().into_iter().rev().zip(&points) {
                let load = part(maximum, share)?;
                // If the targets do not take a load, the run ends: there are no lower points.
                if whole.verdict == Verdict::Fail && judgement.part.time.measured_ns == 0 {
                    continue;
                }
                observer.say(&format!("{share}: {load} {}", judgement.verdict));
                self.curve.add_run(share, load, judgement, directory.clone());
                // The log has one rate for all points, their mean, because each point takes the same time.
                let mean =
                    self.curve.asked.iter().map(|share| share.as_ppb() as f64).sum::<f64>() / points.len() as f64;
                for point in self.curve.points.iter_mut().filter(|point| point.share == share) {
                    point.rates.asked = point.rates.asked.map(|rate| rate * share.as_ppb() as f64 / mean);
                }
            }
            self.keep()?;
            if !self.curve.points.iter().any(|point| point.verdict == Verdict::Invalid) {
                break;
            }
        }
        Ok(())
    }

    /// Searches for the maximum, or continues an interrupted search.
    fn search(&mut self, observer: &mut dyn Observer) -> Result<Outcome, Failure> {
        let below = self.dir.join(SEARCH);
        let resumed = below.join(searching::FILE).exists();
        directory(&below)?;
        let outcome = Searching::begin(self.several, self.bounds, below, resumed)?.run(observer)?;
        match outcome {
            Outcome::Between { passes, .. } | Outcome::NeverFailed { passes } => {
                self.curve.scale.maximum = Some(passes)
            }
            Outcome::NeverPassed { .. } | Outcome::Stopped { .. } => observer.say(&format!("no maximum: it {outcome}")),
        }
        self.keep()?;
        Ok(outcome)
    }

    /// Runs the remaining points; ends early if one was cut short.
    fn points(&mut self, maximum: Multiple, observer: &mut dyn Observer) -> Result<(), Failure> {
        self.take_in_failed(maximum);
        for share in self.curve.left() {
            let load = part(maximum, share)?;
            for attempt in 1..=2 {
                observer.title(&share.to_string());
                let number = self.curve.asked.iter().position(|asked| *asked == share).map_or(0, |index| index + 1);
                let name = format!("{number:02}-{load}");
                let (judgement, at) = self.several.run(&self.dir, &name, (load, self.curve.of.seed), observer)?;
                observer.say(&format!("{share}: {load} {}", judgement.verdict));
                self.curve.add_run(share, load, &judgement, below(&self.dir, &at));
                self.keep()?;
                match judgement.verdict {
                    Verdict::Incomplete => return Ok(()),
                    Verdict::Invalid if attempt == 1 => {}
                    _ => break,
                }
            }
        }
        Ok(())
    }

    /// A point counts as failed if the program was killed when the log of the point showed a failure but `curve.json`
    /// did not have the point yet.
    fn take_in_failed(&mut self, maximum: Multiple) {
        let known: Vec<PathBuf> = self.curve.points.iter().map(|point| self.dir.join(&point.directory)).collect();
        let known: Vec<&Path> = known.iter().map(PathBuf::as_path).collect();
        for (load, judgement, at) in self.several.failed_unkept(&self.dir, &known) {
            let share = self.curve.left().into_iter().find(|share| part(maximum, *share).ok() == Some(load));
            if let Some(share) = share {
                self.curve.add_run(share, load, &judgement, below(&self.dir, &at));
            }
        }
    }

    fn keep(&self) -> Result<(), Failure> {
        keep(&self.dir.join(FILE), &self.curve)
    }
}

/// Stores a curve in `dir` with the page that shows it.
pub fn leave(curve: &Curve, dir: &Path) -> Result<(), Failure> {
    keep(&dir.join(FILE), curve)?;
    page(&dir.join(PAGE), |text| html(curve, text))
}

/// Makes a directory below that of the curve, unless it exists.
pub fn directory(below: &Path) -> Result<(), Failure> {
    files::directory(below)
        .map_err(|e| Failure::host(format!("the run directory {} cannot be made: {e}", shown(below))))
}

/// The curve that an earlier call left, which must belong to the same task.
fn earlier(dir: &Path, ours: &Curve, several: &Several<'_>) -> Result<Curve, Failure> {
    let curve = kept(&dir.join(FILE), |kept: &Curve| {
        let task = (kept.of.workload.as_str(), kept.of.targets.as_slice());
        let same = several.goes_on(task, kept.of.run_ns, kept.of.plan_blake3.as_deref(), kept.of.seed);
        let maximum = kept.scale.searched == ours.scale.searched
            && (ours.scale.searched || kept.scale.maximum == ours.scale.maximum);
        let points = kept.asked == ours.asked && kept.in_one_run == ours.in_one_run;
        same && maximum && points && kept.of.stream == ours.of.stream
    })?;
    several.same_targets(dir)?;
    // The curve without the cache has a file of its own.
    Ok(Curve { beside: None, ..curve })
}

/// A share of a load, to the millionth.
fn part(maximum: Multiple, share: Share) -> Result<Multiple, Failure> {
    let millionths = u128::from(maximum.as_millionths()) * u128::from(share.as_ppb()) / 1_000_000_000;
    u64::try_from(millionths).ok().and_then(Multiple::from_millionths).ok_or_else(|| {
        Failure::usage(format!("{share} of {maximum} is too small to be a load; give larger shares with --points"))
    })
}
