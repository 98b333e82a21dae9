//! A group of ranks that carries one run after another, as the procedure of rank 0 decides: the other ranks know neither the procedure
//! nor what follows. Rank 0 sends each run as its log will have it, and where its results go; then all carry it as they carry a single
//! run.

use super::agreement::{AgreedRanks, Offer};
use super::carrying::{CarriedRank, JointRun};
use super::compare_clocks;
use super::places::make_place_for_rank;
use super::sharing::{places_of_targets, prove_targets};
use super::statements::{share_statements, share_statements_within};
use super::suited::{parts_of_rank, refuse_unsuited, workers_of_parts};
use crate::drive::{Drive, watched_disks};
use crate::failure::Failure;
use crate::log::logfile::LogFile;
use crate::observer::{Observer, Tell, Unobserved};
use crate::open::prepared::Opener;
use crate::open::targets::{Named, TargetNeeds, Targets};
use crate::procedure::carrier::{CarryRuns, OpenedForRuns, RunToCarry};
use crate::procedure::steps::Task;
use assay_base::Span;
use assay_device::clock::Clock;
use assay_hosts::Link;
use assay_hosts::clock::ClockMap;
use assay_hosts::exchange::{Exchange, ExchangeLink};
use assay_hosts::mpi::MpiLink;
use assay_model::Plan;
use assay_model::hosts::{HostTargets, PlaceAmong};
use assay_record::StepHead;
use serde::{Deserialize, Serialize};
use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};

/// From the moment when all ranks can begin to the start. Messages of one process arrive at once; one between hosts takes far less.
pub const LEAD_IN_PROCESS: Span = Span::from_ms(50);
/// The same between hosts.
pub const LEAD_OF_HOSTS: Span = Span::from_secs(2);
/// How long rank 0 may take between two runs, in which it judges one and plans the next.
const BETWEEN_RUNS: Span = Span::from_secs(600);

/// A run that all ranks carry next.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Order {
    /// Where its results go, on the host of rank 0.
    directory: PathBuf,
    steps: Vec<OrderedStep>,
}

/// A step of it, or all of it: see [`Task`].
#[derive(Clone, Debug, Serialize, Deserialize)]
struct OrderedStep {
    head: Option<StepHead>,
    plan: Plan,
    whole: Option<Span>,
    usual_slice: Option<Span>,
}

impl Order {
    fn of_run(run: &RunToCarry<'_>) -> Result<Order, Failure> {
        if run.tasks.iter().any(|task| task.measured_before_ns.is_some()) {
            return Err(Failure::internal_bug("ranks are given a run that goes on"));
        }
        let steps = run.tasks.iter().cloned().map(|Task { head, plan, whole, usual_slice, .. }| OrderedStep {
            head,
            plan,
            whole,
            usual_slice,
        });
        Ok(Order { directory: run.directory.to_owned(), steps: steps.collect() })
    }

    fn into_tasks(self) -> Vec<Task> {
        let task = |OrderedStep { head, plan, whole, usual_slice }: OrderedStep| Task {
            head,
            whole,
            usual_slice,
            ..Task::single_run(plan, Span::ZERO)
        };
        self.steps.into_iter().map(task).collect()
    }
}

/// The plan of those of a run that uses most targets.
fn plan_of_most_targets(tasks: &[Task]) -> Result<&Plan, Failure> {
    let plans = tasks.iter().map(|task| &task.plan);
    plans.max_by_key(|plan| plan.load.targets).ok_or_else(|| Failure::internal_bug("ranks are given nothing to carry"))
}

/// How a process says what it has to say while it opens targets: what several ranks would say is said once.
#[derive(Clone, Copy, Debug)]
pub struct Speech {
    /// Keeps back what would be said.
    pub keep_back: fn(),
    /// Ends that, and returns what was kept back.
    pub take_kept: fn() -> Vec<String>,
    /// Says it.
    pub tell: Tell,
}

/// What joins the ranks.
enum Joined<'a> {
    /// All are ranks of this process, so many.
    InProcess(usize),
    /// This is one of several processes.
    ByMpi(RefCell<&'a mut MpiLink>, Speech),
}

/// Ranks that carry the runs of a procedure.
pub struct RankGroup<'a> {
    joined: Joined<'a>,
    /// How many parts of the load each rank carries.
    parts_each: u64,
    agreed: RefCell<Option<AgreedRanks>>,
    /// What limits each result.
    watermarks: RefCell<Vec<String>>,
    /// Whether the other ranks know how this one has begun.
    has_greeted: Cell<bool>,
    /// Whether nothing more is said between the ranks.
    is_over: Cell<bool>,
}

/// The ranks of this process, each with a place for its log. All use the disks of all.
pub fn ranks_of_process<'a>(
    agreed: &AgreedRanks,
    links: &'a mut [ExchangeLink],
    targets: &Targets,
    directory: &Path,
) -> Result<Vec<CarriedRank<'a>>, Failure> {
    let are_real = !targets.real_targets().is_empty() || matches!(targets, Targets::Directory(_));
    let ranks = links.len() as u32;
    let mut carried = Vec::new();
    for (rank, link) in links.iter_mut().enumerate() {
        let beside = (0..ranks).filter(|other| are_real && *other as usize != rank).collect();
        let log = make_place_for_rank(directory, rank)?;
        let (place, common_time) = (agreed.place_of_rank(rank), ClockMap::of_rank_zero());
        carried.push(CarriedRank { link, place, beside, log, common_time });
    }
    Ok(carried)
}

impl std::fmt::Debug for RankGroup<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RankGroup({:?})", self.agreed.borrow())
    }
}

impl<'a> RankGroup<'a> {
    /// So many ranks of this process.
    pub fn within_process(ranks: usize, parts_each: u64) -> RankGroup<'a> {
        RankGroup::new(Joined::InProcess(ranks), parts_each)
    }

    /// This process and those that it has joined.
    pub fn over_hosts(link: &'a mut MpiLink, parts_each: u64, speech: Speech) -> RankGroup<'a> {
        RankGroup::new(Joined::ByMpi(RefCell::new(link), speech), parts_each)
    }

    fn new(joined: Joined<'a>, parts_each: u64) -> RankGroup<'a> {
        let (agreed, watermarks) = (RefCell::default(), RefCell::default());
        RankGroup { joined, parts_each, agreed, watermarks, has_greeted: Cell::new(false), is_over: Cell::new(false) }
    }

    /// What the ranks have agreed upon when they opened their targets.
    fn agreed_ranks(&self) -> Result<AgreedRanks, Failure> {
        self.agreed
            .borrow()
            .clone()
            .ok_or_else(|| Failure::internal_bug("ranks carry a run on targets that are not open"))
    }

    /// Whether the other ranks have opened their targets, and wait for what the first one decides.
    fn is_waited_for(&self) -> bool {
        self.agreed.borrow().is_some()
    }

    fn rank_count(&self) -> usize {
        match &self.joined {
            Joined::InProcess(ranks) => *ranks,
            Joined::ByMpi(link, _) => link.borrow().world_size(),
        }
    }

    /// Ends the work with the other ranks, where they still wait for what this one says: the first rank says that no run follows, and
    /// whoever has failed says why.
    ///
    /// # Errors
    /// The others do not answer.
    pub fn end_together(&self, failure: Option<&Failure>) -> Result<(), Failure> {
        let Joined::ByMpi(link, _) = &self.joined else { return Ok(()) };
        let link: &mut dyn Link = &mut **link.borrow_mut();
        let ended = match failure {
            Some(failure) if !self.has_greeted.replace(true) => {
                AgreedRanks::greet_all(link, Err(failure.clone()), HostTargets::default()).map(|_| ())
            }
            _ if !self.is_waited_for() || self.is_over.get() => Ok(()),
            Some(failure) => self.say_what_follows(link, Err(failure.clone())).map(|_| ()),
            None => self.say_what_follows(link, Ok(None)).map(|_| ()),
        };
        // What this rank has said is known here.
        if failure.is_some() { Ok(()) } else { ended }
    }

    /// One round before each run, in which the first rank says which one follows; the others say nothing, or that they cannot. With a
    /// refusal, or where none follows, all is over.
    fn say_what_follows(
        &self,
        link: &mut dyn Link,
        own: Result<Option<Order>, Failure>,
    ) -> Result<Option<Order>, Failure> {
        let said = share_statements_within(link, own, BETWEEN_RUNS);
        let order = said.map(|said| said.into_iter().next().flatten());
        self.is_over.set(!matches!(order, Ok(Some(_))));
        order
    }
}

impl RankGroup<'_> {
    /// How each rank carries a run.
    fn way_of_carrying(&self, how: &Drive, plan: &Plan) -> Drive {
        let mut own = how.clone();
        own.watermarks.extend(self.watermarks.borrow().iter().cloned());
        own.manner.workers = workers_of_parts(plan, self.parts_each);
        own
    }

    fn carry_in_process(
        &self,
        ranks: usize,
        order: Order,
        opened: OpenedForRuns<'_>,
        joint: &mut LogFile,
        observer: &mut dyn Observer,
    ) -> Result<(), Failure> {
        let agreed = self.agreed_ranks()?;
        let directory = order.directory.clone();
        let tasks = order.into_tasks();
        let how = self.way_of_carrying(opened.how, plan_of_most_targets(&tasks)?);
        for task in &tasks {
            (0..ranks).try_for_each(|rank| agreed.check_part_of_rank(rank, &task.plan, opened.targets))?;
        }
        let mut links = Exchange::within_process(ranks).links();
        let carried = ranks_of_process(&agreed, &mut links, opened.targets, &directory)?;
        let OpenedForRuns { targets, stop, .. } = opened;
        let hosts = agreed.host_names();
        let run = JointRun { tasks: &tasks, targets, how: &how, stop, lead: LEAD_IN_PROCESS, hosts: &hosts };
        run.carry_ranks(carried, Some(joint), observer, Clock::start())
    }

    /// Carries this rank's share of a run. The log of all is written into `joint`, on the first rank.
    fn carry_over_hosts(
        &self,
        link: &mut MpiLink,
        order: Order,
        opened: OpenedForRuns<'_>,
        joint: Option<(&mut LogFile, &mut dyn Observer)>,
    ) -> Result<(), Failure> {
        let agreed = self.agreed_ranks()?;
        let directory = order.directory.clone();
        let tasks = order.into_tasks();
        let plan = plan_of_most_targets(&tasks)?;
        let how = self.way_of_carrying(opened.how, plan);
        tasks.iter().try_for_each(|task| agreed.agree_on_parts(link, &task.plan, opened.targets))?;
        let beside = agreed.ranks_on_disks(link, watched_disks(plan, opened.targets, &directory))?;
        let log = make_place_for_rank(&directory, link.own_rank());
        share_statements(link, log.as_ref().map(|_| ()).map_err(Clone::clone))?;
        // Clocks of hosts drift apart: they are compared before each run.
        let clock = Clock::start();
        let common_time = compare_clocks(link, clock)?;
        let OpenedForRuns { targets, stop, .. } = opened;
        let hosts = agreed.host_names();
        let run = JointRun { tasks: &tasks, targets, how: &how, stop, lead: LEAD_OF_HOSTS, hosts: &hosts };
        let ranks = vec![CarriedRank { link, place: agreed.own_place(), beside, log: log?, common_time }];
        match joint {
            Some((log, observer)) => run.carry_ranks(ranks, Some(log), observer, clock),
            None => run.carry_ranks(ranks, None, &mut Unobserved, clock),
        }
    }
}

impl CarryRuns for RankGroup<'_> {
    fn is_first_rank(&self) -> bool {
        match &self.joined {
            Joined::InProcess(_) => true,
            Joined::ByMpi(link, _) => link.borrow().own_rank() == 0,
        }
    }

    fn open_targets(
        &self,
        plan: &Plan,
        named: &[(String, Named)],
        needs: TargetNeeds<'_>,
        open: &Opener<'_>,
    ) -> Result<Targets, Failure> {
        let task = Task::single_run(plan.clone(), Span::ZERO);
        refuse_unsuited(&[task], named, self.parts_each * self.rank_count() as u64)?;
        // What a run is comes from the first rank, so that plans need not be compared.
        let places = places_of_targets(named);
        let offer_of_rank = |index, count| {
            let parts = parts_of_rank(plan, self.parts_each, PlaceAmong { index, count });
            Offer::of_this_process(parts, std::iter::empty(), places.clone())
        };
        let (link, speech) = match &self.joined {
            Joined::InProcess(ranks) => {
                let count = *ranks as u64;
                let offers = (0..count).map(|rank| offer_of_rank(rank, count)).collect();
                let agreed = AgreedRanks::within_process(offers, plan.hosts);
                let targets = open(named, needs)?;
                (0..*ranks).try_for_each(|rank| agreed.check_part_of_rank(rank, plan, &targets))?;
                *self.agreed.borrow_mut() = Some(agreed);
                return Ok(targets);
            }
            Joined::ByMpi(link, speech) => (link, speech),
        };
        let link: &mut dyn Link = &mut **link.borrow_mut();
        self.has_greeted.set(true);
        let offer = offer_of_rank(link.own_rank() as u64, link.world_size() as u64);
        let agreed = AgreedRanks::greet_all(link, Ok(offer), plan.hosts)?;
        let fellows = agreed.fellow_processes();
        (speech.keep_back)();
        let targets = agreed.open_in_turns(link, || open(named, TargetNeeds { fellows: &fellows, ..needs }));
        let kept = (speech.take_kept)();
        let targets = targets?;
        let remarks = agreed.gather_remarks(link, kept)?;
        remarks.iter().filter(|_| agreed.own_place().rank == 0).for_each(|line| (speech.tell)(line));
        agreed.agree_on_parts(link, plan, &targets)?;
        *self.watermarks.borrow_mut() = prove_targets(link, &agreed, plan, &targets)?;
        *self.agreed.borrow_mut() = Some(agreed);
        Ok(targets)
    }

    fn carry_run(
        &self,
        run: &RunToCarry<'_>,
        opened: OpenedForRuns<'_>,
        log: &mut LogFile,
        observer: &mut dyn Observer,
    ) -> Result<(), Failure> {
        let order = Order::of_run(run)?;
        match &self.joined {
            Joined::InProcess(ranks) => self.carry_in_process(*ranks, order, opened, log, observer),
            Joined::ByMpi(link, _) => {
                let link: &mut MpiLink = &mut link.borrow_mut();
                self.say_what_follows(link, Ok(Some(order.clone())))?;
                self.carry_over_hosts(link, order, opened, Some((log, observer)))
            }
        }
    }

    fn follow_first_rank(&self, opened: OpenedForRuns<'_>) -> Result<(), Failure> {
        let Joined::ByMpi(link, _) = &self.joined else { return Ok(()) };
        let link: &mut MpiLink = &mut link.borrow_mut();
        while let Some(order) = self.say_what_follows(link, Ok(None))? {
            match self.carry_over_hosts(link, order, opened, None) {
                Err(failure) if failure.leaves_others_behind() => return Err(failure),
                // All ranks have heard of any other failure; the first one says how it goes on.
                _ => {}
            }
        }
        Ok(())
    }
}
