//! Rows that no load and no transaction leaves, with the conditions that find them, for every database.
//!
//! In the statements, `CENT` stands for a cent, and `MOMENT` for the first microsecond of 1970, as the database writes
//! them.

use assay_model::tpcc::interpreter::Database;

pub type Spoil = fn(&mut Database);

/// A change in SQL, the same change of the interpreter's rows, and the conditions that it violates.
pub const PLANTED: &[(&str, Spoil, &[&str])] = &[
    (
        "UPDATE warehouse SET w_ytd = w_ytd + CENT WHERE w_id = 1",
        |it| it.warehouses.get_mut(&1).unwrap().ytd += 1,
        &["condition 1", "condition 8"],
    ),
    ("DELETE FROM warehouse WHERE w_id = 1", |it| drop(it.warehouses.remove(&1)), &["condition 1", "condition 8"]),
    (
        "UPDATE district SET d_ytd = d_ytd - CENT WHERE d_w_id = 1 AND d_id = 2",
        |it| it.districts.get_mut(&(1, 2)).unwrap().ytd -= 1,
        &["condition 1", "condition 9"],
    ),
    (
        "UPDATE district SET d_next_o_id = 40 WHERE d_w_id = 1 AND d_id = 2",
        |it| it.districts.get_mut(&(1, 2)).unwrap().next_order = 40,
        &["condition 2", "condition 2"],
    ),
    (
        "DELETE FROM district WHERE d_w_id = 1 AND d_id = 2",
        |it| drop(it.districts.remove(&(1, 2))),
        &["condition 1", "condition 2", "condition 2", "condition 9"],
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
        &["condition 4", "condition 6", "condition 7"],
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
    ("DELETE FROM history", |it| it.history.clear(), &["condition 8", "condition 9", "condition 10", "empty table"]),
    (
        "UPDATE customer SET c_balance = c_balance + CENT WHERE c_w_id = 1 AND c_d_id = 2 AND c_id = 3",
        |it| it.customers.get_mut(&(1, 2, 3)).unwrap().account.balance += 1,
        &["condition 10", "condition 12"],
    ),
    (
        "DELETE FROM customer WHERE c_w_id = 1 AND c_d_id = 2 AND c_id = 3",
        |it| drop(it.customers.remove(&(1, 2, 3))),
        &["condition 10"],
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
    ("DELETE FROM item", |it| it.items.clear(), &["empty table"]),
    ("DELETE FROM stock", |it| it.stock.clear(), &["empty table"]),
];
