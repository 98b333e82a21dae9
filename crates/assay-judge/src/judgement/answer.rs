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

/// `etcd: fit, p99 3.1 of 10 ms, worst 5 min 4.4 ms`
pub(crate) fn answer_in_words(
    question: &str,
    verdict: Verdict,
    reason: &str,
    figures: Option<&AnswerFigures>,
    is_quick: bool,
) -> String {
    match verdict {
        Verdict::Pass => {
            let fit = if is_quick { "fit in a quick look" } else { "fit" };
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
        let said = |verdict, figures: &AnswerFigures| answer_in_words("etcd", verdict, "why", Some(figures), false);
        assert_eq!(said(Verdict::Pass, &figures), "etcd: fit, p99 3.1 of 10 ms, worst 5 min 4.4 ms");
        let over = AnswerFigures { worst_ns: 14_240_000, ..figures.clone() };
        let fail = said(Verdict::Fail, &over);
        assert!(fail.starts_with("etcd: not fit: why; p99 3.1 of 10 ms, worst 5 min 14.2 ms"), "{fail}");
        assert!(fail.ends_with("in window 3, 1.4 times the bound"), "{fail}");
        assert_eq!(said(Verdict::Fail, &figures), "etcd: not fit: why", "another criterion broke");
        assert_eq!(said(Verdict::Invalid, &figures), "etcd: nothing is known: why");
        assert_eq!(said(Verdict::Incomplete, &figures), "etcd: not answered: why");
        assert!(answer_in_words("etcd", Verdict::Pass, "", None, true).ends_with("fit in a quick look"));
        let texts: Vec<String> = [420_000, 999_999, 123_400_000].map(milliseconds_text).into();
        assert_eq!(texts, ["0.42", "1.00", "123"]);
    }
}
