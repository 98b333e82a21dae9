//! The same transactions on a PostgreSQL server: in both modes, when the server is killed, and when somebody changes what
//! a commit means.

use super::bed::{Log, Place, Running, until};
use super::cluster::{Cluster, succeeds};
use super::drawn::Drawn;
use super::shop::{CLOSED, OPEN, done, in_one_line, run, says_what_it_is};
use assay_model::tpcc::TransactionKind;
use std::process::Command;
use std::sync::OnceLock;

/// A password that must not be found anywhere.
const CANARY: &str = "canary-7f3a91";

const DATABASE: &str = "shop";

/// A server, and a place with the workloads; one warehouse is loaded.
pub struct Served {
    pub cluster: Cluster,
    pub place: Place,
    pub url: String,
}

/// The URL of the database as a role.
fn url(cluster: &Cluster, role: &str) -> String {
    format!("postgres://{role}@/{DATABASE}?host={}", cluster.dir.display())
}

/// One warehouse, loaded once. Each server begins with a copy of these files.
fn loaded() -> Option<&'static Cluster> {
    static LOADED: OnceLock<Option<Cluster>> = OnceLock::new();
    let load = || {
        // A small log, because it is copied too.
        let cluster = Cluster::make("-c fsync=off -c min_wal_size=32MB -c max_wal_size=64MB")?;
        succeeds(&mut cluster.psql("template1", &["-c", &format!("CREATE DATABASE {DATABASE}")]));
        let said = Place::new().assay(&["prep", &url(&cluster, "postgres"), "--warehouses", "1"]);
        assert_eq!(said.code, Some(0), "{said:?}");
        cluster.rest();
        Some(cluster)
    };
    LOADED.get_or_init(load).as_ref()
}

impl Served {
    pub fn new(options: &str) -> Option<Served> {
        let cluster = Cluster::copy_of(loaded()?, options);
        let place = Place::new();
        place.write("open.toml", OPEN);
        place.write("closed.toml", CLOSED);
        place.write("client.toml", &format!("{CLOSED}mode = \"client\"\n"));
        Some(Served { url: url(&cluster, "postgres"), cluster, place })
    }

    pub fn url_as(&self, role: &str) -> String {
        url(&self.cluster, role)
    }

    pub fn ask(&self, sql: &str) -> String {
        succeeds(&mut self.cluster.psql(DATABASE, &["-c", sql])).trim_end().to_owned()
    }

    /// A session of somebody else.
    pub fn psql(&self, arguments: &[&str]) -> Command {
        self.cluster.psql(DATABASE, arguments)
    }

    /// The sums that orders and payments raise.
    pub fn sums(&self) -> (u64, u64) {
        let sum = |sql: &str| self.ask(sql).parse().unwrap();
        let orders = sum("SELECT sum(d_next_o_id) FROM assay_tpcc.district");
        (orders, sum("SELECT sum(c_payment_cnt) FROM assay_tpcc.customer"))
    }

    /// A run that lasts until somebody does something to the server.
    fn begun(&self) -> Running {
        let args = ["run", "open.toml", &self.url, "--warm-up", "1s", "--for", "8s", "--slice", "1s"];
        self.place.start(&args, 4)
    }
}

#[test]
fn both_modes_leave_what_they_count_and_no_password() {
    let Some(served) = Served::new("-c fsync=off") else { return };
    for (workload, mode) in [("closed.toml", "procedures"), ("client.toml", "client")] {
        let before = served.sums();
        let mut command = served.place.command(&[&run(workload, &served.url, &["--out", mode])[..]].concat());
        let output = command.env("PGPASSWORD", CANARY).output().unwrap();
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        let judged = served.place.assay(&["judge", mode]);
        assert!(judged.passed_or_late(), "{mode}: {text}");
        says_what_it_is(mode, &judged.out);

        let log = Log::of(&served.place.path(mode));
        let after = served.sums();
        let (orders, undone) = done(&log, TransactionKind::NewOrder, "rolled-back");
        let (payments, _) = done(&log, TransactionKind::Payment, "");
        assert!(orders > 10 && payments > 10, "{mode}: {orders} and {payments}");
        assert_eq!((after.0 - before.0, after.1 - before.1), (orders - undone, payments), "{mode}");

        let head = &log.header.databases[0];
        assert_eq!((head.dialect.as_str(), head.mode.as_str(), head.warehouses), ("postgresql", mode, 1));
        assert_eq!(head.not_durable, ["fsync=off"]);
        assert!(in_one_line(&judged.out).contains("NOT DURABLE: fsync=off"), "{}", judged.out);
        assert!(judged.out.contains("checked: all 17 conditions hold"), "{}", judged.out);
        let server = log.header.meters.iter().position(|meter| meter.kind == "server").unwrap();
        let commits = log.header.meters[server].counters.iter().position(|name| name == "commits").unwrap();
        let counted: u64 = log.intervals.iter().filter_map(|it| it.meters[server].get(commits)).sum();
        // The server publishes a session's counters with a delay of up to a second.
        assert!(counted > 0 && counted <= (after.1 + after.0) * 10, "{mode}: {counted}");
        let result = std::fs::read_to_string(served.place.path(mode).join("verdict.json")).unwrap();
        let result: serde_json::Value = serde_json::from_str(&result).unwrap();
        let tpm = result["databases"][0]["server_tpm"].as_f64().unwrap();
        assert!(tpm > 0.0 && in_one_line(&judged.out).contains("its server counted"), "{tpm}: {}", judged.out);
        for file in ["run.jsonl", "verdict.json", "report.html"] {
            let content = std::fs::read_to_string(served.place.path(mode).join(file)).unwrap();
            assert!(!content.contains(CANARY), "{file} holds the password");
        }
        assert!(!text.contains(CANARY) && !judged.out.contains(CANARY), "{text}");
    }
}

#[test]
fn a_server_that_is_killed_fails_the_run_and_loses_nothing() {
    let Some(served) = Served::new("") else { return };
    let before = served.sums();
    let running = served.begun();
    served.cluster.crash("");
    let said = running.end();
    assert_eq!(said.is_of_verdict(&served.place.path("run")), "FAIL", "{said:?}");
    let log = Log::of(&served.place.path("run"));
    let codes: Vec<&String> =
        log.intervals.iter().flat_map(|it| it.flows.iter().flat_map(|flow| flow.errors.keys())).collect();
    assert!(codes.iter().any(|code| ["connection-lost", "57P02", "57P01"].contains(&code.as_str())), "{codes:?}");
    let unknown = |kind: TransactionKind| -> u64 {
        log.intervals.iter().filter_map(|it| it.flows[kind as usize].errors.get("outcome-unknown")).sum()
    };
    let after = served.sums();
    let (orders, undone) = done(&log, TransactionKind::NewOrder, "rolled-back");
    let (payments, _) = done(&log, TransactionKind::Payment, "");
    let (rose, committed) = (after.0 - before.0, orders - undone);
    assert!((committed..=committed + unknown(TransactionKind::NewOrder)).contains(&rose), "{rose} and {committed}");
    let rose = after.1 - before.1;
    assert!((payments..=payments + unknown(TransactionKind::Payment)).contains(&rose), "{rose} and {payments}");
    assert!(log.events.iter().any(|event| event.what == "checked"), "it is looked at again: {:?}", log.events);
    assert_eq!(served.place.assay(&["check", &served.url]).code, Some(0));
}

/// A server whose processes are stopped, until this is dropped.
struct Silent(Vec<rustix::process::Pid>);

impl Silent {
    fn new(cluster: &Cluster) -> Silent {
        let all = Silent(cluster.processes());
        all.tell(rustix::process::Signal::STOP);
        all
    }

    fn tell(&self, signal: rustix::process::Signal) {
        for process in &self.0 {
            let _ = rustix::process::kill_process(*process, signal);
        }
    }
}

impl Drop for Silent {
    fn drop(&mut self) {
        self.tell(rustix::process::Signal::CONT);
    }
}

/// Transactions that were due while the server was silent have waited since then, whether or not a session was free.
#[test]
fn two_silent_seconds_show_in_the_response_of_all_that_was_due_in_them() {
    let Some(served) = Served::new("-c fsync=off") else { return };
    let running = served.begun();
    let silent = Silent::new(&served.cluster);
    std::thread::sleep(std::time::Duration::from_secs(2));
    drop(silent);
    let said = running.end();
    let log = Log::of(&served.place.path("run"));
    let flows = || log.intervals.iter().flat_map(|interval| &interval.flows);
    let longest = flows().map(|flow| flow.response.max_ns).max().unwrap();
    // 30 a second for two seconds, which waited for one second on average.
    let waited: u64 = flows().map(|flow| flow.response.sum_ns).sum();
    assert!(longest >= 1_900_000_000 && waited >= 30_000_000_000, "{longest} and {waited}: {said:?}");
    assert!(flows().all(|flow| flow.errors.is_empty()), "{said:?}");
    assert!(log.events.iter().any(|event| event.what == "checked"), "{said:?}");
}

#[test]
fn a_server_that_stays_silent_is_stuck_and_the_run_ends_all_the_same() {
    let Some(served) = Served::new("-c fsync=off") else { return };
    let lengths = ["--warm-up", "0s", "--for", "6s", "--slice", "2s", "--stuck", "2s", "--drain", "2s"];
    let running = served.place.start(&[&["run", "open.toml", &served.url], &lengths[..]].concat(), 1);
    let silent = Silent::new(&served.cluster);
    let said = running.end();
    drop(silent);
    assert_eq!(said.is_of_verdict(&served.place.path("run")), "FAIL", "{said:?}");
    assert!(in_one_line(&said.out).contains("stuck"), "{said:?}");
    let log = Log::of(&served.place.path("run"));
    let told = log.events.iter().find(|event| event.what == "unchecked");
    assert!(told.is_some_and(|event| event.text.contains("sessions still wait")), "{:?}", log.events);
}

/// Nobody needs the lock's connection before the end, so that only then it is known that somebody else has the lock.
#[test]
fn a_run_whose_lock_somebody_else_has_at_the_end_proves_nothing() {
    use std::io::{BufRead, BufReader, Write};
    let Some(served) = Served::new("-c fsync=off") else { return };
    let running = served.begun();
    let mut psql = served.psql(&[]);
    let mut other = psql.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let steal = "SELECT pg_advisory_lock(l.classid::bigint::int, (CASE WHEN l.objid::bigint > 2147483647 THEN \
                 l.objid::bigint - 4294967296 ELSE l.objid::bigint END)::int) FROM (SELECT classid, objid, \
                 pg_terminate_backend(pid) AS ended FROM pg_locks WHERE locktype = 'advisory' OFFSET 0) AS l WHERE l.ended;\n\
                 SELECT 'taken';\n";
    other.stdin.as_mut().unwrap().write_all(steal.as_bytes()).unwrap();
    let mut lines = BufReader::new(other.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "taken"));
    let said = running.end();
    other.kill().unwrap();
    other.wait().unwrap();
    assert_eq!(said.is_of_verdict(&served.place.path("run")), "INVALID", "{said:?}");
    let log = Log::of(&served.place.path("run"));
    let told = log.events.iter().find(|event| event.what == "disturbed");
    assert!(told.is_some_and(|event| event.text.contains("cannot be taken again")), "{:?}", log.events);
    assert!(in_one_line(&said.out).contains("in use by another Assay"), "{}", said.out);
}

/// A lock that was lost and that nobody else has taken is taken again, which the result says.
#[test]
fn a_lock_whose_connection_was_ended_is_taken_again_at_the_end() {
    let Some(served) = Served::new("-c fsync=off") else { return };
    let running = served.begun();
    assert_eq!(served.ask("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'"), "t");
    let said = running.end();
    assert!(said.passed_or_late(), "{said:?}");
    let text = in_one_line(&said.out);
    assert!(text.contains("was lost during the run; the lock was taken again"), "{text}");
    assert!(text.contains("checked: all 17 conditions hold"), "{text}");
}

#[test]
fn a_setting_that_somebody_changes_during_the_run_is_noticed() {
    let Some(served) = Served::new("-c track_wal_io_timing=on") else { return };
    let running = served.begun();
    let reload = |what: &str, sql: &str| {
        served.ask(sql);
        served.ask("SELECT pg_reload_conf()");
        let now = served.ask("SELECT clock_timestamp()");
        // The run reads the settings now and then, and its connection hears of the change a moment later.
        let read = format!(
            "SELECT count(*) > 0 FROM pg_stat_activity WHERE query LIKE '%current_setting(name)%' AND pid <> pg_backend_pid() \
             AND query_start > '{now}'::timestamptz + interval '500 ms'"
        );
        until(what, || served.ask(&read) == "t");
    };
    reload("the first value is read", "ALTER SYSTEM SET synchronous_commit = local");
    reload("the second value is read", "ALTER SYSTEM SET synchronous_commit = off");
    served.ask("ALTER TABLE assay_tpcc.history SET UNLOGGED");
    let said = running.end();
    assert_eq!(said.is_of_verdict(&served.place.path("run")), "INVALID", "{said:?}");
    let text = in_one_line(&said.out);
    assert!(text.contains("synchronous_commit was on at the beginning and is off at the end"), "{text}");
    assert!(text.contains("synchronous_commit was on at the beginning and was local for a time"), "{text}");
    assert!(text.contains("unlogged tables was not there at the beginning and is history at the end"), "{text}");
    assert!(text.contains("a commit may be lost: synchronous_commit=off"), "{text}");
    let log = Log::of(&served.place.path("run"));
    let page = std::fs::read_to_string(served.place.path("run/report.html")).unwrap();
    says_what_it_is("HTML", &page);
    let drawn = Drawn::of(&page);
    drawn.has("Per minute", &["NOPM", "TPM"]);
    drawn.has("Operations per second", &["operations completed", "postgresql log syncs", "postgresql commits"]);
    drawn.has("MB per second", &["postgresql log"]);
    drawn.has("Mean time of one", &["postgresql log sync"]);
    let Some(disk) = log.header.meters.iter().find(|meter| meter.kind == "disk") else {
        assert!(text.contains("name it with --disk"), "{text}");
        return;
    };
    drawn.has("Operations per second", &[&format!("{} writes", disk.name)]);
    drawn.has("MB per second", &[&format!("{} written", disk.name)]);
    drawn.has("Mean time of one", &[&format!("{} write", disk.name)]);
}

/// Without `track_wal_io_timing` the server says 0 of the time of its syncs, which nobody has measured.
#[test]
fn the_time_of_log_syncs_is_not_measured_unless_the_server_is_told_to() {
    for (option, measured) in [("-c track_wal_io_timing=off", false), ("-c track_wal_io_timing=on", true)] {
        let Some(served) = Served::new(option) else { return };
        let said = served.begun().end();
        assert!(said.passed_or_late(), "{said:?}");
        let text = in_one_line(&said.out);
        let why = "time of a log sync not measured: track_wal_io_timing is off";
        assert_eq!(text.contains(why), !measured, "{option}: {text}");
        assert!(text.contains("a log sync "), "{option}: {text}");
        assert!(!text.contains("a log sync 0 ns"), "{option}: {text}");
        let page = std::fs::read_to_string(served.place.path("run/report.html")).unwrap();
        assert_eq!(page.contains("not measured: track_wal_io_timing is off"), !measured, "{option}");
        assert!(!page.contains("a log sync 0 ns"), "{option}");
    }
}

#[test]
fn a_server_that_is_not_there_is_told_before_the_run() {
    let place = Place::new();
    let said = place.assay(&["run", "tpcc", "postgres://me@/shop?host=/nowhere", "--out", "run"]);
    assert!(said.code == Some(5) && said.err.contains("/nowhere"), "{said:?}");
    assert!(!place.path("run").join("run.jsonl").exists());
}
