//! Bugs during a run: a worker that panics, a collecting thread that panics. Either ends the run, immediately, and only
//! this run.

use super::super::worker::tell_of_death;
use super::*;
use crate::certificate;
use crate::drive::Manner;
use crate::drive::drive_plan;
use crate::failure::code;
use crate::log::logfile::Listen;
use crate::observer::Unobserved;
use crate::open::targets::{self, Named, parse_block_targets};
use assay_base::Bytes;
use assay_engine::Totals;
use assay_judge::{Options, Verdict};
use assay_model::workload::Adjust;
use assay_record::{FlowInterval, Recorder};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// An hour of a light load on the null device.
fn hour() -> (Plan, Targets) {
    let Named::Null(geometry) = parse_block_targets(&["null:1GiB".to_owned()]).unwrap().remove(0).1 else {
        panic!("nothing")
    };
    let (measure, load) = (Some(Span::from_secs(3600)), "0.01x".parse().ok());
    let adjust = Adjust { measure, load, targets: 1, seed: 1, ..Adjust::default() };
    let plan = crate::workloads::find_workload("random-read").unwrap().make_plan(&adjust).unwrap();
    (plan, Targets::Null(vec![("null".to_owned(), geometry)]))
}

fn how() -> Drive {
    Drive { prepared: vec![None], manner: Manner { workers: Some(2), ..Manner::default() }, ..Drive::default() }
}

/// One second of one worker, all of whose operations completed.
fn frame(recorder: &mut Recorder, index: u64, ok: u64) -> Frame {
    let cell = recorder.flow_counters_mut(0);
    (cell.scheduled, cell.issued) = (ok, ok);
    (0..ok).for_each(|_| recorder.count_prompt(0, 4096, Span::from_us(100)));
    recorder.take_frame(index, index * 1_000_000_000, (index + 1) * 1_000_000_000, 0, false)
}

#[test]
fn what_was_measured_before_a_worker_died_is_closed_and_judged() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.jsonl");
    let ((plan, targets), how, stop, clock) = (hour(), how(), StopCell::default(), Clock::start());
    let real = RealTimeRun::new(&plan, &targets, None, &how, &stop);
    let mut recorder = Recorder::new(header::exact_thresholds(&plan), 1);
    let (sender, receiver) = channel();
    for index in 0..3 {
        sender.send(WorkerMessage::Report(0, Report::Frame(frame(&mut recorder, index, 10)))).unwrap();
    }
    sender.send(WorkerMessage::Report(1, Report::Frame(frame(&mut recorder, 0, 5)))).unwrap();
    tell_of_death(1, clock, &sender, || panic!("on purpose"));
    let totals = Totals { issued: 30, completed: 30, stuck: 0 };
    let (reason, at) = (CloseReason::EngineFailed, Instant::from_ns(3_000_000_000));
    sender.send(WorkerMessage::Report(0, Report::Finished { reason, totals, at })).unwrap();

    let (mut log, mut progress) = (LogFile::create_new(&path).unwrap(), Unobserved);
    let facts = header_facts(&plan, &targets, None, &how, BTreeMap::new(), None);
    let mut collector = Collector::open_segment(&plan, header::make_header(&plan, facts), &mut log, &mut progress);
    let spenders = vec![channel().0, channel().0];
    let watch = Watch::new(clock, |_| None, Vec::new());
    let watched = Watched::new(&plan, &targets, &path);
    let sampler = Sampler::new(watched.counted_disks(), plan.timing.interval);
    let collecting = Collecting {
        real: &real,
        coordinator: Coordinator::new(2),
        receiver,
        spenders,
        account: Accounts {
            meters: Meters::new(),
            cached: Meter::default(),
            carried: Vec::new(),
            beneath: Beneath::new(&targets, 0, &[]),
            watched,
            sampler: &sampler,
            neighbours: Neighbours::begin_looking(false),
        },
        watch,
        partners: Partners::new(&targets),
        target_watch: TargetWatch::begin_watch(&targets),
        clock,
    };
    // `tell` still exists: only the report of the worker's death shows that no more frames will come.
    assert_eq!(collecting.collect_notices(&mut collector).unwrap(), CloseReason::EngineFailed);
    assert!(real.own.is_set() && !stop.is_set(), "the others are asked to end, later runs are not");
    drop((log, sender));

    let mut reader = crate::log::reading::open_reader(&path).unwrap();
    let (mut issued, mut close) = (Vec::new(), None);
    while let Some(entry) = reader.next_entry().unwrap() {
        match entry.unwrap() {
            Entry::Interval(it) => issued.push(it.flows.iter().map(|flow: &FlowInterval| flow.issued).sum::<u64>()),
            Entry::Close(it) => close = Some(it),
            _ => {}
        }
    }
    let close = close.unwrap();
    assert_eq!(issued, [15], "the one interval that both had a part in");
    assert_eq!((close.reason, close.issued, close.completed), (CloseReason::EngineFailed, 15, 15));
    assert!(close.text.contains("worker 1 died") && close.text.contains("on purpose"), "{}", close.text);
    let judged =
        certificate::judge_with_sum(std::fs::File::open(&path).unwrap(), &Options::default()).unwrap().judgement;
    assert_eq!((judged.verdict, judged.part.history.contradictions), (Verdict::Invalid, 0), "{}", judged.reason);
    assert!(judged.reason.contains("worker 1 died"), "{}", judged.reason);
}

#[test]
fn a_worker_that_dies_before_it_is_ready_is_not_waited_for() {
    let (sender, receiver) = channel();
    tell_of_death(1, Clock::start(), &sender, || panic!("on purpose"));
    let failure = wait_until_ready(&receiver, &mut Coordinator::new(2)).unwrap_err();
    assert_eq!(failure.code, code::BUG);
    drop(sender);
}

/// Panics at the first interval it gets.
#[derive(Debug)]
struct Fragile;

impl Listen for Fragile {
    fn hear_entry(&mut self, entry: &Entry) {
        assert!(!matches!(entry, Entry::Interval(_)), "on purpose");
    }
}

#[test]
fn workers_end_with_the_thread_that_collects() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = LogFile::create_new(&dir.path().join("run.jsonl")).unwrap().heard_by(Box::new(Fragile));
    let ((plan, targets), stop, mut progress) = (hour(), StopCell::default(), Unobserved);
    let run = AssertUnwindSafe(|| drive_plan(&plan, &targets, &how(), &mut log, &mut progress, &stop));
    // Without a request to end, the workers would return after an hour.
    assert!(catch_unwind(run).is_err() && !stop.is_set());
}

#[test]
fn nothing_is_left_of_a_run_whose_target_became_another_before_it_began() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let target = targets::RealTarget::create_scratch(&at("scratch"), Bytes::new(64 << 20), &at("run")).unwrap();
    std::fs::write(at("other"), "").unwrap();
    std::fs::rename(at("other"), at("scratch")).unwrap();
    std::fs::create_dir(at("run")).unwrap();
    let mut log = LogFile::create_new(&at("run/run.jsonl")).unwrap();
    let ((plan, _), stop, mut progress) = (hour(), StopCell::default(), Unobserved);
    let failure = drive_plan(&plan, &Targets::Real(vec![target]), &how(), &mut log, &mut progress, &stop).unwrap_err();
    assert_eq!(failure.code, code::REFUSED);
    assert!(!at("run").exists());
}
