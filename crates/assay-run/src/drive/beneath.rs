//! What counts by itself while the load runs: the disks below files and databases.

use crate::databases::Database;
use crate::host::meter::Reading;
use crate::open::targets::Targets;
use assay_device::probe::{disk_name, disk_stat, disk_under_path};
use assay_device::safety::{DevNum, Roots};
use assay_record::MeterHead;
use std::collections::BTreeMap;

/// A disk by the kernel's account of it.
#[derive(Debug)]
pub struct Disk {
    number: DevNum,
    name: String,
    holds: String,
}

/// The kind of meter that a disk is.
const DISK: &str = "disk";
/// The names of a disk's counters.
const OF_A_DISK: [&str; 8] =
    ["reads", "read_bytes", "read_ns", "writes", "written_bytes", "write_ns", "flushes", "flush_ns"];
/// The words for the content of a disk that the command line names.
const AS_NAMED: &str = "the database, as --disk says";
const SECTOR: u64 = 512;
const MILLISECOND: u64 = 1_000_000;

impl Disk {
    /// The disk with this number, where the kernel counts for it; `holds` says what it is there for.
    pub fn new(number: DevNum, holds: &str) -> Option<Disk> {
        let roots = Roots::of_machine();
        disk_stat(&roots, number)?;
        Some(Disk { number, name: disk_name(&roots, number)?, holds: holds.to_owned() })
    }
}

impl Reading for Disk {
    fn meter_head(&self) -> MeterHead {
        MeterHead {
            name: self.name.clone(),
            kind: DISK.to_owned(),
            holds: self.holds.clone(),
            counters: OF_A_DISK.map(str::to_owned).to_vec(),
            ..MeterHead::default()
        }
    }

    fn read_totals(&mut self) -> Option<Vec<u64>> {
        let stat = disk_stat(&Roots::of_machine(), self.number)?;
        let flushes = (stat.flushes.unwrap_or(0), stat.flush_ms.unwrap_or(0).saturating_mul(MILLISECOND));
        Some(vec![
            stat.reads,
            stat.read_sectors.saturating_mul(SECTOR),
            stat.read_ms.saturating_mul(MILLISECOND),
            stat.writes,
            stat.write_sectors.saturating_mul(SECTOR),
            stat.write_ms.saturating_mul(MILLISECOND),
            flushes.0,
            flushes.1,
        ])
    }
}

/// The disks below a run with their content, each disk once.
#[derive(Default)]
struct DisksWithContent(BTreeMap<DevNum, Vec<String>>);

impl DisksWithContent {
    fn add_content(&mut self, disk: Option<DevNum>, what: &str) {
        disk.into_iter().for_each(|disk| self.0.entry(disk).or_default().push(what.to_owned()));
    }

    fn into_readings(self, several: impl Fn(&[String]) -> String) -> Vec<Box<dyn Reading>> {
        let mut readings: Vec<Box<dyn Reading>> = Vec::new();
        for (number, held) in self.0 {
            let holds = if let [one] = &held[..] { one.clone() } else { several(&held) };
            if let Some(disk) = Disk::new(number, &holds) {
                readings.push(Box::new(disk));
            }
        }
        readings
    }
}

/// The disks below files among the first `n` targets, and below a database, where `named` are those that were named. A
/// device among the targets counts for itself.
fn disks_below(targets: &Targets, n: usize, named: &[DevNum]) -> Vec<Box<dyn Reading>> {
    let mut holding = DisksWithContent::default();
    let databases = &targets.all_databases()[..targets.all_databases().len().min(n)];
    if !databases.is_empty() {
        let several = databases.len() > 1;
        let mut servers: Vec<Box<dyn Reading>> = Vec::new();
        for database in databases {
            let of = if several { format!(" of {}", database.url_name()) } else { String::new() };
            let mut held: BTreeMap<Option<DevNum>, Vec<&str>> = BTreeMap::new();
            for (disk, what) in disks_of_database(database) {
                let held = held.entry(disk).or_default();
                if !held.contains(&what) {
                    held.push(what);
                }
            }
            for (disk, what) in held {
                holding.add_content(disk, &format!("{}{of}", what.join(" and ")));
            }
            servers.extend(database.server_meter().map(|reading| {
                if several { Box::new(NamedReading { reading, name: database.url_name().to_owned() }) } else { reading }
            }));
        }
        for disk in named {
            if !holding.0.contains_key(disk) {
                holding.add_content(Some(*disk), AS_NAMED);
            }
        }
        return servers.into_iter().chain(holding.into_readings(|held| held.join(", "))).collect();
    }
    for real in targets.real_targets().iter().take(n).filter(|real| real.disk.is_none()) {
        holding.add_content(real.under, &real.name);
    }
    holding.into_readings(|held| format!("{} files", held.len()))
}

/// The disk below each place of a database on this machine, where it is known, with what it holds.
fn disks_of_database(database: &Database) -> Vec<(Option<DevNum>, &'static str)> {
    let roots = Roots::of_machine();
    database.storage_places().into_iter().map(|(place, what)| (disk_under_path(&roots, &place), what)).collect()
}

/// A counter of one of several databases, with its name.
struct NamedReading {
    reading: Box<dyn Reading>,
    name: String,
}

impl Reading for NamedReading {
    fn meter_head(&self) -> MeterHead {
        MeterHead { holds: self.name.clone(), ..self.reading.meter_head() }
    }

    fn read_totals(&mut self) -> Option<Vec<u64>> {
        self.reading.read_totals()
    }
}

/// Something that counts by itself, with its last reading.
struct Read {
    reading: Box<dyn Reading>,
    before: Option<Vec<u64>>,
}

impl Read {
    /// By how much each counter rose since the last reading that succeeded; nothing where it cannot be read now, and where
    /// it began anew.
    fn take_increase(&mut self) -> Vec<u64> {
        let Some(now) = self.reading.read_totals() else { return Vec::new() };
        let before = self.before.replace(now.clone());
        before.and_then(|before| counter_rises(&now, &before)).unwrap_or_default()
    }
}

/// All that counts by itself in a run.
pub(crate) struct Beneath(Vec<Read>);

impl Beneath {
    /// Counts nothing yet.
    pub(crate) fn none() -> Beneath {
        Beneath(Vec::new())
    }

    /// The place of a disk among what is counted; one that is not there is counted from now on. `None` where the kernel does
    /// not count for it.
    pub(crate) fn place_of_disk(&mut self, number: DevNum, holds: &str) -> Option<u16> {
        let disk = Disk::new(number, holds)?;
        let is_disk = |read: &Read| {
            let head = read.reading.meter_head();
            head.kind == DISK && head.name == disk.name
        };
        if let Some(place) = self.0.iter().position(is_disk) {
            return Some(place as u16);
        }
        let mut read = Read { reading: Box::new(disk), before: None };
        read.take_increase();
        self.0.push(read);
        Some((self.0.len() - 1) as u16)
    }

    /// Starts counting now what belongs to the first `n` targets.
    pub(super) fn new(targets: &Targets, n: usize, named: &[DevNum]) -> Beneath {
        Beneath::from_readings(disks_below(targets, n, named))
    }

    /// A warning that nothing counts the disk of a database; `None` if all are counted.
    pub(super) fn lacks_disk(&self, targets: &Targets) -> Option<String> {
        let known = self.meter_heads().iter().any(|head| head.kind == DISK);
        let databases = targets.all_databases().iter();
        let lacking =
            databases.filter(|database| !known || disks_of_database(database).iter().all(|(disk, _)| disk.is_none()));
        let named = self.meter_heads().iter().any(|head| head.holds == AS_NAMED);
        let lacking = lacking.map(Database::url_name).collect::<Vec<_>>().join(", ");
        (!lacking.is_empty() && !named).then(|| {
            format!(
                "the disk of {lacking} is not known on this machine, so that the report lacks what it did; name it with --disk"
            )
        })
    }

    fn from_readings(readings: Vec<Box<dyn Reading>>) -> Beneath {
        let mut beneath = Beneath(readings.into_iter().map(|reading| Read { reading, before: None }).collect());
        beneath.sample_rises();
        beneath
    }

    pub(crate) fn meter_heads(&self) -> Vec<MeterHead> {
        self.0.iter().map(|counter| counter.reading.meter_head()).collect()
    }

    /// The rise of each counter of each of them.
    pub(crate) fn sample_rises(&mut self) -> Vec<Vec<u64>> {
        self.0.iter_mut().map(Read::take_increase).collect()
    }
}

/// None where a counter fell: what counts was started anew.
fn counter_rises(now: &[u64], before: &[u64]) -> Option<Vec<u64>> {
    now.iter().zip(before).map(|(now, before)| now.checked_sub(*before)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives these totals one after the other.
    struct Given(Vec<Option<Vec<u64>>>);

    impl Reading for Given {
        fn meter_head(&self) -> MeterHead {
            MeterHead { name: "given".into(), counters: vec!["reads".into()], ..MeterHead::default() }
        }
        fn read_totals(&mut self) -> Option<Vec<u64>> {
            self.0.remove(0)
        }
    }

    #[test]
    fn what_cannot_be_read_is_in_the_next_reading_and_what_began_anew_in_none() {
        let given = [Some(5), Some(7), None, Some(12), Some(2), Some(3)].map(|total| total.map(|total| vec![total]));
        let mut beneath = Beneath::from_readings(vec![Box::new(Given(given.to_vec()))]);
        assert_eq!(beneath.meter_heads().len(), 1);
        let read: Vec<Vec<Vec<u64>>> = (0..5).map(|_| beneath.sample_rises()).collect();
        assert_eq!(read, [vec![vec![2]], vec![vec![]], vec![vec![5]], vec![vec![]], vec![vec![1]]]);
    }

    #[test]
    fn a_disk_that_is_not_there_counts_nothing() {
        assert!(Disk::new(DevNum { major: 4094, minor: 9 }, "data").is_none());
    }
}
