//! Preparation: zeros everywhere, then incompressible data everywhere, the tail included, then a look at sampled blocks.
//!
//! A device that was never written answers reads without looking at its medium, and a fresh one has more free blocks than it
//! will ever have again; both would flatter it. Each target has a thread and a ring of its own, so several are prepared in the
//! time of the slowest.

use crate::blank::{blocks, read};
use crate::failure::{Failure, one_line};
use crate::observer::Observer;
use crate::records::{Mark, Record, Records};
use crate::rundir;
use crate::signals::StopCell;
use crate::targets::Real;
use crate::threads::spawn;
use assay_base::{BlockDevice, Completion, Device, Direction, Done, Geometry, Op, Prng, Share, Span, Stamp, Ticket};
use assay_device::clock::Clock;
use assay_device::facts::Slots;
use assay_device::select::{AnyDevice, Choice, select};
use assay_engine::shell::Stop;
use assay_model::content::Content;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of one write, and how many are in flight: enough to keep a device busy, small enough to stay in its queue.
const WRITE: u64 = 1 << 20;
const DEPTH: u32 = 16;
/// Blocks read back at the end.
const SAMPLES: u64 = 256;
/// Bytes between two savings of the record.
const SAVE_EVERY: u64 = 4 << 30;

/// How the targets are prepared.
#[derive(Clone, Copy, Debug)]
pub struct Preparation {
    /// Whether zeros are written first.
    pub zero: bool,
    /// Whether everything is discarded first; what an earlier, interrupted preparation wrote is gone with it.
    pub afresh: bool,
    /// How operations are carried.
    pub engine: Choice,
    /// Marks the data.
    pub run: u32,
}

/// Prepares all targets at once. Interrupted, it says so and can be called again to go on.
pub fn prepare(
    all: &[Real],
    names: &[String],
    preparation: Preparation,
    records: Option<&Records>,
    observer: &mut dyn Observer,
    stop: &StopCell,
) -> Result<Vec<Record>, Failure> {
    let done = AtomicU64::new(0);
    let sizes: Vec<u64> = all.iter().map(|real| real.target.geometry().size).collect();
    let passes = 1 + u64::from(preparation.zero);
    let begun: Vec<Record> =
        all.iter().zip(names).map(|(real, name)| begin(real, name, preparation, records)).collect();
    let before: u64 =
        begun.iter().map(|record| record.salted_bytes + if preparation.zero { record.zeroed_bytes } else { 0 }).sum();
    let total = sizes.iter().sum::<u64>() * passes - before.min(sizes.iter().sum::<u64>() * passes);
    let clock = Clock::start();
    let since = clock.now();
    if preparation.afresh {
        // For a file this returns the error that it cannot be discarded, before anything has changed.
        all.iter().filter(|real| real.disk.is_none()).try_for_each(Real::discard)?;
    }
    // The records are marked unfinished before the first write, so that a crash leaves no record of a preparation that no
    // longer holds.
    if let Some(records) = records {
        begun.iter().try_for_each(|record| records.keep(record))?;
    }
    if preparation.afresh {
        discard(all, stop)?;
    }
    std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for (real, record) in all.iter().zip(begun) {
            let (done, records) = (&done, records);
            let body = move || Preparing { real, record, preparation, records, done, stop }.run();
            threads.push(spawn(scope, "prepare".to_owned(), body)?);
        }
        while threads.iter().any(|thread| !thread.is_finished()) {
            observer.bytes("preparing", done.load(Ordering::Relaxed), total, clock.now().since(since));
            rest();
        }
        observer.finish();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Err(Failure::bug("preparing panicked"))))
            .collect()
    })
}

/// Between two looks at how far it is.
#[allow(clippy::disallowed_methods, reason = "the display's own pace, not an operation's")]
fn rest() {
    std::thread::sleep(std::time::Duration::from_millis(100));
}

/// Discards all targets, each of which may take minutes.
fn discard(all: &[Real], stop: &StopCell) -> Result<(), Failure> {
    for real in all {
        if stop.is_set() {
            return Err(interrupted(&real.name, true));
        }
        real.discard()?;
    }
    Ok(())
}

/// `goes_on`: a record is kept of how far it came.
fn interrupted(target: &str, goes_on: bool) -> Failure {
    let again = if goes_on { "repeat the command to continue" } else { "repeat the command to start again" };
    Failure::incomplete(format!("preparing {} was interrupted; {again}", one_line(target)))
}

/// The record to go on from: the unfinished one of this target, or a new one.
fn begin(real: &Real, name: &str, preparation: Preparation, records: Option<&Records>) -> Record {
    let kept = records.filter(|_| !preparation.afresh).and_then(|records| records.of(real));
    let unfinished = kept.filter(|record| record.finished.is_none() && record.zeroed_bytes + record.salted_bytes > 0);
    unfinished.unwrap_or_else(|| Record {
        identity: real.identity(),
        file: real.file(),
        target: name.to_owned(),
        size_bytes: real.target.geometry().size,
        run: preparation.run,
        zeroed_bytes: 0,
        salted_bytes: 0,
        verified_blocks: 0,
        finished: None,
        begun: Some(rundir::timestamp()),
        tool: Some(crate::tool::tool()),
        mark: None,
    })
}

struct Preparing<'a> {
    real: &'a Real,
    record: Record,
    preparation: Preparation,
    records: Option<&'a Records>,
    done: &'a AtomicU64,
    stop: &'a StopCell,
}

impl Preparing<'_> {
    fn run(mut self) -> Result<Record, Failure> {
        let clock = Clock::start();
        let slots = Slots { count: DEPTH, bytes: WRITE as u32 };
        let mut device =
            select(self.preparation.engine, vec![self.real.target.clone()], slots, clock).map_err(Failure::host)?;
        if self.preparation.zero && self.record.salted_bytes == 0 {
            self.pass(&mut device, clock, None)?;
        }
        let content = self.salt();
        self.pass(&mut device, clock, Some(content))?;
        self.record.verified_blocks = self.verify(&mut device, clock)?;
        self.record.finished = Some(rundir::timestamp());
        self.record.mark = Mark::of(self.real);
        self.keep()?;
        Ok(self.record)
    }

    /// Data of this target and of where it begins: neither a second target of the same size nor what is written after an
    /// interruption repeats what was written before.
    fn salt(&self) -> Content {
        let Record { run, size_bytes, salted_bytes, identity, .. } = &self.record;
        let own: Vec<u64> = [*size_bytes, *salted_bytes].into_iter().chain(identity.bytes().map(u64::from)).collect();
        Content::new(Prng::child(u64::from(*run), &own), *run, Share::WHOLE)
    }

    fn keep(&self) -> Result<(), Failure> {
        self.records.map_or(Ok(()), |records| records.keep(&self.record))
    }

    /// Keeps the record once the device has what it says: after a power cut a preparation goes on from there.
    fn save(&self) -> Result<(), Failure> {
        self.real.sync().map_err(|e| self.failed(&format!("its cache was not emptied: {e}")))?;
        self.keep()
    }

    fn interrupted(&self) -> Failure {
        interrupted(&self.record.target, self.records.is_some())
    }

    /// One pass over the target, from the position in its record to the end: writes zeros, or `salt` if given.
    fn pass(&mut self, device: &mut AnyDevice, clock: Clock, mut salt: Option<Content>) -> Result<(), Failure> {
        let salting = salt.is_some();
        let from = if salting { self.record.salted_bytes } else { self.record.zeroed_bytes };
        let mut fill = Fill::new(device.geometry(0), from);
        let mut saved = from;
        for ticket in 0..DEPTH {
            device.buffer(Ticket(ticket)).fill(0);
        }
        let mut done = Done::new();
        while !fill.is_over(self.stop.is_set()) {
            if at_once(self.stop) {
                // The position that was saved last stays valid. Nothing is flushed here, because a device that hangs would never
                // complete the flush.
                return Err(self.interrupted());
            }
            let now = clock.now();
            while let Some((ticket, op)) = fill.next(self.stop.is_set()) {
                if let Some(content) = &mut salt {
                    content.fill(op.offset, &mut device.buffer(ticket)[..op.len as usize]);
                }
                device.submit(now, ticket, &op);
            }
            device.poll(now, &mut done);
            if done.is_empty() {
                device.wait(Span::from_ms(100));
            }
            for completion in done.drain(..) {
                let moved = fill.completed(&completion).map_err(|why| self.failed(&why))?;
                self.done.fetch_add(moved, Ordering::Relaxed);
            }
            let mark = fill.written();
            *(if salting { &mut self.record.salted_bytes } else { &mut self.record.zeroed_bytes }) = mark;
            if mark - saved >= SAVE_EVERY {
                saved = mark;
                self.save()?;
            }
        }
        self.save()?;
        if self.stop.is_set() && fill.written() < self.record.size_bytes {
            return Err(self.interrupted());
        }
        Ok(())
    }

    fn failed(&self, why: &str) -> Failure {
        Failure::failed(format!("preparing {} failed: {why}", one_line(&self.record.target)))
    }

    /// The target does not hold what its record says it does: nothing of it counts, or each later call would go on from there
    /// and fail again.
    fn forget(&mut self, failure: Failure) -> Failure {
        (self.record.zeroed_bytes, self.record.salted_bytes) = (0, 0);
        match self.keep() {
            Ok(()) => failure.advised("what was written so far no longer counts; repeat the command to start again"),
            // The next call meets that first, and says so.
            Err(_) => failure,
        }
    }

    /// Reads blocks spread over the whole target; each must open with this preparation's stamp. Returns their number.
    fn verify(&mut self, device: &mut AnyDevice, clock: Clock) -> Result<u64, Failure> {
        let (len, blocks) = blocks(device.geometry(0));
        let mut prng = Prng::seeded(u64::from(self.record.run));
        for sample in 0..SAMPLES.min(blocks) {
            // The first and the last block always, the others anywhere.
            let at = match sample {
                0 => 0,
                1 => blocks - 1,
                _ => prng.below(blocks),
            };
            let offset = at * u64::from(len);
            let completion =
                read(device, clock, offset, len, || at_once(self.stop)).ok_or_else(|| self.interrupted())?;
            let found = Stamp::read(device.buffer(Ticket(0)));
            let wrong = match completion.result {
                Ok(moved) if moved != len => format!("reading back at {offset} gave {moved} of {len} bytes"),
                Err(errno) => format!("reading back at {offset} gave {errno}"),
                Ok(_) if found.map(|stamp| stamp.run) != Some(self.record.run) => {
                    format!("at {offset} something else was read than was written")
                }
                Ok(_) => continue,
            };
            let failure = self.failed(&wrong);
            return Err(self.forget(failure));
        }
        Ok(SAMPLES.min(blocks))
    }
}

/// A second signal waits for nothing.
fn at_once(stop: &StopCell) -> bool {
    matches!(stop.get(), Some(Stop::Now(_)))
}

/// Which write comes next, and how far everything is written. Pure.
#[derive(Debug)]
struct Fill {
    size: u64,
    next: u64,
    /// Offset and length of what each ticket carries.
    in_flight: Vec<Option<(u64, u32)>>,
}

impl Fill {
    fn new(geometry: Geometry, from: u64) -> Fill {
        let size = geometry.size / u64::from(geometry.block) * u64::from(geometry.block);
        Fill { size, next: from.min(size) / WRITE * WRITE, in_flight: vec![None; DEPTH as usize] }
    }

    /// The next write, unless all are on their way or `stop` asks for the end.
    fn next(&mut self, stop: bool) -> Option<(Ticket, Op)> {
        if self.next >= self.size || stop {
            return None;
        }
        let free = self.in_flight.iter().position(Option::is_none)?;
        let len = WRITE.min(self.size - self.next) as u32;
        let op = Op { target: 0, direction: Direction::Write, durable: false, offset: self.next, len };
        self.in_flight[free] = Some((self.next, len));
        self.next += u64::from(len);
        Some((Ticket(free as u32), op))
    }

    /// Takes a completion; returns the bytes it wrote.
    fn completed(&mut self, completion: &Completion) -> Result<u64, String> {
        let carried = self.in_flight.get_mut(completion.ticket.0 as usize).and_then(Option::take);
        let (offset, len) = carried.expect("a ticket completes once for each submission");
        match completion.result {
            Ok(moved) if moved == len => Ok(u64::from(len)),
            Ok(moved) => Err(format!("only {moved} of {len} bytes were written at {offset}")),
            Err(errno) => Err(format!("{errno} writing {len} bytes at {offset}")),
        }
    }

    /// Everything below this is written.
    fn written(&self) -> u64 {
        self.in_flight.iter().flatten().map(|(offset, _)| *offset).min().unwrap_or(self.next)
    }

    /// Nothing is on its way and nothing more will be sent: all is written, or `stop` asks for the end.
    fn is_over(&self, stop: bool) -> bool {
        self.in_flight.iter().all(Option::is_none) && (stop || self.next >= self.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_base::Instant;

    fn complete(fill: &mut Fill, ticket: Ticket, len: u32) -> Result<u64, String> {
        let at = Instant::ZERO;
        fill.completed(&Completion { ticket, result: Ok(len), issued: at, accepted: at, completed: at })
    }

    #[test]
    fn writes_every_byte_once_with_the_tail_and_marks_only_what_is_written() {
        let size = 40 * WRITE + 512 * 3;
        let mut fill = Fill::new(Geometry { size: size + 100, block: 512 }, 0);
        let mut written = 0;
        let mut last = None;
        while let Some((ticket, op)) = fill.next(false) {
            assert_eq!((op.offset, fill.written()), (written, written));
            last = Some(op);
            written += complete(&mut fill, ticket, op.len).unwrap();
        }
        assert_eq!((written, fill.written(), fill.is_over(false)), (size, size, true));
        assert_eq!(last.unwrap().len, 512 * 3);
    }

    #[test]
    fn the_mark_waits_for_the_slowest_and_a_short_write_is_a_failure() {
        let mut fill = Fill::new(Geometry { size: 64 * WRITE, block: 512 }, 5 * WRITE + 7);
        let (first, op) = fill.next(false).unwrap();
        assert_eq!(op.offset, 5 * WRITE, "resumed at the beginning of a write");
        let (second, _) = fill.next(false).unwrap();
        complete(&mut fill, second, WRITE as u32).unwrap();
        assert_eq!(fill.written(), 5 * WRITE);
        assert!(complete(&mut fill, first, 512).unwrap_err().contains("only 512"));
        assert!(
            fill.next(true).is_none() && !fill.is_over(false) && fill.is_over(true),
            "stopped, it ends where it is"
        );
    }
}
