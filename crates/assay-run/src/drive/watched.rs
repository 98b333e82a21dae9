//! The disks that serve the targets of a run, and what others do on them: the disks' own counters, less what the run made
//! them do ([0080](../../../../docs/decisions/0080-others-on-the-disk.md)).

mod busiest;
mod own;
mod ways;

use super::sampler::{Reading, Sampler};
use crate::open::targets::Targets;
use assay_base::Instant;
use assay_device::probe::DiskStat;
use assay_device::safety::{DevNum, Roots};
use assay_model::Plan;
use assay_record::{CacheCounters, DiskCounters, DiskWork, ForeignAccount, ForeignLoad, Interval, WatchedDisk};
use own::{Flows, MILLISECOND};
use std::path::Path;
use ways::{DiskPath, ways_of_run};

pub(super) use busiest::Neighbours;

/// Bytes of a sector in the kernel's counters.
const SECTOR: u64 = 512;

/// One disk, or several whose counters are only compared together.
struct DiskGroup {
    head: WatchedDisk,
    /// Places in the list of all disks.
    disks: Vec<usize>,
    /// Places in the list of ways: those that reach one of its disks.
    ways: Vec<usize>,
    /// Whether the kernel measures the time of its operations precisely.
    is_timed: bool,
    account: ForeignAccount,
}

/// All that is watched in a run.
pub(super) struct Watched {
    ways: Vec<DiskPath>,
    stations: Vec<DiskGroup>,
    devices: Vec<DevNum>,
    /// The place of each target's own device in the list of all disks.
    own_device: Vec<Option<usize>>,
    flows: Flows,
    unwatched: Vec<String>,
    before: Reading,
    log_bytes: u64,
}

/// The counters of the run beside its operations, for an interval.
pub(super) struct CountersBesideOperations<'a> {
    /// The work of the cache before the targets.
    pub(super) cache: Option<&'a CacheCounters>,
    /// Bytes that the run has written to its log so far.
    pub(super) log_bytes: u64,
}

impl Watched {
    /// Finds the disks that serve the targets of a plan, and its cache device; `log` is the path of the run's log.
    pub(super) fn new(plan: &Plan, targets: &Targets, log: &Path) -> Watched {
        let roots = Roots::of_machine();
        let found = ways_of_run(&roots, plan, targets, log);
        let mut devices: Vec<DevNum> = found.ways.iter().flat_map(|way| way.served.disks.iter().copied()).collect();
        devices.extend(targets.real_targets().iter().take(plan.load.targets.into()).filter_map(|real| real.disk));
        devices.sort();
        devices.dedup();
        let own_device = targets.real_targets().iter().take(plan.load.targets.into());
        let own_device =
            own_device.map(|real| real.disk.as_ref().and_then(|device| devices.binary_search(device).ok())).collect();
        let mut watched = Watched {
            stations: Vec::new(),
            own_device,
            flows: Flows::new(plan, targets),
            unwatched: found.unwatched,
            before: Reading { at: Instant::ZERO, disks: Vec::new() },
            log_bytes: 0,
            ways: found.ways,
            devices,
        };
        watched.stations = watched.make_stations(&roots, plan.load.targets);
        watched
    }

    /// Watches nobody, for this reason.
    pub(super) fn watch_nobody(&mut self, why: String) {
        self.stations.clear();
        self.ways.clear();
        self.unwatched.push(why);
    }

    /// A station for each set of disks to which a way leads. The log's own way explains what the run writes, and makes none.
    fn make_stations(&self, roots: &Roots, targets: u16) -> Vec<DiskGroup> {
        let mut stations: Vec<DiskGroup> = Vec::new();
        for way in self.ways.iter().filter(|way| way.targets_served(targets).next().is_some()) {
            let disks: Vec<usize> =
                way.served.disks.iter().filter_map(|device| self.devices.binary_search(device).ok()).collect();
            let known = stations.iter_mut().find(|station| station.disks == disks);
            if let Some(known) = known {
                known.head.targets.extend(way.targets_served(targets));
                known.head.targets.sort_unstable();
                known.head.targets.dedup();
                known.head.beneath &= way.is_beneath;
                continue;
            }
            stations.push(self.make_station(roots, way, disks, targets));
        }
        stations
    }

    fn make_station(&self, roots: &Roots, way: &DiskPath, disks: Vec<usize>, targets: u16) -> DiskGroup {
        let reaches = |other: &DiskPath| other.served.disks.iter().any(|disk| way.served.disks.contains(disk));
        let ways: Vec<usize> = (0..self.ways.len()).filter(|at| reaches(&self.ways[*at])).collect();
        let credit = ways.iter().map(|at| self.ways[*at].most_credit()).fold(DiskWork::default(), DiskWork::sum_with);
        let head = WatchedDisk {
            name: ways::name_of(roots, &way.served.disks),
            targets: way.targets_served(targets).collect(),
            beneath: way.is_beneath,
        };
        let is_timed = way.served.disks.iter().all(|disk| ways::is_timed(roots, *disk));
        DiskGroup { head, disks, ways, is_timed, account: ForeignAccount::new(credit) }
    }

    /// The disks whose counters are read.
    pub(super) fn counted_disks(&self) -> Vec<DevNum> {
        self.devices.clone()
    }

    /// The processes that work for the run, besides its own.
    pub(super) fn working_processes(&self) -> Vec<u32> {
        self.ways.iter().flat_map(DiskPath::process_ids).collect()
    }

    /// The disks that are watched, for the header of the log.
    pub(super) fn disk_heads(&self) -> Vec<WatchedDisk> {
        self.stations.iter().map(|station| station.head.clone()).collect()
    }

    /// The disks that are not watched, and why.
    pub(super) fn unwatched_disks(&self) -> &[String] {
        &self.unwatched
    }

    /// Counts from now on; nothing may be in flight.
    pub(super) fn begin_counting(&mut self, sampler: &Sampler, now: impl Fn() -> Instant, log_bytes: u64) {
        self.before = sampler.read_disks(now);
        self.log_bytes = log_bytes;
        self.ways.iter_mut().for_each(DiskPath::begin_counting);
    }

    /// The counters of the targets' own devices in an interval, and the load of others on all disks.
    pub(super) fn counters_and_foreign_load(
        &mut self,
        reading: Reading,
        interval: &Interval,
        beside: &CountersBesideOperations<'_>,
    ) -> (Vec<DiskCounters>, Vec<ForeignLoad>) {
        let before = std::mem::replace(&mut self.before, reading);
        let rose: Vec<Option<DiskStat>> = (0..self.devices.len()).map(|at| self.risen_counters(at, &before)).collect();
        let log_bytes = beside.log_bytes.saturating_sub(self.log_bytes);
        self.log_bytes = beside.log_bytes;
        let late_ns = self.before.at.as_ns().saturating_sub(interval.end_ns);
        let made = own::IntervalWork { interval, cache: beside.cache, log_bytes, late_ns };
        self.ways.iter_mut().for_each(|way| way.count_interval(&self.flows, &made));
        let disks = self.own_device.iter().enumerate();
        let disks = disks.filter_map(|(target, at)| Some(disk_counters(target as u16, &rose[(*at)?]?))).collect();
        let (ways, stations) = (&self.ways, &mut self.stations);
        let foreign = stations.iter_mut().enumerate();
        let foreign = foreign.filter_map(|(at, station)| station.foreign_load(at as u16, ways, &rose)).collect();
        self.keep_unread(before);
        (disks, foreign)
    }

    fn risen_counters(&self, at: usize, before: &Reading) -> Option<DiskStat> {
        self.before.disks.get(at)?.as_ref()?.rise_since(before.disks.get(at)?.as_ref()?)
    }

    /// A disk that could not be read now is compared with its last reading next time.
    fn keep_unread(&mut self, before: Reading) {
        for (now, before) in self.before.disks.iter_mut().zip(before.disks) {
            if now.is_none() {
                *now = before;
            }
        }
    }
}

impl DiskGroup {
    /// The load of others; `None` if there is none.
    fn foreign_load(&mut self, number: u16, ways: &[DiskPath], rose: &[Option<DiskStat>]) -> Option<ForeignLoad> {
        let own = self.ways.iter().map(|at| ways[*at].own_work()).fold(own::no_work(), own::sum_work);
        let counted =
            self.disks.iter().map(|at| rose[*at].as_ref().map(|rose| work_from_counters(rose, self.is_timed)));
        let counted = counted.sum_of_all();
        let by_bytes = self.ways.iter().any(|at| ways[*at].counts_bytes_only());
        let own = if by_bytes { own::without_operations(own, counted) } else { own };
        let foreign = self.account.account_interval(counted, &own);
        ForeignLoad::new(number, foreign, counted?)
    }
}

/// The sum of works, all of which must be known.
trait SumOfAll {
    fn sum_of_all(self) -> Option<DiskWork>;
}

impl<I: Iterator<Item = Option<DiskWork>>> SumOfAll for I {
    fn sum_of_all(mut self) -> Option<DiskWork> {
        self.try_fold(DiskWork::default(), |sum, work| Some(sum.sum_with(work?)))
    }
}

/// The work of a disk, from its counters. Requests that were merged with others were operations too.
fn work_from_counters(rose: &DiskStat, is_timed: bool) -> DiskWork {
    let milliseconds = [Some(rose.read_ms), Some(rose.write_ms), rose.discard_ms, rose.flush_ms];
    let time = milliseconds.into_iter().flatten().fold(0, u64::saturating_add).saturating_mul(MILLISECOND);
    DiskWork {
        reads: rose.reads.saturating_add(rose.read_merges),
        read_bytes: rose.read_sectors.saturating_mul(SECTOR),
        writes: rose.writes.saturating_add(rose.write_merges),
        written_bytes: rose.write_sectors.saturating_mul(SECTOR),
        discards: rose.discards.unwrap_or(0),
        flushes: rose.flushes.unwrap_or(0),
        time_ns: if is_timed { time } else { 0 },
    }
}

fn disk_counters(target: u16, rose: &DiskStat) -> DiskCounters {
    DiskCounters {
        target,
        reads: rose.reads,
        read_bytes: rose.read_sectors.saturating_mul(SECTOR),
        writes: rose.writes,
        written_bytes: rose.write_sectors.saturating_mul(SECTOR),
        flushes: rose.flushes.unwrap_or(0),
    }
}
