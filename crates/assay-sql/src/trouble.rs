//! Why something could not be done with a database: what, where, and what to do, with the class that decides the exit
//! code.

use std::fmt;

/// The class of a [`Trouble`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TroubleKind {
    /// The command line does not make sense.
    Usage,
    /// Refused, because data that is not ours could be lost.
    Refused,
    /// The host, or the database's server, is not able to do it.
    Host,
    /// The database is damaged: it lacks what a load made, or the content of its file makes no sense.
    Damaged,
    /// The database is not in the state that a run needs, so that a run would prove nothing.
    NotReady,
}

/// The kind of the failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// Its class.
    pub kind: TroubleKind,
    text: String,
}

impl Trouble {
    /// The command line does not make sense.
    pub fn bad_usage(text: impl fmt::Display) -> Trouble {
        Trouble { kind: TroubleKind::Usage, text: text.to_string() }
    }
    /// Refused, to protect data.
    pub fn refused_for_safety(text: impl fmt::Display) -> Trouble {
        Trouble { kind: TroubleKind::Refused, text: text.to_string() }
    }
    /// The host is not able to do it.
    pub fn host_unable(text: impl fmt::Display) -> Trouble {
        Trouble { kind: TroubleKind::Host, text: text.to_string() }
    }
    /// The database is damaged.
    pub fn damaged_database(text: impl fmt::Display) -> Trouble {
        Trouble { kind: TroubleKind::Damaged, text: text.to_string() }
    }
    /// The database is not ready for a run.
    pub fn not_ready(text: impl fmt::Display) -> Trouble {
        Trouble { kind: TroubleKind::NotReady, text: text.to_string() }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

impl std::error::Error for Trouble {}
