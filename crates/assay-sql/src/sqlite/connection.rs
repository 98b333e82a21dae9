//! One connection to a database that the gate has let through, with its settings made and read back.

use super::definitions::Definitions;
use super::gate::Permit;
use super::schema;
use super::settings::{BUSY, Settings, Wanted};
use crate::fault::Fault;
use crate::marker::{Columns, Marker};
use crate::trouble::Trouble;
use crate::url::SqliteUrl;
use rusqlite::{ErrorCode, OpenFlags};
use std::sync::Arc;

/// More than the statements of the five transactions, so that each is prepared once.
const STATEMENTS: usize = 64;

/// A connection.
#[derive(Debug)]
pub struct Connection {
    // The connection is closed before the permit may end; fields are dropped in this order.
    pub(super) sqlite: rusqlite::Connection,
    pub(super) permit: Arc<Permit>,
    settings: Settings,
}

impl Connection {
    /// Opens the file of a permit with the settings of its URL. SQLite ignores a setting that it does not know or cannot
    /// make, so that each is read back and compared.
    pub fn open(permit: &Arc<Permit>, url: &SqliteUrl) -> Result<Connection, Trouble> {
        Connection::with(permit, Wanted::to_write(url))
    }

    /// Opens the file of a permit for questions after a run, with the settings of its connections.
    pub fn open_to_read(permit: &Arc<Permit>, url: &SqliteUrl) -> Result<Connection, Trouble> {
        Connection::with(permit, Wanted::without_journal(url))
    }

    fn with(permit: &Arc<Permit>, wanted: Wanted) -> Result<Connection, Trouble> {
        let failed = |why: rusqlite::Error| trouble(&permit.shown(), &why);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW
            | OpenFlags::SQLITE_OPEN_EXRESCODE;
        let sqlite = rusqlite::Connection::open_with_flags(permit.path(), flags).map_err(failed)?;
        if !permit.is_still_there() {
            return Err(Trouble::refused(format!("{} was replaced while it was opened: try again", permit.shown())));
        }
        sqlite.set_prepared_statement_cache_capacity(STATEMENTS);
        sqlite.busy_timeout(BUSY).map_err(failed)?;
        let settings = Settings::read(&sqlite, permit.descriptor()).map_err(failed)?;
        let mut connection = Connection { sqlite, permit: Arc::clone(permit), settings };
        // A setting can be written into the file: what no load has made is refused before.
        marker(&connection)?;
        connection.settings = Settings::make(&connection.sqlite, wanted, permit.descriptor()).map_err(failed)?;
        connection.settings.are_as_asked(wanted, &permit.shown())?;
        Ok(connection)
    }

    /// The settings as they are.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The settings as they are now.
    pub fn settings_now(&self) -> Result<Settings, Trouble> {
        Settings::read(&self.sqlite, self.permit.descriptor()).map_err(|why| self.trouble(&why))
    }

    /// How many bytes the file has.
    pub fn bytes(&self) -> Option<u64> {
        let stat = rustix::fs::fstat(self.permit.descriptor()).ok()?;
        u64::try_from(stat.st_size).ok()
    }

    /// The file, as it may be shown.
    pub fn shown(&self) -> String {
        self.permit.shown()
    }

    /// Translates the failure of a statement that is not part of a transaction of the load.
    pub(super) fn trouble(&self, why: &rusqlite::Error) -> Trouble {
        trouble(&self.permit.shown(), why)
    }
}

/// Translates an error of SQLite for the file at a place.
fn trouble(at: &str, why: &rusqlite::Error) -> Trouble {
    let fault = fault(why);
    match fault.code.as_str() {
        "SQLITE_CORRUPT" | "SQLITE_NOTADB" => Trouble::damaged(format!("{at} is damaged: {fault}")),
        code => Trouble::host(format!("{at}: {fault}{}", advice(code))),
    }
}

/// The remedy for a failure whose cause is the storage or the rights to it.
fn advice(code: &str) -> &'static str {
    match code {
        "SQLITE_FULL" => ": make room on its file system",
        "SQLITE_IOERR" => ": the log of the kernel (dmesg) may say what failed",
        "SQLITE_READONLY" => ": make its file, its directory and their file system writable",
        "SQLITE_CANTOPEN" => ": SQLite needs the right to make files beside it",
        _ => "",
    }
}

/// The marker of a database that the gate let through.
pub fn marker(connection: &Connection) -> Result<Marker, Trouble> {
    let lacks = |what: &str| {
        let text = format!("{} {what}: delete the file, or name another", connection.shown());
        Trouble::refused(text)
    };
    let mut found = connection
        .sqlite
        .prepare("SELECT version, run, warehouses, seed, c_load, items, customers, complete FROM main.assay_tpcc")
        .map_err(|why| match fault(&why).code.as_str() {
            "SQLITE_ERROR" => lacks("has no marker of a load"),
            _ => connection.trouble(&why),
        })?;
    let rows: Vec<Columns> =
        found.query_map([], columns).and_then(|rows| rows.collect()).map_err(|why| connection.trouble(&why))?;
    let [columns] = <[Columns; 1]>::try_from(rows).map_err(|_| lacks("has not exactly one marker of a load"))?;
    Marker::read(columns).ok_or_else(|| lacks("has a marker that no load wrote"))
}

/// The columns of the marker's row.
fn columns(row: &rusqlite::Row<'_>) -> rusqlite::Result<Columns> {
    Ok(Columns {
        version: row.get(0)?,
        run: row.get(1)?,
        warehouses: row.get(2)?,
        seed: row.get(3)?,
        c_load: row.get(4)?,
        items: row.get(5)?,
        customers: row.get(6)?,
        complete: row.get(7)?,
    })
}

/// The gate, the first connection and the marker of a database that is to be used for a run on a number of warehouses,
/// or on all it has.
pub fn ready(url: &SqliteUrl, warehouses: Option<i32>) -> Result<(Arc<Permit>, Connection, Marker), Trouble> {
    used(url, Wanted::to_write(url), warehouses)
}

/// Opens as [`ready`] does, for a check: settings that the URL does not name stay as they are.
pub fn ready_to_check(url: &SqliteUrl) -> Result<(Arc<Permit>, Connection, Marker), Trouble> {
    used(url, Wanted::to_read(url), None)
}

fn used(
    url: &SqliteUrl,
    wanted: Wanted,
    warehouses: Option<i32>,
) -> Result<(Arc<Permit>, Connection, Marker), Trouble> {
    let permit = Arc::new(Permit::to_use(&url.path)?);
    let connection = Connection::with(&permit, wanted)?;
    let marker = marker(&connection)?;
    marker.serves(warehouses, &connection.shown())?;
    refuse_unusable(&connection)?;
    Ok((permit, connection, marker))
}

/// Refuses a database that a run or a check cannot use.
fn refuse_unusable(connection: &Connection) -> Result<(), Trouble> {
    let found = Definitions::read(&connection.sqlite).map_err(|why| connection.trouble(&why))?;
    found.are_usable(&connection.shown())
}

/// Reads the marker and changes nothing, not even a setting. What another Assay works with is refused.
pub fn look(url: &SqliteUrl) -> Result<Marker, Trouble> {
    let permit = Arc::new(Permit::to_use(&url.path)?);
    let failed = |why: rusqlite::Error| trouble(&permit.shown(), &why);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW
        | OpenFlags::SQLITE_OPEN_EXRESCODE;
    let sqlite = rusqlite::Connection::open_with_flags(permit.looked_at(), flags).map_err(failed)?;
    let settings = Settings::read(&sqlite, permit.descriptor()).map_err(failed)?;
    let connection = Connection { sqlite, permit: Arc::clone(&permit), settings };
    let marker = marker(&connection)?;
    refuse_unusable(&connection)?;
    Ok(marker)
}

/// The content of a new database, made in memory: with it a file is ours from its first byte.
pub(super) fn image(marker: &Marker) -> Result<Vec<u8>, Trouble> {
    image_in_memory(marker).map_err(|why| Trouble::host(format!("an empty database cannot be made: {why}")))
}

fn image_in_memory(marker: &Marker) -> rusqlite::Result<Vec<u8>> {
    let mut memory = rusqlite::Connection::open_in_memory()?;
    memory.pragma_update(None, "application_id", schema::APPLICATION_ID)?;
    begin(&memory, marker)?;
    Ok(memory.serialize("main")?.to_vec())
}

/// Makes the tables, and the marker of a load that begins.
pub(super) fn begin(sqlite: &rusqlite::Connection, marker: &Marker) -> rusqlite::Result<()> {
    sqlite.execute_batch(schema::MARKER)?;
    sqlite.execute_batch(schema::PARTS)?;
    for table in assay_model::tpcc::Table::ALL {
        sqlite.execute_batch(&schema::table(table))?;
    }
    let Columns { version, run, warehouses, seed, c_load, items, customers, complete } = marker.columns();
    sqlite.execute(
        "INSERT INTO main.assay_tpcc VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        rusqlite::params![version, run, warehouses, seed, c_load, items, customers, complete],
    )?;
    Ok(())
}

/// The fault that an error of SQLite is.
pub(super) fn fault(why: &rusqlite::Error) -> Fault {
    let (code, again) = match why.sqlite_error() {
        Some(error) => (name(error), matches!(error.code, ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)),
        None => ("SQLITE_MISUSE".to_owned(), false),
    };
    Fault { code, text: why.to_string(), again }
}

/// The name of a result code, of which the lower byte is the primary one (sqlite.org/rescode.html).
fn name(error: &rusqlite::ffi::Error) -> String {
    const NAMES: [&str; 27] = [
        "OK",
        "ERROR",
        "INTERNAL",
        "PERM",
        "ABORT",
        "BUSY",
        "LOCKED",
        "NOMEM",
        "READONLY",
        "INTERRUPT",
        "IOERR",
        "CORRUPT",
        "NOTFOUND",
        "FULL",
        "CANTOPEN",
        "PROTOCOL",
        "EMPTY",
        "SCHEMA",
        "TOOBIG",
        "CONSTRAINT",
        "MISMATCH",
        "MISUSE",
        "NOLFS",
        "AUTH",
        "FORMAT",
        "RANGE",
        "NOTADB",
    ];
    let primary = error.extended_code & 0xff;
    let name = usize::try_from(primary).ok().and_then(|at| NAMES.get(at));
    name.map_or_else(|| format!("SQLITE_{primary}"), |name| format!("SQLITE_{name}"))
}
