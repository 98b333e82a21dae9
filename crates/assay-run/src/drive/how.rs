//! How a plan is carried out, and what the caller knows about it for the log's header.

use crate::cache::lookaside::Lookaside;
use crate::databases::LoggedCommits;
use crate::drive::share::RankShare;
use crate::failure::Failure;
use crate::host;
use crate::host::watch::Readings;
use crate::log::header::{HeaderFacts, RealTimeFacts, StepFacts};
use crate::log::rundir;
use crate::open::targets::{Named, Targets};
use assay_base::Measure;
use assay_device::safety::DevNum;
use assay_device::select::Choice;
use assay_engine::Limits;
use assay_engine::shell::Spin;
use assay_model::Plan;
use assay_record::{ClockSample, StepHead};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The way in which operations are carried out, whatever the plan.
#[derive(Clone, Debug, Default)]
pub struct Manner {
    /// The engine that was asked for.
    pub engine: Choice,
    /// The number of workers that was asked for.
    pub workers: Option<u16>,
    /// The spinning that was asked for.
    pub spin: Option<Spin>,
    /// The times for which the run waits for operations.
    pub limits: Limits,
    /// The time that all criteria are judged by, where the result has to be made from memory.
    pub judge_on: Option<Measure>,
    /// Whether a database is not checked after the run.
    pub unchecked: bool,
    /// Disks that hold a database, besides those below files of it that are found on this machine.
    pub disks: Vec<DevNum>,
    /// What a run on a directory does besides.
    pub directory: DirectoryManner,
}

/// What a run on a directory does besides its load.
#[derive(Clone, Debug, Default)]
pub struct DirectoryManner {
    /// The type that its file system must have.
    pub expected_file_system: Option<String>,
    /// Whether the caches of the whole host are dropped before each phase.
    pub drop_caches: bool,
    /// Whether what was made stays.
    pub keep: bool,
}

impl DirectoryManner {
    /// The option that was given, where one was.
    fn given_option(&self) -> Option<&'static str> {
        let given = [
            (self.expected_file_system.is_some(), "--expect-fs"),
            (self.drop_caches, "--drop-caches"),
            (self.keep, "--keep"),
        ];
        given.into_iter().find(|(is_given, _)| *is_given).map(|(_, option)| option)
    }
}

impl Manner {
    /// Refuses what makes no sense for these targets: a number of workers on a database, whose sessions carry the
    /// transactions, and on anything else what is about databases; on anything but a directory what is about directories.
    pub fn check_suits_targets(&self, named: &[(String, Named)]) -> Result<(), Failure> {
        let is_database = matches!(named.first(), Some((_, Named::Database(_))));
        let its_sessions = "--workers makes no sense on a database: its sessions carry the transactions; write sessions in the workload";
        let is_directory = matches!(named.first(), Some((_, Named::Directory(_))));
        if let Some(option) = self.directory.given_option().filter(|_| !is_directory) {
            return Err(Failure::bad_usage(format!("{option} is for a run on a directory, such as dir:/mnt/test")));
        }
        if is_directory && self.workers.is_some() {
            return Err(Failure::bad_usage(
                "--workers makes no sense on a directory: its clients make the calls; write clients in the workload",
            ));
        }
        if is_database {
            return self.workers.map_or(Ok(()), |_| Err(Failure::bad_usage(its_sessions)));
        }
        if self.unchecked {
            return Err(for_databases("--no-check"));
        }
        if self.disks.is_empty() { Ok(()) } else { Err(for_databases("--disk")) }
    }
}

impl Manner {
    /// Refuses what only a single run can do.
    pub fn check_suits_several_runs(&self, verb: &str) -> Result<(), Failure> {
        if self.directory.keep {
            return Err(Failure::bad_usage(format!(
                "--keep is for a single run: {verb} makes several, and each would leave its files; use assay run"
            )));
        }
        Ok(())
    }
}

/// The refusal of an option that is about databases.
fn for_databases(option: &str) -> Failure {
    Failure::bad_usage(format!("{option} is for databases, such as sqlite:shop.db"))
}

/// The way in which a plan is carried out.
#[derive(Clone, Debug, Default)]
pub struct Drive {
    /// The way in which its operations are carried out.
    pub manner: Manner,
    /// Step of a certification.
    pub step: Option<StepHead>,
    /// The watermarks that limit the result, besides those of the targets.
    pub watermarks: Vec<String>,
    /// Preparations of the targets.
    pub prepared: Vec<Option<assay_record::Preparation>>,
    /// Measured time of this step that the log already holds, when it is continued, in nanoseconds.
    pub measured_before_ns: Option<u64>,
    /// The transactions that each database has acknowledged to the interrupted part of this step, according to the log.
    pub committed_before: Vec<LoggedCommits>,
    /// Id of the key that will sign the result.
    pub signer: Option<String>,
    /// What the result answers in one line, by its name.
    pub question: Option<String>,
    /// The share of the load that is carried here, where other ranks carry the rest of it.
    pub share: Option<RankShare>,
    /// Whether marks may divide the run into parts.
    pub takes_marks: bool,
    /// Other clocks than those of the machine, for a test.
    pub readings: Option<Readings>,
}

impl Drive {
    /// Refuses criteria that name parts of a run where no mark can divide it: nothing would ever be measured in some of them.
    pub(crate) fn refuse_parts_without_marks(&self, plan: &Plan, targets: &Targets) -> Result<(), Failure> {
        let naming = plan.criteria.iter().find(|criterion| !criterion.parts.is_every());
        match naming.filter(|_| !self.may_take_marks(targets)) {
            Some(criterion) => Err(Failure::bad_workload(format!(
                "the criterion \"{criterion}\" names parts of a run, into which assay mark divides a single run of one workload, and this one \
                 takes no marks\n  = remove in from the criteria, or use assay run"
            ))),
            None => Ok(()),
        }
    }

    /// What is carried here of a plan: the whole, unless this is one of several ranks that do not all do the same.
    pub(super) fn plan_carried_here<'a>(&self, plan: &'a Plan, targets: &Targets) -> Result<Cow<'a, Plan>, Failure> {
        match &self.share {
            Some(share) if !plan.hosts.is_shared() || plan.load.files().is_some() => {
                share.place.plan_carried_here(plan, &targets.geometries_of_first(plan.load.targets)).map(Cow::Owned)
            }
            _ => Ok(Cow::Borrowed(plan)),
        }
    }

    /// Whether it is a single run, whose log this process writes alone. In virtual time it is over before anybody could mark it.
    fn may_take_marks(&self, targets: &Targets) -> bool {
        let is_single = self.takes_marks && self.step.is_none() && self.share.is_none();
        is_single && !matches!(targets, Targets::Simulated(_))
    }
}

/// The content of the header besides the plan.
pub(crate) fn header_facts(
    plan: &Plan,
    targets: &Targets,
    cache: Option<&Lookaside>,
    how: &Drive,
    engine: BTreeMap<String, String>,
    clocks: Option<ClockSample>,
) -> HeaderFacts {
    // Simulated time begins with the epoch, so that equal runs give equal logs.
    let created = match targets {
        Targets::Simulated(_) => rundir::format_moment(0),
        _ => clocks.map_or_else(rundir::current_timestamp, |clocks| rundir::format_moment(clocks.real_ns)),
    };
    let count = usize::from(plan.load.targets);
    let mut heads = targets.target_heads(count);
    for (head, prepared) in heads.iter_mut().zip(&how.prepared) {
        head.prepared.clone_from(prepared);
    }
    let mut watermarks: Vec<String> = plan.resembled_tools();
    watermarks.extend(how.watermarks.iter().cloned());
    watermarks.extend(targets.result_watermarks(count));
    let unchecked = how.manner.unchecked && !targets.all_databases().is_empty();
    watermarks.extend(unchecked.then(|| "UNCHECKED: what the run left in the database was not checked".to_owned()));
    HeaderFacts {
        created,
        step: StepFacts {
            head: how.step.clone(),
            measured_before_ns: how.measured_before_ns,
            takes_marks: how.may_take_marks(targets),
        },
        clocks,
        signer: how.signer.clone(),
        question: how.question.clone(),
        watermarks,
        targets: heads,
        hosts: how.share.iter().map(|share| share.host_head()).collect(),
        cache: cache.map(Lookaside::cache_head),
        in_real_time: RealTimeFacts::default(),
        engine,
        host: host::host_facts(matches!(targets, Targets::Simulated(_))),
    }
}

/// The failure for a schedule that is too large to be counted.
pub(super) fn too_large() -> Failure {
    Failure::bad_workload("a rate of the plan is too large to be scheduled")
}
