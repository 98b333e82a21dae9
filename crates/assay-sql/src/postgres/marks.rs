//! The numbers that the sessions of a run write into rows of their own: made before the run, sent with each transaction
//! that writes, and read when it is asked what the database has kept.

use super::checks::CENTS;
use super::connection::Connection;
use super::flight::statement;
use super::link::{Answer, Failed, Link, Statement};
use super::schema::{SESSIONS, literal, with_prefix};
use super::value::{Bound, INT4, INT8, TEXT};
use crate::checks::{Dialect, orders_above};
use crate::fault::Fault;
use crate::kept::{Kept, Orders, number_in_row};
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
        let set = statement("mark", prefix, sql, &[TEXT, INT4, INT8]);
        Mark { run: run.to_owned(), session: session as i32, sent: 0, found: None, set }
    }

    pub(super) fn statement(&self) -> &Statement {
        &self.set
    }

    /// Looks what has become of the row, before anything that follows changes it. A row that is missing reads as 0.
    pub(super) fn find(&mut self, connection: &mut Connection) -> Result<(), Trouble> {
        let Mark { run, session, .. } = self;
        let sql = format!("SELECT seq FROM @assay_session WHERE run = {} AND session = {session}", literal(run));
        let answers = connection.ask(&sql)?;
        let seq = answers.first().and_then(|answer| answer.one()).map_or(Ok(0), |row| row.written(0));
        self.found = Some(number_in_row(seq.map_err(|why| connection.trouble(&Failed::from(why)))?));
        Ok(())
    }

    /// Adds the statement to a flight.
    fn add(&self, link: &mut Link) {
        let (run, session) = (Bound::Text(&self.run), Bound::Int(self.session));
        link.add(&self.set, &[run, session, Bound::Big(self.sent as i64)]);
    }
}

/// Adds the statement of a mark, if there is one; returns how many statements that is.
pub(super) fn add(mark: Option<&Mark>, link: &mut Link) -> usize {
    mark.inspect(|mark| mark.add(link)).map_or(0, |_| 1)
}

/// Whether the row of the session was there, by the answer to the statement at a place.
pub(super) fn is_set(mark: Option<&Mark>, answers: &[Answer], at: usize) -> Result<(), Fault> {
    if mark.is_some() && answers.get(at).is_none_or(|answer| answer.changed() != 1) {
        Err(Fault::missing_row("row of the session in assay_session"))
    } else {
        Ok(())
    }
}

/// Makes a row for each session of a run, and waits until they are durable, whatever the settings of the role are.
pub fn mark(connection: &mut Connection, run: &str, sessions: u32) -> Result<(), Trouble> {
    let prefix = connection.prefix();
    let rows: Vec<String> = (0..sessions).map(|session| format!("({}, {session}, 0)", literal(run))).collect();
    let insert = format!("INSERT INTO {prefix}assay_session VALUES {}", rows.join(", "));
    connection.transaction(|link| {
        link.run("SET LOCAL synchronous_commit = on")?;
        link.run(&with_prefix(&prefix, SESSIONS))?;
        link.run(&insert)
    })
}

/// Reads the commits of a run that the database has kept; the load had orders up to a number.
pub fn kept(connection: &mut Connection, run: &str, loaded: i32) -> Result<Kept, Trouble> {
    let prefix = connection.prefix();
    let sql = with_prefix(&prefix, &read_sessions(&literal(run)));
    let sessions = match connection.link.simple(&sql) {
        // The table is made with the first run that needs it.
        Err(why) if why.code() == "42P01" => Vec::new(),
        answers => answers.map_err(|why| connection.trouble(&why))?,
    };
    let orders = connection.ask(&orders_above(&Dialect::standard(&prefix, CENTS), loaded))?;
    read(&sessions, &orders).map_err(|why| connection.trouble(&Failed::from(why)))
}

fn read(sessions: &[Answer], orders: &[Answer]) -> io::Result<Kept> {
    let mut kept = Kept::default();
    for row in sessions.iter().flat_map(|answer| &answer.rows) {
        kept.sessions.insert(row.written(0)? as u32, number_in_row(row.written(1)?));
    }
    for row in orders.iter().flat_map(|answer| &answer.rows) {
        let [warehouse, district, first, last] =
            [0, 1, 2, 3].map(|column| row.written(column).map(|number| number as i32));
        let (warehouse, district, first, last) = (warehouse?, district?, first?, last?);
        kept.orders.push(Orders { warehouse, district, first, last });
    }
    Ok(kept)
}
