//! When a stream, or a closed loop, begins and ends, where that differs from the run.
//!
//! Times are measured time. A stream without a `start` is offered in the warm-up too, unless it ends after a number of
//! operations or bytes, or waits for another stream: such a stream begins with the measurement at the earliest.

use crate::skip::is_zero_span;
use assay_base::{Bytes, Span};
use serde::{Deserialize, Serialize};
use std::fmt;

/// When a stream or loop begins and ends. The default is the whole run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Life {
    /// It begins this long after the beginning of the measurement, or after the end of the stream that it waits for.
    #[serde(default, skip_serializing_if = "is_zero_span")]
    pub start: Span,
    /// It ends this long after its beginning.
    #[serde(default, rename = "for", skip_serializing_if = "Option::is_none")]
    pub lasts: Option<Span>,
    /// It ends after this many operations on each target. In a loop the number is for each copy; if the loop takes
    /// turns, it is for all its targets together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<u64>,
    /// It ends with the operation by which it has moved this many bytes on each target; for a loop, counted as its
    /// operations are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Bytes>,
    /// It begins when the stream or loop of this name has ended on all targets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// The further streams and loops that have to have ended by then, if it waits for several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub and_after: Vec<String>,
}

impl Life {
    /// The life that ends after this many operations, or with the run if there is no number.
    pub fn of_operations(operations: Option<u64>) -> Life {
        Life { operations, ..Life::default() }
    }

    /// The same life, which begins when the streams and loops of these names have ended.
    #[must_use]
    pub fn beginning_after(self, names: impl IntoIterator<Item = String>) -> Life {
        let mut names = names.into_iter();
        Life { after: names.next(), and_after: names.collect(), ..self }
    }

    /// The names of the streams and loops that it waits for.
    pub fn waits_for(&self) -> impl Iterator<Item = &str> {
        self.after.iter().chain(&self.and_after).map(String::as_str)
    }

    /// Whether it is the whole run.
    pub fn is_whole(&self) -> bool {
        *self == Life::default()
    }

    /// Whether nothing but a number of operations ends it, and nothing delays its beginning. The whole run is such a
    /// life too.
    pub fn is_by_operations(&self) -> bool {
        Life { operations: None, ..self.clone() }.is_whole()
    }

    /// Whether it ends after a number of operations or bytes.
    pub fn ends_by_number(&self) -> bool {
        self.operations.is_some() || self.bytes.is_some()
    }

    /// Whether it has an end other than that of the run.
    pub fn has_own_end(&self) -> bool {
        self.ends_by_number() || self.lasts.is_some()
    }

    /// Whether it is known before the run when it begins and ends: nothing but times decides.
    pub fn is_by_time(&self) -> bool {
        !self.ends_by_number() && self.after.is_none()
    }

    /// Whether it takes part in the warm-up.
    pub fn warms_up(&self) -> bool {
        self.start.is_zero() && self.is_by_time()
    }

    /// When it begins in measured time, if that is known before the run.
    pub fn begins_at(&self) -> Option<Span> {
        self.after.is_none().then_some(self.start)
    }

    /// When it ends at the latest, in measured time, if that is known before the run.
    pub fn ends_at(&self) -> Option<Span> {
        Some(self.begins_at()? + self.lasts?)
    }
}

impl fmt::Display for Life {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let others: Vec<&str> = self.waits_for().collect();
        let begin = match (others.as_slice(), self.start) {
            ([], Span::ZERO) if self.warms_up() => "begins with the run".to_owned(),
            ([], Span::ZERO) => "begins with the measurement".to_owned(),
            ([], start) => format!("begins {start} into the measurement"),
            ([after], Span::ZERO) => format!("begins when {after} has ended"),
            ([after], start) => format!("begins {start} after the end of {after}"),
            (several, Span::ZERO) => format!("begins when {} have ended", several.join(", ")),
            (several, start) => format!("begins {start} after the end of {}", several.join(", ")),
        };
        let time = self.lasts.map(|lasts| match (self.is_by_time(), self.start) {
            (true, Span::ZERO) => format!("after {lasts} of the measurement"),
            _ => format!("{lasts} after that"),
        });
        let ends = [
            self.operations.map(|operations| format!("after {operations} operations on each target")),
            self.bytes.map(|bytes| format!("after {bytes} on each target")),
            time,
        ];
        let ends: Vec<String> = ends.into_iter().flatten().collect();
        match ends.as_slice() {
            [] => write!(f, "{begin}, and ends with the run"),
            [end] => write!(f, "{begin}, and ends {end}"),
            several => write!(f, "{begin}, and ends {}, whichever comes first", several.join(" or ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_of_a_life_before_the_run() {
        let second = Span::from_secs(1);
        let whole = Life::default();
        let timed = Life { lasts: Some(second), ..Life::default() };
        let late = Life { start: second, ..timed.clone() };
        let counted = Life::of_operations(Some(9));
        let moved = Life { bytes: Some(Bytes::new(9)), ..Life::default() };
        let behind = Life { after: Some("a".to_owned()), ..timed.clone() };
        // The facts: is it the whole run, does it end, does it end by a number, does it take part in the warm-up.
        for (life, facts, begins, ends) in [
            (&whole, [true, false, false, true], Some(0), None),
            (&timed, [false, true, false, true], Some(0), Some(1)),
            (&late, [false, true, false, false], Some(1), Some(2)),
            (&counted, [false, true, true, false], Some(0), None),
            (&moved, [false, true, true, false], Some(0), None),
            (&behind, [false, true, false, false], None, None),
        ] {
            assert_eq!(
                [life.is_whole(), life.has_own_end(), life.ends_by_number(), life.warms_up()],
                facts,
                "{life:?}"
            );
            assert_eq!(life.begins_at(), begins.map(Span::from_secs), "{life:?}");
            assert_eq!(life.ends_at(), ends.map(Span::from_secs), "{life:?}");
            let several = life.clone().beginning_after(["a".to_owned(), "b".to_owned()]);
            assert_eq!(several.waits_for().collect::<Vec<_>>(), ["a", "b"]);
            assert!(several.to_string().starts_with("begins "), "{several}");
            let text = serde_json::to_string(&several).unwrap();
            assert!(text.contains(r#""after":"a","and_after":["b"]"#), "{text}");
            assert_eq!(serde_json::from_str::<Life>(&text).unwrap(), several);
            let read: Life = serde_json::from_value(serde_json::to_value(life).unwrap()).unwrap();
            assert_eq!(&read, life, "a plan is read back unchanged");
        }
    }
}
