//! Partitions, on real loop devices: a blank one is a device like any other, the table that lists it is not its
//! content, and runs on two of them do not disturb each other. The whole disk is still refused.
#![allow(clippy::disallowed_methods, reason = "a test makes files of its own")]
#![allow(clippy::unwrap_used, reason = "a helper that cannot go on ends its test")]

use crate::safety_common;

use assay_device::safety::{Gate, Request, RuleId::*, Watermark};
use safety_common::live::{Holder, Loop, have, root, run, skip, turn};
use safety_common::offer::{admit, dir, examine, protected};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

const MIB: u64 = 1 << 20;

/// A disk with a table in sfdisk's input format; `None` where the kernel accepts no partitions.
fn parted(dir: &Path, name: &str, size: u64, table: &str) -> Option<Loop> {
    if !(root() && have("sfdisk") && have("partx")) {
        return None;
    }
    let image = dir.join(name);
    std::fs::File::create(&image).unwrap().set_len(size).unwrap();
    let script = format!("printf '{table}' | sfdisk -q {}", image.display());
    run(&["sh", "-c", &script]).unwrap();
    let disk = Loop::over(&image, &["--direct-io=on", "-P"]);
    // A kernel that does not read tables accepts partitions that are added explicitly.
    if !part(&disk, 1).exists()
        && let Err(why) = run(&["partx", "-a", &disk.dev])
    {
        skip(&why);
        return None;
    }
    Some(disk)
}

fn part(disk: &Loop, n: u32) -> PathBuf {
    PathBuf::from(format!("{}p{n}", disk.dev))
}

const DOS: &str = "label: dos\\nsize=8M, type=83\\nsize=8M, type=83\\nsize=20M, type=5\\n";

/// Three partitions, an extended one, and a logical one in it.
const LOGICAL: &str = "label: dos\\nsize=8M\\nsize=8M\\nsize=8M\\nsize=30M, type=5\\nsize=8M\\n";

#[test]
fn a_blank_partition_is_a_device_like_any_other() {
    let (_turn, dir) = (turn(), dir());
    let tables = [
        ("dos", DOS.to_owned() + "size=8M, type=83\\n", vec![1, 2, 4]),
        ("logical", LOGICAL.to_owned(), vec![1, 5]),
        ("gpt", "label: gpt\\nsize=8M, name=first\\nsize=8M\\n".to_owned(), vec![1, 2]),
    ];
    for (name, table, blank) in tables {
        let Some(disk) = parted(dir.path(), name, 64 * MIB, &table) else { return };
        let whole = if name == "gpt" { "GPT" } else { "DOS partition table" };
        protected(&format!("the disk, {name}"), disk.path(), &[&disk.image], S7, whole);
        for n in blank {
            let path = part(&disk, n);
            let told = run(&["blkid", "-p", "-o", "export", path.to_str().unwrap()]).unwrap();
            assert!(told.contains("PART_ENTRY_NUMBER"), "blkid tells the entry, or this test shows nothing: {told}");
            let permit = admit(&path, &[]).unwrap_or_else(|refusal| panic!("{name} {n}: {refusal}"));
            assert_eq!(permit.full_shape().size, 8 * MIB, "{name} {n}");
            assert!(permit.overridden_rules().is_empty());
        }
    }
}

#[test]
fn what_a_partition_holds_is_its_content() {
    let (_turn, dir) = (turn(), dir());
    let Some(disk) = parted(dir.path(), "disk", 64 * MIB, DOS) else { return };
    // The extended one contains a table of its own.
    protected("an extended partition", &part(&disk, 3), &[&disk.image], S7, "");
    for (command, words) in [(&["mkfs.ext4", "-q", "-F"][..], "ext2/3/4"), (&["mkswap"], "swap")] {
        if !have(command[0]) {
            continue;
        }
        let second = part(&disk, 2);
        run(&[command, &[second.to_str().unwrap()]].concat()).unwrap();
        protected(command[0], &second, &[&disk.image], S7, words);
        assert!(admit(&part(&disk, 1), &[]).is_ok(), "what is beside it is none of its content");
    }
    // A table within a partition, as in an image of a virtual machine.
    let first = part(&disk, 1);
    run(&["sh", "-c", &format!("echo ',,83' | sfdisk -q --label dos {}", first.display())]).unwrap();
    protected("a table within", &first, &[&disk.image], S7, "DOS partition table");
}

/// Runs as another run: admits the target that it is told to and holds it.
#[test]
#[ignore = "started by the tests of two runs"]
fn another_run() {
    let Some(path) = std::env::var_os("ASSAY_TEST_HOLD") else { return };
    let permit = admit(Path::new(&path), &[]).unwrap();
    std::io::stdout().write_all(b"held\n").unwrap();
    std::io::stdout().flush().unwrap();
    let _ = std::io::stdin().read_line(&mut String::new());
    drop(permit);
}

/// Runs as another run that only reads.
#[test]
#[ignore = "started by the test of readers"]
fn a_run_that_reads() {
    let Some(path) = std::env::var_os("ASSAY_TEST_HOLD") else { return };
    let pass = Gate::of_machine().admit_read(&Request::new(Path::new(&path))).unwrap();
    std::io::stdout().write_all(b"held\n").unwrap();
    std::io::stdout().flush().unwrap();
    let _ = std::io::stdin().read_line(&mut String::new());
    drop(pass);
}

fn run_on(path: &Path) -> Holder {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "safety_partitions::another_run", "--ignored", "--nocapture"])
        .env("ASSAY_TEST_HOLD", path);
    Holder::start(&mut command)
}

#[test]
fn runs_on_two_partitions_are_apart_and_name_each_other() {
    let (_turn, dir) = (turn(), dir());
    let Some(disk) = parted(dir.path(), "disk", 64 * MIB, DOS) else { return };
    let (first, second) = (part(&disk, 1), part(&disk, 2));
    let other = run_on(&first);
    let permit = admit(&second, &[]).unwrap_or_else(|refusal| panic!("{refusal}"));
    let named = permit.result_watermarks().iter().any(|mark| match mark {
        Watermark::Neighbour(who) => {
            who.contains(&format!("process {} ", other.child.id())) && who.contains(first.to_str().unwrap())
        }
        _ => false,
    });
    assert!(named && permit.overridden_rules().is_empty(), "{:?}", permit.result_watermarks());
    protected("the partition of the other run", &first, &[], S2, &format!("process {} ", other.child.id()));
    protected("the disk of both", disk.path(), &[], S2, "EBUSY");
    drop(permit);
    drop(other);
    let alone = admit(&second, &[]).unwrap();
    assert!(!alone.result_watermarks().iter().any(|mark| matches!(mark, Watermark::Neighbour(_))));
    // One run may use both.
    let both = admit(&first, &[]).unwrap();
    drop((alone, both));
}

#[test]
fn whoever_has_all_of_the_disk_has_each_partition() {
    let (_turn, dir) = (turn(), dir());
    let Some(disk) = parted(dir.path(), "disk", 64 * MIB, DOS) else { return };
    let second = part(&disk, 2);
    for (what, script, rule) in [
        ("a writer", format!("exec 3<>{}; echo held; read x", disk.dev), S6),
        ("a writer with the shared lock", format!("exec 3<>{}; flock -s 3; echo held; read x", disk.dev), S6),
        ("a reader with a lock for itself", format!("exec 3<{}; flock -x 3; echo held; read x", disk.dev), S13),
    ] {
        let _holder = Holder::shell(&script);
        protected(what, &second, &[&disk.image], rule, "");
    }
    let locked = Holder::shell(&format!("exec 3<{}; flock -x 3; echo held; read x", disk.dev));
    assert_eq!(admit(&second, &[S6]).unwrap_err().rule, S13, "the lock of the whole disk is not overridden");
    drop(locked);
    let shared = Holder::shell(&format!("exec 3<{}; flock -s 3; echo held; read x", disk.dev));
    assert!(admit(&second, &[]).is_ok(), "what another run on another partition holds");
    drop(shared);
    let reader = Holder::shell(&format!("exec 3<{}; echo held; read x", disk.dev));
    let permit =
        admit(&second, &[]).unwrap_or_else(|refusal| panic!("who only reads the disk destroys nothing: {refusal}"));
    let process = format!("process {} ", reader.child.id());
    let named = |mark: &Watermark| matches!(mark, Watermark::Reader(who) if who.contains(&process));
    assert!(permit.result_watermarks().iter().any(named), "{:?}", permit.result_watermarks());
    drop((permit, reader));
    // A run that reads all of the disk is no holder of its lock alone.
    let whole = Gate::of_machine().admit_read(&Request::new(disk.path())).unwrap();
    let reads = Holder::start(
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "safety_partitions::a_run_that_reads", "--ignored", "--nocapture"])
            .env("ASSAY_TEST_HOLD", disk.path()),
    );
    protected("the partition of a disk that a run reads", &second, &[&disk.image], S6, "has locked it");
    drop((whole, reads));
    assert!(Gate::of_machine().admit_read(&Request::new(&second)).is_ok());
    assert!(examine(&second).accepted);
}
