//! The disk below a file is counted beside the operations: on a disk that carries nothing else, what the log says it read
//! is what the run read.

use super::bed::{Log, Place};
use super::devices::{Disk, Loop, Mounted, passed_over};

const MIB: u64 = 1 << 20;

fn risen(log: &Log, counter: &str) -> u64 {
    let at = log.header.meters[0].counters.iter().position(|name| name == counter).unwrap();
    log.intervals.iter().filter_map(|interval| interval.meters.first()?.get(at)).sum()
}

#[test]
fn what_the_disk_below_a_file_counted_is_what_the_file_was_asked_for() {
    let place = Place::new();
    let Some(disk) = Loop::over(&place, "disk.img", 64 * MIB) else { return passed_over("no loop device") };
    let Some(_mounted) = Mounted::ext4(&disk, place.path("files")) else { return };
    let said = place.assay(&["prep", "files/data", "--create", "16MiB", "--skip-zero"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    place.write("reads.fio", "[reads]\nfilename=files/data\nrw=randread\nbs=4k\nsize=8m\nrate_iops=1000\n");
    let (said, log) = place.run(&["run", "reads.fio"]);

    let [meter] = &log.header.meters[..] else { panic!("{:?}", log.header.meters) };
    assert_eq!((meter.kind.as_str(), meter.holds.as_str()), ("disk", "files/data"));
    let name = disk.path().rsplit('/').next().unwrap().to_owned();
    assert_eq!(meter.name, name);
    // The file system may read a few blocks of its own.
    let (own, counted) = (log.stream("reads"), risen(&log, "reads"));
    assert!(own.ok == 2048 && (own.ok..own.ok + 64).contains(&counted), "{} and {counted}", own.ok);
    let bytes = risen(&log, "read_bytes");
    assert!((own.bytes..own.bytes + MIB).contains(&bytes), "{} and {bytes}", own.bytes);

    let words = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(&format!("disk {name} (below files/data): ")), "{}", said.out);
    let verdict = place.assay(&["judge", "run", "--json"]).json();
    let meter = &verdict["meters"][0];
    assert_eq!((&meter["name"], &meter["counters"][0]), (&name.as_str().into(), &"reads".into()));
    let drawn: u64 = meter["series"][0].as_array().unwrap().iter().filter_map(serde_json::Value::as_u64).sum();
    assert_eq!(Some(drawn), meter["counted"][0].as_u64(), "the chart shows all that was counted");
    let page = std::fs::read_to_string(place.path("run/report.html")).unwrap();
    assert!(page.contains("-beneath\">Beneath</h3>") && page.contains(&format!("{name} reads")), "no chart");
}

/// A device among the targets has its counters in `disks`, which are compared with what was issued.
#[test]
fn a_device_and_a_simulation_have_nothing_beneath() {
    let place = Place::new();
    let (said, log) = place.run(&["run", "act-storage", "sim:flash", "--for", "2s", "--warm-up", "1s"]);
    assert!(log.header.meters.is_empty() && !said.out.contains("below"), "{}", said.out);
    assert!(log.intervals.iter().all(|interval| interval.meters.is_empty()));
}
