//! The same transactions on a MariaDB server: in both modes, when the server is killed, and when somebody changes what
//! a commit means.

use super::bed::{Log, Place, Running, Said, until};
use super::drawn::Drawn;
use super::maria::{Server, succeeds};
use super::shop::{CLOSED, OPEN, done, in_one_line, run, says_what_it_is};
use assay_model::tpcc::TransactionKind;
use std::sync::OnceLock;

/// A password that must not be found anywhere.
pub const CANARY: &str = "canary-51c08e";

/// A server, and a place with the workloads; one warehouse is loaded, by a user with a password.
pub struct Served {
    pub server: Server,
    pub place: Place,
    pub url: String,
}

/// One warehouse, loaded once. Each server begins with a copy of these files.
fn loaded() -> Option<&'static Server> {
    static LOADED: OnceLock<Option<Server>> = OnceLock::new();
    let load = || {
        let server = Server::make("--innodb-flush-method=nosync")?;
        let grant = format!("CREATE USER shopper IDENTIFIED BY '{CANARY}'; GRANT ALL ON *.* TO shopper");
        succeeds(&mut server.client(&["-e", &grant]));
        let served = Served::on(server);
        let said = served.says(&["prep", &served.url, "--warehouses", "1"]);
        assert!(said.contains("1 warehouse loaded with seed 1"), "{said}");
        served.server.rest();
        Some(served.server)
    };
    LOADED.get_or_init(load).as_ref()
}

impl Served {
    pub fn new(options: &str) -> Option<Served> {
        let served = Served::at_rest()?;
        served.server.start(options);
        Some(served)
    }

    /// With a server that is not started yet.
    pub fn at_rest() -> Option<Served> {
        Some(Served::on(Server::copy_of(loaded()?)))
    }

    fn on(server: Server) -> Served {
        let url = format!("mysql://shopper@/shop?socket={}", server.socket().display());
        let place = Place::new();
        place.write("open.toml", OPEN);
        place.write("closed.toml", CLOSED);
        place.write("client.toml", &format!("{CLOSED}mode = \"client\"\n"));
        Served { server, place, url }
    }

    /// Runs a command that gets the password by the environment.
    pub fn assay(&self, args: &[&str]) -> Said {
        let said = Said::of(self.place.command(args).env("MYSQL_PWD", CANARY).output().unwrap(), args);
        assert!(!said.out.contains(CANARY) && !said.err.contains(CANARY), "{said:?}");
        said
    }

    /// All that it says.
    pub fn says(&self, args: &[&str]) -> String {
        let said = self.assay(args);
        said.out + &said.err
    }

    pub fn ask(&self, sql: &str) -> String {
        succeeds(&mut self.server.client(&["-e", sql])).trim_end().to_owned()
    }

    /// The sums that orders and payments raise.
    pub fn sums(&self) -> (u64, u64) {
        let sum = |sql: &str| self.ask(sql).parse().unwrap();
        (sum("SELECT sum(d_next_o_id) FROM shop.district"), sum("SELECT sum(c_payment_cnt) FROM shop.customer"))
    }

    /// A run that lasts until somebody does something to the server.
    fn begun(&self) -> Running {
        self.running(&["--warm-up", "1s", "--for", "8s", "--slice", "1s"])
    }

    /// How many commits of a run were acknowledged, and how many of them are lost.
    fn counted(&self, dir: &str) -> (u64, u64) {
        let json = self.assay(&["check", &self.url, "--after", dir, "--json"]).json();
        let number = |name: &str| json["after"][name].as_u64().unwrap();
        (number("acknowledged"), number("lost"))
    }

    /// A run of the open loop, with its password in a file.
    fn running(&self, options: &[&str]) -> Running {
        self.place.start(&[&["run", "open.toml", &self.url_with_file()][..], options].concat(), 4)
    }

    /// The URL with the name of a file that holds the password.
    pub fn url_with_file(&self) -> String {
        self.place.write("secret", CANARY);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(self.place.path("secret"), mode).unwrap();
        format!("{}&password_file={}", self.url, self.place.path("secret").display())
    }
}

#[test]
fn both_modes_leave_what_they_count_and_no_password() {
    let Some(served) = Served::new("--innodb-flush-method=nosync") else { return };
    for (workload, mode) in [("closed.toml", "procedures"), ("client.toml", "client")] {
        let before = served.sums();
        let text = served.says(&run(workload, &served.url, &["--out", mode]));
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
        assert_eq!((head.dialect.as_str(), head.mode.as_str(), head.warehouses), ("mariadb", mode, 1));
        assert!(head.not_durable.contains(&"innodb_flush_method=nosync".to_owned()), "{:?}", head.not_durable);
        assert!(in_one_line(&judged.out).contains("NOT DURABLE: innodb_flush_method=nosync"), "{}", judged.out);
        assert!(judged.out.contains("checked: all 17 conditions hold"), "{}", judged.out);
        let server = log.header.meters.iter().position(|meter| meter.kind == "server").unwrap();
        for name in ["commits", "log_bytes"] {
            let at = log.header.meters[server].counters.iter().position(|counter| counter == name).unwrap();
            let counted: u64 = log.intervals.iter().filter_map(|it| it.meters[server].get(at)).sum();
            assert!(counted > 0, "{mode}: {name}");
        }
        let drawn = Drawn::of(&std::fs::read_to_string(served.place.path(mode).join("report.html")).unwrap());
        drawn.has("Per minute", &["NOPM", "TPM"]);
        drawn.has("Operations per second", &["operations completed", "mariadb log writes", "mariadb commits"]);
        drawn.has("MB per second", &["mariadb log"]);
        for file in ["run.jsonl", "verdict.json", "report.html"] {
            let content = std::fs::read_to_string(served.place.path(mode).join(file)).unwrap();
            assert!(!content.contains(CANARY), "{file} holds the password");
        }
    }
    assert!(served.says(&["check", &served.url]).contains("PASS: all 17 conditions hold"));
    let explained = served.says(&["explain", "tpcc", &served.url]);
    assert!(explained.contains("new-order") && explained.contains("0.214/s"), "{explained}");
    let refused = served.assay(&["check", &served.url, "--after", "client"]);
    let says = "name the directory of a run that was made with --verify";
    assert!(refused.code == Some(3) && refused.err.contains(says), "{refused:?}");
}

/// A crash test of a server with these options, which crashes during the run. `None` if no server can be started.
fn crashed(options: &str) -> Option<(Served, Said)> {
    let served = Served::new(options)?;
    // One slice: of a rare kind, a slice of a second in which the server is away may have no completed transaction to
    // judge.
    let running = served.running(&["--warm-up", "1s", "--for", "8s", "--slice", "8s", "--crash-test"]);
    served.server.crash(options);
    let said = running.end();
    Some((served, said))
}

#[test]
fn a_durable_server_that_crashes_keeps_what_it_acknowledged() {
    let Some((served, said)) = crashed("") else { return };
    assert!(said.passed_or_late(), "{said:?}");
    let (acknowledged, lost) = served.counted("run");
    assert!(acknowledged > 20 && lost == 0, "{lost} of {acknowledged}");
}

/// The lock ends with its server, or with its connection.
#[test]
fn another_assay_is_kept_out_after_a_crash_too() {
    let Some(served) = Served::new("") else { return };
    let running = served.running(&["--warm-up", "1s", "--for", "15s", "--slice", "15s", "--crash-test"]);
    served.server.crash("");
    super::bed::until("the lock is taken again", || {
        served.ask("SELECT IS_USED_LOCK('assay_tpcc shop') IS NOT NULL") == "1"
    });
    let cleared = served.assay(&["prep", &served.url, "--warehouses", "1", "--clear"]);
    assert!(cleared.code == Some(4) && cleared.err.contains("in use by another Assay"), "{cleared:?}");
    let said = running.end();
    assert!(said.passed_or_late(), "{said:?}");
    let log = Log::of(&served.place.path("run"));
    let says = |text: &str| log.events.iter().any(|event| event.text.contains(text));
    assert!(says("was lost during the run; the lock was taken again"), "{:?}", log.events);
    assert!(says("acknowledged commits are there"), "{:?}", log.events);
}

#[test]
fn a_run_whose_lock_somebody_else_has_at_the_end_proves_nothing() {
    use std::io::Write;
    let Some(served) = Served::new("--innodb-flush-method=nosync") else { return };
    let running = served.begun();
    let holder = served.ask("SELECT IS_USED_LOCK('assay_tpcc shop')");
    let mut client = served.server.client(&[]);
    let mut other = client.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::null()).spawn().unwrap();
    let steal = format!("KILL {holder}; DO GET_LOCK('assay_tpcc shop', 60);\n");
    other.stdin.as_mut().unwrap().write_all(steal.as_bytes()).unwrap();
    let said = running.end();
    other.kill().unwrap();
    other.wait().unwrap();
    assert_eq!(said.is_of_verdict(&served.place.path("run")), "INVALID", "{said:?}");
    let log = Log::of(&served.place.path("run"));
    let told = log.events.iter().find(|event| event.what == "disturbed");
    assert!(told.is_some_and(|event| event.text.contains("cannot be taken again")), "{:?}", log.events);
}

/// The log is written, and made durable, once a minute.
#[test]
fn a_server_that_answers_before_it_writes_loses_commits_which_are_found() {
    let lazy = "--innodb-flush-log-at-trx-commit=0 --innodb-flush-log-at-timeout=60";
    let Some((served, said)) = crashed(lazy) else { return };
    assert_eq!(said.is_of_verdict(&served.place.path("run")), "FAIL", "{said:?}");
    assert!(in_one_line(&said.out).contains("NOT DURABLE: innodb_flush_log_at_trx_commit=0"), "{}", said.out);
    let (acknowledged, lost) = served.counted("run");
    assert!((1..=acknowledged).contains(&lost), "{lost} of {acknowledged}");
    let said = served.assay(&["check", &served.url, "--after", "run"]);
    let says = format!("FAIL: {lost} of {acknowledged} acknowledged commits are lost");
    assert!(said.code == Some(10) && said.out.contains(&says), "{said:?}");
    assert!(!said.out.contains("its row was gone"), "the rows of the sessions are older than the load: {said:?}");
    assert!(said.out.contains("PASS: all 17 conditions hold"), "what is left is consistent: {said:?}");
}

#[test]
fn both_modes_keep_numbers_and_a_crash_test_without_a_crash_proves_nothing() {
    let Some(served) = Served::new("--innodb-flush-method=nosync") else { return };
    for (workload, dir) in [("closed.toml", "procedures"), ("client.toml", "client")] {
        let lengths = ["--warm-up", "1s", "--for", "2s", "--slice", "1s", "--crash-test", "--out", dir];
        let said = served.assay(&[&["run", workload, &served.url][..], &lengths[..]].concat());
        let text = in_one_line(&said.out);
        assert!(said.code == Some(11) && text.contains("a crash test needs a crash"), "{workload}: {said:?}");
        let (acknowledged, lost) = served.counted(dir);
        assert!(acknowledged > 20 && lost == 0, "{workload}: {lost} of {acknowledged}");
    }
    let kept: u64 = served.ask("SELECT min(seq) FROM shop.assay_session").parse().unwrap();
    assert!(kept > 0, "each session of both runs has come somewhere");
    // One session has committed less than it said, and one is gone.
    for (change, says) in [
        ("UPDATE shop.assay_session SET seq = seq - 3 WHERE session = 1", "session 1: "),
        ("DELETE FROM shop.assay_session WHERE session = 2", "its row was gone"),
    ] {
        served.ask(change);
        let said = served.assay(&["check", &served.url, "--after", "client"]);
        assert!(said.code == Some(10) && said.out.contains(says), "{change}: {said:?}");
    }
    assert!(served.says(&["prep", &served.url, "--warehouses", "1", "--clear"]).contains("1 warehouse loaded"));
    let said = served.assay(&["check", &served.url, "--after", "procedures"]);
    assert!(said.code == Some(11) && said.err.contains("name the database of that run"), "{said:?}");
    let sql = "SELECT count(*) FROM information_schema.tables WHERE table_name = 'assay_session'";
    assert_eq!(served.ask(sql), "0");
}

#[test]
fn a_server_that_is_killed_fails_the_run_and_loses_nothing() {
    let Some(served) = Served::new("") else { return };
    let before = served.sums();
    let running = served.begun();
    served.server.crash("");
    let said = running.end();
    assert_eq!(said.is_of_verdict(&served.place.path("run")), "FAIL", "{said:?}");
    let log = Log::of(&served.place.path("run"));
    let codes: Vec<&String> =
        log.intervals.iter().flat_map(|it| it.flows.iter().flat_map(|flow| flow.errors.keys())).collect();
    assert!(codes.iter().any(|code| ["connection-lost", "outcome-unknown"].contains(&code.as_str())), "{codes:?}");
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
    assert!(served.says(&["check", &served.url]).contains("PASS"));
}

#[test]
fn a_setting_that_somebody_changes_during_the_run_is_noticed() {
    let Some(served) = Served::new("") else { return };
    let running = served.begun();
    // The run reads the settings now and then.
    let read = || -> u64 {
        let said = served.ask("SHOW GLOBAL STATUS LIKE 'Com_show_variables'");
        said.split_whitespace().last().unwrap().parse().unwrap()
    };
    served.ask("SET GLOBAL innodb_flush_log_at_trx_commit = 0");
    let before = read();
    until("the settings are read", || read() > before);
    served.ask("SET GLOBAL innodb_flush_log_at_trx_commit = 2");
    let said = running.end();
    assert_eq!(said.is_of_verdict(&served.place.path("run")), "INVALID", "{said:?}");
    let text = in_one_line(&said.out);
    assert!(text.contains("innodb_flush_log_at_trx_commit was 1 at the beginning and is 2 at the end"), "{text}");
    assert!(text.contains("innodb_flush_log_at_trx_commit was 1 at the beginning and was 0 for a time"), "{text}");
}

/// At 30 transactions a second this is more than a deck, in which each kind has a card.
const LENGTH: [&str; 6] = ["--warm-up", "0s", "--for", "4s", "--slice", "4s"];

#[test]
fn searches_and_curves_go_as_on_a_file() {
    let Some(served) = Served::new("--innodb-flush-method=nosync") else { return };
    let json = |file: &str| -> serde_json::Value {
        serde_json::from_str(&std::fs::read_to_string(served.place.path(file)).unwrap()).unwrap()
    };
    let limit = ["limit", "open.toml", &served.url, "--from", "1x", "--to", "2x", "--out", "found"];
    let said = served.assay(&[&limit[..], &LENGTH[..]].concat());
    assert!(said.passed_or_late(), "{said:?}");
    assert_eq!(json("found/limit.json")["counted"]["name"], "NOPM");
    let curve = ["curve", "closed.toml", &served.url, "--sessions", "1,2", "--out", "curve"];
    let said = served.assay(&[&curve[..], &LENGTH[..]].concat());
    assert!(said.passed_or_late(), "{said:?}");
    let kept = json("curve/sessions.json");
    for (at, sessions) in [(0, 1), (1, 2)] {
        let point = &kept["points"][at];
        assert_eq!(point["sessions"], sessions);
        assert!(point["per_minute"]["NOPM"].as_f64().unwrap() > 0.0 && point["bytes"].as_u64().unwrap() > 50_000_000);
    }
}
