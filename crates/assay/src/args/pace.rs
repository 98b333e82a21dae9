//! Options of everything that runs a plan: how long, after what, in which slices.

use assay_base::Span;
use assay_model::WarmUp;
use assay_model::workload::{Adjust, Workload};

/// Options of everything that runs a plan.
#[derive(clap::Args, Debug, Clone, Default)]
pub(crate) struct Pace {
    /// Measured time, such as 60s or 24h
    #[arg(long = "for", value_name = "TIME")]
    pub measure: Option<Span>,
    /// Time before measuring in which the load is offered but not judged
    #[arg(long, value_name = "TIME")]
    pub warm_up: Option<Span>,
    /// Warm up until the load is steady, at most this long; see `docs/FORMATS.md`
    #[arg(long, value_name = "LIMIT", conflicts_with = "warm_up")]
    pub until_steady: Option<Span>,
    /// Length of the judging window
    #[arg(long, value_name = "TIME")]
    pub slice: Option<Span>,
    /// Seed of every random choice; printed with the result
    #[arg(long)]
    pub seed: Option<u64>,
    /// Hold everything that is read against what was written, and read it all back at the end
    #[arg(long)]
    pub verify: bool,
}

impl Pace {
    /// What it asks of the warm-up, if anything; rounds are the workload's where it has some.
    pub(crate) fn warm_up(&self, workload: &Workload) -> Option<WarmUp> {
        let round = match workload.warm_up {
            WarmUp::UntilSteady { round, .. } => round,
            WarmUp::For(_) => WarmUp::ROUND,
        };
        let until = self.until_steady.map(|limit| WarmUp::UntilSteady { limit, round });
        until.or(self.warm_up.map(WarmUp::For))
    }

    /// What it changes of a workload, on so many targets.
    pub(crate) fn adjust(&self, workload: &Workload, seed: u64, targets: u16) -> Adjust {
        Adjust {
            load: None,
            measure: self.measure,
            warm_up: self.warm_up(workload),
            slice: self.slice,
            seed,
            targets,
            verify: self.verify,
        }
    }
}
