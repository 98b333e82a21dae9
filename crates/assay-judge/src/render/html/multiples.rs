//! Small multiples: one small chart for each target, all on one scale, so that a target that differs is visible at a
//! glance. Drawn here as SVG: they need no script and print as they are.

use super::bounds::bound_over;
use super::figures::two_decimals_percent;
use crate::judgement::{FlowSeries, Series, StepFigures, TimesSummary};
use assay_base::Span;
use std::fmt::Write;

/// Drawing area in units of the SVG.
const WIDTH: f64 = 220.0;
const HEIGHT: f64 = 56.0;
/// Number of points of one line; more are not visible at this size.
const POINTS: usize = 110;
/// A target stands out when its figure is this many times the median of the others: more than equal drives of one batch
/// differ, and less than the difference to another class of drive.
const OUTLIER: f64 = 1.5;

/// All targets of one stream.
pub(crate) struct Multiples<'a> {
    pub stream: &'a str,
    pub threshold: Span,
    /// Top of the common scale.
    pub top: String,
    pub bound: Option<String>,
    pub targets: Vec<Multiple<'a>>,
}

/// One target.
pub(crate) struct Multiple<'a> {
    pub target: &'a str,
    pub outlier: bool,
    pub worst: String,
    /// SVG path of the share over the threshold.
    pub line: String,
    /// Height of the line for the bound.
    pub bound_y: Option<String>,
}

/// Places (0 to 1) and the share over the threshold there.
type Line = Vec<(f64, Option<f64>)>;

/// The streams that a criterion judges, or the first stream; nothing for a single target.
pub(crate) fn small_multiples(part: &StepFigures) -> Vec<Multiples<'_>> {
    let flows = &part.course.series.flows;
    let mut streams: Vec<&str> = Vec::new();
    for flow in flows.iter().filter(|flow| part.judges_stream(&flow.stream)).chain(flows.first()) {
        if !streams.contains(&flow.stream.as_str()) && (streams.is_empty() || part.judges_stream(&flow.stream)) {
            streams.push(&flow.stream);
        }
    }
    streams.into_iter().map(|stream| of_stream(part, stream)).collect()
}

fn of_stream<'a>(part: &'a StepFigures, stream: &'a str) -> Multiples<'a> {
    let series = &part.course.series;
    let bound = bound_over(part, stream, series.threshold);
    let flows = series.flows.iter().filter(|flow| flow.stream == stream);
    let lines: Vec<(&FlowSeries, Line)> = flows.map(|flow| (flow, thinned_line(series, flow))).collect();
    let largest = lines.iter().flat_map(|(_, line)| line.iter().filter_map(|(_, share)| *share)).fold(0.0, f64::max);
    let top = largest.max(bound.map_or(0.0, |bound| bound * 1.2)).max(0.001);
    let multiple = |(flow, line): &(&'a FlowSeries, Line)| Multiple {
        target: &flow.target,
        outlier: find_outlier(part, stream, &flow.target).is_some(),
        worst: two_decimals_percent(flow.share_over.iter().flatten().copied().fold(0.0, f64::max)),
        line: svg_path(line, top),
        bound_y: bound.map(|bound| format!("{:.1}", y_coordinate(bound, top))),
    };
    Multiples {
        stream,
        threshold: series.threshold,
        top: two_decimals_percent(top),
        bound: bound.map(two_decimals_percent),
        targets: lines.iter().map(multiple).collect(),
    }
}

/// Merges neighbouring points: shares are weighted by their operations, never averaged directly.
fn thinned_line(series: &Series, flow: &FlowSeries) -> Line {
    let count = series.at_ns.len().min(flow.share_over.len()).min(flow.achieved.len()).min(series.width_ns.len());
    let each = count.div_ceil(POINTS).max(1);
    let point = |from: usize| {
        let stretch = from..(from + each).min(count);
        let (mut over, mut all) = (0.0, 0.0);
        for at in stretch {
            let Some(share) = flow.share_over[at] else { continue };
            over += share * weight_at(series, flow, at);
            all += weight_at(series, flow, at);
        }
        (from as f64 / count.max(2) as f64, (all > 0.0).then(|| over / all))
    };
    (0..count).step_by(each).map(point).collect()
}

/// The number of operations at a point.
fn weight_at(series: &Series, flow: &FlowSeries, at: usize) -> f64 {
    flow.achieved[at] * series.width_ns[at] as f64
}

fn y_coordinate(share: f64, top: f64) -> f64 {
    HEIGHT - 2.0 - (share / top).clamp(0.0, 1.0) * (HEIGHT - 6.0)
}

fn svg_path(line: &[(f64, Option<f64>)], top: f64) -> String {
    let mut path = String::new();
    let mut down = false;
    for (x, share) in line {
        let Some(share) = share else {
            down = false;
            continue;
        };
        // Writing to a String does not fail.
        let _ = write!(path, "{}{:.1} {:.1}", if down { "L" } else { "M" }, x * WIDTH, y_coordinate(*share, top));
        down = true;
    }
    path
}

/// A share too small to compare with: one operation in a thousand.
const NOTHING: f64 = 0.001;

/// A target that stands out.
pub(crate) struct Outlier {
    /// How many times the median of the others.
    pub factor: f64,
    /// What was compared: `p99`, `mean`, or the worst slice of a criterion.
    pub by: String,
}

/// Set where the target's responses are that much longer than the median of the other targets', over the whole time or
/// in the worst slice of a criterion.
pub(crate) fn find_outlier(part: &StepFigures, stream: &str, target: &str) -> Option<Outlier> {
    let whole = [
        ("p99".to_owned(), response_by_target(part, stream, |times| times.p99_ns)),
        ("mean".to_owned(), response_by_target(part, stream, |times| times.mean_ns)),
    ];
    let criteria =
        part.criteria.iter().filter(|outcome| outcome.asked.stream.as_deref() == Some(stream)).map(|outcome| {
            let worst = outcome.targets.iter().filter_map(|figure| Some((figure.target.as_deref()?, figure.value)));
            (format!("worst slice ({})", outcome.asked.title), worst.collect())
        });
    let outlier = |(by, figures): (String, Vec<(&str, f64)>)| {
        factor_to_median(&figures, target).map(|factor| Outlier { factor, by })
    };
    whole.into_iter().chain(criteria).filter_map(outlier).find(|outlier| outlier.factor >= OUTLIER)
}

/// A time of the response of a stream on each target.
fn response_by_target<'a>(
    part: &'a StepFigures,
    stream: &str,
    pick: fn(&TimesSummary) -> Option<u64>,
) -> Vec<(&'a str, f64)> {
    let mine = part.streams.each.iter().filter(|totals| totals.name == stream);
    mine.filter_map(|totals| Some((totals.target.as_deref()?, pick(&totals.response)? as f64))).collect::<Vec<_>>()
}

/// The ratio of the target's figure to the median of the others'; `None` without others.
fn factor_to_median(figures: &[(&str, f64)], target: &str) -> Option<f64> {
    let (_, mine) = figures.iter().find(|(name, _)| *name == target)?;
    let mut others: Vec<f64> = figures.iter().filter(|(name, _)| *name != target).map(|(_, figure)| *figure).collect();
    others.sort_unstable_by(f64::total_cmp);
    let middle = *others.get(others.len().checked_sub(1)? / 2)?;
    Some(mine / middle.max(NOTHING))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_weighs_by_operations() {
        let count = POINTS * 2;
        let series = Series { at_ns: (0..count as u64).collect(), width_ns: vec![1; count], ..Series::default() };
        let (achieved, share_over) =
            ((0..count).map(|at| if at % 2 == 0 { 1.0 } else { 3.0 }), (0..count).map(|at| Some((at % 2) as f64)));
        let flow =
            FlowSeries { achieved: achieved.collect(), share_over: share_over.collect(), ..FlowSeries::default() };
        let line = thinned_line(&series, &flow);
        assert_eq!(line.len(), POINTS);
        assert!(line.iter().all(|(_, share)| *share == Some(0.75)), "{line:?}");
    }

    #[test]
    fn the_odd_one_out() {
        let figures = [("a", 0.010), ("b", 0.012), ("c", 0.090), ("d", 0.011)];
        assert!(factor_to_median(&figures, "c").unwrap() > 8.0 && factor_to_median(&figures, "b").unwrap() < OUTLIER);
        assert!(
            factor_to_median(&[("a", 0.000_5), ("b", 0.0)], "a").unwrap() < OUTLIER,
            "five in ten thousand are nothing"
        );
        assert_eq!(factor_to_median(&figures[..1], "a"), None);
    }

    #[test]
    fn a_hole_breaks_the_line() {
        assert_eq!(
            svg_path(&[(0.0, Some(0.0)), (0.25, None), (0.5, Some(1.0)), (0.75, Some(0.5))], 1.0),
            "M0.0 54.0M110.0 4.0L165.0 29.0"
        );
        assert_eq!(svg_path(&[], 1.0), "");
    }
}
