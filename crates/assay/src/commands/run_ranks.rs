//! `assay run` with several ranks: processes of several hosts (`--hosts N`), or ranks of this process (`--local N`).

use super::result;
use super::run::{PlannedRun, Run, open_targets, plan_run, warn_of_blank, way_of_driving};
use crate::again::FROM_THE_BEGINNING;
use crate::args::{Pace, leave_with_result};
use crate::live_page::PageBesideRun;
use crate::progress::Progress;
use crate::screen::{KeptBack, print_to_stderr, report_failure};
use assay_base::Span;
use assay_device::clock::Clock;
use assay_hosts::Link;
use assay_hosts::exchange::Exchange;
use assay_hosts::mpi::MpiLink;
use assay_model::hosts::PlaceAmong;
use assay_run::certificate::signing::Signer;
use assay_run::drive::{Drive, watched_disks};
use assay_run::failure::{Failure, code};
use assay_run::host::ranks::agreement::{AgreedRanks, Offer, agree_on_directory, seed_of_all};
use assay_run::host::ranks::carrying::{CarriedRank, JointRun};
use assay_run::host::ranks::compare_clocks;
use assay_run::host::ranks::group::{LEAD_IN_PROCESS, LEAD_OF_HOSTS, ranks_of_process};
use assay_run::host::ranks::joining::abort_ranks;
use assay_run::host::ranks::places::{begin_joint_log, make_place_for_rank};
use assay_run::host::ranks::sharing::{places_of_targets, prove_targets};
use assay_run::host::ranks::suited::{parts_of_rank, refuse_unsuited, workers_of_parts};
use assay_run::observer::Observer;
use assay_run::open::prepared::Prepared;
use assay_run::procedure::steps::Task;
use std::path::Path;

/// What a rank has when it could begin.
struct Ready {
    tasks: Vec<Task>,
    prepared: Prepared,
    how: Drive,
    signer: Option<Signer>,
}

/// How the ranks of this process have ended.
struct Ended {
    /// The exit code: that of the verdict, where there is one.
    code: u8,
    /// Why they did not end together with the others.
    apart: Option<Failure>,
}

/// Runs a workload with several ranks. Only rank 0 prints.
pub(crate) fn run_with_ranks(args: &Run) -> Result<u8, Failure> {
    refuse_options(args)?;
    let Some(mut link) = args.ranks.join_given_hosts()? else {
        let Ended { code, apart } = run_local_ranks(args)?;
        return apart.map_or(Ok(code), |failure| Err(failure.with_code(code)));
    };
    let (failure, code) = match run_as_rank(args, &mut link) {
        Ok(Ended { code, apart: Some(failure) }) => (failure, code),
        Err(failure) if failure.code == code::HOST => (failure.clone(), failure.code),
        outcome => return leave_with_result(link, outcome.map(|ended| ended.code)),
    };
    // The others may wait for this rank for ever. Nothing is said after this.
    print_to_stderr(&format!("error: rank {}: {}", link.own_rank(), failure.user_message()));
    abort_ranks(&link, code, report_failure);
    Ok(code)
}

/// Options that a run with several ranks does not have.
fn refuse_options(args: &Run) -> Result<(), Failure> {
    let given = [
        (args.output.resume.is_some(), "--resume"),
        (args.stop_when_certain, "--stop-when-certain"),
        (args.crash_test, "--crash-test"),
        (args.prep, "--prep"),
        (args.ranks.hosts.is_some() && args.access.create.is_some(), "--create"),
    ];
    match given.into_iter().find(|(is_given, _)| *is_given) {
        Some((_, option)) => Err(Failure::bad_usage(format!("{option} is for a run without --hosts or --local"))),
        None => Ok(()),
    }
}

/// What is asked for, where so many ranks can carry it. Nothing is opened yet, or made.
fn plan_for_ranks(args: &Run, pace: &Pace, ranks: u64) -> Result<PlannedRun, Failure> {
    let planned = plan_run(args, pace)?;
    refuse_unsuited(&planned.tasks, &planned.named, ranks * workers_each(args))?;
    if planned.request.asked_scheduler()?.is_some() {
        return Err(Failure::bad_workload(
            "the workload sets the I/O scheduler of its devices, which several ranks would do at the same time; set it by hand before",
        ));
    }
    Ok(planned)
}

/// What a rank of this process brings.
fn offer_of_rank(args: &Run, planned: &PlannedRun, place: PlaceAmong) -> Offer {
    let parts = parts_of_rank(&planned.tasks[0].plan, workers_each(args), place);
    Offer::of_this_process(parts, planned.tasks.iter().map(|task| &task.plan), places_of_targets(&planned.named))
}

/// Everything up to the first operation, as in a run of one process. `fellows` are processes of other ranks, with which targets are
/// shared.
fn make_ready(args: &Run, mut planned: PlannedRun, directory: &Path, fellows: Vec<u32>) -> Result<Ready, Failure> {
    let prepared = open_targets(args, &mut planned, directory, &fellows)?;
    let PlannedRun { signer, tasks, .. } = planned;
    let mut how = way_of_driving(args, &prepared, signer.as_ref());
    how.manner.workers = workers_of_parts(&tasks[0].plan, workers_each(args));
    Ok(Ready { tasks, prepared, how, signer })
}

/// How many workers each rank has.
fn workers_each(args: &Run) -> u64 {
    args.output.workers.map_or(1, u64::from)
}

fn run_local_ranks(args: &Run) -> Result<Ended, Failure> {
    let page = PageBesideRun::listen_if_asked(&args.page, args.output.judge_on)?;
    let ranks = args.ranks.local.unwrap_or(1) as usize;
    let planned = plan_for_ranks(args, &args.pace, ranks as u64)?;
    let places = (0..ranks as u64).map(|index| PlaceAmong { index, count: ranks as u64 });
    let offers = places.map(|place| offer_of_rank(args, &planned, place)).collect();
    let agreed = AgreedRanks::within_process(offers, planned.tasks[0].plan.hosts);
    let directory = args.output.results_place().planned_directory(&planned.tasks[0].plan.name)?;
    warn_of_blank(&planned.named, &planned.tasks);
    let ready = make_ready(args, planned, &directory, Vec::new())?;
    for rank in 0..ranks {
        agreed.check_part_of_rank(rank, &ready.tasks[0].plan, &ready.prepared.targets)?;
    }
    let directory = args.output.results_place().create_directory(&directory)?;
    let mut links = Exchange::within_process(ranks).links();
    let carried = ranks_of_process(&agreed, &mut links, &ready.prepared.targets, &directory)?;
    carry(
        args,
        &ready,
        Carried { ranks: carried, hosts: agreed.host_names(), clock: Clock::start(), lead: LEAD_IN_PROCESS },
        Some(PlaceOfAll { directory: &directory, page }),
    )
}

fn run_as_rank(args: &Run, link: &mut MpiLink) -> Result<Ended, Failure> {
    let clock = Clock::start();
    let common_time = compare_clocks(link, clock)?;
    let ranks = link.world_size() as u64;
    let is_first = link.own_rank() == 0;
    let mut planned = plan_for_ranks(args, &args.pace, ranks);
    // The rank that has the log of all serves its page. Where it cannot, all learn of that with its plan.
    let page = if is_first { PageBesideRun::listen_if_asked(&args.page, args.output.judge_on) } else { Ok(None) };
    let page = page.unwrap_or_else(|failure| {
        planned = Err(failure);
        None
    });
    let own_seed = planned.as_ref().map(|planned| planned.tasks[0].plan.load.seed).map_err(Clone::clone);
    // Where none is given, each rank draws one: that of rank 0 holds.
    let seed = seed_of_all(link, own_seed.clone())?;
    let pace = Pace { seed: Some(seed), ..args.pace.clone() };
    let planned = if own_seed? == seed { planned } else { plan_for_ranks(args, &pace, ranks) };
    let place = PlaceAmong { index: link.own_rank() as u64, count: ranks };
    let offer = planned.as_ref().map(|planned| offer_of_rank(args, planned, place)).map_err(Clone::clone);
    let targets_of_hosts = planned.as_ref().map(|planned| planned.tasks[0].plan.hosts).unwrap_or_default();
    let agreed = AgreedRanks::greet_all(link, offer, targets_of_hosts)?;
    let planned = planned?;
    // What several ranks would say is said once.
    let kept_back = KeptBack::begin();
    warn_of_blank(&planned.named, &planned.tasks);
    let directory = args.output.results_place().planned_directory(&planned.tasks[0].plan.name)?;
    let open = || make_ready(args, planned, &directory, agreed.fellow_processes());
    let mut ready = agreed.open_in_turns(link, open)?;
    for line in agreed.gather_remarks(link, kept_back.take_lines())?.iter().filter(|_| is_first) {
        print_to_stderr(line);
    }
    agreed.agree_on_parts(link, &ready.tasks[0].plan, &ready.prepared.targets)?;
    let plan = &ready.tasks[0].plan;
    ready.how.watermarks.extend(prove_targets(link, &agreed, plan, &ready.prepared.targets)?);
    let disks = watched_disks(plan, &ready.prepared.targets, &directory);
    let beside = agreed.ranks_on_disks(link, disks)?;
    let directory = agree_on_directory(link, || args.output.results_place().create_directory(&directory))?;
    let log = make_place_for_rank(&directory, link.own_rank())?;
    let ranks = vec![CarriedRank { link, place: agreed.own_place(), beside, log, common_time }];
    carry(
        args,
        &ready,
        Carried { ranks, hosts: agreed.host_names(), clock, lead: LEAD_OF_HOSTS },
        is_first.then_some(PlaceOfAll { directory: &directory, page }),
    )
}

/// The ranks of this process, and the clock by which they are joined.
struct Carried<'a> {
    ranks: Vec<CarriedRank<'a>>,
    /// The host of each rank of the run.
    hosts: Vec<String>,
    clock: Clock,
    /// From the moment when all ranks can begin to the start.
    lead: Span,
}

/// What the first rank has besides: the directory of the run, and its page.
struct PlaceOfAll<'a> {
    directory: &'a Path,
    page: Option<PageBesideRun>,
}

/// Carries the ranks of this process. The result is that of all, where rank 0 is among them.
fn carry(args: &Run, ready: &Ready, carried: Carried<'_>, place: Option<PlaceOfAll<'_>>) -> Result<Ended, Failure> {
    let Ready { tasks, prepared, how, signer } = ready;
    let Carried { ranks, hosts, clock, lead } = carried;
    let run = JointRun { tasks, targets: &prepared.targets, how, stop: &prepared.stop, lead, hosts: &hosts };
    let mut progress = Progress::for_one_run("");
    let Some(PlaceOfAll { directory, page }) = place else {
        let apart = run.carry_ranks(ranks, None, &mut progress, clock).err();
        return Ok(Ended { code: apart.as_ref().map_or(code::DONE, |failure| failure.code), apart });
    };
    let mut joint = begin_joint_log(directory)?;
    progress = progress.with_page(page);
    progress.begin_directory(directory);
    let apart = run.carry_ranks(ranks, Some(&mut joint), &mut progress, clock).err();
    if joint.is_empty() {
        // Nothing was measured that could be incomplete.
        let code = apart.as_ref().map_or(code::DONE, |failure| match failure.code {
            code::INCOMPLETE => code::HOST,
            code => code,
        });
        return Ok(Ended { code, apart });
    }
    // What all had measured before they could not go on together is judged, and stays.
    let code = result::judge_and_report(directory, &args.output, &progress, signer.as_ref(), FROM_THE_BEGINNING)?;
    Ok(Ended { code, apart })
}
