//! A started connection to a server: who connects, what is asked, and what the server says.

use super::auth;
use super::row::{Form, Row, column_type, length, nonsense};
use super::wire::Wire;
use crate::fault::Fault;
use crate::trouble::Trouble;
use crate::url::MysqlUrl;
use bytes::{Buf, BufMut, Bytes, BytesMut};
use std::fmt;
use std::io;
use std::sync::Arc;

/// Why a question has no answer.
#[derive(Debug)]
pub(super) enum Failed {
    /// The server refused it.
    Server(Refusal),
    /// The connection is gone, or what came over it makes no sense.
    Lost(io::Error),
}

/// An error as the server reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    /// The server's number of the error (MariaDB's manual, "Error Codes").
    pub(super) code: u16,
    /// The code of the SQL standard, or one of ours.
    pub(super) state: String,
    pub(super) message: String,
}

/// Deadlock; a lock that took too long, which undoes one statement only; a row that changed since the snapshot.
const AGAIN: [u16; 3] = [1213, 1205, 1020];
/// The statement was ended from outside, or took longer than it may, which can happen after a commit too.
const ENDED: [u16; 5] = [1053, 1317, 1927, 1969, 4031];
/// Of these, the ones after which the server ends the connection.
const ENDS: [u16; 3] = [1053, 1927, 4031];

/// The state of an error of our procedures: a row that must exist.
const MISSING_ROW: &str = "AS002";

impl Refusal {
    fn read(packet: &[u8]) -> Refusal {
        let mut rest = packet.get(1..).unwrap_or_default();
        let code = rest.try_get_u16_le().unwrap_or(0);
        let (state, message) = match rest.strip_prefix(b"#").and_then(|it| it.split_at_checked(5)) {
            Some((state, message)) => (state, message),
            None => (&b""[..], rest),
        };
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        Refusal { code, state: text(state), message: text(message) }
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failed::Server(Refusal { code, message, .. }) => write!(out, "{code}: {message}"),
            Failed::Lost(why) => write!(out, "the connection was lost: {why}"),
        }
    }
}

impl From<io::Error> for Failed {
    fn from(why: io::Error) -> Failed {
        Failed::Lost(why)
    }
}

impl Failed {
    /// The server's code, or 0.
    pub(super) fn code(&self) -> u16 {
        match self {
            Failed::Server(refusal) => refusal.code,
            Failed::Lost(_) => 0,
        }
    }

    /// Whether the server may have done what it was asked for nevertheless, if this was its last statement.
    pub(super) fn is_ambiguous(&self) -> bool {
        matches!(self, Failed::Lost(_)) || ENDED.contains(&self.code())
    }

    /// As the end of a transaction, of which the server has not been told to commit anything.
    pub(super) fn fault(&self) -> Fault {
        match self {
            Failed::Server(Refusal { state, message, .. }) if state == MISSING_ROW => Fault::missing_row(message),
            Failed::Server(Refusal { code, message, .. }) => {
                Fault { code: code.to_string(), text: message.clone(), again: AGAIN.contains(code) }
            }
            Failed::Lost(why) => Fault { code: Fault::LOST.to_owned(), text: why.to_string(), again: false },
        }
    }
}

/// What a statement answered.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) rows: Vec<Row>,
    /// How many rows a statement that writes found.
    pub(super) changed: u64,
}

impl Answer {
    /// The only row.
    pub(super) fn one(&self) -> Option<&Row> {
        self.rows.first()
    }
}

/// What the two sides can do (`mysql_com.h`): changed rows are those that were found, several statements in one question
/// and several answers, and files from memory.
const FOUND_ROWS: u32 = 1 << 1;
const LOCAL_FILES: u32 = 1 << 7;
const PROTOCOL_41: u32 = 1 << 9;
const TLS: u32 = 1 << 11;
const SECURE_CONNECTION: u32 = 1 << 15;
const MULTI: u32 = 0b111 << 16;
const PLUGIN_AUTH: u32 = 1 << 19;
const WANTED: u32 = 1 << 2 | 1 << 13 | FOUND_ROWS | LOCAL_FILES | PROTOCOL_41 | SECURE_CONNECTION | MULTI | PLUGIN_AUTH;
/// utf8mb4_general_ci: the name of the user is text in UTF-8.
const UTF8: u8 = 45;
/// Another answer follows.
const MORE: u16 = 1 << 3;

const QUERY: u8 = 0x03;
const PREPARE: u8 = 0x16;
const EXECUTE: u8 = 0x17;
/// The types of parameters: text, and a number of 64 bits (`field_types.h`).
const TEXT: u16 = 253;
const LONGLONG: u16 = 8;

/// A parameter of a prepared statement.
#[derive(Clone, Copy, Debug)]
pub(super) enum Bound<'a> {
    Null,
    Int(i64),
    Text(&'a str),
}

/// A statement that the server has prepared for this connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prepared(u32);

/// The first words of a server.
struct Greeting {
    thread: u32,
    capabilities: u32,
    scramble: Vec<u8>,
    way: String,
}

impl Greeting {
    fn read(packet: &[u8]) -> Result<Greeting, Failed> {
        if packet.first() == Some(&0xff) {
            return Err(Failed::Server(Refusal::read(packet)));
        }
        let read = || {
            let mut rest = packet.strip_prefix(&[10])?;
            text(&mut rest)?;
            let thread = rest.try_get_u32_le().ok()?;
            let mut scramble = rest.get(..8)?.to_vec();
            rest = rest.get(9..)?;
            let low = rest.try_get_u16_le().ok()?;
            rest = rest.get(3..)?;
            let high = rest.try_get_u16_le().ok()?;
            let more = usize::from(rest.try_get_u8().ok()?).saturating_sub(9).max(12);
            rest = rest.get(10..)?;
            scramble.extend_from_slice(rest.get(..more)?);
            rest = rest.get(more + 1..).unwrap_or_default();
            let way = text(&mut rest).unwrap_or_default();
            Some(Greeting { thread, capabilities: u32::from(low) | u32::from(high) << 16, scramble, way })
        };
        read().ok_or_else(|| nonsense("this is not the greeting of a MySQL or MariaDB server").into())
    }
}

/// Takes a text up to its zero byte.
fn text(bytes: &mut &[u8]) -> Option<String> {
    let end = bytes.iter().position(|byte| *byte == 0)?;
    let found = String::from_utf8_lossy(&bytes[..end]).into_owned();
    *bytes = &bytes[end + 1..];
    Some(found)
}

/// What begins the client's first packet, which is also the question for encryption.
fn introduction(capabilities: u32, out: &mut BytesMut) {
    out.put_u32_le(capabilities);
    out.put_u32_le(1 << 24);
    out.put_u8(UTF8);
    out.put_bytes(0, 23);
}

/// A connection that may be asked.
pub(super) struct Link {
    wire: Wire,
    /// The number by which the server knows the connection.
    pub(super) thread: u32,
    /// Whether the connection is gone.
    pub(super) broken: bool,
    /// How many statements of the last question were answered.
    pub(super) answered: usize,
}

impl fmt::Debug for Link {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Link").field("thread", &self.thread).field("broken", &self.broken).finish_non_exhaustive()
    }
}

/// A file that the server may ask for, by its name, because the question named it.
type Offered<'a> = Option<(&'a str, &'a [u8])>;

impl Link {
    /// Connects as the user of the URL.
    pub(super) fn open(url: &MysqlUrl) -> Result<Link, Trouble> {
        let ask_for_tls = |greeting: &Bytes, out: &mut BytesMut| {
            let greeting = Greeting::read(greeting).map_err(|_| "the server does not greet")?;
            if greeting.capabilities & TLS == 0 {
                return Err("the server has no encryption");
            }
            introduction(WANTED | TLS, out);
            Ok(())
        };
        let (wire, greeting) = Wire::open(url, ask_for_tls)?;
        let mut link = Link { wire, thread: 0, broken: false, answered: 0 };
        link.start(url, &greeting).map_err(|why| refused_at_start(url, &why))?;
        Ok(link)
    }

    fn start(&mut self, url: &MysqlUrl, greeting: &[u8]) -> Result<(), Failed> {
        let Greeting { thread, capabilities, scramble, way } = Greeting::read(greeting)?;
        if capabilities & WANTED & !LOCAL_FILES != WANTED & !LOCAL_FILES {
            return Err(nonsense("the server is too old").into());
        }
        self.thread = thread;
        let password = url.password.as_ref().map(|it| it.secret());
        // A way that is not known is answered when the server asks for it, which it may not do for this user.
        let (way, proof) = match auth::answer(&way, &scramble, password) {
            Ok(proof) => (way, proof),
            Err(_) => (auth::NATIVE.to_owned(), Vec::new()),
        };
        let tls = if url.verifies() { TLS } else { 0 };
        let mut out = BytesMut::new();
        introduction(WANTED & (capabilities | !LOCAL_FILES) | tls, &mut out);
        out.put_slice(url.user().as_bytes());
        out.put_u8(0);
        out.put_u8(proof.len() as u8);
        out.put_slice(&proof);
        out.put_slice(way.as_bytes());
        out.put_u8(0);
        self.wire.send(&out)?;
        self.authenticate(password)?;
        Ok(self.wire.is_started()?)
    }

    /// Answers until the server lets the user in.
    fn authenticate(&mut self, password: Option<&[u8]>) -> Result<(), Failed> {
        let denied = |message: String| Failed::Server(Refusal { code: 1045, state: "28000".into(), message });
        loop {
            let packet = self.wire.receive()?;
            match packet.first() {
                Some(0x00) => return Ok(()),
                Some(0xff) => return Err(Failed::Server(Refusal::read(&packet))),
                Some(0xfe) => {
                    let mut rest = &packet[1..];
                    let way = text(&mut rest).ok_or_else(|| denied("the server asks for old passwords".into()))?;
                    let scramble = rest.strip_suffix(&[0]).unwrap_or(rest);
                    let proof = auth::answer(&way, scramble, password).map_err(denied)?;
                    self.wire.send(&proof)?;
                }
                _ => return Err(denied("the server asks for more than this program knows".into())),
            }
        }
    }

    /// The number of the server's process behind a socket on this host, where it tells.
    pub(super) fn peer(&self) -> Option<i32> {
        self.wire.peer
    }

    /// Asks for statements that are written out, and answers the rows of all of them. The server carries them out in
    /// their order and stops at the first that fails.
    pub(super) fn simple(&mut self, sql: &str) -> Result<Vec<Answer>, Failed> {
        self.ask(&[&[QUERY], sql.as_bytes()].concat(), None, false)
    }

    /// As [`Link::simple`], for statements without answers.
    pub(super) fn run(&mut self, sql: &str) -> Result<(), Failed> {
        self.simple(sql).map(drop)
    }

    /// As [`Link::simple`], for a statement that reads a file from memory, by this name.
    pub(super) fn run_with(&mut self, sql: &str, name: &str, file: &[u8]) -> Result<(), Failed> {
        self.ask(&[&[QUERY], sql.as_bytes()].concat(), Some((name, file)), false).map(drop)
    }

    /// Has a statement prepared.
    pub(super) fn prepare(&mut self, sql: &str) -> Result<Prepared, Failed> {
        let prepared = self.prepared(sql);
        self.noted(prepared)
    }

    fn prepared(&mut self, sql: &str) -> Result<Prepared, Failed> {
        self.wire.ask(&[&[PREPARE], sql.as_bytes()].concat())?;
        let packet = self.wire.receive()?;
        if packet.first() == Some(&0xff) {
            return Err(Failed::Server(Refusal::read(&packet)));
        }
        let mut rest = packet.get(1..9).ok_or_else(|| nonsense("a prepared statement has no number"))?;
        let (number, columns, parameters) = (rest.get_u32_le(), rest.get_u16_le(), rest.get_u16_le());
        for definitions in [parameters, columns].into_iter().filter(|definitions| *definitions > 0) {
            // One more: the packet that ends them.
            for _ in 0..=definitions {
                self.wire.receive()?;
            }
        }
        Ok(Prepared(number))
    }

    /// Executes a prepared statement.
    pub(super) fn execute(&mut self, statement: Prepared, values: &[Bound<'_>]) -> Result<Vec<Answer>, Failed> {
        let mut out = BytesMut::with_capacity(256);
        out.put_u8(EXECUTE);
        out.put_u32_le(statement.0);
        out.put_u8(0);
        out.put_u32_le(1);
        let nulls = out.len();
        out.put_bytes(0, values.len().div_ceil(8));
        out.put_u8(1);
        for value in values {
            out.put_u16_le(if matches!(value, Bound::Int(_)) { LONGLONG } else { TEXT });
        }
        for (at, value) in values.iter().enumerate() {
            match value {
                Bound::Null => out[nulls + at / 8] |= 1 << (at % 8),
                Bound::Int(number) => out.put_i64_le(*number),
                Bound::Text(text) => {
                    put_length(text.len(), &mut out);
                    out.put_slice(text.as_bytes());
                }
            }
        }
        self.ask(&out, None, true)
    }

    /// Sends, and reads all answers. A failure to send is not the end: the server may have said why.
    fn ask(&mut self, question: &[u8], offered: Offered<'_>, binary: bool) -> Result<Vec<Answer>, Failed> {
        self.answered = 0;
        let sent = self.wire.ask(question);
        let answered = self.answers(offered, binary);
        let answered = match (answered, sent) {
            (Err(Failed::Lost(_)), Err(why)) => Err(Failed::Lost(why)),
            (answered, _) => answered,
        };
        self.noted(answered)
    }

    /// Notes whether the connection is gone.
    fn noted<T>(&mut self, answered: Result<T, Failed>) -> Result<T, Failed> {
        self.broken |= match &answered {
            Ok(_) => false,
            Err(Failed::Lost(_)) => true,
            Err(Failed::Server(refusal)) => ENDS.contains(&refusal.code),
        };
        answered
    }

    fn answers(&mut self, offered: Offered<'_>, binary: bool) -> Result<Vec<Answer>, Failed> {
        let mut answers = Vec::new();
        loop {
            let packet = self.wire.receive()?;
            let (answer, status) = match packet.first() {
                Some(0x00) => changed(&packet)?,
                Some(0xff) => return Err(Failed::Server(Refusal::read(&packet))),
                Some(0xfb) => {
                    self.file(&packet[1..], offered)?;
                    continue;
                }
                _ => self.rows(&packet, binary)?,
            };
            answers.push(answer);
            self.answered += 1;
            if status & MORE == 0 {
                return Ok(answers);
            }
        }
    }

    /// Sends the file that was offered, and nothing if the server asks for another one.
    fn file(&mut self, asked: &[u8], offered: Offered<'_>) -> Result<(), Failed> {
        let is_offered = offered.filter(|(name, _)| name.as_bytes() == asked);
        for chunk in is_offered.into_iter().flat_map(|(_, file)| file.chunks(CHUNK)) {
            self.wire.send(chunk)?;
        }
        self.wire.send(&[])?;
        if is_offered.is_some() { Ok(()) } else { Err(nonsense("it asks for a file that was not offered").into()) }
    }

    /// The rows of an answer, behind the definitions of its columns.
    fn rows(&mut self, packet: &[u8], binary: bool) -> Result<(Answer, u16), Failed> {
        let columns = length(&mut &packet[..])?.ok_or_else(|| nonsense("it has no columns"))? as usize;
        let mut types = Vec::new();
        for _ in 0..columns {
            types.push(column_type(&self.wire.receive()?)?);
        }
        self.wire.receive()?;
        let form = if binary { Form::Binary(Arc::from(types)) } else { Form::Text };
        let mut rows = Vec::new();
        loop {
            let packet = self.wire.receive()?;
            match packet.first() {
                // A length of eight bytes begins with the same byte.
                Some(0xfe) if packet.len() < 9 => {
                    let status = packet.get(3..5).ok_or_else(|| nonsense("its end is cut"))?.get_u16_le();
                    return Ok((Answer { rows, changed: 0 }, status));
                }
                Some(0xff) => return Err(Failed::Server(Refusal::read(&packet))),
                _ => rows.push(Row::of(packet, columns, form.clone())?),
            }
        }
    }

    /// From here on an answer is waited for as long as at the start only.
    pub(super) fn hurry(&self) {
        // Without the limit the answer is waited for as before.
        let _ = self.wire.is_hurried();
    }
}

/// As much of a file as is sent with one system call.
const CHUNK: usize = 256 << 10;

/// What a statement without rows answers.
fn changed(packet: &[u8]) -> io::Result<(Answer, u16)> {
    let mut rest = &packet[1..];
    let changed = length(&mut rest)?.unwrap_or(0);
    length(&mut rest)?;
    let status = rest.try_get_u16_le().map_err(|_| nonsense("it has no status"))?;
    Ok((Answer { rows: Vec::new(), changed }, status))
}

fn put_length(length: usize, out: &mut BytesMut) {
    match length {
        0..=250 => out.put_u8(length as u8),
        251..=0xffff => {
            out.put_u8(0xfc);
            out.put_u16_le(length as u16);
        }
        _ => {
            out.put_u8(0xfe);
            out.put_u64_le(length as u64);
        }
    }
}

/// What a refusal at the start means, and what to do.
fn refused_at_start(url: &MysqlUrl, why: &Failed) -> Trouble {
    let remedy = match why.code() {
        1045 | 1698 => "set MYSQL_PWD, or write password_file=FILE, or let the user in (CREATE USER)",
        1040 | 1203 => "let the server take more connections (max_connections)",
        1130 => "let the user in from this host (CREATE USER)",
        _ => "see the server's log",
    };
    Trouble::host(format!("{url}: the server does not let the user {} in: {why}: {remedy}", url.user()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_greeting_as_mariadb_sends_it() {
        let mut packet = b"\x0a5.5.5-10.11.19-MariaDB\0\x07\0\0\0abcdefgh\0".to_vec();
        packet.extend_from_slice(b"\xfe\xf7\x2d\x02\x00\xff\x81\x15");
        packet.extend_from_slice(&[0; 10]);
        packet.extend_from_slice(b"ijklmnopqrst\0mysql_native_password\0");
        let greeting = Greeting::read(&packet).unwrap();
        assert_eq!((greeting.thread, greeting.scramble.as_slice()), (7, &b"abcdefghijklmnopqrst"[..]));
        assert_eq!((greeting.capabilities, greeting.way.as_str()), (0x81ff_f7fe, "mysql_native_password"));
        for cut in 0..packet.len() - 24 {
            assert!(Greeting::read(&packet[..cut]).is_err(), "{cut}");
        }
        let refusal = Greeting::read(b"\xff\x10\x04Too many connections").err().map(|why| why.to_string());
        assert_eq!(refusal.as_deref(), Some("1040: Too many connections"));
    }

    #[test]
    fn errors_say_whether_they_may_be_tried_again_and_whether_they_leave_a_doubt() {
        for (code, again, ambiguous) in
            [(1213, true, false), (1205, true, false), (1020, true, false), (1114, false, false), (1317, false, true)]
        {
            let mut packet = vec![0xff];
            packet.put_u16_le(code);
            packet.put_slice(b"#HY000why");
            let failed = Failed::Server(Refusal::read(&packet));
            let fault = failed.fault();
            assert_eq!((fault.code, fault.text.as_str(), fault.again), (code.to_string(), "why", again));
            assert_eq!(failed.is_ambiguous(), ambiguous, "{code}");
        }
        let missing = Failed::Server(Refusal::read(b"\xff\x6c\x06#AS002stock")).fault();
        assert_eq!((missing.code.as_str(), missing.text.as_str()), (Fault::MISSING_ROW, "there is no stock"));
    }
}
