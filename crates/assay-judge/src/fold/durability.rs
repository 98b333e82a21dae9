//! Counts the operations that wait until data are durable, and the flushes of the device that must make them so, in all
//! phases. Flushes are those of everybody: a rule can rely on too few of them only.

use crate::judgement::DurabilityFigures;
use assay_record::{DurabilityHead, Header, Interval};

/// The counter of a meter that counts flushes.
const FLUSHES: &str = "flushes";

/// The durability of a step, target by target.
#[derive(Clone, Debug)]
pub(crate) struct Durability {
    targets: Vec<TargetDurability>,
    /// Names of the targets and streams of the step.
    target_names: Vec<String>,
    stream_names: Vec<String>,
}

/// What was counted for one target.
#[derive(Clone, Debug)]
struct TargetDurability {
    head: DurabilityHead,
    /// For each meter of `head`, the place of its flushes among its counters.
    places: Vec<Option<usize>>,
    /// The flows whose operations wait.
    flows: Vec<usize>,
    syncs: u64,
    /// Where flushes were counted.
    flushes: Option<u64>,
}

impl Durability {
    /// The state before the first interval.
    pub(crate) fn new(header: &Header) -> Durability {
        let mut durability = Durability {
            targets: Vec::new(),
            target_names: header.targets.iter().map(|target| target.name.clone()).collect(),
            stream_names: header.streams.iter().map(|stream| stream.name.clone()).collect(),
        };
        durability.continue_with_segment(header);
        durability
    }

    /// Continues with another segment, whose meters may be in another order.
    pub(crate) fn continue_with_segment(&mut self, header: &Header) {
        let before = std::mem::take(&mut self.targets);
        for head in &header.durability {
            let known = before.iter().find(|target| target.head.target == head.target);
            self.targets.push(TargetDurability {
                places: head.meters.iter().map(|meter| place_of_flushes(header, *meter)).collect(),
                flows: flows_of(header, head),
                head: head.clone(),
                syncs: known.map_or(0, |target| target.syncs),
                flushes: known.and_then(|target| target.flushes),
            });
        }
    }

    /// Adds an interval of any phase.
    pub(crate) fn add_interval(&mut self, interval: &Interval) {
        for target in &mut self.targets {
            let rose = target.flushes_in_interval(interval);
            // Without a count of flushes, these operations have none that could be compared with them.
            if target.head.is_counted() && rose.is_none() {
                continue;
            }
            let ended = target.flows.iter().filter_map(|flow| interval.flows.get(*flow)).map(|flow| flow.ok);
            target.syncs = ended.fold(target.syncs, u64::saturating_add);
            if let Some(rose) = rose {
                target.flushes = Some(target.flushes.unwrap_or(0).saturating_add(rose));
            }
        }
    }

    /// The figures so far.
    pub(crate) fn figures(&self) -> Vec<DurabilityFigures> {
        self.targets.iter().map(|target| self.figures_of(target)).collect()
    }

    fn figures_of(&self, target: &TargetDurability) -> DurabilityFigures {
        let TargetDurability { head, syncs, flushes, .. } = target;
        let each = flushes.filter(|_| *syncs > 0).map(|flushes| flushes as f64 / *syncs as f64);
        let streams = head.streams.iter().filter_map(|stream| self.stream_names.get(usize::from(*stream)));
        DurabilityFigures {
            target: self.target_names.get(usize::from(head.target)).cloned().unwrap_or_default(),
            streams: streams.cloned().collect(),
            syncs: *syncs,
            device: head.device.clone(),
            write_cache: head.write_cache.clone(),
            flushes: *flushes,
            flushes_per_sync: each,
            never: head.never.clone(),
            uncounted: head.uncounted.clone(),
            at_once: head.at_once,
            needs_flushes: head.needs_counted_flushes(),
            p50_ns: None,
        }
    }
}

impl TargetDurability {
    /// The flushes that an interval counted; `None` where it did not count those of each device.
    fn flushes_in_interval(&self, interval: &Interval) -> Option<u64> {
        if !self.head.is_counted() {
            return None;
        }
        if self.head.meters.is_empty() {
            return interval.disks.iter().find(|disk| disk.target == self.head.target).map(|disk| disk.flushes);
        }
        let mut sum = 0u64;
        for (meter, place) in self.head.meters.iter().zip(&self.places) {
            let rose = interval.meters.get(usize::from(*meter))?.get((*place)?)?;
            sum = sum.saturating_add(*rose);
        }
        Some(sum)
    }
}

fn place_of_flushes(header: &Header, meter: u16) -> Option<usize> {
    let head = header.meters.get(usize::from(meter))?;
    head.counters.iter().position(|counter| counter == FLUSHES)
}

fn flows_of(header: &Header, head: &DurabilityHead) -> Vec<usize> {
    let mut flows = Vec::new();
    for (index, flow) in header.flows.iter().enumerate() {
        if flow.target == head.target && head.streams.contains(&flow.stream) {
            flows.push(index);
        }
    }
    flows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::fixture;
    use assay_record::{DiskCounters, FlowInterval, MeterHead};

    fn header(names: &[&str]) -> Header {
        let meter = |name: &&str| MeterHead {
            name: (*name).to_owned(),
            counters: vec!["writes".into(), "flushes".into()],
            ..MeterHead::default()
        };
        let meters: Vec<u16> = (0..names.len() as u16).filter(|at| names[usize::from(*at)] != "eth0").collect();
        let head = DurabilityHead {
            target: 0,
            streams: vec![1],
            device: "sda, sdb".into(),
            write_cache: Some("write back".into()),
            meters,
            ..DurabilityHead::default()
        };
        Header { meters: names.iter().map(meter).collect(), durability: vec![head], ..fixture::header() }
    }

    fn interval(syncs: u64, meters: Vec<Vec<u64>>) -> Interval {
        let flow = |ok| FlowInterval { ok, ..FlowInterval::default() };
        Interval { flows: vec![flow(1000), flow(syncs)], meters, ..Interval::default() }
    }

    #[test]
    fn the_flushes_of_all_devices_are_compared_with_the_syncs_of_the_same_intervals() {
        let mut durability = Durability::new(&header(&["sda", "sdb"]));
        durability.add_interval(&interval(10, vec![vec![99, 10], vec![99, 5]]));
        durability.add_interval(&interval(70, vec![vec![99, 10], vec![]]));
        durability.add_interval(&interval(70, vec![]));
        let figures = durability.figures();
        assert_eq!((figures[0].syncs, figures[0].flushes), (10, Some(15)), "what was not read is not compared");
        assert_eq!((figures[0].flushes_per_sync, figures[0].target.as_str()), (Some(1.5), "disk"));
        assert_eq!((&figures[0].streams, figures[0].needs_flushes), (&vec!["writes".to_owned()], true));
        // Another segment lists its meters in another order, and one more.
        durability.continue_with_segment(&header(&["eth0", "sda", "sdb"]));
        durability.add_interval(&interval(10, vec![vec![7, 7], vec![0, 4], vec![0, 1]]));
        assert_eq!((durability.figures()[0].syncs, durability.figures()[0].flushes), (20, Some(20)));
    }

    #[test]
    fn a_device_that_is_the_target_counts_for_itself_and_memory_counts_nothing() {
        let mut own = header(&[]);
        own.durability[0].meters.clear();
        let mut durability = Durability::new(&own);
        let disks = vec![DiskCounters { flushes: 6, ..DiskCounters::default() }];
        durability.add_interval(&Interval { disks, ..interval(3, Vec::new()) });
        assert_eq!((durability.figures()[0].syncs, durability.figures()[0].flushes), (3, Some(6)));
        own.durability[0].never = Some("tmpfs is memory".into());
        let mut durability = Durability::new(&own);
        durability.add_interval(&interval(3, Vec::new()));
        assert_eq!((durability.figures()[0].syncs, durability.figures()[0].flushes), (3, None));
        // A log may claim anything.
        let mut hostile = header(&["sda"]);
        (hostile.durability[0].meters, hostile.durability[0].streams) = (vec![9], vec![9]);
        hostile.durability[0].target = 9;
        let mut durability = Durability::new(&hostile);
        durability.add_interval(&interval(3, vec![vec![1, 1]]));
        assert_eq!((durability.figures()[0].syncs, durability.figures()[0].flushes), (0, None));
    }
}
