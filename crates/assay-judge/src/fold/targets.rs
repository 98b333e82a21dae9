//! What was done to each target in all phases, what its block device counted meanwhile, and what it reports about its
//! health.

use crate::finding::target::TargetFinding;
use crate::fold::layout::Layout;
use crate::fold::notes::Notes;
use crate::judgement::{DiskCount, DiskTotals, Health, LatenessTotals, TargetTotals};
use crate::rules::disk::mismatch_share;
use assay_base::Direction;
use assay_record::{Event, FlowInterval, Header, Interval, TargetHead};
use std::collections::BTreeMap;

/// What a block device and the run itself counted over the same intervals.
#[derive(Clone, Copy, Debug, Default)]
struct TargetSums {
    /// Bytes that the run read.
    read_bytes: u64,
    /// Bytes that the run wrote.
    written_bytes: u64,
    /// The device's counters and the run's own, over the intervals that have device counters.
    disk: DiskTotals,
    /// Reads whose data were checked for blank blocks.
    sampled: u64,
    /// The checked reads that found a block that was never written.
    blank: u64,
    /// True when any interval had device counters.
    counted: bool,
    /// Upper bound on the delay of the schedule by the generator since the segment began: given idle, and the largest
    /// shift.
    idle_ns: u64,
    /// See `idle_ns`.
    shift_ns: u64,
}

impl TargetSums {
    /// An operation that is neither a read nor a write has no bytes and no part in the device's counters.
    fn add_flow(&mut self, flow: &FlowInterval, direction: Option<Direction>, with_disk: bool) {
        let Some(direction) = direction else { return };
        let writes = direction == Direction::Write;
        add_saturating(if writes { &mut self.written_bytes } else { &mut self.read_bytes }, flow.bytes);
        add_saturating(&mut self.sampled, flow.sampled);
        add_saturating(&mut self.blank, flow.blank);
        if with_disk {
            let own = if writes { &mut self.disk.own_writes } else { &mut self.disk.own_reads };
            *own = own.sum_with(DiskCount { operations: flow.ended_operations(), bytes: flow.bytes });
        }
    }
}

/// How many reads of a flow completed, and the data of how many were checked for blank blocks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BlankCheck {
    /// Completed reads.
    pub(crate) read: u64,
    /// Checked reads.
    pub(crate) seen: u64,
}

/// The targets of a step.
#[derive(Clone, Debug)]
pub(crate) struct Targets {
    sums: Vec<TargetSums>,
    health: Vec<Option<Health>>,
    /// One for each flow.
    pub(crate) looked: Vec<BlankCheck>,
    /// Errors of the device of a cache.
    pub(crate) cache_errors: u64,
}

impl Targets {
    /// The state before the first interval.
    pub(crate) fn new(layout: &Layout) -> Targets {
        let targets = layout.targets.len();
        Targets {
            sums: vec![TargetSums::default(); targets],
            health: vec![None; targets],
            looked: vec![BlankCheck::default(); layout.flows.len()],
            cache_errors: 0,
        }
    }

    /// Begins another segment: the delay by its generator is counted anew.
    pub(crate) fn continue_with_segment(&mut self) {
        self.sums.iter_mut().for_each(|sums| (sums.idle_ns, sums.shift_ns) = (0, 0));
    }

    /// Adds an interval of any phase.
    pub(crate) fn add_interval(&mut self, interval: &Interval, layout: &Layout) {
        for (looked, flow) in self.looked.iter_mut().zip(&interval.flows) {
            add_saturating(&mut looked.read, flow.ok);
            add_saturating(&mut looked.seen, flow.sampled);
        }
        add_saturating(&mut self.cache_errors, interval.cache.as_ref().map_or(0, |cache| cache.errors));
        for (index, sums) in self.sums.iter_mut().enumerate() {
            let disk = interval.disks.iter().find(|disk| usize::from(disk.target) == index);
            if let Some(disk) = disk {
                sums.counted = true;
                sums.disk.reads = sums.disk.reads.sum_with(disk_count(disk.reads, disk.read_bytes));
                sums.disk.writes = sums.disk.writes.sum_with(disk_count(disk.writes, disk.written_bytes));
            }
            for late in interval.lateness.iter().filter(|late| usize::from(late.target) == index) {
                add_saturating(&mut sums.idle_ns, late.idle.sum_ns);
                sums.shift_ns = sums.shift_ns.max(late.shift_ns);
            }
            let onward = interval.cache.as_ref().and_then(|cache| cache.onward.get(index));
            if let Some(onward) = onward.filter(|_| disk.is_some()) {
                let reads = DiskCount { operations: onward.reads, bytes: onward.bytes };
                sums.disk.own_reads = sums.disk.own_reads.sum_with(reads);
            }
            let here = layout.flows.iter().zip(&interval.flows).filter(|(head, _)| usize::from(head.target) == index);
            for (head, flow) in here {
                let direction = layout.streams[usize::from(head.stream)].head.direction;
                // A read that the cache answers moves no bytes of the target: the cache says how many went on.
                let compared = disk.is_some() && (onward.is_none() || direction != Some(Direction::Read));
                sums.add_flow(flow, direction, compared);
            }
        }
    }

    /// Upper bound on the delay of a target's schedule by the generator in this segment.
    pub(crate) fn generator_behind_ns(&self) -> u64 {
        self.sums.iter().map(|sums| sums.idle_ns.saturating_add(sums.shift_ns)).max().unwrap_or(0)
    }

    /// What a target reports about its own health: the first report is from before the run, the last from after it.
    /// More damage to its medium than before is an error of the device.
    pub(crate) fn take_health(&mut self, mut event: Event, heads: &[TargetHead], notes: &mut Notes) {
        let target = event.details.remove("target").and_then(|index| index.parse::<usize>().ok());
        let Some((target, health)) = target.and_then(|at| Some((at, self.health.get_mut(at)?))) else { return };
        let health =
            health.get_or_insert_with(|| Health { before: event.details.clone(), after: event.details.clone() });
        health.after = event.details;
        let (Some(before), Some(after)) = (media_errors(&health.before), media_errors(&health.after)) else { return };
        if after > before {
            notes.add_finding(TargetFinding::MediaErrors { target: heads[target].name.clone(), before, after });
        }
    }

    /// The counts so far; `late` has an entry for each target where lateness is counted.
    pub(crate) fn target_totals(&self, header: &Header, late: &[LatenessTotals]) -> Vec<TargetTotals> {
        let is_watched = !header.watched.is_empty();
        let targets = header.targets.iter().zip(&self.sums).enumerate();
        targets
            .map(|(index, (head, sums))| TargetTotals {
                lateness: late.get(index).copied(),
                health: self.health.get(index).cloned().flatten(),
                ..target_totals(head, sums, is_watched)
            })
            .collect()
    }
}

/// What was counted on a target.
fn target_totals(head: &TargetHead, sums: &TargetSums, is_watched: bool) -> TargetTotals {
    let (all, own) = (sums.disk.reads_and_writes(), sums.disk.own_all());
    let disk = DiskTotals {
        operations: all.operations,
        bytes: all.bytes,
        own_operations: own.operations,
        own_bytes: own.bytes,
        mismatch: mismatch_share(&sums.disk, is_watched),
        ..sums.disk
    };
    TargetTotals {
        head: head.clone(),
        written_bytes: sums.written_bytes,
        read_bytes: sums.read_bytes,
        sampled_reads: sums.sampled,
        blank_reads: sums.blank,
        disk: sums.counted.then_some(disk),
        lateness: None,
        health: None,
    }
}

/// The media errors that a target reports.
fn media_errors(facts: &BTreeMap<String, String>) -> Option<u128> {
    facts.get("media errors").and_then(|n| n.parse::<u128>().ok())
}

fn disk_count(operations: u64, bytes: u64) -> DiskCount {
    DiskCount { operations, bytes }
}

fn add_saturating(sum: &mut u64, n: u64) {
    *sum = sum.saturating_add(n);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::fixture;

    #[test]
    fn the_delay_by_the_generator_is_that_of_the_worst_target_of_the_segment() {
        use assay_record::{Lateness, Pauses, TargetHead};
        let mut header = fixture::header();
        header.targets.push(TargetHead { name: "other".into(), ..header.targets[0].clone() });
        let layout = Layout::new(&header, &[]).unwrap();
        let mut targets = Targets::new(&layout);
        assert_eq!(targets.generator_behind_ns(), 0);
        for (target, idle, shift_ns, behind) in [(0, 100, 7, 107), (1, 5, 200, 205), (0, 50, 6, 205), (1, 9, 100, 214)]
        {
            let idle = Pauses { sum_ns: idle, ..Pauses::default() };
            let lateness = vec![Lateness { target, idle, shift_ns, ..Lateness::default() }];
            targets.add_interval(&Interval { lateness, ..Interval::default() }, &layout);
            assert_eq!(targets.generator_behind_ns(), behind, "{target}");
        }
        let idle: Vec<u64> = targets.sums.iter().map(|sums| sums.idle_ns).collect();
        assert_eq!(idle, [150, 14], "of each target");
        targets.continue_with_segment();
        assert_eq!(targets.generator_behind_ns(), 0, "it is counted anew");
    }

    #[test]
    fn more_media_errors_than_before_are_errors_of_the_device() {
        let header = fixture::header();
        let layout = Layout::new(&header, &[]).unwrap();
        let health = |target: &str, errors: &str| {
            let details = [("target", target), ("media errors", errors)];
            let details = details.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
            Event { at_ns: 0, what: "health".into(), text: String::new(), details }
        };
        let (mut targets, mut notes) = (Targets::new(&layout), Notes::new(1));
        for (target, errors, found) in
            [("0", "7", 0), ("0", "7", 0), ("1", "9", 0), ("x", "9", 0), ("0", "many", 0), ("0", "6", 0), ("0", "8", 1)]
        {
            targets.take_health(health(target, errors), &header.targets, &mut notes);
            assert_eq!(notes.findings.len(), found, "{target}: {errors}");
        }
        let totals = targets.target_totals(&header, &[]);
        let told =
            totals[0].health.as_ref().map(|it| (it.before["media errors"].as_str(), &it.after["media errors"][..]));
        assert_eq!(told, Some(("7", "8")));
    }
}
