//! The rows in which the sessions of a run store their numbers. The rows are created before the run; each writing
//! transaction sets its session's row; the rows are read to find out which commits the database still has.

use super::checks::mysql_dialect;
use super::connection::{Connection, NO_TABLE};
use super::definitions::{self, Tables};
use super::failed::Failed;
use super::flight::Answer;
use super::link::Bound;
use super::schema::{self, text_literal};
use crate::checks::orders_above;
use crate::fault::Fault;
use crate::kept::{KeptCommits, Orders, number_in_row};
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
    fn row_condition(&self) -> String {
        format!("run = {} AND session = {}", text_literal(&self.run), self.session)
    }

    /// Reads the row after a reconnect, before the next transaction changes it. A row that is missing reads as 0.
    pub(super) fn find_number(&mut self, connection: &mut Connection) -> Result<(), Trouble> {
        let answers =
            connection.ask_server(&format!("SELECT seq FROM @assay_session WHERE {}", self.row_condition()))?;
        let seq = answers.first().and_then(|answer| answer.only_row()).map_or(Ok(0), |row| row.bigint_at(0));
        self.found = Some(number_in_row(seq.map_err(|why| connection.to_trouble(&Failed::from(why)))?));
        Ok(())
    }

    /// The statement that sets the row. A transaction whose connection was lost may be committed after a later
    /// transaction of its session; `greatest` then keeps the larger number.
    pub(super) fn update_statement(&self) -> String {
        format!("UPDATE @assay_session SET seq = greatest(seq, {}) WHERE {}", self.sent, self.row_condition())
    }
}

/// The last arguments of a writing procedure: run, session and number. They are null if the session has no row.
pub(super) fn mark_parameters(mark: Option<&Mark>) -> [Bound<'_>; 3] {
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
pub fn create_session_rows(connection: &mut Connection, run: &str, sessions: u32) -> Result<(), Trouble> {
    let rows: Vec<String> = (0..sessions).map(|session| format!("({}, {session}, 0)", text_literal(run))).collect();
    let tables = Tables::read_tables(connection)?;
    let theirs: Vec<&str> = tables.with_other_columns().into_iter().filter(|name| *name == "assay_session").collect();
    definitions::refuse_objects(connection, &theirs)?;
    connection.ask_server(&schema::sessions_definition(&connection.table_prefix()))?;
    connection.ask_server(&format!("INSERT INTO @assay_session VALUES {}", rows.join(", ")))?;
    // A change of a table's definition waits for the disk even with settings with which a commit does not.
    connection.ask_server("ALTER TABLE @assay_session FORCE").map(drop)
}

/// Reads what the database still has of a run: the numbers of its sessions, and all orders above `loaded`, the largest
/// number of a loaded order.
pub fn read_kept(connection: &mut Connection, run: &str, loaded: i32) -> Result<KeptCommits, Trouble> {
    let prefix = connection.table_prefix();
    let sql = connection.expand_names(&read_sessions(&text_literal(run)));
    let sessions = match connection.link.query_text(&sql) {
        // The first run that needs the table creates it.
        Err(why) if why.error_code() == NO_TABLE => Vec::new(),
        answers => answers.map_err(|why| connection.to_trouble(&why))?,
    };
    let orders = connection.ask_server(&orders_above(&mysql_dialect(&prefix), loaded))?;
    parse_kept(&sessions, &orders).map_err(|why| connection.to_trouble(&Failed::from(why)))
}

fn parse_kept(sessions: &[Answer], orders: &[Answer]) -> io::Result<KeptCommits> {
    let mut kept = KeptCommits::default();
    for row in sessions.iter().flat_map(|answer| &answer.rows) {
        kept.sessions.insert(row.int_at(0)? as u32, number_in_row(row.bigint_at(1)?));
    }
    for row in orders.iter().flat_map(|answer| &answer.rows) {
        let (warehouse, district, first, last) = (row.int_at(0)?, row.int_at(1)?, row.int_at(2)?, row.int_at(3)?);
        kept.orders.push(Orders { warehouse, district, first, last });
    }
    Ok(kept)
}
