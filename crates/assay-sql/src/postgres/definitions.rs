//! Whether the tables of a schema are those that a load makes.
//!
//! Anybody can copy a marker, or put a view or a table of their own in the place of one of ours: a load goes on, `--clear`
//! deletes, and a run uses, only what is exactly as this program makes it.

use super::catalogue::catalogue_query;
use super::connection::Connection;
use super::schema;
use crate::trouble::Trouble;
use assay_model::tpcc::{ColumnKind, Table};
use std::collections::BTreeMap;

/// The objects of a schema that have our names.
#[derive(Debug, Default)]
pub(super) struct FoundObjects {
    tables: BTreeMap<String, String>,
    indexes: BTreeMap<String, String>,
    others: Vec<String>,
}

impl FoundObjects {
    /// Reads what is there.
    pub(super) fn read_relations(connection: &mut Connection) -> Result<FoundObjects, Trouble> {
        let sql = catalogue_query(connection.schema_name());
        let answers = connection.link.query_text(&sql).map_err(|why| connection.to_trouble(&why))?;
        let mut found = FoundObjects::default();
        for row in answers.iter().flat_map(|answer| &answer.rows) {
            let [what, name, is] = [0, 1, 2].map(|column| {
                row.text_at(column).map(str::to_owned).map_err(|why| {
                    Trouble::host_unable(format!("{}: the definitions of tables: {why}", connection.display_name()))
                })
            });
            let (what, name, is) = (what?, name?, is?);
            match what.as_str() {
                "table" => drop(found.tables.insert(name, is)),
                "index" => drop(found.indexes.insert(name, is)),
                _ => found.others.push(name),
            }
        }
        found.others.sort();
        Ok(found)
    }

    /// Refuses what no load has made.
    pub(super) fn refuse_foreign(&self, connection: &Connection) -> Result<(), Trouble> {
        let foreign = self
            .tables
            .iter()
            .filter(|(name, is): &(&String, &String)| columns_of_ours(name).as_ref() != Some(is))
            .map(|(name, _)| name);
        let all: Vec<&str> = foreign.chain(&self.others).map(String::as_str).collect();
        if all.is_empty() {
            return Ok(());
        }
        Err(Trouble::refused_for_safety(format!(
            "{}: the schema {} holds something that no load has made, and it is left as it is: write another schema \
             (schema=…), or remove it first ({})",
            connection.display_name(),
            connection.schema_name(),
            all.join(", ")
        )))
    }

    /// The tables that are missing. That of the sessions is made by a run.
    pub(super) fn missing_tables(&self) -> Vec<&'static str> {
        schema::table_names().filter(|name| *name != "assay_session" && !self.tables.contains_key(*name)).collect()
    }

    /// The keys and indexes of tables that are there which are missing or are not as a load makes them.
    pub(super) fn missing_keys(&self) -> Vec<String> {
        let wrong = expected_keys().filter(|(name, is)| {
            let table = is.split(' ').next();
            table.is_some_and(|table| self.tables.contains_key(table)) && self.indexes.get(name) != Some(is)
        });
        wrong.map(|(name, _)| name).collect()
    }
}

/// Refuses a schema that lacks what a load needs that goes on, or has nothing left to do.
pub(super) fn check_loadable(connection: &Connection, found: &FoundObjects, complete: bool) -> Result<(), Trouble> {
    let mut missing: Vec<String> = found.missing_tables().into_iter().map(str::to_owned).collect();
    if complete {
        missing.extend(found.missing_keys());
    }
    if missing.is_empty() {
        return Ok(());
    }
    let what = if complete { "a whole load" } else { "a load in part, but is something that no load has made" };
    Err(Trouble::refused_for_safety(format!(
        "{}: the schema {} says that it holds {what}: {} missing: load it again with assay prep --clear",
        connection.display_name(),
        connection.schema_name(),
        with_verb(&missing)
    )))
}

/// Refuses a database that lacks what a run or a check needs.
pub(super) fn check_usable(connection: &mut Connection) -> Result<(), Trouble> {
    let found = FoundObjects::read_relations(connection)?;
    found.refuse_foreign(connection)?;
    let at = format!("{}: the schema {}", connection.display_name(), connection.schema_name());
    let (tables, keys) = (found.missing_tables(), found.missing_keys());
    let again = "load it again with assay prep --clear";
    if !tables.is_empty() {
        return Err(Trouble::damaged_database(format!("{at} is damaged: {} missing: {again}", with_verb(&tables))));
    }
    if !keys.is_empty() {
        return Err(Trouble::not_ready(format!(
            "{at} is not as a load makes it: {} missing: {again}",
            with_verb(&keys)
        )));
    }
    Ok(())
}

fn with_verb<T: AsRef<str>>(names: &[T]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    format!("{} {}", names.join(", "), if names.len() == 1 { "is" } else { "are" })
}

/// The columns of one of our tables, as the query of the catalogue describes them.
fn columns_of_ours(name: &str) -> Option<String> {
    match name {
        "assay_tpcc" => Some(not_null(
            "version bigint, run text, warehouses bigint, seed text, c_load bigint, items bigint, customers bigint, \
             complete bigint",
        )),
        "assay_parts" => Some(not_null("name text")),
        "assay_session" => Some(not_null("run text, session integer, seq bigint")),
        name => {
            let table = Table::ALL.into_iter().find(|table| table.table_name() == name)?;
            let columns = table.all_columns().iter().map(|column| {
                let null = if column.nullable { "" } else { " not null" };
                format!("{} {}{null}", column.name, displayed_type(column.name, column.kind))
            });
            Some(columns.collect::<Vec<_>>().join(", "))
        }
    }
}

/// A type as the server writes it.
fn displayed_type(name: &str, kind: ColumnKind) -> String {
    let order = if ["c_last", "c_first"].contains(&name) { " C" } else { "" };
    match kind {
        ColumnKind::Integer => "integer".to_owned(),
        ColumnKind::Varchar(most) => format!("character varying({most}){order}"),
        ColumnKind::Char(length) => format!("character({length})"),
        ColumnKind::Money(digits) => format!("numeric({digits},2)"),
        ColumnKind::Rate => "numeric(4,4)".to_owned(),
        ColumnKind::Time => "timestamp with time zone".to_owned(),
    }
}

/// The names of all keys and indexes, and how the query of the catalogue describes them.
fn expected_keys() -> impl Iterator<Item = (String, String)> {
    Table::ALL.into_iter().flat_map(|table| {
        let columns: Vec<&str> = table.key_columns().iter().map(|column| column.name).collect();
        let key = (!columns.is_empty())
            .then(|| (format!("{}_pkey", table.table_name()), index_in_words(table, " primary", &columns)));
        let index = table.second_index().map(|(name, columns)| (name.to_owned(), index_in_words(table, "", columns)));
        [key, index].into_iter().flatten().collect::<Vec<_>>()
    })
}

/// Columns without null values.
fn not_null(columns: &str) -> String {
    columns.split(", ").map(|column| format!("{column} not null")).collect::<Vec<_>>().join(", ")
}

fn index_in_words(table: Table, kind: &str, columns: &[&str]) -> String {
    format!("{}{kind} btree ({})", table.table_name(), columns.join(", "))
}
