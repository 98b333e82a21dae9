//! Packets of the client/server protocol of MySQL and MariaDB over a socket, encrypted or not, in both directions.
//!
//! A packet has three bytes of length and one that counts the packets of a question and its answer. A session writes what
//! it wants to ask and then reads all answers; who waits for them is not decided here.

use crate::socket::{self, BufferedConnection, Stream, connect_tcp};
use crate::trouble::Trouble;
use crate::url::{Host, MysqlUrl};
use bytes::{Buf, BufMut, Bytes, BytesMut};
use std::io;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;

/// The longest payload of one packet; one of exactly this length is followed by its rest.
const PACKET_MOST: usize = 0xff_ffff;
const HEAD: usize = 4;

/// A connection that is not encrypted yet, if it ever will be.
enum Plain {
    Unix(UnixStream),
    Tcp(TcpStream),
}

/// A connection on the level of packets.
pub(super) struct Wire {
    pub(super) line: BufferedConnection,
    /// The packets of a payload that has not arrived whole.
    begun: BytesMut,
    sequence: u8,
}

impl Wire {
    /// Connects and reads the server's greeting. Where the URL wants that, the connection is then encrypted:
    /// `ask_for_tls` writes the question for it into a packet, or says why the server cannot do it.
    pub(super) fn open_wire(
        url: &MysqlUrl,
        ask_for_tls: impl FnOnce(&Bytes, &mut BytesMut) -> Result<(), &'static str>,
    ) -> Result<(Wire, Bytes), Trouble> {
        let failed = |why: io::Error| {
            Trouble::host_unable(format!(
                "{url}: the server cannot be reached: {why}: is it running, and is the host right?"
            ))
        };
        let plain = match &url.host {
            Host::Socket(_) if url.verifies_server() => {
                return Err(Trouble::bad_usage(format!("{url}: a socket is not encrypted: leave out tls=verify")));
            }
            Host::Socket(path) => Plain::Unix(UnixStream::connect(path).map_err(failed)?),
            Host::Network(name) => Plain::Tcp(connect_tcp(name, url.port).map_err(failed)?),
        };
        let (stream, tcp) = match plain {
            Plain::Tcp(stream) => (Stream::Tcp(stream.try_clone().map_err(failed)?), Some(stream)),
            Plain::Unix(stream) => (Stream::Unix(stream), None),
        };
        let line = BufferedConnection::new(stream).map_err(failed)?;
        let mut wire = Wire { line, begun: BytesMut::new(), sequence: 0 };
        let greeting = wire.receive_payload().map_err(failed)?;
        if let Some(stream) = tcp.filter(|_| url.verifies_server()) {
            wire.encrypt_stream(stream, url, |out| ask_for_tls(&greeting, out))?;
        }
        Ok((wire, greeting))
    }

    fn encrypt_stream(
        &mut self,
        stream: TcpStream,
        url: &MysqlUrl,
        ask: impl FnOnce(&mut BytesMut) -> Result<(), &'static str>,
    ) -> Result<(), Trouble> {
        let failed = |why: &dyn std::fmt::Display| {
            Trouble::host_unable(format!("{url}: the connection cannot be encrypted: {why}: tls=off does without"))
        };
        let Host::Network(name) = &url.host else { return Err(failed(&"it is a socket")) };
        let mut asked = BytesMut::new();
        ask(&mut asked).map_err(|why| failed(&why))?;
        // What a server sends before it is trusted must not be taken for what it sends afterwards.
        if !self.line.incoming.is_empty() {
            return Err(failed(&"the server said more than its greeting"));
        }
        self.send_payload(&asked).map_err(|why| failed(&why))?;
        let encrypted = socket::encrypt_stream(stream, name, url.roots.as_deref()).map_err(|why| failed(&why))?;
        self.line.continue_with(encrypted).map_err(|why| failed(&why))
    }

    /// Sends a question, which begins to count packets anew.
    pub(super) fn send_question(&mut self, payload: &[u8]) -> io::Result<()> {
        self.sequence = 0;
        self.send_payload(payload)
    }

    /// Asks as [`Wire::send_question`] does, as much as the connection takes now.
    pub(super) fn ask_now(&mut self, payload: &[u8]) -> io::Result<()> {
        self.sequence = 0;
        self.pack_payload(payload);
        self.line.send_now()
    }

    /// Sends a payload that goes on with what was received.
    pub(super) fn send_payload(&mut self, payload: &[u8]) -> io::Result<()> {
        self.pack_payload(payload);
        self.line.send_all()
    }

    fn pack_payload(&mut self, payload: &[u8]) {
        self.line.outgoing.clear();
        let mut rest = payload;
        loop {
            let (packet, after) = rest.split_at(rest.len().min(PACKET_MOST));
            self.line.outgoing.put_uint_le(packet.len() as u64, 3);
            self.line.outgoing.put_u8(self.sequence);
            self.line.outgoing.put_slice(packet);
            self.sequence = self.sequence.wrapping_add(1);
            rest = after;
            if packet.len() < PACKET_MOST {
                return;
            }
        }
    }

    /// Waits for a payload.
    pub(super) fn receive_payload(&mut self) -> io::Result<Bytes> {
        loop {
            if let Some(payload) = self.next() {
                return Ok(payload);
            }
            self.line.receive_some()?;
        }
    }

    /// The next payload, if it has arrived whole.
    pub(super) fn next(&mut self) -> Option<Bytes> {
        loop {
            let packet = self.take_packet()?;
            let is_last = packet.len() < PACKET_MOST;
            if is_last && self.begun.is_empty() {
                return Some(packet);
            }
            self.begun.extend_from_slice(&packet);
            if is_last {
                return Some(self.begun.split().freeze());
            }
        }
    }

    fn take_packet(&mut self) -> Option<Bytes> {
        let length = self.line.incoming.get(..HEAD)?.get_uint_le(3) as usize;
        if self.line.incoming.len() < HEAD + length {
            self.line.incoming.reserve(HEAD + length - self.line.incoming.len());
            return None;
        }
        self.sequence = self.line.incoming[HEAD - 1].wrapping_add(1);
        self.line.incoming.advance(HEAD);
        Some(self.line.incoming.split_to(length).freeze())
    }
}

/// The command that says farewell.
const QUIT: u8 = 0x01;

impl Drop for Wire {
    /// Says farewell, without which the server logs a warning.
    fn drop(&mut self) {
        self.line.prepare_farewell();
        let _ = self.send_question(&[QUIT]);
    }
}
