//! A second kind of device: a table in memory that carries transactions, which have no offset and no length, but codes
//! of their own. Eight sessions execute a mix, in a closed loop and in an open one. Engine, log, judge and report
//! process the result; none of them knows transactions.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use assay_base::{Code, Completion, Device, Done, Instant, Multiple, Prng, Rate, Request, Share, Span, Ticket};
use assay_engine::shell::Sink;
use assay_engine::{Limits, NextRequest, Parts, Setup, Source, Totals, Worker, run_virtual};
use assay_judge::{Judgement, Options, Verdict, judge_log};
use assay_model::arrival::{Part, Schedule};
use assay_model::mix::Loop;
use assay_model::plan::{Caches, Notes, Phase, PlannedLoad, PlannedTiming, PlannedVerification};
use assay_model::{Arrival, CarriedOver, Plan, Stream, WarmUp, Work};
use assay_record::{Close, CloseReason, Entry, Event, Frame, Reader, TargetHead, Writer};
use assay_run::log::header::{self, HeaderFacts};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The number of accounts in the table, and the initial amount in each.
const ACCOUNTS: u64 = 1000;
const MONEY: i64 = 1_000;
const SESSIONS: u32 = 8;
/// The flows, and the number of cards that each has in a deck.
const MIX: [(&str, usize); 3] = [("transfers", 10), ("balances", 9), ("audits", 1)];

#[derive(Clone, Copy, Default, Debug, PartialEq)]
enum Statement {
    /// Moves an amount from one account to another.
    Transfer { from: u64, to: u64, amount: i64 },
    /// Reads an account.
    Balance(u64),
    /// Sums all accounts.
    #[default]
    Audit,
}

#[derive(Clone, Copy, Default, Debug)]
struct Transaction(Statement);

impl Request for Transaction {
    fn target_index(&self) -> u16 {
        0
    }
    fn expected_bytes(&self) -> u32 {
        0
    }
    fn event_facts(&self) -> Vec<(&'static str, String)> {
        vec![("statement", format!("{:?}", self.0))]
    }
}

/// Another transaction uses the account: PostgreSQL's serialization_failure.
const CONFLICT: &str = "40001";
/// A code that only the table has, and that is not five characters long, unlike an SQLSTATE.
const BROKE: Code = Code(70_000);

/// The table. A transaction takes effect when it ends; two that would change the same account do not overlap.
#[derive(Default)]
struct Table {
    accounts: Vec<i64>,
    held: Vec<u64>,
    /// The transactions that have not ended, by the time of their end.
    open: Vec<(Completion, Statement)>,
    takes: Span,
    committed: i64,
    /// Whether a conflict is an error; otherwise the later transaction waits.
    strict: bool,
}

impl Table {
    fn new(takes: Span, strict: bool) -> Table {
        Table { accounts: vec![MONEY; ACCOUNTS as usize], takes, strict, ..Table::default() }
    }

    fn conflicts(&self, statement: Statement) -> bool {
        match statement {
            Statement::Transfer { from, to, .. } => self.held.iter().any(|held| [from, to].contains(held)),
            Statement::Balance(_) | Statement::Audit => false,
        }
    }

    fn commit(&mut self, statement: Statement) {
        match statement {
            Statement::Transfer { from, to, amount } => {
                self.accounts[from as usize] -= amount;
                self.accounts[to as usize] += amount;
                self.held.retain(|held| ![from, to].contains(held));
                self.committed += 1;
            }
            Statement::Balance(_) => {}
            Statement::Audit => {
                assert_eq!(self.accounts.iter().sum::<i64>(), MONEY * ACCOUNTS as i64, "money is moved, not made");
            }
        }
    }
}

impl Device for Table {
    type Request = Transaction;

    fn submit_request(&mut self, now: Instant, ticket: Ticket, Transaction(statement): &Transaction) {
        let at = |span: Span, result| Completion { ticket, result, issued: now, accepted: now, completed: now + span };
        let broke =
            matches!(*statement, Statement::Transfer { from, amount, .. } if self.accounts[from as usize] < amount);
        let conflict = self.conflicts(*statement);
        let done = match () {
            () if conflict && self.strict => at(Span::from_us(10), Err(Code::of_text(CONFLICT).unwrap())),
            () if broke && self.strict => at(Span::from_us(10), Err(BROKE)),
            () if broke || conflict => at(self.takes + self.takes, Ok(0)),
            () => {
                if let Statement::Transfer { from, to, .. } = *statement {
                    self.held.extend([from, to]);
                }
                let scan = matches!(statement, Statement::Audit);
                at(if scan { self.takes + self.takes } else { self.takes }, Ok(0))
            }
        };
        let takes_effect = done.result.is_ok() && !broke && !conflict;
        self.open.push((done, if takes_effect { *statement } else { Statement::Balance(0) }));
        self.open.sort_by_key(|(completion, _)| completion.completed);
    }

    fn poll_completions(&mut self, now: Instant, done: &mut Done) {
        let over = self.open.partition_point(|(completion, _)| completion.completed <= now);
        for (completion, statement) in self.open.drain(..over).collect::<Vec<_>>() {
            self.commit(statement);
            done.push(completion);
        }
    }

    fn next_wakeup(&self) -> Option<Instant> {
        self.open.first().map(|(completion, _)| completion.completed)
    }

    fn wait_for_completion(&mut self, _: Span) {}

    fn code_name(&self, code: Code) -> Cow<'static, str> {
        if code == BROKE { "insufficient-funds".into() } else { code.symbolic_name() }
    }
}

/// Deals the cards of a deck, which contains each flow according to its share; each deck is shuffled anew.
#[derive(Clone, Debug)]
struct Deck {
    cards: Vec<usize>,
    left: usize,
    prng: Prng,
}

impl Deck {
    fn new(seed: u64) -> Deck {
        let cards = MIX.iter().enumerate().flat_map(|(flow, (_, n))| std::iter::repeat_n(flow, *n)).collect();
        Deck { cards, left: 0, prng: Prng::from_seed(seed) }
    }

    fn deal(&mut self) -> usize {
        if self.left == 0 {
            self.left = self.cards.len();
        }
        let drawn = self.prng.uniform_below(self.left as u64) as usize;
        self.left -= 1;
        self.cards.swap(drawn, self.left);
        self.cards[self.left]
    }
}

/// The transactions of eight sessions: three flows that share one number in flight, or one schedule.
struct Sessions {
    deck: Deck,
    prng: Prng,
    schedule: Option<Schedule>,
    free: u32,
    ready: Instant,
    taken: [u64; MIX.len()],
    counted: [u64; MIX.len()],
}

impl Sessions {
    fn new(schedule: Option<Schedule>) -> Sessions {
        let (taken, counted) = Default::default();
        Sessions {
            deck: Deck::new(1),
            prng: Prng::from_seed(2),
            schedule,
            free: SESSIONS,
            ready: Instant::ZERO,
            taken,
            counted,
        }
    }
}

impl Source for Sessions {
    type Request = Transaction;

    fn next_due(&self) -> Instant {
        match &self.schedule {
            Some(schedule) => schedule.next_due(),
            None if self.free > 0 => self.ready,
            None => Instant::FAR,
        }
    }

    fn next(&mut self, _: Instant) -> NextRequest {
        NextRequest::Of(self.deck.deal())
    }

    fn take_request(&mut self, flow: usize) -> Transaction {
        match &mut self.schedule {
            Some(schedule) => schedule.advance_to_next(),
            None => self.free -= 1,
        }
        self.taken[flow] += 1;
        let mut account = || self.prng.uniform_below(ACCOUNTS);
        Transaction(match flow {
            0 => Statement::Transfer { from: account(), to: account(), amount: 1 + account() as i64 / 10 },
            1 => Statement::Balance(account()),
            _ => Statement::Audit,
        })
    }

    fn note_completed(&mut self, _: usize, completed: Instant) {
        self.free += 1;
        self.ready = completed;
    }

    fn is_open_loop(&self) -> bool {
        self.schedule.is_some()
    }

    /// The operations of the schedule that nobody has taken yet are counted with a copy of the deck: their cards will
    /// come in that order.
    fn count_until(&mut self, end: Instant, mut count: impl FnMut(usize, u64, u64)) {
        let mut wanted = self.taken;
        if let Some(schedule) = &self.schedule {
            let (mut schedule, mut deck) = (schedule.clone(), self.deck.clone());
            while schedule.next_due() < end {
                schedule.advance_to_next();
                wanted[deck.deal()] += 1;
            }
        }
        for (flow, wanted) in wanted.into_iter().enumerate() {
            count(flow, wanted - self.counted[flow], wanted - self.taken[flow]);
            self.counted[flow] = wanted;
        }
    }
}

fn plan(rate: Option<u64>, criterion: &str) -> Plan {
    let cards: usize = MIX.iter().map(|(_, cards)| cards).sum();
    let stream = |(name, share): (&str, usize)| Stream {
        name: name.to_owned(),
        work: Work::Other { operation: name.trim_end_matches('s').to_owned() },
        arrival: match rate {
            Some(rate) => Arrival::Poisson { rate: Rate::per_second(rate * share as u64 / cards as u64) },
            None => Arrival::Looped {
                looped: "sessions".to_owned(),
                share: Share::from_percent(100 * share as u64 / cards as u64),
                line: None,
            },
        },
        per_target: false,
        targets: Vec::new(),
        life: assay_model::Life::default(),
    };
    // The sessions carry transactions of all kinds.
    let sessions = Loop {
        name: "sessions".to_owned(),
        in_flight: SESSIONS,
        copies: 1,
        think: None,
        lines: Vec::new(),
        turns: None,
        life: assay_model::Life::default(),
    };
    Plan {
        name: "bank".into(),
        model: "bank".into(),
        load: PlannedLoad {
            multiple: Multiple::ONE,
            multiples: Vec::new(),
            seed: 1,
            targets: 1,
            streams: MIX.map(stream).to_vec(),
            in_flight_bound: 64,
            lanes: Vec::new(),
            groups: Vec::new(),
            loops: if rate.is_none() { vec![sessions] } else { Vec::new() },
            application: None,
        },
        timing: PlannedTiming {
            phases: Phase::warm_up_and_measure(WarmUp::For(Span::from_secs(1)), Span::from_secs(10)),
            slice: Span::from_secs(2),
            interval: Span::from_secs(1),
            max_lag: Span::from_secs(5),
            skip_half_windows: false,
            backlog_allowed: Span::ZERO,
            recovery_at_most: Span::ZERO,
        },
        criteria: vec![criterion.parse().unwrap()],
        verification: PlannedVerification::default(),
        caches: Caches::default(),
        hosts: assay_model::hosts::HostTargets::default(),
        carried_over: CarriedOver::default(),
        notes: Notes::default(),
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

/// Runs the plan on a table, and returns the log and the final table.
fn run(plan: &Plan, table: Table) -> (Vec<u8>, Table, Totals) {
    let facts = HeaderFacts {
        created: "1970-01-01T00:00:00Z".into(),
        targets: vec![TargetHead { name: "table".into(), kind: "memory".into(), ..TargetHead::default() }],
        ..HeaderFacts::default()
    };
    let mut log = Log { writer: Writer::new(Vec::new(), 0), intervals: 0, end: 0 };
    log.writer.write_entry(&Entry::Header(Box::new(header::make_header(plan, facts)))).unwrap();
    let part = Part { index: 0, of: 1 };
    let rates: Option<u64> =
        plan.load.streams.iter().map(|stream| Some(stream.arrival.mean_rate()?.as_f64() as u64)).sum();
    let rate = rates.map(Rate::per_second);
    let schedule = rate.map(|rate| Schedule::from_poisson(Instant::ZERO, rate, part, Prng::from_seed(3)).unwrap());
    let parts = Parts {
        sources: vec![Sessions::new(schedule)],
        flows_of: vec![(0..MIX.len()).collect()],
        after: 1,
        payload: (),
    };
    let setup = Setup {
        part,
        thresholds: header::exact_thresholds(plan),
        bound: assay_engine::in_flight_bound(plan, part),
        start: Instant::ZERO,
        run: 0,
        limits: Limits::default(),
        ledger: None,
        gates: None,
    };
    let mut worker = Worker::from_parts(plan, table, parts, setup);
    run_virtual(&mut worker, Instant::ZERO, &mut log, || false);
    let (totals, reason) = (worker.operation_totals(), worker.close_reason());
    assert_eq!(reason, CloseReason::Completed);
    let Totals { issued, completed, stuck } = totals;
    let (at_ns, intervals) = (log.end, log.intervals);
    let close = Close { reason, at_ns, text: String::new(), intervals, issued, completed, stuck };
    log.writer.write_entry(&Entry::Close(close)).unwrap();
    (log.writer.into_inner(), std::mem::take(worker.device_mut()), totals)
}

fn judged(log: &[u8]) -> Judgement {
    judge_log(Reader::new(log), &Options::default()).unwrap()
}

fn html(judgement: &Judgement) -> String {
    let mut html = String::new();
    assay_judge::render::write_html(judgement, &mut html).unwrap();
    html
}

/// Number of operations that each stream completed in full, by name.
fn done(judgement: &Judgement) -> BTreeMap<String, u64> {
    judgement.part.streams.each.iter().map(|stream| (stream.name.clone(), stream.counts.operations)).collect()
}

#[test]
fn sessions_in_a_closed_loop_are_logged_and_judged() {
    let plan = plan(None, "transfers response over 1ms at most 5% per 2s");
    let (log, table, totals) = run(&plan, Table::new(Span::from_us(500), false));
    let judgement = judged(&log);
    assert_eq!(judgement.verdict, Verdict::Pass, "{:?}", judgement.reason);
    // Eight sessions; most transactions take half a millisecond.
    assert!((140_000..180_000).contains(&totals.completed), "{totals:?}");
    let done = done(&judgement);
    let (transfers, audits) = (done["transfers"] as f64, done["audits"] as f64);
    assert!((transfers / audits - 10.0).abs() < 0.05, "the mix is the deck's: {done:?}");
    assert!(table.committed as u64 > done["transfers"] / 2);
    let same = run(&plan, Table::new(Span::from_us(500), false)).0;
    assert!(same == log, "the same plan gives the same log");
    let text = String::from_utf8(log).unwrap();
    let header = text.lines().next().unwrap();
    assert!(header.contains("\"operation\":\"transfer\"") && !header.contains("\"direction\""), "{header}");
}

#[test]
fn an_open_loop_of_a_mix_passes_or_fails_by_its_response() {
    let slow = "balances response over 1ms at most 1% per 2s";
    for (rate, takes, verdict) in [(2000, 300, Verdict::Pass), (2000, 1200, Verdict::Fail)] {
        let plan = plan(Some(rate), slow);
        let (log, ..) = run(&plan, Table::new(Span::from_us(takes), false));
        let judgement = judged(&log);
        assert_eq!(judgement.verdict, verdict, "{:?}", judgement.reason);
        let html = html(&judgement);
        for told in ["balances", "audit", "transfer", "table"] {
            assert!(html.contains(told), "{told}");
        }
        assert!(html.contains("<td class=\"nowrap\">balance, poisson</td>"), "without a size there is no gap for it");
        assert!(
            html.contains("<dt>Operations/s</dt>")
                && !html.contains("<dt>MB/s</dt>")
                && html.contains("table: memory<")
        );
        let operations: u64 = done(&judgement).values().sum();
        assert!((operations as f64 / (rate as f64 * 10.0) - 1.0).abs() < 0.05, "{operations}");
    }
}

#[test]
fn codes_of_its_own_are_named_by_the_device_and_fail_the_run() {
    let plan = plan(Some(4000), "balances response over 1s at most 5% per 2s");
    let (log, table, _) = run(&plan, Table::new(Span::from_ms(2), true));
    assert_eq!(table.accounts.iter().sum::<i64>(), MONEY * ACCOUNTS as i64);
    let text = String::from_utf8(log.clone()).unwrap();
    let event = text.lines().find(|line| line.contains("\"io-error\"") && line.contains(CONFLICT)).unwrap();
    assert!(event.contains("\"code\":\"40001\"") && event.contains("\"statement\":\"Transfer"), "{event}");
    assert!(!event.contains("offset") && !event.contains("errno"), "{event}");
    let judgement = judged(&log);
    assert_eq!(judgement.verdict, Verdict::Fail);
    let html = html(&judgement);
    assert!(html.contains(CONFLICT) && html.contains("insufficient-funds"), "both names are in the report");
}
