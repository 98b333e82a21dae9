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
    pub fn encode_value(self, out: &mut Vec<u8>) {
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

const fn define_column(name: &'static str, kind: Kind) -> Column {
    Column { name, kind, nullable: false }
}
const fn integer_column(name: &'static str) -> Column {
    define_column(name, Kind::Integer)
}
const fn varchar_column(name: &'static str, most: u16) -> Column {
    define_column(name, Kind::Varchar(most))
}
const fn char_column(name: &'static str, length: u16) -> Column {
    define_column(name, Kind::Char(length))
}
const fn money_column(name: &'static str, digits: u16) -> Column {
    define_column(name, Kind::Money(digits))
}
const fn rate_column(name: &'static str) -> Column {
    define_column(name, Kind::Rate)
}
const fn time_column(name: &'static str) -> Column {
    define_column(name, Kind::Time)
}
const fn nullable_column(column: Column) -> Column {
    Column { nullable: true, ..column }
}

const WAREHOUSE: &[Column] = &[
    integer_column("w_id"),
    varchar_column("w_name", 10),
    varchar_column("w_street_1", 20),
    varchar_column("w_street_2", 20),
    varchar_column("w_city", 20),
    char_column("w_state", 2),
    char_column("w_zip", 9),
    rate_column("w_tax"),
    money_column("w_ytd", 16),
];
const DISTRICT: &[Column] = &[
    integer_column("d_w_id"),
    integer_column("d_id"),
    varchar_column("d_name", 10),
    varchar_column("d_street_1", 20),
    varchar_column("d_street_2", 20),
    varchar_column("d_city", 20),
    char_column("d_state", 2),
    char_column("d_zip", 9),
    rate_column("d_tax"),
    money_column("d_ytd", 16),
    integer_column("d_next_o_id"),
];
const CUSTOMER: &[Column] = &[
    integer_column("c_w_id"),
    integer_column("c_d_id"),
    integer_column("c_id"),
    varchar_column("c_first", 16),
    char_column("c_middle", 2),
    varchar_column("c_last", 16),
    varchar_column("c_street_1", 20),
    varchar_column("c_street_2", 20),
    varchar_column("c_city", 20),
    char_column("c_state", 2),
    char_column("c_zip", 9),
    char_column("c_phone", 16),
    time_column("c_since"),
    char_column("c_credit", 2),
    money_column("c_credit_lim", 12),
    rate_column("c_discount"),
    money_column("c_balance", 12),
    money_column("c_ytd_payment", 12),
    integer_column("c_payment_cnt"),
    integer_column("c_delivery_cnt"),
    varchar_column("c_data", 500),
];
const HISTORY: &[Column] = &[
    integer_column("h_c_id"),
    integer_column("h_c_d_id"),
    integer_column("h_c_w_id"),
    integer_column("h_d_id"),
    integer_column("h_w_id"),
    time_column("h_date"),
    money_column("h_amount", 6),
    varchar_column("h_data", 24),
];
const ITEM: &[Column] = &[
    integer_column("i_id"),
    integer_column("i_im_id"),
    varchar_column("i_name", 24),
    money_column("i_price", 5),
    varchar_column("i_data", 50),
];
const STOCK: &[Column] = &[
    integer_column("s_w_id"),
    integer_column("s_i_id"),
    integer_column("s_quantity"),
    char_column("s_dist_01", 24),
    char_column("s_dist_02", 24),
    char_column("s_dist_03", 24),
    char_column("s_dist_04", 24),
    char_column("s_dist_05", 24),
    char_column("s_dist_06", 24),
    char_column("s_dist_07", 24),
    char_column("s_dist_08", 24),
    char_column("s_dist_09", 24),
    char_column("s_dist_10", 24),
    integer_column("s_ytd"),
    integer_column("s_order_cnt"),
    integer_column("s_remote_cnt"),
    varchar_column("s_data", 50),
];
const ORDERS: &[Column] = &[
    integer_column("o_w_id"),
    integer_column("o_d_id"),
    integer_column("o_id"),
    integer_column("o_c_id"),
    time_column("o_entry_d"),
    nullable_column(integer_column("o_carrier_id")),
    integer_column("o_ol_cnt"),
    integer_column("o_all_local"),
];
const NEW_ORDER: &[Column] = &[integer_column("no_w_id"), integer_column("no_d_id"), integer_column("no_o_id")];
const ORDER_LINE: &[Column] = &[
    integer_column("ol_w_id"),
    integer_column("ol_d_id"),
    integer_column("ol_o_id"),
    integer_column("ol_number"),
    integer_column("ol_i_id"),
    integer_column("ol_supply_w_id"),
    nullable_column(time_column("ol_delivery_d")),
    integer_column("ol_quantity"),
    money_column("ol_amount", 6),
    char_column("ol_dist_info", 24),
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
    pub fn table_name(self) -> &'static str {
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
    pub fn all_columns(self) -> &'static [Column] {
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
    pub fn key_columns(self) -> &'static [Column] {
        let columns = match self {
            Table::History => 0,
            Table::Warehouse | Table::Item => 1,
            Table::District | Table::Stock => 2,
            Table::Customer | Table::Orders | Table::NewOrder => 3,
            Table::OrderLine => 4,
        };
        &self.all_columns()[..columns]
    }

    /// The name and the columns of its second index, where it has one.
    pub fn second_index(self) -> Option<(&'static str, &'static [&'static str])> {
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
            for column in table.all_columns() {
                assert!(column.name.starts_with(prefix) && seen.insert(column.name), "{}", column.name);
            }
            for column in table.second_index().into_iter().flat_map(|(_, columns)| columns) {
                assert!(table.all_columns().iter().any(|it| it.name == *column), "{column}");
            }
        }
        assert_eq!(seen.len(), 9 + 11 + 21 + 8 + 5 + 17 + 8 + 3 + 10);
        let null: Vec<_> = Table::ALL.iter().flat_map(|table| table.all_columns()).filter(|it| it.nullable).collect();
        assert_eq!(null.iter().map(|it| it.name).collect::<Vec<_>>(), ["o_carrier_id", "ol_delivery_d"]);
    }

    #[test]
    fn the_canonical_form_tells_values_apart() {
        let encoded = |values: &[Value]| {
            let mut out = Vec::new();
            values.iter().for_each(|value| value.encode_value(&mut out));
            out
        };
        assert_eq!(encoded(&[Value::Null]), [0]);
        assert_eq!(encoded(&[Value::Integer(-2)]), [1, 254, 255, 255, 255, 255, 255, 255, 255]);
        assert_eq!(encoded(&[Value::Text("AB")]), [2, 2, 0, 0, 0, b'A', b'B']);
        assert_ne!(encoded(&[Value::Text("A"), Value::Text("B")]), encoded(&[Value::Text("AB"), Value::Text("")]));
    }
}
