//! The fingerprint of the host: everything about it that can distort a result.

use super::target::bracketed_choice;
use crate::safety::{Roots, read_attribute, read_number};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The limits that the control group sets for this process.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct CgroupLimits {
    /// Number of CPUs' worth of time; absent when not limited.
    pub cpus: Option<f64>,
    /// Bytes of memory; absent when not limited.
    pub memory: Option<u64>,
    /// Number of processes and threads; absent when not limited.
    pub pids: Option<u64>,
}

/// The properties of the host, as far as they are known.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct HostFingerprint {
    /// Host name.
    pub hostname: Option<String>,
    /// Kernel release.
    pub kernel: Option<String>,
    /// Kernel command line.
    pub command_line: Option<String>,
    /// CPU model.
    pub cpu_model: Option<String>,
    /// CPUs that are online.
    pub cpus: Option<u32>,
    /// NUMA nodes.
    pub numa_nodes: Option<u32>,
    /// Frequency governor of the first CPU; absent where the kernel does not control the frequency.
    pub governor: Option<String>,
    /// Bytes of memory.
    pub memory: Option<u64>,
    /// Whether the CPU reports a hypervisor; absent where the CPU has no such flag.
    pub virtualised: Option<bool>,
    /// Maker and product name from the firmware.
    pub product: Option<String>,
    /// Current clock source.
    pub clocksource: Option<String>,
    /// Transparent huge pages: always, madvise or never.
    pub huge_pages: Option<String>,
    /// Limits of the control group.
    pub cgroup: CgroupLimits,
    /// RLIMIT_MEMLOCK in bytes; `u64::MAX` when unlimited.
    pub memlock: Option<u64>,
}

/// Reads the facts of the host.
pub fn read_host(roots: &Roots) -> HostFingerprint {
    let cpuinfo = read_attribute(&roots.proc.join("cpuinfo")).unwrap_or_default();
    let cpu = roots.sys.join("devices/system/cpu");
    HostFingerprint {
        hostname: read_attribute(&roots.proc.join("sys/kernel/hostname")),
        kernel: read_attribute(&roots.proc.join("sys/kernel/osrelease")),
        command_line: read_attribute(&roots.proc.join("cmdline")),
        cpu_model: first_field(&cpuinfo, "model name").or_else(|| first_field(&cpuinfo, "Model")),
        cpus: read_attribute(&cpu.join("online")).and_then(|text| count_list(&text)),
        numa_nodes: read_attribute(&roots.sys.join("devices/system/node/online")).and_then(|text| count_list(&text)),
        governor: read_attribute(&cpu.join("cpu0/cpufreq/scaling_governor")),
        memory: memory_bytes(roots),
        virtualised: first_field(&cpuinfo, "flags").map(|flags| flags.split(' ').any(|flag| flag == "hypervisor")),
        product: product_name(roots),
        clocksource: current_clocksource(roots),
        huge_pages: read_attribute(&roots.sys.join("kernel/mm/transparent_hugepage/enabled"))
            .and_then(|text| bracketed_choice(&text)),
        cgroup: cgroup_limits(roots),
        memlock: memlock_limit(roots),
    }
}

/// The kernel's current clock source.
pub fn current_clocksource(roots: &Roots) -> Option<String> {
    read_attribute(&roots.sys.join("devices/system/clocksource/clocksource0/current_clocksource"))
}

/// The value of the first `key : value` line.
fn first_field(text: &str, key: &str) -> Option<String> {
    let value = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim().to_owned())
    });
    value.filter(|v| !v.is_empty())
}

/// How many numbers a list like `0-3,8` names.
pub(super) fn count_list(text: &str) -> Option<u32> {
    text.split(',').map(count_range).try_fold(0u32, |sum, n| sum.checked_add(n?))
}

fn memory_bytes(roots: &Roots) -> Option<u64> {
    of_memory(roots, "MemTotal")
}

/// Bytes of memory that this program can still be given without swapping, as the kernel estimates it, and at most what its
/// control group allows.
pub(crate) fn available_memory(roots: &Roots) -> Option<u64> {
    of_memory(roots, "MemAvailable").into_iter().chain(cgroup_limits(roots).memory).min()
}

fn of_memory(roots: &Roots, name: &str) -> Option<u64> {
    let found = first_field(&read_attribute(&roots.proc.join("meminfo"))?, name)?;
    found.strip_suffix(" kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

fn product_name(roots: &Roots) -> Option<String> {
    let dmi = roots.sys.join("class/dmi/id");
    let words: Vec<String> =
        ["sys_vendor", "product_name"].iter().filter_map(|n| read_attribute(&dmi.join(n))).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

fn memlock_limit(roots: &Roots) -> Option<u64> {
    let limits = read_attribute(&roots.proc.join("self/limits"))?;
    let soft = limits.lines().find_map(|line| line.strip_prefix("Max locked memory"))?.split_whitespace().next()?;
    if soft == "unlimited" { Some(u64::MAX) } else { soft.parse().ok() }
}

/// How often the processor quotas of control groups stopped threads, and for how long in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Throttled {
    /// Number of periods of a quota in which threads were stopped.
    pub periods: u64,
    /// Time for which each processor's threads were stopped, summed, in nanoseconds.
    pub ns: u64,
}

/// What the processor quotas on the path from this process's group up to the root have done so far; all zeros where there
/// is no quota. Source: `cpu.stat` of control groups, `nr_throttled` in both versions of the interface, `throttled_time` in
/// nanoseconds in version 1, `throttled_usec` in version 2.
pub fn throttled(roots: &Roots) -> Throttled {
    let mut all = Throttled::default();
    for dir in group_directories(roots) {
        let Some(stat) = read_attribute(&dir.join("cpu.stat")) else { continue };
        let value = |name: &str| stat.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
        let ns = value("throttled_time ").or_else(|| value("throttled_usec ")?.checked_mul(1000));
        all.periods = all.periods.saturating_add(value("nr_throttled ").unwrap_or(0));
        all.ns = all.ns.saturating_add(ns.unwrap_or(0));
    }
    all
}

/// The tightest limit on the path from this process's group up to the root, in either version of the interface.
fn cgroup_limits(roots: &Roots) -> CgroupLimits {
    let mut limits = CgroupLimits::default();
    group_directories(roots).iter().for_each(|dir| tighten_limits(&mut limits, dir));
    limits
}

/// The directories of this process's control groups, from the group itself up to the root of each controller, in either
/// version of the interface. Each directory is there once, also where two controllers are mounted together.
fn group_directories(roots: &Roots) -> BTreeSet<PathBuf> {
    let groups = read_attribute(&roots.proc.join("self/cgroup")).unwrap_or_default();
    let base = roots.sys.join("fs/cgroup");
    let mut directories = BTreeSet::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let mounts = match controllers {
            "" => vec![base.clone(), base.join("unified")],
            named => named.split(',').map(|c| base.join(c)).chain([base.join(named)]).collect(),
        };
        for mount in mounts {
            let inner = mount.join(path.trim_start_matches('/'));
            let above = inner.ancestors().take_while(|dir| dir.starts_with(&mount));
            // `cpu` is often a link to `cpu,cpuacct`.
            directories.extend(above.map(|dir| dir.canonicalize().unwrap_or_else(|_| dir.to_owned())));
        }
    }
    directories
}

fn tighten_limits(limits: &mut CgroupLimits, dir: &Path) {
    // Version 1 writes "no limit" as the largest multiple of a page.
    let bytes = |name: &str| read_number(&dir.join(name)).filter(|n| *n < 1 << 62);
    limits.memory = lower_limit(lower_limit(limits.memory, bytes("memory.max")), bytes("memory.limit_in_bytes"));
    limits.pids = lower_limit(limits.pids, read_number(&dir.join("pids.max")));
    let quota = read_attribute(&dir.join("cpu.max")).and_then(|text| {
        let (quota, period) = text.split_once(' ')?;
        quota_ratio(quota.parse().ok()?, period.trim().parse().ok()?)
    });
    let quota = quota.or_else(|| {
        quota_ratio(read_number(&dir.join("cpu.cfs_quota_us"))?, read_number(&dir.join("cpu.cfs_period_us"))?)
    });
    limits.cpus = limits.cpus.into_iter().chain(quota).reduce(f64::min);
}

fn quota_ratio(quota: u64, period: u64) -> Option<f64> {
    (period > 0).then(|| quota as f64 / period as f64)
}

/// How many numbers `0-3` or `7` stands for.
fn count_range(part: &str) -> Option<u32> {
    match part.split_once('-') {
        Some((first, last)) => {
            let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
            last.checked_sub(first)?.checked_add(1)
        }
        None => part.parse::<u32>().ok().map(|_| 1),
    }
}

/// The lower of two limits.
fn lower_limit(old: Option<u64>, new: Option<u64>) -> Option<u64> {
    old.into_iter().chain(new).min()
}
