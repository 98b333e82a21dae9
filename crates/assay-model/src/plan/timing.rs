//! How the time of a run is divided: its phases, and the windows and steps that they consist of.

use assay_base::Span;
use serde::{Deserialize, Serialize};

/// The time of a run: what is done when, how it is recorded and judged, and how late it may be.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedTiming {
    /// The phases, in the order in which they run.
    pub phases: Vec<Phase>,
    /// Length of a judging window, in measured time. A criterion may have another one.
    pub slice: Span,
    /// Length of a recording step: the log has one line for each.
    pub interval: Span,
    /// The run stops when its schedule falls this far behind; zero means that it never does.
    pub max_lag: Span,
    /// Whether a criterion ignores its last window if the end of the measurement leaves less than half of it. Set by
    /// the model `mail`.
    pub skip_half_windows: bool,
    /// Length of schedule that may wait at the end of a window and still counts as delivered; zero for block I/O. Set
    /// by the model `tpcc`, whose sessions are few.
    pub backlog_allowed: Span,
    /// How long the disturbed part of a run goes on, for its criteria, after the mark that ends it.
    pub recovery_at_most: Span,
}

impl PlannedTiming {
    /// Whether the run ends when every stream has done its operations, which may be before the end of its phases.
    pub fn ends_when_done(&self) -> bool {
        self.phases.iter().any(|phase| phase.until_done)
    }

    /// Length of all phases.
    pub fn total_length(&self) -> Span {
        self.phases.iter().fold(Span::ZERO, |sum, phase| sum + phase.span)
    }

    /// Length of the judged phases.
    pub fn measured_length(&self) -> Span {
        let measured = self.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure);
        measured.fold(Span::ZERO, |sum, phase| sum + phase.span)
    }

    /// The warm-up before the first judged phase.
    pub fn warm_up(&self) -> WarmUp {
        let before = self.phases.first().filter(|phase| phase.kind == PhaseKind::WarmUp);
        before.map_or(WarmUp::For(Span::ZERO), |phase| match phase.steady_round {
            Some(round) => WarmUp::UntilSteady { limit: phase.span, round },
            None => WarmUp::For(phase.span),
        })
    }
}

/// A part of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phase {
    /// `warm-up`, `measure` …
    pub name: String,
    /// Whether it is judged.
    pub kind: PhaseKind,
    /// Its length; the longest that it may take if it ends earlier (`steady`, `until_done`).
    pub span: Span,
    /// Ends as soon as the load is steady, judged over rounds of this length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady_round: Option<Span>,
    /// Ends as soon as every stream has done its operations.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub until_done: bool,
}

/// How long the load is offered before it is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarmUp {
    /// For a fixed time.
    For(Span),
    /// Until five consecutive rounds are steady (`assay_base::steady` has the rule).
    UntilSteady {
        /// The longest time that it may take.
        limit: Span,
        /// Length of a round.
        round: Span,
    },
}

impl WarmUp {
    /// Length of a round where the workload gives none: SNIA's own rounds last a minute.
    pub const ROUND: Span = Span::from_secs(60);

    /// The longest it may last.
    pub fn longest_warm_up(self) -> Span {
        match self {
            WarmUp::For(span) => span,
            WarmUp::UntilSteady { limit, .. } => limit,
        }
    }
}

/// What a phase is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PhaseKind {
    /// Offered and recorded, not judged.
    WarmUp,
    /// Judged.
    Measure,
    /// What was written is read back, for as long as that takes; recorded, not judged.
    ReadBack,
}

impl Phase {
    /// The phases of an ordinary run: warm-up, unless it is zero, and measure.
    pub fn warm_up_and_measure(warm_up: WarmUp, measure: Span) -> Vec<Phase> {
        let (span, steady_round) = match warm_up {
            WarmUp::For(span) => (span, None),
            WarmUp::UntilSteady { limit, round } => (limit, Some(round)),
        };
        let warm_up = Phase { name: "warm-up".into(), kind: PhaseKind::WarmUp, span, steady_round, until_done: false };
        let measure = Phase {
            name: "measure".into(),
            kind: PhaseKind::Measure,
            span: measure,
            steady_round: None,
            until_done: false,
        };
        [warm_up, measure].into_iter().filter(|phase| !phase.span.is_zero()).collect()
    }

    /// The phases of a run that measures `parts` one after another, of which the first `passed` are over.
    pub fn warm_up_and_remaining(warm_up: WarmUp, parts: &[Phase], mut passed: Span) -> Vec<Phase> {
        let mut phases = Phase::warm_up_and_measure(warm_up, Span::ZERO);
        for part in parts {
            let over = passed.min(part.span);
            passed = passed.saturating_sub(over);
            phases.extend((over < part.span).then(|| Phase { span: part.span.saturating_sub(over), ..part.clone() }));
        }
        phases
    }
}
