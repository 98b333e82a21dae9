//! What failed in one flow over the whole step: errors by name, short operations, stuck ones.

use crate::fold::cell::{add_parts, parts};
use crate::fold::layout::Layout;
use crate::fold::notes::Notes;
use crate::judgement::Deciding;
use crate::rules::finding::{Class, Finding, nowhere};
use assay_base::{Errno, Span};
use assay_record::{FlowInterval, PARTS};
use std::collections::BTreeMap;

/// Kinds of errors that are named.
const NAMED: usize = 4;

/// The failures of a step: each flow has one finding, which counts on.
#[derive(Debug, Default)]
pub(crate) struct FlowFailures {
    flows: BTreeMap<usize, Failures>,
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
        if !self.flows.contains_key(&flow) && !Failures::in_interval(interval) {
            return;
        }
        let next = notes.findings.len();
        let failures = self.flows.entry(flow).or_insert_with(|| Failures::first(next, start_ns));
        failures.add(interval);
        let stream = layout.streams[usize::from(layout.flows[flow].stream)].name.clone();
        let target = layout.target_of(flow).to_owned();
        let measured = failures.measured();
        let (first, place, rule) = (Span::from_ns(failures.first_ns).human(), failures.place(), failures.rule());
        let text = format!("{stream} on {target}: {measured}{place}, first {first} into the run; {rule}");
        match notes.findings.get_mut(failures.finding) {
            Some(finding) => (finding.text, finding.deciding.measured) = (text, Some(measured)),
            None => {
                let (stream, target, measured) = (Some(stream), Some(target), Some(measured));
                let place = nowhere(notes.step());
                let deciding = Deciding { stream, target, measured, start_ns: at_ns, end_ns: at_ns, ..place };
                notes.findings.push(Finding::new(Class::Errors, text, deciding));
            }
        }
    }
}

/// The failures of one flow.
#[derive(Debug)]
pub struct Failures {
    /// Place of the finding that speaks of them.
    pub finding: usize,
    /// Begin of the first interval with one, on the run's time line.
    pub first_ns: u64,
    errors: BTreeMap<String, u64>,
    short: u64,
    /// The most at the end of an interval.
    stuck: u64,
    /// By the part of the target.
    at: BTreeMap<u64, u64>,
    /// The longest that one took to fail.
    longest_ns: u64,
}

impl Failures {
    /// Whether the device failed in this interval. What was never handed to it is no failure of its own.
    pub fn in_interval(flow: &FlowInterval) -> bool {
        flow.short > 0 || flow.stuck > 0 || of_the_device(flow).any(|(_, n)| n > 0)
    }

    /// None yet, of those that `finding` will speak of.
    pub fn first(finding: usize, first_ns: u64) -> Failures {
        Failures { finding, first_ns, errors: BTreeMap::new(), short: 0, stuck: 0, at: BTreeMap::new(), longest_ns: 0 }
    }

    /// Adds an interval.
    pub fn add(&mut self, flow: &FlowInterval) {
        for (name, n) in of_the_device(flow).filter(|(_, n)| *n > 0) {
            let sum = self.errors.entry(name.clone()).or_default();
            *sum = sum.saturating_add(n);
        }
        self.short = self.short.saturating_add(flow.short);
        self.stuck = self.stuck.max(flow.stuck);
        if let Some(failures) = &flow.failures {
            add_parts(&mut self.at, parts(failures));
            self.longest_ns = self.longest_ns.max(failures.response.max_ns);
        }
    }

    /// What makes them a FAIL.
    pub fn rule(&self) -> &'static str {
        let damaged = !self.errors.is_empty() && self.errors.keys().all(|name| is_damage(name));
        match damaged && self.short == 0 && self.stuck == 0 {
            true => "what was written must be read",
            false => "an I/O error never passes",
        }
    }

    /// `12 EIO, 3 short, 1 stuck`
    pub fn measured(&self) -> String {
        let full = Errno::ENOSPC.to_string();
        let error = |(name, n): (&String, &u64)| match *name == full {
            true => format!("{n} {name} (the target is full)"),
            false => format!("{n} {name}"),
        };
        let mut what: Vec<String> = self.errors.iter().take(NAMED).map(error).collect();
        what.extend((self.short > 0).then(|| format!("{} short", self.short)));
        what.extend((self.stuck > 0).then(|| format!("{} stuck", self.stuck)));
        what.join(", ")
    }

    /// ` between 1.6 % and 4.7 % of the target, after up to 30 s`; empty where the log does not say it.
    pub fn place(&self) -> String {
        let (Some((first, _)), Some((last, _))) = (self.at.first_key_value(), self.at.last_key_value()) else {
            return String::new();
        };
        let percent = |part: u64| part as f64 * 100.0 / PARTS as f64;
        let longest = Span::from_ns(self.longest_ns).human();
        format!(" between {:.1} % and {:.1} % of the target, after up to {longest}", percent(*first), percent(last + 1))
    }
}

/// Whether an error of this name is a read of damaged data.
pub fn is_damage(name: &str) -> bool {
    Errno::DAMAGE.iter().any(|kind| kind.to_string() == name)
}

fn of_the_device(flow: &FlowInterval) -> impl Iterator<Item = (&String, u64)> {
    let not_submitted = Errno::NOT_SUBMITTED.to_string();
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
        let mut failures = Failures::first(0, 0);
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
            assert_eq!(Failures::in_interval(&interval), fails, "{interval:?}");
            failures.add(&interval);
            assert_eq!(failures.measured(), told);
        }
        assert_eq!(failures.place(), "", "an older log does not say where");
    }

    #[test]
    fn only_damage_alone_breaks_the_rule_of_data() {
        let damage = Errno::CORRUPT.to_string();
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
            let mut failures = Failures::first(0, 0);
            let errors = errors.into_iter().map(|name| (name.to_owned(), 1)).collect();
            failures.add(&FlowInterval { errors, short, stuck, ..FlowInterval::default() });
            assert_eq!(failures.rule(), rule, "{failures:?}");
        }
    }

    #[test]
    fn says_where_on_the_target_and_how_long_it_took() {
        let mut failures = Failures::first(0, 0);
        for (at, max_ns) in [(vec![2, 7, 3, 1], 1_000_000), (vec![1, 1, u64::MAX, 1], 30_000_000_000)] {
            let response = Timing { max_ns, ..Timing::default() };
            failures.add(&FlowInterval { failures: Some(FailureTimes { at, response }), ..FlowInterval::default() });
        }
        assert_eq!(failures.place(), " between 1.6 % and 100.0 % of the target, after up to 30 s");
    }
}
