//! What the run itself made disks do in an interval: an upper bound, from what it found completed and from what is open.

use crate::open::targets::Targets;
use assay_base::Direction;
use assay_device::probe::ServingDisks;
use assay_model::Plan;
use assay_record::{CacheCounters, DiskWork, FlowInterval, Interval, OwnWork};

/// Nanoseconds of the unit in which the kernel prints times of disks.
pub(super) const MILLISECOND: u64 = 1_000_000;

/// The writes of a journaling file system, within some seconds, because of the run's files and its log: the times of files,
/// what was reserved and is written for the first time, free space. Measured on ext4 and xfs with 100 and 1000 writes of 4
/// KiB a second, into written and into reserved space: at most 51 requests with 400 KiB, in one burst each five seconds.
pub(super) const JOURNAL: DiskWork = DiskWork {
    reads: 32,
    read_bytes: 128 << 10,
    writes: 64,
    written_bytes: 512 << 10,
    discards: 0,
    flushes: 16,
    time_ns: 100_000_000,
};
/// The same in each second, in parts of [`JOURNAL`].
const JOURNAL_PART: u64 = 5;
/// The requests and bytes that one sync of a file may add to the journal.
const JOURNAL_OF_A_SYNC: (u64, u64) = (8, 64 << 10);
/// Writes that are expected without limit: they pass through the kernel's memory, which writes them when it likes.
pub(super) const UNLIMITED: DiskWork = DiskWork {
    reads: 32,
    read_bytes: 128 << 10,
    writes: u64::MAX / 4,
    written_bytes: u64::MAX / 4,
    discards: 0,
    flushes: u64::MAX / 4,
    time_ns: u64::MAX / 4,
};
/// The bytes that an operation may have moved before it failed or ended short.
const OF_A_FAILED_ONE: u64 = 1 << 20;
/// A page of memory: what RAID with parity reads and writes at least.
const PAGE: u64 = 4096;
/// By how much the kernel's times, in milliseconds, may be rounded, in nanoseconds: one for each of the four kinds of requests.
const ROUNDED_NS: u64 = 4_000_000;
const SECOND: u64 = 1_000_000_000;
/// A worker looks for completions at least this often while something is in flight.
const LOOK_NS: u64 = 1_000_000;

/// The work of the run in an interval.
pub(super) struct IntervalWork<'a> {
    pub(super) interval: &'a Interval,
    pub(super) cache: Option<&'a CacheCounters>,
    pub(super) log_bytes: u64,
    /// The time from the end of the interval until the disks were read, in nanoseconds.
    pub(super) late_ns: u64,
}

impl IntervalWork<'_> {
    fn length_ns(&self) -> u64 {
        self.interval.end_ns.saturating_sub(self.interval.start_ns).max(1)
    }

    /// Of operations of which so many end in the interval, how many may end within `late_ns` around its end.
    fn late_operations(&self, ended: u64, late_ns: u64) -> u64 {
        OwnWork::late_operations(ended, late_ns, self.length_ns())
    }

    /// A part of what the journal of a file system may write in the interval.
    fn journal_work(&self) -> DiskWork {
        let seconds = self.length_ns().div_ceil(SECOND).min(JOURNAL_PART);
        DiskWork::from_figures(JOURNAL.figures_in_order().map(|figure| figure * seconds / JOURNAL_PART))
    }
}

/// The kind of work that the operations of a flow do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WorkKind {
    Read,
    Write { durable: bool },
    Flush,
    Nothing,
}

/// One flow of the plan.
#[derive(Clone, Copy, Debug)]
struct Flow {
    target: u16,
    does: WorkKind,
    /// Bytes of its largest operation.
    largest: u64,
}

/// All flows of a plan, in the order of the intervals.
#[derive(Clone, Debug)]
pub(super) struct Flows {
    each: Vec<Flow>,
    cache_block: u64,
    cache_segment: u64,
}

/// Operations of one kind, before they are divided and multiplied on their way.
#[derive(Clone, Copy, Debug, Default)]
struct Operations {
    count: u64,
    bytes: u64,
    largest: u64,
    time_ns: u64,
}

impl Flows {
    /// The flows of a plan.
    pub(super) fn new(plan: &Plan, targets: &Targets) -> Flows {
        let mut each = Vec::new();
        for (stream, target) in plan.load.stream_targets() {
            let stream = &plan.load.streams[usize::from(stream)];
            let block = targets.target_geometry(target.into()).block;
            let does = match (stream.as_block(), stream.as_flush()) {
                (Some(operation), _) if operation.direction == Direction::Read => WorkKind::Read,
                (Some(operation), _) => WorkKind::Write { durable: operation.durable },
                (None, Some(_)) => WorkKind::Flush,
                (None, None) => WorkKind::Nothing,
            };
            let own = stream.as_block().map_or(0, |operation| operation.size.in_blocks(block).largest_size());
            // A simulated cache before the target makes operations of whole blocks.
            let largest = if plan.caches.simulated.is_some() { plan.largest_operation(block) } else { own };
            each.push(Flow { target, does, largest });
        }
        let cache_block = plan.caches.device.as_ref().map_or(0, |cache| cache.block.get());
        Flows { each, cache_block, cache_segment: SEGMENT }
    }

    /// The work of a target's disks that the operations on it caused.
    pub(super) fn on_target(&self, target: u16, served: &ServingDisks, made: &IntervalWork<'_>) -> OwnWork {
        let mut own = no_work();
        for (flow, counted) in self.each.iter().zip(&made.interval.flows).filter(|(flow, _)| flow.target == target) {
            // The cache says what of the reads went on to the target.
            let onward = made.cache.and_then(|cache| cache.onward.get(usize::from(target)));
            if flow.does != WorkKind::Read || onward.is_none() {
                own.completed =
                    own.completed.sum_with(disk_work(flow.does, served, completed_operations(flow, counted)));
            }
            own.open = own.open.sum_with(disk_work(flow.does, served, open_operations(flow, counted, made)));
            own.likely = own.likely.sum_with(disk_work(flow.does, served, unfound_operations(flow, counted, made)));
        }
        if let Some(onward) = made.cache.and_then(|cache| cache.onward.get(usize::from(target))) {
            let largest = self.each.iter().map(|flow| flow.largest).max().unwrap_or(0);
            // How long they took is in the times of the reads, of which the cache answered others.
            let reads = Operations { count: onward.reads, bytes: onward.bytes, largest, time_ns: made.length_ns() };
            own.completed = own.completed.sum_with(disk_work(WorkKind::Read, served, reads));
        }
        let rounded = ROUNDED_NS * served.disks.len() as u64;
        own.open.time_ns = own.open.time_ns.saturating_add(rounded);
        own.likely.time_ns = own.likely.time_ns.saturating_add(rounded);
        through_memory_and_file_system(own, served, made)
    }

    /// The work of the cache's own device.
    pub(super) fn of_cache(&self, served: &ServingDisks, made: &IntervalWork<'_>) -> OwnWork {
        let Some(cache) = made.cache else { return no_work() };
        let (block, segment) = (self.cache_block, self.cache_segment);
        let hits = cache.read_hits.saturating_sub(cache.ram_hits).max(cache.device_reads.count);
        let blocks = |count: u64, each: u64, time_ns: u64| Operations {
            count,
            bytes: count.saturating_mul(each),
            largest: each,
            time_ns,
        };
        let reads = disk_work(WorkKind::Read, served, blocks(hits, block, cache.device_reads.sum_ns));
        let segments =
            disk_work(WorkKind::Read, served, blocks(cache.segment_reads.count, segment, cache.segment_reads.sum_ns));
        let writes = WorkKind::Write { durable: false };
        let writes =
            disk_work(writes, served, blocks(cache.segment_writes.count, segment, cache.segment_writes.sum_ns));
        let completed = reads.sum_with(segments).sum_with(writes);
        // What the cache has in flight is not counted: as much as it did, and a few segments.
        let few = disk_work(WorkKind::Read, served, blocks(4, segment, made.length_ns()));
        let few =
            few.sum_with(disk_work(WorkKind::Write { durable: false }, served, blocks(4, segment, made.length_ns())));
        let open = completed.sum_with(few);
        through_memory_and_file_system(OwnWork { completed, open, likely: open, ..no_work() }, served, made)
    }
}

/// Bytes of a segment of the cache device (`docs/formats/cache-device.md`).
const SEGMENT: u64 = 512 << 10;

/// The operations of a flow that completed, including those that failed or were short.
fn completed_operations(flow: &Flow, counted: &FlowInterval) -> Operations {
    let failed = counted.failed_operations().saturating_add(counted.short);
    let failed_ns = counted.failures.as_ref().map_or(0, |failures| failures.response.sum_ns);
    Operations {
        count: counted.ended_operations(),
        bytes: counted.bytes.saturating_add(failed.saturating_mul(flow.largest.max(OF_A_FAILED_ONE))),
        largest: flow.largest,
        time_ns: counted.service.sum_ns.saturating_add(failed_ns),
    }
}

/// The most work that the disk may have done for operations that the run has not found completed.
fn open_operations(flow: &Flow, counted: &FlowInterval, made: &IntervalWork<'_>) -> Operations {
    let late = made.late_operations(counted.ended_operations(), made.late_ns);
    let open = counted.in_flight.saturating_add(counted.stuck);
    share_of_flow(open.saturating_add(late), flow, counted)
}

/// The likely part of that work: a worker looks for completions all the time, unless it overslept.
fn unfound_operations(flow: &Flow, counted: &FlowInterval, made: &IntervalWork<'_>) -> Operations {
    let late = made.interval.lateness.iter().find(|late| late.target == flow.target);
    let unseen_ns = LOOK_NS.saturating_add(late.map_or(0, |late| late.overslept.max_ns));
    let unfound = made.late_operations(counted.ended_operations(), unseen_ns).min(counted.in_flight);
    share_of_flow(unfound.saturating_add(made.late_operations(counted.ended_operations(), made.late_ns)), flow, counted)
}

/// Operations of a flow, each of which is as large as it can be, and took as long as the longest did.
fn share_of_flow(count: u64, flow: &Flow, counted: &FlowInterval) -> Operations {
    let longest = counted.service.max_ns.max(MILLISECOND);
    Operations {
        count,
        bytes: count.saturating_mul(flow.largest),
        largest: flow.largest,
        time_ns: count.saturating_mul(longest),
    }
}

/// The work of disks for the operations that they serve.
fn disk_work(does: WorkKind, served: &ServingDisks, operations: Operations) -> DiskWork {
    let Operations { count, bytes, largest, time_ns } = operations;
    let (fan_out, disks) = (served.fan_out, served.disks.len() as u64);
    let pieces = served.pieces.most_pieces(count, bytes, largest);
    // The pieces of an operation take their time beside each other.
    let divided = pieces.div_ceil(count.max(1)).max(1);
    match does {
        WorkKind::Nothing => DiskWork::default(),
        WorkKind::Flush => DiskWork {
            flushes: count.saturating_mul(disks),
            time_ns: time_ns.saturating_mul(disks),
            ..DiskWork::default()
        },
        WorkKind::Read => DiskWork {
            reads: pieces.saturating_mul(fan_out.reads_of_read),
            read_bytes: bytes.saturating_mul(fan_out.reads_of_read),
            time_ns: time_ns.saturating_mul(divided.saturating_mul(fan_out.reads_of_read)),
            ..DiskWork::default()
        },
        WorkKind::Write { durable } => {
            let whole = if fan_out.reads_of_write > 0 { bytes.max(pieces.saturating_mul(PAGE)) } else { bytes };
            let synced = if durable { count.saturating_mul(disks) } else { 0 };
            let each =
                fan_out.reads_of_write.saturating_add(fan_out.writes_of_write).saturating_add(u64::from(durable));
            DiskWork {
                reads: pieces.saturating_mul(fan_out.reads_of_write),
                read_bytes: whole.saturating_mul(fan_out.reads_of_write),
                // A disk without FUA flushes behind the write, which the kernel counts as an empty write too, and once more
                // behind that.
                writes: pieces.saturating_mul(fan_out.writes_of_write).saturating_add(synced),
                written_bytes: whole.saturating_mul(fan_out.writes_of_write),
                flushes: synced.saturating_mul(2),
                time_ns: time_ns.saturating_mul(divided.saturating_mul(each)),
                ..DiskWork::default()
            }
        }
    }
}

/// Adds what a file system and the kernel's memory between the run and the disks make of it.
fn through_memory_and_file_system(own: OwnWork, served: &ServingDisks, made: &IntervalWork<'_>) -> OwnWork {
    let mut own = own;
    if served.through_file_system {
        own.caused = own.caused.sum_with(made.journal_work()).sum_with(journal_of(own.completed.flushes));
    }
    if served.through_memory {
        // Reads may be answered from memory, so that what is missing says nothing; writes come some time later.
        let late = DiskWork { reads: 0, read_bytes: 0, ..own.completed };
        own.caused = own.caused.sum_with(late);
        own.completed =
            DiskWork { reads: own.completed.reads, read_bytes: own.completed.read_bytes, ..DiskWork::default() };
    }
    own
}

/// The work that syncs of files add to the journal. A loop device syncs its file for each flush.
fn journal_of(syncs: u64) -> DiskWork {
    DiskWork {
        writes: syncs.saturating_mul(JOURNAL_OF_A_SYNC.0),
        written_bytes: syncs.saturating_mul(JOURNAL_OF_A_SYNC.1),
        flushes: syncs.saturating_mul(2),
        ..DiskWork::default()
    }
}

/// The work of the log's disk for its lines: they pass through memory, and are synced now and then.
pub(super) fn of_log(made: &IntervalWork<'_>) -> OwnWork {
    let syncs = u64::from(made.log_bytes > 0);
    let lines = DiskWork {
        writes: made.log_bytes.div_ceil(PAGE),
        written_bytes: made.log_bytes.next_multiple_of(PAGE),
        ..DiskWork::default()
    };
    OwnWork { caused: lines.sum_with(journal_of(syncs)).sum_with(made.journal_work()), ..no_work() }
}

/// The work of disks for processes: reads happen at once, and writes pass through memory.
pub(super) fn of_processes(read: u64, written: u64) -> OwnWork {
    let completed = DiskWork { read_bytes: read, ..DiskWork::default() };
    // A page that is written many times may be written to the disk as often.
    let caused = DiskWork { written_bytes: written, ..DiskWork::default() };
    OwnWork { completed, caused, ..no_work() }
}

/// The same where the number of operations is not known: it counts as the run's own, whatever the disk counted, and so do
/// the time of the operations, and what a sync may add to the journal.
pub(super) fn without_operations(own: OwnWork, counted: Option<DiskWork>) -> OwnWork {
    let counted = counted.unwrap_or_default();
    let completed = DiskWork { written_bytes: 0, ..own.completed };
    OwnWork {
        completed: DiskWork {
            reads: counted.reads,
            writes: counted.writes,
            discards: 0,
            flushes: counted.flushes,
            time_ns: counted.time_ns,
            ..completed
        },
        caused: own.caused.sum_with(journal_of(counted.flushes)),
        ..own
    }
}

/// No work.
pub(super) fn no_work() -> OwnWork {
    OwnWork::default()
}

/// The sum of what the run does on two ways.
pub(super) fn sum_work(one: OwnWork, other: OwnWork) -> OwnWork {
    OwnWork {
        completed: one.completed.sum_with(other.completed),
        open: one.open.sum_with(other.open),
        likely: one.likely.sum_with(other.likely),
        caused: one.caused.sum_with(other.caused),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_device::probe::{FanOut, Pieces};
    use assay_device::safety::DevNum;

    /// A loop device with a write cache and without FUA counted 1637 writes and 1637 flushes for 818 durable writes of 4 KiB,
    /// one of them half done at the end.
    #[test]
    fn a_disk_may_flush_twice_for_a_durable_write_and_count_an_empty_one() {
        let disks = vec![DevNum { major: 7, minor: 0 }];
        let pieces = Pieces { bytes: 1 << 20, aligned: false };
        let served =
            ServingDisks { disks, fan_out: FanOut::ONE, pieces, through_file_system: false, through_memory: false };
        let made = |durable, count| {
            let operations = Operations { count, bytes: count * PAGE, largest: PAGE, time_ns: 0 };
            let work = disk_work(WorkKind::Write { durable }, &served, operations);
            (work.writes, work.written_bytes, work.flushes)
        };
        assert_eq!(made(true, 818), (1636, 818 * PAGE, 1636));
        assert_eq!(made(false, 818), (818, 818 * PAGE, 0));
    }
}
