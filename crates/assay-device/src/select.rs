//! Chooses the engine that carries a run, once at its start, and records the reason for the log.

use crate::clock::Clock;
use crate::facts::{EngineError, EngineFacts, Health, Slots};
use crate::inline::Inline;
use crate::null::Null;
use crate::open::Target;
use crate::threads::Threads;
use crate::uring::Uring;
use assay_base::{BlockDevice, Device, Done, Geometry, HandOver, Instant, Op, Span, Ticket};
use rustix::thread::{Timespec, nanosleep};
use std::fmt;
use std::str::FromStr;

/// The engine that the user asked for.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Choice {
    /// io_uring where it is permitted, threads otherwise.
    #[default]
    Auto,
    /// Only io_uring.
    Uring,
    /// The thread pool.
    Threads,
    /// The worker's own system calls, one at a time.
    Inline,
}

impl FromStr for Choice {
    type Err = String;
    fn from_str(text: &str) -> Result<Choice, String> {
        match text {
            "auto" => Ok(Choice::Auto),
            "io_uring" | "uring" => Ok(Choice::Uring),
            "threads" => Ok(Choice::Threads),
            "inline" => Ok(Choice::Inline),
            _ => Err(format!("\"{}\" is not an engine; write auto, io_uring, threads or inline", text.escape_debug())),
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Choice::Auto => "auto",
            Choice::Uring => "io_uring",
            Choice::Threads => "threads",
            Choice::Inline => "inline",
        })
    }
}

/// Starts an engine for one worker over `targets`. `Auto` falls back to threads when the kernel refuses io_uring; the
/// reason is then in the notes of `describe`.
pub fn start_engine(
    choice: Choice,
    targets: Vec<Target>,
    slots: Slots,
    clock: Clock,
) -> Result<AnyDevice, EngineError> {
    match choice {
        Choice::Threads => Ok(AnyDevice::Threads(Threads::new(targets, slots, clock)?)),
        Choice::Inline => Ok(AnyDevice::Inline(Inline::new(targets, slots, clock)?)),
        Choice::Uring => Ok(AnyDevice::Uring(Box::new(create_ring(&targets, slots, clock)?))),
        Choice::Auto => match create_ring(&targets, slots, clock) {
            Ok(uring) => Ok(AnyDevice::Uring(Box::new(uring))),
            Err(reason) if reason.is_refusal() => threads_instead(reason, targets, slots, clock),
            Err(other) => Err(other),
        },
    }
}

/// How often, and how long after each time, a ring is asked for again that the kernel has no memory for at the moment.
const AGAIN: u32 = 20;
const AGAIN_AFTER: Span = Span::from_ms(50);

/// A ring. The kernel gives the memory of closed rings back some time later.
fn create_ring(targets: &[Target], slots: Slots, clock: Clock) -> Result<Uring, EngineError> {
    for _ in 0..AGAIN {
        match Uring::new(targets.to_vec(), slots, clock) {
            Err(reason) if reason.may_pass() => {
                let _ = nanosleep(&Timespec { tv_sec: 0, tv_nsec: AGAIN_AFTER.as_ns() as i64 });
            }
            answer => return answer,
        }
    }
    Uring::new(targets.to_vec(), slots, clock)
}

/// Threads, because io_uring was refused for `reason`, which the user also learns where threads are not possible.
fn threads_instead(
    reason: EngineError,
    targets: Vec<Target>,
    slots: Slots,
    clock: Clock,
) -> Result<AnyDevice, EngineError> {
    match Threads::new(targets, slots, clock) {
        Ok(mut threads) => {
            threads.add_note(format!("threads instead of io_uring: {reason}"));
            Ok(AnyDevice::Threads(threads))
        }
        Err(other) => Err(EngineError::Instead { refused: Box::new(reason), other: Box::new(other) }),
    }
}

/// Any engine in real time. The branch is taken once per call and always in the same direction; nothing is boxed per
/// operation.
pub enum AnyDevice {
    /// io_uring.
    Uring(Box<Uring>),
    /// pread and pwrite.
    Threads(Threads),
    /// pread and pwrite in the worker itself.
    Inline(Inline),
    /// Does nothing.
    Null(Null),
}

/// Calls the same method of the engine.
macro_rules! each {
    ($device:expr, $inner:ident => $call:expr) => {
        match $device {
            AnyDevice::Uring($inner) => $call,
            AnyDevice::Threads($inner) => $call,
            AnyDevice::Inline($inner) => $call,
            AnyDevice::Null($inner) => $call,
        }
    };
}

impl AnyDevice {
    /// The facts about the engine that the log states.
    pub fn engine_facts(&self) -> EngineFacts {
        match self {
            AnyDevice::Uring(uring) => uring.engine_facts().clone(),
            AnyDevice::Threads(threads) => threads.engine_facts().clone(),
            AnyDevice::Inline(inline) => inline.engine_facts().clone(),
            AnyDevice::Null(null) => null.engine_facts(),
        }
    }

    /// The troubles between the engine and the kernel so far.
    pub fn kernel_health(&mut self) -> Health {
        match self {
            AnyDevice::Uring(uring) => uring.kernel_health(),
            AnyDevice::Threads(_) | AnyDevice::Inline(_) | AnyDevice::Null(_) => Health::default(),
        }
    }
}

impl Device for AnyDevice {
    type Request = Op;

    #[inline]
    fn submit_request(&mut self, now: Instant, ticket: Ticket, op: &Op) {
        each!(self, device => device.submit_request(now, ticket, op))
    }
    #[inline]
    fn poll_completions(&mut self, now: Instant, done: &mut Done) {
        each!(self, device => device.poll_completions(now, done))
    }
    fn is_stamped_when_found(&self) -> bool {
        each!(self, device => device.is_stamped_when_found())
    }
    #[inline]
    fn take_hand_overs(&mut self, into: &mut Vec<HandOver>) {
        each!(self, device => device.take_hand_overs(into))
    }
    fn knows_kept_from_running(&self) -> bool {
        each!(self, device => device.knows_kept_from_running())
    }
    #[inline]
    fn kept_from_running(&self, ticket: Ticket) -> Span {
        each!(self, device => device.kept_from_running(ticket))
    }
    fn spare_tickets(&self) -> u32 {
        each!(self, device => device.spare_tickets())
    }
    fn prepare_request(&mut self, stock: usize, ticket: Ticket, op: &Op) {
        each!(self, device => device.prepare_request(stock, ticket, op));
    }
    fn withdraw_prepared(&mut self, stock: usize) -> Option<Ticket> {
        each!(self, device => device.withdraw_prepared(stock))
    }
    fn submit_with_stock(&mut self, now: Instant, stock: usize, ticket: Ticket, op: &Op) {
        each!(self, device => device.submit_with_stock(now, stock, ticket, op));
    }
    #[inline]
    fn follower_ticket(&self, ticket: Ticket) -> Option<Ticket> {
        each!(self, device => device.follower_ticket(ticket))
    }
    fn set_end_of_stock(&mut self, end: Instant) {
        each!(self, device => device.set_end_of_stock(end));
    }
    fn next_wakeup(&self) -> Option<Instant> {
        each!(self, device => device.next_wakeup())
    }
    fn wait_for_completion(&mut self, span: Span) {
        each!(self, device => device.wait_for_completion(span))
    }
}

impl BlockDevice for AnyDevice {
    fn target_geometry(&self, target: u16) -> Geometry {
        each!(self, device => device.target_geometry(target))
    }

    #[inline]
    fn slot_buffer(&mut self, ticket: Ticket) -> &mut [u8] {
        each!(self, device => device.slot_buffer(ticket))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::*;
    use assay_base::Direction::Read;

    #[test]
    fn auto_takes_threads_when_io_uring_is_refused_and_says_why() {
        for (errno, why) in [(libc::EPERM, "EPERM"), (libc::ENOSYS, "ENOSYS"), (libc::ENOMEM, "ENOMEM")] {
            apart(move || {
                refuse(libc::SYS_io_uring_setup, errno);
                let file = scratch(8192);
                let targets = || vec![target(file.path(), 8192, false)];
                let mut device = start_engine(Choice::Auto, targets(), slots(2), Clock::start()).unwrap();
                let facts = device.engine_facts();
                assert_eq!((facts.name, facts.threads), ("threads", 2));
                assert!(facts.notes[0].contains(why) && facts.notes[0].contains("io_uring_setup"), "{facts:?}");
                assert_eq!(carry(&mut device, &[op(Read, 0, 8192)])[0].result, Ok(8192));
                let refusal = start_engine(Choice::Uring, targets(), slots(2), Clock::start()).err().unwrap();
                assert_eq!(
                    refusal,
                    EngineError::Refused { engine: "io_uring", call: "io_uring_setup", errno: assay_base::Code(errno) }
                );
            });
        }
    }

    #[test]
    fn that_io_uring_was_refused_is_also_said_where_threads_cannot_hold_the_load() {
        apart(|| {
            refuse(libc::SYS_io_uring_setup, libc::EPERM);
            let file = scratch(8192);
            let targets = vec![target(file.path(), 8192, false)];
            let error = start_engine(Choice::Auto, targets, slots(1025), Clock::start()).err().unwrap();
            let text = error.to_string();
            for part in ["io_uring is refused: io_uring_setup gave EPERM", "1025 operations in flight", "1024 or fewer"]
            {
                assert!(text.contains(part), "{text}");
            }
            assert_eq!(error.slots_most(), Some(1024));
        });
    }

    #[test]
    fn the_choice_is_kept() {
        for (choice, name) in [
            (Choice::Auto, "io_uring"),
            (Choice::Uring, "io_uring"),
            (Choice::Threads, "threads"),
            (Choice::Inline, "inline"),
        ] {
            let file = scratch(8192);
            let mut device =
                start_engine(choice, vec![target(file.path(), 8192, false)], slots(2), Clock::start()).unwrap();
            assert_eq!(device.engine_facts().name, name);
            assert_eq!(carry(&mut device, &[op(Read, 0, 4096)])[0].result, Ok(4096));
            assert_eq!(device.kernel_health(), Health::default());
        }
    }

    #[test]
    fn choices_read_back() {
        for choice in [Choice::Auto, Choice::Uring, Choice::Threads, Choice::Inline] {
            assert_eq!(choice.to_string().parse(), Ok(choice));
        }
        assert!("libaio".parse::<Choice>().unwrap_err().contains("auto, io_uring, threads or inline"));
    }
}
