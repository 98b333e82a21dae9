//! Whether the tables of a database are those that a load makes.
//!
//! Each definition of MariaDB commits itself, so that a load which was killed may leave a marker and no tables. Whoever
//! then makes a table of one of our names must not lose it: a load goes on, and `--clear` deletes, only what is exactly as
//! this program makes it.

use super::connection::Connection;
use super::row::Row;
use super::schema::{self, column_type, text_literal};
use crate::trouble::Trouble;
use assay_model::tpcc::Table;
use std::collections::BTreeMap;

/// A column: its name, its type, whether it may be null, and its order of text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Column {
    name: String,
    kind: String,
    nullable: bool,
    collation: Option<String>,
}

impl Column {
    fn new(name: &str, kind: &str, nullable: bool) -> Column {
        let is_text = kind.starts_with("varchar") || kind.starts_with("char");
        let collation = is_text.then(|| "ascii_bin".to_owned());
        Column { name: name.to_owned(), kind: kind.replace(", ", ","), nullable, collation }
    }

    /// Reads a row of the catalogue, whose first column is the name of the table.
    fn from_row(row: &Row) -> std::io::Result<Column> {
        let collation = if row.is_null(4) { None } else { Some(row.text_at(4)?.to_owned()) };
        let kind = without_width(row.text_at(2)?).to_owned();
        Ok(Column { name: row.text_at(1)?.to_owned(), kind, nullable: row.text_at(3)? == "YES", collation })
    }
}

/// A table as the server describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct DescribedTable {
    /// Whether it is a table, and no view and no sequence.
    is_table: bool,
    /// Whether it is InnoDB's.
    is_innodb: bool,
    columns: Vec<Column>,
}

impl DescribedTable {
    /// Whether it is a table with these columns.
    fn has_columns(&self, columns: &[Column]) -> bool {
        self.is_table && self.columns == columns
    }
}

/// The tables of a database by their names.
#[derive(Debug)]
pub(super) struct Tables(BTreeMap<String, DescribedTable>);

/// The columns of one of our tables.
fn columns_of_ours(name: &str) -> Option<Vec<Column>> {
    match name {
        "assay_tpcc" => Some(not_null(&[
            ("version", "bigint"),
            ("run", "varchar(100)"),
            ("warehouses", "bigint"),
            ("seed", "varchar(20)"),
            ("c_load", "bigint"),
            ("items", "bigint"),
            ("customers", "bigint"),
            ("complete", "bigint"),
        ])),
        "assay_parts" => Some(not_null(&[("name", "varchar(100)")])),
        "assay_session" => Some(not_null(&[("run", "varchar(100)"), ("session", "int"), ("seq", "bigint")])),
        name => {
            let table = Table::ALL.into_iter().find(|table| table.table_name() == name)?;
            let columns = table.all_columns().iter();
            Some(columns.map(|column| Column::new(column.name, &column_type(column.kind), column.nullable)).collect())
        }
    }
}

/// A type without the width at which numbers are shown, which the server adds to it.
fn without_width(kind: &str) -> &str {
    let mut names = ["int", "bigint"].into_iter();
    names.find(|name| type_width(kind, name).is_some()).unwrap_or(kind)
}

impl Tables {
    /// Reads what is there.
    pub(super) fn read_tables(connection: &mut Connection) -> Result<Tables, Trouble> {
        let here = format!("= BINARY {}", text_literal(connection.database_name()));
        let tables = connection.ask_server(&format!(
            "SELECT table_name, table_type = 'BASE TABLE', engine <=> 'InnoDB' FROM information_schema.tables \
             WHERE table_schema {here}"
        ))?;
        let columns = connection.ask_server(&format!(
            "SELECT table_name, column_name, concat(column_type, if(extra = '', '', concat(' ', extra))), is_nullable, \
             collation_name FROM information_schema.columns WHERE table_schema {here} ORDER BY table_name, ordinal_position"
        ))?;
        let mut found: BTreeMap<String, DescribedTable> = BTreeMap::new();
        let read = |why: std::io::Error| Trouble::host_unable(format!("{}: {why}", connection.display_name()));
        for row in tables.iter().flat_map(|answer| &answer.rows) {
            let (is_table, is_innodb) = (row.bigint_at(1).map_err(read)? == 1, row.bigint_at(2).map_err(read)? == 1);
            found.insert(
                row.text_at(0).map_err(read)?.to_owned(),
                DescribedTable { is_table, is_innodb, columns: Vec::new() },
            );
        }
        for row in columns.iter().flat_map(|answer| &answer.rows) {
            let column = Column::from_row(row).map_err(read)?;
            found.entry(row.text_at(0).map_err(read)?.to_owned()).or_default().columns.push(column);
        }
        Ok(Tables(found))
    }

    /// Whether one of this name is there.
    pub(super) fn has_table(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The tables of names that a load uses which no load has made; with `others`, those of other names too.
    pub(super) fn foreign_tables(&self, others: bool) -> Vec<&str> {
        self.0
            .iter()
            .filter(|(name, found): &(&String, &DescribedTable)| match columns_of_ours(name) {
                Some(columns) => !found.is_innodb || !found.has_columns(&columns),
                None => others,
            })
            .map(|(name, _)| name.as_str())
            .collect()
    }

    /// The tables of names that a load uses which have other columns: whoever changed the engine of ours still has ours.
    pub(super) fn with_other_columns(&self) -> Vec<&str> {
        self.0
            .iter()
            .filter(|(name, found): &(&String, &DescribedTable)| {
                columns_of_ours(name).is_some_and(|columns| !found.has_columns(&columns))
            })
            .map(|(name, _)| name.as_str())
            .collect()
    }

    /// The workload's tables that have rows.
    pub(super) fn filled_tables(&self, connection: &mut Connection) -> Result<Vec<&'static str>, Trouble> {
        let mut filled = Vec::new();
        for name in Table::ALL.into_iter().map(Table::table_name).filter(|name| self.has_table(name)) {
            let answers = connection.ask_server(&format!("SELECT EXISTS (SELECT 1 FROM @{name})"))?;
            let row = answers.first().and_then(|answer| answer.only_row());
            // What cannot be read may be a row of somebody.
            if !row.is_some_and(|row| row.bigint_at(0).is_ok_and(|found| found == 0)) {
                filled.push(name);
            }
        }
        Ok(filled)
    }
}

/// What a whole load needs beside its marker: all tables, their keys and indexes, and no trigger of somebody. Another
/// engine is reported by the settings.
pub(super) fn check_usable(connection: &mut Connection) -> Result<(), Trouble> {
    let tables = Tables::read_tables(connection)?;
    refuse_objects(connection, &tables.with_other_columns())?;
    let here = format!("= BINARY {}", text_literal(connection.database_name()));
    let ours: Vec<String> = schema::table_names().map(text_literal).collect();
    let triggers = query_texts(
        connection,
        &format!(
            "SELECT trigger_name FROM information_schema.triggers WHERE event_object_schema {here} \
             AND event_object_table IN ({}) ORDER BY 1",
            ours.join(", ")
        ),
    )?;
    refuse_objects(connection, &triggers.iter().map(String::as_str).collect::<Vec<_>>())?;
    let missing: Vec<&str> =
        schema::table_names().filter(|name: &&str| *name != "assay_session" && !tables.has_table(name)).collect();
    let (at, again) = (connection.display_name(), "load it again with assay prep --clear");
    if !missing.is_empty() {
        return Err(Trouble::damaged_database(format!("{at} is damaged: it lacks {}: {again}", missing.join(", "))));
    }
    let indexes = query_texts(
        connection,
        &format!(
            "SELECT concat(table_name, ' ', index_name, ' (', group_concat(column_name ORDER BY seq_in_index \
             SEPARATOR ', '), ')') FROM information_schema.statistics WHERE table_schema {here} AND non_unique = 0 \
             AND sub_part IS NULL GROUP BY table_name, index_name"
        ),
    )?;
    let missing: Vec<String> = expected_keys().filter(|key| !indexes.contains(key)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Trouble::not_ready(format!(
        "{at} is not as a load makes it: it lacks the keys {}: {again}",
        missing.join(", ")
    )))
}

/// All keys and indexes, each with its table and columns.
fn expected_keys() -> impl Iterator<Item = String> {
    Table::ALL.into_iter().flat_map(|table| {
        let columns: Vec<&str> = table.key_columns().iter().map(|column| column.name).collect();
        let key = (!columns.is_empty()).then(|| index_in_words(table, "PRIMARY", &columns));
        let index = table.second_index().map(|(name, columns)| index_in_words(table, name, columns));
        [key, index].into_iter().flatten().collect::<Vec<_>>()
    })
}

/// The texts that a query answers.
fn query_texts(connection: &mut Connection, sql: &str) -> Result<Vec<String>, Trouble> {
    let answers = connection.ask_server(sql)?;
    let rows = answers.iter().flat_map(|answer| &answer.rows);
    rows.map(|row| row.text_at(0).map(str::to_owned))
        .collect::<Result<_, _>>()
        .map_err(|why| Trouble::host_unable(format!("{}: {why}", connection.display_name())))
}

/// Refuses names of objects that are not as a load makes them.
pub(super) fn refuse_objects(connection: &Connection, names: &[&str]) -> Result<(), Trouble> {
    if names.is_empty() {
        return Ok(());
    }
    Err(Trouble::refused_for_safety(format!(
        "{}: something that no load has made is there, and is left as it is: name another database, or remove it first ({})",
        connection.display_name(),
        names.join(", ")
    )))
}

/// Columns without null values, of these names and kinds.
fn not_null(columns: &[(&str, &str)]) -> Vec<Column> {
    columns.iter().map(|(name, kind)| Column::new(name, kind, false)).collect()
}

/// The width in the kind of a column, such as `int(11)`, of the type `name`.
fn type_width(kind: &str, name: &str) -> Option<u32> {
    kind.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')')?.parse::<u32>().ok()
}

fn index_in_words(table: Table, name: &str, columns: &[&str]) -> String {
    format!("{} {name} ({})", table.table_name(), columns.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::tpcc::ColumnKind;

    /// Each of our tables as the server describes it.
    fn described() -> Tables {
        let width = |column: Column| {
            let kind = match column.kind.as_str() {
                "int" => "int(11)",
                "bigint" => "bigint(20)",
                other => other,
            };
            Column { kind: without_width(kind).to_owned(), ..column }
        };
        let found = |name: &str| {
            let columns = columns_of_ours(name).unwrap().into_iter().map(width).collect();
            (name.to_owned(), DescribedTable { is_table: true, is_innodb: true, columns })
        };
        Tables(schema::table_names().map(found).collect())
    }

    #[test]
    fn only_what_is_exactly_as_a_load_makes_it_is_ours() {
        assert_eq!(described().foreign_tables(true), Vec::<&str>::new());
        let spoils: [fn(&mut DescribedTable); 6] = [
            |table| table.is_table = false,
            |table| drop(table.columns.pop()),
            |table| table.columns.push(Column::new("more", "int", true)),
            |table| table.columns[0].kind = "int(10) unsigned".to_owned(),
            |table| table.columns[0].nullable = true,
            |table| table.columns[0].name = "id".to_owned(),
        ];
        for spoil in spoils {
            for name in ["item", "customer", "assay_parts"] {
                let mut tables = described();
                spoil(tables.0.get_mut(name).unwrap());
                assert_eq!((tables.foreign_tables(false), tables.with_other_columns()), (vec![name], vec![name]));
            }
        }
        let mut tables = described();
        tables.0.get_mut("item").unwrap().is_innodb = false;
        assert_eq!((tables.foreign_tables(false), tables.with_other_columns()), (vec!["item"], Vec::new()));
        let mut tables = described();
        tables.0.insert("mine".to_owned(), DescribedTable::default());
        assert_eq!((tables.foreign_tables(false), tables.foreign_tables(true)), (Vec::new(), vec!["mine"]));
        assert_eq!(without_width("int(10) unsigned"), "int(10) unsigned");
        assert_eq!(column_type(ColumnKind::Rate), "decimal(4, 4)");
    }
}
