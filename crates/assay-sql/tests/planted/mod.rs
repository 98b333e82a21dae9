//! Rows that no load and no transaction leaves, with the conditions that find them, for every database.
//!
//! In the statements, `CENT` stands for a cent, and `MOMENT` for the first microsecond of 1970, as the database writes
//! them.

use assay_model::tpcc::interpreter::Database;
use assay_model::tpcc::rows::{History, Order, OrderLine};
use std::collections::BTreeMap;

pub type Spoil = fn(&mut Database);

/// Adds a copy of the row with one key under another one.
fn insert_like<K: Ord, V: Clone>(rows: &mut BTreeMap<K, V>, key: &K, copy: K) {
    let row = rows[key].clone();
    rows.insert(copy, row);
}

/// A change in SQL, the same change of the interpreter's rows, and the conditions that it violates.
pub const PLANTED: &[(&str, Spoil, &[&str])] = &[
    (
        "UPDATE warehouse SET w_ytd = w_ytd + CENT WHERE w_id = 1",
        |it| it.warehouses.get_mut(&1).unwrap().ytd += 1,
        &["condition 1", "condition 8"],
    ),
    (
        "DELETE FROM warehouse WHERE w_id = 1",
        |it| drop(it.warehouses.remove(&1)),
        &["condition 1", "condition 8", "row counts"],
    ),
    (
        "UPDATE district SET d_ytd = d_ytd - CENT WHERE d_w_id = 1 AND d_id = 2",
        |it| it.districts.get_mut(&(1, 2)).unwrap().ytd -= 1,
        &["condition 1", "condition 9"],
    ),
    (
        "UPDATE district SET d_next_o_id = 40 WHERE d_w_id = 1 AND d_id = 2",
        |it| it.districts.get_mut(&(1, 2)).unwrap().next_order = 40,
        &["condition 2", "condition 2", "row counts"],
    ),
    (
        "DELETE FROM district WHERE d_w_id = 1 AND d_id = 2",
        |it| drop(it.districts.remove(&(1, 2))),
        &["condition 1", "condition 2", "condition 2", "condition 9", "row counts"],
    ),
    (
        "DELETE FROM new_order WHERE no_w_id = 1 AND no_d_id = 2 AND no_o_id = 25",
        |it| {
            it.new_orders.remove(&(1, 2, 25));
        },
        &["condition 3", "condition 5", "condition 11"],
    ),
    (
        "INSERT INTO new_order VALUES (7, 7, 7)",
        |it| {
            it.new_orders.insert((7, 7, 7));
        },
        &["condition 2", "condition 5", "condition 11"],
    ),
    (
        "UPDATE orders SET o_ol_cnt = o_ol_cnt + 1 WHERE o_w_id = 1 AND o_d_id = 2 AND o_id = 5",
        |it| it.orders.get_mut(&(1, 2, 5)).unwrap().lines += 1,
        &["condition 4", "condition 6"],
    ),
    (
        "UPDATE orders SET o_carrier_id = NULL WHERE o_w_id = 1 AND o_d_id = 2 AND o_id = 5",
        |it| it.orders.get_mut(&(1, 2, 5)).unwrap().carrier = None,
        &["condition 5", "condition 7", "condition 11"],
    ),
    (
        "DELETE FROM orders WHERE o_w_id = 1 AND o_d_id = 2 AND o_id = 5",
        |it| {
            it.orders.remove(&(1, 2, 5));
        },
        &["condition 4", "condition 6", "condition 7", "row counts"],
    ),
    (
        "DELETE FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 2 AND ol_o_id = 5 AND ol_number = 1",
        |it| drop(it.lines.remove(&((1, 2, 5), 1))),
        &["condition 4", "condition 6"],
    ),
    (
        "UPDATE order_line SET ol_delivery_d = MOMENT WHERE ol_w_id = 1 AND ol_d_id = 2 AND ol_o_id = 25 AND ol_number = 1",
        |it| it.lines.get_mut(&((1, 2, 25), 1)).unwrap().delivered = Some(1),
        &["condition 7", "condition 10", "condition 12"],
    ),
    (
        "UPDATE history SET h_amount = 999 * CENT WHERE h_w_id = 1 AND h_d_id = 2 AND h_c_id = 3",
        |it| {
            let row = it.history.iter_mut().find(|row| (row.warehouse, row.district, row.customer) == (1, 2, 3));
            row.unwrap().amount = 999;
        },
        &["condition 8", "condition 9", "condition 10"],
    ),
    (
        "DELETE FROM history",
        |it| it.history.clear(),
        &["condition 8", "condition 9", "condition 10", "empty table", "row counts"],
    ),
    (
        "UPDATE customer SET c_balance = c_balance + CENT WHERE c_w_id = 1 AND c_d_id = 2 AND c_id = 3",
        |it| it.customers.get_mut(&(1, 2, 3)).unwrap().account.balance += 1,
        &["condition 10", "condition 12"],
    ),
    (
        "DELETE FROM customer WHERE c_w_id = 1 AND c_d_id = 2 AND c_id = 3",
        |it| drop(it.customers.remove(&(1, 2, 3))),
        &["condition 10", "row counts"],
    ),
    (
        "UPDATE stock SET s_quantity = 101 WHERE s_w_id = 1 AND s_i_id = 3",
        |it| it.stock.get_mut(&(1, 3)).unwrap().quantity = 101,
        &["stock quantity"],
    ),
    (
        "UPDATE stock SET s_quantity = 9 WHERE s_w_id = 1 AND s_i_id = 3",
        |it| it.stock.get_mut(&(1, 3)).unwrap().quantity = 9,
        &["stock quantity"],
    ),
    (
        "UPDATE stock SET s_ytd = 1, s_order_cnt = 2, s_remote_cnt = 3 WHERE s_w_id = 1 AND s_i_id = 3",
        |it| {
            let row = it.stock.get_mut(&(1, 3)).unwrap();
            (row.ytd, row.orders, row.remote) = (1, 2, 3);
        },
        &["stock counters"],
    ),
    ("DELETE FROM item", |it| it.items.clear(), &["empty table", "row counts"]),
    ("DELETE FROM stock", |it| it.stock.clear(), &["empty table", "row counts"]),
    // Rows that no other row refers to: only their number shows that they are gone, too many, or others.
    ("DELETE FROM item WHERE i_id > 1", |it| it.items.retain(|id, _| *id == 1), &["row counts"]),
    ("DELETE FROM stock WHERE s_w_id = 2 AND s_i_id = 3", |it| drop(it.stock.remove(&(2, 3))), &["row counts"]),
    (
        "INSERT INTO item SELECT 101, i_im_id, i_name, i_price, i_data FROM item WHERE i_id = 1",
        |it| insert_like(&mut it.items, &1, 101),
        &["row counts", "row numbers"],
    ),
    (
        "UPDATE item SET i_id = 101 WHERE i_id = 1",
        |it| {
            insert_like(&mut it.items, &1, 101);
            it.items.remove(&1);
        },
        &["row numbers"],
    ),
    (
        "UPDATE stock SET s_i_id = 0 WHERE s_w_id = 1 AND s_i_id = 3",
        |it| {
            insert_like(&mut it.stock, &(1, 3), (1, 0));
            it.stock.remove(&(1, 3));
        },
        &["row numbers"],
    ),
    (
        "UPDATE customer SET c_balance = 0, c_ytd_payment = 0, c_payment_cnt = 0, c_id = 31 \
         WHERE c_w_id = 1 AND c_d_id = 2 AND c_id = 3",
        |it| {
            insert_like(&mut it.customers, &(1, 2, 3), (1, 2, 31));
            it.customers.remove(&(1, 2, 3));
            let row = it.customers.get_mut(&(1, 2, 31)).unwrap();
            row.key = (1, 2, 31);
            (row.account.balance, row.account.ytd_payment, row.account.payments) = (0, 0, 0);
        },
        &["condition 10", "row counts", "row numbers"],
    ),
    // An order that was delivered before the load has lines without an amount: none of the sums misses it.
    (
        "DELETE FROM orders WHERE o_w_id = 1 AND o_d_id = 2 AND o_id = 5; \
         DELETE FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 2 AND ol_o_id = 5",
        |it| {
            it.orders.remove(&(1, 2, 5));
            it.lines.retain(|(order, _), _| *order != (1, 2, 5));
        },
        &["row counts"],
    ),
    (
        "UPDATE orders SET o_id = 0 WHERE o_w_id = 1 AND o_d_id = 2 AND o_id = 5; \
         UPDATE order_line SET ol_o_id = 0 WHERE ol_w_id = 1 AND ol_d_id = 2 AND ol_o_id = 5",
        |it| {
            let order = it.orders.remove(&(1, 2, 5)).unwrap();
            it.orders.insert((1, 2, 0), Order { key: (1, 2, 0), ..order });
            let lines: Vec<_> = it.lines.keys().filter(|(order, _)| *order == (1, 2, 5)).copied().collect();
            for (order, number) in lines {
                let line = it.lines.remove(&(order, number)).unwrap();
                it.lines.insert(((1, 2, 0), number), OrderLine { order: (1, 2, 0), ..line });
            }
        },
        &["row numbers"],
    ),
    // A payment of nothing changes no sum.
    (
        "INSERT INTO history SELECT h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, 0, h_data FROM history \
         WHERE h_w_id = 1 AND h_d_id = 2 AND h_c_id = 3",
        |it| {
            let row = it.history.iter().find(|row| (row.warehouse, row.district, row.customer) == (1, 2, 3));
            let row = row.unwrap().clone();
            it.history.push(History { amount: 0, ..row });
        },
        &["row counts"],
    ),
];
