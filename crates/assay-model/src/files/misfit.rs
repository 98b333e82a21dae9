//! Why a sequence of operations is impossible.

/// Why operations cannot follow each other as they stand in a sequence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Misfit {
    /// What is wrong.
    pub what: String,
    /// What to write instead.
    pub remedy: String,
}

impl Misfit {
    pub(super) fn new(what: impl Into<String>, remedy: impl Into<String>) -> Misfit {
        Misfit { what: what.into(), remedy: remedy.into() }
    }
}
