//! When a job begins and ends: `runtime`, `size`, `io_size`, `number_ios`, `loops`, `startdelay`, `wait_for`.

use super::job::Job;
use super::number::Amount;
use super::order::Mode;
use super::text::Place;
use assay_base::{Bytes, Fault, Rate, Span};
use assay_model::Life;
use assay_model::size::Size;

/// The properties that all copies of a job have in common.
#[derive(Clone, Debug)]
pub(super) struct Ends {
    runtime: Option<Span>,
    based: bool,
    delay: Span,
    loops: u64,
    number: Option<u64>,
    io_size: Option<Amount>,
    /// The names of the streams or loops that the job waits for.
    pub after: Vec<String>,
}

/// Reads these keys of a job. `after` are the names of the streams or loops that it waits for; `measure` is how long a
/// job lasts that is `time_based` and does not say for how long.
pub(super) fn read_ends(job: &Job<'_>, after: Vec<String>, measure: Option<Span>) -> Result<Ends, Fault> {
    let based = job.is_switched_on("time_based")?;
    let own = job.time_of_key("runtime", Span::from_secs(1))?.filter(|runtime| !runtime.is_zero());
    let runtime = own.or(measure.filter(|_| based));
    if let Some(entry) = job.find_entry("time_based").filter(|_| based && runtime.is_none()) {
        return Err(job.file.fault_at(
            entry.place,
            "nothing says how long the job runs",
            "add runtime=, or give --for",
        ));
    }
    let (number, io_size) =
        (job.count_of_key("number_ios")?.filter(|number| *number > 0), job.amount_of_key("io_size")?);
    let loops = job.number_within::<u64>("loops", 1, 1_000_000_000)?.unwrap_or(1);
    for key in ["number_ios", "io_size", "loops"] {
        if let Some(entry) = job.find_entry(key).filter(|_| based) {
            job.note_difference(entry, "without effect: the job is time_based, and goes on until its runtime is over");
        }
    }
    let delay = start_delay(job)?;
    let io_size = io_size.map(|(_, amount)| amount).filter(|amount| *amount != Amount::Bytes(0));
    Ok(Ends { runtime, based, delay, loops, number, io_size, after })
}

/// How much later a job begins.
fn start_delay(job: &Job<'_>) -> Result<Span, Fault> {
    if let Some((entry, value)) = job.value_of_key("startdelay")?
        && value.text.contains('-')
    {
        return Err(job.not_yet(entry, "a beginning that is drawn between two times", "write one time"));
    }
    Ok(job.time_of_key("startdelay", Span::from_secs(1))?.unwrap_or(Span::ZERO))
}

impl Ends {
    /// The life of a copy that ends with the last operation of its recording, or after its runtime.
    pub(super) fn of_recording(&self) -> Life {
        Life { start: self.delay, lasts: self.runtime, ..Life::default() }.beginning_after(self.after.clone())
    }

    /// The lives of the reads and the writes of a copy that uses `length` bytes of its file with operations of these
    /// sizes. In a loop, and where a job has one direction, both are the same. `rates` are those of its directions.
    pub(super) fn direction_lives(
        &self,
        job: &Job<'_>,
        length: Option<u64>,
        sizes: &[Size; 2],
        mode: Mode,
        rates: [Option<Rate>; 2],
    ) -> Result<[Life; 2], Fault> {
        let whole = self.copy_life(job, length, sizes, mode)?;
        match rates {
            _ if !mode.reads_and_writes() || self.based => Ok([whole.clone(), whole]),
            [None, None] => Ok([whole.clone(), whole]),
            [Some(reads), Some(writes)] => {
                job.add_note(format!(
                    "{}: ends by what reads and writes have moved together; each has the part of it that its rate makes, and ends with that part",
                    job.name
                ));
                Ok(divide_life(&whole, [reads, writes], sizes))
            }
            _ => Err(job.file.fault_at(
                self.end_place(job),
                "a job with a rate for one of its directions that ends by what both have moved is not driven yet",
                "add time_based, and runtime= for how long, or give both a rate",
            )),
        }
    }

    /// The place where a job says how it ends.
    fn end_place(&self, job: &Job<'_>) -> Place {
        let keys = ["number_ios", "io_size", "size", "runtime"];
        keys.into_iter().find_map(|key| job.find_entry(key)).map_or(job.section.place, |entry| entry.place)
    }

    /// The life of a copy, by what all its directions move together.
    fn copy_life(&self, job: &Job<'_>, length: Option<u64>, sizes: &[Size; 2], mode: Mode) -> Result<Life, Fault> {
        let timed =
            Life { start: self.delay, lasts: self.runtime, ..Life::default() }.beginning_after(self.after.clone());
        if self.based {
            return Ok(timed);
        }
        if let Some(entry) = job.find_entry("ramp_time").filter(|_| self.warms_up(job)) {
            let remedy = "remove ramp_time, or add time_based and runtime=";
            return Err(job.fault_at_entry(entry, "a job that ends by what it has moved has no warm-up here", remedy));
        }
        let all = match (self.io_size, length) {
            (Some(Amount::Bytes(bytes)), _) => Some(bytes),
            (Some(Amount::Percent(percent)), Some(length)) => {
                Some((u128::from(length) * u128::from(percent) / 100) as u64)
            }
            (None, length) => length,
            (Some(_), None) => None,
        };
        let Some(all) = all.filter(|all| *all > 0) else {
            return Err(job.file.fault_at(
                self.end_place(job),
                "nothing says when the job ends: the size of its file is not known",
                "add size=, or time_based and runtime=",
            ));
        };
        let used = [mode.reads, mode.writes];
        let mut own = sizes.iter().zip(used).filter(|(_, used)| *used).map(|(size, _)| size);
        let first = own.next();
        let fixed = first.filter(|first| first.from == first.to && own.all(|size| size == *first));
        let number = self.number.unwrap_or(u64::MAX);
        // Each pass ends with the operation by which it has moved its bytes.
        let (operations, bytes) = match fixed {
            Some(size) => (number.min(all.div_ceil(size.from.get().max(1))), None),
            None => (number, Some(Bytes::new(all.saturating_mul(self.loops)))),
        };
        let operations = (operations < u64::MAX).then(|| operations.saturating_mul(self.loops));
        Ok(Life { operations, bytes, ..timed })
    }

    /// Whether the job has a ramp_time.
    fn warms_up(&self, job: &Job<'_>) -> bool {
        job.time_of_key("ramp_time", Span::from_secs(1)).is_ok_and(|ramp| ramp.is_some_and(|ramp| !ramp.is_zero()))
    }
}

/// The life on each of several files of what has this life on all of them together.
pub(super) fn on_each_of(life: Life, files: u64) -> Life {
    let operations = life.operations.map(|operations| operations.div_ceil(files));
    let bytes = life.bytes.map(|bytes| Bytes::new(bytes.get().div_ceil(files)));
    Life { operations, bytes, ..life }
}

/// The lives of reads and writes that together move what `whole` says, each with the part that its rate makes of it.
fn divide_life(whole: &Life, rates: [Rate; 2], sizes: &[Size; 2]) -> [Life; 2] {
    let operations = rates.map(Rate::as_f64);
    let bytes = [0, 1].map(|direction| operations[direction] * sizes[direction].in_blocks(1).mean_size());
    let operations = whole.operations.map(|all| divide_in_two_nonzero(all, operations));
    let bytes = whole.bytes.map(|all| divide_in_two_nonzero(all.get(), bytes));
    [0, 1].map(|direction| Life {
        operations: operations.map(|both| both[direction]),
        bytes: bytes.map(|both| Bytes::new(both[direction])),
        ..whole.clone()
    })
}

/// Two parts of `all` with these weights. Neither is zero, because a direction without an end would go on.
fn divide_in_two_nonzero(all: u64, weights: [f64; 2]) -> [u64; 2] {
    let first = (all as f64 * weights[0] / (weights[0] + weights[1])).round() as u64;
    let first = first.clamp(1, all.saturating_sub(1).max(1));
    [first, all.saturating_sub(first).max(1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_both_directions_move_is_divided_by_their_rates() {
        for (all, weights, expected) in [
            (1000, [500.0, 500.0], [500, 500]),
            (1000, [700.0, 300.0], [700, 300]),
            (1001, [1.0, 1.0], [501, 500]),
            (10, [1e9, 1.0], [9, 1]),
            (10, [1.0, 1e9], [1, 9]),
            (1, [1.0, 1.0], [1, 1]),
        ] {
            assert_eq!(divide_in_two_nonzero(all, weights), expected, "{all} {weights:?}");
        }
    }
}
