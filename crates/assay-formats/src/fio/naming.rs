//! Names of streams and loops: those of the jobs, each once.

use super::job::Job;
use std::collections::{BTreeMap, BTreeSet};

/// Longest part of the name of a job that the names of its streams begin with, in characters.
const LONGEST: usize = 40;

/// The names that are in use.
#[derive(Debug, Default)]
pub(super) struct Names {
    taken: BTreeSet<String>,
    /// For names that several wanted, the number that the next one is tried with.
    next: BTreeMap<String, u64>,
}

impl Names {
    /// Takes the name `plain`, or if it is taken, that name with a number after it.
    pub(super) fn take_name(&mut self, plain: String) -> String {
        if self.taken.insert(plain.clone()) {
            return plain;
        }
        let next = self.next.entry(plain.clone()).or_insert(2);
        loop {
            let name = format!("{plain}.{next}");
            *next += 1;
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }
}

/// The beginning of the names of a copy's streams: the name of the job, and the number of the copy if there are
/// several.
pub(super) fn name_stem(job: &Job<'_>, copy: u64, copies: u64) -> String {
    let stem = usable_name(&job.name);
    if copies > 1 { format!("{stem}.{copy}") } else { stem }
}

/// A name of a job as a part of names of streams: characters that these may not have become `-`.
pub(super) fn usable_name(name: &str) -> String {
    let characters = name.chars().take(LONGEST);
    characters.map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_taken_once() {
        let mut names = Names::default();
        let wanted = ["a", "a", "a.2", "a", "b", "a.2"];
        let taken = wanted.map(|name| names.take_name(name.to_owned()));
        assert_eq!(taken, ["a", "a.2", "a.2.2", "a.3", "b", "a.2.3"]);
    }
}
