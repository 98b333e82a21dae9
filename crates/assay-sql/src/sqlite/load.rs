//! Loads the population, part by part. A part is committed together with its line in `assay_parts`, so that a load that
//! was interrupted goes on with the parts that are missing.

use super::connection::{Connection, begin, image, marker};
use super::gate::Permit;
use super::schema;
use crate::marker::Marker;
use crate::threads::builder;
use crate::trouble::Trouble;
use crate::url::SqliteUrl;
use assay_model::tpcc::rows::Row;
use assay_model::tpcc::{LoadPart, Population, Table, Value};
use rusqlite::types::ToSqlOutput;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::ScopedJoinHandle;
use std::time::Duration;

/// What is to be loaded.
#[derive(Clone, Debug)]
pub struct Loading {
    /// Where.
    pub url: SqliteUrl,
    /// What.
    pub population: Population,
    /// The name of this load; a load that goes on keeps the name it began with.
    pub run: String,
    /// How many threads make rows. One of them writes at a time, because SQLite has one writer.
    pub loaders: usize,
    /// Whether what an earlier load left is deleted first.
    pub clear: bool,
}

/// How far a load is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// About how many rows are loaded, those of an earlier, interrupted load included.
    pub done: u64,
    /// About how many rows there will be.
    pub of: u64,
    /// About how many of them this load found.
    pub found: u64,
}

/// Asked how a load goes on; called by the thread that called [`load`], after each part and several times a second.
pub type Watch<'a> = &'a mut dyn FnMut(Progress) -> ControlFlow<()>;

/// How often a load is watched when no part ends meanwhile.
const TICK: Duration = Duration::from_millis(200);

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
        clear(&mut connection, &Marker::new(&loading.run, loading.population))?;
        there = marker(&connection)?;
    }
    there.takes(loading.population, &connection.shown())?;
    if there.complete {
        return Ok(there);
    }
    let work = Work::new(&connection, loading, &permit)?;
    if work.all(watch)?.is_continue() {
        finish(&connection)?;
    }
    marker(&connection)
}

/// Deletes what a load made, by name, and begins anew, in one transaction.
fn clear(connection: &mut Connection, marker: &Marker) -> Result<(), Trouble> {
    let cleared = || -> rusqlite::Result<()> {
        let transaction = connection.sqlite.unchecked_transaction()?;
        for name in schema::names() {
            transaction.execute_batch(&format!("DROP TABLE IF EXISTS main.{name};"))?;
        }
        begin(&transaction, marker)?;
        transaction.commit()
    };
    cleared().map_err(|why| connection.trouble(&why))
}

/// What follows the last part: indexes, statistics for the choice of plans, and the marker.
fn finish(connection: &Connection) -> Result<(), Trouble> {
    let finished = || -> rusqlite::Result<()> {
        let transaction = connection.sqlite.unchecked_transaction()?;
        for index in Table::ALL.into_iter().filter_map(schema::index) {
            transaction.execute_batch(&index)?;
        }
        transaction.execute_batch("ANALYZE; UPDATE main.assay_tpcc SET complete = 1;")?;
        transaction.commit()
    };
    finished().map_err(|why| connection.trouble(&why))
}

/// The parts that are still to be loaded, and who takes which.
struct Work<'a> {
    loading: &'a Loading,
    permit: &'a Arc<Permit>,
    left: Mutex<Left>,
    /// Held while a part is written: waiting for it is shorter than trying again.
    writing: Mutex<()>,
}

struct Left {
    parts: std::vec::IntoIter<LoadPart>,
    progress: Progress,
    /// Set when the load is to end: a loader failed, or the caller wants it.
    ends: bool,
}

/// What is guarded stays whole if its holder panics.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> Work<'a> {
    fn new(connection: &Connection, loading: &'a Loading, permit: &'a Arc<Permit>) -> Result<Work<'a>, Trouble> {
        let loaded = parts(connection)?;
        let population = loading.population;
        let weight = |parts: &[LoadPart]| parts.iter().map(|part| part.weight(population.scale())).sum();
        let (done, left): (Vec<LoadPart>, Vec<LoadPart>) =
            population.parts().partition(|it| loaded.contains(&it.name()));
        let found = weight(&done);
        let progress = Progress { done: found, of: found + weight(&left), found };
        let left = Mutex::new(Left { parts: left.into_iter(), progress, ends: false });
        Ok(Work { loading, permit, left, writing: Mutex::new(()) })
    }

    /// Loads all parts in threads of their own, each with its connection, while this one watches.
    fn all(&self, watch: Watch<'_>) -> Result<ControlFlow<()>, Trouble> {
        let connections = (0..self.loading.loaders.max(1)).map(|_| Connection::open(self.permit, &self.loading.url));
        let connections: Vec<Connection> = connections.collect::<Result<_, _>>()?;
        std::thread::scope(|scope| {
            // Without room for messages: a loader goes on when its last part was noticed.
            let (sender, parts) = sync_channel(0);
            let mut threads = Vec::new();
            for mut connection in connections {
                let sender = sender.clone();
                let body = move || self.loader(&mut connection, &sender);
                let spawned = builder("loader").spawn_scoped(scope, body);
                threads.push(
                    spawned.map_err(|why| self.ended(Trouble::host(format!("no thread can be started: {why}"))))?,
                );
            }
            drop(sender);
            self.watch(&parts, watch);
            // The loaders that still want to say something find nobody, and end.
            drop(parts);
            let join = |thread: ScopedJoinHandle<'_, _>| thread.join().unwrap_or_else(|panic| resume_unwind(panic));
            threads.into_iter().map(join).collect::<Result<Vec<()>, Trouble>>()
        })?;
        Ok(if locked(&self.left).ends { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    /// Asks the caller after each part and each tick, until all loaders have ended.
    fn watch(&self, parts: &Receiver<()>, watch: Watch<'_>) {
        loop {
            let progress = locked(&self.left).progress;
            if watch(progress).is_break() {
                locked(&self.left).ends = true;
            }
            if parts.recv_timeout(TICK) == Err(RecvTimeoutError::Disconnected) {
                return;
            }
        }
    }

    /// Lets all loaders end, because of this.
    fn ended(&self, trouble: Trouble) -> Trouble {
        locked(&self.left).ends = true;
        trouble
    }

    fn loader(&self, connection: &mut Connection, noticed: &SyncSender<()>) -> Result<(), Trouble> {
        while let Some(part) = self.next() {
            self.part(connection, part).map_err(|trouble| self.ended(trouble))?;
            locked(&self.left).progress.done += part.weight(self.loading.population.scale());
            let _ = noticed.send(());
        }
        Ok(())
    }

    fn next(&self) -> Option<LoadPart> {
        let mut left = locked(&self.left);
        if left.ends { None } else { left.parts.next() }
    }

    /// Makes the rows of a part, which other loaders do at the same time, and then writes them.
    fn part(&self, connection: &mut Connection, part: LoadPart) -> Result<(), Trouble> {
        let mut rows = Vec::with_capacity(part.weight(self.loading.population.scale()) as usize);
        let put = &mut |row| {
            rows.push(row);
            Ok::<(), std::convert::Infallible>(())
        };
        self.loading.population.rows(part, put).unwrap_or_else(|never| match never {});
        let _alone = locked(&self.writing);
        write(&connection.sqlite, part, &rows).map_err(|why| connection.trouble(&why))
    }
}

/// The names of the parts that are loaded.
fn parts(connection: &Connection) -> Result<BTreeSet<String>, Trouble> {
    let read = || -> rusqlite::Result<BTreeSet<String>> {
        connection.sqlite.prepare("SELECT name FROM main.assay_parts")?.query_map([], |row| row.get(0))?.collect()
    };
    read().map_err(|why| connection.trouble(&why))
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
