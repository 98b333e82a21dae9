//! What on this host would spoil a result, as data: each check with what was found and the command that corrects it.
//!
//! Facts in `/proc` and `/sys` are read under [`Roots`], so that every finding can be tested on a small tree of files.
//! Facts that must be tried (a ring, a priority, free space) are tried by [`try_out`] and passed as [`Tried`]. Nothing
//! here changes the host, and nothing decides whether a target may be written: the safety gate does that.

use crate::clock::Clock;
use crate::facts::Slots;
use crate::probe::{self, HostFingerprint};
use crate::safety::{DevNum, Gate, Identity, Roots, RuleId, names_if_any, read_attribute, read_number};
use crate::uring::Uring;
use crate::usage;
use assay_base::Bytes;
use std::path::Path;

/// Bytes that a ring locks, with ACT's largest operation (128 KiB) in every slot of the default bound (512).
const LOCKED: u64 = 512 * (128 << 10);
/// A log grows by about 3 KB per second with three streams on one target, as measured; twice 24 h are 520 MB.
const LOG: u64 = 1 << 30;
/// Stolen time above this share since boot can add a millisecond to a hundredth of all operations.
const STEAL: f64 = 0.001;
/// Threads that the pool may need: a thread for each operation in flight.
const PIDS: u64 = 1024;

/// One thing that was checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Check {
    /// Short and stable: `io_uring`, `governor` …
    pub id: &'static str,
    /// The target it is about; absent for the host.
    pub target: Option<String>,
    /// False when it would spoil a result.
    pub ok: bool,
    /// The finding.
    pub evidence: String,
    /// The command or the change that corrects it; absent where there is no problem.
    pub remedy: Option<String>,
}

/// The result of a trial.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tried {
    /// The features granted for a ring, or the refusal.
    pub ring: Result<String, String>,
    /// Whether a thread may have real-time priority, or the error.
    pub real_time: Result<(), String>,
    /// Directory of the logs and the bytes free in it, or the error.
    pub free: (String, Result<u64, String>),
}

/// Stack of a thread that asks a single question.
const STACK: usize = 128 << 10;

/// Tries what must be tried. Every resource is given back immediately.
pub fn try_out(log_dir: &Path) -> Tried {
    let slots = Slots { count: 8, spare: 0, bytes: 4096 };
    let ring = Uring::new(Vec::new(), slots, Clock::start()).map_err(|e| e.to_string()).map(|ring| {
        let facts = ring.engine_facts();
        let flags = facts.flags.join(", ");
        if facts.notes.is_empty() { flags } else { format!("{flags}; {}", facts.notes.join("; ")) }
    });
    // In a thread of its own: the priority ends with the thread.
    let asked = std::thread::Builder::new().stack_size(STACK).spawn(|| usage::real_time(1).map_err(|e| e.to_string()));
    let real_time = asked.map_err(|e| e.to_string()).and_then(|asked| {
        asked.join().unwrap_or_else(|_| Err("the thread that asked for it ended without an answer".into()))
    });
    let free = usage::free_bytes(log_dir).map_err(|e| e.to_string());
    Tried { ring, real_time, free: (log_dir.display().to_string(), free) }
}

/// A finding: `Ok` describes what is in order, `Err` what would spoil a result and what to do about it.
type Found = Result<String, (String, String)>;

fn make_check(id: &'static str, target: Option<&str>, found: Found) -> Check {
    let (ok, evidence, remedy) = match found {
        Ok(evidence) => (true, evidence, None),
        Err((evidence, remedy)) => (false, evidence, Some(remedy)),
    };
    Check { id, target: target.map(str::to_owned), ok, evidence, remedy }
}

fn human_bytes(bytes: u64) -> String {
    Bytes::new(bytes).human_text()
}

fn found_problem(evidence: impl Into<String>, remedy: impl Into<String>) -> Found {
    Err((evidence.into(), remedy.into()))
}

/// The properties of the host that distort results, the most harmful first.
pub fn check_host(roots: &Roots, tried: &Tried) -> Vec<Check> {
    let print = probe::read_host(roots);
    let found = [
        ("io_uring", io_uring(roots, tried)),
        ("cpu-limit", cpu_limit(&print)),
        ("memory-limit", memory_limit(&print)),
        ("clocksource", check_clocksource(roots, &print)),
        ("steal", check_steal(roots, &print)),
        ("governor", check_governor(roots)),
        ("real-time", real_time(tried)),
        ("free-space", free_space(tried)),
        ("memlock", check_memlock(&print)),
        ("processes", check_processes(&print)),
        ("swap", check_swap(roots)),
    ];
    found.into_iter().map(|(id, found)| make_check(id, None, found)).collect()
}

fn io_uring(roots: &Roots, tried: &Tried) -> Found {
    let disabled = read_number(&roots.proc.join("sys/kernel/io_uring_disabled"));
    let sysctl = disabled.map_or("not there".into(), |n| n.to_string());
    let seen = format!("kernel.io_uring_disabled is {sysctl}");
    match &tried.ring {
        Ok(granted) => Ok(format!("a ring was granted ({granted}); {seen}")),
        Err(why) => {
            let remedy = if disabled.is_some_and(|n| n > 0) {
                "sysctl -w kernel.io_uring_disabled=0"
            } else {
                "allow io_uring in the container's seccomp profile (docker run --security-opt seccomp=unconfined); without it threads are used"
            };
            found_problem(format!("{why}; {seen}"), remedy)
        }
    }
}

fn cpu_limit(print: &HostFingerprint) -> Found {
    let cpus = print.cpus.map_or("unknown number of".into(), |n| n.to_string());
    match print.cgroup.cpus {
        Some(limit) if print.cpus.is_none_or(|n| limit < f64::from(n)) => found_problem(
            format!(
                "the control group allows {limit:.2} of {cpus} CPUs: the test is stopped whenever it has used them up"
            ),
            "systemctl set-property --runtime UNIT CPUQuota= (docker run without --cpus)",
        ),
        _ => Ok(format!("{cpus} CPUs, not limited by a control group")),
    }
}

/// The memory that a run with the largest usual buffers takes: 1,024 slots of 128 KiB, and some reserve.
const MEMORY: u64 = 256 << 20;

fn memory_limit(print: &HostFingerprint) -> Found {
    match print.cgroup.memory {
        Some(limit) if limit < MEMORY => found_problem(
            format!(
                "the control group allows {} of memory: a run that needs more is killed in the middle",
                human_bytes(limit)
            ),
            "systemctl set-property --runtime UNIT MemoryMax=infinity (docker run without --memory)",
        ),
        limit => {
            Ok(limit.map_or("not limited by a control group".into(), |bytes| format!("{} allowed", human_bytes(bytes))))
        }
    }
}

fn check_clocksource(roots: &Roots, print: &HostFingerprint) -> Found {
    let Some(source) = &print.clocksource else { return Ok("not reported by the kernel".into()) };
    if ["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "xen"].contains(&source.as_str()) {
        return Ok(format!("{source}, read without a system call"));
    }
    let dir = "devices/system/clocksource/clocksource0";
    let others = read_attribute(&roots.sys.join(dir).join("available_clocksource")).unwrap_or_default();
    let remedy = if others.split_whitespace().any(|name| name == "tsc") {
        format!("echo tsc > /sys/{dir}/current_clocksource")
    } else {
        "boot with tsc=reliable if the processor's counter is invariant (journalctl -k | grep -i clocksource says why it was given up)".into()
    };
    found_problem(format!("{source}: every time stamp costs a microsecond or more (others: {others})"), remedy)
}

/// Time stolen since boot as a share of all time; absent where the kernel does not report it.
fn stolen_share(roots: &Roots) -> Option<f64> {
    let stat = read_attribute(&roots.proc.join("stat"))?;
    let figures: Vec<f64> =
        stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace().filter_map(|n| n.parse().ok()).collect();
    // user nice system idle iowait irq softirq steal; the columns after these are already contained in the first two.
    let all: f64 = figures.iter().take(8).sum();
    (all > 0.0).then(|| figures.get(7).map(|steal| steal / all))?
}

fn check_steal(roots: &Roots, print: &HostFingerprint) -> Found {
    let on = print.product.as_deref().unwrap_or("no product name");
    let word = if print.virtualised == Some(true) { "a virtual machine" } else { "no hypervisor seen" };
    match stolen_share(roots) {
        Some(share) if share > STEAL => found_problem(
            format!("{word} ({on}); the hypervisor took {:.2} % of the time since boot", share * 100.0),
            "give the machine processors of its own (pinned, not shared), or test on the host",
        ),
        Some(share) => Ok(format!("{word} ({on}); {:.3} % of the time was stolen since boot", share * 100.0)),
        None => Ok(format!("{word} ({on}); stolen time is not reported by the kernel")),
    }
}

fn check_governor(roots: &Roots) -> Found {
    let cpu = roots.sys.join("devices/system/cpu");
    let names = match names_if_any(&cpu) {
        Ok(names) => names,
        Err(why) => return Ok(format!("unknown: {why}")),
    };
    let governors = names.into_iter().filter_map(|name| {
        let governor = read_attribute(&cpu.join(&name).join("cpufreq/scaling_governor"))?;
        Some((name, governor))
    });
    let all: Vec<(String, String)> = governors.collect();
    match all.iter().find(|(_, governor)| governor != "performance") {
        Some((name, governor)) => found_problem(
            format!("{governor} on {name}: a processor that was idle wakes up slowly"),
            "cpupower frequency-set -g performance",
        ),
        None if all.is_empty() => Ok("the kernel does not control the processor frequency".into()),
        None => Ok(format!("performance on {} CPUs", all.len())),
    }
}

fn real_time(tried: &Tried) -> Found {
    match &tried.real_time {
        Ok(()) => Ok("permitted".into()),
        Err(why) => found_problem(
            format!("not permitted ({why}): other programs may delay an operation that is due"),
            "run as root, or setcap cap_sys_nice+ep on the program, or ulimit -r 99",
        ),
    }
}

fn free_space(tried: &Tried) -> Found {
    let (dir, free) = &tried.free;
    match free {
        Ok(free) if *free < LOG => {
            let what = format!("{} in {dir}; two days of log need {}", human_bytes(*free), human_bytes(LOG));
            found_problem(what, "name another place with --out DIR")
        }
        Ok(free) => Ok(format!("{} in {dir}", human_bytes(*free))),
        Err(why) => found_problem(format!("unknown in {dir}: {why}"), "name another place with --out DIR"),
    }
}

fn check_memlock(print: &HostFingerprint) -> Found {
    match print.memlock {
        Some(limit) if limit < LOCKED => found_problem(
            format!(
                "{} may be locked; {} are needed for 512 operations of 128 KiB in flight",
                human_bytes(limit),
                human_bytes(LOCKED)
            ),
            "ulimit -l unlimited (LimitMEMLOCK=infinity in a unit, docker run --ulimit memlock=-1)",
        ),
        Some(u64::MAX) => Ok("unlimited".into()),
        Some(limit) => Ok(human_bytes(limit)),
        None => Ok("not reported by the kernel".into()),
    }
}

fn check_processes(print: &HostFingerprint) -> Found {
    match print.cgroup.pids {
        Some(limit) if limit < PIDS => found_problem(
            format!(
                "the control group allows {limit} threads; without io_uring one is needed for each operation in flight"
            ),
            "systemctl set-property --runtime UNIT TasksMax=infinity (docker run --pids-limit=-1)",
        ),
        limit => Ok(limit.map_or("not limited".into(), |n| format!("{n} allowed"))),
    }
}

fn check_swap(roots: &Roots) -> Found {
    let table = read_attribute(&roots.proc.join("swaps")).unwrap_or_default();
    let areas: Vec<(&str, u64)> = table.lines().skip(1).filter_map(area_and_use).collect();
    match areas.iter().find(|(_, used)| *used > 0) {
        Some((area, used)) => found_problem(
            format!("{used} KiB are swapped out to {area}: memory is short, and swapping is I/O"),
            "swapoff -a",
        ),
        None if areas.is_empty() => Ok("off".into()),
        None => Ok("on, but empty".into()),
    }
}

/// The properties of one target that distort results. Nothing is opened for writing.
pub fn check_target(roots: &Roots, path: &Path) -> Vec<Check> {
    let name = path.display().to_string();
    let print = probe::read_target(roots, path);
    let identity = print
        .number
        .as_deref()
        .and_then(DevNum::parse_numbers)
        .and_then(|device| Identity::read_identity(roots, device));
    let Some(disk) = identity.map(|identity| file_name(&identity.disk_dir)) else {
        let found = found_problem("no disk was found under this name", "name a block device or a file that exists");
        return vec![make_check("target", Some(&name), found)];
    };
    let found = [
        ("users", check_users(roots, path)),
        ("scheduler", check_scheduler(&print, &disk)),
        ("write-cache", write_cache(&print, &disk)),
        ("queue-length", queue_length(&print)),
    ];
    found.into_iter().map(|(id, found)| make_check(id, Some(&name), found)).collect()
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The gate's own answers about who else uses it.
fn check_users(roots: &Roots, path: &Path) -> Found {
    let exam = Gate::new(roots.clone()).examine_path(path);
    let asked = [RuleId::S2, RuleId::S4, RuleId::S5, RuleId::S6];
    let no = exam.rules.iter().find(|rule| !rule.ok && asked.contains(&rule.id));
    match no {
        Some(rule) => found_problem(format!("{}: {}", rule.id, rule.evidence), rule.id.remedy()),
        None => Ok("no other user".into()),
    }
}

fn check_scheduler(print: &probe::TargetFingerprint, disk: &str) -> Found {
    match (print.scheduler.as_deref(), print.rotational) {
        (None, _) => Ok("not reported by the kernel".into()),
        (Some("none"), _) => Ok("none".into()),
        (Some(other), Some(true)) => Ok(format!("{other}, on a disk with heads to move")),
        (Some(other), _) => found_problem(
            format!("{other}: it reorders and delays the operations of the test"),
            format!("echo none > /sys/block/{disk}/queue/scheduler (or scheduler = \"none\" in the workload)"),
        ),
    }
}

/// No problem by itself: it depends on the load, which the plan and the result are held against.
fn queue_length(print: &probe::TargetFingerprint) -> Found {
    Ok(print.nr_requests.map_or("not reported by the kernel".into(), |tags| {
        format!("{tags} requests at a time (nr_requests): of a load with more in flight, the others wait in the kernel, which is a part of their response")
    }))
}

fn write_cache(print: &probe::TargetFingerprint, disk: &str) -> Found {
    match print.write_cache.as_deref() {
        None => Ok("not reported by the kernel".into()),
        Some("write back") => {
            let off = match disk.get(..2) {
                Some("nv") => format!("nvme set-feature -f 6 -v 0 /dev/{disk}"),
                Some("sd") => format!("hdparm -W 0 /dev/{disk}"),
                // A virtual disk's cache is that of the host, a loop device's that of the file below it.
                _ => format!("switch it off on the host or the file system that provides /dev/{disk}"),
            };
            found_problem(
                "write back: writes are answered from a volatile cache, and a loss of power loses them",
                format!("{off}, if production runs without it; otherwise leave it and say so"),
            )
        }
        Some(other) => Ok(other.to_owned()),
    }
}

/// The name of an area of swap, and how much of it is used.
fn area_and_use(line: &str) -> Option<(&str, u64)> {
    let mut words = line.split_whitespace();
    Some((words.next()?, words.nth(2)?.parse().ok()?))
}

#[cfg(test)]
mod tests;
