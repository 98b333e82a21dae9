//! The ways on which the run reaches disks: each target, the cache device, the log, and databases by their processes.

use super::own::{self, Flows, IntervalWork};
use crate::cache::page_cache;
use crate::databases::Database;
use crate::open::targets::{RealTarget, Targets};
use assay_device::probe::{
    Beneath, FanOut, ServingDisks, beneath_device, beneath_file, disk_name, of_another_host, pieces_of, process_io,
};
use assay_device::safety::{DevNum, Roots};
use assay_model::Plan;
use assay_record::{DiskWork, OwnWork};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Of more disks than this the names are not listed.
const NAMED: usize = 3;

/// The traffic on a way.
enum Traffic {
    /// Operations of the run.
    Own(Load),
    /// Whatever these processes read and write, for the target with this index.
    Processes { target: u16, of: Account, before: Option<(u64, u64)>, since: (u64, u64) },
}

/// Operations of the run.
#[derive(Clone, Copy)]
enum Load {
    /// Those on the target with this index.
    Target(u16),
    /// Those of the cache on its own device.
    Cache,
    /// The lines of the log.
    Log,
}

/// Whose reads and writes are those of a database.
pub(super) enum Account {
    /// This process: the database is a library.
    Ourselves,
    /// The processes whose working directory is one of these: a server on this machine.
    WorkingIn(Vec<PathBuf>),
}

/// One way of the run to disks.
pub(super) struct DiskPath {
    traffic: Traffic,
    pub(super) served: ServingDisks,
    /// Whether it leads through something else first.
    pub(super) is_beneath: bool,
    own: OwnWork,
}

/// The ways that were found before the run.
pub(super) struct FoundPaths {
    pub(super) ways: Vec<DiskPath>,
    pub(super) unwatched: Vec<String>,
}

impl DiskPath {
    fn new(traffic: Traffic, served: ServingDisks, is_beneath: bool) -> DiskPath {
        DiskPath { traffic, served, is_beneath, own: own::no_work() }
    }

    /// The targets whose operations need the disks of this way, of so many in the run.
    pub(super) fn targets_served(&self, targets: u16) -> impl Iterator<Item = u16> + use<> {
        match self.traffic {
            Traffic::Own(Load::Target(target)) | Traffic::Processes { target, .. } => target..target + 1,
            Traffic::Own(Load::Cache) => 0..targets,
            Traffic::Own(Load::Log) => 0..0,
        }
    }

    /// Whether the number of its operations is not known, only their bytes.
    pub(super) fn counts_bytes_only(&self) -> bool {
        matches!(self.traffic, Traffic::Processes { .. })
    }

    /// The most that may be expected of what the run causes and does not issue.
    pub(super) fn most_credit(&self) -> DiskWork {
        match self.traffic {
            Traffic::Processes { .. } => own::UNLIMITED,
            _ if self.served.through_memory => own::UNLIMITED,
            _ if self.served.through_file_system => own::JOURNAL,
            _ => DiskWork::default(),
        }
    }

    /// Counts from now on.
    pub(super) fn begin_counting(&mut self) {
        if let Traffic::Processes { of, before, .. } = &mut self.traffic {
            *before = of.bytes_moved();
        }
    }

    /// Takes what the run did in an interval.
    pub(super) fn count_interval(&mut self, flows: &Flows, made: &IntervalWork<'_>) {
        if let Traffic::Processes { of, before, since, .. } = &mut self.traffic {
            let now = of.bytes_moved();
            let rose =
                now.zip(*before).map(|(now, before)| (now.0.saturating_sub(before.0), now.1.saturating_sub(before.1)));
            *since = rose.unwrap_or_default();
            *before = now.or(*before);
        }
        self.own = match &self.traffic {
            Traffic::Own(Load::Target(target)) => flows.on_target(*target, &self.served, made),
            Traffic::Own(Load::Cache) => flows.of_cache(&self.served, made),
            Traffic::Own(Load::Log) => own::of_log(made),
            Traffic::Processes { since, .. } => own::of_processes(since.0, since.1),
        };
    }

    /// The processes whose reads and writes are those of the run, besides the run's own.
    pub(super) fn process_ids(&self) -> Vec<u32> {
        match &self.traffic {
            Traffic::Processes { of: Account::WorkingIn(dirs), .. } => working_in(&Roots::of_machine(), dirs),
            _ => Vec::new(),
        }
    }

    /// The work that it caused on the disks in the last interval that was counted.
    pub(super) fn own_work(&self) -> OwnWork {
        self.own
    }
}

impl Account {
    /// Bytes that its processes have read and written; `None` where there are none, or they may not be seen.
    fn bytes_moved(&self) -> Option<(u64, u64)> {
        let roots = Roots::of_machine();
        let pids = match self {
            Account::Ourselves => vec![std::process::id()],
            Account::WorkingIn(dirs) => working_in(&roots, dirs),
        };
        let all = pids.into_iter().filter_map(|pid| process_io(&roots, pid));
        all.map(|io| (io.read_bytes, io.written_bytes))
            .reduce(|a, b| (a.0.saturating_add(b.0), a.1.saturating_add(b.1)))
    }
}

/// The processes with one of these working directories. A server of a database works in the directory of its data, and
/// gets the figures of each of its processes that ends.
fn working_in(roots: &Roots, dirs: &[PathBuf]) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir(&roots.proc) else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path())));
    let working = pids.filter(|(_, path)| std::fs::read_link(path.join("cwd")).is_ok_and(|cwd| dirs.contains(&cwd)));
    working.map(|(pid, _)| pid).collect()
}

/// All ways of a run.
pub(super) fn ways_of_run(roots: &Roots, plan: &Plan, targets: &Targets, log: &Path) -> FoundPaths {
    let mut found = FoundPaths { ways: Vec::new(), unwatched: Vec::new() };
    for (at, real) in targets.real_targets().iter().enumerate() {
        let load = match u16::try_from(at) {
            Ok(target) if target < plan.load.targets => Load::Target(target),
            Ok(target) if target == plan.load.targets && plan.caches.device.is_some() => Load::Cache,
            _ => break,
        };
        found.of_target(roots, real, page_cache::is_cached(plan, at), load);
    }
    for (target, database) in (0..plan.load.targets).zip(targets.all_databases()) {
        found.of_database(roots, database, target);
    }
    if !found.ways.is_empty()
        && let Beneath::Disks(served) = beneath_file(roots, &nearest_existing(log))
    {
        found.ways.push(DiskPath::new(Traffic::Own(Load::Log), served, true));
    }
    found
}

impl FoundPaths {
    fn of_target(&mut self, roots: &Roots, real: &RealTarget, is_cached: bool, load: Load) {
        let beneath = match real.disk {
            Some(device) => {
                let pieces = pieces_of(roots, device);
                let (disks, fan_out) = (vec![device], FanOut::ONE);
                let itself = ServingDisks { disks, fan_out, pieces, through_file_system: false, through_memory: false };
                self.add_way(roots, DiskPath::new(Traffic::Own(load), itself, false));
                beneath_device(roots, device)
            }
            None => beneath_file(roots, real.real_path()),
        };
        match beneath {
            Beneath::Nothing => {}
            Beneath::Unknown(why) => self.unwatched.push(format!("{}: {why}", real.name)),
            Beneath::Disks(served) => {
                let through_memory = served.through_memory || is_cached || real.is_buffered();
                self.add_way(roots, DiskPath::new(Traffic::Own(load), ServingDisks { through_memory, ..served }, true));
            }
        }
    }

    /// The disks of a database, whose own reads and writes are those of its processes.
    fn of_database(&mut self, roots: &Roots, database: &Database, target: u16) {
        let places: BTreeSet<PathBuf> =
            database.storage_places().into_iter().map(|(place, _)| nearest_existing(&place)).collect();
        if places.is_empty() {
            self.unwatched.push(format!("{}: its disks are not known on this machine", database.url_name()));
        }
        let mut disks = Vec::new();
        for place in &places {
            match beneath_file(roots, place) {
                Beneath::Disks(served) if !disks.contains(&served.disks) => {
                    disks.push(served.disks.clone());
                    let is_library = place.is_file();
                    let of = if is_library {
                        Account::Ourselves
                    } else {
                        Account::WorkingIn(places.iter().cloned().collect())
                    };
                    if of.bytes_moved().is_none() {
                        self.unwatched
                            .push(format!("{}: the processes of its server cannot be seen", database.url_name()));
                        return;
                    }
                    let traffic = Traffic::Processes { target, of, before: None, since: (0, 0) };
                    self.add_way(roots, DiskPath::new(traffic, ServingDisks { through_memory: true, ..served }, true));
                }
                Beneath::Disks(_) | Beneath::Nothing => {}
                Beneath::Unknown(why) => self.unwatched.push(format!("{}: {why}", database.url_name())),
            }
        }
    }

    fn add_way(&mut self, roots: &Roots, way: DiskPath) {
        let silent = way.served.disks.iter().find(|disk| !is_counted(roots, **disk));
        let remote = way.served.disks.iter().find_map(|disk| of_another_host(roots, *disk));
        let known: BTreeSet<String> = self.unwatched.drain(..).chain(remote).collect();
        self.unwatched = known.into_iter().collect();
        match silent.map(|disk| name_of(roots, &[*disk])) {
            Some(name) => {
                self.unwatched.push(format!("{name}: the kernel does not count what it does (queue/iostats is 0)"))
            }
            None => self.ways.push(way),
        }
    }
}

/// The longest beginning of a path that exists, without links.
fn nearest_existing(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    whole.ancestors().find_map(|part| part.canonicalize().ok()).unwrap_or(whole)
}

fn queue_directory(roots: &Roots, device: DevNum) -> Option<PathBuf> {
    let dir = roots.sys.join(format!("dev/block/{device}")).canonicalize().ok()?;
    let disk = if dir.join("partition").exists() { dir.parent()?.to_path_buf() } else { dir };
    Some(disk)
}

/// Whether the kernel counts what a disk does. Where nothing says so, it does.
fn is_counted(roots: &Roots, device: DevNum) -> bool {
    let text = queue_directory(roots, device).and_then(|dir| std::fs::read_to_string(dir.join("queue/iostats")).ok());
    text.is_none_or(|text| text.trim() != "0")
}

/// Whether the kernel measures the time of each request of a disk to the nanosecond. Devices without request queues have
/// times in ticks of the kernel's clock.
pub(super) fn is_timed(roots: &Roots, device: DevNum) -> bool {
    queue_directory(roots, device).is_some_and(|dir| dir.join("mq").is_dir())
}

/// The kernel's names of disks.
pub(super) fn name_of(roots: &Roots, disks: &[DevNum]) -> String {
    let listed = disks.iter().take(NAMED);
    let named: Vec<String> = listed.map(|disk| disk_name(roots, *disk).unwrap_or_else(|| disk.to_string())).collect();
    match disks.len().saturating_sub(NAMED) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}
