//! The disk through the kernel: a client sees the faults that are set, and the account agrees.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_macros, reason = "a test of real time")]

use assay_faultfs::{FUSE_MAGIC, FaultDisk, f_type};
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

const SIZE: u64 = 1 << 20;

/// A mounted disk; `None`, with a message on stderr, where FUSE cannot be mounted.
fn mounted(dir: &tempfile::TempDir) -> Option<(FaultDisk, File)> {
    match FaultDisk::mount(SIZE, dir.path()) {
        Ok(disk) => {
            let file = File::options().read(true).write(true).open(disk.disk()).unwrap();
            assert_eq!(f_type(&disk.disk()).unwrap(), FUSE_MAGIC);
            Some((disk, file))
        }
        Err(e) => {
            eprintln!("passed over: no FUSE mount here: {e}");
            None
        }
    }
}

#[test]
fn errors_short_reads_and_damage_come_as_often_as_set_and_are_on_the_account() {
    let dir = tempfile::tempdir().unwrap();
    let Some((disk, file)) = mounted(&dir) else { return };
    let mut ctl = File::options().write(true).open(dir.path().join("ctl")).unwrap();
    ctl.write_all(b"reset=1 rerr_every=7 errno=EREMOTEIO short_every=5").unwrap();
    let mut block = [0; 4096];
    let outcomes: Vec<_> = (0..70).map(|_| file.read_at(&mut block, 8192).map_err(|e| e.raw_os_error())).collect();
    assert_eq!(outcomes.iter().filter(|o| **o == Err(Some(libc::EREMOTEIO))).count(), 10);
    assert_eq!(outcomes.iter().filter(|o| **o == Ok(2048)).count(), 12, "every fifth, but for the 35th and the 70th");
    let truth = disk.truth();
    assert_eq!((truth.reads, truth.short, truth.failed()), (48, 12, 10));
    disk.set("rerr_every=off short_every=off reset=1 lost_every=2 corrupt_every=3");
    for at in 1..=6u8 {
        file.write_all_at(&[at; 4096], u64::from(at) * 4096).unwrap();
    }
    let truth = disk.truth();
    assert_eq!((truth.writes, &truth.lost[..], &truth.corrupted[..]), (6, &[8192, 16384, 24576][..], &[12288][..]));
    assert_eq!(disk.stored(4096, 4096), [1; 4096]);
    assert!(disk.stored(8192, 4096) != [2; 4096]);
    assert_eq!(disk.stored(12288, 4096).iter().filter(|byte| **byte != 3).count(), 1);
    let account = std::fs::read_to_string(dir.path().join("truth")).unwrap();
    assert!(account.contains("writes 6\n") && account.contains("lost 3\n"), "{account}");
    assert!(ctl.write_all(b"colour=red").is_err(), "what is not understood is refused");
}

#[test]
fn the_end_can_come_nearer_and_the_whole_disk_can_go() {
    let dir = tempfile::tempdir().unwrap();
    let Some((disk, file)) = mounted(&dir) else { return };
    let mut block = [0; 4096];
    disk.set("end=8KiB");
    assert_eq!(file.read_at(&mut block, 8192).unwrap(), 0);
    assert_eq!(file.write_at(&block, 8192).unwrap_err().raw_os_error(), Some(libc::ENOSPC));
    disk.set("end=off gone=1");
    assert_eq!(file.read_at(&mut block, 0).unwrap_err().raw_os_error(), Some(libc::ENODEV));
}

#[test]
fn delays_stalls_and_hangs_last_as_long_as_set() {
    let dir = tempfile::tempdir().unwrap();
    let Some((disk, file)) = mounted(&dir) else { return };
    let read = || {
        let begin = Instant::now();
        file.read_at(&mut [0; 512], 0).unwrap();
        begin.elapsed()
    };
    disk.set("read_delay=20ms");
    assert!(read() >= Duration::from_millis(20));
    disk.set("read_delay=0s stall=200ms");
    assert!(read() >= Duration::from_millis(150));
    disk.set("hang=1");
    std::thread::scope(|scope| {
        let reading = scope.spawn(read);
        while disk.truth().held == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(!reading.is_finished());
        disk.set("hang=0");
        reading.join().unwrap();
    });
    assert!(disk.truth().quantile(1.0).unwrap() >= 150_000_000);
}

#[test]
fn a_cut_of_the_power_loses_what_was_not_flushed_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let Some((disk, file)) = mounted(&dir) else { return };
    file.write_all_at(&[1; 8192], 0).unwrap();
    disk.set("volatile=1");
    file.write_all_at(&[2; 4096], 0).unwrap();
    file.sync_data().unwrap();
    for byte in [3, 4] {
        file.write_all_at(&[byte; 4096], 0).unwrap();
        file.write_all_at(&[byte; 4096], 4096).unwrap();
    }
    assert_eq!(disk.stored(0, 8192), [4; 8192]);
    disk.set("cut=1");
    assert_eq!(file.write_at(&[5; 4096], 0).unwrap_err().raw_os_error(), Some(libc::ENODEV));
    assert!(file.sync_data().is_err());
    disk.set("gone=0");
    assert_eq!([disk.stored(0, 4096), disk.stored(4096, 4096)], [[2; 4096], [1; 4096]]);
    let mut block = [0; 4096];
    assert_eq!((file.read_at(&mut block, 0).unwrap(), block), (4096, [2; 4096]));
    file.write_all_at(&[6; 4096], 0).unwrap();
    disk.set("volatile=0");
    disk.set("cut=1");
    assert_eq!(disk.stored(0, 4096), [6; 4096], "what is not volatile is not lost");
}
