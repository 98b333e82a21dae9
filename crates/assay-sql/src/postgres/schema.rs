//! The tables in PostgreSQL's definition language.

use assay_model::tpcc::{ColumnKind, Table};

/// The prefix of the name of a table. The name of the schema has no quotation marks in it; see `url`.
pub(super) fn table_prefix(schema: &str) -> String {
    format!("\"{schema}\".")
}

/// The statement or the body of a function in which an at sign stands before each name of ours.
pub(super) fn with_prefix(prefix: &str, sql: &str) -> String {
    sql.replace('@', prefix)
}

/// The tables that are not the workload's but ours: the marker and the parts that are loaded.
pub(super) const OURS: &str = "
    CREATE TABLE @assay_tpcc (
        version bigint NOT NULL, run text NOT NULL, warehouses bigint NOT NULL, seed text NOT NULL,
        c_load bigint NOT NULL, items bigint NOT NULL, customers bigint NOT NULL, complete bigint NOT NULL
    );
    CREATE TABLE @assay_parts (name text NOT NULL PRIMARY KEY);";

/// A row for each session of a run, with the number of the last transaction that it has committed. A row is rewritten in
/// its page, which therefore has room.
pub(super) const SESSIONS: &str = "
    CREATE TABLE IF NOT EXISTS @assay_session (
        run text NOT NULL, session integer NOT NULL, seq bigint NOT NULL, PRIMARY KEY (run, session)
    ) WITH (fillfactor = 10)";

/// The names of all tables that a load makes, in the order in which they may be dropped.
pub(super) fn table_names() -> impl Iterator<Item = &'static str> {
    Table::ALL.into_iter().map(Table::table_name).chain(["assay_session", "assay_parts", "assay_tpcc"])
}

/// The definition of a table without its keys, which follow when all rows are there.
pub(super) fn table_definition(prefix: &str, table: Table) -> String {
    let columns = table.all_columns().iter().map(|column| {
        let null = if column.nullable { "" } else { " NOT NULL" };
        format!("{} {}{null}", column.name, column_type(column.name, column.kind))
    });
    format!("CREATE TABLE {prefix}{} ({});", table.table_name(), columns.collect::<Vec<_>>().join(", "))
}

fn column_type(name: &str, kind: ColumnKind) -> String {
    // Customers of one name are ordered by first name: in another order another one is in the middle.
    let order = if ["c_last", "c_first"].contains(&name) { " COLLATE \"C\"" } else { "" };
    match kind {
        ColumnKind::Integer => "integer".to_owned(),
        ColumnKind::Varchar(most) => format!("varchar({most}){order}"),
        ColumnKind::Char(length) => format!("char({length})"),
        ColumnKind::Money(digits) => format!("numeric({digits}, 2)"),
        ColumnKind::Rate => "numeric(4, 4)".to_owned(),
        ColumnKind::Time => "timestamptz".to_owned(),
    }
}

/// The names and the definitions of all keys and indexes, those that take longest first.
pub(super) fn key_definitions(prefix: &str) -> Vec<(String, String)> {
    let mut tables = Table::ALL;
    tables.sort_by_key(|table| match table {
        Table::OrderLine => 0,
        Table::Stock | Table::Customer => 1,
        Table::Orders => 2,
        _ => 3,
    });
    tables.iter().flat_map(|table| [primary_key(prefix, *table), second_index(prefix, *table)]).flatten().collect()
}

/// The name and the definition of the key of a table, if it has one.
fn primary_key(prefix: &str, table: Table) -> Option<(String, String)> {
    let columns: Vec<&str> = table.key_columns().iter().map(|column| column.name).collect();
    let (name, columns) = (format!("{}_pkey", table.table_name()), columns.join(", "));
    let sql = format!("ALTER TABLE {prefix}{} ADD CONSTRAINT {name} PRIMARY KEY ({columns})", table.table_name());
    (!columns.is_empty()).then_some((name, sql))
}

/// The name and the definition of the second index of a table, if it has one.
fn second_index(prefix: &str, table: Table) -> Option<(String, String)> {
    let (name, columns) = table.second_index()?;
    let sql = format!("CREATE UNIQUE INDEX {name} ON {prefix}{} ({})", table.table_name(), columns.join(", "));
    Some((name.to_owned(), sql))
}

/// A text as a literal.
pub(super) fn text_literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_as_they_are_sent() {
        assert_eq!(
            table_definition("\"x\".", Table::NewOrder),
            "CREATE TABLE \"x\".new_order (no_w_id integer NOT NULL, no_d_id integer NOT NULL, no_o_id integer NOT NULL);"
        );
        let customer = table_definition("\"x\".", Table::Customer);
        assert!(customer.contains("c_last varchar(16) COLLATE \"C\" NOT NULL"), "{customer}");
        assert!(customer.contains("c_balance numeric(12, 2) NOT NULL, c_ytd_payment"), "{customer}");
        assert!(
            table_definition("\"x\".", Table::OrderLine)
                .contains("ol_delivery_d timestamptz, ol_quantity integer NOT NULL")
        );
        let keys = key_definitions("\"x\".");
        assert_eq!(keys.len(), 8 + 2);
        assert_eq!(
            keys[0].1,
            "ALTER TABLE \"x\".order_line ADD CONSTRAINT order_line_pkey PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)"
        );
        assert!(
            keys.iter().any(
                |(name, sql)| name == "customer_by_name" && sql.contains("(c_w_id, c_d_id, c_last, c_first, c_id)")
            )
        );
        assert_eq!(text_literal("a'b"), "'a''b'");
    }
}
