//! What the hosts of a run have of its targets: each a target of its own, or each rank a range of a shared one. Two ranks to which the
//! kernel shows different boots stand for two hosts.

use crate::hosts::{Mpi, told};
use crate::real_targets::{Bench, ENDED, TwoMounts, WORKLOAD};
use assay_base::stamp::Stamp;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// Before the command of a rank: it believes to be on a host that was booted as this file says.
fn on_host_of(boot: &Path) -> Vec<String> {
    let enter = "mount --bind \"$1\" /proc/sys/kernel/random/boot_id && shift && exec \"$@\"";
    let words = ["unshare", "-m", "sh", "-c", enter, "sh"];
    words.into_iter().map(str::to_owned).chain([boot.display().to_string()]).collect()
}

/// The prefixes of ranks on two hosts.
pub(crate) fn two_hosts(bench: &Bench) -> [Vec<String>; 2] {
    [("one", '1'), ("two", '2')].map(|(name, digit)| {
        let boot = bench.path(&format!("boot-{name}"));
        std::fs::write(&boot, format!("{}\n", String::from(digit).repeat(32))).unwrap();
        on_host_of(&boot)
    })
}

fn with_hosts(bench: &Bench, keys: &str) {
    std::fs::write(bench.path("mixed.toml"), format!("{WORKLOAD}[hosts]\n{keys}\n")).unwrap();
}

/// The run numbers of the blocks in each part of a target.
fn writers_of_parts(content: &[u8], parts: usize) -> Vec<BTreeSet<u32>> {
    let each = content.len() / parts;
    let of_part = |part: &[u8]| part.chunks(4096).filter_map(Stamp::read_from_block).map(|stamp| stamp.run).collect();
    content.chunks(each).take(parts).map(of_part).collect()
}

/// Two hosts with a disk each: each carries the whole load, with numbers of its own, and the result is that of both.
#[test]
fn hosts_with_disks_of_their_own_carry_the_load_each() {
    for mpi in Mpi::all_installed() {
        let bench = Bench::new();
        with_hosts(&bench, "targets = \"own\"");
        let (Some(first), Some(second)) = (bench.loop_device("a"), bench.loop_device("b")) else { return };
        let prefixes = two_hosts(&bench);
        let consents = bench.path("consents");
        // The token of a disk without a serial number is one of its host.
        let lines = [(&first, &prefixes[0]), (&second, &prefixes[1])].map(|(disk, prefix)| {
            let mut command = Command::new(&prefix[0]);
            command.args(&prefix[1..]).arg(env!("CARGO_BIN_EXE_assay")).args(["devices", "--consent", &disk.device]);
            let output = command.output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{}", told(&output));
            String::from_utf8(output.stdout).unwrap()
        });
        std::fs::write(&consents, lines.concat()).unwrap();
        let more = format!("--hosts 2 --consent-file {}", consents.display());
        let before = [&first, &second].map(|disk| disk.bytes_written());
        let words = [&first, &second].map(|disk| bench.run_words(&disk.device, &more));
        // A file that does not name their host keeps all from beginning.
        let text = std::fs::read_to_string(&consents).unwrap();
        let elsewhere = text.lines().map(|line| format!("elsewhere {}\n", line.split_once(' ').unwrap().1));
        std::fs::write(&consents, elsewhere.collect::<String>()).unwrap();
        let output = mpi.command_of_two_hosts([&prefixes[0], &prefixes[1]], &words[0], &words[1]).output().unwrap();
        assert_eq!(output.status.code(), Some(4), "{}: {}", mpi.name, told(&output));
        assert!(told(&output).contains("has no token for"), "{}: {}", mpi.name, told(&output));
        assert_eq!([&first, &second].map(|disk| disk.bytes_written()), before, "{}", mpi.name);
        assert!(!bench.path("run").exists(), "{}", mpi.name);
        std::fs::write(&consents, text).unwrap();
        let output = mpi.command_of_two_hosts([&prefixes[0], &prefixes[1]], &words[0], &words[1]).output().unwrap();
        assert!(ENDED.contains(&output.status.code()), "{}: {}", mpi.name, told(&output));
        // Each host is asked for the whole load: 200 writes a second for three seconds.
        for (rank, (disk, before)) in [&first, &second].into_iter().zip(before).enumerate() {
            let log = format!("run/hosts/{rank:04}/run.jsonl");
            let due = bench.sum_of(&log, 1, "scheduled");
            assert!(due.abs_diff(600) <= 2, "{}: rank {rank}: {due}", mpi.name);
            // The claim is 4 KiB.
            assert_eq!(
                disk.bytes_written() - before,
                bench.sum_of(&log, 1, "bytes") + 4096,
                "{}: rank {rank}",
                mpi.name
            );
        }
        assert!(bench.sum_of("run/run.jsonl", 1, "scheduled").abs_diff(1200) <= 4, "{}", mpi.name);
        let header = &bench.lines_of_kind("run/run.jsonl", "header")[0];
        assert_eq!(header["plan"]["hosts"], "own");
        assert_eq!(header["streams"][1]["rate"], "400/s", "{header}");
        let places = header["hosts"].as_array().unwrap().iter().map(|host| (&host["first_part"], &host["all_parts"]));
        assert_eq!(places.collect::<Vec<_>>(), [(&Value::from(0), &Value::from(1)); 2]);
        // Other places are written on the second host than on the first.
        let written = [&first, &second].map(|disk| {
            let content = disk.content();
            let blocks =
                content.chunks(16 << 10).enumerate().filter(|(_, block)| Stamp::read_from_block(block).is_some());
            blocks.map(|(at, _)| at).collect::<Vec<usize>>()
        });
        assert!(written[0] != written[1], "{}: both hosts drew the same numbers", mpi.name);
        bench.check_merged();
    }
}

/// What is said to be each host's own is shared: every rank says no, and no byte is changed.
#[test]
fn a_target_that_is_not_a_hosts_own_is_refused_by_all() {
    for mpi in Mpi::all_installed() {
        let bench = Bench::new();
        with_hosts(&bench, "targets = \"own\"");
        std::fs::create_dir(bench.path("shared")).unwrap();
        let data = bench.prepare_file("shared/data.img");
        let Some(mounts) = TwoMounts::of_directory(&bench, &bench.path("shared")) else { return };
        let before = std::fs::read(&data).unwrap();
        let [first, second] = mounts.targets("data.img").map(|target| bench.run_words(&target, "--hosts 2"));
        let prefixes = two_hosts(&bench);
        let output = mpi.command_of_two_hosts([&prefixes[0], &prefixes[1]], &first, &second).output().unwrap();
        assert_eq!(output.status.code(), Some(4), "{}: {}", mpi.name, told(&output));
        assert!(told(&output).contains("is not of this host alone"), "{}: {}", mpi.name, told(&output));
        assert!(before == std::fs::read(&data).unwrap(), "{}: a byte was changed", mpi.name);
        assert!(!bench.path("run").exists(), "{}: nobody has begun", mpi.name);
    }
}

/// Each of four ranks writes to its quarter of one device, and nowhere else.
#[test]
fn ranks_with_ranges_of_their_own_write_there_alone() {
    for mpi in Mpi::all_installed() {
        let bench = Bench::new();
        with_hosts(&bench, "ranges = \"disjoint\"");
        let Some(device) = bench.loop_device("disk") else { return };
        let before = device.bytes_written();
        let more = format!("--hosts 4 --destroy-data {}", bench.token_of(&device));
        let output = mpi.command(4, &bench.run_words(&device.device, &more)).output().unwrap();
        assert!(ENDED.contains(&output.status.code()), "{}: {}", mpi.name, told(&output));
        assert_eq!(device.bytes_written() - before, bench.sum_of("run/run.jsonl", 1, "bytes"), "{}", mpi.name);
        assert!(bench.sum_of("run/run.jsonl", 1, "scheduled").abs_diff(600) <= 4, "{}", mpi.name);
        let writers = writers_of_parts(&device.content(), 4);
        assert!(writers.iter().all(|of_part| of_part.len() == 1), "{}: {writers:?}", mpi.name);
        assert_eq!(writers.iter().flatten().collect::<BTreeSet<_>>().len(), 4, "{}: {writers:?}", mpi.name);
        assert_eq!(bench.lines_of_kind("run/run.jsonl", "header")[0]["plan"]["hosts"], "disjoint");
        bench.check_merged();
    }
}

/// What a rank has written in its own range it can compare; of what is shared it cannot.
#[test]
fn ranks_verify_what_they_wrote_in_their_own_ranges() {
    let bench = Bench::new();
    with_hosts(&bench, "ranges = \"disjoint\"");
    let text = std::fs::read_to_string(bench.path("mixed.toml")).unwrap();
    std::fs::write(bench.path("mixed.toml"), text.replacen("model =", "verify = true\nmodel =", 1)).unwrap();
    let file = bench.prepare_file("data.img").display().to_string();
    let run = |out: &str| bench.assay(&["run", "mixed.toml", &file, "--local", "4", "--out", out]);
    let output = run("run");
    assert!(ENDED.contains(&output.status.code()), "{}", told(&output));
    let verdict: Value = serde_json::from_slice(&std::fs::read(bench.path("run/verdict.json")).unwrap()).unwrap();
    let integrity = &verdict["integrity"];
    assert!(integrity["verified_reads"].as_u64().unwrap_or(0) > 0, "{integrity}");
    assert_eq!(integrity["damaged"], 0, "{integrity}");
    bench.check_merged();
}

/// Ranges that are too small for the load, and targets of different sizes: nothing is made.
#[test]
fn ranges_that_do_not_suit_are_refused_before_anything_is_made() {
    let bench = Bench::new();
    with_hosts(&bench, "ranges = \"disjoint\"");
    let target = bench.prepare_file("data.img").display().to_string();
    let output = bench.assay(&["run", "mixed.toml", &target, "--local", "32", "--out", "run"]);
    assert_eq!(output.status.code(), Some(3), "{}", told(&output));
    assert!(told(&output).contains("a rank has a range of"), "{}", told(&output));
    assert!(!bench.path("run").exists());
    let other = bench.path("other.img").display().to_string();
    let made = bench.assay(&["prep", &other, "--create", "32MiB"]);
    assert_eq!(made.status.code(), Some(0), "{}", told(&made));
    let output = bench.assay(&["run", "mixed.toml", &target, &other, "--local", "2", "--out", "run"]);
    assert_eq!(output.status.code(), Some(3), "{}", told(&output));
    assert!(told(&output).contains("give targets of the same size"), "{}", told(&output));
    assert!(!bench.path("run").exists());
}
