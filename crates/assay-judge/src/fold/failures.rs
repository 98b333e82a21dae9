//! The failures of a step: each flow has one finding, to which further failures are added.
//!
//! Where a criterion says how many operations of a stream may fail, an error that the device gave is no finding by itself. It is
//! counted, in every phase, and too many over the whole step are one. What is worse than an error stays one whatever the
//! criterion allows: damaged data, short and stuck operations.

use crate::finding::criterion::CriterionFinding;
use crate::finding::failed::{Excess, Failures, Moment, may_be_excused};
use crate::finding::{Class, Finding, FindingKind, deciding_without_place};
use crate::fold::counters::{add_parts, failures_by_part, of_the_device};
use crate::fold::layout::Layout;
use crate::fold::notes::Notes;
use crate::judgement::Deciding;
use assay_base::{Bound, MarkedPart};
use assay_record::FlowInterval;
use std::collections::BTreeMap;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlowFailures {
    /// Index of each flow's finding.
    findings: BTreeMap<usize, usize>,
    /// What failed of flows whose operations may fail, in each kind of part.
    allowed: BTreeMap<(usize, MarkedPart), Allowed>,
    /// The part of the run in which it is.
    present: MarkedPart,
}

/// Errors of a flow that a criterion speaks of.
#[derive(Clone, Debug, Default)]
struct Allowed {
    failures: Failures,
    /// Operations that came back, well or not.
    ended: u64,
}

impl FlowFailures {
    /// What follows is in a part of this kind.
    pub(crate) fn enter_part(&mut self, kind: MarkedPart) {
        self.present = kind;
    }

    /// Takes an interval of a flow. An error, a short or a stuck operation decides, in any phase; `at_ns` is the
    /// measured time so far.
    pub(crate) fn add_flow_interval(
        &mut self,
        flow: usize,
        first: Moment,
        interval: &FlowInterval,
        at_ns: u64,
        layout: &Layout,
        notes: &mut Notes,
    ) {
        let unexcused;
        let interval = if layout.stream_of(flow).may_fail.contains_key(&self.present) {
            unexcused = self.excuse_allowed_errors(flow, first, interval, layout);
            &unexcused
        } else {
            interval
        };
        if !self.findings.contains_key(&flow) && !in_interval(interval) {
            return;
        }
        let place = *self.findings.entry(flow).or_insert_with(|| {
            let failures = of_flow(flow, first, layout);
            notes.findings.push(none_yet(failures, at_ns, notes.step_number()));
            notes.findings.len() - 1
        });
        let Finding { kind, deciding } = &mut notes.findings[place];
        if let FindingKind::Failed(failures) = kind {
            add_failures(failures, interval);
            deciding.measured = Some(failures.counts_text());
        }
    }

    /// Counts the errors that may be, and returns what is left.
    fn excuse_allowed_errors(
        &mut self,
        flow: usize,
        first: Moment,
        interval: &FlowInterval,
        layout: &Layout,
    ) -> FlowInterval {
        let (allowed, left): (BTreeMap<_, _>, BTreeMap<_, _>) =
            interval.errors.clone().into_iter().partition(|(name, _)| may_be_excused(name));
        let excused = self.allowed.entry((flow, self.present)).or_default();
        let failed = interval.errors.values().fold(0u64, |sum, n| sum.saturating_add(*n));
        excused.ended = excused.ended.saturating_add(interval.ok).saturating_add(interval.short).saturating_add(failed);
        let rest =
            FlowInterval { errors: left, short: interval.short, stuck: interval.stuck, ..FlowInterval::default() };
        if allowed.values().any(|n| *n > 0) {
            if excused.failures.errors.is_empty() {
                excused.failures = of_flow(flow, first, layout);
            }
            add_failures(
                &mut excused.failures,
                &FlowInterval { errors: allowed, failures: interval.failures.clone(), ..FlowInterval::default() },
            );
        }
        rest
    }

    /// Finds where more failed over the whole step, or over all its parts of a kind, than may, unless the criterion itself is broken.
    pub(crate) fn too_many(&mut self, at_ns: u64, layout: &Layout, notes: &mut Notes) {
        for ((flow, kind), Allowed { failures, ended }) in std::mem::take(&mut self.allowed) {
            let may_fail = &layout.stream_of(flow).may_fail;
            let Some(share) = may_fail.get(&kind).copied() else { continue };
            let part = (may_fail.len() < MarkedPart::ALL.len()).then_some(kind);
            let failed = failures.errors.values().fold(0u64, |sum, n| sum.saturating_add(*n));
            if share.allows_part(failed, ended) || is_bound_broken(&failures.stream, notes) {
                continue;
            }
            let failures = Failures { more_than: Some(Excess { share, operations: ended, part }), ..failures };
            let measured = Some(failures.counts_text());
            let mut finding = none_yet(failures, at_ns, notes.step_number());
            finding.deciding.measured = measured;
            notes.findings.push(finding);
        }
    }
}

/// Whether a criterion on the errors of a stream is broken.
fn is_bound_broken(stream: &str, notes: &Notes) -> bool {
    notes.findings.iter().any(|finding| match &finding.kind {
        FindingKind::Criterion(found) => is_broken(found, stream),
        _ => false,
    })
}

fn is_broken(found: &CriterionFinding, stream: &str) -> bool {
    let criterion = &found.criterion;
    criterion.stream == stream
        && matches!(criterion.bound, Bound::ErrorsAtMost(_))
        && found.severity_class() == Class::Broken
}

fn of_flow(flow: usize, first: Moment, layout: &Layout) -> Failures {
    let head = &layout.stream_of(flow).head;
    let placeless = head.operation.as_deref().is_some_and(|operation| operation != "flush");
    let stream = head.name.clone();
    let target = layout.target_of(flow).to_owned();
    Failures { stream, target, first, placeless, ..Failures::default() }
}

fn none_yet(failures: Failures, at_ns: u64, step: u32) -> Finding {
    let (stream, target) = (Some(failures.stream.clone()), Some(failures.target.clone()));
    let deciding = Deciding { stream, target, start_ns: at_ns, end_ns: at_ns, ..deciding_without_place(step) };
    Finding::new(failures, deciding)
}

/// Whether the device failed in this interval. An operation that was never issued is not a failure of the device.
fn in_interval(flow: &FlowInterval) -> bool {
    flow.short > 0 || flow.stuck > 0 || of_the_device(&flow.errors).any(|(_, n)| n > 0)
}

fn add_failures(sum: &mut Failures, flow: &FlowInterval) {
    for (name, n) in of_the_device(&flow.errors).filter(|(_, n)| *n > 0) {
        let sum = sum.errors.entry(name.clone()).or_default();
        *sum = sum.saturating_add(n);
    }
    sum.short = sum.short.saturating_add(flow.short);
    sum.stuck = sum.stuck.max(flow.stuck);
    if let Some(failures) = &flow.failures {
        add_parts(&mut sum.at, failures_by_part(failures));
        sum.longest_ns = sum.longest_ns.max(failures.response.max_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_base::Code;
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
            add_failures(&mut failures, &interval);
            assert_eq!(failures.counts_text(), told);
        }
        assert_eq!(failures.place_text(), "", "an older log does not say where");
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
            add_failures(&mut failures, &FlowInterval { errors, short, stuck, ..FlowInterval::default() });
            assert_eq!(failures.violated_rule(), rule, "{failures:?}");
        }
    }

    /// What is found of a flow in which one of a hundred operations may fail, after these intervals and beside these
    /// findings: its errors, where they are, and from when on.
    fn found(intervals: &[(u64, FlowInterval)], beside: Vec<CriterionFinding>) -> Option<(String, String, Moment)> {
        let header = crate::fold::fixture::header();
        let mut layout = Layout::new(&header, &["reads errors at most 1% per run".parse().unwrap()]).unwrap();
        layout.streams[1].may_fail.clear();
        let (mut fold, mut notes) = (FlowFailures::default(), Notes::new(1));
        for (start_ns, interval) in intervals {
            fold.add_flow_interval(0, Moment::UnderLoad(*start_ns), interval, 0, &layout, &mut notes);
        }
        let others = beside.len();
        notes.findings.extend(beside.into_iter().map(|it| Finding::of_step(it, 1)));
        fold.too_many(7, &layout, &mut notes);
        let kinds: Vec<FindingKind> = notes.findings.into_iter().skip(others).map(|found| found.kind).collect();
        assert!(kinds.len() < 2, "{kinds:?}");
        kinds.into_iter().next().map(|kind| match kind {
            FindingKind::Failed(it) => (it.counts_text(), it.place_text(), it.first),
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn too_many_errors_over_the_whole_step_are_found_unless_their_criterion_spoke() {
        use crate::finding::criterion::What;
        let failed = |errors: u64, ok| FlowInterval {
            ok,
            errors: BTreeMap::from([("EIO".to_owned(), errors)]),
            failures: Some(FailureTimes { at: vec![3, errors], response: Timing { max_ns: 5, ..Timing::default() } }),
            ..FlowInterval::default()
        };
        let (holds, breaks) = ([(5, failed(0, 50)), (9, failed(1, 49))], [(5, failed(0, 50)), (9, failed(2, 48))]);
        assert_eq!(found(&holds, vec![]), None, "one of a hundred");
        let place = " between 4.7 % and 6.2 % of the target, after up to 5 ns";
        let expected = Some(("2 EIO".to_owned(), place.to_owned(), Moment::UnderLoad(9)));
        assert_eq!(found(&breaks, vec![]), expected, "two of a hundred");
        let beside = |criterion: &str, what: What| {
            found(&breaks, vec![CriterionFinding { criterion: criterion.parse().unwrap(), what }])
        };
        let figure = crate::judgement::Figure {
            window: 1,
            start_ns: 0,
            end_ns: 1,
            target: None,
            value: 0.02,
            text: "2%".into(),
            operations: 100,
            within: false,
            generator: false,
            others: false,
            too_few: false,
            processors: false,
        };
        let at = crate::finding::criterion::At { figure, planned: 1, own_ns: None };
        let broken = || What::BrokenInCut(at.clone(), crate::finding::criterion::BrokenOn { targets: vec![], of: 1 });
        assert_eq!(beside("reads errors at most 1% per run", broken()), None, "its criterion is broken");
        for (criterion, what) in [
            ("writes errors at most 1% per run", broken()),
            ("reads response over 1ms below 5% per 1h", broken()),
            ("reads errors at most 1% per run", What::NotJudged),
        ] {
            assert_eq!(beside(criterion, what.clone()), expected, "{criterion} {what:?}");
        }
    }

    #[test]
    fn says_where_on_the_target_and_how_long_it_took() {
        let mut failures = Failures::default();
        for (at, max_ns) in [(vec![2, 7, 3, 1], 1_000_000), (vec![1, 1, u64::MAX, 1], 30_000_000_000)] {
            let response = Timing { max_ns, ..Timing::default() };
            add_failures(
                &mut failures,
                &FlowInterval { failures: Some(FailureTimes { at, response }), ..FlowInterval::default() },
            );
        }
        assert_eq!(failures.place_text(), " between 1.6 % and 100.0 % of the target, after up to 30 s");
    }
}
