//! Sizing: compares candidate drives, each fitted to production and then loaded until a criterion breaks; how many
//! times production's load each carries, how fast it wears, and how many are needed.
//!
//! Plain data from the results of two state machines ([`fit`](crate::fit), [`limit`](crate::limit)).
//!
//! *How many.* Production has `n` drives, and the profile is the load of one of them. For a growth of `g`, the drives
//! must carry `n × g` times that load. A drive that holds `m` times the load should get no more than `m × (1 − h)`,
//! where `h` is the headroom for what nobody foresees. So `ceil(n × g / (m × (1 − h)))` drives are needed for the load
//! alone; the capacity for the data is another bound. The formula is ours; the guide ("Advanced Flash Device Sizing",
//! "Testing new drives") ends at the load that a drive holds. *Drive writes a day* are the bytes written in 86,400 s
//! divided by the size of the drive, the unit of data sheets.

mod page;
mod render;

pub use page::write_html;
pub use render::write_text;

use crate::fit;
use crate::limit::{Outcome, Run, Trail};
use crate::procedure::Aside;
use crate::verdict::Verdict;
use crate::words::add_new;
use assay_base::{Multiple, Share};
use serde::{Deserialize, Serialize};

/// The version of the JSON shape.
pub const SCHEMA: u32 = 1;
/// Directory of the fit of a candidate, below its own.
pub const FIT: &str = "fit";
/// Directory of its search.
pub const LIMIT: &str = "limit";
const DAY: f64 = 86_400.0;
/// An excess over a whole number up to this is a rounding error of the division, not another drive.
const ALMOST_NOTHING: f64 = 1e-9;

/// All candidates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sizing {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The profile's name.
    pub workload: String,
    /// Checksum of the profile, so that a sizing is continued with the same one only.
    pub profile_blake3: String,
    /// The candidates as given on the command line, including those that have not been tested yet.
    pub targets: Vec<String>,
    /// The drive of production that the candidates stand for; empty where the profile names none.
    pub drive: String,
    /// What the drives must provide.
    pub demand: Demand,
    /// Limits on the validity of the result (`SIMULATED`, `SHORT` …), of all runs.
    pub watermarks: Vec<String>,
    /// The candidates in the order given; those that have not been tested yet are missing.
    pub candidates: Vec<Candidate>,
}

/// What the drives must provide.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Demand {
    /// Number of drives in production, each with at most the profile's load.
    pub drives: u32,
    /// How many times that load must be carried.
    pub growth: Multiple,
    /// Share of what a drive holds that is kept free.
    pub headroom: Share,
}

/// One drive that might be bought.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// The target as given on the command line.
    pub target: String,
    /// The target with what the device reports about itself; absent where no run ended on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// The size of the target; absent there as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// How its fit ended, in words.
    pub fit: String,
    /// Whether all figures agree with production's.
    pub agrees: bool,
    /// Whether the fit was cut short. No document has it, because a continued sizing fits the candidate again.
    #[serde(skip)]
    pub cut_in_fit: bool,
    /// How the search ended; absent where there was none.
    pub limit: Option<Outcome>,
    /// What went wrong, where the candidate could not be tested to the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The highest load that it holds, as a multiple of production's.
    pub holds: Option<Multiple>,
    /// What broke at the lowest load that it does not hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broke: Option<String>,
    /// Drive writes a day at production's load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drive_writes_a_day: Option<f64>,
    /// How many are needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub need: Option<Need>,
    /// The runs of its search, in order.
    pub runs: Vec<Run>,
    /// Its response at production's load: `[share not above, nanoseconds]`, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nines: Vec<(f64, u64)>,
    /// What failed in its fit and its search, and which runs were repeated.
    #[serde(flatten)]
    pub aside: Aside,
    /// The directory of its runs, relative to that of the sizing.
    pub directory: String,
}

/// How many of a candidate are needed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Need {
    /// Number of drives.
    pub drives: u64,
    /// Drive writes a day of each of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drive_writes_a_day: Option<f64>,
}

impl Demand {
    /// The number of drives that are needed if each holds `holds` times production's load; `None` where no number
    /// suffices.
    pub fn drives_of(&self, holds: Multiple) -> Option<u64> {
        let given = holds.as_f64() * (1.0 - self.headroom.as_f64());
        let needed = f64::from(self.drives) * self.growth.as_f64() / given;
        (given > 0.0 && needed.is_finite()).then(|| (needed - ALMOST_NOTHING).ceil().max(1.0) as u64)
    }

    fn compute_need(&self, holds: Multiple, writes_a_day: Option<f64>) -> Option<Need> {
        let drives = self.drives_of(holds)?;
        let each = f64::from(self.drives) * self.growth.as_f64() / drives as f64;
        Some(Need { drives, drive_writes_a_day: writes_a_day.map(|day| day * each) })
    }
}

impl Candidate {
    /// A candidate from its fit and from the search after it; `production` is the bytes written per second there, used
    /// where the fit measured nothing.
    pub fn new(demand: &Demand, fitted: &fit::Trail, searched: Option<&Trail>, production: Option<f64>) -> Candidate {
        let failed = !fitted.aside.failures.is_empty();
        let holds = searched.and_then(load_that_holds).filter(|_| !failed);
        let round = fitted.resulting_round();
        let written = round.map(|round| round.counted.unwrap_or(round.handed_over)[3]).or(production);
        let day = written.zip(fitted.size_bytes).map(|(written, size)| written * DAY / size.max(1) as f64);
        let runs: Vec<Run> = searched.map_or_else(Vec::new, |trail| trail.runs.clone());
        let at_one = runs.iter().find(|run| run.load == Multiple::ONE && run.is_proof()).map(|run| run.nines.clone());
        Candidate {
            target: fitted.target.clone(),
            device: fitted.device.clone(),
            size_bytes: fitted.size_bytes,
            fit: fit::ending_in_words(fitted),
            agrees: matches!(fitted.outcome, Some(fit::Outcome::Agrees { .. })),
            cut_in_fit: matches!(fitted.outcome, Some(fit::Outcome::Stopped { verdict: Verdict::Incomplete, .. })),
            limit: searched.and_then(|trail| trail.outcome),
            failure: None,
            holds,
            broke: searched.and_then(broken_criterion),
            drive_writes_a_day: day,
            need: holds.and_then(|holds| demand.compute_need(holds, day)),
            nines: at_one.or_else(|| round.map(|round| round.nines.clone())).unwrap_or_default(),
            runs,
            aside: failed_and_repeated_runs(fitted, searched),
            directory: String::new(),
        }
    }

    /// Whether its limit is known, even if it carries nothing.
    pub fn is_known(&self) -> bool {
        self.holds.is_some() || self.has_failure() || matches!(self.limit, Some(Outcome::NeverPassed { .. }))
    }

    /// Whether something failed on it that no load excuses.
    pub fn has_failure(&self) -> bool {
        !self.aside.failures.is_empty()
    }

    /// Whether its fit or its search was cut short.
    pub fn is_cut_short(&self) -> bool {
        self.cut_in_fit || matches!(self.limit, Some(Outcome::Stopped { verdict: Verdict::Incomplete, .. }))
    }
}

/// What failed in the fit and in the search of a candidate, and which runs were repeated.
fn failed_and_repeated_runs(fitted: &fit::Trail, searched: Option<&Trail>) -> Aside {
    let search = searched.map(|trail| trail.aside.clone().in_directory(LIMIT)).unwrap_or_default();
    fitted.aside.clone().in_directory(FIT).joined_with(search)
}

/// The highest load that a search found to hold; none where something failed, because a drive that fails carries nothing.
fn load_that_holds(trail: &Trail) -> Option<Multiple> {
    match trail.outcome? {
        Outcome::TargetFailed { .. } => None,
        outcome => outcome.highest_passing(),
    }
}

/// What decided at the lowest load that failed.
fn broken_criterion(trail: &Trail) -> Option<String> {
    let failed = trail.runs.iter().filter(|run| run.verdict == Verdict::Fail);
    let lowest = failed.min_by_key(|run| run.load)?;
    let what = lowest.measured.clone().unwrap_or_else(|| lowest.reason.clone());
    Some(format!("at {}: {what}", lowest.load))
}

impl Sizing {
    /// The candidate of which the fewest are needed; among equals, the one with the fewest drive writes a day.
    pub fn fewest_needed(&self) -> Option<&Candidate> {
        let needed = self.candidates.iter().filter(|one| one.need.is_some());
        needed.min_by(|a, b| {
            drives_needed(a).cmp(&drives_needed(b)).then(drive_writes_a_day(a).total_cmp(&drive_writes_a_day(b)))
        })
    }

    /// What the sizing proves: FAIL where something failed on a candidate, or where the limit of none that is known is above
    /// nothing; INCOMPLETE where it was cut short; PASS where one carries the load or a part of it; INVALID where nothing is
    /// known of any.
    pub fn verdict(&self) -> Verdict {
        let any = |what: fn(&Candidate) -> bool| self.candidates.iter().any(what);
        if any(Candidate::has_failure) {
            return Verdict::Fail;
        }
        match (any(Candidate::is_cut_short), any(|one| one.holds.is_some()), any(Candidate::is_known)) {
            (true, ..) => Verdict::Incomplete,
            (_, true, _) => Verdict::Pass,
            (_, _, true) => Verdict::Fail,
            _ => Verdict::Invalid,
        }
    }

    /// Adds a candidate and the watermarks of its runs.
    pub fn add_candidate(&mut self, candidate: Candidate, watermarks: &[String]) {
        add_new(&mut self.watermarks, watermarks);
        self.candidates.push(candidate);
    }
}

/// The number of drives that a candidate needs; the largest number where it is not known.
fn drives_needed(one: &Candidate) -> u64 {
    one.need.map_or(u64::MAX, |need| need.drives)
}

/// The drive writes a day of a candidate; infinite where they are not known.
fn drive_writes_a_day(one: &Candidate) -> f64 {
    one.need.and_then(|need| need.drive_writes_a_day).unwrap_or(f64::INFINITY)
}

#[cfg(test)]
mod tests;
