//! Several ranks that carry a run together.

use crate::environment::environment_variable;
use crate::screen::{keep_back_lines, print_at_once, print_to_stderr, report_failure, take_kept_lines};
use assay_base::Span;
use assay_hosts::Link;
use assay_hosts::mpi::MpiLink;
use assay_run::failure::{Failure, code};
use assay_run::host::ranks::group::{RankGroup, Speech};
use assay_run::host::ranks::joining::{Joining, abort_ranks, join_ranks, leave_ranks};
use assay_run::procedure::carrier::CarryRuns;
use std::path::PathBuf;

/// How processes that a launcher has started find each other.
#[derive(clap::Args, Debug, Clone, Default)]
pub(crate) struct JoinHow {
    /// The MPI library to load [default: the one that belongs to the launcher]
    #[arg(long, value_name = "PATH", requires = "hosts")]
    pub mpi: Option<PathBuf>,
    /// How long to wait until all processes have come [default: 30s]
    #[arg(long, value_name = "TIME", requires = "hosts")]
    pub join_within: Option<Span>,
}

/// How long it may take until all processes are there, where nothing else is asked for. A launcher starts hundreds in seconds.
const JOIN_WITHIN: Span = Span::from_secs(30);

/// How many ranks carry a run, and what joins them.
#[derive(clap::Args, Debug, Clone, Default)]
pub(crate) struct Ranks {
    /// Carry the load together with the other processes that mpirun or srun has started, so many in all (docs/hosts.md)
    #[arg(long, value_name = "N", conflicts_with = "detach", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub hosts: Option<u32>,
    #[command(flatten)]
    pub join: JoinHow,
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
        let group = RankGroup::over_hosts(&mut link, parts, SPEECH);
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
        self.hosts.map(|ranks| join_hosts(ranks as usize, &self.join)).transpose()
    }
}

/// Joins so many processes that a launcher has started.
pub(crate) fn join_hosts(ranks: usize, how: &JoinHow) -> Result<MpiLink, Failure> {
    if how.join_within == Some(Span::ZERO) {
        return Err(Failure::bad_usage("--join-within needs a time: no rank comes in none"));
    }
    join_ranks(&Joining {
        ranks,
        library: how.mpi.as_deref(),
        within: how.join_within.unwrap_or(JOIN_WITHIN),
        variable: &environment_variable,
        report: report_failure,
        tell: print_at_once,
    })
}

/// How this program says what several ranks would say.
const SPEECH: Speech = Speech { keep_back: keep_back_lines, take_kept: take_kept_lines, tell: print_to_stderr };

/// The ranks as those that carry the runs of a procedure.
pub(crate) fn as_carrier<'a>(group: Option<&'a RankGroup<'_>>) -> Option<&'a dyn CarryRuns> {
    group.map(|group| group as &dyn CarryRuns)
}

/// Leaves the other ranks, when this one has ended; ends them all where they would wait for it for ever.
fn leave_or_abort(link: MpiLink, ended: Result<u8, Failure>) -> Result<u8, Failure> {
    match ended {
        // Nothing is said after this.
        Err(failure) if failure.leaves_others_behind() => {
            print_to_stderr(&format!("error: rank {}: {}", link.own_rank(), failure.user_message()));
            abort_ranks(&link, failure.code, report_failure);
            Ok(failure.code)
        }
        ended => leave_with_result(link, ended),
    }
}

/// Leaves the other ranks. The result is written by now: it stands, however the library ends. What kept this rank from one is said
/// before: a launcher may end all ranks as soon as one has left with an error.
pub(crate) fn leave_with_result(link: MpiLink, ended: Result<u8, Failure>) -> Result<u8, Failure> {
    let code = ended.unwrap_or_else(|failure| {
        report_failure(&failure);
        failure.code
    });
    if let Err(failure) = leave_ranks(link, &Ok(code), report_failure) {
        print_to_stderr(&format!("warning: {}", failure.user_message()));
    }
    Ok(code)
}
