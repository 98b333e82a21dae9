//! Why something could not be done with a directory: what, where, and what to do, with the class that decides the exit
//! code.

use assay_base::Code;
use rustix::io::Errno;
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

/// An error of the kernel in words, with its name: `Permission denied (EACCES)`.
pub fn error_in_words(why: Errno) -> String {
    let number = why.raw_os_error();
    let words = std::io::Error::from(why).to_string();
    let words = words.strip_suffix(&format!(" (os error {number})")).unwrap_or(&words);
    format!("{words} ({})", Code(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_the_kernel_has_words_and_its_name() {
        assert_eq!(error_in_words(Errno::ACCESS), "Permission denied (EACCES)");
        assert_eq!(error_in_words(Errno::ROFS), "Read-only file system (EROFS)");
    }
}
