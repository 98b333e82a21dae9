//! Which part of a load is carried here, where it comes from several ranks.

use crate::failure::Failure;
use assay_base::{Geometry, Instant, Prng};
use assay_device::clock::Clock;
use assay_model::Plan;
use assay_model::arrival::Part;
use assay_model::files::PartOfClients;
use assay_model::hosts::PlaceAmong;
use assay_record::{DiskCounters, HostClock, HostHead};
use std::sync::Arc;

/// Which rank this is, and which parts of the load it carries. What part i of P does is what worker i of P workers of one process
/// does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankPlace {
    /// Its number, from 0.
    pub rank: u32,
    /// Name of its host.
    pub host: String,
    /// Which boot of it.
    pub boot: String,
    /// The first part that it carries.
    pub first_part: u64,
    /// How many parts it carries.
    pub parts: u64,
    /// How many parts there are, on all ranks that carry the load of the same targets.
    pub all_parts: u64,
    /// Its place among all ranks.
    pub among_ranks: PlaceAmong,
    /// The place of its host among all hosts.
    pub among_hosts: PlaceAmong,
}

/// The share that a rank carries, and how it begins with the others.
#[derive(Clone, Debug)]
pub struct RankShare {
    /// Its place among the ranks.
    pub place: RankPlace,
    /// What is known of the clock of rank 0; `None` where it is the own one.
    pub clock: Option<HostClock>,
    /// Says when a run in real time begins.
    pub start: Arc<dyn AgreeOnStart>,
    /// The other ranks that use disks of this one: what others do there is not told from what these do.
    pub beside: Vec<u32>,
}

impl RankShare {
    pub(super) fn host_head(&self) -> HostHead {
        let RankPlace { rank, first_part, parts, all_parts, .. } = self.place;
        let (name, boot) = (self.place.host.clone(), self.place.boot.clone());
        HostHead { rank, name, boot, first_part, parts, all_parts, clock: self.clock }
    }

    /// The counters of block devices that this rank alone uses, and those of devices that others of this host use too: these are
    /// counted once, by the first of them.
    pub(super) fn own_and_shared_counters(&self, counted: Vec<DiskCounters>) -> (Vec<DiskCounters>, Vec<DiskCounters>) {
        match self.beside.iter().min() {
            None => (counted, Vec::new()),
            Some(first) if *first > self.place.rank => (Vec::new(), counted),
            Some(_) => (Vec::new(), Vec::new()),
        }
    }

    /// Why the load of others on the disks cannot be told, nor flushes be counted; `None` where no other rank uses the disks.
    pub(crate) fn why_not_told_apart(&self) -> Option<String> {
        let (last, rest) = self.beside.split_last()?;
        let all = rest.iter().map(u32::to_string).collect::<Vec<String>>().join(", ");
        Some(match rest {
            [] => format!("rank {last} uses the same disks"),
            _ => format!("ranks {all} and {last} use the same disks"),
        })
    }
}

/// Agrees with the other ranks upon the moment at which the schedule of all begins.
pub trait AgreeOnStart: std::fmt::Debug + Send + Sync {
    /// Called when this rank could begin; waits until all can. The moment is on the time line of `clock`; `None` where the ranks do
    /// not begin together.
    fn agree_on_start(&self, clock: Clock) -> Option<Instant>;
}

/// Seeds of simulated devices differ from those of everything else that is drawn for a part.
const FOR_DEVICES: u64 = 0x0064_6576_6963_6573;

impl RankPlace {
    /// What this rank does of a plan whose targets have these geometries.
    ///
    /// # Errors
    /// The plan does not fit in the range that the rank has.
    pub fn plan_carried_here(&self, plan: &Plan, geometries: &[Geometry]) -> Result<Plan, Failure> {
        let carried = if plan.load.files().is_some() {
            let clients = PartOfClients { first: self.first_part, own: self.parts, all: self.all_parts };
            plan.with_clients_of(self.among_ranks, clients)
        } else {
            plan.as_carried_by(self.among_ranks, self.among_hosts, geometries)
        };
        carried.map_err(Failure::bad_workload)
    }

    /// The part of a worker, by its number on this rank.
    pub(super) fn part_of_worker(&self, worker: u64) -> Part {
        Part { index: self.first_part + worker, of: self.all_parts }
    }

    /// The seed of the simulated devices of a part: each part has its own.
    pub(super) fn seed_for_devices(seed: u64, part: Part) -> u64 {
        if part.of == 1 { seed } else { Prng::for_path(seed, &[FOR_DEVICES, part.index]).next_u64() }
    }
}
