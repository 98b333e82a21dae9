//! The failures of a step: each flow has one finding, which counts on.

use crate::finding::failed::Failures;
use crate::finding::{Finding, Kind, nowhere};
use crate::fold::counters::{add_parts, parts};
use crate::fold::layout::Layout;
use crate::fold::notes::Notes;
use crate::judgement::Deciding;
use assay_base::Code;
use assay_record::FlowInterval;
use std::collections::BTreeMap;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct FlowFailures {
    /// Place of each flow's finding.
    findings: BTreeMap<usize, usize>,
}

impl FlowFailures {
    /// Takes in an interval of a flow. An error, a short or a stuck operation decides, in whatever phase; `at_ns` is how far
    /// measured time has come.
    pub(crate) fn add(
        &mut self,
        flow: usize,
        start_ns: u64,
        interval: &FlowInterval,
        (at_ns, layout): (u64, &Layout),
        notes: &mut Notes,
    ) {
        if !self.findings.contains_key(&flow) && !in_interval(interval) {
            return;
        }
        let place = *self.findings.entry(flow).or_insert_with(|| {
            let stream = layout.streams[usize::from(layout.flows[flow].stream)].name.clone();
            let target = layout.target_of(flow).to_owned();
            let failures = Failures { stream, target, first_ns: start_ns, ..Failures::default() };
            notes.findings.push(none_yet(failures, at_ns, notes.step()));
            notes.findings.len() - 1
        });
        let Finding { kind, deciding } = &mut notes.findings[place];
        if let Kind::Failed(failures) = kind {
            add(failures, interval);
            deciding.measured = Some(failures.measured());
        }
    }
}

fn none_yet(failures: Failures, at_ns: u64, step: u32) -> Finding {
    let (stream, target) = (Some(failures.stream.clone()), Some(failures.target.clone()));
    let deciding = Deciding { stream, target, start_ns: at_ns, end_ns: at_ns, ..nowhere(step) };
    Finding::new(failures, deciding)
}

/// Whether the device failed in this interval. What was never handed to it is no failure of its own.
fn in_interval(flow: &FlowInterval) -> bool {
    flow.short > 0 || flow.stuck > 0 || of_the_device(flow).any(|(_, n)| n > 0)
}

fn add(sum: &mut Failures, flow: &FlowInterval) {
    for (name, n) in of_the_device(flow).filter(|(_, n)| *n > 0) {
        let sum = sum.errors.entry(name.clone()).or_default();
        *sum = sum.saturating_add(n);
    }
    sum.short = sum.short.saturating_add(flow.short);
    sum.stuck = sum.stuck.max(flow.stuck);
    if let Some(failures) = &flow.failures {
        add_parts(&mut sum.at, parts(failures));
        sum.longest_ns = sum.longest_ns.max(failures.response.max_ns);
    }
}

fn of_the_device(flow: &FlowInterval) -> impl Iterator<Item = (&String, u64)> {
    let not_submitted = Code::NOT_SUBMITTED.to_string();
    flow.errors.iter().filter(move |(name, _)| **name != not_submitted).map(|(name, n)| (name, *n))
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_record::{FailureTimes, Timing};

    #[test]
    fn counts_on_and_leaves_out_what_was_never_handed_over() {
        let flow = |errors: &[(&str, u64)], short, stuck| FlowInterval {
            errors: errors.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect(),
            short,
            stuck,
            ..FlowInterval::default()
        };
        let mut failures = Failures::default();
        for (interval, fails, told) in [
            (flow(&[], 0, 0), false, ""),
            (flow(&[("not submitted", 9)], 0, 0), false, ""),
            (flow(&[("EIO", 0)], 0, 0), false, ""),
            (flow(&[("EIO", 2)], 0, 1), true, "2 EIO, 1 stuck"),
            (flow(&[("EIO", 3), ("ENOSPC", 1)], 4, 0), true, "5 EIO, 1 ENOSPC (the target is full), 4 short, 1 stuck"),
            (
                flow(&[("EIO", u64::MAX)], 0, 0),
                true,
                "18446744073709551615 EIO, 1 ENOSPC (the target is full), 4 short, 1 stuck",
            ),
        ] {
            assert_eq!(in_interval(&interval), fails, "{interval:?}");
            add(&mut failures, &interval);
            assert_eq!(failures.measured(), told);
        }
        assert_eq!(failures.place(), "", "an older log does not say where");
    }

    #[test]
    fn only_damage_alone_breaks_the_rule_of_data() {
        let damage = Code::CORRUPT.to_string();
        let (data, io) = ("what was written must be read", "an I/O error never passes");
        for (errors, short, stuck, rule) in [
            (vec![damage.as_str()], 0, 0, data),
            (vec![damage.as_str(), "EIO"], 0, 0, io),
            (vec![damage.as_str()], 1, 0, io),
            (vec![damage.as_str()], 0, 1, io),
            (vec!["EIO"], 0, 0, io),
            (vec![], 1, 0, io),
            (vec![], 0, 0, io),
        ] {
            let mut failures = Failures::default();
            let errors = errors.into_iter().map(|name| (name.to_owned(), 1)).collect();
            add(&mut failures, &FlowInterval { errors, short, stuck, ..FlowInterval::default() });
            assert_eq!(failures.rule(), rule, "{failures:?}");
        }
    }

    #[test]
    fn says_where_on_the_target_and_how_long_it_took() {
        let mut failures = Failures::default();
        for (at, max_ns) in [(vec![2, 7, 3, 1], 1_000_000), (vec![1, 1, u64::MAX, 1], 30_000_000_000)] {
            let response = Timing { max_ns, ..Timing::default() };
            add(
                &mut failures,
                &FlowInterval { failures: Some(FailureTimes { at, response }), ..FlowInterval::default() },
            );
        }
        assert_eq!(failures.place(), " between 1.6 % and 100.0 % of the target, after up to 30 s");
    }
}
