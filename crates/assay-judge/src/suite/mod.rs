//! A suite: several workloads on several targets in several rounds, and what of their differences is more than noise.
//!
//! Plain data computed from judgements. Each run is one workload on one target in one round. A round is one unit of noise: what is
//! compared are the ratios within each round ([`rounds`]), never the operations within one run, because one run on a shared
//! machine says nothing about the next one. Only targets of one class stand in one table: a file system that many machines share
//! does other work than one on a disk of its own.

mod ceilings;
mod comparison;
mod differences;
mod figures;
mod page;
mod render;
mod rounds;

pub use ceilings::Ceilings;
pub use comparison::{ClassTable, Row, SuiteComparison};
pub use figures::{LinkShare, RunFigures, ShareRange, StreamTimes};
pub use page::write_html;
pub use render::write_text;

use crate::judgement::Judgement;
use crate::procedure::{self, Aside, Evidence};
use crate::verdict::Verdict;
use crate::words::add_new;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The most rounds that a suite can have.
pub const MOST_ROUNDS: u32 = 100;

/// The version of the JSON shape.
pub const SCHEMA: u32 = 1;

/// A suite, complete or not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Suite {
    /// [`SCHEMA`].
    pub schema: u32,
    /// What is compared, in the plural: `mounts`.
    pub compared: String,
    /// What is compared, in the order given.
    pub members: Vec<Member>,
    /// The workloads, in the order in which they run in each round.
    pub workloads: Vec<SuiteWorkload>,
    /// Number of rounds that were asked for.
    pub rounds: u32,
    /// The seed of the first round; each later one has the next number.
    pub seed: u64,
    /// Whether members of different classes are compared in one table.
    pub anyway: bool,
    /// What a reader should know, such as why there is no ceiling.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// The members that were lost, so that later runs on them were not made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<LostMember>,
    /// What limits the result, over all runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub watermarks: Vec<String>,
    /// The runs that decide at their places, in the order of the places.
    pub runs: Vec<SuiteRun>,
    /// What failed, and which runs were repeated.
    #[serde(flatten)]
    pub aside: Aside,
}

/// One of the targets that are compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// The user's name for it.
    pub label: String,
    /// The target, as the user named it.
    pub target: String,
    /// The class, as the machine says it: `shared`, `network block`, `local`.
    pub class: String,
    /// What is known of it, by name. What differs between members is shown.
    pub facts: BTreeMap<String, String>,
    /// Its options, where the machine has a list of them.
    pub options: Vec<String>,
    /// What its user says about it, by name: nobody can see it from here.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub about: BTreeMap<String, String>,
    /// By what it is known again when the suite is continued, where the machine has such a thing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<MemberIdentity>,
}

/// By what a member is known again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberIdentity {
    /// In words, such as `file system uuid 0f3a…`.
    pub text: String,
    /// Whether it is the same for as long as what is stored there. If not, it may be another one after a new start of the host.
    pub lasts: bool,
}

/// A member on which no more runs were made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostMember {
    /// Its label.
    pub label: String,
    /// The run that could not be made, or that it ended.
    pub place: Place,
    /// Why.
    pub why: String,
}

/// A workload of a suite.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuiteWorkload {
    /// Its name.
    pub name: String,
    /// Checksum of what distinguishes its plan from others.
    pub plan_blake3: String,
    /// How long each run of it measures, in words.
    pub length: String,
    /// Where its reads come from, in the workload's own word; empty where it has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cache: String,
}

/// What one run is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// The round, from 1; 0 for the runs in memory, which come before the first round.
    pub round: u32,
    /// Index into [`Suite::workloads`].
    pub workload: usize,
    /// Index into [`Suite::members`]; absent for the run in memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<usize>,
}

/// The run that decides at a place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SuiteRun {
    /// What it is about.
    #[serde(flatten)]
    pub place: Place,
    /// Its verdict.
    pub verdict: Verdict,
    /// Its reason.
    pub reason: String,
    /// Directory of its log, below the directory of the suite.
    pub directory: String,
    /// What it measured.
    #[serde(flatten)]
    pub figures: RunFigures,
}

impl Suite {
    /// The places of all runs in memory, one for each workload.
    pub fn places_in_memory(&self) -> Vec<Place> {
        (0..self.workloads.len()).map(|workload| Place { round: 0, workload, member: None }).collect()
    }

    /// The places of all rounds in the order in which they run. In each round another member is the first, so that no member has
    /// the advantage of always being first.
    pub fn places_of_rounds(&self) -> Vec<Place> {
        self.places_of_first(self.rounds)
    }

    /// The places of the first rounds, whether they were asked for or not: an earlier call may have made more.
    pub fn places_of_first(&self, rounds: u32) -> Vec<Place> {
        let count = self.members.len();
        let mut places = Vec::new();
        for round in 1..=rounds {
            for workload in 0..self.workloads.len() {
                for turn in 0..count {
                    let member = (turn + round as usize - 1) % count;
                    places.push(Place { round, workload, member: Some(member) });
                }
            }
        }
        places
    }

    /// Puts the run that decides at a place in the place of what was known of it.
    pub fn add_run(&mut self, place: Place, judgement: &Judgement, directory: String) {
        if place.member.is_some() {
            add_new(&mut self.watermarks, &judgement.watermarks);
        }
        let (verdict, reason) = (judgement.verdict, judgement.reason.clone());
        let figures = RunFigures::from_judgement(judgement);
        self.runs.retain(|run| run.place != place);
        self.runs.push(SuiteRun { place, verdict, reason, directory, figures });
        self.runs.sort_by_key(|run| run.place);
    }

    /// The runs that it has, each with its place.
    pub fn known_runs(&self) -> impl Iterator<Item = (Place, Evidence)> {
        self.runs.iter().map(|run| (run.place, self.aside.evidence_of_run(&run.directory, run.verdict, &run.reason)))
    }

    /// The run at a place whose figures are those of its target: nothing failed in it, and it proves something.
    pub(crate) fn usable_run_at(&self, place: Place) -> Option<&SuiteRun> {
        self.runs.iter().find(|run| run.place == place && self.is_usable(run))
    }

    fn is_usable(&self, run: &SuiteRun) -> bool {
        let failed = self.aside.failures.iter().any(|failure| failure.directory == run.directory);
        !failed && matches!(run.verdict, Verdict::Pass | Verdict::Fail)
    }

    /// The runs on members from which no figure is taken.
    pub(crate) fn unusable_runs(&self) -> impl Iterator<Item = &SuiteRun> {
        self.runs.iter().filter(|run| run.place.member.is_some() && !self.is_usable(run))
    }

    /// `mailspool on cephfs, round 2`.
    pub fn place_in_words(&self, place: Place) -> String {
        let workload = self.workloads.get(place.workload).map_or("", |workload| workload.name.as_str());
        match place.member.and_then(|member| self.members.get(member)) {
            Some(member) if place.round > self.rounds => {
                format!("{workload} on {}, round {}", member.label, place.round)
            }
            Some(member) => format!("{workload} on {}, round {} of {}", member.label, place.round, self.rounds),
            None => format!("{workload} in memory, as a ceiling"),
        }
    }

    /// `nfs was lost at commit on nfs, round 2 of 5, and no later run was made on it: …`.
    pub fn loss_in_words(&self, lost: &LostMember) -> String {
        let LostMember { label, place, why } = lost;
        let place = self.place_in_words(*place);
        format!("{label} was lost at {place}, and no later run was made on it: {why}")
    }

    /// Whether every round was measured to its end.
    pub fn is_whole(&self) -> bool {
        let is_measured =
            |place: Place| self.runs.iter().any(|run| run.place == place && run.verdict != Verdict::Incomplete);
        self.places_of_rounds().into_iter().all(is_measured)
    }

    /// FAIL where a run on a member failed, INCOMPLETE while one is missing or was cut short, otherwise the worst verdict of the
    /// runs.
    pub fn verdict(&self) -> Verdict {
        let of_members = self.runs.iter().filter(|run| run.place.member.is_some());
        procedure::verdict_of_points(of_members.map(|run| run.verdict), !self.is_whole(), &self.aside)
    }
}

#[cfg(test)]
mod tests;
