//! A profile, and what is to be said of it.

use assay_model::profile::Profile;

/// A number that no file has.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Missing {
    /// Which.
    pub what: String,
    /// How to come by it.
    pub command: String,
}

/// Two figures that do not fit together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Contradiction {
    /// Both figures.
    pub what: String,
    /// Their places, `file:line`.
    pub places: Vec<String>,
}

/// A profile, and what is to be said of it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Assembled {
    /// What production does.
    pub profile: Profile,
    /// What is missing.
    pub missing: Vec<Missing>,
    /// What does not fit together.
    pub contradictions: Vec<Contradiction>,
}

impl Assembled {
    pub(in crate::collect) fn missing(&mut self, what: impl Into<String>, command: impl Into<String>) {
        self.missing.push(Missing { what: what.into(), command: command.into() });
    }

    pub(in crate::collect) fn contradiction(&mut self, what: impl Into<String>, places: Vec<String>) {
        self.contradictions.push(Contradiction { what: what.into(), places });
    }
}
