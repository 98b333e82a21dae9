//! Why something could not be done with a directory: what, where, and what to do, with the class that decides the exit
//! code.

use std::fmt;

/// The class of a [`Trouble`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The command line does not make sense.
    Usage,
    /// Refused, because data that is not ours could be lost, or because the place is too small.
    Refused,
    /// Refused, because another Assay works there at this moment.
    Busy,
    /// The host or its file system is not able to do it.
    Host,
}

/// A failure: its class and its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// Its class.
    pub kind: Kind,
    text: String,
}

impl Trouble {
    /// The command line does not make sense.
    pub fn usage(text: impl fmt::Display) -> Trouble {
        Trouble { kind: Kind::Usage, text: text.to_string() }
    }
    /// Refused, to protect data.
    pub fn refused(text: impl fmt::Display) -> Trouble {
        Trouble { kind: Kind::Refused, text: text.to_string() }
    }
    /// Another Assay works there.
    pub fn busy(text: impl fmt::Display) -> Trouble {
        Trouble { kind: Kind::Busy, text: text.to_string() }
    }
    /// The host is not able to do it.
    pub fn host(text: impl fmt::Display) -> Trouble {
        Trouble { kind: Kind::Host, text: text.to_string() }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

impl std::error::Error for Trouble {}
