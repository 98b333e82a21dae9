//! Preparation: zeros everywhere, then incompressible data everywhere, including the tail, then a check of sampled
//! blocks.
//!
//! A device that was never written answers reads without reading its medium, and a new one has more free blocks than it
//! will ever have again; both would make it look better than it is. Each target has a thread and a ring of its own, so
//! several targets are prepared in the time of the slowest one.

pub(crate) mod blank;
mod carry;
mod fill;

use crate::certificate::records::{Mark, Record, Records};
use crate::failure::{Failure, one_line};
use crate::host::signals::StopCell;
use crate::host::threads::spawn_scoped;
use crate::log::rundir;
use crate::observer::Observer;
use crate::open::targets::RealTarget;
use assay_base::{BlockDevice, Completion, Op, Prng, Share, Stamp, Ticket};
use assay_device::clock::Clock;
use assay_device::facts::Slots;
use assay_device::select::{AnyDevice, Choice, start_engine};
use assay_engine::shell::Stop;
use assay_model::content::Content;
use blank::{read_block, readable_blocks};
use carry::{CarriedWork, carry_work};
use fill::{DEPTH, Fill, WRITE};
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of blocks read back at the end.
const SAMPLES: u64 = 256;
/// Bytes between two updates of the record.
const SAVE_EVERY: u64 = 4 << 30;

/// The choices for a preparation.
#[derive(Clone, Copy, Debug)]
pub struct Preparation {
    /// Whether zeros are written first.
    pub zero: bool,
    /// Whether everything is discarded first; what an earlier, interrupted preparation wrote is lost then.
    pub afresh: bool,
    /// The engine that carries the operations.
    pub engine: Choice,
    /// Number that marks the data.
    pub run: u32,
}

/// Prepares all targets at the same time. After an interruption it returns an error that says so, and can be called
/// again to continue.
pub fn prepare_targets(
    all: &[RealTarget],
    names: &[String],
    preparation: Preparation,
    records: Option<&Records>,
    observer: &mut dyn Observer,
    stop: &StopCell,
) -> Result<Vec<Record>, Failure> {
    all.iter().try_for_each(RealTarget::recheck_gate)?;
    let done = AtomicU64::new(0);
    let sizes: Vec<u64> = all.iter().map(|real| real.target.geometry().size).collect();
    let passes = 1 + u64::from(preparation.zero);
    let begun: Vec<Record> =
        all.iter().zip(names).map(|(real, name)| begin_record(real, name, preparation, records)).collect();
    let before: u64 =
        begun.iter().map(|record| record.salted_bytes + if preparation.zero { record.zeroed_bytes } else { 0 }).sum();
    let total = sizes.iter().sum::<u64>() * passes - before.min(sizes.iter().sum::<u64>() * passes);
    let clock = Clock::start();
    let since = clock.now();
    if preparation.afresh {
        // For a file this returns the error that it cannot be discarded, before anything has changed.
        all.iter().filter(|real| real.disk.is_none()).try_for_each(RealTarget::discard_all)?;
    }
    // The records are marked unfinished before the first write, so that a crash leaves no record of a preparation that no
    // longer holds.
    if let Some(records) = records {
        begun.iter().try_for_each(|record| records.keep_record(record))?;
    }
    if preparation.afresh {
        discard_targets(all, stop)?;
    }
    std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for (real, record) in all.iter().zip(begun) {
            let (done, records) = (&done, records);
            let preparing = Preparing { real, record, preparation, records, done, stop };
            threads.push(spawn_scoped(scope, "prepare".to_owned(), move || preparing.prepare_target())?);
        }
        while threads.iter().any(|thread| !thread.is_finished()) {
            observer.bytes_done("preparing", done.load(Ordering::Relaxed), total, clock.now().since(since));
            wait_a_moment();
        }
        observer.finish_part();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Err(Failure::internal_bug("preparing panicked"))))
            .collect()
    })
}

/// Time between two updates of the progress display.
#[allow(clippy::disallowed_methods, reason = "the display's own pace, not an operation's")]
fn wait_a_moment() {
    std::thread::sleep(std::time::Duration::from_millis(100));
}

/// Discards all targets, each of which may take minutes.
fn discard_targets(all: &[RealTarget], stop: &StopCell) -> Result<(), Failure> {
    for real in all {
        if stop.is_set() {
            return Err(interrupted_failure(&real.name, true));
        }
        real.discard_all()?;
    }
    Ok(())
}

/// The failure after an interruption; `can_continue`: a record shows how far it got.
fn interrupted_failure(target: &str, can_continue: bool) -> Failure {
    let again = if can_continue { "repeat the command to continue" } else { "repeat the command to start again" };
    Failure::cut_short(format!("preparing {} was interrupted; {again}", one_line(target)))
}

/// The record to continue from: the unfinished one of this target, or a new one.
fn begin_record(real: &RealTarget, name: &str, preparation: Preparation, records: Option<&Records>) -> Record {
    let kept = records.filter(|_| !preparation.afresh).and_then(|records| records.record_of(real));
    let unfinished = kept.filter(|record| record.finished.is_none() && record.zeroed_bytes + record.salted_bytes > 0);
    unfinished.unwrap_or_else(|| Record {
        identity: real.record_identity(),
        file: real.file_identity(),
        target: name.to_owned(),
        size_bytes: real.target.geometry().size,
        run: preparation.run,
        zeroed_bytes: 0,
        salted_bytes: 0,
        verified_blocks: 0,
        finished: None,
        begun: Some(rundir::current_timestamp()),
        tool: Some(crate::log::tool::tool_version()),
        seen_bytes: None,
        mark: None,
    })
}

struct Preparing<'a> {
    real: &'a RealTarget,
    record: Record,
    preparation: Preparation,
    records: Option<&'a Records>,
    done: &'a AtomicU64,
    stop: &'a StopCell,
}

impl Preparing<'_> {
    fn prepare_target(mut self) -> Result<Record, Failure> {
        let clock = Clock::start();
        let slots = Slots { count: DEPTH, spare: 0, bytes: WRITE as u32 };
        let mut device = start_engine(self.preparation.engine, vec![self.real.target.clone()], slots, clock)
            .map_err(Failure::host_unable)?;
        if self.preparation.zero && self.record.salted_bytes == 0 {
            self.write_pass(&mut device, clock, None)?;
        }
        let content = self.salt_content();
        self.write_pass(&mut device, clock, Some(content))?;
        self.record.verified_blocks = self.verify_stamps(&mut device, clock)?;
        self.record.finished = Some(rundir::current_timestamp());
        self.record.mark = Mark::from_target(self.real);
        self.keep_record()?;
        Ok(self.record)
    }

    /// Data for this target and this start position: neither a second target of the same size nor what is written after
    /// an interruption repeats what was written before.
    fn salt_content(&self) -> Content {
        let Record { run, size_bytes, salted_bytes, identity, .. } = &self.record;
        let own: Vec<u64> = [*size_bytes, *salted_bytes].into_iter().chain(identity.bytes().map(u64::from)).collect();
        Content::new(Prng::for_path(u64::from(*run), &own), *run, Share::WHOLE)
    }

    fn keep_record(&self) -> Result<(), Failure> {
        self.records.map_or(Ok(()), |records| records.keep_record(&self.record))
    }

    /// Stores the record once the device has the data that it describes: after a power cut a preparation continues from
    /// there.
    fn save_durably(&self) -> Result<(), Failure> {
        self.real.sync_cache().map_err(|e| self.preparation_failure(&format!("its cache was not emptied: {e}")))?;
        self.keep_record()
    }

    fn interruption_failure(&self) -> Failure {
        interrupted_failure(&self.record.target, self.records.is_some())
    }

    /// One pass over the target, from the position in its record to the end: writes zeros, or `salt` if given.
    fn write_pass(&mut self, device: &mut AnyDevice, clock: Clock, salt: Option<Content>) -> Result<(), Failure> {
        let from = if salt.is_some() { self.record.salted_bytes } else { self.record.zeroed_bytes };
        for ticket in 0..DEPTH {
            device.slot_buffer(Ticket(ticket)).fill(0);
        }
        let mut pass =
            PassInProgress { fill: Fill::new(device.target_geometry(0), from), preparing: self, salt, saved: from };
        if !carry_work(device, clock, &mut pass)? {
            // The position that was saved last stays valid. Nothing is flushed here, because a device that hangs would never
            // complete the flush.
            return Err(self.interruption_failure());
        }
        let written = pass.fill.written_below();
        self.save_durably()?;
        if self.stop.is_set() && written < self.record.size_bytes {
            return Err(self.interruption_failure());
        }
        Ok(())
    }

    fn preparation_failure(&self, why: &str) -> Failure {
        Failure::target_failed(format!("preparing {} failed: {why}", one_line(&self.record.target)))
    }

    /// The target does not contain what its record says: the whole record is dropped, otherwise each later call would
    /// continue from there and fail again.
    fn drop_record(&mut self, failure: Failure) -> Failure {
        (self.record.zeroed_bytes, self.record.salted_bytes) = (0, 0);
        match self.keep_record() {
            Ok(()) => {
                failure.with_advice("what was written so far no longer counts; repeat the command to start again")
            }
            // The next call finds that error first, and reports it.
            Err(_) => failure,
        }
    }

    /// Reads blocks spread over the whole target; each must begin with this preparation's stamp. Returns their number.
    fn verify_stamps(&mut self, device: &mut AnyDevice, clock: Clock) -> Result<u64, Failure> {
        let (len, blocks) = readable_blocks(device.target_geometry(0));
        let mut prng = Prng::from_seed(u64::from(self.record.run));
        for sample in 0..SAMPLES.min(blocks) {
            // Always the first and the last block, the others anywhere.
            let at = match sample {
                0 => 0,
                1 => blocks - 1,
                _ => prng.uniform_below(blocks),
            };
            let offset = at * u64::from(len);
            let completion = read_block(device, clock, offset, len, || at_once(self.stop))
                .ok_or_else(|| self.interruption_failure())?;
            let found = Stamp::read_from_block(device.slot_buffer(Ticket(0)));
            let wrong = match completion.result {
                Ok(moved) if moved != len => format!("reading back at {offset} gave {moved} of {len} bytes"),
                Err(errno) => format!("reading back at {offset} gave {errno}"),
                Ok(_) if found.map(|stamp| stamp.run) != Some(self.record.run) => {
                    format!("at {offset} something else was read than was written")
                }
                Ok(_) => continue,
            };
            let failure = self.preparation_failure(&wrong);
            return Err(self.drop_record(failure));
        }
        Ok(SAMPLES.min(blocks))
    }
}

/// Whether a second signal came: then nothing is waited for.
fn at_once(stop: &StopCell) -> bool {
    matches!(stop.stop_request(), Some(Stop::Now(_)))
}

/// One pass on its way.
struct PassInProgress<'a, 'b> {
    preparing: &'a mut Preparing<'b>,
    fill: Fill,
    /// The data that are written instead of zeros.
    salt: Option<Content>,
    /// The position in the record that was saved last.
    saved: u64,
}

impl CarriedWork for PassInProgress<'_, '_> {
    fn next(&mut self, device: &mut AnyDevice) -> Option<(Ticket, Op)> {
        let (ticket, op) = self.fill.next(self.preparing.stop.is_set())?;
        if let Some(content) = &mut self.salt {
            content.fill_buffer(op.offset, &mut device.slot_buffer(ticket)[..op.len as usize]);
        }
        Some((ticket, op))
    }

    fn take_completion(&mut self, completion: &Completion) -> Result<(), Failure> {
        let moved = self.fill.take_completion(completion).map_err(|why| self.preparing.preparation_failure(&why))?;
        self.preparing.done.fetch_add(moved, Ordering::Relaxed);
        Ok(())
    }

    fn after_completions(&mut self) -> Result<(), Failure> {
        let (mark, record) = (self.fill.written_below(), &mut self.preparing.record);
        *(if self.salt.is_some() { &mut record.salted_bytes } else { &mut record.zeroed_bytes }) = mark;
        if mark - self.saved >= SAVE_EVERY {
            self.saved = mark;
            self.preparing.save_durably()?;
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.fill.is_over(self.preparing.stop.is_set())
    }

    fn gives_up(&self) -> bool {
        at_once(self.preparing.stop)
    }
}
