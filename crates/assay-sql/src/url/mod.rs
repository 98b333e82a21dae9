//! How a database is named on the command line.
//!
//! A password never stands in a URL: it would be seen in the list of processes, in the history of the shell and in the
//! log. A URL with one is refused without being repeated. What stands in the place of a port is never repeated, and what
//! stands in the place of an option only if there is no at sign in it: it may be the rest of a password.

mod mysql;
mod options;
mod percent;
mod postgres;
mod server;

use options::split_options;
use percent::repeatable_part;

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
    /// The moments at which SQLite waits until its writes are on the disk.
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
    /// How transactions are made whole, as written; see [`SqliteUrl::journal_mode`].
    pub journal_mode: Option<Journal>,
    /// The setting for waiting for writes, as written; see [`SqliteUrl::synchronous`].
    pub synchronous: Option<Synchronous>,
}

impl SqliteUrl {
    /// A file, with no settings named.
    pub fn new(path: &Path) -> SqliteUrl {
        SqliteUrl { path: path.to_owned(), journal_mode: None, synchronous: None }
    }

    /// How the transactions of a load or a run are made whole; `wal` unless written.
    pub fn journal_mode(&self) -> Journal {
        self.journal_mode.unwrap_or(Journal::Wal)
    }

    /// When the writes of a load or a run are waited for; `full` unless written, with which a commit to the log is durable.
    pub fn synchronous_mode(&self) -> Synchronous {
        self.synchronous.unwrap_or(Synchronous::Full)
    }

    fn parse_rest(rest: &str) -> Result<SqliteUrl, Trouble> {
        if names_a_user(rest) {
            return Err(Trouble::bad_usage(
                "a sqlite: URL must not contain a password, which everybody could read in the list of processes: it names a \
                 file only, for which ./ is written before a name with a colon and an at sign",
            ));
        }
        let (path, options) = rest.split_once('?').unwrap_or((rest, ""));
        if path.is_empty() {
            return Err(Trouble::bad_usage("sqlite: names no file: write sqlite:FILE, for instance sqlite:shop.db"));
        }
        if path.starts_with("//") {
            return Err(Trouble::bad_usage(
                "a sqlite: URL names a file and no host: write sqlite:shop.db, or sqlite:/home/me/shop.db with one slash",
            ));
        }
        if path == ":memory:" {
            return Err(Trouble::bad_usage(
                "a database in memory says nothing about storage: name a file, for which ./ is written before this name",
            ));
        }
        let mut url = SqliteUrl::new(Path::new(path));
        for (name, word) in split_options(options, "sqlite")? {
            url.set_option(name, word)?;
        }
        Ok(url)
    }

    fn set_option(&mut self, name: &str, word: &str) -> Result<(), Trouble> {
        let (name_shown, word_shown) = (repeatable_part(name), repeatable_part(word));
        let unknown = |words: &[&str]| {
            let text =
                format!("{name_shown} of a sqlite: URL is not {word_shown:?}: write one of {}", words.join(", "));
            Trouble::bad_usage(text)
        };
        match name {
            "journal_mode" => {
                self.journal_mode = Some(Journal::read(word).ok_or_else(|| unknown(Journal::WORDS))?);
            }
            "synchronous" => {
                self.synchronous = Some(Synchronous::read(word).ok_or_else(|| unknown(Synchronous::WORDS))?);
            }
            _ => {
                let text = format!("a sqlite: URL has no option {name_shown:?}: write journal_mode or synchronous");
                return Err(Trouble::bad_usage(text));
            }
        }
        Ok(())
    }
}

/// The forms of URLs that may be written.
const KNOWN: &str = "sqlite:FILE, postgres://user@host/database or mysql://user@host/database";
/// The words before the first colon.
const SCHEMES: [&str; 5] = ["sqlite", "postgres", "postgresql", "mysql", "mariadb"];

impl Url {
    /// Whether a target on the command line names a database, and not a device, a file or a simulation. What has the form
    /// of a URL names one too, which may be unknown: it is never the path of a file, for which ./ is written before it.
    pub fn is_one(text: &str) -> bool {
        let Some((scheme, rest)) = text.split_once(':') else { return false };
        let has_form = scheme.starts_with(|letter: char| letter.is_ascii_alphabetic())
            && scheme.chars().all(|letter: char| letter.is_ascii_alphanumeric() || "+-.".contains(letter));
        has_form && (rest.starts_with("//") || SCHEMES.iter().any(|known| known.eq_ignore_ascii_case(scheme)))
    }

    /// Reads it.
    pub fn parse_url(text: &str) -> Result<Url, Trouble> {
        let Some((scheme, rest)) = text.split_once(':') else {
            return Err(Trouble::bad_usage(format!("a database is named by a URL: write {KNOWN}")));
        };
        // The case of its letters makes no difference (RFC 3986, section 3.1).
        match scheme.to_ascii_lowercase().as_str() {
            "sqlite" => SqliteUrl::parse_rest(rest).map(Url::Sqlite),
            scheme if has_password(rest) => Err(Trouble::bad_usage(format!(
                "a {scheme}: URL must not contain a password, which everybody could read in the list of processes; an at sign \
                 that is part of a name is written %40"
            ))),
            "postgres" | "postgresql" => PostgresUrl::parse_rest(rest).map(Url::Postgres),
            "mysql" | "mariadb" => MysqlUrl::parse_rest(rest).map(Url::Mysql),
            scheme => Err(Trouble::bad_usage(format!(
                "{scheme}: is not a database that this program knows: write {KNOWN}, or ./ before the name of a file"
            ))),
        }
    }
}

/// Whether a colon stands before the last at sign, or an option names a password. A password may itself contain slashes,
/// question marks, number signs, blanks and at signs, so that all of the URL is looked at.
fn has_password(rest: &str) -> bool {
    let (before, options) = rest.split_once('?').unwrap_or((rest, ""));
    let (user, _) = rest.rsplit_once('@').unwrap_or(("", rest));
    // A colon of the user's name would be written so, but nobody has such a name, and many have a password.
    let (name, _) = before.rsplit_once('@').unwrap_or(("", before));
    user.contains(':')
        || name.to_ascii_lowercase().contains("%3a")
        || options.split('&').any(|option: &str| {
            let name = option.split('=').next().unwrap_or_default().to_ascii_lowercase();
            name.contains("password") && name != "password_file"
        })
}

/// Whether what should be the name of a file begins like the URL of a server, with a user and a password.
fn names_a_user(rest: &str) -> bool {
    let is_path = rest.starts_with(['/', '.']) && !rest.starts_with("//");
    !is_path && rest.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'))
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
    use crate::trouble::TroubleKind;

    #[test]
    fn a_file_and_its_settings() {
        let plain = SqliteUrl::new(Path::new("shop.db"));
        assert_eq!(
            (plain.journal_mode(), plain.synchronous_mode()),
            (Journal::Wal, Synchronous::Full),
            "a commit is durable"
        );
        assert_eq!(Url::parse_url("sqlite:shop.db"), Ok(Url::Sqlite(plain.clone())));
        assert_eq!(Url::parse_url("sqlite:shop.db?"), Ok(Url::Sqlite(plain.clone())));
        let (journal_mode, synchronous) = (Some(Journal::Delete), Some(Synchronous::Off));
        let weak = SqliteUrl { journal_mode, synchronous, ..plain };
        assert_eq!(Url::parse_url("sqlite:shop.db?journal_mode=delete&synchronous=off"), Ok(Url::Sqlite(weak)));
        assert_eq!(Url::parse_url("sqlite:/a b/:memory:").unwrap().to_string(), "sqlite:/a b/:memory:");
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
            ("sqlite:a?journal_mode=wal&synchronous=off&journal_mode=wal", "has the option journal_mode twice"),
            ("sqlite://shop.db", "names a file and no host"),
            ("sqlite:///tmp/shop.db", "sqlite:/home/me/shop.db with one slash"),
            ("sqlite::memory:", "in memory says nothing about storage"),
            ("postgres://me@host/db?tls=off&tls=verify", "has the option tls twice"),
            ("mysql://me@host/db?port=1&port=2", "has the option port twice"),
            ("oracle:x", "oracle: is not a database"),
            ("mssql://me@host/db", "mssql: is not a database that this program knows"),
        ] {
            let trouble = Url::parse_url(text).unwrap_err();
            assert!(trouble.kind == TroubleKind::Usage && trouble.to_string().contains(says), "{text}: {trouble}");
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
            "postgres://me:can?canary@host/db",
            "postgres://me:can#canary@host/db",
            "postgres://me:can canary@host/db",
            "postgres://me:can%40canary@host/db",
            "postgres://me%3Acanary@host/db",
            "postgres://me:?canary@host/db?tls=off",
            "postgres:///me:canary@host/db",
            "postgres://me@host:canary@host/db",
            "mysql://me:can?host=canary@host/db",
            "mysql://me:can?canary@host/db",
            "POSTGRES://me:canary@host/db",
            "pgsql://me:canary@host/db",
            "sqlite://me:canary@host/db",
            "sqlite:me:canary@host/db",
            "sqlite:shop.db?me:canary@host",
        ] {
            let trouble = Url::parse_url(text).unwrap_err();
            assert!(trouble.kind == TroubleKind::Usage && !trouble.to_string().contains("canary"), "{trouble}");
            assert!(trouble.to_string().contains("must not contain a password"), "{text}: {trouble}");
            assert!(Url::is_one(text));
        }
    }

    #[test]
    fn what_may_be_a_part_of_a_password_is_not_repeated() {
        for (text, says) in [
            ("postgres://me:canary", "a port is a number"),
            ("postgres://me:canary/db", "a port is a number"),
            ("postgres://me:can?canary", "a port is a number"),
            ("postgres://me:canary%40host/db", "a port is a number"),
            ("postgres://me@host/db?port=canary", "a port is a number"),
            ("mysql://me:canary/db", "a port is a number"),
            ("postgres://me@host/db?canary@x", "has no value"),
            ("postgres://me@host/db?canary@x=1", "has no option"),
            ("postgres://me@host/db?tls=canary@x", "write one of verify, off"),
            ("postgres://me@host/db?schema=canary%40x", "lower-case letters"),
            ("mysql://me@host/db?canary@x=1", "has no option"),
            ("mysql://me@host/canary%40x", "lower-case letters"),
            ("mysql://me@host/canary@x", "lower-case letters"),
            ("sqlite:./shop.db?canary:me@x", "has no option"),
            ("mysql://me@host/db?canary@x=1&canary@x=1", "twice"),
            ("sqlite:./shop.db?synchronous=canary:x@y", "write one of off"),
        ] {
            let trouble = Url::parse_url(text).unwrap_err();
            assert!(trouble.kind == TroubleKind::Usage && !trouble.to_string().contains("canary"), "{text}: {trouble}");
            assert!(trouble.to_string().contains(says), "{text}: {trouble}");
        }
    }

    #[test]
    fn whatever_has_the_form_of_a_url_is_a_database_and_not_a_path() {
        for (text, is_one) in [
            ("sqlite:x", true),
            ("SQLite:x", true),
            ("Postgres://me@host/db", true),
            ("pgsql://me@host/db", true),
            ("file:///dev/sda", true),
            ("sim:ideal", false),
            ("/dev/sda", false),
            ("./sqlite:x", false),
            ("./pgsql://x", false),
            ("a b://c", false),
            ("c:x", false),
        ] {
            assert_eq!(Url::is_one(text), is_one, "{text}");
        }
        assert_eq!(Url::parse_url("POSTGRES://me@host/db"), Url::parse_url("postgres://me@host/db"));
        assert_eq!(Url::parse_url("sqlite:./a:b@c.db").unwrap().to_string(), "sqlite:./a:b@c.db");
        assert_eq!(Url::parse_url("sqlite:/x/a:b@c.db").unwrap().to_string(), "sqlite:/x/a:b@c.db");
    }
}
