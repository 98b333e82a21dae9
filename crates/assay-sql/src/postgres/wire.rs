//! Messages of PostgreSQL's protocol over a socket, encrypted or not, in both directions.
//!
//! A session writes what it wants to ask and then reads all answers. It has nothing else to do meanwhile, so that it needs
//! no runtime: either its thread waits, or one thread waits for many sessions with `poll`.

use crate::socket::{self, START, Stream, tcp};
use crate::trouble::Trouble;
use crate::url::{Host, PostgresUrl};
use bytes::BytesMut;
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// A connection on the level of messages.
pub(super) struct Wire {
    stream: Stream,
    incoming: BytesMut,
    /// What is to be sent; callers append to it.
    pub(super) outgoing: BytesMut,
    /// Whether reading and writing wait.
    waits: bool,
}

impl Wire {
    /// Connects, and encrypts the connection where the URL wants that.
    pub(super) fn open(url: &PostgresUrl) -> Result<Wire, Trouble> {
        let failed = |why: io::Error| {
            Trouble::host(format!("{url}: the server cannot be reached: {why}: is it running, and is the host right?"))
        };
        let stream = match &url.host {
            Host::Socket(directory) => {
                let path = directory.join(format!(".s.PGSQL.{}", url.port));
                if url.verifies() {
                    return Err(Trouble::usage(format!("{url}: a socket is not encrypted: leave out tls=verify")));
                }
                Stream::Unix(UnixStream::connect(path).map_err(failed)?)
            }
            Host::Network(name) => {
                let stream = tcp(name, url.port).map_err(failed)?;
                if url.verifies() { encrypted(stream, name, url)? } else { Stream::Tcp(stream) }
            }
        };
        stream.set_patience(Some(START)).map_err(failed)?;
        Ok(Wire { stream, incoming: BytesMut::new(), outgoing: BytesMut::new(), waits: true })
    }

    /// From here on an answer may take as long as it takes.
    pub(super) fn is_started(&self) -> io::Result<()> {
        self.stream.set_patience(None)
    }

    /// From here on an answer is waited for as long as at the start only.
    pub(super) fn is_hurried(&self) -> io::Result<()> {
        self.stream.set_patience(Some(START))
    }

    /// Whether what is sent and received can be read by others on the way.
    pub(super) fn is_private(&self, url: &PostgresUrl) -> bool {
        url.is_local() || matches!(self.stream, Stream::Tls(_))
    }

    /// From here on reading and writing wait, or do not.
    pub(super) fn set_waiting(&mut self, waits: bool) -> io::Result<()> {
        if self.waits != waits {
            self.stream.set_waiting(waits)?;
            self.waits = waits;
        }
        Ok(())
    }

    /// Sends as much of what was appended as the connection takes.
    pub(super) fn send_now(&mut self) -> io::Result<()> {
        self.stream.write_now(&mut self.outgoing)
    }

    /// Whether something is left to be sent.
    pub(super) fn has_more(&self) -> bool {
        !self.outgoing.is_empty() || self.stream.has_more()
    }

    /// Reads what has arrived.
    pub(super) fn receive_now(&mut self) -> io::Result<()> {
        self.stream.receive_now(&mut self.incoming)
    }

    /// The next message, if it has arrived whole.
    pub(super) fn next(&mut self) -> io::Result<Option<Message>> {
        Message::parse(&mut self.incoming)
    }

    /// Where messages arrive.
    pub(super) fn socket(&self) -> BorrowedFd<'_> {
        self.stream.socket()
    }

    /// Sends all that was appended.
    pub(super) fn send(&mut self) -> io::Result<()> {
        let sent = self.stream.write_all(&self.outgoing);
        self.outgoing.clear();
        sent
    }

    /// Waits for a message. A connection that the other side has closed is an error.
    pub(super) fn receive(&mut self) -> io::Result<Message> {
        loop {
            if let Some(message) = self.next()? {
                return Ok(message);
            }
            self.stream.receive(&mut self.incoming)?;
        }
    }
}

impl Drop for Wire {
    /// Says farewell, without which the server logs an error.
    fn drop(&mut self) {
        self.outgoing.clear();
        frontend::terminate(&mut self.outgoing);
        let _ = self.stream.set_patience(Some(Duration::from_secs(1)));
        let _ = self.send();
    }
}

/// Asks the server for encryption.
fn encrypted(mut stream: TcpStream, name: &str, url: &PostgresUrl) -> Result<Stream, Trouble> {
    let failed = |why: &dyn std::fmt::Display| {
        Trouble::host(format!("{url}: the connection cannot be encrypted: {why}: tls=off does without"))
    };
    let mut asked = BytesMut::new();
    frontend::ssl_request(&mut asked);
    let mut answer = [0];
    stream.set_read_timeout(Some(START)).map_err(|why| failed(&why))?;
    stream.write_all(&asked).and_then(|()| stream.read_exact(&mut answer)).map_err(|why| failed(&why))?;
    if answer != *b"S" {
        return Err(failed(&"the server has no encryption"));
    }
    socket::encrypted(stream, name, url.roots.as_deref()).map_err(|why| failed(&why))
}
