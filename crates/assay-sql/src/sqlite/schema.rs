//! The tables in SQLite's definition language.
//!
//! Money is an integer number of cents, a rate of ten-thousandths, a moment of microseconds: SQLite has no exact decimal
//! numbers and no moments, and STRICT tables refuse what is not of the column's kind.

use assay_model::tpcc::{ColumnKind, Table};

/// "Astc": the file's header says that the database is this program's.
pub(super) const APPLICATION_ID: u32 = 0x4173_7463;

/// The marker of a load.
pub(super) const MARKER: &str = "
    CREATE TABLE assay_tpcc (
        version INTEGER NOT NULL, run TEXT NOT NULL, warehouses INTEGER NOT NULL, seed TEXT NOT NULL,
        c_load INTEGER NOT NULL, items INTEGER NOT NULL, customers INTEGER NOT NULL, complete INTEGER NOT NULL
    ) STRICT;";

/// The parts that are loaded.
pub(super) const PARTS: &str = "
    CREATE TABLE assay_parts (name TEXT NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID;";

/// A row for each session of a run, with the number of the last transaction that it has committed.
pub(super) const SESSIONS: &str = "
    CREATE TABLE IF NOT EXISTS main.assay_session (
        run TEXT NOT NULL, session INTEGER NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (run, session)
    ) STRICT, WITHOUT ROWID;";

/// The names of all tables that a load makes, in the order in which they may be dropped.
pub(super) fn table_names() -> impl Iterator<Item = &'static str> {
    Table::ALL.into_iter().map(Table::table_name).chain(["assay_session", "assay_parts", "assay_tpcc"])
}

/// The definition of a table, without its second index.
pub(super) fn table_definition(table: Table) -> String {
    let columns = table.all_columns().iter().map(|column| {
        let null = if column.nullable { "" } else { " NOT NULL" };
        format!("{} {}{null}", column.name, column_type(column.kind))
    });
    let columns: Vec<String> = columns.collect();
    let key: Vec<&str> = table.key_columns().iter().map(|column| column.name).collect();
    let key = if key.is_empty() { String::new() } else { format!(", PRIMARY KEY ({})", key.join(", ")) };
    let rowid = if is_clustered(table) { ", WITHOUT ROWID" } else { "" };
    format!("CREATE TABLE {} ({}{key}) STRICT{rowid};", table.table_name(), columns.join(", "))
}

fn column_type(kind: ColumnKind) -> &'static str {
    match kind {
        ColumnKind::Varchar(_) | ColumnKind::Char(_) => "TEXT",
        ColumnKind::Integer | ColumnKind::Money(_) | ColumnKind::Rate | ColumnKind::Time => "INTEGER",
    }
}

/// Whether rows are kept in the order of the key itself. It saves an index, but rows of several hundred bytes, as those
/// of customers and stock, would make its tree deep.
fn is_clustered(table: Table) -> bool {
    matches!(table, Table::District | Table::Orders | Table::NewOrder | Table::OrderLine)
}

/// The definition of the second index of a table.
pub(super) fn index_definition(table: Table) -> Option<String> {
    let (name, columns) = table.second_index()?;
    Some(format!("CREATE UNIQUE INDEX IF NOT EXISTS {name} ON {} ({});", table.table_name(), columns.join(", ")))
}

/// The statement that inserts a row of a table.
pub(super) fn insert_statement(table: Table) -> String {
    let places = vec!["?"; table.all_columns().len()].join(", ");
    format!("INSERT INTO {} VALUES ({places})", table.table_name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_as_they_are_sent() {
        assert_eq!(
            table_definition(Table::NewOrder),
            "CREATE TABLE new_order (no_w_id INTEGER NOT NULL, no_d_id INTEGER NOT NULL, no_o_id INTEGER NOT NULL, PRIMARY \
             KEY (no_w_id, no_d_id, no_o_id)) STRICT, WITHOUT ROWID;"
        );
        assert!(table_definition(Table::Orders).contains("o_carrier_id INTEGER, o_ol_cnt INTEGER NOT NULL"));
        assert!(table_definition(Table::History).ends_with("h_data TEXT NOT NULL) STRICT;"));
        assert_eq!(
            index_definition(Table::Customer).unwrap(),
            "CREATE UNIQUE INDEX IF NOT EXISTS customer_by_name ON customer (c_w_id, c_d_id, c_last, c_first, c_id);"
        );
        assert_eq!(index_definition(Table::Item), None);
        assert_eq!(insert_statement(Table::NewOrder), "INSERT INTO new_order VALUES (?, ?, ?)");
    }
}
