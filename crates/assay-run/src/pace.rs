//! What a caller changes about the pace of a workload: lengths, seed, whether data are verified.

use crate::failure::Failure;
use crate::seed::seed;
use crate::targets::Named;
use assay_base::{Multiple, Span};
use assay_model::Plan;
use assay_model::plan::WarmUp;
use assay_model::workload::{Adjust, Workload};

/// See the module. Each field that is `None` leaves what the workload says.
#[derive(Clone, Debug, Default)]
pub struct Pace {
    /// Length of the measurement.
    pub measure: Option<Span>,
    /// Length of the warm-up.
    pub warm_up: Option<Span>,
    /// Upper bound on a warm-up that ends when the run is steady; it comes before `warm_up`.
    pub until_steady: Option<Span>,
    /// Length of the windows that are judged one by one.
    pub slice: Option<Span>,
    /// Seed of every random choice.
    pub seed: Option<u64>,
    /// Whether the data of every read are checked.
    pub verify: bool,
}

impl Pace {
    /// The warm-up that is asked for, if any; the length of a round is the workload's where it has one.
    fn warm_up(&self, workload: &Workload) -> Option<WarmUp> {
        let round = match workload.warm_up {
            WarmUp::UntilSteady { round, .. } => round,
            WarmUp::For(_) => WarmUp::ROUND,
        };
        let until = self.until_steady.map(|limit| WarmUp::UntilSteady { limit, round });
        until.or(self.warm_up.map(WarmUp::For))
    }

    /// What this changes in a workload, for this many targets.
    pub fn adjust(&self, workload: &Workload, seed: u64, targets: u16) -> Adjust {
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

    /// The plan of a workload on these targets, at `load` or else at the workload's own.
    pub fn plan(
        &self,
        workload: &Workload,
        named: &[(String, Named)],
        load: Option<Multiple>,
    ) -> Result<Plan, Failure> {
        let seed = seed(self.seed.or(workload.seed), named);
        let targets = if named.is_empty() { workload.target_names.len() } else { named.len() }.max(1) as u16;
        let keep_data = named.iter().all(|(_, named)| matches!(named, Named::Path(_)));
        let verify = self.verify || workload.verify_if_possible && keep_data;
        let adjust = Adjust { load, verify, ..self.adjust(workload, seed, targets) };
        workload.plan(&adjust).map_err(Failure::workload)
    }
}
