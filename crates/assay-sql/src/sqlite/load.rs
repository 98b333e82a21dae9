//! Loads the population, part by part. A part is committed together with its line in `assay_parts`, so that a load that
//! was interrupted goes on with the parts that are missing.

use super::connection::{Connection, begin, image, marker};
use super::definitions::Definitions;
use super::gate::Permit;
use super::schema;
use crate::loaders::{Loader, Watch, Work, locked, parts_left};
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
pub fn load(loading: &Loading, watch: Watch<'_>) -> Result<Marker, Trouble> {
    let mut permit = Permit::to_load(&loading.url.path)?;
    if permit.blank() {
        permit.fill(&image(&Marker::new(&loading.run, loading.population))?)?;
    }
    let permit = Arc::new(permit);
    let mut connection = Connection::open(&permit, &loading.url)?;
    let mut there = marker(&connection)?;
    if loading.clear {
        definitions(&connection)?.refuse_foreign_tables(&connection.shown())?;
        clear(&mut connection, &Marker::new(&loading.run, loading.population))?;
        there = marker(&connection)?;
    }
    there.takes(loading.population, &connection.shown())?;
    let found = definitions(&connection)?;
    found.refuse_foreign(&connection.shown())?;
    found.are_loadable(&connection.shown(), there.complete)?;
    if there.complete {
        return Ok(there);
    }
    let (work, writing) = (parts_to_load(&connection, loading.population)?, Mutex::new(()));
    let connections = (0..loading.loaders.max(1)).map(|_| Connection::open(&permit, &loading.url));
    let loaders = connections
        .map(|opened| opened.map(|connection| Making { connection, population: loading.population, writing: &writing }))
        .collect::<Result<Vec<_>, _>>()?;
    if work.all(loaders, watch)?.is_continue() {
        finish(&connection)?;
    }
    marker(&connection)
}

fn definitions(connection: &Connection) -> Result<Definitions, Trouble> {
    Definitions::read(&connection.sqlite).map_err(|why| connection.trouble(&why))
}

/// Deletes what a load made, by name, and begins anew, in one transaction. What depends on it keeps it from that.
fn clear(connection: &mut Connection, marker: &Marker) -> Result<(), Trouble> {
    let depends = clear_unless_needed(&connection.sqlite, marker).map_err(|why| connection.trouble(&why))?;
    if depends.is_empty() {
        return Ok(());
    }
    Err(Trouble::refused(format!(
        "{}: something that is not ours depends on it, and is left as it is: remove it first ({})",
        connection.shown(),
        one_line(depends.join(", "))
    )))
}

/// Deletes the tables and begins anew, unless something that is not ours depends on them: then nothing is changed, and
/// its names are returned.
fn clear_unless_needed(sqlite: &rusqlite::Connection, marker: &Marker) -> rusqlite::Result<Vec<String>> {
    // Nobody makes anything between the question and the deletion.
    let transaction = sqlite.unchecked_transaction()?;
    let mut depends = depends(&transaction)?;
    let whole = views(&transaction)?;
    if depends.is_empty() {
        for name in schema::names() {
            transaction.execute_batch(&format!("DROP TABLE IF EXISTS main.{name};"))?;
        }
        // SQLite looks up what a view needs whenever it is used: one that needed our tables cannot be used now.
        let left = views(&transaction)?;
        depends.extend(whole.into_iter().filter(|view| !left.contains(view)));
    }
    if depends.is_empty() {
        begin(&transaction, marker)?;
        transaction.commit()?;
    }
    Ok(depends)
}

/// The names of triggers on our tables, which would go with them, and of other tables whose foreign keys need ours.
fn depends(sqlite: &rusqlite::Connection) -> rusqlite::Result<Vec<String>> {
    let ours: Vec<String> = schema::names().map(|name| format!("'{name}'")).collect();
    let ours = ours.join(", ");
    let sql = format!(
        "SELECT name FROM main.sqlite_schema WHERE type = 'trigger' AND lower(tbl_name) IN ({ours}) \
         UNION SELECT t.name FROM main.sqlite_schema AS t, pragma_foreign_key_list(t.name, 'main') AS f \
         WHERE t.type = 'table' AND lower(f.\"table\") IN ({ours}) AND lower(t.name) NOT IN ({ours}) ORDER BY 1"
    );
    sqlite.prepare(&sql)?.query_map([], |row| row.get(0))?.collect()
}

/// The names of the views that can be used.
fn views(sqlite: &rusqlite::Connection) -> rusqlite::Result<Vec<String>> {
    let mut names = sqlite.prepare("SELECT name FROM main.sqlite_schema WHERE type = 'view' ORDER BY 1")?;
    let names = names.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<Vec<String>>>()?;
    let usable = names.into_iter().filter(|name| {
        let quoted = name.replace('"', "\"\"");
        sqlite.prepare(&format!("SELECT * FROM main.\"{quoted}\"")).is_ok()
    });
    Ok(usable.collect())
}

/// What follows the last part: indexes, statistics for the choice of plans, and the marker.
fn finish(connection: &Connection) -> Result<(), Trouble> {
    make_indexes(&connection.sqlite).map_err(|why| connection.trouble(&why))
}

fn make_indexes(sqlite: &rusqlite::Connection) -> rusqlite::Result<()> {
    let transaction = sqlite.unchecked_transaction()?;
    for index in Table::ALL.into_iter().filter_map(schema::index) {
        transaction.execute_batch(&index)?;
    }
    transaction.execute_batch("ANALYZE; UPDATE main.assay_tpcc SET complete = 1;")?;
    transaction.commit()
}

/// The parts of a population that are not loaded, as tasks, and about how many rows the others have.
fn parts_to_load(connection: &Connection, population: Population) -> Result<Work<LoadPart>, Trouble> {
    Ok(parts_left(population, &parts(connection)?))
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
        let mut rows = Vec::with_capacity(part.weight(self.population.scale()) as usize);
        let put = &mut |row| {
            rows.push(row);
            Ok::<(), std::convert::Infallible>(())
        };
        self.population.rows(*part, put).unwrap_or_else(|never| match never {});
        let _alone = locked(self.writing);
        write(&self.connection.sqlite, *part, &rows).map_err(|why| self.connection.trouble(&why))
    }
}

/// The names of the parts that are loaded.
fn parts(connection: &Connection) -> Result<BTreeSet<String>, Trouble> {
    names_of_parts(&connection.sqlite).map_err(|why| connection.trouble(&why))
}

fn names_of_parts(sqlite: &rusqlite::Connection) -> rusqlite::Result<BTreeSet<String>> {
    sqlite.prepare("SELECT name FROM main.assay_parts")?.query_map([], |row| row.get(0))?.collect()
}

fn write(sqlite: &rusqlite::Connection, part: LoadPart, rows: &[Row]) -> rusqlite::Result<()> {
    let transaction = sqlite.unchecked_transaction()?;
    transaction.execute("INSERT INTO main.assay_parts VALUES (?)", [part.name()])?;
    for row in rows {
        insert(&transaction, row)?;
    }
    transaction.commit()
}

fn insert(sqlite: &rusqlite::Connection, row: &Row) -> rusqlite::Result<()> {
    let mut statement = sqlite.prepare_cached(insert_of(row.table()))?;
    let (mut at, mut bound) = (0, Ok(()));
    row.values(&mut |value| {
        at += 1;
        if bound.is_ok() {
            bound = statement.raw_bind_parameter(at, output(value));
        }
    });
    bound?;
    statement.raw_execute().map(drop)
}

fn output(value: Value<'_>) -> ToSqlOutput<'_> {
    ToSqlOutput::Borrowed(match value {
        Value::Null => rusqlite::types::ValueRef::Null,
        Value::Integer(number) => rusqlite::types::ValueRef::Integer(number),
        Value::Text(text) => rusqlite::types::ValueRef::Text(text.as_bytes()),
    })
}

/// The statement for a row, made once for each table.
fn insert_of(table: Table) -> &'static str {
    static STATEMENTS: std::sync::OnceLock<Vec<String>> = std::sync::OnceLock::new();
    &STATEMENTS.get_or_init(|| Table::ALL.map(schema::insert).into())[table as usize]
}
