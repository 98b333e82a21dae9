//! A criterion: which stream, which measure, what bound, over which window. One text grammar for it serves the command
//! line, the run log and the reports.
//!
//! ```text
//! reads response over 1ms below 5% per 1h
//! reads response mean at most 30ms per run
//! ```

use crate::{Share, Span};
use std::fmt;
use std::str::FromStr;

/// Which of an operation's lengths of time is judged.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Measure {
    /// completed − intended: what the user waited.
    Response,
    /// completed − issued: what the device took.
    Service,
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Measure::Response => "response",
            Measure::Service => "service",
        })
    }
}

impl FromStr for Measure {
    type Err = String;
    fn from_str(text: &str) -> Result<Measure, String> {
        match text {
            "response" => Ok(Measure::Response),
            "service" => Ok(Measure::Service),
            _ => Err(format!("\"{}\" is not a measure; write {}", text.escape_debug(), instead(text))),
        }
    }
}

/// What to write instead of what is no measure. A percentile of at most a time is the same as a share over that time.
fn instead(text: &str) -> String {
    let percent = text.strip_prefix('p').and_then(|digits| format!("{digits}%").parse::<Share>().ok());
    let rest = percent.and_then(|percent| Share::WHOLE.as_ppb().checked_sub(percent.as_ppb())).filter(|rest| *rest > 0);
    match rest.map(Share::from_ppb) {
        Some(rest) => format!(
            "measure = \"response\" with share_over = \"5ms\" and at_most = \"{rest}\", which is a {text} of at most 5 ms"
        ),
        None => "response or service".to_owned(),
    }
}

/// What must hold in every window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// The share of operations that took `over` or longer is less than `below` (ACT: "fewer than 5 %").
    Over {
        /// The threshold; an operation of exactly this length is over it, as in ACT.
        over: Span,
        /// The share must stay under this.
        below: Share,
    },
    /// The same with the bound itself still allowed (`at_most` in workload files).
    OverAtMost {
        /// The threshold.
        over: Span,
        /// The share may reach this.
        at_most: Share,
    },
    /// The mean is at most this.
    MeanAtMost(Span),
}

/// One condition of the verdict.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Criterion {
    /// Name of the stream; it is judged over all its targets together and on each target alone.
    pub stream: String,
    /// Response or service.
    pub measure: Measure,
    /// What must hold.
    pub bound: Bound,
    /// The length of each window; `None` is the whole measured time.
    pub window: Option<Span>,
}

impl Criterion {
    /// The threshold this criterion counts against, if it counts.
    pub fn threshold(&self) -> Option<Span> {
        match self.bound {
            Bound::Over { over, .. } | Bound::OverAtMost { over, .. } => Some(over),
            Bound::MeanAtMost(_) => None,
        }
    }
}

impl fmt::Display for Criterion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.stream, self.measure, self.bound)?;
        match self.window {
            Some(window) => write!(f, " per {window}"),
            None => f.write_str(" per run"),
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bound::Over { over, below } => write!(f, "over {over} below {below}"),
            Bound::OverAtMost { over, at_most } => write!(f, "over {over} at most {at_most}"),
            Bound::MeanAtMost(span) => write!(f, "mean at most {span}"),
        }
    }
}

impl FromStr for Criterion {
    type Err = String;
    fn from_str(text: &str) -> Result<Criterion, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let shape =
            || format!("\"{text}\" is not a criterion; write it like \"reads response over 1ms below 5% per 1h\"");
        let span = |word: &str| word.parse::<Span>().map_err(|e| e.to_string());
        let share = |word: &str| word.parse::<Share>().map_err(|e| e.to_string());
        let (rest, window) = match words.as_slice() {
            [rest @ .., "per", "run"] => (rest, None),
            [rest @ .., "per", window] => (rest, Some(span(window)?)),
            _ => return Err(shape()),
        };
        let (stream, measure, bound) = match rest {
            [stream, measure, bound @ ..] => (*stream, *measure, bound),
            _ => return Err(shape()),
        };
        let measure = measure.parse()?;
        let bound = match bound {
            ["over", over, "below", below] => Bound::Over { over: span(over)?, below: share(below)? },
            ["over", over, "at", "most", at_most] => Bound::OverAtMost { over: span(over)?, at_most: share(at_most)? },
            ["mean", "at", "most", mean] => Bound::MeanAtMost(span(mean)?),
            _ => return Err(shape()),
        };
        Ok(Criterion { stream: stream.to_owned(), measure, bound, window })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_reads_back() {
        for text in [
            "reads response over 1ms below 5% per 1h",
            "reads service over 250us at most 0.1% per 10s",
            "writes response mean at most 30ms per run",
        ] {
            assert_eq!(text.parse::<Criterion>().unwrap().to_string(), text);
        }
        for (bad, remedy) in [
            ("latency", "response or service"),
            ("p99", "at_most = \"1%\", which is a p99 of"),
            ("p99.9", "at_most = \"0.1%\""),
            ("p100", "response or service"),
        ] {
            assert!(bad.parse::<Measure>().unwrap_err().contains(remedy), "{bad}");
        }
        for bad in ["", "reads", "reads latency over 1ms below 5% per 1h", "reads response over 1 below 5% per 1h"] {
            assert!(bad.parse::<Criterion>().is_err(), "{bad}");
        }
    }
}
