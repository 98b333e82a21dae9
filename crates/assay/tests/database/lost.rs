//! A database that loses its rows, gets others, or is no longer there at the end of a run: none of it passes, whatever
//! the transactions said meanwhile.

use super::bed::{Log, Place, Running, Said};
use super::mariadb;
use super::server::Served;
use super::shop::{DB, FAST, in_one_line, run, shop, somebody};
use assay_model::tpcc::Table;
use std::fs;

/// All but one of the items are gone.
const LOSE_ITEMS: &str = "DELETE FROM item WHERE i_id > 1";

/// Rows that no transaction asks for, or hardly ever: one is lost in each table.
const LOSE_A_ROW: &str = "
    DELETE FROM item WHERE i_id = 3;
    DELETE FROM stock WHERE s_i_id = 3;
    DELETE FROM customer WHERE c_d_id = 1 AND c_id = 3;
    DELETE FROM history WHERE rowid = (SELECT max(rowid) FROM history WHERE h_d_id = 2 AND h_amount = 1000);
    DELETE FROM orders WHERE o_d_id = 3 AND o_id = 5;
    DELETE FROM order_line WHERE ol_d_id = 3 AND ol_o_id = 5;
    DELETE FROM new_order WHERE no_d_id = 4 AND no_o_id = 3000;";

/// A row too many in each table.
const ADD_A_ROW: &str = "
    INSERT INTO warehouse SELECT 7, w_name, w_street_1, w_street_2, w_city, w_state, w_zip, w_tax, 0 FROM warehouse;
    INSERT INTO district SELECT 1, 11, d_name, d_street_1, d_street_2, d_city, d_state, d_zip, d_tax, 0, 1 FROM district
        WHERE d_id = 1;
    INSERT INTO item SELECT 100002, i_im_id, i_name, i_price, i_data FROM item WHERE i_id = 1;
    INSERT INTO customer SELECT 1, 1, 3001, c_first, c_middle, 'NOBODY', c_street_1, c_street_2, c_city, c_state, c_zip,
        c_phone, c_since, c_credit, c_credit_lim, c_discount, 0, 0, 0, 0, c_data FROM customer WHERE c_d_id = 1 AND c_id = 1;
    INSERT INTO stock SELECT 1, 100002, 50, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, s_dist_07,
        s_dist_08, s_dist_09, s_dist_10, 0, 0, 0, s_data FROM stock WHERE s_i_id = 1;
    INSERT INTO history SELECT * FROM history WHERE h_d_id = 2 AND h_c_id = 5 LIMIT 1;
    INSERT INTO orders SELECT 1, 3, -1, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local FROM orders
        WHERE o_d_id = 3 AND o_id = 5;
    INSERT INTO order_line SELECT 1, 3, -1, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount,
        ol_dist_info FROM order_line WHERE ol_d_id = 3 AND ol_o_id = 5;
    INSERT INTO new_order VALUES (1, 4, -1);";

/// What the broken conditions of a run are.
fn broken(log: &Log) -> Vec<&str> {
    let events = log.events.iter().filter(|event| event.what == "condition-broken");
    events.map(|event| event.text.as_str()).collect()
}

/// The run failed, and this is what its log says.
fn failed(place: &Place, said: &Said) -> Log {
    assert_eq!(said.is_of_verdict(&place.path("run")), "FAIL", "{said:?}");
    Log::of(&place.path("run"))
}

fn missing_rows(log: &Log) -> u64 {
    let flows = log.intervals.iter().flat_map(|interval| &interval.flows);
    flows.filter_map(|flow| flow.errors.get("missing-row")).sum()
}

/// Of the rows that were lost or added, those of each of these tables are named.
fn names_tables(found: &[&str], tables: &[Table]) {
    for table in tables {
        let name = table.table_name();
        let names = |text: &&str| {
            let counted = ["row counts: ", "row numbers: "].iter().filter_map(|kind| text.strip_prefix(kind));
            counted.map(|rest| rest.split(' ').next()).any(|word| word == Some(name))
        };
        assert!(found.iter().any(names), "{name}: {found:?}");
    }
}

#[test]
fn a_database_without_its_items_fails_whenever_it_lost_them() {
    for before in [true, false] {
        let place = shop();
        if before {
            somebody(&place).execute(LOSE_ITEMS, []).unwrap();
        }
        let running = place.start(&run("open.toml", FAST, &["--verify"]), 2);
        if !before {
            somebody(&place).execute(LOSE_ITEMS, []).unwrap();
        }
        let said = running.end();
        let log = failed(&place, &said);
        assert!(missing_rows(&log) > 20, "{before}: {said:?}");
        names_tables(&broken(&log), &[Table::Item]);
        let checked = place.assay(&["check", DB]);
        assert_eq!(checked.code, Some(10), "{checked:?}");
        assert!(checked.out.contains("row counts: item has 1 row, and must have 100000"), "{checked:?}");
    }
}

/// The item that no order may find: what must be rolled back is committed.
#[test]
fn an_item_that_no_load_makes_fails_the_orders_that_find_it() {
    let place = shop();
    somebody(&place)
        .execute_batch(
            "INSERT INTO item SELECT 100001, i_im_id, i_name, i_price, i_data FROM item WHERE i_id = 1;
             INSERT INTO stock SELECT 1, 100001, 50, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06,
                s_dist_07, s_dist_08, s_dist_09, s_dist_10, 0, 0, 0, s_data FROM stock WHERE s_i_id = 1;",
        )
        .unwrap();
    let (said, log) = place.run(&run("closed.toml", FAST, &[]));
    assert_eq!(said.is_of_verdict(&place.path("run")), "FAIL", "{said:?}");
    let orders = || log.intervals.iter().map(|interval| &interval.flows[0]);
    let found: u64 = orders().filter_map(|flow| flow.errors.get("unused-item")).sum();
    let intended: u64 = orders().filter_map(|flow| flow.counted.get("rolled-back")).sum();
    assert!(found > 0 && intended == 0, "{found} and {intended} of {}", orders().map(|flow| flow.ok).sum::<u64>());
    names_tables(&broken(&log), &[Table::Item, Table::Stock]);
    assert!(!broken(&log).iter().any(|text| text.contains("acknowledged")), "what was committed is there");
}

#[test]
fn a_row_that_is_lost_or_too_many_is_found_in_every_table_before_a_run_and_in_mid_run() {
    let lost = [Table::Item, Table::Stock, Table::Customer, Table::History, Table::Orders];
    let added = [Table::Warehouse, Table::District, Table::Item, Table::Customer, Table::Stock, Table::History];
    for (change, tables) in [(LOSE_A_ROW, &lost[..]), (ADD_A_ROW, &added[..])] {
        for before in [true, false] {
            let place = shop();
            let short = ["run", "open.toml", FAST, "--warm-up", "0s", "--for", "3s", "--slice", "1s"];
            if before {
                somebody(&place).execute_batch(change).unwrap();
            }
            let running = place.start(&short, 1);
            if !before {
                somebody(&place).execute_batch(&format!("BEGIN IMMEDIATE; {change} COMMIT")).unwrap();
            }
            let said = running.end();
            let log = failed(&place, &said);
            names_tables(&in_full(&place), tables);
            for condition in ["condition 3", "condition 5"] {
                assert!(broken(&log).iter().any(|text| text.starts_with(condition)), "{condition}: {:?}", broken(&log));
            }
            let checked = place.assay(&["check", DB]);
            assert_eq!(checked.code, Some(10), "{checked:?}");
        }
    }
}

/// The sentences of `assay check`, each of which begins with the name of its condition.
fn in_full(place: &Place) -> Vec<&'static str> {
    let said = place.assay(&["check", DB]);
    Box::leak(said.out.into_boxed_str()).lines().map(str::trim).collect()
}

/// A run in which also a busy machine meets more than twenty items that are gone.
fn long_run<'a>(workload: &'a str, url: &'a str) -> [&'a str; 9] {
    ["run", workload, url, "--warm-up", "1s", "--for", "12s", "--slice", "2s"]
}

/// In both modes of a server, in mid-run.
fn items_lost_on_a_server(place: &Place, begun: impl Fn(&str, &str) -> Running, ask: impl Fn(&str)) {
    for (workload, mode) in [("closed.toml", "procedures"), ("client.toml", "client")] {
        ask("CREATE TABLE kept.item AS SELECT * FROM shop.item");
        let running = begun(workload, mode);
        ask("DELETE FROM shop.item WHERE i_id > 1");
        let said = running.end();
        let log = failed(place, &said);
        assert_eq!(log.header.databases[0].mode, mode);
        assert!(missing_rows(&log) > 20, "{mode}: {said:?}");
        names_tables(&broken(&log), &[Table::Item]);
        ask("DELETE FROM shop.item; INSERT INTO shop.item SELECT * FROM kept.item; DROP TABLE kept.item");
        fs::rename(place.path("run"), place.path(mode)).unwrap();
    }
}

#[test]
fn a_postgresql_database_that_loses_its_items_fails_in_both_modes() {
    let Some(served) = Served::new("-c fsync=off") else { return };
    served.ask("CREATE SCHEMA kept");
    let begun = |workload: &str, _: &str| served.place.start(&long_run(workload, &served.url), 2);
    items_lost_on_a_server(&served.place, begun, |sql| drop(served.ask(&sql.replace("shop.", "assay_tpcc."))));
}

#[test]
fn a_mariadb_database_that_loses_its_items_fails_in_both_modes() {
    let Some(served) = mariadb::Served::new("--innodb-flush-method=nosync") else { return };
    served.ask("CREATE DATABASE kept");
    let url = served.url_with_file();
    let begun = |workload: &str, _: &str| served.place.start(&long_run(workload, &url), 2);
    items_lost_on_a_server(&served.place, begun, |sql| drop(served.ask(sql)));
}

/// What somebody does to the files of a database.
fn change_files(place: &Place, change: &str) {
    let file = |name: &str| place.path(name);
    match change {
        "deleted" => fs::remove_file(file("shop.db")).unwrap(),
        "moved away" => fs::rename(file("shop.db"), file("elsewhere.db")).unwrap(),
        "replaced" => {
            fs::copy(file("before.db"), file("new.db")).unwrap();
            fs::rename(file("new.db"), file("shop.db")).unwrap();
        }
        "overwritten" => fs::write(file("shop.db"), fs::read(file("before.db")).unwrap()).unwrap(),
        "emptied" => fs::File::options().write(true).open(file("shop.db")).unwrap().set_len(0).unwrap(),
        "without its log" => fs::remove_file(file("shop.db-wal")).unwrap(),
        "with another log" => {
            fs::rename(file("shop.db-wal"), file("old-wal")).unwrap();
            fs::copy(file("old-wal"), file("shop.db-wal")).unwrap();
        }
        other => panic!("{other} is not done here"),
    }
}

/// The sessions go on with what they have open, and the database says nothing.
#[test]
fn a_file_that_is_not_there_at_the_end_has_lost_what_was_committed() {
    // With a log beside it, a file that is overwritten as it was before the run has lost nothing.
    let journal = "sqlite:shop.db?synchronous=off&journal_mode=delete";
    for (change, url) in [
        ("deleted", FAST),
        ("deleted", journal),
        ("moved away", FAST),
        ("replaced", FAST),
        ("overwritten", journal),
        ("emptied", FAST),
        ("without its log", FAST),
        ("with another log", FAST),
    ] {
        for more in [&["--verify"][..], &[], &["--no-check"]] {
            if more == ["--no-check"] && change == "overwritten" {
                continue; // Nobody looks at what it holds.
            }
            let place = shop();
            fs::copy(place.path("shop.db"), place.path("before.db")).unwrap();
            let short = ["run", "open.toml", url, "--warm-up", "0s", "--for", "3s", "--slice", "1s"];
            let running = place.start(&[&short[..], more].concat(), 2);
            change_files(&place, change);
            let said = running.end();
            failed(&place, &said);
            assert!(!said.out.contains("conditions hold"), "{change}, {more:?}: {said:?}");
            assert!(!in_one_line(&said.out).contains("acknowledged commits are there"), "{change}, {more:?}: {said:?}");
        }
    }
}

/// Who moves a file away and back has changed nothing.
#[test]
fn a_file_that_is_back_at_the_end_is_the_same() {
    let place = shop();
    let running = place.start(&run("open.toml", FAST, &["--verify"]), 2);
    fs::rename(place.path("shop.db"), place.path("elsewhere.db")).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    fs::rename(place.path("elsewhere.db"), place.path("shop.db")).unwrap();
    let said = running.end();
    assert!(said.passed_or_late(), "{said:?}");
}

/// What the log counts must be there when a run goes on: a backup, or a database that lost it, is not the one that it was.
#[test]
fn a_run_goes_on_only_with_what_it_has_committed() {
    let lengths = ["--warm-up", "0s", "--for", "6s", "--slice", "2s"];
    let args = [&["run", "open.toml", FAST][..], &lengths[..]].concat();
    for (change, code, says) in [
        ("overwritten", 10, "commits that were acknowledged before the run was interrupted are not there"),
        ("replaced", 2, "the inode of its target"),
        ("nothing", 0, ""),
    ] {
        let place = shop();
        fs::copy(place.path("shop.db"), place.path("before.db")).unwrap();
        let running = place.start(&args, 3);
        running.signal(libc::SIGKILL);
        running.end();
        if change != "nothing" {
            ["shop.db-wal", "shop.db-shm"].iter().for_each(|name| drop(fs::remove_file(place.path(name))));
            change_files(&place, change);
        }
        let said = place.assay(&[&args[..], &["--resume", "run"]].concat());
        let text = in_one_line(&format!("{}{}", said.out, said.err));
        assert!(text.contains(says), "{change}: {said:?}");
        match code {
            0 => assert!(said.passed_or_late(), "{said:?}"),
            code => assert_eq!(said.code, Some(code), "{change}: {said:?}"),
        }
    }
}

/// As on a server: what is changed back shows too.
#[test]
fn definitions_that_somebody_changes_in_mid_run_make_it_invalid() {
    // An index that is made anew keeps the sessions waiting for as long as the machine needs for it.
    let trigger = "CREATE TRIGGER mine AFTER INSERT ON history BEGIN SELECT 1; END";
    for (change, says) in [
        ("DROP INDEX orders_by_customer".to_owned(), "definitions was"),
        (trigger.to_owned(), "definitions was"),
        (format!("{trigger}; DROP TRIGGER mine"), "schema_version was"),
    ] {
        let place = shop();
        let running = place.start(&run("open.toml", FAST, &[]), 2);
        somebody(&place).execute_batch(&format!("BEGIN IMMEDIATE; {change}; COMMIT")).unwrap();
        let said = running.end();
        assert_eq!(said.is_of_verdict(&place.path("run")), "INVALID", "{change}: {said:?}");
        assert!(in_one_line(&said.out).contains(says), "{change}: {said:?}");
    }
    let place = shop();
    somebody(&place).execute_batch("DROP INDEX orders_by_customer").unwrap();
    let refused = place.assay(&run("open.toml", FAST, &[]));
    assert!(refused.code == Some(11) && refused.err.contains("orders_by_customer is missing"), "{refused:?}");
    assert_eq!(place.assay(&["check", DB]).code, Some(11));
    somebody(&place).execute_batch(trigger).unwrap();
    for command in [&["check", DB][..], &["prep", DB, "--warehouses", "1"], &run("open.toml", FAST, &[])] {
        let refused = place.assay(command);
        assert!(refused.code == Some(4) && refused.err.contains("the trigger mine"), "{refused:?}");
    }
}
