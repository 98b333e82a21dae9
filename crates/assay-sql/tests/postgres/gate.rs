//! What is not ours is refused and left as it is; what is needed is said.

use crate::bed::{Bed, Cluster, small};
use assay_sql::postgres::gate::Permit;
use assay_sql::postgres::{Connection, Loading, Mode, Session, load_missing, open_for_run};
use assay_sql::{PostgresUrl, TroubleKind};
use std::ops::ControlFlow;
use std::sync::Arc;

fn refused(bed: &Bed, url: &PostgresUrl, kind: TroubleKind, says: &str) {
    let everything = "SELECT count(*), sum(oid::bigint) FROM pg_class; SELECT count(*) FROM pg_namespace; \
                      SELECT count(*) FROM pg_proc";
    let before = bed.ask(everything);
    for clear in [false, true] {
        let loading = Loading { url: url.clone(), clear, ..bed.loading(small(), 1) };
        let trouble = load_missing(&loading, &mut |_| ControlFlow::Continue(())).unwrap_err();
        assert!(trouble.kind == kind && trouble.to_string().contains(says), "{says}: {trouble}");
    }
    assert_eq!(bed.ask(everything), before, "{says}");
}

#[test]
fn a_schema_of_something_else_is_refused_and_left_as_it_is() {
    for made in [
        "CREATE TABLE assay_tpcc.warehouse (w_id integer)",
        "CREATE FUNCTION assay_tpcc.f() RETURNS integer LANGUAGE sql AS 'SELECT 1'",
        "CREATE TYPE assay_tpcc.colour AS ENUM ('red')",
        "CREATE VIEW assay_tpcc.assay_tpcc AS SELECT 1",
        "CREATE COLLATION assay_tpcc.plain (locale = 'C')",
    ] {
        let Some(bed) = Bed::new() else { return };
        bed.ask(&format!("CREATE SCHEMA assay_tpcc; {made}"));
        refused(&bed, &bed.url(), TroubleKind::Refused, "holds something else");
    }
}

#[test]
fn a_schema_without_a_marker_of_ours_is_refused() {
    for (spoil, says) in [
        ("ALTER TABLE assay_tpcc RENAME c_load TO c_load2", "no marker"),
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

/// A marker can be copied, and says nothing about what stands beside it.
#[test]
fn tables_that_no_load_has_made_are_refused_and_left_as_they_are() {
    let ours = "something that no load has made";
    for (spoil, says) in [
        ("DROP TABLE customer; CREATE TABLE customer (a integer); INSERT INTO customer VALUES (1)", "first (customer)"),
        ("ALTER TABLE history RENAME TO other; CREATE VIEW history AS SELECT * FROM other", "first (history)"),
        ("ALTER TABLE stock ALTER s_data DROP NOT NULL", "first (stock)"),
        ("CREATE TABLE more () INHERITS (history)", "first (history)"),
        ("CREATE RULE r AS ON INSERT TO history DO INSTEAD NOTHING", "the rule r of history"),
        ("CREATE POLICY p ON orders", "the policy p of orders"),
        ("ALTER TABLE orders ENABLE ROW LEVEL SECURITY", "row-level security of orders"),
        (
            "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'; \
             CREATE TRIGGER t BEFORE INSERT ON history FOR EACH ROW EXECUTE FUNCTION f()",
            "the trigger t of history",
        ),
    ] {
        let Some(bed) = Bed::loaded() else { return };
        bed.ask(spoil);
        refused(&bed, &bed.url(), TroubleKind::Refused, says);
        let trouble = open_for_run(&bed.url(), None).unwrap_err();
        let text = trouble.to_string();
        assert!(trouble.kind == TroubleKind::Refused && text.contains(says) && text.contains(ours), "{text}");
    }
}

#[test]
fn what_lacks_a_table_or_a_key_is_neither_loaded_nor_ready_and_clear_makes_it_anew() {
    for (complete, spoil, kind, says) in [
        (1, "DROP TABLE history, stock", TroubleKind::Damaged, "history, stock are missing"),
        (1, "DROP INDEX customer_by_name", TroubleKind::NotReady, "customer_by_name is missing"),
        (1, "ALTER TABLE orders DROP CONSTRAINT orders_pkey", TroubleKind::NotReady, "orders_pkey is missing"),
        (0, "DROP TABLE assay_parts", TroubleKind::NotReady, "something that no load has made: assay_parts is missing"),
    ] {
        let Some(bed) = Bed::loaded() else { return };
        let before = bed.connection().session_settings().setting_value("definitions").to_owned();
        bed.ask(&format!("{spoil}; UPDATE assay_tpcc SET complete = {complete}"));
        assert_ne!(bed.connection().session_settings().setting_value("definitions"), before, "{spoil}");
        let trouble = open_for_run(&bed.url(), None).unwrap_err();
        assert!(trouble.kind == kind && (complete == 0 || trouble.to_string().contains(says)), "{trouble}");
        let trouble = bed.load(small(), 1).unwrap_err();
        assert!(trouble.kind == TroubleKind::Refused && trouble.to_string().contains(says), "{trouble}");
        let clearing = Loading { clear: true, ..bed.loading(small(), 2) };
        assert!(load_missing(&clearing, &mut |_| ControlFlow::Continue(())).unwrap().complete);
        drop(open_for_run(&bed.url(), None).unwrap());
    }
}

#[test]
fn databases_of_the_server_itself_are_refused() {
    let Some(bed) = Bed::new() else { return };
    for database in ["postgres", "template0", "template1"] {
        let url = PostgresUrl { database: Some(database.into()), ..bed.url() };
        refused(&bed, &url, TroubleKind::Refused, "is a database of the server itself");
    }
    bed.ask(&format!("ALTER DATABASE {} IS_TEMPLATE true", bed.database));
    refused(&bed, &bed.url(), TroubleKind::Refused, "is a database of the server itself");
}

#[test]
fn an_empty_schema_is_used_and_another_schema_too() {
    let Some(bed) = Bed::new() else { return };
    bed.ask("CREATE SCHEMA assay_tpcc; CREATE SCHEMA \"order\"");
    let trouble = Permit::to_use(&bed.url()).unwrap_err();
    assert!(trouble.kind == TroubleKind::NotReady && trouble.to_string().contains("is empty"), "{trouble}");
    assert!(bed.load(small(), 1).unwrap().complete);
    let url = PostgresUrl { schema: "order".into(), ..bed.url() };
    let loading = Loading { url: url.clone(), ..bed.loading(small(), 1) };
    assert!(load_missing(&loading, &mut |_| ControlFlow::Continue(())).unwrap().complete);
    let (first, second) = (bed.permit(), Arc::new(Permit::to_use(&url).unwrap()));
    drop((first, Connection::open_permitted(&second, &url).unwrap()));
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
}

#[test]
fn a_run_needs_a_whole_load_of_this_version_with_enough_warehouses() {
    let Some(bed) = Bed::new() else { return };
    let trouble = open_for_run(&bed.url(), None).unwrap_err();
    assert!(trouble.kind == TroubleKind::NotReady && trouble.to_string().contains("does not exist"), "{trouble}");
    bed.load(small(), 1).unwrap();
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
fn functions_that_are_not_ours_are_not_called_and_a_load_makes_them_anew() {
    let Some(bed) = Bed::loaded() else { return };
    bed.ask(
        "DROP FUNCTION stock_level_v1; CREATE FUNCTION stock_level_v1(integer, integer, integer) RETURNS bigint \
             LANGUAGE sql AS 'SELECT 0::bigint'",
    );
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
    let role = format!("reader_{}", bed.database);
    bed.ask(&format!(
        "CREATE ROLE {role} LOGIN; GRANT USAGE ON SCHEMA assay_tpcc TO {role}; \
                      GRANT SELECT ON ALL TABLES IN SCHEMA assay_tpcc TO {role}"
    ));
    let (_, mut connection, _) = open_for_run(&bed.url_as(&role), None).unwrap();
    assert_eq!(assay_sql::postgres::check_conditions(&mut connection, small()).unwrap(), []);
    drop(connection);
    let other = PostgresUrl { schema: "other".into(), ..bed.url_as(&role) };
    refused(&bed, &other, TroubleKind::Host, "GRANT the role");
    bed.ask(&format!("REVOKE SELECT ON assay_tpcc FROM {role}"));
    let trouble = open_for_run(&bed.url_as(&role), None).unwrap_err();
    assert!(trouble.kind == TroubleKind::Host && trouble.to_string().contains("42501"), "{trouble}");
}

#[test]
fn a_server_that_is_not_there_or_lets_nobody_in_is_the_hosts_fault() {
    let Some(bed) = Bed::new() else { return };
    for (url, says) in [
        (PostgresUrl { port: 1, ..bed.url() }, "cannot be reached"),
        (PostgresUrl { database: Some("nowhere".into()), ..bed.url() }, "create the database first"),
        (bed.url_as("nobody_at_all"), "set PGPASSWORD"),
    ] {
        refused(&bed, &url, TroubleKind::Host, says);
    }
}

/// With a cluster of its own, because who is let in, and a standby, concern a whole cluster.
#[test]
fn passwords_are_checked_and_a_standby_is_refused() {
    let Some(cluster) = Cluster::make("") else { return };
    let bed = Bed::of(Box::leak(Box::new(cluster)));
    bed.ask(
        "CREATE ROLE scram LOGIN PASSWORD 'canary'; SET password_encryption = md5; \
             CREATE ROLE old LOGIN PASSWORD 'canary'",
    );
    let rules = "local all postgres trust\nlocal all scram scram-sha-256\nlocal all old md5\n";
    std::fs::write(bed.cluster.dir.join("data/pg_hba.conf"), rules).unwrap();
    bed.ask("SELECT pg_reload_conf()");
    for role in ["scram", "old"] {
        for (password, is_right) in [(Some("canary"), true), (Some("canary2"), false), (None, false)] {
            let password = password.map(|text| assay_sql::Password::new(text.to_owned()));
            let url = PostgresUrl { password, ..bed.url_as(role) };
            match Permit::to_load(&url) {
                Ok(_) => assert!(is_right),
                Err(trouble) => {
                    let text = trouble.to_string();
                    assert!(!is_right && trouble.kind == TroubleKind::Host && text.contains("PGPASSWORD"), "{text}");
                    assert!(!text.contains("canary"), "{text}");
                }
            }
        }
    }
    let signal = bed.cluster.dir.join("data/standby.signal");
    std::fs::write(signal, "").unwrap();
    bed.cluster.crash("");
    let trouble = Permit::to_load(&bed.url()).unwrap_err();
    assert!(trouble.kind == TroubleKind::Refused && trouble.to_string().contains("on a standby"), "{trouble}");
}
