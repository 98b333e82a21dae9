//! Fingerprints of small trees of files, and of the machine the tests run on.

use super::*;
use crate::safety::DevNum;
use std::path::Path;

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

#[test]
fn the_columns_of_stat_read_back() {
    let full = "  994 6 7952 10 1054 3 8432 20 2 30 31 5 0 40 1 7 2";
    let stat = DiskStat::parse_columns(full).unwrap();
    let expected = DiskStat {
        reads: 994,
        read_merges: 6,
        read_sectors: 7952,
        read_ms: 10,
        writes: 1054,
        write_merges: 3,
        write_sectors: 8432,
        write_ms: 20,
        in_flight: 2,
        discards: Some(5),
        discard_sectors: Some(40),
        discard_ms: Some(1),
        flushes: Some(7),
        flush_ms: Some(2),
    };
    assert_eq!(stat, expected);
    let old = DiskStat::parse_columns("1 2 3 4 5 6 7 8 9 10 11").unwrap();
    assert_eq!((old.in_flight, old.flushes, old.flush_ms), (9, None, None));
    for bad in ["", "1 2 3", "a b c d e f g h i j k", "1 2 3 4 5 6 7 8 -1 10 11"] {
        assert_eq!(DiskStat::parse_columns(bad), None, "{bad}");
    }
}

#[test]
fn counters_rise_times_begin_anew_at_32_bits_and_what_fell_is_another_device() {
    let stat = |text: &str| DiskStat::parse_columns(text).unwrap();
    let before = stat("100 5 800 4294967290 10 1 80 7 3 0 0 1 0 8 2 4 9");
    let now = stat("150 5 1200 20 10 1 80 9 8 0 0 1 0 8 2 6 9");
    let since = now.rise_since(&before).unwrap();
    assert_eq!((since.reads, since.read_sectors, since.read_ms, since.write_ms), (50, 400, 26, 2));
    assert_eq!((since.in_flight, since.flushes, since.discard_ms), (8, Some(2), Some(0)));
    assert_eq!(stat("99 5 800 20 10 1 80 9 0 0 0 1 0 8 2 6 9").rise_since(&before), None, "fewer reads than before");
    assert_eq!(stat("100 5 800 20 10 1 80 9 0 0 0 1 0 8 2 3 9").rise_since(&before), None, "fewer flushes than before");
    let old = stat("200 5 900 4294967299 10 1 80 9 0 0 0");
    assert_eq!(
        old.rise_since(&before).map(|since| (since.flushes, since.read_ms)),
        Some((None, 9)),
        "a kernel of 64 bits"
    );
}

/// A database names its directories.
#[test]
fn a_directory_is_on_the_disk_of_its_files() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    let disk = disk_under_path(&Roots::of_machine(), &dir.join("Cargo.toml"));
    assert_eq!(disk_under_path(&Roots::of_machine(), dir), disk, "the same file system");
}

#[test]
fn an_empty_tree_gives_nothing_and_claims_nothing() {
    let (_dir, roots) = tree(&[]);
    assert_eq!(read_host(&roots), HostFingerprint::default());
    assert_eq!(disk_stat(&roots, DevNum { major: 8, minor: 0 }), None);
    assert!(candidate_devices(&roots).unwrap().is_empty());
    assert_eq!(read_target(&roots, Path::new("/nowhere/at/all")), TargetFingerprint::default());
}

#[test]
fn a_host_is_described_by_its_trees() {
    let (_dir, roots) = tree(&[
        ("proc/cpuinfo", "processor\t: 0\nmodel name\t: Some CPU\nflags\t\t: fpu hypervisor sse\n\nprocessor\t: 1\n"),
        ("proc/meminfo", "MemTotal:       2048 kB\nMemAvailable:   1024 kB\n"),
        ("proc/self/limits", "Limit   Soft Limit  Hard Limit  Units\nMax locked memory  65536  65536  bytes\n"),
        ("proc/self/cgroup", "0::/a/b\n"),
        ("sys/fs/cgroup/a/cpu.max", "150000 100000\n"),
        ("sys/fs/cgroup/a/b/cpu.max", "max 100000\n"),
        ("sys/fs/cgroup/a/b/memory.max", "1048576\n"),
        ("sys/fs/cgroup/a/memory.max", "524288\n"),
        ("sys/devices/system/cpu/online", "0-3,8\n"),
        ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
    ]);
    let host = read_host(&roots);
    assert_eq!(host.cpu_model.as_deref(), Some("Some CPU"));
    assert_eq!((host.cpus, host.memory, host.memlock), (Some(5), Some(2 << 20), Some(65536)));
    assert_eq!(host.virtualised, Some(true));
    assert_eq!(host.huge_pages.as_deref(), Some("madvise"));
    assert_eq!(host.cgroup, CgroupLimits { cpus: Some(1.5), memory: Some(524288), pids: None });
    assert_eq!((host.governor, host.clocksource, host.hostname), (None, None, None));
    assert_eq!(available_memory(&roots), Some(524288), "the group's limit is lower");
    std::fs::write(roots.proc.join("meminfo"), "MemTotal:       2048 kB\nMemAvailable:   256 kB\n").unwrap();
    assert_eq!(available_memory(&roots), Some(256 << 10));
    std::fs::remove_file(roots.proc.join("meminfo")).unwrap();
    std::fs::remove_file(roots.proc.join("self/cgroup")).unwrap();
    assert_eq!(available_memory(&roots), None);
}

#[test]
fn what_quotas_stopped_is_summed_from_the_group_up_to_the_root() {
    let (_dir, second_version) = tree(&[
        ("proc/self/cgroup", "0::/a/b\n"),
        ("sys/fs/cgroup/cpu.stat", "usage_usec 9\n"),
        ("sys/fs/cgroup/a/cpu.stat", "usage_usec 9\nnr_periods 50\nnr_throttled 3\nthrottled_usec 7000\n"),
        ("sys/fs/cgroup/a/b/cpu.stat", "nr_periods 50\nnr_throttled 2\nthrottled_usec 500\n"),
    ]);
    assert_eq!(throttled(&second_version), Throttled { periods: 5, ns: 7_500_000 });
    let (_dir, first_version) = tree(&[
        ("proc/self/cgroup", "3:cpuset:/x\n2:cpu,cpuacct:/a\n0::/\n"),
        ("sys/fs/cgroup/cpu,cpuacct/a/cpu.stat", "nr_periods 9\nnr_throttled 4\nthrottled_time 12345\n"),
        ("sys/fs/cgroup/cpu,cpuacct/other/cpu.stat", "nr_periods 9\nnr_throttled 70\nthrottled_time 1\n"),
    ]);
    std::os::unix::fs::symlink("cpu,cpuacct", first_version.sys.join("fs/cgroup/cpu")).unwrap();
    assert_eq!(throttled(&first_version), Throttled { periods: 4, ns: 12_345 }, "a link is not counted again");
    let (_dir, none) = tree(&[("proc/self/cgroup", "0::/a\n")]);
    assert_eq!(throttled(&none), Throttled::default());
}

#[test]
fn this_machine_has_a_kernel_and_a_clock() {
    let host = read_host(&Roots::of_machine());
    assert!(host.kernel.is_some() && host.memory.is_some_and(|m| m > 1 << 20) && host.cpus.is_some_and(|n| n > 0));
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(12345).unwrap();
    let found = read_target(&Roots::of_machine(), file.path());
    assert_eq!(found.size, Some(12345));
    assert!(found.path.is_some());
}

#[test]
fn disks_come_with_their_partitions_and_without_the_hidden_and_the_empty() {
    let (_dir, roots) = tree(&[
        ("sys/block/sda/size", "100\n"),
        ("sys/block/sda/sda1/partition", "1\n"),
        ("sys/block/sda/queue/nr_requests", "64\n"),
        ("sys/block/nvme0c0n1/size", "100\n"),
        ("sys/block/nvme0c0n1/hidden", "1\n"),
        ("sys/block/loop0/size", "0\n"),
        ("sys/block/cciss!c0d0/size", "8\n"),
    ]);
    let names: Vec<PathBuf> = ["cciss/c0d0", "sda", "sda1"].iter().map(|n| roots.dev.join(n)).collect();
    assert_eq!(candidate_devices(&roots).unwrap(), names);
}
