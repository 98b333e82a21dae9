//! A sizing: each candidate is fitted to production, then its limit is searched, in a directory of its own.
//!
//! A failure on one candidate is reported in its row, and the others are still tested. What an earlier call finished is read from
//! the directories of the fits and searches, and not run again.

use crate::failure::{Failure, escaped_path, one_line};
use crate::files;
use crate::log::results;
use crate::log::rundir;
use crate::observer::Observer;
use crate::procedure::fitting::{self, Aim, Fitting};
use crate::procedure::kept::{read_document, write_document, write_page};
use crate::procedure::pace::Pace;
use crate::procedure::searching::{self, Bounds, Searching};
use crate::procedure::several::Several;
use crate::workloads::production::Production;
use assay_judge::fit::Outcome;
use assay_judge::sizing::{Candidate, Demand, FIT, LIMIT, SCHEMA, Sizing, write_html};
use std::path::{Path, PathBuf};

/// Name of the comparison's file.
pub const FILE: &str = "size.json";
/// Name of the page that shows it.
pub const PAGE: &str = "size.html";

/// The choices for testing candidates.
#[derive(Clone, Debug)]
pub struct Testing<'a> {
    /// The production that they are fitted to.
    pub production: &'a Production,
    /// The difference from production at which a fit is near enough.
    pub aim: Aim,
    /// Between which loads the limit is searched.
    pub search: Bounds,
    /// The pace of the runs of the search.
    pub pace: Pace,
}

/// A sizing in progress, and where it is stored.
#[derive(Debug)]
pub struct Comparing<'a> {
    testing: Testing<'a>,
    dir: &'a Path,
    sizing: Sizing,
}

impl<'a> Comparing<'a> {
    /// Begins in `dir`, or continues what an earlier call left there, which must be of the same candidates.
    pub fn begin_or_resume(
        testing: Testing<'a>,
        targets: &[String],
        demand: Demand,
        dir: &'a Path,
        resumed: bool,
    ) -> Result<Comparing<'a>, Failure> {
        let sizing = Sizing {
            schema: SCHEMA,
            workload: testing.production.workload.name.clone(),
            profile_blake3: testing.production.profile_checksum(),
            targets: targets.to_vec(),
            drive: testing.production.drive.clone(),
            demand,
            watermarks: Vec::new(),
            candidates: Vec::new(),
        };
        results::check_replaceable(dir, &[FILE, PAGE])?;
        if resumed {
            read_document(&dir.join(FILE), |kept: &Sizing| {
                kept.profile_blake3 == sizing.profile_blake3 && kept.targets == sizing.targets
            })?;
        }
        let comparing = Comparing { testing, dir, sizing };
        comparing.write_comparison(|_| {})?;
        Ok(comparing)
    }

    /// Tests one candidate after the other, or until one is cut short. All were opened before.
    pub fn run_candidates(mut self, opened: Vec<Several<'_>>, observer: &mut dyn Observer) -> Result<Sizing, Failure> {
        let of = opened.len();
        for (index, several) in opened.into_iter().enumerate() {
            let name = several.names[0].clone();
            observer.say_line(&format!("candidate {} of {of}: {}", index + 1, one_line(&name)));
            let directory = directory_of(index, &name);
            let tested = self.test_candidate(several, &self.dir.join(&directory), observer)?;
            let cut = tested.candidate.is_cut_short();
            self.sizing.add_candidate(Candidate { directory, ..tested.candidate }, &tested.watermarks);
            if let Err(why) = self.write_comparison(|line| observer.warn_user(line)) {
                observer.warn_user(&format!("error: {}; the result below is made from memory", why.user_message()));
            }
            if cut {
                break;
            }
        }
        Ok(self.sizing)
    }

    /// Fits a candidate and searches its limit. A failure is reported in its row.
    fn test_candidate(
        &self,
        mut several: Several<'_>,
        dir: &Path,
        observer: &mut dyn Observer,
    ) -> Result<Tested, Failure> {
        let production = self.testing.production;
        let (in_fit, in_limit) = (directory_below(dir, FIT)?, directory_below(dir, LIMIT)?);
        let resumed = in_fit.join(fitting::FILE).exists();
        let mut fitting = Fitting::begin_or_resume(&several, production, self.testing.aim, in_fit, resumed)?;
        let fitted = fitting.run_fit(&several, observer).and_then(|_| fitting.fitted_text());
        if let Err(failure) = fitted {
            return Ok(self.tested_candidate(&fitting, None, Some(failure), observer));
        }
        if matches!(fitting.trail.outcome, Some(Outcome::Stopped { .. })) {
            return Ok(self.tested_candidate(&fitting, None, None, observer));
        }
        // Where nothing could be fitted, the device does not carry the load; the search with the unchanged profile
        // finds how much it does.
        let knobs = fitting.trail.resulting_round().map_or_else(|| production.profile_knobs(), |round| round.knobs);
        several.change_workload(production.workload_at(&knobs)?, self.testing.pace.clone())?;
        let resumed = in_limit.join(searching::FILE).exists();
        let mut searching = Searching::begin_or_resume(&several, self.testing.search, in_limit, resumed)?;
        let failure = searching.run_search(observer).err();
        Ok(self.tested_candidate(&fitting, Some(&searching), failure, observer))
    }

    fn tested_candidate(
        &self,
        fitting: &Fitting<'_>,
        searching: Option<&Searching<'_>>,
        failure: Option<Failure>,
        observer: &mut dyn Observer,
    ) -> Tested {
        let trail = &fitting.trail;
        let path = searching.map(Searching::path_so_far);
        let written = self.testing.production.drive_figures()[3];
        let failure = failure.map(|failure| failure.user_message().to_owned());
        failure.iter().for_each(|failure| observer.warn_user(&format!("error: {failure}")));
        let candidate = Candidate { failure, ..Candidate::new(&self.sizing.demand, trail, path, written) };
        let watermarks = trail.watermarks.iter().chain(path.into_iter().flat_map(|path| &path.watermarks));
        Tested { candidate, watermarks: watermarks.cloned().collect() }
    }

    /// Writes the comparison so far; a failure to write the page does not end a sizing.
    fn write_comparison(&self, warn: impl Fn(&str)) -> Result<(), Failure> {
        write_document(&self.dir.join(FILE), &self.sizing)?;
        write_page(&self.dir.join(PAGE), |text| write_html(&self.sizing, text)).unwrap_or_else(|failure| {
            warn(&format!("error: {}\n  = {FILE} beside it holds the comparison", failure.user_message()));
        });
        Ok(())
    }
}

/// The result of a candidate.
struct Tested {
    candidate: Candidate,
    watermarks: Vec<String>,
}

/// The directory of a candidate, such as `01-dev-sdb`.
fn directory_of(index: usize, name: &str) -> String {
    let stem = rundir::safe_file_name(name);
    let stem: String = stem.trim_matches('-').chars().take(40).collect();
    format!("{:02}-{stem}", index + 1)
}

/// A directory below that of a candidate, created if needed.
fn directory_below(dir: &Path, name: &str) -> Result<PathBuf, Failure> {
    let path = dir.join(name);
    files::ensure_directory(dir)
        .and_then(|()| files::ensure_directory(&path))
        .map_err(|e| Failure::host_unable(format!("the run directory {} cannot be made: {e}", escaped_path(&path))))?;
    Ok(path)
}
