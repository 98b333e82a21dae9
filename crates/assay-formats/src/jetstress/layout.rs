//! Which flow of a run log belongs to which database, and to which kind of its I/O.

use assay_model::Plan;
use assay_model::mail::LogPlace;
use assay_record::{Header, TargetHead};

/// The kind of I/O of a database that a stream is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Reads,
    Writes,
    Extends,
    LogWrites,
    LogReads,
    Maintenance,
    /// The read-back of everything that was written, after the run.
    ReadBack,
}

/// A flow of the log.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    pub stream: usize,
    pub database: usize,
    pub part: Role,
}

/// The databases of a store.
#[derive(Debug)]
pub(super) struct Layout {
    pub databases: usize,
    pub flows: Vec<Flow>,
    pub sizes: Vec<Sizes>,
}

/// The bytes that a database has of its target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sizes {
    /// Its size at the beginning.
    pub initial: u64,
    /// Its room to grow.
    pub room: u64,
    /// The space that database and room could have.
    pub space: u64,
}

impl Sizes {
    /// The sum of what both databases have.
    pub(super) fn sum_with(self, other: Sizes) -> Sizes {
        Sizes {
            initial: self.initial.saturating_add(other.initial),
            room: self.room.saturating_add(other.room),
            space: self.space.saturating_add(other.space),
        }
    }
}

impl Layout {
    pub(super) fn new(plan: &Plan, header: &Header) -> Result<Layout, String> {
        let mail = plan.load.mail().ok_or("this is not the log of a mail store")?;
        let databases = usize::from(mail.database_count(plan.load.targets));
        let flows = header.flows.iter().map(|head| {
            let (stream, target) = (usize::from(head.stream), usize::from(head.target));
            let name = header.streams.get(stream)?.name.as_str();
            let (part, of_log) = part_of(name)?;
            let database = match (mail.storage.log, of_log) {
                (LogPlace::Last, Some(number)) => number,
                // If the last target has only logs, its read-back belongs to no particular database; it is counted with
                // the last one.
                _ => target.min(databases.saturating_sub(1)),
            };
            (database < databases && stream < plan.load.streams.len()).then_some(Flow { stream, database, part })
        });
        let flows = flows.collect::<Option<Vec<Flow>>>().ok_or("it has streams that no mail store has")?;
        let sizes = (0..databases).map(|at| {
            let head = header.targets.get(at);
            Sizes {
                initial: used_bytes(plan, "db-reads", head),
                room: used_bytes(plan, "db-extends", head),
                space: head.map_or(0, |head| mail.database_space(head.size_bytes, head.block_bytes.max(1))),
            }
        });
        Ok(Layout { databases, flows, sizes: sizes.collect() })
    }
}

/// How many bytes of a target a stream uses; zero if it does not say so.
fn used_bytes(plan: &Plan, name: &str, target: Option<&TargetHead>) -> u64 {
    let stream = plan.load.streams.iter().find(|stream| stream.name == name);
    let extent = stream.and_then(|stream| stream.as_block()).and_then(|block| block.extent);
    let used = extent.zip(target).map(|(extent, head)| extent.range_within(head.size_bytes, head.block_bytes.max(1)).1);
    used.unwrap_or(0)
}

/// The kind of a stream, from its name; for a stream of a log also the number of the database, from 0 on.
fn part_of(name: &str) -> Option<(Role, Option<usize>)> {
    let logs = [("log-writes", Role::LogWrites), ("log-reads", Role::LogReads)];
    if let Some((rest, part)) = logs.iter().find_map(|(log, part)| Some((name.strip_prefix(log)?, *part))) {
        let number = match rest.strip_prefix('-') {
            Some(number) => number.parse::<usize>().ok()?.checked_sub(1)?,
            None if rest.is_empty() => 0,
            None => return None,
        };
        return Some((part, Some(number)));
    }
    let part = match name {
        "db-reads" => Role::Reads,
        "db-writes" => Role::Writes,
        "db-extends" => Role::Extends,
        "maintenance" => Role::Maintenance,
        "read-back" => Role::ReadBack,
        _ => return None,
    };
    Some((part, None))
}
