//! `mysql://user@host:port/database`, with options after a question mark, and what the environment adds to it.
//!
//! A password comes from the environment or from a file that only its owner can read, and stands in nothing that is
//! printed.

use super::options::split_options;
use super::percent::{decode_percent, encode_percent, repeatable_part};
use super::server::{Host, Password, Tls, check_plain_name, parse_port, read_private_file, split_port};
use crate::trouble::Trouble;
use std::fmt;
use std::path::{Path, PathBuf};

/// The socket of a server that is named by no host, as on Debian.
const SOCKET: &str = "/run/mysqld/mysqld.sock";
const PORT: u16 = 3306;
const OPTIONS: &str = "socket, host, port, tls, ssl_ca or password_file";
/// Databases of the server itself.
const RESERVED: [&str; 4] = ["mysql", "information_schema", "performance_schema", "sys"];

/// A database of a MariaDB server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MysqlUrl {
    /// The place of the server.
    pub host: Host,
    /// Its port.
    pub port: u16,
    /// The user to connect as; [`MysqlUrl::complete_from_environment`] fills it in.
    pub user: Option<String>,
    /// The database of the tables.
    pub database: String,
    /// The setting as written; see [`MysqlUrl::verifies_server`].
    pub tls: Option<Tls>,
    /// A file with the certificates that are trusted in place of the system's.
    pub roots: Option<PathBuf>,
    /// A file that holds the password.
    pub password_file: Option<PathBuf>,
    /// The password; [`MysqlUrl::complete_from_environment`] finds it.
    pub password: Option<Password>,
}

impl MysqlUrl {
    /// Reads what follows the scheme and its colon.
    pub(super) fn parse_rest(rest: &str) -> Result<MysqlUrl, Trouble> {
        let Some(rest) = rest.strip_prefix("//") else {
            return Err(Trouble::bad_usage("a mysql: URL begins with two slashes: write mysql://user@host/database"));
        };
        let (place, options) = rest.split_once('?').unwrap_or((rest, ""));
        let (server, database) = place.split_once('/').unwrap_or((place, ""));
        let (user, address) = server.rsplit_once('@').unwrap_or(("", server));
        let (host, port) = split_port(address)?;
        let mut url = MysqlUrl {
            host: Host::Socket(SOCKET.into()),
            port: PORT,
            user: Some(decode_percent(user)?).filter(|user| !user.is_empty()),
            database: check_name(decode_percent(database)?)?,
            tls: None,
            roots: None,
            password_file: None,
            password: None,
        };
        url.set_option("host", decode_percent(host)?)?;
        url.set_option("port", port.to_owned())?;
        for (name, value) in split_options(options, "mysql")? {
            let value = decode_percent(value)?;
            if value.is_empty() {
                let name = repeatable_part(name);
                return Err(Trouble::bad_usage(format!("{name} of a mysql: URL has no value: write {name}=…")));
            }
            url.set_option(name, value)?;
        }
        Ok(url)
    }

    /// Sets an option; an empty host or port is that of a URL without one.
    fn set_option(&mut self, name: &str, value: String) -> Result<(), Trouble> {
        match name {
            "host" | "port" if value.is_empty() => {}
            "socket" => self.host = Host::Socket(value.into()),
            "host" => self.host = Host::Network(value),
            "port" => self.port = parse_port(&value)?,
            "tls" => self.tls = Some(Tls::parse_word(&value, "mysql")?),
            "ssl_ca" => self.roots = Some(value.into()),
            "password_file" => self.password_file = Some(value.into()),
            _ => {
                return Err(Trouble::bad_usage(format!(
                    "a mysql: URL has no option {:?}: write {OPTIONS}",
                    repeatable_part(name)
                )));
            }
        }
        Ok(())
    }

    /// Whether the server must prove who it is: unless it is reached by a socket or on this host, or the URL says no.
    pub fn verifies_server(&self) -> bool {
        self.tls.map_or(!self.host.is_local(), |tls| tls == Tls::Verify)
    }

    /// The user to connect as.
    pub fn user_name(&self) -> &str {
        self.user.as_deref().unwrap_or_default()
    }

    /// Adds what the URL leaves to the environment: the user and the password.
    pub fn complete_from_environment(&mut self, environment: &dyn Fn(&str) -> Option<String>) -> Result<(), Trouble> {
        if self.user.is_none() {
            self.user = environment("USER").filter(|user| !user.is_empty());
        }
        if self.user.is_none() {
            return Err(Trouble::bad_usage("no user is named: write mysql://USER@host/database"));
        }
        self.password = match &self.password_file {
            Some(file) => Some(Password::new(read_private_file(file)?.lines().next().unwrap_or_default().to_owned())),
            None => environment("MYSQL_PWD").map(Password::new),
        };
        Ok(())
    }
}

/// A name of a database that the server takes as it is, on every file system, and that is not one of its own.
fn check_name(name: String) -> Result<String, Trouble> {
    if name.is_empty() {
        return Err(Trouble::bad_usage("a mysql: URL names a database: write mysql://user@host/database"));
    }
    if RESERVED.contains(&name.to_ascii_lowercase().as_str()) {
        return Err(Trouble::refused_for_safety(format!(
            "{name} is a database of the server itself: name another one"
        )));
    }
    check_plain_name(name, "database")
}

impl fmt::Display for MysqlUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "mysql://")?;
        if let Some(user) = &self.user {
            write!(out, "{}@", encode_percent(user))?;
        }
        let mut options = Vec::new();
        match &self.host {
            Host::Network(name) if name.contains(':') => write!(out, "[{name}]")?,
            Host::Network(name) => write!(out, "{}", encode_percent(name))?,
            Host::Socket(path) if path == Path::new(SOCKET) => {}
            Host::Socket(path) => options.push(format!("socket={}", path.display())),
        }
        if matches!(self.host, Host::Network(_)) && self.port != PORT {
            write!(out, ":{}", self.port)?;
        }
        write!(out, "/{}", self.database)?;
        if self.tls == Some(Tls::Off) {
            options.push("tls=off".to_owned());
        }
        for (at, option) in options.iter().enumerate() {
            write!(out, "{}{option}", if at == 0 { '?' } else { '&' })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trouble::TroubleKind;
    use crate::url::Url;
    use std::os::unix::fs::PermissionsExt;

    fn url(text: &str) -> MysqlUrl {
        match Url::parse_url(text) {
            Ok(Url::Mysql(url)) => url,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn every_part_has_its_place_and_its_default() {
        let whole = url("mariadb://me@db.example:6000/shop?tls=off&ssl_ca=/x");
        assert_eq!((whole.host.clone(), whole.port), (Host::Network("db.example".into()), 6_000));
        assert_eq!((whole.user_name(), whole.database.as_str()), ("me", "shop"));
        assert_eq!((whole.tls, whole.verifies_server(), whole.roots), (Some(Tls::Off), false, Some("/x".into())));
        let short = url("mysql:///shop");
        assert_eq!((short.host.clone(), short.port, short.user), (Host::Socket(SOCKET.into()), 3306, None));
        assert_eq!(url("mysql:///shop?socket=/run/x.sock").host, Host::Socket("/run/x.sock".into()));
        assert_eq!(url("mysql://m%40e@[::1]:6000/a_b").user_name(), "m@e");
    }

    #[test]
    fn the_server_proves_who_it_is_unless_it_is_here() {
        for (text, verifies) in [
            ("mysql://me@db.example/shop", true),
            ("mysql://me@db.example/shop?tls=off", false),
            ("mysql://me@127.0.0.1/shop", false),
            ("mysql://me@localhost/shop?tls=verify", true),
            ("mysql://me@/shop", false),
        ] {
            assert_eq!(url(text).verifies_server(), verifies, "{text}");
        }
    }

    #[test]
    fn what_is_shown_can_be_read_again() {
        for text in [
            "mysql://me@db.example:6000/shop?tls=off",
            "mysql://me@[::1]/shop",
            "mysql://me@/shop?socket=/run/x.sock",
            "mysql://me@/shop",
        ] {
            assert_eq!(url(text).to_string(), text);
        }
        let hidden = url("mysql://me@/shop?password_file=/root/secret").to_string();
        assert_eq!(hidden, "mysql://me@/shop");
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_what_to_write() {
        for (text, kind, says) in [
            ("mysql:shop", TroubleKind::Usage, "begins with two slashes"),
            ("mysql://me@host", TroubleKind::Usage, "names a database"),
            ("mysql://me@host:0/shop", TroubleKind::Usage, "a port is a number"),
            (
                "mysql://me@host/shop?tls=on",
                TroubleKind::Usage,
                "tls of a mysql: URL is not \"on\": write one of verify, off",
            ),
            ("mysql://me@host/shop?schema=x", TroubleKind::Usage, "no option \"schema\": write socket, host"),
            ("mysql://me@host/shop?socket", TroubleKind::Usage, "has no value"),
            ("mysql://me@host/Shop", TroubleKind::Usage, "lower-case letters"),
            ("mysql://me@host/a`b", TroubleKind::Usage, "lower-case letters"),
            (
                &format!("mysql://me@host/{}", "n".repeat(64)),
                TroubleKind::Usage,
                "at most 63 letters, and this one has 64",
            ),
            ("mysql://me@host/mysql", TroubleKind::Refused, "of the server itself"),
            ("mysql://me@host/SYS", TroubleKind::Refused, "of the server itself"),
        ] {
            let trouble = Url::parse_url(text).unwrap_err();
            assert!(trouble.kind == kind && trouble.to_string().contains(says), "{text}: {trouble}");
        }
    }

    #[test]
    fn a_password_comes_from_a_private_file_or_the_environment_and_is_not_shown() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("secret");
        std::fs::write(&path, "canary\n").unwrap();
        let with_mode = |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let with_file = format!("mysql://me@/shop?password_file={}", path.display());
        let completed = |text: &str, name: &str, value: &str| {
            let mut url = url(text);
            url.complete_from_environment(&|asked| (asked == name).then(|| value.to_owned())).map(|()| url)
        };
        with_mode(0o600);
        for (text, name, value) in
            [(with_file.as_str(), "MYSQL_PWD", "other"), ("mysql://me@/shop", "MYSQL_PWD", "canary")]
        {
            let url = completed(text, name, value).unwrap();
            assert_eq!(url.password, Some(Password::new("canary".into())));
            assert!(!format!("{url:?} {url}").contains("canary"));
        }
        with_mode(0o640);
        let trouble = completed(&with_file, "", "").unwrap_err();
        assert!(trouble.kind == TroubleKind::Host && trouble.to_string().contains("chmod 0600"), "{trouble}");
        assert_eq!(completed("mysql:///shop", "USER", "me").unwrap().user_name(), "me");
        assert_eq!(completed("mysql:///shop", "", "").unwrap_err().kind, TroubleKind::Usage);
    }
}
