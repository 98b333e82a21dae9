//! A profile, and findings about it.

use super::super::findings::Remark;
use assay_model::profile::Profile;

/// A number that is in no file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Missing {
    /// Its name.
    pub what: String,
    /// How to collect it.
    pub command: String,
}

/// Two figures that contradict each other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Contradiction {
    /// Both figures.
    pub what: String,
    /// Their places, `file:line`.
    pub places: Vec<String>,
}

/// A profile, and findings about it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Assembled {
    /// The profile of production.
    pub profile: Profile,
    /// The figures that are missing.
    pub missing: Vec<Missing>,
    /// Contradictions.
    pub contradictions: Vec<Contradiction>,
    /// The findings in the files that the profile has no place for.
    pub unused: Vec<Remark>,
}

impl Assembled {
    pub(in crate::collect) fn add_missing(&mut self, what: impl Into<String>, command: impl Into<String>) {
        self.missing.push(Missing { what: what.into(), command: command.into() });
    }

    pub(in crate::collect) fn add_contradiction(&mut self, what: impl Into<String>, places: Vec<String>) {
        self.contradictions.push(Contradiction { what: what.into(), places });
    }
}
