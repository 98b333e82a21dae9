//! Several ranks that carry a run together.

use crate::environment::environment_variable;
use crate::screen::print_to_stderr;
use assay_hosts::Link;
use assay_hosts::mpi::MpiLink;
use assay_run::failure::{Failure, code};
use assay_run::host::ranks::group::RankGroup;
use assay_run::host::ranks::{Joining, join_ranks, link_failure};
use assay_run::procedure::carrier::CarryRuns;
use std::path::{Path, PathBuf};

/// How many ranks carry a run, and what joins them.
#[derive(clap::Args, Debug, Clone, Default)]
pub(crate) struct Ranks {
    /// Carry the load together with the other processes that mpirun or srun has started, so many in all (docs/hosts.md)
    #[arg(long, value_name = "N", conflicts_with = "detach", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub hosts: Option<u32>,
    /// The MPI library to load [default: the one that belongs to the launcher]
    #[arg(long, value_name = "PATH", requires = "hosts")]
    pub mpi: Option<PathBuf>,
    /// Carry the load with so many ranks in this process, as several hosts would, without MPI
    #[arg(long, value_name = "N", conflicts_with_all = ["hosts", "detach"], value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub local: Option<u32>,
}

impl Ranks {
    /// Whether there are any.
    pub(crate) fn are_given(&self) -> bool {
        self.hosts.is_some() || self.local.is_some()
    }

    /// Carries the runs of a procedure: by this process alone, by ranks in it, or together with the processes that a launcher has
    /// started. The first rank decides, in `lead`; the others open the targets in `follow`, and do what it says.
    pub(crate) fn carry_procedure(
        &self,
        workers: Option<u16>,
        lead: impl FnOnce(Option<&RankGroup<'_>>) -> Result<u8, Failure>,
        follow: impl FnOnce(&RankGroup<'_>) -> Result<(), Failure>,
    ) -> Result<u8, Failure> {
        let parts = workers.map_or(1, u64::from);
        let Some(mut link) = self.join_given_hosts()? else {
            let group = self.local.map(|ranks| RankGroup::within_process(ranks as usize, parts));
            return lead(group.as_ref());
        };
        let is_first = link.own_rank() == 0;
        let group = RankGroup::over_hosts(&mut link, parts);
        let ended = if is_first { lead(Some(&group)) } else { follow(&group).map(|()| code::DONE) };
        // Others may wait for one that cannot go on; one that is lost to them can tell them nothing.
        let told = match &ended {
            Err(failure) if failure.leaves_others_behind() => Ok(()),
            ended => group.end_together(ended.as_ref().err()),
        };
        drop(group);
        leave_or_abort(link, told.and(ended))
    }

    /// Joins the processes of the other hosts, where there are some.
    pub(crate) fn join_given_hosts(&self) -> Result<Option<MpiLink>, Failure> {
        self.hosts.map(|ranks| join_hosts(ranks as usize, self.mpi.as_deref())).transpose()
    }
}

/// Joins so many processes that a launcher has started, by the library at this path, or by the one that belongs to the launcher.
pub(crate) fn join_hosts(ranks: usize, library: Option<&Path>) -> Result<MpiLink, Failure> {
    join_ranks(&Joining { ranks, library, variable: &environment_variable })
}

/// The ranks as those that carry the runs of a procedure.
pub(crate) fn as_carrier<'a>(group: Option<&'a RankGroup<'_>>) -> Option<&'a dyn CarryRuns> {
    group.map(|group| group as &dyn CarryRuns)
}

/// Leaves the other ranks, when this one has ended.
pub(crate) fn leave_or_abort(link: MpiLink, ended: Result<u8, Failure>) -> Result<u8, Failure> {
    let own_rank = link.own_rank();
    match ended {
        // The others may wait for this rank for ever. Nothing is said after this.
        Err(failure) if failure.leaves_others_behind() => {
            print_to_stderr(&format!("error: rank {own_rank}: {}", failure.user_message()));
            link.abort_world(failure.code);
            Ok(failure.code)
        }
        ended => link.leave_world().map_err(|error| link_failure(&error)).and(ended),
    }
}
