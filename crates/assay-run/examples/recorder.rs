//! What a transaction costs beside its database: one worker with a closed loop of sessions that are answered at once, from
//! the choice of a transaction to the log. Prints processor time for each of them in nanoseconds. `bench/recorder` runs it.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    clippy::unwrap_used,
    reason = "a measurement reads a clock and prints"
)]

use assay_base::{Completion, Device, Done, Instant, Span, Ticket};
use assay_device::clock::Clock;
use assay_engine::shell::{Host, Sink, Spin, Stop, Waiting, run_real};
use assay_engine::{Limits, Parts, Setup, Worker};
use assay_model::arrival::Part;
use assay_model::tpcc::{Deck, Mix, TransactionKind};
use assay_model::workload;
use assay_record::{Entry, Event, Frame, Writer};
use assay_run::databases::Calls;
use assay_run::log::header::{self, HeaderFacts};
use assay_sql::Call;
use rustix::time::{ClockId, clock_gettime};
use std::fs::File;

const SESSIONS: u32 = 8;

/// Answers at once.
struct AtOnce {
    clock: Clock,
    done: Done,
}

impl Device for AtOnce {
    type Request = Call;

    fn submit_request(&mut self, _: Instant, ticket: Ticket, _: &Call) {
        let issued = self.clock.now();
        let completed = self.clock.now();
        self.done.push(Completion { ticket, result: Ok(0), issued, accepted: issued, completed });
    }

    fn poll_completions(&mut self, _: Instant, done: &mut Done) {
        done.append(&mut self.done);
    }

    fn next_wakeup(&self) -> Option<Instant> {
        None
    }

    fn wait_for_completion(&mut self, _: Span) {}
}

struct Machine(Clock);

impl Host for Machine {
    fn now(&self) -> Instant {
        self.0.now()
    }
    fn stood_still(&self, _: Instant, _: Instant) -> Option<(Instant, Instant)> {
        None
    }
    fn requested_stop(&self) -> Option<Stop> {
        None
    }
}

struct Log(Writer<File>);

impl Sink for Log {
    fn receive_frame(&mut self, frame: Frame) {
        self.0.write_entry(&Entry::Interval(frame.interval_line())).unwrap();
        if let Some(histograms) = frame.histograms_line() {
            self.0.write_entry(&Entry::Histograms(histograms)).unwrap();
        }
    }
    fn receive_event(&mut self, event: Event) {
        self.0.write_entry(&Entry::Event(event)).unwrap();
    }
    fn spent_frame(&mut self) -> Option<Frame> {
        None
    }
}

/// Processor time of this thread in nanoseconds.
fn used() -> i64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

fn main() {
    let seconds = std::env::args().nth(1).unwrap_or_else(|| "3".to_owned());
    let file = format!(
        "name = \"closed\"\nmodel = \"tpcc\"\nsessions = {SESSIONS}\nwarm_up = \"0s\"\nduration = \"{seconds}s\"\nslice = \"1s\"\n"
    );
    let adjust = workload::Adjust { targets: 1, seed: 1, ..workload::Adjust::default() };
    let plan = workload::read_workload("closed", &file).unwrap().make_plan(&adjust).unwrap();
    let clock = Clock::start();
    let mut log = Log(Writer::new(File::options().write(true).open("/dev/null").unwrap(), 0));
    log.0.write_entry(&Entry::Header(Box::new(header::make_header(&plan, HeaderFacts::default())))).unwrap();
    let (part, start) = (Part { index: 0, of: 1 }, clock.now());
    let calls = Calls::closed_loop(Deck::new(Mix::Deck, plan.load.seed), plan.load.seed, SESSIONS, start);
    let parts = Parts {
        sources: vec![calls],
        flows_of: vec![(0..TransactionKind::ALL.len()).collect()],
        after: 1,
        payload: (),
    };
    let setup = Setup {
        part,
        thresholds: header::exact_thresholds(&plan),
        bound: assay_engine::in_flight_bound(&plan, part),
        start,
        run: 0,
        limits: Limits::default(),
        ledger: None,
        gates: None,
    };
    let device = AtOnce { clock, done: Done::new() };
    let mut worker = Worker::from_parts(&plan, device, parts, setup);
    let waiting = Waiting { spin: Spin::Fixed(Span::ZERO) };
    let before = used();
    run_real(&mut worker, &Machine(clock), &mut log, waiting);
    println!("{}", (used() - before) as f64 / worker.operation_totals().completed as f64);
}
