//! `assay run` with several ranks: processes of several hosts (`--hosts N`), or ranks of this process (`--local N`).

use super::result;
use super::run::{PlannedRun, Run, open_targets, plan_run, way_of_driving};
use crate::progress::Progress;
use crate::screen::print_to_stderr;
use assay_base::Span;
use assay_device::clock::Clock;
use assay_hosts::Link;
use assay_hosts::clock::ClockMap;
use assay_hosts::exchange::Exchange;
use assay_hosts::mpi::MpiLink;
use assay_run::certificate::signing::Signer;
use assay_run::drive::Drive;
use assay_run::failure::{Failure, code};
use assay_run::host::ranks::agreement::{Agreement, Offer, agree, digest_of_plans};
use assay_run::host::ranks::carrying::{CarriedRank, JointRun};
use assay_run::host::ranks::places::{begin_joint_log, make_place_for_rank, places_of_local_ranks};
use assay_run::host::ranks::suited::refuse_unsuited;
use assay_run::host::ranks::{compare_clocks, link_failure, own_host};
use assay_run::open::prepared::Prepared;
use assay_run::procedure::steps::Task;
use std::path::{Path, PathBuf};

/// What a rank has when it could begin.
struct Ready {
    tasks: Vec<Task>,
    prepared: Prepared,
    how: Drive,
    signer: Option<Signer>,
    /// Where the results are to go.
    directory: PathBuf,
}

/// Runs a workload with several ranks. Only rank 0 prints.
pub(crate) fn run_with_ranks(args: &Run) -> Result<u8, Failure> {
    refuse_options(args)?;
    match args.ranks.join_given_hosts()? {
        None => run_local_ranks(args),
        Some(mut link) => {
            let own_rank = link.own_rank();
            match run_as_rank(args, &mut link) {
                // The others may wait for this rank for ever. Nothing is said after this.
                Err(failure) if failure.code == code::HOST || failure.code == code::INCOMPLETE => {
                    print_to_stderr(&format!("error: rank {own_rank}: {}", failure.user_message()));
                    link.abort_world(failure.code);
                    Ok(failure.code)
                }
                code => link.leave_world().map_err(|error| link_failure(&error)).and(code),
            }
        }
    }
}

/// Options that a run with several ranks does not have.
fn refuse_options(args: &Run) -> Result<(), Failure> {
    let given = [
        (args.output.resume.is_some(), "--resume"),
        (args.stop_when_certain, "--stop-when-certain"),
        (args.crash_test, "--crash-test"),
        (args.prep, "--prep"),
    ];
    match given.into_iter().find(|(is_given, _)| *is_given) {
        Some((_, option)) => Err(Failure::bad_usage(format!("{option} is for a run without --hosts or --local"))),
        None => Ok(()),
    }
}

/// Everything up to the first operation, as in a run of one process.
fn make_ready(args: &Run, all_ranks: u64) -> Result<Ready, Failure> {
    let mut planned = plan_run(args)?;
    // Before anything is opened, or made there.
    refuse_unsuited(&planned.tasks, &planned.named, all_ranks * parts_each(args))?;
    let directory = args.output.results_place().planned_directory(&planned.tasks[0].plan.name)?;
    let prepared = open_targets(args, &mut planned, &directory)?;
    let PlannedRun { signer, tasks, .. } = planned;
    let how = way_of_driving(args, &prepared, signer.as_ref());
    Ok(Ready { tasks, prepared, how, signer, directory })
}

/// How many parts of the load each rank carries.
fn parts_each(args: &Run) -> u64 {
    args.output.workers.map_or(1, u64::from)
}

fn run_local_ranks(args: &Run) -> Result<u8, Failure> {
    let ranks = args.ranks.local.unwrap_or(1) as usize;
    let ready = make_ready(args, ranks as u64)?;
    let directory = args.output.results_place().create_directory(&ready.directory)?;
    let mut links = Exchange::within_process(ranks).links();
    let mut carried = Vec::new();
    for (link, place) in links.iter_mut().zip(places_of_local_ranks(ranks, parts_each(args))) {
        let log = make_place_for_rank(&directory, place.rank as usize)?;
        carried.push(CarriedRank { link, place, log, common_time: ClockMap::of_rank_zero() });
    }
    carry(args, &ready, Carried { ranks: carried, clock: Clock::start(), lead: LEAD_IN_PROCESS }, Some(&directory))
}

fn run_as_rank(args: &Run, link: &mut MpiLink) -> Result<u8, Failure> {
    let clock = Clock::start();
    let common_time = compare_clocks(link, clock)?;
    let ready = make_ready(args, link.world_size() as u64);
    let offer = match &ready {
        Ok(ready) => {
            let (host, boot) = own_host();
            let plans = digest_of_plans(ready.tasks.iter().map(|task| &task.plan));
            Ok(Offer { host, boot, parts: parts_each(args), plans })
        }
        Err(failure) => Err(failure.clone()),
    };
    let make_directory = || match &ready {
        Ok(ready) => args.output.results_place().create_directory(&ready.directory),
        Err(failure) => Err(failure.clone()),
    };
    let Agreement { place, directory } = agree(link, offer, make_directory)?;
    let is_first = place.rank == 0;
    let log = make_place_for_rank(&directory, place.rank as usize)?;
    let ranks = vec![CarriedRank { link, place, log, common_time }];
    carry(args, &ready?, Carried { ranks, clock, lead: LEAD_OF_HOSTS }, is_first.then_some(directory.as_path()))
}

/// The ranks of this process, and the clock by which they are joined.
struct Carried<'a> {
    ranks: Vec<CarriedRank<'a>>,
    clock: Clock,
    /// From the moment when all ranks can begin to the start.
    lead: Span,
}

/// Messages of one process arrive at once.
const LEAD_IN_PROCESS: Span = Span::from_ms(50);
/// A message between hosts takes far less.
const LEAD_OF_HOSTS: Span = Span::from_secs(2);

/// Carries the ranks of this process. The result is that of all, where rank 0 is among them: `directory` is its run's.
fn carry(args: &Run, ready: &Ready, carried: Carried<'_>, directory: Option<&Path>) -> Result<u8, Failure> {
    let Ready { tasks, prepared, how, signer, .. } = ready;
    let Carried { ranks, clock, lead } = carried;
    let run = JointRun { tasks, targets: &prepared.targets, how, stop: &prepared.stop, lead };
    let mut progress = Progress::for_one_run("");
    let Some(directory) = directory else {
        return run.carry_ranks(ranks, None, &mut progress, clock).map(|()| code::DONE);
    };
    let mut joint = begin_joint_log(directory)?;
    let carried = run.carry_ranks(ranks, Some(&mut joint), &mut progress, clock);
    if joint.is_empty() {
        return carried.map(|()| code::DONE);
    }
    // What all had measured before they could not go on together is judged, and stays.
    let again = "the same command with another --out";
    let judged = result::judge_and_report(directory, &args.output, &progress, signer.as_ref(), again);
    carried.and(judged)
}
