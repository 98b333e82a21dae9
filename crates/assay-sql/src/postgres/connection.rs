//! One connection to a schema that the gate has let through, with its settings read back.

use super::gate::{Permit, trouble};
use super::link::{Answer, Failed, Link};
use super::schema::with_prefix;
use super::settings::Settings;
use crate::marker::Marker;
use crate::servers::{READ_MARKER, marker_in_rows};
use crate::trouble::Trouble;
use crate::url::PostgresUrl;
use std::sync::Arc;

/// The roles and the database may carry other values: what a transaction sees is set for each session.
/// A row that a policy hides is an error.
const SESSION: &str =
    "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED; SET row_security = off";

/// A connection.
#[derive(Debug)]
pub struct Connection {
    pub(super) link: Link,
    permit: Arc<Permit>,
    url: PostgresUrl,
    settings: Settings,
}

impl Connection {
    /// Connects to the schema of a permit, whose lock is taken again if it was lost.
    pub fn open(permit: &Arc<Permit>, url: &PostgresUrl) -> Result<Connection, Trouble> {
        let mut link = Link::open(url)?;
        // Only then: where there is no server, the sessions of a run would wait for each other's attempt to reach it.
        permit.hold()?;
        let settings = started(&mut link, permit).map_err(|why| trouble(url, &why))?;
        permit.has_seen(&settings);
        settings.are_as_needed(&permit.shown())?;
        Ok(Connection { link, permit: Arc::clone(permit), url: url.clone(), settings })
    }

    /// Connects again, as at first.
    pub(super) fn reopen(&mut self) -> Result<(), Trouble> {
        let fresh = Connection::open(&self.permit, &self.url)?;
        (self.link, self.settings) = (fresh.link, fresh.settings);
        Ok(())
    }

    /// The settings as they are in this session.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The settings as they are now.
    pub fn settings_now(&mut self) -> Result<&Settings, Trouble> {
        let schema = self.permit.schema().to_owned();
        let read = Settings::read(&mut self.link, &schema);
        self.settings = read.map_err(|why| trouble(&self.url, &why))?;
        self.permit.has_seen(&self.settings);
        Ok(&self.settings)
    }

    /// The number of the server's process that serves this connection.
    pub fn process(&self) -> i32 {
        self.link.process
    }

    /// The database, as it may be shown.
    pub fn shown(&self) -> String {
        self.permit.shown()
    }

    /// See [`Permit::has_held`].
    pub(super) fn has_held(&self) -> Result<(), Trouble> {
        self.permit.has_held()
    }

    /// The prefix of the names of tables.
    pub(super) fn prefix(&self) -> String {
        self.permit.prefix()
    }

    /// The name of the schema.
    pub(super) fn schema(&self) -> &str {
        self.permit.schema()
    }

    /// A statement in which an at sign stands before each name of ours.
    pub(super) fn sql(&self, sql: &str) -> String {
        with_prefix(&self.prefix(), sql)
    }

    /// Translates the failure of a statement that is not part of a transaction of the load.
    pub(super) fn trouble(&self, why: &Failed) -> Trouble {
        trouble(&self.url, why)
    }

    /// Asks for statements with at signs.
    pub(super) fn ask(&mut self, sql: &str) -> Result<Vec<Answer>, Trouble> {
        let sql = self.sql(sql);
        self.link.simple(&sql).map_err(|why| self.trouble(&why))
    }

    /// Carries out statements in one transaction, or leaves no trace.
    pub(super) fn transaction<T>(&mut self, body: impl FnOnce(&mut Link) -> Result<T, Failed>) -> Result<T, Trouble> {
        let begun = self.link.run("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE");
        let done = begun.and_then(|()| body(&mut self.link)).and_then(|done| self.link.commit().map(|()| done));
        if done.is_err() && !self.link.broken && self.link.in_transaction() {
            // A failure here shows again at the next BEGIN; the first reason is the one to report.
            let _ = self.link.run("ROLLBACK");
        }
        done.map_err(|why| self.trouble(&why))
    }
}

fn started(link: &mut Link, permit: &Permit) -> Result<Settings, Failed> {
    link.run(SESSION)?;
    Settings::read(link, permit.schema())
}

/// The marker of a schema that the gate let through.
pub fn marker(connection: &mut Connection) -> Result<Marker, Trouble> {
    let at = format!("{}: the schema {}", connection.shown(), connection.schema());
    let sql = connection.sql(READ_MARKER);
    let answers = connection.link.simple(&sql).map_err(|why| match why.code() {
        "42P01" | "42703" => lacking(&at, "has no marker of a load"),
        _ => connection.trouble(&why),
    })?;
    let rows = answers.first().map(|answer| answer.rows.as_slice()).unwrap_or_default();
    marker_in_rows(rows, |what| lacking(&at, what))
}

/// Why a database without a usable marker is refused.
fn lacking(at: &str, what: &str) -> Trouble {
    Trouble::refused(format!("{at} {what}: write another one (schema=…)"))
}
