//! Every workload on files that comes with the program, on a tmpfs and on ext4 over a loop device: no call fails, what was written is there
//! at the end, and nothing is left. Their trees are small here; what clients do is as it is shipped.

use crate::bed::{Log, Place};
use crate::directories::texts;
use crate::directories_mounts::MountPoint;
use crate::mounts::OnLoop;
use crate::rig::beside;
use assay_record::EventKind;
use std::fs;
use std::path::Path;

/// The names of the workloads.
fn shipped() -> Vec<String> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads/files");
    let files = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut names: Vec<String> = files.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// The same workload with a tree of 100 files at most, and without large ones.
fn made_small(text: &str) -> String {
    let mut lines = Vec::new();
    for line in text.lines() {
        let number = line.strip_prefix("files").map(|rest| rest.trim_start_matches([' ', '=']).replace('_', ""));
        let is_many = number.and_then(|number| number.parse::<u64>().ok()).is_some_and(|number| number > 100);
        lines.push(if is_many { "files = 100".to_owned() } else { line.to_owned() });
    }
    let mut small = lines.join("\n");
    for (large, less) in [
        ("\"4GiB\"", "\"8MiB\""),
        ("\"1GiB\"", "\"4MiB\""),
        ("\"32MiB\"", "\"1MiB\""),
        ("\"128KiB\", s", "\"8KiB\", s"),
    ] {
        small = small.replace(large, less);
    }
    small
}

/// Runs each in `mount` of a place.
fn carry_out_all(place: &Place, kind: &str) {
    for name in shipped() {
        let text = place.assay(&["workloads", &name]);
        assert_eq!(text.code, Some(0), "{text:?}");
        place.write(&format!("{name}.toml"), &made_small(&text.out));
        let (file, out) = (format!("{name}.toml"), format!("{name}-run"));
        let said = place.assay(&["run", &file, "mount", "--for", "200ms", "--slice", "200ms", "--out", &out]);
        // In memory nothing is durable, a busy machine is late, and some ask for more operations than this time has.
        assert!(matches!(said.code, Some(0 | 10 | 11)), "{name} on {kind}: {said:?}");
        let log = Log::of(&place.path(&out));
        let flows = log.intervals.iter().flat_map(|interval| &interval.flows);
        let failed: u64 = flows.map(|flow| flow.failed_operations() + flow.short + flow.stuck).sum();
        assert_eq!(failed, 0, "{name} on {kind}: {said:?}");
        assert!(!texts(&log, &EventKind::Checked).is_empty(), "{name} on {kind}: {said:?}");
        assert!(texts(&log, &EventKind::ConditionBroken).is_empty(), "{name} on {kind}: {said:?}");
        let left = fs::read_dir(place.path("mount")).unwrap().map(|entry| entry.unwrap().file_name());
        assert_eq!(left.filter(|name| name != "lost+found").count(), 0, "{name} on {kind}");
    }
}

#[test]
fn every_shipped_workload_runs_in_memory_and_on_a_disk() {
    let _turn = beside();
    let memory = MountPoint::in_memory_of("size=400m");
    let disk =
        OnLoop::with_size(600 << 20).and_then(|mut disk| disk.make(&["mkfs.ext4", "-q", "-F"], &[]).then_some(disk));
    std::thread::scope(|scope| {
        if let Some(memory) = &memory {
            scope.spawn(|| carry_out_all(&memory.place, "tmpfs"));
        }
        if let Some(disk) = &disk {
            scope.spawn(|| carry_out_all(&disk.mounted.place, "ext4"));
        }
    });
}
