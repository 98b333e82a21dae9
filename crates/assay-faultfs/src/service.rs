//! The disk itself: takes requests, decides the result of each, and answers it at its time.
//!
//! One thread gives the delayed answers. It sleeps until 100 µs before the next answer is due and spins for the rest,
//! because a sleep ends late. A request's service begins when the file system has read it from the kernel and ends just
//! before the answer is returned.

use crate::settings::{Also, Faults};
use crate::truth::Truth;
use fuser::{Errno, ReplyData, ReplyEmpty, ReplyWrite};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// The initial content of a disk: not zero, so that it is not mistaken for one that was never written.
const WRITTEN: u8 = 0x5a;

/// Reads of clients begin at multiples of this.
const BLOCK: u64 = 4096;

/// The last period before an answer is due is spent spinning.
const SPIN: Duration = Duration::from_micros(100);

/// The receiver of an answer.
pub(crate) enum Reply {
    Read(ReplyData),
    Write(ReplyWrite),
    Flush(ReplyEmpty),
}

/// The content of an answer.
enum Outcome {
    Data(Vec<u8>),
    /// Fewer bytes than requested.
    Short(Vec<u8>),
    Written(u32),
    Flushed,
    Failed(i32),
}

struct Pending {
    due: Instant,
    seq: u64,
    taken: Instant,
    outcome: Outcome,
    reply: Reply,
}

impl PartialEq for Pending {
    fn eq(&self, other: &Pending) -> bool {
        self.seq == other.seq
    }
}
impl Eq for Pending {}
impl PartialOrd for Pending {
    fn partial_cmp(&self, other: &Pending) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Pending {
    fn cmp(&self, other: &Pending) -> std::cmp::Ordering {
        (self.due, self.seq).cmp(&(other.due, other.seq))
    }
}

struct State {
    faults: Faults,
    memory: Vec<u8>,
    /// The data that stood at a place before it was written since the last flush, while the disk is volatile.
    unflushed: Vec<(usize, Vec<u8>)>,
    truth: Truth,
    /// Reads, writes and flushes taken since the last reset.
    taken: [u64; 3],
    seq: u64,
    stalled_until: Option<Instant>,
    pending: BinaryHeap<Reverse<Pending>>,
    /// State of the random generator for tails.
    random: u64,
    over: bool,
}

/// Shared by the file system, the answering thread and the code that sets faults.
#[derive(Clone)]
pub(crate) struct Service(Arc<(Mutex<State>, Condvar)>);

impl Service {
    pub fn new(size: u64) -> Service {
        let state = State {
            faults: Faults::default(),
            memory: vec![WRITTEN; size as usize],
            unflushed: Vec::new(),
            truth: Truth::default(),
            taken: [0; 3],
            seq: 0,
            stalled_until: None,
            pending: BinaryHeap::new(),
            random: 0x9e37_79b9_7f4a_7c15,
            over: false,
        };
        Service(Arc::new((Mutex::new(state), Condvar::new())))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Takes lines of `key=value`; when one is wrong, nothing is changed.
    pub fn set(&self, lines: &str) -> Result<(), String> {
        let mut state = self.state();
        let mut faults = state.faults.clone();
        let lines = lines.split(['\n', ' ']).map(str::trim).filter(|line| !line.is_empty());
        let also: Vec<Also> = lines.map(|line| faults.set(line)).collect::<Result<_, _>>()?;
        state.faults = faults;
        if !state.faults.volatile {
            state.unflushed.clear();
        }
        for also in also {
            match also {
                Also::Cut => state.cut(),
                Also::Reset => (state.truth, state.taken) = (Truth::default(), [0; 3]),
                Also::Stall(span) => state.stalled_until = Some(Instant::now() + span),
                Also::Nothing => {}
            }
        }
        self.0.1.notify_all();
        Ok(())
    }

    pub fn truth(&self) -> Truth {
        let state = self.state();
        Truth { held: state.pending.len() as u64, ..state.truth.clone() }
    }

    pub fn size(&self) -> u64 {
        self.state().memory.len() as u64
    }

    pub fn resize(&self, size: u64) {
        self.state().memory.resize(size as usize, 0);
    }

    /// The stored bytes, without any fault.
    pub fn stored(&self, offset: u64, len: usize) -> Vec<u8> {
        self.state().read(offset, len)
    }

    pub fn read(&self, offset: u64, len: u32, reply: ReplyData) {
        let taken = Instant::now();
        let mut state = self.state();
        let (outcome, delay) = state.decide_read(offset, len);
        self.answer_after(state, taken, delay, outcome, Reply::Read(reply));
    }

    pub fn write(&self, offset: u64, data: &[u8], reply: ReplyWrite) {
        let taken = Instant::now();
        let mut state = self.state();
        let (outcome, delay) = state.decide_write(offset, data);
        self.answer_after(state, taken, delay, outcome, Reply::Write(reply));
    }

    pub fn flush(&self, reply: ReplyEmpty) {
        let taken = Instant::now();
        let mut state = self.state();
        let (outcome, delay) = state.decide_flush();
        self.answer_after(state, taken, delay, outcome, Reply::Flush(reply));
    }

    fn answer_after(
        &self,
        mut state: MutexGuard<'_, State>,
        taken: Instant,
        delay: Duration,
        outcome: Outcome,
        reply: Reply,
    ) {
        let at_once = delay.is_zero() && !state.faults.hang && state.stalled_until.is_none();
        state.seq += 1;
        let pending = Pending { due: taken + delay, seq: state.seq, taken, outcome, reply };
        if at_once {
            state.answer(pending)();
            return;
        }
        state.pending.push(Reverse(pending));
        drop(state);
        self.0.1.notify_all();
    }

    /// The main function of the answering thread.
    pub fn serve(&self) {
        let mut state = self.state();
        while !state.over || !state.pending.is_empty() {
            let now = Instant::now();
            match state.next(now) {
                Next::Answer => {
                    let Some(Reverse(pending)) = state.pending.pop() else { continue };
                    let send = state.answer(pending);
                    drop(state);
                    send();
                    state = self.state();
                }
                Next::At(due) if due.saturating_duration_since(now) <= SPIN => {
                    drop(state);
                    while Instant::now() < due {
                        std::hint::spin_loop();
                    }
                    state = self.state();
                }
                Next::At(due) => {
                    let span = due.saturating_duration_since(now).saturating_sub(SPIN);
                    let waited = self.0.1.wait_timeout(state, span);
                    state = waited.unwrap_or_else(std::sync::PoisonError::into_inner).0;
                }
                Next::Sleep => {
                    state = self.0.1.wait(state).unwrap_or_else(std::sync::PoisonError::into_inner);
                }
            }
        }
    }

    /// Answers everything that is held and ends the answering thread.
    pub fn end(&self) {
        let mut state = self.state();
        state.over = true;
        state.faults.hang = false;
        state.stalled_until = None;
        drop(state);
        self.0.1.notify_all();
    }
}

enum Next {
    Answer,
    At(Instant),
    Sleep,
}

impl State {
    fn next(&mut self, now: Instant) -> Next {
        let Some(Reverse(first)) = self.pending.peek() else { return Next::Sleep };
        if self.over || self.faults.gone {
            return Next::Answer;
        }
        if self.faults.hang {
            return Next::Sleep;
        }
        let due = self.stalled_until.map_or(first.due, |until| until.max(first.due));
        if self.stalled_until.is_some_and(|until| until <= now) {
            self.stalled_until = None;
        }
        if due <= now { Next::Answer } else { Next::At(due) }
    }

    fn read(&self, offset: u64, len: usize) -> Vec<u8> {
        let end = self.faults.end.unwrap_or(u64::MAX).min(self.memory.len() as u64);
        let from = offset.min(end) as usize;
        let to = offset.saturating_add(len as u64).min(end) as usize;
        self.memory[from..to].to_vec()
    }

    fn decide_read(&mut self, offset: u64, len: u32) -> (Outcome, Duration) {
        let n = self.count(0);
        let delay = self.delay(self.faults.read_delay);
        let is = |every: u64| every > 0 && n.is_multiple_of(every);
        let outcome = if self.faults.gone {
            Outcome::Failed(libc::ENODEV)
        } else if is(self.faults.read_error_every) {
            Outcome::Failed(self.faults.errno)
        } else if is(self.faults.short_every) && offset.is_multiple_of(BLOCK) {
            Outcome::Short(self.read(offset, len as usize / 2))
        } else {
            let data = self.read(offset, len as usize);
            if data.len() < len as usize { Outcome::Short(data) } else { Outcome::Data(data) }
        };
        (outcome, delay)
    }

    fn decide_write(&mut self, offset: u64, data: &[u8]) -> (Outcome, Duration) {
        let n = self.count(1);
        let delay = self.delay(self.faults.write_delay);
        let is = |every: u64| every > 0 && n.is_multiple_of(every);
        let end = self.faults.end.unwrap_or(u64::MAX).min(self.memory.len() as u64);
        let (at, len) = (offset as usize, data.len());
        if self.faults.gone {
            return (Outcome::Failed(libc::ENODEV), delay);
        } else if is(self.faults.write_error_every) {
            return (Outcome::Failed(self.faults.errno), delay);
        } else if offset.saturating_add(len as u64) > end {
            return (Outcome::Failed(libc::ENOSPC), delay);
        } else if is(self.faults.lost_every) {
            self.truth.lost.push(offset);
        } else if is(self.faults.torn_every) {
            self.truth.torn.push(offset);
            self.store(at, &data[..len / 2]);
        } else if is(self.faults.misdirect_every) && at + 2 * len <= end as usize {
            self.truth.misdirected.push(offset);
            self.store(at + len, data);
        } else {
            self.store(at, data);
            if is(self.faults.corrupt_every) {
                self.truth.corrupted.push(offset);
                self.memory[at + len / 2] ^= 0x20;
            }
        }
        (Outcome::Written(len as u32), delay)
    }

    fn store(&mut self, at: usize, data: &[u8]) {
        let place = &mut self.memory[at..at + data.len()];
        if self.faults.volatile {
            self.unflushed.push((at, place.to_vec()));
        }
        place.copy_from_slice(data);
    }

    /// The power is cut: what was not flushed is lost, and nothing works any more.
    fn cut(&mut self) {
        for (at, before) in std::mem::take(&mut self.unflushed).into_iter().rev() {
            // A client may have made the disk smaller meanwhile.
            let end = self.memory.len().min(at + before.len());
            if at < end {
                self.memory[at..end].copy_from_slice(&before[..end - at]);
            }
        }
        self.faults.gone = true;
    }

    fn decide_flush(&mut self) -> (Outcome, Duration) {
        let n = self.count(2);
        let fails = self.faults.flush_error_every > 0 && n.is_multiple_of(self.faults.flush_error_every);
        let outcome = match (self.faults.gone, fails) {
            (true, _) => Outcome::Failed(libc::ENODEV),
            (false, true) => Outcome::Failed(self.faults.errno),
            (false, false) => {
                self.unflushed.clear();
                Outcome::Flushed
            }
        };
        let usual = self.faults.flush_delay;
        // Without a tail nothing is drawn, so that the times of writes do not depend on how many flushes there are.
        let tail = self.faults.flush_tail.filter(|(share, _)| self.draw_unit() < *share);
        (outcome, tail.map_or(usual, |(_, span)| span))
    }

    /// Number of this operation of its direction, from 1.
    fn count(&mut self, direction: usize) -> u64 {
        self.taken[direction] += 1;
        self.taken[direction]
    }

    /// A number from 0 to 1, by SplitMix64 (Steele, Lea, Flood 2014): enough for shares of a percent.
    fn draw_unit(&mut self) -> f64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn delay(&mut self, usual: Duration) -> Duration {
        let drawn = self.draw_unit();
        let mut below = 0.0;
        for (share, span) in self.faults.tails.iter().rev().flatten() {
            below += share;
            if drawn < below {
                return *span;
            }
        }
        usual
    }

    /// Enters the answer into the account; calling the returned function passes it to the kernel.
    fn answer(&mut self, pending: Pending) -> impl FnOnce() + use<> {
        let Pending { taken, outcome, reply, .. } = pending;
        let outcome = if self.faults.gone { Outcome::Failed(libc::ENODEV) } else { outcome };
        let truth = &mut self.truth;
        match &outcome {
            Outcome::Data(_) => truth.reads += 1,
            Outcome::Written(_) => truth.writes += 1,
            Outcome::Flushed => truth.flushes += 1,
            Outcome::Short(_) => truth.short += 1,
            Outcome::Failed(errno) => *truth.errors.entry(*errno).or_default() += 1,
        }
        if matches!(outcome, Outcome::Data(_) | Outcome::Written(_)) {
            truth.service_ns.push(taken.elapsed().as_nanos() as u64);
        }
        move || send(reply, outcome)
    }
}

fn send(reply: Reply, outcome: Outcome) {
    match (reply, outcome) {
        (Reply::Read(reply), Outcome::Data(data) | Outcome::Short(data)) => reply.data(&data),
        (Reply::Write(reply), Outcome::Written(len)) => reply.written(len),
        (Reply::Flush(reply), Outcome::Flushed) => reply.ok(),
        (Reply::Flush(reply), Outcome::Failed(errno)) => reply.error(Errno::from_i32(errno)),
        (Reply::Read(reply), Outcome::Failed(errno)) => reply.error(Errno::from_i32(errno)),
        (Reply::Write(reply), Outcome::Failed(errno)) => reply.error(Errno::from_i32(errno)),
        (Reply::Read(reply), Outcome::Written(_) | Outcome::Flushed) => reply.error(Errno::EIO),
        (Reply::Write(reply), Outcome::Data(_) | Outcome::Short(_) | Outcome::Flushed) => reply.error(Errno::EIO),
        (Reply::Flush(reply), _) => reply.error(Errno::EIO),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_of_writes_and_of_flushes_are_drawn_apart() {
        const MS: Duration = Duration::from_millis(1);
        for (settings, of_writes, of_flushes) in [
            ("write_delay=1ms flush_delay=2ms", 0, 0),
            ("write_delay=1ms flush_delay=2ms tail=10%:15ms", 1000, 0),
            ("write_delay=1ms flush_delay=2ms flush_tail=10%:15ms", 0, 1000),
            ("write_delay=1ms flush_delay=2ms tail=2%:15ms flush_tail=20%:15ms", 200, 2000),
        ] {
            let service = Service::new(8192);
            service.set(settings).unwrap();
            let mut state = service.state();
            let (mut writes, mut flushes) = (0u32, 0u32);
            for _ in 0..10_000 {
                let [write, flush] = [state.decide_write(0, &[0; 512]).1, state.decide_flush().1];
                assert!([MS, 15 * MS].contains(&write) && [2 * MS, 15 * MS].contains(&flush), "{write:?} {flush:?}");
                writes += u32::from(write == 15 * MS);
                flushes += u32::from(flush == 15 * MS);
            }
            // Four standard deviations of the larger number are 160.
            assert!(
                writes.abs_diff(of_writes) <= 160 && flushes.abs_diff(of_flushes) <= 160,
                "{settings}: {writes}, {flushes}"
            );
            assert_eq!((writes == 0, flushes == 0), (of_writes == 0, of_flushes == 0), "{settings}");
        }
    }
}
