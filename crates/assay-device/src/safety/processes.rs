//! The processes that `/proc` lists, and whether it lists all of them.
//!
//! A walk over processes proves that nobody uses a device only where it could see everybody. So an error is returned
//! where `/proc` does not even list this process, and what may hide others is named: `hidepid`, and a missing right to
//! look into other processes.

use super::mounts::{list_mounts, mount_of};
use super::roots::{Roots, names_in, read_attribute};
use std::path::Path;

/// The number of the first process namespace (PROC_PID_INIT_INO, include/linux/proc_ns.h).
const FIRST_PID_NAMESPACE: &str = "pid:[4026531836]";
/// The number of the first user namespace (PROC_USER_INIT_INO).
const FIRST_USER_NAMESPACE: &str = "user:[4026531837]";
/// The capability to look into other processes (CAP_SYS_PTRACE, include/uapi/linux/capability.h).
const SYS_PTRACE: u32 = 19;

/// The processes that `/proc` lists.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Processes {
    /// Process ids in ascending order, without this process.
    pub others: Vec<u32>,
    /// Whether the ids are those that system calls of this process take: not where `/proc` is that of another
    /// namespace.
    pub are_ours: bool,
    /// Why processes may be missing in the list, if there is a reason.
    pub concealed: Option<String>,
}

/// Lists the processes.
///
/// # Errors
/// `/proc` cannot be read, or does not list this process and so may list nobody.
pub(super) fn list_processes(roots: &Roots) -> Result<Processes, String> {
    let proc = roots.proc.display();
    // The id of this process in the namespace of this `/proc`, which may be another one than that of system calls.
    let own = std::fs::read_link(roots.proc.join("self")).ok().and_then(|to| to.to_str()?.parse::<u32>().ok());
    let own =
        own.ok_or_else(|| format!("{proc}/self does not name this process: {proc} does not show who is there"))?;
    let mut ids: Vec<u32> = names_in(&roots.proc)?.iter().filter_map(|name| name.parse().ok()).collect();
    if !ids.contains(&own) {
        return Err(format!("{proc} lists no process, not even this one"));
    }
    ids.retain(|id| *id != own);
    ids.sort_unstable();
    Ok(Processes { others: ids, are_ours: own == std::process::id(), concealed: hidden_processes(roots)? })
}

/// Whether `/proc` is mounted so that it leaves out processes into which this process may not look (proc(5), hidepid).
fn hidden_processes(roots: &Roots) -> Result<Option<String>, String> {
    let path = roots.proc.join("self/mountinfo");
    let table = list_mounts(&path).map_err(|e| super::roots::cannot_read(&path, &e))?;
    let mount = mount_of(&table, Path::new("/proc")).filter(|mount| mount.kind == "proc");
    let options = mount.map_or("", |mount| mount.options.as_str());
    let hiding = options
        .split(',')
        .find(|option| option.starts_with("hidepid=") && !matches!(*option, "hidepid=0" | "hidepid=off"));
    match hiding {
        Some(option) if !may_look_into_all(roots) => {
            Ok(Some(format!("{} is mounted with {option}, which hides processes", roots.proc.display())))
        }
        _ => Ok(None),
    }
}

/// Whether this process has the right to look into every process of the machine.
pub(super) fn may_look_into_all(roots: &Roots) -> bool {
    let status = read_attribute(&roots.proc.join("self/status")).unwrap_or_default();
    let effective = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("CapEff:")?.trim(), 16).ok());
    effective.is_some_and(|bits| bits >> SYS_PTRACE & 1 == 1) && in_namespace(roots, "user", FIRST_USER_NAMESPACE)
}

/// Whether every process of the machine is visible at all.
pub(super) fn in_first_namespace(roots: &Roots) -> bool {
    in_namespace(roots, "pid", FIRST_PID_NAMESPACE)
}

fn in_namespace(roots: &Roots, kind: &str, name: &str) -> bool {
    std::fs::read_link(roots.proc.join("self/ns").join(kind)).is_ok_and(|space| space == Path::new(name))
}

/// The remedy by which every process can be looked into.
pub(super) fn how_to_see_all(roots: &Roots) -> &'static str {
    if !rustix::process::geteuid().is_root() {
        "run as root"
    } else if may_look_into_all(roots) {
        "a security module of this machine forbids it"
    } else {
        "root lacks the capability SYS_PTRACE here: run outside the container, or give it that capability (docker run --cap-add SYS_PTRACE)"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    const ALL: &str = "CapEff:\t000001ffffffffff\n";
    const WITHOUT_PTRACE: &str = "CapEff:\t000001fffff7ffff\n";

    /// A `/proc` that lists these processes, the first of which is this one.
    fn machine(ids: &[&str], options: &str, status: &str) -> (tempfile::TempDir, Roots) {
        let dir = tempfile::tempdir().unwrap();
        let proc = dir.path().join("proc");
        std::fs::create_dir(&proc).unwrap();
        ids.iter().for_each(|id| std::fs::create_dir(proc.join(id)).unwrap());
        if let Some(own) = ids.first() {
            symlink(own, proc.join("self")).unwrap();
            std::fs::create_dir(proc.join("self/ns")).unwrap();
            symlink(FIRST_USER_NAMESPACE, proc.join("self/ns/user")).unwrap();
            let table = format!("1 0 0:5 / / rw - tmpfs none rw\n2 1 0:6 / /proc rw - proc proc {options}\n");
            std::fs::write(proc.join("self/mountinfo"), table).unwrap();
            std::fs::write(proc.join("self/status"), status).unwrap();
        }
        let roots = Roots { proc, ..Roots::of_machine() };
        (dir, roots)
    }

    #[test]
    fn a_list_without_this_process_is_an_error() {
        let (_dir, roots) = machine(&[], "rw", ALL);
        assert!(list_processes(&roots).unwrap_err().contains("does not name this process"));
        let (_dir, roots) = machine(&["12", "7", "31"], "rw", ALL);
        let found = list_processes(&roots).unwrap();
        assert_eq!((found.others.as_slice(), found.concealed), (&[7, 31][..], None));
        std::fs::remove_dir_all(roots.proc.join("12")).unwrap();
        assert!(list_processes(&roots).unwrap_err().contains("not even this one"));
        let gone = Roots { proc: roots.proc.join("nothing"), ..roots };
        assert!(list_processes(&gone).is_err());
    }

    #[test]
    fn what_may_hide_processes_is_named() {
        for (options, status, hides) in [
            ("rw", WITHOUT_PTRACE, false),
            ("rw,hidepid=0", WITHOUT_PTRACE, false),
            ("rw,hidepid=off", WITHOUT_PTRACE, false),
            ("rw,gid=27,hidepid=1", WITHOUT_PTRACE, true),
            ("rw,hidepid=2", WITHOUT_PTRACE, true),
            ("rw,hidepid=invisible", WITHOUT_PTRACE, true),
            ("rw,hidepid=ptraceable", "", true),
            ("rw,hidepid=invisible", ALL, false),
        ] {
            let (_dir, roots) = machine(&["12"], options, status);
            let found = list_processes(&roots).unwrap().concealed;
            assert_eq!(found.is_some(), hides, "{options} {status}: {found:?}");
        }
        // The rights of root in another user namespace do not reach processes outside it.
        let (_dir, roots) = machine(&["12"], "rw,hidepid=2", ALL);
        std::fs::remove_file(roots.proc.join("self/ns/user")).unwrap();
        symlink("user:[4026532222]", roots.proc.join("self/ns/user")).unwrap();
        assert!(list_processes(&roots).unwrap().concealed.is_some());
    }

    #[test]
    fn the_real_proc_lists_this_process() {
        let found = list_processes(&Roots::of_machine()).unwrap();
        assert!(!found.others.contains(&std::process::id()) && found.are_ours, "{found:?}");
    }
}
