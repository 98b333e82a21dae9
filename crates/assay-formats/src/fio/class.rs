//! A key of a job file, and how this program treats it.

use std::fmt;

/// How this program treats a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// It means here what it means to fio.
    Exact,
    /// A job with it is run, and the difference from fio is reported.
    Differs,
    /// It has no influence on the load.
    NoEffect,
    /// A job with it is not run.
    Refused,
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Class::Exact => "exact",
            Class::Differs => "differs",
            Class::NoEffect => "no effect",
            Class::Refused => "refused",
        })
    }
}

/// A key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// Its usual name.
    pub name: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// How it is treated.
    pub class: Class,
    /// The meaning of the key; may be empty.
    pub means: &'static str,
    /// The difference from fio, or the reason for its class; for an exact key, what is worth knowing about it. May be
    /// empty.
    pub told: &'static str,
    /// The engines of fio that it belongs to, where these are not driven here.
    pub engines: &'static [&'static str],
}

impl Key {
    pub(super) const fn new(
        name: &'static str,
        aliases: &'static [&'static str],
        class: Class,
        means: &'static str,
        told: &'static str,
    ) -> Key {
        Key { name, aliases, class, means, told, engines: &[] }
    }

    /// A key that only these engines know, which are not driven here.
    pub(super) const fn of_engines(
        name: &'static str,
        aliases: &'static [&'static str],
        engines: &'static [&'static str],
    ) -> Key {
        let told = "belongs to an engine that is not driven here";
        Key { name, aliases, class: Class::Refused, means: "", told, engines }
    }

    /// A key of a profile, which does nothing in a job.
    pub(super) const fn of_profile(name: &'static str, told: &'static str) -> Key {
        let means = "nothing: it belongs to a profile of fio";
        Key { name, aliases: &[], class: Class::Differs, means, told, engines: &[] }
    }
}
