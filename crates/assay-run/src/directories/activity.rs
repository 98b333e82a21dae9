//! Whether the process that makes the calls does anything: its threads are given processors, or wait in calls that do not
//! return. The kernel counts how often each thread gave its processor up, and it tells this also of a process that can
//! answer nothing.

use std::fs;

/// What the kernel counted at some moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Activity {
    switches: u64,
    threads: u64,
}

impl Activity {
    /// That of a process; `None` where the kernel does not tell.
    pub(super) fn of_process(id: u32) -> Option<Activity> {
        let mut activity = Activity::default();
        for thread in fs::read_dir(format!("/proc/{id}/task")).ok()? {
            let Ok(status) = fs::read_to_string(thread.ok()?.path().join("status")) else { continue };
            activity.switches += switches_in(&status);
            activity.threads += 1;
        }
        Some(activity)
    }
}

/// Whether a process was stopped by a signal, so that it does nothing until somebody lets it go on.
pub(super) fn is_stopped(id: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    status.lines().any(|line| line.starts_with("State:") && line.contains("(stopped)"))
}

/// The sum of both kinds of switches in a `status` of the kernel.
fn switches_in(status: &str) -> u64 {
    let mut sum = 0;
    for line in status.lines() {
        if let Some((name, number)) = line.split_once(':')
            && name.ends_with("ctxt_switches")
        {
            sum += number.trim().parse::<u64>().unwrap_or(0);
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_switches_count() {
        let status = "Name:\tassay\nvoluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t3\n";
        assert_eq!(switches_in(status), 153);
        let own = Activity::of_process(std::process::id()).unwrap();
        assert!(own.threads > 0 && own.switches > 0, "{own:?}");
        assert_eq!(Activity::of_process(u32::MAX), None);
    }
}
