//! The five transactions as procedures of the server: one call carries out a whole transaction.
//!
//! Whatever goes wrong in a procedure, its handler rolls back and passes the error on. Names carry the version of their
//! bodies: a session that finds another body does not use it. An order's lines come in one text, sorted by the key of the
//! stock, in whose order rows are locked; see `procedures`.
//!
//! Source: TPC-C 5.11, clauses 2.4.2, 2.5.2, 2.6.2, 2.7.4 and 2.8.2.

use super::connection::Connection;
use super::schema::{text_literal, with_prefix};
use crate::trouble::Trouble;

/// A procedure: its name, what it takes, its body.
struct Procedure {
    name: &'static str,
    arguments: &'static str,
    body: &'static str,
}

/// The arguments of the mark, null without one: see `marks`.
macro_rules! mark_arguments {
    () => {
        ", of_run varchar(100) CHARACTER SET ascii COLLATE ascii_bin, of_session int, of_seq bigint"
    };
}

/// Sets the row of the session, where it has one, and commits.
macro_rules! commit_with_mark {
    () => {
        "IF of_run IS NOT NULL THEN
        UPDATE @assay_session SET seq = greatest(seq, of_seq) WHERE run = of_run AND session = of_session;
        IF ROW_COUNT() <> 1 THEN
            SIGNAL SQLSTATE 'AS002' SET MESSAGE_TEXT = 'row of the session in assay_session';
        END IF;
    END IF;
    COMMIT;"
    };
}

/// If the order names an item that does not exist, it is rolled back, and the answer has no number.
const NEW_ORDER: Procedure = Procedure {
    name: "new_order_v1",
    arguments: concat!(
        "of_warehouse int, of_district int, of_customer int, entered datetime(6), wanted varchar(400), line_count int, \
         is_local int",
        mark_arguments!()
    ),
    body: concat!("BEGIN
    DECLARE warehouse_tax, district_tax, discount decimal(4, 4);
    DECLARE order_number, number, supply, wanted_item, quantity, held, original, of_stock int;
    DECLARE price decimal(5, 2);
    DECLARE dist char(24);
    DECLARE place, misses int DEFAULT 0;
    DECLARE cents bigint DEFAULT 0;
    DECLARE answer varchar(1000) DEFAULT '';
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    START TRANSACTION;
    SELECT w_tax INTO warehouse_tax FROM @warehouse WHERE w_id = of_warehouse;
    SELECT d_next_o_id, d_tax INTO order_number, district_tax FROM @district
        WHERE d_w_id = of_warehouse AND d_id = of_district FOR UPDATE;
    UPDATE @district SET d_next_o_id = order_number + 1 WHERE d_w_id = of_warehouse AND d_id = of_district;
    SELECT c_discount INTO discount FROM @customer
        WHERE c_w_id = of_warehouse AND c_d_id = of_district AND c_id = of_customer;
    IF warehouse_tax IS NULL OR district_tax IS NULL OR discount IS NULL THEN
        SIGNAL SQLSTATE 'AS002' SET MESSAGE_TEXT = 'warehouse, district or customer';
    END IF;
    INSERT INTO @orders VALUES (of_warehouse, of_district, order_number, of_customer, entered, NULL, line_count, is_local);
    INSERT INTO @new_order VALUES (of_warehouse, of_district, order_number);
    WHILE place < line_count DO
        SET number = substr(wanted, place * 24 + 1, 2), supply = substr(wanted, place * 24 + 3, 10),
            wanted_item = substr(wanted, place * 24 + 13, 10), quantity = substr(wanted, place * 24 + 23, 2),
            price = NULL, held = NULL, place = place + 1;
        SELECT i_price, i_data LIKE '%ORIGINAL%' INTO price, original FROM @item WHERE i_id = wanted_item;
        IF price IS NULL THEN
            SET misses = 1;
        ELSE
            SELECT s_quantity, s_data LIKE '%ORIGINAL%',
                CASE of_district WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03
                    WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07
                    WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09 ELSE s_dist_10 END
                INTO held, of_stock, dist FROM @stock WHERE s_w_id = supply AND s_i_id = wanted_item FOR UPDATE;
            IF held IS NULL THEN
                SIGNAL SQLSTATE 'AS002' SET MESSAGE_TEXT = 'stock';
            END IF;
            SET held = held - quantity + IF(held - quantity >= 10, 0, 91);
            UPDATE @stock SET s_quantity = held, s_ytd = s_ytd + quantity, s_order_cnt = s_order_cnt + 1,
                s_remote_cnt = s_remote_cnt + (supply <> of_warehouse) WHERE s_w_id = supply AND s_i_id = wanted_item;
            INSERT INTO @order_line VALUES (of_warehouse, of_district, order_number, number, wanted_item, supply, NULL,
                quantity, price * quantity, dist);
            SET cents = cents + price * 100 * quantity;
            SET answer = concat(answer, number, ' ', held, ' ', CAST(price * 100 * quantity AS signed), ' ',
                original AND of_stock, ' ');
        END IF;
    END WHILE;
    IF misses THEN
        ROLLBACK;
        SELECT CAST(NULL AS signed), CAST(NULL AS signed), '';
    ELSE
        ", commit_with_mark!(), "
        SELECT CAST(order_number AS signed),
            CAST(cents * (10000 - discount * 10000) * (10000 + (warehouse_tax + district_tax) * 10000) AS signed), answer;
    END IF;
END"),
};

/// Of the customers with one name the one in the middle by first name is meant.
const PAYMENT: Procedure = Procedure {
    name: "payment_v1",
    arguments: concat!(
        "of_warehouse int, of_district int, customer_warehouse int, customer_district int, customer int, \
         customer_last varchar(16) CHARACTER SET ascii COLLATE ascii_bin, amount decimal(6, 2), paid datetime(6)",
        mark_arguments!()
    ),
    body: concat!(
        "BEGIN
    DECLARE warehouse_name, district_name varchar(10);
    DECLARE named, place int DEFAULT 0;
    DECLARE balance bigint;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    START TRANSACTION;
    UPDATE @warehouse SET w_ytd = w_ytd + amount WHERE w_id = of_warehouse;
    SELECT w_name INTO warehouse_name FROM @warehouse WHERE w_id = of_warehouse;
    UPDATE @district SET d_ytd = d_ytd + amount WHERE d_w_id = of_warehouse AND d_id = of_district;
    SELECT d_name INTO district_name FROM @district WHERE d_w_id = of_warehouse AND d_id = of_district;
    IF customer IS NULL THEN
        SELECT count(*) INTO named FROM @customer
            WHERE c_w_id = customer_warehouse AND c_d_id = customer_district AND c_last = customer_last;
        SET place = greatest((named + 1) DIV 2 - 1, 0);
        SELECT c_id INTO customer FROM @customer
            WHERE c_w_id = customer_warehouse AND c_d_id = customer_district AND c_last = customer_last
            ORDER BY c_first, c_id LIMIT place, 1;
    END IF;
    UPDATE @customer SET c_balance = c_balance - amount, c_ytd_payment = c_ytd_payment + amount,
        c_payment_cnt = c_payment_cnt + 1,
        c_data = IF(c_credit = 'BC', left(concat(customer, ' ', customer_district, ' ', customer_warehouse, ' ',
            of_district, ' ', of_warehouse, ' ', amount, '|', c_data), 500), c_data)
        WHERE c_w_id = customer_warehouse AND c_d_id = customer_district AND c_id = customer;
    SELECT c_balance * 100 INTO balance FROM @customer
        WHERE c_w_id = customer_warehouse AND c_d_id = customer_district AND c_id = customer;
    IF warehouse_name IS NULL OR district_name IS NULL OR balance IS NULL THEN
        SIGNAL SQLSTATE 'AS002' SET MESSAGE_TEXT = 'warehouse, district or customer';
    END IF;
    INSERT INTO @history VALUES (customer, customer_district, customer_warehouse, of_district, of_warehouse, paid,
        amount, concat(warehouse_name, '    ', district_name));
    ",
        commit_with_mark!(),
        "
    SELECT CAST(customer AS signed), balance;
END"
    ),
};

/// All it reads is of one snapshot.
const ORDER_STATUS: Procedure = Procedure {
    name: "order_status_v1",
    arguments: "of_warehouse int, of_district int, customer int, \
                customer_last varchar(16) CHARACTER SET ascii COLLATE ascii_bin",
    body: "BEGIN
    DECLARE named, place int DEFAULT 0;
    DECLARE balance bigint;
    DECLARE order_number, carrier int;
    DECLARE entered datetime(6);
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;
    START TRANSACTION READ ONLY;
    IF customer IS NULL THEN
        SELECT count(*) INTO named FROM @customer
            WHERE c_w_id = of_warehouse AND c_d_id = of_district AND c_last = customer_last;
        SET place = greatest((named + 1) DIV 2 - 1, 0);
        SELECT c_id INTO customer FROM @customer
            WHERE c_w_id = of_warehouse AND c_d_id = of_district AND c_last = customer_last
            ORDER BY c_first, c_id LIMIT place, 1;
    END IF;
    SELECT c_balance * 100 INTO balance FROM @customer
        WHERE c_w_id = of_warehouse AND c_d_id = of_district AND c_id = customer;
    IF balance IS NULL THEN
        SIGNAL SQLSTATE 'AS002' SET MESSAGE_TEXT = 'customer';
    END IF;
    SELECT o_id, o_entry_d, o_carrier_id INTO order_number, entered, carrier FROM @orders
        WHERE o_w_id = of_warehouse AND o_d_id = of_district AND o_c_id = customer ORDER BY o_id DESC LIMIT 1;
    SELECT CAST(customer AS signed), balance, CAST(order_number AS signed),
        timestampdiff(MICROSECOND, '1970-01-01', entered), CAST(carrier AS signed);
    SELECT ol_i_id, ol_supply_w_id, ol_quantity, CAST(ol_amount * 100 AS signed),
        timestampdiff(MICROSECOND, '1970-01-01', ol_delivery_d) FROM @order_line
        WHERE ol_w_id = of_warehouse AND ol_d_id = of_district AND ol_o_id = order_number ORDER BY ol_number;
    COMMIT;
END",
};

/// The oldest new order is locked before it is deleted: a second delivery waits, finds it gone and takes the next one.
/// What is read of an order is read by a statement of its own, which sees what was committed while the lock was waited
/// for.
const DELIVERY: Procedure = Procedure {
    name: "delivery_v1",
    arguments: concat!("of_warehouse int, carrier int, delivered datetime(6), districts int", mark_arguments!()),
    body: concat!(
        "BEGIN
    DECLARE district, oldest, orderer, found int;
    DECLARE amount decimal(12, 2);
    DECLARE answer varchar(400) DEFAULT '';
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    START TRANSACTION;
    SET district = 1;
    WHILE district <= districts DO
        SET oldest = NULL, orderer = NULL, amount = NULL, found = NULL;
        SELECT no_o_id INTO oldest FROM @new_order WHERE no_w_id = of_warehouse AND no_d_id = district
            ORDER BY no_o_id LIMIT 1 FOR UPDATE;
        IF oldest IS NULL THEN
            SET answer = concat(answer, '0 ');
        ELSE
            DELETE FROM @new_order WHERE no_w_id = of_warehouse AND no_d_id = district AND no_o_id = oldest;
            SELECT o_c_id INTO orderer FROM @orders
                WHERE o_w_id = of_warehouse AND o_d_id = district AND o_id = oldest;
            UPDATE @orders SET o_carrier_id = carrier
                WHERE o_w_id = of_warehouse AND o_d_id = district AND o_id = oldest;
            SELECT sum(ol_amount) INTO amount FROM @order_line
                WHERE ol_w_id = of_warehouse AND ol_d_id = district AND ol_o_id = oldest;
            UPDATE @order_line SET ol_delivery_d = delivered
                WHERE ol_w_id = of_warehouse AND ol_d_id = district AND ol_o_id = oldest;
            SELECT c_id INTO found FROM @customer WHERE c_w_id = of_warehouse AND c_d_id = district AND c_id = orderer;
            IF amount IS NULL OR found IS NULL THEN
                SIGNAL SQLSTATE 'AS002' SET MESSAGE_TEXT = 'order, order line or customer';
            END IF;
            UPDATE @customer SET c_balance = c_balance + amount, c_delivery_cnt = c_delivery_cnt + 1
                WHERE c_w_id = of_warehouse AND c_d_id = district AND c_id = orderer;
            SET answer = concat(answer, oldest, ' ');
        END IF;
        SET district = district + 1;
    END WHILE;
    ",
        commit_with_mark!(),
        "
    SELECT answer;
END"
    ),
};

const STOCK_LEVEL: Procedure = Procedure {
    name: "stock_level_v1",
    arguments: "of_warehouse int, of_district int, threshold int",
    body: "BEGIN
    DECLARE next_order int;
    SELECT d_next_o_id INTO next_order FROM @district WHERE d_w_id = of_warehouse AND d_id = of_district;
    IF next_order IS NULL THEN
        SIGNAL SQLSTATE 'AS002' SET MESSAGE_TEXT = 'district';
    END IF;
    SELECT count(DISTINCT s_i_id) FROM @order_line STRAIGHT_JOIN @stock ON s_w_id = of_warehouse AND s_i_id = ol_i_id
        WHERE ol_w_id = of_warehouse AND ol_d_id = of_district AND ol_o_id >= next_order - 20 AND ol_o_id < next_order
        AND s_quantity < threshold;
END",
};

const ALL: [&Procedure; 5] = [&NEW_ORDER, &PAYMENT, &ORDER_STATUS, &DELIVERY, &STOCK_LEVEL];

/// The statements that drop them.
pub(super) fn drop_statements(prefix: &str) -> Vec<String> {
    ALL.iter().map(|procedure| format!("DROP PROCEDURE IF EXISTS {prefix}{}", procedure.name)).collect()
}

/// Whether all procedures are there as this program makes them.
fn are_current(connection: &mut Connection) -> Result<bool, Trouble> {
    let sql = format!(
        "SELECT routine_name, routine_definition FROM information_schema.routines WHERE routine_schema = BINARY {} \
         AND routine_type = 'PROCEDURE' AND security_type = 'INVOKER' AND sql_mode LIKE 'STRICT_ALL_TABLES%'",
        text_literal(connection.database_name())
    );
    let prefix = connection.table_prefix();
    let answers = connection.link.query_text(&sql).map_err(|why| connection.to_trouble(&why))?;
    let rows: Vec<_> = answers.iter().flat_map(|answer| &answer.rows).collect();
    Ok(ALL.iter().all(|procedure| {
        rows.iter().any(|row| {
            row.text_at(0).is_ok_and(|name| name == procedure.name)
                && row.text_at(1).is_ok_and(|body| body == with_prefix(&prefix, procedure.body))
        })
    }))
}

/// Makes the procedures, unless they are there.
pub(super) fn renew_procedures(connection: &mut Connection) -> Result<(), Trouble> {
    if are_current(connection)? {
        return Ok(());
    }
    let prefix = connection.table_prefix();
    for sql in drop_statements(&prefix) {
        connection.ask_server(&sql)?;
    }
    for Procedure { name, arguments, body } in ALL {
        connection.ask_server(&format!("CREATE PROCEDURE @{name}({arguments}) SQL SECURITY INVOKER {body}"))?;
    }
    Ok(())
}

/// Refuses a database without them.
pub(super) fn check_present(connection: &mut Connection) -> Result<(), Trouble> {
    if are_current(connection)? {
        return Ok(());
    }
    let text = format!(
        "{}: the procedures of the transactions are missing, are not this program's, or cannot be read by the user",
        connection.display_name()
    );
    Err(Trouble::not_ready(format!("{text}: make them with assay prep, or write mode = \"client\"")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_procedure_that_writes_rolls_back_whatever_goes_wrong_and_names_our_tables_only() {
        for Procedure { name, body, .. } in ALL {
            let begins = body.contains("START TRANSACTION");
            assert_eq!(begins, *name != "stock_level_v1");
            assert_eq!(begins, body.contains("FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END"), "{name}");
            for place in ["FROM ", "JOIN ", "INSERT INTO ", "UPDATE "] {
                for (at, _) in body.match_indices(place).filter(|(at, _)| !body[..*at].ends_with("FOR ")) {
                    assert_eq!(&body[at + place.len()..=at + place.len()], "@", "{name}: {place} at {at}");
                }
            }
        }
    }
}
