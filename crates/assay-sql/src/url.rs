//! How a database is named on the command line.
//!
//! A password never stands in a URL: it would be seen in the list of processes, in the history of the shell and in the
//! log. A URL with one is refused without being repeated.

mod mysql;
mod percent;
mod postgres;
mod server;

pub use mysql::MysqlUrl;
pub use postgres::PostgresUrl;
pub use server::{Host, Password, Tls};

use crate::trouble::Trouble;
use std::fmt;
use std::path::{Path, PathBuf};

/// A database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Url {
    /// A file that SQLite, which is built in, reads and writes.
    Sqlite(SqliteUrl),
    /// A schema in a database of a PostgreSQL server.
    Postgres(PostgresUrl),
    /// A database of a MariaDB server.
    Mysql(MysqlUrl),
}

/// Names and values of an option in a URL: the words, each with what it means.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$of:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$of])* $variant,)+
        }

        impl $name {
            /// All of them, as they are written.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// The word for it, which is also SQLite's.
            pub fn word(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)+
                }
            }

            fn read(word: &str) -> Option<$name> {
                match word {
                    $($word => Some($name::$variant),)+
                    _ => None,
                }
            }
        }
    };
}

words! {
    /// How SQLite makes a transaction whole.
    Journal {
        /// New pages go to a log beside the file.
        Wal = "wal",
        /// Old pages go to a journal, which is deleted with each commit.
        Delete = "delete",
        /// The journal is cut to nothing.
        Truncate = "truncate",
        /// The journal's beginning is overwritten.
        Persist = "persist",
        /// The journal is in memory: a crash may destroy the database.
        Memory = "memory",
        /// There is none: a rollback is not possible either.
        Off = "off",
    }
}

words! {
    /// When SQLite waits until its writes are on the disk.
    Synchronous {
        /// Never.
        Off = "off",
        /// At some moments; with a log, not when a transaction commits.
        Normal = "normal",
        /// Whenever a transaction commits.
        Full = "full",
        /// And when a journal is deleted.
        Extra = "extra",
    }
}

/// `sqlite:FILE`, with options after a question mark: `sqlite:FILE?journal_mode=wal&synchronous=full`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqliteUrl {
    /// The file.
    pub path: PathBuf,
    /// How transactions are made whole; `wal` unless written.
    pub journal: Journal,
    /// When writes are waited for; `full` unless written, so that a commit is durable.
    pub synchronous: Synchronous,
}

impl SqliteUrl {
    /// A file with the settings that make a commit durable.
    pub fn of(path: &Path) -> SqliteUrl {
        SqliteUrl { path: path.to_owned(), journal: Journal::Wal, synchronous: Synchronous::Full }
    }

    fn read(rest: &str) -> Result<SqliteUrl, Trouble> {
        let (path, options) = rest.split_once('?').unwrap_or((rest, ""));
        if path.is_empty() {
            return Err(Trouble::usage("sqlite: names no file: write sqlite:FILE, for instance sqlite:shop.db"));
        }
        let mut url = SqliteUrl::of(Path::new(path));
        for option in options.split('&').filter(|option| !option.is_empty()) {
            url.set(option)?;
        }
        Ok(url)
    }

    fn set(&mut self, option: &str) -> Result<(), Trouble> {
        let (name, word) = option.split_once('=').unwrap_or((option, ""));
        let unknown = |words: &[&str]| {
            Trouble::usage(format!("{name} of a sqlite: URL is not {word:?}: write one of {}", words.join(", ")))
        };
        match name {
            "journal_mode" => self.journal = Journal::read(word).ok_or_else(|| unknown(Journal::WORDS))?,
            "synchronous" => self.synchronous = Synchronous::read(word).ok_or_else(|| unknown(Synchronous::WORDS))?,
            _ => {
                let text = format!("a sqlite: URL has no option {name:?}: write journal_mode or synchronous");
                return Err(Trouble::usage(text));
            }
        }
        Ok(())
    }
}

/// What may be written.
const KNOWN: &str = "sqlite:FILE, postgres://user@host/database or mysql://user@host/database";

impl Url {
    /// Whether a target on the command line names a database, and not a device, a file or a simulation.
    pub fn is_one(text: &str) -> bool {
        ["sqlite:", "postgres:", "postgresql:", "mysql:", "mariadb:"].iter().any(|scheme| text.starts_with(scheme))
    }

    /// Reads it.
    pub fn read(text: &str) -> Result<Url, Trouble> {
        let Some((scheme, rest)) = text.split_once(':') else {
            return Err(Trouble::usage(format!("a database is named by a URL: write {KNOWN}")));
        };
        match scheme {
            "sqlite" => SqliteUrl::read(rest).map(Url::Sqlite),
            _ if has_password(rest) => Err(Trouble::usage(format!(
                "a {scheme}: URL must not contain a password, which everybody could read in the list of processes"
            ))),
            "postgres" | "postgresql" => PostgresUrl::read(rest).map(Url::Postgres),
            "mysql" | "mariadb" => MysqlUrl::read(rest).map(Url::Mysql),
            _ => Err(Trouble::usage(format!("{scheme}: is not a database that this program knows: write {KNOWN}"))),
        }
    }
}

/// Whether there is something between a colon and an at sign in the part that names user and host, or an option for it.
fn has_password(rest: &str) -> bool {
    let rest = rest.trim_start_matches('/');
    let (before, options) = rest.split_once('?').unwrap_or((rest, ""));
    // A password may itself contain slashes and at signs, so that everything before the last at sign is looked at.
    let user = before.rsplit_once('@').map_or("", |(user, _)| user);
    let is_password = |option: &str| {
        let name = option.split('=').next().unwrap_or_default().to_ascii_lowercase();
        name.contains("password") && name != "password_file"
    };
    user.contains(':') || options.split('&').any(is_password)
}

impl fmt::Display for Url {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Url::Sqlite(url) => write!(out, "sqlite:{}", url.path.display()),
            Url::Postgres(url) => url.fmt(out),
            Url::Mysql(url) => url.fmt(out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trouble::Kind;

    #[test]
    fn a_file_and_its_settings() {
        let plain = SqliteUrl::of(Path::new("shop.db"));
        assert_eq!((plain.journal, plain.synchronous), (Journal::Wal, Synchronous::Full), "a commit is durable");
        assert_eq!(Url::read("sqlite:shop.db"), Ok(Url::Sqlite(plain.clone())));
        assert_eq!(Url::read("sqlite:shop.db?"), Ok(Url::Sqlite(plain.clone())));
        let weak = SqliteUrl { journal: Journal::Delete, synchronous: Synchronous::Off, ..plain };
        assert_eq!(Url::read("sqlite:shop.db?journal_mode=delete&synchronous=off"), Ok(Url::Sqlite(weak)));
        assert_eq!(Url::read("sqlite:/a b/:memory:").unwrap().to_string(), "sqlite:/a b/:memory:");
        for word in Journal::WORDS {
            assert_eq!(Journal::read(word).map(Journal::word), Some(*word));
        }
        for word in Synchronous::WORDS {
            assert_eq!(Synchronous::read(word).map(Synchronous::word), Some(*word));
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_what_to_write() {
        for (text, says) in [
            ("shop.db", "write sqlite:FILE"),
            ("sqlite:", "names no file"),
            ("sqlite:?synchronous=full", "names no file"),
            ("sqlite:a?synchronus=full", "no option \"synchronus\": write journal_mode or synchronous"),
            ("sqlite:a?synchronous=FULL", "is not \"FULL\": write one of off, normal, full, extra"),
            ("sqlite:a?journal_mode", "is not \"\": write one of wal, delete"),
            ("oracle:x", "oracle: is not a database"),
            ("mssql://me@host/db", "mssql: is not a database that this program knows"),
        ] {
            let trouble = Url::read(text).unwrap_err();
            assert!(trouble.kind == Kind::Usage && trouble.to_string().contains(says), "{text}: {trouble}");
        }
    }

    #[test]
    fn a_password_is_refused_and_not_repeated() {
        for text in [
            "postgres://me:canary@host/db",
            "mysql://me:canary@host",
            "postgres://me:can/ary:canary@host/db",
            "postgres://host/db?password=canary",
            "postgres://host/db?tls=off&PassWord=canary",
            "postgres://host/db?sslpassword=canary",
            "postgres://me:c@nary:canary@host/db",
            "mariadb:me:canary@host?sslmode=off",
        ] {
            let trouble = Url::read(text).unwrap_err();
            assert!(trouble.kind == Kind::Usage && !trouble.to_string().contains("canary"), "{trouble}");
            assert!(trouble.to_string().contains("must not contain a password"), "{text}: {trouble}");
            assert!(Url::is_one(text));
        }
        assert!(!Url::is_one("sim:ideal") && !Url::is_one("/dev/sda") && Url::is_one("sqlite:x"));
    }
}
