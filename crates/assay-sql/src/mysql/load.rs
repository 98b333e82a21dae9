//! Loads the population, part by part. A part is committed together with its line in `assay_parts`, so that a load that
//! was interrupted goes on with the parts that are missing. Second indexes follow when all rows are there, because an
//! index over a finished table is sorted once.
//!
//! A definition commits itself: the marker is the first table, and `--clear` takes the mark of a whole load away before it
//! drops anything. A load that was killed behind its marker leaves names free that somebody else may use: see
//! `definitions`.

use super::connection::{Connection, read_marker};
use super::definitions::{self, Tables};
use super::failed::Failed;
use super::gate::{DatabaseContent, Permit};
use super::link::Link;
use super::routines;
use super::rows::{TableLines, insert_tuple};
use super::schema::{self, text_literal};
use crate::loaders::{LoadTasks, Loader, Progress, Task, Watch, parts_left};
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
pub fn load_missing(loading: &Loading, watch: Watch<'_>) -> Result<Marker, Trouble> {
    let permit = Arc::new(Permit::to_load(&loading.url)?);
    let mut connection = Connection::open_permitted(&permit, &loading.url)?;
    let fresh = Marker::new(&loading.run, loading.population);
    match permit.found_content() {
        DatabaseContent::Nothing => begin_load(&mut connection, &fresh, true)?,
        DatabaseContent::Blank => begin_load(&mut connection, &fresh, false)?,
        DatabaseContent::Marked => {}
    }
    let mut there = read_marker(&mut connection)?;
    if loading.clear {
        clear_load(&mut connection, &fresh)?;
        there = read_marker(&mut connection)?;
    }
    there.check_loadable(loading.population, &connection.display_name())?;
    if there.complete {
        // Whatever is missing, the load goes on only with --clear.
        definitions::check_usable(&mut connection).map_err(Trouble::refused_for_safety)?;
        routines::renew_procedures(&mut connection)?;
        return Ok(there);
    }
    make_tables(&mut connection, loading.clear)?;
    let loaders = Loaders { permit: &permit, loading };
    if loaders.load_all(&mut connection, watch)?.is_continue() {
        permit.has_held()?;
        routines::renew_procedures(&mut connection)?;
        connection.ask_server("UPDATE @assay_tpcc SET complete = 1")?;
    }
    read_marker(&mut connection)
}

/// Makes the marker of a load that begins, so that the database is ours as soon as it holds anything.
fn begin_load(connection: &mut Connection, marker: &Marker, with_database: bool) -> Result<(), Trouble> {
    if with_database {
        let database = connection.database_name().to_owned();
        connection.ask_server(&format!("CREATE DATABASE `{database}` CHARACTER SET ascii COLLATE ascii_bin"))?;
    }
    let tables = Tables::read_tables(connection)?;
    definitions::refuse_objects(connection, &tables.foreign_tables(false))?;
    if !tables.has_table("assay_tpcc") {
        let sql = schema::marker_definition(&connection.table_prefix());
        make_table(connection, "assay_tpcc", &sql)?;
    }
    let Columns { version, run, warehouses, seed, c_load, items, customers, complete } = marker.to_columns();
    let (run, seed) = (text_literal(&run), text_literal(&seed));
    let numbers = format!("{c_load}, {items}, {customers}, {complete}");
    let sql = format!("INSERT INTO @assay_tpcc VALUES ({version}, {run}, {warehouses}, {seed}, {numbers})");
    connection.ask_server(&sql).map(drop)
}

/// Makes the tables that are missing. As long as no part is loaded, nothing else may be in the database, and no row in a
/// table of ours; after `--clear` other tables may stay beside ours.
fn make_tables(connection: &mut Connection, has_cleared: bool) -> Result<(), Trouble> {
    let tables = Tables::read_tables(connection)?;
    definitions::refuse_objects(connection, &tables.foreign_tables(false))?;
    let has_parts =
        tables.has_table("assay_parts") && !query_names(connection, "SELECT name FROM @assay_parts")?.is_empty();
    if !has_parts {
        definitions::refuse_objects(connection, &tables.foreign_tables(!has_cleared))?;
        let filled = tables.filled_tables(connection)?;
        definitions::refuse_objects(connection, &filled)?;
    }
    let prefix = connection.table_prefix();
    let all = Table::ALL.into_iter().map(|table| (table.table_name(), schema::table_definition(&prefix, table)));
    let all = std::iter::once(("assay_parts", schema::parts_definition(&prefix))).chain(all);
    all.filter(|(name, _)| !tables.has_table(name)).try_for_each(|(name, sql)| make_table(connection, name, &sql))
}

/// Makes a table that is not there. Whoever makes one of its name at this moment keeps it.
fn make_table(connection: &mut Connection, name: &str, sql: &str) -> Result<(), Trouble> {
    match connection.link.run_statements(sql) {
        Err(why) if why.error_code() == TABLE_EXISTS => definitions::refuse_objects(connection, &[name]),
        made => made.map_err(|why| connection.to_trouble(&why)),
    }
}

/// The error of a definition whose table is there.
const TABLE_EXISTS: u16 = 1050;

/// Deletes what a load made, by name, and begins anew. What depends on it keeps it from that.
fn clear_load(connection: &mut Connection, marker: &Marker) -> Result<(), Trouble> {
    let tables = Tables::read_tables(connection)?;
    definitions::refuse_objects(connection, &tables.with_other_columns())?;
    let depends = dependent_names(connection)?;
    if !depends.is_empty() {
        return Err(Trouble::refused_for_safety(format!(
            "{}: something that is not ours depends on it, and is left as it is: remove it first ({})",
            connection.display_name(),
            depends.join(", ")
        )));
    }
    let prefix = connection.table_prefix();
    // Each DROP commits itself. From here on only another --clear goes on, whatever happens next.
    connection.ask_server("UPDATE @assay_tpcc SET complete = 0, version = 0")?;
    for sql in routines::drop_statements(&prefix) {
        connection.ask_server(&sql)?;
    }
    for name in schema::table_names() {
        connection.ask_server(&format!("DROP TABLE IF EXISTS @{name}"))?;
    }
    begin_load(connection, marker, false)
}

/// The names of views, triggers and foreign keys that need our tables, as far as the user may see them: the server would
/// drop a table in spite of most of them.
fn dependent_names(connection: &mut Connection) -> Result<Vec<String>, Trouble> {
    let here = format!("= BINARY {}", text_literal(connection.database_name()));
    let ours: Vec<String> = schema::table_names().map(text_literal).collect();
    let ours = format!("IN ({})", ours.join(", "));
    let in_views: Vec<String> = schema::table_names()
        .map(|name| {
            format!(
                "locate({}, view_definition) > 0",
                text_literal(&format!("`{}`.`{name}`", connection.database_name()))
            )
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
    query_names(connection, &sql).map(|names| names.into_iter().collect())
}

/// The connections and settings of a load.
struct Loaders<'a> {
    permit: &'a Arc<Permit>,
    loading: &'a Loading,
}

impl Loaders<'_> {
    /// Loads the parts that are missing, makes the indexes that are missing, and gathers statistics for the choice of
    /// plans.
    fn load_all(&self, connection: &mut Connection, watch: Watch<'_>) -> Result<ControlFlow<()>, Trouble> {
        let there = query_names(connection, "SELECT name FROM @assay_parts")?;
        let parts = parts_left(self.loading.population, &there);
        let from_memory = connection.session_settings().setting_value("local_infile") == "ON";
        let senders = self.open_connections()?.into_iter();
        let senders =
            senders.map(|connection| Sender { connection, population: self.loading.population, from_memory }).collect();
        if parts.carry_out_all(senders, watch)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
        let sql = format!(
            "SELECT DISTINCT index_name FROM information_schema.statistics WHERE table_schema = BINARY {}",
            text_literal(connection.database_name())
        );
        let there = query_names(connection, &sql)?;
        let prefix = connection.table_prefix();
        let missing = schema::index_definitions(&prefix).into_iter().filter(|(name, _)| !there.contains(name));
        if self.run_statements(missing.map(|(_, sql)| sql), parts.progress_so_far(), watch)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
        let analyze = Table::ALL.into_iter().map(|table| format!("ANALYZE TABLE {prefix}{}", table.table_name()));
        self.run_statements(analyze, parts.progress_so_far(), watch)
    }

    fn open_connections(&self) -> Result<Vec<Connection>, Trouble> {
        (0..self.loading.loaders.max(1)).map(|_| Connection::open_permitted(self.permit, &self.loading.url)).collect()
    }

    /// Carries out statements, several at a time.
    fn run_statements(
        &self,
        sql: impl Iterator<Item = String>,
        progress: Progress,
        watch: Watch<'_>,
    ) -> Result<ControlFlow<()>, Trouble> {
        let tasks = sql.map(|what| Task { what, rows: 0 }).collect();
        let work = LoadTasks::new(tasks, 0).with_progress(progress);
        work.carry_out_all(self.open_connections()?.into_iter().map(Statements).collect(), watch)
    }
}

/// The names that a query answers.
fn query_names(connection: &mut Connection, sql: &str) -> Result<BTreeSet<String>, Trouble> {
    let answers = connection.ask_server(sql)?;
    let rows = answers.iter().flat_map(|answer| &answer.rows);
    Ok(rows.filter_map(|row| row.text_at(0).ok().map(str::to_owned)).collect())
}

/// Carries out whole statements.
struct Statements(Connection);

impl Loader<String> for Statements {
    fn carry_out(&mut self, sql: &String) -> Result<(), Trouble> {
        self.0.link.run_statements(sql).map_err(|why| self.0.to_trouble(&why))
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
        let mut rows = TableLines::default();
        let put = &mut |row| {
            rows.add_row(&row);
            Ok::<(), std::convert::Infallible>(())
        };
        self.population.put_rows(*part, put).unwrap_or_else(|never| match never {});
        self.connection.has_held()?;
        let prefix = self.connection.table_prefix();
        let name = part.part_name();
        let from_memory = self.from_memory;
        self.connection.in_transaction(|link| {
            // A load whose end was not noticed may have committed the part meanwhile.
            let noted =
                link.query_text(&format!("INSERT IGNORE INTO {prefix}assay_parts VALUES ({})", text_literal(&name)))?;
            if noted.iter().all(|answer| answer.changed == 0) {
                return Ok(());
            }
            rows.into_tables().try_for_each(|(table, lines)| {
                if from_memory {
                    send_rows(link, &prefix, table, &name, &lines)
                } else {
                    insert_rows(link, &prefix, table, &lines)
                }
            })
        })
    }
}

fn column_list(table: Table) -> String {
    table.all_columns().iter().map(|column| column.name).collect::<Vec<_>>().join(", ")
}

/// Sends rows as a file, which the server asks for by a name that we made up.
fn send_rows(link: &mut Link, prefix: &str, table: Table, part: &str, lines: &str) -> Result<(), Failed> {
    let file = format!("assay: {} of {part}", table.table_name());
    let sql = format!(
        "LOAD DATA LOCAL INFILE {} INTO TABLE {prefix}{} CHARACTER SET ascii FIELDS TERMINATED BY '\\t' \
         ESCAPED BY '\\\\' LINES TERMINATED BY '\\n' ({})",
        text_literal(&file),
        table.table_name(),
        column_list(table)
    );
    link.run_with(&sql, &file, lines.as_bytes())
}

/// The most bytes of rows in one INSERT: less than any server takes unless it is told otherwise.
const INSERT_MOST: usize = 512 << 10;

/// Sends rows in statements, where the server takes no files.
fn insert_rows(link: &mut Link, prefix: &str, table: Table, lines: &str) -> Result<(), Failed> {
    let begin = format!("INSERT INTO {prefix}{} ({}) VALUES ", table.table_name(), column_list(table));
    let mut sql = String::new();
    for line in lines.lines() {
        sql += if sql.is_empty() { &begin } else { ", " };
        sql += &insert_tuple(line);
        if sql.len() > INSERT_MOST {
            link.run_statements(&sql)?;
            sql.clear();
        }
    }
    if sql.is_empty() { Ok(()) } else { link.run_statements(&sql) }
}
