//! Sockets to servers, encrypted or not, for every protocol.

use bytes::{Buf, BytesMut};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Time limit of each step of a start, so that a server that does not answer is noticed.
pub(crate) const START: Duration = Duration::from_secs(10);
/// Of network connections: the silence after which the other end is probed, the time between two probes, and the time
/// limit for data that is not acknowledged.
const IDLE: Duration = Duration::from_secs(30);
const PROBE: Duration = Duration::from_secs(10);
const UNANSWERED_MS: u32 = 60_000;
/// Time limit of the last message before a connection is closed.
const FAREWELL: Duration = Duration::from_secs(1);
/// Bytes that are read at most with one system call.
const CHUNK: usize = 16 << 10;

/// A connection to a server.
pub(crate) enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Stream {
    /// Writes all of it.
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Stream::Unix(stream) => stream.write_all(bytes),
            Stream::Tcp(stream) => stream.write_all(bytes),
            Stream::Tls(stream) => stream.write_all(bytes).and_then(|()| stream.flush()),
        }
    }

    /// Writes as much as the connection accepts now, and removes it from `outgoing`.
    fn write_now(&mut self, outgoing: &mut BytesMut) -> io::Result<()> {
        while !outgoing.is_empty() {
            let written = match self {
                Stream::Unix(stream) => stream.write(outgoing),
                Stream::Tcp(stream) => stream.write(outgoing),
                Stream::Tls(stream) => stream.write(outgoing),
            };
            match written {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => outgoing.advance(written),
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(why) => return Err(why),
            }
        }
        match self {
            Stream::Tls(stream) => stream.flush().or_else(|why| match why.kind() {
                io::ErrorKind::WouldBlock => Ok(()),
                _ => Err(why),
            }),
            _ => Ok(()),
        }
    }

    /// Makes reading and writing block, or not.
    fn set_waiting(&self, waits: bool) -> io::Result<()> {
        match self {
            Stream::Unix(stream) => stream.set_nonblocking(!waits),
            Stream::Tcp(stream) => stream.set_nonblocking(!waits),
            Stream::Tls(stream) => stream.sock.set_nonblocking(!waits),
        }
    }

    /// Its file descriptor.
    fn file_descriptor(&self) -> BorrowedFd<'_> {
        match self {
            Stream::Unix(stream) => stream.as_fd(),
            Stream::Tcp(stream) => stream.as_fd(),
            Stream::Tls(stream) => stream.sock.as_fd(),
        }
    }

    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => stream.read(bytes),
            Stream::Tcp(stream) => stream.read(bytes),
            Stream::Tls(stream) => stream.read(bytes),
        }
    }

    /// Sets the time limit of a read or a write. `None` removes it.
    fn set_patience(&self, patience: Option<Duration>) -> io::Result<()> {
        match self {
            Stream::Unix(stream) => stream.set_read_timeout(patience).and_then(|()| stream.set_write_timeout(patience)),
            Stream::Tcp(stream) => stream.set_read_timeout(patience).and_then(|()| stream.set_write_timeout(patience)),
            Stream::Tls(stream) => {
                stream.sock.set_read_timeout(patience).and_then(|()| stream.sock.set_write_timeout(patience))
            }
        }
    }
}

/// A connection with the bytes that have arrived and are not evaluated, and those that are not sent.
pub(crate) struct BufferedConnection {
    stream: Stream,
    pub(crate) incoming: BytesMut,
    pub(crate) outgoing: BytesMut,
    /// Whether reading and writing block.
    waits: bool,
    chunk: Box<[u8]>,
}

impl BufferedConnection {
    /// A connection that begins its start, with a time limit for each step.
    pub(crate) fn new(stream: Stream) -> io::Result<BufferedConnection> {
        stream.set_patience(Some(START))?;
        let (incoming, outgoing) = (BytesMut::new(), BytesMut::new());
        Ok(BufferedConnection { stream, incoming, outgoing, waits: true, chunk: vec![0; CHUNK].into() })
    }

    /// Replaces the stream by the same connection, encrypted.
    pub(crate) fn continue_with(&mut self, stream: Stream) -> io::Result<()> {
        self.stream = stream;
        self.stream.set_patience(Some(START))
    }

    pub(crate) fn is_encrypted(&self) -> bool {
        matches!(self.stream, Stream::Tls(_))
    }

    /// Removes the time limit for answers.
    pub(crate) fn is_started(&self) -> io::Result<()> {
        self.stream.set_patience(None)
    }

    /// Restores the time limit that applied during the start.
    pub(crate) fn is_hurried(&self) -> io::Result<()> {
        self.stream.set_patience(Some(START))
    }

    /// Prepares for the last message: drops what is not sent yet, and sets a short time limit.
    pub(crate) fn prepare_farewell(&mut self) {
        self.outgoing.clear();
        let _ = self.stream.set_patience(Some(FAREWELL));
    }

    /// Makes reading and writing block, or not.
    pub(crate) fn set_waiting(&mut self, waits: bool) -> io::Result<()> {
        if self.waits != waits {
            self.stream.set_waiting(waits)?;
            self.waits = waits;
        }
        Ok(())
    }

    /// Sends all of `outgoing`.
    pub(crate) fn send_all(&mut self) -> io::Result<()> {
        let sent = self.stream.write_all(&self.outgoing);
        self.outgoing.clear();
        sent
    }

    /// Sends as much as the connection accepts now.
    pub(crate) fn send_now(&mut self) -> io::Result<()> {
        self.stream.write_now(&mut self.outgoing)
    }

    /// Whether something is not sent yet.
    pub(crate) fn has_more(&self) -> bool {
        !self.outgoing.is_empty() || matches!(&self.stream, Stream::Tls(stream) if stream.conn.wants_write())
    }

    /// Waits until something arrives. A connection that the other side has closed is an error.
    pub(crate) fn receive_some(&mut self) -> io::Result<()> {
        match self.append_arrived() {
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => {
                Err(io::Error::new(io::ErrorKind::TimedOut, "the server does not answer"))
            }
            received => received.map(drop),
        }
    }

    /// On a connection that does not block, sends the rest of `outgoing`, unless sending has failed before, and reads
    /// what has arrived. Returns the error after which nothing more can arrive, if there is one.
    pub(crate) fn exchange_ready(&mut self, unsent: &mut Option<io::Error>) -> Option<io::Error> {
        if unsent.is_none() && self.has_more() {
            *unsent = self.send_now().err();
        }
        self.receive_now().err()
    }

    fn receive_now(&mut self) -> io::Result<()> {
        loop {
            match self.append_arrived() {
                // A read that returns less than `CHUNK` has emptied the socket. With encryption it may be one piece of
                // many.
                Ok(read) if read < CHUNK && !self.is_encrypted() => return Ok(()),
                Ok(_) => {}
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(why) => return Err(why),
            }
        }
    }

    fn append_arrived(&mut self) -> io::Result<usize> {
        loop {
            match self.stream.read(&mut self.chunk) {
                Ok(0) => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed the connection")),
                Ok(read) => {
                    self.incoming.extend_from_slice(&self.chunk[..read]);
                    return Ok(read);
                }
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                Err(why) => return Err(why),
            }
        }
    }

    /// The socket at which answers arrive.
    pub(crate) fn answer_socket(&self) -> BorrowedFd<'_> {
        self.stream.file_descriptor()
    }

    /// Ends the connection at once.
    pub(crate) fn cut_connection(&self) {
        // This fails if the connection has ended already.
        let _ = rustix::net::shutdown(self.answer_socket(), rustix::net::Shutdown::Both);
    }

    /// The number of the process at the other end, if the connection is a socket of this host and the number is known.
    pub(crate) fn peer_process(&self) -> Option<i32> {
        let Stream::Unix(stream) = &self.stream else { return None };
        rustix::net::sockopt::socket_peercred(stream).ok().map(|peer| peer.pid.as_raw_nonzero().get())
    }
}

/// Connects to the first address of a host that accepts the connection.
pub(crate) fn connect_tcp(host: &str, port: u16) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, START) {
            Ok(stream) => return watch_connection(stream),
            Err(why) => last = why,
        }
    }
    Err(last)
}

/// Sets the options with which a connection notices that its other end has disappeared.
fn watch_connection(stream: TcpStream) -> io::Result<TcpStream> {
    use rustix::net::sockopt;
    stream.set_nodelay(true)?;
    sockopt::set_socket_keepalive(&stream, true)?;
    sockopt::set_tcp_keepidle(&stream, IDLE)?;
    sockopt::set_tcp_keepintvl(&stream, PROBE)?;
    sockopt::set_tcp_user_timeout(&stream, UNANSWERED_MS)?;
    Ok(stream)
}

/// Encrypts a connection whose server has agreed to that, and checks its certificate, the name in it included. The
/// certificates of a file are trusted, or the system's.
pub(crate) fn encrypt_stream(mut stream: TcpStream, name: &str, trusted: Option<&Path>) -> Result<Stream, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config =
        config.map_err(|why| why.to_string())?.with_root_certificates(trusted_roots(trusted)?).with_no_client_auth();
    let name = ServerName::try_from(name.to_owned()).map_err(|why| why.to_string())?;
    let mut connection = ClientConnection::new(Arc::new(config), name).map_err(|why| why.to_string())?;
    while connection.is_handshaking() {
        connection.complete_io(&mut stream).map_err(|why| why.to_string())?;
    }
    Ok(Stream::Tls(Box::new(StreamOwned::new(connection, stream))))
}

/// The certificates that are trusted: those of a file, or the system's.
fn trusted_roots(file: Option<&Path>) -> Result<RootCertStore, String> {
    let mut store = RootCertStore::empty();
    let found = match file {
        Some(file) => {
            let read = CertificateDer::pem_file_iter(file).and_then(|all| all.collect::<Result<Vec<_>, _>>());
            read.map_err(|why| format!("{} holds no certificates: {why}", file.display()))?
        }
        None => rustls_native_certs::load_native_certs().certs,
    };
    store.add_parsable_certificates(found);
    if store.is_empty() { Err("no certificate is trusted: write sslrootcert=FILE".to_owned()) } else { Ok(store) }
}
