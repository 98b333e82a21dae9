//! Preparation: zeros everywhere, then incompressible data everywhere, the tail included, then a look at sampled blocks.
//!
//! A device that was never written answers reads without looking at its medium, and a fresh one has more free blocks than it
//! will ever have again; both would flatter it. Each target has a thread and a ring of its own, so several are prepared in the
//! time of the slowest.

use crate::failure::Failure;
use crate::progress::Progress;
use crate::records::{Mark, Record, Records};
use crate::rundir;
use crate::signals::StopCell;
use crate::targets::Real;
use crate::threads::spawn;
use assay_base::{Completion, Device, Direction, Done, Geometry, Op, Prng, Share, Span, Stamp, Ticket, stamp};
use assay_device::clock::Clock;
use assay_device::facts::Slots;
use assay_device::select::{AnyDevice, Choice, select};
use assay_model::content::Content;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of one write, and how many are in flight: enough to keep a device busy, small enough to stay in its queue.
const WRITE: u64 = 1 << 20;
const DEPTH: u32 = 16;
/// Blocks read back at the end.
const SAMPLES: u64 = 256;
/// Bytes between two savings of the record.
const SAVE_EVERY: u64 = 4 << 30;

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Wish {
    /// Whether zeros are written first.
    pub zero: bool,
    /// Whether it begins again where an earlier preparation was interrupted: what that wrote is gone.
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
    wish: Wish,
    records: Option<&Records>,
    progress: &mut Progress,
    stop: &StopCell,
) -> Result<Vec<Record>, Failure> {
    let done = AtomicU64::new(0);
    let sizes: Vec<u64> = all.iter().map(|real| real.target.geometry().size).collect();
    let passes = 1 + u64::from(wish.zero);
    let begun: Vec<Record> = all.iter().zip(names).map(|(real, name)| begin(real, name, wish, records)).collect();
    let before: u64 =
        begun.iter().map(|record| record.salted_bytes + if wish.zero { record.zeroed_bytes } else { 0 }).sum();
    let total = sizes.iter().sum::<u64>() * passes - before.min(sizes.iter().sum::<u64>() * passes);
    let since = progress.now();
    std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for (real, record) in all.iter().zip(begun) {
            let (done, records) = (&done, records);
            let body = move || Preparing { real, record, wish, records, done, stop }.run();
            threads.push(spawn(scope, "prepare".to_owned(), body)?);
        }
        while threads.iter().any(|thread| !thread.is_finished()) {
            progress.bytes("preparing", done.load(Ordering::Relaxed), total, since);
            rest();
        }
        progress.finish();
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

/// The record to go on from: the unfinished one of this target, or a new one.
fn begin(real: &Real, name: &str, wish: Wish, records: Option<&Records>) -> Record {
    let (identity, size_bytes) = (real.identity(), real.target.geometry().size);
    let kept = records.filter(|_| !wish.afresh).and_then(|records| records.find(&identity, size_bytes));
    let unfinished = kept.filter(|record| record.finished.is_none());
    unfinished.unwrap_or_else(|| Record {
        identity,
        target: name.to_owned(),
        size_bytes,
        run: wish.run,
        zeroed_bytes: 0,
        salted_bytes: 0,
        verified_blocks: 0,
        finished: None,
        begun: Some(rundir::timestamp()),
        tool: Some(crate::header::tool()),
        mark: None,
    })
}

struct Preparing<'a> {
    real: &'a Real,
    record: Record,
    wish: Wish,
    records: Option<&'a Records>,
    done: &'a AtomicU64,
    stop: &'a StopCell,
}

impl Preparing<'_> {
    fn run(mut self) -> Result<Record, Failure> {
        let clock = Clock::start();
        let slots = Slots { count: DEPTH, bytes: WRITE as u32 };
        let mut device =
            select(self.wish.engine, vec![self.real.target.clone()], slots, clock).map_err(Failure::host)?;
        if self.wish.zero && self.record.salted_bytes == 0 {
            self.pass(&mut device, clock, None)?;
        }
        let content = self.salt();
        self.pass(&mut device, clock, Some(content))?;
        self.record.verified_blocks = self.verify(&mut device, clock)?;
        self.record.finished = Some(rundir::timestamp());
        self.record.mark = Mark::of(self.real);
        self.save()?;
        Ok(self.record)
    }

    /// Data of this target and of where it begins: neither a second target of the same size nor what is written after an
    /// interruption repeats what was written before.
    fn salt(&self) -> Content {
        let Record { run, size_bytes, salted_bytes, identity, .. } = &self.record;
        let own: Vec<u64> = [*size_bytes, *salted_bytes].into_iter().chain(identity.bytes().map(u64::from)).collect();
        Content::new(Prng::child(u64::from(*run), &own), *run, Share::WHOLE)
    }

    fn save(&self) -> Result<(), Failure> {
        self.records.map_or(Ok(()), |records| records.keep(&self.record))
    }

    /// One pass over the whole target from where its record stands: zeros, or `salt`.
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
            return Err(Failure::incomplete(format!(
                "preparing {} was interrupted; call it again and it goes on",
                self.record.target
            )));
        }
        Ok(())
    }

    fn failed(&self, why: &str) -> Failure {
        Failure::failed(format!("preparing {} failed: {why}", self.record.target))
    }

    /// Reads blocks spread over the whole target; each must open with this preparation's stamp. Returns their number.
    fn verify(&self, device: &mut AnyDevice, clock: Clock) -> Result<u64, Failure> {
        let Geometry { size, block } = device.geometry(0);
        let len = stamp::EVERY.max(u64::from(block)) as u32;
        let blocks = size / u64::from(len);
        let mut prng = Prng::seeded(u64::from(self.record.run));
        for sample in 0..SAMPLES.min(blocks) {
            // The first and the last block always, the others anywhere.
            let at = match sample {
                0 => 0,
                1 => blocks - 1,
                _ => prng.below(blocks),
            };
            let op = Op { target: 0, direction: Direction::Read, durable: false, offset: at * u64::from(len), len };
            let completion = once(device, clock, &op);
            if completion.result != Ok(len) {
                return Err(self.failed(&format!("reading back at {} gave {:?}", op.offset, completion.result)));
            }
            let found = Stamp::read(device.buffer(Ticket(0)));
            if found.map(|stamp| stamp.run) != Some(self.record.run) {
                return Err(self.failed(&format!("at {} something else was read than was written", op.offset)));
            }
        }
        Ok(SAMPLES.min(blocks))
    }
}

/// Carries one operation and waits for it.
fn once(device: &mut AnyDevice, clock: Clock, op: &Op) -> Completion {
    let mut done = Done::new();
    device.submit(clock.now(), Ticket(0), op);
    loop {
        device.poll(clock.now(), &mut done);
        match done.pop() {
            Some(completion) => return completion,
            None => device.wait(Span::from_ms(100)),
        }
    }
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

    /// The next write, unless all are on their way or `stop` asks for the end. The last is durable: it makes the device
    /// empty its cache.
    fn next(&mut self, stop: bool) -> Option<(Ticket, Op)> {
        if self.next >= self.size || stop {
            return None;
        }
        let free = self.in_flight.iter().position(Option::is_none)?;
        let len = WRITE.min(self.size - self.next) as u32;
        let durable = self.next + u64::from(len) == self.size;
        let op = Op { target: 0, direction: Direction::Write, durable, offset: self.next, len };
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
        assert!(last.unwrap().durable && last.unwrap().len == 512 * 3);
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
