//! The I/O scheduler of the devices, set for the length of a run and put back at its end, however it ends: the old ones are
//! written back when [`Schedulers`] is dropped, after a normal end, an error, a signal and a panic. After a kill (SIGKILL)
//! nothing can be put back, and the next run finds the scheduler that was set; the kernel does not report who set it.

use crate::failure::{Failure, escaped_path};
use crate::files;
use crate::observer::Tell;
use crate::open::targets::Targets;
use assay_device::safety::DevNum;
use std::path::{Path, PathBuf};

/// Names in kernels before 5.0, with their present equivalents; the only similar successor of `cfq` is `bfq`.
const OLD_NAMES: [(&str, &str); 3] = [("noop", "none"), ("deadline", "mq-deadline"), ("cfq", "bfq")];

/// The schedulers that were changed.
#[derive(Debug)]
pub struct Schedulers {
    changed: Vec<Changed>,
    notes: Vec<String>,
    /// Gets a message when one could not be put back.
    notify: Tell,
}

#[derive(Debug)]
struct Changed {
    file: PathBuf,
    before: String,
    /// False when it had that scheduler already.
    restore: bool,
}

impl Schedulers {
    /// Gives every block device among `targets` the scheduler `wanted`; with `None`, and for targets without a queue of their
    /// own, nothing is done. When one cannot be set, those set before are put back; `tell` is called with those that cannot be put back.
    pub fn set_all(wanted: Option<&str>, targets: &Targets, notify: Tell) -> Result<Schedulers, Failure> {
        let mut schedulers = Schedulers { changed: Vec::new(), notes: Vec::new(), notify };
        let Some(wanted) = wanted else { return Ok(schedulers) };
        for (index, real) in targets.real_targets().iter().enumerate() {
            match real.disk.and_then(queue_of) {
                Some(file) => schedulers.set_one(&file, wanted, targets.target_name(index))?,
                None => schedulers
                    .notes
                    .push(format!("scheduler: {} is not a device and has no scheduler", targets.target_name(index))),
            }
        }
        Ok(schedulers)
    }

    fn set_one(&mut self, file: &Path, wanted: &str, target: &str) -> Result<(), Failure> {
        let offered = std::fs::read_to_string(file).map_err(|e| not_possible(target, "read", file, &e))?;
        let name = chosen_name(wanted, &offered).map_err(|list| {
            Failure::bad_workload(format!(
                "the kernel has no scheduler \"{}\" for {target}\n  = it offers {list}",
                wanted.escape_debug()
            ))
        })?;
        let before = current_scheduler(&offered);
        if before != name {
            files::set_kernel_value(file, &name).map_err(|e| not_possible(target, "set", file, &e))?;
        }
        let old = if name == wanted { String::new() } else { format!(" ({wanted} in older kernels)") };
        self.notes.push(format!("scheduler of {target}: {name}{old} for this run, {before} before and after"));
        self.changed.push(Changed { file: file.to_owned(), restore: before != name, before });
        Ok(())
    }

    /// What was done, for the log.
    pub fn log_notes(&self) -> Vec<String> {
        self.notes.clone()
    }
}

impl Drop for Schedulers {
    fn drop(&mut self) {
        for Changed { file, before, restore } in &self.changed {
            if let (true, Err(e)) = (restore, files::set_kernel_value(file, before)) {
                (self.notify)(&format!("warning: {} could not be set back to {before}: {e}", escaped_path(file)));
            }
        }
    }
}

/// The file that shows and sets the scheduler of a device; that of a partition is the one of its disk.
fn queue_of(number: DevNum) -> Option<PathBuf> {
    let dir = std::fs::canonicalize(format!("/sys/dev/block/{number}")).ok()?;
    [Some(dir.as_path()), dir.parent()]
        .into_iter()
        .flatten()
        .map(|dir| dir.join("queue/scheduler"))
        .find(|f| f.exists())
}

/// The kernel's name for `wanted`, among those in `offered` (`[none] mq-deadline`); the error is the list.
fn chosen_name(wanted: &str, offered: &str) -> Result<String, String> {
    let names: Vec<&str> = offered.split_whitespace().map(|name| name.trim_matches(['[', ']'])).collect();
    let today = OLD_NAMES.iter().find(|(old, _)| *old == wanted).map_or(wanted, |(_, new)| new);
    let found = [wanted, today].into_iter().find(|name| names.contains(name));
    found.map(str::to_owned).ok_or_else(|| names.join(", "))
}

/// The name in brackets, or the only one.
fn current_scheduler(offered: &str) -> String {
    let bracketed = offered.split_whitespace().find_map(|name| name.strip_prefix('[')?.strip_suffix(']'));
    bracketed.unwrap_or(offered.trim()).to_owned()
}

fn not_possible(target: &str, done: &str, file: &Path, why: &std::io::Error) -> Failure {
    Failure::host_unable(format!(
        "the scheduler of {target} cannot be {done}: {}: {why}\n  = run as root, or remove `scheduler` from the workload",
        escaped_path(file)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_old_and_new() {
        let offered = "[none] mq-deadline kyber bfq";
        for (wanted, found) in
            [("none", "none"), ("noop", "none"), ("deadline", "mq-deadline"), ("cfq", "bfq"), ("kyber", "kyber")]
        {
            assert_eq!(chosen_name(wanted, offered), Ok(found.to_owned()));
        }
        assert_eq!(chosen_name("noop", "[noop] cfq"), Ok("noop".into()), "an old kernel's own name");
        assert_eq!(chosen_name("cfq", "[none] mq-deadline"), Err("none, mq-deadline".into()));
        assert_eq!(
            (current_scheduler("none [mq-deadline]"), current_scheduler("none\n")),
            ("mq-deadline".into(), "none".into())
        );
    }

    #[test]
    fn what_was_set_is_put_back_even_in_a_panic() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("scheduler");
        std::fs::write(&file, "none [mq-deadline]").unwrap();
        let run = std::panic::catch_unwind(|| {
            let mut schedulers = Schedulers { changed: Vec::new(), notes: Vec::new(), notify: |_| {} };
            schedulers.set_one(&file, "noop", "d").unwrap();
            assert_eq!(std::fs::read_to_string(&file).unwrap(), "none");
            assert!(
                schedulers.log_notes()[0].contains("none (noop in older kernels) for this run, mq-deadline before")
            );
            panic!("the run dies");
        });
        assert!(run.is_err());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "mq-deadline");
        let mut schedulers = Schedulers { changed: Vec::new(), notes: Vec::new(), notify: |_| {} };
        assert!(schedulers.set_one(&file, "cfq", "d").is_err());
    }
}
