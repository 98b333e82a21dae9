//! Options of everything that runs a plan: how long, after which warm-up, in which slices.

use assay_base::Span;
use assay_run::procedure::pace;

/// Options of everything that runs a plan.
#[derive(clap::Args, Debug, Clone, Default)]
pub(crate) struct Pace {
    /// Length of the measurement, such as 60s or 24h [default: the workload's]
    #[arg(long = "for", value_name = "TIME")]
    pub measure: Option<Span>,
    /// Time before the measurement in which the load is offered but not judged, such as 60s [default: the workload's]
    #[arg(long, value_name = "TIME")]
    pub warm_up: Option<Span>,
    /// Warm up until the response time is steady (in a closed loop: the throughput), but at most this long, such as 2h;
    /// `docs/formats/workload.md` defines steady
    #[arg(long, value_name = "LIMIT", conflicts_with = "warm_up")]
    pub until_steady: Option<Span>,
    /// Length of the windows that are judged one by one, such as 1h [default: the workload's]
    #[arg(long, value_name = "TIME")]
    pub slice: Option<Span>,
    /// Seed of every random choice, a whole number, to repeat a run exactly [default: the workload's; else 1 for simulated
    /// targets and a random one for others]. The result shows it
    #[arg(long)]
    pub seed: Option<u64>,
    /// Check the data of every read against what was written, and read everything back at the end. On a database: keep each
    /// commit that it acknowledges in ledger.bin, for assay check --after
    #[arg(long)]
    pub verify: bool,
}

impl Pace {
    /// The same without its options.
    pub(crate) fn to_pace(&self) -> pace::Pace {
        let Pace { measure, warm_up, until_steady, slice, seed, verify } = *self;
        pace::Pace { measure, warm_up, until_steady, slice, seed, verify }
    }
}
