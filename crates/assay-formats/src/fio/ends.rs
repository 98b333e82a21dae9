//! When a job begins and ends: `runtime`, `size`, `io_size`, `number_ios`, `loops`, `startdelay`, `wait_for`.

use super::job::Job;
use super::number::Amount;
use super::order::Mode;
use assay_base::{Bytes, Fault, Span};
use assay_model::Life;
use assay_model::size::Size;

/// What all copies of a job have in common.
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

/// Reads these keys of a job. `after` are the names of the streams or loops that it waits for.
pub(super) fn ends(job: &Job<'_>, after: Vec<String>) -> Result<Ends, Fault> {
    let based = job.flag("time_based")?;
    let runtime = job.time("runtime", Span::from_secs(1))?.filter(|runtime| !runtime.is_zero());
    if let Some(entry) = job.entry("time_based").filter(|_| based && runtime.is_none()) {
        return Err(job.file.fault(entry.place, "nothing says how long", "add runtime="));
    }
    let (number, io_size) = (job.count("number_ios")?.filter(|number| *number > 0), job.amount("io_size")?);
    let loops = job.within::<u64>("loops", 1, 1_000_000_000)?.unwrap_or(1);
    for key in ["number_ios", "io_size", "loops"] {
        if let Some(entry) = job.entry(key).filter(|_| based) {
            job.differs(entry, "without effect: the job is time_based, and goes on until its runtime is over");
        }
    }
    let delay = job.time("startdelay", Span::from_secs(1))?.unwrap_or(Span::ZERO);
    let io_size = io_size.map(|(_, amount)| amount).filter(|amount| *amount != Amount::Bytes(0));
    Ok(Ends { runtime, based, delay, loops, number, io_size, after })
}

impl Ends {
    /// The life of a copy that ends with the last operation of its recording, or after its runtime.
    pub(super) fn of_recording(&self) -> Life {
        Life { start: self.delay, lasts: self.runtime, ..Life::default() }.behind(self.after.clone())
    }

    /// The life of a copy that uses `length` bytes of its file with operations of these sizes. `rated` says that its
    /// directions have rates: then each of them is a stream of its own.
    pub(super) fn life(
        &self,
        job: &Job<'_>,
        length: Option<u64>,
        (sizes, mode, rated): (&[Size; 2], Mode, bool),
    ) -> Result<Life, Fault> {
        let timed = Life { start: self.delay, lasts: self.runtime, ..Life::default() }.behind(self.after.clone());
        if self.based {
            return Ok(timed);
        }
        let place = || {
            let keys = ["number_ios", "io_size", "size", "runtime"];
            keys.into_iter().find_map(|key| job.entry(key)).map_or(job.section.place, |entry| entry.place)
        };
        if rated && mode.both() {
            return Err(job.file.fault(
                place(),
                "a job of both directions with rates that ends by what both have moved is not driven yet",
                "add time_based, and runtime= for how long",
            ));
        }
        if let Some(entry) = job.entry("ramp_time").filter(|_| self.warms_up(job)) {
            let remedy = "remove ramp_time, or add time_based and runtime=";
            return Err(job.fault(entry, "a job that ends by what it has moved has no warm-up here", remedy));
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
            return Err(job.file.fault(
                place(),
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

    fn warms_up(&self, job: &Job<'_>) -> bool {
        job.time("ramp_time", Span::from_secs(1)).is_ok_and(|ramp| ramp.is_some_and(|ramp| !ramp.is_zero()))
    }
}
