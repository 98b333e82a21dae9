//! What failed in one flow over the whole step: errors by name, short operations, stuck ones.

use assay_base::Errno;
use assay_record::FlowInterval;
use std::collections::BTreeMap;

/// Kinds of errors that are named.
const NAMED: usize = 4;

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
}

impl Failures {
    /// Whether the device failed in this interval. What was never handed to it is no failure of its own.
    pub fn in_interval(flow: &FlowInterval) -> bool {
        flow.short > 0 || flow.stuck > 0 || of_the_device(flow).any(|(_, n)| n > 0)
    }

    /// None yet, of those that `finding` will speak of.
    pub fn first(finding: usize, first_ns: u64) -> Failures {
        Failures { finding, first_ns, errors: BTreeMap::new(), short: 0, stuck: 0 }
    }

    /// Adds an interval.
    pub fn add(&mut self, flow: &FlowInterval) {
        for (name, n) in of_the_device(flow).filter(|(_, n)| *n > 0) {
            let sum = self.errors.entry(name.clone()).or_default();
            *sum = sum.saturating_add(n);
        }
        self.short = self.short.saturating_add(flow.short);
        self.stuck = self.stuck.max(flow.stuck);
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
}

fn of_the_device(flow: &FlowInterval) -> impl Iterator<Item = (&String, u64)> {
    let not_submitted = Errno::NOT_SUBMITTED.to_string();
    flow.errors.iter().filter(move |(name, _)| **name != not_submitted).map(|(name, n)| (name, *n))
}

#[cfg(test)]
mod tests {
    use super::*;

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
    }
}
