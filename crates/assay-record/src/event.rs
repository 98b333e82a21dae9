//! Something that happened at a moment, and the words for it in a log.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;

/// Something that happened at a moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// When, on the run's time line, nanoseconds.
    pub at_ns: u64,
    /// Its kind.
    pub what: EventKind,
    /// The sentence for people.
    pub text: String,
    /// Figures, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub details: BTreeMap<String, String>,
}

/// The name of a figure of a mark: the kind of the part that begins with it.
pub const PART: &str = "part";
/// The name of a figure of a mark: the number by which whoever asked for it knows it again.
pub const MARK_ID: &str = "id";

/// The name of a figure of an event about the page cache: the share of the pages of files that were in it before a phase (0 to 1).
pub const CACHED_SHARE: &str = "cached_share";

macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $kind:ident = $word:literal,)+) => {
        /// The kind of an event. A word that this version does not know is kept as it was read.
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum EventKind {
            $($(#[doc = $doc])+ $kind,)+
            /// Any other kind, with its word. Only `From` creates it, so a known word is never here.
            Other(UnknownWord),
        }

        impl EventKind {
            /// All kinds that have a word of their own.
            pub const KNOWN: &[EventKind] = &[$(EventKind::$kind),+];

            /// Its word in the log.
            pub fn as_str(&self) -> &str {
                match self {
                    $(EventKind::$kind => $word,)+
                    EventKind::Other(word) => &word.0,
                }
            }
        }

        impl From<&str> for EventKind {
            fn from(word: &str) -> EventKind {
                match word {
                    $($word => EventKind::$kind,)+
                    other => EventKind::Other(UnknownWord(other.to_owned())),
                }
            }
        }
    };
}

kinds! {
    /// An operation failed.
    IoError = "io-error",
    /// An operation moved too few bytes.
    ShortIo = "short-io",
    /// An operation did not complete in time.
    Stuck = "stuck",
    /// A stream has done its operations, and issues no more.
    StreamEnd = "stream-end",
    /// A stream has begun, because the one that it waited for has ended.
    StreamBegin = "stream-begin",
    /// A stuck operation completed later.
    LateCompletion = "late-completion",
    /// What was read differs from what was written.
    Damage = "damage",
    /// The target went away, changed, or failed too often in a row.
    TargetLost = "target-lost",
    /// The schedule fell behind by more than is allowed.
    LagStop = "lag-stop",
    /// The load became steady.
    Steady = "steady",
    /// The load did not become steady in time.
    NotSteady = "not-steady",
    /// Somebody said that another part of the run begins with the next interval.
    Mark = "mark",
    /// One of several ranks has judged its own log.
    RankJudged = "rank-judged",
    /// Nothing was heard of one of several ranks for some time.
    RankSilent = "rank-silent",
    /// One of several ranks was given up: what it did since it was heard last is not known.
    RankLost = "rank-lost",
    /// The engine could not continue.
    EngineFailed = "engine-failed",
    /// Losses and retries between the engine and the kernel.
    EngineHealth = "engine-health",
    /// What the machine is like, where that matters for the result.
    Environment = "environment",
    /// The machine changed during the run.
    EnvironmentChanged = "environment-changed",
    /// Which other programs read and wrote most while others used a disk of the run.
    Neighbours = "neighbours",
    /// What a target reports about its own health.
    Health = "health",
    /// What the run left does not fulfil a condition that it must.
    ConditionBroken = "condition-broken",
    /// Somebody else changed what the run worked on.
    Disturbed = "disturbed",
    /// Nobody else changed what the run worked on until it was cut short.
    Undisturbed = "undisturbed",
    /// What the run left could not be checked.
    Unchecked = "unchecked",
    /// What the run left was checked, and is as it must be.
    Checked = "checked",
    /// What limits the result, found only when the load had ended: a watermark.
    Watermark = "watermark",
    /// The settings of the target at the end.
    Settings = "settings",
    /// The log was continued, and its last line before that was incomplete.
    TornTail = "torn-tail",
    /// Something a reader should know.
    Warning = "warning",
}

/// A word that this version does not know.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnknownWord(String);

impl From<String> for EventKind {
    fn from(word: String) -> EventKind {
        EventKind::from(word.as_str())
    }
}

impl PartialEq<str> for EventKind {
    fn eq(&self, word: &str) -> bool {
        self.as_str() == word
    }
}

impl PartialEq<&str> for EventKind {
    fn eq(&self, word: &&str) -> bool {
        self.as_str() == *word
    }
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for EventKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for EventKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<EventKind, D::Error> {
        String::deserialize(deserializer).map(EventKind::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_read_as_it_was_written_and_an_unknown_word_stays_itself() {
        for kind in EventKind::KNOWN {
            assert!(!matches!(kind, EventKind::Other(_)));
            assert_eq!(&EventKind::from(kind.as_str()), kind);
        }
        for word in ["io-error", "of a later version", "", "IO-ERROR", "a\u{0}b"] {
            let json = serde_json::to_string(word).unwrap();
            let kind: EventKind = serde_json::from_str(&json).unwrap();
            assert_eq!((kind.as_str(), serde_json::to_string(&kind).unwrap()), (word, json));
            assert_eq!(matches!(kind, EventKind::Other(_)), word != "io-error", "{word}");
        }
        for other in ["7", "null", "[\"stuck\"]", "{}"] {
            assert!(serde_json::from_str::<EventKind>(other).is_err(), "{other} is no word");
        }
    }
}
