//! The numbers that the sessions of a run write into rows of their own: made before the run, and read when it is asked
//! what the database has kept.

use super::checks::DIALECT;
use super::connection::{Connection, to_fault};
use super::schema::SESSIONS;
use crate::checks::orders_above;
use crate::kept::{KeptCommits, Orders, number_in_row};
use crate::trouble::Trouble;

/// Sets the row of a session.
pub(super) const SET: &str = "UPDATE main.assay_session SET seq = ?3 WHERE run = ?1 AND session = ?2";

/// The number of one session.
#[derive(Clone, Debug)]
pub(super) struct Mark {
    pub(super) run: String,
    pub(super) session: u32,
    /// The last number that was sent.
    pub(super) sent: u64,
}

/// Makes a row for each session of a run, and waits until they are durable, whatever the settings of the URL are.
pub fn create_session_rows(connection: &Connection, run: &str, sessions: u32) -> Result<(), Trouble> {
    make_rows(&connection.sqlite, run, sessions).map_err(|why| connection.to_trouble(&why))
}

fn make_rows(sqlite: &rusqlite::Connection, run: &str, sessions: u32) -> rusqlite::Result<()> {
    let synchronous: i64 = sqlite.query_row("PRAGMA synchronous", [], |row| row.get(0))?;
    sqlite.pragma_update(None, "synchronous", "EXTRA")?;
    let transaction = sqlite.unchecked_transaction()?;
    transaction.execute_batch(SESSIONS)?;
    for session in 0..sessions {
        transaction.execute("INSERT INTO main.assay_session VALUES (?1, ?2, 0)", (run, session))?;
    }
    transaction.commit()?;
    sqlite.pragma_update(None, "synchronous", synchronous)
}

/// Reads the commits of a run that the database has kept; the load had orders up to a number.
pub fn read_kept(connection: &Connection, run: &str, loaded: i32) -> Result<KeptCommits, Trouble> {
    query_kept(&connection.sqlite, run, loaded).map_err(|why| connection.to_trouble(&why))
}

fn query_kept(sqlite: &rusqlite::Connection, run: &str, loaded: i32) -> rusqlite::Result<KeptCommits> {
    let sessions = match sqlite.prepare("SELECT session, seq FROM main.assay_session WHERE run = ?1") {
        // The table is made with the first run that needs it.
        Err(why) if to_fault(&why).code == "SQLITE_ERROR" => Default::default(),
        statement => {
            let mut statement = statement?;
            let rows = statement.query_map([run], |row| Ok((row.get(0)?, number_in_row(row.get(1)?))))?;
            rows.collect::<rusqlite::Result<_>>()?
        }
    };
    let mut statement = sqlite.prepare(&orders_above(&DIALECT, loaded))?;
    let orders = statement.query_map([], |row| {
        Ok(Orders { warehouse: row.get(0)?, district: row.get(1)?, first: row.get(2)?, last: row.get(3)? })
    })?;
    let orders = orders.collect::<rusqlite::Result<_>>()?;
    Ok(KeptCommits { sessions, orders })
}
