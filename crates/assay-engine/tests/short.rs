//! An operation that moves only some of its bytes: its rest is requested once more, it counts as short, and its time
//! lasts until its last byte.

#![allow(clippy::unwrap_used, reason = "a test panics to fail")]

use assay_base::{BlockDevice, Code, Completion, Device, Done, Geometry, Instant, Op, Span, Ticket};
use assay_engine::{Limits, Setup, Worker, run_virtual, shell::Sink};
use assay_model::{Plan, arrival::Part, workload};
use assay_record::{Event, FlowInterval, Frame, Thresholds};
use std::cell::RefCell;

/// The device's answers, in the order of submission; after the last one it answers in full.
type Answers = Vec<Result<u32, Code>>;

const TIME: Span = Span::from_ms(3);

/// Records what was submitted and the first bytes of each buffer at that time.
struct Scripted<'a> {
    answers: Answers,
    seen: &'a RefCell<Vec<(Op, Vec<u8>)>>,
    pending: Vec<Completion>,
    buffers: Vec<[u8; 4096]>,
}

impl Device for Scripted<'_> {
    type Request = Op;

    fn submit_request(&mut self, now: Instant, ticket: Ticket, op: &Op) {
        let number = self.seen.borrow().len();
        self.seen.borrow_mut().push((*op, self.buffers[ticket.0 as usize].to_vec()));
        let result = self.answers.get(number).copied().unwrap_or(Ok(op.len));
        self.pending.push(Completion { ticket, result, issued: now, accepted: now, completed: now + TIME });
    }
    fn poll_completions(&mut self, now: Instant, done: &mut Done) {
        done.extend(self.pending.extract_if(.., |completion| completion.completed <= now));
    }
    fn next_wakeup(&self) -> Option<Instant> {
        self.pending.iter().map(|completion| completion.completed).min()
    }
    fn wait_for_completion(&mut self, _: Span) {}
}

impl BlockDevice for Scripted<'_> {
    fn target_geometry(&self, _: u16) -> Geometry {
        Geometry { size: 1 << 20, block: 512 }
    }

    fn slot_buffer(&mut self, ticket: Ticket) -> &mut [u8] {
        &mut self.buffers[ticket.0 as usize]
    }
}

#[derive(Default)]
struct Kept {
    flow: FlowInterval,
    events: Vec<Event>,
}

impl Sink for Kept {
    fn receive_frame(&mut self, frame: Frame) {
        let flow = frame.interval_line().flows.remove(0);
        self.flow.ok += flow.ok;
        self.flow.short += flow.short;
        self.flow.scheduled += flow.scheduled;
        flow.errors.into_iter().for_each(|(name, n)| *self.flow.errors.entry(name).or_default() += n);
        self.flow.failures = self.flow.failures.take().or(flow.failures);
    }
    fn receive_event(&mut self, event: Event) {
        self.events.push(event);
    }
    fn spent_frame(&mut self) -> Option<Frame> {
        None
    }
}

fn plan(direction: &str) -> Plan {
    let stream =
        format!("name = \"s\"\ndirection = \"{direction}\"\nsize = \"4KiB\"\nrate = \"10/s\"\narrival = \"steady\"");
    let file = format!("model = \"streams\"\nduration = \"1s\"\n[[stream]]\n{stream}");
    let adjust = workload::Adjust { targets: 1, seed: 1, ..workload::Adjust::default() };
    workload::read_workload("t", &file).unwrap().make_plan(&adjust).unwrap()
}

fn run(direction: &str, answers: Answers) -> (Vec<(Op, Vec<u8>)>, Kept) {
    let plan = plan(direction);
    let seen = RefCell::new(Vec::new());
    let part = Part { index: 0, of: 1 };
    let bound = assay_engine::in_flight_bound(&plan, part);
    let device = Scripted { answers, seen: &seen, pending: Vec::new(), buffers: vec![[0; 4096]; bound as usize] };
    let thresholds = Thresholds::new([]);
    let setup = Setup {
        part,
        thresholds,
        bound,
        start: Instant::ZERO,
        run: 7,
        limits: Limits::default(),
        ledger: None,
        gates: None,
    };
    let mut worker = Worker::new(&plan, device, setup).unwrap();
    let mut kept = Kept::default();
    run_virtual(&mut worker, Instant::ZERO, &mut kept, || false);
    assert!(kept.flow.is_balanced(0), "{:?}", kept.flow);
    drop(worker);
    (seen.into_inner(), kept)
}

#[test]
fn the_rest_is_asked_for_once_and_the_operation_stays_short() {
    // 100 bytes beyond the last whole block are requested again.
    let (seen, kept) = run("read", vec![Ok(1636)]);
    assert_eq!((kept.flow.ok, kept.flow.short), (9, 1));
    let (whole, rest) = (seen[0].0, seen[1].0);
    assert_eq!((rest.offset, rest.len), (whole.offset + 1536, 4096 - 1536));
    let failures = kept.flow.failures.unwrap();
    assert_eq!(failures.response.max_ns, 2 * TIME.as_ns(), "up to its last byte");
    assert_eq!(failures.at, [whole.offset / (1 << 14), 1]);
    assert_eq!(kept.events[0].text, "1636 of 4096 bytes were moved at first, and 2560 when the rest was asked for");
}

#[test]
fn the_rest_of_a_write_is_what_was_not_written() {
    let (seen, kept) = run("write", vec![Ok(512)]);
    assert_eq!((kept.flow.ok, kept.flow.short), (9, 1));
    let ((_, first), (rest, second)) = (&seen[0], &seen[1]);
    assert_eq!(rest.len, 3584);
    assert_eq!(&second[..3584], &first[512..]);
}

#[test]
fn a_rest_that_fails_or_is_short_again_is_one_short_operation() {
    for (again, text) in [
        (Ok(512), "2048 of 4096 bytes were moved at first, and 512 when the rest was asked for"),
        (Err(Code::EIO), "2048 of 4096 bytes were moved, and the rest failed with EIO"),
    ] {
        let (seen, kept) = run("read", vec![Ok(2048), again]);
        assert_eq!(
            (seen.len(), kept.flow.ok, kept.flow.short, kept.flow.failed_operations()),
            (11, 9, 1, 0),
            "asked for once"
        );
        assert_eq!(kept.events[0].text, text);
    }
}

#[test]
fn less_than_a_block_is_asked_for_again_as_a_whole_and_stays_short() {
    let (seen, kept) = run("read", vec![Ok(100)]);
    assert_eq!(seen[0].0, seen[1].0);
    assert_eq!((kept.flow.ok, kept.flow.short), (9, 1));
}

#[test]
fn nothing_moved_is_the_end_of_the_target() {
    let (seen, kept) = run("read", vec![Ok(0)]);
    assert_eq!((seen.len(), kept.flow.short), (1, 1));
    assert!(kept.events.iter().any(|event| event.what == "target-lost"), "{:?}", kept.events);
}

/// A worker is ready before its run begins, and is stepped meanwhile.
#[test]
fn nothing_is_issued_before_the_run_begins() {
    let plan = plan("read");
    let seen = RefCell::new(Vec::new());
    let part = Part { index: 0, of: 1 };
    let bound = assay_engine::in_flight_bound(&plan, part);
    let device =
        Scripted { answers: Vec::new(), seen: &seen, pending: Vec::new(), buffers: vec![[0; 4096]; bound as usize] };
    let (thresholds, start) = (Thresholds::new([]), Instant::from_ns(1_000_000));
    let setup = Setup { part, thresholds, bound, start, run: 7, limits: Limits::default(), ledger: None, gates: None };
    let mut worker = Worker::new(&plan, device, setup).unwrap();
    let step = worker.step(Instant::from_ns(5));
    assert!(!step.issued && step.wake >= start, "{step:?}");
    assert!(seen.borrow().is_empty());
}
