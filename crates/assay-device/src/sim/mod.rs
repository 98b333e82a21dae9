//! Simulated devices in virtual time: whole 24-hour procedures in seconds, on drives whose limits are known.
//!
//! A [`Bank`] is a [`Device`] for any number of simulated targets. It reads no clock: an operation's completion is
//! computed when it is submitted and returned by the first `poll` at or after its time. The same seed, the same
//! specifications and the same operations give the same completions, to the nanosecond, on any machine. Simulated
//! targets hold no data.
//!
//! A target is written as text ([`Spec`]): `sim:MODEL?name=value&name=value`.
//!
//! | model | what it is | its parameters and their defaults |
//! |---|---|---|
//! | `sim:flash` | NVMe drive that ends at a known load | `channels=16` `read=90us` `write=20us` `iops=400000` `read_bandwidth=3GiB/s` `write_bandwidth=1536MiB/s` `spread=25%` `cache=500ms` `program=300us` `gc=2ms/4GiB` |
//! | `sim:flash-worn` | the same until it degrades | also `after=5h` `slow=8%` `slow_read=4ms` |
//! | `sim:disk` | one head at 7200 rpm | `settle=1300us` `stroke=15ms` `rpm=7200` `bandwidth=150MB/s` |
//! | any | | `size` (flash `894GiB`, disk `1863GiB`) `block=512B` `seed` `stall=2s@10s` `errors=1/100000` `hang=1@30s` `gone@60s` |
//!
//! Formulas, capacities and sources are at the head of `flash.rs` and `disk.rs`, faults in `faults.rs`. A request that
//! the kernel would refuse is refused here too: EINVAL for an unaligned one, ENOSPC for a write that begins at or after
//! the end of the target; one that begins inside and ends outside is cut short, and a read at or after the end moves 0
//! bytes. A flush takes as long as a write of no bytes on flash; the disk has no write cache, and answers a flush when it
//! is its turn.

mod channels;
mod disk;
mod draw;
mod faults;
mod flash;
mod parameters;
mod pending;
mod spec;

pub use spec::{Spec, SpecError};

use assay_base::{
    BlockDevice, Code, Completion, Device, Direction, Done, Foretelling, Geometry, Instant, Op, Prng, Span, Ticket,
};
use faults::{AT_ONCE, Trouble};
use pending::Pending;

/// Invalid argument: not aligned to blocks.
const EINVAL: Code = Code(22);

/// Simulated targets behind one device. `Op::target` is the index of the target's specification in the list.
#[derive(Clone, Debug)]
pub struct Bank {
    targets: Vec<Target>,
    pending: Pending,
    hung: u64,
}

#[derive(Clone, Debug)]
struct Target {
    geometry: Geometry,
    model: Model,
    trouble: Option<Trouble>,
}

#[derive(Clone, Debug)]
enum Model {
    Flash(flash::Flash),
    Disk(disk::Disk),
}

impl Bank {
    /// Targets as specified, fresh and idle at the origin of the time line. Each draws from its own generator, seeded
    /// with `seed` and its index in the list, or only with the specification's own `seed=`.
    pub fn new(seed: u64, specs: Vec<Spec>) -> Bank {
        let targets = specs.iter().enumerate().map(|(place, spec)| {
            let child = |purpose| match spec.seed {
                Some(own) => Prng::for_path(own, &[purpose]),
                None => Prng::for_path(seed, &[place as u64, purpose]),
            };
            Target {
                geometry: spec.geometry(),
                model: match &spec.model {
                    parameters::Model::Flash(flash) => Model::Flash(flash::Flash::new(flash, child(0))),
                    parameters::Model::Disk(disk) => Model::Disk(disk::Disk::new(disk, spec.size, child(0))),
                },
                trouble: Trouble::new(&spec.faults, child(1)),
            }
        });
        Bank { targets: targets.collect(), pending: Pending::default(), hung: 0 }
    }

    /// Operations submitted and not yet returned, including those that will never complete.
    pub fn in_flight(&self) -> u64 {
        self.pending.len() as u64 + self.hung
    }

    /// Operations that will never complete (`hang=`).
    pub fn hung_operations(&self) -> u64 {
        self.hung
    }
}

impl Target {
    /// When and how the operation ends; `None` if it never does.
    #[inline]
    fn serve_operation(&mut self, now: u64, op: &Op) -> Option<(u64, Result<u32, Code>)> {
        let Target { geometry, model, trouble } = self;
        let op = match fit_within_target(geometry, op) {
            Ok(op) => op,
            Err(_) if op.is_flush() => model.flush_as_write(op),
            Err(result) => return Some((now + AT_ONCE, result)),
        };
        let Some(trouble) = trouble else {
            return Some((model.serve_by_model(now, now, &op), Ok(op.len)));
        };
        let (end, error) = trouble.serve_with_faults(now, |at| model.serve_by_model(now, at, &op))?;
        Some((end, error.map_or(Ok(op.len), Err)))
    }
}

impl Model {
    /// A flush as this model carries it: on a drive that is protected against power loss it takes as long as a small
    /// write; a disk without a write cache has nothing to flush, and answers when it is the flush's turn.
    #[cold]
    fn flush_as_write(&self, op: &Op) -> Op {
        match self {
            Model::Flash(_) => *op,
            Model::Disk(disk) => Op { offset: disk.head_position(), ..*op },
        }
    }

    #[inline]
    fn serve_by_model(&mut self, now: u64, at: u64, op: &Op) -> u64 {
        match self {
            Model::Flash(flash) => flash.serve_operation(now, at, op),
            Model::Disk(disk) => disk.serve_operation(at, op),
        }
    }
}

/// The part of the operation within the target, or the result that it gets immediately.
#[inline]
fn fit_within_target(geometry: &Geometry, op: &Op) -> Result<Op, Result<u32, Code>> {
    let mask = u64::from(geometry.block) - 1;
    if (op.offset | u64::from(op.len)) & mask != 0 || op.len == 0 {
        return Err(Err(EINVAL));
    }
    let room = geometry.size.saturating_sub(op.offset);
    match (room, op.direction) {
        (0, Direction::Read) => Err(Ok(0)),
        (0, Direction::Write) => Err(Err(Code::ENOSPC)),
        _ => Ok(Op { len: u64::from(op.len).min(room) as u32, ..*op }),
    }
}

impl Device for Bank {
    type Request = Op;

    /// Computes the completion; `now` must not decrease from one call to the next.
    #[inline]
    fn submit_request(&mut self, now: Instant, ticket: Ticket, op: &Op) {
        match self.targets[usize::from(op.target)].serve_operation(now.as_ns(), op) {
            Some((completed, result)) => self.pending.push_operation(ticket, now, completed, result),
            None => self.hung += 1,
        }
    }

    /// Returns what completed at `now` or before, in the order of completion, and of tickets where the time is equal.
    #[inline]
    fn poll_completions(&mut self, now: Instant, done: &mut Done) {
        self.pending.take_completed(now, done);
    }

    /// The earliest completion in flight.
    #[inline]
    fn next_wakeup(&self) -> Option<Instant> {
        self.pending.next()
    }

    /// Returns immediately: virtual time needs no waiting.
    fn wait_for_completion(&mut self, _span: Span) {}
}

impl BlockDevice for Bank {
    /// As specified.
    fn target_geometry(&self, target: u16) -> Geometry {
        self.targets[usize::from(target)].geometry
    }

    /// Always empty: nothing is stored.
    fn slot_buffer(&mut self, _ticket: Ticket) -> &mut [u8] {
        &mut []
    }
}

impl Foretelling for Bank {
    /// True when no target has faults.
    fn is_sure(&self) -> bool {
        self.targets.iter().all(|target| target.trouble.is_none())
    }

    #[inline]
    fn foretell_completion(&mut self, now: Instant, op: &Op) -> Option<(Instant, Result<u32, Code>)> {
        let target = &mut self.targets[usize::from(op.target)];
        assert!(target.trouble.is_none(), "only a device that is sure is asked");
        let (completed, result) = target.serve_operation(now.as_ns(), op)?;
        Some((Instant::from_ns(completed), result))
    }

    fn keep_foretold(&mut self, foretold: Completion) {
        let Completion { ticket, result, issued, completed, .. } = foretold;
        self.pending.push_operation(ticket, issued, completed.as_ns(), result);
    }
}
