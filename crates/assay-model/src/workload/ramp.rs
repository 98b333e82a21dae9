//! One uninterrupted run that goes through several shares of a load.

use super::definition::{Application, Timing, Workload};
use crate::arrival::Curve;
use crate::plan::{Phase, PhaseKind};
use assay_base::{Share, Span};

impl Workload {
    /// The name of the phase that offers this share of the load.
    pub fn phase_of(share: Share) -> String {
        share.to_string().replace('%', "-percent")
    }

    /// The same load in one run of one measured phase for each share, of `span` each, in the given order. `None` where the load
    /// of a stream cannot change within a run: it has phases, steps, bursts, batches or a recording already.
    pub fn as_ramp(&self, shares: &[Share], span: Span) -> Option<Workload> {
        if !self.timing.phases.is_empty() || !self.timing.steps.is_empty() || self.load.as_tpcc().is_some() {
            return None;
        }
        let (mut phases, mut points, mut at) = (Vec::new(), Vec::new(), Span::ZERO);
        for share in shares {
            points.extend([(at, *share), (at + span, *share)]);
            at = at + span;
            phases.push(Phase {
                name: Workload::phase_of(*share),
                kind: PhaseKind::Measure,
                span,
                steady_round: None,
                until_done: false,
            });
        }
        let curve = Curve { points, every: None };
        let times = u64::try_from(shares.len()).ok()?;
        let duration = Span::from_ns(self.timing.duration.as_ns().checked_mul(times)?);
        let mut ramp = Workload { timing: Timing { phases, duration, ..self.timing.clone() }, ..self.clone() };
        for stream in &mut ramp.load.streams {
            stream.arrival = stream.arrival.along_curve(&curve)?;
        }
        if let Some(Application::Oltp(oltp)) = &mut ramp.load.application {
            oltp.curve = Some(curve);
        }
        Some(ramp)
    }
}
