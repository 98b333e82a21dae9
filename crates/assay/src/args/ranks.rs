//! Several ranks that carry a run together.

use crate::environment::environment_variable;
use crate::screen::{print_at_once, report_failure};
use assay_base::Span;
use assay_hosts::mpi::MpiLink;
use assay_run::failure::Failure;
use assay_run::host::ranks::joining::{Joining, join_ranks};
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
