//! The models of services beside the servers themselves, without clocks: the same load, one after the other, each on an
//! ext4 of its own. Calls of both are read from strace by the same code, and flushes are those that the device counts.
//!
//! How many commits are in a group depends on how long syncs take, which nobody asserts here. So each side is first
//! compared with what follows from its own groups, then the two with each other.

use super::bed::{Log, Place};
use super::cluster::{Cluster, succeeds};
use super::file_systems::{Mounted, run as run_command, skip};
use super::real_etcd::RealEtcd;
use super::traced_calls::{TracedCall, TracedProgram, cannot_trace, files_with, synced_writes};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// What counts are compared with: a journal commit each 5 s and what makes the files are 1 % of a thousand flushes.
const TOLERANCE: f64 = 0.03;

/// Commits a second, and for how long.
const RATE: u64 = 100;
const LENGTH: Duration = Duration::from_secs(10);

/// One of the two sides.
struct Side {
    calls: Vec<TracedCall>,
    commits: u64,
    flushes: u64,
}

/// An ext4 of its own for a side, in a directory that a server may enter which does not run as root.
struct Disk {
    mounted: Mounted,
    _directory: tempfile::TempDir,
    /// Where the trace is.
    outside: tempfile::TempDir,
}

impl Disk {
    fn new() -> Option<Disk> {
        if !rustix::process::geteuid().is_root() {
            skip("only root may mount a file system");
            return None;
        }
        if let Some(why) = cannot_trace() {
            skip(&why);
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        succeeds(Command::new("chmod").arg("755").arg(directory.path()));
        match Mounted::quiet_ext4(&directory.path().join("disk")) {
            Ok(mounted) => Some(Disk { mounted, _directory: directory, outside: tempfile::tempdir().unwrap() }),
            Err(why) => {
                skip(&why);
                None
            }
        }
    }

    fn point(&self) -> &Path {
        &self.mounted.point
    }

    fn trace(&self) -> std::path::PathBuf {
        self.outside.path().join("trace")
    }

    /// Flushes that the device has carried out (Documentation/block/stat.rst).
    fn flushes(&self) -> u64 {
        let device = run_command(&["findmnt", "-no", "SOURCE", self.point().to_str().unwrap()]).unwrap();
        let stat = Path::new("/sys/block").join(device.trim_start_matches("/dev/")).join("stat");
        std::fs::read_to_string(stat).unwrap().split_whitespace().nth(15).unwrap().parse().unwrap()
    }

    /// Runs a shipped workload after these changes of its text.
    fn run_model(&self, name: &str, changes: &[(&str, &str)]) -> Side {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads/services").join(name);
        let mut text = std::fs::read_to_string(path.with_extension("toml")).unwrap();
        for (old, new) in changes {
            assert!(text.contains(old), "{name} has no {old}");
            text = text.replace(old, new);
        }
        let place = Place::new();
        place.write("model.toml", &text);
        let seconds = format!("{}s", LENGTH.as_secs());
        let point = self.point().to_str().unwrap();
        let lengths = ["--warm-up", "0s", "--for", &seconds, "--slice", &seconds, "--out", "run"];
        let command = place.command(&[&["run", "model.toml", point], &lengths[..]].concat());
        let mut program = TracedProgram::start(&self.trace(), &command, Stdio::piped());
        // Its files are made before it says how long it will load them, and compared behind that.
        let mut moments = program.messages().filter(|line| line.ends_with(&seconds) || line.starts_with("comparing"));
        let mut moment = |what: &str| {
            assert!(moments.next().is_some(), "the model does not {what}");
            (program.position(), self.flushes())
        };
        let (begin, end) = (moment("begin"), moment("end"));
        moments.for_each(drop);
        let code = program.wait();
        // A slow disk fails the criteria, which are not what is asked here.
        assert!([Some(0), Some(10), Some(11)].contains(&code), "{code:?}");
        let commits = Log::of(&place.path("run")).stream("commit").ok;
        Side { calls: program.calls_between(begin.0, end.0, self.point()), commits, flushes: end.1 - begin.1 }
    }
}

/// Asserts that a figure is another one, within [`TOLERANCE`].
fn assert_near(what: &str, found: f64, expected: f64) {
    let text = format!("{what}: {found}, and not {expected}");
    assert!((found / expected - 1.0).abs() < TOLERANCE, "{text}");
}

fn sum_of(writes: &[TracedCall]) -> u64 {
    writes.iter().map(|write| write.bytes).sum()
}

/// The only file on which these calls were made.
fn only_file(side: &Side, write: &str) -> String {
    let files = files_with(&side.calls, write, "fdatasync");
    assert_eq!(files.len(), 1, "{files:?}");
    files[0].clone()
}

// What a put of 32 + 1024 bytes adds to a group, and what the group has besides (sequences.csv). The server pads each
// record to 8 bytes, and its numbers have as many bytes as they need: 16 bytes more or less for each record.
const ENTRY: u64 = 1112;
const GROUP: u64 = 40;

/// Asserts that each group of etcd's log has whole puts, and that all puts are in one. Returns the bytes of each sync.
fn assert_groups_of_etcd(what: &str, side: &Side) -> Vec<u64> {
    let log = only_file(side, "write");
    let mut sizes = Vec::new();
    let mut puts = 0;
    for group in synced_writes(&side.calls, &log, "write", "fdatasync") {
        let bytes = sum_of(&group);
        assert!(bytes > GROUP, "{what}: a sync without a write before it");
        let of_group = (bytes - GROUP + ENTRY / 2) / ENTRY;
        let exact = of_group * ENTRY + GROUP;
        assert!(bytes.abs_diff(exact) <= 16 * of_group, "{what}: {bytes} bytes are not those of {of_group} puts");
        // Parts of at most 128 KiB.
        assert_eq!(group.len() as u64, bytes.div_ceil(128 << 10), "{what}: {group:?}");
        puts += of_group;
        sizes.push(bytes);
    }
    assert_eq!(puts, side.commits, "{what}");
    sizes
}

/// Asserts the order of etcd's page commits: pages, sync, one of the first two pages in turn, sync. Returns how many pages
/// each of them wrote before its first sync.
fn assert_page_commits(what: &str, side: &Side) -> Vec<u64> {
    let database = only_file(side, "pwrite64");
    let syncs = synced_writes(&side.calls, &database, "pwrite64", "fdatasync");
    assert!(syncs.len() >= 20 && syncs.len().is_multiple_of(2), "{what}: {} syncs", syncs.len());
    let (mut pages, mut metas) = (Vec::new(), Vec::new());
    for commit in syncs.chunks(2) {
        assert!(!commit[0].is_empty() && commit[1].len() == 1, "{what}: {commit:?}");
        for write in &commit[0] {
            assert!(write.bytes % 4096 == 0 && write.offset % 4096 == 0, "{what}: {write:?}");
        }
        assert_eq!(commit[1][0].bytes, 4096, "{what}");
        pages.push(sum_of(&commit[0]) / 4096);
        metas.push(commit[1][0].offset);
    }
    assert!(metas.iter().all(|offset| [0, 4096].contains(offset)), "{what}: {metas:?}");
    assert!(metas.windows(2).all(|two| two[0] != two[1]), "{what}: one after the other: {metas:?}");
    pages
}

/// Flushes of etcd's device that follow from its calls: one for each sync, and one more for a sync of the log that
/// enters a block which was not written yet.
fn expected_flushes(sizes: &[u64], page_commits: usize) -> f64 {
    let of_log: f64 = sizes.iter().map(|bytes| 1.0 + (*bytes as f64 / 4096.0).min(1.0)).sum();
    of_log + 2.0 * page_commits as f64
}

/// Shares of calls on a file up to each power of two, compared.
fn assert_same_sizes(what: &str, server: &[u64], model: &[u64]) {
    let share =
        |sizes: &[u64], most: u64| sizes.iter().filter(|bytes| **bytes <= most).count() as f64 / sizes.len() as f64;
    for power in 9..=20 {
        let (of_server, of_model) = (share(server, 1 << power), share(model, 1 << power));
        let text =
            format!("{what} of at most {} bytes: {of_model} of the model's, {of_server} of the server's", 1 << power);
        // The server joins one page in twenty with its neighbour.
        assert!((of_server - of_model).abs() < 0.1, "{text}");
    }
}

fn real_etcd() -> Option<Side> {
    let disk = Disk::new()?;
    let etcd = RealEtcd::start(disk.point(), &disk.trace())?;
    // The first file of the log is made as a whole before anything is written to it.
    let made = etcd.program.calls_since(0, disk.point());
    assert!(made.iter().any(|call| call.call == "fallocate" && call.path.ends_with(".tmp")), "{made:?}");
    etcd.age();
    let (position, before) = (etcd.program.position(), disk.flushes());
    let commits = etcd.load(RATE, LENGTH);
    let flushes = disk.flushes() - before;
    let calls = etcd.program.calls_since(position, disk.point());
    drop(etcd);
    Some(Side { calls, commits, flushes })
}

#[test]
fn etcd_and_its_model_make_the_same_calls_and_flush_as_often() {
    let Some(server) = real_etcd() else { return };
    let Some(disk) = Disk::new() else { return };
    // The server's load is steady too. Its database is small, so that it is made at once.
    let changes = [("\"100/s\"", "\"100/s\"\narrival = \"steady\""), ("\"2GiB\"", "\"16MiB\"")];
    let model = disk.run_model("etcd", &changes);
    let (server_sizes, model_sizes) = (assert_groups_of_etcd("etcd", &server), assert_groups_of_etcd("model", &model));
    let (server_pages, model_pages) = (assert_page_commits("etcd", &server), assert_page_commits("model", &model));
    let mut surplus = Vec::new();
    for (what, side, sizes, pages) in
        [("etcd", &server, &server_sizes, &server_pages), ("model", &model, &model_sizes, &model_pages)]
    {
        let expected = expected_flushes(sizes, pages.len());
        println!(
            "{what}: {} commits, {} log syncs of {} bytes, {} page commits of {} pages, {} flushes, by its calls {expected}",
            side.commits,
            sizes.len(),
            sizes.iter().sum::<u64>() as f64 / sizes.len() as f64,
            pages.len(),
            pages.iter().sum::<u64>() as f64 / pages.len() as f64,
            side.flushes
        );
        assert_near(&format!("flushes of {what}"), side.flushes as f64, expected);
        surplus.push(side.flushes as f64 / expected);
    }
    assert_near("flushes of the model beside the server's, each for its own calls", surplus[1], surplus[0]);
    // Without the 40 bytes of each group, which has as many commits as there is time for.
    let bytes_of_put = |side: &Side, sizes: &[u64]| {
        (sizes.iter().sum::<u64>() - GROUP * sizes.len() as u64) as f64 / side.commits as f64
    };
    assert_near("bytes of a put", bytes_of_put(&model, &model_sizes), bytes_of_put(&server, &server_sizes));
    // Pages of a commit: 4, and 1.2 for each 4 KiB of what was put. How full a page of the server is, varies.
    for (what, side, pages) in [("etcd", &server, &server_pages), ("model", &model, &model_pages)] {
        let expected = 4.0 * pages.len() as f64 + 0.324 * side.commits as f64;
        let found = pages.iter().sum::<u64>() as f64;
        assert!((found / expected - 1.0).abs() < 0.15, "{what}: {found} pages, and not {expected}");
    }
    let writes_of = |side: &Side| -> Vec<u64> {
        let database = only_file(side, "pwrite64");
        let writes = side.calls.iter().filter(|call| call.path == database && call.call == "pwrite64");
        writes.map(|call| call.bytes).collect()
    };
    assert_same_sizes("writes to the database", &writes_of(&server), &writes_of(&model));
}

/// Whole pages of the log of PostgreSQL, for each sync.
const PAGE: u64 = 8192;

/// Asserts that each flush writes whole pages from the page of the last flushed byte on, and returns the bytes of each.
fn assert_flushes_of_postgres(what: &str, side: &Side) -> Vec<u64> {
    let log = only_file(side, "pwrite64");
    let mut sizes = Vec::new();
    let mut end = None;
    for flush in synced_writes(&side.calls, &log, "pwrite64", "fdatasync") {
        let [write] = &flush[..] else { panic!("{what}: one write for each sync, not {flush:?}") };
        assert!(write.bytes % PAGE == 0 && write.offset % PAGE == 0 && write.bytes > 0, "{what}: {write:?}");
        if let Some(end) = end {
            assert!([end, end - PAGE].contains(&write.offset), "{what}: {write:?} behind {end}");
        }
        end = Some(write.offset + write.bytes);
        sizes.push(write.bytes);
    }
    sizes
}

/// The figures of a log of PostgreSQL.
struct PostgresSide {
    side: Side,
    bytes_of_log: u64,
}

fn real_postgres() -> Option<PostgresSide> {
    let disk = Disk::new()?;
    let quiet = "-c checkpoint_timeout=1h -c full_page_writes=off -c autovacuum=off -c bgwriter_lru_maxpages=0";
    let cluster = Cluster::make_in(disk.point(), quiet)?;
    let ask = |sql: &str| succeeds(&mut cluster.psql("postgres", &["-c", sql])).trim().to_owned();
    ask("CREATE TABLE commits (body text)");
    ask("CHECKPOINT");
    let script = disk.outside.path().join("commit.sql");
    std::fs::write(&script, "INSERT INTO commits VALUES (repeat('x', 460));\n").unwrap();
    let position_of_log = || ask("SELECT pg_current_wal_flush_lsn() - '0/0'").parse::<u64>().unwrap();
    let count = || ask("SELECT count(*) FROM commits").parse::<u64>().unwrap();
    // Sessions come and go, and are followed from the first process.
    let lasting = ask("SELECT pid FROM pg_stat_activity WHERE backend_type <> 'client backend'");
    let pids = lasting.lines().filter_map(|pid| rustix::process::Pid::from_raw(pid.parse().unwrap()));
    let program = TracedProgram::attach(&disk.trace(), &pids.chain([cluster.server()]).collect::<Vec<_>>());
    let (before, log_before) = (disk.flushes(), position_of_log());
    let mut pgbench = cluster.client("pgbench");
    let (rate, seconds) = (RATE.to_string(), LENGTH.as_secs().to_string());
    pgbench.args(["-n", "-c", "8", "-R", &rate, "-T", &seconds, "-f"]).arg(&script).arg("postgres");
    succeeds(&mut pgbench);
    let (flushes, bytes_of_log) = (disk.flushes() - before, position_of_log() - log_before);
    let side = Side { calls: program.calls_since(0, disk.point()), commits: count(), flushes };
    drop(program);
    cluster.stop();
    Some(PostgresSide { side, bytes_of_log })
}

#[test]
fn postgres_and_its_model_write_the_same_pages_and_flush_as_often() {
    let Some(PostgresSide { side: server, bytes_of_log }) = real_postgres() else { return };
    let Some(disk) = Disk::new() else { return };
    let entry = (bytes_of_log as f64 / server.commits as f64).round() as u64;
    let changes = [
        ("entry  = \"600B\"", &*format!("entry = \"{entry}B\"")),
        ("images = { share = \"60%\", bytes = \"16KiB\" }\n", ""),
        ("\"10MiB\"", "\"64KiB\""),
    ];
    let model = disk.run_model("postgres-wal", &changes);
    let model_bytes = entry * model.commits;
    let mut surplus = Vec::new();
    for (what, side, bytes_of_log) in [("postgres", &server, bytes_of_log), ("model", &model, model_bytes)] {
        let sizes = assert_flushes_of_postgres(what, side);
        let bytes = sizes.iter().sum::<u64>() as f64;
        // Each flush writes its first page again, and every page of the log is written once for the first time.
        let expected = (PAGE * sizes.len() as u64 + bytes_of_log) as f64;
        println!(
            "{what}: {} commits of {} bytes, {} syncs of {} bytes, {} flushes",
            side.commits,
            bytes_of_log / side.commits,
            sizes.len(),
            bytes / sizes.len() as f64,
            side.flushes
        );
        assert_near(&format!("bytes of {what}"), bytes, expected);
        assert_near(&format!("flushes of {what} for each sync"), side.flushes as f64 / sizes.len() as f64, 1.0);
        surplus.push(bytes / expected);
    }
    assert_near("bytes of the model beside the server's, each for its own groups", surplus[1], surplus[0]);
}
