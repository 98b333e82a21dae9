//! The tables, their columns and keys, once for every dialect: each database writes its own definition language from
//! this description, and rows are read back in the order of these columns.
//!
//! Source: TPC-C 5.11, clause 1.3. Counters are 32-bit integers: at 60,000 new orders a minute on five warehouses
//! `s_order_cnt` exceeds 16 bits after 140 minutes.

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A 32-bit integer.
    Integer,
    /// Text of at most this many characters.
    Varchar(u16),
    /// Text of exactly this many characters.
    Char(u16),
    /// An amount of money: numeric(n,2), in a [`Value`] an integer number of cents.
    Money(u16),
    /// A rate: numeric(4,4), in a [`Value`] an integer number of ten-thousandths.
    Rate,
    /// A moment in UTC, in a [`Value`] an integer number of microseconds since 1970.
    Time,
}

/// One column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name, with the prefix of its table.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// Whether it may be null.
    pub nullable: bool,
}

/// A value of a row, the same for every dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Value<'a> {
    /// No value.
    Null,
    /// A number, or what [`Kind`] makes of one.
    Integer(i64),
    /// Text.
    Text(&'a str),
}

impl Value<'_> {
    /// Appends the canonical form: a byte for the kind of value, then eight bytes of the number, or four bytes of the
    /// length and the text. Numbers are little-endian. Equal bytes mean equal rows in any two databases.
    pub fn encode(self, out: &mut Vec<u8>) {
        match self {
            Value::Null => out.push(0),
            Value::Integer(number) => {
                out.push(1);
                out.extend_from_slice(&number.to_le_bytes());
            }
            Value::Text(text) => {
                out.push(2);
                out.extend_from_slice(&(text.len() as u32).to_le_bytes());
                out.extend_from_slice(text.as_bytes());
            }
        }
    }
}

/// The tables of the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    /// One row for each warehouse.
    Warehouse,
    /// Ten for each warehouse.
    District,
    /// 3000 for each district.
    Customer,
    /// One for each customer, and one for each payment.
    History,
    /// 100,000, shared by all warehouses.
    Item,
    /// One for each item and warehouse.
    Stock,
    /// 3000 for each district, and one for each new order.
    Orders,
    /// One for each order that is not delivered.
    NewOrder,
    /// 5 to 15 for each order.
    OrderLine,
}

const fn column(name: &'static str, kind: Kind) -> Column {
    Column { name, kind, nullable: false }
}
const fn integer(name: &'static str) -> Column {
    column(name, Kind::Integer)
}
const fn varchar(name: &'static str, most: u16) -> Column {
    column(name, Kind::Varchar(most))
}
const fn char(name: &'static str, length: u16) -> Column {
    column(name, Kind::Char(length))
}
const fn money(name: &'static str, digits: u16) -> Column {
    column(name, Kind::Money(digits))
}
const fn rate(name: &'static str) -> Column {
    column(name, Kind::Rate)
}
const fn time(name: &'static str) -> Column {
    column(name, Kind::Time)
}
const fn nullable(column: Column) -> Column {
    Column { nullable: true, ..column }
}

const WAREHOUSE: &[Column] = &[
    integer("w_id"),
    varchar("w_name", 10),
    varchar("w_street_1", 20),
    varchar("w_street_2", 20),
    varchar("w_city", 20),
    char("w_state", 2),
    char("w_zip", 9),
    rate("w_tax"),
    money("w_ytd", 16),
];
const DISTRICT: &[Column] = &[
    integer("d_w_id"),
    integer("d_id"),
    varchar("d_name", 10),
    varchar("d_street_1", 20),
    varchar("d_street_2", 20),
    varchar("d_city", 20),
    char("d_state", 2),
    char("d_zip", 9),
    rate("d_tax"),
    money("d_ytd", 16),
    integer("d_next_o_id"),
];
const CUSTOMER: &[Column] = &[
    integer("c_w_id"),
    integer("c_d_id"),
    integer("c_id"),
    varchar("c_first", 16),
    char("c_middle", 2),
    varchar("c_last", 16),
    varchar("c_street_1", 20),
    varchar("c_street_2", 20),
    varchar("c_city", 20),
    char("c_state", 2),
    char("c_zip", 9),
    char("c_phone", 16),
    time("c_since"),
    char("c_credit", 2),
    money("c_credit_lim", 12),
    rate("c_discount"),
    money("c_balance", 12),
    money("c_ytd_payment", 12),
    integer("c_payment_cnt"),
    integer("c_delivery_cnt"),
    varchar("c_data", 500),
];
const HISTORY: &[Column] = &[
    integer("h_c_id"),
    integer("h_c_d_id"),
    integer("h_c_w_id"),
    integer("h_d_id"),
    integer("h_w_id"),
    time("h_date"),
    money("h_amount", 6),
    varchar("h_data", 24),
];
const ITEM: &[Column] =
    &[integer("i_id"), integer("i_im_id"), varchar("i_name", 24), money("i_price", 5), varchar("i_data", 50)];
const STOCK: &[Column] = &[
    integer("s_w_id"),
    integer("s_i_id"),
    integer("s_quantity"),
    char("s_dist_01", 24),
    char("s_dist_02", 24),
    char("s_dist_03", 24),
    char("s_dist_04", 24),
    char("s_dist_05", 24),
    char("s_dist_06", 24),
    char("s_dist_07", 24),
    char("s_dist_08", 24),
    char("s_dist_09", 24),
    char("s_dist_10", 24),
    integer("s_ytd"),
    integer("s_order_cnt"),
    integer("s_remote_cnt"),
    varchar("s_data", 50),
];
const ORDERS: &[Column] = &[
    integer("o_w_id"),
    integer("o_d_id"),
    integer("o_id"),
    integer("o_c_id"),
    time("o_entry_d"),
    nullable(integer("o_carrier_id")),
    integer("o_ol_cnt"),
    integer("o_all_local"),
];
const NEW_ORDER: &[Column] = &[integer("no_w_id"), integer("no_d_id"), integer("no_o_id")];
const ORDER_LINE: &[Column] = &[
    integer("ol_w_id"),
    integer("ol_d_id"),
    integer("ol_o_id"),
    integer("ol_number"),
    integer("ol_i_id"),
    integer("ol_supply_w_id"),
    nullable(time("ol_delivery_d")),
    integer("ol_quantity"),
    money("ol_amount", 6),
    char("ol_dist_info", 24),
];

impl Table {
    /// All of them, in the order in which a definition may be written.
    pub const ALL: [Table; 9] = [
        Table::Warehouse,
        Table::District,
        Table::Customer,
        Table::History,
        Table::Item,
        Table::Stock,
        Table::Orders,
        Table::NewOrder,
        Table::OrderLine,
    ];

    /// Its name in a database.
    pub fn name(self) -> &'static str {
        match self {
            Table::Warehouse => "warehouse",
            Table::District => "district",
            Table::Customer => "customer",
            Table::History => "history",
            Table::Item => "item",
            Table::Stock => "stock",
            Table::Orders => "orders",
            Table::NewOrder => "new_order",
            Table::OrderLine => "order_line",
        }
    }

    /// Its columns, those of the key first.
    pub fn columns(self) -> &'static [Column] {
        match self {
            Table::Warehouse => WAREHOUSE,
            Table::District => DISTRICT,
            Table::Customer => CUSTOMER,
            Table::History => HISTORY,
            Table::Item => ITEM,
            Table::Stock => STOCK,
            Table::Orders => ORDERS,
            Table::NewOrder => NEW_ORDER,
            Table::OrderLine => ORDER_LINE,
        }
    }

    /// The columns of its primary key: none for the history, whose rows may repeat.
    pub fn key(self) -> &'static [Column] {
        let columns = match self {
            Table::History => 0,
            Table::Warehouse | Table::Item => 1,
            Table::District | Table::Stock => 2,
            Table::Customer | Table::Orders | Table::NewOrder => 3,
            Table::OrderLine => 4,
        };
        &self.columns()[..columns]
    }

    /// The name and the columns of its second index, where it has one.
    pub fn index(self) -> Option<(&'static str, &'static [&'static str])> {
        match self {
            Table::Customer => Some(("customer_by_name", &["c_w_id", "c_d_id", "c_last", "c_first", "c_id"])),
            Table::Orders => Some(("orders_by_customer", &["o_w_id", "o_d_id", "o_c_id", "o_id"])),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_column_has_the_prefix_of_its_table_and_a_name_of_its_own() {
        let prefixes = ["w_", "d_", "c_", "h_", "i_", "s_", "o_", "no_", "ol_"];
        let mut seen = BTreeSet::new();
        for (table, prefix) in Table::ALL.into_iter().zip(prefixes) {
            for column in table.columns() {
                assert!(column.name.starts_with(prefix) && seen.insert(column.name), "{}", column.name);
            }
            for column in table.index().into_iter().flat_map(|(_, columns)| columns) {
                assert!(table.columns().iter().any(|it| it.name == *column), "{column}");
            }
        }
        assert_eq!(seen.len(), 9 + 11 + 21 + 8 + 5 + 17 + 8 + 3 + 10);
        let null: Vec<_> = Table::ALL.iter().flat_map(|table| table.columns()).filter(|it| it.nullable).collect();
        assert_eq!(null.iter().map(|it| it.name).collect::<Vec<_>>(), ["o_carrier_id", "ol_delivery_d"]);
    }

    #[test]
    fn the_canonical_form_tells_values_apart() {
        let encoded = |values: &[Value]| {
            let mut out = Vec::new();
            values.iter().for_each(|value| value.encode(&mut out));
            out
        };
        assert_eq!(encoded(&[Value::Null]), [0]);
        assert_eq!(encoded(&[Value::Integer(-2)]), [1, 254, 255, 255, 255, 255, 255, 255, 255]);
        assert_eq!(encoded(&[Value::Text("AB")]), [2, 2, 0, 0, 0, b'A', b'B']);
        assert_ne!(encoded(&[Value::Text("A"), Value::Text("B")]), encoded(&[Value::Text("AB"), Value::Text("")]));
    }
}
