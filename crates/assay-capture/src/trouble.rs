//! Why there is no capture.

use std::fmt;
use std::io;
use std::path::Path;

/// Why there is no capture, and what to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trouble {
    /// A sentence without its full stop.
    pub what: String,
    /// What to do.
    pub remedy: String,
    /// Whether the command line is wrong; otherwise this machine cannot do it.
    pub is_usage: bool,
}

impl Trouble {
    pub(crate) fn of_host(what: impl Into<String>, remedy: impl Into<String>) -> Trouble {
        Trouble { what: what.into(), remedy: remedy.into(), is_usage: false }
    }

    pub(crate) fn of_usage(what: impl Into<String>, remedy: impl Into<String>) -> Trouble {
        Trouble { what: what.into(), remedy: remedy.into(), is_usage: true }
    }

    /// A file of the kernel that cannot be read or written.
    pub(crate) fn of_file(path: &Path, did: &str, error: &io::Error) -> Trouble {
        let name = path.to_string_lossy();
        Trouble::of_host(
            format!("{} cannot be {did}: {error}", name.escape_debug()),
            "run it as root; in a container, give it /sys/kernel/tracing",
        )
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.what)
    }
}
