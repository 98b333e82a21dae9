//! Sessions of SQLite behind the engine, which knows no databases: in an open loop, in a closed one and at the pace of
//! terminals. What the log counts is what the sessions did and what the database holds afterwards.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use assay_base::{Instant, Multiple, Prng, Rate, Span};
use assay_device::clock::Clock;
use assay_engine::shell::{Host, Sink, Spin, Stop, Waiting, run_real};
use assay_engine::{Limits, Parts, Setup, Totals, Worker};
use assay_judge::{Judgement, Options, judge_log};
use assay_model::arrival::{Part, Schedule};
use assay_model::plan::{Caches, Notes, Phase, PlannedLoad, PlannedTiming, PlannedVerification};
use assay_model::tpcc::{Deck, Mix, Parameters, Population, Scale, TransactionKind};
use assay_model::{Arrival, CarriedOver, Life, Plan, Stream, WarmUp, Work};
use assay_record::{Close, Entry, Event, Frame, Reader, TargetHead, Writer};
use assay_run::databases::Calls;
use assay_run::log::header::{self, HeaderFacts};
use assay_sql::sqlite::{Connection, Loading, Session, check_conditions, load_missing, open_for_run, read_totals};
use assay_sql::{Sessions, SqliteUrl, Synchronous, Tally, TransactionSource};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

const SEED: u64 = 4;
const SESSIONS: u32 = 4;

fn population() -> Population {
    Population::new(Scale::for_tests(100, 30), 2, 5)
}

/// The time of the machine, and nobody who wants the run to end.
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

struct Log {
    writer: Writer<Vec<u8>>,
    intervals: u64,
    end: u64,
}

impl Sink for Log {
    fn receive_frame(&mut self, frame: Frame) {
        self.end = frame.end_ns;
        self.intervals += 1;
        self.writer.write_entry(&Entry::Interval(frame.interval_line())).unwrap();
        if let Some(histograms) = frame.histograms_line() {
            self.writer.write_entry(&Entry::Histograms(histograms)).unwrap();
        }
    }
    fn receive_event(&mut self, event: Event) {
        self.writer.write_entry(&Entry::Event(event)).unwrap();
    }
    fn spent_frame(&mut self) -> Option<Frame> {
        None
    }
}

/// Five streams, measured so long after half a second; a rate makes an open loop.
fn plan(rate: Option<u64>, seconds: u64) -> Plan {
    let mix = Mix::Deck;
    let stream = |(kind, weight): (TransactionKind, u64)| Stream {
        name: kind.stream_name().to_owned(),
        work: Work::Other { operation: kind.stream_name().to_owned() },
        arrival: match rate {
            Some(rate) => {
                Arrival::Poisson { rate: Rate::per_second(rate).scaled_by(weight, mix.total_weight()).unwrap() }
            }
            None => Arrival::Closed { in_flight: SESSIONS },
        },
        per_target: false,
        targets: Vec::new(),
        life: Life::default(),
    };
    Plan {
        name: "tpcc".into(),
        model: "tpcc".into(),
        load: PlannedLoad {
            multiple: Multiple::ONE,
            multiples: Vec::new(),
            seed: SEED,
            targets: 1,
            streams: TransactionKind::ALL.into_iter().zip(mix.kind_weights()).map(stream).collect(),
            in_flight_bound: SESSIONS,
            lanes: Vec::new(),
            groups: Vec::new(),
            loops: Vec::new(),
            application: None,
        },
        timing: PlannedTiming {
            phases: Phase::warm_up_and_measure(WarmUp::For(Span::from_ms(500)), Span::from_secs(seconds)),
            slice: Span::from_secs(1),
            interval: Span::from_ms(500),
            max_lag: Span::from_secs(60),
            skip_half_windows: false,
            backlog_allowed: Span::ZERO,
            recovery_at_most: Span::ZERO,
        },
        criteria: vec!["new-order response over 5s at most 10% per 1s".parse().unwrap()],
        verification: PlannedVerification::default(),
        caches: Caches::default(),
        hosts: assay_model::hosts::HostTargets::default(),
        carried_over: CarriedOver::default(),
        notes: Notes::default(),
    }
}

/// Runs the plan on a database that is loaded for it; returns the log, what the engine counted, and what the sessions did.
fn run(plan: &Plan, calls: impl FnOnce(Instant) -> Calls) -> (Vec<u8>, Totals, Tally) {
    let dir = tempfile::tempdir().unwrap();
    let url = SqliteUrl { synchronous: Some(Synchronous::Off), ..SqliteUrl::new(&dir.path().join("shop.db")) };
    let loading = Loading { url: url.clone(), population: population(), run: "test".into(), loaders: 1, clear: false };
    load_missing(&loading, &mut |_| ControlFlow::Continue(())).unwrap();
    let (permit, connection, marker) = open_for_run(&url, Some(2)).unwrap();
    let before = read_totals(&connection).unwrap();
    let population = marker.population;
    let parameters = Parameters::new(SEED, population.c_load(), population.warehouse_count(), population.row_scale());
    let session = |_| Session::new(Connection::open_permitted(&permit, &url).unwrap(), population.row_scale());
    let all = (0..SESSIONS).map(session).collect();
    let clock = Clock::start();
    let asking = TransactionSource { parameters, seed: SEED, homes: Some(2) };
    let device = Sessions::start_sessions(all, asking, move || clock.now()).unwrap();
    let (log, totals_of_engine, tally) = drive(plan, device, clock, calls);
    let after = read_totals(&connection).unwrap();
    assert_eq!(after.next_orders - before.next_orders, tally.orders, "the database holds what was committed");
    assert_eq!((after.payments - before.payments, after.ytd - before.ytd), (tally.payments, tally.paid));
    assert_eq!(check_conditions(&connection, population).unwrap(), []);
    (log, totals_of_engine, tally)
}

fn drive<C: Fn() -> Instant + Clone + Send + 'static>(
    plan: &Plan,
    device: Sessions<C>,
    clock: Clock,
    calls: impl FnOnce(Instant) -> Calls,
) -> (Vec<u8>, Totals, Tally) {
    let facts = HeaderFacts {
        created: "1970-01-01T00:00:00Z".into(),
        targets: vec![TargetHead { name: "sqlite:shop.db".into(), kind: "database".into(), ..TargetHead::default() }],
        ..HeaderFacts::default()
    };
    let mut log = Log { writer: Writer::new(Vec::new(), 0), intervals: 0, end: 0 };
    log.writer.write_entry(&Entry::Header(Box::new(header::make_header(plan, facts)))).unwrap();
    let (part, start) = (Part { index: 0, of: 1 }, clock.now() + Span::from_ms(5));
    let flows = (0..TransactionKind::ALL.len()).collect();
    let parts = Parts { sources: vec![calls(start)], flows_of: vec![flows], after: 1, payload: () };
    let setup = Setup {
        part,
        thresholds: header::exact_thresholds(plan),
        bound: assay_engine::in_flight_bound(plan, part),
        start,
        run: 0,
        limits: Limits::default(),
        ledger: None,
        gates: None,
    };
    let mut worker = Worker::from_parts(plan, device, parts, setup);
    let waiting = Waiting { spin: Spin::Fixed(Span::ZERO) };
    run_real(&mut worker, &Machine(clock), &mut log, waiting);
    let (totals, reason) = (worker.operation_totals(), worker.close_reason());
    let Totals { issued, completed, stuck } = totals;
    let (at_ns, intervals) = (log.end, log.intervals);
    let close = Close { reason, at_ns, text: String::new(), intervals, issued, completed, stuck };
    log.writer.write_entry(&Entry::Close(close)).unwrap();
    (log.writer.into_inner(), totals, worker.device_mut().current_tally())
}

/// What the judgement says of a run that did all it issued: operations without errors, by stream.
fn streams(log: &[u8], totals: Totals) -> BTreeMap<String, u64> {
    assert_eq!((totals.issued, totals.stuck), (totals.completed, 0));
    let judgement: Judgement = judge_log(Reader::new(log), &Options::default()).unwrap();
    let streams = &judgement.part.streams.each;
    // On a machine that is busy with other tests a session may find the database in use eleven times.
    let errors: Vec<&String> = streams.iter().flat_map(|stream| stream.counts.errors.keys()).collect();
    assert!(errors.iter().all(|name| *name == "SQLITE_BUSY"), "{errors:?}: {:?}", judgement.reason);
    streams.iter().map(|stream| (stream.name.clone(), stream.counts.operations)).collect()
}

/// The sums that hold for a log and the sessions that it tells of: all kinds came, and none more often than was done.
fn agree(streams: &BTreeMap<String, u64>, totals: Totals, tally: &Tally) {
    assert_eq!(streams.len(), TransactionKind::ALL.len());
    let measured: u64 = streams.values().sum();
    assert!(measured > 0 && measured <= totals.completed, "{streams:?} of {}", totals.completed);
    assert!(
        streams["new-order"] <= tally.orders as u64 + tally.rolled_back && streams["payment"] <= tally.payments as u64
    );
}

#[test]
fn an_open_loop_of_transactions_is_logged_as_it_was_committed() {
    let schedule = |start| {
        Schedule::from_poisson(start, Rate::per_second(200), Part { index: 0, of: 1 }, Prng::from_seed(3)).unwrap()
    };
    let (log, totals, tally) =
        run(&plan(Some(200), 1), |start| Calls::open_loop(Deck::new(Mix::Deck, SEED), SEED, SESSIONS, schedule(start)));
    let streams = streams(&log, totals);
    agree(&streams, totals, &tally);
    let text = String::from_utf8(log).unwrap();
    assert!(text.lines().next().unwrap().contains("\"operation\":\"stock-level\""));
}

#[test]
fn sessions_in_a_closed_loop_are_logged_as_they_committed() {
    let (log, totals, tally) =
        run(&plan(None, 1), |start| Calls::closed_loop(Deck::new(Mix::Deck, SEED), SEED, SESSIONS, start));
    let streams = streams(&log, totals);
    agree(&streams, totals, &tally);
}

#[test]
fn terminals_that_think_are_logged_as_they_committed() {
    // So many that some of them have thought and keyed within three seconds.
    let (log, totals, tally) =
        run(&plan(None, 3), |start| Calls::keyed_terminals(Deck::new(Mix::Deck, SEED), SEED, 2_000, start));
    streams(&log, totals);
    assert!(tally.payments > 0 && tally.payments as u64 <= totals.completed, "{tally:?}");
}
