//! A criterion: which stream, which measure, what bound, over which window. One text grammar for it serves the command
//! line, the run log and the reports.
//!
//! ```text
//! reads response over 1ms below 5% per 1h
//! reads response mean at most 30ms per run
//! reads response p99.9 at most 5ms per 10s
//! reads service p99 at most 5ms per 10s of at least 1000 operations
//! reads rate at least 5000/s per 10s
//! reads throughput at least 500MiB/s per run
//! sales errors at most 0.1% per run
//! reads response over 1ms below 5% per 1h in healthy and recovered
//! ```
//!
//! A percentile or a maximum that must be at most a time is converted to a share over that time, so that there is only
//! one way to count.

use crate::{Bytes, MarkedPart, MarkedParts, Rate, Share, Span, UnitError};
use std::fmt;
use std::str::FromStr;

/// Which time of an operation is judged.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Measure {
    /// completed − intended: how long the user waited.
    Response,
    /// completed − issued: how long the device took.
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
            _ => Err(format!("\"{}\" is not a measure; write {}", text.escape_debug(), remedy_for_measure(text))),
        }
    }
}

/// What to write instead of a word that is not a measure.
fn remedy_for_measure(text: &str) -> String {
    match rest_of(text) {
        Some(_) => format!("measure = \"response\" with {}_at_most = \"5ms\"", text.replace('.', "_")),
        None => "response or service".to_owned(),
    }
}

/// The share of operations that may be longer than a percentile's bound: 1 % for `p99`, none for `max`.
fn rest_of(percentile: &str) -> Option<Share> {
    if percentile == "max" {
        return Some(Share::from_ppb(0));
    }
    let percent: Share = format!("{}%", percentile.strip_prefix('p')?).parse().ok()?;
    let rest = Share::WHOLE.as_ppb().checked_sub(percent.as_ppb())?;
    (rest > 0 && percent.as_ppb() > 0).then_some(Share::from_ppb(rest))
}

/// `p99` for 99 %.
fn percentile_name(within: Share) -> String {
    format!("p{}", within.to_string().trim_end_matches('%'))
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
    /// The same, but the share may equal the bound (`at_most` in workload files).
    OverAtMost {
        /// The threshold.
        over: Span,
        /// The share may reach this.
        at_most: Share,
    },
    /// The mean is at most this.
    MeanAtMost(Span),
    /// At least this many operations complete per second, over all targets together.
    RateAtLeast(Rate),
    /// Operations that complete move at least this many bytes per second, over all targets together.
    ThroughputAtLeast(Bytes),
    /// Of the operations that come back, at most this share with an error that the device gives.
    ErrorsAtMost(Share),
}

impl Bound {
    /// Whether it bounds a length of time; no measure belongs to any other.
    pub fn is_of_time(&self) -> bool {
        matches!(self, Bound::Over { .. } | Bound::OverAtMost { .. } | Bound::MeanAtMost(_))
    }

    /// The threshold whose operations it counts; `None` for a bound that counts none.
    pub fn threshold(&self) -> Option<Span> {
        match *self {
            Bound::Over { over, .. } | Bound::OverAtMost { over, .. } => Some(over),
            Bound::MeanAtMost(_) | Bound::RateAtLeast(_) | Bound::ThroughputAtLeast(_) | Bound::ErrorsAtMost(_) => None,
        }
    }

    /// Whether it asks for an amount of work: more is better, and all targets together do it.
    pub fn is_of_work(&self) -> bool {
        matches!(self, Bound::RateAtLeast(_) | Bound::ThroughputAtLeast(_))
    }

    /// Whether `operations` that completed within `ns` nanoseconds and moved `bytes` satisfy a bound on work; `None`
    /// for a bound on time.
    pub fn is_done(&self, operations: u64, bytes: u64, ns: u64) -> Option<bool> {
        let (done, asked, of) = match *self {
            Bound::RateAtLeast(rate) => {
                let (asked, seconds) = rate.as_ratio();
                (operations, asked, seconds)
            }
            Bound::ThroughputAtLeast(asked) => (bytes, asked.get(), 1),
            Bound::Over { .. } | Bound::OverAtMost { .. } | Bound::MeanAtMost(_) | Bound::ErrorsAtMost(_) => {
                return None;
            }
        };
        let done = (u128::from(done) * 1_000_000_000).saturating_mul(of.into());
        Some(done >= u128::from(asked) * u128::from(ns))
    }

    /// The bound "percentile (`p99`, `p99.9`) or `max` at most a time", as the share of operations over that time;
    /// `None` where `percentile` is not a percentile.
    pub fn from_percentile(percentile: &str, at_most: Span) -> Option<Bound> {
        rest_of(percentile).map(|rest| Bound::OverAtMost { over: at_most, at_most: rest })
    }

    /// The same bound written as a percentile (`p99 at most 5ms`), where its share corresponds to one.
    pub fn as_percentile(&self) -> Option<String> {
        let Bound::OverAtMost { over, .. } = self else { return None };
        let within = self.share_within()?;
        Some(if within == Share::WHOLE {
            format!("max at most {over}")
        } else {
            format!("{} at most {over}", percentile_name(within))
        })
    }

    /// The percentile whose time it limits (`p99`), and the share of operations that must be within that time; `None` of a
    /// maximum, a mean, and of work.
    pub fn limited_percentile(&self) -> Option<(String, Share)> {
        let within = self.share_within().filter(|within| *within > Share::default() && *within < Share::WHOLE)?;
        Some((percentile_name(within), within))
    }

    /// The share of operations that must be shorter than the bound's time, where it is about a share.
    fn share_within(&self) -> Option<Share> {
        let (Bound::OverAtMost { at_most: over, .. } | Bound::Over { below: over, .. }) = self else { return None };
        Share::WHOLE.as_ppb().checked_sub(over.as_ppb()).map(Share::from_ppb)
    }
}

/// One condition of the verdict.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Criterion {
    /// Name of the stream; it is judged over all its targets together and on each target alone. [`Criterion::ALL`] is judged over all
    /// operations of all streams together only.
    pub stream: String,
    /// Response or service.
    pub measure: Measure,
    /// What must hold.
    pub bound: Bound,
    /// The length of each window; `None` is the whole measured time.
    pub window: Option<Span>,
    /// The fewest operations from which a window says anything: a percentile of too few is one of their times. 0: any number.
    pub least_operations: u64,
    /// The parts in which it must hold, where marks divide a run; every one unless it names some.
    pub parts: MarkedParts,
}

impl Criterion {
    /// In the place of a stream's name: the operations of all streams together, unless a stream has this name.
    pub const ALL: &str = "all";

    /// Parses a criterion as a user types it: without a measure it is about the response, without a window it must hold
    /// in every slice.
    ///
    /// ```
    /// use assay_base::{Criterion, Span};
    /// let typed = Criterion::parse_typed("reads p99 at most 5ms", Span::from_secs(10)).unwrap();
    /// assert_eq!(typed.to_string(), "reads response over 5ms at most 1% per 10s");
    /// ```
    pub fn parse_typed(text: &str, slice: Span) -> Result<Criterion, String> {
        let spaced = with_spaced_signs(text);
        let mut words: Vec<&str> = spaced.split_whitespace().collect();
        signs_to_words(&mut words);
        if words.get(1).is_some_and(|word| matches!(*word, "over" | "mean") || rest_of(word).is_some()) {
            words.insert(1, "response");
        }
        let slice = slice.to_string();
        if !words.contains(&"per") {
            let end = words.iter().skip(1).position(|word| *word == "in").map_or(words.len(), |at| at + 1);
            drop(words.splice(end..end, ["per", slice.as_str()]));
        }
        Criterion::from_words(&words, text)
    }

    /// Parses the words of a whole criterion; an error about their form shows `text`.
    fn from_words(words: &[&str], text: &str) -> Result<Criterion, String> {
        let (words, parts) = split_parts(words, text)?;
        Ok(Criterion { parts, ..Criterion::for_every_part(words, text)? })
    }

    /// Parses what stands before the parts.
    fn for_every_part(words: &[&str], text: &str) -> Result<Criterion, String> {
        let (words, least_operations) = match words {
            [rest @ .., "of", "at", "least", number, "operations"] => {
                (rest, number.parse().map_err(|_| not_a_criterion(text))?)
            }
            words => (words, 0),
        };
        let (rest, window) = match words {
            [rest @ .., "per", "run"] => (rest, None),
            [rest @ .., "per", window] => (rest, Some(parse_unit(window)?)),
            _ => return Err(not_a_criterion(text)),
        };
        // What is no length of time has no measure.
        match rest {
            [stream, "rate", "at", "least", least] => {
                return Ok(Criterion::without_measure(stream, Bound::RateAtLeast(parse_unit(least)?), window));
            }
            [stream, "throughput", "at", "least", least] => {
                return Ok(Criterion::without_measure(
                    stream,
                    Bound::ThroughputAtLeast(parse_throughput(least)?),
                    window,
                ));
            }
            [stream, "errors", "at", "most", most] => {
                return Ok(Criterion::without_measure(stream, Bound::ErrorsAtMost(parse_unit(most)?), window));
            }
            _ => {}
        }
        let (stream, measure, bound) = match rest {
            [stream, measure, bound @ ..] => (*stream, *measure, bound),
            _ => return Err(not_a_criterion(text)),
        };
        let measure = measure.parse()?;
        let bound = match bound {
            ["over", over, "below", below] => Bound::Over { over: parse_unit(over)?, below: parse_unit(below)? },
            ["over", over, "at", "most", at_most] => {
                Bound::OverAtMost { over: parse_unit(over)?, at_most: parse_unit(at_most)? }
            }
            ["mean", "at", "most", mean] => Bound::MeanAtMost(parse_unit(mean)?),
            [percentile, "at", "most", time] => {
                Bound::from_percentile(percentile, parse_unit(time)?).ok_or_else(|| not_a_criterion(text))?
            }
            _ => return Err(not_a_criterion(text)),
        };
        Ok(Criterion { stream: stream.to_owned(), measure, bound, window, least_operations, parts: MarkedParts::EVERY })
    }

    /// Whether it is a mean of a stream some of whose operations may fail by another of `criteria`. It cannot be judged: an
    /// operation that failed has no length, and without those that take longest any mean looks good.
    pub fn is_mean_beside_errors(&self, criteria: &[Criterion]) -> bool {
        matches!(self.bound, Bound::MeanAtMost(_)) && criteria.iter().any(|other| self.allows_errors_of_same(other))
    }

    /// Whether `other` allows that operations fail which this criterion is about.
    fn allows_errors_of_same(&self, other: &Criterion) -> bool {
        let same = other.stream == self.stream || self.stream == Criterion::ALL;
        matches!(other.bound, Bound::ErrorsAtMost(_)) && same
    }

    fn without_measure(stream: &str, bound: Bound, window: Option<Span>) -> Criterion {
        Criterion {
            stream: stream.to_owned(),
            measure: Measure::Response,
            bound,
            window,
            least_operations: 0,
            parts: MarkedParts::EVERY,
        }
    }

    /// The threshold whose operations this criterion counts; `None` for a criterion that counts none.
    pub fn counted_threshold(&self) -> Option<Span> {
        self.bound.threshold()
    }
}

/// Divides the words of a criterion into what must hold and the parts in which it must: `in healthy and recovered`.
fn split_parts<'a, 'b>(words: &'b [&'a str], text: &str) -> Result<(&'b [&'a str], MarkedParts), String> {
    // The name of a stream may be `in`.
    let Some(at) = words.iter().skip(1).position(|word| *word == "in") else { return Ok((words, MarkedParts::EVERY)) };
    let (criterion, named) = (&words[..at + 1], &words[at + 2..]);
    let joined = named.iter().skip(1).step_by(2).all(|word| *word == "and");
    if named.len() % 2 == 0 || !joined {
        return Err(not_a_criterion(text));
    }
    let parts = named.iter().step_by(2).map(|word| word.parse::<MarkedPart>());
    Ok((criterion, parts.collect::<Result<MarkedParts, String>>()?))
}

/// The error for a text that does not have the form of a criterion.
fn not_a_criterion(text: &str) -> String {
    format!(
        "\"{}\" is not a criterion; write it like \"reads response over 1ms below 5% per 1h\" or \"reads p99 at most 5ms\"",
        text.escape_debug()
    )
}

/// A time, a share or a rate.
fn parse_unit<T: FromStr<Err = UnitError>>(word: &str) -> Result<T, String> {
    word.parse().map_err(|error: UnitError| error.to_string())
}

/// Bytes in a second.
fn parse_throughput(word: &str) -> Result<Bytes, String> {
    let bytes = word
        .strip_suffix("/s")
        .ok_or_else(|| format!("\"{}\" is not a throughput; write 500MiB/s", word.escape_debug()))?;
    parse_unit(bytes)
}

impl fmt::Display for Criterion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.bound.is_of_time() {
            write!(f, "{} {} {}", self.stream, self.measure, self.bound)?;
        } else {
            write!(f, "{} {}", self.stream, self.bound)?;
        }
        match self.window {
            Some(window) => write!(f, " per {window}")?,
            None => f.write_str(" per run")?,
        }
        match self.least_operations {
            0 => {}
            least => write!(f, " of at least {least} operations")?,
        }
        if self.parts.is_every() { Ok(()) } else { write!(f, " in {}", self.parts) }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bound::Over { over, below } => write!(f, "over {over} below {below}"),
            Bound::OverAtMost { over, at_most } => write!(f, "over {over} at most {at_most}"),
            Bound::MeanAtMost(span) => write!(f, "mean at most {span}"),
            Bound::RateAtLeast(rate) => write!(f, "rate at least {rate}"),
            Bound::ThroughputAtLeast(bytes) => write!(f, "throughput at least {bytes}/s"),
            Bound::ErrorsAtMost(share) => write!(f, "errors at most {share}"),
        }
    }
}

/// A criterion with spaces around the signs behind its stream's name: `reads p99<5ms` has three words then.
fn with_spaced_signs(text: &str) -> String {
    let (stream, rest) = text.trim_start().split_once(char::is_whitespace).unwrap_or((text, ""));
    let rest = rest.replace("<=", " \u{2264} ").replace(">=", " \u{2265} ").replace('<', " < ").replace('>', " > ");
    format!("{stream} {rest}")
}

/// Replaces the signs that people type by words. A time has no smallest difference, so that `p99 < 5ms` is "at most 5ms".
fn signs_to_words(words: &mut Vec<&str>) {
    let is_share = words.contains(&"over");
    let replaced = words.iter().enumerate().flat_map(|(at, word)| match *word {
        _ if at == 0 => vec![*word],
        "<" if is_share => vec!["below"],
        "<" | "\u{2264}" => vec!["at", "most"],
        ">" | "\u{2265}" => vec!["at", "least"],
        word => vec![word],
    });
    *words = replaced.collect();
}

impl FromStr for Criterion {
    type Err = String;
    fn from_str(text: &str) -> Result<Criterion, String> {
        Criterion::from_words(&text.split_whitespace().collect::<Vec<_>>(), text)
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
            "reads rate at least 5000/s per 10s",
            "rate rate at least 1/s per run",
            "log throughput at least 500MiB/s per run",
            "sales errors at most 0.1% per run",
            "errors errors at most 0% per 10s",
            "syncs service over 10ms at most 1% per 5min of at least 1000 operations",
            "syncs service mean at most 2ms per run of at least 7 operations",
            "reads response over 1ms below 5% per 1h in healthy and recovered",
            "in errors at most 100% per 10s in disturbed",
            "syncs service over 10ms at most 1% per run of at least 9 operations in recovered",
        ] {
            assert_eq!(text.parse::<Criterion>().unwrap().to_string(), text);
        }
        for (bad, remedy) in [
            ("latency", "response or service"),
            ("p99", "p99_at_most = \"5ms\""),
            ("p99.9", "p99_9_at_most"),
            ("p100", "response or service"),
        ] {
            assert!(bad.parse::<Measure>().unwrap_err().contains(remedy), "{bad}");
        }
        for (typed, kept, words) in [
            ("reads p99 at most 5ms", "reads response over 5ms at most 1% per 10s", "p99 at most 5ms"),
            ("reads p99 < 5ms", "reads response over 5ms at most 1% per 10s", "p99 at most 5ms"),
            ("reads p99<=5ms per 10s", "reads response over 5ms at most 1% per 10s", "p99 at most 5ms"),
            ("r over 1ms <= 3%", "r response over 1ms at most 3% per 10s", "p97 at most 1ms"),
            ("r service p99.9 at most 2ms", "r service over 2ms at most 0.1% per 10s", "p99.9 at most 2ms"),
            ("r p50 at most 1ms per 1h", "r response over 1ms at most 50% per 1h", "p50 at most 1ms"),
            ("r max at most 1s per run", "r response over 1s at most 0% per run", "max at most 1s"),
            ("r over 1ms at most 3%", "r response over 1ms at most 3% per 10s", "p97 at most 1ms"),
            ("r p99<5ms in healthy", "r response over 5ms at most 1% per 10s in healthy", "p99 at most 5ms"),
            (
                "r max < 1s in disturbed and recovered and healthy",
                "r response over 1s at most 0% per 10s",
                "max at most 1s",
            ),
        ] {
            let criterion = Criterion::parse_typed(typed, Span::from_secs(10)).unwrap();
            assert_eq!(criterion.to_string(), kept);
            assert_eq!(criterion.bound.as_percentile().as_deref(), Some(words));
        }
        for (text, operations, bytes, holds) in [
            ("r rate at least 5000/s", 50_000, 0, true),
            ("r rate at least 5000/s", 49_999, 0, false),
            ("r rate >= 5000/s", 49_999, 0, false),
            ("r throughput at least 1MiB/s", 0, 10 << 20, true),
            ("r throughput at least 1MiB/s", u64::MAX, (10 << 20) - 1, false),
        ] {
            let criterion = Criterion::parse_typed(text, Span::from_secs(10)).unwrap();
            assert_eq!(criterion.bound.is_done(operations, bytes, 10_000_000_000), Some(holds), "{text}");
            assert_eq!((criterion.window, criterion.counted_threshold()), (Some(Span::from_secs(10)), None));
        }
        let mean = Criterion::parse_typed("mean mean at most 3ms", Span::from_secs(1)).unwrap();
        assert_eq!(
            (mean.to_string().as_str(), mean.bound.as_percentile()),
            ("mean response mean at most 3ms per 1s", None)
        );
        for bad in [
            "",
            "reads",
            "reads p100 at most 1ms",
            "reads p0 at most 1ms",
            "reads p at most 1ms",
            "reads p99 below 1ms",
            "reads rate at least 5000",
            "reads throughput at least 500MiB",
            "reads response rate at least 5000/s",
            "reads rate at most 5000/s",
            "reads errors at most 5",
            "reads errors below 1%",
            "reads response errors at most 1%",
            "reads p99 at most 1ms per 1s of at least ten operations",
            "reads p99 at most 1ms of at least operations",
            "reads p99 at most 1ms in",
            "reads p99 at most 1ms in ill",
            "reads p99 at most 1ms in healthy recovered",
            "reads p99 at most 1ms in healthy and",
            "reads p99 at most 1ms in healthy per 1s",
        ] {
            assert!(Criterion::parse_typed(bad, Span::from_secs(1)).is_err(), "{bad}");
        }
        for bad in ["", "reads", "reads latency over 1ms below 5% per 1h", "reads response over 1 below 5% per 1h"] {
            assert!(bad.parse::<Criterion>().is_err(), "{bad}");
        }
    }
}
