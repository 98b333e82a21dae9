//! What `explain` shows about a plan, both for a workload and for a certification: sizes of targets, bytes, criteria in
//! words, and why a target would be refused.

use assay_base::Direction;
use assay_device::safety::Gate;
use assay_model::Plan;
use assay_run::failure::{Failure, escaped_path, one_line};
use assay_run::open::targets::{Named, USUAL_BLOCK};

/// Size and block size of each target, where these are known before it is created.
pub(crate) fn sizes_of(named: &[(String, Named)]) -> Result<Vec<Option<(u64, u32)>>, Failure> {
    let sizes: Vec<Option<(u64, u32)>> = named.iter().map(|(_, named)| named.known_geometry()).collect();
    if let Some((name, _)) = named
        .iter()
        .zip(&sizes)
        .find(|((_, named), size)| matches!(named, Named::Path(_)) && size.is_none())
        .map(|(name, _)| name)
    {
        return Err(Failure::bad_usage(format!(
            "target {} cannot be examined: it does not exist, or is neither a device nor a file",
            one_line(name)
        )));
    }
    Ok(sizes)
}

/// The largest block size of the targets.
pub(crate) fn largest_block(sizes: &[Option<(u64, u32)>]) -> u32 {
    sizes.iter().flatten().map(|(_, block)| *block).max().unwrap_or(USUAL_BLOCK)
}

/// Bytes per second read and written, and written over the whole run, by the streams that have a rate.
pub(crate) fn byte_totals(plan: &Plan, block: u32) -> (f64, f64, f64) {
    let [read, written] = [Direction::Read, Direction::Write].map(|direction| {
        let streams = plan.load.streams.iter().filter(|stream| stream.data_direction() == Some(direction));
        streams.filter_map(|stream| stream.bytes_per_second(block)).fold(0.0, |sum, each| sum + each)
    });
    (read, written, written * plan.timing.total_length().as_secs_f64())
}

/// Lines that describe a plan. Names in it may come from others: no name can begin a new line.
#[derive(Default)]
pub(crate) struct PlanLines(pub String);

impl PlanLines {
    /// Adds a line.
    pub(crate) fn add_line(&mut self, line: impl std::fmt::Display) {
        self.0 += &one_line(line);
        self.0.push('\n');
    }

    /// Adds a line with an empty line before it.
    pub(crate) fn add_heading(&mut self, line: impl std::fmt::Display) {
        self.0.push('\n');
        self.add_line(line);
    }
}

/// A line about a criterion: in the log's words, and as a percentile where it corresponds to one.
pub(crate) fn in_words(criterion: &assay_base::Criterion) -> String {
    let percentile = criterion.bound.as_percentile().map(|words| format!(" ({words})"));
    format!("  {criterion}{}", percentile.unwrap_or_default())
}

/// The reason why the target would be refused for writing as it is now, if it would.
pub(crate) fn refusal_reason(named: &Named) -> Option<String> {
    let Named::Path(path) = named else { return None };
    let exam = Gate::of_machine().examine_path(path);
    let rule = exam.rules.iter().find(|rule| !rule.may_continue())?;
    Some(format!("{} is refused as it stands, rule {}: {}", escaped_path(path), rule.id, rule.evidence))
}
