//! When the operations of a job are due: by rates, in a closed loop, or with pauses.

use super::flushes::Flushes;
use super::job::Job;
use super::number::Wrong;
use super::order::{Mode, index_of_direction};
use super::turns::Service;
use assay_base::{Direction, Fault, Rate, Share, Span};
use assay_model::arrival::{Pauses, SharedSchedule};
use assay_model::mix::{Spread, Think};
use assay_model::plan::Arrival;
use assay_model::size::Size;

/// The times at which the operations of one copy are due.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    /// The arrivals of reads and of writes.
    pub arrivals: [Option<Arrival>; 2],
    /// `None` if the streams are not in a loop; otherwise the pauses of the loop, if it has any.
    pub looped: Option<Option<Think>>,
}

impl Pace {
    /// Whether the streams of a copy share a schedule.
    pub(super) fn is_shared(&self) -> bool {
        self.arrivals.iter().any(|arrival| matches!(arrival, Some(Arrival::Shared { .. })))
    }
}

/// The pace of a job. `service` is the order of its files if it has several. Streams of a loop, and streams that share a
/// schedule, do not have its name yet: the caller sets it.
pub(super) fn read_pace(
    job: &Job<'_>,
    mode: Mode,
    depth: u32,
    flushes: Flushes,
    service: Option<Service<'_>>,
    sizes: &[Size; 2],
) -> Result<Pace, Fault> {
    let asked = Rates { of: direction_rates(job, sizes)?, even: is_even(job)? };
    let think = think_pauses(job, depth)?;
    let (asked, pauses) = match think {
        None => (asked, None),
        Some(think) => rates_beside_pauses(job, mode, asked, think)?,
    };
    let rated = mode.directions().filter(|direction| asked.of[index_of_direction(*direction)].is_some()).count();
    refuse_flushes(job, flushes, rated > 0, service.is_some())?;
    if mode.reads_and_writes() && rated == 1 {
        one_direction(job, service.is_some(), depth)?;
    }
    let shares = direction_shares(job, mode, rated)?;
    let several = mode.directions().filter(|direction| shares[index_of_direction(*direction)] > 0).count() > 1;
    let looped = rated == 0
        && (several
            || service.is_some()
            || flushes.every.is_some()
            || think.is_some_and(|think| think.every > 1 || think.together));
    if let Some(entry) = job.find_entry("thinktime").filter(|_| rated == 0 && think.is_some_and(|think| think.together))
    {
        job.note_difference(
            entry,
            "after so many completions nothing is issued until those in flight have completed, and then for the pause",
        );
    }
    let schedule = match rated {
        0 => None,
        _ => asked.shared_schedule(job, mode, pauses, service)?,
    };
    let mut arrivals = [None, None];
    for at in mode.directions().map(index_of_direction).filter(|at| shares[*at] > 0) {
        arrivals[at] = Some(match (asked.of[at], &schedule, think) {
            (Some(rate), Some(schedule), _) => Arrival::Shared { rate, even: asked.even, schedule: schedule.clone() },
            (Some(rate), None, _) if asked.even => Arrival::Steady { rate },
            (Some(rate), None, _) => Arrival::Poisson { rate },
            _ if looped => {
                Arrival::Looped { looped: String::new(), share: Share::from_percent(shares[at]), line: None }
            }
            (None, _, Some(think)) => Arrival::Paced { pause: think.time },
            (None, _, None) => Arrival::Closed { in_flight: depth },
        });
    }
    Ok(Pace { arrivals, looped: looped.then_some(think) })
}

/// The rates of a job.
#[derive(Clone, Copy, Debug)]
struct Rates {
    /// Operations per second of reads and of writes.
    of: [Option<Rate>; 2],
    /// Evenly spaced; otherwise independent clients.
    even: bool,
}

impl Rates {
    /// The rate of these directions together.
    fn total_rate(&self, job: &Job<'_>, mode: Mode) -> Result<Rate, Fault> {
        let rates = mode.directions().filter_map(|direction| self.of[index_of_direction(direction)]);
        let all = { rates }.try_fold(Rate::ZERO, Rate::checked_plus);
        all.ok_or_else(|| {
            job.file.fault_of_file(format!("{}: the rates are too large", job.name), "write smaller ones")
        })
    }

    /// The schedule that the streams of a copy share; `None` if each has one of its own. Without pauses, operations that
    /// are evenly spaced come to one target after the other by themselves.
    fn shared_schedule(
        &self,
        job: &Job<'_>,
        mode: Mode,
        pauses: Option<Pauses>,
        service: Option<Service<'_>>,
    ) -> Result<Option<SharedSchedule>, Fault> {
        let turns = service.map_or(Ok(None), |service| service.of_rates(job))?;
        if pauses.is_none() && turns.is_none() && (service.is_none() || self.even) {
            return Ok(None);
        }
        Ok(Some(SharedSchedule { name: String::new(), all: self.total_rate(job, mode)?, pauses, turns }))
    }
}

/// Whether operations with a rate are evenly spaced.
fn is_even(job: &Job<'_>) -> Result<bool, Fault> {
    let Some((entry, value)) = job.value_of_key("rate_process")? else { return Ok(true) };
    match value.text.as_str() {
        "linear" => Ok(true),
        "poisson" => Ok(false),
        _ => Err(job.fault_at_entry(entry, "no such process", "write linear or poisson")),
    }
}

/// What becomes of rates beside pauses: rates that the pauses leave no time for are never reached, so that the job is a
/// closed loop with pauses; otherwise operations have their rates, and wait for the ends of pauses.
fn rates_beside_pauses(
    job: &Job<'_>,
    mode: Mode,
    asked: Rates,
    think: Think,
) -> Result<(Rates, Option<Pauses>), Fault> {
    let stand_still = job.is_switched_on("rate_ignore_thinktime")?;
    let rated: Vec<Direction> =
        mode.directions().filter(|direction| asked.of[index_of_direction(*direction)].is_some()).collect();
    let (false, Some(entry)) = (rated.is_empty(), job.find_entry("thinktime")) else { return Ok((asked, None)) };
    if rated.len() < mode.directions().count() {
        let remedy = "give both a rate, or write a job for each";
        return Err(job.not_yet(entry, "a pause in a job with a rate for one of its directions", remedy));
    }
    if let Some(ignore) = job.find_entry("rate_ignore_thinktime").filter(|_| stand_still && rated.len() > 1) {
        return Err(job.not_yet(ignore, "rate_ignore_thinktime of a job with two rates", "write a job for each"));
    }
    // What the pauses leave time for.
    let most = f64::from(think.every) / think.time.as_secs_f64();
    let shares = direction_shares(job, mode, 0)?;
    let any_is_reached = rated.iter().map(|direction| index_of_direction(*direction)).any(|at| {
        let share = if mode.reads_and_writes() { shares[at] as f64 / 100.0 } else { 1.0 };
        asked.of[at].is_some_and(|rate| rate.as_f64() < most * share)
    });
    let is_reached = stand_still || asked.total_rate(job, mode)?.as_f64() < most;
    if !is_reached && any_is_reached {
        let remedy = "write larger thinktime_blocks or smaller rates, or a job for each direction";
        return Err(job.not_yet(entry, "a pause that leaves time for one of two rates", remedy));
    }
    if !is_reached {
        let told = format!("without effect: thinktime leaves time for {most:.1} operations a second, which are fewer");
        [job.find_entry("rate_iops"), job.find_entry("rate")]
            .into_iter()
            .flatten()
            .for_each(|rate| job.note_difference(rate, &told));
        return Ok((Rates { of: [None, None], ..asked }, None));
    }
    job.note_difference(
        entry,
        "a pause begins when the last operation before it was due, and not when it completed; what was due in it is due at its end",
    );
    Ok((asked, Some(Pauses { every: think.every, time: think.time, stand_still })))
}

/// Refuses flushes after writes that are not in one closed loop on one file.
fn refuse_flushes(job: &Job<'_>, flushes: Flushes, rated: bool, files: bool) -> Result<(), Fault> {
    let entry = job.find_entry("fsync").or_else(|| job.find_entry("fdatasync")).filter(|_| flushes.every.is_some());
    let Some(entry) = entry else { return Ok(()) };
    if rated {
        let remedy = "remove the rate, or write sync=1, by which each write is on stable media when it completes";
        return Err(job.not_yet(entry, "a flush after writes that have a rate", remedy));
    }
    if files {
        let remedy = "write a job for each file, or end_fsync; fio flushes the file whose turn is next, not that which was written";
        return Err(job.not_yet(entry, "a flush after writes to several files", remedy));
    }
    Ok(())
}

/// A job of which one of two directions has a rate.
fn one_direction(job: &Job<'_>, files: bool, depth: u32) -> Result<(), Fault> {
    if let Some(entry) = job.find_entry("rate_iops").or_else(|| job.find_entry("rate")).filter(|_| files) {
        let remedy = "give both a rate, or write a job for each";
        return Err(job.not_yet(entry, "a rate for one of two directions on several files", remedy));
    }
    job.add_note(format!("{}: the direction without a rate is a closed loop of its own, {depth} in flight", job.name));
    Ok(())
}

/// The share of each direction in the operations of a job, in percent. With rates each direction has 100 %.
fn direction_shares(job: &Job<'_>, mode: Mode, rated: usize) -> Result<[u64; 2], Fault> {
    let (reads, writes) = (job.percent_of_key("rwmixread")?, job.percent_of_key("rwmixwrite")?);
    if !mode.reads_and_writes() {
        return Ok([100, 100]);
    }
    if rated > 0 {
        if reads.or(writes).is_some() {
            job.add_note(format!(
                "{}: each direction has its own rate, whatever rwmixread and rwmixwrite say",
                job.name
            ));
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
fn direction_rates(job: &Job<'_>, sizes: &[Size; 2]) -> Result<[Option<Rate>; 2], Fault> {
    let (operations, bytes) = (
        job.pair_of_key("rate_iops", |reading, text| reading.parse_count(text))?,
        job.pair_of_key("rate", |reading, text| reading.parse_count(text))?,
    );
    if let (Some(one), Some(other)) = (job.find_entry("rate_iops"), job.find_entry("rate")) {
        let later = if job.is_later("rate_iops", "rate") { one } else { other };
        return Err(job.file.fault_at(later.place, "rate and rate_iops exclude each other", "write one of the two"));
    }
    for entry in [job.find_entry("rate_iops"), job.find_entry("rate")].into_iter().flatten() {
        job.note_difference(entry, "an open loop, whose operations wait from when they were due");
    }
    let mut rates = [None, None];
    for direction in 0..2 {
        let operations = operations[direction].filter(|rate| *rate > 0).map(|rate| Some(Rate::per_second(rate)));
        let bytes = bytes[direction].filter(|rate| *rate > 0);
        let rate = operations.or_else(|| bytes.map(|bytes| sizes[direction].rate_of(bytes)));
        rates[direction] = match rate {
            Some(None) => {
                return Err(job
                    .file
                    .fault_of_file(format!("{}: the rate is too large", job.name), "write a smaller one"));
            }
            rate => rate.flatten(),
        };
    }
    Ok(rates)
}

/// Pauses between the operations of a copy.
fn think_pauses(job: &Job<'_>, depth: u32) -> Result<Option<Think>, Fault> {
    let pause = job.time_of_key("thinktime", Span::from_us(1))?.filter(|pause| !pause.is_zero());
    let every = job.number_within::<u32>("thinktime_blocks", 1, u32::MAX.into())?.unwrap_or(1);
    let kind = job.value_of_key("thinktime_blocks_type")?;
    if let Some((_, value)) = kind.filter(|(_, value)| !["complete", "issue"].contains(&value.text.as_str())) {
        return Err(
            job.fault_in_value(value, Wrong::new(&value.text, "no such kind of blocks", "write complete or issue"))
        );
    }
    Ok(pause.map(|time| Think { time, every, spread: Spread::None, together: depth > 1 }))
}
