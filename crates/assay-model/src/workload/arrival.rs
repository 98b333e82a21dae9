//! `arrival` of a stream, and the workload's `[[phase]]` tables.

use super::address::text_or_table;
use super::source::Source;
use crate::arrival::{Bursts, Curve};
use crate::plan::{Arrival, Phase, PhaseKind};
use assay_base::{Fault, Multiple, Rate, Share, Span};
use serde::Deserialize;
use toml::Spanned;

/// Most points of a profile, and most phases.
const MOST: usize = 1024;

/// As written.
pub(super) enum ArrivalKeys {
    /// One word.
    Name(Spacing),
    /// A form with its keys.
    Form(Form),
}

/// How operations follow each other.
#[derive(Deserialize, Clone, Copy, Default, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Spacing {
    Steady,
    #[default]
    Poisson,
}

/// `{ recorded = "FILE", speed = "1x", fit = "scale" }`.
#[derive(Clone)]
pub(super) struct RecordedKeys {
    pub recorded: String,
    pub speed: Option<Multiple>,
    pub fit: Option<Fit>,
}

/// What becomes of places beyond the end of a target; without it the target is refused.
#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Fit {
    Scale,
}

/// One of the first three, and what belongs to the others.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Form {
    recorded: Option<String>,
    speed: Option<Multiple>,
    fit: Option<Fit>,
    bursty: Option<Bursts>,
    profile: Option<Vec<(Span, Share)>>,
    every: Option<Span>,
    spacing: Option<Spacing>,
}

text_or_table!(
    ArrivalKeys,
    "\"steady\", \"poisson\", { bursty = { on = \"2s\", off = \"8s\", quiet = \"10%\" } }, { recorded = \"trace.txt\" } or { profile = [[\"0h\", \"30%\"], [\"9h\", \"100%\"]], every = \"24h\" }",
    |text, E| Spacing::deserialize(serde::de::value::StrDeserializer::new(text)).map(ArrivalKeys::Name),
    |form: Form| ArrivalKeys::Form(form)
);

impl ArrivalKeys {
    /// What is played, where a recording is named.
    pub(super) fn recorded_keys(&self) -> Option<RecordedKeys> {
        let ArrivalKeys::Form(form) = self else { return None };
        let alone = form.bursty.is_none() && form.profile.is_none() && form.every.is_none() && form.spacing.is_none();
        let recorded = form.recorded.clone().filter(|_| alone)?;
        Some(RecordedKeys { recorded, speed: form.speed, fit: form.fit })
    }

    /// What is meant, at `rate`; the error is what is wrong and what to write.
    pub(super) fn meant_arrival(&self, rate: Rate) -> Result<Arrival, (&'static str, &'static str)> {
        let form = match self {
            ArrivalKeys::Name(Spacing::Steady) => return Ok(Arrival::Steady { rate }),
            ArrivalKeys::Name(Spacing::Poisson) => return Ok(Arrival::Poisson { rate }),
            ArrivalKeys::Form(form) => form,
        };
        if form.recorded.is_some() || form.speed.is_some() || form.fit.is_some() {
            return Err((
                "speed and fit belong to a recording, which is an arrival alone",
                "write { recorded = \"trace.txt\", speed = \"1x\" }",
            ));
        }
        match (&form.bursty, &form.profile) {
            (Some(bursts), None) if form.every.is_none() && form.spacing.is_none() => {
                if bursts.on.is_zero() || bursts.off.is_zero() || bursts.quiet > Share::WHOLE {
                    return Err((
                        "these are not bursts",
                        "write on and off above 0s, and quiet, the rate between bursts, at most 100%",
                    ));
                }
                Ok(Arrival::Bursty { rate, bursts: *bursts })
            }
            (None, Some(points)) => {
                let curve = Curve { points: points.clone(), every: form.every };
                let whole = form.every.is_some() && points.len() <= MOST && !points.is_empty() && curve.is_whole();
                let wrong = (
                    "this is not a profile of the rate over time",
                    "write times in ascending order with shares of rate, one of them above 0%, and after which time it begins again: \
                     { profile = [[\"0h\", \"30%\"], [\"9h\", \"100%\"]], every = \"24h\" }",
                );
                let even = form.spacing.unwrap_or_default() == Spacing::Steady;
                if whole { Ok(Arrival::Varying { rate, curve, even }) } else { Err(wrong) }
            }
            _ => Err(("an arrival has one form", "write bursty alone, or profile with every")),
        }
    }
}

/// A `[[phase]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PhaseKeys {
    name: Spanned<String>,
    span: Spanned<Span>,
    load: Option<Multiple>,
    from: Option<Multiple>,
    to: Option<Multiple>,
}

/// A multiple of the load as a share of the rate at 1x.
fn share_of_load(load: Multiple) -> Share {
    Share::from_ppb(load.as_millionths().saturating_mul(1000))
}

/// Phases, and the load over them; nothing where there are none.
pub(super) fn read_phases(
    source: Source<'_>,
    tables: &[Spanned<PhaseKeys>],
) -> Result<(Vec<Phase>, Option<Curve>), Fault> {
    let (mut phases, mut points): (Vec<Phase>, Vec<(Span, Share)>) = Default::default();
    let mut at = Span::ZERO;
    if let Some(beyond) = tables.get(MOST) {
        return Err(source.fault_at(beyond.span(), "too many phases", format!("write at most {MOST}")));
    }
    for table in tables {
        let PhaseKeys { name, span, load, from, to } = table.get_ref();
        let (from, to) = match (load, from, to) {
            (None, None, None) => (Multiple::ONE, Multiple::ONE),
            (Some(load), None, None) => (*load, *load),
            (None, Some(from), Some(to)) => (*from, *to),
            _ => {
                let remedy = "write load = \"2x\", or from = \"1x\" and to = \"3x\" for a ramp";
                return Err(source.fault_at(table.span(), "a phase has one load or goes from one to another", remedy));
            }
        };
        let known = phases.iter().any(|phase: &Phase| phase.name == *name.get_ref());
        if known
            || !super::names::is_name(name.get_ref())
            || ["warm-up", crate::plan::READ_BACK].contains(&name.get_ref().as_str())
        {
            return Err(source.fault_at(
                name.span(),
                "not a valid name of a phase, or it is used twice",
                super::names::NAMES,
            ));
        }
        let length = *span.get_ref();
        if length.is_zero() || length > Span::from_secs(366 * 86_400) {
            return Err(source.fault_at(span.span(), "not a length of a phase", "write more than 0s, at most 366d"));
        }
        points.extend([(at, share_of_load(from)), (at + length, share_of_load(to))]);
        at = at + length;
        phases.push(Phase {
            name: name.get_ref().clone(),
            kind: PhaseKind::Measure,
            span: length,
            steady_round: None,
            until_done: false,
        });
    }
    let curve = (!phases.is_empty()).then_some(Curve { points, every: None });
    Ok((phases, curve))
}
