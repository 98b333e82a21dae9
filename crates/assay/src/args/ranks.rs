//! Several ranks that carry a run together.

use crate::environment::environment_variable;
use assay_hosts::mpi::MpiLink;
use assay_run::failure::Failure;
use assay_run::host::ranks::{Joining, join_ranks};
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

    /// Joins the processes of the other hosts, where there are some.
    pub(crate) fn join_given_hosts(&self) -> Result<Option<MpiLink>, Failure> {
        self.hosts.map(|ranks| join_hosts(ranks as usize, self.mpi.as_deref())).transpose()
    }
}

/// Joins so many processes that a launcher has started, by the library at this path, or by the one that belongs to the launcher.
pub(crate) fn join_hosts(ranks: usize, library: Option<&Path>) -> Result<MpiLink, Failure> {
    join_ranks(&Joining { ranks, library, variable: &environment_variable })
}
