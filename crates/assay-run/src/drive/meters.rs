//! What is counted beside the operations, once per interval.

use crate::targets::Targets;
use assay_device::probe::disk_stat;
use assay_device::safety::{DevNum, Roots};
use assay_device::usage;
use assay_model::Plan;
use assay_record::{DiskCounters, HostSample};

/// Counters of the devices and of this process, as differences since the last reading.
pub(super) struct Meters {
    roots: Roots,
    disks: Vec<(u16, DevNum, DiskCounters)>,
    host: HostSample,
}

impl Meters {
    /// Starts counting now.
    pub(super) fn new(plan: &Plan, targets: &Targets) -> Meters {
        let numbered = targets.real().iter().take(usize::from(plan.targets)).enumerate();
        let disks =
            numbered.filter_map(|(target, real)| Some((target as u16, real.disk?, DiskCounters::default()))).collect();
        let mut meters = Meters { roots: Roots::host(), disks, host: HostSample::default() };
        meters.sample();
        meters
    }

    /// What was counted since the last call: by each device, and for this process.
    pub(super) fn sample(&mut self) -> (Vec<DiskCounters>, HostSample) {
        let roots = &self.roots;
        let disks = self.disks.iter_mut().filter_map(|(target, number, before)| {
            let stat = disk_stat(roots, *number)?;
            let now = DiskCounters {
                target: *target,
                reads: stat.reads,
                read_bytes: stat.read_sectors * 512,
                writes: stat.writes,
                written_bytes: stat.write_sectors * 512,
                flushes: stat.flushes.unwrap_or(0),
            };
            let since = DiskCounters {
                target: *target,
                reads: now.reads.saturating_sub(before.reads),
                read_bytes: now.read_bytes.saturating_sub(before.read_bytes),
                writes: now.writes.saturating_sub(before.writes),
                written_bytes: now.written_bytes.saturating_sub(before.written_bytes),
                flushes: now.flushes.saturating_sub(before.flushes),
            };
            *before = now;
            Some(since)
        });
        let disks = disks.collect();
        let now = HostSample {
            cpu_ns: usage::cpu_ns(),
            run_queue_ns: usage::run_queue_ns(),
            steal_ns: usage::steal_ns(),
            resident_bytes: usage::resident_bytes(),
        };
        let before = std::mem::replace(&mut self.host, now);
        let host = HostSample {
            cpu_ns: now.cpu_ns.saturating_sub(before.cpu_ns),
            run_queue_ns: now.run_queue_ns.saturating_sub(before.run_queue_ns),
            steal_ns: now.steal_ns.saturating_sub(before.steal_ns),
            resident_bytes: now.resident_bytes,
        };
        (disks, host)
    }
}
