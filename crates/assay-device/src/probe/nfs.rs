//! What this machine has asked of an NFS server, from `/proc/self/mountstats`: the only counters that there are beneath a
//! file on NFS. They are of this machine alone; what others ask of the server is not known.
//!
//! A mount's block begins with `device SERVER:/DIR mounted on POINT with fstype nfs4 statvers=1.1`. `bytes:` has, as the
//! fifth and sixth figure, the bytes that were read from the server and written to it; a line `READ:`, `WRITE:`
//! or `COMMIT:` has the number of such calls first and, as the eighth figure, how long they took together in milliseconds
//! (net/sunrpc/stats.c, fs/nfs/super.c, fs/nfs/iostat.h).

use super::stat::DiskStat;
use crate::safety::{DevNum, Mount, Roots, list_mounts};

/// The smallest and the largest size of a read or write call (`NFS_MIN_FILE_IO_SIZE`, `NFS_MAX_FILE_IO_SIZE`).
const CALL_BYTES: std::ops::RangeInclusive<u64> = 1024..=1 << 20;
const SECTOR: u64 = 512;

/// The mount with this number, if it is of NFS.
fn mount_with(roots: &Roots, device: DevNum) -> Option<Mount> {
    // File systems without a disk have a number of the driver 0.
    let table = (device.major == 0).then(|| list_mounts(&roots.proc.join("self/mountinfo")).ok())??;
    table.into_iter().find(|mount| mount.device == device && is_nfs(&mount.kind))
}

fn is_nfs(kind: &str) -> bool {
    matches!(kind, "nfs" | "nfs4")
}

/// What this machine has asked of the server of a mount. `None`: it is no mount of NFS, or there are no counters.
pub(super) fn mount_counters(roots: &Roots, device: DevNum) -> Option<DiskStat> {
    let mount = mount_with(roots, device)?;
    let text = std::fs::read_to_string(roots.proc.join("self/mountstats")).ok()?;
    parse_mountstats(&text, &mount.point.to_string_lossy())
}

/// `SERVER:/DIR`
pub(super) fn mount_source(roots: &Roots, device: DevNum) -> Option<String> {
    mount_with(roots, device).map(|mount| mount.source)
}

/// Into how many bytes a mount divides what is read and written; `None` where it is not of NFS, or has no counters.
pub(super) fn bytes_of_a_call(roots: &Roots, mount: &Mount) -> Option<u64> {
    mount_counters(roots, mount.device)?;
    let sizes = ["rsize=", "wsize="]
        .map(|name| mount.options.split(',').find_map(|option| option.strip_prefix(name)?.parse::<u64>().ok()));
    let sizes = sizes.into_iter().flatten().filter(|size| CALL_BYTES.contains(size));
    Some(sizes.min().unwrap_or(*CALL_BYTES.start()))
}

/// The counters of the mount at this point.
fn parse_mountstats(text: &str, point: &str) -> Option<DiskStat> {
    let mut lines = text.lines().skip_while(|line| !begins_section_of_mount(line, point));
    lines.next()?;
    let mut stat = DiskStat { flushes: Some(0), flush_ms: Some(0), ..DiskStat::default() };
    let mut has_bytes = false;
    for line in lines.take_while(|line| !begins_mount(line)) {
        let Some((name, rest)) = line.trim().split_once(':') else { continue };
        let figures: Vec<u64> = rest.split_whitespace().map_while(|word| word.parse().ok()).collect();
        let figure = |at: usize| figures.get(at).copied().unwrap_or(0);
        match name {
            "bytes" => {
                has_bytes = figures.len() >= 6;
                (stat.read_sectors, stat.write_sectors) = (figure(4) / SECTOR, figure(5) / SECTOR);
            }
            "READ" | "READ_PLUS" => {
                stat.reads = stat.reads.saturating_add(figure(0));
                stat.read_ms = stat.read_ms.saturating_add(figure(7));
            }
            "WRITE" => (stat.writes, stat.write_ms) = (figure(0), figure(7)),
            "COMMIT" => (stat.flushes, stat.flush_ms) = (Some(figure(0)), Some(figure(7))),
            _ => {}
        }
    }
    has_bytes.then_some(stat)
}

/// Whether a line begins the section of a mount.
fn begins_mount(line: &str) -> bool {
    line.starts_with("device ")
}

/// Whether a line begins the section of the NFS mount at this point.
fn begins_section_of_mount(line: &str, point: &str) -> bool {
    begins_mount(line)
        && crate::safety::unescape_octal(line).contains(&format!(" mounted on {point} with fstype nfs"))
        && line.contains("statvers=1.")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Linux 6.1 prints it, shortened.
    const MOUNTSTATS: &str = "\
device rootfs mounted on / with fstype rootfs
device proc mounted on /proc with fstype proc
device filer:/vol/data mounted on /mnt/the\\040data with fstype nfs4 statvers=1.1
\topts:\trw,vers=4.2,rsize=262144,wsize=524288,namlen=255,hard,proto=tcp
\tage:\t120
\tevents:\t5 40 0 0
\tbytes:\t0 0 40960000 81920000 40960512 81920000 0 0
\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)
\txprt:\ttcp 0 0 1 0 0 100 100 0 100 0 2 0 0
\tper-op statistics
\t        NULL: 1 1 0 44 24 0 0 0 0
\t        READ: 10000 10002 0 1680000 41600000 12 3400 3500 0
\t   READ_PLUS: 1 1 0 168 4160 0 1 2 0
\t       WRITE: 20000 20000 0 85120000 2720000 30 9000 9100 0
\t      COMMIT: 7 7 0 1316 728 0 70 71 0
device other:/x mounted on /other with fstype nfs statvers=1.1
\tbytes:\t0 0 0 0 1024 0 0 0
\tper-op statistics
\t        READ: 2 2 0 336 1280 0 1 1 0
";
    const MOUNTINFO: &str = "\
22 1 254:0 / / rw - ext4 /dev/vda rw
40 22 0:51 / /mnt/the\\040data rw,relatime shared:9 - nfs4 filer:/vol/data rw,vers=4.2,rsize=262144,wsize=524288
41 22 0:52 / /other rw - nfs other:/x rw
42 22 0:53 / /late rw - nfs late:/x rw,rsize=1048576
43 22 0:22 / /tmp rw - tmpfs tmpfs rw
";

    fn device(minor: u32) -> DevNum {
        DevNum { major: 0, minor }
    }

    fn host() -> (tempfile::TempDir, Roots) {
        let dir = tempfile::tempdir().unwrap();
        let proc = dir.path().join("proc/self");
        std::fs::create_dir_all(&proc).unwrap();
        std::fs::write(proc.join("mountinfo"), MOUNTINFO).unwrap();
        std::fs::write(proc.join("mountstats"), MOUNTSTATS).unwrap();
        let roots = Roots { proc: dir.path().join("proc"), sys: dir.path().join("sys"), dev: dir.path().join("dev") };
        (dir, roots)
    }

    #[test]
    fn what_was_asked_of_a_server_is_counted_for_each_mount() {
        let (_dir, roots) = host();
        let data = mount_counters(&roots, device(51)).unwrap();
        assert_eq!((data.reads, data.read_sectors, data.read_ms), (10_001, 80_001, 3502));
        assert_eq!((data.writes, data.write_sectors, data.write_ms), (20_000, 160_000, 9100));
        assert_eq!((data.flushes, data.flush_ms), (Some(7), Some(71)));
        let other = mount_counters(&roots, device(52)).unwrap();
        assert_eq!((other.reads, other.read_sectors, other.writes, other.flushes), (2, 2, 0, Some(0)));
        assert_eq!(mount_source(&roots, device(51)).as_deref(), Some("filer:/vol/data"));
        // No counters, no NFS, nothing at all, and a disk.
        for other in [device(53), device(22), device(99), DevNum { major: 254, minor: 0 }] {
            assert_eq!(mount_counters(&roots, other), None, "{other}");
        }
    }

    #[test]
    fn a_call_has_as_many_bytes_as_the_mount_allows() {
        let (_dir, roots) = host();
        let table = list_mounts(&roots.proc.join("self/mountinfo")).unwrap();
        let bytes = |at: usize| bytes_of_a_call(&roots, &table[at]);
        assert_eq!(bytes(1), Some(262_144));
        assert_eq!(bytes(2), Some(1024), "where nothing says it, as little as possible");
        assert_eq!((bytes(0), bytes(3), bytes(4)), (None, None, None));
    }

    #[test]
    fn cut_and_hostile_text_gives_nothing_or_less_and_never_more() {
        for end in 0..MOUNTSTATS.len() {
            if let Some(cut) = MOUNTSTATS.get(..end).and_then(|text| parse_mountstats(text, "/mnt/the data")) {
                assert!(cut.reads <= 10_001 && cut.write_sectors <= 160_000, "{end}");
            }
        }
        let hostile = MOUNTSTATS.replace("10000", "18446744073709551615").replace("40960512", "x");
        assert_eq!(parse_mountstats(&hostile, "/mnt/the data"), None);
        assert_eq!(
            parse_mountstats(&MOUNTSTATS.replace("10000 ", "18446744073709551615 "), "/mnt/the data").unwrap().reads,
            u64::MAX
        );
    }
}
