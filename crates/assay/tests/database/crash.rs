//! What a database has acknowledged is there after a crash, or its loss is found and named: kills, cuts of the power,
//! servers that answer before they write, and ledgers that somebody has changed.

use super::bed::{Log, Place, Said};
use super::server::Served;
use super::shop::{DB, FAST, in_one_line, run, shop, somebody};
use assay_faultfs::{FaultDisk, FaultLoop};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Long enough for whatever happens to it, at a load that leaves a record of many commits.
const LONG: [&str; 7] = ["--verify", "--warm-up", "1s", "--for", "30s", "--slice", "1s"];

fn after(place: &Place, url: &str, dir: &str) -> Said {
    place.assay(&["check", url, "--after", dir])
}

/// How many commits were acknowledged, and how many of them are lost.
fn counted(place: &Place, url: &str, dir: &str) -> (u64, u64) {
    let json = place.assay(&["check", url, "--after", dir, "--json"]).json();
    let number = |name: &str| json["after"][name].as_u64().unwrap();
    (number("acknowledged"), number("lost"))
}

/// A run on SQLite that was killed, in the directory `run`.
fn killed() -> Place {
    let place = shop();
    let running = place.start(&[&["run", "closed.toml", FAST][..], &LONG[..]].concat(), 3);
    running.signal(libc::SIGKILL);
    assert_eq!(running.end().code, None);
    place
}

#[test]
fn a_kill_of_the_program_loses_nothing_and_each_loss_is_named() {
    let place = killed();
    let said = after(&place, DB, "run");
    assert_eq!(said.code, Some(0), "{said:?}");
    let (acknowledged, lost) = counted(&place, DB, "run");
    assert!(acknowledged > 20 && lost == 0, "{acknowledged}");
    let says = format!("PASS: all {acknowledged} acknowledged commits of 3 sessions are there");
    assert!(said.out.contains(&says) && said.out.contains("the run was killed"), "{said:?}");

    let continued = place.assay(&[&["run", "closed.toml", FAST, "--resume", "run"][..], &LONG[..]].concat());
    assert!(continued.code == Some(2) && continued.err.contains("cannot continue"), "{continued:?}");
    let other = place.assay(&[&["run", "closed.toml", FAST, "--resume", "run"][..], &LONG[1..]].concat());
    assert!(other.code == Some(2) && other.err.contains("holds another run"), "{other:?}");

    let whole = fs::read(place.path("shop.db")).unwrap();
    for (change, says) in [
        ("UPDATE assay_session SET seq = seq - 3 WHERE session = 1", "session 1: "),
        ("DELETE FROM assay_session WHERE session = 2", "session 2: "),
        ("DROP TABLE assay_session", "its row was gone"),
        ("UPDATE warehouse SET w_ytd = w_ytd - 100000000", "the sum of W_YTD, in cents, has risen by"),
        // The newest orders may be those that were on their way, one for each session.
        (
            "DELETE FROM orders WHERE o_id > (SELECT max(o_id) FROM orders WHERE o_d_id = 1) - 4 AND o_d_id = 1",
            "of district 1 in warehouse 1 was acknowledged and is not there",
        ),
    ] {
        somebody(&place).execute(change, []).unwrap();
        let said = after(&place, DB, "run");
        assert!(said.code == Some(10) && said.out.contains(says) && said.out.contains("FAIL: "), "{change}: {said:?}");
        fs::write(place.path("shop.db"), &whole).unwrap();
    }
    somebody(&place).execute("UPDATE assay_tpcc SET run = 'other'", []).unwrap();
    let said = after(&place, DB, "run");
    assert!(said.code == Some(11) && said.err.contains("holds the load other"), "{said:?}");
}

#[test]
fn a_ledger_that_was_cut_claims_less_and_one_that_was_changed_nothing() {
    let place = killed();
    let (acknowledged, _) = counted(&place, DB, "run");
    let ledger = fs::read(place.path("run/ledger.bin")).unwrap();
    let head = ledger.len() - acknowledged as usize * 40;
    for length in [head, head + 1, head + 40, head + 79, ledger.len() - 1] {
        fs::write(place.path("run/ledger.bin"), &ledger[..length]).unwrap();
        assert_eq!(after(&place, DB, "run").code, Some(0), "{length}");
        assert_eq!(counted(&place, DB, "run").0, (length - head) as u64 / 40, "{length}");
    }
    let changed = |at: usize| {
        let mut changed = ledger.clone();
        changed[at] ^= 1;
        changed
    };
    let taken_out = [&ledger[..head + 40], &ledger[head + 80..]].concat();
    for (bytes, says) in [
        (ledger[..head - 1].to_vec(), "is not a ledger of commits"),
        (Vec::new(), "is not a ledger of commits"),
        (changed(0), "is not a ledger of commits"),
        (changed(20), "is not a ledger of commits"),
        (changed(8), "which this program does not know"),
        (changed(head + 90), "was altered at byte"),
        (taken_out, "was altered at byte"),
    ] {
        fs::write(place.path("run/ledger.bin"), bytes).unwrap();
        let said = after(&place, DB, "run");
        assert!(said.code == Some(11) && said.err.contains(says), "{says}: {said:?}");
    }
    fs::remove_file(place.path("run/ledger.bin")).unwrap();
    let said = after(&place, DB, "run");
    assert!(said.code == Some(3) && said.err.contains("a run that was made with --verify"), "{said:?}");
}

#[test]
fn the_ledger_of_a_run_that_ended_is_whole_or_proves_nothing() {
    let place = shop();
    let said = place.assay(&run("open.toml", FAST, &["--verify", "--out", "run"]));
    assert!(said.passed_or_late(), "{said:?}");
    let log = Log::of(&place.path("run"));
    assert!(log.events.iter().any(|event| event.text.ends_with("acknowledged commits are there")), "{:?}", log.events);
    let said = after(&place, DB, "run");
    assert!(said.code == Some(0) && !said.out.contains("killed"), "{said:?}");
    let ledger = fs::read(place.path("run/ledger.bin")).unwrap();
    for length in [ledger.len() - 1, ledger.len() - 40, ledger.len() - 80 * 2] {
        fs::write(place.path("run/ledger.bin"), &ledger[..length]).unwrap();
        let said = after(&place, DB, "run");
        assert!(said.code == Some(11) && said.err.contains("ends before its run did"), "{length}: {said:?}");
    }
    let second = place.assay(&run("open.toml", FAST, &["--verify", "--out", "second"]));
    assert!(second.passed_or_late(), "{second:?}");
    fs::copy(place.path("second/ledger.bin"), place.path("run/ledger.bin")).unwrap();
    let said = after(&place, DB, "run");
    assert!(said.code == Some(11) && said.err.contains("and the log beside it to the run"), "{said:?}");
    let refused = place.assay(&run("open.toml", FAST, &["--crash-test", "--out", "other"]));
    assert!(refused.code == Some(2) && refused.err.contains("SQLite is a part of this program"), "{refused:?}");
}

/// A file system on a disk whose power can be cut.
pub struct Mounted {
    pub disk: FaultDisk,
    pub place: Place,
    device: Option<FaultLoop>,
}

fn succeeds(command: &mut Command) -> bool {
    command.output().unwrap().status.success()
}

impl Mounted {
    pub fn new() -> Option<Mounted> {
        let place = shop();
        ["disk", "files"].into_iter().for_each(|name| fs::create_dir(place.path(name)).unwrap());
        let disk = FaultDisk::mount(400 << 20, &place.path("disk")).ok();
        // SAFETY: no arguments, cannot fail.
        let Some(disk) = disk.filter(|_| unsafe { libc::geteuid() } == 0) else {
            println!("skipped: no root, or no FUSE");
            return None;
        };
        let device = FaultLoop::over(&disk).unwrap();
        assert!(succeeds(Command::new("mkfs.ext4").args(["-q", "-E", "lazy_itable_init=0"]).arg(device.path())));
        let mut mounted = Mounted { disk, place, device: Some(device) };
        mounted.mount();
        fs::copy(mounted.place.path("shop.db"), mounted.place.path("files/shop.db")).unwrap();
        assert!(succeeds(Command::new("sync").arg("-f").arg(mounted.place.path("files"))));
        mounted.disk.set("volatile=1");
        Some(mounted)
    }

    fn mount(&mut self) {
        let device = self.device.get_or_insert_with(|| FaultLoop::over(&self.disk).unwrap());
        assert!(succeeds(Command::new("mount").arg(device.path()).arg(self.place.path("files"))));
    }

    fn unmount(&self) -> bool {
        succeeds(Command::new("umount").arg(self.place.path("files")))
    }

    /// Mounts it anew, as after the disk was repaired.
    pub fn again(&mut self) {
        assert!(self.unmount());
        self.device = None;
        self.mount();
    }

    /// Cuts the power, and gives it back: what no flush has written is gone, in memory too.
    fn cut(&mut self) {
        self.disk.set("cut=1");
        assert!(self.unmount());
        self.device = None;
        self.disk.set("gone=0");
        self.mount();
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        self.unmount();
        self.device = None;
    }
}

#[test]
fn a_cut_of_the_power_loses_nothing_that_waited_for_the_disk_and_much_that_did_not() {
    for (synchronous, code) in [("full", 0), ("off", 10)] {
        let Some(mut mounted) = Mounted::new() else { return };
        let url = format!("sqlite:files/shop.db?synchronous={synchronous}");
        let place = &mounted.place;
        let running = place.start(&[&["run", "closed.toml", &url][..], &LONG[..]].concat(), 3);
        running.signal(libc::SIGKILL);
        assert_eq!(running.end().code, None);
        // A kill spares what the kernel has.
        assert_eq!(after(place, &url, "run").code, Some(0), "{synchronous}");
        running_again(place, &url);
        mounted.cut();
        let said = after(&mounted.place, &url, "again");
        assert_eq!(said.code, Some(code), "{synchronous}: {said:?}");
        let text = format!("{}{}", said.out, said.err);
        let found = text.contains("acknowledged commits are lost") || text.contains("is damaged");
        assert_eq!(found, code == 10, "{synchronous}: {text}");
    }
}

/// Another run, in the directory `again`, that is killed: nothing has looked at the database since.
fn running_again(place: &Place, url: &str) {
    let args = [&["run", "closed.toml", url, "--out", "again"][..], &LONG[..]].concat();
    let mut child =
        place.command(&args).stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn();
    let child = child.as_mut().unwrap();
    let ledger = place.path("again/ledger.bin");
    let length = |path: &Path| fs::metadata(path).map_or(0, |it| it.len());
    super::bed::until("a hundred commits", || length(&ledger) > 100 * 40);
    child.kill().unwrap();
    child.wait().unwrap();
}

/// A crash test of a server with these options, which crashes while the run goes on. None without a server.
fn crashed(options: &str) -> Option<(Served, Said)> {
    let served = Served::new(options)?;
    // One slice: a kind of which little is due in a second has nothing to show for one in which the server was away.
    let lengths = ["--warm-up", "1s", "--for", "8s", "--slice", "8s", "--crash-test"];
    let running = served.place.start(&[&["run", "open.toml", &served.url][..], &lengths[..]].concat(), 4);
    served.cluster.crash(options);
    let said = running.end();
    Some((served, said))
}

#[test]
fn a_durable_server_that_crashes_keeps_what_it_acknowledged() {
    let Some((served, said)) = crashed("") else { return };
    assert!(said.passed_or_late(), "{said:?}");
    let log = Log::of(&served.place.path("run"));
    assert!(log.events.iter().any(|event| event.text.ends_with("acknowledged commits are there")), "{:?}", log.events);
    let limit = "only a cut of the power shows what a disk";
    assert!(in_one_line(&said.out).contains(limit), "what a kill cannot show: {}", said.out);
    let (acknowledged, lost) = counted(&served.place, &served.url, "run");
    assert!(acknowledged > 20 && lost == 0, "{acknowledged} {lost}");
    assert_eq!(after(&served.place, &served.url, "run").code, Some(0));
}

/// The lock ends with its server. Whoever clears the database after a crash would do so under the sessions, which go on.
#[test]
fn another_assay_is_kept_out_after_a_crash_too() {
    let Some(served) = Served::new("") else { return };
    let lengths = ["--warm-up", "1s", "--for", "15s", "--slice", "15s", "--crash-test"];
    let running = served.place.start(&[&["run", "open.toml", &served.url][..], &lengths[..]].concat(), 2);
    served.cluster.crash("");
    super::bed::until("the lock is taken again", || {
        served.ask("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") == "1"
    });
    let cleared = served.place.assay(&["prep", &served.url, "--warehouses", "1", "--clear"]);
    assert!(cleared.code == Some(4) && cleared.err.contains("in use by another Assay"), "{cleared:?}");
    let said = running.end();
    assert!(said.passed_or_late(), "{said:?}");
    let log = Log::of(&served.place.path("run"));
    let says = |text: &str| log.events.iter().any(|event| event.text.contains(text));
    assert!(says("was lost during the run; the lock was taken again"), "{:?}", log.events);
    assert!(says("acknowledged commits are there"), "{:?}", log.events);
}

#[test]
fn a_server_that_answers_before_it_writes_loses_commits_which_are_found() {
    let Some((served, said)) =
        crashed("-c synchronous_commit=off -c wal_writer_delay=10s -c wal_writer_flush_after=1GB")
    else {
        return;
    };
    assert_eq!(said.is_of_verdict(&served.place.path("run")), "FAIL", "{said:?}");
    assert!(in_one_line(&said.out).contains("NOT DURABLE: synchronous_commit=off"), "{}", said.out);
    let (acknowledged, lost) = counted(&served.place, &served.url, "run");
    assert!((1..acknowledged).contains(&lost), "{lost} of {acknowledged}");
    let said = after(&served.place, &served.url, "run");
    let says = format!("FAIL: {lost} of {acknowledged} acknowledged commits are lost");
    assert!(said.code == Some(10) && said.out.contains(&says), "{said:?}");
    assert!(said.out.contains("PASS: all 17 conditions hold"), "what is left is consistent: {said:?}");
}

/// What ends sessions and leaves the server time to write everything says nothing about a crash.
#[test]
fn a_server_that_only_ended_sessions_or_was_stopped_in_order_has_not_crashed() {
    let options = "-c synchronous_commit=off -c wal_writer_delay=10s -c wal_writer_flush_after=1GB";
    let Some(served) = Served::new(options) else { return };
    let sessions = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                    WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
    for (stops, says) in [(false, "the server was there all the time"), (true, "the server was stopped in order")] {
        let lengths = ["--warm-up", "1s", "--for", "6s", "--slice", "6s", "--crash-test"];
        let running = served.place.start(&[&["run", "open.toml", &served.url][..], &lengths[..]].concat(), 3);
        if stops {
            served.cluster.stop_in_order();
            served.cluster.start(options);
        } else {
            assert_ne!(served.ask(sessions), "0");
        }
        let said = running.end();
        assert_eq!(said.is_of_verdict(&served.place.path("run")), "INVALID", "{stops}: {said:?}");
        let events = Log::of(&served.place.path("run")).events;
        let told = |what: &str, text: &str| events.iter().any(|event| event.what == what && event.text.contains(text));
        assert!(told("unchecked", says) && told("unchecked", "a crash test needs a crash"), "{stops}: {events:?}");
        fs::remove_dir_all(served.place.path("run")).unwrap();
    }
}

#[test]
fn both_modes_keep_numbers_and_a_crash_test_without_a_crash_proves_nothing() {
    let Some(served) = Served::new("-c fsync=off") else { return };
    for (workload, dir) in [("closed.toml", "procedures"), ("client.toml", "client")] {
        let lengths = ["--warm-up", "1s", "--for", "2s", "--slice", "1s", "--crash-test", "--out", dir];
        let said = served.place.assay(&[&["run", workload, &served.url][..], &lengths[..]].concat());
        let text = in_one_line(&said.out);
        assert!(said.code == Some(11) && text.contains("a crash test needs a crash"), "{workload}: {said:?}");
        let said = after(&served.place, &served.url, dir);
        assert_eq!(said.code, Some(0), "{workload}: {said:?}");
        assert!(counted(&served.place, &served.url, dir).0 > 20, "{workload}");
    }
    let kept: u64 = served.ask("SELECT min(seq) FROM assay_tpcc.assay_session").parse().unwrap();
    assert!(kept > 0, "each session of both runs has come somewhere");
    // A later load and a later run leave an earlier run's rows where they are, until the tables are deleted.
    assert_eq!(served.ask("SELECT count(DISTINCT run) FROM assay_tpcc.assay_session"), "2");
    let said = served.place.assay(&["prep", &served.url, "--warehouses", "1", "--clear"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let said = after(&served.place, &served.url, "client");
    assert!(said.code == Some(11) && said.err.contains("name the database of that run"), "{said:?}");
    let gone = served.ask("SELECT count(*) FROM pg_tables WHERE tablename = 'assay_session'");
    assert_eq!(gone, "0");
}
