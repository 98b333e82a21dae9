//! What a member could not do more of, whatever its storage can: the speed of the link, the processors of the client, and what the
//! same workload does in memory.

use super::figures::{LinkShare, ShareRange};
use super::{Place, Suite};
use crate::verdict::Verdict;
use assay_base::Bytes;
use serde::Serialize;

/// What was used for this share, or a larger one, is a limit.
const LIMITING: f64 = 0.9;

/// What one workload on one member came up against; the medians over its rounds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ceilings {
    /// Name of the workload.
    pub workload: String,
    /// Label of the member.
    pub label: String,
    /// What was completed each second.
    pub rate: f64,
    /// How many times as many were completed in memory; absent where there was no such run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times_in_memory: Option<f64>,
    /// See [`RunFigures::client_share`](super::RunFigures::client_share).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_share: Option<f64>,
    /// See [`RunFigures::link`](super::RunFigures::link).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkShare>,
    /// What of the files' pages was in the page cache before each phase: the lowest and the highest share of all rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached: Option<ShareRange>,
    /// What limited it, one phrase each; empty where nothing of this machine did.
    pub limited_by: Vec<String>,
}

impl Ceilings {
    /// Those of every workload on every member that has a usable run.
    pub(super) fn find_all(suite: &Suite) -> Vec<Ceilings> {
        let mut all = Vec::new();
        for workload in 0..suite.workloads.len() {
            for member in 0..suite.members.len() {
                all.extend(Ceilings::find(suite, workload, member));
            }
        }
        all
    }

    fn find(suite: &Suite, workload: usize, member: usize) -> Option<Ceilings> {
        let rounds = 1..=suite.rounds;
        let places = rounds.map(|round| Place { round, workload, member: Some(member) });
        let runs: Vec<_> = places.filter_map(|place| suite.usable_run_at(place)).collect();
        let rate = median(runs.iter().filter_map(|run| run.figures.rate).collect())?;
        let memory = suite.usable_run_at(Place { round: 0, workload, member: None });
        // A run that failed in memory had less to do, and one that follows a rate does the same everywhere.
        let memory = memory.filter(|run| run.verdict == Verdict::Pass && !run.figures.follows_a_rate);
        let in_memory = memory.and_then(|run| run.figures.rate).filter(|_| rate > 0.0);
        let times_in_memory = in_memory.map(|memory| memory / rate);
        let client_share = median(runs.iter().filter_map(|run| run.figures.client_share).collect());
        let mut links: Vec<&LinkShare> = runs.iter().filter_map(|run| run.figures.link.as_ref()).collect();
        links.sort_by(|a, b| a.share.total_cmp(&b.share));
        // Not the mean of two of them: they may be different links.
        let link = links.get(links.len() / 2).map(|link| (*link).clone());
        let cached = ShareRange::around_all(runs.iter().filter_map(|run| run.figures.cached));
        let mut limited_by = Vec::new();
        if let Some(link) = link.as_ref().filter(|link| link.share >= LIMITING) {
            let speed = Bytes::new(link.bytes_per_second).human_text();
            limited_by.push(format!("limited by the link {} ({:.0}% of {speed}/s)", link.name, link.share * 100.0));
        }
        if let Some(share) = client_share.filter(|share| *share >= LIMITING) {
            limited_by.push(format!("limited by the client ({:.0}% of its processors)", share * 100.0));
        }
        if times_in_memory.is_some_and(|times| times <= 1.0 / LIMITING) {
            limited_by.push("as fast as memory".to_owned());
        }
        let (workload, label) = (suite.workloads[workload].name.clone(), suite.members[member].label.clone());
        Some(Ceilings { workload, label, rate, times_in_memory, client_share, link, cached, limited_by })
    }
}

/// The middle of some values; `None` without values.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = *values.get(middle)?;
    Some(if values.len() % 2 == 1 { upper } else { (values[middle - 1] + upper) / 2.0 })
}
