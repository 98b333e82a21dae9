//! A key of a job file, and what becomes of it.

use std::fmt;

/// What becomes of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// It means here what it means to fio.
    Exact,
    /// It runs, with a difference that is told.
    Differs,
    /// It says nothing about the load.
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
    /// The name it has here.
    pub name: &'static str,
    /// Other names of it.
    pub aliases: &'static [&'static str],
    /// What becomes of it.
    pub class: Class,
    /// What it says, where it says something.
    pub means: &'static str,
    /// The difference, or the reason for its class; what is worth knowing of an exact one. May be empty.
    pub told: &'static str,
}

impl Key {
    pub(super) const fn new(
        name: &'static str,
        aliases: &'static [&'static str],
        class: Class,
        means: &'static str,
        told: &'static str,
    ) -> Key {
        Key { name, aliases, class, means, told }
    }
}
