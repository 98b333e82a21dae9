//! The five transactions as functions of the server: one call carries out a whole transaction.
//!
//! A function has no EXCEPTION block, which would make a subtransaction. An order that is to be rolled back ends with an
//! error of ours, and so does a row that must exist and does not. Names carry the version of their bodies: a session that
//! finds another body does not use it.
//!
//! Source: TPC-C 5.11, clauses 2.4.2, 2.5.2, 2.6.2, 2.7.4 and 2.8.2.

use super::connection::Connection;
use super::schema::{text_literal, with_prefix};
use crate::trouble::Trouble;

/// The error of an order that names an item that does not exist. The workload intends that it is rolled back.
pub(super) const EXPECTED_ROLLBACK: &str = "AS001";
/// The error of a row that must exist.
pub(super) const MISSING_ROW: &str = "AS002";

/// A function: its name, the types of its arguments, what it takes and gives, how it may be used, its body.
struct Function {
    name: &'static str,
    types: &'static str,
    arguments: &'static str,
    volatility: &'static str,
    body: &'static str,
}

/// Locks the stock of all lines in the order of the key, so that two orders cannot wait for each other, and then takes
/// from it line by line: an item may be in an order twice. An UPDATE with a list touches a row once only, so that it gets
/// the sums of each item.
const NEW_ORDER: Function = Function {
    name: "new_order_v1",
    types: "integer, integer, integer, timestamptz, integer[], integer[], integer[], integer",
    arguments: "of_warehouse integer, of_district integer, of_customer integer, entered timestamptz, items integer[], \
                supplies integer[], quantities integer[], is_local integer, OUT order_number integer, OUT total bigint, \
                OUT stocks integer[], OUT amounts bigint[], OUT branded boolean[]",
    volatility: "VOLATILE",
    body: "
DECLARE
    warehouse_tax numeric;
    district_tax numeric;
    discount numeric;
    prices numeric[];
    originals boolean[];
    dists text[];
    unknown integer;
    lines integer := cardinality(items);
    cents bigint := 0;
BEGIN
    SELECT w_tax INTO warehouse_tax FROM @warehouse WHERE w_id = of_warehouse;
    UPDATE @district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = of_warehouse AND d_id = of_district
        RETURNING d_next_o_id - 1, d_tax INTO order_number, district_tax;
    SELECT c_discount INTO discount FROM @customer
        WHERE c_w_id = of_warehouse AND c_d_id = of_district AND c_id = of_customer;
    IF warehouse_tax IS NULL OR district_tax IS NULL OR discount IS NULL THEN
        RAISE EXCEPTION 'warehouse, district or customer' USING ERRCODE = 'AS002';
    END IF;
    INSERT INTO @orders VALUES (of_warehouse, of_district, order_number, of_customer, entered, NULL, lines, is_local);
    INSERT INTO @new_order VALUES (of_warehouse, of_district, order_number);
    SELECT array_agg(i_price ORDER BY n), array_agg(i_data LIKE '%ORIGINAL%' ORDER BY n) INTO prices, originals
        FROM unnest(items) WITH ORDINALITY AS asked (item, n) LEFT JOIN @item ON i_id = asked.item;
    unknown := array_position(prices, NULL);
    SELECT array_agg(held ORDER BY n), array_agg(dist ORDER BY n), array_agg(original ORDER BY n)
        INTO stocks, dists, branded FROM (
            SELECT n, s_quantity AS held, s_data LIKE '%ORIGINAL%' AS original,
                CASE of_district WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03
                    WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07
                    WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09 ELSE s_dist_10 END AS dist
            FROM unnest(supplies, items) WITH ORDINALITY AS asked (supply, item, n)
            JOIN @stock AS s ON s_w_id = asked.supply AND s_i_id = asked.item
            ORDER BY s_w_id, s_i_id FOR UPDATE OF s
        ) AS locked;
    lines := lines - (unknown IS NOT NULL)::integer;
    IF coalesce(cardinality(stocks), 0) <> lines THEN
        RAISE EXCEPTION 'stock' USING ERRCODE = 'AS002';
    END IF;
    FOR line IN 1 .. lines LOOP
        FOR earlier IN REVERSE line - 1 .. 1 LOOP
            IF items[earlier] = items[line] AND supplies[earlier] = supplies[line] THEN
                stocks[line] := stocks[earlier];
                EXIT;
            END IF;
        END LOOP;
        stocks[line] := stocks[line] - quantities[line]
            + CASE WHEN stocks[line] - quantities[line] >= 10 THEN 0 ELSE 91 END;
        branded[line] := branded[line] AND originals[line];
        amounts[line] := prices[line] * 100 * quantities[line];
        cents := cents + amounts[line];
    END LOOP;
    UPDATE @stock SET s_quantity = taken.held, s_ytd = s_ytd + taken.quantity, s_order_cnt = s_order_cnt + taken.times,
        s_remote_cnt = s_remote_cnt + CASE WHEN taken.supply = of_warehouse THEN 0 ELSE taken.times END
        FROM (
            SELECT supply, item, (array_agg(held ORDER BY n DESC))[1] AS held, sum(quantity) AS quantity, count(*) AS times
            FROM unnest(supplies, items, quantities, stocks) WITH ORDINALITY AS line (supply, item, quantity, held, n)
            WHERE n <= lines GROUP BY supply, item
        ) AS taken
        WHERE s_w_id = taken.supply AND s_i_id = taken.item;
    INSERT INTO @order_line
        SELECT of_warehouse, of_district, order_number, n, item, supply, NULL, quantity, price * quantity, dist
        FROM unnest(items, supplies, quantities, prices, dists) WITH ORDINALITY
            AS line (item, supply, quantity, price, dist, n)
        WHERE n <= lines;
    IF unknown IS NOT NULL THEN
        RAISE EXCEPTION 'the order asks for an item that does not exist' USING ERRCODE = 'AS001';
    END IF;
    total := cents * (10000 - discount * 10000) * (10000 + (warehouse_tax + district_tax) * 10000);
END",
};

/// Of the customers with one name the one in the middle by first name is meant.
const PAYMENT: Function = Function {
    name: "payment_v1",
    types: "integer, integer, integer, integer, integer, text, numeric, timestamptz",
    arguments: "of_warehouse integer, of_district integer, customer_warehouse integer, customer_district integer, \
                customer integer, customer_last text, amount numeric, paid timestamptz, OUT customer_number integer, \
                OUT balance bigint",
    volatility: "VOLATILE",
    body: "
DECLARE
    warehouse_name text;
    district_name text;
BEGIN
    UPDATE @warehouse SET w_ytd = w_ytd + amount WHERE w_id = of_warehouse RETURNING w_name INTO warehouse_name;
    UPDATE @district SET d_ytd = d_ytd + amount WHERE d_w_id = of_warehouse AND d_id = of_district
        RETURNING d_name INTO district_name;
    customer_number := customer;
    IF customer IS NULL THEN
        SELECT c_id INTO customer_number FROM (
            SELECT c_id, row_number() OVER (ORDER BY c_first, c_id) AS place, count(*) OVER () AS named FROM @customer
            WHERE c_w_id = customer_warehouse AND c_d_id = customer_district AND c_last = customer_last
        ) AS namesakes WHERE place = (named + 1) / 2;
    END IF;
    UPDATE @customer SET c_balance = c_balance - amount, c_ytd_payment = c_ytd_payment + amount,
        c_payment_cnt = c_payment_cnt + 1,
        c_data = CASE WHEN c_credit = 'BC' THEN left(concat(customer_number, ' ', customer_district, ' ',
            customer_warehouse, ' ', of_district, ' ', of_warehouse, ' ', amount, '|', c_data), 500) ELSE c_data END
        WHERE c_w_id = customer_warehouse AND c_d_id = customer_district AND c_id = customer_number
        RETURNING c_balance * 100 INTO balance;
    IF warehouse_name IS NULL OR district_name IS NULL OR balance IS NULL THEN
        RAISE EXCEPTION 'warehouse, district or customer' USING ERRCODE = 'AS002';
    END IF;
    INSERT INTO @history VALUES (customer_number, customer_district, customer_warehouse, of_district, of_warehouse, paid,
        amount, concat(warehouse_name, '    ', district_name));
END",
};

/// A stable function sees one snapshot, that of the statement that calls it.
const ORDER_STATUS: Function = Function {
    name: "order_status_v1",
    types: "integer, integer, integer, text",
    arguments: "of_warehouse integer, of_district integer, customer integer, customer_last text, \
                OUT customer_number integer, OUT balance bigint, OUT order_number integer, OUT entered timestamptz, \
                OUT carrier integer, OUT items integer[], OUT supplies integer[], OUT quantities integer[], \
                OUT amounts bigint[], OUT delivered timestamptz[]",
    volatility: "STABLE",
    body: "
BEGIN
    customer_number := customer;
    IF customer IS NULL THEN
        SELECT c_id INTO customer_number FROM (
            SELECT c_id, row_number() OVER (ORDER BY c_first, c_id) AS place, count(*) OVER () AS named FROM @customer
            WHERE c_w_id = of_warehouse AND c_d_id = of_district AND c_last = customer_last
        ) AS namesakes WHERE place = (named + 1) / 2;
    END IF;
    SELECT c_balance * 100 INTO balance FROM @customer
        WHERE c_w_id = of_warehouse AND c_d_id = of_district AND c_id = customer_number;
    IF balance IS NULL THEN
        RAISE EXCEPTION 'customer' USING ERRCODE = 'AS002';
    END IF;
    SELECT o_id, o_entry_d, o_carrier_id INTO order_number, entered, carrier FROM @orders
        WHERE o_w_id = of_warehouse AND o_d_id = of_district AND o_c_id = customer_number ORDER BY o_id DESC LIMIT 1;
    SELECT array_agg(ol_i_id ORDER BY ol_number), array_agg(ol_supply_w_id ORDER BY ol_number),
        array_agg(ol_quantity ORDER BY ol_number), array_agg((ol_amount * 100)::bigint ORDER BY ol_number),
        array_agg(ol_delivery_d ORDER BY ol_number) INTO items, supplies, quantities, amounts, delivered
        FROM @order_line WHERE ol_w_id = of_warehouse AND ol_d_id = of_district AND ol_o_id = order_number;
END",
};

/// The oldest new order is locked before it is deleted: a second delivery waits, finds it gone and takes the next one.
const DELIVERY: Function = Function {
    name: "delivery_v1",
    types: "integer, integer, timestamptz, integer",
    arguments: "of_warehouse integer, carrier integer, delivered timestamptz, districts integer, OUT order_numbers integer[]",
    volatility: "VOLATILE",
    body: "
DECLARE
    oldest integer;
    orderer integer;
    amount numeric;
BEGIN
    FOR district IN 1 .. districts LOOP
        SELECT no_o_id INTO oldest FROM @new_order WHERE no_w_id = of_warehouse AND no_d_id = district
            ORDER BY no_o_id LIMIT 1 FOR UPDATE;
        order_numbers[district] := oldest;
        CONTINUE WHEN oldest IS NULL;
        DELETE FROM @new_order WHERE no_w_id = of_warehouse AND no_d_id = district AND no_o_id = oldest;
        UPDATE @orders SET o_carrier_id = carrier WHERE o_w_id = of_warehouse AND o_d_id = district AND o_id = oldest
            RETURNING o_c_id INTO orderer;
        WITH lines AS (
            UPDATE @order_line SET ol_delivery_d = delivered
                WHERE ol_w_id = of_warehouse AND ol_d_id = district AND ol_o_id = oldest RETURNING ol_amount
        ) SELECT sum(ol_amount) INTO amount FROM lines;
        UPDATE @customer SET c_balance = c_balance + amount, c_delivery_cnt = c_delivery_cnt + 1
            WHERE c_w_id = of_warehouse AND c_d_id = district AND c_id = orderer;
        IF NOT FOUND OR amount IS NULL THEN
            RAISE EXCEPTION 'order, order line or customer' USING ERRCODE = 'AS002';
        END IF;
    END LOOP;
END",
};

const STOCK_LEVEL: Function = Function {
    name: "stock_level_v1",
    types: "integer, integer, integer",
    arguments: "of_warehouse integer, of_district integer, threshold integer, OUT low bigint",
    volatility: "STABLE",
    body: "
DECLARE
    next integer;
BEGIN
    SELECT d_next_o_id INTO next FROM @district WHERE d_w_id = of_warehouse AND d_id = of_district;
    IF next IS NULL THEN
        RAISE EXCEPTION 'district' USING ERRCODE = 'AS002';
    END IF;
    SELECT count(DISTINCT s_i_id) INTO low FROM @order_line JOIN @stock ON s_w_id = of_warehouse AND s_i_id = ol_i_id
        WHERE ol_w_id = of_warehouse AND ol_d_id = of_district AND ol_o_id >= next - 20 AND ol_o_id < next
        AND s_quantity < threshold;
END",
};

const ALL: [&Function; 5] = [&NEW_ORDER, &PAYMENT, &ORDER_STATUS, &DELIVERY, &STOCK_LEVEL];

/// The statements that drop them.
pub(super) fn drop_statements(prefix: &str) -> String {
    ALL.iter()
        .map(|function| format!("DROP FUNCTION IF EXISTS {prefix}{}({}) RESTRICT;", function.name, function.types))
        .collect()
}

fn create_statements(prefix: &str) -> String {
    let all = ALL.iter().map(|function| {
        let Function { name, arguments, volatility, .. } = function;
        let body = with_prefix(prefix, function.body);
        format!(
            "CREATE FUNCTION {prefix}{name}({arguments}) LANGUAGE plpgsql {volatility} PARALLEL UNSAFE AS $assay${body}$assay$;"
        )
    });
    all.collect()
}

/// Whether all functions are there as this program makes them.
fn are_current(connection: &mut Connection) -> Result<bool, Trouble> {
    let sql = format!(
        "SELECT proname, prosrc, provolatile = CASE proname WHEN 'order_status_v1' THEN 's'::\"char\" \
         WHEN 'stock_level_v1' THEN 's' ELSE 'v' END AND proconfig IS NULL AND NOT prosecdef FROM pg_proc \
         WHERE pronamespace = (SELECT oid FROM pg_namespace WHERE nspname = {})",
        text_literal(connection.schema_name())
    );
    let prefix = connection.table_prefix();
    let answers = connection.ask_server(&sql)?;
    let rows: Vec<_> = answers.iter().flat_map(|answer| &answer.rows).collect();
    Ok(ALL.iter().all(|function| {
        let mut named = rows.iter().filter(|row| row.text_at(0).is_ok_and(|name| name == function.name));
        let is_same = named.next().is_some_and(|row| {
            row.text_at(1).is_ok_and(|body| body == with_prefix(&prefix, function.body))
                && row.text_at(2).is_ok_and(|is| is == "t")
        });
        is_same && named.next().is_none()
    }))
}

/// Makes the functions, unless they are there.
pub(super) fn renew_functions(connection: &mut Connection) -> Result<(), Trouble> {
    if are_current(connection)? {
        return Ok(());
    }
    let prefix = connection.table_prefix();
    connection.in_transaction(|link| {
        link.run_statements(&drop_statements(&prefix)).and_then(|()| link.run_statements(&create_statements(&prefix)))
    })
}

/// Refuses a schema without them.
pub(super) fn check_present(connection: &mut Connection) -> Result<(), Trouble> {
    if are_current(connection)? {
        return Ok(());
    }
    let text = format!(
        "{}: the functions of the transactions are missing or are not this program's",
        connection.display_name()
    );
    Err(Trouble::not_ready(format!("{text}: make them with assay prep, or write mode = \"client\"")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_function_makes_a_subtransaction_or_depends_on_the_search_path() {
        for function in ALL {
            assert!(!function.body.contains("\nEXCEPTION"), "{}", function.name);
            for place in ["FROM ", "UPDATE ", "INTO @", "JOIN "] {
                for (at, _) in function.body.match_indices(place).filter(|_| place != "INTO @") {
                    let rest = &function.body[at + place.len()..];
                    let known =
                        ["@", "(", "unnest", "lines;", "OF s"].iter().any(|word| rest.trim_start().starts_with(word));
                    assert!(known, "{}: {place}{}", function.name, &rest[..rest.len().min(30)]);
                }
            }
        }
        assert!(NEW_ORDER.body.contains(EXPECTED_ROLLBACK) && PAYMENT.body.contains(MISSING_ROW));
    }
}
