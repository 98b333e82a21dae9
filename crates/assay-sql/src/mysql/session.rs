//! One session that executes the five transactions, as calls of procedures or statement by statement.

use super::client::Client;
use super::connection::Connection;
use super::failed::Failed;
use super::marks::Mark;
use super::procedures::{Procedures, read_outcome};
use super::routines;
use crate::fault::Fault;
use crate::mode::Mode;
use crate::servers::not_connected_again;
use crate::sessions::{Converse, Execute};
use crate::trouble::Trouble;
use assay_model::tpcc::{Outcome, Scale, Transaction};
use std::os::fd::BorrowedFd;

/// How a mode executes a transaction.
#[derive(Debug)]
enum Execution {
    Procedures(Procedures),
    Client(Client),
}

/// A session, with a connection of its own.
#[derive(Debug)]
pub struct Session {
    connection: Connection,
    scale: Scale,
    way: Execution,
    /// The row that is set with each transaction that writes.
    mark: Option<Mark>,
}

impl Session {
    /// A session on a database that was loaded with rows of a scale. Each call is prepared once.
    pub fn new(connection: Connection, scale: Scale, mode: Mode) -> Result<Session, Trouble> {
        Session::with_mark(connection, scale, mode, None)
    }

    /// Makes one of the sessions of a run, which sets its row with each transaction that writes.
    pub fn new_marked(
        connection: Connection,
        scale: Scale,
        mode: Mode,
        session_of_run: (&str, u32),
    ) -> Result<Session, Trouble> {
        let (run, session) = session_of_run;
        Session::with_mark(connection, scale, mode, Some(Mark::new(run, session)))
    }

    fn with_mark(mut connection: Connection, scale: Scale, mode: Mode, mark: Option<Mark>) -> Result<Session, Trouble> {
        let way = match mode {
            Mode::Procedures => {
                routines::check_present(&mut connection)?;
                Execution::Procedures(prepare_procedures(&mut connection, scale)?)
            }
            Mode::Client => Execution::Client(Client::new(&connection.table_prefix(), scale)),
        };
        Ok(Session { connection, scale, way, mark })
    }

    /// The connection.
    pub fn connection_mut(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// Executes as [`Execute::execute_transaction`] says. A connection that was lost is made again for the next transaction.
    pub fn carry_out_transaction(&mut self, transaction: &Transaction) -> Result<Outcome, Fault> {
        if !self.is_ready() {
            self.connect_again()?;
        }
        let link = &mut self.connection.link;
        let mark = self.mark.as_mut().filter(|_| transaction.writes_rows());
        let mark = mark.map(|mark| {
            mark.sent += 1;
            &*mark
        });
        let done = match &self.way {
            Execution::Procedures(way) => way.execute_transaction(link, transaction, mark),
            Execution::Client(way) => way.execute_transaction(link, transaction, mark),
        };
        if done.is_err() && !link.broken {
            // Many errors undo one statement only. A failure here shows again at the next transaction; the first reason
            // is the one to report.
            let _ = link.run_statements("ROLLBACK");
        }
        done
    }

    fn connect_again(&mut self) -> Result<(), Fault> {
        self.ensure_connected().map_err(|trouble| {
            // A connection that is not ready for transactions is made again.
            self.connection.link.broken = true;
            not_connected_again(&trouble)
        })
    }

    fn ensure_connected(&mut self) -> Result<(), Trouble> {
        self.connection.connect_again()?;
        if matches!(self.way, Execution::Procedures(_)) {
            self.way = Execution::Procedures(prepare_procedures(&mut self.connection, self.scale)?);
        }
        self.mark.as_mut().map_or(Ok(()), |mark| mark.find_number(&mut self.connection))
    }
}

fn prepare_procedures(connection: &mut Connection, scale: Scale) -> Result<Procedures, Trouble> {
    let prefix = connection.table_prefix();
    Procedures::prepare_all(&mut connection.link, &prefix, scale).map_err(|why| connection.to_trouble(&why))
}

impl Execute for Session {
    fn execute_transaction(&mut self, transaction: &Transaction) -> Result<Outcome, Fault> {
        Session::carry_out_transaction(self, transaction)
    }

    fn last_sent_number(&self) -> u64 {
        self.mark.as_ref().map_or(0, |mark| mark.sent)
    }

    fn take_found_number(&mut self) -> Option<u64> {
        self.mark.as_mut().and_then(|mark| mark.found.take())
    }

    /// A procedure is one request, and its answers come together.
    fn as_conversation(&mut self) -> Option<&mut dyn Converse> {
        let is_one_call = matches!(self.way, Execution::Procedures(_)) && self.mark.is_none();
        is_one_call.then_some(self)
    }
}

impl Converse for Session {
    fn is_ready(&self) -> bool {
        let link = &self.connection.link;
        !link.broken && !link.is_flying()
    }

    fn send_transaction(&mut self, transaction: &Transaction) {
        if let Execution::Procedures(way) = &self.way {
            way.take_off(&mut self.connection.link, transaction);
        }
    }

    fn has_more(&self) -> bool {
        self.connection.link.has_more()
    }

    fn read_arrived(&mut self) {
        self.connection.link.read_arrived();
    }

    fn take_outcome(&mut self, transaction: &Transaction) -> Option<Result<Outcome, Fault>> {
        let link = &mut self.connection.link;
        let answers = link.take_answers()?;
        // The procedure itself rolls back whatever goes wrong, unless it was ended from outside.
        if answers.as_ref().is_err_and(Failed::is_ambiguous) {
            link.cut_connection();
        }
        Some(read_outcome(transaction, answers))
    }

    fn answer_socket(&self) -> BorrowedFd<'_> {
        self.connection.link.answer_socket()
    }
}
