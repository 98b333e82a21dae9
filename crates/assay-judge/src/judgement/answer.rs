//! The answer to a question in one line: does it fit, and by how much.

use crate::verdict::Verdict;
use crate::words::human_time;
use serde::{Deserialize, Serialize};

/// The percentile by which a step answers a question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerFigures {
    /// The stream.
    pub stream: String,
    /// Which percentile: `p99`.
    pub percentile: String,
    /// The time that it may be at most.
    pub bound_ns: u64,
    /// The percentile over the whole measured time, from the distributions (3 significant digits).
    pub whole_ns: u64,
    /// The largest percentile of a window.
    pub worst_ns: u64,
    /// The number of that window, from 1.
    pub worst_window: u64,
    /// The length of a window.
    pub window_ns: u64,
}

impl AnswerFigures {
    /// `p99 3.1 of 10 ms, worst 5 min 4.4 ms`
    fn in_words(&self) -> String {
        let AnswerFigures { percentile, bound_ns, whole_ns, worst_ns, window_ns, .. } = self;
        let window = human_time(*window_ns);
        format!(
            "{percentile} {} of {} ms, worst {window} {} ms",
            milliseconds_text(*whole_ns),
            milliseconds_text(*bound_ns),
            milliseconds_text(*worst_ns)
        )
    }

    /// By how much the worst window is over the bound, where it is.
    fn excess_in_words(&self) -> Option<String> {
        let times = self.worst_ns as f64 / self.bound_ns.max(1) as f64;
        (times > 1.0).then(|| {
            format!(
                "; {} of {} in window {}, {times:.1} times the bound",
                self.in_words(),
                self.stream,
                self.worst_window
            )
        })
    }
}

/// How the answer says that a watermark limits it, by what the watermark begins with.
const LIMITED: [(&str, &str); 5] = [
    ("QUICK", "in a quick look"),
    ("SHORT", "in a shortened test"),
    ("LONGER WINDOWS", "in longer windows"),
    ("WITHOUT A FILE SYSTEM", "without a file system"),
    ("SIMULATED", "in a simulation"),
];

/// `fit`, `fit in a quick look`: what limits the answer is in the line that says it.
fn fit_in_words(watermarks: &[String]) -> String {
    let known = LIMITED.iter().filter(|(begin, _)| watermarks.iter().any(|mark| mark.starts_with(begin)));
    let limited: Vec<&str> = known.map(|(_, words)| *words).collect();
    if limited.is_empty() { "fit".to_owned() } else { format!("fit {}", limited.join(", ")) }
}

/// `etcd: fit, p99 3.1 of 10 ms, worst 5 min 4.4 ms`
pub(crate) fn answer_in_words(
    question: &str,
    verdict: Verdict,
    reason: &str,
    figures: Option<&AnswerFigures>,
    watermarks: &[String],
) -> String {
    match verdict {
        Verdict::Pass => {
            let fit = fit_in_words(watermarks);
            let how = figures.map_or_else(String::new, |figures| format!(", {}", figures.in_words()));
            format!("{question}: {fit}{how}")
        }
        Verdict::Fail => {
            let excess = figures.and_then(AnswerFigures::excess_in_words).unwrap_or_default();
            format!("{question}: not fit: {reason}{excess}")
        }
        Verdict::Invalid => format!("{question}: nothing is known: {reason}"),
        Verdict::Incomplete => format!("{question}: not answered: {reason}"),
    }
}

/// A number of milliseconds with as many digits as say something.
fn milliseconds_text(ns: u64) -> String {
    let ms = ns as f64 / 1e6;
    let text = match ms {
        ms if ms >= 100.0 => format!("{ms:.0}"),
        ms if ms >= 1.0 => format!("{ms:.1}"),
        ms => format!("{ms:.2}"),
    };
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_verdict_has_its_line() {
        let figures = AnswerFigures {
            stream: "wal-sync".into(),
            percentile: "p99".into(),
            bound_ns: 10_000_000,
            whole_ns: 3_100_000,
            worst_ns: 4_400_000,
            worst_window: 3,
            window_ns: 300_000_000_000,
        };
        let said = |verdict, figures: &AnswerFigures| answer_in_words("etcd", verdict, "why", Some(figures), &[]);
        assert_eq!(said(Verdict::Pass, &figures), "etcd: fit, p99 3.1 of 10 ms, worst 5 min 4.4 ms");
        let over = AnswerFigures { worst_ns: 14_240_000, ..figures.clone() };
        let fail = said(Verdict::Fail, &over);
        assert!(fail.starts_with("etcd: not fit: why; p99 3.1 of 10 ms, worst 5 min 14.2 ms"), "{fail}");
        assert!(fail.ends_with("in window 3, 1.4 times the bound"), "{fail}");
        assert_eq!(said(Verdict::Fail, &figures), "etcd: not fit: why", "another criterion broke");
        assert_eq!(said(Verdict::Invalid, &figures), "etcd: nothing is known: why");
        assert_eq!(said(Verdict::Incomplete, &figures), "etcd: not answered: why");
        for (marks, fit) in [
            (&["QUICK: quick look, not a certification"][..], "fit in a quick look"),
            (&["METADATA WARM: names", "SHORT: 2s measured, the workload's own time is 1h"], "fit in a shortened test"),
            (&["WITHOUT A FILE SYSTEM: its journal", "QUICK: quick"], "fit in a quick look, without a file system"),
            (&["METADATA WARM: names"], "fit"),
        ] {
            let marks: Vec<String> = marks.iter().map(|mark| (*mark).to_owned()).collect();
            assert_eq!(answer_in_words("etcd", Verdict::Pass, "", None, &marks), format!("etcd: {fit}"));
        }
        let texts: Vec<String> = [420_000, 999_999, 123_400_000].map(milliseconds_text).into();
        assert_eq!(texts, ["0.42", "1.00", "123"]);
    }
}
