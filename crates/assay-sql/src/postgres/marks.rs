//! The numbers that the sessions of a run write into rows of their own: made before the run, sent with each transaction
//! that writes, and read when it is asked what the database has kept.

use super::checks::CENTS;
use super::connection::Connection;
use super::flight::make_statement;
use super::link::{Answer, Failed, Link, Statement};
use super::schema::{SESSIONS, text_literal, with_prefix};
use super::value::{Bound, INT4, INT8, TEXT};
use crate::checks::{Dialect, orders_above};
use crate::fault::Fault;
use crate::kept::{KeptCommits, Orders, number_in_row};
use crate::servers::read_sessions;
use crate::trouble::Trouble;
use std::io;

/// The number of one session.
#[derive(Clone, Debug)]
pub(super) struct Mark {
    run: String,
    session: i32,
    /// The last number that was sent.
    pub(super) sent: u64,
    /// The number that was found in the row when the session was connected again.
    pub(super) found: Option<u64>,
    set: Statement,
}

impl Mark {
    /// A transaction whose connection was lost may be committed after a later one, and must not take its number back.
    pub(super) fn new(prefix: &str, run: &str, session: u32) -> Mark {
        let sql = "UPDATE @assay_session SET seq = greatest(seq, $3) WHERE run = $1 AND session = $2";
        let set = make_statement("mark", prefix, sql, &[TEXT, INT4, INT8]);
        Mark { run: run.to_owned(), session: session as i32, sent: 0, found: None, set }
    }

    pub(super) fn update_statement(&self) -> &Statement {
        &self.set
    }

    /// Looks what has become of the row, before anything that follows changes it. A row that is missing reads as 0.
    pub(super) fn find_number(&mut self, connection: &mut Connection) -> Result<(), Trouble> {
        let Mark { run, session, .. } = self;
        let sql = format!("SELECT seq FROM @assay_session WHERE run = {} AND session = {session}", text_literal(run));
        let answers = connection.ask_server(&sql)?;
        let seq = answers.first().and_then(|answer| answer.only_row()).map_or(Ok(0), |row| row.text_number_at(0));
        self.found = Some(number_in_row(seq.map_err(|why| connection.to_trouble(&Failed::from(why)))?));
        Ok(())
    }

    /// Adds the statement to a flight.
    fn add_to_flight(&self, link: &mut Link) {
        let (run, session) = (Bound::Text(&self.run), Bound::Int(self.session));
        link.add_execution(&self.set, &[run, session, Bound::Big(self.sent as i64)]);
    }
}

/// Adds the statement of a mark, if there is one; returns how many statements that is.
pub(super) fn add_mark(mark: Option<&Mark>, link: &mut Link) -> usize {
    mark.inspect(|mark| mark.add_to_flight(link)).map_or(0, |_| 1)
}

/// Whether the row of the session was there, by the answer to the statement at a place.
pub(super) fn is_set(mark: Option<&Mark>, answers: &[Answer], at: usize) -> Result<(), Fault> {
    if mark.is_some() && answers.get(at).is_none_or(|answer| answer.changed_rows() != 1) {
        Err(Fault::missing_row("row of the session in assay_session"))
    } else {
        Ok(())
    }
}

/// Makes a row for each session of a run, and waits until they are durable, whatever the settings of the role are.
pub fn create_session_rows(connection: &mut Connection, run: &str, sessions: u32) -> Result<(), Trouble> {
    let prefix = connection.table_prefix();
    let rows: Vec<String> = (0..sessions).map(|session| format!("({}, {session}, 0)", text_literal(run))).collect();
    let insert = format!("INSERT INTO {prefix}assay_session VALUES {}", rows.join(", "));
    connection.in_transaction(|link| {
        link.run_statements("SET LOCAL synchronous_commit = on")?;
        link.run_statements(&with_prefix(&prefix, SESSIONS))?;
        link.run_statements(&insert)
    })
}

/// Reads the commits of a run that the database has kept; the load had orders up to a number.
pub fn read_kept(connection: &mut Connection, run: &str, loaded: i32) -> Result<KeptCommits, Trouble> {
    let prefix = connection.table_prefix();
    let sql = with_prefix(&prefix, &read_sessions(&text_literal(run)));
    let sessions = match connection.link.query_text(&sql) {
        // The table is made with the first run that needs it.
        Err(why) if why.error_code() == "42P01" => Vec::new(),
        answers => answers.map_err(|why| connection.to_trouble(&why))?,
    };
    let orders = connection.ask_server(&orders_above(&Dialect::standard_dialect(&prefix, CENTS), loaded))?;
    parse_kept(&sessions, &orders).map_err(|why| connection.to_trouble(&Failed::from(why)))
}

fn parse_kept(sessions: &[Answer], orders: &[Answer]) -> io::Result<KeptCommits> {
    let mut kept = KeptCommits::default();
    for row in sessions.iter().flat_map(|answer| &answer.rows) {
        kept.sessions.insert(row.text_number_at(0)? as u32, number_in_row(row.text_number_at(1)?));
    }
    for row in orders.iter().flat_map(|answer| &answer.rows) {
        let [warehouse, district, first, last] =
            [0, 1, 2, 3].map(|column| row.text_number_at(column).map(|number| number as i32));
        let (warehouse, district, first, last) = (warehouse?, district?, first?, last?);
        kept.orders.push(Orders { warehouse, district, first, last });
    }
    Ok(kept)
}
