//! One connection to a database that the gate has let through, with its settings made and read back.

use super::definitions::Definitions;
use super::gate::Permit;
use super::schema;
use super::settings::{BUSY, Settings, WantedSettings};
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
    pub fn open_permitted(permit: &Arc<Permit>, url: &SqliteUrl) -> Result<Connection, Trouble> {
        Connection::open_with_settings(permit, WantedSettings::to_write(url))
    }

    /// Opens the file of a permit for questions after a run, with the settings of its connections.
    pub fn open_to_read(permit: &Arc<Permit>, url: &SqliteUrl) -> Result<Connection, Trouble> {
        Connection::open_with_settings(permit, WantedSettings::without_journal(url))
    }

    fn open_with_settings(permit: &Arc<Permit>, wanted: WantedSettings) -> Result<Connection, Trouble> {
        let failed = |why: rusqlite::Error| trouble_at(&permit.display_name(), &why);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW
            | OpenFlags::SQLITE_OPEN_EXRESCODE;
        let sqlite = rusqlite::Connection::open_with_flags(permit.absolute_path(), flags).map_err(failed)?;
        if !permit.is_still_there() {
            return Err(Trouble::refused_for_safety(format!(
                "{} was replaced while it was opened: try again",
                permit.display_name()
            )));
        }
        sqlite.set_prepared_statement_cache_capacity(STATEMENTS);
        sqlite.busy_timeout(BUSY).map_err(failed)?;
        let settings = Settings::read_settings(&sqlite, permit.file_descriptor()).map_err(failed)?;
        let mut connection = Connection { sqlite, permit: Arc::clone(permit), settings };
        // A setting can be written into the file: what no load has made is refused before.
        read_marker(&connection)?;
        connection.settings =
            Settings::apply_settings(&connection.sqlite, wanted, permit.file_descriptor()).map_err(failed)?;
        connection.settings.are_as_asked(wanted, &permit.display_name())?;
        Ok(connection)
    }

    /// The settings as they are.
    pub fn current_settings(&self) -> &Settings {
        &self.settings
    }

    /// The settings as they are now.
    pub fn settings_now(&self) -> Result<Settings, Trouble> {
        Settings::read_settings(&self.sqlite, self.permit.file_descriptor()).map_err(|why| self.to_trouble(&why))
    }

    /// How many bytes the file has.
    pub fn file_bytes(&self) -> Option<u64> {
        let stat = rustix::fs::fstat(self.permit.file_descriptor()).ok()?;
        u64::try_from(stat.st_size).ok()
    }

    /// The file, as it may be shown.
    pub fn display_name(&self) -> String {
        self.permit.display_name()
    }

    /// Translates the failure of a statement that is not part of a transaction of the load.
    pub(super) fn to_trouble(&self, why: &rusqlite::Error) -> Trouble {
        trouble_at(&self.permit.display_name(), why)
    }
}

/// Translates an error of SQLite for the file at a place.
fn trouble_at(at: &str, why: &rusqlite::Error) -> Trouble {
    let fault = to_fault(why);
    match fault.code.as_str() {
        "SQLITE_CORRUPT" | "SQLITE_NOTADB" => Trouble::damaged_database(format!("{at} is damaged: {fault}")),
        code => Trouble::host_unable(format!("{at}: {fault}{}", advice_for_code(code))),
    }
}

/// The remedy for a failure whose cause is the storage or the rights to it.
fn advice_for_code(code: &str) -> &'static str {
    match code {
        "SQLITE_FULL" => ": make room on its file system",
        "SQLITE_IOERR" => ": the log of the kernel (dmesg) may say what failed",
        "SQLITE_READONLY" => ": make its file, its directory and their file system writable",
        "SQLITE_CANTOPEN" => ": SQLite needs the right to make files beside it",
        _ => "",
    }
}

/// The marker of a database that the gate let through.
pub fn read_marker(connection: &Connection) -> Result<Marker, Trouble> {
    let lacks = |what: &str| {
        let text = format!("{} {what}: delete the file, or name another", connection.display_name());
        Trouble::refused_for_safety(text)
    };
    let mut found = connection
        .sqlite
        .prepare("SELECT version, run, warehouses, seed, c_load, items, customers, complete FROM main.assay_tpcc")
        .map_err(|why| match to_fault(&why).code.as_str() {
            "SQLITE_ERROR" => lacks("has no marker of a load"),
            _ => connection.to_trouble(&why),
        })?;
    let rows: Vec<Columns> = found
        .query_map([], marker_columns)
        .and_then(|rows| rows.collect())
        .map_err(|why| connection.to_trouble(&why))?;
    let [columns] = <[Columns; 1]>::try_from(rows).map_err(|_| lacks("has not exactly one marker of a load"))?;
    Marker::from_columns(columns).ok_or_else(|| lacks("has a marker that no load wrote"))
}

/// The columns of the marker's row.
fn marker_columns(row: &rusqlite::Row<'_>) -> rusqlite::Result<Columns> {
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
pub fn open_for_run(url: &SqliteUrl, warehouses: Option<i32>) -> Result<(Arc<Permit>, Connection, Marker), Trouble> {
    open_used(url, WantedSettings::to_write(url), warehouses)
}

/// Opens as [`open_for_run`] does, for a check: settings that the URL does not name stay as they are.
pub fn ready_to_check(url: &SqliteUrl) -> Result<(Arc<Permit>, Connection, Marker), Trouble> {
    open_used(url, WantedSettings::to_read(url), None)
}

fn open_used(
    url: &SqliteUrl,
    wanted: WantedSettings,
    warehouses: Option<i32>,
) -> Result<(Arc<Permit>, Connection, Marker), Trouble> {
    let permit = Arc::new(Permit::to_use(&url.path)?);
    let connection = Connection::open_with_settings(&permit, wanted)?;
    let marker = read_marker(&connection)?;
    marker.check_usable(warehouses, &connection.display_name())?;
    refuse_unusable(&connection)?;
    Ok((permit, connection, marker))
}

/// Refuses a database that a run or a check cannot use.
fn refuse_unusable(connection: &Connection) -> Result<(), Trouble> {
    let found = Definitions::read_definitions(&connection.sqlite).map_err(|why| connection.to_trouble(&why))?;
    found.are_usable(&connection.display_name())
}

/// Reads the marker and changes nothing, not even a setting. What another Assay works with is refused.
pub fn peek_marker(url: &SqliteUrl) -> Result<Marker, Trouble> {
    let permit = Arc::new(Permit::to_use(&url.path)?);
    let failed = |why: rusqlite::Error| trouble_at(&permit.display_name(), &why);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW
        | OpenFlags::SQLITE_OPEN_EXRESCODE;
    let sqlite = rusqlite::Connection::open_with_flags(permit.looked_at(), flags).map_err(failed)?;
    let settings = Settings::read_settings(&sqlite, permit.file_descriptor()).map_err(failed)?;
    let connection = Connection { sqlite, permit: Arc::clone(&permit), settings };
    let marker = read_marker(&connection)?;
    refuse_unusable(&connection)?;
    Ok(marker)
}

/// The content of a new database, made in memory: with it a file is ours from its first byte.
pub(super) fn initial_image(marker: &Marker) -> Result<Vec<u8>, Trouble> {
    image_in_memory(marker).map_err(|why| Trouble::host_unable(format!("an empty database cannot be made: {why}")))
}

fn image_in_memory(marker: &Marker) -> rusqlite::Result<Vec<u8>> {
    let mut memory = rusqlite::Connection::open_in_memory()?;
    memory.pragma_update(None, "application_id", schema::APPLICATION_ID)?;
    create_tables(&memory, marker)?;
    Ok(memory.serialize("main")?.to_vec())
}

/// Makes the tables, and the marker of a load that begins.
pub(super) fn create_tables(sqlite: &rusqlite::Connection, marker: &Marker) -> rusqlite::Result<()> {
    sqlite.execute_batch(schema::MARKER)?;
    sqlite.execute_batch(schema::PARTS)?;
    for table in assay_model::tpcc::Table::ALL {
        sqlite.execute_batch(&schema::table_definition(table))?;
    }
    let Columns { version, run, warehouses, seed, c_load, items, customers, complete } = marker.to_columns();
    sqlite.execute(
        "INSERT INTO main.assay_tpcc VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        rusqlite::params![version, run, warehouses, seed, c_load, items, customers, complete],
    )?;
    Ok(())
}

/// The fault that an error of SQLite is.
pub(super) fn to_fault(why: &rusqlite::Error) -> Fault {
    let (code, again) = match why.sqlite_error() {
        Some(error) => {
            (result_code_name(error), matches!(error.code, ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
        }
        None => ("SQLITE_MISUSE".to_owned(), false),
    };
    Fault { code, text: why.to_string(), again }
}

/// The name of a result code, of which the lower byte is the primary one (sqlite.org/rescode.html).
fn result_code_name(error: &rusqlite::ffi::Error) -> String {
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
