//! What URLs of servers have in common: where the server is, whether it must prove who it is, and who knows the password.

use super::percent::repeatable_part;
use crate::trouble::Trouble;
use assay_base::text::one_line;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The longest name that PostgreSQL does not cut; MariaDB takes one character more.
const NAME_MOST: usize = 63;
/// The most that is read of a file with passwords.
const FILE_MOST: u64 = 1 << 20;

/// The place of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// Its socket, or the directory of it.
    Socket(PathBuf),
    /// A name or an address.
    Network(String),
}

/// Whether the connection is encrypted and the server's certificate is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tls {
    /// Both, the name in the certificate too.
    Verify,
    /// Neither.
    Off,
}

/// A password, which is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(String);

impl Host {
    /// Whether it is a socket or the loopback interface.
    pub fn is_local(&self) -> bool {
        match self {
            Host::Socket(_) => true,
            Host::Network(name) => {
                name == "localhost" || name.parse().is_ok_and(|address: IpAddr| address.is_loopback())
            }
        }
    }
}

impl Tls {
    /// The word of an option.
    pub(super) fn parse_word(word: &str, scheme: &str) -> Result<Tls, Trouble> {
        match word {
            "verify" => Ok(Tls::Verify),
            "off" => Ok(Tls::Off),
            _ => {
                let word = repeatable_part(word);
                Err(Trouble::bad_usage(format!("tls of a {scheme}: URL is not {word:?}: write one of verify, off")))
            }
        }
    }
}

impl Password {
    /// One that was read somewhere.
    pub fn new(text: String) -> Password {
        Password(text)
    }
    /// The bytes, for the server only.
    pub(crate) fn secret_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("(a password)")
    }
}

/// The content of a file that nobody else can read.
pub(super) fn read_private_file(path: &Path) -> Result<String, Trouble> {
    let at = one_line(path.display());
    let failed = |why: std::io::Error| Trouble::host_unable(format!("the password file {at} cannot be read: {why}"));
    // Before it is opened: to open a named pipe would wait for whoever writes to it.
    if !std::fs::metadata(path).map_err(failed)?.is_file() {
        return Err(Trouble::host_unable(format!("the password file {at} is not a regular file: name one")));
    }
    let file = File::open(path).map_err(failed)?;
    let mode = file.metadata().map_err(failed)?.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        let text = format!("the password file {at} can be read by others (mode {mode:04o}): chmod 0600 {at}");
        return Err(Trouble::host_unable(text));
    }
    let mut text = String::new();
    file.take(FILE_MOST).read_to_string(&mut text).map_err(failed)?;
    Ok(text)
}

/// A host and, behind the last colon that is not part of an address in brackets, a port.
pub(super) fn split_port(address: &str) -> Result<(&str, &str), Trouble> {
    if let Some(rest) = address.strip_prefix('[') {
        let Some((host, port)) = rest.split_once(']') else {
            return Err(Trouble::bad_usage("an address that begins with [ ends with ]: write [::1] or [::1]:5432"));
        };
        return Ok((host, port.strip_prefix(':').unwrap_or(port)));
    }
    Ok(address.rsplit_once(':').unwrap_or((address, "")))
}

/// The number of a port. What is none may be a password, and is not repeated.
pub(super) fn parse_port(text: &str) -> Result<u16, Trouble> {
    text.parse().ok().filter(|port| *port > 0).ok_or_else(|| {
        Trouble::bad_usage("a port is a number from 1 to 65535: write user@host:PORT, without a password")
    })
}

/// A name of a schema or a database that every server takes as it is.
pub(super) fn check_plain_name(name: String, what: &str) -> Result<String, Trouble> {
    if name.len() > NAME_MOST {
        let text = format!("the name of a {what} has at most {NAME_MOST} letters, and this one has {}", name.len());
        return Err(Trouble::bad_usage(text));
    }
    if !name.chars().all(|letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_')
        || name.starts_with(|letter: char| letter.is_ascii_digit())
    {
        let name = repeatable_part(&name);
        let text = format!(
            "a {what} has a name of lower-case letters, digits and underscores that begins with no digit, and not {name:?}"
        );
        return Err(Trouble::bad_usage(text));
    }
    Ok(name)
}
