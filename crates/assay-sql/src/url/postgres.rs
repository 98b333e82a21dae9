//! `postgres://user@host:port/database`, with options after a question mark, and what the environment adds to it.
//!
//! The names are those of libpq where it has one. A password comes from the environment or from a file that only its
//! owner can read, and stands in nothing that is printed.

use super::options::split_options;
use super::percent::{decode_percent, encode_percent, repeatable_part};
use super::server::{Host, Password, Tls, check_plain_name, parse_port, read_private_file, split_port};
use crate::trouble::Trouble;
use std::fmt;
use std::path::{Path, PathBuf};

/// The directory of the socket of a server that is named by no host, as on Debian.
const SOCKETS: &str = "/var/run/postgresql";
/// The port of PostgreSQL, which is part of the name of a socket too.
const PORT: u16 = 5432;
/// The schema of the workload's tables.
const SCHEMA: &str = "assay_tpcc";
const OPTIONS: &str = "schema, host, port, tls, sslrootcert or password_file";

/// A database of a PostgreSQL server, and the schema in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostgresUrl {
    /// The place of the server.
    pub host: Host,
    /// Its port.
    pub port: u16,
    /// The role to connect as; [`PostgresUrl::complete_from_environment`] fills it in.
    pub user: Option<String>,
    /// The database; that of the role's name unless written.
    pub database: Option<String>,
    /// The schema of the tables.
    pub schema: String,
    /// The setting as written; see [`PostgresUrl::verifies_server`].
    pub tls: Option<Tls>,
    /// A file with the certificates that are trusted in place of the system's.
    pub roots: Option<PathBuf>,
    /// A file that holds the password.
    pub password_file: Option<PathBuf>,
    /// The password; [`PostgresUrl::complete_from_environment`] finds it.
    pub password: Option<Password>,
}

impl PostgresUrl {
    /// Reads what follows the scheme and its colon.
    pub(super) fn parse_rest(rest: &str) -> Result<PostgresUrl, Trouble> {
        let Some(rest) = rest.strip_prefix("//") else {
            return Err(Trouble::bad_usage(
                "a postgres: URL begins with two slashes: write postgres://user@host/database",
            ));
        };
        let (place, options) = rest.split_once('?').unwrap_or((rest, ""));
        let (server, database) = place.split_once('/').unwrap_or((place, ""));
        let (user, address) = server.rsplit_once('@').unwrap_or(("", server));
        let (host, port) = split_port(address)?;
        let mut url = PostgresUrl {
            host: Host::Socket(SOCKETS.into()),
            port: PORT,
            user: Some(decode_percent(user)?).filter(|user| !user.is_empty()),
            database: Some(decode_percent(database)?).filter(|database| !database.is_empty()),
            schema: SCHEMA.to_owned(),
            tls: None,
            roots: None,
            password_file: None,
            password: None,
        };
        url.set_option("host", decode_percent(host)?)?;
        url.set_option("port", port.to_owned())?;
        for (name, value) in split_options(options, "postgres")? {
            let value = decode_percent(value)?;
            if value.is_empty() {
                let name = repeatable_part(name);
                return Err(Trouble::bad_usage(format!("{name} of a postgres: URL has no value: write {name}=…")));
            }
            url.set_option(name, value)?;
        }
        Ok(url)
    }

    /// Sets an option; an empty host or port is that of a URL without one.
    fn set_option(&mut self, name: &str, value: String) -> Result<(), Trouble> {
        match name {
            "host" | "port" if value.is_empty() => {}
            "host" if value.starts_with('/') => self.host = Host::Socket(value.into()),
            "host" => self.host = Host::Network(value),
            "port" => self.port = parse_port(&value)?,
            "schema" => self.schema = check_schema_name(value)?,
            "tls" => self.tls = Some(Tls::parse_word(&value, "postgres")?),
            "sslrootcert" => self.roots = Some(value.into()),
            "password_file" => self.password_file = Some(value.into()),
            "sslmode" => {
                return Err(Trouble::bad_usage("a postgres: URL has no option sslmode: write tls=verify or tls=off"));
            }
            _ => {
                let text = format!("a postgres: URL has no option {:?}: write {OPTIONS}", repeatable_part(name));
                return Err(Trouble::bad_usage(text));
            }
        }
        Ok(())
    }

    /// Whether the server must prove who it is: unless it is reached by a socket or on this host, or the URL says no.
    pub fn verifies_server(&self) -> bool {
        self.tls.map_or(!self.is_local(), |tls| tls == Tls::Verify)
    }

    /// Whether the server is reached by a socket or by the loopback interface.
    pub fn is_local(&self) -> bool {
        self.host.is_local()
    }

    /// The role to connect as.
    pub fn role_name(&self) -> &str {
        self.user.as_deref().unwrap_or_default()
    }

    /// The name of the database.
    pub fn database_name(&self) -> &str {
        self.database.as_deref().unwrap_or(self.role_name())
    }

    /// Adds what the URL leaves to the environment: the role and the password.
    pub fn complete_from_environment(&mut self, environment: &dyn Fn(&str) -> Option<String>) -> Result<(), Trouble> {
        if self.user.is_none() {
            self.user = environment("PGUSER").or_else(|| environment("USER")).filter(|user| !user.is_empty());
        }
        if self.user.is_none() {
            return Err(Trouble::bad_usage("no role is named: write postgres://ROLE@host/database, or set PGUSER"));
        }
        self.password = match (&self.password_file, environment("PGPASSWORD"), environment("PGPASSFILE")) {
            (Some(file), ..) => {
                let text = read_private_file(file)?;
                Some(Password::new(text.lines().next().unwrap_or_default().to_owned()))
            }
            (None, Some(password), _) => Some(Password::new(password)),
            (None, None, Some(file)) => self.listed_password(&read_private_file(Path::new(&file))?),
            (None, None, None) => match environment("HOME").map(|home| Path::new(&home).join(".pgpass")) {
                Some(file) if file.exists() => self.listed_password(&read_private_file(&file)?),
                _ => None,
            },
        };
        Ok(())
    }

    /// The password in a file of lines `host:port:database:role:password`, of which the first that fits counts.
    fn listed_password(&self, text: &str) -> Option<Password> {
        let host = match &self.host {
            Host::Socket(path) if path == Path::new(SOCKETS) => "localhost".to_owned(),
            Host::Socket(path) => path.display().to_string(),
            Host::Network(name) => name.clone(),
        };
        let wanted = [host, self.port.to_string(), self.database_name().to_owned(), self.role_name().to_owned()];
        let lines = text.lines().filter(|line| !line.starts_with('#')).map(split_fields);
        let mut found = lines.filter(|fields| {
            fields.len() >= 5 && wanted.iter().zip(fields).all(|(wanted, field)| field == "*" || field == wanted)
        });
        found.next().map(|mut fields| Password::new(fields.swap_remove(4)))
    }
}

/// The fields of a line, between colons that no backslash stands before.
fn split_fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ':' => fields.push(String::new()),
            '\\' => fields.last_mut().expect("there is always a field").extend(letters.next()),
            letter => fields.last_mut().expect("there is always a field").push(letter),
        }
    }
    fields
}

/// A name of a schema that PostgreSQL takes as it is and that is not one of its own.
fn check_schema_name(name: String) -> Result<String, Trouble> {
    if name.starts_with("pg_") || name == "information_schema" {
        let name = repeatable_part(&name);
        return Err(Trouble::bad_usage(format!("{name} is one of PostgreSQL's own schemas: name another one")));
    }
    check_plain_name(name, "schema")
}

impl fmt::Display for PostgresUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "postgres://")?;
        if let Some(user) = &self.user {
            write!(out, "{}@", encode_percent(user))?;
        }
        let mut options = Vec::new();
        match &self.host {
            Host::Network(name) if name.contains(':') => write!(out, "[{name}]")?,
            Host::Network(name) => write!(out, "{}", encode_percent(name))?,
            Host::Socket(path) if path == Path::new(SOCKETS) => {}
            Host::Socket(path) => options.push(format!("host={}", path.display())),
        }
        match (&self.host, self.port) {
            (_, PORT) => {}
            (Host::Network(_), port) => write!(out, ":{port}")?,
            (Host::Socket(_), port) => options.push(format!("port={port}")),
        }
        write!(out, "/{}", encode_percent(self.database_name()))?;
        if self.schema != SCHEMA {
            options.push(format!("schema={}", self.schema));
        }
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
#[path = "postgres_tests.rs"]
mod tests;
