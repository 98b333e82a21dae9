//! What the ranks agree upon before any of them issues an operation: that all of them can, that they carry the same plan, who carries
//! which parts, and where the results go. One that cannot keeps all from beginning.

use super::own_host;
use super::statements::share_statements;
use super::suited::refuse_few_slots;
use super::wording::name_ranks;
use crate::drive::RankPlace;
use crate::failure::Failure;
use crate::open::targets::Targets;
use assay_hosts::Link;
use assay_model::Plan;
use assay_model::hosts::{HostTargets, PlaceAmong};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What a rank brings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// Name of its host.
    pub host: String,
    /// Which boot of it.
    pub boot: String,
    /// Number of its process, on that host.
    pub process: u32,
    /// How many parts it carries.
    pub parts: u64,
    /// Digest of the plans of its runs.
    pub plans: String,
    /// What the name of each target leads to on that host; empty where targets are simulated.
    pub targets: Vec<String>,
}

impl Offer {
    /// Of this process, for these plans.
    pub fn of_this_process<'a>(parts: u64, plans: impl Iterator<Item = &'a Plan>, targets: Vec<String>) -> Offer {
        let (host, boot) = own_host();
        Offer { host, boot, process: std::process::id(), parts, plans: digest_of_plans(plans), targets }
    }

    /// Whether both are on one host, as ranks of one process are. One that does not say which boot it is of shares none.
    fn is_on_host_of(&self, other: &Offer) -> bool {
        let is_of_one_process = self.process == other.process && self.host == other.host && self.boot == other.boot;
        is_of_one_process || (!self.boot.is_empty() && self.boot == other.boot)
    }

    /// Whether both are on one host, and the same targets are there for both.
    fn has_same_targets(&self, other: &Offer) -> bool {
        self.is_on_host_of(other) && self.targets == other.targets
    }
}

/// All ranks of a run, which carry the same plan.
#[derive(Clone, Debug)]
pub struct AgreedRanks {
    own: usize,
    offers: Vec<Offer>,
    targets_of_hosts: HostTargets,
}

impl AgreedRanks {
    /// Of this process alone: the ranks that make these offers.
    pub fn within_process(offers: Vec<Offer>, targets_of_hosts: HostTargets) -> AgreedRanks {
        AgreedRanks { own: 0, offers, targets_of_hosts }
    }

    /// Learns what every rank brings.
    ///
    /// # Errors
    /// The failure of this rank, or that of another one, or their plans differ: the text names the rank.
    pub fn greet_all(
        link: &mut dyn Link,
        own: Result<Offer, Failure>,
        targets_of_hosts: HostTargets,
    ) -> Result<AgreedRanks, Failure> {
        let offers = share_statements(link, own)?;
        let other = offers.iter().position(|offer| offer.plans != offers[0].plans);
        if let Some(rank) = other {
            return Err(Failure::bad_usage(format!(
                "rank {rank} would carry another plan than rank 0: the command, the workload and the program must be the same on all hosts"
            )));
        }
        Ok(AgreedRanks { own: link.own_rank(), offers, targets_of_hosts })
    }

    /// The place of a rank. Where each host has targets of its own, the parts of the load are those of the ranks of a host.
    pub fn place_of_rank(&self, rank: usize) -> RankPlace {
        let carries_with = |other: usize| !self.targets_of_hosts.are_own() || self.share_a_host(other, rank);
        let parts_of_first =
            |count: usize| (0..count).filter(|other| carries_with(*other)).map(|other| self.offers[other].parts).sum();
        let Offer { host, boot, parts, .. } = self.offers[rank].clone();
        let (first_part, all_parts) = (parts_of_first(rank), parts_of_first(self.offers.len()));
        let hosts = self.first_ranks_of_hosts();
        let own_host = hosts.iter().position(|first| self.share_a_host(*first, rank)).unwrap_or(0);
        RankPlace {
            rank: rank as u32,
            host,
            boot,
            first_part,
            parts,
            all_parts,
            among_ranks: PlaceAmong { index: rank as u64, count: self.offers.len() as u64 },
            among_hosts: PlaceAmong { index: own_host as u64, count: hosts.len() as u64 },
        }
    }

    /// Whether both are on one host.
    pub fn share_a_host(&self, one: usize, other: usize) -> bool {
        one == other || self.offers[one].is_on_host_of(&self.offers[other])
    }

    /// The first rank of each host.
    pub fn first_ranks_of_hosts(&self) -> Vec<usize> {
        let is_first = |rank: &usize| (0..*rank).all(|before| !self.share_a_host(before, *rank));
        (0..self.offers.len()).filter(is_first).collect()
    }

    /// What the hosts have of the targets.
    pub fn targets_of_hosts(&self) -> HostTargets {
        self.targets_of_hosts
    }

    /// Refuses a plan of which some rank cannot carry its part on these targets: all ranks, or none.
    ///
    /// # Errors
    /// That of this rank, or of another one.
    pub fn agree_on_parts(&self, link: &mut dyn Link, plan: &Plan, targets: &Targets) -> Result<(), Failure> {
        share_statements(link, self.check_part_of_rank(self.own, plan, targets)).map(|_| ())
    }

    /// Whether a rank can carry its part of a plan on these targets.
    pub fn check_part_of_rank(&self, rank: usize, plan: &Plan, targets: &Targets) -> Result<(), Failure> {
        let geometries = targets.geometries_of_first(plan.load.targets);
        let place = self.place_of_rank(rank);
        if plan.load.files().is_some() {
            return place.plan_carried_here(plan, &geometries).map(|_| ());
        }
        refuse_few_slots(plan, place.all_parts)?;
        if plan.verification.verify && plan.hosts.are_own() && place.all_parts > place.parts {
            return Err(Failure::bad_workload(
                "several ranks of a host use its targets, and what was written there is known to one process only: start one rank on \
                 each host, or write ranges = \"disjoint\"",
            ));
        }
        place.plan_carried_here(plan, &geometries).map(|_| ())
    }

    /// The place of this rank.
    pub fn own_place(&self) -> RankPlace {
        self.place_of_rank(self.own)
    }

    /// How many ranks there are.
    pub fn rank_count(&self) -> usize {
        self.offers.len()
    }

    /// Whether this rank opens the targets for all ranks of its host that have the same ones.
    pub fn opens_first(&self) -> bool {
        let own = &self.offers[self.own];
        self.offers.iter().position(|offer| offer.has_same_targets(own)) == Some(self.own)
    }

    /// The processes of the other ranks of this host that have the same targets.
    pub fn fellow_processes(&self) -> Vec<u32> {
        let own = &self.offers[self.own];
        let fellows = self.offers.iter().filter(|offer| offer.has_same_targets(own) && offer.process != own.process);
        fellows.map(|offer| offer.process).collect()
    }

    /// Whether all ranks are on one host and have the same targets there: then it is known that they share them.
    pub fn are_on_one_host(&self) -> bool {
        self.offers.iter().all(|offer| offer.has_same_targets(&self.offers[0]))
    }

    /// The host of each rank.
    pub fn host_names(&self) -> Vec<String> {
        self.offers.iter().map(|offer| offer.host.clone()).collect()
    }

    /// The host of a rank.
    pub fn host_of_rank(&self, rank: usize) -> &str {
        &self.offers[rank].host
    }

    /// Opens targets on all ranks: first those ranks that open them for others of their host, then these.
    ///
    /// # Errors
    /// Those of this rank, or what keeps another one from opening its targets. What was opened here is closed then.
    pub fn open_in_turns<T>(
        &self,
        link: &mut dyn Link,
        open: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        if self.opens_first() {
            let opened = open();
            share_statements(link, opened.as_ref().map(|_| ()).map_err(Clone::clone))?;
            share_statements(link, Ok(()))?;
            return opened;
        }
        share_statements(link, Ok(()))?;
        let opened = open();
        share_statements(link, opened.as_ref().map(|_| ()).map_err(Clone::clone))?;
        opened
    }

    /// What the ranks have to say before the run, each text once, with the ranks that say it where these are not all.
    ///
    /// # Errors
    /// The ranks do not go on together.
    pub fn gather_remarks(&self, link: &mut dyn Link, own: Vec<String>) -> Result<Vec<String>, Failure> {
        let said = share_statements(link, Ok(own))?;
        let mut texts: Vec<(&String, Vec<usize>)> = Vec::new();
        for (rank, text) in said.iter().enumerate().flat_map(|(rank, texts)| texts.iter().map(move |text| (rank, text)))
        {
            match texts.iter_mut().find(|(known, _)| *known == text) {
                Some((_, ranks)) if ranks.last() == Some(&rank) => {}
                Some((_, ranks)) => ranks.push(rank),
                None => texts.push((text, vec![rank])),
            }
        }
        let everybody = said.len();
        let with_ranks = |(text, ranks): (&String, Vec<usize>)| match ranks.len() {
            count if count == everybody => text.clone(),
            _ => format!("{text} ({})", name_ranks(&ranks)),
        };
        Ok(texts.into_iter().map(with_ranks).collect())
    }

    /// The ranks of the same host, other than this one, that use one of these disks, by their numbers in the kernel.
    ///
    /// # Errors
    /// The ranks do not go on together.
    pub fn ranks_on_disks(&self, link: &mut dyn Link, own_disks: Vec<String>) -> Result<Vec<u32>, Failure> {
        let all = share_statements(link, Ok(own_disks))?;
        let own = &all[self.own];
        let is_beside = |rank: &usize| {
            *rank != self.own
                && self.offers[*rank].is_on_host_of(&self.offers[self.own])
                && all[*rank].iter().any(|disk| own.contains(disk))
        };
        Ok((0..all.len()).filter(is_beside).map(|rank| rank as u32).collect())
    }
}

/// The seed of rank 0.
///
/// # Errors
/// A rank has none, because it cannot plan the run.
pub fn seed_of_all(link: &mut dyn Link, own: Result<u64, Failure>) -> Result<u64, Failure> {
    Ok(share_statements(link, own)?[0])
}

/// The directory of the run, which rank 0 alone makes, once all ranks can begin.
///
/// # Errors
/// It cannot be made, or another rank has failed.
pub fn agree_on_directory(
    link: &mut dyn Link,
    make_directory: impl FnOnce() -> Result<PathBuf, Failure>,
) -> Result<PathBuf, Failure> {
    // All ranks are still there, before anything is made.
    share_statements(link, Ok(()))?;
    let made = if link.own_rank() == 0 { make_directory() } else { Ok(PathBuf::new()) };
    let mut directories = share_statements(link, made)?;
    Ok(directories.swap_remove(0))
}

/// Digest of the plans of runs.
fn digest_of_plans<'a>(plans: impl Iterator<Item = &'a Plan>) -> String {
    let mut sum = blake3::Hasher::new();
    for plan in plans {
        sum.update(&serde_json::to_vec(plan).unwrap_or_default());
    }
    sum.finalize().to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ranks on these hosts, by their boots, each with so many parts.
    fn ranks(targets_of_hosts: HostTargets, boots: &[(&str, u64)]) -> AgreedRanks {
        let offer = |(at, (boot, parts)): (usize, &(&str, u64))| Offer {
            host: format!("node-{boot}"),
            boot: (*boot).to_owned(),
            process: 100 + at as u32,
            parts: *parts,
            plans: String::new(),
            targets: vec!["device 7".to_owned()],
        };
        AgreedRanks { own: 0, offers: boots.iter().enumerate().map(offer).collect(), targets_of_hosts }
    }

    fn places(agreed: &AgreedRanks) -> Vec<(u64, u64, u64, u64)> {
        let all = (0..agreed.rank_count()).map(|rank| agreed.place_of_rank(rank));
        all.map(|place| (place.first_part, place.parts, place.all_parts, place.among_hosts.index)).collect()
    }

    #[test]
    fn parts_are_numbered_through_all_ranks_of_the_same_targets() {
        let hosts = [("a", 2), ("b", 1), ("a", 3)];
        assert_eq!(places(&ranks(HostTargets::Shared, &hosts)), [(0, 2, 6, 0), (2, 1, 6, 1), (3, 3, 6, 0)]);
        assert_eq!(places(&ranks(HostTargets::Disjoint, &hosts)), [(0, 2, 6, 0), (2, 1, 6, 1), (3, 3, 6, 0)]);
        assert_eq!(places(&ranks(HostTargets::Own, &hosts)), [(0, 2, 5, 0), (0, 1, 1, 1), (2, 3, 5, 0)]);
        assert_eq!(ranks(HostTargets::Own, &hosts).first_ranks_of_hosts(), [0, 1]);
    }

    /// Nothing is known of a host that does not say which boot it is of: it shares nothing with another one.
    #[test]
    fn a_host_without_a_boot_is_alone() {
        let agreed = ranks(HostTargets::Own, &[("", 1), ("", 1)]);
        assert_eq!(places(&agreed), [(0, 1, 1, 0), (0, 1, 1, 1)]);
        assert!(!agreed.are_on_one_host() && agreed.fellow_processes().is_empty());
        // Ranks of one process are on one host, whatever it says.
        let offer = agreed.offers[0].clone();
        let local = AgreedRanks::within_process(vec![offer; 3], HostTargets::Own);
        assert_eq!(places(&local), [(0, 1, 3, 0), (1, 1, 3, 0), (2, 1, 3, 0)]);
    }
}
