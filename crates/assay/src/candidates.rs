//! Completions for arguments: shipped workloads, files, devices and simulated targets where they fit. Nothing is
//! opened: device names are those that the kernel lists.

use assay_device::probe;
use assay_device::safety::Roots;
use assay_run::workloads::{self, all_shipped};
use clap_complete::engine::{CompletionCandidate, PathCompleter, ValueCompleter};
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Targets that need no device.
const INVENTED: [(&str, &str); 4] = [
    ("sim:flash", "a simulated drive that holds its load"),
    ("sim:flash-worn", "a simulated drive that degrades after five hours"),
    ("sim:disk", "a simulated disk that turns"),
    ("null:1GiB", "nothing at all: what this machine can issue"),
];
/// Stands for the whole certification, in place of a workload.
pub(crate) const CERTIFY: &str = "certify";

/// Names of the workloads that come with the program.
pub(crate) fn shipped_workloads() -> Vec<CompletionCandidate> {
    all_shipped().map(|(name, _)| shipped_workload(name)).collect()
}

fn shipped_workload(name: &str) -> CompletionCandidate {
    let described = workloads::find_workload(name).map(|workload| workload.description).unwrap_or_default();
    CompletionCandidate::new(name).help(Some(described.into()))
}

/// A shipped workload, or a file.
pub(crate) fn workload_candidates(current: &OsStr) -> Vec<CompletionCandidate> {
    those_beginning_with(current, shipped_workloads()).into_iter().chain(matching_files(current, is_workload)).collect()
}

/// Like [`workloads`], plus the word for the whole certification.
pub(crate) fn explain_candidates(current: &OsStr) -> Vec<CompletionCandidate> {
    let certify = CompletionCandidate::new(CERTIFY).help(Some("what a certification would do".into()));
    those_beginning_with(current, vec![certify]).into_iter().chain(workload_candidates(current)).collect()
}

/// A device, a file, or a simulated or null target.
pub(crate) fn target_candidates(current: &OsStr) -> Vec<CompletionCandidate> {
    let invented = INVENTED.map(|(name, what)| CompletionCandidate::new(name).help(Some(what.into())));
    those_beginning_with(current, invented.into()).into_iter().chain(device_candidates(current)).collect()
}

/// Candidates for the word after the first workload, or for the first word if a workload may be left out.
pub(crate) fn workloads_and_targets(current: &OsStr) -> Vec<CompletionCandidate> {
    those_beginning_with(current, shipped_workloads()).into_iter().chain(target_candidates(current)).collect()
}

/// A device that the kernel lists, or a file.
pub(crate) fn device_candidates(current: &OsStr) -> Vec<CompletionCandidate> {
    let within_dev = current.to_string_lossy().starts_with("/dev/");
    let listed = probe::candidate_devices(&Roots::of_machine())
        .unwrap_or_default()
        .into_iter()
        .map(OsString::from)
        .map(CompletionCandidate::new);
    // In /dev itself the files are the devices.
    let listed = if within_dev { Vec::new() } else { those_beginning_with(current, listed.collect()) };
    listed.into_iter().chain(matching_files(current, |_| true)).collect()
}

fn those_beginning_with(current: &OsStr, mut candidates: Vec<CompletionCandidate>) -> Vec<CompletionCandidate> {
    let current = current.as_encoded_bytes();
    candidates.retain(|candidate| candidate.get_value().as_encoded_bytes().starts_with(current));
    candidates
}

fn matching_files(current: &OsStr, which: fn(&Path) -> bool) -> Vec<CompletionCandidate> {
    let mut found = PathCompleter::any().filter(which).complete(current);
    found.retain(|candidate| candidate.get_value() != ".");
    found
}

/// Whether it ends like a workload or configuration; directories lead to more files.
fn is_workload(path: &Path) -> bool {
    path.is_dir() || path.extension().is_some_and(|end| ["toml", "conf", "fio"].iter().any(|known| end == *known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_every_kind_of_workload_are_offered() {
        for (name, offered) in [("a.toml", true), ("a.conf", true), ("job.fio", true), ("a.txt", false), ("fio", false)]
        {
            assert_eq!(is_workload(Path::new(name)), offered, "{name}");
        }
    }
}
