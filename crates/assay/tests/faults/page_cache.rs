//! Verifying through the page cache: what is read back comes from the disk, and not from the memory that the writes
//! went to. The file is in a file system on a loop device over the fault disk.

use super::devices::{Disk, Mounted, passed_over};
use super::rig::{Rig, beside, is_root};
use assay_faultfs::FaultLoop;

struct Over(FaultLoop);

impl Disk for Over {
    fn path(&self) -> &str {
        self.0.path()
    }
}

/// The fault disk, and a loop device over it, which must be dropped first.
fn disk() -> Option<(Rig, Over)> {
    if !is_root() {
        return None;
    }
    let rig = Rig::full(beside())?;
    let Ok(over) = FaultLoop::over(&rig.fault) else {
        passed_over("no loop device");
        return None;
    };
    Some((rig, Over(over)))
}

/// Prepares a file on the mounted file system, and a job that writes half of it.
fn prepare(rig: &Rig) {
    let said = rig.place.assay(&["prep", "files/data", "--create", "16MiB", "--skip-zero"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    rig.place.write("job.fio", "[writes]\nfilename=files/data\nrw=randwrite\nbs=4k\nsize=8m\nverify=crc32c\n");
}

#[test]
fn what_memory_holds_right_and_the_disk_wrong_is_found_when_it_is_read_back() {
    let Some((rig, over)) = disk() else { return };
    let Some(_mounted) = Mounted::ext4(&over, rig.place.path("files")) else { return };
    prepare(&rig);
    for (fault, damaged) in [("corrupt_every=0", false), ("corrupt_every=2", true)] {
        rig.fault.set(&format!("reset=1 {fault}"));
        let dir = if damaged { "wrong" } else { "right" };
        let said = rig.place.assay(&["run", "job.fio", "--page-cache", "--out", dir]);
        rig.fault.set("corrupt_every=0");
        let verdict = said.is_of_verdict(&rig.place.path(dir));
        let told = std::fs::read(rig.place.path(dir).join("verdict.json")).unwrap();
        let told: serde_json::Value = serde_json::from_slice(&told).unwrap();
        let found = told["integrity"]["damaged"].as_u64().unwrap();
        assert_eq!(damaged, found > 0, "{fault}: {} {}", said.out, rig.fault.truth());
        assert_eq!(damaged, !rig.fault.truth().corrupted.is_empty(), "{}", rig.fault.truth());
        assert_eq!(damaged, verdict == "FAIL", "{}", said.out);
        let seen = told["integrity"]["verified_reads"].as_u64().unwrap() + found;
        assert_eq!(seen, 2048, "{}", told["integrity"]);
    }
}

/// What cannot be written to the disk is lost, although every write was answered: a run that reads its data back never
/// passes then.
#[test]
fn what_memory_cannot_write_to_the_disk_is_told() {
    let Some((rig, over)) = disk() else { return };
    let Some(_mounted) = Mounted::ext4(&over, rig.place.path("files")) else { return };
    prepare(&rig);
    rig.fault.set("reset=1 werr_every=1");
    let said = rig.place.assay(&["run", "job.fio", "--page-cache", "--out", "lost"]);
    rig.fault.set("werr_every=0");
    assert_ne!(said.is_of_verdict(&rig.place.path("lost")), "PASS", "{}", said.out);
    let log = super::bed::Log::of(&rig.place.path("lost"));
    let lost = log.events.iter().find(|event| event.what == "target-lost");
    assert!(lost.is_some_and(|event| event.text.contains("could not be written to its disk")), "{:?}", log.events);
}
