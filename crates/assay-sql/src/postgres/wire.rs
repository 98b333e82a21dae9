//! Messages of PostgreSQL's protocol over a socket, encrypted or not, in both directions.
//!
//! A session writes what it wants to ask and then reads all answers. It has nothing else to do meanwhile, so that it needs
//! no runtime: either its thread waits, or one thread waits for many sessions with `poll`.

use crate::socket::{self, BufferedConnection, START, Stream, connect_tcp};
use crate::trouble::Trouble;
use crate::url::{Host, PostgresUrl};
use bytes::BytesMut;
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;

/// A connection on the level of messages.
pub(super) struct Wire {
    /// Callers append to what is to be sent.
    pub(super) line: BufferedConnection,
}

impl Wire {
    /// Connects, and encrypts the connection where the URL wants that.
    pub(super) fn open_wire(url: &PostgresUrl) -> Result<Wire, Trouble> {
        let failed = |why: io::Error| {
            Trouble::host_unable(format!(
                "{url}: the server cannot be reached: {why}: is it running, and is the host right?"
            ))
        };
        let stream = match &url.host {
            Host::Socket(directory) => {
                let path = directory.join(format!(".s.PGSQL.{}", url.port));
                if url.verifies_server() {
                    return Err(Trouble::bad_usage(format!("{url}: a socket is not encrypted: leave out tls=verify")));
                }
                Stream::Unix(UnixStream::connect(path).map_err(failed)?)
            }
            Host::Network(name) => {
                let stream = connect_tcp(name, url.port).map_err(failed)?;
                if url.verifies_server() { encrypt_stream(stream, name, url)? } else { Stream::Tcp(stream) }
            }
        };
        Ok(Wire { line: BufferedConnection::new(stream).map_err(failed)? })
    }

    /// Whether what is sent and received can be read by others on the way.
    pub(super) fn is_private(&self, url: &PostgresUrl) -> bool {
        url.is_local() || self.line.is_encrypted()
    }

    /// The next message, if it has arrived whole.
    pub(super) fn next(&mut self) -> io::Result<Option<Message>> {
        Message::parse(&mut self.line.incoming)
    }

    /// Waits for a message. A connection that the other side has closed is an error.
    pub(super) fn receive_message(&mut self) -> io::Result<Message> {
        loop {
            if let Some(message) = self.next()? {
                return Ok(message);
            }
            self.line.receive_some()?;
        }
    }
}

impl Drop for Wire {
    /// Says farewell, without which the server logs an error.
    fn drop(&mut self) {
        self.line.prepare_farewell();
        frontend::terminate(&mut self.line.outgoing);
        let _ = self.line.send_all();
    }
}

/// Asks the server for encryption.
fn encrypt_stream(mut stream: TcpStream, name: &str, url: &PostgresUrl) -> Result<Stream, Trouble> {
    let failed = |why: &dyn std::fmt::Display| {
        Trouble::host_unable(format!("{url}: the connection cannot be encrypted: {why}: tls=off does without"))
    };
    let mut asked = BytesMut::new();
    frontend::ssl_request(&mut asked);
    let mut answer = [0];
    stream.set_read_timeout(Some(START)).map_err(|why| failed(&why))?;
    stream.write_all(&asked).and_then(|()| stream.read_exact(&mut answer)).map_err(|why| failed(&why))?;
    if answer != *b"S" {
        return Err(failed(&"the server has no encryption"));
    }
    socket::encrypt_stream(stream, name, url.roots.as_deref()).map_err(|why| failed(&why))
}
