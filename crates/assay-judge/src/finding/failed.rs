//! What failed in one flow over the whole step: errors by name, short operations, stuck ones.

use crate::finding::class::Class;
use assay_base::{Code, MarkedPart, Share, Span};
use assay_record::PARTS;
use std::collections::BTreeMap;
use std::fmt;

/// How many kinds of errors a reason names.
const NAMED: usize = 4;

/// The failures of one flow.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Failures {
    /// The stream.
    pub(crate) stream: String,
    /// The target.
    pub(crate) target: String,
    /// When the first was found: at the beginning of its interval, or at its event.
    pub(crate) first: Moment,
    /// Number of failed operations, by error name.
    pub(crate) errors: BTreeMap<String, u64>,
    /// Number of operations that completed with too few bytes.
    pub(crate) short: u64,
    /// The largest number of stuck operations at the end of an interval.
    pub(crate) stuck: u64,
    /// Number of failures, by part of the target.
    pub(crate) at: BTreeMap<u64, u64>,
    /// The longest time that an operation took to fail.
    pub(crate) longest_ns: u64,
    /// Whether its operations have no places on the target: they are neither reads, writes nor flushes.
    pub(crate) placeless: bool,
    /// More failed than may; without it one alone is too many.
    pub(crate) more_than: Option<Excess>,
}

/// More operations than may fail did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Excess {
    /// The share that may.
    pub(crate) share: Share,
    /// Of so many.
    pub(crate) operations: u64,
    /// The kind of the parts that were counted, where the criteria do not speak of every kind.
    pub(crate) part: Option<MarkedPart>,
}

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Excess { share, operations, part } = self;
        write!(f, "that is more than {share} of all {operations} operations from the first on")?;
        part.map_or(Ok(()), |part| write!(f, " while it is {part}"))
    }
}

impl Failures {
    /// How severe they are.
    pub(crate) fn severity_class(&self) -> Class {
        if self.are_locks() { Class::Unproven } else { Class::Errors }
    }

    /// Whether all of them met a lock that the run's own sessions cannot hold: somebody else did.
    pub(crate) fn are_locks(&self) -> bool {
        let only = self.short == 0 && self.stuck == 0 && !self.errors.is_empty();
        only && self.errors.keys().all(|name| is_lock(name))
    }

    /// The rule that keeps them from a PASS.
    pub(crate) fn violated_rule(&self) -> String {
        if self.are_locks() {
            return "the run's own sessions write in turn, so that somebody else held a lock on the database"
                .to_owned();
        }
        if let Some(excess) = self.more_than {
            return excess.to_string();
        }
        let damaged = !self.errors.is_empty() && self.errors.keys().all(|name| is_damage(name));
        if damaged && self.short == 0 && self.stuck == 0 {
            "what was written must be read"
        } else if self.placeless {
            "a run with failed operations never passes"
        } else {
            "an I/O error never passes"
        }
        .to_owned()
    }

    /// `12 EIO, 3 short, 1 stuck`
    pub(crate) fn counts_text(&self) -> String {
        let mut what = Vec::new();
        for (name, n) in self.errors.iter().take(NAMED) {
            what.push(format!("{n} {name}{}", note_on_error(name)));
        }
        what.extend((self.short > 0).then(|| format!("{} short", self.short)));
        what.extend((self.stuck > 0).then(|| format!("{} stuck", self.stuck)));
        what.join(", ")
    }

    /// ` between 1.6 % and 4.7 % of the target, after up to 30 s`; empty where the log has no places.
    pub(crate) fn place_text(&self) -> String {
        let (Some((first, _)), Some((last, _))) = (self.at.first_key_value(), self.at.last_key_value()) else {
            return String::new();
        };
        if self.placeless {
            return format!(", after up to {}", Span::from_ns(self.longest_ns).human_text());
        }
        let longest = Span::from_ns(self.longest_ns).human_text();
        format!(
            " between {:.1} % and {:.1} % of the target, after up to {longest}",
            percent_of_target(*first),
            percent_of_target(last + 1)
        )
    }
}

/// What an error means that says more of the target than that something failed.
fn note_on_error(name: &str) -> &'static str {
    match name {
        "ENOSPC" => " (the target is full)",
        "EDQUOT" => " (over quota)",
        "EROFS" => " (read-only)",
        "ESTALE" => " (the server does not know it any more)",
        _ => "",
    }
}

fn percent_of_target(part: u64) -> f64 {
    part as f64 * 100.0 / PARTS as f64
}

impl fmt::Display for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (measured, place, rule) = (self.counts_text(), self.place_text(), self.violated_rule());
        write!(f, "{} on {}: {measured}{place}, first {}; {rule}", self.stream, self.target, self.first)
    }
}

/// A moment of a run, as a reason names it. While a run waits for what is in flight, nothing is measured: a time that only said how
/// long ago the run began would lie behind the end of the run that the reader knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// While operations were due: nanoseconds since the run began, warm-up included.
    UnderLoad(u64),
    /// Nanoseconds since the last operation was due.
    AfterLoad(u64),
}

impl Default for Moment {
    fn default() -> Moment {
        Moment::UnderLoad(0)
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Moment::UnderLoad(ns) => write!(f, "{} into the run", Span::from_ns(*ns).human_text()),
            Moment::AfterLoad(ns) => write!(f, "{} after the load had ended", Span::from_ns(*ns).human_text()),
        }
    }
}

/// Whether a criterion may allow an error of this name: the device answered, and what was written is not known to be damaged. One that
/// the log does not name may be anything.
pub(crate) fn may_be_excused(name: &str) -> bool {
    !is_damage(name) && name != "other" && name != Code::NOT_SUBMITTED.to_string()
}

/// The error of a transaction that found a lock on its database which none of the run's own sessions can hold: those of
/// SQLite write in turn, and a transaction that meets a lock all the same is tried again ten times.
pub(crate) const LOCK: &str = "SQLITE_BUSY";

/// Whether an error with this name is such a lock.
pub(crate) fn is_lock(name: &str) -> bool {
    name == LOCK
}

/// Whether an error with this name is a read of damaged data.
pub(crate) fn is_damage(name: &str) -> bool {
    Code::DAMAGE.iter().any(|kind| kind.to_string() == name)
}
