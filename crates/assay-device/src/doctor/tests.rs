//! A host without problems, and the same host with one problem at a time.

use super::*;

fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, Roots) {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let roots = Roots { proc: dir.path().join("proc"), sys: dir.path().join("sys"), dev: dir.path().join("dev") };
    (dir, roots)
}

/// A machine without problems.
const WELL: &[(&str, &str)] = &[
    ("proc/cpuinfo", "flags\t\t: fpu sse\n"),
    ("proc/self/limits", "Max locked memory  unlimited  unlimited  bytes\n"),
    ("proc/self/cgroup", "0::/a\n"),
    ("proc/stat", "cpu  1000 0 1000 8000 0 0 0 1 0 0\n"),
    ("proc/swaps", "Filename Type Size Used Priority\n/dev/sda2 partition 1000 0 -2\n"),
    ("proc/sys/kernel/io_uring_disabled", "0\n"),
    ("sys/fs/cgroup/a/cpu.max", "max 100000\n"),
    ("sys/fs/cgroup/a/pids.max", "4096\n"),
    ("sys/fs/cgroup/a/memory.max", "max\n"),
    ("sys/devices/system/cpu/online", "0-3\n"),
    ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n"),
    ("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance\n"),
    ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
    ("sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc hpet acpi_pm\n"),
];

fn tried() -> Tried {
    Tried { ring: Ok("SINGLE_ISSUER".into()), real_time: Ok(()), free: ("/logs".into(), Ok(1 << 40)) }
}

/// The checks that fail when these files replace those of the good machine.
fn wrong(changed: &[(&str, &str)], tried: &Tried) -> Vec<Check> {
    let kept = WELL.iter().filter(|(path, _)| changed.iter().all(|(other, _)| other != path));
    let files: Vec<(&str, &str)> = kept.chain(changed).copied().collect();
    let (_dir, roots) = tree(&files);
    check_host(&roots, tried).into_iter().filter(|check| !check.ok).collect()
}

#[test]
fn a_well_host_has_nothing_to_mend() {
    assert_eq!(wrong(&[], &tried()), []);
}

#[test]
fn each_thing_wrong_is_found_alone_and_has_its_remedy() {
    let clock = "sys/devices/system/clocksource/clocksource0";
    let (current, available) = (format!("{clock}/current_clocksource"), format!("{clock}/available_clocksource"));
    let refused = Tried { ring: Err("io_uring is refused: EPERM".into()), ..tried() };
    let low = Tried { real_time: Err("EPERM".into()), ..tried() };
    let full = Tried { free: ("/logs".into(), Ok(1000)), ..tried() };
    let unknown = Tried { free: ("/logs".into(), Err("ENOENT".into())), ..tried() };
    type Case<'a> = (&'a str, Vec<(&'a str, &'a str)>, &'a Tried, &'a str, &'a str);
    let well = tried();
    let cases: Vec<Case> = vec![
        ("io_uring", vec![("proc/sys/kernel/io_uring_disabled", "2\n")], &refused, "is 2", "io_uring_disabled=0"),
        ("io_uring", vec![], &refused, "EPERM", "seccomp"),
        ("cpu-limit", vec![("sys/fs/cgroup/a/cpu.max", "150000 100000\n")], &well, "1.50 of 4", "CPUQuota"),
        ("memory-limit", vec![("sys/fs/cgroup/a/memory.max", "67108864\n")], &well, "64 MiB", "MemoryMax"),
        ("clocksource", vec![(&current, "hpet\n")], &well, "hpet", "echo tsc >"),
        ("clocksource", vec![(&current, "hpet\n"), (&available, "hpet\n")], &well, "hpet", "tsc=reliable"),
        ("steal", vec![("proc/stat", "cpu  1000 0 1000 8000 0 0 0 500 0 0\n")], &well, "4.76 %", "pinned"),
        (
            "governor",
            vec![("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave\n")],
            &well,
            "powersave on cpu1",
            "cpupower",
        ),
        ("real-time", vec![], &low, "EPERM", "cap_sys_nice"),
        ("free-space", vec![], &full, "1000 B", "--out"),
        ("free-space", vec![], &unknown, "ENOENT", "--out"),
        (
            "memlock",
            vec![("proc/self/limits", "Max locked memory  65536  65536  bytes\n")],
            &well,
            "64 KiB",
            "ulimit -l",
        ),
        ("processes", vec![("sys/fs/cgroup/a/pids.max", "100\n")], &well, "100 threads", "TasksMax"),
        (
            "swap",
            vec![("proc/swaps", "Filename Type Size Used Priority\n/dev/sda2 partition 1000 77 -2\n")],
            &well,
            "77 KiB",
            "swapoff",
        ),
    ];
    for (id, changed, tried, evidence, remedy) in cases {
        let found = wrong(&changed, tried);
        assert_eq!(found.iter().map(|check| check.id).collect::<Vec<_>>(), [id], "{changed:?}");
        assert!(found[0].evidence.contains(evidence), "{:?}", found[0]);
        assert!(found[0].remedy.as_deref().unwrap().contains(remedy), "{:?}", found[0]);
    }
}

#[test]
fn a_host_that_tells_nothing_is_not_accused() {
    let (_dir, roots) = tree(&[]);
    assert!(check_host(&roots, &tried()).iter().all(|check| check.ok));
}

#[test]
fn a_queue_that_reorders_and_a_cache_that_forgets() {
    let queue = |scheduler: &str, rotational, cache: &str| probe::TargetFingerprint {
        scheduler: Some(scheduler.into()),
        rotational: Some(rotational),
        write_cache: Some(cache.into()),
        ..probe::TargetFingerprint::default()
    };
    let flash = queue("mq-deadline", false, "write back");
    let (_, remedy) = check_scheduler(&flash, "nvme0n1").unwrap_err();
    assert!(remedy.contains("echo none > /sys/block/nvme0n1/queue/scheduler"), "{remedy}");
    assert!(write_cache(&flash, "nvme0n1").unwrap_err().1.contains("nvme set-feature"));
    assert!(write_cache(&flash, "sda").unwrap_err().1.contains("hdparm"));
    let disk = queue("mq-deadline", true, "write through");
    assert!(check_scheduler(&disk, "sda").is_ok() && write_cache(&disk, "sda").is_ok());
    assert!(check_scheduler(&queue("none", false, "write through"), "sda").is_ok());
}

#[test]
fn a_name_that_leads_nowhere_is_said_so() {
    let (_dir, roots) = tree(&[]);
    let checks = check_target(&roots, Path::new("/nowhere/at/all"));
    assert!(checks.len() == 1 && !checks[0].ok && checks[0].id == "target", "{checks:?}");
}

#[test]
fn this_machine_answers() {
    let checks = check_host(&Roots::of_machine(), &try_out(&std::env::temp_dir()));
    assert_eq!(checks.len(), 11);
    assert!(checks.iter().all(|check| !check.evidence.is_empty() && check.ok == check.remedy.is_none()));
}
