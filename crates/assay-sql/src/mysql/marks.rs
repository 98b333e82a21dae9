//! The rows in which the sessions of a run store their numbers. The rows are created before the run; each writing
//! transaction sets its session's row; the rows are read to find out which commits the database still has.

use super::checks::dialect;
use super::connection::{Connection, NO_TABLE};
use super::definitions::{self, Tables};
use super::failed::Failed;
use super::flight::Answer;
use super::link::Bound;
use super::schema::{self, literal};
use crate::checks::orders_above;
use crate::fault::Fault;
use crate::kept::{Kept, Orders, number_in_row};
use crate::servers::read_sessions;
use crate::trouble::Trouble;
use std::io;

/// The number of one session, which it stores in its row.
#[derive(Clone, Debug)]
pub(super) struct Mark {
    run: String,
    session: u32,
    /// The last number that was sent.
    pub(super) sent: u64,
    /// The number that was read from the row after the last reconnect.
    pub(super) found: Option<u64>,
}

impl Mark {
    pub(super) fn new(run: &str, session: u32) -> Mark {
        Mark { run: run.to_owned(), session, sent: 0, found: None }
    }

    /// SQL condition that selects this session's only row.
    fn row(&self) -> String {
        format!("run = {} AND session = {}", literal(&self.run), self.session)
    }

    /// Reads the row after a reconnect, before the next transaction changes it. A row that is missing reads as 0.
    pub(super) fn find(&mut self, connection: &mut Connection) -> Result<(), Trouble> {
        let answers = connection.ask(&format!("SELECT seq FROM @assay_session WHERE {}", self.row()))?;
        let seq = answers.first().and_then(|answer| answer.one()).map_or(Ok(0), |row| row.big(0));
        self.found = Some(number_in_row(seq.map_err(|why| connection.trouble(&Failed::from(why)))?));
        Ok(())
    }

    /// The statement that sets the row. A transaction whose connection was lost may be committed after a later
    /// transaction of its session; `greatest` then keeps the larger number.
    pub(super) fn statement(&self) -> String {
        format!("UPDATE @assay_session SET seq = greatest(seq, {}) WHERE {}", self.sent, self.row())
    }
}

/// The last arguments of a writing procedure: run, session and number. They are null if the session has no row.
pub(super) fn arguments(mark: Option<&Mark>) -> [Bound<'_>; 3] {
    mark.map_or([Bound::Null; 3], |mark| {
        [Bound::Text(&mark.run), Bound::Int(mark.session.into()), Bound::Int(mark.sent as i64)]
    })
}

/// Checks that the session's row exists, by the answer at index `at` to the statement that sets it.
pub(super) fn is_set(mark: Option<&Mark>, answers: &[Answer], at: usize) -> Result<(), Fault> {
    if mark.is_some() && answers.get(at).is_none_or(|answer| answer.changed != 1) {
        Err(Fault::missing_row("row of the session in assay_session"))
    } else {
        Ok(())
    }
}

/// Creates a row for each session of a run.
pub fn mark(connection: &mut Connection, run: &str, sessions: u32) -> Result<(), Trouble> {
    let rows: Vec<String> = (0..sessions).map(|session| format!("({}, {session}, 0)", literal(run))).collect();
    let tables = Tables::read(connection)?;
    let theirs: Vec<&str> = tables.with_other_columns().into_iter().filter(|name| *name == "assay_session").collect();
    definitions::refused(connection, &theirs)?;
    connection.ask(&schema::sessions(&connection.prefix()))?;
    connection.ask(&format!("INSERT INTO @assay_session VALUES {}", rows.join(", ")))?;
    // A change of a table's definition waits for the disk even with settings with which a commit does not.
    connection.ask("ALTER TABLE @assay_session FORCE").map(drop)
}

/// Reads what the database still has of a run: the numbers of its sessions, and all orders above `loaded`, the largest
/// number of a loaded order.
pub fn kept(connection: &mut Connection, run: &str, loaded: i32) -> Result<Kept, Trouble> {
    let prefix = connection.prefix();
    let sql = connection.sql(&read_sessions(&literal(run)));
    let sessions = match connection.link.simple(&sql) {
        // The first run that needs the table creates it.
        Err(why) if why.code() == NO_TABLE => Vec::new(),
        answers => answers.map_err(|why| connection.trouble(&why))?,
    };
    let orders = connection.ask(&orders_above(&dialect(&prefix), loaded))?;
    read(&sessions, &orders).map_err(|why| connection.trouble(&Failed::from(why)))
}

fn read(sessions: &[Answer], orders: &[Answer]) -> io::Result<Kept> {
    let mut kept = Kept::default();
    for row in sessions.iter().flat_map(|answer| &answer.rows) {
        kept.sessions.insert(row.int(0)? as u32, number_in_row(row.big(1)?));
    }
    for row in orders.iter().flat_map(|answer| &answer.rows) {
        let (warehouse, district, first, last) = (row.int(0)?, row.int(1)?, row.int(2)?, row.int(3)?);
        kept.orders.push(Orders { warehouse, district, first, last });
    }
    Ok(kept)
}
