//! Loads the population, part by part. A part is committed together with its line in `assay_parts`, so that a load that
//! was interrupted goes on with the parts that are missing. Second indexes follow when all rows are there, because an
//! index over a finished table is sorted once.
//!
//! A definition commits itself: the marker is the first table, and `--clear` takes the mark of a whole load away before it
//! drops anything. A load that was killed behind its marker leaves names free that somebody else may use: see
//! `definitions`.

use super::connection::{Connection, marker};
use super::definitions::{self, Tables};
use super::failed::Failed;
use super::gate::{Found, Permit};
use super::link::Link;
use super::routines;
use super::rows::{Lines, tuple};
use super::schema::{self, literal};
use crate::loaders::{Loader, Progress, Task, Watch, Work, parts_left};
use crate::marker::{Columns, Marker};
use crate::trouble::Trouble;
use crate::url::MysqlUrl;
use assay_model::tpcc::{LoadPart, Population, Table};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

/// The settings of a load: where and how a population is loaded.
#[derive(Clone, Debug)]
pub struct Loading {
    /// The database that is loaded.
    pub url: MysqlUrl,
    /// The population that is loaded.
    pub population: Population,
    /// The name of this load; a load that goes on keeps the name it began with.
    pub run: String,
    /// How many threads make rows and send them, each over a connection of its own.
    pub loaders: usize,
    /// Whether what an earlier load left is deleted first.
    pub clear: bool,
}

/// Loads what is missing and returns the marker, which is not complete if `watch` ended the load.
pub fn load(loading: &Loading, watch: Watch<'_>) -> Result<Marker, Trouble> {
    let permit = Arc::new(Permit::to_load(&loading.url)?);
    let mut connection = Connection::open(&permit, &loading.url)?;
    let fresh = Marker::new(&loading.run, loading.population);
    match permit.found() {
        Found::Nothing => begin(&mut connection, &fresh, true)?,
        Found::Blank => begin(&mut connection, &fresh, false)?,
        Found::Marked => {}
    }
    let mut there = marker(&mut connection)?;
    if loading.clear {
        clear(&mut connection, &fresh)?;
        there = marker(&mut connection)?;
    }
    there.takes(loading.population, &connection.shown())?;
    if there.complete {
        // Whatever is missing, the load goes on only with --clear.
        definitions::usable(&mut connection).map_err(Trouble::refused)?;
        routines::renew(&mut connection)?;
        return Ok(there);
    }
    make_tables(&mut connection, loading.clear)?;
    let loaders = Loaders { permit: &permit, loading };
    if loaders.all(&mut connection, watch)?.is_continue() {
        permit.has_held()?;
        routines::renew(&mut connection)?;
        connection.ask("UPDATE @assay_tpcc SET complete = 1")?;
    }
    marker(&mut connection)
}

/// Makes the marker of a load that begins, so that the database is ours as soon as it holds anything.
fn begin(connection: &mut Connection, marker: &Marker, with_database: bool) -> Result<(), Trouble> {
    if with_database {
        let database = connection.database().to_owned();
        connection.ask(&format!("CREATE DATABASE `{database}` CHARACTER SET ascii COLLATE ascii_bin"))?;
    }
    let tables = Tables::read(connection)?;
    definitions::refused(connection, &tables.foreign(false))?;
    if !tables.has("assay_tpcc") {
        let sql = schema::marker(&connection.prefix());
        make(connection, "assay_tpcc", &sql)?;
    }
    let Columns { version, run, warehouses, seed, c_load, items, customers, complete } = marker.columns();
    let (run, seed) = (literal(&run), literal(&seed));
    let numbers = format!("{c_load}, {items}, {customers}, {complete}");
    let sql = format!("INSERT INTO @assay_tpcc VALUES ({version}, {run}, {warehouses}, {seed}, {numbers})");
    connection.ask(&sql).map(drop)
}

/// Makes the tables that are missing. As long as no part is loaded, nothing else may be in the database, and no row in a
/// table of ours; after `--clear` other tables may stay beside ours.
fn make_tables(connection: &mut Connection, has_cleared: bool) -> Result<(), Trouble> {
    let tables = Tables::read(connection)?;
    definitions::refused(connection, &tables.foreign(false))?;
    let has_parts = tables.has("assay_parts") && !names(connection, "SELECT name FROM @assay_parts")?.is_empty();
    if !has_parts {
        definitions::refused(connection, &tables.foreign(!has_cleared))?;
        let filled = tables.filled(connection)?;
        definitions::refused(connection, &filled)?;
    }
    let prefix = connection.prefix();
    let all = Table::ALL.into_iter().map(|table| (table.name(), schema::table(&prefix, table)));
    let all = std::iter::once(("assay_parts", schema::parts(&prefix))).chain(all);
    all.filter(|(name, _)| !tables.has(name)).try_for_each(|(name, sql)| make(connection, name, &sql))
}

/// Makes a table that is not there. Whoever makes one of its name at this moment keeps it.
fn make(connection: &mut Connection, name: &str, sql: &str) -> Result<(), Trouble> {
    match connection.link.run(sql) {
        Err(why) if why.code() == TABLE_EXISTS => definitions::refused(connection, &[name]),
        made => made.map_err(|why| connection.trouble(&why)),
    }
}

/// The error of a definition whose table is there.
const TABLE_EXISTS: u16 = 1050;

/// Deletes what a load made, by name, and begins anew. What depends on it keeps it from that.
fn clear(connection: &mut Connection, marker: &Marker) -> Result<(), Trouble> {
    let tables = Tables::read(connection)?;
    definitions::refused(connection, &tables.with_other_columns())?;
    let depends = depends(connection)?;
    if !depends.is_empty() {
        return Err(Trouble::refused(format!(
            "{}: something that is not ours depends on it, and is left as it is: remove it first ({})",
            connection.shown(),
            depends.join(", ")
        )));
    }
    let prefix = connection.prefix();
    // Each DROP commits itself. From here on only another --clear goes on, whatever happens next.
    connection.ask("UPDATE @assay_tpcc SET complete = 0, version = 0")?;
    for sql in routines::drops(&prefix) {
        connection.ask(&sql)?;
    }
    for name in schema::names() {
        connection.ask(&format!("DROP TABLE IF EXISTS @{name}"))?;
    }
    begin(connection, marker, false)
}

/// The names of views, triggers and foreign keys that need our tables, as far as the user may see them: the server would
/// drop a table in spite of most of them.
fn depends(connection: &mut Connection) -> Result<Vec<String>, Trouble> {
    let here = format!("= BINARY {}", literal(connection.database()));
    let ours: Vec<String> = schema::names().map(literal).collect();
    let ours = format!("IN ({})", ours.join(", "));
    let in_views: Vec<String> = schema::names()
        .map(|name| {
            format!("locate({}, view_definition) > 0", literal(&format!("`{}`.`{name}`", connection.database())))
        })
        .collect();
    let sql = format!(
        "SELECT concat(table_schema, '.', table_name) FROM information_schema.views WHERE {} \
         UNION SELECT concat(trigger_schema, '.', trigger_name) FROM information_schema.triggers \
         WHERE event_object_schema {here} AND event_object_table {ours} \
         UNION SELECT concat(constraint_schema, '.', constraint_name) FROM information_schema.key_column_usage \
         WHERE referenced_table_schema {here} AND referenced_table_name {ours}",
        in_views.join(" OR ")
    );
    names(connection, &sql).map(|names| names.into_iter().collect())
}

/// The connections and settings of a load.
struct Loaders<'a> {
    permit: &'a Arc<Permit>,
    loading: &'a Loading,
}

impl Loaders<'_> {
    /// Loads the parts that are missing, makes the indexes that are missing, and gathers statistics for the choice of
    /// plans.
    fn all(&self, connection: &mut Connection, watch: Watch<'_>) -> Result<ControlFlow<()>, Trouble> {
        let there = names(connection, "SELECT name FROM @assay_parts")?;
        let parts = parts_left(self.loading.population, &there);
        let from_memory = connection.settings().value("local_infile") == "ON";
        let senders = self.connections()?.into_iter();
        let senders =
            senders.map(|connection| Sender { connection, population: self.loading.population, from_memory }).collect();
        if parts.all(senders, watch)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
        let sql = format!(
            "SELECT DISTINCT index_name FROM information_schema.statistics WHERE table_schema = BINARY {}",
            literal(connection.database())
        );
        let there = names(connection, &sql)?;
        let prefix = connection.prefix();
        let missing = schema::indexes(&prefix).into_iter().filter(|(name, _)| !there.contains(name));
        if self.statements(missing.map(|(_, sql)| sql), parts.progress(), watch)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
        let analyze = Table::ALL.into_iter().map(|table| format!("ANALYZE TABLE {prefix}{}", table.name()));
        self.statements(analyze, parts.progress(), watch)
    }

    fn connections(&self) -> Result<Vec<Connection>, Trouble> {
        (0..self.loading.loaders.max(1)).map(|_| Connection::open(self.permit, &self.loading.url)).collect()
    }

    /// Carries out statements, several at a time.
    fn statements(
        &self,
        sql: impl Iterator<Item = String>,
        progress: Progress,
        watch: Watch<'_>,
    ) -> Result<ControlFlow<()>, Trouble> {
        let tasks = sql.map(|what| Task { what, rows: 0 }).collect();
        let work = Work::new(tasks, 0).with_progress(progress);
        work.all(self.connections()?.into_iter().map(Statements).collect(), watch)
    }
}

/// The names that a query answers.
fn names(connection: &mut Connection, sql: &str) -> Result<BTreeSet<String>, Trouble> {
    let answers = connection.ask(sql)?;
    let rows = answers.iter().flat_map(|answer| &answer.rows);
    Ok(rows.filter_map(|row| row.text(0).ok().map(str::to_owned)).collect())
}

/// Carries out whole statements.
struct Statements(Connection);

impl Loader<String> for Statements {
    fn carry_out(&mut self, sql: &String) -> Result<(), Trouble> {
        self.0.link.run(sql).map_err(|why| self.0.trouble(&why))
    }
}

/// Makes rows and sends them.
struct Sender {
    connection: Connection,
    population: Population,
    /// Whether the server reads files that clients send.
    from_memory: bool,
}

impl Loader<LoadPart> for Sender {
    fn carry_out(&mut self, part: &LoadPart) -> Result<(), Trouble> {
        let mut rows = Lines::default();
        let put = &mut |row| {
            rows.add(&row);
            Ok::<(), std::convert::Infallible>(())
        };
        self.population.rows(*part, put).unwrap_or_else(|never| match never {});
        self.connection.has_held()?;
        let prefix = self.connection.prefix();
        let name = part.name();
        let from_memory = self.from_memory;
        self.connection.transaction(|link| {
            // A load whose end was not noticed may have committed the part meanwhile.
            let noted = link.simple(&format!("INSERT IGNORE INTO {prefix}assay_parts VALUES ({})", literal(&name)))?;
            if noted.iter().all(|answer| answer.changed == 0) {
                return Ok(());
            }
            rows.tables().try_for_each(|(table, lines)| {
                if from_memory {
                    send(link, &prefix, table, &name, &lines)
                } else {
                    insert(link, &prefix, table, &lines)
                }
            })
        })
    }
}

fn columns(table: Table) -> String {
    table.columns().iter().map(|column| column.name).collect::<Vec<_>>().join(", ")
}

/// Sends rows as a file, which the server asks for by a name that we made up.
fn send(link: &mut Link, prefix: &str, table: Table, part: &str, lines: &str) -> Result<(), Failed> {
    let file = format!("assay: {} of {part}", table.name());
    let sql = format!(
        "LOAD DATA LOCAL INFILE {} INTO TABLE {prefix}{} CHARACTER SET ascii FIELDS TERMINATED BY '\\t' \
         ESCAPED BY '\\\\' LINES TERMINATED BY '\\n' ({})",
        literal(&file),
        table.name(),
        columns(table)
    );
    link.run_with(&sql, &file, lines.as_bytes())
}

/// The most bytes of rows in one INSERT: less than any server takes unless it is told otherwise.
const INSERT_MOST: usize = 512 << 10;

/// Sends rows in statements, where the server takes no files.
fn insert(link: &mut Link, prefix: &str, table: Table, lines: &str) -> Result<(), Failed> {
    let begin = format!("INSERT INTO {prefix}{} ({}) VALUES ", table.name(), columns(table));
    let mut sql = String::new();
    for line in lines.lines() {
        sql += if sql.is_empty() { &begin } else { ", " };
        sql += &tuple(line);
        if sql.len() > INSERT_MOST {
            link.run(&sql)?;
            sql.clear();
        }
    }
    if sql.is_empty() { Ok(()) } else { link.run(&sql) }
}
