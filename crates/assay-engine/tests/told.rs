//! A failure is reported before the next operation is handed over: the hand-over may hang, and if the program is killed
//! then, the log must have the failure.

#![allow(clippy::unwrap_used, reason = "a test panics to fail")]

use assay_base::{BlockDevice, Code, Completion, Device, Done, Geometry, Instant, Op, Span, Ticket};
use assay_engine::shell::{Host, Sink, Spin, Stop, Waiting};
use assay_engine::{Limits, Setup, Worker, run_real};
use assay_model::{arrival::Part, workload};
use assay_record::{Event, Frame, Thresholds};
use std::cell::{Cell, RefCell};

/// Its time, and the events in their order.
#[derive(Default)]
struct World {
    ns: Cell<u64>,
    order: RefCell<Vec<&'static str>>,
}

impl World {
    fn pass(&self, ns: u64) -> Instant {
        self.ns.set(self.ns.get() + ns);
        Instant::from_ns(self.ns.get())
    }
    fn note(&self, what: &'static str) {
        self.order.borrow_mut().push(what);
    }
}

impl Host for &World {
    fn now(&self) -> Instant {
        self.pass(100)
    }
    fn stood_still(&self, _: Instant, _: Instant) -> Option<(Instant, Instant)> {
        None
    }
    fn requested_stop(&self) -> Option<Stop> {
        None
    }
}

/// A hand-over carries the operation out: each takes 5 ms and fails.
struct Failing<'a>(&'a World, Vec<Ticket>);

impl Device for Failing<'_> {
    type Request = Op;

    fn submit_request(&mut self, _: Instant, ticket: Ticket, _: &Op) {
        self.1.push(ticket);
    }
    fn poll_completions(&mut self, _: Instant, done: &mut Done) {
        for ticket in std::mem::take(&mut self.1) {
            self.0.note("handed over");
            let issued = self.0.pass(1);
            let completed = self.0.pass(5_000_000);
            done.push(Completion { ticket, result: Err(Code::EIO), issued, accepted: completed, completed });
        }
    }
    fn next_wakeup(&self) -> Option<Instant> {
        None
    }
    fn wait_for_completion(&mut self, span: Span) {
        self.0.pass(span.as_ns());
    }
}

impl BlockDevice for Failing<'_> {
    fn target_geometry(&self, _: u16) -> Geometry {
        Geometry { size: 1 << 20, block: 512 }
    }

    fn slot_buffer(&mut self, _: Ticket) -> &mut [u8] {
        &mut []
    }
}

struct Told<'a>(&'a World);

impl Sink for Told<'_> {
    fn receive_frame(&mut self, _: Frame) {
        self.0.note("counted");
    }
    fn receive_event(&mut self, event: Event) {
        self.0.note(if event.what == "io-error" { "told" } else { "something else" });
    }
    fn spent_frame(&mut self) -> Option<Frame> {
        None
    }
}

#[test]
fn a_failure_is_told_before_the_next_operation_is_handed_over() {
    let text = "model = \"streams\"\nduration = \"100ms\"\nslice = \"100ms\"\ninterval = \"50ms\"\n[[stream]]\nname = \"r\"\n\
                direction = \"read\"\nsize = \"4KiB\"\nrate = \"1000/s\"\narrival = \"steady\"\n";
    let plan = workload::read_workload("w.toml", text).unwrap().make_plan(&workload::Adjust::default()).unwrap();
    let world = World::default();
    let setup = Setup {
        part: Part { index: 0, of: 1 },
        thresholds: Thresholds::new([]),
        bound: 1,
        start: Instant::ZERO,
        run: 1,
        limits: Limits::default(),
        ledger: None,
        gates: None,
    };
    let mut worker = Worker::new(&plan, Failing(&world, Vec::new()), setup).unwrap();
    let waiting = Waiting { spin: Spin::Fixed(Span::ZERO) };
    run_real(&mut worker, &&world, &mut Told(&world), waiting);
    let order = world.order.into_inner();
    let handed: Vec<&str> = order.iter().copied().filter(|what| *what != "counted").collect();
    assert!(handed.len() > 20 && order.contains(&"counted"), "{order:?}");
    assert!(handed.chunks(2).all(|pair| pair == ["handed over", "told"]), "{order:?}");
}
