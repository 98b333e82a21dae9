//! Loads the population, part by part. A part is committed together with its line in `assay_parts`, so that a load that
//! was interrupted goes on with the parts that are missing.

use super::connection::{Connection, create_tables, initial_image, read_marker};
use super::definitions::Definitions;
use super::gate::Permit;
use super::schema;
use crate::loaders::{LoadTasks, Loader, Watch, lock_ignoring_panic, parts_left};
use crate::marker::Marker;
use crate::trouble::Trouble;
use crate::url::SqliteUrl;
use assay_base::text::one_line;
use assay_model::tpcc::rows::Row;
use assay_model::tpcc::{LoadPart, Population, Table, Value};
use rusqlite::types::ToSqlOutput;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// The settings of a load: where and how a population is loaded.
#[derive(Clone, Debug)]
pub struct Loading {
    /// The database that is loaded.
    pub url: SqliteUrl,
    /// The population that is loaded.
    pub population: Population,
    /// The name of this load; a load that goes on keeps the name it began with.
    pub run: String,
    /// How many threads make rows. One of them writes at a time, because SQLite has one writer.
    pub loaders: usize,
    /// Whether what an earlier load left is deleted first.
    pub clear: bool,
}

/// Loads what is missing and returns the marker, which is not complete if `watch` ended the load.
pub fn load_missing(loading: &Loading, watch: Watch<'_>) -> Result<Marker, Trouble> {
    let mut permit = Permit::to_load(&loading.url.path)?;
    if permit.is_blank_file() {
        permit.fill_blank(&initial_image(&Marker::new(&loading.run, loading.population))?)?;
    }
    let permit = Arc::new(permit);
    let mut connection = Connection::open_permitted(&permit, &loading.url)?;
    let mut there = read_marker(&connection)?;
    if loading.clear {
        current_definitions(&connection)?.refuse_foreign_tables(&connection.display_name())?;
        clear_load(&mut connection, &Marker::new(&loading.run, loading.population))?;
        there = read_marker(&connection)?;
    }
    there.check_loadable(loading.population, &connection.display_name())?;
    let found = current_definitions(&connection)?;
    found.refuse_foreign(&connection.display_name())?;
    found.are_loadable(&connection.display_name(), there.complete)?;
    if there.complete {
        return Ok(there);
    }
    let (work, writing) = (parts_to_load(&connection, loading.population)?, Mutex::new(()));
    let connections = (0..loading.loaders.max(1)).map(|_| Connection::open_permitted(&permit, &loading.url));
    let loaders = connections
        .map(|opened| opened.map(|connection| Making { connection, population: loading.population, writing: &writing }))
        .collect::<Result<Vec<_>, _>>()?;
    if work.carry_out_all(loaders, watch)?.is_continue() {
        finish_load(&connection)?;
    }
    read_marker(&connection)
}

fn current_definitions(connection: &Connection) -> Result<Definitions, Trouble> {
    Definitions::read_definitions(&connection.sqlite).map_err(|why| connection.to_trouble(&why))
}

/// Deletes what a load made, by name, and begins anew, in one transaction. What depends on it keeps it from that.
fn clear_load(connection: &mut Connection, marker: &Marker) -> Result<(), Trouble> {
    let depends = clear_unless_needed(&connection.sqlite, marker).map_err(|why| connection.to_trouble(&why))?;
    if depends.is_empty() {
        return Ok(());
    }
    Err(Trouble::refused_for_safety(format!(
        "{}: something that is not ours depends on it, and is left as it is: remove it first ({})",
        connection.display_name(),
        one_line(depends.join(", "))
    )))
}

/// Deletes the tables and begins anew, unless something that is not ours depends on them: then nothing is changed, and
/// its names are returned.
fn clear_unless_needed(sqlite: &rusqlite::Connection, marker: &Marker) -> rusqlite::Result<Vec<String>> {
    // Nobody makes anything between the question and the deletion.
    let transaction = sqlite.unchecked_transaction()?;
    let mut depends = dependent_names(&transaction)?;
    let whole = usable_views(&transaction)?;
    if depends.is_empty() {
        for name in schema::table_names() {
            transaction.execute_batch(&format!("DROP TABLE IF EXISTS main.{name};"))?;
        }
        // SQLite looks up what a view needs whenever it is used: one that needed our tables cannot be used now.
        let left = usable_views(&transaction)?;
        depends.extend(whole.into_iter().filter(|view| !left.contains(view)));
    }
    if depends.is_empty() {
        create_tables(&transaction, marker)?;
        transaction.commit()?;
    }
    Ok(depends)
}

/// The names of triggers on our tables, which would go with them, and of other tables whose foreign keys need ours.
fn dependent_names(sqlite: &rusqlite::Connection) -> rusqlite::Result<Vec<String>> {
    let ours: Vec<String> = schema::table_names().map(|name| format!("'{name}'")).collect();
    let ours = ours.join(", ");
    let sql = format!(
        "SELECT name FROM main.sqlite_schema WHERE type = 'trigger' AND lower(tbl_name) IN ({ours}) \
         UNION SELECT t.name FROM main.sqlite_schema AS t, pragma_foreign_key_list(t.name, 'main') AS f \
         WHERE t.type = 'table' AND lower(f.\"table\") IN ({ours}) AND lower(t.name) NOT IN ({ours}) ORDER BY 1"
    );
    sqlite.prepare(&sql)?.query_map([], |row| row.get(0))?.collect()
}

/// The names of the views that can be used.
fn usable_views(sqlite: &rusqlite::Connection) -> rusqlite::Result<Vec<String>> {
    let mut names = sqlite.prepare("SELECT name FROM main.sqlite_schema WHERE type = 'view' ORDER BY 1")?;
    let names = names.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<Vec<String>>>()?;
    let usable = names.into_iter().filter(|name| {
        let quoted = name.replace('"', "\"\"");
        sqlite.prepare(&format!("SELECT * FROM main.\"{quoted}\"")).is_ok()
    });
    Ok(usable.collect())
}

/// What follows the last part: indexes, statistics for the choice of plans, and the marker.
fn finish_load(connection: &Connection) -> Result<(), Trouble> {
    make_indexes(&connection.sqlite).map_err(|why| connection.to_trouble(&why))
}

fn make_indexes(sqlite: &rusqlite::Connection) -> rusqlite::Result<()> {
    let transaction = sqlite.unchecked_transaction()?;
    for index in Table::ALL.into_iter().filter_map(schema::index_definition) {
        transaction.execute_batch(&index)?;
    }
    transaction.execute_batch("ANALYZE; UPDATE main.assay_tpcc SET complete = 1;")?;
    transaction.commit()
}

/// The parts of a population that are not loaded, as tasks, and about how many rows the others have.
fn parts_to_load(connection: &Connection, population: Population) -> Result<LoadTasks<LoadPart>, Trouble> {
    Ok(parts_left(population, &loaded_parts(connection)?))
}

/// A thread that makes rows, and writes them when no other one writes: waiting for that is shorter than trying again.
struct Making<'a> {
    connection: Connection,
    population: Population,
    writing: &'a Mutex<()>,
}

impl Loader<LoadPart> for Making<'_> {
    /// Makes the rows of a part, which other loaders do at the same time, and then writes them.
    fn carry_out(&mut self, part: &LoadPart) -> Result<(), Trouble> {
        let mut rows = Vec::with_capacity(part.row_weight(self.population.row_scale()) as usize);
        let put = &mut |row| {
            rows.push(row);
            Ok::<(), std::convert::Infallible>(())
        };
        self.population.put_rows(*part, put).unwrap_or_else(|never| match never {});
        let _alone = lock_ignoring_panic(self.writing);
        write_part(&self.connection.sqlite, *part, &rows).map_err(|why| self.connection.to_trouble(&why))
    }
}

/// The names of the parts that are loaded.
fn loaded_parts(connection: &Connection) -> Result<BTreeSet<String>, Trouble> {
    names_of_parts(&connection.sqlite).map_err(|why| connection.to_trouble(&why))
}

fn names_of_parts(sqlite: &rusqlite::Connection) -> rusqlite::Result<BTreeSet<String>> {
    sqlite.prepare("SELECT name FROM main.assay_parts")?.query_map([], |row| row.get(0))?.collect()
}

fn write_part(sqlite: &rusqlite::Connection, part: LoadPart, rows: &[Row]) -> rusqlite::Result<()> {
    let transaction = sqlite.unchecked_transaction()?;
    transaction.execute("INSERT INTO main.assay_parts VALUES (?)", [part.part_name()])?;
    for row in rows {
        insert_row(&transaction, row)?;
    }
    transaction.commit()
}

fn insert_row(sqlite: &rusqlite::Connection, row: &Row) -> rusqlite::Result<()> {
    let mut statement = sqlite.prepare_cached(insert_of(row.row_table()))?;
    let (mut at, mut bound) = (0, Ok(()));
    row.put_values(&mut |value| {
        at += 1;
        if bound.is_ok() {
            bound = statement.raw_bind_parameter(at, to_sql_output(value));
        }
    });
    bound?;
    statement.raw_execute().map(drop)
}

fn to_sql_output(value: Value<'_>) -> ToSqlOutput<'_> {
    ToSqlOutput::Borrowed(match value {
        Value::Null => rusqlite::types::ValueRef::Null,
        Value::Integer(number) => rusqlite::types::ValueRef::Integer(number),
        Value::Text(text) => rusqlite::types::ValueRef::Text(text.as_bytes()),
    })
}

/// The statement for a row, made once for each table.
fn insert_of(table: Table) -> &'static str {
    static STATEMENTS: std::sync::OnceLock<Vec<String>> = std::sync::OnceLock::new();
    &STATEMENTS.get_or_init(|| Table::ALL.map(schema::insert_statement).into())[table as usize]
}
