//! A connection to a server: login, questions and answers.

use super::auth;
use super::failed::{Failed, Refusal};
use super::flight::{Answer, Flight};
use super::row::unreadable_answer;
use super::wire::Wire;
use crate::trouble::Trouble;
use crate::url::MysqlUrl;
use bytes::{Buf, BufMut, Bytes, BytesMut};
use std::fmt;
use std::io;
use std::os::fd::BorrowedFd;

/// Capabilities of the two sides (`mysql_com.h`). Among them: the server counts rows that were found, not only changed
/// ones; a question may have several statements and answers; files are sent from memory.
const FOUND_ROWS: u32 = 1 << 1;
const LOCAL_FILES: u32 = 1 << 7;
const PROTOCOL_41: u32 = 1 << 9;
const TLS: u32 = 1 << 11;
const SECURE_CONNECTION: u32 = 1 << 15;
const MULTI: u32 = 0b111 << 16;
const PLUGIN_AUTH: u32 = 1 << 19;
const WANTED: u32 = 1 << 2 | 1 << 13 | FOUND_ROWS | LOCAL_FILES | PROTOCOL_41 | SECURE_CONNECTION | MULTI | PLUGIN_AUTH;
/// The collation utf8mb4_general_ci: the user's name is sent in UTF-8.
const UTF8: u8 = 45;

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

/// The first packet that a server sends.
struct Greeting {
    thread: u32,
    capabilities: u32,
    scramble: Vec<u8>,
    way: String,
}

impl Greeting {
    fn from_packet(packet: &[u8]) -> Result<Greeting, Failed> {
        if packet.first() == Some(&0xff) {
            return Err(Failed::Server(Refusal::from_packet(packet)));
        }
        Greeting::parse_packet(packet)
            .ok_or_else(|| unreadable_answer("this is not the greeting of a MySQL or MariaDB server").into())
    }

    /// The parts of a greeting that are used here.
    fn parse_packet(packet: &[u8]) -> Option<Greeting> {
        let mut rest = packet.strip_prefix(&[10])?;
        take_text(&mut rest)?;
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
        let way = take_text(&mut rest).unwrap_or_default();
        Some(Greeting { thread, capabilities: u32::from(low) | u32::from(high) << 16, scramble, way })
    }
}

/// Removes a text that ends with a zero byte from the beginning of `bytes`, and returns it.
fn take_text(bytes: &mut &[u8]) -> Option<String> {
    let end = bytes.iter().position(|byte| *byte == 0)?;
    let found = String::from_utf8_lossy(&bytes[..end]).into_owned();
    *bytes = &bytes[end + 1..];
    Some(found)
}

/// Writes the beginning of the client's first packet. Alone, it asks the server for encryption.
fn write_introduction(capabilities: u32, out: &mut BytesMut) {
    out.put_u32_le(capabilities);
    out.put_u32_le(1 << 24);
    out.put_u8(UTF8);
    out.put_bytes(0, 23);
}

/// A connection that accepts questions.
pub(super) struct Link {
    wire: Wire,
    /// The number by which the server knows the connection.
    pub(super) thread: u32,
    /// Whether the connection has ended.
    pub(super) broken: bool,
    /// Number of statements of the last question that the server has answered.
    pub(super) answered: usize,
    /// The answers to the last question, as long as they are not complete.
    flight: Option<Flight>,
}

impl fmt::Debug for Link {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Link").field("thread", &self.thread).field("broken", &self.broken).finish_non_exhaustive()
    }
}

/// Name and content of the file that the question names: the server may ask for this file only.
type Offered<'a> = Option<(&'a str, &'a [u8])>;

impl Link {
    /// Connects as the user of the URL.
    pub(super) fn open_connection(url: &MysqlUrl) -> Result<Link, Trouble> {
        let (wire, greeting) = Wire::open_wire(url, ask_for_tls)?;
        let mut link = Link { wire, thread: 0, broken: false, answered: 0, flight: None };
        link.start_session(url, &greeting).map_err(|why| refused_at_start(url, &why))?;
        Ok(link)
    }

    fn start_session(&mut self, url: &MysqlUrl, greeting: &[u8]) -> Result<(), Failed> {
        let Greeting { thread, capabilities, scramble, way } = Greeting::from_packet(greeting)?;
        if capabilities & WANTED & !LOCAL_FILES != WANTED & !LOCAL_FILES {
            return Err(unreadable_answer("the server is too old").into());
        }
        self.thread = thread;
        let password = url.password.as_ref().map(|password| password.secret_bytes());
        // The greeting names the server's usual method. If this program does not know it, the server may still ask for
        // another one for this user.
        let (way, proof) = match auth::authentication_proof(&way, &scramble, password) {
            Ok(proof) => (way, proof),
            Err(_) => (auth::NATIVE.to_owned(), Vec::new()),
        };
        let tls = if url.verifies_server() { TLS } else { 0 };
        let mut out = BytesMut::new();
        write_introduction(WANTED & (capabilities | !LOCAL_FILES) | tls, &mut out);
        out.put_slice(url.user_name().as_bytes());
        out.put_u8(0);
        out.put_u8(proof.len() as u8);
        out.put_slice(&proof);
        out.put_slice(way.as_bytes());
        out.put_u8(0);
        self.wire.send_payload(&out)?;
        self.authenticate_user(password)?;
        Ok(self.wire.line.is_started()?)
    }

    /// Answers what the server asks for until it accepts the user.
    fn authenticate_user(&mut self, password: Option<&[u8]>) -> Result<(), Failed> {
        let denied = |message: String| Failed::Server(Refusal { code: 1045, state: "28000".into(), message });
        loop {
            let packet = self.wire.receive_payload()?;
            match packet.first() {
                Some(0x00) => return Ok(()),
                Some(0xff) => return Err(Failed::Server(Refusal::from_packet(&packet))),
                Some(0xfe) => {
                    let mut rest = &packet[1..];
                    let way = take_text(&mut rest).ok_or_else(|| denied("the server asks for old passwords".into()))?;
                    let scramble = rest.strip_suffix(&[0]).unwrap_or(rest);
                    let proof = auth::authentication_proof(&way, scramble, password).map_err(denied)?;
                    self.wire.send_payload(&proof)?;
                }
                _ => return Err(denied("the server asks for more than this program knows".into())),
            }
        }
    }

    /// The number of the server's process, if the connection is a socket of this host and the number is known.
    pub(super) fn peer_process(&self) -> Option<i32> {
        self.wire.line.peer_process()
    }

    /// Sends statements as text, and returns the answers to all of them. The server executes them in their order and
    /// stops at the first that fails.
    pub(super) fn query_text(&mut self, sql: &str) -> Result<Vec<Answer>, Failed> {
        self.ask_and_wait(&[&[QUERY], sql.as_bytes()].concat(), None, false)
    }

    /// Runs statements as [`Link::query_text`] does, whose answers are not needed.
    pub(super) fn run_statements(&mut self, sql: &str) -> Result<(), Failed> {
        self.query_text(sql).map(drop)
    }

    /// Runs a statement as [`Link::query_text`] does that reads the file `name`, whose content is sent from memory.
    pub(super) fn run_with(&mut self, sql: &str, name: &str, file: &[u8]) -> Result<(), Failed> {
        self.ask_and_wait(&[&[QUERY], sql.as_bytes()].concat(), Some((name, file)), false).map(drop)
    }

    /// Lets the server prepare a statement.
    pub(super) fn prepare_statement(&mut self, sql: &str) -> Result<Prepared, Failed> {
        let prepared = self.prepare_and_read(sql);
        self.mark_broken(prepared)
    }

    fn prepare_and_read(&mut self, sql: &str) -> Result<Prepared, Failed> {
        self.wire.send_question(&[&[PREPARE], sql.as_bytes()].concat())?;
        let packet = self.wire.receive_payload()?;
        if packet.first() == Some(&0xff) {
            return Err(Failed::Server(Refusal::from_packet(&packet)));
        }
        let mut rest = packet.get(1..9).ok_or_else(|| unreadable_answer("a prepared statement has no number"))?;
        let (number, columns, parameters) = (rest.get_u32_le(), rest.get_u16_le(), rest.get_u16_le());
        for definitions in [parameters, columns].into_iter().filter(|definitions| *definitions > 0) {
            // One packet more ends the definitions.
            for _ in 0..=definitions {
                self.wire.receive_payload()?;
            }
        }
        Ok(Prepared(number))
    }

    /// Executes a prepared statement.
    pub(super) fn execute_prepared(
        &mut self,
        statement: Prepared,
        values: &[Bound<'_>],
    ) -> Result<Vec<Answer>, Failed> {
        self.ask_and_wait(&execution_request(statement, values), None, true)
    }

    /// Begins as [`Link::execute_prepared`] does, without blocking: [`Link::read_arrived`] reads the answers, and [`Link::take_answers`]
    /// returns them.
    pub(super) fn take_off(&mut self, statement: Prepared, values: &[Bound<'_>]) {
        let sent =
            self.wire.line.set_waiting(false).and_then(|()| self.wire.ask_now(&execution_request(statement, values)));
        self.flight = Some(Flight::new(true, sent.err()));
    }

    /// Whether a part of the question is not sent yet.
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
            let packet = match self.wire.next() {
                Some(packet) => Ok(packet),
                None => Err(self.flight.as_mut()?.ended.take()?),
            };
            if let Some(done) = self.take_packet(packet) {
                return Some(done);
            }
        }
    }

    /// Whether the last question is not answered completely. No other question can be sent meanwhile.
    pub(super) fn is_flying(&self) -> bool {
        self.flight.is_some()
    }

    /// The socket at which answers arrive.
    pub(super) fn answer_socket(&self) -> BorrowedFd<'_> {
        self.wire.line.answer_socket()
    }

    /// Ends the connection at once. The server then rolls its transaction back and releases its locks.
    pub(super) fn cut_connection(&mut self) {
        self.wire.line.cut_connection();
        self.broken = true;
    }

    /// Sends a question, and waits for all answers.
    fn ask_and_wait(&mut self, question: &[u8], offered: Offered<'_>, binary: bool) -> Result<Vec<Answer>, Failed> {
        let sent = self.wire.line.set_waiting(true).and_then(|()| self.wire.send_question(question));
        self.flight = Some(Flight::new(binary, sent.err()));
        loop {
            let packet = self.wire.receive_payload();
            let asked =
                packet.as_ref().ok().zip(self.flight.as_ref()).and_then(|(packet, flight)| flight.asks_for(packet));
            let packet = match asked {
                Some(name) => match self.send_file(name, offered) {
                    Ok(()) => continue,
                    Err(why) => Err(why),
                },
                None => packet,
            };
            if let Some(done) = self.take_packet(packet) {
                return done;
            }
        }
    }

    /// Processes one packet, or the end of the connection. Returns the result when the last answer is complete.
    fn take_packet(&mut self, packet: io::Result<Bytes>) -> Option<Result<Vec<Answer>, Failed>> {
        let flight = self.flight.as_mut()?;
        let done = match packet.map_err(Failed::Lost).and_then(|packet| flight.take_packet(packet)) {
            Ok(false) => return None,
            Ok(true) => Ok(std::mem::take(&mut flight.answers)),
            // If sending has failed before, that error is the reason.
            Err(Failed::Lost(why)) => Err(Failed::Lost(flight.unsent.take().unwrap_or(why))),
            Err(refused) => Err(refused),
        };
        self.answered = done.as_ref().map_or(flight.answers.len(), Vec::len);
        self.flight = None;
        Some(self.mark_broken(done))
    }

    /// Marks the connection as broken if this error ends it.
    fn mark_broken<T>(&mut self, answered: Result<T, Failed>) -> Result<T, Failed> {
        self.broken |= answered.as_ref().is_err_and(Failed::ends_connection);
        answered
    }

    /// Sends the file that was offered. If the server asks for another one, the file is empty and the result is an
    /// error.
    fn send_file(&mut self, asked: &[u8], offered: Offered<'_>) -> io::Result<()> {
        let is_offered = offered.filter(|(name, _)| name.as_bytes() == asked);
        for chunk in is_offered.into_iter().flat_map(|(_, file)| file.chunks(CHUNK)) {
            self.wire.send_payload(chunk)?;
        }
        self.wire.send_payload(&[])?;
        if is_offered.is_some() { Ok(()) } else { Err(unreadable_answer("it asks for a file that was not offered")) }
    }

    /// Restores the time limit for answers that applied during the start.
    pub(super) fn restore_time_limit(&self) {
        // If the limit cannot be set, answers may take any time, as before.
        let _ = self.wire.line.is_hurried();
    }
}

/// Bytes of a file in one packet.
const CHUNK: usize = 256 << 10;

/// The question that executes a prepared statement.
fn execution_request(statement: Prepared, values: &[Bound<'_>]) -> BytesMut {
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
    out
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

/// The message about a refusal at the start: what it means, and what to do.
fn refused_at_start(url: &MysqlUrl, why: &Failed) -> Trouble {
    let remedy = match why.error_code() {
        1045 | 1698 => "set MYSQL_PWD, or write password_file=FILE, or let the user in (CREATE USER)",
        1040 | 1203 => "let the server take more connections (max_connections)",
        1130 => "let the user in from this host (CREATE USER)",
        _ => "see the server's log",
    };
    Trouble::host_unable(format!("{url}: the server does not let the user {} in: {why}: {remedy}", url.user_name()))
}

/// Writes the question for encryption, if the server that greets so has it.
fn ask_for_tls(greeting: &Bytes, out: &mut BytesMut) -> Result<(), &'static str> {
    let greeting = Greeting::from_packet(greeting).map_err(|_| "the server does not greet")?;
    if greeting.capabilities & TLS == 0 {
        return Err("the server has no encryption");
    }
    write_introduction(WANTED | TLS, out);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::url::Url;
    use std::io::{Read, Write};
    use std::os::unix::net::{UnixListener, UnixStream};

    /// The first words of a server that can do all that is wanted.
    fn greets() -> Vec<u8> {
        let mut packet = b"\x0a5.5.5-10.11.19-MariaDB\0\x07\0\0\0abcdefgh\0".to_vec();
        packet.extend_from_slice(b"\xfe\xf7\x2d\x02\x00\xff\x81\x15");
        packet.extend_from_slice(&[0; 10]);
        packet.extend_from_slice(b"ijklmnopqrst\0mysql_native_password\0");
        packet
    }

    fn say(stream: &mut UnixStream, number: u8, payload: &[u8]) {
        let head = [payload.len() as u8, 0, 0, number];
        stream.write_all(&[&head, payload].concat()).unwrap();
    }

    fn hear(stream: &mut UnixStream) {
        let mut head = [0; 4];
        stream.read_exact(&mut head).unwrap();
        stream.read_exact(&mut vec![0; usize::from(head[0]) | usize::from(head[1]) << 8]).unwrap();
    }

    /// Returns what a client sends to a server that answers every question by asking for this file, and may get it.
    fn sent_to_a_server_that_asks_for(
        (file, gets_it): (&[u8], bool),
        client: impl FnOnce(&mut Link) -> Result<(), Failed>,
    ) -> (Result<(), Failed>, Vec<u8>) {
        const DONE: &[u8] = b"\0\0\0\x02\0\0\0";
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("socket");
        let listener = UnixListener::bind(&socket).unwrap();
        let asks = [&b"\xfb"[..], file].concat();
        let server = std::thread::spawn(move || {
            let mut stream = listener.accept().unwrap().0;
            say(&mut stream, 0, &greets());
            hear(&mut stream);
            say(&mut stream, 2, DONE);
            hear(&mut stream);
            say(&mut stream, 1, &asks);
            // Who is refused a file finds the connection closed, and has nothing more to say.
            if gets_it {
                say(&mut stream, 3, DONE);
            }
            // A client that sends what it should not waits for an answer; what it has sent is seen then.
            stream.set_read_timeout(Some(std::time::Duration::from_secs(5))).unwrap();
            let mut sent = Vec::new();
            let _ = stream.read_to_end(&mut sent);
            sent
        });
        let Ok(Url::Mysql(url)) = Url::parse_url(&format!("mysql://me@/shop?socket={}", socket.display())) else {
            panic!("this is a URL");
        };
        let mut link = Link::open_connection(&url).unwrap();
        let done = client(&mut link);
        assert_eq!(link.broken, done.is_err());
        drop(link);
        (done, server.join().unwrap())
    }

    /// The protocol lets a server ask for any file of the client, in answer to any question. It gets an empty packet, and
    /// then the farewell.
    #[test]
    fn a_server_that_asks_for_another_file_gets_nothing_of_it() {
        const NOTHING: &[u8] = b"\0\0\0\x02\x01\0\0\0\x01";
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "canary").unwrap();
        let own = file.path().to_str().unwrap().as_bytes();
        let offered = "assay: item of items";
        let near = [&b"assay: item of items2"[..], b"assay: item of item", b"ASSAY: item of items", b""];
        for asked in [&b"/etc/passwd"[..], b"/etc/hostname", own].into_iter().chain(near) {
            let (done, sent) =
                sent_to_a_server_that_asks_for((asked, false), |link| link.run_with("LOAD", offered, b"1\tx\n"));
            let why = done.unwrap_err().to_string();
            assert!(why.contains("asks for a file that was not offered"), "{why}");
            assert_eq!(sent, NOTHING, "{}", String::from_utf8_lossy(asked));
            let (done, sent) = sent_to_a_server_that_asks_for((asked, false), |link| link.run_statements("SELECT 1"));
            assert!(done.is_err() && sent == NOTHING, "{}", String::from_utf8_lossy(asked));
        }
        // The other way round: what was offered is what it gets.
        let (done, sent) = sent_to_a_server_that_asks_for((offered.as_bytes(), true), |link| {
            link.run_with("LOAD", offered, b"1\tx\n")
        });
        done.unwrap();
        assert_eq!(sent, b"\x04\0\0\x021\tx\n\0\0\0\x03\x01\0\0\0\x01");
    }

    #[test]
    fn a_greeting_as_mariadb_sends_it() {
        let packet = greets();
        let greeting = Greeting::from_packet(&packet).unwrap();
        assert_eq!((greeting.thread, greeting.scramble.as_slice()), (7, &b"abcdefghijklmnopqrst"[..]));
        assert_eq!((greeting.capabilities, greeting.way.as_str()), (0x81ff_f7fe, "mysql_native_password"));
        for cut in 0..packet.len() - 24 {
            assert!(Greeting::from_packet(&packet[..cut]).is_err(), "{cut}");
        }
        let refusal = Greeting::from_packet(b"\xff\x10\x04Too many connections").err().map(|why| why.to_string());
        assert_eq!(refusal.as_deref(), Some("1040: Too many connections"));
    }
}
