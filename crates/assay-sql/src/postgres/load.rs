//! Loads the population, part by part. A part is committed together with its line in `assay_parts`, so that a load that
//! was interrupted goes on with the parts that are missing. Keys and indexes follow when all rows are there, because a
//! finished table is sorted once.

use super::connection::{Connection, read_marker};
use super::copy::Copied;
use super::definitions;
use super::functions;
use super::gate::{Permit, SchemaContent};
use super::link::{Failed, Link};
use super::schema::{self, text_literal};
use crate::loaders::{LoadTasks, Loader, Progress, Task, Watch, parts_left};
use crate::marker::{Columns, Marker};
use crate::trouble::Trouble;
use crate::url::PostgresUrl;
use assay_model::tpcc::{LoadPart, Population, Table};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

/// The settings of a load: where and how a population is loaded.
#[derive(Clone, Debug)]
pub struct Loading {
    /// The database that is loaded.
    pub url: PostgresUrl,
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
        SchemaContent::Nothing => begin_load(&mut connection, &fresh, true)?,
        SchemaContent::Blank => begin_load(&mut connection, &fresh, false)?,
        SchemaContent::Marked => {}
    }
    let mut there = read_marker(&mut connection)?;
    let mut found = definitions::FoundObjects::read_relations(&mut connection)?;
    found.refuse_foreign(&connection)?;
    if loading.clear {
        clear_load(&mut connection, &fresh)?;
        there = read_marker(&mut connection)?;
        found = definitions::FoundObjects::read_relations(&mut connection)?;
    }
    there.check_loadable(loading.population, &connection.display_name())?;
    definitions::check_loadable(&connection, &found, there.complete)?;
    if there.complete {
        functions::renew_functions(&mut connection)?;
        return Ok(there);
    }
    let loaders = Loaders { permit: &permit, loading };
    if loaders.load_all(&mut connection, watch)?.is_continue() {
        permit.has_held()?;
        functions::renew_functions(&mut connection)?;
        connection.ask_server("UPDATE @assay_tpcc SET complete = 1")?;
    }
    read_marker(&mut connection)
}

/// Makes the tables, and the marker of a load that begins, so that the schema is ours as soon as it holds anything.
fn begin_load(connection: &mut Connection, marker: &Marker, with_schema: bool) -> Result<(), Trouble> {
    let create = with_schema.then(|| format!("CREATE SCHEMA \"{}\"", connection.schema_name()));
    let tables = create_statements(connection, marker);
    connection.in_transaction(|link| {
        create.iter().try_for_each(|sql| link.run_statements(sql))?;
        link.run_statements(&tables)
    })
}

/// The statements that make the tables and the marker.
fn create_statements(connection: &Connection, marker: &Marker) -> String {
    let prefix = connection.table_prefix();
    let mut sql = connection.expand_names(schema::OURS);
    Table::ALL.into_iter().for_each(|table| sql += &schema::table_definition(&prefix, table));
    let Columns { version, run, warehouses, seed, c_load, items, customers, complete } = marker.to_columns();
    let (run, seed) = (text_literal(&run), text_literal(&seed));
    let numbers = format!("{c_load}, {items}, {customers}, {complete}");
    sql + &format!("INSERT INTO {prefix}assay_tpcc VALUES ({version}, {run}, {warehouses}, {seed}, {numbers})")
}

/// Deletes what a load made, by name, and begins anew, in one transaction. What depends on it keeps it from that.
fn clear_load(connection: &mut Connection, marker: &Marker) -> Result<(), Trouble> {
    let prefix = connection.table_prefix();
    let mut drops = functions::drop_statements(&prefix);
    schema::table_names().for_each(|name| drops += &format!("DROP TABLE IF EXISTS {prefix}{name} RESTRICT;"));
    let tables = create_statements(connection, marker);
    connection.in_transaction(|link| link.run_statements(&drops).and_then(|()| link.run_statements(&tables)))
}

/// The connections and settings of a load.
struct Loaders<'a> {
    permit: &'a Arc<Permit>,
    loading: &'a Loading,
}

impl Loaders<'_> {
    /// Loads the parts that are missing, makes the keys and indexes that are missing, and gathers statistics for the
    /// choice of plans.
    fn load_all(&self, connection: &mut Connection, watch: Watch<'_>) -> Result<ControlFlow<()>, Trouble> {
        let there = query_names(connection, "SELECT name FROM @assay_parts")?;
        let parts = parts_left(self.loading.population, &there);
        let senders = self.open_connections()?.into_iter();
        let senders = senders.map(|connection| Sender { connection, population: self.loading.population }).collect();
        if parts.carry_out_all(senders, watch)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
        let sql = format!(
            "SELECT relname FROM pg_class WHERE relkind = 'i' AND relnamespace = {}::regnamespace",
            text_literal(&format!("\"{}\"", connection.schema_name()))
        );
        let there = query_names(connection, &sql)?;
        let prefix = connection.table_prefix();
        let missing =
            schema::key_definitions(&prefix).into_iter().filter(|(name, _)| !there.contains(name)).map(|(_, sql)| sql);
        if self.run_statements(missing, parts.progress_so_far(), watch)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
        let analyze = Table::ALL.into_iter().map(|table| format!("ANALYZE {prefix}{}", table.table_name()));
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
}

impl Loader<LoadPart> for Sender {
    fn carry_out(&mut self, part: &LoadPart) -> Result<(), Trouble> {
        let mut rows = Copied::default();
        let put = &mut |row| {
            rows.add_row(&row);
            Ok::<(), std::convert::Infallible>(())
        };
        self.population.put_rows(*part, put).unwrap_or_else(|never| match never {});
        self.connection.has_held()?;
        let prefix = self.connection.table_prefix();
        self.connection.in_transaction(|link| send_part(link, &prefix, *part, rows))
    }
}

/// Sends a part, unless a load whose end was not noticed has committed it meanwhile.
fn send_part(link: &mut Link, prefix: &str, part: LoadPart, rows: Copied) -> Result<(), Failed> {
    let name = text_literal(&part.part_name());
    let answers =
        link.query_text(&format!("INSERT INTO {prefix}assay_parts VALUES ({name}) ON CONFLICT DO NOTHING"))?;
    if answers.iter().all(|answer| answer.changed_rows() == 0) {
        return Ok(());
    }
    rows.into_tables().try_for_each(|(table, rows)| {
        let columns: Vec<&str> = table.all_columns().iter().map(|column| column.name).collect();
        let (name, columns) = (table.table_name(), columns.join(", "));
        link.copy_rows(&format!("COPY {prefix}{name} ({columns}) FROM STDIN (FORMAT binary)"), &rows)
    })
}
