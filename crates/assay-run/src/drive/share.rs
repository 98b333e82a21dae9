//! Which part of a load is carried here, where it comes from several ranks.

use assay_base::{Instant, Prng};
use assay_device::clock::Clock;
use assay_model::arrival::Part;
use assay_record::HostHead;
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
    /// How many parts all ranks carry.
    pub all_parts: u64,
}

/// The share that a rank carries, and how it begins with the others.
#[derive(Clone, Debug)]
pub struct RankShare {
    /// Its place among the ranks.
    pub place: RankPlace,
    /// Says when a run in real time begins.
    pub start: Arc<dyn AgreeOnStart>,
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
    /// The part of a worker, by its number on this rank.
    pub(super) fn part_of_worker(&self, worker: u64) -> Part {
        Part { index: self.first_part + worker, of: self.all_parts }
    }

    /// The seed of the simulated devices of a part: each part has its own.
    pub(super) fn seed_for_devices(seed: u64, part: Part) -> u64 {
        if part.of == 1 { seed } else { Prng::for_path(seed, &[FOR_DEVICES, part.index]).next_u64() }
    }

    pub(super) fn host_head(&self) -> HostHead {
        let RankPlace { rank, first_part, parts, all_parts, .. } = *self;
        HostHead { rank, name: self.host.clone(), boot: self.boot.clone(), first_part, parts, all_parts }
    }
}
