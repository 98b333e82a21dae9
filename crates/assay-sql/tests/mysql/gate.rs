//! What is not ours is refused and left as it is; what is needed is said.

use crate::bed::{Bed, Server, small};
use assay_sql::mysql::gate::Permit;
use assay_sql::mysql::{Loading, Mode, Session, load_missing, open_for_run};
use assay_sql::{MysqlUrl, TroubleKind};
use std::ops::ControlFlow;

fn refused(bed: &Bed, url: &MysqlUrl, kind: TroubleKind, says: &str) {
    let everything = "SELECT count(*), sum(crc32(concat(table_schema, table_name, coalesce(create_time, '')))) \
                      FROM information_schema.tables WHERE table_schema LIKE 'shop%'; \
                      SELECT count(*) FROM information_schema.schemata; \
                      SELECT count(*) FROM information_schema.routines WHERE routine_schema LIKE 'shop%'";
    // Of other tests that run at the same time only those of this database count.
    let everything = everything.replace("LIKE 'shop%'", &format!("= '{}'", bed.database));
    let everything = everything.replace("schemata;", &format!("schemata WHERE schema_name = '{}';", bed.database));
    let before = bed.ask_server(&everything);
    for clear in [false, true] {
        let loading = Loading { url: url.clone(), clear, ..bed.loading(small(), 1) };
        let trouble = load_missing(&loading, &mut |_| ControlFlow::Continue(())).unwrap_err();
        assert!(trouble.kind == kind && trouble.to_string().contains(says), "{says}: {trouble}");
    }
    assert_eq!(bed.ask_server(&everything), before, "{says}");
}

#[test]
fn a_database_of_something_else_is_refused_and_left_as_it_is() {
    for made in [
        "CREATE TABLE warehouse (w_id integer)",
        "CREATE FUNCTION f() RETURNS int RETURN 1",
        "CREATE VIEW assay_tpcc AS SELECT 1",
        "CREATE SEQUENCE s",
        "CREATE EVENT e ON SCHEDULE EVERY 1 YEAR DISABLE DO SELECT 1",
    ] {
        let Some(bed) = Bed::new() else { return };
        bed.ask_server(&format!("CREATE DATABASE {0}; USE {0}; {made}", bed.database));
        refused(&bed, &bed.url(), TroubleKind::Refused, "holds something else");
    }
}

#[test]
fn a_database_without_a_marker_of_ours_is_refused() {
    for (spoil, says) in [
        ("ALTER TABLE assay_tpcc CHANGE c_load c_load2 bigint", "no marker"),
        ("DELETE FROM assay_tpcc", "not exactly one marker"),
        ("INSERT INTO assay_tpcc SELECT * FROM assay_tpcc", "not exactly one marker"),
        ("UPDATE assay_tpcc SET items = 7", "no load wrote"),
        ("UPDATE assay_tpcc SET warehouses = -1", "no load wrote"),
    ] {
        let Some(bed) = Bed::loaded() else { return };
        bed.ask(spoil);
        refused(&bed, &bed.url(), TroubleKind::Refused, says);
    }
}

#[test]
fn an_empty_database_is_used() {
    let Some(bed) = Bed::new() else { return };
    let trouble = Permit::to_use(&bed.url()).unwrap_err();
    assert!(trouble.kind == TroubleKind::NotReady && trouble.to_string().contains("does not exist"), "{trouble}");
    bed.ask_server(&format!("CREATE DATABASE {} CHARACTER SET utf8mb4", bed.database));
    let trouble = Permit::to_use(&bed.url()).unwrap_err();
    assert!(trouble.kind == TroubleKind::NotReady && trouble.to_string().contains("is empty"), "{trouble}");
    assert!(bed.load(small(), 1).unwrap().complete);
}

#[test]
fn another_assay_is_kept_out_while_one_works() {
    let Some(bed) = Bed::loaded() else { return };
    let permit = bed.permit();
    for trouble in [Permit::to_use(&bed.url()).unwrap_err(), Permit::to_load(&bed.url()).unwrap_err()] {
        assert!(
            trouble.kind == TroubleKind::Refused && trouble.to_string().contains("in use by another Assay"),
            "{trouble}"
        );
    }
    drop(permit);
    Permit::to_use(&bed.url()).unwrap();
    // The longest names have locks of their own too, whose names the server takes.
    let [one, other] = ["1", "2"].map(|last| Bed { database: "n".repeat(62) + last, ..Bed::new().unwrap() });
    let permit = Permit::to_load(&one.url()).unwrap();
    assert!(Permit::to_load(&one.url()).unwrap_err().to_string().contains("in use by another Assay"));
    Permit::to_load(&other.url()).unwrap();
    drop(permit);
    Permit::to_load(&one.url()).unwrap();
}

#[test]
fn a_run_needs_a_whole_load_of_this_version_with_enough_warehouses() {
    let Some(bed) = Bed::loaded() else { return };
    for (change, warehouses, says) in [
        ("SELECT 1", Some(3), "fewer than the 3"),
        ("UPDATE assay_tpcc SET complete = 0", None, "in part only"),
        ("UPDATE assay_tpcc SET complete = 1, version = 9", None, "version 9"),
    ] {
        bed.ask(change);
        let trouble = open_for_run(&bed.url(), warehouses).unwrap_err();
        assert!(trouble.kind == TroubleKind::NotReady && trouble.to_string().contains(says), "{trouble}");
    }
}

#[test]
fn what_is_not_as_a_load_makes_it_is_neither_loaded_nor_ready() {
    for (spoil, kind, says) in [
        ("DROP TABLE history", TroubleKind::Damaged, "lacks history: load it again with assay prep --clear"),
        (
            "ALTER TABLE customer DROP INDEX customer_by_name",
            TroubleKind::NotReady,
            "lacks the keys customer customer_by_name",
        ),
        ("ALTER TABLE stock DROP PRIMARY KEY", TroubleKind::NotReady, "lacks the keys stock PRIMARY (s_w_id, s_i_id)"),
        (
            "CREATE TRIGGER t BEFORE INSERT ON history FOR EACH ROW SET @x = 1",
            TroubleKind::Refused,
            "remove it first (t)",
        ),
        ("RENAME TABLE history TO h; CREATE VIEW history AS SELECT * FROM h", TroubleKind::Refused, "first (history)"),
    ] {
        let Some(bed) = Bed::loaded() else { return };
        let definitions = || bed.connection().session_settings().setting_value("definitions").to_owned();
        let before = definitions();
        assert_eq!(definitions(), before);
        bed.ask(spoil);
        assert!(definitions() != before && before.len() == 32, "{spoil}: {before}");
        for (trouble, kind) in [
            (open_for_run(&bed.url(), None).unwrap_err(), kind),
            (bed.load(small(), 1).unwrap_err(), TroubleKind::Refused),
        ] {
            assert!(trouble.kind == kind && trouble.to_string().contains(says), "{spoil}: {trouble}");
        }
    }
}

#[test]
fn procedures_that_are_not_ours_are_not_called_and_a_load_makes_them_anew() {
    let Some(bed) = Bed::loaded() else { return };
    bed.ask("DROP PROCEDURE stock_level_v1; CREATE PROCEDURE stock_level_v1(a int, b int, c int) SELECT 0");
    let session = |mode| Session::new(bed.connection(), small().row_scale(), mode).map(drop);
    let trouble = session(Mode::Procedures).unwrap_err();
    assert!(trouble.kind == TroubleKind::NotReady && trouble.to_string().contains("mode = \"client\""), "{trouble}");
    session(Mode::Client).unwrap();
    bed.load(small(), 1).unwrap();
    session(Mode::Procedures).unwrap();
}

#[test]
fn who_may_not_is_told_what_is_missing() {
    let Some(bed) = Bed::loaded() else { return };
    let user = format!("reader_{}", bed.database);
    bed.ask(&format!("CREATE USER {user}; GRANT SELECT ON {}.* TO {user}", bed.database));
    let (_, mut connection, _) = open_for_run(&bed.url_as(&user), None).unwrap();
    assert_eq!(assay_sql::mysql::check_conditions(&mut connection, small()).unwrap(), []);
    drop(connection);
    let other = MysqlUrl { database: format!("{}_other", bed.database), ..bed.url_as(&user) };
    refused(&bed, &other, TroubleKind::Host, "GRANT the user");
}

#[test]
fn a_server_that_is_not_there_or_lets_nobody_in_is_the_hosts_fault() {
    let Some(bed) = Bed::new() else { return };
    let nowhere = assay_sql::Host::Socket(bed.server.dir.join("nowhere"));
    for (url, says) in
        [(MysqlUrl { host: nowhere, ..bed.url() }, "cannot be reached"), (bed.url_as("nobody_at_all"), "set MYSQL_PWD")]
    {
        refused(&bed, &url, TroubleKind::Host, says);
    }
}

/// On a server of its own, because these concern a whole server.
#[test]
fn passwords_are_checked_and_servers_that_cannot_serve_are_refused() {
    let Some(server) = Server::make("--server-id=1 --log-bin --plugin-load-add=auth_ed25519") else { return };
    let bed = Bed::of(server);
    bed.ask_server(
        "CREATE USER asked IDENTIFIED BY 'canary'; GRANT ALL ON shop.* TO asked; \
         CREATE USER modern IDENTIFIED VIA ed25519 USING PASSWORD('canary'); \
         CREATE USER nobody_but_him IDENTIFIED VIA unix_socket",
    );
    for (password, is_right) in [(Some("canary"), true), (Some("canary2"), false), (Some(""), false), (None, false)] {
        let password = password.map(|text| assay_sql::Password::new(text.to_owned()));
        let url = MysqlUrl { password, ..bed.url_as("asked") };
        match Permit::to_load(&url) {
            Ok(_) => assert!(is_right),
            Err(trouble) => {
                let text = trouble.to_string();
                assert!(!is_right && trouble.kind == TroubleKind::Host && text.contains("MYSQL_PWD"), "{text}");
                assert!(!text.contains("canary"), "{text}");
            }
        }
    }
    let password = Some(assay_sql::Password::new("canary".to_owned()));
    let trouble = Permit::to_load(&MysqlUrl { password, ..bed.url_as("modern") }).unwrap_err();
    assert!(trouble.to_string().contains("client_ed25519") && !trouble.to_string().contains("canary"), "{trouble}");
    let trouble = Permit::to_load(&bed.url_as("nobody_but_him")).unwrap_err();
    assert!(trouble.kind == TroubleKind::Host, "the kernel says who this is: {trouble}");
    for (change, back, kind, says) in [
        ("SET GLOBAL read_only = 1", "SET GLOBAL read_only = 0", TroubleKind::Refused, "only allows reading"),
        (
            "SET GLOBAL binlog_format = STATEMENT",
            "SET GLOBAL binlog_format = MIXED",
            TroubleKind::Host,
            "set binlog_format to MIXED or ROW",
        ),
        (
            "CHANGE MASTER TO MASTER_HOST = 'nowhere', MASTER_USER = 'x'",
            "RESET SLAVE ALL",
            TroubleKind::Refused,
            "is on a replica",
        ),
    ] {
        bed.ask_server(change);
        refused(&bed, &bed.url(), kind, says);
        bed.ask_server(back);
    }
    let settings = |bed: &Bed| bed.connection().session_settings().not_durable().join("; ");
    bed.load(small(), 1).unwrap();
    assert!(settings(&bed).contains("sync_binlog=0 with a binary log"));
    bed.ask_server("SET GLOBAL sync_binlog = 1");
    assert!(!settings(&bed).contains("sync_binlog"));
}
