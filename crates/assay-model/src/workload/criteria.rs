//! `[[criterion]]` tables.

use super::Source;
use super::common::Workload;
use assay_base::fault::nearest;
use assay_base::{Bound, Criterion, Fault, Measure, Share, Span};
use serde::Deserialize;
use toml::Spanned;

/// The keys of one criterion.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CriterionKeys {
    stream: Spanned<String>,
    measure: Option<Measure>,
    share_over: Option<Span>,
    at_most: Option<Share>,
    below: Option<Share>,
    mean_at_most: Option<Span>,
    window: Option<Span>,
}

/// All criteria of a file, checked against its streams.
pub(super) fn read(
    source: Source<'_>,
    tables: &[Spanned<CriterionKeys>],
    workload: &Workload,
) -> Result<Vec<Criterion>, Fault> {
    tables.iter().map(|table| one(source, table, workload)).collect()
}

fn one(source: Source<'_>, table: &Spanned<CriterionKeys>, workload: &Workload) -> Result<Criterion, Fault> {
    let keys = table.get_ref();
    let names: Vec<&str> = workload.streams.iter().map(|stream| stream.name.as_str()).collect();
    let stream = keys.stream.get_ref();
    if !names.contains(&stream.as_str()) {
        let known = || format!("the streams are {}", names.join(", "));
        let remedy = nearest(stream, &names).map_or_else(known, |name| format!("did you mean {name}?"));
        return Err(source.fault(
            keys.stream.span(),
            format!("there is no stream \"{}\"", stream.escape_debug()),
            remedy,
        ));
    }
    let bound = match (keys.share_over, keys.at_most, keys.below, keys.mean_at_most) {
        (Some(over), Some(at_most), None, None) => Bound::OverAtMost { over, at_most },
        (Some(over), None, Some(below), None) => Bound::Over { over, below },
        (None, None, None, Some(mean)) => Bound::MeanAtMost(mean),
        _ => {
            let remedy = "write share_over with at_most or below, or mean_at_most alone";
            return Err(source.fault(table.span(), "this criterion has no bound, or more than one", remedy));
        }
    };
    let empty = |key: &str| Err(source.fault(table.span(), format!("{key} of 0 can never hold"), "write more than 0"));
    match bound {
        Bound::OverAtMost { over, .. } | Bound::Over { over, .. } if over.is_zero() => return empty("share_over"),
        Bound::MeanAtMost(mean) if mean.is_zero() => return empty("mean_at_most"),
        Bound::Over { below, .. } if below.as_ppb() == 0 => return empty("below"),
        Bound::OverAtMost { at_most: share, .. } | Bound::Over { below: share, .. }
            if share > Share::from_percent(100) =>
        {
            return Err(source.fault(
                table.span(),
                format!("a share of {share} can never be broken"),
                "write at most 100%",
            ));
        }
        _ => {}
    }
    if let Some(window) =
        keys.window.filter(|window| window.is_zero() || !window.as_ns().is_multiple_of(workload.interval.as_ns()))
    {
        let what = format!("a window of {window} is no multiple of the interval, {}", workload.interval);
        return Err(source.fault(table.span(), what, "write one that is, or a shorter interval"));
    }
    let window = Some(keys.window.unwrap_or(workload.slice));
    Ok(Criterion { stream: stream.clone(), measure: keys.measure.unwrap_or(Measure::Response), bound, window })
}
