//! Targets that are used through the page cache of the kernel instead of by direct I/O, because the jobs of a job file
//! ask for that and the user agreed.
//!
//! What such a run measures is the page cache with the disk behind it: reads may be answered from memory, and a write is
//! complete when memory has it. The target's own speed is not measured.

use serde::{Deserialize, Serialize};

/// A target that is used through the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageCached {
    /// Its index among the targets of the plan.
    pub target: u16,
    /// What the kernel is told about the order of the operations.
    #[serde(default, skip_serializing_if = "Advice::is_none")]
    pub advice: Advice,
    /// Whether the kernel keeps what it has of the target when a run begins; otherwise it is asked to drop that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keep: bool,
}

/// What the kernel is told about the order of the operations on a file (`posix_fadvise`): it reads ahead accordingly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Advice {
    /// Nothing.
    #[default]
    None,
    /// They are sequential.
    Sequential,
    /// They are random.
    Random,
}

impl Advice {
    fn is_none(&self) -> bool {
        *self == Advice::None
    }
}

impl PageCached {
    /// What a run has to know that uses one target in two ways: what is true of both.
    #[must_use]
    pub fn combined_with(self, other: PageCached) -> PageCached {
        let advice = if self.advice == other.advice { self.advice } else { Advice::None };
        PageCached { advice, keep: self.keep && other.keep, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_uses_what_both_allow_is_done() {
        let of = |advice, keep| PageCached { target: 1, advice, keep };
        for (one, other, both) in [
            (of(Advice::Random, true), of(Advice::Random, true), of(Advice::Random, true)),
            (of(Advice::Random, true), of(Advice::Sequential, false), of(Advice::None, false)),
            (of(Advice::None, false), of(Advice::Random, true), of(Advice::None, false)),
        ] {
            assert_eq!((one.combined_with(other), other.combined_with(one)), (both, both));
        }
    }

    #[test]
    fn what_is_usual_is_not_written() {
        let plain = PageCached { target: 2, advice: Advice::None, keep: false };
        assert_eq!(serde_json::to_string(&plain).unwrap(), r#"{"target":2}"#);
        let whole = PageCached { target: 0, advice: Advice::Random, keep: true };
        let text = serde_json::to_string(&whole).unwrap();
        assert_eq!(text, r#"{"target":0,"advice":"random","keep":true}"#);
        assert_eq!(serde_json::from_str::<PageCached>(&text).unwrap(), whole);
    }
}
