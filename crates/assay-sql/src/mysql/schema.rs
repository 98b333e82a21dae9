//! The tables in MariaDB's definition language.

use assay_model::tpcc::{ColumnKind, Table};

/// The prefix of the name of a table. The name of the database has no quotation marks in it; see `url`.
pub(super) fn table_prefix(database: &str) -> String {
    format!("`{database}`.")
}

/// The statement or the body of a procedure in which an at sign stands before each name of ours.
pub(super) fn with_prefix(prefix: &str, sql: &str) -> String {
    sql.replace('@', prefix)
}

/// Every table is InnoDB's, and text is compared byte by byte: among customers of one name another order would put
/// another one in the middle.
const SUFFIX: &str = "ENGINE=InnoDB DEFAULT CHARSET=ascii COLLATE=ascii_bin";

/// The marker, which is there before anything else.
pub(super) fn marker_definition(prefix: &str) -> String {
    format!(
        "CREATE TABLE {prefix}assay_tpcc (version bigint NOT NULL, run varchar(100) NOT NULL, \
         warehouses bigint NOT NULL, seed varchar(20) NOT NULL, c_load bigint NOT NULL, items bigint NOT NULL, \
         customers bigint NOT NULL, complete bigint NOT NULL) {SUFFIX}"
    )
}

/// The parts that are loaded.
pub(super) fn parts_definition(prefix: &str) -> String {
    format!("CREATE TABLE {prefix}assay_parts (name varchar(100) NOT NULL PRIMARY KEY) {SUFFIX}")
}

/// A row for each session of a run, with the number of the last transaction that it has committed.
pub(super) fn sessions_definition(prefix: &str) -> String {
    format!(
        "CREATE TABLE IF NOT EXISTS {prefix}assay_session (run varchar(100) NOT NULL, session int NOT NULL, \
         seq bigint NOT NULL, PRIMARY KEY (run, session)) {SUFFIX}"
    )
}

/// The names of all tables that a load makes, in the order in which they may be dropped: the marker is the last one.
pub(super) fn table_names() -> impl Iterator<Item = &'static str> {
    Table::ALL.into_iter().map(Table::table_name).chain(["assay_session", "assay_parts", "assay_tpcc"])
}

/// The definition of a table with its key, in whose order InnoDB keeps the rows.
pub(super) fn table_definition(prefix: &str, table: Table) -> String {
    let columns = table.all_columns().iter().map(|column| {
        let null = if column.nullable { "" } else { " NOT NULL" };
        format!("{} {}{null}", column.name, column_type(column.kind))
    });
    let key: Vec<&str> = table.key_columns().iter().map(|column| column.name).collect();
    let key = (!key.is_empty()).then(|| format!("PRIMARY KEY ({})", key.join(", ")));
    let parts: Vec<String> = columns.chain(key).collect();
    format!("CREATE TABLE {prefix}{} ({}) {SUFFIX}", table.table_name(), parts.join(", "))
}

/// The type of a column.
pub(super) fn column_type(kind: ColumnKind) -> String {
    match kind {
        ColumnKind::Integer => "int".to_owned(),
        ColumnKind::Varchar(most) => format!("varchar({most})"),
        ColumnKind::Char(length) => format!("char({length})"),
        ColumnKind::Money(digits) => format!("decimal({digits}, 2)"),
        ColumnKind::Rate => "decimal(4, 4)".to_owned(),
        ColumnKind::Time => "datetime(6)".to_owned(),
    }
}

/// The names and the definitions of the second indexes.
pub(super) fn index_definitions(prefix: &str) -> Vec<(String, String)> {
    let indexes = Table::ALL.iter().filter_map(|table| {
        let (name, columns) = table.second_index()?;
        let sql =
            format!("ALTER TABLE {prefix}{} ADD UNIQUE INDEX {name} ({})", table.table_name(), columns.join(", "));
        Some((name.to_owned(), sql))
    });
    indexes.collect()
}

/// A text as a literal.
pub(super) fn text_literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_as_they_are_sent() {
        assert_eq!(
            table_definition("`x`.", Table::NewOrder),
            "CREATE TABLE `x`.new_order (no_w_id int NOT NULL, no_d_id int NOT NULL, no_o_id int NOT NULL, \
             PRIMARY KEY (no_w_id, no_d_id, no_o_id)) ENGINE=InnoDB DEFAULT CHARSET=ascii COLLATE=ascii_bin"
        );
        let lines = table_definition("`x`.", Table::OrderLine);
        assert!(lines.contains("ol_delivery_d datetime(6), ol_quantity int NOT NULL"), "{lines}");
        assert!(!table_definition("`x`.", Table::History).contains("KEY"));
        let indexes = index_definitions("`x`.");
        assert_eq!(indexes.len(), 2);
        assert_eq!(
            indexes[0].1,
            "ALTER TABLE `x`.customer ADD UNIQUE INDEX customer_by_name (c_w_id, c_d_id, c_last, c_first, c_id)"
        );
        assert_eq!(text_literal(r"a'b\c"), r"'a''b\\c'");
    }
}
