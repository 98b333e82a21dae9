//! What must show that the data of a run became durable: which of its operations wait for that, and the disks whose flushes
//! are counted meanwhile. The judge compares both; nothing is decided here.

use super::beneath::Beneath;
use crate::open::targets::{RealTarget, Targets};
use assay_device::probe::{MadeDurable, made_durable_of_file, made_durable_on_device};
use assay_device::safety::Roots;
use assay_model::Plan;
use assay_model::files::Operation;
use assay_model::files::service::{DurableStreams, Service};
use assay_record::DurabilityHead;

/// What a flushed disk holds, in words.
const HOLDS_TARGET: &str = "the target";

/// The operations of a target that wait until data are durable.
struct DurableOperations {
    target: u16,
    /// Indexes of their streams.
    streams: Vec<u16>,
    /// The most of them that wait at one time; 0: not known.
    at_once: u64,
    /// Whether each of them is a write that the device may make durable without a flush.
    are_writes: bool,
}

/// The entry for the clients on files of a plan, whose directory is on a file system that `made` describes; `None` where no
/// call of theirs waits.
pub(crate) fn head_of_files(plan: &Plan, made: MadeDurable, beneath: &mut Beneath) -> Option<DurabilityHead> {
    let files = plan.load.files()?;
    let at_once = u64::from(files.workload.clients);
    let operations = match &files.workload.service {
        Some(service) => durable_calls_of_service(service, at_once, &made),
        None => {
            let mut streams = Vec::new();
            for (index, stream) in plan.load.streams.iter().enumerate() {
                let operation = stream.operation_name().and_then(Operation::from_name);
                streams.extend(operation.filter(|operation| operation.makes_durable()).map(|_| index as u16));
            }
            DurableOperations { target: 0, streams, at_once, are_writes: false }
        }
    };
    (!operations.streams.is_empty()).then(|| head_of_target(operations, made, beneath))
}

/// Its syncs, and its writes through O_DSYNC: the latter beside syncs only where the device must be flushed for them too.
fn durable_calls_of_service(service: &Service, threads: u64, made: &MadeDurable) -> DurableOperations {
    let DurableStreams { syncs, writes, are_mixed } = service.durable_streams();
    let are_writes = syncs.is_empty();
    let without_flushes =
        matches!(made, MadeDurable::ByFlushesOf(disks) if disks.iter().any(|disk| disk.writes_through));
    let mut places = syncs;
    if are_writes || !without_flushes {
        places.extend(writes);
    }
    places.sort_unstable();
    let streams = places.into_iter().map(|place| place as u16).collect();
    // Where not all that is counted waits, how many calls a flush serves is not known.
    let at_once = if are_mixed { 0 } else { threads };
    DurableOperations { target: 0, streams, at_once, are_writes }
}

/// The same where flushes cannot be told from those of others, for this reason. What never makes anything durable stays so.
pub(crate) fn heads_without_counts(heads: Vec<DurabilityHead>, why: &str) -> Vec<DurabilityHead> {
    let without = |head: DurabilityHead| match (&head.never, &head.uncounted) {
        (None, None) => DurabilityHead { uncounted: Some(why.to_owned()), ..head },
        _ => head,
    };
    heads.into_iter().map(without).collect()
}

/// The entries for the devices and files of a plan of block I/O on which writes are durable, or flushes are made.
pub(super) fn heads_of_blocks(plan: &Plan, targets: &Targets, beneath: &mut Beneath) -> Vec<DurabilityHead> {
    let mut heads = Vec::new();
    for (index, real) in targets.real_targets().iter().take(plan.load.targets.into()).enumerate() {
        let operations = durable_blocks(plan, index as u16);
        if operations.streams.is_empty() {
            continue;
        }
        match made_durable_at(real) {
            // What is tested there is memory, and a watermark says so where that matters.
            MadeDurable::ByNothing(_) => {}
            made => heads.push(head_of_block(operations, real, made, beneath)),
        }
    }
    heads
}

fn durable_blocks(plan: &Plan, target: u16) -> DurableOperations {
    let mut operations = DurableOperations { target, streams: Vec::new(), at_once: 0, are_writes: true };
    for (index, _) in plan.load.stream_targets().filter(|(_, on)| *on == target) {
        let stream = &plan.load.streams[usize::from(index)];
        let is_flush = stream.as_flush().is_some();
        operations.are_writes &= !is_flush;
        if is_flush || stream.as_block().is_some_and(|block| block.durable) {
            operations.streams.push(index);
        }
    }
    operations
}

fn made_durable_at(real: &RealTarget) -> MadeDurable {
    let roots = Roots::of_machine();
    match real.disk {
        Some(device) => made_durable_on_device(&roots, device),
        None => made_durable_of_file(&roots, real.real_path()),
    }
}

/// A disk that is itself the target counts its flushes with its other figures, and every durable write on it asks for one
/// (decision 0021).
fn head_of_block(
    operations: DurableOperations,
    real: &RealTarget,
    made: MadeDurable,
    beneath: &mut Beneath,
) -> DurabilityHead {
    if let (Some(device), MadeDurable::ByFlushesOf(disks)) = (real.disk, &made)
        && let [disk] = &disks[..]
        && disk.number == device
    {
        let DurableOperations { target, streams, at_once, .. } = operations;
        let (device, write_cache) = (disk.name.clone(), disk.write_cache.clone());
        return DurabilityHead { target, streams, at_once, device, write_cache, ..DurabilityHead::default() };
    }
    let are_writes = operations.are_writes && real.disk.is_none();
    head_of_target(DurableOperations { are_writes, ..operations }, made, beneath)
}

fn head_of_target(operations: DurableOperations, made: MadeDurable, beneath: &mut Beneath) -> DurabilityHead {
    let DurableOperations { target, streams, at_once, are_writes } = operations;
    let head = DurabilityHead { target, streams, at_once, ..DurabilityHead::default() };
    let disks = match made {
        MadeDurable::ByFlushesOf(disks) => disks,
        MadeDurable::ByNothing(why) => return DurabilityHead { never: Some(why), ..head },
        MadeDurable::Unknown(why) => return DurabilityHead { uncounted: Some(why), ..head },
    };
    let (mut names, mut meters) = (Vec::new(), Vec::new());
    for disk in &disks {
        let Some(place) = beneath.place_of_disk(disk.number, HOLDS_TARGET) else {
            let why = format!("the counters of {} cannot be read", disk.name);
            return DurabilityHead { uncounted: Some(why), ..head };
        };
        names.push(disk.name.clone());
        meters.push(place);
    }
    // What several disks do not have in common is said by the more careful one.
    let is_write_back = disks.iter().any(|disk| disk.is_write_back());
    let write_back = is_write_back.then(|| DurabilityHead::WRITE_BACK.to_owned());
    let write_cache = write_back.or_else(|| disks.iter().find_map(|disk| disk.write_cache.clone()));
    let without_flushes = are_writes && disks.iter().any(|disk| disk.writes_through);
    DurabilityHead { device: names.join(", "), write_cache, meters, without_flushes, ..head }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::workload::{self, Adjust};

    const FILES: &str = "model = \"files\"\nclients = 3\nclosed = true\n[tree]\nfiles = 4\nsize = \"4KiB\"\n";

    fn plan(steps: &str) -> Plan {
        let file = format!("{FILES}[[do]]\nname = \"log\"\nsteps = [{steps}]\n");
        workload::read_workload("t", &file).unwrap().make_plan(&Adjust::default()).unwrap()
    }

    #[test]
    fn durable_writes_of_a_service_wait_as_its_syncs_do() {
        let service = |access: &str, steps: &str| {
            let file = format!(
                "model = \"service\"\nrate = \"10/s\"\n[[file]]\nname = \"log\"\nsize = \"64KiB\"\naccess = \"{access}\"\n\
                 [writer]\nname = \"w\"\nentry = \"100B\"\nsteps = [{steps}]\n"
            );
            workload::read_workload("t", &file).unwrap().make_plan(&Adjust::default()).unwrap()
        };
        let write = "{ write = \"log\" }";
        let both = "{ write = \"log\", name = \"log\" }, { fdatasync = \"log\", name = \"log\" }";
        for (access, steps, expected) in [
            ("buffered", write, None),
            ("dsync", write, Some((vec!["w-write"], 1))),
            ("dsync", "{ write = \"log\" }, { fdatasync = \"log\" }", Some((vec!["w-write", "w-fdatasync"], 1))),
            // A name that a write and a sync share hides no sync.
            ("buffered", both, Some((vec!["log"], 0))),
            ("dsync", both, Some((vec!["log"], 1))),
        ] {
            let plan = service(access, steps);
            let never = MadeDurable::ByNothing("tmpfs is memory".to_owned());
            let head = head_of_files(&plan, never, &mut Beneath::none());
            let found = head.as_ref().map(|head| {
                let name = |place: &u16| plan.load.streams[usize::from(*place)].name.as_str();
                (head.streams.iter().map(name).collect::<Vec<_>>(), head.at_once)
            });
            assert_eq!(found, expected, "{access} {steps}");
        }
    }

    #[test]
    fn the_calls_that_wait_are_named_with_what_cannot_be_seen() {
        let durable = plan("\"open\", \"append\", \"fdatasync\", \"close\"");
        let never = MadeDurable::ByNothing("tmpfs is memory".to_owned());
        let head = head_of_files(&durable, never, &mut Beneath::none()).unwrap();
        let names: Vec<&str> =
            head.streams.iter().map(|stream| durable.load.streams[usize::from(*stream)].name.as_str()).collect();
        assert_eq!((names, head.at_once), (vec!["fdatasync"], 3));
        assert!(head.never.is_some() && head.device.is_empty() && head.meters.is_empty());
        let unknown = MadeDurable::Unknown("it is on fuse".to_owned());
        assert!(head_of_files(&durable, unknown.clone(), &mut Beneath::none()).unwrap().uncounted.is_some());
        let none = plan("\"open\", \"append\", \"close\"");
        assert_eq!(head_of_files(&none, unknown, &mut Beneath::none()), None, "nothing waits");
    }
}
