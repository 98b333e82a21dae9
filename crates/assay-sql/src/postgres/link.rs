//! A connection to a server: login, questions and answers.

use super::value::{Bound, Row};
use super::wire::Wire;
use crate::fault::Fault;
use crate::trouble::Trouble;
use crate::url::PostgresUrl;
use bytes::Bytes;
use fallible_iterator::FallibleIterator;
use postgres_protocol::authentication::{md5_hash, sasl};
use postgres_protocol::message::backend::{ErrorResponseBody, Message};
use postgres_protocol::message::frontend;
use std::fmt;
use std::io;
use std::os::fd::BorrowedFd;

/// The error of a question.
pub(super) type Failed = crate::failed::Failed<Refusal>;

/// An error as the server reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    /// The SQLSTATE: one of the SQL standard, or one of PostgreSQL (its manual, appendix A).
    pub(super) code: String,
    pub(super) message: String,
    /// Whether the server ends the connection with this error.
    pub(super) ends: bool,
}

impl Refusal {
    fn from_response(body: &ErrorResponseBody) -> io::Result<Refusal> {
        let (mut code, mut message, mut detail, mut ends) = (String::new(), String::new(), String::new(), false);
        let mut fields = body.fields();
        while let Some(field) = fields.next()? {
            let text = String::from_utf8_lossy(field.value_bytes());
            match field.type_() {
                b'C' => code = text.into_owned(),
                b'M' => message = text.into_owned(),
                b'D' => detail = format!(" ({text})"),
                b'V' => ends = matches!(field.value_bytes(), b"FATAL" | b"PANIC"),
                _ => {}
            }
        }
        Ok(Refusal { code, message: message + &detail, ends })
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.code, self.message)
    }
}

impl Failed {
    /// The server's code; empty if the connection was lost.
    pub(super) fn error_code(&self) -> &str {
        match self {
            Failed::Server(refusal) => &refusal.code,
            Failed::Lost(_) => "",
        }
    }

    /// The fault of a transaction that failed with this error and was certainly not committed.
    pub(super) fn to_fault(&self) -> Fault {
        match self {
            Failed::Server(Refusal { code, message, .. }) => Fault {
                code: code.clone(),
                text: message.clone(),
                again: matches!(code.as_str(), SERIALIZATION_FAILURE | DEADLOCK_DETECTED),
            },
            Failed::Lost(why) => Fault { code: Fault::LOST.to_owned(), text: why.to_string(), again: false },
        }
    }
}

const SERIALIZATION_FAILURE: &str = "40001";
const DEADLOCK_DETECTED: &str = "40P01";

/// The answer to one statement.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) rows: Vec<Row>,
    tag: Bytes,
}

impl Answer {
    /// The command that the server has executed, such as `COMMIT`; see [`Link::commit_checked`].
    pub(super) fn executed_command(&self) -> &[u8] {
        self.tag.split(|byte| *byte == b' ').next().unwrap_or_default()
    }

    /// Number of rows that the statement changed.
    pub(super) fn changed_rows(&self) -> u64 {
        let last = self.tag.rsplit(|byte| *byte == b' ').next().unwrap_or_default();
        std::str::from_utf8(last).ok().and_then(|number| number.parse().ok()).unwrap_or(0)
    }

    /// The only row.
    pub(super) fn only_row(&self) -> Option<&Row> {
        self.rows.first()
    }
}

/// A statement that is prepared once in each session.
#[derive(Clone, Debug)]
pub(super) struct Statement {
    pub(super) name: &'static str,
    pub(super) sql: String,
    /// The types of its parameters.
    pub(super) types: &'static [u32],
}

/// A connection that accepts questions.
pub(super) struct Link {
    wire: Wire,
    /// The number of the server's process.
    pub(super) process: i32,
    /// `I` outside of a transaction, `T` inside, `E` inside a failed one.
    status: u8,
    /// Whether the connection has ended.
    pub(super) broken: bool,
    /// Number of statements of the last flight that the server has answered.
    pub(super) answered: usize,
    /// The answers to the last flight, as long as they are not complete.
    flight: Option<Flight>,
}

/// The answers of a flight as far as they have arrived.
#[derive(Debug, Default)]
struct Flight {
    answers: Vec<Answer>,
    rows: Vec<Row>,
    refusal: Option<Refusal>,
    /// The error after which the rest of the flight was not sent. Answers are still read, because the server may have
    /// sent the reason.
    unsent: Option<io::Error>,
    /// The error after which nothing more can arrive.
    ended: Option<io::Error>,
}

impl Flight {
    /// Processes one message. Returns the result when the answers are complete.
    fn take_message(&mut self, message: Message, status: &mut u8) -> io::Result<Option<Result<Vec<Answer>, Refusal>>> {
        match message {
            Message::DataRow(body) => self.rows.push(Row::parse_row(&body)?),
            Message::CommandComplete(body) => {
                let tag = Bytes::copy_from_slice(body.tag()?.as_bytes());
                self.answers.push(Answer { rows: std::mem::take(&mut self.rows), tag });
            }
            Message::ErrorResponse(body) => {
                let found = Refusal::from_response(&body)?;
                if found.ends {
                    return Ok(Some(Err(found)));
                }
                self.refusal.get_or_insert(found);
            }
            Message::ReadyForQuery(body) if self.unsent.is_none() => {
                *status = body.status();
                return Ok(Some(self.refusal.take().map_or_else(|| Ok(std::mem::take(&mut self.answers)), Err)));
            }
            Message::CopyInResponse(_) => return Ok(Some(Ok(std::mem::take(&mut self.answers)))),
            _ => {}
        }
        Ok(None)
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Link").field("process", &self.process).field("broken", &self.broken).finish_non_exhaustive()
    }
}

impl Link {
    /// Connects as the role of the URL.
    pub(super) fn open_connection(url: &PostgresUrl) -> Result<Link, Trouble> {
        let mut link =
            Link { wire: Wire::open_wire(url)?, process: 0, status: b'I', broken: false, answered: 0, flight: None };
        link.start_session(url).map_err(|why| refused_at_start(url, &why))?;
        Ok(link)
    }

    fn start_session(&mut self, url: &PostgresUrl) -> Result<(), Failed> {
        // Parameters of the start have priority over those of the role. Names are looked up in PostgreSQL's own schema
        // only, so that a table or operator in another schema cannot replace the intended one.
        let parameters = [
            ("user", url.role_name()),
            ("database", url.database_name()),
            ("client_encoding", "UTF8"),
            ("application_name", "assay"),
            ("search_path", "pg_catalog"),
            ("standard_conforming_strings", "on"),
        ];
        frontend::startup_message(parameters, &mut self.wire.line.outgoing)?;
        self.wire.line.send_all()?;
        loop {
            match self.wire.receive_message()? {
                Message::AuthenticationOk | Message::ParameterStatus(_) | Message::NoticeResponse(_) => {}
                Message::BackendKeyData(body) => self.process = body.process_id(),
                Message::ErrorResponse(body) => return Err(Failed::Server(Refusal::from_response(&body)?)),
                Message::ReadyForQuery(_) => break,
                asked => self.authenticate_role(url, &asked)?,
            }
        }
        Ok(self.wire.line.is_started()?)
    }

    fn authenticate_role(&mut self, url: &PostgresUrl, asked: &Message) -> Result<(), Failed> {
        let denied = |text: &str| Failed::Server(Refusal { code: "28P01".into(), message: text.into(), ends: true });
        let password = || {
            url.password
                .as_ref()
                .map(|password| password.secret_bytes())
                .ok_or_else(|| denied("a password is asked for"))
        };
        match asked {
            Message::AuthenticationCleartextPassword if !self.wire.is_private(url) => {
                Err(denied("the server wants the password in plain text, and the connection is not encrypted"))
            }
            Message::AuthenticationCleartextPassword => self.send_password(password()?),
            Message::AuthenticationMd5Password(body) => {
                let hash = md5_hash(url.role_name().as_bytes(), password()?, body.salt());
                self.send_password(hash.as_bytes())
            }
            Message::AuthenticationSasl(body) => {
                let known = body.mechanisms().any(|name| Ok(name == sasl::SCRAM_SHA_256))?;
                if !known {
                    return Err(denied("the server knows no way to check a password that this program knows"));
                }
                self.authenticate_scram(password()?)
            }
            _ => Err(denied("the server asks for an authentication that this program does not know")),
        }
    }

    fn send_password(&mut self, password: &[u8]) -> Result<(), Failed> {
        frontend::password_message(password, &mut self.wire.line.outgoing)?;
        Ok(self.wire.line.send_all()?)
    }

    /// RFC 5802: both sides prove that they know the password, and neither sends it.
    fn authenticate_scram(&mut self, password: &[u8]) -> Result<(), Failed> {
        let mut scram = sasl::ScramSha256::new(password, sasl::ChannelBinding::unsupported());
        frontend::sasl_initial_response(sasl::SCRAM_SHA_256, scram.message(), &mut self.wire.line.outgoing)?;
        self.wire.line.send_all()?;
        match self.next_authentication()? {
            Message::AuthenticationSaslContinue(body) => scram.update(body.data())?,
            _ => return Err(unreadable_message()),
        }
        frontend::sasl_response(scram.message(), &mut self.wire.line.outgoing)?;
        self.wire.line.send_all()?;
        match self.next_authentication()? {
            Message::AuthenticationSaslFinal(body) => Ok(scram.finish(body.data())?),
            _ => Err(unreadable_message()),
        }
    }

    fn next_authentication(&mut self) -> Result<Message, Failed> {
        match self.wire.receive_message()? {
            Message::ErrorResponse(body) => Err(Failed::Server(Refusal::from_response(&body)?)),
            message => Ok(message),
        }
    }

    /// Sends statements as text, and returns the answers to all of them, with rows as text.
    pub(super) fn query_text(&mut self, sql: &str) -> Result<Vec<Answer>, Failed> {
        frontend::query(sql, &mut self.wire.line.outgoing)?;
        self.await_answers()
    }

    /// Runs statements as [`Link::query_text`] does, whose answers are not needed.
    pub(super) fn run_statements(&mut self, sql: &str) -> Result<(), Failed> {
        self.query_text(sql).map(drop)
    }

    /// Prepares statements.
    pub(super) fn prepare_statements(&mut self, statements: &[Statement]) -> Result<(), Failed> {
        for Statement { name, sql, types } in statements {
            frontend::parse(name, sql, types.iter().copied(), &mut self.wire.line.outgoing)?;
        }
        self.send_flight().map(drop)
    }

    /// Adds the execution of a prepared statement to the flight that [`Link::send_flight`] sends.
    pub(super) fn add_execution(&mut self, statement: &Statement, values: &[Bound<'_>]) -> &mut Link {
        let out = &mut self.wire.line.outgoing;
        let binary = [1];
        let bound = frontend::bind("", statement.name, binary, values, |value, out| value.write_to(out), binary, out);
        let added = bound.map_err(|_| ()).and_then(|()| frontend::execute("", 0, out).map_err(|_| ()));
        added.expect("a statement of ours has a name without zero bytes, and values that fit into a message");
        self
    }

    /// Sends all statements that were added and waits for all answers. If one of them fails, the server skips the rest.
    pub(super) fn send_flight(&mut self) -> Result<Vec<Answer>, Failed> {
        frontend::sync(&mut self.wire.line.outgoing);
        self.await_answers()
    }

    /// Begins as [`Link::send_flight`] does, without blocking: [`Link::read_arrived`] reads the answers, and [`Link::take_answers`] returns
    /// them.
    pub(super) fn take_off(&mut self) {
        frontend::sync(&mut self.wire.line.outgoing);
        let sent = self.wire.line.set_waiting(false).and_then(|()| self.wire.line.send_now());
        self.flight = Some(Flight { unsent: sent.err(), ..Flight::default() });
    }

    /// Whether a part of the flight is not sent yet.
    pub(super) fn has_more(&self) -> bool {
        self.flight.as_ref().is_some_and(|flight| flight.unsent.is_none()) && self.wire.line.has_more()
    }

    /// Reads what has arrived, and sends as much of the rest as the socket accepts.
    pub(super) fn read_arrived(&mut self) {
        if let Some(flight) = &mut self.flight {
            flight.ended = self.wire.line.exchange_ready(&mut flight.unsent);
        }
    }

    /// The answers, when all of them have been read.
    pub(super) fn take_answers(&mut self) -> Option<Result<Vec<Answer>, Failed>> {
        loop {
            let message = match self.wire.next() {
                Ok(None) => Err(self.flight.as_mut()?.ended.take()?),
                Ok(Some(message)) => Ok(message),
                Err(why) => Err(why),
            };
            if let Some(done) = self.take_arrived(message) {
                return Some(done);
            }
        }
    }

    /// Whether the last flight is not answered completely. Nothing else can be sent meanwhile.
    pub(super) fn is_flying(&self) -> bool {
        self.flight.is_some()
    }

    /// The socket at which answers arrive.
    pub(super) fn answer_socket(&self) -> BorrowedFd<'_> {
        self.wire.line.answer_socket()
    }

    /// Sends everything, and waits until the server is ready again.
    fn await_answers(&mut self) -> Result<Vec<Answer>, Failed> {
        let sent = self.wire.line.set_waiting(true).and_then(|()| self.wire.line.send_all());
        self.answers_to(sent.err())
    }

    fn answers_to(&mut self, unsent: Option<io::Error>) -> Result<Vec<Answer>, Failed> {
        self.flight = Some(Flight { unsent, ..Flight::default() });
        loop {
            let message = self.wire.receive_message();
            if let Some(done) = self.take_arrived(message) {
                return done;
            }
        }
    }

    /// Processes one message, or the end of the connection. Returns the result when the answers are complete.
    fn take_arrived(&mut self, message: io::Result<Message>) -> Option<Result<Vec<Answer>, Failed>> {
        let flight = self.flight.as_mut()?;
        let taken = message.and_then(|message| flight.take_message(message, &mut self.status));
        let done = match taken {
            Ok(done) => done?.map_err(Failed::Server),
            Err(why) => {
                self.broken = true;
                // An error that the server sent has priority, then the failed send, then this error.
                Err(match (flight.refusal.take(), flight.unsent.take()) {
                    (Some(refusal), _) => Failed::Server(refusal),
                    (None, unsent) => Failed::Lost(unsent.unwrap_or(why)),
                })
            }
        };
        self.broken |= matches!(done, Err(Failed::Server(Refusal { ends: true, .. })));
        self.answered = done.as_ref().map_or(flight.answers.len(), Vec::len);
        self.flight = None;
        Some(done)
    }

    /// Restores the time limit for answers that applied during the start.
    pub(super) fn restore_time_limit(&self) {
        // If the limit cannot be set, answers may take any time, as before.
        let _ = self.wire.line.is_hurried();
    }

    /// Whether a transaction is open, failed or not.
    pub(super) fn in_transaction(&self) -> bool {
        self.status != b'I'
    }

    /// Commits. After a failed statement the server answers COMMIT with ROLLBACK and without an error, so that the
    /// command in its answer is checked.
    pub(super) fn commit_checked(&mut self) -> Result<(), Failed> {
        let answers = self.query_text("COMMIT")?;
        if answers.last().is_some_and(|answer| answer.executed_command() == b"COMMIT") {
            Ok(())
        } else {
            Err(rolled_back())
        }
    }

    /// Writes rows in PostgreSQL's binary form, which `COPY .. FROM STDIN (FORMAT binary)` reads.
    pub(super) fn copy_rows(&mut self, sql: &str, rows: &[u8]) -> Result<(), Failed> {
        self.run_statements(sql)?;
        for chunk in rows.chunks(COPY_CHUNK) {
            frontend::CopyData::new(chunk)?.write(&mut self.wire.line.outgoing);
            if let Err(why) = self.wire.line.send_all() {
                // The server may have sent the reason before it closed the connection.
                return self.answers_to(Some(why)).map(drop);
            }
        }
        frontend::copy_done(&mut self.wire.line.outgoing);
        self.await_answers().map(drop)
    }
}

/// Bytes of a COPY that are sent together.
const COPY_CHUNK: usize = 256 << 10;

fn unreadable_message() -> Failed {
    Failed::Lost(io::Error::new(io::ErrorKind::InvalidData, "the server's answer makes no sense"))
}

/// The error of a COMMIT that the server has answered with ROLLBACK.
pub(super) fn rolled_back() -> Failed {
    let message = "the server answered COMMIT with ROLLBACK".to_owned();
    Failed::Server(Refusal { code: Fault::ROLLED_BACK.to_owned(), message, ends: false })
}

/// The message about a refusal at the start: what it means, and what to do.
fn refused_at_start(url: &PostgresUrl, why: &Failed) -> Trouble {
    let remedy = match why.error_code() {
        "28P01" | "28000" => "set PGPASSWORD, or write password_file=FILE, or let the role in (pg_hba.conf)",
        "3D000" => "create the database first",
        "53300" => "let the server take more connections (max_connections)",
        "57P03" => "wait until the server is up",
        "42501" => "GRANT CONNECT to the role",
        _ => "see the server's log",
    };
    Trouble::host_unable(format!("{url}: the server does not let the role {} in: {why}: {remedy}", url.role_name()))
}
