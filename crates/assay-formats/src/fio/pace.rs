//! When the operations of a job are due: by rates, in a closed loop, or with pauses.

use super::flushes::Flushes;
use super::job::Job;
use super::number::Wrong;
use super::order::{Mode, index};
use assay_base::{Direction, Fault, Rate, Share, Span};
use assay_model::mix::{Spread, Think};
use assay_model::plan::Arrival;
use assay_model::size::Size;
use assay_model::workload::LARGEST_BOUND;

/// Engines whose callers wait for each operation (`ONE_AT_A_TIME`), and engines that have several in flight
/// (`SEVERAL`).
const ONE_AT_A_TIME: [&str; 7] = ["sync", "psync", "vsync", "pvsync", "pvsync2", "mmap", "splice"];
const SEVERAL: [&str; 5] = ["libaio", "io_uring", "posixaio", "windowsaio", "null"];
/// Engines that need a library or a server of their own. To test such storage, map it to a block device.
const ELSEWHERE: [&str; 12] =
    ["rbd", "rados", "http", "nfs", "libiscsi", "nbd", "gfapi", "gfapi_async", "libhdfs", "pmemblk", "dfs", "libblkio"];

/// How a job reaches its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Engine {
    /// Upper bound on the operations of a copy in flight.
    pub depth: u32,
    /// Whether operations go to no device at all (`ioengine=null`).
    pub null: bool,
}

/// Reads `ioengine` and `iodepth`.
pub(super) fn engine(job: &Job<'_>) -> Result<Engine, Fault> {
    let asked = job.within::<u32>("iodepth", 1, LARGEST_BOUND.into())?.unwrap_or(1);
    // The default of fio on Linux.
    let Some((entry, value)) = job.value("ioengine")? else { return Ok(waiting(job, "psync, fio's own,", asked)) };
    let name = value.text.as_str();
    if ONE_AT_A_TIME.contains(&name) {
        job.differs(entry, "one operation of each copy in flight, by the engine that the log names");
        return Ok(waiting(job, name, asked));
    }
    if SEVERAL.contains(&name) {
        if name != "null" {
            job.differs(entry, "carried by the engine that the log names");
        }
        return Ok(Engine { depth: asked, null: name == "null" });
    }
    let (what, remedy) = match name {
        _ if ELSEWHERE.contains(&name) => {
            ("needs a library of its own", "map the volume and name its device".to_owned())
        }
        _ => (
            "this engine is not driven here",
            format!("write one of {}, {}", ONE_AT_A_TIME.join(", "), SEVERAL.join(", ")),
        ),
    };
    Err(job.fault(entry, what, remedy))
}

fn waiting(job: &Job<'_>, engine: &str, asked: u32) -> Engine {
    if asked > 1 {
        job.note(format!("{}: iodepth is {asked}, but {engine} waits for each operation: 1 in flight", job.name));
    }
    Engine { depth: 1, null: false }
}

/// When the operations of one copy are due.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    /// The arrivals of reads and of writes.
    pub arrivals: [Option<Arrival>; 2],
    /// `None` if the streams are not in a loop; otherwise the pauses of the loop, if it has any.
    pub looped: Option<Option<Think>>,
}

/// The pace of a job. `files` says that it has several files. Streams of a loop do not have the loop's name yet: the
/// caller sets it.
pub(super) fn pace(
    job: &Job<'_>,
    mode: Mode,
    (depth, flushes, files): (u32, Flushes, bool),
    sizes: &[Size; 2],
) -> Result<Pace, Fault> {
    let rates = rates(job, sizes)?;
    let poisson = match job.value("rate_process")? {
        None => false,
        Some((entry, value)) => match value.text.as_str() {
            "linear" => false,
            "poisson" => true,
            _ => return Err(job.fault(entry, "no such process", "write linear or poisson")),
        },
    };
    let think = think(job, depth)?;
    let rated = mode.directions().filter(|direction| rates[index(*direction)].is_some()).count();
    if let Some(entry) = job.entry("thinktime").filter(|_| think.is_some() && rated > 0) {
        return Err(job.not_yet(entry, "a pause beside a rate", "remove thinktime: a rate has pauses of its own"));
    }
    let entry = job.entry("fsync").or_else(|| job.entry("fdatasync"));
    if let Some(entry) = entry.filter(|_| flushes.every.is_some() && rated > 0) {
        let remedy = "remove the rate, or write sync=1, by which each write is on stable media when it completes";
        return Err(job.not_yet(entry, "a flush after writes that have a rate", remedy));
    }
    for key in ["rate_iops", "rate"] {
        if let Some(entry) = job.entry(key).filter(|_| files && rated > 0) {
            return Err(job.not_yet(
                entry,
                "a rate on several files",
                "write a job for each file, with its part of the rate",
            ));
        }
    }
    if let Some(entry) = entry.filter(|_| files && flushes.every.is_some()) {
        let remedy = "write a job for each file, or end_fsync; fio flushes the file whose turn is next, not that which was written";
        return Err(job.not_yet(entry, "a flush after writes to several files", remedy));
    }
    if mode.both() && rated == 1 {
        job.note(format!("{}: the direction without a rate is a closed loop of its own, {depth} in flight", job.name));
    }
    let shares = shares(job, mode, rated)?;
    let several = mode.directions().filter(|direction| shares[index(*direction)] > 0).count() > 1;
    let looped = rated == 0
        && (several
            || files
            || flushes.every.is_some()
            || think.is_some_and(|think| think.every > 1 || think.together));
    let of = |direction: Direction| match (rates[index(direction)], think) {
        (Some(rate), _) if poisson => Arrival::Poisson { rate },
        (Some(rate), _) => Arrival::Steady { rate },
        _ if looped => {
            Arrival::Looped { looped: String::new(), share: Share::from_percent(shares[index(direction)]), line: None }
        }
        (None, Some(think)) => Arrival::Paced { pause: think.time },
        (None, None) => Arrival::Closed { in_flight: depth },
    };
    let mut arrivals = [None, None];
    let wanted = mode.directions().filter(|direction| shares[index(*direction)] > 0);
    wanted.for_each(|direction| arrivals[index(direction)] = Some(of(direction)));
    Ok(Pace { arrivals, looped: looped.then_some(think) })
}

/// The share of each direction in the operations of a job, in percent. With rates each direction has 100 %.
fn shares(job: &Job<'_>, mode: Mode, rated: usize) -> Result<[u64; 2], Fault> {
    let (reads, writes) = (job.percent("rwmixread")?, job.percent("rwmixwrite")?);
    if !mode.both() {
        return Ok([100, 100]);
    }
    if rated > 0 {
        if reads.or(writes).is_some() {
            job.note(format!("{}: each direction has its own rate, whatever rwmixread and rwmixwrite say", job.name));
        }
        return Ok([100, 100]);
    }
    let reads = match (reads, writes) {
        (Some(reads), None) => reads,
        (Some(reads), Some(_)) if job.is_later("rwmixread", "rwmixwrite") => reads,
        (_, Some(writes)) => 100 - writes,
        // The default of fio.
        (None, None) => 50,
    };
    Ok([reads, 100 - reads])
}

/// Operations per second of reads and of writes.
fn rates(job: &Job<'_>, sizes: &[Size; 2]) -> Result<[Option<Rate>; 2], Fault> {
    let (operations, bytes) = (
        job.pair("rate_iops", |reading, text| reading.count(text))?,
        job.pair("rate", |reading, text| reading.count(text))?,
    );
    if let (Some(one), Some(other)) = (job.entry("rate_iops"), job.entry("rate")) {
        let later = if job.is_later("rate_iops", "rate") { one } else { other };
        return Err(job.file.fault(later.place, "rate and rate_iops exclude each other", "write one of the two"));
    }
    for entry in [job.entry("rate_iops"), job.entry("rate")].into_iter().flatten() {
        job.differs(entry, "an open loop, whose operations wait from when they were due");
    }
    let mut rates = [None, None];
    for direction in 0..2 {
        let operations = operations[direction].filter(|rate| *rate > 0).map(|rate| Some(Rate::per_second(rate)));
        let bytes = bytes[direction].filter(|rate| *rate > 0);
        let rate = operations.or_else(|| bytes.map(|bytes| sizes[direction].rate_of(bytes)));
        rates[direction] = match rate {
            Some(None) => {
                return Err(job.file.whole(format!("{}: the rate is too large", job.name), "write a smaller one"));
            }
            rate => rate.flatten(),
        };
    }
    Ok(rates)
}

/// Pauses between the operations of a copy.
fn think(job: &Job<'_>, depth: u32) -> Result<Option<Think>, Fault> {
    let pause = job.time("thinktime", Span::from_us(1))?.filter(|pause| !pause.is_zero());
    let every = job.within::<u32>("thinktime_blocks", 1, u32::MAX.into())?.unwrap_or(1);
    let kind = job.value("thinktime_blocks_type")?;
    if let Some((_, value)) = kind.filter(|(_, value)| !["complete", "issue"].contains(&value.text.as_str())) {
        return Err(job.wrong(value, Wrong::new(&value.text, "no such kind of blocks", "write complete or issue")));
    }
    if let Some(entry) = job.entry("thinktime").filter(|_| pause.is_some() && depth > 1) {
        job.differs(
            entry,
            "after so many completions nothing is issued until those in flight have completed, and then for the pause",
        );
    }
    Ok(pause.map(|time| Think { time, every, spread: Spread::None, together: depth > 1 }))
}
